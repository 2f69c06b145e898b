//! Recommends axes for a dataset, from its training and validation nodes or graphs alone.
//!
//! The labels of test nodes or graphs are removed before anything is read. Each choice is fitted
//! with a part of the labelled nodes or graphs held back and evaluated on that part. Nothing is
//! evaluated on a node or graph that it was learned or chosen on: policies of exits, the kept epoch
//! and the feature scaling are chosen on the rest. Differences are paired node by node or graph by
//! graph; a choice that does not help by more than a standard error stays off.

use std::time::Instant;

use gnarl_data::{Benchmark, Task};
use gnarl_data::{Content, SplitData};
use gnarl_graph::metrics::{PairedDifference, mean_std, paired_difference};
use gnarl_graph::properties::edge_homophily;
use gnarl_graph::random::stream;
use gnarl_graph::{Error as GraphError, Graph, GraphSet, Labels, Split};
use rand::seq::SliceRandom;
use serde::Serialize;

use super::axes::{Switched, with_switched};
use super::forecast::Planned;
use super::train::{TrainResult, TrainStudy};
use crate::model::Model;
use gnarl_graph::{Error, Result};
use gnarl_nn::features::FeatureKind;
use gnarl_nn::networks::{Backbone, Capability};
use gnarl_nn::train::Callbacks;

/// A search over axes: the model to start from, and the number of fits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AdviseStudy {
    /// The plain model that axes are switched on in.
    pub model: Model,
    /// Number of fits of each choice on each part, each with its own seed.
    pub runs: usize,
    /// Seed of the first fit.
    pub seed: u64,
}

/// Summary of a dataset without the labels of its test nodes or graphs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DatasetSummary {
    /// The task: node or graph classification.
    pub task: Task,
    /// Number of nodes, or of graphs.
    pub size: usize,
    /// Number of edges of the graph, or of all graphs together.
    pub edges: usize,
    /// Mean degree of a node.
    pub mean_degree: f64,
    /// Largest degree of a node.
    pub max_degree: usize,
    /// Number of nodes without neighbours.
    pub isolated: usize,
    /// Edge homophily of one graph: the share of edges within a class, among edges whose two ends
    /// are training or validation nodes. `None` without such edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homophily: Option<f64>,
    /// Number of feature columns, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<usize>,
    /// The kind of features.
    pub features: FeatureKind,
    /// Number of classes.
    pub classes: usize,
    /// Number of training nodes or graphs.
    pub train: usize,
    /// Number of validation nodes or graphs.
    pub validation: usize,
    /// The rarest class, and its number of training nodes or graphs.
    pub rarest: (String, usize),
    /// Number of training nodes or graphs of the most common class.
    pub most_common: usize,
}

impl DatasetSummary {
    fn of(content: &Content, labels: &Labels, split: &Split) -> Self {
        let graphs = match content {
            Content::Graph(graph) => std::slice::from_ref(graph),
            Content::Graphs(set) => set.graphs(),
        };
        let degrees = || {
            graphs
                .iter()
                .flat_map(|g| (0..g.num_nodes() as u32).map(|u| g.degree(u)))
        };
        let (nodes, edges) = (
            degrees().count(),
            graphs.iter().map(Graph::num_edges).sum::<usize>(),
        );
        let of_classes = labels.select(split.train()).counts();
        let rarest = (0u32..)
            .zip(&of_classes)
            .min_by_key(|(_, count)| **count)
            .map_or((0, 0), |(c, n)| (c, *n));
        Self {
            task: content.task(),
            size: content.num_items(),
            edges,
            mean_degree: 2.0 * edges as f64 / nodes.max(1) as f64,
            max_degree: degrees().max().unwrap_or(0),
            isolated: degrees().filter(|&degree| degree == 0).count(),
            homophily: content.graph().ok().and_then(edge_homophily),
            columns: graphs
                .iter()
                .find_map(|g| g.features().map(|f| f.num_cols())),
            features: FeatureKind::of(graphs.iter()),
            classes: labels.num_classes(),
            train: split.train().len(),
            validation: split.val().len(),
            rarest: (labels.name(rarest.0), rarest.1),
            most_common: of_classes.iter().copied().max().unwrap_or(0),
        }
    }
}

