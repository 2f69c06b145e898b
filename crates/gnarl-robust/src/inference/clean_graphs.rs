//! Neighbours sampled by dropping edges that do not look like those of the training graphs, for
//! sets of graphs (new in gnarl).
//!
//! A graph classifier predicts no classes of nodes, so edges cannot be judged by predictions as in
//! [`CleanEdges`]. The graphs of a set have properties in common instead: the kinds of the joined
//! nodes (the largest of a node's features), the number of common neighbours of both ends, and the
//! larger degree. The training graphs give the frequency of each along a clean edge with some
//! adversarial edges around it. They also give its frequency along an edge that joins two random
//! nodes. The ratio of these, as if the three were independent, tells how suspicious an edge is.
//! The share of adversarial edges of an input is the most likely one under that mixture. Bayes'
//! rule then gives each edge a probability of being clean, and a neighbour keeps the edge with that
//! probability. A graph with no more suspicious edges than clean graphs have is its own neighbour.
//!
//! It is an assumption that edges can be separated in this way; it is tested on the training graphs
//! before it is used ([`CleanGraphs::tested`]).
//!
//! [`CleanEdges`]: super::CleanEdges

use std::collections::HashSet;

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{DenseMatrix, Features, Graph};
use serde::{Deserialize, Serialize};

use super::clean_edges::thinned;
use super::crf::{Crf, NeighbourSampler, Neighbourhood};
use super::trial::Trial;
use super::{CleanPrior, PerturbationTarget};
use crate::classifier::Classifier;
use crate::perturb::sample_pairs;
use gnarl_graph::{Error, Result};

/// Log-likelihood ratios of the edges of a set's graphs: an adversarial edge against a clean one,
/// for each observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CleanGraphs {
    /// Ratios by the kinds of both ends, `kinds · kinds`.
    kinds: Vec<f64>,
    /// Ratios by the number of common neighbours.
    shared: Vec<f64>,
    /// Ratios by the larger degree of both ends.
    busier: Vec<f64>,
    /// Estimated share of adversarial edges in clean graphs: not exceeded by all but a few training
    /// graphs.
    spread: f64,
    /// Largest share of adversarial edges to correct; above it, a graph is its own neighbour.
    /// Nothing if untested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trusted: Option<f64>,
}

/// Largest number of kinds of nodes.
const MOST_KINDS: usize = 64;
/// Number of classes of counts: 0, 1, 2, 3 and 4, 5 to 8, and so on.
const COUNTS: usize = 9;
/// Prior count of every cell of a table.
const PRIOR_COUNT: f64 = 1.0;
/// Largest share of edges that may count as adversarial.
const MAX_ADVERSARIAL_SHARE: f64 = 0.5;
/// Share of adversarial edges around which clean edges are observed.
const SURROUNDING_SHARE: f64 = 0.1;
/// Number of steps to the most likely share.
const STEPS: usize = 30;
/// Share of clean graphs that count as clean whatever their edges look like.
const TAKEN_FOR_CLEAN: f64 = 0.99;
/// Shares of adversarial edges in a test; zero first, which must do no harm.
const TRIAL_SHARES: [f64; 5] = [0.0, 0.05, 0.1, 0.2, 0.4];
/// Number of neighbours of a graph in a test, without neighbours of neighbours: enough to see an
/// effect.
const TRIAL_NEIGHBOURS: usize = 3;
/// Extrapolation factor: between two tested shares, the method is used up to this multiple of the
/// lower one.
const BEYOND: f64 = 1.5;

/// Number of times that each observation was made.
struct Counts {
    kinds: Vec<f64>,
    shared: Vec<f64>,
    busier: Vec<f64>,
}

/// Observation of an edge: its indices in the tables.
struct Observation {
    kinds: usize,
    shared: usize,
    busier: usize,
}

impl Counts {
    fn new(num_kinds: usize) -> Self {
        let empty = |cells: usize| vec![PRIOR_COUNT; cells];
        Self {
            kinds: empty(num_kinds * num_kinds),
            shared: empty(COUNTS),
            busier: empty(COUNTS),
        }
    }

    fn add(&mut self, observation: &Observation) {
        self.kinds[observation.kinds] += 1.0;
        self.shared[observation.shared] += 1.0;
        self.busier[observation.busier] += 1.0;
    }
}

/// Returns the logarithms of the ratios of two tables of frequencies.
fn log_ratios(foreign: &[f64], clean: &[f64]) -> Vec<f64> {
    let (all_foreign, all_clean) = (foreign.iter().sum::<f64>(), clean.iter().sum::<f64>());
    foreign
        .iter()
        .zip(clean)
        .map(|(f, c)| (f / all_foreign / (c / all_clean)).ln())
        .collect()
}

