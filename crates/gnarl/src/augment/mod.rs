//! The data axis (thesis ch. 7): what a graph classifier is trained on.
//!
//! | file | what |
//! | --- | --- |
//! | [`transform`] | the interface of everything that makes one graph into another, once or anew in every epoch |
//! | [`corruption`] | edges of training graphs removed and added at random |
//! | [`density`] | densities of latent vectors |
//! | [`gratin`] | new latent vectors drawn from a mixture for each class |
//!
//! [`Augment`] is the one list of the axis' choices. Retraining the head alone is the control that every augmentation in
//! latent space is read against: the same fresh head, the same number of steps, the original vectors.

pub mod corruption;
pub mod density;
pub mod gratin;
pub mod transform;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use corruption::Corruption;
pub use gratin::Components;
pub use transform::{Augmentation, Copies, GraphTransform};

/// The choices of the data axis. Stored by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Augment {
    /// The training set as it is.
    None,
    /// The training set as it is, then a fresh head on its vectors, for as many steps as an augmentation that doubles them.
    Retrain,
    /// The training set as it is, then a fresh head on its vectors and as many new ones, drawn from mixtures fitted to them.
    Gratin,
}

impl Augment {
    /// Every choice with its name: the one list that help, parsing and tests come from.
    pub const ALL: [(&'static str, Augment); 3] =
        [("none", Augment::None), ("retrain", Augment::Retrain), ("gratin", Augment::Gratin)];

    /// Whether it trains a fresh head after the whole network.
    pub fn retrains_head(self) -> bool {
        match self {
            Augment::None => false,
            Augment::Retrain | Augment::Gratin => true,
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
    }
}
