//! The distance between two graphs on equally many nodes:
//!
//! ```text
//! alpha · ‖A₁ - A₂‖ + beta · ‖X₁ - X₂‖
//! ```
//!
//! node by node if the alignment is known ([`GraphDistance::between`]), else the smallest value
//! over all permutations of the second graph's nodes ([`GraphDistance::aligned`]). That minimum is
//! exact for features alone, where it is an assignment problem. With structure it is a quadratic
//! assignment problem, for which no exact method scales beyond some 20 nodes, and the result is an
//! upper bound.
//!
//! Graphs of different sizes are compared by moving mass: [`transport()`] is the cheapest way to
//! move it, [`FusedGromov`] the distance by features and structure, and
//! [`BarycentreSettings::barycentre`] a graph between others.

mod assignment;
mod barycentre;
mod faq;
mod fused_gromov;
mod spectral;
mod transport;

pub use self::assignment::assignment;
pub use self::barycentre::{Barycentre, BarycentreSettings, BarycentreStart};
pub use self::fused_gromov::{Coupling, FusedGromov, Space};
pub use self::transport::{TransportPlan, transport};

use crate::error::{Error, Result};
use crate::features::Features;
use crate::graph::Graph;
use crate::matrix::{CsrMatrix, DenseMatrix};

/// Largest number of nodes for alignment, which needs a few dense matrices of nodes by nodes.
pub const MAX_ALIGNED_NODES: usize = 5000;

/// A norm of the difference of two adjacency matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StructureNorm {
    /// `Σ_ij 1(a_ij ≠ b_ij)`: ordered pairs, so a changed edge counts twice.
    Hamming,
    /// `√Σ_ij (a_ij - b_ij)²`.
    #[default]
    Frobenius,
    /// The largest singular value.
    Spectral,
}

/// A norm of the difference of two feature matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureNorm {
    /// `√Σ_ij (x_ij - y_ij)²`.
    #[default]
    Frobenius,
    /// The largest singular value.
    Spectral,
}

/// Computes the distance between two adjacency matrices, node by node. O(n + m), times the
/// iterations for the spectral norm.
///
/// ```
/// use gnarl_graph::{distance::{structure_distance, StructureNorm}, generate::{cycle, path}};
/// // One edge apart: 2 ordered pairs, √2, and 1.
/// let (a, b) = (path(4)?, cycle(4)?);
/// assert_eq!(structure_distance(&a, &b, StructureNorm::Hamming)?, 2.0);
/// assert_eq!(structure_distance(&a, &b, StructureNorm::Frobenius)?, 2f64.sqrt());
/// assert!((structure_distance(&a, &b, StructureNorm::Spectral)? - 1.0).abs() < 1e-9);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn structure_distance(a: &Graph, b: &Graph, norm: StructureNorm) -> Result<f64> {
    check_nodes("structure_distance", a, b)?;
    let n = a.num_nodes();
    let row = |g: &Graph, u: usize| -> Vec<(u32, f64)> {
        g.arc_range(u as u32)
            .map(|k| (g.targets()[k], g.arc_weight(k)))
            .collect()
    };
    let difference = subtract(n, n, |u| row(a, u), |u| row(b, u));
    match norm {
        StructureNorm::Hamming => Ok(difference.num_entries() as f64),
        StructureNorm::Frobenius => Ok(frobenius(&difference)),
        StructureNorm::Spectral => spectral::spectral_norm(&difference),
    }
}

/// Computes the distance between two feature matrices, row by row. Fails for other shapes and for
/// values that are not finite.
pub fn feature_distance(a: &Features, b: &Features, norm: FeatureNorm) -> Result<f64> {
    check_features("feature_distance", a, b)?;
    let difference = subtract(
        a.num_rows(),
        a.num_cols(),
        |i| feature_row(a, i),
        |i| feature_row(b, i),
    );
    match norm {
        FeatureNorm::Frobenius => Ok(frobenius(&difference)),
        FeatureNorm::Spectral => spectral::spectral_norm(&difference),
    }
}

/// The distance `alpha · structure + beta · features`. A part with weight zero is not computed: for
/// graphs without features, set `beta` to 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphDistance {
    /// Weight of the structure.
    pub alpha: f64,
    /// Weight of the features.
    pub beta: f64,
    /// Norm of the structure.
    pub structure: StructureNorm,
    /// Norm of the features.
    pub features: FeatureNorm,
}

