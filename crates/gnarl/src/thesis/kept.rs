//! What is kept of a table in the repository: the figure of every run, and nothing that can be had by running it again.
//!
//! A cell's own file has everything that was found, curves and learned scalars too; a table's file here has a few kilobytes. From it the same
//! [`Report`] is made, with the same differences run by run.

use std::path::Path;

use gnarl_graph::files::write_atomically;
use serde::{Deserialize, Serialize};

use super::cell::NUMERICS;
use super::measured::Measured;
use super::recipe::Recipe;
use super::report::{Report, recipe_name};
use super::runner::{Outcome, Plan, Settings, plan};
use super::table::Table;
use super::work::Work;
use crate::error::{Error, Result};

/// The figures of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The thesis' label.
    pub table: String,
    /// The numerics that made them.
    pub numerics: u32,
    /// Runs that were asked for.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
    /// Those that were run.
    pub cells: Vec<KeptCell>,
}

/// The figures of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptCell {
    /// The row's label.
    pub row: String,
    /// The column.
    pub column: String,
    /// Whose settings; none where nothing is trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// The figure of each run.
    pub runs: Vec<f64>,
    /// Further figures of the same runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, Vec<f64>)>,
    /// Stands for the splits of the runs: cells of the same are compared run by run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splits: Option<String>,
    /// Seconds it took.
    pub seconds: f64,
}

/// Digits that are kept: more than anybody prints, fewer than a double has.
fn rounded(x: f64) -> f64 {
    let scale = 10f64.powi(6 - x.abs().max(1e-12).log10().ceil() as i32);
    if x == 0.0 || !x.is_finite() { x } else { (x * scale).round() / scale }
}

impl Kept {
    /// What a report has of figures.
    pub fn of(report: &Report) -> Self {
        let mut cells = Vec::new();
        for row in &report.rows {
            for (cell, column) in row.cells.iter().zip(&report.columns) {
                let Some(ours) = &cell.ours else { continue };
                let of = |runs: &[f64]| runs.iter().map(|x| rounded(*x)).collect::<Vec<f64>>();
                cells.push(KeptCell {
                    row: row.label.to_string(),
                    column: column.to_string(),
                    recipe: row.recipe.map(|recipe| recipe_name(recipe).to_string()),
                    runs: of(&ours.runs),
                    parts: ours.parts.iter().map(|part| (part.name.clone(), of(&part.runs))).collect(),
                    splits: (!ours.splits.is_empty()).then(|| short(&ours.splits)),
                    seconds: rounded(ours.seconds),
                });
            }
        }
        let runs = report.runs.unwrap_or(1);
        Self { table: report.table.to_string(), numerics: NUMERICS, runs, seed: report.seed, cells }
    }

    /// Writes it to `TABLE.json` in a folder, one cell a line, so that a change shows as one.
    pub fn write(&self, table: &Table, folder: &Path) -> Result<()> {
        let text = |cell: &KeptCell| serde_json::to_string(cell).map_err(unreadable);
        let head = Self { cells: Vec::new(), ..self.clone() };
        let head = serde_json::to_string(&head).map_err(unreadable)?;
        let lines = self.cells.iter().map(text).collect::<Result<Vec<_>>>()?.join(",\n");
        let whole = format!("{}[\n{lines}\n]}}\n", head.trim_end_matches("[]}"));
        std::fs::create_dir_all(folder).map_err(|e| gnarl_graph::Error::io(folder, e))?;
        Ok(write_atomically(&folder.join(format!("{}.json", table.short_name())), whole.as_bytes())?)
    }

