//! The two clustering studies of the CGSO paper ([Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2411.04655)): how well each method finds the blocks of SBBAM graphs,
//! and how the exponents of `V^e2 A V^e3` change the clusters of one graph.
//!
//! Scores are shares from -1 to 1; the caller converts them to per cent.

use rayon::prelude::*;

use super::{ClusterConfig, KMeans, Method, SpectralBasis, cluster, kmeans};
use crate::centrality::Centrality;
use crate::error::{Error, Result};
use crate::generate::{SbbamConfig, sbbam};
use crate::graph::Graph;
use crate::labels::Labels;
use crate::metrics::{MeanStd, adjusted_mutual_information, adjusted_rand_index, mean_std};

const OP: &str = "cluster";

/// Agreement of a partition with the ground truth.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Score {
    /// Adjusted mutual information.
    pub ami: f64,
    /// Adjusted Rand index.
    pub ari: f64,
    /// Number of clusters found.
    pub clusters: usize,
}

/// Compares a partition with the ground truth, over the labelled nodes. Fails if no node is
/// labelled, or if lengths differ.
pub fn score(found: &[u32], truth: &Labels) -> Result<Score> {
    if found.len() != truth.len() {
        return Err(Error::argument(
            OP,
            format!("{} nodes, but {} labels", found.len(), truth.len()),
        ));
    }
    let labelled = found
        .iter()
        .zip(truth.classes())
        .filter_map(|(&c, &t)| t.map(|t| (c, t)));
    let (of, truth): (Vec<u32>, Vec<u32>) = labelled.unzip();
    if of.is_empty() {
        return Err(Error::missing(
            OP,
            "no node has a label to compare with",
            "take a graph with labels",
        ));
    }
    let mut clusters = found.to_vec();
    clusters.sort_unstable();
    clusters.dedup();
    Ok(Score {
        ami: adjusted_mutual_information(&of, &truth)?,
        ari: adjusted_rand_index(&of, &truth)?,
        clusters: clusters.len(),
    })
}

/// Computes scores on `graphs` samples of an SBBAM, graphs in parallel, in order; `on_graph` is
/// called after each.
///
/// Graph i is sampled and clustered with seed + i, so every method gets identical graphs. If the
/// configuration has no number of clusters, methods that need one get the number of blocks.
pub fn sbbam_scores(
    model: &SbbamConfig,
    graphs: usize,
    config: &ClusterConfig,
    seed: u64,
    on_graph: &(dyn Fn() + Sync),
) -> Result<Vec<Score>> {
    model.check()?;
    let mut config = config.clone();
    if config.method.uses_kmeans() {
        config.clusters = config.clusters.or(Some(model.block_sizes.len()));
    }
    let one = |i: u64| {
        let seed = seed.wrapping_add(i);
        let graph = sbbam(model, seed)?;
        let blocks = graph.labels().expect("blocks are labelled");
        let found = score(&cluster(&graph, &config, seed)?, blocks)?;
        on_graph();
        Ok(found)
    };
    (0..graphs as u64).into_par_iter().map(one).collect()
}

/// Settings of [`exponent_grid`].
#[derive(Debug, Clone, PartialEq)]
pub struct GridConfig {
    /// Smallest exponent.
    pub from: f64,
    /// Largest exponent.
    pub to: f64,
    /// Step from one exponent to the next.
    pub step: f64,
    /// Number of clusters.
    pub clusters: usize,
    /// Number of restarts of k-means.
    pub n_init: usize,
    /// Number of runs of each cell, from consecutive seeds.
    pub runs: usize,
}

impl GridConfig {
    /// The grid of the CGSO paper: exponents from -1.5 to 1.5, here by quarters, 200 restarts, one
    /// run.
    pub fn new(clusters: usize) -> Self {
        Self {
            from: -1.5,
            to: 1.5,
            step: 0.25,
            clusters,
            n_init: 200,
            runs: 1,
        }
    }

