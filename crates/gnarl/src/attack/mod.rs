//! Attacks: small changes to a graph's features or edges that make a model's answers wrong (thesis ch. 5, "Experimental Setup").
//!
//! | file | what |
//! | --- | --- |
//! | `budget` | how much an attack may change, as types that cannot say anything else |
//! | `attacked` | what an attack changed, and the check that every attack ends with |
//! | `loss` | what an attacker who follows gradients climbs |
//! | `gaussian` | noise on every feature |
//! | `pgd_features` | projected gradient ascent on features |
//! | `relaxed` | operators of graphs whose edges may be half there |
//! | `pgd_structure` | projected gradient ascent on edges, then draws of whole ones |
//! | `dice` | edges within a class removed, edges between classes added |
//! | `random_flips` | edges added and removed at random |
//! | `pairs` | pairs of nodes drawn at random, in memory that grows with their number |
//!
//! An attack sees a [`Scene`] and gives an [`Attacked`] graph, and [`Attack::run`] never hands one out that breaks its budget or is not
//! a valid graph. To add an attack: a file here, a variant of [`Kind`] and of [`Attack`], and an entry in the list below.
//!
//! ```
//! use gnarl::attack::{Attack, Kind, Options, Scene};
//! use gnarl_graph::generate::{CsbmConfig, csbm};
//! let graph = csbm(&CsbmConfig::default(), 0)?;
//! let attack = Attack::new(Kind::Dice, Some(0.1), Options::default())?;
//! let attacked = attack.run(&Scene { graph: &graph, model: None, targets: &[], labels: graph.labels() }, 1)?;
//! assert_eq!(attacked.change.num_flips(), graph.num_edges() / 10);
//! # Ok::<(), gnarl::Error>(())
//! ```

mod attacked;
mod budget;
mod dice;
mod gaussian;
mod loss;
mod pairs;
mod pgd_features;
mod pgd_structure;
mod random_flips;
mod relaxed;
#[cfg(test)]
mod testing;

use std::fmt;
use std::str::FromStr;

use gnarl_graph::{Graph, Labels};
use serde::Serialize;

pub use attacked::{Attacked, Change, FeatureChange};
pub use budget::{Budget, EdgeShare, FeatureBudget, Noise, Norm, Scope};
pub use loss::Loss;
pub use pgd_features::PgdFeatures;
pub use pgd_structure::PgdStructure;
pub use random_flips::Moves;
pub use relaxed::Relaxed;

use crate::classifier::{Classifier, WhiteBox};
use crate::error::{Error, Result};

/// The attacks, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Gaussian noise on features.
    Gaussian,
    /// Projected gradient ascent on features (Madry et al. 2018).
    PgdFeatures,
    /// Projected gradient ascent on edges (Xu et al. 2019; Geisler et al. 2021).
    PgdStructure,
    /// Delete internally, connect externally (Waniek et al. 2018).
    Dice,
    /// Pairs of nodes flipped at random.
    RandomFlips,
    /// Edges added at random.
    RandomAdd,
    /// Edges removed at random.
    RandomRemove,
}

/// What there is to know about an attack before it runs.
#[derive(Debug)]
struct Entry {
    kind: Kind,
    name: &'static str,
    about: &'static str,
    /// What the number that a user gives as its budget means.
    unit: &'static str,
    /// The thesis' budget.
    budget: f64,
    /// Whether it follows gradients.
    white_box: bool,
}

const PSI: &str = "psi, the expected norm of a node's noise: each entry's deviation is psi / sqrt(features)";
const OF_NORM: &str = "share of the features' norm";
const OF_EDGES: &str = "share of the edges, rounded down to whole flips";

const fn entry(kind: Kind, name: &'static str, about: &'static str, unit: &'static str, budget: f64) -> Entry {
    Entry { kind, name, about, unit, budget, white_box: false }
}

impl Entry {
    /// Follows gradients.
    const fn by_gradients(self) -> Self {
        Self { white_box: true, ..self }
    }
}

