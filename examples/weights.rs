//! Under the same gradient ascent on features, a GCN with orthonormal weights keeps at least ten
//! points more than one with free weights, and is as right on clean ones, within five.
//!
//!     cargo run --release --example weights

use gnarl::attack::{Attack, pgd_features::PgdFeatures};
use gnarl::graph::dataset::Task;
use gnarl::graph::generate::{CsbmConfig, csbm};
use gnarl::prelude::*;
use gnarl::study::attack::{Known, evade};
use gnarl::thesis::Recipe;

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
        starts: 1,
        ..PgdFeatures::budget(0.15)
    });

    // The thesis' settings of ch. 5: small networks without weight decay.
    let gcn = Model::new(Backbone::Gcn)
        .features(FeatureScaling::AsLoaded)
        .epochs(200);
    let gcn = Recipe::ThesisCh5.fill(gcn, &data.name, Task::Node);
    let accuracies = |model: Model| -> gnarl::Result<(f64, f64)> {
        let fitted = model.fit(&on, 0)?;
        let scaled = fitted.scaled(data.graph()?)?;
        let (_, verdict) = evade(
            &scaled,
            &fitted.bare(),
            None,
            &attack,
            Known::True,
            &on.split,
            0,
        )?;
        Ok((verdict.clean_accuracy, verdict.attacked_accuracy))
    };
    let (free_clean, free) = accuracies(gcn)?;
    let (clean, orthonormal) = accuracies(gcn.weights(Orthonormal::default()))?;
    println!("free: {free_clean:.1} % clean, {free:.1} % attacked");
    println!("orthonormal: {clean:.1} % clean, {orthonormal:.1} % attacked");

    assert!(orthonormal > free + 10.0 && (clean - free_clean).abs() < 5.0);
    Ok(())
}
