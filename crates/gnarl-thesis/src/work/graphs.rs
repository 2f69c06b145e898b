//! Graph classification on the folds of a set.

use gnarl_data::{Task, registry};
use gnarl_graph::{Error, Split};
use serde::{Deserialize, Serialize};

use super::{
    CellInput, CellWork, RowKind, RunInput, Runs, Work, curve, finished, folds_of, test_accuracies,
};
use crate::graphs::{Classifier, RareClass, inits};
use crate::measure::Measure;
use crate::measured::{Measured, Times};
use gnarl::augment::{Copies, Corruption};
use gnarl::model::TrainingCorruption;
use gnarl::model::fit::FitOptions;
use gnarl::study::train::TrainStudy;
use gnarl_graph::Result;

/// Trains a classifier of graphs on the folds of a set, and takes one of its results.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphsRow {
    /// The classifier, and its training graphs.
    pub classifier: Classifier,
    /// The result to show.
    pub measure: Measure,
}

/// Settings of graph classification.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnGraphs {
    /// The corruption of the structure of training graphs.
    pub corruption: Option<TrainingCorruption>,
    /// The reduction to few training graphs of each fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few: Option<RareClass>,
    /// Number of initialisations of each fold, which counts with their mean.
    pub inits: usize,
    /// True if seconds are measured.
    pub timed: bool,
}

impl RowKind for GraphsRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let (classifier, dataset) = (self.classifier, cell.dataset);
        let edges = classifier.corrupted.map(Corruption::new).transpose()?;
        // The data's own features are kept anyway: with and without the option it is one cell.
        let by_degrees =
            registry::get(dataset).is_some_and(|entry| entry.expected.features.is_none());
        let keep_degrees = classifier.keeps_degrees && by_degrees;
        let more = OnGraphs {
            corruption: edges.map(|edges| TrainingCorruption {
                edges,
                keep_degrees,
            }),
            few: classifier.few,
            inits: inits(&classifier, dataset),
            timed: self.measure.is_seconds(),
        };
        let model = classifier.model(dataset, cell.recipe);
        let runs = cell.filled(cell.recipe, model, Task::Graph, more)?;
        Ok(Work::Graphs(Runs {
            // Folds are runs, so there are no more runs than folds.
            runs: runs.runs.min(folds_of(dataset)),
            // The augmentation for few graphs was developed on the folds of the first seed, and is
            // evaluated on others.
            seed: cell.seed.wrapping_add(u64::from(classifier.few.is_some())),
            ..runs
        }))
    }

    fn measure(&self) -> Option<Measure> {
        Some(self.measure)
    }

    fn flaw(&self) -> Option<String> {
        self.classifier.flaw(self.measure)
    }
}

impl CellWork for Runs<OnGraphs> {
    fn kind(&self) -> &'static str {
        self.model.augment.name()
    }

    fn effort(&self) -> f64 {
        let copies = self
            .model
            .augment
            .method()
            .transform()
            .map(|(_, copies)| copies);
        let doubled = if copies == Some(Copies::Fixed) {
            2.0
        } else {
            1.0
        };
        self.training_effort(Task::Graph) * self.more.inits as f64 * doubled
    }

    fn is_accuracy(&self) -> bool {
        !self.more.timed
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        let OnGraphs {
            corruption,
            few,
            inits,
            timed,
        } = self.more;
        let options = FitOptions {
            corruption,
            corruption_seed: self.seed,
            study_influence: false,
        };
        let study = TrainStudy {
            inits,
            options,
            ..self.study()
        };
        let mut benchmark = on.loaded.benchmark(self.seed, self.runs)?;
        if let (Some(RareClass { per_class, rare }), Some(labels)) =
            (few, benchmark.content.labels())
        {
            let (splits, folds) = (&benchmark.splits, benchmark.splits.len());
            benchmark.splits =
                Split::fewer_in_turn(splits, folds, labels, per_class, Some(rare), self.seed)?;
        }
        let train = || finished(&study, &benchmark, on.stop);
        // Threads that wait inside one run start another within it, and its seconds would count as
        // those of the first.
        let Some(result) = (if timed { on_one_core(train)? } else { train()? }) else {
            return Ok(None);
        };
        let copies = self
            .model
            .augment
            .method()
            .transform()
            .map_or(Copies::Fixed, |(_, copies)| copies);
        Ok(Some(Measured {
            values: test_accuracies(&result),
            splits: result
                .runs
                .chunks(inits)
                .map(|fold| fold[0].split.clone())
                .collect(),
            curve: curve(&result.runs[0]),
            times: timed.then(|| Box::new(Times::new(&result, copies))),
            ..Measured::default()
        }))
    }
}

fn on_one_core<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.map_err(|e| Error::argument("seconds on one core", e.to_string()))?
        .install(work)
}
