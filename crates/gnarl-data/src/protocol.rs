//! The default splits of each dataset, from its registry entry.

use crate::Dataset;
use crate::registry::Protocol;
use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::Graph;
use gnarl_graph::split::Split;

const OP: &str = "splits";

/// Returns the graph to work on and `count` splits of it, by the dataset's protocol; random splits
/// use seeds `seed`, `seed + 1`, ….
///
/// The graph is the loaded one, or its largest component if the protocol says so. Published splits
/// are used in order; runs beyond the last one wrap around. A graph outside the registry has its
/// own splits, or random ones of 60 / 20 / 20 % without any.
pub fn protocol_splits(loaded: &Dataset, seed: u64, count: usize) -> Result<(Graph, Vec<Split>)> {
    splits_by(
        loaded,
        loaded.entry.map(|entry| entry.protocol),
        seed,
        count,
    )
}

/// Returns splits by another protocol; `None` for the graph's own splits or random ones.
pub fn splits_by(
    loaded: &Dataset,
    protocol: Option<Protocol>,
    seed: u64,
    count: usize,
) -> Result<(Graph, Vec<Split>)> {
    let graph = loaded.graph()?;
    if count == 0 {
        return Err(Error::argument(
            OP,
            "0 splits are asked for, at least 1 is needed",
        ));
    }
    let name = loaded
        .entry
        .map_or(loaded.name.as_str(), |entry| entry.name);
    let whole = |splits: Vec<Split>| Ok((graph.clone(), splits));
    let published = || {
        graph
            .splits()
            .iter()
            .take(count)
            .cloned()
            .collect::<Vec<_>>()
    };
    let Some(protocol) = protocol else {
        return if graph.splits().is_empty() {
            whole(random(graph, 0.6, 0.2, seed, count)?)
        } else {
            whole(published())
        };
    };
    match protocol {
        Protocol::PlanetoidPublic
        | Protocol::GeomGcnTen
        | Protocol::OgbTime
        | Protocol::Published
            if graph.splits().is_empty() =>
        {
            let what = format!("the public splits of {name} are missing");
            let remedy = format!("run `gnarl data get {name}`");
            Err(Error::missing(OP, what, remedy))
        }
        Protocol::PlanetoidPublic
        | Protocol::GeomGcnTen
        | Protocol::OgbTime
        | Protocol::Published => whole(published()),
        Protocol::PerClass { train, val, test } => {
            let labels = labels(graph)?;
            whole(
                seeds(seed, count)
                    .map(|s| Split::per_class(labels, train, val, test, s))
                    .collect::<Result<_>>()?,
            )
        }
        Protocol::LargestComponentFractions { train, val } => {
            let largest = graph.largest_component().0;
            let splits = random(&largest, train, val, seed, count)?;
            Ok((largest, splits))
        }
        Protocol::LinkxHalfQuarter => whole(random(graph, 0.5, 0.25, seed, count)?),
        Protocol::Folds(_) => Err(Error::unsupported(
            OP,
            format!("{name} has folds of graphs, not of nodes"),
        )),
    }
}

/// Returns the first `count` folds of a set of graphs, stratified and shuffled by the seed: split
/// `i` tests on fold `i`.
///
/// The protocol sets the number of folds, ten for a set outside the registry; there are no more
/// splits than folds. The folds of [Errica et al. 2020](https://arxiv.org/abs/1912.09893) are the
/// set's own splits.
pub fn protocol_folds(loaded: &Dataset, seed: u64, count: usize) -> Result<Vec<Split>> {
    let set = loaded.graph_set()?;
    let folds = match loaded.entry.map(|e| e.protocol) {
        Some(Protocol::Folds(folds)) => folds,
        _ => 10,
    };
    let mut splits = Split::folds(set.labels(), folds, seed)?;
    splits.truncate(count);
    Ok(splits)
}

fn random(graph: &Graph, train: f64, val: f64, seed: u64, count: usize) -> Result<Vec<Split>> {
    let labels = labels(graph)?;
    seeds(seed, count)
        .map(|s| Split::fractions(labels, train, val, s))
        .collect()
}

fn seeds(first: u64, count: usize) -> impl Iterator<Item = u64> {
    (0..count as u64).map(move |i| first.wrapping_add(i))
}

