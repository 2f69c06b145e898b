//! One worker's copy of a model in distributed training: gradients out, averaged gradients in.
//! `gnarl.ray` coordinates the workers.

use std::sync::{Arc, Mutex, PoisonError};

use gnarl::model::SharedTraining;
use gnarl_data::{Content, SplitData};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{raised, wrong};
use crate::graph::{Parts, data, dataset, split_of};
use crate::model::{ModelDescription, PyFitted};
use crate::work;

/// One worker of a distributed training.
#[pyclass(frozen, module = "gnarl._gnarl", name = "SharedTraining")]
pub struct PySharedTraining {
    training: Arc<Mutex<Option<SharedTraining>>>,
    n_jobs: Option<usize>,
}

/// A loss, flattened gradients, and the number of nodes they cover.
type Share<'py> = (f32, Bound<'py, PyArray1<f32>>, usize);

/// Weights and moments, then learning rates and steps.
type State<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f64>>);

fn over() -> gnarl_graph::Error {
    gnarl_graph::Error::argument("shared training", "it is finished")
}

impl PySharedTraining {
    /// Runs a function on the training, off the interpreter.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut SharedTraining) -> gnarl_graph::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let training = self.training.clone();
        work::quietly(py, self.n_jobs, move || {
            let mut training = training.lock().unwrap_or_else(PoisonError::into_inner);
            work(training.as_mut().ok_or_else(over)?)
        })
    }
}

#[pymethods]
impl PySharedTraining {
    #[new]
    #[pyo3(signature = (on, description, split=None, seed=0, n_jobs=None))]
    fn new(
        py: Python<'_>,
        on: &Bound<'_, PyAny>,
        description: ModelDescription,
        split: Option<Parts<'_>>,
        seed: u64,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let on = data(on)?;
        if on.scaled {
            return Err(wrong(
                "the features of this graph are scaled for another model; take the graph they come from",
            ));
        }
        let model = description.model(&on.name, on.content.task())?;
        let split = split.as_ref().map(split_of).transpose()?;
        if let Some(split) = &split {
            split.check_range(on.content.num_items()).map_err(raised)?;
        }
        let training = work::quietly(py, n_jobs, move || {
            let on = match (split, on.content) {
                (Some(split), content @ Content::Graph(_)) => SplitData {
                    name: on.name,
                    content,
                    split,
                },
                (_, content) => dataset(&on.name, content, on.entry)
                    .benchmark(seed, 1)?
                    .first(),
            };
            SharedTraining::new(&model, on, seed)
        })?;
        Ok(Self {
            training: Arc::new(Mutex::new(Some(training))),
            n_jobs,
        })
    }

    /// Returns the number of requested epochs, and of steps per epoch.
    fn plan(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.with(py, |training| {
            Ok((training.plan().training.epochs, training.steps()))
        })
    }

    /// Returns the number of steps done.
    fn steps_done(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |training| Ok(training.steps_done()))
    }

    /// Computes the mean loss over a worker's share of a step's nodes, its gradients, and the
    /// number of these nodes.
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        epoch: usize,
        step: usize,
        worker: usize,
        workers: usize,
    ) -> PyResult<Share<'py>> {
        let (loss, gradients, count) = self.with(py, move |training| {
            training.gradients(epoch, step, worker, workers)
        })?;
        Ok((loss, PyArray1::from_vec(py, gradients), count))
    }

    /// Makes a step with averaged gradients.
    fn step(&self, py: Python<'_>, gradients: PyReadonlyArray1<'_, f32>) -> PyResult<()> {
        let gradients = gradients
            .as_slice()
            .map_err(|_| wrong("gradients: not one after the other in memory"))?
            .to_vec();
        self.with(py, move |training| training.step(&gradients))
    }

    /// Ends an epoch, counted from 1.
    fn end_epoch(&self, py: Python<'_>, epoch: usize) -> PyResult<()> {
        self.with(py, move |training| {
            training.end_epoch(epoch);
            Ok(())
        })
    }

    /// Returns the full training state.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let (values, rates) = self.with(py, |training| training.state())?;
        Ok((
            PyArray1::from_vec(py, values),
            PyArray1::from_vec(py, rates),
        ))
    }

    /// Restores a state, which may be another worker's.
    fn restore(
        &self,
        py: Python<'_>,
        values: PyReadonlyArray1<'_, f32>,
        rates: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<()> {
        let contiguous = |_| wrong("state: not one after the other in memory");
        let (values, rates) = (
            values.as_slice().map_err(contiguous)?.to_vec(),
            rates.as_slice().map_err(contiguous)?.to_vec(),
        );
        self.with(py, move |training| training.restore(&values, &rates))
    }

    /// Computes the accuracy on validation nodes, in per cent, without sampling.
    fn validation_accuracy(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |training| training.validation_accuracy())
    }

    /// Returns the current model; the training ends with it.
    fn finish(&self, py: Python<'_>) -> PyResult<PyFitted> {
        let training = self
            .training
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let training = training.ok_or_else(|| raised(over()))?;
        let fitted = work::quietly(py, self.n_jobs, move || training.finish())?;
        Ok(PyFitted {
            fitted: Arc::new(fitted),
        })
    }
}
