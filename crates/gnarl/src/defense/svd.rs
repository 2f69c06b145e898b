//! GCN-SVD (Entezari et al. 2020, "All You Need Is Low (Rank)"): attacks mostly add to the small singular values of an adjacency, so a
//! model sees the largest alone.
//!
//! `A_k = U Λ Uᵀ` from the k eigenvalues of largest size, which for a symmetric matrix is the truncated singular value decomposition, and messages travel
//! by `D^-1/2 (A_k + I) D^-1/2` with D its own row sums, as in DeepRobust. Entries of A_k may be negative and stay so; a row sum below 1/2 counts as
//! 1/2, where DeepRobust's would give no number. Nothing of nodes squared is ever there: the operator is applied as its factors. Of fewer nodes than k all
//! eigenvalues are taken; of two of one size, such as those of a bipartite part, either.
//!
//! An attacker sees through it by a stand-in: with U held as it is for the weights at hand and `P = U Uᵀ`, `A_k(w) = P A(w) + A(w) P - P A(w) P`, which is A_k there. Its
//! slope has how the eigenvectors turn, too, to first order and with the eigenvalues that were cut off taken for zero beside those that are kept.

use std::sync::Arc;

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::spectrum::{EigenSettings, Which, sparse_eigenpairs};
use gnarl_graph::{CsrMatrix, Graph};
use serde::{Deserialize, Serialize};

use super::{Purify, nonzero};
use crate::classifier::{Filter, Relaxed, SeeThrough, Travel};
use crate::error::Result;
use crate::nn::Propagation;
use crate::perturb::Pair;
use crate::tensor::{DType, Device, Operator, Tensor};

/// The adjacency's largest singular values alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Svd {
    /// How many are kept. DeepRobust's default is 50.
    pub rank: usize,
}

impl Default for Svd {
    fn default() -> Self {
        Self { rank: 50 }
    }
}

impl Choice for Svd {
    const NAME: &'static str = "svd";
    const ABOUT: &'static str = "the adjacency's largest singular values alone (GCN-SVD)";
    const SETTINGS: &'static [Setting] =
        &[Setting::new("rank", "K", "singular values that are kept [default: 50]").flag("svd-rank")];

    fn check(&self) -> gnarl_graph::Result<()> {
        match self.rank {
            0 => Err(gnarl_graph::Error::argument("svd", "a rank of 0 leaves no edge; at least 1 is needed")),
            _ => Ok(()),
        }
    }
}

/// Eigenvectors are as exact as single precision can tell.
const TOLERANCE: f64 = 1e-6;
/// The least that a row sum counts as.
const LEAST_SUM: f64 = 0.5;

impl Purify for Svd {
    fn purified(&self, graph: &Graph) -> Result<Graph> {
        self.check()?;
        Ok(graph.clone())
    }

    fn travel(&self) -> Option<Arc<dyn Travel>> {
        Some(Arc::new(*self))
    }

    fn see_through(&self) -> Option<&dyn SeeThrough> {
        Some(self)
    }
}

impl Travel for Svd {
    fn propagation(&self, graph: &Graph) -> Result<Propagation> {
        let (vectors, values) = self.eigenpairs(&ClassicalOperator::Adjacency.matrix(graph)?)?;
        let rank = values.len();
        let left = vectors.broadcast_mul(&Tensor::from_vec(values, (1, rank), &Device::Cpu)?)?;
        Ok(normalised(&left, &vectors.t()?.contiguous()?)?.into())
    }
}

impl SeeThrough for Svd {
    fn ready<'a>(&'a self, graph: &'a Graph, relaxed: &Relaxed) -> Result<Filter<'a>> {
        let candidates: Vec<Pair> = relaxed.pairs()[relaxed.num_edges()..].to_vec();
        let adjacency = Relaxed::new(graph, ClassicalOperator::Adjacency, &candidates)?;
        Ok(Box::new(move |_, weights| {
            let operator = adjacency.operator_of(weights)?;
            let (vectors, _) = self.eigenpairs(&nonzero(&operator)?)?;
            // A U: with C = Uᵀ A U, P A + A P - P A P = U (A U)ᵀ + (A U - U C) Uᵀ.
            let moved = operator.apply(&vectors)?;
            let turned = (&moved - vectors.matmul(&vectors.t()?.matmul(&moved)?)?)?;
            let left = Tensor::cat(&[&vectors, &turned], 1)?;
            let right = Tensor::cat(&[&moved.t()?.contiguous()?, &vectors.t()?.contiguous()?], 0)?;
            Ok(normalised(&left, &right)?.into())
        }))
    }

