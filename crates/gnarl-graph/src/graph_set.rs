//! [`GraphSet`]: many small graphs with one label each.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::labels::Labels;
use crate::split::Split;

/// A set of graphs with graph labels and named splits over them.
#[derive(Debug, Clone)]
pub struct GraphSet {
    graphs: Vec<Graph>,
    labels: Labels,
    num_node_labels: Option<usize>,
    splits: Vec<Split>,
}

impl GraphSet {
    /// Wraps graphs and a label for each. `num_node_labels` is the number of distinct node labels
    /// in the files, if there were any: the graphs then have them as one-hot features.
    pub fn new(graphs: Vec<Graph>, labels: Labels, num_node_labels: Option<usize>) -> Result<Self> {
        if graphs.len() != labels.len() {
            let what = format!("{} graphs, but {} graph labels", graphs.len(), labels.len());
            return Err(Error::argument("GraphSet::new", what));
        }
        let dims = |g: &Graph| g.features().map(|f| f.num_cols());
        if let Some(i) = graphs.windows(2).position(|w| dims(&w[0]) != dims(&w[1])) {
            let what = format!(
                "graph {i} has {:?} features, graph {} has {:?}",
                dims(&graphs[i]),
                i + 1,
                dims(&graphs[i + 1])
            );
            return Err(Error::argument("GraphSet::new", what));
        }
        Ok(Self {
            graphs,
            labels,
            num_node_labels,
            splits: Vec::new(),
        })
    }

    /// Replaces the splits of its graphs.
    pub fn with_splits(mut self, splits: Vec<Split>) -> Result<Self> {
        for split in &splits {
            split.check_range(self.graphs.len())?;
        }
        self.splits = splits;
        Ok(self)
    }

    /// Returns the graphs.
    pub fn graphs(&self) -> &[Graph] {
        &self.graphs
    }

    /// Returns one label per graph.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the number of distinct node labels in the files, `None` if they have none.
    pub fn num_node_labels(&self) -> Option<usize> {
        self.num_node_labels
    }

    /// Returns the named splits.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Returns the number of graphs.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// Returns true if there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// Returns the number of nodes of all graphs together.
    pub fn num_nodes(&self) -> usize {
        self.graphs.iter().map(Graph::num_nodes).sum()
    }

    /// Returns the number of undirected edges of all graphs together.
    pub fn num_edges(&self) -> usize {
        self.graphs.iter().map(Graph::num_edges).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_per_graph_and_equal_feature_sizes() {
        use crate::{CsrMatrix, Features};
        let plain = Graph::empty(2).unwrap();
        let labels = Labels::from_values([Some(0), Some(1)]);
        let set = GraphSet::new(
            vec![plain.clone(), Graph::empty(0).unwrap()],
            labels.clone(),
            None,
        )
        .unwrap();
        assert_eq!((set.len(), set.num_nodes(), set.num_edges()), (2, 2, 0));
        let e = GraphSet::new(vec![plain.clone()], labels.clone(), None)
            .unwrap_err()
            .to_string();
        assert_eq!(e, "GraphSet::new: 1 graphs, but 2 graph labels");
        let other = plain
            .clone()
            .with_features(Features::Sparse(CsrMatrix::identity(2)))
            .unwrap();
        assert!(
            GraphSet::new(vec![plain, other], labels, None)
                .unwrap_err()
                .to_string()
                .contains("graph 0 has None")
        );
    }
}
