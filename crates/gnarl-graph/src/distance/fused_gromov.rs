//! The fused Gromov–Wasserstein distance ([Vayer et al. 2019](https://arxiv.org/abs/1805.09114);
//! square loss). It measures how well the nodes of one graph can be coupled with the nodes of
//! another, by features and by structure:
//!
//! ```text
//! min over T of (1 - α) Σ_ij ‖x_i - y_j‖² t_ij + α Σ_ijkl (a_ik - b_jl)² t_ij t_kl
//! ```
//!
//! where `T` moves the masses of the nodes of one graph to the nodes of the other. The graphs may
//! have different numbers of nodes. No practical algorithm solves this exactly. Conditional
//! gradient (Frank–Wolfe) descends from the independent coupling; each step is an exact
//! [`transport`](super::transport()) and a line search towards it. For symmetric structures the
//! second term is `Σ a_ik² p_i p_k + Σ b_jl² q_j q_l - 2 ⟨A T B, T⟩` (Peyré et al. 2016,
//! proposition 1). Since a corner `T` has few entries, its `A T B` is cheap.

use super::transport::Simplex;
use super::{MAX_ALIGNED_NODES, feature_row};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::{CsrMatrix, DenseMatrix};

const OP: &str = "fused Gromov–Wasserstein";

/// A graph as a measure space: a symmetric structure, a row of features for each node (perhaps of
/// no columns), and masses that sum to one.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    structure: CsrMatrix<f64>,
    features: DenseMatrix<f64>,
    masses: Vec<f64>,
}

impl Space {
    /// Makes a space. Fails unless the structure is square, symmetric and finite, with a row of
    /// finite features and a mass for each node, and masses sum to one.
    pub fn new(
        structure: CsrMatrix<f64>,
        features: DenseMatrix<f64>,
        masses: Vec<f64>,
    ) -> Result<Self> {
        let n = structure.num_rows();
        if structure.num_cols() != n || features.num_rows() != n || masses.len() != n {
            let (cols, rows, count) = (structure.num_cols(), features.num_rows(), masses.len());
            let what = format!(
                "a structure of {n} × {cols} with {rows} rows of features and {count} masses"
            );
            return Err(Error::argument(OP, what));
        }
        if let Some(x) = structure
            .values()
            .iter()
            .chain(features.data())
            .find(|x| !x.is_finite())
        {
            return Err(Error::argument(
                OP,
                format!("a structure or feature is {x}; it must be a number"),
            ));
        }
        if !structure.is_symmetric() {
            return Err(Error::argument(OP, "the structure is not symmetric"));
        }
        check_masses(&masses)?;
        Ok(Self {
            structure,
            features,
            masses,
        })
    }

    /// Makes the space of a graph: the adjacency matrix, the features if there are any, and uniform
    /// masses. Fails for a graph without nodes and for features that are not finite.
    pub fn of_graph(graph: &Graph) -> Result<Self> {
        let n = graph.num_nodes();
        let arcs = 0..graph.num_arcs();
        let weights = arcs.map(|k| graph.arc_weight(k)).collect();
        let structure = CsrMatrix::new(
            n,
            graph.offsets().to_vec(),
            graph.targets().to_vec(),
            weights,
        )?;
        let mut features = DenseMatrix::zeros(n, graph.features().map_or(0, |f| f.num_cols()));
        if let Some(given) = graph.features() {
            for i in 0..n {
                feature_row(given, i)
                    .into_iter()
                    .for_each(|(c, v)| features.row_mut(i)[c as usize] = v);
            }
        }
        Self::new(structure, features, vec![1.0 / n as f64; n])
    }

    /// Returns the number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.masses.len()
    }

    /// Returns the structure matrix.
    pub fn structure(&self) -> &CsrMatrix<f64> {
        &self.structure
    }

    /// Returns the node features.
    pub fn features(&self) -> &DenseMatrix<f64> {
        &self.features
    }

    /// Returns the node masses.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }
}

