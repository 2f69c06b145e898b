//! An inference rule fitted to a model: part of a fitted model and of its file; it predicts.

use std::fmt;

use gnarl_graph::{DenseMatrix, Graph, Labels};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::crf::Crf;
use super::{Inference, Input, Plain, Prior, reduced};
use crate::classifier::Classifier;
use crate::perturb::Pair;
use gnarl_graph::{Error, Result};
use gnarl_nn::train::argmax;

/// Subject of the errors of this module.
const OP: &str = "inference";

/// An inference rule with the prior that it learned from the training graph of its model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct FittedInference {
    inference: Inference,
    #[serde(skip_serializing_if = "Option::is_none")]
    prior: Option<Prior>,
}

/// A fitted inference as it is stored, before validation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    inference: Inference,
    #[serde(default)]
    prior: Option<Prior>,
}

impl TryFrom<Stored> for FittedInference {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        if let Some(prior) = &stored.prior {
            prior.method().check()?;
        }
        Self::new(stored.inference, stored.prior)
    }
}

impl Default for FittedInference {
    fn default() -> Self {
        Self {
            inference: Plain {}.into(),
            prior: None,
        }
    }
}

impl FittedInference {
    /// Combines a rule with its prior; fails if a required prior is missing or an unused one is
    /// given.
    pub(super) fn new(inference: Inference, prior: Option<Prior>) -> Result<Self> {
        let fits = match (
            inference.method().update(),
            inference.method().sampling_region(prior.as_ref()),
        ) {
            (None, None) => prior.is_none(),
            (Some(_), Some(region)) => {
                matches!(
                    region,
                    super::SamplingRegion::Clean(_) | super::SamplingRegion::Detected(_)
                ) == prior.is_some()
            }
            _ => false,
        };
        if fits {
            Ok(Self { inference, prior })
        } else {
            Err(Error::argument(
                OP,
                format!(
                    "the stored prior of clean inputs does not belong to {inference}; fit it again"
                ),
            ))
        }
    }

    /// Returns the inference rule, with the settings in use.
    pub fn inference(&self) -> Inference {
        self.inference
    }

    /// Returns true for one forward pass.
    pub fn is_plain(&self) -> bool {
        self.inference.method().update().is_none()
    }

    /// Returns the tested limit of an inference that tests its own assumption: the standard
    /// deviation of noise, or the share of adversarial edges, above which predictions are plain.
    /// Zero means always plain; `None` means untested.
    pub fn tested_limit(&self) -> Option<f64> {
        self.prior.as_ref()?.method().tested_limit()
    }

    /// Returns true for each of these pairs that would be kept as an edge, if the inference drops
    /// edges.
    pub fn keeps_edges(
        &self,
        model: &dyn Classifier,
        graph: &Graph,
        pairs: &[Pair],
    ) -> Result<Option<Vec<bool>>> {
        match &self.prior {
            Some(prior) => prior.method().keeps_edges(model, graph, pairs),
            None => Ok(None),
        }
    }

    /// Returns the class distribution of every node, `[nodes, classes]`, or of a graph of a set,
    /// `[1, classes]`. The seed fixes all samples.
    pub fn predict(
        &self,
        model: &dyn Classifier,
        graph: &Graph,
        seed: u64,
    ) -> Result<DenseMatrix<f32>> {
        let method = self.inference.method();
        let (Some(crf), Some(region)) =
            (method.update(), method.sampling_region(self.prior.as_ref()))
        else {
            return Crf::new(1.0).output(model.scores(graph)?);
        };
        crf.check()?;
        // A graph without nodes is its own and only neighbour.
        if graph.num_nodes() == 0 {
            return crf.output(model.scores(graph)?);
        }
        if let Some(white) = model.white_box().filter(|white| !white.reads_degrees())
            && let Some(prediction) = reduced::predict(&crf, white, &region, graph, seed)?
        {
            return Ok(prediction);
        }
        crf.predict(model, region.neighbourhood(), graph, seed)
    }

    /// Returns the inference with the sigma and radius of the highest accuracy on these labelled
    /// nodes of the input. Among equals it is the setting that changes least: the largest sigma,
    /// then the smallest radius. The prior stays; plain inference has nothing to tune.
    pub fn tuned(
        &self,
        model: &dyn Classifier,
        graph: &Graph,
        nodes: &[u32],
        seed: u64,
    ) -> Result<Self> {
        if self.is_plain() {
            return Ok(self.clone());
        }
        let Some(labels) = graph.labels() else {
            return Err(Error::argument(OP, "tuning needs labels"));
        };
        if !nodes.iter().any(|&u| labels.get(u).is_some()) {
            return Err(Error::argument(
                OP,
                "tuning chooses on labelled validation nodes, and there are none",
            ));
        }
        self.best(Input::Nodes, |fitted| {
            Ok(num_correct(
                &fitted.predict(model, graph, seed)?,
                nodes,
                labels,
            ))
        })
    }

