//! Fits a network, a readout and a head on a set of graphs, as in GRATIN (Abbahaddou et al. 2025,
//! [arXiv:2411.08638](https://arxiv.org/abs/2411.08638)). The augmentation adds copies of the
//! training graphs or trains a fresh head. `fit_graph_exits` trains networks with exits.
//!
//! Augmentation in latent space is in [`heads`](super::heads): it computes the vectors of the
//! training graphs, adds others, and trains a fresh head on all of them. Augmentation in graph
//! space is a [`GraphTransform`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use gnarl_graph::{Graph, GraphSet, Labels, Split};

use super::batches::{Evaluation, FreshGraphs, TrainingSet, train_classifier};
use super::fitted::Learned;
use super::graph_data::{GraphData, GraphPreparation, Inputs, NodeFeatures};
use super::heads::{self, TrainedClassifier, augmented_head};
use super::options::FitOptions;
use super::report::{FitReport, FreshHeadReport};
use super::{Plan, fit_graph_exits};
use crate::augment::transform::{Copier, transform_all};
use crate::augment::{Copies, GraphTransform};
use gnarl_graph::{Error, Result};
use gnarl_nn::features::{FeatureScaling, Scaler};
use gnarl_nn::networks::{Capability, GraphClassifier, Head};
use gnarl_nn::train::{Callbacks, MixedIn};
use gnarl_robust::classifier::{Classifier, WhiteBox};
use gnarl_robust::inference::{CleanInputs, FittedInference};

/// The graphs of a set, and the training graphs if they differ: shared by all folds,
/// initialisations and operators.
#[derive(Debug)]
pub struct SetSource {
    graphs: Vec<Graph>,
    /// The training graphs. The corruption of graph `i` depends on the seed and `i` alone, so every
    /// fold and method has the same graphs.
    training: Vec<Graph>,
    is_corrupted: bool,
    labels: Labels,
    node_features: NodeFeatures,
}

impl SetSource {
    /// Refuses a set without labelled graphs.
    pub(super) fn new(set: &GraphSet, plan: &Plan, options: &FitOptions) -> Result<Self> {
        if set.labels().classes().iter().all(Option::is_none) {
            let what = "the set has no labelled graphs";
            return Err(Error::missing("fit", what, "take a set with labels"));
        }
        let preprocess = |graph: &Graph| plan.model.defense.method().preprocessed(graph);
        let graphs = set
            .graphs()
            .iter()
            .map(preprocess)
            .collect::<Result<Vec<_>>>()?;
        let node_features = NodeFeatures::of(&graphs);
        plan.check_features(node_features == NodeFeatures::Own)?;
        let mut training = graphs.clone();
        if let Some(corruption) = options.corruption {
            let structure_is_seen = node_features.degrees().is_some() && !corruption.keep_degrees;
            if !plan.model.backbone.provides(Capability::MessagePassing) && !structure_is_seen {
                let what = format!("{} would not see the changed edges", plan.model.backbone);
                return Err(Error::unsupported("corrupt", what));
            }
            if corruption.keep_degrees {
                if node_features == NodeFeatures::Own {
                    return Err(Error::unsupported(
                        "keep-degrees",
                        "the graphs have features of their own, not degrees",
                    ));
                }
                let before: Vec<&Graph> = training.iter().collect();
                training = node_features.fixed(&before)?.unwrap_or(training);
            }
            let before: Vec<&Graph> = training.iter().collect();
            training = transform_all(&corruption.edges, &before, options.corruption_seed, 0)?;
        }
        let is_corrupted = options.corruption.is_some();
        Ok(Self {
            graphs,
            training,
            is_corrupted,
            labels: set.labels().clone(),
            node_features,
        })
    }

    /// Fits a scaling to the training graphs of a split.
    pub(super) fn scaler(&self, scaling: FeatureScaling, split: &Split) -> Result<Scaler> {
        let training = split
            .train()
            .iter()
            .filter_map(|&g| self.training.get(g as usize));
        Scaler::fit(scaling, training)
    }

    /// Prepares the graphs for an operator.
    pub(super) fn prepared(&self, plan: &Plan, scaler: &Scaler) -> Result<PreparedSet> {
        let preparation = GraphPreparation::of(plan, scaler, self.node_features);
        let make = |graphs: &[Graph]| GraphData::new(graphs, plan.network.backbone, &preparation);
        let data = make(&self.graphs)?;
        let corrupted = self
            .is_corrupted
            .then(|| make(&self.training))
            .transpose()?;
        Ok(PreparedSet { data, corrupted })
    }

    /// Returns the graphs after the defence.
    pub(super) fn graphs(&self) -> &[Graph] {
        &self.graphs
    }

    pub(super) fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(super) fn inputs(&self) -> Inputs {
        Inputs {
            own_features: self.node_features == NodeFeatures::Own,
            node_features: Some(self.node_features),
        }
    }

