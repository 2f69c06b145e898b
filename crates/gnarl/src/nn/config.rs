//! [`NetworkConfig`]: everything that a user may set about a network.

use serde::{Deserialize, Serialize};

use super::backbone::Backbone;
use super::entry::{Level, NetworkOption, Plan};
use super::layer::OperatorScalar;
use crate::weights::WeightsChoice;

/// Everything that fixes a network's shape but the data it is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// The kind of network.
    pub backbone: Backbone,
    /// Width of hidden representations (per head, for attention with several heads side by side:
    /// the total).
    pub hidden: usize,
    /// Rounds of message passing.
    pub layers: usize,
    /// Dropout between layers.
    pub dropout: f32,
    /// Dropout of the input features.
    pub input_dropout: f32,
    /// Attention heads of hidden layers.
    pub heads: usize,
    /// Dropout of attention coefficients.
    pub attention_dropout: f32,
    /// Batch normalisation inside GIN's perceptrons.
    pub batch_norm: bool,
    /// APPNP: steps of propagation.
    pub appnp_steps: usize,
    /// APPNP: the teleport probability, the share of the prediction kept at each step.
    pub appnp_alpha: f64,
    /// Whether the layers of GCN and GIN add an offset.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub bias: bool,
    /// Whether a stack of layers ends in a linear map: all layers then have the hidden width.
    #[serde(default, skip_serializing_if = "is_no")]
    pub head: bool,
    /// Whether the maps that the weights axis works on start orthonormal.
    #[serde(default, skip_serializing_if = "is_no")]
    pub orthogonal_start: bool,
    /// Deviation of the Gaussian noise that hidden representations of a stack get while training
    /// (NoisyGNN).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub noise: f32,
    /// Whether scores are multiplied by a factor that their first spread sets
    /// ([`gain`](super::gain)).
    #[serde(default, skip_serializing_if = "is_no")]
    pub gain: bool,
    /// What is asked of the weights.
    #[serde(default, skip_serializing_if = "WeightsChoice::is_free")]
    pub weights: WeightsChoice,
    /// The number that a robust model's paper tunes; zero for others.
    #[serde(default, skip_serializing_if = "is_no_level")]
    pub level: f64,
}

fn yes() -> bool {
    true
}

fn is_yes(set: &bool) -> bool {
    *set
}

fn is_no(set: &bool) -> bool {
    !set
}

fn is_zero(noise: &f32) -> bool {
    *noise == 0.0
}

fn is_no_level(level: &f64) -> bool {
    *level == 0.0
}

impl NetworkConfig {
    /// Two layers of 64 with dropout 0.5, attention with eight heads; APPNP's ten steps and 0.1 are
    /// its paper's.
    pub fn new(backbone: Backbone) -> Self {
        Self {
            backbone,
            hidden: 64,
            layers: 2,
            dropout: 0.5,
            input_dropout: 0.0,
            heads: if backbone.takes(NetworkOption::Heads) {
                8
            } else {
                1
            },
            attention_dropout: 0.0,
            batch_norm: false,
            appnp_steps: 10,
            appnp_alpha: 0.1,
            bias: true,
            head: false,
            orthogonal_start: false,
            noise: 0.0,
            gain: false,
            weights: WeightsChoice::FREE,
            level: backbone.entry().level.map_or(0.0, |level| level.usual),
        }
    }

    /// Whether scores need a factor ([`gain`](super::gain)): bounded weights all the way, or one
    /// linear map of features.
    pub fn needs_gain(&self) -> bool {
        let bounded = !self.weights.is_free() || self.backbone.entry().one_map;
        bounded && !self.head && self.backbone.takes(NetworkOption::Gain)
    }

