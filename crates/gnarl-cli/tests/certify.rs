//! Tests `gnarl certify` from the command line.

use crate::common;
use common::{json, refusal, text};
use serde_json::Value;

/// Writes a folder with a graph of binary features: a ring for each of two classes, and features
/// that only one class has.
fn write_words(folder: &std::path::Path) {
    std::fs::create_dir_all(folder).unwrap();
    let (mut edges, mut labels, mut features) = (
        String::new(),
        String::from("node,class\n"),
        String::from("node,a,b,c,d,e,f,g,h\n"),
    );
    for class in 0..2 {
        for i in 0..20 {
            edges += &format!("{class}-{i},{class}-{}\n", (i + 1) % 20);
            labels += &format!("{class}-{i},{class}\n");
            let words = (0..8).map(|w| {
                if (w / 4 == class) == ((w + i) % 4 != 3) {
                    "1"
                } else {
                    "0"
                }
            });
            features += &format!("{class}-{i},{}\n", words.collect::<Vec<_>>().join(","));
        }
    }
    std::fs::write(folder.join("edges.csv"), edges).unwrap();
    std::fs::write(folder.join("labels.csv"), labels).unwrap();
    std::fs::write(folder.join("features.csv"), features).unwrap();
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn words() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("words");
    write_words(&folder);
    let path = folder.to_str().unwrap().to_string();
    (dir, path)
}

/// Returns the arguments of `certify` for a small model on a folder.
fn on<'a>(data: &'a str, model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let small = [
        "certify",
        "--data",
        data,
        "--model",
        model,
        "--epochs",
        "30",
        "--features",
        "as-loaded",
    ];
    [&small[..], more].concat()
}

fn shares(report: &Value) -> Vec<(f64, f64)> {
    let cells = report["certified"].as_array().unwrap();
    cells
        .iter()
        .map(|cell| (number(&cell["share"]), number(&cell["accurate_share"])))
        .collect()
}

#[test]
fn smoothing_gives_a_table_of_additions_and_deletions() {
    let (dir, data) = words();
    let stem = dir.path().join("out").to_str().unwrap().to_string();
    let noise = [
        "--method",
        "smoothing",
        "--p-plus",
        "0.05",
        "--p-minus",
        "0.3",
        "--samples",
        "300",
        "--selection",
        "50",
    ];
    let report = json(&on(
        &data,
        "gcn",
        &[&noise[..], &["--output", &stem]].concat(),
    ));
    let cells = report["certified"].as_array().unwrap();
    let (add, delete) = (
        &report["certifiable"]["r_add"],
        &report["certifiable"]["r_delete"],
    );
    let (add, delete) = (number(add) as usize, number(delete) as usize);
    assert!(
        add > 0 && delete > 0 && cells.len() == (add + 1) * (delete + 1),
        "{add}, {delete}"
    );
    assert_eq!(
        (&cells[0]["r_add"], &cells[0]["r_delete"]),
        (&0.into(), &0.into())
    );
    assert!(
        shares(&report)
            .iter()
            .all(|(share, right)| (0.0..=1.0).contains(share) && right <= share)
    );
    assert!(
        shares(&report)[0].0 > 0.5,
        "two rings of their own words are certain"
    );
    assert!(
        number(&report["max_radius"]["r_add"]) <= add as f64 && number(&report["seconds"]) > 0.0
    );
    assert!(report["config"]["model"]["network"].is_object());
    let csv = std::fs::read_to_string(format!("{stem}.csv")).unwrap();
    assert!(csv.starts_with("method,radius,r_add,r_delete") && csv.lines().count() > cells.len());
    for ending in [".svg", ".png", "-curves.svg", "-curves.png"] {
        assert!(
            std::path::Path::new(&format!("{stem}{ending}")).exists(),
            "{ending}"
        );
    }
    // The result is the same for any number of threads, and differs for another seed.
    let again = |more: &[&str]| shares(&json(&on(&data, "gcn", &[&noise[..], more].concat())));
    assert_eq!(again(&["--threads", "1"]), again(&["--threads", "2"]));
    let strict = json(&on(
        &data,
        "gcn",
        &[
            &noise[..],
            &["--simultaneous", "--certificate", "multi-class"],
        ]
        .concat(),
    ));
    assert_eq!(strict["smoothing"]["certificate"], "multi-class");
    assert!(text(&on(&data, "gat", &noise)).contains("additions in rows, deletions in columns"));
}

