//! Graphs prepared for a classifier, and batches of them.
//!
//! All graphs of a set form one graph without edges between them: one operator and one feature
//! matrix, made once. A batch is a selection of their diagonal blocks and rows, copied straight
//! into the batch's own arrays; nothing is normalised, centred or sorted again.

use std::ops::Range;

use gnarl_graph::{CsrMatrix, DenseMatrix, Features, Graph};
use serde::{Deserialize, Serialize};

use super::Plan;
use gnarl_graph::Result;
use gnarl_nn::features::{Scaler, one_hot_degrees};
use gnarl_nn::networks::{
    Backbone, Batch, FirstAggregation, Input, Membership, OperatorScalar, Propagation, Shape,
};
use gnarl_nn::operator::{OperatorChoice, mean_log_degree, propagation_of_union};
use gnarl_tensor::{DType, Device, Operator, Tensor};

const TASK: &str = "graph classification";

/// Source of node features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeFeatures {
    /// The features of the data: one-hot node labels or attributes.
    Own,
    /// One-hot degrees: column `min(degree, max)` of `max + 1`, so the last one holds every node
    /// with `max` neighbours or more.
    Degrees {
        /// Index of the last column.
        max: usize,
    },
}

/// Largest column of one-hot degrees; larger degrees share it, in any set.
pub const DEGREE_CAP: usize = 255;

impl NodeFeatures {
    /// Returns the data's own features if nodes have any, otherwise one-hot degrees up to the
    /// largest degree of the set, at most [`DEGREE_CAP`].
    #[must_use]
    pub fn of(graphs: &[Graph]) -> Self {
        if graphs
            .first()
            .is_some_and(|graph| graph.features().is_some())
        {
            return NodeFeatures::Own;
        }
        let degrees = |graph: &Graph| (0..graph.num_nodes() as u32).map(|u| graph.degree(u)).max();
        let max = graphs.iter().filter_map(degrees).max().unwrap_or(0);
        NodeFeatures::Degrees {
            max: max.min(DEGREE_CAP),
        }
    }

    /// Returns the last column of one-hot degrees, if degrees are the features.
    pub fn degrees(self) -> Option<usize> {
        match self {
            NodeFeatures::Own => None,
            NodeFeatures::Degrees { max } => Some(max),
        }
    }

