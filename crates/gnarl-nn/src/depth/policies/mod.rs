//! Policies that choose the exit of each node or graph (ADMP-GNN, Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)), learned on validation nodes or graphs
//! alone. The centrality of a graph is the mean over its nodes.
//!
//! | name | exit of a node or graph | file |
//! | --- | --- | --- |
//! | `degree`, `core`, `walks`, `pagerank` | the best one on the validation nodes or graphs of its bucket, as in ADMP-GNN | [`buckets`] |
//! | `NAME+NAME` | the best one in a bucket of two centralities, a grid | [`buckets`] |
//! | `size` | the best one in a bucket of the graphs' numbers of nodes; for sets alone | [`size`] |
//! | `confidence` | the first one whose calibrated confidence passes a threshold | [`confidence`] |
//! | `most-confident` | the one with the largest calibrated confidence | [`most_confident`] |
//! | `mixture` | one that predicts the class of the weighted mean of all exits' calibrated probabilities | [`mixture`] |
//! | `blend` | one that predicts the class of a weighted sum of log-probabilities | [`pool`] |
//! | `offsets` | the single best one, with an offset per class: the control of `pool` | [`offsets`] |
//! | `pool` | as `blend`, with an offset per class | [`pool`] |
//! | `echo` | as `pool`, with the predictions for the node's neighbours, weighted by degree; for nodes alone | [`pool`] |
//!
//! A policy maps nodes or graphs to exits ([`Chosen`]). The pools weight classes by all exits, then
//! choose the first exit that predicts the preferred class; classes that no exit predicts are not
//! considered. The oracle, correct wherever any exit is, therefore bounds all policies except
//! `offsets`, which has scores of its own.
//!
//! To add a policy: one file with what is learned ([`Family`], [`Learned`]) and one line in the
//! list below.

pub mod buckets;
pub mod confidence;
pub mod mixture;
pub mod most_confident;
pub mod offsets;
pub mod pool;
pub mod predictions;
pub mod single;
pub mod size;
pub mod structure;
#[cfg(test)]
mod testing;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use gnarl_data::Task;
use gnarl_graph::centrality::Centrality;
use gnarl_graph::settings::{self, Value};
use serde::{Deserialize, Serialize};

pub use predictions::{Chosen, ExitPredictions};
pub use structure::Structure;

use super::fit::FOLDS;
use crate::operator::Centralities;
use crate::train::Targets;
use buckets::Buckets;
use gnarl_graph::Result;
use single::Single;

/// Family of policies that are learned in the same way.
pub trait Family: Learned + Sized {
    /// Setting in which the policies of a family differ; `()` for a family of one.
    type Setting;

    /// Learns a policy on validation nodes or graphs, of which there is at least one.
    fn learn(
        setting: Self::Setting,
        structure: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self>;

    /// Returns the reason why the policy does not work for a task, if so.
    fn refused_on(_: Self::Setting, _: Task) -> Option<&'static str> {
        None
    }
}

