//! Automatic differentiation through the public interface: random computations against differences,
//! of first and second order, and differentiation through training.

use gnarl_tensor::{DType, Device, Result, Tensor, Var};
use proptest::prelude::*;

/// One step of a random computation: the operation, and its inputs among the results so far.
#[derive(Debug, Clone, Copy)]
struct Step {
    operation: u8,
    first: usize,
    second: usize,
}

const OPERATIONS: u8 = 20;

/// The values of a step are kept small, so that differences of many steps stay exact.
fn calculate(step: Step, results: &[Tensor]) -> Result<Tensor> {
    let a = &results[step.first % results.len()];
    let b = &results[step.second % results.len()];
    let (rows, cols) = a.dims2()?;
    let small = |x: Tensor| x.affine(0.5, 0.0)?.tanh();
    let index = |count: usize, of: usize| {
        let values: Vec<u32> = (0..count)
            .map(|i| ((i * 7 + step.second) % of.max(1)) as u32)
            .collect();
        Tensor::from_vec(values, count, &Device::Cpu)
    };
    match step.operation {
        0 => a.tanh(),
        1 => a.affine(-0.7, 0.2),
        2 => small(a.sqr()?),
        3 => a.sqr()?.affine(1.0, 0.5)?.sqrt(),
        4 => a.sqr()?.affine(1.0, 1.0)?.log(),
        5 => a.affine(0.3, 0.0)?.exp(),
        6 => a.sqr()?.affine(1.0, 1.0)?.recip(),
        7 => a.t(),
        8 => small(a.matmul(&a.t()?)?),
        9 if a.dim(1)? == b.dim(0)? => small(a.matmul(b)?),
        9 => small(a.t()?.matmul(a)?),
        10 if a.shape() == b.shape() => small(a.mul(b)?),
        10 => small(a.broadcast_mul(&b.sum_all()?.tanh()?)?),
        11 if a.shape() == b.shape() => a.sub(b),
        11 => a.broadcast_sub(&a.mean_keepdim(0)?),
        12 => a.broadcast_add(&a.mean_keepdim(1)?),
        13 => Tensor::cat(&[a, a], 0)?.narrow(0, rows / 2, rows),
        14 => a.narrow(1, 0, cols.div_ceil(2)),
        15 => a.index_select(&index(rows + 1, rows)?, 0),
        16 => a.broadcast_div(&a.sqr()?.sum_keepdim(1)?.affine(1.0, 1.0)?),
        17 => a.reshape((cols, rows)),
        18 => a.neg(),
        _ => a.affine(0.2, 1.5)?.powf(1.7)?.affine(0.3, 0.0),
    }
}

/// A random computation: every result contributes to the final value.
fn outcome(steps: &[Step], inputs: &[Tensor]) -> Result<Tensor> {
    let mut results = inputs.to_vec();
    for step in steps {
        let next = calculate(*step, &results)?;
        // Results that grow too large are dropped.
        if next.elem_count() <= 40 {
            results.push(next);
        }
    }
    let parts = results.iter().map(|x| x.tanh()?.mean_all());
    parts
        .reduce(|sum, part| sum?.add(&part?))
        .expect("there are inputs")
}

fn vars(inputs: &[Vec<f64>], dims: &[[usize; 2]]) -> Vec<Var> {
    let var = |(values, dims): (&Vec<f64>, &[usize; 2])| {
        Var::from_tensor(&Tensor::from_slice(values, dims, &Device::Cpu).unwrap()).unwrap()
    };
    inputs.iter().zip(dims).map(var).collect()
}

fn tensors(vars: &[Var]) -> Vec<Tensor> {
    vars.iter().map(|v| v.as_tensor().clone()).collect()
}

fn direction(len: usize) -> Vec<f64> {
    (0..len)
        .map(|i| ((i * 37 % 11) as f64 - 5.0) / 7.0)
        .collect()
}

