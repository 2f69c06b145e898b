//! Command-line grammar: commands, options, and the errors of a wrong command line.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::advise::AdviseArgs;
use crate::commands::attack::AttackArgs;
use crate::commands::axes::AxesArgs;
use crate::commands::bench::BenchCommand;
use crate::commands::centrality::CentralityArgs;
use crate::commands::certify::CertifyArgs;
use crate::commands::cluster::ClusterArgs;
use crate::commands::data::DataCommand;
use crate::commands::demo::{DemoSettings, Tour};
use crate::commands::energy::EnergyArgs;
use crate::commands::explore::ExploreArgs;
use crate::commands::manual::{CompletionsArgs, ManArgs};
use crate::commands::plan::PlanArgs;
use crate::commands::predict::PredictArgs;
use crate::commands::report::ReportArgs;
use crate::commands::reproduce::ReproduceArgs;
use crate::commands::robustness::RobustnessArgs;
use crate::commands::schema::SchemaArgs;
use crate::commands::spectrum::SpectrumArgs;
use crate::commands::train::TrainArgs;
use crate::examples;
use crate::global::Global;
use crate::options;
use crate::plot;

/// Train, attack, defend and certify graph neural networks. Without a command: write a page that
/// shows the five axes on Cora and MUTAG.
#[derive(Debug, Parser)]
#[command(name = "gnarl", version, max_term_width = 100, after_help = examples::GNARL)]
pub struct Cli {
    /// Options shared by every command.
    #[command(flatten)]
    pub global: Global,
    /// Page to write without a command [default: gnarl-report.html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Tour to show without a command: axes (the five axes on Cora and MUTAG) or karate (plain
    /// models on Zachary's karate club) [default: axes]
    #[arg(long, value_name = "TOUR")]
    pub tour: Option<Tour>,
    /// Number of epochs of each training without a command, for a quick preview of the output
    #[arg(long, value_name = "EPOCHS", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub rough: Option<u32>,
    /// The command; `None` runs the demo.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Returns the settings of the demo.
    pub fn demo(&self) -> DemoSettings<'_> {
        let rough = self.rough.map(|epochs| epochs as usize);
        DemoSettings {
            out: self.out.as_deref(),
            tour: self.tour.unwrap_or(Tour::Axes),
            rough,
        }
    }
}

/// Commands of `gnarl`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List, fetch and check datasets
    #[command(subcommand)]
    Data(DataCommand),
    /// Compute the centrality of each node
    #[command(after_help = examples::CENTRALITY)]
    Centrality(CentralityArgs),
    /// Compute eigenvalues of classical and centrality operators, the spectral gap, the Cheeger
    /// constant and the bounds between them
    #[command(after_help = examples::SPECTRUM)]
    Spectrum(SpectrumArgs),
    /// Compute the Dirichlet energy of SGC and CSGC by depth
    #[command(after_help = examples::ENERGY)]
    Energy(EnergyArgs),
    /// Find communities and compare them with the ground truth
    #[command(after_help = examples::CLUSTER)]
    Cluster(ClusterArgs),
    /// Train a model and report its accuracy
    #[command(after_help = examples::TRAIN)]
    Train(Box<TrainArgs>),
    /// Attack a graph within a budget and measure the accuracy under the attack
    #[command(after_help = examples::ATTACK)]
    Attack(Box<AttackArgs>),
    /// Recommend the axes to switch on for a dataset, without test labels
    #[command(after_help = examples::ADVISE)]
    Advise(Box<AdviseArgs>),
    /// Compare a plain model with each axis switched on, every pair of axes, and all of them
    #[command(after_help = examples::AXES)]
    Axes(Box<AxesArgs>),
    /// Estimate the memory and time of training on a graph of a given size: on the whole graph, by
    /// sampling, and with workers
    Plan(PlanArgs),
    /// Predict classes with a saved model
    #[command(after_help = examples::PREDICT)]
    Predict(PredictArgs),
    /// Explore a graph and a model in a browser: change edges and features, and see the predictions
    /// change
    #[command(after_help = examples::EXPLORE)]
    Explore(Box<ExploreArgs>),
    /// Measure the sensitivity of a trained model's predictions to perturbed features or edges:
    /// estimates by sampling, and upper bounds
    #[command(after_help = examples::ROBUSTNESS)]
    Robustness(Box<RobustnessArgs>),
    /// Certify predictions of a trained model: no attacker within a radius can change them
    #[command(after_help = examples::CERTIFY)]
    Certify(Box<CertifyArgs>),
    /// Measure the time of training epochs and of inference on this machine
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Reproduce published tables and print gnarl's figures next to the published ones
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(ReproduceArgs),
    /// Write all reproduced tables and a verdict on every claim to one page
    Report(ReportArgs),
    /// Print the JSON schema of spec files
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// Print the script with which a shell completes commands and options, as `source <(gnarl
    /// completions bash)`
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write man pages, one for each command
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
}

