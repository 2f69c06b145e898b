//! `gnarl data`: the datasets, where they are, and whether they are what they should be.

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

/// `gnarl data …`
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Every dataset gnarl knows, and whether it is on this machine
    List,
    /// One dataset: citation, counts, protocol, files
    Info(InfoArgs),
    /// Download datasets
    Get(GetArgs),
    /// Load datasets and compare their facts with what is known about them
    Check(CheckArgs),
    /// Make a folder on disk of any graph, to be mapped and not read
    Import(ImportArgs),
    /// Write a dataset in another form, as `gnarl data convert karate mine/`
    Convert(ConvertArgs),
}
