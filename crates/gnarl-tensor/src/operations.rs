//! List of tensor operations. An operation that is in no list does not compile. Every listed
//! operation, here or in another crate, is tested: its gradients of first and second order are
//! compared with differences on the examples it provides.

use crate::all::*;
use crate::tape::Same;

/// Lists a crate's operations; `listed` returns them for its tests.
#[doc(hidden)]
#[macro_export]
macro_rules! operations {
    ($($operation:ident),* $(,)?) => {
        $(impl $crate::tape::Listed for $operation {})*

        #[cfg(test)]
        fn listed() -> Vec<$crate::testing::ListedOperation> {
            use $crate::testing::{Examples, ListedOperation};
            vec![$(ListedOperation {
                name: stringify!($operation),
                kind: std::any::type_name::<$operation>(),
                examples: $operation::examples(),
            }),*]
        }
    };
}

operations! {
    Abs, Add, AddBias, Additive, Affine, AffineMap, ApplyConstant, ApplyFactored, ApplyPairs,
    ApplyTransposed, ApplyVariable, Broadcast, Cast, Cat, Choose, ConstantConvolution, CrossEntropy,
    DenseConvolution, Div, Elu, EntryValues, Exp, Gate, Gather, GatV2, ScatterExtremes, IndexAdd,
    IndexSelect, Log, MatMul, Maximum, Mul, Narrow, Neg, Pad, PairProducts, PlainDropout, Powf, Recip,
    Relu, ReluDropout, Reshape, Round, Same, SampledProducts, TripleProduct, ScatterAdd, SegmentSoftmax,
    Sign, SoftCrossEntropy, Sqr, Sqrt, Sub, SumTo, SelectExtremes, Tanh, Transpose,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_gradients() {
        crate::testing::check_operations(listed());
    }
}
