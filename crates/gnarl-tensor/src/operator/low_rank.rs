//! Low-rank operators without entries: `diag(own) + left · right`, applied as its factors.

use std::sync::Arc;

use super::{Operator, Values};
use crate::array::Tensor;
use crate::error::{Result, bail};
use crate::pattern::Pattern;

/// Factors of a low-rank operator.
#[derive(Debug)]
pub(super) struct LowRank {
    /// `[nodes, rank]`
    left: Tensor,
    /// `[rank, nodes]`
    right: Tensor,
    /// `[nodes, 1]`
    own: Tensor,
}

impl LowRank {
    /// Computes `own ∘ x + left (right x)`.
    pub(super) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.left.matmul(&self.right.matmul(x)?)? + x.broadcast_mul(&self.own)?
    }
}

impl Operator {
    /// Builds the operator `diag(own) + left · right` of shapes `[nodes, 1]`, `[nodes, rank]` and
    /// `[rank, nodes]`, any of which may take gradients. Every node aggregates over every node. The
    /// operator stores no entries: its pattern and its values are empty. A product with it is
    /// O(nodes · rank · width).
    pub fn low_rank(left: &Tensor, right: &Tensor, own: &Tensor) -> Result<Self> {
        let ((nodes, rank), (inner, cols)) = (left.dims2()?, right.dims2()?);
        if inner != rank || cols != nodes || own.dims() != [nodes, 1] {
            bail!(
                "operator of low rank: {nodes} × {rank} by {inner} × {cols} with a diagonal of {:?}",
                own.dims()
            );
        }
        let factors = LowRank {
            left: left.clone(),
            right: right.clone(),
            own: own.clone(),
        };
        let pattern = Arc::new(Pattern::new(nodes, vec![0; nodes + 1], Vec::new()));
        Ok(Self {
            pattern,
            values: Values::LowRank(Arc::new(factors)),
        })
    }

    /// Returns true if the operator is low-rank and has no entries.
    pub fn is_low_rank(&self) -> bool {
        matches!(self.values, Values::LowRank(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, check_gradients, random};

    #[test]
    fn factors_do_what_their_product_does() {
        let (left, right, own, x) = (
            random(&[6, 2], 1),
            random(&[2, 6], 2),
            random(&[6, 1], 3),
            random(&[6, 4], 4),
        );
        let whole = left.matmul(&right).unwrap();
        let expected = (whole.matmul(&x).unwrap() + x.broadcast_mul(&own).unwrap()).unwrap();
        assert_close(
            &Operator::low_rank(&left, &right, &own)
                .unwrap()
                .apply(&x)
                .unwrap(),
            &expected,
        );
        let bias = random(&[4], 5);
        let with_bias = Operator::low_rank(&left, &right, &own)
            .unwrap()
            .apply_with_bias(&x, Some(&bias))
            .unwrap();
        assert_close(&with_bias, &expected.broadcast_add(&bias).unwrap());
        check_gradients(&[left, right, own, x], |v| {
            Operator::low_rank(&v[0], &v[1], &v[2])?.apply(&v[3])
        });
        let e = Operator::low_rank(
            &random(&[6, 2], 1),
            &random(&[3, 6], 2),
            &random(&[6, 1], 3),
        )
        .unwrap_err()
        .to_string();
        assert!(e.contains("6 × 2 by 3 × 6"), "{e}");
    }

    #[test]
    fn parts_are_refused() {
        let operator = Operator::low_rank(
            &random(&[6, 2], 1),
            &random(&[2, 6], 2),
            &random(&[6, 1], 3),
        )
        .unwrap();
        assert!(operator.is_low_rank() && operator.num_entries() == 0);
        assert!(
            operator
                .head(3)
                .unwrap_err()
                .to_string()
                .contains("has no rows or blocks")
        );
    }
}
