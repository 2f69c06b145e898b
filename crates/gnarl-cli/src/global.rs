//! Options shared by every command.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

/// Largest number of threads. A larger number is likelier a typing error than a machine.
const MAX_THREADS: u64 = 4096;

/// Options shared by every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Print one JSON object on standard output, and nothing else there
    #[arg(long, global = true)]
    pub json: bool,
    /// Print errors and the output of --json only; files are written nevertheless
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print on standard error how long each part took
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// Random seed: the same seed gives the same result
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Number of threads, which never changes a result [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_THREADS))]
    pub threads: Option<usize>,
    /// Folder of datasets [default: GNARL_DATA, else the platform's data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}
