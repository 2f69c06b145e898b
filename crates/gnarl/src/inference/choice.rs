//! What is asked of inference before there is a model: settings with the thesis' values for its datasets.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::{Graph, Labels, Split};
use serde::{Deserialize, Serialize};

use super::balls::{FeatureBall, StructureBall, StructureLaw};
use super::{Around, CleanEdges, CleanFeatures, Crf, Defended};
use crate::classifier::Classifier;
use crate::error::{Error, Result};
use crate::train::argmax;

/// How answers are read off a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One forward pass.
    Plain,
    /// The thesis' agreement over a ball of inputs.
    RobustCrf,
    /// The plain average over a ball of inputs.
    Smoothing,
    /// Ours: agreement over inputs that look clean.
    CleanCrf,
}

impl Kind {
    /// Every kind with its name.
    pub const ALL: [(&'static str, Kind); 4] = [
        ("plain", Kind::Plain),
        ("robust-crf", Kind::RobustCrf),
        ("smoothing", Kind::Smoothing),
        ("clean-crf", Kind::CleanCrf),
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(_, kind)| kind == self).map_or("?", |(name, _)| name))
    }
}

impl FromStr for Kind {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let known = || Self::ALL.iter().map(|(known, _)| *known);
        found.map(|(_, kind)| *kind).ok_or_else(|| gnarl_graph::Error::unknown("inference", name, known()))
    }
}

/// Which part of an input neighbours differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The features.
    Features,
    /// The edges.
    Structure,
}

impl FromStr for Part {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        match name.to_lowercase().as_str() {
            "features" => Ok(Part::Features),
            "structure" => Ok(Part::Structure),
            _ => Err(gnarl_graph::Error::unknown("part", name, ["features", "structure"])),
        }
    }
}

/// Settings of an inference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// How answers are read off.
    pub kind: Kind,
    /// What neighbours differ in.
    pub part: Part,
    /// The update.
    pub crf: Crf,
    /// Of a ball: a norm for features, a share of the edges for a structure.
    pub radius: f64,
    /// Of a ball of structures: how the number of flips is drawn.
    pub law: StructureLaw,
}

/// Radius and sigma of the thesis, tables `crf:tab:param_CRF_features` and `crf:tab:param_CRF_structure`.
const FEATURES: [(&str, f64, f64); 4] =
    [("cora", 0.1, 0.9), ("citeseer", 0.9, 0.8), ("pubmed", 0.3, 0.9), ("ms_academic_cs", 0.3, 0.5)];
const STRUCTURE: [(&str, f64, f64); 4] =
    [("cora", 0.02, 0.05), ("cora_ml", 0.02, 0.2), ("citeseer", 0.04, 0.05), ("polblogs", 0.005, 0.05)];
/// For datasets the thesis has no values for: Cora's.
const ELSEWHERE: usize = 0;

/// Neighbours that randomised smoothing averages over.
const SMOOTHED: usize = 100;

/// How much an input's own answer counts beside that of cleaned ones: little, since it is the one that was attacked.
const CLEAN_SIGMA: f64 = 0.05;

impl Choice {
    /// The thesis' settings on a dataset; ours have one for all.
    pub fn new(kind: Kind, part: Part, dataset: &str) -> Self {
        let table = if part == Part::Features { FEATURES } else { STRUCTURE };
        let (_, radius, sigma) = table.iter().find(|(name, ..)| *name == dataset).unwrap_or(&table[ELSEWHERE]);
        let crf = match kind {
            Kind::Plain => Crf::new(1.0),
            Kind::RobustCrf => Crf::new(*sigma),
            Kind::Smoothing => Crf::smoothing(SMOOTHED),
            Kind::CleanCrf => Crf::new(CLEAN_SIGMA),
        };
        let law = if kind == Kind::Smoothing { StructureLaw::Uniform } else { StructureLaw::Thesis };
        Self { kind, part, crf, radius: *radius, law }
    }

    /// Where neighbours come from; what looks clean is learned from the graph that the model was trained on, and from its
    /// training nodes. `None` for a plain forward pass.
    pub fn around(&self, model: &dyn Classifier, trained_on: &Graph, split: &Split) -> Result<Option<Around>> {
        self.crf.check()?;
        Ok(match (self.kind, self.part) {
            (Kind::Plain, _) => None,
            (Kind::CleanCrf, Part::Features) => {
                Some(Around::CleanFeatures(CleanFeatures::fit(trained_on, split.train())?))
            }
            (Kind::CleanCrf, Part::Structure) => Some(Around::CleanEdges(CleanEdges::fit(model, trained_on)?)),
            (_, Part::Features) => Some(Around::Features(FeatureBall { radius: self.radius })),
            (Kind::Smoothing, Part::Structure) => {
                Some(Around::Structure(StructureBall { share: self.radius, law: StructureLaw::Uniform }))
            }
            (Kind::RobustCrf, Part::Structure) => {
                Some(Around::Structure(StructureBall { share: self.radius, law: self.law }))
            }
        })
    }

