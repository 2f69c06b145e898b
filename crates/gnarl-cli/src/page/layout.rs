//! Force-directed layout of a graph: edges attract, nodes repel, and everything is pulled to the
//! centre.
//!
//! The cells of a quadtree approximate the repulsion of far nodes ([Barnes and Hut
//! 1986](https://doi.org/10.1038/324446a0)). The attraction of an edge is weaker at nodes with many
//! edges. Steps shrink until the layout is at rest.

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use rand::RngExt;
use rayon::prelude::*;

/// Number of steps, halved for large graphs, whose picture shows less of each node.
const STEPS: usize = 300;
/// Ratio of width to distance below which a cell counts as one point.
const OPENING: f64 = 0.9;
/// Preferred length of an edge.
const LENGTH: f64 = 30.0;
const PUSH: f64 = 30.0;
const MIDDLE: f64 = 0.06;
/// Share of the velocity left after a step.
const GLIDE: f64 = 0.6;

/// Returns a point for each node in the unit square, in O(steps · (n log n + m)). The result
/// depends on the seed only, not on the number of threads.
pub fn layout(graph: &Graph, seed: u64) -> Vec<(f64, f64)> {
    let n = graph.num_nodes();
    let steps = if n > 5000 { STEPS / 2 } else { STEPS };
    let mut rng = stream(seed, "layout", 0);
    let reach = 10.0 * (n as f64).sqrt();
    let mut at: Vec<(f64, f64)> = (0..n)
        .map(|_| {
            let (r, turn) = (
                reach * rng.random::<f64>().sqrt(),
                std::f64::consts::TAU * rng.random::<f64>(),
            );
            (r * turn.cos(), r * turn.sin())
        })
        .collect();
    let mut speed = vec![(0.0, 0.0); n];
    let mut heat = 1.0;
    let cooling = 1.0 - 0.001f64.powf(1.0 / steps as f64);
    for _ in 0..steps {
        heat -= heat * cooling;
        let tree = Tree::new(&at);
        let force = |u: usize| {
            let (x, y) = at[u];
            let (mut fx, mut fy) = tree.push(x, y);
            fx -= MIDDLE * x;
            fy -= MIDDLE * y;
            for &v in graph.neighbours(u as u32) {
                let (dx, dy) = (at[v as usize].0 - x, at[v as usize].1 - y);
                let distance = dx.hypot(dy).max(1e-6);
                let (mine, theirs) = (graph.degree(u as u32) as f64, graph.degree(v) as f64);
                // An end with many edges is pulled less, so it moves less.
                let pull =
                    (distance - LENGTH) / distance / mine.min(theirs) * theirs / (mine + theirs);
                fx += pull * dx;
                fy += pull * dy;
            }
            (fx, fy)
        };
        let forces: Vec<(f64, f64)> = (0..n).into_par_iter().map(force).collect();
        for u in 0..n {
            speed[u].0 = (speed[u].0 + heat * forces[u].0) * GLIDE;
            speed[u].1 = (speed[u].1 + heat * forces[u].1) * GLIDE;
            at[u].0 += speed[u].0;
            at[u].1 += speed[u].1;
        }
    }
    into_unit_square(at)
}

/// Width below which nodes in the same place are no longer separated.
const NARROWEST: f64 = 1e-3;

/// Quadtree; each cell has the number and the centre of its points.
struct Tree {
    cells: Vec<Cell>,
    width: f64,
}

#[derive(Clone, Copy)]
struct Cell {
    count: f64,
    /// Sum of coordinates; divided by the count once all points are in.
    x: f64,
    y: f64,
    /// Index of the first of four quarters; 0 without any.
    quarters: usize,
}

const EMPTY: Cell = Cell {
    count: 0.0,
    x: 0.0,
    y: 0.0,
    quarters: 0,
};

