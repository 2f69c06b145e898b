//! What the data axis does with latent vectors, of graphs or of nodes, once a model is trained:
//! draws, chooses among them by influence, trains heads.

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
use gnarl_nn::train::{Problem, Targets, Watch, argmax};
use gnarl_tensor::Tensor;

/// A trained model whose classes a head reads off vectors, and the items around it: graphs of a
/// set, or nodes of one graph.
pub trait Headed {
    /// Classes there are.
    fn num_classes(&self) -> usize;

    /// A fresh head that can take the place of the model's own, drawn from the seed.
    fn fresh_head(&self, seed: u64) -> Result<Head>;

    /// The vectors of the labelled items of a part, with their classes: training items as they are
    /// without augmentation. Validation items choose, test items judge and choose nothing.
    fn vectors(&self, part: Part) -> Result<Vectors>;

    /// The average influences of drawn vectors on the items of some parts through all of the
    /// model's parameters, whose decay this is.
    fn network_influences(
        &self,
        drawn: &gratin::Drawn,
        decay: f64,
        on: &[Part],
    ) -> Result<Vec<Vec<f64>>>;
}

/// A trained classifier of graphs and the graphs around it.
pub struct TrainedClassifier<'a> {
    /// The classifier, or one of its exits.
    pub classifier: &'a dyn GraphModel,
    /// Dropout before its head.
    pub head_dropout: f32,
    /// The graphs it was trained on, as they are without augmentation.
    pub train: &'a Evaluation,
    /// The graphs that choose.
    pub validation: &'a Evaluation,
    /// The graphs that judge; they choose nothing.
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

impl Headed for TrainedClassifier<'_> {
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
        drawn: &gratin::Drawn,
        decay: f64,
        on: &[Part],
    ) -> Result<Vec<Vec<f64>>> {
        let Some(classifier) = self.classifier.as_classifier() else {
            let what =
                "network needs a classifier with one head, and this model has exits; choose head";
            return Err(gnarl_graph::Error::setting("influence-layers", what));
        };
        let network = NetworkInfluence::new(
            classifier,
            self.train.batches(),
            self.train.classes(),
            decay,
        )?;
        let latent = to_tensor(&drawn.vectors)?;
        let of = |part: &Part| {
            let direction =
                network.direction(self.part(*part).batches(), self.part(*part).classes())?;
            network.of(Items::Vectors(&latent), &drawn.classes, &direction)
        };
        on.iter().map(of).collect()
    }
}

/// A network trained on the nodes of one graph, and its nodes.
pub struct TrainedNodes<'a> {
    network: &'a Network,
    /// Which of its maps is the head.
    head: &'a Linear,
    /// Of all nodes.
    latent: Input,
    labels: &'a Labels,
    split: &'a Split,
}

impl<'a> TrainedNodes<'a> {
    /// The nodes as the network sees them now.
    pub fn new(network: &'a Network, problem: &Problem<'a>) -> Result<Self> {
        let Some(head) = network.head() else {
            return Err(refused("the network has no head to be trained again"));
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

impl Headed for TrainedNodes<'_> {
    fn num_classes(&self) -> usize {
        self.network.num_classes()
    }

    /// Without dropout: the layers that made the vectors were trained with theirs, and validation
    /// nodes prefer it (docs/augmentation.md).
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
        _drawn: &gratin::Drawn,
        _decay: f64,
        _on: &[Part],
    ) -> Result<Vec<Vec<f64>>> {
        Err(refused(
            "influence with the layers of the network needs a set of graphs; on one graph choose head",
        ))
    }
}

/// What was drawn.
#[derive(Debug, Clone, Serialize)]
pub struct DrawReport {
    /// New vectors drawn.
    pub drawn: usize,
    /// New vectors trained on.
    pub kept: usize,
    /// How the fit of each class that has vectors went.
    pub fits: Vec<FitSummary>,
    /// Mean distance between a new vector and the original ones of its class: the term of the
    /// thesis' bound that can be computed.
    pub distance: f64,
    /// The same among the original vectors, each against the others.
    pub original_distance: f64,
    /// Where the influence of the new vectors was studied: what came out.
    #[serde(skip)]
    pub influence: Option<InfluenceStudy>,
}

/// How the density of a class came out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FitSummary {
    /// Vectors it was fitted to.
    pub points: usize,
    /// Gaussians.
    pub components: usize,
    /// Iterations, where there are any.
    pub iterations: usize,
    /// Whether the last gain was below the tolerance.
    pub converged: bool,
    /// What the fit climbs, as its last iteration had it, where there are any: the mean
    /// log-likelihood of a vector, of variational Bayes the lower bound for all of them, of a
    /// generator minus the loss of its critic.
    pub objective: Option<f64>,
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

/// The influence of every new vector, and what keeping the best of them does.
#[derive(Debug, Clone)]
pub struct InfluenceStudy {
    /// The classes of the new vectors.
    pub classes: Vec<u32>,
    /// Their average influence on the validation items, by which they are chosen.
    pub on_validation: Vec<f64>,
    /// Their average influence on the test items, which chooses nothing.
    pub on_test: Vec<f64>,
    /// A fresh head for each share kept, from none to all.
    pub filtering: Vec<Filtered>,
}

/// A fresh head on the original vectors and the best of the new ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Filtered {
    /// Share of the new vectors that was kept.
    pub share: f64,
    /// How many those were.
    pub kept: usize,
    /// Test accuracy, per cent.
    pub test_accuracy: f64,
    /// Validation accuracy, per cent.
    pub val_accuracy: f64,
}

