//! `gnarl report`: writes a verdict on every published claim to one page, from stored results.
//!
//! The page is one file that needs nothing but a browser: claims with their verdicts first, then
//! every table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gnarl_graph::Error;
use gnarl_thesis::Recipe;
use gnarl_thesis::claims::{CLAIMS, ClaimSource, Verdict, VerdictReport};
use gnarl_thesis::kept::{Left, ResultStore};
use gnarl_thesis::quoted::{Drawing, PublishedStudy};
use gnarl_thesis::report::{CellReport, Report as TableReport, Status, Thesis, recipe_name};
use gnarl_thesis::tables;
use serde::Serialize;

use super::report_fill::{filled, in_cell};
use crate::html::escape;
use crate::output::{self, Report, real};
use crate::page;

/// Arguments of `gnarl report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder with the stored results, as `gnarl reproduce … --results DIR` writes it
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// HTML page to write
    #[arg(long, value_name = "FILE", default_value = "gnarl-results.html")]
    pub out: PathBuf,
    /// Also write the verdicts as a page in Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Update the generated blocks between comments in this Markdown page; may be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub fill: Vec<PathBuf>,
}

/// Result of `gnarl report`.
#[derive(Debug, Serialize)]
pub struct ReportReport {
    claims: Vec<VerdictReport>,
    tables: Vec<TableProgress>,
    /// Number of tables with results, next to the number of tables.
    tables_with_figures: usize,
    cells: usize,
    cells_run: usize,
    /// Seconds of all cells, one after another.
    cell_seconds: f64,
    /// Cells that were not run, by dataset.
    left: Vec<Left>,
    /// Number of tables and cells from other numerics; they are not counted.
    stale_tables: usize,
    stale_cells: usize,
    page: String,
}

/// Completed part of a table.
#[derive(Debug, Serialize)]
pub struct TableProgress {
    table: &'static str,
    cells: usize,
    run: usize,
    holes: usize,
}

/// Reads the results, judges the claims, and writes the page.
pub fn run(args: &ReportArgs) -> anyhow::Result<ReportReport> {
    let store = ResultStore::read(&args.results)?;
    let reports = tables::all()
        .iter()
        .map(|table| store.report(table))
        .collect::<Result<Vec<_>, _>>()?;
    let studies = PublishedStudy::read_all(&args.results)?;
    let drawings = Drawing::read_all(&args.results)?;
    let (stale_tables, stale_cells) = store.stale();
    if store.is_empty() {
        let what = format!(
            "{} has no figures of any table; gnarl reproduce … --results {0} writes them",
            args.results.display()
        );
        return Err(Error::argument("report", what).into());
    }
    // An error in one page leaves all pages unchanged.
    let fill = |file: &PathBuf| -> anyhow::Result<(PathBuf, String)> {
        let page = std::fs::read_to_string(file).map_err(|e| Error::io(file, e))?;
        Ok((
            file.clone(),
            filled(file, &page, &reports, &studies, &store)?,
        ))
    };
    let pages = args
        .fill
        .iter()
        .map(fill)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let claims: Vec<VerdictReport> = CLAIMS.iter().map(|claim| claim.judge(&reports)).collect();
    let left = store.left()?;
    output::write_whole(
        &args.out,
        page(&claims, &reports, &drawings, &studies, &left, stale_cells),
    )?;
    if let Some(file) = &args.markdown {
        output::write_whole(file, markdown(&claims, &reports, &drawings, &left))?;
    }
    for (file, page) in pages {
        output::write_whole(&file, page)?;
    }
    let counted = |report: &TableReport| TableProgress {
        table: report.table,
        cells: report.cells,
        run: report.cells_stored,
        holes: cells(report)
            .filter(|cell| cell.status == Status::Hole)
            .count(),
    };
    Ok(ReportReport {
        tables: reports.iter().map(counted).collect(),
        tables_with_figures: reports
            .iter()
            .filter(|report| report.cells_stored > 0)
            .count(),
        cells: reports.iter().map(|report| report.cells).sum(),
        cells_run: reports.iter().map(|report| report.cells_stored).sum(),
        cell_seconds: reports
            .iter()
            .flat_map(cells)
            .filter_map(|cell| cell.ours.as_ref())
            .fold(0.0, |sum, ours| sum + ours.seconds),
        left,
        stale_tables,
        stale_cells,
        claims,
        page: args.out.display().to_string(),
    })
}

