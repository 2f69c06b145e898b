//! The interface of an attack: its requirements, properties, input and result.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use gnarl_graph::sets::Set;
use gnarl_graph::settings::{Choice, join_names};
use gnarl_graph::{Graph, Labels, named};

use super::Attack;
use crate::classifier::{AttackPath, Classifier, WhiteBox};
use crate::perturb::{Budget, Change, EdgeShare};
use gnarl_graph::{Error, Result};
use gnarl_nn::features::FeatureScaling;

named! {
    /// An input that an attack cannot do without.
    pub enum Requirement as "requirement" {
        /// Gradients of a model with respect to features or edges.
        Gradients = "gradients",
        /// Predictions of a model, without gradients.
        Predictions = "predictions",
        /// Classes of all nodes, which the graphs of a set do not have.
        Labels = "labels",
        /// Training nodes and their classes.
        TrainingNodes = "training-nodes",
        /// Features as they are loaded, before a model scales them. An attack needs them if it
        /// trains a surrogate of its own.
        LoadedFeatures = "loaded-features",
    }
}

named! {
    /// A property of an attack.
    pub enum Property as "property" {
        /// Flips are chosen one after the other, and the first of them are those of a smaller
        /// budget.
        Greedy = "greedy",
        /// Each target has flips of its own.
        Targeted = "targeted",
        /// Features are changed; the other attacks change edges alone.
        Features = "features",
        /// Candidates are compared by the model's predictions. The search takes everything between
        /// the network and its predictions into account, even where gradients do not pass.
        BlackBox = "black-box",
    }
}

/// The largest number of flips for each target, or for each step.
pub(super) const MAX_FLIPS: usize = 1 << 20;

/// An attack with its settings.
pub trait Method {
    /// Attacks a graph. [`Attack::run`] calls it with a budget above zero and measures the result.
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph>;

    /// Attacks a graph and returns the flips in the order in which they were found, if the attack
    /// finds them one after the other.
    fn attack_in_order(
        &self,
        input: &AttackInput<'_>,
        seed: u64,
    ) -> Result<(Graph, Option<Vec<Flip>>)> {
        Ok((self.attack(input, seed)?, None))
    }

    /// Returns the budget. Fails for an invalid number.
    fn budget(&self) -> gnarl_graph::Result<Budget>;

    /// Returns the unit of the budget's number.
    fn unit(&self) -> &'static str {
        "share of the edges, rounded down to whole flips"
    }

    /// Returns the inputs that the attack cannot do without.
    fn needs(&self) -> Set<Requirement> {
        Set::EMPTY
    }

    /// Returns the properties of the attack.
    fn properties(&self) -> Set<Property> {
        Set::EMPTY
    }

    /// Returns a lower bound on the number of model evaluations. Searches that would take too long
    /// are refused by it.
    fn passes(&self) -> f64 {
        1.0
    }

    /// Returns a lower bound on the memory of the search in bytes. Searches that would not fit are
    /// refused by it.
    fn bytes(&self, graph: &Graph) -> f64 {
        let _ = graph;
        0.0
    }
}

impl Attack {
    /// Returns true if the attack cannot do without an input.
    pub fn needs(&self, requirement: Requirement) -> bool {
        self.method().needs().contains(requirement)
    }

    /// Returns true if the attack has a property.
    pub fn has(&self, property: Property) -> bool {
        self.method().properties().contains(property)
    }

    /// Returns true if the attack compares candidates by the model's predictions.
    pub fn is_black_box(&self) -> bool {
        self.has(Property::BlackBox)
    }

    /// Returns true if the attack evaluates a model, with gradients or without.
    pub fn queries_model(&self) -> bool {
        self.needs(Requirement::Gradients) || self.needs(Requirement::Predictions)
    }

    /// Returns true if the attack uses classes: of its targets, to attack predictions, or of all
    /// nodes.
    pub fn uses_labels(&self) -> bool {
        self.queries_model() || self.needs(Requirement::Labels)
    }
}

/// Returns a budget of edges.
pub(super) fn edges(share: f64) -> gnarl_graph::Result<Budget> {
    EdgeShare::new(share).map(Budget::Edges)
}