/// One choice and its accuracy on held-back nodes or graphs.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TriedChoice {
    /// The axes that are switched on; none for the plain model.
    pub switched: Vec<Switched>,
    /// The backbone if it differs from the model's: the control without edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "gnarl_nn::networks::backbone::by_name")]
    pub backbone: Option<Backbone>,
    /// Accuracy in per cent, or the reason why there is none.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The result of a choice.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The accuracy of the choice.
    Evaluated(Evaluated),
    /// The reason why the choice is refused.
    Refused(String),
}

/// The accuracy of a choice.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Evaluated {
    /// Accuracy on the held-back nodes or graphs, in per cent.
    pub accuracy: f64,
    /// Difference to the plain model, paired node by node or graph by graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minus_plain: Option<PairedDifference>,
    /// Difference to the choices below it, if it was tried on top of others; paired in the same
    /// way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minus_before: Option<PairedDifference>,
    /// Seconds of its fits.
    pub seconds: f64,
    /// Share of fits that are correct on each evaluated node or graph, in per cent.
    #[serde(skip)]
    correct: Vec<f64>,
}

impl Evaluated {
    /// Returns true if the choice helps by more than one standard error. Half a dozen choices are
    /// tried, so one may pass by chance; it is then about as accurate as the plain model.
    fn helps(difference: Option<&PairedDifference>) -> bool {
        difference.is_some_and(|d| d.mean > 0.0 && d.mean > d.standard_error)
    }
}

impl TriedChoice {
    /// The name of the choice: `cgso + orthonormal`, or `plain`.
    pub fn name(&self) -> String {
        match (self.backbone, self.switched.is_empty()) {
            (Some(backbone), _) => format!("{backbone}, without edges"),
            (None, true) => "plain".into(),
            (None, false) => self
                .switched
                .iter()
                .map(|s| s.choice)
                .collect::<Vec<_>>()
                .join(" + "),
        }
    }

    fn evaluated(&self) -> Option<&Evaluated> {
        match &self.outcome {
            Outcome::Evaluated(evaluated) => Some(evaluated),
            Outcome::Refused(_) => None,
        }
    }
}

/// Recommended axes and the measurements behind them.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The summary of the dataset.
    pub summary: DatasetSummary,
    /// Number of evaluated nodes or graphs, each once in every fit that held it back.
    pub evaluated_items: usize,
    /// Number of parts that were held back in turn.
    pub parts: usize,
    /// The choices that were tried: the plain model, a model without edges, single and joined
    /// choices.
    pub tried: Vec<TriedChoice>,
    /// The recommended axes; none if nothing helps.
    pub switch_on: Vec<Switched>,
    /// The model with the recommended axes.
    pub model: Model,
    /// True if the search was stopped before everything was tried.
    pub interrupted: bool,
}

