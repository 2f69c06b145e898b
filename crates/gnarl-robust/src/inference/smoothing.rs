//! Randomised smoothing ([Cohen et al. 2019](https://arxiv.org/abs/1902.02918)): the average of the
//! predictions in a ball around the input. It is the control of RobustCRF: the same neighbours with
//! equal weights, and no weight on the model's own prediction.

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::balls::{
    DEFAULT_SHARE_ON_SETS, FeatureBall, FlipDistribution, Similarity, StructureBall,
    candidate_radii, default_radius,
};
use super::{Crf, Inference, Input, Method, PerturbationTarget, Prior, SamplingRegion, TUNED};

/// Averages the predictions on sampled neighbours of the input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "smoothing",
    about = "vote of the predictions on sampled neighbours of the input (randomised smoothing)",
    check = Self::check_crf,
    constant
)]
pub struct Smoothing {
    /// Part of the input that the sampled neighbours change.
    #[setting(
        flag = "inference-target",
        was = "on",
        open = "the attacked part, otherwise features"
    )]
    pub target: Option<PerturbationTarget>,
    /// Number of neighbours sampled around an input.
    #[setting(default = 100, flag = "crf-samples", was = "neighbours")]
    pub samples: usize,
    /// Radius of the ball around the input: an L2 norm for features, a share of the edges for
    /// structure.
    #[setting(
        range = 0.0..,
        open = "0.1 for features, 0.02 for structure, 0.1 for the structure of a graph of a set"
    )]
    pub radius: Option<f64>,
    /// Hard voting, the average of predicted classes instead of probabilities.
    #[setting(default = true, was = "hard")]
    pub hard_voting: bool,
    /// Selection of the radius by the accuracy on validation nodes.
    #[setting(default = false, flag = "inference-tune")]
    pub tune: bool,
}

impl Smoothing {
    fn target(&self) -> PerturbationTarget {
        self.target.unwrap_or(PerturbationTarget::Features)
    }

    fn crf(&self) -> Crf {
        Crf {
            hard_voting: self.hard_voting,
            ..Crf::smoothing(self.samples)
        }
    }

    fn check_crf(&self) -> gnarl_graph::Result<()> {
        self.crf().check()
    }
}

impl Method for Smoothing {
    fn on(&self, part: PerturbationTarget) -> Inference {
        Self {
            target: self.target.or(Some(part)),
            ..*self
        }
        .into()
    }

    fn part(&self) -> Option<PerturbationTarget> {
        Some(self.target())
    }

    fn idle(&self) -> Option<(&'static str, &'static str)> {
        (self.tune && self.radius.is_some()).then_some(("radius", TUNED))
    }

    fn update(&self) -> Option<Crf> {
        Some(self.crf())
    }

