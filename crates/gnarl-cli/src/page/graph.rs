//! A graph for a page: places, edges, and what may be said of every node.

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use rand::seq::index::sample;
use serde::Serialize;

use super::layout::layout;

/// The most nodes that are drawn; of a larger graph so many at random.
pub const MOST_NODES: usize = 20_000;
/// Places are whole numbers up to this.
const SIZE: f64 = 10_000.0;

/// A graph with what may be said of its nodes, as `assets/page/graph.js` takes it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GraphData {
    /// What it is.
    pub title: String,
    /// What a node is called: `paper 17`.
    pub noun: String,
    /// Places to the right.
    pub x: Vec<u32>,
    /// Places downwards.
    pub y: Vec<u32>,
    /// Ends of edges, two by two.
    pub edges: Vec<u32>,
    /// Names of nodes, where they have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// True classes; -1 where they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Vec<i64>>,
    /// A model's answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Vec<u32>>,
    /// How sure it is of them, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sure: Option<Vec<u8>>,
    /// 1 for training, 2 for validation, 3 for test nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Vec<u8>>,
    /// What nodes can be coloured by; the first is shown.
    pub channels: Vec<Channel>,
    /// A few columns of every node's features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Words>,
    /// What every exit says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exits: Option<Exits>,
    /// An attack, step by step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack: Option<AttackSteps>,
    /// Where not all nodes are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// The nodes that are drawn, in order.
    #[serde(skip)]
    pub shown: Vec<u32>,
}

/// What nodes can be coloured by.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    /// Its name for scripts.
    pub key: &'static str,
    /// Its name for people.
    pub title: String,
    /// A few words about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Values of the nodes.
    #[serde(flatten)]
    pub values: Values,
}

/// Values of nodes.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Values {
    /// Classes by number, -1 for none.
    Class {
        /// Of each node.
        values: Vec<i64>,
        /// What they are called.
        names: Vec<String>,
    },
    /// Numbers, where a node has one.
    Number {
        /// Of each node.
        values: Vec<Option<f32>>,
        /// Their unit.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// What it means that a node has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
        /// `log` where colours go by powers.
        #[serde(skip_serializing_if = "Option::is_none")]
        scale: Option<&'static str>,
    },
}

/// A few columns of every node's features.
#[derive(Debug, Clone, Serialize)]
pub struct Words {
    /// What they are.
    pub label: String,
    /// Of each node.
    pub rows: Vec<Vec<String>>,
}

/// What every exit says.
#[derive(Debug, Clone, Serialize)]
pub struct Exits {
    /// What the exits are called.
    pub names: Vec<String>,
    /// Classes, exits of a node together.
    pub said: Vec<u32>,
    /// How sure, per cent, likewise.
    pub sure: Vec<u8>,
    /// The exit that each node takes.
    pub taken: Vec<usize>,
}

/// An attack, step by step.
#[derive(Debug, Clone, Serialize)]
pub struct AttackSteps {
    /// What it is.
    pub title: String,
    /// Ends of a flipped edge and 1 where it was added, three by three.
    pub flips: Vec<u32>,
    /// The states that are shown, the first without flips.
    pub steps: Vec<AttackStep>,
}

/// A state of an attacked graph.
#[derive(Debug, Clone, Serialize)]
pub struct AttackStep {
    /// How many of the flips are done.
    pub flips: usize,
    /// Per cent of test nodes that are right.
    pub accuracy: f64,
    /// Nodes whose answer is another than without flips, and that answer, two by two.
    pub turned: Vec<u32>,
}

/// Which part of a graph is drawn.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sample {
    /// Nodes drawn.
    pub shown: usize,
    /// Nodes there are.
    pub of: usize,
}

