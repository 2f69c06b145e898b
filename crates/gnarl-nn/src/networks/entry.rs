//! The declaration of a network: [`Architecture`], which every file of a network implements on its
//! settings, and what its layers and body are built from.

use std::ops::Deref;

use gnarl_graph::named;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::Rng;
use gnarl_graph::sets::Set;

use super::body::Body;
use super::config::{NetworkConfig, NetworkSetting};
use super::layer::Layer;
use super::params::Params;
use gnarl_tensor::Result;

/// The operator that a backbone's paper uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsualOperator {
    /// A classical operator.
    Classical(ClassicalOperator),
    /// The pattern of A + I with value one: attention fills in the weights.
    SelfLoopPattern,
    /// `D^-1/2 A D^-1/2`, and the two-hop operator beside it.
    SymmetricNormalised,
}

impl UsualOperator {
    /// A
    pub(super) const ADJACENCY: Self = Self::Classical(ClassicalOperator::Adjacency);
    /// A_hat
    pub(super) const NORMALISED: Self = Self::Classical(ClassicalOperator::NormalisedAdjacency);
    /// H
    pub(super) const MEAN: Self = Self::Classical(ClassicalOperator::MeanAggregation);
}

/// What a network's first layer computes of constant features before its weights come in: with a
/// constant operator it can be computed once for all epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAggregation {
    /// Nothing that never changes.
    None,
    /// Operator · features.
    Operator,
    /// (Operator + identity) · features.
    OperatorWithSelf,
}

named! {
    /// A capability of a network, which other choices of a model may need.
    pub enum Capability as "capability" {
        /// Passes messages along edges.
        MessagePassing = "message passing",
        /// Uses the values of its operator, not only the pattern.
        EdgeWeights = "edge weights",
        /// Layer after layer, all of one kind.
        Stack = "a stack of layers",
        /// Room for an exit after every layer.
        Exits = "exits",
        /// Trained on sampled neighbourhoods, and computed one layer at a time.
        SampledTraining = "sampled training",
        /// Applies the operator as a whole, so that one without entries will do.
        OperatorFree = "operators without entries",
        /// Classifies the graphs of a set.
        GraphSets = "sets of graphs",
        /// All parameters are trained together.
        JointTraining = "joint training",
        /// A graph of a batch is trained independently of the others.
        IndependentGraphs = "independent graphs",
        /// Ends in an unconstrained linear map of each node's vector.
        Head = "a linear head",
        /// The last layer ends in a linear map, which the weights axis constrains.
        LastMap = "a last linear map",
        /// One linear map of propagated features.
        OneMap = "a single linear map",
        /// An operator to be learned makes a difference. Derived.
        LearnableOperator = "a learnable operator",
        /// Any weighted pairs may take the place of edges. Derived.
        AnyOperator = "weighted pairs as edges",
        /// A linear head can be trained again by itself. Derived.
        HeadTraining = "a head that can be trained again",
    }
}

/// The properties of a network that do not depend on its settings.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The operator of its paper.
    pub usual_operator: UsualOperator,
    /// The shared settings that change it.
    pub uses: &'static [NetworkSetting],
    /// Its capabilities.
    pub provides: Set<Capability>,
    /// The reason why a learned operator has nothing to learn, if so.
    pub fixed_operator: Option<&'static str>,
    /// The smallest number of layers.
    pub min_layers: usize,
    /// The product with constant features that its first layer begins with.
    pub first_aggregation: FirstAggregation,
}

impl Entry {
    /// A network on A_hat with at least one layer and the usual capabilities.
    pub fn new(uses: &'static [NetworkSetting]) -> Self {
        Self {
            usual_operator: UsualOperator::NORMALISED,
            uses,
            provides: Set::of(&[
                Capability::MessagePassing,
                Capability::EdgeWeights,
                Capability::GraphSets,
                Capability::JointTraining,
                Capability::IndependentGraphs,
            ]),
            fixed_operator: None,
            min_layers: 1,
            first_aggregation: FirstAggregation::None,
        }
    }

    /// Adds capabilities.
    #[must_use]
    pub fn with(self, more: &[Capability]) -> Self {
        Self {
            provides: self.provides.union(Set::of(more)),
            ..self
        }
    }

    /// Removes capabilities.
    #[must_use]
    pub fn without(self, less: &[Capability]) -> Self {
        Self {
            provides: self.provides.difference(Set::of(less)),
            ..self
        }
    }
}

/// A network, declared by its settings.
pub trait Architecture {
    /// The properties that do not depend on its settings.
    fn entry(&self) -> Entry;

    /// Builds the body and its parameters.
    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>>;

    /// The layers of a stack; `None` for other networks.
    fn layered(&self) -> Option<&dyn Layered> {
        None
    }

    /// Attention heads of hidden layers.
    fn heads(&self) -> usize {
        1
    }

    /// Batch normalisation, which couples the nodes of a batch.
    fn batch_norm(&self) -> bool {
        false
    }

    /// Propagation steps after the prediction, for networks that have them.
    fn propagation_steps(&self) -> Option<usize> {
        None
    }
}

/// A network that is a stack of layers of one kind.
pub trait Layered: Architecture {
    /// Builds one layer and its parameters.
    fn layer(
        &self,
        plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>>;

    /// A linear map stands before the first layer.
    fn is_embedded(&self) -> bool {
        false
    }
}

/// What a body is built from: the network's settings and the sizes of its data.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    #[doc(hidden)]
    pub network: &'a NetworkConfig,
    /// Input features.
    pub in_dim: usize,
    /// Classes, or the width of a representation.
    pub num_classes: usize,
    /// Mean of `ln(degree + 1)`, for PNA.
    pub mean_log_degree: f64,
}

impl Deref for Plan<'_> {
    type Target = NetworkConfig;

    fn deref(&self) -> &NetworkConfig {
        self.network
    }
}

/// Where a layer stands in a network.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Of its parameters.
    pub name: &'a str,
    /// Tells its random draws from those of other layers.
    pub site: u64,
    /// Width of its input.
    pub from: usize,
    /// Width of its output.
    pub to: usize,
    /// Whether it gives the class scores: attention then has one head.
    pub is_last: bool,
}
