//! Runs an [`AttackStudy`]: all runs in parallel, as many at once as memory allows.

use std::time::Instant;

use gnarl_data::{Benchmark, Content};
use gnarl_graph::{Graph, Result, Split};
use rayon::prelude::*;

use super::attacker::{Attacker, fit_surrogate};
use super::cache::{self, AttackCache};
use super::evaluation::Evaluator;
use super::report::{AttackResult, AttackRun};
use super::request::{AttackStudy, Mode};
use super::sets;
use crate::model::Fitted;
use crate::model::fit::{FitOptions, Ready};
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::{Attacked, Requirement};
use gnarl_robust::classifier::Classifier;

/// Options of running a study: progress, cancellation, and a cache of attacked graphs.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    watch: &'a Callbacks<'a>,
    cache: Option<&'a AttackCache>,
}

impl<'a> RunOptions<'a> {
    /// Options with these callbacks and no cache.
    #[must_use]
    pub fn new(watch: &'a Callbacks<'a>) -> Self {
        Self { watch, cache: None }
    }

    /// Shares attacked graphs with other models, if the attack evaluates none of them.
    #[must_use]
    pub fn cache(self, cache: &'a AttackCache) -> Self {
        Self {
            cache: Some(cache),
            ..self
        }
    }
}

impl<'a> From<&'a Callbacks<'a>> for RunOptions<'a> {
    fn from(watch: &'a Callbacks<'a>) -> Self {
        Self::new(watch)
    }
}

/// Largest number of dense feature entries of all parallel runs; each run has a few copies.
const ENTRIES_AT_ONCE: usize = 1 << 27;

