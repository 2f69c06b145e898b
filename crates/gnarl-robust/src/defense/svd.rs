//! GCN-SVD (Entezari et al. 2020, "All You Need Is Low (Rank)",
//! [doi:10.1145/3336191.3371789](https://doi.org/10.1145/3336191.3371789)): the adjacency is replaced
//! by its truncated singular value decomposition. Attacks mostly add to the small singular values.
//!
//! `A_k = U Λ Uᵀ` has the k eigenvalues of largest absolute value; for a symmetric matrix it is the
//! truncated singular value decomposition. The propagation operator is `D^-1/2 (A_k + I) D^-1/2`
//! with D its own row sums, as in DeepRobust. Entries of A_k may be negative and stay so. A row sum
//! below a minimum counts as that minimum, 1/2 by default: DeepRobust divides by the root of a
//! negative number there, and the code of Mujkanovic et al. (2022,
//! [arXiv:2301.13694](https://arxiv.org/abs/2301.13694)) has 1e-5. With 1e-5 one node whose row sum
//! an attacker has made negative drowns all others, and the defence is gone. The operator is
//! applied in factors; no matrix of nodes squared is stored. If there are fewer than k nodes, all
//! eigenvalues are used. If two eigenvalues have the same size, as in a bipartite part, either may
//! be kept.
//!
//! Gradients of an adaptive attack go through a differentiable approximation. With U constant at
//! the current weights and `P = U Uᵀ`, it is `A_k(w) = P A(w) + A(w) P - P A(w) P`, which equals A_k
//! there. Its gradient includes the rotation of the eigenvectors to first order, with the truncated
//! eigenvalues taken for zero. If a kept λ and a truncated μ are close, a small change rotates one
//! eigenvector into the other, which breaks this defence. So for the first k truncated eigenvectors
//! V with eigenvalues μ, the approximation adds `U (G ∘ C) Vᵀ` and its transpose, with
//! `C = Uᵀ A(w) V`, which is zero there, and `G = μ / (λ - μ)`: their part of the gradient is exact.

use std::sync::Arc;

use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::settings::{Choice, Settings};
use gnarl_graph::spectrum::{EigenSettings, Which, sparse_eigenpairs};
use gnarl_graph::{CsrMatrix, Graph};
use serde::{Deserialize, Serialize};

use super::{Preprocess, nonzero};
use crate::classifier::{Differentiable, Filter, OperatorOverride, Relaxed};
use crate::perturb::Pair;
use gnarl_graph::Result;
use gnarl_nn::networks::Propagation;
use gnarl_tensor::{DType, Device, Operator, Tensor};

/// Keeps the largest singular values of the adjacency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "svd",
    about = "low-rank adjacency by truncated SVD (GCN-SVD)",
    constant
)]
pub struct Svd {
    /// Number of singular values that are kept.
    ///
    /// 50 is the default of DeepRobust.
    #[setting(default = 50, range = 1.., flag = "svd-rank")]
    pub rank: usize,
    /// Minimum degree, the smallest value that a row sum of the low-rank adjacency counts as.
    ///
    /// It bounds the weight of a node whose kept entries sum to less than zero. With 1/2 no node
    /// has more than twice the weight of an isolated node.
    #[setting(
        default = 0.5,
        above = 0.0,
        range = ..=1.0,
        flag = "svd-min-degree",
        was = "floor"
    )]
    pub min_degree: f32,
}

/// Tolerance of eigenvectors: single precision.
const TOLERANCE: f64 = 1e-6;
/// Largest factor `μ / (λ - μ)`, which has no bound as a kept and a truncated eigenvalue approach
/// each other.
const MOST_NEAR: f32 = 20.0;

impl Preprocess for Svd {
    fn preprocessed(&self, graph: &Graph) -> Result<Graph> {
        self.check()?;
        Ok(graph.clone())
    }

    fn operator_override(&self) -> Option<Arc<dyn OperatorOverride>> {
        Some(Arc::new(*self))
    }

    fn see_through(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }
}

impl OperatorOverride for Svd {
    fn propagation(&self, graph: &Graph) -> Result<Propagation> {
        let Eigenpairs { vectors, values } =
            self.eigenpairs(&ClassicalOperator::ADJACENCY.matrix(graph)?, self.rank)?;
        let rank = values.len();
        let left = vectors.broadcast_mul(&Tensor::from_vec(values, (1, rank), &Device::Cpu)?)?;
        Ok(normalised(&left, &vectors.t()?.contiguous()?, self.min_degree)?.into())
    }
}

