//! What can go wrong in the library, on one line each.

use std::path::PathBuf;

pub use gnarl_tensor::Error as TensorError;

/// `Result` with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// From the ground floor: data, arguments, files.
    #[error(transparent)]
    Graph(#[from] gnarl_graph::Error),

    /// From a tensor operation: shapes that do not fit.
    #[error("tensor: {0}")]
    Tensor(#[from] TensorError),

    /// Training left the numbers.
    #[error(
        "the loss became {loss} at epoch {epoch}{}: try a smaller learning rate than {learning_rate}, or row-normalised features; the weights of epoch {last_good} were kept",
        from.as_ref().map_or(String::new(), |from| format!(", as {from}"))
    )]
    Diverged {
        /// The loss, NaN or infinite.
        loss: f32,
        /// The operation that first had to do with what is no number, where it can be told.
        from: Option<String>,
        /// The epoch it happened in.
        epoch: usize,
        /// The last epoch with a finite loss.
        last_good: usize,
        /// The learning rate used.
        learning_rate: f64,
    },

    /// A promise that the library makes and did not keep: a fault of ours, never of the input.
    #[error("{op}: {what}; this is a fault in gnarl, please report it")]
    Internal {
        /// What broke its promise.
        op: &'static str,
        /// How.
        what: String,
    },

    /// A checkpoint that does not fit what it is used on.
    #[error("{}: {what}", file.display())]
    Checkpoint {
        /// The file.
        file: PathBuf,
        /// What does not fit.
        what: String,
    },
}
