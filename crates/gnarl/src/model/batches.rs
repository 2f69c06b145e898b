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
    Course, MixedIn, Targets, TrainConfig, Trained, Validation, Watch, follow, gradients,
    mixed_cross_entropy,
};
use gnarl_tensor::{DType, Device, GradStore, Tensor, Var};

/// Graphs with their classes in kept batches, for what is asked again and again.
#[derive(Debug)]
pub struct Evaluation {
    batches: Vec<Batch>,
    targets: Targets,
}

impl Evaluation {
    /// Graphs of known classes.
    pub fn new(data: &GraphData, graphs: &[u32], classes: &[u32]) -> Result<Self> {
        Ok(Self {
            batches: data.batches(graphs, PART)?,
            targets: targets(classes),
        })
    }

    /// The graphs' vectors, `[graphs, latent_dim]`.
    pub fn latent(&self, model: &dyn GraphModel) -> Result<Tensor> {
        latent(model, &self.batches)
    }

    /// The same with their classes.
    pub fn vectors(&self, model: &dyn GraphModel) -> Result<Vectors> {
        Ok(Vectors {
            latent: self.latent(model)?,
            classes: self.classes().to_vec(),
        })
    }

    /// The graphs' class scores, from each place where the model answers.
    pub fn answers(&self, model: &dyn GraphModel) -> Result<Vec<Tensor>> {
        answers(model, &self.batches)
    }

    /// The graphs' class scores.
    pub fn scores(&self, classifier: &GraphClassifier) -> Result<Tensor> {
        scores(classifier, &self.batches)
    }

    /// Per cent of the graphs that are put into their class.
    pub fn accuracy(&self, classifier: &GraphClassifier) -> Result<f64> {
        self.targets.accuracy(&self.scores(classifier)?)
    }

    /// The graphs' distributions over classes.
    pub fn probabilities(&self, classifier: &GraphClassifier) -> Result<DenseMatrix<f32>> {
        softmax(&self.scores(classifier)?)
    }

    /// The kept batches.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// The graphs' classes, in their order.
    pub fn classes(&self) -> &[u32] {
        &self.targets.classes
    }
}

/// Graph vectors of a model as it is, without dropout or gradient: `[graphs, latent_dim]`.
pub fn latent(model: &dyn GraphModel, batches: &[Batch]) -> Result<Tensor> {
    let weights = model.params().weights()?.detached();
    side_by_side(model.latent_dim(), batches, |batch| {
        model.latent(batch, &Pass::evaluation(&weights))
    })
}

/// Class scores of a classifier as it is: `[graphs, num_classes]`.
pub fn scores(classifier: &GraphClassifier, batches: &[Batch]) -> Result<Tensor> {
    let weights = classifier.weights()?;
    side_by_side(classifier.num_classes(), batches, |batch| {
        classifier.scores(batch, &Pass::evaluation(&weights))
    })
}

/// Class scores of a model as it is, from each place where it answers: each
/// `[graphs, num_classes]`.
pub fn answers(model: &dyn GraphModel, batches: &[Batch]) -> Result<Vec<Tensor>> {
    let weights = model.params().weights()?.detached();
    let (count, classes) = (model.num_answers(), model.num_classes());
    let beside = side_by_side(count * classes, batches, |batch| {
        let pass = Pass::evaluation(&weights);
        Tensor::cat(&model.answers(&model.latent(batch, &pass)?, &pass)?, 1)
    })?;
    let one = |i: usize| match batches.is_empty() {
        true => Tensor::zeros((0, classes), DType::F32, &Device::Cpu),
        false => beside.narrow(1, i * classes, classes)?.contiguous(),
    };
    Ok((0..count).map(one).collect::<gnarl_tensor::Result<_>>()?)
}

/// The class scores of all graphs made ready, from each place where the model answers.
pub fn answers_on(model: &dyn GraphModel, data: &GraphData) -> Result<Vec<Tensor>> {
    let all: Vec<u32> = (0..data.num_graphs() as u32).collect();
    answers(model, &data.batches(&all, PART)?)
}

/// The vectors of all graphs made ready, without dropout or gradient.
pub fn vectors_of(model: &dyn GraphModel, data: &GraphData) -> Result<Tensor> {
    let all: Vec<u32> = (0..data.num_graphs() as u32).collect();
    latent(model, &data.batches(&all, PART)?)
}

