//! Single parts of the library: graph statistics and graph generators.

use gnarl_graph::centrality::Centrality;
use gnarl_graph::community::{ClusterConfig, Method, cluster};

use gnarl_graph::generate::{CsbmConfig, SbbamConfig, SbmConfig};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::spectrum::{
    EigenSettings, ReportSettings, Which, centrality_eigenpairs, report, sparse_eigenpairs,
};
use gnarl_graph::{Graph, metrics, properties};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Csr, given, given_csr, ids};
use crate::errors::{raised, wrong};
use crate::graph::PyGraph;
use crate::work;

fn centrality_named(name: &str) -> PyResult<Centrality> {
    name.parse().map_err(raised)
}

/// Returns the centrality of each node.
#[pyfunction]
#[pyo3(signature = (graph, kind, n_jobs=None))]
pub fn centrality<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    kind: &str,
    n_jobs: Option<usize>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (kind, graph) = (centrality_named(kind)?, graph.get().graph.clone());
    Ok(PyArray1::from_vec(
        py,
        work::quietly(py, n_jobs, move || kind.scores(&graph))?,
    ))
}

/// Returns a classical operator of a graph.
#[pyfunction]
pub fn operator<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    name: &str,
) -> PyResult<Csr<'py>> {
    let operator: ClassicalOperator = name.parse().map_err(raised)?;
    let graph = graph.get().graph.clone();
    Ok(given_csr(
        py,
        &work::quietly(py, None, move || operator.matrix(&graph))?,
    ))
}

/// Returns `V^e2 A V^e3` for the values V of a centrality.
#[pyfunction]
pub fn centrality_operator<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    kind: &str,
    e2: f64,
    e3: f64,
) -> PyResult<Csr<'py>> {
    let (kind, graph) = (centrality_named(kind)?, graph.get().graph.clone());
    let matrix = work::quietly(py, None, move || {
        gnarl_graph::operator::centrality_operator(&graph, &kind.values(&graph)?, e2, e3)
    })?;
    Ok(given_csr(py, &matrix))
}

/// Eigenvalues and their eigenvectors.
type Pairs<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// Returns eigenvalues at one end of the spectrum of a symmetric classical operator, or of a
/// centrality operator, and their eigenvectors as columns.
#[pyfunction]
#[pyo3(signature = (graph, name, k, which, exponents=None, n_jobs=None))]
pub fn eigenpairs<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    name: &str,
    k: usize,
    which: &str,
    exponents: Option<(f64, f64)>,
    n_jobs: Option<usize>,
) -> PyResult<Pairs<'py>> {
    let which = match which {
        "largest" => Which::Largest,
        "smallest" => Which::Smallest,
        "magnitude" => Which::LargestMagnitude,
        _ => {
            return Err(wrong(format!(
                "which: '{which}' is not largest, smallest or magnitude"
            )));
        }
    };
    let graph = graph.get().graph.clone();
    if k > graph.num_nodes() {
        return Err(wrong(format!(
            "k: {k} eigenvalues of a graph of {} nodes",
            graph.num_nodes()
        )));
    }
    let pairs = match exponents {
        None => {
            let operator: ClassicalOperator = name.parse().map_err(raised)?;
            work::quietly(py, n_jobs, move || {
                sparse_eigenpairs(
                    &operator.matrix(&graph)?,
                    k,
                    which,
                    &EigenSettings::default(),
                )
            })?
        }
        Some((e2, e3)) => {
            let kind = centrality_named(name)?;
            work::quietly(py, n_jobs, move || {
                centrality_eigenpairs(&graph, &kind.values(&graph)?, e2, e3, k, which)
            })?
        }
    };
    Ok((
        PyArray1::from_slice(py, &pairs.values),
        given(py, &pairs.vectors)?,
    ))
}

