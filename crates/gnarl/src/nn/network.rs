//! Whole networks: from features to class scores.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use candle_core::{Result, Tensor};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::{Rng, stream};
use serde::{Deserialize, Serialize};

use super::gat::{AttentionSettings, Gat};
use super::gatv2::GatV2;
use super::gcn::Gcn;
use super::gin::{Gin, GinSettings};
use super::init::Init;
use super::layer::{Layer, OperatorScalar, Propagation};
use super::linear::{Input, Linear};
use super::mlp::Deaf;
use super::params::{Group, ParamId, Params, Pass};
use super::pna::Pna;
use super::sage::Sage;
use crate::tensor::{Operator, dropout, relu_dropout};

/// The kinds of network, by the layer they are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backbone {
    /// Graph convolutions (Kipf and Welling 2017).
    Gcn,
    /// Graph attention (Veličković et al. 2018).
    Gat,
    /// Graph attention with dynamic ranking (Brody et al. 2022).
    GatV2,
    /// Graph isomorphism network (Xu et al. 2019).
    Gin,
    /// GraphSAGE with mean aggregation (Hamilton et al. 2017).
    Sage,
    /// Simple graph convolution (Wu et al. 2019).
    Sgc,
    /// Predict, then propagate (Gasteiger et al. 2019).
    Appnp,
    /// Principal neighbourhood aggregation (Corso et al. 2020).
    Pna,
    /// Heterophily-aware GCN (Zhu et al. 2020).
    H2gcn,
    /// Features alone.
    Mlp,
}

impl Backbone {
    /// Every backbone with its name: the one list that names, help and tests come from.
    pub const ALL: [(&'static str, Backbone); 10] = [
        ("gcn", Backbone::Gcn),
        ("gat", Backbone::Gat),
        ("gatv2", Backbone::GatV2),
        ("gin", Backbone::Gin),
        ("sage", Backbone::Sage),
        ("sgc", Backbone::Sgc),
        ("appnp", Backbone::Appnp),
        ("pna", Backbone::Pna),
        ("h2gcn", Backbone::H2gcn),
        ("mlp", Backbone::Mlp),
    ];

    /// The operator its paper uses.
    pub fn usual_operator(self) -> UsualOperator {
        match self {
            Backbone::Gcn | Backbone::Sgc | Backbone::Appnp => {
                UsualOperator::Classical(ClassicalOperator::NormalisedAdjacency)
            }
            Backbone::Gat | Backbone::GatV2 => UsualOperator::SelfLoopPattern,
            Backbone::Gin | Backbone::Pna => UsualOperator::Classical(ClassicalOperator::Adjacency),
            Backbone::Sage => UsualOperator::Classical(ClassicalOperator::MeanAggregation),
            Backbone::H2gcn => UsualOperator::SymmetricNormalised,
            Backbone::Mlp => UsualOperator::Classical(ClassicalOperator::Adjacency),
        }
    }
}

/// What a backbone hears through when nothing else is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsualOperator {
    /// A classical operator.
    Classical(ClassicalOperator),
    /// The pattern of A + I with value one: attention fills in the weights.
    SelfLoopPattern,
    /// `D^-1/2 A D^-1/2`, and the two-hop operator beside it.
    SymmetricNormalised,
}

impl fmt::Display for Backbone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, b)| b == self).map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Backbone {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found
            .map(|(_, b)| *b)
            .ok_or_else(|| gnarl_graph::Error::unknown("model", name, Self::ALL.iter().map(|(n, _)| *n)))
    }
}

/// Everything that fixes a network's shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// The layer it is made of.
    pub backbone: Backbone,
    /// Width of hidden representations (per head, for attention with several heads side by side: the total).
    pub hidden: usize,
    /// Rounds of message passing.
    pub layers: usize,
    /// Dropout between layers.
    pub dropout: f32,
    /// Dropout of the input features.
    pub input_dropout: f32,
    /// Attention heads of hidden layers.
    pub heads: usize,
    /// Dropout of attention coefficients.
    pub attention_dropout: f32,
    /// Batch normalisation inside GIN's perceptrons.
    pub batch_norm: bool,
    /// APPNP: steps of propagation and the share of the prediction kept at each.
    pub appnp_steps: usize,
    /// APPNP: the teleport probability.
    pub appnp_alpha: f64,
    /// The scalars of a learnable operator; none for a fixed one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator_scalars: Vec<OperatorScalar>,
}

