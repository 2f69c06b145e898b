//! Control of `pool`: a single layer with an offset per class, fitted as the pool's offsets are.
//! The gain of a pool over this control comes from the other exits, not from the class frequencies
//! of the validation nodes.
//!
//! Its predictions are the exit's scores, scaled and shifted by the offsets. They may differ from
//! those of every exit: the oracle does not bound it.

use serde::{Deserialize, Serialize};

use super::pool::fitted;
use super::{Chosen, ExitPredictions, Family, Learned, Structure};
use crate::train::Targets;
use gnarl_graph::Result;

/// Exit with the best validation accuracy, with its log-probabilities times a scale plus an offset
/// for each class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offsets {
    exit: usize,
    scale: f64,
    /// Offset of each class.
    offsets: Vec<f64>,
}

impl Family for Offsets {
    type Setting = ();

    fn learn(
        _: (),
        _: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self> {
        let exit = predictions.best_exit(val);
        let classes = predictions.num_classes;
        let mut start = vec![0.0; 1 + classes];
        start[0] = predictions.calibrate(val)[exit];
        let coefficients = fitted(&[start], classes, val, |node, rows| {
            rows.fill(0.0);
            for (c, row) in rows.chunks_exact_mut(1 + classes).enumerate() {
                row[0] = f64::from(predictions.row(exit, node)[c]);
                row[1 + c] = 1.0;
            }
        });
        Ok(Self {
            exit,
            scale: coefficients[0],
            offsets: coefficients[1..].to_vec(),
        })
    }
}

impl Learned for Offsets {
    fn choose(&self, _: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        let moved = |node: usize| {
            let row = predictions.row(self.exit, node).iter().zip(&self.offsets);
            row.map(|(&p, offset)| (self.scale * f64::from(p) + offset) as f32)
                .collect::<Vec<f32>>()
        };
        let scores = (0..predictions.num_items).flat_map(moved).collect();
        Ok(Chosen {
            exits: vec![self.exit; predictions.num_items],
            scores: Some(scores),
        })
    }

    fn fits(&self, exits: usize, classes: usize) -> bool {
        self.exit < exits && self.offsets.len() == classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depth::policies::testing::targets;
    use crate::depth::{Kind, Policy};
    use gnarl_graph::generate::cycle;

    /// Exit 0 is biased to class 0 by 0.5 whatever the node, and to the correct class by 0.4.
    /// Without an offset it always predicts 0; with an offset of more than 0.1 and less than 0.9
    /// against class 0 it is always correct. Exit 1 is correct on a third.
    fn biased() -> (ExitPredictions, Vec<u32>) {
        let truth: Vec<u32> = (0..120).map(|u| u % 2).collect();
        let first = truth
            .iter()
            .flat_map(|&c| if c == 0 { [0.9, 0.0] } else { [0.5, 0.4] })
            .collect();
        let second = truth.iter().enumerate().flat_map(|(u, &c)| {
            let said = if u % 3 == 0 { c } else { 1 - c };
            if said == 0 { [0.1f32, 0.0] } else { [0.0, 0.1] }
        });
        (
            ExitPredictions::from_rows(vec![first, second.collect()], 120, 2),
            truth,
        )
    }

    #[test]
    fn an_offset_undoes_a_bias_that_no_exit_is_free_of() {
        let (predictions, truth) = biased();
        let graph = cycle(120).unwrap();
        let structure = Structure::new(&graph, &[]).unwrap();
        let (val, test) = (targets(0..60, &truth), targets(60..120, &truth));
        let policy = Policy::learn(Kind::Offsets, &structure, &predictions, &val).unwrap();
        let chosen = policy.choose(&structure, &predictions).unwrap();
        assert_eq!(predictions.accuracy(0, &test), 50.0);
        // Exit 0 predicts class 0 everywhere, exit 1 is correct on every third node: half, and a
        // third of the other half.
        assert!((predictions.oracle_accuracy(&test) - 200.0 / 3.0).abs() < 1e-9);
        assert_eq!(
            predictions.policy_accuracy(&chosen, &test),
            100.0,
            "{policy:?}"
        );
        assert_eq!(chosen.exits, [0; 120]);
        assert_eq!(chosen.class(&predictions, 1), 1);
    }

    #[test]
    fn scores_by_hand() {
        let scores: Vec<f32> = [0.8f32, 0.2, 0.3, 0.7].iter().map(|p| p.ln()).collect();
        let predictions = ExitPredictions::from_rows(vec![scores], 2, 2);
        let policy = Offsets {
            exit: 0,
            scale: 2.0,
            offsets: vec![-3.0, 0.5],
        };
        let graph = cycle(3).unwrap();
        let chosen = policy
            .choose(&Structure::new(&graph, &[]).unwrap(), &predictions)
            .unwrap();
        // 2 ln 0.8 - 3, 2 ln 0.2 + 0.5, 2 ln 0.3 - 3, 2 ln 0.7 + 0.5.
        let expected = [-3.446_287, -2.718_876, -5.407_946, -0.213_350];
        let found = chosen.scores.clone().unwrap();
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-5),
            "{found:?}"
        );
        assert_eq!(
            [0, 1].map(|node| chosen.class(&predictions, node)),
            [1, 1],
            "the exit itself answers 0 and 1"
        );
    }
}