/// Learned policy.
pub trait Learned {
    /// Chooses the exit of every node or graph. The policy must [`fit`](Self::fits) the
    /// predictions.
    fn choose(&self, structure: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen>;

    /// Returns true if it was learned for this number of exits and classes.
    fn fits(&self, exits: usize, classes: usize) -> bool;

    /// Returns the centralities it needs.
    fn centralities(&self) -> Vec<Centrality> {
        Vec::new()
    }
}

/// Declares the setting of a policy within its family.
macro_rules! setting {
    () => {
        ()
    };
    ($setting:expr) => {
        $setting
    };
}

/// Declares the kinds of policy and the enum of learned policies from one list: a variant, its
/// name, a short description, the learned type, and its setting if a family has several policies.
/// Buckets, which are named by their centralities, and a single exit are not in the list.
macro_rules! policies {
    ($($Variant:ident = $name:literal, $about:literal, $Learned:ty $(, $setting:expr)?;)+) => {
        /// Kind of policy.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum Kind {
            /// Buckets of one or two centralities.
            Buckets(Centralities),
            $(#[doc = $about] $Variant),+
        }

        impl Kind {
            /// Kinds with a name of their own.
            const NAMED: [(&'static str, Kind); NUM_NAMED] = [$(($name, Kind::$Variant)),+];

            /// Every kind, with buckets of four centralities and two grids. Some work for nodes
            /// alone, some for graphs alone ([`all_of`](Self::all_of)).
            pub const ALL: [Kind; BY_BUCKETS.len() + NUM_NAMED] = all();

            /// Returns the reason why the policy does not work for a task, if so.
            pub fn refused_on(&self, task: Task) -> Option<&'static str> {
                match self {
                    Kind::Buckets(centralities) => Buckets::refused_on(*centralities, task),
                    $(Kind::$Variant => <$Learned>::refused_on(setting!($($setting)?), task)),+
                }
            }
        }

        impl Value for Kind {
            const KIND: settings::Kind = settings::Kind::Text(
                concat!("degree|core|walks[:LENGTH]|pagerank|NAME+NAME", $("|", $name),+)
            );
        }

        const NUM_NAMED: usize = [$($name),+].len();

        /// Learned policy, as stored in a saved model.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Policy {
            /// One exit for every node or graph.
            Single(Single),
            /// Exit of the node's or graph's bucket.
            Buckets(Buckets),
            $(#[doc = $about] $Variant($Learned)),+
        }

        impl Policy {
            /// Learns a policy on validation nodes or graphs. Without any, every node or graph uses
            /// the last exit.
            pub fn learn(kind: Kind, structure: &Structure<'_>, predictions: &ExitPredictions, val: &Targets) -> Result<Self> {
                if val.items.is_empty() {
                    return Ok(Policy::Single(Single { exit: predictions.num_exits() - 1 }));
                }
                Ok(match kind {
                    Kind::Buckets(centralities) => {
                        Policy::Buckets(Buckets::learn(centralities, structure, predictions, val)?)
                    }
                    $(Kind::$Variant => {
                        Policy::$Variant(<$Learned>::learn(setting!($($setting)?), structure, predictions, val)?)
                    })+
                })
            }

            fn learned(&self) -> &dyn Learned {
                match self {
                    Policy::Single(single) => single,
                    Policy::Buckets(buckets) => buckets,
                    $(Policy::$Variant(learned) => learned),+
                }
            }
        }
    };
}

policies! {
    Size = "size", "The exit of the bucket of a graph's number of nodes.", size::Size;
    Confidence = "confidence", "The first exit whose confidence passes a threshold.", confidence::Confidence;
    MostConfident = "most-confident", "The exit with the largest confidence.", most_confident::MostConfident;
    Mixture = "mixture", "A mixture of probabilities.", mixture::Mixture;
    Blend = "blend", "A weighted sum of log-probabilities.", pool::Pool, pool::Evidence::Exits;
    Offsets = "offsets", "The single best exit with an offset per class: the control of the pool.", offsets::Offsets;
    Pool = "pool", "A weighted sum of log-probabilities with an offset per class.", pool::Pool, pool::Evidence::Offsets;
    Echo = "echo", "A pool that also uses the predictions for the neighbours.", pool::Pool, pool::Evidence::Neighbours;
}

const WALKS: Centrality = Centrality::WALKS;

/// Centralities of ADMP-GNN and two grids.
const BY_BUCKETS: [Kind; 6] = [
    Kind::Buckets(Centralities::one(Centrality::DEGREE)),
    Kind::Buckets(Centralities::one(Centrality::CORE)),
    Kind::Buckets(Centralities::one(WALKS)),
    Kind::Buckets(Centralities::one(Centrality::PAGERANK)),
    Kind::Buckets(Centralities::sum(Centrality::DEGREE, Centrality::CORE)),
    Kind::Buckets(Centralities::sum(WALKS, Centrality::PAGERANK)),
];

const fn all() -> [Kind; BY_BUCKETS.len() + NUM_NAMED] {
    let mut all = [BY_BUCKETS[0]; BY_BUCKETS.len() + NUM_NAMED];
    let mut i = 1;
    while i < all.len() {
        all[i] = if i < BY_BUCKETS.len() {
            BY_BUCKETS[i]
        } else {
            Kind::NAMED[i - BY_BUCKETS.len()].1
        };
        i += 1;
    }
    all
}

impl Kind {
    /// Returns every kind that works for a task.
    pub fn all_of(task: Task) -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|kind| kind.refused_on(task).is_none())
            .collect()
    }

