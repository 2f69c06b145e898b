//! Page about a fitted model on one graph.
//!
//! It shows the graph with the predictions of every node, the learning curves, the calibration, the
//! confusion matrix, an embedding (PCA), and an attack flip by flip.

use std::path::Path;

use gnarl::model::Fitted;
use gnarl::study::portrait::{Portrait, Walk, portrait};
use gnarl_data::Content;
use gnarl_graph::{Error, Graph, Split};

use crate::output::{self, count};
use crate::page::graph::{GraphData, rounded};
use crate::page::{Axis, Calibration, Component, Confusion, Lines, Page, Scatter, Section, Series};

/// A model, and the graph on which it is evaluated.
pub struct ModelPage<'a> {
    /// Name of the dataset.
    pub name: &'a str,
    /// The graph.
    pub graph: &'a Graph,
    /// Split whose test nodes are evaluated.
    pub split: &'a Split,
    /// True if the test nodes are known to be held out; otherwise they are all nodes.
    pub is_held_out: bool,
    /// The model.
    pub fitted: &'a Fitted,
    /// Predictions of the model and their statistics.
    pub portrait: &'a Portrait,
}

impl ModelPage<'_> {
    /// Returns the title, as in `gcn on cora`.
    pub fn title(&self) -> String {
        format!("{} on {}", self.fitted.model().backbone, self.name)
    }

    /// Returns the graph with all node values.
    pub fn graph_data(&self, seed: u64) -> gnarl_graph::Result<GraphData> {
        let Self {
            name,
            graph,
            portrait,
            ..
        } = *self;
        let mut data = GraphData::new(name, "node", graph, seed)?;
        if data.classes.is_empty() {
            data.classes = self.fitted.classes().to_vec();
        }
        data.add_predictions("prediction", portrait);
        data.add_exits("exit taken", portrait);
        data.add_margin(portrait);
        data.add_pagerank(graph)?;
        if self.is_held_out {
            data.add_parts(graph, self.split);
        }
        data.add_words("rarest features", graph);
        Ok(data)
    }

    /// Returns the accuracy on the evaluated nodes in per cent; `None` without labels.
    pub fn accuracy(&self) -> Option<f64> {
        accuracy(self.portrait)
    }

    /// Describes the evaluated nodes.
    fn evaluated_nodes(&self) -> &'static str {
        if self.is_held_out {
            "test nodes"
        } else {
            "all nodes; none is known to be held out"
        }
    }

    /// Builds the section about the reliability of the predictions.
    pub fn predictions(&self, title: &str) -> Section {
        let Portrait {
            calibration,
            confusion,
            plane,
            predicted,
            ..
        } = self.portrait;
        let mut drawings: Vec<Component> = Vec::new();
        if self.accuracy().is_some() {
            drawings.push(Calibration::of("Calibration", calibration).into());
            let classes = self.fitted.classes().to_vec();
            let title = "Confusion matrix".to_string();
            drawings.push(
                Confusion {
                    title,
                    classes,
                    counts: confusion.clone(),
                }
                .into(),
            );
        }
        // For nodes without a class, and for classes outside the model, the prediction replaces the
        // true class.
        let known = self
            .graph
            .labels()
            .map(|labels| (labels, self.fitted.matched(labels)));
        let truth = |u: usize| {
            let (labels, known) = known.as_ref()?;
            known[labels.get(u as u32)? as usize]
        };
        drawings.push(
            Scatter {
                title: "Embedding (PCA)".into(),
                label:
                    "nodes by the first two principal components of their class probabilities (square roots), coloured by class"
                        .into(),
                x: plane.iter().map(|p| rounded(p[0])).collect(),
                y: plane.iter().map(|p| rounded(p[1])).collect(),
                classes: self.fitted.classes().to_vec(),
                values: predicted.iter().enumerate().map(|(u, &class)| truth(u).unwrap_or(class)).collect(),
                wrong: predicted
                    .iter()
                    .enumerate()
                    .map(|(u, &class)| u8::from(truth(u).is_some_and(|t| t != class)))
                    .collect(),
            }
            .into(),
        );
        Section::new("predictions", title)
            .text(&format!("Evaluated on {}.", self.evaluated_nodes()))
            .side_by_side(drawings)
    }

    /// Plots loss and validation accuracy by epoch, a line for each training.
    fn learning(&self) -> Option<Section> {
        let trained = &self.fitted.report().trained;
        let longest = trained
            .iter()
            .map(|training| training.curve.len())
            .max()
            .filter(|length| *length > 1)?;
        let name = |i: usize| {
            if trained.len() == 1 {
                "this run".to_string()
            } else {
                format!("training {}", i + 1)
            }
        };
        let lines =
            |title: &str, label: &str, of: &dyn Fn(&gnarl_nn::train::Epoch) -> Option<f64>| {
                let series = trained.iter().enumerate().filter_map(|(i, training)| {
                    let values: Vec<f64> = training.curve.iter().filter_map(of).collect();
                    (!values.is_empty()).then(|| Series {
                        name: name(i),
                        values,
                        ..Series::default()
                    })
                });
                let series: Vec<Series> = series.collect();
                let (x, y) = (Axis::of("epoch"), Axis::of(label));
                (!series.is_empty()).then(|| {
                    Component::from(Lines {
                        title: title.into(),
                        x,
                        y,
                        series,
                    })
                })
            };
        let loss = lines("Loss", "training loss", &|epoch| {
            Some(f64::from(epoch.loss))
        });
        let validation = lines("Validation", "validation accuracy, %", &|epoch| {
            epoch.validation.map(|v| v.accuracy)
        });
        let drawings: Vec<Component> = loss.into_iter().chain(validation).collect();
        let about = format!(
            "{} epochs; the weights of the best epoch on validation nodes are kept.",
            count(longest as u64)
        );
        Some(
            Section::new("learning", "Learning curves")
                .text(&about)
                .side_by_side(drawings),
        )
    }

    /// Renders the page, with an attack if there is one: its name and its flips.
    pub fn page(&self, walk: Option<(&str, &Walk)>, seed: u64) -> anyhow::Result<String> {
        let mut data = self.graph_data(seed)?;
        if let Some((title, walk)) = walk {
            data.add_walk(title, walk);
        }
        let mut tiles = vec![
            (count(self.graph.num_nodes() as u64), "nodes".to_string()),
            (count(self.graph.num_edges() as u64), "edges".to_string()),
        ];
        if let Some(accuracy) = self.accuracy() {
            tiles.insert(
                0,
                (
                    format!("{accuracy:.1} %"),
                    format!("accuracy on {}", self.evaluated_nodes()),
                ),
            );
        }
        if let Some(last) = walk.and_then(|(_, walk)| walk.steps.last()) {
            tiles.insert(
                1,
                (
                    format!("{:.1} %", last.accuracy),
                    format!("after {} flips", count(last.flips as u64)),
                ),
            );
        }
        let about = match walk {
            Some(_) => {
                "Colour nodes by class, prediction, margin or centrality; the slider shows the attack flip by flip."
            }
            None => {
                "Colour nodes by class, prediction, margin or centrality; search for a node to see its details."
            }
        };
        let mut page = Page::new(&self.title())
            .lead("<p>A single run of one model. <code>gnarl train --runs 10</code> reports the accuracy over several runs.</p>\n")
            .tiles(&tiles)
            .section(Section::new("graph", "The graph").text(about).component(data));
        if let Some((title, walk)) = walk {
            page = page.section(attack_section(title, walk, self.graph.num_edges()));
        }
        page = page.section(self.predictions("Predictions"));
        if let Some(learning) = self.learning() {
            page = page.section(learning);
        }
        Ok(page.render()?)
    }
}

