//! `gnarl data info`: describes one dataset.

use std::path::{Path, PathBuf};

use clap::Args;
use gnarl_data::load;
use gnarl_data::registry::{self, Entry, Protocol, RemoteFile};
use gnarl_graph::Error;
use serde::Serialize;

use super::adjacency;
use super::check::{self, CheckArgs, CheckReport};
use super::list;
use crate::global::Global;
use crate::output::{self, Report, count};

/// Arguments of `gnarl data info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// Dataset: a name of `gnarl data list`, or a path to your own files
    pub name: String,
    /// Read the dataset and plot its adjacency matrix, with nodes ordered by class, to STEM.svg and
    /// STEM.png
    #[arg(long, value_name = "STEM")]
    pub adjacency: Option<PathBuf>,
}

/// Result of `gnarl data info`.
#[derive(Debug, Serialize)]
pub struct InfoReport {
    #[serde(flatten)]
    what: What,
    /// Picture files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

/// Description of a dataset, by its origin.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum What {
    /// Entry of the registry.
    RegistryInfo(Box<RegistryInfo>),
    /// Built-in graph without files.
    BuiltIn(BuiltIn),
    /// Statistics of a user's own files, which are read.
    Own(Box<CheckReport>),
}

/// Registry entry of a dataset, and the location of its files.
#[derive(Debug, Serialize)]
pub struct RegistryInfo {
    #[serde(flatten)]
    entry: &'static Entry,
    data_dir: String,
    present: bool,
    /// True if a copy embedded in the program is read.
    embedded: bool,
    missing: Option<String>,
}

/// Description of a graph without files.
#[derive(Debug, Serialize)]
pub struct BuiltIn {
    title: &'static str,
    #[serde(flatten)]
    row: list::Row,
    splits: usize,
}

/// Looks a dataset up.
pub fn run(global: &Global, args: &InfoArgs) -> anyhow::Result<InfoReport> {
    let draw = |stem: &PathBuf| adjacency::draw(global, &args.name, stem);
    let files = args
        .adjacency
        .as_ref()
        .map(draw)
        .transpose()?
        .unwrap_or_default();
    Ok(InfoReport {
        what: look_up(global, args)?,
        files,
    })
}

fn look_up(global: &Global, args: &InfoArgs) -> anyhow::Result<What> {
    if let Some(title) = load::built_in_title(&args.name) {
        let (row, splits) = list::built_in(global, &args.name)?;
        return Ok(What::BuiltIn(BuiltIn { title, row, splits }));
    }
    let known = registry::get(&args.name);
    if known.is_none() && Path::new(&args.name).exists() {
        let own = check::run(
            global,
            &CheckArgs {
                names: vec![args.name.clone()],
            },
        )?;
        return Ok(What::Own(Box::new(own)));
    }
    let entry = known.ok_or_else(|| {
        Error::unknown(
            "dataset",
            &args.name,
            registry::names().chain(load::BUILT_IN),
        )
    })?;
    let dir = gnarl_data::data_dir(global.data_dir.as_deref());
    let missing = entry.first_missing(&dir);
    let (data_dir, embedded) = (dir.display().to_string(), load::is_embedded(entry, &dir));
    Ok(What::RegistryInfo(Box::new(RegistryInfo {
        entry,
        data_dir,
        present: missing.is_none(),
        embedded,
        missing,
    })))
}

impl Report for InfoReport {
    fn text(&self) -> String {
        let text = match &self.what {
            What::RegistryInfo(known) => known.text(),
            What::BuiltIn(built_in) => built_in.text(),
            What::Own(own) => own.text(),
        };
        if self.files.is_empty() {
            text
        } else {
            format!("{text}\nwritten: {}\n", self.files.join(", "))
        }
    }

    fn complaint(self) -> Option<anyhow::Error> {
        match self.what {
            What::Own(own) => own.complaint(),
            What::RegistryInfo(_) | What::BuiltIn(_) => None,
        }
    }
}

