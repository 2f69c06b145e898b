//! G-Mixup (Han et al. 2022; thesis ch. 7, baselines): graphs drawn from mixtures of the graphons
//! of two classes.
//!
//! Each class of the training graphs has a [`Graphon`]. The copy of a graph is drawn from
//! `(1 - λ) W + λ W'`, where W is of its class, W' of the class of a partner and λ uniform up to
//! the strength; it has as many nodes as the graph, but those that were drawn no edge are left out,
//! and λ is the partner's share of the label. Where nodes carry features, a node takes the row of a
//! node that stands at the same place in the order by degrees of a graph of the class, or with
//! chance λ of the partner's class: the authors average those rows, which makes kinds of atoms into
//! mixtures of them.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::{Rng, mix};
use gnarl_graph::{Features, Graph, Result};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::graphon::Graphon;
use super::transform::{COPIES_ONCE, Copies, GraphTransform, Taught, check_share, rows_of};

/// Graphs drawn from mixed graphons.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GMixup {
    /// The largest share of another class, 0 to 1.
    pub strength: f64,
    /// How often a copy is made.
    pub copies: Copies,
}

impl GMixup {
    /// With this share, one copy of each graph.
    pub const fn share(strength: f64) -> Self {
        Self {
            strength,
            copies: Copies::Fixed,
        }
    }
}

impl Default for GMixup {
    fn default() -> Self {
        Self::share(0.2)
    }
}

impl Choice for GMixup {
    const NAME: &'static str = "g-mixup";
    const ABOUT: &'static str =
        "graphs drawn from what the graphs of a class have in common, mixed with another class";
    const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "strength",
            "X",
            "the largest share of another class, 0 to 1 [default: 0.2]",
        ),
        COPIES_ONCE,
    ];

    fn check(&self) -> Result<()> {
        check_share(Self::NAME, self.strength)
    }
}

impl Augmentation for GMixup {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }

    fn mixes_classes(&self) -> bool {
        true
    }
}

impl GraphTransform for GMixup {
    fn describes_anew(&self) -> bool {
        true
    }

    /// Drawn from the graphon of this graph alone.
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        Ok(self
            .taught(&[graph], &[0], rng.random())?
            .copy(0, 0, rng)?
            .0)
    }

    fn learn<'a>(
        &self,
        graphs: &[&'a Graph],
        classes: &[u32],
        seed: u64,
    ) -> Result<Option<Box<dyn Taught + 'a>>> {
        Ok(Some(Box::new(self.taught(graphs, classes, seed)?)))
    }
}

impl GMixup {
    fn taught<'a>(&self, graphs: &[&'a Graph], classes: &[u32], seed: u64) -> Result<Graphons<'a>> {
        let mut members: Vec<Vec<usize>> =
            vec![Vec::new(); classes.iter().max().map_or(0, |&c| c as usize + 1)];
        classes
            .iter()
            .enumerate()
            .for_each(|(i, &c)| members[c as usize].push(i));
        let graphon = |(class, members): (u64, &Vec<usize>)| {
            let own: Vec<&Graph> = members.iter().map(|&i| graphs[i]).collect();
            Graphon::estimate(&own, mix(seed ^ mix(class)))
        };
        let graphons = (0..).zip(&members).map(graphon).collect::<Result<_>>()?;
        let by_degree = |graph: &&Graph| {
            let mut nodes: Vec<u32> = (0..graph.num_nodes() as u32).collect();
            nodes.sort_by_key(|&u| std::cmp::Reverse(graph.neighbours(u).len()));
            nodes
        };
        let orders = graphs.iter().map(by_degree).collect();
        Ok(Graphons {
            strength: self.strength,
            graphs: graphs.to_vec(),
            classes: classes.to_vec(),
            members,
            graphons,
            orders,
        })
    }
}

/// What was learned: a graphon for each class, and who belongs to it.
struct Graphons<'a> {
    strength: f64,
    graphs: Vec<&'a Graph>,
    classes: Vec<u32>,
    members: Vec<Vec<usize>>,
    graphons: Vec<Graphon>,
    /// The nodes of each graph, those of most neighbours first.
    orders: Vec<Vec<u32>>,
}