fn cells(report: &TableReport) -> impl Iterator<Item = &CellReport> {
    report.rows.iter().flat_map(|row| &row.cells)
}

const VERDICTS: [Verdict; 5] = [
    Verdict::Holds,
    Verdict::HoldsSmaller,
    Verdict::DoesNotHold,
    Verdict::CannotBeTold,
    Verdict::NotRun,
];

impl Report for ReportReport {
    fn text(&self) -> String {
        let mut table =
            output::table(&["ch.", "claim", ">ours", ">thesis", ">datasets", "verdict"]);
        for judged in &self.claims {
            table.add_row([
                judged.claim.chapter.to_string(),
                judged.claim.says.to_string(),
                difference(judged),
                judged
                    .claimed
                    .map_or_else(|| "-".into(), |claimed| format!("{claimed:+.2}")),
                judged.datasets.len().to_string(),
                judged.verdict.name().to_string(),
            ]);
        }
        let counts = |whose: ClaimSource| {
            let of = |verdict: Verdict| {
                let same = |j: &&VerdictReport| j.claim.whose == whose && j.verdict == verdict;
                format!(
                    "{} {}",
                    self.claims.iter().filter(same).count(),
                    verdict.name()
                )
            };
            VERDICTS.map(of).join(", ")
        };
        output::render(&table)
            + &format!(
                "\npublished claims: {}\nours: {}\n",
                counts(ClaimSource::Thesis),
                counts(ClaimSource::Ours)
            )
            + &format!(
                "{} of {} cells in {} of {} tables were run, {:.1} hours of cells one after another\n",
                self.cells_run,
                self.cells,
                self.tables_with_figures,
                self.tables.len(),
                self.cell_seconds / 3600.0,
            )
            + &self.stale()
            + &format!("written: {}\n", self.page)
    }
}

impl ReportReport {
    fn stale(&self) -> String {
        match self.stale_cells {
            0 => String::new(),
            count => format!(
                "{count} cells in {} tables were computed by another version of the numerics and are not counted\n",
                self.stale_tables
            ),
        }
    }
}

/// Writes the verdicts, and the completed part of each table, as Markdown.
fn markdown(
    claims: &[VerdictReport],
    reports: &[TableReport],
    drawings: &[Drawing],
    left: &[Left],
) -> String {
    let mut text = String::from(
        "# What holds\n\nMade by `gnarl report --markdown docs/results.md` from the figures in `results/`; a test makes it again and compares. \
         *Ours* is the mean over datasets of the difference paired by run, with its standard error; *thesis* is the same difference in the published \
         figures. [reproduce.md](reproduce.md) has the rule of the verdicts. Cells that were not run are marked and not counted.\n",
    );
    for (whose, title) in [
        (ClaimSource::Thesis, "Published claims"),
        (ClaimSource::Ours, "Alternatives in gnarl, by the same rule"),
    ] {
        text += &format!(
            "\n## {title}\n\n| ch. | claim | ours | thesis | datasets | verdict |\n| --- | --- | ---: | ---: | ---: | --- |\n"
        );
        for judged in claims.iter().filter(|judged| judged.claim.whose == whose) {
            let claimed = judged
                .claimed
                .map_or_else(|| "-".to_string(), |claimed| format!("{claimed:+.2}"));
            let (chapter, says, count) = (
                judged.claim.chapter,
                judged.claim.says,
                judged.datasets.len(),
            );
            let ours = difference(judged);
            text += &format!(
                "| {chapter} | {says} | {ours} | {claimed} | {count} | {} |\n",
                judged.verdict.name()
            );
        }
    }
    text += "\n## Tables\n\n| table | cells | run | holes | hours of cells |\n| --- | ---: | ---: | ---: | ---: |\n";
    for report in reports {
        let seconds = cells(report)
            .filter_map(|cell| cell.ours.as_ref())
            .fold(0.0, |sum, ours| sum + ours.seconds);
        let hours = seconds / 3600.0;
        let holes = cells(report)
            .filter(|cell| cell.status == Status::Hole)
            .count();
        text += &format!(
            "| `{}` | {} | {} | {holes} | {hours:.2} |\n",
            report.table, report.cells, report.cells_stored
        );
    }
    text += "\n## Figures\n\nOn the page that `gnarl report` makes.\n\n| ch. | figure | thesis | command |\n| --- | --- | --- | --- |\n";
    for Drawing {
        says,
        chapter,
        label,
        command,
        ..
    } in drawings
    {
        let label = label
            .as_ref()
            .map_or_else(|| "ours".to_string(), |label| format!("`{label}`"));
        text += &format!(
            "| {chapter} | {} | {label} | `{}` |\n",
            in_cell(says),
            in_cell(command)
        );
    }
    text += &format!(
        "\n## What was not run\n\n{NOT_RUN}\n\n| dataset | cells | hours |\n| --- | ---: | ---: |\n"
    );
    for of in left {
        text += &format!("| {} | {} | {} |\n", of.dataset, of.cells, hours(of));
    }
    text
}

