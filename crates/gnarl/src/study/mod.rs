//! Runs studies: functions that take a model and data and return a result with its runs, controls
//! and paired differences. A command parses its arguments, calls one of these functions and prints.
//!
//! | file | what |
//! | --- | --- |
//! | [`advise`] | recommended axes, by training and validation nodes or graphs alone |
//! | [`train`] | accuracy of a model over splits and seeds, with the contribution of its axes |
//! | [`attack`] | accuracy and success rate of one model or several under attack |
//! | [`axes`] | the effect of the five axes alone, in pairs and together |
//! | [`certify`] | predictions that no attacker within a radius can change |
//! | [`forecast`] | the cells of a study before it is run, and about how long it would take |
//! | [`portrait`] | one fitted model, node by node: predictions, exits, calibration, attacks |
//! | [`predict`] | classes of a graph or a set, by a fitted model or any classifier |
//! | [`robustness`] | distances between predictions on perturbed inputs, sampled and bounded |
//! | [`scale`] | memory and time of training on a graph of some size |
//! | [`summary`] | means and standard deviations over runs |

#[doc(hidden)]
pub mod advise;
pub mod attack;
pub mod axes;
pub mod certify;
#[doc(hidden)]
pub mod forecast;
#[doc(hidden)]
pub mod portrait;
#[doc(hidden)]
pub mod predict;
pub mod robustness;
#[doc(hidden)]
pub mod scale;
#[doc(hidden)]
pub mod summary;
pub mod train;

pub use summary::Accuracy;
