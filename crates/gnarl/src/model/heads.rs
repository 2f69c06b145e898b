//! Augmentation in latent space, of graphs or nodes, after a model is trained: samples vectors,
//! selects them by influence, and trains fresh heads.

use std::time::{Duration, Instant};

use gnarl_data::Part;
use gnarl_graph::{DenseMatrix, Labels, Split};
use serde::Serialize;

use super::Plan;
use super::batches::{Evaluation, HeadTraining, Vectors, train_head};
use super::report::refused;
use crate::augment::density::FitReport;
use crate::augment::influence::{HeadInfluence, Labelled, select};
use crate::augment::network_influence::{Items, NetworkInfluence};
use crate::augment::{FreshHead as FreshHeadSettings, Gratin, InfluenceLayers, gratin};
use gnarl_graph::Result;
use gnarl_nn::networks::{GraphModel, Head, Input, Linear, Network};
use gnarl_nn::train::{Callbacks, Problem, Targets, argmax};
use gnarl_tensor::Tensor;

/// A trained model with a head that classifies vectors, and its data: graphs of a set, or nodes of
/// one graph.
pub trait HeadedModel {
    /// Returns the number of classes.
    fn num_classes(&self) -> usize;

    /// Returns a fresh head in the shape of the model's own, initialised from the seed.
    fn fresh_head(&self, seed: u64) -> Result<Head>;

    /// Returns the vectors of the labelled nodes or graphs of a part, with their classes; training
    /// data is not augmented. Validation data selects; test data evaluates and selects nothing.
    fn vectors(&self, part: Part) -> Result<Vectors>;

    /// Returns the average influences of sampled vectors on the data of some parts, with all of the
    /// model's parameters. `decay` is their weight decay.
    fn network_influences(
        &self,
        sampled: &gratin::SampledVectors,
        decay: f64,
        on: &[Part],
    ) -> Result<Vec<Vec<f64>>>;
}

/// A trained classifier of graphs and its data.
pub struct TrainedClassifier<'a> {
    /// The classifier, or one of its exits.
    pub classifier: &'a dyn GraphModel,
    /// Dropout before its head.
    pub head_dropout: f32,
    /// The training graphs, without augmentation.
    pub train: &'a Evaluation,
    /// The validation graphs, which select.
    pub validation: &'a Evaluation,
    /// The test graphs, which select nothing.
    pub test: &'a Evaluation,
}

impl TrainedClassifier<'_> {
    fn part(&self, part: Part) -> &Evaluation {
        match part {
            Part::Train => self.train,
            Part::Validation => self.validation,
            Part::Test => self.test,
        }
    }
}

impl HeadedModel for TrainedClassifier<'_> {
    fn num_classes(&self) -> usize {
        self.classifier.num_classes()
    }

    fn fresh_head(&self, seed: u64) -> Result<Head> {
        Ok(Head::new(
            self.classifier.latent_dim(),
            self.classifier.num_classes(),
            self.head_dropout,
            seed,
        )?)
    }

    fn vectors(&self, part: Part) -> Result<Vectors> {
        self.part(part).vectors(self.classifier)
    }

    fn network_influences(
        &self,
        sampled: &gratin::SampledVectors,
        decay: f64,
        on: &[Part],
    ) -> Result<Vec<Vec<f64>>> {
        let Some(classifier) = self.classifier.as_classifier() else {
            let what =
                "network needs a classifier with one head, and this model has exits; choose head";
            return Err(gnarl_graph::Error::unsupported("influence-layers", what));
        };
        let network = NetworkInfluence::new(
            classifier,
            self.train.batches(),
            self.train.classes(),
            decay,
        )?;
        let latent = to_tensor(&sampled.vectors)?;
        let of = |part: &Part| {
            let direction =
                network.direction(self.part(*part).batches(), self.part(*part).classes())?;
            network.of(Items::Vectors(&latent), &sampled.classes, &direction)
        };
        on.iter().map(of).collect()
    }
}

/// A network trained on the nodes of one graph, and its nodes.
pub struct TrainedNodes<'a> {
    network: &'a Network,
    /// The linear map that is the head.
    head: &'a Linear,
    /// Latent vectors of all nodes.
    latent: Input,
    labels: &'a Labels,
    split: &'a Split,
}

impl<'a> TrainedNodes<'a> {
    /// Returns the nodes' vectors in the current state of the network.
    pub fn new(network: &'a Network, problem: &Problem<'a>) -> Result<Self> {
        let Some(head) = network.head() else {
            return Err(refused("the network has no head to retrain"));
        };
        let latent = network.latent(problem.propagation, problem.input)?;
        Ok(Self {
            network,
            head,
            latent,
            labels: problem.labels,
            split: problem.split,
        })
    }
}

