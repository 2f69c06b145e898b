//! Models under attack: train on a split, attack, and compare the answers on the same test nodes.
//!
//! Evasion changes what a trained model is given. Poisoning changes what it is trained on: the attacker, who cannot know the model
//! yet, looks into a GCN of their own or into none, and the model is trained and judged on the changed graph.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use gnarl_graph::random::mix;
use gnarl_graph::{Graph, Labels, Split};
use rayon::prelude::*;
use serde::Serialize;

use super::depth::{self, DepthConfig};
use super::node::{self, Preparation, Prepared};
use crate::attack::{Attack, Attacked, Scene};
use crate::classifier::{Classifier, Leaving, WhiteBox};
use crate::depth::{Kind as PolicyKind, Scheme, Structure};
use crate::error::{Error, Result};
use crate::features::FeatureScaling;
use crate::inference::{Choice, Defended};
use crate::nn::{Backbone, NetworkConfig};
use crate::operator::OperatorChoice;
use crate::perturb::FeatureChange;
use crate::train::{TrainConfig, Watch, argmax, median};

/// What is attacked: a trained model's input, or its training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The graph that a trained model is given.
    Evasion,
    /// The graph that a model is trained on.
    Poisoning,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Mode::Evasion { "evasion" } else { "poisoning" })
    }
}

impl FromStr for Mode {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        match name.to_lowercase().as_str() {
            "evasion" => Ok(Mode::Evasion),
            "poisoning" => Ok(Mode::Poisoning),
            _ => Err(gnarl_graph::Error::unknown("mode", name, ["evasion", "poisoning"])),
        }
    }
}

/// What the attacker takes for the classes of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Known {
    /// The true ones: the strongest attacker, and what DICE's reference does.
    True,
    /// The true ones of training nodes; elsewhere what the model that the attacker looks at says.
    Predicted,
}

impl FromStr for Known {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        match name.to_lowercase().as_str() {
            "true" => Ok(Known::True),
            "predicted" => Ok(Known::Predicted),
            _ => Err(gnarl_graph::Error::unknown("labels", name, ["true", "predicted"])),
        }
    }
}

/// A model, its training, and an attack on it.
#[derive(Debug, Clone)]
pub struct AttackStudy {
    /// The operator that the model hears through.
    pub operator: OperatorChoice,
    /// The model.
    pub network: NetworkConfig,
    /// Its training.
    pub training: TrainConfig,
    /// An exit at every layer, how they are trained and where nodes leave; none for a fixed depth.
    pub exits: Option<(Scheme, PolicyKind)>,
    /// The attack.
    pub attack: Attack,
    /// What is attacked.
    pub mode: Mode,
    /// Whether the attacker looks into a GCN of their own; when poisoning there is nothing else to look into.
    pub surrogate: bool,
    /// What the attacker knows of classes.
    pub known: Known,
    /// How answers are read off the model besides a plain forward pass, on the same inputs.
    pub inference: Option<Choice>,
    /// Whether sigma and radius of that are chosen on the validation nodes of every input.
    pub tune: bool,
}

/// One run: one split, one seed. Accuracies are of the test nodes, per cent.
#[derive(Debug, Clone, Serialize)]
pub struct AttackRun {
    /// The seed.
    pub seed: u64,
    /// The split's name.
    pub split: String,
    /// Before the attack.
    pub clean_accuracy: f64,
    /// After it.
    pub attacked_accuracy: f64,
    /// Per cent of the nodes that were right before and are wrong after.
    pub success_rate: f64,
    /// The same with another inference, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defended: Option<DefendedRun>,
    /// Of the clean model on validation nodes.
    pub val_accuracy: f64,
    /// Edges added.
    pub edges_added: usize,
    /// Edges removed.
    pub edges_removed: usize,
    /// How far features moved.
    pub features: FeatureChange,
    /// Median milliseconds of a training step.
    pub epoch_ms: f64,
    /// Whether training was stopped from outside.
    pub interrupted: bool,
    /// Seconds of the attack alone.
    pub attack_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

/// Another inference on the inputs of a run, which were made against the model without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DefendedRun {
    /// Before the attack.
    pub clean_accuracy: f64,
    /// After it.
    pub attacked_accuracy: f64,
    /// Seconds of the two inferences.
    pub seconds: f64,
}