impl Default for GraphDistance {
    /// Equal weights of structure and features, both in Frobenius norm.
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 1.0,
            structure: StructureNorm::default(),
            features: FeatureNorm::default(),
        }
    }
}

/// A matching of the nodes of two graphs, and the distance under it.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// The distance under this matching.
    pub distance: f64,
    /// Node of the second graph matched to each node of the first (`permutation[u]` to `u`): the
    /// second graph's [`subgraph`](Graph::subgraph) of it is the aligned graph.
    pub permutation: Vec<u32>,
    /// Optimality of the matching.
    pub optimality: Optimality,
}

/// Optimality guarantee of an [`Alignment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimality {
    /// No matching has a smaller distance.
    Exact,
    /// The smallest distance is at most the one found.
    UpperBound,
}

impl GraphDistance {
    /// Computes the distance with node `u` of one graph matched to node `u` of the other.
    pub fn between(&self, a: &Graph, b: &Graph) -> Result<f64> {
        self.check(a, b)?;
        self.evaluate(a, b)
    }

    /// Computes the smallest distance found over all matchings of the nodes, never more than
    /// [`between`](Self::between).
    ///
    /// The result is exact for features alone in Frobenius norm, O(n³). Otherwise it is an upper
    /// bound by FAQ ([Vogelstein et al. 2015](https://arxiv.org/abs/1112.5507)), which minimises
    /// squared Frobenius norms by Frank–Wolfe steps from the barycentre. The returned distance is
    /// in the requested norms, at the best matching seen. At most [`MAX_ALIGNED_NODES`] nodes.
    pub fn aligned(&self, a: &Graph, b: &Graph) -> Result<Alignment> {
        self.check(a, b)?;
        check_alignable("GraphDistance::aligned", a.num_nodes())?;
        let mut candidates: Vec<Vec<u32>> = vec![(0..a.num_nodes() as u32).collect()];
        let mut costs = None;
        if let (true, Some(x), Some(y)) = (self.beta > 0.0, a.features(), b.features()) {
            let matrix = squared_distances(x, y);
            candidates.push(assignment(&matrix)?);
            costs = Some(matrix);
        }
        if self.alpha > 0.0 {
            // The terms of the squared surrogate: a Hamming distance is a squared norm already.
            let structure = if self.structure == StructureNorm::Hamming {
                self.alpha
            } else {
                self.alpha.powi(2)
            };
            candidates.push(faq::match_nodes(
                a,
                b,
                structure,
                costs.as_ref(),
                self.beta.powi(2),
            )?);
        }
        let mut best = Alignment {
            distance: f64::INFINITY,
            permutation: Vec::new(),
            optimality: Optimality::UpperBound,
        };
        for permutation in candidates {
            let distance = self.evaluate(a, &b.subgraph(&permutation)?)?;
            if distance < best.distance || best.permutation.is_empty() {
                best = Alignment {
                    distance,
                    permutation,
                    ..best
                };
            }
        }
        let features_alone = self.alpha == 0.0 && self.features == FeatureNorm::Frobenius;
        if features_alone || best.distance == 0.0 {
            best.optimality = Optimality::Exact;
        }
        Ok(best)
    }

    fn check(&self, a: &Graph, b: &Graph) -> Result<()> {
        const OP: &str = "GraphDistance";
        for (name, weight) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::argument(
                    OP,
                    format!("{name} {weight} must be a number of at least 0"),
                ));
            }
        }
        check_nodes(OP, a, b)?;
        if self.beta > 0.0 {
            match (a.features(), b.features()) {
                (Some(x), Some(y)) => check_features(OP, x, y)?,
                _ => {
                    let what = format!("beta is {}, but a graph has no features", self.beta);
                    return Err(Error::missing(OP, what, "set beta to 0"));
                }
            }
        }
        Ok(())
    }

    fn evaluate(&self, a: &Graph, b: &Graph) -> Result<f64> {
        let mut distance = 0.0;
        if self.alpha > 0.0 {
            distance += self.alpha * structure_distance(a, b, self.structure)?;
        }
        if let (true, Some(x), Some(y)) = (self.beta > 0.0, a.features(), b.features()) {
            distance += self.beta * feature_distance(x, y, self.features)?;
        }
        Ok(distance)
    }
}

