//! Bounds the scores of a graph from the vectors of its nodes: the readout's factor and the head's
//! gain.
//!
//! Let row u of the node vectors move by at most `m_u`. Their sum then moves by at most `Σ m_u` in
//! any norm, their mean by that over the number of nodes. In the maximum over nodes, each feature
//! moves by at most the largest move of that feature: by `max m_u` in L-infinity, by the root of
//! `Σ m_u²` in L2, by `Σ m_u` in L1. The head is a linear map like any other.
//!
//! There is no published formula for readouts.

use super::gains::Gains;
use super::{Bound, Distance, total};
use crate::classifier::WhiteBox;
use gnarl_graph::Result;
use gnarl_nn::networks::Readout;

/// The readout and the head between the vectors of a graph's nodes and its scores.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    readout: Readout,
    head: Gains,
    width: usize,
}

impl Ending {
    /// The readout and head of a classifier of graphs, with this head weight.
    pub fn new(model: &WhiteBox, head: &gnarl_tensor::Tensor) -> Result<Option<Self>> {
        let Some(classifier) = model.graph_classifier() else {
            return Ok(None);
        };
        let (readout, width) = (classifier.config().readout, classifier.latent_dim());
        Ok(Some(Self {
            readout,
            head: Gains::of(head)?,
            width,
        }))
    }

    /// Bounds if row u of the node vectors moves by at most `walks[u]` times these values, in L1,
    /// L2 and L-infinity.
    pub fn by_rows(&self, [l1, l2, linf]: [f64; 3], walks: &[f64]) -> Vec<Bound> {
        let sum: f64 = walks.iter().sum();
        let factors = match self.readout {
            Readout::Mean => [sum / walks.len().max(1) as f64; 3],
            Readout::Sum => [sum; 3],
            Readout::Max => [sum, total(walks), walks.iter().copied().fold(0.0, f64::max)],
        };
        let [l1, l2, linf] = self
            .head
            .after([l1 * factors[0], l2 * factors[1], linf * factors[2]]);
        vec![
            bound(Distance::L1, l1),
            bound(Distance::L2, l2),
            bound(Distance::Linf, linf),
            scaled(l2),
        ]
    }

    /// Bounds if the vectors of so many nodes move by at most `frobenius` in all and each by at
    /// most `of_row`, both in L2.
    pub fn by_norms(&self, frobenius: f64, of_row: f64, nodes: f64) -> Vec<Bound> {
        let latent = match self.readout {
            // ||Σ e_u|| <= sqrt(n) ||E||, Cauchy and Schwarz.
            Readout::Mean => (frobenius / nodes.max(1.0).sqrt()).min(of_row),
            Readout::Sum => (frobenius * nodes.sqrt()).min(of_row * nodes),
            Readout::Max => frobenius,
        };
        let [_, l2, linf] = self
            .head
            .after([latent * (self.width as f64).sqrt(), latent, latent]);
        vec![
            bound(Distance::L2, l2),
            bound(Distance::Linf, linf),
            scaled(l2),
        ]
    }
}

fn bound(distance: Distance, sound: f64) -> Bound {
    Bound {
        distance,
        sound,
        thesis: None,
    }
}

