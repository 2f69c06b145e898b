//! Certifies a classifier by randomised smoothing: its votes on noisy copies of the input
//! ([Bojchevski et al. 2020](https://arxiv.org/abs/2008.12952), [Cohen et al.
//! 2019](https://arxiv.org/abs/1902.02918)).

use gnarl_data::Task;
use gnarl_graph::limits::MOST;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use gnarl_graph::{Error, Graph};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Certificate;
use super::method::{AnyModel, CertifyInput, Method, Unused};
use super::nodes::Nodes;
use super::sampling::{Available, Sampling};
use super::sets::Graphs;
use super::tables::{Items, Series};
use super::threat::{Rows, Target, ThreatModel};
use crate::model::Fitted;
use crate::model::fitted::PreprocessedModel;
use gnarl_graph::Result;
use gnarl_nn::features::Scaler;
use gnarl_robust::classifier::Classifier;
use gnarl_robust::inference::Defended;
use gnarl_robust::robustness::certify::{Certainty, FlipNoise, Noise, Regions, Rule, Smoothed};

/// Largest number of samples; the literature uses up to a million.
const MOST_SAMPLES: u64 = 100 * MOST;

/// Default probabilities of additions and deletions of features.
const OF_FEATURES: [f64; 2] = [0.01, 0.6];
/// Default probabilities of additions and deletions of edges.
const OF_EDGES: [f64; 2] = [0.0001, 0.4];
/// Default probabilities for edges of sets. Their graphs are small: among 20 nodes, no pair in ten
/// thousand is added.
const OF_EDGES_IN_SETS: [f64; 2] = [0.01, 0.4];

/// Randomised smoothing with flips of bits (Bojchevski et al. 2020,
/// [arXiv:2008.12952](https://arxiv.org/abs/2008.12952)) or Gaussian noise (Cohen et al. 2019,
/// [arXiv:1902.02918](https://arxiv.org/abs/1902.02918)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "smoothing",
    about = "votes on noisy copies of the input, for any model",
    check = Self::check_answerable
)]
pub struct Smoothing {
    /// Probability that noise adds an absent feature or edge.
    #[setting(open = "0.01 for features, 0.0001 for edges, 0.01 for edges of sets", range = 0.0..=1.0)]
    pub p_plus: Option<f64>,
    /// Probability that noise deletes a feature or edge.
    #[setting(open = "0.6 for features, 0.4 for edges", range = 0.0..=1.0)]
    pub p_minus: Option<f64>,
    /// Probability that noise adds an absent edge, with target both.
    #[setting(open = "0.0001, 0.01 for sets", range = 0.0..=1.0)]
    pub edge_p_plus: Option<f64>,
    /// Probability that noise deletes an edge, with target both.
    #[setting(open = "0.4", range = 0.0..=1.0)]
    pub edge_p_minus: Option<f64>,
    /// Standard deviation of Gaussian noise on features, instead of flips.
    #[setting(above = 0.0, below = 1e6)]
    pub gaussian: Option<f64>,
    /// Number of samples that bound the class probabilities.
    #[setting(default = 10_000, range = ..=MOST_SAMPLES)]
    pub samples: usize,
    /// Number of separate samples that select the class of each node or graph.
    #[setting(default = 1000, range = 1..=MOST_SAMPLES)]
    pub selection: usize,
    /// Probability that a certificate is wrong.
    #[setting(default = 0.01, above = 0.0, below = 1.0)]
    pub alpha: f64,
    /// Bonferroni correction: alpha holds for all test nodes or graphs together, each gets an equal
    /// share.
    #[setting(default = false)]
    pub simultaneous: bool,
    /// Rule for a certified class: above one half of the votes (two-class) or above every other
    /// class (multi-class).
    #[setting(default = Rule::TwoClass, flag = "certificate")]
    pub rule: Rule,
}

impl Smoothing {
    fn check_answerable(&self) -> gnarl_graph::Result<()> {
        self.check_samples(self.alpha, 2)
    }

