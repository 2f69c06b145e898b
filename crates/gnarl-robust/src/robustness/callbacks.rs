//! Callbacks while samples are taken: progress and cancellation.

use std::sync::atomic::{AtomicBool, Ordering};

static NEVER: AtomicBool = AtomicBool::new(false);

/// Callbacks while samples are taken: progress and cancellation.
#[derive(Clone, Copy)]
pub struct SampleCallbacks<'a> {
    /// Called with the number of new samples since the last call.
    pub on_samples: &'a (dyn Fn(usize) + Sync),
    /// Set from outside to stop the work.
    pub stop: &'a AtomicBool,
}

impl SampleCallbacks<'static> {
    /// No callbacks.
    pub fn quiet() -> Self {
        Self {
            on_samples: &|_| (),
            stop: &NEVER,
        }
    }
}

impl SampleCallbacks<'_> {
    /// Returns true if the work is to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
