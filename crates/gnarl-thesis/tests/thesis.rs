//! A toy table from plan to report, on graphs that need no files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

use gnarl::augment::density::{Copula, Density, Shared, Shrunken, Variational};
use gnarl::augment::{Copies, Corruption, GMixup, SubMix};
use gnarl::model::{FitOptions, TrainingCorruption};
use gnarl::prelude::*;
use gnarl::study::train::TrainStudy;
use gnarl_data::Task;
use gnarl_nn::train::Callbacks;
use gnarl_thesis::cell::CellConfig;
use gnarl_thesis::kept::StoredResults;
use gnarl_thesis::report::{CellReport, RowReport, Status, Thesis};
use gnarl_thesis::work::Work;
use gnarl_thesis::{
    Baseline, Figure, Progress, Recipe, Report, Row, RunnerCallbacks, Settings, Shard, Table,
    dry_run, reproduce, reproduce_all, tables, with_stored,
};

/// Accuracy of a model on the test nodes or graphs, in per cent.
fn test_accuracy(fitted: &Fitted, on: &SplitData) -> f64 {
    let predictions = fitted.predict(&on.content).unwrap();
    fitted
        .accuracy_on(&predictions, &on.content, on.split.test())
        .unwrap()
        .unwrap()
}

/// Gives a table the lifetime of the tests, like the thesis' tables.
fn kept(table: Table) -> &'static Table {
    Box::leak(Box::new(table))
}

static TOY: LazyLock<Table> = LazyLock::new(|| {
    let text = r#"
        name = "toy:tab:two_models"
        title = "Two models on two graphs"
        section = "tests"
        columns = ["karate", "Cora", "csbm"]
        notes = ["a toy"]
        baseline.row = "MLP"

        [[rows]]
        label = "MLP"
        spec.node-classification.backbone = "mlp"
        figures = ["50.0 ± 1.0", "60.0 ± 1.0", "OOM"]

        [[rows]]
        label = "GCN w/ A_hat"
        spec.node-classification = { backbone = "gcn", operator = "A_hat" }
        figures = ["100.0 ± 0.0", "81.0 ± 1.0", "20.0 ± 1.0"]
    "#;
    Table::from_toml(text).unwrap()
});

static FACTS: LazyLock<Table> = LazyLock::new(|| {
    let text = r#"
        name = "toy:tab:facts"
        title = "Facts"
        section = "tests"
        columns = ["karate"]

        [[rows]]
        label = "degree"
        spec.property = "mean-degree"
        figures = ["4.58"]

        [[rows]]
        label = "core"
        spec.property = "mean-core"
        figures = ["3.5"]
    "#;
    Table::from_toml(text).unwrap()
});

fn settings(out: &Path) -> Settings {
    Settings {
        runs: 3,
        ..Settings::new(out.join("no-data"), out.to_path_buf())
    }
}

/// Runs to the end and returns the progress after every cell.
fn run(table: &'static Table, settings: &Settings) -> (Report, Vec<Progress>) {
    let told = Mutex::new(Vec::new());
    let watch = RunnerCallbacks {
        on_cell: &|p| told.lock().unwrap().push(*p),
        stop: &AtomicBool::new(false),
    };
    let report = reproduce(table, settings, &watch).unwrap();
    (report, told.into_inner().unwrap())
}

fn table(name: &str) -> &'static Table {
    tables::find(name).unwrap()
}

