//! The inference axis: how an answer is read off a trained model (thesis ch. 6, "A Post-hoc Approach With Conditional Random
//! Fields").
//!
//! | file | what |
//! | --- | --- |
//! | [`crf`] | RobustCRF's update over a tree of neighbours; randomised smoothing is a special case of it |
//! | [`balls`] | the thesis' neighbours: uniform in a ball of features, or some flips of edges away |
//! | [`clean_features`], [`clean_edges`] | ours: neighbours that look like clean inputs |
//! | [`choice`] | settings, with the thesis' values for its datasets |
//! | [`external`] | a program in any language as a model, over a line protocol |
//! | [`size`] | how many neighbours a graph has at least (lemma `crf:lem:size_CRF`) |
//!
//! Everything works on a [`Classifier`], and a model with its inference is one again
//! ([`Defended`]), so that it can be attacked, measured and defended once more. To add a neighbourhood: one file, one entry in
//! [`Around`].

pub mod balls;
pub mod choice;
pub mod clean_edges;
pub mod clean_features;
pub mod crf;
pub mod external;
mod reduced;
pub mod size;

use std::fmt;

use gnarl_graph::{DenseMatrix, Graph};
use serde::Serialize;

pub use balls::{FeatureBall, StructureBall};
pub use choice::{Choice, Kind, Part};
pub use clean_edges::CleanEdges;
pub use clean_features::CleanFeatures;
pub use crf::{Crf, Neighbourhood, Output};
pub use external::External;
pub use size::log2_neighbours_at_least;

use crate::classifier::Classifier;
use crate::error::Result;

/// Where neighbours of an input come from.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Around {
    /// Uniform in a ball of features.
    Features(FeatureBall),
    /// Some flips of edges away.
    Structure(StructureBall),
    /// Ours: features as they would be without noise.
    CleanFeatures(#[serde(skip)] CleanFeatures),
    /// Ours: without the edges that do not look like the training graph's.
    CleanEdges(#[serde(skip)] CleanEdges),
}

impl Around {
    fn neighbourhood(&self) -> &dyn Neighbourhood {
        match self {
            Around::Features(ball) => ball,
            Around::Structure(ball) => ball,
            Around::CleanFeatures(prior) => prior,
            Around::CleanEdges(prior) => prior,
        }
    }
}

/// A model whose answers are read off by agreement over a neighbourhood of inputs. It has no gradient of its own: an attacker who
/// wants one looks into the model.
pub struct Defended<'a> {
    /// The model.
    pub model: &'a dyn Classifier,
    /// The update.
    pub crf: Crf,
    /// Where neighbours come from.
    pub around: &'a Around,
    /// Fixes every draw.
    pub seed: u64,
}

impl Defended<'_> {
    /// A distribution over the classes for every node.
    pub fn distributions(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        self.crf.check()?;
        if let Some(white) = self.model.white_box()
            && let Some(answer) = reduced::answer(&self.crf, white, self.around, graph, self.seed)?
        {
            return Ok(answer);
        }
        self.crf.answer(self.model, self.around.neighbourhood(), graph, self.seed)
    }
}

impl Classifier for Defended<'_> {
    fn num_classes(&self) -> usize {
        self.model.num_classes()
    }

    /// Logarithms of the distributions: their softmax is what was agreed on.
    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let agreed = self.distributions(graph)?;
        let logarithms = agreed.data().iter().map(|&p| p.max(f32::MIN_POSITIVE).ln()).collect();
        Ok(DenseMatrix::new(agreed.num_rows(), agreed.num_cols(), logarithms)?)
    }
}

impl fmt::Debug for Defended<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Defended").field("crf", &self.crf).field("around", self.around).finish_non_exhaustive()
    }
}
