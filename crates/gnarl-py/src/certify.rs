//! Certificates: every method for fitted models, and the methods that cover any model for Python
//! functions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gnarl::study::certify::{
    self as study, Certificate, Certified, CertifiedNode, Request, Target,
};
use gnarl_data::Content;
use gnarl_graph::Error as GraphError;
use gnarl_graph::settings::SettingText;
use gnarl_robust::robustness::SampleCallbacks;
use numpy::PyArray1;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::ids;
use crate::errors::{raised, wrong};
use crate::graph::{PyGraph, data};
use crate::model::PyFitted;
use crate::outside::{SharedSubject, Subject, question};
use crate::work;

/// Certified shares by radius as JSON; then per node or graph its id, the certified class, its
/// radius, and the deletions of smoothing by flips.
type Found<'py> = (
    String,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray1<i64>>>,
);

fn watch(stop: &AtomicBool) -> SampleCallbacks<'_> {
    SampleCallbacks {
        on_samples: &|_| {},
        stop,
    }
}

/// Returns the requested certificate on some data, and its target.
fn chosen(request: &Request, content: &Content) -> PyResult<(Certificate, Target)> {
    let threat = request.threat(Some(content));
    let certificates = request.certificates(threat).map_err(raised)?;
    let first = certificates.into_iter().next();
    let first = first.ok_or_else(|| wrong("method: name a certificate"))?;
    Ok((first, threat.target))
}

/// Certifies the predictions of a model for nodes of a graph or for a set of graphs. Unset settings
/// are filled in as the command line does.
#[pyfunction]
#[pyo3(signature = (model, on, method, settings, target=None, items=None, seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn certify<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    on: &Bound<'py, PyAny>,
    method: &str,
    settings: Vec<SettingText>,
    target: Option<&str>,
    items: Option<&Bound<'py, PyAny>>,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<Found<'py>> {
    let method: Certificate = method.parse().map_err(raised)?;
    let target = target.map(str::parse).transpose();
    let request = Request {
        methods: vec![study::MethodName::One(Box::new(method))],
        target: target.map_err(raised)?,
        settings,
    };
    let items = items.map(|items| ids(items, "items")).transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let (found, target) = if let Ok(fitted) = model.cast::<PyFitted>() {
        let (on, fitted) = (data(on)?, fitted.get().fitted.clone());
        if on.scaled {
            return Err(wrong(
                "certify: the features of this graph are scaled already; hand over the graph they come from",
            ));
        }
        let (certificate, target) = chosen(&request, &on.content)?;
        let certify = move || {
            study::certify(
                &fitted,
                &on.content,
                &certificate,
                target,
                items,
                watch(&stopped),
            )
        };
        (work::run(py, n_jobs, &stop, None, certify)?, target)
    } else {
        study::check_any(&method).map_err(raised)?;
        let graph = on.cast::<PyGraph>()?.get();
        let content = Content::Graph(graph.graph.clone());
        let (certificate, target) = chosen(&request, &content)?;
        let (subject, graph) = Subject::of(model).asked(py, graph, &stop)?;
        let graph = graph.graph;
        let items = items.unwrap_or_else(|| (0..graph.num_nodes() as u32).collect());
        let certify = move |asked: &SharedSubject| {
            asked.with(|model| {
                study::certify_any(
                    model,
                    &graph,
                    &certificate,
                    target,
                    items,
                    seed,
                    watch(&stopped),
                )
            })
        };
        (question(py, n_jobs, &stop, subject, certify)?, target)
    };
    let Some(found) = found else {
        return Err(raised(GraphError::argument(
            "certify",
            "stopped before all samples were drawn",
        )));
    };
    given(py, &found, target)
}

fn given<'py>(py: Python<'py>, found: &Certified, target: Target) -> PyResult<Found<'py>> {
    let text = json!({
        "method": found.method,
        "target": target,
        "certified": found.certified,
        "by_flips": found.by_flips,
        "certifiable": found.certifiable,
        "smoothed_accuracy": found.smoothed_accuracy,
    });
    let whole = |of: fn(&CertifiedNode) -> i64| PyArray1::from_iter(py, found.nodes.iter().map(of));
    let deletions: Option<Vec<i64>> = found
        .nodes
        .iter()
        .map(|node| node.deletions.map(|d| d as i64))
        .collect();
    let deletions = deletions.filter(|deletions| !deletions.is_empty());
    Ok((
        text.to_string(),
        whole(|node| i64::from(node.node)),
        whole(|node| node.class as i64),
        PyArray1::from_iter(py, found.nodes.iter().map(|node| node.radius)),
        deletions.map(|deletions| PyArray1::from_vec(py, deletions)),
    ))
}
