//! The HTML page of `gnarl robustness`: curves over the radii, histograms and bounds.

use gnarl_robust::robustness::Estimate;

use super::{Radius, RobustnessReport};
use crate::html::Cell;
use crate::output::real;
use crate::page::{Axis, Component, Lines, Page, Section, Series};

/// Number of columns of a histogram.
const BARS: usize = 30;

/// Computes a histogram of distances: per cent in each of [`BARS`] equal parts up to the largest.
fn histogram(distances: &[f64], largest: f64) -> Vec<f64> {
    let mut bars = vec![0.0; BARS];
    for distance in distances {
        let at = (distance / largest * BARS as f64) as usize;
        bars[at.min(BARS - 1)] += 100.0 / distances.len() as f64;
    }
    bars
}

impl RobustnessReport {
    /// Renders a page with the contents of the text.
    pub(super) fn page(&self) -> anyhow::Result<String> {
        let mut radii: Vec<&Radius> = self.curve.iter().collect();
        radii.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
        let curves = Curves { radii };
        let mut tiles = vec![
            (self.accuracy_text(), "test accuracy".to_string()),
            (self.runs.to_string(), "networks".to_string()),
        ];
        if let Some(last) = curves.radii.last() {
            let label = format!("mean distance at epsilon {}", real(last.epsilon));
            tiles.push((format!("{:.4}", last.found.pooled.mean), label));
        }
        let title = format!(
            "{} on {}: sensitivity of predictions",
            self.model, self.data
        );
        Ok(Page::new(&title)
            .tiles(&tiles)
            .section(self.estimates(&curves))
            .section(self.bounds(&curves.radii))
            .render()?)
    }

    /// Builds the section with the estimates.
    fn estimates(&self, curves: &Curves<'_>) -> Section {
        let perturbation = format!(
            "{}, {} samples at each radius{}.",
            self.perturbation(),
            self.samples,
            self.item
        );
        let charts = [
            Some(curves.distances()),
            Some(curves.changed()),
            curves.exceedances(),
            curves.histograms(),
        ];
        Section::new("estimates", "Estimates by sampling")
            .text(&format!("{perturbation} The distance is the Frobenius norm of the change of class probabilities, divided by 2 sqrt(n) for n predictions: at most 0.707. Bands are 95 % intervals, for these networks."))
            .side_by_side(charts.into_iter().flatten().collect())
    }

    /// Builds the section with observed distances next to their upper bounds.
    fn bounds(&self, curve: &[&Radius]) -> Section {
        let section = Section::new("bounds", "Upper bounds");
        if let Some(why) = &self.no_bounds {
            return section.text(why);
        }
        let row = |radius: &&Radius| {
            let found = &radius.found.pooled;
            let cells = [
                real(found.mean),
                real(found.largest),
                radius.scaled_bound().map_or_else(|| "-".into(), real),
                format!("{:.1}", 100.0 * found.changed),
            ];
            (
                real(radius.epsilon),
                cells.iter().map(|text| Cell::text(text)).collect(),
            )
        };
        let rows: Vec<(String, Vec<Cell>)> = curve.iter().map(row).collect();
        section
            .text("The bound holds for every input within the radius, sampled or not.")
            .table(
                &[
                    "epsilon",
                    "mean",
                    "largest sampled",
                    "bound",
                    "classes changed, %",
                ],
                &rows,
            )
    }
}

/// Radii in ascending order, as charts.
struct Curves<'a> {
    radii: Vec<&'a Radius>,
}

impl Curves<'_> {
    /// Plots series over the radii.
    fn chart(&self, title: &str, label: &str, series: Vec<Series>) -> Component {
        let epsilons = self.radii.iter().map(|radius| radius.epsilon).collect();
        Lines {
            title: title.into(),
            x: Axis::at("epsilon", epsilons),
            y: Axis::of(label),
            series,
        }
        .into()
    }

    /// Returns a statistic of every radius.
    fn values(&self, of: impl Fn(&Estimate) -> f64) -> Vec<f64> {
        self.radii.iter().map(|r| of(&r.found.pooled)).collect()
    }

    /// Plots the mean distance with its interval, and the largest sampled distance.
    fn distances(&self) -> Component {
        let low = |found: &Estimate| found.interval.map_or(found.mean, |[low, _]| low);
        let high = |found: &Estimate| found.interval.map_or(found.mean, |[_, high]| high);
        let mean = Series {
            name: "mean distance".into(),
            values: self.values(|found| found.mean),
            low: Some(self.values(low)),
            high: Some(self.values(high)),
        };
        let largest = Series {
            name: "largest sampled".into(),
            values: self.values(|found| found.largest),
            ..Series::default()
        };
        self.chart(
            "Sensitivity of predictions",
            "scaled distance",
            vec![mean, largest],
        )
    }

    /// Plots the share of predictions whose class changed.
    fn changed(&self) -> Component {
        let changed = Series {
            name: "predictions".into(),
            values: self.values(|found| 100.0 * found.changed),
            ..Series::default()
        };
        self.chart("Changed predictions", "% of the predictions", vec![changed])
    }

    /// Plots the probability of a distance above each threshold; `None` without thresholds.
    fn exceedances(&self) -> Option<Component> {
        let thresholds = &self.radii.first()?.found.pooled.exceedances;
        let series = thresholds.iter().enumerate().map(|(s, threshold)| Series {
            name: format!("distance above {}", threshold.sigma),
            values: self.values(|found| found.exceedances[s].probability),
            low: Some(self.values(|found| found.exceedances[s].interval[0])),
            high: Some(self.values(|found| found.exceedances[s].interval[1])),
        });
        let series: Vec<Series> = series.collect();
        (!series.is_empty())
            .then(|| self.chart("Probability of a large distance", "probability", series))
    }

    /// Plots a histogram of the distances at each radius; `None` if all are rounding errors.
    fn histograms(&self) -> Option<Component> {
        let top = self
            .values(|found| found.largest)
            .into_iter()
            .fold(0.0, f64::max);
        if top <= 1e-6 {
            return None;
        }
        let places = (0..BARS)
            .map(|bar| top * (bar as f64 + 0.5) / BARS as f64)
            .collect();
        let series = self.radii.iter().map(|radius| Series {
            name: format!("epsilon {}", real(radius.epsilon)),
            values: histogram(&radius.found.pooled.distances, top),
            ..Series::default()
        });
        let chart = Lines {
            title: "The samples of each radius".into(),
            x: Axis::at("scaled distance", places),
            y: Axis::of("% of the samples"),
            series: series.collect(),
        };
        Some(chart.into())
    }
}
