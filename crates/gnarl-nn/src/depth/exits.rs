//! A network with an exit at every layer (ADMP-GNN, Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)).
//!
//! With `h^0 = X` and `h^l = dropout(relu(Layer_l(h^{l-1})))`, exit 0 is a linear map of X. Exit
//! `l >= 1` is a layer of the same kind with one output per class, applied to `h^{l-1}`. For a GCN
//! that is the paper's `m^0 = x`, `m^1 = Φ x`, `m^{l+1} = Φ relu(W^l m^l + b^l)` with exits
//! `W~^l m^l + b~^l`. So exit `l` is a plain network of `l` layers.
//!
//! A learnable operator has separate scalars for every layer: those of layer `t` are trained in
//! stage `t` and frozen with it.

use std::ops::Range;

use crate::networks::entry::Place;
use crate::networks::network::drop_input;
use crate::networks::{
    Capability, Gain, Input, Layer, Linear, NetworkConfig, OperatorScalar, ParamId, Params, Pass,
    Propagation, Shape,
};
use crate::train::Model;
use gnarl_tensor::{Result, Tensor};

use super::stages::{ExitModel, ExitStage, Stage, StageBuilder};

/// Node classifier with an exit after each of 0, 1, …, L message-passing layers.
pub type ExitNetwork = ExitModel<NodeStage>;

/// Parts of stage `t`: `Layer_{t-1}` (from stage 2 on), exit `t`, and the operator's scalars of
/// layer `t`.
#[derive(Debug)]
#[doc(hidden)]
pub struct NodeStage {
    hidden: Option<Box<dyn Layer>>,
    exit: Exit,
    /// Factor on the exit's scores.
    gain: Option<Gain>,
    scalars: Vec<(OperatorScalar, ParamId)>,
    /// Positions of its parameters.
    params: Range<usize>,
}

#[derive(Debug)]
enum Exit {
    Linear(Linear),
    Layer(Box<dyn Layer>),
}

impl ExitStage for NodeStage {
    const STREAM: &'static str = "exits";

    fn out_dim(_config: &NetworkConfig, shape: &Shape<'_>) -> usize {
        shape.num_classes
    }

