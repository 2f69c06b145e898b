//! Selecting rows and values by indices, with the adjoints; comparisons, and a choice between two
//! tensors.

use crate::array::Tensor;
use crate::buffer::Buffer;
use crate::element::{DType, Element, Float, by_precision};
use crate::error::{Result, bail};
use crate::kernels;
use crate::shape::Shape;
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// Selection of steps along a dimension by indices.
pub(crate) struct IndexSelect {
    index: Tensor,
    dim: usize,
}

fn selected<T: Element>(x: &Tensor, index: &[u32], dim: usize) -> Result<Tensor> {
    let (outer, length, inner) = x.shape().around(dim)?;
    let values = x.values::<T>()?;
    let mut out = Vec::with_capacity(outer * index.len() * inner);
    for o in 0..outer {
        for &i in index {
            if i as usize >= length {
                bail!("index select: index {i} of {length}");
            }
            out.extend_from_slice(&values[(o * length + i as usize) * inner..][..inner]);
        }
    }
    Ok(Tensor::from_buffer(
        Buffer::from(out),
        x.shape().with_dim(dim, index.len()),
    ))
}

impl Operation for IndexSelect {
    fn name(&self) -> &'static str {
        "index select"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let index = self.index.values::<u32>()?;
        match inputs[0].dtype() {
            DType::F32 => selected::<f32>(&inputs[0], &index, self.dim),
            DType::F64 => selected::<f64>(&inputs[0], &index, self.dim),
            DType::U32 => selected::<u32>(&inputs[0], &index, self.dim),
        }
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let length = at.inputs[0].dim(self.dim)?;
        Ok(vec![Some(apply(
            IndexAdd {
                index: self.index.clone(),
                dim: self.dim,
                length,
            },
            &[grad],
        )?)])
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (outer, length, inner) = at.inputs[0].shape().around(self.dim)?;
        let index = self.index.values::<u32>()?;
        by_precision!(self.name(), grad.dtype(), T => {
            let grad = grad.values::<T>()?;
            let work = |target: Target<'_, T>| add_selected(&grad, &index, (outer, length, inner), target.initialised());
            // SAFETY: every value is zero before others are added.
            unsafe { to.fill::<T>(0, work) }
        })
    }
}

fn add_selected<T: Float>(
    x: &[T],
    index: &[u32],
    (outer, length, inner): (usize, usize, usize),
    out: &mut [T],
) {
    if inner == 1 {
        for o in 0..outer {
            for (k, &i) in index.iter().enumerate() {
                out[o * length + i as usize] += x[o * index.len() + k];
            }
        }
        return;
    }
    for o in 0..outer {
        for (k, &i) in index.iter().enumerate() {
            let from = &x[(o * index.len() + k) * inner..][..inner];
            kernels::add_rows(from, &mut out[(o * length + i as usize) * inner..][..inner]);
        }
    }
}

/// Sum of values at their indices along a dimension: the adjoint of selecting.
pub(crate) struct IndexAdd {
    index: Tensor,
    dim: usize,
    length: usize,
}

impl Operation for IndexAdd {
    fn name(&self) -> &'static str {
        "index add"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let x = &inputs[0];
        let (outer, count, inner) = x.shape().around(self.dim)?;
        let index = self.index.values::<u32>()?;
        if count != index.len() || index.iter().any(|&i| i as usize >= self.length) {
            bail!(
                "index add: {count} steps at {} indices below {}",
                index.len(),
                self.length
            );
        }
        by_precision!(self.name(), x.dtype(), T => {
            let mut out = Buffer::repeated(0 as T, outer * self.length * inner);
            add_selected(&x.values::<T>()?, &index, (outer, self.length, inner), out.values_mut());
            Ok(Tensor::from_buffer(out, x.shape().with_dim(self.dim, self.length)))
        })
    }

    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.index_select(&self.index, self.dim)?)])
    }
}

/// One value for each index, the position along a dimension.
pub(crate) struct Gather {
    index: Tensor,
    dim: usize,
}

