//! Stack of layers: layer, ReLU, dropout, layer, …. The last layer gives the scores, or a linear
//! map after it, `output`. A perceptron of depth 0 is one linear map; PNA has a linear embedding
//! first.

use gnarl_graph::random::Rng;

use crate::networks::body::{Body, EMBEDDING_SITE, NOISE_SITES};
use crate::networks::config::NetworkSetting;
use crate::networks::entry::{Capability, Entry, Layered, Place, Plan};
use crate::networks::layer::{Layer, Propagation};
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{ParamId, Params, Pass};
use gnarl_tensor::{Dropout, Operator, Result, Tensor};

/// Returns the entry of a stack of layers that uses these settings.
pub(in crate::networks) fn entry(uses: &'static [NetworkSetting]) -> Entry {
    Entry::new(uses).with(&[Capability::Stack])
}

#[derive(Debug)]
struct Stack {
    embed: Option<Linear>,
    layers: Vec<Box<dyn Layer>>,
    dropout: f32,
    noise: f32,
    output: Option<Linear>,
    /// True if its layers pass messages.
    propagates: bool,
}

/// Builds the body of a stack.
pub(in crate::networks) fn build(
    network: &dyn Layered,
    plan: &Plan<'_>,
    params: &mut Params,
    rng: &mut Rng,
) -> Result<Box<dyn Body>> {
    let embedded = network.is_embedded();
    let count = plan.layers.max(1);
    let first = if embedded { plan.hidden } else { plan.in_dim };
    let layers = (0..count)
        .map(|i| {
            let is_last = i + 1 == count && !plan.head;
            let place = Place {
                name: &format!("layers.{i}"),
                site: i as u64,
                from: if i == 0 { first } else { plan.hidden },
                to: if is_last {
                    plan.num_classes
                } else {
                    plan.hidden
                },
                is_last,
            };
            network.layer(plan, place, params, rng)
        })
        .collect::<Result<_>>()?;
    let embed = embedded
        .then(|| Linear::kaiming(params, "embed", plan.in_dim, plan.hidden, true, rng))
        .transpose()?;
    let output = plan
        .head
        .then(|| Linear::kaiming(params, "output", plan.hidden, plan.num_classes, true, rng))
        .transpose()?
        .map(|output| output.free(params));
    Ok(Box::new(Stack {
        embed,
        layers,
        dropout: plan.dropout as f32,
        noise: plan.noise as f32,
        output,
        propagates: network
            .entry()
            .provides
            .contains(Capability::MessagePassing),
    }))
}

impl Stack {
    /// Computes everything before the last layer, and returns the last layer with its index.
    fn before_last<'a>(
        &'a self,
        propagation: &'a Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<(Input, &'a dyn Layer, &'a Operator)> {
        let Some((last, others)) = self.layers.split_last() else {
            gnarl_tensor::bail!("a network has at least one layer")
        };
        let mut x = match &self.embed {
            Some(embed) => Input::Dense(embed.forward_activated(
                x,
                pass,
                pass.dropout(self.dropout, EMBEDDING_SITE),
            )?),
            None => x.clone(),
        };
        for (i, layer) in others.iter().enumerate() {
            let dropout = pass.dropout(self.dropout, i as u64);
            let mut h = layer.forward_activated(propagation.layer(i), &x, pass, dropout)?;
            if let Some(noise) = pass.noise(self.noise, NOISE_SITES + i as u64, h.dims())? {
                h = (h + noise)?;
            }
            x = Input::Dense(h);
        }
        Ok((x, &**last, propagation.layer(others.len())))
    }
}

impl Body for Stack {
    /// With a linear map at the end, there is no dropout between the last layer and it.
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        if let Some(output) = &self.output {
            return output.forward(&self.latent(propagation, x, pass)?, pass);
        }
        let (x, last, operator) = self.before_last(propagation, x, pass)?;
        last.forward(operator, &x, pass)
    }

    fn head(&self) -> Option<&Linear> {
        self.output
            .as_ref()
            .or_else(|| self.layers.last()?.last_map())
    }

    fn latent(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        let (x, last, operator) = self.before_last(propagation, x, pass)?;
        match &self.output {
            Some(_) => Ok(Input::Dense(last.forward_activated(
                operator,
                &x,
                pass,
                Dropout::NONE,
            )?)),
            None => last.before_last_map(operator, &x, pass),
        }
    }

    /// Without a linear map at the end, the hidden representation is the input of the last layer.
    fn hidden(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Option<Tensor>> {
        if self.output.is_some() {
            return Ok(Some(self.latent(propagation, x, pass)?.to_dense()?));
        }
        if self.layers.len() > 1 || self.embed.is_some() {
            Ok(Some(self.before_last(propagation, x, pass)?.0.to_dense()?))
        } else {
            Ok(None)
        }
    }

    fn forward_activated(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        if self.output.is_some() {
            return gnarl_tensor::relu_dropout(&self.forward(propagation, x, pass)?, Dropout::NONE);
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

    fn num_layers(&self) -> Option<usize> {
        (self.propagates && self.embed.is_none()).then_some(self.layers.len())
    }

    fn forward_layer(
        &self,
        i: usize,
        operator: &Operator,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let Some(layer) = self.layers.get(i) else {
            gnarl_tensor::bail!("there is no layer {i}")
        };
        if i + 1 < self.layers.len() {
            return layer.forward_activated(operator, x, pass, Dropout::NONE);
        }
        match &self.output {
            Some(output) => output.forward(
                &Input::Dense(layer.forward_activated(operator, x, pass, Dropout::NONE)?),
                pass,
            ),
            None => layer.forward(operator, x, pass),
        }
    }

    fn reach(&self) -> Option<usize> {
        Some(if self.propagates {
            self.layers.len()
        } else {
            0
        })
    }
}
