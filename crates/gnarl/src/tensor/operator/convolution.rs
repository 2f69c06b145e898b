//! Linear map, operator, ReLU and dropout as one operation: a hidden graph convolution.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::constant::ApplyConstant;
use super::gather::product;
use super::{Operator, Values};
use crate::tensor::activation::{Dropout, relu_dropout_gradient};
use crate::tensor::bias::column_sums;
use crate::tensor::dense::{by_transposed, product_of, transposed_by};
use crate::tensor::{floats, matrix_shape};

/// `dropout(relu(P · (X W) + b))` for constant P and X, as one operation: a hidden graph convolution on sparse features
/// without the intermediate results, and their gradients, that separate operations would keep. `None` where P or X has
/// values that take gradients.
pub fn constant_convolution(
    operator: &Operator,
    features: &Operator,
    weight: &Tensor,
    bias: &Tensor,
    activation: Dropout,
) -> Result<Option<Tensor>> {
    let constant = |op: &Operator| match &op.values {
        Values::Ones(values) | Values::Constant(values) => Some(ApplyConstant::new(&op.pattern, values, None)),
        Values::Variable(_) | Values::Factored(_) => None,
    };
    let (Some(operator), Some(features)) = (constant(operator), constant(features)) else { return Ok(None) };
    let op = ConstantConvolution { operator, features, activation: activation.check()? };
    weight.contiguous()?.apply_op2(&bias.contiguous()?, op).map(Some)
}

/// `dropout(relu(P · (x W) + b))` for constant P and dense x, as one operation; `None` where P takes gradients.
pub fn dense_convolution(
    operator: &Operator,
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    activation: Dropout,
) -> Result<Option<Tensor>> {
    let Some(values) = operator.constants() else { return Ok(None) };
    let operator = ApplyConstant::new(&operator.pattern, values, None);
    let op = DenseConvolution { operator, activation: activation.check()? };
    x.contiguous()?.apply_op3(&weight.contiguous()?, &bias.contiguous()?, op).map(Some)
}

struct DenseConvolution {
    operator: ApplyConstant,
    activation: Dropout,
}

impl CustomOp3 for DenseConvolution {
    fn name(&self) -> &'static str {
        "dense convolution"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        w: &CpuStorage,
        lw: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let ((rows, inner), (w_rows, width)) = (matrix_shape(self.name(), lx)?, matrix_shape(self.name(), lw)?);
        if inner != w_rows {
            bail!("{}: {rows} × {inner} by {w_rows} × {width}", self.name());
        }
        let factors = (floats(self.name(), x, lx)?, floats(self.name(), w, lw)?);
        let mapped = product_of(factors, (rows, inner, width));
        let (mapped, layout) = (CpuStorage::F32(mapped), Layout::contiguous((rows, width)));
        let values = &self.operator.values.values;
        product(&self.operator.pattern, values, 1, (&mapped, &layout), Some((b, lb)), Some(self.activation))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        _b: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = relu_dropout_gradient(result, grad, self.activation)?;
        let to_bias = column_sums(&grad)?;
        let to_mapped = grad.apply_op1_no_bwd(&self.operator.transposed())?;
        let to_x = if x.track_op() { Some(by_transposed(&to_mapped, w)?) } else { None };
        let to_w = if w.track_op() { Some(transposed_by(x, &to_mapped)?) } else { None };
        Ok((to_x, to_w, Some(to_bias)))
    }
}

struct ConstantConvolution {
    operator: ApplyConstant,
    features: ApplyConstant,
    activation: Dropout,
}

impl CustomOp2 for ConstantConvolution {
    fn name(&self) -> &'static str {
        "constant convolution"
    }

    fn cpu_fwd(&self, w: &CpuStorage, lw: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        let (mapped, shape) = product(&self.features.pattern, &self.features.values.values, 1, (w, lw), None, None)?;
        let layout = Layout::contiguous(shape);
        let mapped = (&mapped, &layout);
        product(&self.operator.pattern, &self.operator.values.values, 1, mapped, Some((b, lb)), Some(self.activation))
    }

    fn bwd(
        &self,
        _w: &Tensor,
        _b: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = relu_dropout_gradient(result, grad, self.activation)?;
        let to_bias = column_sums(&grad)?;
        let to_mapped = grad.apply_op1_no_bwd(&self.operator.transposed())?;
        Ok((Some(to_mapped.apply_op1_no_bwd(&self.features.transposed())?), Some(to_bias)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::relu_dropout;
    use crate::tensor::testing::{assert_close, random, random_pattern};
    use candle_core::Var;

    #[test]
    fn a_constant_convolution_is_its_parts() {
        let (operator, features) = (random_pattern(9, 9, 0.4, 1), random_pattern(9, 6, 0.4, 2));
        let inputs = [random(&[6, 5], 3), random(&[5], 4)];
        let d = Dropout { rate: 0.3, key: 5 };
        let whole = |v: &[Tensor]| Ok(constant_convolution(&operator, &features, &v[0], &v[1], d)?.unwrap());
        let parts = |v: &[Tensor]| {
            crate::tensor::relu_dropout(&operator.apply_with_bias(&features.apply(&v[0])?, Some(&v[1]))?, d)
        };
        assert_close(&whole(&inputs).unwrap(), &parts(&inputs).unwrap());
        let gradients = |f: &dyn Fn(&[Tensor]) -> Result<Tensor>| {
            let vars: Vec<Var> = inputs.iter().map(|t| Var::from_tensor(t).unwrap()).collect();
            let tensors: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
            let grads = f(&tensors).unwrap().sqr().unwrap().sum_all().unwrap().backward().unwrap();
            vars.iter().map(|v| grads.get(v).unwrap().clone()).collect::<Vec<_>>()
        };
        for (a, b) in gradients(&whole).iter().zip(gradients(&parts)) {
            assert_close(a, &b);
        }
        let variable = operator.with_values(&operator.values().unwrap()).unwrap();
        assert!(constant_convolution(&variable, &features, &inputs[0], &inputs[1], d).unwrap().is_none());
    }

    #[test]
    fn a_dense_convolution_is_its_parts() {
        let operator = random_pattern(9, 7, 0.4, 1);
        let inputs = [random(&[7, 6], 2), random(&[6, 5], 3), random(&[5], 4)];
        let d = Dropout { rate: 0.3, key: 5 };
        let outcome = |fused: bool| {
            let [x, w, b] = inputs.each_ref().map(|t| Var::from_tensor(t).unwrap());
            let y = match fused {
                true => dense_convolution(&operator, &x, &w, &b, d).unwrap().unwrap(),
                false => {
                    let aggregated = operator.apply_with_bias(&x.matmul(&w).unwrap(), Some(&b)).unwrap();
                    relu_dropout(&aggregated, d).unwrap()
                }
            };
            let grads = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            [y, grads.get(&x).unwrap().clone(), grads.get(&w).unwrap().clone(), grads.get(&b).unwrap().clone()]
        };
        outcome(true).iter().zip(outcome(false)).for_each(|(a, b)| assert_close(a, &b));
        let variable = operator.with_values(&operator.values().unwrap()).unwrap();
        assert!(dense_convolution(&variable, &inputs[0], &inputs[1], &inputs[2], d).unwrap().is_none());
    }
}
