//! [Adam](https://arxiv.org/abs/1412.6980) with L2 decay added to the gradient, as in PyTorch's
//! `Adam(weight_decay=…)` and the GCN reference code. Each group has a learning rate; updates are
//! in place; there is a step schedule.

use rayon::prelude::*;

use crate::array::Var;
use crate::error::{Result, bail};
use crate::kernels::{self, AdamStep, CHUNK};
use crate::pattern::MIN_PARALLEL_WORK;
use crate::tape::GradStore;

/// Settings that all groups share. Default betas and epsilon are those of Kingma and Ba (2015), as
/// in PyTorch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamSettings {
    /// Exponential decay rate of the first moment (mean of gradients).
    pub beta1: f64,
    /// Exponential decay rate of the second moment (mean of squared gradients).
    pub beta2: f64,
    /// Constant added to the root of the second moment.
    pub epsilon: f64,
}

impl Default for AdamSettings {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
        }
    }
}

/// Adam optimiser with moments, a learning rate and a decay for each parameter.
#[derive(Debug)]
pub struct Adam {
    settings: AdamSettings,
    parameters: Vec<Parameter>,
    steps: i32,
}

#[derive(Debug)]
struct Parameter {
    var: Var,
    learning_rate: f64,
    decay: f64,
    moments: (Vec<f32>, Vec<f32>),
}

/// First and second moments of a parameter's gradients.
#[doc(hidden)]
pub type Moments<'a> = (&'a [f32], &'a [f32]);

impl Adam {
    /// Returns an optimiser without parameters.
    pub fn new(settings: AdamSettings) -> Self {
        Self {
            settings,
            parameters: Vec::new(),
            steps: 0,
        }
    }

    /// Adds a parameter with its learning rate and L2 decay.
    pub fn add(&mut self, var: &Var, learning_rate: f64, decay: f64) {
        let zeros = vec![0f32; var.elem_count()];
        self.parameters.push(Parameter {
            var: var.clone(),
            learning_rate,
            decay,
            moments: (zeros.clone(), zeros),
        });
    }

    /// Multiplies every learning rate, for a step schedule.
    pub fn scale_learning_rates(&mut self, factor: f64) {
        for p in &mut self.parameters {
            p.learning_rate *= factor;
        }
    }

    /// Returns the moments and the learning rate of each parameter, and the number of steps.
    /// Together with the parameters, this is all that the next step depends on.
    #[doc(hidden)]
    pub fn state(&self) -> (Vec<Moments<'_>>, Vec<f64>, i32) {
        let moments = self
            .parameters
            .iter()
            .map(|p| (&p.moments.0[..], &p.moments.1[..]))
            .collect();
        (
            moments,
            self.parameters.iter().map(|p| p.learning_rate).collect(),
            self.steps,
        )
    }

    /// Restores a [`state`](Self::state). Returns true if it fits the parameters.
    #[doc(hidden)]
    pub fn restore(
        &mut self,
        moments: Vec<(Vec<f32>, Vec<f32>)>,
        rates: &[f64],
        steps: i32,
    ) -> bool {
        let count = self.parameters.len();
        let lengths = self
            .parameters
            .iter()
            .zip(&moments)
            .all(|(p, m)| (p.moments.0.len(), p.moments.1.len()) == (m.0.len(), m.1.len()));
        if moments.len() != count || rates.len() != count || !lengths {
            return false;
        }
        for ((p, moments), rate) in self.parameters.iter_mut().zip(moments).zip(rates) {
            (p.moments, p.learning_rate) = (moments, *rate);
        }
        self.steps = steps;
        true
    }

