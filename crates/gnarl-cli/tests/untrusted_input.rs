//! Regression tests of untrusted input, each found once: outputs that are no regular file, sizes
//! beyond any memory, endless work, corrupt files, internal names in errors, and empty pictures.

use crate::common;
use std::path::Path;

use common::{gnarl, header, json, refusal, text, write_rings};

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.collect();
    names.sort();
    names
}

const QUICK: [&str; 7] = [
    "train", "--data", "karate", "--model", "gcn", "--epochs", "3",
];

#[cfg(target_os = "linux")]
#[test]
fn devices_stay_devices_and_links_stay_links() {
    use std::os::unix::fs::FileTypeExt;
    let run = gnarl(&[&QUICK[..], &["--save", "/dev/full"]].concat())
        .assert()
        .code(2)
        .stdout("");
    let e = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(
        e.starts_with("error: /dev/full: No space left") && e.matches('\n').count() == 1,
        "{e}"
    );
    assert!(
        std::fs::symlink_metadata("/dev/full")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    text(&[&QUICK[..], &["--save", "/dev/null"]].concat());

    let dir = tempfile::tempdir().unwrap();
    let (link, target) = (
        dir.path().join("link"),
        dir.path().join("model.safetensors"),
    );
    std::os::unix::fs::symlink(&target, &link).unwrap();
    text(&[&QUICK[..], &["--save", path(&link)]].concat());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(text(&["predict", "--load", path(&target), "--data", "karate"]).contains("34 nodes"));

    let pipe = dir.path().join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    text(&[
        "predict",
        "--load",
        path(&target),
        "--data",
        "karate",
        "--output",
        path(&pipe),
    ]);
    assert_eq!(reader.join().unwrap().lines().count(), 35);
    assert_eq!(
        names(dir.path()),
        ["link", "model.safetensors", "pipe"],
        "nothing else is left"
    );
}

/// Eight programs save to one name at once, next to a file that has a former temporary name.
#[test]
fn parallel_saves_do_not_mix() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.safetensors");
    std::fs::write(dir.path().join("m.safetensors.part"), "not ours").unwrap();
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let file = &file;
            scope.spawn(move || {
                text(
                    &[
                        &QUICK[..],
                        &["--save", path(file), "--seed", &seed.to_string()],
                    ]
                    .concat(),
                )
            });
        }
    });
    assert!(text(&["predict", "--load", path(&file), "--data", "karate"]).contains("34 nodes"));
    assert_eq!(
        std::fs::read_to_string(dir.path().join("m.safetensors.part")).unwrap(),
        "not ours"
    );
    assert_eq!(names(dir.path()), ["m.safetensors", "m.safetensors.part"]);
}

/// Uses so many epochs that training first would not end.
#[test]
fn unwritable_outputs_are_refused_before_training() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, nowhere) = (path(dir.path()), dir.path().join("no/such"));
    let on = [
        "--data",
        "karate",
        "--model",
        "gcn",
        "--epochs",
        "100000000",
    ];
    for (command, option) in [
        ("train", "--save"),
        ("train", "--histograms"),
        ("robustness", "--output"),
        ("certify", "--nodes"),
        ("certify", "--output"),
        ("axes", "--write"),
        ("advise", "--write"),
        ("attack", "--plot"),
    ] {
        let method: &[&str] = match command {
            "certify" => &["--method", "lipschitz"],
            "attack" => &["--attack", "dice"],
            _ => &[],
        };
        let e = refusal(&[&[command][..], &on, method, &[option, path(&nowhere)]].concat());
        assert!(
            e.starts_with(&format!("error: {option}: ")) && e.contains("there is no folder"),
            "{command}: {e}"
        );
    }
    let e = refusal(&[&["train"][..], &on, &["--save", folder]].concat());
    assert!(e.contains("is a folder; name a file"), "{e}");
    if cfg!(target_os = "linux") {
        // No user, not even root, can write there.
        let e = refusal(&[&["train"][..], &on, &["--save", "/proc/model.safetensors"]].concat());
        assert!(
            e.starts_with("error: --save: /proc/model.safetensors: "),
            "{e}"
        );
    }
    assert!(names(dir.path()).is_empty());
}

