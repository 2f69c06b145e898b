//! Norms of a row of features.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::settings::{Kind, Value};
use gnarl_graph::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Norm of a row. It is written as p, with or without an L: `2` and `l2`, `inf` and `linf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Norm {
    /// `(Σ |z|^p)^(1/p)`, p at least 1.
    P(f64),
    /// Maximum norm: the largest `|z|`.
    Infinity,
}

impl Norm {
    /// Sum of absolute values.
    pub const L1: Norm = Norm::P(1.0);
    /// Euclidean norm.
    pub const L2: Norm = Norm::P(2.0);

    /// Computes the norm of a row.
    pub fn of(self, row: impl IntoIterator<Item = f64>) -> f64 {
        let row = row.into_iter();
        match self {
            Norm::Infinity => row.fold(0.0, |m, z| m.max(z.abs())),
            Norm::P(1.0) => row.map(f64::abs).sum(),
            Norm::P(2.0) => row.map(|z| z * z).sum::<f64>().sqrt(),
            Norm::P(p) if p.fract() == 0.0 && p < 64.0 => row
                .map(|z| z.abs().powi(p as i32))
                .sum::<f64>()
                .powf(1.0 / p),
            Norm::P(p) => row.map(|z| z.abs().powf(p)).sum::<f64>().powf(1.0 / p),
        }
    }

    /// Fails for a p below 1.
    pub fn check(self) -> Result<()> {
        match self {
            Norm::P(p) if !(p.is_finite() && p >= 1.0) => Err(Error::argument(
                "norm",
                format!("the norm's p is {p}, at least 1 is needed"),
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Norm::P(p) => p.fmt(f),
            Norm::Infinity => f.pad("inf"),
        }
    }
}

impl FromStr for Norm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let power = name.strip_prefix(['l', 'L']).unwrap_or(name);
        if power.eq_ignore_ascii_case("inf") || power.eq_ignore_ascii_case("infinity") {
            return Ok(Norm::Infinity);
        }
        match power.parse::<f64>() {
            Ok(p) if p.is_finite() && p >= 1.0 => Ok(Norm::P(p)),
            _ => Err(Error::argument(
                "norm",
                format!("'{name}' is not a number of at least 1, nor inf"),
            )),
        }
    }
}

impl Value for Norm {
    const KIND: Kind = Kind::Text("P");
}

impl Serialize for Norm {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Norm {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(d)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3, 4 and 12 to the power 2.5 are 15.588, 32 and 498.831, whose sum to the power 0.4 is
    /// 12.4454.
    #[test]
    fn norms_by_hand() {
        let row = [3.0, -4.0, 12.0];
        let expected = [
            (Norm::L1, 19.0),
            (Norm::L2, 13.0),
            (Norm::P(2.5), 12.445_4),
            (Norm::Infinity, 12.0),
        ];
        for (norm, expected) in expected.into_iter().chain([(Norm::P(3.0), 1819f64.cbrt())]) {
            assert!(
                (norm.of(row) - expected).abs() < 1e-3,
                "{norm}: {}",
                norm.of(row)
            );
        }
    }

    #[test]
    fn names_are_read_with_and_without_an_l() {
        let read = |name: &str| name.parse::<Norm>().unwrap();
        assert_eq!(
            ["1", "2.5", "INF", "l2", "Linf"].map(|n| read(n).to_string()),
            ["1", "2.5", "inf", "2", "inf"]
        );
        assert_eq!(
            (read("L1"), read("l2"), read("linf")),
            (Norm::L1, Norm::L2, Norm::Infinity)
        );
        for name in ["0.5", "nan", "two", "-1", "l0", "l"] {
            let e = name.parse::<Norm>().unwrap_err().to_string();
            assert!(
                e.contains(&format!("'{name}' is not a number of at least 1, nor inf")),
                "{e}"
            );
        }
        assert_eq!(serde_json::to_string(&Norm::L2).unwrap(), "\"2\"");
        assert_eq!(
            serde_json::from_str::<Norm>("\"linf\"").unwrap(),
            Norm::Infinity
        );
        assert!(
            Norm::P(0.5)
                .check()
                .unwrap_err()
                .to_string()
                .contains("at least 1")
        );
    }
}