impl Differentiable for Svd {
    fn ready<'a>(&'a self, graph: &'a Graph, relaxed: &Relaxed) -> Result<Filter<'a>> {
        let candidates: Vec<Pair> = relaxed.pairs()[relaxed.num_edges()..].to_vec();
        let adjacency = Relaxed::new(graph, ClassicalOperator::ADJACENCY, &candidates)?;
        Ok(Box::new(move |_, weights| {
            let operator = adjacency.operator_of(weights)?;
            let [kept, cut] = self.kept_and_cut(&nonzero(&operator)?)?;
            let vectors = &kept.vectors;
            // A U: with C = Uᵀ A U, P A + A P - P A P = U (A U)ᵀ + (A U - U C) Uᵀ.
            let moved = operator.apply(vectors)?;
            let turned = (&moved - vectors.matmul(&vectors.t()?.matmul(&moved)?)?)?;
            let transposed = |of: &Tensor| of.t()?.contiguous();
            let (mut left, mut right) = (
                vec![vectors.clone(), turned],
                vec![transposed(&moved)?, transposed(vectors)?],
            );
            if !cut.values.is_empty() {
                // U (G ∘ C), and C from A U, which is computed already.
                let near = vectors.matmul(
                    &transposed(&moved)?
                        .matmul(&cut.vectors)?
                        .mul(&nearness(&kept, &cut)?)?,
                )?;
                right.extend([transposed(&cut.vectors)?, transposed(&near)?]);
                left.extend([near, cut.vectors]);
            }
            let left = Tensor::cat(&left.iter().collect::<Vec<_>>(), 1)?;
            let right = Tensor::cat(&right.iter().collect::<Vec<_>>(), 0)?;
            Ok(normalised(&left, &right, self.min_degree)?.into())
        }))
    }

    fn how(&self) -> &'static str {
        "by an approximation: the singular vectors are computed at every step, and their rotation to first order, exactly for the first truncated ones"
    }
}

/// Eigenvectors, `[nodes, count]`, and their eigenvalues, the largest absolute value first.
struct Eigenpairs {
    vectors: Tensor,
    values: Vec<f32>,
}

impl Svd {
    fn eigenpairs(&self, adjacency: &CsrMatrix<f64>, count: usize) -> Result<Eigenpairs> {
        self.check()?;
        let count = count.min(adjacency.num_rows());
        let settings = EigenSettings {
            tolerance: TOLERANCE,
            ..EigenSettings::default()
        };
        let found = sparse_eigenpairs(adjacency, count, Which::LargestMagnitude, &settings)?;
        let vectors = found.vectors.data().iter().map(|&v| v as f32).collect();
        let vectors = Tensor::from_vec(
            vectors,
            (found.vectors.num_rows(), found.vectors.num_cols()),
            &Device::Cpu,
        )?;
        Ok(Eigenpairs {
            vectors,
            values: found.values.iter().map(|&v| v as f32).collect(),
        })
    }

    /// Returns the kept eigenpairs, and as many of the truncated ones.
    fn kept_and_cut(&self, adjacency: &CsrMatrix<f64>) -> Result<[Eigenpairs; 2]> {
        let Eigenpairs { vectors, values } = self.eigenpairs(adjacency, 2 * self.rank)?;
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_by(|&a, &b| {
            values[b as usize]
                .abs()
                .total_cmp(&values[a as usize].abs())
                .then(a.cmp(&b))
        });
        let (kept, cut) = order.split_at(self.rank.min(order.len()));
        let part = |of: &[u32]| -> Result<Eigenpairs> {
            let places = Tensor::from_slice(of, of.len(), &Device::Cpu)?;
            let values = of.iter().map(|&i| values[i as usize]).collect();
            Ok(Eigenpairs {
                vectors: vectors.index_select(&places, 1)?,
                values,
            })
        };
        Ok([part(kept)?, part(cut)?])
    }
}

/// Returns `μ / (λ - μ)` for every kept λ, by rows, and every truncated μ.
fn nearness(kept: &Eigenpairs, cut: &Eigenpairs) -> Result<Tensor> {
    let of = |l: f32, m: f32| {
        if l == m {
            0.0
        } else {
            (m / (l - m)).clamp(-MOST_NEAR, MOST_NEAR)
        }
    };
    let all = kept
        .values
        .iter()
        .flat_map(|&l| cut.values.iter().map(move |&m| of(l, m)))
        .collect();
    Ok(Tensor::from_vec(
        all,
        (kept.values.len(), cut.values.len()),
        &Device::Cpu,
    )?)
}

