//! `gnarl reproduce`: reproduces published tables and prints our results next to them.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl_graph::Error;
use gnarl_thesis::Property;
use gnarl_thesis::Recipe;
use gnarl_thesis::kept::StoredResults;
use gnarl_thesis::report::{
    CellReport, Difference, Pair, Part, Report as TableReport, RowReport, Status, Thesis,
    recipe_name,
};
use gnarl_thesis::work::{NODES, Work};
use gnarl_thesis::{
    Progress, RunnerCallbacks, Settings, Shard, narrowed, reproduce_all, tables, with_stored,
};
use serde::Serialize;

use crate::global::Global;
use crate::html::{Cell, escape};
use crate::output::{self, Report, real};
use crate::page::{Axis, Component, Lines, Page, Section, Series};
use crate::plot::{self, LineChart, Point};
use crate::{interrupt, progress};

/// Arguments of `gnarl reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Tables to reproduce: labels of `gnarl reproduce list`, with or without their prefixes,
    /// chapters (ch3), or all, separated by commas or spaces
    #[arg(required = true, value_name = "TABLE", value_delimiter = ',')]
    pub tables: Vec<String>,
    /// Folder for the results; finished cells are stored there, and the same command continues from
    /// them
    #[arg(long, value_name = "DIR", default_value = "gnarl-results")]
    pub out: PathBuf,
    /// Run three runs instead of ten
    #[arg(long, conflicts_with = "runs")]
    pub quick: bool,
    /// Number of runs of each cell [default: 10]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: Option<usize>,
    /// Recipe for training: thesis (the published settings), default (the library's) or both
    /// [default: thesis]
    #[arg(long)]
    pub recipe: Option<Recipes>,
    /// Datasets to run, as in cora,photo [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Rows to run: the row of this name, or the rows with this text in their names
    #[arg(long, value_name = "TEXT")]
    pub rows: Option<String>,
    /// Part of the cells to run, as in 2/3; copying puts the folders of all parts together
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    pub shard: Option<Shard>,
    /// Count the cells and estimate their time, and run none
    #[arg(long)]
    pub dry_run: bool,
    /// Folder for a short version of each table's results, as TABLE.json, which `gnarl report`
    /// reads; tables that are there are not run again
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
}

/// Recipes to train with.
#[derive(Debug, Clone, Copy)]
pub enum Recipes {
    /// One recipe.
    One(Recipe),
    /// The published recipe, then the default.
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

/// Result of `gnarl reproduce`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ReproduceReport {
    /// List of the available tables.
    List {
        /// Available tables, one entry each.
        tables: Vec<Listed>,
    },
    /// One reproduced table.
    Table(Box<Reproduced>),
    /// Several reproduced tables.
    Tables(Box<Several>),
    /// Plan of a reproduction.
    Plan(Planned),
}

/// Plan of a reproduction that was not run.
#[derive(Debug, Serialize)]
pub struct Planned {
    tables: usize,
    /// Number of cells; of a shard, its own.
    cells: usize,
    /// Number of cells finished by an earlier run.
    done: usize,
    /// Number of cells that an earlier run made with other numerics; they would be run again.
    stale: usize,
    /// Estimated seconds, from cells that were timed; `None` without timed cells.
    seconds_left: Option<f64>,
}

/// Results of several reproduced tables.
#[derive(Debug, Serialize)]
pub struct Several {
    tables: Vec<Summary>,
    /// Number of distinct cells of all tables; a cell may belong to several tables.
    cells: usize,
    interrupted: bool,
    /// Seconds of this run.
    seconds: f64,
    out: String,
}

/// Completed part of a table.
#[derive(Debug, Serialize)]
pub struct Summary {
    table: &'static str,
    cells: usize,
    measured: usize,
    holes: usize,
    failed: usize,
    not_run: usize,
    /// Seconds of the table's cells, one after another, in all runs.
    cell_seconds: f64,
    /// Failed cells, with the reason.
    failures: Vec<String>,
}