fn cell_files(out: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(out.join("cells"))
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn a_table_from_end_to_end() {
    let dir = tempfile::tempdir().unwrap();
    let (report, told) = run(&TOY, &settings(dir.path()));
    assert_eq!(
        (report.runs, report.fewer_runs, report.interrupted),
        (Some(3), true, false)
    );
    assert_eq!(
        (
            report.cells,
            report.cells_stored,
            cell_files(dir.path()).len()
        ),
        (6, 4, 4)
    );
    assert_eq!(
        told[0],
        Progress {
            done: 0,
            total: 6,
            reused: 0,
            stale: 0,
            seconds_left: None
        }
    );
    assert_eq!(told.len(), 7);
    let last = told.iter().max_by_key(|p| p.done).unwrap();
    assert_eq!((last.done, last.seconds_left), (6, Some(0.0)));

    let [mlp, gcn] = &report.rows[..] else {
        panic!("{report:?}")
    };
    for row in [mlp, gcn] {
        let hole = &row.cells[1];
        assert_eq!((hole.status, hole.dataset.as_str()), (Status::Hole, "cora"));
        assert_eq!(
            hole.message.as_deref(),
            Some("not in the data folder; gnarl data get cora")
        );
        assert!(hole.difference.is_none() && hole.pairs.iter().all(|pair| pair.paired.is_none()));
    }
    assert_eq!(mlp.cells[2].thesis, Thesis::OutOfMemory);
    assert!(mlp.cells[2].difference.is_none() && mlp.cells[2].pairs.is_empty());
    let on_csbm = gcn.cells[2].ours.as_ref().unwrap();
    assert_eq!(
        (
            on_csbm.runs.len(),
            on_csbm.splits.len(),
            on_csbm.curve.len()
        ),
        (3, 3, 200)
    );
    let difference = gcn.cells[2].difference.unwrap();
    assert!(
        (difference.mean - (on_csbm.mean - 20.0)).abs() < 1e-12 && difference.is_clear,
        "{difference:?}"
    );
    let paired = gcn.cells[2].minus("MLP").unwrap().paired.unwrap();
    let mlp_runs = &mlp.cells[2].ours.as_ref().unwrap().runs;
    let by_hand = on_csbm
        .runs
        .iter()
        .zip(mlp_runs)
        .map(|(a, b)| a - b)
        .sum::<f64>()
        / 3.0;
    assert!(
        (paired.mean - by_hand).abs() < 1e-12 && paired.mean > 20.0 && paired.is_clear,
        "{paired:?}"
    );
}

#[test]
fn a_cell_is_the_result_of_fitting() {
    let dir = tempfile::tempdir().unwrap();
    let only = Settings {
        columns: vec!["karate".into()],
        rows: Some("a_HAT".into()),
        seed: 4,
        ..settings(dir.path())
    };
    let (report, _) = run(&TOY, &only);
    assert_eq!(
        (
            report.cells,
            report.columns.len(),
            report.rows.len(),
            report.baseline
        ),
        (1, 1, 1, None)
    );
    let karate = Dataset::load("karate").unwrap().benchmark(4, 3).unwrap();
    let model = Model::new(Backbone::GCN).operator(ClassicalOperator::NORMALISED_ADJACENCY);
    let model = Recipe::Thesis.fill(model, "karate", Task::Node);
    for i in 0..3 {
        let on = karate.split(i);
        let alone = test_accuracy(&model.fit(&on, 4 + i as u64).unwrap(), &on);
        let in_table = report.rows[0].cells[0].ours.as_ref().unwrap().runs[i];
        assert!(
            (in_table - alone).abs() < 1e-9,
            "run {i}: {in_table} against {alone}"
        );
    }
}

#[test]
fn an_interrupted_run_continues_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let quick = Settings {
        runs: 1,
        ..settings(dir.path())
    };
    let stop = AtomicBool::new(false);
    let after_one = |p: &Progress| stop.store(p.done > 0, Ordering::Relaxed);
    // One worker, so that the second cell has not begun when the first ends.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let report = pool.install(|| {
        reproduce(
            &TOY,
            &quick,
            &RunnerCallbacks {
                on_cell: &after_one,
                stop: &stop,
            },
        )
        .unwrap()
    });
    assert!(report.interrupted);
    assert_eq!((report.cells_stored, report.cells), (1, 6));
    let files = cell_files(dir.path());
    assert_eq!(files.len(), 1, "whole cells, no temporary files");

    // A mark in the stored cell shows that it is read, not run again.
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let mut kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    kept["measured"]["values"] = serde_json::json!([12.5]);
    std::fs::write(&files[0], kept.to_string()).unwrap();
    let (continued, told) = run(&TOY, &quick);
    assert_eq!((told[0].done, told[0].reused), (1, 1));
    assert_eq!((continued.cells_stored, continued.interrupted), (4, false));
    assert_eq!(
        continued.rows[0].cells[0].ours.as_ref().unwrap().runs,
        [12.5]
    );

    // The report of one run and that of stored cells are equal to the last bit.
    let again = run(&TOY, &quick).0;
    assert_eq!(again.csv(), continued.csv());

    // Another number of runs is another configuration.
    let (other, told) = run(
        &TOY,
        &Settings {
            runs: 2,
            columns: vec!["karate".into()],
            ..quick
        },
    );
    assert_eq!(told[0].reused, 0);
    assert_eq!(other.rows[0].cells[0].ours.as_ref().unwrap().runs.len(), 2);
}

#[test]
fn cells_of_other_selections_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let quick = Settings {
        runs: 1,
        ..settings(dir.path())
    };
    let karate = Settings {
        columns: vec!["karate".into()],
        ..quick.clone()
    };
    let alone = run(&TOY, &karate).0;
    assert_eq!(
        with_stored(&TOY, &karate, &alone).unwrap().csv(),
        alone.csv(),
        "nothing else is kept yet"
    );

    // Another column, one row of it: the first column stays, with its paired difference; the cell
    // that was not selected is reported as such.
    let csbm = Settings {
        columns: vec!["csbm".into()],
        rows: Some("MLP".into()),
        ..quick.clone()
    };
    let whole = with_stored(&TOY, &csbm, &run(&TOY, &csbm).0).unwrap();
    assert_eq!(
        (&whole.columns[..], whole.cells, whole.cells_stored),
        (&["karate", "csbm"][..], 4, 3)
    );
    assert!(!whole.interrupted);
    assert_eq!(whole.rows[1].cells[0].ours, alone.rows[1].cells[0].ours);
    assert_eq!(whole.rows[1].cells[0].pairs, alone.rows[1].cells[0].pairs);
    assert_eq!(whole.rows[1].cells[1].status, Status::NotRun);

    // A hole of this selection is stored as one, an earlier recipe stands below, and other runs are
    // other cells.
    let cora = Settings {
        columns: vec!["cora".into()],
        recipes: vec![Recipe::Default],
        ..quick.clone()
    };
    let whole = with_stored(&TOY, &cora, &run(&TOY, &cora).0).unwrap();
    assert_eq!(
        whole.recipes(),
        [Some(Recipe::Default), Some(Recipe::Thesis)]
    );
    assert_eq!(
        (whole.columns.len(), whole.cells, whole.cells_stored),
        (3, 12, 3)
    );
    assert_eq!(whole.rows[0].cells[1].status, Status::Hole);
    let twice = Settings { runs: 2, ..karate };
    assert_eq!(
        with_stored(&TOY, &twice, &run(&TOY, &twice).0)
            .unwrap()
            .columns,
        ["karate"]
    );
}

