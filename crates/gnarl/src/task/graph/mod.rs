//! Graph classification (thesis ch. 7): a set of graphs, a classifier, folds and seeds in; accuracies and learning curves out.
//!
//! | file | what |
//! | --- | --- |
//! | [`data`] | graphs made ready, batches of them, where node features come from |
//! | [`training`] | a classifier on batches, a head on graph vectors |
//! | [`heads`] | what the data axis does with the vectors of a trained classifier |
//!
//! The seam for augmentation in latent space is [`training`]: read the vectors of the training graphs
//! ([`Evaluation::latent`]), put others beside them, train a fresh head on all of them ([`train_head`]), let it score test
//! vectors ([`Head::scores`](crate::nn::classifier::Head::scores)). For augmentation in graph space it is [`Augmentation`].

pub mod data;
pub mod heads;
pub mod training;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use gnarl_graph::{DenseMatrix, Graph, GraphSet, Labels, Split};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use data::{DEGREE_CAP, GraphData, GraphPreparation, NodeFeatures};
pub use heads::{DrawReport, Filtered, FitSummary, InfluenceStudy};
pub use training::{
    Evaluation, FreshGraphs, HeadTraining, MixedIn, TrainingSet, Vectors, latent, scores, train_classifier, train_head,
};

use self::heads::{Trainee, augmented_head};
use crate::augment::transform::{copy_all, transform_all};
use crate::augment::{Augment, AugmentSettings, Augmentation, Components, Copies, Corruption};
use crate::error::Result;
use crate::nn::{ClassifierConfig, GraphClassifier, Shape};
use crate::train::{TrainConfig, Trained, Watch};

/// Everything that fixes a run but its fold and seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphConfig {
    /// The classifier.
    pub classifier: ClassifierConfig,
    /// How graphs are made ready.
    pub preparation: GraphPreparation,
    /// How the classifier is trained.
    pub training: TrainConfig,
    /// Graphs in a training step.
    pub batch_size: usize,
    /// What is done to the structure of training graphs.
    pub corruption: Option<TrainingCorruption>,
    /// The data axis.
    pub augment: Augment,
    /// Epochs of a fresh head, where the data axis trains one.
    pub head_epochs: usize,
    /// Of GRATIN: Gaussians in a class' mixture.
    pub components: Components,
    /// What the data axis is told beside.
    pub augmentation: AugmentSettings,
}

/// Corruption of the training graphs; validation and test graphs stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingCorruption {
    /// Which edges change.
    pub edges: Corruption,
    /// Whether one-hot degrees stay those of the graph before it; else they are those of the corrupted one.
    pub keep_degrees: bool,
}

/// A set made ready for a configuration: shared by all folds and initialisations.
#[derive(Debug)]
pub struct PreparedSet {
    /// The graphs as they are: validated and tested on.
    pub data: GraphData,
    /// The graphs trained on, where they differ.
    corrupted: Option<GraphData>,
    /// The same before they were made ready, for what transforms them.
    training_graphs: Vec<Graph>,
    /// The graphs' classes.
    pub labels: Labels,
}

impl PreparedSet {
    /// Makes a set ready. The corruption of graph `i` depends on the seed and `i` alone: every fold, initialisation and method
    /// sees the same. A set without labelled graphs is refused.
    pub fn new(set: &GraphSet, config: &GraphConfig, seed: u64) -> Result<Self> {
        if set.labels().classes().iter().all(Option::is_none) {
            return Err(gnarl_graph::Error::argument("graph classification", "the set has no labelled graphs").into());
        }
        let make = |graphs: &[Graph]| GraphData::new(graphs, config.classifier.network.backbone, &config.preparation);
        let mut training_graphs = set.graphs().to_vec();
        let mut corrupted = None;
        if let Some(corruption) = config.corruption {
            if corruption.keep_degrees {
                training_graphs = config.preparation.node_features.fixed(&training_graphs)?;
            }
            let before: Vec<&Graph> = training_graphs.iter().collect();
            training_graphs = transform_all(&corruption.edges, &before, seed, 0)?;
            corrupted = Some(make(&training_graphs)?);
        }
        Ok(Self { data: make(set.graphs())?, corrupted, training_graphs, labels: set.labels().clone() })
    }

    /// The graphs trained on.
    pub fn training_data(&self) -> &GraphData {
        self.corrupted.as_ref().unwrap_or(&self.data)
    }

