//! Values that never change, and the product with them.

use std::sync::{Arc, OnceLock};

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor, TensorId};

use super::Operator;
use super::gather::{permuted, product};
use crate::tensor::activation::{Dropout, relu_dropout_gradient};
use crate::tensor::bias::column_sums;
use crate::tensor::pattern::Pattern;

/// Values that never change, with what is made of them on first use.
#[derive(Debug)]
pub(super) struct Constants {
    pub(super) values: Vec<f32>,
    /// Whether the operator is known to be its own transpose.
    pub(super) symmetric: bool,
    transposed: OnceLock<Arc<Constants>>,
    pub(super) head: OnceLock<Operator>,
    pub(super) with_own: OnceLock<Operator>,
    pub(super) applied: OnceLock<(TensorId, Tensor)>,
    /// Sparse features, and the operator's product with them.
    pub(super) aggregated: OnceLock<(Arc<Constants>, Operator)>,
}

impl Constants {
    pub(super) fn new(values: Vec<f32>) -> Arc<Self> {
        Self::with_symmetry(values, false)
    }

    pub(super) fn with_symmetry(values: Vec<f32>, symmetric: bool) -> Arc<Self> {
        Arc::new(Self {
            values,
            symmetric,
            transposed: OnceLock::new(),
            head: OnceLock::new(),
            with_own: OnceLock::new(),
            applied: OnceLock::new(),
            aggregated: OnceLock::new(),
        })
    }

    fn transposed(&self, pattern: &Pattern) -> Arc<Constants> {
        self.transposed
            .get_or_init(|| Constants::new(permuted(&self.values, 1, &pattern.transposed().entry_of)))
            .clone()
    }
}

/// `P · x (+ bias)` with constant values, activated if asked; the gradient to x is `Pᵀ · g`.
pub(super) struct ApplyConstant {
    pub(super) pattern: Arc<Pattern>,
    pub(super) values: Arc<Constants>,
    activation: Option<Dropout>,
}

impl ApplyConstant {
    pub(super) fn new(pattern: &Arc<Pattern>, values: &Arc<Constants>, activation: Option<Dropout>) -> Self {
        Self { pattern: pattern.clone(), values: values.clone(), activation }
    }

    pub(super) fn transposed(&self) -> Self {
        if self.values.symmetric {
            return Self::new(&self.pattern, &self.values, None);
        }
        let values = self.values.transposed(&self.pattern);
        Self { pattern: self.pattern.transposed().pattern.clone(), values, activation: None }
    }
}

impl CustomOp1 for ApplyConstant {
    fn name(&self) -> &'static str {
        "operator"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        product(&self.pattern, &self.values.values, 1, (x, layout), None, self.activation)
    }

    fn bwd(&self, _x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.contiguous()?.apply_op1_no_bwd(&self.transposed())?))
    }
}

impl CustomOp2 for ApplyConstant {
    fn name(&self) -> &'static str {
        "operator with bias"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        product(&self.pattern, &self.values.values, 1, (x, lx), Some((b, lb)), self.activation)
    }

    fn bwd(&self, x: &Tensor, _b: &Tensor, res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = match self.activation {
            Some(dropout) => relu_dropout_gradient(res, grad, dropout)?,
            None => grad.contiguous()?,
        };
        let to_x = if x.track_op() { Some(grad.apply_op1_no_bwd(&self.transposed())?) } else { None };
        Ok((to_x, Some(column_sums(&grad)?)))
    }
}
