//! Networks that map features to class scores.

use std::borrow::Cow;

use gnarl_graph::random::{Rng, stream};

use super::body::{Body, INPUT_SITE};
use super::config::{NetworkConfig, NetworkSetting, Shape};
use super::gain::Gain;
use super::head::Head;
use super::init::Init;
use super::layer::{OperatorScalar, Propagation};
use super::linear::{Input, Linear};
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Operator, Result, Tensor, dropout};

/// Network: its parameters and the computation that uses them.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    in_dim: usize,
    num_classes: usize,
    params: Params,
    body: Box<dyn Body>,
    /// Scalars of a learnable operator, each with its parameter.
    scalars: Vec<(OperatorScalar, ParamId)>,
    /// Factor on its scores.
    gain: Option<Gain>,
}

impl Network {
    /// Builds the network with parameters sampled from the seed.
    pub fn new(config: &NetworkConfig, shape: &Shape<'_>, seed: u64) -> gnarl_graph::Result<Self> {
        let mut network = Self::encoder(config, shape, seed)?;
        if config.gain && config.backbone.takes(NetworkSetting::Gain) {
            network.gain = Some(Gain::new(&mut network.params, "gain")?);
        }
        Ok(network)
    }

    /// Builds a network whose outputs are representations, to which a head is applied.
    pub fn encoder(
        config: &NetworkConfig,
        shape: &Shape<'_>,
        seed: u64,
    ) -> gnarl_graph::Result<Self> {
        config.check()?;
        let mut params = Params::new(config.weights);
        let rng = &mut stream(seed, "network", 0);
        let plan = config.plan(shape);
        let body = config.backbone.method().build(&plan, &mut params, rng)?;
        let scalars = add_scalars(&mut params, "operator", shape.scalars, rng)?;
        if config.orthogonal_start {
            params.start_orthogonal(&mut stream(seed, "orthogonal start", 0))?;
        }
        let Shape {
            in_dim,
            num_classes,
            ..
        } = *shape;
        Ok(Self {
            config: config.clone(),
            in_dim,
            num_classes,
            params,
            body,
            scalars,
            gain: None,
        })
    }

    /// Counts the parameters of such a network without allocating them. A gain, a readout or exits
    /// would add some more.
    pub fn size(config: &NetworkConfig, shape: &Shape<'_>) -> gnarl_graph::Result<f64> {
        config.check()?;
        let mut params = Params::counting(config.weights);
        let (plan, rng) = (config.plan(shape), &mut stream(0, "network", 0));
        config.backbone.method().build(&plan, &mut params, rng)?;
        Ok(params.counted())
    }

    /// Returns its settings.
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

    /// Returns the number of hops within which nodes can influence a node's scores in training;
    /// `None` if every node may (batch statistics, long propagation).
    pub fn reach(&self) -> Option<usize> {
        if self.config.uses_batch_norm() {
            None
        } else {
            self.body.reach()
        }
    }

    /// Returns the number of layers, if they can be computed one after another, each on all nodes.
    pub fn num_layers(&self) -> Option<usize> {
        self.body.num_layers()
    }

    /// Computes layer `i` from the vectors before it; the last layer gives class scores. Its
    /// operator comes from [`propagation`](Self::propagation). Outside training: no dropout.
    pub fn forward_layer(
        &self,
        i: usize,
        operator: &Operator,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let y = self.body.forward_layer(i, operator, x, pass)?;
        match &self.gain {
            Some(gain) if Some(i + 1) == self.num_layers() => gain.apply(&y, pass),
            _ => Ok(y),
        }
    }

    /// Returns the linear maps of the features if all features go through them first; empty
    /// otherwise.
    pub fn input_maps(&self) -> Vec<ParamId> {
        self.body.input_maps()
    }

    /// Returns the number of learners that are trained one after another; zero for a network that
    /// is trained as a whole.
    pub fn num_learners(&self) -> usize {
        self.body.num_learners()
    }

    /// Computes class scores of one learner, whose parameters begin with `learners.i.`; its
    /// operator must be a fixed one.
    pub fn learner(
        &self,
        i: usize,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        self.body.learner(
            i,
            propagation,
            &drop_input(x, self.config.input_dropout, pass)?,
            pass,
        )
    }

