//! Message-passing layers: the [`Layer`] trait, the [`Propagation`] they use, and shared
//! computations.

use std::sync::Arc;

use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{CsrMatrix, Graph};
use serde::{Deserialize, Serialize};

use super::linear::{Input, Linear};
use super::params::{ParamId, Pass};
use gnarl_tensor::{
    Dropout, Operator, Result, Tensor, affine, constant_convolution, dense_convolution,
    relu_dropout,
};

/// Message-passing operators of a network: the operator of the layers, and the strict two-hop
/// operator for networks that use it (H2GCN).
#[derive(Debug, Clone)]
pub struct Propagation {
    /// Operator of one layer; for a learnable operator, its initialisation.
    pub operator: Operator,
    /// Operator of node pairs at distance exactly two.
    pub two_hop: Option<Operator>,
    /// Source of the operators of a pass, if they are learned.
    pub learnable: Option<Arc<dyn LearnableOperator>>,
    /// One operator per layer, if only some nodes' scores are computed: its columns are the sending
    /// nodes, its rows the first of them.
    pub layer_operators: Vec<Operator>,
}

impl Propagation {
    /// Returns the scalars of a learnable operator; none for a fixed operator.
    pub fn scalars(&self) -> Vec<OperatorScalar> {
        self.learnable
            .as_ref()
            .map_or_else(Vec::new, |operator| operator.scalars())
    }

    /// Returns the operator of layer `i`, from 0.
    pub fn layer(&self, i: usize) -> &Operator {
        self.layer_operators.get(i).unwrap_or(&self.operator)
    }
}

impl From<Operator> for Propagation {
    fn from(operator: Operator) -> Self {
        Self {
            operator,
            two_hop: None,
            learnable: None,
            layer_operators: Vec::new(),
        }
    }
}

/// Operator computed in every pass from scalars that the network owns and trains.
pub trait LearnableOperator: std::fmt::Debug + Send + Sync {
    /// Returns the scalars it needs.
    fn scalars(&self) -> Vec<OperatorScalar>;

    /// Computes the operators from the scalars' values, one tensor `[1]` each: one for all layers,
    /// or one for each.
    fn operators(&self, scalars: &[&Tensor]) -> Result<Vec<Operator>>;

    /// Restricts the operator to `order`, nodes by their distance from some of them. Layer `i` of
    /// `sizes.len() - 1` aggregates for the first `sizes[layer_operators - i - 1]` nodes over the first
    /// `sizes[layer_operators - i]`.
    fn restricted(&self, order: &[u32], sizes: &[usize]) -> Result<Arc<dyn LearnableOperator>>;
}

/// Scalar of a learnable operator: the parameter `operator.NAME` of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorScalar {
    /// Name, unique within the operator.
    pub name: String,
    /// Initial value.
    pub start: f32,
    /// True for an exponent, which has a learning rate of its own.
    pub exponent: bool,
}

/// Message-passing layer: propagates with any operator and keeps no state between calls.
///
/// The operator may have fewer rows than columns: then the receivers are the first of the senders.
pub trait Layer: std::fmt::Debug + Send + Sync {
    /// Computes new representations, `[nodes, out_dim]`.
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor>;

    /// Returns the linear map of every node's own vector, if it is the layer's last operation.
    fn last_map(&self) -> Option<&Linear> {
        None
    }

    /// Computes the input of [`last_map`](Self::last_map), `[nodes, width]`; only called if there
    /// is such a map.
    fn before_last_map(&self, _operator: &Operator, _x: &Input, _pass: &Pass<'_>) -> Result<Input> {
        gnarl_tensor::bail!("a layer that does not end in a linear map")
    }

    /// Computes `dropout(relu(forward))`, the activation between two layers. A layer that can fuse
    /// them overrides it.
    fn forward_activated(
        &self,
        operator: &Operator,
        x: &Input,
        pass: &Pass<'_>,
        dropout: Dropout,
    ) -> Result<Tensor> {
        relu_dropout(&self.forward(operator, x, pass)?, dropout)
    }

    /// Returns the linear maps of the input if it goes through them first; empty otherwise.
    fn input_maps(&self) -> Vec<ParamId> {
        Vec::new()
    }

    /// Returns the width of the result.
    fn out_dim(&self) -> usize;
}

/// Number of columns from which [`is_narrow`] compares costs; below, both orders are fast.
const MANY_SENDERS: usize = 1 << 16;

