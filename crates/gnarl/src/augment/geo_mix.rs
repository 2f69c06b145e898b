//! GeoMix (Zeng et al. 2024, [ICML 2024](https://proceedings.mlr.press/v235/zeng24e.html)): graphs on
//! an approximate Gromov–Wasserstein geodesic between two training graphs, with mixed labels.
//!
//! The copy of a graph with a partner is their barycentre in fused Gromov–Wasserstein distance,
//!
//! ```text
//! argmin over (C, X) of (1 - λ) FGW(C, X; graph) + λ FGW(C, X; partner),   λ ~ U(0, max_lambda)
//! ```
//!
//! with square loss. Structure and features have the same weight if nodes have features, otherwise
//! the structure alone counts. The search starts at the graph itself with the identity coupling, so
//! that a small λ gives nearly the graph: `N` of its nodes if the copy has fewer, some of them twice
//! if it has more. The number of nodes is `N = (1 - λ) n + λ n'`, rounded, and at most
//! [`MOST_NODES`]: a node of the copy of a larger graph stands for several nodes. The pairs with the
//! largest `C` are joined, as many as make the copy's mean degree `(1 - λ)` times the graph's plus
//! `λ` times the partner's. The features are `X`, and the partner's share of the label is `λ`. The
//! authors approximate the geodesic in fewer dimensions; their solver differs.

use gnarl_graph::distance::{BarycentreSettings, BarycentreStart, Space, transport};
use gnarl_graph::random::Rng;
use gnarl_graph::settings::{Choice, Settings};
use gnarl_graph::{CsrMatrix, DenseMatrix, Error, Features, Graph, Result};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::subgraph::grow;
use super::transform::{Copies, GraphTransform};

/// Largest number of nodes of a copy. Time is cubic in it.
pub const MOST_NODES: usize = 200;
/// Weight of the structure in graphs with features.
const STRUCTURE: f64 = 0.5;
/// Largest number of iterations of the search; nearly all of the gain is in the first few.
const MAX_ITERATIONS: usize = 10;
/// Convergence threshold: an iteration that moves structure or features by less is the last. It is
/// a thousandth of one edge.
const TOLERANCE: f64 = 1e-3;

/// Interpolates between two training graphs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "geomix",
    about = "interpolates each training graph with another one by a Gromov–Wasserstein barycentre",
    constant
)]
pub struct GeoMix {
    /// Largest share λ of the other graph.
    #[setting(flag = "mixup-max-lambda", default = 0.5, range = 0.0..=1.0, was = "strength")]
    pub max_lambda: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::Fixed)]
    pub copies: Copies,
}

impl GeoMix {
    /// Returns GeoMix up to this share of the other graph, with one copy for all epochs.
    #[must_use]
    pub const fn new(max_lambda: f64) -> Self {
        Self {
            max_lambda,
            ..Self::DEFAULT
        }
    }
}

impl Augmentation for GeoMix {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }

    fn mixes_classes(&self) -> bool {
        true
    }
}

impl GraphTransform for GeoMix {
    fn recomputes_degrees(&self) -> bool {
        true
    }

    /// Mixes the graph with itself.
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        Ok(self.apply_with(graph, graph, rng)?.0)
    }

    fn apply_with(&self, graph: &Graph, partner: &Graph, rng: &mut Rng) -> Result<(Graph, f64)> {
        let share = self.max_lambda * rng.random::<f64>();
        // A graph without nodes is on no geodesic.
        if share == 0.0 || graph.num_nodes() == 0 || partner.num_nodes() == 0 {
            return Ok((graph.clone(), 0.0));
        }
        Ok((between(graph, partner, share, rng)?, share))
    }
}

