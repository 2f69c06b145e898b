//! Options of every command.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

/// Threads one may ask for. Beyond this a typing error is likelier than a machine.
const MAX_THREADS: u64 = 4096;

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Print one JSON object on standard output, and nothing else there
    #[arg(long, global = true)]
    pub json: bool,
    /// Print nothing but errors and what --json asks for; files are written all the same
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say on standard error how long each part took
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// What every random choice starts from: the same seed gives the same result
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads to use [default: all cores]; their number never changes a result
    #[arg(long, global = true, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_THREADS))]
    pub threads: Option<usize>,
    /// Folder of datasets [default: GNARL_DATA, else the platform's data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}
