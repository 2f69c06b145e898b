//! Attacks, defends and certifies graph neural networks.
//!
//! A [`Model`](model::Model) is a value with five independent choices; fitting it to data gives a
//! [`Fitted`](model::Fitted) model, and every attack, certificate and study takes a fitted model.
//! [`prelude`] has what most programs need.
//!
//! | choice | module | examples |
//! | --- | --- | --- |
//! | propagation operator | [`operator`] | normalised adjacency, operators learned from centralities |
//! | depth | [`depth`] | a fixed number of layers, an exit for each node |
//! | bound on the weights | [`weights`] | orthonormal weights, Parseval regularisation |
//! | inference rule | [`inference`] | RobustCRF, randomised smoothing, GOOD-AT |
//! | training data | [`augment`] | DropEdge, mixup, GRATIN |
//!
//! The crates below this one have more than is re-exported here: `gnarl-graph` (graphs without
//! tensors), `gnarl-data` (file formats, graphs on disk), `gnarl-tensor` (the engine), `gnarl-nn`
//! (layers, training) and `gnarl-robust` (attacks, certificates).

#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]
#![forbid(unsafe_code)]

pub mod augment;
pub mod model;
pub mod prelude;
pub mod study;

pub use gnarl_graph::{Error, Result};

/// Graphs, sets of graphs, and random graphs.
pub mod graph {
    pub use gnarl_graph::centrality::{Centrality, PageRankSettings};
    pub use gnarl_graph::operator::{ClassicalOperator, centrality_operator};
    pub use gnarl_graph::{
        BuildReport, CsrMatrix, DenseMatrix, Features, Graph, GraphSet, Labels, Split,
    };

    /// Random graphs and simple shapes.
    pub mod generate {
        pub use gnarl_graph::generate::{
            CsbmConfig, SbmConfig, barabasi_albert, configuration_model, csbm, erdos_renyi, gnm,
            sbm,
        };
        pub use gnarl_graph::generate::{complete, cycle, grid, path, star};
    }

    /// Accuracy, agreement of partitions, and differences over runs.
    #[doc(hidden)]
    pub mod metrics {
        pub use gnarl_graph::metrics::{
            ClassScores, MeanStd, PairedDifference, accuracy, adjusted_mutual_information,
            adjusted_rand_index, attack_success_rate, confusion_matrix, mean_std, modularity,
            paired_difference,
        };
    }
}

/// Datasets: by name, from files, and from graphs in memory.
pub mod data {
    pub use gnarl_data::{
        Benchmark, Content, Dataset, Part, Source, Sources, SplitData, Task, data_dir, load,
    };
}

/// Tensors with gradients and sparse operators.
pub mod tensor {
    pub use gnarl_tensor::{
        Adam, AdamSettings, DType, Device, GradStore, MemoryUse, Operator, Pattern, Shape, Tensor,
        Var, load_safetensors, masked_cross_entropy, memory_use, soft_cross_entropy, start_threads,
        thread_pool,
    };
}

/// Networks and layers.
pub mod nn {
    pub use gnarl_nn::networks::backbone::settings::*;
    pub use gnarl_nn::networks::{
        Backbone, Capability, Gain, GraphClassifier, Head, Input, Layer, Linear, Network,
        NetworkConfig, NetworkOptions, NetworkSetting, Param, ParamId, Params, Pass, Propagation,
        Readout, Shape, Weights,
    };
}

/// Choice 1: the message-passing operator.
pub mod operator {
    pub use gnarl_nn::operator::{
        Centralities, Cgso, CgsoOperator, DepthEnergy, Initialisation, OperatorChoice, Prepared,
        Scalars, energy_by_depth, propagation,
    };
}

/// Choice 2: the depth of each node.
pub mod depth {
    pub use gnarl_nn::depth::{
        Chosen, Depth, ExitPredictions, Exits, Kind, Policy, Scheme, Structure,
    };
}

/// Choice 3: a bound on the Lipschitz constant of each layer.
pub mod weights {
    pub use gnarl_nn::weights::{Orthonormal, Parseval, Scaling, WeightsChoice, orthonormal};
}

/// Scaling of node features.
#[doc(hidden)]
pub mod features {
    pub use gnarl_nn::features::{FeatureKind, FeatureScaling, Scaler, one_hot_degrees};
}

/// Training of networks.
pub mod train {
    pub use gnarl_nn::train::{
        Callbacks, ClassWeights, Epoch, Keep, Problem, Sampling, Targets, TrainConfig, Trained,
        TrainingOptions, argmax, train,
    };
}

/// Choice 4: the inference rule.
pub mod inference {
    pub use gnarl_robust::inference::{
        CleanCrf, CleanEdges, CleanFeatures, CleanGraphs, Crf, EdgeDetectors, External,
        FeatureBall, FittedInference, GoodAt, Inference, Neighbourhood, PerturbationTarget, Plain,
        RobustCrf, Smoothing, StructureBall,
    };
}

/// Trained models as functions from a graph to class scores.
pub mod classifier {
    pub use gnarl_robust::classifier::{Classifier, EarlyExit, FromFn, GraphEarlyExit, WhiteBox};
}

/// Perturbations: norms, balls, flips and budgets.
pub mod perturb {
    pub use gnarl_robust::perturb::{
        Ball, Budget, Change, EdgeShare, FeatureBudget, FeatureChange, FlipBall, FlipLaw, Noise,
        Norm, Radii, Sampler, Scope, flipped,
    };
}

/// Preprocessing defences.
pub mod defense {
    pub use gnarl_robust::defense::{Defense, Gdc, Jaccard, Nothing, Preprocess, Svd};
}

/// Attacks on features and edges within a budget.
pub mod attack {
    pub use gnarl_robust::attack::combined::Combined;
    pub use gnarl_robust::attack::dice::Dice;
    pub use gnarl_robust::attack::gaussian::Gaussian;
    pub use gnarl_robust::attack::genetic::Genetic;
    pub use gnarl_robust::attack::grbcd::Grbcd;
    pub use gnarl_robust::attack::mettack::Mettack;
    pub use gnarl_robust::attack::nettack::Nettack;
    pub use gnarl_robust::attack::pgd_features::PgdFeatures;
    pub use gnarl_robust::attack::pgd_structure::PgdStructure;
    pub use gnarl_robust::attack::prbcd::Prbcd;
    pub use gnarl_robust::attack::prbcd_local::PrbcdLocal;
    pub use gnarl_robust::attack::random_add::RandomAdd;
    pub use gnarl_robust::attack::random_flips::RandomFlips;
    pub use gnarl_robust::attack::random_remove::RandomRemove;
    pub use gnarl_robust::attack::{
        Attack, AttackInput, Attacked, Flip, Loss, Method, Part, Property, Requirement,
    };
}

/// Sensitivity of predictions: estimates, upper bounds and certificates.
pub mod robustness {
    pub use gnarl_robust::robustness::{
        Bound, Bounds, Budget, Estimate, Exceedance, Region, RegionOptions, ScoreDistances,
        Settings, Target, estimate, estimate_over,
    };

    /// Certificates for single predictions.
    pub mod certify {
        pub use gnarl_robust::robustness::certify::{
            BinaryGcn, Certainty, FeatureFlips, FlipNoise, Flips, LipschitzMargins, Noise,
            Propagated, Regions, Smoothed, Steps, Threat, Votes,
        };
    }
}

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
