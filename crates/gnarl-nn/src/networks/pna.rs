//! PNA ([Corso et al. 2020](https://arxiv.org/abs/2004.05718)): mean, min, max and standard
//! deviation of the messages a node receives, each plain, amplified and attenuated by the node's
//! degree.
//!
//! A message from j to i is `[x_i, x_j] · W_before + b`. With the twelve aggregates `a_i` of its
//! messages a node becomes `([x_i, a_i] · W_after + b) · W_mix + b`. The amplifying factor is
//! `ln(d + 1) / δ`, the attenuating factor its inverse with degree 0 taken as 1, with δ the mean of
//! `ln(d + 1)` over the training graph. A node without neighbours has twelve zeros. This is the
//! layer of PyTorch Geometric with one tower and one linear map before and after. The operator
//! gives the pattern; its values are not used.

use std::sync::Arc;

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::bodies::stack;
use super::body::Body;
use super::config::NetworkSetting as S;
use super::entry::{Architecture, Capability, DefaultOperator, Entry, Layered, Place, Plan};
use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{Params, Pass};
use gnarl_tensor::{Device, Extreme, Operator, Pattern, Result, Tensor, segment_extreme};

/// Principal neighbourhood aggregation (Corso et al. 2020,
/// [arXiv:2004.05718](https://arxiv.org/abs/2004.05718)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "pna",
    constant,
    about = "principal neighbourhood aggregation: mean, min, max and standard deviation, scaled by degree"
)]
pub struct Pna {}

impl Architecture for Pna {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            fixed_operator: Some(
                "does not use an operator's values: there is nothing for cgso to learn",
            ),
            ..stack::entry(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::Head,
                S::OrthogonalStart,
                S::Noise,
            ])
            .without(&[Capability::EdgeWeights])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        stack::build(self, plan, params, rng)
    }

    fn layered(&self) -> Option<&dyn Layered> {
        Some(self)
    }
}

impl Layered for Pna {
    fn is_embedded(&self) -> bool {
        true
    }

    fn layer(
        &self,
        plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        Ok(Box::new(PnaConv::new(
            params,
            at.name,
            at.from,
            at.to,
            plan.mean_log_degree,
            rng,
        )?))
    }
}

/// Number of aggregators: mean, min, max and standard deviation.
const AGGREGATORS: usize = 4;
/// Number of scalers: plain, amplified, attenuated.
const SCALERS: usize = 3;
/// Variance up to which the variance counts as zero, so that no gradient is divided by zero;
/// PyTorch Geometric's value.
const NO_VARIANCE: f32 = 1e-5;

/// PNA layer.
#[derive(Debug)]
pub struct PnaConv {
    /// `[2 · in_dim, in_dim]`: the receiver's half, then the sender's.
    before: Linear,
    /// `[13 · in_dim, out_dim]`: the node's own part, then the aggregates, scaler by scaler.
    after: Linear,
    /// `[out_dim, out_dim]`
    mix: Linear,
    mean_log_degree: f64,
}

impl PnaConv {
    /// Adds the layer, initialised as PyTorch's linear layers. `mean_log_degree` is δ.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        mean_log_degree: f64,
        rng: &mut Rng,
    ) -> Result<Self> {
        let mut linear = |part: &str, from, to| {
            Linear::kaiming(params, &format!("{name}.{part}"), from, to, true, rng)
        };
        let before = linear("before", 2 * in_dim, in_dim)?;
        let after = linear("after", (1 + SCALERS * AGGREGATORS) * in_dim, out_dim)?;
        let mix = linear("mix", out_dim, out_dim)?;
        // Zero for a graph without edges, where every message and so every amplified aggregate is
        // zero.
        Ok(Self {
            before,
            after,
            mix,
            mean_log_degree: mean_log_degree.max(1e-6),
        })
    }

    /// Computes one factor per row and scaler, `[rows, 1]` each.
    fn scalers(&self, pattern: &Pattern) -> Result<[Tensor; SCALERS]> {
        let log = |degree: f64| (degree + 1.0).ln();
        Ok([
            per_row(pattern, |_| 1.0)?,
            per_row(pattern, |degree| log(degree) / self.mean_log_degree)?,
            per_row(pattern, |degree| {
                self.mean_log_degree / log(degree.max(1.0))
            })?,
        ])
    }
}

impl Layer for PnaConv {
    /// Scaling rows commutes with the linear map after it, so the aggregates are stored once and
    /// not once per scaler.
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let pattern = operator.pattern();
        let width = self.before.out_dim();
        let bias = |linear: &Linear| linear.bias.map(|b| pass.weight(b));

        let before = pass.weight(self.before.weight);
        let receivers = x.head(operator.num_rows())?;
        let own = receivers.matmul(&before.narrow(0, 0, width)?, bias(&self.before))?;
        let sent = x.matmul(&before.narrow(0, width, width)?, None)?;
        let aggregates = aggregate(pattern, &own, &sent)?;

        let after = pass.weight(self.after.weight);
        let mut y = receivers.matmul(&after.narrow(0, 0, width)?, bias(&self.after))?;
        for (i, scaler) in self.scalers(pattern)?.iter().enumerate() {
            let part = after.narrow(0, (1 + i * AGGREGATORS) * width, AGGREGATORS * width)?;
            y = (y + aggregates.matmul(&part)?.broadcast_mul(scaler)?)?;
        }
        self.mix.forward(&Input::Dense(y), pass)
    }

    fn out_dim(&self) -> usize {
        self.mix.out_dim()
    }
}

