//! Ways to certify, with their settings.

use gnarl_graph::dataset::Task;
use gnarl_graph::limits::{MOST, check_count};
use gnarl_graph::{Error, named};

use crate::inference::Perturbed;
use crate::model::Plan;
use crate::nn::Backbone;
use crate::perturb::Norm;
use crate::robustness::certify::{Certainty, FlipNoise, Noise, Regions, Rule, Scope, Threat};

/// A certificate with its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum Certificate {
    /// Of the smoothed classifier, by samples.
    Smoothing(SmoothingSettings),
    /// From margins and how far a network stretches features.
    LipschitzFeatures {
        /// The norm of what moves.
        norm: Norm,
        /// Whose features move.
        scope: Scope,
        /// The radii; where there are none, [`SHARES`] of the median norm of a node's features.
        radii: Vec<f64>,
    },
    /// The same for flips of binary features: k of them are k apart in L1 and the root of k in L2.
    LipschitzFlips {
        /// The most flips that are looked at.
        most: usize,
    },
    /// The same for flips of edges.
    LipschitzEdges {
        /// The most flips that are looked at.
        most: usize,
    },
    /// Flips of edges under models that predict, then propagate.
    Exact {
        /// Which edges change.
        threat: Threat,
        /// The largest local budget that is looked at.
        most: usize,
    },
    /// Flips of binary features under a GCN.
    Convex {
        /// The most flips of one node; `None` for as many as in all.
        local: Option<usize>,
        /// The most flips in all that are looked at.
        most: usize,
    },
}

/// Radii of features where none are given, as shares of the median norm of a node's features.
pub const SHARES: [f64; 7] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/// How samples are drawn and what is concluded from them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothingSettings {
    /// The noise.
    pub noise: Noise,
    /// Draws that choose each node's class.
    pub selection: usize,
    /// Further draws that bound its probability.
    pub samples: usize,
    /// How often a certificate may be wrong.
    pub alpha: f64,
    /// When a class stands.
    pub rule: Rule,
    /// Whether alpha is for all test nodes at once: each then has an equal share of it
    /// (Bonferroni).
    pub simultaneous: bool,
}

/// The most radii of one sort that smoothing looks at.
pub(super) const MOST_FLIPS: usize = 60;
/// The literature draws up to a million.
const MOST_DRAWS: u64 = 100 * MOST;

impl SmoothingSettings {
    /// Refuses what no samples can answer.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Error::argument(
                "alpha",
                format!("{} is no level, above 0 and below 1", self.alpha),
            ));
        }
        if let Noise::Gaussian(sigma) = self.noise
            && !(sigma > 0.0 && sigma < 1e6)
        {
            return Err(Error::argument(
                "sigma",
                format!("{sigma} is no deviation, above 0 and below a million"),
            ));
        }
        if self.selection == 0 {
            return Err(Error::argument(
                "selection",
                "0 draws choose no class; at least 1 is needed",
            ));
        }
        check_count("selection", self.selection as u64, MOST_DRAWS)?;
        check_count("samples", self.samples as u64, MOST_DRAWS)?;
        self.check_samples(self.alpha, 2)
    }

    /// Refuses samples that certify nothing even where all agree.
    pub(super) fn check_samples(&self, alpha: f64, num_classes: usize) -> gnarl_graph::Result<()> {
        let best = Certainty::unanimous(num_classes, self.samples, alpha, self.rule);
        if Regions::new(&[]).certify(&best, self.rule) {
            return Ok(());
        }
        let what = format!(
            "{} samples certify nothing: even where all of them agree, a class' probability is bounded by {:.3} only at level {alpha}",
            self.samples, best.lower
        );
        Err(Error::argument("samples", what))
    }
}

