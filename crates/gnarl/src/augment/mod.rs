//! The data axis (thesis ch. 7): what a graph classifier is trained on.
//!
//! | file | what |
//! | --- | --- |
//! | [`transform`] | the interface of everything that makes one graph into another, once or anew in every epoch |
//! | [`corruption`] | edges of training graphs removed and added at random |
//! | [`drop_edge`], [`drop_node`], [`subgraph`], [`submix`], [`configuration`] | augmentations in graph space, one each |
//! | [`manifold_mixup`] | latent vectors mixed while training |
//! | [`density`] | densities of latent vectors |
//! | [`gratin`] | new latent vectors drawn from a density for each class |
//! | [`draws`] | how many vectors of each class a fresh head gets |
//! | [`influence`], [`network_influence`] | what one more training item would do, for the head and for whole networks |
//!
//! [`Augment`] is the one list of the axis' choices. Retraining the head alone is the control that every augmentation in
//! latent space is read against: the same fresh head, the same number of steps, the original vectors.

pub mod configuration;
pub mod corruption;
pub mod density;
pub mod draws;
pub mod drop_edge;
pub mod drop_node;
pub mod gratin;
pub mod influence;
pub mod manifold_mixup;
pub mod network_influence;
pub mod subgraph;
pub mod submix;
pub mod transform;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use configuration::Configuration;
pub use corruption::Corruption;
pub use density::{Components, Density};
pub use draws::Draws;
pub use drop_edge::DropEdge;
pub use drop_node::DropNode;
pub use manifold_mixup::ManifoldMixup;
pub use subgraph::Subgraph;
pub use submix::SubMix;
pub use transform::{Augmentation, Copies, GraphTransform};

/// The choices of the data axis. Stored by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Augment {
    /// The training set as it is.
    None,
    /// The training set as it is, then a fresh head on its vectors, for as many steps as an augmentation has.
    Retrain,
    /// The training set as it is, then a fresh head on its vectors and as many new ones, drawn from densities fitted to them.
    Gratin,
    /// Copies of the training graphs without some edges.
    DropEdge,
    /// Copies without some nodes.
    DropNode,
    /// Connected parts of the training graphs.
    Subgraph,
    /// Copies with a part of another training graph in the place of one of their own.
    SubMix,
    /// Latent vectors mixed in every step of training.
    ManifoldMixup,
    /// Copies with some edges rejoined at random.
    Configuration,
}

impl Augment {
    /// Every choice with its name: the one list that help, parsing and tests come from.
    pub const ALL: [(&'static str, Augment); 9] = [
        ("none", Augment::None),
        ("retrain", Augment::Retrain),
        ("gratin", Augment::Gratin),
        ("dropedge", Augment::DropEdge),
        ("dropnode", Augment::DropNode),
        ("subgraph", Augment::Subgraph),
        ("submix", Augment::SubMix),
        ("manifold-mixup", Augment::ManifoldMixup),
        ("configuration", Augment::Configuration),
    ];

    /// Whether it trains a fresh head after the whole network.
    pub fn retrains_head(self) -> bool {
        matches!(self, Augment::Retrain | Augment::Gratin)
    }

    /// Whether it trains on copies of the training graphs.
    pub fn uses_graphs(self) -> bool {
        use Augment::{Configuration, DropEdge, DropNode, SubMix, Subgraph};
        matches!(self, DropEdge | DropNode | Subgraph | SubMix | Configuration)
    }

    /// How strong it is where nothing is said; `None` where there is no such number. The thesis does not say: 0.2 is the ratio of You
    /// et al. (2020) for edges, nodes and parts, and of the configuration model too; SubMix swaps up to 0.4 of the smaller graph;
    /// Manifold-Mixup draws shares from Beta(1, 1).
    pub fn default_strength(self) -> Option<f64> {
        match self {
            Augment::None | Augment::Retrain | Augment::Gratin => None,
            Augment::DropEdge | Augment::DropNode | Augment::Subgraph | Augment::Configuration => Some(0.2),
            Augment::SubMix => Some(0.4),
            Augment::ManifoldMixup => Some(1.0),
        }
    }

    /// What it does to a training graph, where that is what it does.
    pub fn transform(self, strength: Option<f64>) -> gnarl_graph::Result<Option<Box<dyn GraphTransform>>> {
        let strength = strength.or(self.default_strength()).unwrap_or_default();
        Ok(match self {
            Augment::None | Augment::Retrain | Augment::Gratin | Augment::ManifoldMixup => None,
            Augment::DropEdge => Some(Box::new(DropEdge::new(strength)?)),
            Augment::DropNode => Some(Box::new(DropNode::new(strength)?)),
            Augment::Subgraph => Some(Box::new(Subgraph::new(strength)?)),
            Augment::SubMix => Some(Box::new(SubMix::new(strength)?)),
            Augment::Configuration => Some(Box::new(Configuration::new(strength)?)),
        })
    }

    /// How it mixes latent vectors while training, where that is what it does.
    pub fn mixup(self, strength: Option<f64>) -> gnarl_graph::Result<Option<ManifoldMixup>> {
        match self {
            Augment::ManifoldMixup => Ok(Some(ManifoldMixup::new(strength.unwrap_or(1.0))?)),
            _ => Ok(None),
        }
    }
}

/// What an augmentation is told beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AugmentSettings {
    /// How much of a graph changes, or α of Manifold-Mixup; `None` for [`Augment::default_strength`].
    pub strength: Option<f64>,
    /// In graph space: how often a training graph is copied. Copies of every epoch take the place of the graphs, as DropEdge's authors
    /// do it; one copy for all epochs stands beside its graph, as GRATIN's vectors do.
    pub copies: Copies,
    /// Of GRATIN: what new vectors are drawn from.
    #[serde(serialize_with = "by_name")]
    pub density: Density,
    /// Of fresh heads: how many vectors of each class they get beside the original ones.
    pub draws: Draws,
    /// Of GRATIN: the share of new vectors to keep, those of most influence on the validation graphs; `None` for all, unasked.
    pub select: Option<f64>,
    /// Whose parameters influence is taken through.
    pub through: Through,
    /// Whether the influence of every new vector, and what keeping the best of them does, is found out.
    pub study: bool,
}