/// Returns the class of a count.
fn class_of(count: usize) -> usize {
    match count {
        0..=2 => count,
        _ => (2 + (count - 1).ilog2() as usize).min(COUNTS - 1),
    }
}

/// Observer of a graph's edges.
struct EdgeObserver<'a> {
    graph: &'a Graph,
    kinds: Vec<usize>,
    num_kinds: usize,
}

impl<'a> EdgeObserver<'a> {
    fn new(graph: &'a Graph, num_kinds: usize) -> Self {
        let kinds = match graph.features() {
            Some(features) if num_kinds > 1 => largest_columns(features)
                .map(|c| c.min(num_kinds - 1))
                .collect(),
            _ => vec![0; graph.num_nodes()],
        };
        Self {
            graph,
            kinds,
            num_kinds,
        }
    }

    /// Returns the observation of the edge between two nodes; `is_new` for an edge that is not in
    /// the graph yet.
    fn observe(&self, (u, v): (u32, u32), is_new: bool) -> Observation {
        let (ku, kv) = (self.kinds[u as usize], self.kinds[v as usize]);
        let busier = self.graph.degree(u).max(self.graph.degree(v)) + usize::from(is_new);
        let shared = self
            .graph
            .neighbours(u)
            .iter()
            .filter(|&&w| self.graph.has_edge(w, v))
            .count();
        Observation {
            kinds: ku.min(kv) * self.num_kinds + ku.max(kv),
            shared: class_of(shared),
            busier: class_of(busier),
        }
    }
}

/// Returns the column of the largest entry of every row, the first of equals.
fn largest_columns(features: &Features) -> impl Iterator<Item = usize> + '_ {
    let of_row = |mut entries: Box<dyn Iterator<Item = (usize, f32)> + '_>| {
        let first = entries.next().unwrap_or((0, 0.0));
        entries
            .fold(
                first,
                |best, entry| if entry.1 > best.1 { entry } else { best },
            )
            .0
    };
    (0..features.num_rows()).map(move |i| match features {
        Features::Dense(m) => of_row(Box::new(m.row(i).iter().copied().enumerate())),
        Features::Sparse(m) => {
            let (columns, values) = m.row(i);
            of_row(Box::new(
                columns
                    .iter()
                    .map(|&c| c as usize)
                    .zip(values.iter().copied()),
            ))
        }
    })
}

