//! Estimates memory and time of training on a graph of some size: on the whole graph, on sampled
//! neighbourhoods, and distributed among workers. Memory is counted array by array, as the engine
//! holds them; time is measured on a small graph here and scaled by the amount of work. Both are of
//! the right order, not exact.

use std::time::Instant;

use gnarl_graph::generate::{CsbmConfig, csbm};
use gnarl_graph::sample::Fanout;
use serde::Serialize;

use crate::model::Model;
use gnarl_graph::Result;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::Callbacks;

/// Size of the graph and of the network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Size {
    /// Number of nodes.
    pub nodes: u64,
    /// Number of edges.
    pub edges: u64,
    /// Number of dense features of each node.
    pub features: u64,
    /// Number of classes.
    pub classes: u64,
    /// Width of hidden layers.
    pub hidden: u64,
    /// Number of layers.
    pub layers: u64,
    /// Share of training nodes.
    pub train_share: f64,
    /// Number of training nodes in a sampled step.
    pub batch_nodes: u64,
    /// Number of neighbours sampled in each layer.
    pub fanout: Fanout,
    /// Bytes of a stored feature: 4, 2 or 1.
    pub feature_bytes: u64,
}

impl Size {
    fn arcs(&self) -> f64 {
        2.0 * self.edges as f64
    }

    fn mean_degree(&self) -> f64 {
        self.arcs() / (self.nodes as f64).max(1.0)
    }

    /// Bytes of the graph's folder on disk.
    pub fn disk_bytes(&self) -> f64 {
        let nodes = self.nodes as f64;
        8.0 * nodes
            + 4.0 * self.arcs()
            + (self.features * self.feature_bytes) as f64 * nodes
            + 4.0 * nodes
    }

    /// Bytes in memory while a GCN is trained on the whole graph: the graph, its operator,
    /// features, and for each layer its output, its gradient and one temporary array of either.
    pub fn whole_bytes(&self) -> f64 {
        let nodes = self.nodes as f64;
        let graph = 8.0 * nodes + 4.0 * self.arcs();
        let operator = 8.0 * nodes + 8.0 * (self.arcs() + nodes);
        let features = 2.0 * 4.0 * nodes * self.features as f64;
        let hidden = (self.layers.max(1) - 1) as f64 * self.hidden as f64;
        let vectors = 4.0 * 4.0 * nodes * (hidden + self.classes as f64);
        graph + operator + features + vectors
    }

    /// Bytes in memory while GraphSAGE is trained on neighbourhoods in a graph on disk, in addition
    /// to the system's file cache: a few numbers a node, and three batches.
    pub fn sampled_bytes(&self) -> f64 {
        let nodes = self.nodes as f64;
        let per_node = 8.0 + 4.0 * 4.0 + 8.0 + 4.0;
        let seen =
            (self.batch_nodes as f64 * self.fanout.nodes_per_seed(self.mean_degree())).min(nodes);
        let batch = seen * (4.0 * self.features as f64 + 24.0)
            + 4.0 * 4.0 * seen * self.hidden as f64 / 4.0;
        per_node * nodes + 4.0 * batch
    }

    /// Number of terms that a pass over the whole graph sums, which the time of an epoch is
    /// proportional to.
    fn whole_work(&self) -> f64 {
        let (nodes, features) = (self.nodes as f64, self.features as f64);
        let widths = |layer: u64| {
            if layer + 1 == self.layers.max(1) {
                self.classes as f64
            } else {
                self.hidden as f64
            }
        };
        let mut from = features;
        let mut work = 0.0;
        for layer in 0..self.layers.max(1) {
            let to = widths(layer);
            work += DENSE_SHARE * nodes * from * to + self.arcs() * to;
            from = to;
        }
        work
    }

    /// Number of terms that an epoch on sampled neighbourhoods sums.
    fn sampled_work(&self) -> f64 {
        let seeds = self.nodes as f64 * self.train_share;
        let seen = self.fanout.nodes_per_seed(self.mean_degree());
        let receivers = seen / self.mean_degree().clamp(1.0, 10.0);
        let (features, hidden) = (self.features as f64, self.hidden as f64);
        seeds * (seen * (features + READ_COST) + DENSE_SHARE * receivers * 2.0 * features * hidden)
    }
}

/// Cost of a product in a dense multiplication, relative to one in a sparse multiplication, which
/// waits for memory.
const DENSE_SHARE: f64 = 0.08;
/// Cost of sampling a node and finding its features, in numbers read.
const READ_COST: f64 = 64.0;

/// Memory and time of one way of training.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrainingCost {
    /// Bytes in memory, for each worker.
    pub bytes: f64,
    /// Seconds of an epoch.
    pub epoch_seconds: f64,
}

/// Memory and time of all ways of training.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScalePlan {
    /// The size of the graph and of the network.
    pub size: Size,
    /// Bytes of the graph's folder.
    pub disk_bytes: f64,
    /// GCN on the whole graph.
    pub full_batch: TrainingCost,
    /// GraphSAGE on sampled neighbourhoods.
    pub mini_batch: TrainingCost,
    /// Sampled neighbourhoods with so many workers, each on its own machine.
    pub workers: Vec<(usize, TrainingCost)>,
}

/// Terms summed in a second by each way of training, measured on a graph that fits badly into any
/// cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speed {
    /// Speed on the whole graph.
    pub full_batch: f64,
    /// Speed on sampled neighbourhoods.
    pub mini_batch: f64,
}