/// A density by its name alone: how many Gaussians a mixture has is stored by the task.
fn by_name<S: serde::Serializer>(density: &Density, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(density.name())
}

/// Which parameters influence is taken through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Through {
    /// The head's, exactly.
    Head,
    /// All of the network's, by conjugate gradients.
    Network,
}

impl Through {
    /// Every choice with its name.
    pub const ALL: [(&'static str, Through); 2] = [("head", Through::Head), ("network", Through::Network)];
}

impl FromStr for Through {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let known = || Self::ALL.iter().map(|(known, _)| *known);
        found.map(|(_, through)| *through).ok_or_else(|| gnarl_graph::Error::unknown("parameters", name, known()))
    }
}

impl AugmentSettings {
    /// What an augmentation is told where nobody says anything.
    pub fn of(augment: Augment) -> Self {
        Self { strength: augment.default_strength(), ..Self::default() }
    }
}

impl Default for AugmentSettings {
    fn default() -> Self {
        Self {
            strength: None,
            copies: Copies::EachEpoch,
            density: density::Mixture::new().into(),
            draws: Draws::AsMany,
            select: None,
            through: Through::Head,
            study: false,
        }
    }
}

impl fmt::Display for Augment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::ALL.iter().find(|(_, augment)| augment == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

impl FromStr for Augment {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let known = || Self::ALL.iter().map(|(known, _)| *known);
        found.map(|(_, a)| *a).ok_or_else(|| gnarl_graph::Error::unknown("augmentation", name, known()))
    }
}

impl TryFrom<String> for Augment {
    type Error = gnarl_graph::Error;

    fn try_from(name: String) -> gnarl_graph::Result<Self> {
        name.parse()
    }
}

impl From<Augment> for String {
    fn from(augment: Augment) -> Self {
        augment.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for (name, augment) in Augment::ALL {
            assert_eq!((name.to_uppercase().parse::<Augment>().unwrap(), augment.to_string()), (augment, name.into()));
        }
        let e = "retrian".parse::<Augment>().unwrap_err().to_string();
        assert!(e.contains("unknown augmentation 'retrian'; did you mean retrain"), "{e}");
        for (name, augment) in Augment::ALL {
            assert_eq!(augment.transform(None).unwrap().is_some(), augment.uses_graphs(), "{name}");
            let has_strength = augment.uses_graphs() || augment.mixup(None).unwrap().is_some();
            assert_eq!(augment.default_strength().is_some(), has_strength, "{name}");
            if has_strength {
                let e = augment.transform(Some(-1.0)).err().or(augment.mixup(Some(-1.0)).err()).unwrap().to_string();
                assert!(e.starts_with(&format!("{name}: a strength of -1; it must ")), "{e}");
            }
        }
    }
}