impl CleanGraphs {
    /// Learns the prior from clean graphs.
    pub fn fit(graphs: &[&Graph]) -> Result<Self> {
        let columns = graphs
            .iter()
            .find_map(|graph| graph.features())
            .map_or(1, Features::num_cols);
        let num_kinds = columns.clamp(1, MOST_KINDS);
        let (mut clean, mut foreign) = (Counts::new(num_kinds), Counts::new(num_kinds));
        for (i, graph) in graphs.iter().enumerate() {
            let observer = EdgeObserver::new(graph, num_kinds);
            let added = foreign_pairs(graph, graph.num_edges(), i);
            added
                .iter()
                .for_each(|&pair| foreign.add(&observer.observe(pair, true)));
            // Added edges change the observations around them, too: clean edges are observed among
            // some of them.
            let few = (SURROUNDING_SHARE * added.len() as f64).ceil() as usize;
            let surrounded = graph.add_edges(&added[..few])?.0;
            let observer = EdgeObserver::new(&surrounded, num_kinds);
            graph
                .edges()
                .for_each(|edge| clean.add(&observer.observe(edge, false)));
        }
        let unlimited = Self {
            kinds: log_ratios(&foreign.kinds, &clean.kinds),
            shared: log_ratios(&foreign.shared, &clean.shared),
            busier: log_ratios(&foreign.busier, &clean.busier),
            spread: 0.0,
            trusted: None,
        };
        let mut shares: Vec<f64> = graphs
            .iter()
            .map(|graph| most_likely_share(&unlimited.ratios(graph)))
            .collect();
        shares.sort_unstable_by(f64::total_cmp);
        let place = (TAKEN_FOR_CLEAN * shares.len() as f64) as usize;
        let spread = shares
            .get(place.min(shares.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0);
        Ok(Self {
            spread,
            ..unlimited
        })
    }

    /// Tests the prior on the graphs that it was learned from, and limits its use to the shares
    /// that pass. Random edges are added. Predictions with neighbours must agree with those on
    /// clean graphs more often than predictions without, by more than the standard error of that
    /// difference. On clean graphs the method must do no harm.
    pub fn tested(self, model: &dyn Classifier, graphs: &[&Graph], crf: &Crf) -> Result<Self> {
        let clean = Trial::clean(model, graphs)?;
        let crf = Crf {
            samples: crf.samples.min(TRIAL_NEIGHBOURS),
            iterations: crf.iterations.min(1),
            stop_early: false,
            ..*crf
        };
        let untested = Self {
            trusted: None,
            ..self.clone()
        };
        let changed = |share| {
            let one = |(i, graph): (usize, &&Graph)| with_foreign_edges(graph, share, i);
            graphs
                .iter()
                .enumerate()
                .map(one)
                .collect::<Result<Vec<_>>>()
                .map(Some)
        };
        let trusted = Trial::tested_limit(&TRIAL_SHARES, changed, |changed| {
            Trial::new(model, &untested, &crf, changed, &clean)
        })?;
        Ok(Self {
            trusted: Some(trusted),
            ..self
        })
    }

    fn num_kinds(&self) -> usize {
        self.kinds.len().isqrt()
    }

    /// Returns the likelihood ratio of being adversarial for every edge, in the order of
    /// [`Graph::edges`].
    fn ratios(&self, graph: &Graph) -> Vec<f64> {
        let observer = EdgeObserver::new(graph, self.num_kinds());
        let of = |edge: (u32, u32)| {
            let observation = observer.observe(edge, false);
            (self.kinds[observation.kinds]
                + self.shared[observation.shared]
                + self.busier[observation.busier])
                .exp()
        };
        graph.edges().map(of).collect()
    }

    /// Returns the probability of being clean for every edge; `None` if the graph counts as clean,
    /// or exceeds the tested limit.
    fn chances(&self, graph: &Graph) -> Option<Vec<f64>> {
        let ratios = self.ratios(graph);
        let share = most_likely_share(&ratios);
        if share <= self.spread || self.trusted.is_some_and(|trusted| share > BEYOND * trusted) {
            return None;
        }
        Some(
            ratios
                .iter()
                .map(|ratio| (1.0 - share) / (1.0 - share + share * ratio))
                .collect(),
        )
    }
}

/// Returns the most likely share of adversarial edges, by the ratios of all edges; at most a half.
fn most_likely_share(ratios: &[f64]) -> f64 {
    let mut share: f64 = 0.1;
    for _ in 0..STEPS {
        let foreign: f64 = ratios
            .iter()
            .map(|ratio| share * ratio / (1.0 - share + share * ratio))
            .sum();
        share = (foreign / ratios.len().max(1) as f64).min(MAX_ADVERSARIAL_SHARE);
    }
    share
}

/// Samples pairs without an edge; those of graph `place` are always the same.
fn foreign_pairs(graph: &Graph, count: usize, place: usize) -> Vec<(u32, u32)> {
    let rng = &mut stream(0, "a trial of clean graphs", place as u64);
    sample_pairs(
        graph.num_nodes(),
        count,
        |u, v| !graph.has_edge(u, v),
        &mut HashSet::new(),
        rng,
    )
}

/// Returns the graph with new random edges, as a share of its edges.
fn with_foreign_edges(graph: &Graph, share: f64, place: usize) -> Result<Graph> {
    let wanted = (share * graph.num_edges() as f64).ceil() as usize;
    // Different pairs from those of the fit.
    Ok(graph
        .add_edges(&foreign_pairs(graph, wanted, usize::MAX - place))?
        .0)
}

impl CleanPrior for CleanGraphs {
    fn part(&self) -> PerturbationTarget {
        PerturbationTarget::Structure
    }

    fn check(&self) -> Result<()> {
        let side = self.num_kinds();
        let sizes = side > 0
            && side * side == self.kinds.len()
            && [self.shared.len(), self.busier.len()] == [COUNTS; 2];
        let mut tables = self.kinds.iter().chain(&self.shared).chain(&self.busier);
        let shares = [Some(self.spread), self.trusted]
            .into_iter()
            .flatten()
            .all(|s| (0.0..=1.0).contains(&s));
        if sizes && shares && tables.all(|x| x.is_finite()) {
            Ok(())
        } else {
            let what = "stored ones need square tables of finite numbers and shares in 0 to 1";
            Err(Error::argument("clean graphs", what))
        }
    }

    fn tested_limit(&self) -> Option<f64> {
        self.trusted
    }
}

impl Neighbourhood for CleanGraphs {
    fn sample(
        &self,
        centre: &Graph,
        prediction: &DenseMatrix<f32>,
        rng: &mut Rng,
    ) -> Result<Option<(Graph, f64)>> {
        self.sampler(centre, prediction)?(rng)
    }

