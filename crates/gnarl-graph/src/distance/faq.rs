//! Fast approximate quadratic assignment (FAQ, [Vogelstein et al.
//! 2015](https://arxiv.org/abs/1112.5507)): minimises
//!
//! ```text
//! f(P) = structure · ‖A - P B Pᵀ‖² + features · Σ_ij c_ij p_ij
//! ```
//!
//! over doubly stochastic matrices by the Frank–Wolfe method from the barycentre, each step an
//! assignment problem, then goes to the nearest permutation. For a permutation `‖A - P B Pᵀ‖² =
//! ‖A‖² + ‖B‖² - 2 ⟨A P B, P⟩`, and `f` is defined by that form everywhere. One step is O(n²) and
//! an assignment.

use rayon::prelude::*;

use super::assignment;
use crate::centrality::degrees;
use crate::error::Result;
use crate::graph::Graph;
use crate::matrix::DenseMatrix;

const MAX_STEPS: usize = 100;
/// Smallest relative gain: a step with a smaller share of the possible gain ends the search.
const SMALLEST_GAIN: f64 = 1e-6;

/// Matches the nodes of `b` to the nodes of `a`, in the form of
/// [`Alignment::permutation`](super::Alignment).
pub(super) fn match_nodes(
    a: &Graph,
    b: &Graph,
    structure: f64,
    costs: Option<&DenseMatrix<f64>>,
    features: f64,
) -> Result<Vec<u32>> {
    let n = a.num_nodes();
    let linear: Vec<f64> = costs.map_or_else(
        || vec![0.0; n * n],
        |c| c.data().iter().map(|c| features * c).collect(),
    );
    // At the barycentre every entry of P is 1/n, and A P B is the outer product of the degrees over
    // n.
    let mut p = vec![1.0 / n as f64; n * n];
    let (da, db) = (degrees(a), degrees(b));
    let mut apb: Vec<f64> = da
        .iter()
        .flat_map(|x| db.iter().map(move |y| x * y / n as f64))
        .collect();
    let scale = 2.0 * structure * dot(&apb, &p).abs() + dot(&linear, &p).abs() + f64::MIN_POSITIVE;

    for _ in 0..MAX_STEPS {
        let gradient: Vec<f64> = apb
            .iter()
            .zip(&linear)
            .map(|(s, c)| c - 4.0 * structure * s)
            .collect();
        let corner = assignment(&DenseMatrix::new(n, n, gradient.clone())?)?;
        let mut direction: Vec<f64> = p.iter().map(|x| -x).collect();
        for (i, &j) in corner.iter().enumerate() {
            direction[i * n + j as usize] += 1.0;
        }
        let mut along = product_at(a, b, &corner);
        along.iter_mut().zip(&apb).for_each(|(q, s)| *q -= s);
        // f(P + t D) = f(P) + slope · t + bend · t².
        let slope = dot(&gradient, &direction);
        let bend = -2.0 * structure * dot(&along, &direction);
        let t = if bend > 0.0 {
            (-slope / (2.0 * bend)).clamp(0.0, 1.0)
        } else {
            f64::from(slope + bend < 0.0)
        };
        p.iter_mut().zip(&direction).for_each(|(x, d)| *x += t * d);
        apb.iter_mut().zip(&along).for_each(|(s, d)| *s += t * d);
        if -(slope * t + bend * t * t) <= SMALLEST_GAIN * scale {
            break;
        }
    }
    assignment(&DenseMatrix::new(n, n, p.iter().map(|x| -x).collect())?)
}

/// Computes `A P B` for the permutation matrix with ones at `(i, corner[i])`: row i sums the rows
/// of B matched to i's neighbours.
fn product_at(a: &Graph, b: &Graph, corner: &[u32]) -> Vec<f64> {
    let n = a.num_nodes();
    let mut product = vec![0.0; n * n];
    product
        .par_chunks_mut(n.max(1))
        .enumerate()
        .for_each(|(i, row)| {
            for k in a.arc_range(i as u32) {
                let stand_in = corner[a.targets()[k] as usize];
                for l in b.arc_range(stand_in) {
                    row[b.targets()[l] as usize] += a.arc_weight(k) * b.arc_weight(l);
                }
            }
        });
    product
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
