//! Certifies a plain network against changes of features or edges, by margins over Lipschitz
//! constants ([Abbahaddou et al. 2024](https://arxiv.org/abs/2404.17947)).

use std::collections::HashMap;

use gnarl_data::Task;
use gnarl_graph::Error;
use gnarl_graph::random::Rng;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Certificate;
use super::attempts::Attempt;
use super::method::{CertifyInput, Method, Requirement, Unused};
use super::nodes::Nodes;
use super::radii::RadiusList;
use super::result::CertifiedNode;
use super::sets::Graphs;
use super::tables::Series;
use super::threat::{Rows, Target, ThreatModel};
use gnarl_graph::Result;
use gnarl_robust::attack::nettack::Parts;
use gnarl_robust::perturb::Norm;
use gnarl_robust::robustness::bounds::Distance;
use gnarl_robust::robustness::certify::{LipschitzMargins, Scope};
use gnarl_robust::robustness::{Bounds, Budget};

/// Default radii of features, as shares of the median L2 norm of a node's features.
pub const SHARES: [f64; 7] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/// Margins of a network over its Lipschitz constants (Abbahaddou et al. 2024,
/// [arXiv:2404.17947](https://arxiv.org/abs/2404.17947)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "lipschitz",
    about = "margins over Lipschitz constants, for gcn, gin, sgc and mlp",
    check = Self::check_norm
)]
pub struct Lipschitz {
    /// Norm of the change of features: 1, 2, inf or any number of at least 1.
    #[setting(default = Norm::L2)]
    pub norm: Norm,
    /// Nodes whose features change: any single one, every one by the radius, or all together by the
    /// norm of the matrix.
    #[setting(default = Scope::One)]
    pub scope: Scope,
    /// Radii of the table.
    #[setting(
        flag = "epsilon",
        open = "0 to 0.5 of the median L2 norm of a node's features"
    )]
    pub radii: Option<RadiusList>,
    /// Largest number of flips.
    #[setting(default = 10)]
    pub max_radius: usize,
    /// Flips of binary features instead of distances.
    #[setting(open = "false, true with --method all on one graph")]
    pub count_flips: Option<bool>,
}

const OF_FEATURES: &str = "lipschitz on features";
const OF_DISTANCES: &str = "lipschitz on features, by distance";
const OF_FLIPS: &str = "flips by lipschitz, exact and convex";

impl Lipschitz {
    fn check_norm(&self) -> gnarl_graph::Result<()> {
        self.norm.check()
    }

    fn distances(&self, median_norm: f64) -> Vec<f64> {
        match &self.radii {
            Some(radii) => radii.values().to_vec(),
            None => SHARES.map(|share| share * median_norm).to_vec(),
        }
    }
}

impl Method for Lipschitz {
    fn targets(&self) -> Set<Target> {
        Target::set(&[Target::Features, Target::Edges])
    }

