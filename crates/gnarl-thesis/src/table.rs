//! The tables of the thesis as data: rows with their work, columns of datasets, and the figure
//! printed in each cell. Tables are read from TOML:
//!
//! ```
//! use gnarl_thesis::Table;
//! let table = Table::from_toml(r#"
//!     name = "toy:tab:noise"
//!     title = "Accuracy under noise"
//!     section = "ch. 5, made up"
//!     columns = ["Cora", "CiteSeer"]
//!     baseline.row = "GCN"
//!
//!     [[rows]]
//!     label = "GCN"
//!     spec.attacked.subject = { backbone = "gcn", chapter = "thesis-ch5" }
//!     spec.attacked.threat = { attack = { kind = "gaussian", budget = 0.5 } }
//!     spec.attacked.measure = { attacked = "bare" }
//!     figures = ["68.4 ± 1.9", "OOM"]
//! "#)?;
//! assert_eq!(table.flaw(), None);
//! # Ok::<(), gnarl_graph::Error>(())
//! ```

use std::str::FromStr;

use gnarl_data::load::BUILT_IN;
use gnarl_data::registry;
use serde::Deserialize;

use super::measure::Measure;
use super::work::Spec;

/// A table of the thesis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The thesis' label, e.g. `cgsO:tab:graph_prop`.
    pub name: String,
    /// The title of the table, in a line.
    pub title: String,
    /// The section of the thesis.
    pub section: String,
    /// Datasets by a name or alias of the registry.
    pub columns: Vec<String>,
    /// The rows that others are compared with, run by run.
    #[serde(default)]
    pub baseline: Baseline,
    /// Notes that a reader needs: rows left out, and why.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The rows, each run on every dataset.
    pub rows: Vec<Row>,
}

/// The rows that others are compared with, run by run; none by default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The row that all others are compared with.
    pub row: Option<String>,
    /// Pairs of a row and a further row that it is compared with; a row may be in several pairs.
    #[serde(default)]
    pub pairs: Vec<(String, String)>,
}

impl Baseline {
    /// The rows that a row is compared with, in order.
    pub fn of(&self, label: &str) -> Vec<&str> {
        let named = self.pairs.iter().filter(|(row, _)| row == label);
        self.row
            .iter()
            .filter(|row| *row != label)
            .chain(named.map(|(_, baseline)| baseline))
            .map(String::as_str)
            .collect()
    }
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The label of the row.
    pub label: String,
    /// The work of the row.
    pub spec: Spec,
    /// The thesis' figure for each column; left out in a file if the thesis has none.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// The thesis' figure of a cell. In a file it is text as printed, `"68.4 ± 1.9"`, `"0.111"`,
/// `"OOM"` or `"-"`, or a number that was counted, `2708`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Printed")]
pub enum Figure {
    /// Mean and standard deviation over ten runs, in per cent.
    Accuracy {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        std: f64,
    },
    /// One number, and one unit of its last printed digit. The thesis truncates digits where others
    /// round, so a smaller difference does not count. For a counted number, which is not truncated,
    /// the unit is half of one.
    Value {
        /// The number.
        value: f64,
        /// One unit of its last digit.
        unit: f64,
    },
    /// The thesis ran out of memory.
    OutOfMemory,
    /// The thesis has no such cell.
    Absent,
}

/// A figure as files store it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Printed {
    Counted(u32),
    Text(String),
}

impl TryFrom<Printed> for Figure {
    type Error = gnarl_graph::Error;

    fn try_from(printed: Printed) -> gnarl_graph::Result<Self> {
        match printed {
            Printed::Text(text) => text.parse(),
            Printed::Counted(count) => Ok(Figure::Value {
                value: f64::from(count),
                unit: 0.5,
            }),
        }
    }
}

impl FromStr for Figure {
    type Err = gnarl_graph::Error;

