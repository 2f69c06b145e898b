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

use std::borrow::Cow;
use std::ops::Range;

use gnarl_graph::random::stream;

use crate::networks::entry::Place;
use crate::networks::network::{add_scalars, drop_input, scalar_values};
use crate::networks::{
    Backbone, Capability, Gain, Input, Layer, Linear, NetworkConfig, OperatorScalar, ParamId,
    Params, Pass, Propagation, Shape,
};
use crate::train::Model;
use gnarl_graph::Error;
use gnarl_tensor::{Operator, Result, Tensor};

/// Network with an exit after each of 0, 1, …, L message-passing layers.
#[derive(Debug)]
pub struct ExitNetwork {
    config: NetworkConfig,
    in_dim: usize,
    num_classes: usize,
    params: Params,
    stages: Vec<Parts>,
}

/// Parts of stage `t`: `Layer_{t-1}` (from stage 2 on), exit `t`, and the operator's scalars of
/// layer `t`.
#[derive(Debug)]
struct Parts {
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

impl ExitNetwork {
    /// Builds exits 0 to `config.layers`. A stage's weights are sampled from a random stream of its
    /// own: exits `0..=l` have the same initial weights whatever the number of layers.
    pub fn new(config: &NetworkConfig, shape: &Shape<'_>, seed: u64) -> gnarl_graph::Result<Self> {
        NetworkConfig {
            layers: config.layers.max(1),
            ..config.clone()
        }
        .check()?;
        let has_exits = config.backbone.provides(Capability::Exits);
        let Some(layered) = config.backbone.method().layered().filter(|_| has_exits) else {
            return Err(no_room_for_exits(config.backbone));
        };
        let plan = config.plan(shape);
        let Shape {
            in_dim,
            num_classes,
            ..
        } = *shape;
        let mut params = Params::new(config.weights);
        let mut stages = Vec::with_capacity(config.layers + 1);
        for t in 0..=config.layers {
            let rng = &mut stream(seed, "exits", t as u64);
            let from = params.list().len();
            // h^l is as wide as Layer_l computes it, with concatenated heads.
            let width = |l: usize| if l == 0 { in_dim } else { config.hidden };
            let hidden = match t {
                0 | 1 => None,
                _ => {
                    let (name, site) = (format!("layers.{}", t - 2), (t - 2) as u64);
                    let place = Place {
                        name: &name,
                        site,
                        from: width(t - 2),
                        to: config.hidden,
                        is_last: false,
                    };
                    Some(layered.layer(&plan, place, &mut params, rng)?)
                }
            };
            let name = format!("exits.{t}");
            let exit = match t {
                0 => Exit::Linear(Linear::glorot(
                    &mut params,
                    &name,
                    in_dim,
                    num_classes,
                    true,
                    rng,
                )?),
                _ => {
                    let site = (EXIT_SITES + t) as u64;
                    let place = Place {
                        name: &name,
                        site,
                        from: width(t - 1),
                        to: num_classes,
                        is_last: true,
                    };
                    Exit::Layer(layered.layer(&plan, place, &mut params, rng)?)
                }
            };
            let scalars = if t == 0 { &[] } else { shape.scalars };
            let scalars = add_scalars(&mut params, &format!("operator.{t}"), scalars, rng)?;
            let gain = config
                .gain
                .then(|| Gain::new(&mut params, &format!("exits.{t}.gain")))
                .transpose()?;
            stages.push(Parts {
                hidden,
                exit,
                gain,
                scalars,
                params: from..params.list().len(),
            });
        }
        if config.orthogonal_start {
            params.start_orthogonal(&mut stream(seed, "orthogonal start", 0))?;
        }
        Ok(Self {
            config: config.clone(),
            in_dim,
            num_classes,
            params,
            stages,
        })
    }

    /// Returns its settings; `layers` is the number of the last exit.
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

    /// Computes the scores of every exit without dropout, each `[nodes, num_classes]`; every layer
    /// is computed once.
    pub fn predict(&self, propagation: &Propagation, x: &Input) -> Result<Vec<Tensor>> {
        let weights = self.params.weights()?.detached();
        self.scores(propagation, x, &Pass::evaluation(&weights))
    }

    /// Returns the scalars of a learnable operator with their values, `NAME@ROUND`; none for a
    /// fixed operator.
    pub fn operator_scalars(&self) -> Result<Vec<(String, f64)>> {
        let mut found = Vec::new();
        for (round, stage) in self.stages.iter().enumerate() {
            let values = scalar_values(&self.params, &stage.scalars)?;
            found.extend(
                values
                    .into_iter()
                    .map(|(name, value)| (format!("{name}@{round}"), value)),
            );
        }
        Ok(found)
    }

    /// Returns stage `t` of sequential training on `input`, which is X for stages up to 2 and
    /// `h^{t-2}` after.
    pub(super) fn stage(&self, t: usize) -> Stage<'_> {
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

    /// Returns the operator of layer `t` (from 1), which is index `at` (from 0) of the task.
    fn operator<'a>(
        &self,
        t: usize,
        propagation: &'a Propagation,
        at: usize,
        pass: &Pass<'_>,
    ) -> Result<Cow<'a, Operator>> {
        let Some(learnable) = &propagation.learnable else {
            return Ok(Cow::Borrowed(propagation.round(at)));
        };
        let scalars: Vec<&Tensor> = self.stages[t]
            .scalars
            .iter()
            .map(|(_, id)| pass.weight(*id))
            .collect();
        let mut rounds = learnable.operators(&scalars)?;
        let at = at.min(rounds.len().saturating_sub(1));
        if rounds.is_empty() {
            gnarl_tensor::bail!("a learned operator of no round");
        }
        Ok(Cow::Owned(rounds.swap_remove(at)))
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

    /// Returns the reach of `rounds` layers in hops; `None` if every node may influence the scores.
    fn reach_of(&self, rounds: usize) -> Option<usize> {
        match self.config.uses_batch_norm() {
            true => None,
            false => Some(
                if self.config.backbone.provides(Capability::MessagePassing) {
                    rounds
                } else {
                    0
                },
            ),
        }
    }
}

pub(super) fn no_room_for_exits(backbone: Backbone) -> Error {
    let known = Backbone::named()
        .filter(|(_, b)| b.provides(Capability::Exits))
        .map(|(name, _)| name);
    let known = known.collect::<Vec<_>>().join(", ");
    let what =
        format!("{backbone} is not a stack of layers with room for exits; take one of {known}");
    Error::unsupported("depth", what)
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
#[derive(Debug)]
pub(super) struct Stage<'a> {
    exits: &'a ExitNetwork,
    t: usize,
}

impl Model for Stage<'_> {
    fn params(&self) -> &Params {
        &self.exits.params
    }

    fn trained(&self) -> Range<usize> {
        self.exits.stages[self.t].params.clone()
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
    use crate::networks::Network;
    use crate::networks::testing::assert_close;
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
        let init = Initialisation::Of(ClassicalOperator::NormalisedAdjacency);
        let learned = OperatorChoice::Cgso(Cgso {
            centrality: "degree+core".parse().unwrap(),
            init,
        });
        for backbone in Backbone::all().filter(|b| b.provides(Capability::Exits)) {
            for operator in [OperatorChoice::Usual, learned] {
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
        let (_, prepared) = prepared(Backbone::SGC, OperatorChoice::Usual);
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
        let (_, prepared) = prepared(Backbone::GCN, OperatorChoice::Usual);
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
