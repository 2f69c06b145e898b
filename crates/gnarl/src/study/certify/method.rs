//! The interface of a certificate: the changes and models that it covers, the rows of its table,
//! and how it certifies nodes and graphs.

use gnarl_data::Task;
use gnarl_graph::random::Rng;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::join_names;
use gnarl_graph::{Error, Graph, named};

use super::attempts::Attempt;
use super::nodes::Nodes;
use super::result::CertifiedNode;
use super::sets::Graphs;
use super::tables::{Items, Series};
use super::threat::{Rows, Target, ThreatModel};
use super::{Certificate, Smoothing};
use crate::model::Plan;
use gnarl_graph::Result;
use gnarl_nn::networks::Backbone;
use gnarl_robust::classifier::Classifier;
use gnarl_robust::robustness::certify::{BinaryGcn, LipschitzMargins, Propagated, SampleCallbacks};

named! {
    /// A property of a model that a certificate relies on.
    #[non_exhaustive]
    pub enum Requirement as "requirement" {
        /// The nodes of one graph are classified.
        OneGraph = "one-graph",
        /// Predictions are a forward pass of the network.
        PlainInference = "plain-inference",
        /// The linear maps of the network have known positions.
        KnownMaps = "known-maps",
        /// The network predicts from features alone, then propagates.
        PredictThenPropagate = "predict-then-propagate",
        /// The network is made of graph convolutions.
        GraphConvolutions = "graph-convolutions",
    }
}

impl Requirement {
    /// The models with this property and the kind of this model, as `appnp and sgc, not gcn`;
    /// `None` if the model has the property.
    pub fn unmet(self, plan: &Plan) -> Option<String> {
        let inference = plan.model.inference;
        match self {
            Requirement::OneGraph => (plan.task == Task::Graph)
                .then(|| "the nodes of one graph, not a set of graphs".into()),
            Requirement::PlainInference => {
                (!inference.is_plain()).then(|| format!("plain inference, not {inference}"))
            }
            Requirement::KnownMaps => unmet_by_network(plan, LipschitzMargins::covers),
            Requirement::PredictThenPropagate => unmet_by_network(plan, Propagated::covers),
            Requirement::GraphConvolutions => unmet_by_network(plan, BinaryGcn::covers),
        }
    }
}

fn unmet_by_network(plan: &Plan, covers: fn(&Backbone) -> bool) -> Option<String> {
    let network = plan.model.backbone;
    let covered = || format!("{}, not {network}", Backbone::names_of(covers));
    (!covers(&network)).then(covered)
}

/// A setting without effect, and the certificates that it belongs to.
pub type Unused = (&'static str, &'static str);

/// The input of a certificate in addition to the model and its data.
#[derive(Clone, Copy)]
pub struct CertifyInput<'a> {
    /// The changes that an attacker may make.
    pub threat: ThreatModel,
    /// The median L2 norm of a node's features, as the network takes them.
    pub median_norm: f64,
    /// The callbacks of the sampling.
    pub watch: SampleCallbacks<'a>,
}

/// Any classifier on a graph: certified are its nodes, or the graph itself.
pub struct AnyModel<'a> {
    /// The classifier.
    pub model: &'a dyn Classifier,
    /// The graph.
    pub graph: &'a Graph,
    pub(super) items: Items,
    /// The seed of the samples.
    pub seed: u64,
}

/// A certificate with its settings.
pub trait Method {
    /// The targets that it covers.
    fn targets(&self) -> Set<Target>;

    /// The properties of a model that it relies on.
    fn requires(&self) -> Set<Requirement> {
        Set::EMPTY
    }

    /// The settings without effect under a threat model.
    fn unused(&self, threat: ThreatModel) -> Vec<Unused> {
        let _ = threat;
        Vec::new()
    }

    /// The certificate with open settings filled in; `None` if none is open.
    fn filled(&self, threat: ThreatModel) -> Option<Certificate> {
        let _ = threat;
        None
    }

    /// The certificate with open settings that make it comparable with other certificates in one
    /// table; `None` if there are none.
    fn side_by_side(&self, threat: ThreatModel) -> Option<Certificate> {
        let _ = threat;
        None
    }

    /// The rows of its table.
    fn rows(&self, threat: ThreatModel) -> Rows;