/// `Σ direction · gradient`, as a tensor.
fn along(vars: &[Var], grads: &gnarl_tensor::GradStore) -> Option<Tensor> {
    let parts = vars.iter().filter_map(|v| {
        let towards = Tensor::from_vec(direction(v.elem_count()), v.dims(), &Device::Cpu).unwrap();
        Some(grads.get(v)?.mul(&towards).unwrap().sum_all().unwrap())
    });
    parts.reduce(|sum, part| sum.add(&part).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn gradients_of_random_computations_agree_with_differences(
        dims in prop::collection::vec((1usize..4, 1usize..5), 1..3),
        values in prop::collection::vec(-1.0f64..1.0, 40),
        steps in prop::collection::vec((0..OPERATIONS, 0usize..50, 0usize..50), 1..9),
    ) {
        let dims: Vec<[usize; 2]> = dims.into_iter().map(|(r, c)| [r, c]).collect();
        let mut at = 0;
        let inputs: Vec<Vec<f64>> = dims.iter().map(|[r, c]| { at += r * c; values[at - r * c..at].to_vec() }).collect();
        let steps: Vec<Step> =
            steps.into_iter().map(|(operation, first, second)| Step { operation, first, second }).collect();
        let own = vars(&inputs, &dims);
        let y = outcome(&steps, &tensors(&own)).unwrap();
        let grads = y.backward().unwrap();
        let recorded = y.backward_recorded().unwrap();
        let second = along(&own, &recorded).map(|slope| slope.backward().unwrap());
        let value = |inputs: &[Vec<f64>]| {
            outcome(&steps, &tensors(&vars(inputs, &dims))).unwrap().to_scalar::<f64>().unwrap()
        };
        let slope = |inputs: &[Vec<f64>]| {
            let own = vars(inputs, &dims);
            let grads = outcome(&steps, &tensors(&own)).unwrap().backward().unwrap();
            along(&own, &grads).map_or(0.0, |slope| slope.to_scalar::<f64>().unwrap())
        };
        for (i, v) in own.iter().enumerate() {
            let flat = |x: Option<&Tensor>| {
                x.map_or_else(|| vec![0.0; v.elem_count()], |x| x.flatten_all().unwrap().to_vec1::<f64>().unwrap())
            };
            let (first, again) = (flat(grads.get(v)), flat(recorded.get(v)));
            let curved = flat(second.as_ref().and_then(|s| s.get(v)));
            for e in 0..v.elem_count() {
                let difference = |f: &dyn Fn(&[Vec<f64>]) -> f64| {
                    let moved = |by: f64| {
                        let mut all = inputs.clone();
                        all[i][e] += by;
                        f(&all)
                    };
                    (moved(1e-5) - moved(-1e-5)) / 2e-5
                };
                let numeric = difference(&value);
                prop_assert!((first[e] - numeric).abs() < 1e-6 * (1.0 + numeric.abs()), "{} against {numeric}", first[e]);
                prop_assert!((first[e] - again[e]).abs() < 1e-10, "recorded: {} against {}", again[e], first[e]);
                let numeric = difference(&slope);
                prop_assert!((curved[e] - numeric).abs() < 1e-5 * (1.0 + numeric.abs()), "second order: {} against {numeric}", curved[e]);
            }
        }
    }
}

/// A product with the Hessian of softmax regression, whose Hessian is known:
/// `mean of (diag(p) - p pᵀ) ⊗ x xᵀ`.
#[test]
fn hessian_vector_products_are_exact() {
    let x = Tensor::new(&[[1f64, 2.0], [-0.5, 0.3], [0.7, -1.1]], &Device::Cpu).unwrap();
    let w = Var::new(&[[0.2f64, -0.4, 0.1], [0.5, 0.3, -0.2]], &Device::Cpu).unwrap();
    let (rows, classes) = (
        std::sync::Arc::new(vec![0, 1, 2]),
        std::sync::Arc::new(vec![2, 0, 1]),
    );
    let loss = gnarl_tensor::masked_cross_entropy(&x.matmul(&w).unwrap(), &rows, &classes).unwrap();
    let v = Tensor::new(&[[1f64, 0.5, -1.0], [0.25, -0.75, 2.0]], &Device::Cpu).unwrap();
    let slope = loss
        .backward_recorded()
        .unwrap()
        .get(&w)
        .unwrap()
        .mul(&v)
        .unwrap()
        .sum_all()
        .unwrap();
    let product = slope
        .backward()
        .unwrap()
        .get(&w)
        .unwrap()
        .to_vec2::<f64>()
        .unwrap();
    let (scores, along) = (
        x.matmul(&w).unwrap().to_vec2::<f64>().unwrap(),
        x.matmul(&v).unwrap().to_vec2::<f64>().unwrap(),
    );
    let mut expected = [[0f64; 3]; 2];
    for ((x, z), u) in x.to_vec2::<f64>().unwrap().iter().zip(&scores).zip(&along) {
        let total: f64 = z.iter().map(|z| z.exp()).sum();
        let p: Vec<f64> = z.iter().map(|z| z.exp() / total).collect();
        let mean: f64 = p.iter().zip(u).map(|(p, u)| p * u).sum();
        for f in 0..2 {
            for c in 0..3 {
                expected[f][c] += x[f] * p[c] * (u[c] - mean) / 3.0;
            }
        }
    }
    for (found, expected) in product.iter().flatten().zip(expected.iter().flatten()) {
        assert!(
            (found - expected).abs() < 1e-14,
            "{found} against {expected}"
        );
    }
}

#[test]
fn mixed_precisions_are_refused() {
    let (a, b) = (
        Tensor::new(&[1f32], &Device::Cpu).unwrap(),
        Tensor::new(&[1f64], &Device::Cpu).unwrap(),
    );
    assert!(
        a.add(&b)
            .unwrap_err()
            .to_string()
            .contains("F64 is read as one of F32")
    );
    assert_eq!(
        a.to_dtype(DType::F64)
            .unwrap()
            .add(&b)
            .unwrap()
            .to_vec1::<f64>()
            .unwrap(),
        [2.0]
    );
}
