//! Scores per class, and metrics that a large class does not dominate: balanced accuracy, F1 and
//! the area under the ROC curve. All follow scikit-learn.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::matrix::DenseMatrix;

const OP: &str = "class scores";

/// Classification scores over all classes and per class, as shares from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassScores {
    /// Number of evaluated nodes or graphs.
    pub support: usize,
    /// Mean recall of the classes that occur (scikit-learn's `balanced_accuracy_score`).
    pub balanced_accuracy: f64,
    /// Mean F1 of the classes that occur or are predicted (`f1_score` with `average="macro"`).
    pub macro_f1: f64,
    /// Mean area under the ROC curve of each class that occurs against the others (`roc_auc_score`
    /// with `multi_class="ovr"`; the standard area for two classes). `None` if all labels are of
    /// one class, or if no probabilities are known.
    pub roc_auc: Option<f64>,
    /// Confusion matrix: counts of each class (row) predicted as each class (column).
    pub confusion: Vec<Vec<u64>>,
    /// Scores of each class.
    pub classes: Vec<OneClass>,
}

/// Classification scores of one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OneClass {
    /// Number of nodes or graphs of the class.
    pub support: u64,
    /// Number of nodes or graphs predicted to be of the class.
    pub predicted: u64,
    /// Precision: share of predictions of the class that are correct; 0 without any.
    pub precision: f64,
    /// Recall: share of the class that was found; 0 for an empty class.
    pub recall: f64,
    /// F1 score: harmonic mean of precision and recall.
    pub f1: f64,
}

impl ClassScores {
    /// Computes scores from the true classes, the predictions, and the probabilities of all
    /// classes, in equal order. O(items log items) for each class.
    ///
    /// ```
    /// use gnarl_graph::{metrics::ClassScores, DenseMatrix};
    /// let probabilities = DenseMatrix::new(4, 2, vec![0.9f32, 0.1, 0.6, 0.4, 0.65, 0.35, 0.2, 0.8])?;
    /// let scores = ClassScores::new(&[0, 0, 1, 1], &[0, 0, 0, 1], Some(&probabilities), 2)?;
    /// assert_eq!((scores.balanced_accuracy, scores.roc_auc), (0.75, Some(0.75)));
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn new(
        truth: &[u32],
        predicted: &[u32],
        probabilities: Option<&DenseMatrix<f32>>,
        num_classes: usize,
    ) -> Result<Self> {
        if truth.len() != predicted.len()
            || probabilities.is_some_and(|p| p.num_rows() != truth.len())
        {
            return Err(Error::argument(
                OP,
                format!(
                    "{} classes for {} predictions",
                    truth.len(),
                    predicted.len()
                ),
            ));
        }
        let mut confusion = vec![vec![0u64; num_classes]; num_classes];
        for (&class, &answer) in truth.iter().zip(predicted) {
            let cell = confusion
                .get_mut(class as usize)
                .and_then(|row| row.get_mut(answer as usize));
            *cell.ok_or_else(|| {
                Error::argument(OP, format!("class {} of {num_classes}", class.max(answer)))
            })? += 1;
        }
        let roc_auc = probabilities
            .and_then(|probabilities| one_against_others(truth, probabilities, num_classes));
        Ok(Self {
            roc_auc,
            ..Self::of(confusion)
        })
    }

    /// Computes the scores that follow from a confusion matrix.
    fn of(confusion: Vec<Vec<u64>>) -> Self {
        let classes: Vec<OneClass> = (0..confusion.len())
            .map(|c| OneClass::of(&confusion, c))
            .collect();
        let mean = |of: fn(&OneClass) -> f64, counts: fn(&OneClass) -> bool| {
            let values: Vec<f64> = classes
                .iter()
                .filter(|class| counts(class))
                .map(of)
                .collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        Self {
            support: classes.iter().map(|class| class.support as usize).sum(),
            balanced_accuracy: mean(|class| class.recall, |class| class.support > 0),
            macro_f1: mean(
                |class| class.f1,
                |class| class.support + class.predicted > 0,
            ),
            roc_auc: None,
            confusion,
            classes,
        }
    }

    /// Pools several results, such as runs; the area under the curve cannot be pooled and is left
    /// out.
    pub fn pooled<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut confusion: Option<Vec<Vec<u64>>> = None;
        for scores in all {
            match &mut confusion {
                None => confusion = Some(scores.confusion.clone()),
                Some(sum) => {
                    let cells = sum
                        .iter_mut()
                        .flatten()
                        .zip(scores.confusion.iter().flatten());
                    cells.for_each(|(sum, count)| *sum += count);
                }
            }
        }
        confusion.map(Self::of)
    }
}