impl AdviseStudy {
    /// One fit of each choice on each part, with seed 0.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            runs: 1,
            seed: 0,
        }
    }

    /// Sets the number of fits of each choice on each part.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Sets the seed of the first fit.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The smallest number of choices that are tried, for progress.
    pub fn num_choices(&self, task: Task) -> usize {
        2 + Switched::all(task).len()
    }

    /// The choices that are always tried: the plain model, a model without edges, and single
    /// choices. Each is fitted as many times as there are held-back parts times runs. Joined
    /// choices follow from the results.
    pub fn choices(&self, on: &SplitData) -> Result<Vec<Planned>> {
        let content = without_test_labels(&on.content, &on.split)?;
        let labels = content.labels().ok_or_else(no_labels)?;
        let fits = held_back(labels, &on.split, self.seed)?.len() * self.runs;
        let one = |name: String, model: gnarl_graph::Result<Model>| Planned {
            name,
            model: model.map_err(|e| e.to_string()),
            fits,
            passes: 0.0,
        };
        let mut all = vec![one("plain".into(), Ok(self.model))];
        if let Some(model) = self.without_edges() {
            all.push(one(format!("{}, without edges", model.backbone), Ok(model)));
        }
        let switched =
            |choice: Switched| one(choice.choice.into(), with_switched(&self.model, &[choice]));
        all.extend(Switched::all(content.task()).into_iter().map(switched));
        Ok(all)
    }

    /// The control that passes no messages; `None` if the model itself passes none.
    fn without_edges(&self) -> Option<Model> {
        let model = Model {
            features: self.model.features,
            ..Model::new(Backbone::MLP)
        };
        self.model
            .backbone
            .provides(Capability::MessagePassing)
            .then_some(model)
    }

    /// Summarises the data and tries the choices, with a call after each.
    pub fn run(
        &self,
        on: &SplitData,
        watch: &Callbacks<'_>,
        mut on_done: impl FnMut(&TriedChoice),
    ) -> Result<Advice> {
        let content = without_test_labels(&on.content, &on.split)?;
        let labels = content.labels().ok_or_else(no_labels)?;
        let parts = held_back(labels, &on.split, self.seed)?;
        let summary = DatasetSummary::of(&content, labels, &on.split);
        let task = content.task();
        let evaluator = Evaluator {
            study: self,
            on: Benchmark {
                name: on.name.clone(),
                content,
                splits: parts,
            },
            watch,
        };
        let mut search = AdviceSearch {
            evaluator: &evaluator,
            on_done: &mut on_done,
            tried: Vec::new(),
            plain: None,
        };
        search.try_controls()?;
        let helpful = search.try_alone(task)?;
        let switch_on = search.try_together(helpful)?;
        let tried = search.tried;
        let splits = &evaluator.on.splits;
        Ok(Advice {
            summary,
            evaluated_items: splits.iter().map(|part| part.test().len()).sum(),
            parts: splits.len(),
            tried,
            model: with_switched(&self.model, &switch_on)?,
            switch_on,
            interrupted: watch.stopped(),
        })
    }
}

/// The choices that were tried so far.
struct AdviceSearch<'a> {
    evaluator: &'a Evaluator<'a>,
    on_done: &'a mut dyn FnMut(&TriedChoice),
    tried: Vec<TriedChoice>,
    /// The accuracy of the plain model.
    plain: Option<Evaluated>,
}

impl AdviceSearch<'_> {
    fn stopped(&self) -> bool {
        self.evaluator.watch.stopped()
    }

    /// Adds a choice. A choice that was stopped early has no result.
    fn note(&mut self, one: TriedChoice) {
        if !self.stopped() {
            (self.on_done)(&one);
            self.tried.push(one);
        }
    }

    /// Tries the plain model and the model without edges.
    fn try_controls(&mut self) -> Result<()> {
        let plain = self.evaluator.plain()?;
        self.plain = plain.evaluated().cloned();
        self.note(plain);
        if let Some(control) = self.evaluator.without_edges(self.plain.as_ref())? {
            self.note(control);
        }
        Ok(())
    }

    /// Tries every choice alone. Returns those that help, the most helpful first.
    fn try_alone(&mut self, task: Task) -> Result<Vec<Switched>> {
        let mut helpful: Vec<(f64, Switched)> = Vec::new();
        for choice in Switched::all(task) {
            if self.stopped() {
                break;
            }
            let one = self
                .evaluator
                .switched(vec![choice], self.plain.as_ref(), None)?;
            if let Some(difference) = one.evaluated().and_then(|found| found.minus_plain)
                && Evaluated::helps(Some(&difference))
            {
                helpful.push((difference.mean, choice));
            }
            self.note(one);
        }
        helpful.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(helpful.into_iter().map(|(_, choice)| choice).collect())
    }

    /// Adds helpful choices of different axes one by one, and keeps each that helps on top of the
    /// others.
    fn try_together(&mut self, helpful: Vec<Switched>) -> Result<Vec<Switched>> {
        let mut switch_on: Vec<Switched> = Vec::new();
        let mut before: Option<Evaluated> = None;
        for choice in helpful {
            if self.stopped() || switch_on.iter().any(|s| s.axis == choice.axis) {
                continue;
            }
            if switch_on.is_empty() {
                let alone = self.tried.iter().find(|one| one.switched == [choice]);
                before = alone.and_then(TriedChoice::evaluated).cloned();
                switch_on.push(choice);
                continue;
            }
            let joined: Vec<Switched> = switch_on.iter().copied().chain([choice]).collect();
            let one = self
                .evaluator
                .switched(joined, self.plain.as_ref(), before.as_ref())?;
            if let Some(evaluated) = one.evaluated()
                && Evaluated::helps(evaluated.minus_before.as_ref())
            {
                before = Some(evaluated.clone());
                switch_on.push(choice);
            }
            self.note(one);
        }
        Ok(switch_on)
    }
}