impl GraphData {
    /// A graph with its places, names and true classes, coloured by them; of one that is too large, [`MOST_NODES`] nodes drawn from the seed.
    pub fn new(title: &str, noun: &str, graph: &Graph, seed: u64) -> gnarl_graph::Result<Self> {
        let of = graph.num_nodes();
        let (shown, sample): (Vec<u32>, _) = if of <= MOST_NODES {
            ((0..of as u32).collect(), None)
        } else {
            let mut chosen: Vec<u32> =
                sample(&mut stream(seed, "drawn nodes", 0), of, MOST_NODES).into_iter().map(|u| u as u32).collect();
            chosen.sort_unstable();
            (chosen, Some(Sample { shown: MOST_NODES, of }))
        };
        let drawn = if sample.is_some() { graph.subgraph(&shown)? } else { graph.clone() };
        let at = layout(&drawn, seed);
        let place = |of: fn(&(f64, f64)) -> f64| at.iter().map(|p| (of(p) * SIZE).round() as u32).collect();
        let mut data = Self {
            title: title.to_string(),
            noun: noun.to_string(),
            x: place(|p| p.0),
            y: place(|p| p.1),
            edges: drawn.edges().flat_map(|(u, v)| [u, v]).collect(),
            names: drawn.node_names().map(<[String]>::to_vec),
            sample,
            shown,
            ..Self::default()
        };
        if let Some(labels) = drawn.labels() {
            data.classes = (0..labels.num_classes() as u32).map(|c| labels.name(c)).collect();
            let truth: Vec<i64> = labels.classes().iter().map(|c| c.map_or(-1, i64::from)).collect();
            data.class_channel("class", "class", &truth, data.classes.clone());
            data.truth = Some(truth);
        }
        Ok(data)
    }

    /// Of values of all nodes of the graph, those of the nodes that are drawn.
    pub fn of_shown<T: Clone>(&self, values: &[T]) -> Vec<T> {
        self.shown.iter().map(|&u| values[u as usize].clone()).collect()
    }

    /// One more thing to colour by; the values are of the nodes that are drawn.
    pub fn class_channel(&mut self, key: &'static str, title: &str, values: &[i64], names: Vec<String>) {
        let values = Values::Class { values: values.to_vec(), names };
        self.channels.push(Channel { key, title: title.to_string(), about: None, values });
    }

    /// The same of numbers, told apart by a few words.
    pub fn number_channel(
        &mut self,
        key: &'static str,
        title: &str,
        about: &str,
        values: Vec<Option<f32>>,
        missing: Option<&str>,
    ) {
        let values = Values::Number { values, unit: None, missing: missing.map(str::to_string), scale: None };
        self.channels.push(Channel { key, title: title.to_string(), about: Some(about.to_string()), values });
    }
}

impl GraphData {
    /// Lets the colours of the last channel go by powers.
    pub fn log_scale(&mut self) {
        if let Some(Channel { values: Values::Number { scale, .. }, .. }) = self.channels.last_mut() {
            *scale = Some("log");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::dataset::embedded::karate;

    #[test]
    fn a_graph_has_its_nodes_edges_and_classes() {
        let data = GraphData::new("karate", "member", &karate(), 0).unwrap();
        assert_eq!((data.x.len(), data.y.len(), data.edges.len()), (34, 34, 156));
        assert_eq!((data.classes.len(), data.channels.len()), (4, 1));
        assert!(data.sample.is_none());
        let json = serde_json::to_value(&data).unwrap();
        assert_eq!(json["channels"][0]["kind"], "class");
        assert_eq!(json["truth"][33], 0);
        assert!(json.get("shown").is_none() && json.get("attack").is_none());
    }

    #[test]
    fn of_a_large_graph_a_sample_is_drawn_and_said() {
        let graph = gnarl_graph::generate::path(MOST_NODES + 10).unwrap();
        let data = GraphData::new("path", "node", &graph, 3).unwrap();
        let sample = data.sample.unwrap();
        assert_eq!((sample.shown, sample.of, data.x.len()), (MOST_NODES, MOST_NODES + 10, MOST_NODES));
        let numbers: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        assert_eq!(data.of_shown(&numbers), data.shown);
        assert!(data.edges.iter().all(|&u| (u as usize) < MOST_NODES));
    }
}