/// Settings of the distance: weight of the structure, and stopping criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedGromov {
    /// Weight of the structure, 0 to 1; the features get the rest.
    pub alpha: f64,
    /// Maximum number of steps.
    pub max_steps: usize,
    /// Relative tolerance: a step that changes the value by less than this share of it is the last.
    pub relative_tolerance: f64,
    /// Absolute tolerance: a step that changes the value by less than this is the last.
    pub absolute_tolerance: f64,
}

impl Default for FusedGromov {
    /// Defaults of Python Optimal Transport: equal weights of structure and features, 10,000 steps,
    /// both tolerances 1e-9.
    fn default() -> Self {
        Self {
            alpha: 0.5,
            max_steps: 10_000,
            relative_tolerance: 1e-9,
            absolute_tolerance: 1e-9,
        }
    }
}

/// A coupling of two graphs, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Coupling {
    /// Mass that each node of the first graph shares with each node of the second.
    pub masses: DenseMatrix<f64>,
    /// Value of the sum above: an upper bound of its minimum.
    pub value: f64,
}

impl FusedGromov {
    /// Finds a coupling by conditional gradient from the independent one. One step is a transport
    /// problem and O(n (n + m) d̄) for `d̄` neighbours on average. At most [`MAX_ALIGNED_NODES`]
    /// nodes.
    ///
    /// ```
    /// use gnarl_graph::{distance::{FusedGromov, Space}, generate::path};
    /// // All of a path of three nodes is laid over one node: 4 of its 9 ordered pairs are joined, and those of the one node are not.
    /// let (a, b) = (Space::of_graph(&path(3)?)?, Space::of_graph(&path(1)?)?);
    /// let found = FusedGromov { alpha: 1.0, ..Default::default() }.between(&a, &b)?;
    /// assert!((found.value - 4.0 / 9.0).abs() < 1e-12);
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn between(&self, a: &Space, b: &Space) -> Result<Coupling> {
        check_alpha(self.alpha)?;
        check_pair(a.features.num_cols(), b)?;
        if a.num_nodes() > MAX_ALIGNED_NODES || b.num_nodes() > MAX_ALIGNED_NODES {
            let what = format!("{} and {} nodes", a.num_nodes(), b.num_nodes());
            return Err(Error::argument(
                OP,
                format!("{what}, at most {MAX_ALIGNED_NODES} can be laid over each other"),
            ));
        }
        let linear = feature_costs(&a.features, &b.features, 1.0 - self.alpha);
        let mut simplex = Simplex::new(&a.masses, &b.masses)?;
        let (masses, value) = self.descend(
            &a.structure.to_dense(),
            &a.masses,
            b,
            &linear,
            None,
            &mut simplex,
        )?;
        Ok(Coupling { masses, value })
    }

