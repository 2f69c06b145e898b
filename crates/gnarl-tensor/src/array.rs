//! Tensors: [`Tensor`] holds values, a shape and the computation history; [`Var`] is a trainable
//! tensor.

use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use crate::buffer::Buffer;
use crate::element::{DType, Device, Element, Storage, by_precision};
use crate::error::{Error, Result, bail};
use crate::shape::Shape;
use crate::tape::Record;

/// Unique identifier of a tensor. A computed tensor has a larger identifier than its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(u64);

impl TensorId {
    fn next() -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        Self(COUNTER.fetch_add(1, Ordering::Relaxed))
    }
}

/// Multi-dimensional array in row-major order. Cloning is cheap. A tensor computed from a [`Var`]
/// records its history, and [`backward`](Self::backward) computes gradients.
///
/// ```
/// use gnarl_tensor::{Device, Tensor, Var};
/// let w = Var::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let x = Tensor::new(&[[1f32, -1.0]], &Device::Cpu)?;
/// let loss = x.matmul(&w)?.sqr()?.sum_all()?;
/// assert_eq!(loss.to_scalar::<f32>()?, 8.0);
/// assert_eq!(loss.backward()?.get(&w).unwrap().to_vec2::<f32>()?, [[-4.0, -4.0], [4.0, 4.0]]);
/// # Ok::<(), gnarl_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

struct Inner {
    id: TensorId,
    shape: Shape,
    /// Offset of the first value in the storage.
    start: usize,
    data: Data,
    record: Option<Record>,
}

/// Constant values, or the values of a variable.
enum Data {
    Fixed(Storage),
    Variable(RwLock<Storage>),
}

/// A long computation is a long chain. It is dropped link by link, since recursion would be as deep
/// as the chain.
impl Drop for Inner {
    fn drop(&mut self) {
        let Some(record) = self.record.take() else {
            return;
        };
        let mut rest = record.inputs;
        while let Some(tensor) = rest.pop() {
            if let Ok(mut inner) = Arc::try_unwrap(tensor.0)
                && let Some(record) = inner.record.take()
            {
                rest.extend(record.inputs);
            }
        }
    }
}

/// Current values of a tensor.
#[derive(Debug, Clone)]
pub struct Values<T: Element> {
    buffer: Arc<Buffer<T>>,
    start: usize,
    len: usize,
}

impl<T: Element> Deref for Values<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.buffer[self.start..self.start + self.len]
    }
}

impl Tensor {
    fn assemble(shape: Shape, start: usize, data: Data, record: Option<Record>) -> Self {
        Self(Arc::new(Inner {
            id: TensorId::next(),
            shape,
            start,
            data,
            record,
        }))
    }

    /// Returns a tensor of these values without a history.
    pub(crate) fn from_buffer<T: Element>(buffer: Buffer<T>, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        assert_eq!(
            buffer.len(),
            shape.elem_count(),
            "values of a tensor of shape {shape:?}"
        );
        Self::assemble(shape, 0, Data::Fixed(T::wrap(Arc::new(buffer))), None)
    }

    /// Returns a tensor whose values are written by `fill`.
    ///
    /// # Safety
    /// `fill` writes every value.
    pub(crate) unsafe fn filled<T: Element>(
        shape: impl Into<Shape>,
        fill: impl FnOnce(&mut [MaybeUninit<T>]),
    ) -> Self {
        let shape = shape.into();
        // SAFETY: the caller's promise.
        Self::from_buffer(unsafe { Buffer::filled(shape.elem_count(), fill) }, shape)
    }

    /// Returns part of this tensor's values in another shape, without a history.
    pub(crate) fn view(&self, shape: Shape, from: usize) -> Self {
        debug_assert!(from + shape.elem_count() <= self.elem_count() || shape.elem_count() == 0);
        Self::assemble(
            shape,
            self.0.start + from,
            Data::Fixed(self.storage()),
            None,
        )
    }

    /// Returns this tensor with a computation history.
    pub(crate) fn recorded(self, record: Record) -> Self {
        match Arc::try_unwrap(self.0) {
            Ok(mut inner) => {
                inner.record = Some(record);
                Self(Arc::new(inner))
            }
            Err(shared) => {
                let fixed = Self(shared);
                Self::assemble(
                    fixed.0.shape,
                    fixed.0.start,
                    Data::Fixed(fixed.storage()),
                    Some(record),
                )
            }
        }
    }