/// The distributions over classes of all graphs made ready.
pub fn probabilities(classifier: &GraphClassifier, data: &GraphData) -> Result<DenseMatrix<f32>> {
    let all: Vec<u32> = (0..data.num_graphs() as u32).collect();
    softmax(&scores(classifier, &data.batches(&all, PART)?)?)
}

/// The softmax of every row.
fn softmax(scores: &Tensor) -> Result<DenseMatrix<f32>> {
    let (rows, cols) = scores.dims2()?;
    softmax_rows(rows, cols, scores.flatten_all()?.to_vec1::<f32>()?)
}

/// The softmax of every row of class scores.
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
    Ok(match parts.is_empty() {
        true => Tensor::zeros((0, width), DType::F32, &Device::Cpu)?,
        false => Tensor::cat(&parts, 0)?,
    })
}

/// All items in order, with their classes.
fn targets(classes: &[u32]) -> Targets {
    Targets {
        items: Arc::new((0..classes.len() as u32).collect()),
        classes: Arc::new(classes.to_vec()),
        weights: None,
    }
}

/// Validation loss and accuracy of scores; of several answers the sum of the losses and the mean
/// accuracy, as on nodes.
fn judged(answers: &[Tensor], targets: &Targets) -> Result<Validation> {
    let (mut loss, mut accuracy) = (0.0, 0.0);
    for scores in answers {
        loss += targets.cross_entropy(scores)?.to_scalar::<f32>()?;
        accuracy += targets.accuracy(scores)?;
    }
    Ok(Validation {
        loss,
        accuracy: accuracy / answers.len().max(1) as f64,
    })
}

/// The graphs a classifier is trained on.
pub struct TrainingSet<'a> {
    /// Made ready.
    pub data: &'a GraphData,
    /// Which of them.
    pub graphs: &'a [u32],
    /// Their classes.
    pub classes: &'a [u32],
    /// What went into each of them from graphs of other classes; empty where nothing did.
    pub mixed: &'a [MixedIn],
    /// Where the graphs are made anew in every epoch (counted from 1): how. They keep their number,
    /// order and classes.
    pub anew: Option<&'a (dyn Fn(usize) -> Result<FreshGraphs> + Sync)>,
    /// How latent vectors are mixed in every step, where they are.
    pub mixup: Option<ManifoldMixup>,
}

/// The training graphs of one epoch.
#[derive(Debug)]
pub struct FreshGraphs {
    /// Made ready.
    pub data: GraphData,
    /// As in [`TrainingSet::mixed`].
    pub mixed: Vec<MixedIn>,
}

