//! Statistics printed by `gnarl data check`: counts, homophily, degrees, components and
//! centralities.
//!
//! Keys and their order match the reference figures the loaders are checked against. The figures
//! were computed with SciPy and NetworkX on the undirected graph without self-loops.

use serde_json::{Map, Value, json};

use crate::registry::{self, Entry, Format};
use gnarl_graph::centrality::{Centrality, core_numbers};
use gnarl_graph::error::Result;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::graph_set::GraphSet;
use gnarl_graph::labels::Labels;
use gnarl_graph::properties::components;

/// Returns the statistics of one graph. `name` is the dataset's; `report` has the edges that
/// loading dropped. O((n + m) · iterations).
///
/// Mean and extreme values of a graph without nodes are null, as are missing features and classes.
/// One more key has the number of unlabelled nodes, if there are any.
pub fn node_facts(graph: &Graph, report: &BuildReport, name: &str) -> Result<Value> {
    let n = graph.num_nodes();
    let degrees: Vec<f64> = (0..n as u32).map(|u| graph.degree(u) as f64).collect();
    let cores = core_numbers(graph);
    let walks = Centrality::WALKS.scores(graph)?;
    let pagerank = reference_pagerank(graph);
    let components = components(graph);
    let classes = graph.labels().map(|labels| reference_classes(labels, name));

    let mut facts = Map::new();
    let mut put = |key: &str, value: Value| facts.insert(key.to_string(), value);
    put("nodes", json!(n));
    put("undirected_edges", json!(graph.num_edges()));
    put("self_loops_in_file", json!(report.self_loop_nodes));
    put("features", json!(graph.features().map(|f| f.num_cols())));
    put(
        "feature_nonzeros",
        json!(graph.features().map(|f| f.num_nonzeros())),
    );
    put("classes", json!(graph.labels().map(Labels::num_classes)));
    put(
        "class_counts",
        json!(
            graph
                .labels()
                .zip(classes.as_ref())
                .map(|(l, c)| counts(c, l.num_classes()))
        ),
    );
    put(
        "edge_homophily",
        json!(classes.as_ref().and_then(|c| edge_homophily(graph, c))),
    );
    put("density", json!(density(graph)));
    put(
        "isolated",
        json!(degrees.iter().filter(|&&d| d == 0.0).count()),
    );
    put("components", json!(components.count()));
    put(
        "largest_component",
        json!(
            components
                .largest()
                .map_or(0, |c| components.sizes()[c as usize])
        ),
    );
    put("mean_degree", json!(mean(&degrees)));
    put(
        "max_degree",
        json!((0..n as u32).map(|u| graph.degree(u)).max()),
    );
    put(
        "mean_core",
        json!(mean(
            &cores.iter().map(|&c| f64::from(c)).collect::<Vec<_>>()
        )),
    );
    put("max_core", json!(cores.iter().max()));
    put("mean_walks_2", json!(mean(&walks)));
    put("max_walks_2", json!(argmax(&walks).map(|u| walks[u])));
    put(
        "max_pagerank",
        json!(argmax(&pagerank).map(|u| pagerank[u])),
    );
    put("pagerank_argmax", json!(argmax(&pagerank)));
    let unlabelled = graph
        .labels()
        .map_or(0, |l| l.classes().iter().filter(|c| c.is_none()).count());
    if unlabelled > 0 {
        put("unlabelled", json!(unlabelled));
    }
    Ok(Value::Object(facts))
}

/// Returns the statistics of a set of graphs; `class_counts` is keyed by the labels as stored in
/// the file.
pub fn graph_set_facts(set: &GraphSet) -> Value {
    let counts = set.labels().counts();
    let named: Map<String, Value> = (0u32..)
        .zip(&counts)
        .map(|(class, &count)| (set.labels().name(class), json!(count)))
        .collect();
    let per_graph = |total: usize| (!set.is_empty()).then(|| total as f64 / set.len() as f64);
    let max_degree = set
        .graphs()
        .iter()
        .flat_map(|g| (0..g.num_nodes() as u32).map(|u| g.degree(u)))
        .max();
    json!({
        "graphs": set.len(),
        "nodes": set.num_nodes(),
        "mean_nodes": per_graph(set.num_nodes()),
        "mean_undirected_edges": per_graph(set.num_edges()),
        "classes": set.labels().num_classes(),
        "class_counts": named,
        "node_labels": set.num_node_labels(),
        "max_degree": max_degree,
    })
}

/// A statistic that differs from the registry's expectation.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Check {
    /// Key of the statistic.
    pub key: &'static str,
    /// The value in the registry.
    pub expected: Value,
    /// The value that was loaded.
    pub found: Value,
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {} expected, {} found",
            self.key, self.expected, self.found
        )
    }
}

