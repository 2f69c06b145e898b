//! The report of a certificate study: its JSON, and its tables as CSV.

use std::fmt::Write as _;

use gnarl_data::Content;
use gnarl_data::Task;
use gnarl_graph::settings::Fields;
use serde::Serialize;

use super::result::{Attempts, Certified, CertifyResult, Radius, Survived};
use super::threat::{Target, ThreatModel};
use super::{Certificate, CertifyStudy};
use crate::study::summary::Accuracy;

/// The figures of a certificate study.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct CertifyReport {
    /// The name of the data.
    pub data: String,
    /// The name of the network.
    pub model: String,
    /// The part of the input that an attacker changes.
    pub target: Target,
    /// The first certificate.
    #[serde(flatten)]
    pub first: Certified,
    /// The other certificates, if several were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Certified>,
    /// The reasons why certificates were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Accuracy under an attack, by the number of flips.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub survived: Vec<Survived>,
    /// Attacks inside certified radii, by certificate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempts>,
    /// The settings of smoothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<Fields>,
    /// Test accuracy of the model, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_accuracy: Option<Accuracy>,
    /// Number of test nodes, or test graphs.
    pub evaluated: usize,
    /// The median L2 norm of a node's features, as the network takes them.
    pub median_norm: f64,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Seconds in all.
    pub total_seconds: f64,
    /// The changes that an attacker may make.
    #[serde(skip)]
    pub threat: ThreatModel,
    /// The guarantees of the certificates in words.
    #[serde(skip)]
    pub guarantees: Vec<String>,
}

/// Settings by their options, as keywords; open ones are left out.
fn by_keyword(certificate: &Certificate) -> Fields {
    let stored = certificate.stored().unwrap_or_default();
    let settings = certificate.info().settings.iter();
    let value = |name: &str| stored.get(name).filter(|value| !value.is_null()).cloned();
    settings
        .filter_map(|setting| Some((setting.flag.replace('-', "_"), value(setting.name)?)))
        .collect()
}

impl CertifyReport {
    /// The report of a result; `None` if it was interrupted.
    pub fn new(
        data: &str,
        task: Task,
        study: &CertifyStudy,
        refused: Vec<String>,
        result: CertifyResult,
    ) -> Option<Self> {
        let threat = ThreatModel {
            target: study.target,
            task,
        };
        let mut found = result.certificates.into_iter();
        let first = found.next().filter(|_| !result.interrupted)?;
        let smoothing = study.certificates.iter().find(|c| c.smoothing().is_some());
        Some(Self {
            data: data.to_string(),
            model: study.model.backbone.to_string(),
            target: study.target,
            first,
            others: found.collect(),
            refused,
            survived: result.survived,
            attempts: result.attempts,
            smoothing: smoothing.map(|smoothing| by_keyword(&smoothing.filled(threat))),
            test_accuracy: result.test_accuracy,
            evaluated: result.evaluated,
            median_norm: result.median_norm,
            train_seconds: result.train_seconds,
            total_seconds: result.seconds,
            threat,
            guarantees: study
                .certificates
                .iter()
                .map(|certificate| certificate.method().guarantee(threat))
                .collect(),
        })
    }

    /// The certificates in their order.
    pub fn all(&self) -> impl Iterator<Item = &Certified> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The shares by radius as CSV.
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "method,radius,r_add,r_delete,edges_add,edges_delete,share,accurate_share\n",
        );
        let mut row = |method: &str, place: &str, share: f64, accurate_share: f64| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{method},{place},{share},{accurate_share}");
        };
        for certified in self.all() {
            for cell in &certified.certified {
                let place = place(&cell.radius);
                row(certified.method, &place, cell.share, cell.accurate_share);
            }
            let method = format!("{} by flips", certified.method);
            for cell in &certified.by_flips {
                let place = place(&cell.radius);
                row(&method, &place, cell.share, cell.accurate_share);
            }
        }
        for survived in &self.survived {
            let place = format!("{},,,,", survived.radius);
            row("nettack", &place, survived.share, survived.accurate_share);
        }
        text
    }

    /// Class and radius of every test node, or test graph, of the first run as CSV.
    pub fn items_csv(&self, content: &Content) -> String {
        let (kind, labels) = match content {
            Content::Graph(graph) => ("node", graph.labels()),
            Content::Graphs(set) => ("graph", Some(set.labels())),
        };
        let mut text = format!("method,{kind},class,correct,radius,deletions\n");
        let class = |class: usize| {
            labels.map_or_else(|| class.to_string(), |labels| labels.name(class as u32))
        };
        let item = |item: u32| match content {
            Content::Graph(graph) => graph.node_name(item),
            Content::Graphs(_) => item.to_string(),
        };
        for certified in self.all() {
            for n in &certified.nodes {
                let correct = n.truth.map(|truth| truth as usize == n.class);
                let correct = correct.map_or_else(String::new, |correct| correct.to_string());
                let deletions = n.deletions.map_or_else(String::new, |d| d.to_string());
                let (node, class) = (item(n.node), class(n.class));
                let (method, radius) = (certified.method, n.radius);
                let _ = writeln!(
                    text,
                    "{method},{node},{class},{correct},{radius},{deletions}"
                );
            }
        }
        text
    }
}

/// The columns of a radius.
fn place(radius: &Radius) -> String {
    match radius {
        Radius::One { radius } => format!("{radius},,,,"),
        Radius::Flips { r_add, r_delete } => format!(",{r_add},{r_delete},,"),
        Radius::Both {
            r_add,
            r_delete,
            edges_add,
            edges_delete,
        } => format!(",{r_add},{r_delete},{edges_add},{edges_delete}"),
    }
}
