//! Optimal transport between two discrete distributions: the cheapest way to move the masses of the
//! rows to the columns,
//!
//! ```text
//! min Σ_ij c_ij t_ij   over   t ≥ 0,   Σ_j t_ij = rows_i,   Σ_i t_ij = columns_j
//! ```
//!
//! by the primal network simplex method on the bipartite graph (Cunningham 1976; Ahuja, Magnanti
//! and Orlin 1993, ch. 11). A basis is a spanning tree of rows, columns and an artificial root.
//! Each step searches the arcs block by block for an arc with negative reduced cost, which enters
//! the tree. The mass on the cycle that it closes moves until an arc is empty, which leaves.
//!
//! Two properties prevent cycling. Trees are strongly feasible: every node could still send some
//! mass to the root, so the leaving arc is unique and no basis recurs. Masses are counted in whole
//! units, so an empty arc is exactly empty, despite earlier rounding.

use crate::error::{Error, Result};
use crate::matrix::DenseMatrix;

const OP: &str = "transport";
/// Maximum number of steps per row and column; beyond it the solver fails. The hardest problems of
/// the tests below need fewer than 20.
const MOST_PIVOTS_PER_NODE: usize = 2000;
/// Largest allowed difference between the totals of rows and columns, relative to the larger: the
/// rounding error of a sum that is one.
const LARGEST_IMBALANCE: f64 = 1e-9;
/// Number of units of the total for masses that are not uniform: few enough for exact sums, enough
/// for the last digits.
const UNITS: i64 = 1 << 50;
/// Cost of an arc to or from the root, all others being at most one. A row that sends to the root
/// and a column that receives from it would save more than one by the arc between them, which
/// therefore enters. At the end no mass goes through the root.
const ARTIFICIAL_COST: f64 = 2.0;
const NONE: usize = usize::MAX;

/// A transport plan and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct TransportPlan {
    /// Mass from each row to each column: at most `rows + columns - 1` are not zero.
    pub masses: DenseMatrix<f64>,
    /// Minimal cost `Σ_ij c_ij t_ij`.
    pub cost: f64,
}

/// Computes the cheapest transport. It is exact up to rounding: within 1e-10 of the largest cost
/// times the mass, marginals within 1e-12 of the total. The time is O((n + m) n m) in practice, and
/// exponential for adversarial costs; then it fails after 2000 (n + m) steps.
///
/// Fails for costs that are not finite, masses that are negative or not finite, other shapes, and
/// totals that differ.
///
/// ```
/// use gnarl_graph::{distance::transport, DenseMatrix};
/// // Half of the first row's mass has to go the long way.
/// let cost = DenseMatrix::new(2, 2, vec![0.0, 3.0, 1.0, 0.0])?;
/// let plan = transport(&cost, &[0.5, 0.5], &[0.25, 0.75])?;
/// assert_eq!(plan.masses.data(), [0.25, 0.25, 0.0, 0.5]);
/// assert_eq!(plan.cost, 0.75);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn transport(cost: &DenseMatrix<f64>, rows: &[f64], columns: &[f64]) -> Result<TransportPlan> {
    if (cost.num_rows(), cost.num_cols()) != (rows.len(), columns.len()) {
        let what = format!("costs of {} × {} for", cost.num_rows(), cost.num_cols());
        return Err(Error::argument(
            OP,
            format!("{what} {} rows and {} columns", rows.len(), columns.len()),
        ));
    }
    if let Some(k) = cost.data().iter().position(|c| !c.is_finite()) {
        let (i, j) = (k / columns.len(), k % columns.len());
        return Err(Error::argument(
            OP,
            format!("the cost of row {i} and column {j} is {}", cost.data()[k]),
        ));
    }
    let mut simplex = Simplex::new(rows, columns)?;
    simplex.solve(cost.data())?;
    let mut masses = DenseMatrix::zeros(rows.len(), columns.len());
    let mut total = 0.0;
    simplex.cells().for_each(|(i, j, mass)| {
        masses.row_mut(i)[j] = mass;
        total += mass * cost.row(i)[j];
    });
    if total.is_finite() {
        Ok(TransportPlan {
            masses,
            cost: total,
        })
    } else {
        Err(Error::argument(
            OP,
            format!("the cost of the plan is {total}; scale costs or masses down"),
        ))
    }
}