    /// Returns the graphs with degrees stored as features, so that later changes of the structure
    /// do not change them. `None` if the graphs have features, which stay anyway, including degrees
    /// that were stored before.
    pub fn fixed(self, graphs: &[&Graph]) -> gnarl_graph::Result<Option<Vec<Graph>>> {
        match self {
            NodeFeatures::Degrees { max }
                if graphs.iter().all(|graph| graph.features().is_none()) =>
            {
                let described =
                    |graph: &&Graph| (*graph).clone().with_features(one_hot_degrees(graph, max));
                graphs
                    .iter()
                    .map(described)
                    .collect::<gnarl_graph::Result<_>>()
                    .map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Settings that prepare a set of graphs for a network.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphPreparation {
    /// The operator.
    pub operator: OperatorChoice,
    /// Feature scaling.
    pub features: Scaler,
    /// Source of node features.
    pub node_features: NodeFeatures,
}

impl GraphPreparation {
    /// Returns the settings of a plan.
    #[must_use]
    pub fn of(plan: &Plan, scaler: &Scaler, node_features: NodeFeatures) -> Self {
        Self {
            operator: plan.model.operator,
            features: scaler.clone(),
            node_features,
        }
    }
}

/// Kind of features that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inputs {
    /// True if the data has features of its own.
    pub own_features: bool,
    /// Source of node features, for sets.
    pub node_features: Option<NodeFeatures>,
}

impl Inputs {
    /// Returns the last column of one-hot degrees, for sets with degrees as features.
    pub(super) fn degrees(&self) -> Option<usize> {
        self.node_features.and_then(NodeFeatures::degrees)
    }

    pub(super) fn of_graph(graph: &Graph) -> Self {
        Self {
            own_features: graph.num_features().is_some(),
            node_features: None,
        }
    }
}

/// Prepared graphs: one operator and one input over the nodes of all graphs.
#[derive(Debug)]
pub struct GraphData {
    propagation: Propagation,
    input: Input,
    /// Graph `i` has nodes `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    mean_log_degree: f64,
    /// Scalars of a learnable operator.
    scalars: Vec<OperatorScalar>,
    /// Constant aggregation of the first layer, if there is one.
    first: Option<FirstAggregated>,
}

/// The product of the operator and sparse features. With one-hot features it has no more entries
/// than the operator. A layer with this product needs neither factor, forward or backward.
#[derive(Debug)]
struct FirstAggregated {
    /// The operator plus the identity, for layers that add a node's own message once more.
    with_self_loops: Option<Operator>,
    /// `with_self_loops`, or otherwise the plain operator, times the features.
    aggregated: Operator,
}

impl FirstAggregated {
    /// Computes the product if the first layer is one of GCN's or GIN's, and the product has no
    /// more entries than its factors together.
    fn new(backbone: Backbone, propagation: &Propagation, input: &Input) -> Option<Self> {
        let (Input::Sparse(x), None) = (input, &propagation.learnable) else {
            return None;
        };
        let with_self_loops = match backbone.first_aggregation() {
            FirstAggregation::None => return None,
            FirstAggregation::Operator => None,
            FirstAggregation::OperatorWithSelf => Some(propagation.operator.with_self_loops()?),
        };
        let operator = with_self_loops.as_ref().unwrap_or(&propagation.operator);
        // Counted before it is computed: with dense rows of features it could be huge.
        let pattern = operator.pattern();
        let at_most: usize = pattern
            .indices()
            .iter()
            .map(|&v| x.pattern().row(v as usize).len())
            .sum();
        if at_most > operator.num_entries() + x.num_entries() {
            return None;
        }
        let aggregated = operator.product(x)?;
        Some(Self {
            with_self_loops,
            aggregated,
        })
    }

    /// Returns the entries of these ranges of nodes.
    fn part(&self, ranges: &[Range<usize>]) -> Result<Self> {
        let with_self_loops = self
            .with_self_loops
            .as_ref()
            .map(|with_self_loops| with_self_loops.diagonal_blocks(ranges))
            .transpose()?;
        Ok(Self {
            with_self_loops,
            aggregated: self.aggregated.row_ranges(ranges)?,
        })
    }

    /// Stores the product in the operator that it belongs to, for these features.
    fn note(self, operator: &Operator, x: &Operator) {
        match self.with_self_loops {
            None => operator.cache_aggregated(x, self.aggregated),
            Some(with_self_loops) => {
                with_self_loops.cache_aggregated(x, self.aggregated);
                operator.cache_with_self_loops(with_self_loops);
            }
        }
    }
}

impl GraphData {
    /// Prepares graphs for a backbone. O(nodes + edges), more for centralities and two hops.
    pub fn new(
        graphs: &[Graph],
        backbone: Backbone,
        preparation: &GraphPreparation,
    ) -> Result<Self> {
        let union = disjoint_union(graphs)?;
        let features = match preparation.node_features {
            NodeFeatures::Own => own_features(graphs)?,
            // Features that were stored earlier stay.
            NodeFeatures::Degrees { .. }
                if graphs.first().is_some_and(|g| g.features().is_some()) =>
            {
                own_features(graphs)?
            }
            NodeFeatures::Degrees { max } => one_hot_degrees(&union, max),
        };
        if features.num_cols() == 0 {
            return Err(gnarl_graph::Error::argument(
                TASK,
                "the features have no columns",
            ));
        }
        let input = Input::from_features(&preparation.features.apply(&features))?;
        let mut propagation =
            propagation_of_union(TASK, &union, graphs, backbone, preparation.operator)?;
        // The values of a learnable operator are computed in every pass: batches need the pattern
        // alone.
        propagation.operator = match &propagation.learnable {
            Some(_) => Operator::from_pattern(propagation.operator.pattern().clone()),
            None => propagation.operator.with_symmetry_detected(),
        };
        propagation.two_hop = propagation.two_hop.map(Operator::with_symmetry_detected);
        let mut starts = vec![0];
        graphs
            .iter()
            .for_each(|g| starts.push(starts[starts.len() - 1] + g.num_nodes()));
        let first = FirstAggregated::new(backbone, &propagation, &input);
        let scalars = propagation
            .learnable
            .as_ref()
            .map_or_else(Vec::new, |operator| operator.scalars());
        Ok(Self {
            propagation,
            input,
            starts,
            mean_log_degree: mean_log_degree(&union),
            scalars,
            first,
        })
    }

    /// Returns the number of graphs.
    pub fn num_graphs(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of features.
    pub fn in_dim(&self) -> usize {
        self.input.dim()
    }

    /// Returns the mean of `ln(degree + 1)` over all nodes, for PNA.
    pub fn mean_log_degree(&self) -> f64 {
        self.mean_log_degree
    }

    /// Returns the shape of a classifier of these graphs with `num_classes` classes.
    pub fn shape(&self, num_classes: usize) -> Shape<'_> {
        let (in_dim, mean_log_degree) = (self.in_dim(), self.mean_log_degree);
        Shape {
            in_dim,
            num_classes,
            mean_log_degree,
            scalars: &self.scalars,
        }
    }

    /// Returns the nodes' features.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the graphs with other values on their nodes, such as the output of a network's
    /// layers.
    #[must_use]
    pub fn with_input(&self, input: Input) -> Self {
        Self {
            propagation: self.propagation.clone(),
            input,
            starts: self.starts.clone(),
            mean_log_degree: self.mean_log_degree,
            scalars: self.scalars.clone(),
            first: None,
        }
    }

    /// Returns the message-passing operator over all nodes.
    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// Joins these graphs into a batch, in this order. O(their nodes + edges). With a learned
    /// operator, a graph may occur once in a batch.
    ///
    /// # Panics
    /// If an id is out of range.
    pub fn batch(&self, graphs: &[u32]) -> Result<Batch> {
        let range = |&g: &u32| self.starts[g as usize]..self.starts[g as usize + 1];
        let ranges: Vec<Range<usize>> = graphs.iter().map(range).collect();
        let (operator, first) = rayon::join(
            || self.propagation.operator.diagonal_blocks(&ranges),
            || {
                self.first
                    .as_ref()
                    .map(|first| first.part(&ranges))
                    .transpose()
            },
        );
        let (operator, first) = (operator?, first?);
        let two_hop = self
            .propagation
            .two_hop
            .as_ref()
            .map(|two_hop| two_hop.diagonal_blocks(&ranges))
            .transpose()?;
        let learnable = match &self.propagation.learnable {
            None => None,
            Some(learnable) => {
                let mut distinct = graphs.to_vec();
                distinct.sort_unstable();
                if let Some(twice) = distinct.windows(2).find(|w| w[0] == w[1]) {
                    let what = format!(
                        "graph {} is twice in a batch for a learned operator",
                        twice[0]
                    );
                    return Err(gnarl_graph::Error::argument(TASK, what));
                }
                let nodes: Vec<u32> = ranges
                    .iter()
                    .flat_map(|r| r.start as u32..r.end as u32)
                    .collect();
                Some(learnable.restricted(&nodes, &[nodes.len(), nodes.len()])?)
            }
        };
        let input = match &self.input {
            Input::Sparse(x) => Input::Sparse(x.row_ranges(&ranges)?),
            Input::Dense(x) => {
                let filled = ranges.iter().filter(|r| !r.is_empty());
                let rows = filled
                    .map(|r| x.narrow(0, r.start, r.len()))
                    .collect::<gnarl_tensor::Result<Vec<_>>>()?;
                Input::Dense(if rows.is_empty() {
                    Tensor::zeros((0, self.input.dim()), DType::F32, &Device::Cpu)?
                } else {
                    Tensor::cat(&rows, 0)?
                })
            }
        };
        if let (Some(first), Input::Sparse(x)) = (first, &input) {
            first.note(&operator, x);
        }
        let sizes: Vec<usize> = ranges.iter().map(Range::len).collect();
        let propagation = Propagation {
            operator,
            two_hop,
            learnable,
            layer_operators: Vec::new(),
        };
        Ok(Batch {
            propagation,
            input,
            members: Membership::new(&sizes),
        })
    }

    /// Splits these graphs into batches of `size`, for repeated evaluation in the same order.
    pub fn batches(&self, graphs: &[u32], size: usize) -> Result<Vec<Batch>> {
        graphs
            .chunks(size.max(1))
            .map(|ids| self.batch(ids))
            .collect()
    }
}

/// Returns the disjoint union of all graphs: one graph without edges between the parts.
fn disjoint_union(graphs: &[Graph]) -> gnarl_graph::Result<Graph> {
    let num_nodes: usize = graphs.iter().map(Graph::num_nodes).sum();
    if num_nodes > gnarl_graph::graph::MAX_NODES {
        return Err(gnarl_graph::Error::argument(
            TASK,
            format!("{num_nodes} nodes in all are more than fit"),
        ));
    }
    let mut first = 0;
    let shifted = graphs.iter().map(|graph| {
        let shift = first;
        first += graph.num_nodes() as u32;
        (graph, shift)
    });
    if graphs.iter().any(|g| g.weights().is_some()) {
        let edges =
            shifted.flat_map(|(g, s)| g.weighted_edges().map(move |(u, v, w)| (u + s, v + s, w)));
        return Ok(Graph::from_weighted_edges(num_nodes, edges)?.0);
    }
    let edges = shifted.flat_map(|(graph, s)| graph.edges().map(move |(u, v)| (u + s, v + s)));
    Ok(Graph::from_edges(num_nodes, edges)?.0)
}

/// Returns the features of all nodes, sparse if every graph's are.
fn own_features(graphs: &[Graph]) -> gnarl_graph::Result<Features> {
    let refuse = |what: String| Err(gnarl_graph::Error::argument(TASK, what));
    let mut all: Vec<&Features> = Vec::with_capacity(graphs.len());
    for (i, graph) in graphs.iter().enumerate() {
        match graph.features() {
            Some(features) => all.push(features),
            None => return refuse(format!("the nodes of graph {i} have no features")),
        }
    }
    let num_cols = all.first().map_or(0, |f| f.num_cols());
    if let Some(i) = all.iter().position(|f| f.num_cols() != num_cols) {
        return refuse(format!(
            "graph {i} has {} features a node, graph 0 has {num_cols}",
            all[i].num_cols()
        ));
    }
    let sparse: Option<Vec<&CsrMatrix<f32>>> = all
        .iter()
        .map(|f| {
            if let Features::Sparse(m) = f {
                Some(m)
            } else {
                None
            }
        })
        .collect();
    let Some(sparse) = sparse else {
        let num_rows = all.iter().map(|f| f.num_rows()).sum();
        let mut data = Vec::with_capacity(num_rows * num_cols);
        for features in all {
            match features {
                Features::Dense(m) => data.extend_from_slice(m.data()),
                Features::Sparse(_) => data.extend_from_slice(features.to_dense().data()),
            }
        }
        return Ok(Features::Dense(DenseMatrix::new(num_rows, num_cols, data)?));
    };
    let (mut offsets, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for m in sparse {
        let shift = offsets[offsets.len() - 1];
        offsets.extend(m.offsets()[1..].iter().map(|o| o + shift));
        indices.extend_from_slice(m.indices());
        values.extend_from_slice(m.values());
    }
    Ok(Features::Sparse(CsrMatrix::new(
        num_cols, offsets, indices, values,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;

    #[test]
    fn degrees_are_binned_at_the_cap() {
        let star = generate::star(5).unwrap();
        assert_eq!(
            NodeFeatures::of(&[star.clone(), Graph::empty(2).unwrap()]),
            NodeFeatures::Degrees { max: 4 }
        );
        assert_eq!(NodeFeatures::of(&[]), NodeFeatures::Degrees { max: 0 });
        let huge = generate::star(400).unwrap();
        assert_eq!(
            NodeFeatures::of(&[huge]),
            NodeFeatures::Degrees { max: DEGREE_CAP }
        );
        let features = one_hot_degrees(&star, 2).to_dense();
        let hub = (0..5).find(|&u| star.degree(u) == 4).unwrap() as usize;
        assert_eq!(
            features.row(hub),
            [0.0, 0.0, 1.0],
            "four neighbours are two or more"
        );
        assert_eq!(features.row((hub + 1) % 5), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn fixed_degrees_survive_a_change_of_structure() {
        let preparation = |graphs: &[Graph]| GraphPreparation {
            operator: OperatorChoice::Default,
            features: Scaler::AsLoaded,
            node_features: NodeFeatures::of(graphs),
        };
        let path = Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0;
        let columns = |graph: &Graph, preparation: &GraphPreparation| {
            let data =
                GraphData::new(std::slice::from_ref(graph), Backbone::GCN, preparation).unwrap();
            let Input::Sparse(x) = data.input else {
                panic!("one-hot degrees are sparse")
            };
            x.pattern().indices().to_vec()
        };
        let as_is = preparation(std::slice::from_ref(&path));
        let cut = path.remove_edges(&[(0, 1)]).unwrap();
        assert_eq!(
            (columns(&path, &as_is), columns(&cut, &as_is)),
            (vec![1, 2, 1], vec![0, 1, 1]),
            "recomputed"
        );
        let fixed = as_is.node_features.fixed(&[&path]).unwrap().unwrap();
        assert_eq!(
            columns(&fixed[0].remove_edges(&[(0, 1)]).unwrap(), &as_is),
            [1, 2, 1],
            "kept"
        );
    }

    /// The stored product of the first layer gives the same scores and gradients as the graph
    /// without it.
    #[test]
    fn what_is_heard_first_is_what_the_operator_gives() {
        use gnarl_nn::networks::{GraphClassifier, NetworkConfig, Pass, Readout};
        let graph = generate::erdos_renyi(30, 0.2, 1).unwrap();
        let graphs = std::slice::from_ref(&graph);
        for backbone in [
            Backbone::GCN,
            Backbone::GIN,
            Backbone::JK_MAX,
            Backbone::JK_CAT_GIN,
        ] {
            let preparation = GraphPreparation {
                operator: OperatorChoice::Default,
                features: Scaler::AsLoaded,
                node_features: NodeFeatures::of(graphs),
            };
            let data = GraphData::new(graphs, backbone, &preparation).unwrap();
            assert!(data.first.is_some(), "{backbone}");
            let network = NetworkConfig {
                hidden: 6,
                dropout: 0.0,
                ..NetworkConfig::new(backbone)
            };
            let config = NetworkConfig {
                readout: Readout::Sum,
                head_dropout: 0.0,
                ..network
            };
            let classifier = GraphClassifier::new(&config, &data.shape(2), 1).unwrap();
            let batch = data.batch(&[0]).unwrap();
            let (propagation, input) = (
                propagation_of_union(TASK, &graph, graphs, backbone, OperatorChoice::Default)
                    .unwrap(),
                batch.input.clone(),
            );
            let plain = Batch {
                propagation,
                input,
                members: batch.members.clone(),
            };
            let [with, without] = [&batch, &plain].map(|batch| {
                let weights = classifier.params().weights().unwrap();
                let scores = classifier
                    .scores(batch, &Pass::evaluation(&weights))
                    .unwrap();
                let grads = scores.sqr().unwrap().sum_all().unwrap().backward().unwrap();
                let mut all = scores.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                for p in classifier.params().list() {
                    all.extend(
                        grads
                            .get(&p.var)
                            .unwrap()
                            .flatten_all()
                            .unwrap()
                            .to_vec1::<f32>()
                            .unwrap(),
                    );
                }
                all
            });
            gnarl_nn::testing::assert_close(&with, &without, 1e-4, &backbone.to_string());
        }
    }

    #[test]
    fn features_that_do_not_fit_are_named() {
        let with = |cols: usize| {
            Graph::empty(2)
                .unwrap()
                .with_features(Features::Dense(DenseMatrix::zeros(2, cols)))
                .unwrap()
        };
        let fail = |graphs: &[Graph]| own_features(graphs).unwrap_err().to_string();
        assert!(
            fail(&[with(2), Graph::empty(1).unwrap()])
                .contains("the nodes of graph 1 have no features")
        );
        assert!(fail(&[with(2), with(3)]).contains("graph 1 has 3 features a node, graph 0 has 2"));
    }
}
