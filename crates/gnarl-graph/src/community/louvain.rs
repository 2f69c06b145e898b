//! Louvain ([Blondel et al. 2008](https://arxiv.org/abs/0803.0476)): moves nodes to the
//! neighbouring community that raises modularity most until no move does, makes each community a
//! node, and repeats.

use rand::seq::SliceRandom;

use super::{numbered, refuse_negative_weights};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::{Rng, stream};

const OP: &str = "louvain";

/// Smallest gain in modularity that counts as one: a smaller gain may be rounding, which can cycle
/// forever.
const LEAST_GAIN: f64 = 1e-12;

/// Finds communities with Louvain's method; `resolution` is 1 for plain modularity, larger values
/// give more communities.
///
/// The seed decides the order in which nodes are visited. In case of equal gains a node stays, else
/// it moves to the community found first in its row. On a graph without edges every node is a
/// community. O(n + m) memory and time per pass. Fails for negative weights and for a resolution
/// that is not a number of at least zero.
///
/// ```
/// use gnarl_graph::{community::louvain, Graph};
/// let g = Graph::from_edges(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)])?.0;
/// assert_eq!(louvain(&g, 1.0, 7)?, [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn louvain(graph: &Graph, resolution: f64, seed: u64) -> Result<Vec<u32>> {
    refuse_negative_weights(OP, graph)?;
    if !(resolution.is_finite() && resolution >= 0.0) {
        return Err(Error::argument(
            OP,
            format!("resolution {resolution} must be a number of at least 0"),
        ));
    }
    let mut level = Level::new(graph);
    let mut of: Vec<u32> = (0..graph.num_nodes() as u32).collect();
    let rng = &mut stream(seed, OP, 0);
    while let Some(communities) = level.moved(resolution, rng) {
        of.iter_mut().for_each(|c| *c = communities[*c as usize]);
        level = level.contracted(&communities);
    }
    Ok(numbered(of))
}

/// A graph whose nodes are communities of the level below.
struct Level {
    offsets: Vec<usize>,
    targets: Vec<u32>,
    weights: Vec<f64>,
    /// Weight of all arcs that start at each node, including self-loops.
    strength: Vec<f64>,
    total: f64,
}

impl Level {
    fn new(graph: &Graph) -> Self {
        let weights: Vec<f64> = (0..graph.num_arcs()).map(|k| graph.arc_weight(k)).collect();
        let strength = crate::centrality::degrees(graph);
        Self {
            offsets: graph.offsets().iter().map(|&o| o as usize).collect(),
            targets: graph.targets().to_vec(),
            total: strength.iter().sum(),
            weights,
            strength,
        }
    }

    fn num_nodes(&self) -> usize {
        self.strength.len()
    }

    fn arcs(&self, u: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.offsets[u]..self.offsets[u + 1];
        self.targets[range.clone()]
            .iter()
            .zip(&self.weights[range])
            .map(|(&v, &w)| (v as usize, w))
    }

    /// Returns the community of each node once no single move raises modularity; `None` if no node
    /// moved.
    fn moved(&self, resolution: f64, rng: &mut Rng) -> Option<Vec<u32>> {
        let n = self.num_nodes();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.shuffle(rng);
        let mut of: Vec<u32> = (0..n as u32).collect();
        let mut strength = self.strength.clone();
        // Weight from the current node to each community, and the communities of non-zero weight.
        let mut towards = vec![0.0; n];
        let mut around: Vec<usize> = Vec::new();
        let mut any = false;
        loop {
            let mut moves = 0usize;
            for &u in &order {
                let u = u as usize;
                let home = of[u] as usize;
                around.clear();
                for (v, w) in self.arcs(u).filter(|&(v, w)| v != u && w > 0.0) {
                    let c = of[v] as usize;
                    if towards[c] == 0.0 {
                        around.push(c);
                    }
                    towards[c] += w;
                }
                let own = self.strength[u];
                strength[home] -= own;
                let score = |c: usize| towards[c] - resolution * own * strength[c] / self.total;
                let (mut best, mut most) = (home, score(home) + LEAST_GAIN * self.total / 2.0);
                for &c in &around {
                    if score(c) > most {
                        (best, most) = (c, score(c));
                    }
                }
                strength[best] += own;
                of[u] = best as u32;
                moves += usize::from(best != home);
                around.iter().for_each(|&c| towards[c] = 0.0);
            }
            if moves == 0 {
                return any.then(|| numbered(of));
            }
            any = true;
        }
    }

