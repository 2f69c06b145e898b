//! The message-passing operator of a model, and the propagation it gives on a graph.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use gnarl_graph::centrality::Centrality;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::settings::{self, ChoiceInfo, Fields, Kind, SettingText, Value};
use gnarl_graph::{Error, Graph};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Centralities, Cgso, CgsoOperator, Initialisation};
use crate::networks::layer::{classical, symmetric_normalised, two_hop_operator};
use crate::networks::{Backbone, DefaultOperator, LearnableOperator, Propagation};
use gnarl_graph::Result;
use gnarl_tensor::{Operator, Pattern};

/// Message-passing operator. A classical operator is stored by its name, `cgso` with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OperatorChoice {
    /// Operator of the backbone's paper.
    #[default]
    Default,
    /// Classical operator.
    Classical(ClassicalOperator),
    /// Learnable centrality operator.
    Cgso(Cgso),
}

/// Earlier name of the default operator, which old files have.
const USUAL: &str = "usual";

/// Entry of the default operator.
const DEFAULT: ChoiceInfo = ChoiceInfo {
    name: "default",
    about: "the operator of the backbone's paper",
    settings: &[],
    defaults: Fields::new,
};

/// Entries of the default operator, the classical ones, and the learnable one.
const ENTRIES: [ChoiceInfo; ClassicalOperator::LIST.len() + 2] = {
    let mut all = [DEFAULT; ClassicalOperator::LIST.len() + 2];
    let mut i = 0;
    while i < ClassicalOperator::LIST.len() {
        all[i + 1] = ClassicalOperator::LIST[i];
        i += 1;
    }
    all[i + 1] = ChoiceInfo::of::<Cgso>();
    all
};

impl OperatorChoice {
    /// List of operators: the paper's, the classical ones, and the learnable one.
    pub const LIST: &'static [ChoiceInfo] = &ENTRIES;

    /// Returns every operator with its default settings, in the order of the list.
    pub fn all() -> impl Iterator<Item = Self> {
        let classical = ClassicalOperator::ALL.into_iter().map(Self::Classical);
        std::iter::once(Self::Default)
            .chain(classical)
            .chain([Self::Cgso(Cgso::default())])
    }

    /// Returns the name in files and on the command line.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// Returns a short description.
    pub fn about(&self) -> &'static str {
        self.info().about
    }

    /// Returns the entry of the list.
    pub fn info(&self) -> ChoiceInfo {
        match self {
            Self::Default => DEFAULT,
            Self::Classical(operator) => operator.info(),
            Self::Cgso(_) => ChoiceInfo::of::<Cgso>(),
        }
    }

    /// Replaces the settings of the operator. A setting of another operator is refused.
    pub fn with(&self, given: &[SettingText]) -> gnarl_graph::Result<Self> {
        settings::check_applies("operator", Self::LIST, &self.info(), given)?;
        let Self::Cgso(cgso) = self else {
            return Ok(*self);
        };
        let settings = self.info().settings;
        let cgso = settings::with_settings(cgso, given, settings)
            .map_err(|e| settings::by_flag(settings, e))
            .map(Self::Cgso)?;
        cgso.check()?;
        Ok(cgso)
    }

    /// Checks that the settings are within their ranges.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        match self {
            Self::Cgso(cgso) => settings::Choice::check(cgso),
            Self::Default | Self::Classical(_) => Ok(()),
        }
    }

    /// Returns the name and the settings as they are stored.
    pub fn stored(&self) -> gnarl_graph::Result<Fields> {
        match self {
            Self::Cgso(cgso) => settings::stored(cgso),
            Self::Default | Self::Classical(_) => Ok(Fields::from_iter([(
                settings::KIND.into(),
                self.name().into(),
            )])),
        }
    }

    /// Returns the operators that are trained and compared on validation nodes or graphs: one for
    /// each initialisation if it is open. With the closed degree, which makes `A_hat` the operator
    /// of a graph convolution, one of them stays near `A_hat`: it has the lowest cost if there is
    /// little to learn.
    pub fn candidates(self) -> Vec<Self> {
        match self {
            OperatorChoice::Cgso(
                cgso @ Cgso {
                    init: Initialisation::Auto,
                    ..
                },
            ) => {
                let near = cgso.centrality == Centralities::one(Centrality::CLOSED_DEGREE);
                let starts = ClassicalOperator::ALL.into_iter().map(Initialisation::Of);
                let starts = starts.chain(near.then_some(Initialisation::Near));
                starts
                    .map(|init| OperatorChoice::Cgso(Cgso { init, ..cgso }))
                    .collect()
            }
            settled => vec![settled],
        }
    }
}

