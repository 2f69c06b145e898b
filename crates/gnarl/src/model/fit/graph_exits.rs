//! Fits exits on a set of graphs: the depth axis of ADMP-GNN (Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)) for graph classification. Every layer has
//! a readout and a head, and a policy is learned on validation graphs. An augmentation in latent
//! space trains fresh heads.
//!
//! Sequential training goes through the stages as on nodes. The output of the frozen layers is
//! computed once. If the augmentation makes new graphs in every epoch, it is computed once for the
//! graphs of each epoch.

use std::time::Instant;

use gnarl_graph::random::mix;

use super::Run;
use super::copies::on_copies;
use super::source::OnSet;
use crate::augment::FreshHead as FreshHeadSettings;
use crate::model::Plan;
use crate::model::batches::{
    EpochGraphs, Evaluation, TrainingSet, head_scores_on, train_classifier,
};
use crate::model::graph_data::GraphData;
use crate::model::heads::{FreshHead, SampleReport, TrainedClassifier, augmented_head};
use crate::model::learned::Learned;
use crate::model::report::{FitReport, FreshHeadReport};
use gnarl_graph::Result;
use gnarl_nn::depth::{
    ExitClassifier, ExitPredictions, Exits, Policy, Scheme, Structure, cross_fitted_accuracy,
};
use gnarl_nn::networks::Head;
use gnarl_nn::train::{Callbacks, Targets, Trained};

/// Trains every exit on the training graphs of a split and learns the policy on its validation
/// graphs.
pub(super) fn fit(
    plan: &Plan,
    choice: Exits,
    on: &OnSet<'_>,
    train_on: &TrainingSet<'_>,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let start = Instant::now();
    let shape = train_on.data.shape(on.source.labels().num_classes());
    let exits = ExitClassifier::new(&plan.network, &shape, run.seed)?;
    let stages = Stages {
        exits: &exits,
        plan,
        on,
        seed: run.seed,
        watch: run.watch,
    };
    let (trained, copy_seconds) = on_copies(plan, on, train_on, run.seed, |train_on| match choice
        .scheme
    {
        Scheme::AdmpSt => stages.one_by_one(train_on),
        Scheme::AdmpAlm => stages.together(train_on),
    })?;
    let mut report = FitReport {
        copy_seconds,
        ..FitReport::of_training(trained, start)
    };
    let chooser = Chooser::new(choice, on)?;
    let mut control_seconds = 0.0;
    if let Some(settings) = plan.model.augment.method().fresh_head() {
        let (head_report, interrupted, seconds) =
            stages.fresh_heads(&chooser, train_on, &settings)?;
        report.fresh_head = Some(head_report);
        report.interrupted |= interrupted;
        control_seconds = seconds;
    }
    exits.params().check_finite()?;
    let LearnedPolicy {
        policy,
        predictions,
    } = chooser.learn(&exits)?;
    if !chooser.val.items.is_empty() {
        report.val_accuracy = Some(chooser.cross_fitted(&predictions)?);
    }
    report.operator = exits.operator_scalars()?;
    report.seconds = start.elapsed().as_secs_f64() - control_seconds;
    let degrees = on.source.inputs().degrees();
    Ok((Learned::graph_exits(exits, policy, plan, degrees)?, report))
}

/// Training modes of exits on graphs.
struct Stages<'a> {
    exits: &'a ExitClassifier,
    plan: &'a Plan,
    on: &'a OnSet<'a>,
    seed: u64,
    watch: &'a Callbacks<'a>,
}

