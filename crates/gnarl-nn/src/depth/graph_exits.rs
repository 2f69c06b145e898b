//! Graph classifier with an exit at every layer: ADMP-GNN (Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)) for graph classification.
//!
//! With `h^0 = X` and `h^l = relu(Layer_l(dropout(h^{l-1})))`, exit `l` applies a readout to the
//! nodes' `h^l`. A linear head of its own, with dropout before it, classifies the graph vector. So
//! exit `l >= 1` is a plain classifier of `l` layers, and exit 0 a linear map of the readout of the
//! features. All later exits share a layer: attention concatenates its heads in each, while the
//! last layer of a plain classifier has one head.
//!
//! A learnable operator has separate scalars for every layer, as on nodes: those of layer `t` are
//! trained in stage `t`.

use std::ops::Range;

use gnarl_tensor::{DType, Device, Dropout, Result, Tensor, dropout};

use super::stages::{ExitModel, ExitStage, Stage, StageBuilder};
use crate::networks::head::HEAD_SITE;
use crate::networks::network::drop_input;
use crate::networks::{
    Batch, Capability, GraphModel, Head, Input, Layer, Linear, NetworkConfig, OperatorScalar,
    ParamId, Params, Pass, Propagation, Shape,
};

/// Graph classifier with an exit after each of 0, 1, …, L message-passing layers.
pub type ExitClassifier = ExitModel<GraphStage>;

/// Parts of stage `t`: `Layer_t` (from stage 1 on) with the operator's scalars of layer `t`, and
/// head `t`.
#[derive(Debug)]
#[doc(hidden)]
pub struct GraphStage {
    layer: Option<Box<dyn Layer>>,
    scalars: Vec<(OperatorScalar, ParamId)>,
    head: Linear,
    /// Positions of its parameters.
    params: Range<usize>,
}

impl ExitStage for GraphStage {
    const STREAM: &'static str = "exits of graphs";

    fn out_dim(config: &NetworkConfig, _shape: &Shape<'_>) -> usize {
        config.hidden
    }

    fn build(builder: &mut StageBuilder<'_>) -> Result<Self> {
        let t = builder.t;
        let (layer, scalars) = match t {
            0 => (None, Vec::new()),
            _ => (Some(builder.hidden_layer(t)?), builder.operator_scalars()?),
        };
        let (name, width) = (format!("heads.{t}"), builder.width(t));
        let num_classes = builder.shape.num_classes;
        let (params, rng) = (&mut *builder.params, &mut *builder.rng);
        let head = Linear::kaiming(params, &name, width, num_classes, true, rng)?.free(params);
        Ok(Self {
            layer,
            scalars,
            head,
            params: builder.added_params(),
        })
    }

    fn scalars(&self) -> &[(OperatorScalar, ParamId)] {
        &self.scalars
    }

    fn params(&self) -> Range<usize> {
        self.params.clone()
    }
}

impl ExitClassifier {
    /// Returns stage `t` of sequential training, on batches whose input is `h^{t-1}` (features for
    /// stages 0 and 1).
    pub fn stage(&self, t: usize) -> Stage<'_, GraphStage> {
        Stage { exits: self, t }
    }

    /// Returns exit `t` as a classifier, on batches of features.
    pub fn exit(&self, t: usize) -> OneExit<'_> {
        OneExit { exits: self, t }
    }

    /// Computes `h^t` from `h^{t-1}`, without dropout and outside any gradient.
    pub fn advance(&self, t: usize, propagation: &Propagation, x: &Input) -> Result<Input> {
        let weights = self.params.weights()?.detached();
        match x.num_rows() {
            0 => Ok(Input::Dense(Tensor::zeros(
                (0, self.width(t)),
                DType::F32,
                &Device::Cpu,
            )?)),
            _ => Ok(Input::Dense(self.hidden(
                t,
                propagation,
                x,
                &Pass::evaluation(&weights),
            )?)),
        }
    }

    /// Returns the width of `h^t`.
    fn width(&self, t: usize) -> usize {
        self.stages[t].head.in_dim()
    }

    /// Computes `relu(Layer_t(x))`.
    fn hidden(
        &self,
        t: usize,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let Some(layer) = &self.stages[t].layer else {
            return x.to_dense();
        };
        let operator = self.operator(t, propagation, 0, pass)?;
        layer.forward_activated(&operator, x, pass, Dropout::NONE)
    }

    /// Applies dropout to the input of layer `t`: dropout of features before the first layer, of
    /// representations before the others.
    fn dropped(&self, t: usize, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        let network = &self.config;
        match (t, x) {
            (0 | 1, x) => drop_input(x, network.input_dropout, pass),
            (_, Input::Dense(x)) => Ok(Input::Dense(dropout(
                x,
                pass.dropout(network.dropout as f32, (t - 2) as u64),
            )?)),
            (_, x) => Ok(x.clone()),
        }
    }

    /// Aggregates the node vectors of a batch to one vector for each graph.
    fn read_out(&self, batch: &Batch, nodes: &Tensor) -> Result<Tensor> {
        self.config.readout.forward(&batch.members, nodes)
    }

    /// Computes the graphs' vectors at exits 0 to `last`, each `[graphs, width]`; zeros for graphs
    /// without nodes.
    fn vectors(&self, last: usize, batch: &Batch, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        if batch.members.num_nodes() == 0 {
            let zeros = |t| {
                Tensor::zeros(
                    (batch.members.num_graphs(), self.width(t)),
                    DType::F32,
                    &Device::Cpu,
                )
            };
            return (0..=last).map(zeros).collect();
        }
        // Exit 0 and the first layer share the dropout mask of the features.
        let mut h = self.dropped(0, &batch.input, pass)?;
        let mut found = vec![self.read_out(batch, &h.to_dense()?)?];
        for t in 1..=last {
            let x = if t == 1 {
                h
            } else {
                self.dropped(t, &h, pass)?
            };
            let made = self.hidden(t, &batch.propagation, &x, pass)?;
            found.push(self.read_out(batch, &made)?);
            h = Input::Dense(made);
        }
        Ok(found)
    }

    /// Computes class scores of exit `t` from its vectors.
    fn classify(&self, t: usize, vectors: &Tensor, site: u64, pass: &Pass<'_>) -> Result<Tensor> {
        let dropped = dropout(vectors, pass.dropout(self.config.head_dropout as f32, site))?;
        self.stages[t].head.forward(&Input::Dense(dropped), pass)
    }

    /// Replaces the head of exit `t`.
    pub fn set_head(&self, t: usize, head: &Head) -> Result<()> {
        for p in head.params().list() {
            let name = p.name.replacen("head", &format!("heads.{t}"), 1);
            match self.params.list().iter().find(|own| own.name == name) {
                Some(own) if own.var.dims() == p.var.dims() => own.var.set(p.var.as_tensor())?,
                _ => {
                    gnarl_tensor::bail!("a head of shape {:?} does not fit exit {t}", p.var.dims())
                }
            }
        }
        Ok(())
    }
}

