//! Network of AdaGCN ([Sun et al. 2021](https://arxiv.org/abs/1908.05081)): a two-layer perceptron
//! for every depth `l = 0..L`, each on `Φ^l X`, and the sum of the SAMME.R votes
//! `(K - 1) (log p_k - 1/K Σ_k' log p_k')` for K classes.
//!
//! With scores z the vote is `(K - 1) (z_k - mean z)`: the normaliser of the softmax cancels. The
//! training of the learners, one after another on reweighted nodes, is in
//! [`depth::adagcn`](crate::depth::adagcn).

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::entry::{Architecture, Capability, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{Params, Pass};
use gnarl_tensor::{Result, Tensor, add_bias, relu_dropout};

/// AdaBoost over depths (Sun et al. 2021, [arXiv:1908.05081](https://arxiv.org/abs/1908.05081)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "adagcn",
    constant,
    about = "AdaBoost over depths: one perceptron per depth, trained in turn"
)]
pub struct AdaGcn {}

impl Architecture for AdaGcn {
    fn entry(&self) -> Entry {
        Entry {
            min_layers: 0,
            fixed_operator: Some(
                "trains one learner after the other: an operator that cgso learns would change under the learners already trained",
            ),
            ..Entry::new(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::OrthogonalStart,
            ])
            .without(&[Capability::JointTraining, Capability::GraphSets])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let hidden = plan.hidden;
        let mut learner = |i: usize| -> Result<Learner> {
            Ok(Learner {
                first: Linear::glorot(
                    params,
                    &format!("learners.{i}.0"),
                    plan.in_dim,
                    hidden,
                    true,
                    rng,
                )?,
                second: Linear::glorot(
                    params,
                    &format!("learners.{i}.1"),
                    hidden,
                    plan.num_classes,
                    true,
                    rng,
                )?,
            })
        };
        let learners = (0..=plan.layers).map(&mut learner).collect::<Result<_>>()?;
        Ok(Box::new(Boosted {
            learners,
            dropout: plan.dropout as f32,
        }))
    }
}

#[derive(Debug)]
struct Boosted {
    learners: Vec<Learner>,
    dropout: f32,
}

#[derive(Debug)]
struct Learner {
    first: Linear,
    second: Linear,
}

impl Body for Boosted {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let vote = |i: usize| votes(&self.learner(i, propagation, x, pass)?);
        (1..self.learners.len()).try_fold(vote(0)?, |sum, i| sum + vote(i)?)
    }

    /// Learners of all depths need all nodes: the layers of a restricted operator fit one depth
    /// alone.
    fn reach(&self) -> Option<usize> {
        None
    }

    fn num_learners(&self) -> usize {
        self.learners.len()
    }

    /// Computes `relu(Φ^i (X W) + b) W' + b'`: the linear map first, so that sparse features stay
    /// sparse.
    fn learner(
        &self,
        i: usize,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let Learner { first, second } = &self.learners[i];
        let mut h = x.matmul(pass.weight(first.weight), None)?;
        for hop in 0..i {
            h = propagation.layer(hop).apply(&h)?;
        }
        if let Some(bias) = first.bias {
            h = add_bias(&h, pass.weight(bias))?;
        }
        let h = relu_dropout(&h, pass.dropout(self.dropout, i as u64))?;
        second.forward(&Input::Dense(h), pass)
    }
}

/// Computes SAMME.R votes from scores.
fn votes(scores: &Tensor) -> Result<Tensor> {
    let (_, num_classes) = scores.dims2()?;
    scores.broadcast_sub(&scores.mean_keepdim(1)?)? * (num_classes as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_tensor::Device;

    /// Probabilities 1/2, 1/4, 1/4: logs -1, -2, -2 in units of ln 2, their mean -5/3, twice the
    /// differences 4/3, -2/3, -2/3.
    #[test]
    fn votes_by_hand() {
        let p = [0.5f32, 0.25, 0.25];
        let scores = Tensor::new(&[p.map(|p| p.ln() + 3.0)], &Device::Cpu).unwrap();
        let found = votes(&scores)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap();
        let ln2 = 2f32.ln();
        crate::networks::testing::assert_close(
            &found,
            &[4.0 / 3.0, -2.0 / 3.0, -2.0 / 3.0].map(|v| v * ln2),
            1e-6,
            "votes",
        );
    }
}