    #[doc(hidden)]
    pub fn record(&self) -> Option<&Record> {
        self.0.record.as_ref()
    }

    fn storage(&self) -> Storage {
        match &self.0.data {
            Data::Fixed(storage) => storage.clone(),
            Data::Variable(storage) => storage.read().unwrap_or_else(|e| e.into_inner()).clone(),
        }
    }

    /// Returns the values; fails if they are of another type.
    #[doc(hidden)]
    pub fn values<T: Element>(&self) -> Result<Values<T>> {
        let storage = self.storage();
        match T::find(&storage) {
            Some(buffer) => Ok(Values {
                buffer: buffer.clone(),
                start: self.0.start,
                len: self.0.shape.elem_count(),
            }),
            None => bail!(
                "a tensor of {:?} is read as one of {:?}",
                storage.dtype(),
                T::DTYPE
            ),
        }
    }

    /// Returns the values for writing, if nothing else shares them.
    pub(crate) fn values_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        let inner = Arc::get_mut(&mut self.0)?;
        let Data::Fixed(storage) = &mut inner.data else {
            return None;
        };
        let buffer = Arc::get_mut(T::find_mut(storage)?)?;
        Some(&mut buffer.values_mut()[inner.start..inner.start + inner.shape.elem_count()])
    }

    /// Returns a tensor of these values in a shape.
    pub fn from_vec<T: Element>(
        values: Vec<T>,
        shape: impl Into<Shape>,
        _device: &Device,
    ) -> Result<Self> {
        let shape = shape.into();
        if values.len() != shape.elem_count() {
            bail!("{} values for a tensor of shape {shape:?}", values.len());
        }
        Ok(Self::from_buffer(Buffer::from(values), shape))
    }

    /// Returns a tensor with a copy of these values in a shape.
    pub fn from_slice<T: Element>(
        values: &[T],
        shape: impl Into<Shape>,
        _device: &Device,
    ) -> Result<Self> {
        let shape = shape.into();
        if values.len() != shape.elem_count() {
            bail!("{} values for a tensor of shape {shape:?}", values.len());
        }
        Ok(Self::from_buffer(Buffer::copy_of(values), shape))
    }

    /// Returns a vector of indices.
    pub(crate) fn indices(values: Vec<u32>) -> Self {
        let len = values.len();
        Self::from_buffer(Buffer::from(values), len)
    }

    /// Returns a vector of values.
    pub fn from_iter<T: Element>(
        values: impl IntoIterator<Item = T>,
        device: &Device,
    ) -> Result<Self> {
        let values: Vec<T> = values.into_iter().collect();
        let len = values.len();
        Self::from_vec(values, len, device)
    }

    /// Returns a tensor from nested arrays or vectors of values, or from one value.
    pub fn new<A: Nested>(values: A, device: &Device) -> Result<Self> {
        let mut flat = Vec::new();
        let dims = values.flatten(&mut flat)?;
        Self::from_vec(flat, dims, device)
    }

    /// Returns a tensor filled with one value.
    pub fn full<T: Element>(value: T, shape: impl Into<Shape>, _device: &Device) -> Result<Self> {
        let shape = shape.into();
        Ok(Self::from_buffer(
            Buffer::repeated(value, shape.elem_count()),
            shape,
        ))
    }

    fn constant(value: f64, shape: Shape, dtype: DType) -> Self {
        let count = shape.elem_count();
        match dtype {
            DType::F32 => Self::from_buffer(Buffer::repeated(value as f32, count), shape),
            DType::F64 => Self::from_buffer(Buffer::repeated(value, count), shape),
            DType::U32 => Self::from_buffer(Buffer::repeated(value as u32, count), shape),
        }
    }

    /// Returns a tensor of zeros.
    pub fn zeros(shape: impl Into<Shape>, dtype: DType, _device: &Device) -> Result<Self> {
        Ok(Self::constant(0.0, shape.into(), dtype))
    }

    /// Returns a tensor of ones.
    pub fn ones(shape: impl Into<Shape>, dtype: DType, _device: &Device) -> Result<Self> {
        Ok(Self::constant(1.0, shape.into(), dtype))
    }

    /// Returns the identity matrix.
    pub fn eye(size: usize, dtype: DType, _device: &Device) -> Result<Self> {
        by_precision!("eye", dtype, T => {
            let mut values = vec![0 as T; size * size];
            (0..size).for_each(|i| values[i * (size + 1)] = 1 as T);
            Ok(Self::from_buffer(Buffer::from(values), (size, size)))
        })
    }

    /// Returns zeros in the shape of this tensor.
    pub fn zeros_like(&self) -> Result<Self> {
        Ok(Self::constant(0.0, self.0.shape, self.dtype()))
    }

    /// Returns ones in the shape of this tensor.
    pub fn ones_like(&self) -> Result<Self> {
        Ok(Self::constant(1.0, self.0.shape, self.dtype()))
    }

    /// Returns the identifier.
    pub fn id(&self) -> TensorId {
        self.0.id
    }

    /// Returns the shape.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// Returns the length of each dimension.
    pub fn dims(&self) -> &[usize] {
        self.0.shape.dims()
    }

    /// Returns the rows and columns of a matrix.
    pub fn dims2(&self) -> Result<(usize, usize)> {
        self.0.shape.dims2()
    }

    /// Returns the length of one dimension.
    pub fn dim(&self, dim: usize) -> Result<usize> {
        self.0.shape.dim(dim)
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.shape.rank()
    }

    /// Returns the number of values.
    pub fn elem_count(&self) -> usize {
        self.0.shape.elem_count()
    }

    /// Returns the data type of the values.
    pub fn dtype(&self) -> DType {
        match &self.0.data {
            Data::Fixed(storage) => storage.dtype(),
            Data::Variable(storage) => storage.read().unwrap_or_else(|e| e.into_inner()).dtype(),
        }
    }

    /// Returns the device of the values.
    pub fn device(&self) -> &Device {
        &Device::Cpu
    }

    /// Returns true if this is a [`Var`]'s tensor.
    pub fn is_variable(&self) -> bool {
        matches!(self.0.data, Data::Variable(_))
    }

    /// Returns true if gradients go through it: it is a variable or was computed from one.
    pub fn track_op(&self) -> bool {
        self.is_variable() || self.0.record.is_some()
    }

    /// Returns the current values without a history.
    pub fn detach(&self) -> Self {
        if self.track_op() {
            self.view(self.0.shape, 0)
        } else {
            self.clone()
        }
    }

    /// Returns a copy of the values that shares no memory.
    pub fn copy(&self) -> Result<Self> {
        Ok(match self.storage() {
            Storage::F32(_) => {
                Self::from_buffer(Buffer::copy_of(&self.values::<f32>()?), self.0.shape)
            }
            Storage::F64(_) => {
                Self::from_buffer(Buffer::copy_of(&self.values::<f64>()?), self.0.shape)
            }
            Storage::U32(_) => {
                Self::from_buffer(Buffer::copy_of(&self.values::<u32>()?), self.0.shape)
            }
        })
    }

    /// Returns the tensor itself: values are always contiguous, row by row.
    pub fn contiguous(&self) -> Result<Self> {
        Ok(self.clone())
    }

    /// Returns the value of a tensor with one value.
    pub fn to_scalar<T: Element>(&self) -> Result<T> {
        match &*self.values::<T>()? {
            [value] => Ok(*value),
            values => bail!(
                "one value is expected, not {} in shape {:?}",
                values.len(),
                self.dims()
            ),
        }
    }

    /// Returns the values of a vector.
    pub fn to_vec1<T: Element>(&self) -> Result<Vec<T>> {
        match self.dims() {
            [_] => Ok(self.values::<T>()?.to_vec()),
            dims => bail!("a vector is expected, not a tensor of shape {dims:?}"),
        }
    }

    /// Returns the rows of a matrix.
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        let (rows, cols) = self.dims2()?;
        let values = self.values::<T>()?;
        Ok((0..rows)
            .map(|r| values[r * cols..(r + 1) * cols].to_vec())
            .collect())
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({:?}, {:?}", self.dims(), self.dtype())?;
        if let Some(record) = self.record() {
            write!(f, ", from {}", record.operation.name())?;
        }
        f.write_str(")")
    }
}