impl Tree {
    fn new(points: &[(f64, f64)]) -> Self {
        let range = |of: fn(&(f64, f64)) -> f64| {
            points
                .iter()
                .map(of)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                    (l.min(v), h.max(v))
                })
        };
        let ((left, right), (top, bottom)) = (range(|p| p.0), range(|p| p.1));
        let width = (right - left).max(bottom - top).max(1.0) * 1.0001;
        let mut cells = vec![EMPTY];
        for &(x, y) in points {
            let (mut cell, mut size, mut x0, mut y0) = (0, width, left, top);
            loop {
                let Cell {
                    count,
                    x: sx,
                    y: sy,
                    quarters,
                } = cells[cell];
                cells[cell] = Cell {
                    count: count + 1.0,
                    x: sx + x,
                    y: sy + y,
                    quarters,
                };
                if count == 0.0 || size < NARROWEST {
                    break;
                }
                size /= 2.0;
                let into = |x: f64, y: f64| {
                    let (right, below) = (usize::from(x >= x0 + size), usize::from(y >= y0 + size));
                    right + 2 * below
                };
                if quarters == 0 {
                    let first = cells.len();
                    // The point that was alone here moves down.
                    let quarter = into(sx / count, sy / count);
                    cells.extend([EMPTY; 4]);
                    cells[first + quarter] = Cell {
                        count,
                        x: sx,
                        y: sy,
                        quarters: 0,
                    };
                    cells[cell].quarters = first;
                }
                let quarter = into(x, y);
                cell = cells[cell].quarters + quarter;
                x0 += size * (quarter % 2) as f64;
                y0 += size * (quarter / 2) as f64;
            }
        }
        for cell in &mut cells {
            cell.x /= cell.count.max(1.0);
            cell.y /= cell.count.max(1.0);
        }
        Self { cells, width }
    }

    /// Computes the repulsion of all points on one point.
    fn push(&self, x: f64, y: f64) -> (f64, f64) {
        let (mut fx, mut fy) = (0.0, 0.0);
        let mut open = vec![(0, self.width)];
        while let Some((at, size)) = open.pop() {
            let cell = &self.cells[at];
            if cell.count == 0.0 {
                continue;
            }
            let (dx, dy) = (x - cell.x, y - cell.y);
            let square = dx * dx + dy * dy;
            if cell.quarters == 0 || size * size < OPENING * OPENING * square {
                // One cell contains the node itself; at distance 0 the force has no direction.
                let push = PUSH * cell.count / square.max(1.0);
                fx += push * dx;
                fy += push * dy;
            } else {
                open.extend((0..4).map(|quarter| (cell.quarters + quarter, size / 2.0)));
            }
        }
        (fx, fy)
    }
}

/// Scales both axes by the same factor into the unit square, so that shapes are kept.
pub fn into_unit_square(mut at: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) = at
            .iter()
            .map(of)
            .fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
        (low, high - low)
    };
    let ((left, width), (top, height)) = (range(|p| p.0), range(|p| p.1));
    let size = width.max(height).max(1e-9);
    for (x, y) in &mut at {
        *x = (*x - left + (size - width) / 2.0) / size;
        *y = (*y - top + (size - height) / 2.0) / size;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    #[test]
    fn neighbours_are_near_and_everything_is_inside() {
        let karate = gnarl_data::embedded::karate();
        let at = layout(&karate, 0);
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
    fn the_seed_decides_and_threads_do_not() {
        let graph = gnarl_graph::generate::erdos_renyi(200, 0.02, 1).unwrap();
        let on = |threads| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
        };
        let one = on(1).install(|| layout(&graph, 7));
        assert_eq!(one, on(3).install(|| layout(&graph, 7)));
        assert_ne!(one, layout(&graph, 8));
    }

    /// Compares the tree's approximation with the exact sum over pairs.
    #[test]
    fn the_tree_pushes_as_all_points_together_do() {
        let mut rng = stream(1, "test", 0);
        let points: Vec<(f64, f64)> = (0..300)
            .map(|_| (500.0 * rng.random::<f64>(), 300.0 * rng.random::<f64>()))
            .collect();
        let tree = Tree::new(&points);
        assert_eq!(tree.cells[0].count, 300.0);
        let (mut error, mut size) = (0.0, 0.0);
        for &(x, y) in &points {
            let exact = points.iter().fold((0.0, 0.0), |(fx, fy), &(px, py)| {
                let push = PUSH / ((x - px).powi(2) + (y - py).powi(2)).max(1.0);
                (fx + push * (x - px), fy + push * (y - py))
            });
            error += distance(exact, tree.push(x, y));
            size += exact.0.hypot(exact.1);
        }
        assert!(error < 0.05 * size, "{error} of {size}");
    }

    #[test]
    fn odd_graphs_are_no_trouble() {
        assert!(layout(&Graph::empty(0).unwrap(), 0).is_empty());
        for n in 1..4 {
            let at = layout(&Graph::empty(n).unwrap(), 0);
            assert!(
                at.iter().all(|(x, y)| x.is_finite() && y.is_finite()),
                "{at:?}"
            );
        }
        // Points in one place end in cells that are no longer divided.
        assert_eq!(Tree::new(&[(1.0, 1.0); 9]).cells[0].count, 9.0);
    }
}
