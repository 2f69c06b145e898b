//! Tests of the public interface of gnarl-graph against other tools, in one program.

#[path = "common/golden.rs"]
mod golden_values;

mod golden;
mod golden_metrics;
mod golden_spectrum;
