//! The data axis (thesis ch. 7): what a model is trained on.
//!
//! | file | what |
//! | --- | --- |
//! | [`transform`] | the interface of everything that makes one graph into another, once or anew in every epoch |
//! | [`corruption`] | edges of training graphs removed and added at random |
//! | [`drop_edge`], [`drop_node`], [`feature_mask`], [`subgraph`], [`submix`], [`geo_mix`], [`configuration`], [`g_mixup`] | augmentations in graph space, one each |
//! | [`graphon`] | what the graphs of a class have in common |
//! | [`manifold_mixup`] | latent vectors mixed while training |
//! | [`density`] | densities of latent vectors |
//! | [`gratin`] | new latent vectors drawn from a density for each class |
//! | [`retrain`] | the control: a fresh head on the original vectors |
//! | [`draws`] | how many vectors of each class a fresh head gets |
//! | [`influence`], [`network_influence`] | what one more training item would do, for the head and for whole networks |
//!
//! [`Augment`] is the one list of the axis' choices: an augmentation is a file and a line in it.
//! Retraining the head alone is the control that every augmentation in latent space is read
//! against: the same fresh head, the same number of steps, the original vectors.

pub mod configuration;
pub mod corruption;
pub mod density;
pub mod draws;
pub mod drop_edge;
pub mod drop_node;
pub mod feature_mask;
pub mod g_mixup;
pub mod geo_mix;
pub mod graphon;
pub mod gratin;
pub mod influence;
pub mod manifold_mixup;
pub mod network_influence;
pub mod retrain;
pub mod subgraph;
pub mod submix;
pub mod transform;

use gnarl_graph::names::Choice;
use serde::{Deserialize, Serialize};

pub use configuration::Configuration;
pub use corruption::Corruption;
pub use density::{Components, Density};
pub use draws::Draws;
pub use drop_edge::DropEdge;
pub use drop_node::DropNode;
pub use feature_mask::FeatureMask;
pub use g_mixup::GMixup;
pub use geo_mix::GeoMix;
pub use graphon::Graphon;
pub use gratin::Gratin;
pub use manifold_mixup::ManifoldMixup;
pub use retrain::Retrain;
pub use subgraph::Subgraph;
pub use submix::SubMix;
pub use transform::{Copies, GraphTransform};

gnarl_graph::choices! {
    /// The choices of the data axis: the one list that names, help, refusals and tests come from.
    pub enum Augment: dyn Augmentation as "augmentation" {
        Nothing(Nothing),
        Retrain(Retrain),
        Gratin(Gratin),
        DropEdge(DropEdge),
        DropNode(DropNode),
        FeatureMask(FeatureMask),
        Subgraph(Subgraph),
        SubMix(SubMix),
        GeoMix(GeoMix),
        ManifoldMixup(ManifoldMixup),
        Configuration(Configuration),
        GMixup(GMixup),
    }
}

/// What an augmentation does: one of these, or nothing.
pub trait Augmentation {
    /// What it does to a training graph, and how often.
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        None
    }

    /// Whether its transform, [in place](GraphTransform::apply_in_place), keeps all nodes, so that
    /// the nodes of one graph can be trained on the result.
    fn keeps_nodes(&self) -> bool {
        false
    }

    /// Whether what it does to one graph is done to its features, and not to its edges.
    fn works_on_features(&self) -> bool {
        false
    }

    /// How it mixes latent vectors while training.
    fn mixup(&self) -> Option<ManifoldMixup> {
        None
    }

    /// Whether an item may be of two classes, each with a share.
    fn mixes_classes(&self) -> bool {
        self.mixup().is_some()
    }

    /// The head it trains after the whole network.
    fn fresh_head(&self) -> Option<FreshHead> {
        None
    }
}

/// A head that is trained after the whole network, on its vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreshHead {
    /// Its epochs.
    pub epochs: usize,
    /// How many vectors of each class stand beside the original ones.
    pub draws: Draws,
    /// Where they are drawn: how; else they are repeated.
    pub drawn: Option<Gratin>,
}

/// The training set as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Nothing {}

impl Choice for Nothing {
    const NAME: &'static str = "none";
    const ABOUT: &'static str = "the training set as it is";
}

impl Augmentation for Nothing {}

impl Default for Augment {
    fn default() -> Self {
        Augment::Nothing(Nothing {})
    }
}

impl Augment {
    /// Whether the training set stays as it is, and so does the head.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Augment::Nothing(_))
    }
}

gnarl_graph::named! {
    /// Which parameters influence is taken through.
    pub enum Through as "parameters" {
        /// The head's, exactly.
        Head = "head",
        /// All of the network's, by conjugate gradients.
        Network = "network",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sound() {
        gnarl_graph::names::assert_listed(
            Augment::LIST,
            Augment::all().map(|augment| augment.stored()),
        );
        let e = "retrian".parse::<Augment>().unwrap_err().to_string();
        assert!(
            e.contains("unknown augmentation 'retrian'; did you mean retrain"),
            "{e}"
        );
        for augment in Augment::all() {
            let method = augment.method();
            let does = [
                method.transform().is_some(),
                method.mixup().is_some(),
                method.fresh_head().is_some(),
            ];
            let count = does.iter().filter(|does| **does).count();
            assert_eq!(
                count,
                usize::from(!augment.is_nothing()),
                "{augment} does one thing"
            );
            let wrong = augment
                .with(&[("strength".into(), "-1".into())])
                .unwrap_err()
                .to_string();
            let has_strength = method.transform().is_some() || method.mixup().is_some();
            let expected = if has_strength {
                format!("{augment}: a strength of -1")
            } else {
                "strength: belongs to".into()
            };
            assert!(wrong.starts_with(&expected), "{wrong}");
        }
    }
}
