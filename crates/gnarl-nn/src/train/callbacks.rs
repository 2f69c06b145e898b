//! Callbacks of the training loop: progress, cancellation and the journal.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Epoch, Journal};

/// Callbacks of the loop: progress, cancellation and the journal.
#[derive(Clone, Copy)]
pub struct Callbacks<'a> {
    /// Called after every epoch.
    pub on_epoch: &'a (dyn Fn(usize, &Epoch) + Sync),
    /// Cancellation flag: ends training after the current epoch and keeps the result so far.
    pub stop: &'a AtomicBool,
    /// Journal of checkpoints, from which interrupted trainings are resumed.
    pub journal: Option<&'a Journal>,
}

impl Callbacks<'static> {
    /// Returns callbacks that do nothing.
    pub fn quiet() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self {
            on_epoch: &|_, _| (),
            stop: &NEVER,
            journal: None,
        }
    }
}

impl<'a> Callbacks<'a> {
    /// Returns callbacks that only stop when the flag is set.
    pub fn stopped_by(stop: &'a AtomicBool) -> Self {
        Self {
            on_epoch: &|_, _| (),
            stop,
            journal: None,
        }
    }

    /// Returns callbacks that report every epoch and stop when the flag is set.
    pub fn new(on_epoch: &'a (dyn Fn(usize, &Epoch) + Sync), stop: &'a AtomicBool) -> Self {
        Self {
            on_epoch,
            stop,
            journal: None,
        }
    }

    /// Adds a journal, if there is one.
    pub fn with_journal(self, journal: Option<&'a Journal>) -> Self {
        Self { journal, ..self }
    }

    /// Returns the callbacks without progress reports.
    pub fn silent(&self) -> Self {
        Self {
            on_epoch: &|_, _| (),
            ..*self
        }
    }

    /// Returns true if a stop was requested.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Default for Callbacks<'static> {
    fn default() -> Self {
        Self::quiet()
    }
}
