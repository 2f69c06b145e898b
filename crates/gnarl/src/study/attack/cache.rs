//! Caches attacked graphs. An attack that evaluates no model returns the same graph for every
//! model, and Metattack ([Zügner and Günnemann 2019](https://arxiv.org/abs/1902.08412)) takes
//! longer than any training on its graph.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use gnarl_graph::Split;

use super::request::{AttackStudy, LabelKnowledge, Targets};
use gnarl_graph::Result;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::{Attacked, Property, Requirement};
use gnarl_robust::perturb::Budget;

/// Attacked graphs of one dataset, by attack, split and seed.
#[derive(Debug, Default)]
pub struct AttackCache(Mutex<HashMap<String, Attacked>>);

impl AttackCache {
    /// Returns the cached graph of this key, or runs the attack. Two threads that miss at the same
    /// time both run it: threads that share their work could wait for themselves.
    pub(super) fn get_or_run(
        &self,
        key: String,
        watch: &Callbacks<'_>,
        run: impl FnOnce() -> Result<Attacked>,
    ) -> Result<Attacked> {
        let found = self.graphs().get(&key).cloned();
        if let Some(attacked) = found {
            return Ok(attacked);
        }
        let attacked = run()?;
        // A stopped attack has only the first of its flips.
        if !watch.stopped() {
            self.graphs().insert(key, attacked.clone());
        }
        Ok(attacked)
    }

    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.graphs().len()
    }

    /// Returns true if there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn graphs(&self) -> std::sync::MutexGuard<'_, HashMap<String, Attacked>> {
        // A graph is inserted whole or not at all.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cache key of a run: everything that its attacked graph depends on. `None` if the graph
/// depends on the model, or if features are attacked, whose copies are large.
pub(super) fn key_of(study: &AttackStudy, split: &Split, seed: u64) -> Option<String> {
    let attack = &study.attack;
    let flips_alone = matches!(attack.budget(), Ok(Budget::Edges(_)));
    let for_all = flips_alone
        && attack.needs(Requirement::LoadedFeatures)
        && !attack.queries_model()
        && !attack.has(Property::Targeted)
        && study.labels == LabelKnowledge::True
        && study.targets == Targets::ByAttack;
    let stored = serde_json::to_string(&study.attack).ok()?;
    // The key has the nodes of the split: splits of two protocols may have the same name.
    for_all.then(|| format!("{stored} {seed} {:?} {:?}", split.train(), split.test()))
}

#[cfg(test)]
mod tests {
    use gnarl_data::{Benchmark, Content};
    use gnarl_graph::generate::{CsbmConfig, csbm};

    use super::*;
    use crate::model::Model;
    use crate::study::attack::{Mode, RunOptions};
    use gnarl_nn::features::FeatureScaling;
    use gnarl_nn::networks::Backbone;
    use gnarl_robust::attack::dice::Dice;
    use gnarl_robust::attack::mettack::Mettack;

    #[test]
    fn models_share_attacks_that_evaluate_no_model() {
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
        let study = |backbone, features| {
            let model = Model::new(backbone).features(features).hidden(8).epochs(20);
            AttackStudy::new(model, mettack)
                .mode(Mode::Poisoning)
                .runs(2)
                .seed(1)
        };
        let cache = AttackCache::default();
        let watch = Callbacks::quiet();
        let sharing = RunOptions::new(&watch).cache(&cache);
        assert!(cache.is_empty());
        let scalings = [FeatureScaling::AsLoaded, FeatureScaling::Standardised];
        for (backbone, features) in [Backbone::GCN, Backbone::MLP].into_iter().zip(scalings) {
            let study = study(backbone, features);
            let (alone, shared) = (study.run(&on, &watch), study.run(&on, sharing));
            let (alone, shared) = (alone.unwrap(), shared.unwrap());
            for (a, b) in alone.runs.iter().zip(&shared.runs) {
                assert_eq!(
                    (a.attacked_accuracy, a.edges_added),
                    (b.attacked_accuracy, b.edges_added)
                );
            }
            assert_eq!(cache.len(), 2, "one for each run, whatever the model");
        }
        let dice = AttackStudy {
            attack: Dice::budget(0.1).into(),
            ..study(Backbone::GCN, scalings[0])
        };
        dice.run(&on, sharing).unwrap();
        assert_eq!(
            cache.len(),
            2,
            "features are as the model takes them: not shared"
        );
        let stopped = std::sync::atomic::AtomicBool::new(true);
        let other = study(Backbone::GCN, scalings[0]).seed(9);
        let watch = Callbacks::stopped_by(&stopped);
        let _ = other.run(&on, RunOptions::new(&watch).cache(&cache));
        assert_eq!(cache.len(), 2, "what was stopped is not kept");
    }
}