    /// Returns the exponents, ascending. Fails unless from, to and step give between 1 and 1,000 of
    /// them.
    pub fn exponents(&self) -> Result<Vec<f64>> {
        let Self { from, to, step, .. } = *self;
        let steps = ((to - from) / step + 1e-9).floor();
        if !(from.is_finite() && step > 0.0 && (0.0..1000.0).contains(&steps)) {
            let what = format!(
                "exponents from {from} to {to} by {step}: between 1 and 1,000 of them are possible"
            );
            return Err(Error::argument(OP, what));
        }
        Ok((0..=steps as usize)
            .map(|i| from + step * i as f64)
            .collect())
    }
}

/// Scores of one pair of exponents.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct GridCell {
    /// Left exponent.
    pub e2: f64,
    /// Right exponent.
    pub e3: f64,
    /// Adjusted mutual information over the runs.
    pub ami: MeanStd,
    /// Adjusted Rand index over the runs.
    pub ari: MeanStd,
}

/// Runs spectral clustering for every pair of exponents, e2 by e2; `on_cell` is called after each
/// pair.
///
/// Pairs with equal sums share one eigenproblem: 2k - 1 are solved for k exponents.
pub fn exponent_grid(
    graph: &Graph,
    centrality: Centrality,
    truth: &Labels,
    config: &GridConfig,
    seed: u64,
    on_cell: &(dyn Fn() + Sync),
) -> Result<Vec<GridCell>> {
    let exponents = config.exponents()?;
    let v = centrality.values(graph)?;
    let k = exponents.len();
    let settings = KMeans::new(config.clusters).with_n_init(config.n_init);
    let half_sum = |diagonal: usize| config.from + config.step * diagonal as f64 / 2.0;
    let bases: Vec<SpectralBasis> = (0..2 * k - 1)
        .into_par_iter()
        .map(|diagonal| SpectralBasis::new(graph, &v, half_sum(diagonal), config.clusters))
        .collect::<Result<_>>()?;
    let cell = |index: usize| {
        let (i, j) = (index / k, index % k);
        let half_difference = config.step * (i as f64 - j as f64) / 2.0;
        let points = bases[i + j].embedding(graph, &v, half_difference)?;
        let runs = (0..config.runs as u64)
            .map(|run| {
                score(
                    &kmeans(&points, &settings, seed.wrapping_add(run))?.of,
                    truth,
                )
            })
            .collect::<Result<Vec<_>>>()?;
        let over = |of: fn(&Score) -> f64| mean_std(&runs.iter().map(of).collect::<Vec<_>>());
        on_cell();
        Ok(GridCell {
            e2: exponents[i],
            e3: exponents[j],
            ami: over(|s| s.ami)?,
            ari: over(|s| s.ari)?,
        })
    };
    (0..k * k).into_par_iter().map(cell).collect()
}

/// Runs one method on one graph from `runs` consecutive seeds and compares its partitions with the
/// ground truth. If the configuration has no number of clusters, methods that need one get the
/// number of classes.
pub fn graph_scores(
    graph: &Graph,
    truth: &Labels,
    config: &ClusterConfig,
    runs: usize,
    seed: u64,
    on_run: &(dyn Fn() + Sync),
) -> Result<Vec<Score>> {
    let mut config = config.clone();
    if config.method.uses_kmeans() {
        config.clusters = config
            .clusters
            .or(Some(truth.counts().iter().filter(|c| **c > 0).count()));
    }
    graph_clusters(graph, &config, runs, seed, on_run)?
        .iter()
        .map(|found| score(found, truth))
        .collect()
}

