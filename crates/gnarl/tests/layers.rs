//! Every layer against PyTorch Geometric: output and all gradients, from
//! `tests/golden/make_layers.py`.

use std::collections::BTreeMap;
use std::sync::Arc;

use gnarl_graph::Graph;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::stream;
use gnarl_nn::networks::batch_norm::BatchNorm;
use gnarl_nn::networks::gat::{AttentionSettings, GatConv};
use gnarl_nn::networks::gatv2::GatV2Conv;
use gnarl_nn::networks::gcn::GcnConv;
use gnarl_nn::networks::gin::{GinConv, GinSettings};
use gnarl_nn::networks::layer::{classical, symmetric_normalised, two_hop_operator};
use gnarl_nn::networks::pna::PnaConv;
use gnarl_nn::networks::readout::Membership;
use gnarl_nn::networks::sage::SageConv;
use gnarl_nn::networks::{
    Backbone, Group, Input, Layer, Network, NetworkConfig, Params, Pass, Propagation, Readout,
    Shape,
};
use gnarl_nn::operator::{OperatorChoice, Prepared};
use gnarl_tensor::{Device, GradStore, Operator, Pattern, Tensor, Var};
use serde::Deserialize;
use serde_json::Value;

/// Tolerance, relative above one and absolute below.
const TOLERANCE: f64 = 1e-5;

#[derive(Deserialize)]
struct Golden {
    graphs: BTreeMap<String, Edges>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Edges {
    num_nodes: usize,
    edges: Vec<(u32, u32)>,
}

#[derive(Deserialize)]
struct Case {
    layer: String,
    graph: String,
    train: bool,
    settings: Settings,
    x: Vec<Vec<f32>>,
    params: BTreeMap<String, Value>,
    out: Vec<Vec<f64>>,
    upstream: Vec<Vec<f32>>,
    grad_x: Vec<Vec<f64>>,
    grads: BTreeMap<String, Value>,
    statistics_after: BTreeMap<String, Value>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    out_dim: usize,
    hidden: usize,
    layers: usize,
    steps: usize,
    level: Option<f64>,
    heads: usize,
    concat: bool,
    train_epsilon: bool,
    mean_log_degree: f64,
    readout: Option<Readout>,
    sizes: Vec<usize>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/layers.json")).unwrap()
}

fn graph(golden: &Golden, name: &str) -> Graph {
    let Edges { num_nodes, edges } = &golden.graphs[name];
    Graph::from_edges(*num_nodes, edges.iter().copied())
        .unwrap()
        .0
}

/// The numbers of nested lists, in order.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(parts) => parts.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn matrix(rows: &[Vec<f32>]) -> Tensor {
    let width = rows.first().map_or(0, Vec::len);
    Tensor::from_vec(rows.concat(), (rows.len(), width), &Device::Cpu).unwrap()
}

fn values(t: &Tensor) -> Vec<f32> {
    t.flatten_all().unwrap().to_vec1().unwrap()
}

fn assert_close(what: &str, got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let difference = (f64::from(g) - e).abs();
        assert!(
            difference <= TOLERANCE * e.abs().max(1.0),
            "{what}, value {i}: {g}, not {e}"
        );
    }
}

/// Model of a case.
enum Model {
    Layer(Params, Box<dyn Layer>, Operator),
    Network(Box<Network>, Propagation),
    Norm(Params, BatchNorm),
    Readout(Params, Readout, Membership),
}

impl Model {
    fn of(case: &Case, graph: &Graph) -> Self {
        let s = &case.settings;
        let in_dim = case.x[0].len();
        let mut params = Params::default();
        let rng = &mut stream(1, "golden layers", 0);
        let operator = |kind| classical(graph, kind).unwrap();
        let a_hat = operator(ClassicalOperator::NORMALISED_ADJACENCY);
        let adjacency = operator(ClassicalOperator::ADJACENCY);
        let self_loops = Operator::from_pattern(a_hat.pattern().clone());
        let attention = AttentionSettings {
            heads: s.heads,
            concat: s.concat,
            negative_slope: 0.2,
            dropout: 0.0,
            site: 0,
        };
        let gin = GinSettings {
            train_epsilon: s.train_epsilon,
            ..GinSettings::default()
        };
        let (p, name) = (&mut params, "layer");
        let (layer, operator): (Box<dyn Layer>, Operator) = match case.layer.as_str() {
            "gcn" => (
                Box::new(GcnConv::new(p, name, in_dim, s.out_dim, rng).unwrap()),
                a_hat,
            ),
            "gat" => (
                Box::new(GatConv::new(p, name, in_dim, s.out_dim, attention, rng).unwrap()),
                self_loops,
            ),
            "gatv2" => (
                Box::new(GatV2Conv::new(p, name, in_dim, s.out_dim, attention, rng).unwrap()),
                self_loops,
            ),
            "gin" => (
                Box::new(GinConv::new(p, name, in_dim, s.hidden, s.out_dim, gin, rng).unwrap()),
                adjacency,
            ),
            "sage" => {
                let mean = operator(ClassicalOperator::MEAN_AGGREGATION);
                (
                    Box::new(SageConv::new(p, name, in_dim, s.out_dim, rng).unwrap()),
                    mean,
                )
            }
            "pna" => (
                Box::new(PnaConv::new(p, name, in_dim, s.out_dim, s.mean_log_degree, rng).unwrap()),
                adjacency,
            ),
            "batch_norm" => {
                let norm = BatchNorm::new(p, name, in_dim, rng).unwrap();
                return Model::Norm(params, norm);
            }
            "readout" => {
                return Model::Readout(params, s.readout.unwrap(), Membership::new(&s.sizes));
            }
            other => return Model::network(other.parse().unwrap(), case, graph),
        };
        Model::Layer(params, layer, operator)
    }