    /// Fits the inference to a newly trained classifier. Priors of clean graphs are learned from
    /// the training graphs of a split. Settings that are left to validation graphs are selected on
    /// those.
    pub(super) fn with_inference(
        &self,
        plan: &Plan,
        classifier: &dyn Classifier,
        scaler: &Scaler,
        split: &Split,
        seed: u64,
    ) -> Result<FittedInference> {
        let inference = plan.model.inference;
        if inference.is_plain() {
            return Ok(FittedInference::default());
        }
        let scaled = |graphs: &[u32], of: &[Graph]| -> Result<Vec<Graph>> {
            graphs
                .iter()
                .map(|&g| scaler.scaled(&of[g as usize]))
                .collect()
        };
        let training = scaled(split.train(), &self.training)?;
        let clean: Vec<&Graph> = training.iter().collect();
        let reading = inference.fit_to(classifier, CleanInputs::Graphs(&clean))?;
        if !inference.tunes() {
            return Ok(reading);
        }
        let (graphs, classes) = self.labelled(split.val());
        let validation = scaled(&graphs, &self.graphs)?;
        let labelled: Vec<(&Graph, u32)> = validation.iter().zip(classes).collect();
        reading.tuned_on_graphs(classifier, &labelled, seed)
    }

    /// Returns the labelled graphs among these, and their classes.
    pub(super) fn labelled(&self, graphs: &[u32]) -> (Vec<u32>, Vec<u32>) {
        graphs
            .iter()
            .filter_map(|&g| self.labels.get(g).map(|class| (g, class)))
            .unzip()
    }
}

/// A set prepared for an operator.
#[derive(Debug)]
pub struct PreparedSet {
    /// The unchanged graphs, for validation and test.
    data: GraphData,
    /// The training graphs, if they differ.
    corrupted: Option<GraphData>,
}

impl PreparedSet {
    pub(super) fn mean_log_degree(&self) -> f64 {
        self.data.mean_log_degree()
    }

    /// Returns the unchanged graphs.
    pub(super) fn data(&self) -> &GraphData {
        &self.data
    }

    fn training_data(&self) -> &GraphData {
        self.corrupted.as_ref().unwrap_or(&self.data)
    }
}

/// A set prepared for an operator, and a split of its graphs.
pub(super) struct OnSet<'a> {
    pub source: &'a SetSource,
    pub prepared: &'a PreparedSet,
    pub scaler: &'a Scaler,
    pub split: &'a Split,
}

impl OnSet<'_> {
    /// Returns the labelled graphs among these, to evaluate on.
    pub(super) fn evaluation(&self, items: &[u32]) -> Result<Evaluation> {
        let (graphs, classes) = self.source.labelled(items);
        Evaluation::new(&self.prepared.data, &graphs, &classes)
    }
}

/// Fits to the training graphs of a split. The operator must be initialised.
pub(super) fn fit(
    plan: &Plan,
    on: &OnSet<'_>,
    options: &FitOptions,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    let (graphs, classes) = on.source.labelled(on.split.train());
    let train_on = TrainingSet {
        data: on.prepared.training_data(),
        graphs: &graphs,
        classes: &classes,
        mixed: &[],
        anew: None,
        mixup: plan.model.augment.method().mixup(),
    };
    match plan.model.depth.exits() {
        None => fit_classifier(plan, on, &train_on, options, seed, watch),
        Some(choice) => fit_graph_exits::fit(plan, choice, on, &train_on, seed, watch),
    }
}

/// Trains a classifier on the training graphs of a split, with the head that the augmentation
/// needs.
fn fit_classifier(
    plan: &Plan,
    on: &OnSet<'_>,
    train_on: &TrainingSet<'_>,
    options: &FitOptions,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    let start = Instant::now();
    let shape = train_on.data.shape(on.source.labels.num_classes());
    let classifier = GraphClassifier::new(&plan.network, &shape, seed)?;
    let validate_on = on.evaluation(on.split.val())?;
    let (trained, copy_seconds) = on_copies(plan, on, train_on, seed, |on| {
        train_classifier(
            &classifier,
            on,
            &validate_on,
            &plan.training,
            plan.training.batch_size,
            seed,
            watch,
        )
    })?;
    let training_seconds = start.elapsed().as_secs_f64();
    let mut report = FitReport {
        interrupted: trained.interrupted,
        trained: vec![trained],
        copy_seconds,
        training_seconds,
        ..FitReport::default()
    };
    let mut aside = 0.0;
    if let Some(fresh_head) = plan.model.augment.method().fresh_head() {
        let test_on = on.evaluation(on.split.test())?;
        let train = &Evaluation::new(train_on.data, train_on.graphs, train_on.classes)?;
        let on = TrainedClassifier {
            classifier: &classifier,
            head_dropout: plan.network.head_dropout as f32,
            train,
            validation: &validate_on,
            test: &test_on,
        };
        let before = (
            test_on.accuracy(&classifier)?,
            validate_on.accuracy(&classifier)?,
        );
        let fresh = augmented_head(&on, plan, &fresh_head, options.study_influence, seed, watch)?;
        let test_accuracy = |head: &Head| heads::accuracy(head, &test_on.vectors(&classifier)?);
        let control = fresh.control.as_ref().map(test_accuracy).transpose()?;
        classifier.set_head(&fresh.head)?;
        report.interrupted |= fresh.interrupted;
        aside = fresh.seconds_aside;
        report.fresh_head = Some(FreshHeadReport {
            none_test_accuracy: before.0,
            none_val_accuracy: before.1,
            retrain_test_accuracy: control,
            seconds: fresh.seconds,
            drawn: fresh.drawn,
        });
    }
    classifier.params().check_finite()?;
    report.val_accuracy = (!validate_on.classes().is_empty())
        .then(|| validate_on.accuracy(&classifier))
        .transpose()?;
    report.operator = classifier.operator_scalars()?;
    report.seconds = start.elapsed().as_secs_f64() - aside;
    let degrees = on.source.inputs().degrees();
    Ok((
        Learned::Graphs(WhiteBox::of_graphs(
            classifier,
            plan.model.operator,
            degrees,
        )?),
        report,
    ))
}

