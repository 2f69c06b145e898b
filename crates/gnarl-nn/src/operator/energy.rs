//! Dirichlet energy by depth: the remaining differences along edges after k propagation steps,
//! `Φ^k X`.

use gnarl_graph::properties::{DirichletEnergy, dirichlet_energy};
use gnarl_graph::{CsrMatrix, DenseMatrix, Graph};
use serde::Serialize;

use crate::networks::Input;
use gnarl_graph::Result;
use gnarl_tensor::{Device, Operator, Tensor};

/// Energy after a number of propagation steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DepthEnergy {
    /// Number of propagation steps.
    pub depth: usize,
    /// Energy of `Φ^depth X`, with rows divided by `sqrt(1 + degree)`.
    pub energy: f64,
    /// Energy divided by `‖Φ^depth X‖²`, which is invariant to a scaling of Φ.
    pub relative: f64,
}

/// Columns of X processed at a time: sparse features never become dense as a whole.
const COLUMNS: usize = 64;

/// Computes the Dirichlet energy of `Φ^k X` for k = 0 to `depth`, in f64. O(depth · entries ·
/// features).
///
/// If powers of an operator leave the range of f64, the rest of the list is infinite or NaN.
pub fn energy_by_depth(
    graph: &Graph,
    operator: &Operator,
    input: &Input,
    depth: usize,
) -> Result<Vec<DepthEnergy>> {
    let pattern = operator.pattern();
    let values = operator.values()?.flatten_all()?.to_vec1::<f32>()?;
    let offsets = pattern.offsets().iter().map(|&o| o as u64).collect();
    let phi = CsrMatrix::new(
        pattern.num_cols(),
        offsets,
        pattern.indices().to_vec(),
        values,
    )?
    .map(f64::from);
    let (nodes, features) = (input.num_rows(), input.dim());
    let mut energies = vec![0.0; depth + 1];
    let mut norms = vec![0.0; depth + 1];
    for first in (0..features).step_by(COLUMNS) {
        let width = COLUMNS.min(features - first);
        let mut block = columns(input, first, width)?;
        for k in 0..=depth {
            if k > 0 {
                block = product(&phi, &block);
            }
            energies[k] += dirichlet_energy(graph, &block, DirichletEnergy::Normalised)?;
            norms[k] += block.data().iter().map(|x| x * x).sum::<f64>();
        }
        debug_assert_eq!(block.num_rows(), nodes);
    }
    let relative = |k: usize| {
        if norms[k] > 0.0 {
            energies[k] / norms[k]
        } else {
            0.0
        }
    };
    Ok((0..=depth)
        .map(|k| DepthEnergy {
            depth: k,
            energy: energies[k],
            relative: relative(k),
        })
        .collect())
}

fn columns(input: &Input, first: usize, width: usize) -> Result<DenseMatrix<f64>> {
    let (nodes, features) = (input.num_rows(), input.dim());
    let mut select = vec![0f32; features * width];
    (0..width).for_each(|c| select[(first + c) * width + c] = 1.0);
    let block = input.matmul(
        &Tensor::from_vec(select, (features, width), &Device::Cpu)?,
        None,
    )?;
    let data = block
        .flatten_all()?
        .to_vec1::<f32>()?
        .into_iter()
        .map(f64::from)
        .collect();
    DenseMatrix::new(nodes, width, data)
}

fn product(phi: &CsrMatrix<f64>, x: &DenseMatrix<f64>) -> DenseMatrix<f64> {
    let mut out = DenseMatrix::zeros(phi.num_rows(), x.num_cols());
    for u in 0..phi.num_rows() {
        let (targets, values) = phi.row(u);
        let row = out.row_mut(u);
        for (&v, value) in targets.iter().zip(values) {
            for (o, x) in row.iter_mut().zip(x.row(v as usize)) {
                *o += value * x;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::layer::classical;
    use gnarl_graph::operator::ClassicalOperator;

    /// On one edge A_hat is 1/2 everywhere: the two rows are equal after one step, and stay
    /// constant.
    #[test]
    fn one_edge_by_hand() {
        let edge = Graph::from_edges(2, [(0, 1)]).unwrap().0;
        let x = Input::Dense(Tensor::new(&[[1f32, 0.0], [3.0, 0.0]], &Device::Cpu).unwrap());
        let a_hat = classical(&edge, ClassicalOperator::NORMALISED_ADJACENCY).unwrap();
        let energies = energy_by_depth(&edge, &a_hat, &x, 2).unwrap();
        // (1/√2 - 3/√2)² = 2, with a squared norm of 10.
        assert_eq!(energies.len(), 3);
        assert!(
            (energies[0].energy - 2.0).abs() < 1e-12 && (energies[0].relative - 0.2).abs() < 1e-12
        );
        assert!(energies[1].energy.abs() < 1e-12 && energies[2].energy.abs() < 1e-12);
        // A swaps the two rows: nothing is lost.
        let a = classical(&edge, ClassicalOperator::ADJACENCY).unwrap();
        let energies = energy_by_depth(&edge, &a, &x, 3).unwrap();
        assert!(energies.iter().all(|e| (e.energy - 2.0).abs() < 1e-12));
    }
}
