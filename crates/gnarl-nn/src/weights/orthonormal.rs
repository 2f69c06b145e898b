//! Orthonormal weights (GCORN, Abbahaddou et al. 2024,
//! [arXiv:2404.17947](https://arxiv.org/abs/2404.17947)) by Björck orthonormalisation (Björck and
//! Bowie 1971, [doi:10.1137/0708036](https://doi.org/10.1137/0708036)): `W_0 = W / scale`,
//! `Q_k = I - W_kᵀW_k`,
//! `W_{k+1} = W_k (I + 1/2 Q_k + 3/8 Q_k² + … + (-1)^p C(-1/2, p) Q_k^p)`. The columns of a tall
//! matrix and the rows of a wide one become orthonormal.
//!
//! Every iterate is W times a polynomial in the Gram matrix `G = WᵀW`. With `G = U Λ Uᵀ` the whole
//! iteration is `W U p(Λ) Uᵀ`, and the scalar function p is the same iteration on one singular
//! value. That costs one small eigendecomposition and two thin products for every order and number
//! of iterations. The derivative is exact: that of a function of a symmetric matrix, from the
//! divided differences of p (Daleckii and Krein).
//!
//! The scale is a constant in the derivative. Once the iteration has converged, the result does not
//! depend on it.

use std::sync::OnceLock;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Constraint;
use gnarl_tensor::tape::{Computed, Gradients, Operation, Sinks, apply};
use gnarl_tensor::{DType, Device, Result, Tensor, bail};

gnarl_graph::named! {
    /// Scaling of the weights before the iteration, which converges if all singular values are
    /// below sqrt 3.
    pub enum Scaling as "scaling" {
        /// Division by the largest singular value, which the eigenvalues give without power
        /// iteration.
        Spectral = "spectral",
        /// Division by sqrt(rows · cols), as in the published code. It is far above the largest
        /// singular value, so small singular values need more iterations.
        Published = "published",
    }
}

/// Replaces every weight matrix by its orthonormal projection in the forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Settings)]
#[serde(deny_unknown_fields)]
#[choice(
    name = "orthonormal",
    about = "orthonormal projections of the weights in every forward pass: GCORN, GIORN"
)]
pub struct Orthonormal {
    /// Order of Björck's expansion: the number of terms beyond the identity.
    #[setting(default = 2, range = 1..=50)]
    pub order: usize,
    /// Number of iterations of the projection.
    #[setting(default = 25, range = 1..)]
    pub iterations: usize,
    /// Scaling of the weights before the first iteration: by their spectral norm, or by sqrt(rows ·
    /// columns) as in the published code.
    #[setting(default = Scaling::Spectral)]
    pub scaling: Scaling,
}

impl Constraint for Orthonormal {
    fn parametrize(&self, weight: &Tensor) -> Result<Tensor> {
        orthonormal(weight, *self)
    }

    /// The projection undoes the effect of decay on a weight's norm. The remaining effect turns the
    /// weight away from directions that the loss does not use.
    fn decay(&self) -> f64 {
        0.01
    }
}

impl Orthonormal {
    /// Returns `c_j = (-1)^j C(-1/2, j)` from j = 1 on; `c_j / c_{j-1} = (2j - 1) / 2j`.
    fn coefficients(&self) -> Vec<f64> {
        let next = |c: &mut f64, j: usize| {
            *c *= (2 * j - 1) as f64 / (2 * j) as f64;
            Some(*c)
        };
        (1..=self.order).scan(1.0, next).collect()
    }

    /// Computes the factor by which the iteration multiplies a singular value of `sqrt(lambda)`,
    /// and the factor's derivative with respect to `lambda`.
    fn factor(&self, lambda: f64, scale: f64) -> (f64, f64) {
        // Σ c_j q^j by Horner from the highest term.
        let coefficients = self.coefficients();
        let series = |q: f64| {
            let (mut value, mut slope) = (0.0, 0.0);
            for c in coefficients.iter().rev().chain([&1.0]) {
                slope = slope * q + value;
                value = value * q + c;
            }
            (value, slope)
        };
        // The square of the singular value so far is lambda · factor².
        let (mut factor, mut slope) = (1.0 / scale, 0.0);
        for _ in 0..self.iterations {
            let q = 1.0 - lambda * factor * factor;
            let q_slope = -(factor * factor + 2.0 * lambda * factor * slope);
            let (value, by_q) = series(q);
            slope = slope * value + factor * by_q * q_slope;
            factor *= value;
        }
        (factor, slope)
    }
}

