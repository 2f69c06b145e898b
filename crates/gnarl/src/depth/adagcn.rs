//! AdaGCN (Sun et al. 2021; thesis ch. 4, baselines): AdaBoost over depths, by SAMME.R (Hastie et al. 2009).
//!
//! Training nodes start with equal weights. For l = 0, 1, …, L, a two-layer perceptron is trained on `Φ^l X` with the weighted
//! loss, starting from the parameters of the one before (the paper's recursion), and then the weights become
//! `w_i ← w_i exp(-(K - 1)/K · y_i · log p(x_i))`, divided by their sum, where y_i is 1 for the node's class and `-1 / (K - 1)` for
//! the K - 1 others. The network and its votes are in `nn/bodies/boosted.rs`.
//!
//! With scores z the exponent is `mean z - z_class`: the softmax's normaliser and K cancel.

use std::sync::atomic::Ordering;
use std::time::Instant;

use candle_core::{Device, Tensor};
use gnarl_graph::random::mix;

use crate::error::{Error, Result};
use crate::nn::{Group, Network, Pass};
use crate::tensor::{Adam, AdamSettings, masked_cross_entropy};
use crate::train::{Epoch, Field, Keep, Problem, Targets, TrainConfig, Trained, Watch, median};

/// Trains the learners one after the other, each for the configuration's epochs, its weights kept by its own validation accuracy.
/// The curve is all of theirs in a row; patience ends a learner, a stop from outside ends training, and learners that were not
/// reached keep the parameters of the last one.
pub fn train(
    network: &Network,
    problem: &Problem<'_>,
    config: &TrainConfig,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Trained> {
    config.check()?;
    let Problem { propagation, input, labels, split } = *problem;
    let (train_on, validate_on) = (Targets::new(split.train(), labels), Targets::new(split.val(), labels));
    if train_on.items.is_empty() {
        let what = format!("split {} has no labelled training items", split.name());
        return Err(gnarl_graph::Error::argument("training", what).into());
    }
    let mut log_weights = vec![0.0; train_on.items.len()];
    let mut trained = Trained { curve: Vec::new(), kept_epoch: 0, epoch_ms: 0.0, interrupted: false };
    let mut step_ms = Vec::new();
    for i in 0..network.num_learners() {
        if i > 0 {
            start_from_previous(network, i)?;
        }
        if trained.interrupted {
            continue;
        }
        let fields = [
            Field::new(propagation, input, &train_on, Some(i))?,
            Field::new(propagation, input, &validate_on, Some(i))?,
        ];
        let learner = Learner { network, i, fields, seed: mix(seed ^ mix(i as u64)) };
        learner.train(&normalised(&log_weights), config, watch, &mut trained, &mut step_ms)?;
        for (log_weight, change) in log_weights.iter_mut().zip(learner.log_changes()?) {
            *log_weight += change;
        }
    }
    trained.epoch_ms = median(step_ms);
    Ok(trained)
}

/// Copies the parameters of learner `i - 1` into learner `i`.
fn start_from_previous(network: &Network, i: usize) -> Result<()> {
    let (own, previous) = (format!("learners.{i}."), format!("learners.{}.", i - 1));
    let list = network.params().list();
    for p in list {
        let Some(part) = p.name.strip_prefix(&own) else { continue };
        let source = list.iter().find(|q| q.name.strip_prefix(&previous) == Some(part));
        if let Some(source) = source {
            p.var.set(&source.var.as_tensor().copy()?)?;
        }
    }
    Ok(())
}

/// Weights from their logarithms, adding up to one.
fn normalised(log_weights: &[f64]) -> Vec<f64> {
    let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_weights.iter().map(|w| (w - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}

/// What SAMME.R adds to the logarithm of a node's weight: the mean of its scores minus the score of its class.
fn log_change(scores: &[f32], class: usize) -> f64 {
    let mean = scores.iter().map(|&z| f64::from(z)).sum::<f64>() / scores.len() as f64;
    mean - f64::from(scores[class])
}

/// One learner at work.
struct Learner<'a> {
    network: &'a Network,
    i: usize,
    /// Of training and validation nodes.
    fields: [Field; 2],
    seed: u64,
}

impl Learner<'_> {
    fn train(
        &self,
        weights: &[f64],
        config: &TrainConfig,
        watch: &Watch<'_>,
        trained: &mut Trained,
        step_ms: &mut Vec<f64>,
    ) -> Result<()> {
        let (params, before) = (self.network.params(), trained.curve.len());
        let mut adam = Adam::new(AdamSettings::default());
        let own = format!("learners.{}.", self.i);
        for p in params.list().iter().filter(|p| p.name.starts_with(&own) && p.group != Group::Statistic) {
            adam.add(&p.var, config.learning_rate, config.weight_decay);
        }
        let mut best: Option<(usize, Epoch, Vec<Tensor>)> = None;
        let mut lowest_loss = (f32::INFINITY, 0);
        for epoch in 1..=config.epochs {
            let start = Instant::now();
            let all = params.weights()?;
            let scores = self.scores(0, &Pass::training(&all, mix(self.seed ^ mix(epoch as u64))))?;
            let loss_tensor = weighted_cross_entropy(&scores, &self.fields[0].targets, weights)?;
            let loss = loss_tensor.to_scalar::<f32>()?;
            if !loss.is_finite() {
                if let Some((.., snapshot)) = &best {
                    params.restore(snapshot)?;
                }
                let last_good = best.as_ref().map_or(0, |(epoch, ..)| *epoch);
                return Err(Error::Diverged { loss, epoch, last_good, learning_rate: config.learning_rate });
            }
            adam.step(&loss_tensor.backward()?)?;
            step_ms.push(start.elapsed().as_secs_f64() * 1e3);
            if let Some(schedule) = config.schedule
                && epoch % schedule.every == 0
            {
                adam.scale_learning_rates(schedule.factor);
            }
            let now = self.evaluate(loss)?;
            trained.curve.push(now);
            let better = best.as_ref().is_none_or(|(_, kept, _)| {
                config.keep == Keep::Last || (now.val_accuracy, -now.val_loss) > (kept.val_accuracy, -kept.val_loss)
            });
            if better && now.val_loss.is_finite() {
                best = Some((epoch, now, params.snapshot()?));
            }
            if now.val_loss < lowest_loss.0 {
                lowest_loss = (now.val_loss, epoch);
            }
            (watch.on_epoch)(before + epoch, &now);
            trained.interrupted = watch.stop.load(Ordering::Relaxed);
            if trained.interrupted || config.patience.is_some_and(|patience| epoch - lowest_loss.1 >= patience) {
                break;
            }
        }
        trained.kept_epoch = before + best.as_ref().map_or(trained.curve.len() - before, |(epoch, ..)| *epoch);
        if let Some((.., snapshot)) = best {
            params.restore(&snapshot)?;
        }
        Ok(())
    }

    /// Scores on the training (0) or validation (1) field.
    fn scores(&self, on: usize, pass: &Pass<'_>) -> Result<Tensor> {
        let Field { propagation, input, .. } = &self.fields[on];
        Ok(self.network.learner(self.i, propagation, input, pass)?)
    }

    fn evaluate(&self, loss: f32) -> Result<Epoch> {
        let targets = &self.fields[1].targets;
        if targets.items.is_empty() {
            return Ok(Epoch { loss, val_loss: 0.0, val_accuracy: 0.0 });
        }
        let weights = self.network.params().weights()?.detached();
        let scores = self.scores(1, &Pass::evaluation(&weights))?;
        let val_loss = masked_cross_entropy(&scores, &targets.items, &targets.classes)?.to_scalar::<f32>()?;
        Ok(Epoch { loss, val_loss, val_accuracy: targets.accuracy(&scores)? })
    }

    /// What the trained learner adds to the logarithms of the training nodes' weights.
    fn log_changes(&self) -> Result<Vec<f64>> {
        let weights = self.network.params().weights()?.detached();
        let scores = self.scores(0, &Pass::evaluation(&weights))?.to_vec2::<f32>()?;
        let Targets { items, classes } = &self.fields[0].targets;
        let pairs = items.iter().zip(classes.iter());
        Ok(pairs.map(|(&item, &class)| log_change(&scores[item as usize], class as usize)).collect())
    }
}

/// `Σ_i w_i · cross-entropy_i` over the targets.
fn weighted_cross_entropy(scores: &Tensor, targets: &Targets, weights: &[f64]) -> Result<Tensor> {
    let count = targets.items.len();
    let items = Tensor::from_slice(&targets.items, count, &Device::Cpu)?;
    let classes = Tensor::from_slice(&targets.classes, (count, 1), &Device::Cpu)?;
    let weights = Tensor::from_iter(weights.iter().map(|&w| w as f32), &Device::Cpu)?;
    let scores = scores.index_select(&items, 0)?;
    let shifted = scores.broadcast_sub(&scores.max_keepdim(1)?.detach())?;
    let of_class = shifted.gather(&classes, 1)?.squeeze(1)?;
    let losses = (shifted.exp()?.sum(1)?.log()? - of_class)?;
    Ok((losses * weights)?.sum_all()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// The update as scikit-learn writes it: probabilities, the coding of classes, the factor (K - 1) / K.
    fn samme_r(weights: &[f64], probabilities: &[[f64; 3]], classes: &[usize]) -> Vec<f64> {
        let k = 3.0;
        let changed: Vec<f64> = (weights.iter().zip(probabilities).zip(classes))
            .map(|((w, p), &class)| {
                let coded = |c: usize| if c == class { 1.0 } else { -1.0 / (k - 1.0) };
                let dot: f64 = (0..3).map(|c| coded(c) * p[c].ln()).sum();
                w * (-(k - 1.0) / k * dot).exp()
            })
            .collect();
        let total: f64 = changed.iter().sum();
        changed.into_iter().map(|w| w / total).collect()
    }

    #[test]
    fn weights_move_as_samme_r_says() {
        let probabilities = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], [0.5, 0.25, 0.25]];
        let classes = [0, 1, 2, 0];
        let start = [0.1, 0.2, 0.3, 0.4];
        let expected = samme_r(&start, &probabilities, &classes);
        // Scores are logarithms of probabilities up to a number per node, which must not matter.
        let found: Vec<f64> = (0..4)
            .map(|i| {
                let scores = probabilities[i].map(|p| p.ln() as f32 + 5.0 * i as f32);
                start[i].ln() + log_change(&scores, classes[i])
            })
            .collect();
        for (found, expected) in normalised(&found).iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-6, "{found} against {expected}");
        }
        // By hand for the first two: 0.1 · (0.7 / cbrt(0.014))^-1 against 0.2 · (0.3 / cbrt(0.018))^-1.
        let ratio = (0.1 * 0.014f64.cbrt() / 0.7) / (0.2 * 0.018f64.cbrt() / 0.3);
        assert!((expected[0] / expected[1] - ratio).abs() < 1e-12);
        let tiny = normalised(&[-2000.0, -2000.0, -5000.0]);
        assert_eq!(tiny, [0.5, 0.5, 0.0], "logarithms do not underflow together");
    }

    /// Probabilities 1/2 and 1/4 with weights 1/4 and 3/4: (ln 2 + 3 · 2 ln 2) / 4.
    #[test]
    fn the_weighted_loss_by_hand() {
        let scores = Tensor::new(&[[0f32, 0.0, 0.0], [101.0, 101.0, 90.0], [3f32.ln(), 0.0, -100.0]], &Device::Cpu);
        let targets = Targets { items: Arc::new(vec![1, 2]), classes: Arc::new(vec![0, 1]) };
        let loss = weighted_cross_entropy(&scores.unwrap(), &targets, &[0.25, 0.75]).unwrap();
        let expected = 7.0 * 2f32.ln() / 4.0;
        assert!((loss.to_scalar::<f32>().unwrap() - expected).abs() < 1e-4);
    }
}
