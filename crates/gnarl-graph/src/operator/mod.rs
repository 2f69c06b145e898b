//! Graph shift operators as sparse matrices: the classical ones and the fixed centrality operators
//! `V^e2 A V^e3` (CGSOs, [Abbahaddou et al. 2024](https://arxiv.org/abs/2411.04655)).
//!
//! Nodes without edges give zero rows in every operator but `A_hat`, whose self-loop remains;
//! nothing is ever NaN.
//!
//! | file | contents |
//! | --- | --- |
//! | `adjacency` | `A`, adjacency matrix |
//! | `laplacian` | `L`, Laplacian D - A |
//! | `signless_laplacian` | `Q`, signless Laplacian D + A |
//! | `random_walk_laplacian` | `L_rw`, random-walk Laplacian I - D^-1 A |
//! | `symmetric_laplacian` | `L_sym`, symmetric Laplacian I - D^-1/2 A D^-1/2 |
//! | `normalised_adjacency` | `A_hat`, normalised adjacency (D+I)^-1/2 (A+I) (D+I)^-1/2 |
//! | `mean_aggregation` | `H`, mean over neighbours D^-1 A |
//!
//! To add a classical operator: a file with a struct that implements [`ShiftOperator`], the file's
//! `mod` line, and a line in the list below.

mod adjacency;
mod laplacian;
mod mean_aggregation;
mod normalised_adjacency;
mod random_walk_laplacian;
mod signless_laplacian;
mod symmetric_laplacian;

use std::fmt;
use std::str::FromStr;

pub use self::adjacency::Adjacency;
pub use self::laplacian::Laplacian;
pub use self::mean_aggregation::MeanAggregation;
pub use self::normalised_adjacency::NormalisedAdjacency;
pub use self::random_walk_laplacian::RandomWalkLaplacian;
pub use self::signless_laplacian::SignlessLaplacian;
pub use self::symmetric_laplacian::SymmetricLaplacian;

use crate::centrality::degrees;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::CsrMatrix;

/// A classical graph shift operator, by numbers per node that follow from degrees.
pub trait ShiftOperator {
    /// Returns the sign of the adjacency matrix: -1 if the operator subtracts it.
    fn sign(&self) -> f64 {
        1.0
    }

    /// Computes the numbers per node from which the matrix and any of its rows follow. Fails for
    /// degrees whose power is needed and which are negative.
    fn factors(&self, degrees: &Degrees) -> Result<Factors>;

    /// Returns the scalars `[m1, m2, m3, e1, e2, e3, a]` for which the centrality operator
    /// `m1 V^e1 + m2 V^e2 (A + a I) V^e3 + m3 I` with V = D is this one.
    fn scalars(&self) -> [f64; 7];
}

crate::listed_choices! {
    /// A classical graph shift operator.
    ///
    /// `l-rw` is `L_rw` too, so the names are parsed by hand.
    #[derive(Eq, Hash)]
    pub enum ClassicalOperator: dyn ShiftOperator as "operator" {
        ADJACENCY = Adjacency(Adjacency),
        LAPLACIAN = Laplacian(Laplacian),
        SIGNLESS_LAPLACIAN = SignlessLaplacian(SignlessLaplacian),
        RANDOM_WALK_LAPLACIAN = RandomWalkLaplacian(RandomWalkLaplacian),
        SYMMETRIC_LAPLACIAN = SymmetricLaplacian(SymmetricLaplacian),
        NORMALISED_ADJACENCY = NormalisedAdjacency(NormalisedAdjacency),
        MEAN_AGGREGATION = MeanAggregation(MeanAggregation),
    }
}

impl ClassicalOperator {
    /// Every operator, in the order of the list.
    pub const ALL: [Self; Self::LIST.len()] = Self::DEFAULTS;