/// Shares of the filtering curve: tenths.
const SHARES: usize = 10;
/// Least decay of the head whose minimum influences are taken at, Koh and Liang's damping: with the
/// usual 5e-4 the minimum is far from where a head with dropout ends, and influences on validation
/// graphs say nothing of those on others (docs/augmentation.md).
const LEAST_DECAY: f64 = 0.01;

/// A fresh head and what it came from.
pub struct FreshHead {
    /// Trained on the original vectors and what the data axis put beside them.
    pub head: Head,
    /// Where vectors were drawn: which.
    pub drawn: Option<DrawReport>,
    /// Where vectors were drawn: the control, the same head without them.
    pub control: Option<Head>,
    /// Seconds that vectors and the head took.
    pub seconds: f64,
    /// Seconds of what is only looked at beside: the control, distances, influences that choose
    /// nothing.
    pub seconds_aside: f64,
    /// Whether somebody asked to stop before all heads were trained.
    pub interrupted: bool,
}

/// A fresh head as the data axis says: on the original vectors and what it puts beside them. With
/// `study`, the influence of every drawn vector is found out besides.
pub fn augmented_head(
    on: &impl Headed,
    plan: &Plan,
    settings: &FreshHeadSettings,
    study: bool,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<FreshHead> {
    let start = Instant::now();
    let (original, validation) = (on.vectors(Part::Train)?, on.vectors(Part::Validation)?);
    let samples = settings.samples;
    // As many steps for an augmentation and its control: those of the vectors that the former has.
    let beside: usize = samples.of_classes(&original.classes).iter().sum();
    let steps = (original.classes.len() + beside).div_ceil(plan.training.batch_size);
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
    let control = || heads.train(&original.repeated_beside(&repeated)?);
    let Some(gratin) = settings.sampled else {
        let (head, seconds) = (control()?, start.elapsed().as_secs_f64());
        let interrupted = watch.stopped();
        return Ok(FreshHead {
            head,
            drawn: None,
            control: None,
            seconds,
            seconds_aside: 0.0,
            interrupted,
        });
    };

    let vectors = original.to_matrix()?;
    let drawn = gratin::draw(&vectors, &original.classes, &gratin.drawing(), seed)?;
    let mut aside = Duration::ZERO;
    let before_influence = Instant::now();
    // All of them are taken whatever they do.
    let selects = gratin.select.is_some_and(|share| share < 1.0);
    let [on_validation, on_test] = match selects || study {
        true => influences(on, plan, &gratin, study, [&original, &validation], &drawn)?,
        false => [vec![0.0; drawn.classes.len()], Vec::new()],
    };
    if !selects {
        aside += before_influence.elapsed();
    }
    let choice = Choice {
        original: &original,
        drawn: &drawn,
        repeated: &repeated,
        on_validation: &on_validation,
    };
    let (best, kept) = choice.best(gratin.select.unwrap_or(1.0))?;
    let head = heads.train(&best)?;
    let seconds = (start.elapsed() - aside).as_secs_f64();

    let before_control = Instant::now();
    let test = on.vectors(Part::Test)?;
    let control = Some(control()?);
    let mut report = DrawReport {
        drawn: drawn.classes.len(),
        kept,
        fits: drawn.fits.iter().map(FitSummary::new).collect(),
        distance: gratin::mean_distance(
            &drawn.vectors,
            &drawn.classes,
            &vectors,
            &original.classes,
        ),
        original_distance: gratin::mean_spread(&vectors, &original.classes),
        influence: None,
    };
    if study {
        let filtering = (0..=SHARES).map(|tenths| {
            let share = tenths as f64 / SHARES as f64;
            let (best, kept) = choice.best(share)?;
            let head = heads.train(&best)?;
            let [test_accuracy, val_accuracy] =
                [accuracy(&head, &test)?, accuracy(&head, &validation)?];
            Ok(Filtered {
                share,
                kept,
                test_accuracy,
                val_accuracy,
            })
        });
        let filtering = filtering.collect::<Result<_>>()?;
        report.influence = Some(InfluenceStudy {
            classes: drawn.classes.clone(),
            on_validation,
            on_test,
            filtering,
        });
    }
    let seconds_aside = (aside + before_control.elapsed()).as_secs_f64();
    Ok(FreshHead {
        head,
        drawn: Some(report),
        control,
        seconds,
        seconds_aside,
        interrupted: watch.stopped(),
    })
}

/// Drawn vectors to choose from.
struct Choice<'a> {
    original: &'a Vectors,
    drawn: &'a gratin::Drawn,
    /// What the control has in the place of each drawn vector; empty where it has nothing.
    repeated: &'a [u32],
    on_validation: &'a [f64],
}

