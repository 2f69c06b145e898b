//! Rewiring by the configuration model (Newman et al. 2001,
//! [arXiv:cond-mat/0007235](https://arxiv.org/abs/cond-mat/0007235)): each edge is cut with the same
//! probability and the half-edges are joined again at random, so every node keeps its degree.
//! [`rewire`] describes how loops and multiple edges are avoided.

use gnarl_graph::generate::rewire;
use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{Copies, GraphTransform};

/// Rewires random edges; degrees, features and labels stay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "configuration",
    about = "rewires random edges in copies of the training graphs; degrees stay",
    constant
)]
pub struct Configuration {
    /// Probability of rewiring an edge.
    #[setting(default = 0.2, range = 0.0..=1.0, was = "strength")]
    pub p: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::EachEpoch)]
    pub copies: Copies,
}

impl Configuration {
    /// Returns the rewiring with this probability, and new copies in every epoch.
    #[must_use]
    pub const fn new(p: f64) -> Self {
        Self { p, ..Self::DEFAULT }
    }
}

impl Augmentation for Configuration {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }

    fn keeps_nodes(&self) -> bool {
        true
    }
}

impl GraphTransform for Configuration {
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        rewire(graph, self.p, rng.random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;
    use gnarl_graph::settings::Choice;

    #[test]
    fn degrees_stay_and_edges_move() {
        let degrees = |g: &Graph| {
            (0..g.num_nodes() as u32)
                .map(|u| g.degree(u))
                .collect::<Vec<_>>()
        };
        let graph = generate::erdos_renyi(40, 0.2, 1).unwrap();
        let moved = |rate, seed| {
            let other = Configuration::new(rate)
                .apply(&graph, &mut stream(seed, "configuration", 0))
                .unwrap();
            assert_eq!(degrees(&other), degrees(&graph));
            graph
                .edges()
                .filter(|&(u, v)| !other.has_edge(u, v))
                .count()
        };
        assert_eq!(moved(0.0, 1), 0);
        let (few, many): (usize, usize) = (
            (0..20).map(|s| moved(0.2, s)).sum(),
            (0..20).map(|s| moved(0.8, s)).sum(),
        );
        assert!(few > 0 && many > 2 * few, "{few}, {many}");
        let e = Configuration::new(7.0).check().unwrap_err().to_string();
        assert_eq!(e, "p must be in [0, 1] (got 7)");
    }
}