/// Values that a tensor can be created from: a number, or references to arrays, slices, and vectors
/// of [`Part`]s.
pub trait Nested {
    /// Type of the numbers.
    type Number: Element;
    /// Appends the numbers and returns the lengths of the dimensions.
    fn flatten(self, into: &mut Vec<Self::Number>) -> Result<Vec<usize>>;
}

/// Elements of nested values: numbers, and arrays and vectors of one length.
pub trait Part {
    /// Type of the numbers.
    type Number: Element;
    /// Appends the numbers and returns the lengths of the dimensions.
    fn append(&self, into: &mut Vec<Self::Number>) -> Result<Vec<usize>>;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Part for $ty {
            type Number = $ty;

            fn append(&self, into: &mut Vec<$ty>) -> Result<Vec<usize>> {
                into.push(*self);
                Ok(Vec::new())
            }
        }

        impl Nested for $ty {
            type Number = $ty;

            fn flatten(self, into: &mut Vec<$ty>) -> Result<Vec<usize>> {
                self.append(into)
            }
        }
    )*};
}

numbers!(f32, f64, u32);

fn append_all<A: Part>(parts: &[A], into: &mut Vec<A::Number>) -> Result<Vec<usize>> {
    let mut dims = vec![parts.len()];
    let mut inner: Option<Vec<usize>> = None;
    for part in parts {
        let found = part.append(into)?;
        if inner.as_ref().is_some_and(|inner| *inner != found) {
            bail!("rows of different lengths: {inner:?} and {found:?}");
        }
        inner = Some(found);
    }
    dims.extend(inner.unwrap_or_default());
    Ok(dims)
}

