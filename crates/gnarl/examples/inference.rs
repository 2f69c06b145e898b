//! Predicts with [RobustCRF](https://arxiv.org/abs/2411.05399) from the same weights. Predictions
//! are less confident on average, and on the clean karate club the accuracy is within six points.
//!
//!     cargo run --release -p gnarl --example inference

use gnarl::inference::PerturbationTarget;
use gnarl::prelude::*;

pub(crate) fn main() -> gnarl::Result<()> {
    let data = Dataset::load("karate")?;
    let fitted = Model::new(Backbone::GCN).fit(&data.split(0)?, 0)?;
    let (before, plain) = (
        fitted.predict(&data.content)?,
        fitted.accuracy(&data, Part::Test)?,
    );

    // Agreement over graphs up to a tenth of the edges away; nothing is trained again.
    let crf = RobustCrf {
        target: Some(PerturbationTarget::Structure),
        radius: Some(0.1),
        ..RobustCrf::default()
    };
    let defended = fitted.with_inference(crf.into(), &data.content, true)?;
    let (after, agreed) = (
        defended.predict(&data.content)?,
        defended.accuracy(&data, Part::Test)?,
    );

    // Mean over nodes of the largest probability.
    let confidence = |answers: &Predictions| {
        let largest = |u: usize| {
            answers
                .probabilities
                .row(u)
                .iter()
                .fold(0f32, |most, &p| most.max(p))
        };
        (0..34).map(largest).sum::<f32>() / 34.0
    };
    println!(
        "one forward pass: {plain:.1} % right, confidence {:.3}",
        confidence(&before)
    );
    println!(
        "RobustCRF: {agreed:.1} % right, confidence {:.3}",
        confidence(&after)
    );

    assert!(confidence(&after) < confidence(&before));
    assert!((agreed - plain).abs() <= 6.0);
    Ok(())
}
