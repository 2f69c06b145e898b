//! The assignment problem by shortest augmenting paths (Jonker and Volgenant 1987).

use crate::error::{Error, Result};
use crate::matrix::DenseMatrix;

/// Returns the column for each row, all different, with the smallest sum of costs. O(n³) at worst.
///
/// Fails unless the matrix is square and its values finite.
///
/// ```
/// use gnarl_graph::{distance::assignment, DenseMatrix};
/// let cost = DenseMatrix::new(3, 3, vec![4.0, 1.0, 3.0, 2.0, 0.0, 5.0, 3.0, 2.0, 2.0])?;
/// assert_eq!(assignment(&cost)?, [1, 0, 2]);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn assignment(cost: &DenseMatrix<f64>) -> Result<Vec<u32>> {
    const OP: &str = "assignment";
    let n = cost.num_rows();
    if cost.num_cols() != n {
        return Err(Error::argument(
            OP,
            format!("{n} rows and {} columns must be as many", cost.num_cols()),
        ));
    }
    if let Some(k) = cost.data().iter().position(|c| !c.is_finite()) {
        return Err(Error::argument(
            OP,
            format!(
                "the cost of row {} and column {} is {}",
                k / n,
                k % n,
                cost.data()[k]
            ),
        ));
    }
    let mut matching = Matching::new(n);
    for row in 0..n {
        matching.augment(cost, row);
    }
    Ok(matching
        .column_of
        .iter()
        .map(|&column| column as u32)
        .collect())
}

const FREE: usize = usize::MAX;

/// A partial matching and dual prices: every pair costs at least the prices of its row and column,
/// and matched pairs exactly that. The matching is then the cheapest of its rows.
struct Matching {
    row_of: Vec<usize>,
    column_of: Vec<usize>,
    row_price: Vec<f64>,
    column_price: Vec<f64>,
}

impl Matching {
    fn new(n: usize) -> Self {
        Self {
            row_of: vec![FREE; n],
            column_of: vec![FREE; n],
            row_price: vec![0.0; n],
            column_price: vec![0.0; n],
        }
    }

    /// Matches one more row along a cheapest alternating path to a free column (Dijkstra's
    /// algorithm).
    fn augment(&mut self, cost: &DenseMatrix<f64>, start: usize) {
        let n = self.row_of.len();
        let mut distance = vec![f64::INFINITY; n];
        let mut came_from = vec![FREE; n];
        let mut done = vec![false; n];
        let mut visited = Vec::new();
        let (mut row, mut so_far) = (start, 0.0);
        let last = loop {
            let mut nearest = FREE;
            for column in 0..n {
                if done[column] {
                    continue;
                }
                let slack = cost.row(row)[column] - self.row_price[row] - self.column_price[column];
                if so_far + slack < distance[column] {
                    distance[column] = so_far + slack;
                    came_from[column] = row;
                }
                if nearest == FREE || distance[column] < distance[nearest] {
                    nearest = column;
                }
            }
            so_far = distance[nearest];
            done[nearest] = true;
            if self.row_of[nearest] == FREE {
                break nearest;
            }
            visited.push(nearest);
            row = self.row_of[nearest];
        };
        self.row_price[start] += so_far;
        for &column in &visited {
            self.row_price[self.row_of[column]] += so_far - distance[column];
            self.column_price[column] -= so_far - distance[column];
        }
        // Reverse the path: every column on it goes to the row it was reached from.
        let mut column = last;
        loop {
            let row = came_from[column];
            self.row_of[column] = row;
            let before = std::mem::replace(&mut self.column_of[row], column);
            if row == start {
                break;
            }
            column = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the smallest cost over all permutations.
    fn by_search(cost: &DenseMatrix<f64>, row: usize, used: &mut Vec<bool>) -> f64 {
        if row == cost.num_rows() {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for column in 0..cost.num_rows() {
            if !used[column] {
                used[column] = true;
                best = best.min(cost.row(row)[column] + by_search(cost, row + 1, used));
                used[column] = false;
            }
        }
        best
    }

    fn check(cost: &DenseMatrix<f64>) {
        let n = cost.num_rows();
        let columns = assignment(cost).unwrap();
        let mut sorted = columns.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..n as u32).collect::<Vec<_>>());
        let total: f64 = columns
            .iter()
            .enumerate()
            .map(|(i, &j)| cost.row(i)[j as usize])
            .sum();
        assert!(
            (total - by_search(cost, 0, &mut vec![false; n])).abs() < 1e-9,
            "{total}"
        );
    }

    proptest! {
        #[test]
        fn equals_a_search_of_all_permutations(n in 0usize..8, values in prop::collection::vec(-10.0f64..10.0, 49)) {
            check(&DenseMatrix::new(n, n, values[..n * n].to_vec()).unwrap());
        }

        #[test]
        fn ties_are_no_trouble(n in 0usize..7, values in prop::collection::vec(0u8..3, 36)) {
            check(&DenseMatrix::new(n, n, values[..n * n].iter().map(|&v| f64::from(v)).collect()).unwrap());
        }
    }

    #[test]
    fn bad_costs_say_why() {
        let e = assignment(&DenseMatrix::zeros(2, 3))
            .unwrap_err()
            .to_string();
        assert_eq!(e, "assignment: 2 rows and 3 columns must be as many");
        let e = assignment(&DenseMatrix::new(2, 2, vec![0.0, 0.0, f64::NAN, 0.0]).unwrap())
            .unwrap_err()
            .to_string();
        assert_eq!(e, "assignment: the cost of row 1 and column 0 is NaN");
    }
}
