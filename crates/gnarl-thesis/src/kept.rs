//! The stored results of a table in the repository: the figure of every run, and nothing that a new
//! run can recompute.
//!
//! A cell's own file has the full result, with curves and learned scalars. A table's file here has
//! a few kilobytes. It gives the same [`Report`], with the same differences run by run. A [`ResultStore`]
//! is a folder of these files: the result of a cell in one table serves every table that shows it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use gnarl_graph::files::write_atomically;
use serde::{Deserialize, Serialize};

use super::cell::{CellConfig, NUMERICS};
use super::measured::Measured;
use super::recipe::Recipe;
use super::report::{Report, recipe_name};
use super::runner::{Outcome, Pace, Plan, Settings, plan, runs_of};
use super::table::Table;
use super::tables;
use gnarl_graph::{Error, Result};

/// The stored results of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredResults {
    /// The thesis' label of the table.
    pub table: String,
    /// Version of the numerics.
    pub numerics: u32,
    /// Number of requested runs.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
    /// The cells that were run.
    pub cells: Vec<KeptCell>,
}

/// The stored results of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptCell {
    /// The label of the row.
    pub row: String,
    /// The column.
    pub column: String,
    /// The recipe; `None` if nothing is trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// The figure of each run.
    pub runs: Vec<f64>,
    /// Further figures of the same runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, Vec<f64>)>,
    /// A hash of the runs' splits: cells with the same hash are compared run by run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splits: Option<String>,
    /// Seconds of the cell.
    pub seconds: f64,
}

impl KeptCell {
    /// The flaw of its numbers, if any.
    fn flaw(&self) -> Option<String> {
        let is_figure = |x: &f64| x.abs() < 1e15;
        let figures = || {
            self.parts
                .iter()
                .flat_map(|(_, runs)| runs)
                .chain(&self.runs)
        };
        if let Some(odd) = figures().find(|x| !is_figure(x)) {
            return Some(format!("{odd} is no figure"));
        }
        if let Some((name, _)) = self.parts.iter().find(|(_, runs)| runs.is_empty()) {
            return Some(format!("{name} has no figures"));
        }
        (!is_figure(&self.seconds) || self.seconds < 0.0)
            .then(|| format!("{} seconds", self.seconds))
    }
}

/// Rounds to the stored digits: more than are ever printed, fewer than a double has.
fn rounded(x: f64) -> f64 {
    let scale = 10f64.powi(6 - x.abs().max(1e-12).log10().ceil() as i32);
    if x == 0.0 || !x.is_finite() {
        x
    } else {
        (x * scale).round() / scale
    }
}

