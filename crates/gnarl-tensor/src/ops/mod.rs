//! Dense tensor operations.
//!
//! | file | contents |
//! | --- | --- |
//! | `elementwise` | one value in, one value out |
//! | `arithmetic` | sums and products of two tensors, with broadcasting |
//! | `reduce` | broadcasting and its adjoint, sums over dimensions |
//! | `layout` | other shapes, parts, and joined parts of the same values |
//! | `select` | rows and values by their indices, comparisons |
//! | `product` | the matrix product |

mod arithmetic;
mod elementwise;
mod layout;
pub(crate) mod product;
mod reduce;
mod select;

/// Operations of this module, for the list of operations.
pub(crate) mod all {
    pub(crate) use super::arithmetic::{Add, Div, Maximum, Mul, Sub};
    pub(crate) use super::elementwise::{
        Abs, Affine, Elu, Exp, Log, Neg, Powf, Recip, Round, Sign, Sqr, Sqrt, Tanh,
    };
    pub(crate) use super::layout::{Cast, Cat, Narrow, Pad, Reshape, Transpose};
    pub(crate) use super::product::MatMul;
    pub(crate) use super::reduce::{Broadcast, SumTo};
    pub(crate) use super::select::{Choose, Gather, IndexAdd, IndexSelect, ScatterAdd};
}