    fn build(builder: &mut StageBuilder<'_>) -> Result<Self> {
        let t = builder.t;
        let hidden = match t {
            0 | 1 => None,
            _ => Some(builder.hidden_layer(t - 1)?),
        };
        let exit = Exit::build(builder)?;
        let scalars = match t {
            0 => Vec::new(),
            _ => builder.operator_scalars()?,
        };
        let gain = if builder.config.gain {
            Some(Gain::new(builder.params, &format!("exits.{t}.gain"))?)
        } else {
            None
        };
        Ok(Self {
            hidden,
            exit,
            gain,
            scalars,
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

impl Exit {
    /// Builds exit `t`: a linear map of the features for `t = 0`, a layer after that.
    fn build(builder: &mut StageBuilder<'_>) -> Result<Self> {
        let (t, num_classes) = (builder.t, builder.shape.num_classes);
        let name = format!("exits.{t}");
        if t == 0 {
            let in_dim = builder.shape.in_dim;
            let (params, rng) = (&mut *builder.params, &mut *builder.rng);
            return Ok(Exit::Linear(Linear::glorot(
                params,
                &name,
                in_dim,
                num_classes,
                true,
                rng,
            )?));
        }
        let place = Place {
            name: &name,
            site: (EXIT_SITES + t) as u64,
            from: builder.width(t - 1),
            to: num_classes,
            is_last: true,
        };
        Ok(Exit::Layer(builder.layer(place)?))
    }
}

impl ExitNetwork {
    /// Computes the scores of every exit without dropout, each `[nodes, num_classes]`; every layer
    /// is computed once.
    pub fn predict(&self, propagation: &Propagation, x: &Input) -> Result<Vec<Tensor>> {
        let weights = self.params.weights()?.detached();
        self.scores(propagation, x, &Pass::evaluation(&weights))
    }

    /// Returns stage `t` of sequential training on `input`, which is X for stages up to 2 and
    /// `h^{t-2}` after.
    pub(super) fn stage(&self, t: usize) -> Stage<'_, NodeStage> {
        Stage { exits: self, t }
    }

    /// Computes `h^{t-1}` from `h^{t-2}`, as stage `t` was trained to do, without dropout and
    /// outside any gradient.
    pub(super) fn advance(&self, t: usize, propagation: &Propagation, x: &Input) -> Result<Input> {
        let weights = self.params.weights()?.detached();
        self.next_hidden(
            t,
            propagation,
            t.saturating_sub(2),
            x,
            &Pass::evaluation(&weights),
        )
    }

    /// Computes the scores of exit `t` from `h^{t-1}`, with operator `at` of the task.
    fn exit_scores(
        &self,
        t: usize,
        propagation: &Propagation,
        at: usize,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let scores = match &self.stages[t].exit {
            Exit::Linear(linear) => linear.forward(x, pass)?,
            Exit::Layer(layer) => {
                layer.forward(&*self.operator(t, propagation, at, pass)?, x, pass)?
            }
        };
        match &self.stages[t].gain {
            Some(gain) => gain.apply(&scores, pass),
            None => Ok(scores),
        }
    }

    /// Chooses the gains of these exits from their scores, in the order of the exits.
    fn start_gains(&self, exits: Range<usize>, scores: &[Tensor]) -> Result<()> {
        let gains = self.stages[exits].iter().map(|stage| &stage.gain);
        gains.zip(scores).try_for_each(|(gain, scores)| match gain {
            Some(gain) => gain.start(&self.params, scores),
            None => Ok(()),
        })
    }

    /// Computes `h^{t-1}` from `h^{t-2}` with operator `at` of the task, with dropout if the pass
    /// trains.
    fn next_hidden(
        &self,
        t: usize,
        propagation: &Propagation,
        at: usize,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Input> {
        let Some(hidden) = &self.stages[t].hidden else {
            return Ok(x.clone());
        };
        let dropout = pass.dropout(self.config.dropout as f32, t as u64);
        let operator = self.operator(t - 1, propagation, at, pass)?;
        Ok(Input::Dense(
            hidden.forward_activated(&operator, x, pass, dropout)?,
        ))
    }

    /// Returns the reach of `layers` layers in hops; `None` if every node may influence the scores.
    fn reach_of(&self, layers: usize) -> Option<usize> {
        if self.config.uses_batch_norm() {
            None
        } else if self.config.backbone.provides(Capability::MessagePassing) {
            Some(layers)
        } else {
            Some(0)
        }
    }
}

/// Random sites of attention in exits, separate from those of layers.
const EXIT_SITES: usize = 1 << 16;

/// Aggregate loss minimisation: trains all exits at once.
impl Model for ExitNetwork {
    fn params(&self) -> &Params {
        &self.params
    }

    fn reach(&self) -> Option<usize> {
        self.reach_of(self.max_depth())
    }

    fn scores(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        let mut h = drop_input(x, self.config.input_dropout, pass)?;
        let mut scores = Vec::with_capacity(self.stages.len());
        for t in 0..self.stages.len() {
            h = self.next_hidden(t, propagation, t.saturating_sub(2), &h, pass)?;
            scores.push(self.exit_scores(t, propagation, t.saturating_sub(1), &h, pass)?);
        }
        Ok(scores)
    }

    fn start(&self, propagation: &Propagation, x: &Input) -> Result<()> {
        let weights = self.params.weights()?.detached();
        self.start_gains(
            0..self.stages.len(),
            &self.scores(propagation, x, &Pass::evaluation(&weights))?,
        )
    }
}

/// Stage of sequential training: at most one layer and an exit, on a frozen input.
impl Model for Stage<'_, NodeStage> {
    fn params(&self) -> &Params {
        &self.exits.params
    }

    fn trained(&self) -> Range<usize> {
        self.exits.stages[self.t].params()
    }

    fn reach(&self) -> Option<usize> {
        self.exits.reach_of(self.t.min(2))
    }

    fn scores(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        // Dropout of the features applies in the stages whose input is the features.
        let rate = if self.t <= 2 {
            self.exits.config.input_dropout
        } else {
            0.0
        };
        let x = drop_input(x, rate, pass)?;
        let h = self.exits.next_hidden(self.t, propagation, 0, &x, pass)?;
        Ok(vec![self.exits.exit_scores(
            self.t,
            propagation,
            self.t.saturating_sub(1).min(1),
            &h,
            pass,
        )?])
    }

    fn start(&self, propagation: &Propagation, x: &Input) -> Result<()> {
        let weights = self.exits.params.weights()?.detached();
        let scores = self.scores(propagation, x, &Pass::evaluation(&weights))?;
        self.exits.start_gains(self.t..self.t + 1, &scores)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::networks::testing::assert_close;
    use crate::networks::{Backbone, Network};
    use crate::operator::{Cgso, Initialisation, OperatorChoice, Prepared};
    use crate::train::predict;
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_graph::operator::ClassicalOperator;

    /// Returns a small graph of noisy classes, prepared for a backbone.
    pub(in crate::depth) fn prepared(
        backbone: Backbone,
        operator: OperatorChoice,
    ) -> (gnarl_graph::Graph, Prepared) {
        let graph = csbm(&CsbmConfig::default(), 0).unwrap();
        let prepared = Prepared::new(&graph, backbone, operator).unwrap();
        (graph, prepared)
    }

    const NUM_CLASSES: usize = 4;

    fn exits(
        prepared: &Prepared,
        config: &NetworkConfig,
        seed: u64,
    ) -> gnarl_graph::Result<ExitNetwork> {
        ExitNetwork::new(config, &prepared.shape(NUM_CLASSES), seed)
    }

    /// Copies the weights of exit `l` to a plain network of `l` layers (for `l = 0`, a linear map).
    fn plant(exits: &ExitNetwork, l: usize, plain: &Network) {
        let last = l.saturating_sub(1);
        for p in plain.params().list() {
            let name = match p.name.strip_prefix("operator.") {
                Some(scalar) => format!("operator.{}.{scalar}", l.max(1)),
                None => p
                    .name
                    .replace(&format!("layers.{last}."), &format!("exits.{l}.")),
            };
            let from = exits.params().list().iter().find(|q| q.name == name);
            p.var
                .set(
                    from.unwrap_or_else(|| panic!("{name} is not among the exits'"))
                        .var
                        .as_tensor(),
                )
                .unwrap();
        }
    }

    #[test]
    fn exit_l_is_a_plain_network_of_l_layers() {
        let init = Initialisation::Of(ClassicalOperator::NORMALISED_ADJACENCY);
        let learned = OperatorChoice::Cgso(Cgso {
            centrality: "degree+core".parse().unwrap(),
            init,
        });
        for backbone in Backbone::all().filter(|b| b.provides(Capability::Exits)) {
            for operator in [OperatorChoice::Default, learned] {
                if backbone.is(Backbone::MLP) && operator == learned {
                    continue;
                }
                let (_, prepared) = prepared(backbone, operator);
                let config = NetworkConfig {
                    layers: 4,
                    hidden: 8,
                    ..NetworkConfig::new(backbone.where_taken("heads", 2))
                };
                let exits = exits(&prepared, &config, 7).unwrap();
                let scores = exits
                    .predict(&prepared.propagation, &prepared.input)
                    .unwrap();
                assert_eq!(scores.len(), 5);
                for (l, scores) in scores.iter().enumerate() {
                    // A GCN with zero layers is a linear map, which is a perceptron with one.
                    let plain = if l == 0 {
                        Backbone::MLP
                    } else {
                        config.backbone
                    };
                    let config = NetworkConfig {
                        backbone: plain,
                        layers: l.max(1),
                        ..config.clone()
                    };
                    let (propagation, network) = if l == 0 {
                        let propagation = Propagation::from(prepared.propagation.operator.clone());
                        let (from, to) = (prepared.input.dim(), NUM_CLASSES);
                        (
                            propagation,
                            Network::new(&config, &Shape::new(from, to, 1.0), 1).unwrap(),
                        )
                    } else {
                        (
                            prepared.propagation.clone(),
                            Network::new(&config, &prepared.shape(NUM_CLASSES), 1).unwrap(),
                        )
                    };
                    plant(&exits, l, &network);
                    let expected = predict(&network, &propagation, &prepared.input).unwrap();
                    let values = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                    assert_close(
                        &values(scores),
                        &values(&expected),
                        1e-6,
                        &format!("{backbone}, exit {l}"),
                    );
                }
            }
        }
    }

    #[test]
    fn networks_without_exits_are_refused() {
        let (_, prepared) = prepared(Backbone::SGC, OperatorChoice::Default);
        let e = exits(&prepared, &NetworkConfig::new(Backbone::SGC), 0)
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("sgc is not a stack of layers")
                && e.contains("gcn, gat, gatv2, gin, sage, mlp"),
            "{e}"
        );
        let wrong = NetworkConfig {
            hidden: 0,
            ..NetworkConfig::new(Backbone::GCN)
        };
        assert!(
            exits(&prepared, &wrong, 0)
                .unwrap_err()
                .to_string()
                .contains("hidden must be in [1, 1000000] (got 0)")
        );
    }

    #[test]
    fn exits_start_the_same_whatever_comes_after() {
        let (_, prepared) = prepared(Backbone::GCN, OperatorChoice::Default);
        let config = |layers| NetworkConfig {
            layers,
            hidden: 8,
            ..NetworkConfig::new(Backbone::GCN)
        };
        let (few, many) = (
            exits(&prepared, &config(2), 3).unwrap(),
            exits(&prepared, &config(5), 3).unwrap(),
        );
        for (a, b) in few.params().list().iter().zip(many.params().list()) {
            assert_eq!(a.name, b.name);
            let values =
                |p: &crate::networks::Param| p.var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert_eq!(values(a), values(b), "{}", a.name);
        }
        let none = exits(&prepared, &config(0), 3).unwrap();
        assert_eq!(
            (
                none.max_depth(),
                none.predict(&prepared.propagation, &prepared.input)
                    .unwrap()
                    .len()
            ),
            (0, 1)
        );
    }
}