#[test]
fn a_failed_cell_keeps_its_message() {
    let broken = kept(Table {
        columns: vec!["MUTAG".into(), "karate".into()],
        rows: vec![Row {
            figures: vec![Figure::OutOfMemory; 2],
            ..FACTS.rows[0].clone()
        }],
        baseline: Baseline::default(),
        ..TOY.clone()
    });
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("no-data/tu/MUTAG");
    std::fs::create_dir_all(&folder).unwrap();
    for part in ["A", "graph_indicator", "graph_labels", "node_labels"] {
        std::fs::write(folder.join(format!("MUTAG_{part}.txt")), "nonsense\n").unwrap();
    }
    let (report, _) = run(broken, &settings(dir.path()));
    let [wrong, right] = &report.rows[0].cells[..] else {
        panic!("{report:?}")
    };
    assert_eq!(
        (wrong.status, right.status),
        (Status::Failed, Status::Measured)
    );
    assert!(
        wrong.message.as_ref().unwrap().contains("nonsense"),
        "{wrong:?}"
    );
    assert_eq!(
        cell_files(dir.path()).len(),
        1,
        "a failure is not kept: the next run tries again"
    );
}

#[test]
fn several_recipes_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let recipes = vec![Recipe::Thesis, Recipe::Default];
    let (report, _) = run(
        &TOY,
        &Settings {
            runs: 2,
            recipes,
            columns: vec!["KARATE".into()],
            ..settings(dir.path())
        },
    );
    assert_eq!(
        report.recipes(),
        [Some(Recipe::Thesis), Some(Recipe::Default)]
    );
    assert_eq!((report.rows.len(), report.cells), (4, 4));
    let labels: Vec<&str> = report
        .rows_of(Some(Recipe::Default))
        .map(|row| row.label)
        .collect();
    assert_eq!(labels, ["MLP", "GCN w/ A_hat"]);
    assert_ne!(
        report.rows[0].cells[0].config,
        report.rows[2].cells[0].config
    );
}

#[test]
fn values_without_deviation_are_compared_to_their_last_digit() {
    let dir = tempfile::tempdir().unwrap();
    let (report, _) = run(&FACTS, &settings(dir.path()));
    assert_eq!(
        (report.runs, report.fewer_runs, report.recipes()),
        (None, false, vec![None])
    );
    let [degree, core] = &report.rows[..] else {
        panic!("{report:?}")
    };
    assert!((degree.cells[0].ours.as_ref().unwrap().mean - 156.0 / 34.0).abs() < 1e-12);
    assert!(
        !degree.cells[0].difference.unwrap().is_clear,
        "4.588 is printed as 4.58"
    );
    assert!(
        core.cells[0].difference.unwrap().is_clear,
        "2.91 is not 3.5"
    );
}

#[test]
fn csv_and_json_agree() {
    let dir = tempfile::tempdir().unwrap();
    let (report, _) = run(
        &TOY,
        &Settings {
            runs: 2,
            ..settings(dir.path())
        },
    );
    let csv = report.csv();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 7);
    assert!(
        lines.iter().all(|fields| fields.len() == lines[0].len()),
        "{csv}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    let at = |name: &str| lines[0].iter().position(|field| *field == name).unwrap();
    for (i, line) in lines[1..].iter().enumerate() {
        let (row, column) = (&json["rows"][i / 3], i % 3);
        let cell = &row["cells"][column];
        assert_eq!(line[at("row")], row["label"]);
        assert_eq!(line[at("dataset")], cell["dataset"]);
        assert_eq!(line[at("status")], cell["status"]);
        // The JSON reader may be off by the last bit.
        let same = |text: &str, value: &serde_json::Value| match (
            text.parse::<f64>().ok(),
            value.as_f64(),
        ) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12 * a.abs().max(1.0),
            (a, b) => a == b,
        };
        assert!(same(line[at("mean")], &cell["ours"]["mean"]), "{line:?}");
        assert!(
            same(
                line[at("paired_difference")],
                &cell["pairs"][0]["paired"]["mean"]
            ),
            "{line:?}"
        );
    }
    assert!(csv.contains(",OOM,"), "{csv}");
}

