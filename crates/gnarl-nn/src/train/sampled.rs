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

use super::targets::labelled_targets;
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
const PREFETCHED: usize = 2;

/// Trains `model` on sampled neighbourhoods of the training nodes. `seed` fixes every random
/// sample.
pub fn train_sampled(
    model: &impl Model,
    problem: &SampledProblem<'_>,
    config: &TrainConfig,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> Result<Trained> {
    let [train_on, validate_on] = labelled_targets(problem.split, problem.labels)?;
    let weights = config
        .class_weights
        .of(&train_on.classes, problem.labels.num_classes())?;
    let [train_on, validate_on] = [train_on, validate_on].map(|targets| targets.weighing(&weights));
    let batches = BatchSampler::new(problem, seed);
    let first = batches.first(&train_on)?;
    model.start(&first.propagation, &first.input)?;
    drop(first);
    let mut task = SampledTask::new(model, batches, train_on, validate_on);
    fit_loop(&mut task, config, seed, callbacks)
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
    let batches = BatchSampler::new(problem, seed);
    let task = SampledTask::new(model, batches, train_on, validate_on);
    Ok(if task.has_validation() {
        Some(task.validate()?.accuracy)
    } else {
        None
    })
}

/// Batches of a training whose optimisation steps are made by the caller.
#[derive(Debug)]
pub struct Batches {
    batches: BatchSampler,
    train_on: Targets,
}

impl Batches {
    /// Fails if a split has no labelled training nodes.
    pub fn new(problem: &SampledProblem<'_>, seed: u64) -> Result<Self> {
        let [train_on, _] = labelled_targets(problem.split, problem.labels)?;
        Ok(Self {
            batches: BatchSampler::new(problem, seed),
            train_on,
        })
    }

    /// Initialises the data-dependent values of a model.
    pub fn start(&self, model: &impl Model) -> Result<()> {
        let first = self.batches.first(&self.train_on)?;
        Ok(model.start(&first.propagation, &first.input)?)
    }

    /// Returns the number of steps of an epoch.
    pub fn steps(&self) -> usize {
        self.train_on
            .items
            .len()
            .div_ceil(self.batches.sampling.batch_nodes)
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
        let order = self.batches.order(self.train_on.items.len(), epoch);
        let Some(chosen) = order.chunks(self.batches.sampling.batch_nodes).nth(step) else {
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
        let mut sampler = self.batches.sampler(true);
        let batch = self.batches.batch(
            &mut sampler,
            &self.train_on,
            &own,
            self.batches.key(epoch, step),
            self.batches.edges_key(epoch),
        )?;
        let pass = Pass::training(weights, key);
        let scores = model.scores(&batch.propagation, &batch.input, &pass)?;
        let loss = model.loss(&scores, &batch.targets)?;
        drop(scores);
        let (loss, grads) = gradients(loss, &pass)?;
        self.batches.rows.limit_memory();
        Ok(Some((loss, grads, own.len())))
    }
}

/// Batch sampler: constant during training.
#[derive(Debug, Clone)]
struct BatchSampler {
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

impl BatchSampler {
    fn new(problem: &SampledProblem<'_>, seed: u64) -> Self {
        Self {
            rows: problem.rows.clone(),
            sampling: problem.sampling,
            seed,
        }
    }

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
        let neighbourhood = sampler.sample(&nodes, key, edges_key);
        let targets = Targets {
            items: Arc::new((0..nodes.len() as u32).collect()),
            classes: Arc::new(chosen.iter().map(|&i| of.classes[i as usize]).collect()),
            weights: of.weights.clone(),
        };
        Ok(Batch {
            propagation: self.rows.propagation(&neighbourhood)?,
            input: self.rows.input(&neighbourhood.nodes)?,
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
    fn prefetch(&self, train_on: &Targets, epoch: usize, from: usize) -> Receiver<Result<Batch>> {
        let (send, receive) = sync_channel(PREFETCHED);
        let (batches, train_on) = (self.clone(), train_on.clone());
        let threads = (rayon::current_num_threads() / 2).max(1);
        std::thread::spawn(move || {
            // Separate threads: those of the caller are busy with the step before.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let make = || {
                let mut sampler = batches.sampler(true);
                let order = batches.order(train_on.items.len(), epoch);
                let edges_key = batches.edges_key(epoch);
                for (step, chosen) in order
                    .chunks(batches.sampling.batch_nodes)
                    .enumerate()
                    .skip(from)
                {
                    let batch = batches.batch(
                        &mut sampler,
                        &train_on,
                        chosen,
                        batches.key(epoch, step),
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

/// Training task on sampled neighbourhoods: some training nodes in every step.
struct SampledTask<'a, M> {
    model: &'a M,
    batches: BatchSampler,
    train_on: Targets,
    validate_on: Targets,
    prefetched: Option<Mutex<Receiver<Result<Batch>>>>,
    steps: usize,
}

impl<'a, M> SampledTask<'a, M> {
    fn new(model: &'a M, batches: BatchSampler, train_on: Targets, validate_on: Targets) -> Self {
        Self {
            model,
            batches,
            train_on,
            validate_on,
            prefetched: None,
            steps: 0,
        }
    }
}

impl<M: Model> TrainingTask for SampledTask<'_, M> {
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
            .div_ceil(self.batches.sampling.batch_nodes);
        self.prefetched = Some(Mutex::new(self.batches.prefetch(
            &self.train_on,
            epoch,
            from,
        )));
        Ok(self.steps)
    }

    fn descend(&self, _step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let lost = || Error::argument("sampling", "the thread that samples batches ended");
        let prefetched = self
            .prefetched
            .as_ref()
            .and_then(|prefetched| prefetched.lock().ok())
            .ok_or_else(lost)?;
        let batch = prefetched.recv().map_err(|_| lost())??;
        let scores = self.model.scores(&batch.propagation, &batch.input, pass)?;
        let loss = self.model.loss(&scores, &batch.targets)?;
        drop(scores);
        let found = gradients(loss, pass);
        self.batches.rows.limit_memory();
        found
    }

    fn has_validation(&self) -> bool {
        !self.validate_on.items.is_empty()
    }

    fn validate(&self) -> Result<Validation> {
        let weights = self.params().weights()?.detached();
        let mut sampler = self.batches.sampler(false);
        let (mut loss, mut correct, mut num_outputs) = (0.0, 0.0, 1);
        let count = self.validate_on.items.len();
        let all: Vec<u32> = (0..count as u32).collect();
        for (step, chosen) in all.chunks(self.batches.sampling.batch_nodes).enumerate() {
            let key = mix(self.batches.seed ^ mix(0x7a1 ^ (step as u64) << 32));
            let batch = self
                .batches
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
            num_outputs = scores.len().max(1);
            for scores in &scores {
                correct += batch.targets.accuracy(scores)? * weight;
            }
            self.batches.rows.limit_memory();
        }
        // If every class weight is zero, every sum is 0.
        let total = Some(self.validate_on.total_weight())
            .filter(|total| *total > 0.0)
            .unwrap_or(1.0);
        Ok(Validation {
            loss: (loss / total) as f32,
            accuracy: correct / total / num_outputs as f64,
        })
    }
}
