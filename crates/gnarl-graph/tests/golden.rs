//! Degree, core numbers, PageRank, walk counts and components against NetworkX, igraph and NumPy.

use crate::golden_values as golden;

use gnarl_graph::centrality::{PageRankSettings, core_numbers, degrees, pagerank, walk_counts};
use gnarl_graph::properties::components;
use golden::{Graphs, assert_close};

/// Returns every graph of the file, which must hold the cases of the tests below.
fn graphs() -> Graphs {
    let file: Graphs = golden::read("graphs.json");
    assert!(file.graphs.iter().any(|g| g.weights.is_some()));
    assert!(
        file.graphs
            .iter()
            .any(|g| g.degree.contains(&0.0) && !g.edges.is_empty())
    );
    assert!(file.graphs.iter().any(|g| g.core.iter().any(|&c| c >= 4)));
    file
}

#[test]
fn degrees_are_exact() {
    for row in graphs().graphs {
        assert_eq!(degrees(&row.graph()), row.degree, "{}", row.name);
    }
}

#[test]
fn core_numbers_are_exact() {
    for row in graphs().graphs {
        assert_eq!(core_numbers(&row.graph()), row.core, "{}", row.name);
    }
}

#[test]
fn pagerank_agrees_to_1e_12() {
    for row in graphs().graphs {
        let scores = pagerank(&row.graph(), &PageRankSettings::default()).unwrap();
        assert_close(&scores, &row.pagerank, 1e-12, &row.name);
    }
}

#[test]
fn walk_counts_are_exact() {
    for row in graphs().graphs {
        assert_eq!(row.walks.len(), 4);
        for (expected, length) in row.walks.iter().zip(1..) {
            assert_eq!(
                walk_counts(&row.graph(), length).unwrap(),
                *expected,
                "{}, length {length}",
                row.name
            );
        }
    }
}

#[test]
fn components_are_exact() {
    for row in graphs().graphs {
        let found = components(&row.graph());
        let of: Vec<u32> = (0..row.num_nodes as u32).map(|u| found.of(u)).collect();
        assert_eq!(of, row.component_of, "{}", row.name);
        for (c, &size) in found.sizes().iter().enumerate() {
            assert_eq!(
                size,
                row.component_of.iter().filter(|&&x| x == c as u32).count(),
                "{}",
                row.name
            );
        }
        assert_eq!(
            found.count() as u32,
            row.component_of.iter().max().map_or(0, |c| c + 1),
            "{}",
            row.name
        );
    }
}