    /// Returns the inference with the settings of the highest accuracy on labelled graphs of a set.
    pub fn tuned_on_graphs(
        &self,
        model: &dyn Classifier,
        graphs: &[(&Graph, u32)],
        seed: u64,
    ) -> Result<Self> {
        if self.is_plain() {
            return Ok(self.clone());
        }
        if graphs.is_empty() {
            return Err(Error::argument(
                OP,
                "tuning chooses on labelled validation graphs, and there are none",
            ));
        }
        self.best(Input::GraphOfSet, |fitted| {
            let is_correct = |(graph, class): &(&Graph, u32)| -> Result<usize> {
                let prediction = fitted.predict(model, graph, seed)?;
                Ok(usize::from(argmax(prediction.row(0)) == *class as usize))
            };
            graphs.par_iter().map(is_correct).sum::<Result<usize>>()
        })
    }

    /// Returns the first candidate of tuning with the most correct predictions.
    fn best(&self, of: Input, num_correct: impl Fn(&Self) -> Result<usize>) -> Result<Self> {
        let mut best: Option<(usize, Self)> = None;
        for candidate in self.inference.method().candidates(of) {
            let tried = Self {
                inference: candidate,
                prior: self.prior.clone(),
            };
            let correct = num_correct(&tried)?;
            if best.as_ref().is_none_or(|(so_far, _)| correct > *so_far) {
                best = Some((correct, tried));
            }
        }
        Ok(best.map_or_else(|| self.clone(), |(_, fitted)| fitted))
    }
}

/// Returns the number of correct predictions among these labelled nodes.
fn num_correct(prediction: &DenseMatrix<f32>, nodes: &[u32], labels: &Labels) -> usize {
    let is_correct = |&&u: &&u32| {
        labels
            .get(u)
            .is_some_and(|class| argmax(prediction.row(u as usize)) == class as usize)
    };
    nodes.iter().filter(is_correct).count()
}

/// Returns the logarithms of class distributions; those of probability zero are finite.
pub fn log_probabilities(distributions: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
    let logarithms = distributions
        .data()
        .iter()
        .map(|&p| p.max(f32::MIN_POSITIVE).ln())
        .collect();
    DenseMatrix::new(
        distributions.num_rows(),
        distributions.num_cols(),
        logarithms,
    )
}

/// A model with an inference rule, as a classifier. It has no gradient of its own: a white-box
/// attack uses the model inside.
pub struct Defended<'a> {
    /// The model.
    pub model: &'a dyn Classifier,
    /// The fitted inference.
    pub inference: &'a FittedInference,
    /// Seed of all samples.
    pub seed: u64,
}

impl Classifier for Defended<'_> {
    fn num_classes(&self) -> usize {
        self.model.num_classes()
    }

    /// Returns the logarithms of the class distributions, whose softmax is the combined prediction.
    /// For one forward pass, returns the model's scores.
    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        if self.inference.is_plain() {
            return self.model.scores(graph);
        }
        log_probabilities(&self.inference.predict(self.model, graph, self.seed)?)
    }
}