/// Calls `pair` with the position of each index and of the value it names.
fn for_pairs(
    index: &Tensor,
    dim: usize,
    of: &Shape,
    mut pair: impl FnMut(usize, usize),
) -> Result<()> {
    let (outer, length, inner) = of.around(dim)?;
    let (_, count, _) = index.shape().around(dim)?;
    if index.shape().with_dim(dim, length) != *of {
        bail!(
            "gather: indices of shape {:?} into {of:?} along dimension {dim}",
            index.shape()
        );
    }
    let indices = index.values::<u32>()?;
    if let Some(i) = indices.iter().find(|&&i| i as usize >= length) {
        bail!("gather: index {i} of {length}");
    }
    for o in 0..outer {
        for c in 0..count {
            for i in 0..inner {
                let at = (o * count + c) * inner + i;
                pair(at, (o * length + indices[at] as usize) * inner + i);
            }
        }
    }
    Ok(())
}

impl Operation for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let x = inputs[0].values::<T>()?;
            let mut out = vec![0 as T; self.index.elem_count()];
            for_pairs(&self.index, self.dim, inputs[0].shape(), |at, from| out[at] = x[from])?;
            Ok(Tensor::from_buffer(Buffer::from(out), *self.index.shape()))
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let op = ScatterAdd {
            index: self.index.clone(),
            dim: self.dim,
            shape: *at.inputs[0].shape(),
        };
        Ok(vec![Some(apply(op, &[grad])?)])
    }
}

/// Sum of values at their indices: the adjoint of gathering.
pub(crate) struct ScatterAdd {
    index: Tensor,
    dim: usize,
    shape: Shape,
}

impl Operation for ScatterAdd {
    fn name(&self) -> &'static str {
        "scatter add"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let x = inputs[0].values::<T>()?;
            let mut out = vec![0 as T; self.shape.elem_count()];
            for_pairs(&self.index, self.dim, &self.shape, |at, to| out[to] += x[at])?;
            Ok(Tensor::from_buffer(Buffer::from(out), self.shape))
        })
    }

    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.gather(&self.index, self.dim)?)])
    }
}

/// Values of one tensor where a mask is not zero, else of another.
pub(crate) struct Choose;

impl Operation for Choose {
    fn name(&self) -> &'static str {
        "where"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let [mask, yes, no] = inputs else {
            bail!("where: a mask and two tensors are expected")
        };
        if mask.shape() != yes.shape() || yes.shape() != no.shape() {
            bail!(
                "where: shapes {:?}, {:?} and {:?} differ",
                mask.shape(),
                yes.shape(),
                no.shape()
            );
        }
        by_precision!(self.name(), yes.dtype(), T => {
            let (mask, yes, no) = (mask.values::<T>()?, yes.values::<T>()?, no.values::<T>()?);
            let choose = |((mask, yes), no): ((&T, &T), &T)| if *mask != 0.0 { *yes } else { *no };
            let out: Vec<T> = mask.iter().zip(yes.iter()).zip(no.iter()).map(choose).collect();
            Ok(Tensor::from_buffer(Buffer::from(out), *inputs[1].shape()))
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (mask, none) = (&at.inputs[0], grad.zeros_like()?);
        let to_yes = at.to(1, || mask.where_cond(grad, &none))?;
        Ok(vec![
            None,
            to_yes,
            at.to(2, || mask.where_cond(&none, grad))?,
        ])
    }
}

/// Right-hand side of a comparison: a tensor or a number.
pub trait Operand {
    /// Converts it to a tensor of the other's type that broadcasts to the other's shape.
    fn broadcast_to(&self, other: &Tensor) -> Result<Tensor>;
}

impl Operand for &Tensor {
    fn broadcast_to(&self, _other: &Tensor) -> Result<Tensor> {
        Ok(self.detach())
    }
}

impl Operand for f64 {
    fn broadcast_to(&self, other: &Tensor) -> Result<Tensor> {
        by_precision!("compare", other.dtype(), T => Tensor::new(*self as T, other.device()))
    }
}

impl Operand for f32 {
    fn broadcast_to(&self, other: &Tensor) -> Result<Tensor> {
        f64::from(*self).broadcast_to(other)
    }
}

impl Tensor {
    /// Returns one where the comparison holds, else zero; outside any gradient.
    fn compared(&self, other: &Tensor, holds: impl Fn(f64, f64) -> bool) -> Result<Tensor> {
        by_precision!("compare", self.dtype(), T => {
            let Some(shape) = self.shape().broadcast(other.shape()) else {
                bail!("compare: shapes {:?} and {:?} do not fit", self.shape(), other.shape())
            };
            let (a, b) = (self.detach().broadcast_as(shape)?, other.detach().broadcast_as(shape)?);
            let (a, b) = (a.values::<T>()?, b.values::<T>()?);
            let mask: Vec<T> =
                a.iter().zip(b.iter()).map(|(a, b)| if holds(a.wide(), b.wide()) { 1.0 } else { 0.0 }).collect();
            Ok(Tensor::from_buffer(Buffer::from(mask), shape))
        })
    }

