//! What there is to know about a backbone: the entry that its file gives to the list in
//! [`backbone`](super::backbone), and what its layers and bodies are built from.

use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::Rng;

use super::body::Body;
use super::layer::Layer;
use super::params::Params;
use crate::tensor::Result;

gnarl_graph::named! {
    /// A setting of a network that some backbones use and others do not.
    pub enum NetworkOption as "network option" {
        /// Width of hidden representations.
        Hidden = "hidden",
        /// Rounds of message passing.
        Layers = "layers",
        /// Dropout between layers.
        Dropout = "dropout",
        /// Dropout of the input features.
        InputDropout = "input-dropout",
        /// Attention heads of hidden layers.
        Heads = "heads",
        /// Dropout of attention coefficients.
        AttentionDropout = "attention-dropout",
        /// Batch normalisation inside GIN's perceptrons.
        BatchNorm = "batch-norm",
        /// Steps of APPNP's propagation.
        PropagationSteps = "propagation-steps",
        /// The share of APPNP's prediction kept at each step.
        Teleport = "teleport",
        /// Whether layers add an offset.
        Bias = "bias",
        /// Whether a stack of layers ends in a linear map.
        Head = "head",
        /// Whether the maps of the weights axis start orthonormal.
        OrthogonalStart = "orthogonal-start",
        /// Gaussian noise on hidden representations while training.
        Noise = "noise",
        /// A factor on scores.
        Gain = "gain",
        /// The number that a robust model's paper tunes.
        Level = "level",
    }
}

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

/// What a body is built for: its backbone's entry, the sizes around it, and the settings of the
/// network that bodies use.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub(crate) entry: &'static Entry,
    /// Input features.
    pub in_dim: usize,
    /// Classes, or the width of a representation.
    pub num_classes: usize,
    /// Mean of `ln(degree + 1)`, for PNA.
    pub mean_log_degree: f64,
    /// Width of hidden representations.
    pub hidden: usize,
    /// Rounds of message passing.
    pub layers: usize,
    /// Dropout between layers.
    pub dropout: f32,
    /// Attention heads of hidden layers.
    pub heads: usize,
    /// Dropout of attention coefficients.
    pub attention_dropout: f32,
    /// Batch normalisation inside GIN's perceptrons.
    pub batch_norm: bool,
    /// Steps of APPNP's propagation.
    pub propagation_steps: usize,
    /// The share of APPNP's prediction kept at each step.
    pub teleport: f64,
    /// Whether layers add an offset.
    pub bias: bool,
    /// Whether a stack of layers ends in a linear map.
    pub head: bool,
    /// Deviation of the noise on hidden representations of a stack.
    pub noise: f32,
    /// The number that a robust model's paper tunes.
    pub level: f64,
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

/// Builds a body and its parameters.
pub type BuildBody = fn(&Plan, &mut Params, &mut Rng) -> Result<Box<dyn Body>>;

/// Builds one layer and its parameters.
pub type BuildLayer = fn(&Plan, Place<'_>, &mut Params, &mut Rng) -> Result<Box<dyn Layer>>;

/// The number that a robust model's paper tunes: what it is usually, and what it may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The paper's.
    pub usual: f64,
    /// The least that means anything.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// One backbone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// What it is called, in lower case with hyphens.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The operator its paper uses.
    pub usual_operator: UsualOperator,
    /// Whether it passes messages at all.
    pub uses_operator: bool,
    /// Whether the operator's values matter to it, and not only which nodes it joins.
    pub uses_values: bool,
    /// Why there is nothing for a learned operator to learn, if so.
    pub fixed_operator: Option<&'static str>,
    pub build: BuildBody,
    /// Of a stack, layer after layer: how one is built.
    pub layer: Option<BuildLayer>,
    /// Of a stack: whether a linear map stands before the first layer.
    pub embedded: bool,
    /// The settings it uses.
    pub options: &'static [NetworkOption],
    /// The least number of layers it can have.
    pub min_layers: usize,
    /// Whether an exit can be put at every layer (thesis ch. 4).
    pub exits: bool,
    /// Whether training one graph of a batch depends on the others, batch normalisation apart.
    pub couples_graphs: bool,
    /// Whether it is one linear map of propagated features, so that scores are as small as those.
    pub one_map: bool,
    /// Whether it is made of learners that are trained one after the other (AdaGCN).
    pub has_learners: bool,
    /// Whether it always ends in a linear map of every node's own vector, which the weights axis
    /// leaves alone; a stack does where it is given a head.
    pub has_head: bool,
    /// Of a stack: whether its last layer ends in such a map, which the weights axis works on.
    pub last_map: bool,
    /// What its first layer computes of constant features.
    pub first_aggregation: FirstAggregation,
    /// Whether a layer makes sense of some of a node's neighbours in the place of all.
    pub sampled: bool,
    /// Of those that take [`NetworkOption::Level`]: its range.
    pub level: Option<Level>,
    /// Whether all it does with an operator is to apply it, so that one without entries will do.
    pub applies_alone: bool,
    /// Whether it compares all nodes with each other, so that graphs of a set cannot stand side by
    /// side.
    pub one_graph: bool,
}

impl Entry {
    /// A backbone on A_hat with at least one layer and nothing else out of the ordinary.
    pub(super) const fn new(
        name: &'static str,
        about: &'static str,
        build: BuildBody,
        options: &'static [NetworkOption],
    ) -> Self {
        Self {
            name,
            about,
            usual_operator: UsualOperator::NORMALISED,
            uses_operator: true,
            uses_values: true,
            fixed_operator: None,
            build,
            layer: None,
            embedded: false,
            options,
            min_layers: 1,
            exits: false,
            couples_graphs: false,
            one_map: false,
            has_learners: false,
            has_head: false,
            last_map: false,
            first_aggregation: FirstAggregation::None,
            sampled: false,
            level: None,
            applies_alone: false,
            one_graph: false,
        }
    }
}