/// Fits and evaluates choices on the same parts with the same seeds.
struct Evaluator<'a> {
    study: &'a AdviseStudy,
    on: Benchmark,
    watch: &'a Callbacks<'a>,
}

impl Evaluator<'_> {
    fn plain(&self) -> Result<TriedChoice> {
        self.tried(&self.study.model, Vec::new(), None, (None, None))
    }

    /// The control without edges, which shows what edges add; `None` if the model uses none.
    fn without_edges(&self, plain: Option<&Evaluated>) -> Result<Option<TriedChoice>> {
        match self.study.without_edges().filter(|_| !self.watch.stopped()) {
            Some(model) => self
                .tried(&model, Vec::new(), Some(model.backbone), (plain, None))
                .map(Some),
            None => Ok(None),
        }
    }

    fn switched(
        &self,
        switched: Vec<Switched>,
        plain: Option<&Evaluated>,
        before: Option<&Evaluated>,
    ) -> Result<TriedChoice> {
        match with_switched(&self.study.model, &switched) {
            Ok(model) => self.tried(&model, switched, None, (plain, before)),
            Err(why) => Ok(TriedChoice {
                switched,
                backbone: None,
                outcome: Outcome::Refused(why.to_string()),
            }),
        }
    }

    fn tried(
        &self,
        model: &Model,
        switched: Vec<Switched>,
        backbone: Option<Backbone>,
        (plain, before): (Option<&Evaluated>, Option<&Evaluated>),
    ) -> Result<TriedChoice> {
        let start = Instant::now();
        let outcome = match self.correct(model) {
            Ok(correct) => {
                let minus = |other: &Evaluated| paired_difference(&correct, &other.correct);
                Outcome::Evaluated(Evaluated {
                    accuracy: mean_std(&correct)?.mean,
                    minus_plain: plain.map(minus).transpose()?,
                    minus_before: before.map(minus).transpose()?,
                    seconds: start.elapsed().as_secs_f64(),
                    correct,
                })
            }
            // A plain model that cannot be is an error; a choice that cannot be is said.
            Err(why)
                if plain.is_some()
                    && (why.is_refusal() || matches!(why, Error::Diverged { .. })) =>
            {
                Outcome::Refused(why.to_string())
            }
            Err(other) => return Err(other),
        };
        Ok(TriedChoice {
            switched,
            backbone,
            outcome,
        })
    }

    /// The share of fits that are correct on each held-back node or graph, in per cent, in the
    /// order of the parts.
    fn correct(&self, model: &Model) -> Result<Vec<f64>> {
        let parts = self.on.splits.len();
        let (runs, inits) = (parts * self.study.runs, self.study.runs);
        let study = TrainStudy {
            runs,
            inits,
            seed: self.study.seed,
            ..TrainStudy::new(*model)
        };
        let result = study.run(&self.on, self.watch)?;
        if result.unfinished > 0 {
            return Err(GraphError::argument(
                "advise",
                "stopped before all fits were finished",
            ));
        }
        self.shares(&result)
    }

    fn shares(&self, result: &TrainResult) -> Result<Vec<f64>> {
        let Some(labels) = self.on.content.labels() else {
            return Ok(Vec::new());
        };
        let mut shares = Vec::new();
        for part in &self.on.splits {
            let mut correct = vec![0.0; part.test().len()];
            let fits: Vec<_> = result
                .runs
                .iter()
                .filter(|run| run.split == part.name())
                .collect();
            for fit in &fits {
                for (i, &item) in part.test().iter().enumerate() {
                    let answer = argmax(fit.test_probabilities.row(i));
                    correct[i] += f64::from(u8::from(labels.get(item) == answer));
                }
            }
            shares.extend(
                correct
                    .iter()
                    .map(|count| 100.0 * count / fits.len() as f64),
            );
        }
        Ok(shares)
    }
}

