//! Feature masking (You et al. 2020; Zhu et al. 2020): every column of the features goes with the
//! same chance, for all nodes of a graph alike. Those that stay are scaled up, so that what a layer
//! sums over keeps its mean.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{
    COPIES, Copies, GraphTransform, check_share, kept_factors, with_scaled_features,
};

/// Columns of the features set to zero at random; nodes and edges stay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FeatureMask {
    /// The chance of a column to go, 0 to 1.
    pub strength: f64,
    /// How often a copy is made.
    pub copies: Copies,
}

impl FeatureMask {
    /// With this share, copies made anew in every epoch.
    pub const fn share(strength: f64) -> Self {
        Self {
            strength,
            copies: Copies::EachEpoch,
        }
    }
}

impl Default for FeatureMask {
    fn default() -> Self {
        Self::share(0.2)
    }
}

impl Choice for FeatureMask {
    const NAME: &'static str = "feature-mask";
    const ABOUT: &'static str =
        "copies of the training graphs, or the graph, without some columns of features";
    const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "strength",
            "X",
            "the chance of a column to go, 0 to 1 [default: 0.2]",
        ),
        COPIES,
    ];

    fn check(&self) -> Result<()> {
        check_share(Self::NAME, self.strength)
    }
}

impl Augmentation for FeatureMask {
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

impl GraphTransform for FeatureMask {
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let columns = graph.features().map_or(0, |features| features.num_cols());
        let kept = kept_factors(columns, self.strength, rng);
        with_scaled_features(graph, |_, column| kept[column])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use gnarl_graph::{CsrMatrix, DenseMatrix, Features};

    #[test]
    fn columns_go_for_all_nodes_alike_and_the_mean_stays() {
        let dense = Features::Dense(DenseMatrix::new(3, 200, vec![1f32; 600]).unwrap());
        let sparse = Features::Sparse(CsrMatrix::from_dense(&dense.to_dense()));
        let apply = |features: &Features| {
            let graph = Graph::empty(3)
                .unwrap()
                .with_features(features.clone())
                .unwrap();
            let masked = FeatureMask::share(0.25)
                .apply(&graph, &mut stream(1, "mask test", 0))
                .unwrap();
            masked.features().unwrap().to_dense()
        };
        let found = apply(&dense);
        assert_eq!(
            found.data(),
            apply(&sparse).data(),
            "sparse features as dense ones"
        );
        assert_eq!(found.row(0), found.row(2));
        assert!(
            found
                .data()
                .iter()
                .all(|&v| v == 0.0 || (v - 4.0 / 3.0).abs() < 1e-6)
        );
        // Five standard deviations of 200 coin tosses.
        let gone = found.row(0).iter().filter(|&&v| v == 0.0).count() as f64;
        assert!((gone - 50.0).abs() < 31.0, "{gone}");
        let same = FeatureMask::share(0.0).apply(
            &Graph::empty(3)
                .unwrap()
                .with_features(dense.clone())
                .unwrap(),
            &mut stream(1, "", 0),
        );
        assert_eq!(same.unwrap().features(), Some(&dense));
        assert!(
            FeatureMask::share(2.0)
                .check()
                .unwrap_err()
                .to_string()
                .contains("must lie in 0 to 1")
        );
    }
}
