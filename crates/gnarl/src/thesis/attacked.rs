//! Models under attack as rows of a table (ch. 5 and 6): who is attacked, and how.
//!
//! One cell holds all that was found on the same inputs: before and after the attack, by a plain
//! forward pass and by the cell's inference. Rows that show one of these each share it, so that
//! their paired differences are between answers to the same input.

use gnarl_graph::dataset::Task;

use super::recipe::Recipe;
use crate::attack::Attack;
use crate::attack::combined::Combined;
use crate::attack::dice::Dice;
use crate::attack::gaussian::Gaussian;
use crate::attack::mettack::Mettack;
use crate::attack::nettack::{Nettack, Parts};
use crate::attack::pgd_features::PgdFeatures;
use crate::attack::pgd_structure::PgdStructure;
use crate::defense::{Defense, Jaccard, Svd, nothing};
use crate::inference::{CleanCrf, GoodAt, Inference, RobustCrf};
use crate::model::Model;
use crate::nn::Backbone;
use crate::operator::OperatorChoice;
use crate::study::attack::Mode;
use crate::weights::{Free, Orthonormal, Parseval, Scaling, WeightsChoice};

/// A model of the studies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Subject {
    /// The network.
    pub backbone: Backbone,
    /// The operator; settled, since an attacked model is trained once.
    pub operator: OperatorChoice,
    /// What is asked of the weights.
    pub weights: WeightsChoice,
    /// What is done to the graph first.
    pub defense: Defense,
    /// Deviation of the noise on hidden representations while training.
    pub noise: f64,
    /// The recipe of the chapter, which is what the thesis' recipe means here.
    pub chapter: Recipe,
}

impl Subject {
    /// A network as its chapter has it.
    pub const fn new(backbone: Backbone, chapter: Recipe) -> Self {
        Self {
            backbone,
            operator: OperatorChoice::Usual,
            weights: WeightsChoice::Free(Free {}),
            defense: Defense::Nothing(nothing::Nothing {}),
            noise: 0.0,
            chapter,
        }
    }

    /// With orthonormal weights, projected by an expansion of this order: GCORN, GIORN.
    pub const fn orthonormal(self, order: usize) -> Self {
        let settings = Orthonormal {
            order,
            iterations: 25,
            scaling: Scaling::Spectral,
        };
        Self {
            weights: WeightsChoice::Orthonormal(settings),
            ..self
        }
    }

    /// With Parseval's regularisation.
    pub const fn parseval(self) -> Self {
        Self {
            weights: WeightsChoice::Parseval(Parseval { beta: 0.01 }),
            ..self
        }
    }

    /// Without edges between nodes that are nothing alike: GCN-Jaccard, with the default of
    /// DeepRobust.
    pub const fn jaccard(self) -> Self {
        Self {
            defense: Defense::Jaccard(Jaccard { threshold: 0.01 }),
            ..self
        }
    }

    /// On a graph of few ranks: GNN-SVD, with the default of DeepRobust.
    pub const fn svd(self) -> Self {
        Self {
            defense: Defense::Svd(Svd::USUAL),
            ..self
        }
    }

    /// With noise on hidden representations: NoisyGCN. The thesis has no deviation; a tenth is
    /// within the range of its authors.
    pub const fn noisy(self) -> Self {
        Self { noise: 0.1, ..self }
    }

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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threat {
    /// The attack.
    pub attack: Attack,
    /// Whether the input or the training is attacked.
    pub mode: Mode,
    /// Whether the attacker looks into a GCN of their own.
    pub surrogate: bool,
    /// Whether the graph is the largest component with 10 / 10 / 80 % of its nodes, whatever the
    /// dataset's own protocol.
    pub tenths: bool,
    /// The inference besides.
    pub inference: Option<Inference>,
}

/// Noise of this psi on every feature.
pub const fn noise(psi: f64) -> Threat {
    against_input(Attack::Gaussian(Gaussian::budget(psi)))
}

/// Gradient ascent on features, 15 % of their norm.
pub const PGD_FEATURES: Threat = against_input(Attack::PgdFeatures(PgdFeatures::budget(0.15)));
/// Another reading of the thesis' budget, which comes near its figures: 2 % of their norm.
pub const PGD_OF_2_PER_CENT: Threat = against_input(Attack::PgdFeatures(PgdFeatures::budget(0.02)));
/// Gradient ascent on features of graphs, 20 % of their norm.
pub const PGD_OF_GRAPHS: Threat = against_input(Attack::PgdFeatures(PgdFeatures::budget(0.2)));
/// Gradient ascent on a tenth of the edges.
pub const PGD_STRUCTURE: Threat = against_input(Attack::PgdStructure(PgdStructure::budget(0.1)));
/// A tenth of the edges removed within classes and added between them.
pub const DICE: Threat = against_input(Attack::Dice(Dice::budget(0.1)));

/// Five flips of edges or features at each of forty targets.
pub const NETTACK: Threat = against_input(Attack::Nettack(Nettack {
    budget: 5,
    parts: Parts::Both,
    degree_test: true,
}));
/// A tenth of the edges, so that training goes wrong.
pub const METTACK: Threat = against_input(Attack::Mettack(Mettack::budget(0.1))).poisoning();

/// A tenth of the edges by Mettack and noise of psi 5 on every feature, met by a model that was
/// trained on neither.
pub const COMBINED: Threat = against_input(Attack::Combined(Combined {
    psi: 5.0,
    ..Combined::budget(0.1)
}));

/// The thesis' inference.
pub const ROBUST_CRF: Inference = Inference::RobustCrf(RobustCrf::new());
/// Ours.
pub const CLEAN_CRF: Inference = Inference::CleanCrf(CleanCrf::new());
/// Detectors of an attacker's edges.
pub const GOOD_AT: Inference = Inference::GoodAt(GoodAt::new());

const fn against_input(attack: Attack) -> Threat {
    Threat {
        attack,
        mode: Mode::Evasion,
        surrogate: false,
        tenths: false,
        inference: None,
    }
}

impl Threat {
    /// Against the training.
    pub const fn poisoning(self) -> Self {
        Self {
            mode: Mode::Poisoning,
            ..self
        }
    }

    /// Through a GCN of the attacker's own.
    pub const fn through_surrogate(self) -> Self {
        Self {
            surrogate: true,
            ..self
        }
    }

    /// On tenths of the largest component.
    pub const fn on_tenths(self) -> Self {
        Self {
            tenths: true,
            ..self
        }
    }

    /// With answers read off by this, too.
    pub const fn read_by(self, inference: Inference) -> Self {
        Self {
            inference: Some(inference),
            ..self
        }
    }
}