/// Computes mean, min, max and standard deviation of the messages `own[i] + sent[j]`, concatenated:
/// `[rows, 4 · width]`. The receiver's own part shifts the first three and does not change the
/// standard deviation, so no message is stored.
fn aggregate(pattern: &Arc<Pattern>, own: &Tensor, sent: &Tensor) -> Result<Tensor> {
    let own = own.broadcast_mul(&per_row(pattern, |degree| degree.min(1.0))?)?;
    let share = per_row(pattern, |degree| 1.0 / degree.max(1.0))?;
    let sum = Operator::from_pattern(pattern.clone());
    let mean = sum.apply(sent)?.broadcast_mul(&share)?;
    let variance = (sum.apply(&sent.sqr()?)?.broadcast_mul(&share)? - mean.sqr()?)?;
    let min = segment_extreme(pattern, sent, Extreme::Min)?;
    let max = segment_extreme(pattern, sent, Extreme::Max)?;
    Tensor::cat(
        &[
            (mean + &own)?,
            (min + &own)?,
            (max + &own)?,
            standard_deviation(&variance)?,
        ],
        1,
    )
}

/// Computes the square root of a positive variance, else zero with a zero gradient.
fn standard_deviation(variance: &Tensor) -> Result<Tensor> {
    let varies = variance.gt(NO_VARIANCE)?;
    let safe = varies.where_cond(variance, &variance.ones_like()?)?;
    varies.where_cond(&safe.sqrt()?, &variance.zeros_like()?)
}

/// Computes a number for each row from its number of entries: `[rows, 1]`.
fn per_row(pattern: &Pattern, f: impl Fn(f64) -> f64) -> Result<Tensor> {
    let values: Vec<f32> = (0..pattern.num_rows())
        .map(|row| f(pattern.row(row).len() as f64) as f32)
        .collect();
    Tensor::from_vec(values, (pattern.num_rows(), 1), &Device::Cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::testing::{adjacency, assert_close, plant, rng};
    use gnarl_graph::Graph;

    /// The path 0–1–2 and isolated node 3; the maps after the aggregates are identities, so that
    /// all thirteen show.
    #[test]
    fn by_hand() {
        let graph = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap().0;
        let mut params = Params::default();
        let delta = 2f64.ln();
        let layer = PnaConv::new(&mut params, "pna", 1, 13, delta, &mut rng()).unwrap();
        let identity: Vec<f32> = (0..169)
            .map(|i| if i % 14 == 0 { 1.0 } else { 0.0 })
            .collect();
        plant(&params, "pna.before.weight", &[10.0, 1.0]);
        plant(&params, "pna.before.bias", &[0.5]);
        for part in ["after", "mix"] {
            plant(&params, &format!("pna.{part}.weight"), &identity);
            plant(&params, &format!("pna.{part}.bias"), &[0.0; 13]);
        }
        let x = Tensor::new(&[[1f32], [2.0], [5.0], [7.0]], &Device::Cpu).unwrap();
        let weights = params.weights().unwrap();
        let y = layer
            .forward(
                &adjacency(&graph),
                &Input::Dense(x),
                &Pass::evaluation(&weights),
            )
            .unwrap();
        // Node 0 receives 10 · 1 + 2 + 0.5; node 1 receives 21.5 and 25.5; node 2 receives 52.5;
        // node 3 nothing.
        let plain = [
            [12.5f32, 12.5, 12.5, 0.0],
            [23.5, 21.5, 25.5, 2.0],
            [52.5, 52.5, 52.5, 0.0],
            [0.0; 4],
        ];
        let up = [1.0, 3f32.ln() / 2f32.ln(), 1.0, 0.0];
        let down = [1.0, 2f32.ln() / 3f32.ln(), 1.0, 1.0];
        for (node, row) in y.to_vec2::<f32>().unwrap().iter().enumerate() {
            let mut expected = vec![[1f32, 2.0, 5.0, 7.0][node]];
            for scale in [1.0, up[node], down[node]] {
                expected.extend(plain[node].map(|a| a * scale));
            }
            assert_close(row, &expected, 1e-5, &format!("node {node}"));
        }
    }

    #[test]
    fn no_deviation_and_no_gradient_without_variance() {
        let variance =
            gnarl_tensor::Var::new(&[0f32, -1e-7, 0.9e-5, 1.1e-5, 4.0], &Device::Cpu).unwrap();
        let standard_deviation = standard_deviation(&variance).unwrap();
        let small = 1.1e-5f32.sqrt();
        assert_close(
            &standard_deviation.to_vec1::<f32>().unwrap(),
            &[0.0, 0.0, 0.0, small, 2.0],
            1e-6,
            "deviation",
        );
        let grads = standard_deviation.sum_all().unwrap().backward().unwrap();
        let grad = grads.get(&variance).unwrap().to_vec1::<f32>().unwrap();
        assert_close(&grad, &[0.0, 0.0, 0.0, 0.5 / small, 0.25], 1e-6, "gradient");
    }
}
