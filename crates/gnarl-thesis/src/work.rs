//! The work of a cell: a model, trained in a number of runs, and the settings of its kind of work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gnarl_data::Task;
use gnarl_data::registry::{self, Protocol};
use gnarl_data::{Benchmark, Content, Dataset};
use gnarl_graph::centrality::Centrality;
use gnarl_graph::community::study::{Score, sbbam_scores};
use gnarl_graph::community::{ClusterConfig, Method};
use gnarl_graph::generate::{Halves, SbbamConfig, sparse_dense_halves};
use gnarl_graph::{Error as GraphError, Graph, Split};
use rayon::prelude::*;
use serde::Serialize;

use super::attacked::Threat;
use super::graphs::{Classifier, RareClass, inits};
use super::measure::Agreement;
use super::measured::{ByAttack, ByDepth, LearnedOperator, Measured, POLICIES, Times};
use super::recipe::Recipe;
use super::table::{MAX_DEPTH, Property, SetProperty, Spec};
use gnarl::augment::{Copies, Corruption};
use gnarl::model::fit::FitOptions;
use gnarl::model::{Fitted, Model, TrainingCorruption};
use gnarl::study::attack::{
    AttackCache, AttackStudy, AttackerAccess, LabelKnowledge, Mode, RunOptions, attacked_part,
};
use gnarl::study::train::{ExitRun, Run, TrainResult, TrainStudy};
use gnarl_graph::Result;
use gnarl_nn::depth::{Exits, Kind, Scheme};
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::{Centralities, Cgso, OperatorChoice};
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::Attack;
use gnarl_robust::inference::{Inference, RobustCrf};

/// Number of graphs sampled for each requested run: the thesis' 200 where it has ten runs
/// elsewhere.
const GRAPHS_A_RUN: usize = 20;

/// Number of nodes of the joined halves, as in the thesis.
const HALVES_NODES: usize = 5000;

/// The work of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Runs of node classification: run `i` takes split `i` and seed `seed + i`.
    NodeClassification(Runs),
    /// Runs of node classification at every depth from 0 to that of the network, and the best
    /// depth.
    BestDepth(Runs),
    /// Runs on joined sparse and dense halves of the graph: run `i` samples halves and split with
    /// seed `seed + i`.
    Halves(Runs<Joined>),
    /// Runs of node classification with an exit at every layer, evaluated with the thesis'
    /// policies.
    AdaptiveDepth(Runs),
    /// Attacks on trained models: run `i` takes split `i` and seed `seed + i`.
    Attacked(Runs<UnderAttack>),
    /// Runs of graph classification: run `i` takes fold `i`.
    Graphs(Runs<OnGraphs>),
    /// Runs with an exit at every layer, one after another, for their seconds.
    ExitsTime(Runs),
    /// Runs whose predictions for all nodes are timed one after another.
    InferenceTime(Runs),
    /// Communities of sampled graphs: graph `i` comes from seed `seed + i`.
    Clustering(Clustering),
    /// A property of the graph.
    Property(Property),
    /// A property of the set of graphs.
    SetProperty(SetProperty),
}

/// A model, fitted in a number of runs, and the settings of its kind of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runs<More = Nothing> {
    /// The recipe of the settings.
    pub recipe: Recipe,
    /// The model, with every option that applies filled in.
    pub model: Model,
    /// The settings of this kind of work.
    #[serde(flatten)]
    pub more: More,
    /// Number of runs.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
}

/// The clustering method, and the number of graphs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clustering {
    /// The method.
    pub method: Method,
    /// The centrality, for spectral clustering.
    #[serde(serialize_with = "by_name")]
    pub centrality: Centrality,
    /// Number of sampled graphs.
    pub graphs: usize,
    /// Seed of the first graph.
    pub seed: u64,
}

/// No further settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nothing {}

/// Settings of joined halves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Joined {
    /// Number of nodes of the two halves together.
    pub nodes: usize,
}

/// Settings of an attack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderAttack {
    /// The split protocol; `None` for the dataset's own.
    pub protocol: Option<Protocol>,
    /// The attack.
    pub attack: Attack,
    /// The attacked phase.
    pub mode: Mode,
    /// True if the attacker uses a GCN surrogate.
    pub surrogate: bool,
    /// The class labels that the attacker has.
    pub known: LabelKnowledge,
    /// True if graphs of a set are attacked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub graphs: bool,
}