/// Validated masses, and the spanning tree of the last problem. Costs may change from one
/// [`solve`](Self::solve) to the next: the previous tree is a good initialisation for costs that
/// changed a little.
///
/// Nodes are the rows, then the columns, then the root. Fields of a node describe the arc to its
/// parent.
/// parent.
#[derive(Debug, Clone)]
pub(super) struct Simplex {
    num_rows: usize,
    num_columns: usize,
    /// Mass of one unit.
    unit: f64,
    /// Costs divided by the largest: prices stay small, and one tolerance fits all.
    costs: Vec<f64>,
    parent: Vec<usize>,
    flow: Vec<i64>,
    /// True if the arc points at the parent.
    upward: Vec<bool>,
    depth: Vec<usize>,
    /// Dual prices: the price of a tree arc's head exceeds the price of its tail by the arc's cost.
    price: Vec<f64>,
    first_child: Vec<usize>,
    next_sibling: Vec<usize>,
    previous_sibling: Vec<usize>,
    /// Position at which the next search for an entering arc starts.
    next_arc: usize,
    most_pivots: usize,
    /// Nodes still to visit, kept to reuse its memory.
    stack: Vec<usize>,
}

impl Simplex {
    /// Starts with every row and every column attached to the root.
    pub(super) fn new(rows: &[f64], columns: &[f64]) -> Result<Self> {
        let (n, m) = (rows.len(), columns.len());
        let (totals, masses) = (
            [total("row", rows)?, total("column", columns)?],
            [rows, columns],
        );
        if (totals[0] - totals[1]).abs() > LARGEST_IMBALANCE * totals[0].max(totals[1]) {
            let what = format!(
                "rows have a mass of {}, columns of {}; it must be the same",
                totals[0], totals[1]
            );
            return Err(Error::argument(OP, what));
        }
        let all_equal = |masses: &[f64]| masses.iter().all(|&x| x == masses[0]);
        // Whole numbers for uniform masses: then as many rows as columns give an exact permutation.
        let (supplies, demands, units) = if n == 0 || m == 0 || totals[0] == 0.0 {
            (vec![0; n], vec![0; m], 1)
        } else if masses.iter().all(|masses| all_equal(masses)) {
            let common = greatest_common_divisor(n, m);
            (
                vec![(m / common) as i64; n],
                vec![(n / common) as i64; m],
                (n * (m / common)) as i64,
            )
        } else {
            (
                in_units(rows, totals[0]),
                in_units(columns, totals[1]),
                UNITS,
            )
        };
        let root = n + m;
        let mut simplex = Self {
            num_rows: n,
            num_columns: m,
            unit: totals[0] / units as f64,
            costs: vec![0.0; n * m],
            parent: vec![NONE; root + 1],
            flow: vec![0; root + 1],
            upward: vec![true; root + 1],
            depth: vec![0; root + 1],
            price: vec![0.0; root + 1],
            first_child: vec![NONE; root + 1],
            next_sibling: vec![NONE; root + 1],
            previous_sibling: vec![NONE; root + 1],
            next_arc: 0,
            most_pivots: MOST_PIVOTS_PER_NODE * (root + 1),
            stack: Vec::new(),
        };
        for (node, units) in supplies.iter().chain(&demands).enumerate() {
            simplex.hang(node, root);
            simplex.flow[node] = *units;
            // An empty arc must point at the root for the tree to be strongly feasible.
            simplex.upward[node] = node < n || *units == 0;
        }
        Ok(simplex)
    }

