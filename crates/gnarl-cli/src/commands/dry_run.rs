//! `--dry-run` of the long studies: plans the runs and estimates their time.

use std::time::Duration;

use gnarl::study::forecast::{Cell, Planned, forecast};
use gnarl_data::Benchmark;
use gnarl_nn::train::Callbacks;
use serde::Serialize;

use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Report, count};
use crate::progress;

/// Output of `--dry-run`.
#[derive(Debug, Serialize)]
pub struct DryRun {
    study: String,
    data: String,
    cells: Vec<Cell>,
    /// Number of models that would be fitted.
    fits: usize,
    /// Number of epochs of all trainings together, without early stopping.
    epochs: u64,
    /// Estimated seconds if the fits run one after the other.
    seconds: f64,
    /// Parts of the study that the estimate leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

impl DryRun {
    /// Times a few epochs of every model; `left_out` names the rest of the study.
    pub fn new(
        global: &Global,
        study: impl Into<String>,
        on: &Benchmark,
        planned: &[Planned],
        left_out: Option<String>,
    ) -> anyhow::Result<Self> {
        let callbacks = Callbacks::stopped_by(interrupt::flag());
        let what = format!("timing a few epochs on {}", on.name);
        let cells = match progress::during(&what, || forecast(on, planned, global.seed, &callbacks))
        {
            Err(_) if callbacks.stopped() => {
                return Err(Interrupted::before_first(planned.len()).into());
            }
            cells => cells?,
        };
        Ok(Self {
            study: study.into(),
            data: on.name.clone(),
            fits: cells.iter().map(|cell| cell.fits).sum(),
            epochs: cells.iter().map(|cell| cell.epochs).sum(),
            seconds: cells.iter().filter_map(|cell| cell.seconds).sum(),
            left_out,
            cells,
        })
    }
}

fn span(seconds: f64) -> String {
    match seconds {
        _ if seconds < 10.0 => format!("{seconds:.1} s"),
        _ => indicatif::HumanDuration(Duration::from_secs_f64(seconds.min(1e9))).to_string(),
    }
}

impl Report for DryRun {
    fn text(&self) -> String {
        let has_passes = self.cells.iter().any(|cell| cell.passes > 0.0);
        let mut heads = vec!["cell", ">fits", ">epochs"];
        heads.extend(has_passes.then_some(">other passes"));
        heads.push(">estimate");
        let mut table = output::table(&heads);
        for cell in &self.cells {
            let mut row = match &cell.refused {
                Some(why) => vec![cell.name.clone(), format!("- ({why})")],
                None => vec![
                    cell.name.clone(),
                    count(cell.fits as u64),
                    count(cell.epochs),
                ],
            };
            if cell.refused.is_none() {
                row.extend(has_passes.then(|| count(cell.passes.round() as u64)));
                row.push(cell.seconds.map_or_else(|| "-".to_string(), span));
            }
            row.resize(heads.len(), String::new());
            table.add_row(row);
        }
        let excluded = self
            .left_out
            .as_ref()
            .map_or(String::new(), |what| format!(", without {what}"));
        format!(
            "{} on {} would fit {} {}, {} epochs in all\n{}\n\
             estimated time {}{excluded}, for one fit after another, from a few epochs of each model; nothing was run\n",
            self.study,
            self.data,
            count(self.fits as u64),
            if self.fits == 1 { "model" } else { "models" },
            count(self.epochs),
            output::render(&table),
            span(self.seconds)
        )
    }
}
