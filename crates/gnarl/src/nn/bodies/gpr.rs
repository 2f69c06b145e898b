//! GPR-GNN (Chien et al. 2021): `Z = Σ_{k = 0..K} γ_k Φ^k H`, where H is a two-layer perceptron's
//! answer and the γ are learned. They start as personalised PageRank's: `γ_k = α (1 - α)^k`, the
//! last one `(1 - α)^K`. K is the number of layers.
//!
//! The thesis' GPR-GIN is not defined there. Here the rounds are GIN layers: `H_0 = relu(X W + b)`,
//! `H_k = dropout(relu(GIN_k(H_{k-1})))`, and a linear map of `Σ γ_k H_k`.

use gnarl_graph::random::Rng;

use crate::nn::body::{Body, EMBEDDING_SITE, first_rows};
use crate::nn::entry::{Entry, NetworkOption, Plan, UsualOperator};
use crate::nn::gin::{Gin, GinSettings};
use crate::nn::init::Init;
use crate::nn::layer::{Layer, Propagation};
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{Group, ParamId, Params, Pass};
use crate::tensor::{Device, Result, Tensor};

use NetworkOption::{BatchNorm, Dropout, Hidden, InputDropout, Layers, OrthogonalStart};

pub(in crate::nn) const ENTRY: Entry = Entry {
    min_layers: 0,
    applies_alone: true,
    ..Entry::new(
        "gpr-gnn",
        "generalised PageRank: a learned weight for every round",
        build_bare,
        &[Hidden, Layers, Dropout, InputDropout, OrthogonalStart],
    )
};

pub(in crate::nn) const OVER_GIN: Entry = Entry {
    usual_operator: UsualOperator::ADJACENCY,
    min_layers: 0,
    ..Entry::new(
        "gpr-gin",
        "a learned weight for every GIN layer",
        build_over_gin,
        &[
            Hidden,
            Layers,
            Dropout,
            InputDropout,
            BatchNorm,
            OrthogonalStart,
        ],
    )
};

/// The teleport probability that the weights start from, the paper's choice for citation graphs.
const ALPHA: f64 = 0.1;

#[derive(Debug)]
struct Gpr {
    first: Linear,
    second: Linear,
    shares: ParamId,
    rounds: Rounds,
    dropout: f32,
}

#[derive(Debug)]
enum Rounds {
    /// So many applications of the operator, after the second linear map.
    Bare(usize),
    /// Layers, before the second linear map.
    Gin(Vec<Gin>),
}

fn build_bare(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    let (first, second, shares) = maps_and_shares(plan, params, rng)?;
    Ok(Box::new(Gpr {
        first,
        second,
        shares,
        rounds: Rounds::Bare(plan.layers),
        dropout: plan.dropout,
    }))
}

fn build_over_gin(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    let (first, second, shares) = maps_and_shares(plan, params, rng)?;
    let hidden = plan.hidden;
    let settings = GinSettings {
        batch_norm: plan.batch_norm,
        ..GinSettings::default()
    };
    let mut gin = |i: usize| {
        Gin::new(
            params,
            &format!("layers.{i}"),
            hidden,
            hidden,
            hidden,
            settings,
            rng,
        )
    };
    let rounds = Rounds::Gin((0..plan.layers).map(&mut gin).collect::<Result<_>>()?);
    Ok(Box::new(Gpr {
        first,
        second,
        shares,
        rounds,
        dropout: plan.dropout,
    }))
}

/// The perceptron's two maps, and the rounds' weights.
fn maps_and_shares(
    plan: &Plan,
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

/// `α (1 - α)^k` for k below K, and `(1 - α)^K`: they add up to one.
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
        match &self.rounds {
            Rounds::Bare(steps) => {
                let mut all = vec![self.second.forward(&Input::Dense(h), pass)?];
                for i in 0..*steps {
                    all.push(propagation.round(i).apply(&all[i])?);
                }
                self.weighted(&all, pass)
            }
            Rounds::Gin(layers) => {
                let mut all = vec![h];
                for (i, layer) in layers.iter().enumerate() {
                    let (from, dropout) = (
                        Input::Dense(all[i].clone()),
                        pass.dropout(self.dropout, i as u64),
                    );
                    all.push(layer.forward_activated(
                        propagation.round(i),
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
        Some(match &self.rounds {
            Rounds::Bare(steps) => *steps,
            Rounds::Gin(layers) => layers.len(),
        })
    }
}

impl Gpr {
    /// `Σ γ_k h_k` on the rows of the last.
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
        crate::nn::testing::assert_close(
            &pagerank_shares(3),
            &[0.1, 0.09, 0.081, 0.729],
            1e-6,
            "three steps",
        );
    }
}