    /// The guarantee in words.
    fn guarantee(&self, threat: ThreatModel) -> String;

    /// Number of samples of one input.
    fn samples(&self) -> usize {
        0
    }

    /// Certifies nodes of one graph; `None` if it was stopped.
    fn on_nodes(&self, nodes: &Nodes<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>>;

    /// Certifies graphs of a set; `None` if it was stopped.
    fn on_graphs(&self, graphs: &Graphs<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>> {
        let _ = (graphs, input);
        Err(Error::unsupported(
            "certify",
            "the certificate does not cover sets of graphs",
        ))
    }

    /// Certifies any classifier; `None` if it was stopped.
    fn on_any(&self, model: &AnyModel<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>> {
        let _ = (model, input);
        Err(Error::unsupported(
            "certify",
            "the certificate needs a network",
        ))
    }

    /// Attacks a node within its certified radius; returns true if its class changes. A certificate
    /// by samples guarantees nothing about a single attack.
    fn breaks(&self, attempt: &Attempt<'_>, node: &CertifiedNode, rng: &mut Rng) -> Result<bool> {
        let _ = (attempt, node, rng);
        Ok(false)
    }
}

impl Certificate {
    /// The names of the certificates with a property, as `a, b and c`.
    pub fn names_of(has: impl Fn(&Self) -> bool) -> String {
        let names: Vec<&str> = Self::all().filter(|c| has(c)).map(|c| c.name()).collect();
        join_names(&names)
    }

    /// The certificate with open settings filled in for a threat model.
    #[must_use]
    pub fn filled(&self, threat: ThreatModel) -> Self {
        self.method().filled(threat).unwrap_or(*self)
    }

    /// The certificate as it is shown next to others in one table.
    #[must_use]
    pub fn side_by_side(&self, threat: ThreatModel) -> Self {
        self.method().side_by_side(threat).unwrap_or(*self)
    }

    /// Refuses settings outside their range, a target that is not covered, and settings without
    /// effect.
    pub fn check_for(&self, threat: ThreatModel) -> gnarl_graph::Result<()> {
        self.check()?;
        self.check_target(threat.target)?;
        let (stored, defaults) = (self.stored()?, (self.info().defaults)());
        let is_changed = |name: &str| stored.get(name) != defaults.get(name);
        let unused = self.method().unused(threat);
        match unused.into_iter().find(|(name, _)| is_changed(name)) {
            Some(unused) => Err(self.refuse_unused(unused)),
            None => Ok(()),
        }
    }

    pub(super) fn check_target(&self, target: Target) -> gnarl_graph::Result<()> {
        let targets = self.method().targets();
        if targets.contains(target) {
            return Ok(());
        }
        Err(Error::OutOfRange {
            setting: "target".into(),
            range: format!("{} for {self}", targets.names().join(" or ")),
            got: target.to_string(),
        })
    }

    /// The error for a setting without effect.
    pub(super) fn refuse_unused(&self, (name, whose): Unused) -> Error {
        let setting = self.info().settings.iter().find(|s| s.name == name);
        let flag = setting.map_or(name, |setting| setting.flag);
        Error::unsupported(flag, format!("belongs to {whose}"))
    }

    /// The reason why it does not cover a model, as `appnp and sgc, not gcn`; `None` if it does.
    pub fn unmet(&self, plan: &Plan) -> Option<String> {
        let mut requires = self.method().requires().iter();
        requires.find_map(|requirement| requirement.unmet(plan))
    }

    /// Refuses a model that it does not cover.
    pub fn check_model(&self, plan: &Plan, target: Target) -> gnarl_graph::Result<()> {
        let Some(why) = self.unmet(plan) else {
            return Ok(());
        };
        let others = Self::names_of(|other| {
            other.method().targets().contains(target) && other.unmet(plan).is_none()
        });
        let remedy = match others.as_str() {
            "" => "no certificate covers this model".to_string(),
            several if several.contains(" and ") => format!("{several} cover this model"),
            one => format!("{one} covers this model"),
        };
        let what = format!("{self} covers {why}; {remedy}");
        Err(Error::unsupported("method", what))
    }

    /// The settings of smoothing.
    pub fn smoothing(&self) -> Option<&Smoothing> {
        match self {
            Certificate::Smoothing(smoothing) => Some(smoothing),
            _ => None,
        }
    }
}