impl Value for OperatorChoice {
    const KIND: Kind = Kind::Name(|| {
        let names = Self::LIST.iter().map(|known| known.name.to_string());
        names.collect()
    });
}

impl From<Cgso> for OperatorChoice {
    fn from(cgso: Cgso) -> Self {
        OperatorChoice::Cgso(cgso)
    }
}

impl From<ClassicalOperator> for OperatorChoice {
    fn from(operator: ClassicalOperator) -> Self {
        OperatorChoice::Classical(operator)
    }
}

impl fmt::Display for OperatorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorChoice::Default => f.write_str("the paper's"),
            OperatorChoice::Classical(op) => op.fmt(f),
            OperatorChoice::Cgso(config) => config.fmt(f),
        }
    }
}

impl FromStr for OperatorChoice {
    type Err = Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case(USUAL) {
            return Ok(OperatorChoice::Default);
        }
        // `l-sym` also means `L_sym`.
        if let Ok(classical) = name.parse() {
            return Ok(OperatorChoice::Classical(classical));
        }
        let found = Self::all().find(|known| known.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            Error::unknown("operator", name, Self::LIST.iter().map(|known| known.name))
        })
    }
}

impl Serialize for OperatorChoice {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        if self.info().settings.is_empty() {
            return s.serialize_str(self.name());
        }
        let stored = self.stored().map_err(serde::ser::Error::custom)?;
        stored.serialize(s)
    }
}

impl<'de> Deserialize<'de> for OperatorChoice {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error;
        let (name, settings) = settings::split_kind("operator", Deserialize::deserialize(d)?)
            .map_err(D::Error::custom)?;
        match name.parse().map_err(D::Error::custom)? {
            OperatorChoice::Cgso(_) => settings::restored(settings)
                .map(OperatorChoice::Cgso)
                .map_err(D::Error::custom),
            fixed if settings.is_empty() => Ok(fixed),
            fixed => Err(D::Error::custom(format!(
                "operator {} takes no settings",
                fixed.name()
            ))),
        }
    }
}

/// Computes the propagation of an operator on one graph.
pub fn propagation(
    graph: &Graph,
    backbone: Backbone,
    choice: OperatorChoice,
) -> Result<Propagation> {
    propagation_of_union(
        "node classification",
        graph,
        std::slice::from_ref(graph),
        backbone,
        choice,
    )
}

/// Computes the propagation of an operator on a graph, with the two-hop operator for H2GCN. The
/// graph may be the disjoint union of `parts`; `task` names the task in errors.
pub fn propagation_of_union(
    task: &'static str,
    graph: &Graph,
    parts: &[Graph],
    backbone: Backbone,
    choice: OperatorChoice,
) -> Result<Propagation> {
    let mut learnable: Option<Arc<dyn LearnableOperator>> = None;
    let operator = match choice {
        OperatorChoice::Classical(kind) => classical(graph, kind)?,
        OperatorChoice::Cgso(config) => {
            if let Some(why) = backbone.fixed_operator() {
                return Err(Error::unsupported(task, format!("{backbone} {why}")));
            }
            let cgso = CgsoOperator::of_union(graph, parts, config)?;
            let started = cgso.started()?;
            learnable = Some(Arc::new(cgso));
            started
        }
        OperatorChoice::Default => match backbone.default_operator() {
            DefaultOperator::Classical(kind) => classical(graph, kind)?,
            DefaultOperator::SelfLoopPattern => {
                // A_hat has exactly the entries of A + I.
                let a_hat = ClassicalOperator::NORMALISED_ADJACENCY.matrix(graph)?;
                Operator::from_pattern(Arc::new(Pattern::of(&a_hat)))
            }
            DefaultOperator::SymmetricNormalised => {
                Operator::constant(&symmetric_normalised(graph)?)
            }
        },
    };
    let two_hop = (backbone.is(Backbone::H2GCN))
        .then(|| two_hop_operator(graph))
        .transpose()?;
    Ok(Propagation {
        operator,
        two_hop,
        learnable,
        layer_operators: Vec::new(),
    })
}

