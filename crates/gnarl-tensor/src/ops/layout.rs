//! Reshaping, slicing, padding, concatenating and transposing tensors.

use std::mem::MaybeUninit;

use crate::array::Tensor;
use crate::buffer::Buffer;
use crate::element::{DType, Element, Float, by_precision};
use crate::error::{Result, bail};
use crate::kernels;
use crate::shape::Shape;
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply, apply_all};

/// The values in another shape.
pub(crate) struct Reshape {
    shape: Shape,
}

impl Operation for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        Ok(inputs[0].view(self.shape, 0))
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.reshape(at.inputs[0].shape())?)])
    }
}

/// A range of one dimension.
pub(crate) struct Narrow {
    dim: usize,
    start: usize,
    len: usize,
}

/// Copies a range of the middle dimension of `(outer, length, inner)` values.
fn take_range<T: Element>(
    x: &[T],
    (outer, length, inner): (usize, usize, usize),
    start: usize,
    len: usize,
) -> Vec<T> {
    let mut out = Vec::with_capacity(outer * len * inner);
    for o in 0..outer {
        out.extend_from_slice(&x[(o * length + start) * inner..][..len * inner]);
    }
    out
}

impl Operation for Narrow {
    fn name(&self) -> &'static str {
        "narrow"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let x = &inputs[0];
        let around = x.shape().around(self.dim)?;
        let shape = x.shape().with_dim(self.dim, self.len);
        if around.0 == 1 {
            return Ok(x.view(shape, self.start * around.2));
        }
        Ok(match x.dtype() {
            DType::F32 => Tensor::from_buffer(
                take_range(&x.values::<f32>()?, around, self.start, self.len).into(),
                shape,
            ),
            DType::F64 => Tensor::from_buffer(
                take_range(&x.values::<f64>()?, around, self.start, self.len).into(),
                shape,
            ),
            DType::U32 => Tensor::from_buffer(
                take_range(&x.values::<u32>()?, around, self.start, self.len).into(),
                shape,
            ),
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let length = at.inputs[0].dim(self.dim)?;
        Ok(vec![Some(apply(
            Pad {
                dim: self.dim,
                start: self.start,
                length,
            },
            &[grad],
        )?)])
    }

    /// Only the range is touched, unless it is the first share.
    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (outer, length, inner) = at.inputs[0].shape().around(self.dim)?;
        let (start, len) = (self.start * inner, self.len * inner);
        by_precision!(self.name(), grad.dtype(), T => {
            let grad = grad.values::<T>()?;
            let parts = |o: usize| (o * length * inner + start, &grad[o * len..(o + 1) * len]);
            let work = |target: Target<'_, T>| match target {
                Target::Add(sum) => (0..outer).for_each(|o| {
                    let (at, part) = parts(o);
                    kernels::add_to(part, &mut sum[at..at + len]);
                }),
                Target::Write(out) => write_padded(out, (outer, length * inner), start, &grad),
            };
            // SAFETY: values outside the range are written as zeros.
            unsafe { to.fill::<T>(0, work) }
        })
    }
}

/// Writes rows of `width` values: zeros, except for a range that begins at `start`.
fn write_padded<T: Float>(
    out: &mut [MaybeUninit<T>],
    (rows, width): (usize, usize),
    start: usize,
    range: &[T],
) {
    let len = range.len() / rows.max(1);
    for (o, out) in out.chunks_mut(width.max(1)).enumerate().take(rows) {
        out[..start]
            .iter_mut()
            .for_each(|out| _ = out.write(T::ZERO));
        out[start..start + len]
            .iter_mut()
            .zip(&range[o * len..])
            .for_each(|(out, x)| _ = out.write(*x));
        out[start + len..]
            .iter_mut()
            .for_each(|out| _ = out.write(T::ZERO));
    }
}

/// Zeros around the values of one dimension: the adjoint of a range.
pub(crate) struct Pad {
    dim: usize,
    start: usize,
    length: usize,
}

