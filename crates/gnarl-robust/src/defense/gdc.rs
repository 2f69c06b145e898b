//! GDC (Gasteiger et al. 2019, "Diffusion Improves Graph Learning",
//! [arXiv:1911.05485](https://arxiv.org/abs/1911.05485)): the propagation operator is the
//! personalised PageRank matrix, sparsified to its top-k entries per row, so that no single edge has
//! a large influence. With `soft-median` it is the Soft-Median-GDC of Geisler et al. 2021,
//! "Robustness of Graph Neural Networks at Scale"
//! ([arXiv:2110.14038](https://arxiv.org/abs/2110.14038)).
//!
//! `Π = α (I - (1 - α) Â)^-1` with `Â = D^-1/2 (A + I) D^-1/2`; the k largest entries of each row
//! are kept and divided by their sum. A row is computed by the push algorithm (Andersen et al.
//! 2006, [doi:10.1109/FOCS.2006.44](https://doi.org/10.1109/FOCS.2006.44)): a residual at a node u
//! below `ε √(d_i d_u)` is dropped. An entry is then too small by at most `ε √(d_i d_j)`. The cost
//! is O(1 / (α ε)) a row for any graph size. Memory is O(nodes · k); no matrix of nodes squared is
//! stored. A self-loop counts for an isolated node alone: its row is itself.
//!
//! Gradients of an adaptive attack use `dΠ = (1 - α) / α · Π dÂ Π`, the derivative of the inverse.
//! They use the 2 k largest entries of each row of Π, and the top-k entries at the current weights.
//! A pair without an edge has a gradient, too.

use std::sync::Arc;

use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::settings::{Choice, Settings};
use gnarl_graph::{CsrMatrix, Graph};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Preprocess, nonzero};
use crate::classifier::{Differentiable, Filter, OperatorOverride, Relaxed};
use crate::perturb::Pair;
use gnarl_graph::Result;
use gnarl_nn::networks::Propagation;
use gnarl_tensor::{Device, Operator, Pattern, Tensor, p_v_pt, scatter_rows};

/// Propagates with the top-k entries of personalised PageRank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gdc",
    about = "propagation with sparsified personalised PageRank (GDC)"
)]
pub struct Gdc {
    /// Teleport probability alpha of personalised PageRank.
    ///
    /// 0.15 in both papers.
    #[setting(
        default = 0.15,
        above = 0.0,
        below = 1.0,
        flag = "gdc-alpha",
        was = "teleport"
    )]
    pub alpha: f64,
    /// Number of entries kept in each row of the diffusion matrix (top-k), the node itself included.
    ///
    /// 64 in Geisler et al. 2021.
    #[setting(default = 64, range = 1.., flag = "gdc-k", was = "neighbours")]
    pub k: usize,
}

/// ε: residuals below ε times the root of two degrees are dropped.
const TOLERANCE: f64 = 1e-4;
/// Entries of a row in the gradient, as a multiple of k.
const SLOPE_ENTRIES: usize = 2;

impl Preprocess for Gdc {
    fn preprocessed(&self, graph: &Graph) -> Result<Graph> {
        self.check()?;
        Ok(graph.clone())
    }

    fn operator_override(&self) -> Option<Arc<dyn OperatorOverride>> {
        Some(Arc::new(*self))
    }

    fn see_through(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }
}

impl OperatorOverride for Gdc {
    fn propagation(&self, graph: &Graph) -> Result<Propagation> {
        self.check()?;
        let mut rows = self.visited(&ClassicalOperator::ADJACENCY.matrix(graph)?, self.k);
        for row in &mut rows {
            let sum: f64 = row.iter().map(|(_, value)| value).sum();
            row.iter_mut().for_each(|(_, value)| *value /= sum);
        }
        Ok(operator(&rows)?.into())
    }
}