/// Returns the community of each node by one method, from each of `runs` consecutive seeds;
/// `on_run` is called after each.
pub fn graph_clusters(
    graph: &Graph,
    config: &ClusterConfig,
    runs: usize,
    seed: u64,
    on_run: &(dyn Fn() + Sync),
) -> Result<Vec<Vec<u32>>> {
    // Two of the methods are deterministic: their runs are all alike.
    let drawn = !matches!(config.method, Method::FastGreedy | Method::Walktrap);
    let distinct = if drawn { runs } else { runs.min(1) };
    let mut found = (0..distinct as u64)
        .into_par_iter()
        .map(|run| {
            let found = cluster(graph, config, seed.wrapping_add(run))?;
            on_run();
            Ok(found)
        })
        .collect::<Result<Vec<_>>>()?;
    if let Some(only) = found.first().cloned() {
        found.resize(runs, only);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlabelled_nodes_do_not_count() {
        let truth = Labels::new(vec![Some(0), Some(0), Some(1), Some(1), None], 2).unwrap();
        let s = score(&[5, 5, 3, 3, 9], &truth).unwrap();
        assert_eq!((s.ami, s.ari, s.clusters), (1.0, 1.0, 3));
        let none = Labels::new(vec![None; 2], 1).unwrap();
        assert_eq!(
            score(&[0, 1], &none).unwrap_err().to_string(),
            "cluster: no node has a label to compare with; take a graph with labels"
        );
        assert_eq!(
            score(&[0], &none).unwrap_err().to_string(),
            "cluster: 1 nodes, but 2 labels"
        );
    }

    #[test]
    fn graphs_are_those_of_their_seeds() {
        let config = ClusterConfig {
            n_init: 5,
            ..ClusterConfig::new(Method::Cgso)
        };
        let at = |graphs, seed| {
            sbbam_scores(&SbbamConfig::default(), graphs, &config, seed, &|| ()).unwrap()
        };
        let three = at(3, 7);
        assert_eq!(three[1..], at(2, 8));
        assert!(
            three
                .iter()
                .all(|s| s.clusters == 3 && s.ami > 0.1 && s.ami < 0.7),
            "{three:?}"
        );
    }

    #[test]
    fn a_grid_cell_is_the_plain_run() {
        let g = sbbam(&SbbamConfig::default(), 2).unwrap();
        let truth = g.labels().unwrap();
        let grid = GridConfig {
            from: -1.0,
            to: 0.0,
            step: 0.5,
            n_init: 20,
            runs: 2,
            ..GridConfig::new(3)
        };
        let cells = exponent_grid(&g, Centrality::CORE, truth, &grid, 4, &|| ()).unwrap();
        assert_eq!(cells.len(), 9);
        for cell in [cells[1], cells[3], cells[4]] {
            let config = ClusterConfig {
                e2: cell.e2,
                e3: cell.e3,
                n_init: 20,
                clusters: Some(3),
                ..ClusterConfig::new(Method::Cgso)
            };
            let alone = graph_scores(&g, truth, &config, 2, 4, &|| ()).unwrap();
            let mean = (alone[0].ami + alone[1].ami) / 2.0;
            assert!((cell.ami.mean - mean).abs() < 1e-9, "{cell:?}: {mean}");
        }
        assert_eq!((cells[1].e2, cells[1].e3), (-1.0, -0.5));
    }

    #[test]
    fn exponents_end_where_they_should() {
        let grid = |from, to, step| {
            GridConfig {
                from,
                to,
                step,
                ..GridConfig::new(2)
            }
            .exponents()
        };
        assert_eq!(GridConfig::new(2).exponents().unwrap().len(), 13);
        assert_eq!(
            grid(-0.3, 0.3, 0.1).unwrap().len(),
            7,
            "rounding must not lose the last"
        );
        assert_eq!(grid(1.0, 1.0, 0.5).unwrap(), [1.0]);
        for (from, to, step) in [
            (0.0, 1.0, 0.0),
            (0.0, -1.0, 0.5),
            (f64::NAN, 1.0, 0.5),
            (0.0, 1e9, 0.5),
        ] {
            let e = grid(from, to, step).unwrap_err().to_string();
            assert!(
                e.ends_with("between 1 and 1,000 of them are possible"),
                "{e}"
            );
        }
    }
}
