//! Predictions of every exit for every node or graph, and the exits that a policy chooses.

use std::cmp::Reverse;

use gnarl_graph::DenseMatrix;

use crate::depth::fit;
use crate::train::{Targets, argmax};
use gnarl_graph::Result;
use gnarl_tensor::Tensor;

/// Predictions of every exit.
#[derive(Debug, Clone)]
pub struct ExitPredictions {
    pub(super) num_items: usize,
    pub(super) num_classes: usize,
    /// Log-probabilities `[items, classes]` of each exit.
    log_probabilities: Vec<Vec<f32>>,
    /// Predicted class of every node or graph, for each exit.
    classes: Vec<Vec<u32>>,
}

impl ExitPredictions {
    /// Computes the predictions from the scores of each exit, `[items, classes]`; at least one
    /// exit.
    pub fn new(scores: &[Tensor]) -> Result<Self> {
        let Some(first) = scores.first() else {
            return Err(gnarl_graph::Error::argument("policy", "there is no exit"));
        };
        let (num_items, num_classes) = first.dims2()?;
        let rows = scores
            .iter()
            .map(|s| Ok(s.flatten_all()?.to_vec1::<f32>()?))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self::from_rows(rows, num_items, num_classes))
    }

    pub(super) fn from_rows(
        mut exits: Vec<Vec<f32>>,
        num_items: usize,
        num_classes: usize,
    ) -> Self {
        let mut classes = Vec::with_capacity(exits.len());
        for exit in &mut exits {
            classes.push(
                exit.chunks_exact(num_classes.max(1))
                    .map(|row| argmax(row) as u32)
                    .collect(),
            );
            for row in exit.chunks_exact_mut(num_classes.max(1)) {
                let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let total = row.iter().map(|s| (s - top).exp()).sum::<f32>().ln();
                row.iter_mut().for_each(|s| *s -= top + total);
            }
        }
        Self {
            num_items,
            num_classes,
            log_probabilities: exits,
            classes,
        }
    }

    /// Returns the number of exits.
    pub fn num_exits(&self) -> usize {
        self.classes.len()
    }

    /// Returns the class that exit `exit` predicts for a node or graph.
    pub fn class(&self, exit: usize, item: usize) -> u32 {
        self.classes[exit][item]
    }

    /// Returns the probability that an exit gives to its own prediction, from 0 to 1.
    pub fn probability(&self, exit: usize, item: usize) -> f64 {
        self.confidence(exit, item, 1.0)
    }

    /// Returns the log-probabilities that an exit gives to the classes of a node or graph.
    pub(super) fn row(&self, exit: usize, item: usize) -> &[f32] {
        &self.log_probabilities[exit][item * self.num_classes..(item + 1) * self.num_classes]
    }

    /// Computes the accuracy of an exit on the targets, per cent.
    pub fn accuracy(&self, exit: usize, targets: &Targets) -> f64 {
        percent(targets, |item, class| self.classes[exit][item] == class)
    }

    /// Computes the accuracy of a policy's choice on the targets, per cent.
    pub fn policy_accuracy(&self, chosen: &Chosen, targets: &Targets) -> f64 {
        percent(targets, |item, class| chosen.class(self, item) == class)
    }

    /// Computes the oracle accuracy, per cent: the share of targets for which at least one exit is
    /// correct. It bounds every policy whose predictions are those of an exit.
    pub fn oracle_accuracy(&self, targets: &Targets) -> f64 {
        percent(targets, |item, class| {
            self.classes.iter().any(|exit| exit[item] == class)
        })
    }

    /// Returns true for each target that exit `exit` predicts correctly.
    pub(super) fn hits(&self, exit: usize, targets: &Targets) -> Vec<bool> {
        let pairs = targets.items.iter().zip(targets.classes.iter());
        pairs
            .map(|(&item, &class)| self.classes[exit][item as usize] == class)
            .collect()
    }

    /// Returns the exit with the best accuracy on the targets; ties go to the first.
    pub fn best_exit(&self, targets: &Targets) -> usize {
        let hits = |exit| self.hits(exit, targets).into_iter().filter(|h| *h).count();
        (0..self.num_exits())
            .max_by_key(|&exit| (hits(exit), Reverse(exit)))
            .unwrap_or(0)
    }

    /// Computes the largest probability of an exit's prediction, at an inverse temperature.
    pub(super) fn confidence(&self, exit: usize, item: usize, beta: f64) -> f64 {
        let row = self.row(exit, item);
        let top = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        1.0 / row
            .iter()
            .map(|s| (beta * (f64::from(*s) - top)).exp())
            .sum::<f64>()
    }

    /// Fits the inverse temperature of every exit to the targets.
    pub(super) fn calibrate(&self, targets: &Targets) -> Vec<f64> {
        let of_exit = |exit: usize| {
            let pairs = targets.items.iter().zip(targets.classes.iter());
            let rows: Vec<_> = pairs
                .map(|(&item, &c)| (self.row(exit, item as usize), c as usize))
                .collect();
            fit::inverse_temperature(&rows)
        };
        (0..self.num_exits()).map(of_exit).collect()
    }

    /// Returns the first exit whose predicted class has the largest score among the classes that
    /// exits predict. Ties go to the class predicted first.
    pub(super) fn first_exit_with(&self, scores: &[f64], item: usize) -> usize {
        let score = |exit: usize| scores[self.class(exit, item) as usize];
        (1..self.num_exits()).fold(0, |best, exit| {
            if score(exit) > score(best) {
                exit
            } else {
                best
            }
        })
    }
}

