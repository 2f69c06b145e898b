//! Reports gnarl's figures next to the thesis', cell by cell, with differences and their standard
//! errors.

use gnarl_graph::metrics::{mean_std, paired_difference};
use serde::Serialize;

use super::cell::CellConfig;
use super::measured::Measured;
use super::recipe::Recipe;
use super::runner::{Outcome, Plan, Settings, runs_of};
use super::table::{Figure, Table};
use gnarl_graph::Result;

/// Number of runs behind a figure of the thesis.
const THESIS_RUNS: f64 = 10.0;

/// A reproduced table.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The thesis' label.
    pub table: &'static str,
    /// The title of the table.
    pub title: &'static str,
    /// The section of the thesis.
    pub section: &'static str,
    /// Number of runs of each trained cell; `None` if nothing is trained.
    pub runs: Option<usize>,
    /// True if there are fewer runs than in the thesis.
    pub fewer_runs: bool,
    /// Seed of the first run.
    pub seed: u64,
    /// The row that all others are compared with run by run, if there is one.
    pub baseline: Option<&'static str>,
    /// The columns shown.
    pub columns: Vec<&'static str>,
    /// The rows shown: first all with one recipe, then all with the next.
    pub rows: Vec<RowReport>,
    /// Number of cells with a figure, kept in the output folder.
    pub cells_stored: usize,
    /// Number of cells in all.
    pub cells: usize,
    /// True if the reproduction was stopped before all cells were run.
    pub interrupted: bool,
    /// Seconds of this reproduction, without the stored results of earlier ones.
    pub seconds: f64,
    /// Notes that a reader needs.
    pub notes: Vec<&'static str>,
}

/// A row of a reproduced table.
#[derive(Debug, Clone, Serialize)]
pub struct RowReport {
    /// Its name.
    pub label: &'static str,
    /// The recipe it was trained with; `None` if nothing is trained.
    pub recipe: Option<Recipe>,
    /// The rows that it is compared with run by run, of those that are shown.
    pub baselines: Vec<&'static str>,
    /// The cells, one for each column.
    pub cells: Vec<CellReport>,
}

/// One cell.
#[derive(Debug, Clone, Serialize)]
pub struct CellReport {
    /// The dataset, by its registry name.
    pub dataset: String,
    /// The status of the cell.
    pub status: Status,
    /// The reason why there is no figure.
    pub message: Option<String>,
    /// gnarl's figure.
    pub ours: Option<Ours>,
    /// The thesis' figure.
    pub thesis: Thesis,
    /// gnarl's figure minus the thesis', if both exist.
    pub difference: Option<Difference>,
    /// This row minus each of its baselines.
    pub pairs: Vec<Pair>,
    /// The configuration to run it again.
    pub config: CellConfig,
}

/// A row minus another, in one column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// The other row.
    pub baseline: &'static str,
    /// The difference, run by run.
    pub paired: Option<Difference>,
    /// The difference in the thesis, whose runs cannot be paired.
    pub claimed: Option<Difference>,
}

/// The status of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// There is a figure.
    Measured,
    /// The dataset, or the work to run, is missing.
    Hole,
    /// It failed.
    Failed,
    /// The reproduction was stopped before it.
    NotRun,
}

/// gnarl's figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ours {
    /// Mean over runs.
    pub mean: f64,
    /// Sample standard deviation over runs.
    pub std: f64,
    /// Standard error of the mean; `None` below two runs.
    pub standard_error: Option<f64>,
    /// The value of each run.
    pub runs: Vec<f64>,
    /// The split of each run.
    pub splits: Vec<String>,
    /// Further figures of the same runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Validation accuracy by epoch, of the first run; in JSON it stays in the cell's own file.
    #[serde(skip)]
    pub curve: Vec<f64>,
    /// Seconds of the cell.
    pub seconds: f64,
}

/// A further figure of a cell's runs: another choice of depth, a part of the test nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// The name of the figure.
    pub name: String,
    /// Mean over runs.
    pub mean: f64,
    /// Sample standard deviation over runs.
    pub std: f64,
    /// The value of each run.
    pub runs: Vec<f64>,
}

