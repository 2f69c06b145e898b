//! ReLU and dropout in one pass, with a counter-based generator: entry `i` is kept or dropped by a hash of `i` and the
//! step's key, so neither the thread count nor the order of evaluation changes a result.

use std::mem::MaybeUninit;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::pattern::MIN_PARALLEL_WORK;
use super::{filled, floats, kernels};

/// How much to drop, and the key of this draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// Probability that a value becomes zero; the others are scaled by `1 / (1 - rate)`.
    pub rate: f32,
    /// The draw: a new key for every layer and every step.
    pub key: u64,
}

impl Dropout {
    /// Keeps everything.
    pub const NONE: Dropout = Dropout { rate: 0.0, key: 0 };

    pub(super) fn check(self) -> Result<Self> {
        if (0.0..1.0).contains(&self.rate) {
            Ok(self)
        } else {
            bail!("dropout: rate {} must be at least 0 and below 1", self.rate)
        }
    }

    /// The share dropped, of 2^32.
    pub(super) fn threshold(self) -> u32 {
        (f64::from(self.rate) * 4_294_967_296.0) as u32
    }

    pub(super) fn scale(self) -> f32 {
        1.0 / (1.0 - self.rate)
    }
}

/// `max(x, 0)` of a NaN is a NaN, here and in all that follows: candle's own `relu` makes it 0, and a diverged network
/// would pass.
///
/// The gradient at zero is candle's, one.
pub fn relu(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Relu)
}

/// `dropout(max(x, 0))`; the gradient at zero is zero.
pub fn relu_dropout(x: &Tensor, dropout: Dropout) -> Result<Tensor> {
    x.contiguous()?.apply_op1(ReluDropout(dropout.check()?))
}

/// `dropout(x)`.
pub fn dropout(x: &Tensor, dropout: Dropout) -> Result<Tensor> {
    if dropout.check()?.rate == 0.0 { Ok(x.clone()) } else { x.contiguous()?.apply_op1(PlainDropout(dropout)) }
}

/// Values per parallel task.
const CHUNK: usize = 16 * 1024;

/// As many values as in `x`.
///
/// # Safety
/// `work` writes every value of the part it is given.
unsafe fn in_chunks(x: &[f32], work: impl Fn(u64, &[f32], &mut [MaybeUninit<f32>]) + Sync) -> Vec<f32> {
    let fill = |out: &mut [MaybeUninit<f32>]| {
        if x.len() < MIN_PARALLEL_WORK {
            return work(0, x, out);
        }
        out.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).enumerate().for_each(|(i, (out, x))| {
            work((i * CHUNK) as u64, x, out);
        });
    };
    // SAFETY: the chunks are all there is, and the caller's promise is that `work` writes them.
    unsafe { filled(x.len(), fill) }
}

struct Relu;

impl CustomOp1 for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        ReluDropout(Dropout::NONE).cpu_fwd(x, layout)
    }

    fn bwd(&self, x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let passes = x.ge(&x.zeros_like()?)?.to_dtype(x.dtype())?;
        Ok(Some((grad * passes)?))
    }
}

struct ReluDropout(Dropout);

impl CustomOp1 for ReluDropout {
    fn name(&self) -> &'static str {
        "relu and dropout"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let d = self.0;
        let x = floats(self.name(), x, layout)?;
        let work = |first: u64, x: &[f32], out: &mut [MaybeUninit<f32>]| {
            kernels::relu_dropout(x, first, d.key, d.threshold(), d.scale(), out);
        };
        // SAFETY: the kernel writes a value for each of x, and the two parts are as long.
        let out = unsafe { in_chunks(x, work) };
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _x: &Tensor, result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        relu_dropout_gradient(result, grad, self.0).map(Some)
    }
}

/// The gradient before the activation: a result is positive exactly where the input was and was kept.
pub(super) fn relu_dropout_gradient(result: &Tensor, grad: &Tensor, dropout: Dropout) -> Result<Tensor> {
    result.apply_op2_no_bwd(&grad.contiguous()?, &ReluDropoutGrad { scale: dropout.scale() })
}

