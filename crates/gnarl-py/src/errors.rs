//! Errors of the library as Python exceptions, each on one line.

use pyo3::PyErr;
use pyo3::exceptions::{
    PyArithmeticError, PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError,
};

/// Returns the Python exception for an error of gnarl.
pub fn raised(error: gnarl_graph::Error) -> PyErr {
    use gnarl_graph::Error;
    let text = error.to_string();
    match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::Absent { .. } => PyFileNotFoundError::new_err(text),
        Error::Io { .. } | Error::Download { .. } => PyOSError::new_err(text),
        Error::Internal { .. } => PyRuntimeError::new_err(text),
        Error::NotConverged { .. } | Error::Diverged { .. } | Error::NotFinite { .. } => {
            PyArithmeticError::new_err(text)
        }
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
