//! Edges and features together (thesis ch. 5, appendix): edges that spoil training by
//! [`mettack`](super::mettack), then noise on every feature by [`gaussian`](super::gaussian).

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::{Error, Graph};
use serde::{Deserialize, Serialize};

use super::gaussian::Gaussian;
use super::method::{Flip, Method, OF_EDGES, Scene, TENTH, refused};
use super::mettack::{AT_ONCE, INNER_STEPS, Mettack};
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, Noise};

/// Flips of edges and noise on features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Combined {
    /// Share of the edges.
    pub budget: f64,
    /// Psi of the noise.
    pub psi: f64,
    /// Steps of the surrogate's training.
    pub inner_steps: usize,
    /// Flips taken from one derivative; more than one is an approximation.
    pub at_once: usize,
}

impl Combined {
    /// This share of the edges, and noise of psi 0.5.
    pub const fn budget(budget: f64) -> Self {
        let Mettack {
            inner_steps,
            at_once,
            ..
        } = Mettack::budget(budget);
        Self {
            budget,
            psi: 0.5,
            inner_steps,
            at_once,
        }
    }

    fn edges(&self) -> Mettack {
        Mettack {
            inner_steps: self.inner_steps,
            at_once: self.at_once,
            ..Mettack::budget(self.budget)
        }
    }

    /// Called by its own setting where it is wrong: the budget is that of the edges.
    fn noise(&self) -> gnarl_graph::Result<Noise> {
        Noise::new(self.psi).map_err(|e| match e {
            Error::Argument { what, .. } => Error::argument("psi", what),
            other => other,
        })
    }
}

impl Default for Combined {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for Combined {
    const NAME: &'static str = "combined";
    const ABOUT: &'static str =
        "edges that spoil training (mettack), and noise on every feature besides";
    const SETTINGS: &'static [Setting] = &[
        OF_EDGES,
        Setting::new(
            "psi",
            "X",
            "the noise besides: the expected norm of a node's [default: 0.5]",
        ),
        INNER_STEPS,
        AT_ONCE,
    ];

    fn check(&self) -> gnarl_graph::Result<()> {
        self.budget()?;
        self.edges().check()
    }
}

impl Method for Combined {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(scene, seed)?.0)
    }

    fn attack_in_order(&self, scene: &Scene<'_>, seed: u64) -> Result<(Graph, Option<Vec<Flip>>)> {
        // Before the search, which takes long.
        if scene.graph.features().is_none() {
            return Err(refused(
                "combined puts noise on features, and the graph has none; attack its edges alone, by mettack",
            ));
        }
        if scene.graph.weights().is_some() {
            return Err(refused(
                "combined flips whole edges, and this graph has weights; attack its features alone, by gaussian",
            ));
        }
        // Less than a flip leaves the noise.
        let (graph, order) = match EdgeShare::new(self.budget)?.flips(scene.graph) {
            0 => (scene.graph.clone(), Some(Vec::new())),
            _ => self.edges().attack_in_order(scene, seed)?,
        };
        let noisy = Gaussian::budget(self.psi).attack(
            &Scene {
                graph: &graph,
                ..*scene
            },
            seed,
        )?;
        Ok((noisy, order))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        Ok(Budget::Both(EdgeShare::new(self.budget)?, self.noise()?))
    }

    fn unit(&self) -> &'static str {
        "share of the edges, rounded down to whole flips; noise on features besides"
    }

    fn needs_training(&self) -> bool {
        true
    }

    fn changes_features(&self) -> bool {
        true
    }

    fn needs_node_classes(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::Attack;
    use crate::attack::testing::{graph, targets, training};

    #[test]
    fn both_parts_change_within_their_budgets() {
        let graph = graph(1);
        let (targets, training) = (targets(&graph), training(&graph));
        let scene = Scene {
            graph: &graph,
            model: None,
            targets: &targets,
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        let attacked = Attack::from(Combined {
            psi: 0.3,
            inner_steps: 10,
            ..Combined::budget(0.05)
        })
        .run(&scene, 2)
        .unwrap();
        assert_eq!(attacked.change.num_flips(), graph.num_edges() / 20);
        assert_eq!(attacked.flips.len(), graph.num_edges() / 20);
        let moved = attacked.change.features.l2 / (graph.num_nodes() as f64).sqrt();
        assert!((moved - 0.3).abs() < 0.05, "{moved}");
        let alone = Attack::from(Mettack {
            inner_steps: 10,
            ..Mettack::budget(0.05)
        })
        .run(&scene, 2)
        .unwrap();
        assert_eq!(
            alone.change.added, attacked.change.added,
            "the edges are those of mettack"
        );
        // Less than a flip leaves the noise, as none does.
        let noise = |budget| {
            let attacked = Attack::from(Combined {
                psi: 0.3,
                ..Combined::budget(budget)
            })
            .run(&scene, 2)
            .unwrap();
            assert_eq!(attacked.change.num_flips(), 0);
            attacked.change.features
        };
        assert!(noise(0.0).l2 > 0.0);
        assert_eq!(noise(0.0), noise(0.1 / graph.num_edges() as f64));
        let bare = Graph::from_edges(graph.num_nodes(), graph.edges())
            .unwrap()
            .0;
        let bare = bare.with_labels(graph.labels().unwrap().clone()).unwrap();
        let e = Attack::from(Combined::default())
            .run(
                &Scene {
                    graph: &bare,
                    ..scene
                },
                1,
            )
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("the graph has none; attack its edges alone, by mettack"),
            "{e}"
        );
        let e = Combined {
            psi: -1.0,
            ..Combined::default()
        }
        .check()
        .unwrap_err()
        .to_string();
        assert_eq!(e, "psi: -1 must be a number of at least 0");
        let e = Combined {
            budget: -1.0,
            ..Combined::default()
        }
        .check()
        .unwrap_err()
        .to_string();
        assert_eq!(e, "budget: -1 must be a number of at least 0");
    }
}