    fn sampling_region<'a>(&self, _: Option<&'a Prior>) -> Option<SamplingRegion<'a>> {
        let radius = self.radius.unwrap_or(default_radius(self.target()));
        Some(match self.target() {
            PerturbationTarget::Features => SamplingRegion::Features(FeatureBall {
                radius,
                similarity: Similarity::One,
            }),
            PerturbationTarget::Structure => SamplingRegion::Structure(StructureBall {
                share: radius,
                flips: FlipDistribution::Uniform,
            }),
        })
    }

    fn tunes(&self) -> bool {
        self.tune
    }

    fn on_sets(&self) -> Option<Inference> {
        let is_open =
            self.radius.is_none() && !self.tune && self.target() == PerturbationTarget::Structure;
        is_open.then(|| {
            Self {
                radius: Some(DEFAULT_SHARE_ON_SETS),
                ..*self
            }
            .into()
        })
    }

    fn candidates(&self, of: Input) -> Vec<Inference> {
        candidate_radii(self.target(), of)
            .iter()
            .map(|&radius| {
                Self {
                    radius: Some(radius),
                    ..*self
                }
                .into()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::{Classifier, FromFn, WhiteBox};
    use crate::inference::crf::{Neighbourhood, neighbour_stream};
    use gnarl_graph::{DenseMatrix, Features, Graph};
    use gnarl_nn::networks::{Backbone, Network, NetworkConfig};
    use gnarl_nn::operator::OperatorChoice;

    fn graph(nodes: usize, width: usize) -> Graph {
        let values = (0..nodes * width)
            .map(|i| ((i * 7919 % 13) as f32 - 6.0) / 6.0)
            .collect();
        let features = Features::Dense(DenseMatrix::new(nodes, width, values).unwrap());
        gnarl_graph::generate::erdos_renyi(nodes, 0.2, 1)
            .unwrap()
            .with_features(features)
            .unwrap()
    }

    /// The sign of a node's first feature decides, steeply, so that samples far from the input
    /// weigh as much as those close by.
    fn model() -> impl Classifier {
        FromFn {
            num_classes: 2,
            function: |graph: &Graph| {
                let Some(Features::Dense(x)) = graph.features() else {
                    panic!("dense features")
                };
                let scores = (0..x.num_rows())
                    .flat_map(|i| [8.0 * x.row(i)[0], 0.0])
                    .collect();
                DenseMatrix::new(x.num_rows(), 2, scores)
            },
        }
    }

    #[test]
    fn on_features_it_is_the_plain_average_over_the_same_samples() {
        let (graph, model, seed, count) = (graph(12, 2), model(), 5, 9);
        // A radius as large as the rows: with cosines the weights of samples would differ widely.
        let smoothing = Smoothing {
            samples: count,
            radius: Some(2.0),
            hard_voting: false,
            ..Smoothing::default()
        };
        let fitted = Inference::from(smoothing).fit(&model, &graph, &[]).unwrap();
        let found = fitted.predict(&model, &graph, seed).unwrap();

        let ball = FeatureBall {
            radius: 2.0,
            similarity: Similarity::Cosine,
        };
        let (mut plain, mut weighed, mut weights) = ([0.0; 24], [0.0; 24], 0.0);
        for i in 0..count {
            let (near, cosine) = ball
                .sample(&graph, &found, &mut neighbour_stream(seed, i).1)
                .unwrap()
                .unwrap();
            let scores = model.scores(&near).unwrap();
            for (node, row) in scores.data().chunks(2).enumerate() {
                let first = 1.0 / (1.0 + f64::from(row[1] - row[0]).exp());
                for (class, p) in [first, 1.0 - first].into_iter().enumerate() {
                    plain[2 * node + class] += p / count as f64;
                    weighed[2 * node + class] += cosine * p;
                }
            }
            weights += cosine;
        }
        let apart = |a: &[f32], b: &[f64]| {
            a.iter()
                .zip(b)
                .map(|(a, b)| (f64::from(*a) - b).abs())
                .fold(0.0, f64::max)
        };
        assert!(
            apart(found.data(), &plain) < 1e-6,
            "{:?}, not {plain:?}",
            found.data()
        );
        let weighed: Vec<f64> = weighed.iter().map(|w| w / weights).collect();
        assert!(
            apart(found.data(), &weighed) > 0.01,
            "cosines would not show"
        );
    }

    /// The shortcut samples neighbours in the span of the network's first maps; their weights are
    /// one there, too.
    #[test]
    fn the_shortcut_gives_neighbours_equal_weights() {
        let graph = graph(30, 40);
        let network = Network::new(
            &NetworkConfig {
                hidden: 4,
                ..NetworkConfig::new(Backbone::GCN)
            },
            &gnarl_nn::networks::Shape::new(40, 3, 1.0),
            5,
        );
        let model = WhiteBox::new(network.unwrap(), OperatorChoice::Default).unwrap();
        assert!(model.reduced().unwrap().is_some());
        // Classes of a hundred samples: with weights of one, every share is a whole number of
        // hundredths.
        let smoothing = Smoothing {
            radius: Some(6.0),
            ..Smoothing::default()
        };
        let found = Inference::from(smoothing)
            .fit(&model, &graph, &[])
            .unwrap()
            .predict(&model, &graph, 1)
            .unwrap();
        let hundredths: Vec<f32> = found.data().iter().map(|p| 100.0 * p).collect();
        assert!(
            hundredths.iter().all(|h| (h - h.round()).abs() < 1e-3),
            "{hundredths:?}"
        );
        assert!(
            hundredths.iter().any(|h| (1.0..99.0).contains(h)),
            "all draws agree: the test sees nothing"
        );
    }
}