/// Answers on the same nodes before and after an attack, per cent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Right before.
    pub clean_accuracy: f64,
    /// Right after.
    pub attacked_accuracy: f64,
    /// Of those right before, wrong after; 0 where none was right.
    pub success_rate: f64,
}

impl Verdict {
    /// Compares answers on some nodes with their true classes.
    pub fn new(before: &[usize], after: &[usize], nodes: &[(u32, u32)]) -> Self {
        let right = |answers: &[usize], &(u, c): &(u32, u32)| answers[u as usize] == c as usize;
        let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let clean: Vec<_> = nodes.iter().filter(|t| right(before, t)).collect();
        let after_right = nodes.iter().filter(|t| right(after, t)).count();
        let fallen = clean.iter().filter(|t| !right(after, t)).count();
        Self {
            clean_accuracy: share(clean.len(), nodes.len()),
            attacked_accuracy: share(after_right, nodes.len()),
            success_rate: share(fallen, clean.len()),
        }
    }
}

/// The class that a model gives every node.
pub fn answers(model: &dyn Classifier, graph: &Graph) -> Result<Vec<usize>> {
    let scores = model.scores(graph)?;
    Ok((0..scores.num_rows()).map(|u| argmax(scores.row(u))).collect())
}

/// Attacks the input of a classifier, whatever it is made of, and judges it on the test nodes of a split. The attacker looks at
/// `surrogate` where there is one, else at the classifier itself.
pub fn evade(
    graph: &Graph,
    classifier: &dyn Classifier,
    surrogate: Option<&dyn Classifier>,
    attack: &Attack,
    known: Known,
    split: &Split,
    seed: u64,
) -> Result<(Attacked, Verdict)> {
    let attacked = make(graph, Some(surrogate.unwrap_or(classifier)), attack, known, split, seed)?;
    let (before, after) = (answers(classifier, graph)?, answers(classifier, &attacked.graph)?);
    let verdict = Verdict::new(&before, &after, &labelled(split.test(), true_labels(graph)?));
    Ok((attacked, verdict))
}

/// The attack with what the attacker knows.
fn make(
    graph: &Graph,
    model: Option<&dyn Classifier>,
    attack: &Attack,
    known: Known,
    split: &Split,
    seed: u64,
) -> Result<Attacked> {
    let truth = true_labels(graph)?;
    let guessed = match (known, model) {
        (Known::True, _) => None,
        (Known::Predicted, Some(model)) => Some(guesses(graph, truth, &answers(model, graph)?, split)?),
        (Known::Predicted, None) => return Err(refused("predicted labels need a model that predicts them")),
    };
    let labels = guessed.as_ref().unwrap_or(truth);
    let targets = labelled(split.test(), labels);
    attack.run(&Scene { graph, model, targets: &targets, labels: Some(labels) }, seed)
}

/// True classes of training nodes, answers elsewhere.
fn guesses(graph: &Graph, truth: &Labels, answers: &[usize], split: &Split) -> Result<Labels> {
    let mut classes: Vec<Option<u32>> = answers.iter().map(|&c| Some(c as u32)).collect();
    for &u in split.train() {
        classes[u as usize] = truth.get(u).or(classes[u as usize]);
    }
    debug_assert_eq!(classes.len(), graph.num_nodes());
    Ok(Labels::new(classes, truth.num_classes())?)
}

fn labelled(nodes: &[u32], labels: &Labels) -> Vec<(u32, u32)> {
    nodes.iter().filter_map(|&u| labels.get(u).map(|c| (u, c))).collect()
}

