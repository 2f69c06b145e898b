//! Attacks on graphs, and defences that preprocess a graph.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gnarl_graph::settings::SettingText;
use gnarl_graph::{Error as GraphError, Graph};
use gnarl_robust::attack::{Attack, AttackInput, Attacked, Property};
use gnarl_robust::classifier::Classifier;
use gnarl_robust::defense::Defense;
use gnarl_robust::perturb::flipped;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::errors::{raised, wrong};
use crate::graph::PyGraph;
use crate::subject::{SharedSubject, Subject, evaluate};
use crate::work;

/// The changed graph, the added and the removed edges, and the size of the feature changes, as
/// JSON.
type Change<'py> = (
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

/// An attack with everything but the graph and the model.
struct Task {
    attack: Attack,
    targets: Vec<(u32, u32)>,
    training: Vec<(u32, u32)>,
    seed: u64,
    stop: Arc<AtomicBool>,
}

impl Task {
    /// Checks that every target is a row of the scores and that the model has its class.
    fn check(&self, graph: &Graph, model: Option<&dyn Classifier>) -> gnarl_graph::Result<()> {
        let rows = graph.num_nodes() as u32;
        let mut all = self.targets.iter().chain(&self.training);
        if let Some((row, _)) = all.clone().find(|(row, _)| *row >= rows.max(1)) {
            return Err(GraphError::argument(
                "attack",
                format!("target {row}, and the graph has {rows} nodes"),
            ));
        }
        let Some(classes) = model.map(Classifier::num_classes) else {
            return Ok(());
        };
        match all.find(|(_, class)| *class as usize >= classes) {
            None => Ok(()),
            Some((_, class)) => Err(GraphError::argument(
                "attack",
                format!("a target of class {class}, and the model knows {classes}"),
            )),
        }
    }

    fn run(&self, graph: &Graph, model: Option<&dyn Classifier>) -> gnarl_graph::Result<Attacked> {
        self.check(graph, model)?;
        let input = AttackInput {
            graph,
            model,
            targets: &self.targets,
            labels: graph.labels(),
            training: &self.training,
            stop: Some(&self.stop),
        };
        self.attack.run(&input, self.seed)
    }

    /// Attacks a model: its predictions if the attack is black-box, else a plain forward pass.
    fn run_on(&self, graph: &Graph, model: &SharedSubject) -> gnarl_graph::Result<Attacked> {
        if self.attack.is_black_box() {
            model.with_inference(|model| self.run(graph, Some(model)))
        } else {
            model.with(|model| self.run(graph, Some(model)))
        }
    }
}

/// Attacks a graph. Targets are rows of the model's scores with the classes that the attacker
/// assumes; training nodes are for poisoning attacks.
#[pyfunction]
#[pyo3(signature = (graph, name, settings, model=None, targets=vec![], training=vec![], seed=0, n_jobs=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of a Python function"
)]
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
) -> PyResult<Change<'py>> {
    let attack = name
        .parse::<Attack>()
        .and_then(|known| known.with(&settings))
        .map_err(raised)?;
    let changes_features = attack.has(Property::Features);
    let original = graph.get().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let task = Task {
        attack,
        targets,
        training,
        seed,
        stop: stop.clone(),
    };
    let (attacked, on) = match model {
        None => {
            let graph = original.graph.clone();
            let run = move || task.run(&graph, None);
            (work::run(py, n_jobs, &stop, None, run)?, original.clone())
        }
        Some(model) => {
            let (model, on) = Subject::of(model).prepared(py, &original, &stop)?;
            let graph = on.graph.clone();
            let run = move |model: &SharedSubject| task.run_on(&graph, model);
            (evaluate(py, n_jobs, &stop, model, run)?, on)
        }
    };
    let change = attacked.change;
    let changed = if changes_features {
        on.with_graph(attacked.graph)
    } else {
        // Edges alone: the features stay as given.
        let flips: Vec<(u32, u32)> = change
            .added
            .iter()
            .chain(&change.removed)
            .copied()
            .collect();
        original.with_graph(flipped(&original.graph, &flips).map_err(raised)?)
    };
    let features = serde_json::to_string(&change.features).map_err(|e| wrong(e.to_string()))?;
    Ok((
        changed,
        pairs(py, &change.added)?,
        pairs(py, &change.removed)?,
        features,
    ))
}

/// Returns the graph after a defence that preprocesses it.
#[pyfunction]
pub fn preprocessed(
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
    Ok(like.with_graph(work::quietly(py, None, move || {
        defense.method().preprocessed(&on)
    })?))
}