impl NetworkConfig {
    /// Two layers of 64 with dropout 0.5; APPNP's ten steps and 0.1 are its paper's.
    pub fn new(backbone: Backbone) -> Self {
        let attention = matches!(backbone, Backbone::Gat | Backbone::GatV2);
        Self {
            backbone,
            hidden: 64,
            layers: 2,
            dropout: 0.5,
            input_dropout: 0.0,
            heads: if attention { 8 } else { 1 },
            attention_dropout: 0.0,
            batch_norm: false,
            appnp_steps: 10,
            appnp_alpha: 0.1,
            operator_scalars: Vec::new(),
        }
    }

    /// Refuses what cannot be built, naming the setting and its range.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        let refuse = |what: String| Err(gnarl_graph::Error::argument("model", what));
        if self.hidden == 0 {
            return refuse("hidden must be at least 1".into());
        }
        if self.layers == 0 && self.backbone != Backbone::Mlp {
            return refuse(format!("layers must be at least 1 for {}", self.backbone));
        }
        for (name, rate) in [
            ("dropout", self.dropout),
            ("input dropout", self.input_dropout),
            ("attention dropout", self.attention_dropout),
        ] {
            if !(0.0..1.0).contains(&rate) {
                return refuse(format!("{name} {rate} must be at least 0 and below 1"));
            }
        }
        if self.heads == 0 || !self.hidden.is_multiple_of(self.heads) {
            return refuse(format!("{} heads must divide the hidden width {}", self.heads, self.hidden));
        }
        if !(0.0..=1.0).contains(&self.appnp_alpha) {
            return refuse(format!("appnp alpha {} must lie in 0 to 1", self.appnp_alpha));
        }
        Ok(())
    }
}

/// A network: parameters and the way through them.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    in_dim: usize,
    num_classes: usize,
    params: Params,
    body: Body,
    /// One for each of the configuration's operator scalars.
    scalars: Vec<ParamId>,
}

#[derive(Debug)]
enum Body {
    /// Layer, ReLU, dropout, layer, …; an MLP of depth 0 is one linear map.
    Stack(Vec<Box<dyn Layer>>),
    /// `Φ^layers X W + b`.
    Sgc(Linear),
    /// A two-layer perceptron, then personalised propagation.
    Appnp(Linear, Linear),
    /// An embedding, rounds over one and two hops, everything side by side, then a linear map.
    H2gcn { embed: Linear, classify: Linear, rounds: usize },
    /// A linear embedding, then PNA layers.
    Embedded(Linear, Vec<Box<dyn Layer>>),
}

/// Sites of dropout that are not a layer's own.
const INPUT_SITE: u64 = 1 << 32;
const ATTENTION_SITES: u64 = 2 << 32;
const EMBEDDING_SITE: u64 = 3 << 32;

impl Network {
    /// Builds the network with parameters drawn from the seed. `mean_log_degree` is for PNA (see its file).
    pub fn new(
        config: &NetworkConfig,
        in_dim: usize,
        num_classes: usize,
        mean_log_degree: f64,
        seed: u64,
    ) -> crate::Result<Self> {
        config.check()?;
        let mut params = Params::default();
        let rng = &mut stream(seed, "network", 0);
        let body = Self::build(config, in_dim, num_classes, mean_log_degree, &mut params, rng)?;
        // Constants draw nothing: the other weights start as they do without a learnable operator.
        let scalar = |s: &OperatorScalar| {
            let group = if s.exponent { Group::Exponent } else { Group::Scalar };
            params.add(format!("operator.{}", s.name), &[1], Init::Constant(s.start), group, rng)
        };
        let scalars = config.operator_scalars.iter().map(scalar).collect::<Result<_>>()?;
        Ok(Self { config: config.clone(), in_dim, num_classes, params, body, scalars })
    }

