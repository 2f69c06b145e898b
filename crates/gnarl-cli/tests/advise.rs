//! Tests `gnarl advise` and `gnarl axes` from the command line.

use crate::common;
use common::{json, refusal, text};

#[test]
fn advise_writes_a_spec_that_train_reads() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("advised.toml");
    let file = file.to_str().unwrap();
    let args = [
        "advise", "--data", "csbm", "--runs", "1", "--epochs", "20", "--write", file,
    ];
    let advice = json(&args);
    let tried = advice["tried"].as_array().unwrap();
    assert!(
        tried[0]["switched"].as_array().unwrap().is_empty(),
        "the plain model first"
    );
    assert_eq!(tried[1]["backbone"], "mlp", "then what edges add");
    assert!(
        tried.len() >= 8
            && tried
                .iter()
                .all(|one| one["evaluated"]["accuracy"].is_number()),
        "{advice}"
    );
    assert!(advice["summary"]["homophily"].is_number());
    let shown = text(&args);
    assert!(
        shown.contains("test labels are not used") && shown.contains("gnarl train --data csbm"),
        "{shown}"
    );
    let trained = json(&["train", "--data", "csbm", "--spec", file, "--epochs", "5"]);
    assert!(trained["test_accuracy"]["mean"].is_number());
    for switched in advice["switch_on"].as_array().unwrap() {
        assert!(
            advice["options"]
                .as_str()
                .unwrap()
                .contains(switched["choice"].as_str().unwrap())
        );
    }
}

#[test]
fn advise_refuses_too_few_labels() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("edges.csv"),
        "source,target\n0,1\n1,2\n2,3\n",
    )
    .unwrap();
    std::fs::write(
        dir.path().join("labels.csv"),
        "node,label\n0,a\n1,b\n2,a\n3,b\n",
    )
    .unwrap();
    std::fs::write(
        dir.path().join("splits.csv"),
        "node,part\n0,train\n1,train\n2,validation\n3,test\n",
    )
    .unwrap();
    let e = refusal(&["advise", "--data", dir.path().to_str().unwrap()]);
    assert!(
        e.contains("2 labelled training and 1 validation nodes"),
        "{e}"
    );
    let e = refusal(&["train", "--data", "karate"]);
    assert!(
        e.contains("--model: name a model, or a file with --spec"),
        "{e}"
    );
}