impl StoredResults {
    /// The figures of a report.
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
                    parts: ours
                        .parts
                        .iter()
                        .map(|part| (part.name.clone(), of(&part.runs)))
                        .collect(),
                    splits: (!ours.splits.is_empty()).then(|| short(&ours.splits)),
                    seconds: rounded(ours.seconds),
                });
            }
        }
        let runs = report.runs.unwrap_or(1);
        Self {
            table: report.table.to_string(),
            numerics: NUMERICS,
            runs,
            seed: report.seed,
            cells,
        }
    }

    /// Writes the results to `TABLE.json` in a folder, one cell a line, so that a change is a
    /// one-line diff.
    pub fn write(&self, table: &Table, folder: &Path) -> Result<()> {
        let text = |cell: &KeptCell| serde_json::to_string(cell).map_err(unreadable);
        let head = Self {
            cells: Vec::new(),
            ..self.clone()
        };
        let head = serde_json::to_string(&head).map_err(unreadable)?;
        let lines = self
            .cells
            .iter()
            .map(text)
            .collect::<Result<Vec<_>>>()?
            .join(",\n");
        let whole = format!("{}[\n{lines}\n]}}\n", head.trim_end_matches("[]}"));
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        write_atomically(
            &folder.join(format!("{}.json", table.short_name())),
            whole.as_bytes(),
        )
    }

    /// Reads the results of a table; `None` if the folder has none of it.
    pub fn read(table: &Table, folder: &Path) -> Result<Option<Self>> {
        let file = folder.join(format!("{}.json", table.short_name()));
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(&file, e)),
        };
        let wrong =
            |what: String| Error::argument("results", format!("{}: {what}", file.display()));
        let kept: Self = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
        if kept.table != table.name {
            return Err(wrong(format!(
                "figures of {}, not of {}",
                kept.table, table.name
            )));
        }
        if kept.runs == 0 {
            return Err(wrong("figures of 0 runs".into()));
        }
        for (at, cell) in kept.cells.iter().enumerate() {
            if let Some(flaw) = cell.flaw() {
                return Err(wrong(format!("{}, {}: {flaw}", cell.row, cell.column)));
            }
            let is_same = |other: &KeptCell| {
                (&other.row, &other.column, &other.recipe)
                    == (&cell.row, &cell.column, &cell.recipe)
            };
            if kept.cells[..at].iter().any(is_same) {
                return Err(wrong(format!(
                    "{}, {} stands there twice",
                    cell.row, cell.column
                )));
            }
            let recipes = [Recipe::Thesis, Recipe::Default].map(recipe_name);
            let is_known = table.rows.iter().any(|row| row.label == cell.row)
                && table.columns.contains(&cell.column)
                && cell
                    .recipe
                    .as_deref()
                    .is_none_or(|recipe| recipes.contains(&recipe));
            if !is_known {
                let recipe = cell.recipe.as_deref().unwrap_or("none");
                return Err(wrong(format!(
                    "{} has no row {}, {}, recipe {recipe}",
                    table.name, cell.row, cell.column
                )));
            }
            if cell.runs.is_empty() || !cell.runs.len().is_multiple_of(kept.runs.max(1)) {
                let (count, runs) = (cell.runs.len(), kept.runs);
                return Err(wrong(format!(
                    "{}, {}: {count} figures of {runs} runs",
                    cell.row, cell.column
                )));
            }
        }
        Ok(Some(kept))
    }

    /// Every cell of the table, with the runs and the seed of these results.
    fn plans(&self, table: &Table) -> Result<Vec<Plan>> {
        let mut settings = Settings::new(Default::default(), Default::default());
        (settings.runs, settings.seed) = (self.runs, self.seed);
        settings.recipes = vec![Recipe::Thesis, Recipe::Default];
        plan(table, &settings)
    }

    /// The stored figures of a plan, if any.
    pub(super) fn measured(&self, table: &Table, plan: &Plan) -> Option<Measured> {
        let (label, column) = (&table.rows[plan.row].label, &table.columns[plan.column]);
        let recipe = plan.recipe.map(recipe_name);
        let same = |cell: &&KeptCell| {
            cell.row == *label && cell.column == *column && cell.recipe.as_deref() == recipe
        };
        let cell = self.cells.iter().find(same)?;
        Some(Measured {
            values: cell.runs.clone(),
            parts: cell.parts.clone(),
            splits: cell.splits.iter().cloned().collect(),
            seconds: cell.seconds,
            ..Measured::default()
        })
    }

    /// The reason why these results cannot be combined with those of the given settings, if any.
    fn hinders(&self, table: &Table, settings: &Settings) -> Option<String> {
        let plural = |runs: usize| {
            if runs == 1 {
                "1 run".to_string()
            } else {
                format!("{runs} runs")
            }
        };
        if self.numerics != NUMERICS {
            let what = format!(
                "figures that numerics {} made, where this gnarl has {NUMERICS}",
                self.numerics
            );
            return Some(format!(
                "{what}: move the file away, and its cells are run again"
            ));
        }
        let runs = runs_of(table, settings.runs);
        let same_runs = !table.is_trained() || (self.runs, self.seed) == (runs, settings.seed);
        (!same_runs).then(|| {
            let (has, asked) = (plural(self.runs), plural(runs));
            let what = format!(
                "figures of {has} from seed {}, where {asked} from seed {}",
                self.seed, settings.seed
            );
            format!("{what} would take their place: say another folder")
        })
    }
}

/// The stored results of all tables in a folder.
#[derive(Debug, Default)]
pub struct ResultStore {
    folder: PathBuf,
    tables: HashMap<String, StoredResults>,
    /// Results by the configuration of a cell and its shown measure.
    by_cell: HashMap<String, (CellConfig, Measured)>,
}

/// The cells of a dataset that were not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Left {
    /// The dataset.
    pub dataset: String,
    /// Number of cells, each once however many tables show it.
    pub cells: usize,
    /// Estimated seconds of sequential runs, from cells that were timed; `None` without a
    /// comparable one.
    pub seconds: Option<f64>,
}