impl HeadedModel for TrainedNodes<'_> {
    fn num_classes(&self) -> usize {
        self.network.num_classes()
    }

    /// Without dropout: the layers below the head were trained with theirs, and fresh heads without
    /// dropout have a higher validation accuracy (docs/augmentation.md).
    fn fresh_head(&self, seed: u64) -> Result<Head> {
        Ok(Head::like(self.head, 0.0, seed)?)
    }

    fn vectors(&self, part: Part) -> Result<Vectors> {
        let targets = Targets::new(part.of(self.split), self.labels);
        let latent = self.latent.select(&targets.items)?.to_dense()?;
        Ok(Vectors {
            latent,
            classes: targets.classes.to_vec(),
        })
    }

    fn network_influences(
        &self,
        _sampled: &gratin::SampledVectors,
        _decay: f64,
        _on: &[Part],
    ) -> Result<Vec<Vec<f64>>> {
        Err(refused(
            "influence with the layers of the network needs a set of graphs; on one graph choose head",
        ))
    }
}

/// Report of the sampled vectors.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SampleReport {
    /// Number of sampled vectors.
    pub sampled: usize,
    /// Number of sampled vectors that were trained on.
    pub kept: usize,
    /// Report of the fit of each class that has vectors.
    pub fits: Vec<FitSummary>,
    /// Mean distance between a sampled vector and the original vectors of its class: the term of
    /// GRATIN's generalisation bound that can be computed.
    pub distance: f64,
    /// Mean distance between different original vectors of a class.
    pub original_distance: f64,
    /// Influence of the sampled vectors, if it was studied.
    #[serde(skip)]
    pub influence: Option<InfluenceStudy>,
}

/// Report of the density of a class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FitSummary {
    /// Number of vectors it was fitted to.
    pub points: usize,
    /// Number of Gaussians.
    pub components: usize,
    /// Number of iterations; zero without any.
    pub iterations: usize,
    /// True if the last gain was below the tolerance.
    pub converged: bool,
    /// Objective of the fit at its last iteration, if it has iterations: the mean log-likelihood of
    /// a vector, the lower bound for all vectors in variational Bayes, or minus the critic's loss
    /// for a generator.
    pub objective: Option<f64>,
}

impl SampleReport {
    /// Compares sampled vectors, `kept` of them trained on, with the original ones.
    fn new(
        sampled: &gratin::SampledVectors,
        kept: usize,
        vectors: &DenseMatrix<f64>,
        classes: &[u32],
    ) -> Self {
        Self {
            sampled: sampled.classes.len(),
            kept,
            fits: sampled.fits.iter().map(FitSummary::new).collect(),
            distance: gratin::mean_distance(&sampled.vectors, &sampled.classes, vectors, classes),
            original_distance: gratin::mean_spread(vectors, classes),
            influence: None,
        }
    }
}

impl FitSummary {
    fn new(report: &FitReport) -> Self {
        Self {
            points: report.points,
            components: report.components,
            iterations: report.curve.len(),
            converged: report.converged,
            objective: report.curve.last().copied(),
        }
    }
}

/// The influence of every sampled vector, and accuracies after keeping the best of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InfluenceStudy {
    /// Classes of the sampled vectors.
    pub classes: Vec<u32>,
    /// Average influence on the validation data, which selects.
    pub on_validation: Vec<f64>,
    /// Average influence on the test data, which selects nothing.
    pub on_test: Vec<f64>,
    /// Results of a fresh head for each share kept, from none to all.
    pub filtering: Vec<Filtered>,
}

/// Result of a fresh head on the original vectors and the best of the sampled ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Filtered {
    /// Share of the sampled vectors that was kept.
    pub share: f64,
    /// Number of sampled vectors that were kept.
    pub kept: usize,
    /// Test accuracy, per cent.
    pub test_accuracy: f64,
    /// Validation accuracy, per cent.
    pub val_accuracy: f64,
}

/// Number of steps of the filtering curve: tenths.
const SHARES: usize = 10;
/// Smallest decay of the head at whose minimum influences are computed, the damping of Koh and
/// Liang. With the default 5e-4 the minimum is far from a head that was trained with dropout.
/// Influences on validation graphs then do not agree with those on other graphs
/// (docs/augmentation.md).
const LEAST_DECAY: f64 = 0.01;

