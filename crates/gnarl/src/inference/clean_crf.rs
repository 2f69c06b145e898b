//! Ours: RobustCRF's update over neighbours that look like clean inputs ([`CleanFeatures`],
//! [`CleanEdges`]). There is no ball and no radius: how far neighbours lie is read off the input.

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::robust_crf::SIGMAS;
use super::{
    Around, CHECK, CleanEdges, CleanFeatures, CleanGraphs, CleanInputs, Crf, Inference, Input,
    Method, ON, Perturbed, Prior, STOP_EARLY, TUNED,
};
use crate::classifier::Classifier;
use crate::error::Result;

/// Settings of agreement over inputs that look clean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CleanCrf {
    /// What neighbours differ in; open means features, unless an attack says otherwise.
    pub on: Option<Perturbed>,
    /// L: neighbours drawn around an input.
    pub neighbours: usize,
    /// K: updates. On features one is all there is: a cleaned input is its own neighbour.
    pub updates: Option<usize>,
    /// σ: the weight of the model's own answer.
    pub sigma: Option<f64>,
    /// Whether classes are averaged instead of probabilities.
    pub hard: bool,
    /// Whether to end as soon as no class can change any more.
    pub stop_early: bool,
    /// Whether sigma is chosen on validation nodes.
    pub tune: bool,
    /// Whether what is taken for clean has to prove itself on the training graph; where it does
    /// not, answers are plain.
    pub check: bool,
}

/// Of a set: training graphs that a trial is made on, at most.
const TRIAL_GRAPHS: usize = 400;
/// How much an input's own answer counts beside that of cleaned ones: little, since it is the one
/// that was attacked.
const SIGMA: f64 = 0.05;

impl CleanCrf {
    /// RobustCRF's L = 5, and K = 2 on structure.
    pub const fn new() -> Self {
        Self {
            on: None,
            neighbours: 5,
            updates: None,
            sigma: None,
            hard: false,
            stop_early: false,
            tune: false,
            check: true,
        }
    }

    fn crf(&self) -> Crf {
        let Self {
            neighbours,
            hard,
            stop_early,
            ..
        } = *self;
        let usual = if self.on == Some(Perturbed::Structure) {
            2
        } else {
            1
        };
        let updates = self.updates.unwrap_or(usual);
        Crf {
            neighbours,
            updates,
            sigma: self.sigma.unwrap_or(SIGMA),
            hard,
            stop_early,
        }
    }
}

impl Default for CleanCrf {
    fn default() -> Self {
        Self::new()
    }
}

impl Choice for CleanCrf {
    const NAME: &'static str = "clean-crf";
    const ABOUT: &'static str = "agreement over inputs that look clean (ours)";
    const SETTINGS: &'static [Setting] = &[
        ON,
        Setting::new(
            "neighbours",
            "L",
            "neighbours drawn around an input [default: 5]",
        ),
        Setting::new(
            "updates",
            "K",
            "on structure, updates: neighbours of neighbours are asked from 2 on [default: 2]",
        ),
        Setting::new(
            "sigma",
            "X",
            "weight of the model's own answer, 0 to 1 [default: 0.05]",
        )
        .flag("crf-sigma"),
        Setting::new(
            "hard",
            "BOOL",
            "average classes instead of probabilities [default: false]",
        ),
        STOP_EARLY,
        Setting::new(
            "tune",
            "BOOL",
            "choose sigma by the accuracy on validation nodes [default: false]",
        )
        .flag("inference-tune"),
        CHECK,
    ];

    fn check(&self) -> gnarl_graph::Result<()> {
        self.crf().check()
    }
}

impl Method for CleanCrf {
    fn on(&self, part: Perturbed) -> Inference {
        Self {
            on: self.on.or(Some(part)),
            ..*self
        }
        .into()
    }

    fn part(&self) -> Option<Perturbed> {
        Some(self.on.unwrap_or(Perturbed::Features))
    }

    fn idle(&self) -> Option<(&'static str, &'static str)> {
        if self.updates.is_some() && self.part() == Some(Perturbed::Features) {
            let why = "belongs to structure: around features a cleaned input is its own neighbour, and one update is all there is";
            return Some(("updates", why));
        }
        (self.tune && self.sigma.is_some()).then_some(("sigma", TUNED))
    }

    fn update(&self) -> Option<Crf> {
        Some(self.crf())
    }

    fn learn(&self, model: &dyn Classifier, clean: CleanInputs<'_>) -> Result<Option<Prior>> {
        let crf = self.crf();
        Ok(Some(
            match (self.on.unwrap_or(Perturbed::Features), clean) {
                (Perturbed::Features, CleanInputs::Nodes { graph, train, .. }) => {
                    let prior = CleanFeatures::fit(graph, train)?;
                    Prior::Features(if self.check {
                        prior.tested(model, &[graph], &crf)?
                    } else {
                        prior
                    })
                }
                (Perturbed::Features, CleanInputs::Graphs(graphs)) => {
                    let prior = CleanFeatures::fit_graphs(graphs)?;
                    let shown = &graphs[..graphs.len().min(TRIAL_GRAPHS)];
                    Prior::Features(if self.check {
                        prior.tested(model, shown, &crf)?
                    } else {
                        prior
                    })
                }
                (Perturbed::Structure, CleanInputs::Nodes { graph, .. }) => {
                    let prior = CleanEdges::fit(model, graph)?;
                    Prior::Edges(if self.check {
                        prior.tested(model, graph, &crf)?
                    } else {
                        prior
                    })
                }
                (Perturbed::Structure, CleanInputs::Graphs(graphs)) => {
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

    fn around<'a>(&self, prior: Option<&'a Prior>) -> Option<Around<'a>> {
        match (self.on.unwrap_or(Perturbed::Features), prior?) {
            (Perturbed::Features, prior @ Prior::Features(_)) => Some(Around::Clean(prior)),
            (Perturbed::Structure, prior @ (Prior::Edges(_) | Prior::Graphs(_))) => {
                Some(Around::Clean(prior))
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