    /// Reads it back; `None` where the folder has none of this table.
    pub fn read(table: &Table, folder: &Path) -> Result<Option<Self>> {
        let file = folder.join(format!("{}.json", table.short_name()));
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(gnarl_graph::Error::io(&file, e).into()),
        };
        let wrong =
            |what: String| Error::Graph(gnarl_graph::Error::argument("results", format!("{}: {what}", file.display())));
        let kept: Self = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
        if kept.table != table.name {
            return Err(wrong(format!("figures of {}, not of {}", kept.table, table.name)));
        }
        Ok(Some(kept))
    }

    /// The figures of a plan, where they are here.
    pub(super) fn measured(&self, table: &Table, plan: &Plan) -> Option<Measured> {
        let (label, column) = (table.rows[plan.row].label, table.columns[plan.column]);
        let recipe = plan.recipe.map(recipe_name);
        let same = |cell: &&KeptCell| cell.row == label && cell.column == column && cell.recipe.as_deref() == recipe;
        let cell = self.cells.iter().find(same)?;
        Some(Measured {
            values: cell.runs.clone(),
            parts: cell.parts.clone(),
            splits: cell.splits.iter().cloned().collect(),
            seconds: cell.seconds,
            ..Measured::default()
        })
    }

    /// Whether its figures are those that these settings would find.
    pub(super) fn serves(&self, table: &Table, settings: &Settings) -> bool {
        let same_runs = !table.is_trained() || (self.runs, self.seed) == (settings.runs, settings.seed);
        self.numerics == NUMERICS && same_runs
    }

    /// The table with these figures.
    pub fn report(&self, table: &Table) -> Result<Report> {
        let mut settings = Settings::new(Default::default(), Default::default());
        (settings.runs, settings.seed) = (self.runs, self.seed);
        settings.recipes = vec![Recipe::Thesis, Recipe::Default];
        let mut plans = plan(table, &settings)?;
        let has = |recipe: Recipe| self.cells.iter().any(|cell| cell.recipe.as_deref() == Some(recipe_name(recipe)));
        // A recipe that nothing was run with is not shown; the thesis' is, so that holes are seen.
        plans.retain(|plan| plan.recipe != Some(Recipe::Default) || has(Recipe::Default));
        let outcome = |plan: &Plan| match (self.measured(table, plan), &plan.config.work) {
            (Some(measured), _) => Outcome::measured(measured),
            (None, Work::Missing(what)) => Outcome::Hole(what.to_string()),
            (None, _) => Outcome::NotRun,
        };
        let outcomes = plans.iter().map(outcome).collect();
        Report::new(table, &settings, &plans.iter().collect::<Vec<_>>(), outcomes, 0.0)
    }
}

/// A few letters that stand for the names of splits; letters that stand for some already stay.
fn short(splits: &[String]) -> String {
    if let [one] = splits
        && one.len() == 8
        && one.bytes().all(|b| b.is_ascii_hexdigit())
    {
        return one.clone();
    }
    format!("{:08x}", super::cell::fnv1a(splits.join("\n").as_bytes()) as u32)
}

fn unreadable(e: serde_json::Error) -> Error {
    Error::Graph(gnarl_graph::Error::argument("results", e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thesis::report::Status;
    use crate::thesis::tables;

    #[test]
    fn figures_come_back_with_their_differences() {
        let table = tables::find("results_gcn").unwrap();
        let cell = |row: &str, runs: &[f64]| KeptCell {
            row: row.into(),
            column: "MUTAG".into(),
            recipe: Some("thesis".into()),
            runs: runs.to_vec(),
            parts: Vec::new(),
            splits: Some("0a1b2c3d".into()),
            seconds: 1.5,
        };
        let kept = Kept {
            table: table.name.into(),
            numerics: NUMERICS,
            runs: 3,
            seed: 0,
            cells: vec![cell("No Aug.", &[80.0, 82.0, 84.0]), cell("GRATIN", &[81.0, 84.0, 85.0])],
        };
        let dir = tempfile::tempdir().unwrap();
        kept.write(table, dir.path()).unwrap();
        let back = Kept::read(table, dir.path()).unwrap().unwrap();
        assert_eq!(back, kept);
        let report = back.report(table).unwrap();
        let gratin = report.rows.iter().find(|row| row.label == "GRATIN").unwrap();
        let mutag = &gratin.cells[2];
        assert!((mutag.minus("No Aug.").unwrap().paired.unwrap().mean - 4.0 / 3.0).abs() < 1e-9);
        assert_eq!((report.cells_stored, gratin.cells[0].status), (2, Status::NotRun));
        assert_eq!(Kept::of(&report).cells, kept.cells);
        assert!(Kept::read(tables::find("oracle").unwrap(), dir.path()).unwrap().is_none());
        std::fs::write(dir.path().join("oracle.json"), "{").unwrap();
        let e = Kept::read(tables::find("oracle").unwrap(), dir.path()).unwrap_err().to_string();
        assert!(e.starts_with("results: ") && e.contains("oracle.json"), "{e}");
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(
            [81.234_567, -0.001_234_567_8, 0.0, 123_456.7].map(rounded),
            [81.2346, -0.001_234_57, 0.0, 123_457.0]
        );
    }
}