#[test]
fn invalid_settings_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let watch = RunnerCallbacks {
        on_cell: &|_| (),
        stop: &stop,
    };
    let fail = |table: &'static Table, settings: Settings| {
        reproduce(table, &settings, &watch).unwrap_err().to_string()
    };
    let base = || settings(dir.path());
    let e = fail(
        &TOY,
        Settings {
            columns: vec!["karat".into()],
            ..base()
        },
    );
    assert_eq!(e, "unknown column 'karat'; did you mean karate?");
    let e = fail(
        &TOY,
        Settings {
            rows: Some("GIN".into()),
            ..base()
        },
    );
    assert!(
        e.contains("no row of toy:tab:two_models has 'gin' in it; there are MLP, GCN w/ A_hat"),
        "{e}"
    );
    let e = fail(&TOY, Settings { runs: 0, ..base() });
    assert!(e.contains("at least one of each"), "{e}");
    let e = fail(
        kept(Table {
            columns: vec!["karate".into()],
            ..TOY.clone()
        }),
        base(),
    );
    assert!(e.contains("MLP has 3 figures for 1 columns"), "{e}");
    std::fs::write(dir.path().join("file"), "").unwrap();
    let e = fail(
        &TOY,
        Settings {
            out: dir.path().join("file"),
            ..base()
        },
    );
    assert!(e.contains("file"), "{e}");
}

#[test]
fn reports_do_not_depend_on_the_number_of_threads() {
    let figures = |threads| {
        let dir = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let settings = Settings {
            runs: 2,
            columns: vec!["karate".into()],
            ..settings(dir.path())
        };
        let report = pool.install(|| run(&TOY, &settings).0);
        let runs = |row: &RowReport| row.cells[0].ours.as_ref().unwrap().runs.clone();
        report.rows.iter().map(runs).collect::<Vec<_>>()
    };
    assert_eq!(figures(1), figures(2));
}

