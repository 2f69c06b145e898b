//! Whether neighbours that look clean do any good: answers on an input that was changed on purpose, with and without them, against
//! the answers on the clean one. No label is needed, so that every node has a say.

use gnarl_graph::{DenseMatrix, Graph};

use super::crf::{Crf, Neighbourhood};
use crate::classifier::Classifier;
use crate::error::Result;
use crate::train::argmax;

/// What neighbours did to the answers on a changed input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trial {
    /// Nodes that agree with the clean answer with neighbours and did not without.
    mended: usize,
    /// Nodes that agreed without neighbours and no longer do.
    broken: usize,
}

impl Trial {
    /// Answers on `changed` by these neighbours and without them, against the classes of the clean input.
    pub fn new(
        model: &dyn Classifier,
        neighbours: &dyn Neighbourhood,
        crf: &Crf,
        changed: &Graph,
        clean: &[usize],
    ) -> Result<Self> {
        let plain = Self::classes(&crf.output(model.scores(changed)?)?);
        let agreed = Self::classes(&crf.answer(model, neighbours, changed, 0)?);
        let mut trial = Self { mended: 0, broken: 0 };
        for ((plain, agreed), clean) in plain.iter().zip(&agreed).zip(clean) {
            trial.mended += usize::from(plain != clean && agreed == clean);
            trial.broken += usize::from(plain == clean && agreed != clean);
        }
        Ok(trial)
    }

    /// The class of every node.
    pub fn classes(answer: &DenseMatrix<f32>) -> Vec<usize> {
        (0..answer.num_rows()).map(|u| argmax(answer.row(u))).collect()
    }

    /// The standard error of a difference of counts.
    fn error(&self) -> f64 {
        ((self.mended + self.broken) as f64).sqrt()
    }

    /// More nodes were mended than broken, beyond chance.
    pub fn helps(&self) -> bool {
        self.mended as f64 > self.broken as f64 + self.error()
    }

    /// More nodes were broken than mended, beyond chance.
    pub fn harms(&self) -> bool {
        self.broken as f64 > self.mended as f64 + self.error()
    }
}
