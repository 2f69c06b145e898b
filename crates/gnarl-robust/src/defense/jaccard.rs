//! GCN-Jaccard (Wu et al. 2019, "Adversarial Examples for Graph Data: Deep Insights into Attack and
//! Defense", [arXiv:1903.01610](https://arxiv.org/abs/1903.01610)): edges between nodes with a small
//! Jaccard similarity of features are removed. Structure attacks mostly join such nodes.
//!
//! The similarity is `|A ∩ B| / |A ∪ B|` of the non-zero features A and B of two nodes; their values
//! do not matter. Two nodes without features have similarity zero.

use gnarl_graph::settings::{Choice, Settings};
use gnarl_graph::{Features, Graph};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Preprocess;
use crate::classifier::{Differentiable, Filter, Relaxed};
use crate::perturb::Pair;
use gnarl_graph::Result;
use gnarl_nn::networks::Propagation;
use gnarl_tensor::{Device, Tensor};

/// Removes edges between nodes with dissimilar features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "jaccard",
    about = "edges between nodes with dissimilar features removed (GCN-Jaccard)"
)]
pub struct Jaccard {
    /// Largest Jaccard similarity of an edge that is removed.
    ///
    /// 0.01 is the default of DeepRobust.
    #[setting(default = 0.01, range = 0.0..=1.0, flag = "jaccard-threshold")]
    pub threshold: f64,
}

impl Preprocess for Jaccard {
    /// Removes dissimilar edges in O(features of both ends) per edge.
    fn preprocessed(&self, graph: &Graph) -> Result<Graph> {
        let edges: Vec<Pair> = graph.edges().collect();
        let kept = self.keeps(graph, &edges)?;
        let dropped: Vec<Pair> = edges
            .into_iter()
            .zip(kept)
            .filter(|(_, kept)| !kept)
            .map(|(edge, _)| edge)
            .collect();
        graph.remove_edges(&dropped)
    }

    fn see_through(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }
}

impl Jaccard {
    /// Returns true for each pair that would be kept as an edge.
    fn keeps(&self, graph: &Graph, pairs: &[Pair]) -> Result<Vec<bool>> {
        self.check()?;
        let Some(features) = graph.features() else {
            let what = "the graph has no features to compare nodes by";
            let remedy = "take another --defense, or a graph with features";
            return Err(gnarl_graph::Error::missing("jaccard", what, remedy));
        };
        let supports: Vec<Vec<u32>> = (0..graph.num_nodes())
            .into_par_iter()
            .map(|u| support(features, u))
            .collect();
        let is_alike = |&(u, v): &Pair| {
            similarity(&supports[u as usize], &supports[v as usize]) > self.threshold
        };
        Ok(pairs.par_iter().map(is_alike).collect())
    }
}

/// The kept pairs depend on features alone: their gradients are exact, and the other pairs have
/// none.
impl Differentiable for Jaccard {
    fn ready<'a>(&'a self, graph: &'a Graph, relaxed: &Relaxed) -> Result<Filter<'a>> {
        let kept = self.keeps(graph, relaxed.pairs())?;
        let kept: Vec<f32> = kept
            .into_iter()
            .map(|kept| f32::from(u8::from(kept)))
            .collect();
        let kept = Tensor::from_vec(kept, relaxed.pairs().len(), &Device::Cpu)?;
        Ok(Box::new(move |relaxed, weights| {
            Ok(Propagation::from(relaxed.operator_of(&(weights * &kept)?)?))
        }))
    }

    fn how(&self) -> &'static str {
        "exactly: the similarity depends on features alone"
    }
}

/// Returns the non-zero features of a node, ascending.
fn support(features: &Features, node: usize) -> Vec<u32> {
    let mut columns: Vec<u32> = match features {
        Features::Dense(m) => (0..)
            .zip(m.row(node))
            .filter(|(_, x)| **x != 0.0)
            .map(|(c, _)| c)
            .collect(),
        Features::Sparse(m) => {
            let (columns, values) = m.row(node);
            columns
                .iter()
                .zip(values)
                .filter(|(_, x)| **x != 0.0)
                .map(|(c, _)| *c)
                .collect()
        }
    };
    columns.sort_unstable();
    columns
}

