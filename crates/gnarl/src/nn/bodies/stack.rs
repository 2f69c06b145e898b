//! Layer, ReLU, dropout, layer, …: the last layer gives the scores, or a linear head after it. An MLP of depth 0 is one linear map; PNA has a linear
//! embedding first.

use candle_core::{Result, Tensor};
use gnarl_graph::random::Rng;

use super::{ATTENTION_SITES, Body, EMBEDDING_SITE, NOISE_SITES, Plan};
use crate::nn::gat::{AttentionSettings, Gat};
use crate::nn::gatv2::GatV2;
use crate::nn::gcn::Gcn;
use crate::nn::gin::{Gin, GinSettings};
use crate::nn::layer::{Layer, Propagation};
use crate::nn::linear::{Input, Linear};
use crate::nn::mlp::Deaf;
use crate::nn::network::{Backbone, NetworkConfig};
use crate::nn::params::{ParamId, Params, Pass};
use crate::nn::pna::Pna;
use crate::nn::sage::Sage;
use crate::tensor::{Dropout, Operator};

#[derive(Debug)]
struct Stack {
    embed: Option<Linear>,
    layers: Vec<Box<dyn Layer>>,
    dropout: f32,
    noise: f32,
    head: Option<Linear>,
    /// Whether its layers hear anybody.
    hears: bool,
}

/// The layers that every stack is made of.
pub(in crate::nn) fn build(plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    let config = plan.config;
    let embedded = config.backbone == Backbone::Pna;
    let hears = config.backbone != Backbone::Mlp;
    let count = if hears { config.layers } else { config.layers.max(1) };
    let first = if embedded { config.hidden } else { plan.in_dim };
    let widths = |i: usize| if i == 0 { first } else { config.hidden };
    let layers = (0..count)
        .map(|i| {
            let last = i + 1 == count && !config.head;
            let to = if last { plan.num_classes } else { config.hidden };
            let name = format!("layers.{i}");
            let place = Place { name: &name, site: i as u64, from: widths(i), to, is_last: last };
            layer(config, place, plan.mean_log_degree, params, rng)
        })
        .collect::<Result<_>>()?;
    let embed =
        embedded.then(|| Linear::kaiming(params, "embed", plan.in_dim, config.hidden, true, rng)).transpose()?;
    let head = config
        .head
        .then(|| Linear::kaiming(params, "head", config.hidden, plan.num_classes, true, rng))
        .transpose()?
        .map(|head| head.free(params));
    Ok(Box::new(Stack { embed, layers, dropout: config.dropout, noise: config.noise, head, hears }))
}

/// Where a layer stands in a network.
pub(crate) struct Place<'a> {
    /// Of its parameters.
    pub name: &'a str,
    /// Tells its random draws from those of other layers.
    pub site: u64,
    /// Width of what it hears.
    pub from: usize,
    /// Width of what it says.
    pub to: usize,
    /// Whether it gives the class scores: attention then has one head.
    pub is_last: bool,
}

/// One layer of the configuration's backbone.
pub(crate) fn layer(
    config: &NetworkConfig,
    place: Place<'_>,
    mean_log_degree: f64,
    params: &mut Params,
    rng: &mut Rng,
) -> Result<Box<dyn Layer>> {
    let Place { name, site, from, to, is_last } = place;
    let attention = AttentionSettings {
        heads: if is_last { 1 } else { config.heads },
        concat: !is_last,
        negative_slope: 0.2,
        dropout: config.attention_dropout,
        site: ATTENTION_SITES + site,
    };
    let dim = to / attention.heads;
    let gin = GinSettings { train_epsilon: false, batch_norm: config.batch_norm, bias: config.bias };
    Ok(match config.backbone {
        Backbone::Gat => Box::new(Gat::new(params, name, from, dim, attention, rng)?),
        Backbone::GatV2 => Box::new(GatV2::new(params, name, from, dim, attention, rng)?),
        Backbone::Gin => Box::new(Gin::new(params, name, from, config.hidden, to, gin, rng)?),
        Backbone::Sage => Box::new(Sage::new(params, name, from, to, rng)?),
        Backbone::Pna => Box::new(Pna::new(params, name, from, to, mean_log_degree, rng)?),
        Backbone::Mlp => Box::new(Deaf::new(params, name, from, to, rng)?),
        _ => Box::new(Gcn::with_bias(params, name, from, to, config.bias, rng)?),
    })
}

impl Stack {
    /// Everything before the last layer, and the last layer with its round.
    fn before_last<'a>(
        &'a self,
        propagation: &'a Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<(Input, &'a dyn Layer, &'a Operator)> {
        let Some((last, others)) = self.layers.split_last() else {
            candle_core::bail!("a network has at least one layer")
        };
        let mut x = match &self.embed {
            Some(embed) => {
                Input::Dense(embed.forward_activated(x, pass, pass.dropout(self.dropout, EMBEDDING_SITE))?)
            }
            None => x.clone(),
        };
        for (i, layer) in others.iter().enumerate() {
            let dropout = pass.dropout(self.dropout, i as u64);
            let mut h = layer.forward_activated(propagation.round(i), &x, pass, dropout)?;
            if let Some(noise) = pass.noise(self.noise, NOISE_SITES + i as u64, h.dims())? {
                h = (h + noise)?;
            }
            x = Input::Dense(h);
        }
        Ok((x, &**last, propagation.round(others.len())))
    }
}

impl Body for Stack {
    /// With a head, nothing is dropped between the last layer and it.
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let (x, last, operator) = self.before_last(propagation, x, pass)?;
        match &self.head {
            None => last.forward(operator, &x, pass),
            Some(head) => head.forward(&Input::Dense(last.forward_activated(operator, &x, pass, Dropout::NONE)?), pass),
        }
    }

    fn forward_activated(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        if self.head.is_some() {
            return crate::tensor::relu_dropout(&self.forward(propagation, x, pass)?, Dropout::NONE);
        }
        let (x, last, operator) = self.before_last(propagation, x, pass)?;
        last.forward_activated(operator, &x, pass, Dropout::NONE)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        match (&self.embed, self.layers.first()) {
            (Some(embed), _) => vec![embed.weight],
            (None, Some(first)) => first.input_maps(),
            (None, None) => Vec::new(),
        }
    }

    fn reach(&self) -> Option<usize> {
        Some(if self.hears { self.layers.len() } else { 0 })
    }
}
