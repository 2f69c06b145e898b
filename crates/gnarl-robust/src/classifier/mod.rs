//! Trained models as classifiers, for attacks, robustness measures and inference rules. A
//! [`Classifier`] maps a graph to class scores, one row for each node, or a single row for graph
//! classification. Everything that works on a [`Classifier`] also works on the graphs of a set, one
//! at a time.
//!
//! | file | contents |
//! | --- | --- |
//! | this file | the trait, functions as classifiers, networks with gradients |
//! | [`early_exit`] | a network with exits and the policy that chooses one |
//! | [`graph_exits`] | exits for graphs of a set, one at a time |
//! | [`relaxed`] | operators with continuous edge weights, and defences that gradients pass through |
//!
//! Features are the network's input. If a recipe scales features, scale those of the graph once
//! ([`Scaler::apply`](gnarl_nn::features::Scaler::apply)), before anything else.

pub mod early_exit;
pub mod graph_exits;
pub mod relaxed;

use std::sync::{Arc, OnceLock};

use gnarl_graph::{DenseMatrix, Graph};

use crate::perturb::Pair;
use gnarl_graph::{Error, Result};
use gnarl_nn::features::one_hot_degrees;
use gnarl_nn::networks::{GraphClassifier, Input, Network, Params, Pass, Propagation, Weights};
use gnarl_nn::operator::prepared::input;
use gnarl_nn::operator::{OperatorChoice, propagation};
use gnarl_tensor::{DType, Device, Operator, Tensor};

pub use early_exit::EarlyExit;
pub use graph_exits::GraphEarlyExit;
pub use relaxed::{AttackPath, Differentiable, Filter, Relaxed};

/// Maps a graph with features to class scores.
pub trait Classifier: Sync {
    /// Returns the number of classes.
    fn num_classes(&self) -> usize;

    /// Computes class scores before the softmax, one row for each node, or one for the graph.
    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>>;

    /// Returns the network inside, if there is one for white-box access and gradients.
    fn white_box(&self) -> Option<&WhiteBox> {
        None
    }

    /// Returns the path of gradients to the edge weights: through the network and a defence before
    /// it, if both allow it.
    fn see_through(&self) -> Option<AttackPath<'_>> {
        self.white_box().map(|network| AttackPath {
            network,
            defense: None,
        })
    }

    /// Returns, for a classifier that may drop edges before a prediction, true for each unconnected
    /// pair that would be kept. Other pairs are useless to an attack.
    fn keeps_edges(&self, graph: &Graph, pairs: &[Pair]) -> Result<Option<Vec<bool>>> {
        let _ = (graph, pairs);
        Ok(None)
    }

    /// Returns a simpler classifier whose gradients replace those of the scores (straight-through),
    /// if any.
    fn followed(&self) -> Option<&dyn Classifier> {
        None
    }
}

/// Function as a classifier.
#[derive(Debug)]
pub struct FromFn<F> {
    /// Number of classes.
    pub num_classes: usize,
    /// Function that computes the scores.
    pub function: F,
}

impl<F: Fn(&Graph) -> Result<DenseMatrix<f32>> + Sync> Classifier for FromFn<F> {
    fn num_classes(&self) -> usize {
        self.num_classes
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        (self.function)(graph)
    }
}

/// Override of the message-passing operator on a graph, if it is no operator of its edges.
pub trait OperatorOverride: std::fmt::Debug + Send + Sync {
    /// Computes the operator that replaces the network's own.
    fn propagation(&self, graph: &Graph) -> Result<Propagation>;
}

/// Trained network with its operator: weights are fixed, gradients go to features and to an
/// operator's values.
#[derive(Debug)]
pub struct WhiteBox {
    body: Body,
    operator: OperatorChoice,
    operator_override: Option<Arc<dyn OperatorOverride>>,
    weights: Weights,
    reduced: OnceLock<Option<Reduced>>,
}

/// Network for nodes or for graphs.
#[derive(Debug)]
enum Body {
    Nodes(Network),
    /// Graph classifier, with the last column of one-hot degrees, if these are its features.
    Graphs {
        classifier: GraphClassifier,
        degrees: Option<usize>,
    },
}

