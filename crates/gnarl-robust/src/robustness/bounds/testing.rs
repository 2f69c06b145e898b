//! Networks to bound, and attempts to break their bounds.

use gnarl_graph::operator::ClassicalOperator as Op;
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{DenseMatrix, Features, Graph};
use rand::RngExt;

use super::{Bound, Bounds, Budget, Distance};
use crate::classifier::{Classifier, WhiteBox, to_matrix};
use crate::perturb::{Ball, Norm, Sampler};
use crate::robustness::prediction::{Moved, Prediction};
use gnarl_nn::networks::{Backbone, Input, Network, NetworkConfig, Shape};
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::testing::plant;
use gnarl_tensor::{Device, Tensor, Var};

pub const NORMS: [Norm; 3] = [Norm::L1, Norm::L2, Norm::Infinity];
pub const EPSILON: f64 = 0.7;

pub fn with_features(graph: Graph, dim: usize, values: Vec<f32>) -> Graph {
    let rows = graph.num_nodes();
    graph
        .with_features(Features::Dense(
            DenseMatrix::new(rows, dim, values).unwrap(),
        ))
        .unwrap()
}

pub fn random_features(graph: Graph, dim: usize) -> Graph {
    let rng = &mut stream(4, "bound test", 0);
    let values = (0..graph.num_nodes() * dim)
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    with_features(graph, dim, values)
}

/// A network of random weights and biases.
pub fn model(
    config: &NetworkConfig,
    in_dim: usize,
    operator: OperatorChoice,
    seed: u64,
) -> WhiteBox {
    let network = Network::new(config, &Shape::new(in_dim, 3, 1.0), seed).unwrap();
    let rng = &mut stream(seed, "bound test", 1);
    for p in network.params().list() {
        let spread = if p.var.rank() == 1 { 1.0 } else { 0.8 };
        let values: Vec<f32> = (0..p.var.elem_count())
            .map(|_| rng.random_range(-spread..spread))
            .collect();
        plant(network.params(), &p.name, &values);
    }
    WhiteBox::new(network, operator).unwrap()
}

pub fn config(backbone: Backbone, layers: usize) -> NetworkConfig {
    NetworkConfig {
        hidden: 6,
        layers,
        ..NetworkConfig::new(backbone)
    }
}

/// A network of planted weights without bias.
pub fn planted(operator: Op, in_dim: usize, classes: usize, weights: &[&[f32]]) -> WhiteBox {
    let config = NetworkConfig {
        hidden: 1,
        layers: weights.len(),
        ..NetworkConfig::new(Backbone::GCN)
    };
    let network = Network::new(&config, &Shape::new(in_dim, classes, 1.0), 1).unwrap();
    weights
        .iter()
        .enumerate()
        .for_each(|(i, w)| plant(network.params(), &format!("layers.{i}.weight"), w));
    WhiteBox::new(network, OperatorChoice::Classical(operator)).unwrap()
}

pub fn moved(model: &WhiteBox, from: &Graph, to: &Graph) -> Moved {
    let prediction = |graph: &Graph| Prediction::new(model.scores(graph).unwrap()).unwrap();
    prediction(from).distance(&prediction(to)).unwrap()
}

pub fn get(bounds: &[Bound], distance: Distance) -> Bound {
    *bounds.iter().find(|b| b.distance == distance).unwrap()
}

pub fn assert_holds(bounds: &[Bound], seen: &Moved, what: &str) {
    for b in bounds {
        let seen = match b.distance {
            Distance::L1 => seen.scores.l1,
            Distance::L2 => seen.scores.l2,
            Distance::Linf => seen.scores.linf,
            Distance::Scaled => seen.scaled,
        };
        assert!(
            seen <= b.sound + 1e-6,
            "{what}: {:?} {seen} exceeds {}",
            b.distance,
            b.sound
        );
    }
}

/// Gradient ascent on the scores within the ball: each step goes to the extreme point of the ball
/// along the gradient, which for a convex objective never decreases it.
pub fn attacked(
    model: &WhiteBox,
    graph: &Graph,
    norm: Norm,
    steps: usize,
    rng: &mut Rng,
) -> Vec<Graph> {
    let x = graph.features().unwrap().to_dense();
    let (rows, cols) = (x.num_rows(), x.num_cols());
    let propagation = model.propagation(graph).unwrap();
    let clean = Tensor::from_slice(x.data(), (rows, cols), &Device::Cpu).unwrap();
    let base = model
        .forward(&propagation, &Input::Dense(clean.clone()))
        .unwrap();
    let ball = Ball::new(norm, EPSILON, Sampler::Exact).unwrap();
    let mut z = vec![0.0; rows * cols];
    z.chunks_exact_mut(cols)
        .for_each(|row| ball.fill_row(EPSILON, row, rng));
    let mut found = Vec::new();
    for _ in 0..steps {
        let values: Vec<f32> = x
            .data()
            .iter()
            .zip(&z)
            .map(|(x, z)| x + *z as f32)
            .collect();
        found.push(with_features(graph.clone(), cols, values.clone()));
        let at = Var::from_vec(values, (rows, cols), &Device::Cpu).unwrap();
        let scores = model
            .forward(&propagation, &Input::Dense(at.as_tensor().clone()))
            .unwrap();
        let loss = (scores - &base).unwrap().sqr().unwrap().sum_all().unwrap();
        let grads = loss.backward().unwrap();
        let slope = to_matrix(grads.get(&at).unwrap()).unwrap();
        for (u, z) in z.chunks_exact_mut(cols).enumerate() {
            let g: Vec<f64> = slope.row(u).iter().map(|&g| f64::from(g)).collect();
            let length = Norm::L2.of(g.iter().copied());
            if length == 0.0 {
                continue;
            }
            match norm {
                Norm::Infinity => z
                    .iter_mut()
                    .zip(&g)
                    .for_each(|(z, g)| *z = EPSILON * g.signum()),
                Norm::L1 => {
                    let j = (0..cols)
                        .max_by(|&a, &b| g[a].abs().total_cmp(&g[b].abs()))
                        .unwrap();
                    z.fill(0.0);
                    z[j] = EPSILON * g[j].signum();
                }
                Norm::P(_) => z
                    .iter_mut()
                    .zip(&g)
                    .for_each(|(z, g)| *z = EPSILON * g / length),
            }
        }
    }
    found
}

pub fn try_to_break_features(model: &WhiteBox, graph: &Graph, steps: usize, what: &str) {
    let bounds = Bounds::new(model, graph).unwrap();
    let rng = &mut stream(9, "bound test", 2);
    for norm in NORMS {
        let bound = bounds
            .within(Budget::Features {
                norm,
                epsilon: EPSILON,
            })
            .unwrap();
        let mut nearest = 0f64;
        for tried in attacked(model, graph, norm, steps, rng) {
            let seen = moved(model, graph, &tried);
            assert_holds(&bound, &seen, &format!("{what}, p = {norm}"));
            nearest = nearest.max(seen.scores.l2 / get(&bound, Distance::L2).sound);
        }
        assert!(nearest > 1e-4, "{what}, p = {norm}: vacuous, {nearest}");
    }
}
