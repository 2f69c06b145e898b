//! The one list of tensor operations. An operation that is not in it does not compile, and one that
//! is in it is tested: its gradients of first and second order are compared with differences, on
//! examples that it brings.

use crate::operator::NodeFactors;
use crate::tensor::all::*;
use crate::tensor::tape::{Listed, Same};
use crate::weights::Bjorck;

/// Lists operations.
macro_rules! operations {
    ($($operation:ident),* $(,)?) => {
        $(impl Listed for $operation {})*

        #[cfg(test)]
        fn listed() -> Vec<(&'static str, &'static str, Vec<crate::tensor::testing::Example>)> {
            use crate::tensor::testing::Examples;
            vec![$((stringify!($operation), std::any::type_name::<$operation>(), $operation::examples())),*]
        }
    };
}

operations! {
    Abs, Add, AddBias, Additive, Affine, AffineMap, ApplyConstant, ApplyFactored, ApplyPairs, ApplyTransposed, ApplyVariable,
    Bjorck, Broadcast, Cast, Cat, Choose, ConstantConvolution, CrossEntropy, DenseConvolution, Div, Elu, EntryValues, Exp,
    Gate, Gather, GatV2, GiveWinners, IndexAdd, IndexSelect, Log, MatMul, Maximum, Mul, Narrow, Neg, NodeFactors, Pad, PairProducts,
    PlainDropout, Powf, Recip, Relu, ReluDropout, Reshape, Round, Same, SampledProducts, Sandwich, ScatterAdd, SegmentSoftmax, Sign,
    SoftCrossEntropy, Sqr, Sqrt, Sub, SumTo, TakeWinners, Tanh, Transpose,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{Example, random_wide};
    use crate::tensor::{DType, GradStore, Tensor, Var};

    fn vars(inputs: &[Tensor]) -> Vec<Var> {
        inputs
            .iter()
            .map(|input| Var::from_tensor(input).unwrap())
            .collect()
    }

    fn tensors(vars: &[Var]) -> Vec<Tensor> {
        vars.iter().map(|var| var.as_tensor().clone()).collect()
    }

    fn flat(x: &Tensor) -> Vec<f64> {
        x.to_dtype(DType::F64)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1::<f64>()
            .unwrap()
    }

    /// The gradients of variables, one after the other, with zeros where there is none.
    fn joined(grads: &GradStore, vars: &[Var]) -> Vec<f64> {
        vars.iter()
            .flat_map(|v| grads.get(v).map_or_else(|| vec![0.0; v.elem_count()], flat))
            .collect()
    }

    /// Kinds of operations that a tensor was computed by.
    fn kinds(of: &Tensor) -> Vec<&'static str> {
        let (mut open, mut found) = (vec![of.clone()], Vec::new());
        while let Some(tensor) = open.pop() {
            if let Some(record) = tensor.record() {
                found.push(record.operation.kind());
                open.extend(record.inputs.iter().cloned());
            }
        }
        found
    }

    /// `Σ w · x` with weights of their own for every shape.
    fn projected(x: &Tensor, seed: u64) -> Tensor {
        x.mul(&random_wide(x.dims(), seed).to_dtype(x.dtype()).unwrap())
            .unwrap()
            .sum_all()
            .unwrap()
    }

    /// Central differences of a function along every value of every input.
    fn differences(inputs: &[Tensor], step: f64, f: impl Fn(&[Tensor]) -> f64) -> Vec<f64> {
        let mut found = Vec::new();
        for (i, input) in inputs.iter().enumerate() {
            for e in 0..input.elem_count() {
                let moved = |by: f64| {
                    let mut values = flat(input);
                    values[e] += by;
                    let mut all = inputs.to_vec();
                    all[i] = Tensor::from_vec(values, input.dims(), input.device()).unwrap();
                    f(&all)
                };
                found.push((moved(step) - moved(-step)) / (2.0 * step));
            }
        }
        found
    }

    fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
        assert_eq!(found.len(), expected.len(), "{what}");
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            let off = (found - expected).abs();
            assert!(
                off <= tolerance * (1.0 + expected.abs()),
                "{what}, value {at}: {found}, not {expected}"
            );
        }
    }

    fn check(example: &Example, kind: &str, what: &str) {
        let (inputs, f) = (&example.inputs, &example.function);
        let own = vars(inputs);
        let y = f(&tensors(&own)).unwrap();
        assert!(
            kinds(&y).contains(&kind),
            "{what}: the operation has no part in its example"
        );
        // First order: by differences, in place, recorded, and as the second share of a gradient.
        let plain = joined(&projected(&y, 5).backward().unwrap(), &own);
        let value = |inputs: &[Tensor]| {
            projected(&f(inputs).unwrap(), 5)
                .to_scalar::<f64>()
                .unwrap()
        };
        assert_near(
            &plain,
            &differences(inputs, example.step, value),
            example.tolerance,
            &format!("{what}, gradient"),
        );
        let recorded = joined(&projected(&y, 5).backward_recorded().unwrap(), &own);
        assert_near(
            &recorded,
            &plain,
            example.tolerance.min(1e-9) * 100.0,
            &format!("{what}, recorded gradient"),
        );
        let again = f(&tensors(&own)).unwrap();
        let both = projected(&y, 5).add(&projected(&again, 6)).unwrap();
        let other = joined(&projected(&again, 6).backward().unwrap(), &own);
        let sums: Vec<f64> = plain.iter().zip(other).map(|(a, b)| a + b).collect();
        assert_near(
            &joined(&both.into_gradients().unwrap(), &own),
            &sums,
            1e-9,
            &format!("{what}, added gradients"),
        );
        // Second order: the gradient along a direction, differentiated.
        let along = |own: &[Var], grads: &GradStore| {
            let parts = own
                .iter()
                .enumerate()
                .filter_map(|(i, v)| Some(projected(grads.get(v)?, 40 + i as u64)));
            parts.reduce(|sum, part| sum.add(&part).unwrap())
        };
        let slope = |inputs: &[Tensor]| {
            let own = vars(inputs);
            let grads = projected(&f(&tensors(&own)).unwrap(), 5)
                .backward()
                .unwrap();
            along(&own, &grads).map_or(0.0, |slope| slope.to_scalar::<f64>().unwrap())
        };
        let recorded = along(&own, &projected(&y, 5).backward_recorded().unwrap());
        let second = recorded.map_or_else(GradStore::default, |slope| slope.backward().unwrap());
        let expected = differences(inputs, example.step, slope);
        assert_near(
            &joined(&second, &own),
            &expected,
            10.0 * example.tolerance,
            &format!("{what}, second order"),
        );
        // Single precision.
        let narrow: Vec<Tensor> = inputs
            .iter()
            .map(|x| x.to_dtype(DType::F32).unwrap())
            .collect();
        let narrow = vars(&narrow);
        let Ok(z) = f(&tensors(&narrow)) else {
            panic!("{what}: in single precision")
        };
        assert_near(
            &flat(&z),
            &flat(&y),
            1e-4,
            &format!("{what}, in single precision"),
        );
        let grads = joined(&projected(&z, 5).backward().unwrap(), &narrow);
        assert_near(
            &grads,
            &plain,
            1e-3,
            &format!("{what}, gradient in single precision"),
        );
    }

    #[test]
    fn every_operation_has_its_gradients() {
        for (name, kind, examples) in listed() {
            assert!(!examples.is_empty(), "{name} has no example");
            for (i, example) in examples.iter().enumerate() {
                let shapes: Vec<&[usize]> = example.inputs.iter().map(Tensor::dims).collect();
                check(example, kind, &format!("{name}, example {i} on {shapes:?}"));
            }
        }
    }
}