    /// Optimises the tree. `costs` are finite, one for each row and column.
    pub(super) fn solve(&mut self, costs: &[f64]) -> Result<()> {
        debug_assert_eq!(costs.len(), self.costs.len());
        let largest = costs.iter().fold(0.0f64, |most, c| most.max(c.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        self.costs
            .iter_mut()
            .zip(costs)
            .for_each(|(own, c)| *own = c / scale);
        let root = self.num_rows + self.num_columns;
        let mut child = self.first_child[root];
        while child != NONE {
            self.price_below(child);
            child = self.next_sibling[child];
        }
        for _ in 0..self.most_pivots {
            let Some((row, column)) = self.entering() else {
                return Ok(());
            };
            self.pivot(row, self.num_rows + column);
        }
        let what = format!(
            "no end after {} steps; round the costs to fewer digits",
            self.most_pivots
        );
        Err(Error::argument(OP, what))
    }

    /// Returns row, column and mass of the non-zero cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let (n, root) = (self.num_rows, self.num_rows + self.num_columns);
        let moved = (0..root).filter(move |&node| self.flow[node] > 0 && self.parent[node] != root);
        moved.map(move |node| {
            let other = self.parent[node];
            (
                node.min(other),
                node.max(other) - n,
                self.flow[node] as f64 * self.unit,
            )
        })
    }

    /// Returns the cheapest arc of the first block with an arc that would lower the cost.
    fn entering(&mut self) -> Option<(usize, usize)> {
        let (n, m) = (self.num_rows, self.num_columns);
        let arcs = n * m;
        if arcs == 0 {
            return None;
        }
        // Rounding error of prices: they are sums of costs along paths, which are at most one each.
        let tolerance = 8.0 * f64::EPSILON * (n + m) as f64;
        let block = ((arcs as f64).sqrt() as usize).max(16);
        let mut best = (-tolerance, NONE, NONE);
        let (mut row, mut column) = (self.next_arc / m, self.next_arc % m);
        let (mut left, mut left_of_block) = (arcs, block);
        while left > 0 {
            // The rest of a row at a time, so that the inner loop is contiguous in memory.
            let length = (m - column).min(left).min(left_of_block);
            let costs = &self.costs[row * m + column..][..length];
            let heads = &self.price[n + column..][..length];
            let tail = self.price[row];
            for (step, (cost, head)) in costs.iter().zip(heads).enumerate() {
                let reduced = cost + tail - head;
                if reduced < best.0 {
                    best = (reduced, row, column + step);
                }
            }
            (left, left_of_block, column) =
                (left - length, left_of_block - length, column + length);
            if column == m {
                (row, column) = (if row + 1 == n { 0 } else { row + 1 }, 0);
            }
            if left_of_block == 0 {
                if best.1 != NONE {
                    break;
                }
                left_of_block = block;
            }
        }
        self.next_arc = row * m + column;
        (best.1 != NONE).then_some((best.1, best.2))
    }

    /// Enters the arc into the tree, moves mass along its cycle, and removes the leaving arc.
    fn pivot(&mut self, tail: usize, head: usize) {
        let top = self.meeting_point(tail, head);
        // Among the arcs that are emptied together, take the last of the cycle that starts at the
        // top in the direction of the new arc: then the tree stays strongly feasible. A row only
        // sends, so the arc by which the cycle reaches the tail always loses mass.
        let (mut leaving, mut least) = (NONE, i64::MAX);
        let mut node = tail;
        while node != top {
            if self.upward[node] && self.flow[node] < least {
                (leaving, least) = (node, self.flow[node]);
            }
            node = self.parent[node];
        }
        let (mut inside, mut outside) = (tail, head);
        node = head;
        while node != top {
            if !self.upward[node] && self.flow[node] <= least {
                (leaving, least) = (node, self.flow[node]);
                (inside, outside) = (head, tail);
            }
            node = self.parent[node];
        }
        if least > 0 {
            for (start, sign) in [(tail, -1), (head, 1)] {
                node = start;
                while node != top {
                    self.flow[node] += if self.upward[node] {
                        sign * least
                    } else {
                        -sign * least
                    };
                    node = self.parent[node];
                }
            }
        }
        self.rehang(inside, outside, leaving, least, inside == tail);
        self.price_below(inside);
    }

    fn meeting_point(&self, mut u: usize, mut v: usize) -> usize {
        while u != v {
            let up = if self.depth[u] >= self.depth[v] {
                &mut u
            } else {
                &mut v
            };
            *up = self.parent[*up];
        }
        u
    }

    /// Attaches the part of the tree below the arc `leaving` by its node `inside` to `outside`.
    fn rehang(&mut self, inside: usize, outside: usize, leaving: usize, flow: i64, upward: bool) {
        let (mut node, mut parent, mut arc) = (inside, outside, (flow, upward));
        loop {
            let before = (self.parent[node], self.flow[node], self.upward[node]);
            self.unhang(node);
            self.hang(node, parent);
            (self.flow[node], self.upward[node]) = arc;
            if node == leaving {
                return;
            }
            // The arc to the old parent becomes the old parent's, seen from its other end.
            (parent, node, arc) = (node, before.0, (before.1, !before.2));
        }
    }

    fn hang(&mut self, node: usize, parent: usize) {
        let next = std::mem::replace(&mut self.first_child[parent], node);
        self.parent[node] = parent;
        (self.previous_sibling[node], self.next_sibling[node]) = (NONE, next);
        if next != NONE {
            self.previous_sibling[next] = node;
        }
    }

    fn unhang(&mut self, node: usize) {
        let (previous, next) = (self.previous_sibling[node], self.next_sibling[node]);
        match previous {
            NONE => self.first_child[self.parent[node]] = next,
            previous => self.next_sibling[previous] = next,
        }
        if next != NONE {
            self.previous_sibling[next] = previous;
        }
    }

    /// Recomputes prices and depths of a node and all below it from its parent's. They are not
    /// shifted, so that no error accumulates over the steps.
    fn price_below(&mut self, node: usize) {
        self.stack.push(node);
        while let Some(node) = self.stack.pop() {
            let parent = self.parent[node];
            let cost = self.arc_cost(node, parent);
            self.depth[node] = self.depth[parent] + 1;
            self.price[node] = if self.upward[node] {
                self.price[parent] - cost
            } else {
                self.price[parent] + cost
            };
            let mut child = self.first_child[node];
            while child != NONE {
                self.stack.push(child);
                child = self.next_sibling[child];
            }
        }
    }

    fn arc_cost(&self, u: usize, v: usize) -> f64 {
        let (row, column) = (u.min(v), u.max(v));
        if column == self.num_rows + self.num_columns {
            return ARTIFICIAL_COST;
        }
        self.costs[row * self.num_columns + column - self.num_rows]
    }
}

fn total(what: &str, masses: &[f64]) -> Result<f64> {
    if let Some(i) = masses.iter().position(|x| !(x.is_finite() && *x >= 0.0)) {
        return Err(Error::argument(
            OP,
            format!(
                "the mass of {what} {i} is {}; it must be a number of at least 0",
                masses[i]
            ),
        ));
    }
    // Start from zero: an empty sum is -0.
    let total: f64 = masses.iter().fold(0.0, |sum, x| sum + x);
    if total.is_finite() {
        Ok(total)
    } else {
        Err(Error::argument(
            OP,
            format!("the masses of all {what}s together are {total}"),
        ))
    }
}

/// Converts masses to units, [`UNITS`] in all: rounded down, with the remainder given to the masses
/// that lost most.
fn in_units(masses: &[f64], total: f64) -> Vec<i64> {
    let exact: Vec<f64> = masses.iter().map(|x| x / total * UNITS as f64).collect();
    let mut units: Vec<i64> = exact.iter().map(|x| x.floor() as i64).collect();
    let mut by_loss: Vec<usize> = (0..masses.len()).filter(|&i| masses[i] > 0.0).collect();
    by_loss.sort_by(|&i, &j| exact[j].fract().total_cmp(&exact[i].fract()));
    let mut left = UNITS - units.iter().sum::<i64>();
    for &i in by_loss.iter().cycle() {
        if left == 0 {
            break;
        }
        // Quotients are rounded, too, so some units may have to be taken back.
        let change = if left < 0 && units[i] == 0 {
            0
        } else {
            left.signum()
        };
        units[i] += change;
        left -= change;
    }
    units
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::assignment;
    use crate::random::stream;
    use proptest::prelude::*;
    use rand::RngExt;

    fn matrix(n: usize, m: usize, values: &[f64]) -> DenseMatrix<f64> {
        DenseMatrix::new(n, m, values[..n * m].to_vec()).unwrap()
    }

    /// Returns the least cost of moving whole units, by trying every way to serve the first row,
    /// then the second, and so on.
    fn by_search(
        cost: &DenseMatrix<f64>,
        rows: &[u8],
        columns: &mut [u8],
        row: usize,
        column: usize,
        left: u8,
    ) -> f64 {
        let (n, m) = (rows.len(), columns.len());
        if column == m {
            return match (left, row + 1 == n) {
                (0, true) => 0.0,
                (0, false) => by_search(cost, rows, columns, row + 1, 0, rows[row + 1]),
                _ => f64::INFINITY,
            };
        }
        let mut best = f64::INFINITY;
        for units in 0..=left.min(columns[column]) {
            columns[column] -= units;
            let rest = by_search(cost, rows, columns, row, column + 1, left - units);
            columns[column] += units;
            best = best.min(rest + f64::from(units) * cost.row(row)[column]);
        }
        best
    }

    fn assert_marginals(plan: &TransportPlan, rows: &[f64], columns: &[f64]) {
        let total: f64 = rows.iter().sum();
        let (n, m) = (rows.len(), columns.len());
        let sums = (0..n).map(|i| (plan.masses.row(i).iter().sum::<f64>(), rows[i]));
        let column_sums = (0..m).map(|j| {
            (
                (0..n).map(|i| plan.masses.row(i)[j]).sum::<f64>(),
                columns[j],
            )
        });
        for (sum, mass) in sums.chain(column_sums) {
            assert!((sum - mass).abs() <= 1e-12 * total, "{sum} for {mass}");
        }
        assert!(plan.masses.data().iter().all(|&x| x >= 0.0));
        assert!(
            plan.masses.data().iter().filter(|&&x| x > 0.0).count() < (n + m).max(1),
            "a tree has fewer arcs"
        );
    }

    /// Returns small whole masses, many of them zero, with equal totals of rows and columns: the
    /// last column takes the remainder.
    fn balanced(rows: &[u8], columns: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let (supply, demand): (u8, u8) = (rows.iter().sum(), columns.iter().sum());
        let mut columns = columns.to_vec();
        columns.push(supply.checked_sub(demand)?);
        Some((rows.to_vec(), columns))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Costs of 0 to 2 have ties everywhere, and masses of 0 to 2 empty arcs.
        #[test]
        fn equals_a_search_of_all_plans(
            rows in prop::collection::vec(0u8..3, 1..4),
            columns in prop::collection::vec(0u8..3, 0..3),
            values in prop::collection::vec(-5.0f64..5.0, 9),
            whole in any::<bool>(),
        ) {
            prop_assume!(balanced(&rows, &columns).is_some());
            let (rows, mut columns) = balanced(&rows, &columns).unwrap();
            let values: Vec<f64> = values.iter().map(|v| if whole { v.abs().round() % 3.0 } else { *v }).collect();
            let cost = matrix(rows.len(), columns.len(), &values);
            let best = by_search(&cost, &rows, &mut columns, 0, 0, rows[0]);
            let masses = |units: &[u8]| units.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
            let (rows, columns) = (masses(&rows), masses(&columns));
            let plan = transport(&cost, &rows, &columns).unwrap();
            assert_marginals(&plan, &rows, &columns);
            prop_assert!((plan.cost - best).abs() < 1e-9, "{} against {}", plan.cost, best);
        }

        #[test]
        fn uniform_masses_are_an_assignment(n in 1usize..13, values in prop::collection::vec(-10.0f64..10.0, 144), whole in any::<bool>()) {
            let values: Vec<f64> = values.iter().map(|v| if whole { v.round() } else { *v }).collect();
            let cost = matrix(n, n, &values);
            let columns = assignment(&cost).unwrap();
            let best: f64 = columns.iter().enumerate().map(|(i, &j)| cost.row(i)[j as usize]).sum();
            let plan = transport(&cost, &vec![1.0; n], &vec![1.0; n]).unwrap();
            prop_assert!((plan.cost - best).abs() < 1e-9);
            prop_assert!(plan.masses.data().iter().all(|&x| x == 0.0 || x == 1.0), "a permutation, without crumbs");
        }

        /// Costs plus a constant for each row and column move the optimum, not the plan; an earlier
        /// tree leads to an equal cost.
        #[test]
        fn another_start_ends_at_the_same_cost(n in 1usize..9, m in 1usize..9, seed in any::<u64>()) {
            let mut rng = stream(seed, "test", 0);
            let mut draw = |count: usize| (0..count).map(|_| rng.random::<f64>()).collect::<Vec<_>>();
            let (rows, mut columns) = (draw(n), draw(m));
            let scale = rows.iter().sum::<f64>() / columns.iter().sum::<f64>();
            columns.iter_mut().for_each(|x| *x *= scale);
            let mut simplex = Simplex::new(&rows, &columns).unwrap();
            for _ in 0..3 {
                let cost = matrix(n, m, &draw(n * m));
                simplex.solve(cost.data()).unwrap();
                let warm: f64 = simplex.cells().map(|(i, j, mass)| mass * cost.row(i)[j]).sum();
                let cold = transport(&cost, &rows, &columns).unwrap();
                assert_marginals(&cold, &rows, &columns);
                prop_assert!((warm - cold.cost).abs() < 1e-9, "{} against {}", warm, cold.cost);
            }
        }
    }

    /// Points on a line, whose cheapest plan for a convex cost keeps their order: a large problem
    /// with a known solution.
    #[test]
    fn points_on_a_line_keep_their_order() {
        for (n, m) in [(150, 150), (200, 90), (60, 211)] {
            let point = |k: usize, of: usize| (k as f64 + 0.5) / of as f64;
            let cost: Vec<f64> = (0..n * m)
                .map(|k| (point(k / m, n) - point(k % m, m)).powi(2))
                .collect();
            let (rows, columns) = (vec![1.0 / n as f64; n], vec![1.0 / m as f64; m]);
            let (mut i, mut j, mut expected) = (0, 0, 0.0);
            // In whole units of 1/nm: m for each row, n for each column.
            let (mut supply, mut demand) = (m, n);
            while i < n && j < m {
                let units = supply.min(demand);
                expected += units as f64 / (n * m) as f64 * cost[i * m + j];
                (supply, demand) = (supply - units, demand - units);
                if supply == 0 {
                    (i, supply) = (i + 1, m);
                }
                if demand == 0 {
                    (j, demand) = (j + 1, n);
                }
            }
            let plan = transport(&matrix(n, m, &cost), &rows, &columns).unwrap();
            assert_marginals(&plan, &rows, &columns);
            assert!(
                (plan.cost - expected).abs() < 1e-12,
                "{} against {expected}",
                plan.cost
            );
        }
    }

    #[test]
    fn nothing_one_point_and_zero_masses() {
        let none = transport(&DenseMatrix::zeros(0, 0), &[], &[]).unwrap();
        assert_eq!((none.cost, none.masses.data().len()), (0.0, 0));
        assert_eq!(
            transport(&DenseMatrix::zeros(0, 2), &[], &[0.0, 0.0])
                .unwrap()
                .cost,
            0.0
        );
        let one = transport(&matrix(1, 1, &[-7.0]), &[2.0], &[2.0]).unwrap();
        assert_eq!((one.cost, one.masses.data()), (-14.0, &[2.0][..]));
        let spread = transport(&matrix(1, 3, &[1.0, 2.0, 3.0]), &[1.0], &[0.5, 0.0, 0.5]).unwrap();
        assert_eq!(
            (spread.cost, spread.masses.data()),
            (2.0, &[0.5, 0.0, 0.5][..])
        );
        let without = transport(
            &matrix(3, 2, &[9.0, 9.0, 1.0, 2.0, 0.0, 0.0]),
            &[0.0, 1.0, 0.0],
            &[1.0, 0.0],
        )
        .unwrap();
        assert_eq!(without.masses.data(), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        let still = transport(&matrix(2, 2, &[1.0; 4]), &[0.0, 0.0], &[0.0, 0.0]).unwrap();
        assert_eq!((still.cost, still.masses.data()), (0.0, &[0.0; 4][..]));
    }

    #[test]
    fn costs_of_any_size() {
        let (rows, columns) = ([0.5, 0.5], [0.25, 0.75]);
        for scale in [1.0, 1e300, 1e-300, f64::MIN_POSITIVE / 4.0, 1e308] {
            let plan = transport(
                &matrix(2, 2, &[0.0, scale, scale / 2.0, 0.0]),
                &rows,
                &columns,
            )
            .unwrap();
            assert_eq!(plan.masses.data(), [0.25, 0.25, 0.0, 0.5], "{scale}");
            assert_eq!(plan.cost, scale / 4.0);
        }
        let e = transport(&matrix(1, 1, &[1e300]), &[1e300], &[1e300])
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "transport: the cost of the plan is inf; scale costs or masses down"
        );
    }

    #[test]
    fn invalid_input_is_refused_in_one_line() {
        let refused = |cost: &DenseMatrix<f64>, rows: &[f64], columns: &[f64]| {
            transport(cost, rows, columns).unwrap_err().to_string()
        };
        let two = DenseMatrix::zeros(2, 2);
        assert_eq!(
            refused(&two, &[1.0], &[1.0, 0.0]),
            "transport: costs of 2 × 2 for 1 rows and 2 columns"
        );
        let hole = matrix(2, 2, &[0.0, 0.0, f64::NAN, 0.0]);
        assert_eq!(
            refused(&hole, &[1.0, 1.0], &[1.0, 1.0]),
            "transport: the cost of row 1 and column 0 is NaN"
        );
        let endless = matrix(1, 1, &[f64::INFINITY]);
        assert_eq!(
            refused(&endless, &[1.0], &[1.0]),
            "transport: the cost of row 0 and column 0 is inf"
        );
        for (mass, shown) in [(-0.5, "-0.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
            let e = refused(&two, &[1.0, 1.0], &[2.0, mass]);
            assert_eq!(
                e,
                format!(
                    "transport: the mass of column 1 is {shown}; it must be a number of at least 0"
                )
            );
        }
        let e = refused(&two, &[1.0, 1.0], &[1.0, 1.1]);
        assert_eq!(
            e,
            "transport: rows have a mass of 2, columns of 2.1; it must be the same"
        );
        let e = refused(&two, &[f64::MAX, f64::MAX], &[1.0, 1.0]);
        assert_eq!(e, "transport: the masses of all rows together are inf");
        let e = refused(&DenseMatrix::zeros(0, 1), &[], &[1.0]);
        assert_eq!(
            e,
            "transport: rows have a mass of 0, columns of 1; it must be the same"
        );
    }

    #[test]
    fn iterations_end_at_the_limit() {
        let cost = matrix(3, 3, &[0.0, 2.0, 1.0, 1.0, 0.0, 2.0, 2.0, 1.0, 0.0]);
        let mut simplex = Simplex::new(&[1.0; 3], &[1.0; 3]).unwrap();
        simplex.most_pivots = 2;
        let e = simplex.solve(cost.data()).unwrap_err().to_string();
        assert_eq!(
            e,
            "transport: no end after 2 steps; round the costs to fewer digits"
        );
        simplex.most_pivots = 100;
        simplex.solve(cost.data()).unwrap();
        assert_eq!(
            simplex
                .cells()
                .map(|(i, j, _)| usize::from(i == j))
                .sum::<usize>(),
            3,
            "and goes on from there"
        );
    }

    /// Every node can send mass to the root after every step: this prevents a basis from recurring.
    #[test]
    fn empty_arcs_point_at_the_root() {
        for seed in 0..20 {
            let mut rng = stream(seed, "test", 0);
            let masses = |rng: &mut crate::random::Rng, n: usize| -> Vec<f64> {
                let mut masses: Vec<f64> =
                    (1..n).map(|_| f64::from(rng.random_range(0..3))).collect();
                masses.push(2.0 * n as f64 - masses.iter().sum::<f64>());
                masses
            };
            let (rows, columns) = (masses(&mut rng, 12), masses(&mut rng, 12));
            let costs: Vec<f64> = (0..144)
                .map(|_| f64::from(rng.random_range(0..3)) / 2.0)
                .collect();
            let mut simplex = Simplex::new(&rows, &columns).unwrap();
            simplex.most_pivots = 0;
            simplex.solve(&costs).unwrap_err();
            let mut steps = 0;
            while let Some((row, column)) = simplex.entering() {
                simplex.pivot(row, 12 + column);
                steps += 1;
                for node in 0..24 {
                    assert!(
                        simplex.flow[node] > 0 || (simplex.flow[node] == 0 && simplex.upward[node])
                    );
                }
            }
            assert!(steps > 12, "{steps}");
        }
    }

    /// Equal costs, and costs of a few values only: the problems on which a simplex method stalls.
    #[test]
    fn ties_end_long_before_the_limit() {
        let mut rng = stream(5, "test", 0);
        for values in 1..4 {
            for (n, m) in [(100, 100), (120, 80), (64, 128)] {
                let cost: Vec<f64> = (0..n * m)
                    .map(|_| f64::from(rng.random_range(0..values)))
                    .collect();
                let (rows, columns) = (vec![1.0 / n as f64; n], vec![1.0 / m as f64; m]);
                let mut simplex = Simplex::new(&rows, &columns).unwrap();
                simplex.most_pivots = 20 * (n + m);
                simplex.solve(&cost).unwrap();
            }
        }
    }
}
