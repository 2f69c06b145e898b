//! The linear surrogate of Nettack and Metattack: two layers without an activation, `Â² X W₁ W₂`,
//! trained by gradient descent with momentum (Zügner et al. 2018,
//! [arXiv:1805.07984](https://arxiv.org/abs/1805.07984); Zügner and Günnemann 2019,
//! [arXiv:1902.08412](https://arxiv.org/abs/1902.08412)).
//!
//! The graph enters through `S = Â² X` alone. Its training can be differentiated: [`through_training`]
//! gives the exact derivative of a loss of the trained weights by the rows of S that it was trained
//! on, in `O(steps · rows · features · hidden)`.

use gnarl_graph::random::Rng;
use gnarl_graph::{CsrMatrix, Features, Graph};
use rand::RngExt;
use rayon::prelude::*;

use gnarl_graph::Result;
use gnarl_tensor::{Device, Tensor};

/// Hidden units, learning rate and momentum of the surrogate, as published.
const HIDDEN: usize = 16;
const RATE: f64 = 0.1;
const MOMENTUM: f64 = 0.9;
/// Number of training steps whose derivatives are multiplied together.
const TOGETHER: usize = 10;

/// Features as sparse rows, divided by their mean absolute value, so that one learning rate suits
/// counts as well as shares; the identity without features.
pub(super) fn features_of(graph: &Graph) -> CsrMatrix<f32> {
    let x = match graph.features() {
        Some(Features::Sparse(x)) => x.clone(),
        Some(Features::Dense(x)) => CsrMatrix::from_dense(x),
        None => CsrMatrix::<f64>::identity(graph.num_nodes()).map(|v| v as f32),
    };
    let present: Vec<f64> = x
        .values()
        .iter()
        .map(|&v| f64::from(v.abs()))
        .filter(|&v| v > 0.0)
        .collect();
    let mean = present.iter().sum::<f64>() / present.len().max(1) as f64;
    if mean > 0.0 {
        x.map(|v| (f64::from(v) / mean) as f32)
    } else {
        x
    }
}

/// The operator `Â` and the product `Â X` of a graph.
pub(super) struct Propagated {
    pub a: CsrMatrix<f32>,
    pub ax: CsrMatrix<f32>,
    /// `1 / sqrt(degree + 1)` of each node.
    pub scales: Vec<f32>,
}

impl Propagated {
    /// Computes both in O(edges · features of a node).
    pub fn new(graph: &Graph, x: &CsrMatrix<f32>) -> Result<Self> {
        let n = graph.num_nodes();
        let scales: Vec<f32> = (0..n as u32)
            .map(|u| 1.0 / ((graph.neighbours(u).len() + 1) as f32).sqrt())
            .collect();
        let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for u in 0..n as u32 {
            let row = graph.neighbours(u);
            let place = row.partition_point(|&v| v < u);
            for v in row[..place]
                .iter()
                .copied()
                .chain([u])
                .chain(row[place..].iter().copied())
            {
                columns.push(v);
                values.push(scales[u as usize] * scales[v as usize]);
            }
            offsets.push(columns.len() as u64);
        }
        let a = CsrMatrix::new(n, offsets, columns, values)?;
        let ax = product(&a, x)?;
        Ok(Self { a, ax, scales })
    }

    /// Returns the rows of `Â² X` of some nodes, dense.
    pub fn rows(&self, nodes: &[u32]) -> Result<Tensor> {
        let width = self.ax.num_cols();
        let mut out = vec![0f32; nodes.len() * width];
        out.par_chunks_mut(width.max(1))
            .zip(nodes)
            .for_each(|(row, &u)| {
                let (columns, values) = self.a.row(u as usize);
                for (&v, &weight) in columns.iter().zip(values) {
                    add_row(&self.ax, v as usize, weight, row);
                }
            });
        Ok(Tensor::from_vec(out, (nodes.len(), width), &Device::Cpu)?)
    }
}

fn add_row(matrix: &CsrMatrix<f32>, row: usize, weight: f32, out: &mut [f32]) {
    let (columns, values) = matrix.row(row);
    columns
        .iter()
        .zip(values)
        .for_each(|(&c, &v)| out[c as usize] += weight * v);
}

