//! `gnarl reproduce`: a table of the thesis, ours beside it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::experiment::cell::Work;
use gnarl::experiment::report::{CellReport, Difference, Report as TableReport, Status, Thesis, recipe_name};
use gnarl::experiment::{Progress, RunnerWatch, Settings, reproduce, tables, with_stored};
use gnarl::task::recipe::Recipe;
use gnarl_graph::Error;
use serde::Serialize;

use crate::args::Global;
use crate::html::{self, Cell, Line, escape};
use crate::output::{self, Report, real};
use crate::{data_dir, interrupt, progress};

/// `gnarl reproduce`
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// A label of `gnarl reproduce list`, with or without its prefix
    pub table: String,
    /// Folder for the results; cells that are finished are kept there, and the same command continues from them
    #[arg(long, value_name = "DIR", default_value = "gnarl-results")]
    pub out: PathBuf,
    /// Three runs instead of ten
    #[arg(long, conflicts_with = "runs")]
    pub quick: bool,
    /// Runs of each cell [default: 10]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: Option<usize>,
    /// Settings to train with: thesis, default (the best known) or both [default: thesis]
    #[arg(long)]
    pub recipe: Option<Recipes>,
    /// Datasets to run, as in cora,photo [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Run the rows with this in their name
    #[arg(long, value_name = "TEXT")]
    pub rows: Option<String>,
}

/// Whose settings to train with.
#[derive(Debug, Clone, Copy)]
pub enum Recipes {
    /// One recipe.
    One(Recipe),
    /// The thesis', then the default.
    Both,
}

impl FromStr for Recipes {
    type Err = Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case("both") {
            return Ok(Recipes::Both);
        }
        let unknown = |_| Error::unknown("recipe", name, ["thesis", "default", "both"]);
        name.parse().map(Recipes::One).map_err(unknown)
    }
}

/// What `gnarl reproduce` found.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ReproduceReport {
    /// The tables there are.
    List {
        /// One each.
        tables: Vec<Listed>,
    },
    /// A table.
    Table(Box<Reproduced>),
}

/// A table that can be reproduced.
#[derive(Debug, Serialize)]
pub struct Listed {
    name: &'static str,
    title: &'static str,
    section: &'static str,
    rows: Vec<&'static str>,
    columns: Vec<&'static str>,
}

/// A reproduced table and where it was written.
#[derive(Debug, Serialize)]
pub struct Reproduced {
    #[serde(flatten)]
    report: TableReport,
    quick: bool,
    /// CSV, JSON and HTML.
    files: Vec<String>,
}

/// Runs what is not there yet, writes the files, reports.
pub fn run(global: &Global, args: &ReproduceArgs) -> anyhow::Result<ReproduceReport> {
    if args.table.eq_ignore_ascii_case("list") {
        return Ok(ReproduceReport::List { tables: list() });
    }
    let table = tables::find(&args.table)?;
    if !table.is_trained() && (args.runs.is_some() || args.recipe.is_some()) {
        let what = format!("{} trains nothing: --runs and --recipe do not apply", table.name);
        return Err(Error::argument("reproduce", what).into());
    }
    let data_dir = data_dir::resolve(global.data_dir.as_deref());
    let settings = Settings {
        runs: args.runs.unwrap_or(if args.quick { Settings::QUICK_RUNS } else { Settings::RUNS }),
        seed: global.seed,
        recipes: match args.recipe {
            None => vec![Recipe::Thesis],
            Some(Recipes::One(recipe)) => vec![recipe],
            Some(Recipes::Both) => vec![Recipe::Thesis, Recipe::Default],
        },
        columns: args.columns.clone(),
        rows: args.rows.clone(),
        ..Settings::new(data_dir, args.out.clone())
    };
    let bar = progress::cells(table.short_name());
    let tell = |p: &Progress| progress::show_cells(&bar, p);
    let report = reproduce(table, &settings, &RunnerWatch { on_cell: &tell, stop: interrupt::flag() })?;
    bar.finish_and_clear();

    let name = |ending: &str| args.out.join(format!("{}.{ending}", table.short_name()));
    let names = [name("csv"), name("json"), name("html")];
    let reproduced = |report| Reproduced {
        report,
        quick: args.quick && table.is_trained(),
        files: names.iter().map(|file| file.display().to_string()).collect(),
    };
    // The files hold every finished cell, also of columns and rows that were not asked for this time.
    let whole = reproduced(with_stored(table, &settings, &report)?);
    let json = serde_json::to_string_pretty(&whole)? + "\n";
    for (file, content) in names.iter().zip([whole.report.csv(), json, whole.page()]) {
        output::write_whole(file, &content)?;
    }
    Ok(ReproduceReport::Table(Box::new(reproduced(report))))
}