    fn sampler<'a>(
        &'a self,
        centre: &'a Graph,
        _: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a>> {
        let chances = self.chances(centre);
        Ok(Box::new(move |rng| {
            chances
                .as_deref()
                .map(|chances| thinned(centre, chances, rng))
                .transpose()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::FromFn;
    use gnarl_graph::{CsrMatrix, generate};

    /// Cycles of alternating kinds of nodes: an edge within a kind, a common neighbour and a third
    /// neighbour are all foreign.
    fn ring(size: usize) -> Graph {
        let nodes = 2 * size;
        let kinds = CsrMatrix::new(
            2,
            (0..=nodes as u64).collect(),
            (0..nodes as u32).map(|u| u % 2).collect(),
            vec![1f32; nodes],
        );
        generate::cycle(nodes)
            .unwrap()
            .with_features(Features::Sparse(kinds.unwrap()))
            .unwrap()
    }

    fn prior() -> CleanGraphs {
        let rings: Vec<Graph> = (4..24).map(ring).collect();
        CleanGraphs::fit(&rings.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn clean_graphs_are_their_own_neighbours_and_foreign_edges_are_left_out() {
        let (prior, clean) = (prior(), ring(15));
        let prediction = DenseMatrix::zeros(1, 2);
        let rng = &mut stream(1, "draw", 0);
        assert!(prior.sample(&clean, &prediction, rng).unwrap().is_none());
        let added = [(0, 10), (3, 7), (12, 20)];
        let attacked = clean.add_edges(&added).unwrap().0;
        let (mut foreign, mut own) = (0, 0);
        for _ in 0..50 {
            let (near, similarity) = prior.sample(&attacked, &prediction, rng).unwrap().unwrap();
            assert!(similarity == 1.0 && near.edges().all(|(u, v)| attacked.has_edge(u, v)));
            foreign += added.iter().filter(|&&(u, v)| near.has_edge(u, v)).count();
            own += clean.edges().filter(|&(u, v)| near.has_edge(u, v)).count();
        }
        let (foreign, own) = (foreign as f64 / 150.0, own as f64 / (50.0 * 30.0));
        assert!(
            own > 0.8 && foreign < 0.3,
            "of the clean edges {own} are kept, of the others {foreign}"
        );
    }

    #[test]
    fn the_limit_is_tested_on_the_training_graphs() {
        let rings: Vec<Graph> = (4..24).map(ring).collect();
        let graphs: Vec<&Graph> = rings.iter().collect();
        // One model that detects an edge between nodes of one kind, and one that predicts the same
        // for every graph.
        let parity = FromFn {
            num_classes: 2,
            function: |graph: &Graph| {
                let odd = graph.edges().filter(|(u, v)| u % 2 == v % 2).count() as f32;
                DenseMatrix::new(1, 2, vec![0.5, odd])
            },
        };
        let constant = FromFn {
            num_classes: 2,
            function: |_: &Graph| DenseMatrix::new(1, 2, vec![0.5, 0.0]),
        };
        let trusted = |model: &dyn Classifier| {
            prior()
                .tested(model, &graphs, &Crf::new(0.05))
                .unwrap()
                .tested_limit()
        };
        assert!(trusted(&parity).unwrap() >= 0.1, "{:?}", trusted(&parity));
        assert_eq!(
            trusted(&constant),
            Some(0.0),
            "where nothing can be mended nothing is trusted"
        );
        let untrusted = CleanGraphs {
            trusted: Some(0.0),
            ..prior()
        };
        let attacked = ring(15).add_edges(&[(0, 10), (3, 7), (12, 20)]).unwrap().0;
        let rng = &mut stream(1, "draw", 0);
        assert!(
            untrusted
                .sample(&attacked, &DenseMatrix::zeros(1, 2), rng)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn graphs_without_edges_nodes_or_features() {
        let bare = [
            Graph::empty(0).unwrap(),
            Graph::empty(3).unwrap(),
            generate::complete(4).unwrap(),
        ];
        let prior = CleanGraphs::fit(&bare.iter().collect::<Vec<_>>()).unwrap();
        prior.check().unwrap();
        for graph in &bare {
            let sampled = prior
                .sample(graph, &DenseMatrix::zeros(1, 2), &mut stream(1, "draw", 0))
                .unwrap();
            assert!(sampled.is_none_or(|(near, _)| near.num_nodes() == graph.num_nodes()));
        }
        assert!(CleanGraphs::fit(&[]).unwrap().check().is_ok());
        let broken = CleanGraphs {
            kinds: vec![0.0; 3],
            ..prior
        };
        assert!(
            broken
                .check()
                .unwrap_err()
                .to_string()
                .starts_with("clean graphs: ")
        );
    }

    #[test]
    fn counts_have_classes() {
        let classes: Vec<usize> = [0, 1, 2, 3, 4, 5, 8, 9, 16, 1_000_000]
            .map(class_of)
            .to_vec();
        assert_eq!(classes, [0, 1, 2, 3, 3, 4, 4, 5, 5, 8]);
    }
}