/// Calls a training on the training graphs or on their augmented copies. Also returns the seconds
/// of making copies.
pub(super) fn on_copies<T>(
    plan: &Plan,
    on: &OnSet<'_>,
    train_on: &TrainingSet<'_>,
    seed: u64,
    train: impl Fn(&TrainingSet<'_>) -> Result<T>,
) -> Result<(T, Option<f64>)> {
    match plan.model.augment.method().transform() {
        None => Ok((train(train_on)?, None)),
        Some(how) => {
            let (trained, seconds) =
                with_copies(plan, (on.source, on.scaler), how, train_on, seed, train)?;
            Ok((trained, Some(seconds)))
        }
    }
}

/// Calls a training on transformed copies of the training graphs, in addition to the originals or
/// in their place. Also returns the seconds of making copies.
fn with_copies<T>(
    plan: &Plan,
    (source, scaler): (&SetSource, &Scaler),
    (transform, copies): (&dyn GraphTransform, Copies),
    on: &TrainingSet<'_>,
    seed: u64,
    train: impl Fn(&TrainingSet<'_>) -> Result<T>,
) -> Result<(T, f64)> {
    let keep_originals = copies == Copies::Fixed;
    let originals: Vec<&Graph> = on
        .graphs
        .iter()
        .map(|&g| &source.training[g as usize])
        .collect();
    let described = match transform.describes_anew() {
        true => None,
        false => source.node_features.fixed(&originals)?,
    };
    let originals = described
        .as_ref()
        .map_or(originals, |described| described.iter().collect());
    let preparation = GraphPreparation::of(plan, scaler, source.node_features);
    let nanoseconds = AtomicU64::new(0);
    let learning = Instant::now();
    let copier = Copier::new(transform, &originals, on.classes, seed)?;
    nanoseconds.fetch_add(learning.elapsed().as_nanos() as u64, Ordering::Relaxed);
    let make = |epoch: usize| {
        let start = Instant::now();
        let (mut graphs, mut mixed) = (Vec::with_capacity(2 * originals.len()), Vec::new());
        for copy in copier.copies(epoch)? {
            mixed.push(MixedIn {
                class: on.classes[copy.partner],
                share: copy.partner_share,
            });
            graphs.push(copy.graph);
        }
        if mixed.iter().all(|other| other.share == 0.0) {
            mixed.clear();
        }
        if keep_originals {
            graphs.extend(originals.iter().map(|&g| g.clone()));
            let alone = |&class: &u32| MixedIn { class, share: 0.0 };
            mixed.extend(
                on.classes
                    .iter()
                    .filter(|_| !mixed.is_empty())
                    .map(alone)
                    .collect::<Vec<_>>(),
            );
        }
        // The graphs themselves were prepared before, so a failure here is a failure of a copy.
        let of_copies = |e: Error| {
            Error::setting(
                "augment",
                format!("of copies by {}: {e}", plan.model.augment),
            )
        };
        let data =
            GraphData::new(&graphs, plan.network.backbone, &preparation).map_err(of_copies)?;
        nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(FreshGraphs { data, mixed })
    };
    let times = if keep_originals { 2 } else { 1 };
    let classes = on.classes.repeat(times);
    let graphs: Vec<u32> = (0..classes.len() as u32).collect();
    let first = make(0)?;
    let anew: Option<&(dyn Fn(usize) -> Result<FreshGraphs> + Sync)> = match copies {
        Copies::Fixed => None,
        Copies::EachEpoch => Some(&make),
    };
    let FreshGraphs { data, mixed } = &first;
    let trained = train(&TrainingSet {
        data,
        graphs: &graphs,
        classes: &classes,
        mixed,
        anew,
        mixup: on.mixup,
    })?;
    Ok((trained, nanoseconds.load(Ordering::Relaxed) as f64 / 1e9))
}
