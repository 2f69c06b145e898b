//! Certificates against brute force: on small graphs every change within a certified radius is
//! tried, and none changes the class.

use std::sync::atomic::AtomicBool;

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{DenseMatrix, Features, Graph};
use gnarl_nn::features::Scaler;
use gnarl_nn::networks::{Backbone, Network, NetworkConfig, Shape};
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::weights::{Orthonormal, WeightsChoice};
use gnarl_robust::classifier::{Classifier, WhiteBox};
use gnarl_robust::perturb::{Ball, Norm, Sampler, flipped};
use gnarl_robust::robustness::certify::{
    BinaryGcn, Certainty, FlipNoise, Flips, LipschitzMargins, Noise, Propagated, Regions, Rule,
    SampleCallbacks, Scope, Smoothed, Steps, Threat,
};
use gnarl_tensor::{Device, Tensor};
use proptest::prelude::*;
use rand::RngExt;

const CLASSES: usize = 3;

fn argmax(row: &[f32]) -> usize {
    row.iter()
        .enumerate()
        .fold(0, |best, (i, s)| if *s > row[best] { i } else { best })
}

fn classes(model: &dyn Classifier, graph: &Graph) -> Vec<usize> {
    let scores = model.scores(graph).unwrap();
    (0..scores.num_rows())
        .map(|u| argmax(scores.row(u)))
        .collect()
}

/// Graph of this many nodes with features from a function.
fn graph_of(n: usize, edges: &[(u32, u32)], cols: usize, mut value: impl FnMut() -> f32) -> Graph {
    let inside = edges
        .iter()
        .copied()
        .filter(|&(u, v)| (u as usize) < n && (v as usize) < n);
    let features = Features::Dense(
        DenseMatrix::new(n, cols, (0..n * cols).map(|_| value()).collect()).unwrap(),
    );
    Graph::from_edges(n, inside)
        .unwrap()
        .0
        .with_features(features)
        .unwrap()
}

fn with_values(graph: &Graph, cols: usize, values: Vec<f32>) -> Graph {
    let features = Features::Dense(DenseMatrix::new(graph.num_nodes(), cols, values).unwrap());
    graph.clone().with_features(features).unwrap()
}

/// Network of random weights, its biases apart so that margins are not all small.
fn network(config: &NetworkConfig, cols: usize, seed: u64) -> WhiteBox {
    let network = Network::new(config, &Shape::new(cols, CLASSES, 1.0), seed).unwrap();
    let rng = &mut stream(seed, "certificates test", 0);
    for param in network.params().list() {
        let is_bias = param.var.as_tensor().rank() == 1 && param.name.ends_with("bias");
        let spread = if is_bias { 1.5 } else { 0.5 };
        if is_bias || config.weights == WeightsChoice::FREE {
            let count = param.var.as_tensor().elem_count();
            let values: Vec<f32> = (0..count)
                .map(|_| rng.random_range(-spread..spread))
                .collect();
            let shape = param.var.as_tensor().dims().to_vec();
            param
                .var
                .set(&Tensor::from_vec(values, &shape[..], &Device::Cpu).unwrap())
                .unwrap();
        }
    }
    WhiteBox::new(network, OperatorChoice::Default).unwrap()
}

fn config(backbone: Backbone, layers: usize, weights: WeightsChoice) -> NetworkConfig {
    NetworkConfig {
        hidden: 4,
        layers,
        weights,
        ..NetworkConfig::new(
            backbone
                .where_taken("heads", 2)
                .where_taken("propagation-steps", 4),
        )
    }
}

fn pairs(n: usize) -> Vec<(u32, u32)> {
    (0..n as u32)
        .flat_map(|u| (u + 1..n as u32).map(move |v| (u, v)))
        .collect()
}

/// All subsets of at most `most` elements, the empty one first.
fn subsets<T: Copy>(of: &[T], most: usize) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    let mut last: Vec<(usize, Vec<T>)> = vec![(0, Vec::new())];
    for _ in 0..most {
        let mut next = Vec::new();
        for (from, set) in &last {
            for (i, &one) in of.iter().enumerate().skip(*from) {
                let mut larger = set.clone();
                larger.push(one);
                next.push((i + 1, larger));
            }
        }
        all.extend(next.iter().map(|(_, set)| set.clone()));
        last = next;
    }
    all
}

