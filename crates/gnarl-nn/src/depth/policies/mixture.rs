//! Linear opinion pool (Stone 1961,
//! [doi:10.1214/aoms/1177704873](https://doi.org/10.1214/aoms/1177704873)): the weighted mean of
//! all exits' calibrated probabilities, with weights by maximum likelihood.

use serde::{Deserialize, Serialize};

use super::{Chosen, ExitPredictions, Family, Learned, Structure};
use crate::depth::fit;
use crate::train::Targets;
use gnarl_graph::Result;

/// First exit that predicts the class with the largest mixture probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mixture {
    /// Inverse temperature of each exit.
    inverse_temperatures: Vec<f64>,
    /// Weight of each exit, with sum one.
    weights: Vec<f64>,
}

impl Family for Mixture {
    type Setting = ();

    fn learn(
        _: (),
        _: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self> {
        let inverse_temperatures = predictions.calibrate(val);
        let of_target = |(&node, &class): (&u32, &u32)| {
            let by_exit = |(exit, beta): (usize, &f64)| {
                probabilities(predictions.row(exit, node as usize), *beta)[class as usize]
            };
            inverse_temperatures
                .iter()
                .enumerate()
                .map(by_exit)
                .collect()
        };
        let rows: Vec<Vec<f64>> = val
            .items
            .iter()
            .zip(val.classes.iter())
            .map(of_target)
            .collect();
        Ok(Self {
            weights: fit::mixture_weights(&rows, predictions.num_exits()),
            inverse_temperatures,
        })
    }
}

impl Learned for Mixture {
    fn choose(&self, _: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        let exit = |u: usize| {
            let mut mixed = vec![0.0; predictions.num_classes];
            for (l, (beta, w)) in self
                .inverse_temperatures
                .iter()
                .zip(&self.weights)
                .enumerate()
            {
                let p = probabilities(predictions.row(l, u), *beta);
                mixed.iter_mut().zip(p).for_each(|(m, p)| *m += w * p);
            }
            predictions.first_exit_with(&mixed, u)
        };
        Ok(Chosen::of_exits(
            (0..predictions.num_items).map(exit).collect(),
        ))
    }

    fn fits(&self, exits: usize, _: usize) -> bool {
        self.inverse_temperatures.len() == exits && self.weights.len() == exits
    }
}

/// Computes probabilities from log-probabilities at an inverse temperature.
fn probabilities(row: &[f32], beta: f64) -> Vec<f64> {
    let top = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let exp: Vec<f64> = row
        .iter()
        .map(|s| (beta * (f64::from(*s) - top)).exp())
        .collect();
    let total: f64 = exp.iter().sum();
    exp.into_iter().map(|e| e / total).collect()
}
