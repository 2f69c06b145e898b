//! Bounds the size and the change of a classical operator over all graphs within some flips of
//! edges. The change affects only columns of the ends of flips and of their neighbours.

use gnarl_graph::Graph;
use gnarl_graph::operator::ClassicalOperator as Op;

use super::operators::absolute;
use super::total;
use crate::classifier::WhiteBox;
use gnarl_nn::networks::DefaultOperator;
use gnarl_nn::operator::OperatorChoice;

/// The graphs that flips lead to.
#[derive(Debug, Clone)]
pub(super) struct Structure {
    operator: Op,
    /// The largest degree.
    pub most: f64,
    /// An upper bound on `||Φ||_2`.
    pub norm: f64,
    /// Neighbours of each node, itself included.
    neighbourhoods: Vec<Vec<u32>>,
}

/// Size and change of the operator over all graphs within a budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct OperatorChange {
    /// `||Φ'||_2` and `||Φ' - Φ||_2`.
    pub spectral: [f64; 2],
    /// The largest absolute row sums of both.
    pub rows: [f64; 2],
}

impl Structure {
    pub fn new(model: &WhiteBox, graph: &Graph) -> std::result::Result<Self, String> {
        let backbone = model.network().config().backbone;
        let operator = match (model.operator(), backbone.default_operator()) {
            (OperatorChoice::Classical(op), _)
            | (OperatorChoice::Default, DefaultOperator::Classical(op)) => op,
            _ => return Err(
                "flips under an operator that is learned from centralities: they change everywhere"
                    .into(),
            ),
        };
        if model.reads_degrees() {
            return Err(
                "flips where node degrees are the features: features change with the edges".into(),
            );
        }
        if graph.weights().is_some() {
            return Err("flips in a weighted graph".into());
        }
        let propagation = model.propagation(graph).map_err(|e| e.to_string())?;
        let size = absolute(&propagation.operator).map_err(|e| e.to_string())?;
        let norm = if symmetric(operator) {
            size.radius()
        } else {
            size.by_sums()
        };
        let nodes = 0..graph.num_nodes() as u32;
        let most = nodes.clone().map(|u| graph.degree(u)).max().unwrap_or(0) as f64;
        let neighbourhoods = nodes
            .map(|u| {
                graph
                    .neighbours(u)
                    .iter()
                    .copied()
                    .chain([u])
                    .collect::<Vec<_>>()
            })
            .collect();
        Ok(Self {
            operator,
            most,
            norm,
            neighbourhoods,
        })
    }

    /// Upper bound on `||Φ||_2` on any graph.
    pub fn most_norm(&self) -> f64 {
        match self.operator {
            Op::NORMALISED_ADJACENCY => 1.0,
            Op::SYMMETRIC_LAPLACIAN => 2.0,
            _ => f64::INFINITY,
        }
    }

    /// Bounds size and change of the operator over all graphs within `flips` flips.
    ///
    /// The spectral norm of a signed adjacency matrix of r edges is at most that of the unsigned
    /// one, `(sqrt(8r + 1) - 1) / 2` (Stanley 1987). A Laplacian, with or without signs, is a sum
    /// of positive semidefinite matrices, one for each edge. Its change therefore lies between the
    /// changes of the removed and of the added edges; for r edges it is at most the largest
    /// `d_u + d_v` of an edge, `r + 1`. `A_hat` lies in [-1, 1] and `L_sym` in [0, 2], so either
    /// changes by at most 2. Rows of H are distributions or zero.
    pub fn operator_change(&self, flips: usize) -> OperatorChange {
        let r = flips as f64;
        let most = self.most + r;
        let (norm, change) = (self.norm, |c: f64| if flips == 0 { 0.0 } else { c });
        let stanley = ((8.0 * r + 1.0).sqrt() - 1.0) / 2.0;
        let (spectral, rows) = match self.operator {
            Op::ADJACENCY => ([norm + stanley, stanley], [most, r]),
            Op::LAPLACIAN | Op::SIGNLESS_LAPLACIAN => {
                ([norm + r + 1.0, r + 1.0], [2.0 * most, 2.0 * r])
            }
            Op::NORMALISED_ADJACENCY => {
                ([1.0, 2.0], [(most + 1.0).sqrt(), 2.0 * (most + 1.0).sqrt()])
            }
            Op::SYMMETRIC_LAPLACIAN => ([2.0, 2.0], [1.0 + most.sqrt(), 2.0 * (1.0 + most.sqrt())]),
            Op::RANDOM_WALK_LAPLACIAN => {
                ([1.0 + most.sqrt(), 2.0 * (1.0 + most.sqrt())], [2.0, 2.0])
            }
            Op::MEAN_AGGREGATION => ([most.sqrt(), 2.0 * most.sqrt()], [1.0, 2.0]),
        };
        OperatorChange {
            spectral: [spectral[0], change(spectral[1])],
            rows: [rows[0], change(rows[1])],
        }
    }

