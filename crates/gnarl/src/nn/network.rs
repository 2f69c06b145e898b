//! Whole networks: from features to class scores.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use candle_core::{Result, Tensor};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::stream;
use serde::{Deserialize, Serialize};

use super::bodies::{Body, Build, INPUT_SITE, Plan, appnp, boosted, gcnii, gpr, h2gcn, jumping, rgcn, sgc, stack};
use super::init::Init;
use super::layer::{OperatorScalar, Propagation};
use super::linear::Input;
use super::params::{Group, ParamId, Params, Pass};
use crate::tensor::{Operator, dropout};
use crate::weights::WeightsChoice;

/// The kinds of network, by the layer they are made of or by how they combine layers. Stored by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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
    /// Jumping knowledge (Xu et al. 2018) over GCN layers: all representations side by side.
    JkCat,
    /// Jumping knowledge over GCN layers: the largest of each entry.
    JkMax,
    /// Jumping knowledge over GCN layers: LSTM attention.
    JkLstm,
    /// Jumping knowledge over GIN layers: all representations side by side.
    JkCatGin,
    /// Jumping knowledge over GIN layers: the largest of each entry.
    JkMaxGin,
    /// Jumping knowledge over GIN layers: LSTM attention.
    JkLstmGin,
    /// Initial residual and identity mapping (Chen et al. 2020).
    Gcnii,
    /// Generalised PageRank with learned weights (Chien et al. 2021).
    GprGnn,
    /// Learned weights over GIN layers.
    GprGin,
    /// Gaussian representations that hear less from uncertain neighbours (Zhu et al. 2019, RGCN).
    Rgcn,
    /// AdaBoost over depths (Sun et al. 2021).
    AdaGcn,
}

/// What there is to know about a backbone: adding one is a variant above and an entry below.
#[derive(Debug)]
struct Entry {
    backbone: Backbone,
    name: &'static str,
    /// The operator its paper uses.
    usual: UsualOperator,
    build: Build,
    /// Whether it is layer after layer.
    stacked: bool,
    /// Whether it can have no layers.
    from_zero: bool,
    /// Why there is nothing for a learned operator to learn, if so.
    fixed_operator: Option<&'static str>,
}

const A: UsualOperator = UsualOperator::Classical(ClassicalOperator::Adjacency);
const A_HAT: UsualOperator = UsualOperator::Classical(ClassicalOperator::NormalisedAdjacency);
const H: UsualOperator = UsualOperator::Classical(ClassicalOperator::MeanAggregation);
const LOOPS: UsualOperator = UsualOperator::SelfLoopPattern;
const SYMMETRIC: UsualOperator = UsualOperator::SymmetricNormalised;
const DEAF: &str = "does not use an operator's values: there is nothing for cgso to learn";
const ONE_BY_ONE: &str = "trains one learner after the other: an operator that cgso goes on learning would change under those already trained";

const fn entry(backbone: Backbone, name: &'static str, usual: UsualOperator, build: Build) -> Entry {
    Entry { backbone, name, usual, build, stacked: false, from_zero: false, fixed_operator: None }
}

/// One that is layer after layer.
const fn stacked(backbone: Backbone, name: &'static str, usual: UsualOperator) -> Entry {
    Entry { stacked: true, ..entry(backbone, name, usual, stack::build) }
}

impl Entry {
    /// May have no layers.
    const fn or_none(self) -> Self {
        Self { from_zero: true, ..self }
    }

    /// Refuses learned operators.
    const fn fixed(self, why: &'static str) -> Self {
        Self { fixed_operator: Some(why), ..self }
    }
}

