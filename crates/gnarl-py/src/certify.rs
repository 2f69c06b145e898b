//! Certificates: of fitted models by every method, of a function of Python's by smoothing.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gnarl::robustness::SampleWatch;
use gnarl::study::certify::{self as study, Certificate, Certified, Method, Target};
use gnarl_graph::Error as GraphError;
use gnarl_graph::dataset::Task;
use numpy::PyArray1;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::ids;
use crate::errors::{raised_by_graph, wrong};
use crate::graph::{PyGraph, data};
use crate::model::PyFitted;
use crate::outside::{Questioned, Subject, question};
use crate::work;

/// What may be said of certificates, by the names that Python has for it.
#[derive(FromPyObject)]
pub struct Settings {
    #[pyo3(item)]
    p_plus: Option<f64>,
    #[pyo3(item)]
    p_minus: Option<f64>,
    #[pyo3(item)]
    edge_p_plus: Option<f64>,
    #[pyo3(item)]
    edge_p_minus: Option<f64>,
    #[pyo3(item)]
    gaussian: Option<f64>,
    #[pyo3(item)]
    samples: Option<usize>,
    #[pyo3(item)]
    selection: Option<usize>,
    #[pyo3(item)]
    alpha: Option<f64>,
    #[pyo3(item)]
    simultaneous: bool,
    #[pyo3(item)]
    rule: Option<String>,
    #[pyo3(item)]
    norm: Option<String>,
    #[pyo3(item)]
    scope: Option<String>,
    #[pyo3(item)]
    radii: Vec<f64>,
    #[pyo3(item)]
    max_radius: Option<usize>,
    #[pyo3(item)]
    threat: Option<String>,
    #[pyo3(item)]
    local: Option<usize>,
}

impl Settings {
    /// Settings of other methods are refused, not ignored.
    fn check(&self, method: Method, target: Target) -> PyResult<()> {
        let smoothing = method == Method::Smoothing;
        let flips = smoothing && self.gaussian.is_none();
        let moved = method == Method::Lipschitz && target == Target::Features;
        let given: [(&str, bool, bool); 16] = [
            ("p_plus", self.p_plus.is_some(), flips),
            ("p_minus", self.p_minus.is_some(), flips),
            (
                "edge_p_plus",
                self.edge_p_plus.is_some(),
                flips && target == Target::Both,
            ),
            (
                "edge_p_minus",
                self.edge_p_minus.is_some(),
                flips && target == Target::Both,
            ),
            (
                "gaussian",
                self.gaussian.is_some(),
                smoothing && target == Target::Features,
            ),
            ("samples", self.samples.is_some(), smoothing),
            ("selection", self.selection.is_some(), smoothing),
            ("alpha", self.alpha.is_some(), smoothing),
            ("simultaneous", self.simultaneous, smoothing),
            ("rule", self.rule.is_some(), smoothing),
            ("norm", self.norm.is_some(), moved),
            ("scope", self.scope.is_some(), moved),
            ("radii", !self.radii.is_empty(), moved),
            (
                "max_radius",
                self.max_radius.is_some(),
                !smoothing && !moved,
            ),
            ("threat", self.threat.is_some(), method == Method::Exact),
            ("local", self.local.is_some(), method == Method::Convex),
        ];
        match given
            .iter()
            .find(|(_, is_given, applies)| *is_given && !applies)
        {
            Some((name, ..)) => Err(wrong(format!(
                "{name}: does not belong to {method} of {target}"
            ))),
            None => Ok(()),
        }
    }

    fn asked(self) -> gnarl_graph::Result<study::Asked> {
        Ok(study::Asked {
            p_plus: self.p_plus,
            p_minus: self.p_minus,
            edge_p_plus: self.edge_p_plus,
            edge_p_minus: self.edge_p_minus,
            gaussian: self.gaussian,
            samples: self.samples,
            selection: self.selection,
            alpha: self.alpha,
            simultaneous: self.simultaneous,
            rule: self.rule.map(|name| name.parse()).transpose()?,
            norm: self.norm.map(|name| name.parse()).transpose()?,
            scope: self.scope.map(|name| name.parse()).transpose()?,
            radii: self.radii,
            counted: false,
            max_radius: self.max_radius,
            threat: self.threat.map(|name| name.parse()).transpose()?,
            local: self.local,
        })
    }
}

