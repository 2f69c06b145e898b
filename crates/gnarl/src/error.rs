//! Errors of the library, on one line each.

use std::path::PathBuf;

pub use gnarl_tensor::Error as TensorError;

/// `Result` with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Failure with its location and, if possible, a way to resolve it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Error of `gnarl-graph`: data, arguments, files.
    #[error(transparent)]
    Graph(#[from] gnarl_graph::Error),

    /// Error of a tensor operation: shapes that do not fit.
    #[error("tensor: {0}")]
    Tensor(#[from] TensorError),

    /// Training diverged: the loss is NaN or infinite.
    #[error(
        "the loss became {loss} at epoch {epoch}{}: try a smaller learning rate than {learning_rate}, or row-normalised features; the weights of epoch {last_good} were kept",
        from.as_ref().map_or(String::new(), |from| format!(", as {from}"))
    )]
    Diverged {
        /// Loss, NaN or infinite.
        loss: f32,
        /// First operation that involved NaN or infinity, if it can be found.
        from: Option<String>,
        /// Epoch of the failure.
        epoch: usize,
        /// Last epoch with a finite loss.
        last_good: usize,
        /// Learning rate of the training.
        learning_rate: f64,
    },

    /// Internal error: a guarantee of the library failed. The fault is in gnarl, never in the
    /// input.
    #[error("{op}: {what}; this is a fault in gnarl, please report it")]
    Internal {
        /// Operation whose guarantee failed.
        op: &'static str,
        /// Description of the failure.
        what: String,
    },

    /// Checkpoint that does not fit its use.
    #[error("{}: {what}", file.display())]
    Checkpoint {
        /// Path of the checkpoint.
        file: PathBuf,
        /// Description of the mismatch.
        what: String,
    },
}
