//! Layout of a small graph by stress majorisation.
//!
//! Distances in the drawing approximate distances in the graph, as in [Gansner et al.
//! 2004](https://doi.org/10.1007/978-3-540-31843-9_25), one node at a time.

use std::collections::VecDeque;

use gnarl_graph::Graph;

use crate::page::layout::into_unit_square;

/// Number of sweeps over the nodes; the layout converges long before.
const ROUNDS: usize = 300;

/// Returns a point for each node in the unit square, deterministically. The points start on a
/// circle. Each point in turn moves to the place that the other points prefer, weighted by the
/// inverse square of their distance in the graph. The cost is O(n m + rounds · n²), for graphs
/// small enough to draw. Components without a path between them stay apart.
pub fn layout(graph: &Graph) -> Vec<(f64, f64)> {
    let n = graph.num_nodes();
    let distances: Vec<Vec<f64>> = (0..n as u32).map(|u| distances_from(graph, u)).collect();
    let angle = |u: usize| std::f64::consts::TAU * u as f64 / n as f64;
    let mut at: Vec<(f64, f64)> = (0..n).map(|u| (angle(u).cos(), angle(u).sin())).collect();
    for _ in 0..ROUNDS {
        for u in 0..n {
            let (mut x, mut y, mut total) = (0.0, 0.0, 0.0);
            for v in (0..n).filter(|&v| v != u) {
                let (wish, weight) = (distances[u][v], distances[u][v].powi(-2));
                let (dx, dy) = (at[u].0 - at[v].0, at[u].1 - at[v].1);
                let scale = wish / dx.hypot(dy).max(1e-9);
                x += weight * (at[v].0 + scale * dx);
                y += weight * (at[v].1 + scale * dy);
                total += weight;
            }
            if total > 0.0 {
                at[u] = (x / total, y / total);
            }
        }
    }
    into_unit_square(at)
}

/// Computes the number of hops from `start` to every node. Unreachable nodes get one more than the
/// farthest reachable node.
fn distances_from(graph: &Graph, start: u32) -> Vec<f64> {
    let n = graph.num_nodes();
    let mut steps = vec![n as f64; n];
    steps[start as usize] = 0.0;
    let mut queue = VecDeque::from([start]);
    let mut farthest = 0.0;
    while let Some(u) = queue.pop_front() {
        farthest = steps[u as usize];
        for &v in graph.neighbours(u) {
            if steps[v as usize] == n as f64 {
                steps[v as usize] = farthest + 1.0;
                queue.push_back(v);
            }
        }
    }
    steps
        .iter_mut()
        .filter(|s| **s == n as f64)
        .for_each(|s| *s = farthest + 1.0);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::{cycle, path};

    fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    #[test]
    fn a_path_is_a_straight_line_and_a_cycle_is_round() {
        let at = layout(&path(5).unwrap());
        for k in 1..5 {
            assert!(
                (distance(at[0], at[k]) / distance(at[0], at[1]) - k as f64).abs() < 0.05,
                "{at:?}"
            );
        }
        let at = layout(&cycle(8).unwrap());
        for k in 0..8 {
            assert!((distance(at[k], (0.5, 0.5)) - 0.5).abs() < 0.03, "{at:?}");
        }
    }

    #[test]
    fn neighbours_are_near_and_everything_is_inside() {
        let karate = gnarl_data::embedded::karate();
        let at = layout(&karate);
        assert!(
            at.iter()
                .all(|(x, y)| (0.0..=1.0).contains(x) && (0.0..=1.0).contains(y)),
            "{at:?}"
        );
        let mean = |joined: bool| {
            let pairs = (0..34u32).flat_map(|u| (u + 1..34).map(move |v| (u, v)));
            let of: Vec<f64> = pairs
                .filter(|&(u, v)| karate.has_edge(u, v) == joined)
                .map(|(u, v)| distance(at[u as usize], at[v as usize]))
                .collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        assert!(
            mean(true) < 0.6 * mean(false),
            "{} against {}",
            mean(true),
            mean(false)
        );
    }

    #[test]
    fn graphs_without_edges_or_nodes_are_no_trouble() {
        assert!(layout(&Graph::empty(0).unwrap()).is_empty());
        for n in 1..4 {
            let at = layout(&Graph::empty(n).unwrap());
            assert!(
                at.iter().all(|(x, y)| x.is_finite() && y.is_finite()),
                "{at:?}"
            );
        }
    }
}