impl AttackStudy {
    /// All runs in parallel, fewer at a time if attacked features are large. Runs that were stopped
    /// before their end do not count. The options are [`Callbacks`] or [`RunOptions`].
    pub fn run<'a>(
        &self,
        on: &Benchmark,
        options: impl Into<RunOptions<'a>>,
    ) -> Result<AttackResult> {
        let (start, options) = (Instant::now(), options.into());
        self.check()?;
        if let Content::Graphs(set) = &on.content {
            sets::check(&self.attack, set)?;
        }
        let ready = self
            .resolved_model()
            .ready(&on.name, &on.content, FitOptions::default())?;
        let (fits, passes) = (self.runs as f64, self.attack.method().passes());
        ready
            .plan()
            .check_demand(&on.name, &on.content, fits, fits * passes)?;
        let all: Vec<usize> = (0..self.runs).collect();
        let (mut runs, mut first) = (Vec::with_capacity(self.runs), None);
        for some in all.chunks(self.runs_at_once(&on.content)) {
            let done = some
                .par_iter()
                .map(|&i| self.run_one(&ready, on, i, options))
                .collect::<Result<Vec<_>>>()?;
            for (run, attacked) in done {
                first = first.or(attacked);
                runs.push(run);
            }
        }
        Ok(AttackResult::new(runs, first, start))
    }

    /// Number of parallel runs: the attacked features of all of them must fit into memory.
    fn runs_at_once(&self, content: &Content) -> usize {
        let size = |graph: &Graph| graph.features().map_or(0, |f| f.num_rows() * f.num_cols());
        let entries: usize = match content {
            Content::Graph(graph) => size(graph),
            Content::Graphs(set) => set.graphs().iter().map(size).sum(),
        };
        (ENTRIES_AT_ONCE / entries.max(1)).clamp(1, self.runs.max(1))
    }

    /// One run, and the attacked graph of the first run on a graph.
    fn run_one(
        &self,
        ready: &Ready,
        on: &Benchmark,
        i: usize,
        options: RunOptions<'_>,
    ) -> Result<(AttackRun, Option<Attacked>)> {
        let split = &on.splits[i % on.splits.len()];
        let seed = self.seed.wrapping_add(i as u64);
        let graph = match &on.content {
            Content::Graph(graph) => graph,
            Content::Graphs(set) => {
                let run = self.run_on_set(ready, set, split, seed, options.watch)?;
                return Ok((run, None));
            }
        };
        let start = Instant::now();
        let clean = ready.fit(split, seed, options.watch)?;
        let (mut run, attacked) = self.run_on_fitted(&clean, graph, split, seed, options)?;
        run.seconds = start.elapsed().as_secs_f64();
        Ok((run, (i == 0).then_some(attacked)))
    }

    /// One run of a fitted model: the study's completed model, fitted to this split with this seed.
    /// The attacked graph has its loaded features if the attack left them unchanged.
    pub(in crate::study) fn run_on_fitted(
        &self,
        clean: &Fitted,
        graph: &Graph,
        split: &Split,
        seed: u64,
        options: RunOptions<'_>,
    ) -> Result<(AttackRun, Attacked)> {
        let (start, watch) = (Instant::now(), options.watch);
        let scaled = clean.scaled(graph)?;
        let targets = self.targets_of(clean, &scaled, split, seed)?;
        let evaluator = Evaluator {
            model: self.resolved_model(),
            mode: self.mode,
            split,
            targets: &targets,
            seed,
        };
        let (mut attacked, attack_seconds) =
            self.attack_fitted(clean, [graph, &scaled], &evaluator, options)?;
        let on_loaded = self.attack.needs(Requirement::LoadedFeatures);
        let after = if on_loaded {
            clean.scaled(&attacked.graph)?
        } else {
            attacked.graph.clone()
        };
        let found = evaluator.evaluate(clean, [&scaled, &after], watch)?;
        if attacked.change.features.nodes == 0
            && let Some(features) = graph.features()
        {
            attacked.graph = attacked.graph.with_features(features.clone())?;
        } else if !on_loaded {
            attacked.features = clean.scaling();
        }
        let run = AttackRun {
            edges_added: attacked.change.added.len(),
            edges_removed: attacked.change.removed.len(),
            features: attacked.change.features,
            attack_seconds,
            ..AttackRun::unchanged(clean, (split, seed), found, start, watch)
        };
        Ok((run, attacked))
    }

    /// Attacks a graph, loaded or scaled as the attack needs it, through the attacker's model or a
    /// surrogate. Also returns the seconds of the attack.
    fn attack_fitted(
        &self,
        clean: &Fitted,
        [graph, scaled]: [&Graph; 2],
        on: &Evaluator<'_>,
        options: RunOptions<'_>,
    ) -> Result<(Attacked, f64)> {
        let (split, seed, watch) = (on.split, on.seed, options.watch);
        let surrogate = match self.needed_surrogate() {
            Some(backbone) => {
                let content = Content::Graph(scaled.clone());
                let epochs = clean.plan().training.epochs;
                Some(fit_surrogate(
                    &content, backbone, epochs, split, seed, watch,
                )?)
            }
            None => None,
        };
        let (plain, adaptive) = (clean.attack_target(), clean.adaptive_target());
        let model: Option<&dyn Classifier> = match (&surrogate, self.mode) {
            (Some(surrogate), _) => Some(surrogate.network()?),
            (None, _) if self.sees_predictions() => Some(&adaptive),
            (None, Mode::Evasion) => Some(&plain),
            (None, Mode::Poisoning) => None,
        };
        let start = Instant::now();
        let attacker = Attacker {
            attack: &self.attack,
            knowledge: self.labels,
            split,
            targets: on.targets,
            seed,
            stop: Some(watch.stop),
        };
        let input = if self.attack.needs(Requirement::LoadedFeatures) {
            graph
        } else {
            scaled
        };
        let attack = || attacker.run(input, model);
        let key = options
            .cache
            .and_then(|cache| Some((cache, cache::key_of(self, split, seed)?)));
        let attacked = match key {
            Some((cache, key)) => cache.get_or_run(key, watch, attack)?,
            None => attack()?,
        };
        Ok((attacked, start.elapsed().as_secs_f64()))
    }
}
