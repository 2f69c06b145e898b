//! JK-Net ([Xu et al. 2018](https://arxiv.org/abs/1806.03536)):
//! `h_l = dropout(relu(layer_l(h_{l-1})))`, then a linear map of all of them joined.
//!
//! | join | input of the linear map |
//! | --- | --- |
//! | cat | `[h_1, …, h_L]` |
//! | max | the largest of `h_1, …, h_L`, entry by entry |
//! | lstm | `Σ_l a_l h_l`, where `a` is the softmax over layers of a linear score of a bidirectional LSTM that reads `h_1, …, h_L` |
//!
//! As PyTorch Geometric's `JumpingKnowledge`: the LSTM has `L · hidden / 2` units in each
//! direction. The layers are those of GCN or GIN. With zero layers it is a linear map of the
//! features.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::{Body, first_rows};
use crate::networks::config::NetworkSetting as S;
use crate::networks::entry::{
    Architecture, Capability, DefaultOperator, Entry, FirstAggregation, Plan,
};
use crate::networks::gcn::GcnConv;
use crate::networks::gin::{GinConv, GinSettings};
use crate::networks::init::Init;
use crate::networks::layer::{Layer, Propagation};
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{Params, Pass};
use gnarl_tensor::{DType, Device, Result, Tensor};