struct ReluDropoutGrad {
    scale: f32,
}

impl CustomOp2 for ReluDropoutGrad {
    fn name(&self) -> &'static str {
        "gradient of relu and dropout"
    }

    fn cpu_fwd(&self, r: &CpuStorage, lr: &Layout, g: &CpuStorage, lg: &Layout) -> Result<(CpuStorage, Shape)> {
        let grad = floats(self.name(), g, lg)?;
        let work = |first: u64, result: &[f32], out: &mut [MaybeUninit<f32>]| {
            let grad = &grad[first as usize..first as usize + result.len()];
            kernels::relu_dropout_grad(result, grad, self.scale, out);
        };
        // SAFETY: the kernel writes a value for each result, and the three parts are as long.
        let out = unsafe { in_chunks(floats(self.name(), r, lr)?, work) };
        Ok((CpuStorage::F32(out), lr.shape().clone()))
    }
}

/// Linear in its argument, so the gradient is the same dropout of the gradient.
struct PlainDropout(Dropout);

impl CustomOp1 for PlainDropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let d = self.0;
        let x = floats(self.name(), x, layout)?;
        let work = |first: u64, x: &[f32], out: &mut [MaybeUninit<f32>]| {
            kernels::dropout(x, first, d.key, d.threshold(), d.scale(), out);
        };
        // SAFETY: the kernel writes a value for each of x, and the two parts are as long.
        let out = unsafe { in_chunks(x, work) };
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.contiguous()?.apply_op1_no_bwd(&PlainDropout(self.0))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{check_gradients, random};

    #[test]
    fn without_dropout_it_is_relu() {
        let x = random(&[50, 40], 1);
        let diff = (relu_dropout(&x, Dropout::NONE).unwrap() - x.relu().unwrap()).unwrap();
        assert_eq!(diff.abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap(), 0.0);
    }

    #[test]
    fn drops_the_asked_share_and_keeps_the_mean() {
        let ones = Tensor::ones((1000, 100), candle_core::DType::F32, &candle_core::Device::Cpu).unwrap();
        for (rate, key) in [(0.1f32, 1u64), (0.5, 2), (0.8, 3), (0.5, 3 << 40)] {
            let y = dropout(&ones, Dropout { rate, key }).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let dropped = y.iter().filter(|&&v| v == 0.0).count() as f32 / y.len() as f32;
            // Six standard deviations of a share of 100,000 draws.
            assert!((dropped - rate).abs() < 6.0 * (rate * (1.0 - rate) / 1e5).sqrt(), "rate {rate}: {dropped}");
            // Neighbours in a row and in a column are dropped independently.
            let both =
                |lag: usize| (0..y.len() - lag).filter(|&i| y[i] == 0.0 && y[i + lag] == 0.0).count() as f32 / 1e5;
            for lag in [1, 2, 16, 100] {
                assert!((both(lag) - rate * rate).abs() < 0.01, "rate {rate} lag {lag}: {}", both(lag));
            }
        }
        let other = dropout(&ones, Dropout { rate: 0.5, key: 7 }).unwrap();
        let one = dropout(&ones, Dropout { rate: 0.5, key: 2 }).unwrap();
        let same = one
            .eq(&other)
            .unwrap()
            .to_dtype(candle_core::DType::F32)
            .unwrap()
            .mean_all()
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        assert!((same - 0.5).abs() < 0.01, "another key draws anew: {same}");
    }

    #[test]
    fn gradients() {
        // Values are kept away from the kink at zero, where differences mean nothing.
        let x = random(&[6, 5], 2);
        let x = (x.sign().unwrap() * (x.abs().unwrap() + 0.05).unwrap()).unwrap();
        let d = Dropout { rate: 0.4, key: 5 };
        check_gradients(std::slice::from_ref(&x), |v| relu_dropout(&v[0], d));
        check_gradients(&[x], |v| dropout(&v[0], d));
    }

    #[test]
    fn relu_has_the_values_and_gradients_of_candle() {
        let x = candle_core::Var::new(&[-1f32, -0.0, 0.0, 2.0], &candle_core::Device::Cpu).unwrap();
        let outcome = |y: Tensor| {
            let grads = (&y * 3.0).unwrap().sum_all().unwrap().backward().unwrap();
            (y.to_vec1::<f32>().unwrap(), grads.get(&x).unwrap().to_vec1::<f32>().unwrap())
        };
        assert_eq!(outcome(relu(&x).unwrap()), (vec![0.0, 0.0, 0.0, 2.0], vec![0.0, 3.0, 3.0, 3.0]));
        assert_eq!(outcome(x.relu().unwrap()), outcome(relu(&x).unwrap()));
    }

    /// Every way to an activation, for every instruction set: of 40 values the NaN shows, kept or dropped, and infinity
    /// does.
    #[test]
    fn what_is_not_finite_shows_behind_every_activation() {
        use crate::tensor::{Operator, Skeleton, affine, constant_convolution, dense_convolution};
        use std::sync::Arc;
        let device = &candle_core::Device::Cpu;
        let n = 40;
        let graph = gnarl_graph::Graph::empty(n).unwrap();
        let identity = Operator::constant_f32(&gnarl_graph::CsrMatrix::identity(n));
        let variable = identity.with_values(&identity.values().unwrap()).unwrap();
        let factors = Tensor::new(vec![vec![1f32, 0.0, 0.0]; n], device).unwrap();
        let factored = Operator::factored(&Arc::new(Skeleton::of(&graph)), &factors).unwrap();
        let (one, no_bias) = (Tensor::new(&[[1f32]], device).unwrap(), Tensor::new(&[0f32], device).unwrap());
        type Way<'a> = (&'a str, Box<dyn Fn(&Tensor, Dropout) -> Tensor + 'a>);
        let ways: [Way<'_>; 9] = [
            ("relu", Box::new(|x, _| relu(x).unwrap())),
            ("relu and dropout", Box::new(|x, d| relu_dropout(x, d).unwrap())),
            ("dropout", Box::new(|x, d| dropout(x, d).unwrap())),
            ("affine", Box::new(|x, d| affine(x, &one, &no_bias, Some(d)).unwrap())),
            ("constant operator", Box::new(|x, d| identity.apply_activated(x, &no_bias, d).unwrap())),
            ("variable operator", Box::new(|x, d| variable.apply_activated(x, &no_bias, d).unwrap())),
            ("factored operator", Box::new(|x, d| factored.apply_activated(x, &no_bias, d).unwrap())),
            (
                "dense convolution",
                Box::new(|x, d| dense_convolution(&identity, x, &one, &no_bias, d).unwrap().unwrap()),
            ),
            (
                "constant convolution",
                Box::new(|x, d| constant_convolution(&identity, &identity, x, &no_bias, d).unwrap().unwrap()),
            ),
        ];
        crate::tensor::simd::testing::for_every_level(|level| {
            for (name, way) in &ways {
                for rate in [0.0, 0.5] {
                    for at in 0..n {
                        let values = |bad: f32| (0..n).map(|i| if i == at { bad } else { 1.0 }).collect::<Vec<_>>();
                        let result = |bad: f32| {
                            let x = Tensor::from_vec(values(bad), (n, 1), device).unwrap();
                            way(&x, Dropout { rate, key: 9 }).flatten_all().unwrap().to_vec1::<f32>().unwrap()
                        };
                        let what = format!("{name}, {level:?}, rate {rate}, value {at}");
                        assert!(result(f32::NAN)[at].is_nan(), "{what}: {}", result(f32::NAN)[at]);
                        assert!(rate > 0.0 || !result(f32::INFINITY)[at].is_finite(), "{what}: infinity");
                        assert!(result(1.0).iter().all(|v| v.is_finite()), "{what}: all finite");
                    }
                }
            }
        });
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        for rate in [1.0, -0.1, f32::NAN] {
            assert!(relu_dropout(&random(&[2, 2], 1), Dropout { rate, key: 0 }).is_err(), "{rate}");
        }
    }
}