/// Computes the accuracy of a portrait on the evaluated nodes in per cent; `None` without labels.
pub fn accuracy(of: &Portrait) -> Option<f64> {
    let all: usize = of.confusion.iter().flatten().sum();
    let correct: usize = of
        .confusion
        .iter()
        .enumerate()
        .map(|(class, row)| row[class])
        .sum();
    (all > 0).then(|| 100.0 * correct as f64 / all as f64)
}

/// Builds the section about the effect of an attack, flip by flip.
fn attack_section(title: &str, walk: &Walk, edges: usize) -> Section {
    let shares: Vec<f64> = walk
        .steps
        .iter()
        .map(|s| 100.0 * s.flips as f64 / edges.max(1) as f64)
        .collect();
    let line = |title: &str, label: &str, values: Vec<f64>| {
        let (x, y) = (
            Axis::at("flips, % of the edges", shares.clone()),
            Axis::of(label),
        );
        Component::from(Lines {
            title: title.into(),
            x,
            y,
            series: vec![Series {
                name: "this run".into(),
                values,
                ..Series::default()
            }],
        })
    };
    let accuracy = walk.steps.iter().map(|step| step.accuracy).collect();
    let changed = walk
        .steps
        .iter()
        .map(|step| step.turned.len() as f64)
        .collect();
    Section::new("attack", "The attack")
        .text(&format!(
            "{title}: {} flips, in their order.",
            count(walk.flips.len() as u64)
        ))
        .side_by_side(vec![
            line("Accuracy by flips", "test accuracy, %", accuracy),
            line("Nodes whose prediction changed", "nodes", changed),
        ])
}

/// Fails if a page of nodes is requested for a set of graphs.
pub fn check(name: &str, content: &Content) -> gnarl_graph::Result<()> {
    match content {
        Content::Graph(_) => Ok(()),
        Content::Graphs(set) => {
            let what = format!(
                "{name} is a set of {} graphs, and a page shows one graph",
                set.len()
            );
            Err(Error::argument("--page", what))
        }
    }
}

/// Writes the page of a model on its training graph.
pub fn write(
    file: &Path,
    name: &str,
    content: &Content,
    fitted: &Fitted,
    walk: Option<(&str, &Walk)>,
    seed: u64,
) -> anyhow::Result<()> {
    let split = &fitted.trained_on().split;
    let portrait = portrait(fitted, content, split)?;
    let graph = content.graph()?;
    let page = ModelPage {
        name,
        graph,
        split,
        is_held_out: true,
        fitted,
        portrait: &portrait,
    };
    Ok(output::write_whole(file, page.page(walk, seed)?)?)
}
