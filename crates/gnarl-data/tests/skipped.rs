//! Reports the number of tests that need the real datasets, and that they were skipped without
//! them.

use crate::common;

#[test]
fn tests_of_real_data_are_counted() {
    assert!(
        common::summary() >= 12,
        "tests that need the real datasets are no longer found by their first line"
    );
}
