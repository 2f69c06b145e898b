//! AdaGCN (Sun et al. 2021, [arXiv:1908.05081](https://arxiv.org/abs/1908.05081)): AdaBoost over
//! depths, by SAMME.R (Hastie et al. 2009,
//! [doi:10.4310/SII.2009.v2.n3.a8](https://doi.org/10.4310/SII.2009.v2.n3.a8)).
//!
//! Training nodes start with equal weights. For l = 0, 1, …, L, a two-layer perceptron is trained
//! on `Φ^l X` with the weighted loss. Its initial parameters are those of the learner before (the
//! paper's recursion). Then the weights become `w_i ← w_i exp(-(K - 1)/K · y_i · log p(x_i))`,
//! divided by their sum, with y_i equal to 1 for the node's class and `-1 / (K - 1)` for the K - 1
//! others. The network and its votes are in `nn/bodies/boosted.rs`.
//!
//! With scores z the exponent is `mean z - z_class`: the softmax's normaliser and K cancel.

use std::ops::Range;

use gnarl_graph::random::mix;

use crate::networks::{Network, Params, Pass};
use crate::train::{
    Callbacks, Epoch, Problem, ReceptiveField, Targets, TrainConfig, Trained, TrainingTask,
    Validation, fit_loop, gradients, median,
};
use gnarl_graph::Result;
use gnarl_tensor::{Device, GradStore, Tensor, masked_cross_entropy};

/// Trains the learners one after another, each for the configured number of epochs; each learner's
/// weights are selected by its own validation accuracy. The learning curve concatenates those of
/// all learners. Patience ends a learner, a stop from outside ends training, and learners that were
/// not reached keep the parameters of the last one.
pub fn train(
    network: &Network,
    problem: &Problem<'_>,
    config: &TrainConfig,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> Result<Trained> {
    let Problem {
        propagation, input, ..
    } = *problem;
    let [train_on, validate_on] = problem.targets()?;
    let mut log_weights = vec![0.0; train_on.items.len()];
    let mut all = Trained {
        curve: Vec::new(),
        kept_epoch: 0,
        epoch_ms: 0.0,
        interrupted: false,
    };
    let mut epoch_ms = Vec::new();
    for i in 0..network.num_learners() {
        if i > 0 {
            start_from_previous(network, i)?;
        }
        if all.interrupted {
            continue;
        }
        let mut learner = Learner {
            network,
            i,
            train_on: ReceptiveField::new(propagation, input, &train_on, Some(i))?,
            validate_on: ReceptiveField::new(propagation, input, &validate_on, Some(i))?,
            item_weights: normalised(&log_weights),
        };
        let before = all.curve.len();
        let on_epoch = |epoch: usize, now: &Epoch| (callbacks.on_epoch)(before + epoch, now);
        let callbacks = Callbacks {
            on_epoch: &on_epoch,
            ..*callbacks
        };
        let trained = fit_loop(&mut learner, config, mix(seed ^ mix(i as u64)), &callbacks)?;
        all.curve.extend(trained.curve);
        all.kept_epoch = before + trained.kept_epoch;
        all.interrupted = trained.interrupted;
        epoch_ms.push(trained.epoch_ms);
        for (log_weight, change) in log_weights.iter_mut().zip(learner.log_changes()?) {
            *log_weight += change;
        }
    }
    all.epoch_ms = median(epoch_ms);
    Ok(all)
}

/// Copies the parameters of learner `i - 1` into learner `i`.
fn start_from_previous(network: &Network, i: usize) -> Result<()> {
    let (own, previous) = (format!("learners.{i}."), format!("learners.{}.", i - 1));
    let list = network.params().list();
    for p in list {
        let Some(part) = p.name.strip_prefix(&own) else {
            continue;
        };
        let source = list
            .iter()
            .find(|q| q.name.strip_prefix(&previous) == Some(part));
        if let Some(source) = source {
            p.var.set(&source.var.as_tensor().copy()?)?;
        }
    }
    Ok(())
}

/// Computes weights that sum to one from their logarithms.
fn normalised(log_weights: &[f64]) -> Vec<f64> {
    let largest = log_weights
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_weights.iter().map(|w| (w - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}

/// Computes the SAMME.R change of the logarithm of a node's weight: the mean of its scores minus
/// the score of its class.
fn log_change(scores: &[f32], class: usize) -> f64 {
    let mean = scores.iter().map(|&z| f64::from(z)).sum::<f64>() / scores.len() as f64;
    mean - f64::from(scores[class])
}

/// Training task of one learner.
struct Learner<'a> {
    network: &'a Network,
    i: usize,
    train_on: ReceptiveField,
    validate_on: ReceptiveField,
    /// Weights of the training nodes, with sum one.
    item_weights: Vec<f64>,
}

impl TrainingTask for Learner<'_> {
    fn params(&self) -> &Params {
        self.network.params()
    }

    /// Its own parameters, which are contiguous.
    fn trained(&self) -> Range<usize> {
        let own = format!("learners.{}.", self.i);
        let is_own = |p: &crate::networks::Param| p.name.starts_with(&own);
        let list = self.params().list();
        let first = list.iter().position(is_own).unwrap_or(list.len());
        first..first + list[first..].iter().take_while(|p| is_own(p)).count()
    }

    fn begin(&mut self, _epoch: usize, _from: usize) -> Result<usize> {
        Ok(1)
    }

    fn descend(&self, _step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let scores = self.scores(&self.train_on, pass)?;
        gradients(
            weighted_cross_entropy(&scores, &self.train_on.targets, &self.item_weights)?,
            pass,
        )
    }

    fn has_validation(&self) -> bool {
        !self.validate_on.targets.items.is_empty()
    }

    fn validate(&self) -> Result<Validation> {
        let targets = &self.validate_on.targets;
        let weights = self.params().weights()?.detached();
        let scores = self.scores(&self.validate_on, &Pass::evaluation(&weights))?;
        let loss =
            masked_cross_entropy(&scores, &targets.items, &targets.classes)?.to_scalar::<f32>()?;
        Ok(Validation {
            loss,
            accuracy: targets.accuracy(&scores)?,
        })
    }
}

impl Learner<'_> {
    fn scores(&self, on: &ReceptiveField, pass: &Pass<'_>) -> Result<Tensor> {
        Ok(self
            .network
            .learner(self.i, &on.propagation, &on.input, pass)?)
    }

    /// Computes the changes that the trained learner makes to the logarithms of the training nodes'
    /// weights.
    fn log_changes(&self) -> Result<Vec<f64>> {
        let weights = self.network.params().weights()?.detached();
        let scores = self
            .scores(&self.train_on, &Pass::evaluation(&weights))?
            .to_vec2::<f32>()?;
        let Targets { items, classes, .. } = &self.train_on.targets;
        let pairs = items.iter().zip(classes.iter());
        Ok(pairs
            .map(|(&item, &class)| log_change(&scores[item as usize], class as usize))
            .collect())
    }
}

