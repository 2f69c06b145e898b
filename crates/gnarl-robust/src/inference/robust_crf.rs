//! RobustCRF ([Abbahaddou et al. 2024](https://arxiv.org/abs/2411.05399)): the predictions on
//! sampled neighbours of an input are combined by a conditional random field.

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::balls::{
    DEFAULT_SHARE_ON_SETS, FeatureBall, FlipDistribution, Similarity, StructureBall,
    candidate_radii, default_radius,
};
use super::{Crf, Inference, Input, Method, PerturbationTarget, Prior, SamplingRegion, TUNED};

/// Averages the predictions on sampled neighbours of the input with a conditional random field. An
/// open sigma or radius has the published value for Cora.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "robust-crf",
    about = "predictions on sampled neighbours of the input, combined by a CRF (RobustCRF)",
    check = Self::check_crf,
    constant
)]
pub struct RobustCrf {
    /// Part of the input that the sampled neighbours change.
    #[setting(
        flag = "inference-target",
        was = "on",
        open = "the attacked part, otherwise features"
    )]
    pub target: Option<PerturbationTarget>,
    /// Number of neighbours sampled around an input (L).
    #[setting(default = 5, flag = "crf-samples", was = "neighbours")]
    pub samples: usize,
    /// Number of CRF iterations (K): neighbours of neighbours are sampled from 2 on.
    #[setting(default = 2, flag = "crf-iterations", was = "updates")]
    pub iterations: usize,
    /// Weight of the model's own prediction against those on its neighbours.
    #[setting(
        range = 0.0..=1.0,
        flag = "crf-sigma",
        open = "0.9 for features, 0.05 for structure"
    )]
    pub sigma: Option<f64>,
    /// Radius of the ball around the input: an L2 norm for features, a share of the edges for
    /// structure.
    #[setting(
        range = 0.0..,
        open = "0.1 for features, 0.02 for structure, 0.1 for the structure of a graph of a set"
    )]
    pub radius: Option<f64>,
    /// Hard voting, the average of predicted classes instead of probabilities.
    #[setting(default = false, was = "hard")]
    pub hard_voting: bool,
    /// Early stopping as soon as no predicted class can change any more.
    #[setting(default = false)]
    pub stop_early: bool,
    /// Distribution of the number of flipped edges, for structure.
    #[setting(default = FlipDistribution::Binomial, was = "law")]
    #[serde(deserialize_with = "FlipDistribution::restored")]
    pub flip_distribution: FlipDistribution,
    /// Selection of sigma and radius by the accuracy on validation nodes.
    #[setting(default = false, flag = "inference-tune")]
    pub tune: bool,
}

impl RobustCrf {
    fn target(&self) -> PerturbationTarget {
        self.target.unwrap_or(PerturbationTarget::Features)
    }

    fn crf(&self) -> Crf {
        let sigma = self.sigma.unwrap_or(match self.target() {
            PerturbationTarget::Features => 0.9,
            PerturbationTarget::Structure => 0.05,
        });
        let Self {
            samples,
            iterations,
            hard_voting,
            stop_early,
            ..
        } = *self;
        Crf {
            samples,
            iterations,
            sigma,
            hard_voting,
            stop_early,
        }
    }

    fn check_crf(&self) -> gnarl_graph::Result<()> {
        self.crf().check()
    }
}

/// The values of sigma that tuning compares, from the model's own prediction to those on the
/// neighbours.
pub(super) const SIGMAS: [f64; 6] = [0.95, 0.9, 0.8, 0.5, 0.2, 0.05];

impl Method for RobustCrf {
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
        let on_features = self.target() == PerturbationTarget::Features;
        let flips =
            "belongs to structure, and the target is features; set inference-target to structure";
        match (self.tune, self.sigma, self.radius) {
            (true, Some(_), _) => Some(("crf-sigma", TUNED)),
            (true, _, Some(_)) => Some(("radius", TUNED)),
            _ if on_features && self.flip_distribution != FlipDistribution::Binomial => {
                Some(("flip-distribution", flips))
            }
            _ => None,
        }
    }

    fn update(&self) -> Option<Crf> {
        Some(self.crf())
    }

    fn sampling_region<'a>(&self, _: Option<&'a Prior>) -> Option<SamplingRegion<'a>> {
        let radius = self.radius.unwrap_or(default_radius(self.target()));
        Some(match self.target() {
            PerturbationTarget::Features => SamplingRegion::Features(FeatureBall {
                radius,
                similarity: Similarity::Cosine,
            }),
            PerturbationTarget::Structure => SamplingRegion::Structure(StructureBall {
                share: radius,
                flips: self.flip_distribution,
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
        let radii = candidate_radii(self.target(), of);
        let settings = SIGMAS
            .iter()
            .flat_map(|&sigma| radii.iter().map(move |&radius| (sigma, radius)));
        settings
            .map(|(sigma, radius)| {
                Self {
                    sigma: Some(sigma),
                    radius: Some(radius),
                    ..*self
                }
                .into()
            })
            .collect()
    }
}
