//! `gnarl train`, `predict` and `bench epoch` on sets of graphs: folds are the runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use gnarl::augment::{Augment, AugmentSettings, Components, Copies, Corruption, Density, Draws, Through};
use gnarl::nn::{ClassifierConfig, Readout};
use gnarl::operator::Initialisation;
use gnarl::operator::OperatorChoice;
use gnarl::task::graph::{
    self, Evaluation, GraphConfig, GraphData, GraphPreparation, NodeFeatures, PreparedSet, Run, TrainingCorruption,
};
use gnarl::task::node::{Tried, settle_operator};
use gnarl::task::recipe::Recipe;
use gnarl::train::{Checkpoint, Keep, Stored, Watch, argmax, median};
use gnarl_graph::dataset::{Dataset, protocol_folds};
use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Error, Graph, Labels, Split};
use serde::Serialize;

use super::influence::{Certainty, InfluenceReport};
use super::train::{Accuracy, ModelArgs, TrainArgs, as_object, describe, operator_parameters, set};
use crate::args::Global;
use crate::output::{self, Report, real};
use crate::{interrupt, progress};

/// What a classifier of graphs has beside a network.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sets of graphs")]
pub struct ClassifierArgs {
    /// From nodes to graphs: mean, sum or max [default: mean]
    #[arg(long, value_name = "KIND")]
    pub readout: Option<Readout>,
    /// Dropout of graph vectors before the head [default: 0.5]
    #[arg(long, value_name = "RATE")]
    pub head_dropout: Option<f32>,
    /// Graphs in a training step [default: 256]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub batch_size: Option<usize>,
}

impl ClassifierArgs {
    /// Fails where one of them was given for a dataset that is one graph.
    pub fn refuse_on_one_graph(&self, data: &str) -> gnarl_graph::Result<()> {
        let given = [
            ("--readout", self.readout.is_some()),
            ("--head-dropout", self.head_dropout.is_some()),
            ("--batch-size", self.batch_size.is_some()),
        ];
        refuse_given(&given, data)
    }
}

/// What a study on a set of graphs may ask for.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sets of graphs")]
pub struct StudyArgs {
    /// What the classifier is trained on: none (the training graphs as they are), retrain (the same, then a fresh head), gratin (a
    /// fresh head on their vectors and new ones drawn from densities), changed graphs (dropedge, dropnode, subgraph, submix,
    /// configuration) or mixed vectors (manifold-mixup) [default: none]
    #[arg(long, value_name = "NAME")]
    pub augment: Option<Augment>,
    /// Of changed graphs: the share of edges, nodes or of the smaller graph that changes, 0 to 1; of manifold-mixup: α of the Beta
    /// distribution of shares [default: 0.2; of submix 0.4; of manifold-mixup 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub strength: Option<f64>,
    /// Of changed graphs: each-epoch (new ones in every epoch, in the place of the training graphs) or fixed (one of each beside
    /// them) [default: each-epoch]
    #[arg(long, value_name = "HOW")]
    pub copies: Option<Copies>,
    /// Of --augment gratin: keep this share of the new vectors, those of most influence on the validation graphs
    #[arg(long, value_name = "SHARE")]
    pub select: Option<f64>,
    /// Of --augment gratin: write every new vector's influence, its density, and the accuracy by share kept to STEM.csv, STEM.svg, STEM-filter.csv, …
    #[arg(long, value_name = "STEM")]
    pub influence: Option<PathBuf>,
    /// Of --select and --influence: head (exact) or network (all parameters, by conjugate gradients) [default: head]
    #[arg(long, value_name = "WHICH")]
    pub through: Option<Through>,
    /// Draw how certain the classifiers are of their test graphs to STEM-confidence.svg, STEM-entropy.svg and as PNG
    #[arg(long, value_name = "STEM")]
    pub histograms: Option<PathBuf>,
    /// Train on so many graphs of each class of a fold, drawn by the seed [default: all]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub per_class: Option<usize>,
    /// Of --per-class: so many graphs of one class only, fewer than of the others; of class 0 in fold 0, of class 1 in fold 1, and so on
    #[arg(long, value_name = "N", requires = "per_class", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub rare: Option<usize>,
    /// Initialisations of each fold; a fold counts with their mean [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub inits: Option<usize>,
    /// Remove and add this share of the training graphs' edges at random, as in 0.1
    #[arg(long, value_name = "SHARE")]
    pub corrupt: Option<f64>,
    /// Of --corrupt: one-hot degrees stay those of the graphs before it
    #[arg(long)]
    pub keep_degrees: bool,
    /// Of --augment gratin: Gaussians in the mixture of a class, or auto for the best by BIC [default: the thesis' table, else auto]
    #[arg(long, value_name = "N|auto")]
    pub components: Option<Components>,
    /// Of --augment gratin: what new vectors of a class are drawn from: mixture (of Gaussians), shrunken (one Gaussian for few vectors)
    /// or shared (one with a covariance that all classes share) [default: mixture]
    #[arg(long, value_name = "NAME")]
    pub density: Option<Density>,
    /// Of --augment retrain and gratin: how many vectors of each class stand beside the original ones, repeated or drawn: as-many (as
    /// there are; retrain repeats none) or level (up to twice the graphs of the largest class) [default: as-many]
    #[arg(long, value_name = "HOW")]
    pub draws: Option<Draws>,
    /// Of --augment retrain and gratin: epochs of the fresh head [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub head_epochs: Option<usize>,
}