    /// Refuses numbers of samples that certify nothing even if all samples agree.
    pub(super) fn check_samples(&self, alpha: f64, num_classes: usize) -> gnarl_graph::Result<()> {
        let best = Certainty::unanimous(num_classes, self.samples, alpha, self.rule);
        if Regions::new(&[]).certify(&best, self.rule) {
            return Ok(());
        }
        let what = format!(
            "{} samples certify nothing: even if all agree, the probability of a class is only known to be above {:.3} at alpha {alpha}; take more",
            self.samples, best.lower
        );
        Err(Error::argument("samples", what))
    }

    /// The settings with the probabilities of a threat model.
    fn with_noise(&self, threat: ThreatModel) -> Self {
        if self.gaussian.is_some() {
            return *self;
        }
        let of_edges = match threat.task {
            Task::Node => OF_EDGES,
            Task::Graph => OF_EDGES_IN_SETS,
        };
        let default = match threat.target {
            Target::Edges => of_edges,
            Target::Features | Target::Both => OF_FEATURES,
        };
        let both = threat.target == Target::Both;
        Self {
            p_plus: self.p_plus.or(Some(default[0])),
            p_minus: self.p_minus.or(Some(default[1])),
            edge_p_plus: self.edge_p_plus.or(both.then_some(of_edges[0])),
            edge_p_minus: self.edge_p_minus.or(both.then_some(of_edges[1])),
            ..*self
        }
    }

    /// The noise under a threat model.
    pub fn noise(&self, threat: ThreatModel) -> gnarl_graph::Result<Noise> {
        let filled = self.with_noise(threat);
        if let Some(sigma) = filled.gaussian {
            return Ok(Noise::Gaussian(sigma));
        }
        let noise = |plus: Option<f64>, minus: Option<f64>| {
            FlipNoise::new(plus.unwrap_or(0.0), minus.unwrap_or(0.0))
        };
        let first = noise(filled.p_plus, filled.p_minus)?;
        Ok(match threat.target {
            Target::Features => Noise::Features(first),
            Target::Edges => Noise::Edges(first),
            Target::Both => Noise::Both {
                features: first,
                edges: noise(filled.edge_p_plus, filled.edge_p_minus)?,
            },
        })
    }

    fn sampling<'a>(&self, items: &'a Items, threat: ThreatModel) -> Result<Sampling<'a>> {
        Ok(Sampling {
            settings: *self,
            noise: self.noise(threat)?,
            items,
        })
    }
}

impl Method for Smoothing {
    fn targets(&self) -> Set<Target> {
        Target::set(Target::ALL)
    }

    fn unused(&self, threat: ThreatModel) -> Vec<Unused> {
        let mut unused = Vec::new();
        if self.gaussian.is_some() {
            let flips = ["p-plus", "p-minus", "edge-p-plus", "edge-p-minus"];
            unused.extend(flips.map(|name| (name, "smoothing by flips, without gaussian")));
        }
        if threat.target != Target::Both {
            let of_both = "smoothing with target both";
            unused.extend(["edge-p-plus", "edge-p-minus"].map(|name| (name, of_both)));
        }
        if threat.target != Target::Features {
            unused.push(("gaussian", "smoothing of features"));
        }
        unused
    }

    fn filled(&self, threat: ThreatModel) -> Option<Certificate> {
        Some(self.with_noise(threat).into())
    }

    fn rows(&self, _: ThreatModel) -> Rows {
        Rows::Samples
    }

    fn guarantee(&self, threat: ThreatModel) -> String {
        let (samples, alpha, item) = (self.samples, self.alpha, threat.item());
        if let Some(sigma) = self.gaussian {
            return format!(
                "smoothing: features of all nodes change by less than the radius (Frobenius), standard deviation {sigma}, {samples} samples, alpha {alpha}"
            );
        }
        let what = match threat.target {
            Target::Features => "r_add features added and r_delete deleted in the graph",
            Target::Edges => "r_add edges added and r_delete deleted in the graph",
            Target::Both => "features and edges flipped in the graph",
        };
        let whose = if self.simultaneous {
            format!("for all test {item}s at once")
        } else {
            format!("for each {item}")
        };
        format!("smoothing: {what}, {samples} samples, alpha {alpha} {whose}")
    }

    fn samples(&self) -> usize {
        self.selection + self.samples
    }

