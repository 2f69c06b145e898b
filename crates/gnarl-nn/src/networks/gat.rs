//! GAT ([Veličković et al. 2018](https://arxiv.org/abs/1710.10903)): each node weights its
//! neighbours by `softmax_j LeakyReLU(s_i + t_j)`.
//!
//! The operator gives the pattern (A + I) and scales the attention coefficients. With A_hat's
//! pattern and value one this is the paper's layer.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::bodies::stack;
use super::body::{ATTENTION_SITES, Body};
use super::config::NetworkSetting as S;
use super::entry::{Architecture, Capability, DefaultOperator, Entry, Layered, Place, Plan};
use super::init::Init;
use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Operator, Result, Tensor, additive_scores, dropout, segment_softmax};

/// Graph attention network (Veličković et al. 2018,
/// [arXiv:1710.10903](https://arxiv.org/abs/1710.10903)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "gat", constant, about = "graph attention")]
pub struct Gat {
    /// Attention heads of hidden layers.
    #[setting(default = 8, range = 1..=10_000)]
    pub heads: usize,
    /// Dropout of attention coefficients.
    #[setting(default = 0.0, range = 0.0..1.0)]
    pub attention_dropout: f64,
}

impl Architecture for Gat {
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

impl Layered for Gat {
    fn layer(
        &self,
        _plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        let settings = AttentionSettings::at((self.heads, self.attention_dropout), at);
        Ok(Box::new(GatConv::new(
            params,
            at.name,
            at.from,
            at.to / settings.heads,
            settings,
            rng,
        )?))
    }
}

/// Settings that GAT and GATv2 share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionSettings {
    /// Number of attention heads.
    pub heads: usize,
    /// True to concatenate the heads (`out_dim = heads · dim`), false for their mean
    /// (`out_dim = dim`).
    pub concat: bool,
    /// Slope of LeakyReLU below zero; 0.2 in both papers.
    pub negative_slope: f32,
    /// Dropout probability of attention coefficients.
    pub dropout: f32,
    /// Random site, which separates this layer's random samples from those of others.
    pub site: u64,
}

impl AttentionSettings {
    /// Returns settings with concatenated heads; the layer that gives class scores has one.
    pub(super) fn at((heads, dropout): (usize, f64), at: Place<'_>) -> Self {
        Self {
            heads: if at.is_last { 1 } else { heads },
            concat: !at.is_last,
            negative_slope: 0.2,
            dropout: dropout as f32,
            site: ATTENTION_SITES + at.site,
        }
    }

    /// Combines the heads of `[nodes, heads · dim]` and adds the bias.
    pub(super) fn combine(&self, y: &Tensor, bias: &Tensor) -> Result<Tensor> {
        if self.concat {
            return gnarl_tensor::add_bias(y, bias);
        }
        let (nodes, width) = y.dims2()?;
        let mean = y
            .reshape((nodes, self.heads, width / self.heads))?
            .mean(1)?;
        gnarl_tensor::add_bias(&mean, bias)
    }

    /// Computes attention coefficients from scores, scaled by the operator's values unless they are
    /// all one.
    pub(super) fn attend(
        &self,
        operator: &Operator,
        scores: &Tensor,
        pass: &Pass<'_>,
    ) -> Result<Operator> {
        let coefficients = segment_softmax(operator.pattern(), scores)?;
        let coefficients = dropout(&coefficients, pass.dropout(self.dropout, self.site))?;
        if operator.is_pattern_only() {
            return operator.with_values(&coefficients);
        }
        let scale = operator.values()?.reshape((operator.num_entries(), 1))?;
        operator.with_values(&coefficients.broadcast_mul(&scale)?)
    }
}

/// One GAT layer.
#[derive(Debug)]
pub struct GatConv {
    linear: Linear,
    attend_row: ParamId,
    attend_col: ParamId,
    bias: ParamId,
    dim: usize,
    settings: AttentionSettings,
}

impl GatConv {
    /// Adds the parameters for `dim` values per head, with Glorot weights and zero bias.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        dim: usize,
        settings: AttentionSettings,
        rng: &mut Rng,
    ) -> Result<Self> {
        let width = settings.heads * dim;
        let linear = Linear::glorot(params, name, in_dim, width, false, rng)?;
        // Glorot on [1, heads, dim], as in the reference implementation.
        let init = Init::Uniform((6.0 / (settings.heads + dim) as f32).sqrt());
        let attend_col = params.add(
            format!("{name}.att_src"),
            &[settings.heads, dim],
            init,
            Group::Free,
            rng,
        )?;
        let attend_row = params.add(
            format!("{name}.att_dst"),
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
            linear,
            attend_row,
            attend_col,
            bias,
            dim,
            settings,
        })
    }

    /// Computes `Σ_f x[i, h, f] · a[h, f]`: `[nodes, heads]`, as a product with a block-diagonal
    /// matrix.
    fn head_scores(&self, x: &Tensor, attention: &Tensor) -> Result<Tensor> {
        let (nodes, _) = x.dims2()?;
        let x = x.reshape((nodes, self.settings.heads, self.dim))?;
        x.broadcast_mul(attention)?.sum(2)
    }
}

