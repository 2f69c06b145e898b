//! Tests wrong command lines: exit code 2, one line with the error and its remedy, nothing on
//! standard output.

use crate::common;
use common::{gnarl, header, json, refusal, text};

#[test]
fn wrong_options_are_named() {
    let e = refusal(&["--threads", "0"]);
    assert!(
        e.contains("'0' for '--threads <N>'") && e.contains("1..=4096"),
        "{e}"
    );
    let e = refusal(&["--seed", "NaN"]);
    assert!(e.contains("invalid value 'NaN' for '--seed <N>'"), "{e}");
    let e = refusal(&["--seed", "-1"]);
    assert!(e.contains("-1"), "{e}");
    let e = refusal(&["--frobnicate"]);
    assert!(
        e.contains("unexpected argument '--frobnicate'") && e.ends_with("try --help"),
        "{e}"
    );
    let e = refusal(&["centralty"]);
    assert!(e.contains("centralty") && e.contains("'centrality'"), "{e}");
    let e = refusal(&["data"]);
    assert!(e.contains("a subcommand is missing"), "{e}");
    let e = refusal(&["centrality", "--data", "karate", "--kind", "eigen"]);
    assert!(
        e.contains("unknown centrality 'eigen'; known: degree, core, pagerank, walks"),
        "{e}"
    );
    let e = refusal(&["centrality", "--data", "karate", "--kind", "walks:-1"]);
    assert!(e.contains("walk length '-1' is not a whole number"), "{e}");
    let e = refusal(&["centrality", "--kind", "core"]);
    assert!(e.contains("--data <NAME>"), "{e}");
    let e = refusal(&[
        "spectrum",
        "--data",
        "karate",
        "--centrality",
        "core",
        "--extremes",
        "0",
    ]);
    assert!(e.contains("'0' for '--extremes <K>'"), "{e}");
    let e = refusal(&["data", "get"]);
    assert!(e.contains("<NAME>"), "{e}");
}

#[test]
fn help_and_version_are_no_errors() {
    let commands: [&[&str]; 10] = [
        &[],
        &["data"],
        &["centrality"],
        &["spectrum"],
        &["train"],
        &["attack"],
        &["robustness"],
        &["certify"],
        &["predict"],
        &["bench", "epoch"],
    ];
    for command in commands {
        let help = text(&[command, &["--help"]].concat());
        assert!(
            help.contains("--json") && help.contains("--data-dir"),
            "{help}"
        );
    }
    assert!(text(&["--version"]).starts_with("gnarl 0."));
}

#[test]
fn unknown_datasets_get_a_suggestion() {
    for command in [
        &["data", "info", "corra"][..],
        &["data", "check", "corra"],
        &["data", "get", "corra"],
        &["centrality", "--kind", "core", "--data", "corra"],
        &["spectrum", "--centrality", "core", "--data", "corra"],
    ] {
        let e = refusal(command);
        assert!(
            e.contains("unknown dataset 'corra'; did you mean cora"),
            "{e}"
        );
        assert_eq!(
            refusal(&[command, &["--json"]].concat()),
            e,
            "the same with --json"
        );
    }
}

#[test]
fn missing_datasets_say_how_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let e = refusal(&[
        "centrality",
        "--kind",
        "core",
        "--data",
        "citeseer",
        "--data-dir",
        folder,
    ]);
    assert!(
        e.contains("dataset citeseer is not in")
            && e.contains(folder)
            && e.contains("`gnarl data get citeseer`"),
        "{e}"
    );
    let by_variable = gnarl(&["data", "check", "citeseer"])
        .env("GNARL_DATA", folder)
        .assert()
        .code(2);
    assert!(String::from_utf8_lossy(&by_variable.get_output().stderr).contains(folder));
}

#[test]
fn output_does_not_depend_on_the_number_of_threads() {
    for command in [
        &["centrality", "--data", "csbm", "--kind", "pagerank"][..],
        &["spectrum", "--data", "csbm", "--centrality", "walks"],
        &["data", "check", "csbm"],
    ] {
        let with = |threads| json(&[command, &["--threads", threads]].concat());
        assert_eq!(with("1"), with("2"), "{command:?}");
    }
}

