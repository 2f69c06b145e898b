//! Test helpers for this crate and the crates that depend on it: finite differences, random tensors
//! and distances between distributions.

use gnarl_graph::{CsrMatrix, random::stream};
use rand::RngExt;

use crate::{DType, Device, GradStore, Operator, Result, Tensor, Var};

/// Returns values uniform in [-1, 1].
pub fn random(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = stream(seed, "test tensor", 0);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// Returns values uniform in [-1, 1] in double precision.
pub fn random_wide(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = stream(seed, "test tensor", 1);
    let values: Vec<f64> = (0..shape.iter().product())
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// Inputs of an operation and a call of it, to test its gradients.
pub struct Example {
    /// Inputs in double precision.
    pub inputs: Vec<Tensor>,
    /// The operation, possibly combined with others.
    pub function: Function,
    /// Step of the finite differences.
    pub step: f64,
    /// Maximal distance between a difference and the gradient.
    pub tolerance: f64,
}

type Function = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;

/// Examples that every operation provides.
pub trait Examples {
    /// Returns the examples, with odd shapes among them: empty ones, one row, one column, a width
    /// that no register has.
    fn examples() -> Vec<Example>;
}

impl Example {
    /// Returns an example on given inputs.
    pub fn on(
        inputs: Vec<Tensor>,
        function: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
    ) -> Self {
        Self {
            inputs,
            function: Box::new(function),
            step: 1e-5,
            tolerance: 1e-6,
        }
    }

    /// Returns an example on random inputs of these shapes.
    pub fn of(
        shapes: &[&[usize]],
        function: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
    ) -> Self {
        let inputs = shapes
            .iter()
            .enumerate()
            .map(|(i, shape)| random_wide(shape, 17 + i as u64));
        Self::on(inputs.collect(), function)
    }

    /// Moves every input away from zero, where a function has a kink or a pole.
    pub fn off_zero(mut self) -> Self {
        let moved = |x: &Tensor| (x + (x.sign().unwrap() * 0.1).unwrap()).unwrap();
        self.inputs = self.inputs.iter().map(moved).collect();
        self
    }

    /// Makes the inputs positive.
    pub fn positive(mut self) -> Self {
        self.inputs = self
            .inputs
            .iter()
            .map(|x| (x.abs().unwrap() + 0.1).unwrap())
            .collect();
        self
    }
}

/// Returns examples of a function on one input of each shape that is difficult for kernels.
pub fn on_odd_shapes(
    function: impl Fn(&Tensor) -> Result<Tensor> + Clone + 'static,
) -> Vec<Example> {
    let shapes: [&[usize]; 6] = [&[], &[0, 3], &[1, 5], &[4, 1], &[3, 17], &[2, 3, 4]];
    let on = |shape: &&[usize]| {
        let function = function.clone();
        Example::of(&[shape], move |v| function(&v[0]))
    };
    shapes.iter().map(on).collect()
}

/// Listed operation with its name, its type and its examples.
pub struct ListedOperation {
    /// Its name in the list.
    pub name: &'static str,
    /// Its type.
    pub kind: &'static str,
    /// Examples to test its gradients on.
    pub examples: Vec<Example>,
}

/// Compares the gradients of first and second order of listed operations with differences.
pub fn check_operations(listed: Vec<ListedOperation>) {
    for ListedOperation {
        name,
        kind,
        examples,
    } in listed
    {
        assert!(!examples.is_empty(), "{name} has no example");
        for (i, example) in examples.iter().enumerate() {
            let shapes: Vec<&[usize]> = example.inputs.iter().map(Tensor::dims).collect();
            check(example, kind, &format!("{name}, example {i} on {shapes:?}"));
        }
    }
}

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

/// Returns the gradients of variables, concatenated, with zeros if there is none.
fn joined(grads: &GradStore, vars: &[Var]) -> Vec<f64> {
    vars.iter()
        .flat_map(|v| grads.get(v).map_or_else(|| vec![0.0; v.elem_count()], flat))
        .collect()
}

/// Returns the operations that a tensor was computed by.
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

/// Computes `Σ w · x` with different weights for every shape.
fn projected(x: &Tensor, seed: u64) -> Tensor {
    x.mul(&random_wide(x.dims(), seed).to_dtype(x.dtype()).unwrap())
        .unwrap()
        .sum_all()
        .unwrap()
}

/// Computes central differences of a function along every value of every input.
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

/// Returns an operator in which each entry is present with probability `density`.
pub fn random_pattern(rows: usize, cols: usize, density: f64, seed: u64) -> Operator {
    let mut rng = stream(seed, "test pattern", 0);
    let (mut offsets, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for _ in 0..rows {
        for c in 0..cols as u32 {
            if rng.random_bool(density) {
                indices.push(c);
                values.push(rng.random_range(-1.0..1.0));
            }
        }
        offsets.push(indices.len() as u64);
    }
    Operator::constant(&CsrMatrix::new(cols, offsets, indices, values).unwrap())
}

/// Compares the gradient of a random projection of `f` with central differences, for every entry of
/// every input.
pub fn check_gradients(inputs: &[Tensor], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let vars: Vec<Var> = inputs
        .iter()
        .map(|t| Var::from_tensor(t).unwrap())
        .collect();
    let tensors: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
    let out = f(&tensors).unwrap();
    let weights = random(out.dims(), 99);
    let project = |out: &Tensor| (out * &weights).unwrap().sum_all().unwrap();
    let grads = project(&out).backward().unwrap();
    // Differences of f32 sums: a step of 1e-2 keeps rounding and curvature errors near 1e-3 for
    // values of order one.
    let step = 1e-2f32;
    for (i, input) in inputs.iter().enumerate() {
        let shape = input.dims().to_vec();
        let analytic = match grads.get(&vars[i]) {
            Some(g) => g.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
            None => panic!("input {i} has no gradient"),
        };
        let flat = input.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for e in 0..flat.len() {
            let shifted = |by: f32| -> f64 {
                let mut values = flat.clone();
                values[e] += by;
                let mut moved: Vec<Tensor> = inputs.to_vec();
                moved[i] = Tensor::from_vec(values, shape.as_slice(), &Device::Cpu).unwrap();
                let products = (f(&moved).unwrap() * &weights)
                    .unwrap()
                    .flatten_all()
                    .unwrap()
                    .to_vec1::<f32>()
                    .unwrap();
                products.iter().map(|&p| f64::from(p)).sum()
            };
            let numeric = (shifted(step) - shifted(-step)) / (2.0 * f64::from(step));
            let difference = (numeric - f64::from(analytic[e])).abs();
            assert!(
                difference < 2e-3 * (1.0 + numeric.abs()),
                "input {i} entry {e}: gradient {} but differences give {numeric}",
                analytic[e]
            );
        }
    }
}

/// Returns one head of an operator as a dense matrix.
pub fn dense(op: &Operator, head: usize, heads: usize) -> Tensor {
    let p = op.pattern();
    let values = op
        .values()
        .unwrap()
        .flatten_all()
        .unwrap()
        .to_vec1::<f32>()
        .unwrap();
    let mut m = vec![0f32; p.num_rows() * p.num_cols()];
    for r in 0..p.num_rows() {
        for k in p.row(r) {
            m[r * p.num_cols() + p.indices()[k] as usize] = values[k * heads + head];
        }
    }
    Tensor::from_vec(m, (p.num_rows(), p.num_cols()), &Device::Cpu).unwrap()
}

/// Compares two tensors value by value, to 1e-5.
pub fn assert_close(a: &Tensor, b: &Tensor) {
    let diff = (a - b)
        .unwrap()
        .abs()
        .unwrap()
        .max_all()
        .unwrap()
        .to_scalar::<f32>()
        .unwrap();
    assert!(diff < 1e-5, "differs by {diff}");
}

/// Returns the largest distance between the empirical distribution of `values` and `cdf`
/// (Kolmogorov–Smirnov statistic).
pub fn kolmogorov(values: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let gap = |(i, &v): (usize, &f64)| {
        (cdf(v) - i as f64 / n)
            .abs()
            .max((cdf(v) - (i as f64 + 1.0) / n).abs())
    };
    sorted.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// Returns the largest distance between two empirical distributions without ties (two-sample
/// Kolmogorov–Smirnov statistic).
pub fn kolmogorov_two(a: &[f64], b: &[f64]) -> f64 {
    let mut b = b.to_vec();
    b.sort_unstable_by(f64::total_cmp);
    kolmogorov(a, |x| {
        b.partition_point(|&y| y <= x) as f64 / b.len() as f64
    })
}

/// Returns the critical distance, exceeded for one of a thousand seeds: one sample of `n`, or two
/// of `2n` each.
pub fn critical(n: usize) -> f64 {
    1.95 / (n as f64).sqrt()
}
