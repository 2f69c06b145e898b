//! ReLU and dropout in one pass, with a counter-based random generator. A hash of `i` and the
//! step's key decides if entry `i` is kept. Neither the thread count nor the order of evaluation
//! changes a result.

use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::tape::{Computed, Gradients, Operation, Sinks, apply};

/// Dropout probability and the random key of one dropout mask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// Probability that a value becomes zero; the others are scaled by `1 / (1 - rate)`.
    pub rate: f32,
    /// Random key: a new one for every layer and every step.
    pub key: u64,
}

impl Dropout {
    /// No dropout: every value is kept.
    pub const NONE: Dropout = Dropout { rate: 0.0, key: 0 };

    pub(crate) fn check(self) -> Result<Self> {
        if (0.0..1.0).contains(&self.rate) {
            Ok(self)
        } else {
            bail!("dropout: rate {} must be at least 0 and below 1", self.rate)
        }
    }

    /// Returns the dropout probability as a share of 2^32.
    pub(crate) fn threshold(self) -> u32 {
        (f64::from(self.rate) * 4_294_967_296.0) as u32
    }

    pub(crate) fn scale<T: Float>(self) -> T {
        T::of(f64::from(1.0 / (1.0 - self.rate)))
    }
}

/// Computes `max(x, 0)`. The result for NaN is NaN, here and in all functions below: a diverged
/// network must show.
///
/// The gradient at zero is one.
pub fn relu(x: &Tensor) -> Result<Tensor> {
    apply(Relu, &[x])
}

impl Tensor {
    /// Computes `max(x, 0)`; NaN stays NaN, and the gradient at zero is one.
    pub fn relu(&self) -> Result<Tensor> {
        relu(self)
    }
}

/// Computes `dropout(max(x, 0))`; the gradient at zero is zero.
pub fn relu_dropout(x: &Tensor, dropout: Dropout) -> Result<Tensor> {
    apply(ReluDropout(dropout.check()?), &[x])
}

/// Computes `dropout(x)`.
pub fn dropout(x: &Tensor, dropout: Dropout) -> Result<Tensor> {
    if dropout.check()?.rate == 0.0 {
        Ok(x.clone())
    } else {
        apply(PlainDropout(dropout), &[x])
    }
}

pub(crate) struct Relu;

impl Operation for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        ReluDropout(Dropout::NONE).forward(inputs)
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.mul(&at.inputs[0].ge(0.0)?)?)])
    }
}

pub(crate) struct ReluDropout(Dropout);

impl Operation for ReluDropout {
    fn name(&self) -> &'static str {
        "relu and dropout"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let d = self.0;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let x = inputs[0].values::<T>()?;
            let kernel = inputs[0].device().kernels::<T>().relu_dropout;
            // SAFETY: the kernel writes a value for each of x.
            Ok(unsafe { Tensor::filled(*inputs[0].shape(), |out| kernel(&x, d, out)) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(apply(
            Gate {
                scale: self.0.scale(),
            },
            &[at.output, grad],
        )?)])
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        to.give(0, before_activation(at.output, grad, self.0)?)
    }
}

/// Returns the gradient before the activation, in place of the gradient behind it if that is not
/// shared. A result is positive exactly where the input was positive and was kept.
pub(crate) fn before_activation(
    result: &Tensor,
    mut grad: Tensor,
    dropout: Dropout,
) -> Result<Tensor> {
    by_precision!("gate", grad.dtype(), T => {
        let Some(values) = grad.values_mut::<T>() else {
            return Gate { scale: dropout.scale() }.forward(&[result.clone(), grad]);
        };
        (result.device().kernels::<T>().gate_in_place)(&result.values::<T>()?, values, dropout.scale());
    });
    Ok(grad)
}

/// `x · scale` for positive results, else zero. Linear in x, and piecewise constant in the result.
pub(crate) struct Gate {
    scale: f64,
}

impl Operation for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        if inputs[0].shape() != inputs[1].shape() {
            bail!(
                "gate: shapes {:?} and {:?} differ",
                inputs[0].shape(),
                inputs[1].shape()
            );
        }
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let (result, x) = (inputs[0].values::<T>()?, inputs[1].values::<T>()?);
            let kernel = inputs[0].device().kernels::<T>().gate;
            // SAFETY: the kernel writes a value for each result.
            Ok(unsafe { Tensor::filled(*inputs[0].shape(), |out| kernel(&result, &x, T::of(self.scale), out)) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let to_result = at.to(0, || at.inputs[0].zeros_like())?;
        Ok(vec![
            to_result,
            at.to(1, || {
                apply(Gate { scale: self.scale }, &[&at.inputs[0], grad])
            })?,
        ])
    }
}

