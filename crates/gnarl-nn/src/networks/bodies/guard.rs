//! GNNGuard ([Zhang and Zitnik 2020](https://arxiv.org/abs/2006.08149), "GNNGuard: Defending Graph
//! Neural Networks against Adversarial Attacks"): every layer weights edges by the similarity of
//! their ends.
//!
//! With `s_ij` the cosine similarity of the layer's input vectors, zero below a threshold, `N_i`
//! the number of a node's remaining edges and `S_i = Σ_j s_ij`:
//! `α_ij = s_ij / S_i · N_i / (N_i + 1)` and `α_ii = 1 / (N_i + 1)`, so that rows sum to one. A
//! layer's weights are `ω = β ω' + (1 - β) α`, with ω' the weights of the layer before and β
//! learned, the paper's memory; `H' = relu(ω H W + b)`. An edge's weight multiplies its `s` and its
//! count.
//!
//! The selection of the remaining edges has no gradient: gradients go through their similarities,
//! not through the threshold. In training, as in the authors' code, they go through neither.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::edges::{Edges, TINY, held};
use crate::networks::entry::{Architecture, DefaultOperator, Entry, Plan};
use crate::networks::init::Init;
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor, add_bias, relu_dropout};

/// GNNGuard: edge weights from the similarity of the ends (Zhang and Zitnik 2020,
/// [arXiv:2006.08149](https://arxiv.org/abs/2006.08149)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gnnguard",
    constant,
    about = "edge weights from the similarity of the ends, dissimilar edges dropped"
)]
pub struct GnnGuard {
    /// Cosine similarity below which an edge is dropped.
    #[setting(default = 0.1, range = 0.0..=1.0, was = "level")]
    pub similarity_threshold: f64,
}

impl Architecture for GnnGuard {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            ..Entry::new(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::OrthogonalStart,
            ])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let count = plan.layers;
        let layers = (0..count)
            .map(|i| {
                let from = if i == 0 { plan.in_dim } else { plan.hidden };
                let to = if i + 1 == count {
                    plan.num_classes
                } else {
                    plan.hidden
                };
                Linear::glorot(params, &format!("layers.{i}"), from, to, true, rng)
            })
            .collect::<Result<_>>()?;
        let memory = (count > 1)
            .then(|| {
                params.add(
                    "memory".into(),
                    &[1],
                    Init::Constant(0.0),
                    Group::Scalar,
                    rng,
                )
            })
            .transpose()?;
        Ok(Box::new(Guard {
            layers,
            memory,
            dropout: plan.dropout as f32,
            threshold: self.similarity_threshold,
        }))
    }
}

#[derive(Debug)]
struct Guard {
    layers: Vec<Linear>,
    /// Parameter before the logistic function; none for one layer.
    memory: Option<ParamId>,
    dropout: f32,
    threshold: f64,
}

/// Weights of a layer: of entries, and of every node itself.
type Weights = (Tensor, Tensor);

impl Guard {
    fn weights(&self, edges: &Edges, x: &Input, trains: bool) -> Result<Weights> {
        let similar = held(edges.cosines(x)?, trains);
        let left = similar
            .ge(self.threshold)?
            .where_cond(&similar.ones_like()?, &similar.zeros_like()?)?;
        // A zero vector is similar to no other, whatever the threshold.
        let left = similar.gt(0.0)?.where_cond(&left, &similar.zeros_like()?)?;
        let left = edges.off_diagonal(&left)?;
        let similar = (similar * &left)?;
        let count = edges.sums(&(&edges.sizes * &left)?)?;
        let own = (edges.sums(&edges.on_diagonal(&edges.sizes)?)? + 1.0)?;
        let all = (&count + &own)?;
        let total = (edges.sums(&(&edges.sizes * &similar)?)? + TINY)?;
        let share = edges.by_row(&((count / total)? / &all)?)?.flatten_all()?;
        Ok((((&edges.weights * similar)? * share)?, (own / all)?))
    }

    /// Computes `β · before + (1 - β) · now`.
    fn remembered(
        &self,
        before: Option<Weights>,
        now: Weights,
        pass: &Pass<'_>,
    ) -> Result<Weights> {
        let (Some(before), Some(memory)) = (before, self.memory) else {
            return Ok(now);
        };
        let share = (pass.weight(memory).neg()?.exp()? + 1.0)?.recip()?;
        let mixed = |before: &Tensor, now: &Tensor| now + (before - now)?.broadcast_mul(&share)?;
        Ok((mixed(&before.0, &now.0)?, mixed(&before.1, &now.1)?))
    }
}

impl Body for Guard {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let edges = Edges::of(&propagation.operator)?;
        let (mut x, mut before) = (x.clone(), None);
        for (i, layer) in self.layers.iter().enumerate() {
            let (of_edges, own) =
                self.remembered(before, self.weights(&edges, &x, pass.trains())?, pass)?;
            let mapped = x.matmul(pass.weight(layer.weight), None)?;
            let aggregated =
                (edges.with_values(&of_edges)?.apply(&mapped)? + mapped.broadcast_mul(&own)?)?;
            let h = match layer.bias {
                Some(bias) => add_bias(&aggregated, pass.weight(bias))?,
                None => aggregated,
            };
            if i + 1 == self.layers.len() {
                return Ok(h);
            }
            x = Input::Dense(relu_dropout(&h, pass.dropout(self.dropout, i as u64))?);
            before = Some((of_edges, own));
        }
        gnarl_tensor::bail!("a network has at least one layer")
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
