//! Full-batch training: every step uses all training nodes of one graph.

use std::ops::Range;

use gnarl_graph::Result;
use gnarl_tensor::{GradStore, Tensor};

use super::{
    Callbacks, Dependencies, EpochInput, EpochSampler, Mixer, Mixing, Model, Problem,
    ReceptiveField, Targets, TrainConfig, Trained, TrainingTask, Validation, fit_loop, gradients,
};
use crate::networks::{Input, Network, Params, Pass, Propagation};

/// Trains `model` on the training nodes and selects weights on the validation nodes. `seed` fixes
/// every random sample.
pub fn train(
    model: &impl Model,
    problem: &Problem<'_>,
    config: &TrainConfig,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> Result<Trained> {
    let Problem {
        propagation, input, ..
    } = *problem;
    let targets = problem.targets()?;
    let weights = config
        .class_weights
        .of(&targets[0].classes, problem.labels.num_classes())?;
    let [targets, validate_on] = targets.map(|targets| targets.weighing(&weights));
    let validate_on = ReceptiveField::new(propagation, input, &validate_on, model.reach())?;
    let dependencies = Dependencies::new(propagation, input, &targets, model.reach());
    let train_on = dependencies.field(propagation, input)?;
    let field_sampler = problem.epoch_sampler.map(|sample| FieldSampler {
        sample,
        targets,
        dependencies,
        whole: (propagation, input),
        input: train_on.input.clone(),
    });
    model.start(&train_on.propagation, &train_on.input)?;
    let mixer = problem.mixing;
    fit_loop(
        &mut FullBatch {
            model,
            train_on,
            validate_on,
            field_sampler,
            mixer,
            mixing: None,
        },
        config,
        seed,
        callbacks,
    )
}

/// Full-batch training: all training nodes of one graph in every step.
struct FullBatch<'a, M> {
    model: &'a M,
    train_on: ReceptiveField,
    validate_on: ReceptiveField,
    field_sampler: Option<FieldSampler<'a>>,
    mixer: Option<Mixer<'a>>,
    /// Mixup of the epoch, if any.
    mixing: Option<Mixing>,
}

/// Sampler of a new graph for every epoch. If a new graph has no additional edges, its nodes stay
/// those of the whole graph's field. Inputs are then restricted, and transposed for their
/// gradients, once.
struct FieldSampler<'a> {
    sample: EpochSampler<'a>,
    targets: Targets,
    dependencies: Dependencies,
    /// Unchanged input of an epoch: the message passing and inputs of the whole graph; `input` has
    /// the field's inputs.
    whole: (&'a Propagation, &'a Input),
    input: Input,
}

impl FieldSampler<'_> {
    fn field(&self, epoch: usize, hops: Option<usize>) -> Result<ReceptiveField> {
        let EpochInput {
            propagation,
            new_edges,
            input,
        } = (self.sample)(epoch)?;
        let propagation = propagation.as_ref().unwrap_or(self.whole.0);
        if new_edges {
            return Ok(ReceptiveField::new(
                propagation,
                input.as_ref().unwrap_or(self.whole.1),
                &self.targets,
                hops,
            )?);
        }
        let input = match &input {
            Some(own) => self.dependencies.input(own)?,
            None => self.input.clone(),
        };
        Ok(self.dependencies.field_of(propagation, input)?)
    }
}

impl<M: Model> TrainingTask for FullBatch<'_, M> {
    fn params(&self) -> &Params {
        self.model.params()
    }

    fn trained(&self) -> Range<usize> {
        self.model.trained()
    }

    fn begin(&mut self, epoch: usize, _from: usize) -> Result<usize> {
        if let Some(field_sampler) = &self.field_sampler {
            self.train_on = field_sampler.field(epoch, self.model.reach())?;
        }
        self.mixing = self
            .mixer
            .map(|mixer| mixer(epoch, self.train_on.targets.items.len()))
            .transpose()?;
        Ok(1)
    }

    fn descend(&self, _step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let scores = self
            .model
            .scores(&self.train_on.propagation, &self.train_on.input, pass)?;
        let loss = match &self.mixing {
            Some(mixing) => mixing.loss(&scores, &self.train_on.targets)?,
            None => self.model.loss(&scores, &self.train_on.targets)?,
        };
        // The scores keep all tensors that they were computed from in memory.
        drop(scores);
        gradients(loss, pass)
    }

    fn has_validation(&self) -> bool {
        !self.validate_on.targets.items.is_empty()
    }

    /// With several outputs, the sum of the losses and the mean accuracy.
    fn validate(&self) -> Result<Validation> {
        let on = &self.validate_on.targets;
        let weights = self.model.params().weights()?.detached();
        let scores = self.model.scores(
            &self.validate_on.propagation,
            &self.validate_on.input,
            &Pass::evaluation(&weights),
        )?;
        let loss = self.model.loss(&scores, on)?.to_scalar::<f32>()?;
        let accuracies = scores
            .iter()
            .map(|scores| on.accuracy(scores))
            .collect::<Result<Vec<f64>>>()?;
        Ok(Validation {
            loss,
            accuracy: accuracies.iter().sum::<f64>() / accuracies.len() as f64,
        })
    }
}

/// Computes class scores without dropout, detached from any gradient.
pub fn predict(network: &Network, propagation: &Propagation, input: &Input) -> Result<Tensor> {
    let weights = network.params().weights()?.detached();
    Ok(network.forward(propagation, input, &Pass::evaluation(&weights))?)
}
