//! Models that are attacked, measured and defended: ours, or any function of Python's from a graph
//! to scores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gnarl::attack::{Attack, Scene};
use gnarl::classifier::Classifier;
use gnarl::defense::Defense;
use gnarl::inference::{CleanInputs, Defended, Inference, Reading};
use gnarl::perturb::{Ball, FlipLaw, Norm, Sampler, flipped};
use gnarl::robustness::{Bounds, Budget, Region, Settings, estimate};
use gnarl_graph::names::Given;
use gnarl_graph::{DenseMatrix, Error as GraphError, Graph};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::{dense, given, ids};
use crate::errors::{raised_by_graph, wrong};
use crate::graph::PyGraph;
use crate::model::PyFitted;
use crate::work;

/// A function of Python's as a classifier. The GIL is held while it answers, and not otherwise.
pub(crate) struct Outside {
    function: Py<PyAny>,
    num_classes: usize,
    /// What the graphs it is asked about have in common.
    like: PyGraph,
    /// The first exception it raised.
    raised: Mutex<Option<PyErr>>,
    /// Set where nobody waits for answers any more.
    stop: Arc<AtomicBool>,
}

impl Outside {
    /// Asks it once, to learn how many classes there are.
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

impl Classifier for Outside {
    fn num_classes(&self) -> usize {
        self.num_classes
    }

    fn scores(&self, graph: &Graph) -> gnarl::Result<DenseMatrix<f32>> {
        let gone = |what: String| gnarl::Error::Graph(GraphError::argument("model", what));
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

/// A model whose answers are read off by an inference.
#[pyclass(frozen, module = "gnarl._gnarl", name = "Defended")]
pub struct PyDefended {
    model: Subject,
    reading: Reading,
    seed: u64,
    n_jobs: Option<usize>,
}

/// What is attacked, measured or defended.
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

    /// With a graph made ready for it: ours see scaled features, others what they are given.
    pub(crate) fn asked(
        &self,
        py: Python<'_>,
        graph: &PyGraph,
        stop: &Arc<AtomicBool>,
    ) -> PyResult<(Questioned, PyGraph)> {
        match self {
            Subject::Fitted(fitted) if graph.scaled => {
                Ok((Questioned::Fitted(fitted.clone()), graph.clone()))
            }
            Subject::Fitted(fitted) => {
                let scaled = fitted
                    .fitted
                    .scaled(&graph.graph)
                    .map_err(crate::errors::raised)?;
                let scaled = PyGraph {
                    scaled: true,
                    ..graph.instead(scaled)
                };
                Ok((Questioned::Fitted(fitted.clone()), scaled))
            }
            Subject::Function(function) => {
                let outside = Outside::new(py, function.bind(py), graph, stop)?;
                Ok((Questioned::Outside(Box::new(outside)), graph.clone()))
            }
        }
    }
}

/// A subject that can be asked from any thread.
pub(crate) enum Questioned {
    Fitted(PyFitted),
    Outside(Box<Outside>),
}

impl Questioned {
    /// Calls a function with the model as an attacker sees it: on scaled features, by a plain
    /// forward pass.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&dyn Classifier) -> T) -> T {
        match self {
            Questioned::Fitted(fitted) => f(&fitted.fitted.bare()),
            Questioned::Outside(outside) => f(&**outside),
        }
    }

    /// The same for an attacker who judges by answers: inference included, gradients straight
    /// through it.
    fn with_answers<T>(&self, f: impl FnOnce(&dyn Classifier) -> T) -> T {
        match self {
            Questioned::Fitted(fitted) if !fitted.fitted.model().inference.is_plain() => {
                f(&fitted.fitted.answering())
            }
            _ => self.with(f),
        }
    }

