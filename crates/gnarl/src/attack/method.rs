//! What every attack can do, what it sees, and what it gives.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use gnarl_graph::names::{Choice, Setting, listed};
use gnarl_graph::{Graph, Labels};

use super::Attack;
use crate::classifier::{Classifier, Through, WhiteBox};
use crate::error::{Error, Result};
use crate::features::FeatureScaling;
use crate::perturb::{Budget, Change, EdgeShare};

/// An attack with its settings.
pub trait Method {
    /// The changed graph. [`Attack::run`] calls it with a budget above zero and measures what it
    /// gives.
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph>;

    /// The same with the flips in the order in which they were found, of an attack that finds them
    /// one after the other.
    fn attack_in_order(&self, scene: &Scene<'_>, seed: u64) -> Result<(Graph, Option<Vec<Flip>>)> {
        Ok((self.attack(scene, seed)?, None))
    }

    /// What it may change. Fails for a number that is no budget.
    fn budget(&self) -> gnarl_graph::Result<Budget>;

    /// What the number that a user gives as its budget counts.
    fn unit(&self) -> &'static str {
        "share of the edges, rounded down to whole flips"
    }

    /// Whether it finds flips one after the other, so that the first of them are what a smaller
    /// budget would have found.
    fn is_greedy(&self) -> bool {
        false
    }

    /// Whether it misleads each of a few targets by flips of its own.
    fn is_targeted(&self) -> bool {
        false
    }

    /// Whether it needs to know what a model will be trained on.
    fn needs_training(&self) -> bool {
        false
    }

    /// Whether it works on features as they are loaded and not as a network takes them: one that
    /// looks into a model of its own alone.
    fn sees_loaded(&self) -> bool {
        false
    }

    /// Whether it changes features; the others change edges.
    fn changes_features(&self) -> bool {
        false
    }

    /// Whether it goes by the classes of nodes, which the graphs of a set do not have.
    fn needs_node_classes(&self) -> bool {
        false
    }

    /// How often it asks the model, at least: what a search without end is refused by.
    fn passes(&self) -> f64 {
        1.0
    }

    /// Bytes that its search holds at once, at least: what a search that would not fit is refused
    /// by.
    fn bytes(&self, graph: &Graph) -> f64 {
        let _ = graph;
        0.0
    }

    /// Whether it follows a model's gradients.
    fn needs_gradients(&self) -> bool {
        false
    }

    /// Whether it judges what it finds by a model's answers, so that it sees what stands between
    /// the network and them even where gradients do not.
    fn judges_by_answers(&self) -> bool {
        false
    }

    /// Whether it goes by classes: those that answers are to leave, or those of all nodes.
    fn goes_by_classes(&self) -> bool {
        self.asks_model() || self.needs_node_classes()
    }

    /// Whether it goes by what a model answers, with gradients or without.
    fn asks_model(&self) -> bool {
        self.needs_gradients()
    }
}

/// The thesis' share of the edges (ch. 6).
pub(super) const TENTH: f64 = 0.1;

/// The setting of a budget of edges.
pub(super) const OF_EDGES: Setting = Setting::new(
    "budget",
    "X",
    "how much may change: a share of the edges, rounded down to whole flips [default: 0.1]",
);

/// A budget of edges.
pub(super) fn edges(share: f64) -> gnarl_graph::Result<Budget> {
    EdgeShare::new(share).map(Budget::Edges)
}