    fn from_str(text: &str) -> gnarl_graph::Result<Self> {
        let number = |digits: &str| {
            let what =
                || format!("'{text}' is none; write 68.4 ± 1.9, 0.111, OOM, or - for no figure");
            digits
                .parse::<f64>()
                .map_err(|_| gnarl_graph::Error::argument("figure", what()))
        };
        match (text, text.split_once(" ± ")) {
            ("OOM", _) => Ok(Figure::OutOfMemory),
            ("-", _) => Ok(Figure::Absent),
            (_, Some((mean, std))) => Ok(Figure::Accuracy {
                mean: number(mean)?,
                std: number(std)?,
            }),
            (_, None) => {
                let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
                Ok(Figure::Value {
                    value: number(text)?,
                    unit: number(&format!("1e-{digits}"))?,
                })
            }
        }
    }
}

impl Table {
    /// Reads a table from its file.
    ///
    /// Fails for text that is no table, with the line. It does not search for flaws of a table
    /// ([`flaw`](Self::flaw)).
    pub fn from_toml(text: &str) -> gnarl_graph::Result<Self> {
        let read: std::result::Result<Self, _> = toml::from_str(text);
        let mut table = read.map_err(|e| gnarl_graph::Error::argument("table", e.to_string()))?;
        for row in &mut table.rows {
            if row.figures.is_empty() {
                row.figures = vec![Figure::Absent; table.columns.len()];
            }
        }
        Ok(table)
    }

    /// The chapter of the table.
    pub fn chapter(&self) -> Option<u8> {
        self.section
            .strip_prefix("ch. ")?
            .chars()
            .next()?
            .to_digit(10)
            .map(|digit| digit as u8)
    }

    /// The label without its prefix: the name of files.
    pub fn short_name(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or(&self.name)
    }

    /// Returns true if any row is trained.
    pub fn is_trained(&self) -> bool {
        self.rows.iter().any(|row| row.spec.is_trained())
    }

    /// The flaw of the table, if any: rows of another length than the columns, repeated names,
    /// unknown datasets, comparisons without meaning, impossible figures.
    pub fn flaw(&self) -> Option<String> {
        let labels: Vec<&str> = self.rows.iter().map(|row| row.label.as_str()).collect();
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        if let Some(name) = twice(&labels).or(twice(&columns)) {
            return Some(format!("{name} stands twice"));
        }
        if let Some(name) = columns.iter().find(|name| dataset_name(name).is_none()) {
            return Some(format!("dataset {name} is in no registry"));
        }
        let paired = self.baseline.pairs.iter();
        let paired = paired.flat_map(|(row, baseline)| [row, baseline]);
        let mut baselines = self.baseline.row.iter().chain(paired);
        if let Some(name) = baselines.find(|name| !labels.contains(&name.as_str())) {
            return Some(format!("baseline {name} is no row"));
        }
        for label in &labels {
            let baselines = self.baseline.of(label);
            if let Some(name) = twice(&baselines) {
                return Some(format!("{label} is compared with {name} twice"));
            }
            if baselines.contains(label) {
                return Some(format!("{label} is compared with itself"));
            }
        }
        self.rows.iter().find_map(|row| {
            if row.figures.len() != self.columns.len() {
                return Some(format!(
                    "{} has {} figures for {} columns",
                    row.label,
                    row.figures.len(),
                    self.columns.len()
                ));
            }
            if let Some(flaw) = row.spec.flaw() {
                return Some(format!("{}: {flaw}", row.label));
            }
            let wrong = row
                .figures
                .iter()
                .find(|figure| !figure.is_possible(row.spec))?;
            Some(format!("{} has {wrong:?}", row.label))
        })
    }
}

/// A repeated name.
fn twice<'t>(names: &[&'t str]) -> Option<&'t str> {
    (1..names.len())
        .find(|&i| names[..i].contains(&names[i]))
        .map(|i| names[i])
}

