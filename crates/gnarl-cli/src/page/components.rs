//! What a page can draw, as data; `assets/page` has what draws it.

use gnarl::study::portrait;
use serde::Serialize;

use super::graph::GraphData;

/// Something to draw.
#[derive(Debug, Clone)]
pub enum Component {
    /// A graph to walk in.
    Graph(Box<GraphData>),
    /// Lines with bands.
    Lines(Lines),
    /// A dot for each run.
    Dots(Dots),
    /// How often answers are right by how sure they are.
    Calibration(Calibration),
    /// Who is mistaken for whom.
    Confusion(Confusion),
    /// Points in two dimensions.
    Scatter(Scatter),
}

impl Component {
    /// The name that the scripts know it by.
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

    /// Its data.
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

/// An axis: what it shows with its unit, and what is fixed of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Axis {
    /// With the unit.
    pub label: String,
    /// Of a horizontal axis: where the values stand; 1, 2, … where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<f64>>,
    /// Where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Axis {
    /// An axis that fits its values.
    pub fn of(label: &str) -> Self {
        Self {
            label: label.to_string(),
            ..Self::default()
        }
    }

    /// With values at these places.
    pub fn at(label: &str, values: Vec<f64>) -> Self {
        Self {
            values: Some(values),
            ..Self::of(label)
        }
    }
}

/// Lines over one axis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Lines {
    /// Above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// One line, with a band where both of its ends are there.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// Of every place.
    pub values: Vec<f64>,
    /// The lower end of the band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<Vec<f64>>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<Vec<f64>>,
}

/// Rows of dots.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Dots {
    /// Above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// From top to bottom.
    pub rows: Vec<DotRow>,
}

/// One row of dots.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DotRow {
    /// Beside it.
    pub name: String,
    /// A dot each, at least one.
    pub values: Vec<f64>,
}

/// Reliability: answers by how sure they are.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Calibration {
    /// Above it.
    pub title: String,
    /// From the least sure to the surest.
    pub bins: Vec<Bin>,
    /// The expected calibration error, in points.
    pub error: f64,
}

impl Calibration {
    /// As a study has it.
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

/// Answers that are about as sure, per cent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bin {
    /// From.
    pub low: f64,
    /// To.
    pub high: f64,
    /// Answers.
    pub count: usize,
    /// How sure they are on average.
    pub confidence: f64,
    /// How often they are right.
    pub accuracy: f64,
}

/// A confusion matrix.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Confusion {
    /// Above it.
    pub title: String,
    /// Names of classes.
    pub classes: Vec<String>,
    /// By true class, then by answer.
    pub counts: Vec<Vec<usize>>,
}

/// Points by class.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Scatter {
    /// Above it.
    pub title: String,
    /// In words, for those who do not see it.
    pub label: String,
    /// To the right.
    pub x: Vec<f32>,
    /// Upwards.
    pub y: Vec<f32>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// The class of each point.
    pub values: Vec<u32>,
    /// 1 for points that are answered wrong.
    pub wrong: Vec<u8>,
}
