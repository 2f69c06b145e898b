//! Evaluates models under attack: fits a model to a split, attacks it, and compares its predictions
//! on the same test nodes. In a set of graphs, every graph is attacked separately.
//!
//! Evasion changes the input of a fitted model. Poisoning changes its training graph: the model
//! does not exist yet, so the attacker uses a GCN surrogate or no model, and the model is trained
//! and evaluated on the changed graph.
//!
//! Attacks take features as the network does, and edges before any defence.
//!
//! | file | what |
//! | --- | --- |
//! | [`request`] | [`AttackStudy`]: a model, an attack, and what the attacker knows |
//! | `run` | runs a study, with [`RunOptions`] |
//! | `targets` | the attacked predictions, by Nettack's rule or by name |
//! | `attacker` | an attack with the attacker's labels and model |
//! | `sets` | attacks on sets of graphs |
//! | `evaluation` | accuracies before and after an attack |
//! | [`report`] | [`AttackRun`] and [`AttackResult`] |
//! | `attacked_graph` | [`AttackedGraphStudy`]: evaluation on a graph that is attacked already |
//! | `cache` | [`AttackCache`]: attacked graphs that several models share |
//! | [`compare`] | several models at several budgets on the same inputs |
//!
//! ```
//! use gnarl::attack::RandomFlips;
//! use gnarl::prelude::*;
//! use gnarl::study::attack::AttackStudy;
//! use gnarl::train::Callbacks;
//! let karate = Dataset::load("karate")?.benchmark(0, 2)?;
//! let model = Model::new(Backbone::GCN).epochs(20);
//! let study = AttackStudy::new(model, RandomFlips::budget(0.1)).runs(2);
//! let result = study.run(&karate, &Callbacks::quiet())?;
//! println!("{} % after the attack", result.over(|run| run.attacked_accuracy)?.text());
//! # Ok::<(), gnarl_graph::Error>(())
//! ```

mod attacked_graph;
mod attacker;
mod cache;
#[doc(hidden)]
pub mod compare;
mod evaluation;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod request;
mod run;
mod sets;
mod targets;
#[cfg(test)]
mod tests;

pub use attacked_graph::AttackedGraphStudy;
pub use attacker::{attack_without_model, evade};
pub use cache::AttackCache;
pub use evaluation::{AttackAccuracy, predicted_classes};
pub use report::{AttackResult, AttackRun, DefendedReport, DefendedRun};
pub use request::{AttackStudy, AttackerAccess, LabelKnowledge, Mode, Targets, attacked_part};
pub use run::RunOptions;

use gnarl_graph::Error;

/// The error of an attack that is not possible.
fn refused(what: &str) -> Error {
    Error::argument("attack", what)
}