impl Taught for Graphons<'_> {
    fn copy(&self, graph: usize, partner: usize, rng: &mut Rng) -> Result<(Graph, f64)> {
        let share = if self.strength > 0.0 {
            rng.random_range(0.0..=self.strength)
        } else {
            0.0
        };
        let (own, other) = (self.classes[graph] as usize, self.classes[partner] as usize);
        let n = self.graphs[graph].num_nodes();
        let edges = match own == other {
            true => self.graphons[own].draw(n, rng),
            false => self.graphons[own]
                .mixed(&self.graphons[other], share)
                .draw(n, rng),
        };
        let mut kept = vec![false; n];
        edges
            .iter()
            .for_each(|&(u, v)| (kept[u as usize], kept[v as usize]) = (true, true));
        if edges.is_empty() {
            kept.fill(true);
        }
        let stay: Vec<usize> = (0..n).filter(|&u| kept[u]).collect();
        let mut name = vec![0u32; n];
        (0..).zip(&stay).for_each(|(k, &u)| name[u] = k);
        let edges = edges
            .into_iter()
            .map(|(u, v)| (name[u as usize], name[v as usize]));
        let drawn = Graph::from_edges(stay.len(), edges)?.0;
        let share = if own == other { 0.0 } else { share };
        match self.graphs[graph].features() {
            None => Ok((drawn, share)),
            Some(own_features) => {
                let mut row = |&u: &usize| {
                    let class = if rng.random_bool(share) { other } else { own };
                    self.row_at(class, Graphon::place(u, n), rng)
                        .unwrap_or((own_features, u))
                };
                let rows: Vec<(&Features, usize)> = stay.iter().map(&mut row).collect();
                Ok((
                    drawn.with_features(rows_of(own_features.num_cols(), &rows)?)?,
                    share,
                ))
            }
        }
    }
}

impl Graphons<'_> {
    /// The row of the node that stands at a place of a random graph of a class; `None` where that
    /// graph has no nodes.
    fn row_at(&self, class: usize, place: f64, rng: &mut Rng) -> Option<(&Features, usize)> {
        let of = self.members[class][rng.random_range(0..self.members[class].len())];
        let order = &self.orders[of];
        let at = ((place * order.len() as f64) as usize).min(order.len().checked_sub(1)?);
        Some((self.graphs[of].features()?, order[at] as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::DenseMatrix;
    use gnarl_graph::generate::erdos_renyi;
    use gnarl_graph::random::stream;

    #[test]
    fn copies_lie_between_the_classes_and_say_how_far() {
        let columns = |graph: Graph, value: f32| {
            let rows =
                DenseMatrix::new(graph.num_nodes(), 1, vec![value; graph.num_nodes()]).unwrap();
            graph.with_features(Features::Dense(rows)).unwrap()
        };
        let graphs: Vec<Graph> = (0..40)
            .map(|i| {
                columns(
                    erdos_renyi(30, if i % 2 == 0 { 0.1 } else { 0.6 }, i).unwrap(),
                    (i % 2) as f32,
                )
            })
            .collect();
        let graphs: Vec<&Graph> = graphs.iter().collect();
        let classes: Vec<u32> = (0..40).map(|i| i % 2).collect();
        let mixup = GMixup::share(0.5);
        let taught = mixup.learn(&graphs, &classes, 1).unwrap().unwrap();
        let density = |from: usize, partner: usize| {
            let draws = (0..60).map(|i| {
                taught
                    .copy(from, partner, &mut stream(2, "g-mixup test", i))
                    .unwrap()
            });
            let drawn: Vec<(Graph, f64)> = draws.collect();
            let edges = drawn.iter().map(|(g, _)| g.num_edges()).sum::<usize>() as f64 / 60.0;
            let share = drawn.iter().map(|(_, share)| share).sum::<f64>() / 60.0;
            let feature = |g: &Graph| {
                g.features().unwrap().to_dense().data().iter().sum::<f32>() / g.num_nodes() as f32
            };
            let features = drawn
                .iter()
                .map(|(g, _)| f64::from(feature(g)))
                .sum::<f64>()
                / 60.0;
            (edges / 435.0, share, features)
        };
        let (alone, no_share, no_feature) = density(0, 2);
        assert!(
            (alone - 0.1).abs() < 0.02 && no_share == 0.0 && no_feature == 0.0,
            "{alone}"
        );
        // A mean share of a quarter: 0.1 + 0.25 · 0.5.
        let (mixed, share, feature) = density(0, 1);
        assert!(
            (mixed - 0.225).abs() < 0.04
                && (share - 0.25).abs() < 0.06
                && (feature - share).abs() < 0.05,
            "{mixed} {share} {feature}"
        );
    }
}
