//! The result of a cell, with all its figures.

use gnarl_graph::centrality::Centrality;
use serde::{Deserialize, Serialize};

use super::measure::{Measure, PredictionRule};
use super::work::MAX_DEPTH;
use gnarl::augment::Copies;
use gnarl::study::attack::AttackRun;
use gnarl::study::train::{ExitRun, Run, TrainResult};
use gnarl_nn::depth::Kind;
use gnarl_nn::operator::{Centralities, OperatorChoice};

/// The result of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The figure of each run, in order; one value for a property.
    pub values: Vec<f64>,
    /// The split of each run.
    pub splits: Vec<String>,
    /// Validation accuracy by epoch, of the first run.
    pub curve: Vec<f64>,
    /// Seconds of the cell.
    pub seconds: f64,
    /// The values of a learnable operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Box<LearnedOperator>>,
    /// Further figures of the same runs, by name: another choice of depth, a part of the test
    /// nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, Vec<f64>)>,
    /// The accuracies of the exits, for a network with an exit at every layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Box<ByDepth>>,
    /// The result of an attack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacked: Option<Box<ByAttack>>,
    /// Times of graph classification, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Box<Times>>,
}

impl Measured {
    /// Returns true if there are figures, and the same number for each split.
    pub(super) fn is_whole(&self) -> bool {
        let (figures, splits) = (self.values.len(), self.splits.len());
        figures > 0 && (splits == 0 || figures.is_multiple_of(splits))
    }

    /// The result with the figures of one measure, if there are several.
    pub fn through(mut self, measure: Option<Measure>) -> Self {
        let Some(measure) = measure else { return self };
        // Stored short results are those of the measure already.
        let named = |list: &[(String, Vec<f64>)], name: &str| {
            list.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
        };
        let found = match (measure, &self.operator) {
            (Measure::Scalar(scalar), Some(operator)) => named(&operator.scalars, scalar.name()),
            (Measure::Agreement(agreement), _) => named(&self.parts, agreement.name()),
            _ => None,
        };
        if let Some(values) = found {
            (self.values, self.parts) = (values, Vec::new());
        }
        if let Some(depth) = &self.depth {
            self.values = depth.of(measure);
        }
        if let Some(attacked) = &self.attacked {
            (self.values, self.parts) = (attacked.of(measure), attacked.parts(measure));
        }
        if let Some((times, values)) = self
            .times
            .as_ref()
            .and_then(|times| Some((times, times.of(measure)?)))
        {
            (self.parts, self.values) = (times.parts(measure), values);
        }
        self
    }
}

/// The policies that every cell of adaptive depth evaluates: the thesis' four, the two best of
/// gnarl's, and their control.
pub const POLICIES: [Kind; Centrality::ALL.len() + 3] = {
    let mut all = [Kind::Offsets; Centrality::ALL.len() + 3];
    let mut i = 0;
    while i < Centrality::ALL.len() {
        all[i] = Kind::Buckets(Centralities::one(Centrality::ALL[i]));
        i += 1;
    }
    (all[i + 1], all[i + 2]) = (Kind::Pool, Kind::Echo);
    all
};

/// Test accuracies of a network with exits, each a list over runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByDepth {
    /// Accuracy of every exit.
    pub exits: Vec<Vec<f64>>,
    /// Accuracy of the layer with the best validation accuracy.
    pub single_layer: Vec<f64>,
    /// Accuracies of the [`POLICIES`], by their names.
    pub policies: Vec<(String, Vec<f64>)>,
    /// Oracle accuracy: any exit is correct.
    pub oracle: Vec<f64>,
}

