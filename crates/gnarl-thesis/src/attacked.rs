//! Models under attack as rows of a table (ch. 5 and 6): who is attacked, and how.
//!
//! One cell holds all that was found on the same inputs: before and after the attack, by a plain
//! forward pass and by the cell's inference. Rows that show one of these each share it, so that
//! their paired differences are between answers to the same input.

use gnarl_data::Task;
use serde::Deserialize;

use super::recipe::Recipe;
use gnarl::model::Model;
use gnarl::study::attack::Mode;
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::weights::WeightsChoice;
use gnarl_robust::attack::Attack;
use gnarl_robust::defense::Defense;
use gnarl_robust::inference::Inference;

/// A model of the studies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The network.
    pub backbone: Backbone,
    /// The operator; settled, since an attacked model is trained once.
    #[serde(default)]
    pub operator: OperatorChoice,
    /// What is asked of the weights.
    #[serde(default)]
    pub weights: WeightsChoice,
    /// What is done to the graph first.
    #[serde(default)]
    pub defense: Defense,
    /// Standard deviation of the noise on hidden representations while training: NoisyGCN. The
    /// thesis has none; a tenth is within the range of its authors.
    #[serde(default)]
    pub noise: f64,
    /// The recipe of the chapter, which is what the thesis' recipe means here.
    pub chapter: Recipe,
}

impl Subject {
    /// The model on a dataset, with what the chapter's recipe says (the thesis' here) or another.
    pub(super) fn model(self, dataset: &str, recipe: Recipe, task: Task) -> (Recipe, Model) {
        let recipe = if recipe == Recipe::Thesis {
            self.chapter
        } else {
            recipe
        };
        let mut model = Model::new(self.backbone)
            .operator(self.operator)
            .weights(self.weights)
            .defense(self.defense);
        if self.noise != 0.0 {
            model.network.noise = Some(self.noise);
        }
        (recipe, recipe.fill(model, dataset, task))
    }
}

/// What is done to a model, and how its answers are read off besides a plain forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threat {
    /// The attack.
    pub attack: Attack,
    /// Whether the input or the training is attacked; the input where nothing is said.
    #[serde(default = "evasion")]
    pub mode: Mode,
    /// Whether the attacker looks into a GCN of their own.
    #[serde(default)]
    pub surrogate: bool,
    /// Whether the graph is the largest component with 10 / 10 / 80 % of its nodes, whatever the
    /// dataset's own protocol.
    #[serde(default)]
    pub tenths: bool,
    /// The inference besides.
    pub inference: Option<Inference>,
}

fn evasion() -> Mode {
    Mode::Evasion
}
