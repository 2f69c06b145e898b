//! GraphSAGE (Hamilton et al. 2017): `x_i W_self + b + (Φ x)_i W_neigh`, with Φ the mean H unless
//! another is given.

use gnarl_graph::random::Rng;

use super::bodies::stack;
use super::entry::{Entry, NetworkOption, Place, Plan, UsualOperator};
use super::layer::{Layer, propagate_linear};
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use crate::tensor::{Operator, Result, Tensor};

use NetworkOption::{Dropout, Head, Hidden, InputDropout, Layers, Noise, OrthogonalStart};

pub(super) const ENTRY: Entry = Entry {
    sampled: true,
    usual_operator: UsualOperator::MEAN,
    exits: true,
    ..stack::entry(
        "sage",
        "GraphSAGE: a node's own representation beside the mean of its neighbours'",
        layer,
        &[
            Hidden,
            Layers,
            Dropout,
            InputDropout,
            Head,
            OrthogonalStart,
            Noise,
        ],
    )
};

fn layer(
    _plan: &Plan,
    at: Place<'_>,
    params: &mut Params,
    rng: &mut Rng,
) -> Result<Box<dyn Layer>> {
    Ok(Box::new(Sage::new(params, at.name, at.from, at.to, rng)?))
}

/// One GraphSAGE layer.
#[derive(Debug)]
pub struct Sage {
    neighbours: Linear,
    own: Linear,
}

impl Sage {
    /// Started as PyTorch starts linear layers; the bias belongs to the neighbours' map, as in
    /// PyTorch Geometric.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        let neighbours = Linear::kaiming(
            params,
            &format!("{name}.neighbours"),
            in_dim,
            out_dim,
            true,
            rng,
        )?;
        let own = Linear::kaiming(params, &format!("{name}.own"), in_dim, out_dim, false, rng)?;
        Ok(Self { neighbours, own })
    }
}

impl Layer for Sage {
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let bias = self.neighbours.bias.map(|b| pass.weight(b));
        let aggregated = propagate_linear(operator, x, pass.weight(self.neighbours.weight), bias)?;
        aggregated + self.own.forward(&x.head(operator.num_rows())?, pass)?
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.neighbours.weight, self.own.weight]
    }

    fn out_dim(&self) -> usize {
        self.own.out_dim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::layer::classical;
    use crate::nn::testing::{assert_close, path, plant, predict, rng};
    use gnarl_graph::operator::ClassicalOperator;

    #[test]
    fn by_hand() {
        let mut params = Params::default();
        let layer = Sage::new(&mut params, "sage", 1, 1, &mut rng()).unwrap();
        plant(&params, "sage.neighbours.weight", &[10.0]);
        plant(&params, "sage.neighbours.bias", &[0.5]);
        plant(&params, "sage.own.weight", &[1.0]);
        let mean = classical(&path(), ClassicalOperator::MeanAggregation).unwrap();
        // The neighbours' means are 2, 3, 2.
        assert_close(
            &predict(&layer, &mean, &params, &[1.0, 2.0, 5.0]),
            &[21.5, 32.5, 25.5],
            1e-6,
            "mean",
        );
    }
}
