//! Training on sampled neighbourhoods (Hamilton et al. 2017): a step looks at some training nodes
//! and at what was drawn around them, so it costs the same however large the graph is.
//!
//! Batches are drawn and their features read by a thread of their own while the step before is
//! computed. What is drawn follows from the seed, the epoch and the node. Validation is on sampled
//! neighbourhoods too, the same ones after every epoch; what a model is worth in the end is
//! computed without sampling.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use gnarl_graph::random::{mix, stream};
use gnarl_graph::sample::{Fanout, Sampler};
use gnarl_graph::{Labels, Split};
use rand::seq::SliceRandom;

use super::{Course, Model, Targets, TrainConfig, Trained, Validation, Watch, follow, gradients};
use crate::networks::{Input, Params, Pass, Propagation, Weights};
use crate::operator::RowOperator;
use gnarl_graph::{Error, Result};
use gnarl_tensor::GradStore;

/// How neighbourhoods are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Training nodes in a step.
    pub batch_nodes: usize,
    /// Neighbours that send in each round.
    pub fanout: Fanout,
    /// Share of edges that are gone in an epoch (DropEdge).
    pub dropped_edges: f64,
}

/// What a network is trained on.
#[derive(Debug, Clone)]
pub struct SampledProblem<'a> {
    /// The graph and its operator.
    pub rows: Arc<RowOperator>,
    /// The nodes' classes.
    pub labels: &'a Labels,
    /// Which nodes train and validate.
    pub split: &'a Split,
    /// How neighbourhoods are drawn.
    pub sampling: Sampling,
}

/// Batches that are ready before they are asked for.
const AHEAD: usize = 2;

/// Trains `model` on sampled neighbourhoods of the training nodes. `seed` fixes every random draw.
pub fn train_sampled(
    model: &impl Model,
    problem: &SampledProblem<'_>,
    config: &TrainConfig,
    seed: u64,
    watch: &Watch<'_>,
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
    let mut course = SampledCourse {
        model,
        draw,
        train_on,
        validate_on,
        coming: None,
        steps: 0,
    };
    follow(&mut course, config, seed, watch)
}

/// The accuracy on the sampled neighbourhoods of the validation nodes, by which an epoch is chosen,
/// but with all of them counting the same; `None` without any.
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
    let course = SampledCourse {
        model,
        draw,
        train_on,
        validate_on,
        coming: None,
        steps: 0,
    };
    Ok(if course.has_validation() {
        Some(course.validate()?.accuracy)
    } else {
        None
    })
}

/// The batches of a training whose steps are made from outside.
#[derive(Debug)]
pub struct Batches {
    draw: Draw,
    train_on: Targets,
}

impl Batches {
    /// Fails where a split has no labelled training nodes.
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

    /// Chooses what of a model depends on the data.
    pub fn start(&self, model: &impl Model) -> Result<()> {
        let first = self.draw.first(&self.train_on)?;
        Ok(model.start(&first.propagation, &first.input)?)
    }

    /// Steps of an epoch.
    pub fn steps(&self) -> usize {
        self.train_on
            .items
            .len()
            .div_ceil(self.draw.sampling.batch_nodes)
    }

    /// The loss and the gradients of one worker's share of a step of an epoch, and how many nodes
    /// that were; `None` for no node.
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

/// The labelled training nodes; a split without any is refused.
fn training_targets(problem: &SampledProblem<'_>) -> Result<Targets> {
    let targets = Targets::new(problem.split.train(), problem.labels);
    if targets.items.is_empty() {
        let what = format!(
            "split {} has no labelled training items",
            problem.split.name()
        );
        return Err(Error::argument("training", what));
    }
    Ok(targets)
}

/// What makes batches: nothing of it changes while a model is trained.
#[derive(Debug, Clone)]
struct Draw {
    rows: Arc<RowOperator>,
    sampling: Sampling,
    seed: u64,
}

/// A step's nodes and what was drawn around them.
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

    /// The batch of some of the targets, by position.
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

    /// Some training nodes, for what is chosen before the first step.
    fn first(&self, train_on: &Targets) -> Result<Batch> {
        let some: Vec<u32> =
            (0..train_on.items.len().min(self.sampling.batch_nodes) as u32).collect();
        self.batch(&mut self.sampler(false), train_on, &some, mix(self.seed), 0)
    }

    /// What the edges that are gone in an epoch are drawn from.
    fn edges_key(&self, epoch: usize) -> u64 {
        mix(self.seed ^ mix(epoch as u64 ^ 0xd20b))
    }

    /// The order in which an epoch goes through so many training nodes.
    fn order(&self, count: usize, epoch: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.shuffle(&mut stream(self.seed, "sampled batches", epoch as u64));
        order
    }

    /// What the draws of a step start from.
    fn key(&self, epoch: usize, step: usize) -> u64 {
        mix(self.seed ^ mix((epoch as u64) << 32 | step as u64))
    }

    /// Makes the batches of an epoch from a step on, a few ahead of those who ask.
    fn ahead(&self, train_on: &Targets, epoch: usize, from: usize) -> Receiver<Result<Batch>> {
        let (send, receive) = sync_channel(AHEAD);
        let (draw, train_on) = (self.clone(), train_on.clone());
        let threads = (rayon::current_num_threads() / 2).max(1);
        std::thread::spawn(move || {
            // Threads of its own: those of the caller are busy with the step before.
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
                    // Nobody asks any more where training was stopped.
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

impl<M: Model> Course for SampledCourse<'_, M> {
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
        // Where no item counts anything, every sum is 0.
        let total = Some(self.validate_on.total_weight())
            .filter(|total| *total > 0.0)
            .unwrap_or(1.0);
        Ok(Validation {
            loss: (loss / total) as f32,
            accuracy: right / total / answers as f64,
        })
    }
}
