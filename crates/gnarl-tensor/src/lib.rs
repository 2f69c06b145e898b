//! Differentiable tensors for sparse message passing, and the Adam optimiser.
//!
//! A [`Tensor`] holds values in a shape and, if it was computed from a [`Var`], its computation
//! history. Every operation defines its gradient. The dense operations are in `ops`, the sparse and
//! fused ones in files of their own. `docs/engine.md` describes how the parts fit together.
//!
//! One type implements message passing: an [`Operator`] is a sparse [`Pattern`] plus a value (or
//! one per head) for each entry. The values may be a tensor that takes gradients. A GCN has
//! constant values, attention computes them by a softmax, and a structural attack optimises them.
//! Sparse node features are an operator too, applied to a weight matrix. One kernel,
//! [`Operator::apply`], serves all of them, with gradients to the dense side and to every value.
//!
//! Every kernel computes an output row on one thread in one order: results do not depend on the
//! number of threads.

mod activation;
mod adam;
mod array;
mod attention;
mod bias;
mod buffer;
mod dense;
mod device;
mod element;
#[doc(hidden)]
pub mod elementary;
mod error;
mod factored;
mod file;
mod gemm;
mod kernels;
mod loss;
mod operations;
mod operator;
mod ops;
mod pattern;
mod segment;
mod shape;
#[doc(hidden)]
pub mod simd;
#[doc(hidden)]
pub mod tape;
mod target;
#[doc(hidden)]
pub mod testing;
mod threads;
mod triple_product;

pub use activation::{Dropout, dropout, relu, relu_dropout};
pub use adam::{Adam, AdamSettings};
pub use array::{Nested, Part, Tensor, TensorId, Var};
pub use attention::{additive_scores, gatv2_scores};
pub use bias::add_bias;
pub use buffer::{MemoryUse, memory_use};
pub use dense::affine;
pub use element::{DType, Device, Element};
pub use error::{Error, Result};
pub use factored::FactoredPattern;
pub use file::load_safetensors;
pub use loss::{class_weighted_cross_entropy, masked_cross_entropy, soft_cross_entropy};
pub use operator::{Operator, Pairs, constant_convolution, dense_convolution, sampled_products};
pub use pattern::{Pattern, Transposed};
pub use segment::{
    Extreme, gather_cols, scatter_rows, segment_extreme, segment_median, segment_softmax,
};
pub use shape::{MAX_RANK, Shape};
pub use tape::GradStore;
pub use threads::{start_threads, thread_pool};
pub use triple_product::p_v_pt;

/// Operations of this crate, for the list of operations.
mod all {
    pub(crate) use crate::activation::{Gate, PlainDropout, Relu, ReluDropout};
    pub(crate) use crate::attention::{Additive, GatV2};
    pub(crate) use crate::bias::AddBias;
    pub(crate) use crate::dense::AffineMap;
    pub(crate) use crate::factored::{ApplyFactored, EntryValues};
    pub(crate) use crate::loss::{CrossEntropy, SoftCrossEntropy};
    pub(crate) use crate::operator::all::*;
    pub(crate) use crate::ops::all::*;
    pub(crate) use crate::segment::{ScatterExtremes, SegmentSoftmax, SelectExtremes};
    pub(crate) use crate::triple_product::TripleProduct;
}

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