/// Computes the weight with orthonormal columns, or rows if it is wide. A matrix of zeros stays
/// zero.
pub fn orthonormal(weight: &Tensor, settings: Orthonormal) -> Result<Tensor> {
    let (rows, cols) = weight.dims2()?;
    if rows < cols {
        return orthonormal(&weight.t()?.contiguous()?, settings)?
            .t()?
            .contiguous();
    }
    apply(
        Bjorck {
            settings,
            decomposition: OnceLock::new(),
        },
        &[weight],
    )
}

/// Computes `|WᵀW - I|` in the Frobenius norm, along the shorter side: zero for an orthonormal
/// matrix.
pub fn departure(weight: &Tensor) -> Result<f64> {
    let (rows, cols) = weight.dims2()?;
    let tall = if rows < cols {
        weight.t()?.contiguous()?
    } else {
        weight.clone()
    };
    let gram = gram(&tall)?;
    let size = rows.min(cols);
    let squares = gram
        .iter()
        .enumerate()
        .map(|(i, g)| (g - f64::from(i % (size + 1) == 0)).powi(2));
    Ok(squares.sum::<f64>().sqrt())
}

/// Computes `WᵀW` in double precision: single precision would lose small singular values.
fn gram(weight: &Tensor) -> Result<Vec<f64>> {
    let wide = weight.to_dtype(DType::F64)?;
    wide.t()?.matmul(&wide)?.flatten_all()?.to_vec1::<f64>()
}

/// Projection of one weight, with the values that its derivative needs.
#[derive(Debug)]
#[doc(hidden)]
pub struct Bjorck {
    settings: Orthonormal,
    decomposition: OnceLock<Decomposition>,
}

/// Eigenvectors of the Gram matrix (columns), and p with its divided differences.
#[derive(Debug)]
struct Decomposition {
    size: usize,
    /// Scale by which the weights were divided.
    scale: f64,
    vectors: Vec<f64>,
    projector: Vec<f64>,
    differences: Vec<f64>,
}

impl Decomposition {
    fn new(rows: usize, gram: &[f64], settings: Orthonormal) -> Result<Self> {
        let size = (gram.len() as f64).sqrt() as usize;
        if gram.iter().any(|g| !g.is_finite()) {
            bail!("a weight is not a finite number");
        }
        let Ok((values, columns)) = gnarl_linalg::symmetric_eigen(size, gram, true) else {
            bail!("the singular values of a weight cannot be found")
        };
        let vectors = transpose(size, &columns);
        let values: Vec<f64> = values.into_iter().map(|v| v.max(0.0)).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let scale = match settings.scaling {
            Scaling::Spectral if largest > 0.0 => largest.sqrt(),
            Scaling::Spectral => 1.0,
            Scaling::Published => ((rows * size) as f64).sqrt(),
        };
        let factors: Vec<(f64, f64)> = values
            .iter()
            .map(|&lambda| settings.factor(lambda, scale))
            .collect();
        let mut differences = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..size {
                let apart = values[i] - values[j];
                // For eigenvalues this close the slope is more exact than the difference of two
                // nearly equal numbers.
                differences[i * size + j] = if apart.abs() <= 1e-5 * values[i].max(values[j]) {
                    0.5 * (factors[i].1 + factors[j].1)
                } else {
                    (factors[i].0 - factors[j].0) / apart
                };
            }
        }
        let mut scaled = vectors.clone();
        for row in scaled.chunks_exact_mut(size) {
            row.iter_mut()
                .zip(&factors)
                .for_each(|(v, (factor, _))| *v *= factor);
        }
        let projector = times(size, &scaled, &columns);
        Ok(Self {
            size,
            scale,
            vectors,
            projector,
            differences,
        })
    }

    /// Computes the gradient to the Gram matrix from the gradient to the projector.
    fn by_gram(&self, by_projector: &[f64]) -> Vec<f64> {
        let n = self.size;
        let transposed = transpose(n, &self.vectors);
        let symmetric: Vec<f64> = (0..n * n)
            .map(|k| 0.5 * (by_projector[k] + by_projector[k % n * n + k / n]))
            .collect();
        let mut inner = times(n, &times(n, &transposed, &symmetric), &self.vectors);
        inner
            .iter_mut()
            .zip(&self.differences)
            .for_each(|(g, d)| *g *= d);
        times(n, &times(n, &self.vectors, &inner), &transposed)
    }
}

/// Computes the product of square matrices, row by row.
fn times(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for (out, row) in out.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        for (&factor, added) in row.iter().zip(b.chunks_exact(n)) {
            out.iter_mut()
                .zip(added)
                .for_each(|(o, v)| *o += factor * v);
        }
    }
    out
}

