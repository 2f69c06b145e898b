//! GATv2 (Brody et al. 2022): attention `softmax_j aᵀ LeakyReLU(W_r x_i + W_l x_j)`, so that the
//! ranking of neighbours may differ from node to node. The operator gives the pattern (A + I) and
//! scales the coefficients.

use gnarl_graph::random::Rng;

use super::bodies::stack;
use super::entry::{Entry, Place, Plan, UsualOperator};
use super::gat::{AttentionSettings, OPTIONS};
use super::init::Init;
use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{Group, ParamId, Params, Pass};
use crate::tensor::{Operator, Result, Tensor, gatv2_scores};

pub(super) const ENTRY: Entry = Entry {
    sampled: true,
    usual_operator: UsualOperator::SelfLoopPattern,
    exits: true,
    ..stack::entry(
        "gatv2",
        "graph attention whose ranking of neighbours may differ from node to node",
        layer,
        OPTIONS,
    )
};

fn layer(plan: &Plan, at: Place<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Layer>> {
    let settings = AttentionSettings::at(plan, at);
    Ok(Box::new(GatV2::new(
        params,
        at.name,
        at.from,
        at.to / settings.heads,
        settings,
        rng,
    )?))
}

/// One GATv2 layer.
#[derive(Debug)]
pub struct GatV2 {
    left: Linear,
    right: Linear,
    attention: ParamId,
    bias: ParamId,
    dim: usize,
    settings: AttentionSettings,
}

impl GatV2 {
    /// `dim` values per head; Glorot weights, zero biases.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        dim: usize,
        settings: AttentionSettings,
        rng: &mut Rng,
    ) -> Result<Self> {
        let width = settings.heads * dim;
        let left = Linear::glorot(params, &format!("{name}.left"), in_dim, width, true, rng)?;
        let right = Linear::glorot(params, &format!("{name}.right"), in_dim, width, true, rng)?;
        let init = Init::Uniform((6.0 / (settings.heads + dim) as f32).sqrt());
        let attention = params.add(
            format!("{name}.att"),
            &[settings.heads, dim],
            init,
            Group::Free,
            rng,
        )?;
        let out = if settings.concat { width } else { dim };
        let bias = params.add(
            format!("{name}.bias"),
            &[out],
            Init::Constant(0.0),
            Group::Bias,
            rng,
        )?;
        Ok(Self {
            left,
            right,
            attention,
            bias,
            dim,
            settings,
        })
    }
}

impl Layer for GatV2 {
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let left = self.left.forward(x, pass)?;
        let right = self.right.forward(&x.head(operator.num_rows())?, pass)?;
        let attention = pass.weight(self.attention);
        let scores = gatv2_scores(
            operator.pattern(),
            &right,
            &left,
            attention,
            self.settings.negative_slope,
        )?;
        let y = self
            .settings
            .attend(operator, &scores, pass)?
            .apply(&left)?;
        self.settings.combine(&y, pass.weight(self.bias))
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.left.weight, self.right.weight]
    }

    fn out_dim(&self) -> usize {
        if self.settings.concat {
            self.settings.heads * self.dim
        } else {
            self.dim
        }
    }
}