    fn on_nodes(&self, nodes: &Nodes<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>> {
        let sampling = self.sampling(&nodes.items, input.threat)?;
        let known = with_inference(nodes.fitted, |smoothed| {
            let (rows, seed) = (&nodes.items.test, (nodes.fitted.seed(), ""));
            sampling.certainties(smoothed, nodes.graph, rows, seed, input.watch)
        })?;
        let num_classes = nodes.fitted.attack_target().num_classes();
        let available = Available::of(nodes.graph);
        Ok(known.map(|known| sampling.series(num_classes, available, &known)))
    }

    fn on_graphs(&self, graphs: &Graphs<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>> {
        let sampling = self.sampling(&graphs.items, input.threat)?;
        let seed = graphs.fitted.seed();
        let known = with_inference(graphs.fitted, |smoothed| {
            let one = |&g: &u32| -> Result<Option<(u32, Certainty)>> {
                let (graph, of) = (graphs.graph(g), format!(" of graph {g}"));
                let found =
                    sampling.certainties(smoothed, graph, &[0], (seed, &of), input.watch)?;
                let first = found.and_then(|found| found.into_iter().next());
                Ok(first.map(|(_, certainty)| (g, certainty)))
            };
            let found = graphs.items.test.par_iter().map(one);
            found.collect::<Result<Option<Vec<_>>>>()
        })?;
        let num_classes = graphs.fitted.attack_target().num_classes();
        Ok(known.map(|known| sampling.series(num_classes, most_available(graphs), &known)))
    }

    fn on_any(&self, on: &AnyModel<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>> {
        let sampling = self.sampling(&on.items, input.threat)?;
        let smoothed = Smoothed {
            model: on.model,
            scaler: &Scaler::AsLoaded,
        };
        let (rows, seed) = (&on.items.test, (on.seed, ""));
        let known = sampling.certainties(&smoothed, on.graph, rows, seed, input.watch)?;
        let available = Available::of(on.graph);
        Ok(known.map(|known| sampling.series(on.model.num_classes(), available, &known)))
    }
}

/// Calls a function with a model and its inference, ready for noise. Gaussian noise is added to
/// scaled features, and flips come before scaling.
fn with_inference<T>(fitted: &Fitted, f: impl FnOnce(&Smoothed<'_>) -> Result<T>) -> Result<T> {
    let attack_target: PreprocessedModel<'_> = fitted.attack_target();
    let defended = Defended {
        model: &attack_target,
        inference: fitted.fitted_inference(),
        seed: fitted.seed(),
    };
    let model: &dyn Classifier = if fitted.fitted_inference().is_plain() {
        &attack_target
    } else {
        &defended
    };
    f(&Smoothed {
        model,
        scaler: fitted.scaler(),
    })
}

/// The largest numbers of features and edges that can flip in any of the test graphs.
fn most_available(graphs: &Graphs<'_>) -> Available {
    let of = |&g: &u32| -> &Graph { graphs.graph(g) };
    let each = graphs.items.test.iter().map(of).map(Available::of);
    each.fold(Available::default(), Available::most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: ThreatModel = ThreatModel {
        target: Target::Edges,
        task: Task::Node,
    };

    #[test]
    fn open_probabilities_follow_the_threat_model() {
        let flips = |plus, minus| FlipNoise::new(plus, minus).unwrap();
        let noise = |target, task| {
            Smoothing::default()
                .noise(ThreatModel { target, task })
                .unwrap()
        };
        assert_eq!(
            noise(Target::Edges, Task::Node),
            Noise::Edges(flips(0.0001, 0.4))
        );
        assert_eq!(
            noise(Target::Edges, Task::Graph),
            Noise::Edges(flips(0.01, 0.4))
        );
        assert_eq!(
            noise(Target::Features, Task::Graph),
            Noise::Features(flips(0.01, 0.6))
        );
        let both = Noise::Both {
            features: flips(0.01, 0.6),
            edges: flips(0.0001, 0.4),
        };
        assert_eq!(noise(Target::Both, Task::Node), both);
        let gaussian = Smoothing {
            gaussian: Some(0.5),
            ..Smoothing::default()
        };
        assert_eq!(gaussian.noise(NODES).unwrap(), Noise::Gaussian(0.5));
        let Some(Certificate::Smoothing(filled)) = Smoothing::default().filled(NODES) else {
            panic!("smoothing stays smoothing")
        };
        assert_eq!((filled.p_plus, filled.edge_p_plus), (Some(0.0001), None));
    }
}
