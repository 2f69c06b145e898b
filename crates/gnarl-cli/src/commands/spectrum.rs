//! `gnarl spectrum`: computes eigenvalues of classical and centrality operators, and derived
//! properties of the graph.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl_graph::centrality::Centrality;
use gnarl_graph::properties::components;
use gnarl_graph::spectrum::{
    self, CheegerReport, Energies, Energy, Inequality, OperatorSpectrum, ReportSettings, Source,
    SpectrumReport, energies,
};
use gnarl_graph::{Error, Graph};
use serde::Serialize;

use super::load_graph;
use crate::global::Global;
use crate::output::{self, Report, count, real};
use crate::plot::{self, Line, LineChart, Point};
use crate::progress;

/// Largest number of eigenvalues at each end; `--full` computes more.
const MAX_EXTREMES: u64 = 1000;

/// Arguments of `gnarl spectrum`.
#[derive(Debug, Args)]
pub struct SpectrumArgs {
    /// Dataset: a name of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Kind of centrality: degree, core, pagerank, walks (length 2) or walks:LENGTH
    #[arg(long, value_name = "KIND")]
    pub centrality: Centrality,
    /// Use the largest connected component alone
    #[arg(long)]
    pub largest_component: bool,
    /// Number of eigenvalues to compute and show at each end [default: 6]
    #[arg(long, value_name = "K", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_EXTREMES))]
    pub extremes: Option<usize>,
    /// Compute every eigenvalue, even for graphs with more than 2,000 nodes
    #[arg(long)]
    pub full: bool,
    /// Plot the eigenvalues of each operator, from the smallest to the largest, to STEM.svg and
    /// STEM.png
    #[arg(long, value_name = "STEM")]
    pub plot: Option<PathBuf>,
}

/// Number of nodes in a component above which `--full` is refused: six dense problems of this size
/// take some 3 GB.
const MAX_FULL: usize = 8_000;
/// Relative size below which a number is a rounding error of zero.
const ROUNDING: f64 = 1e-12;

