//! Sums, differences, products, quotients and maxima of two tensors.
//!
//! The methods `add`, `mul` and so on require equal shapes; `broadcast_add` and its like broadcast
//! dimensions of length one and missing outer dimensions.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::kernels::CHUNK;
use crate::pattern::MIN_PARALLEL_WORK;
use crate::shape::Shape;
use crate::tape::{Computed, Gradients, Operation, apply};

/// Applies a function to the values of two tensors, broadcast to one shape.
fn zip<T: Float>(
    name: &str,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<Tensor> {
    let Some(shape) = a.shape().broadcast(b.shape()) else {
        bail!(
            "{name}: shapes {:?} and {:?} do not fit",
            a.shape(),
            b.shape()
        )
    };
    let (left, right) = (a.values::<T>()?, b.values::<T>()?);
    let walk = Walk::new(&shape, a.shape(), b.shape());
    let fill = |out: &mut [MaybeUninit<T>]| {
        if let Some([by_left, by_right]) = walk.is_flat() {
            let part = |(i, out): (usize, &mut [MaybeUninit<T>])| {
                let from = i * CHUNK;
                match (by_left, by_right) {
                    (1, 1) => out
                        .iter_mut()
                        .zip(&left[from..])
                        .zip(&right[from..])
                        .for_each(|((out, l), r)| _ = out.write(f(*l, *r))),
                    (1, _) => out
                        .iter_mut()
                        .zip(&left[from..])
                        .for_each(|(out, l)| _ = out.write(f(*l, right[0]))),
                    _ => out
                        .iter_mut()
                        .zip(&right[from..])
                        .for_each(|(out, r)| _ = out.write(f(left[0], *r))),
                }
            };
            if out.len() < MIN_PARALLEL_WORK {
                out.chunks_mut(CHUNK).enumerate().for_each(part);
            } else {
                out.par_chunks_mut(CHUNK).enumerate().for_each(part);
            }
            return;
        }
        let inner = walk.inner;
        let rows = |(first, out): (usize, &mut [MaybeUninit<T>])| {
            for (i, out) in out.chunks_mut(inner).enumerate() {
                let [l, r] = walk.row(first + i);
                match walk.steps {
                    [1, 1] => out
                        .iter_mut()
                        .zip(&left[l..l + inner])
                        .zip(&right[r..r + inner])
                        .for_each(|((out, l), r)| _ = out.write(f(*l, *r))),
                    [1, _] => out
                        .iter_mut()
                        .zip(&left[l..l + inner])
                        .for_each(|(out, l)| _ = out.write(f(*l, right[r]))),
                    _ => out
                        .iter_mut()
                        .zip(&right[r..r + inner])
                        .for_each(|(out, r)| _ = out.write(f(left[l], *r))),
                }
            }
        };
        if out.len() < MIN_PARALLEL_WORK {
            rows((0, out));
        } else {
            let together = CHUNK.div_ceil(inner);
            let parts = out.par_chunks_mut(together * inner).enumerate();
            parts.for_each(|(i, out)| rows((i * together, out)));
        }
    };
    // SAFETY: the rows cover the whole shape, and each of their values is written.
    Ok(unsafe { Tensor::filled(shape, fill) })
}

/// Joint traversal of two tensors: rows of `inner` values, along which each side moves by one step
/// or none.
struct Walk {
    inner: usize,
    steps: [usize; 2],
    /// Length of each dimension outside the rows, from the inmost, and the step of each side along
    /// it.
    outer: Vec<(usize, [usize; 2])>,
}

impl Walk {
    fn new(shape: &Shape, a: &Shape, b: &Shape) -> Self {
        let rank = shape.rank();
        let mut strides = [1, 1];
        let mut dims: Vec<(usize, [usize; 2])> = Vec::new();
        for d in (0..rank).rev() {
            let length = shape.dims()[d];
            let own = [a.aligned(d, rank), b.aligned(d, rank)];
            let moves = [0, 1].map(|side| {
                if own[side] == 1 && length != 1 {
                    0
                } else {
                    strides[side]
                }
            });
            strides = [0, 1].map(|side| strides[side] * own[side]);
            if length == 1 {
                continue;
            }
            // A dimension that continues where the inner one ends is merged with it.
            match dims.last_mut() {
                Some((inside, steps)) if [0, 1].iter().all(|&s| moves[s] == steps[s] * *inside) => {
                    *inside *= length
                }
                _ => dims.push((length, moves)),
            }
        }
        let (inner, steps) = if dims.is_empty() {
            (1, [1, 1])
        } else {
            dims.remove(0)
        };
        Self {
            inner: inner.max(1),
            steps,
            outer: dims,
        }
    }

    /// Returns the step of each side if everything is one row.
    fn is_flat(&self) -> Option<[usize; 2]> {
        self.outer.is_empty().then_some(self.steps)
    }

    /// Returns the offset of a row on each side.
    fn row(&self, mut index: usize) -> [usize; 2] {
        let mut at = [0, 0];
        for (length, moves) in &self.outer {
            let position = index % length;
            index /= length;
            at = [at[0] + position * moves[0], at[1] + position * moves[1]];
        }
        at
    }
}

/// Declares operations of two tensors: the function of two values, and the gradients before they
/// are summed over broadcast dimensions.
macro_rules! arithmetic {
    ($($(#[$meta:meta])* $op:ident, $name:literal, $method:ident, $broadcasting:ident: |$a:ident, $b:ident| $value:expr,
        |$left:ident, $right:ident, $output:ident, $grad:ident| ($to_left:expr, $to_right:expr);)*) => {$(
        $(#[$meta])*
        pub(crate) struct $op;

        impl Operation for $op {
            fn name(&self) -> &'static str {
                $name
            }

            fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
                by_precision!($name, inputs[0].dtype(), T => zip($name, &inputs[0], &inputs[1], |$a: T, $b: T| $value))
            }

            fn backward(&self, at: &Computed<'_>, $grad: &Tensor) -> Result<Gradients> {
                let ($left, $right, $output) = (&at.inputs[0], &at.inputs[1], at.output);
                let _ = ($left, $right, $output);
                let to_left = at.to(0, || $to_left?.sum_to($left.shape()))?;
                let to_right = at.to(1, || $to_right?.sum_to($right.shape()))?;
                Ok(vec![to_left, to_right])
            }
        }

        impl Tensor {
            $(#[$meta])*
            /// Both tensors must have one shape.
            pub fn $method(&self, other: &Tensor) -> Result<Tensor> {
                if self.shape() != other.shape() {
                    bail!("{}: shapes {:?} and {:?} differ", $name, self.shape(), other.shape());
                }
                apply($op, &[self, other])
            }

            $(#[$meta])*
            /// Dimensions of length one, and missing ones, are broadcast.
            pub fn $broadcasting(&self, other: &Tensor) -> Result<Tensor> {
                apply($op, &[self, other])
            }
        }
    )*};
}

arithmetic! {
    /// The sum of two tensors.
    Add, "add", add, broadcast_add: |a, b| a + b, |_a, _b, _y, g| (Ok(g.clone()), Ok(g.clone()));
    /// The difference of two tensors.
    Sub, "sub", sub, broadcast_sub: |a, b| a - b, |_a, _b, _y, g| (Ok(g.clone()), g.neg());
    /// The product of two tensors, value by value.
    Mul, "mul", mul, broadcast_mul: |a, b| a * b, |a, b, _y, g| (g.broadcast_mul(b), g.broadcast_mul(a));
    /// The quotient of two tensors, value by value.
    Div, "div", div, broadcast_div: |a, b| a / b,
        |_a, b, y, g| (g.broadcast_div(b), g.mul(y)?.broadcast_div(b)?.neg());
    /// The larger of two values; equal values take half of the gradient each, and NaN stays NaN.
    Maximum, "maximum", maximum, broadcast_maximum: |a, b| if a >= b || a.is_nan() { a } else { b },
        |a, b, _y, g| (g.mul(&a.share_of_maximum(b)?), g.mul(&a.share_of_maximum(b)?.affine(-1.0, 1.0)?));
}

/// Operators between tensors, such as `&a + &b`, and with a number on one side.
macro_rules! operators {
    ($($kind:ident, $fun:ident, $method:ident;)*) => {$(
        impl<B: AsRef<Tensor>> std::ops::$kind<B> for &Tensor {
            type Output = Result<Tensor>;

            fn $fun(self, other: B) -> Result<Tensor> {
                Tensor::$method(self, other.as_ref())
            }
        }

        impl<B: AsRef<Tensor>> std::ops::$kind<B> for Tensor {
            type Output = Result<Tensor>;

            fn $fun(self, other: B) -> Result<Tensor> {
                Tensor::$method(&self, other.as_ref())
            }
        }
    )*};
}

operators! {
    Add, add, add;
    Sub, sub, sub;
    Mul, mul, mul;
    Div, div, div;
}

/// Operators between a tensor and a number on either side.
macro_rules! with_numbers {
    ($($kind:ident, $fun:ident: |$x:ident, $c:ident| $right:expr, $left:expr;)*) => {$(
        impl std::ops::$kind<f64> for &Tensor {
            type Output = Result<Tensor>;

            fn $fun(self, $c: f64) -> Result<Tensor> {
                let $x = self;
                $right
            }
        }

        impl std::ops::$kind<f64> for Tensor {
            type Output = Result<Tensor>;

            fn $fun(self, $c: f64) -> Result<Tensor> {
                let $x = &self;
                $right
            }
        }

        impl std::ops::$kind<&Tensor> for f64 {
            type Output = Result<Tensor>;

            fn $fun(self, $x: &Tensor) -> Result<Tensor> {
                let $c = self;
                $left
            }
        }

        impl std::ops::$kind<Tensor> for f64 {
            type Output = Result<Tensor>;

            fn $fun(self, tensor: Tensor) -> Result<Tensor> {
                let ($x, $c) = (&tensor, self);
                $left
            }
        }
    )*};
}

with_numbers! {
    Add, add: |x, c| x.affine(1.0, c), x.affine(1.0, c);
    Sub, sub: |x, c| x.affine(1.0, -c), x.affine(-1.0, c);
    Mul, mul: |x, c| x.affine(c, 0.0), x.affine(c, 0.0);
    Div, div: |x, c| x.affine(1.0 / c, 0.0), x.recip()?.affine(c, 0.0);
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    /// Every way in which two shapes can be broadcast.
    fn meeting(function: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<Example> {
        let shapes: [[&[usize]; 2]; 9] = [
            [&[3, 5], &[3, 5]],
            [&[3, 5], &[5]],
            [&[], &[2, 3]],
            [&[4, 1], &[1, 3]],
            [&[4, 1], &[4, 7]],
            [&[2, 3, 4], &[3, 1]],
            [&[0, 3], &[3]],
            [&[1], &[1]],
            [&[2, 17], &[2, 17]],
        ];
        shapes
            .iter()
            .map(|pair| Example::of(pair, move |v| function(&v[0], &v[1])))
            .collect()
    }

    impl Examples for Add {
        fn examples() -> Vec<Example> {
            meeting(Tensor::broadcast_add)
        }
    }

    impl Examples for Sub {
        fn examples() -> Vec<Example> {
            meeting(Tensor::broadcast_sub)
        }
    }

    impl Examples for Mul {
        fn examples() -> Vec<Example> {
            meeting(Tensor::broadcast_mul)
        }
    }

    impl Examples for Div {
        fn examples() -> Vec<Example> {
            meeting(Tensor::broadcast_div)
                .into_iter()
                .map(Example::off_zero)
                .collect()
        }
    }

    impl Examples for Maximum {
        fn examples() -> Vec<Example> {
            meeting(Tensor::broadcast_maximum)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    /// Every way in which two shapes can be broadcast, compared with a walk by indices.
    #[test]
    fn broadcasting_by_hand() {
        let numbers = |dims: &[usize]| {
            let count: usize = dims.iter().product();
            Tensor::from_vec(
                (0..count).map(|i| (i + 1) as f64).collect(),
                dims,
                &Device::Cpu,
            )
            .unwrap()
        };
        let shapes: [(&[usize], &[usize]); 14] = [
            (&[2, 3], &[2, 3]),
            (&[2, 3], &[]),
            (&[], &[2, 3]),
            (&[2, 3], &[3]),
            (&[3], &[2, 3]),
            (&[2, 3], &[2, 1]),
            (&[2, 1], &[1, 3]),
            (&[4, 2, 3], &[2, 3]),
            (&[4, 2, 3], &[4, 1, 3]),
            (&[4, 1, 3], &[1, 2, 1]),
            (&[4, 2, 3], &[4, 2, 1]),
            (&[0, 3], &[3]),
            (&[1, 1], &[1]),
            (&[5, 1], &[5, 1]),
        ];
        for (a, b) in shapes {
            let y = numbers(a).broadcast_sub(&numbers(b)).unwrap();
            let (shape, rank) = (*y.shape(), y.rank());
            let at = |dims: &[usize], mut index: usize| {
                let own = Shape::from(dims);
                let (mut position, mut stride) = (0, 1);
                for d in (0..rank).rev() {
                    let here = index % shape.dims()[d];
                    index /= shape.dims()[d];
                    let length = own.aligned(d, rank);
                    position += if length == 1 { 0 } else { here * stride };
                    stride *= length;
                }
                (position + 1) as f64
            };
            let expected: Vec<f64> = (0..y.elem_count()).map(|i| at(a, i) - at(b, i)).collect();
            assert_eq!(&y.values::<f64>().unwrap()[..], expected, "{a:?} and {b:?}");
        }
        let e = numbers(&[2])
            .broadcast_add(&numbers(&[3]))
            .unwrap_err()
            .to_string();
        assert_eq!(e, "add: shapes [2] and [3] do not fit");
        let e = numbers(&[2])
            .mul(&numbers(&[2, 1]))
            .unwrap_err()
            .to_string();
        assert_eq!(e, "mul: shapes [2] and [2, 1] differ");
    }

    #[test]
    fn numbers_on_either_side() {
        let x = Tensor::new(&[1f64, 4.0], &Device::Cpu).unwrap();
        let values = |y: Result<Tensor>| y.unwrap().to_vec1::<f64>().unwrap();
        assert_eq!(values(&x + 1.0), [2.0, 5.0]);
        assert_eq!(values(1.0 - &x), [0.0, -3.0]);
        assert_eq!(values(&x / 2.0), [0.5, 2.0]);
        assert_eq!(values(2.0 / x.clone()), [2.0, 0.5]);
        assert_eq!(values(&x * &x), [1.0, 16.0]);
    }

    #[test]
    fn maximum_with_nan_is_nan() {
        let x = Tensor::new(&[f32::NAN, 1.0, 2.0], &Device::Cpu).unwrap();
        let y = Tensor::new(&[1f32, f32::NAN, 3.0], &Device::Cpu).unwrap();
        let largest = x.maximum(&y).unwrap().to_vec1::<f32>().unwrap();
        assert!(largest[0].is_nan() && largest[1].is_nan() && largest[2] == 3.0);
    }
}
