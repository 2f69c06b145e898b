//! What can go wrong in a tensor operation.

/// `Result` with the [`Error`] of tensor operations.
pub type Result<T> = std::result::Result<T, Error>;

/// A tensor operation that could not be done: which, and why, on one line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes, kinds or places that do not fit.
    #[error("{0}")]
    Refused(String),

    /// A value to be differentiated that is NaN or infinite.
    #[error("a value to be differentiated is {value}{}", from.as_ref().map_or(String::new(), |from| format!(": {from}")))]
    NotFinite {
        /// The value.
        value: f32,
        /// The operation that first had to do with what is no number, where it can be told.
        from: Option<String>,
    },
}

impl Error {
    /// An error of these words.
    pub fn msg(what: impl std::fmt::Display) -> Self {
        Self::Refused(what.to_string())
    }
}

impl From<Error> for gnarl_graph::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(what) => Self::Tensor { what },
            Error::NotFinite { value, from } => Self::NotFinite {
                value,
                operation: from,
            },
        }
    }
}

/// Returns with an [`Error`] of these words.
#[doc(hidden)]
#[macro_export]
macro_rules! bail {
    ($($words:tt)*) => {
        return Err($crate::Error::msg(format!($($words)*)))
    };
}

pub(crate) use bail;