impl Stages<'_> {
    /// Trains all exits together on the sum of their losses (ALM).
    fn together(&self, train_on: &TrainingSet<'_>) -> Result<Vec<Trained>> {
        let Self {
            exits,
            plan,
            on,
            seed,
            watch,
        } = *self;
        let validate_on = on.evaluation(on.split.val())?;
        Ok(vec![train_classifier(
            exits,
            train_on,
            &validate_on,
            &plan.training,
            plan.training.batch_size,
            seed,
            watch,
        )?])
    }

    /// Trains stage after stage (ST): one layer and its head, on the graphs' output of the earlier
    /// layers.
    fn one_by_one(&self, train_on: &TrainingSet<'_>) -> Result<Vec<Trained>> {
        let Self {
            exits,
            plan,
            on,
            seed,
            watch,
        } = *self;
        let (val, val_classes) = on.source.labelled(on.split.val());
        // h^{t-1} of the training data, and of the validation data if that is different.
        let shares_data = std::ptr::eq(train_on.data, on.prepared.data());
        let (mut frozen, mut frozen_val): (Option<GraphData>, Option<GraphData>) = (None, None);
        let mut trained = Vec::with_capacity(exits.max_depth() + 1);
        for t in 0..=exits.max_depth() {
            if t >= 2 {
                let advanced = |data: &GraphData| advanced(exits, t - 1, data);
                frozen_val = if shares_data {
                    None
                } else {
                    Some(advanced(frozen_val.as_ref().unwrap_or(on.prepared.data()))?)
                };
                frozen = Some(advanced(frozen.as_ref().unwrap_or(train_on.data))?);
            }
            let data = frozen.as_ref().unwrap_or(train_on.data);
            let val_data = if shares_data {
                data
            } else {
                frozen_val.as_ref().unwrap_or(on.prepared.data())
            };
            let validate_on = Evaluation::new(val_data, &val, &val_classes)?;
            let epoch_graphs = |epoch: usize| -> Result<EpochGraphs> {
                let Some(make) = train_on.epoch_graphs else {
                    return Err(internal("no augmentation makes the graphs of an epoch"));
                };
                let mut fresh = make(epoch)?;
                for done in 1..t {
                    fresh.data = advanced(exits, done, &fresh.data)?;
                }
                Ok(fresh)
            };
            let epoch_graphs = train_on
                .epoch_graphs
                .map(|_| &epoch_graphs as &(dyn Fn(usize) -> Result<EpochGraphs> + Sync));
            let stage = TrainingSet {
                data,
                epoch_graphs,
                ..*train_on
            };
            let seed = mix(seed ^ mix(t as u64));
            let (training, batch_size) = (&plan.training, plan.training.batch_size);
            trained.push(train_classifier(
                &exits.stage(t),
                &stage,
                &validate_on,
                training,
                batch_size,
                seed,
                watch,
            )?);
        }
        Ok(trained)
    }

    /// Trains fresh heads for all exits by the augmentation. Returns the report of the comparison,
    /// the interruption flag, and the seconds of controls.
    fn fresh_heads(
        &self,
        chooser: &Chooser<'_>,
        train_on: &TrainingSet<'_>,
        settings: &FreshHeadSettings,
    ) -> Result<(FreshHeadReport, bool, f64)> {
        let exits = self.exits;
        let before = Instant::now();
        let none = chooser.learn(exits)?;
        let (none_test, none_val) = (
            chooser.test_accuracy(&none)?,
            chooser.cross_fitted(&none.predictions)?,
        );
        let mut control_seconds = before.elapsed().as_secs_f64();
        let fresh = (0..=exits.max_depth()).map(|t| self.fresh_head(t, train_on, settings));
        let fresh = fresh.collect::<Result<Vec<FreshHead>>>()?;
        let before = Instant::now();
        let controls: Option<Vec<&Head>> =
            fresh.iter().map(|fresh| fresh.control.as_ref()).collect();
        let mut retrain_test_accuracy = None;
        if let Some(controls) = controls {
            set_heads(exits, controls)?;
            retrain_test_accuracy = Some(chooser.test_accuracy(&chooser.learn(exits)?)?);
        }
        control_seconds += before.elapsed().as_secs_f64()
            + fresh.iter().map(|fresh| fresh.control_seconds).sum::<f64>();
        set_heads(exits, fresh.iter().map(|fresh| &fresh.head))?;
        let interrupted = fresh.iter().any(|fresh| fresh.interrupted);
        let report = FreshHeadReport {
            none_test_accuracy: none_test,
            none_val_accuracy: none_val,
            retrain_test_accuracy,
            seconds: fresh.iter().map(|fresh| fresh.seconds).sum(),
            sampled: combined(fresh),
        };
        Ok((report, interrupted, control_seconds))
    }

    /// Trains a fresh head for exit `t`, on the vectors of the training graphs there and the added
    /// vectors of the augmentation.
    fn fresh_head(
        &self,
        t: usize,
        train_on: &TrainingSet<'_>,
        settings: &FreshHeadSettings,
    ) -> Result<FreshHead> {
        let Self {
            exits,
            plan,
            on,
            seed,
            watch,
        } = *self;
        let exit = &exits.exit(t);
        let train = &Evaluation::new(train_on.data, train_on.graphs, train_on.classes)?;
        let [validation, test] = &[
            on.evaluation(on.split.val())?,
            on.evaluation(on.split.test())?,
        ];
        let on = TrainedClassifier {
            classifier: exit,
            head_dropout: plan.network.head_dropout as f32,
            train,
            validation,
            test,
        };
        augmented_head(&on, plan, settings, false, mix(seed ^ mix(t as u64)), watch)
    }
}

