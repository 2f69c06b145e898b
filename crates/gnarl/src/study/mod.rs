//! Studies: a question asked of a model and data, with its runs, controls and paired differences,
//! as a function that returns a result. A command parses, calls one of these and prints.
//!
//! | file | what |
//! | --- | --- |
//! | [`advise`] | which axes are worth switching on, by training and validation items alone |
//! | [`train`] | how well a model does, over splits and seeds, with what its axes add |
//! | [`attack`] | accuracy and success rate of a model under attack |
//! | [`attack_cache`] | attacked graphs that several models share |
//! | [`attack_compare`] | several models at several budgets on the same inputs |
//! | [`axes`] | what the five axes do alone, in pairs and together |
//! | [`certify`] | what no attacker within a radius can change |
//! | [`forecast`] | what a study would do, cell by cell, and about how long it would take |
//! | [`portrait`] | one fitted model, node by node: answers, exits, calibration, what an attack turns |
//! | [`predict`] | classes of a graph or a set, by a fitted model or any classifier |
//! | [`robustness`] | how far answers move when inputs do, and how far they ever can |
//! | [`scale`] | what fits where: memory and time of training on a graph of some size |
//! | [`summary`] | means and deviations over runs |

pub mod advise;
pub mod attack;
pub mod attack_cache;
pub mod attack_compare;
mod attack_set;
pub mod axes;
pub mod certify;
pub mod forecast;
pub mod portrait;
pub mod predict;
pub mod robustness;
pub mod scale;
pub mod summary;
pub mod train;

pub use summary::Accuracy;
