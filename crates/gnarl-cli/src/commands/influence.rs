//! Reports of `gnarl train` on a set of graphs: influence of sampled vectors and confidence of the
//! classifiers, as tables and figures in files.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use gnarl::augment::influence::density_curve;
use gnarl::model::heads::InfluenceStudy;
use gnarl::study::Accuracy;
use gnarl::study::train::{Run, TrainResult};
use gnarl_graph::DenseMatrix;
use gnarl_graph::metrics::{
    Histogram, PairedDifference, confidence_histogram, entropy_histogram, paired_difference,
};
use serde::Serialize;

use crate::output::{self, difference, real};
use crate::plot::{self, Line, LineChart, Point};

/// Number of bins of the confidence histograms.
const BINS: usize = 20;
/// Number of places at which densities are plotted.
const PLACES: usize = 300;

/// Confidence of the classifiers of all runs on their test graphs.
#[derive(Debug, Serialize)]
pub struct Certainty {
    /// Histogram of the largest probability of each test graph.
    pub confidence: Histogram,
    /// Histogram of the entropy of each test graph's distribution, in nats.
    pub entropy: Histogram,
}

impl Certainty {
    pub fn new(runs: &[Run]) -> gnarl_graph::Result<Self> {
        let cols = runs
            .first()
            .map_or(0, |run| run.test_probabilities.num_cols());
        let data: Vec<f32> = runs
            .iter()
            .flat_map(|run| run.test_probabilities.data())
            .copied()
            .collect();
        let all = DenseMatrix::new(data.len() / cols.max(1), cols, data)?;
        Ok(Self {
            confidence: confidence_histogram(&all, BINS)?,
            entropy: entropy_histogram(&all, BINS)?,
        })
    }

    /// Writes `STEM-confidence` and `STEM-entropy` as figures.
    pub fn draw(&self, stem: &Path, title: &str) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for (name, label, histogram) in [
            ("confidence", "largest probability", &self.confidence),
            ("entropy", "entropy of the prediction, nats", &self.entropy),
        ] {
            let chart = LineChart {
                title: format!("{title}: {name} on test graphs"),
                x_label: label.into(),
                y_label: "share of test graphs".into(),
                lines: vec![Line {
                    name: name.into(),
                    points: outline(histogram),
                }],
            };
            files.extend(plot::write(
                &chart,
                &with_ending(stem, &format!("-{name}")),
            )?);
        }
        Ok(files)
    }
}

/// Returns the outline of a histogram from left to right, as shares.
fn outline(histogram: &Histogram) -> Vec<Point> {
    let Histogram { low, high, counts } = histogram;
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let at = |i: usize| low + (high - low) * i as f64 / counts.len() as f64;
    let bar = |(i, &count): (usize, &u64)| [(at(i), count), (at(i + 1), count)];
    let steps = counts.iter().enumerate().flat_map(bar);
    let ends = [(*low, 0)].into_iter().chain(steps).chain([(*high, 0)]);
    ends.map(|(x, count)| Point {
        x,
        y: count as f64 / all,
        band: None,
    })
    .collect()
}

/// Influence of the sampled vectors, over all runs.
#[derive(Debug, Serialize)]
pub struct InfluenceReport {
    /// Number of sampled vectors in all runs.
    candidates: usize,
    /// Per cent of the vectors with a positive influence on the validation graphs.
    helping_validation: f64,
    /// Per cent of the vectors with a positive influence on the test graphs.
    helping_test: f64,
    /// Accuracies with the best share of the vectors, by influence on the validation graphs.
    filtering: Vec<FilteringRow>,
}

/// One point of the filtering curve.
#[derive(Debug, Serialize)]
struct FilteringRow {
    share: f64,
    test_accuracy: Accuracy,
    val_accuracy: Accuracy,
    /// Difference to keeping no vectors, which is the control `retrain`.
    minus_retrain: PairedDifference,
}

fn studies(runs: &[Run]) -> impl Iterator<Item = (usize, &InfluenceStudy)> {
    runs.iter()
        .enumerate()
        .filter_map(|(i, run)| Some((i, study(run)?)))
}

fn study(run: &Run) -> Option<&InfluenceStudy> {
    run.fit
        .fresh_head
        .as_ref()?
        .sampled
        .as_ref()?
        .influence
        .as_ref()
}

