//! Graph classifiers as rows of a table (ch. 7): the model and its training graphs.
//!
//! The runs of a cell are the folds of its set, and its settings the defaults of `gnarl train`: its
//! results are those of that command with the same recipe, `--runs` and `--inits`. Cells that show
//! seconds train on one core, one fold after the other, so that other work is not timed.

use gnarl_data::Task;
use serde::{Deserialize, Serialize};

use super::measure::Measure;
use super::recipe::Recipe;
use gnarl::augment::{Augment, Corruption};
use gnarl::model::Model;
use gnarl_nn::networks::Backbone;

/// Few training graphs, with one rare class: class `i` modulo classes in fold `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RareClass {
    /// Largest number of training graphs of every class.
    #[serde(alias = "per-class")]
    pub per_class: usize,
    /// Number of training graphs of the rare class.
    pub rare: usize,
}

/// A classifier and its training graphs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Classifier {
    /// The network.
    pub backbone: Backbone,
    /// The training-data augmentation; none by default.
    #[serde(default)]
    pub augment: Augment,
    /// Share of the training graphs' edges that are changed at random.
    pub corrupted: Option<f64>,
    /// True if nodes without features get their degrees before the corruption.
    #[serde(default)]
    pub keeps_degrees: bool,
    /// The reduction to few training graphs of the folds.
    pub few: Option<RareClass>,
    /// Standard deviation of the noise on hidden representations in training: NoisyGNN, with the
    /// value of ch. 5.
    #[serde(default)]
    pub noise: f64,
}

impl Classifier {
    /// The model on a set, with a recipe's settings.
    pub(super) fn model(self, dataset: &str, recipe: Recipe) -> Model {
        let mut model = Model::new(self.backbone).augment(self.augment);
        if self.noise != 0.0 {
            model.network.noise = Some(self.noise);
        }
        recipe.fill(model, dataset, Task::Graph)
    }

    /// The reason why a row cannot show this measure of it, if any.
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

/// Number of initialisations of each fold. A fold of MUTAG tests on eighteen graphs, so one more
/// correct graph is five points; few training graphs add further variance.
pub(super) fn inits(classifier: &Classifier, dataset: &str) -> usize {
    if dataset == "MUTAG" || classifier.few.is_some() {
        3
    } else {
        1
    }
}
