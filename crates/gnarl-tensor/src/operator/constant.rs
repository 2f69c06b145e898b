//! Operators with constant values, and their product with a dense matrix.

use std::sync::{Arc, OnceLock};

use super::Operator;
use super::gather::{permuted, product, product_to};
use crate::activation::{Dropout, before_activation, relu_dropout};
use crate::array::{Tensor, TensorId};
use crate::bias::column_sums_to;
use crate::element::{Float, by_precision};
use crate::error::Result;
use crate::kernels::Rows;
use crate::pattern::Pattern;
use crate::tape::{Computed, Gradients, Operation, Sinks, apply};

/// Constant values with results that are computed on first use.
#[derive(Debug)]
pub(super) struct Constants {
    pub(super) values: Vec<f32>,
    /// Values in double precision.
    wide: OnceLock<Vec<f64>>,
    /// True if the operator is known to be its own transpose.
    pub(super) symmetric: bool,
    transposed: OnceLock<Arc<Constants>>,
    pub(super) head: OnceLock<Operator>,
    pub(super) with_self_loops: OnceLock<Operator>,
    pub(super) applied: OnceLock<(TensorId, Tensor)>,
    /// Sparse features and the operator's product with them.
    pub(super) aggregated: OnceLock<(Arc<Constants>, Operator)>,
}

impl Constants {
    pub(super) fn new(values: Vec<f32>) -> Arc<Self> {
        Self::with_symmetry(values, false)
    }

    pub(super) fn with_symmetry(values: Vec<f32>, symmetric: bool) -> Arc<Self> {
        Arc::new(Self {
            values,
            wide: OnceLock::new(),
            symmetric,
            transposed: OnceLock::new(),
            head: OnceLock::new(),
            with_self_loops: OnceLock::new(),
            applied: OnceLock::new(),
            aggregated: OnceLock::new(),
        })
    }

    fn of<T: Float>(&self) -> &[T] {
        T::pick(&self.values, || {
            self.wide
                .get_or_init(|| self.values.iter().map(|&v| f64::from(v)).collect())
        })
    }

    fn transposed(&self, pattern: &Pattern) -> Arc<Constants> {
        self.transposed
            .get_or_init(|| {
                Constants::new(permuted(&self.values, 1, &pattern.transposed().entry_of).to_vec())
            })
            .clone()
    }
}

/// `P · x (+ bias)` with constant values and optional activation; the gradient to x is `Pᵀ · g`.
#[derive(Clone)]
pub(crate) struct ApplyConstant {
    pub(super) pattern: Arc<Pattern>,
    pub(super) values: Arc<Constants>,
    activation: Option<Dropout>,
}

impl ApplyConstant {
    pub(super) fn new(
        pattern: &Arc<Pattern>,
        values: &Arc<Constants>,
        activation: Option<Dropout>,
    ) -> Self {
        Self {
            pattern: pattern.clone(),
            values: values.clone(),
            activation,
        }
    }

    pub(super) fn rows<T: Float>(&self) -> Rows<'_, T> {
        Rows {
            pattern: &self.pattern,
            values: self.values.of(),
            heads: 1,
        }
    }

    pub(super) fn transposed(&self) -> Self {
        if self.values.symmetric {
            return Self::new(&self.pattern, &self.values, None);
        }
        let values = self.values.transposed(&self.pattern);
        Self {
            pattern: self.pattern.transposed().pattern.clone(),
            values,
            activation: None,
        }
    }

    /// Computes the product outside any gradient.
    pub(super) fn product(&self, x: &Tensor) -> Result<Tensor> {
        self.forward(std::slice::from_ref(x))
    }

    /// Adds the product with `x` to the gradient of input `i`.
    pub(super) fn product_to(&self, x: &Tensor, i: usize, to: &mut Sinks<'_>) -> Result<()> {
        by_precision!(self.name(), x.dtype(), T => product_to::<T>(self.rows(), x, i, to))
    }
}

impl Operation for ApplyConstant {
    fn name(&self) -> &'static str {
        "operator"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        by_precision!(self.name(), inputs[0].dtype(), T => {
            product::<T>(self.rows(), &inputs[0], inputs.get(1), self.activation)
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        if let Some(dropout) = self.activation {
            let plain = Self {
                activation: None,
                ..self.clone()
            };
            return at.by_parts(grad, |inputs| {
                let inputs: Vec<&Tensor> = inputs.iter().collect();
                relu_dropout(&apply(plain, &inputs)?, dropout)
            });
        }
        let mut shares = vec![at.to(0, || apply(self.transposed(), &[grad]))?];
        if at.inputs.len() > 1 {
            shares.push(at.to(1, || grad.sum(0))?);
        }
        Ok(shares)
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let grad = match self.activation {
            Some(dropout) => before_activation(at.output, grad, dropout)?,
            None => grad,
        };
        if at.inputs.len() > 1 {
            column_sums_to(&grad, 1, to)?;
        }
        if to.wants(0) {
            self.transposed().product_to(&grad, 0, to)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, random_pattern};

    impl Examples for ApplyConstant {
        fn examples() -> Vec<Example> {
            let mut examples = Vec::new();
            for (rows, cols, width) in [(9, 7, 4), (1, 3, 1), (4, 1, 17), (0, 2, 3), (3, 3, 0)] {
                let op = random_pattern(rows, cols, 0.4, 7);
                let (x, b) = ([cols, width], [width]);
                let (plain, active) = (op.clone(), op.clone());
                let dropout = Dropout { rate: 0.3, key: 5 };
                examples.extend([
                    Example::of(&[&x], move |v| op.apply(&v[0])),
                    Example::of(&[&x, &b], move |v| {
                        plain.apply_with_bias(&v[0], Some(&v[1]))
                    }),
                    Example::of(&[&x, &b], move |v| {
                        active.apply_activated(&v[0], &v[1], dropout)
                    }),
                ]);
            }
            let symmetric =
                Operator::from_pattern(Arc::new(Pattern::new(2, vec![0, 1, 2], vec![1, 0])))
                    .with_symmetry_detected();
            examples.push(Example::of(&[&[2, 3]], move |v| symmetric.apply(&v[0])));
            examples
        }
    }
}
