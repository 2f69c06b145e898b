//! `gnarl energy`: how much difference between neighbours is left, the more often nodes listen.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::Args;
use gnarl::nn::Backbone;
use gnarl::operator::OperatorChoice;
use gnarl::operator::{Centralities, Cgso, DepthEnergy, Initialisation, energy_by_depth};
use gnarl::task::node::{self, Preparation, Prepared};
use gnarl::task::recipe::Recipe;
use gnarl::train::Watch;
use gnarl_graph::centrality::Centrality;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Error, Graph, Split};
use serde::Serialize;

use super::train::load_with_splits;
use crate::global::Global;
use crate::output::{self, Report, real};
use crate::progress;

/// Deepest one may ask for.
const MAX_DEPTH: u64 = 1000;

/// `gnarl energy`
#[derive(Debug, Args)]
pub struct EnergyArgs {
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Centralities of learned operators to put beside SGC's A_hat; may be given several times [default: all four]
    #[arg(long, value_name = "KIND[+KIND]")]
    pub centrality: Vec<Centralities>,
    /// Where learned operators start
    #[arg(long, value_name = "NAME", default_value = "A_hat")]
    pub init: Initialisation,
    /// Rounds of message passing to go up to
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=MAX_DEPTH))]
    pub depth: usize,
    /// Settings to train with: default (the best known) or thesis
    #[arg(long, default_value = "default")]
    pub recipe: Recipe,
    /// Write every number to this CSV file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `gnarl energy` found.
#[derive(Debug, Serialize)]
pub struct EnergyReport {
    data: String,
    depth: usize,
    operators: Vec<OperatorEnergy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

/// One operator's energies.
#[derive(Debug, Serialize)]
struct OperatorEnergy {
    /// `SGC`, or `CSGC` with its centrality.
    model: String,
    /// The operator.
    operator: String,
    /// By depth, from 0.
    energies: Vec<DepthEnergy>,
}

/// Trains a CSGC for each centrality and follows its operator to the depth asked for.
pub fn run(global: &Global, args: &EnergyArgs) -> anyhow::Result<EnergyReport> {
    let (data, graph, splits) = load_with_splits(global, &args.data, 1)?;
    let all = || Centrality::ALL.map(Centralities::one).to_vec();
    let centralities = if args.centrality.is_empty() { all() } else { args.centrality.clone() };
    let sgc = OperatorChoice::Classical(ClassicalOperator::NormalisedAdjacency);
    let learned = centralities.iter().map(|&centrality| {
        (format!("CSGC {centrality}"), OperatorChoice::Cgso(Cgso { centrality, init: args.init }))
    });
    let mut operators = Vec::new();
    for (model, operator) in std::iter::once(("SGC".to_string(), sgc)).chain(learned) {
        let what = format!("energy of {model} on {data}");
        operators
            .push(progress::during(&what, || follow(&graph, &data, &splits[0], global.seed, args, model, operator))?);
    }
    if let Some(file) = &args.output {
        write_csv(file, &operators)?;
    }
    let output = args.output.as_ref().map(|file| file.display().to_string());
    Ok(EnergyReport { data, depth: args.depth, operators, output })
}

fn follow(
    graph: &Graph,
    data: &str,
    split: &Split,
    seed: u64,
    args: &EnergyArgs,
    model: String,
    operator: OperatorChoice,
) -> gnarl::Result<OperatorEnergy> {
    let (network, training, features) = args.recipe.settings(data, Backbone::Sgc);
    let preparation = Preparation { operator, features };
    let watch = Watch { on_epoch: &|_, _| (), stop: &AtomicBool::new(false) };
    let splits = std::slice::from_ref(split);
    let (preparation, prepared, phi) = match operator {
        OperatorChoice::Cgso(_) => {
            let settled = node::settled_runs(graph, preparation, &network, &training, splits, 1, seed, &watch)?;
            let phi = settled.learned_operator(0)?;
            (settled.preparation, settled.prepared, phi)
        }
        _ => {
            let prepared = Prepared::new(graph, Backbone::Sgc, preparation)?;
            let phi = prepared.propagation.operator.clone();
            (preparation, prepared, phi)
        }
    };
    let energies = energy_by_depth(graph, &phi, &prepared.input, args.depth)?;
    Ok(OperatorEnergy { model, operator: preparation.operator.to_string(), energies })
}

/// Writes `model,depth,energy,relative` lines under a temporary name and renames: a reader never sees half a file.
fn write_csv(file: &Path, operators: &[OperatorEnergy]) -> gnarl_graph::Result<()> {
    let mut text = String::from("model,depth,energy,relative\n");
    for OperatorEnergy { model, energies, .. } in operators {
        for DepthEnergy { depth, energy, relative } in energies {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{model},{depth},{energy},{relative}");
        }
    }
    let temporary = file.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, file)).map_err(|source| {
        // Best effort: the error to report is the first one.
        let _ = std::fs::remove_file(&temporary);
        Error::io(file, source)
    })
}

impl Report for EnergyReport {
    fn text(&self) -> String {
        let headers: Vec<String> = std::iter::once(">depth".to_string())
            .chain(self.operators.iter().map(|operator| format!(">{}", operator.model)))
            .collect();
        let mut table = output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
        for depth in 0..=self.depth {
            let cells = self.operators.iter().map(|operator| real(operator.energies[depth].relative));
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
        text
    }
}
