//! Attacks, measurements and defences of fitted models, and of any Python function from a graph to
//! scores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gnarl::study::predict::{Clean, fit_inference, under, without_inputs};
use gnarl::study::robustness::measure;
use gnarl_graph::settings::SettingText;
use gnarl_graph::{DenseMatrix, Error as GraphError, Graph};
use gnarl_robust::attack::{Attack, AttackInput, Property};
use gnarl_robust::classifier::Classifier;
use gnarl_robust::defense::Defense;
use gnarl_robust::inference::{FittedInference, Inference};
use gnarl_robust::perturb::flipped;
use gnarl_robust::robustness::{RegionOptions, Settings};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::{dense, given, ids};
use crate::errors::{raised, wrong};
use crate::graph::PyGraph;
use crate::model::PyFitted;
use crate::work;

/// A Python function as a classifier. The GIL is held only while the function runs.
pub(crate) struct PythonModel {
    function: Py<PyAny>,
    num_classes: usize,
    /// A graph with the properties shared by all graphs passed to it.
    like: PyGraph,
    /// The first exception raised by the function.
    raised: Mutex<Option<PyErr>>,
    /// Set if the caller no longer waits for predictions.
    stop: Arc<AtomicBool>,
}

impl PythonModel {
    /// Calls the function once, to find the number of classes.
    fn new(
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        like: &PyGraph,
        stop: &Arc<AtomicBool>,
    ) -> PyResult<Self> {
        if !function.is_callable() {
            let what = format!(
                "model: a fitted model or a function from a Graph to scores is needed, not {}",
                function.get_type().name()?
            );
            return Err(PyTypeError::new_err(what));
        }
        let mut new = Self {
            function: function.clone().unbind(),
            num_classes: 0,
            like: like.clone(),
            raised: Mutex::new(None),
            stop: stop.clone(),
        };
        new.num_classes = new.ask(py, &like.graph)?.num_cols();
        Ok(new)
    }

    fn ask(&self, py: Python<'_>, graph: &Graph) -> PyResult<DenseMatrix<f32>> {
        let scores = self
            .function
            .call1(py, (Bound::new(py, self.like.instead(graph.clone()))?,))?;
        let scores = py
            .import("gnarl._convert")?
            .call_method1("to_scores", (scores,))?;
        let scores = dense(&scores, "scores of the model")?;
        if self.num_classes > 0 && scores.num_cols() != self.num_classes {
            return Err(wrong(format!(
                "the model gave scores for {} classes, and {} before",
                scores.num_cols(),
                self.num_classes
            )));
        }
        if scores.num_rows() != graph.num_nodes() && scores.num_rows() != 1 {
            let (rows, nodes) = (scores.num_rows(), graph.num_nodes());
            return Err(wrong(format!(
                "the model gave {rows} rows of scores for {nodes} nodes; one for each, or one for the graph"
            )));
        }
        Ok(scores)
    }
}

impl Classifier for PythonModel {
    fn num_classes(&self) -> usize {
        self.num_classes
    }

    fn scores(&self, graph: &Graph) -> gnarl_graph::Result<DenseMatrix<f32>> {
        let gone = |what: String| GraphError::argument("model", what);
        if self.stop.load(Ordering::Relaxed) {
            return Err(gone("nobody waits for its answers any more".into()));
        }
        Python::attach(|py| self.ask(py, graph)).map_err(|error| {
            let what = error.to_string();
            self.raised
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(error);
            gone(what)
        })
    }
}

/// A model with an inference rule.
#[pyclass(frozen, module = "gnarl._gnarl", name = "Defended")]
pub struct PyDefended {
    model: Subject,
    reading: FittedInference,
    seed: u64,
    n_jobs: Option<usize>,
}

/// The model to attack, measure or defend.
pub(crate) enum Subject {
    Fitted(PyFitted),
    Function(Py<PyAny>),
}