    /// Returns the factor on scores, if there is one.
    pub fn gain(&self) -> Option<&Gain> {
        self.gain.as_ref()
    }

    /// Returns the scalars that it was built with, with their initial values; none for a fixed
    /// operator.
    pub fn scalars(&self) -> Vec<OperatorScalar> {
        self.scalars
            .iter()
            .map(|(scalar, _)| scalar.clone())
            .collect()
    }

    /// Returns the scalars of its learnable operator with their values; none for a fixed operator.
    pub fn operator_scalars(&self) -> Result<Vec<(String, f64)>> {
        scalar_values(&self.params, &self.scalars)
    }

    /// Returns the propagation of this pass: as given, or with the operator of the network's
    /// scalars.
    pub fn propagation<'a>(
        &self,
        propagation: &'a Propagation,
        pass: &Pass<'_>,
    ) -> Result<Cow<'a, Propagation>> {
        match &propagation.learnable {
            None if self.scalars.is_empty() => Ok(Cow::Borrowed(propagation)),
            Some(learnable) if !self.scalars.is_empty() => {
                let scalars: Vec<&Tensor> = self
                    .scalars
                    .iter()
                    .map(|(_, id)| pass.weight(*id))
                    .collect();
                let layer_operators = learnable.operators(&scalars)?;
                let Some(operator) = layer_operators.first().cloned() else {
                    gnarl_tensor::bail!("a learned operator without layers")
                };
                Ok(Cow::Owned(Propagation {
                    operator,
                    two_hop: propagation.two_hop.clone(),
                    learnable: None,
                    layer_operators,
                }))
            }
            Some(_) => gnarl_tensor::bail!(
                "the operator is learned, but the network has no scalars for it"
            ),
            None => gnarl_tensor::bail!(
                "the network has scalars of an operator, but the operator is not learned"
            ),
        }
    }

    /// Parameters that a model around this network adds to its own.
    #[doc(hidden)]
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// Computes representations `relu(forward)`, `[nodes, num_classes]`, of a network built as an
    /// encoder.
    pub fn encode(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let propagation = &*self.propagation(propagation, pass)?;
        let x = &drop_input(x, self.config.input_dropout, pass)?;
        self.body.forward_activated(propagation, x, pass)
    }

    /// Returns the linear head of every node's vector, if there is one that can be trained again
    /// separately.
    pub fn head(&self) -> Option<&Linear> {
        let is_unconstrained = |head: &&Linear| {
            self.config.weights.is_unconstrained()
                || self.params.get(head.weight).group == Group::Free
        };
        self.body.head().filter(is_unconstrained)
    }

    /// Computes the input of the [`head`](Self::head), `[nodes, width]`, without dropout and
    /// outside any gradient.
    pub fn latent(&self, propagation: &Propagation, x: &Input) -> Result<Input> {
        let weights = self.params.weights()?.detached();
        let pass = &Pass::evaluation(&weights);
        self.body
            .latent(&*self.propagation(propagation, pass)?, x, pass)
    }

    /// Computes the last hidden representation of every node, without dropout and outside any
    /// gradient; `None` if there are only scores.
    pub fn hidden(&self, propagation: &Propagation, x: &Input) -> Result<Option<Tensor>> {
        let weights = self.params.weights()?.detached();
        let pass = &Pass::evaluation(&weights);
        self.body
            .hidden(&*self.propagation(propagation, pass)?, x, pass)
    }

    /// Replaces its head. The new head has its own scale: the factor on scores becomes one.
    pub fn set_head(&self, head: &Head) -> Result<()> {
        let Some(own) = self.head() else {
            gnarl_tensor::bail!("a network without a head to replace")
        };
        head.copy_to(own, &self.params)?;
        match &self.gain {
            Some(gain) => gain.reset(&self.params),
            None => Ok(()),
        }
    }

    /// Computes class scores before the softmax, `[nodes, num_classes]`.
    pub fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let propagation = &*self.propagation(propagation, pass)?;
        let x = &drop_input(x, self.config.input_dropout, pass)?;
        let scores = self.body.forward(propagation, x, pass)?;
        match &self.gain {
            Some(gain) => gain.apply(&scores, pass),
            None => Ok(scores),
        }
    }
}