#[test]
fn the_best_depth_is_chosen_on_test_and_on_validation() {
    let text = r#"
        name = "toy:tab:depths"
        title = "Depths"
        section = "tests"
        columns = ["karate"]

        [[rows]]
        label = "JK"
        spec.best-depth.backbone = "jk-max"
        figures = ["90.0 ± 1.0"]
    "#;
    let depths = kept(Table::from_toml(text).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let (report, _) = run(depths, &settings(dir.path()));
    let ours = report.rows[0].cells[0].ours.as_ref().unwrap();
    let [on_test, on_validation] = &ours.parts[..] else {
        panic!("{ours:?}")
    };
    assert!(
        on_test.name.starts_with("on test [") && on_validation.name.starts_with("on validation ["),
        "{ours:?}"
    );
    assert_eq!(on_test.runs, ours.runs);
    assert!(on_test.mean >= on_validation.mean, "{ours:?}");
    // The figure is that of the network with so many layers, trained separately.
    let depth: usize = on_test.name[9..10].parse().unwrap();
    let model = Recipe::Thesis.fill_chapter_4(Model::new(Backbone::JK_MAX).layers(depth), "karate");
    assert_eq!(
        (model.training.schedule, model.training.keep),
        (None, Some(gnarl_nn::train::Keep::Last))
    );
    let karate = Dataset::load("karate").unwrap().benchmark(0, 3).unwrap();
    let alone = TrainStudy {
        runs: 3,
        ..TrainStudy::new(model)
    }
    .run(&karate, &Callbacks::quiet())
    .unwrap();
    assert_eq!(alone.over(|run| run.test_accuracy).unwrap(), ours.runs);
    let csv = report.csv();
    let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(widths, [20, 20, 20, 20], "{csv}");
    assert!(
        csv.contains(&format!(
            "JK: {},thesis,karate,karate,measured,3,",
            on_validation.name
        )),
        "{csv}"
    );
}

/// Noise on the features of a generated graph, with and without RobustCRF: five rows that show what
/// one cell found.
static ATTACKED: LazyLock<Table> = LazyLock::new(|| {
    let row = |label: &str, measure: &str, figures: &str| {
        format!(
            r#"
            [[rows]]
            label = "{label}"
            spec.attacked.subject = {{ backbone = "gcn", chapter = "thesis-ch6" }}
            spec.attacked.threat.attack = {{ kind = "gaussian", budget = 0.5 }}
            spec.attacked.threat.inference = "robust-crf"
            spec.attacked.measure = {measure}
            figures = ["{figures}"]
            "#
        )
    };
    let head = r#"
        name = "toy:tab:attacked"
        title = "A model under attack"
        section = "tests"
        columns = ["csbm"]
        baseline.pairs = [
            ["clean: GCN w/ RobustCRF", "clean: GCN"],
            ["noise: GCN w/ RobustCRF", "noise: GCN"],
        ]
    "#;
    let rows = [
        row("clean: GCN", r#"{ clean = "bare" }"#, "90.0 ± 1.0"),
        row(
            "clean: GCN w/ RobustCRF",
            r#"{ clean = "defended" }"#,
            "91.0 ± 2.0",
        ),
        row("noise: GCN", r#"{ attacked = "bare" }"#, "50.0 ± 3.0"),
        row(
            "noise: GCN w/ RobustCRF",
            r#"{ attacked = "defended" }"#,
            "60.0 ± 4.0",
        ),
        row("time: GCN", r#""training-seconds""#, "-"),
    ];
    Table::from_toml(&format!("{head}{}", rows.concat())).unwrap()
});

/// Returns the results of the runs in a row's first cell.
fn runs_of(report: &Report, label: &str) -> Vec<f64> {
    cell_of(report, label).ours.as_ref().unwrap().runs.clone()
}

/// Asserts that a paired difference is the mean over runs of the differences between two rows.
#[track_caller]
fn assert_paired(report: &Report, label: &str, baseline: &str) {
    let (runs, others) = (runs_of(report, label), runs_of(report, baseline));
    let sum: f64 = runs.iter().zip(others).map(|(a, b)| a - b).sum();
    let pair = cell_of(report, label).minus(baseline).unwrap();
    assert!(
        (pair.paired.as_ref().unwrap().mean - sum / runs.len() as f64).abs() < 1e-12,
        "{pair:?}"
    );
}

#[test]
fn a_model_is_attacked_from_end_to_end() {
    let dir = tempfile::tempdir().unwrap();
    let (report, _) = run(&ATTACKED, &settings(dir.path()));
    assert_eq!(
        cell_files(dir.path()).len(),
        1,
        "five rows show what was found in one cell"
    );
    assert_eq!(
        (
            report.cells,
            report.cells_stored,
            report.interrupted,
            report.baseline
        ),
        (5, 5, false, None)
    );
    let mean = |label: &str| cell_of(&report, label).ours.as_ref().unwrap().mean;
    assert!(mean("noise: GCN") < mean("clean: GCN") - 5.0, "{report:?}");

    // Before the attack it is the model of a separate training.
    let csbm = Dataset::load("csbm").unwrap().benchmark(0, 3).unwrap();
    let model = Recipe::ThesisCh6.fill(Model::new(Backbone::GCN), "csbm", Task::Node);
    let alone = TrainStudy {
        runs: 3,
        ..TrainStudy::new(model)
    }
    .run(&csbm, &Callbacks::quiet())
    .unwrap();
    let alone = alone.over(|run| run.test_accuracy).unwrap();
    assert_eq!(runs_of(&report, "clean: GCN"), alone);

    // Predictions for the same inputs are paired, and shown next to the thesis' difference: 10,
    // with variance (9 + 16) / 10.
    assert_paired(&report, "noise: GCN w/ RobustCRF", "noise: GCN");
    let cell = cell_of(&report, "noise: GCN w/ RobustCRF");
    let claimed = cell.minus("noise: GCN").unwrap().claimed.unwrap();
    assert!(
        (claimed.mean - 10.0).abs() < 1e-12 && claimed.is_clear,
        "{claimed:?}"
    );
    assert!(
        (claimed.standard_error.unwrap() - 2.5f64.sqrt()).abs() < 1e-12,
        "{claimed:?}"
    );
    for label in ["noise: GCN", "time: GCN"] {
        assert!(cell_of(&report, label).pairs.is_empty(), "{label}");
    }

    let time = cell_of(&report, "time: GCN").ours.as_ref().unwrap();
    assert_eq!(time.parts[0].name, "ms an epoch");
    assert!((time.mean - time.parts[0].mean * 300.0 / 1000.0).abs() < 1e-9 && time.mean > 0.0);

    let (again, told) = run(&ATTACKED, &settings(dir.path()));
    assert_eq!(told.len(), 1, "nothing is run again");
    assert_eq!(again.csv(), report.csv());
    let stored = with_stored(&ATTACKED, &settings(dir.path()), &again).unwrap();
    assert_eq!(stored.csv(), report.csv());
}

/// Writes `count` cycles and stars in the place of a set of the registry.
fn write_set(data: &Path, name: &str, count: usize) {
    use std::fmt::Write;
    let folder = data.join("tu").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(data.join("tu/splits")).unwrap();
    let [mut arcs, mut indicator, mut labels, mut nodes] = [const { String::new() }; 4];
    let mut first = 1;
    for g in 0..count {
        let (n, is_cycle) = (4 + g % 5, 2 * g < count);
        for u in 0..n {
            let other = if is_cycle { (u + 1) % n } else { 0 };
            if u != other {
                writeln!(
                    arcs,
                    "{}, {}\n{}, {}",
                    first + u,
                    first + other,
                    first + other,
                    first + u
                )
                .unwrap();
            }
            writeln!(indicator, "{}", g + 1).unwrap();
            writeln!(nodes, "{}", (u * u + g) % 3).unwrap();
        }
        // Every third is of the other class, so that no model is always correct.
        writeln!(
            labels,
            "{}",
            if is_cycle != g.is_multiple_of(3) {
                1
            } else {
                -1
            }
        )
        .unwrap();
        first += n;
    }
    let write = |part: &str, text: &str| {
        std::fs::write(folder.join(format!("{name}_{part}.txt")), text).unwrap()
    };
    for (part, text) in [
        ("A", arcs),
        ("graph_indicator", indicator),
        ("graph_labels", labels),
    ] {
        write(part, &text);
    }
    if name == "MUTAG" {
        write("node_labels", &nodes);
    }
    std::fs::write(data.join(format!("tu/splits/{name}_splits.json")), "[]").unwrap();
}

/// Two folds of a printed table, on sets of 40 graphs.
fn on_sets(dir: &Path, column: &str) -> Settings {
    let data_dir = dir.join("data");
    write_set(&data_dir, "MUTAG", 40);
    write_set(&data_dir, "IMDB-BINARY", 40);
    Settings {
        runs: 2,
        seed: 3,
        columns: vec![column.into()],
        ..Settings::new(data_dir, dir.to_path_buf())
    }
}

/// The result of the study for these settings, fold by fold.
fn by_study(
    settings: &Settings,
    model: Model,
    inits: usize,
    corruption: Option<TrainingCorruption>,
) -> Vec<f64> {
    let loaded = Dataset::load_from(&settings.columns[0], &settings.data_dir).unwrap();
    let model = settings.recipes[0].fill(model, &loaded.name, Task::Graph);
    let options = FitOptions {
        corruption,
        corruption_seed: settings.seed,
        ..FitOptions::default()
    };
    let study = TrainStudy {
        inits,
        seed: settings.seed,
        options,
        ..TrainStudy::new(model)
    };
    let folds = loaded.benchmark(settings.seed, settings.runs).unwrap();
    study
        .run(&folds, &Callbacks::quiet())
        .unwrap()
        .over(|run| run.test_accuracy)
        .unwrap()
}

fn gcn_with(augment: Augment) -> Model {
    Model::new(Backbone::GCN).augment(augment)
}

fn gratin_from(density: Density) -> Augment {
    let gratin = Gratin {
        density,
        ..Gratin::default()
    };
    gratin.into()
}

fn cell_of<'a>(report: &'a Report, label: &str) -> &'a CellReport {
    &report
        .rows
        .iter()
        .find(|row| row.label == label)
        .unwrap()
        .cells[0]
}

/// Checks a row's mean difference to a baseline over two folds.
fn check_minus(report: &Report, label: &str, baseline: &str) {
    let by_hand: f64 = runs_of(report, label)
        .iter()
        .zip(runs_of(report, baseline))
        .map(|(a, b)| a - b)
        .sum();
    let pair = cell_of(report, label).minus(baseline).unwrap();
    assert!(
        (pair.paired.unwrap().mean - by_hand / 2.0).abs() < 1e-12,
        "{pair:?}"
    );
}

#[test]
fn a_cell_of_graphs_is_the_result_of_the_study() {
    let dir = tempfile::tempdir().unwrap();
    let settings = on_sets(dir.path(), "mutag");
    let (report, told) = run(table("results_gcn"), &settings);
    assert_eq!((report.cells, report.cells_stored, told.len()), (8, 8, 9));
    let rows = [
        ("No Aug.", Augment::default()),
        ("DropEdge", DropEdge::default().into()),
        ("SubMix", SubMix::default().into()),
        ("G-Mixup", GMixup::default().into()),
        ("retrain (ours)", Retrain::default().into()),
        ("GRATIN", Gratin::default().into()),
    ];
    for (label, augment) in rows {
        assert_eq!(
            runs_of(&report, label),
            by_study(&settings, gcn_with(augment), 3, None),
            "{label}"
        );
    }
    assert!(
        rows.iter()
            .any(|(label, _)| runs_of(&report, label) != runs_of(&report, "No Aug.")),
        "nothing tells rows apart"
    );
    check_minus(&report, "GRATIN", "No Aug.");
    check_minus(&report, "GRATIN", "retrain (ours)");
    let gratin = cell_of(&report, "GRATIN");
    assert_paired(&report, "GRATIN", "No Aug.");
    let claimed = gratin.minus("No Aug.").unwrap().claimed.unwrap();
    assert!((claimed.mean - (76.05 - 73.92)).abs() < 1e-9);
    assert_paired(&report, "GRATIN", "retrain (ours)");
    let minus_retrain = gratin.minus("retrain (ours)").unwrap();
    assert_eq!(minus_retrain.claimed, None, "the thesis has no such row");
    let ours = |label: &str| cell_of(&report, label).ours.as_ref().unwrap();
    assert_eq!(ours("GRATIN").splits.len(), 2, "a fold counts once");
    assert_eq!(ours("No Aug.").curve.len(), 300);

    assert_cells_of_other_tables(&settings, &report);
}

/// Asserts that two other tables take the cells that they share with `results_gcn`, and run the
/// rest.
fn assert_cells_of_other_tables(settings: &Settings, report: &Report) {
    // Another table with the same cell finds it, and runs one copy in addition to each graph.
    let (fixed, told) = run(table("results_gcn_classic_baselines"), settings);
    assert_eq!((told[0].reused, fixed.cells_stored), (1, 4));
    let one = DropEdge {
        copies: Copies::Fixed,
        ..DropEdge::default()
    };
    let one = by_study(settings, gcn_with(one.into()), 3, None);
    assert_eq!(runs_of(&fixed, "DropEdge"), one);
    assert!(
        run(table("results_gcn"), settings).1.len() == 1,
        "nothing is run again"
    );

    // The densities of GRATIN: the cells of the mixture and of the control exist already, the
    // Gaussians' cell comes from the study.
    let (densities, told) = run(table("ablation_GCN"), settings);
    assert_eq!(
        (densities.cells, densities.cells_stored, told.len()),
        (8, 8, 7)
    );
    assert_eq!(runs_of(&densities, "GMM w/ EM"), runs_of(report, "GRATIN"));
    for (label, density) in [
        ("GMM w/ VBI", Density::Variational(Variational::DEFAULT)),
        ("Copula", Density::Copula(Copula {})),
        (
            "one Gaussian, shrunken (ours)",
            Density::Shrunken(Shrunken {}),
        ),
        (
            "one Gaussian, shared covariance (ours)",
            Density::Shared(Shared {}),
        ),
    ] {
        let alone = by_study(settings, gcn_with(gratin_from(density)), 3, None);
        assert_eq!(runs_of(&densities, label), alone, "{label}");
        let pair = cell_of(&densities, label).minus("retrain (ours)").unwrap();
        assert!(
            pair.paired.is_some() && pair.claimed.is_none(),
            "{pair:?}: the thesis has no such control"
        );
    }
}

/// One initialisation on graphs whose edges are corrupted, with and without noise.
#[test]
fn a_cell_of_corrupted_graphs_is_the_result_of_the_study() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        rows: Some("20 %".into()),
        ..on_sets(dir.path(), "imdb-binary")
    };
    let report = run(table("results_structure_corr"), &settings).0;
    let corruption = Some(TrainingCorruption {
        edges: Corruption::new(0.2).unwrap(),
        keep_degrees: false,
    });
    let plain = Model::new(Backbone::GCN);
    assert_eq!(
        runs_of(&report, "20 %: No Aug. (ours)"),
        by_study(&settings, plain, 1, corruption)
    );
    let mut noisy = plain;
    noisy.network.noise = Some(0.1);
    let noisy = by_study(&settings, noisy, 1, corruption);
    assert_eq!(runs_of(&report, "20 %: NoisyGNN"), noisy);
    assert!(
        cell_of(&report, "20 %: NoisyGNN")
            .minus("20 %: No Aug. (ours)")
            .unwrap()
            .paired
            .is_some()
    );
    for baseline in ["20 %: No Aug. (ours)", "20 %: retrain (ours)"] {
        assert_paired(&report, "20 %: GRATIN", baseline);
    }
}

