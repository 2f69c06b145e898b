//! Training journal: a folder of checkpoints from which an interrupted training (killed, power cut)
//! is resumed.
//!
//! A training is determined by the seed: a study that is started again runs the same trainings in
//! the same states. Each training is identified by its seed, its settings and its initial weights
//! (and, among equals, by a counter). It finds its checkpoint: an intermediate state, or the end. A
//! resumed training gives bit-identical results, since the checkpoint is the whole state of the
//! loop. That state is the weights, the optimiser's moments and learning rates, the selected
//! weights, the learning curve, and the number of steps.
//!
//! A journal belongs to one run: it is opened with a fingerprint of the request, and refused for
//! any other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use gnarl_graph::files::write_atomically;
use serde::{Deserialize, Serialize};

use super::fit_loop::BestWeights;
use super::{Epoch, TrainConfig, Validation};
use crate::networks::init::Init;
use crate::networks::{Group, Param, Params};
use gnarl_graph::{Error, Result};
use gnarl_tensor::{Adam, Device, Tensor, load_safetensors};

/// Name of the file that describes the run of a journal.
const WHAT: &str = "journal.json";

/// Folder of checkpoints.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    every: Duration,
    /// Number of times that each key was requested.
    requested: Mutex<HashMap<u64, usize>>,
}

/// Description of a journal's run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct What {
    version: String,
    /// Full request of the run.
    asked: serde_json::Value,
}

impl Journal {
    /// Opens a folder, which is created if it does not exist. `request` is the full request of the
    /// run. With `resume`, a folder with a journal of the same run is continued. Without `resume` a
    /// folder with a journal is refused; with `resume` a folder without one is refused.
    pub fn open(
        folder: &Path,
        every: Duration,
        request: serde_json::Value,
        resume: bool,
    ) -> Result<Self> {
        let at = folder.join(WHAT);
        let refuse = |what: String| Err(Error::data(&at, "checkpoints", what));
        let now = What {
            version: env!("CARGO_PKG_VERSION").into(),
            asked: request,
        };
        match (std::fs::read(&at), resume) {
            (Ok(_), false) => {
                return refuse(
                    "there are some already; continue with --resume, or name another folder".into(),
                );
            }
            (Err(e), true) if e.kind() == std::io::ErrorKind::NotFound => {
                return refuse("there are none to continue from; leave out --resume".into());
            }
            (Err(e), false) if e.kind() == std::io::ErrorKind::NotFound => {
                std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
                write_atomically(&at, serde_json::to_vec_pretty(&now).expect("plain data"))?;
            }
            (Err(e), _) => return Err(Error::io(&at, e)),
            (Ok(bytes), true) => {
                let was: What = match serde_json::from_slice(&bytes) {
                    Ok(was) => was,
                    Err(e) => {
                        return refuse(format!(
                            "{e}; the file is damaged, start again in another folder"
                        ));
                    }
                };
                if let Some(what) = difference(&was, &now) {
                    return refuse(format!(
                        "they belong to another run, whose {what}; give the same options, or another folder"
                    ));
                }
            }
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            every,
            requested: Mutex::default(),
        })
    }

    /// Returns the checkpoint of a training with these initial weights.
    pub(super) fn checkpoint(
        &self,
        params: &Params,
        config: &TrainConfig,
        seed: u64,
    ) -> Result<Checkpoint<'_>> {
        let mut key = crc32fast::Hasher::new();
        key.update(&serde_json::to_vec(config).expect("plain data"));
        key.update(&seed.to_le_bytes());
        for p in params.list() {
            key.update(p.name.as_bytes());
            p.var
                .flatten_all()?
                .to_vec1::<f32>()?
                .iter()
                .for_each(|x| key.update(&x.to_le_bytes()));
        }
        let key = gnarl_graph::random::mix(seed) ^ u64::from(key.finalize());
        let mut requested = self
            .requested
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let count = requested.entry(key).or_default();
        *count += 1;
        let file = self.folder.join(format!("{key:016x}-{count}.safetensors"));
        Ok(Checkpoint {
            journal: self,
            file,
            written: Mutex::new(Instant::now()),
        })
    }
}

