//! Graph data for a page: positions, edges, and values of every node.

use gnarl::study::portrait::{Portrait, Walk, WalkStep};
use gnarl_graph::centrality::Centrality;
use gnarl_graph::random::stream;
use gnarl_graph::{Features, Graph, Split};
use rand::seq::index::sample;
use serde::Serialize;

use super::layout::layout;

/// Largest number of nodes drawn; a larger graph is sampled at random.
pub const MOST_NODES: usize = 20_000;
/// Number of feature columns listed for a node.
const WORDS: usize = 8;
/// Range of the integer coordinates.
const SIZE: f64 = 10_000.0;

/// Graph with values of its nodes, in the format of `assets/page/graph.js`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GraphData {
    /// Title of the graph.
    pub title: String,
    /// Noun for a node, as in `paper 17`.
    pub noun: String,
    /// Horizontal coordinates.
    pub x: Vec<u32>,
    /// Vertical coordinates, downwards.
    pub y: Vec<u32>,
    /// Ends of edges, in pairs.
    pub edges: Vec<u32>,
    /// Names of nodes, if they have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// True classes; -1 for unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Vec<i64>>,
    /// Predictions of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Vec<u32>>,
    /// Confidence of the predictions in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Vec<u8>>,
    /// Part of the split: 1 for training, 2 for validation, 3 for test nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Vec<u8>>,
    /// Values that can colour the nodes; the first is shown initially.
    pub channels: Vec<Channel>,
    /// A few columns of every node's features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Words>,
    /// Predictions of every exit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exits: Option<Exits>,
    /// Attack, step by step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack: Option<AttackSteps>,
    /// Sample of nodes, if not all are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Connection to the server that predicts on changed graphs, for a served page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// Numbers of the nodes that are drawn, for a served page that does not draw all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<u32>>,
    /// Nodes that are drawn, in order.
    #[serde(skip)]
    pub shown: Vec<u32>,
}

/// Values that can colour the nodes.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    /// Name for scripts.
    pub key: &'static str,
    /// Name for people.
    pub title: String,
    /// Short explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Values by node.
    #[serde(flatten)]
    pub values: Values,
}

/// Values by node.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Values {
    /// Classes by number, -1 for none.
    Class {
        /// Class of each node.
        values: Vec<i64>,
        /// Names of the classes.
        names: Vec<String>,
    },
    /// Numbers, which may be missing for some nodes.
    Number {
        /// Number of each node.
        values: Vec<Option<f32>>,
        /// Unit of the numbers.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// Meaning of a missing number.
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
        /// Colour scale: `log`, or linear if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        scale: Option<&'static str>,
    },
}

/// A few columns of every node's features.
#[derive(Debug, Clone, Serialize)]
pub struct Words {
    /// Name of the columns.
    pub label: String,
    /// Column names of each node.
    pub rows: Vec<Vec<String>>,
}

/// Predictions of every exit.
#[derive(Debug, Clone, Serialize)]
pub struct Exits {
    /// Names of the exits.
    pub names: Vec<String>,
    /// Predicted classes, with the exits of a node next to each other.
    pub predicted: Vec<u32>,
    /// Confidence in per cent, in the order of the classes.
    pub confidence: Vec<u8>,
    /// Exit that each node takes.
    pub taken: Vec<usize>,
}

/// Attack, step by step.
#[derive(Debug, Clone, Serialize)]
pub struct AttackSteps {
    /// Name of the attack.
    pub title: String,
    /// Flips, three numbers each: the ends of an edge, and 1 if it was added.
    pub flips: Vec<u32>,
    /// States shown, the first without flips.
    pub steps: Vec<AttackStep>,
}

/// State of an attacked graph.
#[derive(Debug, Clone, Serialize)]
pub struct AttackStep {
    /// Number of flips done.
    pub flips: usize,
    /// Test accuracy in per cent.
    pub accuracy: f64,
    /// Nodes whose predicted class differs from the clean graph's, each followed by the new class.
    pub changed: Vec<u32>,
}

/// Connection to a server that predicts on changed graphs.
#[derive(Debug, Clone, Serialize)]
pub struct Live {
    /// Address for changes, relative to the page.
    pub at: String,
    /// Number of feature columns that can be flipped; 0 if features are not binary.
    pub columns: usize,
    /// Test accuracy in per cent without changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Axes with which the model can be fitted again.
    pub axes: Vec<LiveAxis>,
}

/// Axis that can be switched: its current choice, and the other choices.
#[derive(Debug, Clone, Serialize)]
pub struct LiveAxis {
    /// Name of the axis.
    pub axis: &'static str,
    /// Current choice of the model.
    pub current: String,
    /// Other choices.
    pub others: Vec<&'static str>,
}