impl WhiteBox {
    /// Builds a white box with the current weights of the network.
    pub fn new(network: Network, operator: OperatorChoice) -> Result<Self> {
        let weights = network.params().weights()?.detached();
        Ok(Self {
            body: Body::Nodes(network),
            operator,
            operator_override: None,
            weights,
            reduced: OnceLock::new(),
        })
    }

    /// Builds a white box with the current weights of a graph classifier. `degrees` is the last
    /// column of one-hot degrees, if these are the nodes' features: they follow the edges of every
    /// graph.
    pub fn of_graphs(
        classifier: GraphClassifier,
        operator: OperatorChoice,
        degrees: Option<usize>,
    ) -> Result<Self> {
        let weights = classifier.weights()?;
        Ok(Self {
            body: Body::Graphs {
                classifier,
                degrees,
            },
            operator,
            operator_override: None,
            weights,
            reduced: OnceLock::new(),
        })
    }

    /// Sets an override of the message-passing operator, if given.
    pub fn with_operator(self, operator_override: Option<Arc<dyn OperatorOverride>>) -> Self {
        Self {
            operator_override,
            ..self
        }
    }

    /// Returns the network; for a graph classifier, its message-passing network.
    pub fn network(&self) -> &Network {
        match &self.body {
            Body::Nodes(network) => network,
            Body::Graphs { classifier, .. } => classifier.encoder(),
        }
    }

    /// Returns the graph classifier, if it classifies graphs.
    pub fn graph_classifier(&self) -> Option<&GraphClassifier> {
        match &self.body {
            Body::Nodes(_) => None,
            Body::Graphs { classifier, .. } => Some(classifier),
        }
    }

    /// Returns its parameters.
    pub fn params(&self) -> &Params {
        self.network().params()
    }

    /// Returns true if its features are computed from the edges: they change with them.
    pub fn reads_degrees(&self) -> bool {
        matches!(
            self.body,
            Body::Graphs {
                degrees: Some(_),
                ..
            }
        )
    }

    /// Returns the message-passing operator.
    pub fn operator(&self) -> OperatorChoice {
        self.operator
    }

    /// Returns its weights as a forward pass uses them.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Computes the propagation on a graph.
    pub fn propagation(&self, graph: &Graph) -> Result<Propagation> {
        match &self.operator_override {
            Some(operator_override) => operator_override.propagation(graph),
            None => propagation(graph, self.network().config().backbone, self.operator),
        }
    }

    /// Computes the operator of a graph with the learned scalars; a fixed operator is unchanged.
    pub fn learned_operator(&self, graph: &Graph) -> Result<Operator> {
        let propagation = self.propagation(graph)?;
        Ok(self
            .network()
            .propagation(&propagation, &Pass::evaluation(&self.weights))?
            .operator
            .clone())
    }

    /// Returns the features of a graph as the network's input; the identity if it has none.
    pub fn input(&self, graph: &Graph) -> Result<Input> {
        let degrees = match self.body {
            Body::Graphs { degrees, .. } => degrees,
            Body::Nodes(_) => None,
        };
        input_of_graph(graph, degrees, self.network().in_dim())
    }

    /// Computes class scores without dropout. Gradients reach the input and the values of the
    /// operator if they are variables.
    pub fn forward(&self, propagation: &Propagation, input: &Input) -> Result<Tensor> {
        self.pass(propagation, input, &self.weights)
    }

    /// Returns the network on fewer features, if its first operation on features is linear with
    /// fewer outputs.
    pub fn reduced(&self) -> Result<Option<&Reduced>> {
        if let Some(known) = self.reduced.get() {
            return Ok(known.as_ref());
        }
        let reduced = Reduced::new(self.network(), &self.weights)?;
        Ok(self.reduced.get_or_init(|| reduced).as_ref())
    }