    fn build(
        config: &NetworkConfig,
        in_dim: usize,
        num_classes: usize,
        mean_log_degree: f64,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Body> {
        let NetworkConfig { backbone, hidden, layers, .. } = *config;
        let mut stack = |params: &mut Params, from: usize, count: usize| -> Result<Vec<Box<dyn Layer>>> {
            (0..count)
                .map(|i| {
                    let last = i + 1 == count;
                    let (from, to) = (if i == 0 { from } else { hidden }, if last { num_classes } else { hidden });
                    let name = format!("layers.{i}");
                    let place = Place { name: &name, site: i as u64, from, to, is_last: last };
                    layer(config, place, mean_log_degree, params, rng)
                })
                .collect()
        };
        Ok(match backbone {
            Backbone::Sgc => Body::Sgc(Linear::glorot(params, "linear", in_dim, num_classes, true, rng)?),
            Backbone::Appnp => Body::Appnp(
                Linear::kaiming(params, "mlp.0", in_dim, hidden, true, rng)?,
                Linear::kaiming(params, "mlp.1", hidden, num_classes, true, rng)?,
            ),
            Backbone::H2gcn => {
                let width = hidden * ((1usize << (layers + 1)) - 1);
                Body::H2gcn {
                    embed: Linear::glorot(params, "embed", in_dim, hidden, false, rng)?,
                    classify: Linear::glorot(params, "classify", width, num_classes, false, rng)?,
                    rounds: layers,
                }
            }
            Backbone::Pna => {
                let layers = stack(params, hidden, layers)?;
                Body::Embedded(Linear::kaiming(params, "embed", in_dim, hidden, true, rng)?, layers)
            }
            Backbone::Mlp => Body::Stack(stack(params, in_dim, layers.max(1))?),
            _ => Body::Stack(stack(params, in_dim, layers)?),
        })
    }

    /// Its settings.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Number of input features.
    pub fn in_dim(&self) -> usize {
        self.in_dim
    }

    /// Number of classes.
    pub fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// How many rounds away a node can be and still matter to a node's scores while training; `None` where every node may
    /// (batch statistics, long propagation).
    pub fn reach(&self) -> Option<usize> {
        match &self.body {
            _ if self.config.batch_norm => None,
            Body::Stack(_) if self.config.backbone == Backbone::Mlp => Some(0),
            Body::Stack(layers) | Body::Embedded(_, layers) => Some(layers.len()),
            Body::Sgc(_) => Some(self.config.layers),
            Body::Appnp(..) | Body::H2gcn { .. } => None,
        }
    }

    /// The scalars of its learnable operator with their values, none for a fixed one.
    pub fn operator_scalars(&self) -> Result<Vec<(String, f64)>> {
        let value = |id: ParamId| Ok::<f32, candle_core::Error>(self.params.get(id).var.to_vec1::<f32>()?[0]);
        let named = self.config.operator_scalars.iter().zip(&self.scalars);
        named.map(|(scalar, id)| Ok((scalar.name.clone(), f64::from(value(*id)?)))).collect()
    }

    /// What nodes hear in this pass: as given, or with the operator that the network's scalars make.
    pub fn propagation<'a>(&self, hear: &'a Propagation, pass: &Pass<'_>) -> Result<Cow<'a, Propagation>> {
        match &hear.learnable {
            None if self.scalars.is_empty() => Ok(Cow::Borrowed(hear)),
            Some(learnable) if !self.scalars.is_empty() => {
                let scalars: Vec<&Tensor> = self.scalars.iter().map(|id| pass.weight(*id)).collect();
                let rounds = learnable.operators(&scalars)?;
                let Some(operator) = rounds.first().cloned() else {
                    candle_core::bail!("a learned operator of no round")
                };
                Ok(Cow::Owned(Propagation { operator, two_hop: hear.two_hop.clone(), learnable: None, rounds }))
            }
            Some(_) => candle_core::bail!("the operator is learned, but the network has no scalars for it"),
            None => candle_core::bail!("the network has scalars of an operator, but the operator is not learned"),
        }
    }

    /// Class scores before the softmax, `[nodes, num_classes]`.
    pub fn forward(&self, hear: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let hear = &*self.propagation(hear, pass)?;
        let x = &drop_input(x, self.config.input_dropout, pass)?;
        match &self.body {
            Body::Stack(layers) => self.run_stack(layers, hear, x.clone(), pass),
            Body::Embedded(embed, layers) => {
                let h = relu_dropout(&embed.forward(x, pass)?, pass.dropout(self.config.dropout, EMBEDDING_SITE))?;
                self.run_stack(layers, hear, Input::Dense(h), pass)
            }
            Body::Sgc(linear) => {
                // Φ^K (X W) + b: the linear map first, since it is the narrower side.
                let mut h = x.matmul(pass.weight(linear.weight), None)?;
                for step in 0..self.config.layers {
                    let bias = linear.bias.filter(|_| step + 1 == self.config.layers).map(|b| pass.weight(b));
                    h = hear.round(step).apply_with_bias(&h, bias)?;
                }
                Ok(h)
            }
            Body::Appnp(first, second) => {
                let h = relu_dropout(&first.forward(x, pass)?, pass.dropout(self.config.dropout, 0))?;
                let predicted = second.forward(&Input::Dense(h), pass)?;
                let kept = (&predicted * self.config.appnp_alpha)?;
                let mut h = predicted;
                for _ in 0..self.config.appnp_steps {
                    h = ((hear.operator.apply(&h)? * (1.0 - self.config.appnp_alpha))? + &kept)?;
                }
                Ok(h)
            }
            Body::H2gcn { embed, classify, rounds } => {
                let Some(two_hop) = &hear.two_hop else { candle_core::bail!("h2gcn needs the two-hop operator") };
                let mut last = embed.forward(x, pass)?.relu()?;
                let mut all = vec![last.clone()];
                for _ in 0..*rounds {
                    last = Tensor::cat(&[hear.operator.apply(&last)?, two_hop.apply(&last)?], 1)?;
                    all.push(last.clone());
                }
                let all = dropout(&Tensor::cat(&all, 1)?, pass.dropout(self.config.dropout, 0))?;
                classify.forward(&Input::Dense(all), pass)
            }
        }
    }

    fn run_stack(
        &self,
        layers: &[Box<dyn Layer>],
        hear: &Propagation,
        mut x: Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        for (i, layer) in layers.iter().enumerate() {
            if i + 1 == layers.len() {
                return layer.forward(hear.round(i), &x, pass);
            }
            let dropout = pass.dropout(self.config.dropout, i as u64);
            x = Input::Dense(layer.forward_activated(hear.round(i), &x, pass, dropout)?);
        }
        candle_core::bail!("a network has at least one layer")
    }
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
    let gin = GinSettings { train_epsilon: false, batch_norm: config.batch_norm };
    Ok(match config.backbone {
        Backbone::Gat => Box::new(Gat::new(params, name, from, dim, attention, rng)?),
        Backbone::GatV2 => Box::new(GatV2::new(params, name, from, dim, attention, rng)?),
        Backbone::Gin => Box::new(Gin::new(params, name, from, config.hidden, to, gin, rng)?),
        Backbone::Sage => Box::new(Sage::new(params, name, from, to, rng)?),
        Backbone::Pna => Box::new(Pna::new(params, name, from, to, mean_log_degree, rng)?),
        Backbone::Mlp => Box::new(Deaf::new(params, name, from, to, rng)?),
        _ => Box::new(Gcn::new(params, name, from, to, rng)?),
    })
}

/// Dropout of features; of sparse ones the stored values are dropped, which is the same thing.
pub(crate) fn drop_input(x: &Input, rate: f32, pass: &Pass<'_>) -> Result<Input> {
    let draw = pass.dropout(rate, INPUT_SITE);
    if draw.rate == 0.0 {
        return Ok(x.clone());
    }
    Ok(match x {
        Input::Dense(x) => Input::Dense(dropout(x, draw)?),
        Input::Sparse(x) => Input::Sparse(drop_values(x, draw)?),
    })
}

fn drop_values(x: &Operator, draw: crate::tensor::Dropout) -> Result<Operator> {
    x.with_values(&dropout(&x.values()?, draw)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::{adjacency, path, plant};
    use candle_core::{DType, Device};

    /// Three identities with dropout 0.5 between them: what is left of a matrix of ones shows the masks.
    fn identities(input_dropout: f32) -> Network {
        let config = NetworkConfig { layers: 3, hidden: 40, input_dropout, ..NetworkConfig::new(Backbone::Mlp) };
        let network = Network::new(&config, 40, 40, 0.0, 1).unwrap();
        let identity: Vec<f32> = (0..1600).map(|i| if i % 41 == 0 { 1.0 } else { 0.0 }).collect();
        (0..3).for_each(|i| plant(network.params(), &format!("layers.{i}.weight"), &identity));
        network
    }

    fn left(network: &Network, key: u64) -> Vec<bool> {
        let x = Input::Dense(Tensor::ones((200, 40), DType::F32, &Device::Cpu).unwrap());
        let weights = network.params().weights();
        let y = network.forward(&adjacency(&path()).into(), &x, &Pass::training(&weights, key)).unwrap();
        y.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().map(|&v| v > 0.0).collect()
    }

    /// The share of `true` is that of independent masks: 6 standard deviations of 8,000 draws are below 0.034.
    fn assert_share(left: impl Iterator<Item = bool>, expected: f64, what: &str) {
        let share = left.filter(|&l| l).count() as f64 / 8000.0;
        assert!((share - expected).abs() < 0.034, "{what}: {share}, not {expected}");
    }

    #[test]
    fn dropout_differs_between_layers_and_between_steps() {
        let (plain, with_input) = (identities(0.0), identities(0.5));
        let (one, other) = (left(&plain, 1), left(&plain, 2));
        assert_share(one.iter().copied(), 0.25, "two layers");
        assert_share(left(&with_input, 1).into_iter(), 0.125, "the input and two layers");
        assert_share(one.iter().zip(&other).map(|(a, b)| *a && *b), 0.0625, "two steps");
        assert_eq!(one, left(&plain, 1), "the same step again");
    }

    #[test]
    fn names_are_read_back() {
        for (name, backbone) in Backbone::ALL {
            assert_eq!(name.to_uppercase().parse::<Backbone>().unwrap(), backbone);
            assert_eq!(backbone.to_string(), name);
        }
        let e = "gcm".parse::<Backbone>().unwrap_err().to_string();
        assert!(e.contains("gcm") && e.contains("gcn"), "{e}");
    }
}