/// Result of `gnarl spectrum`.
#[derive(Debug, Serialize)]
pub struct SpectrumOutput {
    data: String,
    /// True if only the largest connected component was used.
    largest_component: bool,
    #[serde(flatten)]
    spectrum: SpectrumReport,
    /// Dirichlet energy of the nodes' features and classes along the edges; null without them.
    dirichlet_energy: Energies,
    /// Picture files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

/// Computes the report of one graph, or of its largest component.
pub fn run(global: &Global, args: &SpectrumArgs) -> anyhow::Result<SpectrumOutput> {
    let (data, mut graph) = load_graph(global, &args.data, "spectrum")?;
    if args.largest_component {
        graph = graph.largest_component().0;
    }
    let settings = settings(&graph, args)?;
    let what = format!("spectrum of {data}");
    let bar = progress::steps(&what, spectrum::num_parts(args.centrality));
    let spectrum = spectrum::report_watched(&graph, args.centrality, &settings, &|| bar.inc(1));
    bar.finish_and_clear();
    let spectrum = spectrum?;
    let dirichlet_energy =
        progress::during(&format!("Dirichlet energy of {data}"), || energies(&graph))?;
    let largest_component = args.largest_component;
    let mut output = SpectrumOutput {
        data,
        largest_component,
        spectrum,
        dirichlet_energy,
        files: Vec::new(),
    };
    if let Some(stem) = &args.plot {
        output.files = plot::write(&output.chart(), stem)?
            .map(|file| file.display().to_string())
            .to_vec();
    }
    Ok(output)
}

fn settings(graph: &Graph, args: &SpectrumArgs) -> anyhow::Result<ReportSettings> {
    let mut settings = ReportSettings::default();
    if let Some(extremes) = args.extremes {
        settings.extremes = extremes;
    }
    if args.full {
        let largest = components(graph).sizes().iter().copied().max().unwrap_or(0);
        if largest > MAX_FULL {
            let what = format!(
                "a component of {} nodes is too large for every eigenvalue (at most {}); leave --full out and use --extremes",
                count(largest as u64),
                count(MAX_FULL as u64)
            );
            return Err(Error::argument("--full", what).into());
        }
        settings.full_up_to = MAX_FULL;
    }
    Ok(settings)
}

impl Report for SpectrumOutput {
    fn text(&self) -> String {
        let report = &self.spectrum;
        let part = if self.largest_component {
            ", largest component"
        } else {
            ""
        };
        let mut text = format!(
            "spectrum of {}{part}: {} nodes, {} edges; V from {}\n\n",
            self.data,
            count(report.num_nodes as u64),
            count(report.num_edges as u64),
            report.centrality
        );
        text += &output::render(&self.eigenvalues());
        text += &format!("\n{}", output::render(&self.numbers()));
        if !report.cheeger.is_empty() {
            text += &format!("\n{}", output::render(&cheeger(&report.cheeger)));
        }
        if !report.inequalities.is_empty() {
            text += &format!("\n{}", output::render(&inequalities(&report.inequalities)));
        }
        let remarks: Vec<String> = remarks(&report.inequalities)
            .chain(report.notes.iter().cloned())
            .collect();
        if !remarks.is_empty() {
            text += &format!("\n{}\n", remarks.join("\n"));
        }
        if !self.files.is_empty() {
            text += &format!("\nwritten: {}\n", self.files.join(", "));
        }
        text
    }
}

impl SpectrumOutput {
    /// Plots eigenvalues by rank; only both ends may be available.
    fn chart(&self) -> LineChart {
        let n = self.spectrum.num_nodes;
        let line = |of: &OperatorSpectrum| {
            let ranked: Vec<(usize, f64)> = match &of.all {
                Some(all) => all.iter().copied().enumerate().collect(),
                None => {
                    let largest = of
                        .largest
                        .iter()
                        .enumerate()
                        .map(|(i, &x)| (n.saturating_sub(i + 1), x));
                    of.smallest
                        .iter()
                        .copied()
                        .enumerate()
                        .chain(largest)
                        .collect()
                }
            };
            let point = |(rank, y): (usize, f64)| Point {
                x: (rank + 1) as f64 / n.max(1) as f64,
                y,
                band: None,
            };
            Line {
                name: of.operator.clone(),
                points: ranked.into_iter().map(point).collect(),
            }
        };
        LineChart {
            title: format!("eigenvalues of operators on {}", self.data),
            x_label: "rank, from the smallest, as a share of the nodes".into(),
            y_label: "eigenvalue".into(),
            lines: self
                .spectrum
                .operators
                .iter()
                .chain([&self.spectrum.markov])
                .map(line)
                .collect(),
        }
    }

    fn eigenvalues(&self) -> comfy_table::Table {
        let mut table = output::table(&["operator", "smallest eigenvalues", "largest eigenvalues"]);
        for OperatorSpectrum {
            operator,
            smallest,
            largest,
            ..
        } in self
            .spectrum
            .operators
            .iter()
            .chain([&self.spectrum.markov])
        {
            let size = smallest
                .iter()
                .chain(largest)
                .fold(0.0f64, |size, x| size.max(x.abs()));
            let list = |values: &[f64]| {
                values
                    .iter()
                    .map(|&x| rounded(x, size))
                    .collect::<Vec<_>>()
                    .join("  ")
            };
            let name = if operator == "M" {
                "M = V^-1 A"
            } else {
                operator
            };
            table.add_row([name, &list(smallest), &list(largest)]);
        }
        table
    }