impl Summary {
    fn of(report: &TableReport) -> Self {
        let all = || {
            report
                .rows
                .iter()
                .flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
        };
        let count = |status: Status| all().filter(|(_, cell)| cell.status == status).count();
        let failed = all().filter(|(_, cell)| cell.status == Status::Failed);
        Self {
            table: report.table,
            cells: report.cells,
            measured: count(Status::Measured),
            holes: count(Status::Hole),
            failed: count(Status::Failed),
            not_run: count(Status::NotRun),
            // An empty sum would be -0.
            cell_seconds: all()
                .filter_map(|(_, cell)| cell.ours.as_ref())
                .fold(0.0, |sum, ours| sum + ours.seconds),
            failures: failed
                .map(|(row, cell)| {
                    format!(
                        "{}, {} on {}: {}",
                        report.table,
                        row.label,
                        cell.dataset,
                        message(cell)
                    )
                })
                .collect(),
        }
    }
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
    /// Files: CSV, JSON and HTML, and drawings of published figures.
    files: Vec<String>,
}

/// Runs missing cells, writes the files, and returns the report.
pub fn run(global: &Global, args: &ReproduceArgs) -> anyhow::Result<ReproduceReport> {
    let names = args.tables.join(",");
    if names.eq_ignore_ascii_case("list") {
        return Ok(ReproduceReport::List { tables: list() });
    }
    let chosen = tables::select(&names)?;
    let is_one = args.tables.len() == 1 && tables::find(&names).is_ok();
    if let (true, [table]) = (is_one, &chosen[..]) {
        args.check(table)?;
    }
    let settings = args.settings(global);
    // Several tables: a table without the requested rows or columns is left out. One table: that is
    // an error.
    let is_narrowed = !is_one && (settings.rows.is_some() || !settings.columns.is_empty());
    let chosen = if is_narrowed {
        narrowed(&chosen, &settings)?
    } else {
        chosen
    };
    let planned = gnarl_thesis::dry_run(&chosen, &settings)?;
    if args.dry_run {
        return Ok(ReproduceReport::Plan(Planned::new(chosen.len(), &planned)));
    }
    let start = std::time::Instant::now();
    let bar = progress::cells(&names);
    let callbacks = RunnerCallbacks {
        on_cell: &|done| progress::show_cells(&bar, done),
        stop: interrupt::flag(),
    };
    let reports = reproduce_all(&chosen, &settings, &callbacks)?;
    bar.finish_and_clear();
    let mut shown = Vec::new();
    for (table, report) in chosen.iter().zip(reports) {
        shown.push(write(table, &settings, report, args)?);
    }
    if is_one {
        return Ok(ReproduceReport::Table(Box::new(shown.swap_remove(0))));
    }
    Ok(ReproduceReport::Tables(Box::new(Several {
        interrupted: interrupt::flag().load(std::sync::atomic::Ordering::Relaxed),
        tables: shown
            .iter()
            .map(|shown| Summary::of(&shown.report))
            .collect(),
        cells: planned.total,
        seconds: start.elapsed().as_secs_f64(),
        out: args.out.display().to_string(),
    })))
}

impl ReproduceArgs {
    /// Fails if options of trainings were given for a table without any.
    fn check(&self, table: &gnarl_thesis::Table) -> gnarl_graph::Result<()> {
        if !table.is_trained() && (self.runs.is_some() || self.recipe.is_some()) {
            let what = format!(
                "{} trains nothing: --runs and --recipe do not apply; leave them out",
                table.name
            );
            return Err(Error::argument("reproduce", what));
        }
        Ok(())
    }

