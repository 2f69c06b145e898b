//! The error type of all crates below the network layers.
//!
//! A message states what failed, where, and the remedy, on one line: the command line prints it
//! unchanged.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// `Result` with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error: what failed, where, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument outside its allowed range.
    #[error("{op}: {what}")]
    Argument {
        /// Operation or setting that failed, e.g. `"erdos_renyi"`.
        op: Cow<'static, str>,
        /// The offending value and the allowed range.
        what: String,
    },

    /// A setting outside its allowed values.
    #[error("{setting} must be {range} (got {got})")]
    OutOfRange {
        /// The setting, by its command-line option without the hyphens.
        setting: String,
        /// The allowed values, e.g. `"in [0, 1]"`.
        range: String,
        /// The value as given.
        got: String,
    },

    /// A combination or an input that a method does not support.
    #[error("{setting}: {what}")]
    Unsupported {
        /// The setting or method, by its command-line option without the hyphens.
        setting: String,
        /// The reason, and supported alternatives.
        what: String,
    },

    /// Labels, features, a split or another input that an operation needs and does not find.
    #[error("{op}: {what}{}{remedy}", if remedy.is_empty() { "" } else { "; " })]
    Missing {
        /// Operation or setting that needs it, e.g. `"attack"`.
        op: Cow<'static, str>,
        /// The missing input, e.g. `"the graph has no labels"`.
        what: String,
        /// The remedy; empty if there is none to name.
        remedy: String,
    },

    /// A data file whose content does not match its format.
    #[error("{}: {place}: {what}", file.display())]
    Data {
        /// The file.
        file: PathBuf,
        /// Line, byte or member, e.g. `"line 12"` or `"member adj_indptr"`.
        place: String,
        /// Description of the problem.
        what: String,
    },

    /// An error of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },

    /// A name that is in no list; the message suggests similar names.
    #[error("unknown {kind} '{name}'; {hint}")]
    Unknown {
        /// Kind of name, e.g. `"dataset"`.
        kind: Cow<'static, str>,
        /// The name as given.
        name: String,
        /// Similar names or the whole list.
        hint: String,
    },

    /// A known dataset whose files are not in the data folder.
    #[error("dataset {name} is not in {}: {missing} is missing; run `gnarl data get {name}` or name another folder with --data-dir", dir.display())]
    Absent {
        /// The dataset.
        name: String,
        /// The data folder that was searched.
        dir: PathBuf,
        /// The first missing file.
        missing: String,
    },

    /// A download that failed or did not match its checksum.
    #[error("download of {url}: {what}")]
    Download {
        /// The address.
        url: String,
        /// Description of the failure, and the remedy.
        what: String,
    },

    /// An iteration that did not reach its tolerance.
    #[error(
        "{op}: no convergence after {iterations} iterations (residual {residual:.3e}, tolerance {tolerance:.3e}); allow more iterations or a looser tolerance"
    )]
    NotConverged {
        /// The algorithm.
        op: &'static str,
        /// Number of iterations done.
        iterations: usize,
        /// Residual of the last iteration.
        residual: f64,
        /// Required residual.
        tolerance: f64,
    },

    /// A tensor operation with shapes, types or devices that do not fit.
    #[error("tensor: {what}")]
    Tensor {
        /// The operation and the reason.
        what: String,
    },

    /// A value to be differentiated that is NaN or infinite.
    #[error(
        "tensor: a value to be differentiated is {value}{}",
        from_operation(operation)
    )]
    NotFinite {
        /// The value.
        value: f32,
        /// First operation that produced a non-finite value, if known.
        operation: Option<String>,
    },

    /// Training diverged: the loss is NaN or infinite.
    #[error(
        "the loss became {loss} at epoch {epoch}{}: try a smaller learning rate than {learning_rate}, or row-normalised features; the weights of epoch {last_good} were kept",
        operation.as_ref().map_or(String::new(), |from| format!(", as {from}"))
    )]
    Diverged {
        /// The loss, NaN or infinite.
        loss: f32,
        /// First operation that produced a non-finite value, if known.
        operation: Option<String>,
        /// Epoch in which training diverged.
        epoch: usize,
        /// The last epoch with a finite loss.
        last_good: usize,
        /// The learning rate used.
        learning_rate: f64,
    },

    /// A checkpoint that does not fit the data or the model it is loaded for.
    #[error("{}: {what}", file.display())]
    Checkpoint {
        /// The file.
        file: PathBuf,
        /// The difference.
        what: String,
    },

    /// A broken invariant of the library: never the fault of the input.
    #[error("{op}: {what}; this is a fault in gnarl, please report it")]
    Internal {
        /// The operation.
        op: &'static str,
        /// The invariant that does not hold.
        what: String,
    },
}

fn from_operation(operation: &Option<String>) -> String {
    operation
        .as_ref()
        .map_or(String::new(), |from| format!(": {from}"))
}