/// Size of the part of a graph that is drawn.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sample {
    /// Number of nodes drawn.
    pub shown: usize,
    /// Number of nodes in the graph.
    pub of: usize,
}

impl GraphData {
    /// Builds the data of a graph with positions, names and true classes, coloured by class. A
    /// larger graph is sampled from the seed to [`MOST_NODES`] nodes.
    pub fn new(title: &str, noun: &str, graph: &Graph, seed: u64) -> gnarl_graph::Result<Self> {
        let of = graph.num_nodes();
        let (shown, sample): (Vec<u32>, _) = if of <= MOST_NODES {
            ((0..of as u32).collect(), None)
        } else {
            let mut chosen: Vec<u32> = sample(&mut stream(seed, "drawn nodes", 0), of, MOST_NODES)
                .into_iter()
                .map(|u| u as u32)
                .collect();
            chosen.sort_unstable();
            (
                chosen,
                Some(Sample {
                    shown: MOST_NODES,
                    of,
                }),
            )
        };
        let drawn = if sample.is_some() {
            graph.subgraph(&shown)?
        } else {
            graph.clone()
        };
        let at = layout(&drawn, seed);
        let place =
            |of: fn(&(f64, f64)) -> f64| at.iter().map(|p| (of(p) * SIZE).round() as u32).collect();
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
            data.classes = (0..labels.num_classes() as u32)
                .map(|c| labels.name(c))
                .collect();
            let truth: Vec<i64> = labels
                .classes()
                .iter()
                .map(|c| c.map_or(-1, i64::from))
                .collect();
            data.class_channel("class", "class", &truth, data.classes.clone());
            data.truth = Some(truth);
        }
        Ok(data)
    }

    /// Selects the values of the drawn nodes from those of all nodes.
    pub fn of_shown<T: Clone>(&self, values: &[T]) -> Vec<T> {
        self.shown
            .iter()
            .map(|&u| values[u as usize].clone())
            .collect()
    }

    /// Adds a class channel; the values are those of the drawn nodes.
    pub fn class_channel(
        &mut self,
        key: &'static str,
        title: &str,
        values: &[i64],
        names: Vec<String>,
    ) {
        let values = Values::Class {
            values: values.to_vec(),
            names,
        };
        self.channels.push(Channel {
            key,
            title: title.to_string(),
            about: None,
            values,
        });
    }

    /// Adds a number channel, with a short explanation.
    pub fn number_channel(
        &mut self,
        key: &'static str,
        title: &str,
        about: &str,
        values: Vec<Option<f32>>,
        missing: Option<&str>,
    ) {
        let values = Values::Number {
            values,
            unit: None,
            missing: missing.map(str::to_string),
            scale: None,
        };
        self.channels.push(Channel {
            key,
            title: title.to_string(),
            about: Some(about.to_string()),
            values,
        });
    }
}

/// Channels from the results of studies.
impl GraphData {
    /// Adds the predictions of a model with their confidence.
    pub fn add_predictions(&mut self, title: &str, portrait: &Portrait) {
        let predicted = self.of_shown(&portrait.predicted);
        let values: Vec<i64> = predicted.iter().map(|&class| i64::from(class)).collect();
        self.class_channel("predicted", title, &values, self.classes.clone());
        self.confidence = Some(
            self.of_shown(&portrait.confidence)
                .into_iter()
                .map(whole_percent)
                .collect(),
        );
        self.predicted = Some(predicted);
    }

    /// Adds the predictions of every exit, and the exit taken; nothing for a model of fixed depth.
    pub fn add_exits(&mut self, title: &str, portrait: &Portrait) {
        let Some(exits) = &portrait.exits else { return };
        let names: Vec<String> = (0..exits.num_exits).map(propagation_steps).collect();
        let taken = self.of_shown(&exits.taken);
        let values: Vec<i64> = taken.iter().map(|&exit| exit as i64).collect();
        self.class_channel("exit", title, &values, names.clone());
        let each = |&u: &u32| {
            let first = u as usize * exits.num_exits;
            first..first + exits.num_exits
        };
        self.exits = Some(Exits {
            names,
            predicted: self
                .shown
                .iter()
                .flat_map(each)
                .map(|at| exits.predicted[at])
                .collect(),
            confidence: self
                .shown
                .iter()
                .flat_map(each)
                .map(|at| whole_percent(exits.confidence[at]))
                .collect(),
            taken,
        });
    }

