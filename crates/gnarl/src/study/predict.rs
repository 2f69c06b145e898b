//! Predicts on a graph or a set with a fitted model, or with any classifier, under an inference
//! rule, and reports the accuracy if labels are known.

use gnarl_data::{Content, Dataset, Part};
use gnarl_graph::metrics::ClassScores;
use gnarl_graph::{DenseMatrix, Error, Graph, Split};

use crate::model::{Fitted, Predictions};
use gnarl_graph::Result;
use gnarl_nn::features::{FeatureScaling, Scaler};
use gnarl_nn::train::argmax;
use gnarl_robust::classifier::Classifier;
use gnarl_robust::inference::{CleanInputs, FittedInference, Inference};

/// Predictions and their accuracy.
#[derive(Debug)]
#[non_exhaustive]
pub struct PredictResult {
    /// The data that was predicted on. For the dataset that a model was trained on, it is the part
    /// that was used for training.
    pub content: Content,
    /// The names of classes, in the order of scores.
    pub classes: Vec<String>,
    /// The predictions.
    pub predictions: Predictions,
    /// True if accuracies are of held-out test nodes or graphs; otherwise they are of all labelled
    /// ones.
    pub held_out: bool,
    /// The accuracy in per cent; `None` without labels.
    pub accuracy: Option<f64>,
    /// The accuracy of a plain forward pass in per cent, if another inference rule is in use.
    pub plain_accuracy: Option<f64>,
    /// The scores of each class.
    pub scores: Option<ClassScores>,
    /// The names of classes in the data that the model was not trained on.
    pub unknown_classes: Vec<String>,
    /// The inference rule with the settings in use; `None` for a plain forward pass.
    pub inference: Option<Inference>,
}

/// The model with another inference rule. A rule that is fitted to clean inputs uses the training
/// part of the dataset that the model was trained on, and all nodes or graphs of another dataset.
pub fn with_inference(fitted: Fitted, inference: Inference, data: &Dataset) -> Result<Fitted> {
    let recognised = fitted.recognised(data);
    let on = recognised.as_ref().unwrap_or(&data.content);
    fitted.with_inference(inference, on, recognised.is_some())
}

/// The predictions of a fitted model.
pub fn of_fitted(fitted: &Fitted, data: &Dataset) -> Result<PredictResult> {
    let recognised = fitted.recognised(data);
    let held_out = recognised.is_some();
    let content = recognised.unwrap_or_else(|| data.content.clone());
    let predictions = fitted.predict(&content)?;
    let items: Vec<u32> = if held_out {
        Part::Test.of(&fitted.trained_on().split).to_vec()
    } else {
        (0..content.num_items() as u32).collect()
    };
    let is_plain = fitted.fitted_inference().is_plain();
    let plain_accuracy = if is_plain || !held_out {
        None
    } else {
        fitted.accuracy_on(&fitted.predict_plain(&content)?, &content, &items)?
    };
    Ok(PredictResult {
        classes: fitted.classes().to_vec(),
        held_out,
        accuracy: fitted.accuracy_on(&predictions, &content, &items)?,
        plain_accuracy,
        scores: fitted.class_scores(&predictions, &content, &items)?,
        unknown_classes: content
            .labels()
            .map_or_else(Vec::new, |labels| fitted.unknown_classes(labels)),
        inference: (!is_plain).then(|| fitted.fitted_inference().inference()),
        predictions,
        content,
    })
}

/// Predictions of a classifier that gnarl did not train.
#[derive(Debug, Clone, Copy)]
pub struct ClassifierStudy {
    /// The inference rule; a plain forward pass if left open.
    pub inference: Option<Inference>,
    /// The feature scaling.
    pub scaling: FeatureScaling,
    /// The seed of the split and of the inference rule.
    pub seed: u64,
}