impl Certificate {
    /// Refuses settings that mean nothing, before anything is trained.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        match self {
            Certificate::Smoothing(settings) => settings.check(),
            Certificate::LipschitzFeatures { norm, radii, .. } => {
                norm.check()?;
                match radii.iter().find(|r| !(r.is_finite() && **r >= 0.0)) {
                    Some(r) => Err(Error::argument(
                        "epsilon",
                        format!("{r} is no radius, at least 0"),
                    )),
                    None => Ok(()),
                }
            }
            Certificate::Convex { local: Some(0), .. } => Err(Error::argument(
                "local",
                "0 flips of a node change nothing; at least 1 is needed",
            )),
            Certificate::LipschitzFlips { .. }
            | Certificate::LipschitzEdges { .. }
            | Certificate::Exact { .. }
            | Certificate::Convex { .. } => Ok(()),
        }
    }

    /// Its method's name.
    pub fn method(&self) -> Method {
        match self {
            Certificate::Smoothing(_) => Method::Smoothing,
            Certificate::LipschitzFeatures { .. }
            | Certificate::LipschitzFlips { .. }
            | Certificate::LipschitzEdges { .. } => Method::Lipschitz,
            Certificate::Exact { .. } => Method::Exact,
            Certificate::Convex { .. } => Method::Convex,
        }
    }

    /// Why it says nothing about a model, as far as that is known before it is fitted.
    pub fn refusal(&self, plan: &Plan) -> Option<String> {
        let backbone = plan.model.backbone;
        if plan.task == Task::Graph && matches!(self.method(), Method::Exact | Method::Convex) {
            return Some(format!(
                "{} is left out: it covers the nodes of one graph, not a set of graphs",
                self.method()
            ));
        }
        let covered: &[Backbone] = match self.method() {
            Method::Smoothing => return None,
            Method::Lipschitz => &[Backbone::Gcn, Backbone::Gin, Backbone::Sgc, Backbone::Mlp],
            Method::Exact => &[Backbone::Appnp, Backbone::Sgc],
            Method::Convex => &[Backbone::Gcn],
        };
        let names: Vec<String> = covered.iter().map(ToString::to_string).collect();
        let why = format!(
            "{} is left out: it covers {}, not {backbone}",
            self.method(),
            names.join(", ")
        );
        (!covered.contains(&backbone)).then_some(why)
    }

    /// The part of the input that moves, which is what an inference looks around in.
    pub fn moved_part(&self) -> Perturbed {
        match self {
            Certificate::Smoothing(SmoothingSettings {
                noise: Noise::Edges(_),
                ..
            })
            | Certificate::LipschitzEdges { .. }
            | Certificate::Exact { .. } => Perturbed::Structure,
            _ => Perturbed::Features,
        }
    }
}

named! {
    /// A way to certify.
    pub enum Method as "method" {
        /// Noise and votes: for any classifier.
        Smoothing = "smoothing",
        /// Margins over how far a network stretches.
        Lipschitz = "lipschitz",
        /// The worst of all edges for models that predict, then propagate.
        Exact = "exact",
        /// Lines around activations, for flips of binary features.
        Convex = "convex",
    }
}

named! {
    /// What an attacker changes.
    pub enum Target as "target" {
        /// Features.
        Features = "features",
        /// Edges.
        Edges = "edges",
        /// Both at once.
        Both = "both",
    }
}

