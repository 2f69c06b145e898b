//! Errors of the library as Python exceptions, each on one line.

use pyo3::PyErr;
use pyo3::exceptions::{
    PyArithmeticError, PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError,
};

/// Returns the exception for an error of gnarl.
pub fn raised(error: gnarl::Error) -> PyErr {
    match error {
        gnarl::Error::Graph(error) => raised_by_graph(error),
        gnarl::Error::Diverged { .. }
        | gnarl::Error::Tensor(gnarl::TensorError::NotFinite { .. }) => {
            PyArithmeticError::new_err(error.to_string())
        }
        gnarl::Error::Internal { .. } => PyRuntimeError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Returns the exception for an error of the `gnarl_graph` crate.
pub fn raised_by_graph(error: gnarl_graph::Error) -> PyErr {
    use gnarl_graph::Error;
    let text = error.to_string();
    match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::Absent { .. } => PyFileNotFoundError::new_err(text),
        Error::Io { .. } | Error::Download { .. } => PyOSError::new_err(text),
        Error::NotConverged { .. } => PyArithmeticError::new_err(text),
        Error::OutOfRange {
            setting,
            range,
            got,
        } => {
            let keyword = setting.replace('-', "_");
            PyValueError::new_err(format!("{keyword} must be {range} (got {got})"))
        }
        _ => PyValueError::new_err(text),
    }
}

/// Returns a `ValueError` with this message.
pub fn wrong(what: impl Into<String>) -> PyErr {
    PyValueError::new_err(what.into())
}