impl Command {
    /// Returns the output files named on the command line, each with its option. A stem stands for
    /// all files that begin with it; here it is represented by its picture.
    pub fn places(&self) -> Vec<(&'static str, PathBuf)> {
        let file = |option, path: &Option<PathBuf>| path.clone().map(|path| (option, path));
        let stem = |option, path: &Option<PathBuf>| {
            path.as_deref().map(|stem| (option, plot::picture(stem)))
        };
        let places: Vec<Option<_>> = match self {
            Command::Data(DataCommand::Info(args)) => vec![stem("--adjacency", &args.adjacency)],
            Command::Data(_) | Command::Bench(_) | Command::Reproduce(_) => vec![],
            Command::Completions(_) | Command::Man(_) | Command::Plan(_) => vec![],
            Command::Explore(_) | Command::Schema(_) => vec![],
            Command::Report(args) => {
                let pages = args.fill.iter().map(|page| Some(("--fill", page.clone())));
                [
                    Some(("--out", args.out.clone())),
                    file("--markdown", &args.markdown),
                ]
                .into_iter()
                .chain(pages)
                .collect()
            }
            Command::Centrality(args) => {
                vec![file("--output", &args.output), stem("--plot", &args.plot)]
            }
            Command::Spectrum(args) => vec![stem("--plot", &args.plot)],
            Command::Energy(args) => {
                vec![file("--output", &args.output), stem("--plot", &args.plot)]
            }
            Command::Cluster(args) => vec![file("--output", &args.output)],
            Command::Train(args) => vec![
                file("--save", &args.save),
                file("--page", &args.page),
                stem("--influence", &args.study.influence),
                stem("--histograms", &args.study.histograms),
            ],
            Command::Attack(args) => {
                vec![
                    file("--write", &args.write),
                    file("--page", &args.page),
                    stem("--plot", &args.plot),
                ]
            }
            Command::Advise(args) => vec![file("--write", &args.write)],
            Command::Axes(args) => vec![file("--write", &args.write)],
            Command::Predict(args) => vec![
                file("--output", &args.output),
                file("--embeddings", &args.embeddings),
            ],
            Command::Robustness(args) => {
                vec![stem("--output", &args.output), file("--page", &args.page)]
            }
            Command::Certify(args) => {
                vec![stem("--output", &args.output), file("--nodes", &args.nodes)]
            }
        };
        places.into_iter().flatten().collect()
    }
}

/// Parses a command line. A negative number behind an option is its value, so an error about it
/// names that option.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = taking_negatives(Cli::command());
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))
}

fn taking_negatives(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_string())
        .collect();
    let takes_values = |arg: &clap::Arg| !arg.is_positional() && arg.get_action().takes_values();
    let command = command.mut_args(|arg| {
        if takes_values(&arg) {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
    });
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, taking_negatives)
    })
}

/// Reports a command line that clap did not accept and returns the exit code. Help and version are
/// printed as requested, errors on one line.
pub fn refuse(error: &clap::Error) -> u8 {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // A reader that closed the pipe is not an error.
        let _ = error.print();
        return 0;
    }
    let _ = writeln!(std::io::stderr(), "{}", one_line(error));
    2
}

/// Returns clap's message without its usage paragraph, on one line.
fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "error: a subcommand is missing; try --help".to_string();
    }
    if let Some(line) = renamed(error) {
        return line;
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

/// Returns the error for an option that was renamed.
fn renamed(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let new = options::new_names(given.strip_prefix("--")?)?;
    Some(format!("error: {given} is now {new}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        taking_negatives(Cli::command()).debug_assert();
    }

    /// Splits an example into words, as a shell would; text after two spaces is prose.
    fn words(line: &str) -> Vec<OsString> {
        let command = line.trim().split("  ").next().unwrap_or_default();
        command
            .split(" > ")
            .next()
            .unwrap_or_default()
            .split(' ')
            .map(OsString::from)
            .collect()
    }

    #[test]
    fn every_example_of_the_help_is_understood() {
        let mut open = vec![Cli::command()];
        let (mut seen, mut without) = (0, Vec::new());
        while let Some(command) = open.pop() {
            let help = command
                .get_after_help()
                .map(|help| help.to_string())
                .unwrap_or_default();
            for line in help.lines().filter(|line| line.starts_with("  gnarl")) {
                assert!(line.chars().count() <= 98, "wraps: {line}");
                if let Err(e) = parse(words(line)) {
                    panic!("{line}: {e}");
                }
                seen += 1;
            }
            if help.is_empty() && command.get_subcommands().next().is_none() {
                without.push(command.get_name().to_string());
            }
            open.extend(command.get_subcommands().cloned());
        }
        assert!(seen >= 30, "{seen}");
        without.sort();
        let plain = [
            "check",
            "convert",
            "epoch",
            "get",
            "growth",
            "inference",
            "info",
            "list",
            "report",
        ];
        assert_eq!(without, plain, "commands without an example");
        for section in gnarl::model::Model::sections()
            .iter()
            .filter_map(|section| section.axis)
        {
            assert!(
                examples::TRAIN.contains(&format!("--{section} ")),
                "{section} has no example"
            );
        }
    }

    #[test]
    fn refusals_are_one_line() {
        let line = |args: &[&str]| one_line(&parse(args.iter().map(OsString::from)).unwrap_err());
        assert_eq!(
            line(&["gnarl", "--seed", "NaN"]),
            "error: invalid value 'NaN' for '--seed <N>': invalid digit found in string; try --help"
        );
        assert_eq!(
            line(&["gnarl", "data"]),
            "error: a subcommand is missing; try --help"
        );
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
