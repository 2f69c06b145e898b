//! Data-parallel training: every worker has the whole graph, on disk or in memory, and a copy of
//! the weights. Each worker takes its share of every step's nodes. The caller averages the
//! gradients over the workers, and all workers make the same step.
//!
//! The samples around a node do not depend on the worker. A step of two workers therefore equals a
//! step of one, except for rounding and dropout, whose mask depends on a node's place in a batch.
//! The caller transfers the gradients.

use std::sync::Arc;
use std::time::Instant;

use gnarl_data::{Content, SplitData};
use gnarl_graph::Split;

use super::fit::FitOptions;
use super::fitted::{Fitted, TrainedOn};
use super::graph_data::Inputs;
use super::learned::Learned;
use super::report::{FitReport, no_labels, refused};
use super::{Model, Plan};
use gnarl_graph::Result;
use gnarl_nn::features::{FeatureKind, Scaler};
use gnarl_nn::networks::{Group, Network};
use gnarl_nn::operator::RowOperator;
use gnarl_nn::train::{Batches, SampledProblem, Targets};
use gnarl_robust::inference::FittedInference;
use gnarl_tensor::{Adam, Device, GradStore, Tensor};

/// One worker's copy of a model in training.
#[derive(Debug)]
pub struct SharedTraining {
    plan: Plan,
    network: Network,
    adam: Adam,
    batches: Batches,
    on: SplitData,
    fingerprint: u64,
    scaler: Scaler,
    rows: Arc<RowOperator>,
    seed: u64,
    steps_done: u64,
    start: Instant,
}

impl SharedTraining {
    /// Prepares a worker. The model must be trained on sampled neighbourhoods, with a fixed depth
    /// and an initialised operator.
    pub fn new(model: &Model, on: SplitData, seed: u64) -> Result<Self> {
        let plan = model.plan(on.content.task())?;
        plan.check_options(&FitOptions::default())?;
        let (Content::Graph(graph), Some(sampling)) = (&on.content, plan.sampling) else {
            return Err(refused(
                "workers share sampled neighbourhoods; give batch-nodes",
            ));
        };
        if plan.model.depth.exits().is_some() {
            return Err(refused(
                "workers train a network of one depth; leave the depth fixed",
            ));
        }
        if plan.model.operator.candidates().len() > 1 {
            return Err(refused(
                "workers train one model; name the initialisation of the operator",
            ));
        }
        if !plan.training.class_weights.is_none() {
            return Err(refused(
                "workers average over nodes, each of which counts the same; leave class-weights out",
            ));
        }
        let Some(labels) = graph.labels() else {
            return Err(no_labels());
        };
        let scaling = plan.scalings(FeatureKind::of([graph].into_iter()))[0];
        let scaler = Scaler::fit(scaling, [graph].into_iter())?;
        let rows = Arc::new(RowOperator::new(
            graph,
            &scaler,
            plan.network.backbone,
            plan.model.operator,
        )?);
        let network = Network::new(&plan.network, &rows.shape(labels.num_classes()), seed)?;
        let problem = SampledProblem {
            rows: rows.clone(),
            labels,
            split: &on.split,
            sampling,
        };
        let batches = Batches::new(&problem, seed)?;
        batches.start(&network)?;
        let adam = plan.training.optimiser(network.params().list());
        let fingerprint = on.content.fingerprint();
        let start = Instant::now();
        Ok(Self {
            plan: plan.scaled_by(&scaler),
            network,
            adam,
            batches,
            on,
            fingerprint,
            scaler,
            rows,
            seed,
            steps_done: 0,
            start,
        })
    }

    /// Returns the plan that the model is trained by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the number of steps of an epoch.
    pub fn steps(&self) -> usize {
        self.batches.steps()
    }

    /// Returns the number of steps made.
    pub fn steps_done(&self) -> u64 {
        self.steps_done
    }

    /// Returns the mean loss over worker `worker`'s share of a step's nodes, of `workers` workers;
    /// its gradients one after the other; and the number of nodes. A share may be empty: then all
    /// are zero.
    pub fn gradients(
        &self,
        epoch: usize,
        step: usize,
        worker: usize,
        workers: usize,
    ) -> Result<(f32, Vec<f32>, usize)> {
        let params = self.network.params();
        let all = 0..params.list().len();
        let weights = params.weights_training(&all)?;
        let key =
            gnarl_graph::random::mix(self.seed ^ gnarl_graph::random::mix(self.steps_done + 1));
        let Some((loss, grads, count)) = self.batches.descend(
            &self.network,
            &weights,
            key,
            (epoch, step),
            (worker, workers),
        )?
        else {
            return Ok((0.0, vec![0.0; self.num_gradients()], 0));
        };
        let mut flat = Vec::with_capacity(self.num_gradients());
        for p in params.list().iter().filter(|p| p.group != Group::Statistic) {
            match grads.get(&p.var) {
                Some(grad) => flat.extend(grad.flatten_all()?.to_vec1::<f32>()?),
                None => flat.extend(std::iter::repeat_n(0.0, p.var.elem_count())),
            }
        }
        Ok((loss, flat, count))
    }

