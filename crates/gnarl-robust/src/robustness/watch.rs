//! Who looks on while samples are drawn.

use std::sync::atomic::{AtomicBool, Ordering};

static NEVER: AtomicBool = AtomicBool::new(false);

/// Who is told while samples are drawn, and who may stop it.
#[derive(Clone, Copy)]
pub struct SampleWatch<'a> {
    /// Called with the number of samples drawn since it was called last.
    pub on_samples: &'a (dyn Fn(usize) + Sync),
    /// Set from outside.
    pub stop: &'a AtomicBool,
}

impl SampleWatch<'static> {
    /// Nobody.
    pub fn quiet() -> Self {
        Self {
            on_samples: &|_| (),
            stop: &NEVER,
        }
    }
}

impl SampleWatch<'_> {
    /// Whether the work is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