/// Describes the difference between two runs.
fn difference(was: &What, now: &What) -> Option<String> {
    if was.version != now.version {
        return Some(format!("version is {}", was.version));
    }
    if was.asked == now.asked {
        return None;
    }
    let (Some(a), Some(b)) = (was.asked.as_object(), now.asked.as_object()) else {
        return Some("options differ".into());
    };
    let name = a
        .iter()
        .find(|(name, value)| b.get(*name) != Some(value))
        .map(|(name, _)| name);
    let name = name.or_else(|| b.keys().find(|name| !a.contains_key(*name)));
    Some(name.map_or_else(|| "options differ".into(), |name| format!("{name} differs")))
}

/// Checkpoint file of one training.
pub(super) struct Checkpoint<'a> {
    journal: &'a Journal,
    file: PathBuf,
    written: Mutex<Instant>,
}

/// State of a training, in addition to its weights and its optimiser.
#[derive(Debug, Default)]
pub(super) struct State {
    /// One entry for each completed epoch.
    pub curve: Vec<Epoch>,
    /// Completed steps of the current epoch.
    pub step: usize,
    /// Total number of completed steps.
    pub steps_done: u64,
    /// Sum of the losses over the steps of the epoch.
    pub total: f32,
    /// Lowest validation loss and its epoch.
    pub lowest_loss: Option<(f32, usize)>,
    pub kept: Option<BestWeights>,
}

impl State {
    pub fn end_epoch(&mut self, now: Epoch) {
        self.curve.push(now);
        (self.step, self.total) = (0, 0.0);
    }
}

/// Part of a state that is no tensor. Numbers are stored by their bits: text would only work for
/// finite numbers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    curve: Vec<StoredEpoch>,
    step: usize,
    steps_done: u64,
    total: u32,
    lowest_loss: Option<(u32, usize)>,
    kept: Option<(usize, Option<(u32, f64)>)>,
    learning_rates: Vec<f64>,
    optimiser_steps: i32,
    is_done: bool,
}

type StoredEpoch = (u32, Option<(u32, f64)>);

fn bits(validation: Option<Validation>) -> Option<(u32, f64)> {
    validation.map(|v| (v.loss.to_bits(), v.accuracy))
}

fn of_bits(stored: Option<(u32, f64)>) -> Option<Validation> {
    stored.map(|(loss, accuracy)| Validation {
        loss: f32::from_bits(loss),
        accuracy,
    })
}

