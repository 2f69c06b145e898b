//! Fixed shapes: complete graph, path, cycle, star, grid.

use super::{check_size, num_pairs};
use crate::error::{Error, Result};
use crate::graph::Graph;

/// Returns the complete graph of `n` nodes.
pub fn complete(n: usize) -> Result<Graph> {
    check_size("complete", n, num_pairs(n))?;
    build(n, (0..n as u32).flat_map(|u| (0..u).map(move |v| (v, u))))
}

/// Returns the path `0 - 1 - … - n-1`.
pub fn path(n: usize) -> Result<Graph> {
    check_size("path", n, n as f64)?;
    build(n, (1..n as u32).map(|v| (v - 1, v)))
}

/// Returns a path with its ends joined; with fewer than three nodes it is the path.
pub fn cycle(n: usize) -> Result<Graph> {
    check_size("cycle", n, n as f64)?;
    build(
        n,
        (1..n as u32)
            .map(|v| (v - 1, v))
            .chain((n > 2).then(|| (n as u32 - 1, 0))),
    )
}

/// Returns node 0 joined to each of the other `n - 1`. (NetworkX's `star_graph(n)` has one node
/// more.)
pub fn star(n: usize) -> Result<Graph> {
    check_size("star", n, n as f64)?;
    build(n, (1..n as u32).map(|v| (0, v)))
}

/// Returns a grid of `rows × cols` nodes, each joined to those right of it and below it; node `(i,
/// j)` is `i · cols + j`.
pub fn grid(rows: usize, cols: usize) -> Result<Graph> {
    let n = rows.checked_mul(cols).ok_or_else(|| {
        Error::argument("grid", format!("{rows} rows of {cols} nodes are too many"))
    })?;
    check_size("grid", n, 2.0 * n as f64)?;
    let (n, cols) = (n as u32, cols as u32);
    let right = (0..n)
        .filter(move |u| (u + 1) % cols != 0)
        .map(|u| (u, u + 1));
    let below = (cols..n).map(|v| (v - cols, v));
    build(n as usize, right.chain(below))
}

fn build(n: usize, edges: impl Iterator<Item = (u32, u32)>) -> Result<Graph> {
    Ok(Graph::from_edges(n, edges)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(graph: Result<Graph>) -> Vec<(u32, u32)> {
        graph.unwrap().edges().collect()
    }

    #[test]
    fn small_ones_by_hand() {
        assert_eq!(edges(complete(3)), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(edges(path(3)), [(0, 1), (1, 2)]);
        assert_eq!(edges(cycle(4)), [(0, 1), (0, 3), (1, 2), (2, 3)]);
        assert_eq!(edges(cycle(2)), [(0, 1)]);
        assert_eq!(edges(star(4)), [(0, 1), (0, 2), (0, 3)]);
        assert_eq!(
            edges(grid(2, 3)),
            [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]
        );
        assert_eq!(grid(7, 5).unwrap().num_edges(), 7 * 4 + 6 * 5);
    }

    #[test]
    fn none_and_one() {
        for make in [complete, path, cycle, star] {
            for n in [0, 1] {
                let g = make(n).unwrap();
                assert_eq!((g.num_nodes(), g.num_edges()), (n, 0));
            }
        }
        assert_eq!(grid(0, 5).unwrap().num_nodes(), 0);
        assert_eq!(grid(5, 0).unwrap().num_nodes(), 0);
        assert_eq!(edges(grid(1, 3)), [(0, 1), (1, 2)]);
    }

    #[test]
    fn huge_ones_are_refused_before_allocating() {
        let e = complete(1_000_000).unwrap_err().to_string();
        assert_eq!(
            e,
            "complete: 1000000 nodes with some 499999500000 edges, at most 536870912 edges are allowed"
        );
        for refused in [
            path(usize::MAX),
            cycle(1 << 40),
            star(1 << 32),
            grid(1 << 20, 1 << 20),
        ] {
            assert!(
                refused
                    .unwrap_err()
                    .to_string()
                    .contains("nodes, at most 536870912 are allowed")
            );
        }
        assert!(
            grid(usize::MAX, 2)
                .unwrap_err()
                .to_string()
                .contains("too many")
        );
    }
}
