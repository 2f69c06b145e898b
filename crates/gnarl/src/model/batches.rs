//! Training a classifier on batches of graphs, and a head on graph vectors.

use std::ops::Range;
use std::sync::Arc;

use gnarl_graph::DenseMatrix;
use gnarl_graph::random::{mix, stream};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::graph_data::GraphData;
use crate::augment::ManifoldMixup;
use gnarl_graph::{Error, Result};
use gnarl_nn::networks::{Batch, GraphClassifier, GraphModel, Head, Params, Pass, Weights};
use gnarl_nn::train::{
    Callbacks, MixedIn, Targets, TrainConfig, Trained, TrainingTask, Validation, fit_loop,
    gradients, mixed_cross_entropy,
};
use gnarl_tensor::{DType, Device, GradStore, Tensor, Var};

/// Graphs with their classes in stored batches, for repeated evaluation.
#[derive(Debug)]
pub struct Evaluation {
    batches: Vec<Batch>,
    targets: Targets,
}

impl Evaluation {
    /// Batches graphs of known classes.
    pub fn new(data: &GraphData, graphs: &[u32], classes: &[u32]) -> Result<Self> {
        Ok(Self {
            batches: data.batches(graphs, PART)?,
            targets: targets(classes),
        })
    }

    /// Returns the graphs' vectors, `[graphs, latent_dim]`.
    pub fn latent(&self, model: &dyn GraphModel) -> Result<Tensor> {
        latent(model, &self.batches)
    }

    /// Returns the graphs' vectors with their classes.
    pub fn vectors(&self, model: &dyn GraphModel) -> Result<Vectors> {
        Ok(Vectors {
            latent: self.latent(model)?,
            classes: self.classes().to_vec(),
        })
    }

    /// Returns the graphs' class scores at every output of the model.
    pub fn head_scores(&self, model: &dyn GraphModel) -> Result<Vec<Tensor>> {
        head_scores(model, &self.batches)
    }

    /// Returns the graphs' class scores.
    pub fn scores(&self, classifier: &GraphClassifier) -> Result<Tensor> {
        scores(classifier, &self.batches)
    }

    /// Returns the accuracy on the graphs, in per cent.
    pub fn accuracy(&self, classifier: &GraphClassifier) -> Result<f64> {
        self.targets.accuracy(&self.scores(classifier)?)
    }

    /// Returns the graphs' class distributions.
    pub fn probabilities(&self, classifier: &GraphClassifier) -> Result<DenseMatrix<f32>> {
        softmax(&self.scores(classifier)?)
    }

    /// Returns the stored batches.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Returns the graphs' classes, in the order of the graphs.
    pub fn classes(&self) -> &[u32] {
        &self.targets.classes
    }
}

/// Returns the graph vectors of a model, without dropout or gradient: `[graphs, latent_dim]`.
pub fn latent(model: &dyn GraphModel, batches: &[Batch]) -> Result<Tensor> {
    let weights = model.params().weights()?.detached();
    side_by_side(model.latent_dim(), batches, |batch| {
        model.latent(batch, &Pass::evaluation(&weights))
    })
}

/// Returns the class scores of a classifier, without dropout or gradient: `[graphs, num_classes]`.
pub fn scores(classifier: &GraphClassifier, batches: &[Batch]) -> Result<Tensor> {
    let weights = classifier.weights()?;
    side_by_side(classifier.num_classes(), batches, |batch| {
        classifier.scores(batch, &Pass::evaluation(&weights))
    })
}

