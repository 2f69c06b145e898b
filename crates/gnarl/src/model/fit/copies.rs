//! Augmented copies of training graphs: made once, or for every epoch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use gnarl_graph::{Error, Graph, Result};

use super::source::OnSet;
use crate::augment::Copies;
use crate::augment::transform::Copier;
use crate::model::Plan;
use crate::model::batches::{EpochGraphs, TrainingSet};
use crate::model::graph_data::{GraphData, GraphPreparation};
use gnarl_nn::train::MixedIn;

/// Calls a training on the training graphs or on their augmented copies, in addition to the
/// originals or in their place. Also returns the seconds of making copies.
pub(super) fn on_copies<T>(
    plan: &Plan,
    on: &OnSet<'_>,
    train_on: &TrainingSet<'_>,
    seed: u64,
    train: impl Fn(&TrainingSet<'_>) -> Result<T>,
) -> Result<(T, Option<f64>)> {
    let Some((transform, copies)) = plan.model.augment.method().transform() else {
        return Ok((train(train_on)?, None));
    };
    let originals = on.source.training(train_on.graphs);
    let described = if transform.recomputes_degrees() {
        None
    } else {
        on.source.node_features().fixed(&originals)?
    };
    let originals = described
        .as_ref()
        .map_or(originals, |described| described.iter().collect());
    let start = Instant::now();
    let copier = Copier::new(transform, &originals, train_on.classes, seed)?;
    let maker = CopyMaker {
        plan,
        originals: &originals,
        classes: train_on.classes,
        keeps_originals: copies == Copies::Fixed,
        preparation: GraphPreparation::of(plan, on.scaler, on.source.node_features()),
        copier,
        nanoseconds: AtomicU64::new(start.elapsed().as_nanos() as u64),
    };
    let trained = maker.train_on(train_on, train)?;
    Ok((trained, Some(maker.seconds())))
}

/// Makes copies of training graphs and prepares them.
struct CopyMaker<'a> {
    plan: &'a Plan,
    originals: &'a [&'a Graph],
    /// The classes of the originals.
    classes: &'a [u32],
    /// True if the originals are trained on too.
    keeps_originals: bool,
    preparation: GraphPreparation,
    copier: Copier<'a>,
    nanoseconds: AtomicU64,
}

impl CopyMaker<'_> {
    /// Calls a training on copies that are made once, or for every epoch.
    fn train_on<T>(
        &self,
        on: &TrainingSet<'_>,
        train: impl Fn(&TrainingSet<'_>) -> Result<T>,
    ) -> Result<T> {
        let times = if self.keeps_originals { 2 } else { 1 };
        let classes = self.classes.repeat(times);
        let graphs: Vec<u32> = (0..classes.len() as u32).collect();
        let EpochGraphs { data, mixed } = &self.make(0)?;
        let make = |epoch: usize| self.make(epoch);
        let epoch_graphs: Option<&(dyn Fn(usize) -> Result<EpochGraphs> + Sync)> =
            if self.keeps_originals {
                None
            } else {
                Some(&make)
            };
        train(&TrainingSet {
            data,
            graphs: &graphs,
            classes: &classes,
            mixed,
            epoch_graphs,
            mixup: on.mixup,
        })
    }

    /// Makes the graphs of an epoch.
    fn make(&self, epoch: usize) -> Result<EpochGraphs> {
        let start = Instant::now();
        let mut graphs = Vec::with_capacity(2 * self.originals.len());
        let mut mixed = Vec::new();
        for copy in self.copier.copies(epoch)? {
            mixed.push(MixedIn {
                class: self.classes[copy.partner],
                share: copy.partner_share,
            });
            graphs.push(copy.graph);
        }
        if mixed.iter().all(|other| other.share == 0.0) {
            mixed.clear();
        }
        if self.keeps_originals {
            graphs.extend(self.originals.iter().map(|&graph| graph.clone()));
            if !mixed.is_empty() {
                let alone = |&class: &u32| MixedIn { class, share: 0.0 };
                mixed.extend(self.classes.iter().map(alone));
            }
        }
        // The graphs themselves were prepared before, so a failure here is a failure of a copy.
        let of_copies = |e: Error| {
            let augment = self.plan.model.augment;
            Error::setting("augment", format!("copies by {augment} failed: {e}"))
        };
        let data = GraphData::new(&graphs, self.plan.network.backbone, &self.preparation)
            .map_err(of_copies)?;
        let nanoseconds = start.elapsed().as_nanos() as u64;
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        Ok(EpochGraphs { data, mixed })
    }

    /// Returns the seconds of making copies so far.
    fn seconds(&self) -> f64 {
        self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9
    }
}
