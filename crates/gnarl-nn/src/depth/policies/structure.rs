//! Structural inputs of policies: centralities and sizes from the structure of graphs, and the
//! neighbours of each node.
//!
//! Policies choose for the nodes of one graph or the graphs of a set. The centrality of a graph is
//! the mean over its nodes.

use std::borrow::Cow;

use gnarl_data::Content;
use gnarl_graph::Graph;
use gnarl_graph::centrality::Centrality;

use super::Kind;
use gnarl_graph::{Error, Result};

/// Subject of the errors of this module.
const OP: &str = "policy";

/// Nodes or graphs with the centralities that policies need.
#[derive(Debug, Clone)]
pub struct Structure<'a> {
    items: Items<'a>,
    centralities: Vec<(Centrality, Vec<f64>)>,
    /// Standardised `ln(1 + degree)`: minus its mean, divided by its standard deviation.
    pub(super) degree: Vec<f64>,
    /// Nodes or graphs that a policy may be learned from, if not all.
    known: Option<Vec<u32>>,
}

#[derive(Debug, Clone)]
enum Items<'a> {
    Nodes(&'a Graph),
    /// Graphs with their numbers of nodes.
    Graphs(Vec<f64>),
}

impl<'a> Structure<'a> {
    /// Computes the centralities of a graph's nodes that these policies need.
    pub fn new(graph: &'a Graph, kinds: &[Kind]) -> Result<Self> {
        let centralities = centralities_of(kinds, |centrality| centrality.scores(graph))?;
        let degrees = (0..graph.num_nodes() as u32)
            .map(|u| graph.degree(u) as f64)
            .collect();
        Ok(Self {
            items: Items::Nodes(graph),
            centralities,
            degree: standardised(degrees),
            known: None,
        })
    }

    /// Computes the mean centralities of a set's graphs that these policies need.
    pub fn of_graphs(graphs: &[Graph], kinds: &[Kind]) -> Result<Structure<'static>> {
        let centralities = centralities_of(kinds, |centrality| {
            graphs
                .iter()
                .map(|g| Ok(mean(&centrality.scores(g)?)))
                .collect()
        })?;
        let sizes = graphs.iter().map(|g| g.num_nodes() as f64).collect();
        let degrees = graphs
            .iter()
            .map(|g| 2.0 * g.num_edges() as f64 / g.num_nodes().max(1) as f64)
            .collect();
        Ok(Structure {
            items: Items::Graphs(sizes),
            centralities,
            degree: standardised(degrees),
            known: None,
        })
    }

    /// Computes the structure of a dataset.
    pub fn of(content: &'a Content, kinds: &[Kind]) -> Result<Self> {
        match content {
            Content::Graph(graph) => Self::new(graph, kinds),
            Content::Graphs(set) => Self::of_graphs(set.graphs(), kinds),
        }
    }

    /// Restricts learning to these nodes or graphs: test graphs have no influence on the buckets of
    /// a set. (The nodes of one graph are all visible in training.)
    pub fn knowing(&self, items: Vec<u32>) -> Self {
        Self {
            known: Some(items),
            ..self.clone()
        }
    }

    /// Returns the values that a policy may be learned from.
    pub(super) fn known<'b>(&self, values: &'b [f64]) -> Cow<'b, [f64]> {
        match &self.known {
            Some(items) => items
                .iter()
                .filter_map(|&i| values.get(i as usize).copied())
                .collect(),
            None => Cow::Borrowed(values),
        }
    }

    /// Returns the values of a centrality that was requested.
    pub(super) fn centrality(&self, kind: Centrality) -> Result<&[f64]> {
        let found = self.centralities.iter().find(|(known, _)| *known == kind);
        found.map(|(_, values)| &values[..]).ok_or_else(|| {
            Error::argument(
                OP,
                format!("{kind} was not computed for these nodes or graphs"),
            )
        })
    }

    /// Returns the number of nodes of every graph.
    pub(super) fn sizes(&self) -> Result<&[f64]> {
        match &self.items {
            Items::Graphs(sizes) => Ok(sizes),
            Items::Nodes(_) => Err(Error::argument(
                OP,
                "size needs graphs of a set, and these are nodes of one graph",
            )),
        }
    }

    /// Returns the neighbours of a node; a graph of a set has none.
    pub(super) fn neighbours(&self, item: usize) -> &[u32] {
        match &self.items {
            Items::Nodes(graph) => graph.neighbours(item as u32),
            Items::Graphs(_) => &[],
        }
    }
}

/// Returns the centralities that policies need, each once.
fn centralities_of(
    kinds: &[Kind],
    compute: impl Fn(Centrality) -> Result<Vec<f64>>,
) -> Result<Vec<(Centrality, Vec<f64>)>> {
    let mut all: Vec<(Centrality, Vec<f64>)> = Vec::new();
    for centralities_of in kinds.iter().flat_map(Kind::centralities) {
        if !all.iter().any(|(known, _)| *known == centralities_of) {
            all.push((centralities_of, compute(centralities_of)?));
        }
    }
    Ok(all)
}

/// Computes the mean; 0 for no values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Standardises `ln(1 + x)`: minus its mean, divided by its standard deviation.
fn standardised(values: Vec<f64>) -> Vec<f64> {
    let logs: Vec<f64> = values.iter().map(|x| (1.0 + x).ln()).collect();
    let mean = mean(&logs);
    let standard_deviation = (logs.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>()
        / logs.len().max(1) as f64)
        .sqrt();
    // Constant degrees carry no information.
    let scale = if standard_deviation > 1e-9 {
        1.0 / standard_deviation
    } else {
        0.0
    };
    logs.iter().map(|d| (d - mean) * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::{cycle, star};

    #[test]
    fn graphs_have_sizes_and_means() {
        let graphs = [
            star(5).unwrap(),
            cycle(3).unwrap(),
            Graph::empty(0).unwrap(),
            Graph::empty(1).unwrap(),
        ];
        let kinds = ["degree", "core"].map(|name| name.parse().unwrap());
        let structure = Structure::of_graphs(&graphs, &kinds).unwrap();
        assert_eq!(structure.sizes().unwrap(), [5.0, 3.0, 0.0, 1.0]);
        assert_eq!(
            structure.centrality(Centrality::DEGREE).unwrap(),
            [1.6, 2.0, 0.0, 0.0]
        );
        assert_eq!(
            structure.centrality(Centrality::CORE).unwrap(),
            [1.0, 2.0, 0.0, 0.0]
        );
        assert_eq!(structure.neighbours(0), [0u32; 0]);
        assert_eq!(
            structure
                .knowing(vec![1, 3, 9])
                .known(&[4.0, 5.0, 6.0, 7.0])[..],
            [5.0, 7.0]
        );
        let walks = structure
            .centrality(Centrality::WALKS)
            .unwrap_err()
            .to_string();
        assert!(walks.contains("was not computed"), "{walks}");
        let none = Structure::of_graphs(&[], &kinds).unwrap();
        assert!(none.sizes().unwrap().is_empty() && none.degree.is_empty());
        let nodes = Structure::new(&graphs[0], &[]).unwrap();
        assert_eq!(
            nodes.sizes().unwrap_err().to_string(),
            "policy: size needs graphs of a set, and these are nodes of one graph"
        );
    }
}
