//! A fitted model on graphs with scaled features: the target of attacks.

use gnarl_graph::{DenseMatrix, Graph, Result};

use super::fitted::Fitted;
use gnarl_robust::classifier::{AttackPath, Classifier, WhiteBox};
use gnarl_robust::inference::log_probabilities;
use gnarl_robust::perturb::Pair;

/// A fitted model on graphs with scaled features: with the defence, predictions by a plain forward
/// pass.
#[derive(Debug, Clone, Copy)]
pub struct PreprocessedModel<'a> {
    fitted: &'a Fitted,
}

impl<'a> PreprocessedModel<'a> {
    pub(super) fn new(fitted: &'a Fitted) -> Self {
        Self { fitted }
    }
}

impl Classifier for PreprocessedModel<'_> {
    fn num_classes(&self) -> usize {
        self.fitted.classes.len()
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let defense = &self.fitted.plan.model.defense;
        let graph = defense.method().preprocessed(graph)?;
        self.fitted.learned.classifier().scores(&graph)
    }

    /// A defence that drops edges leaves no white box.
    fn white_box(&self) -> Option<&WhiteBox> {
        let is_undefended = self.fitted.plan.model.defense.is_nothing();
        self.fitted.learned.white_box().filter(|_| is_undefended)
    }

    fn see_through(&self) -> Option<AttackPath<'_>> {
        let network = self.fitted.learned.white_box()?;
        let defense = &self.fitted.plan.model.defense;
        if defense.is_nothing() {
            return network.see_through();
        }
        let defense = defense.method().see_through()?;
        Some(AttackPath {
            network,
            defense: Some(defense),
        })
    }
}

/// A fitted model on graphs with scaled features: with the defence and the inference; gradients
/// pass straight through the inference.
#[derive(Debug, Clone, Copy)]
pub struct AdaptiveTarget<'a> {
    plain: PreprocessedModel<'a>,
}

impl<'a> AdaptiveTarget<'a> {
    pub(super) fn new(fitted: &'a Fitted) -> Self {
        Self {
            plain: PreprocessedModel::new(fitted),
        }
    }
}

impl Classifier for AdaptiveTarget<'_> {
    fn num_classes(&self) -> usize {
        self.plain.num_classes()
    }

    /// Returns the logarithms of the class distributions.
    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let fitted = self.plain.fitted;
        let graph = fitted.plan.model.defense.method().preprocessed(graph)?;
        log_probabilities(&fitted.inference.predict(
            fitted.learned.classifier(),
            &graph,
            fitted.seed,
        )?)
    }

    fn white_box(&self) -> Option<&WhiteBox> {
        self.plain.white_box()
    }

    fn see_through(&self) -> Option<AttackPath<'_>> {
        self.plain.see_through()
    }

    fn followed(&self) -> Option<&dyn Classifier> {
        Some(&self.plain)
    }

    fn keeps_edges(&self, graph: &Graph, pairs: &[Pair]) -> Result<Option<Vec<bool>>> {
        self.plain
            .fitted
            .inference
            .keeps_edges(&self.plain, graph, pairs)
    }
}