impl InfluenceReport {
    /// Summarises the influence of all runs; `None` if none was computed.
    pub fn new(result: &TrainResult) -> gnarl_graph::Result<Option<Self>> {
        let runs = &result.runs[..];
        let Some((_, first)) = studies(runs).next() else {
            return Ok(None);
        };
        let point = |run: &Run, k: usize| {
            study(run).map_or((f64::NAN, f64::NAN), |study| {
                (
                    study.filtering[k].test_accuracy,
                    study.filtering[k].val_accuracy,
                )
            })
        };
        let test = |k: usize| result.over(|run| Some(point(run, k).0)).unwrap_or_default();
        let row = |k: usize| {
            Ok(FilteringRow {
                share: first.filtering[k].share,
                test_accuracy: Accuracy::of(test(k))?,
                val_accuracy: Accuracy::of(
                    result.over(|run| Some(point(run, k).1)).unwrap_or_default(),
                )?,
                minus_retrain: paired_difference(&test(k), &test(0))?,
            })
        };
        let helping = |of: fn(&InfluenceStudy) -> &[f64]| {
            let all: Vec<f64> = studies(runs)
                .flat_map(|(_, study)| of(study))
                .copied()
                .collect();
            100.0 * all.iter().filter(|x| **x > 0.0).count() as f64 / all.len().max(1) as f64
        };
        Ok(Some(Self {
            candidates: studies(runs).map(|(_, study)| study.classes.len()).sum(),
            helping_validation: helping(|s| &s.on_validation),
            helping_test: helping(|s| &s.on_test),
            filtering: (0..first.filtering.len())
                .map(row)
                .collect::<gnarl_graph::Result<_>>()?,
        }))
    }

    /// Formats the report as a table.
    pub fn text(&self) -> String {
        let mut table = output::table(&[
            ">share kept",
            ">test accuracy",
            ">validation accuracy",
            ">minus retrain",
        ]);
        for FilteringRow {
            share,
            test_accuracy,
            val_accuracy,
            minus_retrain,
        } in &self.filtering
        {
            let cells = [
                real(*share),
                test_accuracy.text(),
                val_accuracy.text(),
                difference(minus_retrain),
            ];
            table.add_row(cells);
        }
        format!(
            "{} sampled vectors: {:.1} % have a positive influence on validation graphs, {:.1} % on test graphs\n{}",
            self.candidates,
            self.helping_validation,
            self.helping_test,
            output::render(&table)
        )
    }

    /// Writes `STEM.csv` (every candidate), `STEM` (densities), `STEM-filter.csv` and
    /// `STEM-filter`.
    pub fn write(&self, runs: &[Run], stem: &Path, title: &str) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = vec![with_ending(stem, ".csv"), with_ending(stem, "-filter.csv")];
        output::write_whole(&files[0], candidates_csv(runs))?;
        output::write_whole(&files[1], self.csv())?;
        let line = |name: &str, of: fn(&InfluenceStudy) -> &[f64]| {
            let values: Vec<f64> = studies(runs)
                .flat_map(|(_, study)| of(study))
                .copied()
                .collect();
            Line {
                name: name.into(),
                points: density(&values),
            }
        };
        let densities = LineChart {
            title: format!("{title}: average influence of sampled vectors"),
            x_label: "average influence (positive: beneficial; central 98 %)".into(),
            y_label: "density".into(),
            lines: vec![
                line("on validation", |s| &s.on_validation),
                line("on test", |s| &s.on_test),
            ],
        };
        files.extend(plot::write(&densities, stem)?);
        let curve = |name: &str, of: fn(&FilteringRow) -> &Accuracy| Line {
            name: name.into(),
            points: self
                .filtering
                .iter()
                .map(|row| {
                    let Accuracy {
                        mean, std, runs, ..
                    } = of(row);
                    let error = std / (runs.len() as f64).sqrt();
                    Point {
                        x: 100.0 * row.share,
                        y: *mean,
                        band: Some((mean - error, mean + error)),
                    }
                })
                .collect(),
        };
        let filter = LineChart {
            title: format!("{title}: the best sampled vectors by influence"),
            x_label: "share of sampled vectors kept, %".into(),
            y_label: "accuracy, % (band: standard error over folds)".into(),
            lines: vec![
                curve("test", |row| &row.test_accuracy),
                curve("validation", |row| &row.val_accuracy),
            ],
        };
        files.extend(plot::write(&filter, &with_ending(stem, "-filter"))?);
        Ok(files)
    }

    fn csv(&self) -> String {
        let mut text =
            "share,test_accuracy,test_std,val_accuracy,val_std,minus_retrain,standard_error\n"
                .to_string();
        for FilteringRow {
            share,
            test_accuracy: t,
            val_accuracy: v,
            minus_retrain: d,
        } in &self.filtering
        {
            let _ = writeln!(
                text,
                "{share},{},{},{},{},{},{}",
                t.mean, t.std, v.mean, v.std, d.mean, d.standard_error
            );
        }
        text
    }
}

fn candidates_csv(runs: &[Run]) -> String {
    let mut text = "run,class,on_validation,on_test\n".to_string();
    for (run, study) in studies(runs) {
        for (i, class) in study.classes.iter().enumerate() {
            let on_test = study.on_test.get(i).map_or(String::new(), f64::to_string);
            let _ = writeln!(text, "{run},{class},{},{on_test}", study.on_validation[i]);
        }
    }
    text
}

/// Estimates the density of values between their first and last percentile.
fn density(values: &[f64]) -> Vec<Point> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = sorted.len() / 100;
    let central = &sorted[cut..sorted.len() - cut];
    density_curve(central, PLACES)
        .into_iter()
        .map(|(x, y)| Point { x, y, band: None })
        .collect()
}

fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = stem.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}
