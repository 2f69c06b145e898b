//! The inference axis: rules that turn the scores of a trained model into predictions.
//!
//! | file | contents |
//! | --- | --- |
//! | [`plain`], [`robust_crf`], [`smoothing`], [`clean_crf`], [`good_at`] | the choices of [`Inference`], one file each |
//! | [`fitted`] | an inference rule fitted to a model: part of a fitted model and its file |
//! | [`crf`] | RobustCRF's update over a tree of neighbours; randomised smoothing is a special case of it |
//! | [`balls`] | RobustCRF's neighbours: uniform in a ball of features, or some edge flips away |
//! | [`prior`] | the interface of priors of clean inputs |
//! | [`clean_features`], [`clean_edges`], [`clean_graphs`] | neighbours that look like clean inputs |
//! | [`edge_detectors`] | GOOD-AT's detectors of adversarial edges |
//! | `trial` | tests of these neighbours and detectors on the training data |
//! | [`external`] | a program in any language as a model, over a line protocol |
//! | [`size`] | a lower bound on the number of neighbours of a graph |
//!
//! For a graph of a set everything works as for one graph, with one prediction instead of one for
//! each node.
//!
//! Everything works on a [`Classifier`], and a model with its inference is a classifier again
//! ([`Defended`]), so that it can be attacked, measured and defended again. To add an inference
//! rule, write a file that implements [`Method`] and add a line to [`Inference`].

pub mod balls;
pub mod clean_crf;
pub mod clean_edges;
pub mod clean_features;
pub mod clean_graphs;
pub mod crf;
pub mod edge_detectors;
pub mod external;
pub mod fitted;
pub mod good_at;
pub mod plain;
pub mod prior;
mod reduced;
pub mod robust_crf;
pub mod size;
pub mod smoothing;
mod trial;

use gnarl_graph::Graph;

pub use balls::{FeatureBall, FlipDistribution, Similarity, StructureBall};
pub use clean_crf::CleanCrf;
pub use clean_edges::CleanEdges;
pub use clean_features::CleanFeatures;
pub use clean_graphs::CleanGraphs;
pub use crf::{Crf, NeighbourSampler, Neighbourhood};
pub use edge_detectors::EdgeDetectors;
pub use external::External;
pub use fitted::{Defended, FittedInference, log_probabilities};
pub use good_at::GoodAt;
pub use plain::Plain;
pub use prior::{CleanPrior, Prior};
pub use robust_crf::RobustCrf;
pub use size::log2_neighbours_at_least;
pub use smoothing::Smoothing;

use crate::classifier::Classifier;
use gnarl_graph::Result;

gnarl_graph::choices! {
    /// The inference rules.
    pub enum Inference: dyn Method as "inference" {
        Plain(plain::Plain),
        RobustCrf(robust_crf::RobustCrf),
        Smoothing(smoothing::Smoothing),
        CleanCrf(clean_crf::CleanCrf),
        GoodAt(good_at::GoodAt),
    }
}

gnarl_graph::named! {
    /// The part of an input that sampled neighbours change.
    pub enum PerturbationTarget as "part" {
        /// The features.
        Features = "features",
        /// The edges.
        Structure = "structure",
    }
}

/// Interface of an inference rule: an update ([`Crf`]) and its neighbours.
pub trait Method {
    /// Returns the rule with neighbours that differ in this part, if the part was open.
    fn on(&self, part: PerturbationTarget) -> Inference;

    /// Returns the part that neighbours differ in; `None` for one forward pass.
    fn part(&self) -> Option<PerturbationTarget> {
        None
    }

    /// Returns a setting that has no effect with the others, and the reason.
    fn idle(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns the update, with defaults for open settings; `None` for one forward pass.
    fn update(&self) -> Option<Crf>;

    /// Returns the source of neighbours; `None` for one forward pass, and if a required prior is
    /// missing.
    fn sampling_region<'a>(&self, prior: Option<&'a Prior>) -> Option<SamplingRegion<'a>>;

    /// Learns a prior from the training data of the model.
    fn learn(&self, _model: &dyn Classifier, _clean: CleanInputs<'_>) -> Result<Option<Prior>> {
        Ok(None)
    }

