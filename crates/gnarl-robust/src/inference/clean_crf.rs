//! The update of RobustCRF ([Abbahaddou et al. 2024](https://arxiv.org/abs/2411.05399)) over
//! neighbours that look like clean inputs ([`CleanFeatures`], [`CleanEdges`]). There is no ball and
//! no radius: the distance of the neighbours is estimated from the input.

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::robust_crf::SIGMAS;
use super::{
    CleanEdges, CleanFeatures, CleanGraphs, CleanInputs, Crf, Inference, Input, Method,
    PerturbationTarget, Prior, SamplingRegion, TUNED,
};
use crate::classifier::Classifier;
use gnarl_graph::Result;

/// Averages the predictions on neighbours that look like clean inputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "clean-crf",
    about = "predictions on neighbours that look like clean inputs, combined by a CRF (new in gnarl)",
    check = Self::check_crf,
    constant
)]
pub struct CleanCrf {
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
    /// Number of CRF iterations (K), for structure: neighbours of neighbours are sampled from 2 on.
    // One is enough on features: a cleaned input is its own neighbour.
    #[setting(
        flag = "crf-iterations",
        was = "updates",
        open = "2 for structure, 1 for features"
    )]
    pub iterations: Option<usize>,
    /// Weight of the model's own prediction against those on its neighbours.
    #[setting(range = 0.0..=1.0, flag = "crf-sigma", open = "0.05")]
    pub sigma: Option<f64>,
    /// Hard voting, the average of predicted classes instead of probabilities.
    #[setting(default = false, was = "hard")]
    pub hard_voting: bool,
    /// Early stopping as soon as no predicted class can change any more.
    #[setting(default = false)]
    pub stop_early: bool,
    /// Selection of sigma by the accuracy on validation nodes.
    #[setting(default = false, flag = "inference-tune")]
    pub tune: bool,
    /// Fallback to plain inference if the method fails a test on the training data.
    #[setting(default = true, flag = "inference-check")]
    pub check: bool,
}

/// Largest number of training graphs of a set in a trial.
const TRIAL_GRAPHS: usize = 400;
/// Default weight of the prediction on the input itself. It is small: the input is what was
/// attacked.
const SIGMA: f64 = 0.05;

impl CleanCrf {
    fn crf(&self) -> Crf {
        let Self {
            samples,
            hard_voting,
            stop_early,
            ..
        } = *self;
        let default_iterations = if self.target == Some(PerturbationTarget::Structure) {
            2
        } else {
            1
        };
        Crf {
            samples,
            iterations: self.iterations.unwrap_or(default_iterations),
            sigma: self.sigma.unwrap_or(SIGMA),
            hard_voting,
            stop_early,
        }
    }

    fn check_crf(&self) -> gnarl_graph::Result<()> {
        self.crf().check()
    }
}

impl Method for CleanCrf {
    fn on(&self, part: PerturbationTarget) -> Inference {
        Self {
            target: self.target.or(Some(part)),
            ..*self
        }
        .into()
    }

    fn part(&self) -> Option<PerturbationTarget> {
        Some(self.target.unwrap_or(PerturbationTarget::Features))
    }

    fn idle(&self) -> Option<(&'static str, &'static str)> {
        if self.iterations.is_some() && self.part() == Some(PerturbationTarget::Features) {
            let why = "belongs to structure: a cleaned input is its own neighbour in features, so there is one iteration";
            return Some(("crf-iterations", why));
        }
        (self.tune && self.sigma.is_some()).then_some(("crf-sigma", TUNED))
    }

    fn update(&self) -> Option<Crf> {
        Some(self.crf())
    }

    fn learn(&self, model: &dyn Classifier, clean: CleanInputs<'_>) -> Result<Option<Prior>> {
        let crf = self.crf();
        Ok(Some(
            match (self.target.unwrap_or(PerturbationTarget::Features), clean) {
                (PerturbationTarget::Features, CleanInputs::Nodes { graph, train, .. }) => {
                    let prior = CleanFeatures::fit(graph, train)?;
                    Prior::Features(if self.check {
                        prior.tested(model, &[graph], &crf)?
                    } else {
                        prior
                    })
                }
                (PerturbationTarget::Features, CleanInputs::Graphs(graphs)) => {
                    let prior = CleanFeatures::fit_graphs(graphs)?;
                    let shown = &graphs[..graphs.len().min(TRIAL_GRAPHS)];
                    Prior::Features(if self.check {
                        prior.tested(model, shown, &crf)?
                    } else {
                        prior
                    })
                }
                (PerturbationTarget::Structure, CleanInputs::Nodes { graph, .. }) => {
                    let prior = CleanEdges::fit(model, graph)?;
                    Prior::Edges(if self.check {
                        prior.tested(model, graph, &crf)?
                    } else {
                        prior
                    })
                }
                (PerturbationTarget::Structure, CleanInputs::Graphs(graphs)) => {
                    let prior = CleanGraphs::fit(graphs)?;
                    let shown = &graphs[..graphs.len().min(TRIAL_GRAPHS)];
                    Prior::Graphs(if self.check {
                        prior.tested(model, shown, &crf)?
                    } else {
                        prior
                    })
                }
            },
        ))
    }

    fn sampling_region<'a>(&self, prior: Option<&'a Prior>) -> Option<SamplingRegion<'a>> {
        match (self.target.unwrap_or(PerturbationTarget::Features), prior?) {
            (PerturbationTarget::Features, prior @ Prior::Features(_)) => {
                Some(SamplingRegion::Clean(prior))
            }
            (PerturbationTarget::Structure, prior @ (Prior::Edges(_) | Prior::Graphs(_))) => {
                Some(SamplingRegion::Clean(prior))
            }
            _ => None,
        }
    }

    fn tunes(&self) -> bool {
        self.tune
    }

    fn candidates(&self, _: Input) -> Vec<Inference> {
        SIGMAS
            .iter()
            .map(|&sigma| {
                Self {
                    sigma: Some(sigma),
                    ..*self
                }
                .into()
            })
            .collect()
    }
}
