//! The two ways of training a network with exits (thesis ch. 4, "Training Scheme of ADMP-GNN").
//!
//! Sequential training (ST) goes through stages: stage `t` trains one layer and exit `t` on that exit's loss alone, with an
//! optimiser of its own, then both stay as they are. What the frozen layers make of the graph is computed once, without
//! dropout, so a stage costs two layers whatever its depth. Aggregate loss minimisation (ALM) trains everything at once on
//! the sum of all exits' losses.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::random::mix;
use serde::{Deserialize, Serialize};

use super::exits::Exits;
use crate::error::Result;
use crate::nn::Input;
use crate::train::{Problem, TrainConfig, Trained, Watch, train};

/// How exits are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Sequential training, stage by stage.
    AdmpSt,
    /// Aggregate loss minimisation, all at once.
    AdmpAlm,
}

impl Scheme {
    /// Every scheme with its name.
    pub const ALL: [(&'static str, Scheme); 2] = [("admp-st", Scheme::AdmpSt), ("admp-alm", Scheme::AdmpAlm)];

    /// How many trainings of `epochs` epochs there are with exits 0 to `max_depth`.
    pub fn num_trainings(self, max_depth: usize) -> usize {
        match self {
            Scheme::AdmpSt => max_depth + 1,
            Scheme::AdmpAlm => 1,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(_, s)| s == self).map_or("?", |(name, _)| name))
    }
}

impl FromStr for Scheme {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, scheme)| *scheme);
        found.ok_or_else(|| gnarl_graph::Error::unknown("depth", name, Self::ALL.iter().map(|(n, _)| *n)))
    }
}

/// Trains every exit; what each training came to, in order: one per exit for ST, one in all for ALM.
pub fn train_exits(
    exits: &Exits,
    problem: &Problem<'_>,
    scheme: Scheme,
    config: &TrainConfig,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Vec<Trained>> {
    if scheme == Scheme::AdmpAlm {
        return Ok(vec![train(exits, problem, config, seed, watch)?]);
    }
    // What the layers frozen so far make of the graph: h^{t-2} when stage t begins.
    let mut frozen: Input = problem.input.clone();
    let mut trained = Vec::with_capacity(exits.max_depth() + 1);
    for t in 0..=exits.max_depth() {
        let problem = Problem { input: &frozen, ..*problem };
        trained.push(train(&exits.stage(t), &problem, config, mix(seed ^ mix(t as u64)), watch)?);
        frozen = exits.advance(t, problem.hear, &frozen)?;
    }
    Ok(trained)
}
