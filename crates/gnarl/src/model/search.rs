//! Selection on validation data: settings that a model leaves open are candidates of one search.
//!
//! Feature scaling, the initialisation of a learned operator and the output head are selected this
//! way, one setting after the other. Every candidate is reported as a [`Trial`]. Test data is not
//! used.

use serde::Serialize;

use super::report::refused;
use gnarl_graph::Error as GraphError;
use gnarl_graph::{Error, Result};
use gnarl_nn::train::Callbacks;

/// One candidate of a setting, and its validation accuracy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// The setting: `features`, `init` or `head`.
    pub setting: &'static str,
    /// The candidate value.
    pub value: String,
    /// Validation accuracy in per cent; none if training failed.
    pub val_accuracy: Option<f64>,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// `true` for the value that was kept.
    pub selected: bool,
}

/// The rule that decides between candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// The best validation accuracy, the first of equals. Needs validation data.
    Best,
    /// The first candidate, unless another is better by more than this number of standard errors of
    /// an accuracy. Without validation data, the first.
    Margin(f64),
}

/// The result of a search over one setting.
#[derive(Debug)]
#[non_exhaustive]
pub struct Selected<T> {
    /// The position of the candidate that was kept.
    pub candidate: usize,
    /// The result of fitting it.
    pub fitted: T,
    /// Every candidate that was tried; empty if there was only one.
    pub trials: Vec<Trial>,
}

/// A search over one setting.
#[derive(Debug)]
pub struct Search<'a> {
    /// The setting.
    pub setting: &'static str,
    /// The candidates by name.
    pub values: &'a [String],
    /// The rule that decides.
    pub rule: Rule,
    /// The number of validation nodes or graphs.
    pub items: usize,
}

impl Search<'_> {
    /// Fits candidates in their order and keeps one. A candidate whose training diverges counts as
    /// the worst; a first candidate under [`Rule::Margin`] must not diverge.
    pub fn run<T>(
        &self,
        watch: &Callbacks<'_>,
        mut fit: impl FnMut(usize) -> Result<T>,
        accuracy: impl Fn(&T) -> Option<f64>,
    ) -> Result<Selected<T>> {
        let takes_first = self.rule != Rule::Best && self.items == 0;
        let count = if takes_first { 1 } else { self.values.len() };
        let mut trials = Vec::with_capacity(count);
        let mut best: Option<(usize, T)> = None;
        let mut failure = None;
        for candidate in 0..count {
            if best.is_some() && watch.stopped() {
                break;
            }
            match fit(candidate) {
                Ok(fitted) => {
                    let now = accuracy(&fitted);
                    self.check_evaluated(now)?;
                    trials.push(self.trial(candidate, now, None));
                    let so_far = best.as_ref().map(|(_, fitted)| accuracy(fitted));
                    if so_far.is_none_or(|so_far| self.is_better(now, so_far)) {
                        best = Some((candidate, fitted));
                    }
                }
                Err(diverged @ Error::Diverged { .. }) if self.may_fail(candidate) => {
                    trials.push(self.trial(candidate, None, Some(diverged.to_string())));
                    failure = Some(diverged);
                }
                Err(other) => return Err(other),
            }
        }
        let Some((candidate, fitted)) = best else {
            return Err(failure.unwrap_or_else(|| refused("there is no candidate to try")));
        };
        if trials.len() < 2 {
            trials.clear();
        }
        for trial in &mut trials {
            trial.selected = trial.value == self.values[candidate];
        }
        Ok(Selected {
            candidate,
            fitted,
            trials,
        })
    }

    fn trial(&self, candidate: usize, val_accuracy: Option<f64>, failure: Option<String>) -> Trial {
        Trial {
            setting: self.setting,
            value: self.values[candidate].clone(),
            val_accuracy,
            failure,
            selected: false,
        }
    }

    /// Returns true if a candidate may fail. A single candidate may not, and neither may the
    /// candidate that others are compared with.
    fn may_fail(&self, candidate: usize) -> bool {
        self.values.len() > 1 && (self.rule == Rule::Best || candidate > 0)
    }

    fn check_evaluated(&self, accuracy: Option<f64>) -> Result<()> {
        if self.rule != Rule::Best || self.values.len() < 2 || accuracy.is_some() {
            return Ok(());
        }
        let setting = self.setting;
        let what = "auto needs validation nodes or graphs, and there are none";
        Err(GraphError::missing(setting, what, "name a value"))
    }

    fn is_better(&self, new: Option<f64>, old: Option<f64>) -> bool {
        let (Some(new), Some(old)) = (new, old) else {
            return false;
        };
        match self.rule {
            Rule::Best => new > old,
            Rule::Margin(errors) => {
                let share = old / 100.0;
                let error = 100.0 * (share * (1.0 - share) / self.items as f64).sqrt();
                new > old + errors * error
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("v{i}")).collect()
    }

    fn run(rule: Rule, items: usize, found: &[Option<f64>]) -> Result<Selected<Option<f64>>> {
        let search = Search {
            setting: "head",
            values: &names(found.len()),
            rule,
            items,
        };
        search.run(&Callbacks::quiet(), |i| Ok(found[i]), |accuracy| *accuracy)
    }

    #[test]
    fn the_best_is_kept_and_the_first_of_equals() {
        let selected = run(Rule::Best, 10, &[Some(50.0), Some(70.0), Some(70.0)]).unwrap();
        assert_eq!(selected.candidate, 1);
        let flags: Vec<bool> = selected.trials.iter().map(|t| t.selected).collect();
        assert_eq!(flags, [false, true, false]);
        assert!(run(Rule::Best, 0, &[None, None]).is_err());
        assert!(run(Rule::Best, 0, &[None]).unwrap().trials.is_empty());
    }

    #[test]
    fn the_first_is_kept_within_the_margin() {
        // Five points are one standard error of 50 % of 100 nodes.
        for (second, expected) in [(54.0, 0), (56.0, 1)] {
            let selected = run(Rule::Margin(1.0), 100, &[Some(50.0), Some(second)]).unwrap();
            assert_eq!(selected.candidate, expected);
            assert_eq!(selected.trials.len(), 2);
        }
        let alone = run(Rule::Margin(1.0), 0, &[Some(50.0), Some(99.0)]).unwrap();
        assert_eq!((alone.candidate, alone.trials.len()), (0, 0));
    }

    #[test]
    fn a_candidate_that_diverges_is_the_worst() {
        let diverged = || Error::Diverged {
            epoch: 3,
            loss: f32::NAN,
            operation: None,
            last_good: 2,
            learning_rate: 0.01,
        };
        let search = |rule| Search {
            setting: "init",
            values: &NAMES,
            rule,
            items: 10,
        };
        static NAMES: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| names(2));
        let fails = |at: usize| move |i: usize| if i == at { Err(diverged()) } else { Ok(40.0) };
        let first = search(Rule::Best)
            .run(&Callbacks::quiet(), fails(0), |x| Some(*x))
            .unwrap();
        assert_eq!(first.candidate, 1);
        assert!(first.trials[0].failure.is_some());
        let margin = search(Rule::Margin(1.0));
        assert!(
            margin
                .run(&Callbacks::quiet(), fails(0), |x| Some(*x))
                .is_err()
        );
        let second = margin
            .run(&Callbacks::quiet(), fails(1), |x| Some(*x))
            .unwrap();
        assert_eq!(second.candidate, 0);
    }
}