/// Matches the rows of two feature matrices with the smallest Frobenius distance. Exact; O(n³).
pub fn aligned_features(a: &Features, b: &Features) -> Result<Alignment> {
    check_features("aligned_features", a, b)?;
    check_alignable("aligned_features", a.num_rows())?;
    let permutation = assignment(&squared_distances(a, b))?;
    let distance = feature_distance(a, &b.select_rows(&permutation), FeatureNorm::Frobenius)?;
    Ok(Alignment {
        distance,
        permutation,
        optimality: Optimality::Exact,
    })
}

fn check_nodes(op: &'static str, a: &Graph, b: &Graph) -> Result<()> {
    if a.num_nodes() == b.num_nodes() {
        return Ok(());
    }
    let what = format!(
        "graphs of {} and {} nodes cannot be compared node by node",
        a.num_nodes(),
        b.num_nodes()
    );
    Err(Error::argument(op, what))
}

fn check_features(op: &'static str, a: &Features, b: &Features) -> Result<()> {
    let shape = |x: &Features| (x.num_rows(), x.num_cols());
    if shape(a) != shape(b) {
        let ((n, d), (m, e)) = (shape(a), shape(b));
        return Err(Error::argument(
            op,
            format!("features of {n} × {d} and {m} × {e} cannot be compared"),
        ));
    }
    match a.values().iter().chain(b.values()).find(|x| !x.is_finite()) {
        Some(x) => Err(Error::argument(
            op,
            format!("a feature is {x}, but only numbers can be compared"),
        )),
        None => Ok(()),
    }
}

fn check_alignable(op: &'static str, num_nodes: usize) -> Result<()> {
    if num_nodes <= MAX_ALIGNED_NODES {
        return Ok(());
    }
    Err(Error::argument(
        op,
        format!("{num_nodes} nodes, at most {MAX_ALIGNED_NODES} can be aligned"),
    ))
}

/// Returns the non-zero values of one row, by ascending column.
fn feature_row(features: &Features, i: usize) -> Vec<(u32, f64)> {
    let not_zero = |(_, v): &(u32, f64)| *v != 0.0;
    match features {
        Features::Sparse(m) => {
            let (cols, values) = m.row(i);
            cols.iter()
                .zip(values)
                .map(|(&c, &v)| (c, f64::from(v)))
                .filter(not_zero)
                .collect()
        }
        Features::Dense(m) => m
            .row(i)
            .iter()
            .enumerate()
            .map(|(c, &v)| (c as u32, f64::from(v)))
            .filter(not_zero)
            .collect(),
    }
}

/// Computes `a - b`, storing only non-zero values.
fn subtract(
    num_rows: usize,
    num_cols: usize,
    a: impl Fn(usize) -> Vec<(u32, f64)>,
    b: impl Fn(usize) -> Vec<(u32, f64)>,
) -> CsrMatrix<f64> {
    let mut offsets = vec![0u64];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for i in 0..num_rows {
        merge(&a(i), &b(i), |col, x, y| {
            if x != y {
                indices.push(col);
                values.push(x - y);
            }
        });
        offsets.push(indices.len() as u64);
    }
    CsrMatrix::from_parts(num_cols, offsets, indices, values)
}

/// Calls `each` with the column and both values where at least one of two sparse rows has an entry,
/// by ascending column.
fn merge(a: &[(u32, f64)], b: &[(u32, f64)], mut each: impl FnMut(u32, f64, f64)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let left = a.get(i).map_or(u32::MAX, |e| e.0);
        let right = b.get(j).map_or(u32::MAX, |e| e.0);
        let col = left.min(right);
        let x = if left == col { a[i].1 } else { 0.0 };
        let y = if right == col { b[j].1 } else { 0.0 };
        i += usize::from(left == col);
        j += usize::from(right == col);
        each(col, x, y);
    }
}

