//! Python classes of the model description and the fitted model. Options, defaults and errors are
//! the library's own lists.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gnarl::augment::density::Density;
use gnarl::model::fit::FitOptions;
use gnarl::model::{Fitted, Model, Section};
use gnarl::study::certify::Certificate;
use gnarl::study::predict;
use gnarl_data::Content;
use gnarl_data::Task;
use gnarl_graph::settings::{ChoiceInfo, KIND, Kind, Setting, SettingText};
use gnarl_graph::{DenseMatrix, Graph};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::{Callbacks, Epoch, argmax};
use gnarl_robust::attack::Attack;
use gnarl_robust::inference::{FittedInference, Inference};
use gnarl_thesis::Recipe;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value as Json, json};

use crate::arrays::{Csr, given, given_csr};
use crate::errors::{raised, wrong};
use crate::graph::{GivenSplit, Parts, PyGraph, data, dataset, given_split, split_of};
use crate::work;

/// Returns every choice and setting of the library, as JSON. It has the sections of a model with an
/// axis, the names of their choices, all settings, and the settings of each choice. It also has the
/// lists of attacks, certificates and densities.
#[pyfunction]
pub fn model_sections() -> String {
    let sections: Vec<Json> = Model::sections().iter().map(section).collect();
    let scalings: Vec<&str> = FeatureScaling::ALL
        .iter()
        .map(|scaling| scaling.name())
        .collect();
    let recipes: Vec<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
    json!({
        "sections": sections,
        "features": scalings,
        "recipes": recipes,
        "attacks": listed(Attack::LIST),
        "certificates": listed(Certificate::LIST),
        "densities": listed(Density::LIST),
    })
    .to_string()
}

fn section(section: &Section) -> Json {
    let settings = section.settings.iter().map(|own| {
        let mut setting = declared(own, None);
        setting["help"] = section.help(own).into();
        setting
    });
    json!({
        "axis": section.axis,
        "title": section.title,
        "names": section.names,
        "settings": settings.collect::<Vec<Json>>(),
        "choices": listed(section.list),
    })
}

/// Returns the entries of a list, with their settings.
fn listed(list: &[ChoiceInfo]) -> Vec<Json> {
    let entry = |entry: &ChoiceInfo| {
        let defaults = (entry.defaults)();
        let setting = |own: &Setting| declared(own, defaults.get(own.name));
        let settings: Vec<Json> = entry.settings.iter().map(setting).collect();
        json!({"name": entry.name, "about": entry.about, "settings": settings})
    };
    list.iter().map(entry).collect()
}

/// Returns a setting with its type. A default that is itself a choice is given by its name.
fn declared(setting: &Setting, default: Option<&Json>) -> Json {
    let (kind, form) = match setting.kind {
        Kind::Count => ("count", None),
        Kind::Real => ("real", None),
        Kind::Switch => ("switch", None),
        Kind::Name(_) => ("name", None),
        Kind::Text(form) => ("text", Some(form)),
    };
    json!({
        "name": setting.name,
        "flag": setting.flag,
        "about": setting.about,
        "help": setting.help(default),
        "kind": kind,
        "form": form,
        "names": setting.names(),
        "range": setting.bounds.map(|bounds| bounds.to_string()),
        "default": default.map(|default| default.get(KIND).unwrap_or(default)),
        "optional": setting.optional,
        "open": setting.open,
        "was": setting.was,
    })
}

/// A model description: a backbone or a file, options that overwrite it by their flags, and the
/// model whose settings fill the unset ones.
#[derive(FromPyObject)]
pub struct Words {
    #[pyo3(item)]
    backbone: Option<String>,
    #[pyo3(item)]
    spec: Option<String>,
    #[pyo3(item)]
    options: Vec<SettingText>,
    #[pyo3(item)]
    recipe: String,
}

