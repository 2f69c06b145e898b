//! Logarithmic opinion pools (Genest and Zidek 1986,
//! [doi:10.1214/ss/1177013825](https://doi.org/10.1214/ss/1177013825)): a weighted sum of all
//! exits' log-probabilities, by maximum likelihood. `blend` uses the exits alone, `pool` adds an
//! offset per class, and `echo` also the predictions of every exit for the node's neighbours,
//! weighted by degree.

use gnarl_data::Task;
use serde::{Deserialize, Serialize};

use super::{Chosen, ExitPredictions, Family, Learned, Structure};
use crate::depth::fit::{self, Choices};
use crate::train::Targets;
use gnarl_graph::Result;

gnarl_graph::named! {
    /// Evidence that a pool combines.
    pub enum Evidence as "evidence" {
        /// Predictions of the exits.
        Exits = "exits",
        /// Predictions and an offset per class.
        Offsets = "offsets",
        /// Offsets, and the exits' predictions for the neighbours, weighted by degree.
        Neighbours = "neighbours",
    }
}

impl Evidence {
    /// Returns the number of features for each class of a node.
    fn width(self, exits: usize, classes: usize) -> usize {
        match self {
            Evidence::Exits => exits,
            Evidence::Offsets => exits + classes,
            Evidence::Neighbours => 4 * exits + classes,
        }
    }
}

/// First exit that predicts the class preferred by the pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    evidence: Evidence,
    /// Coefficients of every exit, then of the additional evidence.
    coefficients: Vec<f64>,
}

impl Family for Pool {
    type Setting = Evidence;

    /// Learns coefficients with a penalty towards the single best exit or towards equal weights.
    /// Both the target and the penalty are selected by cross-validation on validation nodes.
    fn learn(
        evidence: Evidence,
        structure: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self> {
        let gathered = Gathered::new(evidence, structure, predictions);
        let exits = predictions.num_exits();
        let betas = predictions.calibrate(val);
        let best = predictions.best_exit(val);
        let start = |weight: &dyn Fn(usize) -> f64| {
            let mut theta = vec![0.0; gathered.width()];
            (0..exits).for_each(|l| theta[l] = weight(l) * betas[l]);
            theta
        };
        let starts = [
            start(&|l| if l == best { 1.0 } else { 0.0 }),
            start(&|_| 1.0 / exits as f64),
        ];
        let coefficients = fitted(&starts, predictions.num_classes, val, |node, rows| {
            gathered.fill(node, rows)
        });
        Ok(Self {
            evidence,
            coefficients,
        })
    }

    fn refused_on(evidence: Evidence, task: Task) -> Option<&'static str> {
        (task == Task::Graph && evidence == Evidence::Neighbours).then_some(
            "uses the predictions for a node's neighbours, and graphs of a set have none",
        )
    }
}

impl Learned for Pool {
    fn choose(&self, structure: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        let gathered = Gathered::new(self.evidence, structure, predictions);
        let mut rows = vec![0.0; predictions.num_classes * gathered.width()];
        let exit = |u: usize| {
            gathered.fill(u, &mut rows);
            let score = |x: &[f64]| {
                x.iter()
                    .zip(&self.coefficients)
                    .map(|(x, c)| x * c)
                    .sum::<f64>()
            };
            let scores: Vec<f64> = rows.chunks_exact(gathered.width()).map(score).collect();
            predictions.first_exit_with(&scores, u)
        };
        Ok(Chosen::of_exits(
            (0..predictions.num_items).map(exit).collect(),
        ))
    }

    fn fits(&self, exits: usize, classes: usize) -> bool {
        self.coefficients.len() == self.evidence.width(exits, classes)
    }
}

/// Penalties tried for coefficients.
const PENALTIES: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
/// Maximal number of validation nodes for the fit of coefficients, evenly spread over all of them.
const MAX_FITTED: usize = 4000;

/// Fits coefficients by penalised likelihood on the validation nodes, with a penalty towards one of
/// the starts. `fill` writes the evidence about a node, `[classes, width]`.
pub(super) fn fitted(
    starts: &[Vec<f64>],
    num_classes: usize,
    val: &Targets,
    fill: impl Fn(usize, &mut [f64]),
) -> Vec<f64> {
    let width = starts.first().map_or(0, Vec::len);
    let step = val.items.len().div_ceil(MAX_FITTED).max(1);
    let used: Vec<usize> = (0..val.items.len()).step_by(step).collect();
    let size = num_classes * width;
    let mut evidence = vec![0.0; used.len() * size];
    for (&i, rows) in used.iter().zip(evidence.chunks_exact_mut(size.max(1))) {
        fill(val.items[i] as usize, rows);
    }
    let truth = used.iter().map(|&i| val.classes[i] as usize).collect();
    fit::fit_cross(
        &Choices {
            evidence,
            alternatives: num_classes,
            width,
            truth,
        },
        starts,
        &PENALTIES,
    )
}

