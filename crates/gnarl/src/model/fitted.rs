//! [`Fitted`]: a trained model with everything that prediction needs.

use gnarl_data::Task;
use gnarl_data::{Content, Dataset, Part};
use gnarl_graph::metrics::ClassScores;
use gnarl_graph::{DenseMatrix, Error as GraphError, Graph, GraphSet, Labels, Split};
use rayon::prelude::*;

use super::graph_data::{GraphData, GraphPreparation, Inputs, NodeFeatures};
use super::learned::Learned;
use super::report::FitReport;
use super::{Model, Plan, batches, graph_exits};
use gnarl_graph::Result;
use gnarl_nn::depth::{ExitPredictions, Policy, Structure};
use gnarl_nn::features::{FeatureScaling, Scaler};
use gnarl_nn::networks::{Capability, Params};
use gnarl_nn::operator::RowOperator;
use gnarl_nn::train::argmax;
use gnarl_robust::classifier::{Classifier, WhiteBox, to_matrix};
use gnarl_robust::inference::{CleanInputs, FittedInference, Inference, log_probabilities};

pub use super::scaled::{AdaptiveTarget, PreprocessedModel};

/// A trained model, which predicts on any graph or set with the required columns, labelled or not.
///
/// It stores the feature scaling, the operator and its scalars, the exit policy, the fitted
/// inference and the class names. It also stores which nodes or graphs must not be used to evaluate
/// it.
#[derive(Debug)]
pub struct Fitted {
    pub(super) plan: Plan,
    pub(super) learned: Learned,
    pub(super) classes: Vec<String>,
    /// Mean of `ln(degree + 1)` over the training graphs, for PNA.
    pub(super) mean_log_degree: f64,
    /// Feature scaling, with its learned parameters.
    pub(super) scaler: Scaler,
    pub(super) inputs: Inputs,
    pub(super) inference: FittedInference,
    pub(super) trained_on: TrainedOn,
    /// Seed of the random samples of inference.
    pub(super) seed: u64,
    pub(super) report: FitReport,
}

/// Training data of a model: enough to recognise which nodes or graphs were held out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrainedOn {
    /// The dataset's name.
    pub dataset: String,
    /// Its content's fingerprint.
    pub fingerprint: u64,
    /// Training, validation and test ids.
    pub split: Split,
}

/// Predictions of a model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Predictions {
    /// The most likely class of each node or graph, as a position among the model's classes.
    pub classes: Vec<u32>,
    /// The class distribution of each node or graph.
    pub probabilities: DenseMatrix<f32>,
    /// The exit of each node or graph, for a model with exits.
    pub exits: Option<Vec<usize>>,
}

impl Fitted {
    /// Returns the model, with every option that applies filled in and its operator initialised.
    pub fn model(&self) -> &Model {
        &self.plan.model
    }

    /// Returns the plan that the model was fitted by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the task: node or graph classification.
    pub fn task(&self) -> Task {
        self.plan.task
    }

    /// Returns the names of the model's classes, in the order of its scores.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Returns the report of fitting; empty for a model that was loaded.
    pub fn report(&self) -> &FitReport {
        &self.report
    }

    /// Returns the feature scaling.
    pub fn scaler(&self) -> &Scaler {
        &self.scaler
    }

    /// Returns what the model was trained on.
    pub fn trained_on(&self) -> &TrainedOn {
        &self.trained_on
    }

    /// Returns the seed of the random samples of inference.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the number of trained values.
    pub fn num_parameters(&self) -> usize {
        self.params().num_trained()
    }

    pub(super) fn params(&self) -> &Params {
        self.learned.params()
    }

    /// Returns the number of feature columns that the model takes.
    pub fn in_dim(&self) -> usize {
        self.learned.in_dim()
    }

    /// Returns a graph as the network takes it: after the defence, with scaled features. Attacks
    /// and measures of robustness work on such graphs, with [`network`](Self::network).
    pub fn prepared(&self, graph: &Graph) -> Result<Graph> {
        self.check_columns(graph)?;
        self.scaler
            .scaled(&self.plan.model.defense.method().preprocessed(graph)?)
    }