    fn num_gradients(&self) -> usize {
        self.network.params().num_trained()
    }

    /// Makes a step with gradients that were averaged over the workers.
    pub fn step(&mut self, gradients: &[f32]) -> Result<()> {
        if gradients.len() != self.num_gradients() {
            let what = format!(
                "{} gradients for {} weights",
                gradients.len(),
                self.num_gradients()
            );
            return Err(refused(&what));
        }
        if let Some(at) = gradients.iter().position(|g| !g.is_finite()) {
            return Err(refused(&format!(
                "gradient {at} is not a finite number; a smaller learning rate may help"
            )));
        }
        let params = self.network.params();
        let mut store = GradStore::default();
        let mut at = 0;
        for p in params.list().iter().filter(|p| p.group != Group::Statistic) {
            let count = p.var.elem_count();
            store.insert(
                &p.var,
                Tensor::from_slice(&gradients[at..at + count], p.var.shape(), &Device::Cpu)?,
            );
            at += count;
        }
        self.adam.step(&store)?;
        params.constrain(&(0..params.list().len()))?;
        self.steps_done += 1;
        Ok(())
    }

    /// Updates the learning rates by the schedule, after an epoch.
    pub fn end_epoch(&mut self, epoch: usize) {
        if let Some(schedule) = self.plan.training.schedule
            && epoch.is_multiple_of(schedule.every)
        {
            self.adam.scale_learning_rates(schedule.factor);
        }
    }

    /// Returns the training state as numbers: weights, moments, learning rates, steps.
    pub fn state(&self) -> Result<(Vec<f32>, Vec<f64>)> {
        let mut values = Vec::new();
        for p in self.network.params().list() {
            values.extend(p.var.flatten_all()?.to_vec1::<f32>()?);
        }
        let (moments, mut rates, steps) = self.adam.state();
        moments
            .iter()
            .for_each(|(first, second)| values.extend(first.iter().chain(*second)));
        rates.extend([f64::from(steps), self.steps_done as f64]);
        Ok((values, rates))
    }

    /// Restores a [`state`](Self::state), of this worker or another one.
    pub fn restore(&mut self, values: &[f32], rates: &[f64]) -> Result<()> {
        let wrong = || refused("the state belongs to another model");
        let mut left = values;
        let mut take = |count: usize| -> Result<Vec<f32>> {
            let (some, rest) = left.split_at_checked(count).ok_or_else(wrong)?;
            left = rest;
            Ok(some.to_vec())
        };
        for p in self.network.params().list() {
            p.var.set(&Tensor::from_vec(
                take(p.var.elem_count())?,
                p.var.shape(),
                &Device::Cpu,
            )?)?;
        }
        let lengths: Vec<usize> = self
            .adam
            .state()
            .0
            .iter()
            .map(|(first, _)| first.len())
            .collect();
        let moments = lengths
            .iter()
            .map(|&n| Ok((take(n)?, take(n)?)))
            .collect::<Result<Vec<_>>>()?;
        let Some((rates, &[steps, steps_done])) = rates.split_last_chunk::<2>() else {
            return Err(wrong());
        };
        if !left.is_empty() || !self.adam.restore(moments, rates, steps as i32) {
            return Err(wrong());
        }
        self.steps_done = steps_done as u64;
        Ok(())
    }

    /// Returns the accuracy on the validation nodes in per cent, without sampling; `None` if there
    /// are none.
    pub fn validation_accuracy(&self) -> Result<Option<f64>> {
        let Content::Graph(graph) = &self.on.content else {
            return Ok(None);
        };
        let Some(labels) = graph.labels() else {
            return Ok(None);
        };
        let val = Targets::new(self.on.split.val(), labels);
        if val.items.is_empty() {
            return Ok(None);
        }
        let scores = self
            .rows
            .scores(&self.network, &self.network.params().weights()?.detached())?;
        let scores = Tensor::from_vec(
            scores,
            (graph.num_nodes(), labels.num_classes()),
            &Device::Cpu,
        )?;
        Ok(Some(val.accuracy(&scores)?))
    }

