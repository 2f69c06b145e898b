//! A trained model as attacks, measures of robustness and inference see it: a graph goes in, class
//! scores come out, one row for each node or, of a classifier of graphs, one row in all. Whatever
//! works on a [`Classifier`] works around the graphs of a set, one at a time.
//!
//! | file | what |
//! | --- | --- |
//! | this one | the trait, functions as classifiers, networks with gradients |
//! | [`early_exit`] | a network with exits and the policy that says which is taken |
//! | [`graph_exits`] | the same for graphs of a set, one at a time |
//! | [`relaxed`] | operators of graphs whose edges may be half there, and defences that gradients see through |
//!
//! Features enter as the network sees them. Where a recipe scales them, scale the graph's once
//! ([`Scaler::apply`](gnarl_nn::features::Scaler::apply)), before anything is done to it.

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
pub use relaxed::{Filter, Relaxed, SeeThrough, Through};

/// Maps a graph with features to class scores.
pub trait Classifier: Sync {
    /// Number of classes.
    fn num_classes(&self) -> usize;

    /// Class scores before the softmax, one row for each node, or one for the graph.
    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>>;

    /// The network inside, where there is one to look into and to take gradients through.
    fn white_box(&self) -> Option<&WhiteBox> {
        None
    }

    /// How gradients reach the weights of edges: through the network inside and whatever stands
    /// before it, where that lets them.
    fn see_through(&self) -> Option<Through<'_>> {
        self.white_box().map(|network| Through {
            network,
            defense: None,
        })
    }

    /// Where edges may be dropped before an answer: which of these pairs, not joined, would stay.
    /// An attacker has no use for the others.
    fn would_stay(&self, graph: &Graph, pairs: &[Pair]) -> Result<Option<Vec<bool>>> {
        let _ = (graph, pairs);
        Ok(None)
    }

    /// Where gradients are not those of the scores but of a simpler classifier's in their place,
    /// straight through what it leaves out: that one.
    fn followed(&self) -> Option<&dyn Classifier> {
        None
    }
}

/// A function as a classifier.
#[derive(Debug)]
pub struct FromFn<F> {
    /// Number of classes.
    pub num_classes: usize,
    /// The function.
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

/// What messages travel by on a graph where that is no operator of its edges.
pub trait Travel: std::fmt::Debug + Send + Sync {
    /// The operator that takes the place of the network's own.
    fn propagation(&self, graph: &Graph) -> Result<Propagation>;
}

/// A trained network with its operator: weights fixed, gradients to features and to an operator's
/// values.
#[derive(Debug)]
pub struct WhiteBox {
    body: Body,
    operator: OperatorChoice,
    travel: Option<Arc<dyn Travel>>,
    weights: Weights,
    reduced: OnceLock<Option<Reduced>>,
}

/// What answers.
#[derive(Debug)]
enum Body {
    Nodes(Network),
    /// Of graphs; with the last column of one-hot degrees, where those are its features.
    Graphs {
        classifier: GraphClassifier,
        degrees: Option<usize>,
    },
}

impl WhiteBox {
    /// The network as it is now: its weights as a forward pass sees them.
    pub fn new(network: Network, operator: OperatorChoice) -> Result<Self> {
        let weights = network.params().weights()?.detached();
        Ok(Self {
            body: Body::Nodes(network),
            operator,
            travel: None,
            weights,
            reduced: OnceLock::new(),
        })
    }