const NOT_RUN: &str = "Cells, each counted once, and their estimated time one after another on one machine. The estimate is from cells of the same kind, mostly on \
                       graphs of about the same size; it is rough where only small graphs were timed.";

fn hours(left: &Left) -> String {
    left.seconds
        .map_or_else(|| "-".to_string(), |seconds| real(seconds / 3600.0))
}

/// Formats a difference, as in `+0.52 ± 0.20`.
fn difference(judged: &VerdictReport) -> String {
    match (judged.mean, judged.standard_error) {
        (Some(mean), Some(error)) => format!("{mean:+.2} ± {error:.2}"),
        _ => "-".to_string(),
    }
}

/// Renders the whole page.
fn page(
    claims: &[VerdictReport],
    reports: &[TableReport],
    drawings: &[Drawing],
    studies: &BTreeMap<String, PublishedStudy>,
    left: &[Left],
    stale: usize,
) -> String {
    let mut body = String::from(
        "<p>Five methods of one thesis, reproduced: every claim with a verdict by one rule, then every table with our figures, the published figures and the \
         difference.</p>\n",
    );
    let run: usize = reports.iter().map(|report| report.cells_stored).sum();
    let all: usize = reports.iter().map(|report| report.cells).sum();
    body += "<div class=\"tiles\">\n";
    for verdict in VERDICTS {
        let count = claims
            .iter()
            .filter(|j| j.claim.whose == ClaimSource::Thesis && j.verdict == verdict)
            .count();
        body += &format!(
            "<div class=\"tile {}\"><b>{count}</b>{}</div>\n",
            class(verdict),
            verdict.name()
        );
    }
    body += &format!("<div class=\"tile\"><b>{run}</b>of {all} cells run</div>\n</div>\n");
    if stale > 0 {
        body += &format!(
            "<p>{stale} cells were computed by another version of the numerics and are not counted.</p>\n"
        );
    }
    body += RULE;
    for (whose, title) in [
        (ClaimSource::Thesis, "Published claims"),
        (ClaimSource::Ours, "Alternatives in gnarl, by the same rule"),
    ] {
        let id = if whose == ClaimSource::Thesis {
            " id=\"claims\""
        } else {
            ""
        };
        body += &format!("<h2{id}>{title}</h2>\n");
        body += &claims_table(
            title,
            &claims
                .iter()
                .filter(|j| j.claim.whose == whose)
                .collect::<Vec<_>>(),
        );
    }
    body += "<h2 id=\"tables\">Tables</h2>\n<nav aria-label=\"tables\"><ul class=\"contents\">\n";
    for report in reports {
        let id = id(report);
        body += &format!(
            "<li><a href=\"#{id}\">{}</a> <small>{} of {}</small></li>\n",
            escape(report.table),
            report.cells_stored,
            report.cells
        );
    }
    body += "</ul></nav>\n";
    reports
        .iter()
        .for_each(|report| body += &table_section(report));
    body += &figures_section(drawings);
    body += &studies_section(studies);
    body += &not_run(left);
    let nav = "<a href=\"#claims\">Claims</a>\n<a href=\"#tables\">Tables</a>\n<a href=\"#figures\">Figures</a>\n<a href=\"#studies\">Studies</a>";
    page::shell("What holds", STYLE, nav, &body, "")
}

/// Builds the section with the stored pictures, each with a caption and the command that draws it.
fn figures_section(drawings: &[Drawing]) -> String {
    let mut html = String::from("<h2 id=\"figures\">Figures</h2>\n");
    for Drawing {
        says,
        chapter,
        label,
        command,
        picture,
    } in drawings
    {
        let label = label.as_ref().map_or_else(
            || "ours".to_string(),
            |label| format!("<code>{}</code>", escape(label)),
        );
        html += &format!(
            "<figure class=\"kept\">{picture}<figcaption>{}<br><small>ch. {chapter}, {label}: <code>{}</code></small></figcaption></figure>\n",
            escape(says),
            escape(command),
        );
    }
    html
}

