//! Elementwise operations: one value in, one value out.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::Result;
use crate::kernels::CHUNK;
use crate::pattern::MIN_PARALLEL_WORK;
use crate::tape::{Computed, Gradients, Operation, apply};

/// Applies a function to every value.
pub(super) fn map<T: Float>(x: &Tensor, f: impl Fn(T) -> T + Sync) -> Result<Tensor> {
    let values = x.values::<T>()?;
    let part = |(out, x): (&mut [MaybeUninit<T>], &[T])| {
        out.iter_mut()
            .zip(x)
            .for_each(|(out, x)| _ = out.write(f(*x)));
    };
    let fill = |out: &mut [MaybeUninit<T>]| {
        if values.len() < MIN_PARALLEL_WORK {
            part((out, &values));
        } else {
            out.par_chunks_mut(CHUNK)
                .zip(values.par_chunks(CHUNK))
                .for_each(part);
        }
    };
    // SAFETY: a value is written for each of x, and there are as many.
    Ok(unsafe { Tensor::filled(*x.shape(), fill) })
}

/// Declares operations: a name, the function of a value, and the gradient in tensor operations.
macro_rules! elementwise {
    ($($(#[$meta:meta])* $op:ident $(($($field:ident : $kind:ty),+))?, $name:literal, $method:ident:
        |$x:ident| $value:expr, |$input:ident, $output:ident, $grad:ident| $back:expr;)*) => {$(
        $(#[$meta])*
        pub(crate) struct $op { $($($field: $kind),+)? }

        impl Operation for $op {
            fn name(&self) -> &'static str {
                $name
            }

            fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
                $(let $op { $($field),+ } = self;)?
                by_precision!($name, inputs[0].dtype(), T => {
                    $($(let $field = T::of(*$field);)+)?
                    map(&inputs[0], |$x: T| $value)
                })
            }

            fn backward(&self, at: &Computed<'_>, $grad: &Tensor) -> Result<Gradients> {
                $(let $op { $($field),+ } = self; $(let $field = *$field; let _ = $field;)+)?
                let ($input, $output) = (&at.inputs[0], at.output);
                let _ = ($input, $output);
                Ok(vec![Some($back)])
            }
        }

        impl Tensor {
            $(#[$meta])*
            pub fn $method(&self $($(, $field: $kind)+)?) -> Result<Tensor> {
                apply($op { $($($field),+)? }, &[self])
            }
        }
    )*};
}

elementwise! {
    /// The negative of every value.
    Neg, "neg", neg: |x| -x, |_x, _y, g| g.neg()?;
    /// The exponential of every value.
    Exp, "exp", exp: |x| x.exp(), |_x, y, g| g.mul(y)?;
    /// The natural logarithm of every value.
    Log, "log", log: |x| x.ln(), |x, _y, g| g.div(x)?;
    /// The square root of every value.
    Sqrt, "sqrt", sqrt: |x| x.sqrt(), |_x, y, g| g.div(&y.affine(2.0, 0.0)?)?;
    /// The square of every value.
    Sqr, "sqr", sqr: |x| x * x, |x, _y, g| g.mul(&x.affine(2.0, 0.0)?)?;
    /// The hyperbolic tangent of every value.
    Tanh, "tanh", tanh: |x| x.tanh(), |_x, y, g| g.mul(&y.sqr()?.affine(-1.0, 1.0)?)?;
    /// One over every value.
    Recip, "recip", recip: |x| 1.0 / x, |_x, y, g| g.mul(&y.sqr()?)?.neg()?;
    /// Every value without its sign.
    Abs, "abs", abs: |x| x.abs(), |x, _y, g| g.mul(&x.sign()?)?;
    /// The sign of every value, 0 for zero; its gradient is zero.
    Sign, "sign", sign: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x * 0.0 }, |_x, _y, g| g.affine(0.0, 0.0)?;
    /// Every value to the nearest whole number; its gradient is zero.
    Round, "round", round: |x| x.round(), |_x, _y, g| g.affine(0.0, 0.0)?;
    /// `mul · x + add` of every value.
    Affine(mul: f64, add: f64), "affine", affine: |x| mul * x + add, |_x, _y, g| g.affine(mul, 0.0)?;
    /// A power of every value.
    Powf(exponent: f64), "powf", powf: |x| x.powf(exponent), |x, _y, g| g.mul(&x.powf(exponent - 1.0)?.affine(exponent, 0.0)?)?;
    /// The exponential linear unit: `alpha (exp(x) - 1)` below zero.
    Elu(alpha: f64), "elu", elu: |x| if x > 0.0 { x } else { alpha * (x.exp() - 1.0) }, |x, _y, g| {
        // Its slope is one above zero and `alpha exp(x)` below.
        let positive = x.gt(0.0)?;
        let below = x.minimum_with_zero()?.exp()?.affine(alpha, 0.0)?;
        g.mul(&positive.where_cond(&x.ones_like()?, &below)?)?
    };
}

impl Tensor {
    /// Replaces positive values by zero, so that their exponential is finite.
    fn minimum_with_zero(&self) -> Result<Tensor> {
        self.gt(0.0)?.where_cond(&self.zeros_like()?, self)
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, on_odd_shapes};

    impl Examples for Neg {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.neg())
        }
    }

    impl Examples for Exp {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.exp())
        }
    }

    impl Examples for Sqr {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.sqr())
        }
    }

    impl Examples for Tanh {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.tanh())
        }
    }

    impl Examples for Log {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.log())
                .into_iter()
                .map(Example::positive)
                .collect()
        }
    }

    impl Examples for Sqrt {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.sqrt())
                .into_iter()
                .map(Example::positive)
                .collect()
        }
    }

    impl Examples for Recip {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.recip())
                .into_iter()
                .map(Example::off_zero)
                .collect()
        }
    }

    impl Examples for Abs {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.abs())
                .into_iter()
                .map(Example::off_zero)
                .collect()
        }
    }

    impl Examples for Sign {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.sign())
                .into_iter()
                .map(Example::off_zero)
                .collect()
        }
    }

    impl Examples for Elu {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.elu(0.7))
                .into_iter()
                .map(Example::off_zero)
                .collect()
        }
    }

    impl Examples for Round {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| (x * 0.4)?.round())
        }
    }

    impl Examples for Affine {
        fn examples() -> Vec<Example> {
            on_odd_shapes(|x| x.affine(-1.5, 0.3))
        }
    }

    impl Examples for Powf {
        fn examples() -> Vec<Example> {
            let powers = [3.0, -0.5, 1.0].into_iter();
            powers
                .flat_map(|p| on_odd_shapes(move |x| x.powf(p)))
                .map(Example::positive)
                .collect()
        }
    }
}
