//! AMI and ARI against scikit-learn; modularity, density and diameter against NetworkX.

#[path = "common/golden.rs"]
mod golden;

use gnarl_graph::metrics::{adjusted_mutual_information, adjusted_rand_index, modularity};
use gnarl_graph::properties::{density, diameter};
use golden::{Graphs, assert_close};
use serde::Deserialize;

#[derive(Deserialize)]
struct Clusterings {
    pairs: Vec<Pair>,
}

/// Two labellings of the same items and how well they agree.
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
    for Pair { name, a, b, ami, ari } in file.pairs {
        let got = [adjusted_mutual_information(&a, &b).unwrap(), adjusted_rand_index(&a, &b).unwrap()];
        assert_close(&got, &[ami, ari], 1e-12, &name);
        let swapped = [adjusted_mutual_information(&b, &a).unwrap(), adjusted_rand_index(&b, &a).unwrap()];
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
            assert_close(&[got], &[m.value], 1e-13, &format!("{} at {}", row.name, m.resolution));
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
