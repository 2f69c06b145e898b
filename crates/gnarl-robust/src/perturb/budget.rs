//! Perturbation budgets. Every budget is valid: its constructor refuses NaN, negative numbers, and
//! more than the maximum.

use std::fmt;

use gnarl_graph::settings::{Bounds, check_value};
use gnarl_graph::{Error, Features, Graph, Result, named};

use super::Norm;
use super::ball::LARGEST_RADIUS;
use super::rows::row_norms;

/// Budget of a perturbation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Noise on features.
    Noise(Noise),
    /// Norm of the change of features.
    Features(FeatureBudget),
    /// Number of changed edges.
    Edges(EdgeShare),
    /// Number of changed edges, and noise on features in addition; without an edge flip nothing
    /// changes.
    Both(EdgeShare, Noise),
    /// Number of flips of edges and of binary features for each target.
    PerTarget(usize),
    /// Total number of flips of edges and of binary features.
    Flips(usize),
}

impl Budget {
    /// Returns true if nothing may change.
    pub fn is_zero(&self) -> bool {
        match self {
            Budget::Noise(noise) => noise.psi == 0.0,
            Budget::Features(budget) => budget.share == 0.0,
            Budget::Edges(budget) => budget.share == 0.0,
            Budget::Both(budget, noise) => budget.share == 0.0 && noise.psi == 0.0,
            Budget::PerTarget(flips) | Budget::Flips(flips) => *flips == 0,
        }
    }

    /// Returns the total budget for this number of targets.
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

/// Gaussian noise: every entry has the standard deviation `psi / sqrt(K)` for K features, so that
/// the noise of a node has the expected squared norm psi².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    psi: f64,
}

impl Noise {
    /// Fails unless psi is at least 0.
    pub fn new(psi: f64) -> Result<Self> {
        Ok(Self { psi: amount(psi)? })
    }

    /// Returns the scale psi.
    pub fn psi(self) -> f64 {
        self.psi
    }
}

/// Share of the norm of the features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureBudget {
    share: f64,
    norm: Norm,
    scope: Scope,
}

impl FeatureBudget {
    /// Fails unless the share is at least 0 and the norm is valid.
    pub fn new(share: f64, norm: Norm, scope: Scope) -> Result<Self> {
        norm.check()?;
        Ok(Self {
            share: amount(share)?,
            norm,
            scope,
        })
    }

    /// Returns the share.
    pub fn share(self) -> f64 {
        self.share
    }

    /// Returns the norm.
    pub fn norm(self) -> Norm {
        self.norm
    }

    /// Returns the scope: each node or the whole matrix.
    pub fn scope(self) -> Scope {
        self.scope
    }

    /// Computes the radius of each row (for [`Scope::Matrix`]: if it were the only one), and the
    /// radius of all rows together.
    pub fn radii(self, features: &Features) -> Radii {
        let norms = row_norms(features, self.norm);
        let matrix = self.share * self.norm.of(norms.iter().copied());
        let rows = match self.scope {
            Scope::Node => norms.iter().map(|n| self.share * n).collect(),
            Scope::Matrix => vec![matrix; norms.len()],
        };
        // For the maximum norm, the limit of every row implies that of the matrix.
        let is_limit = self.scope == Scope::Matrix && self.norm != Norm::Infinity;
        Radii {
            rows,
            together: is_limit.then_some(matrix),
            norm: self.norm,
        }
    }
}

/// Budget of features in their own units.
#[derive(Debug, Clone)]
pub struct Radii {
    /// Maximal change of each row.
    pub rows: Vec<f64>,
    /// Maximal change of all rows together, if there is such a limit.
    pub together: Option<f64>,
    /// Norm of the changes.
    pub norm: Norm,
}

named! {
    /// Scope of a feature budget.
    pub enum Scope as "scope" {
        /// Every node has a budget: a share of its own features' norm.
        Node = "node",
        /// The whole matrix has one budget, to be spent anywhere.
        Matrix = "matrix",
    }
}

/// Share of the edges: this many pairs of nodes may be flipped, by removing or adding an edge.
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

    /// Returns the share.
    pub fn share(self) -> f64 {
        self.share
    }

    /// Returns the number of flips allowed on a graph: the share of its edges, rounded down.
    pub fn flips(self, graph: &Graph) -> usize {
        // A product slightly below a whole number, such as 0.29 · 100, is rounded to it.
        (self.share * graph.num_edges() as f64 * (1.0 + 1e-12)).floor() as usize
    }
}

/// Checks that an amount is within the range of single precision.
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
    fn invalid_budgets_are_refused_in_one_line() {
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
