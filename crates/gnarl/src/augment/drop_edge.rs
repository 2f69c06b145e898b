//! DropEdge (Rong et al. 2020, [arXiv:1907.10903](https://arxiv.org/abs/1907.10903)): every edge is
//! removed with the same probability, independently of the others.

use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{Copies, GraphTransform};

/// Removes random edges; nodes, features and labels stay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "dropedge",
    about = "removes random edges from copies of the training graphs",
    constant
)]
pub struct DropEdge {
    /// Probability of removing an edge.
    #[setting(default = 0.2, range = 0.0..=1.0, was = "strength")]
    pub p: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::EachEpoch)]
    pub copies: Copies,
}

impl DropEdge {
    /// Returns DropEdge with this probability, and new copies in every epoch.
    #[must_use]
    pub const fn new(p: f64) -> Self {
        Self { p, ..Self::DEFAULT }
    }
}

impl Augmentation for DropEdge {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }

    fn keeps_nodes(&self) -> bool {
        true
    }
}

impl GraphTransform for DropEdge {
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let gone: Vec<(u32, u32)> = graph.edges().filter(|_| rng.random_bool(self.p)).collect();
        graph.remove_edges(&gone)
    }

    fn adds_edges(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;
    use gnarl_graph::settings::Choice;

    #[test]
    fn the_rate_is_met_in_expectation() {
        let graph = generate::erdos_renyi(60, 0.2, 1).unwrap();
        for rate in [0.0, 0.1, 0.5, 1.0] {
            let transform = DropEdge::new(rate);
            let left = |seed| {
                transform
                    .apply(&graph, &mut stream(seed, "drop edge test", 0))
                    .unwrap()
                    .num_edges()
            };
            let (kept, all) = (
                (0..300).map(left).sum::<usize>() as f64,
                300.0 * graph.num_edges() as f64,
            );
            // Five standard deviations of that many coin tosses.
            assert!(
                (kept - (1.0 - rate) * all).abs() <= 5.0 * (all * rate * (1.0 - rate)).sqrt(),
                "{rate}: {kept}"
            );
        }
    }

    #[test]
    fn a_rate_that_is_none_is_refused() {
        let e = DropEdge::new(1.5).check().unwrap_err().to_string();
        assert_eq!(e, "p must be in [0, 1] (got 1.5)");
        assert!(DropEdge::new(f64::NAN).check().is_err());
    }
}