impl Words {
    /// Builds the model as the command line does.
    pub fn model(&self, dataset: &str, task: Task) -> PyResult<Model> {
        let described = match (&self.backbone, &self.spec) {
            (Some(_), Some(_)) => {
                return Err(wrong(
                    "spec: describes the whole model; leave out the name of one",
                ));
            }
            (Some(name), None) => Model::new(name.parse::<Backbone>().map_err(raised)?),
            (None, Some(text)) => Model::from_toml(text).map_err(raised)?,
            (None, None) => Model::new(Backbone::GCN),
        };
        let recipe: Recipe = self.recipe.parse().map_err(raised)?;
        Ok(recipe.fill(
            described.over(&self.options).map_err(raised)?,
            dataset,
            task,
        ))
    }
}

fn task(name: &str) -> PyResult<Task> {
    name.parse().map_err(raised)
}

/// Returns the complete model of a description as TOML.
#[pyfunction]
pub fn spec(words: Words, dataset: &str, task: &str) -> PyResult<String> {
    let task = self::task(task)?;
    words
        .model(dataset, task)?
        .plan(task)
        .and_then(|plan| plan.model.to_toml())
        .map_err(raised)
}

/// Progress of a fit.
#[derive(Default)]
struct Progress {
    epochs: AtomicU64,
    last: Mutex<Option<Epoch>>,
}

/// Fits a model. Without a split, the first of the dataset's protocol is used, sampled by the seed
/// if it is random. `progress` is called with the epochs done, the total of all trainings, the loss
/// and the validation accuracy.
#[pyfunction]
#[pyo3(signature = (on, words, split=None, seed=0, n_jobs=None, progress=None))]
pub fn fit(
    py: Python<'_>,
    on: &Bound<'_, PyAny>,
    words: Words,
    split: Option<Parts<'_>>,
    seed: u64,
    n_jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyFitted> {
    let on = data(on)?;
    if on.scaled {
        return Err(wrong(
            "fit: the features of this graph are scaled for another model; fit the graph they come from",
        ));
    }
    let model = words.model(&on.name, on.content.task())?;
    let split = split.as_ref().map(split_of).transpose()?;
    if let Some(split) = &split {
        split.check_range(on.content.num_items()).map_err(raised)?;
    }
    let plan = model.plan(on.content.task()).map_err(raised)?;
    let total = plan.trainings(Some(&on.content)) * plan.training.epochs;
    let (stop, told) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(Progress::default()),
    );
    let (stopped, tells) = (stop.clone(), told.clone());
    let work = move || {
        let (name, content, split) = match split {
            Some(split) => (on.name, on.content, split),
            None => {
                let first = dataset(&on.name, on.content, on.entry)
                    .benchmark(seed, 1)?
                    .first();
                (first.name, first.content, first.split)
            }
        };
        let on_epoch = |_: usize, epoch: &Epoch| {
            tells.epochs.fetch_add(1, Ordering::Relaxed);
            *tells.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(*epoch);
        };
        let watch = Callbacks::new(&on_epoch, &stopped);
        model
            .ready(&name, &content, FitOptions::default())?
            .fit(&split, seed, &watch)
    };
    let tick = |py: Python<'_>| -> PyResult<()> {
        let Some(progress) = &progress else {
            return Ok(());
        };
        let last = *told.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (loss, accuracy) = (
            last.map(|epoch| epoch.loss),
            last.and_then(|epoch| epoch.val_accuracy()),
        );
        progress
            .call1(
                py,
                (told.epochs.load(Ordering::Relaxed), total, loss, accuracy),
            )
            .map(drop)
    };
    let fitted = work::run(py, n_jobs, &stop, Some(&tick), work)?;
    Ok(PyFitted {
        fitted: Arc::new(fitted),
    })
}

/// A fitted model.
#[pyclass(frozen, module = "gnarl._gnarl", name = "Fitted")]
#[derive(Clone)]
pub struct PyFitted {
    pub fitted: Arc<Fitted>,
}