/// Returns the Jaccard similarity of two ascending lists.
fn similarity(a: &[u32], b: &[u32]) -> f64 {
    let (mut i, mut j, mut shared) = (0, 0, 0usize);
    while i < a.len() && j < b.len() {
        shared += usize::from(a[i] == b[j]);
        let (next_i, next_j) = (a[i] <= b[j], b[j] <= a[i]);
        i += usize::from(next_i);
        j += usize::from(next_j);
    }
    let all = a.len() + b.len() - shared;
    if all == 0 {
        0.0
    } else {
        shared as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::{CsrMatrix, DenseMatrix};

    /// Features {0, 1}, {0, 1, 2}, {2, 3}, {3} and none. Similarities by hand: 0-1 2/3, 1-2 1/4,
    /// 2-3 1/2, 0-3 0, and 3-4 0.
    fn fixture() -> Graph {
        #[rustfmt::skip]
        let values = vec![
            1.0, 0.5, 0.0, 0.0,
            2.0, 1.0, -1.0, 0.0,
            0.0, 0.0, 1.0, 0.1,
            0.0, 0.0, 0.0, 3.0,
            0.0, 0.0, 0.0, 0.0,
        ];
        let edges = [
            (0, 1, 0.5),
            (1, 2, 2.0),
            (2, 3, 3.0),
            (0, 3, 4.0),
            (3, 4, 5.0),
        ];
        let features = Features::Dense(DenseMatrix::new(5, 4, values).unwrap());
        Graph::from_weighted_edges(5, edges)
            .unwrap()
            .0
            .with_features(features)
            .unwrap()
    }

    fn left(graph: &Graph, threshold: f64) -> Vec<(u32, u32, f64)> {
        Jaccard { threshold }
            .preprocessed(graph)
            .unwrap()
            .weighted_edges()
            .collect()
    }

    #[test]
    fn edges_by_hand_with_their_weights() {
        let graph = fixture();
        assert_eq!(left(&graph, 0.01), [(0, 1, 0.5), (1, 2, 2.0), (2, 3, 3.0)]);
        assert_eq!(
            left(&graph, 0.25),
            [(0, 1, 0.5), (2, 3, 3.0)],
            "at the threshold it is dropped"
        );
        assert_eq!(left(&graph, 0.6), [(0, 1, 0.5)]);
        assert_eq!(left(&graph, 1.0), [], "isolated nodes are allowed");
        assert_eq!(left(&graph, 0.0), [(0, 1, 0.5), (1, 2, 2.0), (2, 3, 3.0)]);
    }

    #[test]
    fn sparse_features_with_stored_zeros_say_the_same() {
        // Node 4 stores a zero in column 3: it does not have that feature.
        let offsets = vec![0, 2, 5, 7, 8, 9];
        let columns = vec![0, 1, 0, 1, 2, 2, 3, 3, 3];
        let values = vec![1.0, 0.5, 2.0, 1.0, -1.0, 1.0, 0.1, 3.0, 0.0];
        let sparse = Features::Sparse(CsrMatrix::new(4, offsets, columns, values).unwrap());
        let graph = fixture();
        let same = graph.clone().with_features(sparse).unwrap();
        for threshold in [0.0, 0.25, 0.6] {
            assert_eq!(left(&same, threshold), left(&graph, threshold));
        }
    }

    #[test]
    fn graphs_without_edges_or_features() {
        let features = Features::Dense(DenseMatrix::zeros(3, 2));
        let empty = Graph::empty(3).unwrap();
        let preprocessed = Jaccard::default()
            .preprocessed(&empty.clone().with_features(features).unwrap())
            .unwrap();
        assert_eq!((preprocessed.num_nodes(), preprocessed.num_edges()), (3, 0));
        let e = Jaccard::default()
            .preprocessed(&empty)
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("no features to compare nodes by") && !e.contains('\n'),
            "{e}"
        );
    }
}
