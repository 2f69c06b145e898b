//! What certificates come to: shares of test items by radius.

use serde::Serialize;

use super::threat::Rows;
use crate::study::summary::Accuracy;

/// How far an attacker may go.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Radius {
    /// A distance, or a number of flips.
    One {
        /// The radius.
        radius: f64,
    },
    /// Flips of features or of edges.
    Flips {
        /// Zeros that become ones.
        r_add: usize,
        /// Ones that become zeros.
        r_delete: usize,
    },
    /// Flips of both.
    Both {
        /// Of features: zeros that become ones.
        r_add: usize,
        /// Of features: ones that become zeros.
        r_delete: usize,
        /// Edges that come.
        edges_add: usize,
        /// Edges that go.
        edges_delete: usize,
    },
}

/// What is certified at a radius, shares of the test nodes, or test graphs, from 0 to 1, means over
/// runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// How far an attacker may go.
    #[serde(flatten)]
    pub radius: Radius,
    /// Nodes whose class no attacker within it changes.
    pub share: f64,
    /// Those of them whose class is right.
    pub accurate_share: f64,
}

/// What one certificate came to.
#[derive(Debug, Clone, Serialize)]
pub struct Certified {
    /// The name of the certificate.
    pub method: &'static str,
    /// The meaning of its radii.
    #[serde(skip)]
    pub rows: Rows,
    /// Shares by radius.
    pub certified: Vec<Cell>,
    /// Smoothing by flips of one sort: shares by their number, whichever they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_flips: Vec<Cell>,
    /// The largest radius at which a test node is certified in some run.
    pub max_radius: Option<Radius>,
    /// Smoothing by flips: the largest radii that so many samples certify, if all of them agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certifiable: Option<Radius>,
    /// Smoothing: the accuracy of the smoothed classifier, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_accuracy: Option<f64>,
    /// The median radius of a test item in the first run, for certificates with one number for
    /// each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_radius: Option<f64>,
    /// The radius or the class of each test node in the first run.
    #[serde(skip)]
    pub nodes: Vec<CertifiedNode>,
    /// Seconds, training apart.
    pub seconds: f64,
}

/// A test node of the first run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CertifiedNode {
    /// Which.
    pub node: u32,
    /// The class that is certified.
    pub class: usize,
    /// Its true class, where it is known.
    pub truth: Option<u32>,
    /// The largest radius; of smoothing by flips that of additions.
    pub radius: f64,
    /// Of smoothing by flips: the most deletions.
    pub deletions: Option<usize>,
}

/// What survives an attack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Survived {
    /// Flips for each node.
    pub radius: f64,
    /// The share of the attacked nodes whose class stays.
    pub share: f64,
    /// Those of them that are right.
    pub accurate_share: f64,
}

/// Attacks inside certified radii.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Attempts {
    /// The name of the certificate.
    pub method: &'static str,
    /// How many were made: none where no node is certified.
    pub made: usize,
    /// Those that changed a class, which no sound certificate allows.
    pub broken: usize,
}

/// What a study found.
#[derive(Debug)]
pub struct CertifyResult {
    /// Of the model itself on test nodes, per cent.
    pub test_accuracy: Option<Accuracy>,
    /// In the order of the certificates.
    pub certificates: Vec<Certified>,
    /// Attacks inside certified radii, by certificate; of those without samples.
    pub attempts: Vec<Attempts>,
    /// By the attack.
    pub survived: Vec<Survived>,
    /// How many nodes were judged in the first run.
    pub judged: usize,
    /// The median L2 norm of a node's features, as the network takes them.
    pub median_norm: f64,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// Whether it was stopped before its end: then what there is counts for nothing.
    pub interrupted: bool,
}

impl Radius {
    /// Additions and deletions of features, or of whatever flips alone, then of edges.
    pub(super) fn flips(&self) -> [usize; 4] {
        match *self {
            Radius::One { .. } => [0; 4],
            Radius::Flips { r_add, r_delete } => [r_add, r_delete, 0, 0],
            Radius::Both {
                r_add,
                r_delete,
                edges_add,
                edges_delete,
            } => [r_add, r_delete, edges_add, edges_delete],
        }
    }

    pub(super) fn of_flips(
        [r_add, r_delete, edges_add, edges_delete]: [usize; 4],
        is_both: bool,
    ) -> Self {
        if is_both {
            Radius::Both {
                r_add,
                r_delete,
                edges_add,
                edges_delete,
            }
        } else {
            Radius::Flips { r_add, r_delete }
        }
    }
}
