//! Defences that change a graph before a model sees it, while training and after.
//!
//! | file | what |
//! | --- | --- |
//! | [`nothing`] | the graph as it is |
//! | [`jaccard`] | GCN-Jaccard: without the edges between nodes that share no features |
//! | [`svd`] | GCN-SVD: the adjacency's largest singular values alone |
//! | [`gdc`] | GDC: messages from the nodes that personalised PageRank ranks first |
//!
//! A defence looks at the graph alone, never at the attack or the model, so a model under it can be
//! attacked like any other: by those who do not know it, and, where it lets gradients pass
//! ([`Purify::see_through`]), by those who do. To add one: one file that implements [`Purify`], one
//! line in [`Defense`].

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

use crate::classifier::{SeeThrough, Travel};
use crate::error::Result;
use crate::tensor::Operator;

gnarl_graph::choices! {
    /// What is done to a graph before a model sees it.
    pub enum Defense: dyn Purify as "defense" {
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
    /// Whether the graph stays as it is.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Defense::Nothing(_))
    }
}

/// A graph in, a purified one out.
pub trait Purify {
    /// The graph as the model is to see it: the same nodes, features and labels, with fewer edges.
    fn purified(&self, graph: &Graph) -> Result<Graph>;

    /// What messages travel by in the place of the purified graph's operator, where a defence
    /// changes that and not the graph.
    fn travel(&self) -> Option<Arc<dyn Travel>> {
        None
    }

    /// How gradients pass through it to the weights of edges; none where they do not, and an attack
    /// says so.
    fn see_through(&self) -> Option<&dyn SeeThrough> {
        None
    }
}

/// The entries of an operator that are not zero.
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
    Ok(CsrMatrix::new(pattern.num_cols(), offsets, columns, kept)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::{DenseMatrix, Features};

    #[test]
    fn the_list_says_what_is_stored() {
        gnarl_graph::names::assert_listed(
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
        assert!(fail("jaccard", "-0.5").contains("threshold -0.5 must lie in 0 to 1"));
        assert!(fail("jaccard", "1.5").contains("threshold 1.5 must lie in 0 to 1"));
    }

    /// A defence keeps nodes, features and labels, and puts in no edge.
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
            let purified = defense.method().purified(&graph).unwrap();
            assert_eq!(purified.num_nodes(), 40, "{defense}");
            assert!(
                purified.edges().all(|(u, v)| graph.has_edge(u, v)),
                "{defense}"
            );
            assert_eq!(purified.features(), graph.features(), "{defense}");
            assert_eq!(purified.labels(), graph.labels(), "{defense}");
        }
    }
}
