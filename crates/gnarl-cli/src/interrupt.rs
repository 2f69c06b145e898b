//! Ctrl-C: the first ends the work cleanly with what is finished so far, the second ends the program.

use std::fmt;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static INSTALL: Once = Once::new();

/// The exit code of a program ended by an interrupt.
pub const EXIT_CODE: u8 = 130;

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
        write!(f, "interrupted: {} of {} runs were finished; the others do not count", self.finished, self.asked)
    }
}

impl std::error::Error for Interrupted {}

/// The flag that Ctrl-C sets; asking for it installs the handler.
pub fn flag() -> &'static AtomicBool {
    INSTALL.call_once(|| {
        // Without a handler Ctrl-C ends the program at once, which is no worse.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(EXIT_CODE));
            }
        });
    });
    &STOP
}