/// Every attack: the one list that names, help and tests come from.
const ENTRIES: [Entry; 7] = [
    entry(Kind::Gaussian, "gaussian", "noise on every feature", PSI, 0.5),
    entry(Kind::PgdFeatures, "pgd-features", "gradient ascent on features", OF_NORM, 0.15).by_gradients(),
    entry(Kind::PgdStructure, "pgd-structure", "gradient ascent on edges", OF_EDGES, 0.1).by_gradients(),
    entry(Kind::Dice, "dice", "edges within classes removed, between classes added", OF_EDGES, 0.1),
    entry(Kind::RandomFlips, "random-flips", "pairs of nodes flipped at random", OF_EDGES, 0.1),
    entry(Kind::RandomAdd, "random-add", "edges added at random", OF_EDGES, 0.1),
    entry(Kind::RandomRemove, "random-remove", "edges removed at random", OF_EDGES, 0.1),
];

impl Kind {
    /// Every attack.
    pub fn all() -> impl Iterator<Item = Kind> {
        ENTRIES.iter().map(|entry| entry.kind)
    }

    fn entry(self) -> &'static Entry {
        const LIST: &[Entry] = &ENTRIES;
        LIST.iter().find(|entry| entry.kind == self).expect("every variant has its entry: a test counts them")
    }

    /// What it does, in a few words.
    pub fn about(self) -> &'static str {
        self.entry().about
    }

    /// What its budget counts.
    pub fn unit(self) -> &'static str {
        self.entry().unit
    }

    /// The budget of the thesis.
    pub fn usual_budget(self) -> f64 {
        self.entry().budget
    }

    /// Whether it changes features; the others change edges.
    pub fn changes_features(self) -> bool {
        matches!(self, Kind::Gaussian | Kind::PgdFeatures)
    }

    /// Whether it follows a model's gradients.
    pub fn needs_gradients(self) -> bool {
        self.entry().white_box
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().name)
    }
}

impl FromStr for Kind {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = ENTRIES.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
        found
            .map(|entry| entry.kind)
            .ok_or_else(|| gnarl_graph::Error::unknown("attack", name, ENTRIES.iter().map(|entry| entry.name)))
    }
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// What may be said about an attack beside its budget; what is left open takes its usual value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Options {
    /// pgd-features: the norm of the budget.
    pub norm: Option<Norm>,
    /// pgd-features: what the budget is shared by.
    pub scope: Option<Scope>,
    /// pgd-features, pgd-structure: what is climbed.
    pub loss: Option<Loss>,
    /// pgd-features, pgd-structure: steps of ascent.
    pub steps: Option<usize>,
    /// pgd-features: starting points.
    pub starts: Option<usize>,
    /// pgd-features: share of a node's entries that may move.
    pub support: Option<f64>,
    /// pgd-structure: pairs without an edge that are looked at together.
    pub block: Option<usize>,
    /// pgd-structure: draws of whole flips.
    pub draws: Option<usize>,
}

/// An attack with its budget and settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Attack {
    /// Gaussian noise on features.
    Gaussian {
        /// How much.
        budget: Noise,
    },
    /// Projected gradient ascent on features.
    PgdFeatures {
        /// How much.
        budget: FeatureBudget,
        /// How.
        search: PgdFeatures,
    },
    /// Projected gradient ascent on edges.
    PgdStructure {
        /// How much.
        budget: EdgeShare,
        /// How.
        search: PgdStructure,
    },
    /// Delete internally, connect externally.
    Dice {
        /// How much.
        budget: EdgeShare,
    },
    /// Edges at random.
    Random {
        /// How much.
        budget: EdgeShare,
        /// Which moves.
        moves: Moves,
    },
}

