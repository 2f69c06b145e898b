//! The thesis' RobustCRF: agreement over a ball of inputs (sec. 6.3).

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::balls::{
    FeatureBall, Similarity, StructureBall, StructureLaw, USUAL_SHARE_ON_SETS, tried_radii,
    usual_radius,
};
use super::{
    Around, Crf, Inference, Input, Method, ON, Perturbed, Prior, RADIUS, STOP_EARLY, TUNED,
    UPDATES, check_radius,
};

/// RobustCRF's settings. An open sigma or radius has the thesis' value for Cora (tables
/// `crf:tab:param_CRF_features` and `crf:tab:param_CRF_structure`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RobustCrf {
    /// What neighbours differ in; open means features, unless an attack says otherwise.
    pub on: Option<Perturbed>,
    /// L: neighbours drawn around an input.
    pub neighbours: usize,
    /// K: updates.
    pub updates: usize,
    /// σ: the weight of the model's own answer.
    pub sigma: Option<f64>,
    /// Of the ball: a norm of features, or a share of the edges.
    pub radius: Option<f64>,
    /// Whether classes are averaged instead of probabilities.
    pub hard: bool,
    /// Whether to end as soon as no class can change any more.
    pub stop_early: bool,
    /// Of a ball of structures: how the number of flips is drawn.
    pub law: StructureLaw,
    /// Whether sigma and radius are chosen on validation nodes.
    pub tune: bool,
}

impl RobustCrf {
    /// The thesis' L = 5 and K = 2.
    pub const fn new() -> Self {
        Self {
            on: None,
            neighbours: 5,
            updates: 2,
            sigma: None,
            radius: None,
            hard: false,
            stop_early: false,
            law: StructureLaw::Thesis,
            tune: false,
        }
    }

    fn changed(&self) -> Perturbed {
        self.on.unwrap_or(Perturbed::Features)
    }

    fn crf(&self) -> Crf {
        let sigma = self.sigma.unwrap_or(match self.changed() {
            Perturbed::Features => 0.9,
            Perturbed::Structure => 0.05,
        });
        let Self {
            neighbours,
            updates,
            hard,
            stop_early,
            ..
        } = *self;
        Crf {
            neighbours,
            updates,
            sigma,
            hard,
            stop_early,
        }
    }
}

impl Default for RobustCrf {
    fn default() -> Self {
        Self::new()
    }
}

impl Choice for RobustCrf {
    const NAME: &'static str = "robust-crf";
    const ABOUT: &'static str = "agreement over a ball of inputs (the thesis' RobustCRF)";
    const SETTINGS: &'static [Setting] = &[
        ON,
        Setting::new(
            "neighbours",
            "L",
            "neighbours drawn around an input [default: 5]",
        ),
        UPDATES,
        Setting::new(
            "sigma",
            "X",
            "weight of the model's own answer, 0 to 1 [default: the thesis' for the dataset]",
        )
        .flag("crf-sigma"),
        RADIUS,
        Setting::new(
            "hard",
            "BOOL",
            "average classes instead of probabilities [default: false]",
        ),
        STOP_EARLY,
        Setting::new(
            "law",
            "LAW",
            "on structure, how the number of flips is drawn: thesis or uniform [default: thesis]",
        ),
        Setting::new(
            "tune",
            "BOOL",
            "choose sigma and radius by the accuracy on validation nodes [default: false]",
        )
        .flag("inference-tune"),
    ];

    fn check(&self) -> gnarl_graph::Result<()> {
        check_radius(self.radius)?;
        self.crf().check()
    }
}

/// What tuning tries for sigma: from the model's own answer to its neighbours'.
pub(super) const SIGMAS: [f64; 6] = [0.95, 0.9, 0.8, 0.5, 0.2, 0.05];

impl Method for RobustCrf {
    fn on(&self, part: Perturbed) -> Inference {
        Self {
            on: self.on.or(Some(part)),
            ..*self
        }
        .into()
    }

    fn part(&self) -> Option<Perturbed> {
        Some(self.changed())
    }

    fn idle(&self) -> Option<(&'static str, &'static str)> {
        let on_features = self.changed() == Perturbed::Features;
        let law = "says how many edges are flipped, and neighbours differ in features; let them differ in structure";
        match (self.tune, self.sigma, self.radius) {
            (true, Some(_), _) => Some(("sigma", TUNED)),
            (true, _, Some(_)) => Some(("radius", TUNED)),
            _ if on_features && self.law != StructureLaw::Thesis => Some(("law", law)),
            _ => None,
        }
    }

    fn update(&self) -> Option<Crf> {
        Some(self.crf())
    }

    fn around<'a>(&self, _: Option<&'a Prior>) -> Option<Around<'a>> {
        let radius = self.radius.unwrap_or(usual_radius(self.changed()));
        Some(match self.changed() {
            Perturbed::Features => Around::Features(FeatureBall {
                radius,
                similarity: Similarity::Cosine,
            }),
            Perturbed::Structure => Around::Structure(StructureBall {
                share: radius,
                law: self.law,
            }),
        })
    }

    fn tunes(&self) -> bool {
        self.tune
    }

    fn on_sets(&self) -> Option<Inference> {
        let is_open = self.radius.is_none() && !self.tune && self.changed() == Perturbed::Structure;
        is_open.then(|| {
            Self {
                radius: Some(USUAL_SHARE_ON_SETS),
                ..*self
            }
            .into()
        })
    }

    fn candidates(&self, of: Input) -> Vec<Inference> {
        let radii = tried_radii(self.changed(), of);
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
