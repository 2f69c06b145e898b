//! A sparse and a dense half of one graph, joined: equal label distributions, different densities.
//! The graph motivates adaptive depth in [ADMP-GNN](https://arxiv.org/abs/2509.01170).
//!
//! Nodes are ranked within each class by core number, ties by id. The lower-ranked half of the
//! class is its sparse pool, the upper half its dense pool. Equally many nodes are sampled from
//! both pools by the seed, in proportion to the class (largest remainders), so the halves have one
//! label distribution. The graph is the one that all sampled nodes induce: edges within and between
//! the halves are those of the original. The published study leaves out classes that are rare in
//! one region; ranking within the class makes every class equally common in both.

use rand::seq::SliceRandom;

use crate::centrality::core_numbers;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::stream;

const OP: &str = "sparse_dense_halves";

/// A graph of a sparse and a dense half.
#[derive(Debug, Clone)]
pub struct Halves {
    /// The joined graph, with features and labels: first the sparse half, then the dense one.
    pub graph: Graph,
    /// Number of nodes of the sparse half, which come first.
    pub num_sparse: usize,
    /// Original id of each node.
    pub nodes: Vec<u32>,
}

/// Samples the two halves, `num_nodes` together. The graph must have labels; `num_nodes` is even
/// and at most the size of the pools, which is all nodes but one for every class of odd size. O(n
/// log n + m).
pub fn sparse_dense_halves(graph: &Graph, num_nodes: usize, seed: u64) -> Result<Halves> {
    let labels = graph.labels().ok_or_else(|| {
        Error::missing(
            OP,
            "the graph has no labels to match",
            "take a graph with labels",
        )
    })?;
    let core = core_numbers(graph);
    let mut classes: Vec<Vec<u32>> = vec![Vec::new(); labels.num_classes()];
    for u in 0..graph.num_nodes() as u32 {
        if let Some(class) = labels.get(u) {
            classes[class as usize].push(u);
        }
    }
    let room: Vec<usize> = classes.iter().map(|nodes| nodes.len() / 2).collect();
    let (half, most) = (num_nodes / 2, room.iter().sum::<usize>());
    if num_nodes == 0 || !num_nodes.is_multiple_of(2) || half > most {
        let what = format!(
            "{num_nodes} nodes, an even number from 2 to {} is needed for this graph",
            2 * most
        );
        return Err(Error::argument(OP, what));
    }
    let counts = proportional(&room, half);
    let (mut sparse, mut dense) = (Vec::with_capacity(half), Vec::with_capacity(half));
    for (class, (mut nodes, count)) in classes.into_iter().zip(counts).enumerate() {
        nodes.sort_by_key(|&u| core[u as usize]);
        let pool = nodes.len() / 2;
        let upper = nodes.len() - pool;
        for (region, (half, pool)) in [(&mut sparse, 0..pool), (&mut dense, upper..nodes.len())]
            .into_iter()
            .enumerate()
        {
            let pool = &mut nodes[pool];
            pool.shuffle(&mut stream(
                seed,
                "sparse and dense halves",
                (2 * class + region) as u64,
            ));
            half.extend_from_slice(&pool[..count]);
        }
    }
    sparse.sort_unstable();
    dense.sort_unstable();
    let nodes = [sparse, dense].concat();
    let graph = graph.subgraph(&nodes)?.with_splits(Vec::new())?;
    Ok(Halves {
        graph,
        num_sparse: half,
        nodes,
    })
}

/// Splits `total` in proportion to `room`, no share above its room: floors first, then one each to
/// the largest remainders (the first in case of ties).
fn proportional(room: &[usize], total: usize) -> Vec<usize> {
    let all = room.iter().sum::<usize>().max(1) as u128;
    let share = |r: usize| r as u128 * total as u128;
    let mut counts: Vec<usize> = room.iter().map(|&r| (share(r) / all) as usize).collect();
    let mut by_remainder: Vec<usize> = (0..room.len()).collect();
    by_remainder.sort_by_key(|&c| std::cmp::Reverse(share(room[c]) % all));
    let left = total - counts.iter().sum::<usize>();
    by_remainder.retain(|&c| counts[c] < room[c]);
    by_remainder
        .into_iter()
        .take(left)
        .for_each(|c| counts[c] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{complete, path};
    use crate::labels::Labels;
    use crate::properties::degree_summary;

    /// Returns two cliques of 10 (core 9) and two paths of 10 (core 1), with a class for each pair
    /// of a clique and a path.
    fn cliques_and_paths() -> Graph {
        let parts = [
            complete(10).unwrap(),
            path(10).unwrap(),
            complete(10).unwrap(),
            path(10).unwrap(),
        ];
        let edges = parts.iter().enumerate().flat_map(|(i, part)| {
            part.edges()
                .map(move |(u, v)| (u + 10 * i as u32, v + 10 * i as u32))
                .collect::<Vec<_>>()
        });
        let labels = Labels::new((0..40).map(|u| Some(u / 20)).collect(), 2).unwrap();
        Graph::from_edges(40, edges)
            .unwrap()
            .0
            .with_labels(labels)
            .unwrap()
    }

    #[test]
    fn the_halves_are_the_paths_and_the_cliques() {
        let halves = sparse_dense_halves(&cliques_and_paths(), 40, 1).unwrap();
        assert_eq!(halves.num_sparse, 20);
        assert!(
            halves.nodes[..20]
                .iter()
                .all(|u| (10..20).contains(u) || *u >= 30),
            "{:?}",
            halves.nodes
        );
        let some = sparse_dense_halves(&cliques_and_paths(), 12, 1).unwrap();
        let classes = |from: usize, to: usize| {
            let of = |u: usize| some.graph.labels().unwrap().get(u as u32).unwrap();
            (from..to).filter(|&u| of(u) == 0).count()
        };
        assert_eq!(
            (some.num_sparse, classes(0, 6), classes(6, 12)),
            (6, 3, 3),
            "half of each class in each half"
        );
        let dense = some.graph.subgraph(&(6..12).collect::<Vec<_>>()).unwrap();
        assert_eq!(degree_summary(&dense).mean, 2.0, "two triangles");
    }

    #[test]
    fn the_seed_decides_and_what_cannot_be_is_refused() {
        let graph = cliques_and_paths();
        let nodes = |seed| sparse_dense_halves(&graph, 12, seed).unwrap().nodes;
        assert_eq!(nodes(1), nodes(1));
        assert_ne!(nodes(1), nodes(2));
        for wrong in [0, 13, 42] {
            let e = sparse_dense_halves(&graph, wrong, 1)
                .unwrap_err()
                .to_string();
            assert!(
                e.contains(&format!("{wrong} nodes, an even number from 2 to 40")),
                "{e}"
            );
        }
        assert!(
            sparse_dense_halves(&path(4).unwrap(), 2, 1)
                .unwrap_err()
                .to_string()
                .contains("no labels")
        );
    }

    #[test]
    fn shares_by_hand() {
        assert_eq!(proportional(&[1, 2, 3], 6), [1, 2, 3]);
        // 5 of 6: 0.83, 1.67, 2.5; floors 0, 1, 2; two left for remainders 0.83 and 0.67.
        assert_eq!(proportional(&[1, 2, 3], 5), [1, 2, 2]);
        assert_eq!(proportional(&[0, 4], 3), [0, 3]);
    }
}