impl StudyArgs {
    /// Fails where one of them was given for a dataset that is one graph.
    pub fn refuse_on_one_graph(&self, data: &str) -> gnarl_graph::Result<()> {
        let given = [
            ("--augment", self.augment.is_some_and(|augment| augment != Augment::None)),
            ("--per-class", self.per_class.is_some()),
            ("--rare", self.rare.is_some()),
            ("--inits", self.inits.is_some()),
            ("--corrupt", self.corrupt.is_some()),
            ("--keep-degrees", self.keep_degrees),
            ("--strength", self.strength.is_some()),
            ("--copies", self.copies.is_some()),
            ("--select", self.select.is_some()),
            ("--influence", self.influence.is_some()),
            ("--through", self.through.is_some()),
            ("--histograms", self.histograms.is_some()),
            ("--components", self.components.is_some()),
            ("--density", self.density.is_some()),
            ("--draws", self.draws.is_some()),
            ("--head-epochs", self.head_epochs.is_some()),
        ];
        refuse_given(&given, data)
    }

    fn augment(&self) -> Augment {
        self.augment.unwrap_or(Augment::None)
    }

    /// What the data axis is told.
    fn settings(&self) -> AugmentSettings {
        let AugmentSettings { strength, copies, density, draws, through, .. } = AugmentSettings::of(self.augment());
        AugmentSettings {
            strength: self.strength.or(strength),
            copies: self.copies.unwrap_or(copies),
            density: self.density.unwrap_or(density),
            draws: self.draws.unwrap_or(draws),
            select: self.select,
            through: self.through.unwrap_or(through),
            study: self.influence.is_some(),
        }
    }

