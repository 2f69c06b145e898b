//! G-Mixup (Han et al. 2022, [arXiv:2202.07179](https://arxiv.org/abs/2202.07179)): graphs sampled
//! from mixtures of the graphons of two classes.
//!
//! Each class of the training graphs has a [`Graphon`]. The copy of a graph is sampled from
//! `(1 - λ) W + λ W'`, with λ uniform in 0 to `max_lambda`. W is the graphon of its class and W'
//! the graphon of a partner's class. The copy has as many nodes as the graph, without those that
//! have no edge, and λ is the partner's share of the label. If nodes have features, a node takes
//! the row of a node at the same rank by degree in a graph of the class. With probability λ it is a
//! graph of the partner's class. The authors average these rows, which turns atom types into
//! mixtures of them.

use gnarl_graph::random::{Rng, mix};
use gnarl_graph::settings::Settings;
use gnarl_graph::{Features, Graph, Result};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::graphon::Graphon;
use super::transform::{Copies, FittedTransform, GraphTransform, rows_of};

/// Samples graphs from mixed graphons.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "g-mixup",
    about = "samples graphs from mixtures of the graphons of two classes",
    constant
)]
pub struct GMixup {
    /// Largest share λ of the other class.
    #[setting(flag = "mixup-max-lambda", default = 0.2, range = 0.0..=1.0, was = "strength")]
    pub max_lambda: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::Fixed)]
    pub copies: Copies,
}

impl GMixup {
    /// Returns G-Mixup up to this share of the other class, with one copy for all epochs.
    #[must_use]
    pub const fn new(max_lambda: f64) -> Self {
        Self {
            max_lambda,
            ..Self::DEFAULT
        }
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
    fn recomputes_degrees(&self) -> bool {
        true
    }

    /// Samples a graph from the graphon of this graph alone.
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        Ok(self.fit(&[graph], &[0], rng.random())?.copy(0, 0, rng)?.0)
    }

    fn learn<'a>(
        &self,
        graphs: &[&'a Graph],
        classes: &[u32],
        seed: u64,
    ) -> Result<Option<Box<dyn FittedTransform + 'a>>> {
        Ok(Some(Box::new(self.fit(graphs, classes, seed)?)))
    }
}

impl GMixup {
    fn fit<'a>(&self, graphs: &[&'a Graph], classes: &[u32], seed: u64) -> Result<Graphons<'a>> {
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
            max_lambda: self.max_lambda,
            graphs: graphs.to_vec(),
            classes: classes.to_vec(),
            members,
            graphons,
            orders,
        })
    }
}

/// Learned graphons of the classes, and the members of each class.
struct Graphons<'a> {
    max_lambda: f64,
    graphs: Vec<&'a Graph>,
    classes: Vec<u32>,
    members: Vec<Vec<usize>>,
    graphons: Vec<Graphon>,
    /// The nodes of each graph by falling degree.
    orders: Vec<Vec<u32>>,
}

impl FittedTransform for Graphons<'_> {
    fn copy(&self, graph: usize, partner: usize, rng: &mut Rng) -> Result<(Graph, f64)> {
        let share = if self.max_lambda > 0.0 {
            rng.random_range(0.0..=self.max_lambda)
        } else {
            0.0
        };
        let (own, other) = (self.classes[graph] as usize, self.classes[partner] as usize);
        let n = self.graphs[graph].num_nodes();
        let edges = if own == other {
            self.graphons[own].sample(n, rng)
        } else {
            let mixed = self.graphons[own].mixed(&self.graphons[other], share);
            mixed.sample(n, rng)
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
        let sampled = Graph::from_edges(stay.len(), edges)?.0;
        let share = if own == other { 0.0 } else { share };
        match self.graphs[graph].features() {
            None => Ok((sampled, share)),
            Some(own_features) => {
                let mut row = |&u: &usize| {
                    let class = if rng.random_bool(share) { other } else { own };
                    self.row_at(class, Graphon::place(u, n), rng)
                        .unwrap_or((own_features, u))
                };
                let rows: Vec<(&Features, usize)> = stay.iter().map(&mut row).collect();
                Ok((
                    sampled.with_features(rows_of(own_features.num_cols(), &rows)?)?,
                    share,
                ))
            }
        }
    }
}

impl Graphons<'_> {
    /// Returns the feature row of the node at this rank of a random graph of a class; `None` if
    /// that graph has no nodes.
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
        let mixup = GMixup::new(0.5);
        let fit = mixup.learn(&graphs, &classes, 1).unwrap().unwrap();
        let density = |from: usize, partner: usize| {
            let samples = (0..60).map(|i| {
                fit.copy(from, partner, &mut stream(2, "g-mixup test", i))
                    .unwrap()
            });
            let sampled: Vec<(Graph, f64)> = samples.collect();
            let edges = sampled.iter().map(|(g, _)| g.num_edges()).sum::<usize>() as f64 / 60.0;
            let share = sampled.iter().map(|(_, share)| share).sum::<f64>() / 60.0;
            let feature = |g: &Graph| {
                g.features().unwrap().to_dense().data().iter().sum::<f32>() / g.num_nodes() as f32
            };
            let features = sampled
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
