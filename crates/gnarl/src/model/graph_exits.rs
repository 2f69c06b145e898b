//! Predictions of exits for the graphs of a set.

use gnarl_graph::{DenseMatrix, Graph, Result};

use super::batches::{head_scores_on, softmax_rows};
use super::graph_data::GraphData;
use gnarl_nn::depth::{ExitPredictions, Structure};
use gnarl_robust::classifier::GraphEarlyExit;

/// Returns the predictions of every exit for every prepared graph.
pub(super) fn exit_predictions(
    early: &GraphEarlyExit,
    data: &GraphData,
) -> Result<ExitPredictions> {
    ExitPredictions::new(&head_scores_on(early.exits(), data)?)
}

/// Returns the class distributions of all graphs, given raw and prepared, and the exit of each
/// graph.
pub(super) fn probabilities(
    early: &GraphEarlyExit,
    graphs: &[Graph],
    data: &GraphData,
) -> Result<(DenseMatrix<f32>, Vec<usize>)> {
    let scores = head_scores_on(early.exits(), data)?;
    let structure = Structure::of_graphs(graphs, &early.policy().kinds())?;
    let chosen = early
        .policy()
        .choose(&structure, &ExitPredictions::new(&scores)?)?;
    let found = chosen.scores(&scores)?;
    Ok((
        softmax_rows(found.num_rows(), found.num_cols(), found.data().to_vec())?,
        chosen.exits,
    ))
}