fn list() -> Vec<Listed> {
    let listed = |table: &'static gnarl::experiment::Table| Listed {
        name: table.name,
        title: table.title,
        section: table.section,
        rows: table.rows.iter().map(|row| row.label).collect(),
        columns: table.columns.to_vec(),
    };
    tables::ALL.into_iter().map(listed).collect()
}

impl Report for ReproduceReport {
    fn text(&self) -> String {
        match self {
            ReproduceReport::Table(reproduced) => reproduced.text(),
            ReproduceReport::List { tables } => {
                let mut table = output::table(&["table", ">rows", ">datasets", "what", "where"]);
                for t in tables {
                    let (rows, columns) = (t.rows.len().to_string(), t.columns.len().to_string());
                    table.add_row([t.name.to_string(), rows, columns, t.title.to_string(), t.section.to_string()]);
                }
                output::render(&table)
            }
        }
    }
}

impl Reproduced {
    fn text(&self) -> String {
        let report = &self.report;
        let mut text = format!("{}: {} ({})\n", report.table, report.title, report.section);
        for recipe in report.recipes() {
            let rows: Vec<_> = report.rows_of(recipe).collect();
            text += &format!("\n{}\n\n", self.caption(recipe));
            let labels: Vec<&str> = rows.iter().map(|row| row.label).collect();
            // The longer side goes down.
            let transposed = report.columns.len() > rows.len();
            text += &grid(&labels, &report.columns, transposed, 3, |r, c| three_lines(&rows[r].cells[c]));
            if rows.iter().flat_map(|row| &row.cells).any(|cell| cell.paired.is_some()) {
                let others: Vec<_> = rows.iter().filter(|row| Some(row.label) != report.baseline).collect();
                let labels: Vec<&str> = others.iter().map(|row| row.label).collect();
                text += &format!("\nrun by run, minus {}\n\n", report.baseline.unwrap_or(""));
                text += &grid(&labels, &report.columns, transposed, 1, |r, c| {
                    others[r].cells[c].paired.map_or_else(|| "-".into(), |d| show_difference(&d, true))
                });
            }
        }
        text.push('\n');
        for line in self.legend() {
            text += &format!("{line}\n");
        }
        text += &format!("written: {}\n", self.files.join(", "));
        text
    }

    /// Which recipe and how many runs.
    fn caption(&self, recipe: Option<Recipe>) -> String {
        match (recipe, self.report.runs) {
            (Some(recipe), Some(runs)) => {
                let quick = if self.quick { ", quick: fewer than the thesis' 10" } else { "" };
                let plural = if runs == 1 { "" } else { "s" };
                let seed = self.report.seed;
                format!("recipe {}, {runs} run{plural} from seed {seed}{quick}", recipe_name(recipe))
            }
            _ => "computed once: nothing is trained".to_string(),
        }
    }

    /// What the table does not say by itself.
    fn legend(&self) -> Vec<String> {
        let report = &self.report;
        let mut lines = vec![match report.runs {
            Some(_) => "each cell: ours ± deviation, the thesis', ours minus the thesis' ± standard error; \
                        * beyond two standard errors"
                .to_string(),
            None => {
                "each cell: ours, the thesis', ours minus the thesis'; * beyond the last digit printed there".into()
            }
        }];
        let all = || report.rows.iter().flat_map(|row| &row.cells);
        let mut holes: Vec<&str> =
            all().filter(|cell| cell.status == Status::Hole).map(|cell| cell.dataset.as_str()).collect();
        holes.sort_unstable();
        holes.dedup();
        if !holes.is_empty() {
            lines.push(format!("holes: {0} not in the data folder; gnarl data get {0}", holes.join(" ")));
        }
        for row in &report.rows {
            for cell in row.cells.iter().filter(|cell| cell.status == Status::Failed) {
                lines.push(format!("failed: {} on {}: {}", row.label, cell.dataset, message(cell)));
            }
        }
        lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
        if report.interrupted {
            let (stored, cells) = (report.cells_stored, report.cells);
            lines.push(format!("interrupted: {stored} of {cells} cells are stored; the same command continues"));
        }
        lines
    }

