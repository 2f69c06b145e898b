//! The `gnarl` command line: parses arguments, calls the library, prints reports.
//!
//! | file | contents |
//! | --- | --- |
//! | `args` | grammar of the command line, and the one-line error of a wrong one |
//! | `options` | options that come from the library's lists of choices |
//! | `examples` | examples at the foot of every command's help |
//! | `commands/` | one file per command: from arguments to a report |
//! | `output` | a report as tables or as one JSON object |
//! | `html` | markup of text and tables |
//! | `page` | pages that need nothing but a browser: sections, and interactive components |
//! | `plot` | heat maps and line charts as SVG and PNG files |
//! | `serve` | HTTP server of a page for one reader on this machine |
//! | `progress` | bars and spinners on standard error |
//! | `global` | options shared by every command |
//! | `interrupt` | handling of Ctrl-C |
//!
//! [`run`] is the only entry point: the program `gnarl` calls it, and so does the command that
//! comes with the Python package.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod examples;
mod global;
mod html;
mod interrupt;
mod node_id;
mod options;
mod output;
mod page;
mod plot;
mod progress;
mod serve;

use std::ffi::OsString;
use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use clap::CommandFactory;
use gnarl_graph::Error;

use args::{Cli, Command};
use commands::bench::BenchCommand;
use commands::data::DataCommand;
use global::Global;
use progress::Verbosity;

#[doc(hidden)]
pub use serve::fuzz_request;

/// Function that a program calls, to configure its allocator, when a large graph lies on disk.
static ON_LARGE: std::sync::OnceLock<fn()> = std::sync::OnceLock::new();

/// Sets a function to call once a graph turns out to lie on disk: there memory matters more than
/// the time to get it back from the system.
pub fn on_large_graphs(call: fn()) {
    let _ = ON_LARGE.set(call);
}

/// Runs a command line, whose first word is the program's name, and returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match args::parse(words) {
        Ok(cli) => cli,
        Err(error) => return args::refuse(&error),
    };
    // The command runs on one of the pool's threads: it takes part in its own parallel work instead
    // of sleeping through it, which costs two task switches each time.
    progress::set_verbosity(if cli.global.quiet {
        Verbosity::Quiet
    } else if cli.global.verbose {
        Verbosity::Verbose
    } else {
        Verbosity::Normal
    });
    let started = Instant::now();
    let code = match start(cli.global.threads).and_then(|pool| pool.install(|| command(&cli))) {
        Ok(()) => 0,
        Err(error) => fail(&error),
    };
    progress::print_time("all", started);
    code
}

/// Starts the threads that run every parallel part of the library.
fn start(threads: Option<usize>) -> anyhow::Result<rayon::ThreadPool> {
    // A command's own threads, such as those that run the cells of a table in parallel, work on the
    // process' pool, so the pool has to be as large. If a process runs several commands, the first
    // one sets the size, and that is no error.
    let _ = gnarl_tensor::start_threads(threads);
    gnarl_tensor::thread_pool(threads).with_context(|| match threads {
        Some(threads) => format!("--threads {threads}: the threads could not be started"),
        None => "the threads could not be started".to_string(),
    })
}

/// Dispatches to the command.
fn command(cli: &Cli) -> anyhow::Result<()> {
    let global = &cli.global;
    check(cli)?;
    let Some(command) = &cli.command else {
        return output::print(global, commands::demo::run(global, &cli.demo())?);
    };
    match command {
        Command::Data(args) => data(global, args),
        Command::Centrality(args) => {
            output::print(global, commands::centrality::run(global, args)?)
        }
        Command::Spectrum(args) => output::print(global, commands::spectrum::run(global, args)?),
        Command::Energy(args) => output::print(global, commands::energy::run(global, args)?),
        Command::Cluster(args) => output::print(global, commands::cluster::run(global, args)?),
        Command::Train(args) => output::print(global, commands::train::run(global, args)?),
        Command::Attack(args) => output::print(global, commands::attack::run(global, args)?),
        Command::Advise(args) => output::print(global, commands::advise::run(global, args)?),
        Command::Axes(args) => output::print(global, commands::axes::run(global, args)?),
        Command::Plan(args) => output::print(global, commands::plan::run(args)?),
        Command::Predict(args) => output::print(global, commands::predict::run(global, args)?),
        Command::Robustness(args) => {
            output::print(global, commands::robustness::run(global, args)?)
        }
        Command::Certify(args) => output::print(global, commands::certify::run(global, args)?),
        Command::Bench(args) => bench(global, args),
        Command::Reproduce(args) => output::print(global, commands::reproduce::run(global, args)?),
        Command::Explore(args) => commands::explore::run(global, args),
        Command::Report(args) => output::print(global, commands::report::run(args)?),
        Command::Schema(args) => output::print(global, commands::schema::run(args)),
        Command::Completions(args) => {
            output::print(global, commands::manual::completions(Cli::command(), args))
        }
        Command::Man(args) => output::print(global, commands::manual::man(Cli::command(), args)?),
    }
}