    /// Returns true if sigma and radius are selected on the validation nodes of every input.
    fn tunes(&self) -> bool {
        false
    }

    /// Returns the candidates of tuning on an input of this kind, the setting that changes least
    /// first.
    fn candidates(&self, _of: Input) -> Vec<Inference> {
        Vec::new()
    }

    /// Returns true if it works on the graphs of a set.
    fn works_on_sets(&self) -> bool {
        true
    }

    /// Returns the rule with open settings filled in that have another default for the graphs of a
    /// set; `None` if there are none.
    fn on_sets(&self) -> Option<Inference> {
        None
    }
}

impl Default for Inference {
    fn default() -> Self {
        Inference::Plain(Plain {})
    }
}

impl Inference {
    /// Returns true for one forward pass.
    pub fn is_plain(&self) -> bool {
        matches!(self, Inference::Plain(_))
    }

    /// Returns the rule with neighbours that differ in this part, if the part was open.
    pub fn on(self, part: PerturbationTarget) -> Self {
        self.method().on(part)
    }

    /// Returns the rule with the defaults for the graphs of a set, for open settings.
    pub fn on_sets(self) -> Self {
        self.method().on_sets().unwrap_or(self)
    }

    /// Returns true if sigma and radius are selected on the validation nodes of every input
    /// ([`FittedInference::tuned`]).
    pub fn tunes(&self) -> bool {
        self.method().tunes()
    }

    /// Returns the largest number of evaluations of the model for one prediction.
    pub fn evaluations(&self) -> usize {
        self.method().update().map_or(1, |crf| crf.evaluations())
    }

    /// Fits the rule to the graph that the model was trained on, without validation nodes.
    pub fn fit(
        &self,
        model: &dyn Classifier,
        trained_on: &Graph,
        train: &[u32],
    ) -> Result<FittedInference> {
        self.fit_to(
            model,
            CleanInputs::Nodes {
                graph: trained_on,
                train,
                val: &[],
            },
        )
    }

    /// Fits the rule to the training data of the model.
    pub fn fit_to(
        &self,
        model: &dyn Classifier,
        clean: CleanInputs<'_>,
    ) -> Result<FittedInference> {
        self.check()?;
        FittedInference::new(*self, self.method().learn(model, clean)?)
    }
}

/// Kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// One large graph whose nodes are classified.
    Nodes,
    /// A graph of a set.
    GraphOfSet,
}

/// Training data of a model, as the model takes it: clean inputs to learn from.
#[derive(Debug, Clone, Copy)]
pub enum CleanInputs<'a> {
    /// One graph whose nodes are classified.
    Nodes {
        /// The graph.
        graph: &'a Graph,
        /// Its training nodes.
        train: &'a [u32],
        /// Its validation nodes, if known.
        val: &'a [u32],
    },
    /// The training graphs of a set.
    Graphs(&'a [&'a Graph]),
}

/// Source of an input's neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SamplingRegion<'a> {
    /// Uniform in a ball of features.
    Features(FeatureBall),
    /// Some edge flips away.
    Structure(StructureBall),
    /// Inputs that look clean (new in gnarl).
    Clean(&'a Prior),
    /// The input without edges that look adversarial.
    Detected(edge_detectors::Flagging<'a>),
}

impl SamplingRegion<'_> {
    fn neighbourhood(&self) -> &dyn Neighbourhood {
        match self {
            SamplingRegion::Features(ball) => ball,
            SamplingRegion::Structure(ball) => ball,
            SamplingRegion::Detected(flagging) => flagging,
            SamplingRegion::Clean(prior) => prior.method(),
        }
    }

    /// Returns the part of the input that the neighbours change.
    fn part(&self) -> PerturbationTarget {
        match self {
            SamplingRegion::Features(_) => PerturbationTarget::Features,
            SamplingRegion::Structure(_) | SamplingRegion::Detected(_) => {
                PerturbationTarget::Structure
            }
            SamplingRegion::Clean(prior) => prior.method().part(),
        }
    }
}

