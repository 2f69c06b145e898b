//! How much an attack may change. A budget that exists is one that can be kept: each is made by a constructor that refuses what
//! is no number, negative, or more than there is.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::{Error, Features, Graph, Result};
use serde::Serialize;

/// What an attack may change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Noise on features.
    Noise(Noise),
    /// Features, by their norm.
    Features(FeatureBudget),
    /// Edges, by their number.
    Edges(EdgeShare),
}

impl Budget {
    /// Whether nothing may change.
    pub fn is_zero(&self) -> bool {
        match self {
            Budget::Noise(noise) => noise.psi == 0.0,
            Budget::Features(budget) => budget.share == 0.0,
            Budget::Edges(budget) => budget.share == 0.0,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Noise(noise) => write!(f, "psi = {}", noise.psi),
            Budget::Features(budget) => {
                let whose = if budget.scope == Scope::Node { "each node's" } else { "the matrix's" };
                write!(f, "{} of {whose} {} norm", budget.share, budget.norm)
            }
            Budget::Edges(budget) => write!(f, "{} of the edges", budget.share),
        }
    }
}

/// Gaussian noise: every entry has the deviation `psi / sqrt(K)` for K features, so that the noise of a node has the expected
/// squared norm psi².
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    psi: f64,
}

impl Noise {
    /// Fails unless psi is at least 0.
    pub fn new(psi: f64) -> Result<Self> {
        Ok(Self { psi: amount(psi)? })
    }

    /// The scale.
    pub fn psi(self) -> f64 {
        self.psi
    }
}

/// A share of the norm of what features there are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FeatureBudget {
    share: f64,
    norm: Norm,
    scope: Scope,
}

impl FeatureBudget {
    /// Fails unless the share is at least 0.
    pub fn new(share: f64, norm: Norm, scope: Scope) -> Result<Self> {
        Ok(Self { share: amount(share)?, norm, scope })
    }

    /// The share.
    pub fn share(self) -> f64 {
        self.share
    }

    /// How far is measured.
    pub fn norm(self) -> Norm {
        self.norm
    }

    /// What has the budget.
    pub fn scope(self) -> Scope {
        self.scope
    }

    /// How far each row may move (of [`Scope::Matrix`] in L2: if it were the only one), and all of them together.
    pub(super) fn radii(self, features: &Features) -> Radii {
        let norms = row_norms(features, self.norm);
        let all = match self.norm {
            Norm::L2 => norms.iter().map(|n| n * n).sum::<f64>().sqrt(),
            Norm::Linf => norms.iter().copied().fold(0.0, f64::max),
        };
        let together = self.share * all;
        match (self.scope, self.norm) {
            (Scope::Node, _) => {
                Radii { rows: norms.iter().map(|n| self.share * n).collect(), together: None, norm: self.norm }
            }
            (Scope::Matrix, Norm::Linf) => Radii { rows: vec![together; norms.len()], together: None, norm: self.norm },
            (Scope::Matrix, Norm::L2) => {
                Radii { rows: vec![together; norms.len()], together: Some(together), norm: self.norm }
            }
        }
    }
}

/// A budget for features in their own units.
#[derive(Debug, Clone)]
pub(super) struct Radii {
    /// How far each row may move.
    pub rows: Vec<f64>,
    /// How far all rows may move together, where that is a limit of its own.
    pub together: Option<f64>,
    /// How far is measured.
    pub norm: Norm,
}

/// How far a row moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The Euclidean norm.
    L2,
    /// The largest entry.
    Linf,
}

impl Norm {
    /// The norm of a row.
    pub fn of(self, row: impl Iterator<Item = f64>) -> f64 {
        match self {
            Norm::L2 => row.map(|x| x * x).sum::<f64>().sqrt(),
            Norm::Linf => row.fold(0.0, |largest, x| largest.max(x.abs())),
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Norm::L2 { "L2" } else { "Linf" })
    }
}

