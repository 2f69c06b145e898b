//! Operator entries as weighted edges, for networks that compute new edge weights. Everything is
//! computed from the operator's values, so that gradients reach them. An entry of value zero has no
//! effect.
//!
//! An entry off the diagonal is an edge and its value the weight; an entry on the diagonal is a
//! self-loop. Degrees are sums of absolute weights. The operator A has the graph's own edges and
//! degrees; any other operator has its own.

use super::linear::Input;
use gnarl_tensor::{DType, Device, Operator, Result, Tensor, sampled_products};

/// Edges of a square operator.
#[derive(Debug)]
pub(super) struct Edges {
    operator: Operator,
    rows: Tensor,
    cols: Tensor,
    /// One off the diagonal, zero on it.
    off: Tensor,
    /// `[entries]`
    pub weights: Tensor,
    /// Absolute weights, `[entries]`.
    pub sizes: Tensor,
}

impl Edges {
    /// Computes the edges of an operator. O(entries).
    pub fn of(operator: &Operator) -> Result<Self> {
        let pattern = operator.pattern();
        if pattern.num_rows() != pattern.num_cols() {
            gnarl_tensor::bail!(
                "edges of an operator of {} × {}",
                pattern.num_rows(),
                pattern.num_cols()
            );
        }
        let rows = pattern.entry_rows();
        let off = rows
            .iter()
            .zip(pattern.indices())
            .map(|(u, v)| f32::from(u8::from(u != v)));
        let off = Tensor::from_vec(off.collect(), rows.len(), &Device::Cpu)?;
        let weights = operator.values()?.flatten_all()?;
        // At zero the slope is that of a growing weight.
        let sizes = weights.ge(0.0)?.where_cond(&weights, &weights.neg()?)?;
        let cols = Tensor::from_slice(pattern.indices(), rows.len(), &Device::Cpu)?;
        let rows = Tensor::from_slice(&rows, rows.len(), &Device::Cpu)?;
        Ok(Self {
            operator: operator.clone(),
            rows,
            cols,
            off,
            weights,
            sizes,
        })
    }

    /// Sums over each row's entries, `[nodes, 1]`.
    pub fn sums(&self, of_entries: &Tensor) -> Result<Tensor> {
        let ones = Tensor::ones((self.operator.num_cols(), 1), DType::F32, &Device::Cpu)?;
        self.operator.with_values(of_entries)?.apply(&ones)
    }

    /// Returns the value of each entry's row node, `[entries, width]`.
    pub fn by_row(&self, of_nodes: &Tensor) -> Result<Tensor> {
        of_nodes.index_select(&self.rows, 0)
    }

    /// Returns the value of each entry's column node, `[entries, width]`.
    pub fn by_col(&self, of_nodes: &Tensor) -> Result<Tensor> {
        of_nodes.index_select(&self.cols, 0)
    }

    /// Sets the self-loops to zero.
    pub fn off_diagonal(&self, of_entries: &Tensor) -> Result<Tensor> {
        of_entries * &self.off
    }

    /// Sets everything but the self-loops to zero.
    pub fn on_diagonal(&self, of_entries: &Tensor) -> Result<Tensor> {
        of_entries - self.off_diagonal(of_entries)?
    }

    /// Returns the operator with other values.
    pub fn with_values(&self, of_entries: &Tensor) -> Result<Operator> {
        self.operator.with_values(of_entries)
    }

    /// Computes inner products of the two rows of each entry, `[entries]`.
    pub fn products(&self, x: &Tensor) -> Result<Tensor> {
        sampled_products(self.operator.pattern(), x, x, 1)?.flatten_all()
    }

    /// Computes squared distances of the two rows of each entry, `[entries]`, never below zero.
    pub fn squared_distances(&self, x: &Tensor) -> Result<Tensor> {
        let squares = x.sqr()?.sum_keepdim(1)?;
        let ends = (self.by_row(&squares)? + self.by_col(&squares)?)?.flatten_all()?;
        // Rounding may leave a value below zero.
        (ends - (self.products(x)? * 2.0)?)?.relu()
    }

    /// Computes the cosine similarity of the two nodes of each entry, `[entries]`; zero if one of
    /// the vectors is zero.
    pub fn cosines(&self, x: &Input) -> Result<Tensor> {
        match x {
            Input::Dense(x) => self.products(&unit_rows(x)?),
            Input::Sparse(x) => {
                let values = x.values()?;
                if values.is_variable() || values.track_op() {
                    return self.products(&unit_rows(&Input::Sparse(x.clone()).to_dense()?)?);
                }
                self.sparse_cosines(x, &values.to_vec1::<f32>()?)
            }
        }
    }

    /// Computes cosine similarities of sparse vectors that take no gradients: O(stored values of
    /// both ends) per entry.
    fn sparse_cosines(&self, x: &Operator, values: &[f32]) -> Result<Tensor> {
        let (pattern, stored) = (self.operator.pattern(), x.pattern());
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        for node in 0..stored.num_rows() {
            order[stored.row(node)].sort_unstable_by_key(|&k| stored.indices()[k as usize]);
        }
        let vector = |node: usize| {
            order[stored.row(node)]
                .iter()
                .map(|&k| (stored.indices()[k as usize], values[k as usize]))
        };
        let norms: Vec<f32> = (0..stored.num_rows())
            .map(|u| vector(u).map(|(_, v)| v * v).sum::<f32>().sqrt())
            .collect();
        let product = |u: usize, v: usize| {
            let (mut a, mut b) = (vector(u).peekable(), vector(v).peekable());
            let mut sum = 0f32;
            while let (Some(&(i, x)), Some(&(j, y))) = (a.peek(), b.peek()) {
                if i == j {
                    sum += x * y;
                }
                if i <= j {
                    a.next();
                }
                if j <= i {
                    b.next();
                }
            }
            // A zero vector has similarity zero to every other.
            if norms[u] > 0.0 && norms[v] > 0.0 {
                sum / norms[u] / norms[v]
            } else {
                0.0
            }
        };
        let mut found = vec![0f32; pattern.num_entries()];
        pattern.for_entry_blocks(&mut found, 1, |rows, found| {
            let entries = rows.flat_map(|u| {
                pattern
                    .row(u)
                    .map(move |k| (u, pattern.indices()[k] as usize))
            });
            found
                .iter_mut()
                .zip(entries)
                .for_each(|(found, (u, v))| *found = product(u, v));
        });
        let count = found.len();
        Tensor::from_vec(found, count, &Device::Cpu)
    }
}

/// Scales rows to length one; a row of zeros stays.
pub(super) fn unit_rows(x: &Tensor) -> Result<Tensor> {
    x.broadcast_mul(&(x.sqr()?.sum_keepdim(1)? + TINY)?.powf(-0.5)?)
}

/// Small constant that keeps roots of zero differentiable.
pub(super) const TINY: f64 = 1e-12;

/// Detaches a tensor in training; an attack that differentiates a prediction gets its gradient.
pub(super) fn held(x: Tensor, trains: bool) -> Tensor {
    if trains { x.detach() } else { x }
}