impl Layer for GatConv {
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let x = self.linear.forward(x, pass)?;
        let receivers = x.narrow(0, 0, operator.num_rows())?;
        let rows = self.head_scores(&receivers, pass.weight(self.attend_row))?;
        let cols = self.head_scores(&x, pass.weight(self.attend_col))?;
        let scores = additive_scores(
            operator.pattern(),
            &rows,
            &cols,
            self.settings.negative_slope,
        )?;
        let y = self.settings.attend(operator, &scores, pass)?.apply(&x)?;
        self.settings.combine(&y, pass.weight(self.bias))
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.linear.weight]
    }

    fn out_dim(&self) -> usize {
        if self.settings.concat {
            self.settings.heads * self.dim
        } else {
            self.dim
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::gatv2::GatV2Conv;
    use crate::networks::layer::classical;
    use crate::networks::testing::{assert_close, path, plant, predict, rng};
    use gnarl_graph::operator::ClassicalOperator;

    const SETTINGS: AttentionSettings = AttentionSettings {
        heads: 1,
        concat: true,
        negative_slope: 0.2,
        dropout: 0.0,
        site: 0,
    };
    const X: [f32; 3] = [1.0, 2.0, 4.0];

    #[test]
    fn by_hand() {
        let mut params = Params::default();
        let layer = GatConv::new(&mut params, "gat", 1, 1, SETTINGS, &mut rng()).unwrap();
        plant(&params, "gat.weight", &[1.0]);
        plant(&params, "gat.att_src", &[1.0]);
        plant(&params, "gat.att_dst", &[-3.0]);
        plant(&params, "gat.bias", &[0.5]);
        let a_hat = classical(&path(), ClassicalOperator::NORMALISED_ADJACENCY).unwrap();
        let pattern = Operator::from_pattern(a_hat.pattern().clone());
        // Scores x_j - 3 x_i are all negative, so the slope matters; e.g. node 0 scores itself -2
        // and node 1 -1.
        let node = |i: f32, js: &[f32]| {
            let parts: Vec<f32> = js.iter().map(|j| (0.2 * (j - 3.0 * i)).exp()).collect();
            parts.iter().zip(js).map(|(p, j)| p * j).sum::<f32>() / parts.iter().sum::<f32>() + 0.5
        };
        let expected = [
            node(1.0, &[1.0, 2.0]),
            node(2.0, &[1.0, 2.0, 4.0]),
            node(4.0, &[2.0, 4.0]),
        ];
        assert_close(
            &predict(&layer, &pattern, &params, &X),
            &expected,
            1e-6,
            "softmax of scores",
        );
    }

    /// Without attention vectors every coefficient is one over the number of neighbours, and the
    /// operator's value scales it.
    #[test]
    fn an_operator_rescales_coefficients() {
        let a_hat = classical(&path(), ClassicalOperator::NORMALISED_ADJACENCY).unwrap();
        let pattern = Operator::from_pattern(a_hat.pattern().clone());
        let (mut gat_params, mut v2_params) = (Params::default(), Params::default());
        let gat = GatConv::new(&mut gat_params, "gat", 1, 1, SETTINGS, &mut rng()).unwrap();
        plant(&gat_params, "gat.weight", &[1.0]);
        plant(&gat_params, "gat.att_src", &[0.0]);
        plant(&gat_params, "gat.att_dst", &[0.0]);
        let v2 = GatV2Conv::new(&mut v2_params, "gat", 1, 1, SETTINGS, &mut rng()).unwrap();
        plant(&v2_params, "gat.left.weight", &[1.0]);
        plant(&v2_params, "gat.att", &[0.0]);
        let off_diagonal = 1.0 / 6f32.sqrt();
        let scaled = [
            (0.5 + 2.0 * off_diagonal) / 2.0,
            (5.0 * off_diagonal + 2.0 / 3.0) / 3.0,
            (2.0 * off_diagonal + 2.0) / 2.0,
        ];
        for (layer, params) in [(&gat as &dyn Layer, &gat_params), (&v2, &v2_params)] {
            assert_close(
                &predict(layer, &pattern, params, &X),
                &[1.5, 7.0 / 3.0, 3.0],
                1e-6,
                "pattern",
            );
            assert_close(&predict(layer, &a_hat, params, &X), &scaled, 1e-6, "A_hat");
        }
    }
}