impl Choice<'_> {
    /// The original vectors and the best share of the drawn ones, with those of the control in the
    /// place of the others: from the control to all that was drawn. Also how many were kept.
    fn best(&self, share: f64) -> Result<(Vectors, usize)> {
        let kept = select(self.on_validation, share)?;
        let classes: Vec<u32> = kept
            .iter()
            .map(|&i| self.drawn.classes[i as usize])
            .collect();
        let with_kept = self
            .original
            .beside(&self.drawn.vectors.select_rows(&kept), &classes)?;
        let mut is_kept = vec![false; self.drawn.classes.len()];
        kept.iter().for_each(|&i| is_kept[i as usize] = true);
        let dropped = self
            .repeated
            .iter()
            .zip(is_kept)
            .filter(|(_, is_kept)| !is_kept);
        let dropped: Vec<u32> = dropped.map(|(row, _)| *row).collect();
        Ok((with_kept.repeated_beside(&dropped)?, kept.len()))
    }
}

/// The average influences of drawn vectors on validation and test items. Without test items, or
/// where nobody looks, the second is empty.
fn influences(
    on: &impl Headed,
    plan: &Plan,
    gratin: &Gratin,
    study: bool,
    [original, validation]: [&Vectors; 2],
    drawn: &gratin::Drawn,
) -> Result<[Vec<f64>; 2]> {
    let test = if study {
        Some(on.vectors(Part::Test)?).filter(|test| !test.classes.is_empty())
    } else {
        None
    };
    match gratin.influence_layers {
        InfluenceLayers::Head => {
            let decay = plan.training.weight_decay.max(LEAST_DECAY);
            let vectors = original.to_matrix()?;
            let train = Labelled {
                vectors: &vectors,
                classes: &original.classes,
            };
            let head = HeadInfluence::new(train, on.num_classes(), decay)?;
            let candidates = Labelled {
                vectors: &drawn.vectors,
                classes: &drawn.classes,
            };
            let of = |set: &Vectors| -> Result<Vec<f64>> {
                let vectors = set.to_matrix()?;
                let direction = head.direction(Labelled {
                    vectors: &vectors,
                    classes: &set.classes,
                })?;
                head.of(candidates, &direction)
            };
            Ok([of(validation)?, test.as_ref().map_or(Ok(Vec::new()), of)?])
        }
        InfluenceLayers::Network => {
            let parts: &[Part] = if test.is_some() {
                &[Part::Validation, Part::Test]
            } else {
                &[Part::Validation]
            };
            let mut found = on
                .network_influences(drawn, plan.training.weight_decay, parts)?
                .into_iter();
            Ok([
                found.next().unwrap_or_default(),
                found.next().unwrap_or_default(),
            ])
        }
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

/// Trains the same fresh head on whatever vectors it is given.
struct Heads<'a, H> {
    on: &'a H,
    plan: &'a Plan,
    epochs: usize,
    validation: &'a Vectors,
    /// In every epoch.
    steps: usize,
    seed: u64,
    watch: &'a Watch<'a>,
}

impl<H: Headed> Heads<'_, H> {
    fn train(&self, on: &Vectors) -> Result<Head> {
        let Self {
            on: model,
            plan,
            epochs,
            validation,
            steps,
            seed,
            watch,
        } = self;
        let fresh = model.fresh_head(*seed)?;
        let training = HeadTraining {
            epochs: *epochs,
            batch_size: plan.training.batch_size,
            steps: Some(*steps),
        };
        Ok(train_head(
            fresh,
            on,
            validation,
            training,
            &plan.training,
            *seed,
            &watch.silent(),
        )?
        .0)
    }
}

/// Per cent of vectors that a head puts into their class.
pub(super) fn accuracy(head: &Head, on: &Vectors) -> Result<f64> {
    let scores = head.scores(&on.latent)?.to_vec2::<f32>()?;
    let right = scores
        .iter()
        .zip(&on.classes)
        .filter(|(row, class)| argmax(row) == **class as usize)
        .count();
    Ok(100.0 * right as f64 / on.classes.len().max(1) as f64)
}
