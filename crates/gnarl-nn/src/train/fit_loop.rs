//! Training loop: optimisation steps, best-validation weights, early stopping, and resuming from a
//! journal.

use std::ops::Range;
use std::time::{Duration, Instant};

use gnarl_graph::random::mix;
use gnarl_graph::{Error, Result};
use gnarl_tensor::Tensor;

use super::journal::{Checkpoint, State};
use super::optimiser::Optimiser;
use super::{Callbacks, Epoch, Keep, TrainConfig, Trained, TrainingTask, Validation, median};
use crate::networks::{Param, Pass};

/// Maximal time that an epoch continues after a stop was requested.
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// Runs the training loop: steps, best-validation weights, early stopping. `seed` fixes every
/// random sample of the passes. A training with a checkpoint in the journal is resumed, or is
/// already finished.
pub fn fit_loop(
    task: &mut impl TrainingTask,
    config: &TrainConfig,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> Result<Trained> {
    config.check()?;
    if config.patience.is_some() && !task.has_validation() {
        let what = "patience needs validation nodes or graphs, and there are none: leave it out to train for every epoch";
        return Err(Error::argument("training", what));
    }
    FitLoop::begin(task, config, seed, callbacks)?.run()
}

/// One training: its task, its optimiser, its checkpoint and its state.
struct FitLoop<'a, T> {
    task: &'a mut T,
    config: &'a TrainConfig,
    seed: u64,
    callbacks: &'a Callbacks<'a>,
    /// Positions of the trained parameters.
    trained: Range<usize>,
    optimiser: Optimiser,
    checkpoint: Option<Checkpoint<'a>>,
    state: State,
    /// Training times of the epochs of this run, in milliseconds.
    epoch_ms: Vec<f64>,
    is_done: bool,
    is_interrupted: bool,
}

impl<'a, T: TrainingTask> FitLoop<'a, T> {
    /// Registers the trained parameters with the optimiser and finds the checkpoint.
    fn begin(
        task: &'a mut T,
        config: &'a TrainConfig,
        seed: u64,
        callbacks: &'a Callbacks<'a>,
    ) -> Result<Self> {
        let trained = task.trained();
        let optimiser = Optimiser::new(&task.params().list()[trained.clone()], config);
        // A training that begins after a stop may depend on an incomplete one, as a head depends on
        // a network: it is not written to the journal.
        let journal = callbacks.journal.filter(|_| !callbacks.stopped());
        let checkpoint = journal
            .map(|journal| journal.checkpoint(task.params(), config, seed))
            .transpose()?;
        Ok(Self {
            task,
            config,
            seed,
            callbacks,
            trained,
            optimiser,
            checkpoint,
            state: State::default(),
            epoch_ms: Vec::with_capacity(config.epochs),
            is_done: false,
            is_interrupted: false,
        })
    }

    /// Trains for the remaining epochs.
    fn run(mut self) -> Result<Trained> {
        self.resume()?;
        for epoch in self.state.curve.len() + 1..=self.config.epochs {
            if self.is_done || self.is_interrupted {
                break;
            }
            self.epoch(epoch)?;
        }
        self.finish()
    }

    /// Continues from the checkpoint, if there is one, and reports its epochs.
    fn resume(&mut self) -> Result<()> {
        if let Some(checkpoint) = &self.checkpoint {
            let trained = &self.task.params().list()[self.trained.clone()];
            let found = checkpoint.read(trained, &mut self.optimiser.adam)?;
            (self.state, self.is_done) = found.unwrap_or_default();
        }
        for (epoch, completed) in (1..).zip(&self.state.curve) {
            (self.callbacks.on_epoch)(epoch, completed);
        }
        Ok(())
    }

    /// Performs the remaining steps of an epoch, counted from 1, and evaluates it.
    fn epoch(&mut self, epoch: usize) -> Result<()> {
        let start = Instant::now();
        let steps = self.task.begin(epoch, self.state.step)?;
        while self.state.step < steps {
            self.step(epoch)?;
            if self.state.step < steps {
                self.pause(start)?;
            }
            if self.is_interrupted {
                return Ok(());
            }
        }
        self.epoch_ms.push(start.elapsed().as_secs_f64() * 1e3);
        self.optimiser.end_epoch(epoch);
        let validation = self.validate(epoch)?;
        let loss = self.state.total / steps.max(1) as f32;
        self.end_epoch(epoch, Epoch { loss, validation })
    }