impl ResultStore {
    /// Reads a folder; a missing one is empty. Fails if a file is broken, or has rows that its
    /// table lacks.
    pub fn read(folder: &Path) -> Result<Self> {
        Self::with(folder, &[])
    }

    /// Reads a folder, with tables in addition to the thesis'.
    pub(super) fn with(folder: &Path, more: &[&Table]) -> Result<Self> {
        let mut shelf = Self {
            folder: folder.to_path_buf(),
            ..Self::default()
        };
        let others = more
            .iter()
            .copied()
            .filter(|table| tables::all().iter().all(|known| known.name != table.name));
        for table in tables::all().iter().chain(others) {
            let Some(kept) = StoredResults::read(table, folder)? else {
                continue;
            };
            if kept.numerics == NUMERICS {
                for plan in kept.plans(table)? {
                    if let Some(measured) = kept.measured(table, &plan) {
                        shelf
                            .by_cell
                            .entry(shown(table, &plan)?)
                            .or_insert((plan.config, measured));
                    }
                }
            }
            shelf.tables.insert(table.name.clone(), kept);
        }
        Ok(shelf)
    }

    /// Returns true if there are no results.
    pub fn is_empty(&self) -> bool {
        self.tables.values().all(|kept| kept.cells.is_empty())
    }

    /// The tables with results of other numerics, which do not count, and the number of their
    /// cells.
    pub fn stale(&self) -> (usize, usize) {
        let stale = || {
            self.tables
                .values()
                .filter(|kept| kept.numerics != NUMERICS)
        };
        (stale().count(), stale().map(|kept| kept.cells.len()).sum())
    }

    /// Returns true if a table's results have another version of the numerics.
    pub fn is_stale(&self, table: &str) -> bool {
        self.tables
            .get(table)
            .is_some_and(|kept| kept.numerics != NUMERICS)
    }

    /// Fails if results of these settings would replace others in a table's file.
    pub(super) fn check(&self, table: &Table, settings: &Settings) -> Result<()> {
        let hinders = self
            .tables
            .get(&table.name)
            .and_then(|kept| kept.hinders(table, settings));
        let file = || self.folder.join(format!("{}.json", table.short_name()));
        match hinders {
            Some(what) => Err(Error::argument(
                "results",
                format!("{}: {what}", file().display()),
            )),
            None => Ok(()),
        }
    }

    /// The figures of a plan, from any table's file.
    pub(super) fn measured(&self, table: &Table, plan: &Plan) -> Result<Option<Measured>> {
        Ok(self
            .by_cell
            .get(&shown(table, plan)?)
            .map(|(_, measured)| measured.clone()))
    }

    /// The report of a table from the stored results.
    pub fn report(&self, table: &'static Table) -> Result<Report> {
        let own = self
            .tables
            .get(&table.name)
            .filter(|kept| kept.numerics == NUMERICS);
        let mut settings = Settings::new(Default::default(), Default::default());
        (settings.runs, settings.seed) =
            own.map_or((Settings::RUNS, 0), |kept| (kept.runs, kept.seed));
        settings.recipes = vec![Recipe::Thesis, Recipe::Default];
        let mut found = Vec::new();
        for plan in plan(table, &settings)? {
            let measured = self.measured(table, &plan)?;
            let outcome = measured.map_or(Outcome::NotRun, Outcome::measured);
            found.push((plan, outcome));
        }
        // A recipe without runs is not shown; the thesis' recipe is, so that holes are visible.
        let has_default = found.iter().any(|(plan, outcome)| {
            plan.recipe == Some(Recipe::Default) && matches!(outcome, Outcome::Measured(_))
        });
        found.retain(|(plan, _)| plan.recipe != Some(Recipe::Default) || has_default);
        let (plans, outcomes): (Vec<_>, Vec<_>) = found
            .iter()
            .map(|(plan, outcome)| (plan, outcome.clone()))
            .unzip();
        Report::new(table, &settings, &plans, outcomes, 0.0)
    }

