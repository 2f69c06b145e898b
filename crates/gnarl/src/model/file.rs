//! Stores a fitted model as one safetensors file: every parameter, the training, validation and
//! test ids, and a typed description of the rest in the metadata.

use std::collections::HashMap;
use std::path::Path;

use gnarl_data::Task;
use gnarl_graph::Split;
use serde::{Deserialize, Serialize};

use super::fitted::{Fitted, TrainedOn};
use super::graph_data::{Inputs, NodeFeatures};
use super::learned::Learned;
use super::report::FitReport;
use super::{Model, Plan};
use gnarl_graph::{Error, Result};
use gnarl_nn::depth::Policy;
use gnarl_nn::features::Scaler;
use gnarl_nn::networks::{OperatorScalar, Params, Shape};
use gnarl_nn::operator::OperatorChoice;
use gnarl_robust::inference::FittedInference;
use gnarl_tensor::{Device, Tensor, load_safetensors};

/// Content of the metadata.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Description {
    version: u32,
    task: Task,
    model: Model,
    classes: Vec<String>,
    in_dim: usize,
    own_features: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node_features: Option<NodeFeatures>,
    mean_log_degree: f64,
    scaler: Scaler,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<Policy>,
    #[serde(rename = "reading")]
    inference: FittedInference,
    dataset: String,
    /// In hexadecimal, because not every JSON reader has integers of 64 bits.
    fingerprint: String,
    split: String,
    seed: u64,
}

/// The version alone, for files of any format.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

const VERSION: u32 = 3;
const KEY: &str = "gnarl";
const PARTS: [&str; 3] = ["split.train", "split.validation", "split.test"];

impl Fitted {
    /// Writes the model to a file, completely or not at all.
    pub fn save(&self, file: impl AsRef<Path>) -> Result<()> {
        gnarl_graph::files::write_atomically(file.as_ref(), &self.to_bytes()?)
    }

    /// Returns the bytes that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let wrong = |what: String| Error::Internal { op: "save", what };
        let description = Description {
            version: VERSION,
            task: self.plan.task,
            model: self.plan.model,
            classes: self.classes.clone(),
            in_dim: self.in_dim(),
            own_features: self.inputs.own_features,
            node_features: self.inputs.node_features,
            mean_log_degree: self.mean_log_degree,
            scaler: self.scaler.clone(),
            policy: self.learned.policy().cloned(),
            inference: self.inference.clone(),
            dataset: self.trained_on.dataset.clone(),
            fingerprint: format!("{:016x}", self.trained_on.fingerprint),
            split: self.trained_on.split.name().to_string(),
            seed: self.seed,
        };
        let description = serde_json::to_string(&description).map_err(|e| wrong(e.to_string()))?;
        let mut tensors: Vec<(String, Tensor)> = self
            .params()
            .list()
            .iter()
            .map(|p| (p.name.clone(), p.var.as_tensor().clone()))
            .collect();
        let split = &self.trained_on.split;
        for (name, items) in PARTS
            .into_iter()
            .zip([split.train(), split.val(), split.test()])
        {
            tensors.push((
                name.to_string(),
                Tensor::from_slice(items, items.len(), &Device::Cpu)?,
            ));
        }
        let metadata = HashMap::from([(KEY.to_string(), description)]);
        safetensors::serialize(tensors, Some(metadata)).map_err(|e| wrong(e.to_string()))
    }

    /// Reads a model that [`save`](Self::save) wrote.
    pub fn load(file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        Self::from_bytes(&std::fs::read(file).map_err(|e| Error::io(file, e))?, file)
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes); errors name the `source`.
    pub fn from_bytes(bytes: &[u8], source: impl AsRef<Path>) -> Result<Self> {
        let wrong = |what: String| Error::Checkpoint {
            file: source.as_ref().to_path_buf(),
            what,
        };
        let (_, header) = safetensors::SafeTensors::read_metadata(bytes).map_err(|e| {
            wrong(format!(
                "not a safetensors file ({e}); expected a model that gnarl saved"
            ))
        })?;
        let text = header.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or_else(|| {
            wrong("a safetensors file without gnarl's description; expected a model that gnarl saved".into())
        })?;
        let broken = |e: serde_json::Error| wrong(format!("its description is broken: {e}"));
        let Version { version } = serde_json::from_str(text).map_err(broken)?;
        if version != VERSION {
            let what = format!(
                "version {version} of the format, and this gnarl reads {VERSION}; train and save the model again"
            );
            return Err(wrong(what));
        }
        let mut text: serde_json::Value = serde_json::from_str(text).map_err(broken)?;
        if let Some(model) = text.get_mut("model") {
            super::spec::modernise(model);
        }
        let description: Description = serde_json::from_value(text).map_err(broken)?;
        let tensors =
            load_safetensors(bytes).map_err(|e| wrong(format!("its tensors are broken: {e}")))?;
        description
            .fitted(&tensors, bytes.len())
            .map_err(|e| match e {
                Error::Checkpoint { .. } => e,
                other => wrong(other.to_string()),
            })
    }
}

