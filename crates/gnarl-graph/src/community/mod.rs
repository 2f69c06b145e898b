//! Communities: nodes that belong together (thesis ch. 3, "A Spectral Clustering Perspective of CGSOs").
//!
//! | file | what it holds |
//! | --- | --- |
//! | `spectral` | k-means on eigenvectors of `V^e2 A V^e3` |
//! | `kmeans` | k-means with k-means++ seeding |

mod kmeans;
mod spectral;

pub use self::kmeans::{Clusters, KMeans, kmeans};
pub use self::spectral::{SpectralBasis, spectral_clustering};
