//! How much may change. A budget that exists is one that can be kept: each is made by a constructor
//! that refuses what is no number, negative, or more than there is.

use std::fmt;

use gnarl_graph::names::{Bounds, check_value};
use gnarl_graph::{Error, Features, Graph, Result, named};

use super::Norm;
use super::ball::LARGEST_RADIUS;
use super::rows::row_norms;

/// What may change, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Noise on features.
    Noise(Noise),
    /// Features, by their norm.
    Features(FeatureBudget),
    /// Edges, by their number.
    Edges(EdgeShare),
    /// Edges, by their number, and noise on features besides; without a flip nothing changes.
    Both(EdgeShare, Noise),
    /// Flips of edges and of binary features for each of some targets.
    PerTarget(usize),
    /// Flips of edges and of binary features in all.
    Flips(usize),
}

impl Budget {
    /// Whether nothing may change.
    pub fn is_zero(&self) -> bool {
        match self {
            Budget::Noise(noise) => noise.psi == 0.0,
            Budget::Features(budget) => budget.share == 0.0,
            Budget::Edges(budget) => budget.share == 0.0,
            Budget::Both(budget, noise) => budget.share == 0.0 && noise.psi == 0.0,
            Budget::PerTarget(flips) | Budget::Flips(flips) => *flips == 0,
        }
    }

    /// With so many targets: what each may have, added up.
    pub fn for_targets(self, targets: usize) -> Self {
        match self {
            Budget::PerTarget(flips) => Budget::Flips(flips.saturating_mul(targets)),
            other => other,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Noise(noise) => write!(f, "psi = {}", noise.psi),
            Budget::Features(budget) => {
                let whose = if budget.scope == Scope::Node {
                    "each node's"
                } else {
                    "the matrix's"
                };
                write!(f, "{} of {whose} L{} norm", budget.share, budget.norm)
            }
            Budget::Edges(budget) => write!(f, "{} of the edges", budget.share),
            Budget::Both(edges, noise) => {
                write!(f, "{} of the edges and psi = {}", edges.share, noise.psi)
            }
            Budget::PerTarget(flips) => write!(f, "{flips} flips for each target"),
            Budget::Flips(flips) => write!(f, "{flips} flips"),
        }
    }
}

/// Gaussian noise: every entry has the deviation `psi / sqrt(K)` for K features, so that the noise
/// of a node has the expected squared norm psi².
#[derive(Debug, Clone, Copy, PartialEq)]
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureBudget {
    share: f64,
    norm: Norm,
    scope: Scope,
}

impl FeatureBudget {
    /// Fails unless the share is at least 0 and the norm is one.
    pub fn new(share: f64, norm: Norm, scope: Scope) -> Result<Self> {
        norm.check()?;
        Ok(Self {
            share: amount(share)?,
            norm,
            scope,
        })
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

    /// How far each row may move (of [`Scope::Matrix`]: if it were the only one), and all of them
    /// together.
    pub fn radii(self, features: &Features) -> Radii {
        let norms = row_norms(features, self.norm);
        let matrix = self.share * self.norm.of(norms.iter().copied());
        let rows = match self.scope {
            Scope::Node => norms.iter().map(|n| self.share * n).collect(),
            Scope::Matrix => vec![matrix; norms.len()],
        };
        // The largest entry of all is within its limit where that of every row is.
        let is_limit = self.scope == Scope::Matrix && self.norm != Norm::Infinity;
        Radii {
            rows,
            together: is_limit.then_some(matrix),
            norm: self.norm,
        }
    }
}

/// A budget for features in their own units.
#[derive(Debug, Clone)]
pub struct Radii {
    /// How far each row may move.
    pub rows: Vec<f64>,
    /// How far all rows may move together, where that is a limit of its own.
    pub together: Option<f64>,
    /// How far is measured.
    pub norm: Norm,
}

named! {
    /// What has a budget of features.
    pub enum Scope as "scope" {
        /// Every node its own, a share of its own features' norm.
        Node = "node",
        /// The whole matrix one, to be spent anywhere.
        Matrix = "matrix",
    }
}

/// A share of the edges: so many pairs of nodes may be flipped, joined ones parted or parted ones
/// joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeShare {
    share: f64,
}

impl EdgeShare {
    /// Fails unless the share lies in 0 to 1.
    pub fn new(share: f64) -> Result<Self> {
        let bounds = Bounds {
            least: Some((0.0, true)),
            most: Some((1.0, true)),
        };
        check_value("budget", &share, Some(bounds))?;
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

/// An amount that single precision can follow.
fn amount(x: f64) -> Result<f64> {
    let bounds = Bounds {
        least: Some((0.0, true)),
        most: None,
    };
    check_value("budget", &x, Some(bounds))?;
    if x > LARGEST_RADIUS {
        let what =
            format!("{x:e} is beyond single precision: at most {LARGEST_RADIUS:e} is allowed");
        return Err(Error::argument("budget", what));
    }
    Ok(x)
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
            ];
            for e in all.map(|e| e.to_string()) {
                assert_eq!(e, format!("budget must be >= 0 (got {bad})"));
            }
            let e = EdgeShare::new(bad).unwrap_err().to_string();
            assert_eq!(e, format!("budget must be in [0, 1] (got {bad})"));
        }
        let e = Noise::new(1e40).unwrap_err().to_string();
        assert_eq!(
            e,
            "budget: 1e40 is beyond single precision: at most 1e19 is allowed"
        );
        let e = EdgeShare::new(1.5).unwrap_err().to_string();
        assert_eq!(e, "budget must be in [0, 1] (got 1.5)");
        assert!(
            FeatureBudget::new(1.5, Norm::L2, Scope::Node).is_ok(),
            "features may move further than they are long"
        );
    }

    #[test]
    fn flips_are_rounded_down() {
        let path = Graph::from_edges(101, (0..100).map(|i| (i, i + 1)))
            .unwrap()
            .0;
        for (share, flips) in [
            (0.0, 0),
            (0.009, 0),
            (0.01, 1),
            (0.1, 10),
            (0.29, 29),
            (0.999, 99),
            (1.0, 100),
        ] {
            assert_eq!(
                EdgeShare::new(share).unwrap().flips(&path),
                flips,
                "{share}"
            );
        }
    }

    #[test]
    fn radii_by_hand() {
        let features = Features::Dense(DenseMatrix::new(2, 2, vec![3.0, -4.0, 0.0, 12.0]).unwrap());
        let radii = |norm, scope| {
            FeatureBudget::new(0.5, norm, scope)
                .unwrap()
                .radii(&features)
        };
        assert_eq!(radii(Norm::L2, Scope::Node).rows, [2.5, 6.0]);
        assert_eq!(radii(Norm::Infinity, Scope::Node).rows, [2.0, 6.0]);
        assert_eq!(radii(Norm::Infinity, Scope::Matrix).rows, [6.0, 6.0]);
        assert_eq!(radii(Norm::L2, Scope::Matrix).together, Some(6.5));
        assert_eq!(radii(Norm::L1, Scope::Node).rows, [3.5, 6.0]);
        assert_eq!(radii(Norm::L1, Scope::Matrix).together, Some(9.5));
        assert_eq!(
            (
                radii(Norm::Infinity, Scope::Matrix).together,
                radii(Norm::L2, Scope::Node).together
            ),
            (None, None)
        );
    }
}
