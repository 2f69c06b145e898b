//! Robustness of graph neural networks: perturbations, attacks, defences, inference rules, bounds
//! and certificates.
//!
//! | module | contents |
//! | --- | --- |
//! | [`perturb`] | norms, balls, flips and budgets |
//! | [`classifier`] | a trained model as a function from a graph to class scores |
//! | [`inference`] | inference rules: averages and fixed points over a neighbourhood of inputs |
//! | [`defense`] | preprocessing of a graph before a model sees it |
//! | [`attack`] | changes to features and edges within a budget that cause errors |
//! | [`robustness`] | estimates, upper bounds and certificates of a model's sensitivity |

#![forbid(unsafe_code)]

pub mod attack;
pub mod classifier;
pub mod defense;
pub mod inference;
pub mod perturb;
pub mod robustness;
#[cfg(test)]
mod testing;