#[test]
fn times_of_graph_classification_come_from_its_runs() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        runs: 1,
        ..on_sets(dir.path(), "mutag")
    };
    let report = run(table("complexity"), &settings).0;
    // Vanilla, and seven augmentations whose two rows share a cell.
    assert_eq!((report.cells_stored, cell_files(dir.path()).len()), (15, 8));
    let ours = |label: &str| cell_of(&report, label).ours.as_ref().unwrap();
    let total = |label: &str| {
        ours(label)
            .parts
            .first()
            .map_or(ours(label).mean, |part| part.mean)
    };
    for name in [
        "DropEdge",
        "DropNode",
        "SubMix",
        "G-Mixup",
        "GeoMix",
        "retrain (ours)",
        "GRATIN",
    ] {
        let [once, all] = [
            ours(&format!("augmentation, s: {name}")).mean,
            total(&format!("augmentation, s: {name}")),
        ];
        let training = ours(&format!("training, s: {name}")).mean;
        assert!(
            0.0 < once && once <= all && all < training,
            "{name}: {once}, {all} of {training}"
        );
    }
    let drop_edge = ours("augmentation, s: DropEdge");
    assert_eq!(drop_edge.parts[0].name, "in all epochs");
    assert!(
        (drop_edge.parts[0].mean / drop_edge.mean - 301.0).abs() < 1e-6,
        "before the first epoch and in each of 300"
    );
    assert!(
        ours("augmentation, s: GRATIN").parts.is_empty(),
        "vectors are drawn once"
    );
    let gratin = cell_of(&report, "training, s: GRATIN")
        .minus("training, s: Vanilla")
        .unwrap();
    assert!(gratin.paired.is_some());
    assert!(
        (gratin.claimed.unwrap().mean - 2.24).abs() < 1e-9,
        "101.56 s and 99.32 s in the thesis"
    );
    let drawing = cell_of(&report, "augmentation, s: GRATIN")
        .minus("augmentation, s: retrain (ours)")
        .unwrap();
    assert!(
        drawing.paired.is_some() && drawing.claimed.is_none(),
        "{drawing:?}"
    );

    // The same runs, one by one: the cell's own figure is the accuracy in the other table.
    let accuracy = run(
        table("results_gcn"),
        &Settings {
            rows: Some("DropEdge".into()),
            ..settings
        },
    )
    .0;
    let accuracy = &cell_of(&accuracy, "DropEdge").ours.as_ref().unwrap().runs;
    let timed = cell_files(dir.path())
        .into_iter()
        .map(|file| std::fs::read_to_string(file).unwrap());
    let timed: Vec<serde_json::Value> = timed
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect();
    let of_drop_edge = timed
        .iter()
        .filter(|cell| cell["config"]["work"]["graphs"]["model"]["augment"]["kind"] == "dropedge");
    let values: Vec<f64> = of_drop_edge
        .map(|cell| cell["measured"]["values"][0].as_f64().unwrap())
        .collect();
    assert_eq!(values, [accuracy[0], accuracy[0]]);
}