impl Error {
    /// Makes an [`Error::Argument`].
    pub fn argument(op: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Self {
        Error::Argument {
            op: op.into(),
            what: what.into(),
        }
    }

    /// Renames the setting or operation that the error is about. [`Error::OutOfRange`] keeps its
    /// setting, which is an option already.
    #[must_use]
    pub fn rename_setting(self, rename: impl FnOnce(&str) -> String) -> Self {
        match self {
            Error::Argument { op, what } => Error::argument(rename(&op), what),
            Error::Unsupported { setting, what } => Error::unsupported(rename(&setting), what),
            Error::Missing { op, what, remedy } => Error::missing(rename(&op), what, remedy),
            other => other,
        }
    }

    /// Returns true if the request itself was refused: an argument, a file or a combination that
    /// cannot be used. False for errors of a computation that had begun.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Error::Tensor { .. }
                | Error::NotFinite { .. }
                | Error::Diverged { .. }
                | Error::Checkpoint { .. }
                | Error::Internal { .. }
        )
    }

    /// Makes an [`Error::Argument`] about a setting by its name.
    pub fn setting(name: &str, what: impl Into<String>) -> Self {
        Error::Argument {
            op: name.to_string().into(),
            what: what.into(),
        }
    }

    /// Makes an [`Error::Unsupported`].
    pub fn unsupported(setting: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Unsupported {
            setting: setting.into(),
            what: what.into(),
        }
    }

    /// Makes an [`Error::Missing`]; an empty `remedy` is not shown.
    pub fn missing(
        op: impl Into<Cow<'static, str>>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Error::Missing {
            op: op.into(),
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// Makes an [`Error::Data`].
    pub fn data(file: &Path, place: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Data {
            file: file.to_path_buf(),
            place: place.into(),
            what: what.into(),
        }
    }

    /// Makes an [`Error::Io`].
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io {
            path: path.to_path_buf(),
            source,
        }
    }

    /// Makes an [`Error::Unknown`] that suggests the names closest to `name` among `known`.
    pub fn unknown<'a>(
        kind: impl Into<Cow<'static, str>>,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Error::Unknown {
            kind: kind.into(),
            name: name.to_string(),
            hint: hint(name, &known.into_iter().collect::<Vec<_>>()),
        }
    }
}

/// Returns the known names that are closest to a name, or all of them if none is close.
fn hint(name: &str, known: &[&str]) -> String {
    let lower = name.to_lowercase();
    // Names with few edits, a transposition counting once, then names with a common prefix.
    let mut near: Vec<(usize, f64, &str)> = known
        .iter()
        .map(|k| (k, k.to_lowercase()))
        .map(|(k, l)| {
            (
                strsim::osa_distance(&lower, &l),
                strsim::jaro_winkler(&lower, &l),
                *k,
            )
        })
        .filter(|(changes, alike, _)| *alike > 0.75 || *changes == 1 && lower.chars().count() > 1)
        .collect();
    near.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    if near.is_empty() {
        format!("known: {}", known.join(", "))
    } else {
        let near: Vec<&str> = near.into_iter().take(3).map(|(_, _, k)| k).collect();
        format!("did you mean {}?", near.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_offer_near_misses() {
        let known = ["cora", "citeseer", "pubmed"];
        assert_eq!(
            Error::unknown("dataset", "Corra", known).to_string(),
            "unknown dataset 'Corra'; did you mean cora?"
        );
        let e = Error::unknown("model", "gnc", ["gcn", "gcnii", "gin"]).to_string();
        assert!(
            e.starts_with("unknown model 'gnc'; did you mean gcn"),
            "{e}"
        );
        assert_eq!(
            Error::unknown("dataset", "zzz", known).to_string(),
            "unknown dataset 'zzz'; known: cora, citeseer, pubmed"
        );
    }

    #[test]
    fn refusals_and_missing_inputs_are_shown_on_one_line() {
        let e = Error::unsupported("depth", "h2gcn has no exits");
        assert_eq!(e.to_string(), "depth: h2gcn has no exits");
        assert!(e.is_refusal());
        let e = Error::missing("attack", "the graph has no features", "attack its edges");
        assert_eq!(
            e.to_string(),
            "attack: the graph has no features; attack its edges"
        );
        let e = e.rename_setting(|op| format!("--{op}"));
        assert!(matches!(&e, Error::Missing { op, .. } if op == "--attack"));
        let bare = Error::missing("split", "the graph has no labels", "");
        assert_eq!(bare.to_string(), "split: the graph has no labels");
    }

    #[test]
    fn data_errors_name_file_and_place() {
        let e = Error::data(Path::new("a/b.txt"), "line 3", "node id -1 is negative");
        assert_eq!(e.to_string(), "a/b.txt: line 3: node id -1 is negative");
    }
}
