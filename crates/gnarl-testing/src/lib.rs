//! Declares tests that need the real datasets: with the datasets they are ordinary tests, without
//! them `cargo test` reports them as ignored.
//!
//! The datasets are looked for in `GNARL_TEST_DATA`, else in `../shared/data` next to the
//! repository, when this crate is compiled.

use std::path::PathBuf;

/// Returns the folder of the real datasets.
///
/// # Panics
///
/// Without the datasets. Tests that call it are declared with [`needs_data!`].
pub fn data_dir() -> PathBuf {
    let folder = PathBuf::from(env!("GNARL_TEST_DATA_FOUND"));
    assert!(
        folder.is_dir(),
        "{} is not a folder: set GNARL_TEST_DATA to the real datasets",
        folder.display()
    );
    folder
}

/// Declares tests that need the real datasets. Without the datasets they are ignored.
///
/// The parentheses are for rustfmt, which leaves the contents of braces as they are.
///
/// ```
/// gnarl_testing::needs_data!(
///     /// Doc comments and attributes are kept.
///     fn loads() {
///         assert!(gnarl_testing::data_dir().join("planetoid").is_dir());
///     }
/// );
/// ```
#[cfg(has_data)]
#[macro_export]
macro_rules! needs_data {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)*) => {
        $($(#[$attribute])* #[test] fn $name() $body)*
    };
}

/// Declares tests that need the real datasets. Without the datasets they are ignored.
///
/// The parentheses are for rustfmt, which leaves the contents of braces as they are.
#[cfg(not(has_data))]
#[macro_export]
macro_rules! needs_data {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)*) => {
        $(
            $(#[$attribute])*
            #[test]
            #[ignore = "needs the real datasets: set GNARL_TEST_DATA"]
            fn $name() $body
        )*
    };
}

#[cfg(test)]
mod tests {
    use super::data_dir;

    needs_data!(
        /// Doc comments are kept.
        fn data_dir_is_a_folder() {
            assert!(data_dir().is_dir());
        }

        #[should_panic(expected = "attributes are kept")]
        fn attributes_are_kept() {
            panic!("attributes are kept");
        }
    );
}