    /// The options that belong to another that was not given.
    fn check(&self) -> gnarl_graph::Result<()> {
        if self.keep_degrees && self.corrupt.is_none() {
            return Err(Error::argument("--keep-degrees", "belongs to --corrupt, which was not asked for"));
        }
        let augment = self.augment();
        if self.strength.is_some() && augment.default_strength().is_none() {
            let what = format!("belongs to augmentations that change graphs and to manifold-mixup, not to {augment}");
            return Err(Error::argument("--strength", what));
        }
        if self.copies.is_some() && !augment.uses_graphs() {
            return Err(Error::argument(
                "--copies",
                format!("belongs to augmentations that change graphs, not to {augment}"),
            ));
        }
        for (option, given) in [("--head-epochs", self.head_epochs.is_some()), ("--draws", self.draws.is_some())] {
            if given && !augment.retrains_head() {
                let what = "belongs to --augment retrain or gratin, which were not asked for";
                return Err(Error::argument(option, what));
            }
        }
        let of_gratin = [
            ("--components", self.components.is_some()),
            ("--density", self.density.is_some()),
            ("--select", self.select.is_some()),
            ("--influence", self.influence.is_some()),
        ];
        for (option, given) in of_gratin {
            if given && augment != Augment::Gratin {
                return Err(Error::argument(option, "belongs to --augment gratin, which was not asked for"));
            }
        }
        if let (Some(_), Some(density)) = (self.components, self.density.filter(|density| !density.takes_components()))
        {
            let what = format!("belongs to mixtures; {density} is {}", density.about());
            return Err(Error::argument("--components", what));
        }
        if self.through.is_some() && self.select.is_none() && self.influence.is_none() {
            return Err(Error::argument("--through", "belongs to --select and --influence, which were not asked for"));
        }
        if let (Some(rare), Some(others)) = (self.rare, self.per_class)
            && rare >= others
        {
            return Err(Error::argument("--rare", format!("{rare} graphs are not fewer than --per-class {others}")));
        }
        if let Some(share) = self.select.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(Error::argument("--select", format!("a share of {share} new vectors; it must lie in 0 to 1")));
        }
        augment.transform(self.strength)?;
        augment.mixup(self.strength)?;
        Ok(())
    }
}

fn refuse_given(options: &[(&'static str, bool)], data: &str) -> gnarl_graph::Result<()> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let what = format!(
                "belongs to sets of graphs, and {data} is one graph; `gnarl data list` names those of task graph"
            );
            Err(Error::argument(*option, what))
        }
    }
}

/// Everything needed to run it again.
#[derive(Debug, Clone, Serialize)]
pub struct SetConfig {
    pub data: String,
    pub recipe: Recipe,
    #[serde(flatten)]
    pub graph: GraphConfig,
    pub folds: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_class: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare: Option<usize>,
    pub inits: usize,
    pub seed: u64,
}

/// The recipe's settings with what the user said put over them.
fn config(
    model: &ModelArgs,
    classifier: &ClassifierArgs,
    augment: Augment,
    loaded: &Dataset,
) -> gnarl_graph::Result<GraphConfig> {
    let node_features = NodeFeatures::of(loaded.graph_set()?.graphs());
    let mut config = model.recipe.graph_config(&loaded.name, model.model, augment, node_features);
    let settings = &mut config.classifier;
    model.over_network(&mut settings.network)?;
    model.over_training(&mut config.training);
    set(&mut settings.readout, classifier.readout);
    set(&mut settings.head_dropout, classifier.head_dropout);
    set(&mut config.batch_size, classifier.batch_size);
    set(&mut config.preparation.features, model.features);
    config.preparation.operator = model.operator()?;
    Ok(config)
}

/// What `gnarl train` found on a set of graphs.
#[derive(Debug, Serialize)]
pub struct SetReport {
    data: String,
    model: String,
    /// One value per fold, the mean over its initialisations.
    test_accuracy: Accuracy,
    val_accuracy: Accuracy,
    /// Median milliseconds of an epoch over the training graphs.
    epoch_ms: f64,
    seconds: f64,
    parameters: usize,
    interrupted: bool,
    config: SetConfig,
    runs: Vec<serde_json::Value>,
    /// Where a fresh head was trained: the same runs before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    augmentation: Option<AugmentationReport>,
    /// Where asked for: the influence of drawn vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    influence: Option<InfluenceReport>,
    /// Of the test graphs of all runs.
    #[serde(flatten)]
    certainty: Certainty,
    /// Files of figures and tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
    /// What a learnable operator's scalars came to, over the runs.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    operator_parameters: Vec<(String, Accuracy)>,
    /// The initialisations tried, where it was for us to choose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    initialisations: Vec<Tried>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
}