/// Builds the section with the studies that pages of the docs quote.
fn studies_section(studies: &BTreeMap<String, PublishedStudy>) -> String {
    let mut html = String::from(
        "<h2 id=\"studies\">Further studies</h2>\n<p>Results that pages of the docs quote, as commands printed them.</p>\n",
    );
    for (name, study) in studies {
        let row = |cells: &[String], tag: &str| {
            let cells: String = cells
                .iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
                .collect();
            format!("<tr>{cells}</tr>\n")
        };
        let commands: String = study
            .commands
            .iter()
            .map(|c| format!("<li><code>{}</code></li>\n", escape(c)))
            .collect();
        html += &format!(
            "<details><summary><b>{name}</b> {says}</summary>\n<ul class=\"notes\">\n{commands}</ul>\n\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table class=\"sortable\"><thead>{}</thead>\n\
             <tbody>\n{}</tbody></table></div>\n</details>\n",
            row(&study.columns, "th"),
            study
                .rows
                .iter()
                .map(|cells| row(cells, "td"))
                .collect::<String>(),
            name = escape(name),
            says = escape(&study.says),
        );
    }
    html
}

/// Lists the cells that were not run, and their estimated cost.
fn not_run(left: &[Left]) -> String {
    let mut html = format!(
        "<h2 id=\"left\">What was not run</h2>\n<p>{}</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"what was not run\">\
         <table class=\"sortable\"><thead><tr><th>dataset</th><th>cells</th><th>hours</th></tr></thead>\n<tbody>\n",
        escape(NOT_RUN)
    );
    for of in left {
        let sort = of.seconds.unwrap_or(-1.0);
        let name = escape(&of.dataset);
        html += &format!(
            "<tr><th scope=\"row\">{name}</th><td data-sort=\"{0}\">{0}</td><td data-sort=\"{sort}\">{1}</td></tr>\n",
            of.cells,
            hours(of)
        );
    }
    html + "</tbody></table></div>\n"
}

/// Returns the anchor of a table for links.
fn id(report: &TableReport) -> String {
    report.table.replace(':', "-")
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsSmaller => "smaller",
        Verdict::DoesNotHold => "fails",
        Verdict::CannotBeTold => "open",
        Verdict::NotRun => "none",
    }
}

fn claims_table(title: &str, claims: &[&VerdictReport]) -> String {
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"sortable claims\"><thead><tr><th>ch.</th><th>verdict</th><th>claim</th>\
         <th>ours</th><th>thesis</th><th>by dataset</th></tr></thead>\n<tbody>\n",
        escape(title)
    );
    for judged in claims {
        let mut names: Vec<&str> = judged
            .claim
            .compares
            .iter()
            .map(|(table, ..)| *table)
            .collect();
        names.dedup();
        let link = |name: &&str| {
            let table = tables::find(name).map_or(*name, |table| &table.name);
            format!(
                "<a href=\"#{}\">{}</a>",
                escape(&table.replace(':', "-")),
                escape(name)
            )
        };
        let links: Vec<String> = names.iter().map(link).collect();
        let claimed = judged
            .claimed
            .map_or_else(|| "–".to_string(), |claimed| format!("{claimed:+.2}"));
        let sort = |value: Option<f64>| {
            value.map_or_else(|| "-1e9".to_string(), |value| value.to_string())
        };
        html += &format!(
            "<tr><td data-sort=\"{0}\">{0}</td><td><span class=\"verdict {8}\">{9}</span></td><td class=\"says\">{1}<br><small>{2}</small></td>\
             <td data-sort=\"{3}\">{4}</td><td data-sort=\"{5}\">{claimed}</td><td data-sort=\"{6}\">{7}</td></tr>\n",
            judged.claim.chapter,
            escape(judged.claim.says),
            links.join(", "),
            sort(judged.mean),
            difference(judged),
            sort(judged.claimed),
            judged.datasets.len(),
            dots_of(judged),
            class(judged.verdict),
            judged.verdict.name()
        );
    }
    html + "</tbody></table></div>\n"
}

