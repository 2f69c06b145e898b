//! Stored results of studies that are no table of the thesis: figures that pages of the docs quote,
//! and pictures for the page of results, each with the command that made it.
//!
//! `results/studies/NAME.json` is a small table as it was printed, a row a line, with the commands
//! that print it and the version of the numerics. `gnarl report --fill PAGE` puts it, or some of
//! its rows and columns, between two comments of a page. A test compares every figure in the text
//! of the docs with the stored ones. `results/figures/NAME.json` describes the picture `NAME.svg`
//! next to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gnarl_graph::Error;
use serde::{Deserialize, Serialize};

use super::cell::NUMERICS;

/// A table as commands printed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedStudy {
    /// Content of the table in a sentence.
    pub says: String,
    /// The commands that print its figures; `NAME` in capitals stands for the part that differs
    /// between rows or columns.
    pub commands: Vec<String>,
    /// Version of the numerics.
    pub numerics: u32,
    /// The header.
    pub columns: Vec<String>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<String>>,
}

impl PublishedStudy {
    /// Reads every table in `FOLDER/studies`, by the name of its file; none if there is no such
    /// folder.
    ///
    /// Fails for a file that cannot be read, has rows of another length than its header, names no
    /// command, or has another version of the numerics.
    pub fn read_all(folder: &Path) -> gnarl_graph::Result<BTreeMap<String, Self>> {
        let named = |(name, file): (String, PathBuf)| {
            let quoted: Self = read(&file)?;
            match quoted.flaw().or_else(|| flaw_of_name(&name)) {
                Some(flaw) => Err(Error::argument(
                    "results",
                    format!("{}: {flaw}", file.display()),
                )),
                None => Ok((name, quoted)),
            }
        };
        files_in(&folder.join("studies"))?
            .into_iter()
            .map(named)
            .collect()
    }

    fn flaw(&self) -> Option<String> {
        if self.numerics != NUMERICS {
            let has = self.numerics;
            return Some(format!(
                "numerics {has} made it, where this gnarl has {NUMERICS}: run its commands again"
            ));
        }
        let is_said =
            !self.says.is_empty() && self.commands.iter().all(|command| !command.is_empty());
        if !is_said || self.commands.is_empty() || self.rows.is_empty() || self.columns.is_empty() {
            return Some("it needs a sentence, a command and a row".to_string());
        }
        let texts = self
            .rows
            .iter()
            .flatten()
            .chain(&self.columns)
            .chain(&self.commands)
            .chain([&self.says]);
        if let Some(odd) = texts
            .into_iter()
            .find(|text| text.contains(char::is_control))
        {
            return Some(format!(
                "{odd:.40?} has a line break or a character like it"
            ));
        }
        let odd = self
            .rows
            .iter()
            .find(|row| row.len() != self.columns.len())?;
        let (cells, columns) = (odd.len(), self.columns.len());
        Some(format!(
            "row {:.40?} has {cells} cells, where there are {columns} columns",
            odd.first().map_or("", |c| c)
        ))
    }
}

/// A picture and its description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// Content of the picture in a sentence.
    pub says: String,
    /// The chapter of the thesis.
    pub chapter: u8,
    /// The label of the thesis' figure that it reproduces; `None` for one of gnarl's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The command that draws it.
    pub command: String,
    /// The picture itself, as SVG.
    #[serde(skip)]
    pub picture: String,
}

