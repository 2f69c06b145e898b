//! Exit with the largest confidence, at calibrated temperatures (Guo et al. 2017,
//! [arXiv:1706.04599](https://arxiv.org/abs/1706.04599)). It needs the predictions of every exit,
//! so it saves no computation.

use serde::{Deserialize, Serialize};

use super::{Chosen, ExitPredictions, Family, Learned, Structure};
use crate::train::{Targets, argmax};
use gnarl_graph::Result;

/// Exit of the largest confidence; ties go to the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MostConfident {
    /// Inverse temperature of each exit.
    inverse_temperatures: Vec<f64>,
}

impl Family for MostConfident {
    type Setting = ();

    fn learn(
        _: (),
        _: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self> {
        Ok(Self {
            inverse_temperatures: predictions.calibrate(val),
        })
    }
}

impl Learned for MostConfident {
    fn choose(&self, _: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        let exit = |u: usize| {
            let confidence = |(l, beta): (usize, &f64)| predictions.confidence(l, u, *beta) as f32;
            argmax(
                &self
                    .inverse_temperatures
                    .iter()
                    .enumerate()
                    .map(confidence)
                    .collect::<Vec<f32>>(),
            )
        };
        Ok(Chosen::of_exits(
            (0..predictions.num_items).map(exit).collect(),
        ))
    }

    fn fits(&self, exits: usize, _: usize) -> bool {
        self.inverse_temperatures.len() == exits
    }
}
