//! Influence through a whole network (thesis `gen:app:dataset_impl`, after Koh and Liang 2017): implicit products with the curvature and
//! conjugate gradients, for all parameters from the first layer to the head.
//!
//! The loss of a network is not convex and training ends before its minimum: its Hessian has directions of negative curvature there, in
//! which an influence would change its sign. For cross-entropy the thesis takes the Fisher information in its place, which is the Hessian's
//! Gauss-Newton part, `mean of Jᵀ (diag(p) - p pᵀ) J` with the Jacobian `J` of the scores: never negative, and the Hessian itself for the head.
//! The decay and a damping are added to its diagonal. `J v` is a central difference of scores, `Jᵀ u` one backward pass; the
//! candidates' gradients along the solution are a difference of their losses, two forward passes for any number of them. Passes
//! predict: no dropout, stored statistics. What comes out is a local estimate, not what training again would give.

use std::sync::Arc;

use super::influence::{CgSettings, conjugate_gradients, dot, moved, norm};
use crate::error::Result;
use crate::nn::{Batch, GraphClassifier, Group, ParamId, Pass, Weights};
use crate::tensor::{Device, GradStore, Tensor, Var, masked_cross_entropy};

/// How far differences reach, as a share of the parameters' norm: wide enough for f32.
const STEP: f64 = 1e-3;
/// Koh and Liang's.
const DAMPING: f64 = 0.01;
const CG: CgSettings = CgSettings { max_iterations: 200, tolerance: 1e-4 };

/// What a classifier is asked about: graphs, or latent vectors, through which only the head is seen.
#[derive(Debug, Clone, Copy)]
pub enum Items<'a> {
    /// Graphs side by side.
    Graphs(&'a [Batch]),
    /// `[vectors, latent_dim]`
    Vectors(&'a Tensor),
}

/// A trained classifier and what it was trained on.
#[derive(Debug)]
pub struct NetworkInfluence<'a> {
    classifier: &'a GraphClassifier,
    batches: &'a [Batch],
    classes: &'a [u32],
    decay: f64,
    /// The trained parameters and their values, one after the other.
    trained: Vec<ParamId>,
    at: Vec<f64>,
}

/// `(F + (decay + damping) · I)⁻¹ g` of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkDirection {
    /// One value per parameter.
    pub solution: Vec<f64>,
    /// What was added to the diagonal beside the decay.
    pub damping: f64,
    /// Iterations of conjugate gradients.
    pub iterations: usize,
    /// The residual that was left, as a share of the gradient.
    pub residual: f64,
}

impl<'a> NetworkInfluence<'a> {
    /// The classifier as it is; `decay` is what it was trained with.
    pub fn new(classifier: &'a GraphClassifier, batches: &'a [Batch], classes: &'a [u32], decay: f64) -> Result<Self> {
        let (mut trained, mut at) = (Vec::new(), Vec::new());
        for (id, value) in classifier.weights()?.iter() {
            if classifier.params().get(id).group != Group::Statistic {
                trained.push(id);
                at.extend(value.flatten_all()?.to_vec1::<f32>()?.into_iter().map(f64::from));
            }
        }
        Ok(Self { classifier, batches, classes, decay, trained, at })
    }

    /// Number of parameters.
    pub fn num_parameters(&self) -> usize {
        self.at.len()
    }

    /// Weights with these values, and the variables behind them.
    fn weights(&self, values: &[f64]) -> Result<(Weights, Vec<Var>)> {
        let (mut weights, mut vars, mut from) = (self.classifier.weights()?, Vec::new(), 0);
        for &id in &self.trained {
            let (shape, count) = (weights[id].dims().to_vec(), weights[id].elem_count());
            let part: Vec<f32> = values[from..from + count].iter().map(|&v| v as f32).collect();
            let var = Var::from_tensor(&Tensor::from_vec(part, shape, &Device::Cpu)?)?;
            weights.replace(id, var.as_tensor().clone());
            vars.push(var);
            from += count;
        }
        Ok((weights, vars))
    }

    /// The gradient of the mean cross-entropy of graphs.
    fn gradient(&self, values: &[f64], batches: &[Batch], classes: &[u32]) -> Result<Vec<f64>> {
        let (weights, vars) = self.weights(values)?;
        let mut gradient = vec![0.0; values.len()];
        let mut first = 0;
        for batch in batches {
            let count = batch.members.num_graphs();
            let scores = self.classifier.scores(batch, &Pass::evaluation(&weights))?;
            let rows = Arc::new((0..count as u32).collect());
            let of = Arc::new(classes[first..first + count].to_vec());
            let grads = masked_cross_entropy(&scores, &rows, &of)?.backward()?;
            add_gradients(&mut gradient, &vars, &grads, count as f64 / classes.len() as f64)?;
            first += count;
        }
        Ok(gradient)
    }

