//! Communities against igraph, k-means against scikit-learn, eigenvectors of the centrality
//! operators against SciPy.

use crate::golden_values as golden;

use std::collections::BTreeMap;

use gnarl_data as dataset;
use gnarl_graph::centrality::Centrality;
use gnarl_graph::community::{
    KMeans, SpectralBasis, WALKTRAP_STEPS, fast_greedy, kmeans, louvain, spectral_clustering,
    walktrap,
};
use gnarl_graph::metrics::{adjusted_rand_index, modularity};
use gnarl_graph::{DenseMatrix, Graph};
use gnarl_testing::{data_dir, needs_data};
use golden::assert_close;
use serde::Deserialize;

#[derive(Deserialize)]
struct Communities {
    graphs: Vec<Row>,
    kmeans: Vec<KMeansRow>,
    /// Modularity by dataset.
    louvain: BTreeMap<String, f64>,
    cora_eigenvectors: Eigenvectors,
}

/// A graph; memberships are given if they do not depend on the numbering of nodes.
#[derive(Deserialize)]
struct Row {
    name: String,
    num_nodes: usize,
    edges: Vec<(u32, u32)>,
    weights: Option<Vec<f64>>,
    fast_greedy: Option<Vec<u32>>,
    fast_greedy_modularity: f64,
    walktrap: Option<Vec<u32>>,
    walktrap_modularity: f64,
    louvain_modularity: f64,
}

#[derive(Deserialize)]
struct KMeansRow {
    k: usize,
    points: Vec<Vec<f64>>,
    inertia: f64,
}

#[derive(Deserialize)]
struct Eigenvectors {
    nodes: Vec<usize>,
    rows: Vec<EigenvectorRow>,
}

#[derive(Deserialize)]
struct EigenvectorRow {
    centrality: String,
    e2: f64,
    e3: f64,
    values: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

fn communities() -> Communities {
    golden::read("communities.json")
}

impl Row {
    fn graph(&self) -> Graph {
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let edges = self.edges.iter().enumerate();
        match self.weights {
            None => {
                Graph::from_edges(self.num_nodes, self.edges.iter().copied())
                    .unwrap()
                    .0
            }
            Some(_) => {
                Graph::from_weighted_edges(
                    self.num_nodes,
                    edges.map(|(i, &(u, v))| (u, v, weight(i))),
                )
                .unwrap()
                .0
            }
        }
    }

    /// Checks for igraph's partition, if there is one, and for a modularity of at most 0.01 below
    /// its mean.
    fn check(&self, method: &str, found: &[u32], expected: Option<&Vec<u32>>, quality: f64) {
        let name = &self.name;
        if let Some(expected) = expected {
            assert_eq!(
                adjusted_rand_index(found, expected).unwrap(),
                1.0,
                "{method} on {name}: {found:?}"
            );
        }
        let q = modularity(&self.graph(), found, 1.0).unwrap();
        assert!(
            q > quality - 0.01,
            "{method} on {name}: {q}, igraph {quality}"
        );
    }
}

#[test]
fn fast_greedy_agrees_with_igraph() {
    let rows = communities().graphs;
    assert!(
        rows.iter().filter(|row| row.fast_greedy.is_some()).count() >= 8,
        "most have one answer"
    );
    for row in &rows {
        let found = fast_greedy(&row.graph()).unwrap();
        row.check(
            "fast greedy",
            &found.best(),
            row.fast_greedy.as_ref(),
            row.fast_greedy_modularity,
        );
    }
}

#[test]
fn walktrap_agrees_with_igraph() {
    let rows = communities().graphs;
    assert!(
        rows.iter().filter(|row| row.walktrap.is_some()).count() >= 8,
        "most have one answer"
    );
    for row in &rows {
        let found = walktrap(&row.graph(), WALKTRAP_STEPS).unwrap();
        row.check(
            "walktrap",
            &found.best(),
            row.walktrap.as_ref(),
            row.walktrap_modularity,
        );
    }
}

fn mean_louvain(graph: &Graph) -> f64 {
    let quality = |seed| modularity(graph, &louvain(graph, 1.0, seed).unwrap(), 1.0).unwrap();
    (0..5).map(quality).sum::<f64>() / 5.0
}

#[test]
fn louvain_modularity_is_as_high_as_igraphs() {
    for row in communities().graphs {
        let q = mean_louvain(&row.graph());
        assert!(
            q > 0.99 * row.louvain_modularity,
            "{}: {q}, igraph {}",
            row.name,
            row.louvain_modularity
        );
    }
}

needs_data!(
    fn louvain_on_real_graphs() {
        let dir = data_dir();
        for (name, expected) in communities().louvain {
            let q = mean_louvain(dataset::load(&name, &dir, 0).unwrap().graph().unwrap());
            assert!(q > 0.99 * expected, "{name}: {q}, igraph {expected}");
        }
    }
);

#[test]
fn kmeans_inertia_agrees_with_scikit_learn() {
    for KMeansRow { k, points, inertia } in communities().kmeans {
        let points = DenseMatrix::new(points.len(), points[0].len(), points.concat()).unwrap();
        let settings = KMeans {
            tolerance: 0.0,
            ..KMeans::new(k).with_n_init(100)
        };
        let found = kmeans(&points, &settings, 0).unwrap().inertia;
        assert!(
            (found / inertia - 1.0).abs() < 1e-9,
            "{k} clusters: {found}, scikit-learn {inertia}"
        );
    }
}

needs_data!(
    fn eigenvectors_of_cora() {
        let dir = data_dir();
        let graph = dataset::load("cora", &dir, 0)
            .unwrap()
            .graph()
            .unwrap()
            .largest_component()
            .0;
        let Eigenvectors { nodes, rows } = communities().cora_eigenvectors;
        assert_eq!(rows.len(), 12);
        for EigenvectorRow {
            centrality,
            e2,
            e3,
            values,
            columns,
        } in rows
        {
            let v = centrality
                .parse::<Centrality>()
                .unwrap()
                .values(&graph)
                .unwrap();
            let basis = SpectralBasis::new(&graph, &v, (e2 + e3) / 2.0, 4).unwrap();
            let what = format!("{centrality}, exponents {e2} and {e3}");
            assert_close(basis.eigenvalues(), &values, 1e-9 * values[0], &what);
            let points = basis.embedding(&graph, &v, (e2 - e3) / 2.0).unwrap();
            for (j, column) in columns.iter().enumerate() {
                let all: Vec<f64> = (0..points.num_rows()).map(|i| points.row(i)[j]).collect();
                let largest = all.iter().fold(
                    0.0f64,
                    |best, &x| if x.abs() > best.abs() { x } else { best },
                );
                let found: Vec<f64> = nodes.iter().map(|&u| all[u] * largest.signum()).collect();
                assert_close(&found, column, 1e-7, &format!("{what}, eigenvector {j}"));
            }
        }
        let v = Centrality::CORE.values(&graph).unwrap();
        let of = spectral_clustering(&graph, &v, (-0.5, -0.5), &KMeans::new(4), 0).unwrap();
        assert_eq!(of.len(), 2485);
    }
);
