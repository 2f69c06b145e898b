//! Early exit by confidence: the first exit whose confidence passes a learned threshold
//! (BranchyNet, Teerapittayanon et al. 2016, [arXiv:1709.01686](https://arxiv.org/abs/1709.01686)).
//! Confidences are calibrated by a temperature for each exit (Guo et al. 2017,
//! [arXiv:1706.04599](https://arxiv.org/abs/1706.04599)).

use serde::{Deserialize, Serialize};

use super::{Chosen, ExitPredictions, Family, Learned, Structure};
use crate::train::Targets;
use gnarl_graph::Result;

/// First exit whose confidence at its inverse temperature is at least the threshold; `otherwise` if
/// there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// Inverse temperature of each exit.
    inverse_temperatures: Vec<f64>,
    /// Threshold of the confidence.
    threshold: f64,
    /// Exit of nodes for which no exit passes the threshold.
    otherwise: usize,
}

/// Number of thresholds tried.
const THRESHOLDS: usize = 101;

impl Family for Confidence {
    type Setting = ();

    /// Selects the threshold with the best accuracy on the validation nodes; ties go to the
    /// highest, which means later exits.
    fn learn(
        _: (),
        _: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self> {
        let inverse_temperatures = predictions.calibrate(val);
        let otherwise = predictions.best_exit(val);
        let confidences: Vec<Vec<f64>> = inverse_temperatures
            .iter()
            .enumerate()
            .map(|(l, beta)| {
                val.items
                    .iter()
                    .map(|&u| predictions.confidence(l, u as usize, *beta))
                    .collect()
            })
            .collect();
        let correct_at = |threshold: f64| {
            let exit = |i: usize| {
                (0..confidences.len())
                    .find(|&l| confidences[l][i] >= threshold)
                    .unwrap_or(otherwise)
            };
            let is_correct =
                |i: &usize| predictions.class(exit(*i), val.items[*i] as usize) == val.classes[*i];
            (0..val.items.len()).filter(is_correct).count()
        };
        // Above one there is no early exit: the single best layer.
        let mut best = (1.01, correct_at(1.01));
        for k in (0..THRESHOLDS).rev() {
            let threshold = k as f64 / (THRESHOLDS - 1) as f64;
            let correct = correct_at(threshold);
            if correct > best.1 {
                best = (threshold, correct);
            }
        }
        Ok(Self {
            inverse_temperatures,
            threshold: best.0,
            otherwise,
        })
    }
}

impl Learned for Confidence {
    fn choose(&self, _: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        let exit = |u: usize| {
            let is_confident = |&l: &usize| {
                predictions.confidence(l, u, self.inverse_temperatures[l]) >= self.threshold
            };
            (0..predictions.num_exits())
                .find(is_confident)
                .unwrap_or(self.otherwise)
        };
        Ok(Chosen::of_exits(
            (0..predictions.num_items).map(exit).collect(),
        ))
    }

    fn fits(&self, exits: usize, _: usize) -> bool {
        self.inverse_temperatures.len() == exits && self.otherwise < exits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depth::policies::testing::targets;
    use crate::depth::{Kind, Policy};
    use gnarl_graph::generate::cycle;

    #[test]
    fn confident_nodes_exit_early() {
        // Exit 0 is correct and confident on the even nodes, wrong and not confident on the odd;
        // exit 1 is correct on the odd.
        let truth: Vec<u32> = (0..40).map(|u| (u / 2) % 2).collect();
        let row = |class: u32, by: f32| if class == 0 { [by, 0.0] } else { [0.0, by] };
        let exit = |right_on_even: bool| -> Vec<f32> {
            (0..40u32)
                .flat_map(|u| {
                    if (u % 2 == 0) == right_on_even {
                        row(truth[u as usize], 4.0)
                    } else {
                        row(1 - truth[u as usize], 0.5)
                    }
                })
                .collect()
        };
        let predictions = ExitPredictions::from_rows(vec![exit(true), exit(false)], 40, 2);
        let graph = cycle(40).unwrap();
        let structure = Structure::new(&graph, &[]).unwrap();
        let val = targets(0..20, &truth);
        for kind in [Kind::Confidence, Kind::MostConfident] {
            let policy = Policy::learn(kind, &structure, &predictions, &val).unwrap();
            let chosen = policy.choose(&structure, &predictions).unwrap();
            assert_eq!(
                chosen.exits,
                (0..40).map(|u| u % 2).collect::<Vec<usize>>(),
                "{kind}: {policy:?}"
            );
            assert_eq!(
                predictions.policy_accuracy(&chosen, &targets(20..40, &truth)),
                100.0
            );
        }
    }
}
