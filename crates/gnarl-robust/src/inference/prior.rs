//! Priors of clean inputs: what an inference rule learns from the training data of its model.

use gnarl_graph::{Graph, Result};
use serde::{Deserialize, Serialize};

use super::crf::Neighbourhood;
use super::{CleanEdges, CleanFeatures, CleanGraphs, EdgeDetectors, PerturbationTarget};
use crate::classifier::Classifier;
use crate::perturb::Pair;

/// Interface of a prior: neighbours that look like clean inputs, used up to a tested limit.
pub trait CleanPrior: Neighbourhood {
    /// Returns the part of the input that its neighbours change.
    fn part(&self) -> PerturbationTarget;

    /// Refuses a prior that no training data can have, as from a corrupt file.
    fn check(&self) -> Result<()>;

    /// Returns the largest perturbation at which the prior helped on the training data: the
    /// standard deviation of noise, or the share of adversarial edges. Zero means that it never
    /// helped; `None` means untested.
    fn tested_limit(&self) -> Option<f64>;

    /// Returns true for each of these pairs that would be kept as an edge, if the prior drops edges
    /// before a prediction.
    fn keeps_edges(
        &self,
        _model: &dyn Classifier,
        _graph: &Graph,
        _pairs: &[Pair],
    ) -> Result<Option<Vec<bool>>> {
        Ok(None)
    }
}

/// A prior of clean inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prior {
    /// Distribution of clean features.
    Features(CleanFeatures),
    /// Agreement of predictions along clean edges.
    Edges(CleanEdges),
    /// Distribution of edges in the graphs of a set.
    Graphs(CleanGraphs),
    /// Detectors of adversarial edges.
    Detectors(EdgeDetectors),
}

impl Prior {
    /// Returns the prior as its trait object.
    pub fn method(&self) -> &dyn CleanPrior {
        match self {
            Prior::Features(prior) => prior,
            Prior::Edges(prior) => prior,
            Prior::Graphs(prior) => prior,
            Prior::Detectors(prior) => prior,
        }
    }
}
