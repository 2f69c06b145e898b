//! The linear maps of a network by their position: in message-passing layers, or after them.

use std::collections::HashMap;

use super::not_covered;
use crate::classifier::WhiteBox;
use gnarl_graph::Result;
use gnarl_nn::networks::{Backbone, Input, Pass, Propagation};
use gnarl_tensor::{Operator, Tensor, add_bias};

/// The linear maps of a network by their position.
pub(in crate::robustness) struct Plan<'a> {
    pub layers: Vec<Vec<Map<'a>>>,
    pub tail: Vec<Map<'a>>,
    pub backbone: Backbone,
    /// The weight of the head, for a classifier of graphs.
    pub head: Option<&'a Tensor>,
}

pub(in crate::robustness) struct Map<'a> {
    pub weight: &'a Tensor,
    pub bias: Option<&'a Tensor>,
}

impl<'a> Plan<'a> {
    /// Returns true if the linear maps of the network have known positions.
    pub fn covers(backbone: &Backbone) -> bool {
        matches!(
            backbone,
            Backbone::Gcn(_) | Backbone::Gin(_) | Backbone::Sgc(_) | Backbone::Mlp(_)
        )
    }

    /// Sorts the maps of a network. Fails with the reason if the bounds do not cover it.
    pub fn of(model: &'a WhiteBox) -> Result<Self> {
        let config = model.network().config();
        let backbone = config.backbone;
        if !Self::covers(&backbone) {
            let covered = Backbone::names_of(Self::covers);
            return Err(not_covered(format!("{backbone}: they cover {covered}")));
        }
        if config.uses_batch_norm() {
            return Err(not_covered("a network with batch normalisation".into()));
        }
        let mut named: HashMap<&str, &Tensor> = model
            .weights()
            .iter()
            .map(|(id, tensor)| (model.network().params().get(id).name.as_str(), tensor))
            .collect();
        // The factor on scores is one more map after all of these.
        named.retain(|name, _| !name.starts_with("operator.") && *name != "gain");
        let mut head = None;
        if model.graph_classifier().is_some() {
            head = named.remove("head.weight");
            named.remove("head.bias");
        }
        let plan = Plan {
            head,
            ..Plan::new(&mut named, backbone, config.layers)?
        };
        match named.keys().min() {
            Some(name) => Err(not_covered(format!(
                "a network with the parameter {name}, whose place they do not know"
            ))),
            None => Ok(plan),
        }
    }

    /// The first map that features go through.
    pub fn first(&self) -> Option<&Map<'a>> {
        self.layers.iter().flatten().chain(&self.tail).next()
    }

    /// The scores of the nodes of one graph from the first messages `X W`, as a forward pass
    /// without dropout computes them. `propagation` is that of the pass, its scalars in it.
    pub fn scores(
        &self,
        model: &WhiteBox,
        propagation: &Propagation,
        messages: Tensor,
    ) -> Result<Tensor> {
        let mut h = messages;
        for (i, maps) in self.layers.iter().enumerate() {
            if let (true, Some(first)) = (i > 0, maps.first()) {
                h = Input::Dense(h).matmul(first.weight, None)?;
            }
            let is_last = i + 1 == self.layers.len() && self.tail.is_empty();
            h = if is_last {
                self.linear_output(maps, propagation.layer(i), h)?
            } else {
                self.output(maps, propagation.layer(i), h)?
            };
        }
        let mut tail = self.tail.iter();
        if self.layers.is_empty()
            && let Some(bias) = tail.next().and_then(|map| map.bias)
        {
            h = add_bias(&h, bias)?;
        }
        for map in tail {
            h = Input::Dense(h.relu()?).matmul(map.weight, map.bias)?;
        }
        if let (Backbone::Sgc(_), Some(bias)) =
            (self.backbone, self.first().and_then(|map| map.bias))
        {
            h = add_bias(&h, bias)?;
        }
        match model.network().gain() {
            Some(gain) => Ok(gain.apply(&h, &Pass::evaluation(model.weights()))?),
            None => Ok(h),
        }
    }

    /// The output of a layer with these maps from its messages.
    pub fn output(
        &self,
        maps: &[Map<'_>],
        operator: &Operator,
        messages: Tensor,
    ) -> Result<Tensor> {
        let output = self.linear_output(maps, operator, messages)?;
        // SGC has no activations.
        if self.backbone.is(Backbone::SGC) {
            Ok(output)
        } else {
            Ok(output.relu()?)
        }
    }

    /// The output of a layer before its activation.
    fn linear_output(
        &self,
        maps: &[Map<'_>],
        operator: &Operator,
        messages: Tensor,
    ) -> Result<Tensor> {
        let is_sgc = self.backbone.is(Backbone::SGC);
        // SGC's bias comes after its last propagation step.
        let bias = maps.first().and_then(|map| map.bias).filter(|_| !is_sgc);
        let mut output = operator.apply_with_bias(&messages, bias)?;
        if self.backbone.is(Backbone::GIN) {
            output = (output + messages)?;
        }
        for map in maps.iter().skip(1) {
            output = Input::Dense(output.relu()?).matmul(map.weight, map.bias)?;
        }
        Ok(output)
    }

    /// Takes the known maps out of `named`.
    fn new(
        named: &mut HashMap<&str, &'a Tensor>,
        backbone: Backbone,
        num_layers: usize,
    ) -> Result<Self> {
        let mut take = |name: &str| -> Option<Map<'a>> {
            let weight = named.remove(format!("{name}.weight").as_str())?;
            Some(Map {
                weight,
                bias: named.remove(format!("{name}.bias").as_str()),
            })
        };
        let mut must = |name: String| {
            take(&name).ok_or_else(|| not_covered(format!("a {backbone} without {name}.weight")))
        };
        let mut layers = Vec::new();
        let mut tail = Vec::new();
        match backbone {
            // The only map commutes with propagation: it may come before the first step.
            Backbone::Sgc(_) => {
                for i in 0..num_layers {
                    layers.push(if i == 0 {
                        vec![must("linear".into())?]
                    } else {
                        Vec::new()
                    });
                }
            }
            Backbone::Mlp(_) => {
                for i in 0..num_layers.max(1) {
                    tail.push(must(format!("layers.{i}"))?);
                }
            }
            Backbone::Gin(_) => {
                for i in 0..num_layers {
                    layers.push(vec![
                        must(format!("layers.{i}.mlp.0"))?,
                        must(format!("layers.{i}.mlp.1"))?,
                    ]);
                }
            }
            _ => {
                for i in 0..num_layers {
                    layers.push(vec![must(format!("layers.{i}"))?]);
                }
            }
        }
        tail.extend(take("output"));
        Ok(Self {
            layers,
            tail,
            backbone,
            head: None,
        })
    }
}
