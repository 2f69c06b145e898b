//! Graph classifiers as rows of a table (ch. 7): which, and what it is trained on.
//!
//! The runs of a cell are the folds of its set, and its settings the defaults of `gnarl train`: its
//! figures are those of that command with the same recipe, `--runs` and `--inits`. Cells that show
//! seconds train on one core, one fold after the other, so that nothing else is counted in.

use gnarl_graph::dataset::Task;
use serde::Serialize;

use super::measure::Measure;
use super::recipe::Recipe;
use crate::augment::{
    Augment, Configuration, Copies, Corruption, Density, Draws, DropEdge, DropNode, GMixup, GeoMix,
    Gratin, Nothing, Retrain, SubMix,
};
use crate::model::Model;
use crate::nn::Backbone;

/// The augmentations of the tables: changed graphs are made anew in every epoch.
pub const DROP_EDGE: Augment = Augment::DropEdge(DropEdge::share(0.2));
/// Without some nodes.
pub const DROP_NODE: Augment = Augment::DropNode(DropNode::share(0.2));
/// With parts of other graphs.
pub const SUBMIX: Augment = Augment::SubMix(SubMix::share(0.4));
/// One graph for each, drawn from what the graphs of two classes have in common.
pub const G_MIXUP: Augment = Augment::GMixup(GMixup::share(0.2));
/// One graph for each, on the way to another.
pub const GEO_MIX: Augment = Augment::GeoMix(GeoMix::share(0.5));
/// With edges rejoined.
pub const CONFIGURATION: Augment = Augment::Configuration(Configuration::share(0.2));
/// One copy of each graph without some edges, for all epochs, beside it.
pub const ONE_DROP_EDGE: Augment = Augment::DropEdge(DropEdge {
    strength: 0.2,
    copies: Copies::Fixed,
});
/// One copy without some nodes.
pub const ONE_DROP_NODE: Augment = Augment::DropNode(DropNode {
    strength: 0.2,
    copies: Copies::Fixed,
});
/// One copy with a part of another graph.
pub const ONE_SUBMIX: Augment = Augment::SubMix(SubMix {
    strength: 0.4,
    copies: Copies::Fixed,
});
/// A fresh head on the original vectors.
pub const RETRAIN: Augment = Augment::Retrain(Retrain::new());
/// A fresh head on drawn vectors.
pub const GRATIN: Augment = Augment::Gratin(Gratin::new());

/// The same fresh head where vectors are repeated until no class outnumbers another.
pub const REPEATED: Augment = Augment::Retrain(Retrain {
    draws: Draws::Level,
    ..Retrain::new()
});

/// Vectors drawn from a density until no class outnumbers another.
pub const fn levelled(density: Density) -> Augment {
    Augment::Gratin(Gratin {
        density,
        draws: Draws::Level,
        ..Gratin::new()
    })
}

/// The same with vectors drawn from another density.
pub const fn gratin_from(density: Density) -> Augment {
    Augment::Gratin(Gratin {
        density,
        ..Gratin::new()
    })
}

/// Few training graphs, of one class fewer still: of class `i` modulo classes in fold `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Few {
    /// Of every class, at most.
    pub per_class: usize,
    /// Of the one.
    pub rare: usize,
}

/// A classifier and what it is trained on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classifier {
    /// The network.
    pub backbone: Backbone,
    /// The data axis.
    pub augment: Augment,
    /// The share of the training graphs' edges that is changed at random.
    pub corrupted: Option<f64>,
    /// Whether nodes without features are described by their degrees before that.
    pub keeps_degrees: bool,
    /// Trained on few graphs of the folds.
    pub few: Option<Few>,
    /// Deviation of the noise on hidden representations while training.
    pub noise: f64,
}

impl Classifier {
    /// A network trained on the training graphs as they are.
    pub const fn new(backbone: Backbone) -> Self {
        let augment = Augment::Nothing(Nothing {});
        Self {
            backbone,
            augment,
            corrupted: None,
            keeps_degrees: false,
            few: None,
            noise: 0.0,
        }
    }

    /// With an augmentation.
    pub const fn with(self, augment: Augment) -> Self {
        Self { augment, ..self }
    }

    /// On training graphs with this share of their edges changed at random.
    pub const fn corrupted(self, share: f64) -> Self {
        Self {
            corrupted: Some(share),
            ..self
        }
    }

    /// With the degrees of before the change as features, where nodes have no others.
    pub const fn keeping_degrees(self) -> Self {
        Self {
            keeps_degrees: true,
            ..self
        }
    }

    /// On few graphs of the folds.
    pub const fn on_few(self, few: Few) -> Self {
        Self {
            few: Some(few),
            ..self
        }
    }

    /// With noise on hidden representations: NoisyGNN, with the deviation of ch. 5's.
    pub const fn noisy(self) -> Self {
        Self { noise: 0.1, ..self }
    }

    /// The model on a set, with what a recipe says.
    pub(super) fn model(self, dataset: &str, recipe: Recipe) -> Model {
        let mut model = Model::new(self.backbone).augment(self.augment);
        if self.noise != 0.0 {
            model.network.noise = Some(self.noise);
        }
        recipe.fill(model, dataset, Task::Graph)
    }

    /// What is wrong with a row that shows this of it, if anything.
    pub(super) fn flaw(self, measure: Measure) -> Option<String> {
        let is_shown = match measure {
            Measure::TestAccuracy | Measure::TrainingSeconds => true,
            Measure::AugmentationSeconds => {
                self.augment.method().transform().is_some()
                    || self.augment.method().fresh_head().is_some()
            }
            _ => false,
        };
        if !is_shown {
            return Some(format!(
                "shows {measure:?}, which {} does not have",
                self.augment
            ));
        }
        self.corrupted
            .and_then(|share| Corruption::new(share).err())
            .map(|e| e.to_string())
    }
}

/// Initialisations of each fold. One of MUTAG tests on eighteen graphs, where one more or less
/// right is five points; few training graphs leave more to chance, too.
pub(super) fn inits(classifier: &Classifier, dataset: &str) -> usize {
    if dataset == "MUTAG" || classifier.few.is_some() {
        3
    } else {
        1
    }
}
