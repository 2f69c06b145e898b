//! What the user may type.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use gnarl_graph::centrality::Centrality;

use crate::commands::attack::AttackArgs;
use crate::commands::bench::BenchCommand;
use crate::commands::cluster::ClusterArgs;
use crate::commands::energy::EnergyArgs;
use crate::commands::predict::PredictArgs;
use crate::commands::reproduce::ReproduceArgs;
use crate::commands::robustness::RobustnessArgs;
use crate::commands::train::TrainArgs;
use crate::global::Global;

/// Eigenvalues at each end one may ask for; who wants more wants them all.
const MAX_EXTREMES: u64 = 1000;

/// Graph neural networks and what decides how well they work. Without a command: a handful of models on an embedded graph.
#[derive(Debug, Parser)]
#[command(name = "gnarl", version, max_term_width = 100)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// Without a command: where the page goes [default: gnarl-report.html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The command; none is the demo.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List, fetch and check datasets
    #[command(subcommand)]
    Data(DataCommand),
    /// How central each node is
    Centrality(CentralityArgs),
    /// Eigenvalues of classical and centrality operators, the gap, the Cheeger constant and the bounds between them
    Spectrum(SpectrumArgs),
    /// Dirichlet energy by depth: how much difference between neighbours SGC and CSGC leave
    Energy(EnergyArgs),
    /// Find communities and compare them with the truth
    Cluster(ClusterArgs),
    /// Train a model and say how well it does
    Train(Box<TrainArgs>),
    /// Change a graph within a budget and see how many answers of a model turn wrong
    Attack(Box<AttackArgs>),
    /// Classes by a saved model
    Predict(PredictArgs),
    /// How far a trained model's answers move when features or edges do: estimates, and bounds nothing exceeds
    Robustness(Box<RobustnessArgs>),
    /// How long things take here
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Run a table of the thesis and print our figures beside it
    Reproduce(ReproduceArgs),
}

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
}

/// `gnarl data info`
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// A dataset of `gnarl data list`
    pub name: String,
}

/// `gnarl data get`
#[derive(Debug, Args)]
pub struct GetArgs {
    /// Datasets of `gnarl data list`
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub names: Vec<String>,
    /// Every dataset
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
}

/// `gnarl data check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Datasets of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

/// `gnarl centrality`
#[derive(Debug, Args)]
pub struct CentralityArgs {
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// degree, core, pagerank, walks (length 2) or walks:LENGTH
    #[arg(long)]
    pub kind: Centrality,
    /// How many of the most central nodes to show
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub top: usize,
    /// Write the value of every node to this CSV file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// List every value in the JSON even where there are more than 100,000
    #[arg(long)]
    pub values: bool,
}

/// `gnarl spectrum`
#[derive(Debug, Args)]
pub struct SpectrumArgs {
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// degree, core, pagerank, walks (length 2) or walks:LENGTH
    #[arg(long, value_name = "KIND")]
    pub centrality: Centrality,
    /// Look at the largest connected component alone
    #[arg(long)]
    pub largest_component: bool,
    /// How many eigenvalues to find and show at each end [default: 6]
    #[arg(long, value_name = "K", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_EXTREMES))]
    pub extremes: Option<usize>,
    /// Compute every eigenvalue, also of graphs with more than 2,000 nodes
    #[arg(long)]
    pub full: bool,
}

/// Answers a command line that clap did not accept: help and version as asked, anything else in one line.
pub fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A reader who stopped listening is not an error.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let _ = writeln!(std::io::stderr(), "{}", one_line(error));
    ExitCode::from(2)
}

/// clap's message without its usage paragraph, on one line.
fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "error: a subcommand is missing; try --help".to_string();
    }
    let mut line = String::new();
    for part in error.to_string().lines().map(str::trim) {
        if part.starts_with("Usage:") || part.starts_with("For more information") {
            break;
        }
        if part.is_empty() {
            continue;
        }
        if part.starts_with("tip:") {
            line.push(';');
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(part);
    }
    line.push_str("; try --help");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn refusals_are_one_line() {
        let line = |args: &[&str]| one_line(&Cli::try_parse_from(args).unwrap_err());
        assert_eq!(
            line(&["gnarl", "--seed", "NaN"]),
            "error: invalid value 'NaN' for '--seed <N>': invalid digit found in string; try --help"
        );
        assert_eq!(line(&["gnarl", "data"]), "error: a subcommand is missing; try --help");
        assert_eq!(
            line(&["gnarl", "centrality", "--data", "karate"]),
            "error: the following required arguments were not provided: --kind <KIND>; try --help"
        );
        let e = line(&["gnarl", "centrality", "--data", "karate", "--kind", "degre"]);
        assert_eq!(
            e,
            "error: invalid value 'degre' for '--kind <KIND>': unknown centrality 'degre'; did you mean degree?; try --help"
        );
    }
}
