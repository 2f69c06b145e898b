//! Community detection: spectral clustering with centrality graph shift operators (CGSOs,
//! [Abbahaddou et al. 2024](https://arxiv.org/abs/2411.04655)) and the methods it is compared with.
//!
//! | module | contents |
//! | --- | --- |
//! | `spectral` | k-means on eigenvectors of the centrality operators `V^e2 A V^e3` |
//! | `louvain` | Louvain's method |
//! | `fast_greedy` | Clauset, Newman and Moore's greedy modularity |
//! | `walktrap` | Pons and Latapy's distance between random walks |
//! | `node2vec` | node embeddings learned from random walks, for k-means |
//! | `kmeans` | k-means with k-means++ seeding |
//! | `study` | the two clustering studies of the CGSO paper: SBBAM blocks, and a grid of exponents |
//! | `dendrogram`, `agglomerate` | code shared by agglomerative methods |
//!
//! [`cluster`] runs any of the methods. Communities are numbered from 0;
//! [`metrics`](crate::metrics) compares two partitions independently of the numbering.

mod agglomerate;
mod dendrogram;
mod fast_greedy;
mod kmeans;
mod louvain;
mod node2vec;
mod spectral;
pub mod study;
mod walktrap;

pub use self::dendrogram::Dendrogram;
pub use self::fast_greedy::fast_greedy;
pub use self::kmeans::{Clusters, KMeans, kmeans};
pub use self::louvain::louvain;
pub use self::node2vec::{Node2vec, node2vec};
pub use self::spectral::{SpectralBasis, spectral_clustering};
pub use self::walktrap::{WALKTRAP_STEPS, walktrap};

use crate::centrality::Centrality;
use crate::error::{Error, Result};
use crate::graph::Graph;

const OP: &str = "cluster";

crate::named! {
    /// A community detection method.
    pub enum Method as "method" {
        /// Spectral clustering with a centrality operator.
        Cgso = "cgso",
        /// Louvain.
        Louvain = "louvain",
        /// Fast Greedy.
        FastGreedy = "fast-greedy",
        /// Walktrap with walks of four steps.
        Walktrap = "walktrap",
        /// node2vec with its default settings, then k-means.
        Node2vec = "node2vec",
    }
}

impl Method {
    /// Returns true if the method ends with k-means, and so needs the number of clusters.
    pub fn uses_kmeans(self) -> bool {
        matches!(self, Method::Cgso | Method::Node2vec)
    }
}

/// A method and its settings. Settings that a method does not use are ignored here; the command
/// line refuses them.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterConfig {
    /// The method.
    pub method: Method,
    /// Centrality of `cgso`.
    pub centrality: Centrality,
    /// Left exponent of `cgso`.
    pub e2: f64,
    /// Right exponent of `cgso`.
    pub e3: f64,
    /// Number of clusters. `cgso` and `node2vec` need it. Fast Greedy and Walktrap cut their
    /// dendrogram there, and at the largest modularity if it is `None`. Louvain takes `None` alone.
    pub clusters: Option<usize>,
    /// Number of restarts of k-means.
    pub n_init: usize,
}

impl ClusterConfig {
    /// Settings of the CGSO study: core numbers, e2 = e3 = -1/2, 200 restarts.
    pub fn new(method: Method) -> Self {
        Self {
            method,
            centrality: Centrality::CORE,
            e2: -0.5,
            e3: -0.5,
            clusters: None,
            n_init: 200,
        }
    }
}