impl<A: Part, const N: usize> Part for [A; N] {
    type Number = A::Number;

    fn append(&self, into: &mut Vec<A::Number>) -> Result<Vec<usize>> {
        append_all(self, into)
    }
}

impl<A: Part> Part for Vec<A> {
    type Number = A::Number;

    fn append(&self, into: &mut Vec<A::Number>) -> Result<Vec<usize>> {
        append_all(self, into)
    }
}

impl<A: Part> Nested for Vec<A> {
    type Number = A::Number;

    fn flatten(self, into: &mut Vec<A::Number>) -> Result<Vec<usize>> {
        append_all(&self, into)
    }
}

impl<A: Part> Nested for &[A] {
    type Number = A::Number;

    fn flatten(self, into: &mut Vec<A::Number>) -> Result<Vec<usize>> {
        append_all(self, into)
    }
}

impl<A: Part, const N: usize> Nested for &[A; N] {
    type Number = A::Number;

    fn flatten(self, into: &mut Vec<A::Number>) -> Result<Vec<usize>> {
        append_all(self, into)
    }
}

/// Trainable tensor: it takes gradients and its values can be replaced.
///
/// Tensors computed from earlier values, and [`detach`](Tensor::detach)ed tensors, keep those
/// values: an update that finds the memory in use writes elsewhere.
#[derive(Debug, Clone)]
pub struct Var(Tensor);

impl Deref for Var {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0
    }
}

impl AsRef<Tensor> for Var {
    fn as_ref(&self) -> &Tensor {
        &self.0
    }
}

impl AsRef<Tensor> for Tensor {
    fn as_ref(&self) -> &Tensor {
        self
    }
}

impl Var {
    /// Returns a variable initialised with a copy of these values.
    pub fn from_tensor(tensor: &Tensor) -> Result<Self> {
        let copy = tensor.detach().copy()?;
        Ok(Self(Tensor::assemble(
            copy.0.shape,
            0,
            Data::Variable(RwLock::new(copy.storage())),
            None,
        )))
    }

    /// Returns a variable from nested arrays.
    pub fn new<A: Nested>(values: A, device: &Device) -> Result<Self> {
        Self::from_tensor(&Tensor::new(values, device)?)
    }

    /// Returns a variable of these values in a shape.
    pub fn from_vec<T: Element>(
        values: Vec<T>,
        shape: impl Into<Shape>,
        device: &Device,
    ) -> Result<Self> {
        Self::from_tensor(&Tensor::from_vec(values, shape, device)?)
    }

