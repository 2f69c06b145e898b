//! GCN (Kipf and Welling 2017): `Φ X W + b`, with Φ = A_hat unless another operator is given.

use gnarl_graph::random::Rng;

use super::bodies::stack;
use super::entry::{Entry, FirstAggregation, NetworkOption, Place, Plan};
use super::layer::{Layer, propagate_activated, propagate_linear};
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use crate::tensor::{Dropout, Operator, Result, Tensor, relu_dropout};

use NetworkOption::{
    Bias, Dropout as DropoutRate, Head, Hidden, InputDropout, Layers, Noise, OrthogonalStart,
};

pub(super) const ENTRY: Entry = Entry {
    sampled: true,
    applies_alone: true,
    exits: true,
    last_map: true,
    first_aggregation: FirstAggregation::Operator,
    ..stack::entry(
        "gcn",
        "graph convolutions",
        layer,
        &[
            Hidden,
            Layers,
            DropoutRate,
            InputDropout,
            Bias,
            Head,
            OrthogonalStart,
            Noise,
        ],
    )
};

fn layer(plan: &Plan, at: Place<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Layer>> {
    Ok(Box::new(Gcn::with_bias(
        params, at.name, at.from, at.to, plan.bias, rng,
    )?))
}

/// One graph convolution.
#[derive(Debug)]
pub struct Gcn {
    /// The linear map; its bias is added after the operator.
    pub linear: Linear,
}

impl Gcn {
    /// Glorot weights, zero bias.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        Self::with_bias(params, name, in_dim, out_dim, true, rng)
    }

    /// The same, with a bias or without.
    pub fn with_bias(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        bias: bool,
        rng: &mut Rng,
    ) -> Result<Self> {
        Ok(Self {
            linear: Linear::glorot(params, name, in_dim, out_dim, bias, rng)?,
        })
    }
}

impl Layer for Gcn {
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let bias = self.linear.bias.map(|b| pass.weight(b));
        propagate_linear(operator, x, pass.weight(self.linear.weight), bias)
    }

    fn forward_activated(
        &self,
        operator: &Operator,
        x: &Input,
        pass: &Pass<'_>,
        dropout: Dropout,
    ) -> Result<Tensor> {
        match self.linear.bias {
            Some(bias) => propagate_activated(
                operator,
                x,
                pass.weight(self.linear.weight),
                pass.weight(bias),
                dropout,
            ),
            None => relu_dropout(&self.forward(operator, x, pass)?, dropout),
        }
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.linear.weight]
    }

    fn last_map(&self) -> Option<&Linear> {
        Some(&self.linear)
    }

    /// `Φ X`: the operator and the map commute.
    fn before_last_map(&self, operator: &Operator, x: &Input, _pass: &Pass<'_>) -> Result<Input> {
        operator.apply(&x.to_dense()?).map(Input::Dense)
    }

    fn out_dim(&self) -> usize {
        self.linear.out_dim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::layer::classical;
    use crate::nn::testing::{adjacency, assert_close, path, plant, predict, rng};
    use gnarl_graph::operator::ClassicalOperator;

    #[test]
    fn by_hand() {
        let mut params = Params::default();
        let layer = Gcn::new(&mut params, "gcn", 1, 1, &mut rng()).unwrap();
        plant(&params, "gcn.weight", &[2.0]);
        plant(&params, "gcn.bias", &[1.0]);
        // With self-loops the degrees are 2, 3, 2: A_hat is 1/2, 1/3, 1/2 on the diagonal and 1/√6
        // beside it.
        let a_hat = classical(&path(), ClassicalOperator::NormalisedAdjacency).unwrap();
        let beside = 1.0 / 6f32.sqrt();
        let aggregated = [
            0.5 + 2.0 * beside,
            beside + 2.0 / 3.0 + 4.0 * beside,
            2.0 * beside + 2.0,
        ];
        assert_close(
            &predict(&layer, &a_hat, &params, &[1.0, 2.0, 4.0]),
            &aggregated.map(|h| 2.0 * h + 1.0),
            1e-6,
            "A_hat",
        );
        let by_sum = predict(&layer, &adjacency(&path()), &params, &[1.0, 2.0, 4.0]);
        assert_close(&by_sum, &[5.0, 11.0, 5.0], 1e-6, "another operator");
    }
}