    /// A classifier of the right size for these graphs, with the scalars that a learnable operator asks for.
    pub fn classifier(&self, config: &ClassifierConfig, seed: u64) -> Result<GraphClassifier> {
        let scalars = self.data.propagation().scalars();
        let shape = Shape::new(self.data.in_dim(), self.labels.num_classes(), self.data.mean_log_degree());
        GraphClassifier::new(config, &shape.with_scalars(&scalars), seed)
    }

    /// The labelled ones among these graphs, and their classes.
    fn labelled(&self, graphs: &[u32]) -> (Vec<u32>, Vec<u32>) {
        graphs.iter().filter_map(|&g| self.labels.get(g).map(|class| (g, class))).unzip()
    }

    fn evaluation(&self, graphs: &[u32]) -> Result<Evaluation> {
        let (graphs, classes) = self.labelled(graphs);
        Evaluation::new(&self.data, &graphs, &classes)
    }
}

/// One run: one fold, one initialisation.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// The seed of the initialisation, the order of graphs and dropout.
    pub seed: u64,
    /// The split's name.
    pub split: String,
    /// Test accuracy, per cent.
    pub test_accuracy: f64,
    /// Validation accuracy, per cent.
    pub val_accuracy: f64,
    /// What training the classifier came to.
    pub trained: Trained,
    /// Where the data axis trained a fresh head: what it is read against, and how it came about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh_head: Option<FreshHeadReport>,
    /// Where copies of the training graphs were trained on: seconds of making them and their operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_seconds: Option<f64>,
    /// The scalars of a learnable operator with their learned values; none for a fixed one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operator: Vec<(String, f64)>,
    /// Seconds in all, without the control of a fresh head and what is only looked at.
    pub seconds: f64,
    /// What the classifier says of the test graphs: a distribution over classes a row.
    #[serde(skip)]
    pub test_probabilities: DenseMatrix<f32>,
}

/// What a fresh head is read against, and how it came about.
#[derive(Debug, Clone, Serialize)]
pub struct FreshHeadReport {
    /// Test accuracy of the head that was trained with the rest, per cent.
    pub none_test_accuracy: f64,
    /// Validation accuracy, likewise.
    pub none_val_accuracy: f64,
    /// Where vectors were drawn: test accuracy of the control, the same fresh head without them, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrain_test_accuracy: Option<f64>,
    /// Seconds of making vectors and training the head, without the control.
    pub seconds: f64,
    /// Where vectors were drawn: which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawReport>,
}