    /// Returns the centralities it needs.
    pub fn centralities(&self) -> Vec<Centrality> {
        match self {
            Kind::Buckets(centralities) => centralities.iter().collect(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Buckets(centralities) => centralities.fmt(f),
            named => f.write_str(
                Self::NAMED
                    .iter()
                    .find(|(_, kind)| kind == named)
                    .map_or("?", |(name, _)| name),
            ),
        }
    }
}

impl FromStr for Kind {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if let Some((_, kind)) = Self::NAMED
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            return Ok(*kind);
        }
        // Names with two centralities, or with a number, have a more specific error.
        if name.contains(['+', ':']) {
            return name.parse().map(Kind::Buckets);
        }
        let known = ["degree", "core", "walks", "pagerank"]
            .into_iter()
            .chain(Self::NAMED.iter().map(|(n, _)| *n));
        name.parse()
            .map(Kind::Buckets)
            .map_err(|_| gnarl_graph::Error::unknown("policy", name, known))
    }
}

impl TryFrom<String> for Kind {
    type Error = gnarl_graph::Error;

    fn try_from(name: String) -> gnarl_graph::Result<Self> {
        name.parse()
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.to_string()
    }
}

impl Policy {
    /// Returns a policy that uses this exit for every node or graph.
    pub fn single(exit: usize) -> Self {
        Policy::Single(Single { exit })
    }

    /// Chooses the exit of every node or graph. Fails for a policy of another number of exits or
    /// classes.
    pub fn choose(
        &self,
        structure: &Structure<'_>,
        predictions: &ExitPredictions,
    ) -> Result<Chosen> {
        let (exits, classes) = (predictions.num_exits(), predictions.num_classes);
        if !self.learned().fits(exits, classes) {
            let what = format!(
                "a policy that does not fit {exits} exits and {classes} classes; train the model again"
            );
            return Err(gnarl_graph::Error::argument("policy", what));
        }
        self.learned().choose(structure, predictions)
    }

    /// Returns the exit of every node or graph. The prediction may differ from the exit's own: see
    /// [`choose`](Self::choose).
    pub fn exits(
        &self,
        structure: &Structure<'_>,
        predictions: &ExitPredictions,
    ) -> Result<Vec<usize>> {
        Ok(self.choose(structure, predictions)?.exits)
    }

    /// Returns the kinds that a [`Structure`] must be computed for.
    pub fn kinds(&self) -> Vec<Kind> {
        self.learned()
            .centralities()
            .into_iter()
            .map(|c| Kind::Buckets(Centralities::one(c)))
            .collect()
    }
}

/// Computes the cross-validated accuracy of a policy of this kind on the validation nodes or
/// graphs, per cent: learned on four fifths and evaluated on the rest, by position. In-sample
/// accuracy favours the policies with most parameters.
pub fn cross_fitted_accuracy(
    kind: Kind,
    structure: &Structure<'_>,
    predictions: &ExitPredictions,
    val: &Targets,
) -> Result<f64> {
    let mut correct = 0.0;
    for fold in 0..FOLDS {
        let (rest, held) = (
            part(val, |i| i % FOLDS != fold),
            part(val, |i| i % FOLDS == fold),
        );
        let chosen =
            Policy::learn(kind, structure, predictions, &rest)?.choose(structure, predictions)?;
        correct += predictions.policy_accuracy(&chosen, &held) * held.items.len() as f64;
    }
    Ok(correct / val.items.len().max(1) as f64)
}