impl Checkpoint<'_> {
    /// Returns true if the last state was written so long ago that another is due.
    pub fn is_due(&self) -> bool {
        self.written
            .lock()
            .is_ok_and(|written| written.elapsed() >= self.journal.every)
    }

    /// Writes the state of a training atomically: the file exists completely or not at all.
    pub fn write(
        &self,
        state: &State,
        trained: &[Param],
        adam: &Adam,
        is_done: bool,
    ) -> Result<()> {
        let mut tensors: Vec<(String, Tensor)> = Vec::new();
        for (i, p) in trained.iter().enumerate() {
            tensors.push((format!("weight.{i}"), p.var.as_detached_tensor()));
        }
        let (moments, learning_rates, optimiser_steps) = adam.state();
        // A finished training does not need the optimiser again.
        for (i, (first, second)) in moments.iter().enumerate().filter(|_| !is_done) {
            for (which, values) in [("first", first), ("second", second)] {
                let tensor = Tensor::from_slice(values, values.len(), &Device::Cpu)?;
                tensors.push((format!("{which}.{i}"), tensor));
            }
        }
        for (i, tensor) in state
            .kept
            .iter()
            .flat_map(|kept| &kept.snapshot)
            .enumerate()
        {
            tensors.push((format!("kept.{i}"), tensor.clone()));
        }
        let stored = Stored {
            curve: state
                .curve
                .iter()
                .map(|epoch| (epoch.loss.to_bits(), bits(epoch.validation)))
                .collect(),
            step: state.step,
            steps_done: state.steps_done,
            total: state.total.to_bits(),
            lowest_loss: state
                .lowest_loss
                .map(|(loss, epoch)| (loss.to_bits(), epoch)),
            kept: state
                .kept
                .as_ref()
                .map(|kept| (kept.epoch, bits(kept.validation))),
            learning_rates,
            optimiser_steps,
            is_done,
        };
        let about = HashMap::from([(
            "state".to_string(),
            serde_json::to_string(&stored).expect("plain data"),
        )]);
        let bytes =
            safetensors::serialize(tensors, Some(about)).map_err(|e| self.fault(e.to_string()))?;
        write_atomically(&self.file, bytes)?;
        if let Ok(mut written) = self.written.lock() {
            *written = Instant::now();
        }
        Ok(())
    }

    fn fault(&self, what: impl Into<String>) -> Error {
        Error::data(&self.file, "checkpoint", what.into())
    }

    /// Restores this training into its weights and its optimiser; returns the state, and true if it
    /// is the end of the training. Returns `None` if there is no checkpoint.
    pub fn read(&self, trained: &[Param], adam: &mut Adam) -> Result<Option<(State, bool)>> {
        let bytes = match std::fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(&self.file, e)),
        };
        self.restore(&bytes, trained, adam).map(Some)
    }

    /// Restores a training from the bytes of the file.
    fn restore(&self, bytes: &[u8], trained: &[Param], adam: &mut Adam) -> Result<(State, bool)> {
        let damaged =
            |e: String| self.fault(format!("{e}; remove it to start this training again"));
        let (_, about) =
            safetensors::SafeTensors::read_metadata(bytes).map_err(|e| damaged(e.to_string()))?;
        let about = about
            .metadata()
            .as_ref()
            .and_then(|about| about.get("state"));
        let stored: Stored = match about {
            Some(text) => serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?,
            None => return Err(damaged("no state in it".into())),
        };
        let mut tensors = load_safetensors(bytes).map_err(|e| damaged(e.to_string()))?;
        let mut take = |name: String, shape: &[usize]| match tensors.remove(&name) {
            Some(tensor) if tensor.dims() == shape => Ok(tensor),
            _ => Err(damaged(format!("no {name} of shape {shape:?} in it"))),
        };
        for (i, p) in trained.iter().enumerate() {
            p.var.set(&take(format!("weight.{i}"), p.var.dims())?)?;
        }
        let kept = match stored.kept {
            Some((epoch, validation)) => {
                let of = |(i, p): (usize, &Param)| take(format!("kept.{i}"), p.var.dims());
                let snapshot = trained.iter().enumerate().map(of).collect::<Result<_>>()?;
                Some(BestWeights {
                    epoch,
                    validation: of_bits(validation),
                    snapshot,
                })
            }
            None => None,
        };
        if !stored.is_done {
            let mut moments = Vec::new();
            for (i, (first, second)) in adam.state().0.iter().enumerate() {
                let mut values = |which: &str, count: usize| -> Result<Vec<f32>> {
                    Ok(take(format!("{which}.{i}"), &[count])?.to_vec1::<f32>()?)
                };
                moments.push((
                    values("first", first.len())?,
                    values("second", second.len())?,
                ));
            }
            if !adam.restore(moments, &stored.learning_rates, stored.optimiser_steps) {
                return Err(damaged("another number of weights".into()));
            }
        }
        let epoch = |(loss, validation): &StoredEpoch| Epoch {
            loss: f32::from_bits(*loss),
            validation: of_bits(*validation),
        };
        let state = State {
            curve: stored.curve.iter().map(epoch).collect(),
            step: stored.step,
            steps_done: stored.steps_done,
            total: f32::from_bits(stored.total),
            lowest_loss: stored
                .lowest_loss
                .map(|(loss, epoch)| (f32::from_bits(loss), epoch)),
            kept,
        };
        Ok((state, stored.is_done))
    }
}

