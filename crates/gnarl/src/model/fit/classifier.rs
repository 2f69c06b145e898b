//! Fits a network, a readout and a head on a set of graphs, as in GRATIN (Abbahaddou et al. 2025,
//! [arXiv:2411.08638](https://arxiv.org/abs/2411.08638)). The augmentation adds copies of the
//! training graphs or trains a fresh head. `graph_exits` trains networks with exits.
//!
//! Augmentation in latent space is in [`heads`](crate::model::heads): it computes the vectors of the
//! training graphs, adds others, and trains a fresh head on all of them.

use std::time::Instant;

use gnarl_graph::Result;

use super::copies::on_copies;
use super::source::OnSet;
use super::{FitOptions, Run, graph_exits};
use crate::augment::FreshHead as FreshHeadSettings;
use crate::model::Plan;
use crate::model::batches::{Evaluation, TrainingSet, train_classifier};
use crate::model::heads::{self, FreshHead, TrainedClassifier, augmented_head};
use crate::model::learned::Learned;
use crate::model::report::{FitReport, FreshHeadReport};
use gnarl_nn::networks::{GraphClassifier, Head};

/// Fits to the training graphs of a split. The operator must be initialised.
pub(super) fn fit(
    plan: &Plan,
    on: &OnSet<'_>,
    options: &FitOptions,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let (graphs, classes) = on.source.labelled(on.split.train());
    let train_on = TrainingSet {
        data: on.prepared.training_data(),
        graphs: &graphs,
        classes: &classes,
        mixed: &[],
        epoch_graphs: None,
        mixup: plan.model.augment.method().mixup(),
    };
    match plan.model.depth.exits() {
        None => fit_classifier(plan, on, &train_on, options, run),
        Some(choice) => graph_exits::fit(plan, choice, on, &train_on, run),
    }
}

/// Trains a classifier on the training graphs of a split, with the head that the augmentation
/// needs.
fn fit_classifier(
    plan: &Plan,
    on: &OnSet<'_>,
    train_on: &TrainingSet<'_>,
    options: &FitOptions,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let (start, seed, watch) = (Instant::now(), run.seed, run.watch);
    let shape = train_on.data.shape(on.source.labels().num_classes());
    let classifier = GraphClassifier::new(&plan.network, &shape, seed)?;
    let validate_on = on.evaluation(on.split.val())?;
    let training = &plan.training;
    let (trained, copy_seconds) = on_copies(plan, on, train_on, seed, |on| {
        let batch_size = training.batch_size;
        train_classifier(
            &classifier,
            on,
            &validate_on,
            training,
            batch_size,
            seed,
            watch,
        )
    })?;
    let mut report = FitReport {
        copy_seconds,
        ..FitReport::of_training(vec![trained], start)
    };
    let mut control_seconds = 0.0;
    if let Some(settings) = plan.model.augment.method().fresh_head() {
        let head = HeadFit {
            plan,
            on,
            train_on,
            validate_on: &validate_on,
            study: options.study_influence,
            run,
        };
        let fresh = head.train(&classifier, &settings, &mut report)?;
        control_seconds = fresh.control_seconds;
    }
    classifier.params().check_finite()?;
    if !validate_on.classes().is_empty() {
        report.val_accuracy = Some(validate_on.accuracy(&classifier)?);
    }
    report.operator = classifier.operator_scalars()?;
    report.seconds = start.elapsed().as_secs_f64() - control_seconds;
    let degrees = on.source.inputs().degrees();
    Ok((Learned::graphs(classifier, plan, degrees)?, report))
}

/// The training of a fresh head for a trained classifier.
struct HeadFit<'a> {
    plan: &'a Plan,
    on: &'a OnSet<'a>,
    train_on: &'a TrainingSet<'a>,
    validate_on: &'a Evaluation,
    /// True to study the influence of sampled vectors.
    study: bool,
    run: Run<'a>,
}

impl HeadFit<'_> {
    /// Trains a fresh head by the augmentation, puts it into the classifier, and reports it.
    fn train(
        &self,
        classifier: &GraphClassifier,
        settings: &FreshHeadSettings,
        report: &mut FitReport,
    ) -> Result<FreshHead> {
        let (on, train_on) = (self.on, self.train_on);
        let test_on = on.evaluation(on.split.test())?;
        let train = Evaluation::new(train_on.data, train_on.graphs, train_on.classes)?;
        let trained = TrainedClassifier {
            classifier,
            head_dropout: self.plan.network.head_dropout as f32,
            train: &train,
            validation: self.validate_on,
            test: &test_on,
        };
        let none_test_accuracy = test_on.accuracy(classifier)?;
        let none_val_accuracy = self.validate_on.accuracy(classifier)?;
        let Run { seed, watch, .. } = self.run;
        let fresh = augmented_head(&trained, self.plan, settings, self.study, seed, watch)?;
        let test_accuracy = |head: &Head| heads::accuracy(head, &test_on.vectors(classifier)?);
        let control = fresh.control.as_ref().map(test_accuracy).transpose()?;
        classifier.set_head(&fresh.head)?;
        report.interrupted |= fresh.interrupted;
        report.fresh_head = Some(FreshHeadReport {
            none_test_accuracy,
            none_val_accuracy,
            retrain_test_accuracy: control,
            seconds: fresh.seconds,
            sampled: fresh.sampled.clone(),
        });
        Ok(fresh)
    }
}
