//! Upper bounds on the distance between a network's predictions on perturbed inputs, for features,
//! structure and both. The bounds extend those of [Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2404.17947), and each is sound for the network it is computed on.
//!
//! | file | what |
//! | --- | --- |
//! | `features` | every row of the features within a ball |
//! | `structure` | edges that flip, alone or with features |
//! | `gin` | the published formula for GIN |
//! | `graphs` | from the nodes of a graph to the scores of the graph |
//! | `flips` | size and change of an operator under flips |
//! | `operators` | norms of operators, and distances between them |
//! | `gains` | operator norms of linear maps |
//! | `plan` | the linear maps of a network by their position |
//!
//! A network here is a stack of layers `H ← relu(Φ H W + b)`, where a layer of GIN has a second map
//! and adds a node's own message, followed by linear maps without message passing. A classifier of
//! graphs ends in a readout and a head. ReLU does not increase distances, biases cancel in
//! differences, and the rows of H are vectors multiplied from the right:
//! `||x W||_1 <= ||x||_1 · (largest absolute row sum)`,
//! `||x W||_inf <= ||x||_inf · (largest absolute column sum)`,
//! `||x W||_2 <= ||x||_2 · (largest singular value)`.
//!
//! *Probabilities.* Softmax moves L2 distances by a factor of at most 1/2: its derivative is the
//! covariance of a one-hot variable, `vᵀ J v` is the variance of v's entries under it, at most
//! `(max v - min v)² / 4 <= |v|² / 2`. And two distributions are at most sqrt 2 apart.
//!
//! The published formulas are computed next to these bounds, and are too small (erratum 10):
//! - they take walks of length L - 1 where L aggregations take walks of length L,
//! - they take the norms of `W h` for a network that computes `h W`,
//! - for structure, the product of norms is so far below one that its square is lost,
//! - the bound for GIN takes the size of the features for their differences, and does not grow with
//!   depth as sums over neighbours do.
//!
//! All is computed in f64 from the weights that a forward pass uses, with a relative slack of 1e-5
//! for a forward pass in f32.

mod features;
mod flips;
pub(super) mod gains;
mod gin;
mod graphs;
pub(super) mod operators;
pub(super) mod plan;
mod structure;
#[cfg(test)]
pub(super) mod testing;

use gnarl_graph::{Error as GraphError, Graph, named};
use serde::Serialize;

pub use operators::operator_distance;

use self::flips::Structure;
use self::gains::Gains;
use self::graphs::Ending;
use self::operators::absolute;
use self::plan::Plan;
use crate::classifier::WhiteBox;
use crate::perturb::Norm;
use crate::perturb::ball::check_radius;
use gnarl_graph::{Error, Result};
use gnarl_nn::networks::{Backbone, Input, Pass};
use gnarl_tensor::{DType, Tensor};

/// Relative slack for a forward pass in f32.
const SLACK: f64 = 1.0 + 1e-5;

/// The largest perturbation of an input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Every row of the features moves by at most `epsilon`.
    Features {
        /// The norm of a row.
        norm: Norm,
        /// The radius.
        epsilon: f64,
    },
    /// The graph changes by at most so many flips of edges.
    Structure {
        /// Number of flips.
        flips: usize,
    },
    /// Features and edges change at once.
    Both {
        /// The norm of a row of features.
        norm: Norm,
        /// The radius of a row.
        epsilon: f64,
        /// Number of flips.
        flips: usize,
    },
}

named! {
    /// A distance between two predictions.
    pub enum Distance as "distance" {
        /// Distance of scores: the sum over rows of their L1 norms.
        L1 = "l1",
        /// Distance of scores: the Frobenius norm.
        L2 = "l2",
        /// Distance of scores: the largest absolute entry.
        Linf = "linf",
        /// Distance of probabilities: the Frobenius norm over `2 sqrt(rows)`, which the estimator
        /// measures.
        Scaled = "scaled",
    }
}

/// One upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// The bounded distance.
    pub distance: Distance,
    /// Sound bound: no input within the budget moves the prediction further.
    pub sound: f64,
    /// Value of the published formula, if there is one ([Abbahaddou et al.
    /// 2024](https://arxiv.org/abs/2404.17947)): it may be too small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thesis: Option<f64>,
}