#[test]
fn sizes_beyond_any_machine_are_refused_before_they_are_allocated() {
    let train = |more: &[&str]| refusal(&[&QUICK[..5], more].concat());
    let beyond = |e: String, what: &str| {
        assert!(
            (e.starts_with(&format!("error: {what}: "))
                || e.starts_with(&format!("error: --{what}: ")))
                && e.contains("is beyond")
                || e.starts_with(&format!("error: --{what} must be in [")),
            "{e}"
        )
    };
    beyond(train(&["--hidden", "18446744073709551615"]), "hidden");
    beyond(train(&["--hidden", "100000000"]), "hidden");
    beyond(train(&["--layers", "1000000"]), "layers");
    beyond(
        train(&["--weights", "orthonormal", "--iterations", "1000000000"]),
        "iterations",
    );
    beyond(train(&["--epochs", "10000000000"]), "epochs");
    let e = train(&["--hidden", "1000000", "--layers", "1000"]);
    assert!(
        e.starts_with("error: memory: gcn on karate needs at least ") && e.contains("hidden"),
        "{e}"
    );
    let e = train(&["--epochs", "1000000000", "--runs", "100000"]);
    assert!(
        e.starts_with("error: time: gcn on karate takes at least ") && e.contains("years"),
        "{e}"
    );

    let attack = |more: &[&str]| refusal(&[&["attack"], &QUICK[1..5], more].concat());
    beyond(
        attack(&["--attack", "pgd-features", "--steps", "10000000000"]),
        "steps",
    );
    beyond(
        attack(&["--attack", "pgd-features", "--restarts", "10000000000"]),
        "restarts",
    );
    let e = attack(&[
        "--attack",
        "pgd-features",
        "--steps",
        "1000000",
        "--restarts",
        "1000000",
    ]);
    assert!(e.starts_with("error: time: "), "{e}");
    let sampled =
        |command: &str, more: &[&str]| refusal(&[&[command], &QUICK[1..5], more].concat());
    beyond(
        sampled("robustness", &["--samples", "10000000000"]),
        "samples",
    );
    beyond(
        sampled(
            "certify",
            &[
                "--method",
                "smoothing",
                "--gaussian",
                "0.1",
                "--samples",
                "10000000000",
            ],
        ),
        "samples",
    );
}

/// Gives every node of a ring its own class: the scores need memory quadratic in the nodes.
#[test]
fn a_class_for_every_node_is_refused_by_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let n = 6000;
    let edges: String = (0..n).map(|u| format!("{u},{}\n", (u + 1) % n)).collect();
    let labels: String = (0..n).map(|u| format!("{u}\n")).collect();
    std::fs::write(dir.path().join("edges.csv"), edges).unwrap();
    std::fs::write(dir.path().join("labels.csv"), labels).unwrap();
    let args = ["train", "--model", "gcn", "--data", path(dir.path())];
    let run = gnarl(&args)
        .env("GNARL_MEMORY", "100M")
        .assert()
        .code(2)
        .stdout("");
    let e = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(
        e.starts_with("error: memory: gcn on ") && e.contains("and 105 MB are free"),
        "{e}"
    );
}

/// Changes a number in the description of a valid file.
#[test]
fn a_file_that_claims_more_than_it_holds_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.safetensors");
    text(&[&QUICK[..], &["--save", path(&file)]].concat());
    let saved = std::fs::read(&file).unwrap();
    let (mut head, data) = header(&saved);
    let claims = |head: &mut serde_json::Value, from: &str, to: &str| {
        let text = head["__metadata__"]["gnarl"].as_str().unwrap().to_string();
        assert!(text.contains(from), "{text}");
        head["__metadata__"]["gnarl"] = text.replace(from, to).into();
        let mut written = serde_json::to_vec(head).unwrap();
        while !written.len().is_multiple_of(8) {
            written.push(b' ');
        }
        let bytes = [
            &(written.len() as u64).to_le_bytes()[..],
            &written,
            &saved[data..],
        ]
        .concat();
        std::fs::write(&file, bytes).unwrap();
        head["__metadata__"]["gnarl"] = text.into();
        refusal(&["predict", "--load", path(&file), "--data", "karate"])
    };
    let e = claims(&mut head, "\"hidden\":64", "\"hidden\":1000000000000");
    assert!(
        e.contains("hidden must be in [1, 1000000] (got 1000000000000)"),
        "{e}"
    );
    let e = claims(&mut head, "\"hidden\":64", "\"hidden\":1000000");
    assert!(
        e.contains("it claims at least 39000004 parameters, which a file of "),
        "{e}"
    );
    let e = claims(
        &mut head,
        "\"in-dim\":34",
        "\"in-dim\":18446744073709551615",
    );
    assert!(e.contains("cannot hold"), "{e}");
}

