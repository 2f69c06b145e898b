//! GPR-GNN ([Chien et al. 2021](https://arxiv.org/abs/2006.07988)): `Z = Σ_{k = 0..K} γ_k Φ^k H`,
//! with predictions H of a two-layer perceptron and learned γ. Their initial values are those of
//! personalised PageRank: `γ_k = α (1 - α)^k`, the last one `(1 - α)^K`. K is the number of layers.
//!
//! GPR-GIN uses GIN layers instead of plain propagation: `H_0 = relu(X W + b)`,
//! `H_k = dropout(relu(GIN_k(H_{k-1})))`, and a linear map of `Σ γ_k H_k`.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::{Body, EMBEDDING_SITE, first_rows};
use crate::networks::config::NetworkSetting as S;
use crate::networks::entry::{Architecture, Capability, DefaultOperator, Entry, Plan};
use crate::networks::gin::{GinConv, GinSettings};
use crate::networks::init::Init;
use crate::networks::layer::{Layer, Propagation};
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Device, Result, Tensor};

/// Generalised PageRank with learned weights (Chien et al. 2021,
/// [arXiv:2006.07988](https://arxiv.org/abs/2006.07988)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(
    name = "gpr-gnn",
    constant,
    about = "generalised PageRank: a learned weight per propagation step"
)]
pub struct GprGnn {}

impl Architecture for GprGnn {
    fn entry(&self) -> Entry {
        let uses = &[
            S::Hidden,
            S::Layers,
            S::Dropout,
            S::InputDropout,
            S::OrthogonalStart,
        ];
        Entry {
            min_layers: 0,
            ..Entry::new(uses).with(&[Capability::OperatorFree])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let (first, second, shares) = maps_and_shares(plan, params, rng)?;
        let steps = Steps::Linear(plan.layers);
        let dropout = plan.dropout as f32;
        Ok(Box::new(Gpr {
            first,
            second,
            shares,
            steps,
            dropout,
        }))
    }
}

/// GIN layers whose outputs are added with learned weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "gpr-gin", constant, about = "a learned weight per GIN layer")]
pub struct GprGin {
    /// Batch normalisation inside the perceptrons.
    #[setting(default = false)]
    pub batch_norm: bool,
}

impl Architecture for GprGin {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            min_layers: 0,
            ..Entry::new(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::OrthogonalStart,
            ])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let (first, second, shares) = maps_and_shares(plan, params, rng)?;
        let hidden = plan.hidden;
        let settings = GinSettings {
            batch_norm: self.batch_norm,
            ..GinSettings::default()
        };
        let mut gin = |i: usize| {
            let name = format!("layers.{i}");
            GinConv::new(params, &name, hidden, hidden, hidden, settings, rng)
        };
        let steps = Steps::Gin((0..plan.layers).map(&mut gin).collect::<Result<_>>()?);
        let dropout = plan.dropout as f32;
        Ok(Box::new(Gpr {
            first,
            second,
            shares,
            steps,
            dropout,
        }))
    }

    fn batch_norm(&self) -> bool {
        self.batch_norm
    }
}

/// Teleport probability of the initial weights, the paper's choice for citation graphs.
const ALPHA: f64 = 0.1;

#[derive(Debug)]
struct Gpr {
    first: Linear,
    second: Linear,
    shares: ParamId,
    steps: Steps,
    dropout: f32,
}

#[derive(Debug)]
enum Steps {
    /// Number of propagation steps after the second linear map.
    Linear(usize),
    /// Layers before the second linear map.
    Gin(Vec<GinConv>),
}

/// Builds the perceptron's two maps and the weights of the propagation steps.
fn maps_and_shares(
    plan: &Plan<'_>,
    params: &mut Params,
    rng: &mut Rng,
) -> Result<(Linear, Linear, ParamId)> {
    let (hidden, steps) = (plan.hidden, plan.layers);
    let first = Linear::kaiming(params, "mlp.0", plan.in_dim, hidden, true, rng)?;
    let second = Linear::kaiming(params, "mlp.1", hidden, plan.num_classes, true, rng)?;
    let shares = params.add(
        "shares".into(),
        &[steps + 1],
        Init::Constant(0.0),
        Group::Scalar,
        rng,
    )?;
    params.get(shares).var.set(&Tensor::from_vec(
        pagerank_shares(steps),
        steps + 1,
        &Device::Cpu,
    )?)?;
    Ok((first, second, shares))
}

/// Returns `α (1 - α)^k` for k below K, and `(1 - α)^K`: they sum to one.
fn pagerank_shares(steps: usize) -> Vec<f32> {
    let power = |k: usize| (1.0 - ALPHA).powi(k as i32);
    (0..=steps)
        .map(|k| {
            if k == steps {
                power(k)
            } else {
                ALPHA * power(k)
            }
        })
        .map(|share| share as f32)
        .collect()
}

impl Body for Gpr {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h =
            self.first
                .forward_activated(x, pass, pass.dropout(self.dropout, EMBEDDING_SITE))?;
        match &self.steps {
            Steps::Linear(steps) => {
                let mut all = vec![self.second.forward(&Input::Dense(h), pass)?];
                for i in 0..*steps {
                    all.push(propagation.layer(i).apply(&all[i])?);
                }
                self.weighted(&all, pass)
            }
            Steps::Gin(layers) => {
                let mut all = vec![h];
                for (i, layer) in layers.iter().enumerate() {
                    let (from, dropout) = (
                        Input::Dense(all[i].clone()),
                        pass.dropout(self.dropout, i as u64),
                    );
                    all.push(layer.forward_activated(
                        propagation.layer(i),
                        &from,
                        pass,
                        dropout,
                    )?);
                }
                self.second
                    .forward(&Input::Dense(self.weighted(&all, pass)?), pass)
            }
        }
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.first.weight]
    }

    fn reach(&self) -> Option<usize> {
        Some(match &self.steps {
            Steps::Linear(steps) => *steps,
            Steps::Gin(layers) => layers.len(),
        })
    }
}

impl Gpr {
    /// Computes `Σ γ_k h_k` on the rows of the last.
    fn weighted(&self, all: &[Tensor], pass: &Pass<'_>) -> Result<Tensor> {
        let shares = pass.weight(self.shares);
        let rows = all[all.len() - 1].dims()[0];
        let part = |k: usize| first_rows(&all[k], rows)?.broadcast_mul(&shares.narrow(0, k, 1)?);
        (1..all.len()).try_fold(part(0)?, |sum, k| sum + part(k)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_start_as_pagerank() {
        assert_eq!(pagerank_shares(0), [1.0]);
        crate::networks::testing::assert_close(
            &pagerank_shares(3),
            &[0.1, 0.09, 0.081, 0.729],
            1e-6,
            "three steps",
        );
    }
}