impl UnderAttack {
    fn task(&self) -> Task {
        if self.graphs { Task::Graph } else { Task::Node }
    }
}

/// Settings of graph classification.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnGraphs {
    /// The corruption of the structure of training graphs.
    pub corruption: Option<TrainingCorruption>,
    /// The reduction to few training graphs of each fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few: Option<RareClass>,
    /// Number of initialisations of each fold, which counts with their mean.
    pub inits: usize,
    /// True if seconds are measured.
    pub timed: bool,
}

impl Work {
    /// The work of a spec on a dataset, with a recipe's settings.
    pub(super) fn new(
        spec: Spec,
        dataset: &str,
        recipe: Recipe,
        runs: usize,
        seed: u64,
    ) -> Result<Self> {
        let filled = |recipe: Recipe, model: Model, task: Task| -> Result<Runs> {
            Ok(Runs {
                recipe,
                model: model.plan(task)?.model,
                more: Nothing {},
                runs,
                seed,
            })
        };
        let chapter_4 =
            |model: Model| filled(recipe, recipe.fill_chapter_4(model, dataset), Task::Node);
        Ok(match spec {
            Spec::Property(property) => Work::Property(property),
            Spec::SetProperty(property) => Work::SetProperty(property),
            Spec::Graphs {
                classifier,
                measure,
            } => {
                let runs = filled(recipe, classifier.model(dataset, recipe), Task::Graph)?;
                // The augmentation for few graphs was developed on the folds of the first seed, and
                // is evaluated on others.
                let seed = seed.wrapping_add(u64::from(classifier.few.is_some()));
                Work::Graphs(on_graphs(
                    classifier,
                    dataset,
                    measure.is_seconds(),
                    Runs { seed, ..runs },
                )?)
            }
            Spec::Attacked {
                subject, threat, ..
            } => {
                let task = task_of(dataset);
                let (recipe, model) = subject.model(dataset, recipe, task);
                let inference = threat
                    .inference
                    .unwrap_or_default()
                    .on(attacked_part(&threat.attack));
                let model = recipe.fill(model.inference(inference), dataset, task);
                let runs = filled(recipe, model, task)?;
                let runs = Runs {
                    runs: runs.runs.min(folds_of(dataset)),
                    ..runs
                };
                Work::Attacked(runs.with(UnderAttack::new(threat, task)?))
            }
            Spec::BestDepth { backbone } => {
                Work::BestDepth(chapter_4(at_depth(backbone, MAX_DEPTH))?)
            }
            Spec::Halves { depth } => {
                Work::Halves(chapter_4(at_depth(Backbone::GCN, depth))?.with(Joined {
                    nodes: HALVES_NODES,
                }))
            }
            Spec::NodeClassification { backbone, operator } => {
                let model =
                    recipe.fill(Model::new(backbone).operator(operator), dataset, Task::Node);
                Work::NodeClassification(filled(recipe, model, Task::Node)?)
            }
            Spec::FixedDepth { backbone, layers } => {
                Work::NodeClassification(chapter_4(at_depth(backbone, layers))?)
            }
            Spec::Learned { centrality, .. } => {
                let cgcn = Spec::NodeClassification {
                    backbone: Backbone::GCN,
                    operator: OperatorChoice::Cgso(Cgso::by(centrality)),
                };
                return Self::new(cgcn, dataset, recipe, runs, seed);
            }
            Spec::AdaptiveDepth {
                backbone, scheme, ..
            } => Work::AdaptiveDepth(chapter_4(Model::new(backbone).depth(exits_by(scheme)))?),
            Spec::ExitsTime { backbone, scheme } => {
                Work::ExitsTime(chapter_4(Model::new(backbone).depth(exits_by(scheme)))?)
            }
            Spec::InferenceTime {
                neighbours,
                updates,
            } => {
                let inference = Inference::RobustCrf(RobustCrf {
                    samples: neighbours,
                    iterations: updates,
                    ..RobustCrf::default()
                });
                let recipe = if recipe == Recipe::Thesis {
                    Recipe::ThesisCh6
                } else {
                    recipe
                };
                let model = recipe.fill(
                    Model::new(Backbone::GCN).inference(inference),
                    dataset,
                    Task::Node,
                );
                Work::InferenceTime(filled(recipe, model, Task::Node)?)
            }
            Spec::Clustering {
                method, centrality, ..
            } => Work::Clustering(Clustering {
                method,
                centrality,
                graphs: GRAPHS_A_RUN * runs,
                seed,
            }),
        })
    }

