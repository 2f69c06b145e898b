//! The result of certificates: shares of test nodes or graphs by radius.

use serde::Serialize;

use super::threat::Rows;
use crate::study::summary::Accuracy;

/// The size of a change of the input.
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
        /// Number of zeros that become ones.
        r_add: usize,
        /// Number of ones that become zeros.
        r_delete: usize,
    },
    /// Flips of features and of edges.
    Both {
        /// Number of zeros of features that become ones.
        r_add: usize,
        /// Number of ones of features that become zeros.
        r_delete: usize,
        /// Number of added edges.
        edges_add: usize,
        /// Number of removed edges.
        edges_delete: usize,
    },
}

/// Certified shares at a radius, from 0 to 1, of the test nodes or test graphs; means over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cell {
    /// The size of a change of the input.
    #[serde(flatten)]
    pub radius: Radius,
    /// Share of nodes or graphs whose class no attacker within the radius changes.
    pub share: f64,
    /// Certified accuracy: share of nodes or graphs that are certified and correct.
    pub accurate_share: f64,
}

/// The result of one certificate.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Certified {
    /// The name of the certificate.
    pub method: &'static str,
    /// The meaning of its radii.
    #[serde(skip)]
    pub rows: Rows,
    /// Shares by radius.
    pub certified: Vec<Cell>,
    /// Shares by the total number of flips, of any kind, for smoothing with one kind of bits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_flips: Vec<Cell>,
    /// The largest radius at which a test node or graph is certified in some run.
    pub max_radius: Option<Radius>,
    /// The largest radii that so many samples certify if all of them agree, for smoothing by flips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certifiable: Option<Radius>,
    /// Accuracy of the smoothed classifier in per cent, for smoothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_accuracy: Option<f64>,
    /// Median radius of a test node or graph in the first run, for certificates with one number for
    /// each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_radius: Option<f64>,
    /// The radius and the class of each test node or graph in the first run.
    #[serde(skip)]
    pub nodes: Vec<CertifiedNode>,
    /// Seconds without training.
    pub seconds: f64,
}

/// A test node or graph of the first run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CertifiedNode {
    /// Index of the node or graph.
    pub node: u32,
    /// The certified class.
    pub class: usize,
    /// Its true class, if known.
    pub truth: Option<u32>,
    /// Largest radius; for smoothing by flips, the largest number of additions.
    pub radius: f64,
    /// Largest number of deletions, for smoothing by flips.
    pub deletions: Option<usize>,
}

/// Accuracy under an attack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Survived {
    /// Number of flips for each node.
    pub radius: f64,
    /// Share of the attacked nodes whose class stays.
    pub share: f64,
    /// Share of the attacked nodes whose class stays and is correct.
    pub accurate_share: f64,
}

/// Attacks inside certified radii.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Attempts {
    /// The name of the certificate.
    pub method: &'static str,
    /// Number of attacks: 0 if no node is certified.
    pub attacks: usize,
    /// Number of attacks that changed a class, which no sound certificate allows.
    pub violations: usize,
}

/// The result of a study.
#[derive(Debug)]
#[non_exhaustive]
pub struct CertifyResult {
    /// Accuracy of the model itself on test nodes or graphs, in per cent.
    pub test_accuracy: Option<Accuracy>,
    /// Results in the order of the certificates.
    pub certificates: Vec<Certified>,
    /// Attacks inside certified radii, for certificates without samples.
    pub attempts: Vec<Attempts>,
    /// Accuracy under the attack, by number of flips.
    pub survived: Vec<Survived>,
    /// Number of test nodes or graphs in the first run.
    pub evaluated: usize,
    /// The median L2 norm of a node's features, as the network takes them.
    pub median_norm: f64,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// True if the study was stopped before its end: its result is then incomplete and not to be
    /// used.
    pub interrupted: bool,
}

impl Radius {
    /// Additions and deletions of features, or of the only kind of bits that flips, then of edges.
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