/// Trains one classifier on one fold and scores it. The classifier comes back trained, with the head that was scored.
pub fn run(
    prepared: &PreparedSet,
    config: &GraphConfig,
    split: &Split,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<(Run, GraphClassifier)> {
    let AugmentSettings { strength, copies, .. } = config.augmentation;
    let transform = config.augment.transform(strength)?;
    let keep_originals = copies == Copies::Fixed;
    let augmentation = transform.as_deref().map(|transform| Augmentation { transform, copies, keep_originals });
    run_augmented(prepared, config, augmentation, split, seed, watch)
}

/// The same with these transformed copies of the training graphs, whatever the configuration says of copies.
pub fn run_augmented(
    prepared: &PreparedSet,
    config: &GraphConfig,
    augmentation: Option<Augmentation<'_>>,
    split: &Split,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<(Run, GraphClassifier)> {
    let start = Instant::now();
    let classifier = prepared.classifier(&config.classifier, seed)?;
    let (graphs, classes) = prepared.labelled(split.train());
    let validate_on = prepared.evaluation(split.val())?;
    let mixup = config.augment.mixup(config.augmentation.strength)?;
    let data = prepared.training_data();
    let train_on = TrainingSet { data, graphs: &graphs, classes: &classes, mixed: &[], anew: None, mixup };
    let train = |on: &TrainingSet<'_>| {
        train_classifier(&classifier, on, &validate_on, &config.training, config.batch_size, seed, watch)
    };
    let (mut trained, copy_seconds) = match augmentation {
        None => (train(&train_on)?, None),
        Some(augmentation) => {
            let (trained, seconds) = with_copies(prepared, config, augmentation, &train_on, seed, train)?;
            (trained, Some(seconds))
        }
    };
    let test_on = prepared.evaluation(split.test())?;
    let (mut test_accuracy, mut val_accuracy) = (test_on.accuracy(&classifier)?, validate_on.accuracy(&classifier)?);
    let (mut fresh_head, mut aside) = (None, 0.0);
    if config.augment.retrains_head() {
        let train = &Evaluation::new(train_on.data, &graphs, &classes)?;
        let on = Trainee { classifier: &classifier, train, validation: &validate_on, test: &test_on };
        let fresh = augmented_head(&on, config, seed, watch)?;
        classifier.set_head(&fresh.head)?;
        trained.interrupted |= fresh.interrupted;
        aside = fresh.seconds_aside;
        fresh_head = Some(FreshHeadReport {
            none_test_accuracy: test_accuracy,
            none_val_accuracy: val_accuracy,
            retrain_test_accuracy: fresh.control,
            seconds: fresh.seconds,
            drawn: fresh.drawn,
        });
        (test_accuracy, val_accuracy) = (test_on.accuracy(&classifier)?, validate_on.accuracy(&classifier)?);
    }
    let run = Run {
        seed,
        split: split.name().to_string(),
        test_accuracy,
        val_accuracy,
        trained,
        fresh_head,
        copy_seconds,
        operator: classifier.operator_scalars()?,
        seconds: start.elapsed().as_secs_f64() - aside,
        test_probabilities: test_on.probabilities(&classifier)?,
    };
    Ok((run, classifier))
}

/// Trains on transformed copies of the training graphs, beside the originals or in their place; also how many seconds making them
/// took.
fn with_copies(
    prepared: &PreparedSet,
    config: &GraphConfig,
    augmentation: Augmentation<'_>,
    on: &TrainingSet<'_>,
    seed: u64,
    train: impl Fn(&TrainingSet<'_>) -> Result<Trained>,
) -> Result<(Trained, f64)> {
    let Augmentation { transform, copies, keep_originals } = augmentation;
    let originals: Vec<&Graph> = on.graphs.iter().map(|&g| &prepared.training_graphs[g as usize]).collect();
    let nanoseconds = AtomicU64::new(0);
    let make = |epoch: usize| {
        let start = Instant::now();
        let (mut graphs, mut mixed) = (Vec::with_capacity(2 * originals.len()), Vec::new());
        for copy in copy_all(transform, &originals, seed, epoch)? {
            mixed.push(MixedIn { class: on.classes[copy.partner], share: copy.partner_share });
            graphs.push(copy.graph);
        }
        if mixed.iter().all(|other| other.share == 0.0) {
            mixed.clear();
        }
        if keep_originals {
            graphs.extend(originals.iter().map(|&g| g.clone()));
            let alone = |&class: &u32| MixedIn { class, share: 0.0 };
            mixed.extend(on.classes.iter().filter(|_| !mixed.is_empty()).map(alone).collect::<Vec<_>>());
        }
        let data = GraphData::new(&graphs, config.classifier.network.backbone, &config.preparation)?;
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
    let trained = train(&TrainingSet { data, graphs: &graphs, classes: &classes, mixed, anew, mixup: on.mixup })?;
    Ok((trained, nanoseconds.load(Ordering::Relaxed) as f64 / 1e9))
}

/// Every fold with `inits` initialisations, side by side on the cores available, fold after fold in the result. Initialisation
/// `j` of fold `i` has seed `seed + i + j · folds`; the results are those of running one after the other.
pub fn runs(
    prepared: &PreparedSet,
    config: &GraphConfig,
    folds: &[Split],
    inits: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Vec<Run>> {
    let refuse = |what: &str| Err(gnarl_graph::Error::argument("graph classification", what).into());
    if folds.is_empty() {
        return refuse("there is no fold to run on");
    }
    if inits == 0 {
        return refuse("0 initialisations of a fold; at least 1 is needed");
    }
    (0..folds.len() * inits)
        .into_par_iter()
        .map(|r| {
            let (fold, init) = (r / inits, r % inits);
            let seed = seed.wrapping_add((fold + init * folds.len()) as u64);
            Ok(run(prepared, config, &folds[fold], seed, watch)?.0)
        })
        .collect()
}

/// One value for each fold: the mean over its initialisations.
pub fn by_fold(runs: &[Run], inits: usize, value: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.chunks(inits.max(1)).map(|fold| fold.iter().map(&value).sum::<f64>() / fold.len() as f64).collect()
}
