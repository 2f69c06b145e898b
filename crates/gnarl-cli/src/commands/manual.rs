//! `gnarl completions` and `gnarl man`: print shell completions and man pages from the definition
//! of the command line.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use gnarl_graph::Error;
use serde::Serialize;

use crate::output::{self, Report};

/// Arguments of `gnarl completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell: bash, elvish, fish, powershell or zsh
    pub shell: Shell,
}

/// Completion script of a shell.
#[derive(Debug, Serialize)]
pub struct Completions {
    shell: String,
    script: String,
}

/// Generates the completion script of a shell for a command line.
pub fn completions(mut command: Command, args: &CompletionsArgs) -> Completions {
    let mut script = Vec::new();
    let name = command.get_name().to_string();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    Completions {
        shell: args.shell.to_string(),
        script: String::from_utf8_lossy(&script).into_owned(),
    }
}

impl Report for Completions {
    fn text(&self) -> String {
        self.script.clone()
    }
}

/// Arguments of `gnarl man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for gnarl.1, gnarl-train.1 and so on; it is created if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Man pages that were written.
#[derive(Debug, Serialize)]
pub struct Manual {
    files: Vec<String>,
}

/// Writes a page for a command line and each of its commands.
pub fn man(command: Command, args: &ManArgs) -> anyhow::Result<Manual> {
    std::fs::create_dir_all(&args.out).map_err(|e| Error::io(&args.out, e))?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut files = Vec::new();
    let mut open = vec![command];
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().cloned());
        let name = command
            .get_display_name()
            .unwrap_or_else(|| command.get_name())
            .to_string();
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        let file = args.out.join(format!("{name}.1"));
        output::write_whole(&file, page)?;
        files.push(file.display().to_string());
    }
    files.sort();
    Ok(Manual { files })
}

impl Report for Manual {
    fn text(&self) -> String {
        format!(
            "{} pages in all, the first {}\n",
            self.files.len(),
            self.files.first().map_or("none", String::as_str)
        )
    }
}
