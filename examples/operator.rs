//! On the karate club a GCN that learns its operator from core numbers is about as right as one with A_hat (above 85 %), and both
//! beat one with A by ten points or more.
//!
//!     cargo run --release --example operator

use gnarl::prelude::*;

pub fn main() -> gnarl::Result<()> {
    let data = Dataset::load("karate")?;

    // Mean test accuracy over five splits.
    let accuracy = |model: Model| -> gnarl::Result<f64> {
        let of_split = |i| model.fit(&data.split(i)?, i as u64)?.accuracy(&data, Part::Test);
        Ok((0..5).map(of_split).sum::<gnarl::Result<f64>>()? / 5.0)
    };

    let gcn = Model::new(Backbone::Gcn);
    let plain = accuracy(gcn.operator(ClassicalOperator::Adjacency))?;
    let usual = accuracy(gcn)?;
    let learned = accuracy(gcn.operator(Cgso::by(Centrality::Core)))?;
    println!("A {plain:.1} %, A_hat {usual:.1} %, learned from core numbers {learned:.1} %");

    assert!(usual > 85.0 && learned > 85.0);
    assert!(usual.min(learned) > plain + 10.0);
    Ok(())
}