/// Returns the class scores at every output of a model, each `[graphs, num_classes]`, without
/// dropout or gradient.
pub fn head_scores(model: &dyn GraphModel, batches: &[Batch]) -> Result<Vec<Tensor>> {
    let weights = model.params().weights()?.detached();
    let (count, classes) = (model.num_outputs(), model.num_classes());
    let columns = side_by_side(count * classes, batches, |batch| {
        let pass = Pass::evaluation(&weights);
        Tensor::cat(&model.outputs(&model.latent(batch, &pass)?, &pass)?, 1)
    })?;
    let one = |i: usize| {
        if batches.is_empty() {
            Tensor::zeros((0, classes), DType::F32, &Device::Cpu)
        } else {
            columns.narrow(1, i * classes, classes)?.contiguous()
        }
    };
    Ok((0..count).map(one).collect::<gnarl_tensor::Result<_>>()?)
}

/// Returns the class scores of all prepared graphs, at every output of the model.
pub fn head_scores_on(model: &dyn GraphModel, data: &GraphData) -> Result<Vec<Tensor>> {
    let all: Vec<u32> = (0..data.num_graphs() as u32).collect();
    head_scores(model, &data.batches(&all, PART)?)
}

/// Returns the vectors of all prepared graphs, without dropout or gradient.
pub fn vectors_of(model: &dyn GraphModel, data: &GraphData) -> Result<Tensor> {
    let all: Vec<u32> = (0..data.num_graphs() as u32).collect();
    latent(model, &data.batches(&all, PART)?)
}

/// Returns the class distributions of all prepared graphs.
pub fn probabilities(classifier: &GraphClassifier, data: &GraphData) -> Result<DenseMatrix<f32>> {
    let all: Vec<u32> = (0..data.num_graphs() as u32).collect();
    softmax(&scores(classifier, &data.batches(&all, PART)?)?)
}

/// Returns the softmax of every row.
fn softmax(scores: &Tensor) -> Result<DenseMatrix<f32>> {
    let (rows, cols) = scores.dims2()?;
    softmax_rows(rows, cols, scores.flatten_all()?.to_vec1::<f32>()?)
}

/// Returns the softmax of every row of class scores.
pub(super) fn softmax_rows(
    rows: usize,
    cols: usize,
    mut data: Vec<f32>,
) -> Result<DenseMatrix<f32>> {
    for row in data.chunks_mut(cols.max(1)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|&z| f64::from(z - largest).exp()).sum();
        row.iter_mut()
            .for_each(|z| *z = (f64::from(*z - largest).exp() / sum) as f32);
    }
    DenseMatrix::new(rows, cols, data)
}

fn side_by_side(
    width: usize,
    batches: &[Batch],
    one: impl Fn(&Batch) -> gnarl_tensor::Result<Tensor> + Send + Sync,
) -> Result<Tensor> {
    let parts = batches
        .par_iter()
        .map(one)
        .collect::<gnarl_tensor::Result<Vec<_>>>()?;
    Ok(if parts.is_empty() {
        Tensor::zeros((0, width), DType::F32, &Device::Cpu)?
    } else {
        Tensor::cat(&parts, 0)?
    })
}

/// Returns all rows in order as targets, with their classes.
fn targets(classes: &[u32]) -> Targets {
    Targets {
        items: Arc::new((0..classes.len() as u32).collect()),
        classes: Arc::new(classes.to_vec()),
        weights: None,
    }
}

/// Returns the validation loss and accuracy of scores; for several outputs, the sum of the losses
/// and the mean accuracy, as on nodes.
fn validation(outputs: &[Tensor], targets: &Targets) -> Result<Validation> {
    let (mut loss, mut accuracy) = (0.0, 0.0);
    for scores in outputs {
        loss += targets.cross_entropy(scores)?.to_scalar::<f32>()?;
        accuracy += targets.accuracy(scores)?;
    }
    Ok(Validation {
        loss,
        accuracy: accuracy / outputs.len().max(1) as f64,
    })
}