/// Entry point for fuzzing: restores a training with two parameters from arbitrary bytes.
#[doc(hidden)]
pub fn fuzz_entry(data: &[u8]) -> Result<()> {
    let mut params = Params::default();
    let rng = &mut gnarl_graph::random::stream(1, "fuzzing", 0);
    params.add(
        "weight".into(),
        &[2, 3],
        Init::Constant(0.0),
        Group::Weight,
        rng,
    )?;
    params.add("bias".into(), &[3], Init::Constant(0.0), Group::Bias, rng)?;
    let mut adam = TrainConfig::default().optimiser(params.list());
    let journal = Journal {
        folder: PathBuf::new(),
        every: Duration::ZERO,
        requested: Mutex::default(),
    };
    let checkpoint = Checkpoint {
        journal: &journal,
        file: PathBuf::from("fuzz"),
        written: Mutex::new(Instant::now()),
    };
    checkpoint.restore(data, params.list(), &mut adam).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Scaler;
    use crate::networks::{Backbone, Network, NetworkConfig};
    use crate::operator::{OperatorChoice, Prepared, RowOperator};
    use crate::testing::labels;
    use crate::train::{
        Callbacks, Problem, SampledProblem, Sampling, StepSchedule, Trained, train, train_sampled,
    };
    use gnarl_data::embedded::karate;
    use gnarl_graph::Graph;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn open(folder: &Path, resume: bool) -> Journal {
        Journal::open(
            folder,
            Duration::ZERO,
            serde_json::json!({ "seed": 1 }),
            resume,
        )
        .unwrap()
    }

    /// Trains on the whole graph or on sampled neighbourhoods, with dropout, a schedule and early
    /// stopping.
    fn trained(
        graph: &Graph,
        sampled: bool,
        callbacks: &Callbacks<'_>,
    ) -> (Trained, Vec<Vec<f32>>) {
        let prepared = Prepared::new(graph, Backbone::GIN, OperatorChoice::Default).unwrap();
        let config = NetworkConfig {
            hidden: 8,
            dropout: 0.3,
            ..NetworkConfig::new(Backbone::GIN.where_taken("batch-norm", true))
        };
        let network = Network::new(&config, &prepared.shape(4), 3).unwrap();
        let schedule = Some(StepSchedule {
            every: 3,
            factor: 0.7,
        });
        let training = TrainConfig {
            epochs: 12,
            schedule,
            patience: Some(9),
            ..TrainConfig::default()
        };
        let split = &graph.splits()[0];
        let done = if sampled {
            let rows = RowOperator::new(
                graph,
                &Scaler::AsLoaded,
                Backbone::GIN,
                OperatorChoice::Default,
            )
            .unwrap();
            let sampling = Sampling {
                batch_nodes: 3,
                fanout: "4,2".parse().unwrap(),
                dropped_edges: 0.2,
            };
            let problem = SampledProblem {
                rows: Arc::new(rows),
                labels: labels(graph),
                split,
                sampling,
            };
            train_sampled(&network, &problem, &training, 5, callbacks).unwrap()
        } else {
            let problem =
                Problem::new(&prepared.propagation, &prepared.input, labels(graph), split);
            train(&network, &problem, &training, 5, callbacks).unwrap()
        };
        let values = network
            .params()
            .list()
            .iter()
            .map(|p| p.var.flatten_all().unwrap().to_vec1().unwrap())
            .collect();
        (done, values)
    }

    /// A training that is interrupted after any epoch and started again ends in the same state, to
    /// the bit.
    #[test]
    fn a_training_that_was_cut_off_ends_as_if_it_had_not_been() {
        let graph = karate();
        for sampled in [false, true] {
            let (whole, weights) = trained(&graph, sampled, &Callbacks::quiet());
            for cut in [1, 2, 5, whole.curve.len()] {
                let dir = tempfile::tempdir().unwrap();
                let (stop, journal) = (AtomicBool::new(false), open(dir.path(), false));
                let stop_there =
                    |epoch: usize, _: &Epoch| stop.store(epoch >= cut, Ordering::Relaxed);
                let callbacks = Callbacks::new(&stop_there, &stop).with_journal(Some(&journal));
                assert_eq!(trained(&graph, sampled, &callbacks).0.curve.len(), cut);
                let reported = Mutex::new(0);
                let report = |_: usize, _: &Epoch| *reported.lock().unwrap() += 1;
                let journal = open(dir.path(), true);
                let never = AtomicBool::new(false);
                let callbacks = Callbacks::new(&report, &never).with_journal(Some(&journal));
                let (again, weights_again) = trained(&graph, sampled, &callbacks);
                assert_eq!(
                    (&again.curve, again.kept_epoch),
                    (&whole.curve, whole.kept_epoch),
                    "cut after {cut}"
                );
                assert_eq!(weights_again, weights, "cut after {cut}");
                assert_eq!(
                    *reported.lock().unwrap(),
                    whole.curve.len(),
                    "epochs of before are told of too"
                );
                // The third time nothing is left to do: the checkpoint is the end.
                let (journal, before) = (
                    open(dir.path(), true),
                    std::fs::read_dir(dir.path()).unwrap().count(),
                );
                let (again, weights_again) = trained(
                    &graph,
                    sampled,
                    &Callbacks::quiet().with_journal(Some(&journal)),
                );
                assert_eq!((&again.curve, &weights_again), (&whole.curve, &weights));
                assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), before);
            }
        }
    }

    /// Two identical trainings have a file each; another seed has another file.
    #[test]
    fn each_training_has_its_own_checkpoint() {
        let graph = karate();
        let dir = tempfile::tempdir().unwrap();
        let journal = open(dir.path(), false);
        let callbacks = Callbacks::quiet().with_journal(Some(&journal));
        let (first, second) = (
            trained(&graph, false, &callbacks),
            trained(&graph, false, &callbacks),
        );
        assert_eq!(first.1, second.1);
        trained(&graph, true, &callbacks);
        let names = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|f| f.unwrap().file_name().into_string().unwrap());
        let mut ends: Vec<String> = names
            .filter_map(|name| Some(name.split_once('-')?.1.to_string()))
            .collect();
        ends.sort();
        assert_eq!(ends, ["1.safetensors", "2.safetensors", "3.safetensors"]);
    }

    #[test]
    fn a_journal_of_another_run_or_a_damaged_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let asked = |seed: u64| serde_json::json!({ "model": "gcn", "seed": seed });
        let open = |seed, resume| {
            Journal::open(dir.path(), Duration::ZERO, asked(seed), resume).map(|_| ())
        };
        let fault = |seed, resume| open(seed, resume).unwrap_err().to_string();
        assert!(fault(1, true).contains("there are none to continue from"));
        open(1, false).unwrap();
        open(1, true).unwrap();
        assert!(fault(1, false).contains("there are some already; continue with --resume"));
        assert!(fault(2, true).contains("whose seed differs"));
        let graph = karate();
        let journal = Journal::open(dir.path(), Duration::ZERO, asked(1), true).unwrap();
        trained(
            &graph,
            false,
            &Callbacks::quiet().with_journal(Some(&journal)),
        );
        let mut files = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|f| f.unwrap().path());
        let file = files
            .find(|f| f.extension().is_some_and(|e| e == "safetensors"))
            .unwrap();
        let bytes = std::fs::read(&file).unwrap();
        for broken in [
            &b""[..],
            &bytes[..bytes.len() / 2],
            b"\xff\xff\xff\xff\xff\xff\xff\xff{}",
        ] {
            std::fs::write(&file, broken).unwrap();
            let journal = Journal::open(dir.path(), Duration::ZERO, asked(1), true).unwrap();
            let prepared = Prepared::new(&graph, Backbone::GCN, OperatorChoice::Default).unwrap();
            let network =
                Network::new(&NetworkConfig::new(Backbone::GCN), &prepared.shape(4), 3).unwrap();
            let mut checkpoint = journal
                .checkpoint(network.params(), &TrainConfig::default(), 5)
                .unwrap();
            checkpoint.file = file.clone();
            let e = checkpoint
                .read(
                    network.params().list(),
                    &mut TrainConfig::default().optimiser(&[]),
                )
                .unwrap_err()
                .to_string();
            assert!(
                e.contains("remove it to start this training again") && !e.contains('\n'),
                "{e}"
            );
        }
        std::fs::write(dir.path().join(WHAT), "{").unwrap();
        assert!(fault(1, true).contains("the file is damaged"));
    }
}