impl OneClass {
    fn of(confusion: &[Vec<u64>], class: usize) -> Self {
        let (support, correct) = (
            confusion[class].iter().sum::<u64>(),
            confusion[class][class],
        );
        let predicted = confusion.iter().map(|row| row[class]).sum::<u64>();
        let share = |of: u64| {
            if of == 0 {
                0.0
            } else {
                correct as f64 / of as f64
            }
        };
        // 2 P R / (P + R), without division by zero.
        let f1 = if support + predicted == 0 {
            0.0
        } else {
            2.0 * correct as f64 / (support + predicted) as f64
        };
        Self {
            support,
            predicted,
            precision: share(predicted),
            recall: share(support),
            f1,
        }
    }
}

/// Returns the mean area under the curve over the classes that occur, unless only one does.
fn one_against_others(
    truth: &[u32],
    probabilities: &DenseMatrix<f32>,
    num_classes: usize,
) -> Option<f64> {
    let areas = (0..num_classes.min(probabilities.num_cols())).filter_map(|class| {
        area(
            truth
                .iter()
                .enumerate()
                .map(|(i, &c)| (probabilities.row(i)[class], c as usize == class)),
        )
    });
    let areas: Vec<f64> = areas.collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

/// Returns the area under the ROC curve. It is the probability that a positive has a larger score
/// than a negative, with ties counting half (Mann and Whitney 1947). `None` without both positives
/// and negatives.
fn area(scored: impl Iterator<Item = (f32, bool)>) -> Option<f64> {
    let mut scored: Vec<(f32, bool)> = scored.collect();
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut of_class, mut others, mut won) = (0u64, 0u64, 0.0f64);
    for ties in scored.chunk_by(|a, b| a.0 == b.0) {
        let here = ties.iter().filter(|(_, is_of_class)| *is_of_class).count() as u64;
        let not = ties.len() as u64 - here;
        won += here as f64 * (others as f64 + not as f64 / 2.0);
        of_class += here;
        others += not;
    }
    (of_class > 0 && others > 0).then(|| won / (of_class as f64 * others as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Class 0: two of three found, two of three predictions correct. Class 1: one of two found,
    /// one of two correct. Class 2 is only predicted.
    #[test]
    fn five_nodes_by_hand() {
        let scores = ClassScores::new(&[0, 0, 0, 1, 1], &[0, 0, 2, 1, 0], None, 4).unwrap();
        assert_eq!(
            scores.confusion,
            [[2, 0, 1, 0], [1, 1, 0, 0], [0; 4], [0; 4]]
        );
        let [a, b, c, d] = scores.classes[..] else {
            panic!("four classes")
        };
        assert_eq!(
            (a.precision, a.recall, a.f1, a.support, a.predicted),
            (2.0 / 3.0, 2.0 / 3.0, 4.0 / 6.0, 3, 3)
        );
        assert_eq!((b.precision, b.recall, b.f1), (1.0, 0.5, 2.0 / 3.0));
        assert_eq!(
            (c.precision, c.recall, c.f1, c.predicted),
            (0.0, 0.0, 0.0, 1)
        );
        assert_eq!((d.support, d.predicted), (0, 0));
        assert_eq!(scores.balanced_accuracy, (2.0 / 3.0 + 0.5) / 2.0);
        assert_eq!(
            scores.macro_f1,
            (2.0 / 3.0 + 2.0 / 3.0 + 0.0) / 3.0,
            "class 3 is neither there nor predicted"
        );
        assert_eq!((scores.support, scores.roc_auc), (5, None));
    }

    #[test]
    fn areas_count_ties_by_half() {
        let auc = |scored: &[(f32, bool)]| area(scored.iter().copied());
        assert_eq!(
            auc(&[(0.1, false), (0.4, true), (0.35, false), (0.8, true)]),
            Some(1.0)
        );
        assert_eq!(
            auc(&[(0.1, false), (0.4, false), (0.35, true), (0.8, true)]),
            Some(0.75)
        );
        assert_eq!(auc(&[(0.5, false), (0.5, true)]), Some(0.5));
        assert_eq!((auc(&[(0.5, true)]), auc(&[])), (None, None));
    }

    #[test]
    fn runs_are_added_up_and_what_does_not_fit_is_refused() {
        let one = ClassScores::new(&[0, 1], &[0, 0], None, 2).unwrap();
        let other = ClassScores::new(&[1, 1], &[1, 1], None, 2).unwrap();
        let both = ClassScores::pooled([&one, &other]).unwrap();
        assert_eq!(
            both,
            ClassScores::new(&[0, 1, 1, 1], &[0, 0, 1, 1], None, 2).unwrap()
        );
        assert!(ClassScores::pooled([]).is_none());
        assert!(ClassScores::new(&[0], &[0, 1], None, 2).is_err());
        assert!(
            ClassScores::new(&[0], &[5], None, 2)
                .unwrap_err()
                .to_string()
                .contains("class 5 of 2")
        );
        let nothing = ClassScores::new(&[], &[], None, 2).unwrap();
        assert_eq!((nothing.balanced_accuracy, nothing.macro_f1), (0.0, 0.0));
    }
}