    /// The same as a page.
    fn page(&self) -> String {
        let report = &self.report;
        let mut body = format!("<p>{}, {}.</p>\n", escape(report.title), escape(report.section));
        for recipe in report.recipes() {
            let rows: Vec<_> = report.rows_of(recipe).collect();
            body += &format!("<h2>{}</h2>\n", escape(&self.caption(recipe)));
            let headers: Vec<&str> = std::iter::once("").chain(report.columns.iter().copied()).collect();
            let cells: Vec<(String, Vec<Cell>)> =
                rows.iter().map(|row| (row.label.to_string(), row.cells.iter().map(page_cell).collect())).collect();
            body += &html::table(&headers, &cells);
            let paired = |cell: &CellReport| match cell.paired {
                Some(d) => Cell { markup: escape(&show_difference(&d, true)), class: class(&d, "") },
                None => Cell::text("-"),
            };
            if rows.iter().flat_map(|row| &row.cells).any(|cell| cell.paired.is_some()) {
                body += &format!("<h2>Run by run, minus {}</h2>\n", escape(report.baseline.unwrap_or("")));
                let others = rows.iter().filter(|row| Some(row.label) != report.baseline);
                let cells: Vec<(String, Vec<Cell>)> =
                    others.map(|row| (row.label.to_string(), row.cells.iter().map(paired).collect())).collect();
                body += &html::table(&headers, &cells);
            }
            body += &self.curves(recipe);
        }
        let key = |class: &str, what: &str| format!("<span class=\"key {class}\">{what}</span> ");
        body += "<p>";
        body += &key("agree", "within two standard errors, or the last printed digit");
        body += &key("above", "above");
        body += &key("below", "below");
        body += &key("hole", "no figure");
        body += &key("failed", "failed");
        body += "</p>\n<ul>\n";
        for line in self.legend() {
            body += &format!("<li>{}</li>\n", escape(&line));
        }
        html::page(report.table, &(body + "</ul>\n"))
    }

    /// A chart of the first run's validation accuracy for each column that has one.
    fn curves(&self, recipe: Option<Recipe>) -> String {
        let mut charts = String::new();
        for (c, column) in self.report.columns.iter().enumerate() {
            let lines: Vec<Line<'_>> = self
                .report
                .rows_of(recipe)
                .filter_map(|row| Some(Line { name: row.label, values: &row.cells[c].ours.as_ref()?.curve }))
                .filter(|line| !line.values.is_empty())
                .collect();
            if !lines.is_empty() {
                charts += &html::line_chart(column, "validation accuracy of the first run, %", &lines);
            }
        }
        if charts.is_empty() {
            charts
        } else {
            format!("<details><summary>Learning curves</summary>\n{charts}</details>\n")
        }
    }
}

/// A table, or the same with rows and columns in each other's place; cells of `height` lines stand apart.
fn grid(
    rows: &[&str],
    columns: &[&str],
    transposed: bool,
    height: usize,
    cell: impl Fn(usize, usize) -> String,
) -> String {
    let (down, across) = if transposed { (columns, rows) } else { (rows, columns) };
    let headers: Vec<String> = across.iter().map(|name| format!(">{name}")).collect();
    let headers: Vec<&str> = std::iter::once("").chain(headers.iter().map(String::as_str)).collect();
    let mut table = output::table(&headers);
    for (d, name) in down.iter().enumerate() {
        let cells = (0..across.len()).map(|a| if transposed { cell(a, d) } else { cell(d, a) });
        table.add_row(std::iter::once(name.to_string()).chain(cells));
        if height > 1 && d + 1 < down.len() {
            table.add_row([""]);
        }
    }
    output::render(&table)
}

