//! Network configuration: [`NetworkConfig`] holds the settings that networks share, and [`Shape`]
//! the sizes of their data.

use gnarl_graph::Error;
use gnarl_graph::settings::Settings;

use super::backbone::Backbone;
use super::entry::{Capability, Plan};
use super::layer::OperatorScalar;
use super::readout::Readout;
use crate::weights::WeightsChoice;

/// The settings that networks share. A network's own settings are fields of its entry in
/// [`Backbone`].
#[derive(Debug, Clone, PartialEq, Settings)]
#[partial(NetworkOptions, NetworkSetting)]
pub struct NetworkConfig {
    /// The network and its own settings.
    #[setting(skip)]
    pub backbone: Backbone,
    /// The constraint on the weights.
    #[setting(skip)]
    pub weights: WeightsChoice,
    /// Width of hidden representations, for attention that of all heads together.
    #[setting(default = 64, range = 1.., open = "64; 32 for sets of graphs")]
    pub hidden: usize,
    /// Number of layers; networks that combine layers may have none.
    #[setting(default = 2, range = 0..=10_000)]
    pub layers: usize,
    /// Dropout between layers.
    #[setting(default = 0.5, range = 0.0..1.0, open = "0.5; 0 for sets of graphs")]
    pub dropout: f64,
    /// Dropout of the input features.
    #[setting(default = 0.0, range = 0.0..1.0)]
    pub input_dropout: f64,
    /// Bias terms in the layers.
    #[setting(default = true)]
    pub bias: bool,
    /// Linear map after the last layer.
    #[setting(
        default = false,
        open = "false; true for gratin and retrain on one graph; selected on validation nodes for constrained weights"
    )]
    pub head: bool,
    /// Orthonormal initial weights.
    #[setting(default = false)]
    pub orthogonal_start: bool,
    /// Standard deviation of Gaussian noise on hidden representations during training (NoisyGNN).
    #[setting(default = 0.0, range = 0.0..)]
    pub noise: f64,
    /// Learned factor on the class scores, initialised from their spread; for one graph.
    #[setting(
        default = false,
        open = "true for sgc and for constrained weights without a head"
    )]
    pub gain: bool,
    /// Readout from node vectors to a graph vector, for sets of graphs.
    #[setting(default = Readout::Mean)]
    pub readout: Readout,
    /// Dropout of graph vectors before the head, for sets of graphs.
    #[setting(default = 0.5, range = 0.0..1.0)]
    pub head_dropout: f64,
}

impl NetworkConfig {
    /// Returns a network with the default settings.
    pub fn new(backbone: impl Into<Backbone>) -> Self {
        Self {
            backbone: backbone.into(),
            ..Self::default()
        }
    }

    /// Returns true if scores need a factor ([`gain`](super::gain)): all weights are constrained,
    /// or the network is a single linear map of features.
    pub fn needs_gain(&self) -> bool {
        let bounded =
            !self.weights.is_unconstrained() || self.backbone.provides(Capability::OneMap);
        bounded && !self.head && self.backbone.takes(NetworkSetting::Gain)
    }

    /// Checks that the network can be built; an error names the setting and its range.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        self.check_ranges()?;
        self.backbone.check()?;
        self.weights.check()?;
        let min_layers = self.backbone.min_layers();
        if self.layers < min_layers {
            return Err(Error::OutOfRange {
                setting: "layers".into(),
                range: format!(">= {min_layers} for {}", self.backbone),
                got: self.layers.to_string(),
            });
        }
        let heads = self.backbone.method().heads();
        if !self.hidden.is_multiple_of(heads) {
            let why = format!("{heads} heads must divide the hidden width {}", self.hidden);
            return Err(Error::setting("heads", why));
        }
        let idle = [
            (NetworkSetting::Bias, !self.bias),
            (NetworkSetting::Head, self.head),
            (NetworkSetting::Noise, self.noise != 0.0),
        ];
        match idle
            .iter()
            .find(|(setting, set)| *set && !self.backbone.takes(*setting))
        {
            Some((setting, _)) => Err(self.backbone.refuse(*setting)),
            None => Ok(()),
        }
    }

    /// Returns true if it uses batch normalisation over the nodes of a batch.
    pub fn uses_batch_norm(&self) -> bool {
        self.backbone.method().batch_norm()
    }

    /// Returns the sizes and settings that the body is built from.
    #[doc(hidden)]
    pub fn plan(&self, shape: &Shape<'_>) -> Plan<'_> {
        Plan {
            network: self,
            in_dim: shape.in_dim,
            num_classes: shape.num_classes,
            mean_log_degree: shape.mean_log_degree,
        }
    }
}

/// Sizes of the data that a network is built for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape<'a> {
    /// Number of input features.
    pub in_dim: usize,
    /// Number of classes.
    pub num_classes: usize,
    /// Mean of `ln(degree + 1)` over the training graph, for PNA.
    pub mean_log_degree: f64,
    /// Scalars of a learnable operator; none for a fixed operator.
    pub scalars: &'a [OperatorScalar],
}

impl Shape<'static> {
    /// Returns the shape for a fixed operator.
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
    /// Returns the shape with a learnable operator of these scalars.
    pub fn with_scalars<'b>(self, scalars: &'b [OperatorScalar]) -> Shape<'b> {
        Shape {
            in_dim: self.in_dim,
            num_classes: self.num_classes,
            mean_log_degree: self.mean_log_degree,
            scalars,
        }
    }
}