#[test]
fn smoothing_of_edges_both_and_real_features() {
    let (_dir, data) = words();
    let few = [
        "--method",
        "smoothing",
        "--samples",
        "100",
        "--selection",
        "20",
    ];
    let edges = json(&on(
        &data,
        "gcn",
        &[
            &few[..],
            &["--target", "edges", "--p-plus", "0.01", "--p-minus", "0.4"],
        ]
        .concat(),
    ));
    assert!(edges["by_flips"].is_array() && shares(&edges)[0].0 > 0.0);
    let both = json(&on(
        &data,
        "gcn",
        &[&few[..], &["--target", "both", "--edge-p-minus", "0.2"]].concat(),
    ));
    assert!(both["certified"][1]["edges_add"].is_number(), "{both}");
    let gaussian = json(&on(
        &data,
        "gcn",
        &[&few[..], &["--gaussian", "0.3"]].concat(),
    ));
    let radii: Vec<f64> = gaussian["certified"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| number(&c["radius"]))
        .collect();
    assert!(radii.is_sorted() && radii[0] == 0.0 && radii.len() == 21);
    assert!(shares(&gaussian).is_sorted_by(|a, b| a.0 >= b.0));
    // A model with another inference rule can be certified, too.
    let read = [
        "--inference",
        "robust-crf",
        "--samples",
        "20",
        "--selection",
        "5",
    ];
    assert!(
        shares(&json(&on(
            &data,
            "gcn",
            &[&["--method", "smoothing"][..], &read].concat()
        )))[0]
            .0
            > 0.0
    );
}

#[test]
fn deterministic_certificates_fall_with_the_radius() {
    let (dir, data) = words();
    let nodes = dir.path().join("nodes.csv").to_str().unwrap().to_string();
    for (model, more) in [
        ("gcn", &["--method", "lipschitz"][..]),
        (
            "gcn",
            &[
                "--method",
                "lipschitz",
                "--norm",
                "inf",
                "--scope",
                "every",
                "--epsilon",
                "0,0.001,0.1",
            ],
        ),
        (
            "gin",
            &[
                "--method",
                "lipschitz",
                "--target",
                "edges",
                "--max-radius",
                "2",
            ],
        ),
        (
            "appnp",
            &[
                "--method",
                "exact",
                "--max-radius",
                "3",
                "--threat",
                "remove",
            ],
        ),
        (
            "sgc",
            &["--method", "exact", "--max-radius", "3", "--nodes", &nodes],
        ),
        (
            "gcn",
            &["--method", "convex", "--max-radius", "3", "--local", "2"],
        ),
    ] {
        let report = json(&on(&data, model, more));
        let found = shares(&report);
        assert!(
            found[0].0 == 1.0 && found.is_sorted_by(|a, b| a.0 >= b.0 && a.1 >= b.1),
            "{model} {more:?}: {found:?}"
        );
        assert!(found.len() >= 3, "{found:?}");
    }
    assert!(
        std::fs::read_to_string(&nodes)
            .unwrap()
            .starts_with("method,node,class,correct,radius,deletions\nexact,")
    );
}

#[test]
fn certified_accuracy_is_plotted_with_empirical_accuracy() {
    let (dir, data) = words();
    let stem = dir.path().join("bracket").to_str().unwrap().to_string();
    let all = [
        "--method",
        "all",
        "--max-radius",
        "2",
        "--samples",
        "100",
        "--selection",
        "20",
        "--attacked",
        "4",
    ];
    let report = json(&on(
        &data,
        "gcn",
        &[&all[..], &["--target", "edges", "--output", &stem]].concat(),
    ));
    assert_eq!(
        (&report["method"], &report["others"][0]["method"]),
        (&"smoothing".into(), &"lipschitz".into())
    );
    assert!(
        report["refused"][0]
            .as_str()
            .unwrap()
            .contains("exact is left out"),
        "{report}"
    );
    let survived = report["survived"].as_array().unwrap();
    assert!(survived.len() == 3 && number(&survived[0]["share"]) == 1.0);
    let features = json(&on(
        &data,
        "gcn",
        &[&all[..], &["--target", "features"]].concat(),
    ));
    let methods: Vec<&str> = features["others"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["method"].as_str().unwrap())
        .collect();
    assert_eq!(methods, ["lipschitz", "convex"]);
    let drawn = std::fs::read_to_string(format!("{stem}.svg")).unwrap();
    assert!(drawn.contains("unchanged and correct under nettack") && drawn.contains("lipschitz"));
}

