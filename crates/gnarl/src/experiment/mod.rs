//! The thesis' tables as data, and the one runner that reproduces them (`gnarl reproduce`).
//!
//! | file | what |
//! | --- | --- |
//! | [`table`] | what a table is: rows that say what to run, columns of datasets, the thesis' figures |
//! | [`tables`] | the tables, one file each |
//! | [`attacked`] | models under attack: who, how, and which accuracy a row shows |
//! | [`graphs`] | graph classifiers: which, trained on what, and which figure a row shows |
//! | [`cell`] | one cell: its full configuration, running it, keeping it |
//! | [`runner`] | all cells of a table, side by side, continued where an earlier run stopped |
//! | [`report`] | ours beside the thesis', differences with their standard errors, CSV |
//!
//! A new study is one more file in [`tables`] and, where it runs something no table did before, one more variant of
//! [`table::Spec`].

pub mod attacked;
pub mod cell;
pub mod graphs;
pub mod report;
pub mod runner;
pub mod table;
pub mod tables;

pub use report::Report;
pub use runner::{Progress, RunnerWatch, Settings, reproduce, with_stored};
pub use table::{Baseline, Figure, Property, Row, SetProperty, Spec, Table};
