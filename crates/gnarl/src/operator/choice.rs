//! Which operator messages travel by, and what it makes of a graph.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use gnarl_graph::centrality::Centrality;
use gnarl_graph::names::{self, Given, Setting};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Error, Graph};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Centralities, Cgso, CgsoOperator, Initialisation};
use crate::error::Result;
use crate::nn::layer::{classical, symmetric_normalised, two_hop_operator};
use crate::nn::{Backbone, LearnableOperator, Propagation, UsualOperator};
use crate::tensor::{Operator, Pattern};

/// The operator that messages travel by. Stored by its name, a learnable one with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OperatorChoice {
    /// What the backbone's paper uses.
    #[default]
    Usual,
    /// A classical operator by name.
    Classical(ClassicalOperator),
    /// A learnable centrality operator.
    Cgso(Cgso),
}

const USUAL: &str = "usual";
const CGSO: &str = "cgso";

impl OperatorChoice {
    /// What can be told of a learnable operator; the others take nothing.
    pub const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "centrality",
            "KIND[+KIND]",
            "closed-degree, degree, core, pagerank, walks or walks:LENGTH, or two of them summed, as in degree+core [default: closed-degree]",
        ),
        Setting::new(
            "init",
            "NAME",
            "the operator it starts as, near for A_hat and slow steps from there, or auto for the best on validation items [default: auto]",
        ),
    ];

    /// Every name: the paper's, the classical ones, and the learnable one.
    pub fn names() -> impl Iterator<Item = String> {
        let classical = ClassicalOperator::ALL.into_iter().map(|op| op.to_string());
        std::iter::once(USUAL.to_string())
            .chain(classical)
            .chain([CGSO.to_string()])
    }

    /// The same with these settings put over its own.
    pub fn with(self, given: &[Given]) -> gnarl_graph::Result<Self> {
        match (self, given.first()) {
            (OperatorChoice::Cgso(cgso), _) => {
                Ok(OperatorChoice::Cgso(names::overlaid(&cgso, given)?))
            }
            (_, None) => Ok(self),
            (_, Some((setting, _))) => Err(Error::setting(
                setting,
                format!("belongs to {CGSO}, and the operator is {self}"),
            )),
        }
    }

    /// The operators that are trained to settle on one: from seven starts where the initialisation
    /// is left open. By the closed degree, where `A_hat` is what a graph convolution has, also one
    /// that stays near it: where there is little to learn an operator from, it costs least.
    pub fn candidates(self) -> Vec<Self> {
        match self {
            OperatorChoice::Cgso(
                cgso @ Cgso {
                    init: Initialisation::Auto,
                    ..
                },
            ) => {
                let near = cgso.centrality == Centralities::one(Centrality::ClosedDegree);
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
            OperatorChoice::Usual => f.write_str("the paper's"),
            OperatorChoice::Classical(op) => op.fmt(f),
            OperatorChoice::Cgso(config) => config.fmt(f),
        }
    }
}

impl FromStr for OperatorChoice {
    type Err = Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case(USUAL) {
            return Ok(OperatorChoice::Usual);
        }
        if name.eq_ignore_ascii_case(CGSO) {
            return Ok(OperatorChoice::Cgso(Cgso::default()));
        }
        let known: Vec<String> = Self::names().collect();
        let unknown = |_| Error::unknown("operator", name, known.iter().map(String::as_str));
        name.parse().map(OperatorChoice::Classical).map_err(unknown)
    }
}

impl Serialize for OperatorChoice {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            OperatorChoice::Usual => s.serialize_str(USUAL),
            OperatorChoice::Classical(op) => s.collect_str(op),
            OperatorChoice::Cgso(cgso) => {
                let mut stored = names::Fields::from_iter([(names::KIND.to_string(), CGSO.into())]);
                stored.append(&mut names::fields(cgso).map_err(serde::ser::Error::custom)?);
                stored.serialize(s)
            }
        }
    }
}

impl<'de> Deserialize<'de> for OperatorChoice {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error;
        let (name, settings) =
            names::parted("operator", Deserialize::deserialize(d)?).map_err(D::Error::custom)?;
        match name.parse().map_err(D::Error::custom)? {
            OperatorChoice::Cgso(usual) => {
                let mut all = names::fields(&usual).map_err(D::Error::custom)?;
                all.extend(settings);
                serde_json::from_value(all.into())
                    .map(OperatorChoice::Cgso)
                    .map_err(D::Error::custom)
            }
            fixed if settings.is_empty() => Ok(fixed),
            fixed => Err(D::Error::custom(format!(
                "operator {fixed} takes no settings"
            ))),
        }
    }
}

/// The propagation that a choice of operator makes of one graph.
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

/// The propagation on a graph: the operator chosen and, for H2GCN, the two-hop one. The graph may
/// be the disjoint union of `parts`. `task` is who asks, for what is refused.
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
                return Err(gnarl_graph::Error::argument(task, format!("{backbone} {why}")).into());
            }
            let cgso = CgsoOperator::of_union(graph, parts, config)?;
            let started = cgso.started()?;
            learnable = Some(Arc::new(cgso));
            started
        }
        OperatorChoice::Usual => match backbone.usual_operator() {
            UsualOperator::Classical(kind) => classical(graph, kind)?,
            UsualOperator::SelfLoopPattern => {
                // A_hat has exactly the entries of A + I.
                let a_hat = ClassicalOperator::NormalisedAdjacency.matrix(graph)?;
                Operator::from_pattern(Arc::new(Pattern::of(&a_hat)))
            }
            UsualOperator::SymmetricNormalised => Operator::constant(&symmetric_normalised(graph)?),
        },
    };
    let two_hop = (backbone == Backbone::H2gcn)
        .then(|| two_hop_operator(graph))
        .transpose()?;
    Ok(Propagation {
        operator,
        two_hop,
        learnable,
        rounds: Vec::new(),
    })
}

/// Mean of `ln(degree + 1)`, for PNA; zero without nodes.
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
            ("\"usual\"", "usual".parse().unwrap()),
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
    fn settings_belong_to_the_learnable_one() {
        let given = [("centrality".to_string(), "walks:3".to_string())];
        let cgso = "cgso"
            .parse::<OperatorChoice>()
            .unwrap()
            .with(&given)
            .unwrap();
        assert_eq!(cgso.to_string(), "cgso, walks:3, from auto");
        let e = OperatorChoice::Usual.with(&given).unwrap_err().to_string();
        assert_eq!(
            e,
            "centrality: belongs to cgso, and the operator is the paper's"
        );
    }
}