/// Returns the graphs with `h^t` on their nodes, given `h^{t-1}`.
fn advanced(exits: &ExitClassifier, t: usize, data: &GraphData) -> Result<GraphData> {
    Ok(data.with_input(exits.advance(t, data.propagation(), data.input())?))
}

fn internal(what: &str) -> gnarl_graph::Error {
    gnarl_graph::Error::Internal {
        op: "fit",
        what: what.to_string(),
    }
}

/// Replaces the heads of exits 0, 1, ….
fn set_heads<'a>(exits: &ExitClassifier, heads: impl IntoIterator<Item = &'a Head>) -> Result<()> {
    for (t, head) in heads.into_iter().enumerate() {
        exits.set_head(t, head)?;
    }
    Ok(())
}

/// Combines the reports of the sampled vectors of all exits: counts are summed, distances averaged.
fn combined(heads: Vec<FreshHead>) -> Option<SampleReport> {
    let reports: Vec<SampleReport> = heads.into_iter().filter_map(|head| head.sampled).collect();
    let count = reports.len() as f64;
    let sum = reports.into_iter().reduce(|sum, next| SampleReport {
        sampled: sum.sampled + next.sampled,
        kept: sum.kept + next.kept,
        fits: [sum.fits, next.fits].concat(),
        distance: sum.distance + next.distance,
        original_distance: sum.original_distance + next.original_distance,
        influence: None,
    })?;
    Some(SampleReport {
        distance: sum.distance / count,
        original_distance: sum.original_distance / count,
        ..sum
    })
}

/// Inputs to learn and evaluate a policy.
struct Chooser<'a> {
    choice: Exits,
    on: &'a OnSet<'a>,
    structure: Structure<'static>,
    val: Targets,
    test: Targets,
}

/// A policy, and the exits' predictions that it was learned on.
struct LearnedPolicy {
    policy: Policy,
    predictions: ExitPredictions,
}

impl<'a> Chooser<'a> {
    fn new(choice: Exits, on: &'a OnSet<'a>) -> Result<Self> {
        let known = [on.split.train(), on.split.val()].concat();
        let structure = Structure::of_graphs(on.source.graphs(), &[choice.policy])?.knowing(known);
        let [val, test] =
            [on.split.val(), on.split.test()].map(|items| Targets::new(items, on.source.labels()));
        Ok(Self {
            choice,
            on,
            structure,
            val,
            test,
        })
    }

    /// Learns a policy for the current exits.
    fn learn(&self, exits: &ExitClassifier) -> Result<LearnedPolicy> {
        let scores = head_scores_on(exits, self.on.prepared.data())?;
        let predictions = ExitPredictions::new(&scores)?;
        let policy = Policy::learn(self.choice.policy, &self.structure, &predictions, &self.val)?;
        Ok(LearnedPolicy {
            policy,
            predictions,
        })
    }

    /// Returns the accuracy of the policy on the test graphs, in per cent.
    fn test_accuracy(&self, learned: &LearnedPolicy) -> Result<f64> {
        let predictions = &learned.predictions;
        let chosen = learned.policy.choose(&self.structure, predictions)?;
        Ok(predictions.policy_accuracy(&chosen, &self.test))
    }

    /// Returns the cross-fitted accuracy on the validation graphs, in per cent: each graph is
    /// predicted by a policy that was not learned on it.
    fn cross_fitted(&self, predictions: &ExitPredictions) -> Result<f64> {
        cross_fitted_accuracy(self.choice.policy, &self.structure, predictions, &self.val)
    }
}
