//! GATv2 ([Brody et al. 2022](https://arxiv.org/abs/2105.14491)): attention
//! `softmax_j aᵀ LeakyReLU(W_r x_i + W_l x_j)`, so that the ranking of neighbours may differ from
//! node to node. The operator gives the pattern (A + I) and scales the coefficients.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::bodies::stack;
use super::body::Body;
use super::config::NetworkSetting as S;
use super::entry::{Architecture, Capability, DefaultOperator, Entry, Layered, Place, Plan};
use super::gat::AttentionSettings;
use super::init::Init;
use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Operator, Result, Tensor, gatv2_scores};

/// Graph attention with dynamic ranking (Brody et al. 2022,
/// [arXiv:2105.14491](https://arxiv.org/abs/2105.14491)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gatv2",
    constant,
    about = "graph attention with dynamic ranking of neighbours"
)]
pub struct GatV2 {
    /// Attention heads of hidden layers.
    #[setting(default = 8, range = 1..=10_000)]
    pub heads: usize,
    /// Dropout of attention coefficients.
    #[setting(default = 0.0, range = 0.0..1.0)]
    pub attention_dropout: f64,
}

impl Architecture for GatV2 {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::SelfLoopPattern,
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

    fn heads(&self) -> usize {
        self.heads
    }
}

impl Layered for GatV2 {
    fn layer(
        &self,
        _plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        let settings = AttentionSettings::at((self.heads, self.attention_dropout), at);
        Ok(Box::new(GatV2Conv::new(
            params,
            at.name,
            at.from,
            at.to / settings.heads,
            settings,
            rng,
        )?))
    }
}

/// One GATv2 layer.
#[derive(Debug)]
pub struct GatV2Conv {
    left: Linear,
    right: Linear,
    attention: ParamId,
    bias: ParamId,
    dim: usize,
    settings: AttentionSettings,
}

impl GatV2Conv {
    /// Adds the parameters for `dim` values per head, with Glorot weights and zero biases.
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

impl Layer for GatV2Conv {
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
