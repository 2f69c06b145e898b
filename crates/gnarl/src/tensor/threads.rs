//! The threads that kernels share.

use super::fault::{Error, Result};

/// Starts the pool that every parallel part of the library runs on, and gives its size: as asked, else what the variable
/// `RAYON_NUM_THREADS` says, else one for each core. No result depends on it.
///
/// A program that never calls this gets the same pool, sized by the variable or the cores, on first use. Called from one of the
/// pool's own threads (`rayon::scope`) a computation takes part in its parallel work instead of sleeping through it, which spares two
/// task switches each time. Fails where the pool has been started already.
pub fn start_threads(threads: Option<usize>) -> Result<usize> {
    let asked_by_variable = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|&threads| threads > 0);
    let threads = threads
        .or_else(asked_by_variable)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(Error::msg)?;
    Ok(threads)
}