/// Trains a classifier, one of its stages, or one with exits on the sum of their losses. Every
/// epoch walks through the training graphs in an order of its own, `batch_size` at a time; where
/// one batch holds them all it is made once and kept.
pub fn train_classifier(
    model: &dyn GraphModel,
    on: &TrainingSet<'_>,
    validate_on: &Evaluation,
    config: &TrainConfig,
    batch_size: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Trained> {
    check_batches(batch_size, on.graphs.len())?;
    let batch_size = batch_size.min(on.graphs.len());
    let weights = config.class_weights.of(on.classes, model.num_classes())?;
    let order = Vec::new();
    let mut course = Graphs {
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
    follow(&mut course, config, seed, watch)
}

/// The loss of every answer, added up.
fn summed(answers: &[Tensor], loss: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let Some((first, others)) = answers.split_first() else {
        return Err(gnarl_tensor::Error::msg("a model that answers nowhere").into());
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

/// Graphs that are worked on together. The parts of a step, and of what is evaluated, are side by
/// side on the cores; they depend on the step alone, so that the number of threads changes nothing.
const PART: usize = 64;

/// Batches of graphs, in another order every epoch.
struct Graphs<'a> {
    model: &'a dyn GraphModel,
    on: &'a TrainingSet<'a>,
    validate_on: &'a Evaluation,
    batch_size: usize,
    /// What graphs count by their classes.
    weights: Option<Arc<Vec<f32>>>,
    seed: u64,
    /// The epoch that was begun.
    epoch: usize,
    /// Positions among the training graphs.
    order: Vec<u32>,
    /// This epoch's graphs, where they are made anew.
    fresh: Option<FreshGraphs>,
    /// The parts of all of them, where those are one step which stays.
    whole: Option<Vec<Batch>>,
}

impl Graphs<'_> {
    fn positions(&self, step: usize) -> &[u32] {
        let from = step * self.batch_size;
        &self.order[from..self.order.len().min(from + self.batch_size)]
    }

    /// How many graphs are worked on together.
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

    /// The vectors of a step's graphs, part by part; `weights` are those of the pass, by value.
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
            // Statistics and terms of the loss are of a whole step: `couples_graphs` should have
            // said so.
            match pass.has_notes() {
                true => Err(gnarl_tensor::Error::msg(
                    "a part of a step has noted what belongs to all of it",
                )
                .into()),
                false => Ok(latent),
            }
        };
        parts.par_iter().enumerate().map(of_part).collect()
    }

    /// The loss of a step's vectors.
    fn loss(&self, step: usize, latent: &Tensor, pass: &Pass<'_>) -> Result<Tensor> {
        let positions = self.positions(step);
        let classes: Vec<u32> = positions
            .iter()
            .map(|&i| self.on.classes[i as usize])
            .collect();
        if let Some(mixup) = self.on.mixup {
            return self.mixed_up(mixup, step, latent, &classes, pass);
        }
        let answers = self.model.answers(latent, pass)?;
        let mixed = self
            .fresh
            .as_ref()
            .map_or(self.on.mixed, |fresh| &fresh.mixed);
        if !mixed.is_empty() {
            let mixed: Vec<MixedIn> = positions.iter().map(|&i| mixed[i as usize]).collect();
            return summed(&answers, |scores| {
                Ok(mixed_cross_entropy(scores, &classes, &mixed)?)
            });
        }
        let targets = targets(&classes).weighing(&self.weights);
        summed(&answers, |scores| Ok(targets.cross_entropy(scores)?))
    }

    /// Vectors mixed as Manifold-Mixup does, and their labels with them.
    fn mixed_up(
        &self,
        mixup: ManifoldMixup,
        step: usize,
        latent: &Tensor,
        classes: &[u32],
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let index = (self.epoch as u64) << 32 | step as u64;
        let drawn = mixup.draw(
            classes.len(),
            &mut stream(self.seed, "manifold mixup", index),
        )?;
        let (vectors, mixed) = (drawn.mix(latent)?, drawn.mixed_in(classes));
        summed(&self.model.answers(&vectors, pass)?, |scores| {
            Ok(mixed_cross_entropy(scores, classes, &mixed)?)
        })
    }
}

impl Course for Graphs<'_> {
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
        // One step keeps the order of the first epoch, also where a training goes on from a later
        // one.
        if steps > 1 {
            self.order = shuffled(count, self.seed, epoch);
        } else if self.order.is_empty() {
            self.order = shuffled(count, self.seed, FIRST_EPOCH);
        }
        if let Some(make) = self.on.anew {
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

    /// Each part has a tape of its own: down to the vectors of all parts together, then through
    /// each part by itself.
    fn descend(&self, step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let (weights, leaves) = pass.weights().with_leaves()?;
        let parts = self.latents(step, &weights, pass)?;
        if let [latent] = &parts[..] {
            let loss = self.loss(step, latent, pass)?;
            // Whoever holds the vectors holds all they were computed from.
            drop(parts);
            return gradients(loss, pass);
        }
        let latent = Var::from_tensor(&Tensor::cat(&parts, 0)?.detach())?;
        let (loss, mut grads) = match gradients(self.loss(step, &latent, pass)?, pass) {
            // The tape of the loss ends at the vectors; where they came from, the parts know.
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
        judged(
            &self.validate_on.answers(self.model)?,
            &self.validate_on.targets.clone().weighing(&self.weights),
        )
    }
}

/// Epochs are counted from here.
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
    /// One per vector.
    pub classes: Vec<u32>,
}

impl Vectors {
    /// The vectors in f64, one a row.
    pub fn to_matrix(&self) -> Result<DenseMatrix<f64>> {
        let (rows, cols) = self.latent.dims2()?;
        let values = self.latent.flatten_all()?.to_vec1::<f32>()?;
        DenseMatrix::new(rows, cols, values.into_iter().map(f64::from).collect())
    }

    /// These vectors, and some of them behind them once more.
    pub fn repeated_beside(&self, rows: &[u32]) -> Result<Self> {
        let others = self
            .latent
            .index_select(&Tensor::from_slice(rows, rows.len(), &Device::Cpu)?, 0)?;
        let classes: Vec<u32> = rows.iter().map(|&i| self.classes[i as usize]).collect();
        self.with(&others, &classes)
    }

