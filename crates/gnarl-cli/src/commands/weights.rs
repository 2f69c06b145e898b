//! The weights axis on the command line, and the parts of a network that go with it.

use std::str::FromStr;

use clap::Args;
use gnarl::nn::NetworkConfig;
use gnarl::weights::{Orthonormal, Parseval, Scaling, WeightsChoice};

/// What is asked of a network's weights.
#[derive(Debug, Clone, Args)]
pub struct WeightsArgs {
    /// free, orthonormal (GCORN, GIORN) or parseval
    #[arg(long, default_value = "free", value_name = "KIND")]
    pub weights: WeightsName,
    /// Of orthonormal: terms of Björck's expansion [default: 2]
    #[arg(long, value_name = "P")]
    pub order: Option<usize>,
    /// Of orthonormal: iterations [default: 25]
    #[arg(long, value_name = "N")]
    pub iterations: Option<usize>,
    /// Of orthonormal: what weights are divided by first, spectral (their norm) or published (sqrt of rows times columns)
    #[arg(long, value_name = "KIND")]
    pub scaling: Option<ScalingName>,
    /// Of parseval: length of the step after every update [default: 0.01]
    #[arg(long, value_name = "BETA")]
    pub parseval_beta: Option<f64>,
    /// End a stack of layers in a linear map [default: by recipe]
    #[arg(long, value_name = "BOOL")]
    pub head: Option<bool>,
    /// Whether the layers of gcn and gin add an offset [default: by recipe]
    #[arg(long, value_name = "BOOL")]
    pub bias: Option<bool>,
    /// Start the weights orthonormal [default: by recipe]
    #[arg(long, value_name = "BOOL")]
    pub orthogonal_start: Option<bool>,
    /// Deviation of noise on hidden representations while training, for stacks of layers: NoisyGCN [default: 0]
    #[arg(long, value_name = "DEVIATION")]
    pub noise: Option<f32>,
}

/// What `--weights` may say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WeightsName {
    Free,
    Orthonormal,
    Parseval,
}

impl FromStr for WeightsName {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        match name.to_lowercase().as_str() {
            "free" => Ok(WeightsName::Free),
            "orthonormal" => Ok(WeightsName::Orthonormal),
            "parseval" => Ok(WeightsName::Parseval),
            _ => Err(gnarl_graph::Error::unknown("weights", name, ["free", "orthonormal", "parseval"])),
        }
    }
}

/// What `--scaling` may say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingName(Scaling);

impl FromStr for ScalingName {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        match name.to_lowercase().as_str() {
            "spectral" => Ok(Self(Scaling::Spectral)),
            "published" => Ok(Self(Scaling::Published)),
            _ => Err(gnarl_graph::Error::unknown("scaling", name, ["spectral", "published"])),
        }
    }
}

impl WeightsArgs {
    /// Puts what was asked for over a network's settings. Settings of a kind that was not asked for are refused.
    pub fn apply(&self, network: &mut NetworkConfig) -> gnarl_graph::Result<()> {
        let stray = |set: bool, option: &'static str, kind: &str| match set {
            true => Err(gnarl_graph::Error::argument(
                option,
                format!("belongs to --weights {kind}, which was not asked for"),
            )),
            false => Ok(()),
        };
        if self.weights != WeightsName::Orthonormal {
            stray(self.order.is_some(), "--order", "orthonormal")?;
            stray(self.iterations.is_some(), "--iterations", "orthonormal")?;
            stray(self.scaling.is_some(), "--scaling", "orthonormal")?;
        }
        if self.weights != WeightsName::Parseval {
            stray(self.parseval_beta.is_some(), "--parseval-beta", "parseval")?;
        }
        network.weights = match self.weights {
            WeightsName::Free => WeightsChoice::Free,
            WeightsName::Orthonormal => {
                let usual = Orthonormal::default();
                WeightsChoice::Orthonormal(Orthonormal {
                    order: self.order.unwrap_or(usual.order),
                    iterations: self.iterations.unwrap_or(usual.iterations),
                    scaling: self.scaling.map_or(usual.scaling, |s| s.0),
                })
            }
            WeightsName::Parseval => {
                WeightsChoice::Parseval(Parseval { beta: self.parseval_beta.unwrap_or(Parseval::default().beta) })
            }
        };
        network.head = self.head.unwrap_or(network.head);
        network.bias = self.bias.unwrap_or(network.bias);
        network.orthogonal_start = self.orthogonal_start.unwrap_or(network.orthogonal_start);
        network.noise = self.noise.unwrap_or(network.noise);
        Ok(())
    }
}