/// Precomputed quantities that bound a network on a graph.
#[derive(Debug, Clone)]
pub struct Bounds {
    features: usize,
    layers: Vec<LayerCut>,
    tail: Vec<Gains>,
    /// `|Φ|^L 1`, and the published formula's `|Φ|^(L-1) 1`.
    walks: [Vec<f64>; 2],
    /// `||X||`, Frobenius.
    input_norm: f64,
    structure: std::result::Result<Structure, String>,
    gin: bool,
    /// The readout and head of a classifier of graphs.
    ending: Option<Ending>,
}

/// One message-passing layer.
#[derive(Debug, Clone)]
struct LayerCut {
    /// Weight of a node's own message in addition to those that Φ brings.
    own: f64,
    /// Its linear maps, the first before the operator.
    maps: Vec<Gains>,
    /// Norms of the messages, the rows of `P = H W`, H the clean representations that enter the
    /// layer.
    messages: Vec<f64>,
}

impl Bounds {
    /// Precomputes the bounds of a network on a graph. Fails with the reason if the bounds do not
    /// cover the network.
    pub fn new(model: &WhiteBox, graph: &Graph) -> Result<Self> {
        let plan = Plan::of(model)?;
        let own = if plan.backbone.is(Backbone::GIN) {
            1.0
        } else {
            0.0
        };
        let propagation = model.propagation(graph)?;
        let propagation = model
            .network()
            .propagation(&propagation, &Pass::evaluation(model.weights()))?;
        let mut h = model.input(graph)?;
        let (features, input_norm) = (h.dim(), input_norm(&h)?);

        let mut walks = [vec![1.0; graph.num_nodes()], vec![1.0; graph.num_nodes()]];
        let mut layers = Vec::with_capacity(plan.layers.len());
        for (i, maps) in plan.layers.iter().enumerate() {
            let operator = propagation.layer(i);
            let messages = match maps.first() {
                Some(first) => h.matmul(first.weight, None)?,
                None => h.to_dense()?,
            };
            let mut longer = absolute(operator)?.apply(&walks[0]);
            longer
                .iter_mut()
                .zip(&walks[0])
                .for_each(|(longer, w)| *longer += own * w);
            let [all, _] = walks;
            walks = [longer, all];
            let gains = maps
                .iter()
                .map(|map| Gains::of(map.weight))
                .collect::<Result<_>>()?;
            layers.push(LayerCut {
                own,
                maps: gains,
                messages: row_norms(&messages)?,
            });
            if i + 1 < plan.layers.len() {
                h = Input::Dense(plan.output(maps, operator, messages)?);
            }
        }
        let mut tail = plan
            .tail
            .iter()
            .map(|map| Gains::of(map.weight))
            .collect::<Result<Vec<_>>>()?;
        if let Some(gain) = model.network().gain() {
            let factor = gain.factor(&Pass::evaluation(model.weights()))?;
            let one = Tensor::eye(model.network().num_classes(), DType::F32, factor.device())?;
            tail.push(Gains::of(&one.broadcast_mul(&factor)?)?);
        }
        let gin = plan.backbone.is(Backbone::GIN);
        let ending = plan
            .head
            .map(|head| Ending::new(model, head))
            .transpose()?
            .flatten();
        Ok(Self {
            features,
            layers,
            tail,
            walks,
            input_norm,
            structure: Structure::new(model, graph),
            gin,
            ending,
        })
    }

    /// The bounds for a budget. Fails if they do not cover its changes of structure.
    pub fn within(&self, budget: Budget) -> Result<Vec<Bound>> {
        match budget {
            Budget::Features { norm, epsilon } => {
                check_ball(norm, epsilon)?;
                Ok(self.by_features(norm, epsilon))
            }
            Budget::Structure { flips } => self.by_flips(None, flips),
            Budget::Both {
                norm,
                epsilon,
                flips,
            } => {
                check_ball(norm, epsilon)?;
                self.by_flips(Some((norm, epsilon)), flips)
            }
        }
    }

    /// Every linear map, from the features on.
    fn maps(&self) -> impl Iterator<Item = &Gains> {
        self.layers
            .iter()
            .flat_map(|layer| &layer.maps)
            .chain(&self.tail)
    }

    fn product(&self, of: fn(&Gains) -> f64) -> f64 {
        self.maps().map(of).product()
    }
}

fn check_ball(norm: Norm, epsilon: f64) -> Result<()> {
    check_radius(epsilon)?;
    norm.check()
}

fn not_covered(what: String) -> Error {
    GraphError::unsupported("bounds", format!("no bound covers {what}"))
}

/// Norms of the rows of a matrix.
fn row_norms(matrix: &Tensor) -> Result<Vec<f64>> {
    Ok(matrix
        .to_dtype(DType::F64)?
        .sqr()?
        .sum(1)?
        .sqrt()?
        .to_vec1::<f64>()?)
}

