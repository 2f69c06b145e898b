//! The real Cora: centralities, components and the ends of its spectra against NetworkX, igraph,
//! NumPy and SciPy.

use crate::golden_values as golden;

use std::collections::BTreeMap;

use gnarl_data::planetoid;
use gnarl_graph::centrality::{Centrality, PageRankSettings, core_numbers, pagerank, walk_counts};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::properties::{components, density, diameter};
use gnarl_graph::spectrum::{EigenSettings, Which, markov_symmetric, sparse_eigenpairs};
use gnarl_graph::{CsrMatrix, Graph};
use gnarl_testing::{data_dir, needs_data};
use golden::assert_close;
use serde::Deserialize;

#[derive(Deserialize)]
struct Cora {
    num_nodes: usize,
    num_edges: usize,
    density: f64,
    /// One digit per node.
    core: String,
    /// Each size and the number of components with it.
    component_sizes: Vec<(usize, usize)>,
    pagerank_top: Vec<(u32, f64)>,
    /// Nodes of the values in `pagerank` and `walks`.
    nodes: Vec<u32>,
    pagerank: Vec<f64>,
    walks: Vec<Vec<f64>>,
    largest_component: Size,
    spectra: Spectra,
}

#[derive(Deserialize)]
struct Size {
    num_nodes: usize,
    num_edges: usize,
    diameter: u32,
}

/// The eight smallest eigenvalues, then the eight largest, ascending.
#[derive(Deserialize)]
struct Spectra {
    classical: BTreeMap<String, Vec<f64>>,
    markov: BTreeMap<String, Vec<f64>>,
}

/// Returns the graph and the values of other tools.
fn cora() -> (Graph, Cora) {
    let graph = planetoid::load(&data_dir().join("planetoid"), "cora")
        .unwrap()
        .0;
    (graph, golden::read("cora.json"))
}

needs_data!(
    fn centralities_and_components() {
        let (graph, expected) = cora();
        assert_eq!(
            (graph.num_nodes(), graph.num_edges()),
            (expected.num_nodes, expected.num_edges)
        );
        assert_close(&[density(&graph)], &[expected.density], 1e-16, "density");

        let core: String = core_numbers(&graph).iter().map(u32::to_string).collect();
        assert_eq!(core, expected.core);

        let mut sizes = BTreeMap::new();
        for &size in components(&graph).sizes() {
            *sizes.entry(size).or_insert(0) += 1;
        }
        assert_eq!(
            sizes.into_iter().collect::<Vec<_>>(),
            expected.component_sizes
        );

        let scores = pagerank(&graph, &PageRankSettings::default()).unwrap();
        let at = |nodes: &[u32], values: &[f64]| {
            nodes
                .iter()
                .map(|&u| values[u as usize])
                .collect::<Vec<_>>()
        };
        assert_close(
            &at(&expected.nodes, &scores),
            &expected.pagerank,
            1e-12,
            "pagerank",
        );
        let mut order: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        order.sort_by(|&u, &v| scores[v as usize].total_cmp(&scores[u as usize]));
        let (top, top_scores): (Vec<u32>, Vec<f64>) = expected.pagerank_top.into_iter().unzip();
        assert_eq!(order[..20], top);
        assert_close(
            &at(&top, &scores),
            &top_scores,
            1e-12,
            "pagerank of the top",
        );

        assert_eq!(expected.walks.len(), 4);
        for (walks, length) in expected.walks.iter().zip(1..) {
            assert_eq!(
                at(&expected.nodes, &walk_counts(&graph, length).unwrap()),
                *walks,
                "length {length}"
            );
        }
    }
);

/// Returns the eight smallest and the eight largest eigenvalues, ascending.
fn ends(matrix: &CsrMatrix<f64>) -> Vec<f64> {
    let find = |which| {
        sparse_eigenpairs(matrix, 8, which, &EigenSettings::default())
            .unwrap()
            .values
    };
    let mut values = find(Which::Smallest);
    values.extend(find(Which::Largest).into_iter().rev());
    values
}

needs_data!(
    fn ends_of_the_spectra() {
        let (graph, expected) = cora();
        let graph = graph.largest_component().0;
        let size = &expected.largest_component;
        assert_eq!(
            (graph.num_nodes(), graph.num_edges()),
            (size.num_nodes, size.num_edges)
        );
        assert_eq!(diameter(&graph), Some(size.diameter));

        for op in ClassicalOperator::ALL {
            // The two operators that are not symmetric have the spectrum of a symmetric one, as
            // SciPy's figures confirm.
            let matrix = match op {
                ClassicalOperator::RANDOM_WALK_LAPLACIAN => ClassicalOperator::SYMMETRIC_LAPLACIAN
                    .matrix(&graph)
                    .unwrap(),
                ClassicalOperator::MEAN_AGGREGATION => {
                    markov_symmetric(&graph, &Centrality::DEGREE.values(&graph).unwrap()).unwrap()
                }
                _ => op.matrix(&graph).unwrap(),
            };
            assert_close(
                &ends(&matrix),
                &expected.spectra.classical[&op.to_string()],
                1e-9,
                &op.to_string(),
            );
        }
        for centrality in Centrality::ALL {
            let matrix = markov_symmetric(&graph, &centrality.values(&graph).unwrap()).unwrap();
            assert_close(
                &ends(&matrix),
                &expected.spectra.markov[&centrality.to_string()],
                1e-9,
                &centrality.to_string(),
            );
        }
    }
);