fn labels(graph: &Graph) -> Result<&gnarl_graph::labels::Labels> {
    let what = "the graph has no labels to split";
    let remedy = "a folder of your own has them in labels.csv, or in a column label of nodes.csv";
    graph
        .labels()
        .ok_or_else(|| Error::missing(OP, what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, embedded, registry, with_identity_features};
    use gnarl_graph::graph::BuildReport;
    use gnarl_graph::graph_set::GraphSet;
    use gnarl_graph::labels::Labels;

    fn loaded(graph: Graph, entry: Option<&str>) -> Dataset {
        Dataset {
            name: "x".into(),
            content: Content::Graph(graph),
            report: BuildReport::default(),
            entry: entry.map(|name| registry::find(name).unwrap()),
            sources: Default::default(),
        }
    }

    /// Returns paths of 2,400 and of 600 nodes, with two alternating classes.
    fn two_paths() -> Graph {
        let edges = (1..3000u32).filter(|&v| v != 2400).map(|v| (v - 1, v));
        let labels = Labels::new((0..3000).map(|u| Some(u % 2)).collect(), 2).unwrap();
        Graph::from_edges(3000, edges)
            .unwrap()
            .0
            .with_labels(labels)
            .unwrap()
    }

    fn sizes(split: &Split) -> (usize, usize, usize) {
        (split.train().len(), split.val().len(), split.test().len())
    }

    #[test]
    fn each_protocol_gives_the_sizes_of_the_thesis() {
        let (g, splits) = protocol_splits(&loaded(two_paths(), Some("photo")), 3, 2).unwrap();
        assert_eq!(
            (g.num_nodes(), sizes(&splits[0]), splits.len()),
            (3000, (40, 500, 1000), 2)
        );
        let (g, splits) = protocol_splits(&loaded(two_paths(), Some("polblogs")), 3, 1).unwrap();
        assert_eq!(
            (g.num_nodes(), sizes(&splits[0])),
            (2400, (240, 240, 1920)),
            "largest component alone"
        );
        let (g, splits) = protocol_splits(&loaded(two_paths(), Some("genius")), 3, 5).unwrap();
        assert_eq!((g.num_nodes(), sizes(&splits[4])), (3000, (1500, 750, 750)));
        let (_, splits) = protocol_splits(&loaded(two_paths(), None), 3, 1).unwrap();
        assert_eq!(sizes(&splits[0]), (1800, 600, 600));
    }

    #[test]
    fn the_second_split_of_a_seed_is_the_first_of_the_next() {
        let data = loaded(two_paths(), Some("cs"));
        let (_, from_3) = protocol_splits(&data, 3, 2).unwrap();
        let (_, from_4) = protocol_splits(&data, 4, 1).unwrap();
        assert_eq!(from_3[1], from_4[0]);
        assert_ne!(from_3[0].train(), from_3[1].train());
    }

    #[test]
    fn published_splits_are_taken_as_they_are() {
        let ten = (0..10u32).map(|k| {
            Split::new(format!("geom-gcn-{k}"), vec![k], vec![10 + k], vec![20 + k]).unwrap()
        });
        let graph = two_paths().with_splits(ten.collect()).unwrap();
        let (_, splits) = protocol_splits(&loaded(graph.clone(), Some("texas")), 0, 3).unwrap();
        assert_eq!(
            splits.iter().map(Split::name).collect::<Vec<_>>(),
            ["geom-gcn-0", "geom-gcn-1", "geom-gcn-2"]
        );
        assert_eq!(
            protocol_splits(&loaded(graph, Some("texas")), 0, 30)
                .unwrap()
                .1
                .len(),
            10
        );
        let (_, own) = protocol_splits(&loaded(embedded::karate(), None), 0, 4).unwrap();
        assert_eq!(own.len(), 1);
    }

    #[test]
    fn invalid_splits_are_refused() {
        let fail = |graph, entry, count| {
            protocol_splits(&loaded(graph, entry), 0, count)
                .unwrap_err()
                .to_string()
        };
        assert!(fail(two_paths(), Some("texas"), 1).ends_with("run `gnarl data get texas`"));
        assert!(fail(two_paths(), Some("cora"), 0).contains("at least 1"));
        assert!(fail(Graph::empty(5).unwrap(), None, 1).contains("no labels"));
        assert!(fail(two_paths(), Some("MUTAG"), 1).contains("folds of graphs"));
        assert!(
            protocol_folds(&loaded(two_paths(), None), 0, 1)
                .unwrap_err()
                .to_string()
                .contains("is one graph")
        );
    }

    #[test]
    fn graph_sets_have_folds() {
        let graphs = vec![Graph::empty(1).unwrap(); 40];
        let set = GraphSet::new(
            graphs,
            Labels::from_values((0..40).map(|i| Some(i % 2))),
            None,
        )
        .unwrap();
        let data = Dataset {
            content: Content::Graphs(set),
            ..loaded(Graph::empty(0).unwrap(), Some("MUTAG"))
        };
        let folds = protocol_folds(&data, 1, 10).unwrap();
        assert_eq!((folds.len(), sizes(&folds[0])), (10, (32, 4, 4)));
        assert_eq!(protocol_folds(&data, 1, 3).unwrap(), folds[..3]);
        assert!(
            protocol_splits(&data, 1, 1)
                .unwrap_err()
                .to_string()
                .contains("is a set of graphs")
        );
    }

    #[test]
    fn identity_features_replace_missing_features() {
        let g = with_identity_features(two_paths());
        let f = g.features().unwrap();
        assert_eq!(
            (f.num_rows(), f.num_cols(), f.num_nonzeros()),
            (3000, 3000, 3000)
        );
    }
}