/// What the data axis changed, fold by fold.
#[derive(Debug, Serialize)]
struct AugmentationReport {
    name: Augment,
    /// Without it: the head that was trained with the rest.
    none_test_accuracy: Accuracy,
    /// With it minus without.
    minus_none: PairedDifference,
    /// Where vectors were drawn: the control, the same fresh head without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    retrain_test_accuracy: Option<Accuracy>,
    /// With them minus the control.
    #[serde(skip_serializing_if = "Option::is_none")]
    minus_retrain: Option<PairedDifference>,
    /// Median seconds of a run that it took.
    seconds: f64,
    /// Where vectors were drawn: the fewest and the most Gaussians that the density of a class has.
    #[serde(skip_serializing_if = "Option::is_none")]
    gaussians: Option<(usize, usize)>,
    /// Of drawn vectors: the mean distance to the original ones of their class, over the runs, and that among the original ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    latent_distance: Option<LatentDistance>,
}

/// How far drawn vectors are from those they were drawn after.
#[derive(Debug, Serialize)]
struct LatentDistance {
    drawn: Accuracy,
    original: Accuracy,
}

impl LatentDistance {
    fn new(runs: &[Run]) -> gnarl_graph::Result<Option<Self>> {
        let drawn = |run: &Run| run.fresh_head.as_ref()?.drawn.as_ref().map(|d| (d.distance, d.original_distance));
        let (drawn, original): (Vec<f64>, Vec<f64>) = runs.iter().filter_map(drawn).unzip();
        match drawn.is_empty() {
            true => Ok(None),
            false => Ok(Some(Self { drawn: Accuracy::of(drawn)?, original: Accuracy::of(original)? })),
        }
    }
}

impl AugmentationReport {
    fn new(name: Augment, runs: &[Run], inits: usize) -> gnarl_graph::Result<Option<Self>> {
        if runs.iter().any(|run| run.fresh_head.is_none()) {
            return Ok(None);
        }
        let before = |run: &Run| run.fresh_head.as_ref().map_or(run.test_accuracy, |head| head.none_test_accuracy);
        let none = graph::by_fold(runs, inits, before);
        let with = graph::by_fold(runs, inits, |run| run.test_accuracy);
        let control_of = |run: &Run| run.fresh_head.as_ref().and_then(|head| head.retrain_test_accuracy);
        let has_control = runs.iter().all(|run| control_of(run).is_some());
        let retrain = has_control.then(|| graph::by_fold(runs, inits, |run| control_of(run).unwrap_or_default()));
        let minus_retrain = retrain.as_ref().map(|retrain| paired_difference(&with, retrain)).transpose()?;
        let seconds = median(runs.iter().filter_map(|run| Some(run.fresh_head.as_ref()?.seconds)).collect());
        let latent_distance = LatentDistance::new(runs)?;
        Ok(Some(Self {
            name,
            minus_none: paired_difference(&with, &none)?,
            none_test_accuracy: Accuracy::of(none)?,
            retrain_test_accuracy: retrain.map(Accuracy::of).transpose()?,
            minus_retrain,
            seconds,
            gaussians: gaussians(runs),
            latent_distance,
        }))
    }

    /// Accuracies without it, of its control where there is one, and with it.
    fn table(&self, with: &Accuracy) -> comfy_table::Table {
        let nothing = || "-".to_string();
        let mut rows = vec![vec!["none".into(), self.none_test_accuracy.text(), nothing(), nothing(), nothing()]];
        let mut headers = vec!["augmentation", ">test accuracy", ">minus none", ">minus retrain", ">seconds"];
        if let Some(retrain) = &self.retrain_test_accuracy {
            let minus_none = paired_difference(&retrain.runs, &self.none_test_accuracy.runs);
            let minus_none = minus_none.map_or_else(|_| nothing(), |of| difference(&of));
            rows.push(vec!["retrain".into(), retrain.text(), minus_none, nothing(), nothing()]);
        }
        let minus_retrain = self.minus_retrain.as_ref().map_or_else(nothing, difference);
        let minus_none = difference(&self.minus_none);
        rows.push(vec![self.name.to_string(), with.text(), minus_none, minus_retrain, real(self.seconds)]);
        if self.minus_retrain.is_none() {
            const MINUS_RETRAIN: usize = 3;
            headers.remove(MINUS_RETRAIN);
            rows.iter_mut().for_each(|row| _ = row.remove(MINUS_RETRAIN));
        }
        let mut table = output::table(&headers);
        table.add_rows(rows);
        table
    }
}

