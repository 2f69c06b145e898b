//! Models with an exit at every layer: the parts that node classifiers
//! ([`ExitNetwork`](super::ExitNetwork)) and graph classifiers
//! ([`ExitClassifier`](super::ExitClassifier)) share.
//!
//! Such a model consists of stages 0, 1, …, L. Sequential training trains one stage after another;
//! a stage's weights are sampled from a random stream of its own, so exits `0..=l` start the same
//! whatever the number of layers.

use std::borrow::Cow;
use std::ops::Range;

use gnarl_graph::Error;
use gnarl_graph::random::{Rng, stream};
use gnarl_tensor::{Operator, Result, Tensor};

use crate::networks::entry::{Layered, Place, Plan};
use crate::networks::network::{add_scalars, scalar_values};
use crate::networks::{
    Backbone, Capability, Layer, NetworkConfig, OperatorScalar, ParamId, Params, Pass, Propagation,
    Shape,
};

/// Model with an exit after each of 0, 1, …, L message-passing layers, made of one stage per exit.
#[derive(Debug)]
pub struct ExitModel<S> {
    pub(super) config: NetworkConfig,
    in_dim: usize,
    num_classes: usize,
    pub(super) params: Params,
    pub(super) stages: Vec<S>,
}

/// Layers and exit that are trained in one stage.
#[doc(hidden)]
pub trait ExitStage: Sized {
    /// Purpose of the random stream that the weights are sampled from.
    const STREAM: &'static str;

    /// Width that the layers' last output has, for the plan of the layers.
    fn out_dim(config: &NetworkConfig, shape: &Shape<'_>) -> usize;

    /// Builds the stage and its parameters.
    fn build(builder: &mut StageBuilder<'_>) -> Result<Self>;

    /// Returns the operator's scalars of the stage's layer.
    fn scalars(&self) -> &[(OperatorScalar, ParamId)];

    /// Returns the positions of its parameters.
    fn params(&self) -> Range<usize>;
}

/// Input of a stage's constructor: the model's settings, sizes and parameters so far.
#[doc(hidden)]
pub struct StageBuilder<'a> {
    pub(super) config: &'a NetworkConfig,
    pub(super) shape: &'a Shape<'a>,
    pub(super) params: &'a mut Params,
    pub(super) rng: &'a mut Rng,
    /// Number of the stage, from 0.
    pub(super) t: usize,
    layered: &'a dyn Layered,
    plan: &'a Plan<'a>,
    /// Number of parameters before the stage.
    first_param: usize,
}

impl StageBuilder<'_> {
    /// Returns the width of `h^l`, with concatenated heads; `h^0` are the features.
    pub(super) fn width(&self, l: usize) -> usize {
        if l == 0 {
            self.shape.in_dim
        } else {
            self.config.hidden
        }
    }

    /// Builds a layer of the backbone.
    pub(super) fn layer(&mut self, place: Place<'_>) -> Result<Box<dyn Layer>> {
        self.layered.layer(self.plan, place, self.params, self.rng)
    }

    /// Builds the layer that computes `h^l` from `h^{l-1}`, for `l` from 1.
    pub(super) fn hidden_layer(&mut self, l: usize) -> Result<Box<dyn Layer>> {
        self.layer(Place {
            name: &format!("layers.{}", l - 1),
            site: (l - 1) as u64,
            from: self.width(l - 1),
            to: self.config.hidden,
            is_last: false,
        })
    }

    /// Adds the scalars that a learnable operator has for the stage's layer.
    pub(super) fn operator_scalars(&mut self) -> Result<Vec<(OperatorScalar, ParamId)>> {
        let prefix = format!("operator.{}", self.t);
        add_scalars(self.params, &prefix, self.shape.scalars, self.rng)
    }

    /// Returns the positions of the parameters added so far.
    pub(super) fn added_params(&self) -> Range<usize> {
        self.first_param..self.params.list().len()
    }
}

