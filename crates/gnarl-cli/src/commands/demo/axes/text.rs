//! The printed text of the five axes.

use gnarl::study::Accuracy;
use gnarl_graph::metrics::PairedDifference;

use super::{AxesTour, CertificateRow, NEXT, WithDifference};
use crate::output::{self, Report, count};

/// Formats an accuracy, as in `81.2 ± 0.6`.
pub fn accuracy(of: &Accuracy) -> String {
    format!("{:.1} ± {:.1}", of.mean, of.std)
}

/// Formats a difference, as in `-3.1 ± 1.2 *`; the blank keeps columns aligned.
pub fn minus(of: Option<&PairedDifference>) -> String {
    let text = |d: &PairedDifference| {
        format!(
            "{:+.1} ± {:.1} {}",
            d.mean,
            d.standard_error,
            if d.is_clear() { "*" } else { " " }
        )
    };
    of.map_or_else(|| "-  ".to_string(), text)
}

/// Returns the index of the radius quoted in the text: a twentieth of the median norm of a paper's
/// features.
pub fn quoted_radius(row: &CertificateRow) -> usize {
    row.shares
        .iter()
        .position(|share| *share > 0.045)
        .unwrap_or(0)
}

impl AxesTour {
    /// Describes the data and the protocol, in three sentences.
    pub(super) fn protocol_text(&self) -> [String; 3] {
        let c = &self.cora;
        [
            format!(
                "cora: {} papers, {} citations, {} words; task: predict which of {} fields a paper belongs to",
                count(c.nodes as u64),
                count(c.edges as u64),
                count(c.words as u64),
                c.classes
            ),
            format!(
                "{} runs from seed {} for every row, on the public split: {} training papers ({} epochs), {} validation papers, {} test papers",
                self.runs, self.seed, c.train, self.epochs, c.validate, count(c.test as u64)
            ),
            "± is the standard deviation over runs; after a difference, its standard error (* marks more than two)".to_string(),
        ]
    }

    /// Describes the result of adaptive depth, in a sentence.
    pub(super) fn depth_text(&self) -> String {
        let taken: Vec<String> = self
            .depth
            .taken
            .iter()
            .map(|n| count(n.round() as u64))
            .collect();
        let own = self.depth.policy_accuracy.first();
        format!(
            "adaptive depth: {} papers exit after 0, 1, 2, … propagation steps; accuracy {} %, difference to the best single depth {}",
            taken.join(", "),
            own.map_or_else(String::new, |(_, policy)| accuracy(&policy.accuracy)),
            own.map_or_else(String::new, |(_, policy)| minus(Some(&policy.minus_single))
                .trim_end()
                .to_string()),
        )
    }

    /// Describes the certified accuracy, in a sentence.
    pub(super) fn certificate_text(&self) -> String {
        let at = |row: &CertificateRow| accuracy(&row.certified[quoted_radius(row)]);
        let [unconstrained, orthonormal] = &self.certificates[..] else {
            return String::new();
        };
        let difference = orthonormal
            .minus_plain
            .as_ref()
            .map(|all| &all[quoted_radius(orthonormal)]);
        format!(
            "certified accuracy, for changes of one paper's words by up to 5 % of the median norm: {} %; with orthonormal weights {} %, \
             difference {}",
            at(unconstrained),
            at(orthonormal),
            minus(difference).trim_end()
        )
    }

    /// Describes the result of augmentation, in a sentence.
    pub(super) fn mutag_text(&self) -> String {
        let m = &self.mutag;
        let control = (m.augmentation.minus_retrain.as_ref()).map_or_else(String::new, |d| {
            format!(
                ", to a retrained head without them {}",
                minus(Some(d)).trim_end()
            )
        });
        format!(
            "mutag: {} molecules, {} folds; accuracy of GIN {} %, with vectors sampled by GRATIN {} %: difference {}{control}",
            m.graphs,
            m.folds,
            accuracy(&m.augmentation.none_test_accuracy),
            accuracy(&m.with),
            minus(Some(&m.augmentation.minus_none)).trim_end()
        )
    }
}

impl Report for AxesTour {
    fn text(&self) -> String {
        let mut text = self.protocol_text().map(|line| line + "\n").concat();
        let heads = [
            "axis",
            "switched to",
            ">clean, %",
            ">minus plain",
            ">noise, %",
            ">minus plain",
            ">flips, %",
            ">minus plain",
        ];
        let mut table = output::table(&heads);
        for row in &self.rows {
            let mut fields = vec![row.axis.to_string(), row.choice.clone()];
            for WithDifference {
                accuracy: of,
                minus_plain,
            } in [&row.clean, &row.noise, &row.flips]
            {
                fields.extend([accuracy(of), minus(minus_plain.as_ref())]);
            }
            table.add_row(fields);
        }
        text += &format!("\n{}\n", output::render(&table));
        for line in [
            self.depth_text(),
            self.certificate_text(),
            self.mutag_text(),
        ] {
            text += &format!("{line}\n");
        }
        text += &format!("\nwritten: {}; open it in a browser\n", self.report);
        text += "\nnext commands:\n";
        for (command, why) in NEXT {
            text += &format!("  {command:<53}{why}\n");
        }
        text
    }
}