/// The fewest and the most Gaussians in the density of a class.
fn gaussians(runs: &[Run]) -> Option<(usize, usize)> {
    let drawn = runs.iter().filter_map(|run| run.fresh_head.as_ref()?.drawn.as_ref());
    let counts: Vec<usize> = drawn.flat_map(|drawn| drawn.fits.iter().map(|fit| fit.components)).collect();
    Some((*counts.iter().min()?, *counts.iter().max()?))
}

/// A paired difference with its standard error, starred where it is clear.
pub fn difference(of: &PairedDifference) -> String {
    let PairedDifference { mean, standard_error, .. } = of;
    let clear = if of.is_clear() { " *" } else { "" };
    match standard_error.is_finite() {
        true => format!("{mean:+.2} ± {standard_error:.2}{clear}"),
        false => format!("{mean:+.2}"),
    }
}

/// The folds with `count` training graphs of each class; of class `i` modulo classes of fold `i` only `rare`, where that is asked for.
fn fewer(
    folds: &[Split],
    labels: &Labels,
    count: usize,
    rare: Option<usize>,
    seed: u64,
) -> gnarl_graph::Result<Vec<Split>> {
    let of_fold = |(i, fold): (usize, &Split)| {
        let mut of_classes = vec![count; labels.num_classes()];
        let in_turn = i % of_classes.len().max(1);
        if let (Some(rare), Some(of_class)) = (rare, of_classes.get_mut(in_turn)) {
            *of_class = rare;
        }
        fold.fewer(labels, &of_classes, seed)
    };
    folds.iter().enumerate().map(of_fold).collect()
}

/// Trains on every fold and reports.
pub fn train(global: &Global, args: &TrainArgs, loaded: &Dataset, start: Instant) -> anyhow::Result<SetReport> {
    let graphs = loaded.graph_set()?;
    args.depth.refuse_on_graph_sets()?;
    args.study.check()?;
    let mut folds = protocol_folds(loaded, global.seed, args.runs.unwrap_or(usize::MAX))?;
    if let Some(count) = args.study.per_class {
        folds = fewer(&folds, graphs.labels(), count, args.study.rare, global.seed)?;
    }
    let mut graph = config(&args.model, &args.classifier, args.study.augment(), loaded)?;
    graph.augmentation = args.study.settings();
    set(&mut graph.head_epochs, args.study.head_epochs);
    set(&mut graph.components, args.study.components);
    graph.components = graph.augmentation.density.components(graph.components);
    let keep_degrees = args.study.keep_degrees;
    let corruption = args.study.corrupt.map(Corruption::new).transpose()?;
    graph.corruption = corruption.map(|edges| TrainingCorruption { edges, keep_degrees });
    graph.training.check()?;
    graph.classifier.check()?;
    let inits = args.study.inits.unwrap_or(1);
    let mut config = SetConfig {
        data: loaded.name.clone(),
        recipe: args.model.recipe,
        graph,
        folds: folds.len(),
        per_class: args.study.per_class,
        rare: args.study.rare,
        inits,
        seed: global.seed,
    };

    let again = usize::from(args.save.is_some());
    let trainings = config.graph.preparation.operator.candidates() * folds.len() * inits + again;
    let steps = (trainings * config.graph.training.epochs) as u64;
    let bar = progress::steps(&format!("{} on {}", config.graph.classifier.network.backbone, config.data), steps);
    let watch = Watch { on_epoch: &|_, _| bar.inc(1), stop: interrupt::flag() };
    let attempt = |operator| {
        let graph = with_operator(&config.graph, operator);
        let prepared = PreparedSet::new(graphs, &graph, global.seed)?;
        let runs = graph::runs(&prepared, &graph, &folds, inits, global.seed, &watch)?;
        Ok((prepared, runs))
    };
    let settled = settle_operator(config.graph.preparation.operator, &watch, attempt, |run: &Run| run.val_accuracy)?;
    let (operator, prepared, runs, tried) = settled;
    config.graph.preparation.operator = operator;
    if let Some(file) = &args.save {
        save_first(&prepared, &config, &folds[0], &watch, file)?;
    }
    let parameters = prepared.classifier(&config.graph.classifier, 0)?.params().num_trained();
    bar.finish_and_clear();

    let certainty = Certainty::new(&runs)?;
    let influence = InfluenceReport::new(&runs, inits)?;
    let title = format!("{} on {}", config.graph.classifier.network.backbone, config.data);
    let mut written = Vec::new();
    if let (Some(stem), Some(influence)) = (&args.study.influence, &influence) {
        written.extend(influence.write(&runs, stem, &title)?);
    }
    if let Some(stem) = &args.study.histograms {
        written.extend(certainty.draw(stem, &title)?);
    }

    let over = |f: fn(&Run) -> f64| Accuracy::of(graph::by_fold(&runs, inits, f));
    let scalars: Vec<_> = runs.iter().map(|run| &run.operator[..]).collect();
    Ok(SetReport {
        data: config.data.clone(),
        model: config.graph.classifier.network.backbone.to_string(),
        test_accuracy: over(|r| r.test_accuracy)?,
        val_accuracy: over(|r| r.val_accuracy)?,
        epoch_ms: median(runs.iter().map(|r| r.trained.epoch_ms).collect()),
        seconds: start.elapsed().as_secs_f64(),
        parameters,
        interrupted: runs.iter().any(|r| r.trained.interrupted),
        augmentation: AugmentationReport::new(config.graph.augment, &runs, inits)?,
        influence,
        certainty,
        written: written.iter().map(|file| file.display().to_string()).collect(),
        config,
        operator_parameters: operator_parameters(&scalars)?,
        initialisations: tried,
        runs: runs.iter().map(|r| describe(r, &r.operator, args.curves)).collect::<Result<_, _>>()?,
        saved: args.save.as_ref().map(|file| file.display().to_string()),
    })
}

