//! Components that a page can draw, as data; the scripts in `assets/page` draw them.

use gnarl::study::portrait;
use serde::Serialize;

use super::graph::GraphData;

/// Component of a page.
#[derive(Debug, Clone)]
pub enum Component {
    /// Interactive graph.
    Graph(Box<GraphData>),
    /// Line chart with bands.
    Lines(Lines),
    /// Dot plot with a dot for each run.
    Dots(Dots),
    /// Calibration: accuracy of predictions by confidence.
    Calibration(Calibration),
    /// Confusion matrix.
    Confusion(Confusion),
    /// Scatter plot in two dimensions.
    Scatter(Scatter),
}

impl Component {
    /// Returns the name of the component in the scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Component::Graph(_) => "graph",
            Component::Lines(_) => "lines",
            Component::Dots(_) => "dots",
            Component::Calibration(_) => "calibration",
            Component::Confusion(_) => "confusion",
            Component::Scatter(_) => "scatter",
        }
    }

    /// Returns the data of the component as JSON.
    pub fn json(&self) -> serde_json::Result<String> {
        match self {
            Component::Graph(data) => serde_json::to_string(data),
            Component::Lines(data) => serde_json::to_string(data),
            Component::Dots(data) => serde_json::to_string(data),
            Component::Calibration(data) => serde_json::to_string(data),
            Component::Confusion(data) => serde_json::to_string(data),
            Component::Scatter(data) => serde_json::to_string(data),
        }
    }
}

macro_rules! from {
    ($($kind:ident),+) => {
        $(impl From<$kind> for Component {
            fn from(data: $kind) -> Self {
                Component::$kind(data)
            }
        })+
    };
}

from!(Lines, Dots, Calibration, Confusion, Scatter);

impl From<GraphData> for Component {
    fn from(data: GraphData) -> Self {
        Component::Graph(Box::new(data))
    }
}

/// Axis: its label with the unit, and optional limits.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Axis {
    /// Label with the unit.
    pub label: String,
    /// Positions of the values on a horizontal axis; 1, 2, … if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<f64>>,
    /// Lower limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Axis {
    /// Builds an axis that fits its values.
    pub fn of(label: &str) -> Self {
        Self {
            label: label.to_string(),
            ..Self::default()
        }
    }

    /// Builds an axis with values at these positions.
    pub fn at(label: &str, values: Vec<f64>) -> Self {
        Self {
            values: Some(values),
            ..Self::of(label)
        }
    }
}

/// Line chart: several lines over one axis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Lines {
    /// Title above the chart.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// One line, with a band if both of its ends are there.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Values, one for each position.
    pub values: Vec<f64>,
    /// Lower end of the band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<Vec<f64>>,
    /// Upper end of the band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<Vec<f64>>,
}

/// Dot plot: rows of dots.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Dots {
    /// Title above the plot.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Rows from top to bottom.
    pub rows: Vec<DotRow>,
}

/// One row of dots.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DotRow {
    /// Name next to the row.
    pub name: String,
    /// Values, a dot each, at least one.
    pub values: Vec<f64>,
}

/// Reliability diagram: accuracy of predictions by confidence.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Calibration {
    /// Title above the diagram.
    pub title: String,
    /// Bins in increasing order of confidence.
    pub bins: Vec<Bin>,
    /// Expected calibration error, in percentage points.
    pub error: f64,
}

impl Calibration {
    /// Builds the diagram from a study's calibration.
    pub fn of(title: &str, found: &portrait::Calibration) -> Self {
        let bin = |(i, bin): (usize, &portrait::CalibrationBin)| Bin {
            low: 10.0 * i as f64,
            high: 10.0 * (i + 1) as f64,
            count: bin.count,
            confidence: 100.0 * bin.confidence,
            accuracy: 100.0 * bin.accuracy,
        };
        let bins = found.bins.iter().enumerate().map(bin).collect();
        Self {
            title: title.to_string(),
            bins,
            error: 100.0 * found.error,
        }
    }
}

/// Bin of predictions of similar confidence, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bin {
    /// Lower limit of the confidence.
    pub low: f64,
    /// Upper limit of the confidence.
    pub high: f64,
    /// Number of predictions.
    pub count: usize,
    /// Mean confidence.
    pub confidence: f64,
    /// Accuracy.
    pub accuracy: f64,
}

/// A confusion matrix.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Confusion {
    /// Title above the matrix.
    pub title: String,
    /// Names of classes.
    pub classes: Vec<String>,
    /// Counts by true class, then by predicted class.
    pub counts: Vec<Vec<usize>>,
}

/// Scatter plot of points coloured by class.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Scatter {
    /// Title above the plot.
    pub title: String,
    /// Text alternative for readers who do not see the plot.
    pub label: String,
    /// Horizontal coordinates.
    pub x: Vec<f32>,
    /// Vertical coordinates.
    pub y: Vec<f32>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// The class of each point.
    pub values: Vec<u32>,
    /// Misclassified points as 1, others as 0.
    pub wrong: Vec<u8>,
}
