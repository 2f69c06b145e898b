//! What can go wrong in a tensor operation.

pub use crate::error::TensorError as Error;

/// `Result` with the [`Error`] of tensor operations.
pub type Result<T> = std::result::Result<T, Error>;

/// Returns with an [`Error`] of these words.
macro_rules! bail {
    ($($words:tt)*) => {
        return Err($crate::tensor::Error::msg(format!($($words)*)))
    };
}

pub(crate) use bail;