    /// Computes [`forward`](Self::forward) from coordinates `X Q` in the basis of
    /// [`reduced`](Self::reduced).
    pub fn forward_reduced(
        &self,
        reduced: &Reduced,
        propagation: &Propagation,
        coordinates: &Tensor,
    ) -> Result<Tensor> {
        self.pass(
            propagation,
            &Input::Dense(coordinates.clone()),
            &reduced.weights,
        )
    }

    fn pass(&self, propagation: &Propagation, input: &Input, weights: &Weights) -> Result<Tensor> {
        let pass = Pass::evaluation(weights);
        Ok(match &self.body {
            Body::Nodes(network) => network.forward(propagation, input, &pass)?,
            Body::Graphs { classifier, .. } => {
                classifier.scores_of_one(propagation, input, &pass)?
            }
        })
    }
}

impl Classifier for WhiteBox {
    fn num_classes(&self) -> usize {
        match &self.body {
            Body::Nodes(network) => network.num_classes(),
            Body::Graphs { classifier, .. } => classifier.num_classes(),
        }
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        to_matrix(&self.forward(&self.propagation(graph)?, &self.input(graph)?)?)
    }

    fn white_box(&self) -> Option<&WhiteBox> {
        Some(self)
    }

    fn see_through(&self) -> Option<AttackPath<'_>> {
        let learned = matches!(self.operator, OperatorChoice::Cgso(_));
        Some(AttackPath {
            network: self,
            defense: learned.then_some(self as &dyn Differentiable),
        })
    }
}

/// Returns the features of a graph as the input of a model with `in_dim` columns; without features,
/// one-hot degrees up to `degrees`, or the identity.
fn input_of_graph(graph: &Graph, degrees: Option<usize>, in_dim: usize) -> Result<Input> {
    let input = match degrees {
        Some(max) if graph.features().is_none() => {
            Input::from_features(&one_hot_degrees(graph, max))?
        }
        _ => input(graph)?,
    };
    if input.dim() != in_dim {
        let what = format!(
            "the graph has {} features, the model takes {in_dim}",
            input.dim()
        );
        return Err(Error::argument("classifier", what));
    }
    Ok(input)
}

/// Converts a tensor of two dimensions to a matrix.
pub fn to_matrix(scores: &Tensor) -> Result<DenseMatrix<f32>> {
    let (rows, cols) = scores.dims2()?;
    DenseMatrix::new(rows, cols, scores.flatten_all()?.to_vec1::<f32>()?)
}

/// Network restricted to the space of its first linear maps.
///
/// With `W = [W_1 … W_k]` all maps of the features and Q an orthonormal basis of W's columns,
/// `X W = (X Q)(Qᵀ W)`: the network is one on the coordinates `X Q` with weights `Qᵀ W_i`. The
/// scores do not depend on anything outside that space, so a perturbation of features need only be
/// sampled, or searched, within it.
#[derive(Debug)]
pub struct Reduced {
    /// Q, `[features, dim]`, orthonormal columns.
    pub basis: Tensor,
    weights: Weights,
}

impl Reduced {
    fn new(network: &Network, weights: &Weights) -> Result<Option<Self>> {
        let maps = network.input_maps();
        let width: usize = maps.iter().map(|&id| weights[id].dims()[1]).sum();
        if maps.is_empty() || width >= network.in_dim() {
            return Ok(None);
        }
        let all = Tensor::cat(&maps.iter().map(|&id| &weights[id]).collect::<Vec<_>>(), 1)?;
        let basis = orthonormal_basis(&all)?;
        let transposed = basis.t()?.contiguous()?;
        let mut reduced = weights.clone();
        for id in maps {
            reduced.replace(id, transposed.matmul(&weights[id])?);
        }
        Ok(Some(Self {
            basis,
            weights: reduced,
        }))
    }

    /// Returns the number of coordinates.
    pub fn dim(&self) -> usize {
        self.basis.dims()[1]
    }

    /// Computes `X Q`.
    pub fn coordinates(&self, input: &Input) -> Result<Tensor> {
        Ok(input.matmul(&self.basis, None)?)
    }
}