    /// The exception that a function raised, rather than what became of it on the way.
    fn or_raised<T>(&self, result: PyResult<T>) -> PyResult<T> {
        match self {
            Questioned::Outside(outside) => {
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
            Questioned::Fitted(_) => result,
        }
    }
}

/// Runs a question about a subject, without the GIL.
pub(crate) fn question<T: Send + 'static>(
    py: Python<'_>,
    n_jobs: Option<usize>,
    stop: &Arc<AtomicBool>,
    asked: Questioned,
    put: impl FnOnce(&Questioned) -> gnarl::Result<T> + Send + 'static,
) -> PyResult<T> {
    let asked = Arc::new(asked);
    let worker = asked.clone();
    let result = work::run(py, n_jobs, stop, None, move || put(&worker));
    asked.or_raised(result)
}

#[pymethods]
impl PyDefended {
    /// An inference over a model. What it has to know of clean inputs it learns from the graph and
    /// training nodes given, or from several graphs.
    #[new]
    #[pyo3(signature = (model, name, settings, clean, train=None, seed=0, n_jobs=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, PyAny>,
        name: &str,
        settings: Vec<Given>,
        clean: Vec<Bound<'_, PyGraph>>,
        train: Option<&Bound<'_, PyAny>>,
        seed: u64,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let inference = name
            .parse::<Inference>()
            .and_then(|known| known.with(&settings))
            .map_err(raised_by_graph)?;
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
            None => inference.fit_to(&Nobody, CleanInputs::Graphs(&[])).map_err(|_| {
                wrong(format!(
                    "{name} learns what clean inputs look like: hand over the graph that the model was trained on"
                ))
            })?,
            Some(first) => {
                let stop = Arc::new(AtomicBool::new(false));
                let (asked, first) = model.asked(py, first.get(), &stop)?;
                let mut graphs = vec![first.graph];
                for other in &clean[1..] {
                    graphs.push(match &model {
                        Subject::Fitted(fitted) => {
                            fitted.fitted.scaled(&other.get().graph).map_err(crate::errors::raised)?
                        }
                        Subject::Function(_) => other.get().graph.clone(),
                    });
                }
                question(py, n_jobs, &stop, asked, move |asked| {
                    asked.with(|model| match (&graphs[..], train) {
                        ([graph], train) => {
                            let all = || (0..graph.num_nodes() as u32).collect();
                            let train = train.unwrap_or_else(all);
                            if let Some(node) = train.iter().find(|&&node| node as usize >= graph.num_nodes()) {
                                let what = format!("training node {node}, and the graph has {}", graph.num_nodes());
                                return Err(GraphError::argument("inference", what).into());
                            }
                            inference.fit(model, graph, &train)
                        }
                        (graphs, _) => inference.fit_to(model, CleanInputs::Graphs(&graphs.iter().collect::<Vec<_>>())),
                    })
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

    /// Distributions over the classes: a row for each node, or one for the graph.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        graph: &Bound<'py, PyGraph>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, graph) = self.model.asked(py, graph.get(), &stop)?;
        let (reading, seed) = (self.reading.clone(), self.seed);
        let answer = move |asked: &Questioned| match asked {
            // The network inside, so that short cuts are taken; the defence comes first.
            Questioned::Fitted(fitted) => {
                let purified = fitted
                    .fitted
                    .model()
                    .defense
                    .method()
                    .purified(&graph.graph)?;
                reading.answer(fitted.fitted.network()?, &purified, seed)
            }
            Questioned::Outside(outside) => reading.answer(&**outside, &graph.graph, seed),
        };
        given(py, &question(py, self.n_jobs, &stop, asked, answer)?)
    }

    /// How far an inference that tests its own assumption may be trusted; None where nothing was
    /// tested.
    #[getter]
    fn trusted(&self) -> Option<f64> {
        self.reading.trusted()
    }

    /// Evaluations of the model for one answer, at most.
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

/// A model for an inference that asks none while it learns.
struct Nobody;

impl Classifier for Nobody {
    fn num_classes(&self) -> usize {
        1
    }

    fn scores(&self, _: &Graph) -> gnarl::Result<DenseMatrix<f32>> {
        Err(GraphError::argument("inference", "there is nothing to learn from").into())
    }
}

/// The changed graph, the edges that are new and those that are gone, and how far features moved,
/// as JSON.
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

/// Attacks a graph. Targets are rows of the model's scores with the classes that the attacker takes
/// them for; training nodes are for attacks on training.
#[pyfunction]
#[pyo3(signature = (graph, name, settings, model=None, targets=vec![], training=vec![], seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn attack<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    name: &str,
    settings: Vec<Given>,
    model: Option<&Bound<'py, PyAny>>,
    targets: Vec<(u32, u32)>,
    training: Vec<(u32, u32)>,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<Attacked<'py>> {
    let attack = name
        .parse::<Attack>()
        .and_then(|known| known.with(&settings))
        .map_err(raised_by_graph)?;
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
            )
            .into());
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
            return Err(GraphError::argument("attack", what).into());
        }
        attack.run(
            &Scene {
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
            let by_answers = attack.method().judges_by_answers();
            let attack = move |asked: &Questioned| {
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
    let changed = match attack.method().changes_features() {
        true => on.instead(attacked.graph),
        // Edges alone: the features stay as they were handed over.
        false => {
            let flips: Vec<(u32, u32)> = change
                .added
                .iter()
                .chain(&change.removed)
                .copied()
                .collect();
            original.instead(flipped(&original.graph, &flips).map_err(raised_by_graph)?)
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

/// The graph after a defence that looks at the graph alone.
#[pyfunction]
pub fn purified(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    name: &str,
    settings: Vec<Given>,
) -> PyResult<PyGraph> {
    let defense = name
        .parse::<Defense>()
        .and_then(|known| known.with(&settings))
        .map_err(raised_by_graph)?;
    let (like, on) = (graph.get().clone(), graph.get().graph.clone());
    Ok(like.instead(work::quietly(py, None, move || {
        defense.method().purified(&on)
    })?))
}

/// How far a model's answers move around a graph, as JSON, and the distance of every sample.
#[pyfunction]
#[pyo3(signature = (model, graph, target, epsilon, samples, sigmas, norm="2", flips=None, sampler="exact", seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn robustness<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    graph: &Bound<'py, PyGraph>,
    target: &str,
    epsilon: f64,
    samples: usize,
    sigmas: Vec<f64>,
    norm: &str,
    flips: Option<usize>,
    sampler: &str,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<(String, Bound<'py, PyArray1<f64>>)> {
    let norm: Norm = norm.parse().map_err(raised_by_graph)?;
    let sampler: Sampler = sampler.parse().map_err(raised_by_graph)?;
    let law = match sampler {
        Sampler::Exact => FlipLaw::Uniform,
        Sampler::Thesis => FlipLaw::Binomial,
    };
    let whole = || match epsilon.fract() == 0.0 && (0.0..1e15).contains(&epsilon) {
        true => Ok(epsilon as usize),
        false => Err(wrong(format!(
            "epsilon: {epsilon} is not a number of edges to flip, which target structure takes"
        ))),
    };
    let ball = || Ball::new(norm, epsilon, sampler).map_err(raised_by_graph);
    let region = match (target, flips) {
        ("features", None) => Region::Features(ball()?),
        ("structure", None) => Region::Structure {
            flips: whole()?,
            law,
        },
        ("both", Some(flips)) => Region::Both {
            ball: ball()?,
            flips,
            law,
        },
        ("both", None) | ("features" | "structure", Some(_)) => {
            return Err(wrong("flips: belongs to target both, which needs it"));
        }
        _ => {
            return Err(wrong(format!(
                "target: '{target}' is not features, structure or both"
            )));
        }
    };
    let budget = match region {
        Region::Features(ball) => Budget::Features {
            norm: ball.norm(),
            epsilon: ball.epsilon(),
        },
        Region::Structure { flips, .. } => Budget::Structure { flips },
        Region::Both { ball, flips, .. } => Budget::Both {
            norm: ball.norm(),
            epsilon: ball.epsilon(),
            flips,
        },
    };
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
        (None, Questioned::Fitted(fitted)) => fitted.fitted.reading().clone(),
        (None, Questioned::Outside(_)) => Reading::default(),
    };
    let (graph, seed) = (on.graph, seed);
    let estimated = move |asked: &Questioned| {
        asked.with(|bare| {
            let found = match reading.is_plain() {
                true => estimate(bare, &graph, &settings)?,
                false => estimate(
                    &Defended {
                        model: bare,
                        reading: &reading,
                        seed,
                    },
                    &graph,
                    &settings,
                )?,
            };
            let bounds = match (reading.is_plain(), bare.white_box()) {
                (false, _) => {
                    Err("they are for a plain forward pass, not for another inference".to_string())
                }
                (_, None) => Err(
                    "they are for plain networks of gnarl, without exits and defences".to_string(),
                ),
                (true, Some(network)) => Bounds::new(network, &graph)
                    .and_then(|bounds| bounds.within(budget))
                    .map_err(|e| e.to_string()),
            };
            Ok((found, bounds))
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