    /// The sigma and radius with the best accuracy on validation nodes of the input at hand. Of equals, the setting that
    /// changes least: the largest sigma, then the smallest radius. Ours has no radius, and smoothing no sigma.
    pub fn tuned(
        &self,
        model: &dyn Classifier,
        trained_on: &Graph,
        graph: &Graph,
        split: &Split,
        seed: u64,
    ) -> Result<Self> {
        if self.kind == Kind::Plain {
            return Ok(*self);
        }
        let Some(labels) = graph.labels() else {
            return Err(Error::Graph(gnarl_graph::Error::argument("inference", "tuning needs labels")));
        };
        let sigmas: &[f64] = if self.kind == Kind::Smoothing { &[0.0] } else { &[0.95, 0.9, 0.8, 0.5, 0.2, 0.05] };
        let radii: &[f64] = match (self.kind, self.part) {
            (Kind::CleanCrf, _) => &[0.0],
            (_, Part::Features) => &[0.1, 0.3, 0.5, 0.9],
            (_, Part::Structure) => &[0.005, 0.01, 0.02, 0.04],
        };
        let mut best: Option<(f64, Self)> = None;
        for &sigma in sigmas {
            for &radius in radii {
                let tried = Self { crf: Crf { sigma, ..self.crf }, radius, ..*self };
                let Some(around) = tried.around(model, trained_on, split)? else { continue };
                let defended = Defended { model, crf: tried.crf, around: &around, seed };
                let right = accuracy(&defended, graph, split.val(), labels)?;
                if best.as_ref().is_none_or(|(so_far, _)| right > *so_far) {
                    best = Some((right, tried));
                }
            }
        }
        Ok(best.map_or(*self, |(_, choice)| choice))
    }
}

/// Per cent of the labelled nodes given that a model is right on.
fn accuracy(model: &Defended<'_>, graph: &Graph, nodes: &[u32], labels: &Labels) -> Result<f64> {
    let agreed = model.distributions(graph)?;
    let labelled: Vec<(u32, u32)> = nodes.iter().filter_map(|&u| labels.get(u).map(|c| (u, c))).collect();
    let right = labelled.iter().filter(|(u, c)| argmax(agreed.row(*u as usize)) == *c as usize).count();
    Ok(100.0 * right as f64 / labelled.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::FromFn;
    use gnarl_graph::{DenseMatrix, Features};

    #[test]
    fn names_are_read_back_and_datasets_have_their_settings() {
        for (name, kind) in Kind::ALL {
            assert_eq!(name.to_uppercase().parse::<Kind>().unwrap(), kind);
            assert_eq!(kind.to_string(), name);
        }
        let cs = Choice::new(Kind::RobustCrf, Part::Features, "ms_academic_cs");
        assert_eq!((cs.radius, cs.crf.sigma, cs.crf.neighbours, cs.crf.updates), (0.3, 0.5, 5, 2));
        let blogs = Choice::new(Kind::RobustCrf, Part::Structure, "polblogs");
        assert_eq!((blogs.radius, blogs.crf.sigma), (0.005, 0.05));
        assert_eq!(Choice::new(Kind::RobustCrf, Part::Features, "mine").radius, 0.1);
        let e = "robust".parse::<Kind>().unwrap_err().to_string();
        assert!(e.contains("robust-crf"), "{e}");
    }

    /// A model that is right only where it may listen to its neighbours: tuning must find a small sigma.
    #[test]
    fn tuning_finds_what_helps_on_validation_nodes() {
        let n = 40;
        let features = Features::Dense(DenseMatrix::new(n, 1, vec![0.0; n]).unwrap());
        let labels = Labels::new(vec![Some(1); n], 2).unwrap();
        let graph = Graph::empty(n).unwrap().with_features(features).unwrap().with_labels(labels).unwrap();
        // Wrong on the input itself, right wherever a feature moved.
        let model = FromFn {
            num_classes: 2,
            function: |graph: &Graph| {
                let Some(Features::Dense(x)) = graph.features() else { panic!("dense features") };
                let scores = x.data().iter().flat_map(|&x| if x == 0.0 { [2.0, 0.0] } else { [0.0, 2.0] });
                Ok(DenseMatrix::new(graph.num_nodes(), 2, scores.collect())?)
            },
        };
        let split = Split::new("s", (0..10).collect(), (10..30).collect(), (30..40).collect()).unwrap();
        let choice = Choice::new(Kind::RobustCrf, Part::Features, "mine");
        let tuned = choice.tuned(&model, &graph, &graph, &split, 1).unwrap();
        // Of those that are right on every node, the largest sigma and the smallest radius: at 0.8 the five neighbours together
        // outweigh the input.
        assert_eq!((tuned.crf.sigma, tuned.radius), (0.8, 0.1));
        assert_eq!(
            Choice::new(Kind::Plain, Part::Features, "x").tuned(&model, &graph, &graph, &split, 1).unwrap().kind,
            Kind::Plain
        );
    }
}