    /// Returns the operator of a graph. In a weighted graph `A` holds the weights and `D` their
    /// sums; a normalised operator fails for negative degrees.
    ///
    /// ```
    /// use gnarl_graph::{operator::ClassicalOperator, Graph};
    /// let g = Graph::from_edges(3, [(0, 1), (1, 2)])?.0;
    /// let h = ClassicalOperator::MEAN_AGGREGATION.matrix(&g)?;
    /// assert_eq!(h.row(1), (&[0, 2][..], &[0.5, 0.5][..]));
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn matrix(self, graph: &Graph) -> Result<CsrMatrix<f64>> {
        let Factors {
            diagonal,
            left,
            right,
        } = self.factors(graph)?;
        let of =
            |factor: &Option<Vec<f64>>, u: usize| factor.as_ref().map_or(1.0, |factor| factor[u]);
        let diagonal = |u: usize| diagonal.as_ref().map_or(0.0, |diagonal| diagonal[u]);
        let sign = self.method().sign();
        Ok(assemble(graph, diagonal, |u, v, w| match (&left, &right) {
            (None, None) => sign * w,
            _ => sign * (w * (of(&left, u) * of(&right, v))),
        }))
    }

    /// Computes the operator as numbers per node, without the sign of its arcs. Fails as `matrix`
    /// does. O(n + m), and three numbers per node at most.
    fn factors(self, graph: &Graph) -> Result<Factors> {
        self.method().factors(&Degrees {
            values: degrees(graph),
            operator: self.name(),
        })
    }

    /// Returns the operator by its rows, for graphs whose matrix would not fit in memory.
    pub fn rows(self, graph: &Graph) -> Result<RowFactors> {
        let Factors {
            diagonal,
            left,
            right,
        } = self.factors(graph)?;
        let narrow = |factor: Vec<f64>| factor.iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let signed = match (left, self.method().sign() < 0.0) {
            (left, false) => left.map(narrow),
            (Some(left), true) => Some(left.iter().map(|x| -*x as f32).collect()),
            (None, true) => Some(vec![-1.0; graph.num_nodes()]),
        };
        Ok(RowFactors {
            diagonal: diagonal.map(narrow),
            left: signed,
            right: right.map(narrow),
        })
    }
}

/// The degrees of a graph's nodes, and the operator that is made from them.
#[derive(Debug, Clone)]
pub struct Degrees {
    values: Vec<f64>,
    /// Name of the operator, for errors.
    operator: &'static str,
}

impl Degrees {
    /// Returns the degrees, which are sums of weights in a weighted graph.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns 1 for each node of a degree above 0, and 0 for the others.
    pub fn above_zero(&self) -> Vec<f64> {
        self.values.iter().map(|&d| f64::from(d > 0.0)).collect()
    }

    /// Returns `(degree + shift)^power` for each node, and 0 for a base of 0. Fails for a negative
    /// base.
    pub fn power(&self, power: f64, shift: f64) -> Result<Vec<f64>> {
        if let Some(u) = self.values.iter().position(|&d| d + shift < 0.0) {
            let what = format!(
                "node {u} has degree {}, {} needs degrees of at least 0",
                self.values[u], self.operator
            );
            return Err(Error::unsupported("operator", what));
        }
        // A node of degree zero has no arcs to scale, or only arcs of weight zero: any finite value
        // is fine.
        let power = |&d: &f64| {
            if d + shift > 0.0 {
                (d + shift).powf(power)
            } else {
                0.0
            }
        };
        Ok(self.values.iter().map(power).collect())
    }
}

/// Numbers per node that determine an operator, apart from the sign of its arcs: `diag(d) ± diag(l)
/// A diag(r)`. A missing d is zero, a missing l or r is one.
#[derive(Debug, Clone, Default)]
pub struct Factors {
    /// Diagonal of the operator, d.
    pub diagonal: Option<Vec<f64>>,
    /// Factor of each receiver, l.
    pub left: Option<Vec<f64>>,
    /// Factor of each sender, r.
    pub right: Option<Vec<f64>>,
}

/// An operator by its rows: `diag(d) + diag(l) A diag(r)`; a missing d is zero, a missing l or r is
/// one.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFactors {
    /// Diagonal of the operator, d.
    pub diagonal: Option<Vec<f32>>,
    /// Factor of each receiver, l.
    pub left: Option<Vec<f32>>,
    /// Factor of each sender, r.
    pub right: Option<Vec<f32>>,
}

impl RowFactors {
    /// Returns the diagonal entry of a node.
    pub fn own(&self, u: u32) -> f32 {
        self.diagonal.as_ref().map_or(0.0, |d| d[u as usize])
    }

    /// Returns the entry of an arc of this weight from `v` to `u`.
    pub fn arc(&self, u: u32, v: u32, weight: f32) -> f32 {
        let of = |factor: &Option<Vec<f32>>, u: u32| {
            factor.as_ref().map_or(1.0, |factor| factor[u as usize])
        };
        weight * of(&self.left, u) * of(&self.right, v)
    }
}

