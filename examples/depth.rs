//! On the karate club, whose features say nothing, the exit without messages is below 50 % right, the best exit above 85 %, and the
//! policy, which saw no test node, takes later exits than the first for every node.
//!
//!     cargo run --release --example depth

use gnarl::prelude::*;
use gnarl::train::Targets;

pub fn main() -> gnarl::Result<()> {
    let data = Dataset::load("karate")?;
    let fitted = Model::new(Backbone::Gcn).depth(Exits::st(3)).fit(&data.split(0)?, 0)?;

    // Every exit by itself, on the test nodes.
    let graph = data.graph()?;
    let (Some(answers), Some(labels)) = (fitted.exit_answers(graph)?, graph.labels()) else { return Ok(()) };
    let test = Targets::new(fitted.trained_on().split.test(), labels);
    let of_exits: Vec<f64> = (0..answers.num_exits()).map(|exit| answers.accuracy(exit, &test)).collect();

    // Which exit each node takes.
    let taken = fitted.predict(&data.content)?.exits.unwrap_or_default();
    let count = |exit: usize| taken.iter().filter(|&&e| e == exit).count();
    for (exit, accuracy) in of_exits.iter().enumerate() {
        println!("exit {exit}: {accuracy:5.1} % right, taken by {} nodes", count(exit));
    }
    println!("by the policy: {:.1} %", fitted.accuracy(&data, Part::Test)?);

    assert!(of_exits[0] < 50.0 && of_exits.iter().any(|&accuracy| accuracy > 85.0));
    assert!(taken.len() == 34 && count(0) == 0);
    Ok(())
}
