//! DropEdge (Rong et al. 2019; thesis ch. 7, baselines): every edge goes with the same chance, by
//! itself.

use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{COPIES, Copies, GraphTransform, check_share};

/// Edges removed at random; nodes and what they carry stay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DropEdge {
    /// the chance of an edge to go, 0 to 1.
    pub strength: f64,
    /// How often a copy is made.
    pub copies: Copies,
}

impl DropEdge {
    /// With this share, copies made anew in every epoch.
    pub const fn share(strength: f64) -> Self {
        Self {
            strength,
            copies: Copies::EachEpoch,
        }
    }
}

impl Default for DropEdge {
    fn default() -> Self {
        Self::share(0.2)
    }
}

impl Choice for DropEdge {
    const NAME: &'static str = "dropedge";
    const ABOUT: &'static str = "copies of the training graphs, or the graph, without some edges";
    const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "strength",
            "X",
            "the chance of an edge to go, 0 to 1 [default: 0.2]",
        ),
        COPIES,
    ];

    fn check(&self) -> Result<()> {
        check_share(Self::NAME, self.strength)
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
        let gone: Vec<(u32, u32)> = graph
            .edges()
            .filter(|_| rng.random_bool(self.strength))
            .collect();
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

    #[test]
    fn the_rate_is_met_in_expectation() {
        let graph = generate::erdos_renyi(60, 0.2, 1).unwrap();
        for rate in [0.0, 0.1, 0.5, 1.0] {
            let transform = DropEdge::share(rate);
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
            // Five standard deviations of so many coin tosses.
            assert!(
                (kept - (1.0 - rate) * all).abs() <= 5.0 * (all * rate * (1.0 - rate)).sqrt(),
                "{rate}: {kept}"
            );
        }
    }

    #[test]
    fn a_rate_that_is_none_is_refused() {
        let e = DropEdge::share(1.5).check().unwrap_err().to_string();
        assert_eq!(e, "dropedge: a strength of 1.5; it must lie in 0 to 1");
        assert!(DropEdge::share(f64::NAN).check().is_err());
    }
}