/// Returns the product of two sparse matrices.
fn product(a: &CsrMatrix<f32>, b: &CsrMatrix<f32>) -> Result<CsrMatrix<f32>> {
    let scratch = || (vec![0f32; b.num_cols()], vec![false; b.num_cols()]);
    let rows: Vec<(Vec<u32>, Vec<f32>)> = (0..a.num_rows())
        .into_par_iter()
        .map_init(scratch, |(sums, seen), i| {
            let mut touched = Vec::new();
            let (columns, values) = a.row(i);
            for (&k, &weight) in columns.iter().zip(values) {
                let (columns, values) = b.row(k as usize);
                for (&c, &v) in columns.iter().zip(values) {
                    if !std::mem::replace(&mut seen[c as usize], true) {
                        touched.push(c);
                    }
                    sums[c as usize] += weight * v;
                }
            }
            touched.sort_unstable();
            let values = touched
                .iter()
                .map(|&c| std::mem::take(&mut sums[c as usize]))
                .collect();
            touched.iter().for_each(|&c| seen[c as usize] = false);
            (touched, values)
        })
        .collect();
    let mut offsets = vec![0u64];
    offsets.extend(rows.iter().scan(0u64, |total, (columns, _)| {
        *total += columns.len() as u64;
        Some(*total)
    }));
    let columns = rows
        .iter()
        .flat_map(|(columns, _)| columns.iter().copied())
        .collect();
    let values = rows
        .iter()
        .flat_map(|(_, values)| values.iter().copied())
        .collect();
    CsrMatrix::new(b.num_cols(), offsets, columns, values)
}

/// Returns a sparse matrix times a dense one of `width` columns, by rows.
pub(super) fn times(matrix: &CsrMatrix<f32>, dense: &[f32], width: usize) -> Vec<f32> {
    let mut out = vec![0f32; matrix.num_rows() * width];
    out.par_chunks_mut(width.max(1))
        .enumerate()
        .for_each(|(i, row)| {
            let (columns, values) = matrix.row(i);
            for (&c, &v) in columns.iter().zip(values) {
                let from = &dense[c as usize * width..(c as usize + 1) * width];
                row.iter_mut().zip(from).for_each(|(o, x)| *o += v * x);
            }
        });
    out
}

/// The weight matrices `W₁` and `W₂`.
#[derive(Clone)]
pub(super) struct Maps {
    pub first: Tensor,
    pub second: Tensor,
}

impl Maps {
    /// Samples uniform weights within one over the square root of their width.
    pub fn sample(features: usize, classes: usize, rng: &mut Rng) -> Result<Self> {
        let mut uniform = |rows: usize, cols: usize| {
            let bound = 1.0 / (cols.max(1) as f32).sqrt();
            let values: Vec<f32> = (0..rows * cols)
                .map(|_| rng.random_range(-bound..=bound))
                .collect();
            Tensor::from_vec(values, (rows, cols), &Device::Cpu)
        };
        Ok(Self {
            first: uniform(features, HIDDEN)?,
            second: uniform(HIDDEN, classes)?,
        })
    }

    /// Returns `W₁ W₂`.
    pub fn product(&self) -> Result<Tensor> {
        Ok(self.first.matmul(&self.second)?)
    }
}

/// A training step: its input and its intermediate results.
struct Step {
    before: Maps,
    hidden: Tensor,
    /// Probabilities, by rows.
    shares: Vec<f32>,
    /// The derivative of the loss by the scores.
    slope: Tensor,
    /// The derivative of the loss by the hidden values.
    back: Tensor,
}

/// A training with all its steps.
pub(super) struct Training {
    steps: Vec<Step>,
    /// The weights at its end.
    pub end: Maps,
}

/// Trains from `start` on the rows `s` with their classes.
pub(super) fn train(s: &Tensor, classes: &[u32], start: Maps, steps: usize) -> Result<Training> {
    let width = start.second.dims()[1];
    let (mut maps, mut speed) = (start, None::<Maps>);
    let mut seen = Vec::with_capacity(steps);
    for _ in 0..steps {
        let hidden = s.matmul(&maps.first)?;
        let scores = hidden
            .matmul(&maps.second)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let shares = softmax(scores, width);
        let slope = slope_of(&shares, classes, width)?;
        let back = slope.matmul_transposed(&maps.second, [false, true])?;
        let second = hidden.matmul_transposed(&slope, [true, false])?;
        let first = s.matmul_transposed(&back, [true, false])?;
        let next = match speed {
            None => Maps { first, second },
            Some(Maps {
                first: u,
                second: v,
            }) => Maps {
                first: ((u * MOMENTUM)? + first)?,
                second: ((v * MOMENTUM)? + second)?,
            },
        };
        let moved = Maps {
            first: (&maps.first - (&next.first * RATE)?)?,
            second: (&maps.second - (&next.second * RATE)?)?,
        };
        seen.push(Step {
            before: std::mem::replace(&mut maps, moved),
            hidden,
            shares,
            slope,
            back,
        });
        speed = Some(next);
    }
    Ok(Training {
        steps: seen,
        end: maps,
    })
}