/// What somebody says of certificates; what is left open has defaults.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Of smoothing: how often a 0 becomes a 1.
    pub p_plus: Option<f64>,
    /// Of smoothing: how often a 1 becomes a 0.
    pub p_minus: Option<f64>,
    /// Of smoothing both: how often an edge comes.
    pub edge_p_plus: Option<f64>,
    /// Of smoothing both: how often an edge goes.
    pub edge_p_minus: Option<f64>,
    /// Of smoothing: the deviation of Gaussian noise, in place of flips.
    pub gaussian: Option<f64>,
    /// Of smoothing: draws that bound probabilities.
    pub samples: Option<usize>,
    /// Of smoothing: draws that choose classes.
    pub selection: Option<usize>,
    /// Of smoothing: how often a certificate may be wrong.
    pub alpha: Option<f64>,
    /// Of smoothing: whether that is for all test items at once.
    pub simultaneous: bool,
    /// Of smoothing: when a class stands.
    pub rule: Option<Rule>,
    /// Of lipschitz on features: the norm.
    pub norm: Option<Norm>,
    /// Of lipschitz on features: whose.
    pub scope: Option<Scope>,
    /// Of lipschitz on features: the radii.
    pub radii: Vec<f64>,
    /// Of lipschitz on features: count flips of binary features.
    pub counted: bool,
    /// Of flips: the largest number looked at.
    pub max_radius: Option<usize>,
    /// Of exact: which edges change.
    pub threat: Option<Threat>,
    /// Of convex: the most flips of one node.
    pub local: Option<usize>,
}

impl Asked {
    /// The certificate of a method, checked.
    pub fn certificate(
        &self,
        method: Method,
        target: Target,
        task: Task,
    ) -> gnarl_graph::Result<Certificate> {
        const MAX_RADIUS: usize = 10;
        let most = self.max_radius.unwrap_or(MAX_RADIUS);
        let wrong = |what: &str| {
            Err(Error::argument(
                "target",
                format!("{target} is not what {method} certifies: {what}"),
            ))
        };
        let certificate = match (method, target) {
            (Method::Smoothing, _) => Certificate::Smoothing(self.smoothing(target, task)?),
            (Method::Lipschitz, Target::Features) if self.counted => {
                Certificate::LipschitzFlips { most }
            }
            (Method::Lipschitz, Target::Features) => Certificate::LipschitzFeatures {
                norm: self.norm.unwrap_or(Norm::L2),
                scope: self.scope.unwrap_or(Scope::One),
                radii: self.radii.clone(),
            },
            (Method::Lipschitz, Target::Edges) => Certificate::LipschitzEdges { most },
            (Method::Lipschitz, Target::Both) => return wrong("features or edges"),
            (Method::Exact, Target::Edges) => Certificate::Exact {
                threat: self.threat.unwrap_or(Threat::Remove),
                most,
            },
            (Method::Exact, _) => return wrong("edges alone"),
            (Method::Convex, Target::Features) => Certificate::Convex {
                local: self.local,
                most,
            },
            (Method::Convex, _) => return wrong("features alone"),
        };
        certificate.check()?;
        Ok(certificate)
    }

    fn smoothing(&self, target: Target, task: Task) -> gnarl_graph::Result<SmoothingSettings> {
        let noise = |plus: Option<f64>, minus: Option<f64>, usual: [f64; 2]| {
            FlipNoise::new(plus.unwrap_or(usual[0]), minus.unwrap_or(usual[1]))
        };
        const OF_FEATURES: [f64; 2] = [0.01, 0.6];
        // The graphs of a set are small: of 20 nodes one pair in ten thousand is none.
        let of_edges = if task == Task::Node {
            [0.0001, 0.4]
        } else {
            [0.01, 0.4]
        };
        let noise = match (target, self.gaussian) {
            (_, Some(sigma)) => Noise::Gaussian(sigma),
            (Target::Features, None) => {
                Noise::Features(noise(self.p_plus, self.p_minus, OF_FEATURES)?)
            }
            (Target::Edges, None) => Noise::Edges(noise(self.p_plus, self.p_minus, of_edges)?),
            (Target::Both, None) => Noise::Both {
                features: noise(self.p_plus, self.p_minus, OF_FEATURES)?,
                edges: noise(self.edge_p_plus, self.edge_p_minus, of_edges)?,
            },
        };
        Ok(SmoothingSettings {
            noise,
            selection: self.selection.unwrap_or(1000),
            samples: self.samples.unwrap_or(10_000),
            alpha: self.alpha.unwrap_or(0.01),
            rule: self.rule.unwrap_or(Rule::TwoClass),
            simultaneous: self.simultaneous,
        })
    }
}