const FREE: WeightsChoice = WeightsChoice::FREE;

fn orthonormal() -> WeightsChoice {
    WeightsChoice::Orthonormal(Orthonormal::default())
}

fn any_edges() -> impl Strategy<Value = Vec<(u32, u32)>> {
    prop::collection::vec((0u32..7, 0u32..7), 0..12)
}

/// Tries all sets of edge flips within the certified radius; returns the number of certified nodes.
fn assert_edges_hold(model: &WhiteBox, graph: &Graph, most: usize, what: &str) -> usize {
    let radii = LipschitzMargins::new(model, graph)
        .unwrap()
        .edge_radii(most)
        .unwrap();
    let clean = classes(model, graph);
    for set in subsets(&pairs(graph.num_nodes()), most) {
        let after = classes(model, &flipped(graph, &set).unwrap());
        for u in 0..clean.len() {
            assert!(
                radii[u] < set.len() || after[u] == clean[u],
                "{what}: node {u} certified for {}, {set:?}",
                radii[u]
            );
        }
    }
    radii.iter().filter(|&&r| r > 0).count()
}

/// Tries features within the certified radius: sampled at its boundary, and at its corners.
fn assert_features_hold(model: &WhiteBox, graph: &Graph, rng: &mut Rng, what: &str) {
    let known = LipschitzMargins::new(model, graph).unwrap();
    let clean = classes(model, graph);
    let x = graph.features().unwrap().to_dense();
    let (n, cols) = (x.num_rows(), x.num_cols());
    for norm in [Norm::L1, Norm::L2, Norm::Infinity] {
        for scope in [Scope::One, Scope::Every, Scope::Total] {
            let radii = known.feature_radii(norm, scope).unwrap();
            for u in 0..n {
                assert_eq!(known.class(u), clean[u]);
                let radius = radii[u].min(1e3) * 0.999;
                for try_at in 0..6 {
                    let ball = Ball::new(norm, radius, Sampler::Exact).unwrap();
                    let mut moves = vec![0f64; n * cols];
                    match scope {
                        Scope::One => ball.fill_row(
                            radius,
                            row(&mut moves, rng.random_range(0..n), cols),
                            rng,
                        ),
                        Scope::Every => (0..n)
                            .for_each(|v| ball.fill_row(radius, row(&mut moves, v, cols), rng)),
                        Scope::Total => ball.fill_row(radius, &mut moves, rng),
                    }
                    // Every second try goes to a corner, if there are any.
                    if try_at % 2 == 0 && norm == Norm::Infinity {
                        moves
                            .iter_mut()
                            .filter(|m| **m != 0.0)
                            .for_each(|m| *m = radius * m.signum());
                    }
                    let values = x
                        .data()
                        .iter()
                        .zip(&moves)
                        .map(|(x, m)| x + *m as f32)
                        .collect();
                    let after = classes(model, &with_values(graph, cols, values));
                    assert_eq!(
                        after[u], clean[u],
                        "{what}, {norm}, {scope}: node {u} at {radius}"
                    );
                }
            }
        }
    }
}

