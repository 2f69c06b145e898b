//! GOOD-AT ([Li et al. 2024](https://openreview.net/forum?id=DCDT918ZkI)): edges that do not look
//! like those of the training graph are dropped before a trained model predicts. [`EdgeDetectors`]
//! are the detectors.

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::edge_detectors::{Flagging, THRESHOLDS};
use super::{
    CleanInputs, Crf, EdgeDetectors, Inference, Input, Method, PerturbationTarget, Prior,
    SamplingRegion, TUNED,
};
use crate::classifier::Classifier;
use gnarl_graph::Result;

/// Predicts without the edges that detectors classify as adversarial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "good-at",
    about = "prediction without the edges that detectors classify as adversarial (GOOD-AT)",
    constant
)]
pub struct GoodAt {
    /// Number of detectors (K); an edge is dropped if one of them classifies it as adversarial.
    // The paper tunes K up to 20. More detectors add nothing and take long.
    #[setting(default = 8, range = 1..=200, flag = "good-at-detectors")]
    pub detectors: usize,
    /// Probability of being adversarial above which an edge is dropped.
    #[setting(
        range = 0.0..=1.0,
        flag = "good-at-threshold",
        open = "the best one on validation nodes"
    )]
    pub threshold: Option<f64>,
    /// Selection of the threshold by the accuracy on validation nodes.
    #[setting(default = false, flag = "inference-tune")]
    pub tune: bool,
    /// Fallback to plain inference if the method fails a test on the training data.
    #[setting(default = true, flag = "inference-check")]
    pub check: bool,
}

impl Method for GoodAt {
    fn on(&self, _: PerturbationTarget) -> Inference {
        (*self).into()
    }

    fn part(&self) -> Option<PerturbationTarget> {
        Some(PerturbationTarget::Structure)
    }

    fn idle(&self) -> Option<(&'static str, &'static str)> {
        (self.tune && self.threshold.is_some()).then_some(("good-at-threshold", TUNED))
    }

    /// The prediction is that on the graph without some edges, and nothing else.
    fn update(&self) -> Option<Crf> {
        Some(Crf {
            samples: 1,
            iterations: 1,
            sigma: 0.0,
            hard_voting: false,
            stop_early: false,
        })
    }

    fn learn(&self, model: &dyn Classifier, clean: CleanInputs<'_>) -> Result<Option<Prior>> {
        let CleanInputs::Nodes { graph, val, .. } = clean else {
            let what = "good-at needs a prediction for both ends of an edge, and a graph of a set has one prediction";
            return Err(gnarl_graph::Error::unsupported("inference", what));
        };
        let detectors = EdgeDetectors::fit(model, graph, self.detectors)?;
        Ok(Some(Prior::Detectors(if self.check {
            detectors.tested(model, graph, val)?
        } else {
            detectors
        })))
    }

    fn sampling_region<'a>(&self, prior: Option<&'a Prior>) -> Option<SamplingRegion<'a>> {
        let Prior::Detectors(detectors) = prior? else {
            return None;
        };
        let threshold = self.threshold.unwrap_or(detectors.threshold());
        Some(SamplingRegion::Detected(Flagging {
            detectors,
            threshold,
        }))
    }

    fn tunes(&self) -> bool {
        self.tune
    }

    fn candidates(&self, _: Input) -> Vec<Inference> {
        THRESHOLDS
            .iter()
            .map(|&threshold| {
                Self {
                    threshold: Some(threshold),
                    ..*self
                }
                .into()
            })
            .collect()
    }

    fn works_on_sets(&self) -> bool {
        false
    }
}