/// Returns the community of each node.
///
/// ```
/// use gnarl_graph::{community::{cluster, ClusterConfig, Method}, Graph};
/// let g = Graph::from_edges(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)])?.0;
/// for method in [Method::Cgso, Method::FastGreedy, Method::Walktrap] {
///     let config = ClusterConfig { clusters: Some(2), ..ClusterConfig::new(method) };
///     assert_eq!(cluster(&g, &config, 7)?, [0, 0, 0, 1, 1, 1], "{method}");
/// }
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn cluster(graph: &Graph, config: &ClusterConfig, seed: u64) -> Result<Vec<u32>> {
    let method = config.method;
    let known = || {
        let what = format!("{method} ends with k-means, which must be told the number of clusters");
        config.clusters.ok_or_else(|| Error::argument(OP, what))
    };
    let cut = |d: Dendrogram| config.clusters.map_or_else(|| Ok(d.best()), |c| d.cut(c));
    Ok(numbered(match method {
        Method::Cgso => {
            let settings = KMeans::new(known()?).with_n_init(config.n_init);
            let v = config.centrality.values(graph)?;
            spectral_clustering(graph, &v, (config.e2, config.e3), &settings, seed)?
        }
        Method::Node2vec => {
            let settings = KMeans::new(known()?).with_n_init(config.n_init);
            kmeans(
                &node2vec(graph, &Node2vec::default(), seed)?,
                &settings,
                seed,
            )?
            .of
        }
        Method::Louvain if config.clusters.is_some() => {
            return Err(Error::unsupported(
                OP,
                "louvain finds the number of clusters itself",
            ));
        }
        Method::Louvain => louvain(graph, 1.0, seed)?,
        Method::FastGreedy => cut(fast_greedy(graph)?)?,
        Method::Walktrap => cut(walktrap(graph, WALKTRAP_STEPS)?)?,
    }))
}

/// Renumbers communities in order of appearance.
fn numbered(communities: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut names = std::collections::HashMap::new();
    communities
        .into_iter()
        .map(|c| {
            let next = names.len() as u32;
            *names.entry(c).or_insert(next)
        })
        .collect()
}