impl BuiltIn {
    fn text(&self) -> String {
        let row = &self.row;
        let mut size = vec![format!("{} nodes", count(row.nodes as u64))];
        size.extend(
            row.undirected_edges
                .map(|edges| format!("{} undirected edges", count(edges as u64))),
        );
        size.extend(
            row.features
                .map(|features| format!("{} features", count(features as u64))),
        );
        size.push(format!("{} classes", row.classes));
        let split = match self.splits {
            0 => "60 / 20 / 20 %, at random".to_string(),
            splits => format!("{splits} of its own"),
        };
        let rows = [
            ("name", row.name.clone()),
            ("what", self.title.to_string()),
            ("task", format!("{} classification", row.task)),
            ("size", size.join(", ")),
            ("split", split),
            ("present", "yes, it needs no files".to_string()),
        ];
        output::render(&output::pairs(rows))
    }
}

impl RegistryInfo {
    fn text(&self) -> String {
        let entry = self.entry;
        let mut rows = vec![("name", entry.name.to_string())];
        if !entry.aliases.is_empty() {
            rows.push(("also", entry.aliases.join(", ")));
        }
        rows.push(("what", entry.title.to_string()));
        rows.push(("task", format!("{} classification", entry.task)));
        rows.push(("size", size(entry)));
        rows.push(("split", protocol(entry.protocol)));
        rows.push(("cite", entry.citation.to_string()));
        rows.push(("licence", entry.licence.to_string()));
        rows.push(("format", entry.format.folder().to_string()));
        if let Some(note) = entry.note {
            rows.push(("note", note.to_string()));
        }
        rows.push(("folder", self.data_dir.clone()));
        let present = match (&self.missing, self.embedded) {
            (None, _) => "yes".to_string(),
            (Some(_), true) => {
                "no files, and none are needed: a copy is part of the program".to_string()
            }
            (Some(file), false) => format!("no: {file} is missing"),
        };
        rows.push(("present", present));
        let mut files = output::table(&["file", "sha256", "from"]);
        for RemoteFile {
            url, path, sha256, ..
        } in entry.files
        {
            let checksum = sha256.map_or("not known", |hash| &hash[..12]);
            files.add_row([path, checksum, url]);
        }
        format!(
            "{}\n{}",
            output::render(&output::pairs(rows)),
            output::render(&files)
        )
    }
}

fn size(entry: &Entry) -> String {
    let expected = &entry.expected;
    let mut parts = Vec::new();
    let mut part = |number: Option<usize>, what: &str| {
        parts.extend(number.map(|n| format!("{} {what}", count(n as u64))));
    };
    part(expected.graphs, "graphs");
    part(Some(expected.nodes), "nodes");
    part(expected.undirected_edges, "undirected edges");
    part(
        expected.features,
        if expected.graphs.is_some() {
            "node labels"
        } else {
            "features"
        },
    );
    part(Some(expected.classes), "classes");
    parts.join(", ")
}

/// Describes the split protocol in words.
fn protocol(protocol: Protocol) -> String {
    match protocol {
        Protocol::PlanetoidPublic => {
            "the public split of the files: 20 per class / 500 / 1,000".into()
        }
        Protocol::GeomGcnTen => "the ten splits of the files: 48 / 32 / 20 %".into(),
        Protocol::PerClass { train, val, test } => {
            format!(
                "{train} per class / {} / {}, at random",
                count(val as u64),
                count(test as u64)
            )
        }
        Protocol::LargestComponentFractions { train, val } => {
            let share = |x: f64| output::real((100.0 * x).round());
            let test = share(1.0 - train - val);
            format!(
                "{} / {} / {test} % of the largest component, at random",
                share(train),
                share(val)
            )
        }
        Protocol::Published => {
            "the split that its literature shares, 10 / 10 / 80 %, or its targets to test on".into()
        }
        Protocol::OgbTime => "the split of the files, by year".into(),
        Protocol::LinkxHalfQuarter => "five splits of 50 / 25 / 25 %, at random".into(),
        Protocol::Folds(k) => format!("{k} stratified folds"),
    }
}