    fn how(&self) -> &'static str {
        "by a stand-in: the singular vectors are found anew at every step, and how they turn is taken to first order"
    }
}

impl Svd {
    /// Eigenvectors, `[nodes, rank]`, and eigenvalues of largest size.
    fn eigenpairs(&self, adjacency: &CsrMatrix<f64>) -> Result<(Tensor, Vec<f32>)> {
        self.check()?;
        let rank = self.rank.min(adjacency.num_rows());
        let settings = EigenSettings { tolerance: TOLERANCE, ..EigenSettings::default() };
        let found = sparse_eigenpairs(adjacency, rank, Which::LargestMagnitude, &settings)?;
        let vectors = found.vectors.data().iter().map(|&v| v as f32).collect();
        let vectors = Tensor::from_vec(vectors, (found.vectors.num_rows(), found.vectors.num_cols()), &Device::Cpu)?;
        Ok((vectors, found.values.iter().map(|&v| v as f32).collect()))
    }
}

/// `D^-1/2 (L R + I) D^-1/2`.
fn normalised(left: &Tensor, right: &Tensor) -> Result<Operator> {
    let (nodes, _) = left.dims2()?;
    let sums = (left.matmul(&right.matmul(&Tensor::ones((nodes, 1), DType::F32, &Device::Cpu)?)?)? + 1.0)?;
    let sums = sums.ge(LEAST_SUM)?.where_cond(&sums, &sums.affine(0.0, LEAST_SUM)?)?;
    let scale = sums.powf(-0.5)?;
    let right = right.broadcast_mul(&scale.reshape((1, nodes))?)?;
    Ok(Operator::low_rank(&left.broadcast_mul(&scale)?, &right, &scale.sqr()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::assert_close;
    use crate::perturb::flipped;
    use gnarl_graph::generate::erdos_renyi;

    fn dense(operator: &Operator) -> Vec<f32> {
        let eye = Tensor::eye(operator.num_cols(), DType::F32, &Device::Cpu).unwrap();
        operator.apply(&eye).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    }

    /// A triangle: eigenvalues 2, -1, -1. Of rank one A_1 is 2/3 everywhere and row sums plus one are 3.
    #[test]
    fn a_triangle_by_hand() {
        let triangle = Graph::from_edges(3, [(0, 1), (0, 2), (1, 2)]).unwrap().0;
        let found = dense(&Svd { rank: 1 }.propagation(&triangle).unwrap().operator);
        assert_close(&found[..4], &[5.0 / 9.0, 2.0 / 9.0, 2.0 / 9.0, 2.0 / 9.0], 1e-5, "of rank one");
        let whole = dense(&Svd { rank: 9 }.propagation(&triangle).unwrap().operator);
        let a_hat = dense(&crate::nn::layer::classical(&triangle, ClassicalOperator::NormalisedAdjacency).unwrap());
        assert_close(&whole, &a_hat, 1e-5, "all of it");
    }

    #[test]
    fn whole_weights_give_the_operator_of_the_flipped_graph() {
        let graph = erdos_renyi(30, 0.2, 3).unwrap();
        let candidates: Vec<Pair> = (0..29).map(|u| (u, u + 1)).filter(|&(u, v)| !graph.has_edge(u, v)).collect();
        let relaxed = Relaxed::new(&graph, ClassicalOperator::NormalisedAdjacency, &candidates).unwrap();
        let svd = Svd { rank: 6 };
        let filter = svd.ready(&graph, &relaxed).unwrap();
        let flips: Vec<f32> = (0..relaxed.pairs().len()).map(|i| f32::from(u8::from(i % 5 == 0))).collect();
        let chosen: Vec<Pair> = relaxed.pairs().iter().copied().step_by(5).collect();
        let flips = Tensor::from_vec(flips, relaxed.pairs().len(), &Device::Cpu).unwrap();
        let found = filter(&relaxed, &relaxed.weights(&flips).unwrap()).unwrap().operator;
        let expected = svd.propagation(&flipped(&graph, &chosen).unwrap()).unwrap().operator;
        assert_close(&dense(&found), &dense(&expected), 1e-4, "flipped");
    }

    /// Of rank one of a graph whose other eigenvalues are small beside the first, the slope of the stand-in is nearly that of A_1 itself, which turns
    /// with every edge.
    #[test]
    fn slopes_have_how_singular_vectors_turn() {
        let all: Vec<Pair> = (0..9).flat_map(|u| (u + 1..9).map(move |v| (u, v))).collect();
        let edges = all.iter().copied().filter(|&pair| ![(0, 1), (2, 5), (3, 8)].contains(&pair));
        let graph = Graph::from_edges(9, edges).unwrap().0;
        let relaxed = Relaxed::new(&graph, ClassicalOperator::NormalisedAdjacency, &[(0, 1), (2, 5), (3, 8)]).unwrap();
        let svd = Svd { rank: 1 };
        let filter = svd.ready(&graph, &relaxed).unwrap();
        let x = crate::tensor::testing::random(&[9, 2], 4);
        let weights = |at: usize, by: f32| -> Vec<f32> {
            let count = relaxed.pairs().len();
            (0..count)
                .map(|i| (if i < relaxed.num_edges() { 1.0 } else { 0.0 }) + if i == at { by } else { 0.0 })
                .collect()
        };
        let count = relaxed.pairs().len();
        let value =
            |w: &Tensor| filter(&relaxed, w).unwrap().operator.apply(&x).unwrap().sqr().unwrap().sum_all().unwrap();
        let start = Tensor::from_vec(weights(count, 0.0), count, &Device::Cpu).unwrap();
        let var = crate::tensor::Var::from_tensor(&start).unwrap();
        let slopes = value(var.as_tensor()).backward().unwrap().get(&var).unwrap().to_vec1::<f32>().unwrap();
        // The value itself is that of A_1 found anew, whatever the slope leaves out.
        let moved = |at: usize, by: f32| {
            let w = Tensor::from_vec(weights(at, by), count, &Device::Cpu).unwrap();
            value(&w).to_scalar::<f32>().unwrap()
        };
        let differences: Vec<f32> = (0..count).map(|i| (moved(i, 0.05) - moved(i, -0.05)) / 0.1).collect();
        let largest = differences.iter().fold(0f32, |m, d| m.max(d.abs()));
        for (at, (slope, difference)) in slopes.iter().zip(&differences).enumerate() {
            assert!((slope - difference).abs() < 0.35 * largest, "pair {at}: {slope}, not {difference}");
        }
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let cosine =
            product(&slopes, &differences) / (product(&slopes, &slopes) * product(&differences, &differences)).sqrt();
        assert!(cosine > 0.95, "a cosine of {cosine}");
    }

    /// Of full rank nothing is held: slopes are those of differences.
    #[test]
    fn gradients_reach_weights() {
        let graph = erdos_renyi(8, 0.5, 3).unwrap();
        let relaxed = Relaxed::new(&graph, ClassicalOperator::NormalisedAdjacency, &[]).unwrap();
        let svd = Svd { rank: 8 };
        let filter = svd.ready(&graph, &relaxed).unwrap();
        let x = crate::tensor::testing::random(&[8, 2], 4);
        let weights = (crate::tensor::testing::random(&[relaxed.pairs().len()], 5) * 0.2).unwrap();
        crate::tensor::testing::check_gradients(&[(weights + 0.7).unwrap()], |v| {
            filter(&relaxed, &v[0]).map_err(|e| crate::tensor::Error::msg(e.to_string()))?.operator.apply(&x)
        });
    }

    #[test]
    fn graphs_without_edges_and_a_rank_of_nothing() {
        let empty = Graph::empty(3).unwrap();
        assert_close(&dense(&Svd::default().propagation(&empty).unwrap().operator)[..2], &[1.0, 0.0], 1e-6, "itself");
        let e = Svd { rank: 0 }.purified(&empty).unwrap_err().to_string();
        assert!(e.contains("a rank of 0") && !e.contains('\n'), "{e}");
    }
}