/// The graphs a classifier is trained on.
pub struct TrainingSet<'a> {
    /// The prepared graphs.
    pub data: &'a GraphData,
    /// Ids of the training graphs.
    pub graphs: &'a [u32],
    /// Classes of the training graphs.
    pub classes: &'a [u32],
    /// Shares of other classes that were mixed into each graph; empty if none were.
    pub mixed: &'a [MixedIn],
    /// Makes the training graphs of an epoch (counted from 1), if the augmentation changes them in
    /// every epoch. The graphs keep their number, order and classes.
    pub epoch_graphs: Option<&'a (dyn Fn(usize) -> Result<EpochGraphs> + Sync)>,
    /// Mixing of latent vectors in every step, if the augmentation mixes them.
    pub mixup: Option<ManifoldMixup>,
}

/// The training graphs of one epoch.
#[derive(Debug)]
pub struct EpochGraphs {
    /// The prepared graphs.
    pub data: GraphData,
    /// As in [`TrainingSet::mixed`].
    pub mixed: Vec<MixedIn>,
}

/// Trains a classifier, one of its stages, or one with exits on the sum of their losses. Every
/// epoch goes through the training graphs in a new order, `batch_size` at a time. A batch that
/// holds all graphs is made once and kept.
pub fn train_classifier(
    model: &dyn GraphModel,
    on: &TrainingSet<'_>,
    validate_on: &Evaluation,
    config: &TrainConfig,
    batch_size: usize,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<Trained> {
    check_batches(batch_size, on.graphs.len())?;
    let batch_size = batch_size.min(on.graphs.len());
    let weights = config.class_weights.of(on.classes, model.num_classes())?;
    let order = Vec::new();
    let mut task = Graphs {
        model,
        on,
        validate_on,
        batch_size,
        weights,
        seed,
        epoch: 0,
        order,
        fresh: None,
        whole: None,
    };
    fit_loop(&mut task, config, seed, watch)
}

/// Returns the sum of the losses of all outputs.
fn summed(outputs: &[Tensor], loss: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let Some((first, others)) = outputs.split_first() else {
        return Err(gnarl_tensor::Error::msg("a model without outputs").into());
    };
    others
        .iter()
        .try_fold(loss(first)?, |sum, scores| Ok((sum + loss(scores)?)?))
}

fn check_batches(batch_size: usize, items: usize) -> Result<()> {
    let refuse = |what: &str| Err(Error::argument("graph classification", what));
    match (batch_size, items) {
        (0, _) => refuse("batches of 0 graphs; at least 1 is needed"),
        (_, 0) => refuse("there are no labelled graphs to train on"),
        _ => Ok(()),
    }
}

/// Number of graphs that are computed together. The parts of a step or an evaluation run in
/// parallel. The parts depend on the step alone, so the number of threads does not change the
/// result.
const PART: usize = 64;

/// Batches of graphs, in a new order every epoch.
struct Graphs<'a> {
    model: &'a dyn GraphModel,
    on: &'a TrainingSet<'a>,
    validate_on: &'a Evaluation,
    batch_size: usize,
    /// Loss weights of graphs by their classes.
    weights: Option<Arc<Vec<f32>>>,
    seed: u64,
    /// The current epoch.
    epoch: usize,
    /// Positions among the training graphs.
    order: Vec<u32>,
    /// This epoch's graphs, if every epoch has new ones.
    fresh: Option<EpochGraphs>,
    /// The parts of all graphs, if one step holds all graphs and they stay the same.
    whole: Option<Vec<Batch>>,
}

