//! `gnarl data`: lists, downloads, checks, imports and converts datasets.

mod adjacency;
pub mod check;
pub mod convert;
pub mod get;
pub mod import;
pub mod info;
pub mod list;

use clap::Subcommand;

use self::check::CheckArgs;
use self::convert::ConvertArgs;
use self::get::GetArgs;
use self::import::ImportArgs;
use self::info::InfoArgs;

/// Subcommands of `gnarl data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// List every dataset that gnarl can load by name, and show which are on this machine
    List,
    /// Describe one dataset: citation, counts, protocol, files
    Info(InfoArgs),
    /// Download datasets
    Get(GetArgs),
    /// Load datasets and compare their statistics with the registry
    Check(CheckArgs),
    /// Import a graph as a folder on disk that is memory-mapped instead of read
    Import(ImportArgs),
    /// Write a dataset in another form, as `gnarl data convert karate mine/`
    Convert(ConvertArgs),
}