fn transpose(n: usize, a: &[f64]) -> Vec<f64> {
    (0..n * n).map(|k| a[k % n * n + k / n]).collect()
}

/// Returns a square matrix in the precision of the weights.
fn square(n: usize, values: &[f64], dtype: DType) -> Result<Tensor> {
    Tensor::from_slice(values, (n, n), &Device::Cpu)?.to_dtype(dtype)
}

impl Bjorck {
    /// Runs the iteration step by step, with the scale of the decomposition.
    fn by_steps(&self, weight: &Tensor, scale: f64) -> Result<Tensor> {
        let mut w = weight.to_dtype(DType::F64)?.affine(1.0 / scale, 0.0)?;
        let eye = Tensor::eye(w.dim(1)?, DType::F64, weight.device())?;
        for _ in 0..self.settings.iterations {
            let q = eye.sub(&w.t()?.matmul(&w)?)?;
            let (mut sum, mut power) = (eye.clone(), eye.clone());
            for c in self.settings.coefficients() {
                power = power.matmul(&q)?;
                sum = sum.add(&power.affine(c, 0.0)?)?;
            }
            w = w.matmul(&sum)?;
        }
        w.to_dtype(weight.dtype())
    }

    fn decomposition(&self) -> Result<&Decomposition> {
        match self.decomposition.get() {
            Some(decomposition) => Ok(decomposition),
            None => bail!("bjorck: backward before forward"),
        }
    }
}

impl Operation for Bjorck {
    fn name(&self) -> &'static str {
        "bjorck"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let weight = inputs[0].detach();
        let (rows, cols) = weight.dims2()?;
        let decomposition = Decomposition::new(rows, &gram(&weight)?, self.settings)?;
        let projected = weight.matmul(&square(cols, &decomposition.projector, weight.dtype())?)?;
        // A second call would compute the same value.
        let _ = self.decomposition.set(decomposition);
        Ok(projected)
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let scale = self.decomposition()?.scale;
        at.by_parts(grad, |inputs| self.by_steps(&inputs[0], scale))
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (decomposition, weight) = (self.decomposition()?, &at.inputs[0]);
        let (n, dtype) = (decomposition.size, weight.dtype());
        // Y = W P with P = p(WᵀW): dW = dY P + 2 W dG.
        let by_projector = weight
            .t()?
            .matmul(&grad)?
            .to_dtype(DType::F64)?
            .flatten_all()?
            .to_vec1::<f64>()?;
        let by_gram = square(n, &decomposition.by_gram(&by_projector), dtype)?;
        let direct = grad.matmul(&square(n, &decomposition.projector, dtype)?)?;
        to.give(0, (direct + (weight.matmul(&by_gram)? * 2.0)?)?)
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use gnarl_tensor::testing::{Example, Examples};