    /// The kind of work that is computed once.
    pub(super) const PROPERTY: &'static str = "property";

    /// The kind of the work: cells of one kind take about as long for the same effort.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Work::NodeClassification(_) => "nodes",
            Work::BestDepth(_) => "best depth",
            Work::Halves(_) => "halves",
            Work::AdaptiveDepth(_) => "exits",
            Work::Attacked(runs) => runs.more.attack.name(),
            Work::Graphs(runs) => runs.model.augment.name(),
            Work::ExitsTime(_) => "seconds of exits",
            Work::InferenceTime(_) => "seconds of answers",
            Work::Clustering(clustering) => clustering.method.name(),
            Work::Property(_) | Work::SetProperty(_) => Self::PROPERTY,
        }
    }

    /// Effort for each entry of the graph, to estimate the time left: width times epochs, over all
    /// trainings.
    pub(super) fn effort(&self) -> f64 {
        match self {
            Work::Property(_) | Work::SetProperty(_) => 1.0,
            Work::Clustering(clustering) => clustering.graphs as f64,
            Work::NodeClassification(runs) | Work::AdaptiveDepth(runs) => runs.effort(Task::Node),
            Work::ExitsTime(runs) | Work::InferenceTime(runs) => runs.effort(Task::Node),
            Work::BestDepth(runs) => runs.effort(Task::Node) * (MAX_DEPTH + 1) as f64,
            Work::Halves(runs) => runs.effort(Task::Node),
            Work::Attacked(runs) => {
                let again = usize::from(runs.more.mode == Mode::Poisoning)
                    + usize::from(runs.more.surrogate);
                runs.effort(runs.more.task()) * (1 + again) as f64
            }
            Work::Graphs(runs) => {
                let copies = runs
                    .model
                    .augment
                    .method()
                    .transform()
                    .map(|(_, copies)| copies);
                let doubled = if copies == Some(Copies::Fixed) {
                    2.0
                } else {
                    1.0
                };
                runs.effort(Task::Graph) * runs.more.inits as f64 * doubled
            }
        }
    }

    /// Runs the work, with a cache of attacked graphs of its dataset. `None` if `stop` was set
    /// before all runs were done.
    pub(super) fn run(
        &self,
        loaded: &Dataset,
        made: &AttackCache,
        stop: &AtomicBool,
    ) -> Result<Option<Measured>> {
        match self {
            Work::Property(property) => {
                let graph = loaded.graph()?;
                let (values, parts) = (vec![property.of(graph)?], property.parts(graph));
                Ok(Some(Measured {
                    values,
                    parts,
                    ..Measured::default()
                }))
            }
            Work::SetProperty(property) => Ok(Some(Measured {
                values: vec![property.of(loaded.graph_set()?)],
                ..Measured::default()
            })),
            Work::NodeClassification(runs) => {
                Ok(classify(loaded, runs, stop)?.map(|(found, _)| found))
            }
            Work::BestDepth(runs) => best_depth(loaded, runs, stop),
            Work::Halves(runs) => halves(loaded.graph()?, runs, stop),
            Work::AdaptiveDepth(runs) => adaptive_depth(loaded, runs, stop),
            Work::ExitsTime(runs) => seconds_of_exits(loaded, runs, stop),
            Work::InferenceTime(runs) => seconds_of_answers(loaded, runs, stop),
            Work::Clustering(clustering) => Ok(Some(clustering.run()?)),
            Work::Attacked(runs) => runs.attack(loaded, made, stop),
            Work::Graphs(runs) => runs.classify(loaded, stop),
        }
    }
}

fn by_name<S: serde::Serializer>(
    what: &impl std::fmt::Display,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(what)
}

