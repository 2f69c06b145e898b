//! Robustness of a model around a graph: estimates by sampling, and upper bounds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gnarl::study::robustness::measure;
use gnarl_robust::inference::FittedInference;
use gnarl_robust::robustness::{RegionOptions, Settings};
use numpy::PyArray1;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::raised;
use crate::graph::PyGraph;
use crate::subject::{PyDefended, SharedSubject, Subject, evaluate};

/// Settings of an estimate as Python hands them over: names and numbers.
#[derive(FromPyObject)]
pub struct RobustnessOptions {
    #[pyo3(item)]
    target: String,
    #[pyo3(item)]
    epsilon: f64,
    #[pyo3(item)]
    norm: Option<String>,
    #[pyo3(item)]
    flips: Option<usize>,
    #[pyo3(item)]
    sampler: String,
    #[pyo3(item)]
    samples: usize,
    #[pyo3(item)]
    sigmas: Vec<f64>,
    #[pyo3(item)]
    seed: u64,
}

impl RobustnessOptions {
    /// Returns the settings of the library's study.
    fn settings(self) -> gnarl_graph::Result<Settings> {
        let options = RegionOptions {
            target: self.target.parse()?,
            norm: self.norm.as_deref().map(str::parse).transpose()?,
            flips: self.flips,
            sampler: self.sampler.parse()?,
        };
        Ok(Settings {
            region: options.region(self.epsilon)?,
            samples: self.samples,
            sigmas: self.sigmas,
            seed: self.seed,
        })
    }
}

/// Measures the changes of a model's predictions around a graph, as JSON, with the distance of
/// every sample.
#[pyfunction]
#[pyo3(signature = (model, graph, options, n_jobs=None))]
pub fn robustness<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    graph: &Bound<'py, PyGraph>,
    options: RobustnessOptions,
    n_jobs: Option<usize>,
) -> PyResult<(String, Bound<'py, PyArray1<f64>>)> {
    let settings = options.settings().map_err(raised)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (subject, rule) = match model.cast::<PyDefended>() {
        Ok(defended) => {
            let (subject, rule) = defended.get().parts(py);
            (subject, Some(rule))
        }
        Err(_) => (Subject::of(model), None),
    };
    let (shared, on) = subject.prepared(py, graph.get(), &stop)?;
    let inference = rule.unwrap_or_else(|| match &shared {
        SharedSubject::Fitted(fitted) => fitted.fitted.fitted_inference().clone(),
        SharedSubject::PythonModel(_) => FittedInference::default(),
    });
    let graph = on.graph;
    let estimate = move |shared: &SharedSubject| {
        shared.with(|model| {
            let (found, bounds) = measure(model, &inference, &graph, &settings)?;
            Ok((found, bounds.map_err(|e| e.to_string())))
        })
    };
    let (found, bounds) = evaluate(py, n_jobs, &stop, shared, estimate)?;
    let (bounds, no_bounds) = match bounds {
        Ok(bounds) => (bounds, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let text = json!({"estimate": found, "bounds": bounds, "no_bounds": no_bounds}).to_string();
    Ok((text, PyArray1::from_vec(py, found.distances)))
}