impl Subject {
    pub(crate) fn of(model: &Bound<'_, PyAny>) -> Self {
        match model.cast::<PyFitted>() {
            Ok(fitted) => Subject::Fitted(fitted.get().clone()),
            Err(_) => Subject::Function(model.clone().unbind()),
        }
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Subject::Fitted(fitted) => Subject::Fitted(fitted.clone()),
            Subject::Function(function) => Subject::Function(function.clone_ref(py)),
        }
    }

    /// Returns a graph as the model needs it.
    fn scaled(&self, graph: &Graph) -> PyResult<Graph> {
        match self {
            Subject::Fitted(fitted) => fitted.fitted.scaled(graph).map_err(raised),
            Subject::Function(_) => Ok(graph.clone()),
        }
    }

    /// Adds a graph prepared for the model: fitted models get scaled features, functions get the
    /// graph as given.
    pub(crate) fn asked(
        &self,
        py: Python<'_>,
        graph: &PyGraph,
        stop: &Arc<AtomicBool>,
    ) -> PyResult<(SharedSubject, PyGraph)> {
        match self {
            Subject::Fitted(fitted) if graph.scaled => {
                Ok((SharedSubject::Fitted(fitted.clone()), graph.clone()))
            }
            Subject::Fitted(fitted) => {
                let scaled = PyGraph {
                    scaled: true,
                    ..graph.instead(self.scaled(&graph.graph)?)
                };
                Ok((SharedSubject::Fitted(fitted.clone()), scaled))
            }
            Subject::Function(function) => {
                let outside = PythonModel::new(py, function.bind(py), graph, stop)?;
                Ok((SharedSubject::PythonModel(Box::new(outside)), graph.clone()))
            }
        }
    }
}

/// A model that can be called from any thread.
pub(crate) enum SharedSubject {
    Fitted(PyFitted),
    PythonModel(Box<PythonModel>),
}

impl SharedSubject {
    /// Calls a function with the model as an attacker sees it: on scaled features, by a plain
    /// forward pass.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&dyn Classifier) -> T) -> T {
        match self {
            SharedSubject::Fitted(fitted) => f(&fitted.fitted.attack_target()),
            SharedSubject::PythonModel(outside) => f(&**outside),
        }
    }

    /// Calls a function with the model including its inference rule, for attacks on predictions;
    /// gradients pass straight through the rule.
    fn with_answers<T>(&self, f: impl FnOnce(&dyn Classifier) -> T) -> T {
        match self {
            SharedSubject::Fitted(fitted) if !fitted.fitted.model().inference.is_plain() => {
                f(&fitted.fitted.adaptive_target())
            }
            _ => self.with(f),
        }
    }

    /// Returns the exception raised by the function instead of errors that follow from it.
    fn or_raised<T>(&self, result: PyResult<T>) -> PyResult<T> {
        match self {
            SharedSubject::PythonModel(outside) => {
                match outside
                    .raised
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take()
                {
                    Some(raised) if result.is_err() => Err(raised),
                    _ => result,
                }
            }
            SharedSubject::Fitted(_) => result,
        }
    }
}

/// Runs a computation on a model, without the GIL.
pub(crate) fn question<T: Send + 'static>(
    py: Python<'_>,
    n_jobs: Option<usize>,
    stop: &Arc<AtomicBool>,
    asked: SharedSubject,
    put: impl FnOnce(&SharedSubject) -> gnarl_graph::Result<T> + Send + 'static,
) -> PyResult<T> {
    let asked = Arc::new(asked);
    let worker = asked.clone();
    let result = work::run(py, n_jobs, stop, None, move || put(&worker));
    asked.or_raised(result)
}

