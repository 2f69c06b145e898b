//! Tests `gnarl explore`: one page on loopback behind a secret, and predictions on changed graphs.

use crate::common;
use std::path::Path;

use common::refusal;
use common::server::Running;
use serde_json::Value;

#[test]
fn a_change_of_the_graph_changes_predictions() {
    let running = Running::new(
        Path::new("."),
        &["--data", "karate", "--epochs", "60", "--json"],
        10,
    );
    assert!(running.host.starts_with("127.0.0.1:"), "{}", running.host);
    assert_eq!(
        running.ask("GET", "/", "").0,
        404,
        "without the secret there is nothing"
    );
    let (status, page) = running.ask("GET", &format!("/{}/", running.secret), "");
    assert_eq!(status, 200);
    assert!(page.contains("data-component=\"graph\"") && page.contains("connect-src 'self'"));
    let (status, same) = running.change(r#"{"edges": [], "features": []}"#);
    assert_eq!(status, 200, "{same}");
    let same: Value = serde_json::from_str(&same).unwrap();
    assert_eq!(same["predicted"].as_array().unwrap().len(), 34);
    // Member 11 has one tie, to member 0; without it and with three ties to another community its
    // predicted class changes.
    let (_, moved) =
        running.change(r#"{"edges": [[0, 11], [11, 33], [11, 32], [30, 11]], "features": []}"#);
    let moved: Value = serde_json::from_str(&moved).unwrap();
    assert_ne!(moved["predicted"][11], same["predicted"][11], "{moved}");
    // Features of the club are binary: flipping one changes the confidence.
    let (_, flipped) = running.change(r#"{"edges": [], "features": [[0, 0], [0, 33]]}"#);
    let flipped: Value = serde_json::from_str(&flipped).unwrap();
    assert_ne!(flipped["margin"], same["margin"]);
    // Other weights give other predictions. A second request gives the same predictions, and
    // without the axis the original ones return.
    let weights = r#"{"edges": [], "features": [], "axes": {"weights": "orthonormal"}}"#;
    let (status, bounded) = running.change(weights);
    assert_eq!(status, 200, "{bounded}");
    assert_eq!(running.change(weights).1, bounded);
    let bounded: Value = serde_json::from_str(&bounded).unwrap();
    assert_ne!(bounded["margin"], same["margin"]);
    for (wrong, why) in [
        (
            r#"{"edges": [[0, 34]], "features": []}"#,
            "not two different nodes of 0 to 33",
        ),
        ("[]", "invalid change"),
        (
            r#"{"edges": [], "features": [], "axes": {"weights": "leaden"}}"#,
            "cannot be switched to",
        ),
        (
            r#"{"edges": [], "features": [], "axes": {"hidden": "1000000000"}}"#,
            "cannot be switched to",
        ),
    ] {
        let (status, told) = running.change(wrong);
        assert_eq!(status, 400, "{told}");
        assert!(told.contains(why), "{told}");
    }
    assert!(running.ended(), "the server ends after ten requests");
}

#[test]
fn unsupported_data_and_taken_ports_are_refused_before_training() {
    let e = refusal(&["explore", "--data", "mutag"]);
    assert!(e.contains("explore needs one graph"), "{e}");
    let e = refusal(&["explore", "--data", "karate", "--load", "no-such-file"]);
    assert!(e.contains("no-such-file"), "{e}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let e = refusal(&["explore", "--data", "karate", "--port", &port]);
    assert!(e.contains("cannot listen on"), "{e}");
}
