//! GCN ([Kipf and Welling 2017](https://arxiv.org/abs/1609.02907)): `Φ X W + b`, with Φ = A_hat by
//! default.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::bodies::stack;
use super::body::Body;
use super::config::NetworkSetting as S;
use super::entry::{Architecture, Capability, Entry, FirstAggregation, Layered, Place, Plan};
use super::layer::{Layer, propagate_activated, propagate_linear};
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use gnarl_tensor::{Dropout, Operator, Result, Tensor, relu_dropout};

/// Graph convolutional network (Kipf and Welling 2017,
/// [arXiv:1609.02907](https://arxiv.org/abs/1609.02907)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "gcn", constant, about = "graph convolutions")]
pub struct Gcn {}

impl Architecture for Gcn {
    fn entry(&self) -> Entry {
        Entry {
            first_aggregation: FirstAggregation::Operator,
            ..stack::entry(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::Bias,
                S::Head,
                S::OrthogonalStart,
                S::Noise,
            ])
            .with(&[
                Capability::Exits,
                Capability::SampledTraining,
                Capability::OperatorFree,
                Capability::LastMap,
            ])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        stack::build(self, plan, params, rng)
    }

    fn layered(&self) -> Option<&dyn Layered> {
        Some(self)
    }
}

impl Layered for Gcn {
    fn layer(
        &self,
        plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        Ok(Box::new(GcnConv::with_bias(
            params, at.name, at.from, at.to, plan.bias, rng,
        )?))
    }
}

/// One graph convolution.
#[derive(Debug)]
pub struct GcnConv {
    /// Linear map; its bias is added after the operator.
    pub linear: Linear,
}

impl GcnConv {
    /// Adds the layer with Glorot weights and zero bias.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        Self::with_bias(params, name, in_dim, out_dim, true, rng)
    }

    /// Adds the layer with or without a bias.
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

impl Layer for GcnConv {
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

    /// Computes `Φ X`: the operator and the map commute.
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
    use crate::networks::layer::classical;
    use crate::networks::testing::{adjacency, assert_close, path, plant, predict, rng};
    use gnarl_graph::operator::ClassicalOperator;

    #[test]
    fn by_hand() {
        let mut params = Params::default();
        let layer = GcnConv::new(&mut params, "gcn", 1, 1, &mut rng()).unwrap();
        plant(&params, "gcn.weight", &[2.0]);
        plant(&params, "gcn.bias", &[1.0]);
        // With self-loops the degrees are 2, 3, 2: A_hat is 1/2, 1/3, 1/2 on the diagonal and 1/√6
        // off it.
        let a_hat = classical(&path(), ClassicalOperator::NORMALISED_ADJACENCY).unwrap();
        let off_diagonal = 1.0 / 6f32.sqrt();
        let aggregated = [
            0.5 + 2.0 * off_diagonal,
            off_diagonal + 2.0 / 3.0 + 4.0 * off_diagonal,
            2.0 * off_diagonal + 2.0,
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