    /// Performs one optimisation step of an epoch.
    fn step(&mut self, epoch: usize) -> Result<()> {
        self.state.steps_done += 1;
        let params = self.task.params();
        let weights = params.weights_training(&self.trained)?;
        let pass = Pass::training(&weights, mix(self.seed ^ mix(self.state.steps_done)));
        let (loss, gradients) = match self.task.descend(self.state.step, &pass) {
            Err(Error::NotFinite { value, operation }) => {
                return Err(self.diverged(epoch, value, operation)?);
            }
            descended => descended?,
        };
        self.optimiser.step(&gradients)?;
        params.constrain(&self.trained)?;
        params.apply_updates(pass.into_updates())?;
        self.state.total += loss;
        self.state.step += 1;
        Ok(())
    }

    /// Between two steps of an epoch: writes a checkpoint that is due and reacts to a requested
    /// stop. A short epoch is completed before training stops, a long one is interrupted.
    fn pause(&mut self, epoch_start: Instant) -> Result<()> {
        self.is_interrupted = self.callbacks.stopped() && epoch_start.elapsed() > GRACE_PERIOD;
        self.write_checkpoint(self.is_interrupted)
    }

    /// Evaluates the model after an epoch and records the best weights and the lowest loss so far.
    fn validate(&mut self, epoch: usize) -> Result<Option<Validation>> {
        let validation = if self.task.has_validation() {
            Some(self.task.validate()?)
        } else {
            None
        };
        if is_worth_keeping(self.config.keep, &self.state.kept, validation) {
            self.state.kept = Some(BestWeights {
                epoch,
                validation,
                snapshot: snapshot(self.trained_params())?,
            });
        }
        if let Some(validation) = validation
            && self
                .state
                .lowest_loss
                .is_none_or(|(lowest, _)| validation.loss < lowest)
        {
            self.state.lowest_loss = Some((validation.loss, epoch));
        }
        Ok(validation)
    }

    /// Records and reports a completed epoch, decides if training ends, and writes the checkpoint.
    fn end_epoch(&mut self, epoch: usize, completed: Epoch) -> Result<()> {
        self.state.end_epoch(completed);
        (self.callbacks.on_epoch)(epoch, &completed);
        self.is_interrupted = self.callbacks.stopped();
        self.is_done = self.patience_is_over(epoch) || epoch == self.config.epochs;
        self.write_checkpoint(self.is_done || self.is_interrupted)
    }

    /// Returns true if the validation loss has not decreased for as many epochs as the patience
    /// allows.
    fn patience_is_over(&self, epoch: usize) -> bool {
        let best_epoch = self.state.lowest_loss.map_or(0, |(_, epoch)| epoch);
        self.config
            .patience
            .is_some_and(|patience| epoch - best_epoch >= patience)
    }

    /// Restores the best weights and returns the result.
    fn finish(self) -> Result<Trained> {
        let kept_epoch = match &self.state.kept {
            Some(kept) => {
                restore(self.trained_params(), &kept.snapshot)?;
                kept.epoch
            }
            None => self.state.curve.len(),
        };
        Ok(Trained {
            curve: self.state.curve,
            kept_epoch,
            epoch_ms: median(self.epoch_ms),
            interrupted: self.is_interrupted,
        })
    }

    /// Restores the best weights after a loss that is not finite, and returns the error.
    fn diverged(&self, epoch: usize, loss: f32, operation: Option<String>) -> Result<Error> {
        if let Some(kept) = &self.state.kept {
            restore(self.trained_params(), &kept.snapshot)?;
        }
        Ok(Error::Diverged {
            loss,
            operation,
            epoch,
            last_good: self.state.kept.as_ref().map_or(0, |kept| kept.epoch),
            learning_rate: self.config.learning_rate,
        })
    }

    /// Writes a checkpoint, if there is a journal, now or when the last one is old enough.
    fn write_checkpoint(&self, now: bool) -> Result<()> {
        match &self.checkpoint {
            Some(checkpoint) if now || checkpoint.is_due() => checkpoint.write(
                &self.state,
                self.trained_params(),
                &self.optimiser.adam,
                self.is_done,
            ),
            _ => Ok(()),
        }
    }

    fn trained_params(&self) -> &[Param] {
        &self.task.params().list()[self.trained.clone()]
    }
}

/// Weights that training would end with if it ended now.
#[derive(Debug)]
pub(super) struct BestWeights {
    pub epoch: usize,
    pub validation: Option<Validation>,
    pub snapshot: Vec<Tensor>,
}

/// Returns true if the weights just validated replace the selected ones: never if the validation
/// loss is out of range.
fn is_worth_keeping(keep: Keep, kept: &Option<BestWeights>, now: Option<Validation>) -> bool {
    let Some(now) = now else { return true };
    let is_better = match (kept, keep) {
        (None, _) | (_, Keep::Last) => true,
        (Some(kept), Keep::BestValidation) => {
            kept.validation.is_none_or(|kept| now.is_better_than(&kept))
        }
    };
    is_better && now.loss.is_finite()
}