/// Computes `Σ_i w_i · cross-entropy_i` over the targets.
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

    /// The update as in scikit-learn: probabilities, the coding of classes, the factor (K - 1) / K.
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
        let probabilities = [
            [0.7, 0.2, 0.1],
            [0.1, 0.3, 0.6],
            [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
            [0.5, 0.25, 0.25],
        ];
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
            assert!(
                (found - expected).abs() < 1e-6,
                "{found} against {expected}"
            );
        }
        // By hand for the first two: 0.1 · (0.7 / cbrt(0.014))^-1 against 0.2 · (0.3 /
        // cbrt(0.018))^-1.
        let ratio = (0.1 * 0.014f64.cbrt() / 0.7) / (0.2 * 0.018f64.cbrt() / 0.3);
        assert!((expected[0] / expected[1] - ratio).abs() < 1e-12);
        let tiny = normalised(&[-2000.0, -2000.0, -5000.0]);
        assert_eq!(
            tiny,
            [0.5, 0.5, 0.0],
            "logarithms do not underflow together"
        );
    }

    /// Probabilities 1/2 and 1/4 with weights 1/4 and 3/4: (ln 2 + 3 · 2 ln 2) / 4.
    #[test]
    fn the_weighted_loss_by_hand() {
        let scores = Tensor::new(
            &[
                [0f32, 0.0, 0.0],
                [101.0, 101.0, 90.0],
                [3f32.ln(), 0.0, -100.0],
            ],
            &Device::Cpu,
        );
        let targets = Targets {
            items: Arc::new(vec![1, 2]),
            classes: Arc::new(vec![0, 1]),
            weights: None,
        };
        let loss = weighted_cross_entropy(&scores.unwrap(), &targets, &[0.25, 0.75]).unwrap();
        let expected = 7.0 * 2f32.ln() / 4.0;
        assert!((loss.to_scalar::<f32>().unwrap() - expected).abs() < 1e-4);
    }

    /// The weights axis applies to every learner: Parseval's step after an update keeps maps closer
    /// to orthonormal ones.
    #[test]
    fn parseval_steps_follow_the_updates_of_learners() {
        use crate::networks::{Backbone, Group, NetworkConfig};
        use crate::weights::{Parseval, WeightsChoice, departure};
        let (graph, prepared) = crate::depth::exits::tests::prepared(
            Backbone::ADAGCN,
            crate::operator::OperatorChoice::Default,
        );
        let labels = crate::testing::labels(&graph);
        let problem = Problem::new(
            &prepared.propagation,
            &prepared.input,
            labels,
            &graph.splits()[0],
        );
        let config = TrainConfig {
            epochs: 20,
            keep: crate::train::Keep::Last,
            ..TrainConfig::default()
        };
        let departures = |weights| {
            let network = NetworkConfig {
                hidden: 8,
                weights,
                ..NetworkConfig::new(Backbone::ADAGCN)
            };
            let network = Network::new(&network, &prepared.shape(labels.num_classes()), 1).unwrap();
            let trained = train(&network, &problem, &config, 1, &Callbacks::quiet()).unwrap();
            assert_eq!((trained.curve.len(), trained.kept_epoch), (3 * 20, 3 * 20));
            let maps = network
                .params()
                .list()
                .iter()
                .filter(|p| p.group == Group::Weight);
            maps.map(|p| departure(p.var.as_tensor()).unwrap())
                .collect::<Vec<f64>>()
        };
        let free = departures(WeightsChoice::FREE);
        let held = departures(WeightsChoice::Parseval(Parseval { beta: 0.1 }));
        assert_eq!(free.len(), 3 * 2);
        for (free, held) in free.iter().zip(&held) {
            assert!(*held < 0.5 * free, "{held} against {free}");
        }
    }
}