/// The class with the largest probability; the first of equal ones.
fn argmax(row: &[f32]) -> Option<u32> {
    let better = |best: (u32, f32), now: (u32, f32)| if now.1 > best.1 { now } else { best };
    (0u32..)
        .zip(row.iter().copied())
        .reduce(better)
        .map(|(class, _)| class)
}

/// The content without the labels of nodes or graphs outside training and validation, so that no
/// later step can use them.
fn without_test_labels(content: &Content, split: &Split) -> Result<Content> {
    let hidden = |labels: &Labels| -> gnarl_graph::Result<Labels> {
        let mut classes = vec![None; labels.len()];
        for &item in split.train().iter().chain(split.val()) {
            classes[item as usize] = labels.get(item);
        }
        let names = (0..labels.num_classes() as u32)
            .map(|class| labels.name(class))
            .collect();
        Labels::new(classes, labels.num_classes())?.with_names(names)
    };
    Ok(match content {
        Content::Graph(graph) => match graph.labels() {
            Some(labels) => Content::Graph(graph.clone().with_labels(hidden(labels)?)?),
            None => Content::Graph(graph.clone()),
        },
        Content::Graphs(set) => {
            let labels = hidden(set.labels())?;
            Content::Graphs(GraphSet::new(
                set.graphs().to_vec(),
                labels,
                set.num_node_labels(),
            )?)
        }
    })
}

fn no_labels() -> GraphError {
    GraphError::missing(
        "advise",
        "the graph has no labels to learn from",
        "take a graph with labels",
    )
}

