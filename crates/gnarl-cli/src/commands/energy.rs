//! `gnarl energy`: computes the Dirichlet energy by the number of propagation steps.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gnarl::model::Model;
use gnarl_data::Benchmark;
use gnarl_data::Task;
use gnarl_graph::Error;
use gnarl_graph::centrality::Centrality;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::{
    Centralities, Cgso, DepthEnergy, Initialisation, OperatorChoice, energy_by_depth,
};
use gnarl_thesis::Recipe;
use serde::Serialize;

use super::load;
use crate::global::Global;
use crate::output::{self, Report, real};
use crate::plot::{self, Line, LineChart, Point};
use crate::progress;

/// Largest depth that may be requested.
const MAX_DEPTH: u64 = 1000;

/// Arguments of `gnarl energy`.
#[derive(Debug, Args)]
pub struct EnergyArgs {
    /// Dataset: a name of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Centralities of learned operators to compare with SGC's A_hat; may be given several times
    /// [default: all four]
    #[arg(long, value_name = "KIND[+KIND]")]
    pub centrality: Vec<Centralities>,
    /// Initialisation of learned operators
    #[arg(long, value_name = "NAME", default_value = "A_hat")]
    pub init: Initialisation,
    /// Largest number of propagation steps
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=MAX_DEPTH))]
    pub depth: usize,
    /// Recipe for training: default (the library's settings) or thesis (the published settings)
    #[arg(long, default_value = "default")]
    pub recipe: Recipe,
    /// Write every number to this CSV file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Plot the energies by depth to STEM.svg and STEM.png
    #[arg(long, value_name = "STEM")]
    pub plot: Option<PathBuf>,
}

/// Result of `gnarl energy`.
#[derive(Debug, Serialize)]
pub struct EnergyReport {
    data: String,
    depth: usize,
    operators: Vec<OperatorEnergy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Picture files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

/// Dirichlet energies of one operator.
#[derive(Debug, Serialize)]
struct OperatorEnergy {
    /// `SGC`, or `CSGC` with its centrality.
    model: String,
    /// The operator.
    operator: String,
    /// Energies by depth, from 0.
    energies: Vec<DepthEnergy>,
}

/// Trains a CSGC for each centrality and computes the energies of its operator up to the given
/// depth.
pub fn run(global: &Global, args: &EnergyArgs) -> anyhow::Result<EnergyReport> {
    let loaded = load(global, &args.data)?;
    loaded.graph()?;
    let benchmark = loaded.benchmark(global.seed, 1)?;
    let data = loaded.name.clone();
    let all = || Centrality::ALL.map(Centralities::one).to_vec();
    let centralities = if args.centrality.is_empty() {
        all()
    } else {
        args.centrality.clone()
    };
    let sgc = OperatorChoice::Classical(ClassicalOperator::NORMALISED_ADJACENCY);
    let learned = centralities.iter().map(|&centrality| {
        (
            format!("CSGC {centrality}"),
            OperatorChoice::Cgso(Cgso {
                centrality,
                init: args.init,
            }),
        )
    });
    let mut operators = Vec::new();
    for (model, operator) in std::iter::once(("SGC".to_string(), sgc)).chain(learned) {
        let what = format!("energy of {model} on {data}");
        operators.push(progress::during(&what, || {
            energies_of(&benchmark, global.seed, args, model, operator)
        })?);
    }
    if let Some(file) = &args.output {
        write_csv(file, &operators)?;
    }
    let output = args.output.as_ref().map(|file| file.display().to_string());
    let mut report = EnergyReport {
        data,
        depth: args.depth,
        operators,
        output,
        files: Vec::new(),
    };
    if let Some(stem) = &args.plot {
        report.files = plot::write(&report.chart(), stem)?
            .map(|file| file.display().to_string())
            .to_vec();
    }
    Ok(report)
}

impl EnergyReport {
    fn chart(&self) -> LineChart {
        let point = |e: &DepthEnergy| Point {
            x: e.depth as f64,
            y: e.relative,
            band: None,
        };
        let line = |of: &OperatorEnergy| Line {
            name: of.model.clone(),
            points: of.energies.iter().map(point).collect(),
        };
        LineChart {
            title: format!("{}: Dirichlet energy by depth", self.data),
            x_label: "propagation steps".into(),
            y_label: "Dirichlet energy over squared norm".into(),
            lines: self.operators.iter().map(line).collect(),
        }
    }
}

/// Trains a model and computes the energies of its operator.
fn energies_of(
    on: &Benchmark,
    seed: u64,
    args: &EnergyArgs,
    name: String,
    operator: OperatorChoice,
) -> gnarl_graph::Result<OperatorEnergy> {
    let mut model = args.recipe.fill(
        Model::new(Backbone::SGC).operator(operator),
        &on.name,
        Task::Node,
    );
    if !matches!(operator, OperatorChoice::Cgso(_)) {
        // A fixed operator has nothing to learn.
        model = model.epochs(1);
    }
    let fitted = model.fit(&on.first(), seed)?;
    let graph = fitted.prepared(on.content.graph()?)?;
    let Some(network) = fitted.network()?.white_box() else {
        return Err(Error::argument(
            "energy",
            "the model is not a plain network",
        ));
    };
    let energies = energy_by_depth(
        &graph,
        &network.learned_operator(&graph)?,
        &network.input(&graph)?,
        args.depth,
    )?;
    Ok(OperatorEnergy {
        model: name,
        operator: fitted.model().operator.to_string(),
        energies,
    })
}

/// Writes `model,depth,energy,relative` lines under a temporary name and renames: a reader never
/// sees half a file.
fn write_csv(file: &Path, operators: &[OperatorEnergy]) -> gnarl_graph::Result<()> {
    let mut text = String::from("model,depth,energy,relative\n");
    for OperatorEnergy {
        model, energies, ..
    } in operators
    {
        for DepthEnergy {
            depth,
            energy,
            relative,
        } in energies
        {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{model},{depth},{energy},{relative}");
        }
    }
    output::write_whole(file, text)
}

impl Report for EnergyReport {
    fn text(&self) -> String {
        let headers: Vec<String> = std::iter::once(">depth".to_string())
            .chain(
                self.operators
                    .iter()
                    .map(|operator| format!(">{}", operator.model)),
            )
            .collect();
        let mut table = output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
        for depth in 0..=self.depth {
            let cells = self
                .operators
                .iter()
                .map(|operator| real(operator.energies[depth].relative));
            table.add_row(std::iter::once(depth.to_string()).chain(cells));
        }
        let mut text = format!(
            "Dirichlet energy of Φ^depth X on {}, over the squared norm of Φ^depth X\n\n{}",
            self.data,
            output::render(&table)
        );
        if let Some(file) = &self.output {
            text += &format!("\nevery value, and the energy itself, is in {file}\n");
        }
        if !self.files.is_empty() {
            text += &format!("\nwritten: {}\n", self.files.join(", "));
        }
        text
    }
}