/// A fresh head and the report of its training.
#[non_exhaustive]
pub struct FreshHead {
    /// The head, trained on the original vectors and the added ones.
    pub head: Head,
    /// Report of the sampled vectors, if vectors were sampled.
    pub sampled: Option<SampleReport>,
    /// The control, the same head without sampled vectors, if vectors were sampled.
    pub control: Option<Head>,
    /// Seconds for vectors and the head.
    pub seconds: f64,
    /// Seconds for controls, distances, and influences that select nothing.
    pub control_seconds: f64,
    /// True if training was cancelled before all heads were trained.
    pub interrupted: bool,
}

/// Trains a fresh head by the augmentation, on the original vectors and the added ones. With
/// `study`, it also computes the influence of every sampled vector.
pub fn augmented_head(
    on: &impl HeadedModel,
    plan: &Plan,
    settings: &FreshHeadSettings,
    study: bool,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<FreshHead> {
    let start = Instant::now();
    let (original, validation) = (on.vectors(Part::Train)?, on.vectors(Part::Validation)?);
    let samples = settings.samples;
    // The augmentation and its control have the same number of steps: those of the augmented
    // vectors.
    let added: usize = samples.of_classes(&original.classes).iter().sum();
    let steps = (original.classes.len() + added).div_ceil(plan.training.batch_size);
    let heads = Heads {
        on,
        plan,
        epochs: settings.epochs,
        validation: &validation,
        steps,
        seed,
        watch,
    };
    let repeated = samples.repeated(&original.classes, seed);
    if let Some(gratin) = settings.sampled {
        return heads.on_samples(&gratin, &original, &repeated, study, start);
    }
    let head = heads.train(&original.with_repeated(&repeated)?)?;
    Ok(FreshHead {
        head,
        sampled: None,
        control: None,
        seconds: start.elapsed().as_secs_f64(),
        control_seconds: 0.0,
        interrupted: watch.stopped(),
    })
}

/// Trains the same fresh head on any set of vectors.
struct Heads<'a, H> {
    on: &'a H,
    plan: &'a Plan,
    epochs: usize,
    validation: &'a Vectors,
    /// Number of steps in every epoch.
    steps: usize,
    seed: u64,
    watch: &'a Callbacks<'a>,
}

impl<H: HeadedModel> Heads<'_, H> {
    /// Trains a head on the original vectors and on samples of their densities, and a control on
    /// the original vectors alone.
    fn on_samples(
        &self,
        gratin: &Gratin,
        original: &Vectors,
        repeated: &[u32],
        study: bool,
        start: Instant,
    ) -> Result<FreshHead> {
        let vectors = original.to_matrix()?;
        let classes = &original.classes;
        let sampling = gratin.sampling();
        let sampled = gratin::sample_vectors(&vectors, classes, &sampling, self.seed)?;
        let mut control_time = Duration::ZERO;
        let before_influence = Instant::now();
        // A share of one keeps all vectors, whatever their influence.
        let selects = gratin.select.is_some_and(|share| share < 1.0);
        let [on_validation, on_test] = if selects || study {
            self.influences(gratin, study, original, &sampled)?
        } else {
            [vec![0.0; sampled.classes.len()], Vec::new()]
        };
        if !selects {
            control_time += before_influence.elapsed();
        }
        let choice = Choice {
            original,
            sampled: &sampled,
            repeated,
            on_validation: &on_validation,
        };
        let (best, kept) = choice.best(gratin.select.unwrap_or(1.0))?;
        let head = self.train(&best)?;
        let seconds = (start.elapsed() - control_time).as_secs_f64();

        let before_control = Instant::now();
        let test = self.on.vectors(Part::Test)?;
        let control = Some(self.train(&original.with_repeated(repeated)?)?);
        let mut report = SampleReport::new(&sampled, kept, &vectors, classes);
        if study {
            let filtering = self.filtering(&choice, &test)?;
            report.influence = Some(InfluenceStudy {
                classes: sampled.classes.clone(),
                on_validation,
                on_test,
                filtering,
            });
        }
        Ok(FreshHead {
            head,
            sampled: Some(report),
            control,
            seconds,
            control_seconds: (control_time + before_control.elapsed()).as_secs_f64(),
            interrupted: self.watch.stopped(),
        })
    }

    /// Trains a head for each share of the best samples, from none to all.
    fn filtering(&self, choice: &Choice<'_>, test: &Vectors) -> Result<Vec<Filtered>> {
        let filtered = |tenths: usize| {
            let share = tenths as f64 / SHARES as f64;
            let (best, kept) = choice.best(share)?;
            let head = self.train(&best)?;
            Ok(Filtered {
                share,
                kept,
                test_accuracy: accuracy(&head, test)?,
                val_accuracy: accuracy(&head, self.validation)?,
            })
        };
        (0..=SHARES).map(filtered).collect()
    }

    /// Returns the average influences of sampled vectors on validation and test data. The second is
    /// empty without test data, or without `study`.
    fn influences(
        &self,
        gratin: &Gratin,
        study: bool,
        original: &Vectors,
        sampled: &gratin::SampledVectors,
    ) -> Result<[Vec<f64>; 2]> {
        let test = if study {
            Some(self.on.vectors(Part::Test)?).filter(|test| !test.classes.is_empty())
        } else {
            None
        };
        match gratin.influence_layers {
            InfluenceLayers::Head => self.head_influences(original, test.as_ref(), sampled),
            InfluenceLayers::Network => {
                let parts: &[Part] = if test.is_some() {
                    &[Part::Validation, Part::Test]
                } else {
                    &[Part::Validation]
                };
                let decay = self.plan.training.weight_decay;
                let mut found = self
                    .on
                    .network_influences(sampled, decay, parts)?
                    .into_iter();
                Ok([
                    found.next().unwrap_or_default(),
                    found.next().unwrap_or_default(),
                ])
            }
        }
    }

    /// Returns the influences with the parameters of the head alone.
    fn head_influences(
        &self,
        original: &Vectors,
        test: Option<&Vectors>,
        sampled: &gratin::SampledVectors,
    ) -> Result<[Vec<f64>; 2]> {
        let decay = self.plan.training.weight_decay.max(LEAST_DECAY);
        let vectors = original.to_matrix()?;
        let train = Labelled {
            vectors: &vectors,
            classes: &original.classes,
        };
        let head = HeadInfluence::new(train, self.on.num_classes(), decay)?;
        let candidates = Labelled {
            vectors: &sampled.vectors,
            classes: &sampled.classes,
        };
        let of = |set: &Vectors| -> Result<Vec<f64>> {
            let vectors = set.to_matrix()?;
            let direction = head.direction(Labelled {
                vectors: &vectors,
                classes: &set.classes,
            })?;
            head.of(candidates, &direction)
        };
        Ok([of(self.validation)?, test.map_or(Ok(Vec::new()), of)?])
    }

    /// Trains the same fresh head on these vectors.
    fn train(&self, on: &Vectors) -> Result<Head> {
        let fresh = self.on.fresh_head(self.seed)?;
        let training = HeadTraining {
            epochs: self.epochs,
            batch_size: self.plan.training.batch_size,
            steps: Some(self.steps),
        };
        let (config, watch) = (&self.plan.training, self.watch.silent());
        let (head, _) = train_head(
            fresh,
            on,
            self.validation,
            training,
            config,
            self.seed,
            &watch,
        )?;
        Ok(head)
    }
}

