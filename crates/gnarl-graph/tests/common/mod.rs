//! Where tests find the real datasets.

use std::path::{Path, PathBuf};

/// The folder of real datasets: `GNARL_TEST_DATA`, else `../shared/data` beside the repository. Tests that need it say
/// that they skip when it is not there.
pub fn real_data() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let dir = std::env::var_os("GNARL_TEST_DATA").map_or(beside, PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no datasets in {} (set GNARL_TEST_DATA)", dir.display());
    None
}