    /// Refuses what cannot be built, naming the setting and its range.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        let refuse = |what: String| Err(gnarl_graph::Error::argument("model", what));
        if self.hidden == 0 {
            return refuse("hidden must be at least 1".into());
        }
        let min_layers = self.backbone.min_layers();
        if self.layers < min_layers {
            return refuse(format!(
                "layers must be at least {min_layers} for {}",
                self.backbone
            ));
        }
        for (name, rate) in [
            ("dropout", self.dropout),
            ("input dropout", self.input_dropout),
            ("attention dropout", self.attention_dropout),
        ] {
            if !(0.0..1.0).contains(&rate) {
                return refuse(format!("{name} {rate} must be at least 0 and below 1"));
            }
        }
        if self.heads == 0 || !self.hidden.is_multiple_of(self.heads) {
            return refuse(format!(
                "{} heads must divide the hidden width {}",
                self.heads, self.hidden
            ));
        }
        self.weights.check()?;
        let takes = |option| self.backbone.takes(option);
        if !self.bias && !takes(NetworkOption::Bias) {
            let known = takers(NetworkOption::Bias);
            return refuse(format!(
                "only {known} can do without offsets, not {}",
                self.backbone
            ));
        }
        if self.head && !takes(NetworkOption::Head)
            || self.noise != 0.0 && !takes(NetworkOption::Noise)
        {
            return refuse(format!(
                "a head and noise are for stacks of layers, not for {}",
                self.backbone
            ));
        }
        if !(self.noise >= 0.0 && self.noise.is_finite()) {
            return refuse(format!("noise {} must be at least 0", self.noise));
        }
        match self.backbone.entry().level {
            Some(Level { least, most, .. })
                if !((least..=most).contains(&self.level) && self.level.is_finite()) =>
            {
                let range = if most.is_finite() {
                    format!("lie in {least} to {most}")
                } else {
                    format!("be finite and at least {least}")
                };
                return refuse(format!(
                    "level {} of {} must {range}",
                    self.level, self.backbone
                ));
            }
            None if self.level != 0.0 => {
                return refuse(format!(
                    "a level is for {}, not for {}",
                    takers(NetworkOption::Level),
                    self.backbone
                ));
            }
            _ => {}
        }
        if !(0.0..=1.0).contains(&self.appnp_alpha) {
            return refuse(format!(
                "appnp alpha {} must lie in 0 to 1",
                self.appnp_alpha
            ));
        }
        Ok(())
    }

    /// Whether it normalises by statistics over the nodes of a batch.
    pub fn uses_batch_norm(&self) -> bool {
        self.batch_norm && self.backbone.takes(NetworkOption::BatchNorm)
    }

    /// What its body is built from.
    pub(crate) fn plan(&self, shape: &Shape<'_>) -> Plan {
        Plan {
            entry: self.backbone.entry(),
            in_dim: shape.in_dim,
            num_classes: shape.num_classes,
            mean_log_degree: shape.mean_log_degree,
            hidden: self.hidden,
            layers: self.layers,
            dropout: self.dropout,
            heads: self.heads,
            attention_dropout: self.attention_dropout,
            batch_norm: self.batch_norm,
            propagation_steps: self.appnp_steps,
            teleport: self.appnp_alpha,
            bias: self.bias,
            head: self.head,
            noise: self.noise,
            level: self.level,
        }
    }
}

/// The backbones that take an option, as `a, b and c`.
fn takers(option: NetworkOption) -> String {
    let takers = Backbone::ALL
        .into_iter()
        .filter(|(_, backbone)| backbone.takes(option))
        .map(|(name, _)| name);
    gnarl_graph::names::listed(&takers.collect::<Vec<_>>())
}

/// The data that a network is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape<'a> {
    /// Input features.
    pub in_dim: usize,
    /// Classes.
    pub num_classes: usize,
    /// Mean of `ln(degree + 1)` over the training graph, for PNA.
    pub mean_log_degree: f64,
    /// The scalars of a learnable operator; none for a fixed one.
    pub scalars: &'a [OperatorScalar],
}

impl Shape<'static> {
    /// Data whose operator is fixed.
    pub fn new(in_dim: usize, num_classes: usize, mean_log_degree: f64) -> Self {
        Self {
            in_dim,
            num_classes,
            mean_log_degree,
            scalars: &[],
        }
    }
}

impl<'a> Shape<'a> {
    /// The same data with a learnable operator of these scalars.
    pub fn with_scalars<'b>(self, scalars: &'b [OperatorScalar]) -> Shape<'b> {
        Shape {
            in_dim: self.in_dim,
            num_classes: self.num_classes,
            mean_log_degree: self.mean_log_degree,
            scalars,
        }
    }
}