fn frobenius(matrix: &CsrMatrix<f64>) -> f64 {
    matrix.values().iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Computes `‖x_i - y_j‖²` for every pair of rows.
fn squared_distances(x: &Features, y: &Features) -> DenseMatrix<f64> {
    use rayon::prelude::*;
    let n = x.num_rows();
    let columns: Vec<_> = (0..n).map(|j| feature_row(y, j)).collect();
    let rows: Vec<Vec<f64>> = (0..n)
        .into_par_iter()
        .map(|i| {
            let row = feature_row(x, i);
            let squared = |column: &Vec<(u32, f64)>| {
                let mut sum = 0.0;
                merge(&row, column, |_, a, b| sum += (a - b).powi(2));
                sum
            };
            columns.iter().map(squared).collect()
        })
        .collect();
    DenseMatrix::new(n, n, rows.concat()).expect("n rows of n values")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{barabasi_albert, cycle, erdos_renyi, path, star};
    use proptest::prelude::*;
    use rand::seq::SliceRandom;

    fn shuffled(n: usize, seed: u64) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.shuffle(&mut crate::random::stream(seed, "test", 0));
        order
    }

    fn permutations(n: usize) -> Vec<Vec<u32>> {
        let Some(last) = n.checked_sub(1) else {
            return vec![vec![]];
        };
        let mut all = Vec::new();
        for shorter in permutations(last) {
            for at in 0..n {
                let mut longer = shorter.clone();
                longer.insert(at, last as u32);
                all.push(longer);
            }
        }
        all
    }

    fn dense(n: usize, d: usize, values: &[f32]) -> Features {
        Features::Dense(DenseMatrix::new(n, d, values[..n * d].to_vec()).unwrap())
    }

    fn graph(n: usize, edges: &[(u32, u32)]) -> Graph {
        Graph::from_edges(
            n,
            edges.iter().copied().filter(|&(u, v)| u.max(v) < n as u32),
        )
        .unwrap()
        .0
    }

    fn structure(norm: StructureNorm) -> GraphDistance {
        GraphDistance {
            alpha: 1.0,
            beta: 0.0,
            structure: norm,
            ..Default::default()
        }
    }

    const NORMS: [StructureNorm; 3] = [
        StructureNorm::Hamming,
        StructureNorm::Frobenius,
        StructureNorm::Spectral,
    ];

    #[test]
    fn structure_by_hand() {
        // Path and star on 4 nodes share 0-1; 1-2 and 2-3 are removed, 0-2 and 0-3 added: eight
        // ordered pairs.
        let (a, b) = (path(4).unwrap(), star(4).unwrap());
        assert_eq!(
            structure_distance(&a, &b, StructureNorm::Hamming).unwrap(),
            8.0
        );
        assert_eq!(
            structure_distance(&a, &b, StructureNorm::Frobenius).unwrap(),
            8f64.sqrt()
        );
        // numpy.linalg.norm(nx.to_numpy_array(nx.path_graph(4)) -
        // nx.to_numpy_array(nx.star_graph(3)), 2)
        assert!(
            (structure_distance(&a, &b, StructureNorm::Spectral).unwrap() - 2.170086486626034)
                .abs()
                < 1e-10
        );
        // Weights: 3 against 1, and one edge more of weight 2.
        let a = Graph::from_weighted_edges(3, [(0, 1, 3.0)]).unwrap().0;
        let b = Graph::from_weighted_edges(3, [(0, 1, 1.0), (1, 2, 2.0)])
            .unwrap()
            .0;
        assert_eq!(
            structure_distance(&a, &b, StructureNorm::Hamming).unwrap(),
            4.0
        );
        assert_eq!(
            structure_distance(&a, &b, StructureNorm::Frobenius).unwrap(),
            4.0
        );
        assert!(
            (structure_distance(&a, &b, StructureNorm::Spectral).unwrap() - 8f64.sqrt()).abs()
                < 1e-10
        );
    }

    #[test]
    fn features_by_hand_and_in_both_layouts() {
        let x = dense(2, 2, &[1.0, 0.0, 0.0, 3.0]);
        let y = Features::Sparse(
            CsrMatrix::new(2, vec![0, 1, 2], vec![0, 1], vec![4.0, -1.0]).unwrap(),
        );
        assert_eq!(
            feature_distance(&x, &y, FeatureNorm::Frobenius).unwrap(),
            5.0
        );
        assert!((feature_distance(&x, &y, FeatureNorm::Spectral).unwrap() - 4.0).abs() < 1e-10);
        assert_eq!(
            feature_distance(&y, &Features::Dense(y.to_dense()), FeatureNorm::Spectral).unwrap(),
            0.0
        );
        let (a, b) = (
            path(2).unwrap().with_features(x).unwrap(),
            Graph::empty(2).unwrap().with_features(y).unwrap(),
        );
        let both = GraphDistance {
            alpha: 10.0,
            beta: 2.0,
            structure: StructureNorm::Hamming,
            ..Default::default()
        };
        assert_eq!(both.between(&a, &b).unwrap(), 10.0 * 2.0 + 2.0 * 5.0);
    }

    #[test]
    fn incompatible_graphs_are_refused() {
        let (a, b) = (path(3).unwrap(), path(4).unwrap());
        let e = structure_distance(&a, &b, StructureNorm::Hamming)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "structure_distance: graphs of 3 and 4 nodes cannot be compared node by node"
        );
        assert!(
            GraphDistance::default()
                .aligned(&a, &b)
                .unwrap_err()
                .to_string()
                .contains("graphs of 3 and 4 nodes")
        );
        let e = GraphDistance::default()
            .between(&a, &a)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "GraphDistance: beta is 1, but a graph has no features; set beta to 0"
        );
        let bad = GraphDistance {
            alpha: -1.0,
            ..Default::default()
        };
        assert_eq!(
            bad.between(&a, &a).unwrap_err().to_string(),
            "GraphDistance: alpha -1 must be a number of at least 0"
        );
        let nan = dense(2, 1, &[0.0, f32::NAN]);
        let e = feature_distance(&nan, &nan, FeatureNorm::Frobenius)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "feature_distance: a feature is NaN, but only numbers can be compared"
        );
        assert!(
            aligned_features(&nan, &nan)
                .unwrap_err()
                .to_string()
                .contains("a feature is NaN")
        );
        let with_nan = path(2).unwrap().with_features(nan.clone()).unwrap();
        assert!(
            GraphDistance::default()
                .aligned(&with_nan, &with_nan)
                .unwrap_err()
                .to_string()
                .contains("is NaN")
        );
        let e = feature_distance(&nan, &dense(1, 1, &[0.0]), FeatureNorm::Frobenius)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "feature_distance: features of 2 × 1 and 1 × 1 cannot be compared"
        );
        let large = Graph::empty(MAX_ALIGNED_NODES + 1).unwrap();
        let e = structure(StructureNorm::Frobenius)
            .aligned(&large, &large)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "GraphDistance::aligned: 5001 nodes, at most 5000 can be aligned"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn norms_are_metrics(
            n in 1usize..9,
            a in prop::collection::vec((0u32..9, 0u32..9), 0..25),
            b in prop::collection::vec((0u32..9, 0u32..9), 0..25),
            c in prop::collection::vec((0u32..9, 0u32..9), 0..25),
        ) {
            let (a, b, c) = (graph(n, &a), graph(n, &b), graph(n, &c));
            for norm in NORMS {
                let d = |x: &Graph, y: &Graph| structure_distance(x, y, norm).unwrap();
                prop_assert_eq!(d(&a, &a), 0.0);
                prop_assert!((d(&a, &b) - d(&b, &a)).abs() < 1e-9);
                prop_assert!(d(&a, &c) <= d(&a, &b) + d(&b, &c) + 1e-9);
                prop_assert_eq!(d(&a, &b) == 0.0, a.targets() == b.targets() && a.offsets() == b.offsets());
            }
        }

        #[test]
        fn features_alone_are_aligned_exactly(n in 1usize..7, d in 1usize..3, values in prop::collection::vec(-4i8..5, 24)) {
            let values: Vec<f32> = values.into_iter().map(f32::from).collect();
            let (x, y) = (dense(n, d, &values[..12]), dense(n, d, &values[12..]));
            let best = permutations(n)
                .iter()
                .map(|p| feature_distance(&x, &y.select_rows(p), FeatureNorm::Frobenius).unwrap())
                .fold(f64::INFINITY, f64::min);
            let found = aligned_features(&x, &y).unwrap();
            prop_assert!((found.distance - best).abs() < 1e-9, "{} against {}", found.distance, best);
            prop_assert_eq!(found.optimality, Optimality::Exact);
            let with = |x| Graph::empty(n).unwrap().with_features(x).unwrap();
            let by_graph = GraphDistance { alpha: 0.0, beta: 2.0, ..Default::default() }.aligned(&with(x), &with(y)).unwrap();
            prop_assert!((by_graph.distance - 2.0 * best).abs() < 1e-9);
            prop_assert_eq!(by_graph.optimality, Optimality::Exact);
        }

        #[test]
        fn structure_is_bounded_from_both_sides(
            n in 1usize..7,
            a in prop::collection::vec((0u32..6, 0u32..6), 0..12),
            b in prop::collection::vec((0u32..6, 0u32..6), 0..12),
            values in prop::collection::vec(-2i8..3, 12),
            beta in 0u8..3,
        ) {
            let values: Vec<f32> = values.into_iter().map(f32::from).collect();
            let a = graph(n, &a).with_features(dense(n, 1, &values[..6])).unwrap();
            let b = graph(n, &b).with_features(dense(n, 1, &values[6..])).unwrap();
            for structure in NORMS {
                let distance = GraphDistance { alpha: 1.0, beta: f64::from(beta), structure, ..Default::default() };
                let best = permutations(n)
                    .iter()
                    .map(|p| distance.between(&a, &b.subgraph(p).unwrap()).unwrap())
                    .fold(f64::INFINITY, f64::min);
                let found = distance.aligned(&a, &b).unwrap();
                prop_assert!(found.distance >= best - 1e-9, "{} below the optimum {}", found.distance, best);
                prop_assert!(found.distance <= distance.between(&a, &b).unwrap() + 1e-9);
                let again = distance.between(&a, &b.subgraph(&found.permutation).unwrap()).unwrap();
                prop_assert_eq!(found.distance, again);
                if found.optimality == Optimality::Exact { prop_assert_eq!(found.distance, 0.0); }
            }
        }
    }

    #[test]
    fn permuted_copies_are_mostly_recognised() {
        // Asymmetric graphs: FAQ recovers the permutation for nearly all of these (its authors
        // report so as well).
        let mut found = 0;
        for seed in 0..20 {
            let a = erdos_renyi(30, 0.3, seed).unwrap();
            let b = a.permute(&shuffled(30, seed)).unwrap();
            let alignment = structure(StructureNorm::Hamming).aligned(&a, &b).unwrap();
            assert_eq!(
                alignment.distance == 0.0,
                alignment.optimality == Optimality::Exact
            );
            found += usize::from(alignment.distance == 0.0);
        }
        assert!(found >= 18, "{found} of 20");
    }

    #[test]
    fn features_guide_the_match_where_structure_cannot() {
        // Every rotation of a cycle fits; one feature per node determines the rotation.
        let n = 12;
        let values: Vec<f32> = (0..n)
            .map(|i| (i * i % 7) as f32 + i as f32 / 10.0)
            .collect();
        let a = cycle(n)
            .unwrap()
            .with_features(dense(n, 1, &values))
            .unwrap();
        let order = shuffled(n, 3);
        let b = a.permute(&order).unwrap();
        let found = GraphDistance::default().aligned(&a, &b).unwrap();
        assert_eq!((found.distance, found.optimality), (0.0, Optimality::Exact));
        assert_eq!(
            found.permutation, order,
            "node u of a is node order[u] of b"
        );
    }

    #[test]
    fn alignment_helps_and_threads_do_not_matter() {
        let a = barabasi_albert(60, 2, 1).unwrap();
        let b = barabasi_albert(60, 2, 2)
            .unwrap()
            .permute(&shuffled(60, 1))
            .unwrap();
        let distance = structure(StructureNorm::Frobenius);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| distance.aligned(&a, &b).unwrap())
        };
        assert_eq!(on(1), on(3));
        assert_eq!(on(1).optimality, Optimality::UpperBound);
        assert!(
            on(1).distance < 0.85 * distance.between(&a, &b).unwrap(),
            "{}",
            on(1).distance
        );
    }

    #[test]
    fn nothing_to_align() {
        let none = Graph::empty(0).unwrap();
        let found = structure(StructureNorm::Spectral)
            .aligned(&none, &none)
            .unwrap();
        assert_eq!(
            (found.distance, found.permutation.len(), found.optimality),
            (0.0, 0, Optimality::Exact)
        );
        let one = Graph::empty(1).unwrap();
        assert_eq!(
            structure(StructureNorm::Hamming)
                .aligned(&one, &one)
                .unwrap()
                .permutation,
            [0]
        );
    }
}
