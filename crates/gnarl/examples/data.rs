//! Compares [GRATIN](https://arxiv.org/abs/2411.08638) with its control: the same fresh head
//! without sampled vectors. On random graphs of two kinds both have an accuracy above 80 %, and
//! within ten points of each other.
//!
//!     cargo run --release -p gnarl --example data

use gnarl::graph::generate::{barabasi_albert, erdos_renyi};
use gnarl::prelude::*;

pub(crate) fn main() -> gnarl::Result<()> {
    // Forty graphs of 24 nodes with some 66 edges: joined at random, or by preferential attachment.
    let graph = |i: u64| {
        if i.is_multiple_of(2) {
            erdos_renyi(24, 0.24, i)
        } else {
            barabasi_albert(24, 3, i)
        }
    };
    let graphs = (0..40).map(graph).collect::<gnarl::Result<Vec<Graph>>>()?;
    let labels = Labels::new((0..40).map(|i| Some(i % 2)).collect(), 2)?;
    let data = Dataset::from_graphs("two kinds", GraphSet::new(graphs, labels, None)?);

    let (mut gratin, mut control) = (0.0, 0.0);
    for fold in 0..5 {
        let model = Model::new(Backbone::GIN)
            .augment(Gratin::default())
            .epochs(100);
        let fitted = model.fit(&data.split(fold)?, 0)?;
        gratin += fitted.accuracy(&data, Part::Test)? / 5.0;
        let head = fitted.report().fresh_head.as_ref();
        control += head
            .and_then(|head| head.retrain_test_accuracy)
            .unwrap_or(f64::NAN)
            / 5.0;
    }
    println!("gratin {gratin:.1} %, its control {control:.1} %");

    assert!(gratin > 80.0 && control > 80.0);
    assert!((gratin - control).abs() <= 10.0);
    Ok(())
}
