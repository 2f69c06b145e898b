//! Facts about a graph: density, degrees, components, homophily, diameter, random walk (thesis ch. 2).

use crate::graph::Graph;

/// Which component each node belongs to, numbered by their smallest node.
#[derive(Debug, Clone)]
pub struct Components {
    of: Vec<u32>,
    sizes: Vec<usize>,
}

impl Components {
    /// The component of node `u`.
    pub fn of(&self, u: u32) -> u32 {
        self.of[u as usize]
    }

    /// The size of each component.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// How many components there are.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// The largest component; of equals the one with the smallest node. `None` for a graph without nodes.
    pub fn largest(&self) -> Option<u32> {
        (0..self.sizes.len() as u32).max_by_key(|&c| (self.sizes[c as usize], std::cmp::Reverse(c)))
    }
}

/// The connected components, by breadth-first search. O(n + m).
pub fn components(graph: &Graph) -> Components {
    const UNSEEN: u32 = u32::MAX;
    let mut of = vec![UNSEEN; graph.num_nodes()];
    let mut sizes = Vec::new();
    let mut queue = Vec::new();
    for start in 0..graph.num_nodes() as u32 {
        if of[start as usize] != UNSEEN {
            continue;
        }
        let component = sizes.len() as u32;
        of[start as usize] = component;
        queue.clear();
        queue.push(start);
        let mut next = 0;
        while next < queue.len() {
            for &v in graph.neighbours(queue[next]) {
                if of[v as usize] == UNSEEN {
                    of[v as usize] = component;
                    queue.push(v);
                }
            }
            next += 1;
        }
        sizes.push(queue.len());
    }
    Components { of, sizes }
}