/// Returns the softmax by rows.
pub(super) fn softmax(mut scores: Vec<f32>, width: usize) -> Vec<f32> {
    for row in scores.chunks_mut(width.max(1)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.iter_mut().for_each(|z| *z = (*z - largest).exp());
        let total: f32 = row.iter().sum();
        row.iter_mut().for_each(|z| *z /= total);
    }
    scores
}

/// Returns the derivative of the mean cross-entropy by the scores.
fn slope_of(shares: &[f32], classes: &[u32], width: usize) -> Result<Tensor> {
    let mut slope = shares.to_vec();
    slope
        .chunks_mut(width.max(1))
        .zip(classes)
        .for_each(|(row, &c)| row[c as usize] -= 1.0);
    let count = classes.len().max(1) as f32;
    slope.iter_mut().for_each(|x| *x /= count);
    Ok(Tensor::from_vec(
        slope,
        (classes.len(), width),
        &Device::Cpu,
    )?)
}

/// Returns the derivative of a loss by the rows that the weights were trained on (rows × features).
/// It goes through every training step, from the derivative by the trained weights.
pub(super) fn through_training(s: &Tensor, training: &Training, by_end: Maps) -> Result<Vec<f32>> {
    let (rows, features) = s.dims2()?;
    let width = by_end.second.dims()[1];
    let mut by = by_end;
    let mut by_speed: Option<Maps> = None;
    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
    let mut total = Tensor::zeros((rows, features), gnarl_tensor::DType::F32, &Device::Cpu)?;
    for (i, step) in training.steps.iter().enumerate().rev() {
        // W' = W - rate · v', v' = momentum · v + g.
        let own = Maps {
            first: (&by.first * -RATE)?,
            second: (&by.second * -RATE)?,
        };
        let by_slope = match by_speed {
            None => own,
            Some(later) => Maps {
                first: ((later.first * MOMENTUM)? + own.first)?,
                second: ((later.second * MOMENTUM)? + own.second)?,
            },
        };
        // g₂ = Hᵀ D and g₁ = Sᵀ B with B = D W₂ᵀ.
        let by_back = s.matmul(&by_slope.first)?;
        let by_scores_slope =
            (step.hidden.matmul(&by_slope.second)? + by_back.matmul(&step.before.second)?)?;
        // D = (softmax(P) - Y) / rows.
        let outer = by_scores_slope.flatten_all()?.to_vec1::<f32>()?;
        let mut by_scores = vec![0f32; outer.len()];
        for ((out, q), d) in by_scores
            .chunks_mut(width)
            .zip(step.shares.chunks(width))
            .zip(outer.chunks(width))
        {
            let mean: f32 = q.iter().zip(d).map(|(q, d)| q * d).sum();
            for c in 0..width {
                out[c] = q[c] * (d[c] - mean) / rows as f32;
            }
        }
        let by_scores = Tensor::from_vec(by_scores, (rows, width), &Device::Cpu)?;
        let by_hidden = (step
            .slope
            .matmul_transposed(&by_slope.second, [false, true])?
            + by_scores.matmul_transposed(&step.before.second, [false, true])?)?;
        by.second = ((by.second + by_back.matmul_transposed(&step.slope, [true, false])?)?
            + step.hidden.matmul_transposed(&by_scores, [true, false])?)?;
        by.first = (by.first + s.matmul_transposed(&by_hidden, [true, false])?)?;
        lefts.extend([step.back.clone(), by_hidden]);
        rights.extend([by_slope.first.clone(), step.before.first.clone()]);
        by_speed = Some(by_slope);
        if lefts.len() == 2 * TOGETHER || i == 0 {
            let (left, right) = (Tensor::cat(&lefts, 1)?, Tensor::cat(&rights, 1)?);
            total = (total + left.matmul_transposed(&right, [false, true])?)?;
            lefts.clear();
            rights.clear();
        }
    }
    Ok(total.flatten_all()?.to_vec1()?)
}
