//! Progress on standard error: bars and spinners, only on a terminal and only once a job has taken
//! a second, and the times of parts if requested.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use gnarl_data::download::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// Time that a job may run without a sign of progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two frames of a spinner.
const FRAME: Duration = Duration::from_millis(100);

/// Amount of output on standard error in addition to errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Verbosity {
    /// No output.
    Quiet,
    /// Bars and spinners, on a terminal.
    Normal,
    /// Bars and spinners, and the time of each part, on any output.
    Verbose,
}

static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

/// Sets the amount of output.
pub fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

fn is(verbosity: Verbosity) -> bool {
    VERBOSITY.load(Ordering::Relaxed) == verbosity as u8
}

/// Returns true if a bar would be visible.
pub fn is_watched() -> bool {
    !is(Verbosity::Quiet) && std::io::stderr().is_terminal()
}

/// Prints the time of a part, if requested.
pub fn print_time(what: &str, started: Instant) {
    if is(Verbosity::Verbose) {
        // Standard error may be closed: then nobody reads the message.
        let _ = writeln!(
            std::io::stderr(),
            "{what}: {:.3} s",
            started.elapsed().as_secs_f64()
        );
    }
}

/// Prints the refused estimate once, if the user continues nevertheless.
pub fn print_forced(refusal: &gnarl_graph::Error) {
    static LAST: Mutex<Option<String>> = Mutex::new(None);
    let line = format!("forced: {refusal}");
    let mut last = LAST.lock().unwrap_or_else(|broken| broken.into_inner());
    if !is(Verbosity::Quiet) && last.as_ref() != Some(&line) {
        let _ = writeln!(std::io::stderr(), "{line}");
        *last = Some(line);
    }
}

/// Runs a job, with a spinner next to `what` if it takes long.
pub fn during<T>(what: &str, job: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = spinning(what, job);
    print_time(what, started);
    result
}

fn spinning<T>(what: &str, job: impl FnOnce() -> T) -> T {
    if !is_watched() {
        return job();
    }
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The channel closes when the job is over, however it ends.
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let spinner = ProgressBar::new_spinner().with_message(what.to_string());
                while waiting.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
                    spinner.tick();
                }
                spinner.finish_and_clear();
            }
        });
        let result = job();
        drop(done);
        result
    })
}

/// Bar over a known number of steps, and its start time.
pub struct Steps {
    bar: ProgressBar,
    what: String,
    started: Instant,
}

impl Steps {
    /// Removes the bar, and prints its time if requested.
    pub fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
        print_time(&self.what, self.started);
    }
}

impl std::ops::Deref for Steps {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.bar
    }
}

/// Starts a bar over a known number of steps; hidden if standard error is not a terminal.
pub fn steps(what: &str, total: u64) -> Steps {
    Steps {
        bar: bar(what, total),
        what: what.to_string(),
        started: Instant::now(),
    }
}

fn bar(what: &str, total: u64) -> ProgressBar {
    if !is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total).with_message(what.to_string());
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// Starts a bar over the cells of a table; hidden if standard error is not a terminal.
pub fn cells(what: &str) -> ProgressBar {
    let bar = bar(what, 0);
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} cells, {msg}") {
        bar.set_style(style);
    }
    bar.with_prefix(what.to_string())
        .with_message("reading what is there")
}

/// Moves a bar of [`cells`] to the progress of the runner.
pub fn show_cells(bar: &ProgressBar, progress: &gnarl_thesis::Progress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_message(match progress.seconds_left {
        Some(seconds) => format!(
            "{} left",
            HumanDuration(Duration::from_secs_f64(seconds.min(1e9)))
        ),
        None => "time left unknown".to_string(),
    });
}

/// Bars of downloads, one per file.
#[derive(Debug, Default)]
pub struct Bars {
    current: Mutex<Option<Bar>>,
}

/// File being downloaded; its bar appears once it has taken long.
#[derive(Debug)]
struct Bar {
    file: String,
    total: Option<u64>,
    received: u64,
    started: Instant,
    shown: Option<ProgressBar>,
}

impl Bar {
    fn show(&self) -> ProgressBar {
        let bar = match self.total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        let template = match self.total {
            Some(_) => "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
            None => "{msg} {spinner} {bytes} {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.with_message(self.file.clone())
    }
}

impl Progress for Bars {
    fn begin(&self, file: &str, total: Option<u64>) {
        self.end();
        if is_watched() {
            let bar = Bar {
                file: file.to_string(),
                total,
                received: 0,
                started: Instant::now(),
                shown: None,
            };
            *self.lock() = Some(bar);
        }
    }

    fn advance(&self, bytes: u64) {
        let mut current = self.lock();
        let Some(bar) = current.as_mut() else { return };
        bar.received += bytes;
        if bar.shown.is_none() && bar.started.elapsed() >= PATIENCE {
            bar.shown = Some(bar.show());
        }
        if let Some(shown) = &bar.shown {
            shown.set_position(bar.received);
        }
    }

    fn end(&self) {
        if let Some(shown) = self.lock().take().and_then(|bar| bar.shown) {
            shown.finish_and_clear();
        }
    }
}

impl Bars {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Bar>> {
        // A bar is only for show: its state is usable even after a panic elsewhere.
        self.current
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