impl Graphs<'_> {
    fn positions(&self, step: usize) -> &[u32] {
        let from = step * self.batch_size;
        &self.order[from..self.order.len().min(from + self.batch_size)]
    }

    /// Returns the number of graphs that are computed together.
    fn part(&self) -> usize {
        if self.model.couples_graphs() {
            self.batch_size
        } else {
            PART
        }
    }

    fn assemble(&self, positions: &[u32]) -> Result<Batch> {
        let ids: Vec<u32> = positions
            .iter()
            .map(|&i| self.on.graphs[i as usize])
            .collect();
        self.fresh
            .as_ref()
            .map_or(self.on.data, |fresh| &fresh.data)
            .batch(&ids)
    }

    /// Returns the vectors of a step's graphs, part by part. `weights` are the weights of the pass,
    /// by value.
    fn latents(&self, step: usize, weights: &Weights, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        let parts: Vec<&[u32]> = self.positions(step).chunks(self.part()).collect();
        if let [whole] = parts[..] {
            let made = if self.whole.is_none() {
                Some(self.assemble(whole)?)
            } else {
                None
            };
            let batch = made
                .as_ref()
                .or(self.whole.as_ref().and_then(|parts| parts.first()));
            return batch
                .iter()
                .map(|batch| Ok(self.model.latent(batch, pass)?))
                .collect();
        }
        let of_part = |(i, positions): (usize, &&[u32])| {
            let pass = pass.part(weights, i);
            let latent = match &self.whole {
                Some(parts) => self.model.latent(&parts[i], &pass)?,
                None => self.model.latent(&self.assemble(positions)?, &pass)?,
            };
            // Statistics and loss terms belong to a whole step: `couples_graphs` should have been
            // `true`.
            if pass.has_notes() {
                let what = "a part of a step has statistics that belong to the whole step";
                return Err(gnarl_tensor::Error::msg(what).into());
            }
            Ok(latent)
        };
        parts.par_iter().enumerate().map(of_part).collect()
    }

    /// Returns the loss of a step's vectors.
    fn loss(&self, step: usize, latent: &Tensor, pass: &Pass<'_>) -> Result<Tensor> {
        let positions = self.positions(step);
        let classes: Vec<u32> = positions
            .iter()
            .map(|&i| self.on.classes[i as usize])
            .collect();
        if let Some(mixup) = self.on.mixup {
            return self.mixed_up(mixup, step, latent, &classes, pass);
        }
        let outputs = self.model.outputs(latent, pass)?;
        let mixed = self
            .fresh
            .as_ref()
            .map_or(self.on.mixed, |fresh| &fresh.mixed);
        if !mixed.is_empty() {
            let mixed: Vec<MixedIn> = positions.iter().map(|&i| mixed[i as usize]).collect();
            return summed(&outputs, |scores| {
                Ok(mixed_cross_entropy(scores, &classes, &mixed)?)
            });
        }
        let targets = targets(&classes).weighing(&self.weights);
        summed(&outputs, |scores| Ok(targets.cross_entropy(scores)?))
    }

    /// Mixes vectors and their labels as Manifold Mixup does.
    fn mixed_up(
        &self,
        mixup: ManifoldMixup,
        step: usize,
        latent: &Tensor,
        classes: &[u32],
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let index = (self.epoch as u64) << 32 | step as u64;
        let sampled = mixup.sample(
            classes.len(),
            &mut stream(self.seed, "manifold mixup", index),
        )?;
        let (vectors, mixed) = (sampled.mix(latent)?, sampled.mixed_in(classes));
        summed(&self.model.outputs(&vectors, pass)?, |scores| {
            Ok(mixed_cross_entropy(scores, classes, &mixed)?)
        })
    }
}