fn with_operator(config: &GraphConfig, operator: OperatorChoice) -> GraphConfig {
    GraphConfig { preparation: GraphPreparation { operator, ..config.preparation }, ..config.clone() }
}

/// The first run once more, which is the same run, to keep its classifier.
fn save_first(
    prepared: &PreparedSet,
    config: &SetConfig,
    fold: &Split,
    watch: &Watch<'_>,
    file: &Path,
) -> anyhow::Result<()> {
    let (_, classifier) = graph::run(prepared, &config.graph, fold, config.seed, watch)?;
    let preparation = serde_json::to_value(config.graph.preparation)?;
    let mean_log_degree = prepared.data.mean_log_degree();
    let checkpoint = Checkpoint::of_classifier(&classifier, &config.data, mean_log_degree, preparation);
    Ok(checkpoint.save_params(classifier.params(), file)?)
}

impl SetReport {
    /// From what vectors were drawn, and how many.
    fn drawn(&self) -> String {
        let GraphConfig { augmentation, .. } = &self.config.graph;
        let density = augmentation.density;
        let gaussians = self.augmentation.as_ref().and_then(|report| report.gaussians);
        let count = match gaussians.filter(|_| density.takes_components()) {
            Some((least, most)) if least == most => format!(" ({most})"),
            Some((least, most)) => format!(" ({least} to {most})"),
            None => String::new(),
        };
        let many = match augmentation.draws {
            Draws::AsMany => "as many as the class has graphs",
            Draws::Level => "up to twice the graphs of the largest class",
        };
        format!("{}{count}; {many}", density.about())
    }
}