/// Plots the difference on each dataset as a dot about a line at zero.
fn dots_of(judged: &VerdictReport) -> String {
    let values: Vec<f64> = judged.datasets.iter().map(|d| d.1).collect();
    if values.is_empty() {
        return "–".to_string();
    }
    let names: Vec<String> = judged
        .datasets
        .iter()
        .map(|d| format!("{} {:+.2} ± {:.2}", d.0, d.1, d.2))
        .collect();
    let reach = values.iter().fold(1.0f64, |most, v| most.max(v.abs()));
    let x = |v: f64| 60.0 + 54.0 * v / reach;
    let dots: String = values
        .iter()
        .map(|&v| format!("<circle cx=\"{:.1}\" cy=\"9\" r=\"3\"/>", x(v)))
        .collect();
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 120 18\" width=\"120\" height=\"18\" role=\"img\"><title>{}</title>\
         <line x1=\"60\" x2=\"60\" y1=\"1\" y2=\"17\"/>{dots}</svg>",
        escape(&names.join("\n"))
    )
}

/// Builds the section of a table with our results, the published ones and the difference, and a dot
/// for each run.
fn table_section(report: &TableReport) -> String {
    let summary = format!("{} of {} cells", report.cells_stored, report.cells);
    let mut html = format!(
        "<details id=\"{}\"><summary><b>{}</b> {} <small>({}; {summary})</small></summary>\n",
        id(report),
        escape(report.table),
        escape(report.title),
        escape(report.section)
    );
    for recipe in report.recipes() {
        if let Some(recipe) = recipe {
            html += &format!("<h3>recipe {}</h3>\n", escape(recipe_name(recipe)));
        }
        html += &figures(report, recipe);
    }
    html += "<ul class=\"notes\">\n";
    for note in &report.notes {
        html += &format!("<li>{}</li>\n", escape(note));
    }
    html + "</ul>\n</details>\n"
}

fn figures(report: &TableReport, recipe: Option<Recipe>) -> String {
    let label = format!("{} {}", report.table, recipe.map_or("", recipe_name));
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"sortable\"><thead><tr><th>row</th>",
        escape(label.trim_end())
    );
    for column in &report.columns {
        html += &format!("<th>{}</th>", escape(column));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in report.rows_of(recipe) {
        html += &format!("<tr><th scope=\"row\">{}</th>", escape(row.label));
        row.cells.iter().for_each(|cell| html += &figure(cell));
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}

fn figure(cell: &CellReport) -> String {
    let thesis = match cell.thesis {
        Thesis::Accuracy { mean, std } => format!("{mean:.2} ± {std:.2}"),
        Thesis::Value { mean, .. } => real(mean),
        Thesis::OutOfMemory => "out of memory".into(),
        Thesis::Absent => "–".into(),
    };
    let Some(ours) = &cell.ours else {
        let why = match cell.status {
            Status::Hole => cell.message.clone().unwrap_or_default(),
            _ => "not run".into(),
        };
        return format!(
            "<td class=\"hole\" data-sort=\"-1e9\">{}<br><small>{thesis}</small></td>",
            escape(&why)
        );
    };
    let spread = if ours.runs.len() > 1 {
        format!(" ± {}", real(ours.std))
    } else {
        String::new()
    };
    let shown = if matches!(cell.thesis, Thesis::Value { .. }) || ours.runs.len() < 2 {
        format!("{}{spread}", real(ours.mean))
    } else {
        format!("{:.2} ± {:.2}", ours.mean, ours.std)
    };
    let (class, difference) = match cell.difference {
        None => ("", String::new()),
        Some(d) => {
            let class = match (d.is_clear, d.mean > 0.0) {
                (false, _) => "agree",
                (true, true) => "above",
                (true, false) => "below",
            };
            let sign = if d.mean > 0.0 { "+" } else { "" };
            let shown = match d.standard_error {
                Some(error) => format!("{:+.2} ± {error:.2}", d.mean),
                None => format!("{sign}{}", real(d.mean)),
            };
            (class, format!("<br><small>{shown}</small>"))
        }
    };
    format!(
        "<td class=\"{class}\" data-sort=\"{}\">{shown}{}<br><small>{thesis}</small>{difference}</td>",
        ours.mean,
        dots(&ours.runs)
    )
}

/// Plots a dot for each run, between the smallest and the largest.
fn dots(runs: &[f64]) -> String {
    let (low, high) = runs
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| {
            (l.min(v), h.max(v))
        });
    if runs.len() < 2 || low >= high {
        return String::new();
    }
    let dot = |(i, v): (usize, &f64)| {
        let x = 3.0 + 54.0 * i as f64 / (runs.len() - 1) as f64;
        format!(
            "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"1.6\"/>",
            12.0 - 10.0 * (v - low) / (high - low)
        )
    };
    let all: String = runs.iter().enumerate().map(dot).collect();
    let title = format!("{} runs, {} to {}", runs.len(), real(low), real(high));
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 60 14\" width=\"60\" height=\"14\" role=\"img\"><title>{title}</title>{all}</svg>"
    )
}

