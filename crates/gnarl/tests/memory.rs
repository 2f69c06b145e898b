//! Memory of a training step. It is the only test of its program: the count is shared by all
//! threads.

use std::sync::Arc;

use gnarl_graph::generate::erdos_renyi;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_tensor::{
    Adam, AdamSettings, Device, Dropout, Operator, Tensor, Var, affine, masked_cross_entropy,
    memory_use,
};

const NODES: usize = 2000;
const WIDTH: usize = 64;
const LAYERS: usize = 6;
/// Bytes of one representation of all nodes.
const BYTES: usize = NODES * WIDTH * 4;

/// A deep stack of linear maps and products with a graph's operator: forward results are kept for
/// the backward pass, gradients are not. The peak is the tape, two gradients at a time, and the
/// rounding of size classes.
#[test]
fn memory_of_a_training_step() {
    let graph = erdos_renyi(NODES, 0.005, 1).unwrap();
    let operator = Operator::constant(
        &ClassicalOperator::NORMALISED_ADJACENCY
            .matrix(&graph)
            .unwrap(),
    );
    let values = |count: usize| {
        (0..count)
            .map(|i| ((i * 31 % 17) as f32 - 8.0) / 40.0)
            .collect::<Vec<f32>>()
    };
    let x = Tensor::from_vec(values(NODES * WIDTH), (NODES, WIDTH), &Device::Cpu).unwrap();
    let weight = |_| Var::from_vec(values(WIDTH * WIDTH), (WIDTH, WIDTH), &Device::Cpu).unwrap();
    let (weights, bias): (Vec<Var>, _) = (
        (0..LAYERS).map(weight).collect(),
        Var::from_vec(values(WIDTH), WIDTH, &Device::Cpu).unwrap(),
    );
    let mut adam = Adam::new(AdamSettings::default());
    weights.iter().for_each(|w| adam.add(w, 0.01, 0.0));
    let rows = Arc::new((0..NODES as u32).collect::<Vec<_>>());
    let classes = Arc::new((0..NODES as u32).map(|i| i % 5).collect::<Vec<_>>());
    let mut step = |key: u64| {
        let before = memory_use();
        let mut h = x.clone();
        for (i, w) in weights.iter().enumerate() {
            let mapped = affine(
                &h,
                w,
                &bias,
                Some(Dropout {
                    rate: 0.5,
                    key: key + i as u64,
                }),
            )
            .unwrap();
            h = operator.apply(&mapped).unwrap();
        }
        let loss = masked_cross_entropy(&h, &rows, &classes).unwrap();
        drop(h);
        let grads = loss.into_gradients().unwrap();
        adam.step(&grads).unwrap();
        drop(grads);
        let after = memory_use();
        assert_eq!(after.used, before.used, "a step leaves nothing behind");
        after.peak - before.used
    };
    let first = step(1);
    // Two results per layer are kept; in the backward pass two gradients of that size exist at a
    // time.
    let expected = 2 * LAYERS * BYTES + 2 * BYTES;
    assert!(
        first <= expected + expected / 4 + LAYERS * WIDTH * WIDTH * 8,
        "{first} bytes, {expected} expected"
    );
    assert!(
        first >= 2 * LAYERS * BYTES,
        "{first} bytes: less than the tape alone"
    );
    assert_eq!(step(100), first, "every step needs the same");
}