    /// Cells that were not run with the thesis' recipe and ten runs, by dataset.
    pub fn left(&self) -> Result<Vec<Left>> {
        let settings = Settings::new(Default::default(), Default::default());
        let mut open: BTreeMap<String, CellConfig> = BTreeMap::new();
        for table in tables::all() {
            for plan in plan(table, &settings)? {
                if self.measured(table, &plan)?.is_none() {
                    open.insert(plan.config.text()?, plan.config);
                }
            }
        }
        // In a fixed order, so that rounding is reproducible.
        let timed: BTreeMap<&String, &(CellConfig, Measured)> = self.by_cell.iter().collect();
        let pace = Pace::of(
            timed
                .into_values()
                .map(|(config, measured)| (config, measured)),
        );
        let mut left: BTreeMap<&str, Left> = BTreeMap::new();
        for config in open.values() {
            let none = || Left {
                dataset: config.dataset.clone(),
                cells: 0,
                seconds: Some(0.0),
            };
            let of = left.entry(&config.dataset).or_insert_with(none);
            of.cells += 1;
            of.seconds = of
                .seconds
                .zip(pace.seconds(config))
                .map(|(sum, more)| sum + more);
        }
        Ok(left.into_values().collect())
    }
}

/// The key of a cell and of the measure that a row shows.
fn shown(table: &Table, plan: &Plan) -> Result<String> {
    Ok(format!(
        "{:?} {}",
        table.rows[plan.row].spec.measure(),
        plan.config.text()?
    ))
}

/// A short hash of the names of splits; a value that is a hash already stays.
fn short(splits: &[String]) -> String {
    if let [one] = splits
        && one.len() == 8
        && one.bytes().all(|b| b.is_ascii_hexdigit())
    {
        return one.clone();
    }
    format!(
        "{:08x}",
        super::cell::fnv1a(splits.join("\n").as_bytes()) as u32
    )
}

