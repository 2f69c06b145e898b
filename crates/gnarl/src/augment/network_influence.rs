//! Influence with the parameters of a whole network (Koh and Liang 2017,
//! [arXiv:1703.04730](https://arxiv.org/abs/1703.04730)): implicit products with the curvature and
//! conjugate gradients, for all parameters from the first layer to the head.
//!
//! The loss of a network is not convex, and training ends before its minimum: its Hessian has
//! directions of negative curvature there, in which an influence would change its sign. For
//! cross-entropy the Fisher information takes its place, as in GRATIN. It is the Hessian's
//! Gauss-Newton part, `mean of Jᵀ (diag(p) - p pᵀ) J` with the Jacobian `J` of the scores: positive
//! semidefinite, and the Hessian itself for the head. The decay and a damping are added to its
//! diagonal.
//!
//! `Jᵀ u` is one backward pass. It is linear in `u`, so `J v` is the gradient of `vᵀ Jᵀ u` by `u`,
//! which is exact, too. The candidates' gradients along the solution come from their `J v`: one
//! pass for any number of them. Passes are in evaluation mode: no dropout, stored statistics. The
//! result is a local estimate, not the effect of training again.

use std::sync::Arc;

use super::influence::{CgSettings, conjugate_gradients, dot};
use gnarl_graph::Result;
use gnarl_nn::networks::{Batch, GraphClassifier, Group, ParamId, Pass, Weights};
use gnarl_tensor::{Device, GradStore, Tensor, Var, masked_cross_entropy};

/// Damping of Koh and Liang.
const DAMPING: f64 = 0.01;
const CG: CgSettings = CgSettings {
    max_iterations: 200,
    tolerance: 1e-4,
};

/// Inputs of a classifier: graphs, or latent vectors, which pass through the head alone.
#[derive(Debug, Clone, Copy)]
pub enum Items<'a> {
    /// Batches of graphs.
    Graphs(&'a [Batch]),
    /// Latent vectors, `[vectors, latent_dim]`.
    Vectors(&'a Tensor),
}

/// A trained classifier and its training data.
#[derive(Debug)]
pub struct NetworkInfluence<'a> {
    classifier: &'a GraphClassifier,
    batches: &'a [Batch],
    classes: &'a [u32],
    decay: f64,
    /// The trained parameters, with their total number of values.
    trained: Vec<ParamId>,
    num_parameters: usize,
}

/// Solution `(F + (decay + damping) · I)⁻¹ g` for a set.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkDirection {
    /// One value per parameter.
    pub solution: Vec<f64>,
    /// Damping of the diagonal, in addition to the decay.
    pub damping: f64,
    /// Number of iterations of conjugate gradients.
    pub iterations: usize,
    /// The final residual, as a share of the gradient.
    pub residual: f64,
}

impl<'a> NetworkInfluence<'a> {
    /// Takes the classifier in its current state; `decay` is the weight decay of its training.
    pub fn new(
        classifier: &'a GraphClassifier,
        batches: &'a [Batch],
        classes: &'a [u32],
        decay: f64,
    ) -> Result<Self> {
        let (mut trained, mut num_parameters) = (Vec::new(), 0);
        for (id, value) in classifier.weights()?.iter() {
            if classifier.params().get(id).group != Group::Statistic {
                trained.push(id);
                num_parameters += value.elem_count();
            }
        }
        Ok(Self {
            classifier,
            batches,
            classes,
            decay,
            trained,
            num_parameters,
        })
    }

    /// Returns the number of parameters.
    pub fn num_parameters(&self) -> usize {
        self.num_parameters
    }

    /// Returns the weights, and the variables of the trained ones.
    fn weights(&self) -> Result<(Weights, Vec<Var>)> {
        let (mut weights, mut vars) = (self.classifier.weights()?.detached(), Vec::new());
        for &id in &self.trained {
            let var = Var::from_tensor(&weights[id])?;
            weights.replace(id, var.as_tensor().clone());
            vars.push(var);
        }
        Ok((weights, vars))
    }

    /// Returns the gradient of the mean cross-entropy of graphs.
    fn gradient(&self, batches: &[Batch], classes: &[u32]) -> Result<Vec<f64>> {
        let (weights, vars) = self.weights()?;
        let mut gradient = vec![0.0; self.num_parameters];
        let mut first = 0;
        for batch in batches {
            let count = batch.members.num_graphs();
            let scores = self.classifier.scores(batch, &Pass::evaluation(&weights))?;
            let rows = Arc::new((0..count as u32).collect());
            let of = Arc::new(classes[first..first + count].to_vec());
            let grads = masked_cross_entropy(&scores, &rows, &of)?.backward()?;
            add_gradients(
                &mut gradient,
                &vars,
                &grads,
                count as f64 / classes.len() as f64,
            )?;
            first += count;
        }
        Ok(gradient)
    }

