//! Items that most programs need: `use gnarl::prelude::*;`

pub use crate::augment::{
    Augment, DropEdge, DropNode, FeatureMask, Gratin, ManifoldMixup, Retrain,
};
pub use crate::defense::{Defense, Jaccard};
pub use crate::depth::{Depth, Exits};
pub use crate::error::{Error, Result};
pub use crate::features::FeatureScaling;
pub use crate::inference::{CleanCrf, GoodAt, Inference, RobustCrf, Smoothing};
pub use crate::model::{Fitted, Model, Predictions};
pub use crate::nn::Backbone;
pub use crate::operator::{Cgso, OperatorChoice};
pub use crate::weights::{Orthonormal, Parseval, WeightsChoice};
pub use gnarl_graph::centrality::Centrality;
pub use gnarl_graph::operator::ClassicalOperator;
pub use gnarl_graph::{
    Content, Dataset, Features, Graph, GraphSet, Labels, Part, Split, SplitData,
};