    /// Returns one where this is larger, else zero.
    pub fn gt(&self, other: impl Operand) -> Result<Tensor> {
        self.compared(&other.broadcast_to(self)?, |a, b| a > b)
    }

    /// Returns one where this is at least as large, else zero.
    pub fn ge(&self, other: impl Operand) -> Result<Tensor> {
        self.compared(&other.broadcast_to(self)?, |a, b| a >= b)
    }

    /// Returns one where this is smaller, else zero.
    pub fn lt(&self, other: impl Operand) -> Result<Tensor> {
        self.compared(&other.broadcast_to(self)?, |a, b| a < b)
    }

    /// Returns one where this is at most as large, else zero.
    pub fn le(&self, other: impl Operand) -> Result<Tensor> {
        self.compared(&other.broadcast_to(self)?, |a, b| a <= b)
    }

    /// Returns one where both are equal, else zero.
    pub fn eq(&self, other: impl Operand) -> Result<Tensor> {
        self.compared(&other.broadcast_to(self)?, |a, b| a == b)
    }

    /// Returns one where this is the maximum of the two, one half where both are, else zero.
    pub(super) fn share_of_maximum(&self, other: &Tensor) -> Result<Tensor> {
        let at_least = self.compared(other, |a, b| a >= b || a.is_nan())?;
        at_least
            .add(&self.compared(other, |a, b| a > b || a.is_nan())?)?
            .affine(0.5, 0.0)
    }

    /// Selects values of `yes` where this mask is not zero, else of `no`.
    pub fn where_cond(&self, yes: &Tensor, no: &Tensor) -> Result<Tensor> {
        apply(Choose, &[&self.detach(), yes, no])
    }

    /// Selects steps along a dimension by their indices.
    pub fn index_select(&self, index: &Tensor, dim: usize) -> Result<Tensor> {
        apply(
            IndexSelect {
                index: index.clone(),
                dim,
            },
            &[self],
        )
    }

    /// Selects the value at each index along a dimension; the other coordinates are those of the
    /// index.
    pub fn gather(&self, index: &Tensor, dim: usize) -> Result<Tensor> {
        apply(
            Gather {
                index: index.clone(),
                dim,
            },
            &[self],
        )
    }

    /// Returns the index of the largest value along a dimension: the first of equal values, or the
    /// first NaN.
    fn largest(&self, dim: usize) -> Result<Tensor> {
        by_precision!("max", self.dtype(), T => {
            let (outer, length, inner) = self.shape().around(dim)?;
            if length == 0 && outer * inner > 0 {
                bail!("max: of no values");
            }
            let values = self.values::<T>()?;
            let mut index = vec![0u32; outer * inner];
            for o in 0..outer {
                for i in 0..inner {
                    let value = |l: usize| values[(o * length + l) * inner + i];
                    let better = |best: usize, l: usize| {
                        if !value(best).is_nan() && (value(l) > value(best) || value(l).is_nan()) { l } else { best }
                    };
                    index[o * inner + i] = (0..length).reduce(better).unwrap_or(0) as u32;
                }
            }
            Ok(Tensor::from_buffer(Buffer::from(index), self.shape().with_dim(dim, 1)))
        })
    }

    /// Returns the largest value along a dimension, which stays with length one.
    pub fn max_keepdim(&self, dim: usize) -> Result<Tensor> {
        self.gather(&self.largest(dim)?, dim)
    }

