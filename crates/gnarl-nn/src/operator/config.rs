//! Settings of centrality graph shift operators (CGSO, Abbahaddou et al. 2024,
//! [arXiv:2411.04655](https://arxiv.org/abs/2411.04655)): the centralities and the initialisation.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::Error;
use gnarl_graph::centrality::Centrality;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::settings::{Kind, Settings, Value};
use serde::{Deserialize, Serialize};

use crate::networks::OperatorScalar;

/// Settings of a learnable centrality operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Settings)]
#[serde(deny_unknown_fields)]
#[choice(
    name = "cgso",
    about = "learnable centrality graph shift operator",
    constant
)]
pub struct Cgso {
    /// Centrality of the nodes: closed-degree, degree, core, pagerank, walks or walks:LENGTH; two
    /// with a + between them give the sum of two operators, as degree+core.
    // With the closed degree and `A_hat` the operator starts as a graph convolution, isolated nodes
    // included.
    #[setting(default = Centralities::one(Centrality::CLOSED_DEGREE))]
    pub centrality: Centralities,
    /// Initialisation of the scalars: the operator they start from, near for A_hat with smaller
    /// learning rates, or auto for the best one on validation nodes or graphs.
    #[setting(default = Initialisation::Auto)]
    pub init: Initialisation,
}

impl Cgso {
    /// Returns the operator of one centrality, with the best initialisation on validation nodes or
    /// graphs.
    pub const fn by(kind: Centrality) -> Self {
        Self {
            centrality: Centralities::one(kind),
            init: Initialisation::Auto,
        }
    }

    /// Returns the sum of the operators of two different centralities.
    pub const fn by_sum(first: Centrality, second: Centrality) -> Self {
        Self {
            centrality: Centralities::sum(first, second),
            init: Initialisation::Auto,
        }
    }

    /// Sets the initialisation: the scalars that give this classical operator when V = D.
    pub const fn from(self, operator: ClassicalOperator) -> Self {
        Self {
            init: Initialisation::Of(operator),
            ..self
        }
    }
}

impl Cgso {
    /// Returns the scalars that a network owns for it; none before its initialisation is selected.
    pub fn scalars(&self) -> Vec<OperatorScalar> {
        let Some(start) = self.init.start() else {
            return Vec::new();
        };
        let starts = Scalars::of(start).to_array();
        let scalar = |(i, name): (usize, String)| OperatorScalar {
            name,
            start: starts[i % 7] as f32,
            exponent: Scalars::NAMES[i % 7].starts_with('e'),
        };
        self.centrality
            .scalar_names()
            .into_iter()
            .enumerate()
            .map(scalar)
            .collect()
    }
}

impl fmt::Display for Cgso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cgso, {}, from {}", self.centrality, self.init)
    }
}

/// One centrality, or two: `degree`, `degree+core`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Centralities {
    first: Centrality,
    second: Option<Centrality>,
}

impl Centralities {
    /// Returns a single centrality.
    pub const fn one(kind: Centrality) -> Self {
        Self {
            first: kind,
            second: None,
        }
    }

    /// Returns two centralities, whose operators are summed; they should differ.
    pub const fn sum(first: Centrality, second: Centrality) -> Self {
        Self {
            first,
            second: Some(second),
        }
    }

    /// Iterates over the one or two centralities.
    pub fn iter(self) -> impl Iterator<Item = Centrality> {
        std::iter::once(self.first).chain(self.second)
    }

    /// Returns the names of the scalars: `m1`, or `degree.m1` if there are two centralities.
    pub fn scalar_names(self) -> Vec<String> {
        let prefix = |kind: Centrality| {
            if self.second.is_some() {
                format!("{kind}.")
            } else {
                String::new()
            }
        };
        self.iter()
            .flat_map(|kind| Scalars::NAMES.map(|name| format!("{}{name}", prefix(kind))))
            .collect()
    }
}

impl fmt::Display for Centralities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.second {
            None => write!(f, "{}", self.first),
            Some(second) => write!(f, "{}+{second}", self.first),
        }
    }
}

impl Value for Centralities {
    const KIND: Kind = Kind::Text("NAME[+NAME]");
}

impl FromStr for Centralities {
    type Err = Error;

    fn from_str(names: &str) -> gnarl_graph::Result<Self> {
        let kinds = names
            .split('+')
            .map(|name| name.trim().parse())
            .collect::<gnarl_graph::Result<Vec<Centrality>>>()?;
        match kinds[..] {
            [one] => Ok(Self::one(one)),
            [first, second] if first != second => Ok(Self::sum(first, second)),
            [first, _] => Err(Error::argument(
                "centrality",
                format!("'{names}' names {first} twice; name two that differ"),
            )),
            _ => {
                let what = format!(
                    "'{names}' names {} centralities; at most two are summed, as in degree+core",
                    kinds.len()
                );
                Err(Error::argument("centrality", what))
            }
        }
    }
}

impl TryFrom<String> for Centralities {
    type Error = Error;

    fn try_from(names: String) -> gnarl_graph::Result<Self> {
        names.parse()
    }
}

impl From<Centralities> for String {
    fn from(centralities: Centralities) -> Self {
        centralities.to_string()
    }
}

/// Initialisation of the seven scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Initialisation {
    /// Scalars that give this classical operator when V = D.
    Of(ClassicalOperator),
    /// Scalars of `A_hat`, with learning rates that are [`SLOWER`](Self::SLOWER) times smaller.
    Near,
    /// Classical operator with the best validation accuracy: all seven are trained, and with the
    /// closed degree also `near`.
    Auto,
}