impl Operation for Pad {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let x = &inputs[0];
        let (outer, _, inner) = x.shape().around(self.dim)?;
        let shape = x.shape().with_dim(self.dim, self.length);
        by_precision!(self.name(), x.dtype(), T => {
            let values = x.values::<T>()?;
            let fill = |out: &mut [MaybeUninit<T>]| {
                write_padded(out, (outer, self.length * inner), self.start * inner, &values);
            };
            // SAFETY: every row is written: the range and what is around it.
            Ok(unsafe { Tensor::filled::<T>(shape, fill) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.narrow(
            self.dim,
            self.start,
            at.inputs[0].dim(self.dim)?,
        )?)])
    }
}

/// Concatenation of tensors along a dimension.
pub(crate) struct Cat {
    dim: usize,
}

fn joined<T: Element>(parts: &[Tensor], dim: usize, shape: Shape) -> Result<Tensor> {
    let outer = shape.around(dim)?.0;
    let values = parts
        .iter()
        .map(Tensor::values::<T>)
        .collect::<Result<Vec<_>>>()?;
    let fill = |out: &mut [MaybeUninit<T>]| {
        let mut at = 0;
        for o in 0..outer {
            for part in &values {
                let len = part.len() / outer;
                let from = &part[o * len..(o + 1) * len];
                out[at..at + len]
                    .iter_mut()
                    .zip(from)
                    .for_each(|(out, x)| _ = out.write(*x));
                at += len;
            }
        }
    };
    // SAFETY: the parts are together as long as the whole, and each is written.
    Ok(unsafe { Tensor::filled::<T>(shape, fill) })
}

impl Operation for Cat {
    fn name(&self) -> &'static str {
        "cat"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let first = &inputs[0];
        let mut length = 0;
        for part in inputs {
            let here = part.dim(self.dim)?;
            if part.shape().with_dim(self.dim, 0) != first.shape().with_dim(self.dim, 0)
                || part.dtype() != first.dtype()
            {
                bail!(
                    "cat: {:?} and {:?} do not fit along dimension {}",
                    part.shape(),
                    first.shape(),
                    self.dim
                );
            }
            length += here;
        }
        let shape = first.shape().with_dim(self.dim, length);
        match first.dtype() {
            DType::F32 => joined::<f32>(inputs, self.dim, shape),
            DType::F64 => joined::<f64>(inputs, self.dim, shape),
            DType::U32 => joined::<u32>(inputs, self.dim, shape),
        }
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let mut start = 0;
        let mut shares = Vec::with_capacity(at.inputs.len());
        for (i, part) in at.inputs.iter().enumerate() {
            let len = part.dim(self.dim)?;
            shares.push(at.to(i, || grad.narrow(self.dim, start, len))?);
            start += len;
        }
        Ok(shares)
    }
}

/// Rows as columns.
pub(crate) struct Transpose;

fn transposed<T: Element>(x: &Tensor) -> Result<Tensor> {
    const BLOCK: usize = 16;
    let ((rows, cols), values) = (x.dims2()?, x.values::<T>()?);
    let mut out = vec![T::default(); rows * cols];
    for from in (0..rows).step_by(BLOCK) {
        for c in 0..cols {
            for r in from..(from + BLOCK).min(rows) {
                out[c * rows + r] = values[r * cols + c];
            }
        }
    }
    Ok(Tensor::from_buffer(Buffer::from(out), (cols, rows)))
}

impl Operation for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        match inputs[0].dtype() {
            DType::F32 => transposed::<f32>(&inputs[0]),
            DType::F64 => transposed::<f64>(&inputs[0]),
            DType::U32 => transposed::<u32>(&inputs[0]),
        }
    }

    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.t()?)])
    }
}

/// The values in another precision.
pub(crate) struct Cast {
    dtype: DType,
}

