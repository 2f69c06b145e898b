//! Computes the published bound for GIN ([Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2404.17947)).
//!
//! It bounds differences of features by the size of the features and does not grow with depth as
//! sums over neighbours do. It is computed to be compared with the sound bounds, which count a
//! node's own message in addition to those of its neighbours (`LayerCut::own`).

use super::Bounds;
use super::gains::Gains;

impl Bounds {
    /// `Π||W||_inf (||X|| L d + epsilon)` for a largest degree d.
    pub(super) fn thesis_gin(&self, epsilon: f64) -> f64 {
        let most = self
            .structure
            .as_ref()
            .map_or(f64::NAN, |structure| structure.most);
        self.product(Gains::thesis_linf)
            * (self.input_norm * self.layers.len() as f64 * most + epsilon)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{get, moved, with_features};
    use crate::classifier::WhiteBox;
    use crate::perturb::Norm;
    use crate::robustness::bounds::{Bounds, Budget, Distance};
    use gnarl_graph::generate::path;
    use gnarl_nn::networks::{Backbone, Network, NetworkConfig};
    use gnarl_nn::operator::OperatorChoice;
    use gnarl_nn::testing::plant;

    /// One layer on one edge with maps of one: each node adds its neighbour to itself, so both
    /// predictions move by twice epsilon. The published bound has the norm of X, 5, times a degree
    /// of one, and epsilon once.
    #[test]
    fn a_node_adds_its_own_message() {
        let config = NetworkConfig {
            hidden: 1,
            layers: 1,
            bias: false,
            ..NetworkConfig::new(Backbone::GIN)
        };
        let network = Network::new(&config, &gnarl_nn::networks::Shape::new(1, 1, 1.0), 1).unwrap();
        ["layers.0.mlp.0.weight", "layers.0.mlp.1.weight"]
            .iter()
            .for_each(|w| plant(network.params(), w, &[1.0]));
        let model = WhiteBox::new(network, OperatorChoice::Default).unwrap();
        let graph = with_features(path(2).unwrap(), 1, vec![3.0, 4.0]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let found = bounds
            .within(Budget::Features {
                norm: Norm::L2,
                epsilon: 10.0,
            })
            .unwrap();
        let seen = moved(
            &model,
            &graph,
            &with_features(graph.clone(), 1, vec![13.0, 14.0]),
        )
        .scores;
        assert_eq!(seen.linf, 20.0);
        let linf = get(&found, Distance::Linf);
        assert!((linf.sound / 20.0 - 1.0).abs() < 2e-5, "{linf:?}");
        assert_eq!(linf.thesis, Some(15.0), "below what was seen");
    }
}
