//! Optimiser of the training loop: Adam, with a learning-rate schedule.

use gnarl_tensor::{Adam, AdamSettings, GradStore};

use super::{StepSchedule, TrainConfig};
use crate::networks::{Group, Param};

/// Learning-rate schedule: changes every learning rate by a common factor between epochs.
pub trait LearningRateSchedule: Send + Sync {
    /// Returns the factor by which the learning rates are multiplied after an epoch, counted from
    /// 1; `None` leaves them as they are.
    fn factor_after(&self, epoch: usize) -> Option<f64>;
}

impl LearningRateSchedule for StepSchedule {
    fn factor_after(&self, epoch: usize) -> Option<f64> {
        epoch.is_multiple_of(self.every).then_some(self.factor)
    }
}

impl TrainConfig {
    /// Returns the optimiser of these parameters, with their learning rates and weight decay.
    /// Statistics have no gradients and are left out.
    pub fn optimiser(&self, params: &[Param]) -> Adam {
        let mut adam = Adam::new(AdamSettings::default());
        for p in params.iter().filter(|p| p.group != Group::Statistic) {
            adam.add(&p.var, self.rate(p.group), self.weight_decay);
        }
        adam
    }

    /// Returns the learning-rate schedule; `None` for constant learning rates.
    fn learning_rate_schedule(&self) -> Option<Box<dyn LearningRateSchedule>> {
        self.schedule.map(|schedule| Box::new(schedule) as _)
    }
}

/// Optimiser whose learning rates follow a schedule.
pub(super) struct Optimiser {
    /// Moments, learning rates and steps: all that the journal stores of an optimiser.
    pub adam: Adam,
    schedule: Option<Box<dyn LearningRateSchedule>>,
}

impl Optimiser {
    /// Returns the optimiser of these parameters.
    pub fn new(params: &[Param], config: &TrainConfig) -> Self {
        Self {
            adam: config.optimiser(params),
            schedule: config.learning_rate_schedule(),
        }
    }

    /// Performs one step.
    pub fn step(&mut self, gradients: &GradStore) -> gnarl_tensor::Result<()> {
        self.adam.step(gradients)
    }

    /// Applies the learning-rate schedule at the end of an epoch, counted from 1.
    pub fn end_epoch(&mut self, epoch: usize) {
        let schedule = self.schedule.as_ref();
        if let Some(factor) = schedule.and_then(|schedule| schedule.factor_after(epoch)) {
            self.adam.scale_learning_rates(factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::{Params, init::Init};

    #[test]
    fn a_step_schedule_changes_the_rates_after_every_so_many_epochs() {
        let schedule = StepSchedule {
            every: 3,
            factor: 0.5,
        };
        let factors: Vec<Option<f64>> = (1..=6).map(|epoch| schedule.factor_after(epoch)).collect();
        assert_eq!(factors, [None, None, Some(0.5), None, None, Some(0.5)]);
    }

    #[test]
    fn parameters_have_the_rates_of_their_groups_and_statistics_none() {
        let mut params = Params::default();
        let rng = &mut gnarl_graph::random::stream(1, "optimiser", 0);
        for group in [Group::Weight, Group::Statistic, Group::Exponent] {
            let name = format!("{group:?}");
            params
                .add(name, &[1], Init::Constant(0.0), group, rng)
                .unwrap();
        }
        let config = TrainConfig {
            learning_rate: 0.3,
            exponent_learning_rate: 0.1,
            schedule: Some(StepSchedule {
                every: 1,
                factor: 0.5,
            }),
            ..TrainConfig::default()
        };
        let mut optimiser = Optimiser::new(params.list(), &config);
        assert_eq!(optimiser.adam.state().1, [0.3, 0.1]);
        optimiser.end_epoch(1);
        assert_eq!(optimiser.adam.state().1, [0.15, 0.05]);
    }
}