fn refuse_negative_weights(op: &'static str, graph: &Graph) -> Result<()> {
    match graph
        .weighted_edges()
        .find(|(_, _, w)| w.is_nan() || *w < 0.0)
    {
        None => Ok(()),
        Some((u, v, w)) => Err(Error::unsupported(
            op,
            format!("edge ({u}, {v}) has weight {w}, weights of at least 0 are needed"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::erdos_renyi;
    use crate::metrics::adjusted_rand_index;
    use crate::random::stream;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand::seq::SliceRandom;

    fn config(method: Method, clusters: usize) -> ClusterConfig {
        let clusters = method.uses_kmeans().then_some(clusters);
        ClusterConfig {
            clusters,
            n_init: 5,
            ..ClusterConfig::new(method)
        }
    }

    /// Returns a graph with weights sampled from the continuum: no two merges are equally good.
    fn without_ties(n: usize, p: f64, seed: u64) -> Graph {
        let rng = &mut stream(seed, "test weights", 0);
        let edges: Vec<_> = erdos_renyi(n, p, seed).unwrap().edges().collect();
        Graph::from_weighted_edges(
            n,
            edges
                .into_iter()
                .map(|(u, v)| (u, v, 0.5 + rng.random::<f64>())),
        )
        .unwrap()
        .0
    }

    proptest! {
        // node2vec is slow.
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_method_puts_every_node_somewhere(n in 1usize..16, p in 0.0f64..0.4, seed in 0u64..1000) {
            let g = erdos_renyi(n, p, seed).unwrap();
            for method in Method::ALL {
                let result = cluster(&g, &config(*method, 1 + n / 3), seed);
                if method.uses_kmeans() && g.num_edges() == 0 {
                    let e = result.unwrap_err().to_string();
                    prop_assert!(e.contains("no edges"), "{}", e);
                    continue;
                }
                let of = result.unwrap();
                prop_assert_eq!(of.len(), n);
                prop_assert_eq!(&of, &numbered(of.iter().copied()), "{}", method);
                if !method.uses_kmeans() {
                    // Modularity never gains by joining components, so an isolated node is alone.
                    for u in (0..n as u32).filter(|&u| g.degree(u) == 0) {
                        let mates = of.iter().filter(|&&c| c == of[u as usize]).count();
                        prop_assert_eq!(mates, 1, "{}", method);
                    }
                }
            }
        }

        #[test]
        fn permutation_invariance_of_merges(n in 2usize..40, seed in 0u64..1000) {
            let g = without_ties(n, 0.15, seed);
            let mut new_ids: Vec<u32> = (0..n as u32).collect();
            new_ids.shuffle(&mut stream(seed, "test order", 0));
            let h = g.permute(&new_ids).unwrap();
            for method in [Method::FastGreedy, Method::Walktrap] {
                let of_g = cluster(&g, &config(method, 0), 0).unwrap();
                let of_h = cluster(&h, &config(method, 0), 0).unwrap();
                let back: Vec<u32> = new_ids.iter().map(|&u| of_h[u as usize]).collect();
                prop_assert_eq!(adjusted_rand_index(&of_g, &back).unwrap(), 1.0, "{}", method);
            }
        }
    }

    #[test]
    fn graphs_with_little_in_them() {
        for n in [0, 1, 4] {
            let empty = Graph::empty(n).unwrap();
            let alone: Vec<u32> = (0..n as u32).collect();
            for method in [Method::Louvain, Method::FastGreedy, Method::Walktrap] {
                assert_eq!(
                    cluster(&empty, &config(method, 0), 0).unwrap(),
                    alone,
                    "{method} on {n} nodes"
                );
            }
            for method in [Method::Cgso, Method::Node2vec] {
                let e = cluster(&empty, &config(method, 1), 0)
                    .unwrap_err()
                    .to_string();
                assert!(e.contains("the graph has no edges"), "{e}");
            }
        }
    }

    #[test]
    fn unsupported_graphs_are_refused() {
        let g = Graph::from_weighted_edges(3, [(0, 1, 1.0), (1, 2, -2.0)])
            .unwrap()
            .0;
        for method in [
            Method::Louvain,
            Method::FastGreedy,
            Method::Walktrap,
            Method::Node2vec,
        ] {
            let e = cluster(&g, &config(method, 2), 0).unwrap_err().to_string();
            assert!(
                e.ends_with(": edge (1, 2) has weight -2, weights of at least 0 are needed"),
                "{e}"
            );
        }
        let fault = |method, clusters| {
            let g = erdos_renyi(10, 0.5, 0).unwrap();
            cluster(
                &g,
                &ClusterConfig {
                    clusters,
                    ..ClusterConfig::new(method)
                },
                0,
            )
            .unwrap_err()
            .to_string()
        };
        let e = fault(Method::Cgso, None);
        assert_eq!(
            e,
            "cluster: cgso ends with k-means, which must be told the number of clusters"
        );
        assert_eq!(
            fault(Method::Louvain, Some(2)),
            "cluster: louvain finds the number of clusters itself"
        );
        assert!(fault(Method::FastGreedy, Some(11)).contains("11 communities, from 1"));
    }

    #[test]
    fn every_option_counts() {
        let g = crate::generate::sbbam(&crate::generate::SbbamConfig::default(), 1).unwrap();
        let base = ClusterConfig {
            clusters: Some(3),
            n_init: 10,
            ..ClusterConfig::new(Method::Cgso)
        };
        let of = |config: &ClusterConfig| cluster(&g, config, 0).unwrap();
        let first = of(&base);
        assert_ne!(
            first,
            of(&ClusterConfig {
                centrality: Centrality::DEGREE,
                ..base.clone()
            })
        );
        assert_ne!(
            first,
            of(&ClusterConfig {
                e2: -1.5,
                ..base.clone()
            })
        );
        assert_ne!(
            first,
            of(&ClusterConfig {
                e3: -1.5,
                ..base.clone()
            })
        );
        assert_ne!(
            first,
            of(&ClusterConfig {
                clusters: Some(4),
                ..base
            })
        );
        let cut = ClusterConfig {
            clusters: Some(7),
            ..ClusterConfig::new(Method::Walktrap)
        };
        assert_eq!(of(&cut).iter().max(), Some(&6));
    }

    #[test]
    fn names_round_trip() {
        for method in Method::ALL {
            assert_eq!(
                method.to_string().to_uppercase().parse::<Method>().unwrap(),
                *method
            );
        }
        assert!(
            "fastgreedy"
                .parse::<Method>()
                .unwrap_err()
                .to_string()
                .contains("did you mean fast-greedy?")
        );
    }
}