#[test]
fn folds_are_ten_at_most_and_sets_have_properties() {
    let cell = |runs, dataset: &str| {
        let config = CellConfig::new(
            table("results_gcn").rows[0].spec,
            dataset,
            Recipe::Thesis,
            runs,
            0,
        )
        .unwrap();
        let Work::Graphs(runs) = config.work else {
            panic!("a classifier of graphs")
        };
        (runs.runs, runs.more.inits)
    };
    assert_eq!(
        [cell(25, "MUTAG"), cell(3, "MUTAG"), cell(10, "DD")],
        [(10, 3), (3, 3), (10, 1)]
    );

    let dir = tempfile::tempdir().unwrap();
    for (column, expected) in [
        // Forty graphs of 4 to 8 nodes: cycles with as many edges as nodes, stars with one less.
        ("MUTAG", [40.0, 3.0, 6.0, 5.5, 2.0]),
        ("IMDB-BINARY", [40.0, 0.0, 6.0, 5.5, 2.0]),
    ] {
        let report = run(table("data_statistics"), &on_sets(dir.path(), column)).0;
        let found: Vec<f64> = report
            .rows
            .iter()
            .map(|row| row.cells[0].ours.as_ref().unwrap().mean)
            .collect();
        assert_eq!(found, expected, "{column}");
        assert_eq!((report.runs, report.recipes()), (None, vec![None]));
    }
}