#[cfg(unix)]
#[test]
fn an_external_model_with_an_endless_line_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("endless.sh");
    std::fs::write(
        &script,
        "read hello\nwhile :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n",
    )
    .unwrap();
    let e = refusal(&[
        "predict",
        "--external",
        &format!("sh {}", path(&script)),
        "--data",
        "karate",
    ]);
    assert!(
        e.contains("a line of more than 65600 bytes, longer than any valid response"),
        "{e}"
    );
}

#[test]
fn negative_numbers_are_refused_with_the_range() {
    let e = refusal(&[&QUICK[..], &["--lr", "-1"]].concat());
    assert!(e.contains("--lr must be > 0 (got -1)"), "{e}");
    let e = refusal(&[&QUICK[..5], &["--epochs", "-5"]].concat());
    assert!(
        e.contains("epochs") && !e.contains("unexpected argument"),
        "{e}"
    );
    let e = refusal(
        &[
            &QUICK[..],
            &["--checkpoint", "nowhere", "--checkpoint-every", "-1"],
        ]
        .concat(),
    );
    assert!(
        e.contains("--checkpoint-every must be a number of minutes >= 0 (got -1)"),
        "{e}"
    );
    for option in ["--seed", "--threads", "--runs", "--per-class"] {
        let e = refusal(&[&QUICK[..], &[option, "-1"]].concat());
        assert!(
            e.starts_with(&format!("error: invalid value '-1' for '{option} <")),
            "{e}"
        );
    }
}

/// Internal names contain an underscore or two colons.
#[test]
fn errors_have_no_internal_names() {
    let dir = tempfile::tempdir().unwrap();
    let edges = dir.path().join("edges.csv");
    std::fs::write(&edges, "0,1\n1,2\n2,0\n").unwrap();
    let (edges, folder) = (path(&edges).to_string(), path(dir.path()).to_string());
    std::fs::write(dir.path().join("labels.csv"), "a\nb\na\n").unwrap();
    std::fs::write(
        dir.path().join("splits.csv"),
        "node,part\n0,train\n0,test\n",
    )
    .unwrap();
    for args in [
        &["train", "--model", "gcn", "--data", &edges][..],
        &["train", "--model", "gcn", "--data", &folder],
        &["attack", "--model", "gcn", "--data", &edges],
        &["axes", "--model", "gcn", "--data", &edges],
        &["energy", "--data", &edges],
        &["centrality", "--data", "karate", "--kind", "walks:900"],
        &["centrality", "--data", &edges, "--kind", "walks:4000000000"],
    ] {
        let e = refusal(args).replace(&folder, "");
        assert!(!e.contains("::") && !e.contains('_'), "{args:?}: {e}");
    }
}

#[test]
fn binary_files_are_refused_as_graphs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("junk");
    let junk: Vec<u8> = (0..4096u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for (content, what) in [
        (&junk[..], "a text file is expected"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a text file is expected"),
        (b"some,words,that,are,no,edges\n", "no edge in it"),
        (b"alice\nbob\ncarol\n", "'u,v'"),
        (
            b"the quick brown fox jumps\nover the lazy dog\n",
            "4 fields, but the header has 5",
        ),
        (b"", "no edge in it"),
        (b"source,target\n", "no edge in it"),
    ] {
        std::fs::write(&file, content).unwrap();
        let e = refusal(&["centrality", "--kind", "degree", "--data", path(&file)]);
        assert!(
            e.contains(what),
            "{:?}: {e}",
            String::from_utf8_lossy(content)
        );
    }
}

#[test]
fn quoted_fields_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("edges.csv");
    std::fs::write(
        &file,
        "\"source\",\"target\"\n\"Doe, Jo\",\"ann\"\n\"ann\",\"bob\"\n",
    )
    .unwrap();
    let report = json(&["centrality", "--kind", "degree", "--data", path(&file)]);
    assert_eq!(report["nodes"], 3, "{report}");
    assert!(report.to_string().contains("Doe, Jo"));
}

