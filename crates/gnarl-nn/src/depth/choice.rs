//! The depth of a model: one depth for all nodes or graphs, or exits and a policy (ADMP-GNN,
//! Abbahaddou et al. 2025, [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)).

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::{Kind, Scheme};

/// The largest depth: every exit costs memory.
const DEEPEST: usize = 1000;

gnarl_graph::choices! {
    /// Number of propagation steps.
    pub enum Depth as "depth" {
        Fixed(Fixed),
        Sequential(Sequential),
        Aggregate(Aggregate),
    }
}

/// Gives all nodes or graphs the same number of layers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "fixed", about = "the same number of layers for all")]
pub struct Fixed {}

impl Kind {
    /// Default policy.
    pub const USUAL: Self = Kind::Pool;
}

/// Trains an exit at every layer, one after another (sequential training, ST).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "admp-st",
    about = "ADMP-GNN with an exit at every layer, trained one after the other"
)]
pub struct Sequential {
    /// Number of the last exit, with the first exit before any propagation.
    #[setting(default = 5, range = 0..=DEEPEST, was = "last")]
    pub max_depth: usize,
    /// Policy that chooses the exit of each node or graph.
    #[setting(default = Kind::USUAL)]
    pub policy: Kind,
}

/// Trains an exit at every layer, all at once (aggregate loss minimisation, ALM).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "admp-alm",
    about = "ADMP-GNN with an exit at every layer, all trained at once"
)]
pub struct Aggregate {
    /// Number of the last exit, with the first exit before any propagation.
    #[setting(default = 5, range = 0..=DEEPEST, was = "last")]
    pub max_depth: usize,
    /// Policy that chooses the exit of each node or graph.
    #[setting(default = Kind::USUAL)]
    pub policy: Kind,
}

/// Exits at every layer: their training scheme, their number, and the policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exits {
    /// Training scheme.
    pub scheme: Scheme,
    /// Number of the last exit.
    pub max_depth: usize,
    /// Policy that chooses the exit of each node or graph.
    pub policy: Kind,
}

impl Exits {
    /// Returns exits 0 to `max_depth`, trained one after another (ST).
    pub const fn st(max_depth: usize) -> Self {
        Self {
            scheme: Scheme::AdmpSt,
            max_depth,
            policy: Kind::USUAL,
        }
    }

    /// Returns exits 0 to `max_depth`, trained all at once (ALM).
    pub const fn alm(max_depth: usize) -> Self {
        Self {
            scheme: Scheme::AdmpAlm,
            max_depth,
            policy: Kind::USUAL,
        }
    }

    /// Sets the policy.
    pub const fn policy(self, policy: Kind) -> Self {
        Self { policy, ..self }
    }
}

impl From<Exits> for Depth {
    fn from(
        Exits {
            scheme,
            max_depth,
            policy,
        }: Exits,
    ) -> Self {
        match scheme {
            Scheme::AdmpSt => Depth::Sequential(Sequential { max_depth, policy }),
            Scheme::AdmpAlm => Depth::Aggregate(Aggregate { max_depth, policy }),
        }
    }
}

impl Depth {
    /// Returns the exits; `None` for a fixed depth.
    pub fn exits(&self) -> Option<Exits> {
        match *self {
            Depth::Fixed(_) => None,
            Depth::Sequential(Sequential { max_depth, policy }) => Some(Exits {
                scheme: Scheme::AdmpSt,
                max_depth,
                policy,
            }),
            Depth::Aggregate(Aggregate { max_depth, policy }) => Some(Exits {
                scheme: Scheme::AdmpAlm,
                max_depth,
                policy,
            }),
        }
    }
}

impl Default for Depth {
    fn default() -> Self {
        Depth::Fixed(Fixed {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sound_and_exits_are_found_in_it() {
        gnarl_graph::settings::assert_listed(Depth::LIST, Depth::all().map(|depth| depth.stored()));
        let echo = "echo".parse().unwrap();
        for exits in [Exits::st(3), Exits::alm(0).policy(echo)] {
            assert_eq!(Depth::from(exits).exits(), Some(exits));
        }
        assert_eq!(Depth::default().exits(), None);
        let given = [("max-depth".to_string(), "1001".to_string())];
        let e = "admp-st"
            .parse::<Depth>()
            .unwrap()
            .with(&given)
            .unwrap_err()
            .to_string();
        assert!(e.starts_with("max-depth") && e.contains("1000"), "{e}");
        let old = r#"{"kind":"admp-alm","last":2,"policy":"degree+core"}"#;
        let exits = serde_json::from_str::<Depth>(old).unwrap().exits().unwrap();
        assert_eq!(
            (exits.max_depth, exits.policy.to_string()),
            (2, "degree+core".into())
        );
    }
}