#[test]
fn a_stopped_cell_of_graphs_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        rows: Some("GRATIN".into()),
        ..on_sets(dir.path(), "mutag")
    };
    let watch = RunnerCallbacks {
        on_cell: &|_| (),
        stop: &AtomicBool::new(true),
    };
    let report = reproduce(table("results_gcn"), &settings, &watch).unwrap();
    assert!(report.interrupted && report.cells_stored == 0 && cell_files(dir.path()).is_empty());
}

/// Two runs of the tables' column `karate`, with results in a folder of their own.
fn on_karate(dir: &Path, out: &str) -> Settings {
    Settings {
        runs: 2,
        columns: vec!["karate".into()],
        ..settings(&dir.join(out))
    }
}

/// Returns the runs of every row's first cell.
fn runs_of_rows(report: &Report) -> Vec<Vec<f64>> {
    let rows = report.rows.iter();
    rows.map(|row| row.cells[0].ours.clone().unwrap().runs)
        .collect()
}

#[test]
fn tables_share_cells_and_shards_give_the_same_results() {
    let dir = tempfile::tempdir().unwrap();
    let one = on_karate(dir.path(), "one");
    let told = Mutex::new(Vec::new());
    let watch = RunnerCallbacks {
        on_cell: &|p| told.lock().unwrap().push(*p),
        stop: &AtomicBool::new(false),
    };
    let whole = reproduce_all(&[&TOY, &TOY, &FACTS], &one, &watch).unwrap();
    assert_eq!((whole.len(), whole[0].csv()), (3, whole[1].csv()));
    assert_eq!(
        told.lock().unwrap()[0].total,
        4,
        "two that are trained, two facts"
    );
    let planned = dry_run(&[&TOY, &FACTS], &one).unwrap();
    assert_eq!((planned.done, planned.total, planned.stale), (4, 4, 0));

    let parts = |part: &str| Settings {
        shard: Some(part.parse().unwrap()),
        ..on_karate(dir.path(), "parts")
    };
    let mut stored = 0;
    for part in ["1/3", "2/3", "3/3"] {
        let reports = reproduce_all(&[&TOY, &FACTS], &parts(part), &watch).unwrap();
        let now: usize = reports.iter().map(|report| report.cells_stored).sum();
        assert!(now >= stored, "{part}");
        stored = now;
    }
    assert_eq!(stored, 4);
    let together = reproduce(&TOY, &on_karate(dir.path(), "parts"), &watch).unwrap();
    assert_eq!(runs_of_rows(&together), runs_of_rows(&whole[0]));
    for wrong in ["0/3", "4/3", "3", "a/b", "1/0"] {
        let e = wrong.parse::<Shard>().unwrap_err().to_string();
        assert!(e.contains("2/3 is the second of three"), "{wrong}: {e}");
    }
}

#[test]
fn stored_results_are_not_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, _) = run(&TOY, &on_karate(dir.path(), "one"));
    let results = dir.path().join("short");
    StoredResults::of(&whole).write(&TOY, &results).unwrap();
    let short = Settings {
        results: Some(results),
        ..on_karate(dir.path(), "short-out")
    };
    let (from_short, told) = run(&TOY, &short);
    assert_eq!(told.len(), 1, "nothing is run");
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3);
    assert!(
        runs_of_rows(&from_short)
            .iter()
            .zip(runs_of_rows(&whole))
            .all(|(a, b)| near(a, &b))
    );
    assert_eq!(
        with_stored(&TOY, &short, &from_short).unwrap().cells_stored,
        2
    );
    let pair = |report: &Report| {
        let cell = &report.rows[1].cells[0];
        cell.minus("MLP").unwrap().paired.unwrap().mean
    };
    assert!((pair(&from_short) - pair(&whole)).abs() < 1e-3);
    // Their seconds give an estimate for the other columns.
    let everything = |settings: Settings| Settings {
        columns: Vec::new(),
        ..settings
    };
    let unknown = everything(on_karate(dir.path(), "unknown-out"));
    assert_eq!(dry_run(&[&TOY], &unknown).unwrap().seconds_left, None);
    let planned = dry_run(&[&TOY], &everything(short.clone())).unwrap();
    assert!(
        planned.done == 2 && planned.seconds_left > Some(0.0),
        "{planned:?}"
    );
    // Other runs have other figures, and do not replace these.
    let watch = RunnerCallbacks {
        on_cell: &|_| (),
        stop: &AtomicBool::new(false),
    };
    let e = reproduce(&TOY, &Settings { runs: 3, ..short }, &watch)
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("figures of 2 runs from seed 0, where 3 runs from seed 0"),
        "{e}"
    );
}