impl ByDepth {
    pub(super) fn new(runs: &[&ExitRun]) -> Self {
        let over =
            |f: &dyn Fn(&ExitRun) -> f64| runs.iter().map(|run| f(run)).collect::<Vec<f64>>();
        Self {
            exits: (0..=MAX_DEPTH)
                .map(|l| over(&|run| run.exit_accuracy[l]))
                .collect(),
            single_layer: over(&|run| run.single_layer_accuracy()),
            policies: (POLICIES.iter().enumerate())
                .map(|(i, kind)| (kind.to_string(), over(&|run| run.policy_accuracy[i])))
                .collect(),
            oracle: over(&|run| run.oracle_accuracy),
        }
    }

    fn of(&self, measure: Measure) -> Vec<f64> {
        let total = |values: &&Vec<f64>| values.iter().sum::<f64>();
        let found = match measure {
            Measure::Exit(l) => self.exits.get(l),
            Measure::BestExit => self
                .exits
                .iter()
                .max_by(|a, b| total(a).total_cmp(&total(b))),
            Measure::SingleLayer => Some(&self.single_layer),
            Measure::Policy(kind) => {
                let name = kind.to_string();
                self.policies
                    .iter()
                    .find(|(other, _)| *other == name)
                    .map(|(_, accuracy)| accuracy)
            }
            Measure::Oracle => Some(&self.oracle),
            Measure::Clean(_) | Measure::Attacked(_) | Measure::TestAccuracy => None,
            Measure::AugmentationSeconds
            | Measure::TrainingSeconds
            | Measure::Scalar(_)
            | Measure::Agreement(_) => None,
        };
        found.cloned().unwrap_or_default()
    }
}

/// A learnable operator, after the runs of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedOperator {
    /// Initialisation of the scalars in each run, chosen on its validation nodes if the table
    /// leaves it open.
    pub inits: Vec<String>,
    /// Each scalar with its value in every run.
    pub scalars: Vec<(String, Vec<f64>)>,
}

impl LearnedOperator {
    pub(super) fn of(operator: OperatorChoice, runs: &[Run]) -> Option<Self> {
        let OperatorChoice::Cgso(config) = operator else {
            return None;
        };
        let first = &runs.first()?.fit.operator;
        let of_runs = |i: usize| runs.iter().map(|run| run.fit.operator[i].1).collect();
        let scalars = first
            .iter()
            .enumerate()
            .map(|(i, (name, _))| (name.clone(), of_runs(i)))
            .collect();
        let inits = runs
            .iter()
            .map(|run| run.init.clone().unwrap_or_else(|| config.init.to_string()))
            .collect();
        Some(Self { inits, scalars })
    }
}

/// The result of an attack, each a list over runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByAttack {
    /// Test accuracy before the attack.
    pub clean: Vec<f64>,
    /// Test accuracy after the attack.
    pub attacked: Vec<f64>,
    /// Test accuracy before the attack with the cell's inference rule; empty if it has none.
    pub defended_clean: Vec<f64>,
    /// Test accuracy after the attack with the cell's inference rule.
    pub defended_attacked: Vec<f64>,
    /// Median milliseconds of a training step.
    pub epoch_ms: Vec<f64>,
    /// Median training step times the steps, in seconds.
    pub training_seconds: Vec<f64>,
}

impl ByAttack {
    pub(super) fn new(runs: &[AttackRun], epochs: usize) -> Self {
        let over = |f: &dyn Fn(&AttackRun) -> f64| runs.iter().map(f).collect::<Vec<f64>>();
        let defended = || runs.iter().filter_map(|run| run.defended);
        Self {
            clean: over(&|run| run.clean_accuracy),
            attacked: over(&|run| run.attacked_accuracy),
            defended_clean: defended().map(|run| run.clean_accuracy).collect(),
            defended_attacked: defended().map(|run| run.attacked_accuracy).collect(),
            epoch_ms: over(&|run| run.epoch_ms),
            training_seconds: over(&|run| run.epoch_ms * epochs as f64 / 1000.0),
        }
    }

