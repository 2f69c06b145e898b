//! Training on sampled neighbourhoods ([Hamilton et al. 2017](https://arxiv.org/abs/1706.02216)): a
//! step uses some training nodes and their sampled neighbours, so its cost does not depend on the
//! size of the graph.
//!
//! A separate thread samples batches and reads their features while the step before is computed.
//! The samples are determined by the seed, the epoch and the node. Validation uses sampled
//! neighbourhoods too, the same after every epoch; the final evaluation is computed without
//! sampling.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use gnarl_graph::random::{mix, stream};
use gnarl_graph::sample::{Fanout, Sampler};
use gnarl_graph::{Labels, Split};
use rand::seq::SliceRandom;

use super::{
    Callbacks, Model, Targets, TrainConfig, Trained, TrainingTask, Validation, fit_loop, gradients,
};
use crate::networks::{Input, Params, Pass, Propagation, Weights};
use crate::operator::RowOperator;
use gnarl_graph::{Error, Result};
use gnarl_tensor::GradStore;

/// Neighbourhood sampling settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Number of training nodes per step.
    pub batch_nodes: usize,
    /// Number of sampled neighbours in each layer.
    pub fanout: Fanout,
    /// Share of edges dropped in an epoch ([DropEdge](https://arxiv.org/abs/1907.10903)).
    pub dropped_edges: f64,
}

/// Training task on a graph with sampled neighbourhoods.
#[derive(Debug, Clone)]
pub struct SampledProblem<'a> {
    /// Graph and its operator.
    pub rows: Arc<RowOperator>,
    /// Classes of the nodes.
    pub labels: &'a Labels,
    /// Training and validation nodes.
    pub split: &'a Split,
    /// Neighbourhood sampling settings.
    pub sampling: Sampling,
}

/// Number of batches prepared in advance.
const AHEAD: usize = 2;

