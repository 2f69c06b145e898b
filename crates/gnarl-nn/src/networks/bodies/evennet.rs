//! EvenNet ([Lei et al. 2022](https://arxiv.org/abs/2205.13892), "EvenNet: Ignoring Odd-Hop
//! Neighbors Improves Robustness of Graph Neural Networks"): predictions H of a two-layer
//! perceptron, then `Z = Σ_{k = 0..K/2} w_k P^{2k} H` with `P = D^-1/2 A D^-1/2`, without
//! self-loops.
//!
//! A friend's friend and an enemy's enemy are friends: even powers have the same meaning on
//! homophilous and heterophilous graphs. The w are learned, with initial values `α (1 - α)^{2k}`.
//! Inverse degrees are bounded: degrees count as at least half of the smallest positive degree.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::edges::Edges;
use crate::networks::entry::{Architecture, DefaultOperator, Entry, Plan};
use crate::networks::init::Init;
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Device, Result, Tensor};

/// Even powers of the operator alone (Lei et al. 2022,
/// [arXiv:2205.13892](https://arxiv.org/abs/2205.13892)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "evennet",
    constant,
    about = "even powers of the operator alone, with learned weights"
)]
pub struct EvenNet {
    /// Teleport probability that the learned weights start from.
    #[setting(default = 0.1, range = 0.0..=1.0, flag = "teleport", was = "teleport")]
    pub alpha: f64,
    /// Number of propagation steps after the perceptron (K).
    #[setting(default = 10, range = 0..=10_000)]
    pub propagation_steps: usize,
}

impl Architecture for EvenNet {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            ..Entry::new(&[S::Hidden, S::Dropout, S::InputDropout, S::OrthogonalStart])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let pairs = self.propagation_steps / 2;
        let first = Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?;
        let second = Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?;
        let shares = params.add(
            "shares".into(),
            &[pairs + 1],
            Init::Constant(0.0),
            Group::Scalar,
            rng,
        )?;
        let start = |k: usize| (self.alpha * (1.0 - self.alpha).powi(2 * k as i32)) as f32;
        params.get(shares).var.set(&Tensor::from_vec(
            (0..=pairs).map(start).collect(),
            pairs + 1,
            &Device::Cpu,
        )?)?;
        Ok(Box::new(Even {
            first,
            second,
            shares,
            pairs,
            dropout: plan.dropout as f32,
        }))
    }

    fn propagation_steps(&self) -> Option<usize> {
        Some(self.propagation_steps)
    }
}

#[derive(Debug)]
struct Even {
    first: Linear,
    second: Linear,
    shares: ParamId,
    pairs: usize,
    dropout: f32,
}

impl Body for Even {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h = self
            .first
            .forward_activated(x, pass, pass.dropout(self.dropout, 0))?;
        let mut h = self.second.forward(&Input::Dense(h), pass)?;
        let edges = Edges::of(&propagation.operator)?;
        let scale = at_least_some(&edges.sums(&edges.sizes)?)?.powf(-0.5)?;
        let propagate = |h: &Tensor| {
            propagation
                .operator
                .apply(&h.broadcast_mul(&scale)?)?
                .broadcast_mul(&scale)
        };
        let shares = pass.weight(self.shares);
        let mut sum = h.broadcast_mul(&shares.narrow(0, 0, 1)?)?;
        for k in 0..self.pairs {
            h = propagate(&propagate(&h)?)?;
            sum = (sum + h.broadcast_mul(&shares.narrow(0, k + 1, 1)?)?)?;
        }
        Ok(sum)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.first.weight]
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}

/// Bounds degrees from below by half of the smallest positive degree.
fn at_least_some(degrees: &Tensor) -> Result<Tensor> {
    let smallest = degrees
        .flatten_all()?
        .to_vec1::<f32>()?
        .into_iter()
        .filter(|d| *d > 0.0)
        .fold(f32::MAX, f32::min);
    let floor = if smallest == f32::MAX {
        1.0
    } else {
        0.5 * f64::from(smallest)
    };
    degrees
        .ge(floor)?
        .where_cond(degrees, &degrees.affine(0.0, floor)?)
}
