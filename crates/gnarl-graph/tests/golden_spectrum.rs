//! Eigenvalues of the classical and the centrality operators against NumPy and SciPy.

use crate::golden_values as golden;

use std::collections::BTreeMap;

use gnarl_graph::CsrMatrix;
use gnarl_graph::centrality::{Centrality, degrees};
use gnarl_graph::operator::{ClassicalOperator, centrality_operator};
use gnarl_graph::spectrum::{markov_symmetric, symmetric_eigenvalues};
use golden::{Graphs, assert_close};
use serde::Deserialize;

const TOLERANCE: f64 = 1e-11;

#[derive(Deserialize)]
struct Spectra {
    graphs: Vec<SpectrumRow>,
}

/// Eigenvalues, ascending, by the name of the operator or the centrality.
#[derive(Deserialize)]
struct SpectrumRow {
    name: String,
    classical: BTreeMap<String, Vec<f64>>,
    markov: BTreeMap<String, Vec<f64>>,
}

/// Returns each graph with its spectra.
fn graphs() -> Vec<(gnarl_graph::Graph, SpectrumRow)> {
    let graphs: Graphs = golden::read("graphs.json");
    let spectra: Spectra = golden::read("spectra.json");
    assert_eq!(graphs.graphs.len(), spectra.graphs.len());
    let pair = |(g, s): (golden::GraphRow, SpectrumRow)| {
        assert_eq!(g.name, s.name);
        (g.graph(), s)
    };
    graphs
        .graphs
        .into_iter()
        .zip(spectra.graphs)
        .map(pair)
        .collect()
}

/// Returns `S^1/2 M S^-1/2` for a matrix that this makes symmetric; the rounding error is measured,
/// then removed by mirroring.
fn similar_symmetric(m: &CsrMatrix<f64>, scale: &[f64]) -> CsrMatrix<f64> {
    let entry = |i: usize, j: usize| m.get(i, j as u32).unwrap() * (scale[i] / scale[j]).sqrt();
    let mut values = Vec::with_capacity(m.num_entries());
    for i in 0..m.num_rows() {
        for &j in m.row(i).0 {
            let (low, high) = (i.min(j as usize), i.max(j as usize));
            assert!(
                (entry(low, high) - entry(high, low)).abs() < 1e-13,
                "entry {i}, {j}"
            );
            values.push(entry(low, high));
        }
    }
    CsrMatrix::new(
        m.num_cols(),
        m.offsets().to_vec(),
        m.indices().to_vec(),
        values,
    )
    .unwrap()
}

/// Returns the centralities as a diagonal, zeros replaced by one.
fn diagonal(centrality: Centrality, graph: &gnarl_graph::Graph) -> Vec<f64> {
    let v = centrality.values(graph).unwrap();
    v.into_iter()
        .map(|x| if x == 0.0 { 1.0 } else { x })
        .collect()
}

#[test]
fn classical_operators() {
    for (graph, row) in graphs() {
        assert_eq!(row.classical.len(), ClassicalOperator::ALL.len());
        for op in ClassicalOperator::ALL {
            let m = op.matrix(&graph).unwrap();
            let asymmetric = matches!(
                op,
                ClassicalOperator::RANDOM_WALK_LAPLACIAN | ClassicalOperator::MEAN_AGGREGATION
            );
            let m = if asymmetric {
                similar_symmetric(&m, &degrees(&graph))
            } else {
                m
            };
            let got = symmetric_eigenvalues(&m).unwrap();
            assert_close(
                &got,
                &row.classical[&op.to_string()],
                TOLERANCE,
                &format!("{op} of {}", row.name),
            );
        }
    }
}

#[test]
fn markov_averaging_operators() {
    for (graph, row) in graphs() {
        assert_eq!(row.markov.len(), Centrality::ALL.len());
        for centrality in Centrality::ALL {
            let v = diagonal(centrality, &graph);
            let expected = &row.markov[&centrality.to_string()];
            let what = format!("{centrality} on {}", row.name);
            let markov = centrality_operator(&graph, &v, -1.0, 0.0).unwrap();
            assert_close(
                &symmetric_eigenvalues(&similar_symmetric(&markov, &v)).unwrap(),
                expected,
                TOLERANCE,
                &what,
            );
            let symmetric = markov_symmetric(&graph, &centrality.values(&graph).unwrap()).unwrap();
            assert_close(
                &symmetric_eigenvalues(&symmetric).unwrap(),
                expected,
                TOLERANCE,
                &what,
            );
        }
    }
}
