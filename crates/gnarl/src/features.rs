//! What is done to features before a network sees them.

use gnarl_graph::{CsrMatrix, DenseMatrix, Features, Graph};

gnarl_graph::named! {
    /// What is done to features before a network sees them.
    pub enum FeatureScaling as "feature scaling" {
        /// Nothing.
        AsLoaded = "as-loaded",
        /// Every row divided by the sum of its absolute values; rows of zeros stay.
        RowNormalised = "row-normalised",
    }
}

impl FeatureScaling {
    /// The graph with its features scaled; one without features as it is.
    pub fn scaled(self, graph: &Graph) -> gnarl_graph::Result<Graph> {
        match graph.features() {
            Some(features) => graph.clone().with_features(self.apply(features)),
            None => Ok(graph.clone()),
        }
    }

    /// The scaled features.
    pub fn apply(self, features: &Features) -> Features {
        if self == FeatureScaling::AsLoaded {
            return features.clone();
        }
        let shrink = |row: &mut [f32]| {
            let total: f32 = row.iter().map(|v| v.abs()).sum();
            if total > 0.0 {
                row.iter_mut().for_each(|v| *v /= total);
            }
        };
        match features {
            Features::Dense(m) => {
                let mut data = m.data().to_vec();
                data.chunks_exact_mut(m.num_cols().max(1)).for_each(shrink);
                Features::Dense(DenseMatrix::new(m.num_rows(), m.num_cols(), data).expect("same shape"))
            }
            Features::Sparse(m) => {
                let mut values = m.values().to_vec();
                for bounds in m.offsets().windows(2) {
                    shrink(&mut values[bounds[0] as usize..bounds[1] as usize]);
                }
                Features::Sparse(
                    CsrMatrix::new(m.num_cols(), m.offsets().to_vec(), m.indices().to_vec(), values)
                        .expect("same pattern"),
                )
            }
        }
    }
}
