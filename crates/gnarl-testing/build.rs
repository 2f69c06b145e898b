//! Looks for the real datasets. The cfg `has_data` says that they are there, and the variable
//! `GNARL_TEST_DATA_FOUND` where.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_data)");
    println!("cargo::rerun-if-env-changed=GNARL_TEST_DATA");
    println!("cargo::rerun-if-changed=build.rs");
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let next_to_repository = Path::new(&crate_dir).join("../../../shared/data");
    let folder = std::env::var_os("GNARL_TEST_DATA").map_or(next_to_repository, PathBuf::from);
    println!(
        "cargo::rustc-env=GNARL_TEST_DATA_FOUND={}",
        folder.display()
    );
    // A missing folder is not watched: cargo would run this script, and compile all tests that
    // depend on it, at every call.
    if folder.is_dir() {
        println!("cargo::rustc-cfg=has_data");
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}
