//! Densities, [GRATIN](https://arxiv.org/abs/2411.08638) and influence on plain labelled vectors,
//! without a graph.

use std::sync::Arc;

use gnarl::augment::density::{Components, Density, FittedDensity};
use gnarl::augment::gratin::{DensitySampling, sample_vectors};
use gnarl::augment::influence::{HeadInfluence, Labelled};
use gnarl_graph::DenseMatrix;
use gnarl_graph::random::stream;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{dense64, given, ids};
use crate::errors::{raised, wrong};
use crate::work;

fn density_named(name: &str, components: Option<&str>) -> PyResult<Density> {
    let density: Density = name.parse().map_err(raised)?;
    let Some(components) = components else {
        return Ok(density);
    };
    if !density.takes_components() {
        return Err(wrong(format!(
            "components: belongs to mixtures, and the density is {density}"
        )));
    }
    let components: Components = components.parse().map_err(raised)?;
    Ok(density.with_components(components))
}

/// A density fitted to vectors.
#[pyclass(frozen, module = "gnarl._gnarl", name = "Density")]
pub struct PyDensity {
    fitted: Arc<dyn FittedDensity>,
    name: String,
}

#[pymethods]
impl PyDensity {
    /// Fits a density to the rows of a matrix.
    #[new]
    #[pyo3(signature = (points, name, components=None, seed=0, n_jobs=None))]
    fn new(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        name: &str,
        components: Option<&str>,
        seed: u64,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let (density, points) = (density_named(name, components)?, dense64(points, "X")?);
        if points.num_rows() == 0 || points.num_cols() == 0 {
            return Err(wrong(format!(
                "X: {} vectors of {} numbers; there must be some",
                points.num_rows(),
                points.num_cols()
            )));
        }
        let fitted = work::quietly(py, n_jobs, move || {
            let (n, d) = (points.num_rows(), points.num_cols());
            let mean: Vec<f64> = (0..d)
                .map(|j| (0..n).map(|i| points.row(i)[j]).sum::<f64>() / n as f64)
                .collect();
            let about = (0..n)
                .flat_map(|i| points.row(i).iter().zip(&mean).map(|(x, m)| x - m))
                .collect();
            density
                .method()
                .fit(&points, &DenseMatrix::new(n, d, about)?, seed)
        })?;
        Ok(Self {
            fitted: Arc::from(fitted),
            name: density.to_string(),
        })
    }

    /// Samples vectors, one per row.
    #[pyo3(signature = (count, seed=0))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if count
            .checked_mul(self.fitted.dim())
            .is_none_or(|size| size > 1 << 32)
        {
            return Err(wrong(format!(
                "{count} vectors of {} numbers are too many",
                self.fitted.dim()
            )));
        }
        let rng = &mut stream(seed, "density draws", 0);
        let drawn: Vec<f64> = (0..count).flat_map(|_| self.fitted.sample(rng)).collect();
        PyArray1::from_vec(py, drawn).reshape([count, self.fitted.dim()])
    }

    /// Returns the logarithm of the density at each row of a matrix.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points = dense64(points, "X")?;
        if points.num_cols() != self.fitted.dim() {
            return Err(wrong(format!(
                "X: vectors of {} numbers, and the density is of {}",
                points.num_cols(),
                self.fitted.dim()
            )));
        }
        let logs: Option<Vec<f64>> = (0..points.num_rows())
            .map(|i| self.fitted.log_density(points.row(i)))
            .collect();
        let logs = logs.ok_or_else(|| {
            wrong(format!(
                "{} draws vectors and cannot say how likely one is here",
                self.name
            ))
        })?;
        Ok(PyArray1::from_vec(py, logs))
    }

    /// Report of the fit, as JSON.
    #[getter]
    fn report(&self) -> PyResult<String> {
        serde_json::to_string(self.fitted.report()).map_err(|e| wrong(e.to_string()))
    }

    /// Dimension of a vector.
    #[getter]
    fn dim(&self) -> usize {
        self.fitted.dim()
    }

    fn __repr__(&self) -> String {
        let report = self.fitted.report();
        format!(
            "Density({:?}: {} components for {} points of {} numbers)",
            self.name,
            report.components,
            report.points,
            self.dim()
        )
    }
}

/// Vectors sampled class by class, their classes, and reports of the fits as JSON.
type Drawn<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>, String);

/// Samples new vectors of each class from a density fitted to the class.
#[pyfunction]
#[pyo3(signature = (vectors, classes, density, components, samples, seed, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn gratin<'py>(
    py: Python<'py>,
    vectors: &Bound<'py, PyAny>,
    classes: &Bound<'py, PyAny>,
    density: &str,
    components: Option<&str>,
    samples: &str,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<Drawn<'py>> {
    let (vectors, classes) = (dense64(vectors, "X")?, ids(classes, "y")?);
    if vectors.num_cols() == 0 {
        return Err(wrong("X: vectors of no numbers"));
    }
    let sampling = DensitySampling {
        density: density_named(density, components)?,
        samples: samples.parse().map_err(raised)?,
    };
    let drawn = work::quietly(py, n_jobs, move || {
        sample_vectors(&vectors, &classes, &sampling, seed)
    })?;
    let fits = serde_json::to_string(&drawn.fits).map_err(|e| wrong(e.to_string()))?;
    let of = PyArray1::from_iter(py, drawn.classes.iter().map(|&c| i64::from(c)));
    Ok((given(py, &drawn.vectors)?, of, fits))
}

/// Returns the influence of one more training vector on the loss on a set, for each candidate:
/// positive if it helps.
#[pyfunction]
#[pyo3(signature = (train, on, candidates, num_classes, decay, n_jobs=None))]
pub fn influence<'py>(
    py: Python<'py>,
    train: (Bound<'py, PyAny>, Bound<'py, PyAny>),
    on: (Bound<'py, PyAny>, Bound<'py, PyAny>),
    candidates: (Bound<'py, PyAny>, Bound<'py, PyAny>),
    num_classes: usize,
    decay: f64,
    n_jobs: Option<usize>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let [train, on, candidates] = [(train, "train"), (on, "on"), (candidates, "candidates")]
        .map(|((x, y), what)| PyResult::Ok((dense64(&x, what)?, ids(&y, what)?)));
    let (train, on, candidates) = (train?, on?, candidates?);
    let found = work::quietly(py, n_jobs, move || {
        let head = HeadInfluence::new(
            Labelled {
                vectors: &train.0,
                classes: &train.1,
            },
            num_classes,
            decay,
        )?;
        let direction = head.direction(Labelled {
            vectors: &on.0,
            classes: &on.1,
        })?;
        head.of(
            Labelled {
                vectors: &candidates.0,
                classes: &candidates.1,
            },
            &direction,
        )
    })?;
    Ok(PyArray1::from_vec(py, found))
}
