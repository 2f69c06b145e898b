//! Mixup of hidden representations ([Manifold Mixup](https://arxiv.org/abs/1806.05236)): vectors
//! and labels are mixed in the same proportion; the loss has targets of two classes.
//!
//! If scores are an affine map of vectors, `z = h W + b`, mixing scores equals mixing vectors:
//! `λ z_i + (1 - λ) z_j` are the scores of `λ h_i + (1 - λ) h_j`. A network on one graph therefore
//! mixes its training nodes' scores, which mixes their last vectors. For a GCN, whose last layer is
//! `(Φ H) W + b`, these are the vectors after propagation.

use std::sync::Arc;

use gnarl_tensor::{Device, Result, Tensor};

use super::Targets;
use gnarl_tensor::soft_cross_entropy;

/// Mixing partners and proportion of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixing {
    /// Partner of each node or graph.
    pub partners: Vec<u32>,
    /// λ, the share that each node or graph keeps.
    pub kept: f64,
}

/// Samples the mixing of an epoch's training nodes or graphs from the epoch, counted from 1, and
/// their number.
pub type Mixer<'a> = &'a (dyn Fn(usize, usize) -> gnarl_graph::Result<Mixing> + Sync);

/// Second class of a mixed node or graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixedIn {
    /// Second class.
    pub class: u32,
    /// Share of the second class, 0 to 1; the first class has the rest.
    pub share: f64,
}

impl Mixing {
    /// Mixes each row of `[items, width]` with its partner's row.
    pub fn mix(&self, rows: &Tensor) -> Result<Tensor> {
        let others = rows.index_select(
            &Tensor::from_slice(&self.partners, self.partners.len(), &Device::Cpu)?,
            0,
        )?;
        (rows * self.kept)? + (others * (1.0 - self.kept))?
    }

    /// Returns the share of the partner's class for each node or graph.
    pub fn mixed_in(&self, classes: &[u32]) -> Vec<MixedIn> {
        let other = |&j: &u32| MixedIn {
            class: classes[j as usize],
            share: 1.0 - self.kept,
        };
        self.partners.iter().map(other).collect()
    }

    /// Computes the cross-entropy of mixed targets, summed over the outputs of a model.
    pub(super) fn loss(&self, scores: &[Tensor], targets: &Targets) -> Result<Tensor> {
        let items = Tensor::from_slice(&targets.items, targets.items.len(), &Device::Cpu)?;
        let mixed_in = self.mixed_in(&targets.classes);
        let of_output = |scores: &Tensor| {
            mixed_cross_entropy(
                &self.mix(&scores.index_select(&items, 0)?)?,
                &targets.classes,
                &mixed_in,
            )
        };
        let mut losses = scores.iter().map(of_output);
        let Some(first) = losses.next() else {
            gnarl_tensor::bail!("a model without outputs")
        };
        losses.try_fold(first?, |sum, loss| sum + loss?)
    }
}

