//! The `gnarl` command line: parse, call the library, print.
//!
//! | file | what belongs there |
//! | --- | --- |
//! | `args` | what the user may type, and the one line they get when it is wrong |
//! | `commands/` | one file per command: from arguments to a report |
//! | `output` | a report as tables or as one JSON object |
//! | `html` | pages that need nothing but a browser |
//! | `plot` | heat maps and line charts as SVG and PNG files |
//! | `progress` | bars and spinners on standard error |
//! | `global` | options of every command |
//! | `interrupt` | what Ctrl-C does |

mod args;
mod commands;
mod global;
mod html;
mod interrupt;
mod node_id;
mod output;
mod plot;
mod progress;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use args::{Cli, Command};
use commands::bench::BenchCommand;
use commands::data::DataCommand;

/// Training allocates and frees the same large blocks every epoch; this allocator keeps them, the system's returns them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets the allocator keep what is freed. By default it hands large blocks back to the system after a moment and gets them
/// back empty: at a million nodes an epoch then spends half of its time waiting for the kernel to clear pages.
fn keep_freed_memory() {
    /// From `mimalloc.h`, where the numbers of options are the same in versions 2 and 3.
    const PURGE_DELAY: i32 = 15;
    const ARENA_RESERVE: i32 = 23;
    unsafe extern "C" {
        fn mi_option_set(option: i32, value: std::ffi::c_long);
    }
    // SAFETY: part of the allocator linked above; it stores a number.
    unsafe {
        // Never.
        mi_option_set(PURGE_DELAY, -1);
        // In KiB, of addresses and not of memory: an arena must have room for several blocks of hundreds of MB.
        mi_option_set(ARENA_RESERVE, 4 << 20);
    }
}

fn main() -> ExitCode {
    keep_freed_memory();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return args::refuse(&error),
    };
    // The command itself runs on one of the pool's threads: it then takes part in its own parallel work instead of
    // sleeping through it, which costs two task switches each time.
    match start(cli.global.threads).and_then(|()| rayon::scope(|_| run(&cli))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Starts the threads that every parallel part of the library runs on.
fn start(threads: Option<usize>) -> anyhow::Result<()> {
    gnarl::tensor::start_threads(threads).with_context(|| match threads {
        Some(threads) => format!("--threads {threads}: the threads could not be started"),
        None => "the threads could not be started".to_string(),
    })?;
    Ok(())
}

/// Every command, in one place.
fn run(cli: &Cli) -> anyhow::Result<()> {
    let global = &cli.global;
    if cli.command.is_some() && cli.out.is_some() {
        let what = "--out before a command does not apply; commands that write files take their own after their name";
        return Err(gnarl_graph::Error::argument("gnarl", what).into());
    }
    match &cli.command {
        None => output::print(global, commands::demo::run(global, cli.out.as_deref())?),
        Some(Command::Data(data)) => match data {
            DataCommand::List => output::print(global, commands::data::list::run(global)?),
            DataCommand::Info(args) => output::print(global, commands::data::info::run(global, args)?),
            DataCommand::Get(args) => output::print(global, commands::data::get::run(global, args)?),
            DataCommand::Check(args) => output::print(global, commands::data::check::run(global, args)?),
        },
        Some(Command::Centrality(args)) => output::print(global, commands::centrality::run(global, args)?),
        Some(Command::Spectrum(args)) => output::print(global, commands::spectrum::run(global, args)?),
        Some(Command::Energy(args)) => output::print(global, commands::energy::run(global, args)?),
        Some(Command::Cluster(args)) => output::print(global, commands::cluster::run(global, args)?),
        Some(Command::Train(args)) => output::print(global, commands::train::run(global, args)?),
        Some(Command::Attack(args)) => output::print(global, commands::attack::run(global, args)?),
        Some(Command::Advise(args)) => output::print(global, commands::advise::run(global, args)?),
        Some(Command::Axes(args)) => output::print(global, commands::axes::run(global, args)?),
        Some(Command::Predict(args)) => output::print(global, commands::predict::run(global, args)?),
        Some(Command::Robustness(args)) => output::print(global, commands::robustness::run(global, args)?),
        Some(Command::Bench(BenchCommand::Epoch(args))) => output::print(global, commands::bench::epoch(global, args)?),
        Some(Command::Bench(BenchCommand::Inference(args))) => {
            output::print(global, commands::bench::inference(global, args)?)
        }
        Some(Command::Bench(BenchCommand::Growth(args))) => {
            output::print(global, commands::growth::growth(global, args)?)
        }
        Some(Command::Reproduce(args)) => output::print(global, commands::reproduce::run(global, args)?),
    }
}

/// Prints the error on one line. Wrong usage and bad input exit with 2, what the user cannot help (network, solver,
/// full disk) with 1.
fn fail(error: &anyhow::Error) -> ExitCode {
    use gnarl_graph::Error;
    if output::is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let of_graph = error.downcast_ref::<Error>().or(match error.downcast_ref::<gnarl::Error>() {
        Some(gnarl::Error::Graph(e)) => Some(e),
        _ => None,
    });
    let code = match of_graph {
        Some(Error::Download { .. } | Error::NotConverged { .. }) => 1,
        Some(_) => 2,
        None if matches!(error.downcast_ref(), Some(gnarl::Error::Internal { .. })) => 1,
        None => match error.downcast_ref::<std::io::Error>() {
            Some(_) => 1,
            None => 2,
        },
    };
    let code = if error.downcast_ref::<interrupt::Interrupted>().is_some() { interrupt::EXIT_CODE } else { code };
    // Standard error may be closed: then there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "error: {}", one_line(error));
    ExitCode::from(code)
}

/// The error and its causes on one line; a message that already has its cause in it does not get it twice.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let missing = || std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = gnarl_graph::Error::io(std::path::Path::new("a.csv"), missing());
        assert_eq!(one_line(&error.into()), "a.csv: no such file");
        let error = anyhow::Error::from(missing()).context("two\nlines");
        assert_eq!(one_line(&error), "two lines: no such file");
    }
}