    /// Runs conditional gradient from a coupling, else from the independent one. `linear` is the
    /// weighted cost of features, `simplex` has both graphs' masses.
    pub(super) fn descend(
        &self,
        structure: &DenseMatrix<f64>,
        masses: &[f64],
        other: &Space,
        linear: &[f64],
        start: Option<&DenseMatrix<f64>>,
        simplex: &mut Simplex,
    ) -> Result<(DenseMatrix<f64>, f64)> {
        let (n, m) = (masses.len(), other.num_nodes());
        let outer = |a: &[f64], b: &[f64]| {
            a.iter()
                .flat_map(|x| b.iter().map(move |y| x * y))
                .collect::<Vec<f64>>()
        };
        // The plan and its A T B.
        let (mut plan, mut product) = match start {
            Some(start) => (
                start.data().to_vec(),
                product_at(structure, start, &other.structure),
            ),
            None => {
                let degrees = (
                    times(structure, masses),
                    other.structure.mul_vec(&other.masses),
                );
                (outer(masses, &other.masses), outer(&degrees.0, &degrees.1))
            }
        };
        let constant =
            square_mean(structure, masses) + sparse_square_mean(&other.structure, &other.masses);
        let mut features = dot(linear, &plan);
        let mut value = features + self.alpha * (constant - 2.0 * dot(&product, &plan));
        let mut gradient = vec![0.0; n * m];
        let mut change = vec![0.0; n * m];
        let mut sparse_rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
        for _ in 0..self.max_steps {
            // Terms that depend on rows or columns alone are left out: they are equal for every
            // plan.
            for ((g, l), p) in gradient.iter_mut().zip(linear).zip(&product) {
                *g = l - 4.0 * self.alpha * p;
            }
            simplex.solve(&gradient)?;
            corner_product(
                structure,
                simplex,
                &other.structure,
                &mut sparse_rows,
                &mut change,
            );
            change.iter_mut().zip(&product).for_each(|(c, p)| *c -= p);
            let at_corner = |matrix: &[f64]| {
                simplex
                    .cells()
                    .map(|(i, j, mass)| mass * matrix[i * m + j])
                    .sum::<f64>()
            };
            // The value at a share t of the way to the corner is value + slope · t + bend · t².
            let along_plan = dot(&change, &plan);
            let corner_features = at_corner(linear);
            let bend = -2.0 * self.alpha * (at_corner(&change) - along_plan);
            let slope = corner_features - features - 4.0 * self.alpha * along_plan;
            let t = if bend > 0.0 {
                (-slope / (2.0 * bend)).clamp(0.0, 1.0)
            } else {
                f64::from(slope + bend < 0.0)
            };
            let gain = (bend * t * t + slope * t).abs();
            value += bend * t * t + slope * t;
            features += t * (corner_features - features);
            plan.iter_mut().for_each(|x| *x *= 1.0 - t);
            simplex
                .cells()
                .for_each(|(i, j, mass)| plan[i * m + j] += t * mass);
            product
                .iter_mut()
                .zip(&change)
                .for_each(|(p, c)| *p += t * c);
            if gain == 0.0
                || gain < self.relative_tolerance * value.abs()
                || gain < self.absolute_tolerance
            {
                break;
            }
        }
        // Rounding may give a value slightly below zero.
        Ok((DenseMatrix::new(n, m, plan)?, value.max(0.0)))
    }
}

/// Computes `weight · ‖x_i - y_j‖²` for all pairs of rows; nothing is computed for a weight of
/// zero.
pub(super) fn feature_costs(x: &DenseMatrix<f64>, y: &DenseMatrix<f64>, weight: f64) -> Vec<f64> {
    let mut costs = vec![0.0; x.num_rows() * y.num_rows()];
    if weight > 0.0 && x.num_cols() > 0 {
        for (i, row) in costs.chunks_mut(y.num_rows().max(1)).enumerate() {
            for (j, cost) in row.iter_mut().enumerate() {
                *cost = weight
                    * x.row(i)
                        .iter()
                        .zip(y.row(j))
                        .map(|(a, b)| (a - b) * (a - b))
                        .sum::<f64>();
            }
        }
    }
    costs
}

/// Computes `A T B` for any `T`, with `B` sparse.
fn product_at(a: &DenseMatrix<f64>, plan: &DenseMatrix<f64>, b: &CsrMatrix<f64>) -> Vec<f64> {
    let (n, m) = (plan.num_rows(), plan.num_cols());
    let mut right: DenseMatrix<f64> = DenseMatrix::zeros(n, m);
    for i in 0..n {
        let row = right.row_mut(i);
        for (j, mass) in plan
            .row(i)
            .iter()
            .enumerate()
            .filter(|(_, mass)| **mass != 0.0)
        {
            let (targets, weights) = b.row(j);
            targets
                .iter()
                .zip(weights)
                .for_each(|(&l, w)| row[l as usize] += mass * w);
        }
    }
    let mut product = vec![0.0; n * m];
    for (k, out) in product.chunks_mut(m.max(1)).enumerate() {
        for (i, factor) in a
            .row(k)
            .iter()
            .enumerate()
            .filter(|(_, factor)| **factor != 0.0)
        {
            out.iter_mut()
                .zip(right.row(i))
                .for_each(|(out, x)| *out += factor * x);
        }
    }
    product
}