impl ClassifierStudy {
    /// Predicts on a graph. If it has labels, accuracies are of the test nodes of the first split
    /// of its protocol.
    pub fn run(&self, model: &dyn Classifier, data: &Dataset) -> Result<PredictResult> {
        let (graph, split) = match data.graph()?.labels() {
            Some(_) => {
                let benchmark = data.benchmark(self.seed, 1)?;
                let split = benchmark.splits.first().cloned();
                (benchmark.content.graph()?.clone(), split)
            }
            None => (data.graph()?.clone(), None),
        };
        let graph = Scaler::fit(self.scaling, [&graph].into_iter())?.scaled(&graph)?;
        let fitted_inference = match self.inference {
            Some(inference) => {
                let train = split.as_ref().map(Split::train);
                let val = split.as_ref().map(Split::val);
                let clean = Clean::Graph {
                    graph: &graph,
                    train,
                    val,
                };
                fit_inference(inference, model, clean, self.seed)?
            }
            None => FittedInference::default(),
        };
        let probabilities = fitted_inference.predict(model, &graph, self.seed)?;
        let predictions = Predictions {
            classes: classes_of(&probabilities),
            probabilities,
            exits: None,
        };
        let test = split.as_ref().map_or(&[][..], Split::test);
        let plain_accuracy = if fitted_inference.is_plain() {
            None
        } else {
            let plain = FittedInference::default().predict(model, &graph, self.seed)?;
            accuracy(&graph, test, &classes_of(&plain))
        };
        Ok(PredictResult {
            classes: class_names(&graph, predictions.probabilities.num_cols()),
            held_out: true,
            accuracy: accuracy(&graph, test, &predictions.classes),
            plain_accuracy,
            scores: class_scores(&graph, test, &predictions)?,
            unknown_classes: Vec::new(),
            inference: (!fitted_inference.is_plain()).then(|| fitted_inference.inference()),
            predictions,
            content: Content::Graph(graph),
        })
    }
}

/// The clean inputs that an inference rule is fitted to, as its model takes them.
#[derive(Debug, Clone, Copy)]
pub enum Clean<'a> {
    /// No input.
    Nothing,
    /// One graph whose nodes are classified.
    Graph {
        /// The graph.
        graph: &'a Graph,
        /// Its training nodes; all nodes if left open.
        train: Option<&'a [u32]>,
        /// Its validation nodes, on which a rule that tunes itself selects its settings.
        val: Option<&'a [u32]>,
    },
    /// Graphs of a set.
    Graphs(&'a [Graph]),
}

/// Fits an inference rule to a model, tuned if it tunes itself and there are validation nodes.
pub fn fit_inference(
    inference: Inference,
    model: &dyn Classifier,
    clean: Clean<'_>,
    seed: u64,
) -> Result<FittedInference> {
    let (graph, train, val) = match clean {
        Clean::Nothing => return without_inputs(inference),
        Clean::Graphs(graphs) => {
            let graphs: Vec<&Graph> = graphs.iter().collect();
            return inference.fit_to(model, CleanInputs::Graphs(&graphs));
        }
        Clean::Graph { graph, train, val } => (graph, train, val),
    };
    let all: Vec<u32> = (0..graph.num_nodes() as u32).collect();
    let train = train.unwrap_or(&all);
    if let Some(node) = train.iter().find(|&&u| u as usize >= graph.num_nodes()) {
        let what = format!(
            "training node {node}, and the graph has {}",
            graph.num_nodes()
        );
        return Err(Error::argument("inference", what));
    }
    let fitted_inference = inference.fit(model, graph, train)?;
    match val.filter(|_| inference.tunes()) {
        Some(val) => fitted_inference.tuned(model, graph, val, seed),
        None => Ok(fitted_inference),
    }
}

/// Builds an inference rule that is fitted to no clean inputs.
pub fn without_inputs(inference: Inference) -> Result<FittedInference> {
    inference
        .fit_to(&NoModel, CleanInputs::Graphs(&[]))
        .map_err(|_| {
            let what = format!(
                "{} is fitted to clean inputs: pass the graph that the model was trained on",
                inference.name()
            );
            Error::argument("inference", what)
        })
}

/// The predictions of a fitted model under its own or another inference rule, on a graph whose
/// features are scaled for it.
pub fn under(
    fitted: &Fitted,
    fitted_inference: &FittedInference,
    scaled: &Graph,
    seed: u64,
) -> Result<DenseMatrix<f32>> {
    // The network inside allows short cuts; the defence comes first.
    let graph = fitted.model().defense.method().preprocessed(scaled)?;
    fitted_inference.predict(fitted.network()?, &graph, seed)
}

