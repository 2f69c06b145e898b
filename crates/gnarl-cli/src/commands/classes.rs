//! Scores class by class, for the reports of commands that evaluate predictions.

use gnarl_graph::metrics::{ClassScores, OneClass};
use serde::Serialize;

use crate::output::{self, count};

/// Number of classes up to which the printed table has the confusion matrix; the JSON always has
/// it.
const MOST_SHOWN: usize = 10;

/// Scores of every class by name, and the confusion matrix: rows are true classes, columns
/// predicted ones.
#[derive(Debug, Serialize)]
pub struct ByClass {
    classes: Vec<NamedClass>,
    confusion: Vec<Vec<u64>>,
}

#[derive(Debug, Serialize)]
struct NamedClass {
    class: String,
    #[serde(flatten)]
    scores: OneClass,
}

impl ByClass {
    /// Builds the scores of classes with these names.
    pub fn new(names: &[String], scores: ClassScores) -> Self {
        let ClassScores {
            classes, confusion, ..
        } = scores;
        let named = |(class, scores): (&String, OneClass)| NamedClass {
            class: class.clone(),
            scores,
        };
        Self {
            classes: names.iter().zip(classes).map(named).collect(),
            confusion,
        }
    }

    /// Returns the table in plain text; empty for too many classes.
    pub fn text(&self) -> String {
        if self.classes.len() > MOST_SHOWN {
            return String::new();
        }
        let mut headers = ["class", ">support", ">precision, %", ">recall, %", ">F1, %"]
            .map(String::from)
            .to_vec();
        headers.extend(
            self.classes
                .iter()
                .map(|class| format!(">as {}", class.class)),
        );
        let mut table = output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
        for (NamedClass { class, scores }, confused) in self.classes.iter().zip(&self.confusion) {
            let mut cells = vec![class.clone(), count(scores.support)];
            cells.extend(
                [scores.precision, scores.recall, scores.f1]
                    .map(|share| format!("{:.1}", 100.0 * share)),
            );
            cells.extend(confused.iter().map(|&cell| count(cell)));
            table.add_row(cells);
        }
        output::render(&table)
    }
}
