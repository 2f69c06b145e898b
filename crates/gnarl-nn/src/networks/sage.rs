//! GraphSAGE ([Hamilton et al. 2017](https://arxiv.org/abs/1706.02216)):
//! `x_i W_self + b + (Φ x)_i W_neigh`, with Φ the mean H by default.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::bodies::stack;
use super::body::Body;
use super::config::NetworkSetting as S;
use super::entry::{Architecture, Capability, DefaultOperator, Entry, Layered, Place, Plan};
use super::layer::{Layer, propagate_linear};
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use gnarl_tensor::{Operator, Result, Tensor};

/// GraphSAGE with mean aggregation (Hamilton et al. 2017,
/// [arXiv:1706.02216](https://arxiv.org/abs/1706.02216)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "sage", constant, about = "GraphSAGE with mean aggregation")]
pub struct Sage {}

impl Architecture for Sage {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::MEAN,
            ..stack::entry(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::Head,
                S::OrthogonalStart,
                S::Noise,
            ])
            .with(&[Capability::Exits, Capability::SampledTraining])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        stack::build(self, plan, params, rng)
    }

    fn layered(&self) -> Option<&dyn Layered> {
        Some(self)
    }
}

impl Layered for Sage {
    fn layer(
        &self,
        _plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        Ok(Box::new(SageConv::new(
            params, at.name, at.from, at.to, rng,
        )?))
    }
}

/// GraphSAGE layer.
#[derive(Debug)]
pub struct SageConv {
    neighbours: Linear,
    own: Linear,
}

impl SageConv {
    /// Adds the layer, initialised as PyTorch's linear layers; the bias belongs to the neighbours'
    /// map, as in PyTorch Geometric.
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

impl Layer for SageConv {
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
    use crate::networks::layer::classical;
    use crate::networks::testing::{assert_close, path, plant, predict, rng};
    use gnarl_graph::operator::ClassicalOperator;

    #[test]
    fn by_hand() {
        let mut params = Params::default();
        let layer = SageConv::new(&mut params, "sage", 1, 1, &mut rng()).unwrap();
        plant(&params, "sage.neighbours.weight", &[10.0]);
        plant(&params, "sage.neighbours.bias", &[0.5]);
        plant(&params, "sage.own.weight", &[1.0]);
        let mean = classical(&path(), ClassicalOperator::MEAN_AGGREGATION).unwrap();
        // The neighbours' means are 2, 3, 2.
        assert_close(
            &predict(&layer, &mean, &params, &[1.0, 2.0, 5.0]),
            &[21.5, 32.5, 25.5],
            1e-6,
            "mean",
        );
    }
}
