//! The loss that gradient attacks maximise, and the comparison of two attempts.

use gnarl_graph::named;

use gnarl_nn::train::argmax;

named! {
    /// The loss to maximise.
    pub enum Loss as "loss" {
        /// The tanh margin `-Σ tanh(m_i / s)` over the margins `m_i` of the true class (Geisler et
        /// al. 2021, [arXiv:2110.14038](https://arxiv.org/abs/2110.14038)). Predictions with a large
        /// margin of either sign count little. s is the mean absolute margin at the start.
        Margin = "margin",
        /// The cross-entropy. Predictions that are already wrong count most.
        CrossEntropy = "cross-entropy",
        /// The cross-entropy of the correct predictions alone (masked; Geisler et al. 2021).
        Masked = "masked",
    }
}

/// A loss on some nodes.
#[derive(Debug)]
pub(super) struct Objective<'a> {
    loss: Loss,
    targets: &'a [(u32, u32)],
    width: usize,
    scale: f64,
}

/// The state of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ObjectiveValue {
    /// Number of targets that are still predicted correctly.
    pub correct: usize,
    /// The loss, which the attacker maximises.
    pub loss: f64,
}

impl ObjectiveValue {
    /// Returns true with fewer correct predictions, or as many and a larger loss.
    pub fn beats(&self, other: &ObjectiveValue) -> bool {
        self.correct < other.correct || (self.correct == other.correct && self.loss > other.loss)
    }
}

impl<'a> Objective<'a> {
    /// Returns the objective. `scores` are those of the unchanged graph, `width` classes in a row.
    pub fn new(loss: Loss, targets: &'a [(u32, u32)], scores: &[f32], width: usize) -> Self {
        let mut objective = Self {
            loss,
            targets,
            width,
            scale: 1.0,
        };
        let sizes: f64 = targets
            .iter()
            .filter_map(|&t| objective.margin(scores, t))
            .map(|(m, _)| m.abs())
            .sum();
        let mean = sizes / targets.len().max(1) as f64;
        if mean.is_finite() && mean > 0.0 {
            objective.scale = mean;
        }
        objective
    }

    fn row<'s>(&self, scores: &'s [f32], node: u32) -> &'s [f32] {
        &scores[node as usize * self.width..(node as usize + 1) * self.width]
    }

    /// Returns the margin of the true class and its rival; `None` with a single class.
    fn margin(&self, scores: &[f32], (node, class): (u32, u32)) -> Option<(f64, usize)> {
        let row = self.row(scores, node);
        let others = (0..row.len()).filter(|&c| c != class as usize);
        let rival = others.reduce(|best, c| if row[c] > row[best] { c } else { best })?;
        Some((
            f64::from(row[class as usize]) - f64::from(row[rival]),
            rival,
        ))
    }

    /// Returns the state of an attempt with these scores.
    pub fn value(&self, scores: &[f32]) -> ObjectiveValue {
        self.evaluate(scores, None)
    }

    /// Returns the state of an attempt, and the gradient of the loss by the scores.
    pub fn value_and_gradient(&self, scores: &[f32]) -> (ObjectiveValue, Vec<f32>) {
        let mut gradient = vec![0f32; scores.len()];
        let value = self.evaluate(scores, Some(&mut gradient));
        (value, gradient)
    }

    fn evaluate(&self, scores: &[f32], mut gradient: Option<&mut Vec<f32>>) -> ObjectiveValue {
        let mut value = ObjectiveValue {
            correct: 0,
            loss: 0.0,
        };
        for &(node, class) in self.targets {
            let (row, first) = (self.row(scores, node), node as usize * self.width);
            value.correct += usize::from(argmax(row) == class as usize);
            match self.loss {
                Loss::Margin => {
                    let Some((margin, rival)) = self.margin(scores, (node, class)) else {
                        continue;
                    };
                    let t = (margin / self.scale).tanh();
                    value.loss -= t;
                    if let Some(gradient) = gradient.as_deref_mut() {
                        let slope = ((1.0 - t * t) / self.scale) as f32;
                        gradient[first + class as usize] -= slope;
                        gradient[first + rival] += slope;
                    }
                }
                // A wrong prediction has the loss of a coin between two classes: changing the
                // prediction of a target is never a step back.
                Loss::Masked if argmax(row) != class as usize => {
                    value.loss += std::f64::consts::LN_2
                }
                Loss::CrossEntropy | Loss::Masked => {
                    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let total: f64 = row.iter().map(|&z| f64::from(z - largest).exp()).sum();
                    value.loss += total.ln() - f64::from(row[class as usize] - largest);
                    if let Some(gradient) = gradient.as_deref_mut() {
                        for (c, &z) in row.iter().enumerate() {
                            gradient[first + c] += (f64::from(z - largest).exp() / total) as f32;
                        }
                        gradient[first + class as usize] -= 1.0;
                    }
                }
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_those_of_the_loss() {
        let scores = [0.3, -1.0, 2.0, 0.1, 0.0, -0.2, 100.0, -100.0, 3.0];
        let targets = [(0u32, 2u32), (2, 1), (0, 0)];
        for loss in [Loss::Margin, Loss::CrossEntropy, Loss::Masked] {
            let objective = Objective::new(loss, &targets, &scores, 3);
            let (value, gradient) = objective.value_and_gradient(&scores);
            assert_eq!(value.correct, 1, "node 0 as class 2");
            assert_eq!(value, objective.value(&scores));
            for i in 0..scores.len() {
                let at = |by: f32| {
                    let mut moved = scores;
                    moved[i] += by;
                    objective.value(&moved).loss
                };
                // A power of two: scores of 100 move by exactly as much.
                let numeric = (at(0.0078125) - at(-0.0078125)) / 0.015625;
                assert!(
                    (numeric - f64::from(gradient[i])).abs() < 2e-4,
                    "{loss} {i}: {} {numeric}",
                    gradient[i]
                );
            }
            assert_eq!(gradient[3..6], [0.0; 3], "node 1 is no target");
        }
    }

    #[test]
    fn one_class_leaves_nothing_to_maximise() {
        let objective = Objective::new(Loss::Margin, &[(0, 0)], &[1.0], 1);
        assert_eq!(
            objective.value_and_gradient(&[1.0]),
            (
                ObjectiveValue {
                    correct: 1,
                    loss: 0.0
                },
                vec![0.0]
            )
        );
    }
}
