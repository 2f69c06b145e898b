//! Counts the tests that need the real datasets, and checks that they were skipped without them.

use crate::common;

#[test]
fn tests_of_real_data_are_counted() {
    assert!(
        common::summary() >= 10,
        "tests that need the real datasets are no longer found by their first line"
    );
}