/// Bounds one row of probabilities: half of the move of scores in L2, at most sqrt 2, over 2.
fn scaled(l2: f64) -> Bound {
    bound(Distance::Scaled, (0.5 * l2).min(2f64.sqrt()) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        EPSILON, NORMS, assert_holds, attacked, get, moved, with_features,
    };
    use super::super::{Bounds, Budget, Distance};
    use crate::classifier::WhiteBox;
    use crate::perturb::{Ball, FlipBall, FlipLaw, Norm, Sampler, flipped};
    use gnarl_graph::generate::path;
    use gnarl_graph::random::stream;
    use gnarl_graph::{DenseMatrix, Features, Graph};
    use gnarl_nn::networks::{Backbone, GraphClassifier, NetworkConfig, Readout, Shape};
    use gnarl_nn::operator::OperatorChoice;
    use gnarl_nn::testing::plant;
    use gnarl_nn::weights::{Orthonormal, WeightsChoice};
    use proptest::prelude::*;
    use rand::RngExt;

    const READOUTS: [Readout; 3] = [Readout::Mean, Readout::Sum, Readout::Max];

    fn classifier(
        network: NetworkConfig,
        readout: Readout,
        in_dim: usize,
        degrees: Option<usize>,
    ) -> WhiteBox {
        let config = NetworkConfig {
            readout,
            head_dropout: 0.0,
            ..network
        };
        let classifier = GraphClassifier::new(&config, &Shape::new(in_dim, 3, 1.0), 5).unwrap();
        WhiteBox::of_graphs(classifier, OperatorChoice::Default, degrees).unwrap()
    }

    fn network(backbone: Backbone) -> NetworkConfig {
        NetworkConfig {
            hidden: 5,
            layers: 2,
            ..NetworkConfig::new(backbone.where_taken("heads", 1))
        }
    }

    /// One layer of A_hat on an edge, weights of one, features 3 and 4 that both move by two. Both
    /// node vectors and their mean move by two, their sum by four, their largest by two; the head
    /// is (3, -4).
    #[test]
    fn one_edge_by_hand() {
        let graph = with_features(path(2).unwrap(), 1, vec![3.0, 4.0]);
        let other = with_features(path(2).unwrap(), 1, vec![5.0, 6.0]);
        for (readout, latent) in [
            (Readout::Mean, 2.0),
            (Readout::Sum, 4.0),
            (Readout::Max, 2.0),
        ] {
            let config = NetworkConfig {
                hidden: 1,
                layers: 1,
                bias: false,
                readout,
                head_dropout: 0.0,
                ..NetworkConfig::new(Backbone::GCN)
            };
            let classifier = GraphClassifier::new(&config, &Shape::new(1, 2, 0.0), 1).unwrap();
            plant(classifier.params(), "layers.0.weight", &[1.0]);
            plant(classifier.params(), "head.weight", &[3.0, -4.0]);
            let model = WhiteBox::of_graphs(classifier, OperatorChoice::Default, None).unwrap();
            let bounds = Bounds::new(&model, &graph).unwrap();
            let found = bounds
                .within(Budget::Features {
                    norm: Norm::L2,
                    epsilon: 2.0,
                })
                .unwrap();
            let seen = moved(&model, &graph, &other);
            assert!(
                (seen.scores.l2 - 5.0 * latent).abs() < 1e-5,
                "{readout}: {:?}",
                seen.scores
            );
            assert_holds(&found, &seen, &readout.to_string());
            // Max has a root of two walks of one in L2, which the way over L-infinity saves in the
            // largest entry alone.
            let linf = get(&found, Distance::Linf).sound;
            assert!(
                (linf / (4.0 * latent) - 1.0).abs() < 2e-5,
                "{readout}: {linf}"
            );
        }
    }

    #[test]
    fn unsupported_models_are_refused() {
        let graph = path(4).unwrap();
        let model = classifier(network(Backbone::GCN), Readout::Mean, 3, Some(2));
        let bounds = Bounds::new(&model, &graph).unwrap();
        let e = bounds
            .within(Budget::Structure { flips: 1 })
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("degrees are the features") && !e.contains('\n'),
            "{e}"
        );
        let model = classifier(network(Backbone::GAT), Readout::Mean, 3, Some(2));
        assert!(
            Bounds::new(&model, &graph)
                .unwrap_err()
                .to_string()
                .contains("no bound covers gat")
        );
    }

    fn any_graph() -> impl Strategy<Value = Graph> {
        let edges = prop::collection::vec((0u32..9, 0u32..9), 0..16);
        let values = prop::collection::vec(-1f32..1.0, 9 * 3);
        (1usize..9, edges, values).prop_map(|(n, edges, values)| {
            let inside = edges
                .into_iter()
                .filter(|&(u, v)| (u as usize) < n && (v as usize) < n);
            let features =
                Features::Dense(DenseMatrix::new(n, 3, values[..n * 3].to_vec()).unwrap());
            Graph::from_edges(n, inside)
                .unwrap()
                .0
                .with_features(features)
                .unwrap()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        /// Uniform samples, gradient steps and flips, on classifiers of random weights.
        #[test]
        fn no_sample_breaks_a_bound(graph in any_graph(), seed in any::<u64>()) {
            let rng = &mut stream(seed, "bound test", 5);
            for backbone in [Backbone::GCN, Backbone::GIN, Backbone::SGC, Backbone::MLP] {
                for readout in READOUTS {
                    let weights = if rng.random::<bool>() {
                        WeightsChoice::Orthonormal(Orthonormal::default())
                    } else {
                        WeightsChoice::FREE
                    };
                    let model = classifier(NetworkConfig { weights, ..network(backbone) }, readout, 3, None);
                    let bounds = Bounds::new(&model, &graph).unwrap();
                    let what = format!("{backbone}, {readout}");
                    for norm in NORMS {
                        let bound = bounds.within(Budget::Features { norm, epsilon: EPSILON }).unwrap();
                        let ball = Ball::new(norm, EPSILON, Sampler::Exact).unwrap();
                        let sampled = ball.sample_around(graph.features().unwrap(), rng);
                        let sampled = graph.clone().with_features(Features::Dense(sampled)).unwrap();
                        let tried = attacked(&model, &graph, norm, 3, rng);
                        for tried in std::iter::once(sampled).chain(tried) {
                            assert_holds(&bound, &moved(&model, &graph, &tried), &format!("{what}, p = {norm}"));
                        }
                    }
                    let pairs = graph.num_nodes() * (graph.num_nodes() - 1) / 2;
                    let flips = 2.min(pairs);
                    let ball = FlipBall::new(graph.num_nodes(), flips, FlipLaw::Uniform).unwrap();
                    let other = flipped(&graph, &ball.sample(rng)).unwrap();
                    let bound = bounds.within(Budget::Structure { flips }).unwrap();
                    assert_holds(&bound, &moved(&model, &graph, &other), &format!("{what}, flips"));
                }
            }
        }
    }
}
