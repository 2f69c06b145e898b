//! Norms of operators, and distances between them.

use gnarl_graph::Result;
use gnarl_tensor::Operator;

/// Number of power-iteration steps towards the largest eigenvalue of a nonnegative matrix; every
/// step gives an upper bound.
const EIGEN_STEPS: usize = 60;

/// The absolute values of an operator.
pub(in crate::robustness) struct Absolute<'a> {
    operator: &'a Operator,
    values: Vec<f64>,
}

pub(in crate::robustness) fn absolute(operator: &Operator) -> Result<Absolute<'_>> {
    let values = operator.values()?.flatten_all()?.to_vec1::<f32>()?;
    Ok(Absolute {
        operator,
        values: values.into_iter().map(|v| f64::from(v.abs())).collect(),
    })
}

impl Absolute<'_> {
    /// Calls a function with each entry of a row.
    pub fn for_row(&self, row: usize, mut with: impl FnMut(u32, f64)) {
        let pattern = self.operator.pattern();
        pattern
            .row(row)
            .for_each(|k| with(pattern.indices()[k], self.values[k]));
    }

    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let pattern = self.operator.pattern();
        let of_row = |u| {
            pattern
                .row(u)
                .map(|k| self.values[k] * x[pattern.indices()[k] as usize])
                .sum()
        };
        (0..pattern.num_rows()).map(of_row).collect()
    }

    /// An upper bound on the spectral radius: for any positive x it is at most
    /// `max (|Φ| x)_u / x_u` (Collatz–Wielandt).
    pub fn radius(&self) -> f64 {
        let mut x = vec![1.0; self.operator.num_rows()];
        let mut least = f64::INFINITY;
        for _ in 0..EIGEN_STEPS {
            let y = self.apply(&x);
            least = least.min(y.iter().zip(&x).map(|(y, x)| y / x).fold(0.0, f64::max));
            // With x itself added, no entry vanishes and the iteration does not oscillate on a
            // bipartite graph.
            x.iter_mut().zip(&y).for_each(|(x, y)| *x += y);
            let most = x.iter().copied().fold(0.0, f64::max);
            // The floor keeps entries positive where a part of the graph falls behind.
            x.iter_mut().for_each(|x| *x = (*x / most).max(1e-100));
        }
        least
    }

    /// `sqrt(||Φ||_1 ||Φ||_inf)`, which is at least `||Φ||_2`.
    pub fn by_sums(&self) -> f64 {
        let pattern = self.operator.pattern();
        let mut cols = vec![0.0; pattern.num_cols()];
        pattern
            .indices()
            .iter()
            .zip(&self.values)
            .for_each(|(&c, v)| cols[c as usize] += v);
        let rows = self.apply(&vec![1.0; pattern.num_cols()]);
        let most = |sums: Vec<f64>| sums.into_iter().fold(0.0, f64::max);
        (most(rows) * most(cols)).sqrt()
    }
}

/// Upper bound on the spectral norm of the difference of two operators: the smaller of its
/// Frobenius norm and `sqrt(largest row sum · largest column sum)`.
pub fn operator_distance(a: &Operator, b: &Operator) -> Result<f64> {
    let (va, vb) = (
        a.values()?.flatten_all()?.to_vec1::<f32>()?,
        b.values()?.flatten_all()?.to_vec1::<f32>()?,
    );
    let (pa, pb) = (a.pattern(), b.pattern());
    let mut row = vec![0.0f64; pa.num_cols()];
    let mut cols = vec![0.0; pa.num_cols()];
    let (mut most, mut squares) = (0.0f64, 0.0);
    for u in 0..pa.num_rows() {
        pa.row(u)
            .for_each(|k| row[pa.indices()[k] as usize] += f64::from(va[k]));
        pb.row(u)
            .for_each(|k| row[pb.indices()[k] as usize] -= f64::from(vb[k]));
        let mut sum = 0.0;
        for (pattern, k) in pa.row(u).map(|k| (pa, k)).chain(pb.row(u).map(|k| (pb, k))) {
            // Cleared when met: an entry in both patterns counts once.
            let d = std::mem::take(&mut row[pattern.indices()[k] as usize]);
            cols[pattern.indices()[k] as usize] += d.abs();
            sum += d.abs();
            squares += d * d;
        }
        most = most.max(sum);
    }
    let most_of_cols = cols.into_iter().fold(0.0, f64::max);
    Ok(squares.sqrt().min((most * most_of_cols).sqrt()))
}