/// Returns a copy of every value.
fn snapshot(trained: &[Param]) -> gnarl_tensor::Result<Vec<Tensor>> {
    trained.iter().map(|p| p.var.as_tensor().copy()).collect()
}

/// Restores a snapshot.
fn restore(trained: &[Param], snapshot: &[Tensor]) -> gnarl_tensor::Result<()> {
    trained
        .iter()
        .zip(snapshot)
        .try_for_each(|(p, value)| p.var.set(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::init::Init;
    use crate::networks::{Group, Params};
    use crate::train::gradients;
    use gnarl_tensor::GradStore;
    use std::sync::atomic::AtomicBool;

    /// One weight with initial value zero that moves by about the learning rate in every epoch;
    /// validation accuracies as given.
    struct Walk {
        params: Params,
        accuracies: Vec<f64>,
        epoch: usize,
    }

    impl Walk {
        fn new(accuracies: &[f64]) -> Self {
            let mut params = Params::default();
            let rng = &mut gnarl_graph::random::stream(1, "walk", 0);
            params
                .add("weight".into(), &[1], Init::Constant(0.0), Group::Bias, rng)
                .unwrap();
            Self {
                params,
                accuracies: accuracies.to_vec(),
                epoch: 0,
            }
        }

        fn weight(&self) -> f32 {
            self.params.list()[0].var.to_vec1::<f32>().unwrap()[0]
        }
    }

    impl TrainingTask for Walk {
        fn params(&self) -> &Params {
            &self.params
        }

        fn begin(&mut self, epoch: usize, _from: usize) -> Result<usize> {
            self.epoch = epoch;
            Ok(1)
        }

        fn descend(&self, _step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
            let (_, weight) = pass.weights().iter().next().unwrap();
            gradients(weight.neg()?.sum_all()?, pass)
        }

        fn has_validation(&self) -> bool {
            !self.accuracies.is_empty()
        }

        fn validate(&self) -> Result<Validation> {
            Ok(Validation {
                loss: 1.0,
                accuracy: self.accuracies[self.epoch - 1],
            })
        }
    }

    /// Adam's steps on a constant gradient are the learning rate each.
    fn train_walk(walk: &mut Walk, keep: Keep) -> Trained {
        let config = TrainConfig {
            epochs: 4,
            learning_rate: 1.0,
            weight_decay: 0.0,
            keep,
            ..TrainConfig::default()
        };
        fit_loop(walk, &config, 1, &Callbacks::quiet()).unwrap()
    }

    #[test]
    fn weights_are_kept_by_validation_and_without_it_the_last() {
        for (accuracies, keep, expected) in [
            (&[50.0, 70.0, 70.0, 60.0][..], Keep::BestValidation, 2),
            (&[50.0, 70.0, 70.0, 60.0], Keep::Last, 4),
            (&[], Keep::BestValidation, 4),
            (&[], Keep::Last, 4),
        ] {
            let mut walk = Walk::new(accuracies);
            let trained = train_walk(&mut walk, keep);
            assert_eq!(
                (trained.kept_epoch, trained.curve.len(), trained.interrupted),
                (expected, 4, false)
            );
            assert!(
                (walk.weight() - expected as f32).abs() < 1e-4,
                "{accuracies:?}: {}",
                walk.weight()
            );
            assert_eq!(trained.curve[0].val_accuracy(), accuracies.first().copied());
        }
    }

    #[test]
    fn epochs_are_stored_flat_and_without_what_was_not_measured() {
        let validation = Some(Validation {
            loss: 0.5,
            accuracy: 75.0,
        });
        let stored = serde_json::to_string(&Epoch {
            loss: 1.5,
            validation,
        })
        .unwrap();
        assert_eq!(stored, r#"{"loss":1.5,"val_loss":0.5,"val_accuracy":75.0}"#);
        assert_eq!(
            serde_json::to_string(&Epoch {
                loss: 1.5,
                validation: None
            })
            .unwrap(),
            r#"{"loss":1.5}"#
        );
    }

    #[test]
    fn patience_without_validation_is_refused() {
        let config = TrainConfig {
            patience: Some(3),
            ..TrainConfig::default()
        };
        let e = fit_loop(&mut Walk::new(&[]), &config, 1, &Callbacks::quiet())
            .unwrap_err()
            .to_string();
        assert!(
            e.starts_with("training: patience needs validation nodes or graphs"),
            "{e}"
        );
    }

    #[test]
    fn a_stop_from_outside_is_reported() {
        let stop = AtomicBool::new(true);
        let callbacks = Callbacks {
            stop: &stop,
            ..Callbacks::quiet()
        };
        let trained =
            fit_loop(&mut Walk::new(&[]), &TrainConfig::default(), 1, &callbacks).unwrap();
        assert_eq!((trained.curve.len(), trained.interrupted), (1, true));
    }
}