    fn numbers(&self) -> comfy_table::Table {
        let SpectrumReport {
            moments,
            mean_of_eigenvalues,
            standard_deviation_of_eigenvalues,
            bound,
            gap,
            ..
        } = &self.spectrum;
        let optional =
            |x: Option<f64>| x.map_or_else(|| "-".to_string(), |x| rounded(x, bound.value));
        let mut table = output::table(&[
            "",
            ">value",
            ">of the eigenvalues",
            ">by the published formula",
        ]);
        let mut row = |name: &str, cells: [Option<f64>; 3]| {
            table.add_row(std::iter::once(name.to_string()).chain(cells.map(optional)));
        };
        row(
            "mean of M's spectrum",
            [
                moments.map(|m| m.mean),
                *mean_of_eigenvalues,
                moments.map(|m| m.published_mean),
            ],
        );
        let deviations = [
            moments.map(|m| m.standard_deviation),
            *standard_deviation_of_eigenvalues,
            moments.and_then(|m| m.published_standard_deviation),
        ];
        row("standard deviation of M's spectrum", deviations);
        row(
            "bound on |eigenvalue of M|",
            [Some(bound.value), None, bound.published],
        );
        row("gap of V^-1 (D - A)", [gap.laplacian, None, gap.published]);
        row("gap of L_rw", [self.spectrum.random_walk_gap, None, None]);
        let energies = [
            ("features", self.dirichlet_energy.features),
            ("labels", self.dirichlet_energy.labels),
        ];
        for (of, energy) in energies {
            if let Some(Energy {
                normalised,
                unnormalised,
            }) = energy
            {
                row(
                    &format!("Dirichlet energy of {of}"),
                    [Some(unnormalised), None, None],
                );
                row(
                    "  rows over sqrt(1 + degree)",
                    [Some(normalised), None, None],
                );
            }
        }
        table
    }
}

/// Formats a number with an error in proportion to `size`; a number within the error is zero.
fn rounded(number: f64, size: f64) -> String {
    real(if number.abs() < ROUNDING * size {
        0.0
    } else {
        number
    })
}

fn cheeger(constants: &[CheegerReport]) -> comfy_table::Table {
    let mut table = output::table(&[
        "Cheeger constant",
        ">value",
        "",
        ">nodes in the set",
        ">boundary",
        ">volume",
    ]);
    for CheegerReport {
        name,
        value,
        exact,
        set_size,
        boundary,
        volume,
    } in constants
    {
        let kind = if *exact { "exact" } else { "at most" };
        table.add_row([
            *name,
            &real(*value),
            kind,
            &count(*set_size as u64),
            &real(*boundary),
            &real(*volume),
        ]);
    }
    table
}

fn inequalities(inequalities: &[Inequality]) -> comfy_table::Table {
    let mut table = output::table(&["inequality", ">left", ">right", ">slack", "", "stated by"]);
    for Inequality {
        name,
        lhs,
        rhs,
        slack,
        holds,
        applies,
        source,
        ..
    } in inequalities
    {
        let verdict = match (applies, holds) {
            (false, _) => "does not apply",
            (true, true) => "✓ holds",
            (true, false) => "✗ fails",
        };
        let stated_by = match source {
            Source::Corrected => "gnarl",
            Source::Published => "published",
        };
        table.add_row([
            *name,
            &real(*lhs),
            &real(*rhs),
            &rounded(*slack, lhs.abs().max(rhs.abs())),
            verdict,
            stated_by,
        ]);
    }
    table
}

/// Returns remarks on the inequalities, each once with the inequalities it applies to.
fn remarks(inequalities: &[Inequality]) -> impl Iterator<Item = String> {
    let mut about: Vec<(&str, Vec<&str>)> = Vec::new();
    for Inequality { name, note, .. } in inequalities.iter().filter(|i| !i.note.is_empty()) {
        match about.iter_mut().find(|(known, _)| known == note) {
            Some((_, names)) => names.push(name),
            None => about.push((note, vec![name])),
        }
    }
    about
        .into_iter()
        .map(|(note, names)| format!("{}: {note}", names.join(", ")))
}