impl TrainingTask for Graphs<'_> {
    fn params(&self) -> &Params {
        self.model.params()
    }

    fn trained(&self) -> Range<usize> {
        self.model.trained()
    }

    fn begin(&mut self, epoch: usize, _from: usize) -> Result<usize> {
        self.epoch = epoch;
        let count = self.on.graphs.len();
        let steps = count.div_ceil(self.batch_size);
        // A single step keeps the order of the first epoch, even if training resumes at a later
        // epoch.
        if steps > 1 {
            self.order = shuffled(count, self.seed, epoch);
        } else if self.order.is_empty() {
            self.order = shuffled(count, self.seed, FIRST_EPOCH);
        }
        if let Some(make) = self.on.epoch_graphs {
            self.fresh = Some(make(epoch)?);
        } else if steps == 1 && self.whole.is_none() {
            let parts = self
                .order
                .chunks(self.part())
                .map(|part| self.assemble(part));
            self.whole = Some(parts.collect::<Result<_>>()?);
        }
        Ok(steps)
    }

    /// Each part has a tape of its own: backward to the vectors of all parts together, then through
    /// each part by itself.
    fn descend(&self, step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let (weights, leaves) = pass.weights().with_leaves()?;
        let parts = self.latents(step, &weights, pass)?;
        if let [latent] = &parts[..] {
            let loss = self.loss(step, latent, pass)?;
            // The vectors keep everything alive that they were computed from.
            drop(parts);
            return gradients(loss, pass);
        }
        let latent = Var::from_tensor(&Tensor::cat(&parts, 0)?.detach())?;
        let (loss, mut grads) = match gradients(self.loss(step, &latent, pass)?, pass) {
            // The tape of the loss ends at the vectors; the parts have the operations before them.
            Err(Error::NotFinite { value, operation }) => {
                let deeper = parts
                    .iter()
                    .find_map(|part| part.first_not_finite().transpose())
                    .transpose()?;
                return Err(Error::NotFinite {
                    value,
                    operation: deeper.or(operation),
                });
            }
            descended => descended?,
        };
        let Some(to_latent) = grads.remove(&latent).map(|grad| grad.detach()) else {
            return Ok((loss, grads));
        };
        let from: Vec<usize> = (0..parts.len()).map(|i| i * self.part()).collect();
        let of_part = |(part, from): (Tensor, &usize)| {
            let to_part = to_latent.narrow(0, *from, part.dim(0)?)?;
            part.into_gradients_along(&to_part)
        };
        let of_parts: Vec<GradStore> = parts
            .into_par_iter()
            .zip(&from)
            .map(of_part)
            .collect::<gnarl_tensor::Result<_>>()?;
        of_parts
            .into_iter()
            .try_for_each(|of_part| grads.extend(of_part))?;
        for (weight, leaf) in leaves {
            if let Some(to_weight) = grads.remove(&leaf) {
                grads.extend(weight.into_gradients_along(&to_weight)?)?;
            }
        }
        Ok((loss, grads))
    }

    fn has_validation(&self) -> bool {
        !self.validate_on.targets.items.is_empty()
    }

    fn validate(&self) -> Result<Validation> {
        validation(
            &self.validate_on.head_scores(self.model)?,
            &self.validate_on.targets.clone().weighing(&self.weights),
        )
    }
}

/// The first epoch is number 1.
const FIRST_EPOCH: usize = 1;

fn shuffled(count: usize, seed: u64, epoch: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(&mut stream(seed, "order of graphs", epoch as u64));
    order
}

/// Graph vectors with their classes.
#[derive(Debug, Clone)]
pub struct Vectors {
    /// `[vectors, latent_dim]`
    pub latent: Tensor,
    /// Class of each vector.
    pub classes: Vec<u32>,
}

impl Vectors {
    /// Returns the vectors in f64, one vector a row.
    pub fn to_matrix(&self) -> Result<DenseMatrix<f64>> {
        let (rows, cols) = self.latent.dims2()?;
        let values = self.latent.flatten_all()?.to_vec1::<f32>()?;
        DenseMatrix::new(rows, cols, values.into_iter().map(f64::from).collect())
    }

    /// Returns these vectors followed by copies of some of them.
    pub fn with_repeated(&self, rows: &[u32]) -> Result<Self> {
        let others = self
            .latent
            .index_select(&Tensor::from_slice(rows, rows.len(), &Device::Cpu)?, 0)?;
        let classes: Vec<u32> = rows.iter().map(|&i| self.classes[i as usize]).collect();
        self.with(&others, &classes)
    }

    /// Returns these vectors followed by others.
    pub fn extended(&self, others: &DenseMatrix<f64>, classes: &[u32]) -> Result<Self> {
        let values: Vec<f32> = others.data().iter().map(|&x| x as f32).collect();
        self.with(
            &Tensor::from_vec(values, (others.num_rows(), others.num_cols()), &Device::Cpu)?,
            classes,
        )
    }