impl Operation for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let (x, shape) = (&inputs[0], *inputs[0].shape());
        Ok(match (x.dtype(), self.dtype) {
            (DType::F32, DType::F64) => Tensor::from_buffer(
                x.values::<f32>()?
                    .iter()
                    .map(|&v| f64::from(v))
                    .collect::<Vec<_>>()
                    .into(),
                shape,
            ),
            (DType::F64, DType::F32) => Tensor::from_buffer(
                x.values::<f64>()?
                    .iter()
                    .map(|&v| v as f32)
                    .collect::<Vec<_>>()
                    .into(),
                shape,
            ),
            (from, to) if from == to => x.view(shape, 0),
            (from, to) => bail!("cast: {from:?} does not become {to:?}"),
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.to_dtype(at.inputs[0].dtype())?)])
    }
}

impl Tensor {
    /// Returns the values in another shape.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        let shape = shape.into();
        if shape.elem_count() != self.elem_count() {
            bail!(
                "reshape: {:?} has other values than {shape:?}",
                self.shape()
            );
        }
        if *self.shape() == shape {
            Ok(self.clone())
        } else {
            apply(Reshape { shape }, &[self])
        }
    }

    /// Returns all values as a vector.
    pub fn flatten_all(&self) -> Result<Tensor> {
        self.reshape(self.elem_count())
    }

    /// Returns the tensor without a dimension of length one.
    pub fn squeeze(&self, dim: usize) -> Result<Tensor> {
        match self.dim(dim)? {
            1 => self.reshape(self.shape().without(dim)),
            length => bail!("squeeze: dimension {dim} has length {length}"),
        }
    }

    /// Inserts a dimension of length one at this place.
    pub fn unsqueeze(&self, dim: usize) -> Result<Tensor> {
        if dim > self.rank() {
            bail!(
                "unsqueeze: dimension {dim} of a tensor of shape {:?}",
                self.dims()
            );
        }
        let mut dims = self.dims().to_vec();
        dims.insert(dim, 1);
        self.reshape(dims)
    }

    /// Returns `len` steps along a dimension, from `start` on.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Tensor> {
        let length = self.dim(dim)?;
        if start + len > length {
            bail!(
                "narrow: {start} to {} of {length} along dimension {dim}",
                start + len
            );
        }
        if len == length {
            Ok(self.clone())
        } else {
            apply(Narrow { dim, start, len }, &[self])
        }
    }

    /// Concatenates tensors along a dimension.
    pub fn cat<A: AsRef<Tensor>>(parts: &[A], dim: usize) -> Result<Tensor> {
        let parts: Vec<Tensor> = parts.iter().map(|part| part.as_ref().clone()).collect();
        match &parts[..] {
            [] => bail!("cat: there are no tensors"),
            [one] => {
                one.dim(dim)?;
                Ok(one.clone())
            }
            _ => apply_all(Cat { dim }, parts),
        }
    }

    /// Returns the transposed matrix.
    pub fn t(&self) -> Result<Tensor> {
        self.dims2()?;
        apply(Transpose, &[self])
    }

    /// Converts the values to another precision.
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        if self.dtype() == dtype {
            Ok(self.clone())
        } else {
            apply(Cast { dtype }, &[self])
        }
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    impl Examples for Reshape {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[2, 6]], |v| v[0].reshape((3, 4))),
                Example::of(&[&[0, 2]], |v| v[0].flatten_all()),
            ]
        }
    }

    impl Examples for Narrow {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[4, 3]], |v| v[0].narrow(0, 1, 2)),
                Example::of(&[&[4, 5]], |v| v[0].narrow(1, 2, 3)),
                Example::of(&[&[2, 3, 2]], |v| v[0].narrow(1, 0, 1)),
                Example::of(&[&[4, 3]], |v| v[0].narrow(0, 4, 0)),
            ]
        }
    }

    impl Examples for Pad {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[2, 3]], |v| {
                    apply(
                        Pad {
                            dim: 0,
                            start: 1,
                            length: 4,
                        },
                        &[&v[0]],
                    )
                }),
                Example::of(&[&[2, 3]], |v| {
                    apply(
                        Pad {
                            dim: 1,
                            start: 0,
                            length: 5,
                        },
                        &[&v[0]],
                    )
                }),
                Example::of(&[&[2, 0]], |v| {
                    apply(
                        Pad {
                            dim: 1,
                            start: 2,
                            length: 3,
                        },
                        &[&v[0]],
                    )
                }),
            ]
        }
    }

    impl Examples for Cat {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[2, 3], &[1, 3]], |v| Tensor::cat(v, 0)),
                Example::of(&[&[2, 3], &[2, 1], &[2, 0]], |v| Tensor::cat(v, 1)),
                Example::of(&[&[2]], |v| Tensor::cat(&[&v[0], &v[0], &v[0]], 0)),
            ]
        }
    }

    impl Examples for Transpose {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[3, 5]], |v| v[0].t()),
                Example::of(&[&[0, 5]], |v| v[0].t()),
                Example::of(&[&[17, 33]], |v| v[0].t()),
            ]
        }
    }

    impl Examples for Cast {
        fn examples() -> Vec<Example> {
            // Linear, but rounded on the way: a wide step shows its slope.
            let there_and_back = |v: &[Tensor]| v[0].to_dtype(DType::F32)?.to_dtype(DType::F64);
            vec![Example {
                step: 0.5,
                tolerance: 1e-5,
                ..Example::of(&[&[3, 2]], there_and_back)
            }]
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, Tensor};

    #[test]
    fn parts_and_wholes_by_hand() {
        let x = Tensor::from_vec((0..12).collect::<Vec<u32>>(), (3, 4), &Device::Cpu).unwrap();
        let rows = |t: &Tensor| t.to_vec2::<u32>().unwrap();
        assert_eq!(rows(&x.narrow(0, 1, 1).unwrap()), [[4, 5, 6, 7]]);
        assert_eq!(rows(&x.narrow(1, 1, 2).unwrap()), [[1, 2], [5, 6], [9, 10]]);
        let halves = [x.narrow(1, 0, 1).unwrap(), x.narrow(1, 1, 3).unwrap()];
        assert_eq!(rows(&Tensor::cat(&halves, 1).unwrap()), rows(&x));
        let parts = [&x.narrow(0, 0, 2).unwrap(), &x.narrow(0, 2, 1).unwrap()];
        assert_eq!(rows(&Tensor::cat(&parts, 0).unwrap()), rows(&x));
        assert_eq!(rows(&x.t().unwrap())[1], [1, 5, 9]);
        assert_eq!(x.unsqueeze(1).unwrap().dims(), [3, 1, 4]);
        assert_eq!(x.unsqueeze(2).unwrap().squeeze(2).unwrap().dims(), [3, 4]);
        assert_eq!(x.narrow(0, 2, 0).unwrap().dims(), [0, 4]);
        assert_eq!(
            x.narrow(0, 1, 2)
                .unwrap()
                .narrow(0, 1, 1)
                .unwrap()
                .to_vec2::<u32>()
                .unwrap(),
            [[8, 9, 10, 11]]
        );
    }

    #[test]
    fn shape_mismatches_are_refused() {
        let x = Tensor::from_vec(vec![0f32; 6], (2, 3), &Device::Cpu).unwrap();
        let y = Tensor::from_vec(vec![0f32; 4], (2, 2), &Device::Cpu).unwrap();
        for (result, expected) in [
            (
                x.reshape((4, 2)),
                "reshape: [2, 3] has other values than [4, 2]",
            ),
            (x.narrow(1, 2, 2), "narrow: 2 to 4 of 3 along dimension 1"),
            (
                Tensor::cat(&[&x, &y], 0),
                "cat: [2, 2] and [2, 3] do not fit along dimension 0",
            ),
            (Tensor::cat::<Tensor>(&[], 0), "cat: there are no tensors"),
            (x.squeeze(0), "squeeze: dimension 0 has length 2"),
            (
                x.flatten_all().and_then(|x| x.t()),
                "a matrix is expected, not a tensor of shape [6]",
            ),
        ] {
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
    }
}