/// Returns the graph at this share of the geodesic.
fn between(graph: &Graph, partner: &Graph, share: f64, rng: &mut Rng) -> Result<Graph> {
    if graph.weights().or(partner.weights()).is_some() {
        let what = "the graph has edge weights, and the interpolated graphs have none";
        return Err(Error::argument(GeoMix::NAME, what));
    }
    let width = |graph: &Graph| graph.features().map(Features::num_cols);
    if width(graph) != width(partner) {
        return Err(Error::argument(
            GeoMix::NAME,
            "two graphs with different feature columns",
        ));
    }
    let mixed = |own: f64, other: f64| (1.0 - share) * own + share * other;
    let num_nodes = mixed(graph.num_nodes() as f64, partner.num_nodes() as f64).round() as usize;
    let num_nodes = num_nodes.clamp(1, MOST_NODES);
    let nodes = begin_at(graph, num_nodes, rng);
    let (own, other) = (Space::of_graph(graph)?, Space::of_graph(partner)?);
    let masses = vec![1.0 / num_nodes as f64; num_nodes];
    let start = BarycentreStart {
        structure: joined(graph, &nodes)?,
        features: own.features().select_rows(&nodes),
        couplings: vec![
            over_itself(graph, &nodes, &masses, own.masses())?,
            independent(&masses, other.masses())?,
        ],
    };
    let settings = BarycentreSettings {
        alpha: if width(graph).unwrap_or(0) > 0 {
            STRUCTURE
        } else {
            1.0
        },
        max_rounds: MAX_ITERATIONS,
        tolerance: TOLERANCE,
        ..BarycentreSettings::default()
    };
    let found = settings.barycentre(&[(&own, 1.0 - share), (&other, share)], &masses, start)?;

    let mean_degree = |graph: &Graph| graph.num_arcs() as f64 / graph.num_nodes() as f64;
    let num_edges = num_nodes as f64 / 2.0 * mixed(mean_degree(graph), mean_degree(partner));
    let copy = Graph::from_edges(
        num_nodes,
        largest(&found.structure, num_edges.round() as usize),
    )?
    .0;
    match graph.features() {
        None => Ok(copy),
        Some(features) => copy.with_features(like(features, &found.features)?),
    }
}

/// Returns `count` nodes: a part that is as connected as the graph is; all nodes and some again if
/// there are too few.
fn begin_at(graph: &Graph, count: usize, rng: &mut Rng) -> Vec<u32> {
    let n = graph.num_nodes() as u32;
    let mut nodes = grow(graph, count, rng);
    if nodes.len() < count {
        let mut taken = vec![false; n as usize];
        nodes.iter().for_each(|&u| taken[u as usize] = true);
        let mut rest: Vec<u32> = (0..n).filter(|&u| !taken[u as usize]).collect();
        rest.shuffle(rng);
        nodes.extend(rest.into_iter().take(count - nodes.len()));
    }
    while nodes.len() < count {
        nodes.push(rng.random_range(0..n));
    }
    nodes
}

/// Returns the adjacency matrix of these nodes.
fn joined(graph: &Graph, nodes: &[u32]) -> Result<DenseMatrix<f64>> {
    let one = |&u: &u32| {
        nodes
            .iter()
            .map(move |&v| f64::from(u8::from(graph.has_edge(u, v))))
    };
    DenseMatrix::new(
        nodes.len(),
        nodes.len(),
        nodes.iter().flat_map(one).collect(),
    )
}

/// Returns the identity coupling, as far as masses allow; remaining mass goes to a neighbour if
/// possible.
fn over_itself(
    graph: &Graph,
    nodes: &[u32],
    masses: &[f64],
    own: &[f64],
) -> Result<DenseMatrix<f64>> {
    let mut far = DenseMatrix::new(nodes.len(), own.len(), vec![2.0; nodes.len() * own.len()])?;
    for (i, &u) in nodes.iter().enumerate() {
        let row = far.row_mut(i);
        graph
            .neighbours(u)
            .iter()
            .for_each(|&v| row[v as usize] = 1.0);
        row[u as usize] = 0.0;
    }
    Ok(transport(&far, masses, own)?.masses)
}

fn independent(rows: &[f64], columns: &[f64]) -> Result<DenseMatrix<f64>> {
    let masses = rows
        .iter()
        .flat_map(|p| columns.iter().map(move |q| p * q))
        .collect();
    DenseMatrix::new(rows.len(), columns.len(), masses)
}