    /// Returns the largest of all values.
    pub fn max_all(&self) -> Result<Tensor> {
        self.flatten_all()?.max_keepdim(0)?.squeeze(0)
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    fn index(values: &[u32], shape: &[usize]) -> Tensor {
        Tensor::from_slice(values, shape, &crate::Device::Cpu).unwrap()
    }

    impl Examples for IndexSelect {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[4, 3]], |v| {
                    v[0].index_select(&index(&[2, 0, 2], &[3]), 0)
                }),
                Example::of(&[&[4, 3]], |v| v[0].index_select(&index(&[1, 1], &[2]), 1)),
                Example::of(&[&[4]], |v| v[0].index_select(&index(&[3, 3, 0], &[3]), 0)),
                Example::of(&[&[4, 3]], |v| v[0].index_select(&index(&[], &[0]), 0)),
            ]
        }
    }

    impl Examples for IndexAdd {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[3, 2]], |v| {
                    apply(
                        IndexAdd {
                            index: index(&[2, 0, 2], &[3]),
                            dim: 0,
                            length: 4,
                        },
                        &[&v[0]],
                    )
                }),
                Example::of(&[&[3, 2]], |v| {
                    apply(
                        IndexAdd {
                            index: index(&[1, 1], &[2]),
                            dim: 1,
                            length: 2,
                        },
                        &[&v[0]],
                    )
                }),
            ]
        }
    }

    impl Examples for Gather {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[2, 3]], |v| {
                    v[0].gather(&index(&[2, 0, 1, 1], &[2, 2]), 1)
                }),
                Example::of(&[&[2, 3]], |v| v[0].gather(&index(&[1, 0, 1], &[1, 3]), 0)),
                Example::of(&[&[4, 3]], |v| v[0].max_keepdim(1)),
            ]
        }
    }

    impl Examples for ScatterAdd {
        fn examples() -> Vec<Example> {
            let op = || ScatterAdd {
                index: index(&[2, 0, 2, 2], &[2, 2]),
                dim: 1,
                shape: Shape::from((2, 3)),
            };
            vec![Example::of(&[&[2, 2]], move |v| apply(op(), &[&v[0]]))]
        }
    }

    impl Examples for Choose {
        fn examples() -> Vec<Example> {
            vec![
                Example::of(&[&[3, 5], &[3, 5]], |v| {
                    v[0].gt(0.1)?.where_cond(&v[0], &v[1])
                }),
                Example::of(&[&[0], &[0]], |v| v[0].le(0.1)?.where_cond(&v[0], &v[1])),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, Tensor};

    #[test]
    fn indices_by_hand() {
        let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::Cpu).unwrap();
        let index =
            |values: &[u32]| Tensor::from_slice(values, values.len(), &Device::Cpu).unwrap();
        let rows = |t: Tensor| t.to_vec2::<f32>().unwrap();
        assert_eq!(
            rows(x.index_select(&index(&[1, 1, 0]), 0).unwrap())[1],
            [4.0, 5.0, 6.0]
        );
        assert_eq!(
            rows(x.index_select(&index(&[2, 0]), 1).unwrap()),
            [[3.0, 1.0], [6.0, 4.0]]
        );
        let at = Tensor::new(&[[2u32], [0]], &Device::Cpu).unwrap();
        assert_eq!(rows(x.gather(&at, 1).unwrap()), [[3.0], [4.0]]);
        assert_eq!(rows(x.max_keepdim(0).unwrap()), [[4.0, 5.0, 6.0]]);
        assert_eq!(x.max_all().unwrap().to_scalar::<f32>().unwrap(), 6.0);
        assert_eq!(rows(x.gt(2.5).unwrap()), [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]);
        assert!(
            x.index_select(&index(&[2]), 0)
                .unwrap_err()
                .to_string()
                .contains("index 2 of 2")
        );
        assert!(x.gather(&index(&[0]), 1).is_err());
        let odd = Tensor::new(&[1f32, f32::NAN, 2.0], &Device::Cpu).unwrap();
        assert!(odd.max_all().unwrap().to_scalar::<f32>().unwrap().is_nan());
    }
}