impl Clustering {
    fn run(&self) -> Result<Measured> {
        let config = ClusterConfig {
            centrality: self.centrality,
            ..ClusterConfig::new(self.method)
        };
        let scores = sbbam_scores(
            &SbbamConfig::published(),
            self.graphs,
            &config,
            self.seed,
            &|| (),
        )?;
        let over = |f: fn(&Score) -> f64| {
            scores
                .iter()
                .map(|score| 100.0 * f(score))
                .collect::<Vec<f64>>()
        };
        let (ami, ari) = (over(|score| score.ami), over(|score| score.ari));
        // Graphs take the place of splits: methods are compared on the same graphs.
        let splits = (0..scores.len() as u64)
            .map(|i| format!("graph {}", self.seed.wrapping_add(i)))
            .collect();
        let named = |agreement: Agreement, values| (agreement.name().to_string(), values);
        let parts = vec![
            named(Agreement::Ami, ami.clone()),
            named(Agreement::Ari, ari),
        ];
        Ok(Measured {
            values: ami,
            splits,
            parts,
            ..Measured::default()
        })
    }
}

impl Runs {
    /// The runs with the settings of a kind of work.
    fn with<More>(self, more: More) -> Runs<More> {
        let Runs {
            recipe,
            model,
            runs,
            seed,
            ..
        } = self;
        Runs {
            recipe,
            model,
            more,
            runs,
            seed,
        }
    }
}

impl<More> Runs<More> {
    /// Effort of the runs: width times epochs, over all trainings.
    fn effort(&self, task: Task) -> f64 {
        let Ok(plan) = self.model.plan(task) else {
            return 0.0;
        };
        (plan.network.hidden * plan.training.epochs * plan.trainings(None) * self.runs) as f64
    }

    fn study(&self) -> TrainStudy {
        TrainStudy {
            runs: self.runs,
            seed: self.seed,
            ..TrainStudy::new(self.model)
        }
    }
}

/// A model of this depth; GCN and GIN of no layer are a linear map of the features.
fn at_depth(backbone: Backbone, depth: usize) -> Model {
    let linear = depth == 0 && matches!(backbone, Backbone::Gcn(_) | Backbone::Gin(_));
    Model::new(if linear { Backbone::MLP } else { backbone }).layers(depth)
}

/// The runs of a study; `None` if it was stopped before all of them were done.
fn finished(
    study: &TrainStudy,
    benchmark: &Benchmark,
    stop: &AtomicBool,
) -> Result<Option<TrainResult>> {
    let result = study.run(benchmark, &Callbacks::stopped_by(stop))?;
    let is_whole = result.unfinished == 0 && !stop.load(Ordering::Relaxed);
    Ok(is_whole.then_some(result))
}

fn curve(run: &Run) -> Vec<f64> {
    let last = run
        .fit
        .trained
        .last()
        .map_or(&[][..], |trained| &trained.curve);
    last.iter()
        .filter_map(|epoch| epoch.validation.map(|v| v.accuracy))
        .collect()
}

/// Accuracies on the test nodes or graphs of runs, which datasets of the registry always have.
fn test_accuracies(result: &TrainResult) -> Vec<f64> {
    result.over(|run| run.test_accuracy).unwrap_or_default()
}

/// Exits at layers 0 to [`MAX_DEPTH`].
fn exits_by(scheme: Scheme) -> Exits {
    Exits {
        scheme,
        max_depth: MAX_DEPTH,
        policy: Kind::Buckets(Centralities::one(Centrality::Degree)),
    }
}

/// Seconds of training, on all cores, one run after another. `None` if stopped.
fn seconds_of_exits(
    loaded: &Dataset,
    setting: &Runs,
    stop: &AtomicBool,
) -> Result<Option<Measured>> {
    one_by_one(loaded, setting, stop, |fitted, _| {
        Ok(fitted.report().training_seconds)
    })
}

/// Seconds of predictions for all nodes, on all cores, one run after another. `None` if stopped.
fn seconds_of_answers(
    loaded: &Dataset,
    setting: &Runs,
    stop: &AtomicBool,
) -> Result<Option<Measured>> {
    one_by_one(loaded, setting, stop, |fitted, content| {
        let start = Instant::now();
        fitted.predict(content)?;
        Ok(start.elapsed().as_secs_f64())
    })
}

