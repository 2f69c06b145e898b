//! Compares orthonormal with unconstrained weights under the same gradient ascent on features. The
//! GCN with orthonormal weights keeps at least ten points more, and its clean accuracy is within
//! five points.
//!
//!     cargo run --release -p gnarl --example weights

use gnarl::attack::{Attack, PgdFeatures};
use gnarl::graph::generate::{CsbmConfig, csbm};
use gnarl::model::NetworkOptions;
use gnarl::prelude::*;
use gnarl::study::attack::{LabelKnowledge, evade};

pub(crate) fn main() -> gnarl::Result<()> {
    let blocks = CsbmConfig {
        num_nodes: 300,
        mean_degree: 4.0,
        separation: 0.4,
        ..CsbmConfig::default()
    };
    let data = Dataset::from_graph("blocks", csbm(&blocks, 0)?);
    let on = data.split(0)?;
    let attack = Attack::from(PgdFeatures {
        steps: 20,
        restarts: 1,
        ..PgdFeatures::budget(0.15)
    });

    // Small networks without weight decay, with orthonormal initialisation and a final linear map.
    let mut gcn = Model::new(Backbone::GCN)
        .features(FeatureScaling::AsLoaded)
        .epochs(200)
        .hidden(16);
    gcn.training.weight_decay = Some(0.0);
    gcn.network = NetworkOptions {
        head: Some(true),
        bias: Some(false),
        orthogonal_start: Some(true),
        gain: Some(false),
        ..gcn.network
    };
    let accuracies = |model: Model| -> gnarl::Result<(f64, f64)> {
        let fitted = model.fit(&on, 0)?;
        let scaled = fitted.scaled(data.graph()?)?;
        let (_, found) = evade(
            &scaled,
            &fitted.attack_target(),
            None,
            &attack,
            LabelKnowledge::True,
            &on.split,
            0,
        )?;
        Ok((found.clean_accuracy, found.attacked_accuracy))
    };
    let (free_clean, free) = accuracies(gcn)?;
    let (clean, orthonormal) = accuracies(gcn.weights(Orthonormal::default()))?;
    println!("free: {free_clean:.1} % clean, {free:.1} % attacked");
    println!("orthonormal: {clean:.1} % clean, {orthonormal:.1} % attacked");

    assert!(orthonormal > free + 10.0 && (clean - free_clean).abs() < 5.0);
    Ok(())
}
