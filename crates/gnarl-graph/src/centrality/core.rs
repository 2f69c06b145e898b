//! Core numbers by the bucket algorithm of Batagelj and Zaveršnik (2003).
//!
//! The thesis' pseudo-code (`algo:kcore`) prunes once for each k; a k-core needs pruning to a fixed point, which
//! removing nodes in order of their remaining degree does.

use crate::graph::Graph;

/// The core number of every node: the largest k such that it is in a subgraph of minimum degree k.
///
/// Weights are not used. O(n + m) time; four `u32` arrays of n beside the result.
pub fn core_numbers(graph: &Graph) -> Vec<u32> {
    let n = graph.num_nodes();
    let mut degree: Vec<u32> = (0..n as u32).map(|u| graph.degree(u) as u32).collect();
    let max_degree = degree.iter().copied().max().unwrap_or(0) as usize;

    // `order` holds the nodes by remaining degree; `first[d]` is where those of degree d begin.
    let mut first = vec![0u32; max_degree + 2];
    for &d in &degree {
        first[d as usize + 1] += 1;
    }
    for d in 0..=max_degree {
        first[d + 1] += first[d];
    }
    let mut cursor = first.clone();
    let mut order = vec![0u32; n];
    let mut position = vec![0u32; n];
    for u in 0..n {
        let slot = &mut cursor[degree[u] as usize];
        order[*slot as usize] = u as u32;
        position[u] = *slot;
        *slot += 1;
    }
    drop(cursor);

    for i in 0..n {
        let u = order[i];
        let core = degree[u as usize];
        for &v in graph.neighbours(u) {
            let d = degree[v as usize];
            if d > core {
                // Move v to the front of its bucket, then let the bucket begin after it: v is one degree lower.
                let front = first[d as usize];
                let w = order[front as usize];
                let at = position[v as usize];
                order[front as usize] = v;
                order[at as usize] = w;
                position[v as usize] = front;
                position[w as usize] = at;
                first[d as usize] = front + 1;
                degree[v as usize] = d - 1;
            }
        }
    }
    degree
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: prune nodes of degree below k until none is left, for each k.
    fn by_definition(graph: &Graph) -> Vec<u32> {
        let n = graph.num_nodes();
        let mut core = vec![0u32; n];
        for k in 1..=n as u32 {
            let mut alive = vec![true; n];
            loop {
                let weak: Vec<usize> = (0..n)
                    .filter(|&u| {
                        let degree = graph.neighbours(u as u32).iter().filter(|&&v| alive[v as usize]).count();
                        alive[u] && (degree as u32) < k
                    })
                    .collect();
                if weak.is_empty() {
                    break;
                }
                for u in weak {
                    alive[u] = false;
                }
            }
            for u in 0..n {
                if alive[u] {
                    core[u] = k;
                }
            }
        }
        core
    }

    proptest! {
        #[test]
        fn equals_the_definition(n in 1usize..14, edges in prop::collection::vec((0u32..14, 0u32..14), 0..60)) {
            let inside = edges.into_iter().filter(|&(u, v)| (u as usize) < n && (v as usize) < n);
            let g = Graph::from_edges(n, inside).unwrap().0;
            prop_assert_eq!(core_numbers(&g), by_definition(&g));
        }
    }

    #[test]
    fn pruning_goes_to_a_fixed_point() {
        // A path has core number 1 everywhere; one pruning pass for k = 2 would leave its inner nodes in the 2-core.
        let path = Graph::from_edges(6, (1..6).map(|v| (v - 1, v))).unwrap().0;
        assert_eq!(core_numbers(&path), [1; 6]);
    }

    #[test]
    fn complete_empty_and_isolated() {
        let k5 = Graph::from_edges(6, (0..5u32).flat_map(|u| (0..u).map(move |v| (u, v)))).unwrap().0;
        assert_eq!(core_numbers(&k5), [4, 4, 4, 4, 4, 0]);
        assert!(core_numbers(&Graph::empty(0).unwrap()).is_empty());
    }
}