impl Description {
    fn fitted(self, tensors: &HashMap<String, Tensor>, bytes: usize) -> Result<Fitted> {
        let wrong = |what: String| Error::argument("model", what);
        let plan = self.model.plan(self.task)?;
        plan.check_stored(self.in_dim, self.classes.len(), bytes)?;
        self.scaler.check(self.in_dim)?;
        if plan.features != self.scaler.scaling() {
            return Err(wrong(format!(
                "features are {}, and the stored scaling is {}",
                plan.features,
                self.scaler.scaling()
            )));
        }
        let scalars = scalars(&plan);
        let shape = Shape {
            in_dim: self.in_dim,
            num_classes: self.classes.len(),
            mean_log_degree: self.mean_log_degree,
            scalars: &scalars,
        };
        let degrees = self.node_features.and_then(NodeFeatures::degrees);
        let learned = Learned::restored(&plan, &shape, degrees, self.policy, |params| {
            fill(params, tensors)
        })?;
        let part = |name: &str| -> Result<Vec<u32>> {
            let Some(items) = tensors.get(name) else {
                return Err(wrong(format!("{name} is missing")));
            };
            Ok(items.to_vec1::<u32>()?)
        };
        let [train, val, test] = [part(PARTS[0])?, part(PARTS[1])?, part(PARTS[2])?];
        let fingerprint = u64::from_str_radix(&self.fingerprint, 16)
            .map_err(|_| wrong(format!("'{}' is not a fingerprint", self.fingerprint)))?;
        Ok(Fitted {
            learned,
            classes: self.classes,
            mean_log_degree: self.mean_log_degree,
            scaler: self.scaler,
            inputs: Inputs {
                own_features: self.own_features,
                node_features: self.node_features,
            },
            inference: self.inference,
            trained_on: TrainedOn {
                dataset: self.dataset,
                fingerprint,
                split: Split::new(self.split, train, val, test)?,
            },
            seed: self.seed,
            report: FitReport::default(),
            plan,
        })
    }
}

/// Returns the scalars of a learnable operator, whose values are in the file.
fn scalars(plan: &Plan) -> Vec<OperatorScalar> {
    match plan.model.operator {
        OperatorChoice::Cgso(cgso) => cgso.scalars(),
        _ => Vec::new(),
    }
}

/// Copies stored values into the parameters of a model that was built from its description.
fn fill(params: &Params, tensors: &HashMap<String, Tensor>) -> Result<()> {
    let wrong = |what: String| Error::argument("model", what);
    for p in params.list() {
        let Some(tensor) = tensors.get(&p.name) else {
            return Err(wrong(format!("parameter {} is missing", p.name)));
        };
        if tensor.dims() != p.var.dims() {
            let (found, expected) = (tensor.dims(), p.var.dims());
            return Err(wrong(format!(
                "parameter {} has shape {found:?}, {expected:?} is expected",
                p.name
            )));
        }
        p.var.set(tensor)?;
    }
    params.check_finite()
}