    /// Returns `(F + (decay + damping) · I) v` over the training graphs.
    fn product(&self, v: &[f64]) -> Result<Vec<f64>> {
        let mut product: Vec<f64> = v.iter().map(|v| (self.decay + DAMPING) * v).collect();
        let (weights, vars) = self.weights()?;
        for batch in self.batches {
            let scores = self.classifier.scores(batch, &Pass::evaluation(&weights))?;
            let rows = scores
                .to_vec2::<f32>()?
                .into_iter()
                .zip(changes_along(&scores, &vars, v)?);
            let curved = rows.flat_map(|(at, along)| {
                let p = softmax(&at);
                let mean = dot(&p, &along);
                p.into_iter()
                    .zip(along)
                    .map(move |(p, z)| (p * (z - mean)) as f32)
                    .collect::<Vec<_>>()
            });
            let curved =
                Tensor::from_vec(curved.collect::<Vec<f32>>(), scores.shape(), &Device::Cpu)?;
            let grads = scores.into_gradients_along(&curved)?;
            add_gradients(&mut product, &vars, &grads, 1.0 / self.classes.len() as f64)?;
        }
        Ok(product)
    }

    /// Solves for a set of graphs. Each iteration of conjugate gradients takes a forward pass, two
    /// backward passes and one pass through the first backward pass, over the training graphs.
    pub fn direction(&self, batches: &[Batch], classes: &[u32]) -> Result<NetworkDirection> {
        let refuse = |what: &str| Err(gnarl_graph::Error::argument("influence", what));
        if classes.is_empty() {
            return refuse("the influence on an empty set is not defined");
        }
        let rhs = self.gradient(batches, classes)?;
        let found = conjugate_gradients(|v| self.product(v), &rhs, CG)?;
        if found.negative_curvature {
            // A sum of squares in exact arithmetic.
            return refuse(
                "rounding hides the network's curvature; scale the features down or train for fewer epochs",
            );
        }
        let (iterations, residual) = (found.iterations, found.residual);
        Ok(NetworkDirection {
            solution: found.x,
            damping: DAMPING,
            iterations,
            residual,
        })
    }

    /// Returns the influence of each candidate on the set of a direction, positive if it helps.
    pub fn of(
        &self,
        candidates: Items<'_>,
        classes: &[u32],
        on: &NetworkDirection,
    ) -> Result<Vec<f64>> {
        let (weights, vars) = self.weights()?;
        let pass = Pass::evaluation(&weights);
        let scores = match candidates {
            Items::Vectors(latent) => vec![self.classifier.classify(latent, &pass)?],
            Items::Graphs(batches) => batches
                .iter()
                .map(|b| self.classifier.scores(b, &pass))
                .collect::<gnarl_tensor::Result<_>>()?,
        };
        let mut influences = Vec::with_capacity(classes.len());
        for scores in &scores {
            let rows = scores.to_vec2::<f32>()?.into_iter().zip(changes_along(
                scores,
                &vars,
                &on.solution,
            )?);
            let first = influences.len();
            // The gradient of a cross-entropy by its scores is p, minus one at the class.
            influences.extend(
                rows.zip(&classes[first..]).map(|((at, along), &class)| {
                    dot(&softmax(&at), &along) - along[class as usize]
                }),
            );
        }
        Ok(influences)
    }
}

/// Returns the change of scores as variables move along `v`, row by row.
fn changes_along(scores: &Tensor, vars: &[Var], v: &[f64]) -> Result<Vec<Vec<f64>>> {
    let any = Var::from_tensor(&scores.detach().ones_like()?)?;
    let by: Vec<&Tensor> = vars.iter().map(Var::as_tensor).collect();
    let (mut product, mut from) = (None::<Tensor>, 0);
    for (var, slope) in vars.iter().zip(scores.gradients_of(&any, &by)?) {
        let part: Vec<f32> = v[from..from + var.elem_count()]
            .iter()
            .map(|&v| v as f32)
            .collect();
        from += var.elem_count();
        let Some(slope) = slope else { continue };
        let share = slope
            .mul(&Tensor::from_vec(part, *var.shape(), &Device::Cpu)?)?
            .sum_all()?;
        product = Some(match product {
            Some(sum) => sum.add(&share)?,
            None => share,
        });
    }
    let along = match product {
        Some(product) => product
            .gradients_of(&product.ones_like()?, &[any.as_tensor()])?
            .remove(0),
        None => None,
    };
    let along = along.map_or_else(|| scores.detach().zeros_like(), Ok)?;
    Ok(along
        .to_vec2::<f32>()?
        .into_iter()
        .map(|row| row.into_iter().map(f64::from).collect())
        .collect())
}

/// Adds the gradients of variables, one after the other, times a factor.
fn add_gradients(sum: &mut [f64], vars: &[Var], grads: &GradStore, share: f64) -> Result<()> {
    let mut from = 0;
    for var in vars {
        if let Some(grad) = grads.get(var) {
            let grad = grad.flatten_all()?.to_vec1::<f32>()?;
            sum[from..]
                .iter_mut()
                .zip(grad)
                .for_each(|(sum, g)| *sum += share * f64::from(g));
        }
        from += var.elem_count();
    }
    Ok(())
}

fn softmax(scores: &[f32]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = scores
        .iter()
        .map(|&z| f64::from(z - largest).exp())
        .collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|p| p / sum).collect()
}