/// Evidence about a node for each class: the log-probability from each exit. With neighbours, also
/// the logarithm of the mean probability from each exit over the node's neighbours, and both
/// multiplied by the node's standardised degree. Last, with offsets, a one for the class itself,
/// whose coefficient is its offset.
struct Gathered<'a> {
    predictions: &'a ExitPredictions,
    evidence: Evidence,
    neighbours: Option<(Vec<Vec<f32>>, &'a [f64])>,
}

impl<'a> Gathered<'a> {
    fn new(
        evidence: Evidence,
        structure: &'a Structure<'_>,
        predictions: &'a ExitPredictions,
    ) -> Self {
        let of_exit = |exit: usize| mean_over_neighbours(exit, structure, predictions);
        let neighbours = (evidence == Evidence::Neighbours).then(|| {
            (
                (0..predictions.num_exits()).map(of_exit).collect(),
                &structure.degree[..],
            )
        });
        Self {
            predictions,
            evidence,
            neighbours,
        }
    }

    fn width(&self) -> usize {
        self.evidence
            .width(self.predictions.num_exits(), self.predictions.num_classes)
    }

    /// Writes the evidence about a node, `[classes, width]`.
    fn fill(&self, node: usize, rows: &mut [f64]) {
        let (exits, classes, width) = (
            self.predictions.num_exits(),
            self.predictions.num_classes,
            self.width(),
        );
        rows.fill(0.0);
        for (c, row) in rows.chunks_exact_mut(width).enumerate() {
            for l in 0..exits {
                let own = f64::from(self.predictions.row(l, node)[c]);
                row[l] = own;
                if let Some((neighbour_mean, degree)) = &self.neighbours {
                    let neighbour_mean = f64::from(neighbour_mean[l][node * classes + c]);
                    row[exits + l] = neighbour_mean;
                    row[2 * exits + l] = own * degree[node];
                    row[3 * exits + l] = neighbour_mean * degree[node];
                }
            }
            if self.evidence != Evidence::Exits {
                row[width - classes + c] = 1.0;
            }
        }
    }
}

/// Computes the logarithm of the mean probability that an exit gives each class over a node's
/// neighbours, `[nodes, classes]`; a node without neighbours has its own.
fn mean_over_neighbours(
    exit: usize,
    structure: &Structure<'_>,
    predictions: &ExitPredictions,
) -> Vec<f32> {
    let classes = predictions.num_classes;
    let mut rows = vec![0f32; predictions.num_items * classes];
    for (u, row) in rows.chunks_exact_mut(classes.max(1)).enumerate() {
        let neighbours = structure.neighbours(u);
        for &v in neighbours {
            row.iter_mut()
                .zip(predictions.row(exit, v as usize))
                .for_each(|(sum, p)| *sum += p.exp());
        }
        if neighbours.is_empty() {
            row.copy_from_slice(predictions.row(exit, u));
        } else {
            // A floor: a class that no neighbour is predicted as must not be excluded.
            row.iter_mut()
                .for_each(|p| *p = (*p / neighbours.len() as f32).max(1e-4).ln());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depth::policies::testing::{confident, targets};
    use crate::depth::{Kind, Policy};
    use gnarl_graph::generate::cycle;

    #[test]
    fn a_pool_weighs_exits_by_their_accuracy() {
        // Exit 0 always predicts 0, exit 1 is correct; the true class is 1 three times in four.
        let truth: Vec<u32> = (0..80).map(|u| u32::from(u % 4 != 0)).collect();
        let predictions = confident(&[vec![0; 80], truth.clone()], 2);
        let graph = cycle(80).unwrap();
        let structure = Structure::new(&graph, &[]).unwrap();
        for kind in [Kind::Mixture, Kind::Blend, Kind::Pool, Kind::Echo] {
            let policy =
                Policy::learn(kind, &structure, &predictions, &targets(0..40, &truth)).unwrap();
            let chosen = policy.choose(&structure, &predictions).unwrap();
            assert_eq!(
                predictions.policy_accuracy(&chosen, &targets(40..80, &truth)),
                100.0,
                "{kind}"
            );
            assert_eq!(
                chosen.exits[0], 0,
                "both answer 0: the node takes the first exit"
            );
        }
    }

    #[test]
    fn neighbours_are_averaged_by_hand() {
        // On a path 0 - 1 - 2 and an isolated node 3, exit 0 gives class 0 the probabilities 0.9,
        // 0.5, 0.1 and 0.25.
        let scores = [0.9f32, 0.5, 0.1, 0.25]
            .iter()
            .flat_map(|p| [p.ln(), (1.0 - p).ln()])
            .collect();
        let predictions = ExitPredictions::from_rows(vec![scores], 4, 2);
        let graph = gnarl_graph::Graph::from_edges(4, [(0, 1), (1, 2)])
            .unwrap()
            .0;
        let structure = Structure::new(&graph, &[]).unwrap();
        let means: Vec<f32> = mean_over_neighbours(0, &structure, &predictions)
            .iter()
            .map(|p| p.exp())
            .collect();
        let expected = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.75];
        assert!(
            means
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-6),
            "{means:?}"
        );
    }
}