/// Checks the split of docs/data.md: 60 / 20 / 20 % of the labelled nodes by the run's seed, or the
/// file's own splits.
#[test]
fn own_graphs_are_split_as_documented() {
    let docs =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data.md"))
            .unwrap();
    assert!(docs.contains("60 % to train on, 20 % to choose by, 20 % to test on"));
    let dir = tempfile::tempdir().unwrap();
    write_rings(dir.path(), &[("red", 0), ("blue", 1)], 15);
    let args = [
        "train",
        "--model",
        "gcn",
        "--epochs",
        "2",
        "--runs",
        "2",
        "--seed",
        "3",
        "--data",
        path(dir.path()),
    ];
    let report = json(&args);
    assert_eq!(
        [&report["runs"][0]["split"], &report["runs"][1]["split"]],
        ["fractions-0.6-0.2-seed-3", "fractions-0.6-0.2-seed-4"]
    );
    let evaluated: u64 = report["by_class"]["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["support"].as_u64().unwrap())
        .sum();
    assert_eq!(evaluated, 12, "a fifth of thirty nodes, twice");
    std::fs::write(
        dir.path().join("splits.csv"),
        "node,part\nred-1,train\nblue-1,train\nred-2,val\nblue-2,test\n",
    )
    .unwrap();
    let report = json(&args);
    assert_eq!(
        report["runs"][0]["split"], report["runs"][1]["split"],
        "its own"
    );
}

#[test]
fn one_run_has_no_standard_deviation() {
    let trained = text(&QUICK);
    assert!(
        trained.contains("test accuracy") && !trained.contains('±') && !trained.contains("inf"),
        "{trained}"
    );
    let attack = [
        "attack",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--epochs",
        "3",
        "--attack",
        "random-flips",
    ];
    let attacked = text(&attack);
    assert!(
        !attacked.contains("± 0.00") && !attacked.contains("± inf") && !attacked.contains("NaN"),
        "{attacked}"
    );
}

#[test]
fn generated_datasets_need_no_files() {
    for name in ["karate", "csbm", "sbbam"] {
        assert!(
            text(&["data", "info", name]).contains("it needs no files"),
            "{name}"
        );
    }
    let e = refusal(&["train", "--data", "karate", "--model", "gnc"]);
    assert!(e.contains("did you mean gcn"), "{e}");
}

#[test]
fn lines_of_the_table_list_are_short() {
    let list = text(&["reproduce", "list"]);
    let widest = list.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(
        widest <= 110 && list.lines().count() > 20,
        "{widest} columns"
    );
}

/// Returns the points of the lines of a picture.
fn polylines(svg: &Path) -> Vec<String> {
    let svg = std::fs::read_to_string(svg).unwrap();
    let lines = svg.split("<polyline").skip(1);
    lines
        .filter_map(|line| {
            Some(
                line.split_once("points=\"")?
                    .1
                    .split_once('"')?
                    .0
                    .to_string(),
            )
        })
        .collect()
}

#[test]
fn plots_sort_their_radii() {
    let dir = tempfile::tempdir().unwrap();
    let draw = |name: &str, epsilon: &str| {
        let stem = dir.path().join(name);
        let on = [
            "robustness",
            "--data",
            "karate",
            "--model",
            "gcn",
            "--epochs",
            "3",
            "--samples",
            "4",
        ];
        text(&[&on[..], &["--epsilon", epsilon, "--output", path(&stem)]].concat());
        stem.with_extension("svg")
    };
    let alone = std::fs::read_to_string(draw("alone", "0.5")).unwrap();
    assert_eq!(
        alone.matches("<circle").count(),
        4,
        "a dot for the mean and for each sigma"
    );
    let (sorted, unsorted) = (
        polylines(&draw("sorted", "0.5,1,2")),
        polylines(&draw("unsorted", "2,0.5,1")),
    );
    assert!(sorted.len() >= 4);
    assert_eq!(sorted, unsorted);
}

#[test]
fn energies_and_eigenvalues_are_plotted() {
    let dir = tempfile::tempdir().unwrap();
    let stem = dir.path().join("energy");
    let energy = [
        "energy",
        "--data",
        "karate",
        "--centrality",
        "degree",
        "--depth",
        "4",
        "--plot",
        path(&stem),
    ];
    assert!(text(&energy).contains("energy.svg"));
    assert!(
        polylines(&stem.with_extension("svg")).len() >= 2,
        "SGC and CSGC"
    );
    let stem = dir.path().join("spectrum");
    let spectrum = [
        "spectrum",
        "--data",
        "karate",
        "--centrality",
        "core",
        "--plot",
        path(&stem),
    ];
    assert!(text(&spectrum).contains("spectrum.svg"));
    assert!(
        polylines(&stem.with_extension("svg")).len() >= 8,
        "seven operators and M"
    );
    assert_eq!(
        names(dir.path()),
        ["energy.png", "energy.svg", "spectrum.png", "spectrum.svg"]
    );
}
