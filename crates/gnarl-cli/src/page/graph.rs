//! A graph for a page: places, edges, and what may be said of every node.

use gnarl::study::portrait::{Portrait, Walk, WalkStep};
use gnarl_graph::centrality::Centrality;
use gnarl_graph::random::stream;
use gnarl_graph::{Features, Graph, Split};
use rand::seq::index::sample;
use serde::Serialize;

use super::layout::layout;

/// The most nodes that are drawn; of a larger graph so many at random.
pub const MOST_NODES: usize = 20_000;
/// Columns of features that a node's story names.
const WORDS: usize = 8;
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
    /// Where changes are answered, on a page that is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// Of a page that is served: the numbers of the nodes that are drawn, where those are not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<u32>>,
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

/// A model that answers while one looks.
#[derive(Debug, Clone, Serialize)]
pub struct Live {
    /// Where changes are sent, relative to the page.
    pub at: String,
    /// Columns that can be flipped; none where features are no zeros and ones.
    pub columns: usize,
    /// Per cent of the test nodes that are right without changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The model's axes, where it can be fitted with another choice.
    pub axes: Vec<LiveAxis>,
}

/// An axis that can be switched: what it is now, and what it may be.
#[derive(Debug, Clone, Serialize)]
pub struct LiveAxis {
    /// Its name.
    pub axis: &'static str,
    /// The model's own choice.
    pub now: String,
    /// The others.
    pub others: Vec<&'static str>,
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
    /// A graph with its places, names and true classes, coloured by them; of one that is too large,
    /// [`MOST_NODES`] nodes drawn from the seed.
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

    /// Of values of all nodes of the graph, those of the nodes that are drawn.
    pub fn of_shown<T: Clone>(&self, values: &[T]) -> Vec<T> {
        self.shown
            .iter()
            .map(|&u| values[u as usize].clone())
            .collect()
    }

    /// One more thing to colour by; the values are of the nodes that are drawn.
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

    /// The same of numbers, told apart by a few words.
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

/// What studies say of the nodes.
impl GraphData {
    /// A model's answers, and how sure it is of them.
    pub fn add_answers(&mut self, title: &str, portrait: &Portrait) {
        let predicted = self.of_shown(&portrait.predicted);
        let values: Vec<i64> = predicted.iter().map(|&class| i64::from(class)).collect();
        self.class_channel("predicted", title, &values, self.classes.clone());
        self.sure = Some(
            self.of_shown(&portrait.sure)
                .into_iter()
                .map(whole_percent)
                .collect(),
        );
        self.predicted = Some(predicted);
    }

    /// What every exit says, and which is taken; nothing of a model of one depth.
    pub fn add_exits(&mut self, title: &str, portrait: &Portrait) {
        let Some(exits) = &portrait.exits else { return };
        let names: Vec<String> = (0..exits.num_exits).map(rounds).collect();
        let taken = self.of_shown(&exits.taken);
        let values: Vec<i64> = taken.iter().map(|&exit| exit as i64).collect();
        self.class_channel("exit", title, &values, names.clone());
        let each = |&u: &u32| {
            let first = u as usize * exits.num_exits;
            first..first + exits.num_exits
        };
        self.exits = Some(Exits {
            names,
            said: self
                .shown
                .iter()
                .flat_map(each)
                .map(|at| exits.said[at])
                .collect(),
            sure: self
                .shown
                .iter()
                .flat_map(each)
                .map(|at| whole_percent(exits.sure[at]))
                .collect(),
            taken,
        });
    }

    /// How much likelier answers are than the next.
    pub fn add_margin(&mut self, portrait: &Portrait) {
        let margin = self
            .of_shown(&portrait.margin)
            .into_iter()
            .map(|m| Some(rounded(m)))
            .collect();
        let about = "how much likelier the answer is than the next, from 0 to 1";
        self.number_channel("margin", "margin", about, margin, None);
    }

    /// PageRank, as a multiple of its mean. O(iterations · edges).
    pub fn add_pagerank(&mut self, graph: &Graph) -> gnarl_graph::Result<()> {
        let ranks = Centrality::PageRank.scores(graph)?;
        let of_mean = |rank: f64| Some(rounded((rank * graph.num_nodes() as f64) as f32));
        let values = self.of_shown(&ranks).into_iter().map(of_mean).collect();
        self.number_channel(
            "pagerank",
            "PageRank",
            "1 is the mean; many walks pass where it is large",
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

    /// Who trains, validates and tests.
    pub fn add_parts(&mut self, graph: &Graph, split: &Split) {
        let mut part = vec![0; graph.num_nodes()];
        for (number, items) in [(1, split.train()), (2, split.val()), (3, split.test())] {
            items.iter().for_each(|&u| part[u as usize] = number);
        }
        self.part = Some(self.of_shown(&part));
    }

    /// Of each node the columns that fewest others have: they say most about it. Nothing of dense
    /// features.
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

    /// An attack from flip to flip; nothing where not all nodes are drawn.
    pub fn add_walk(&mut self, title: &str, walk: &Walk) {
        if self.sample.is_some() {
            return;
        }
        let step = |step: &WalkStep| AttackStep {
            flips: step.flips,
            accuracy: step.accuracy,
            turned: step
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

/// `after 2 rounds`
pub fn rounds(exit: usize) -> String {
    format!("after {exit} round{}", if exit == 1 { "" } else { "s" })
}

pub fn whole_percent(share: f32) -> u8 {
    (100.0 * share).round().clamp(0.0, 100.0) as u8
}

/// Three decimals are more than a colour shows.
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
    fn of_a_large_graph_a_sample_is_drawn_and_said() {
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