impl FromStr for Norm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name.to_lowercase().as_str() {
            "l2" => Ok(Norm::L2),
            "linf" => Ok(Norm::Linf),
            _ => Err(Error::unknown("norm", name, ["l2", "linf"])),
        }
    }
}

/// What has a budget of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Every node its own, a share of its own features' norm.
    Node,
    /// The whole matrix one, to be spent anywhere.
    Matrix,
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name.to_lowercase().as_str() {
            "node" => Ok(Scope::Node),
            "matrix" => Ok(Scope::Matrix),
            _ => Err(Error::unknown("scope", name, ["node", "matrix"])),
        }
    }
}

/// A share of the edges: so many pairs of nodes may be flipped, joined ones parted or parted ones joined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EdgeShare {
    share: f64,
}

impl EdgeShare {
    /// Fails unless the share lies in 0 to 1.
    pub fn new(share: f64) -> Result<Self> {
        if amount(share)? > 1.0 {
            let what = format!("{share} is more than all edges; a share of the edges lies in 0 to 1, as in 0.1");
            return Err(Error::argument("budget", what));
        }
        Ok(Self { share })
    }

    /// The share.
    pub fn share(self) -> f64 {
        self.share
    }

    /// Flips allowed on a graph: the share of its edges, rounded down.
    pub fn flips(self, graph: &Graph) -> usize {
        // A product a hair below a whole number, as 0.29 · 100 is, is meant to be it.
        (self.share * graph.num_edges() as f64 * (1.0 + 1e-12)).floor() as usize
    }
}

fn amount(x: f64) -> Result<f64> {
    if x >= 0.0 && x.is_finite() {
        return Ok(x);
    }
    Err(Error::argument("budget", format!("{x} must be a number of at least 0")))
}

/// The norm of every row.
pub(super) fn row_norms(features: &Features, norm: Norm) -> Vec<f64> {
    let of = |row: &[f32]| norm.of(row.iter().map(|&x| f64::from(x)));
    match features {
        Features::Sparse(m) => (0..m.num_rows()).map(|i| of(m.row(i).1)).collect(),
        Features::Dense(m) => (0..m.num_rows()).map(|i| of(m.row(i))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::DenseMatrix;

    #[test]
    fn what_is_no_budget_is_refused_in_one_line() {
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            let all = [
                Noise::new(bad).unwrap_err(),
                FeatureBudget::new(bad, Norm::L2, Scope::Node).unwrap_err(),
                EdgeShare::new(bad).unwrap_err(),
            ];
            for e in all.map(|e| e.to_string()) {
                assert_eq!(e, format!("budget: {bad} must be a number of at least 0"));
            }
        }
        let e = EdgeShare::new(1.5).unwrap_err().to_string();
        assert!(e.contains("1.5 is more than all edges") && e.contains("0 to 1"), "{e}");
        assert!(FeatureBudget::new(1.5, Norm::L2, Scope::Node).is_ok(), "features may move further than they are long");
    }

    #[test]
    fn flips_are_rounded_down() {
        let path = Graph::from_edges(101, (0..100).map(|i| (i, i + 1))).unwrap().0;
        for (share, flips) in [(0.0, 0), (0.009, 0), (0.01, 1), (0.1, 10), (0.29, 29), (0.999, 99), (1.0, 100)] {
            assert_eq!(EdgeShare::new(share).unwrap().flips(&path), flips, "{share}");
        }
    }

    #[test]
    fn radii_by_hand() {
        let features = Features::Dense(DenseMatrix::new(2, 2, vec![3.0, -4.0, 0.0, 12.0]).unwrap());
        let radii = |norm, scope| FeatureBudget::new(0.5, norm, scope).unwrap().radii(&features);
        assert_eq!(radii(Norm::L2, Scope::Node).rows, [2.5, 6.0]);
        assert_eq!(radii(Norm::Linf, Scope::Node).rows, [2.0, 6.0]);
        assert_eq!(radii(Norm::Linf, Scope::Matrix).rows, [6.0, 6.0]);
        assert_eq!(radii(Norm::L2, Scope::Matrix).together, Some(6.5));
    }
}