    /// These vectors, and others behind them.
    pub fn beside(&self, others: &DenseMatrix<f64>, classes: &[u32]) -> Result<Self> {
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

/// How a fresh head is trained: with the classifier's optimiser settings at their start, for epochs
/// of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadTraining {
    /// Passes over the vectors.
    pub epochs: usize,
    /// Vectors in a step.
    pub batch_size: usize,
    /// Steps in an epoch, whatever the number of vectors: an order that runs out is followed by
    /// another. `None` for one pass.
    pub steps: Option<usize>,
}

/// Trains a fresh head on vectors; those of validation graphs choose the epoch as they do for a
/// classifier.
pub fn train_head(
    fresh: Head,
    on: &Vectors,
    validate_on: &Vectors,
    head: HeadTraining,
    config: &TrainConfig,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<(Head, Trained)> {
    check_batches(head.batch_size, on.classes.len())?;
    let steps = head
        .steps
        .unwrap_or(on.classes.len().div_ceil(head.batch_size));
    let validation = targets(&validate_on.classes);
    let mut course = HeadCourse {
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
    let trained = follow(&mut course, &config, mix(seed ^ mix(0x4ead)), watch)?;
    Ok((fresh, trained))
}

struct HeadCourse<'a> {
    head: &'a Head,
    on: &'a Vectors,
    validate_on: &'a Vectors,
    validation: Targets,
    settings: HeadTraining,
    steps: usize,
    seed: u64,
    order: Vec<u32>,
}

impl Course for HeadCourse<'_> {
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
        judged(
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

    /// The gradients of one step in parts against those of all its graphs in one tape.
    #[test]
    fn parts_of_a_step_descend_as_the_whole_does() {
        // Three parts: graphs as they come, graphs without nodes, and one graph.
        let nodes = |i: usize| if (64..128).contains(&i) { 0 } else { 4 + i % 9 };
        let graph = |i: usize| match nodes(i) {
            0 => Graph::empty(0).unwrap(),
            n => generate::erdos_renyi(n, 0.4, i as u64).unwrap(),
        };
        let graphs: Vec<Graph> = (0..129).map(graph).collect();
        let (ids, classes): (Vec<u32>, Vec<u32>) = (0..129).map(|i| (i, i % 3)).unzip();
        let (operator, features) = (OperatorChoice::Usual, Scaler::AsLoaded);
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
            let network = NetworkConfig {
                hidden: 7,
                dropout: 0.0,
                weights,
                ..NetworkConfig::new(backbone.where_taken("batch-norm", batch_norm))
            };
            let config = NetworkConfig {
                readout: Readout::Sum,
                head_dropout: 0.5,
                ..network
            };
            let classifier = &GraphClassifier::new(
                &config,
                &gnarl_nn::networks::Shape::new(data.in_dim(), 3, 0.0),
                1,
            )
            .unwrap();
            let validate_on = &Evaluation::new(&data, &ids[..4], &classes[..4]).unwrap();
            let on = &TrainingSet {
                data: &data,
                graphs: &ids,
                classes: &classes,
                mixed: &[],
                anew: None,
                mixup: None,
            };
            let (batch_size, order) = (129, ids.clone());
            let course = Graphs {
                model: classifier,
                on,
                validate_on,
                batch_size,
                weights: None,
                seed: 1,
                epoch: 1,
                order,
                fresh: None,
                whole: None,
            };
            let weights = classifier.params().weights().unwrap();
            let pass = Pass::training(&weights, 3);
            assert_eq!(
                course.latents(0, &weights, &pass).unwrap().len(),
                if batch_norm { 1 } else { 3 }
            );
            let (loss, grads) = course.descend(0, &pass).unwrap();
            let whole = classifier
                .latent(&data.batch(&ids).unwrap(), &pass)
                .unwrap();
            let (expected, at_once) =
                gradients(course.loss(0, &whole, &pass).unwrap(), &pass).unwrap();
            assert!(
                (loss - expected).abs() < 1e-5 * expected,
                "{backbone}: {loss}, not {expected}"
            );
            for p in classifier
                .params()
                .list()
                .iter()
                .filter(|p| at_once.get(&p.var).is_some())
            {
                let values = |g: &GradStore| {
                    g.get(&p.var)
                        .unwrap()
                        .flatten_all()
                        .unwrap()
                        .to_vec1::<f32>()
                        .unwrap()
                };
                gnarl_nn::testing::assert_close(&values(&grads), &values(&at_once), 1e-4, &p.name);
            }
        }
    }
}
