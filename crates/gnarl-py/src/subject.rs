//! Models under attack, measurement or defence: fitted models, and any Python function from a graph
//! to scores, with an inference rule if they have one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gnarl::study::predict::{Clean, fit_inference, under, without_inputs};
use gnarl_graph::settings::SettingText;
use gnarl_graph::{DenseMatrix, Error as GraphError, Graph};
use gnarl_robust::classifier::Classifier;
use gnarl_robust::inference::{FittedInference, Inference};
use numpy::PyArray2;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

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
        new.num_classes = new.call(py, &like.graph)?.num_cols();
        Ok(new)
    }

    /// Calls the function on a graph and checks its scores.
    fn call(&self, py: Python<'_>, graph: &Graph) -> PyResult<DenseMatrix<f32>> {
        let scores = self
            .function
            .call1(py, (Bound::new(py, self.like.with_graph(graph.clone()))?,))?;
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
        let failed = |what: String| GraphError::argument("model", what);
        if self.stop.load(Ordering::Relaxed) {
            return Err(failed("the computation was cancelled".into()));
        }
        Python::attach(|py| self.call(py, graph)).map_err(|error| {
            let what = error.to_string();
            self.raised
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(error);
            failed(what)
        })
    }
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

    /// Makes the model callable from any thread, and prepares a graph for it: fitted models get
    /// scaled features, functions get the graph as given.
    pub(crate) fn prepared(
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
                    ..graph.with_graph(self.scaled(&graph.graph)?)
                };
                Ok((SharedSubject::Fitted(fitted.clone()), scaled))
            }
            Subject::Function(function) => {
                let model = PythonModel::new(py, function.bind(py), graph, stop)?;
                Ok((SharedSubject::PythonModel(Box::new(model)), graph.clone()))
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
            SharedSubject::PythonModel(model) => f(&**model),
        }
    }

    /// Calls a function with the model including its inference rule, for attacks on predictions;
    /// gradients pass straight through the rule.
    pub(crate) fn with_inference<T>(&self, f: impl FnOnce(&dyn Classifier) -> T) -> T {
        match self {
            SharedSubject::Fitted(fitted) if !fitted.fitted.model().inference.is_plain() => {
                f(&fitted.fitted.adaptive_target())
            }
            _ => self.with(f),
        }
    }

    /// Returns the exception raised by the function instead of errors that follow from it.
    fn or_raised<T>(&self, result: PyResult<T>) -> PyResult<T> {
        let SharedSubject::PythonModel(model) = self else {
            return result;
        };
        let mut first = model.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match first.take() {
            Some(raised) if result.is_err() => Err(raised),
            _ => result,
        }
    }
}

/// Runs a computation on a model, without the GIL.
pub(crate) fn evaluate<T: Send + 'static>(
    py: Python<'_>,
    n_jobs: Option<usize>,
    stop: &Arc<AtomicBool>,
    model: SharedSubject,
    compute: impl FnOnce(&SharedSubject) -> gnarl_graph::Result<T> + Send + 'static,
) -> PyResult<T> {
    let model = Arc::new(model);
    let worker = model.clone();
    let result = work::run(py, n_jobs, stop, None, move || compute(&worker));
    model.or_raised(result)
}

/// A model with an inference rule.
#[pyclass(frozen, module = "gnarl._gnarl", name = "Defended")]
pub struct PyDefended {
    model: Subject,
    inference: FittedInference,
    seed: u64,
    n_jobs: Option<usize>,
}

impl PyDefended {
    /// Returns the model without the rule, and the rule.
    pub(crate) fn parts(&self, py: Python<'_>) -> (Subject, FittedInference) {
        (self.model.clone_ref(py), self.inference.clone())
    }
}

/// Fits an inference rule on clean graphs: the first with its training nodes, or several.
fn fitted_rule(
    py: Python<'_>,
    model: &Subject,
    inference: Inference,
    clean: &[Bound<'_, PyGraph>],
    train: Option<Vec<u32>>,
    (seed, n_jobs): (u64, Option<usize>),
) -> PyResult<FittedInference> {
    let [first, others @ ..] = clean else {
        return without_inputs(inference).map_err(raised);
    };
    let stop = Arc::new(AtomicBool::new(false));
    let (shared, first) = model.prepared(py, first.get(), &stop)?;
    let mut graphs = vec![first.graph];
    for other in others {
        graphs.push(model.scaled(&other.get().graph)?);
    }
    evaluate(py, n_jobs, &stop, shared, move |shared| {
        let clean = match &graphs[..] {
            [graph] => Clean::Graph {
                graph,
                train: train.as_deref(),
                val: None,
            },
            graphs => Clean::Graphs(graphs),
        };
        shared.with(|model| fit_inference(inference, model, clean, seed))
    })
}

#[pymethods]
impl PyDefended {
    /// Makes a model with an inference rule, which is fitted on clean inputs: the graph and
    /// training nodes given, or several graphs.
    #[new]
    #[pyo3(signature = (model, name, settings, clean, train=None, seed=0, n_jobs=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the arguments of a Python function"
    )]
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
        let inference = fitted_rule(py, &model, inference, &clean, train, (seed, n_jobs))?;
        Ok(Self {
            model,
            inference,
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
        let (model, graph) = self.model.prepared(py, graph.get(), &stop)?;
        let (inference, seed) = (self.inference.clone(), self.seed);
        let predict = move |model: &SharedSubject| match model {
            SharedSubject::Fitted(fitted) => under(&fitted.fitted, &inference, &graph.graph, seed),
            SharedSubject::PythonModel(model) => inference.predict(&**model, &graph.graph, seed),
        };
        given(py, &evaluate(py, self.n_jobs, &stop, model, predict)?)
    }

    /// Largest perturbation under which the assumption of the inference rule held in its own test:
    /// a standard deviation of noise, or a share of added edges; None without such a test.
    #[getter]
    fn perturbation_limit(&self) -> Option<f64> {
        self.inference.tested_limit()
    }

    /// Maximum number of evaluations of the model per prediction.
    #[getter]
    fn evaluations(&self) -> usize {
        self.inference.inference().evaluations()
    }

    fn __repr__(&self) -> String {
        format!(
            "Defended({}, at most {} evaluations)",
            self.inference.inference(),
            self.evaluations()
        )
    }
}