    impl Examples for Bjorck {
        fn examples() -> Vec<Example> {
            let settings = [(1, 2), (3, 1), (2, 4)];
            let on = |(order, iterations)| {
                let settings = Orthonormal {
                    order,
                    iterations,
                    scaling: Scaling::Published,
                };
                [[7, 3], [3, 7], [4, 4], [1, 1]]
                    .map(|shape| Example::of(&[&shape], move |v| orthonormal(&v[0], settings)))
            };
            settings.into_iter().flat_map(on).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_tensor::testing::{check_gradients, random};
    use rand::RngExt;

    fn glorot(rows: usize, cols: usize) -> Tensor {
        let (rng, bound) = (
            &mut gnarl_graph::random::stream(7, "orthonormal test", 0),
            (6.0 / (rows + cols) as f32).sqrt(),
        );
        let values: Vec<f32> = (0..rows * cols)
            .map(|_| (rng.random::<f32>() * 2.0 - 1.0) * bound)
            .collect();
        Tensor::from_vec(values, (rows, cols), &Device::Cpu).unwrap()
    }

    /// The iteration step by step, in double precision.
    fn by_steps(weight: &Tensor, scale: f64, order: usize, iterations: usize) -> Vec<f64> {
        let mut w = (weight.to_dtype(DType::F64).unwrap() / scale).unwrap();
        let eye = Tensor::eye(w.dims()[1], DType::F64, &Device::Cpu).unwrap();
        for _ in 0..iterations {
            let q = (&eye - w.t().unwrap().matmul(&w).unwrap()).unwrap();
            let (mut sum, mut power, mut binomial) = (eye.clone(), eye.clone(), 1.0);
            for p in 1..=order {
                // C(-1/2, p) = C(-1/2, p - 1) (-1/2 - p + 1) / p
                binomial *= (-0.5 - p as f64 + 1.0) / p as f64;
                power = power.matmul(&q).unwrap();
                sum = (sum + (&power * (binomial * if p % 2 == 0 { 1.0 } else { -1.0 })).unwrap())
                    .unwrap();
            }
            w = w.matmul(&sum).unwrap();
        }
        w.flatten_all().unwrap().to_vec1().unwrap()
    }

    fn largest_difference(a: &Tensor, b: &[f64]) -> f64 {
        let a = a.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        a.iter()
            .zip(b)
            .map(|(a, b)| (f64::from(*a) - b).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn the_closed_form_is_the_iteration() {
        let weight = random(&[9, 5], 3);
        for (order, iterations) in [(1, 1), (1, 7), (2, 1), (2, 3), (3, 2), (7, 4)] {
            let settings = Orthonormal {
                order,
                iterations,
                scaling: Scaling::Published,
            };
            let expected = by_steps(&weight, 45f64.sqrt(), order, iterations);
            let off = largest_difference(&orthonormal(&weight, settings).unwrap(), &expected);
            assert!(off < 1e-6, "order {order}, {iterations} iterations: {off}");
        }
    }

    /// Newton's iteration for the polar factor, `X ← (X + X⁻ᵀ) / 2`, on a matrix whose inverse is
    /// known by hand.
    #[test]
    fn the_limit_is_the_polar_factor() {
        let (mut a, mut b, mut c, mut d) = (2.0f64, 1.0, -0.5, 3.0);
        let weight = Tensor::new(&[[2f32, 1.0], [-0.5, 3.0]], &Device::Cpu).unwrap();
        for _ in 0..30 {
            let det = a * d - b * c;
            (a, b, c, d) = (
                (a + d / det) / 2.0,
                (b - c / det) / 2.0,
                (c - b / det) / 2.0,
                (d + a / det) / 2.0,
            );
        }
        let off = largest_difference(
            &orthonormal(&weight, Orthonormal::default()).unwrap(),
            &[a, b, c, d],
        );
        assert!(off < 1e-6, "{off}");
    }

    #[test]
    fn glorot_matrices_become_orthonormal() {
        for (rows, cols) in [
            (1433, 16),
            (16, 16),
            (16, 64),
            (64, 16),
            (6805, 512),
            (1, 5),
            (5, 1),
        ] {
            let weight = glorot(rows, cols);
            let off = departure(&orthonormal(&weight, Orthonormal::default()).unwrap()).unwrap();
            assert!(off <= 1e-3, "{rows} x {cols}: {off}");
            assert!(
                departure(&weight).unwrap() > 0.1,
                "{rows} x {cols} was orthonormal before"
            );
        }
    }

    #[test]
    fn gradients() {
        for settings in [
            Orthonormal {
                order: 1,
                iterations: 2,
                scaling: Scaling::Published,
            },
            Orthonormal {
                order: 3,
                iterations: 1,
                scaling: Scaling::Published,
            },
            Orthonormal {
                order: 2,
                iterations: 30,
                scaling: Scaling::Published,
            },
        ] {
            for shape in [[7, 3], [3, 7], [4, 4]] {
                check_gradients(&[random(&shape, 11)], |v| orthonormal(&v[0], settings));
            }
        }
        // After convergence, the scale has no influence on the derivative.
        check_gradients(&[random(&[6, 3], 5)], |v| {
            orthonormal(&v[0], Orthonormal::default())
        });
        // Equal singular values: the divided differences are slopes.
        let equal = Tensor::new(&[[2f32, 0.0], [0.0, 2.0], [0.0, 0.0]], &Device::Cpu).unwrap();
        check_gradients(&[equal], |v| orthonormal(&v[0], Orthonormal::default()));
    }

    #[test]
    fn odd_matrices_have_defined_results() {
        let zeros = Tensor::zeros((4, 2), DType::F32, &Device::Cpu).unwrap();
        let projected = orthonormal(&zeros, Orthonormal::default()).unwrap();
        assert_eq!(
            projected.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
            [0.0; 8]
        );
        let broken = Tensor::new(&[[f32::NAN], [1.0]], &Device::Cpu).unwrap();
        let e = orthonormal(&broken, Orthonormal::default())
            .unwrap_err()
            .to_string();
        assert!(e.contains("not a finite number"), "{e}");
        let e = Orthonormal {
            order: 0,
            ..Orthonormal::default()
        }
        .check_ranges()
        .unwrap_err()
        .to_string();
        assert!(e.contains("order"), "{e}");
    }
}