/// Computes the mean of `ln(degree + 1)`, for PNA; zero without nodes.
pub fn mean_log_degree(graph: &Graph) -> f64 {
    let log_degrees = (0..graph.num_nodes() as u32).map(|u| (graph.degree(u) as f64 + 1.0).ln());
    log_degrees.sum::<f64>() / graph.num_nodes().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_stored_by_name_and_read_back() {
        for (text, choice) in [
            ("\"default\"", "usual".parse().unwrap()),
            ("\"L_sym\"", "l-sym".parse().unwrap()),
            (
                r#"{"kind":"cgso","centrality":"core","init":"A_hat"}"#,
                OperatorChoice::Cgso(Cgso {
                    centrality: "core".parse().unwrap(),
                    init: "a-hat".parse().unwrap(),
                }),
            ),
        ] {
            assert_eq!(serde_json::to_string(&choice).unwrap(), text);
            assert_eq!(
                serde_json::from_str::<OperatorChoice>(text).unwrap(),
                choice
            );
        }
        let old = serde_json::from_str::<OperatorChoice>("\"usual\"").unwrap();
        assert_eq!(old, OperatorChoice::Default);
        let auto: OperatorChoice =
            serde_json::from_str(r#"{"kind":"cgso","centrality":"degree+core"}"#).unwrap();
        assert_eq!(auto.candidates().len(), 7);
        assert_eq!(OperatorChoice::Cgso(Cgso::default()).candidates().len(), 8);
        for (broken, what) in [
            ("\"cgs\"", "did you mean cgso"),
            (r#"{"kind":"A","init":"auto"}"#, "takes no settings"),
            (r#"{"kind":"cgso","centrality":"x"}"#, "unknown centrality"),
            (r#"{"kind":"cgso","centre":"x"}"#, "centre"),
        ] {
            let e = serde_json::from_str::<OperatorChoice>(broken)
                .unwrap_err()
                .to_string();
            assert!(e.contains(what), "{broken}: {e}");
        }
    }

    #[test]
    fn the_list_is_in_the_order_of_the_operators() {
        for (entry, operator) in OperatorChoice::LIST.iter().zip(OperatorChoice::all()) {
            assert_eq!(operator.name(), entry.name);
            assert_eq!(entry.name.parse::<OperatorChoice>().unwrap(), operator);
            if let OperatorChoice::Classical(classical) = operator {
                assert_eq!(classical.to_string(), entry.name);
            }
            let stored = serde_json::to_value(operator).unwrap();
            assert_eq!(stored.is_string(), entry.settings.is_empty());
        }
        assert_eq!(OperatorChoice::LIST.len(), OperatorChoice::all().count());
        let e = "l-sim".parse::<OperatorChoice>().unwrap_err().to_string();
        assert!(e.contains("unknown operator 'l-sim'"), "{e}");
    }

    #[test]
    fn settings_belong_to_the_learnable_one() {
        let given = [("centrality".to_string(), "walks:3".to_string())];
        let cgso = "cgso"
            .parse::<OperatorChoice>()
            .unwrap()
            .with(&given)
            .unwrap();
        assert_eq!(cgso.to_string(), "cgso, walks:3, from auto");
        let e = OperatorChoice::Default
            .with(&given)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "centrality: belongs to cgso, and the operator is default"
        );
    }
}