/// Computes the cross-entropy with targets of two classes.
pub fn mixed_cross_entropy(scores: &Tensor, classes: &[u32], mixed: &[MixedIn]) -> Result<Tensor> {
    let num_classes = scores.dim(1)?;
    let mut targets = vec![0f32; classes.len() * num_classes];
    for ((row, &class), other) in targets
        .chunks_mut(num_classes.max(1))
        .zip(classes)
        .zip(mixed)
    {
        row[class as usize] += (1.0 - other.share) as f32;
        row[other.class as usize] += other.share as f32;
    }
    soft_cross_entropy(scores, &Arc::new(targets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::{Backbone, Input, Network, NetworkConfig, Pass};
    use crate::operator::{OperatorChoice, Prepared};
    use crate::testing::labels;
    use crate::train::{Callbacks, Problem, TrainConfig, train};

    #[test]
    fn two_classes_share_a_label() {
        // Scores (ln 3, 0) give the first class 3/4. A target with three tenths of the second
        // class: 0.7 ln 4/3 + 0.3 ln 4.
        let scores = Tensor::new(&[[3f32.ln(), 0.0], [0.0, 0.0]], &Device::Cpu).unwrap();
        let mixed = [
            MixedIn {
                class: 1,
                share: 0.3,
            },
            MixedIn {
                class: 1,
                share: 0.5,
            },
        ];
        let loss = mixed_cross_entropy(&scores, &[0, 1], &mixed)
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        let expected = (0.7 * (4f32 / 3.0).ln() + 0.3 * 4f32.ln() + 2f32.ln()) / 2.0;
        assert!((loss - expected).abs() < 1e-6, "{loss}, not {expected}");
    }

    fn two_blocks() -> (gnarl_graph::Graph, Prepared) {
        let graph = gnarl_graph::generate::csbm(&Default::default(), 0).unwrap();
        let prepared = Prepared::new(&graph, Backbone::GCN, OperatorChoice::Default).unwrap();
        (graph, prepared)
    }

    /// Mixing the scores of a GCN equals mixing `Φ H` before its last weights.
    #[test]
    fn mixed_scores_are_those_of_mixed_vectors() {
        let (graph, prepared) = two_blocks();
        let network = Network::new(
            &NetworkConfig::new(Backbone::GCN),
            &prepared.shape(labels(&graph).num_classes()),
            1,
        )
        .unwrap();
        let weights = network.params().weights().unwrap();
        let pass = Pass::evaluation(&weights);
        let scores = network
            .forward(&prepared.propagation, &prepared.input, &pass)
            .unwrap();
        let rows = scores.dim(0).unwrap() as u32;
        let mixing = Mixing {
            partners: (0..rows).rev().collect(),
            kept: 0.3,
        };
        let value = |name: &str| {
            network
                .params()
                .list()
                .iter()
                .find(|p| p.name == name)
                .map(|p| p.var.as_tensor().clone())
                .unwrap()
        };
        let operator = prepared.propagation.layer(0);
        let first = Input::matmul(&prepared.input, &value("layers.0.weight"), None).unwrap();
        let hidden = operator
            .apply(&first)
            .unwrap()
            .broadcast_add(&value("layers.0.bias"))
            .unwrap()
            .relu()
            .unwrap();
        let mixed = mixing.mix(&operator.apply(&hidden).unwrap()).unwrap();
        let expected = mixed.matmul(&value("layers.1.weight")).unwrap();
        let expected = expected.broadcast_add(&value("layers.1.bias")).unwrap();
        let values = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        crate::networks::testing::assert_close(
            &values(&mixing.mix(&scores).unwrap()),
            &values(&expected),
            1e-4,
            "scores",
        );
    }

    /// With λ of one, or with all of the partner, training is plain training.
    #[test]
    fn whole_items_train_as_plain_ones() {
        let (graph, prepared) = two_blocks();
        let fitted = |mixing: Option<Mixer<'_>>| {
            let shape = prepared.shape(labels(&graph).num_classes());
            let network = Network::new(&NetworkConfig::new(Backbone::GCN), &shape, 1).unwrap();
            let plain = Problem::new(
                &prepared.propagation,
                &prepared.input,
                labels(&graph),
                &graph.splits()[0],
            );
            let training = TrainConfig {
                epochs: 12,
                ..TrainConfig::default()
            };
            train(
                &network,
                &Problem { mixing, ..plain },
                &training,
                3,
                &Callbacks::quiet(),
            )
            .unwrap();
            let values = network
                .params()
                .list()
                .iter()
                .map(|p| p.var.flatten_all().unwrap().to_vec1::<f32>().unwrap());
            values.collect::<Vec<_>>().concat()
        };
        let kept = |kept: f64| {
            move |_: usize, count: usize| {
                Ok(Mixing {
                    partners: (0..count as u32).rev().collect(),
                    kept,
                })
            }
        };
        let plain = fitted(None);
        crate::networks::testing::assert_close(
            &fitted(Some(&kept(1.0))),
            &plain,
            1e-3,
            "all of itself",
        );
        crate::networks::testing::assert_close(
            &fitted(Some(&kept(0.0))),
            &plain,
            1e-3,
            "all of the partner",
        );
        let mixed = fitted(Some(&kept(0.5)));
        assert!(
            mixed.iter().zip(&plain).any(|(a, b)| (a - b).abs() > 1e-2),
            "half and half is another training"
        );
    }
}
