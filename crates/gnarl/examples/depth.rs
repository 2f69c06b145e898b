//! Compares the exits of [ADMP-GNN](https://arxiv.org/abs/2509.01170) with its depth policy. If
//! neighbours are more informative than features, the exit without messages has less than half the
//! accuracy of the best exit. The policy, which saw no test node, is within five points of the
//! best.
//!
//!     cargo run --release -p gnarl --example depth

use gnarl::graph::generate::{CsbmConfig, csbm};
use gnarl::prelude::*;
use gnarl::train::Targets;

pub(crate) fn main() -> gnarl::Result<()> {
    let graph = csbm(
        &CsbmConfig {
            num_nodes: 400,
            ..CsbmConfig::default()
        },
        0,
    )?;
    let data = Dataset::from_graph("blocks", graph.clone());
    let gcn = Model::new(Backbone::GCN)
        .features(FeatureScaling::AsLoaded)
        .epochs(100);
    let fitted = gcn.depth(Exits::st(3)).fit(&data.split(0)?, 0)?;

    // Accuracy of every exit on the test nodes, and the number of nodes that take it.
    let (Some(answers), Some(labels)) = (fitted.exit_predictions(&data.content)?, graph.labels())
    else {
        return Ok(());
    };
    let test = Targets::new(fitted.trained_on().split.test(), labels);
    let taken = fitted.predict(&data.content)?.exits.unwrap_or_default();
    let of_exits: Vec<f64> = (0..fitted.num_exits())
        .map(|exit| answers.accuracy(exit, &test))
        .collect();
    for (exit, accuracy) in of_exits.iter().enumerate() {
        let nodes = taken.iter().filter(|&&e| e == exit).count();
        println!("exit {exit}: {accuracy:5.1} % right, taken by {nodes} nodes");
    }
    let policy = fitted.accuracy(&data, Part::Test)?;
    println!(
        "by the policy: {policy:.1} %; where any exit is right: {:.1} %",
        answers.oracle_accuracy(&test)
    );

    let best = of_exits.iter().copied().fold(0.0, f64::max);
    assert!(of_exits.len() == 4 && of_exits[0] < best / 2.0);
    assert!(policy > best - 5.0 && policy <= answers.oracle_accuracy(&test));
    Ok(())
}
