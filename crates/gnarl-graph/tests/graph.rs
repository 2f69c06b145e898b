//! All tests that use graphs and loaders through the public interface, in one program: it is linked
//! once, and no test waits for the last of another file.

#[path = "common/golden.rs"]
mod golden_values;

mod golden;
mod golden_metrics;
mod golden_spectrum;
