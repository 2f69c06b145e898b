//! Items that most programs need: `use gnarl::prelude::*;`

pub use crate::augment::{
    Augment, DropEdge, DropNode, FeatureMask, Gratin, ManifoldMixup, Retrain,
};
pub use crate::model::{Fitted, Model, Predictions};
pub use gnarl_data::{Content, Dataset, Part, SplitData};
pub use gnarl_graph::centrality::Centrality;
pub use gnarl_graph::operator::ClassicalOperator;
pub use gnarl_graph::{Error, Result};
pub use gnarl_graph::{Features, Graph, GraphSet, Labels, Split};
pub use gnarl_nn::depth::{Depth, Exits};
pub use gnarl_nn::features::FeatureScaling;
pub use gnarl_nn::networks::Backbone;
pub use gnarl_nn::operator::{Cgso, OperatorChoice};
pub use gnarl_nn::weights::{Orthonormal, Parseval, WeightsChoice};
pub use gnarl_robust::defense::{Defense, Jaccard};
pub use gnarl_robust::inference::{CleanCrf, GoodAt, Inference, RobustCrf, Smoothing};