/// Returns the statistics of [`node_facts`] or [`graph_set_facts`] that differ from the registry's
/// expectations; none if all agree.
pub fn mismatches(entry: &Entry, facts: &Value) -> Vec<Check> {
    let expected = &entry.expected;
    let mut checks = vec![
        ("nodes", json!(expected.nodes)),
        ("classes", json!(expected.classes)),
    ];
    match expected.graphs {
        Some(graphs) => {
            checks.push(("graphs", json!(graphs)));
            checks.push(("node_labels", json!(expected.features)));
            if let Some(edges) = expected.undirected_edges {
                checks.push(("mean_undirected_edges", json!(edges as f64 / graphs as f64)));
            }
        }
        None => {
            checks.push(("features", json!(expected.features)));
            checks.extend(
                expected
                    .undirected_edges
                    .map(|edges| ("undirected_edges", json!(edges))),
            );
        }
    }
    let differs = |(key, expected): (&'static str, Value)| {
        let found = facts[key].clone();
        (found != expected).then_some(Check {
            key,
            expected,
            found,
        })
    };
    checks.into_iter().filter_map(differs).collect()
}

/// Returns the class of each node as the reference figures count it.
///
/// The figures take the largest entry of each one-hot label row, which makes CiteSeer's 15 papers
/// without a label class 0. Loading keeps them unlabelled; only these figures follow the reference,
/// so that all of them can be compared.
fn reference_classes(labels: &Labels, name: &str) -> Vec<Option<u32>> {
    let is_planetoid = registry::get(name).is_some_and(|e| e.format == Format::Planetoid);
    labels
        .classes()
        .iter()
        .map(|&c| c.or(is_planetoid.then_some(0)))
        .collect()
}

/// Computes PageRank as the reference figures do: the power method from the uniform vector, stopped
/// like NetworkX at tolerance 1e-12. This ends up to 6e-9 of a score away from the solution.
/// [`Centrality::PAGERANK`] converges further; only these figures follow the reference, so that all
/// of them can be compared.
fn reference_pagerank(graph: &Graph) -> Vec<f64> {
    const DAMPING: f64 = 0.85;
    const TOLERANCE: f64 = 1e-12;
    const MAX_ITERATIONS: usize = 1000;
    let n = graph.num_nodes();
    let mut scores = vec![1.0 / n as f64; n];
    for _ in 0..MAX_ITERATIONS {
        let share: Vec<f64> = (0..n)
            .map(|u| scores[u] / graph.degree(u as u32).max(1) as f64)
            .collect();
        let dangling: f64 = (0..n)
            .filter(|&u| graph.degree(u as u32) == 0)
            .map(|u| scores[u])
            .sum();
        let jump = (DAMPING * dangling + 1.0 - DAMPING) / n as f64;
        let heard = |u: usize| {
            graph
                .neighbours(u as u32)
                .iter()
                .map(|&v| share[v as usize])
                .sum::<f64>()
        };
        let next: Vec<f64> = (0..n).map(|u| DAMPING * heard(u) + jump).collect();
        let moved: f64 = next.iter().zip(&scores).map(|(a, b)| (a - b).abs()).sum();
        scores = next;
        if moved < n as f64 * TOLERANCE {
            break;
        }
    }
    scores
}

fn counts(classes: &[Option<u32>], num_classes: usize) -> Vec<usize> {
    let mut counts = vec![0; num_classes];
    for &c in classes.iter().flatten() {
        counts[c as usize] += 1;
    }
    counts
}

/// Returns the share of edges whose ends have equal classes, among edges with both ends labelled.
fn edge_homophily(graph: &Graph, classes: &[Option<u32>]) -> Option<f64> {
    let ends = graph
        .edges()
        .filter_map(|(u, v)| classes[u as usize].zip(classes[v as usize]));
    let (mut same, mut all) = (0usize, 0usize);
    for (a, b) in ends {
        same += usize::from(a == b);
        all += 1;
    }
    (all > 0).then(|| same as f64 / all as f64)
}