    /// Returns the tensor that computations use.
    pub fn as_tensor(&self) -> &Tensor {
        &self.0
    }

    /// Returns the current values without a history.
    pub fn as_detached_tensor(&self) -> Tensor {
        self.0.detach()
    }

    /// Replaces the values.
    pub fn set(&self, values: &Tensor) -> Result<()> {
        if values.shape() != self.shape() || values.dtype() != self.dtype() {
            let (found, expected) = (
                (values.shape(), values.dtype()),
                (self.shape(), self.dtype()),
            );
            bail!("a variable of {expected:?} cannot hold {found:?}");
        }
        if values.id() == self.id() {
            return Ok(());
        }
        by_precision!("set", self.dtype(), T => {
            let values = values.values::<T>()?;
            self.update(|old: &mut [T]| old.copy_from_slice(&values))
        })
    }

    /// Changes the values in place.
    pub(crate) fn update<T: Element>(&self, change: impl FnOnce(&mut [T])) -> Result<()> {
        let Data::Variable(storage) = &self.0.0.data else {
            bail!("a variable without values")
        };
        let mut storage = storage.write().unwrap_or_else(|e| e.into_inner());
        let kind = storage.dtype();
        let Some(buffer) = T::find_mut(&mut storage) else {
            return Err(Error::msg(format!(
                "a variable of {kind:?} is changed as one of {:?}",
                T::DTYPE
            )));
        };
        if Arc::get_mut(buffer).is_none() {
            *buffer = Arc::new(Buffer::copy_of(buffer));
        }
        if let Some(buffer) = Arc::get_mut(buffer) {
            change(buffer.values_mut());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_their_shape() {
        let t = Tensor::new(&[[1f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &Device::Cpu).unwrap();
        assert_eq!(
            (t.dims(), t.rank(), t.elem_count(), t.dtype()),
            (&[3, 2][..], 2, 6, DType::F32)
        );
        assert_eq!(t.to_vec2::<f32>().unwrap()[2], [5.0, 6.0]);
        assert!(
            t.to_vec1::<f32>().is_err()
                && t.to_vec2::<f64>().is_err()
                && t.to_scalar::<f32>().is_err()
        );
        assert_eq!(
            Tensor::new(3u32, &Device::Cpu)
                .unwrap()
                .to_scalar::<u32>()
                .unwrap(),
            3
        );
        let e = Tensor::new(vec![vec![1f32], vec![1.0, 2.0]], &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(e.contains("different lengths"), "{e}");
        let e = Tensor::from_vec(vec![1f32; 3], (2, 2), &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(e.contains("3 values for a tensor of shape [2, 2]"), "{e}");
        let eye = Tensor::eye(2, DType::F64, &Device::Cpu).unwrap();
        assert_eq!(eye.to_vec2::<f64>().unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
    }

    #[test]
    fn a_variable_changes_and_what_was_read_stays() {
        let v = Var::new(&[1f32, 2.0], &Device::Cpu).unwrap();
        let before = v.as_detached_tensor();
        v.set(&Tensor::new(&[3f32, 4.0], &Device::Cpu).unwrap())
            .unwrap();
        assert_eq!(before.to_vec1::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!(v.as_tensor().to_vec1::<f32>().unwrap(), [3.0, 4.0]);
        v.set(&v).unwrap();
        assert!(
            v.set(
                &before
                    .to_vec1::<f32>()
                    .map(|_| Tensor::new(1f32, &Device::Cpu).unwrap())
                    .unwrap()
            )
            .is_err()
        );
        assert!(v.is_variable() && v.track_op() && !before.track_op());
    }

    #[test]
    fn a_long_chain_is_freed_without_a_deep_recursion() {
        let v = Var::new(&[1f32], &Device::Cpu).unwrap();
        let mut x = v.as_tensor().clone();
        // An interpreter takes minutes for so many.
        for _ in 0..if cfg!(miri) { 200 } else { 200_000 } {
            x = x.neg().unwrap();
        }
        let grads = x.sum_all().unwrap().backward().unwrap();
        assert_eq!(grads.get(&v).unwrap().to_vec1::<f32>().unwrap(), [1.0]);
    }
}