#[pymethods]
impl PyDefended {
    /// Makes a model with an inference rule, which is fitted on clean inputs: the graph and
    /// training nodes given, or several graphs.
    #[new]
    #[pyo3(signature = (model, name, settings, clean, train=None, seed=0, n_jobs=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, PyAny>,
        name: &str,
        settings: Vec<SettingText>,
        clean: Vec<Bound<'_, PyGraph>>,
        train: Option<&Bound<'_, PyAny>>,
        seed: u64,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let inference = name
            .parse::<Inference>()
            .and_then(|known| known.with(&settings))
            .map_err(raised)?;
        if inference.tunes() {
            return Err(wrong(
                "tune: chooses on validation nodes while a model is fitted; give sigma and radius here",
            ));
        }
        let train = train
            .map(|train| ids(train, "training nodes"))
            .transpose()?;
        let model = Subject::of(model);
        let reading = match clean.first() {
            None => without_inputs(inference).map_err(raised)?,
            Some(first) => {
                let stop = Arc::new(AtomicBool::new(false));
                let (asked, first) = model.asked(py, first.get(), &stop)?;
                let mut graphs = vec![first.graph];
                for other in &clean[1..] {
                    graphs.push(model.scaled(&other.get().graph)?);
                }
                question(py, n_jobs, &stop, asked, move |asked| {
                    let clean = match &graphs[..] {
                        [graph] => Clean::Graph {
                            graph,
                            train: train.as_deref(),
                            val: None,
                        },
                        graphs => Clean::Graphs(graphs),
                    };
                    asked.with(|model| fit_inference(inference, model, clean, seed))
                })?
            }
        };
        Ok(Self {
            model,
            reading,
            seed,
            n_jobs,
        })
    }

    /// Returns class distributions: a row for each node, or one for the graph.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        graph: &Bound<'py, PyGraph>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, graph) = self.model.asked(py, graph.get(), &stop)?;
        let (reading, seed) = (self.reading.clone(), self.seed);
        let answer = move |asked: &SharedSubject| match asked {
            SharedSubject::Fitted(fitted) => under(&fitted.fitted, &reading, &graph.graph, seed),
            SharedSubject::PythonModel(outside) => reading.predict(&**outside, &graph.graph, seed),
        };
        given(py, &question(py, self.n_jobs, &stop, asked, answer)?)
    }

    /// Limit up to which an inference rule that tests its own assumption is reliable: the standard
    /// deviation of noise, or the share of added edges; None without such a test.
    #[getter]
    fn trusted(&self) -> Option<f64> {
        self.reading.tested_limit()
    }

    /// Maximum number of evaluations of the model per prediction.
    #[getter]
    fn evaluations(&self) -> usize {
        self.reading.inference().evaluations()
    }

    fn __repr__(&self) -> String {
        format!(
            "Defended({}, at most {} evaluations)",
            self.reading.inference(),
            self.evaluations()
        )
    }
}

/// The changed graph, the added and the removed edges, and the size of the feature changes, as
/// JSON.
type Attacked<'py> = (
    PyGraph,
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray2<i64>>,
    String,
);

fn pairs<'py>(py: Python<'py>, pairs: &[(u32, u32)]) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let flat = pairs
        .iter()
        .flat_map(|&(u, v)| [i64::from(u), i64::from(v)]);
    PyArray1::from_iter(py, flat).reshape([pairs.len(), 2])
}