/// Computes `A T B` for the current corner `T` of the simplex, with `B` sparse: `T B` has about as
/// many entries as `T` times neighbours.
fn corner_product(
    a: &DenseMatrix<f64>,
    corner: &Simplex,
    b: &CsrMatrix<f64>,
    rows: &mut [Vec<(usize, f64)>],
    out: &mut [f64],
) {
    rows.iter_mut().for_each(Vec::clear);
    for (i, j, mass) in corner.cells() {
        let (targets, weights) = b.row(j);
        rows[i].extend(
            targets
                .iter()
                .zip(weights)
                .map(|(&l, w)| (l as usize, mass * w)),
        );
    }
    let m = b.num_rows();
    out.fill(0.0);
    for (k, out) in out.chunks_mut(m.max(1)).enumerate() {
        for (factor, row) in a.row(k).iter().zip(&*rows) {
            if *factor != 0.0 {
                row.iter().for_each(|&(l, x)| out[l] += factor * x);
            }
        }
    }
}

fn times(matrix: &DenseMatrix<f64>, x: &[f64]) -> Vec<f64> {
    (0..matrix.num_rows())
        .map(|i| dot(matrix.row(i), x))
        .collect()
}

/// Computes `Σ_ik c_ik² p_i p_k`.
pub(super) fn square_mean(matrix: &DenseMatrix<f64>, masses: &[f64]) -> f64 {
    let row = |i: usize| {
        matrix
            .row(i)
            .iter()
            .zip(masses)
            .map(|(c, p)| c * c * p)
            .sum::<f64>()
    };
    (0..matrix.num_rows()).map(|i| masses[i] * row(i)).sum()
}

/// Computes `Σ_ik c_ik² p_i p_k` for a sparse matrix.
pub(super) fn sparse_square_mean(matrix: &CsrMatrix<f64>, masses: &[f64]) -> f64 {
    let row = |i: usize| {
        let (at, values) = matrix.row(i);
        at.iter()
            .zip(values)
            .map(|(&k, c)| c * c * masses[k as usize])
            .sum::<f64>()
    };
    (0..matrix.num_rows()).map(|i| masses[i] * row(i)).sum()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn check_alpha(alpha: f64) -> Result<()> {
    if (0.0..=1.0).contains(&alpha) {
        Ok(())
    } else {
        Err(Error::argument(
            OP,
            format!("an alpha of {alpha}; it must lie in 0 to 1"),
        ))
    }
}

pub(super) fn check_masses(masses: &[f64]) -> Result<()> {
    if let Some(x) = masses.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        return Err(Error::argument(
            OP,
            format!("a mass of {x}; it must be a number of at least 0"),
        ));
    }
    let total = masses.iter().fold(0.0, |sum, x| sum + x);
    if (total - 1.0).abs() < 1e-9 {
        Ok(())
    } else {
        Err(Error::argument(
            OP,
            format!(
                "the masses of {} nodes sum to {total}, not to 1",
                masses.len()
            ),
        ))
    }
}