/// Splits whose test part is held back in turn, with about as many training nodes or graphs as now.
///
/// With few training labels, as where nodes are labelled by hand, the training part stays, and
/// halves of the validation part are held back. With many, the labelled nodes or graphs are dealt
/// into folds: one is held back, the next validates, the others train.
fn held_back(labels: &Labels, split: &Split, seed: u64) -> Result<Vec<Split>> {
    let labelled = |items: &[u32]| {
        items
            .iter()
            .copied()
            .filter(|&i| labels.get(i).is_some())
            .collect::<Vec<u32>>()
    };
    let (train, val) = (labelled(split.train()), labelled(split.val()));
    if train.is_empty() || val.len() < 2 {
        let what = format!(
            "{} labelled training and {} validation nodes or graphs; at least 1 and 2 are needed",
            train.len(),
            val.len()
        );
        return Err(GraphError::argument("advise", what));
    }
    let known = train.len() + val.len();
    let share = train.len() as f64 / known as f64;
    if share < 1.0 / 3.0 {
        let mut order = val;
        order.shuffle(&mut stream(seed, "advise", 0));
        order.sort_by_key(|&item| labels.get(item));
        let half = |of: usize| {
            order
                .iter()
                .skip(of)
                .step_by(2)
                .copied()
                .collect::<Vec<u32>>()
        };
        let name = |i: usize| format!("half-{i}");
        return Ok(vec![
            Split::new(name(0), train.clone(), half(0), half(1))?,
            Split::new(name(1), train, half(1), half(0))?,
        ]);
    }
    // With k folds, k - 2 train: the present training share, as nearly as possible.
    let folds = ((2.0 / (1.0 - share)).round() as usize)
        .clamp(3, 10)
        .min(known);
    Split::folds(labels, folds, seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::csbm;

    fn study() -> AdviseStudy {
        AdviseStudy::new(Model::new(Backbone::GCN).epochs(10)).seed(3)
    }

    fn on(graph: Graph) -> SplitData {
        let split = graph.splits()[0].clone();
        SplitData {
            name: "csbm".into(),
            content: Content::Graph(graph),
            split,
        }
    }

    #[test]
    fn every_item_is_held_out_once() {
        for (train, val, total) in [(10, 60, 60), (60, 40, 100), (80, 10, 90), (5, 5, 10)] {
            let n = train + val + 20;
            let labels = Labels::new((0..n).map(|i| Some(i % 3)).collect(), 3).unwrap();
            let split = Split::new(
                "s",
                (0..train).collect(),
                (train..train + val).collect(),
                (train + val..n).collect(),
            );
            let split = split.unwrap();
            let mut known = labels.classes().to_vec();
            known[(train + val) as usize..].fill(None);
            let known = Labels::new(known, 3).unwrap();
            let parts = held_back(&known, &split, 1).unwrap();
            let mut evaluated: Vec<u32> = parts
                .iter()
                .flat_map(|part| part.test().iter().copied())
                .collect();
            evaluated.sort_unstable();
            assert_eq!(evaluated.len(), total as usize);
            evaluated.dedup();
            assert_eq!(evaluated.len(), total as usize, "once each");
            assert!(
                evaluated.iter().all(|&item| item < train + val),
                "never a test item"
            );
        }
        let labels = Labels::new(vec![Some(0), Some(1), None], 2).unwrap();
        let split = Split::new("s", vec![0], vec![1], vec![2]).unwrap();
        let error = held_back(&labels, &split, 0).unwrap_err().to_string();
        assert!(
            error.contains("1 labelled training and 1 validation nodes"),
            "{error}"
        );
    }

    #[test]
    fn test_labels_have_no_say() {
        let graph = csbm(&Default::default(), 0).unwrap();
        let labels = graph.labels().unwrap().clone();
        let mut wrong = labels.classes().to_vec();
        for &item in graph.splits()[0].test() {
            wrong[item as usize] = Some(0);
        }
        let wrong = Labels::new(wrong, labels.num_classes()).unwrap();
        let first = study()
            .run(&on(graph.clone()), &Callbacks::quiet(), |_| ())
            .unwrap();
        let second = study()
            .run(
                &on(graph.with_labels(wrong).unwrap()),
                &Callbacks::quiet(),
                |_| (),
            )
            .unwrap();
        assert_eq!(first.summary, second.summary);
        assert_eq!(first.switch_on, second.switch_on);
        let accuracies = |advice: &Advice| -> Vec<f64> {
            advice
                .tried
                .iter()
                .filter_map(|one| one.evaluated().map(|evaluated| evaluated.accuracy))
                .collect()
        };
        assert_eq!(accuracies(&first), accuracies(&second));
        assert!(accuracies(&first).len() >= study().num_choices(Task::Node));
    }

    #[test]
    fn recommendations_exceed_a_standard_error() {
        let difference = |mean, standard_error| PairedDifference {
            mean,
            standard_error,
            n: 9,
        };
        assert!(Evaluated::helps(Some(&difference(1.0, 0.9))));
        assert!(!Evaluated::helps(Some(&difference(1.0, 1.1))));
        assert!(
            !Evaluated::helps(Some(&difference(0.0, 0.0))),
            "no difference is no help"
        );
        assert!(!Evaluated::helps(None));
    }
}
