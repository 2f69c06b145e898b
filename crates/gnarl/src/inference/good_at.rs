//! GOOD-AT (Li et al. 2024, "Boosting the Adversarial Robustness of Graph Neural Networks: An OOD
//! Perspective"): edges that do not look like the training graph's are dropped before a trained
//! model answers. [`EdgeDetectors`] says what they look like.

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::edge_detectors::{Flagging, THRESHOLDS};
use super::{
    Around, CHECK, CleanInputs, Crf, EdgeDetectors, Inference, Input, Method, Perturbed, Prior,
    TUNED,
};
use crate::classifier::Classifier;
use crate::error::Result;

/// Settings of answers without the edges that detectors take for an attacker's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GoodAt {
    /// How many detectors there are; one that takes an edge for an attacker's is enough.
    pub detectors: usize,
    /// The probability above which an edge is dropped; open means the one that was best on
    /// validation nodes.
    pub threshold: Option<f64>,
    /// Whether the threshold is chosen on the validation nodes of every input.
    pub tune: bool,
    /// Whether they have to prove themselves on the training graph; where they do not, answers are
    /// plain.
    pub check: bool,
}

impl GoodAt {
    /// Eight detectors; the paper has twenty.
    pub const fn new() -> Self {
        Self {
            detectors: 8,
            threshold: None,
            tune: false,
            check: true,
        }
    }
}

impl Default for GoodAt {
    fn default() -> Self {
        Self::new()
    }
}

/// More detectors say nothing new and take long.
const MOST_DETECTORS: u64 = 200;

impl Choice for GoodAt {
    const NAME: &'static str = "good-at";
    const ABOUT: &'static str = "without the edges that detectors take for an attacker's (GOOD-AT)";
    const SETTINGS: &'static [Setting] = &[
        Setting::new("detectors", "K", "detectors of edges that were put in [default: 8]")
            .flag("good-at-detectors")
            .at_most(MOST_DETECTORS),
        Setting::new(
            "threshold",
            "X",
            "probability of being put in above which an edge is dropped, 0 to 1 [default: chosen on validation nodes]",
        )
        .flag("good-at-threshold"),
        Setting::new("tune", "BOOL", "choose the threshold on the validation nodes of every input [default: false]")
            .flag("inference-tune"),
        CHECK,
    ];

    fn check(&self) -> gnarl_graph::Result<()> {
        let refuse = |what: String| Err(gnarl_graph::Error::argument("inference", what));
        if self.detectors == 0 {
            return refuse("without a detector nothing is detected; take at least 1".into());
        }
        match self.threshold {
            Some(threshold) if !(0.0..=1.0).contains(&threshold) => {
                refuse(format!("threshold {threshold} must lie in 0 to 1"))
            }
            _ => Ok(()),
        }
    }
}

impl Method for GoodAt {
    fn on(&self, _: Perturbed) -> Inference {
        (*self).into()
    }

    fn part(&self) -> Option<Perturbed> {
        Some(Perturbed::Structure)
    }

    fn idle(&self) -> Option<(&'static str, &'static str)> {
        (self.tune && self.threshold.is_some()).then_some(("threshold", TUNED))
    }

    /// The answer on the graph without some edges is all that counts.
    fn update(&self) -> Option<Crf> {
        Some(Crf {
            neighbours: 1,
            updates: 1,
            sigma: 0.0,
            hard: false,
            stop_early: false,
        })
    }

    fn learn(&self, model: &dyn Classifier, clean: CleanInputs<'_>) -> Result<Option<Prior>> {
        let CleanInputs::Nodes { graph, val, .. } = clean else {
            let what = "good-at tells edges by the answers of their ends, and graphs of a set have one answer in all";
            return Err(gnarl_graph::Error::argument("inference", what).into());
        };
        let detectors = EdgeDetectors::fit(model, graph, self.detectors)?;
        Ok(Some(Prior::Detectors(if self.check {
            detectors.tested(model, graph, val)?
        } else {
            detectors
        })))
    }

    fn around<'a>(&self, prior: Option<&'a Prior>) -> Option<Around<'a>> {
        let Prior::Detectors(detectors) = prior? else {
            return None;
        };
        let threshold = self.threshold.unwrap_or(detectors.threshold());
        Some(Around::Detected(Flagging {
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
