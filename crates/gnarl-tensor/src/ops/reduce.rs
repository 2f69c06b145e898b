//! Broadcasting and its adjoint, the sum over broadcast dimensions; sums and means over dimensions
//! are built from them.

use crate::array::Tensor;
use crate::buffer::Buffer;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::kernels;
use crate::shape::Shape;
use crate::tape::{Computed, Gradients, Operation, apply};

/// Tensor broadcast to a shape.
pub(crate) struct Broadcast {
    shape: Shape,
}

impl Operation for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        Tensor::zeros(self.shape, inputs[0].dtype(), inputs[0].device())?.broadcast_add(&inputs[0])
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.sum_to(at.inputs[0].shape())?)])
    }
}

/// Sum over everything that would be broadcast from a smaller shape.
pub(crate) struct SumTo {
    shape: Shape,
}

impl Operation for SumTo {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let x = inputs[0].values::<T>()?;
            Ok(Tensor::from_buffer(sum_groups(&x, &groups(inputs[0].shape(), &self.shape)), self.shape))
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.broadcast_as(at.inputs[0].shape())?)])
    }
}

/// Neighbouring dimensions that are summed, or kept, together.
fn groups(from: &Shape, to: &Shape) -> Vec<(usize, bool)> {
    let mut groups: Vec<(usize, bool)> = Vec::new();
    for (d, &length) in from.dims().iter().enumerate() {
        let is_summed = to.aligned(d, from.rank()) == 1 && length != 1;
        match groups.last_mut() {
            _ if length == 1 => {}
            Some((total, kind)) if *kind == is_summed => *total *= length,
            _ => groups.push((length, is_summed)),
        }
    }
    groups
}

/// Sums over the groups marked as summed, in an order that does not depend on the number of
/// threads.
fn sum_groups<T: Float>(x: &[T], groups: &[(usize, bool)]) -> Buffer<T> {
    match *groups {
        [] | [(_, false)] => Buffer::copy_of(x),
        [(_, true)] => Buffer::from(vec![total(x)]),
        [(0, true), (width, false)] => Buffer::repeated(T::ZERO, width),
        [(_, true), (width, false)] => Buffer::from(kernels::column_sums(x, width)),
        [(rows, false), (width, true)] => {
            let mut sums = vec![T::ZERO; rows];
            if width > 0 {
                sums.iter_mut()
                    .zip(x.chunks_exact(width))
                    .for_each(|(sum, row)| *sum = total(row));
            }
            Buffer::from(sums)
        }
        [(outer, false), (_, true), (inner, false)] => {
            let mut sums = vec![T::ZERO; outer * inner];
            if !x.is_empty() {
                let blocks = x.chunks_exact(x.len() / outer);
                sums.chunks_exact_mut(inner)
                    .zip(blocks)
                    .for_each(|(sums, block)| kernels::add_rows(block, sums));
            }
            Buffer::from(sums)
        }
        // The outermost group first, the rest by recursion.
        [(length, is_summed), ref rest @ ..] => {
            let parts =
                (0..length).map(|i| &x[i * (x.len() / length)..(i + 1) * (x.len() / length)]);
            let sums: Vec<Buffer<T>> = parts.map(|part| sum_groups(part, rest)).collect();
            if !is_summed {
                return Buffer::from(
                    sums.iter()
                        .flat_map(|part| part.iter().copied())
                        .collect::<Vec<T>>(),
                );
            }
            let len = rest
                .iter()
                .filter(|(_, is_summed)| !is_summed)
                .map(|(length, _)| length)
                .product();
            let mut all = vec![T::ZERO; len];
            sums.iter()
                .for_each(|part| kernels::add_rows(part, &mut all));
            Buffer::from(all)
        }
    }
}

/// Sums values: parallel lanes within a block, blocks in double precision.
fn total<T: Float>(x: &[T]) -> T {
    const LANES: usize = 16;
    let of_block = |block: &[T]| {
        let (wide, rest) = block.as_chunks::<LANES>();
        let mut sums = [T::ZERO; LANES];
        for values in wide {
            for l in 0..LANES {
                sums[l] += values[l];
            }
        }
        sums.into_iter().sum::<T>() + rest.iter().copied().sum::<T>()
    };
    if x.len() <= 4096 {
        return of_block(x);
    }
    T::of(x.chunks(4096).map(|block| of_block(block).wide()).sum())
}

impl Tensor {
    /// Broadcasts the tensor to a shape: dimensions of length one are repeated, missing ones added.
    pub fn broadcast_as(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        let shape = shape.into();
        if self.shape().broadcast(&shape) != Some(shape) {
            bail!(
                "broadcast: {:?} cannot be broadcast to {shape:?}",
                self.shape()
            );
        }
        if *self.shape() == shape {
            Ok(self.clone())
        } else {
            apply(Broadcast { shape }, &[self])
        }
    }

