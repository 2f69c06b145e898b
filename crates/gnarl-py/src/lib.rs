//! gnarl for Python: the extension module inside the package. Conversions, docs and what follows
//! scikit-learn's manners are in Python (`python/gnarl`); here is what needs the library.
//!
//! | file | what |
//! | --- | --- |
//! | `certify` | certificates of models, ours and others |
//! | `graph` | graphs and sets of graphs |
//! | `model` | a model in words, fitting, the fitted model |
//! | `outside` | models of one's own: attacked, measured, defended |
//! | `parts` | centralities, operators, spectra, communities, generators |
//! | `shared` | a worker's share of a training |
//! | `vectors` | densities, GRATIN and influence on plain vectors |
//! | `work` | threads without the GIL, and Ctrl-C |
//! | `arrays`, `errors` | NumPy's arrays and Python's exceptions |

mod arrays;
mod certify;
mod errors;
mod graph;
mod model;
mod outside;
mod parts;
mod shared;
mod vectors;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Training allocates and frees the same large blocks every epoch; this allocator keeps them, the
/// system's returns them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The command line: its words, the first the program's name, to an exit code.
#[pyfunction]
fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| gnarl_cli::run(words))
}

/// What gnarl does that Python cannot: see the package `gnarl`, which is made for people.
#[pymodule]
mod _gnarl {
    #[pymodule_export]
    use super::certify::certify;
    #[pymodule_export]
    use super::graph::{PyGraph, PyGraphSet, dataset_names, load_dataset};
    #[pymodule_export]
    use super::model::{PyFitted, fit, model_sections, spec};
    #[pymodule_export]
    use super::outside::{PyDefended, attack, purified, robustness};
    #[pymodule_export]
    use super::parts::{
        centrality, centrality_operator, communities, describe, eigenpairs, generate, modularity,
        operator, spectrum_report,
    };
    #[pymodule_export]
    use super::run_command;
    #[pymodule_export]
    use super::shared::PySharedTraining;
    #[pymodule_export]
    use super::vectors::{PyDensity, gratin, influence};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