    /// Upper bound on `||(Φ' - Φ) P||`, Frobenius, for a P whose rows have these norms.
    ///
    /// Only columns of the ends of flips change and, if an operator divides by degrees, columns of
    /// their neighbours. For `A_hat` the bound is tighter. With T the ends and τ_x the relative
    /// change of `1 / sqrt(degree + 1)`, entries between T and the rest change by `τ_x` times their
    /// value. Entries within T stay in a matrix of norm 1, all others stay: the change is at most
    /// `2 ||P_T|| + ||τ Â P|| + ||τ P_T||` over rows in T.
    pub fn change(&self, messages: &[f64], flips: usize) -> f64 {
        let by_degree = !matches!(
            self.operator,
            Op::ADJACENCY | Op::LAPLACIAN | Op::SIGNLESS_LAPLACIAN
        );
        let held = |near: &Vec<u32>| {
            if by_degree {
                near.iter().map(|&v| messages[v as usize].powi(2)).sum()
            } else {
                near.last().map_or(0.0, |&u| messages[u as usize].powi(2))
            }
        };
        let touched = largest(self.neighbourhoods.iter().map(held), 2 * flips).min(total(messages));
        let whole = self.operator_change(flips).spectral[1] * touched;
        if self.operator != Op::NORMALISED_ADJACENCY {
            return whole;
        }
        let size = |u: usize| self.neighbourhoods[u].len() as f64;
        let turned = |u: usize| {
            let (now, flips) = (size(u), flips as f64);
            let (added, removed) = (
                1.0 - (now / (now + flips)).sqrt(),
                (now / (now - flips).max(1.0)).sqrt() - 1.0,
            );
            added.max(removed)
        };
        let from_others = |u: usize| -> f64 {
            let others = self.neighbourhoods[u]
                .iter()
                .map(|&v| v as usize)
                .filter(|&v| v != u);
            others
                .map(|v| messages[v] / (size(u) * size(v)).sqrt())
                .sum()
        };
        let over = |of: &dyn Fn(usize) -> f64| {
            largest((0..messages.len()).map(|u| of(u).powi(2)), 2 * flips)
        };
        let by_parts = 2.0 * over(&|u| messages[u])
            + over(&|u| turned(u) * from_others(u))
            + over(&|u| turned(u) * messages[u]);
        whole.min(by_parts)
    }
}

/// The root of the sum of the `count` largest squares.
fn largest(squares: impl Iterator<Item = f64>, count: usize) -> f64 {
    let mut squares: Vec<f64> = squares.collect();
    squares.sort_unstable_by(|a, b| b.total_cmp(a));
    squares.iter().take(count).sum::<f64>().sqrt()
}

/// Returns true if an operator of an undirected graph is a symmetric matrix.
fn symmetric(operator: Op) -> bool {
    !matches!(operator, Op::RANDOM_WALK_LAPLACIAN | Op::MEAN_AGGREGATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of three nodes.
    fn path(operator: Op) -> Structure {
        Structure {
            operator,
            most: 2.0,
            norm: 2f64.sqrt(),
            neighbourhoods: vec![vec![1, 0], vec![0, 2, 1], vec![1, 2]],
        }
    }

    /// One edge has the adjacency matrix of norm 1 and the Laplacian of norm 2; without flips
    /// nothing changes.
    #[test]
    fn one_flip_by_hand() {
        let adjacency = path(Op::ADJACENCY);
        assert_eq!(
            adjacency.operator_change(1).spectral,
            [2f64.sqrt() + 1.0, 1.0]
        );
        assert_eq!(adjacency.operator_change(1).rows, [3.0, 1.0]);
        assert_eq!(path(Op::LAPLACIAN).operator_change(1).spectral[1], 2.0);
        // The flip meets the two largest of the messages 3, 4 and 12.
        assert!((adjacency.change(&[3.0, 4.0, 12.0], 1) - 160f64.sqrt()).abs() < 1e-12);
        for operator in Op::ALL {
            assert_eq!(
                path(operator).operator_change(0).spectral[1],
                0.0,
                "{operator}"
            );
            assert_eq!(
                path(operator).change(&[3.0, 4.0, 12.0], 0),
                0.0,
                "{operator}"
            );
        }
    }
}