/// A figure of each run, with no other run in parallel.
fn one_by_one(
    loaded: &Dataset,
    setting: &Runs,
    stop: &AtomicBool,
    figure: impl Fn(&Fitted, &Content) -> Result<f64>,
) -> Result<Option<Measured>> {
    let benchmark = loaded.benchmark(setting.seed, setting.runs)?;
    let ready = setting
        .model
        .ready(&benchmark.name, &benchmark.content, FitOptions::default())?;
    let (mut values, mut splits) = (Vec::new(), Vec::new());
    for i in 0..setting.runs {
        let split = &benchmark.splits[i % benchmark.splits.len()];
        let fitted = ready.fit(
            split,
            setting.seed.wrapping_add(i as u64),
            &Callbacks::stopped_by(stop),
        )?;
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        values.push(figure(&fitted, &benchmark.content)?);
        splits.push(split.name().to_string());
    }
    Ok(Some(Measured {
        values,
        splits,
        ..Measured::default()
    }))
}

/// Runs with an exit at every layer; the figure is that of the best layer on validation nodes.
/// `None` if stopped.
fn adaptive_depth(loaded: &Dataset, setting: &Runs, stop: &AtomicBool) -> Result<Option<Measured>> {
    let study = TrainStudy {
        policies: POLICIES.to_vec(),
        ..setting.study()
    };
    let benchmark = loaded.benchmark(study.seed, study.runs)?;
    let Some(result) = finished(&study, &benchmark, stop)? else {
        return Ok(None);
    };
    let exits: Vec<&ExitRun> = result
        .runs
        .iter()
        .filter_map(|run| run.exits.as_ref())
        .collect();
    let depth = ByDepth::new(&exits);
    Ok(Some(Measured {
        values: depth.single_layer.clone(),
        curve: curve(&result.runs[0]),
        splits: result.runs.iter().map(|run| run.split.clone()).collect(),
        depth: Some(Box::new(depth)),
        ..Measured::default()
    }))
}

/// Runs on the dataset's splits, and their mean validation accuracy. `None` if stopped.
fn classify(
    loaded: &Dataset,
    setting: &Runs,
    stop: &AtomicBool,
) -> Result<Option<(Measured, f64)>> {
    let benchmark = loaded.benchmark(setting.seed, setting.runs)?;
    let Some(result) = finished(&setting.study(), &benchmark, stop)? else {
        return Ok(None);
    };
    let val = result
        .val_accuracy()?
        .map_or(f64::NAN, |accuracy| accuracy.mean);
    let found = Measured {
        operator: LearnedOperator::of(setting.model.operator, &result.runs).map(Box::new),
        curve: curve(&result.runs[0]),
        values: test_accuracies(&result),
        splits: result.runs.iter().map(|run| run.split.clone()).collect(),
        ..Measured::default()
    };
    Ok(Some((found, val)))
}

