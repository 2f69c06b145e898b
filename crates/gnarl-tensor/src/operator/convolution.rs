//! Fused graph convolution: linear map, operator, ReLU and dropout as one operation.

use super::constant::ApplyConstant;
use super::gather::product;
use super::{Operator, Values};
use crate::activation::{Dropout, before_activation, relu_dropout};
use crate::array::Tensor;
use crate::bias::column_sums_to;
use crate::element::by_precision;
use crate::error::Result;
use crate::ops::product::{by_transposed_to, transposed_by_to};
use crate::tape::{Computed, Gradients, Operation, Sinks, apply};

/// Computes `dropout(relu(P · (X W) + b))` for constant P and X as one operation: a hidden graph
/// convolution on sparse features. It avoids the intermediate results, and their gradients, of
/// separate operations. Returns `None` if P or X has values that take gradients.
pub fn constant_convolution(
    operator: &Operator,
    features: &Operator,
    weight: &Tensor,
    bias: &Tensor,
    activation: Dropout,
) -> Result<Option<Tensor>> {
    let constant = |op: &Operator| match &op.values {
        Values::Ones(values) | Values::Constant(values) => {
            Some(ApplyConstant::new(&op.pattern, values, None))
        }
        Values::Variable(_)
        | Values::AdditionalPairs(..)
        | Values::Factored(_)
        | Values::LowRank(_) => None,
    };
    let (Some(operator), Some(features)) = (constant(operator), constant(features)) else {
        return Ok(None);
    };
    let op = ConstantConvolution {
        operator,
        features,
        activation: activation.check()?,
    };
    apply(op, &[weight, bias]).map(Some)
}

/// Computes `dropout(relu(P · (x W) + b))` for constant P and dense x as one operation; returns
/// `None` if P takes gradients.
pub fn dense_convolution(
    operator: &Operator,
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    activation: Dropout,
) -> Result<Option<Tensor>> {
    let Some(values) = operator.constants() else {
        return Ok(None);
    };
    let operator = ApplyConstant::new(&operator.pattern, values, None);
    let op = DenseConvolution {
        operator,
        activation: activation.check()?,
    };
    apply(op, &[x, weight, bias]).map(Some)
}

pub(crate) struct DenseConvolution {
    operator: ApplyConstant,
    activation: Dropout,
}

impl Operation for DenseConvolution {
    fn name(&self) -> &'static str {
        "dense convolution"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let mapped = inputs[0].detach().matmul(&inputs[1].detach())?;
        by_precision!(self.name(), mapped.dtype(), T => {
            product::<T>(self.operator.rows(), &mapped, Some(&inputs[2]), Some(self.activation))
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| {
            let mapped = inputs[0].matmul(&inputs[1])?;
            relu_dropout(
                &apply(self.operator.clone(), &[&mapped, &inputs[2]])?,
                self.activation,
            )
        })
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let grad = before_activation(at.output, grad, self.activation)?;
        column_sums_to(&grad, 2, to)?;
        let to_mapped = self.operator.transposed().product(&grad)?;
        drop(grad);
        if to.wants(0) {
            by_transposed_to(&to_mapped, &at.inputs[1], 0, to)?;
        }
        if to.wants(1) {
            transposed_by_to(&at.inputs[0], &to_mapped, 1, to)?;
        }
        Ok(())
    }
}

pub(crate) struct ConstantConvolution {
    operator: ApplyConstant,
    features: ApplyConstant,
    activation: Dropout,
}

impl Operation for ConstantConvolution {
    fn name(&self) -> &'static str {
        "constant convolution"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let mapped = self.features.product(&inputs[0])?;
        by_precision!(self.name(), mapped.dtype(), T => {
            product::<T>(self.operator.rows(), &mapped, Some(&inputs[1]), Some(self.activation))
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| {
            let mapped = apply(self.features.clone(), &[&inputs[0]])?;
            relu_dropout(
                &apply(self.operator.clone(), &[&mapped, &inputs[1]])?,
                self.activation,
            )
        })
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let grad = before_activation(at.output, grad, self.activation)?;
        column_sums_to(&grad, 1, to)?;
        if !to.wants(0) {
            return Ok(());
        }
        let to_mapped = self.operator.transposed().product(&grad)?;
        drop(grad);
        self.features.transposed().product_to(&to_mapped, 0, to)
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, random_pattern};