    fn requires(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::PlainInference, Requirement::KnownMaps])
    }

    fn unused(&self, threat: ThreatModel) -> Vec<Unused> {
        let of_distances = ["norm", "scope", "radii"].map(|name| (name, OF_DISTANCES));
        let mut unused = match self.rows(threat) {
            Rows::Distances => vec![("max-radius", OF_FLIPS)],
            Rows::Flips(_) | Rows::Samples => of_distances.to_vec(),
        };
        if threat.target != Target::Features {
            unused.push(("count-flips", OF_FEATURES));
        } else if threat.task == Task::Graph {
            unused.push(("count-flips", "lipschitz on the features of one graph"));
        }
        unused
    }

    fn filled(&self, threat: ThreatModel) -> Option<Certificate> {
        let counts = (threat.target == Target::Features).then_some(false);
        let count_flips = self.count_flips.or(counts);
        Some(
            Self {
                count_flips,
                ..*self
            }
            .into(),
        )
    }

    fn side_by_side(&self, threat: ThreatModel) -> Option<Certificate> {
        let counts = threat.target == Target::Features && threat.task == Task::Node;
        let count_flips = self.count_flips.or(counts.then_some(true));
        Some(
            Self {
                count_flips,
                ..*self
            }
            .into(),
        )
    }

    fn rows(&self, threat: ThreatModel) -> Rows {
        if threat.target == Target::Features && self.count_flips != Some(true) {
            Rows::Distances
        } else {
            Rows::Flips(self.max_radius)
        }
    }

    fn guarantee(&self, threat: ThreatModel) -> String {
        if let Rows::Flips(_) = self.rows(threat) {
            let what = match threat.target {
                Target::Edges => "edges",
                Target::Features | Target::Both => "binary features",
            };
            return format!("lipschitz: at most this number of {what} flipped in the graph");
        }
        let whose = match self.scope {
            Scope::One => "of any one node change",
            Scope::Every => "of every node change, each",
            Scope::Total => "of all nodes together change",
        };
        let norm = self.norm;
        format!("lipschitz: features {whose} by less than the radius (L{norm})")
    }

    fn on_nodes(&self, nodes: &Nodes<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>> {
        let counts_features =
            input.threat.target == Target::Features && self.count_flips == Some(true);
        if counts_features && !nodes.fitted.scaler().is_idle() {
            let what = "flips of features are certified as the network takes them; --features as-loaded leaves them as they are";
            return Err(Error::unsupported("lipschitz", what));
        }
        let known = LipschitzMargins::new(nodes.network()?, &nodes.scaled)?;
        let items = &nodes.items;
        Ok(Some(match self.rows(input.threat) {
            Rows::Distances => {
                let reached = known.feature_radii(self.norm, self.scope)?;
                let of = |u: usize| (known.class(u), reached[u]);
                items.by_distance(&self.distances(input.median_norm), of)
            }
            _ if counts_features => {
                let flips = feature_flips(&known)?;
                items.by_flips(self.max_radius, |u| (known.class(u), flips[u]))
            }
            _ => {
                let flips = known.edge_radii(self.max_radius)?;
                items.by_flips(self.max_radius, |u| (known.class(u), flips[u] as f64))
            }
        }))
    }

    fn on_graphs(&self, graphs: &Graphs<'_>, input: &CertifyInput<'_>) -> Result<Option<Series>> {
        let items = &graphs.items;
        if input.threat.target == Target::Edges {
            let reached = graphs.reached(|bounds, margin| flips_within(bounds, margin, self))?;
            let of = |g: usize| of_graph(&reached, g);
            return Ok(Some(items.by_flips(self.max_radius, of)));
        }
        // If every row moves by the radius, the change covers that of one row, or of all rows
        // together.
        let budget = Budget::Features {
            norm: self.norm,
            epsilon: 1.0,
        };
        let reached = graphs.reached(|bounds, margin| {
            let moved = largest_change(bounds, budget)?;
            Ok(if moved > 0.0 {
                margin / moved
            } else {
                f64::INFINITY
            })
        })?;
        let radii = self.distances(input.median_norm);
        Ok(Some(items.by_distance(&radii, |g| of_graph(&reached, g))))
    }

    fn breaks(&self, attempt: &Attempt<'_>, node: &CertifiedNode, rng: &mut Rng) -> Result<bool> {
        let flips = node.radius as usize;
        let graph = match (self.rows(attempt.threat), attempt.threat.target) {
            (Rows::Distances, _) => {
                return attempt.moved_features_break(node, self.norm, self.scope, rng);
            }
            (_, Target::Edges) if attempt.is_strong => {
                attempt.nettack(node, flips, Parts::Structure)?
            }
            (_, Target::Edges) => attempt.random_flips(node.node, flips, rng)?,
            _ if attempt.is_strong => attempt.nettack(node, flips, Parts::Features)?,
            _ => attempt.flipped_features(node.node, flips, flips, rng)?,
        };
        attempt.changes_class(node, &graph)
    }
}

/// Certified number of flips of binary features of each node: k flips are k apart in L1 and sqrt(k)
/// in L2.
fn feature_flips(known: &LipschitzMargins) -> Result<Vec<f64>> {
    let in_l1 = known.feature_radii(Norm::L1, Scope::Total)?;
    let in_l2 = known.feature_radii(Norm::L2, Scope::Total)?;
    let both = in_l1.iter().zip(&in_l2);
    Ok(both
        .map(|(&l1, &l2)| last_below(l1).max(last_below(l2 * l2)))
        .collect())
}

/// The largest number of flips whose distance is below a radius.
fn last_below(radius: f64) -> f64 {
    if radius > 0.0 {
        (radius.ceil() - 1.0).max(0.0)
    } else {
        0.0
    }
}

/// The class and the radius of a graph.
fn of_graph(reached: &HashMap<u32, (usize, f64)>, g: usize) -> (usize, f64) {
    reached[&(g as u32)]
}

/// Number of flips of edges that move no score as far as the margin.
fn flips_within(bounds: &Bounds, margin: f64, settings: &Lipschitz) -> Result<f64> {
    let mut stands = 0;
    while stands < settings.max_radius
        && largest_change(bounds, Budget::Structure { flips: stands + 1 })? < margin
    {
        stands += 1;
    }
    Ok(stands as f64)
}

/// An upper bound on the change of every score.
fn largest_change(bounds: &Bounds, budget: Budget) -> Result<f64> {
    let of = bounds.within(budget)?;
    let least = of
        .iter()
        .filter(|bound| matches!(bound.distance, Distance::L2 | Distance::Linf))
        .map(|bound| bound.sound);
    Ok(least.fold(f64::INFINITY, f64::min))
}
