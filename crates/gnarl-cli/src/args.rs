//! What the user may type.

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

/// Graph neural networks and what decides how well they work. Without a command: what the five axes
/// do on Cora and MUTAG, as a page.
#[derive(Debug, Parser)]
#[command(name = "gnarl", version, max_term_width = 100, after_help = examples::GNARL)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// Without a command: where the page goes [default: gnarl-report.html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Without a command: what is shown, axes (the five axes on Cora and MUTAG) or karate (plain
    /// models on a club of 34) [default: axes]
    #[arg(long, value_name = "TOUR")]
    pub tour: Option<Tour>,
    /// Without a command: so many epochs of each training, for a quick look at what would be
    /// printed
    #[arg(long, value_name = "EPOCHS", hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub rough: Option<u32>,
    /// The command; none is the demo.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// What was said about the demo.
    pub fn demo(&self) -> DemoSettings<'_> {
        let rough = self.rough.map(|epochs| epochs as usize);
        DemoSettings {
            out: self.out.as_deref(),
            tour: self.tour.unwrap_or(Tour::Axes),
            rough,
        }
    }
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List, fetch and check datasets
    #[command(subcommand)]
    Data(DataCommand),
    /// How central each node is
    #[command(after_help = examples::CENTRALITY)]
    Centrality(CentralityArgs),
    /// Eigenvalues of classical and centrality operators, the gap, the Cheeger constant and the
    /// bounds between them
    #[command(after_help = examples::SPECTRUM)]
    Spectrum(SpectrumArgs),
    /// Dirichlet energy by depth: how much difference between neighbours SGC and CSGC leave
    #[command(after_help = examples::ENERGY)]
    Energy(EnergyArgs),
    /// Find communities and compare them with the truth
    #[command(after_help = examples::CLUSTER)]
    Cluster(ClusterArgs),
    /// Train a model and say how well it does
    #[command(after_help = examples::TRAIN)]
    Train(Box<TrainArgs>),
    /// Change a graph within a budget and see how many answers of a model turn wrong
    #[command(after_help = examples::ATTACK)]
    Attack(Box<AttackArgs>),
    /// Which axes are worth switching on for a dataset, without a look at test labels
    #[command(after_help = examples::ADVISE)]
    Advise(Box<AdviseArgs>),
    /// A plain model against each axis switched on, every pair of axes, and all of them
    #[command(after_help = examples::AXES)]
    Axes(Box<AxesArgs>),
    /// What training on a graph of some size takes: memory and time, on the whole graph, sampled,
    /// and with workers
    Plan(PlanArgs),
    /// Classes by a saved model
    #[command(after_help = examples::PREDICT)]
    Predict(PredictArgs),
    /// A graph and a model to play with in a browser: change edges and features, and see the
    /// answers move
    #[command(after_help = examples::EXPLORE)]
    Explore(Box<ExploreArgs>),
    /// How far a trained model's answers move when features or edges do: estimates, and bounds
    /// nothing exceeds
    #[command(after_help = examples::ROBUSTNESS)]
    Robustness(Box<RobustnessArgs>),
    /// What no attacker within a radius can change of a trained model's answers: certificates
    #[command(after_help = examples::CERTIFY)]
    Certify(Box<CertifyArgs>),
    /// How long things take here
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Run tables of the thesis and print our figures beside them
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(ReproduceArgs),
    /// What holds of the thesis: every claim with a verdict, every table, on one page
    Report(ReportArgs),
    /// Print the JSON schema of spec files
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// What a shell needs to complete commands and options, as `source <(gnarl completions bash)`
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write pages for `man`, one for each command
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
}

impl Command {
    /// The files that it was told to write, by the options that named them; of a stem the picture,
    /// for all that begin with it.
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

/// Understands a command line. A number below 0 behind an option is its value, so that what is
/// wrong with it is said of that option.
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

/// Answers a command line that clap did not accept: help and version as asked, anything else in one
/// line.
pub fn refuse(error: &clap::Error) -> u8 {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // A reader who stopped listening is not an error.
        let _ = error.print();
        return 0;
    }
    let _ = writeln!(std::io::stderr(), "{}", one_line(error));
    2
}

/// clap's message without its usage paragraph, on one line.
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

/// The refusal of an option that has another name now.
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

    /// The words of an example, as a shell would pass them: what follows two spaces is prose.
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