    /// `(F + (decay + damping) · I) v` over the training graphs.
    fn product(&self, v: &[f64]) -> Result<Vec<f64>> {
        let mut product: Vec<f64> = v.iter().map(|v| (self.decay + DAMPING) * v).collect();
        let length = norm(v);
        if length == 0.0 {
            return Ok(product);
        }
        let h = STEP * (1.0 + norm(&self.at)) / length;
        let ahead = self.weights(&moved(&self.at, v, h))?.0.detached();
        let behind = self.weights(&moved(&self.at, v, -h))?.0.detached();
        let (weights, vars) = self.weights(&self.at)?;
        for batch in self.batches {
            let far = |weights: &Weights| self.classifier.scores(batch, &Pass::evaluation(weights))?.to_vec2::<f32>();
            let scores = self.classifier.scores(batch, &Pass::evaluation(&weights))?;
            let rows = scores.to_vec2::<f32>()?.into_iter().zip(far(&ahead)?).zip(far(&behind)?);
            let curved = rows.flat_map(|((at, ahead), behind)| {
                let along: Vec<f64> =
                    ahead.iter().zip(&behind).map(|(a, b)| (f64::from(*a) - f64::from(*b)) / (2.0 * h)).collect();
                let p = softmax(&at);
                let mean = dot(&p, &along);
                p.into_iter().zip(along).map(move |(p, z)| (p * (z - mean)) as f32).collect::<Vec<_>>()
            });
            let curved = Tensor::from_vec(curved.collect::<Vec<f32>>(), scores.shape(), &Device::Cpu)?;
            let grads = (scores * curved)?.sum_all()?.backward()?;
            add_gradients(&mut product, &vars, &grads, 1.0 / self.classes.len() as f64)?;
        }
        Ok(product)
    }

    /// Solves for a set of graphs. Each iteration of conjugate gradients takes three forward passes and a backward one over the
    /// training graphs.
    pub fn direction(&self, batches: &[Batch], classes: &[u32]) -> Result<NetworkDirection> {
        let refuse = |what: &str| Err(gnarl_graph::Error::argument("influence", what).into());
        if classes.is_empty() {
            return refuse("an influence on an empty set; there must be an item in it");
        }
        let right = self.gradient(&self.at, batches, classes)?;
        let found = conjugate_gradients(|v| self.product(v), &right, CG)?;
        if found.negative_curvature {
            // A sum of squares in exact numbers.
            return refuse("rounding hides the network's curvature; scale the features down or train for fewer epochs");
        }
        let (iterations, residual) = (found.iterations, found.residual);
        Ok(NetworkDirection { solution: found.x, damping: DAMPING, iterations, residual })
    }

    /// The influence of each candidate on the set of a direction, positive where it helps.
    pub fn of(&self, candidates: Items<'_>, classes: &[u32], on: &NetworkDirection) -> Result<Vec<f64>> {
        let length = norm(&on.solution);
        if length == 0.0 {
            return Ok(vec![0.0; classes.len()]);
        }
        let h = STEP * (1.0 + norm(&self.at)) / length;
        let ahead = self.losses(&moved(&self.at, &on.solution, h), candidates, classes)?;
        let behind = self.losses(&moved(&self.at, &on.solution, -h), candidates, classes)?;
        Ok(ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * h)).collect())
    }

    /// The cross-entropy of each item, in f64 from f32 scores.
    fn losses(&self, values: &[f64], items: Items<'_>, classes: &[u32]) -> Result<Vec<f64>> {
        let weights = self.weights(values)?.0.detached();
        let pass = Pass::evaluation(&weights);
        let scores = match items {
            Items::Vectors(latent) => vec![self.classifier.classify(latent, &pass)?],
            Items::Graphs(batches) => {
                batches.iter().map(|b| self.classifier.scores(b, &pass)).collect::<crate::tensor::Result<_>>()?
            }
        };
        let rows = scores.iter().map(Tensor::to_vec2::<f32>).collect::<crate::tensor::Result<Vec<_>>>()?;
        let loss = |(row, &class): (Vec<f32>, &u32)| {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = row.iter().map(|&z| f64::from(z - largest).exp()).sum();
            sum.ln() - f64::from(row[class as usize] - largest)
        };
        Ok(rows.into_iter().flatten().zip(classes).map(loss).collect())
    }
}

/// Adds the gradients of variables, one after the other, times a share.
fn add_gradients(sum: &mut [f64], vars: &[Var], grads: &GradStore, share: f64) -> Result<()> {
    let mut from = 0;
    for var in vars {
        if let Some(grad) = grads.get(var) {
            let grad = grad.flatten_all()?.to_vec1::<f32>()?;
            sum[from..].iter_mut().zip(grad).for_each(|(sum, g)| *sum += share * f64::from(g));
        }
        from += var.elem_count();
    }
    Ok(())
}

fn softmax(scores: &[f32]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = scores.iter().map(|&z| f64::from(z - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|p| p / sum).collect()
}