impl Initialisation {
    /// Divisor of the learning rates of scalars that should stay near their initial values.
    pub const SLOWER: f64 = 25.0;

    /// Returns every initialisation.
    pub fn all() -> impl Iterator<Item = Self> {
        let classical = ClassicalOperator::ALL.into_iter().map(Initialisation::Of);
        classical.chain([Initialisation::Near, Initialisation::Auto])
    }

    /// Returns the operator of the initial scalars; `None` while it is open.
    pub fn start(self) -> Option<ClassicalOperator> {
        match self {
            Initialisation::Of(operator) => Some(operator),
            Initialisation::Near => Some(ClassicalOperator::NORMALISED_ADJACENCY),
            Initialisation::Auto => None,
        }
    }
}

impl fmt::Display for Initialisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Initialisation::Of(operator) => operator.fmt(f),
            Initialisation::Near => f.write_str("near"),
            Initialisation::Auto => f.write_str("auto"),
        }
    }
}

impl Value for Initialisation {
    const KIND: Kind = Kind::Name(|| Self::all().map(|init| init.to_string()).collect());
}

impl FromStr for Initialisation {
    type Err = Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Self::all().find(|init| name.eq_ignore_ascii_case(&init.to_string()));
        if let Some(found) = found {
            return Ok(found);
        }
        let known: Vec<String> = Self::all().map(|init| init.to_string()).collect();
        let unknown = |_| Error::unknown("initialisation", name, known.iter().map(String::as_str));
        name.parse().map(Initialisation::Of).map_err(unknown)
    }
}

impl TryFrom<String> for Initialisation {
    type Error = Error;

    fn try_from(name: String) -> gnarl_graph::Result<Self> {
        name.parse()
    }
}

impl From<Initialisation> for String {
    fn from(init: Initialisation) -> Self {
        init.to_string()
    }
}

/// Seven scalars of `Φ = m1 V^e1 + m2 V^e2 (A + a I) V^e3 + m3 I`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalars {
    /// Scale of the additive centralities.
    pub m1: f64,
    /// Scale, and sign, of the adjacency.
    pub m2: f64,
    /// Scale of the identity.
    pub m3: f64,
    /// Exponent of the additive centralities.
    pub e1: f64,
    /// Exponent on the receiving node's side.
    pub e2: f64,
    /// Exponent on the sending node's side.
    pub e3: f64,
    /// Weight of the self-loops.
    pub a: f64,
}

impl Scalars {
    /// Names of the scalars, in their order in files, tensors and reports.
    pub const NAMES: [&str; 7] = ["m1", "m2", "m3", "e1", "e2", "e3", "a"];

    /// Returns the scalars that give a classical operator when V = D. For `A_hat` that is the
    /// paper's `D^-1/2 (A + I) D^-1/2`. It equals the renormalised
    /// `(D + I)^-1/2 (A + I) (D + I)^-1/2` only if v = deg + 1, the closed degree.
    pub fn of(operator: ClassicalOperator) -> Self {
        Self::from_array(operator.method().scalars())
    }

    /// Returns the scalars in the order of [`NAMES`](Self::NAMES).
    pub fn to_array(self) -> [f64; 7] {
        [self.m1, self.m2, self.m3, self.e1, self.e2, self.e3, self.a]
    }

    /// Builds the scalars from the order of [`NAMES`](Self::NAMES).
    pub fn from_array([m1, m2, m3, e1, e2, e3, a]: [f64; 7]) -> Self {
        Self {
            m1,
            m2,
            m3,
            e1,
            e2,
            e3,
            a,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centralities_are_read_back_and_wrong_ones_named() {
        for name in ["degree", "walks:3", "degree+core", "core+walks:3"] {
            assert_eq!(name.parse::<Centralities>().unwrap().to_string(), name);
        }
        let refusal = |name: &str| name.parse::<Centralities>().unwrap_err().to_string();
        assert_eq!(
            refusal("degre"),
            "unknown centrality 'degre'; did you mean degree?"
        );
        assert!(refusal("core+core").contains("'core+core' names core twice"));
        assert!(refusal("degree+core+walks").contains("at most two are summed"));
        assert!(refusal("degree+").contains("unknown centrality ''"));
        assert_eq!(
            "degree+core"
                .parse::<Centralities>()
                .unwrap()
                .scalar_names()[7],
            "core.m1"
        );
        assert_eq!(
            "core".parse::<Centralities>().unwrap().scalar_names()[6],
            "a"
        );
    }

    #[test]
    fn initialisations_are_read_back_and_wrong_ones_named() {
        for (given, shown) in [
            ("l-rw", "L_rw"),
            ("A_HAT", "A_hat"),
            ("h", "H"),
            ("Near", "near"),
            ("Auto", "auto"),
        ] {
            assert_eq!(given.parse::<Initialisation>().unwrap().to_string(), shown);
        }
        let e = "l-sim".parse::<Initialisation>().unwrap_err().to_string();
        assert!(e.contains("unknown initialisation 'l-sim'"), "{e}");
    }

    #[test]
    fn a_config_is_stored_by_names() {
        let config = Cgso {
            centrality: "degree+walks:3".parse().unwrap(),
            init: "l-sym".parse().unwrap(),
        };
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(text, r#"{"centrality":"degree+walks:3","init":"L_sym"}"#);
        assert_eq!(serde_json::from_str::<Cgso>(&text).unwrap(), config);
        assert!(serde_json::from_str::<Cgso>(r#"{"centrality":"x","init":"A"}"#).is_err());
    }
}
