//! Ctrl-C: the first ends the work cleanly with what is done so far, the second ends the program.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static INSTALL: Once = Once::new();

/// The exit code of a program ended by an interrupt.
const INTERRUPTED: i32 = 130;

/// The flag that Ctrl-C sets; asking for it installs the handler.
pub fn flag() -> &'static AtomicBool {
    INSTALL.call_once(|| {
        // Without a handler Ctrl-C ends the program at once, which is no worse.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
        });
    });
    &STOP
}
