//! Models under attack as rows of a table (ch. 5 and 6): the model and its attack.
//!
//! One cell holds all results on the same inputs: before and after the attack, by a plain forward
//! pass and by the cell's inference rule. Rows that show one of these results share the cell, so
//! their paired differences are between predictions for the same input.

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
    /// The operator, with a fixed initialisation: an attacked model is trained once.
    #[serde(default)]
    pub operator: OperatorChoice,
    /// The weight constraint.
    #[serde(default)]
    pub weights: WeightsChoice,
    /// The preprocessing of the graph.
    #[serde(default)]
    pub defense: Defense,
    /// Standard deviation of the noise on hidden representations in training: NoisyGCN. The thesis
    /// gives none; a tenth is within the range of its authors.
    #[serde(default)]
    pub noise: f64,
    /// The recipe of the chapter, which is meant by the thesis' recipe here.
    pub chapter: Recipe,
}

impl Subject {
    /// The model on a dataset, with the settings of the chapter's recipe (the thesis' here) or
    /// another.
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

/// An attack on a model, and the inference rule in addition to a plain forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threat {
    /// The attack.
    pub attack: Attack,
    /// The attacked phase; evasion by default.
    #[serde(default = "evasion")]
    pub mode: Mode,
    /// True if the attacker uses a GCN surrogate.
    #[serde(default)]
    pub surrogate: bool,
    /// True if the graph is the largest component with a 10 / 10 / 80 % split of its nodes, instead
    /// of the dataset's own protocol.
    #[serde(default)]
    pub tenths: bool,
    /// The inference rule in addition to a plain forward pass.
    pub inference: Option<Inference>,
}

fn evasion() -> Mode {
    Mode::Evasion
}