impl Figure {
    fn is_possible(self, spec: Spec) -> bool {
        match self {
            Figure::Accuracy { mean, std } => {
                spec.is_trained() && spec.means().contains(&mean) && (0.0..=100.0).contains(&std)
            }
            Figure::Value { value, unit } => {
                let is_time = spec.measure().is_some_and(Measure::is_seconds);
                (is_time || !spec.is_trained())
                    && value.is_finite()
                    && value >= 0.0
                    && unit.is_finite()
                    && unit > 0.0
            }
            Figure::OutOfMemory | Figure::Absent => true,
        }
    }
}

/// The registry name of a dataset; `None` for a dataset that is in no registry and not built in.
pub fn dataset_name(name: &str) -> Option<&'static str> {
    let built_in = || {
        BUILT_IN
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(name))
    };
    registry::get(name)
        .map(|entry| entry.name)
        .or_else(built_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of one row on Karate, with further lines, which may have further rows.
    fn table(more: &str) -> Table {
        let text = format!(
            r#"
            name = "x:tab:y"
            title = ""
            section = ""
            columns = ["Karate"]
            {more}

            [[rows]]
            label = "a"
            spec.node-classification.backbone = "gin"
            figures = ["50.0 ± 1.0"]
            "#
        );
        Table::from_toml(&text).unwrap()
    }

    fn row(label: &str, spec: &str, figure: &str) -> Row {
        let spec = format!("{spec}\nfigures = [{figure}]\nlabel = \"{label}\"");
        toml::from_str(&spec).unwrap()
    }

    #[test]
    fn a_row_may_be_compared_with_several() {
        let baseline = |text: &str| toml::from_str::<Baseline>(text).unwrap();
        let and = baseline(
            r#"row = "a"
            pairs = [["c", "b"]]"#,
        );
        assert_eq!(
            [and.of("a"), and.of("b"), and.of("c")],
            [vec![], vec!["a"], vec!["a", "b"]]
        );
        let pairs = baseline(r#"pairs = [["c", "a"], ["b", "a"], ["c", "b"]]"#);
        assert_eq!(
            [pairs.of("a"), pairs.of("b"), pairs.of("c")],
            [vec![], vec!["a"], vec!["a", "b"]]
        );
        assert_eq!(baseline(r#"row = "a""#).of("c"), ["a"]);
        assert!(Baseline::default().of("a").is_empty());
    }

    #[test]
    fn figures_are_read_as_they_are_printed() {
        let read = |text: &str| text.parse::<Figure>().unwrap();
        let accuracy = Figure::Accuracy {
            mean: -0.31,
            std: 0.0,
        };
        assert_eq!(read("-0.31 ± 0.0"), accuracy);
        let value = |value, unit| Figure::Value { value, unit };
        assert_eq!(read("3204.098"), value(3204.098, 1e-3));
        assert_eq!(read("0.00000590"), value(5.9e-6, 1e-8));
        assert_eq!(read("87"), value(87.0, 1.0));
        assert_eq!(
            (read("OOM"), read("-")),
            (Figure::OutOfMemory, Figure::Absent)
        );
        assert_eq!(
            row("a", "spec.property = \"nodes\"", "2708").figures,
            [value(2708.0, 0.5)]
        );
        let e = "68.4 +- 1.9".parse::<Figure>().unwrap_err().to_string();
        assert!(e.contains("'68.4 +- 1.9' is none; write 68.4 ± 1.9"), "{e}");
        let left_out = Table {
            rows: vec![row("a", "spec.property = \"nodes\"", "")],
            ..table("")
        };
        assert_eq!(left_out.flaw().unwrap(), "a has 0 figures for 1 columns");
    }

    #[test]
    fn errors_name_the_line() {
        let e = Table::from_toml("name = \"x\"\ncolour = \"red\"")
            .unwrap_err()
            .to_string();
        assert!(e.contains("line 2") && e.contains("colour"), "{e}");
        let spec = "spec.node-classification = { backbone = \"gnc\" }";
        let e = toml::from_str::<Row>(&format!("label = \"a\"\n{spec}")).unwrap_err();
        assert!(e.to_string().contains("did you mean gcn"), "{e}");
    }

    #[test]
    fn flaws_are_named() {
        assert_eq!((table("").flaw(), table("").short_name()), (None, "y"));
        assert_eq!(table("baseline.row = \"a\"").flaw(), None);
        let flaw = |table: Table| table.flaw().unwrap();
        let columns = |names: [&str; 2]| Table {
            columns: names.map(String::from).to_vec(),
            ..table("")
        };
        assert_eq!(
            flaw(columns(["karate", "csbm"])),
            "a has 1 figures for 2 columns"
        );
        assert_eq!(
            flaw(columns(["karate", "corra"])),
            "dataset corra is in no registry"
        );
        let plain = |label: &str| {
            row(
                label,
                "spec.node-classification.backbone = \"gin\"",
                "\"-\"",
            )
        };
        let rows = |rows: Vec<Row>| Table { rows, ..table("") };
        assert_eq!(flaw(rows(vec![plain("a"), plain("a")])), "a stands twice");
        let compared = |text: &str| Table {
            baseline: toml::from_str(text).unwrap(),
            ..rows(vec![plain("a"), plain("b")])
        };
        assert_eq!(flaw(compared(r#"row = "c""#)), "baseline c is no row");
        assert_eq!(
            flaw(compared(r#"pairs = [["a", "c"]]"#)),
            "baseline c is no row"
        );
        assert_eq!(
            flaw(compared("row = \"a\"\npairs = [[\"d\", \"a\"]]")),
            "baseline d is no row"
        );
        assert_eq!(
            flaw(compared(r#"pairs = [["a", "a"]]"#)),
            "a is compared with itself"
        );
        let twice = "row = \"a\"\npairs = [[\"b\", \"a\"]]";
        assert_eq!(flaw(compared(twice)), "b is compared with a twice");
        assert_eq!(
            compared("row = \"a\"\npairs = [[\"a\", \"b\"]]").flaw(),
            None
        );
    }

    #[test]
    fn rows_that_mean_nothing_are_flaws() {
        let flaw = |spec: &str, figure: &str| {
            let rows = vec![row("a", spec, figure)];
            Table { rows, ..table("") }.flaw()
        };
        let attacked = |attack: &str, measure: &str| {
            format!(
                "spec.attacked.subject = {{ backbone = \"gcn\", chapter = \"thesis-ch5\" }}\n\
                 spec.attacked.threat.attack = {attack}\nspec.attacked.measure = {{ {measure} }}"
            )
        };
        let unread = attacked("\"dice\"", "attacked = \"defended\"");
        assert_eq!(
            flaw(&unread, "\"-\"").unwrap(),
            "a: shows an inference that it does not run"
        );
        let no_augmentation = "spec.graphs.classifier.backbone = \"gcn\"\n\
                               spec.graphs.measure = \"augmentation-seconds\"";
        assert_eq!(
            flaw(no_augmentation, "\"-\"").unwrap(),
            "a: shows AugmentationSeconds, which none does not have"
        );
        let graphs = |corrupted: f64, measure: &str| {
            format!(
                "spec.graphs.classifier = {{ backbone = \"gcn\", corrupted = {corrupted:?} }}\n\
                 spec.graphs.measure = \"{measure}\""
            )
        };
        let too_much = flaw(&graphs(1.5, "test-accuracy"), "\"-\"").unwrap();
        assert!(
            too_much == "a: corruption: share of edges must be in [0, 1] (got 1.5)",
            "{too_much}"
        );
        assert_eq!(flaw(&graphs(0.1, "training-seconds"), "\"812.5\""), None);
        let plain = "spec.node-classification.backbone = \"gin\"";
        assert_eq!(
            flaw(plain, "\"100.1 ± 1.0\"").unwrap(),
            "a has Accuracy { mean: 100.1, std: 1.0 }"
        );
        assert!(
            flaw(plain, "\"1.0\"").is_some(),
            "an accuracy has a deviation"
        );
    }
}