/// The best depth on test nodes, as in the thesis, and on validation nodes; the shallower of equal
/// ones.
fn best_depth(loaded: &Dataset, deepest: &Runs, stop: &AtomicBool) -> Result<Option<Measured>> {
    let mut by_depth: Vec<(Measured, f64)> = Vec::new();
    for depth in 0..=MAX_DEPTH {
        let shape = at_depth(deepest.model.backbone, depth);
        let mut model = Model {
            backbone: shape.backbone,
            ..deepest.model
        };
        model.network.layers = shape.network.layers;
        model.network = model.network.only(|setting| shape.backbone.takes(setting));
        let Some(found) = classify(
            loaded,
            &Runs {
                model,
                ..deepest.clone()
            },
            stop,
        )?
        else {
            return Ok(None);
        };
        by_depth.push(found);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let tests: Vec<f64> = by_depth
        .iter()
        .map(|(found, _)| mean(&found.values))
        .collect();
    let vals: Vec<f64> = by_depth.iter().map(|(_, val)| *val).collect();
    let (on_test, on_val) = (first_best(&tests), first_best(&vals));
    let part = |name: &str, depth: usize| {
        (
            format!("{name} [{depth}]"),
            by_depth[depth].0.values.clone(),
        )
    };
    let parts = vec![part("on test", on_test), part("on validation", on_val)];
    Ok(Some(Measured {
        parts,
        ..by_depth.swap_remove(on_test).0
    }))
}

fn first_best(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Accuracy on the test nodes of joined halves, and of each half.
fn halves(graph: &Graph, setting: &Runs<Joined>, stop: &AtomicBool) -> Result<Option<Measured>> {
    let one = |i: usize| -> Result<(Run, [f64; 2])> {
        let seed = setting.seed.wrapping_add(i as u64);
        let Halves {
            graph, num_sparse, ..
        } = sparse_dense_halves(graph, setting.more.nodes, seed)?;
        let Some(labels) = graph.labels() else {
            return Err(GraphError::argument("halves", "the graph has no labels"));
        };
        // Ch. 3's protocol for the two graphs that the halves come from.
        let split = Split::per_class(labels, 20, 500, 1000, seed)?;
        let (sparse, dense): (Vec<u32>, Vec<u32>) = split
            .test()
            .iter()
            .partition(|&&u| (u as usize) < num_sparse);
        let content = Content::Graph(graph);
        let benchmark = Benchmark {
            name: "halves".into(),
            content,
            splits: vec![split],
        };
        let study = TrainStudy {
            runs: 1,
            seed,
            ..TrainStudy::new(setting.model)
        };
        let mut result = study.run(&benchmark, &Callbacks::stopped_by(stop))?;
        let (Some(fitted), false) = (&result.kept, result.runs.is_empty()) else {
            return Err(GraphError::argument(
                "halves",
                "stopped before a run was done",
            ));
        };
        let predictions = fitted.predict(&benchmark.content)?;
        let accuracy = |items: &[u32]| fitted.accuracy_on(&predictions, &benchmark.content, items);
        let parts = [
            accuracy(&sparse)?.unwrap_or(f64::NAN),
            accuracy(&dense)?.unwrap_or(f64::NAN),
        ];
        Ok((result.runs.swap_remove(0), parts))
    };
    let done = (0..setting.runs)
        .into_par_iter()
        .map(one)
        .collect::<Result<Vec<_>>>();
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let done = done?;
    let part = |name: &str, i: usize| {
        (
            name.to_string(),
            done.iter().map(|(_, parts)| parts[i]).collect(),
        )
    };
    Ok(Some(Measured {
        values: done
            .iter()
            .filter_map(|(run, _)| run.test_accuracy)
            .collect(),
        splits: done.iter().map(|(run, _)| run.split.clone()).collect(),
        curve: curve(&done[0].0),
        parts: vec![part("sparse half", 0), part("dense half", 1)],
        ..Measured::default()
    }))
}

impl UnderAttack {
    /// A threat; fails for an invalid budget.
    fn new(threat: Threat, task: Task) -> Result<Self> {
        threat.attack.check()?;
        Ok(Self {
            protocol: threat
                .tenths
                .then_some(Protocol::LargestComponentFractions {
                    train: 0.1,
                    val: 0.1,
                }),
            attack: threat.attack,
            mode: threat.mode,
            surrogate: threat.surrogate,
            known: LabelKnowledge::True,
            graphs: task == Task::Graph,
        })
    }
}

impl Runs<UnderAttack> {
    /// Attacks on the dataset's splits. `None` if stopped.
    fn attack(
        &self,
        loaded: &Dataset,
        made: &AttackCache,
        stop: &AtomicBool,
    ) -> Result<Option<Measured>> {
        let UnderAttack {
            protocol,
            attack,
            mode,
            surrogate,
            known,
            ..
        } = self.more;
        let benchmark = match protocol {
            Some(protocol) => loaded.benchmark_by(Some(protocol), self.seed, self.runs)?,
            None => loaded.benchmark(self.seed, self.runs)?,
        };
        let study = AttackStudy::new(self.model, attack)
            .mode(mode)
            .surrogate(surrogate.then_some(Backbone::GCN))
            .labels(known)
            .access(AttackerAccess::Network)
            .runs(self.runs)
            .seed(self.seed);
        let watch = Callbacks::stopped_by(stop);
        let result = study.run(&benchmark, RunOptions::new(&watch).cache(made))?;
        if stop.load(Ordering::Relaxed) || result.unfinished > 0 {
            return Ok(None);
        }
        let epochs = self.model.plan(self.more.task())?.training.epochs;
        Ok(Some(Measured {
            values: result
                .runs
                .iter()
                .map(|run| run.attacked_accuracy)
                .collect(),
            attacked: Some(Box::new(ByAttack::new(&result.runs, epochs))),
            splits: result.runs.into_iter().map(|run| run.split).collect(),
            ..Measured::default()
        }))
    }
}

/// Number of folds of a set, the largest number of runs; unlimited for one graph.
pub(super) fn folds_of(dataset: &str) -> usize {
    match registry::get(dataset).map(|entry| entry.protocol) {
        Some(Protocol::Folds(folds)) => folds,
        _ => usize::MAX,
    }
}

fn task_of(dataset: &str) -> Task {
    if folds_of(dataset) == usize::MAX {
        Task::Node
    } else {
        Task::Graph
    }
}

/// The runs of a classifier on a set: folds are runs, so there are no more runs than folds.
fn on_graphs(
    classifier: Classifier,
    dataset: &str,
    timed: bool,
    runs: Runs,
) -> Result<Runs<OnGraphs>> {
    let edges = classifier.corrupted.map(Corruption::new).transpose()?;
    // The data's own features are kept anyway: with and without the option it is one cell.
    let by_degrees = registry::get(dataset).is_some_and(|entry| entry.expected.features.is_none());
    let keep_degrees = classifier.keeps_degrees && by_degrees;
    let corruption = edges.map(|edges| TrainingCorruption {
        edges,
        keep_degrees,
    });
    let runs = Runs {
        runs: runs.runs.min(folds_of(dataset)),
        ..runs
    };
    let inits = inits(&classifier, dataset);
    Ok(runs.with(OnGraphs {
        corruption,
        few: classifier.few,
        inits,
        timed,
    }))
}

impl Runs<OnGraphs> {
    /// Trains on the set's folds. `None` if stopped.
    fn classify(&self, loaded: &Dataset, stop: &AtomicBool) -> Result<Option<Measured>> {
        let OnGraphs {
            corruption,
            few,
            inits,
            timed,
        } = self.more;
        let options = FitOptions {
            corruption,
            corruption_seed: self.seed,
            study_influence: false,
        };
        let study = TrainStudy {
            inits,
            options,
            ..self.study()
        };
        let mut benchmark = loaded.benchmark(self.seed, self.runs)?;
        if let (Some(RareClass { per_class, rare }), Some(labels)) =
            (few, benchmark.content.labels())
        {
            let (splits, folds) = (&benchmark.splits, benchmark.splits.len());
            benchmark.splits =
                Split::fewer_in_turn(splits, folds, labels, per_class, Some(rare), self.seed)?;
        }
        let train = || finished(&study, &benchmark, stop);
        // Threads that wait inside one run start another within it, and its seconds would count as
        // those of the first.
        let Some(result) = (if timed { on_one_core(train)? } else { train()? }) else {
            return Ok(None);
        };
        let copies = self
            .model
            .augment
            .method()
            .transform()
            .map_or(Copies::Fixed, |(_, copies)| copies);
        Ok(Some(Measured {
            values: test_accuracies(&result),
            splits: result
                .runs
                .chunks(inits)
                .map(|fold| fold[0].split.clone())
                .collect(),
            curve: curve(&result.runs[0]),
            times: timed.then(|| Box::new(Times::new(&result, copies))),
            ..Measured::default()
        }))
    }
}

fn on_one_core<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.map_err(|e| GraphError::argument("seconds on one core", e.to_string()))?
        .install(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_layers_are_a_linear_map_and_the_first_of_equals_is_best() {
        let at = |backbone, depth| {
            (
                at_depth(backbone, depth).backbone,
                at_depth(backbone, depth).network.layers,
            )
        };
        assert_eq!(at(Backbone::GIN, 0), (Backbone::MLP, Some(0)));
        assert_eq!(at(Backbone::GCN, 4), (Backbone::GCN, Some(4)));
        assert_eq!(at(Backbone::GCNII, 0), (Backbone::GCNII, Some(0)));
        assert_eq!(
            (first_best(&[1.0, 3.0, 3.0, 2.0]), first_best(&[5.0])),
            (1, 0)
        );
    }
}