impl Drawing {
    /// Reads every picture in `FOLDER/figures`, by chapter and name; none if there is no such
    /// folder. Fails if a picture is described but missing, or was not drawn by gnarl.
    pub fn read_all(folder: &Path) -> gnarl_graph::Result<Vec<Self>> {
        let drawing = |(_, file): (String, PathBuf)| {
            let drawing: Self = read(&file)?;
            let svg = file.with_extension("svg");
            let picture = std::fs::read_to_string(&svg).map_err(|e| Error::io(&svg, e))?;
            let texts = [
                Some(&drawing.says),
                Some(&drawing.command),
                drawing.label.as_ref(),
            ];
            if texts
                .into_iter()
                .flatten()
                .any(|text| text.is_empty() || text.contains(char::is_control))
            {
                let what = format!(
                    "{} needs a sentence and a command, a line each",
                    file.display()
                );
                return Err(Error::argument("results", what));
            }
            if is_plain_drawing(&picture) {
                Ok(Self { picture, ..drawing })
            } else {
                let what = format!(
                    "{} is no picture that gnarl drew: run its command again",
                    svg.display()
                );
                Err(Error::argument("results", what))
            }
        };
        let files = files_in(&folder.join("figures"))?;
        let mut all = files
            .into_iter()
            .map(drawing)
            .collect::<gnarl_graph::Result<Vec<_>>>()?;
        all.sort_by_key(|drawing| drawing.chapter);
        Ok(all)
    }
}

/// Returns true for one whole drawing of lines, shapes and text, as gnarl draws them. It has
/// nothing that runs, links or loads, since it becomes a part of a page.
fn is_plain_drawing(svg: &str) -> bool {
    const SHAPES: [&str; 9] = [
        "circle", "g", "line", "path", "polygon", "polyline", "rect", "svg", "text",
    ];
    const SAID: [&str; 25] = [
        "cx",
        "cy",
        "d",
        "dx",
        "dy",
        "fill",
        "font-family",
        "font-size",
        "font-weight",
        "height",
        "opacity",
        "points",
        "r",
        "stroke",
        "stroke-width",
        "text-anchor",
        "transform",
        "viewBox",
        "width",
        "x",
        "x1",
        "x2",
        "xmlns",
        "y",
        "y1",
    ];
    let is_said = |name: &str| SAID.contains(&name) || name == "y2";
    let is_plain = |tag: &str| {
        let tag = tag.strip_prefix('/').unwrap_or(tag);
        let (name, rest) = tag.split_at(
            tag.find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(tag.len()),
        );
        // The text between quotes is a value, and the text before it ends in a name.
        let mut parts = rest.split('"');
        let before = parts
            .by_ref()
            .step_by(2)
            .map(|part| part.trim().trim_end_matches('/').trim());
        let names: Vec<&str> = before.filter(|part| !part.is_empty()).collect();
        SHAPES.contains(&name)
            && rest.matches('"').count() % 2 == 0
            && names.iter().all(|part| {
                part.strip_suffix('=')
                    .is_some_and(|name| is_said(name.trim()))
            })
    };
    let text = svg.trim_end();
    let mut tags = text.split('<');
    let starts_and_ends =
        text.starts_with("<svg") && (text.ends_with("</svg>") || text.ends_with("/>"));
    let is_one = text.matches("</svg").count() <= 1 && text.matches("<svg").count() == 1;
    tags.next();
    starts_and_ends
        && is_one
        && tags.all(|tag| tag.split_once('>').is_some_and(|(tag, _)| is_plain(tag)))
}

/// The flaw in the name of a study, if any: blocks use it, and tables of the thesis have names of
/// another form.
fn flaw_of_name(name: &str) -> Option<String> {
    let is_plain = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && name != "claims";
    (!is_plain).then(|| {
        "its name may have small letters, digits and hyphens, and is not claims".to_string()
    })
}