impl Differentiable for Gdc {
    fn ready<'a>(&'a self, graph: &'a Graph, relaxed: &Relaxed) -> Result<Filter<'a>> {
        self.check()?;
        let candidates: Vec<Pair> = relaxed.pairs()[relaxed.num_edges()..].to_vec();
        let of = |kind| Relaxed::new(graph, kind, &candidates);
        let (adjacency, a_hat) = (
            of(ClassicalOperator::ADJACENCY)?,
            of(ClassicalOperator::NORMALISED_ADJACENCY)?,
        );
        Ok(Box::new(move |_, weights| {
            let walk = a_hat.operator_of(weights)?;
            let now = nonzero(&adjacency.operator_of(&weights.detach())?)?;
            let rows = self.visited(&now, SLOPE_ENTRIES.saturating_mul(self.k));
            let by = operator(&rows)?;
            let kept = operator(
                &rows
                    .into_iter()
                    .map(|row| largest(row, self.k))
                    .collect::<Vec<_>>(),
            )?;
            let moved = (walk.values()? - walk.values()?.detach())?;
            let slope = p_v_pt(&by, walk.pattern(), &moved, kept.pattern())?;
            let values = (kept.values()? + (slope * ((1.0 - self.alpha) / self.alpha))?)?;
            let entries = values.elem_count();
            let sums =
                scatter_rows(kept.pattern(), &values.reshape((entries, 1))?)?.flatten_all()?;
            let of_row = Tensor::from_vec(entry_rows(kept.pattern()), entries, &Device::Cpu)?;
            Ok(kept
                .with_values(&(values / sums.index_select(&of_row, 0)?)?)?
                .into())
        }))
    }

    fn how(&self) -> &'static str {
        "by an approximation: the gradient of the diffusion over its largest entries, with the top-k entries of every step"
    }
}

impl Gdc {
    /// Returns the `most` largest entries of each row of Π, sorted by column.
    fn visited(&self, adjacency: &CsrMatrix<f64>, most: usize) -> Vec<Vec<(u32, f64)>> {
        let n = adjacency.num_rows();
        let roots: Vec<f64> = adjacency
            .row_sums()
            .iter()
            .map(|degree| (degree + 1.0).sqrt())
            .collect();
        let walk = |scratch: &mut Scratch, source: usize| {
            self.row(adjacency, &roots, source, scratch, most)
        };
        (0..n)
            .into_par_iter()
            .map_init(|| Scratch::new(n), |scratch, source| walk(scratch, source))
            .collect()
    }

