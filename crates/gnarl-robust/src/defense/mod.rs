//! Defences that preprocess a graph before training and prediction.
//!
//! | file | defence |
//! | --- | --- |
//! | [`nothing`] | none |
//! | [`jaccard`] | GCN-Jaccard: edges between nodes with dissimilar features removed |
//! | [`svd`] | GCN-SVD: low-rank adjacency by truncated SVD |
//! | [`gdc`] | GDC: propagation with sparsified personalised PageRank |
//!
//! A defence depends on the graph alone, never on the attack or the model. A defended model can be
//! attacked like any other: by transfer attacks, and, if gradients pass through the defence
//! ([`Preprocess::see_through`]), by adaptive attacks. To add a defence, write a file that implements
//! [`Preprocess`] and add a line to [`Defense`].

pub mod gdc;
pub mod jaccard;
pub mod nothing;
pub mod svd;

use std::sync::Arc;

use gnarl_graph::{CsrMatrix, Graph};

pub use gdc::Gdc;
pub use jaccard::Jaccard;
pub use nothing::Nothing;
pub use svd::Svd;

use crate::classifier::{Differentiable, OperatorOverride};
use gnarl_graph::Result;
use gnarl_tensor::Operator;

gnarl_graph::choices! {
    /// A defence that preprocesses the graph.
    pub enum Defense: dyn Preprocess as "defense" {
        Nothing(nothing::Nothing),
        Jaccard(jaccard::Jaccard),
        Svd(svd::Svd),
        Gdc(gdc::Gdc),
    }
}

impl Default for Defense {
    fn default() -> Self {
        Defense::Nothing(Nothing {})
    }
}

impl Defense {
    /// Returns true if the graph stays unchanged.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Defense::Nothing(_))
    }
}

/// A preprocessing step on graphs.
pub trait Preprocess {
    /// Returns the preprocessed graph: the same nodes, features and labels, with fewer edges.
    fn preprocessed(&self, graph: &Graph) -> Result<Graph>;

    /// Returns the propagation operator that replaces the graph's own, if the defence changes the
    /// operator and not the graph.
    fn operator_override(&self) -> Option<Arc<dyn OperatorOverride>> {
        None
    }

    /// Returns the gradients through the defence to the weights of edges; `None` if there are none,
    /// and gradient attacks are refused.
    fn see_through(&self) -> Option<&dyn Differentiable> {
        None
    }
}

/// Returns the non-zero entries of an operator.
fn nonzero(operator: &Operator) -> Result<CsrMatrix<f64>> {
    let (pattern, values) = (operator.pattern(), operator.values()?.to_vec1::<f32>()?);
    let (mut offsets, mut columns, mut kept) = (vec![0u64], Vec::new(), Vec::new());
    for row in 0..pattern.num_rows() {
        for k in pattern.row(row).filter(|&k| values[k] != 0.0) {
            columns.push(pattern.indices()[k]);
            kept.push(f64::from(values[k]));
        }
        offsets.push(columns.len() as u64);
    }
    CsrMatrix::new(pattern.num_cols(), offsets, columns, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::{DenseMatrix, Features};

    #[test]
    fn the_list_matches_stored_names() {
        gnarl_graph::settings::assert_listed(
            Defense::LIST,
            Defense::all().map(|defense| defense.stored()),
        );
        assert_eq!(
            Defense::LIST.iter().map(|d| d.name).collect::<Vec<_>>(),
            ["none", "jaccard", "svd", "gdc"]
        );
        let jaccard = "Jaccard"
            .parse::<Defense>()
            .unwrap()
            .with(&[("threshold".into(), "0.5".into())])
            .unwrap();
        assert_eq!(jaccard, Jaccard { threshold: 0.5 }.into());
        assert_eq!(
            serde_json::from_str::<Defense>("\"none\"").unwrap(),
            Nothing {}.into()
        );
        let fail = |name: &str, value: &str| {
            let defense = name.parse::<Defense>().unwrap();
            defense
                .with(&[("threshold".into(), value.into())])
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            fail("none", "0.5"),
            "threshold: belongs to jaccard, and the defense is none"
        );
        for value in ["-0.5", "1.5"] {
            assert_eq!(
                fail("jaccard", value),
                format!("jaccard-threshold must be in [0, 1] (got {value})")
            );
        }
    }

    /// A defence keeps nodes, features and labels, and adds no edge.
    #[test]
    fn every_defense_only_removes_edges() {
        let values = (0..40 * 3)
            .map(|i| f32::from(u8::from(i * 7 % 5 == 0)))
            .collect();
        let features = Features::Dense(DenseMatrix::new(40, 3, values).unwrap());
        let labels = gnarl_graph::Labels::new((0..40).map(|u| Some(u % 2)).collect(), 2).unwrap();
        let graph = gnarl_graph::generate::erdos_renyi(40, 0.2, 1).unwrap();
        let graph = graph
            .with_features(features)
            .unwrap()
            .with_labels(labels)
            .unwrap();
        for defense in Defense::all() {
            let preprocessed = defense.method().preprocessed(&graph).unwrap();
            assert_eq!(preprocessed.num_nodes(), 40, "{defense}");
            assert!(
                preprocessed.edges().all(|(u, v)| graph.has_edge(u, v)),
                "{defense}"
            );
            assert_eq!(preprocessed.features(), graph.features(), "{defense}");
            assert_eq!(preprocessed.labels(), graph.labels(), "{defense}");
        }
    }
}