/// Cost of a dense product relative to a sparse product, which waits for memory.
const DENSE_COST: f64 = 0.08;

/// Returns true if it is cheaper to aggregate wide vectors and map the few aggregates than to map
/// the vectors of all senders. This holds if a sampled layer or a block of nodes has many more
/// senders than receivers.
fn is_narrow(operator: &Operator, in_dim: usize, out_dim: usize) -> bool {
    let (rows, cols) = (operator.num_rows() as f64, operator.num_cols() as f64);
    if in_dim < out_dim || operator.num_cols() < MANY_SENDERS {
        return in_dim < out_dim;
    }
    let (entries, map) = (
        operator.num_entries() as f64,
        DENSE_COST * (in_dim * out_dim) as f64,
    );
    entries * in_dim as f64 + rows * map < cols * map + entries * out_dim as f64
}

/// Computes `operator · (x · weight) + bias` in the cheaper order: the operator is applied on the
/// narrower side, and sparse features are always multiplied first.
pub fn propagate_linear(
    operator: &Operator,
    x: &Input,
    weight: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (in_dim, out_dim) = weight.dims2()?;
    match x {
        Input::Dense(x) if is_narrow(operator, in_dim, out_dim) => {
            Input::Dense(operator.apply_to_features(x)?).matmul(weight, bias)
        }
        _ => operator.apply_with_bias(&x.matmul(weight, None)?, bias),
    }
}

/// Computes `dropout(relu(operator · (x · weight) + bias))` in as few operations as the arguments
/// allow.
pub fn propagate_activated(
    operator: &Operator,
    x: &Input,
    weight: &Tensor,
    bias: &Tensor,
    dropout: Dropout,
) -> Result<Tensor> {
    let (in_dim, out_dim) = weight.dims2()?;
    match x {
        Input::Dense(x) if is_narrow(operator, in_dim, out_dim) => {
            affine(&operator.apply_to_features(x)?, weight, bias, Some(dropout))
        }
        Input::Dense(x) => match dense_convolution(operator, x, weight, bias, dropout)? {
            Some(y) => Ok(y),
            None => operator.apply_activated(&x.matmul(weight)?, bias, dropout),
        },
        Input::Sparse(features) => {
            if let Some(aggregated) = operator.aggregated(features) {
                return aggregated.apply_activated(weight, bias, dropout);
            }
            match constant_convolution(operator, features, weight, bias, dropout)? {
                Some(y) => Ok(y),
                None => operator.apply_activated(&features.apply(weight)?, bias, dropout),
            }
        }
    }
}

/// Returns the operator of pairs at distance exactly two, symmetrically normalised by its own
/// degrees ([H2GCN, Zhu et al. 2020](https://arxiv.org/abs/2006.11468)).
pub fn two_hop_operator(graph: &Graph) -> gnarl_graph::Result<Operator> {
    let n = graph.num_nodes();
    let mut pairs = Vec::new();
    let mut seen = vec![u32::MAX; n];
    for u in 0..n as u32 {
        seen[u as usize] = u;
        for &v in graph.neighbours(u) {
            seen[v as usize] = u;
        }
        for &v in graph.neighbours(u) {
            for &w in graph.neighbours(v) {
                if seen[w as usize] != u {
                    seen[w as usize] = u;
                    if u < w {
                        pairs.push((u, w));
                    }
                }
            }
        }
    }
    let two_hop = Graph::from_edges(n, pairs)?.0;
    Ok(Operator::constant(&symmetric_normalised(&two_hop)?))
}

/// Returns `D^-1/2 A D^-1/2`, with zero rows for nodes without edges.
pub fn symmetric_normalised(graph: &Graph) -> gnarl_graph::Result<CsrMatrix<f64>> {
    let degrees = gnarl_graph::centrality::degrees(graph);
    gnarl_graph::operator::centrality_operator(graph, &degrees, -0.5, -0.5)
}