/// A placeholder model for inference rules that need no model while they are fitted.
struct NoModel;

impl Classifier for NoModel {
    fn num_classes(&self) -> usize {
        1
    }

    fn scores(&self, _: &Graph) -> Result<DenseMatrix<f32>> {
        Err(Error::argument(
            "inference",
            "there is nothing to learn from",
        ))
    }
}

fn classes_of(probabilities: &DenseMatrix<f32>) -> Vec<u32> {
    (0..probabilities.num_rows())
        .map(|u| argmax(probabilities.row(u)) as u32)
        .collect()
}

/// The names of the labels' classes; for classes beyond them, their positions.
fn class_names(graph: &Graph, count: usize) -> Vec<String> {
    let name = |c: u32| match graph.labels() {
        Some(labels) if (c as usize) < labels.num_classes() => labels.name(c),
        _ => c.to_string(),
    };
    (0..count as u32).map(name).collect()
}

/// Labelled nodes with their classes.
fn labelled(graph: &Graph, nodes: &[u32]) -> Vec<(u32, u32)> {
    nodes
        .iter()
        .filter_map(|&u| Some((u, graph.labels()?.get(u)?)))
        .collect()
}

/// Accuracy on the labelled nodes among some nodes, in per cent.
fn accuracy(graph: &Graph, nodes: &[u32], classes: &[u32]) -> Option<f64> {
    let labelled = labelled(graph, nodes);
    let right = labelled
        .iter()
        .filter(|(u, c)| classes[*u as usize] == *c)
        .count();
    (!labelled.is_empty()).then(|| 100.0 * right as f64 / labelled.len() as f64)
}

/// The scores of each class, if a classifier has as many classes as the labels.
fn class_scores(
    graph: &Graph,
    nodes: &[u32],
    predictions: &Predictions,
) -> Result<Option<ClassScores>> {
    let num_classes = graph.labels().map_or(0, |labels| labels.num_classes());
    let (items, truth): (Vec<u32>, Vec<u32>) = labelled(graph, nodes).into_iter().unzip();
    if items.is_empty() || num_classes != predictions.probabilities.num_cols() {
        return Ok(None);
    }
    let predicted: Vec<u32> = items
        .iter()
        .map(|&u| predictions.classes[u as usize])
        .collect();
    let probabilities = predictions.probabilities.select_rows(&items);
    let scores = ClassScores::new(&truth, &predicted, Some(&probabilities), num_classes)?;
    Ok(Some(scores))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_data as dataset;
    use gnarl_robust::classifier::FromFn;
    use gnarl_robust::inference::{CleanCrf, RobustCrf};

    /// A classifier that is correct on every node.
    fn oracle(graph: &Graph) -> Result<DenseMatrix<f32>> {
        let labels = graph.labels().expect("labelled");
        let mut scores = DenseMatrix::zeros(graph.num_nodes(), labels.num_classes());
        for u in 0..graph.num_nodes() {
            scores.row_mut(u)[labels.get(u as u32).unwrap_or(0) as usize] = 5.0;
        }
        Ok(scores)
    }

    #[test]
    fn classifiers_are_judged_on_test_nodes() {
        let data = dataset::load("karate", std::path::Path::new("."), 0).unwrap();
        let model = FromFn {
            num_classes: 4,
            function: oracle,
        };
        let study = ClassifierStudy {
            inference: Some(RobustCrf::default().into()),
            scaling: FeatureScaling::AsLoaded,
            seed: 0,
        };
        let found = study.run(&model, &data).unwrap();
        assert_eq!(
            (found.accuracy, found.plain_accuracy),
            (Some(100.0), Some(100.0))
        );
        assert!(found.held_out && found.inference.is_some());
        assert_eq!(found.scores.unwrap().macro_f1, 1.0);
        assert_eq!(found.predictions.classes.len(), 34);
    }

    #[test]
    fn rules_that_learn_need_inputs() {
        assert!(without_inputs(RobustCrf::default().into()).is_ok());
        let e = without_inputs(CleanCrf::default().into()).unwrap_err();
        let expected = "inference: clean-crf is fitted to clean inputs";
        assert!(e.to_string().starts_with(expected), "{e}");
    }
}