/// Adds the scalars of a learnable operator as `PREFIX.NAME`. Constants need no random numbers: the other
/// weights start as they do with a fixed operator.
#[doc(hidden)]
pub fn add_scalars(
    params: &mut Params,
    prefix: &str,
    scalars: &[OperatorScalar],
    rng: &mut Rng,
) -> Result<Vec<(OperatorScalar, ParamId)>> {
    let mut add = |scalar: &OperatorScalar| {
        let group = if scalar.exponent {
            Group::Exponent
        } else {
            Group::Scalar
        };
        let name = format!("{prefix}.{}", scalar.name);
        Ok((
            scalar.clone(),
            params.add(name, &[1], Init::Constant(scalar.start), group, rng)?,
        ))
    };
    scalars.iter().map(&mut add).collect()
}

/// Scalars by name with their values.
#[doc(hidden)]
pub fn scalar_values(
    params: &Params,
    scalars: &[(OperatorScalar, ParamId)],
) -> Result<Vec<(String, f64)>> {
    let value =
        |id: ParamId| Ok::<f32, gnarl_tensor::Error>(params.get(id).var.to_vec1::<f32>()?[0]);
    scalars
        .iter()
        .map(|(scalar, id)| Ok((scalar.name.clone(), f64::from(value(*id)?))))
        .collect()
}

/// Dropout of features; of sparse ones the stored values are dropped, which is the same thing.
#[doc(hidden)]
pub fn drop_input(x: &Input, rate: f64, pass: &Pass<'_>) -> Result<Input> {
    let mask = pass.dropout(rate as f32, INPUT_SITE);
    if mask.rate == 0.0 {
        return Ok(x.clone());
    }
    Ok(match x {
        Input::Dense(x) => Input::Dense(dropout(x, mask)?),
        Input::Sparse(x) => Input::Sparse(drop_values(x, mask)?),
    })
}

