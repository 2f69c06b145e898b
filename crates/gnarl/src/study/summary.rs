//! Means and standard deviations over runs.

use gnarl_data::Content;
use gnarl_graph::Result;
use gnarl_graph::metrics::mean_std;
use serde::Serialize;

use crate::model::Fitted;

/// Mean, sample standard deviation and the value of each run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Accuracy {
    /// The mean.
    pub mean: f64,
    /// Sample standard deviation, zero for one run.
    pub std: f64,
    /// The value of every run.
    pub runs: Vec<f64>,
}

impl Accuracy {
    /// Summarises the values of runs, at least one.
    pub fn of(values: Vec<f64>) -> Result<Self> {
        let summary = mean_std(&values)?;
        Ok(Self {
            mean: summary.mean,
            std: summary.std,
            runs: values,
        })
    }

    /// Summarises values that runs may lack; `None` if a run lacks its value.
    pub fn of_all(values: impl Iterator<Item = Option<f64>>) -> Result<Option<Self>> {
        values
            .collect::<Option<Vec<f64>>>()
            .filter(|values| !values.is_empty())
            .map(Self::of)
            .transpose()
    }

    /// Formats the mean and the standard deviation: `81.23 ± 0.45`; for one run `81.23`.
    pub fn text(&self) -> String {
        match self.runs.len() {
            1 => format!("{:.2}", self.mean),
            _ => format!("{:.2} ± {:.2}", self.mean, self.std),
        }
    }
}

/// The accuracy of fitted models on the test nodes or graphs of their splits; `None` without labels.
pub(super) fn test_accuracy(fitted: &[Fitted], content: &Content) -> Result<Option<Accuracy>> {
    let accuracies = fitted.iter().map(|model| {
        let predictions = model.predict(content)?;
        model.accuracy_on(&predictions, content, model.trained_on().split.test())
    });
    Accuracy::of_all(accuracies.collect::<Result<Vec<_>>>()?.into_iter())
}

/// Serialises named values as one object.
pub fn as_object<T: Serialize, S: serde::Serializer>(
    pairs: &[(String, T)],
    s: S,
) -> std::result::Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}