fn row(values: &mut [f64], u: usize, cols: usize) -> &mut [f64] {
    &mut values[u * cols..(u + 1) * cols]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn lipschitz_certificates_hold(n in 1usize..=7, edges in any_edges(), seed in any::<u64>()) {
        let rng = &mut stream(seed, "certificates test", 1);
        let graph = graph_of(n, &edges, 3, || rng.random_range(-0.3..0.3));
        for backbone in [Backbone::GCN, Backbone::SGC, Backbone::GIN, Backbone::MLP] {
            for weights in [FREE, orthonormal()] {
                for (layers, head) in [(1, false), (2, false), (2, true)] {
                    let head = head && matches!(backbone, Backbone::Gcn(_) | Backbone::Gin(_));
                    let model = network(&NetworkConfig { head, ..config(backbone, layers, weights) }, 3, seed);
                    let what = format!("{backbone}, {weights}, {layers} layers");
                    assert_edges_hold(&model, &graph, if n > 5 { 1 } else { 2 }, &what);
                    assert_features_hold(&model, &graph, rng, &what);
                }
            }
        }
    }

    /// Undirected flips, at most the budget at any node, by the models themselves.
    #[test]
    fn exact_certificates_hold(n in 1usize..=6, edges in any_edges(), seed in any::<u64>()) {
        let rng = &mut stream(seed, "certificates test", 2);
        let graph = graph_of(n, &edges, 3, || rng.random_range(-1.0..1.0));
        for backbone in [Backbone::APPNP, Backbone::SGC] {
            let model = network(&config(backbone, 2, FREE), 3, seed);
            let clean = classes(&model, &graph);
            for threat in [Threat::Both, Threat::Remove, Threat::Add] {
                let radii = Propagated::of_model(&model, &graph).unwrap().radii(threat, 2).unwrap();
                for set in subsets(&pairs(n), 3) {
                    let allowed = |&(u, v): &(u32, u32)| match threat {
                        Threat::Both => true,
                        Threat::Remove => graph.has_edge(u, v),
                        Threat::Add => !graph.has_edge(u, v),
                    };
                    if !set.iter().all(allowed) {
                        continue;
                    }
                    let at = |w: u32| set.iter().filter(|&&(u, v)| u == w || v == w).count();
                    let most = (0..n as u32).map(at).max().unwrap_or(0);
                    let after = classes(&model, &flipped(&graph, &set).unwrap());
                    for u in 0..n {
                        let (class, radius) = radii[u];
                        prop_assert!(class == clean[u] || radius == 0);
                        prop_assert!(radius < most || after[u] == clean[u], "{backbone}, {threat}: node {u}, {radius}, {set:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn convex_certificates_hold(n in 1usize..=5, edges in any_edges(), seed in any::<u64>()) {
        let rng = &mut stream(seed, "certificates test", 3);
        let cols = 4;
        let graph = graph_of(n, &edges, cols, || f32::from(u8::from(rng.random::<f64>() < 0.4)));
        let x = graph.features().unwrap().to_dense();
        let cells: Vec<usize> = (0..n * cols).collect();
        let nodes: Vec<u32> = (0..n as u32).collect();
        for layers in [1, 2] {
            let model = network(&config(Backbone::GCN, layers, FREE), cols, seed);
            let clean = classes(&model, &graph);
            for local in [1, 2] {
                let radii = BinaryGcn::new(&model, &graph).unwrap().radii(&nodes, local, 2);
                for set in subsets(&cells, 2) {
                    if local == 1 && set.len() == 2 && set[0] / cols == set[1] / cols {
                        continue;
                    }
                    let mut values = x.data().to_vec();
                    set.iter().for_each(|&k| values[k] = 1.0 - values[k]);
                    let after = classes(&model, &with_values(&graph, cols, values));
                    for u in 0..n {
                        prop_assert!(radii[u] < set.len() || after[u] == clean[u], "{layers} layers, node {u}, {set:?}");
                    }
                }
            }
        }
    }

    /// A smoothed function of six bits with exact probabilities: no flips within a certified radius
    /// change its class.
    #[test]
    fn smoothing_certificates_hold(table in any::<u64>(), x in 0u32..64, plus in 0.0f64..0.5, minus in 0.0f64..0.9) {
        let noise = FlipNoise::new(plus, minus).unwrap();
        let chance = |from: u32, to: u32| -> f64 {
            let of = |bit: u32| match (from >> bit & 1, to >> bit & 1) {
                (0, 0) => 1.0 - plus,
                (0, _) => plus,
                (_, 0) => minus,
                _ => 1.0 - minus,
            };
            (0..6).map(of).product()
        };
        let ones = |from: u32| (0..64u32).filter(|to| table >> to & 1 == 1).map(|to| chance(from, to)).sum::<f64>();
        let class = usize::from(ones(x) > 0.5);
        let p = if class == 1 { ones(x) } else { 1.0 - ones(x) };
        let known = Certainty { class, lower: p, upper: 1.0 - p };
        for other in 0..64u32 {
            let flips = Flips {
                additions: (other & !x).count_ones() as usize,
                deletions: (x & !other).count_ones() as usize,
            };
            for rule in [Rule::TwoClass, Rule::MultiClass] {
                if Regions::new(&[(noise, flips)]).certify(&known, rule) {
                    prop_assert_eq!(usize::from(ones(other) > 0.5), class, "{:?}", flips);
                }
            }
        }
    }
}

/// Certificates are not vacuous: with margins as wide as these, edges and features are certified.
#[test]
fn certificates_are_not_empty() {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 2), (3, 5)];
    let mut u = 0;
    let graph = graph_of(6, &edges, 2, || {
        u += 1;
        // Two groups far apart.
        if (u - 1) / 2 < 3 { 1.0 } else { -1.0 }
    });
    let mut found = [0; 3];
    for seed in 0..20 {
        for (i, backbone) in [Backbone::GCN, Backbone::SGC, Backbone::GIN]
            .into_iter()
            .enumerate()
        {
            let model = network(&config(backbone, 1 + seed as usize % 2, FREE), 2, seed);
            found[i] += assert_edges_hold(&model, &graph, 2, &format!("{backbone}"));
        }
    }
    assert!(found.iter().all(|&count| count > 0), "{found:?}");
    let mut exact = 0;
    for seed in 0..20 {
        let model = network(&config(Backbone::APPNP, 2, FREE), 2, seed);
        let radii = Propagated::of_model(&model, &graph)
            .unwrap()
            .radii(Threat::Both, 2)
            .unwrap();
        exact += radii.iter().filter(|(_, radius)| *radius > 0).count();
    }
    assert!(exact > 10, "{exact} of 120");
}

/// Every row that a node may choose: itself, and neighbours after at most `budget` flips.
fn rows_of(graph: &Graph, u: usize, threat: Threat, budget: usize) -> Vec<Vec<usize>> {
    let others: Vec<usize> = (0..graph.num_nodes()).filter(|&v| v != u).collect();
    let is_there = |v: usize| graph.has_edge(u as u32, v as u32);
    let allowed = |v: &usize| match threat {
        Threat::Both => true,
        Threat::Remove => is_there(*v),
        Threat::Add => !is_there(*v),
    };
    let open: Vec<usize> = others.iter().copied().filter(allowed).collect();
    let with = |flips: &Vec<usize>| {
        let stays = |v: &usize| is_there(*v) != flips.contains(v);
        others.iter().copied().filter(stays).chain([u]).collect()
    };
    subsets(&open, budget).iter().map(with).collect()
}

/// Minimum of every node over all combinations of rows, with the equations of each solved.
fn least_of_all_graphs(choices: &[Vec<Vec<usize>>], lead: &[f64], alpha: f64) -> Vec<f64> {
    let n = lead.len();
    let total: usize = choices.iter().map(Vec::len).product();
    let mut least = vec![f64::INFINITY; n];
    for mut k in 0..total {
        let rows: Vec<&Vec<usize>> = choices
            .iter()
            .map(|of| {
                let row = &of[k % of.len()];
                k /= of.len();
                row
            })
            .collect();
        let own: Vec<f64> = (0..n)
            .map(|u| lead[u] / (rows[u].len() as f64).sqrt())
            .collect();
        let mut v = own.clone();
        for _ in 0..300 {
            let mean = |u: usize| rows[u].iter().map(|&w| v[w]).sum::<f64>() / rows[u].len() as f64;
            v = (0..n)
                .map(|u| alpha * own[u] + (1.0 - alpha) * mean(u))
                .collect();
        }
        least.iter_mut().zip(&v).for_each(|(l, v)| *l = l.min(*v));
    }
    least
}

/// Rows that change independently, all of them tried: policy iteration finds the minimum.
#[test]
fn policy_iteration_finds_the_minimum_over_all_graphs() {
    let (n, alpha) = (4, 0.15);
    for seed in 0..12u64 {
        let rng = &mut stream(seed, "certificates test", 4);
        let graph = Graph::from_edges(
            n,
            pairs(n).into_iter().filter(|_| rng.random::<f64>() < 0.5),
        )
        .unwrap()
        .0;
        let values: Vec<f64> = (0..n * 2).map(|_| rng.random_range(-1.0..1.0)).collect();
        let predictions = DenseMatrix::new(n, 2, values).unwrap();
        let lead: Vec<f64> = (0..n)
            .map(|u| predictions.row(u)[0] - predictions.row(u)[1])
            .collect();
        for (threat, budget) in [
            (Threat::Both, 1),
            (Threat::Both, 2),
            (Threat::Remove, 2),
            (Threat::Add, 1),
        ] {
            let rows = |u| rows_of(&graph, u, threat, budget);
            let choices: Vec<Vec<Vec<usize>>> = (0..n).map(rows).collect();
            let least = least_of_all_graphs(&choices, &lead, alpha);
            let whole = Propagated::new(&graph, predictions.clone(), alpha, Steps::Limit).unwrap();
            let found = whole.worst((0, 1), threat, budget).unwrap();
            for u in 0..n {
                assert!(
                    (found[u] - least[u]).abs() < 1e-9,
                    "{threat}, {budget}: {} and not {}",
                    found[u],
                    least[u]
                );
            }
            // More propagation steps in which rows may differ never increase the bound.
            let rounds =
                Propagated::new(&graph, predictions.clone(), alpha, Steps::Count(400)).unwrap();
            let rounds = rounds.worst((0, 1), threat, budget).unwrap();
            assert!(
                (0..n).all(|u| (rounds[u] - least[u]).abs() < 1e-9),
                "{rounds:?} and not {least:?}"
            );
        }
    }
}

/// A classifier that depends on how its first bit is shown: the true value is known, and bounds
/// exceed it no more often than their level allows.
#[test]
fn confidence_levels_hold_in_a_simulation() {
    let graph = graph_of(1, &[], 1, || 1.0);
    let function = |graph: &Graph| {
        let shown = graph.features().unwrap().to_dense().data()[0];
        DenseMatrix::new(1, 2, vec![0.5, shown])
    };
    let model = gnarl_robust::classifier::FromFn {
        num_classes: 2,
        function,
    };
    let smoothed = Smoothed {
        model: &model,
        scaler: &Scaler::AsLoaded,
    };
    let stop = AtomicBool::new(false);
    let watch = SampleCallbacks {
        on_samples: &|_| (),
        stop: &stop,
    };
    let (truth, alpha, experiments, samples) = (0.7, 0.1, 2000u64, 40);
    let noise = Noise::Features(FlipNoise::new(0.2, 1.0 - truth).unwrap());
    let mut wrong = 0;
    for seed in 0..experiments {
        let votes = smoothed
            .votes(&graph, noise, samples, (seed, "simulation"), watch)
            .unwrap()
            .unwrap();
        let known = Certainty::new(1, votes.of(0), samples, alpha, Rule::TwoClass);
        wrong += usize::from(known.lower > truth);
    }
    let share = wrong as f64 / experiments as f64;
    let room = 4.0 * (alpha * (1.0 - alpha) / experiments as f64).sqrt();
    assert!(
        share <= alpha + room && share > 0.02,
        "{share} of {experiments} bounds above the truth"
    );
}

/// One node, no edges, equal scores, more flips than there are pairs: all defined.
#[test]
fn certificates_of_unusual_graphs() {
    let zeros = |graph: &Graph, backbone: Backbone| {
        let cols = graph.features().unwrap().num_cols();
        let model = Network::new(
            &config(backbone, 2, FREE),
            &Shape::new(cols, CLASSES, 1.0),
            1,
        )
        .unwrap();
        for param in model.params().list() {
            param
                .var
                .set(&param.var.as_tensor().zeros_like().unwrap())
                .unwrap();
        }
        WhiteBox::new(model, OperatorChoice::Default).unwrap()
    };
    for n in [1, 3] {
        let graph = graph_of(n, &[], 2, || 1.0);
        let tied = zeros(&graph, Backbone::GCN);
        let known = LipschitzMargins::new(&tied, &graph).unwrap();
        // Weights of zero have Lipschitz constant zero: no features change a tie.
        let radii = known.feature_radii(Norm::L2, Scope::One).unwrap();
        assert!(
            radii.iter().all(|r| *r == f64::INFINITY || *r == 0.0),
            "{radii:?}"
        );
        assert_eq!(
            known.edge_radii(50).unwrap(),
            vec![0; n],
            "a tie is no lead"
        );
        let gcn = BinaryGcn::new(&tied, &graph).unwrap();
        assert_eq!(
            gcn.radii(&(0..n as u32).collect::<Vec<_>>(), 3, 50),
            vec![0; n]
        );
        let appnp = zeros(&graph, Backbone::APPNP);
        let radii = Propagated::of_model(&appnp, &graph)
            .unwrap()
            .radii(Threat::Both, 50)
            .unwrap();
        assert_eq!(radii, vec![(0, 0); n]);
        let model = network(&config(Backbone::APPNP, 2, FREE), 2, 3);
        let alone = Propagated::of_model(&model, &graph)
            .unwrap()
            .radii(Threat::Remove, 50)
            .unwrap();
        assert!(
            alone.iter().all(|(_, radius)| *radius == 50),
            "there is nothing to remove: {alone:?}"
        );
        // A perceptron does not depend on edges.
        let mlp = network(&config(Backbone::MLP, 2, FREE), 2, 3);
        assert_eq!(
            LipschitzMargins::new(&mlp, &graph)
                .unwrap()
                .edge_radii(9)
                .unwrap(),
            vec![9; n]
        );
    }
}

#[test]
fn unsupported_models_are_refused_in_one_line() {
    let graph = graph_of(3, &[(0, 1)], 2, || 0.5);
    let said = [
        LipschitzMargins::new(&network(&config(Backbone::GAT, 2, FREE), 2, 1), &graph)
            .unwrap_err()
            .to_string(),
        Propagated::of_model(&network(&config(Backbone::GCN, 2, FREE), 2, 1), &graph)
            .unwrap_err()
            .to_string(),
        BinaryGcn::new(&network(&config(Backbone::GCN, 3, FREE), 2, 1), &graph)
            .unwrap_err()
            .to_string(),
        BinaryGcn::new(&network(&config(Backbone::GCN, 2, FREE), 2, 1), &graph)
            .unwrap_err()
            .to_string(),
    ];
    let expected = [
        "cover gcn",
        "appnp and sgc",
        "one or two layers",
        "must be 0 or 1",
    ];
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected) && !said.contains('\n'), "{said}");
    }
}