fn drop_values(x: &Operator, mask: gnarl_tensor::Dropout) -> Result<Operator> {
    x.with_values(&dropout(&x.values()?, mask)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::testing::{adjacency, path, plant};
    use crate::networks::{Backbone, Capability, NetworkSetting};
    use crate::weights::WeightsChoice;
    use gnarl_tensor::{DType, Device};

    /// Three identities with dropout 0.5 between them: the surviving entries of a matrix of ones
    /// show the masks.
    fn identities(input_dropout: f64) -> Network {
        let config = NetworkConfig {
            layers: 3,
            hidden: 40,
            input_dropout,
            ..NetworkConfig::new(Backbone::MLP)
        };
        let network = Network::new(&config, &Shape::new(40, 40, 0.0), 1).unwrap();
        let identity: Vec<f32> = (0..1600)
            .map(|i| if i % 41 == 0 { 1.0 } else { 0.0 })
            .collect();
        (0..3).for_each(|i| plant(network.params(), &format!("layers.{i}.weight"), &identity));
        network
    }

    fn left(network: &Network, key: u64) -> Vec<bool> {
        let x = Input::Dense(Tensor::ones((200, 40), DType::F32, &Device::Cpu).unwrap());
        let weights = network.params().weights().unwrap();
        let y = network
            .forward(
                &adjacency(&path()).into(),
                &x,
                &Pass::training(&weights, key),
            )
            .unwrap();
        y.flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap()
            .iter()
            .map(|&v| v > 0.0)
            .collect()
    }

    /// The share of `true` is that of independent masks: 6 standard deviations of 8,000 samples are
    /// below 0.034.
    fn assert_share(left: impl Iterator<Item = bool>, expected: f64, what: &str) {
        let share = left.filter(|&l| l).count() as f64 / 8000.0;
        assert!(
            (share - expected).abs() < 0.034,
            "{what}: {share}, not {expected}"
        );
    }

    #[test]
    fn dropout_differs_between_layers_and_between_steps() {
        let (plain, with_input) = (identities(0.0), identities(0.5));
        let (one, other) = (left(&plain, 1), left(&plain, 2));
        assert_share(one.iter().copied(), 0.25, "two layers");
        assert_share(
            left(&with_input, 1).into_iter(),
            0.125,
            "the input and two layers",
        );
        assert_share(
            one.iter().zip(&other).map(|(a, b)| *a && *b),
            0.0625,
            "two steps",
        );
        assert_eq!(one, left(&plain, 1), "the same step again");
    }

    /// The weights axis for every backbone: a pass uses orthonormal maps, projected once and not
    /// once per use, and gradients reach the weights before the projection.
    #[test]
    fn every_backbone_can_have_orthonormal_weights() {
        let propagation = Propagation {
            two_hop: Some(crate::networks::layer::two_hop_operator(&path()).unwrap()),
            ..adjacency(&path()).into()
        };
        let x = Input::Dense(gnarl_tensor::testing::random(&[3, 6], 2));
        for (name, backbone) in Backbone::named() {
            let weights = WeightsChoice::Orthonormal(crate::weights::Orthonormal::default());
            let config = NetworkConfig {
                hidden: 4,
                weights,
                ..NetworkConfig::new(backbone.where_taken("heads", 2))
            };
            let network = Network::new(&config, &Shape::new(6, 3, 1.0), 1).unwrap();
            let weights = network.params().weights().unwrap();
            let scores = network
                .forward(&propagation, &x, &Pass::training(&weights, 1))
                .unwrap();
            let grads = scores.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            let mut constrained = 0;
            for (id, seen) in weights
                .iter()
                .filter(|(id, _)| network.params().get(*id).group == Group::Weight)
            {
                let off = crate::weights::departure(seen).unwrap();
                assert!(
                    off < 1e-3,
                    "{name}: {} is off by {off}",
                    network.params().get(id).name
                );
                assert!(
                    grads.get(&network.params().get(id).var).is_some(),
                    "{name}: no gradient"
                );
                constrained += 1;
            }
            assert!(constrained > 0, "{name} has nothing to constrain");
        }
    }

    #[test]
    fn a_head_reads_classes_off_hidden_representations() {
        let config = NetworkConfig {
            hidden: 2,
            layers: 1,
            head: true,
            bias: false,
            ..NetworkConfig::new(Backbone::GCN)
        };
        let network = Network::new(&config, &Shape::new(1, 1, 0.0), 1).unwrap();
        plant(network.params(), "layers.0.weight", &[1.0, -1.0]);
        plant(network.params(), "output.weight", &[2.0, 3.0]);
        plant(network.params(), "output.bias", &[0.5]);
        let x = Input::Dense(Tensor::new(&[[1f32], [-2.0], [4.0]], &Device::Cpu).unwrap());
        let weights = network.params().weights().unwrap();
        let y = network
            .forward(&adjacency(&path()).into(), &x, &Pass::evaluation(&weights))
            .unwrap();
        // Aggregates -2, 5, -2; relu of them and of their negatives: 2 · a above zero, 3 · |a|
        // below.
        assert_eq!(
            y.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
            [6.5, 10.5, 6.5]
        );
        for (config, what) in [
            (
                NetworkConfig {
                    head: true,
                    ..NetworkConfig::new(Backbone::SGC)
                },
                "and the model is sgc",
            ),
            (
                NetworkConfig {
                    bias: false,
                    ..NetworkConfig::new(Backbone::GAT)
                },
                "belongs to gcn, gin and soft-median",
            ),
            (
                NetworkConfig {
                    noise: f64::NAN,
                    ..NetworkConfig::new(Backbone::GCN)
                },
                "noise must be >= 0 (got NaN)",
            ),
        ] {
            let e = config.check().unwrap_err().to_string();
            assert!(e.contains(what), "{e}");
        }
    }

    /// On a path of three, features 1, -2, 4: the first layer's sums of neighbours are -2, 5, -2,
    /// and ReLU leaves the five.
    #[test]
    fn latent_vectors_are_the_last_hidden_layer() {
        let config = NetworkConfig {
            hidden: 1,
            bias: false,
            ..NetworkConfig::new(Backbone::GCN)
        };
        let network = Network::new(&config, &Shape::new(1, 2, 0.0), 1).unwrap();
        plant(network.params(), "layers.0.weight", &[1.0]);
        let x = Input::Dense(Tensor::new(&[[1f32], [-2.0], [4.0]], &Device::Cpu).unwrap());
        let hidden = network
            .hidden(&adjacency(&path()).into(), &x)
            .unwrap()
            .unwrap();
        assert_eq!(
            hidden.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
            [0.0, 5.0, 0.0]
        );
        let one = NetworkConfig {
            layers: 1,
            ..config
        };
        let network = Network::new(&one, &Shape::new(1, 2, 0.0), 1).unwrap();
        assert!(
            network
                .hidden(&adjacency(&path()).into(), &x)
                .unwrap()
                .is_none(),
            "one layer gives scores"
        );
    }

    #[test]
    fn noise_is_for_training_alone() {
        let config = NetworkConfig {
            noise: 0.5,
            dropout: 0.0,
            ..NetworkConfig::new(Backbone::GCN)
        };
        let network = Network::new(&config, &Shape::new(1, 2, 0.0), 1).unwrap();
        let weights = network.params().weights().unwrap();
        let x = Input::Dense(Tensor::new(&[[1f32], [-2.0], [4.0]], &Device::Cpu).unwrap());
        let scores = |pass: &Pass<'_>| {
            let y = network
                .forward(&adjacency(&path()).into(), &x, pass)
                .unwrap();
            y.flatten_all().unwrap().to_vec1::<f32>().unwrap()
        };
        assert_ne!(
            scores(&Pass::training(&weights, 1)),
            scores(&Pass::training(&weights, 2))
        );
        assert_eq!(
            scores(&Pass::training(&weights, 1)),
            scores(&Pass::training(&weights, 1))
        );
        assert_eq!(
            scores(&Pass::evaluation(&weights)),
            scores(&Pass::evaluation(&weights))
        );
    }

    /// Counted sizes equal actual sizes, for every backbone, and counting allocates nothing even
    /// for huge networks.
    #[test]
    fn sizes_are_known_before_anything_is_made() {
        for (name, backbone) in Backbone::named() {
            let config = NetworkConfig {
                hidden: 8,
                layers: 3,
                ..NetworkConfig::new(backbone.where_taken("heads", 2))
            };
            let shape = Shape::new(6, 3, 1.0);
            let network = Network::encoder(&config, &shape, 1).unwrap();
            let there: usize = network
                .params()
                .list()
                .iter()
                .map(|p| p.var.elem_count())
                .sum();
            assert_eq!(
                Network::size(&config, &shape).unwrap(),
                there as f64,
                "{name}"
            );
        }
        let wide = NetworkConfig {
            hidden: 1_000_000,
            layers: 3,
            ..NetworkConfig::new(Backbone::GCN)
        };
        let size = Network::size(&wide, &Shape::new(1_000_000, 1_000_000, 1.0)).unwrap();
        assert_eq!(
            size,
            3e12 + 3e6,
            "three matrices of a million by a million, and their offsets"
        );
    }

    /// Network with one shared setting at another value.
    fn changed(backbone: Backbone, setting: NetworkSetting) -> NetworkConfig {
        let mut config = plain(backbone);
        match setting {
            NetworkSetting::Hidden => config.hidden = 6,
            NetworkSetting::Layers => config.layers = 3,
            NetworkSetting::Dropout => config.dropout = 0.1,
            NetworkSetting::InputDropout => config.input_dropout = 0.5,
            NetworkSetting::Bias => config.bias = false,
            NetworkSetting::Head => config.head = true,
            NetworkSetting::OrthogonalStart => config.orthogonal_start = true,
            NetworkSetting::Noise => config.noise = 0.5,
            NetworkSetting::Gain => config.gain = true,
            NetworkSetting::Readout => config.readout = crate::networks::Readout::Sum,
            NetworkSetting::HeadDropout => config.head_dropout = 0.1,
        }
        config
    }

    fn plain(backbone: Backbone) -> NetworkConfig {
        NetworkConfig {
            hidden: 4,
            ..NetworkConfig::new(backbone.where_taken("heads", 1))
        }
    }

    /// Returns true if the two networks differ in training.
    fn differ(plain: &NetworkConfig, changed: &NetworkConfig) -> bool {
        let graph = gnarl_graph::generate::erdos_renyi(30, 0.15, 3).unwrap();
        let propagation = Propagation {
            two_hop: Some(crate::networks::layer::two_hop_operator(&graph).unwrap()),
            ..adjacency(&graph).into()
        };
        let x = Input::Dense(gnarl_tensor::testing::random(&[30, 5], 2));
        let seen = |config: &NetworkConfig| {
            // A network that cannot be built does not take the option.
            let network = Network::new(config, &Shape::new(5, 3, 1.0), 1).ok()?;
            let weights = network.params().weights().unwrap();
            let y = network
                .forward(&propagation, &x, &Pass::training(&weights, 7))
                .unwrap();
            let values = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let params = network
                .params()
                .list()
                .iter()
                .map(|p| (p.name.clone(), values(p.var.as_tensor())));
            Some((values(&y), network.reach(), params.collect::<Vec<_>>()))
        };
        let plain = seen(plain).expect("the usual settings can be built");
        seen(changed).is_some_and(|changed| changed != plain)
    }

    #[test]
    fn shared_settings_make_a_difference_exactly_where_they_are_listed() {
        // The readout and its dropout belong to classifiers of graphs.
        let of_nodes = |s: &&NetworkSetting| {
            !matches!(s, NetworkSetting::Readout | NetworkSetting::HeadDropout)
        };
        for (name, backbone) in Backbone::named() {
            for setting in NetworkSetting::ALL.iter().copied().filter(|s| of_nodes(&s)) {
                let differs = differ(&plain(backbone), &changed(backbone, setting));
                assert_eq!(differs, backbone.takes(setting), "{setting} of {name}");
            }
        }
    }

    #[test]
    fn every_setting_of_a_network_makes_a_difference() {
        use gnarl_graph::settings::Kind;
        for (name, backbone) in Backbone::named() {
            let plain = plain(backbone);
            for setting in backbone.info().settings {
                let value = match setting.kind {
                    Kind::Count => "2",
                    Kind::Real => "0.7",
                    Kind::Switch => "true",
                    Kind::Name(_) | Kind::Text(_) => panic!("{}: another value?", setting.name),
                };
                let given = [(setting.name.to_string(), value.to_string())];
                let changed = NetworkConfig {
                    backbone: plain.backbone.with(&given).unwrap(),
                    ..plain.clone()
                };
                assert!(differ(&plain, &changed), "{} of {name}", setting.name);
            }
        }
    }

    #[test]
    fn the_operator_makes_a_difference_exactly_where_it_is_used() {
        let x = Input::Dense(gnarl_tensor::testing::random(&[3, 5], 2));
        for (name, backbone) in Backbone::named() {
            let config = NetworkConfig {
                hidden: 4,
                ..NetworkConfig::new(backbone.where_taken("heads", 2))
            };
            let network = Network::new(&config, &Shape::new(5, 3, 1.0), 1).unwrap();
            let weights = network.params().weights().unwrap();
            let scores = |graph: gnarl_graph::Graph| {
                let two_hop = Some(crate::networks::layer::two_hop_operator(&graph).unwrap());
                let propagation = Propagation {
                    two_hop,
                    ..adjacency(&graph).into()
                };
                let y = network
                    .forward(&propagation, &x, &Pass::evaluation(&weights))
                    .unwrap();
                y.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            };
            let differs =
                scores(path()) != scores(gnarl_graph::Graph::from_edges(3, [(0, 2)]).unwrap().0);
            assert_eq!(
                differs,
                backbone.provides(Capability::MessagePassing),
                "{name}"
            );
        }
    }

    #[test]
    fn reach_and_learners_are_those_of_the_entry() {
        for (name, backbone) in Backbone::named() {
            let network =
                Network::new(&NetworkConfig::new(backbone), &Shape::new(5, 3, 1.0), 1).unwrap();
            assert_eq!(
                network.num_learners() > 0,
                !backbone.provides(Capability::JointTraining),
                "{name}"
            );
            let expected = if backbone.provides(Capability::MessagePassing) {
                2
            } else {
                0
            };
            assert!(
                network.reach().is_none_or(|reach| reach == expected),
                "{name}"
            );
        }
        let normed =
            |backbone: Backbone| NetworkConfig::new(backbone.where_taken("batch-norm", true));
        let reach = |config: &NetworkConfig| {
            Network::new(config, &Shape::new(5, 3, 1.0), 1)
                .unwrap()
                .reach()
        };
        assert_eq!(reach(&normed(Backbone::GCN)), Some(2));
        assert_eq!(reach(&normed(Backbone::GIN)), None);
    }
}