impl Speed {
    /// Trains on a small graph for about a second and measures the speed.
    pub fn measured() -> Result<Self> {
        let nodes = 20_000;
        let config = CsbmConfig {
            num_nodes: nodes,
            mean_degree: 16.0,
            num_features: 64,
            ..CsbmConfig::default()
        };
        let data = gnarl_data::Dataset::from_graph("speed", csbm(&config, 0)?);
        let fanout = Fanout::new(&[10, 5])?;
        let size = Size {
            nodes: nodes as u64,
            edges: 8 * nodes as u64,
            features: 64,
            classes: config.num_classes as u64,
            hidden: 64,
            layers: 2,
            train_share: 0.5,
            batch_nodes: 1024,
            fanout,
            feature_bytes: 4,
        };
        let mut on = data.split(0)?;
        let half: Vec<u32> = (0..nodes as u32).step_by(2).collect();
        on.split = gnarl_graph::Split::new("half", half, vec![], vec![])?;
        let epoch_seconds = |model: Model| -> Result<f64> {
            let fitted = model.epochs(3).fit_watched(&on, 0, &Callbacks::quiet())?;
            Ok(fitted
                .report()
                .trained
                .iter()
                .map(|t| t.epoch_ms)
                .fold(f64::INFINITY, f64::min)
                / 1e3)
        };
        let mut sampled = Model::new(Backbone::SAGE);
        (sampled.training.batch_nodes, sampled.training.fanout) = (Some(1024), Some(fanout));
        let start = Instant::now();
        let full_batch = size.whole_work() / epoch_seconds(Model::new(Backbone::GCN))?.max(1e-6);
        let mini_batch = size.sampled_work() / epoch_seconds(sampled)?.max(1e-6);
        debug_assert!(start.elapsed().as_secs() < 600);
        Ok(Self {
            full_batch,
            mini_batch,
        })
    }
}

impl ScalePlan {
    /// Computes memory and time of a size at this speed, alone and with these numbers of workers.
    #[must_use]
    pub fn new(size: Size, speed: Speed, workers: &[usize]) -> Self {
        let full_batch = TrainingCost {
            bytes: size.whole_bytes(),
            epoch_seconds: size.whole_work() / speed.full_batch,
        };
        let mini_batch = TrainingCost {
            bytes: size.sampled_bytes(),
            epoch_seconds: size.sampled_work() / speed.mini_batch,
        };
        let shared = |&count: &usize| {
            (
                count,
                TrainingCost {
                    bytes: mini_batch.bytes,
                    epoch_seconds: mini_batch.epoch_seconds / count.max(1) as f64,
                },
            )
        };
        let workers = workers.iter().map(shared).collect();
        Self {
            disk_bytes: size.disk_bytes(),
            full_batch,
            mini_batch,
            workers,
            size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size() -> Size {
        Size {
            nodes: 1_000_000,
            edges: 10_000_000,
            features: 100,
            classes: 10,
            hidden: 64,
            layers: 2,
            train_share: 0.1,
            batch_nodes: 1024,
            fanout: Fanout::new(&[15, 10]).unwrap(),
            feature_bytes: 4,
        }
    }

    #[test]
    fn the_arrays_of_the_folder_are_counted_to_the_byte() {
        let dir = tempfile::tempdir().unwrap();
        let graph = csbm(
            &CsbmConfig {
                num_nodes: 300,
                num_features: 7,
                ..CsbmConfig::default()
            },
            0,
        )
        .unwrap();
        gnarl_data::disk::write(&graph, &dir.path().join("g"), &Default::default()).unwrap();
        let files = std::fs::read_dir(dir.path().join("g"))
            .unwrap()
            .map(|f| f.unwrap());
        let arrays = files.filter(|f| f.path().extension().is_some_and(|e| e == "npy"));
        let (bytes, count) = arrays.fold((0, 0), |(bytes, n), f| {
            (bytes + f.metadata().unwrap().len(), n + 1)
        });
        let size = Size {
            nodes: 300,
            edges: graph.num_edges() as u64,
            features: 7,
            ..size()
        };
        let splits = 300 * graph.splits().len() as u64;
        // Headers of 128 bytes each, and one offset more than there are nodes.
        assert_eq!(size.disk_bytes() as u64, bytes - 128 * count - 8 - splits);
    }

    #[test]
    fn larger_graphs_take_more_and_workers_share_the_time() {
        let speed = Speed {
            full_batch: 1e9,
            mini_batch: 1e8,
        };
        let plan = ScalePlan::new(size(), speed, &[1, 4]);
        let wide = ScalePlan::new(
            Size {
                features: 200,
                ..size()
            },
            speed,
            &[],
        );
        let long = ScalePlan::new(
            Size {
                edges: 20_000_000,
                ..size()
            },
            speed,
            &[],
        );
        for larger in [&wide, &long] {
            assert!(
                larger.full_batch.bytes > plan.full_batch.bytes
                    && larger.full_batch.epoch_seconds > plan.full_batch.epoch_seconds
            );
            assert!(larger.disk_bytes > plan.disk_bytes);
        }
        assert!(plan.mini_batch.bytes < plan.full_batch.bytes);
        assert_eq!(
            plan.workers[1].1.epoch_seconds * 4.0,
            plan.workers[0].1.epoch_seconds
        );
        assert!(Speed::measured().unwrap().full_batch > 0.0);
    }
}
