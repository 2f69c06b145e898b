//! Handles Ctrl-C, a system shutdown and a closed terminal. The first signal ends the work cleanly
//! with the results so far, the second ends the program.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::signal;
use signal_hook::flag as on_signal;

/// Stop requests from outside.
#[derive(Default)]
struct StopRequest {
    stop: Arc<AtomicBool>,
    /// Number of the signal.
    by: Arc<AtomicUsize>,
}

static STOP: OnceLock<StopRequest> = OnceLock::new();

/// Returns the exit code of a program ended by a signal: 128 plus the number of the signal, 130 for
/// Ctrl-C.
pub fn exit_code() -> u8 {
    let by = STOP
        .get()
        .map_or(0, |request| request.by.load(Ordering::Relaxed));
    code(if by == 0 { signal::SIGINT } else { by as i32 })
}

fn code(signal: i32) -> u8 {
    128 + signal as u8
}

/// Error of a command that was stopped before all of its runs were finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted {
    /// Number of finished runs, which are counted.
    pub finished: usize,
    /// Number of requested runs.
    pub requested: usize,
}

impl Interrupted {
    /// Returns the error of a command that was stopped before its first run was finished.
    pub fn before_first(requested: usize) -> Self {
        Self {
            finished: 0,
            requested,
        }
    }

    /// Returns the error of an interrupted command; `None` if it was not interrupted.
    pub fn complaint(
        interrupted: bool,
        finished: usize,
        requested: usize,
    ) -> Option<anyhow::Error> {
        let error = Self {
            finished,
            requested,
        };
        interrupted.then(|| error.into())
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "interrupted: {} of {} runs were finished; the others do not count",
            self.finished, self.requested
        )
    }
}

impl std::error::Error for Interrupted {}

/// Returns the flag that a signal sets; the first call installs the handlers.
pub fn flag() -> &'static AtomicBool {
    let request = STOP.get_or_init(|| {
        let request = StopRequest::default();
        for signal in signals() {
            // Without a handler the signal ends the program at once, which is no worse. The order
            // matters: the first handler sets the flag that the second reads.
            let second = on_signal::register_conditional_shutdown(
                signal,
                code(signal).into(),
                request.stop.clone(),
            );
            let _ = second
                .and_then(|_| {
                    on_signal::register_usize(signal, request.by.clone(), signal as usize)
                })
                .and_then(|_| on_signal::register(signal, request.stop.clone()));
        }
        request
    });
    &request.stop
}

/// Returns the signals that end the work; a signal that is ignored at the start, as under `nohup`,
/// stays ignored.
fn signals() -> Vec<i32> {
    let mut signals = vec![signal::SIGINT, signal::SIGTERM];
    #[cfg(unix)]
    signals.push(signal::SIGHUP);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    signals.retain(|signal| ignored >> (signal - 1) & 1 == 0);
    signals
}

/// Returns the signals that a process ignores, a bit for each, from Linux' process status.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        assert_eq!(
            ignored("Name:\tgnarl\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"),
            (1 << 12) | 1
        );
        assert_eq!((ignored(""), ignored("SigIgn: none")), (0, 0));
        assert_eq!([1, 2, 15].map(code), [129, 130, 143]);
    }
}
