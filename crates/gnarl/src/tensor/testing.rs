//! Finite differences and random tensors for the tests of this crate.

use gnarl_graph::{CsrMatrix, random::stream};
use rand::RngExt;

use super::{Device, Operator, Result, Tensor, Var};

/// Values uniform in [-1, 1].
pub fn random(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = stream(seed, "test tensor", 0);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// The same in double precision.
pub fn random_wide(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = stream(seed, "test tensor", 1);
    let values: Vec<f64> = (0..shape.iter().product())
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// Inputs of an operation and how it is called: what its gradients are tried on.
pub struct Example {
    /// In double precision.
    pub inputs: Vec<Tensor>,
    /// The operation, perhaps among others.
    pub function: Function,
    /// How far inputs are moved for a difference, and how far that may lie from the gradient.
    pub step: f64,
    /// As above.
    pub tolerance: f64,
}

type Function = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;

/// What every operation brings along.
pub trait Examples {
    /// Odd shapes among them: empty ones, one row, one column, a width that no register has.
    fn examples() -> Vec<Example>;
}

impl Example {
    /// On given inputs.
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

    /// On random inputs of these shapes.
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

    /// The same with every input moved away from zero, where a function has a kink or a pole.
    pub fn off_zero(mut self) -> Self {
        let moved = |x: &Tensor| (x + (x.sign().unwrap() * 0.1).unwrap()).unwrap();
        self.inputs = self.inputs.iter().map(moved).collect();
        self
    }

    /// The same with positive inputs.
    pub fn positive(mut self) -> Self {
        self.inputs = self
            .inputs
            .iter()
            .map(|x| (x.abs().unwrap() + 0.1).unwrap())
            .collect();
        self
    }
}

/// A function on one input of each of the shapes that kernels may stumble over.
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

/// An operator whose entries are there with probability `density`.
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

/// One head of an operator as a dense matrix.
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

/// Value by value, to 1e-5.
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