#[test]
fn meaningless_settings_are_refused_in_one_line() {
    let smoothing = |more: &[&'static str]| {
        refusal(
            &[
                &["certify", "--data", "karate", "--model", "gcn"][..],
                &["--method", "smoothing"],
                more,
            ]
            .concat(),
        )
    };
    assert!(smoothing(&["--p-plus", "1.5"]).contains("--p-plus must be in [0, 1] (got 1.5)"));
    assert!(smoothing(&["--p-minus", "-0.1"]).contains("--p-minus must be in [0, 1] (got -0.1)"));
    assert!(smoothing(&["--alpha", "0"]).contains("--alpha must be in (0, 1) (got 0)"));
    assert!(smoothing(&["--samples", "5"]).contains("5 samples certify nothing"));
    assert!(smoothing(&["--samples", "0"]).contains("0 samples certify nothing"));
    assert!(
        smoothing(&["--selection", "0"]).contains("--selection must be in [1, 100000000] (got 0)")
    );
    assert!(smoothing(&["--gaussian", "0"]).contains("--gaussian must be in (0, 1000000) (got 0)"));
    assert!(smoothing(&["--threat", "add"]).contains("--threat: belongs to exact"));
    assert!(smoothing(&["--scope", "one"]).contains("--scope: belongs to lipschitz"));
    let with = |model: &'static str, more: &[&'static str]| {
        refusal(
            &[
                &[
                    "certify", "--data", "karate", "--epochs", "2", "--model", model,
                ][..],
                more,
            ]
            .concat(),
        )
    };
    assert!(with("gcn", &["--method", "exact"]).contains("exact covers sgc and appnp, not gcn"));
    assert!(with("gat", &["--method", "lipschitz", "--target", "edges"]).contains("covers gcn"));
    let e = with("gcn", &["--method", "convex", "--target", "edges"]);
    assert!(
        e.contains("--target must be features for convex (got edges)"),
        "{e}"
    );
    let e = with("gcn", &["--method", "lipschitz", "--target", "both"]);
    assert!(
        e.contains("--target must be features or edges for lipschitz (got both)"),
        "{e}"
    );
    assert!(
        with(
            "gcn",
            &[
                "--method",
                "lipschitz",
                "--target",
                "edges",
                "--inference",
                "smoothing"
            ]
        )
        .contains("lipschitz covers plain inference, not smoothing; smoothing covers this model")
    );
    assert!(
        with("gcn", &["--method", "convex", "--local", "0"])
            .contains("--local must be in [1, 1000000] (got 0)")
    );
    assert!(with("gcn", &["--method", "guess"]).contains("guess"));
    assert!(
        with("gcn", &["--method", "lipschitz", "--epsilon", "-1"])
            .contains("a radius must be >= 0 (got -1)")
    );
    let e = with("gcn", &["--method", "lipschitz", "--max-radius", "3"]);
    assert!(
        e.contains("--max-radius: belongs to flips by lipschitz, exact and convex"),
        "{e}"
    );
}

/// MUTAG is embedded in the program.
#[test]
fn graphs_of_a_set_are_certified() {
    let on = [
        "certify",
        "--data",
        "mutag",
        "--model",
        "gin",
        "--epochs",
        "5",
        "--runs",
        "2",
        "--data-dir",
        "nowhere",
    ];
    let with = |more: &[&'static str]| [&on[..], more].concat();
    let found = json(&with(&[
        "--method",
        "all",
        "--target",
        "edges",
        "--samples",
        "100",
        "--selection",
        "10",
    ]));
    assert_eq!(
        (found["method"].as_str(), found["evaluated"].as_u64()),
        (Some("smoothing"), Some(19))
    );
    assert_eq!(found["others"][0]["method"], "lipschitz");
    assert_eq!(found["others"][0]["certified"][0]["share"], 1.0);
    assert!(
        found["refused"][0]
            .as_str()
            .unwrap()
            .contains("not a set of graphs"),
        "{found}"
    );
    assert_eq!(found["smoothing"]["p_plus"], 0.01, "the graphs are small");
    assert_eq!(found["config"]["certificates"][0]["kind"], "smoothing");
    let said = text(&with(&["--method", "lipschitz"]));
    assert!(
        said.contains("19 test graphs, 2 runs") && said.contains("largest radius of a test graph"),
        "{said}"
    );
    let e = refusal(&with(&["--method", "convex"]));
    assert!(
        e.contains("convex covers the nodes of one graph, not a set of graphs"),
        "{e}"
    );
    let e = refusal(&with(&["--method", "lipschitz", "--attempts", "5"]));
    assert!(e.contains("attacks the nodes of one graph"), "{e}");
}

#[test]
fn attacks_within_certified_radii_are_counted() {
    let (_dir, data) = words();
    let found = json(&on(
        &data,
        "gcn",
        &["--method", "lipschitz", "--attempts", "40"],
    ));
    assert_eq!(found["attempts"][0]["attacks"], 40);
    assert_eq!(found["attempts"][0]["violations"], 0);
    let said = text(&on(
        &data,
        "gcn",
        &["--method", "convex,lipschitz", "--attempts", "20"],
    ));
    assert_eq!(said.matches("none changed a class").count(), 2, "{said}");
    let e = refusal(&on(
        &data,
        "gcn",
        &["--method", "smoothing", "--attempts", "20"],
    ));
    assert!(
        e.contains("attempts: belongs to lipschitz, exact and convex"),
        "{e}"
    );
}