    /// Returns a graph with its features scaled for the network, before any defence: the graph that
    /// an attacker changes.
    pub fn scaled(&self, graph: &Graph) -> Result<Graph> {
        self.check_columns(graph)?;
        self.scaler.scaled(graph)
    }

    /// Returns the feature scaling that [`scaled`](Self::scaled) applies.
    pub fn scaling(&self) -> FeatureScaling {
        self.scaler.scaling()
    }

    /// Returns the model on graphs that are [`scaled`](Self::scaled), with its defence and a plain
    /// forward pass: the target of attacks.
    pub fn attack_target(&self) -> PreprocessedModel<'_> {
        PreprocessedModel::new(self)
    }

    /// Returns the model on graphs that are [`scaled`](Self::scaled), with its defence and its
    /// inference: the target of an adaptive attack. Gradients are those of the
    /// [`attack_target`](Self::attack_target), straight through the inference. An inference that tunes itself keeps the settings
    /// that it got when the model was fitted.
    pub fn adaptive_target(&self) -> AdaptiveTarget<'_> {
        AdaptiveTarget::new(self)
    }

    /// Returns the class of every node of a graph that is [`scaled`](Self::scaled), predicted by
    /// the model's inference. An inference that tunes itself is tuned on the validation nodes of
    /// this graph.
    pub fn predict_scaled(&self, graph: &Graph, split: &Split) -> Result<Vec<usize>> {
        let graph = self.plan.model.defense.method().preprocessed(graph)?;
        let network = self.learned.classifier();
        let probabilities = if self.inference.inference().tunes() {
            let tuned = self
                .inference
                .tuned(network, &graph, split.val(), self.seed)?;
            tuned.predict(network, &graph, self.seed)?
        } else {
            self.inference.predict(network, &graph, self.seed)?
        };
        Ok(largest_classes(&probabilities))
    }

    /// Returns the class of each of some graphs of a set that are [`scaled`](Self::scaled),
    /// predicted by the model's inference.
    pub fn predict_scaled_graphs(&self, graphs: &[Graph]) -> Result<Vec<usize>> {
        let defense = self.plan.model.defense.method();
        let preprocessed = graphs
            .iter()
            .map(|graph| defense.preprocessed(graph))
            .collect::<Result<Vec<_>>>()?;
        let probabilities = self.graph_probabilities(&preprocessed, &self.inference)?;
        Ok(largest_classes(&probabilities))
    }

    /// Returns the network, for graphs that are [`prepared`](Self::prepared); it predicts by a
    /// plain forward pass.
    pub fn network(&self) -> Result<&dyn Classifier> {
        Ok(self.learned.classifier())
    }

    /// Returns the fitted inference.
    pub fn fitted_inference(&self) -> &FittedInference {
        &self.inference
    }

    /// Replaces the inference; the weights stay. A prior of clean inputs is learned from `on`: from
    /// its training nodes or graphs if the model was trained on it, otherwise from all of them.
    pub fn with_inference(
        mut self,
        inference: Inference,
        on: &Content,
        is_trained_on: bool,
    ) -> Result<Self> {
        let resolved = self.plan.model.inference(inference).resolved_for(on);
        let inference = resolved.plan(self.task())?.model.inference;
        let refuse = |what: &str| Err(GraphError::argument("inference", what));
        if inference.tunes() && !is_trained_on {
            return refuse(
                "tuning needs validation nodes or graphs, and none are known in this data",
            );
        }
        self.inference = match on {
            Content::Graph(graph) => self.inference_on_graph(inference, graph, is_trained_on)?,
            Content::Graphs(set) => self.inference_on_set(inference, set, is_trained_on)?,
        };
        self.plan.model.inference = inference;
        Ok(self)
    }

    fn inference_on_graph(
        &self,
        inference: Inference,
        graph: &Graph,
        is_trained_on: bool,
    ) -> Result<FittedInference> {
        let (prepared, split) = (self.prepared(graph)?, &self.trained_on.split);
        let all: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        let (train, val) = if is_trained_on {
            (split.train(), split.val())
        } else {
            (&all[..], &[][..])
        };
        self.learned
            .fit_inference(inference, &prepared, [train, val], self.seed)
    }

    fn inference_on_set(
        &self,
        inference: Inference,
        set: &GraphSet,
        is_trained_on: bool,
    ) -> Result<FittedInference> {
        let (network, split) = (self.learned.classifier(), &self.trained_on.split);
        let prepared = set
            .graphs()
            .iter()
            .map(|graph| self.prepared(graph))
            .collect::<Result<Vec<_>>>()?;
        let clean: Vec<&Graph> = if is_trained_on {
            let train = split.train().iter();
            train.map(|&g| &prepared[g as usize]).collect()
        } else {
            prepared.iter().collect()
        };
        let fitted = inference.fit_to(network, CleanInputs::Graphs(&clean))?;
        if !inference.tunes() {
            return Ok(fitted);
        }
        let labelled: Vec<(&Graph, u32)> = split
            .val()
            .iter()
            .filter_map(|&g| Some((&prepared[g as usize], set.labels().get(g)?)))
            .collect();
        fitted.tuned_on_graphs(network, &labelled, self.seed)
    }

    /// Returns the number of exits; one for a model of fixed depth.
    pub fn num_exits(&self) -> usize {
        self.learned.num_exits()
    }

    fn check_columns(&self, graph: &Graph) -> Result<()> {
        let refuse = |what: String| Err(GraphError::argument("predict", what));
        match (graph.num_features(), self.inputs.own_features) {
            (None, true) => refuse(format!(
                "the graph has no features, and the model takes {}",
                self.in_dim()
            )),
            (None, false) if self.task() == Task::Graph => Ok(()),
            (None, false) if graph.num_nodes() != self.in_dim() => refuse(format!(
                "the model was trained on a graph without features and knows its {} nodes alone; this graph has {}",
                self.in_dim(),
                graph.num_nodes()
            )),
            (None, false) => Ok(()),
            (Some(columns), _) if columns != self.in_dim() => refuse(format!(
                "the graph has {columns} features, the model takes {}",
                self.in_dim()
            )),
            (Some(_), _) => Ok(()),
        }
    }

    /// Returns the graphs of a set after the defence, raw and prepared for the classifier.
    fn prepared_set(&self, set: &GraphSet) -> Result<(Vec<Graph>, GraphData)> {
        let refuse = |what: String| Err(GraphError::argument("predict", what));
        let Some(node_features) = self.inputs.node_features else {
            return refuse("the source of the model's node features is missing".into());
        };
        if let (NodeFeatures::Own, Some(i)) = (
            node_features,
            set.graphs().iter().position(|g| g.features().is_none()),
        ) {
            let takes = self.in_dim();
            return refuse(format!(
                "the nodes of graph {i} have no features, and the model takes {takes}: labels or attributes, as its training set had them"
            ));
        }
        let graphs = set
            .graphs()
            .iter()
            .map(|g| self.plan.model.defense.method().preprocessed(g));
        let graphs = graphs.collect::<Result<Vec<_>>>()?;
        let preparation = GraphPreparation::of(&self.plan, &self.scaler, node_features);
        let data = GraphData::new(&graphs, self.plan.network.backbone, &preparation)?;
        if data.in_dim() != self.in_dim() {
            let (found, taken) = (data.in_dim(), self.in_dim());
            return refuse(format!(
                "the graphs have {found} features a node, the model takes {taken}"
            ));
        }
        Ok((graphs, data))
    }

    /// Predicts the classes of the nodes of a graph, or of the graphs of a set.
    pub fn predict(&self, content: &Content) -> Result<Predictions> {
        let (probabilities, taken) = self.probabilities(content, &self.inference)?;
        if let Some(at) = probabilities.data().iter().position(|p| !p.is_finite()) {
            let item = at / probabilities.num_cols().max(1);
            return Err(GraphError::argument(
                "predict",
                format!("the model's probabilities for node or graph {item} are not finite"),
            ));
        }
        let classes = largest_classes(&probabilities)
            .into_iter()
            .map(|class| class as u32)
            .collect();
        let exits = match (content, &self.learned) {
            (Content::Graph(graph), Learned::Exits(early)) => {
                Some(early.exits_of(&self.prepared(graph)?)?)
            }
            _ => taken,
        };
        Ok(Predictions {
            classes,
            probabilities,
            exits,
        })
    }

    /// Returns the last representation of each node before the class scores, or the vector of each
    /// graph of a set. `None` if the network has scores alone. Fails for a model with exits, which
    /// has a representation at every exit.
    pub fn embeddings(&self, content: &Content) -> Result<Option<DenseMatrix<f32>>> {
        let refuse = |what: &str| Err(GraphError::argument("embeddings", what));
        match (content, &self.learned) {
            (Content::Graph(graph), Learned::Network(network)) => {
                let graph = self.prepared(graph)?;
                let hidden = network
                    .network()
                    .hidden(&network.propagation(&graph)?, &network.input(&graph)?)?;
                hidden.map(|hidden| to_matrix(&hidden)).transpose()
            }
            (Content::Graphs(set), Learned::Graphs(network)) => match network.graph_classifier() {
                Some(classifier) => {
                    let vectors = batches::vectors_of(classifier, &self.prepared_set(set)?.1)?;
                    to_matrix(&vectors).map(Some)
                }
                None => Ok(None),
            },
            (_, Learned::Exits(_) | Learned::GraphExits(_)) => refuse(
                "a model with exits has a representation at each of them; take one of a fixed depth",
            ),
            (Content::Graph(_), Learned::Graphs(_)) => {
                refuse("the model classifies graphs of a set, and this is one graph")
            }
            (Content::Graphs(_), Learned::Network(_)) => {
                refuse("the model classifies the nodes of one graph, and this is a set")
            }
        }
    }

    /// Predicts by a plain forward pass, for any inference rule.
    pub fn predict_plain(&self, content: &Content) -> Result<Predictions> {
        let (probabilities, _) = self.probabilities(content, &FittedInference::default())?;
        let classes = largest_classes(&probabilities)
            .into_iter()
            .map(|class| class as u32)
            .collect();
        Ok(Predictions {
            classes,
            probabilities,
            exits: None,
        })
    }

    /// Returns the class distributions that a fitted inference predicts for the nodes of a graph or
    /// the graphs of a set; in a set with exits, also the graphs' exits.
    fn probabilities(
        &self,
        content: &Content,
        inference: &FittedInference,
    ) -> Result<(DenseMatrix<f32>, Option<Vec<usize>>)> {
        let refuse = |what: &str| Err(GraphError::argument("predict", what));
        match (content, &self.learned) {
            (Content::Graphs(set), Learned::Graphs(network)) => {
                let found = match network.graph_classifier() {
                    Some(classifier) if inference.is_plain() => {
                        batches::probabilities(classifier, &self.prepared_set(set)?.1)?
                    }
                    _ => self.set_probabilities(set, inference)?,
                };
                Ok((found, None))
            }
            (Content::Graphs(set), Learned::GraphExits(early)) => {
                let (graphs, data) = self.prepared_set(set)?;
                let (plain, taken) = graph_exits::probabilities(early, &graphs, &data)?;
                let found = if inference.is_plain() {
                    plain
                } else {
                    self.set_probabilities(set, inference)?
                };
                Ok((found, Some(taken)))
            }
            (Content::Graph(graph), Learned::Network(network))
                if self.goes_by_layers(graph, inference) =>
            {
                Ok((self.probabilities_by_layers(graph, network)?, None))
            }
            (Content::Graph(graph), Learned::Network(_) | Learned::Exits(_)) => {
                let (network, graph) = (self.learned.classifier(), self.prepared(graph)?);
                Ok((inference.predict(network, &graph, self.seed)?, None))
            }
            (Content::Graph(_), Learned::Graphs(_) | Learned::GraphExits(_)) => {
                refuse("the model classifies graphs of a set, and this is one graph")
            }
            (Content::Graphs(_), Learned::Network(_) | Learned::Exits(_)) => {
                refuse("the model classifies the nodes of one graph, and this is a set")
            }
        }
    }

    /// Returns the class distributions of the nodes of a graph, layer by layer.
    fn probabilities_by_layers(
        &self,
        graph: &Graph,
        network: &WhiteBox,
    ) -> Result<DenseMatrix<f32>> {
        self.check_columns(graph)?;
        let backbone = self.plan.network.backbone;
        let rows = RowOperator::new(graph, &self.scaler, backbone, network.operator())?;
        let scores = rows.scores(network.network(), network.weights())?;
        batches::softmax_rows(graph.num_nodes(), self.classes.len(), scores)
    }

    /// Returns the class distribution of each graph of a set.
    fn set_probabilities(
        &self,
        set: &GraphSet,
        inference: &FittedInference,
    ) -> Result<DenseMatrix<f32>> {
        let prepared = set
            .graphs()
            .par_iter()
            .map(|graph| self.prepared(graph))
            .collect::<Result<Vec<_>>>()?;
        self.graph_probabilities(&prepared, inference)
    }

    /// Returns true if predictions on a graph are computed layer by layer, without a matrix over
    /// the whole graph: if the graph is on disk, or training sampled neighbourhoods.
    fn goes_by_layers(&self, graph: &Graph, inference: &FittedInference) -> bool {
        let is_large = graph.is_on_disk() || self.plan.sampling.is_some();
        let is_undefended = matches!(
            self.plan.model.defense,
            gnarl_robust::defense::Defense::Nothing(_)
        );
        is_large
            && inference.is_plain()
            && is_undefended
            && self
                .plan
                .network
                .backbone
                .provides(Capability::SampledTraining)
    }

    /// Returns the class distribution of each prepared graph of a set. A prediction depends on the
    /// graph alone, not on the other graphs.
    fn graph_probabilities(
        &self,
        prepared: &[Graph],
        inference: &FittedInference,
    ) -> Result<DenseMatrix<f32>> {
        let network = self.learned.classifier();
        let each = prepared
            .par_iter()
            .map(|graph| inference.predict(network, graph, self.seed))
            .collect::<Result<Vec<_>>>()?;
        let rows = each.iter().flat_map(|row| row.data().iter().copied());
        DenseMatrix::new(each.len(), self.classes.len(), rows.collect())
    }

    /// Returns the policy, for a model with exits.
    pub fn policy(&self) -> Option<&Policy> {
        self.learned.policy()
    }

    /// Returns the predictions of every exit for every node of a graph, or for every graph of a
    /// set. `None` for a model of fixed depth, and for a task that the model does not have.
    pub fn exit_predictions(&self, content: &Content) -> Result<Option<ExitPredictions>> {
        match (content, &self.learned) {
            (Content::Graph(graph), Learned::Exits(early)) => {
                Ok(Some(early.predictions(&self.prepared(graph)?)?))
            }
            (Content::Graphs(set), Learned::GraphExits(early)) => Ok(Some(
                graph_exits::exit_predictions(early, &self.prepared_set(set)?.1)?,
            )),
            _ => Ok(None),
        }
    }

    /// Returns the structural inputs of policies, for [`exit_predictions`](Self::exit_predictions).
    pub fn structure<'a>(
        content: &'a Content,
        kinds: &[gnarl_nn::depth::Kind],
    ) -> Result<Structure<'a>> {
        Structure::of(content, kinds)
    }

    /// Returns the content that this model was trained on, if this dataset is that dataset: then
    /// the held-out nodes or graphs are known. `None` for other data.
    pub fn recognised(&self, data: &Dataset) -> Option<Content> {
        if data.content.fingerprint() == self.trained_on.fingerprint {
            return Some(data.content.clone());
        }
        // A protocol may keep the largest component alone.
        let Content::Graph(graph) = &data.content else {
            return None;
        };
        let largest = Content::Graph(graph.largest_component().0);
        (largest.fingerprint() == self.trained_on.fingerprint).then_some(largest)
    }

    /// Returns the accuracy on the labelled nodes or graphs of a part, in per cent. Classes are
    /// matched by name; an unknown class counts as an error. Fails for data that the model was not
    /// trained on, which has no parts.
    pub fn accuracy(&self, data: &Dataset, part: Part) -> Result<f64> {
        let Some(content) = self.recognised(data) else {
            let what = format!(
                "{} is not what the model was trained on ({}): none of its nodes or graphs is known to be held out",
                data.name, self.trained_on.dataset
            );
            return Err(GraphError::argument("accuracy", what));
        };
        let items = part.of(&self.trained_on.split);
        let predictions = self.predict(&content)?;
        self.accuracy_on(&predictions, &content, items)?
            .ok_or_else(|| {
                GraphError::argument(
                    "accuracy",
                    format!("no {part} node or graph of {} has a label", data.name),
                )
            })
    }

    /// Returns the accuracy of predictions on some nodes or graphs, in per cent; `None` if none of
    /// them has a label.
    pub fn accuracy_on(
        &self,
        predictions: &Predictions,
        content: &Content,
        items: &[u32],
    ) -> Result<Option<f64>> {
        let Some(labels) = content.labels() else {
            return Ok(None);
        };
        let known = self.matched(labels);
        let labelled: Vec<(u32, u32)> = items
            .iter()
            .filter_map(|&i| labels.get(i).map(|c| (i, c)))
            .collect();
        let correct = labelled
            .iter()
            .filter(|(i, c)| known[*c as usize] == Some(predictions.classes[*i as usize]))
            .count();
        Ok((!labelled.is_empty()).then(|| 100.0 * correct as f64 / labelled.len() as f64))
    }

    /// Returns the scores of predictions for each class, on some nodes or graphs. `None` if none of
    /// them has a label that the model knows. Classes are those of the model, matched by name;
    /// nodes or graphs of other classes are left out.
    pub fn class_scores(
        &self,
        predictions: &Predictions,
        content: &Content,
        items: &[u32],
    ) -> Result<Option<ClassScores>> {
        let Some(labels) = content.labels() else {
            return Ok(None);
        };
        let known = self.matched(labels);
        let evaluated: Vec<(u32, u32)> = items
            .iter()
            .filter_map(|&i| {
                labels
                    .get(i)
                    .and_then(|c| known[c as usize])
                    .map(|c| (i, c))
            })
            .collect();
        if evaluated.is_empty() {
            return Ok(None);
        }
        let (items, truth): (Vec<u32>, Vec<u32>) = evaluated.into_iter().unzip();
        let predicted: Vec<u32> = items
            .iter()
            .map(|&i| predictions.classes[i as usize])
            .collect();
        let probabilities = predictions.probabilities.select_rows(&items);
        Ok(Some(ClassScores::new(
            &truth,
            &predicted,
            Some(&probabilities),
            self.classes.len(),
        )?))
    }

    /// Returns the model's class of the same name, for each class of labels.
    pub fn matched(&self, labels: &Labels) -> Vec<Option<u32>> {
        let of = |class: u32| {
            self.classes
                .iter()
                .position(|name| *name == labels.name(class))
                .map(|at| at as u32)
        };
        (0..labels.num_classes() as u32).map(of).collect()
    }

    /// Returns the names of used classes of labels that the model does not have.
    pub fn unknown_classes(&self, labels: &Labels) -> Vec<String> {
        let counts = labels.counts();
        let matched = self.matched(labels);
        (0..labels.num_classes())
            .filter(|&c| counts[c] > 0 && matched[c].is_none())
            .map(|c| labels.name(c as u32))
            .collect()
    }
}

/// Takes graphs as they are loaded; applies defence, scaling and inference.
impl Classifier for Fitted {
    fn num_classes(&self) -> usize {
        self.classes.len()
    }

    /// Returns the logarithms of the class distributions.
    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        log_probabilities(&self.inference.predict(
            self.learned.classifier(),
            &self.prepared(graph)?,
            self.seed,
        )?)
    }
}

/// Returns the most likely class of each row.
fn largest_classes(probabilities: &DenseMatrix<f32>) -> Vec<usize> {
    (0..probabilities.num_rows())
        .map(|row| argmax(probabilities.row(row)))
        .collect()
}