/// Error message for a setting that tuning selects.
const TUNED: &str = "is chosen on validation nodes by inference-tune; set one of the two";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_matches_stored_names_and_names_are_read_back() {
        gnarl_graph::settings::assert_listed(Inference::LIST, Inference::all().map(|i| i.stored()));
        for inference in Inference::all() {
            assert_eq!(
                inference
                    .name()
                    .to_uppercase()
                    .parse::<Inference>()
                    .unwrap(),
                inference
            );
            let text = serde_json::to_string(&inference).unwrap();
            assert_eq!(
                serde_json::from_str::<Inference>(&text).unwrap(),
                inference,
                "{text}"
            );
        }
        assert_eq!(
            Inference::LIST.iter().map(|i| i.name).collect::<Vec<_>>(),
            ["plain", "robust-crf", "smoothing", "clean-crf", "good-at"]
        );
        let e = "robust".parse::<Inference>().unwrap_err().to_string();
        assert!(e.contains("robust-crf"), "{e}");
    }

    #[test]
    fn a_part_is_filled_in_only_where_it_is_open() {
        let open = Inference::from(RobustCrf::default());
        let on = |inference: Inference| inference.stored().unwrap().get("target").cloned();
        assert_eq!(
            on(open.on(PerturbationTarget::Structure)),
            Some("structure".into())
        );
        assert_eq!(
            on(open
                .on(PerturbationTarget::Structure)
                .on(PerturbationTarget::Features)),
            Some("structure".into())
        );
        assert_eq!(
            Inference::from(Plain {}).on(PerturbationTarget::Structure),
            Inference::from(Plain {})
        );
    }

    #[test]
    fn invalid_settings_are_refused_in_one_line() {
        let fail = |name: &str, setting: &str, value: &str| {
            let inference = name.parse::<Inference>().unwrap();
            inference
                .with(&[(setting.to_string(), value.to_string())])
                .unwrap_err()
                .to_string()
        };
        for (name, setting, value, what) in [
            ("robust-crf", "sigma", "2", "crf-sigma must be in [0, 1]"),
            ("clean-crf", "sigma", "-0.1", "crf-sigma must be in [0, 1]"),
            ("robust-crf", "radius", "-1", "radius must be >= 0 (got -1)"),
            ("smoothing", "radius", "nan", "radius must be a number"),
            ("smoothing", "samples", "0", "use at least 1 of each"),
            ("robust-crf", "samples", "5000", "evaluations"),
            (
                "clean-crf",
                "radius",
                "1",
                "radius: belongs to robust-crf and smoothing, and the inference is clean-crf",
            ),
            ("plain", "hard-voting", "true", "the inference is plain"),
            ("plain", "hard", "true", "is now hard-voting"),
            (
                "good-at",
                "detectors",
                "0",
                "good-at-detectors must be in [1, 200]",
            ),
            (
                "good-at",
                "threshold",
                "1.5",
                "good-at-threshold must be in [0, 1]",
            ),
            ("robust-crf", "target", "edges", "unknown part 'edges'"),
        ] {
            let e = fail(name, setting, value);
            assert!(
                e.contains(what) && !e.contains('\n'),
                "{name} {setting}={value}: {e}"
            );
        }
    }

    #[test]
    fn earlier_files_are_read() {
        let old = r#"{"kind":"robust-crf","on":"structure","neighbours":3,"updates":1,"hard":true,"law":"thesis"}"#;
        let expected = RobustCrf {
            target: Some(PerturbationTarget::Structure),
            samples: 3,
            iterations: 1,
            hard_voting: true,
            ..RobustCrf::default()
        };
        assert_eq!(
            serde_json::from_str::<Inference>(old).unwrap(),
            expected.into()
        );
    }

    #[test]
    fn open_settings_mean_coras_values() {
        let values = |part: PerturbationTarget| {
            let crf = Inference::from(RobustCrf::default()).on(part);
            let radius = match crf.method().sampling_region(None) {
                Some(SamplingRegion::Features(ball)) => ball.radius,
                Some(SamplingRegion::Structure(ball)) => ball.share,
                other => panic!("{other:?}"),
            };
            (radius, crf.method().update().unwrap().sigma)
        };
        assert_eq!(values(PerturbationTarget::Features), (0.1, 0.9));
        assert_eq!(values(PerturbationTarget::Structure), (0.02, 0.05));
        let evaluations: Vec<usize> = Inference::all().map(|i| i.evaluations()).collect();
        assert_eq!(evaluations, [1, 31, 101, 6, 2]);
    }
}
