//! `gnarl plan`: estimates memory and time of training on a graph of a given size, before anything
//! is imported.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::study::scale::{ScalePlan, Size, Speed};
use gnarl_graph::Error;
use gnarl_graph::sample::Fanout;
use serde::Serialize;

use crate::options::out_of_range;
use crate::output::{self, Report};
use crate::progress;

/// Upper limit of numbers of nodes and edges.
const MOST: u64 = 1 << 48;

/// Arguments of `gnarl plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: gnarl plan --nodes 5000000 --edges 100000000 --features 128 --workers 1,2,4"
)]
pub struct PlanArgs {
    /// Number of nodes of the graph
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..=MOST))]
    pub nodes: u64,
    /// Number of edges of the graph, each counted once
    #[arg(long, value_name = "M", value_parser = RangedU64ValueParser::<u64>::new().range(0..=MOST))]
    pub edges: u64,
    /// Number of dense features of each node
    #[arg(long, value_name = "F", value_parser = RangedU64ValueParser::<u64>::new().range(0..=1 << 24))]
    pub features: u64,
    /// Width of hidden layers
    #[arg(long, value_name = "H", default_value_t = 64, value_parser = RangedU64ValueParser::<u64>::new().range(1..=1 << 20))]
    pub hidden: u64,
    /// Number of layers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<u64>::new().range(1..=16))]
    pub layers: u64,
    /// Number of classes
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = RangedU64ValueParser::<u64>::new().range(1..=1 << 24))]
    pub classes: u64,
    /// Share of training nodes
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub train_share: f64,
    /// Number of training nodes in a sampled step
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = RangedU64ValueParser::<u64>::new().range(1..=1 << 30))]
    pub batch_nodes: u64,
    /// Number of neighbours sampled in each hop, the hop nearest to the output first
    /// [default: 15,10 and 5 beyond]
    #[arg(long, value_name = "N,N")]
    pub fanout: Option<Fanout>,
    /// Bytes of a stored feature: 4 (f32), 2 (f16) or 1 (u8)
    #[arg(long, value_name = "BYTES", default_value_t = 4, value_parser = RangedU64ValueParser::<u64>::new().range(1..=4))]
    pub feature_bytes: u64,
    /// Numbers of workers to plan for
    #[arg(
        long,
        value_name = "W,W",
        value_delimiter = ',',
        default_value = "1,2,4"
    )]
    pub workers: Vec<u16>,
}

/// Result of `gnarl plan`.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    #[serde(flatten)]
    plan: ScalePlan,
    /// Memory of this machine in bytes, if known.
    machine_bytes: Option<f64>,
}

/// Estimates memory and time.
pub fn run(args: &PlanArgs) -> anyhow::Result<PlanReport> {
    if !(args.train_share > 0.0 && args.train_share <= 1.0) {
        return Err(out_of_range("--train-share", "> 0 and <= 1", args.train_share).into());
    }
    if args.workers.contains(&0) {
        return Err(out_of_range("--workers", ">= 1", 0).into());
    }
    let default = |i: u64| [15usize, 10].get(i as usize).copied().unwrap_or(5);
    let fanout = match args.fanout {
        Some(fanout) if fanout.rounds() as u64 != args.layers => {
            let what = format!(
                "{fanout} has {} hops, and the network has {} layers; name one number for each layer",
                fanout.rounds(),
                args.layers
            );
            return Err(Error::argument("--fanout", what).into());
        }
        Some(fanout) => fanout,
        None => Fanout::new(&(0..args.layers).map(default).collect::<Vec<_>>())?,
    };
    let size = Size {
        nodes: args.nodes,
        edges: args.edges,
        features: args.features,
        classes: args.classes,
        hidden: args.hidden,
        layers: args.layers,
        train_share: args.train_share,
        batch_nodes: args.batch_nodes,
        fanout,
        feature_bytes: args.feature_bytes,
    };
    let speed = progress::during("measuring this machine", Speed::measured)?;
    let workers: Vec<usize> = args.workers.iter().map(|&w| usize::from(w)).collect();
    Ok(PlanReport {
        plan: ScalePlan::new(size, speed, &workers),
        machine_bytes: machine_bytes(),
    })
}

/// Returns the memory of this machine in bytes.
fn machine_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    Some(1024.0 * line.split_ascii_whitespace().nth(1)?.parse::<f64>().ok()?)
}

impl Report for PlanReport {
    fn text(&self) -> String {
        let plan = &self.plan;
        let size = &plan.size;
        let mut table = output::table(&["training", "memory", "time per epoch", "this machine"]);
        let fits = |bytes: f64| match self.machine_bytes {
            Some(all) if bytes > 0.9 * all => "does not fit",
            Some(_) => "fits",
            None => "",
        };
        let mut row = |name: String, bytes: f64, seconds: f64, fits: &str| {
            table.add_row([name, readable(bytes), duration(seconds), fits.to_string()]);
        };
        let (whole, sampled) = (&plan.full_batch, &plan.mini_batch);
        row(
            "whole graph, gcn".into(),
            whole.bytes,
            whole.epoch_seconds,
            fits(whole.bytes),
        );
        row(
            format!("sampled, sage, fan-out {}", size.fanout),
            sampled.bytes,
            sampled.epoch_seconds,
            fits(sampled.bytes),
        );
        for (count, way) in plan.workers.iter().filter(|(count, _)| *count > 1) {
            row(
                format!("sampled, {count} machines"),
                way.bytes,
                way.epoch_seconds,
                "",
            );
        }
        let count = |n: u64| output::count(n);
        format!(
            "{} nodes, {} edges, {} features, hidden {}, {} layers, training share {}\n\
             on disk {}; estimates from the measured speed of this machine\n\n{}\n",
            count(size.nodes),
            count(size.edges),
            count(size.features),
            size.hidden,
            size.layers,
            size.train_share,
            readable(plan.disk_bytes),
            output::render(&table)
        )
    }
}

/// Formats bytes in the most readable unit.
fn readable(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

/// Formats seconds in the most readable unit.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", 1e3 * s),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [readable(12.0), readable(1.5e6), readable(3e12)],
            ["12.0 B", "1.5 MB", "3.0 TB"]
        );
        assert_eq!(
            [
                duration(0.02),
                duration(5.0),
                duration(600.0),
                duration(1e5)
            ],
            ["20 ms", "5.0 s", "10 min", "27.8 h"]
        );
    }
}