    fn network(backbone: Backbone, case: &Case, graph: &Graph) -> Self {
        let s = &case.settings;
        let mut backbone = backbone.where_taken("propagation-steps", s.steps);
        if let Some(level) = s.level {
            for name in [
                "gamma",
                "lambda",
                "temperature",
                "similarity-threshold",
                "kernel-weight",
            ] {
                backbone = backbone.where_taken(name, level);
            }
        }
        let config = NetworkConfig {
            hidden: s.hidden.max(1),
            layers: s.layers.max(1),
            ..NetworkConfig::new(backbone)
        };
        let propagation = match backbone {
            Backbone::H2gcn(_) => Propagation {
                two_hop: Some(two_hop_operator(graph).unwrap()),
                ..Operator::constant(&symmetric_normalised(graph).unwrap()).into()
            },
            Backbone::JkCatGin(_)
            | Backbone::JkMaxGin(_)
            | Backbone::JkLstmGin(_)
            | Backbone::GprGin(_) => classical(graph, ClassicalOperator::ADJACENCY)
                .unwrap()
                .into(),
            Backbone::Rung(_)
            | Backbone::GnnGuard(_)
            | Backbone::ElasticGnn(_)
            | Backbone::EvenNet(_) => classical(graph, ClassicalOperator::ADJACENCY)
                .unwrap()
                .into(),
            _ => classical(graph, ClassicalOperator::NORMALISED_ADJACENCY)
                .unwrap()
                .into(),
        };
        Model::Network(
            Box::new(
                Network::new(&config, &Shape::new(case.x[0].len(), s.out_dim, 0.0), 1).unwrap(),
            ),
            propagation,
        )
    }

    fn params(&self) -> &Params {
        match self {
            Model::Layer(params, ..) | Model::Norm(params, _) | Model::Readout(params, ..) => {
                params
            }
            Model::Network(network, _) => network.params(),
        }
    }

    fn forward(&self, x: &Input, pass: &Pass<'_>) -> Tensor {
        match self {
            Model::Layer(_, layer, operator) => layer.forward(operator, x, pass),
            Model::Network(network, propagation) => network.forward(propagation, x, pass),
            Model::Norm(_, norm) => norm.forward(&x.to_dense().unwrap(), pass),
            Model::Readout(_, readout, members) => readout.forward(members, &x.to_dense().unwrap()),
        }
        .unwrap()
    }

    /// Every parameter gets its value from the file, and the file has no others.
    fn plant(&self, case: &Case) {
        let names: Vec<&str> = self
            .params()
            .list()
            .iter()
            .map(|p| short(&p.name))
            .collect();
        assert!(
            case.params
                .keys()
                .all(|name| names.contains(&name.as_str())),
            "{}: {names:?}",
            case.layer
        );
        for p in self.params().list() {
            let value: Vec<f32> = flat(&case.params[short(&p.name)])
                .iter()
                .map(|&v| v as f32)
                .collect();
            p.var
                .set(&Tensor::from_vec(value, p.var.dims(), &Device::Cpu).unwrap())
                .unwrap();
        }
    }
}

/// A parameter's name in the file.
fn short(name: &str) -> &str {
    name.strip_prefix("layer.").unwrap_or(name)
}

/// Runs a model on an input, and checks the output and the gradients to every parameter.
fn check(what: &str, case: &Case, model: &Model, x: &Input) -> GradStore {
    let weights = model.params().weights().unwrap();
    let pass = if case.train {
        Pass::training(&weights, 1)
    } else {
        Pass::evaluation(&weights)
    };
    let out = model.forward(x, &pass);
    assert_close(
        &format!("{what}: output"),
        &values(&out),
        &case.out.concat(),
    );
    let grads = (out * matrix(&case.upstream))
        .unwrap()
        .sum_all()
        .unwrap()
        .backward()
        .unwrap();
    for p in model
        .params()
        .list()
        .iter()
        .filter(|p| p.group != Group::Statistic)
    {
        let expected = &case.grads[short(&p.name)];
        let grad = grads
            .get(&p.var)
            .unwrap_or_else(|| panic!("{what}: {} has no gradient", p.name));
        assert_eq!(grad.dims(), p.var.dims(), "{what}: {}", p.name);
        assert_close(
            &format!("{what}: gradient to {}", p.name),
            &values(grad),
            &flat(expected),
        );
    }
    let updates = pass.into_updates();
    assert_eq!(
        updates.is_empty(),
        !(case.train && case.layer == "batch_norm"),
        "{what}: updates"
    );
    for (id, new) in updates {
        let p = model.params().get(id);
        assert_close(
            &format!("{what}: {} after", p.name),
            &values(&new),
            &flat(&case.statistics_after[short(&p.name)]),
        );
    }
    grads
}

