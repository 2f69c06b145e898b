//! Graph classifiers as rows of a table (ch. 7): which, and what it is trained on.
//!
//! The runs of a cell are the folds of its set, and its settings the defaults of `gnarl train`: its
//! figures are those of that command with the same recipe, `--runs` and `--inits`. Cells that show
//! seconds train on one core, one fold after the other, so that nothing else is counted in.

use gnarl_data::Task;
use serde::{Deserialize, Serialize};

use super::measure::Measure;
use super::recipe::Recipe;
use gnarl::augment::{Augment, Corruption};
use gnarl::model::Model;
use gnarl_nn::networks::Backbone;

/// Few training graphs, of one class fewer still: of class `i` modulo classes in fold `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Few {
    /// Of every class, at most.
    #[serde(alias = "per-class")]
    pub per_class: usize,
    /// Of the one.
    pub rare: usize,
}

/// A classifier and what it is trained on.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Classifier {
    /// The network.
    pub backbone: Backbone,
    /// The data axis; the training graphs as they are where nothing is said.
    #[serde(default)]
    pub augment: Augment,
    /// The share of the training graphs' edges that is changed at random.
    pub corrupted: Option<f64>,
    /// Whether nodes without features are described by their degrees before that.
    #[serde(default)]
    pub keeps_degrees: bool,
    /// Trained on few graphs of the folds.
    pub few: Option<Few>,
    /// Standard deviation of the noise on hidden representations while training: NoisyGNN, with
    /// that of ch. 5's.
    #[serde(default)]
    pub noise: f64,
}

impl Classifier {
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
