//! `gnarl data convert`: writes a dataset in another of the formats that gnarl reads.

use std::path::PathBuf;

use clap::Args;
use gnarl_data::writer::{self, Written};
use serde::Serialize;

use crate::commands::load;
use crate::global::Global;
use crate::output::Report;
use crate::progress;

/// Arguments of `gnarl data convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// Dataset: a name of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    pub data: String,
    /// Destination: a folder for text files of one graph or of a set; or, for one graph, a file
    /// that ends in .npz (edges, features and labels, for SciPy), .csv, .tsv, .txt or .edges (edges
    /// alone)
    pub to: PathBuf,
}

/// Result of `gnarl data convert`.
#[derive(Debug, Serialize)]
pub struct ConvertReport {
    data: String,
    files: Vec<String>,
    /// Parts of the dataset that the format cannot hold.
    left_out: Vec<&'static str>,
}

/// Loads the dataset and writes it.
pub fn run(global: &Global, args: &ConvertArgs) -> anyhow::Result<ConvertReport> {
    let data = load(global, &args.data)?;
    let name: String = data
        .name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let Written { files, left_out } =
        progress::during(&format!("writing {}", args.to.display()), || {
            writer::write(&args.to, &name, &data.content)
        })?;
    Ok(ConvertReport {
        data: data.name,
        files: files.iter().map(|f| f.display().to_string()).collect(),
        left_out,
    })
}

impl Report for ConvertReport {
    fn text(&self) -> String {
        let mut text = format!("{} written: {}\n", self.data, self.files.join(", "));
        if !self.left_out.is_empty() {
            text += &format!(
                "left out, since the format cannot hold it: {}\n",
                self.left_out.join(", ")
            );
        }
        text
    }
}
