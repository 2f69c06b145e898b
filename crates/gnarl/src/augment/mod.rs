//! The augmentation axis: training-data augmentation in graph space and in latent space.
//!
//! | file | contents |
//! | --- | --- |
//! | [`transform`] | the interface of augmentations that change graphs, once or in every epoch |
//! | [`corruption`] | edges of training graphs removed and added at random |
//! | [`drop_edge`], [`drop_node`], [`feature_mask`], [`subgraph`], [`submix`], [`geo_mix`], [`configuration`], [`g_mixup`] | augmentations in graph space, one each |
//! | [`graphon`] | graphons of classes of graphs, estimated and sampled |
//! | [`manifold_mixup`] | latent vectors mixed while training |
//! | [`density`] | densities of latent vectors |
//! | [`gratin`] | latent vectors sampled from a density for each class |
//! | [`retrain`] | the control: a fresh head on the original vectors |
//! | [`samples`] | the number of vectors of each class that a fresh head gets |
//! | [`influence`], [`network_influence`] | influence of one more training sample, with the parameters of the head or of the network |
//!
//! [`Augment`] lists the choices of the axis: an augmentation is a file and a line in it. The
//! control of every augmentation in latent space is retraining the head alone: the same fresh head,
//! the same number of steps, the original vectors.

#[doc(hidden)]
pub mod configuration;
#[doc(hidden)]
pub mod corruption;
#[doc(hidden)]
pub mod density;
#[doc(hidden)]
pub mod drop_edge;
#[doc(hidden)]
pub mod drop_node;
#[doc(hidden)]
pub mod feature_mask;
#[doc(hidden)]
pub mod g_mixup;
#[doc(hidden)]
pub mod geo_mix;
#[doc(hidden)]
pub mod graphon;
#[doc(hidden)]
pub mod gratin;
#[doc(hidden)]
pub mod influence;
#[doc(hidden)]
pub mod manifold_mixup;
#[doc(hidden)]
pub mod network_influence;
#[doc(hidden)]
pub mod retrain;
#[doc(hidden)]
pub mod samples;
#[doc(hidden)]
pub mod subgraph;
#[doc(hidden)]
pub mod submix;
#[doc(hidden)]
pub mod transform;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

pub use configuration::Configuration;
pub use corruption::Corruption;
pub use density::{Components, Density};
pub use drop_edge::DropEdge;
pub use drop_node::DropNode;
pub use feature_mask::FeatureMask;
pub use g_mixup::GMixup;
pub use geo_mix::GeoMix;
pub use graphon::Graphon;
pub use gratin::Gratin;
pub use manifold_mixup::ManifoldMixup;
pub use retrain::Retrain;
pub use samples::Samples;
pub use subgraph::Subgraph;
pub use submix::SubMix;
pub use transform::{Copies, GraphTransform};

gnarl_graph::choices! {
    /// The training-data augmentations.
    #[non_exhaustive]
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

/// An augmentation: it changes graphs, mixes latent vectors, trains a fresh head, or does nothing.
pub trait Augmentation {
    /// Returns the transform of training graphs and the schedule of its copies.
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        None
    }

    /// Returns true if the transform keeps all nodes [in place](GraphTransform::apply_in_place), so
    /// that it works for node classification.
    fn keeps_nodes(&self) -> bool {
        false
    }

    /// Returns true if the transform changes the features of a single graph, and not its edges.
    fn works_on_features(&self) -> bool {
        false
    }

    /// Returns the mixing of latent vectors in training.
    fn mixup(&self) -> Option<ManifoldMixup> {
        None
    }

    /// Returns true if a training node or graph may have two classes, each with a share.
    fn mixes_classes(&self) -> bool {
        self.mixup().is_some()
    }

    /// Returns the head that is trained after the whole network.
    fn fresh_head(&self) -> Option<FreshHead> {
        None
    }
}

/// A head that is trained after the whole network, on its latent vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreshHead {
    /// Number of training epochs.
    pub epochs: usize,
    /// Number of vectors of each class next to the original ones.
    pub samples: Samples,
    /// The density they are sampled from; without one, original vectors are repeated.
    pub sampled: Option<Gratin>,
}

/// Trains on the original data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "none", about = "trains on the original data")]
pub struct Nothing {}

impl Augmentation for Nothing {}

impl Default for Augment {
    fn default() -> Self {
        Augment::Nothing(Nothing {})
    }
}

impl Augment {
    /// Returns true for training on the original data.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Augment::Nothing(_))
    }
}

gnarl_graph::named! {
    /// Layers whose parameters influence is computed with.
    #[non_exhaustive]
    pub enum InfluenceLayers as "layers" {
        /// The head, with the exact Hessian.
        Head = "head",
        /// The whole network, by conjugate gradients.
        Network = "network",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::settings::Kind;

    #[test]
    fn the_list_is_sound() {
        gnarl_graph::settings::assert_listed(
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
            let reals = augment.info().settings.iter();
            for setting in reals.filter(|setting| matches!(setting.kind, Kind::Real)) {
                let given = [(setting.name.to_string(), "-1".to_string())];
                let e = augment.with(&given).unwrap_err().to_string();
                assert!(
                    e.starts_with(&format!("{} must be", setting.flag)),
                    "{augment}: {e}"
                );
            }
        }
    }
}
