//! Certifies networks that predict, then propagate, against local changes of edges, by policy
//! iteration ([Bojchevski and Günnemann 2019](https://arxiv.org/abs/1910.14356)).

use gnarl_graph::random::Rng;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Certificate;
use super::attempts::Attempt;
use super::method::{CertifyInput, Method, Requirement};
use super::nodes::Nodes;
use super::result::CertifiedNode;
use super::tables::Series;
use super::threat::{Rows, Target, ThreatModel};
use gnarl_graph::Result;
use gnarl_nn::train::argmax;
use gnarl_robust::attack::nettack::Parts;
use gnarl_robust::classifier::Classifier;
use gnarl_robust::robustness::certify::{Propagated, Threat};

/// Worst-case changes of edges by policy iteration (Bojchevski and Günnemann 2019,
/// [arXiv:1910.14356](https://arxiv.org/abs/1910.14356)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "exact",
    about = "worst-case changes of edges, for appnp and sgc"
)]
pub struct Exact {
    /// Allowed changes of edges.
    #[setting(open = "remove, both with --method all")]
    pub threat: Option<Threat>,
    /// Largest number of flips.
    #[setting(default = 10)]
    pub max_radius: usize,
}

impl Exact {
    fn threat(&self) -> Threat {
        self.threat.unwrap_or(Threat::Remove)
    }

    fn with_threat(&self, default: Threat) -> Certificate {
        let threat = self.threat.or(Some(default));
        Self { threat, ..*self }.into()
    }
}

impl Method for Exact {
    fn targets(&self) -> Set<Target> {
        Target::set(&[Target::Edges])
    }

    fn requires(&self) -> Set<Requirement> {
        Requirement::set(&[
            Requirement::OneGraph,
            Requirement::PlainInference,
            Requirement::PredictThenPropagate,
        ])
    }

    fn filled(&self, _: ThreatModel) -> Option<Certificate> {
        Some(self.with_threat(Threat::Remove))
    }

    fn side_by_side(&self, _: ThreatModel) -> Option<Certificate> {
        Some(self.with_threat(Threat::Both))
    }

    fn rows(&self, _: ThreatModel) -> Rows {
        Rows::Flips(self.max_radius)
    }

    fn guarantee(&self, _: ThreatModel) -> String {
        let what = match self.threat() {
            Threat::Both => "flipped",
            Threat::Remove => "removed",
            Threat::Add => "added",
        };
        format!("exact: at most this number of edges {what} at every node")
    }

    fn on_nodes(&self, nodes: &Nodes<'_>, _: &CertifyInput<'_>) -> Result<Option<Series>> {
        let network = nodes.network()?;
        let propagated = Propagated::of_model(network, &nodes.scaled)?;
        let reached = propagated.radii(self.threat(), self.max_radius)?;
        let scores = network.scores(&nodes.scaled)?;
        // If rounding decides between two classes, nothing is certified.
        let of = |u: usize| {
            let class = argmax(scores.row(u));
            let is_same = class == reached[u].0;
            (class, if is_same { reached[u].1 as f64 } else { 0.0 })
        };
        Ok(Some(nodes.items.by_flips(self.max_radius, of)))
    }

    fn breaks(&self, attempt: &Attempt<'_>, node: &CertifiedNode, rng: &mut Rng) -> Result<bool> {
        let (flips, threat) = (node.radius as usize, self.threat());
        let graph = if threat == Threat::Both && attempt.is_strong {
            attempt.nettack(node, flips, Parts::Structure)?
        } else {
            attempt.changed_near(node.node, flips, threat, rng)?
        };
        attempt.changes_class(node, &graph)
    }
}