    /// The figures of a measure; empty for a measure that is not of attacks.
    pub(super) fn of(&self, measure: Measure) -> Vec<f64> {
        match measure {
            Measure::Clean(PredictionRule::Bare) => self.clean.clone(),
            Measure::Clean(PredictionRule::Defended) => self.defended_clean.clone(),
            Measure::Attacked(PredictionRule::Bare) => self.attacked.clone(),
            Measure::Attacked(PredictionRule::Defended) => self.defended_attacked.clone(),
            Measure::TrainingSeconds => self.training_seconds.clone(),
            _ => Vec::new(),
        }
    }

    /// Further figures in addition to a measure.
    pub(super) fn parts(&self, measure: Measure) -> Vec<(String, Vec<f64>)> {
        match measure {
            Measure::TrainingSeconds => vec![("ms an epoch".into(), self.epoch_ms.clone())],
            _ => Vec::new(),
        }
    }
}

/// Seconds of graph classification, each a list over folds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Seconds of one augmentation of the training graphs: one copy of each, or new vectors and a
    /// retrained head.
    pub augmentation: Vec<f64>,
    /// Seconds of all augmentations: copies are made for every epoch.
    pub augmentations: Vec<f64>,
    /// Seconds of a run, augmentations included.
    pub training: Vec<f64>,
}

impl Times {
    pub(super) fn new(result: &TrainResult, copies: Copies) -> Self {
        // Copies for every epoch, and once before the first.
        let times = |run: &Run| match (run.fit.copy_seconds, copies) {
            (Some(_), Copies::EachEpoch) => {
                run.fit.trained.iter().map(|t| t.curve.len()).sum::<usize>() + 1
            }
            _ => 1,
        };
        let head = |run: &Run| run.fit.fresh_head.as_ref().map_or(0.0, |head| head.seconds);
        let all = |run: &Run| run.fit.copy_seconds.unwrap_or(0.0) + head(run);
        let over = |f: &dyn Fn(&Run) -> f64| result.over(|run| Some(f(run))).unwrap_or_default();
        Self {
            augmentation: over(&|run| all(run) / times(run) as f64),
            augmentations: over(&|run| all(run)),
            training: over(&|run| run.fit.seconds),
        }
    }

    /// The figures of a measure; `None` for one that is not of seconds.
    pub(super) fn of(&self, measure: Measure) -> Option<Vec<f64>> {
        match measure {
            Measure::AugmentationSeconds => Some(self.augmentation.clone()),
            Measure::TrainingSeconds => Some(self.training.clone()),
            _ => None,
        }
    }

    /// Further figures in addition to a measure.
    pub(super) fn parts(&self, measure: Measure) -> Vec<(String, Vec<f64>)> {
        match measure {
            Measure::AugmentationSeconds if self.augmentations != self.augmentation => {
                vec![("in all epochs".into(), self.augmentations.clone())]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::{Agreement, Scalar};
    use super::*;

    #[test]
    fn scalars_and_parts_are_taken_by_name() {
        let operator = LearnedOperator {
            inits: vec!["A".into()],
            scalars: vec![("e1".into(), vec![0.5, 0.7])],
        };
        let cell = Measured {
            values: vec![81.0, 82.0],
            operator: Some(Box::new(operator)),
            parts: vec![("ARI".into(), vec![1.0, 2.0])],
            ..Measured::default()
        };
        let values = |measure| cell.clone().through(measure).values;
        assert_eq!(values(None), [81.0, 82.0]);
        assert_eq!(values(Some(Measure::Scalar(Scalar::E1))), [0.5, 0.7]);
        assert_eq!(values(Some(Measure::Agreement(Agreement::Ari))), [1.0, 2.0]);
        // A stored short result has neither, and its figures are those of the measure already.
        let short = Measured {
            operator: None,
            parts: Vec::new(),
            ..cell
        };
        assert_eq!(
            short.clone().through(Some(Measure::Scalar(Scalar::E1))),
            short
        );
        assert_eq!(
            short
                .clone()
                .through(Some(Measure::Agreement(Agreement::Ari))),
            short
        );
    }
}
