//! Certifies a GCN against flips of binary features, by linear relaxation of its activations
//! ([Zügner and Günnemann 2019](https://arxiv.org/abs/1906.12269)).

use std::collections::HashMap;

use gnarl_graph::random::Rng;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::attempts::Attempt;
use super::method::{CertifyInput, Method, Requirement};
use super::nodes::Nodes;
use super::result::CertifiedNode;
use super::tables::Series;
use super::threat::{Rows, Target, ThreatModel};
use gnarl_graph::Result;
use gnarl_robust::attack::nettack::Parts;
use gnarl_robust::robustness::certify::BinaryGcn;

/// Linear relaxation of the activations of a GCN (Zügner and Günnemann 2019,
/// [arXiv:1906.12269](https://arxiv.org/abs/1906.12269)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "convex",
    about = "flips of binary features by linear relaxation, for gcn"
)]
pub struct Convex {
    /// Largest number of flips of one node.
    #[setting(open = "as many as in all", range = 1..)]
    pub local: Option<usize>,
    /// Largest number of flips.
    #[setting(default = 10)]
    pub max_radius: usize,
}

impl Method for Convex {
    fn targets(&self) -> Set<Target> {
        Target::set(&[Target::Features])
    }

    fn requires(&self) -> Set<Requirement> {
        Requirement::set(&[
            Requirement::OneGraph,
            Requirement::PlainInference,
            Requirement::GraphConvolutions,
        ])
    }

    fn rows(&self, _: ThreatModel) -> Rows {
        Rows::Flips(self.max_radius)
    }

    fn guarantee(&self, _: ThreatModel) -> String {
        let of_one = |q: usize| format!(", at most {q} of one node");
        let of_one = self.local.map_or_else(String::new, of_one);
        format!("convex: at most this number of feature flips in total{of_one}")
    }

    fn on_nodes(&self, nodes: &Nodes<'_>, _: &CertifyInput<'_>) -> Result<Option<Series>> {
        let known = BinaryGcn::new(nodes.network()?, &nodes.scaled)?;
        let (test, most) = (&nodes.items.test, self.max_radius);
        let reached = known.radii(test, self.local.unwrap_or(most), most);
        let place: HashMap<u32, usize> = test.iter().enumerate().map(|(i, &u)| (u, i)).collect();
        let of = |u: usize| (known.class(u), reached[place[&(u as u32)]] as f64);
        Ok(Some(nodes.items.by_flips(most, of)))
    }

    fn breaks(&self, attempt: &Attempt<'_>, node: &CertifiedNode, rng: &mut Rng) -> Result<bool> {
        let flips = node.radius as usize;
        let graph = if self.local.is_none() && attempt.is_strong {
            attempt.nettack(node, flips, Parts::Features)?
        } else {
            let local = self.local.unwrap_or(flips);
            attempt.flipped_features(node.node, flips, local, rng)?
        };
        attempt.changes_class(node, &graph)
    }
}
