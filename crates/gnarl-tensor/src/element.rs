//! Element types of tensors: single and double precision, and whole numbers as indices.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};
use std::sync::Arc;

use crate::buffer::{Buffer, Pool};
use crate::elementary::exponential;

/// Data type of a tensor's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DType {
    /// Single precision, for networks.
    F32,
    /// Double precision: for gradient checks and small dense algebra.
    F64,
    /// Indices.
    U32,
}

/// Device that holds a tensor's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// Memory of the program itself.
    #[default]
    Cpu,
}

/// Values of a tensor, shared by its views.
#[derive(Debug, Clone)]
pub enum Storage {
    /// Single precision.
    F32(Arc<Buffer<f32>>),
    /// Double precision.
    F64(Arc<Buffer<f64>>),
    /// Indices.
    U32(Arc<Buffer<u32>>),
}

impl Storage {
    /// Returns the data type.
    pub fn dtype(&self) -> DType {
        match self {
            Storage::F32(_) => DType::F32,
            Storage::F64(_) => DType::F64,
            Storage::U32(_) => DType::U32,
        }
    }
}

/// Number type that a tensor can hold.
pub trait Element: Copy + Default + Debug + PartialOrd + Send + Sync + 'static {
    /// Data type of this number type.
    const DTYPE: DType;
    #[doc(hidden)]
    fn pool() -> &'static Pool<Self>;
    #[doc(hidden)]
    fn wrap(buffer: Arc<Buffer<Self>>) -> Storage;
    #[doc(hidden)]
    fn find(storage: &Storage) -> Option<&Arc<Buffer<Self>>>;
    #[doc(hidden)]
    fn find_mut(storage: &mut Storage) -> Option<&mut Arc<Buffer<Self>>>;
}

macro_rules! element {
    ($ty:ident, $kind:ident) => {
        impl Element for $ty {
            const DTYPE: DType = DType::$kind;

            fn pool() -> &'static Pool<Self> {
                static POOL: Pool<$ty> = Pool::new();
                &POOL
            }

            fn wrap(buffer: Arc<Buffer<Self>>) -> Storage {
                Storage::$kind(buffer)
            }

            fn find(storage: &Storage) -> Option<&Arc<Buffer<Self>>> {
                match storage {
                    Storage::$kind(buffer) => Some(buffer),
                    _ => None,
                }
            }

            fn find_mut(storage: &mut Storage) -> Option<&mut Arc<Buffer<Self>>> {
                match storage {
                    Storage::$kind(buffer) => Some(buffer),
                    _ => None,
                }
            }
        }
    };
}

element!(f32, F32);
element!(f64, F64);
element!(u32, U32);

/// Floating-point number type with gradients: kernels are written once for both precisions.
pub trait Float:
    Element
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Sum
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Value below every number.
    const LOWEST: Self;
    /// Returns the values of this precision, from values kept in both precisions.
    fn pick<'a>(narrow: &'a [f32], wide: impl FnOnce() -> &'a [f64]) -> &'a [Self];
    /// Returns the nearest number of this type.
    fn of(value: f64) -> Self;
    /// Converts to double precision.
    fn wide(self) -> f64;
    /// Computes `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Computes the exponential of a number that is at most zero, without branches in single
    /// precision; the error is about 4e-7.
    fn fast_exp(self) -> Self;
    /// Returns the larger number; if one of the two is NaN, returns the other.
    fn larger(self, other: Self) -> Self;
    /// Returns true for NaN.
    fn is_nan(self) -> bool;
}

macro_rules! float {
    ($ty:ident, $exp:path, |$narrow:ident, $wide:ident| $picked:expr) => {
        impl Float for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = $ty::NEG_INFINITY;

            fn pick<'a>($narrow: &'a [f32], $wide: impl FnOnce() -> &'a [f64]) -> &'a [Self] {
                $picked
            }

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $ty
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $ty::mul_add(self, a, b)
            }
            #[inline(always)]
            fn fast_exp(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $ty::is_nan(self)
            }
        }
    };
}

float!(f32, exponential, |narrow, _wide| narrow);
float!(f64, f64::exp, |_narrow, wide| wide());

/// Evaluates an expression with a name bound to the number type of a tensor.
#[doc(hidden)]
#[macro_export]
macro_rules! by_precision {
    ($op:expr, $dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F32 => {
                type $name = f32;
                $body
            }
            $crate::DType::F64 => {
                type $name = f64;
                $body
            }
            $crate::DType::U32 => {
                $crate::bail!("{}: indices are not numbers to calculate with", $op)
            }
        }
    };
}

pub(crate) use by_precision;
