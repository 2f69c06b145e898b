//! Dirichlet energies of a graph's features and classes: their variation along the edges.

use serde::Serialize;

use crate::error::Result;
use crate::features::Features;
use crate::graph::Graph;
use crate::matrix::DenseMatrix;
use crate::properties::{DirichletEnergy, dirichlet_energy};

/// Number of feature columns that are dense at a time.
const COLUMNS: usize = 64;

/// The Dirichlet energies of a graph; `None` without features or without labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Energies {
    /// Energy of the features.
    pub features: Option<Energy>,
    /// Energy of the one-hot classes, among the labelled nodes.
    pub labels: Option<Energy>,
}

/// Both Dirichlet energies of a matrix with a row for each node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Energy {
    /// Energy [`DirichletEnergy::Normalised`].
    pub normalised: f64,
    /// Energy [`DirichletEnergy::Unnormalised`].
    pub unnormalised: f64,
}

/// Computes the Dirichlet energies of a graph's features and of its classes. Sparse features are
/// made dense a few columns at a time.
///
/// ```
/// use gnarl_graph::spectrum::energies;
/// use gnarl_graph::{Graph, Labels};
/// let labels = Labels::new(vec![Some(0), Some(0), Some(1), Some(1)], 2)?;
/// let graph = Graph::from_edges(4, [(0, 1), (1, 2), (2, 3)])?.0.with_labels(labels)?;
/// // One-hot rows of two classes differ by 2, and one edge joins two classes.
/// assert_eq!(energies(&graph)?.labels.unwrap().unnormalised, 2.0);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn energies(graph: &Graph) -> Result<Energies> {
    let features = graph
        .features()
        .map(|features| feature_energy(graph, features))
        .transpose()?;
    let labels = graph.labels().map(|_| label_energy(graph)).transpose()?;
    Ok(Energies { features, labels })
}

/// Sums the energy over columns.
fn feature_energy(graph: &Graph, features: &Features) -> Result<Energy> {
    let mut total = Energy {
        normalised: 0.0,
        unnormalised: 0.0,
    };
    for first in (0..features.num_cols()).step_by(COLUMNS) {
        let columns = first..(first + COLUMNS).min(features.num_cols());
        let mut block = DenseMatrix::zeros(features.num_rows(), columns.len());
        for u in 0..features.num_rows() {
            let row = block.row_mut(u);
            match features {
                Features::Dense(dense) => {
                    for (to, &from) in row.iter_mut().zip(&dense.row(u)[columns.clone()]) {
                        *to = f64::from(from);
                    }
                }
                Features::Sparse(sparse) => {
                    let (indices, values) = sparse.row(u);
                    for (&column, &value) in indices.iter().zip(values) {
                        if columns.contains(&(column as usize)) {
                            row[column as usize - first] = f64::from(value);
                        }
                    }
                }
            }
        }
        let energy = energy(graph, &block)?;
        total.normalised += energy.normalised;
        total.unnormalised += energy.unnormalised;
    }
    Ok(total)
}

fn label_energy(graph: &Graph) -> Result<Energy> {
    let is_labelled = |u: &u32| {
        graph
            .labels()
            .is_some_and(|labels| labels.get(*u).is_some())
    };
    let labelled: Vec<u32> = (0..graph.num_nodes() as u32).filter(is_labelled).collect();
    let graph = graph.subgraph(&labelled)?;
    let num_classes = graph.labels().map_or(0, |labels| labels.num_classes());
    let mut one_hot = DenseMatrix::zeros(graph.num_nodes(), num_classes);
    for u in 0..graph.num_nodes() {
        if let Some(class) = graph.labels().and_then(|labels| labels.get(u as u32)) {
            one_hot.row_mut(u)[class as usize] = 1.0;
        }
    }
    energy(&graph, &one_hot)
}

fn energy(graph: &Graph, x: &DenseMatrix<f64>) -> Result<Energy> {
    Ok(Energy {
        normalised: dirichlet_energy(graph, x, DirichletEnergy::Normalised)?,
        unnormalised: dirichlet_energy(graph, x, DirichletEnergy::Unnormalised)?,
    })
}