/// Trains `model` on sampled neighbourhoods of the training nodes. `seed` fixes every random
/// sample.
pub fn train_sampled(
    model: &impl Model,
    problem: &SampledProblem<'_>,
    config: &TrainConfig,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<Trained> {
    let (train_on, validate_on) = (
        training_targets(problem)?,
        Targets::new(problem.split.val(), problem.labels),
    );
    let weights = config
        .class_weights
        .of(&train_on.classes, problem.labels.num_classes())?;
    let [train_on, validate_on] = [train_on, validate_on].map(|targets| targets.weighing(&weights));
    let draw = Draw {
        rows: problem.rows.clone(),
        sampling: problem.sampling,
        seed,
    };
    let first = draw.first(&train_on)?;
    model.start(&first.propagation, &first.input)?;
    drop(first);
    let mut task = SampledCourse {
        model,
        draw,
        train_on,
        validate_on,
        coming: None,
        steps: 0,
    };
    fit_loop(&mut task, config, seed, watch)
}

/// Computes the unweighted accuracy on the sampled neighbourhoods of the validation nodes; `None`
/// if there are none. Model selection uses the same neighbourhoods with class weights.
pub fn sampled_accuracy(
    model: &impl Model,
    problem: &SampledProblem<'_>,
    seed: u64,
) -> Result<Option<f64>> {
    let [train_on, validate_on] =
        [problem.split.train(), problem.split.val()].map(|of| Targets::new(of, problem.labels));
    let draw = Draw {
        rows: problem.rows.clone(),
        sampling: problem.sampling,
        seed,
    };
    let task = SampledCourse {
        model,
        draw,
        train_on,
        validate_on,
        coming: None,
        steps: 0,
    };
    Ok(if task.has_validation() {
        Some(task.validate()?.accuracy)
    } else {
        None
    })
}

/// Batches of a training whose optimisation steps are made by the caller.
#[derive(Debug)]
pub struct Batches {
    draw: Draw,
    train_on: Targets,
}

impl Batches {
    /// Fails if a split has no labelled training nodes.
    pub fn new(problem: &SampledProblem<'_>, seed: u64) -> Result<Self> {
        let train_on = training_targets(problem)?;
        Ok(Self {
            draw: Draw {
                rows: problem.rows.clone(),
                sampling: problem.sampling,
                seed,
            },
            train_on,
        })
    }

    /// Initialises the data-dependent values of a model.
    pub fn start(&self, model: &impl Model) -> Result<()> {
        let first = self.draw.first(&self.train_on)?;
        Ok(model.start(&first.propagation, &first.input)?)
    }

    /// Returns the number of steps of an epoch.
    pub fn steps(&self) -> usize {
        self.train_on
            .items
            .len()
            .div_ceil(self.draw.sampling.batch_nodes)
    }

    /// Computes the loss and the gradients of one worker's share of a step, and the number of its
    /// nodes; `None` if the share is empty.
    pub fn descend(
        &self,
        model: &impl Model,
        weights: &Weights,
        key: u64,
        (epoch, step): (usize, usize),
        (worker, workers): (usize, usize),
    ) -> Result<Option<(f32, GradStore, usize)>> {
        let order = self.draw.order(self.train_on.items.len(), epoch);
        let Some(chosen) = order.chunks(self.draw.sampling.batch_nodes).nth(step) else {
            return Ok(None);
        };
        let own: Vec<u32> = chosen
            .iter()
            .copied()
            .skip(worker)
            .step_by(workers.max(1))
            .collect();
        if own.is_empty() {
            return Ok(None);
        }
        let mut sampler = self.draw.sampler(true);
        let batch = self.draw.batch(
            &mut sampler,
            &self.train_on,
            &own,
            self.draw.key(epoch, step),
            self.draw.edges_key(epoch),
        )?;
        let pass = Pass::training(weights, key);
        let scores = model.scores(&batch.propagation, &batch.input, &pass)?;
        let loss = model.loss(&scores, &batch.targets)?;
        drop(scores);
        let (loss, grads) = gradients(loss, &pass)?;
        self.draw.rows.limit_memory();
        Ok(Some((loss, grads, own.len())))
    }
}

/// Returns the labelled training nodes; a split without any is refused.
fn training_targets(problem: &SampledProblem<'_>) -> Result<Targets> {
    let targets = Targets::new(problem.split.train(), problem.labels);
    if targets.items.is_empty() {
        let what = format!(
            "split {} has no labelled training items",
            problem.split.name()
        );
        return Err(Error::missing("training", what, "name another split"));
    }
    Ok(targets)
}

/// Batch sampler: constant during training.
#[derive(Debug, Clone)]
struct Draw {
    rows: Arc<RowOperator>,
    sampling: Sampling,
    seed: u64,
}

/// Nodes of a step and their sampled neighbourhood.
struct Batch {
    propagation: Propagation,
    input: Input,
    targets: Targets,
}

impl Draw {
    fn sampler(&self, trains: bool) -> Sampler {
        let dropped = if trains {
            self.sampling.dropped_edges
        } else {
            0.0
        };
        Sampler::new(self.rows.graph(), self.sampling.fanout).dropping(dropped)
    }

    /// Returns the batch of some of the targets, by position.
    fn batch(
        &self,
        sampler: &mut Sampler,
        of: &Targets,
        chosen: &[u32],
        key: u64,
        edges_key: u64,
    ) -> Result<Batch> {
        let nodes: Vec<u32> = chosen.iter().map(|&i| of.items[i as usize]).collect();
        let around = sampler.sample(&nodes, key, edges_key);
        let targets = Targets {
            items: Arc::new((0..nodes.len() as u32).collect()),
            classes: Arc::new(chosen.iter().map(|&i| of.classes[i as usize]).collect()),
            weights: of.weights.clone(),
        };
        Ok(Batch {
            propagation: self.rows.propagation(&around)?,
            input: self.rows.input(&around.nodes)?,
            targets,
        })
    }

    /// Returns some training nodes, for the initialisation before the first step.
    fn first(&self, train_on: &Targets) -> Result<Batch> {
        let some: Vec<u32> =
            (0..train_on.items.len().min(self.sampling.batch_nodes) as u32).collect();
        self.batch(&mut self.sampler(false), train_on, &some, mix(self.seed), 0)
    }

    /// Returns the random key of the edges dropped in an epoch.
    fn edges_key(&self, epoch: usize) -> u64 {
        mix(self.seed ^ mix(epoch as u64 ^ 0xd20b))
    }

    /// Returns the order of this many training nodes in an epoch.
    fn order(&self, count: usize, epoch: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.shuffle(&mut stream(self.seed, "sampled batches", epoch as u64));
        order
    }

    /// Returns the random key of a step.
    fn key(&self, epoch: usize, step: usize) -> u64 {
        mix(self.seed ^ mix((epoch as u64) << 32 | step as u64))
    }

    /// Samples the batches of an epoch from a step on, a few in advance.
    fn ahead(&self, train_on: &Targets, epoch: usize, from: usize) -> Receiver<Result<Batch>> {
        let (send, receive) = sync_channel(AHEAD);
        let (draw, train_on) = (self.clone(), train_on.clone());
        let threads = (rayon::current_num_threads() / 2).max(1);
        std::thread::spawn(move || {
            // Separate threads: those of the caller are busy with the step before.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let make = || {
                let mut sampler = draw.sampler(true);
                let order = draw.order(train_on.items.len(), epoch);
                let edges_key = draw.edges_key(epoch);
                for (step, chosen) in order
                    .chunks(draw.sampling.batch_nodes)
                    .enumerate()
                    .skip(from)
                {
                    let batch = draw.batch(
                        &mut sampler,
                        &train_on,
                        chosen,
                        draw.key(epoch, step),
                        edges_key,
                    );
                    // The receiver is gone if training was stopped.
                    if send.send(batch).is_err() {
                        return;
                    }
                }
            };
            match pool {
                Ok(pool) => pool.install(make),
                Err(_) => make(),
            }
        });
        receive
    }
}