fn input_norm(input: &Input) -> Result<f64> {
    let values = match input {
        Input::Sparse(x) => x.values()?,
        Input::Dense(x) => x.clone(),
    };
    let values = values.flatten_all()?.to_vec1::<f32>()?;
    Ok(values
        .iter()
        .map(|&v| f64::from(v) * f64::from(v))
        .sum::<f64>()
        .sqrt())
}

fn total(norms: &[f64]) -> f64 {
    norms.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::testing::{assert_holds, config, moved, random_features, try_to_break_features};
    use super::*;
    use crate::perturb::{FlipBall, FlipLaw, flipped};
    use crate::testing::trained;
    use gnarl_graph::generate::{CsbmConfig, csbm, erdos_renyi};
    use gnarl_graph::random::stream;
    use gnarl_nn::networks::{Network, NetworkConfig, Shape};
    use gnarl_nn::operator::OperatorChoice;
    use gnarl_nn::train::TrainConfig;
    use gnarl_nn::weights::{Orthonormal, WeightsChoice};

    #[test]
    fn trained_networks_keep_their_bounds() {
        let graph = csbm(&CsbmConfig::default(), 0).unwrap();
        for backbone in [Backbone::GCN, Backbone::GIN] {
            for weights in [
                WeightsChoice::FREE,
                WeightsChoice::Orthonormal(Orthonormal::default()),
            ] {
                let network = NetworkConfig {
                    weights,
                    ..config(backbone, 2)
                };
                let training = TrainConfig {
                    epochs: 30,
                    ..TrainConfig::default()
                };
                let model = trained(&graph, &network, &training, 1);
                let what = format!("trained {backbone}, {weights}");
                try_to_break_features(&model, &graph, 6, &what);
                let bounds = Bounds::new(&model, &graph).unwrap();
                let rng = &mut stream(2, "bound test", 3);
                for flips in [1, 20] {
                    let ball = FlipBall::new(graph.num_nodes(), flips, FlipLaw::Uniform).unwrap();
                    let bound = bounds.within(Budget::Structure { flips }).unwrap();
                    for _ in 0..5 {
                        let other = flipped(&graph, &ball.sample(rng)).unwrap();
                        assert_holds(&bound, &moved(&model, &graph, &other), &what);
                    }
                }
            }
        }
    }

    #[test]
    fn unsupported_models_are_refused_in_one_line() {
        let graph = random_features(erdos_renyi(8, 0.4, 1).unwrap(), 5);
        let network = |config: &NetworkConfig| {
            WhiteBox::new(
                Network::new(config, &Shape::new(5, 3, 1.0), 1).unwrap(),
                OperatorChoice::Default,
            )
        };
        for backbone in [
            Backbone::GAT,
            Backbone::SAGE,
            Backbone::APPNP,
            Backbone::JK_CAT,
        ] {
            let config = NetworkConfig {
                hidden: 8,
                ..NetworkConfig::new(backbone)
            };
            let e = Bounds::new(&network(&config).unwrap(), &graph)
                .unwrap_err()
                .to_string();
            assert!(
                e.contains(&format!("no bound covers {backbone}: they cover gcn, gin")),
                "{e}"
            );
        }
        let normed = config(Backbone::GIN.where_taken("batch-norm", true), 2);
        let e = Bounds::new(&network(&normed).unwrap(), &graph)
            .unwrap_err()
            .to_string();
        assert!(e.contains("batch normalisation"), "{e}");
        let bounds = Bounds::new(&network(&config(Backbone::GCN, 2)).unwrap(), &graph).unwrap();
        let e = bounds
            .within(Budget::Features {
                norm: Norm::L2,
                epsilon: f64::NAN,
            })
            .unwrap_err()
            .to_string();
        assert!(e.contains("epsilon NaN"), "{e}");
        let edges: Vec<_> = graph.edges().map(|(u, v)| (u, v, 2.0)).collect();
        let weighted = random_features(Graph::from_weighted_edges(8, edges).unwrap().0, 5);
        let bounds = Bounds::new(&network(&config(Backbone::GCN, 2)).unwrap(), &weighted).unwrap();
        let e = bounds
            .within(Budget::Structure { flips: 1 })
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("no bound covers flips in a weighted graph"),
            "{e}"
        );
        assert!(
            bounds
                .within(Budget::Features {
                    norm: Norm::L2,
                    epsilon: 1.0
                })
                .is_ok()
        );
    }
}