/// Returns spectra, constants and inequalities of a graph and a centrality, as JSON.
#[pyfunction]
#[pyo3(signature = (graph, kind, n_jobs=None))]
pub fn spectrum_report(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    kind: &str,
    n_jobs: Option<usize>,
) -> PyResult<String> {
    let (kind, graph) = (centrality_named(kind)?, graph.get().graph.clone());
    let found = work::quietly(py, n_jobs, move || {
        report(&graph, kind, &ReportSettings::default())
    })?;
    serde_json::to_string(&found).map_err(|e| wrong(e.to_string()))
}

/// Returns the community of each node.
#[pyfunction]
#[pyo3(signature = (graph, method, clusters=None, centrality=None, e2=None, e3=None, n_init=None, seed=0, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub fn communities<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    method: &str,
    clusters: Option<usize>,
    centrality: Option<&str>,
    e2: Option<f64>,
    e3: Option<f64>,
    n_init: Option<usize>,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let method: Method = method.parse().map_err(raised)?;
    let of_cgso = [
        ("centrality", centrality.is_some()),
        ("e2", e2.is_some()),
        ("e3", e3.is_some()),
    ];
    if let (true, Some((option, _))) = (
        method != Method::Cgso,
        of_cgso.iter().find(|(_, given)| *given),
    ) {
        return Err(wrong(format!(
            "{option}: belongs to cgso, and the method is {method}"
        )));
    }
    if n_init.is_some() && !method.uses_kmeans() {
        return Err(wrong(format!(
            "n_init: belongs to methods that end with k-means, and the method is {method}"
        )));
    }
    let defaults = ClusterConfig::new(method);
    let config = ClusterConfig {
        centrality: centrality
            .map(centrality_named)
            .transpose()?
            .unwrap_or(defaults.centrality),
        e2: e2.unwrap_or(defaults.e2),
        e3: e3.unwrap_or(defaults.e3),
        clusters,
        n_init: n_init.unwrap_or(defaults.n_init),
        ..defaults
    };
    let graph = graph.get().graph.clone();
    let found = work::quietly(py, n_jobs, move || cluster(&graph, &config, seed))?;
    Ok(PyArray1::from_iter(py, found.into_iter().map(i64::from)))
}

/// Returns Newman's modularity of communities.
#[pyfunction]
pub fn modularity(
    graph: &Bound<'_, PyGraph>,
    communities: &Bound<'_, PyAny>,
    resolution: f64,
) -> PyResult<f64> {
    metrics::modularity(
        &graph.get().graph,
        &ids(communities, "communities")?,
        resolution,
    )
    .map_err(raised)
}

/// Returns the statistics of a graph.
#[pyfunction]
pub fn describe<'py>(py: Python<'py>, graph: &Bound<'py, PyGraph>) -> PyResult<Bound<'py, PyDict>> {
    let graph = &graph.get().graph;
    let degrees = properties::degree_summary(graph);
    let all = PyDict::new(py);
    all.set_item("nodes", graph.num_nodes())?;
    all.set_item("edges", graph.num_edges())?;
    all.set_item("density", properties::density(graph))?;
    all.set_item("components", properties::components(graph).count())?;
    all.set_item("mean_degree", degrees.mean)?;
    all.set_item("largest_degree", degrees.max)?;
    all.set_item("edge_homophily", properties::edge_homophily(graph))?;
    all.set_item("node_homophily", properties::node_homophily(graph))?;
    Ok(all)
}

/// Settings of a generator; settings of other generators are errors.
struct SettingText<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> SettingText<'_, 'py> {
    fn take<T: for<'a> FromPyObject<'a, 'py>>(&self, name: &str) -> PyResult<Option<T>>
    where
        for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
    {
        let Some(value) = self.0.get_item(name)? else {
            return Ok(None);
        };
        self.0.del_item(name)?;
        value
            .extract::<T>()
            .map(Some)
            .map_err(|e| wrong(format!("{name}: {}", e.into())))
    }

    fn need<T: for<'a> FromPyObject<'a, 'py>>(&self, name: &str) -> PyResult<T>
    where
        for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
    {
        self.take(name)?
            .ok_or_else(|| wrong(format!("{name}: is needed")))
    }
}