/// Every backbone: the one list that names, help, networks and tests come from.
const ENTRIES: [Entry; 21] = [
    stacked(Backbone::Gcn, "gcn", A_HAT),
    stacked(Backbone::Gat, "gat", LOOPS),
    stacked(Backbone::GatV2, "gatv2", LOOPS),
    stacked(Backbone::Gin, "gin", A),
    stacked(Backbone::Sage, "sage", H),
    entry(Backbone::Sgc, "sgc", A_HAT, sgc::build),
    entry(Backbone::Appnp, "appnp", A_HAT, appnp::build),
    stacked(Backbone::Pna, "pna", A).fixed(DEAF),
    entry(Backbone::H2gcn, "h2gcn", SYMMETRIC, h2gcn::build),
    stacked(Backbone::Mlp, "mlp", A).or_none().fixed(DEAF),
    entry(Backbone::JkCat, "jk-cat", A_HAT, jumping::build).or_none(),
    entry(Backbone::JkMax, "jk-max", A_HAT, jumping::build).or_none(),
    entry(Backbone::JkLstm, "jk-lstm", A_HAT, jumping::build).or_none(),
    entry(Backbone::JkCatGin, "jk-cat-gin", A, jumping::build).or_none(),
    entry(Backbone::JkMaxGin, "jk-max-gin", A, jumping::build).or_none(),
    entry(Backbone::JkLstmGin, "jk-lstm-gin", A, jumping::build).or_none(),
    entry(Backbone::Gcnii, "gcnii", A_HAT, gcnii::build).or_none(),
    entry(Backbone::GprGnn, "gpr-gnn", A_HAT, gpr::build).or_none(),
    entry(Backbone::GprGin, "gpr-gin", A, gpr::build).or_none(),
    entry(Backbone::Rgcn, "rgcn", A_HAT, rgcn::build),
    entry(Backbone::AdaGcn, "adagcn", A_HAT, boosted::build).or_none().fixed(ONE_BY_ONE),
];

impl Backbone {
    /// Every backbone with its name.
    pub const ALL: [(&'static str, Backbone); ENTRIES.len()] = {
        let mut all = [("", Backbone::Gcn); ENTRIES.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = (ENTRIES[i].name, ENTRIES[i].backbone);
            i += 1;
        }
        all
    };

    fn entry(self) -> &'static Entry {
        const LIST: &[Entry] = &ENTRIES;
        LIST.iter().find(|entry| entry.backbone == self).expect("every variant has its entry: a test counts them")
    }

    /// The operator its paper uses.
    pub fn usual_operator(self) -> UsualOperator {
        self.entry().usual
    }

    /// Whether it is layer after layer.
    pub fn is_stack(self) -> bool {
        self.entry().stacked
    }

    /// Why it cannot learn its operator; `None` where it can.
    pub fn fixed_operator(self) -> Option<&'static str> {
        self.entry().fixed_operator
    }
}

impl TryFrom<String> for Backbone {
    type Error = gnarl_graph::Error;

    fn try_from(name: String) -> gnarl_graph::Result<Self> {
        name.parse()
    }
}

