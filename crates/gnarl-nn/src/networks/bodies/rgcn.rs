//! RGCN ([Zhu et al. 2019](https://doi.org/10.1145/3292500.3330851)): every representation is a
//! Gaussian with a mean and a variance, and neighbours of high variance get a smaller weight.
//!
//! A layer computes `m' = Φ (m ∘ a)` and `v' = (Φ ∘ Φ)(v ∘ a ∘ a)` with `a = exp(-v)` from
//! `m = elu(h_m W_m)` and `v = relu(h_v W_v)`: the variance of a weighted sum of independent
//! Gaussians has the squared weights. For A_hat the squares are `D^-1 (A + I) D^-1`, the paper's
//! second operator. Training samples the scores, `m + ε sqrt(v)`, and keeps the first layer's
//! Gaussians near the standard Gaussian by a KL divergence. Prediction uses the mean. The paper's
//! weight decay is that of the training settings, so that networks compared without decay have
//! none.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::{Body, NOISE_SITES};
use crate::networks::config::NetworkSetting as S;
use crate::networks::entry::{Architecture, Capability, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{ParamId, Params, Pass};
use gnarl_tensor::{Operator, Result, Tensor, dropout, relu};

/// Robust GCN: Gaussian representations that weigh uncertain neighbours less (Zhu et al. 2019,
/// [doi:10.1145/3292500.3330851](https://doi.org/10.1145/3292500.3330851)).
///
/// The divergence is a term of the whole batch's loss: it couples the batch's graphs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "rgcn",
    constant,
    about = "Gaussian representations that weigh uncertain neighbours less"
)]
pub struct Rgcn {}

impl Architecture for Rgcn {
    fn entry(&self) -> Entry {
        Entry::new(&[
            S::Hidden,
            S::Layers,
            S::Dropout,
            S::InputDropout,
            S::OrthogonalStart,
        ])
        .without(&[Capability::IndependentGraphs])
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let count = plan.layers;
        let layers = (0..count)
            .map(|i| {
                let from = if i == 0 { plan.in_dim } else { plan.hidden };
                let to = if i + 1 == count {
                    plan.num_classes
                } else {
                    plan.hidden
                };
                let mut map = |part: &str| {
                    Linear::glorot(params, &format!("layers.{i}.{part}"), from, to, false, rng)
                };
                Ok(Gaussian {
                    mean: map("mean")?,
                    variance: map("variance")?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Box::new(RgcnBody {
            layers,
            dropout: plan.dropout as f32,
        }))
    }
}

/// Weight of the divergence in the paper.
const DIVERGENCE: f64 = 5e-4;
/// Small constant that keeps logarithms and roots of a variance of zero finite.
const TINY: f64 = 1e-8;

#[derive(Debug)]
struct RgcnBody {
    layers: Vec<Gaussian>,
    dropout: f32,
}

#[derive(Debug)]
struct Gaussian {
    mean: Linear,
    variance: Linear,
}

impl Gaussian {
    /// Computes the mean and variance of representations after this layer.
    fn forward(
        &self,
        operator: &Operator,
        squared: &Operator,
        (mean, variance): (&Input, &Input),
        pass: &Pass<'_>,
    ) -> Result<(Tensor, Tensor)> {
        let mean = self.mean.forward(mean, pass)?.elu(1.0)?;
        let variance = relu(&self.variance.forward(variance, pass)?)?;
        let attention = variance.neg()?.exp()?;
        let mean = operator.apply(&(mean * &attention)?)?;
        let variance = squared.apply(&(variance * (&attention * &attention)?)?)?;
        Ok((mean, variance))
    }
}

/// Computes the KL divergence of Gaussians from the standard Gaussian, up to a constant: the mean
/// over coordinates, the sum over nodes.
fn divergence(mean: &Tensor, variance: &Tensor) -> Result<Tensor> {
    let (_, width) = mean.dims2()?;
    let apart = ((mean.sqr()? + variance)? - (variance + TINY)?.log()?)?;
    apart.sum_all()? * (0.5 * DIVERGENCE / width as f64)
}

impl Body for RgcnBody {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let (mut mean, mut variance) = (x.clone(), x.clone());
        for (i, layer) in self.layers.iter().enumerate() {
            let operator = propagation.layer(i);
            let squared = operator.with_values(&operator.values()?.sqr()?)?;
            let (m, v) = layer.forward(operator, &squared, (&mean, &variance), pass)?;
            if i == 0 && pass.trains() {
                pass.note_penalty(divergence(&m, &v)?);
            }
            if i + 1 == self.layers.len() {
                return match pass.noise(1.0, NOISE_SITES, m.dims())? {
                    Some(noise) => m + (noise * (v + TINY)?.sqrt()?)?,
                    None => Ok(m),
                };
            }
            let site = 2 * i as u64;
            mean = Input::Dense(dropout(&m, pass.dropout(self.dropout, site))?);
            variance = Input::Dense(dropout(&v, pass.dropout(self.dropout, site + 1))?);
        }
        gnarl_tensor::bail!("a network has at least one layer")
    }

    fn input_maps(&self) -> Vec<ParamId> {
        self.layers.first().map_or_else(Vec::new, |first| {
            vec![first.mean.weight, first.variance.weight]
        })
    }

    /// The divergence depends on every node.
    fn reach(&self) -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::testing::{assert_close, path, plant};
    use crate::networks::{Backbone, Network, NetworkConfig, Shape};
    use gnarl_tensor::testing::random;

    #[test]
    fn by_hand() {
        let config = NetworkConfig {
            layers: 1,
            ..NetworkConfig::new(Backbone::RGCN)
        };
        let network = Network::new(&config, &Shape::new(1, 1, 0.0), 1).unwrap();
        plant(network.params(), "layers.0.mean.weight", &[1.0]);
        plant(network.params(), "layers.0.variance.weight", &[0.5]);
        let a = crate::networks::testing::adjacency(&path());
        let x = Input::Dense(
            Tensor::new(&[[1f32], [-2.0], [4.0]], &gnarl_tensor::Device::Cpu).unwrap(),
        );
        let weights = network.params().weights().unwrap();
        let y = network
            .forward(&a.into(), &x, &Pass::evaluation(&weights))
            .unwrap();
        // Variances 0.5, 0, 2; messages: 1 e^-0.5, elu(-2) = e^-2 - 1, 4 e^-2.
        let messages = [(-0.5f32).exp(), (-2f32).exp() - 1.0, 4.0 * (-2f32).exp()];
        let y = y.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_close(
            &y,
            &[messages[1], messages[0] + messages[2], messages[1]],
            1e-6,
            "means",
        );
    }

    #[test]
    fn training_samples_scores_and_adds_a_penalty() {
        let network = Network::new(
            &NetworkConfig::new(Backbone::RGCN),
            &Shape::new(4, 3, 0.0),
            1,
        )
        .unwrap();
        let (propagation, x) = (
            crate::networks::testing::adjacency(&path()).into(),
            Input::Dense(random(&[3, 4], 1)),
        );
        let weights = network.params().weights().unwrap();
        let scores = |pass: &Pass<'_>| {
            let y = network.forward(&propagation, &x, pass).unwrap();
            (
                y.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
                pass.take_penalties().len(),
            )
        };
        let (one, noted) = scores(&Pass::training(&weights, 1));
        assert_eq!(noted, 1);
        assert_ne!(one, scores(&Pass::training(&weights, 2)).0);
        assert_eq!(one, scores(&Pass::training(&weights, 1)).0);
        assert_eq!(scores(&Pass::evaluation(&weights)).1, 0);
    }
}
