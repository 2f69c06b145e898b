//! Errors of tensor operations.

/// `Result` with the [`Error`] of tensor operations.
pub type Result<T> = std::result::Result<T, Error>;

/// Failed tensor operation: which one, and why, on one line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes, data types or indices that do not fit.
    #[error("{0}")]
    Refused(String),

    /// NaN or infinite value that is to be differentiated.
    #[error("a value to be differentiated is {value}{}", from.as_ref().map_or(String::new(), |from| format!(": {from}")))]
    NotFinite {
        /// Value that is NaN or infinite.
        value: f32,
        /// First operation that involved NaN or infinity, if it can be found.
        from: Option<String>,
    },
}

impl Error {
    /// Returns an error with this message.
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
