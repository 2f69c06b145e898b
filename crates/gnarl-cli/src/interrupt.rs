//! Ctrl-C, and what a system sends that goes down or a terminal that closes: the first ends the
//! work cleanly with what is finished so far, the second ends the program.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::signal;
use signal_hook::flag as on_signal;

/// What was asked for from outside.
#[derive(Default)]
struct Asked {
    stop: Arc<AtomicBool>,
    /// The number of the signal.
    by: Arc<AtomicUsize>,
}

static ASKED: OnceLock<Asked> = OnceLock::new();

/// The exit code of a program ended by an interrupt: 128 and the number of the signal, 130 for
/// Ctrl-C.
pub fn exit_code() -> u8 {
    let by = ASKED
        .get()
        .map_or(0, |asked| asked.by.load(Ordering::Relaxed));
    code(if by == 0 { signal::SIGINT } else { by as i32 })
}

fn code(signal: i32) -> u8 {
    128 + signal as u8
}

/// What ends a command that was stopped before all of its runs were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted {
    /// Runs that were finished and count.
    pub finished: usize,
    /// Runs that were asked for.
    pub asked: usize,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "interrupted: {} of {} runs were finished; the others do not count",
            self.finished, self.asked
        )
    }
}

impl std::error::Error for Interrupted {}

/// The flag that a signal sets; asking for it installs the handlers.
pub fn flag() -> &'static AtomicBool {
    let asked = ASKED.get_or_init(|| {
        let asked = Asked::default();
        for signal in signals() {
            // Without a handler the signal ends the program at once, which is no worse. In this
            // order: the first sets the flag that the second finds.
            let second = on_signal::register_conditional_shutdown(
                signal,
                code(signal).into(),
                asked.stop.clone(),
            );
            let _ = second
                .and_then(|_| on_signal::register_usize(signal, asked.by.clone(), signal as usize))
                .and_then(|_| on_signal::register(signal, asked.stop.clone()));
        }
        asked
    });
    &asked.stop
}

/// The signals that end the work; one that was to be ignored, as `nohup` has it, stays ignored.
fn signals() -> Vec<i32> {
    let mut signals = vec![signal::SIGINT, signal::SIGTERM];
    #[cfg(unix)]
    signals.push(signal::SIGHUP);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    signals.retain(|signal| ignored >> (signal - 1) & 1 == 0);
    signals
}

/// The signals that a process ignores, a bit for each, from Linux' account of it.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_off_the_mask() {
        assert_eq!(
            ignored("Name:\tgnarl\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"),
            (1 << 12) | 1
        );
        assert_eq!((ignored(""), ignored("SigIgn: none")), (0, 0));
        assert_eq!([1, 2, 15].map(code), [129, 130, 143]);
    }
}