/// Selects the targets at some positions.
fn part(targets: &Targets, is_in: impl Fn(usize) -> bool) -> Targets {
    let of = |all: &[u32]| {
        Arc::new(
            (0..all.len())
                .filter(|&i| is_in(i))
                .map(|i| all[i])
                .collect(),
        )
    };
    Targets {
        items: of(&targets.items),
        classes: of(&targets.classes),
        weights: targets.weights.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{confident, leaves_and_corners, targets};
    use super::*;
    use gnarl_graph::generate::{cycle, star};
    use gnarl_graph::random::stream;
    use gnarl_graph::{Graph, Labels};
    use rand::RngExt;

    fn kind(name: &str) -> Kind {
        name.parse().unwrap()
    }

    #[test]
    fn odd_cases_have_defined_results() {
        let truth: Vec<u32> = (0..6).map(|u| u % 2).collect();
        let wrong: Vec<u32> = truth.iter().map(|c| 1 - c).collect();
        let (val, none) = (targets([0, 1, 2], &truth), targets([], &truth));
        let constant = cycle(6).unwrap();
        let one_exit = confident(std::slice::from_ref(&truth), 2);
        let two_exits = confident(&[wrong, truth.clone()], 2);
        for kind in Kind::all_of(Task::Node) {
            let structure = Structure::new(&constant, &[kind]).unwrap();
            let exits = |predictions: &ExitPredictions, val: &Targets| {
                let policy = Policy::learn(kind, &structure, predictions, val).unwrap();
                policy.exits(&structure, predictions).unwrap()
            };
            assert_eq!(exits(&one_exit, &val), [0; 6], "{kind} of L = 0");
            assert_eq!(
                exits(&two_exits, &none),
                [1; 6],
                "{kind} without validation nodes"
            );
            if matches!(kind, Kind::Buckets(_) | Kind::Confidence) {
                assert_eq!(
                    exits(&two_exits, &val),
                    [1; 6],
                    "{kind} of a constant centrality is one bucket"
                );
            }
            assert_eq!(
                cross_fitted_accuracy(kind, &structure, &two_exits, &none).unwrap(),
                0.0,
                "{kind}"
            );
        }
        // Two nodes, ten buckets at most.
        let pair = star(2).unwrap();
        let structure = Structure::new(&pair, &[kind("pagerank")]).unwrap();
        let predictions = confident(&[vec![0, 0], vec![1, 1]], 2);
        let policy = Policy::learn(
            kind("pagerank"),
            &structure,
            &predictions,
            &targets([0], &[1, 1]),
        )
        .unwrap();
        assert_eq!(policy.exits(&structure, &predictions).unwrap(), [1, 1]);
    }

    #[test]
    fn policies_are_stored_and_read_back() {
        let (graph, predictions, truth) = leaves_and_corners();
        let val = targets((0..101).filter(|u| u % 2 == 0), &truth);
        let kinds = Kind::all_of(Task::Node);
        let structure = Structure::new(&graph, &kinds).unwrap();
        for kind in kinds {
            let policy = Policy::learn(kind, &structure, &predictions, &val).unwrap();
            let again: Policy =
                serde_json::from_str(&serde_json::to_string(&policy).unwrap()).unwrap();
            let own = Structure::new(&graph, &again.kinds()).unwrap();
            let [before, after] = [
                policy.choose(&structure, &predictions),
                again.choose(&own, &predictions),
            ]
            .map(|chosen| chosen.unwrap().exits);
            assert_eq!(before, after, "{kind}");
        }
    }

    #[test]
    fn a_policy_of_other_exits_is_refused() {
        let graph = cycle(4).unwrap();
        let structure = Structure::new(&graph, &[kind("degree")]).unwrap();
        let predictions = confident(&[vec![0; 4], vec![1; 4]], 2);
        for broken in [
            r#"{"single":{"exit":2}}"#,
            r#"{"buckets":{"centralities":"degree","cuts":[[1.0]],"exits":[0]}}"#,
            r#"{"buckets":{"centralities":"degree","cuts":[],"exits":[0]}}"#,
            r#"{"buckets":{"centralities":"degree","cuts":[[]],"exits":[7]}}"#,
            r#"{"confidence":{"inverse_temperatures":[1.0],"threshold":0.5,"otherwise":0}}"#,
            r#"{"most-confident":{"inverse_temperatures":[1.0]}}"#,
            r#"{"mixture":{"inverse_temperatures":[1.0,1.0],"weights":[1.0]}}"#,
            r#"{"pool":{"evidence":"offsets","coefficients":[1.0]}}"#,
            r#"{"offsets":{"exit":0,"scale":1.0,"offsets":[1.0]}}"#,
            r#"{"size":{"cuts":[4.0],"exits":[0]}}"#,
            r#"{"size":{"cuts":[],"exits":[2]}}"#,
        ] {
            let policy: Policy = serde_json::from_str(broken).unwrap();
            let e = policy
                .exits(&structure, &predictions)
                .unwrap_err()
                .to_string();
            assert!(
                e.contains("does not fit 2 exits and 2 classes"),
                "{broken}: {e}"
            );
        }
    }

    #[test]
    fn names_are_read_back_and_wrong_ones_named() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse::<Kind>().unwrap(), kind);
        }
        let names = Kind::ALL.map(|kind| kind.to_string());
        let buckets = [
            "degree",
            "core",
            "walks",
            "pagerank",
            "degree+core",
            "walks+pagerank",
        ];
        assert_eq!(names[..6], buckets);
        let settings::Kind::Text(form) = Kind::KIND else {
            panic!("a policy is text: centralities may be joined");
        };
        for (name, _) in Kind::NAMED {
            assert!(
                form.split('|').any(|known| known == name),
                "{name} in {form}"
            );
        }
        assert_eq!(kind("walks:3").to_string(), "walks:3");
        let refusal = |name: &str| name.parse::<Kind>().unwrap_err().to_string();
        assert_eq!(
            refusal("mixtur"),
            "unknown policy 'mixtur'; did you mean mixture?"
        );
        assert!(refusal("degree+degree").contains("names degree twice"));
        assert!(
            refusal("betweenness")
                .contains("known: degree, core, walks, pagerank, size, confidence")
        );
    }

    #[test]
    fn nodes_and_graphs_have_policies_of_their_own() {
        let names = |task| {
            Kind::all_of(task)
                .iter()
                .map(Kind::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let by_predictions = "confidence most-confident mixture blend offsets pool";
        let nodes =
            format!("degree core walks pagerank degree+core walks+pagerank {by_predictions} echo");
        assert!(
            names(Task::Node).starts_with(&nodes),
            "{}",
            names(Task::Node)
        );
        let graphs = format!("degree core walks degree+core size {by_predictions}");
        assert!(
            names(Task::Graph).starts_with(&graphs),
            "{}",
            names(Task::Graph)
        );
        let graph = cycle(4).unwrap();
        let structure = Structure::new(&graph, &[Kind::Size]).unwrap();
        let e = Policy::learn(
            Kind::Size,
            &structure,
            &confident(&[vec![0; 4]], 2),
            &targets([0], &[0; 4]),
        )
        .unwrap_err();
        assert!(e.to_string().contains("size needs graphs of a set"), "{e}");
    }

    #[test]
    fn cross_fitted_figures_are_of_nodes_that_were_not_seen() {
        // By position, exit 0 is correct on the fold of nodes 0, 5, … and exit 1 on the other four
        // folds. Learned on the others, the four folds use exit 1 (correct), and so does the first
        // fold (wrong).
        let truth = vec![1; 20];
        let first: Vec<u32> = (0..20).map(|u| u32::from(u % 5 == 0)).collect();
        let second: Vec<u32> = first.iter().map(|c| 1 - c).collect();
        let predictions = confident(&[first, second], 2);
        let graph = cycle(20).unwrap();
        let structure = Structure::new(&graph, &[kind("degree")]).unwrap();
        let found = cross_fitted_accuracy(
            kind("degree"),
            &structure,
            &predictions,
            &targets(0..20, &truth),
        )
        .unwrap();
        assert_eq!(found, 80.0);
        // Two nodes, each correct at the exit that is wrong for the other: half in-sample, zero
        // cross-validated.
        let noise = confident(&[vec![0, 0, 0, 0, 0, 0], vec![1, 1, 1, 1, 1, 1]], 2);
        let graph = cycle(6).unwrap();
        let structure = Structure::new(&graph, &[kind("degree")]).unwrap();
        let val = targets(0..2, &[0, 1, 0, 0, 0, 0]);
        let policy = Policy::learn(kind("degree"), &structure, &noise, &val).unwrap();
        let chosen = policy.choose(&structure, &noise).unwrap();
        assert_eq!(noise.policy_accuracy(&chosen, &val), 50.0);
        assert_eq!(
            cross_fitted_accuracy(kind("degree"), &structure, &noise, &val).unwrap(),
            0.0
        );
    }

    /// No exit, and no policy that uses an exit's prediction, has a higher accuracy than the
    /// oracle, on any graph, scores and nodes; and learning is repeatable.
    #[test]
    fn the_oracle_bounds_every_choice_of_exits() {
        for case in 0..24 {
            let rng = &mut stream(1, "oracle test", case);
            let edges: Vec<(u32, u32)> = (0..case * 3)
                .map(|_| (rng.random_range(0..30), rng.random_range(0..30)))
                .collect();
            let graph = Graph::from_edges(30, edges).unwrap().0;
            let scores = (0..3)
                .map(|_| (0..120).map(|_| rng.random_range(-3f32..3.0)).collect())
                .collect();
            let predictions = ExitPredictions::from_rows(scores, 30, 4);
            let labels =
                Labels::new((0..30).map(|_| Some(rng.random_range(0..4))).collect(), 4).unwrap();
            let num_val = rng.random_range(0..20u32);
            let val = Targets::new(&(0..num_val).collect::<Vec<_>>(), &labels);
            let test = Targets::new(&(num_val..30).collect::<Vec<_>>(), &labels);
            let graphs: Vec<Graph> = (0..30).map(|i| cycle(3 + i % 7).unwrap()).collect();
            let [of_nodes, of_graphs] = [Task::Node, Task::Graph].map(Kind::all_of);
            let nodes = Structure::new(&graph, &of_nodes).unwrap();
            let graphs = Structure::of_graphs(&graphs, &of_graphs).unwrap();
            let oracle = predictions.oracle_accuracy(&test);
            assert!(
                (0..3).all(|exit| predictions.accuracy(exit, &test) <= oracle),
                "case {case}"
            );
            let kinds = of_nodes.into_iter().map(|kind| (kind, &nodes));
            for (kind, structure) in kinds.chain(of_graphs.into_iter().map(|kind| (kind, &graphs)))
            {
                let policy = Policy::learn(kind, structure, &predictions, &val).unwrap();
                let chosen = policy.choose(structure, &predictions).unwrap();
                if kind == Kind::Offsets {
                    assert_eq!(chosen.scores.is_some(), num_val > 0, "case {case}");
                }
                assert!(
                    chosen.scores.is_some()
                        || predictions.policy_accuracy(&chosen, &test) <= oracle,
                    "{kind}, case {case}"
                );
                assert_eq!(
                    policy,
                    Policy::learn(kind, structure, &predictions, &val).unwrap(),
                    "{kind}, case {case}"
                );
            }
        }
    }
}