#[test]
fn the_seed_changes_generated_graphs() {
    let with = |seed| {
        json(&[
            "centrality",
            "--data",
            "csbm",
            "--kind",
            "pagerank",
            "--seed",
            seed,
        ])["values"]
            .clone()
    };
    assert_eq!(with("3"), with("3"));
    assert_ne!(with("3"), with("4"));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("gnarl"))
        .args([
            "centrality",
            "--data",
            "sbbam",
            "--kind",
            "pagerank",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert_eq!(said, "");
}

/// Every option appears once, under one heading of its kind, with the choices that it belongs to.
#[test]
fn help_groups_model_options() {
    for command in [
        &["train"][..],
        &["attack"],
        &["robustness"],
        &["bench", "epoch"],
    ] {
        let help = text(&[command, &["--help"]].concat());
        let options: Vec<&str> = help
            .lines()
            .filter(|line| line.starts_with("      --"))
            .collect();
        let mut names: Vec<&str> = options
            .iter()
            .map(|line| line.split_whitespace().next().unwrap())
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(
            names.len(),
            count,
            "{command:?} has an option twice: {help}"
        );
        for heading in [
            "Model:",
            "The network:",
            "Operator:",
            "Depth:",
            "Weights:",
            "Inference:",
            "Data:",
            "Defence:",
            "Training:",
        ] {
            assert_eq!(
                help.lines().filter(|line| *line == heading).count(),
                1,
                "{heading} of {command:?}"
            );
        }
    }
    let help = text(&["train", "--help"])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        help.contains("admp-st, admp-alm: Number of the last exit"),
        "{help}"
    );
    assert!(
        help.contains("smoothing: Number of neighbours sampled around an input [default: 100]"),
        "each choice has its own default: {help}"
    );
    assert!(
        help.contains("Probability of removing an edge, in [0, 1] [default: 0.2]"),
        "the range comes from the declaration: {help}"
    );
}

#[test]
fn renamed_options_are_refused_with_their_new_names() {
    let e = refusal(&[
        "train",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--strength",
        "0.1",
    ]);
    assert!(
        e.starts_with("error: --strength is now --p of dropedge, dropnode"),
        "{e}"
    );
    assert!(e.contains("; --"), "each entry has its own: {e}");
    let e = refusal(&[
        "attack", "--data", "karate", "--model", "gcn", "--attack", "dice", "--strong", "1",
    ]);
    assert!(e.contains("unexpected argument '--strong'"), "{e}");
}

#[test]
fn values_outside_their_range_are_named_by_their_option() {
    let attack = ["attack", "--data", "karate", "--model", "gcn", "--attack"];
    let e = refusal(&[&attack[..], &["dice", "--budget", "-1"]].concat());
    assert_eq!(e, "error: --budget must be in [0, 1] (got -1)");
    let train = ["train", "--data", "karate", "--model", "gcn"];
    let e = refusal(&[&train[..], &["--augment", "dropedge", "--p", "2"]].concat());
    assert_eq!(e, "error: --p must be in [0, 1] (got 2)");
    let e = refusal(&[&train[..], &["--hidden", "many"]].concat());
    assert_eq!(e, "error: --hidden must be a whole number (got 'many')");
}

#[test]
fn schemas_are_json() {
    for (more, property) in [
        (&[][..], "/properties/backbone/anyOf"),
        (&["attack"], "/anyOf/1/properties/budget"),
        (&["certificate"], "/anyOf/1/properties/kind"),
    ] {
        let schema = text(&[&["schema"], more].concat());
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        assert!(schema.pointer(property).is_some(), "{property}: {schema}");
        assert_eq!(json(&[&["schema"], more].concat()), schema);
    }
    assert!(refusal(&["schema", "modl"]).contains("did you mean model?"));
}