/// Computes the share of correct targets, given as node or graph and class, per cent.
fn percent(targets: &Targets, is_correct: impl Fn(usize, u32) -> bool) -> f64 {
    let pairs = targets.items.iter().zip(targets.classes.iter());
    let count = pairs
        .filter(|&(&item, &class)| is_correct(item as usize, class))
        .count();
    100.0 * count as f64 / targets.items.len().max(1) as f64
}

/// Choice of a policy: an exit for every node or graph. The exit's prediction is used unless the
/// policy has scores of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Exit of every node or graph.
    pub exits: Vec<usize>,
    /// Class scores `[items, classes]` of a policy that changes its exits' scores. Its predictions
    /// may differ from those of every exit, so the oracle does not bound it.
    pub scores: Option<Vec<f32>>,
}

impl Chosen {
    /// Returns a choice with the unchanged predictions of these exits.
    pub fn of_exits(exits: Vec<usize>) -> Self {
        Self {
            exits,
            scores: None,
        }
    }

    /// Returns the class of a node or graph.
    pub fn class(&self, predictions: &ExitPredictions, item: usize) -> u32 {
        let width = predictions.num_classes;
        match &self.scores {
            Some(scores) => argmax(&scores[item * width..(item + 1) * width]) as u32,
            None => predictions.class(self.exits[item], item),
        }
    }

    /// Returns class scores before the softmax, `[items, classes]`, from those of every exit.
    pub fn scores(&self, of_exits: &[Tensor]) -> Result<DenseMatrix<f32>> {
        let Some(first) = of_exits.first() else {
            return Err(gnarl_graph::Error::argument("policy", "there is no exit"));
        };
        let (items, classes) = first.dims2()?;
        let rows = match &self.scores {
            Some(scores) => scores.clone(),
            None => {
                let flat = of_exits.iter().map(|s| s.flatten_all()?.to_vec1::<f32>());
                let flat = flat.collect::<gnarl_tensor::Result<Vec<_>>>()?;
                let row = |(item, &exit): (usize, &usize)| {
                    flat[exit][item * classes..(item + 1) * classes].to_vec()
                };
                self.exits.iter().enumerate().flat_map(row).collect()
            }
        };
        DenseMatrix::new(items, classes, rows)
    }
}
