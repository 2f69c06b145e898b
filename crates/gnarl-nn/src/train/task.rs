//! Interfaces of the training loop: models, training tasks and the problem on one graph.

use std::ops::Range;

use gnarl_graph::{Labels, Result, Split};
use gnarl_tensor::{GradStore, Tensor};

use super::targets::labelled_targets;
use super::{Mixer, Targets, Validation};
use crate::networks::{Input, Network, Params, Pass, Propagation};

/// Training input of an epoch, if it differs from the validation input.
#[derive(Default)]
pub struct EpochInput {
    /// Propagation of the epoch; `None` for the unchanged propagation.
    pub propagation: Option<Propagation>,
    /// True if that propagation has new edges, so that nodes may have new neighbours.
    pub new_edges: bool,
    /// Features of the nodes; `None` for the unchanged features.
    pub input: Option<Input>,
}

/// Samples the training input of an epoch, counted from 1.
pub type EpochSampler<'a> = &'a (dyn Fn(usize) -> Result<EpochInput> + Sync);

/// Training task on one graph.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Message-passing operators.
    pub propagation: &'a Propagation,
    /// Features of the nodes.
    pub input: &'a Input,
    /// Classes of the nodes.
    pub labels: &'a Labels,
    /// Training and validation nodes.
    pub split: &'a Split,
    /// Sampler of a new graph for every training epoch, if any. Validation uses the unchanged
    /// graph.
    pub epoch_sampler: Option<EpochSampler<'a>>,
    /// Sampler of the mixup of the training nodes' last vectors in every epoch, if any.
    pub mixing: Option<Mixer<'a>>,
}

impl<'a> Problem<'a> {
    /// Returns a task with the same propagation in every epoch.
    pub fn new(
        propagation: &'a Propagation,
        input: &'a Input,
        labels: &'a Labels,
        split: &'a Split,
    ) -> Self {
        Self {
            propagation,
            input,
            labels,
            split,
            epoch_sampler: None,
            mixing: None,
        }
    }

    /// Returns the labelled training and validation nodes; a split without labelled training nodes
    /// is refused.
    pub fn targets(&self) -> Result<[Targets; 2]> {
        labelled_targets(self.split, self.labels)
    }
}

/// Model that the loop can train: a network, a stage of one whose earlier layers are frozen, or a
/// network with several exits.
pub trait Model {
    /// Returns its parameters.
    fn params(&self) -> &Params;

    /// Returns the trained parameters, by position; the others are never changed.
    fn trained(&self) -> Range<usize> {
        0..self.params().list().len()
    }

    /// Returns the number of hops within which nodes can influence a node's scores; `None` if every
    /// node may.
    fn reach(&self) -> Option<usize>;

    /// Computes class scores before the softmax, one matrix for each output. For a restricted task
    /// ([`Propagation::layer_operators`]), at least the rows of the targets, which come first.
    fn scores(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> gnarl_tensor::Result<Vec<Tensor>>;

    /// Initialises the data-dependent values before the first step, from the training nodes.
    fn start(&self, _propagation: &Propagation, _x: &Input) -> gnarl_tensor::Result<()> {
        Ok(())
    }

    /// Computes the loss to minimise: the cross-entropy, summed over the outputs.
    fn loss(&self, scores: &[Tensor], targets: &Targets) -> gnarl_tensor::Result<Tensor> {
        let mut losses = scores.iter().map(|scores| targets.cross_entropy(scores));
        let Some(first) = losses.next() else {
            gnarl_tensor::bail!("a model without outputs")
        };
        losses.try_fold(first?, |sum, loss| sum + loss?)
    }
}

impl Model for Network {
    fn params(&self) -> &Params {
        self.params()
    }

    fn reach(&self) -> Option<usize> {
        self.reach()
    }

    fn scores(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> gnarl_tensor::Result<Vec<Tensor>> {
        Ok(vec![self.forward(propagation, x, pass)?])
    }

    fn start(&self, propagation: &Propagation, x: &Input) -> gnarl_tensor::Result<()> {
        let Some(gain) = self.gain() else {
            return Ok(());
        };
        let weights = self.params().weights()?.detached();
        gain.start(
            self.params(),
            &self.forward(propagation, x, &Pass::evaluation(&weights))?,
        )
    }
}

/// Training task of the loop: a model on its training data, with one or several steps per epoch.
pub trait TrainingTask {
    /// Returns the model's parameters.
    fn params(&self) -> &Params;

    /// Returns the trained parameters, by position; the others are never changed.
    fn trained(&self) -> Range<usize> {
        0..self.params().list().len()
    }

    /// Prepares an epoch, counted from 1, and returns its number of steps. The first step of the
    /// epoch is `from`, which is 0 unless an interrupted training is resumed.
    fn begin(&mut self, epoch: usize, from: usize) -> Result<usize>;

    /// Computes the loss of a step of this epoch, from 0, and its gradients.
    fn descend(&self, step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)>;

    /// Returns true if there are validation nodes or graphs.
    fn has_validation(&self) -> bool;

    /// Evaluates the model on the validation nodes or graphs; only called if there are some.
    fn validate(&self) -> Result<Validation>;
}

/// Adds the penalties of the pass to a loss, and computes its gradients.
pub fn gradients(loss: Tensor, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
    let loss = pass
        .take_penalties()
        .iter()
        .try_fold(loss, |sum, penalty| sum + penalty)?;
    Ok((loss.to_scalar::<f32>()?, loss.into_gradients()?))
}
