//! DropNode (You et al. 2020; thesis ch. 7, baselines): every node goes with the same chance, by
//! itself, and its edges with it. Where the nodes of one graph are classified none can go: as in
//! GRAND (Feng et al. 2020) a node's features go instead, all of them, and the features of the
//! others are scaled up, so that what a layer sums over keeps its mean.

use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{
    COPIES, Copies, GraphTransform, check_share, kept_factors, with_scaled_features,
};

/// Nodes removed at random. Of a graph with nodes one always stays: a graph without any says
/// nothing about its class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DropNode {
    /// the chance of a node to go, 0 to 1.
    pub strength: f64,
    /// How often a copy is made.
    pub copies: Copies,
}

impl DropNode {
    /// With this share, copies made anew in every epoch.
    pub const fn share(strength: f64) -> Self {
        Self {
            strength,
            copies: Copies::EachEpoch,
        }
    }
}

impl Default for DropNode {
    fn default() -> Self {
        Self::share(0.2)
    }
}

impl Choice for DropNode {
    const NAME: &'static str = "dropnode";
    const ABOUT: &'static str = "copies of the training graphs without some nodes, or of the graph without the features of some";
    const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "strength",
            "X",
            "the chance of a node to go, 0 to 1 [default: 0.2]",
        ),
        COPIES,
    ];

    fn check(&self) -> Result<()> {
        check_share(Self::NAME, self.strength)
    }
}

impl Augmentation for DropNode {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }

    fn keeps_nodes(&self) -> bool {
        true
    }

    fn works_on_features(&self) -> bool {
        true
    }
}

impl GraphTransform for DropNode {
    fn apply_in_place(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let kept = kept_factors(graph.num_nodes(), self.strength, rng);
        with_scaled_features(graph, |node, _| kept[node])
    }

    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let n = graph.num_nodes() as u32;
        let mut left: Vec<u32> = (0..n).filter(|_| !rng.random_bool(self.strength)).collect();
        if left.is_empty() && n > 0 {
            left.push(rng.random_range(0..n));
        }
        graph.subgraph(&left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;

    #[test]
    fn the_rate_is_met_in_expectation_and_one_node_stays() {
        let graph = generate::erdos_renyi(60, 0.2, 1).unwrap();
        for rate in [0.0, 0.1, 0.5] {
            let transform = DropNode::share(rate);
            let left = |seed| {
                transform
                    .apply(&graph, &mut stream(seed, "drop node test", 0))
                    .unwrap()
                    .num_nodes()
            };
            let (kept, all) = ((0..300).map(left).sum::<usize>() as f64, 300.0 * 60.0);
            // Five standard deviations of so many coin tosses.
            assert!(
                (kept - (1.0 - rate) * all).abs() <= 5.0 * f64::sqrt(all * rate * (1.0 - rate)),
                "{rate}: {kept}"
            );
        }
        let all = DropNode::share(1.0);
        let who = |seed| {
            let labelled = generate::star(5)
                .unwrap()
                .with_features(gnarl_graph::Features::Dense(
                    gnarl_graph::DenseMatrix::new(5, 1, vec![0.0, 1.0, 2.0, 3.0, 4.0]).unwrap(),
                ));
            let left = all
                .apply(&labelled.unwrap(), &mut stream(seed, "drop node test", 1))
                .unwrap();
            assert_eq!((left.num_nodes(), left.num_edges()), (1, 0));
            left.features().unwrap().to_dense().row(0)[0] as usize
        };
        let mut seen = [0; 5];
        (0..100).for_each(|seed| seen[who(seed)] += 1);
        assert!(
            seen.iter().all(|&times| times > 0),
            "any node may be the one: {seen:?}"
        );
        assert_eq!(
            DropNode::share(-1.0).check().unwrap_err().to_string(),
            "dropnode: a strength of -1; it must lie in 0 to 1"
        );
    }
}