/// Returns the pairs with the largest values, at most `count` and only those above zero; of equal
/// ones the first.
fn largest(structure: &DenseMatrix<f64>, count: usize) -> Vec<(u32, u32)> {
    let n = structure.num_rows();
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |k| (i, k)));
    let mut pairs: Vec<(usize, usize)> =
        pairs.filter(|&(i, k)| structure.row(i)[k] > 0.0).collect();
    pairs.sort_by(|&(i, k), &(j, l)| structure.row(j)[l].total_cmp(&structure.row(i)[k]));
    pairs.truncate(count);
    pairs
        .into_iter()
        .map(|(i, k)| (i as u32, k as u32))
        .collect()
}

/// Returns the values in the layout of the graph's own features.
fn like(features: &Features, values: &DenseMatrix<f64>) -> Result<Features> {
    let data = values.data().iter().map(|&x| x as f32).collect();
    let dense = DenseMatrix::new(values.num_rows(), values.num_cols(), data)?;
    Ok(match features {
        Features::Sparse(_) => Features::Sparse(CsrMatrix::from_dense(&dense)),
        Features::Dense(_) => Features::Dense(dense),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;

    /// Adds features with the nodes' numbers, far apart.
    fn numbered(graph: Graph, sparse: bool) -> Graph {
        let data: Vec<f32> = (1..=graph.num_nodes()).map(|i| i as f32).collect();
        let dense = DenseMatrix::new(graph.num_nodes(), 1, data).unwrap();
        let features = if sparse {
            Features::Sparse(CsrMatrix::from_dense(&dense))
        } else {
            Features::Dense(dense)
        };
        graph.with_features(features).unwrap()
    }

    /// Returns the edges, with ends by the nearest node number.
    fn edges_by_number(graph: &Graph) -> Vec<(i64, i64)> {
        let numbers = graph.features().unwrap().to_dense();
        let number = |u: u32| numbers.data()[u as usize].round() as i64;
        let mut edges: Vec<(i64, i64)> = graph
            .edges()
            .map(|(u, v)| (number(u).min(number(v)), number(u).max(number(v))))
            .collect();
        edges.sort_unstable();
        edges
    }

    fn rng(seed: u64) -> Rng {
        stream(seed, "geomix test", 0)
    }

    #[test]
    fn mixing_with_a_permuted_copy_is_the_identity() {
        let graph = numbered(generate::barabasi_albert(12, 2, 3).unwrap(), false);
        let order: Vec<u32> = (0..12).map(|u| u * 7 % 12).collect();
        let partner = graph.permute(&order).unwrap();
        for seed in 0..10 {
            let copy = between(&graph, &partner, 0.1 * seed as f64 + 0.05, &mut rng(seed)).unwrap();
            assert_eq!(
                edges_by_number(&copy),
                edges_by_number(&graph),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn a_small_share_is_nearly_the_graph_and_a_large_one_the_other() {
        // As many edges in both, so that the copy has as many.
        let graph = numbered(generate::path(9).unwrap(), true);
        let partner = numbered(generate::star(9).unwrap(), true);
        for seed in 0..5 {
            let near = between(&graph, &partner, 0.02, &mut rng(seed)).unwrap();
            assert_eq!(edges_by_number(&near), edges_by_number(&graph));
            let far = between(&graph, &partner, 0.98, &mut rng(seed)).unwrap();
            assert_eq!(edges_by_number(&far), edges_by_number(&partner));
            assert!(
                matches!(far.features().unwrap(), Features::Sparse(_)),
                "the layout stays"
            );
        }
    }

    /// Mixes a sparse graph of 10 nodes and a dense one of 20, without features.
    #[test]
    fn nodes_and_degrees_are_between() {
        let (graph, partner) = (
            generate::cycle(10).unwrap(),
            generate::complete(20).unwrap(),
        );
        for (share, nodes, edges) in [(0.1, 11, 20), (0.5, 15, 79), (0.8, 18, 140)] {
            // Mean degrees 2 and 19: 11/2 · 3.7 = 20.35, 15/2 · 10.5 = 78.75, 18/2 · 15.6 = 140.4.
            let copy = between(&graph, &partner, share, &mut rng(1)).unwrap();
            assert_eq!(
                (copy.num_nodes(), copy.num_edges()),
                (nodes, edges),
                "a share of {share}"
            );
            assert!(copy.features().is_none());
        }
    }

    #[test]
    fn mean_features_are_between() {
        let (graph, partner) = (
            numbered(generate::cycle(10).unwrap(), false),
            numbered(generate::star(21).unwrap(), false),
        );
        let copy = between(&graph, &partner, 0.4, &mut rng(1)).unwrap();
        let values = copy.features().unwrap().to_dense().data().to_vec();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        assert_eq!(values.len(), 14);
        assert!((mean - (0.6 * 5.5 + 0.4 * 11.0)).abs() < 1e-4, "{mean}");
    }

    #[test]
    fn shares_strengths_and_small_graphs() {
        let (a, b) = (
            generate::erdos_renyi(20, 0.2, 1).unwrap(),
            generate::barabasi_albert(12, 3, 1).unwrap(),
        );
        let transform = GeoMix::new(0.3);
        let mut shares = Vec::new();
        for seed in 0..30 {
            let (copy, share) = transform.apply_with(&a, &b, &mut rng(seed)).unwrap();
            assert_eq!(copy.num_nodes(), (20.0 - 8.0 * share).round() as usize);
            shares.push(share);
        }
        assert!(shares.iter().all(|share| (0.0..=0.3).contains(share)));
        assert!(shares.iter().sum::<f64>() > 3.0, "0.15 on average");
        let (same, share) = GeoMix::new(0.0).apply_with(&a, &b, &mut rng(1)).unwrap();
        assert_eq!((same.targets(), share), (a.targets(), 0.0));
        let (none, one) = (Graph::empty(0).unwrap(), Graph::empty(1).unwrap());
        let apply = |graph: &Graph, partner: &Graph| {
            let (copy, share) = GeoMix::new(1.0)
                .apply_with(graph, partner, &mut rng(1))
                .unwrap();
            (copy.num_nodes(), copy.num_edges(), share > 0.0)
        };
        assert_eq!(apply(&none, &b), (0, 0, false));
        assert_eq!(apply(&b, &none), (12, b.num_edges(), false));
        assert_eq!(apply(&one, &one), (1, 0, true));
        let (nodes, _, mixed) = apply(&one, &b);
        assert!((1..=12).contains(&nodes) && mixed);
    }

    #[test]
    fn large_graphs_have_smaller_copies_of_their_degree() {
        let graph = generate::cycle(MOST_NODES + 60).unwrap();
        let copy = between(&graph, &generate::cycle(30).unwrap(), 0.05, &mut rng(1)).unwrap();
        assert_eq!(
            (copy.num_nodes(), copy.num_edges()),
            (MOST_NODES, MOST_NODES)
        );
    }

    #[test]
    fn where_it_begins() {
        let two = Graph::from_edges(6, [(0, 1), (1, 2), (3, 4), (4, 5)])
            .unwrap()
            .0;
        for count in 1..9 {
            let nodes = begin_at(&two, count, &mut rng(count as u64));
            assert_eq!(nodes.len(), count);
            let mut different = nodes.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(
                different.len(),
                count.min(6),
                "every node once before one comes again"
            );
        }
    }

    #[test]
    fn incompatible_graphs_are_refused() {
        let plain = generate::cycle(4).unwrap();
        let e = between(&plain, &numbered(plain.clone(), true), 0.5, &mut rng(1))
            .unwrap_err()
            .to_string();
        assert_eq!(e, "geomix: two graphs with different feature columns");
        let weighted = Graph::from_weighted_edges(2, [(0, 1, 2.5)]).unwrap().0;
        let e = between(&plain, &weighted, 0.5, &mut rng(1))
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "geomix: the graph has edge weights, and the interpolated graphs have none"
        );
    }
}
