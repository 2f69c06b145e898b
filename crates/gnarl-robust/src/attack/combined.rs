//! Attack on edges and features together: edges poisoned by [`mettack`](super::mettack) (Zügner and
//! Günnemann 2019, [arXiv:1902.08412](https://arxiv.org/abs/1902.08412)), then Gaussian noise on
//! every feature by [`gaussian`](super::gaussian).

use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use gnarl_graph::{Error, Graph};
use serde::{Deserialize, Serialize};

use super::gaussian::Gaussian;
use super::method::{AttackInput, Flip, MAX_FLIPS, Method, Property, Requirement, refused};
use super::mettack::{MAX_INNER_STEPS, Mettack};
use crate::perturb::{Budget, EdgeShare, Noise};
use gnarl_graph::Result;

/// Flips edges with Metattack and adds Gaussian noise to features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "combined",
    about = "poisoned edges (mettack) and Gaussian noise on every feature",
    check = Self::check_noise,
    constant
)]
pub struct Combined {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
    /// Psi, the expected norm of a node's noise.
    #[setting(default = 0.5, range = 0.0..)]
    pub psi: f64,
    /// Number of steps of the surrogate's training.
    #[setting(default = 100, range = 1..=MAX_INNER_STEPS)]
    pub inner_steps: usize,
    /// Number of flips for each meta-gradient; more than one is an approximation.
    #[setting(default = 1, range = 1..=MAX_FLIPS, was = "at-once")]
    pub flips_per_step: usize,
}

impl Combined {
    /// Returns the attack with this share of the edges, and noise of psi 0.5.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            ..Self::DEFAULT
        }
    }

    fn edges(&self) -> Mettack {
        Mettack {
            inner_steps: self.inner_steps,
            flips_per_step: self.flips_per_step,
            ..Mettack::budget(self.budget)
        }
    }

    /// Returns the noise, with errors about `psi`: `budget` is the share of the edges.
    fn noise(&self) -> gnarl_graph::Result<Noise> {
        Noise::new(self.psi).map_err(|e| match e {
            Error::Argument { what, .. } => Error::argument("psi", what),
            Error::OutOfRange { range, got, .. } => Error::OutOfRange {
                setting: "psi".into(),
                range,
                got,
            },
            other => other,
        })
    }

    fn check_noise(&self) -> gnarl_graph::Result<()> {
        self.noise().map(drop)
    }
}

impl Method for Combined {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(input, seed)?.0)
    }

    fn attack_in_order(
        &self,
        input: &AttackInput<'_>,
        seed: u64,
    ) -> Result<(Graph, Option<Vec<Flip>>)> {
        // Checked before the search, which takes long.
        if input.graph.features().is_none() {
            return Err(Error::missing(
                "attack",
                "combined puts noise on features, and the graph has none",
                "attack its edges alone, by mettack",
            ));
        }
        if input.graph.weights().is_some() {
            return Err(refused(
                "combined flips whole edges, and this graph has weights; attack its features alone, by gaussian",
            ));
        }
        // A budget below one flip leaves only the noise.
        let (graph, order) = match EdgeShare::new(self.budget)?.flips(input.graph) {
            0 => (input.graph.clone(), Some(Vec::new())),
            _ => self.edges().attack_in_order(input, seed)?,
        };
        let noisy = Gaussian::budget(self.psi).attack(
            &AttackInput {
                graph: &graph,
                ..*input
            },
            seed,
        )?;
        Ok((noisy, order))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        Ok(Budget::Both(EdgeShare::new(self.budget)?, self.noise()?))
    }

    fn unit(&self) -> &'static str {
        "share of the edges, rounded down to whole flips; psi bounds the noise on features"
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::TrainingNodes, Requirement::Labels])
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::Features])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::Attack;
    use crate::attack::testing::{graph, targets, training};
    use gnarl_graph::settings::Choice;

    #[test]
    fn both_parts_change_within_their_budgets() {
        let graph = graph(1);
        let (targets, training) = (targets(&graph), training(&graph));
        let input = AttackInput {
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
        .run(&input, 2)
        .unwrap();
        assert_eq!(attacked.change.num_flips(), graph.num_edges() / 20);
        assert_eq!(attacked.flips.len(), graph.num_edges() / 20);
        let moved = attacked.change.features.l2 / (graph.num_nodes() as f64).sqrt();
        assert!((moved - 0.3).abs() < 0.05, "{moved}");
        let alone = Attack::from(Mettack {
            inner_steps: 10,
            ..Mettack::budget(0.05)
        })
        .run(&input, 2)
        .unwrap();
        assert_eq!(
            alone.change.added, attacked.change.added,
            "the edges are those of mettack"
        );
        // A budget below one flip leaves only the noise, as a budget of zero does.
        let noise = |budget| {
            let attacked = Attack::from(Combined {
                psi: 0.3,
                ..Combined::budget(budget)
            })
            .run(&input, 2)
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
                &AttackInput {
                    graph: &bare,
                    ..input
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
        assert_eq!(e, "psi must be >= 0 (got -1)");
        let e = Combined {
            budget: -1.0,
            ..Combined::default()
        }
        .check()
        .unwrap_err()
        .to_string();
        assert_eq!(e, "budget must be in [0, 1] (got -1)");
    }
}
