//! The list of this crate's own operations, in addition to the list of [`gnarl_tensor`]. An
//! operation that is not in a list does not compile. An operation in the list is tested: its
//! gradients of first and second order are compared with differences, on examples that it brings.

use crate::operator::NodeFactors;
use crate::weights::Bjorck;
use gnarl_tensor::operations;

operations! { Bjorck, NodeFactors }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_gradients() {
        gnarl_tensor::testing::check_operations(listed());
    }
}