/// The JSON files of a folder with their stems, in order; none if there is no such folder.
fn files_in(folder: &Path) -> gnarl_graph::Result<BTreeMap<String, PathBuf>> {
    let files = match std::fs::read_dir(folder) {
        Ok(files) => files,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(e) => return Err(Error::io(folder, e)),
    };
    let mut found = BTreeMap::new();
    for file in files {
        let file = file.map_err(|e| Error::io(folder, e))?.path();
        let text = |part: Option<&std::ffi::OsStr>| {
            part.and_then(|part| part.to_str()).map(str::to_string)
        };
        if let (Some("json"), Some(name)) =
            (text(file.extension()).as_deref(), text(file.file_stem()))
        {
            found.insert(name, file);
        }
    }
    Ok(found)
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> gnarl_graph::Result<T> {
    let text = std::fs::read(file).map_err(|e| Error::io(file, e))?;
    serde_json::from_slice(&text)
        .map_err(|e| Error::argument("results", format!("{}: {e}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flawed_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            PublishedStudy::read_all(dir.path()).unwrap().is_empty(),
            "no folder"
        );
        let folder = dir.path().join("studies");
        std::fs::create_dir(&folder).unwrap();
        let good = PublishedStudy {
            says: "What it shows.".into(),
            commands: vec!["gnarl train".into()],
            numerics: NUMERICS,
            columns: vec!["".into(), "accuracy".into()],
            rows: vec![vec!["GCN".into(), "81.0".into()]],
        };
        let write = |quoted: &PublishedStudy| {
            std::fs::write(
                folder.join("one.json"),
                serde_json::to_string(quoted).unwrap(),
            )
            .unwrap();
            PublishedStudy::read_all(dir.path()).map_err(|e| e.to_string())
        };
        assert_eq!(write(&good).unwrap()["one"], good);
        let refused = |quoted: PublishedStudy| write(&quoted).unwrap_err();
        let broken = vec![vec!["GCN\nend".into(), "81.0".into()]];
        assert!(
            refused(PublishedStudy {
                rows: broken,
                ..good.clone()
            })
            .contains("has a line break")
        );
        std::fs::rename(folder.join("one.json"), folder.join("tab:one.json")).unwrap();
        assert!(
            PublishedStudy::read_all(dir.path())
                .unwrap_err()
                .to_string()
                .contains("tab:one.json")
        );
        std::fs::remove_file(folder.join("tab:one.json")).unwrap();
        assert!(
            refused(PublishedStudy {
                numerics: 1,
                ..good.clone()
            })
            .contains("one.json: numerics 1 made it")
        );
        assert!(
            refused(PublishedStudy {
                commands: Vec::new(),
                ..good.clone()
            })
            .contains("needs a sentence, a command")
        );
        let e = refused(PublishedStudy {
            rows: vec![vec!["GCN".into()]],
            ..good
        });
        assert!(
            e.contains("row \"GCN\" has 1 cells, where there are 2 columns"),
            "{e}"
        );
        std::fs::write(folder.join("one.json"), "{").unwrap();
        assert!(
            PublishedStudy::read_all(dir.path())
                .unwrap_err()
                .to_string()
                .contains("one.json")
        );
    }

    #[test]
    fn flawed_drawings_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let figures = dir.path().join("figures");
        std::fs::create_dir(&figures).unwrap();
        let said = r#"{"says": "Energy.", "chapter": 3, "command": "gnarl energy"}"#;
        std::fs::write(figures.join("energy.json"), said).unwrap();
        assert!(
            Drawing::read_all(dir.path())
                .unwrap_err()
                .to_string()
                .contains("energy.svg")
        );
        for odd in [
            "<svg><script/></svg>",
            "<svg onload=\"alert(1)\"></svg>",
            "<svg><SCRIPT>alert(1)</SCRIPT></svg>",
            "<svg><image href=\"far\"/></svg>",
            "<svg><style>a</style></svg>",
            "<svg></svg><meta></svg>",
            "<svg></svg></main><svg></svg>",
            "<svg><text>",
            "<svg fill=\"a\" style=\"b\"></svg>",
            "<svg fill=\"></svg>",
        ] {
            std::fs::write(figures.join("energy.svg"), odd).unwrap();
            let e = Drawing::read_all(dir.path()).unwrap_err().to_string();
            assert!(
                e.contains("energy.svg is no picture that gnarl drew"),
                "{odd}: {e}"
            );
        }
        let drawn = "<svg width=\"7\" xmlns=\"x\">\n<rect x=\"1\" fill=\"#fff\"/>\n<text>a &lt; b</text>\n</svg>\n";
        std::fs::write(figures.join("energy.svg"), drawn).unwrap();
        assert_eq!(Drawing::read_all(dir.path()).unwrap()[0].picture, drawn);
        std::fs::write(figures.join("energy.svg"), "<svg/>").unwrap();
        assert_eq!(Drawing::read_all(dir.path()).unwrap()[0].picture, "<svg/>");
    }
}
