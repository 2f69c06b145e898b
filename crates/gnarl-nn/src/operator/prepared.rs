//! Preparation of a graph for a network: the propagation of its operator, and its features as an
//! input.

use gnarl_graph::{CsrMatrix, Features, Graph};

use super::choice::{OperatorChoice, mean_log_degree, propagation};
use crate::networks::{Backbone, Input, OperatorScalar, Propagation, Shape};
use gnarl_graph::Result;
use gnarl_tensor::Operator;

/// Graph prepared for a backbone. Its features are not scaled: scale them before.
#[derive(Debug)]
pub struct Prepared {
    /// Message-passing operators.
    pub propagation: Propagation,
    /// Features; the identity if there are none.
    pub input: Input,
    /// Mean of `ln(degree + 1)`, for PNA.
    pub mean_log_degree: f64,
    scalars: Vec<OperatorScalar>,
}

impl Prepared {
    /// Prepares a graph.
    pub fn new(graph: &Graph, backbone: Backbone, operator: OperatorChoice) -> Result<Self> {
        Self::sharing_input(graph, backbone, operator, None)
    }

    /// Prepares a graph, sharing data with the input of the same graph with differently scaled
    /// features.
    pub fn sharing_input(
        graph: &Graph,
        backbone: Backbone,
        operator: OperatorChoice,
        other: Option<&Input>,
    ) -> Result<Self> {
        let input = match (graph.features(), other) {
            (Some(Features::Sparse(m)), Some(Input::Sparse(other))) => {
                Input::Sparse(Operator::constant_f32_sharing(m, other))
            }
            _ => input(graph)?,
        };
        let propagation = propagation(graph, backbone, operator)?;
        let scalars = propagation
            .learnable
            .as_ref()
            .map_or_else(Vec::new, |operator| operator.scalars());
        Ok(Self {
            propagation,
            input,
            mean_log_degree: mean_log_degree(graph),
            scalars,
        })
    }

    /// Returns the shape of a network on this graph for this number of classes.
    pub fn shape(&self, num_classes: usize) -> Shape<'_> {
        Shape {
            in_dim: self.input.dim(),
            num_classes,
            mean_log_degree: self.mean_log_degree,
            scalars: &self.scalars,
        }
    }
}

/// Returns the features of a graph as a network's input; the identity if it has none.
pub fn input(graph: &Graph) -> Result<Input> {
    Ok(match graph.features() {
        Some(features) => Input::from_features(features)?,
        None => Input::Sparse(Operator::constant_f32(&CsrMatrix::identity(
            graph.num_nodes(),
        ))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::cycle;

    fn scores(input: &Input, rows: usize) -> Vec<f32> {
        let Input::Sparse(x) = input else {
            panic!("words are sparse")
        };
        let eye =
            gnarl_tensor::Tensor::eye(rows, gnarl_tensor::DType::F32, &gnarl_tensor::Device::Cpu)
                .unwrap();
        x.apply(&eye)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap()
    }

    #[test]
    fn another_scaling_shares_where_entries_lie_and_other_features_do_not() {
        let of = |columns: Vec<u32>| {
            CsrMatrix::new(3, vec![0, 1, 3, 3], columns, vec![2f32, 4.0, 6.0]).unwrap()
        };
        let words = of(vec![1, 0, 2]);
        let graph = |m: CsrMatrix<f32>| {
            cycle(3)
                .unwrap()
                .with_features(Features::Sparse(m))
                .unwrap()
        };
        let make = |graph: &Graph, other: Option<&Input>| {
            Prepared::sharing_input(graph, Backbone::GCN, OperatorChoice::Default, other)
                .unwrap()
                .input
        };
        let first = make(&graph(words.clone()), None);
        let shared = |a: &Input, b: &Input| match (a, b) {
            (Input::Sparse(a), Input::Sparse(b)) => {
                std::sync::Arc::ptr_eq(a.pattern(), b.pattern())
            }
            _ => false,
        };
        let half = make(&graph(words.map(|v| v / 2.0)), Some(&first));
        assert!(shared(&first, &half));
        assert_eq!(
            scores(&half, 3),
            [0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0]
        );
        let elsewhere = make(&graph(of(vec![0, 0, 2])), Some(&first));
        assert!(!shared(&first, &elsewhere));
        assert_eq!(
            scores(&elsewhere, 3),
            [2.0, 0.0, 0.0, 4.0, 0.0, 6.0, 0.0, 0.0, 0.0]
        );
    }
}
