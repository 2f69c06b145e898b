//! Test data of the policies.

use gnarl_graph::{Graph, Labels};

use super::ExitPredictions;
use crate::train::Targets;

/// Returns predictions of exits that are certain of a class each: `classes[exit][node]`.
pub fn confident(classes: &[Vec<u32>], num_classes: usize) -> ExitPredictions {
    let score = |c: &u32| {
        (0..num_classes as u32)
            .map(|k| if k == *c { 3.0 } else { 0.0 })
            .collect::<Vec<f32>>()
    };
    let rows = classes
        .iter()
        .map(|exit| exit.iter().flat_map(score).collect())
        .collect();
    ExitPredictions::from_rows(rows, classes[0].len(), num_classes)
}

/// Returns nodes with their classes, as targets.
pub fn targets(items: impl IntoIterator<Item = u32>, classes: &[u32]) -> Targets {
    let labels = Labels::new(classes.iter().map(|c| Some(*c)).collect(), 2).unwrap();
    Targets::new(&items.into_iter().collect::<Vec<_>>(), &labels)
}

/// A star of 40 leaves and 20 triangles: the leaves have degree 1, the corners 2, the hub 40. Exit
/// 0 is correct on leaves alone, exit 1 on corners and the hub alone.
pub fn leaves_and_corners() -> (Graph, ExitPredictions, Vec<u32>) {
    let star = (1..=40u32).map(|leaf| (0, leaf));
    let triangles = (0..20u32).flat_map(|t| {
        [
            (41 + 3 * t, 42 + 3 * t),
            (42 + 3 * t, 43 + 3 * t),
            (43 + 3 * t, 41 + 3 * t),
        ]
    });
    let graph = Graph::from_edges(101, star.chain(triangles)).unwrap().0;
    let truth: Vec<u32> = (0..101).map(|u| u % 2).collect();
    let is_leaf = |u: usize| (1..=40).contains(&u);
    let exit = |right_about_leaves: bool| {
        (0..101)
            .map(|u| {
                if is_leaf(u) == right_about_leaves {
                    truth[u]
                } else {
                    1 - truth[u]
                }
            })
            .collect()
    };
    (graph, confident(&[exit(true), exit(false)], 2), truth)
}
