//! The configuration model as an augmentation (thesis `gen:app:config_models`): edges broken with a chance and their halves rejoined at
//! random, so that every node keeps its degree. [`rewire`] says how pairs that no simple graph has are avoided.

use gnarl_graph::generate::rewire;
use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use super::transform::{GraphTransform, check_share};

/// Edges rejoined at random; degrees and what nodes carry stay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Configuration {
    rate: f64,
}

impl Configuration {
    /// `rate` is the thesis' r, the chance of an edge to break, 0 to 1.
    pub fn new(rate: f64) -> Result<Self> {
        Ok(Self { rate: check_share("configuration", rate)? })
    }
}

impl GraphTransform for Configuration {
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        rewire(graph, self.rate, rng.random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;

    #[test]
    fn degrees_stay_and_edges_move() {
        let degrees = |g: &Graph| (0..g.num_nodes() as u32).map(|u| g.degree(u)).collect::<Vec<_>>();
        let graph = generate::erdos_renyi(40, 0.2, 1).unwrap();
        let moved = |rate, seed| {
            let other = Configuration::new(rate).unwrap().apply(&graph, &mut stream(seed, "configuration", 0)).unwrap();
            assert_eq!(degrees(&other), degrees(&graph));
            graph.edges().filter(|&(u, v)| !other.has_edge(u, v)).count()
        };
        assert_eq!(moved(0.0, 1), 0);
        let (few, many): (usize, usize) = ((0..20).map(|s| moved(0.2, s)).sum(), (0..20).map(|s| moved(0.8, s)).sum());
        assert!(few > 0 && many > 2 * few, "{few}, {many}");
        let e = Configuration::new(7.0).unwrap_err().to_string();
        assert_eq!(e, "configuration: a strength of 7; it must lie in 0 to 1");
    }
}
