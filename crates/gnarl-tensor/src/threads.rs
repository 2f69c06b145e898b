//! Thread pool that kernels share.

use crate::error::{Error, Result};

/// Starts the pool that every parallel part of the library runs on, and returns its size. The size
/// is `threads` if given, else the variable `RAYON_NUM_THREADS`, else one for each core. No result
/// depends on it.
///
/// A program that never calls this function gets the same pool on first use, sized by the variable
/// or the cores. A computation called from one of the pool's own threads (`rayon::scope`) takes
/// part in its parallel work instead of sleeping. This saves two task switches each time. Fails if
/// the pool has been started already.
pub fn start_threads(threads: Option<usize>) -> Result<usize> {
    let threads = number(threads);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(Error::msg)?;
    Ok(threads)
}

/// Returns a separate pool, as large as [`start_threads`] would make it: calls inside its `install`
/// run on its threads alone. For programs that need several pools, or none that outlives a call.
pub fn thread_pool(threads: Option<usize>) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(number(threads))
        .build()
        .map_err(Error::msg)
}

fn number(asked: Option<usize>) -> usize {
    let by_variable = || {
        std::env::var("RAYON_NUM_THREADS")
            .ok()?
            .parse()
            .ok()
            .filter(|&threads| threads > 0)
    };
    asked
        .or_else(by_variable)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_the_requested_size() {
        let pool = thread_pool(Some(3)).unwrap();
        assert_eq!(pool.install(rayon::current_num_threads), 3);
        assert!(thread_pool(None).unwrap().current_num_threads() > 0);
    }
}