    /// Contracts these communities, numbered `0, 1, …`, to nodes; edges within a community become
    /// self-loops.
    fn contracted(&self, of: &[u32]) -> Self {
        let count = of.iter().max().map_or(0, |&c| c as usize + 1);
        let mut start = vec![0usize; count + 1];
        of.iter().for_each(|&c| start[c as usize + 1] += 1);
        (0..count).for_each(|c| start[c + 1] += start[c]);
        let mut members = vec![0u32; of.len()];
        let mut next = start.clone();
        for (u, &c) in of.iter().enumerate() {
            members[next[c as usize]] = u as u32;
            next[c as usize] += 1;
        }
        let mut upper = Self {
            offsets: vec![0],
            targets: Vec::new(),
            weights: Vec::new(),
            strength: vec![0.0; count],
            total: self.total,
        };
        let mut towards = vec![0.0; count];
        for c in 0..count {
            let row = upper.targets.len();
            for &u in &members[start[c]..start[c + 1]] {
                upper.strength[c] += self.strength[u as usize];
                for (v, w) in self.arcs(u as usize).filter(|&(_, w)| w > 0.0) {
                    let d = of[v];
                    if towards[d as usize] == 0.0 {
                        upper.targets.push(d);
                    }
                    towards[d as usize] += w;
                }
            }
            upper.targets[row..].sort_unstable();
            for &d in &upper.targets[row..] {
                upper.weights.push(std::mem::take(&mut towards[d as usize]));
            }
            upper.offsets.push(upper.targets.len());
        }
        upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{SbmConfig, erdos_renyi, sbm};
    use crate::metrics::modularity;

    #[test]
    fn no_single_move_raises_modularity() {
        let g = erdos_renyi(80, 0.06, 3).unwrap();
        let level = Level::new(&g);
        let mut of = level.moved(1.0, &mut stream(1, "test", 0)).unwrap();
        let q = modularity(&g, &of, 1.0).unwrap();
        for u in 0..80 {
            let home = of[u];
            for c in 0..80 {
                of[u] = c;
                assert!(
                    modularity(&g, &of, 1.0).unwrap() <= q + 1e-9,
                    "node {u} to {c}"
                );
            }
            of[u] = home;
        }
        // The whole method does at least as well as its first level.
        assert!(modularity(&g, &louvain(&g, 1.0, 1).unwrap(), 1.0).unwrap() > 0.99 * q);
    }

    #[test]
    fn contraction_keeps_the_weights() {
        let g = erdos_renyi(50, 0.1, 9).unwrap();
        let level = Level::new(&g);
        let of: Vec<u32> = (0..50).map(|u| u % 7).collect();
        let upper = level.contracted(&of);
        assert_eq!((upper.num_nodes(), upper.total), (7, level.total));
        assert_eq!(upper.weights.iter().sum::<f64>(), level.total);
        for c in 0..7 {
            assert_eq!(
                upper.arcs(c).map(|(_, w)| w).sum::<f64>(),
                upper.strength[c]
            );
            assert!(
                upper
                    .arcs(c)
                    .all(|(d, w)| upper.arcs(d).any(|(e, back)| e == c && back == w)),
                "symmetric"
            );
        }
    }

    #[test]
    fn resolution_and_seed_change_the_result() {
        let config = SbmConfig::planted(6, 30, 0.4, 0.02);
        let g = sbm(&config, 3).unwrap();
        let count = |resolution| *louvain(&g, resolution, 0).unwrap().iter().max().unwrap() + 1;
        assert_eq!(count(1.0), 6);
        assert!(
            count(0.05) < 6 && count(6.0) > 6,
            "{} {}",
            count(0.05),
            count(6.0)
        );
        let noise = erdos_renyi(100, 0.08, 1).unwrap();
        let of = |seed| louvain(&noise, 1.0, seed).unwrap();
        assert_eq!(of(1), of(1));
        assert!((2..9).any(|seed| of(seed) != of(1)));
        let e = louvain(&g, f64::NAN, 0).unwrap_err().to_string();
        assert_eq!(e, "louvain: resolution NaN must be a number of at least 0");
    }
}
