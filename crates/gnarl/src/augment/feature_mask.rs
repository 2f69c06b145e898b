//! Feature masking (You et al. 2020, [arXiv:2010.13902](https://arxiv.org/abs/2010.13902); Zhu et
//! al. 2020, [arXiv:2006.04131](https://arxiv.org/abs/2006.04131)): every column of the features is
//! set to zero with the same probability, for all nodes of a graph. The other columns are scaled up
//! so that sums over columns keep their expectation.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use gnarl_graph::{Graph, Result};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{Copies, GraphTransform, kept_factors, with_scaled_features};

/// Sets random columns of the features to zero; nodes and edges stay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "feature-mask",
    about = "sets random columns of the features to zero in copies of the training graphs",
    constant
)]
pub struct FeatureMask {
    /// Probability of masking a column of the features.
    #[setting(default = 0.2, range = 0.0..=1.0, was = "strength")]
    pub p: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::EachEpoch)]
    pub copies: Copies,
}

impl FeatureMask {
    /// Returns feature masking with this probability, and new copies in every epoch.
    #[must_use]
    pub const fn new(p: f64) -> Self {
        Self { p, ..Self::DEFAULT }
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
        let kept = kept_factors(columns, self.p, rng);
        with_scaled_features(graph, |_, column| kept[column])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use gnarl_graph::settings::Choice;
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
            let masked = FeatureMask::new(0.25)
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
        let same = FeatureMask::new(0.0).apply(
            &Graph::empty(3)
                .unwrap()
                .with_features(dense.clone())
                .unwrap(),
            &mut stream(1, "", 0),
        );
        assert_eq!(same.unwrap().features(), Some(&dense));
        assert!(
            FeatureMask::new(2.0)
                .check()
                .unwrap_err()
                .to_string()
                .contains("must be in [0, 1]")
        );
    }
}