impl fmt::Debug for Defended<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Defended")
            .field("inference", self.inference)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::FromFn;
    use crate::inference::{CleanCrf, PerturbationTarget, RobustCrf};
    use gnarl_graph::Features;

    /// A model that is wrong on the input itself and correct if any feature moved.
    fn fixture() -> (Graph, impl Classifier) {
        let n = 40;
        let features = Features::Dense(DenseMatrix::new(n, 1, vec![0.0; n]).unwrap());
        let labels = Labels::new(vec![Some(1); n], 2).unwrap();
        let graph = Graph::empty(n)
            .unwrap()
            .with_features(features)
            .unwrap()
            .with_labels(labels)
            .unwrap();
        let model = FromFn {
            num_classes: 2,
            function: |graph: &Graph| {
                let Some(Features::Dense(x)) = graph.features() else {
                    panic!("dense features")
                };
                let scores = x
                    .data()
                    .iter()
                    .flat_map(|&x| if x == 0.0 { [2.0, 0.0] } else { [0.0, 2.0] });
                DenseMatrix::new(graph.num_nodes(), 2, scores.collect())
            },
        };
        (graph, model)
    }

    #[test]
    fn tuning_finds_what_helps_on_validation_nodes() {
        let (graph, model) = fixture();
        let val: Vec<u32> = (10..30).collect();
        let fitted = Inference::from(RobustCrf::default())
            .fit(&model, &graph, &[])
            .unwrap();
        let Inference::RobustCrf(tuned) =
            fitted.tuned(&model, &graph, &val, 1).unwrap().inference()
        else {
            panic!("another inference")
        };
        // Among the settings that are correct on every node, the largest sigma and the smallest
        // radius: at 0.8 the five neighbours together outweigh the input.
        assert_eq!((tuned.sigma, tuned.radius), (Some(0.8), Some(0.1)));
        assert_eq!(
            FittedInference::default()
                .tuned(&model, &graph, &val, 1)
                .unwrap(),
            FittedInference::default()
        );
        let e = fitted
            .tuned(&model, &Graph::empty(3).unwrap(), &val, 1)
            .unwrap_err()
            .to_string();
        assert!(e.contains("tuning needs labels"), "{e}");
        let e = fitted
            .tuned(&model, &graph, &[], 1)
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("labelled validation nodes, and there are none"),
            "{e}"
        );
    }

    #[test]
    fn plain_inference_is_the_softmax_and_its_classifier_the_model() {
        let (graph, model) = fixture();
        let plain = Inference::from(Plain {}).fit(&model, &graph, &[]).unwrap();
        assert!(
            plain.is_plain()
                && !Inference::from(RobustCrf::default())
                    .fit(&model, &graph, &[])
                    .unwrap()
                    .is_plain()
        );
        let first = 1.0 / (1.0 + (-2f32).exp());
        let prediction = plain.predict(&model, &graph, 1).unwrap();
        assert!(
            (prediction.row(7)[0] - first).abs() < 1e-6
                && (prediction.row(7)[1] - (1.0 - first)).abs() < 1e-6
        );
        let defended = Defended {
            model: &model,
            inference: &plain,
            seed: 1,
        };
        assert_eq!(
            defended.scores(&graph).unwrap().data(),
            model.scores(&graph).unwrap().data()
        );
    }

    #[test]
    fn logarithms_of_probabilities_are_finite() {
        let distributions = DenseMatrix::new(1, 3, vec![1.0, 0.5, 0.0]).unwrap();
        let logarithms = log_probabilities(&distributions).unwrap();
        assert_eq!(
            logarithms.row(0),
            [0.0, 0.5f32.ln(), f32::MIN_POSITIVE.ln()]
        );
    }

    #[test]
    fn fitted_inferences_are_stored_and_read_back() {
        let (graph, model) = fixture();
        let ones = Features::Dense(DenseMatrix::new(40, 1, vec![1.0; 40]).unwrap());
        let graph = graph.with_features(ones).unwrap();
        for inference in Inference::all() {
            for &part in PerturbationTarget::ALL {
                let fitted = inference.on(part).fit(&model, &graph, &[0, 1, 2]).unwrap();
                let text = serde_json::to_string(&fitted).unwrap();
                let back: FittedInference = serde_json::from_str(&text).unwrap();
                assert_eq!(back.inference(), fitted.inference(), "{text}");
                let [one, other] =
                    [&fitted, &back].map(|r| r.predict(&model, &graph, 3).unwrap().data().to_vec());
                assert_eq!(one, other, "{text}");
            }
        }
    }

    #[test]
    fn a_broken_file_is_refused_in_one_line() {
        let (graph, model) = fixture();
        let edges = Inference::from(CleanCrf::default())
            .on(PerturbationTarget::Structure)
            .fit(&model, &graph, &[])
            .unwrap();
        let good = serde_json::to_value(&edges).unwrap();
        let with = |path: &str, value: serde_json::Value| {
            let mut stored = good.clone();
            *stored.pointer_mut(path).unwrap() = value;
            serde_json::from_value::<FittedInference>(stored)
                .unwrap_err()
                .to_string()
        };
        for (path, value, what) in [
            ("/prior/edges/agreement", 1.5.into(), "agreement of 1.5"),
            (
                "/prior",
                serde_json::Value::Null,
                "does not belong to clean-crf",
            ),
            ("/inference", "plain".into(), "does not belong to plain"),
            (
                "/inference",
                "robust-crf".into(),
                "does not belong to robust-crf",
            ),
            (
                "/inference/target",
                "features".into(),
                "does not belong to clean-crf",
            ),
            (
                "/inference/sigma",
                7.into(),
                "crf-sigma must be in [0, 1] (got 7)",
            ),
        ] {
            let e = with(path, value);
            assert!(e.contains(what) && !e.contains('\n'), "{path}: {e}");
        }
        let features = |field: &str, value: serde_json::Value| {
            let mut prior = serde_json::json!({"odds": [0.5], "values": [1.0], "spread": 0.0, "row-total": null});
            prior[field] = value;
            let stored = serde_json::json!({"inference": {"kind": "clean-crf"}, "prior": {"features": prior}});
            serde_json::from_value::<FittedInference>(stored)
        };
        assert!(features("spread", 0.25.into()).is_ok());
        for (field, value) in [
            ("odds", serde_json::json!([])),
            ("odds", serde_json::json!([-1.0])),
            ("values", serde_json::json!([])),
            ("values", serde_json::json!(vec![1.0; 65])),
            ("spread", (-1.0).into()),
            ("row-total", 0.0.into()),
        ] {
            let e = features(field, value).unwrap_err().to_string();
            assert!(
                e.contains("clean features") && !e.contains('\n'),
                "{field}: {e}"
            );
        }
    }
}