    /// Returns the model in its current state.
    pub fn finish(self) -> Result<Fitted> {
        self.network.params().check_finite()?;
        let val_accuracy = self.validation_accuracy()?;
        let Content::Graph(graph) = &self.on.content else {
            return Err(refused("workers train on one graph"));
        };
        let Some(labels) = graph.labels() else {
            return Err(no_labels());
        };
        let seconds = self.start.elapsed().as_secs_f64();
        let report = FitReport {
            val_accuracy,
            operator: self.network.operator_scalars()?,
            seconds,
            training_seconds: seconds,
            ..FitReport::default()
        };
        let split: Split = self.on.split.clone();
        Ok(Fitted {
            classes: (0..labels.num_classes() as u32)
                .map(|c| labels.name(c))
                .collect(),
            mean_log_degree: self.rows.mean_log_degree(),
            inputs: Inputs::of_graph(graph),
            inference: FittedInference::default(),
            trained_on: TrainedOn {
                dataset: self.on.name.clone(),
                fingerprint: self.fingerprint,
                split,
            },
            seed: self.seed,
            report,
            learned: Learned::network(self.network, &self.plan)?,
            scaler: self.scaler,
            plan: self.plan,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_nn::networks::Backbone;

    fn ready(model: Model) -> SharedTraining {
        let graph = csbm(
            &CsbmConfig {
                num_nodes: 200,
                ..CsbmConfig::default()
            },
            1,
        )
        .unwrap();
        let on = gnarl_data::Dataset::from_graph("mine", graph)
            .split(0)
            .unwrap();
        SharedTraining::new(&model, on, 4).unwrap()
    }

    fn model() -> Model {
        let mut model = Model::new(Backbone::SAGE).epochs(3);
        model.network.dropout = Some(0.0);
        model.training.batch_nodes = Some(16);
        model
    }

    /// Averages the gradients of shares as a caller does.
    fn averaged(workers: &[SharedTraining], epoch: usize, step: usize) -> (f32, Vec<f32>) {
        let count = workers.len();
        let parts: Vec<_> = workers
            .iter()
            .enumerate()
            .map(|(i, w)| w.gradients(epoch, step, i, count).unwrap())
            .collect();
        let nodes: f32 = parts.iter().map(|(_, _, n)| *n as f32).sum();
        let loss = parts
            .iter()
            .map(|(loss, _, n)| loss * *n as f32)
            .sum::<f32>()
            / nodes;
        let mut mean = vec![0f32; parts[0].1.len()];
        for (_, grads, n) in &parts {
            mean.iter_mut()
                .zip(grads)
                .for_each(|(m, g)| *m += g * *n as f32 / nodes);
        }
        (loss, mean)
    }

    fn curve(count: usize) -> (Vec<f32>, SharedTraining) {
        let mut workers: Vec<SharedTraining> = (0..count).map(|_| ready(model())).collect();
        let mut losses = Vec::new();
        for epoch in 1..=3 {
            for step in 0..workers[0].steps() {
                let (loss, mean) = averaged(&workers, epoch, step);
                losses.push(loss);
                workers.iter_mut().for_each(|w| w.step(&mean).unwrap());
            }
        }
        (losses, workers.pop().unwrap())
    }

    #[test]
    fn workers_make_the_steps_of_one() {
        let (one, of_one) = curve(1);
        for count in [2, 3] {
            let (many, of_many) = curve(count);
            assert!(one.len() > 9 && one.len() == many.len());
            one.iter().zip(&many).for_each(|(a, b)| {
                assert!((a - b).abs() < 2e-4, "{a} against {b}, {count} workers")
            });
            let (a, b) = (of_one.state().unwrap().0, of_many.state().unwrap().0);
            a.iter()
                .zip(&b)
                .for_each(|(a, b)| assert!((a - b).abs() < 5e-3, "{a} against {b}"));
        }
        assert!(one[one.len() - 1] < one[0], "{one:?}");
        let fitted = of_one.finish().unwrap();
        assert!(fitted.report().val_accuracy.unwrap() > 50.0);
    }

    #[test]
    fn a_state_goes_on_elsewhere_to_the_bit() {
        let (_, trained) = curve(1);
        let mut other = ready(model());
        let (values, rates) = trained.state().unwrap();
        other.restore(&values, &rates).unwrap();
        assert_eq!(other.state().unwrap(), trained.state().unwrap());
        assert_eq!(
            other.gradients(4, 0, 0, 1).unwrap(),
            trained.gradients(4, 0, 0, 1).unwrap()
        );
        assert!(other.restore(&values[1..], &rates).is_err());
        assert!(other.step(&values).is_err());
    }

    #[test]
    fn unsupported_shared_training_is_refused() {
        let on = || {
            gnarl_data::Dataset::load("karate")
                .unwrap()
                .split(0)
                .unwrap()
        };
        let whole = SharedTraining::new(&Model::new(Backbone::GCN), on(), 0)
            .unwrap_err()
            .to_string();
        assert!(whole.contains("give batch-nodes"), "{whole}");
    }
}