/// Fails if an option does not apply, or an output file could not be written.
fn check(cli: &Cli) -> gnarl_graph::Result<()> {
    let Some(command) = &cli.command else {
        return Ok(());
    };
    if cli.out.is_some() {
        let what = "--out before a command does not apply; the command has its own options for files, see --help";
        return Err(Error::argument("gnarl", what));
    }
    for (option, file) in command.places() {
        output::check_place(option, &file)?;
    }
    if cli.tour.is_some() || cli.rough.is_some() {
        return Err(Error::argument(
            "gnarl",
            "--tour is for gnarl without a command; leave it out",
        ));
    }
    Ok(())
}

fn data(global: &Global, command: &DataCommand) -> anyhow::Result<()> {
    match command {
        DataCommand::List => output::print(global, commands::data::list::run(global)?),
        DataCommand::Info(args) => output::print(global, commands::data::info::run(global, args)?),
        DataCommand::Get(args) => output::print(global, commands::data::get::run(global, args)?),
        DataCommand::Check(args) => {
            output::print(global, commands::data::check::run(global, args)?)
        }
        DataCommand::Import(args) => {
            output::print(global, commands::data::import::run(global, args)?)
        }
        DataCommand::Convert(args) => {
            output::print(global, commands::data::convert::run(global, args)?)
        }
    }
}

fn bench(global: &Global, command: &BenchCommand) -> anyhow::Result<()> {
    match command {
        BenchCommand::Epoch(args) => output::print(global, commands::bench::epoch(global, args)?),
        BenchCommand::Inference(args) => {
            output::print(global, commands::bench::inference(global, args)?)
        }
        BenchCommand::Growth(args) => {
            output::print(global, commands::growth::growth(global, args)?)
        }
    }
}

/// Prints the error on one line and returns the exit code: 2 for wrong usage and bad input, 1 for
/// causes outside the user's control (network, solver, full disk).
fn fail(error: &anyhow::Error) -> u8 {
    if output::is_broken_pipe(error) {
        return 0;
    }
    let code = match error.downcast_ref::<Error>() {
        Some(Error::Download { .. } | Error::NotConverged { .. } | Error::Internal { .. }) => 1,
        Some(_) => 2,
        None => match error.downcast_ref::<std::io::Error>() {
            Some(_) => 1,
            None => 2,
        },
    };
    let code = if error.downcast_ref::<interrupt::Interrupted>().is_some() {
        interrupt::exit_code()
    } else {
        code
    };
    // Standard error may be closed: then nobody reads the message.
    let _ = writeln!(std::io::stderr(), "error: {}", one_line(error));
    code
}

/// The error and its causes on one line; a message that already has its cause in it does not get it
/// twice. A setting outside its range is named as it is typed.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    if let Some(outside @ Error::OutOfRange { .. }) = error.downcast_ref::<Error>() {
        let outside = outside.to_string();
        line = line.replacen(&outside, &format!("--{outside}"), 1);
    }
    line.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_named_once() {
        let missing = || std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = Error::io(std::path::Path::new("a.csv"), missing());
        assert_eq!(one_line(&error.into()), "a.csv: no such file");
        let error = anyhow::Error::from(missing()).context("two\nlines");
        assert_eq!(one_line(&error), "two lines: no such file");
    }

    #[test]
    fn a_setting_outside_its_range_is_named_as_it_is_typed() {
        let error = Error::OutOfRange {
            setting: "budget".into(),
            range: ">= 0".into(),
            got: "-1".into(),
        };
        let expected = "--budget must be >= 0 (got -1)";
        let error = anyhow::Error::from(error);
        assert_eq!(one_line(&error), expected);
        let error = error.context("a.toml");
        assert_eq!(one_line(&error), format!("a.toml: {expected}"));
    }
}