    /// Returns the largest entries of a row of Π.
    fn row(
        &self,
        adjacency: &CsrMatrix<f64>,
        roots: &[f64],
        source: usize,
        scratch: &mut Scratch,
        most: usize,
    ) -> Vec<(u32, f64)> {
        let Scratch {
            found,
            left,
            waits,
            queue,
            touched,
        } = scratch;
        left[source] = 1.0;
        touched.push(source as u32);
        waits[source] = true;
        queue.push_back(source as u32);
        let least = TOLERANCE * roots[source];
        while let Some(node) = queue.pop_front() {
            let u = node as usize;
            waits[u] = false;
            let mass = std::mem::take(&mut left[u]);
            found[u] += self.alpha * mass;
            let on = (1.0 - self.alpha) * mass / roots[u];
            let (columns, weights) = adjacency.row(u);
            let own = std::iter::once((node, 1.0));
            for (to, weight) in columns
                .iter()
                .copied()
                .zip(weights.iter().copied())
                .chain(own)
            {
                let v = to as usize;
                if found[v] == 0.0 && left[v] == 0.0 && v != u {
                    touched.push(to);
                }
                left[v] += on * weight / roots[v];
                if !waits[v] && left[v] >= least * roots[v] {
                    waits[v] = true;
                    queue.push_back(to);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let row = touched
            .iter()
            .map(|&v| (v, found[v as usize]))
            .filter(|(_, value)| *value > 0.0);
        let row = largest(row.collect(), most);
        for v in touched.drain(..) {
            (found[v as usize], left[v as usize]) = (0.0, 0.0);
        }
        row
    }
}

/// The state of the push algorithm.
struct Scratch {
    /// The row so far.
    found: Vec<f64>,
    /// The residuals.
    left: Vec<f64>,
    /// `true` for nodes in the queue.
    waits: Vec<bool>,
    queue: std::collections::VecDeque<u32>,
    touched: Vec<u32>,
}

impl Scratch {
    fn new(nodes: usize) -> Self {
        Self {
            found: vec![0.0; nodes],
            left: vec![0.0; nodes],
            waits: vec![false; nodes],
            queue: std::collections::VecDeque::new(),
            touched: Vec::new(),
        }
    }
}

/// Returns the largest entries of a row, ties by column, in the order of columns.
fn largest(mut row: Vec<(u32, f64)>, most: usize) -> Vec<(u32, f64)> {
    if most < row.len() {
        row.select_nth_unstable_by(most, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        row.truncate(most);
        row.sort_unstable_by_key(|entry| entry.0);
    }
    row
}

fn entry_rows(pattern: &Pattern) -> Vec<u32> {
    (0..pattern.num_rows())
        .flat_map(|row| pattern.row(row).map(move |_| row as u32))
        .collect()
}

/// Returns rows as an operator.
fn operator(rows: &[Vec<(u32, f64)>]) -> Result<Operator> {
    let mut offsets = vec![0u64];
    for row in rows {
        offsets.push(offsets[offsets.len() - 1] + row.len() as u64);
    }
    let (columns, values) = rows.iter().flatten().copied().unzip();
    Ok(Operator::constant(&CsrMatrix::new(
        rows.len(),
        offsets,
        columns,
        values,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perturb::flipped;
    use gnarl_graph::generate::erdos_renyi;
    use gnarl_nn::testing::assert_close;
    use gnarl_tensor::DType;

    fn dense(operator: &Operator) -> Vec<f32> {
        let eye = Tensor::eye(operator.num_cols(), DType::F32, &Device::Cpu).unwrap();
        operator
            .apply(&eye)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap()
    }

    /// Computes `α Σ_t (1 - α)^t Â^t` by dense products until the terms vanish, keeps the k largest
    /// entries of each row, and divides them by their sum.
    fn reference(graph: &Graph, gdc: &Gdc) -> Vec<f32> {
        let n = graph.num_nodes();
        let a_hat = ClassicalOperator::NORMALISED_ADJACENCY
            .matrix(graph)
            .unwrap()
            .to_dense();
        let mut whole = Vec::new();
        for source in 0..n {
            let mut now = vec![0.0; n];
            now[source] = 1.0;
            let mut row = vec![0.0; n];
            for _ in 0..400 {
                let next: Vec<f64> = (0..n)
                    .map(|v| (0..n).map(|u| now[u] * a_hat.row(u)[v]).sum())
                    .collect();
                row.iter_mut()
                    .zip(&now)
                    .for_each(|(row, now)| *row += gdc.alpha * now);
                now = next.iter().map(|v| (1.0 - gdc.alpha) * v).collect();
            }
            let mut order: Vec<usize> = (0..n).filter(|&v| row[v] > 0.0).collect();
            order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            order.truncate(gdc.k);
            let sum: f64 = order.iter().map(|&v| row[v]).sum();
            whole.extend((0..n).map(|v| {
                if order.contains(&v) {
                    (row[v] / sum) as f32
                } else {
                    0.0
                }
            }));
        }
        whole
    }

    /// Two connected nodes and an isolated one: `Â` of the pair is 1/2 everywhere. Restarts at 1/2
    /// give `Π = (3/4, 1/4; 1/4, 3/4)`, which solves `Π = I / 2 + Â Π / 2`.
    #[test]
    fn a_pair_by_hand() {
        let graph = Graph::from_edges(3, [(0, 1)]).unwrap().0;
        let of = |k| dense(&Gdc { alpha: 0.5, k }.propagation(&graph).unwrap().operator);
        let expected = [0.75, 0.25, 0.0, 0.25, 0.75, 0.0, 0.0, 0.0, 1.0];
        assert_close(&of(5), &expected, 1e-3, "all of it");
        assert_close(
            &of(1),
            &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            1e-6,
            "one neighbour",
        );
    }

    #[test]
    fn rows_are_those_of_the_whole_matrix() {
        // Different weights, so that no two entries are equal and the kept ones are unique.
        let weighted = erdos_renyi(40, 0.12, 3).unwrap();
        let edges: Vec<(u32, u32, f64)> = (0..)
            .zip(weighted.edges())
            .map(|(i, (u, v))| (u, v, 0.5 + f64::from(i * 37 % 101) / 60.0))
            .collect();
        let graph = Graph::from_weighted_edges(40, edges).unwrap().0;
        for gdc in [Gdc { alpha: 0.15, k: 40 }, Gdc { alpha: 0.3, k: 40 }] {
            let found = dense(&gdc.propagation(&graph).unwrap().operator);
            // Entries are too small by up to 1e-4 √(d_i d_j), here about 6e-4, and their sum by
            // forty times that.
            assert_close(&found, &reference(&graph, &gdc), 8e-3, "all of it");
        }
        let gdc = Gdc { alpha: 0.2, k: 7 };
        let (found, expected) = (
            dense(&gdc.propagation(&graph).unwrap().operator),
            reference(&graph, &gdc),
        );
        // If two entries are nearly equal, either may be kept.
        let off = found
            .iter()
            .zip(&expected)
            .filter(|(a, b)| (**a - **b).abs() > 5e-3)
            .count();
        assert!(off <= 8, "{off} of {} entries differ", found.len());
        assert!(
            found
                .chunks(40)
                .all(|row| row.iter().filter(|v| **v > 0.0).count() <= 7)
        );
    }

    #[test]
    fn whole_weights_give_the_operator_of_the_flipped_graph() {
        let graph = erdos_renyi(60, 0.08, 3).unwrap();
        let candidates: Vec<Pair> = (0..59)
            .map(|u| (u, u + 1))
            .filter(|&(u, v)| !graph.has_edge(u, v))
            .collect();
        let relaxed =
            Relaxed::new(&graph, ClassicalOperator::NORMALISED_ADJACENCY, &candidates).unwrap();
        let gdc = Gdc {
            k: 9,
            ..Gdc::default()
        };
        let filter = gdc.ready(&graph, &relaxed).unwrap();
        let flips: Vec<f32> = (0..relaxed.pairs().len())
            .map(|i| f32::from(u8::from(i % 5 == 0)))
            .collect();
        let chosen: Vec<Pair> = relaxed.pairs().iter().copied().step_by(5).collect();
        let flips = Tensor::from_vec(flips, relaxed.pairs().len(), &Device::Cpu).unwrap();
        let found = filter(&relaxed, &relaxed.weights(&flips).unwrap())
            .unwrap()
            .operator;
        let expected = gdc
            .propagation(&flipped(&graph, &chosen).unwrap())
            .unwrap()
            .operator;
        assert_close(&dense(&found), &dense(&expected), 1e-5, "flipped");
    }

    /// With all entries of a row kept nothing is constant: gradients equal finite differences of
    /// the whole matrix.
    #[test]
    fn slopes_are_those_of_differences() {
        let graph = erdos_renyi(9, 0.35, 3).unwrap();
        let candidates: Vec<Pair> = (0..8)
            .map(|u| (u, u + 1))
            .filter(|&(u, v)| !graph.has_edge(u, v))
            .collect();
        let relaxed =
            Relaxed::new(&graph, ClassicalOperator::NORMALISED_ADJACENCY, &candidates).unwrap();
        let gdc = Gdc { alpha: 0.4, k: 9 };
        let filter = gdc.ready(&graph, &relaxed).unwrap();
        let x = gnarl_tensor::testing::random(&[9, 2], 4);
        let count = relaxed.pairs().len();
        let weights = vec![0.6f32; count];
        let var = gnarl_tensor::Var::from_tensor(
            &Tensor::from_slice(&weights, count, &Device::Cpu).unwrap(),
        )
        .unwrap();
        let out = filter(&relaxed, var.as_tensor())
            .unwrap()
            .operator
            .apply(&x)
            .unwrap();
        let slopes = (out.sqr().unwrap()).sum_all().unwrap().backward().unwrap();
        let slopes = slopes.get(&var).unwrap().to_vec1::<f32>().unwrap();
        let value = |at: usize, by: f64| -> f64 {
            let pairs = relaxed.pairs().iter().enumerate();
            let edges = pairs.map(|(i, &(u, v))| (u, v, 0.6 + if i == at { by } else { 0.0 }));
            let graph = Graph::from_weighted_edges(9, edges).unwrap().0;
            let whole = Tensor::from_vec(reference(&graph, &gdc), (9, 9), &Device::Cpu).unwrap();
            let y = whole
                .matmul(&x)
                .unwrap()
                .flatten_all()
                .unwrap()
                .to_vec1::<f32>()
                .unwrap();
            y.iter().map(|&v| f64::from(v) * f64::from(v)).sum()
        };
        for (at, slope) in slopes.iter().enumerate() {
            let expected = (value(at, 0.02) - value(at, -0.02)) / 0.04;
            assert!(
                (f64::from(*slope) - expected).abs() < 6e-3,
                "pair {at}: {slope}, not {expected}"
            );
        }
        assert!(slopes.iter().any(|s| s.abs() > 0.05), "{slopes:?}");
    }

    #[test]
    fn invalid_settings_are_refused() {
        let graph = Graph::empty(3).unwrap();
        let fail = |gdc: Gdc| gdc.propagation(&graph).unwrap_err().to_string();
        for alpha in [0.0, 1.0, -0.1, f64::NAN] {
            let e = fail(Gdc {
                alpha,
                ..Gdc::default()
            });
            assert_eq!(e, format!("gdc-alpha must be in (0, 1) (got {alpha})"));
        }
        assert_eq!(
            fail(Gdc {
                k: 0,
                ..Gdc::default()
            }),
            "gdc-k must be in [1, 1000000] (got 0)"
        );
        assert_close(
            &dense(&Gdc::default().propagation(&graph).unwrap().operator)[..2],
            &[1.0, 0.0],
            1e-6,
            "itself",
        );
    }
}