fn density(graph: &Graph) -> Option<f64> {
    let n = graph.num_nodes() as f64;
    (n > 1.0).then(|| 2.0 * graph.num_edges() as f64 / (n * (n - 1.0)))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the first index of the largest value.
fn argmax(values: &[f64]) -> Option<usize> {
    (0..values.len()).reduce(|best, i| if values[i] > values[best] { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded;

    fn float(facts: &Value, key: &str) -> f64 {
        facts[key].as_f64().unwrap()
    }

    #[test]
    fn by_hand_on_a_triangle_with_a_tail() {
        let (g, report) =
            Graph::from_edges(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 3), (3, 3)]).unwrap();
        let g = g
            .with_labels(Labels::new(vec![Some(0), Some(0), Some(1), None, Some(1)], 2).unwrap())
            .unwrap();
        let facts = node_facts(&g, &report, "mine").unwrap();
        let expected = json!({
            "nodes": 5, "undirected_edges": 4, "self_loops_in_file": 1, "features": null, "feature_nonzeros": null,
            "classes": 2, "class_counts": [2, 2], "isolated": 1, "components": 2, "largest_component": 4,
            "max_degree": 3, "max_core": 2, "max_walks_2": 5.0, "pagerank_argmax": 2, "unlabelled": 1,
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&facts[key], value, "{key}");
        }
        // Edges 0-1, 1-2 and 0-2 have both ends labelled; walks of two steps are sums of
        // neighbours' degrees.
        assert!((float(&facts, "edge_homophily") - 1.0 / 3.0).abs() < 1e-15);
        assert!((float(&facts, "density") - 0.4).abs() < 1e-15);
        assert!((float(&facts, "mean_degree") - 1.6).abs() < 1e-15);
        assert!((float(&facts, "mean_core") - 7.0 / 5.0).abs() < 1e-15);
        assert!((float(&facts, "mean_walks_2") - (5.0 + 5.0 + 5.0 + 3.0) / 5.0).abs() < 1e-15);
        assert!(float(&facts, "max_pagerank") > 0.2);
    }

    #[test]
    fn only_planetoid_counts_the_unlabelled_as_class_0() {
        let g = Graph::from_edges(3, [(0, 1)]).unwrap().0;
        let g = g
            .with_labels(Labels::new(vec![Some(0), None, Some(1)], 2).unwrap())
            .unwrap();
        let facts = |name| node_facts(&g, &BuildReport::default(), name).unwrap();
        assert_eq!(facts("CiteSeer")["class_counts"], json!([2, 1]));
        assert_eq!(facts("CiteSeer")["edge_homophily"], json!(1.0));
        assert_eq!(facts("texas")["class_counts"], json!([1, 1]));
        assert_eq!(facts("texas")["edge_homophily"], json!(null));
        assert_eq!(facts("citeseer")["unlabelled"], json!(1));
    }

    #[test]
    fn keys_stand_in_the_reference_order() {
        let facts = node_facts(&embedded::karate(), &BuildReport::default(), "karate").unwrap();
        let keys: Vec<&str> = facts
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = "nodes undirected_edges self_loops_in_file features feature_nonzeros classes class_counts \
             edge_homophily density isolated components largest_component mean_degree max_degree mean_core max_core \
             mean_walks_2 max_walks_2 max_pagerank pagerank_argmax";
        assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
        // PageRank of the instructor's rival by NetworkX: 0.1009191...; the club's core is a
        // 4-core.
        assert_eq!(
            (&facts["pagerank_argmax"], &facts["max_core"]),
            (&json!(33), &json!(4))
        );
        assert!((float(&facts, "max_pagerank") - 0.100_919_18).abs() < 1e-6);
    }

    #[test]
    fn a_graph_without_nodes_has_facts_too() {
        let facts = node_facts(&Graph::empty(0).unwrap(), &BuildReport::default(), "x").unwrap();
        assert_eq!(
            (&facts["mean_degree"], &facts["max_core"], &facts["density"]),
            (&json!(null), &json!(null), &json!(null))
        );
        assert_eq!(facts["largest_component"], json!(0));
        let none = GraphSet::new(vec![], Labels::from_values([]), None).unwrap();
        assert_eq!(graph_set_facts(&none)["mean_nodes"], json!(null));
    }

    #[test]
    fn graph_sets_count_by_the_labels_in_the_file() {
        let path = Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0;
        let graphs = vec![path.clone(), path, Graph::empty(1).unwrap()];
        let set = GraphSet::new(graphs, Labels::from_values([2, 0, 2].map(Some)), None).unwrap();
        let facts = graph_set_facts(&set);
        let expected = json!({
            "graphs": 3, "nodes": 7, "mean_nodes": 7.0 / 3.0, "mean_undirected_edges": 4.0 / 3.0, "classes": 2,
            "class_counts": {"0": 1, "2": 2}, "node_labels": null, "max_degree": 2,
        });
        assert_eq!(
            facts.to_string(),
            expected.to_string(),
            "values and their order"
        );
    }

    #[test]
    fn mismatches_name_the_fact() {
        let entry = registry::find("polblogs").unwrap();
        let mut facts =
            json!({"nodes": 1490, "undirected_edges": 16715, "features": null, "classes": 2});
        assert!(mismatches(entry, &facts).is_empty());
        facts["undirected_edges"] = json!(19025);
        let found = mismatches(entry, &facts);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "undirected_edges: 16715 expected, 19025 found"
        );
        let set = registry::find("mutag").unwrap();
        let facts = json!({"graphs": 188, "nodes": 3371, "mean_undirected_edges": 3721.0 / 188.0, "classes": 2, "node_labels": 6});
        assert_eq!(
            mismatches(set, &facts)[0].to_string(),
            "node_labels: 7 expected, 6 found"
        );
    }
}