/// Shares by radius as JSON; then of every item its id, the class that is certified, its radius,
/// and of smoothing by flips its deletions.
type Found<'py> = (
    String,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray1<i64>>>,
);

/// What no attacker within a radius can change of a model's answers about a graph or a set of
/// graphs.
#[pyfunction]
#[pyo3(signature = (model, on, method, target, settings, items=None, seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn certify<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    on: &Bound<'py, PyAny>,
    method: &str,
    target: &str,
    settings: Settings,
    items: Option<&Bound<'py, PyAny>>,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<Found<'py>> {
    let method: Method = method.parse().map_err(raised_by_graph)?;
    let target: Target = target.parse().map_err(raised_by_graph)?;
    settings.check(method, target)?;
    let items = items.map(|items| ids(items, "items")).transpose()?;
    let asked = settings.asked().map_err(raised_by_graph)?;
    let certificate = |task: Task| {
        asked
            .certificate(method, target, task)
            .map_err(raised_by_graph)
    };
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let found = if let Ok(fitted) = model.cast::<PyFitted>() {
        let (on, fitted) = (data(on)?, fitted.get().fitted.clone());
        if on.scaled {
            return Err(wrong(
                "certify: the features of this graph are scaled already; hand over the graph they come from",
            ));
        }
        let (content, certificate) = (on.content, certificate(fitted.task())?);
        if content.task() != fitted.task() {
            return Err(wrong(format!(
                "certify: the model classifies {}s, and this is no such data",
                fitted.task()
            )));
        }
        work::run(py, n_jobs, &stop, None, move || {
            let watch = SampleWatch {
                on_samples: &|_| {},
                stop: &stopped,
            };
            study::certify(&fitted, &content, &certificate, items, watch)
        })?
    } else {
        let Certificate::Smoothing(settings) = certificate(Task::Node)? else {
            return Err(wrong(format!(
                "method: {method} looks into a network of gnarl's; smoothing asks any model"
            )));
        };
        let graph = on.cast::<PyGraph>()?.get();
        let (subject, graph) = Subject::of(model).asked(py, graph, &stop)?;
        let graph = graph.graph;
        question(py, n_jobs, &stop, subject, move |asked: &Questioned| {
            let all = || (0..graph.num_nodes() as u32).collect();
            let items = items.unwrap_or_else(all);
            let watch = SampleWatch {
                on_samples: &|_| {},
                stop: &stopped,
            };
            asked.with(|model| study::certify_any(model, &graph, &settings, items, seed, watch))
        })?
    };
    let Some(found) = found else {
        return Err(raised_by_graph(GraphError::argument(
            "certify",
            "stopped before all samples were drawn",
        )));
    };
    given(py, &found)
}

fn given<'py>(py: Python<'py>, found: &Certified) -> PyResult<Found<'py>> {
    let text = json!({"certified": found.certified, "by_flips": found.by_flips, "certifiable": found.certifiable,
        "smoothed_accuracy": found.smoothed_accuracy})
    .to_string();
    let whole =
        |of: fn(&study::CertifiedNode) -> i64| PyArray1::from_iter(py, found.nodes.iter().map(of));
    let deletions: Option<Vec<i64>> = found
        .nodes
        .iter()
        .map(|node| node.deletions.map(|d| d as i64))
        .collect();
    let deletions = deletions.filter(|deletions| !deletions.is_empty());
    Ok((
        text,
        whole(|node| i64::from(node.node)),
        whole(|node| node.class as i64),
        PyArray1::from_iter(py, found.nodes.iter().map(|node| node.radius)),
        deletions.map(|deletions| PyArray1::from_vec(py, deletions)),
    ))
}