/// The thesis' figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Thesis {
    /// Mean and standard deviation over ten runs.
    Accuracy {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        std: f64,
    },
    /// A single number.
    Value {
        /// The number as printed.
        mean: f64,
        /// One in its last digit.
        unit: f64,
    },
    /// The thesis ran out of memory.
    OutOfMemory,
    /// The thesis has no such cell.
    Absent,
}

/// A difference and the scale to judge it by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// The difference.
    pub mean: f64,
    /// Its standard error; `None` for a single run, and for numbers without a standard deviation.
    pub standard_error: Option<f64>,
    /// True if it is beyond two standard errors and, against a number printed without a standard
    /// deviation, beyond its last printed digit.
    pub is_clear: bool,
}

impl Ours {
    fn new(measured: Measured) -> Result<Self> {
        let summary = mean_std(&measured.values)?;
        let standard_error = (summary.runs > 1).then(|| summary.std / (summary.runs as f64).sqrt());
        let part = |(name, runs): (String, Vec<f64>)| {
            let summary = mean_std(&runs)?;
            Ok(Part {
                name,
                mean: summary.mean,
                std: summary.std,
                runs,
            })
        };
        Ok(Self {
            parts: measured
                .parts
                .into_iter()
                .map(part)
                .collect::<Result<_>>()?,
            mean: summary.mean,
            std: summary.std,
            standard_error,
            runs: measured.values,
            splits: measured.splits,
            curve: measured.curve,
            seconds: measured.seconds,
        })
    }

    /// The difference to the thesis' figure. Both were run independently, so their variances add.
    fn minus_thesis(&self, thesis: Thesis) -> Option<Difference> {
        match thesis {
            Thesis::Accuracy { mean, std } => {
                let standard_error = self
                    .standard_error
                    .map(|se| (se * se + std * std / THESIS_RUNS).sqrt());
                let mean = self.mean - mean;
                Some(Difference {
                    mean,
                    standard_error,
                    is_clear: standard_error.is_some_and(|se| mean.abs() > 2.0 * se),
                })
            }
            Thesis::Value { mean, unit } => {
                let (mean, standard_error) = (self.mean - mean, self.standard_error);
                // A small slack: 0.01 is no sum of powers of two.
                let slack = (unit * (1.0 + 1e-9)).max(2.0 * standard_error.unwrap_or(0.0));
                Some(Difference {
                    mean,
                    standard_error,
                    is_clear: mean.abs() > slack,
                })
            }
            Thesis::OutOfMemory | Thesis::Absent => None,
        }
    }

    /// The difference to the baseline over the same splits and seeds; `None` if these differ.
    fn minus_baseline(&self, baseline: &Ours) -> Result<Option<Difference>> {
        if self.splits.is_empty() || self.splits != baseline.splits {
            return Ok(None);
        }
        let paired = paired_difference(&self.runs, &baseline.runs)?;
        let standard_error = paired
            .standard_error
            .is_finite()
            .then_some(paired.standard_error);
        Ok(Some(Difference {
            mean: paired.mean,
            standard_error,
            is_clear: paired.is_clear(),
        }))
    }
}

impl Thesis {
    /// The difference to another row of the thesis. The thesis prints no runs, so they count as
    /// independent, and the variances add. Between two numbers printed without a standard
    /// deviation, such as seconds, no difference is clear.
    pub(super) fn minus(self, baseline: Thesis) -> Option<Difference> {
        match (self, baseline) {
            (
                Thesis::Accuracy { mean, std },
                Thesis::Accuracy {
                    mean: base,
                    std: base_std,
                },
            ) => {
                let (mean, standard_error) = (
                    mean - base,
                    ((std * std + base_std * base_std) / THESIS_RUNS).sqrt(),
                );
                let is_clear = mean.abs() > 2.0 * standard_error;
                Some(Difference {
                    mean,
                    standard_error: Some(standard_error),
                    is_clear,
                })
            }
            (Thesis::Value { mean, .. }, Thesis::Value { mean: base, .. }) => Some(Difference {
                mean: mean - base,
                standard_error: None,
                is_clear: false,
            }),
            _ => None,
        }
    }
}

