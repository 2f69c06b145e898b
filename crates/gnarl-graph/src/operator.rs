//! Graph shift operators as sparse matrices: the classical ones and the fixed centrality operators
//! `V^e2 A V^e3` (CGSOs, [Abbahaddou et al. 2024](https://arxiv.org/abs/2411.04655)).
//!
//! Nodes without edges give zero rows in every operator but `A_hat`, whose self-loop remains;
//! nothing is ever NaN.

use std::fmt;
use std::str::FromStr;

use crate::centrality::degrees;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::CsrMatrix;

/// A classical graph shift operator.
///
/// `l-rw` is `L_rw` too, so the names are parsed by hand and not by [`named!`](crate::named).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassicalOperator {
    /// `A`, the adjacency matrix.
    Adjacency,
    /// `L = D - A`, the unnormalised Laplacian.
    Laplacian,
    /// `Q = D + A`, the signless Laplacian.
    SignlessLaplacian,
    /// `L_rw = I - D⁻¹ A`, the random-walk Laplacian.
    RandomWalkLaplacian,
    /// `L_sym = I - D^-1/2 A D^-1/2`, the symmetric Laplacian.
    SymmetricLaplacian,
    /// `A_hat = (D+I)^-1/2 (A+I) (D+I)^-1/2`, the normalised adjacency of a GCN.
    NormalisedAdjacency,
    /// `H = D⁻¹ A`, the mean over neighbours.
    MeanAggregation,
}

use ClassicalOperator as Op;

impl ClassicalOperator {
    /// All seven operators.
    pub const ALL: [Op; 7] = [
        Op::Adjacency,
        Op::Laplacian,
        Op::SignlessLaplacian,
        Op::RandomWalkLaplacian,
        Op::SymmetricLaplacian,
        Op::NormalisedAdjacency,
        Op::MeanAggregation,
    ];