/// What an attacker sees.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The graph to change, its features as a model sees them.
    pub graph: &'a Graph,
    /// The model to fool, or one to practise on in its place; none for an attack that looks at no
    /// model.
    pub model: Option<&'a dyn Classifier>,
    /// The answers that are to become wrong, by their row of the model's scores, and what the
    /// attacker takes for their classes: nodes, or row 0 of a model that classifies graphs.
    pub targets: &'a [(u32, u32)],
    /// What the attacker takes for the classes of all nodes.
    pub labels: Option<&'a Labels>,
    /// The nodes that a model is trained on and their classes, for attacks on training.
    pub training: &'a [(u32, u32)],
    /// Set to end the search with what was found so far.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> Scene<'a> {
    /// Whether the search is to end.
    pub(super) fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The network to take gradients through.
    pub(super) fn white_box<A: Choice>(&self) -> Result<&'a WhiteBox> {
        let found = self.model.and_then(|model| model.white_box());
        found.ok_or_else(|| {
            // They end at a defence that looks at features, or that changes the operator by itself.
            let what = format!(
                "{} follows gradients, and this model has none to give to its features",
                A::NAME
            );
            refused(format!("{what}; {}", without_gradients()))
        })
    }

    /// The network and what stands before it, to take gradients through to edges.
    pub(super) fn see_through<A: Choice>(&self) -> Result<(&'a dyn Classifier, Through<'a>)> {
        let found = self
            .model
            .and_then(|model| Some((model, model.see_through()?)));
        found.ok_or_else(|| {
            let what = format!(
                "{} follows gradients, and this model has none to give",
                A::NAME
            );
            refused(format!("{what}; {}", without_gradients()))
        })
    }

    /// The targets, for an attack that must have some.
    pub(super) fn some_targets<A: Choice>(&self) -> Result<&'a [(u32, u32)]> {
        match self.targets.is_empty() {
            true => Err(refused(format!(
                "{} needs labelled nodes to mislead, and there are none",
                A::NAME
            ))),
            false => Ok(self.targets),
        }
    }
}

impl fmt::Debug for Scene<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene")
            .field("graph", self.graph)
            .field("targets", &self.targets.len())
            .finish_non_exhaustive()
    }
}

/// An attacked graph and how it differs from the one before.
#[derive(Debug, Clone)]
pub struct Attacked {
    /// The graph.
    pub graph: Graph,
    /// What is new in it.
    pub change: Change,
    /// Its flips, in the order in which they were found where the attack found them one by one.
    pub flips: Vec<Flip>,
    /// How the features of the graph are scaled: as they are loaded, or as the model takes them
    /// whose input was attacked.
    pub features: FeatureScaling,
}

impl Attacked {
    /// Compares the graphs. O(nodes + edges + features). Fails where they have not the same nodes.
    pub fn new(original: &Graph, graph: Graph) -> Result<Self> {
        Self::in_order(original, graph, None)
    }

    /// With the order in which flips were found; else edges that are gone, then new ones.
    pub(super) fn in_order(
        original: &Graph,
        graph: Graph,
        order: Option<Vec<Flip>>,
    ) -> Result<Self> {
        let change = Change::between(original, &graph)?;
        let flips = order.unwrap_or_else(|| {
            let edges = change.removed.iter().chain(&change.added);
            edges
                .map(|&(u, v)| Flip {
                    part: Part::Edge(u, v),
                    target: None,
                })
                .collect()
        });
        Ok(Self {
            change,
            graph,
            flips,
            features: FeatureScaling::AsLoaded,
        })
    }
}

/// One flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flip {
    /// What was flipped.
    pub part: Part,
    /// The node that it is to mislead, of a targeted attack.
    pub target: Option<u32>,
}

/// What a flip changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// An edge between two nodes, that comes or goes.
    Edge(u32, u32),
    /// A feature of a node, by its column: from 0 to 1 or back.
    Feature(u32, u32),
}

/// What to do about a model without gradients.
pub(super) fn without_gradients() -> String {
    let plain: Vec<&str> = Attack::all()
        .filter(|a| !a.method().needs_gradients())
        .map(|a| a.listed().name)
        .collect();
    format!(
        "attack it through a surrogate, or without gradients: by {}",
        listed(&plain)
    )
}

pub(super) fn refused(what: impl Into<String>) -> Error {
    Error::Graph(gnarl_graph::Error::argument("attack", what))
}
