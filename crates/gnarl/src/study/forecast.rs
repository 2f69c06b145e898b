//! Forecasts the cost of a study: its cells one by one, epochs counted, and a few epochs of each
//! model timed.
//!
//! Two fits of different lengths give the cost of an epoch, with validation and over all trainings
//! of a fit, and the fixed cost of a fit. The cost of an attack is not known before it is run, nor
//! that of an inference rule that samples neighbours. Both are left out, which a printed forecast
//! states.

use std::time::Instant;

use gnarl_data::Benchmark;
use gnarl_data::Content;
use serde::Serialize;

use crate::model::{FitOptions, Model};
use gnarl_graph::{Error, Result};
use gnarl_nn::train::Callbacks;
use gnarl_robust::inference::Inference;

/// One cell of a study before it is run.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The name of the cell.
    pub name: String,
    /// The model, or the reason why there is none.
    pub model: std::result::Result<Model, String>,
    /// Number of fits.
    pub fits: usize,
    /// Number of further forward passes over all nodes or graphs, in all fits together.
    pub passes: f64,
}

/// One cell with its forecast.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cell {
    /// The name of the cell.
    pub name: String,
    /// Number of fits.
    pub fits: usize,
    /// Number of epochs of all trainings together, without early stopping.
    pub epochs: u64,
    /// Number of further forward passes over all nodes or graphs.
    pub passes: f64,
    /// Seconds if fits run one after the other; `None` if nothing was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The reason why the cell would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Number of epochs of the shorter timed fit.
const SHORT: usize = 2;
const LONGER: usize = 6;

/// Seconds of a model: of a fit of [`SHORT`] epochs, of each further epoch, and of a forward pass.
#[derive(Clone, Copy)]
struct Timing {
    short: f64,
    epoch: f64,
    pass: f64,
}

/// Forecasts cells. Each model is fitted twice for a few epochs, to the first split. Fails if a
/// stop is requested; a model that cannot be fitted gives a refused cell.
pub fn forecast(
    on: &Benchmark,
    planned: &[Planned],
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<Vec<Cell>> {
    let mut timed: Vec<(Model, std::result::Result<Timing, String>)> = Vec::new();
    let mut cells = Vec::with_capacity(planned.len());
    for cell in planned {
        let Planned {
            name, fits, passes, ..
        } = cell.clone();
        let refused = |why: String| Cell {
            name: name.clone(),
            fits: 0,
            epochs: 0,
            passes: 0.0,
            seconds: None,
            refused: Some(why),
        };
        let planned = cell
            .model
            .clone()
            .and_then(|model| match model.plan(on.content.task()) {
                Ok(plan) => Ok((plan, model)),
                Err(why) => Err(why.to_string()),
            });
        let (plan, model) = match planned {
            Ok(planned) => planned,
            Err(why) => {
                cells.push(refused(why));
                continue;
            }
        };
        let known = timed
            .iter()
            .find(|(known, _)| *known == model)
            .map(|(_, timing)| timing.clone());
        let timing = match known {
            Some(timing) => timing,
            None => {
                let timing = match time(&model, on, seed, watch) {
                    Err(_) if watch.stopped() => return Err(stopped()),
                    Err(why) if why.is_refusal() => Err(why.to_string()),
                    other => Ok(other?),
                };
                timed.push((model, timing.clone()));
                timing
            }
        };
        let each = plan.training.epochs as u64;
        cells.push(match timing {
            Err(why) => refused(why),
            Ok(timing) => {
                let fit = timing.short + timing.epoch * (each as f64 - SHORT as f64);
                Cell {
                    epochs: each * plan.trainings(Some(&on.content)) as u64 * fits as u64,
                    seconds: Some(fit.max(0.0) * fits as f64 + timing.pass * passes),
                    name,
                    fits,
                    passes,
                    refused: None,
                }
            }
        });
    }
    Ok(cells)
}

/// Number of passes over all nodes or graphs of so many samples; each sample of a set covers one
/// graph.
pub fn passes(content: &Content, samples: u64) -> f64 {
    match content {
        Content::Graph(_) => samples as f64,
        Content::Graphs(set) => samples as f64 / set.graphs().len().max(1) as f64,
    }
}

fn stopped() -> Error {
    Error::argument("dry run", "stopped before everything was timed")
}

fn time(model: &Model, on: &Benchmark, seed: u64, watch: &Callbacks<'_>) -> Result<Timing> {
    let mut plain = model.inference(Inference::default());
    // Early stopping cannot end so few epochs, and it needs validation nodes or graphs.
    plain.training.patience = None;
    let split = on.first().split;
    let fitted = |epochs: usize| {
        let start = Instant::now();
        let ready = plain
            .epochs(epochs)
            .ready(&on.name, &on.content, FitOptions::default())?;
        let fitted = ready.fit(&split, seed, watch)?;
        if watch.stopped() {
            return Err(stopped());
        }
        Ok((fitted, start.elapsed().as_secs_f64()))
    };
    // One-time costs of the program, such as starting threads, are not timed.
    fitted(1)?;
    let (_, short) = fitted(SHORT)?;
    let (model, longer) = fitted(LONGER)?;
    let start = Instant::now();
    model.predict(&on.content)?;
    let pass = start.elapsed().as_secs_f64();
    Ok(Timing {
        short,
        epoch: (longer - short).max(0.0) / (LONGER - SHORT) as f64,
        pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_nn::depth::Exits;
    use gnarl_nn::networks::Backbone;
    use std::sync::atomic::AtomicBool;

    fn karate() -> Benchmark {
        gnarl_data::Dataset::load("karate")
            .unwrap()
            .benchmark(1, 2)
            .unwrap()
    }

    fn planned(name: &str, model: std::result::Result<Model, String>) -> Planned {
        Planned {
            name: name.into(),
            model,
            fits: 3,
            passes: 10.0,
        }
    }

    #[test]
    fn epochs_are_those_of_all_trainings_and_time_grows_with_them() {
        let gcn = Model::new(Backbone::GCN);
        let cells = [
            planned("short", Ok(gcn.epochs(10))),
            planned("long", Ok(gcn.epochs(100_000))),
            planned("exits", Ok(gcn.epochs(10).depth(Exits::st(2)))),
            planned("none", Err("no such choice".into())),
            planned(
                "not so",
                Ok(Model::new(Backbone::MLP).layers(3).depth(Exits::st(2))),
            ),
        ];
        let found = forecast(&karate(), &cells, 1, &Callbacks::quiet()).unwrap();
        let epochs: Vec<u64> = found.iter().map(|cell| cell.epochs).collect();
        assert_eq!(epochs, [30, 300_000, 90, 0, 0]);
        assert!(
            found[1].seconds.unwrap() > found[0].seconds.unwrap(),
            "{found:?}"
        );
        assert_eq!(found[3].refused.as_deref(), Some("no such choice"));
        assert!(
            found[4]
                .refused
                .as_ref()
                .is_some_and(|why| why.contains("layers")),
            "{found:?}"
        );
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = AtomicBool::new(true);
        let cells = [planned("one", Ok(Model::new(Backbone::GCN)))];
        let e = forecast(&karate(), &cells, 1, &Callbacks::stopped_by(&stop))
            .unwrap_err()
            .to_string();
        assert!(e.contains("stopped before everything was timed"), "{e}");
    }
}