impl From<Figure> for Thesis {
    fn from(figure: Figure) -> Self {
        match figure {
            Figure::Accuracy { mean, std } => Thesis::Accuracy { mean, std },
            Figure::Value { value, unit } => Thesis::Value { mean: value, unit },
            Figure::OutOfMemory => Thesis::OutOfMemory,
            Figure::Absent => Thesis::Absent,
        }
    }
}

impl Pair {
    /// The difference to the baseline's cell in the same column.
    fn new(cell: &CellReport, baseline: &'static str, base: &CellReport) -> Result<Self> {
        let paired = cell.minus_cell(base);
        Ok(Self {
            baseline,
            paired,
            claimed: cell.thesis.minus(base.thesis),
        })
    }

    /// Returns true if there is a figure of gnarl or of the thesis.
    pub fn has_figures(&self) -> bool {
        self.paired.is_some() || self.claimed.is_some()
    }
}

impl CellReport {
    /// The difference to another cell, run by run; `None` if one has no figure or they were not run
    /// on the same splits.
    pub fn minus_cell(&self, other: &CellReport) -> Option<Difference> {
        self.ours
            .as_ref()?
            .minus_baseline(other.ours.as_ref()?)
            .ok()
            .flatten()
    }

    /// The difference to a baseline row, if the rows are compared.
    pub fn minus(&self, baseline: &str) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.baseline == baseline)
    }

    fn new(table: &Table, plan: &Plan, outcome: Outcome) -> Result<Self> {
        let (status, message, ours) = match outcome {
            Outcome::Measured(measured) => {
                let measured = (*measured).through(table.rows[plan.row].spec.measure());
                (Status::Measured, None, Some(Ours::new(measured)?))
            }
            Outcome::Hole(what) => (Status::Hole, Some(what), None),
            Outcome::Failed(what) => (Status::Failed, Some(what), None),
            Outcome::NotRun => (Status::NotRun, None, None),
        };
        let thesis = Thesis::from(table.rows[plan.row].figures[plan.column]);
        let difference = ours.as_ref().and_then(|ours| ours.minus_thesis(thesis));
        let (dataset, config) = (plan.config.dataset.clone(), plan.config.clone());
        Ok(Self {
            dataset,
            status,
            message,
            ours,
            thesis,
            difference,
            pairs: Vec::new(),
            config,
        })
    }
}

impl Report {
    /// Arranges the outcomes of the plans, which go column by column, into rows.
    pub(super) fn new(
        table: &'static Table,
        settings: &Settings,
        plans: &[&Plan],
        outcomes: Vec<Outcome>,
        seconds: f64,
    ) -> Result<Self> {
        let columns: Vec<usize> = (0..table.columns.len())
            .filter(|&c| plans.iter().any(|p| p.column == c))
            .collect();
        let mut keys: Vec<(Option<Recipe>, usize)> = Vec::new();
        for recipe in std::iter::once(None).chain(settings.recipes.iter().copied().map(Some)) {
            let rows = (0..table.rows.len())
                .filter(|&r| plans.iter().any(|p| (p.recipe, p.row) == (recipe, r)));
            keys.extend(rows.map(|row| (recipe, row)));
        }
        let mut rows: Vec<RowReport> = keys
            .iter()
            .map(|&(recipe, row)| {
                let label = table.rows[row].label.as_str();
                let is_shown = |name: &&str| {
                    keys.iter()
                        .any(|&(r, row)| r == recipe && table.rows[row].label == *name)
                };
                let baselines = table
                    .baseline
                    .of(label)
                    .into_iter()
                    .filter(is_shown)
                    .collect();
                RowReport {
                    label,
                    recipe,
                    baselines,
                    cells: Vec::new(),
                }
            })
            .collect();
        let interrupted = outcomes.contains(&Outcome::NotRun);
        for (plan, outcome) in plans.iter().zip(outcomes) {
            let at = keys
                .iter()
                .position(|&key| key == (plan.recipe, plan.row))
                .expect("every plan has its row");
            rows[at].cells.push(CellReport::new(table, plan, outcome)?);
        }
        compare_with_baselines(&mut rows)?;
        let runs = runs_of(table, settings.runs);
        let baseline = table
            .baseline
            .row
            .as_deref()
            .filter(|name| rows.iter().any(|row| row.label == *name));
        let all = || rows.iter().flat_map(|row| &row.cells);
        Ok(Self {
            table: &table.name,
            title: &table.title,
            section: &table.section,
            runs: table.is_trained().then_some(runs),
            fewer_runs: table.is_trained() && (runs as f64) < THESIS_RUNS,
            seed: settings.seed,
            baseline,
            columns: columns
                .into_iter()
                .map(|c| table.columns[c].as_str())
                .collect(),
            cells_stored: all().filter(|cell| cell.status == Status::Measured).count(),
            cells: all().count(),
            interrupted,
            seconds,
            notes: table.notes.iter().map(String::as_str).collect(),
            rows,
        })
    }