impl Attack {
    /// The attack of a kind with this budget (the thesis' where there is none), in the unit that [`Kind::unit`] says. Refuses a
    /// budget that is no number or negative, a share of edges above one, and options that do not belong to the attack.
    pub fn new(kind: Kind, budget: Option<f64>, options: Options) -> gnarl_graph::Result<Self> {
        let amount = budget.unwrap_or(kind.usual_budget());
        let Options { norm, scope, loss, steps, starts, support, block, draws } = options;
        let belongs = |known: bool, name: &'static str, to: &str| match known {
            true => Ok(()),
            false => Err(gnarl_graph::Error::argument(name, format!("belongs to {to}, and the attack is {kind}"))),
        };
        let (features, structure) = (kind == Kind::PgdFeatures, kind == Kind::PgdStructure);
        belongs(features || norm.is_none(), "norm", "pgd-features")?;
        belongs(features || scope.is_none(), "scope", "pgd-features")?;
        belongs(features || starts.is_none(), "starts", "pgd-features")?;
        belongs(features || support.is_none(), "support", "pgd-features")?;
        belongs(structure || block.is_none(), "block", "pgd-structure")?;
        belongs(structure || draws.is_none(), "draws", "pgd-structure")?;
        belongs(features || structure || loss.is_none(), "loss", "pgd-features and pgd-structure")?;
        belongs(features || structure || steps.is_none(), "steps", "pgd-features and pgd-structure")?;
        Ok(match kind {
            Kind::Gaussian => Attack::Gaussian { budget: Noise::new(amount)? },
            Kind::PgdFeatures => {
                let usual = PgdFeatures::default();
                let search = PgdFeatures {
                    steps: steps.unwrap_or(usual.steps),
                    starts: starts.unwrap_or(usual.starts),
                    loss: loss.unwrap_or(usual.loss),
                    support: support.unwrap_or(usual.support),
                };
                search.check()?;
                let (norm, scope) = (norm.unwrap_or(Norm::L2), scope.unwrap_or(Scope::Node));
                Attack::PgdFeatures { budget: FeatureBudget::new(amount, norm, scope)?, search }
            }
            Kind::PgdStructure => {
                let usual = PgdStructure::default();
                let search = PgdStructure {
                    steps: steps.unwrap_or(usual.steps),
                    block: block.unwrap_or(usual.block),
                    draws: draws.unwrap_or(usual.draws),
                    loss: loss.unwrap_or(usual.loss),
                };
                search.check()?;
                Attack::PgdStructure { budget: EdgeShare::new(amount)?, search }
            }
            Kind::Dice => Attack::Dice { budget: EdgeShare::new(amount)? },
            Kind::RandomFlips => Attack::Random { budget: EdgeShare::new(amount)?, moves: Moves::Flip },
            Kind::RandomAdd => Attack::Random { budget: EdgeShare::new(amount)?, moves: Moves::Add },
            Kind::RandomRemove => Attack::Random { budget: EdgeShare::new(amount)?, moves: Moves::Remove },
        })
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Attack::Gaussian { .. } => Kind::Gaussian,
            Attack::PgdFeatures { .. } => Kind::PgdFeatures,
            Attack::PgdStructure { .. } => Kind::PgdStructure,
            Attack::Dice { .. } => Kind::Dice,
            Attack::Random { moves: Moves::Flip, .. } => Kind::RandomFlips,
            Attack::Random { moves: Moves::Add, .. } => Kind::RandomAdd,
            Attack::Random { moves: Moves::Remove, .. } => Kind::RandomRemove,
        }
    }

    /// What it may change.
    pub fn budget(&self) -> Budget {
        match *self {
            Attack::Gaussian { budget } => Budget::Noise(budget),
            Attack::PgdFeatures { budget, .. } => Budget::Features(budget),
            Attack::PgdStructure { budget, .. } | Attack::Dice { budget } | Attack::Random { budget, .. } => {
                Budget::Edges(budget)
            }
        }
    }

    /// Attacks. A budget of nothing changes nothing. The result is checked: whatever breaks the budget or is no valid graph is an
    /// internal error, not a result.
    pub fn run(&self, scene: &Scene<'_>, seed: u64) -> Result<Attacked> {
        if self.budget().is_zero() {
            return Attacked::new(scene.graph, scene.graph.clone());
        }
        let graph = match self {
            Attack::Gaussian { budget } => gaussian::attack(scene, *budget, seed)?,
            Attack::PgdFeatures { budget, search } => pgd_features::attack(scene, *budget, *search, seed)?,
            Attack::PgdStructure { budget, search } => pgd_structure::attack(scene, *budget, *search, seed)?,
            Attack::Dice { budget } => dice::attack(scene, *budget, seed)?,
            Attack::Random { budget, moves } => random_flips::attack(scene, *budget, *moves, seed)?,
        };
        let attacked = Attacked::new(scene.graph, graph)?;
        attacked.assert_within(scene.graph, &self.budget())?;
        Ok(attacked)
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.kind(), self.budget())
    }
}

/// What an attacker sees.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The graph to change, its features as a model sees them.
    pub graph: &'a Graph,
    /// The model to fool, or one to practise on in its place; none for an attack that looks at no model.
    pub model: Option<&'a dyn Classifier>,
    /// The nodes whose answers are to become wrong, and what the attacker takes for their classes.
    pub targets: &'a [(u32, u32)],
    /// What the attacker takes for the classes of all nodes.
    pub labels: Option<&'a Labels>,
}

