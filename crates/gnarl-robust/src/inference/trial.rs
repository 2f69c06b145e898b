//! Tests of neighbours that look clean: predictions on a perturbed input, with and without them,
//! are compared with the predictions on the clean input. No label is needed, so every node counts,
//! or every training graph of a set.

use gnarl_graph::{DenseMatrix, Graph};
use rayon::prelude::*;

use super::crf::{Crf, Neighbourhood};
use crate::classifier::Classifier;
use gnarl_graph::Result;
use gnarl_nn::train::argmax;

/// Effect of neighbours on the predictions for perturbed inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Trial {
    /// Number of predictions that agree with the clean ones with neighbours, but not without.
    corrected: usize,
    /// Number of predictions that agree without neighbours, but not with them.
    broken: usize,
}

impl Trial {
    /// Returns the largest of rising perturbation shares at which neighbours help, if they did no
    /// harm at the shares before it. `changed` makes the inputs of a share, or `None` if no further
    /// perturbation is possible.
    pub fn tested_limit(
        shares: &[f64],
        changed: impl Fn(f64) -> Result<Option<Vec<Graph>>>,
        trial: impl Fn(&[Graph]) -> Result<Self>,
    ) -> Result<f64> {
        let mut tested_limit = 0.0;
        for &share in shares {
            let Some(changed) = changed(share)? else {
                break;
            };
            let trial = trial(&changed)?;
            if trial.harms() {
                break;
            }
            if trial.helps() {
                tested_limit = share;
            }
        }
        Ok(tested_limit)
    }

    /// Compares predictions on `changed` inputs, with these neighbours and without them, with the
    /// classes of the clean inputs.
    pub fn new(
        model: &dyn Classifier,
        neighbours: &dyn Neighbourhood,
        crf: &Crf,
        changed: &[Graph],
        clean: &[Vec<usize>],
    ) -> Result<Self> {
        let one = |(changed, clean): (&Graph, &Vec<usize>)| -> Result<Self> {
            let plain = Self::classes(&crf.output(model.scores(changed)?)?);
            let agreed = Self::classes(&crf.predict(model, neighbours, changed, 0)?);
            let mut trial = Self::default();
            for ((plain, agreed), clean) in plain.iter().zip(&agreed).zip(clean) {
                trial.corrected += usize::from(plain != clean && agreed == clean);
                trial.broken += usize::from(plain == clean && agreed != clean);
            }
            Ok(trial)
        };
        let all = changed
            .par_iter()
            .zip(clean)
            .map(one)
            .collect::<Result<Vec<_>>>()?;
        let sum = |of: fn(&Self) -> usize| all.iter().map(of).sum();
        Ok(Self {
            corrected: sum(|t| t.corrected),
            broken: sum(|t| t.broken),
        })
    }

    /// Compares predictions before and after, on nodes with the class that each should have.
    pub fn of(before: &[usize], after: &[usize], reference: &[(u32, usize)]) -> Self {
        let mut trial = Self::default();
        for &(u, class) in reference {
            let (before, after) = (before[u as usize] == class, after[u as usize] == class);
            trial.corrected += usize::from(!before && after);
            trial.broken += usize::from(before && !after);
        }
        trial
    }

    /// Returns the classes that a model predicts for clean inputs.
    pub fn clean(model: &dyn Classifier, graphs: &[&Graph]) -> Result<Vec<Vec<usize>>> {
        let one = |graph: &&Graph| Ok(Self::classes(&Crf::new(1.0).output(model.scores(graph)?)?));
        graphs.par_iter().map(one).collect()
    }

    /// Returns the class of every row.
    fn classes(prediction: &DenseMatrix<f32>) -> Vec<usize> {
        (0..prediction.num_rows())
            .map(|u| argmax(prediction.row(u)))
            .collect()
    }

    /// Returns the standard error of a difference of counts.
    fn error(&self) -> f64 {
        ((self.corrected + self.broken) as f64).sqrt()
    }

    /// Returns true if more predictions were mended than broken, beyond chance.
    pub fn helps(&self) -> bool {
        self.corrected as f64 > self.broken as f64 + self.error()
    }

    /// Returns true if more predictions were broken than mended, beyond chance.
    pub fn harms(&self) -> bool {
        self.broken as f64 > self.corrected as f64 + self.error()
    }
}