/// Classes, class distributions and, for models with exits, the exits used.
type Answers<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<f32>>,
    Option<Bound<'py, PyArray1<i64>>>,
);

#[pymethods]
impl PyFitted {
    /// Predicts the nodes of a graph, or the graphs of a set.
    #[pyo3(signature = (on, plainly=false, n_jobs=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        on: &Bound<'py, PyAny>,
        plainly: bool,
        n_jobs: Option<usize>,
    ) -> PyResult<Answers<'py>> {
        let on = data(on)?;
        let fitted = self.fitted.clone();
        let found = work::quietly(py, n_jobs, move || {
            match (&on.content, on.scaled, plainly) {
                (Content::Graph(graph), true, _) => Ok((on_scaled(&fitted, graph, plainly)?, None)),
                (content, false, false) => fitted
                    .predict(content)
                    .map(|found| (found.probabilities, found.exits)),
                (content, _, _) => fitted
                    .predict_plain(content)
                    .map(|found| (found.probabilities, found.exits)),
            }
        })?;
        let (probabilities, exits) = found;
        let classes = (0..probabilities.num_rows()).map(|i| argmax(probabilities.row(i)) as i64);
        let exits =
            exits.map(|exits| PyArray1::from_iter(py, exits.iter().map(|&exit| exit as i64)));
        Ok((
            PyArray1::from_iter(py, classes),
            given(py, &probabilities)?,
            exits,
        ))
    }

    /// Returns true if this is its training data, so that the held-out nodes or graphs are known.
    fn recognises(&self, on: &Bound<'_, PyAny>) -> PyResult<bool> {
        let on = data(on)?;
        Ok(!on.scaled && on.content.fingerprint() == self.fitted.trained_on().fingerprint)
    }

    /// Returns its training data if `on` is that data: possibly the largest component of the graph.
    fn recognised(&self, on: &Bound<'_, PyGraph>) -> Option<PyGraph> {
        let graph = on.get();
        let whole = dataset(
            &graph.name,
            Content::Graph(graph.graph.clone()),
            graph.entry,
        );
        match self.fitted.recognised(&whole) {
            Some(Content::Graph(found)) => Some(graph.instead(found)),
            _ => None,
        }
    }

    /// Returns a model with equal weights and another inference rule, fitted on clean inputs from a
    /// graph or set.
    #[pyo3(signature = (name, settings, on, n_jobs=None))]
    fn with_inference(
        &self,
        py: Python<'_>,
        name: &str,
        settings: Vec<SettingText>,
        on: &Bound<'_, PyAny>,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let inference = name
            .parse::<Inference>()
            .and_then(|known| known.with(&settings))
            .map_err(raised)?;
        let on = data(on)?;
        let fitted = self.fitted.clone();
        let changed = work::quietly(py, n_jobs, move || {
            let copy = Fitted::from_bytes(&fitted.to_bytes()?, "model")?;
            predict::with_inference(copy, inference, &dataset(&on.name, on.content, on.entry))
        })?;
        Ok(Self {
            fitted: Arc::new(changed),
        })
    }

    /// Writes the file that the command line reads as well.
    fn save(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        let fitted = self.fitted.clone();
        work::quietly(py, None, move || fitted.save(file))
    }

    /// Reads a file of `save` or of the command line.
    #[staticmethod]
    fn load(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        work::quietly(py, None, move || Fitted::load(file)).map(|fitted| Self {
            fitted: Arc::new(fitted),
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.fitted.to_bytes().map_err(raised)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Fitted::from_bytes(bytes, "pickle")
            .map(|fitted| Self {
                fitted: Arc::new(fitted),
            })
            .map_err(raised)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((
            slf.get_type().getattr("from_bytes")?,
            (slf.get().to_bytes(slf.py())?,),
        ))
    }

    /// Report of the fit, as JSON; empty for a model that was loaded.
    #[getter]
    fn report(&self) -> PyResult<String> {
        serde_json::to_string(self.fitted.report()).map_err(|e| wrong(e.to_string()))
    }

    /// The complete model, as TOML.
    #[getter]
    fn spec(&self) -> PyResult<String> {
        self.fitted.model().to_toml().map_err(raised)
    }

    /// The complete model, as JSON.
    #[getter]
    fn model(&self) -> PyResult<String> {
        serde_json::to_string(self.fitted.model()).map_err(|e| wrong(e.to_string()))
    }

    /// Its task: node or graph.
    #[getter]
    fn task(&self) -> &'static str {
        self.fitted.task().name()
    }

    /// Names of its classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.fitted.classes().to_vec()
    }

    /// Training, validation and test nodes or graphs.
    #[getter]
    fn split<'py>(&self, py: Python<'py>) -> GivenSplit<'py> {
        given_split(py, &self.fitted.trained_on().split)
    }

    /// Name of its training data.
    #[getter]
    fn dataset(&self) -> &str {
        &self.fitted.trained_on().dataset
    }

    /// Number of trained parameters.
    #[getter]
    fn num_parameters(&self) -> usize {
        self.fitted.num_parameters()
    }

    /// Number of exits; one for a model of one depth.
    #[getter]
    fn num_exits(&self) -> usize {
        self.fitted.num_exits()
    }

    /// Number of input features.
    #[getter]
    fn in_dim(&self) -> usize {
        self.fitted.in_dim()
    }

    /// Returns the message-passing operator on a graph, with its learned scalars.
    fn operator<'py>(&self, py: Python<'py>, graph: &Bound<'py, PyGraph>) -> PyResult<Csr<'py>> {
        let (fitted, on) = (self.fitted.clone(), graph.get().clone());
        let matrix = work::quietly(py, None, move || {
            let prepared = if on.scaled {
                on.graph
            } else {
                fitted.prepared(&on.graph)?
            };
            let Some(network) = fitted.network()?.white_box() else {
                let what =
                    "a model with exits has one for each of them; this is for models of one depth";
                return Err(gnarl_graph::Error::argument("operator", what));
            };
            let operator = network.learned_operator(&prepared)?;
            if operator.is_pattern_only() {
                let what = "this model weighs neighbours by itself and has no operator of its own";
                return Err(gnarl_graph::Error::argument("operator", what));
            }
            let values = operator.values()?.flatten_all()?.to_vec1::<f32>()?;
            let pattern = operator.pattern();
            let offsets = pattern.offsets().iter().map(|&at| at as u64).collect();
            let values = values.into_iter().map(f64::from).collect();
            gnarl_graph::CsrMatrix::new(
                pattern.num_cols(),
                offsets,
                pattern.indices().to_vec(),
                values,
            )
        })?;
        Ok(given_csr(py, &matrix))
    }

    /// Returns the graph with its features scaled as the network needs them.
    fn scaled(&self, graph: &Bound<'_, PyGraph>) -> PyResult<PyGraph> {
        let graph = graph.get();
        if graph.scaled {
            return Ok(graph.clone());
        }
        Ok(PyGraph {
            scaled: true,
            ..graph.instead(self.fitted.scaled(&graph.graph).map_err(raised)?)
        })
    }

    fn __repr__(&self) -> String {
        let fitted = &self.fitted;
        let (backbone, dataset) = (fitted.model().backbone, &fitted.trained_on().dataset);
        format!(
            "Fitted({backbone} on {dataset:?}: {} parameters, {} classes)",
            fitted.num_parameters(),
            fitted.classes().len()
        )
    }
}

/// Distributions on a graph whose features are scaled already: after the defence, as the model's
/// inference reads them.
fn on_scaled(
    fitted: &Fitted,
    graph: &Graph,
    plainly: bool,
) -> gnarl_graph::Result<DenseMatrix<f32>> {
    let plain = FittedInference::default();
    let reading = if plainly {
        &plain
    } else {
        fitted.fitted_inference()
    };
    predict::under(fitted, reading, graph, fitted.seed())
}