/// Dropout without ReLU. Dropout is linear, so its gradient is the same dropout of the gradient.
pub(crate) struct PlainDropout(Dropout);

impl Operation for PlainDropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let d = self.0;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let x = inputs[0].values::<T>()?;
            let kernel = inputs[0].device().kernels::<T>().dropout;
            // SAFETY: the kernel writes a value for each of x.
            Ok(unsafe { Tensor::filled(*inputs[0].shape(), |out| kernel(&x, d, out)) })
        })
    }

    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(apply(PlainDropout(self.0), &[grad])?)])
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, on_odd_shapes};

    const DRAW: Dropout = Dropout { rate: 0.4, key: 5 };

    impl Examples for Relu {
        fn examples() -> Vec<Example> {
            on_odd_shapes(relu)
                .into_iter()
                .map(Example::off_zero)
                .collect()
        }
    }

    impl Examples for ReluDropout {
        fn examples() -> Vec<Example> {
            let draws = [DRAW, Dropout::NONE].into_iter();
            draws
                .flat_map(|draw| on_odd_shapes(move |x| relu_dropout(x, draw)))
                .map(Example::off_zero)
                .collect()
        }
    }

    impl Examples for Gate {
        fn examples() -> Vec<Example> {
            let gated = |v: &[Tensor]| apply(Gate { scale: 1.5 }, &[&v[0], &v[1]]);
            vec![
                Example::of(&[&[3, 17], &[3, 17]], gated).off_zero(),
                Example::of(&[&[0, 2], &[0, 2]], gated),
            ]
        }
    }

    impl Examples for PlainDropout {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| dropout(x, DRAW))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_gradients, random};

    #[test]
    fn without_dropout_it_is_relu() {
        let x = random(&[50, 40], 1);
        let diff = (relu_dropout(&x, Dropout::NONE).unwrap() - x.relu().unwrap()).unwrap();
        assert_eq!(
            diff.abs()
                .unwrap()
                .max_all()
                .unwrap()
                .to_scalar::<f32>()
                .unwrap(),
            0.0
        );
    }

    #[test]
    fn drops_the_given_share_and_keeps_the_mean() {
        let ones = Tensor::ones((1000, 100), crate::DType::F32, &crate::Device::Cpu).unwrap();
        for (rate, key) in [(0.1f32, 1u64), (0.5, 2), (0.8, 3), (0.5, 3 << 40)] {
            let y = dropout(&ones, Dropout { rate, key })
                .unwrap()
                .flatten_all()
                .unwrap()
                .to_vec1::<f32>()
                .unwrap();
            let dropped = y.iter().filter(|&&v| v == 0.0).count() as f32 / y.len() as f32;
            // Six standard deviations of a share of 100,000 samples.
            assert!(
                (dropped - rate).abs() < 6.0 * (rate * (1.0 - rate) / 1e5).sqrt(),
                "rate {rate}: {dropped}"
            );
            // Neighbours in a row and in a column are dropped independently.
            let both = |lag: usize| {
                (0..y.len() - lag)
                    .filter(|&i| y[i] == 0.0 && y[i + lag] == 0.0)
                    .count() as f32
                    / 1e5
            };
            for lag in [1, 2, 16, 100] {
                assert!(
                    (both(lag) - rate * rate).abs() < 0.01,
                    "rate {rate} lag {lag}: {}",
                    both(lag)
                );
            }
        }
        let other = dropout(&ones, Dropout { rate: 0.5, key: 7 }).unwrap();
        let one = dropout(&ones, Dropout { rate: 0.5, key: 2 }).unwrap();
        let same = one
            .eq(&other)
            .unwrap()
            .to_dtype(crate::DType::F32)
            .unwrap()
            .mean_all()
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        assert!((same - 0.5).abs() < 0.01, "another key draws anew: {same}");
    }

    #[test]
    fn gradients() {
        // Values are kept away from the kink at zero, where finite differences mean nothing.
        let x = random(&[6, 5], 2);
        let x = (x.sign().unwrap() * (x.abs().unwrap() + 0.05).unwrap()).unwrap();
        let d = Dropout { rate: 0.4, key: 5 };
        check_gradients(std::slice::from_ref(&x), |v| relu_dropout(&v[0], d));
        check_gradients(&[x], |v| dropout(&v[0], d));
    }

    #[test]
    fn relu_at_zero_and_next_to_it() {
        let x = crate::Var::new(&[-1f32, -0.0, 0.0, 2.0], &crate::Device::Cpu).unwrap();
        let outcome = |y: Tensor| {
            let grads = (&y * 3.0).unwrap().sum_all().unwrap().backward().unwrap();
            (
                y.to_vec1::<f32>().unwrap(),
                grads.get(&x).unwrap().to_vec1::<f32>().unwrap(),
            )
        };
        assert_eq!(
            outcome(relu(&x).unwrap()),
            (vec![0.0, 0.0, 0.0, 2.0], vec![0.0, 3.0, 3.0, 3.0])
        );
        assert_eq!(outcome(x.relu().unwrap()), outcome(relu(&x).unwrap()));
    }

    /// An activation applied to one column of values.
    type Path<'a> = (&'a str, Box<dyn Fn(&Tensor, Dropout) -> Tensor + 'a>);

    /// Operators that are the identity on `n` nodes: constant, variable and factored.
    fn identities(n: usize) -> [crate::Operator; 3] {
        use crate::{FactoredPattern, Operator};
        let graph = gnarl_graph::Graph::empty(n).unwrap();
        let identity = Operator::constant_f32(&gnarl_graph::CsrMatrix::identity(n));
        let variable = identity.with_values(&identity.values().unwrap()).unwrap();
        let factors = Tensor::new(vec![vec![1f32, 0.0, 0.0]; n], &crate::Device::Cpu).unwrap();
        let pattern = std::sync::Arc::new(FactoredPattern::of(&graph));
        let factored = Operator::factored(&pattern, &factors).unwrap();
        [identity, variable, factored]
    }

    /// Every code path of an activation, with weights of one and a bias of zero.
    fn activation_paths<'a>(
        [identity, variable, factored]: &'a [crate::Operator; 3],
        one: &'a Tensor,
        no_bias: &'a Tensor,
    ) -> [Path<'a>; 9] {
        use crate::{affine, constant_convolution, dense_convolution};
        [
            ("relu", Box::new(|x, _| relu(x).unwrap())),
            (
                "relu and dropout",
                Box::new(|x, d| relu_dropout(x, d).unwrap()),
            ),
            ("dropout", Box::new(|x, d| dropout(x, d).unwrap())),
            (
                "affine",
                Box::new(|x, d| affine(x, one, no_bias, Some(d)).unwrap()),
            ),
            (
                "constant operator",
                Box::new(|x, d| identity.apply_activated(x, no_bias, d).unwrap()),
            ),
            (
                "variable operator",
                Box::new(|x, d| variable.apply_activated(x, no_bias, d).unwrap()),
            ),
            (
                "factored operator",
                Box::new(|x, d| factored.apply_activated(x, no_bias, d).unwrap()),
            ),
            (
                "dense convolution",
                Box::new(|x, d| {
                    let y = dense_convolution(identity, x, one, no_bias, d);
                    y.unwrap().unwrap()
                }),
            ),
            (
                "constant convolution",
                Box::new(|x, d| {
                    let y = constant_convolution(identity, identity, x, no_bias, d);
                    y.unwrap().unwrap()
                }),
            ),
        ]
    }

    /// Applies an activation to ones, with another value at one place.
    fn activated(path: &Path<'_>, d: Dropout, n: usize, at: usize, value: f32) -> Vec<f32> {
        let mut x = vec![1.0; n];
        x[at] = value;
        let x = Tensor::from_vec(x, (n, 1), &crate::Device::Cpu).unwrap();
        path.1(&x, d).flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Every activation path, for every instruction set: of 40 values, a NaN is visible, kept or
    /// dropped, and so is infinity.
    #[test]
    fn what_is_not_finite_shows_behind_every_activation() {
        let (n, device) = (40, &crate::Device::Cpu);
        let one = Tensor::new(&[[1f32]], device).unwrap();
        let no_bias = Tensor::new(&[0f32], device).unwrap();
        let operators = identities(n);
        let paths = activation_paths(&operators, &one, &no_bias);
        crate::simd::testing::for_every_instruction_set(|instruction_set| {
            for path in &paths {
                for (rate, at) in [0.0, 0.5]
                    .iter()
                    .flat_map(|&r| (0..n).map(move |at| (r, at)))
                {
                    let result = |value| activated(path, Dropout { rate, key: 9 }, n, at, value);
                    let what = format!("{}, {instruction_set:?}, rate {rate}, value {at}", path.0);
                    let nan = result(f32::NAN)[at];
                    assert!(nan.is_nan(), "{what}: {nan}");
                    assert!(
                        rate > 0.0 || !result(f32::INFINITY)[at].is_finite(),
                        "{what}: infinity"
                    );
                    assert!(
                        result(1.0).iter().all(|v| v.is_finite()),
                        "{what}: all finite"
                    );
                }
            }
        });
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        for rate in [1.0, -0.1, f32::NAN] {
            assert!(
                relu_dropout(&random(&[2, 2], 1), Dropout { rate, key: 0 }).is_err(),
                "{rate}"
            );
        }
    }
}