impl<S: ExitStage> ExitModel<S> {
    /// Builds exits 0 to `config.layers`. A stage's weights are sampled from a random stream of its
    /// own: exits `0..=l` have the same initial weights whatever the number of layers.
    pub fn new(config: &NetworkConfig, shape: &Shape<'_>, seed: u64) -> gnarl_graph::Result<Self> {
        NetworkConfig {
            layers: config.layers.max(1),
            ..config.clone()
        }
        .check()?;
        let layered = layered(&config.backbone)?;
        let plan = config.plan(&Shape {
            num_classes: S::out_dim(config, shape),
            ..*shape
        });
        let mut params = Params::new(config.weights);
        let mut stages = Vec::with_capacity(config.layers + 1);
        for t in 0..=config.layers {
            let first_param = params.list().len();
            stages.push(S::build(&mut StageBuilder {
                config,
                shape,
                params: &mut params,
                rng: &mut stream(seed, S::STREAM, t as u64),
                t,
                layered,
                plan: &plan,
                first_param,
            })?);
        }
        if config.orthogonal_start {
            params.start_orthogonal(&mut stream(seed, "orthogonal start", 0))?;
        }
        Ok(Self {
            config: config.clone(),
            in_dim: shape.in_dim,
            num_classes: shape.num_classes,
            params,
            stages,
        })
    }

    /// Returns the settings of its network; `layers` is the number of the last exit.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Returns its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the number of input features.
    pub fn in_dim(&self) -> usize {
        self.in_dim
    }

    /// Returns the number of classes.
    pub fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// Returns the number of the last exit.
    pub fn max_depth(&self) -> usize {
        self.stages.len() - 1
    }

    /// Returns the scalars of a learnable operator with their values, `NAME@LAYER`; none for a
    /// fixed operator.
    pub fn operator_scalars(&self) -> Result<Vec<(String, f64)>> {
        let mut found = Vec::new();
        for (layer, stage) in self.stages.iter().enumerate() {
            let values = scalar_values(&self.params, stage.scalars())?.into_iter();
            found.extend(values.map(|(name, value)| (format!("{name}@{layer}"), value)));
        }
        Ok(found)
    }

    /// Returns the operator of layer `t` (from 1), which is index `at` (from 0) of the task.
    pub(super) fn operator<'a>(
        &self,
        t: usize,
        propagation: &'a Propagation,
        at: usize,
        pass: &Pass<'_>,
    ) -> Result<Cow<'a, Operator>> {
        let Some(learnable) = &propagation.learnable else {
            return Ok(Cow::Borrowed(propagation.layer(at)));
        };
        let scalars = self.stages[t].scalars();
        let scalars: Vec<&Tensor> = scalars.iter().map(|(_, id)| pass.weight(*id)).collect();
        let mut operators = learnable.operators(&scalars)?;
        if operators.is_empty() {
            gnarl_tensor::bail!("a learned operator without layers");
        }
        let at = at.min(operators.len() - 1);
        Ok(Cow::Owned(operators.swap_remove(at)))
    }
}

/// Returns the layers of a backbone that supports exits; other backbones are refused.
fn layered(backbone: &Backbone) -> gnarl_graph::Result<&dyn Layered> {
    let has_exits = backbone.provides(Capability::Exits);
    let layered = backbone.method().layered().filter(|_| has_exits);
    layered.ok_or_else(|| no_room_for_exits(*backbone))
}

fn no_room_for_exits(backbone: Backbone) -> Error {
    let known = Backbone::named()
        .filter(|(_, b)| b.provides(Capability::Exits))
        .map(|(name, _)| name);
    let known = known.collect::<Vec<_>>().join(", ");
    let what =
        format!("{backbone} is not a stack of layers with room for exits; take one of {known}");
    Error::argument("depth", what)
}

/// One stage of a model with exits, for sequential training on the output of the earlier stages.
#[derive(Debug)]
pub struct Stage<'a, S> {
    pub(super) exits: &'a ExitModel<S>,
    pub(super) t: usize,
}