/// Ours, the thesis', the difference, one under the other.
fn three_lines(cell: &CellReport) -> String {
    let ours = match (&cell.ours, cell.status) {
        (Some(ours), _) => show_mean(ours.mean, ours.standard_error.map(|_| ours.std), is_accuracy(cell)),
        (None, Status::Hole) => "hole".into(),
        (None, Status::Failed) => "failed".into(),
        (None, _) => "not run".into(),
    };
    let difference = cell.difference.map_or_else(|| "-".to_string(), |d| show_difference(&d, is_accuracy(cell)));
    [ours, show_thesis(cell.thesis), difference].join("\n")
}

fn page_cell(cell: &CellReport) -> Cell {
    let thesis = escape(&show_thesis(cell.thesis));
    let Some(ours) = &cell.ours else {
        let class = if cell.status == Status::Failed { "failed" } else { "hole" };
        return Cell { markup: format!("{}<br><small>{thesis}</small>", escape(message(cell))), class };
    };
    let mean = escape(&show_mean(ours.mean, ours.standard_error.map(|_| ours.std), is_accuracy(cell)));
    let Some(difference) = cell.difference else {
        return Cell { markup: format!("{mean}<br><small>{thesis}</small>"), class: "" };
    };
    let shown = escape(&show_difference(&difference, is_accuracy(cell)));
    Cell { markup: format!("{mean}<br><small>{thesis}<br>{shown}</small>"), class: class(&difference, "agree") }
}

/// The colour of a difference.
fn class(difference: &Difference, unclear: &'static str) -> &'static str {
    match (difference.is_clear, difference.mean > 0.0) {
        (false, _) => unclear,
        (true, true) => "above",
        (true, false) => "below",
    }
}

fn message(cell: &CellReport) -> &str {
    cell.message.as_deref().unwrap_or("not run")
}

fn is_accuracy(cell: &CellReport) -> bool {
    !matches!(cell.config.work, Work::Property(_))
}

fn show_mean(mean: f64, std: Option<f64>, is_accuracy: bool) -> String {
    match (is_accuracy, std) {
        (true, Some(std)) => format!("{mean:.2} ± {std:.2}"),
        (true, None) => format!("{mean:.2}"),
        (false, _) => real(mean),
    }
}

fn show_thesis(thesis: Thesis) -> String {
    match thesis {
        Thesis::Accuracy { mean, std } => show_mean(mean, Some(std), true),
        Thesis::Value { mean, .. } => real(mean),
        Thesis::OutOfMemory => "OOM".into(),
        Thesis::Absent => "-".into(),
    }
}

/// `+0.52 ± 0.20 *`
fn show_difference(difference: &Difference, is_accuracy: bool) -> String {
    let mean = if is_accuracy {
        format!("{:+.2}", difference.mean)
    } else {
        let sign = if difference.mean > 0.0 { "+" } else { "" };
        format!("{sign}{}", real(difference.mean))
    };
    let error = difference.standard_error.map_or_else(String::new, |se| format!(" ± {se:.2}"));
    let mark = if difference.is_clear { " *" } else { "" };
    format!("{mean}{error}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_show_their_sign_and_their_mark() {
        let d = |mean, standard_error, is_clear| Difference { mean, standard_error, is_clear };
        assert_eq!(show_difference(&d(0.5249, Some(0.2), true), true), "+0.52 ± 0.20 *");
        assert_eq!(show_difference(&d(-0.1, None, false), true), "-0.10");
        assert_eq!(show_difference(&d(9.9e-6, None, false), false), "+9.900e-6");
        assert_eq!(class(&d(-3.0, None, true), "agree"), "below");
        assert_eq!(class(&d(-3.0, None, false), "agree"), "agree");
    }

    #[test]
    fn rows_and_columns_can_change_places() {
        let fields = |transposed| {
            let shown = grid(&["r"], &["a", "b"], transposed, 1, |r, c| format!("{r}{c}"));
            shown.lines().map(|line| line.split_whitespace().map(str::to_string).collect()).collect::<Vec<Vec<_>>>()
        };
        let lines = fields(true);
        assert_eq!([lines[0].join(" "), lines[2].join(" "), lines[3].join(" ")], ["r", "a 00", "b 01"]);
        let lines = fields(false);
        assert_eq!([lines[0].join(" "), lines[2].join(" ")], ["a b", "r 00 01"]);
    }
}