    fn settings(&self, global: &Global) -> Settings {
        let data_dir = gnarl_data::data_dir(global.data_dir.as_deref());
        let default_runs = if self.quick {
            Settings::QUICK_RUNS
        } else {
            Settings::RUNS
        };
        Settings {
            runs: self.runs.unwrap_or(default_runs),
            seed: global.seed,
            recipes: match self.recipe {
                None => vec![Recipe::Thesis],
                Some(Recipes::One(recipe)) => vec![recipe],
                Some(Recipes::Both) => vec![Recipe::Thesis, Recipe::Default],
            },
            columns: self.columns.clone(),
            rows: self.rows.clone(),
            shard: self.shard,
            results: self.results.clone(),
            ..Settings::new(data_dir, self.out.clone())
        }
    }
}

impl Planned {
    fn new(tables: usize, progress: &Progress) -> Self {
        Self {
            tables,
            cells: progress.total,
            done: progress.done,
            stale: progress.stale,
            seconds_left: progress.seconds_left,
        }
    }
}

/// Writes the files of a table and returns the part of it to show.
fn write(
    table: &'static gnarl_thesis::Table,
    settings: &Settings,
    report: TableReport,
    args: &ReproduceArgs,
) -> anyhow::Result<Reproduced> {
    let name = |ending: &str| args.out.join(format!("{}.{ending}", table.short_name()));
    let names = [name("csv"), name("json"), name("html")];
    let reproduced = |report| Reproduced {
        report,
        quick: args.quick && table.is_trained(),
        files: names
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
    };
    // The files hold every finished cell, including columns and rows that were not requested this
    // time.
    let whole = reproduced(with_stored(table, settings, &report)?);
    let json = serde_json::to_string_pretty(&whole)? + "\n";
    for (file, content) in names.iter().zip([whole.report.csv(), json, whole.page()?]) {
        output::write_whole(file, &content)?;
    }
    if let Some(folder) = &args.results
        && whole.report.cells_stored > 0
    {
        StoredResults::of(&whole.report).write(table, folder)?;
    }
    let mut shown = reproduced(report);
    for recipe in whole.report.recipes() {
        for (name, drawing) in whole.drawings(recipe) {
            let by = recipe.map_or_else(String::new, |recipe| format!("-{}", recipe_name(recipe)));
            let stem = args.out.join(format!(
                "{}-{}{by}",
                table.short_name(),
                name.to_lowercase()
            ));
            shown
                .files
                .extend(plot::write(&drawing, &stem)?.map(|file| file.display().to_string()));
        }
    }
    Ok(shown)
}

fn list() -> Vec<Listed> {
    let listed = |table: &'static gnarl_thesis::Table| Listed {
        name: &table.name,
        title: &table.title,
        section: &table.section,
        rows: table.rows.iter().map(|row| row.label.as_str()).collect(),
        columns: table.columns.iter().map(String::as_str).collect(),
    };
    tables::all().iter().map(listed).collect()
}

impl Report for ReproduceReport {
    fn text(&self) -> String {
        match self {
            ReproduceReport::Table(reproduced) => reproduced.text(),
            ReproduceReport::Tables(several) => several.text(),
            ReproduceReport::Plan(planned) => planned.text(),
            ReproduceReport::List { tables } => {
                let mut table = output::table(&["table", ">rows", ">datasets", "what", "where"]);
                output::keep_narrow(&mut table);
                for t in tables {
                    let (rows, columns) = (t.rows.len().to_string(), t.columns.len().to_string());
                    table.add_row([
                        t.name.to_string(),
                        rows,
                        columns,
                        t.title.to_string(),
                        t.section.to_string(),
                    ]);
                }
                output::render(&table)
            }
        }
    }
}