/// Sampled vectors to select from.
struct Choice<'a> {
    original: &'a Vectors,
    sampled: &'a gratin::SampledVectors,
    /// The vector that the control repeats in the place of each sampled vector; empty if there is
    /// none.
    repeated: &'a [u32],
    on_validation: &'a [f64],
}

impl Choice<'_> {
    /// Returns the original vectors and the best share of the sampled ones, and the control's
    /// repeated vectors in the place of the others. Share zero is the control, share one all
    /// samples. Also returns the number of kept samples.
    fn best(&self, share: f64) -> Result<(Vectors, usize)> {
        let kept = select(self.on_validation, share)?;
        let classes: Vec<u32> = kept
            .iter()
            .map(|&i| self.sampled.classes[i as usize])
            .collect();
        let with_kept = self
            .original
            .extended(&self.sampled.vectors.select_rows(&kept), &classes)?;
        let mut is_kept = vec![false; self.sampled.classes.len()];
        kept.iter().for_each(|&i| is_kept[i as usize] = true);
        let dropped = self
            .repeated
            .iter()
            .zip(is_kept)
            .filter(|(_, is_kept)| !is_kept);
        let dropped: Vec<u32> = dropped.map(|(row, _)| *row).collect();
        Ok((with_kept.with_repeated(&dropped)?, kept.len()))
    }
}

fn to_tensor(vectors: &DenseMatrix<f64>) -> Result<Tensor> {
    let values: Vec<f32> = vectors.data().iter().map(|&x| x as f32).collect();
    Ok(Tensor::from_vec(
        values,
        (vectors.num_rows(), vectors.num_cols()),
        &gnarl_tensor::Device::Cpu,
    )?)
}

/// Returns the accuracy of a head on vectors, in per cent.
pub(super) fn accuracy(head: &Head, on: &Vectors) -> Result<f64> {
    let scores = head.scores(&on.latent)?.to_vec2::<f32>()?;
    let correct = scores
        .iter()
        .zip(&on.classes)
        .filter(|(row, class)| argmax(row) == **class as usize)
        .count();
    Ok(100.0 * correct as f64 / on.classes.len().max(1) as f64)
}
