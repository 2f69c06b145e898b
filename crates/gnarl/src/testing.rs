//! What tests of several rooms share: how far apart distributions are, and networks after a short
//! training.

use gnarl_graph::{Graph, Labels};

use crate::classifier::WhiteBox;
use crate::nn::{Network, NetworkConfig};
use crate::operator::{OperatorChoice, Prepared};
use crate::train::{Problem, TrainConfig, Watch, train};

/// The labels of a graph that has some.
pub fn labels(graph: &Graph) -> &Labels {
    graph.labels().expect("a labelled graph")
}

/// A network as it starts.
pub fn network(
    graph: &Graph,
    config: &NetworkConfig,
    operator: OperatorChoice,
    seed: u64,
) -> Network {
    let prepared = Prepared::new(graph, config.backbone, operator).unwrap();
    Network::new(config, &prepared.shape(labels(graph).num_classes()), seed).unwrap()
}

/// A network after training on the first split of a graph, whose features it takes as they are.
pub fn trained(
    graph: &Graph,
    config: &NetworkConfig,
    training: &TrainConfig,
    seed: u64,
) -> WhiteBox {
    let prepared = Prepared::new(graph, config.backbone, OperatorChoice::Usual).unwrap();
    let network = network(graph, config, OperatorChoice::Usual, seed);
    let problem = Problem::new(
        &prepared.propagation,
        &prepared.input,
        labels(graph),
        &graph.splits()[0],
    );
    train(&network, &problem, training, seed, &Watch::quiet()).unwrap();
    WhiteBox::new(network, OperatorChoice::Usual).unwrap()
}

/// The largest distance between the empirical distribution of `values` and `cdf`.
pub fn kolmogorov(values: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let gap = |(i, &v): (usize, &f64)| {
        (cdf(v) - i as f64 / n)
            .abs()
            .max((cdf(v) - (i as f64 + 1.0) / n).abs())
    };
    sorted.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// The largest distance between two empirical distributions without ties.
pub fn kolmogorov_two(a: &[f64], b: &[f64]) -> f64 {
    let mut b = b.to_vec();
    b.sort_unstable_by(f64::total_cmp);
    kolmogorov(a, |x| {
        b.partition_point(|&y| y <= x) as f64 / b.len() as f64
    })
}

/// What the distance stays below in all but one of a thousand seeds: one sample of `n`, or two of
/// `2n` each.
pub fn critical(n: usize) -> f64 {
    1.95 / (n as f64).sqrt()
}