/// The input of an attack: a graph and what the attacker knows.
#[derive(Clone, Copy)]
pub struct AttackInput<'a> {
    /// The graph to change, with features as a model takes them.
    pub graph: &'a Graph,
    /// The attacked model or a surrogate; `None` for an attack that evaluates no model.
    pub model: Option<&'a dyn Classifier>,
    /// The predictions to attack, by their row of the model's scores, and the classes that the
    /// attacker assumes for them: nodes, or row 0 of a graph classifier.
    pub targets: &'a [(u32, u32)],
    /// The classes that the attacker assumes for all nodes.
    pub labels: Option<&'a Labels>,
    /// The training nodes and their classes, for poisoning.
    pub training: &'a [(u32, u32)],
    /// A flag that ends the search with the best result so far.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> AttackInput<'a> {
    /// An attack on these predictions, with the labels of the graph and no model.
    #[must_use]
    pub fn new(graph: &'a Graph, targets: &'a [(u32, u32)]) -> Self {
        Self {
            graph,
            model: None,
            targets,
            labels: graph.labels(),
            training: &[],
            stop: None,
        }
    }

    /// Sets the attacked model or a surrogate.
    #[must_use]
    pub fn model(self, model: impl Into<Option<&'a dyn Classifier>>) -> Self {
        Self {
            model: model.into(),
            ..self
        }
    }

    /// Sets the classes that the attacker assumes for all nodes.
    #[must_use]
    pub fn labels(self, labels: impl Into<Option<&'a Labels>>) -> Self {
        Self {
            labels: labels.into(),
            ..self
        }
    }

    /// Sets the training nodes and their classes, for poisoning.
    #[must_use]
    pub fn training(self, training: &'a [(u32, u32)]) -> Self {
        Self { training, ..self }
    }

    /// Sets a flag that ends the search with the best result so far.
    #[must_use]
    pub fn stop(self, stop: impl Into<Option<&'a AtomicBool>>) -> Self {
        Self {
            stop: stop.into(),
            ..self
        }
    }

    /// Returns true if the search is to end.
    pub(super) fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Returns the network to take gradients through.
    pub(super) fn white_box<A: Choice>(&self) -> Result<&'a WhiteBox> {
        let found = self.model.and_then(|model| model.white_box());
        found.ok_or_else(|| {
            // Gradients end at a defence that uses features or replaces the operator.
            let what = format!(
                "{} needs gradients with respect to features, and this model has none",
                A::NAME
            );
            refused(format!("{what}; {}", without_gradients()))
        })
    }

    /// Returns the network and the defence before it, to take gradients through to edges.
    pub(super) fn see_through<A: Choice>(&self) -> Result<(&'a dyn Classifier, AttackPath<'a>)> {
        let found = self
            .model
            .and_then(|model| Some((model, model.see_through()?)));
        found.ok_or_else(|| {
            let what = format!("{} needs gradients, and this model has none", A::NAME);
            refused(format!("{what}; {}", without_gradients()))
        })
    }

    /// Returns the targets, for an attack that must have some.
    pub(super) fn some_targets<A: Choice>(&self) -> Result<&'a [(u32, u32)]> {
        if self.targets.is_empty() {
            Err(refused(format!(
                "{} needs labelled target nodes, and there are none",
                A::NAME
            )))
        } else {
            Ok(self.targets)
        }
    }
}

impl fmt::Debug for AttackInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttackInput")
            .field("graph", self.graph)
            .field("targets", &self.targets.len())
            .finish_non_exhaustive()
    }
}

/// An attacked graph and its difference from the clean graph.
#[derive(Debug, Clone)]
pub struct Attacked {
    /// The graph.
    pub graph: Graph,
    /// The difference from the clean graph.
    pub change: Change,
    /// The flips, in the order in which they were found if the attack is sequential.
    pub flips: Vec<Flip>,
    /// The scaling of the graph's features: as loaded, or as the attacked model takes them.
    pub features: FeatureScaling,
}

impl Attacked {
    /// Compares the graphs in O(nodes + edges + features). Fails if their nodes differ.
    pub fn new(original: &Graph, graph: Graph) -> Result<Self> {
        Self::in_order(original, graph, None)
    }

    /// Compares the graphs. Without an order, the flips are removed edges, then added edges.
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
    /// The flipped part.
    pub part: Part,
    /// The target, in a targeted attack.
    pub target: Option<u32>,
}

/// The part of a graph that a flip changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// An edge between two nodes, added or removed.
    Edge(u32, u32),
    /// A feature of a node, by its column: from 0 to 1 or back.
    Feature(u32, u32),
}

/// Returns advice for a model without gradients.
pub(super) fn without_gradients() -> String {
    let plain: Vec<&str> = Attack::all()
        .filter(|a| !a.needs(Requirement::Gradients))
        .map(|a| a.name())
        .collect();
    format!(
        "attack it through a surrogate, or without gradients by {}",
        join_names(&plain)
    )
}

pub(super) fn refused(what: impl Into<String>) -> Error {
    Error::unsupported("attack", what)
}
