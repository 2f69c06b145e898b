//! Accuracies of a model before and after an attack.

use std::time::Instant;

use gnarl_data::Content;
use gnarl_graph::{Graph, Result, Split};

use super::report::DefendedRun;
use super::request::Mode;
use crate::model::fit::FitOptions;
use crate::model::{Fitted, Model};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::train::{Callbacks, argmax};
use gnarl_robust::classifier::Classifier;

/// Accuracies on the same nodes before and after an attack, in per cent.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AttackAccuracy {
    /// Accuracy before the attack.
    pub clean_accuracy: f64,
    /// Accuracy after the attack.
    pub attacked_accuracy: f64,
    /// Share of the correct predictions that are wrong after the attack; 0 if none were correct.
    pub success_rate: f64,
}

impl AttackAccuracy {
    /// Compares predictions on some nodes with their true classes.
    #[must_use]
    pub fn new(before: &[usize], after: &[usize], nodes: &[(u32, u32)]) -> Self {
        let correct =
            |predicted: &[usize], &(u, c): &(u32, u32)| predicted[u as usize] == c as usize;
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let clean: Vec<_> = nodes.iter().filter(|t| correct(before, t)).collect();
        let still_correct = nodes.iter().filter(|t| correct(after, t)).count();
        let lost = clean.iter().filter(|t| !correct(after, t)).count();
        Self {
            clean_accuracy: percent(clean.len(), nodes.len()),
            attacked_accuracy: percent(still_correct, nodes.len()),
            success_rate: percent(lost, clean.len()),
        }
    }
}

/// The predicted class of every node, or of the graph.
pub fn predicted_classes(model: &dyn Classifier, graph: &Graph) -> Result<Vec<usize>> {
    let scores = model.scores(graph)?;
    Ok((0..scores.num_rows())
        .map(|u| argmax(scores.row(u)))
        .collect())
}

/// Accuracies by a plain forward pass, and by the model's inference rule if it has another.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub plain: AttackAccuracy,
    pub defended: Option<DefendedRun>,
}

/// Evaluates the inference rule of the models before and after an attack, on nodes or graphs with
/// their classes.
pub(super) fn evaluate_inference<T: ?Sized>(
    given: [(&Fitted, &T); 2],
    items: &[(u32, u32)],
    predict: impl Fn(&Fitted, &T) -> Result<Vec<usize>>,
) -> Result<DefendedRun> {
    let start = Instant::now();
    let mut accuracies = [0.0; 2];
    for (accuracy, (model, input)) in accuracies.iter_mut().zip(given) {
        let predicted = predict(model, input)?;
        *accuracy = AttackAccuracy::new(&predicted, &predicted, items).clean_accuracy;
    }
    let [clean_accuracy, attacked_accuracy] = accuracies;
    Ok(DefendedRun {
        clean_accuracy,
        attacked_accuracy,
        tested_limit: given[1].0.fitted_inference().tested_limit(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The evaluation of a model on a clean and an attacked graph, both scaled.
pub(super) struct Evaluator<'a> {
    /// The model, its inference completed.
    pub model: Model,
    pub mode: Mode,
    pub split: &'a Split,
    /// The evaluated nodes, with their true classes.
    pub targets: &'a [(u32, u32)],
    pub seed: u64,
}

impl Evaluator<'_> {
    /// Evaluates the clean model before the attack, and it or a poisoned model after.
    pub fn evaluate(
        &self,
        clean: &Fitted,
        [before, after]: [&Graph; 2],
        watch: &Callbacks<'_>,
    ) -> Result<Evaluation> {
        let poisoned = match self.mode {
            Mode::Evasion => None,
            Mode::Poisoning => Some(self.fit_poisoned(after, watch)?),
        };
        let later = poisoned.as_ref().unwrap_or(clean);
        let (first, second) = (
            predicted_classes(&clean.attack_target(), before)?,
            predicted_classes(&later.attack_target(), after)?,
        );
        let plain = AttackAccuracy::new(&first, &second, self.targets);
        let defended = if self.model.inference.is_plain() {
            None
        } else {
            let predict = |model: &Fitted, graph: &Graph| model.predict_scaled(graph, self.split);
            let given = [(clean, before), (later, after)];
            Some(evaluate_inference(given, self.targets, predict)?)
        };
        Ok(Evaluation { plain, defended })
    }

    /// The model trained on a changed graph, whose features are scaled already.
    fn fit_poisoned(&self, graph: &Graph, watch: &Callbacks<'_>) -> Result<Fitted> {
        let model = self.model.features(FeatureScaling::AsLoaded);
        let content = Content::Graph(graph.clone());
        model
            .ready("poisoned", &content, FitOptions::default())?
            .fit(self.split, self.seed, watch)
    }
}