fn true_labels(graph: &Graph) -> Result<&Labels> {
    graph.labels().ok_or_else(|| refused("the graph has no labels"))
}

fn refused(what: &str) -> Error {
    Error::Graph(gnarl_graph::Error::argument("attack", what))
}

/// The attacker's own model: two graph convolutions of 64 with the GCN reference's training.
fn train_surrogate(graph: &Graph, epochs: usize, split: &Split, seed: u64, watch: &Watch<'_>) -> Result<WhiteBox> {
    let training = TrainConfig { epochs, ..TrainConfig::default() };
    let network = NetworkConfig::new(Backbone::Gcn);
    let prepared = Prepared::new(graph, Backbone::Gcn, as_loaded(OperatorChoice::Usual))?;
    // A seed of its own: the surrogate of a GCN must not be that GCN.
    let network = node::run(&prepared, &network, &training, split, mix(seed ^ SURROGATE), watch)?.1;
    WhiteBox::new(network, OperatorChoice::Usual)
}

const SURROGATE: u64 = 0x5u64 << 60;

fn as_loaded(operator: OperatorChoice) -> Preparation {
    Preparation { operator, features: FeatureScaling::AsLoaded }
}

/// A trained model and what training came to.
struct Fitted {
    model: Box<dyn Classifier>,
    val_accuracy: f64,
    epoch_ms: f64,
    interrupted: bool,
}

impl AttackStudy {
    /// Whether the attacker trains a model of their own.
    fn needs_surrogate(&self) -> bool {
        let looks = self.attack.method().needs_gradients() || self.known == Known::Predicted;
        self.surrogate || (self.mode == Mode::Poisoning && looks)
    }

    /// Networks trained in one run.
    pub fn trainings(&self) -> usize {
        1 + usize::from(self.needs_surrogate()) + usize::from(self.mode == Mode::Poisoning)
    }

