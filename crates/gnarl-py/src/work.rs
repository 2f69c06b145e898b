//! Runs work off the interpreter: on separate threads, without the GIL, while the calling thread
//! waits and handles Ctrl-C.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::errors::{raised, wrong};

/// Interval at which a waiting thread checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(50);
/// Time for cancelled work to stop before it is abandoned.
const GRACE: Duration = Duration::from_millis(400);
/// Largest number of threads. A larger number is a typing error rather than a machine.
const MOST_THREADS: usize = 4096;

/// Thread pools of a process by size. A forked process has the memory of the pools, but none of
/// their threads: it starts its own.
struct Pools {
    process: u32,
    by_size: HashMap<Option<usize>, Arc<ThreadPool>>,
}

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    if let Some(threads) = threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        return Err(wrong(format!(
            "n_jobs: {threads} threads; there must be 1 to {MOST_THREADS}, or -1 for all cores"
        )));
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if pools.as_ref().is_some_and(|pools| pools.process != process) {
        // No thread is left to end.
        std::mem::forget(pools.take());
    }
    let pools = pools.get_or_insert_with(|| Pools {
        process,
        by_size: HashMap::new(),
    });
    if let Some(known) = pools.by_size.get(&threads) {
        return Ok(known.clone());
    }
    let new = Arc::new(gnarl_tensor::thread_pool(threads).map_err(|e| raised(e.into()))?);
    pools.by_size.insert(threads, new.clone());
    Ok(new)
}

/// Abandons a pool: unfinished work keeps its threads, and the next caller gets others.
fn abandon(threads: Option<usize>) {
    if let Some(pools) = POOLS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_mut()
    {
        pools.by_size.remove(&threads);
    }
}

/// A callback of the waiting thread, called periodically with the interpreter.
pub type Tick<'a> = &'a dyn Fn(Python<'_>) -> PyResult<()>;

/// Runs work on a pool and waits for it. `stop` is set after Ctrl-C or an error of `tick`. Work
/// that does not stop soon is abandoned, and its result is dropped.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    stop: &Arc<AtomicBool>,
    tick: Option<Tick<'_>>,
    work: impl FnOnce() -> gnarl_graph::Result<T> + Send + 'static,
) -> PyResult<T> {
    // The thread belongs to a pool already, as when a user's model calls gnarl: waiting for another
    // pool thread could deadlock.
    if rayon::current_thread_index().is_some() {
        return finished(py.detach(|| catch_unwind(AssertUnwindSafe(work))));
    }
    let (sender, receiver) = channel();
    pool(threads)?.spawn(move || {
        // The receiver is gone if the caller is.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    });
    let receiver = Mutex::new(receiver);
    loop {
        match wait(py, &receiver, POLL) {
            Ok(outcome) => {
                let found = finished(outcome)?;
                if let Some(tick) = tick {
                    tick(py)?;
                }
                return Ok(found);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work was lost"));
            }
            Err(RecvTimeoutError::Timeout) => {
                let checked = py
                    .check_signals()
                    .and_then(|()| tick.map_or(Ok(()), |tick| tick(py)));
                if let Err(interrupt) = checked {
                    stop.store(true, Ordering::Relaxed);
                    if wait(py, &receiver, GRACE).is_err() {
                        abandon(threads);
                    }
                    return Err(interrupt);
                }
            }
        }
    }
}

/// Runs work without cancellation or progress.
pub fn quietly<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> gnarl_graph::Result<T> + Send + 'static,
) -> PyResult<T> {
    run(py, threads, &Arc::new(AtomicBool::new(false)), None, work)
}

type Outcome<T> = Result<gnarl_graph::Result<T>, Box<dyn Any + Send>>;

fn wait<T: Send>(
    py: Python<'_>,
    receiver: &Mutex<Receiver<Outcome<T>>>,
    limit: Duration,
) -> Result<Outcome<T>, RecvTimeoutError> {
    py.detach(|| {
        receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(limit)
    })
}

fn finished<T>(outcome: Outcome<T>) -> PyResult<T> {
    match outcome {
        Ok(result) => result.map_err(raised),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message
                .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()))
                .unwrap_or_default();
            Err(PyRuntimeError::new_err(
                format!("{message}; this is a fault in gnarl, please report it").replace('\n', " "),
            ))
        }
    }
}