impl fmt::Display for ClassicalOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ClassicalOperator {
    type Err = Error;

    /// Parses a name, ignoring case; `l-rw` is `L_rw`.
    fn from_str(name: &str) -> Result<Self> {
        let spelled = name.replace('-', "_");
        let found = Self::all().find(|known| known.name().eq_ignore_ascii_case(&spelled));
        found.ok_or_else(|| {
            Error::unknown("operator", name, Self::LIST.iter().map(|known| known.name))
        })
    }
}

/// Returns the fixed centrality operator `V^e2 A V^e3` with `V = diag(v)`; a zero in `v` counts as
/// one.
///
/// Fails if `v` has another length, a negative or non-finite value, or a power that overflows.
pub fn centrality_operator(graph: &Graph, v: &[f64], e2: f64, e3: f64) -> Result<CsrMatrix<f64>> {
    let (left, right) = (powers(graph, v, e2)?, powers(graph, v, e3)?);
    Ok(assemble(
        graph,
        |_| 0.0,
        |u, w, weight| left[u] * weight * right[w],
    ))
}

/// Computes `v^exponent` for each node, with zeros of `v` replaced by one.
pub fn powers(graph: &Graph, v: &[f64], exponent: f64) -> Result<Vec<f64>> {
    const OP: &str = "centrality operator";
    if v.len() != graph.num_nodes() {
        return Err(Error::argument(
            OP,
            format!("{} values for {} nodes", v.len(), graph.num_nodes()),
        ));
    }
    v.iter()
        .enumerate()
        .map(|(u, &value)| {
            if value.is_nan() || value < 0.0 {
                return Err(Error::unsupported(
                    OP,
                    format!("node {u} has centrality {value}, at least 0 is needed"),
                ));
            }
            let power = if value == 0.0 {
                1.0
            } else {
                value.powf(exponent)
            };
            if power.is_finite() {
                Ok(power)
            } else {
                Err(Error::argument(
                    OP,
                    format!("node {u}: {value} to the power {exponent} is out of range"),
                ))
            }
        })
        .collect()
}

/// Assembles a matrix with the graph's pattern: `diagonal(u)` if it is not zero,
/// `entry(u, v, weight)` on each arc.
pub(crate) fn assemble(
    graph: &Graph,
    diagonal: impl Fn(usize) -> f64,
    entry: impl Fn(usize, usize, f64) -> f64,
) -> CsrMatrix<f64> {
    let n = graph.num_nodes();
    let mut offsets = Vec::with_capacity(n + 1);
    offsets.push(0u64);
    let mut indices = Vec::with_capacity(graph.num_arcs() + n);
    let mut values = Vec::with_capacity(graph.num_arcs() + n);
    for u in 0..n {
        let d = diagonal(u);
        let mut pending = d != 0.0;
        for k in graph.arc_range(u as u32) {
            let v = graph.targets()[k] as usize;
            if pending && v > u {
                indices.push(u as u32);
                values.push(d);
                pending = false;
            }
            indices.push(v as u32);
            values.push(entry(u, v, graph.arc_weight(k)));
        }
        if pending {
            indices.push(u as u32);
            values.push(d);
        }
        offsets.push(indices.len() as u64);
    }
    CsrMatrix::from_parts(n, offsets, indices, values)
}

#[cfg(test)]
mod tests {
    use super::ClassicalOperator as Op;
    use super::*;
    use crate::centrality::Centrality;
    use proptest::prelude::*;

    fn random_graph() -> impl Strategy<Value = Graph> {
        (
            1usize..12,
            prop::collection::vec((0u32..12, 0u32..12), 0..40),
        )
            .prop_map(|(n, edges)| {
                let inside = edges
                    .into_iter()
                    .filter(move |&(u, v)| (u as usize) < n && (v as usize) < n);
                Graph::from_edges(n, inside).unwrap().0
            })
    }