/// Attacks a graph. Targets are rows of the model's scores with the classes that the attacker
/// assumes; training nodes are for poisoning attacks.
#[pyfunction]
#[pyo3(signature = (graph, name, settings, model=None, targets=vec![], training=vec![], seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn attack<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    name: &str,
    settings: Vec<SettingText>,
    model: Option<&Bound<'py, PyAny>>,
    targets: Vec<(u32, u32)>,
    training: Vec<(u32, u32)>,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<Attacked<'py>> {
    let attack = name
        .parse::<Attack>()
        .and_then(|known| known.with(&settings))
        .map_err(raised)?;
    let original = graph.get().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let run = move |on: &Graph,
                    model: Option<&dyn Classifier>,
                    targets: &[(u32, u32)],
                    training: &[(u32, u32)]| {
        let rows = on.num_nodes() as u32;
        if let Some((row, _)) = targets
            .iter()
            .chain(training)
            .find(|(row, _)| *row >= rows.max(1))
        {
            return Err(GraphError::argument(
                "attack",
                format!("target {row}, and the graph has {rows} nodes"),
            ));
        }
        if let (Some(model), Some((_, class))) = (
            model,
            targets.iter().chain(training).find(|(_, class)| {
                model.is_some_and(|model| *class as usize >= model.num_classes())
            }),
        ) {
            let what = format!(
                "a target of class {class}, and the model knows {}",
                model.num_classes()
            );
            return Err(GraphError::argument("attack", what));
        }
        attack.run(
            &AttackInput {
                graph: on,
                model,
                targets,
                labels: on.labels(),
                training,
                stop: Some(&stopped),
            },
            seed,
        )
    };
    let (attacked, on) = match model {
        None => {
            let on = original.clone();
            let graph = on.graph.clone();
            (
                work::run(py, n_jobs, &stop, None, move || {
                    run(&graph, None, &targets, &training)
                })?,
                on,
            )
        }
        Some(model) => {
            let (asked, on) = Subject::of(model).asked(py, &original, &stop)?;
            let graph = on.graph.clone();
            let by_answers = attack.is_black_box();
            let attack = move |asked: &SharedSubject| {
                let run = |model: &dyn Classifier| run(&graph, Some(model), &targets, &training);
                if by_answers {
                    asked.with_answers(run)
                } else {
                    asked.with(run)
                }
            };
            (question(py, n_jobs, &stop, asked, attack)?, on)
        }
    };
    let change = attacked.change;
    let changed = match attack.has(Property::Features) {
        true => on.instead(attacked.graph),
        // Edges alone: the features stay as given.
        false => {
            let flips: Vec<(u32, u32)> = change
                .added
                .iter()
                .chain(&change.removed)
                .copied()
                .collect();
            original.instead(flipped(&original.graph, &flips).map_err(raised)?)
        }
    };
    let features = serde_json::to_string(&change.features).map_err(|e| wrong(e.to_string()))?;
    Ok((
        changed,
        pairs(py, &change.added)?,
        pairs(py, &change.removed)?,
        features,
    ))
}

/// Returns the graph after a defence that uses the graph alone.
#[pyfunction]
pub fn purified(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    name: &str,
    settings: Vec<SettingText>,
) -> PyResult<PyGraph> {
    let defense = name
        .parse::<Defense>()
        .and_then(|known| known.with(&settings))
        .map_err(raised)?;
    let (like, on) = (graph.get().clone(), graph.get().graph.clone());
    Ok(like.instead(work::quietly(py, None, move || {
        defense.method().preprocessed(&on)
    })?))
}

/// Measures the changes of a model's predictions around a graph, as JSON, with the distance of
/// every sample.
#[pyfunction]
#[pyo3(signature = (model, graph, target, epsilon, samples, sigmas, norm=None, flips=None, sampler="exact", seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn robustness<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    graph: &Bound<'py, PyGraph>,
    target: &str,
    epsilon: f64,
    samples: usize,
    sigmas: Vec<f64>,
    norm: Option<&str>,
    flips: Option<usize>,
    sampler: &str,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<(String, Bound<'py, PyArray1<f64>>)> {
    let words = RegionOptions {
        target: target.parse().map_err(raised)?,
        norm: norm.map(str::parse).transpose().map_err(raised)?,
        flips,
        sampler: sampler.parse().map_err(raised)?,
    };
    let region = words.region(epsilon).map_err(raised)?;
    let settings = Settings {
        region,
        samples,
        sigmas,
        seed,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let defended = model.cast::<PyDefended>().ok();
    let subject = defended.as_ref().map_or_else(
        || Subject::of(model),
        |defended| defended.get().model.clone_ref(py),
    );
    let (asked, on) = subject.asked(py, graph.get(), &stop)?;
    let reading = match (&defended, &asked) {
        (Some(defended), _) => defended.get().reading.clone(),
        (None, SharedSubject::Fitted(fitted)) => fitted.fitted.fitted_inference().clone(),
        (None, SharedSubject::PythonModel(_)) => FittedInference::default(),
    };
    let graph = on.graph;
    let estimated = move |asked: &SharedSubject| {
        asked.with(|bare| {
            let (found, bounds) = measure(bare, &reading, &graph, &settings)?;
            Ok((found, bounds.map_err(|e| e.to_string())))
        })
    };
    let (found, bounds) = question(py, n_jobs, &stop, asked, estimated)?;
    let (bounds, no_bounds) = match bounds {
        Ok(bounds) => (bounds, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let text = json!({"estimate": found, "bounds": bounds, "no_bounds": no_bounds}).to_string();
    Ok((text, PyArray1::from_vec(py, found.distances)))
}