    /// Computes the adjoint of broadcasting: the sum over everything that
    /// [`broadcast_as`](Self::broadcast_as) would have repeated.
    pub fn sum_to(&self, shape: &Shape) -> Result<Tensor> {
        if shape.broadcast(self.shape()) != Some(*self.shape()) {
            bail!("sum: {:?} does not come from {shape:?}", self.shape());
        }
        if self.shape() == shape {
            Ok(self.clone())
        } else {
            apply(SumTo { shape: *shape }, &[self])
        }
    }

    /// Sums over a dimension, which stays with length one.
    pub fn sum_keepdim(&self, dim: usize) -> Result<Tensor> {
        self.dim(dim)?;
        self.sum_to(&self.shape().with_dim(dim, 1))
    }

    /// Sums over a dimension.
    pub fn sum(&self, dim: usize) -> Result<Tensor> {
        self.sum_keepdim(dim)?.reshape(self.shape().without(dim))
    }

    /// Sums all values.
    pub fn sum_all(&self) -> Result<Tensor> {
        self.sum_to(&Shape::from(()))
    }

    /// Computes the mean over a dimension, which stays with length one.
    pub fn mean_keepdim(&self, dim: usize) -> Result<Tensor> {
        self.sum_keepdim(dim)?
            .affine(1.0 / self.dim(dim)? as f64, 0.0)
    }

    /// Computes the mean over a dimension.
    pub fn mean(&self, dim: usize) -> Result<Tensor> {
        self.sum(dim)?.affine(1.0 / self.dim(dim)? as f64, 0.0)
    }

    /// Computes the mean of all values.
    pub fn mean_all(&self) -> Result<Tensor> {
        self.sum_all()?.affine(1.0 / self.elem_count() as f64, 0.0)
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    impl Examples for Broadcast {
        fn examples() -> Vec<Example> {
            let shapes: [[&[usize]; 2]; 5] = [
                [&[], &[2, 3]],
                [&[3], &[2, 3]],
                [&[2, 1], &[2, 3]],
                [&[1, 3, 1], &[2, 3, 4]],
                [&[1], &[0]],
            ];
            let to = |[from, to]: [&[usize]; 2]| {
                let to = Shape::from(to);
                Example::of(&[from], move |v| v[0].broadcast_as(to))
            };
            shapes.into_iter().map(to).collect()
        }
    }

    impl Examples for SumTo {
        fn examples() -> Vec<Example> {
            let shapes: [[&[usize]; 2]; 8] = [
                [&[2, 3], &[]],
                [&[2, 3], &[3]],
                [&[0, 3], &[3]],
                [&[5, 3], &[5, 1]],
                [&[2, 3, 4], &[1, 3, 1]],
                [&[2, 3, 4], &[2, 1, 4]],
                [&[2, 3, 2, 2], &[2, 1, 2, 1]],
                [&[9000], &[1]],
            ];
            let to = |[from, to]: [&[usize]; 2]| {
                let to = Shape::from(to);
                Example::of(&[from], move |v| v[0].sum_to(&to)?.sqr()?.affine(0.01, 0.0))
            };
            let mut examples: Vec<Example> = shapes[..7].iter().copied().map(to).collect();
            // So many values that blocks are summed; perturbing a few of them is enough.
            examples.push(Example::of(&[&[2]], |v| {
                v[0].reshape((2, 1))?.broadcast_as((2, 5000))?.sum_all()
            }));
            examples
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, Shape, Tensor};

    #[test]
    fn sums_by_hand() {
        let x =
            Tensor::from_vec((0..24).map(f64::from).collect(), (2, 3, 4), &Device::Cpu).unwrap();
        let values = |t: Tensor| (t.dims().to_vec(), t.values::<f64>().unwrap().to_vec());
        assert_eq!(
            values(x.sum(1).unwrap()),
            (vec![2, 4], vec![12., 15., 18., 21., 48., 51., 54., 57.])
        );
        assert_eq!(
            values(x.sum_keepdim(2).unwrap()),
            (vec![2, 3, 1], vec![6., 22., 38., 54., 70., 86.])
        );
        assert_eq!(values(x.sum(0).unwrap()).1[..3], [12., 14., 16.]);
        assert_eq!(values(x.mean_all().unwrap()), (vec![], vec![11.5]));
        assert_eq!(
            values(x.sum_to(&Shape::from((1, 3, 1))).unwrap()).1,
            [60., 92., 124.]
        );
        let none = Tensor::from_vec(Vec::<f32>::new(), (0, 3), &Device::Cpu).unwrap();
        assert_eq!(none.sum(0).unwrap().to_vec1::<f32>().unwrap(), [0.0; 3]);
        assert_eq!(none.sum(1).unwrap().dims(), [0]);
        assert_eq!(none.sum_all().unwrap().to_scalar::<f32>().unwrap(), 0.0);
        assert!(x.sum(3).is_err() && x.broadcast_as((2, 3, 5)).is_err());
    }
}
