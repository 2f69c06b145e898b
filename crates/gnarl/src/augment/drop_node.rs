//! DropNode: every node is removed with the same probability, with its edges (You et al. 2020,
//! [arXiv:2010.13902](https://arxiv.org/abs/2010.13902)). In node classification no node can be
//! removed. A node's features are set to zero instead, as in GRAND (Feng et al. 2020,
//! [arXiv:2005.11079](https://arxiv.org/abs/2005.11079)). The features of the others are scaled up
//! so that sums over neighbours keep their expectation.

use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{Copies, GraphTransform, kept_factors, with_scaled_features};

/// Removes random nodes; at least one node of each graph stays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "dropnode",
    about = "removes random nodes from copies of the training graphs, or the features of random nodes",
    constant
)]
pub struct DropNode {
    /// Probability of removing a node.
    #[setting(default = 0.2, range = 0.0..=1.0, was = "strength")]
    pub p: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::EachEpoch)]
    pub copies: Copies,
}

impl DropNode {
    /// Returns DropNode with this probability, and new copies in every epoch.
    #[must_use]
    pub const fn new(p: f64) -> Self {
        Self { p, ..Self::DEFAULT }
    }
}

impl Augmentation for DropNode {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }

    fn keeps_nodes(&self) -> bool {
        true
    }

    fn works_on_features(&self) -> bool {
        true
    }
}

impl GraphTransform for DropNode {
    fn apply_in_place(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let kept = kept_factors(graph.num_nodes(), self.p, rng);
        with_scaled_features(graph, |node, _| kept[node])
    }

    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let n = graph.num_nodes() as u32;
        let mut left: Vec<u32> = (0..n).filter(|_| !rng.random_bool(self.p)).collect();
        if left.is_empty() && n > 0 {
            left.push(rng.random_range(0..n));
        }
        graph.subgraph(&left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;
    use gnarl_graph::settings::Choice;

    #[test]
    fn the_rate_is_met_in_expectation_and_one_node_stays() {
        let graph = generate::erdos_renyi(60, 0.2, 1).unwrap();
        for rate in [0.0, 0.1, 0.5] {
            let transform = DropNode::new(rate);
            let left = |seed| {
                transform
                    .apply(&graph, &mut stream(seed, "drop node test", 0))
                    .unwrap()
                    .num_nodes()
            };
            let (kept, all) = ((0..300).map(left).sum::<usize>() as f64, 300.0 * 60.0);
            // Five standard deviations of that many coin tosses.
            assert!(
                (kept - (1.0 - rate) * all).abs() <= 5.0 * f64::sqrt(all * rate * (1.0 - rate)),
                "{rate}: {kept}"
            );
        }
        let all = DropNode::new(1.0);
        let who = |seed| {
            let labelled = generate::star(5)
                .unwrap()
                .with_features(gnarl_graph::Features::Dense(
                    gnarl_graph::DenseMatrix::new(5, 1, vec![0.0, 1.0, 2.0, 3.0, 4.0]).unwrap(),
                ));
            let left = all
                .apply(&labelled.unwrap(), &mut stream(seed, "drop node test", 1))
                .unwrap();
            assert_eq!((left.num_nodes(), left.num_edges()), (1, 0));
            left.features().unwrap().to_dense().row(0)[0] as usize
        };
        let mut seen = [0; 5];
        (0..100).for_each(|seed| seen[who(seed)] += 1);
        assert!(
            seen.iter().all(|&times| times > 0),
            "any node may be the one: {seen:?}"
        );
        assert_eq!(
            DropNode::new(-1.0).check().unwrap_err().to_string(),
            "p must be in [0, 1] (got -1)"
        );
    }
}
