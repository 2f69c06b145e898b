//! Checkpoints: a safetensors file with every parameter and, in its metadata, the configuration that built the network.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::nn::{ClassifierConfig, GraphClassifier, Network, NetworkConfig, OperatorScalar, Params, Readout, Shape};

/// What a checkpoint holds beside its tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Format of this description.
    pub version: u32,
    /// The network's shape.
    pub network: NetworkConfig,
    /// The scalars of a learnable operator; none for a fixed one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator_scalars: Vec<OperatorScalar>,
    /// Input features.
    pub in_dim: usize,
    /// Classes.
    pub num_classes: usize,
    /// The dataset trained on.
    pub dataset: String,
    /// Mean of `ln(degree + 1)` over the training graph, for PNA.
    pub mean_log_degree: f64,
    /// How the data was prepared: operator and feature scaling.
    pub preparation: serde_json::Value,
    /// Of a network with an exit at every layer: the policy that chooses each node's exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_policy: Option<serde_json::Value>,
    /// Of a classifier of graphs: what stands behind the network, whose output is a representation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphs: Option<BehindNetwork>,
}

/// What a classifier of graphs has behind its network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BehindNetwork {
    /// From nodes to graphs.
    pub readout: Readout,
    /// Dropout before the head.
    pub head_dropout: f32,
}

/// Version 2: the scalars of a learnable operator stand by themselves, and a stack's own linear map is `output`.
pub(crate) const VERSION: u32 = 2;
const KEY: &str = "gnarl";

impl Checkpoint {
    /// The description of a network.
    pub fn new(network: &Network, dataset: &str, mean_log_degree: f64, preparation: serde_json::Value) -> Self {
        Self {
            version: VERSION,
            network: network.config().clone(),
            operator_scalars: network.scalars(),
            in_dim: network.in_dim(),
            num_classes: network.num_classes(),
            dataset: dataset.to_string(),
            mean_log_degree,
            preparation,
            exit_policy: None,
            graphs: None,
        }
    }

    /// The description of a classifier of graphs.
    pub fn of_classifier(
        classifier: &GraphClassifier,
        dataset: &str,
        mean_log_degree: f64,
        preparation: serde_json::Value,
    ) -> Self {
        let ClassifierConfig { network, readout, head_dropout } = classifier.config().clone();
        Self {
            version: VERSION,
            network,
            operator_scalars: classifier.scalars(),
            in_dim: classifier.in_dim(),
            num_classes: classifier.num_classes(),
            dataset: dataset.to_string(),
            mean_log_degree,
            preparation,
            exit_policy: None,
            graphs: Some(BehindNetwork { readout, head_dropout }),
        }
    }

    /// The data that its network is for.
    pub fn shape(&self) -> Shape<'_> {
        Shape::new(self.in_dim, self.num_classes, self.mean_log_degree).with_scalars(&self.operator_scalars)
    }

    /// Writes the network to `file`, by way of a temporary name: an older checkpoint is replaced whole or not at all.
    pub fn save(&self, network: &Network, file: &Path) -> Result<()> {
        self.save_params(network.params(), file)
    }

    /// The same with the parameters of a model that is more than a [`Network`].
    pub fn save_params(&self, params: &Params, file: &Path) -> Result<()> {
        let wrong = |what: String| Error::Checkpoint { file: file.to_path_buf(), what };
        let description = serde_json::to_string(self).map_err(|e| wrong(e.to_string()))?;
        let tensors: Vec<(String, Tensor)> =
            params.list().iter().map(|p| (p.name.clone(), p.var.as_tensor().clone())).collect();
        let metadata = HashMap::from([(KEY.to_string(), description)]);
        let bytes = safetensors::serialize(tensors, Some(metadata)).map_err(|e| wrong(e.to_string()))?;
        let temporary = file.with_extension("part");
        std::fs::write(&temporary, bytes)
            .and_then(|()| std::fs::rename(&temporary, file))
            .map_err(|e| gnarl_graph::Error::io(file, e).into())
    }

    /// Reads a checkpoint and rebuilds its network; one with exits at every layer is refused.
    pub fn load(file: &Path) -> Result<(Self, Network)> {
        let stored = Stored::read(file)?;
        if stored.checkpoint.exit_policy.is_some() {
            return Err(stored.wrong("a network with an exit at every layer, where one with a single exit is expected"));
        }
        if stored.checkpoint.graphs.is_some() {
            return Err(stored.wrong("a classifier of graphs, where one of nodes is expected"));
        }
        let network = Network::new(&stored.checkpoint.network, &stored.checkpoint.shape(), 0)?;
        stored.fill(network.params())?;
        Ok((stored.checkpoint, network))
    }
}

/// A checkpoint file as read: its description, and its tensors.
#[derive(Debug)]
pub struct Stored {
    /// Its description.
    pub checkpoint: Checkpoint,
    tensors: HashMap<String, Tensor>,
    file: PathBuf,
}

impl Stored {
    /// Reads a file that [`Checkpoint::save`] wrote.
    pub fn read(file: &Path) -> Result<Self> {
        let wrong = |what: String| Error::Checkpoint { file: file.to_path_buf(), what };
        let bytes = std::fs::read(file).map_err(|e| gnarl_graph::Error::io(file, e))?;
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes)
            .map_err(|e| wrong(format!("not a safetensors file ({e}); expected one saved by gnarl")))?;
        let description = header.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or_else(|| {
            wrong("a safetensors file without gnarl's description; expected one saved by gnarl".into())
        })?;
        let broken = |e: serde_json::Error| wrong(format!("its description is broken: {e}"));
        let description: serde_json::Value = serde_json::from_str(description).map_err(broken)?;
        // Before anything else is read: another version may have other fields.
        if description["version"] != VERSION {
            let what = format!("this build reads version {VERSION} of the format: train and save the model again");
            return Err(wrong(format!("version {}; {what}", description["version"])));
        }
        let checkpoint: Checkpoint = serde_json::from_value(description).map_err(broken)?;
        let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)?;
        Ok(Self { checkpoint, tensors, file: file.to_path_buf() })
    }

    /// Puts the stored values into the parameters of a model built by its description.
    pub fn fill(&self, params: &Params) -> Result<()> {
        for p in params.list() {
            let Some(tensor) = self.tensors.get(&p.name) else {
                return Err(self.wrong(&format!("parameter {} is missing", p.name)));
            };
            if tensor.dims() != p.var.dims() {
                let (found, expected) = (tensor.dims(), p.var.dims());
                return Err(self.wrong(&format!("parameter {} has shape {found:?}, {expected:?} is expected", p.name)));
            }
            p.var.set(tensor)?;
        }
        Ok(())
    }

    /// The classifier of graphs it holds; `None` where it holds a network of nodes.
    pub fn classifier(&self) -> Result<Option<GraphClassifier>> {
        let Some(BehindNetwork { readout, head_dropout }) = self.checkpoint.graphs else { return Ok(None) };
        let config = ClassifierConfig { network: self.checkpoint.network.clone(), readout, head_dropout };
        let classifier = GraphClassifier::new(&config, &self.checkpoint.shape(), 0)?;
        self.fill(classifier.params())?;
        Ok(Some(classifier))
    }

    /// An error about this file.
    pub fn wrong(&self, what: &str) -> Error {
        Error::Checkpoint { file: self.file.clone(), what: what.to_string() }
    }
}