    /// Refuses a surrogate that nobody would look into.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        let looks = self.attack.method().needs_gradients() || self.known == Known::Predicted;
        if self.surrogate && !looks {
            let what = format!("{} with true labels looks into no model", self.attack);
            return Err(gnarl_graph::Error::argument("surrogate", what));
        }
        Ok(())
    }

    /// Trains the model.
    fn fit(&self, graph: &Graph, split: &Split, seed: u64, watch: &Watch<'_>) -> Result<Fitted> {
        let prepared = Prepared::new(graph, self.network.backbone, as_loaded(self.operator))?;
        let Some((scheme, policy)) = self.exits else {
            let (run, network) = node::run(&prepared, &self.network, &self.training, split, seed, watch)?;
            return Ok(Fitted {
                model: Box::new(WhiteBox::new(network, self.operator)?),
                val_accuracy: run.val_accuracy,
                epoch_ms: run.trained.epoch_ms,
                interrupted: run.trained.interrupted,
            });
        };
        let (network, training) = (self.network.clone(), self.training.clone());
        let config = DepthConfig { scheme, network, training, policies: vec![policy], own: 0 };
        let structure = Structure::new(graph, &config.policies)?;
        let (run, exits, policy) = depth::run(&prepared, &structure, &config, split, seed, watch)?;
        Ok(Fitted {
            model: Box::new(Leaving { exits, policy, operator: self.operator }),
            val_accuracy: run.own_val_accuracy,
            epoch_ms: median(run.trained.iter().map(|t| t.epoch_ms).collect()),
            interrupted: run.trained.iter().any(|t| t.interrupted),
        })
    }

    /// One run on a graph whose features are as the model sees them. The operator must be settled
    /// ([`OperatorChoice::candidates`] is one).
    pub fn run(&self, graph: &Graph, split: &Split, seed: u64, watch: &Watch<'_>) -> Result<(AttackRun, Attacked)> {
        self.check()?;
        let start = Instant::now();
        let clean = self.fit(graph, split, seed, watch)?;
        let surrogate = self
            .needs_surrogate()
            .then(|| train_surrogate(graph, self.training.epochs, split, seed, watch))
            .transpose()?;
        let eyes = surrogate.as_ref().map(|surrogate| surrogate as &dyn Classifier);
        let before_attack = Instant::now();
        let (attacked, verdict, defended, attack_seconds) = match self.mode {
            Mode::Evasion => {
                let (attacked, verdict) = evade(graph, &*clean.model, eyes, &self.attack, self.known, split, seed)?;
                let spent = before_attack.elapsed();
                let model = &*clean.model;
                let defended =
                    self.defended([(model, graph), (model, graph)], [graph, &attacked.graph], split, seed)?;
                (attacked, verdict, defended, spent)
            }
            Mode::Poisoning => {
                let attacked = make(graph, eyes, &self.attack, self.known, split, seed)?;
                let spent = before_attack.elapsed();
                let poisoned = self.fit(&attacked.graph, split, seed, watch)?;
                let (before, after) = (answers(&*clean.model, graph)?, answers(&*poisoned.model, &attacked.graph)?);
                let verdict = Verdict::new(&before, &after, &labelled(split.test(), true_labels(graph)?));
                let trained = [(&*clean.model, graph), (&*poisoned.model, &attacked.graph)];
                let defended = self.defended(trained, [graph, &attacked.graph], split, seed)?;
                (attacked, verdict, defended, spent)
            }
        };
        let run = AttackRun {
            seed,
            split: split.name().to_string(),
            clean_accuracy: verdict.clean_accuracy,
            attacked_accuracy: verdict.attacked_accuracy,
            success_rate: verdict.success_rate,
            defended,
            val_accuracy: clean.val_accuracy,
            edges_added: attacked.change.added.len(),
            edges_removed: attacked.change.removed.len(),
            features: attacked.change.features,
            epoch_ms: clean.epoch_ms,
            interrupted: clean.interrupted,
            attack_seconds: attack_seconds.as_secs_f64(),
            seconds: start.elapsed().as_secs_f64(),
        };
        Ok((run, attacked))
    }

    /// The other inference, before and after: models with the graphs they were trained on, and what each is given.
    fn defended(
        &self,
        trained: [(&dyn Classifier, &Graph); 2],
        given: [&Graph; 2],
        split: &Split,
        seed: u64,
    ) -> Result<Option<DefendedRun>> {
        let Some(choice) = &self.inference else { return Ok(None) };
        let start = Instant::now();
        let mut accuracies = [0.0; 2];
        for (accuracy, ((model, trained_on), graph)) in accuracies.iter_mut().zip(trained.into_iter().zip(given)) {
            let nodes = labelled(split.test(), true_labels(graph)?);
            let choice = if self.tune { choice.tuned(model, trained_on, graph, split, seed)? } else { *choice };
            let found = match choice.around(model, trained_on, split)? {
                Some(around) => answers(&Defended { model, crf: choice.crf, around: &around, seed }, graph)?,
                None => answers(model, graph)?,
            };
            *accuracy = Verdict::new(&found, &found, &nodes).clean_accuracy;
        }
        let [clean_accuracy, attacked_accuracy] = accuracies;
        Ok(Some(DefendedRun { clean_accuracy, attacked_accuracy, seconds: start.elapsed().as_secs_f64() }))
    }

    /// Several runs side by side: run `i` takes split `i` (in turn) and seed `seed + i`. Where attacked features are large, fewer at a
    /// time.
    pub fn runs(
        &self,
        graph: &Graph,
        splits: &[Split],
        count: usize,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Result<Vec<AttackRun>> {
        if splits.is_empty() {
            return Err(refused("there is no split to run on"));
        }
        let entries = graph.features().map_or(0, |f| f.num_rows() * f.num_cols());
        let at_once = (ENTRIES_AT_ONCE / entries.max(1)).clamp(1, count.max(1));
        let all: Vec<usize> = (0..count).collect();
        let one = |&i: &usize| {
            let (split, seed) = (&splits[i % splits.len()], seed.wrapping_add(i as u64));
            Ok(self.run(graph, split, seed, watch)?.0)
        };
        let mut runs = Vec::with_capacity(count);
        for some in all.chunks(at_once) {
            runs.extend(some.par_iter().map(one).collect::<Result<Vec<_>>>()?);
        }
        Ok(runs)
    }
}

