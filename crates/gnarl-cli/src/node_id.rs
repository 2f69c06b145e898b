//! Node identifiers in reports and in files: the names of the user's data, or numbers.

use gnarl_graph::{Error, Graph};
use serde::Serialize;

/// Identifier of a node: its name if the user's files have names, else its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum NodeId {
    /// Number of the node.
    Number(u32),
    /// Name of the node.
    Name(String),
}

impl NodeId {
    /// Returns the identifier of node `u` of a graph.
    pub fn of(graph: &Graph, u: u32) -> Self {
        match graph.node_names() {
            Some(names) => NodeId::Name(names[u as usize].clone()),
            None => NodeId::Number(u),
        }
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NodeId::Number(number) => write!(f, "{number}"),
            NodeId::Name(name) => f.write_str(name),
        }
    }
}

/// Returns the bytes of a CSV file with this header and these rows; fields are quoted if necessary.
pub fn csv<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> gnarl_graph::Result<Vec<u8>> {
    let fail = |e: String| Error::argument("CSV", e);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(header)
        .map_err(|e| fail(e.to_string()))?;
    for row in rows {
        writer.write_record(row).map_err(|e| fail(e.to_string()))?;
    }
    writer.into_inner().map_err(|e| fail(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted() {
        let rows = [["Doe, Jo", "1"], ["say \"hi\"", "2"]].map(|row| row.map(String::from));
        let text = String::from_utf8(csv(["node", "cluster"], rows).unwrap()).unwrap();
        assert_eq!(text, "node,cluster\n\"Doe, Jo\",1\n\"say \"\"hi\"\"\",2\n");
    }
}
