//! Under the same gradient ascent on features, a GCN with orthonormal weights keeps at least ten points more than one with free
//! weights.
//!
//!     cargo run --release --example weights

use gnarl::attack::{Attack, pgd_features::PgdFeatures};
use gnarl::graph::generate::{CsbmConfig, csbm};
use gnarl::prelude::*;
use gnarl::study::attack::{Known, evade};

pub fn main() -> gnarl::Result<()> {
    let data = Dataset::from_graph("blocks", csbm(&CsbmConfig { num_nodes: 400, ..CsbmConfig::default() }, 0)?);
    let on = data.split(0)?;
    let attack = Attack::from(PgdFeatures { steps: 20, starts: 1, ..PgdFeatures::budget(0.2) });

    let accuracies = |model: Model| -> gnarl::Result<(f64, f64)> {
        let fitted = model.fit(&on, 0)?;
        let scaled = fitted.scaled(data.graph()?)?;
        let (_, verdict) = evade(&scaled, &fitted.bare(), None, &attack, Known::True, &on.split, 0)?;
        Ok((verdict.clean_accuracy, verdict.attacked_accuracy))
    };

    let gcn = Model::new(Backbone::Gcn).features(FeatureScaling::AsLoaded).epochs(100);
    let (free_clean, free) = accuracies(gcn)?;
    let (orthonormal_clean, orthonormal) = accuracies(gcn.weights(Orthonormal::default()))?;
    println!("free: {free_clean:.1} % clean, {free:.1} % attacked");
    println!("orthonormal: {orthonormal_clean:.1} % clean, {orthonormal:.1} % attacked");

    assert!(orthonormal > free + 10.0);
    Ok(())
}