/// One linear map and one node, by hand: scores (3, 0, 0) + x W with columns e1, 0, 0. The margin
/// of 3 + x1 is lost at x1 = -3.
#[test]
fn certificates_of_a_linear_map_by_hand() {
    let graph = graph_of(1, &[], 2, || 0.0);
    let model = Network::new(
        &config(Backbone::MLP, 1, FREE),
        &Shape::new(2, CLASSES, 1.0),
        1,
    )
    .unwrap();
    for param in model.params().list() {
        let (values, shape): (Vec<f32>, Vec<usize>) = match param.var.as_tensor().rank() {
            1 => (vec![3.0, 0.0, 0.0], vec![3]),
            _ => (vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0], vec![2, 3]),
        };
        param
            .var
            .set(&Tensor::from_vec(values, &shape[..], &Device::Cpu).unwrap())
            .unwrap();
    }
    let model = WhiteBox::new(model, OperatorChoice::Default).unwrap();
    let known = LipschitzMargins::new(&model, &graph).unwrap();
    // The column is (1, 1): gains 1 from L1, sqrt 2 from L2, 2 from L-infinity.
    for (norm, expected) in [
        (Norm::L1, 3.0),
        (Norm::L2, 3.0 / 2f64.sqrt()),
        (Norm::Infinity, 1.5),
    ] {
        let found = known.feature_radii(norm, Scope::One).unwrap()[0];
        assert!(
            (found / expected - 1.0).abs() < 1e-4 && found < expected,
            "{norm}: {found}, not {expected}"
        );
    }
}