/// Decision rule of the verdicts, as the page states it.
const RULE: &str = "<details class=\"rule\"><summary>The rule</summary>\n\
<p>A claim says that one row of a table is above another. <i>Ours</i> is the mean over datasets of the difference paired by run, on the same splits and seeds, with its \
standard error; <i>thesis</i> is the same difference in the published figures. A claim <b>holds</b> if ours is above zero (or the loss that the claim allows) \
by more than two standard errors; it holds, but <b>smaller</b>, if ours is also clearly below half of the published difference. It <b>does not hold</b> if ours is clearly not \
above zero, or is not clearly above zero and clearly below half of the published difference. A dataset that a claim compares in several places counts once. In all other cases it <b>cannot be told</b>. The rule is the same for published methods and for ours.</p></details>\n";

/// Styles that only this page has.
const STYLE: &str = "\
:root { --holds: #0b6e4f; --smaller: #35648f; --fails: #a83a1b; --open: #6b5d00; --none: #62626b; }
:root[data-theme=dark] { --holds: #5fd0a5; --smaller: #8fbbe8; --fails: #f0916f; --open: #d9c65a; --none: #a6a6b0; }
th, td { text-align: left; }
td.says { white-space: normal; min-width: 14rem; max-width: 34rem; } .verdict { white-space: normal; }
.holds { color: var(--holds); } .smaller { color: var(--smaller); } .fails { color: var(--fails); } .open { color: var(--open); } .none { color: var(--none); }
.verdict { font-weight: 600; }
.spark { display: inline-block; max-width: none; vertical-align: middle; margin-left: .4rem; } .spark circle { fill: var(--fg); opacity: .65; } .spark line { stroke: var(--dim); }
details { border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .8rem; } summary { color: inherit; width: auto; }
.contents { columns: 18rem; padding-left: 1.2rem; } .notes { color: var(--dim); font-size: .9rem; }
.kept { margin: 1.2rem 0; } .kept svg { max-width: 100%; height: auto; border-radius: .4rem; }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_claim_and_every_table_and_nothing_from_outside() {
        let store = ResultStore::default();
        let reports: Vec<TableReport> = tables::all()
            .iter()
            .map(|table| store.report(table).unwrap())
            .collect();
        let left = store.left().unwrap();
        assert_eq!(
            left.iter()
                .find(|of| of.dataset == "cora")
                .and_then(|of| of.seconds),
            None
        );
        let claims: Vec<VerdictReport> = CLAIMS.iter().map(|claim| claim.judge(&reports)).collect();
        let picture = Drawing {
            says: "A < B.".into(),
            chapter: 3,
            label: None,
            command: "gnarl energy".into(),
            picture: "<svg></svg>".into(),
        };
        let text = |cells: [&str; 2]| cells.map(String::from).to_vec();
        let study = PublishedStudy {
            says: "What axes give.".into(),
            commands: vec!["gnarl axes".into()],
            numerics: 1,
            columns: text(["switched on", "clean"]),
            rows: vec![text(["plain", "<81.1>"])],
        };
        let page = page(
            &claims,
            &reports,
            &[picture],
            &BTreeMap::from([("axes".to_string(), study)]),
            &left,
            0,
        );
        assert!(page.contains(
            "<svg></svg><figcaption>A &lt; B.<br><small>ch. 3, ours: <code>gnarl energy</code>"
        ));
        assert!(page.contains("<td>&lt;81.1&gt;</td>") && page.contains("What axes give."));
        for claim in CLAIMS {
            assert!(page.contains(&escape(claim.says)), "{}", claim.says);
        }
        for report in &reports {
            assert!(
                page.contains(&format!("id=\"{}\"", id(report))),
                "{}",
                report.table
            );
        }
        // The namespace of SVG looks like an address but is not fetched; the content security
        // policy uses one of a meta element's names.
        let own = page
            .replace("http://www.w3.org/2000/svg", "")
            .replace("http-equiv", "");
        assert!(
            !own.contains("http") && !own.contains("src="),
            "everything is in the page"
        );
        assert_eq!(
            page.matches("<details").count(),
            page.matches("</details>").count()
        );
    }
}