    /// Returns the operator of a graph. In a weighted graph `A` holds the weights and `D` their
    /// sums; a normalised operator fails for negative degrees.
    ///
    /// ```
    /// use gnarl_graph::{operator::ClassicalOperator, Graph};
    /// let g = Graph::from_edges(3, [(0, 1), (1, 2)])?.0;
    /// let h = ClassicalOperator::MeanAggregation.matrix(&g)?;
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
        let sign = self.sign();
        Ok(assemble(graph, diagonal, |u, v, w| match (&left, &right) {
            (None, None) => sign * w,
            _ => sign * (w * (of(&left, u) * of(&right, v))),
        }))
    }

    fn sign(self) -> f64 {
        match self {
            Op::Laplacian | Op::RandomWalkLaplacian | Op::SymmetricLaplacian => -1.0,
            _ => 1.0,
        }
    }

    /// Computes the operator as numbers per node, from which [`matrix`](Self::matrix) and any of
    /// its rows follow, without the sign of its arcs. Fails as `matrix` does. O(n + m), and three
    /// numbers per node at most.
    fn factors(self, graph: &Graph) -> Result<Factors> {
        let degree = degrees(graph);
        let inverse = |power: f64, shift: f64| -> Result<Vec<f64>> {
            if let Some(u) = degree.iter().position(|&d| d + shift < 0.0) {
                let what = format!(
                    "node {u} has degree {}, {self} needs degrees of at least 0",
                    degree[u]
                );
                return Err(Error::unsupported("operator", what));
            }
            // A node of degree zero has no arcs to scale, or only arcs of weight zero: any finite
            // value is fine.
            Ok(degree
                .iter()
                .map(|&d| {
                    if d + shift > 0.0 {
                        (d + shift).powf(power)
                    } else {
                        0.0
                    }
                })
                .collect())
        };
        let is_there = || degree.iter().map(|&d| f64::from(d > 0.0)).collect();
        let plain = Factors {
            diagonal: None,
            left: None,
            right: None,
        };
        Ok(match self {
            Op::Adjacency => plain,
            Op::Laplacian | Op::SignlessLaplacian => Factors {
                diagonal: Some(degree.clone()),
                ..plain
            },
            Op::RandomWalkLaplacian => Factors {
                diagonal: Some(is_there()),
                left: Some(inverse(-1.0, 0.0)?),
                ..plain
            },
            Op::SymmetricLaplacian => {
                let d = inverse(-0.5, 0.0)?;
                Factors {
                    diagonal: Some(is_there()),
                    left: Some(d.clone()),
                    right: Some(d),
                }
            }
            Op::NormalisedAdjacency => {
                let d = inverse(-0.5, 1.0)?;
                Factors {
                    diagonal: Some(d.iter().map(|d| d * d).collect()),
                    left: Some(d.clone()),
                    right: Some(d),
                }
            }
            Op::MeanAggregation => Factors {
                left: Some(inverse(-1.0, 0.0)?),
                ..plain
            },
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
        let signed = match (left, self.sign() < 0.0) {
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

/// Numbers per node that determine an operator, apart from the sign of its arcs.
struct Factors {
    diagonal: Option<Vec<f64>>,
    left: Option<Vec<f64>>,
    right: Option<Vec<f64>>,
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
        f.write_str(match self {
            Op::Adjacency => "A",
            Op::Laplacian => "L",
            Op::SignlessLaplacian => "Q",
            Op::RandomWalkLaplacian => "L_rw",
            Op::SymmetricLaplacian => "L_sym",
            Op::NormalisedAdjacency => "A_hat",
            Op::MeanAggregation => "H",
        })
    }
}

impl FromStr for ClassicalOperator {
    type Err = Error;

    /// Parses `A`, `L`, `Q`, `L_rw`, `L_sym`, `A_hat` or `H`, ignoring case; `l-rw` is `L_rw`.
    fn from_str(name: &str) -> Result<Self> {
        let spelled = name.replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|op| op.to_string().eq_ignore_ascii_case(&spelled))
            .ok_or_else(|| {
                Error::unknown(
                    "operator",
                    name,
                    ["A", "L", "Q", "L_rw", "L_sym", "A_hat", "H"],
                )
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
                let asymmetric = matches!(op, Op::RandomWalkLaplacian | Op::MeanAggregation);
                if !asymmetric { prop_assert!(m.is_symmetric(), "{} is not symmetric", op); }
                let sums = m.row_sums();
                for u in 0..g.num_nodes() {
                    let d = g.degree(u as u32) as f64;
                    prop_assert!(m.row(u).1.iter().all(|x| x.is_finite()));
                    if d == 0.0 && op != Op::NormalisedAdjacency { prop_assert_eq!(m.row(u).0.len(), 0); }
                    let expected = match op {
                        Op::Adjacency => d,
                        Op::Laplacian | Op::RandomWalkLaplacian => 0.0,
                        Op::SignlessLaplacian => 2.0 * d,
                        Op::MeanAggregation => f64::from(d > 0.0),
                        Op::SymmetricLaplacian | Op::NormalisedAdjacency => continue,
                    };
                    prop_assert!((sums[u] - expected).abs() < 1e-12, "{} row {}: {} against {}", op, u, sums[u], expected);
                }
            }
        }

        #[test]
        fn normalised_operators_fix_the_root_of_the_degrees(g in random_graph()) {
            // A_hat (D+I)^1/2 1 = (D+I)^1/2 1, and L_sym D^1/2 1 = 0.
            let root = |shift: f64| -> Vec<f64> { degrees(&g).iter().map(|d| (d + shift).sqrt()).collect() };
            for (y, x) in Op::NormalisedAdjacency.matrix(&g).unwrap().mul_vec(&root(1.0)).iter().zip(root(1.0)) {
                prop_assert!((y - x).abs() < 1e-12);
            }
            for y in Op::SymmetricLaplacian.matrix(&g).unwrap().mul_vec(&root(0.0)) {
                prop_assert!(y.abs() < 1e-12);
            }
        }

        #[test]
        fn the_degree_operator_is_the_classical_one(g in random_graph()) {
            let v = Centrality::Degree.values(&g).unwrap();
            prop_assert_eq!(centrality_operator(&g, &v, -1.0, 0.0).unwrap(), Op::MeanAggregation.matrix(&g).unwrap());
            let half = centrality_operator(&g, &v, -0.5, -0.5).unwrap();
            let l_sym = Op::SymmetricLaplacian.matrix(&g).unwrap();
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
            rows(Op::Laplacian),
            [2.0, -1.0, -1.0, -1.0, 2.0, -1.0, -1.0, -1.0, 2.0]
        );
        assert_eq!(
            rows(Op::SignlessLaplacian),
            [2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0]
        );
        for x in rows(Op::NormalisedAdjacency) {
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