pub(super) fn check_pair(num_columns: usize, other: &Space) -> Result<()> {
    if num_columns == other.features.num_cols() {
        Ok(())
    } else {
        Err(Error::argument(
            OP,
            format!(
                "features of {num_columns} and {} columns",
                other.features.num_cols()
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::generate::{barabasi_albert, cycle, erdos_renyi, path};
    use crate::random::stream;
    use rand::RngExt;

    /// Returns a graph whose nodes have distinct features.
    fn told_apart(graph: Graph, seed: u64) -> Graph {
        let n = graph.num_nodes();
        let mut rng = stream(seed, "test", 0);
        let values = (0..2 * n).map(|_| rng.random::<f32>()).collect();
        graph
            .with_features(Features::Dense(DenseMatrix::new(n, 2, values).unwrap()))
            .unwrap()
    }

    fn space(graph: Graph, seed: u64) -> Space {
        Space::of_graph(&told_apart(graph, seed)).unwrap()
    }

    /// Computes the sum of the definition, term by term.
    fn by_definition(a: &Space, b: &Space, plan: &DenseMatrix<f64>, alpha: f64) -> f64 {
        let (n, m) = (a.num_nodes(), b.num_nodes());
        let (c, d) = (a.structure().to_dense(), b.structure().to_dense());
        let (mut features, mut structure) = (0.0, 0.0);
        for i in 0..n {
            for j in 0..m {
                let apart = a
                    .features()
                    .row(i)
                    .iter()
                    .zip(b.features().row(j))
                    .map(|(x, y)| (x - y).powi(2));
                features += apart.sum::<f64>() * plan.row(i)[j];
                for k in 0..n {
                    for l in 0..m {
                        structure +=
                            (c.row(i)[k] - d.row(j)[l]).powi(2) * plan.row(i)[j] * plan.row(k)[l];
                    }
                }
            }
        }
        (1.0 - alpha) * features + alpha * structure
    }

    #[test]
    fn the_value_is_that_of_the_coupling() {
        for (alpha, seed) in [(0.0, 1), (0.3, 2), (0.7, 3), (1.0, 4)] {
            let (a, b) = (
                space(barabasi_albert(9, 2, seed).unwrap(), seed),
                space(erdos_renyi(6, 0.5, seed).unwrap(), 9),
            );
            let found = FusedGromov {
                alpha,
                ..Default::default()
            }
            .between(&a, &b)
            .unwrap();
            let expected = by_definition(&a, &b, &found.masses, alpha);
            assert!(
                (found.value - expected).abs() < 1e-12,
                "{} against {expected}",
                found.value
            );
            for i in 0..9 {
                assert!((found.masses.row(i).iter().sum::<f64>() - 1.0 / 9.0).abs() < 1e-12);
            }
            let independent = DenseMatrix::new(9, 6, vec![1.0 / 54.0; 54]).unwrap();
            assert!(
                found.value < 0.95 * by_definition(&a, &b, &independent, alpha),
                "it goes down from there"
            );
        }
    }

    #[test]
    fn a_renumbered_graph_is_no_distance_away() {
        let graph = told_apart(erdos_renyi(12, 0.3, 1).unwrap(), 5);
        let order: Vec<u32> = (0..12).map(|u| u * 5 % 12).collect();
        let (a, b) = (
            Space::of_graph(&graph).unwrap(),
            Space::of_graph(&graph.permute(&order).unwrap()).unwrap(),
        );
        let found = FusedGromov::default().between(&a, &b).unwrap();
        assert!(found.value < 1e-12, "{}", found.value);
        for u in 0..12 {
            assert!((found.masses.row(u)[order[u] as usize] - 1.0 / 12.0).abs() < 1e-12);
        }
        let other = space(cycle(12).unwrap(), 5);
        assert!(FusedGromov::default().between(&a, &other).unwrap().value > 0.01);
    }

    #[test]
    fn features_alone_are_a_transport_problem() {
        let (a, b) = (space(path(7).unwrap(), 1), space(cycle(5).unwrap(), 2));
        let costs = DenseMatrix::new(7, 5, feature_costs(a.features(), b.features(), 1.0)).unwrap();
        let exact = super::super::transport(&costs, a.masses(), b.masses()).unwrap();
        let found = FusedGromov {
            alpha: 0.0,
            ..Default::default()
        }
        .between(&a, &b)
        .unwrap();
        assert!((found.value - exact.cost).abs() < 1e-12);
    }

    #[test]
    fn graphs_of_one_node_and_no_edges() {
        let one = Space::of_graph(&Graph::empty(1).unwrap()).unwrap();
        let apart = Space::of_graph(&Graph::empty(4).unwrap()).unwrap();
        let joined = Space::of_graph(&cycle(4).unwrap()).unwrap();
        let structure = FusedGromov {
            alpha: 1.0,
            ..Default::default()
        };
        assert_eq!(structure.between(&one, &apart).unwrap().value, 0.0);
        // Half of all ordered pairs of the cycle are connected, none of the single node.
        assert!((structure.between(&one, &joined).unwrap().value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn settings_matter() {
        let (a, b) = (
            space(barabasi_albert(15, 2, 1).unwrap(), 1),
            space(barabasi_albert(15, 2, 2).unwrap(), 2),
        );
        let value = |settings: FusedGromov| settings.between(&a, &b).unwrap().value;
        let usual = FusedGromov::default();
        let full = value(usual);
        assert!(
            value(FusedGromov {
                max_steps: 1,
                ..usual
            }) > full + 1e-4
        );
        assert!(
            value(FusedGromov {
                relative_tolerance: 0.5,
                ..usual
            }) > full + 1e-4
        );
        assert!(
            value(FusedGromov {
                absolute_tolerance: 1.0,
                ..usual
            }) > full + 1e-4
        );
        assert!(
            (value(FusedGromov {
                alpha: 0.1,
                ..usual
            }) - full)
                .abs()
                > 1e-4
        );
    }

    #[test]
    fn invalid_input_is_refused_in_one_line() {
        let structure = |values: [f64; 2]| {
            CsrMatrix::new(2, vec![0, 1, 2], vec![1, 0], values.to_vec()).unwrap()
        };
        let no_features = DenseMatrix::zeros(2, 0);
        let refused = |values, masses: &[f64]| {
            Space::new(structure(values), no_features.clone(), masses.to_vec())
                .unwrap_err()
                .to_string()
        };
        let starts = |e: String, what: &str| assert_eq!(e, format!("{OP}: {what}"));
        starts(
            refused([1.0, 2.0], &[0.5, 0.5]),
            "the structure is not symmetric",
        );
        starts(
            refused([f64::NAN; 2], &[0.5, 0.5]),
            "a structure or feature is NaN; it must be a number",
        );
        starts(
            refused([1.0; 2], &[0.5]),
            "a structure of 2 × 2 with 2 rows of features and 1 masses",
        );
        starts(
            refused([1.0; 2], &[0.5, 0.6]),
            "the masses of 2 nodes sum to 1.1, not to 1",
        );
        starts(
            refused([1.0; 2], &[1.5, -0.5]),
            "a mass of -0.5; it must be a number of at least 0",
        );
        let nobody = Space::of_graph(&Graph::empty(0).unwrap())
            .unwrap_err()
            .to_string();
        starts(nobody, "the masses of 0 nodes sum to 0, not to 1");
        let plain = Space::of_graph(&path(3).unwrap()).unwrap();
        let e = FusedGromov::default()
            .between(&plain, &space(path(3).unwrap(), 1))
            .unwrap_err()
            .to_string();
        starts(e, "features of 0 and 2 columns");
        let e = FusedGromov {
            alpha: 1.5,
            ..Default::default()
        }
        .between(&plain, &plain)
        .unwrap_err()
        .to_string();
        starts(e, "an alpha of 1.5; it must lie in 0 to 1");
        let large = Space::of_graph(&Graph::empty(5001).unwrap()).unwrap();
        let e = FusedGromov::default()
            .between(&plain, &large)
            .unwrap_err()
            .to_string();
        starts(
            e,
            "3 and 5001 nodes, at most 5000 can be laid over each other",
        );
    }
}