fn unreadable(e: serde_json::Error) -> Error {
    Error::argument("results", e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Status;
    use crate::tables;

    #[test]
    fn figures_come_back_with_their_differences() {
        let table = tables::find("results_gcn").unwrap();
        let kept = StoredResults {
            table: table.name.clone(),
            numerics: NUMERICS,
            runs: 3,
            seed: 0,
            cells: vec![
                of_mutag("No Aug.", &[80.0, 82.0, 84.0]),
                of_mutag("GRATIN", &[81.0, 84.0, 85.0]),
            ],
        };
        let dir = tempfile::tempdir().unwrap();
        kept.write(table, dir.path()).unwrap();
        let back = StoredResults::read(table, dir.path()).unwrap().unwrap();
        assert_eq!(back, kept);
        let shelf = ResultStore::read(dir.path()).unwrap();
        let report = shelf.report(table).unwrap();
        let gratin = report
            .rows
            .iter()
            .find(|row| row.label == "GRATIN")
            .unwrap();
        let mutag = &gratin.cells[2];
        assert!((mutag.minus("No Aug.").unwrap().paired.unwrap().mean - 4.0 / 3.0).abs() < 1e-9);
        assert_eq!(
            (report.cells_stored, gratin.cells[0].status),
            (2, Status::NotRun)
        );
        assert_eq!(StoredResults::of(&report).cells, kept.cells);
        assert!(
            StoredResults::read(tables::find("oracle").unwrap(), dir.path())
                .unwrap()
                .is_none()
        );
        std::fs::write(dir.path().join("oracle.json"), "{").unwrap();
        let e = StoredResults::read(tables::find("oracle").unwrap(), dir.path())
            .unwrap_err()
            .to_string();
        assert!(
            e.starts_with("results: ") && e.contains("oracle.json"),
            "{e}"
        );
    }

    fn of_mutag(row: &str, runs: &[f64]) -> KeptCell {
        KeptCell {
            row: row.into(),
            column: "MUTAG".into(),
            recipe: Some("thesis".into()),
            runs: runs.to_vec(),
            parts: Vec::new(),
            splits: Some("0a1b2c3d".into()),
            seconds: 36.0,
        }
    }

    fn kept(runs: usize, cells: Vec<KeptCell>) -> (&'static Table, StoredResults) {
        let table = tables::find("results_gcn").unwrap();
        (
            table,
            StoredResults {
                table: table.name.clone(),
                numerics: NUMERICS,
                runs,
                seed: 0,
                cells,
            },
        )
    }

    #[test]
    fn what_one_table_has_serves_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let runs: Vec<f64> = (0..10).map(f64::from).collect();
        let (table, figures) = kept(10, vec![of_mutag("No Aug.", &runs)]);
        figures.write(table, dir.path()).unwrap();
        let shelf = ResultStore::read(dir.path()).unwrap();
        let other = shelf
            .report(tables::find("config_models").unwrap())
            .unwrap();
        let row = other
            .rows
            .iter()
            .find(|row| row.label == "No Aug. w/ GCN")
            .unwrap();
        let shown: Vec<Status> = row.cells.iter().map(|cell| cell.status).collect();
        assert_eq!(
            shown
                .iter()
                .filter(|status| **status == Status::Measured)
                .count(),
            1,
            "{shown:?}"
        );
        assert_eq!(row.cells[2].ours.as_ref().unwrap().runs, runs);
        // One cell less is left, and the estimate comes from the cell that was timed.
        let cells = |shelf: &ResultStore| {
            shelf
                .left()
                .unwrap()
                .into_iter()
                .find(|left| left.dataset == "MUTAG")
                .unwrap()
        };
        let (left, all) = (cells(&shelf), cells(&ResultStore::default()));
        assert_eq!((left.cells, all.seconds), (all.cells - 1, None));
        assert!(
            left.seconds.is_some_and(|seconds| seconds > 36.0),
            "{left:?}"
        );
    }

    #[test]
    fn figures_are_not_overwritten_by_others() {
        let dir = tempfile::tempdir().unwrap();
        let runs: Vec<f64> = (0..10).map(f64::from).collect();
        let (table, figures) = kept(10, vec![of_mutag("No Aug.", &runs)]);
        figures.write(table, dir.path()).unwrap();
        let asked = |runs: usize, seed: u64| Settings {
            runs,
            seed,
            ..Settings::new("data".into(), "out".into())
        };
        let check = |settings: &Settings| {
            ResultStore::read(dir.path())
                .unwrap()
                .check(table, settings)
                .map_err(|e| e.to_string())
        };
        assert_eq!(check(&asked(10, 0)), Ok(()));
        assert_eq!(check(&asked(30, 0)), Ok(()), "there are ten folds");
        let e = check(&asked(1, 0)).unwrap_err();
        assert!(
            e.contains("results_gcn.json: figures of 10 runs from seed 0, where 1 run from seed 0"),
            "{e}"
        );
        assert!(
            check(&asked(10, 3))
                .unwrap_err()
                .contains("say another folder")
        );
        StoredResults {
            numerics: 1,
            ..figures.clone()
        }
        .write(table, dir.path())
        .unwrap();
        assert!(
            check(&asked(10, 0))
                .unwrap_err()
                .contains("numerics 1 made")
        );
        let shelf = ResultStore::read(dir.path()).unwrap();
        assert_eq!(
            (shelf.stale(), shelf.report(table).unwrap().cells_stored),
            ((1, 1), 0),
            "they count for nothing"
        );
        for (cell, why) in [
            (of_mutag("No Such Row", &runs), "has no row No Such Row"),
            (of_mutag("No Aug.", &runs[..7]), "7 figures of 10 runs"),
            (
                of_mutag("No Aug.", &[1e300; 10]),
                "results_gcn.json: No Aug., MUTAG: 1",
            ),
            (
                KeptCell {
                    seconds: -1.0,
                    ..of_mutag("No Aug.", &runs)
                },
                "-1 seconds",
            ),
            (
                KeptCell {
                    parts: vec![("x".into(), vec![])],
                    ..of_mutag("No Aug.", &runs)
                },
                "x has no figures",
            ),
        ] {
            kept(10, vec![cell]).1.write(table, dir.path()).unwrap();
            let e = ResultStore::read(dir.path()).unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        }
    }

    #[test]
    fn a_cell_stands_once() {
        let dir = tempfile::tempdir().unwrap();
        let runs: Vec<f64> = (0..10).map(f64::from).collect();
        let (table, figures) = kept(
            10,
            vec![of_mutag("No Aug.", &runs), of_mutag("No Aug.", &runs)],
        );
        figures.write(table, dir.path()).unwrap();
        let e = ResultStore::read(dir.path()).unwrap_err().to_string();
        assert!(e.contains("No Aug., MUTAG stands there twice"), "{e}");
        StoredResults {
            runs: 0,
            cells: Vec::new(),
            ..figures
        }
        .write(table, dir.path())
        .unwrap();
        assert!(
            ResultStore::read(dir.path())
                .unwrap_err()
                .to_string()
                .contains("figures of 0 runs")
        );
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(
            [81.234_567, -0.001_234_567_8, 0.0, 123_456.7].map(rounded),
            [81.2346, -0.001_234_57, 0.0, 123_457.0]
        );
    }
}
