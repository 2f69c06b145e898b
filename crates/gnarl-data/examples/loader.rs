//! Samples neighbourhoods of all training nodes of a graph on disk, first alone, then with the
//! features of their nodes. This is gnarl's side of the loaders that `bench/scale.sh` compares.
//!
//! ```text
//! loader FOLDER BATCH EPOCHS
//! ```
//!
//! prints one JSON object: the median seconds of an epoch, and arcs sampled per second. Batches are
//! made in parallel, one by each thread.

use std::path::Path;
use std::time::Instant;

use gnarl_data::disk;
use gnarl_graph::Graph;
use gnarl_graph::sample::{Fanout, Sampler};
use rayon::prelude::*;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, folder, batch, epochs] = &args[..] else {
        return Err("loader FOLDER BATCH EPOCHS".into());
    };
    let (batch, epochs): (usize, usize) = (batch.parse()?, epochs.parse()?);
    let (graph, _) = disk::open(Path::new(folder))?;
    let split = graph.splits().first().ok_or("the folder has no split")?;
    let train = split.train();
    let (sampling, arcs) = median(epochs, |epoch| epoch_of(&graph, train, batch, epoch, false));
    let (loading, _) = median(epochs, |epoch| epoch_of(&graph, train, batch, epoch, true));
    let found = json!({
        "library": "gnarl", "threads": rayon::current_num_threads(), "edges_an_epoch": arcs,
        "sampling_seconds": sampling, "loader_seconds": loading,
        "edges_a_second_sampling": arcs as f64 / sampling, "edges_a_second_loader": arcs as f64 / loading,
    });
    println!("{found}");
    Ok(())
}

/// Returns the median of the seconds, and the arcs of the last epoch.
fn median(epochs: usize, mut epoch: impl FnMut(u64) -> usize) -> (f64, usize) {
    let mut seconds = Vec::new();
    let mut arcs = 0;
    for i in 0..epochs as u64 {
        let start = Instant::now();
        arcs = epoch(i);
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    (
        seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN),
        arcs,
    )
}

/// Samples arcs around all training nodes, 15 per training node and 10 per neighbour, and returns
/// their number.
fn epoch_of(graph: &Graph, train: &[u32], batch: usize, epoch: u64, with_features: bool) -> usize {
    let fanout = Fanout::new(&[15, 10]).expect("two counts");
    let batches: Vec<&[u32]> = train.chunks(batch.max(1)).collect();
    let draw = |sampler: &mut Sampler, (step, nodes): (usize, &&[u32])| {
        let around = sampler.sample(nodes, (epoch << 32) | step as u64, epoch);
        let features = with_features.then(|| graph.features_of(&around.nodes));
        std::hint::black_box(&features);
        around
            .rounds
            .iter()
            .map(|round| round.senders.len())
            .sum::<usize>()
    };
    batches
        .par_iter()
        .enumerate()
        .map_init(|| Sampler::new(graph, fanout), draw)
        .sum()
}
