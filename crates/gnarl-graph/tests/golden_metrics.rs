//! AMI and ARI, balanced accuracy, F1 and areas under ROC curves against scikit-learn; modularity,
//! density and diameter against NetworkX.

use crate::golden_values as golden;

use gnarl_graph::DenseMatrix;
use gnarl_graph::metrics::{
    ClassScores, adjusted_mutual_information, adjusted_rand_index, modularity,
};
use gnarl_graph::properties::{density, diameter};
use golden::{Graphs, assert_close};
use serde::Deserialize;

#[derive(Deserialize)]
struct Clusterings {
    pairs: Vec<Pair>,
}

/// Two labellings of equal length and their agreement.
#[derive(Deserialize)]
struct Pair {
    name: String,
    a: Vec<u32>,
    b: Vec<u32>,
    ami: f64,
    ari: f64,
}

#[test]
fn ami_and_ari() {
    let file: Clusterings = golden::read("clusterings.json");
    assert!(file.pairs.len() >= 12);
    for Pair {
        name,
        a,
        b,
        ami,
        ari,
    } in file.pairs
    {
        let got = [
            adjusted_mutual_information(&a, &b).unwrap(),
            adjusted_rand_index(&a, &b).unwrap(),
        ];
        assert_close(&got, &[ami, ari], 1e-12, &name);
        let swapped = [
            adjusted_mutual_information(&b, &a).unwrap(),
            adjusted_rand_index(&b, &a).unwrap(),
        ];
        assert_close(&swapped, &[ami, ari], 1e-12, &name);
    }
}

#[test]
fn modularity_weighted_or_not_at_two_resolutions() {
    let mut compared = 0;
    for row in golden::read::<Graphs>("graphs.json").graphs {
        let graph = row.graph();
        for m in &row.modularity {
            let got = modularity(&graph, &m.communities, m.resolution).unwrap();
            assert_close(
                &[got],
                &[m.value],
                1e-13,
                &format!("{} at {}", row.name, m.resolution),
            );
            compared += 1;
        }
    }
    assert!(compared >= 50, "{compared}");
}

#[test]
fn density_and_diameter() {
    for row in golden::read::<Graphs>("graphs.json").graphs {
        let graph = row.graph();
        assert_close(&[density(&graph)], &[row.density], 1e-15, &row.name);
        assert_eq!(diameter(&graph), row.diameter, "{}", row.name);
    }
}

#[derive(Deserialize)]
struct Judged {
    cases: Vec<Case>,
}

/// Predictions with known classes, and their scores.
#[derive(Deserialize)]
struct Case {
    name: String,
    classes: usize,
    truth: Vec<u32>,
    predicted: Vec<u32>,
    probabilities: Vec<f32>,
    balanced_accuracy: f64,
    macro_f1: f64,
    roc_auc: f64,
    precision: Vec<f64>,
    recall: Vec<f64>,
    f1: Vec<f64>,
    support: Vec<u64>,
}

#[test]
fn class_scores() {
    let file: Judged = golden::read("class_scores.json");
    assert!(file.cases.len() >= 6);
    for case in file.cases {
        let probabilities =
            DenseMatrix::new(case.truth.len(), case.classes, case.probabilities).unwrap();
        let got = ClassScores::new(
            &case.truth,
            &case.predicted,
            Some(&probabilities),
            case.classes,
        )
        .unwrap();
        let all = [got.balanced_accuracy, got.macro_f1, got.roc_auc.unwrap()];
        assert_close(
            &all,
            &[case.balanced_accuracy, case.macro_f1, case.roc_auc],
            1e-12,
            &case.name,
        );
        let column = |of: fn(&gnarl_graph::metrics::OneClass) -> f64| {
            got.classes.iter().map(of).collect::<Vec<f64>>()
        };
        assert_close(
            &column(|class| class.precision),
            &case.precision,
            1e-12,
            &case.name,
        );
        assert_close(
            &column(|class| class.recall),
            &case.recall,
            1e-12,
            &case.name,
        );
        assert_close(&column(|class| class.f1), &case.f1, 1e-12, &case.name);
        assert_eq!(
            got.classes
                .iter()
                .map(|class| class.support)
                .collect::<Vec<_>>(),
            case.support,
            "{}",
            case.name
        );
    }
}