    /// A classifier of graphs as it is now. `degrees` is the last column of one-hot degrees, where
    /// those are the nodes' features: they follow the edges of whatever graph it is given.
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
            travel: None,
            weights,
            reduced: OnceLock::new(),
        })
    }

    /// The same with messages that travel by something else than an operator of the edges, where
    /// that is given.
    pub fn travelling(self, travel: Option<Arc<dyn Travel>>) -> Self {
        Self { travel, ..self }
    }

    /// The network; of a classifier of graphs, its message passing.
    pub fn network(&self) -> &Network {
        match &self.body {
            Body::Nodes(network) => network,
            Body::Graphs { classifier, .. } => classifier.encoder(),
        }
    }

    /// Where it classifies graphs: the classifier.
    pub fn graph_classifier(&self) -> Option<&GraphClassifier> {
        match &self.body {
            Body::Nodes(_) => None,
            Body::Graphs { classifier, .. } => Some(classifier),
        }
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        self.network().params()
    }

    /// Whether what stands for features is read off the edges: then it moves with them.
    pub fn reads_degrees(&self) -> bool {
        matches!(
            self.body,
            Body::Graphs {
                degrees: Some(_),
                ..
            }
        )
    }

    /// The operator that messages travel by.
    pub fn operator(&self) -> OperatorChoice {
        self.operator
    }

    /// Its weights as a forward pass sees them.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// What messages travel by on a graph.
    pub fn propagation(&self, graph: &Graph) -> Result<Propagation> {
        match &self.travel {
            Some(travel) => travel.propagation(graph),
            None => propagation(graph, self.network().config().backbone, self.operator),
        }
    }

    /// The operator of a graph with the scalars that were learned; a fixed one as it is.
    pub fn learned_operator(&self, graph: &Graph) -> Result<Operator> {
        let propagation = self.propagation(graph)?;
        Ok(self
            .network()
            .propagation(&propagation, &Pass::evaluation(&self.weights))?
            .operator
            .clone())
    }

    /// The features of a graph as the network takes them; the identity where it has none.
    pub fn input(&self, graph: &Graph) -> Result<Input> {
        let degrees = match self.body {
            Body::Graphs { degrees, .. } => degrees,
            Body::Nodes(_) => None,
        };
        input_of_graph(graph, degrees, self.network().in_dim())
    }

    /// Class scores without dropout. Gradients reach the input and the values of the operator where
    /// they are variables.
    pub fn forward(&self, propagation: &Propagation, input: &Input) -> Result<Tensor> {
        self.pass(propagation, input, &self.weights)
    }

    /// The same network on fewer features, where all it does to features is linear and narrower
    /// than they are.
    pub fn reduced(&self) -> Result<Option<&Reduced>> {
        if let Some(known) = self.reduced.get() {
            return Ok(known.as_ref());
        }
        let reduced = Reduced::new(self.network(), &self.weights)?;
        Ok(self.reduced.get_or_init(|| reduced).as_ref())
    }

    /// [`forward`](Self::forward) from coordinates `X Q` in the basis of
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

    fn see_through(&self) -> Option<Through<'_>> {
        let learned = matches!(self.operator, OperatorChoice::Cgso(_));
        Some(Through {
            network: self,
            defense: learned.then_some(self as &dyn SeeThrough),
        })
    }
}

/// The features of a graph as a model of `in_dim` columns takes them; where it has none, one-hot
/// degrees up to `degrees`, or the identity.
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

/// A tensor of two dimensions as a matrix.
pub fn to_matrix(scores: &Tensor) -> Result<DenseMatrix<f32>> {
    let (rows, cols) = scores.dims2()?;
    DenseMatrix::new(rows, cols, scores.flatten_all()?.to_vec1::<f32>()?)
}

/// A network seen from the space that its first linear maps look at.
///
/// With `W = [W_1 … W_k]` all maps that features go through and Q an orthonormal basis of W's
/// columns, `X W = (X Q)(Qᵀ W)`: the network is one on the coordinates `X Q` with weights `Qᵀ W_i`.
/// Whatever lies outside that space is not heard, so a perturbation of features need only be drawn,
/// or sought, within it.
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

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.basis.dims()[1]
    }

    /// `X Q`.
    pub fn coordinates(&self, input: &Input) -> Result<Tensor> {
        Ok(input.matmul(&self.basis, None)?)
    }
}

/// Orthonormal columns that span those of `matrix`. Columns that add nothing are left out; of a
/// matrix of zeros one column of zeros is kept.
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

/// What is left of a column in the span of the others is rounding.
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
            let model = WhiteBox::new(network, OperatorChoice::Usual).unwrap();
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
        let e = WhiteBox::new(network, OperatorChoice::Usual)
            .unwrap()
            .scores(&graph())
            .unwrap_err()
            .to_string();
        assert!(e.contains("40 features, the model takes 41"), "{e}");
    }
}