/// Returns a classical operator of a graph for use in layers.
pub fn classical(graph: &Graph, kind: ClassicalOperator) -> gnarl_graph::Result<Operator> {
    Ok(Operator::constant(&kind.matrix(graph)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::gat::{AttentionSettings, GatConv};
    use crate::networks::gatv2::GatV2Conv;
    use crate::networks::gcn::GcnConv;
    use crate::networks::gin::{GinConv, GinSettings};
    use crate::networks::params::Params;
    use crate::networks::sage::SageConv;
    use crate::networks::testing::{assert_close, path, rng};
    use gnarl_tensor::testing::{check_gradients, random, random_pattern};

    /// Both orders of `operator · x · weight + bias`, written out, compared with the chosen order
    /// in value and gradient.
    #[test]
    fn both_orders_of_a_propagated_linear_map_agree() {
        let operator = random_pattern(7, 7, 0.4, 1);
        let values = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (in_dim, out_dim) in [(3, 5), (5, 3), (4, 4)] {
            let var = |shape: &[usize], seed| {
                gnarl_tensor::Var::from_tensor(&random(shape, seed)).unwrap()
            };
            let (x, weight, bias) = (
                var(&[7, in_dim], 2),
                var(&[in_dim, out_dim], 3),
                var(&[out_dim], 4),
            );
            let orders = [
                propagate_linear(
                    &operator,
                    &Input::Dense(x.as_tensor().clone()),
                    &weight,
                    Some(&bias),
                )
                .unwrap(),
                operator
                    .apply(&x.matmul(&weight).unwrap())
                    .unwrap()
                    .broadcast_add(&bias)
                    .unwrap(),
                operator
                    .apply(&x)
                    .unwrap()
                    .matmul(&weight)
                    .unwrap()
                    .broadcast_add(&bias)
                    .unwrap(),
            ];
            let upstream = random(&[7, out_dim], 5);
            let all = orders.map(|y| {
                let grads = (&y * &upstream)
                    .unwrap()
                    .sum_all()
                    .unwrap()
                    .backward()
                    .unwrap();
                let mut all = values(&y);
                [&x, &weight, &bias]
                    .iter()
                    .for_each(|v| all.extend(values(grads.get(v).unwrap())));
                all
            });
            assert_close(&all[0], &all[1], 1e-5, "the linear map first");
            assert_close(&all[0], &all[2], 1e-5, "the operator first");
        }
    }

    #[test]
    fn two_hops_by_hand() {
        // 0–1–2–3 with the chord 0–2: pairs at distance two are (0, 3) and (1, 3), so the degrees
        // are 1, 1, 0, 2.
        let graph = Graph::from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 2)])
            .unwrap()
            .0;
        let x = Tensor::new(
            &[[1f32], [10.0], [100.0], [1000.0]],
            &gnarl_tensor::Device::Cpu,
        )
        .unwrap();
        let y = two_hop_operator(&graph)
            .unwrap()
            .apply(&x)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap();
        let half = 0.5f32.sqrt();
        assert_close(
            &y,
            &[1000.0 * half, 1000.0 * half, 0.0, 11.0 * half],
            1e-6,
            "two hops",
        );
        let y = two_hop_operator(&path()).unwrap();
        assert_eq!(y.pattern().indices(), [2, 0]);
    }

    /// Structural attacks and learnable operators differentiate by the operator's values.
    #[test]
    fn gradients_reach_the_values_of_an_operator() {
        let pattern = random_pattern(6, 6, 0.5, 1);
        let attention = AttentionSettings {
            heads: 2,
            concat: true,
            negative_slope: 0.2,
            dropout: 0.0,
            site: 0,
        };
        let (mut params, rng) = (Params::default(), &mut rng());
        let layers: [Box<dyn Layer>; 6] = [
            Box::new(GcnConv::new(&mut params, "narrower", 4, 3, rng).unwrap()),
            Box::new(GcnConv::new(&mut params, "wider", 4, 5, rng).unwrap()),
            Box::new(SageConv::new(&mut params, "sage", 4, 3, rng).unwrap()),
            Box::new(
                GinConv::new(&mut params, "gin", 4, 3, 2, GinSettings::default(), rng).unwrap(),
            ),
            Box::new(GatConv::new(&mut params, "gat", 4, 2, attention, rng).unwrap()),
            Box::new(GatV2Conv::new(&mut params, "gatv2", 4, 2, attention, rng).unwrap()),
        ];
        let weights = params.weights().unwrap();
        let x = Input::Dense(random(&[6, 4], 2));
        for layer in layers {
            check_gradients(&[random(&[pattern.num_entries()], 3)], |v| {
                layer.forward(
                    &pattern.with_values(&v[0])?,
                    &x,
                    &Pass::evaluation(&weights),
                )
            });
        }
    }
}
