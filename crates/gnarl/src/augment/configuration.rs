//! The configuration model as an augmentation (thesis `gen:app:config_models`): edges broken with a
//! chance and their halves rejoined at random, so that every node keeps its degree. [`rewire`] says
//! how pairs that no simple graph has are avoided.

use gnarl_graph::generate::rewire;
use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{COPIES, Copies, GraphTransform, check_share};

/// Edges rejoined at random; degrees and what nodes carry stay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Configuration {
    /// the chance of an edge to break, 0 to 1.
    pub strength: f64,
    /// How often a copy is made.
    pub copies: Copies,
}

impl Configuration {
    /// With this share, copies made anew in every epoch.
    pub const fn share(strength: f64) -> Self {
        Self {
            strength,
            copies: Copies::EachEpoch,
        }
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Self::share(0.2)
    }
}

impl Choice for Configuration {
    const NAME: &'static str = "configuration";
    const ABOUT: &'static str = "copies with some edges rejoined at random, degrees kept";
    const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "strength",
            "X",
            "the chance of an edge to break, 0 to 1 [default: 0.2]",
        ),
        COPIES,
    ];

    fn check(&self) -> Result<()> {
        check_share(Self::NAME, self.strength)
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
        rewire(graph, self.strength, rng.random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;

    #[test]
    fn degrees_stay_and_edges_move() {
        let degrees = |g: &Graph| {
            (0..g.num_nodes() as u32)
                .map(|u| g.degree(u))
                .collect::<Vec<_>>()
        };
        let graph = generate::erdos_renyi(40, 0.2, 1).unwrap();
        let moved = |rate, seed| {
            let other = Configuration::share(rate)
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
        let e = Configuration::share(7.0).check().unwrap_err().to_string();
        assert_eq!(e, "configuration: a strength of 7; it must lie in 0 to 1");
    }
}
