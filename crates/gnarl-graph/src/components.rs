//! Connected components of compressed sparse rows. The module is below [`Graph`](crate::Graph),
//! which takes its largest component from here.

/// The component of each node, numbered by smallest node.
#[derive(Debug, Clone)]
pub struct Components {
    of: Vec<u32>,
    sizes: Vec<usize>,
}

impl Components {
    /// Finds the components of symmetric rows by breadth-first search. O(n + m).
    ///
    /// # Panics
    /// If the rows are not the rows of a graph: `offsets` rise to the number of `targets`, which
    /// are rows themselves.
    pub fn of_rows(offsets: &[u64], targets: &[u32]) -> Self {
        const UNSEEN: u32 = u32::MAX;
        let num_nodes = offsets.len() - 1;
        let mut of = vec![UNSEEN; num_nodes];
        let mut sizes = Vec::new();
        let mut queue = Vec::new();
        for start in 0..num_nodes as u32 {
            if of[start as usize] != UNSEEN {
                continue;
            }
            let component = sizes.len() as u32;
            of[start as usize] = component;
            queue.clear();
            queue.push(start);
            let mut next = 0;
            while next < queue.len() {
                let u = queue[next] as usize;
                for &v in &targets[offsets[u] as usize..offsets[u + 1] as usize] {
                    if of[v as usize] == UNSEEN {
                        of[v as usize] = component;
                        queue.push(v);
                    }
                }
                next += 1;
            }
            sizes.push(queue.len());
        }
        Self { of, sizes }
    }

    /// Returns the component of node `u`.
    pub fn of(&self, u: u32) -> u32 {
        self.of[u as usize]
    }

    /// Returns the size of each component.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the number of components.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the largest component, the one with the smallest node in case of ties; `None` for a
    /// graph without nodes.
    pub fn largest(&self) -> Option<u32> {
        (0..self.sizes.len() as u32).max_by_key(|&c| (self.sizes[c as usize], std::cmp::Reverse(c)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pairs_and_a_node_alone() {
        // 0-3, 1 alone, 2-4.
        let found = Components::of_rows(&[0, 1, 1, 2, 3, 4], &[3, 4, 0, 2]);
        assert_eq!(
            (0..5).map(|u| found.of(u)).collect::<Vec<_>>(),
            [0, 1, 2, 0, 2]
        );
        assert_eq!(
            (found.sizes(), found.count(), found.largest()),
            (&[2, 1, 2][..], 3, Some(0))
        );
        assert_eq!(Components::of_rows(&[0], &[]).largest(), None);
    }
}
