//! Reproduces the tables of the thesis: the tables as data, and one runner for all of them
//! (`gnarl reproduce`).
//!
//! | file | what |
//! | --- | --- |
//! | [`table`] | the format of a table: rows with their work, datasets, the thesis' figures |
//! | [`tables`] | the tables, one TOML file each in the folder `tables` |
//! | [`recipe`], `inference_values` | the thesis' settings by dataset |
//! | [`measure`] | the figure of a cell that a row shows |
//! | [`attacked`] | models under attack: model and attack |
//! | [`graphs`] | graph classifiers: model and training graphs |
//! | [`work`] | the kinds of rows and of cells: one file for each kind |
//! | [`measured`] | the result of a cell |
//! | [`cell`] | one cell: its full configuration and the storage of its result |
//! | [`runner`] | all cells of a table in parallel, continued where an earlier run stopped |
//! | [`report`] | gnarl's figures next to the thesis', differences, standard errors, CSV |
//! | [`claims`] | the thesis' claims, and a verdict on each by one rule |
//! | [`kept`] | the stored results of a table in the repository: the figure of every run |
//! | [`quoted`] | the stored results of other studies that the docs quote |
//!
//! A new study is one more file of [`tables`] and, if it needs a new kind of row, one more file of
//! [`work`] and a line of [`Spec`].

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
    Progress, RunnerCallbacks, Settings, Shard, dry_run, narrowed, reproduce, reproduce_all,
    with_stored,
};
pub use table::{Baseline, Figure, Row, Table};
pub use work::{Property, SetProperty, Spec};