impl From<Backbone> for String {
    fn from(backbone: Backbone) -> Self {
        backbone.to_string()
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
        f.write_str(self.entry().name)
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
    /// The kind of network.
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
    /// Whether the layers of GCN and GIN add an offset.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub bias: bool,
    /// Whether a stack of layers ends in a linear map: all layers then have the hidden width.
    #[serde(default, skip_serializing_if = "is_no")]
    pub head: bool,
    /// Whether the maps that the weights axis works on start orthonormal.
    #[serde(default, skip_serializing_if = "is_no")]
    pub orthogonal_start: bool,
    /// Deviation of the Gaussian noise that hidden representations of a stack get while training (NoisyGNN).
    #[serde(default, skip_serializing_if = "is_none")]
    pub noise: f32,
    /// What is asked of the weights.
    #[serde(default, skip_serializing_if = "WeightsChoice::is_free")]
    pub weights: WeightsChoice,
    /// The scalars of a learnable operator; none for a fixed one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator_scalars: Vec<OperatorScalar>,
}

fn yes() -> bool {
    true
}

fn is_yes(set: &bool) -> bool {
    *set
}

fn is_no(set: &bool) -> bool {
    !set
}

fn is_none(noise: &f32) -> bool {
    *noise == 0.0
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
            bias: true,
            head: false,
            orthogonal_start: false,
            noise: 0.0,
            weights: WeightsChoice::Free,
            operator_scalars: Vec::new(),
        }
    }

    /// Refuses what cannot be built, naming the setting and its range.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        let refuse = |what: String| Err(gnarl_graph::Error::argument("model", what));
        if self.hidden == 0 {
            return refuse("hidden must be at least 1".into());
        }
        if self.layers == 0 && !self.backbone.entry().from_zero {
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
        self.weights.check()?;
        if !self.bias && !matches!(self.backbone, Backbone::Gcn | Backbone::Gin) {
            return refuse(format!("only gcn and gin can do without offsets, not {}", self.backbone));
        }
        if (self.head || self.noise != 0.0) && !self.backbone.entry().stacked {
            return refuse(format!("a head and noise are for stacks of layers, not for {}", self.backbone));
        }
        if !(self.noise >= 0.0 && self.noise.is_finite()) {
            return refuse(format!("noise {} must be at least 0", self.noise));
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
    body: Box<dyn Body>,
    /// One for each of the configuration's operator scalars.
    scalars: Vec<ParamId>,
}

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
        let mut params = Params::new(config.weights);
        let rng = &mut stream(seed, "network", 0);
        let plan = Plan { config, in_dim, num_classes, mean_log_degree };
        let body = (config.backbone.entry().build)(&plan, &mut params, rng)?;
        // Constants draw nothing: the other weights start as they do without a learnable operator.
        let scalar = |s: &OperatorScalar| {
            let group = if s.exponent { Group::Exponent } else { Group::Scalar };
            params.add(format!("operator.{}", s.name), &[1], Init::Constant(s.start), group, rng)
        };
        let scalars = config.operator_scalars.iter().map(scalar).collect::<Result<_>>()?;
        if config.orthogonal_start {
            params.start_orthogonal(&mut stream(seed, "orthogonal start", 0))?;
        }
        Ok(Self { config: config.clone(), in_dim, num_classes, params, body, scalars })
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
        if self.config.batch_norm { None } else { self.body.reach() }
    }

    /// The linear maps that are all it does to features; none where it does something else first.
    pub fn input_maps(&self) -> Vec<ParamId> {
        self.body.input_maps()
    }

    /// Learners that are trained one after the other; none for a network that is trained whole.
    pub fn num_learners(&self) -> usize {
        self.body.num_learners()
    }

    /// Class scores of one learner, whose parameters begin with `learners.i.`; its operator must be a fixed one.
    pub fn learner(&self, i: usize, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.body.learner(i, propagation, &drop_input(x, self.config.input_dropout, pass)?, pass)
    }

    /// The scalars of its learnable operator with their values, none for a fixed one.
    pub fn operator_scalars(&self) -> Result<Vec<(String, f64)>> {
        let value = |id: ParamId| Ok::<f32, candle_core::Error>(self.params.get(id).var.to_vec1::<f32>()?[0]);
        let named = self.config.operator_scalars.iter().zip(&self.scalars);
        named.map(|(scalar, id)| Ok((scalar.name.clone(), f64::from(value(*id)?)))).collect()
    }

    /// What nodes hear in this pass: as given, or with the operator that the network's scalars make.
    pub fn propagation<'a>(&self, propagation: &'a Propagation, pass: &Pass<'_>) -> Result<Cow<'a, Propagation>> {
        match &propagation.learnable {
            None if self.scalars.is_empty() => Ok(Cow::Borrowed(propagation)),
            Some(learnable) if !self.scalars.is_empty() => {
                let scalars: Vec<&Tensor> = self.scalars.iter().map(|id| pass.weight(*id)).collect();
                let rounds = learnable.operators(&scalars)?;
                let Some(operator) = rounds.first().cloned() else {
                    candle_core::bail!("a learned operator of no round")
                };
                Ok(Cow::Owned(Propagation { operator, two_hop: propagation.two_hop.clone(), learnable: None, rounds }))
            }
            Some(_) => candle_core::bail!("the operator is learned, but the network has no scalars for it"),
            None => candle_core::bail!("the network has scalars of an operator, but the operator is not learned"),
        }
    }

    /// Parameters that a model around this network adds to its own.
    pub(crate) fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// Representations `relu(forward)`, `[nodes, num_classes]`, of a network that was made to give such.
    pub fn encode(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let propagation = &*self.propagation(propagation, pass)?;
        let x = &drop_input(x, self.config.input_dropout, pass)?;
        self.body.forward_activated(propagation, x, pass)
    }

    /// Class scores before the softmax, `[nodes, num_classes]`.
    pub fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let propagation = &*self.propagation(propagation, pass)?;
        let x = &drop_input(x, self.config.input_dropout, pass)?;
        self.body.forward(propagation, x, pass)
    }
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
        let weights = network.params().weights().unwrap();
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

    /// The weights axis for every backbone: a pass sees orthonormal maps, once projected and not once per use, and gradients
    /// reach the weights behind them.
    #[test]
    fn every_backbone_can_have_orthonormal_weights() {
        let propagation = Propagation {
            two_hop: Some(crate::nn::layer::two_hop_operator(&path()).unwrap()),
            ..adjacency(&path()).into()
        };
        let x = Input::Dense(crate::tensor::testing::random(&[3, 6], 2));
        for (name, backbone) in Backbone::ALL {
            let weights = WeightsChoice::Orthonormal(crate::weights::Orthonormal::default());
            let config = NetworkConfig { hidden: 4, heads: 2, weights, ..NetworkConfig::new(backbone) };
            let network = Network::new(&config, 6, 3, 1.0, 1).unwrap();
            let weights = network.params().weights().unwrap();
            let scores = network.forward(&propagation, &x, &Pass::training(&weights, 1)).unwrap();
            let grads = scores.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            let mut constrained = 0;
            for (id, seen) in weights.iter().filter(|(id, _)| network.params().get(*id).group == Group::Weight) {
                let off = crate::weights::departure(seen).unwrap();
                assert!(off < 1e-3, "{name}: {} is off by {off}", network.params().get(id).name);
                assert!(grads.get(&network.params().get(id).var).is_some(), "{name}: no gradient");
                constrained += 1;
            }
            assert!(constrained > 0, "{name} has nothing to constrain");
        }
    }

    #[test]
    fn a_head_reads_classes_off_hidden_representations() {
        let config =
            NetworkConfig { hidden: 2, layers: 1, head: true, bias: false, ..NetworkConfig::new(Backbone::Gcn) };
        let network = Network::new(&config, 1, 1, 0.0, 1).unwrap();
        plant(network.params(), "layers.0.weight", &[1.0, -1.0]);
        plant(network.params(), "head.weight", &[2.0, 3.0]);
        plant(network.params(), "head.bias", &[0.5]);
        let x = Input::Dense(Tensor::new(&[[1f32], [-2.0], [4.0]], &Device::Cpu).unwrap());
        let weights = network.params().weights().unwrap();
        let y = network.forward(&adjacency(&path()).into(), &x, &Pass::evaluation(&weights)).unwrap();
        // Heard: -2, 5, -2; relu of it and of its negative: 2 · heard above zero, 3 · |heard| below.
        assert_eq!(y.flatten_all().unwrap().to_vec1::<f32>().unwrap(), [6.5, 10.5, 6.5]);
        for (config, what) in [
            (NetworkConfig { head: true, ..NetworkConfig::new(Backbone::Sgc) }, "stacks of layers, not for sgc"),
            (NetworkConfig { bias: false, ..NetworkConfig::new(Backbone::Gat) }, "only gcn and gin"),
            (NetworkConfig { noise: f32::NAN, ..NetworkConfig::new(Backbone::Gcn) }, "noise NaN"),
        ] {
            let e = config.check().unwrap_err().to_string();
            assert!(e.contains(what), "{e}");
        }
    }

    #[test]
    fn noise_is_for_training_alone() {
        let config = NetworkConfig { noise: 0.5, dropout: 0.0, ..NetworkConfig::new(Backbone::Gcn) };
        let network = Network::new(&config, 1, 2, 0.0, 1).unwrap();
        let weights = network.params().weights().unwrap();
        let x = Input::Dense(Tensor::new(&[[1f32], [-2.0], [4.0]], &Device::Cpu).unwrap());
        let scores = |pass: &Pass<'_>| {
            let y = network.forward(&adjacency(&path()).into(), &x, pass).unwrap();
            y.flatten_all().unwrap().to_vec1::<f32>().unwrap()
        };
        assert_ne!(scores(&Pass::training(&weights, 1)), scores(&Pass::training(&weights, 2)));
        assert_eq!(scores(&Pass::training(&weights, 1)), scores(&Pass::training(&weights, 1)));
        assert_eq!(scores(&Pass::evaluation(&weights)), scores(&Pass::evaluation(&weights)));
    }

    #[test]
    fn names_are_read_back() {
        for (name, backbone) in Backbone::ALL {
            assert_eq!(name.to_uppercase().parse::<Backbone>().unwrap(), backbone);
            assert_eq!(backbone.to_string(), name);
            assert_eq!(serde_json::to_string(&backbone).unwrap(), format!("\"{name}\""));
        }
        assert_eq!(Backbone::AdaGcn as usize + 1, Backbone::ALL.len(), "a variant without an entry");
        let e = "gcm".parse::<Backbone>().unwrap_err().to_string();
        assert!(e.contains("gcm") && e.contains("gcn"), "{e}");
    }
}