    /// Adds the margin: the difference in probability between the two most likely classes.
    pub fn add_margin(&mut self, portrait: &Portrait) {
        let margin = self
            .of_shown(&portrait.margin)
            .into_iter()
            .map(|m| Some(rounded(m)))
            .collect();
        let about = "probability of the predicted class minus that of the second, from 0 to 1";
        self.number_channel("margin", "margin", about, margin, None);
    }

    /// Adds PageRank, as a multiple of its mean. O(iterations · edges).
    pub fn add_pagerank(&mut self, graph: &Graph) -> gnarl_graph::Result<()> {
        let ranks = Centrality::PAGERANK.scores(graph)?;
        let of_mean = |rank: f64| Some(rounded((rank * graph.num_nodes() as f64) as f32));
        let values = self.of_shown(&ranks).into_iter().map(of_mean).collect();
        self.number_channel(
            "pagerank",
            "PageRank",
            "as a multiple of the mean",
            values,
            None,
        );
        if let Some(Channel {
            values: Values::Number { scale, .. },
            ..
        }) = self.channels.last_mut()
        {
            *scale = Some("log");
        }
        Ok(())
    }

    /// Adds the parts of the split: training, validation and test.
    pub fn add_parts(&mut self, graph: &Graph, split: &Split) {
        let mut part = vec![0; graph.num_nodes()];
        for (number, items) in [(1, split.train()), (2, split.val()), (3, split.test())] {
            items.iter().for_each(|&u| part[u as usize] = number);
        }
        self.part = Some(self.of_shown(&part));
    }

    /// Adds the feature columns of each node that the fewest other nodes have, because they
    /// identify it best. Does nothing for dense features.
    pub fn add_words(&mut self, label: &str, graph: &Graph) {
        let Some(Features::Sparse(matrix)) = graph.features() else {
            return;
        };
        let mut holders = vec![0u32; matrix.num_cols()];
        matrix
            .indices()
            .iter()
            .for_each(|&column| holders[column as usize] += 1);
        let of = |&u: &u32| {
            let mut columns = matrix.row(u as usize).0.to_vec();
            columns.sort_by_key(|&column| (holders[column as usize], column));
            columns
                .iter()
                .take(WORDS)
                .map(|&column| format!("{column} (in {})", holders[column as usize]))
                .collect()
        };
        self.words = Some(Words {
            label: label.to_string(),
            rows: self.shown.iter().map(of).collect(),
        });
    }

    /// Adds an attack, flip by flip; does nothing if not all nodes are drawn.
    pub fn add_walk(&mut self, title: &str, walk: &Walk) {
        if self.sample.is_some() {
            return;
        }
        let step = |step: &WalkStep| AttackStep {
            flips: step.flips,
            accuracy: step.accuracy,
            changed: step
                .turned
                .iter()
                .flat_map(|&(u, class)| [u, class])
                .collect(),
        };
        self.attack = Some(AttackSteps {
            title: title.to_string(),
            flips: walk
                .flips
                .iter()
                .flat_map(|&((u, v), added)| [u, v, u32::from(added)])
                .collect(),
            steps: walk.steps.iter().map(step).collect(),
        });
    }
}

/// Formats the depth of an exit, as in `after 2 steps`.
pub fn propagation_steps(exit: usize) -> String {
    format!("after {exit} step{}", if exit == 1 { "" } else { "s" })
}

pub fn whole_percent(share: f32) -> u8 {
    (100.0 * share).round().clamp(0.0, 100.0) as u8
}

/// Rounds to three decimals, more than a colour shows.
pub fn rounded(value: f32) -> f32 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_data::embedded::karate;

    #[test]
    fn a_graph_has_its_nodes_edges_and_classes() {
        let data = GraphData::new("karate", "member", &karate(), 0).unwrap();
        assert_eq!(
            (data.x.len(), data.y.len(), data.edges.len()),
            (34, 34, 156)
        );
        assert_eq!((data.classes.len(), data.channels.len()), (4, 1));
        assert!(data.sample.is_none());
        let json = serde_json::to_value(&data).unwrap();
        assert_eq!(json["channels"][0]["kind"], "class");
        assert_eq!(json["truth"][33], 0);
        assert!(json.get("shown").is_none() && json.get("attack").is_none());
    }

    #[test]
    fn a_large_graph_is_sampled() {
        let graph = gnarl_graph::generate::path(MOST_NODES + 10).unwrap();
        let data = GraphData::new("path", "node", &graph, 3).unwrap();
        let sample = data.sample.unwrap();
        assert_eq!(
            (sample.shown, sample.of, data.x.len()),
            (MOST_NODES, MOST_NODES + 10, MOST_NODES)
        );
        let numbers: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        assert_eq!(data.of_shown(&numbers), data.shown);
        assert!(data.edges.iter().all(|&u| (u as usize) < MOST_NODES));
    }
}