fn settings_of_csbm(given: &SettingText<'_, '_>) -> PyResult<CsbmConfig> {
    let defaults = CsbmConfig::default();
    Ok(CsbmConfig {
        num_nodes: given.take("num_nodes")?.unwrap_or(defaults.num_nodes),
        num_classes: given.take("num_classes")?.unwrap_or(defaults.num_classes),
        num_features: given.take("num_features")?.unwrap_or(defaults.num_features),
        mean_degree: given.take("mean_degree")?.unwrap_or(defaults.mean_degree),
        homophily: given.take("homophily")?.unwrap_or(defaults.homophily),
        separation: given.take("separation")?.unwrap_or(defaults.separation),
        noise: given.take("noise")?.unwrap_or(defaults.noise),
    })
}

fn settings_of_sbbam(given: &SettingText<'_, '_>) -> PyResult<SbbamConfig> {
    let defaults = SbbamConfig::default();
    let attachment: Option<String> = given.take("attachment")?;
    let attachment = attachment
        .map(|name| name.parse())
        .transpose()
        .map_err(raised)?;
    Ok(SbbamConfig {
        block_sizes: given.take("block_sizes")?.unwrap_or(defaults.block_sizes),
        r: given.take("r")?.unwrap_or(defaults.r),
        p_between: given.take("p_between")?.unwrap_or(defaults.p_between),
        attachment: attachment.unwrap_or(defaults.attachment),
    })
}

/// Samples a graph of one of the models, by its settings and a seed.
#[pyfunction]
pub fn generate(
    py: Python<'_>,
    kind: &str,
    settings: &Bound<'_, PyDict>,
    seed: u64,
) -> PyResult<PyGraph> {
    use gnarl_graph::generate as g;
    let given = SettingText(settings);
    type Sample = Box<dyn FnOnce() -> gnarl_graph::Result<Graph> + Send>;
    let sample: Sample = match kind {
        "erdos_renyi" => {
            let (n, p) = (given.need("n")?, given.need("p")?);
            Box::new(move || g::erdos_renyi(n, p, seed))
        }
        "gnm" => {
            let (n, m) = (given.need("n")?, given.need("m")?);
            Box::new(move || g::gnm(n, m, seed))
        }
        "barabasi_albert" => {
            let (n, r) = (given.need("n")?, given.need("r")?);
            Box::new(move || g::barabasi_albert(n, r, seed))
        }
        "configuration_model" => {
            let degrees: Vec<usize> = given.need("degrees")?;
            Box::new(move || g::configuration_model(&degrees, seed))
        }
        "sbm" => {
            let config = SbmConfig {
                block_sizes: given.need("block_sizes")?,
                probabilities: given.need("probabilities")?,
            };
            Box::new(move || g::sbm(&config, seed))
        }
        "csbm" => {
            let config = settings_of_csbm(&given)?;
            Box::new(move || g::csbm(&config, seed))
        }
        "sbbam" => {
            let config = settings_of_sbbam(&given)?;
            Box::new(move || g::sbbam(&config, seed))
        }
        "complete" | "path" | "cycle" | "star" => {
            let n = given.need("n")?;
            let make = match kind {
                "complete" => g::complete,
                "path" => g::path,
                "cycle" => g::cycle,
                _ => g::star,
            };
            Box::new(move || make(n))
        }
        "grid" => {
            let (rows, columns) = (given.need("rows")?, given.need("columns")?);
            Box::new(move || g::grid(rows, columns))
        }
        "rewire" => {
            let (graph, share): (Bound<'_, PyAny>, f64) =
                (given.need("graph")?, given.need("share")?);
            let graph = graph.cast::<PyGraph>()?.get().graph.clone();
            Box::new(move || g::rewire(&graph, share, seed))
        }
        _ => return Err(wrong(format!("unknown generator '{kind}'"))),
    };
    if let Some(unknown) = settings.keys().iter().next() {
        return Err(wrong(format!("{kind}: unknown setting {unknown}")));
    }
    Ok(PyGraph::of(work::quietly(py, None, sample)?, kind))
}