impl Planned {
    fn text(&self) -> String {
        let left = self.cells - self.done;
        let time = match self.seconds_left {
            Some(_) if left == 0 => String::new(),
            Some(seconds) => format!(
                ", about {} with these threads",
                indicatif::HumanDuration(std::time::Duration::from_secs_f64(seconds.min(1e9)))
            ),
            None => ", time unknown: no cell was timed yet".to_string(),
        };
        let stale = if self.stale > 0 {
            format!(" ({} with other numerics)", self.stale)
        } else {
            String::new()
        };
        let counted = |count: usize, what: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { "s" })
        };
        let (tables, cells) = (counted(self.tables, "table"), counted(self.cells, "cell"));
        format!(
            "{tables}, {cells}: {} done, {left} to run{stale}{time}\n",
            self.done
        )
    }
}

impl Several {
    fn text(&self) -> String {
        let mut table = output::table(&[
            "table",
            ">cells",
            ">measured",
            ">holes",
            ">failed",
            ">not run",
            ">seconds",
        ]);
        for t in &self.tables {
            let counts =
                [t.cells, t.measured, t.holes, t.failed, t.not_run].map(|count| count.to_string());
            let fields = std::iter::once(t.table.to_string()).chain(counts);
            table.add_row(fields.chain([format!("{:.0}", t.cell_seconds)]));
        }
        let mut text = output::render(&table) + "\n";
        for failure in self.tables.iter().flat_map(|t| &t.failures) {
            text += &format!("failed: {failure}\n");
        }
        text += &format!(
            "{} cells, each counted once; seconds are those of cells, over all runs of the command\n",
            self.cells
        );
        if self.interrupted {
            text += "interrupted: finished cells are stored; the same command continues\n";
        }
        text + &format!("written: {}\n", self.out)
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
            // The longer side becomes the rows.
            let transposed = report.columns.len() > rows.len();
            text += &grid(&labels, &report.columns, transposed, 3, |r, c| {
                lines(&rows[r].cells[c])
            });
            let compared = self.compared(recipe);
            if !compared.is_empty() {
                let labels: Vec<&str> = compared.iter().map(|(label, ..)| label.as_str()).collect();
                text += &format!("\nrun by run{}\n\n", self.minus());
                text += &grid(&labels, &report.columns, transposed, 2, |r, c| {
                    let (_, row, baseline) = &compared[r];
                    show_pair(&row.cells[c], baseline).join("\n")
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

    /// Returns the rows that are compared with a baseline, each with its label and baseline; none
    /// if no pair was run.
    fn compared(&self, recipe: Option<Recipe>) -> Vec<(String, &RowReport, &'static str)> {
        let pairs = || {
            self.report
                .rows_of(recipe)
                .flat_map(|row| row.baselines.iter().map(move |name| (row, *name)))
        };
        let any = |row: &RowReport, baseline: &str, has: fn(&Pair) -> bool| {
            row.cells
                .iter()
                .filter_map(|cell| cell.minus(baseline))
                .any(has)
        };
        if !pairs().any(|(row, baseline)| any(row, baseline, |pair| pair.paired.is_some())) {
            return Vec::new();
        }
        let label = |row: &RowReport, baseline: &str| match self.common_baseline() {
            Some(_) => row.label.to_string(),
            None => format!("{} minus {baseline}", row.label),
        };
        let shown = pairs().filter(|(row, baseline)| any(row, baseline, Pair::has_figures));
        shown
            .map(|(row, baseline)| (label(row, baseline), row, baseline))
            .collect()
    }

    /// Returns the baseline of all rows, if they share one.
    fn common_baseline(&self) -> Option<&'static str> {
        let common = self.report.baseline?;
        self.report
            .rows
            .iter()
            .flat_map(|row| &row.baselines)
            .all(|name| *name == common)
            .then_some(common)
    }

    /// Returns `, minus GCN` if all rows share that baseline.
    fn minus(&self) -> String {
        self.common_baseline()
            .map_or_else(String::new, |baseline| format!(", minus {baseline}"))
    }

    /// Describes the recipe and the number of runs.
    fn caption(&self, recipe: Option<Recipe>) -> String {
        match (recipe, self.report.runs) {
            (Some(recipe), Some(runs)) => {
                let quick = if self.quick {
                    ", quick: fewer than the published 10"
                } else {
                    ""
                };
                let plural = if runs == 1 { "" } else { "s" };
                let seed = self.report.seed;
                format!(
                    "recipe {}, {runs} run{plural} from seed {seed}{quick}",
                    recipe_name(recipe)
                )
            }
            _ => "computed once: nothing is trained".to_string(),
        }
    }

    /// Explains symbols and notes of the table.
    fn legend(&self) -> Vec<String> {
        let report = &self.report;
        let mut lines = vec![match report.runs {
            Some(_) => "each cell: ours ± standard deviation, thesis, ours minus thesis ± standard error; \
                        * marks more than two standard errors"
                .to_string(),
            None => {
                "each cell: ours, thesis, ours minus thesis; * marks more than the last digit printed there".into()
            }
        }];
        let all = || report.rows.iter().flat_map(|row| &row.cells);
        let mut holes: Vec<&str> = all()
            .filter(|cell| cell.status == Status::Hole)
            .map(|cell| cell.dataset.as_str())
            .collect();
        holes.sort_unstable();
        holes.dedup();
        if !holes.is_empty() {
            lines.push(format!(
                "holes: {0} not in the data folder; gnarl data get {0}",
                holes.join(" ")
            ));
        }
        for row in &report.rows {
            for cell in row
                .cells
                .iter()
                .filter(|cell| cell.status == Status::Failed)
            {
                lines.push(format!(
                    "failed: {} on {}: {}",
                    row.label,
                    cell.dataset,
                    message(cell)
                ));
            }
        }
        lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
        if report.interrupted {
            let (stored, cells) = (report.cells_stored, report.cells);
            lines.push(format!(
                "interrupted: {stored} of {cells} cells are stored; the same command continues"
            ));
        }
        lines
    }

    /// Renders the table as a page.
    fn page(&self) -> anyhow::Result<String> {
        let report = &self.report;
        let lead = format!(
            "<p>{}, {}.</p>\n",
            escape(report.title),
            escape(report.section)
        );
        let mut page = Page::new(report.table).lead(&lead);
        for recipe in report.recipes() {
            page = page.section(self.recipe_section(recipe)?);
        }
        Ok(page.section(self.notes_section()).render()?)
    }

    /// Builds the section of a recipe: the table, the comparisons with baselines, and the charts.
    fn recipe_section(&self, recipe: Option<Recipe>) -> anyhow::Result<Section> {
        let report = &self.report;
        let id = recipe.map_or("figures", recipe_name);
        let headers: Vec<&str> = std::iter::once("")
            .chain(report.columns.iter().copied())
            .collect();
        let cells: Vec<(String, Vec<Cell>)> = report
            .rows_of(recipe)
            .map(|row| {
                (
                    row.label.to_string(),
                    row.cells.iter().map(page_cell).collect(),
                )
            })
            .collect();
        let mut section = Section::new(id, &self.caption(recipe)).table(&headers, &cells);
        let compared = self.compared(recipe);
        if !compared.is_empty() {
            section = section.markup(&format!("<h3>Run by run{}</h3>\n", escape(&self.minus())));
            let cells: Vec<(String, Vec<Cell>)> = compared
                .into_iter()
                .map(|(label, row, baseline)| {
                    let cells = row.cells.iter().map(|cell| paired_cell(cell, baseline));
                    (label, cells.collect())
                })
                .collect();
            section = section.table(&headers, &cells);
        }
        for (_, drawing) in self.drawings(recipe) {
            section = section.markup(&plot::svg(&drawing)?);
        }
        let curves = self.curves(recipe);
        if !curves.is_empty() {
            section = section
                .markup("<h3>Learning curves</h3>\n")
                .side_by_side(curves);
        }
        Ok(section)
    }

    /// Builds the section with the colours and the legend.
    fn notes_section(&self) -> Section {
        let key = |class: &str, what: &str| format!("<span class=\"key {class}\">{what}</span> ");
        let mut notes = String::from("<p>");
        notes += &key(
            "agree",
            "within two standard errors, or the last printed digit",
        );
        notes += &key("above", "above");
        notes += &key("below", "below");
        notes += &key("hole", "no figure");
        notes += &key("failed", "failed");
        notes += "</p>\n<ul>\n";
        for line in self.legend() {
            notes += &format!("<li>{}</li>\n", escape(&line));
        }
        Section::new("notes", "Notes").markup(&(notes + "</ul>\n"))
    }

    /// Returns the published figures of a table as named drawings; empty for a plain table. All
    /// drawings of a table start here.
    fn drawings(&self, recipe: Option<Recipe>) -> Vec<(&'static str, LineChart)> {
        let rows: Vec<&RowReport> = self.report.rows_of(recipe).collect();
        let first = rows.first().and_then(|row| row.cells.first());
        match first.map(|cell| &cell.config.work) {
            Some(Work::Halves(_)) => self.by_depth(&rows),
            Some(Work::Property(Property::Neighbours { .. })) => {
                vec![(NODES, self.by_nodes(&rows))]
            }
            _ => Vec::new(),
        }
    }

    /// Plots each column: a line for every part of its cells, by the depth of its rows.
    fn by_depth(&self, rows: &[&RowReport]) -> Vec<(&'static str, LineChart)> {
        let draw = |(c, column): (usize, &&'static str)| {
            let names = rows
                .iter()
                .map(|row| parts(&row.cells[c]))
                .find(|parts| !parts.is_empty())?;
            let point = |row: &&RowReport, i: usize| {
                let Work::Halves(setting) = &row.cells[c].config.work else {
                    return None;
                };
                let part = parts(&row.cells[c]).get(i)?;
                let error =
                    (part.runs.len() > 1).then(|| part.std / (part.runs.len() as f64).sqrt());
                let band = error.map(|error| (part.mean - error, part.mean + error));
                Some(Point {
                    x: setting.model.network.layers.unwrap_or(0) as f64,
                    y: part.mean,
                    band,
                })
            };
            let line = |(i, part): (usize, &Part)| plot::Line {
                name: part.name.clone(),
                points: rows.iter().filter_map(|row| point(row, i)).collect(),
            };
            let chart = LineChart {
                title: column.to_string(),
                x_label: "depth".into(),
                y_label: "test accuracy, % (± standard error)".into(),
                lines: names.iter().enumerate().map(line).collect(),
            };
            Some((*column, chart))
        };
        self.report
            .columns
            .iter()
            .enumerate()
            .filter_map(draw)
            .collect()
    }

    /// Plots a line for every row, over the columns by their number of nodes.
    fn by_nodes(&self, rows: &[&RowReport]) -> LineChart {
        let point = |cell: &CellReport| {
            let nodes = parts(cell).iter().find(|part| part.name == NODES)?.mean;
            Some(Point {
                x: nodes.log10(),
                y: cell.ours.as_ref()?.mean,
                band: None,
            })
        };
        let line = |row: &&RowReport| {
            let mut points: Vec<Point> = row.cells.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            plot::Line {
                name: row.label.to_string(),
                points,
            }
        };
        LineChart {
            title: "Graphs around a graph".into(),
            x_label: "log10 of the number of nodes".into(),
            y_label: "log2 of the number of graphs, at least".into(),
            lines: rows.iter().map(line).collect(),
        }
    }

    /// Plots the first run's validation accuracy, a chart for each column that has one.
    fn curves(&self, recipe: Option<Recipe>) -> Vec<Component> {
        let mut charts = Vec::new();
        for (c, column) in self.report.columns.iter().enumerate() {
            let of = |row: &RowReport| Some((row.label, row.cells[c].ours.as_ref()?.curve.clone()));
            let series: Vec<Series> = (self.report.rows_of(recipe).filter_map(of))
                .filter(|(_, curve)| !curve.is_empty())
                .map(|(name, values)| Series {
                    name: name.to_string(),
                    values,
                    ..Series::default()
                })
                .collect();
            if !series.is_empty() {
                let y = Axis::of("validation accuracy of the first run, %");
                charts.push(
                    Lines {
                        title: column.to_string(),
                        x: Axis::of("epoch"),
                        y,
                        series,
                    }
                    .into(),
                );
            }
        }
        charts
    }
}

/// Formats a table, optionally transposed; cells of `height` lines are separated.
fn grid(
    rows: &[&str],
    columns: &[&str],
    transposed: bool,
    height: usize,
    cell: impl Fn(usize, usize) -> String,
) -> String {
    let (down, across) = if transposed {
        (columns, rows)
    } else {
        (rows, columns)
    };
    let headers: Vec<String> = across.iter().map(|name| format!(">{name}")).collect();
    let headers: Vec<&str> = std::iter::once("")
        .chain(headers.iter().map(String::as_str))
        .collect();
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

/// Formats our result, the published one, the difference, and further results of the same runs, one
/// under the other.
fn lines(cell: &CellReport) -> String {
    let ours = match (&cell.ours, cell.status) {
        (Some(ours), _) => show_mean(
            ours.mean,
            ours.standard_error.map(|_| ours.std),
            is_accuracy(cell),
        ),
        (None, Status::Hole) => "hole".into(),
        (None, Status::Failed) => "failed".into(),
        (None, _) => "not run".into(),
    };
    let difference = cell.difference.map_or_else(
        || "-".to_string(),
        |d| show_difference(&d, is_accuracy(cell)),
    );
    let mut lines = vec![ours];
    // A value that was published only as a drawing cannot be compared.
    if cell.thesis != Thesis::Absent || parts(cell).is_empty() {
        lines.extend([show_thesis(cell.thesis), difference]);
    }
    lines.extend(
        parts(cell)
            .iter()
            .map(|part| show_part(part, is_accuracy(cell))),
    );
    lines.join("\n")
}

fn parts(cell: &CellReport) -> &[Part] {
    cell.ours.as_ref().map_or(&[], |ours| &ours.parts)
}

/// Formats a part, as in `on validation [2]: 80.12 ± 0.45`.
fn show_part(part: &Part, is_accuracy: bool) -> String {
    format!(
        "{}: {}",
        part.name,
        show_mean(
            part.mean,
            (part.runs.len() > 1).then_some(part.std),
            is_accuracy
        )
    )
}

fn page_cell(cell: &CellReport) -> Cell {
    let thesis = escape(&show_thesis(cell.thesis));
    let Some(ours) = &cell.ours else {
        let class = if cell.status == Status::Failed {
            "failed"
        } else {
            "hole"
        };
        return Cell {
            markup: format!("{}<br><small>{thesis}</small>", escape(message(cell))),
            class,
        };
    };
    let mut mean = escape(&show_mean(
        ours.mean,
        ours.standard_error.map(|_| ours.std),
        is_accuracy(cell),
    ));
    for part in parts(cell) {
        mean += &format!(
            "<br><small>{}</small>",
            escape(&show_part(part, is_accuracy(cell)))
        );
    }
    let Some(difference) = cell.difference else {
        return Cell {
            markup: format!("{mean}<br><small>{thesis}</small>"),
            class: "",
        };
    };
    let shown = escape(&show_difference(&difference, is_accuracy(cell)));
    Cell {
        markup: format!("{mean}<br><small>{thesis}<br>{shown}</small>"),
        class: class(&difference, "agree"),
    }
}

/// Formats a row minus a baseline as a cell of the page, coloured if it is significant.
fn paired_cell(cell: &CellReport, baseline: &str) -> Cell {
    let lines: Vec<String> = show_pair(cell, baseline)
        .iter()
        .map(|line| escape(line))
        .collect();
    let difference = cell.minus(baseline).and_then(|pair| pair.paired);
    Cell {
        markup: lines.join("<br>"),
        class: difference.map_or("", |d| class(&d, "")),
    }
}

/// Formats a row minus a baseline: our difference and, if there is one, the published difference.
fn show_pair(cell: &CellReport, baseline: &str) -> Vec<String> {
    let pair = cell.minus(baseline);
    // A cell outside gnarl has no declared measure; the published number has.
    let is_accuracy = is_accuracy(cell) && !matches!(cell.thesis, Thesis::Value { .. });
    let show = |d: Difference| show_difference(&d, is_accuracy);
    let ours = pair
        .and_then(|pair| pair.paired)
        .map_or_else(|| "-".to_string(), show);
    let thesis = pair
        .and_then(|pair| pair.claimed)
        .map(|d| format!("thesis {}", show(d)));
    std::iter::once(ours).chain(thesis).collect()
}

/// Returns the colour of a difference.
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

/// Returns true if the results of a cell are per cents; otherwise they have their own units and any
/// magnitude.
fn is_accuracy(cell: &CellReport) -> bool {
    cell.config.work.is_accuracy()
}

fn show_mean(mean: f64, std: Option<f64>, is_accuracy: bool) -> String {
    match (is_accuracy, std) {
        (true, Some(std)) => format!("{mean:.2} ± {std:.2}"),
        (true, None) => format!("{mean:.2}"),
        (false, Some(std)) => format!("{} ± {}", real(mean), real(std)),
        (false, None) => real(mean),
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

/// Formats a difference, as in `+0.52 ± 0.20 *`.
fn show_difference(difference: &Difference, is_accuracy: bool) -> String {
    let mean = if is_accuracy {
        format!("{:+.2}", difference.mean)
    } else {
        let sign = if difference.mean > 0.0 { "+" } else { "" };
        format!("{sign}{}", real(difference.mean))
    };
    let error = match difference.standard_error {
        None => String::new(),
        Some(se) if is_accuracy => format!(" ± {se:.2}"),
        Some(se) => format!(" ± {}", real(se)),
    };
    let mark = if difference.is_clear { " *" } else { "" };
    format!("{mean}{error}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_show_their_sign_and_their_mark() {
        let d = |mean, standard_error, is_clear| Difference {
            mean,
            standard_error,
            is_clear,
        };
        assert_eq!(
            show_difference(&d(0.5249, Some(0.2), true), true),
            "+0.52 ± 0.20 *"
        );
        assert_eq!(show_difference(&d(-0.1, None, false), true), "-0.10");
        assert_eq!(show_difference(&d(9.9e-6, None, false), false), "+9.900e-6");
        assert_eq!(
            show_difference(&d(-0.0125, Some(0.0005), true), false),
            "-0.01250 ± 5.000e-4 *"
        );
        assert_eq!(class(&d(-3.0, None, true), "agree"), "below");
        assert_eq!(class(&d(-3.0, None, false), "agree"), "agree");
    }

    #[test]
    fn rows_and_columns_can_change_places() {
        let fields = |transposed| {
            let shown = grid(&["r"], &["a", "b"], transposed, 1, |r, c| format!("{r}{c}"));
            shown
                .lines()
                .map(|line| line.split_whitespace().map(str::to_string).collect())
                .collect::<Vec<Vec<_>>>()
        };
        let lines = fields(true);
        assert_eq!(
            [lines[0].join(" "), lines[2].join(" "), lines[3].join(" ")],
            ["r", "a 00", "b 01"]
        );
        let lines = fields(false);
        assert_eq!([lines[0].join(" "), lines[2].join(" ")], ["a b", "r 00 01"]);
    }
}