/// Aggregate loss minimisation: trains all exits at once, with their vectors concatenated.
impl GraphModel for ExitClassifier {
    fn params(&self) -> &Params {
        &self.params
    }

    fn couples_graphs(&self) -> bool {
        self.config.uses_batch_norm()
            || !self.config.backbone.provides(Capability::IndependentGraphs)
    }

    fn num_classes(&self) -> usize {
        self.num_classes()
    }

    fn num_outputs(&self) -> usize {
        self.stages.len()
    }

    fn latent_dim(&self) -> usize {
        (0..self.stages.len()).map(|t| self.width(t)).sum()
    }

    fn latent(&self, batch: &Batch, pass: &Pass<'_>) -> Result<Tensor> {
        Tensor::cat(&self.vectors(self.max_depth(), batch, pass)?, 1)
    }

    fn outputs(&self, latent: &Tensor, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        let mut from = 0;
        let output = |t: usize| {
            let vectors = latent.narrow(1, from, self.width(t))?.contiguous()?;
            from += self.width(t);
            self.classify(t, &vectors, HEAD_SITE + t as u64, pass)
        };
        (0..self.stages.len()).map(output).collect()
    }
}

/// Stage of sequential training: at most one layer and a head, on a frozen input.
impl GraphModel for Stage<'_, GraphStage> {
    fn params(&self) -> &Params {
        &self.exits.params
    }

    fn trained(&self) -> Range<usize> {
        self.exits.stages[self.t].params()
    }

    fn couples_graphs(&self) -> bool {
        self.exits.couples_graphs()
    }

    fn num_classes(&self) -> usize {
        self.exits.num_classes()
    }

    fn latent_dim(&self) -> usize {
        self.exits.width(self.t)
    }

    fn latent(&self, batch: &Batch, pass: &Pass<'_>) -> Result<Tensor> {
        if batch.members.num_nodes() == 0 {
            return Tensor::zeros(
                (batch.members.num_graphs(), self.latent_dim()),
                DType::F32,
                &Device::Cpu,
            );
        }
        let x = self.exits.dropped(self.t, &batch.input, pass)?;
        self.exits.read_out(
            batch,
            &self.exits.hidden(self.t, &batch.propagation, &x, pass)?,
        )
    }

    fn outputs(&self, latent: &Tensor, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        Ok(vec![self.exits.classify(self.t, latent, HEAD_SITE, pass)?])
    }
}

/// Exit as a classifier of its own.
#[derive(Debug)]
pub struct OneExit<'a> {
    exits: &'a ExitClassifier,
    t: usize,
}

impl GraphModel for OneExit<'_> {
    fn params(&self) -> &Params {
        &self.exits.params
    }

    fn couples_graphs(&self) -> bool {
        self.exits.couples_graphs()
    }

    fn num_classes(&self) -> usize {
        self.exits.num_classes()
    }

    fn latent_dim(&self) -> usize {
        self.exits.width(self.t)
    }

    fn latent(&self, batch: &Batch, pass: &Pass<'_>) -> Result<Tensor> {
        Ok(self.exits.vectors(self.t, batch, pass)?.swap_remove(self.t))
    }

    fn outputs(&self, latent: &Tensor, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        Ok(vec![self.exits.classify(self.t, latent, HEAD_SITE, pass)?])
    }
}