#[test]
fn options_without_effect_are_refused() {
    for (model, more, expected) in [
        ("gcn", &["--heads", "2"][..], "heads: belongs to gat"),
        (
            "gcn",
            &["--attention-dropout", "0.1"],
            "attention-dropout: belongs to gat",
        ),
        (
            "gcn",
            &["--exponent-lr", "0.1"],
            "exponent-lr: needs a learned operator (cgso), and the operator is the paper's",
        ),
        ("gcn", &["--batch-norm"], "batch-norm: belongs to gin"),
        ("gcn", &["--teleport", "0.2"], "teleport: belongs to appnp"),
        (
            "mlp",
            &["--operator", "H"],
            "operator: H needs message passing, which mlp lacks",
        ),
        (
            "mlp",
            &["--augment", "dropedge"],
            "augment: dropedge needs message passing, which mlp lacks",
        ),
        ("appnp", &["--layers", "3"], "layers: belongs to"),
        ("sgc", &["--hidden", "8"], "hidden: belongs to"),
        ("sgc", &["--dropout", "0.1"], "dropout: belongs to"),
        (
            "gcn",
            &["--depth", "admp-st", "--head", "true"],
            "head: needs a fixed depth, and the depth is admp-st",
        ),
        (
            "gcn",
            &["--depth", "admp-st", "--noise", "0.1"],
            "noise: needs a fixed depth, and the depth is admp-st",
        ),
        (
            "gcn",
            &["--batch-size", "8"],
            "batch-size: needs a set of graphs, and this is one graph",
        ),
        (
            "gcn",
            &["--readout", "sum"],
            "readout: needs a set of graphs, and this is one graph",
        ),
        (
            "gcn",
            &["--order", "3"],
            "order: belongs to orthonormal, and the kind of weights is free",
        ),
        (
            "gcn",
            &["--augment", "dropedge", "--copies", "fixed"],
            "copies: one augmented copy for all epochs needs a set of graphs",
        ),
    ] {
        let e = refusal(
            &[
                &[
                    "train", "--data", "karate", "--model", model, "--epochs", "2",
                ],
                more,
            ]
            .concat(),
        );
        assert!(e.contains(expected), "{e}");
    }
}

#[test]
fn saved_models_that_are_broken_or_old_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.safetensors");
    let path = file.to_str().unwrap();
    json(&[
        "train", "--data", "karate", "--model", "gcn", "--epochs", "2", "--save", path,
    ]);
    let whole = std::fs::read(&file).unwrap();
    let predict = ["predict", "--load", path, "--data", "karate"];
    json(&predict);

    let (header, data) = header(&whole);
    let weights = header
        .as_object()
        .unwrap()
        .values()
        .find(|tensor| tensor["dtype"] == "F32")
        .unwrap();
    let at = data + weights["data_offsets"][0].as_u64().unwrap() as usize;
    let mut spoiled = whole.clone();
    spoiled[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&file, &spoiled).unwrap();
    let e = refusal(&predict);
    assert!(
        e.contains("model.safetensors") && e.contains("is NaN at position 0"),
        "{e}"
    );

    // The description is in the header as JSON within a JSON string.
    let (new, old) = (br#"\"version\":3"#, br#"\"version\":1"#);
    let place = whole
        .windows(new.len())
        .position(|bytes| bytes == new)
        .expect("the version of the format");
    let mut aged = whole.clone();
    aged[place..place + old.len()].copy_from_slice(old);
    std::fs::write(&file, &aged).unwrap();
    let e = refusal(&predict);
    assert!(
        e.contains("model.safetensors")
            && e.contains("version 1 of the format")
            && e.contains("train and save"),
        "{e}"
    );

    for broken in [&whole[..whole.len() / 2], &whole[..4], b"not a model"] {
        std::fs::write(&file, broken).unwrap();
        assert!(
            refusal(&predict).contains("model.safetensors"),
            "{} bytes",
            broken.len()
        );
    }
}

#[test]
fn numbers_beyond_single_precision_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("edges.csv"), "0,1,1\n1,2,1e39\n").unwrap();
    std::fs::write(dir.path().join("labels.csv"), "0,a\n1,b\n2,a\n").unwrap();
    let e = refusal(&[
        "train",
        "--data",
        dir.path().to_str().unwrap(),
        "--model",
        "gcn",
    ]);
    assert!(
        e.contains("edges.csv: line 2") && e.contains("too large for a weight"),
        "{e}"
    );
    let e = refusal(&[
        "robustness",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--epochs",
        "2",
        "--epsilon",
        "1e40",
    ]);
    assert!(e.contains("epsilon 1e40 is beyond single precision"), "{e}");
}

#[test]
fn a_model_that_cannot_be_saved_is_not_trained() {
    let dir = tempfile::tempdir().unwrap();
    let endless = [
        "train",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--epochs",
        "1000000000",
        "--save",
    ];
    let nowhere = dir.path().join("no/such/model");
    let e = refusal(&[&endless[..], &[nowhere.to_str().unwrap()]].concat());
    assert!(
        e.contains("--save: ") && e.contains("there is no folder"),
        "{e}"
    );
    let e = refusal(&[&endless[..], &[dir.path().to_str().unwrap()]].concat());
    assert!(e.contains("is a folder; name a file"), "{e}");
}