    fn with(&self, others: &Tensor, classes: &[u32]) -> Result<Self> {
        if classes.is_empty() {
            return Ok(self.clone());
        }
        Ok(Self {
            latent: Tensor::cat(&[&self.latent, others], 0)?,
            classes: [&self.classes, classes].concat(),
        })
    }
}

/// Training settings of a fresh head: the classifier's initial optimiser settings, and a number of
/// epochs of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadTraining {
    /// Number of passes over the vectors.
    pub epochs: usize,
    /// Number of vectors in a step.
    pub batch_size: usize,
    /// Number of steps in an epoch, for any number of vectors: when an order is used up, a new one
    /// follows. `None` for one pass.
    pub steps: Option<usize>,
}

/// Trains a fresh head on vectors. The vectors of validation graphs select the epoch, as for a
/// classifier.
pub fn train_head(
    fresh: Head,
    on: &Vectors,
    validate_on: &Vectors,
    head: HeadTraining,
    config: &TrainConfig,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Head, Trained)> {
    check_batches(head.batch_size, on.classes.len())?;
    let steps = head
        .steps
        .unwrap_or(on.classes.len().div_ceil(head.batch_size));
    let validation = targets(&validate_on.classes);
    let mut task = HeadTask {
        head: &fresh,
        on,
        validate_on,
        validation,
        settings: head,
        steps,
        seed,
        order: Vec::new(),
    };
    let config = TrainConfig {
        epochs: head.epochs,
        ..config.clone()
    };
    let trained = fit_loop(&mut task, &config, mix(seed ^ mix(0x4ead)), watch)?;
    Ok((fresh, trained))
}

struct HeadTask<'a> {
    head: &'a Head,
    on: &'a Vectors,
    validate_on: &'a Vectors,
    validation: Targets,
    settings: HeadTraining,
    steps: usize,
    seed: u64,
    order: Vec<u32>,
}