struct SampledCourse<'a, M> {
    model: &'a M,
    draw: Draw,
    train_on: Targets,
    validate_on: Targets,
    coming: Option<Mutex<Receiver<Result<Batch>>>>,
    steps: usize,
}

impl<M: Model> TrainingTask for SampledCourse<'_, M> {
    fn params(&self) -> &Params {
        self.model.params()
    }

    fn trained(&self) -> std::ops::Range<usize> {
        self.model.trained()
    }

    fn begin(&mut self, epoch: usize, from: usize) -> Result<usize> {
        self.steps = self
            .train_on
            .items
            .len()
            .div_ceil(self.draw.sampling.batch_nodes);
        self.coming = Some(Mutex::new(self.draw.ahead(&self.train_on, epoch, from)));
        Ok(self.steps)
    }

    fn descend(&self, _step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let lost = || Error::argument("sampling", "the thread that draws batches ended");
        let coming = self
            .coming
            .as_ref()
            .and_then(|coming| coming.lock().ok())
            .ok_or_else(lost)?;
        let batch = coming.recv().map_err(|_| lost())??;
        let scores = self.model.scores(&batch.propagation, &batch.input, pass)?;
        let loss = self.model.loss(&scores, &batch.targets)?;
        drop(scores);
        let found = gradients(loss, pass);
        self.draw.rows.limit_memory();
        found
    }

    fn has_validation(&self) -> bool {
        !self.validate_on.items.is_empty()
    }

    fn validate(&self) -> Result<Validation> {
        let weights = self.params().weights()?.detached();
        let mut sampler = self.draw.sampler(false);
        let (mut loss, mut right, mut answers) = (0.0, 0.0, 1);
        let count = self.validate_on.items.len();
        let all: Vec<u32> = (0..count as u32).collect();
        for (step, chosen) in all.chunks(self.draw.sampling.batch_nodes).enumerate() {
            let key = mix(self.draw.seed ^ mix(0x7a1 ^ (step as u64) << 32));
            let batch = self
                .draw
                .batch(&mut sampler, &self.validate_on, chosen, key, 0)?;
            let scores = self.model.scores(
                &batch.propagation,
                &batch.input,
                &Pass::evaluation(&weights),
            )?;
            let weight = batch.targets.total_weight();
            loss += f64::from(
                self.model
                    .loss(&scores, &batch.targets)?
                    .to_scalar::<f32>()?,
            ) * weight;
            answers = scores.len().max(1);
            for scores in &scores {
                right += batch.targets.accuracy(scores)? * weight;
            }
            self.draw.rows.limit_memory();
        }
        // If every class weight is zero, every sum is 0.
        let total = Some(self.validate_on.total_weight())
            .filter(|total| *total > 0.0)
            .unwrap_or(1.0);
        Ok(Validation {
            loss: (loss / total) as f32,
            accuracy: right / total / answers as f64,
        })
    }
}
