//! H2GCN (Zhu et al. 2020): an embedding, rounds over one and two hops, everything side by side,
//! then a linear map.

use gnarl_graph::random::Rng;

use crate::nn::body::Body;
use crate::nn::entry::{Entry, NetworkOption, Plan, UsualOperator};
use crate::nn::layer::Propagation;
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{ParamId, Params, Pass};
use crate::tensor::{Result, Tensor, dropout, relu};

use NetworkOption::{Dropout, Hidden, InputDropout, Layers, OrthogonalStart};

pub(in crate::nn) const ENTRY: Entry = Entry {
    usual_operator: UsualOperator::SymmetricNormalised,
    has_head: true,
    ..Entry::new(
        "h2gcn",
        "rounds over one and two hops, kept side by side, for heterophilous graphs",
        build,
        &[Hidden, Layers, Dropout, InputDropout, OrthogonalStart],
    )
};

#[derive(Debug)]
struct H2gcn {
    embed: Linear,
    classify: Linear,
    rounds: usize,
    dropout: f32,
}

fn build(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    let (hidden, rounds) = (plan.hidden, plan.layers);
    let width = hidden * ((1usize << (rounds + 1)) - 1);
    Ok(Box::new(H2gcn {
        embed: Linear::glorot(params, "embed", plan.in_dim, hidden, false, rng)?,
        classify: Linear::glorot(params, "classify", width, plan.num_classes, false, rng)?
            .free(params),
        rounds,
        dropout: plan.dropout,
    }))
}

impl Body for H2gcn {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.classify
            .forward(&self.latent(propagation, x, pass)?, pass)
    }

    fn head(&self) -> Option<&Linear> {
        Some(&self.classify)
    }

    fn latent(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        let Some(two_hop) = &propagation.two_hop else {
            crate::tensor::bail!("h2gcn needs the two-hop operator")
        };
        let mut last = relu(&self.embed.forward(x, pass)?)?;
        let mut all = vec![last.clone()];
        for _ in 0..self.rounds {
            last = Tensor::cat(
                &[propagation.operator.apply(&last)?, two_hop.apply(&last)?],
                1,
            )?;
            all.push(last.clone());
        }
        Ok(Input::Dense(dropout(
            &Tensor::cat(&all, 1)?,
            pass.dropout(self.dropout, 0),
        )?))
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.embed.weight]
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
