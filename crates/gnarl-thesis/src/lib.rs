//! The thesis' tables as data, and the one runner that reproduces them (`gnarl reproduce`).
//!
//! | file | what |
//! | --- | --- |
//! | [`table`] | what a table is: rows that say what to run, columns of datasets, the thesis' figures |
//! | [`tables`] | the tables, one TOML file each in the folder `tables` |
//! | [`recipe`], `inference_values` | the thesis' settings by dataset |
//! | [`measure`] | which of a cell's figures a row shows |
//! | [`attacked`] | models under attack: who, and how |
//! | [`graphs`] | graph classifiers: which, and trained on what |
//! | [`work`] | what is done in a cell: models, fitted so many times |
//! | [`measured`] | what a cell found |
//! | [`cell`] | one cell: its full configuration, keeping what it found |
//! | [`runner`] | all cells of a table, side by side, continued where an earlier run stopped |
//! | [`report`] | ours beside the thesis', differences with their standard errors, CSV |
//! | [`claims`] | what the thesis says, and a verdict on each by one rule |
//! | [`kept`] | what the repository keeps of a table: the figure of every run |
//! | [`quoted`] | what it keeps of other studies that the docs quote |
//!
//! A new study is one more file of [`tables`] and, where it runs something no table did before, one
//! more variant of [`table::Spec`].

pub mod attacked;
pub mod cell;
pub mod claims;
pub mod graphs;
mod inference_values;
pub mod kept;
pub mod measure;
pub mod measured;
pub mod quoted;
pub mod recipe;
pub mod report;
pub mod runner;
pub mod table;
pub mod tables;
pub mod work;

pub use measure::Measure;
pub use recipe::Recipe;
pub use report::Report;
pub use runner::{
    Progress, RunnerWatch, Settings, Shard, dry_run, narrowed, reproduce, reproduce_all,
    with_stored,
};
pub use table::{Baseline, Figure, Property, Row, SetProperty, Spec, Table};
