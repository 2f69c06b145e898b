//! GIN ([Xu et al. 2019](https://arxiv.org/abs/1810.00826)): `MLP((1 + ε) x_i + Σ_j x_j)`, with the
//! sum through any operator (A by default).
//!
//! The sum runs over the neighbours without the node itself, as in the paper: a node counts once,
//! by the factor 1 + ε.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::batch_norm::BatchNorm;
use super::bodies::stack;
use super::body::Body;
use super::config::NetworkSetting as S;
use super::entry::{
    Architecture, Capability, DefaultOperator, Entry, FirstAggregation, Layered, Place, Plan,
};
use super::init::Init;
use super::layer::{Layer, propagate_activated};
use super::linear::{Input, Linear};
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Dropout, Operator, Result, Tensor, relu_dropout};

/// Graph isomorphism network (Xu et al. 2019,
/// [arXiv:1810.00826](https://arxiv.org/abs/1810.00826)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gin",
    constant,
    about = "graph isomorphism network: a perceptron of the sum over neighbours"
)]
pub struct Gin {
    /// Batch normalisation inside the perceptrons.
    #[setting(default = false)]
    pub batch_norm: bool,
}

impl Architecture for Gin {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            first_aggregation: FirstAggregation::OperatorWithSelf,
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

    fn batch_norm(&self) -> bool {
        self.batch_norm
    }
}

impl Layered for Gin {
    fn layer(
        &self,
        plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        let settings = GinSettings {
            train_epsilon: false,
            batch_norm: self.batch_norm,
            bias: plan.bias,
        };
        Ok(Box::new(GinConv::new(
            params,
            at.name,
            at.from,
            plan.hidden,
            at.to,
            settings,
            rng,
        )?))
    }
}

/// Settings of a GIN layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GinSettings {
    /// True to train ε; its initial value is zero in both cases.
    pub train_epsilon: bool,
    /// True for batch normalisation between the two linear maps.
    pub batch_norm: bool,
    /// True if the linear maps have a bias.
    pub bias: bool,
}

impl Default for GinSettings {
    fn default() -> Self {
        Self {
            train_epsilon: false,
            batch_norm: false,
            bias: true,
        }
    }
}

/// GIN layer with a two-layer perceptron.
#[derive(Debug)]
pub struct GinConv {
    first: Linear,
    norm: Option<BatchNorm>,
    second: Linear,
    epsilon: Option<ParamId>,
}

impl GinConv {
    /// Adds the layer `in_dim → hidden → out_dim`, initialised as PyTorch's linear layers.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        hidden: usize,
        out_dim: usize,
        settings: GinSettings,
        rng: &mut Rng,
    ) -> Result<Self> {
        let first = Linear::kaiming(
            params,
            &format!("{name}.mlp.0"),
            in_dim,
            hidden,
            settings.bias,
            rng,
        )?;
        let norm = settings
            .batch_norm
            .then(|| BatchNorm::new(params, &format!("{name}.norm"), hidden, rng))
            .transpose()?;
        let second = Linear::kaiming(
            params,
            &format!("{name}.mlp.1"),
            hidden,
            out_dim,
            settings.bias,
            rng,
        )?;
        let epsilon = settings
            .train_epsilon
            .then(|| {
                params.add(
                    format!("{name}.eps"),
                    &[1],
                    Init::Constant(0.0),
                    Group::Scalar,
                    rng,
                )
            })
            .transpose()?;
        Ok(Self {
            first,
            norm,
            second,
            epsilon,
        })
    }
}

impl GinConv {
    /// Computes the hidden representation between the two linear maps. The first map is applied
    /// before the sum: both commute, and the map often makes the vectors narrower.
    fn hidden(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        let (weight, bias) = (
            pass.weight(self.first.weight),
            self.first.bias.map(|b| pass.weight(b)),
        );
        if let (None, None, Some(with_self_loops), Some(bias)) =
            (self.epsilon, &self.norm, operator.with_self_loops(), bias)
        {
            return propagate_activated(&with_self_loops, x, weight, bias, Dropout::NONE)
                .map(Input::Dense);
        }
        let mapped = x.matmul(weight, None)?;
        let aggregated = operator.apply_with_bias(&mapped, bias)?;
        let own = mapped.narrow(0, 0, operator.num_rows())?;
        let own = match self.epsilon {
            Some(epsilon) => own.broadcast_mul(&(pass.weight(epsilon) + 1.0)?)?,
            None => own,
        };
        let mut h = (aggregated + own)?;
        if let Some(norm) = &self.norm {
            h = norm.forward(&h, pass)?;
        }
        relu_dropout(&h, Dropout::NONE).map(Input::Dense)
    }
}

impl Layer for GinConv {
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.second.forward(&self.hidden(operator, x, pass)?, pass)
    }

    fn forward_activated(
        &self,
        operator: &Operator,
        x: &Input,
        pass: &Pass<'_>,
        dropout: Dropout,
    ) -> Result<Tensor> {
        self.second
            .forward_activated(&self.hidden(operator, x, pass)?, pass, dropout)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.first.weight]
    }

    fn last_map(&self) -> Option<&Linear> {
        Some(&self.second)
    }

    fn before_last_map(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        self.hidden(operator, x, pass)
    }

    fn out_dim(&self) -> usize {
        self.second.out_dim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::testing::{adjacency, assert_close, path, plant, predict, rng};

    /// The perceptron of the tests below maps `s` to `s + 10 · max(5 - s, 0) + 0.5`, for s above 0.
    fn planted(settings: GinSettings) -> (Params, GinConv) {
        let mut params = Params::default();
        let layer = GinConv::new(&mut params, "gin", 1, 2, 1, settings, &mut rng()).unwrap();
        plant(&params, "gin.mlp.0.weight", &[1.0, -1.0]);
        plant(&params, "gin.mlp.0.bias", &[0.0, 5.0]);
        plant(&params, "gin.mlp.1.weight", &[1.0, 10.0]);
        plant(&params, "gin.mlp.1.bias", &[0.5]);
        (params, layer)
    }

    #[test]
    fn by_hand() {
        let x = [1.0, 2.0, 4.0];
        // Own value plus neighbours: 3, 7, 6.
        let (params, layer) = planted(GinSettings::default());
        assert_close(
            &predict(&layer, &adjacency(&path()), &params, &x),
            &[23.5, 7.5, 6.5],
            1e-6,
            "ε = 0",
        );
        // Twice the own value plus neighbours: 4, 9, 10.
        let (params, layer) = planted(GinSettings {
            train_epsilon: true,
            ..GinSettings::default()
        });
        plant(&params, "gin.eps", &[1.0]);
        assert_close(
            &predict(&layer, &adjacency(&path()), &params, &x),
            &[14.5, 9.5, 10.5],
            1e-6,
            "ε = 1",
        );
    }

    #[test]
    fn batch_norm_comes_before_the_relu() {
        let (params, layer) = planted(GinSettings {
            batch_norm: true,
            ..GinSettings::default()
        });
        // Statistics 0 and 1 - 1e-5 keep 3, 7, 6 and 2, -2, -1; the shift adds 2 to the second
        // group.
        plant(&params, "gin.norm.variance", &[1.0 - 1e-5; 2]);
        plant(&params, "gin.norm.shift", &[0.0, 2.0]);
        let y = predict(&layer, &adjacency(&path()), &params, &[1.0, 2.0, 4.0]);
        assert_close(&y, &[43.5, 7.5, 16.5], 1e-6, "normalised");
    }
}