    /// The recipes shown, in order; `None` stands for rows that train nothing.
    pub fn recipes(&self) -> Vec<Option<Recipe>> {
        let mut recipes: Vec<Option<Recipe>> = self.rows.iter().map(|row| row.recipe).collect();
        recipes.dedup();
        recipes
    }

    /// The rows of one recipe.
    pub fn rows_of(&self, recipe: Option<Recipe>) -> impl Iterator<Item = &RowReport> {
        self.rows.iter().filter(move |row| row.recipe == recipe)
    }

    /// The report as CSV: one line per cell under a header, fields quoted if they need it (RFC
    /// 4180). Further rows that a cell is compared with and further figures of its runs have lines
    /// of their own below it: `ROW minus BASELINE`, `ROW: PART`.
    pub fn csv(&self) -> String {
        let mut csv = format!("{CSV_HEADER}\n");
        for row in &self.rows {
            for (column, cell) in self.columns.iter().zip(&row.cells) {
                for mut fields in self.csv_lines(row, column, cell) {
                    fields.resize(CSV_HEADER.split(',').count(), String::new());
                    csv += &fields
                        .iter()
                        .map(|field| quote(field))
                        .collect::<Vec<_>>()
                        .join(",");
                    csv.push('\n');
                }
            }
        }
        csv
    }

    /// The fields of a cell's lines, without empty ones at the end.
    fn csv_lines(&self, row: &RowReport, column: &str, cell: &CellReport) -> Vec<Vec<String>> {
        let place = |label: String| {
            let recipe = row.recipe.map_or("", recipe_name);
            let strings = [column, &cell.dataset, status_name(cell.status)].map(str::to_string);
            [
                vec![self.table.to_string(), label, recipe.to_string()],
                strings.into(),
            ]
            .concat()
        };
        let own = cell.csv_figures();
        let no_figures = vec![String::new(); own.len()];
        let mut pairs = cell.pairs.iter().filter(|pair| pair.has_figures());
        let first = pairs
            .next()
            .map_or_else(|| vec![String::new(); 5], Pair::csv_figures);
        let message = vec![cell.message.clone().unwrap_or_default()];
        let mut lines = vec![[place(row.label.to_string()), own, first, message].concat()];
        lines.extend(pairs.map(|pair| {
            let label = format!("{} minus {}", row.label, pair.baseline);
            [place(label), no_figures.clone(), pair.csv_figures()].concat()
        }));
        for part in cell.ours.as_ref().map_or(&[][..], |ours| &ours.parts) {
            let spread = number((part.runs.len() > 1).then_some(part.std));
            let figures = vec![part.runs.len().to_string(), part.mean.to_string(), spread];
            lines.push([place(format!("{}: {}", row.label, part.name)), figures].concat());
        }
        lines
    }
}

