//! Wraps a model of your own in [RobustCRF](https://arxiv.org/abs/2411.05399): any function from a
//! graph to a matrix of class scores. The results are distributions over the classes, and here the
//! classes that the scores prefer.
//!
//!     cargo run --release -p gnarl --example outside_model

use gnarl::classifier::{Classifier, FromFn};
use gnarl::inference::{Inference, PerturbationTarget, RobustCrf};
use gnarl::train::argmax;
use gnarl_data::embedded::karate;
use gnarl_graph::{DenseMatrix, Graph};

pub(crate) fn main() -> gnarl::Result<()> {
    let graph = karate();

    // The whole of the model: with which of four members, one from each group, does a member share
    // the most friends?
    let model = FromFn {
        num_classes: 4,
        function: |graph: &Graph| {
            let near = |u: u32, v: u32| u == v || graph.has_edge(u, v);
            let shared =
                |u: u32, v: u32| (0..34).filter(|&w| near(u, w) && near(v, w)).count() as f32;
            let scores = (0..34)
                .flat_map(|u| [8, 0, 23, 4].map(|known| shared(u, known)))
                .collect();
            DenseMatrix::new(34, 4, scores)
        },
    };

    let crf = RobustCrf {
        target: Some(PerturbationTarget::Structure),
        radius: Some(0.1),
        sigma: Some(0.05),
        ..RobustCrf::default()
    };
    let inference = Inference::from(crf).fit(&model, &graph, &[])?;
    let (plain, agreed) = (model.scores(&graph)?, inference.predict(&model, &graph, 0)?);
    println!("node  its own scores  agreed over neighbouring graphs");
    for u in [2, 8, 9, 30] {
        println!("{u:4}  {:?}  {:?}", plain.row(u), agreed.row(u));
        assert!((agreed.row(u).iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(argmax(agreed.row(u)), argmax(plain.row(u)));
    }
    Ok(())
}
