//! gnarl for Python: the extension module inside the package. Conversions, docs and the
//! scikit-learn interface are in Python (`python/gnarl`); this crate has the parts that need the
//! library.
//!
//! | module | contents |
//! | --- | --- |
//! | `subject` | models under attack or measurement: fitted models and Python functions, with an inference rule |
//! | `attack` | attacks, and defences that preprocess a graph |
//! | `certify` | certificates of fitted models and Python functions |
//! | `robustness` | robustness by sampling, and upper bounds |
//! | `graph` | graphs and sets of graphs |
//! | `model` | model descriptions, fitting, the fitted model |
//! | `parts` | centralities, operators, spectra, communities, generators |
//! | `shared` | one worker of distributed training |
//! | `vectors` | densities, GRATIN and influence on plain vectors |
//! | `work` | threads without the GIL, and Ctrl-C |
//! | `arrays`, `errors` | NumPy's arrays and Python's exceptions |

mod arrays;
mod attack;
mod certify;
mod errors;
mod graph;
mod model;
mod parts;
mod robustness;
mod shared;
mod subject;
mod vectors;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The allocator. Training allocates and frees equal large blocks every epoch; this allocator keeps
/// them, the system's returns them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the command line: its arguments, the first the program's name, to an exit code.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| gnarl_cli::run(arguments))
}

/// Extension module of the package `gnarl`, which is the public interface.
#[pymodule]
mod _gnarl {
    #[pymodule_export]
    use super::attack::{attack, preprocessed};
    #[pymodule_export]
    use super::certify::certify;
    #[pymodule_export]
    use super::graph::{PyGraph, PyGraphSet, dataset_names, load_dataset};
    #[pymodule_export]
    use super::model::{PyFitted, fit, model_sections, spec};
    #[pymodule_export]
    use super::parts::{
        centrality, centrality_operator, communities, describe, eigenpairs, generate, modularity,
        operator, spectrum_report,
    };
    #[pymodule_export]
    use super::robustness::robustness;
    #[pymodule_export]
    use super::run_command;
    #[pymodule_export]
    use super::shared::PySharedTraining;
    #[pymodule_export]
    use super::subject::PyDefended;
    #[pymodule_export]
    use super::vectors::{PyDensity, gratin, influence};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