/// Declares one network per join, over GCN layers.
macro_rules! jumping {
    ($($(#[$meta:meta])* $Type:ident = $name:literal, $about:literal, $joining:expr;)+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
        #[choice(name = $name, constant, about = $about)]
        pub struct $Type {}

        impl Architecture for $Type {
            fn entry(&self) -> Entry {
                entry(FirstAggregation::Operator)
            }

            fn build(
                &self,
                plan: &Plan<'_>,
                params: &mut Params,
                rng: &mut Rng,
            ) -> Result<Box<dyn Body>> {
                build(plan, (&gcn_layer, $joining), params, rng)
            }
        }
    )+};
}

jumping! {
    /// Jumping knowledge over GCN layers: all representations concatenated (Xu et al. 2018,
    /// [arXiv:1806.03536](https://arxiv.org/abs/1806.03536)).
    JkCat = "jk-cat", "jumping knowledge over GCN layers: concatenation", Joining::Cat;
    /// Jumping knowledge over GCN layers: elementwise maximum.
    JkMax = "jk-max", "jumping knowledge over GCN layers: maximum", Joining::Max;
    /// Jumping knowledge over GCN layers: attention by an LSTM.
    JkLstm = "jk-lstm", "jumping knowledge over GCN layers: LSTM attention", Joining::Lstm;
}

/// Declares one network per join, over GIN layers.
macro_rules! jumping_gin {
    ($($(#[$meta:meta])* $Type:ident = $name:literal, $about:literal, $joining:expr;)+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        #[choice(name = $name, constant, about = $about)]
        pub struct $Type {
            /// Batch normalisation inside the perceptrons.
            #[setting(default = false)]
            pub batch_norm: bool,
        }

        impl Architecture for $Type {
            fn entry(&self) -> Entry {
                Entry {
                    default_operator: DefaultOperator::ADJACENCY,
                    ..entry(FirstAggregation::OperatorWithSelf)
                }
            }

            fn build(
                &self,
                plan: &Plan<'_>,
                params: &mut Params,
                rng: &mut Rng,
            ) -> Result<Box<dyn Body>> {
                build(plan, (&gin_layer(self.batch_norm), $joining), params, rng)
            }

            fn batch_norm(&self) -> bool {
                self.batch_norm
            }
        }
    )+};
}

jumping_gin! {
    /// Jumping knowledge over GIN layers: all representations concatenated.
    JkCatGin = "jk-cat-gin", "jumping knowledge over GIN layers: concatenation", Joining::Cat;
    /// Jumping knowledge over GIN layers: elementwise maximum.
    JkMaxGin = "jk-max-gin", "jumping knowledge over GIN layers: maximum", Joining::Max;
    /// Jumping knowledge over GIN layers: attention by an LSTM.
    JkLstmGin = "jk-lstm-gin", "jumping knowledge over GIN layers: LSTM attention", Joining::Lstm;
}

fn entry(first_aggregation: FirstAggregation) -> Entry {
    Entry {
        min_layers: 0,
        first_aggregation,
        ..Entry::new(&[
            S::Hidden,
            S::Layers,
            S::Dropout,
            S::InputDropout,
            S::OrthogonalStart,
        ])
        .with(&[Capability::Head])
    }
}

#[derive(Debug)]
struct Jumping {
    layers: Vec<Box<dyn Layer>>,
    join: Join,
    classify: Linear,
    dropout: f32,
}

#[derive(Debug)]
enum Join {
    Cat,
    Max,
    Lstm(Box<LayerAttention>),
}

/// Join of the layers' representations.
#[derive(Clone, Copy)]
enum Joining {
    Cat,
    Max,
    Lstm,
}

/// Builds layer `i` from its input width.
type BuildOne<'a> =
    &'a dyn Fn(&Plan<'_>, usize, usize, &mut Params, &mut Rng) -> Result<Box<dyn Layer>>;

fn gcn_layer(
    plan: &Plan<'_>,
    i: usize,
    from: usize,
    params: &mut Params,
    rng: &mut Rng,
) -> Result<Box<dyn Layer>> {
    let name = format!("layers.{i}");
    Ok(Box::new(GcnConv::new(
        params,
        &name,
        from,
        plan.hidden,
        rng,
    )?))
}

fn gin_layer(
    batch_norm: bool,
) -> impl Fn(&Plan<'_>, usize, usize, &mut Params, &mut Rng) -> Result<Box<dyn Layer>> {
    move |plan, i, from, params, rng| {
        let (name, hidden) = (format!("layers.{i}"), plan.hidden);
        let settings = GinSettings {
            batch_norm,
            ..GinSettings::default()
        };
        Ok(Box::new(GinConv::new(
            params, &name, from, hidden, hidden, settings, rng,
        )?))
    }
}

fn build(
    plan: &Plan<'_>,
    (layer, joining): (BuildOne<'_>, Joining),
    params: &mut Params,
    rng: &mut Rng,
) -> Result<Box<dyn Body>> {
    let (hidden, count) = (plan.hidden, plan.layers);
    let mut one = |i: usize| {
        layer(
            plan,
            i,
            if i == 0 { plan.in_dim } else { hidden },
            params,
            rng,
        )
    };
    let layers = (0..count).map(&mut one).collect::<Result<_>>()?;
    let (join, width) = match joining {
        _ if count == 0 => (Join::Cat, plan.in_dim),
        Joining::Cat => (Join::Cat, count * hidden),
        Joining::Max => (Join::Max, hidden),
        Joining::Lstm => (
            Join::Lstm(Box::new(LayerAttention::new(
                params, "jump", hidden, count, rng,
            )?)),
            hidden,
        ),
    };
    let classify =
        Linear::kaiming(params, "classify", width, plan.num_classes, true, rng)?.free(params);
    Ok(Box::new(Jumping {
        layers,
        join,
        classify,
        dropout: plan.dropout as f32,
    }))
}

impl Body for Jumping {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.classify
            .forward(&self.latent(propagation, x, pass)?, pass)
    }

    fn head(&self) -> Option<&Linear> {
        Some(&self.classify)
    }

    fn latent(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        let mut all: Vec<Tensor> = Vec::with_capacity(self.layers.len());
        for (i, layer) in self.layers.iter().enumerate() {
            let from = all
                .last()
                .map_or_else(|| x.clone(), |h| Input::Dense(h.clone()));
            let dropout = pass.dropout(self.dropout, i as u64);
            all.push(layer.forward_activated(propagation.layer(i), &from, pass, dropout)?);
        }
        let Some(last) = all.last() else {
            return Ok(x.clone());
        };
        let rows = last.dims()[0];
        let all = all
            .iter()
            .map(|h| first_rows(h, rows))
            .collect::<Result<Vec<_>>>()?;
        let joined = match &self.join {
            Join::Cat => Tensor::cat(&all, 1)?,
            // Equal entries share the gradient; the zeros of ReLU, which are most of them, pass
            // none on.
            Join::Max => all[1..]
                .iter()
                .try_fold(all[0].clone(), |largest, h| h.maximum(&largest))?,
            Join::Lstm(attention) => attention.forward(&all, pass)?,
        };
        Ok(Input::Dense(joined))
    }

    fn reach(&self) -> Option<usize> {
        Some(self.layers.len())
    }
}

/// Attention over layers: a bidirectional LSTM reads them and a linear map scores each.
#[derive(Debug)]
struct LayerAttention {
    up: Lstm,
    down: Lstm,
    score: Linear,
}

impl LayerAttention {
    fn new(
        params: &mut Params,
        name: &str,
        dim: usize,
        num_layers: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        let units = (num_layers * dim / 2).max(1);
        Ok(Self {
            up: Lstm::new(params, &format!("{name}.up"), dim, units, rng)?,
            down: Lstm::new(params, &format!("{name}.down"), dim, units, rng)?,
            score: Linear::kaiming(params, &format!("{name}.score"), 2 * units, 1, true, rng)?
                .free(params),
        })
    }

    /// Combines one matrix per layer to `[nodes, dim]`.
    fn forward(&self, layers: &[Tensor], pass: &Pass<'_>) -> Result<Tensor> {
        let upwards = self.up.forward(layers.iter(), pass)?;
        let downwards = self.down.forward(layers.iter().rev(), pass)?;
        let score = |(up, down): (&Tensor, &Tensor)| {
            self.score
                .forward(&Input::Dense(Tensor::cat(&[up, down], 1)?), pass)
        };
        let scores = upwards
            .iter()
            .zip(downwards.iter().rev())
            .map(score)
            .collect::<Result<Vec<_>>>()?;
        let shares = softmax_rows(&Tensor::cat(&scores, 1)?)?;
        let share = |l: usize| layers[l].broadcast_mul(&shares.narrow(1, l, 1)?);
        (1..layers.len()).try_fold(share(0)?, |sum, l| sum + share(l)?)
    }
}

fn softmax_rows(scores: &Tensor) -> Result<Tensor> {
    let shifted = scores
        .broadcast_sub(&scores.max_keepdim(1)?.detach())?
        .exp()?;
    shifted.broadcast_div(&shifted.sum_keepdim(1)?)
}

/// LSTM (Hochreiter and Schmidhuber 1997) with a forget gate: gates in PyTorch's order, input,
/// forget, candidate, output; both of its linear maps have a bias.
#[derive(Debug)]
struct Lstm {
    of_input: Linear,
    of_memory: Linear,
    units: usize,
}

impl Lstm {
    /// Adds the parameters, all uniform in ±1 / sqrt(units), PyTorch's initialisation.
    fn new(
        params: &mut Params,
        name: &str,
        dim: usize,
        units: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        let init = Init::Kaiming { fan_in: units };
        let mut linear = |part: &str, from: usize| {
            Linear::with_init(
                params,
                &format!("{name}.{part}"),
                from,
                4 * units,
                init,
                Some(init),
                rng,
            )
        };
        Ok(Self {
            of_input: linear("input", dim)?,
            of_memory: linear("memory", units)?,
            units,
        })
    }

    /// Computes the output after each step, in the order of the steps.
    fn forward<'a>(
        &self,
        steps: impl Iterator<Item = &'a Tensor>,
        pass: &Pass<'_>,
    ) -> Result<Vec<Tensor>> {
        let mut state: Option<(Tensor, Tensor)> = None;
        let mut out = Vec::new();
        for x in steps {
            let blank = || Tensor::zeros((x.dims()[0], self.units), DType::F32, &Device::Cpu);
            let (h, c) = match state.take() {
                Some(state) => state,
                None => (blank()?, blank()?),
            };
            let gates = (self.of_input.forward(&Input::Dense(x.clone()), pass)?
                + self.of_memory.forward(&Input::Dense(h), pass)?)?;
            let gate = |i: usize| gates.narrow(1, i * self.units, self.units);
            let c = ((sigmoid(&gate(1)?)? * c)? + (sigmoid(&gate(0)?)? * gate(2)?.tanh()?)?)?;
            let h = (sigmoid(&gate(3)?)? * c.tanh()?)?;
            out.push(h.clone());
            state = Some((h, c));
        }
        Ok(out)
    }
}

/// Computes `1 / (1 + e^-x)` by the hyperbolic tangent, which neither overflows nor lacks a
/// gradient.
fn sigmoid(x: &Tensor) -> Result<Tensor> {
    x.affine(0.5, 0.0)?.tanh()?.affine(0.5, 0.5)
}
