//! Attacked graphs kept while a table is run: an attack that looks into no model makes the same
//! graph for every model, and Metattack (thesis ch. 5) takes longer than any training on it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use gnarl_graph::Split;

use super::attack::{AttackStudy, Known, Targets};
use crate::attack::Attacked;
use crate::error::Result;
use crate::perturb::Budget;
use crate::train::Watch;

/// Graphs made of one dataset, by what they were made with.
#[derive(Debug, Default)]
pub struct Made(Mutex<HashMap<String, Attacked>>);

impl Made {
    /// The one of this name, or what `make` makes. Two that ask at once both make it: waiting for
    /// each other, threads that share their work could wait for themselves.
    pub(super) fn or(
        &self,
        name: String,
        watch: &Watch<'_>,
        make: impl FnOnce() -> Result<Attacked>,
    ) -> Result<Attacked> {
        let found = self.graphs().get(&name).cloned();
        if let Some(attacked) = found {
            return Ok(attacked);
        }
        let attacked = make()?;
        // One that was stopped has but the first of its flips.
        if !watch.stopped() {
            self.graphs().insert(name, attacked.clone());
        }
        Ok(attacked)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.graphs().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn graphs(&self) -> std::sync::MutexGuard<'_, HashMap<String, Attacked>> {
        // A graph is put in whole or not at all.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the attacked graph of a run depends on, where it does not depend on the model; `None` where
/// it does, or where features are attacked, of which copies are large.
pub(super) fn name_of(study: &AttackStudy, split: &Split, seed: u64) -> Option<String> {
    let method = study.attack.method();
    let flips_alone = matches!(method.budget(), Ok(Budget::Edges(_)));
    let for_all = flips_alone
        && method.sees_loaded()
        && !method.asks_model()
        && !method.is_targeted()
        && study.known == Known::True
        && study.targets == Targets::Usual;
    let stored = serde_json::to_string(&study.attack).ok()?;
    // A split is told by its nodes: another protocol may give it the same name.
    for_all.then(|| format!("{stored} {seed} {:?} {:?}", split.train(), split.test()))
}

#[cfg(test)]
mod tests {
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_graph::{Benchmark, Content};

    use super::*;
    use crate::attack::dice::Dice;
    use crate::attack::mettack::Mettack;
    use crate::features::FeatureScaling;
    use crate::model::Model;
    use crate::nn::Backbone;
    use crate::study::attack::{Mode, Sees};

    #[test]
    fn models_share_what_looks_into_none_and_find_the_same() {
        let config = CsbmConfig {
            num_nodes: 120,
            num_classes: 3,
            num_features: 12,
            ..CsbmConfig::default()
        };
        let graph = csbm(&config, 1).unwrap();
        let splits = graph.splits().to_vec();
        let on = Benchmark {
            name: "csbm".into(),
            content: Content::Graph(graph),
            splits,
        };
        let mettack = Mettack {
            inner_steps: 10,
            ..Mettack::budget(0.05)
        };
        let study = |backbone, features| AttackStudy {
            model: Model::new(backbone).features(features).hidden(8).epochs(20),
            attack: mettack.into(),
            mode: Mode::Poisoning,
            surrogate: None,
            targets: Targets::Usual,
            known: Known::True,
            sees: Sees::Answers,
            runs: 2,
            seed: 1,
        };
        let made = Made::default();
        assert!(made.is_empty());
        let scalings = [FeatureScaling::AsLoaded, FeatureScaling::Standardised];
        for (backbone, features) in [Backbone::Gcn, Backbone::Mlp].into_iter().zip(scalings) {
            let study = study(backbone, features);
            let (alone, shared) = (
                study.run(&on, &Watch::quiet()),
                study.run_sharing(&on, &made, &Watch::quiet()),
            );
            let (alone, shared) = (alone.unwrap(), shared.unwrap());
            for (a, b) in alone.runs.iter().zip(&shared.runs) {
                assert_eq!(
                    (a.attacked_accuracy, a.edges_added),
                    (b.attacked_accuracy, b.edges_added)
                );
            }
            assert_eq!(made.len(), 2, "one for each run, whatever the model");
        }
        let dice = AttackStudy {
            attack: Dice::budget(0.1).into(),
            ..study(Backbone::Gcn, scalings[0])
        };
        dice.run_sharing(&on, &made, &Watch::quiet()).unwrap();
        assert_eq!(
            made.len(),
            2,
            "features are as the model takes them: not shared"
        );
        let stopped = std::sync::atomic::AtomicBool::new(true);
        let other = AttackStudy {
            seed: 9,
            ..study(Backbone::Gcn, scalings[0])
        };
        let _ = other.run_sharing(&on, &made, &Watch::stopped_by(&stopped));
        assert_eq!(made.len(), 2, "what was stopped is not kept");
    }
}