    proptest! {
        #[test]
        fn row_sums_symmetry_and_zero_rows(g in random_graph()) {
            for op in Op::ALL {
                let m = op.matrix(&g).unwrap();
                let asymmetric = matches!(op, Op::RANDOM_WALK_LAPLACIAN | Op::MEAN_AGGREGATION);
                if !asymmetric { prop_assert!(m.is_symmetric(), "{} is not symmetric", op); }
                let sums = m.row_sums();
                for u in 0..g.num_nodes() {
                    let d = g.degree(u as u32) as f64;
                    prop_assert!(m.row(u).1.iter().all(|x| x.is_finite()));
                    if d == 0.0 && op != Op::NORMALISED_ADJACENCY { prop_assert_eq!(m.row(u).0.len(), 0); }
                    let expected = match op {
                        Op::ADJACENCY => d,
                        Op::LAPLACIAN | Op::RANDOM_WALK_LAPLACIAN => 0.0,
                        Op::SIGNLESS_LAPLACIAN => 2.0 * d,
                        Op::MEAN_AGGREGATION => f64::from(d > 0.0),
                        Op::SYMMETRIC_LAPLACIAN | Op::NORMALISED_ADJACENCY => continue,
                    };
                    prop_assert!((sums[u] - expected).abs() < 1e-12, "{} row {}: {} against {}", op, u, sums[u], expected);
                }
            }
        }

        #[test]
        fn normalised_operators_fix_the_root_of_the_degrees(g in random_graph()) {
            // A_hat (D+I)^1/2 1 = (D+I)^1/2 1, and L_sym D^1/2 1 = 0.
            let root = |shift: f64| -> Vec<f64> { degrees(&g).iter().map(|d| (d + shift).sqrt()).collect() };
            for (y, x) in Op::NORMALISED_ADJACENCY.matrix(&g).unwrap().mul_vec(&root(1.0)).iter().zip(root(1.0)) {
                prop_assert!((y - x).abs() < 1e-12);
            }
            for y in Op::SYMMETRIC_LAPLACIAN.matrix(&g).unwrap().mul_vec(&root(0.0)) {
                prop_assert!(y.abs() < 1e-12);
            }
        }

        #[test]
        fn the_degree_operator_is_the_classical_one(g in random_graph()) {
            let v = Centrality::DEGREE.values(&g).unwrap();
            prop_assert_eq!(centrality_operator(&g, &v, -1.0, 0.0).unwrap(), Op::MEAN_AGGREGATION.matrix(&g).unwrap());
            let half = centrality_operator(&g, &v, -0.5, -0.5).unwrap();
            let l_sym = Op::SYMMETRIC_LAPLACIAN.matrix(&g).unwrap();
            for u in 0..g.num_nodes() {
                for (&w, &x) in half.row(u).0.iter().zip(half.row(u).1) {
                    prop_assert!((x + l_sym.get(u, w).unwrap()).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn complete_graph_by_hand() {
        let k3 = Graph::from_edges(3, [(0, 1), (0, 2), (1, 2)]).unwrap().0;
        let rows = |op: Op| op.matrix(&k3).unwrap().to_dense().data().to_vec();
        assert_eq!(
            rows(Op::LAPLACIAN),
            [2.0, -1.0, -1.0, -1.0, 2.0, -1.0, -1.0, -1.0, 2.0]
        );
        assert_eq!(
            rows(Op::SIGNLESS_LAPLACIAN),
            [2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0]
        );
        for x in rows(Op::NORMALISED_ADJACENCY) {
            assert!((x - 1.0 / 3.0).abs() < 1e-15);
        }
    }

    #[test]
    fn zero_centralities_count_as_one_and_bad_ones_are_refused() {
        let g = Graph::from_edges(2, [(0, 1)]).unwrap().0;
        let m = centrality_operator(&g, &[0.0, 4.0], -0.5, 2.0).unwrap();
        assert_eq!(m.to_dense().data(), [0.0, 16.0, 0.5, 0.0]);
        for bad in [
            vec![1.0],
            vec![-1.0, 1.0],
            vec![f64::NAN, 1.0],
            vec![1e300, 1.0],
        ] {
            assert!(centrality_operator(&g, &bad, 2.0, 0.0).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_round_trip() {
        for op in Op::ALL {
            assert_eq!(op.to_string().to_lowercase().parse::<Op>().unwrap(), op);
            let hyphens = op.name().replace('_', "-");
            assert_eq!(hyphens.parse::<Op>().unwrap(), op);
            assert!(!op.about().is_empty() && op.info().settings.is_empty());
        }
        assert!(
            "lsym"
                .parse::<Op>()
                .unwrap_err()
                .to_string()
                .contains("L_sym")
        );
    }
}