/// Features of all runs at work, made dense: each holds a few copies of its own.
const ENTRIES_AT_ONCE: usize = 1 << 27;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::dice::Dice;
    use crate::attack::gaussian::Gaussian;
    use crate::attack::pgd_features::PgdFeatures;
    use crate::attack::pgd_structure::PgdStructure;
    use crate::classifier::FromFn;
    use crate::nn::Backbone;
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use std::sync::atomic::AtomicBool;

    fn graph() -> Graph {
        csbm(&CsbmConfig { num_nodes: 300, num_classes: 3, num_features: 16, ..CsbmConfig::default() }, 1).unwrap()
    }

    /// Less of a search than usual.
    const STRUCTURE: PgdStructure = PgdStructure { steps: 20, block: 3000, ..PgdStructure::budget(0.1) };

    fn study(attack: impl Into<Attack>, mode: Mode) -> AttackStudy {
        AttackStudy {
            operator: OperatorChoice::Usual,
            network: NetworkConfig { hidden: 8, heads: 1, ..NetworkConfig::new(Backbone::Gcn) },
            training: TrainConfig { epochs: 40, ..TrainConfig::default() },
            exits: None,
            attack: attack.into(),
            mode,
            surrogate: false,
            known: Known::True,
            inference: None,
            tune: false,
        }
    }

    fn runs(study: &AttackStudy) -> Result<Vec<AttackRun>> {
        let (graph, stop) = (graph(), AtomicBool::new(false));
        study.runs(&graph, graph.splits(), 2, 1, &Watch { on_epoch: &|_, _| (), stop: &stop })
    }

    fn mean(runs: &[AttackRun], f: fn(&AttackRun) -> f64) -> f64 {
        runs.iter().map(f).sum::<f64>() / runs.len() as f64
    }

    #[test]
    fn verdicts_by_hand() {
        let nodes = [(0, 1), (1, 0), (2, 1), (3, 2)];
        let verdict = Verdict::new(&[1, 0, 1, 0], &[1, 1, 0, 2], &nodes);
        assert_eq!((verdict.clean_accuracy, verdict.attacked_accuracy), (75.0, 50.0));
        assert!(
            (verdict.success_rate - 200.0 / 3.0).abs() < 1e-9,
            "two of three fell, the one that rose does not count"
        );
        assert_eq!(Verdict::new(&[0], &[0], &[(0, 1)]).success_rate, 0.0);
    }

    #[test]
    fn every_attack_runs_in_both_modes() {
        for attack in Attack::all() {
            let attack = if attack.name() == "pgd-structure" { STRUCTURE.into() } else { attack };
            for mode in [Mode::Evasion, Mode::Poisoning] {
                let study = study(attack, mode);
                let runs = runs(&study).unwrap();
                assert_eq!(runs.len(), 2);
                for run in &runs {
                    assert!(run.clean_accuracy > 60.0, "{attack}: {run:?}");
                    let changed = run.edges_added + run.edges_removed + run.features.nodes;
                    assert!(changed > 0, "{attack}: {run:?}");
                }
                let nothing = AttackStudy { attack: attack.with(&[("budget".into(), "0".into())]).unwrap(), ..study };
                for run in self::runs(&nothing).unwrap() {
                    assert_eq!((run.clean_accuracy, run.success_rate), (run.attacked_accuracy, 0.0), "{attack} {mode}");
                }
            }
        }
    }

    #[test]
    fn a_surrogate_attacks_what_has_no_gradients_and_less_well_than_the_model_itself() {
        let through = |surrogate| AttackStudy { surrogate, ..study(PgdFeatures::budget(0.1), Mode::Evasion) };
        let (own, other) = (runs(&through(false)).unwrap(), runs(&through(true)).unwrap());
        let after = |runs: &[AttackRun]| mean(runs, |r| r.attacked_accuracy);
        assert!(after(&own) < after(&other), "{} against {}", after(&own), after(&other));
        assert!(after(&other) < mean(&other, |r| r.clean_accuracy) - 5.0, "it carries over");
        let gat = AttackStudy {
            network: NetworkConfig { hidden: 8, heads: 2, ..NetworkConfig::new(Backbone::Gat) },
            ..study(STRUCTURE, Mode::Evasion)
        };
        assert!(runs(&gat).unwrap_err().to_string().contains("through a surrogate"));
        assert!(runs(&AttackStudy { surrogate: true, ..gat }).is_ok());
        let e =
            runs(&AttackStudy { surrogate: true, ..study(Dice::budget(0.1), Mode::Evasion) }).unwrap_err().to_string();
        assert_eq!(e, "surrogate: dice with true labels looks into no model");
    }

    /// What an inference method wrapped around a model is: scores, and no network to look into.
    #[test]
    fn any_classifier_can_be_attacked() {
        let (graph, stop) = (graph(), AtomicBool::new(false));
        let watch = Watch { on_epoch: &|_, _| (), stop: &stop };
        let study = study(PgdFeatures::budget(0.5), Mode::Evasion);
        let split = &graph.splits()[0];
        let inner = study.fit(&graph, split, 1, &watch).unwrap().model;
        let closed = FromFn { num_classes: 3, function: |g: &Graph| inner.scores(g) };
        let against = |surrogate| evade(&graph, &closed, surrogate, &study.attack, Known::True, split, 1);
        assert!(against(None).unwrap_err().to_string().contains("this model has none to give"));
        let (attacked, verdict) = against(Some(&*inner)).unwrap();
        assert!(verdict.success_rate > 20.0 && attacked.change.features.nodes > 0, "{verdict:?}");
    }

    #[test]
    fn a_model_with_exits_is_attacked_as_a_whole_and_through_a_surrogate() {
        let policy = "confidence".parse().unwrap();
        let exits =
            |attack: Attack| AttackStudy { exits: Some((Scheme::AdmpSt, policy)), ..study(attack, Mode::Evasion) };
        let pgd = Attack::from(PgdFeatures::budget(0.5));
        let noisy = runs(&exits(Gaussian::budget(3.0).into())).unwrap();
        assert!(mean(&noisy, |r| r.attacked_accuracy) < mean(&noisy, |r| r.clean_accuracy) - 5.0, "{noisy:?}");
        let e = runs(&exits(pgd)).unwrap_err().to_string();
        assert!(e.contains("this model has none to give"), "{e}");
        let through = runs(&AttackStudy { surrogate: true, ..exits(pgd) }).unwrap();
        assert!(mean(&through, |r| r.success_rate) > 0.0);
    }

    #[test]
    fn predicted_labels_are_true_ones_on_training_nodes_alone() {
        let graph = graph();
        let (truth, split) = (graph.labels().unwrap(), &graph.splits()[0]);
        let labels = guesses(&graph, truth, &vec![2; 300], split).unwrap();
        assert!(split.train().iter().all(|&u| labels.get(u) == truth.get(u)));
        assert!(split.test().iter().chain(split.val()).all(|&u| labels.get(u) == Some(2)));
        let predicted = AttackStudy { known: Known::Predicted, ..study(Dice::budget(0.1), Mode::Evasion) };
        let truthful = study(Dice::budget(0.1), Mode::Evasion);
        let flips = |study: &AttackStudy| runs(study).unwrap().iter().map(|r| r.edges_added).collect::<Vec<_>>();
        assert_ne!(flips(&predicted), Vec::<usize>::new());
        assert_eq!(truthful.trainings(), 1);
        assert_eq!(AttackStudy { mode: Mode::Poisoning, ..predicted }.trainings(), 3);
    }
}