/// Computes orthonormal columns that span those of `matrix`. Dependent columns are left out; a
/// matrix of zeros gives one column of zeros.
fn orthonormal_basis(matrix: &Tensor) -> Result<Tensor> {
    let (rows, cols) = matrix.dims2()?;
    let columns = matrix
        .t()?
        .to_dtype(DType::F64)?
        .flatten_all()?
        .to_vec1::<f64>()?;
    let basis = gnarl_linalg::orthonormal_basis(rows, cols, &columns, RANK_TOLERANCE)
        .map_err(|_| Error::argument("model", "its first weights are not all finite"))?;
    let basis = if basis.is_empty() {
        vec![0.0; rows]
    } else {
        basis
    };
    let values: Vec<f32> = basis.iter().map(|&v| v as f32).collect();
    Ok(
        Tensor::from_vec(values, (basis.len() / rows.max(1), rows), &Device::Cpu)?
            .t()?
            .contiguous()?,
    )
}

/// Tolerance of the rank: the rest of a column in the span of the others is rounding.
const RANK_TOLERANCE: f64 = 1e-7;

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::erdos_renyi;
    use gnarl_graph::random::stream;
    use gnarl_graph::{Features, Labels};
    use gnarl_nn::networks::{Backbone, NetworkConfig, Shape};
    use gnarl_nn::testing::assert_close;
    use rand::RngExt;

    fn graph() -> Graph {
        let rng = &mut stream(3, "classifier test", 0);
        let graph = erdos_renyi(30, 0.15, 3).unwrap();
        let values: Vec<f32> = (0..30 * 40).map(|_| rng.random::<f32>() - 0.4).collect();
        let labels = Labels::new((0..30).map(|i| Some(i % 3)).collect(), 3).unwrap();
        let features = Features::Dense(DenseMatrix::new(30, 40, values).unwrap());
        graph
            .with_features(features)
            .unwrap()
            .with_labels(labels)
            .unwrap()
    }

    #[test]
    fn the_reduced_network_is_the_network() {
        let graph = graph();
        let mut with_reduction = Vec::new();
        for (name, backbone) in Backbone::named() {
            let config = NetworkConfig {
                hidden: 8,
                ..NetworkConfig::new(backbone.where_taken("heads", 2))
            };
            let network = Network::new(&config, &Shape::new(40, 3, 1.0), 5).unwrap();
            let model = WhiteBox::new(network, OperatorChoice::Default).unwrap();
            let Some(reduced) = model.reduced().unwrap() else {
                continue;
            };
            with_reduction.push(name);
            let (propagation, input) = (
                model.propagation(&graph).unwrap(),
                model.input(&graph).unwrap(),
            );
            let coordinates = reduced.coordinates(&input).unwrap();
            assert!(
                coordinates.dims()[1] == reduced.dim() && reduced.dim() <= 16,
                "{name}: {}",
                reduced.dim()
            );
            let by_reduced = model
                .forward_reduced(reduced, &propagation, &coordinates)
                .unwrap();
            let [scores, by_reduced] = [
                model.scores(&graph).unwrap(),
                to_matrix(&by_reduced).unwrap(),
            ]
            .map(|m| m.data().to_vec());
            assert_close(&by_reduced, &scores, 1e-5, name);
        }
        for expected in [
            "gcn", "gat", "gatv2", "gin", "sage", "sgc", "appnp", "pna", "h2gcn", "mlp", "gcnii",
            "gpr-gnn",
        ] {
            assert!(
                with_reduction.contains(&expected),
                "{expected} has no reduction"
            );
        }
    }

    #[test]
    fn a_graph_with_other_features_is_refused_in_one_line() {
        let network = Network::new(
            &NetworkConfig::new(Backbone::GCN),
            &Shape::new(41, 3, 1.0),
            5,
        )
        .unwrap();
        let e = WhiteBox::new(network, OperatorChoice::Default)
            .unwrap()
            .scores(&graph())
            .unwrap_err()
            .to_string();
        assert!(e.contains("40 features, the model takes 41"), "{e}");
    }
}