impl TrainingTask for HeadTask<'_> {
    fn params(&self) -> &Params {
        self.head.params()
    }

    fn begin(&mut self, epoch: usize, _from: usize) -> Result<usize> {
        let count = self.on.classes.len();
        let wanted = if self.settings.steps.is_some() {
            self.steps * self.settings.batch_size
        } else {
            count
        };
        self.order.clear();
        for round in 0.. {
            if self.order.len() >= wanted {
                break;
            }
            self.order
                .extend(shuffled(count, mix(self.seed ^ mix(round)), epoch));
        }
        self.order.truncate(wanted);
        Ok(self.steps)
    }

    fn descend(&self, step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let from = step * self.settings.batch_size;
        let rows = &self.order[from..self.order.len().min(from + self.settings.batch_size)];
        let classes: Vec<u32> = rows.iter().map(|&i| self.on.classes[i as usize]).collect();
        let vectors = self
            .on
            .latent
            .index_select(&Tensor::from_slice(rows, rows.len(), &Device::Cpu)?, 0)?;
        let loss = targets(&classes).cross_entropy(&self.head.forward(&vectors, pass)?)?;
        gradients(loss, pass)
    }

    fn has_validation(&self) -> bool {
        !self.validation.items.is_empty()
    }

    fn validate(&self) -> Result<Validation> {
        validation(
            &[self.head.scores(&self.validate_on.latent)?],
            &self.validation,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::graph_data::{GraphPreparation, NodeFeatures};
    use gnarl_graph::{Graph, generate};
    use gnarl_nn::features::Scaler;
    use gnarl_nn::networks::{Backbone, NetworkConfig, Readout};
    use gnarl_nn::operator::OperatorChoice;
    use gnarl_nn::weights::{Orthonormal, WeightsChoice};

    /// Three parts: ordinary graphs, graphs without nodes, and one graph.
    fn parts() -> Vec<Graph> {
        let nodes = |i: usize| if (64..128).contains(&i) { 0 } else { 4 + i % 9 };
        let graph = |i: usize| match nodes(i) {
            0 => Graph::empty(0).unwrap(),
            n => generate::erdos_renyi(n, 0.4, i as u64).unwrap(),
        };
        (0..129).map(graph).collect()
    }

    fn config(backbone: Backbone, batch_norm: bool, weights: WeightsChoice) -> NetworkConfig {
        NetworkConfig {
            hidden: 7,
            dropout: 0.0,
            weights,
            readout: Readout::Sum,
            head_dropout: 0.5,
            ..NetworkConfig::new(backbone.where_taken("batch-norm", batch_norm))
        }
    }

    fn assert_same_gradients(params: &Params, found: &GradStore, expected: &GradStore) {
        let values = |gradients: &GradStore, var: &Var| {
            let gradient = gradients.get(var).unwrap().flatten_all().unwrap();
            gradient.to_vec1::<f32>().unwrap()
        };
        let all = params.list().iter();
        for p in all.filter(|p| expected.get(&p.var).is_some()) {
            let (found, expected) = (values(found, &p.var), values(expected, &p.var));
            gnarl_nn::testing::assert_close(&found, &expected, 1e-4, &p.name);
        }
    }

    /// The gradients of a step in parts equal the gradients of all its graphs in one tape.
    #[test]
    fn parts_of_a_step_descend_as_the_whole_does() {
        let graphs = parts();
        let (ids, classes): (Vec<u32>, Vec<u32>) = (0..129).map(|i| (i, i % 3)).unzip();
        let (operator, features) = (OperatorChoice::Default, Scaler::AsLoaded);
        let preparation = GraphPreparation {
            operator,
            features,
            node_features: NodeFeatures::of(&graphs),
        };
        let (free, orthonormal) = (
            WeightsChoice::FREE,
            WeightsChoice::Orthonormal(Orthonormal::default()),
        );
        for (backbone, batch_norm, weights) in [
            (Backbone::GCN, false, free),
            (Backbone::GCN, false, orthonormal),
            (Backbone::GIN, false, free),
            (Backbone::GIN, true, free),
        ] {
            let data = GraphData::new(&graphs, backbone, &preparation).unwrap();
            let shape = gnarl_nn::networks::Shape::new(data.in_dim(), 3, 0.0);
            let config = config(backbone, batch_norm, weights);
            let classifier = &GraphClassifier::new(&config, &shape, 1).unwrap();
            let task = Graphs {
                model: classifier,
                on: &TrainingSet {
                    data: &data,
                    graphs: &ids,
                    classes: &classes,
                    mixed: &[],
                    epoch_graphs: None,
                    mixup: None,
                },
                validate_on: &Evaluation::new(&data, &ids[..4], &classes[..4]).unwrap(),
                batch_size: 129,
                weights: None,
                seed: 1,
                epoch: 1,
                order: ids.clone(),
                fresh: None,
                whole: None,
            };
            let weights = classifier.params().weights().unwrap();
            let pass = Pass::training(&weights, 3);
            let num_parts = task.latents(0, &weights, &pass).unwrap().len();
            assert_eq!(num_parts, if batch_norm { 1 } else { 3 });
            let (loss, found) = task.descend(0, &pass).unwrap();
            let batch = data.batch(&ids).unwrap();
            let whole = classifier.latent(&batch, &pass).unwrap();
            let whole_loss = task.loss(0, &whole, &pass).unwrap();
            let (whole_loss, expected) = gradients(whole_loss, &pass).unwrap();
            assert!(
                (loss - whole_loss).abs() < 1e-5 * whole_loss,
                "{backbone}: {loss}, not {whole_loss}"
            );
            assert_same_gradients(classifier.params(), &found, &expected);
        }
    }
}