#[test]
fn layers_agree_with_pytorch_geometric() {
    let golden = golden();
    let mut seen: Vec<&str> = Vec::new();
    for case in &golden.cases {
        let graph = graph(&golden, &case.graph);
        let model = Model::of(case, &graph);
        model.plant(case);
        seen.push(&case.layer);
        let what = format!("{} on {} with {:?}", case.layer, case.graph, case.settings);

        let x = Var::from_tensor(&matrix(&case.x)).unwrap();
        let grads = check(
            &format!("{what}, dense"),
            case,
            &model,
            &Input::Dense(x.as_tensor().clone()),
        );
        assert_close(
            &format!("{what}: gradient to x"),
            &values(grads.get(&x).unwrap()),
            &case.grad_x.concat(),
        );

        // The same features as sparse ones, whose stored values take gradients.
        let (pattern, stored) = sparse(&case.x);
        let stored = Var::from_tensor(&stored).unwrap();
        let operator = Operator::from_pattern(Arc::new(pattern))
            .with_values(&stored)
            .unwrap();
        let grads = check(
            &format!("{what}, sparse"),
            case,
            &model,
            &Input::Sparse(operator),
        );
        let at_stored = |rows: &[Vec<f64>]| -> Vec<f64> {
            let pairs = rows.concat().into_iter().zip(case.x.concat());
            pairs.filter(|&(_, x)| x != 0.0).map(|(g, _)| g).collect()
        };
        assert_close(
            &format!("{what}: gradient to stored x"),
            &values(grads.get(&stored).unwrap()),
            &at_stored(&case.grad_x),
        );
    }
    for layer in Backbone::named()
        .map(|(name, _)| name)
        .chain(["batch_norm", "readout"])
    {
        assert!(seen.contains(&layer), "the file has no case of {layer}");
    }
}

/// The non-zeros of a matrix, row by row.
fn sparse(rows: &[Vec<f32>]) -> (Pattern, Tensor) {
    let (mut offsets, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (column, &value) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(column as u32);
            stored.push(value);
        }
        offsets.push(indices.len());
    }
    let count = stored.len();
    (
        Pattern::new(rows[0].len(), offsets, indices),
        Tensor::from_vec(stored, count, &Device::Cpu).unwrap(),
    )
}

/// PNA's δ, as a prepared graph has it, is the one PyTorch Geometric takes from the histogram of
/// degrees.
#[test]
fn the_mean_log_degree_is_that_of_pytorch_geometric() {
    let golden = golden();
    let cases: Vec<&Case> = golden.cases.iter().filter(|c| c.layer == "pna").collect();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let graph = graph(&golden, &case.graph);
        let prepared = Prepared::new(&graph, Backbone::PNA, OperatorChoice::Default).unwrap();
        assert!(
            (prepared.mean_log_degree - case.settings.mean_log_degree).abs() < 1e-12,
            "{}",
            case.graph
        );
    }
}

/// Graphs with nodes without neighbours, or with no edges at all: every network predicts and every
/// gradient is finite.
#[test]
fn nodes_without_neighbours_give_finite_results() {
    for (num_nodes, edges) in [(5, vec![(0, 1), (1, 2), (0, 2)]), (4, vec![]), (1, vec![])] {
        let graph = Graph::from_edges(num_nodes, edges).unwrap().0;
        for (name, backbone) in Backbone::named() {
            let prepared = Prepared::new(&graph, backbone, OperatorChoice::Default).unwrap();
            let config = NetworkConfig {
                hidden: 8,
                ..NetworkConfig::new(backbone.where_taken("batch-norm", true))
            };
            let network = Network::new(&config, &prepared.shape(2), 1).unwrap();
            let weights = network.params().weights().unwrap();
            for pass in [Pass::evaluation(&weights), Pass::training(&weights, 1)] {
                let out = network
                    .forward(&prepared.propagation, &prepared.input, &pass)
                    .unwrap();
                assert_eq!(out.dims(), [num_nodes, 2], "{name}");
                assert!(
                    values(&out).iter().all(|v| v.is_finite()),
                    "{name} on {num_nodes} nodes: {out:?}"
                );
                let grads = out.sqr().unwrap().sum_all().unwrap().backward().unwrap();
                for p in network.params().list() {
                    let finite = grads
                        .get(&p.var)
                        .is_none_or(|g| values(g).iter().all(|v| v.is_finite()));
                    assert!(
                        finite,
                        "{name} on {num_nodes} nodes: gradient to {}",
                        p.name
                    );
                }
                let updates = pass.into_updates();
                assert!(
                    updates
                        .iter()
                        .all(|(_, t)| values(t).iter().all(|v| v.is_finite())),
                    "{name}: statistics"
                );
            }
        }
    }
}
