//! ElasticGNN (Liu et al. 2021, "Elastic Graph Neural Networks"): a two-layer perceptron, then
//! elastic message passing, primal-dual steps towards the minimum of
//! `λ1 Σ_ij |f_i / √d_i - f_j / √d_j| + λ2 / 2 tr(Fᵀ (I - Ã) F) + 1 / 2 |F - F⁰|²`.
//!
//! `Y = γ F⁰ + (1 - γ) Ã F`, `Z ← clip(Z + β Δ (Y - γ Δᵀ Z))`, `F ← Y - γ Δᵀ Z` with
//! `γ = 1 / (1 + λ2)` and `β = 1 / (2 γ)`. Δ takes differences over edges of rows scaled by
//! `1 / √d`, and clip leaves every edge's row of Z at most as long as λ1 (the paper's ℓ21 form): a
//! few large differences are allowed, as between classes. λ1 and λ2 are equal. An edge's weight
//! multiplies its term, so that one of weight zero is none; degrees count a loop.

use gnarl_graph::random::Rng;

use crate::nn::body::Body;
use crate::nn::edges::{Edges, TINY};
use crate::nn::entry::{Entry, Level, NetworkOption, Plan, UsualOperator};
use crate::nn::layer::Propagation;
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{ParamId, Params, Pass};
use crate::tensor::{Result, Tensor, scatter_rows};

use NetworkOption::{Dropout, Hidden, InputDropout, OrthogonalStart, PropagationSteps};

pub(in crate::nn) const ENTRY: Entry = Entry {
    usual_operator: UsualOperator::ADJACENCY,
    level: Some(Level {
        usual: 3.0,
        least: 1e-6,
        most: f64::INFINITY,
    }),
    ..Entry::new(
        "elastic-gnn",
        "predict, then smooth but for a few sharp edges (elastic message passing)",
        build,
        &[
            Hidden,
            Dropout,
            InputDropout,
            PropagationSteps,
            OrthogonalStart,
            NetworkOption::Level,
        ],
    )
};

#[derive(Debug)]
struct Elastic {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    lambda: f64,
}

fn build(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    Ok(Box::new(Elastic {
        first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
        second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
        dropout: plan.dropout,
        steps: plan.propagation_steps,
        lambda: plan.level,
    }))
}

impl Elastic {
    /// Rows at most as long as λ1.
    fn clipped(&self, z: &Tensor) -> Result<Tensor> {
        let length = (z.sqr()?.sum_keepdim(1)? + TINY)?.sqrt()?;
        // λ / max(length, λ)
        let share = (((length - self.lambda)?.relu()? + self.lambda)?.recip()? * self.lambda)?;
        z.broadcast_mul(&share)
    }
}

impl Body for Elastic {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h = self
            .first
            .forward_activated(x, pass, pass.dropout(self.dropout, 0))?;
        let own = self.second.forward(&Input::Dense(h), pass)?;
        let edges = Edges::of(&propagation.operator)?;
        let scale = (edges.sums(&edges.sizes)? + 1.0)?.powf(-0.5)?;
        let weights = edges.weights.reshape((edges.weights.elem_count(), 1))?;
        let pattern = propagation.operator.pattern();
        let gamma = 1.0 / (1.0 + self.lambda);
        let beta = 1.0 / (2.0 * gamma);
        let by_edges =
            |z: &Tensor| scatter_rows(pattern, &z.broadcast_mul(&weights)?)?.broadcast_mul(&scale);
        let kept = (&own * gamma)?;
        let mut f = own;
        let mut z: Option<Tensor> = None;
        for _ in 0..self.steps {
            let scaled = f.broadcast_mul(&scale)?;
            let smooth = (propagation.operator.apply(&scaled)? + &scaled)?.broadcast_mul(&scale)?;
            let y = ((smooth * (1.0 - gamma))? + &kept)?;
            let ahead = match &z {
                Some(z) => (&y - (by_edges(z)? * gamma)?)?,
                None => y.clone(),
            };
            let ahead = ahead.broadcast_mul(&scale)?;
            // Both arcs of an edge have a row, one the negative of the other: a node's rows are all
            // that pulls at it.
            let apart = ((edges.by_row(&ahead)? - edges.by_col(&ahead)?)? * beta)?;
            let next = self.clipped(&match &z {
                Some(z) => (z + apart)?,
                None => apart,
            })?;
            f = (&y - (by_edges(&next)? * gamma)?)?;
            z = Some(next);
        }
        Ok(f)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.first.weight]
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