const CSV_HEADER: &str = "table,row,recipe,column,dataset,status,runs,mean,std,standard_error,thesis_mean,thesis_std,\
                          difference,difference_standard_error,baseline,paired_difference,paired_standard_error,\
                          thesis_paired_difference,thesis_paired_standard_error,message";

impl CellReport {
    /// The fields from `runs` to `difference_standard_error`.
    fn csv_figures(&self) -> Vec<String> {
        let ours = self.ours.as_ref();
        let (thesis_mean, thesis_std) = match self.thesis {
            Thesis::Accuracy { mean, std } => (mean.to_string(), std.to_string()),
            Thesis::Value { mean, .. } => (mean.to_string(), String::new()),
            Thesis::OutOfMemory => ("OOM".into(), String::new()),
            Thesis::Absent => Default::default(),
        };
        vec![
            ours.map_or_else(String::new, |o| o.runs.len().to_string()),
            number(ours.map(|o| o.mean)),
            number(ours.filter(|o| o.standard_error.is_some()).map(|o| o.std)),
            number(ours.and_then(|o| o.standard_error)),
            thesis_mean,
            thesis_std,
            number(self.difference.map(|d| d.mean)),
            number(self.difference.and_then(|d| d.standard_error)),
        ]
    }
}

impl Pair {
    /// The fields from `baseline` to `thesis_paired_standard_error`.
    fn csv_figures(&self) -> Vec<String> {
        let figures = |d: Option<Difference>| {
            [
                number(d.map(|d| d.mean)),
                number(d.and_then(|d| d.standard_error)),
            ]
        };
        let ([mean, error], [claimed, claimed_error]) =
            (figures(self.paired), figures(self.claimed));
        vec![
            self.baseline.to_string(),
            mean,
            error,
            claimed,
            claimed_error,
        ]
    }
}

/// Computes the differences to baselines of the same recipe, for gnarl and the thesis.
fn compare_with_baselines(rows: &mut [RowReport]) -> Result<()> {
    for at in 0..rows.len() {
        for name in rows[at].baselines.clone() {
            let base = rows
                .iter()
                .position(|row| row.label == name && row.recipe == rows[at].recipe);
            let Some(base) = base.map(|base| rows[base].cells.clone()) else {
                continue;
            };
            for (cell, base) in rows[at].cells.iter_mut().zip(&base) {
                let pair = Pair::new(cell, name, base)?;
                cell.pairs.push(pair);
            }
        }
    }
    Ok(())
}

/// The name of a recipe, as on the command line.
pub fn recipe_name(recipe: Recipe) -> &'static str {
    recipe.name()
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Measured => "measured",
        Status::Hole => "hole",
        Status::Failed => "failed",
        Status::NotRun => "not-run",
    }
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(String::new, |x| x.to_string())
}

fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(runs: &[f64], splits: &[&str]) -> Ours {
        let splits = splits.iter().map(ToString::to_string).collect();
        Ours::new(Measured {
            values: runs.to_vec(),
            splits,
            ..Measured::default()
        })
        .unwrap()
    }

    #[test]
    fn differences_to_the_thesis_by_hand() {
        // Mean 82, variance 16 / 3, of the mean 4 / 3; the thesis' is 9 / 10.
        let o = ours(&[80.0, 80.0, 84.0, 84.0], &["a", "b", "c", "d"]);
        assert_eq!((o.mean, o.std), (82.0, (16.0f64 / 3.0).sqrt()));
        let se = (4.0f64 / 3.0 + 0.9).sqrt();
        let d = o
            .minus_thesis(Thesis::Accuracy {
                mean: 79.0,
                std: 3.0,
            })
            .unwrap();
        assert!((d.standard_error.unwrap() - se).abs() < 1e-12, "{d:?}");
        assert_eq!(
            (d.mean, d.is_clear),
            (3.0, true),
            "3 is just beyond 2 x 1.494"
        );
        let d = o
            .minus_thesis(Thesis::Accuracy {
                mean: 79.1,
                std: 3.0,
            })
            .unwrap();
        assert!(!d.is_clear, "2.9 is within");
        let one = ours(&[80.0], &["a"])
            .minus_thesis(Thesis::Accuracy {
                mean: 10.0,
                std: 3.0,
            })
            .unwrap();
        assert_eq!(
            (one.standard_error, one.is_clear),
            (None, false),
            "one run tells nothing of its spread"
        );
        assert_eq!(o.minus_thesis(Thesis::OutOfMemory), None);
        let cut_off = ours(&[0.0014399999], &[])
            .minus_thesis(Thesis::Value {
                mean: 1.43e-3,
                unit: 1e-5,
            })
            .unwrap();
        assert!(!cut_off.is_clear, "the thesis cuts 1.4399 to 1.43");
        assert!(
            ours(&[3.585], &[])
                .minus_thesis(Thesis::Value {
                    mean: 3.64,
                    unit: 0.01
                })
                .unwrap()
                .is_clear
        );
        // Seconds: mean 82, standard error sqrt(4 / 3), against a number without a standard
        // deviation.
        let d = o
            .minus_thesis(Thesis::Value {
                mean: 79.0,
                unit: 0.01,
            })
            .unwrap();
        assert!(
            (d.standard_error.unwrap() - (4.0f64 / 3.0).sqrt()).abs() < 1e-12 && d.is_clear,
            "3 is beyond 2 x 1.155"
        );
        assert!(
            !o.minus_thesis(Thesis::Value {
                mean: 80.0,
                unit: 0.01
            })
            .unwrap()
            .is_clear,
            "2 is within"
        );
    }

    #[test]
    fn paired_differences_by_hand() {
        let splits = ["a", "b", "c"];
        let (a, b) = (
            ours(&[80.0, 60.0, 70.0], &splits),
            ours(&[78.0, 59.0, 67.0], &splits),
        );
        // Differences 2, 1, 3: mean 2, standard deviation 1, standard error 1 / sqrt(3). Unpaired,
        // a standard deviation of 10 would hide it.
        let d = a.minus_baseline(&b).unwrap().unwrap();
        assert_eq!((d.mean, d.is_clear), (2.0, true));
        assert!((d.standard_error.unwrap() - 1.0 / 3f64.sqrt()).abs() < 1e-12);
        // The thesis' difference: 3, with a variance of (9 + 16) / 10.
        let claim = |mean, std| Thesis::Accuracy { mean, std };
        let d = claim(81.0, 3.0).minus(claim(78.0, 4.0)).unwrap();
        assert_eq!((d.mean, d.is_clear), (3.0, false));
        assert!((d.standard_error.unwrap() - 2.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(claim(81.0, 3.0).minus(Thesis::Absent), None);
        // Seconds of IMDB-BINARY in the thesis' table of complexity, GRATIN and Vanilla: no
        // standard deviation, so nothing is clear.
        let seconds = |mean| Thesis::Value { mean, unit: 0.01 };
        let d = seconds(774.47).minus(seconds(765.96)).unwrap();
        assert!((d.mean - 8.51).abs() < 1e-9, "{d:?}");
        assert_eq!((d.standard_error, d.is_clear), (None, false));
        assert_eq!(seconds(774.47).minus(Thesis::Absent), None);
        assert_eq!(
            seconds(774.47).minus(claim(78.0, 4.0)),
            None,
            "seconds minus per cents are nothing"
        );
        let elsewhere = ours(&[78.0, 59.0, 67.0], &["a", "c", "b"]);
        assert_eq!(
            a.minus_baseline(&elsewhere).unwrap(),
            None,
            "other splits are no pairs"
        );
    }

    /// Made-up folds of the relevant rows of `results_gcn`, on MUTAG.
    fn made_up() -> Report {
        use super::super::runner::{RunnerCallbacks, reproduce};
        let table = super::super::tables::find("results_gcn").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let columns = vec!["mutag".into()];
        let settings = Settings {
            runs: 3,
            columns,
            ..Settings::new(dir.path().join("no-data"), dir.path().to_path_buf())
        };
        let folder = dir.path().join("cells");
        std::fs::create_dir_all(&folder).unwrap();
        for (label, values) in [
            ("No Aug.", [70.0, 80.0, 75.0]),
            ("retrain (ours)", [72.0, 79.0, 77.0]),
            ("GRATIN", [73.0, 81.0, 80.0]),
            ("SubMix", [70.0, 80.0, 78.0]),
        ] {
            let row = table.rows.iter().find(|row| row.label == label).unwrap();
            let splits = (0..3).map(|fold| fold.to_string()).collect();
            let cell = CellConfig::new(row.spec, "MUTAG", Recipe::Thesis, 3, 0).unwrap();
            cell.store(
                Measured {
                    values: values.to_vec(),
                    splits,
                    ..Measured::default()
                },
                &folder,
            )
            .unwrap();
        }
        let stop = std::sync::atomic::AtomicBool::new(false);
        reproduce(
            table,
            &settings,
            &RunnerCallbacks {
                on_cell: &|_| (),
                stop: &stop,
            },
        )
        .unwrap()
    }

    #[test]
    fn a_row_is_shown_minus_two_others() {
        let report = made_up();
        let row = |label: &str| report.rows.iter().find(|row| row.label == label).unwrap();
        assert_eq!(row("GRATIN").baselines, ["No Aug.", "retrain (ours)"]);
        assert_eq!(
            (&row("retrain (ours)").baselines[..], report.baseline),
            (&["No Aug."][..], Some("No Aug."))
        );
        assert!(row("No Aug.").baselines.is_empty());

        // Minus none 3, 1, 5: mean 3, standard deviation 2. Minus retrain 1, 2, 3: mean 2, standard
        // deviation 1, and 2 is beyond two standard errors.
        let gratin = &row("GRATIN").cells[0];
        let [none, retrain] = &gratin.pairs[..] else {
            panic!("{gratin:?}")
        };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} against {b}");
        let (over_none, over_retrain) = (none.paired.unwrap(), retrain.paired.unwrap());
        close(over_none.mean, 3.0);
        close(over_none.standard_error.unwrap(), 2.0 / 3f64.sqrt());
        close(over_retrain.mean, 2.0);
        close(over_retrain.standard_error.unwrap(), 1.0 / 3f64.sqrt());
        assert!(over_none.is_clear && over_retrain.is_clear);
        close(none.claimed.unwrap().mean, 76.05 - 73.92);
        assert_eq!(
            (retrain.claimed, gratin.minus("retrain (ours)")),
            (None, Some(retrain))
        );
        assert_eq!(gratin.minus("SubMix"), None);
        assert_eq!(row("SubMix").cells[0].pairs.len(), 1);
    }

    #[test]
    fn differences_are_columns_of_the_csv() {
        let csv = made_up().csv();
        let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(lines.iter().all(|fields| fields.len() == 20), "{csv}");
        let line =
            |label: &str| lines.iter().find(|fields| fields[1] == label).unwrap()[6..19].join(",");
        let own = line("GRATIN");
        assert!(
            own.starts_with("3,78,") && own.contains(",No Aug.,3,1.15470053837925"),
            "{own}"
        );
        let further = line("GRATIN minus retrain (ours)");
        assert!(
            further.starts_with(",,,,,,,,retrain (ours),2,0.57735026918962"),
            "{further}"
        );
        assert!(further.ends_with(",,"), "{further}");
        assert!(
            line("GeoMix").contains(",No Aug.,,,0.4"),
            "a hole has the thesis' difference alone"
        );
        assert_eq!(lines.len(), 1 + 8 + 1, "{csv}");
    }

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        assert_eq!(quote("GCN w/ A"), "GCN w/ A");
        assert_eq!(quote("a \"b\", c"), "\"a \"\"b\"\", c\"");
    }
}
