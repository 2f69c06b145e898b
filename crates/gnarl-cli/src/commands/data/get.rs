//! `gnarl data get`: downloads datasets.

use clap::Args;
use std::path::Path;

use gnarl_data::download::{self, Outcome, State};
use gnarl_data::registry::{self, DATASETS, Entry};
use serde::Serialize;

use crate::global::Global;
use crate::output::{self, Report, count};
use crate::progress::Bars;

/// Arguments of `gnarl data get`.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// Datasets to download, by their names in `gnarl data list`
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub names: Vec<String>,
    /// Download every dataset
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
}

/// Result of `gnarl data get`.
#[derive(Debug, Serialize)]
pub struct GetReport {
    data_dir: String,
    datasets: Vec<Fetched>,
    #[serde(skip)]
    first_error: Option<gnarl_graph::Error>,
}

#[derive(Debug, Serialize)]
struct Fetched {
    name: &'static str,
    files: Vec<File>,
    /// The error, if the download failed.
    error: Option<String>,
    note: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct File {
    path: String,
    /// Bytes received now; 0 if the file was already there.
    downloaded: u64,
    /// True if the checksum is known and was compared.
    verified: bool,
}

/// Downloads missing datasets. All names are looked up before anything is downloaded; a dataset that
/// fails does not stop the others.
pub fn run(global: &Global, args: &GetArgs) -> anyhow::Result<GetReport> {
    let entries: Vec<&'static Entry> = if args.all {
        DATASETS.iter().collect()
    } else {
        args.names
            .iter()
            .map(|name| registry::find(name))
            .collect::<Result<_, _>>()?
    };
    let dir = gnarl_data::data_dir(global.data_dir.as_deref());
    let mut first_error = None;
    let mut datasets = Vec::new();
    for entry in entries {
        let (files, error) = match download::fetch(entry, &dir, &Bars::default()) {
            Ok(outcomes) => (outcomes.iter().map(|o| file(o, &dir)).collect(), None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let message = error.as_ref().map(ToString::to_string);
        datasets.push(Fetched {
            name: entry.name,
            files,
            error: message,
            note: entry.note,
        });
        first_error = first_error.or(error);
    }
    Ok(GetReport {
        data_dir: dir.display().to_string(),
        datasets,
        first_error,
    })
}

fn file(outcome: &Outcome, dir: &Path) -> File {
    let path = outcome
        .path
        .strip_prefix(dir)
        .unwrap_or(&outcome.path)
        .display()
        .to_string();
    let downloaded = match outcome.state {
        State::Present => 0,
        State::Downloaded { bytes } => bytes,
    };
    File {
        path,
        downloaded,
        verified: outcome.verified,
    }
}

impl Report for GetReport {
    fn text(&self) -> String {
        let mut table =
            output::table(&["name", ">files", ">bytes downloaded", "checksums", "result"]);
        for Fetched {
            name, files, error, ..
        } in &self.datasets
        {
            let bytes = files.iter().map(|f| f.downloaded).sum();
            let verified = files.iter().filter(|f| f.verified).count();
            let result = if error.is_some() {
                "failed"
            } else if bytes == 0 {
                "present"
            } else {
                "downloaded"
            };
            let cells = [
                *name,
                &files.len().to_string(),
                &count(bytes),
                &format!("{verified} verified"),
                result,
            ];
            table.add_row(cells);
        }
        let mut text = output::render(&table);
        for (name, note) in self
            .datasets
            .iter()
            .filter_map(|d| d.note.map(|note| (d.name, note)))
        {
            text += &format!("{name}: {note}\n");
        }
        text + &format!("\ndata folder: {}\n", self.data_dir)
    }

    fn complaint(self) -> Option<anyhow::Error> {
        let failed: Vec<&str> = self
            .datasets
            .iter()
            .filter(|d| d.error.is_some())
            .map(|d| d.name)
            .collect();
        let error = anyhow::Error::new(self.first_error?);
        Some(if failed.len() > 1 {
            error.context(format!("{} failed; the first", failed.join(", ")))
        } else {
            error
        })
    }
}
