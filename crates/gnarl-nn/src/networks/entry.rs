//! Declaration of a network: every network implements [`Architecture`] on its settings; [`Plan`] is
//! the input of its builder.

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

/// Operator that a backbone's paper uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultOperator {
    /// A classical operator.
    Classical(ClassicalOperator),
    /// The pattern of A + I with value one: attention computes the weights.
    SelfLoopPattern,
    /// `D^-1/2 A D^-1/2`, and the two-hop operator in addition.
    SymmetricNormalised,
}

impl DefaultOperator {
    /// A
    pub(super) const ADJACENCY: Self = Self::Classical(ClassicalOperator::ADJACENCY);
    /// A_hat
    pub(super) const NORMALISED: Self = Self::Classical(ClassicalOperator::NORMALISED_ADJACENCY);
    /// H
    pub(super) const MEAN: Self = Self::Classical(ClassicalOperator::MEAN_AGGREGATION);
}

/// Product of a network's first layer with constant features, before its weights. With a constant
/// operator it is computed once for all epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAggregation {
    /// No constant product.
    None,
    /// Operator · features.
    Operator,
    /// (Operator + identity) · features.
    OperatorWithSelf,
}

named! {
    /// Capability of a network, which other choices of a model may need.
    pub enum Capability as "capability" {
        /// Passes messages along edges.
        MessagePassing = "message passing",
        /// Uses the values of its operator, not only the pattern.
        EdgeWeights = "edge weights",
        /// Consists of layers of one kind.
        Stack = "a stack of layers",
        /// Supports an exit after every layer.
        Exits = "exits",
        /// Supports training on sampled neighbourhoods and computation one layer at a time.
        SampledTraining = "sampled training",
        /// Applies the operator as a whole, so that it works with operators without entries.
        OperatorFree = "operators without entries",
        /// Classifies the graphs of a set.
        GraphSets = "sets of graphs",
        /// Trains all parameters together.
        JointTraining = "joint training",
        /// Trains each graph of a batch independently of the others.
        IndependentGraphs = "independent graphs",
        /// Ends in an unconstrained linear map of each node's vector.
        Head = "a linear head",
        /// Ends its last layer in a linear map, which the weights axis constrains.
        LastMap = "a last linear map",
        /// Is one linear map of propagated features.
        OneMap = "a single linear map",
        /// Depends on a learned operator. Derived.
        LearnableOperator = "a learnable operator",
        /// Accepts any weighted pairs in place of edges. Derived.
        AnyOperator = "weighted pairs as edges",
        /// Has a linear head that can be trained again separately. Derived.
        HeadTraining = "a head that can be trained again",
    }
}

/// Properties of a network that do not depend on its settings.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Operator of its paper.
    pub default_operator: DefaultOperator,
    /// Shared settings that change the network.
    pub uses: &'static [NetworkSetting],
    /// Capabilities of the network.
    pub provides: Set<Capability>,
    /// Reason why a learned operator has no effect, if so.
    pub fixed_operator: Option<&'static str>,
    /// Smallest number of layers.
    pub min_layers: usize,
    /// Product with constant features that its first layer begins with.
    pub first_aggregation: FirstAggregation,
}

impl Entry {
    /// Returns a network on A_hat with at least one layer and the default capabilities.
    pub fn new(uses: &'static [NetworkSetting]) -> Self {
        Self {
            default_operator: DefaultOperator::NORMALISED,
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

/// Network declared by its settings.
pub trait Architecture {
    /// Returns the properties that do not depend on its settings.
    fn entry(&self) -> Entry;

    /// Builds the body and its parameters.
    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>>;

    /// Returns the layers of a stack; `None` for other networks.
    fn layered(&self) -> Option<&dyn Layered> {
        None
    }

    /// Returns the number of attention heads of hidden layers.
    fn heads(&self) -> usize {
        1
    }

    /// Returns true if it uses batch normalisation, which couples the nodes of a batch.
    fn batch_norm(&self) -> bool {
        false
    }

    /// Returns the number of propagation steps after the perceptron, for networks that have them.
    fn propagation_steps(&self) -> Option<usize> {
        None
    }
}

/// Network that is a stack of layers of one kind.
pub trait Layered: Architecture {
    /// Builds one layer and its parameters.
    fn layer(
        &self,
        plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>>;

    /// Returns true if a linear map precedes the first layer.
    fn is_embedded(&self) -> bool {
        false
    }
}

/// Input of a body's builder: the network's settings and the sizes of its data.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    #[doc(hidden)]
    pub network: &'a NetworkConfig,
    /// Input features.
    pub in_dim: usize,
    /// Number of classes, or the width of a representation.
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

/// Position of a layer in a network.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Prefix of its parameters' names.
    pub name: &'a str,
    /// Random site, which separates its random samples from those of other layers.
    pub site: u64,
    /// Width of its input.
    pub from: usize,
    /// Width of its output.
    pub to: usize,
    /// True if the layer gives the class scores: attention then has one head.
    pub is_last: bool,
}