impl Report for SetReport {
    fn text(&self) -> String {
        let SetConfig { graph: g, folds, inits, .. } = &self.config;
        let ClassifierConfig { network, readout, head_dropout } = &g.classifier;
        let mut rows = vec![
            ("test accuracy", self.test_accuracy.text()),
            ("validation accuracy", self.val_accuracy.text()),
            ("folds, initialisations of each", format!("{folds}, {inits}")),
            ("node features", node_features(&g.preparation)),
            ("operator", g.preparation.operator.to_string()),
            ("hidden, layers, dropout", format!("{}, {}, {}", network.hidden, network.layers, network.dropout)),
            ("readout, dropout before the head", format!("{readout}, {head_dropout}")),
            ("epoch", format!("{} ms", real(self.epoch_ms))),
            ("all", format!("{} s", real(self.seconds))),
        ];
        if let Some(TrainingCorruption { edges, keep_degrees }) = &g.corruption {
            let of_degrees = match g.preparation.node_features {
                NodeFeatures::Own => "",
                NodeFeatures::Degrees { .. } if *keep_degrees => "; degree features of the graphs before it",
                NodeFeatures::Degrees { .. } => "; degree features of the corrupted graphs",
            };
            let text = format!("{} % of the training graphs' edges{of_degrees}", real(100.0 * edges.share));
            rows.insert(4, ("corrupted", text));
        }
        if let Some(strength) = g.augmentation.strength {
            let how = match (g.augment.uses_graphs(), g.augmentation.copies) {
                (false, _) => "in every step",
                (true, Copies::EachEpoch) => "new copies in every epoch, in the place of the training graphs",
                (true, Copies::Fixed) => "one copy of each training graph, beside them",
            };
            rows.insert(4, ("augmentation", format!("{} of strength {strength}, {how}", g.augment)));
        }
        if let Some(share) = g.augmentation.select {
            let through = match g.augmentation.through {
                Through::Head => "the head",
                Through::Network => "the whole network",
            };
            let share = real(100.0 * share);
            let text = format!("{share} % of the drawn vectors, by influence on validation graphs through {through}");
            rows.insert(4, ("selected", text));
        }
        if g.augment == Augment::Gratin {
            rows.insert(4, ("drawn", self.drawn()));
        }
        if let Some(count) = self.config.per_class {
            let rare = self.config.rare.map_or(String::new(), |rare| format!(", {rare} of one class in turn"));
            rows.insert(3, ("training graphs", format!("at most {count} of each class{rare}")));
        }
        if let Some(file) = &self.saved {
            rows.push(("saved", file.clone()));
        }
        if self.interrupted {
            rows.push(("interrupted", "yes: these are the epochs done so far".into()));
        }
        let mut text = format!("{} on {}\n{}", self.model, self.data, output::render(&output::pairs(rows)));
        if let Some(report) = &self.augmentation {
            text += &format!("\n{}", output::render(&report.table(&self.test_accuracy)));
            if let Some(LatentDistance { drawn, original }) = &report.latent_distance {
                let (drawn, original) = (real(drawn.mean), real(original.mean));
                text +=
                    &format!("mean distance of a drawn vector to those of its class {drawn}, among those {original}\n");
            }
        }
        if let Some(influence) = &self.influence {
            text += &format!("\n{}", influence.text());
        }
        for file in &self.written {
            text += &format!("wrote {file}\n");
        }
        text + &super::train::learned_text(&self.operator_parameters, &self.initialisations)
    }
}

fn node_features(preparation: &GraphPreparation) -> String {
    match preparation.node_features {
        NodeFeatures::Own => "the set's own".into(),
        NodeFeatures::Degrees { max } => format!("one-hot degrees, {max} and more in the last column"),
    }
}

/// What `gnarl bench epoch` found on a set of graphs.
#[derive(Debug, Serialize)]
pub struct SetEpochReport {
    data: String,
    model: String,
    /// Median milliseconds of one epoch over the training graphs of the first fold.
    epoch_ms: f64,
    epochs: usize,
    threads: usize,
    parameters: usize,
    /// Training graphs.
    graphs: usize,
    config: GraphConfig,
}