/// Returns `D^-1/2 (L R + I) D^-1/2`.
fn normalised(left: &Tensor, right: &Tensor, min_degree: f32) -> Result<Operator> {
    let min_degree = f64::from(min_degree);
    let (nodes, _) = left.dims2()?;
    let sums =
        (left.matmul(&right.matmul(&Tensor::ones((nodes, 1), DType::F32, &Device::Cpu)?)?)? + 1.0)?;
    let sums = sums
        .ge(min_degree)?
        .where_cond(&sums, &sums.affine(0.0, min_degree)?)?;
    let scale = sums.powf(-0.5)?;
    let right = right.broadcast_mul(&scale.reshape((1, nodes))?)?;
    Ok(Operator::low_rank(
        &left.broadcast_mul(&scale)?,
        &right,
        &scale.sqr()?,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perturb::flipped;
    use gnarl_graph::generate::erdos_renyi;
    use gnarl_nn::testing::assert_close;

    fn dense(operator: &Operator) -> Vec<f32> {
        let eye = Tensor::eye(operator.num_cols(), DType::F32, &Device::Cpu).unwrap();
        operator
            .apply(&eye)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap()
    }

    /// A triangle has eigenvalues 2, -1, -1. With rank one, A_1 is 2/3 everywhere and row sums plus
    /// one are 3.
    #[test]
    fn a_triangle_by_hand() {
        let triangle = Graph::from_edges(3, [(0, 1), (0, 2), (1, 2)]).unwrap().0;
        let found = dense(
            &Svd {
                rank: 1,
                ..Svd::default()
            }
            .propagation(&triangle)
            .unwrap()
            .operator,
        );
        assert_close(
            &found[..4],
            &[5.0 / 9.0, 2.0 / 9.0, 2.0 / 9.0, 2.0 / 9.0],
            1e-5,
            "of rank one",
        );
        let whole = dense(
            &Svd {
                rank: 9,
                ..Svd::default()
            }
            .propagation(&triangle)
            .unwrap()
            .operator,
        );
        let a_hat = dense(
            &gnarl_nn::networks::layer::classical(
                &triangle,
                ClassicalOperator::NORMALISED_ADJACENCY,
            )
            .unwrap(),
        );
        assert_close(&whole, &a_hat, 1e-5, "all of it");
    }

    #[test]
    fn whole_weights_give_the_operator_of_the_flipped_graph() {
        let graph = erdos_renyi(30, 0.2, 3).unwrap();
        let candidates: Vec<Pair> = (0..29)
            .map(|u| (u, u + 1))
            .filter(|&(u, v)| !graph.has_edge(u, v))
            .collect();
        let relaxed =
            Relaxed::new(&graph, ClassicalOperator::NORMALISED_ADJACENCY, &candidates).unwrap();
        let svd = Svd {
            rank: 6,
            ..Svd::default()
        };
        let filter = svd.ready(&graph, &relaxed).unwrap();
        let flips: Vec<f32> = (0..relaxed.pairs().len())
            .map(|i| f32::from(u8::from(i % 5 == 0)))
            .collect();
        let chosen: Vec<Pair> = relaxed.pairs().iter().copied().step_by(5).collect();
        let flips = Tensor::from_vec(flips, relaxed.pairs().len(), &Device::Cpu).unwrap();
        let found = filter(&relaxed, &relaxed.weights(&flips).unwrap())
            .unwrap()
            .operator;
        let expected = svd
            .propagation(&flipped(&graph, &chosen).unwrap())
            .unwrap()
            .operator;
        assert_close(&dense(&found), &dense(&expected), 1e-4, "flipped");
    }

    /// With rank five of twelve the gradient of the approximation is nearly that of A_5 itself,
    /// whose eigenvectors rotate with every edge.
    #[test]
    fn slopes_have_how_singular_vectors_turn() {
        let graph = erdos_renyi(12, 0.4, 3).unwrap();
        let all = (0..12).flat_map(|u| (u + 1..12).map(move |v| (u, v)));
        let apart: Vec<Pair> = all
            .filter(|&(u, v)| !graph.has_edge(u, v))
            .take(4)
            .collect();
        let relaxed =
            Relaxed::new(&graph, ClassicalOperator::NORMALISED_ADJACENCY, &apart).unwrap();
        let svd = Svd {
            rank: 5,
            ..Svd::default()
        };
        let filter = svd.ready(&graph, &relaxed).unwrap();
        let x = gnarl_tensor::testing::random(&[12, 2], 4);
        let weights = |at: usize, by: f32| -> Vec<f32> {
            let count = relaxed.pairs().len();
            (0..count)
                .map(|i| {
                    (if i < relaxed.num_edges() { 1.0 } else { 0.0 })
                        + if i == at { by } else { 0.0 }
                })
                .collect()
        };
        let count = relaxed.pairs().len();
        let value = |w: &Tensor| {
            filter(&relaxed, w)
                .unwrap()
                .operator
                .apply(&x)
                .unwrap()
                .sqr()
                .unwrap()
                .sum_all()
                .unwrap()
        };
        let start = Tensor::from_vec(weights(count, 0.0), count, &Device::Cpu).unwrap();
        let var = gnarl_tensor::Var::from_tensor(&start).unwrap();
        let slopes = value(var.as_tensor())
            .backward()
            .unwrap()
            .get(&var)
            .unwrap()
            .to_vec1::<f32>()
            .unwrap();
        // Values are those of A_5 itself, recomputed, whatever the gradient leaves out.
        let moved = |at: usize, by: f32| {
            let w = Tensor::from_vec(weights(at, by), count, &Device::Cpu).unwrap();
            value(&w).to_scalar::<f32>().unwrap()
        };
        let differences: Vec<f32> = (0..count)
            .map(|i| (moved(i, 0.01) - moved(i, -0.01)) / 0.02)
            .collect();
        let largest = differences.iter().fold(0f32, |m, d| m.max(d.abs()));
        for (at, (slope, difference)) in slopes.iter().zip(&differences).enumerate() {
            assert!(
                (slope - difference).abs() < 0.1 * largest,
                "pair {at}: {slope}, not {difference}"
            );
        }
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let cosine = product(&slopes, &differences)
            / (product(&slopes, &slopes) * product(&differences, &differences)).sqrt();
        assert!(cosine > 0.99, "a cosine of {cosine}");
    }

    /// With full rank nothing is constant: gradients equal finite differences.
    #[test]
    fn gradients_reach_weights() {
        let graph = erdos_renyi(8, 0.5, 3).unwrap();
        let relaxed = Relaxed::new(&graph, ClassicalOperator::NORMALISED_ADJACENCY, &[]).unwrap();
        let svd = Svd {
            rank: 8,
            ..Svd::default()
        };
        let filter = svd.ready(&graph, &relaxed).unwrap();
        let x = gnarl_tensor::testing::random(&[8, 2], 4);
        let weights = (gnarl_tensor::testing::random(&[relaxed.pairs().len()], 5) * 0.2).unwrap();
        gnarl_tensor::testing::check_gradients(&[(weights + 0.7).unwrap()], |v| {
            filter(&relaxed, &v[0])
                .map_err(|e| gnarl_tensor::Error::msg(e.to_string()))?
                .operator
                .apply(&x)
        });
    }

    /// Row sums 0.2 and 1.2, by hand: the first counts as the minimum degree if that is more.
    #[test]
    fn a_row_sum_counts_as_the_minimum_degree_at_least() {
        let left = Tensor::from_vec(vec![-0.8f32, 0.2], (2, 1), &Device::Cpu).unwrap();
        let right = Tensor::from_vec(vec![1f32, 0.0], (1, 2), &Device::Cpu).unwrap();
        for (min_degree, counts) in [(0.5f32, 0.5f32), (0.1, 0.2), (1e-5, 0.2)] {
            let found = dense(&normalised(&left, &right, min_degree).unwrap());
            let expected = [0.2 / counts, 0.0, 0.2 / (1.2 * counts).sqrt(), 1.0 / 1.2];
            assert_close(
                &found,
                &expected,
                1e-5,
                &format!("a minimum degree of {min_degree}"),
            );
        }
        let e = Svd {
            min_degree: 0.0,
            ..Svd::default()
        }
        .preprocessed(&Graph::empty(2).unwrap())
        .unwrap_err()
        .to_string();
        assert_eq!(e, "svd-min-degree must be in (0, 1] (got 0)");
    }

    #[test]
    fn graphs_without_edges_and_a_rank_of_nothing() {
        let empty = Graph::empty(3).unwrap();
        assert_close(
            &dense(&Svd::default().propagation(&empty).unwrap().operator)[..2],
            &[1.0, 0.0],
            1e-6,
            "itself",
        );
        let e = Svd {
            rank: 0,
            ..Svd::default()
        }
        .preprocessed(&empty)
        .unwrap_err()
        .to_string();
        assert_eq!(e, "svd-rank must be in [1, 1000000] (got 0)");
    }
}
