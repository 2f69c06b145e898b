//! Classes that a model is trained or evaluated on, with the loss and the accuracy on them.

use std::sync::Arc;

use gnarl_graph::{Error, Labels, Result, Split};
use gnarl_tensor::{Tensor, class_weighted_cross_entropy, masked_cross_entropy};

/// Nodes or graphs of a split with their classes, as inputs of the loss.
#[derive(Debug, Clone)]
pub struct Targets {
    /// Indices of the nodes or graphs.
    pub items: Arc<Vec<u32>>,
    /// Their classes.
    pub classes: Arc<Vec<u32>>,
    /// Weight of each node or graph, by its class; all equal if there is none.
    pub weights: Option<Arc<Vec<f32>>>,
}

impl Targets {
    /// Selects the labelled ones among `items`.
    pub fn new(items: &[u32], labels: &Labels) -> Self {
        let labelled: Vec<(u32, u32)> = items
            .iter()
            .filter_map(|&i| labels.get(i).map(|c| (i, c)))
            .collect();
        Self {
            items: Arc::new(labelled.iter().map(|(i, _)| *i).collect()),
            classes: Arc::new(labelled.iter().map(|(_, c)| *c).collect()),
            weights: None,
        }
    }

    /// Adds class weights.
    pub fn weighing(self, weights: &Option<Arc<Vec<f32>>>) -> Self {
        Self {
            weights: weights.clone(),
            ..self
        }
    }

    fn weight(&self, class: u32) -> f64 {
        self.weights
            .as_ref()
            .and_then(|weights| weights.get(class as usize))
            .map_or(1.0, |weight| f64::from(*weight))
    }

    /// Returns the total weight: the number of nodes or graphs if there are no class weights.
    pub fn total_weight(&self) -> f64 {
        self.classes.iter().map(|&class| self.weight(class)).sum()
    }

    /// Computes the weighted mean cross-entropy.
    pub fn cross_entropy(&self, scores: &Tensor) -> gnarl_tensor::Result<Tensor> {
        match &self.weights {
            None => masked_cross_entropy(scores, &self.items, &self.classes),
            Some(weights) => {
                class_weighted_cross_entropy(scores, &self.items, &self.classes, weights)
            }
        }
    }

    /// Computes the weighted accuracy, per cent: the class of the largest score is compared with
    /// the label; of equal scores the first class counts.
    pub fn accuracy(&self, scores: &Tensor) -> Result<f64> {
        let (_, width) = scores.dims2()?;
        let scores = scores.flatten_all()?.to_vec1::<f32>()?;
        let correct = self
            .items
            .iter()
            .zip(self.classes.iter())
            .filter(|&(&i, &c)| {
                argmax(&scores[i as usize * width..(i as usize + 1) * width]) == c as usize
            });
        let correct: f64 = correct.map(|(_, &class)| self.weight(class)).sum();
        let total = self.total_weight();
        Ok(if total > 0.0 {
            100.0 * correct / total
        } else {
            0.0
        })
    }
}

/// Returns the labelled training and validation nodes of a split; a split without labelled training
/// nodes is refused.
pub(super) fn labelled_targets(split: &Split, labels: &Labels) -> Result<[Targets; 2]> {
    let [train_on, validate_on] =
        [split.train(), split.val()].map(|nodes| Targets::new(nodes, labels));
    if train_on.items.is_empty() {
        let what = format!("split {} has no labelled training nodes", split.name());
        return Err(Error::argument("training", what));
    }
    Ok([train_on, validate_on])
}

/// Returns the position of the largest value, the first of equal values.
pub fn argmax(scores: &[f32]) -> usize {
    scores
        .iter()
        .enumerate()
        .fold(0, |best, (i, s)| if *s > scores[best] { i } else { best })
}
