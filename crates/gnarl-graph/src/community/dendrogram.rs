//! Dendrograms of agglomerative methods: communities merged two by two, with the modularity of each
//! stage.

use super::numbered;
use crate::error::{Error, Result};

/// The merges that lead from single nodes to one community per component, and the modularity of
/// each stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Dendrogram {
    num_nodes: usize,
    merges: Vec<(u32, u32)>,
    modularity: Vec<f64>,
}

/// Modularities closer than this are equal.
const EQUAL: f64 = 1e-12;

impl Dendrogram {
    pub(super) fn new(num_nodes: usize, merges: Vec<(u32, u32)>, modularity: Vec<f64>) -> Self {
        debug_assert_eq!(modularity.len(), merges.len() + 1);
        Self {
            num_nodes,
            merges,
            modularity,
        }
    }

    /// Returns the merges in order: a node of each of the two communities.
    pub fn merges(&self) -> &[(u32, u32)] {
        &self.merges
    }

    /// Returns the modularity before the first merge and after each; zero if the graph has no
    /// edges.
    pub fn modularity(&self) -> &[f64] {
        &self.modularity
    }

    /// Returns the partition of largest modularity, the one with the fewest communities in case of
    /// ties.
    pub fn best(&self) -> Vec<u32> {
        let largest = self
            .modularity
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let stage = self
            .modularity
            .iter()
            .rposition(|q| *q >= largest - EQUAL)
            .unwrap_or(0);
        self.after(stage)
    }

    /// Cuts the dendrogram into this many communities. Fails if there are more components or fewer
    /// nodes than that.
    pub fn cut(&self, communities: usize) -> Result<Vec<u32>> {
        let (fewest, most) = (self.num_nodes - self.merges.len(), self.num_nodes);
        if !(fewest..=most).contains(&communities) {
            let what = format!(
                "{communities} communities, from {fewest} (a component each) to {most} are possible"
            );
            return Err(Error::argument("dendrogram", what));
        }
        Ok(self.after(self.num_nodes - communities))
    }

    fn after(&self, num_merges: usize) -> Vec<u32> {
        let mut parent: Vec<u32> = (0..self.num_nodes as u32).collect();
        fn root(parent: &mut [u32], mut u: u32) -> u32 {
            while parent[u as usize] != u {
                parent[u as usize] = parent[parent[u as usize] as usize];
                u = parent[u as usize];
            }
            u
        }
        for &(a, b) in &self.merges[..num_merges] {
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            parent[a.max(b) as usize] = a.min(b);
        }
        numbered((0..self.num_nodes as u32).map(|u| root(&mut parent, u)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_counted_from_the_leaves() {
        let d = Dendrogram::new(4, vec![(2, 3), (0, 2)], vec![0.0, 0.5, 0.5]);
        assert_eq!(d.best(), [0, 1, 0, 0], "of equals the fewest");
        assert_eq!(d.cut(4).unwrap(), [0, 1, 2, 3]);
        assert_eq!(d.cut(3).unwrap(), [0, 1, 2, 2]);
        let e = d.cut(1).unwrap_err().to_string();
        assert_eq!(
            e,
            "dendrogram: 1 communities, from 2 (a component each) to 4 are possible"
        );
        assert!(d.cut(5).is_err());
        assert!(Dendrogram::new(0, vec![], vec![0.0]).best().is_empty());
    }
}
