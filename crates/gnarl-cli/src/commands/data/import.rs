//! `gnarl data import`: writes a graph as a folder on disk that is memory-mapped instead of read.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use gnarl_data as dataset;
use gnarl_data::disk::{self, FeatureType, ImportOptions, ImportReport};
use serde::Serialize;

use crate::global::Global;
use crate::output::{Report, count};
use crate::progress;

/// Arguments of `gnarl data import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gnarl data import edges.tsv --features-from x.npy --labels-from labels.csv --out my-graph
  gnarl data import pubmed --feature-type f16 --out pubmed-on-disk
  gnarl train --data my-graph --model sage --batch-nodes 1024 --fanout 15,10")]
pub struct ImportArgs {
    /// Source: a dataset by name, an edge file (csv, tsv, txt), or a folder of edges, features,
    /// labels and splits
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Folder to create; it must not exist
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Features for an edge file: text, .npz, or a .npy with one row a node, which may be larger
    /// than memory
    #[arg(long, value_name = "FILE")]
    pub features_from: Option<PathBuf>,
    /// Labels for an edge file, as labels.csv of a folder
    #[arg(long, value_name = "FILE")]
    pub labels_from: Option<PathBuf>,
    /// Splits for an edge file, as splits.csv of a folder
    #[arg(long, value_name = "FILE")]
    pub splits_from: Option<PathBuf>,
    /// Number type of stored dense features: f32, f16 or u8
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    pub feature_type: FeatureType,
    /// Memory for sorting edges, in MB; the rest goes to temporary files next to the folder
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory: u32,
}

impl ImportArgs {
    fn options(&self) -> ImportOptions {
        ImportOptions {
            features: self.feature_type,
            memory_bytes: (self.memory as usize) << 20,
            features_at: self.features_from.clone(),
            labels_at: self.labels_from.clone(),
            splits_at: self.splits_from.clone(),
        }
    }
}

/// Result of `gnarl data import`.
#[derive(Debug, Serialize)]
pub struct Imported {
    folder: PathBuf,
    #[serde(flatten)]
    report: ImportReport,
    seconds: f64,
}

/// Imports the graph.
pub fn run(global: &Global, args: &ImportArgs) -> anyhow::Result<Imported> {
    let start = Instant::now();
    let bar = progress::steps("importing", 100);
    let mut on_progress = |what: &str, done: u64, all: u64| {
        bar.set_message(what.to_string());
        bar.set_position((100 * done).checked_div(all).unwrap_or(0));
    };
    let data_dir = dataset::data_dir(global.data_dir.as_deref());
    let report = disk::import(
        &args.source,
        &data_dir,
        global.seed,
        &args.out,
        &args.options(),
        &mut on_progress,
    );
    bar.finish_and_clear();
    Ok(Imported {
        folder: args.out.clone(),
        report: report?,
        seconds: start.elapsed().as_secs_f64(),
    })
}

impl Report for Imported {
    fn text(&self) -> String {
        let report = &self.report;
        let mut facts = vec![
            format!("{} nodes", count(report.nodes as u64)),
            format!("{} edges", count(report.edges as u64)),
        ];
        facts.extend(
            report
                .features
                .map(|f| format!("{} features", count(f as u64))),
        );
        facts.extend(report.classes.map(|c| format!("{c} classes")));
        facts.extend((report.splits > 0).then(|| format!("{} splits", report.splits)));
        let mut lines = vec![format!(
            "written: {}, {}",
            self.folder.display(),
            facts.join(", ")
        )];
        let dropped = report.dropped;
        if dropped.edges_given > 0 {
            lines.push(format!(
                "of {} edges, {} self-loops and {} repetitions were dropped",
                count(dropped.edges_given),
                count(dropped.self_loops),
                count(dropped.duplicates)
            ));
        }
        if dropped.conflicting_weights > 0 {
            let conflicting = count(dropped.conflicting_weights);
            lines.push(format!(
                "{conflicting} repetitions had another weight; the first was kept"
            ));
        }
        lines.extend(
            report
                .sources
                .unused
                .iter()
                .map(|unused| format!("{}: {}", unused.file, unused.what)),
        );
        lines.push(format!(
            "{:.1} s; use it as --data {}",
            self.seconds,
            self.folder.display()
        ));
        lines.join("\n") + "\n"
    }
}