impl<'a> Scene<'a> {
    /// The network to take gradients through.
    fn white_box(&self, attack: Kind) -> Result<&'a WhiteBox> {
        let found = self.model.and_then(|model| model.white_box());
        found.ok_or_else(|| {
            let what = format!(
                "{attack} follows gradients, and this model has none to give; attack it through a surrogate (--surrogate), or with {}",
                "gaussian, dice or random-flips"
            );
            refused(what)
        })
    }

    /// The targets, for an attack that must have some.
    fn some_targets(&self, attack: Kind) -> Result<&'a [(u32, u32)]> {
        match self.targets.is_empty() {
            true => Err(refused(format!("{attack} needs labelled nodes to mislead, and there are none"))),
            false => Ok(self.targets),
        }
    }
}

impl fmt::Debug for Scene<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("graph", self.graph).field("targets", &self.targets.len()).finish_non_exhaustive()
    }
}

fn refused(what: impl Into<String>) -> Error {
    Error::Graph(gnarl_graph::Error::argument("attack", what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Backbone;
    use gnarl_graph::{CsrMatrix, Features, Labels, Split};
    use proptest::prelude::*;
    use testing::{graph, targets, trained, untrained};

    /// Little work for the attacks that search.
    fn quick(kind: Kind) -> Options {
        match kind {
            Kind::PgdFeatures => Options { steps: Some(3), starts: Some(2), ..Options::default() },
            Kind::PgdStructure => Options { steps: Some(4), block: Some(20), draws: Some(3), ..Options::default() },
            _ => Options::default(),
        }
    }

    #[test]
    fn names_are_read_back_and_every_kind_has_its_attack() {
        for kind in Kind::all() {
            assert_eq!(kind.to_string().to_uppercase().parse::<Kind>().unwrap(), kind);
            assert_eq!(Attack::new(kind, None, quick(kind)).unwrap().kind(), kind);
        }
        assert_eq!(Kind::RandomRemove as usize + 1, ENTRIES.len(), "a variant without an entry");
        let e = "dise".parse::<Kind>().unwrap_err().to_string();
        assert!(e.contains("unknown attack 'dise'; did you mean dice"), "{e}");
    }

    #[test]
    fn options_that_do_not_belong_are_refused() {
        for (kind, options, expected) in [
            (Kind::Dice, Options { norm: Some(Norm::L2), ..Options::default() }, "norm: belongs to pgd-features"),
            (Kind::Gaussian, Options { steps: Some(3), ..Options::default() }, "steps: belongs to pgd-features and"),
            (Kind::PgdFeatures, Options { block: Some(3), ..Options::default() }, "block: belongs to pgd-structure"),
        ] {
            let e = Attack::new(kind, None, options).unwrap_err().to_string();
            assert!(e.contains(expected) && e.ends_with(&format!("and the attack is {kind}")), "{e}");
        }
    }

    #[test]
    fn a_budget_of_nothing_changes_nothing_and_a_bad_one_is_refused() {
        let graph = graph(1);
        let (model, targets) = (untrained(&graph, Backbone::Gcn), targets(&graph));
        let scene = Scene { graph: &graph, model: Some(&model), targets: &targets, labels: graph.labels() };
        for kind in Kind::all() {
            let attacked = Attack::new(kind, Some(0.0), quick(kind)).unwrap().run(&scene, 1).unwrap();
            assert_eq!(attacked.change.num_flips(), 0, "{kind}");
            assert_eq!(attacked.change.features, FeatureChange::default(), "{kind}");
            assert_eq!(attacked.graph.features(), graph.features(), "{kind}");
            for bad in [-1.0, f64::NAN, f64::INFINITY] {
                let e = Attack::new(kind, Some(bad), quick(kind)).unwrap_err().to_string();
                assert!(e.contains("must be a number of at least 0"), "{kind}: {e}");
            }
        }
        let no_targets = Scene { targets: &[], ..scene };
        for kind in Kind::all().filter(|kind| kind.needs_gradients()) {
            let e = Attack::new(kind, None, quick(kind)).unwrap().run(&no_targets, 1).unwrap_err().to_string();
            assert!(e.contains("needs labelled nodes to mislead"), "{e}");
        }
    }

    #[test]
    fn the_seed_decides_and_threads_do_not() {
        let graph = graph(1);
        let (model, targets) = (trained(&graph, Backbone::Gcn), targets(&graph));
        let scene = Scene { graph: &graph, model: Some(&model), targets: &targets, labels: graph.labels() };
        for kind in Kind::all() {
            let attack = Attack::new(kind, None, quick(kind)).unwrap();
            let outcome = |threads, seed| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let attacked = pool.install(|| attack.run(&scene, seed).unwrap());
                let bits: Vec<u32> = attacked.graph.features().unwrap().values().iter().map(|v| v.to_bits()).collect();
                (attacked.change.added, attacked.change.removed, bits)
            };
            let one = outcome(1, 7);
            assert_eq!(one, outcome(2, 7), "{kind}");
            // The first starting point of the ascent on features is the same for every seed.
            assert!(kind == Kind::PgdFeatures || one != outcome(2, 8), "{kind}");
        }
    }

    fn any_graph() -> impl Strategy<Value = Graph> {
        let nodes = 4usize..14;
        let edges = prop::collection::vec((0u32..14, 0u32..14), 0..50);
        let values = prop::collection::vec(prop_oneof![Just(0f32), -3f32..3.0], 14 * 5);
        (nodes, edges, values, any::<bool>()).prop_map(|(n, edges, values, sparse)| {
            let inside = edges.into_iter().filter(|&(u, v)| (u as usize) < n && (v as usize) < n);
            let dense = gnarl_graph::DenseMatrix::new(n, 5, values[..n * 5].to_vec()).unwrap();
            let features =
                if sparse { Features::Sparse(CsrMatrix::from_dense(&dense)) } else { Features::Dense(dense) };
            let labels = Labels::new((0..n as u32).map(|u| (u % 5 != 4).then_some(u % 3)).collect(), 3).unwrap();
            let split = Split::new("only", vec![0], vec![1], (2..n as u32).collect()).unwrap();
            let graph = Graph::from_edges(n, inside).unwrap().0;
            let graph = graph.with_features(features).unwrap().with_labels(labels).unwrap();
            graph.with_splits(vec![split]).unwrap()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// [`Attack::run`] checks what it gives; that it gives anything at all is what is tested here, with the counts once more.
        #[test]
        fn budgets_are_kept_and_graphs_stay_valid(
            graph in any_graph(), share in 0f64..1.0, linf in any::<bool>(), whole in any::<bool>(), seed in any::<u64>()
        ) {
            let model = untrained(&graph, Backbone::Gcn);
            let targets = targets(&graph);
            let scene = Scene { graph: &graph, model: Some(&model), targets: &targets, labels: graph.labels() };
            for kind in Kind::all() {
                let mut options = quick(kind);
                if kind == Kind::PgdFeatures {
                    options.norm = Some(if linf { Norm::Linf } else { Norm::L2 });
                    options.scope = Some(if whole { Scope::Matrix } else { Scope::Node });
                }
                let attacked = Attack::new(kind, Some(share), options).unwrap().run(&scene, seed);
                let Attacked { graph: after, change } = attacked.map_err(|e| TestCaseError::fail(format!("{kind}: {e}")))?;
                let allowed = (share * graph.num_edges() as f64).floor() as usize;
                prop_assert!(change.num_flips() <= allowed, "{}: {} of {}", kind, change.num_flips(), allowed);
                prop_assert_eq!(after.num_edges() + change.removed.len(), graph.num_edges() + change.added.len());
                prop_assert_eq!(after.labels(), graph.labels());
                prop_assert_eq!(after.splits(), graph.splits());
                if kind == Kind::PgdFeatures {
                    let norm = |f: &Features| f.values().iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
                    let largest = |f: &Features| f.values().iter().fold(0f64, |m, &v| m.max(f64::from(v).abs()));
                    let before = graph.features().unwrap();
                    // What both scopes imply for the whole matrix.
                    if linf {
                        prop_assert!(change.features.linf <= share * largest(before) * (1.0 + 1e-9));
                    } else {
                        prop_assert!(change.features.l2 <= share * norm(before) * (1.0 + 1e-9));
                    }
                }
            }
        }
    }
}
