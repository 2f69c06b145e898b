//! Evaluates models on a graph that is attacked already.

use std::time::Instant;

use gnarl_data::Benchmark;
use gnarl_graph::{Error, Graph, Result, Split};
use rayon::prelude::*;

use super::evaluation::Evaluator;
use super::report::{AttackResult, AttackRun};
use super::request::{Mode, Targets};
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::Attacked;
use gnarl_robust::inference::PerturbationTarget;

/// Measures the accuracy of a model on a graph that is attacked already.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AttackedGraphStudy {
    /// The model.
    pub model: Model,
    /// Attacked phase. Evasion: the attacked graph is the input of a model trained on the clean
    /// graph. Poisoning: it is the training graph.
    pub mode: Mode,
    /// The scaling of the attacked graph's features: as loaded, or as a model takes them.
    pub features: FeatureScaling,
    /// Number of runs: run `i` takes split `i` (in turn) and seed `seed + i`.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
}

/// A clean graph and its attacked version.
struct Pair<'a> {
    clean: &'a Graph,
    attacked: &'a Graph,
}

impl AttackedGraphStudy {
    /// One run of a model with seed 0, on an attacked graph whose features are as loaded.
    #[must_use]
    pub fn new(model: Model, mode: Mode) -> Self {
        Self {
            model,
            mode,
            features: FeatureScaling::AsLoaded,
            runs: 1,
            seed: 0,
        }
    }

    /// Sets the scaling of the attacked graph's features.
    #[must_use]
    pub fn features(self, features: FeatureScaling) -> Self {
        Self { features, ..self }
    }

    /// Sets the number of runs.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Sets the first run's seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// All runs in parallel, on a benchmark and an attacked version of its graph. `targets` or the
    /// test nodes are evaluated. Fails if the model scales features otherwise than the attacked
    /// graph.
    pub fn run(
        &self,
        on: &Benchmark,
        attacked: &Graph,
        targets: &Targets,
        watch: &Callbacks<'_>,
    ) -> Result<AttackResult> {
        let start = Instant::now();
        let pair = Pair {
            clean: on.content.graph()?,
            attacked,
        };
        let part = changed_part(&pair)?;
        let resolved = Self {
            model: self.model.inference(self.model.inference.on(part)),
            ..*self
        };
        let ready = resolved
            .model
            .ready(&on.name, &on.content, FitOptions::default())?;
        let one = |i: usize| {
            let split = &on.splits[i % on.splits.len()];
            let seed = self.seed.wrapping_add(i as u64);
            resolved.run_one(&ready, &pair, targets, (split, seed), watch)
        };
        let runs = (0..self.runs)
            .into_par_iter()
            .map(one)
            .collect::<Result<Vec<_>>>()?;
        Ok(AttackResult::new(runs, None, start))
    }

    fn run_one(
        &self,
        ready: &Ready,
        pair: &Pair<'_>,
        targets: &Targets,
        (split, seed): (&Split, u64),
        watch: &Callbacks<'_>,
    ) -> Result<AttackRun> {
        let start = Instant::now();
        let targets = targets.resolve(pair.clean, split)?;
        let clean = ready.fit(split, seed, watch)?;
        self.check_scaling(&clean)?;
        let before = clean.scaled(pair.clean)?;
        // The change is measured on the scale of the attacked graph: scaling a row with one flipped
        // feature would change every other entry of the row.
        let (after, change) = if self.features == FeatureScaling::AsLoaded {
            let change = Attacked::new(pair.clean, pair.attacked.clone())?.change;
            (clean.scaled(pair.attacked)?, change)
        } else {
            let change = Attacked::new(&before, pair.attacked.clone())?.change;
            (pair.attacked.clone(), change)
        };
        let evaluator = Evaluator {
            model: self.model,
            mode: self.mode,
            split,
            targets: &targets,
            seed,
        };
        let found = evaluator.evaluate(&clean, [&before, &after], watch)?;
        Ok(AttackRun {
            edges_added: change.added.len(),
            edges_removed: change.removed.len(),
            features: change.features,
            ..AttackRun::unchanged(&clean, (split, seed), found, start, watch)
        })
    }

    /// Refuses a model that scales features otherwise than the attacked graph.
    fn check_scaling(&self, clean: &Fitted) -> Result<()> {
        let (theirs, own) = (self.features, clean.scaling());
        if theirs == FeatureScaling::AsLoaded || theirs == own {
            return Ok(());
        }
        let what = format!(
            "the attacked graph's are {theirs}, and the model takes them {own}; set --features {theirs}"
        );
        Err(Error::setting("features", what))
    }
}

/// The part of the graph that was attacked: edges, or features if no edge differs.
fn changed_part(pair: &Pair<'_>) -> Result<PerturbationTarget> {
    let edges = match pair.clean.features() {
        Some(features) => pair.attacked.clone().with_features(features.clone())?,
        None => pair.attacked.clone(),
    };
    let flips = Attacked::new(pair.clean, edges)?.change.num_flips();
    Ok(if flips == 0 {
        PerturbationTarget::Features
    } else {
        PerturbationTarget::Structure
    })
}
