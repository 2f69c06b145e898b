//! The graphs of a set, preprocessed, corrupted and prepared for an operator.

use gnarl_graph::{Error, Graph, GraphSet, Labels, Result, Split};

use super::FitOptions;
use crate::augment::transform::transform_all;
use crate::model::Plan;
use crate::model::batches::Evaluation;
use crate::model::graph_data::{GraphData, GraphPreparation, Inputs, NodeFeatures};
use crate::model::options::TrainingCorruption;
use gnarl_nn::features::{FeatureScaling, Scaler};
use gnarl_nn::networks::Capability;
use gnarl_robust::classifier::Classifier;
use gnarl_robust::inference::{CleanInputs, FittedInference};

/// The graphs of a set, and the training graphs if they differ: shared by all folds,
/// initialisations and operators.
#[derive(Debug)]
pub(super) struct SetSource {
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
        let training = match options.corruption {
            Some(corruption) => {
                check_corruption(&corruption, plan, node_features)?;
                corrupted(&graphs, &corruption, node_features, options.corruption_seed)?
            }
            None => graphs.clone(),
        };
        Ok(Self {
            graphs,
            training,
            is_corrupted: options.corruption.is_some(),
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

    /// Returns some of the training graphs.
    pub(super) fn training(&self, graphs: &[u32]) -> Vec<&Graph> {
        graphs.iter().map(|&g| &self.training[g as usize]).collect()
    }

    pub(super) fn node_features(&self) -> NodeFeatures {
        self.node_features
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
        let scaled = |ids: &[u32], of: &[Graph]| -> Result<Vec<Graph>> {
            ids.iter()
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
pub(super) struct PreparedSet {
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

    /// Returns the training graphs.
    pub(super) fn training_data(&self) -> &GraphData {
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

/// Refuses a corruption that this model would not see, or that has no degrees to keep.
fn check_corruption(
    corruption: &TrainingCorruption,
    plan: &Plan,
    node_features: NodeFeatures,
) -> Result<()> {
    let structure_is_seen = node_features.degrees().is_some() && !corruption.keep_degrees;
    if !plan.model.backbone.provides(Capability::MessagePassing) && !structure_is_seen {
        let what = format!("{} would not see the changed edges", plan.model.backbone);
        return Err(Error::unsupported("corrupt", what));
    }
    if corruption.keep_degrees && node_features == NodeFeatures::Own {
        return Err(Error::argument(
            "keep-degrees",
            "the graphs have features of their own, not degrees",
        ));
    }
    Ok(())
}

/// Returns graphs with edges changed at random, and the degrees of the clean graphs as features if
/// they are kept.
fn corrupted(
    graphs: &[Graph],
    corruption: &TrainingCorruption,
    node_features: NodeFeatures,
    seed: u64,
) -> Result<Vec<Graph>> {
    let clean: Vec<&Graph> = graphs.iter().collect();
    let described = if corruption.keep_degrees {
        node_features.fixed(&clean)?
    } else {
        None
    };
    let before = described
        .as_ref()
        .map_or(clean, |described| described.iter().collect());
    transform_all(&corruption.edges, &before, seed, 0)
}