/// Trains on the first fold and reports the median epoch.
pub fn epoch(
    global: &Global,
    model: &ModelArgs,
    classifier: &ClassifierArgs,
    loaded: &Dataset,
) -> anyhow::Result<SetEpochReport> {
    let set = loaded.graph_set()?;
    let fold = &protocol_folds(loaded, global.seed, 1)?[0];
    let mut config = config(model, classifier, Augment::None, loaded)?;
    if let OperatorChoice::Cgso(cgso) = &mut config.preparation.operator
        && cgso.init == Initialisation::Auto
    {
        // Epochs cost the same from wherever they start.
        cgso.init = Initialisation::Of(ClassicalOperator::NormalisedAdjacency);
    }
    config.training.keep = Keep::Last;
    let prepared = PreparedSet::new(set, &config, global.seed)?;
    let watch = Watch { on_epoch: &|_, _| (), stop: &AtomicBool::new(false) };
    let (run, trained) = graph::run(&prepared, &config, fold, global.seed, &watch)?;
    Ok(SetEpochReport {
        data: loaded.name.clone(),
        model: config.classifier.network.backbone.to_string(),
        epoch_ms: run.trained.epoch_ms,
        epochs: config.training.epochs,
        threads: rayon::current_num_threads(),
        parameters: trained.params().num_trained(),
        graphs: fold.train().len(),
        config,
    })
}

impl Report for SetEpochReport {
    fn text(&self) -> String {
        let Self { model, data, graphs, threads, .. } = self;
        format!("{model} on {data}: {} ms an epoch of {graphs} graphs ({threads} threads)\n", real(self.epoch_ms))
    }
}

/// What `gnarl predict` found on a set of graphs.
#[derive(Debug, Serialize)]
pub struct SetPredictReport {
    data: String,
    model: String,
    graphs: usize,
    /// Per cent right among the test graphs of the first fold.
    test_accuracy: f64,
    /// The class of every graph.
    predictions: Vec<usize>,
    /// Graphs per predicted class.
    class_counts: Vec<usize>,
}

/// Loads a classifier and predicts.
pub fn predict(global: &Global, stored: &Stored, loaded: &Dataset) -> anyhow::Result<SetPredictReport> {
    const BATCH: usize = 256;
    let set = loaded.graph_set()?;
    let checkpoint = &stored.checkpoint;
    let Some(classifier) = stored.classifier()? else {
        let what = format!("a network of nodes, but {} is a set of graphs", loaded.name);
        return Err(stored.wrong(&what).into());
    };
    let preparation: GraphPreparation = serde_json::from_value(checkpoint.preparation.clone())
        .map_err(|e| stored.wrong(&format!("its preparation is broken: {e}")))?;
    let graphs: &[Graph] = set.graphs();
    let data = GraphData::new(graphs, checkpoint.network.backbone, &preparation)?;
    let classes = set.labels().num_classes();
    if (data.in_dim(), classes) != (checkpoint.in_dim, checkpoint.num_classes) {
        let what = format!(
            "trained on {} with {} features and {} classes, but {} has {} and {classes}",
            checkpoint.dataset,
            checkpoint.in_dim,
            checkpoint.num_classes,
            loaded.name,
            data.in_dim()
        );
        return Err(stored.wrong(&what).into());
    }
    let all: Vec<u32> = (0..graphs.len() as u32).collect();
    let scores = graph::scores(&classifier, &data.batches(&all, BATCH)?)?;
    let rows = scores.to_vec2::<f32>().map_err(gnarl::Error::from)?;
    let predictions: Vec<usize> = rows.iter().map(|scores| argmax(scores)).collect();
    let fold = &protocol_folds(loaded, global.seed, 1)?[0];
    let truth: Vec<u32> = fold.test().iter().filter_map(|&g| set.labels().get(g)).collect();
    let test_accuracy = Evaluation::new(&data, fold.test(), &truth)?.accuracy(&classifier)?;
    let mut class_counts = vec![0; classes];
    predictions.iter().for_each(|&class| class_counts[class] += 1);
    Ok(SetPredictReport {
        data: loaded.name.clone(),
        model: checkpoint.network.backbone.to_string(),
        graphs: graphs.len(),
        test_accuracy,
        predictions,
        class_counts,
    })
}

impl Report for SetPredictReport {
    fn text(&self) -> String {
        let mut table = output::table(&["class", ">graphs"]);
        for (class, count) in self.class_counts.iter().enumerate() {
            table.add_row([class.to_string(), output::count(*count as u64)]);
        }
        let right = format!("{:.2} % right on the first fold's test graphs", self.test_accuracy);
        format!("{} on {}: {right}\n{}", self.model, self.data, output::render(&table))
    }
}