    /// Performs one optimisation step; a parameter without a gradient stays as it is.
    pub fn step(&mut self, grads: &GradStore) -> Result<()> {
        self.steps += 1;
        for p in &mut self.parameters {
            let Some(grad) = grads.get(&p.var) else {
                continue;
            };
            let step = AdamStep {
                learning_rate: p.learning_rate as f32,
                beta1: self.settings.beta1 as f32,
                beta2: self.settings.beta2 as f32,
                epsilon: self.settings.epsilon as f32,
                decay: p.decay as f32,
                correction1: (1.0 - self.settings.beta1.powi(self.steps)) as f32,
                correction2: (1.0 - self.settings.beta2.powi(self.steps)).sqrt() as f32,
            };
            if grad.shape() != p.var.shape() {
                bail!(
                    "adam: a gradient of shape {:?} for a parameter of shape {:?}",
                    grad.shape(),
                    p.var.shape()
                );
            }
            let grad = grad.values::<f32>()?;
            let (first, second) = &mut p.moments;
            p.var
                .update(|weights: &mut [f32]| update(step, &grad, weights, first, second))?;
        }
        Ok(())
    }
}

fn update(
    step: AdamStep,
    grad: &[f32],
    weights: &mut [f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    if grad.len() < MIN_PARALLEL_WORK {
        return kernels::adam(step, grad, weights, first, second);
    }
    weights
        .par_chunks_mut(CHUNK)
        .zip(first.par_chunks_mut(CHUNK))
        .zip(second.par_chunks_mut(CHUNK))
        .zip(grad.par_chunks(CHUNK))
        .for_each(|(((w, m), v), g)| kernels::adam(step, g, w, m, v));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Tensor};

    /// Steps on `Σ w³` in 64-bit arithmetic, written from the paper's algorithm 1.
    fn by_the_paper(mut w: Vec<f64>, lr: f64, decay: f64, steps: i32) -> Vec<f64> {
        let (mut m, mut v) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        for t in 1..=steps {
            for i in 0..w.len() {
                let g = 3.0 * w[i] * w[i] + decay * w[i];
                m[i] = 0.9 * m[i] + 0.1 * g;
                v[i] = 0.999 * v[i] + 0.001 * g * g;
                let (m_hat, v_hat) = (
                    m[i] / (1.0 - 0.9f64.powi(t)),
                    v[i] / (1.0 - 0.999f64.powi(t)),
                );
                w[i] -= lr * m_hat / (v_hat.sqrt() + 1e-8);
            }
        }
        w
    }

    #[test]
    fn follows_the_paper_with_decay_in_the_gradient() {
        let start = [1f32, -2.0, 3.0];
        let w = Var::from_tensor(&Tensor::new(&start, &Device::Cpu).unwrap()).unwrap();
        let mut adam = Adam::new(AdamSettings::default());
        adam.add(&w, 0.1, 0.5);
        for _ in 0..3 {
            let loss = w.powf(3.0).unwrap().sum_all().unwrap();
            adam.step(&loss.backward().unwrap()).unwrap();
        }
        let expected = by_the_paper(start.iter().map(|&x| f64::from(x)).collect(), 0.1, 0.5, 3);
        for (got, expected) in w.to_vec1::<f32>().unwrap().iter().zip(expected) {
            assert!(
                (f64::from(*got) - expected).abs() < 1e-5,
                "{got} against {expected}"
            );
        }
    }

    #[test]
    fn groups_schedules_and_missing_gradients() {
        let var = |x: f32| Var::from_tensor(&Tensor::new(&[x], &Device::Cpu).unwrap()).unwrap();
        let (a, b, idle) = (var(1.0), var(1.0), var(1.0));
        let mut adam = Adam::new(AdamSettings::default());
        adam.add(&a, 0.1, 0.0);
        adam.add(&b, 0.01, 0.0);
        adam.add(&idle, 0.1, 1.0);
        adam.scale_learning_rates(0.5);
        let loss = (a.as_tensor() + b.as_tensor()).unwrap().sum_all().unwrap();
        adam.step(&loss.backward().unwrap()).unwrap();
        let value = |v: &Var| v.to_vec1::<f32>().unwrap()[0];
        // Adam's first step is the learning rate itself.
        assert!((value(&a) - 0.95).abs() < 1e-5 && (value(&b) - 0.995).abs() < 1e-5);
        assert_eq!(value(&idle), 1.0, "no gradient, no decay, no momentum");
    }
}