    const DRAW: Dropout = Dropout { rate: 0.3, key: 5 };

    impl Examples for ConstantConvolution {
        fn examples() -> Vec<Example> {
            let shapes = [(9, 6, 5), (1, 2, 1), (4, 3, 17)];
            let on = |(nodes, features, width)| {
                let (p, x) = (
                    random_pattern(nodes, nodes, 0.4, 1),
                    random_pattern(nodes, features, 0.4, 2),
                );
                let inputs: [&[usize]; 2] = [&[features, width], &[width]];
                Example::of(&inputs, move |v| {
                    Ok(constant_convolution(&p, &x, &v[0], &v[1], DRAW)?.expect("constant"))
                })
            };
            shapes.map(on).into()
        }
    }

    impl Examples for DenseConvolution {
        fn examples() -> Vec<Example> {
            let shapes = [(9, 7, 6, 5), (1, 2, 1, 1), (3, 4, 2, 17), (2, 2, 0, 3)];
            let on = |(rows, cols, features, width)| {
                let p = random_pattern(rows, cols, 0.4, 1);
                let inputs: [&[usize]; 3] = [&[cols, features], &[features, width], &[width]];
                Example::of(&inputs, move |v| {
                    Ok(dense_convolution(&p, &v[0], &v[1], &v[2], DRAW)?.expect("constant"))
                })
            };
            shapes.map(on).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Var;
    use crate::relu_dropout;
    use crate::testing::{assert_close, random, random_pattern};

    #[test]
    fn a_constant_convolution_is_its_parts() {
        let (operator, features) = (random_pattern(9, 9, 0.4, 1), random_pattern(9, 6, 0.4, 2));
        let inputs = [random(&[6, 5], 3), random(&[5], 4)];
        let d = Dropout { rate: 0.3, key: 5 };
        let whole = |v: &[Tensor]| {
            Ok(constant_convolution(&operator, &features, &v[0], &v[1], d)?.unwrap())
        };
        let parts = |v: &[Tensor]| {
            crate::relu_dropout(
                &operator.apply_with_bias(&features.apply(&v[0])?, Some(&v[1]))?,
                d,
            )
        };
        assert_close(&whole(&inputs).unwrap(), &parts(&inputs).unwrap());
        let gradients = |f: &dyn Fn(&[Tensor]) -> Result<Tensor>| {
            let vars: Vec<Var> = inputs
                .iter()
                .map(|t| Var::from_tensor(t).unwrap())
                .collect();
            let tensors: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
            let grads = f(&tensors)
                .unwrap()
                .sqr()
                .unwrap()
                .sum_all()
                .unwrap()
                .backward()
                .unwrap();
            vars.iter()
                .map(|v| grads.get(v).unwrap().clone())
                .collect::<Vec<_>>()
        };
        for (a, b) in gradients(&whole).iter().zip(gradients(&parts)) {
            assert_close(a, &b);
        }
        let variable = operator.with_values(&operator.values().unwrap()).unwrap();
        assert!(
            constant_convolution(&variable, &features, &inputs[0], &inputs[1], d)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_dense_convolution_is_its_parts() {
        let operator = random_pattern(9, 7, 0.4, 1);
        let inputs = [random(&[7, 6], 2), random(&[6, 5], 3), random(&[5], 4)];
        let d = Dropout { rate: 0.3, key: 5 };
        let outcome = |fused: bool| {
            let [x, w, b] = inputs.each_ref().map(|t| Var::from_tensor(t).unwrap());
            let y = if fused {
                dense_convolution(&operator, &x, &w, &b, d)
                    .unwrap()
                    .unwrap()
            } else {
                let aggregated = operator
                    .apply_with_bias(&x.matmul(&w).unwrap(), Some(&b))
                    .unwrap();
                relu_dropout(&aggregated, d).unwrap()
            };
            let grads = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            [
                y,
                grads.get(&x).unwrap().clone(),
                grads.get(&w).unwrap().clone(),
                grads.get(&b).unwrap().clone(),
            ]
        };
        outcome(true)
            .iter()
            .zip(outcome(false))
            .for_each(|(a, b)| assert_close(a, &b));
        let variable = operator.with_values(&operator.values().unwrap()).unwrap();
        assert!(
            dense_convolution(&variable, &inputs[0], &inputs[1], &inputs[2], d)
                .unwrap()
                .is_none()
        );
    }
}
