//! `gnarl explore`: serves a graph and a model in a browser. The reader changes edges and features
//! or switches axes, and the predictions change.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::rc::Rc;

use clap::Args;
use gnarl::model::Fitted;
use gnarl::model::fit::FitOptions;
use gnarl::study::axes::Switched;
use gnarl::study::portrait::{Portrait, portrait};
use gnarl_data::Content;
use gnarl_data::Task;
use gnarl_graph::{CsrMatrix, Error, Features, Split};
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::Callbacks;
use gnarl_robust::perturb::{Pair, flipped};
use serde::{Deserialize, Serialize};

use super::load;
use super::model::ModelArgs;
use super::model_page::{ModelPage, accuracy};
use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::page::graph::{GraphData, Live, LiveAxis, rounded, whole_percent};
use crate::page::{Page, Section};
use crate::progress;
use crate::serve::{Request, Response, Server};

/// Arguments of `gnarl explore`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// A safetensors file written by `gnarl train --save`; without it, the model of --model is
    /// trained first [default: gcn]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "spec"], help_heading = "The page")]
    pub load: Option<PathBuf>,
    /// Port to listen on [default: a free port]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        help_heading = "The page"
    )]
    pub port: u16,
    /// Address to listen on; an address other than this machine's own admits others who have the
    /// secret
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), help_heading = "The page")]
    pub host: IpAddr,
    /// Number of requests after which the server ends
    #[arg(long, value_name = "N", hide = true)]
    pub max_requests: Option<usize>,
}

/// Trains or loads a model, then serves until Ctrl-C.
pub fn run(global: &Global, args: &ExploreArgs) -> anyhow::Result<()> {
    let stop = interrupt::flag();
    // The address is checked before anything is trained.
    let server = Server::bind(args.host, args.port).map_err(|e| {
        let what = format!(
            "cannot listen on {}:{}: {e}; choose another address with --host and --port",
            args.host, args.port
        );
        Error::argument("explore", what)
    })?;
    let Some(explored) = ExploredModel::new(global, args)? else {
        return Err(Interrupted::before_first(1).into());
    };
    let (data, page) = explored.page(global.seed)?;
    let url = server.url();
    let mut out = std::io::stdout().lock();
    if global.json {
        writeln!(out, "{}", serde_json::json!({ "url": url }))?;
    } else {
        writeln!(out, "open {url} in a browser; Ctrl-C ends it")?;
    }
    out.flush()?;
    drop(out);
    server.run(stop, args.max_requests, |request| {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "") => Response::page(page.clone()),
            ("POST", "change") => explored.respond(request, &data.shown),
            _ => Response::refused(404, "not found"),
        }
    })?;
    Ok(())
}

/// A graph and a model that predicts on changed copies of it.
struct ExploredModel {
    name: String,
    content: Content,
    split: Split,
    /// True if the test nodes of the split are known to be held out; otherwise they are all nodes.
    is_held_out: bool,
    fitted: Rc<Fitted>,
    before: Portrait,
    /// Copies of the model with axes switched, each fitted on its first request.
    others: RefCell<Vec<(Vec<Switched>, Rc<Fitted>)>>,
}

/// A request of the page: flips of edges and of features, and axes with their new choices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    edges: Vec<Pair>,
    features: Vec<(u32, u32)>,
    #[serde(default)]
    axes: BTreeMap<String, String>,
}

/// Predictions on a changed graph, for the nodes shown.
#[derive(Debug, Serialize)]
struct Changed {
    predicted: Vec<u32>,
    confidence: Vec<u8>,
    margin: Vec<f32>,
    /// Accuracy on the evaluated nodes in per cent; `None` without labels.
    accuracy: Option<f64>,
}

/// Largest number of flips in one request.
const MOST_FLIPS: usize = 1000;

impl ExploredModel {
    /// Trains or loads the model; `None` if the user requested a stop.
    fn new(global: &Global, args: &ExploreArgs) -> anyhow::Result<Option<Self>> {
        let callbacks = Callbacks::stopped_by(interrupt::flag());
        let (name, content, split, is_held_out, fitted) = match &args.load {
            Some(file) => {
                let data = load(global, &args.model.data)?;
                one_graph(&data.name, &data.content)?;
                let fitted = Fitted::load(file)?;
                match fitted.recognised(&data) {
                    Some(content) => (
                        data.name,
                        content,
                        fitted.trained_on().split.clone(),
                        true,
                        fitted,
                    ),
                    None => {
                        let all = (0..data.content.num_items() as u32).collect();
                        (
                            data.name,
                            data.content,
                            Split::new("all", Vec::new(), Vec::new(), all)?,
                            false,
                            fitted,
                        )
                    }
                }
            }
            None => {
                let described = args.model.or_model(Backbone::GCN);
                let (data, benchmark) = described.benchmark(global, 1)?;
                one_graph(&data.name, &benchmark.content)?;
                let model = described.model(&data.name, benchmark.content.task())?;
                let ready = model.ready(&data.name, &benchmark.content, FitOptions::default())?;
                let split = benchmark.splits[0].clone();
                let what = format!("training {} on {}", model.backbone, data.name);
                let fitted =
                    progress::during(&what, || ready.fit(&split, global.seed, &callbacks))?;
                (data.name, benchmark.content, split, true, fitted)
            }
        };
        if callbacks.stopped() {
            return Ok(None);
        }
        let before = portrait(&fitted, &content, &split)?;
        let others = RefCell::default();
        Ok(Some(Self {
            name,
            content,
            split,
            is_held_out,
            fitted: Rc::new(fitted),
            before,
            others,
        }))
    }

    /// Returns the drawn graph and the page around it.
    fn page(&self, seed: u64) -> anyhow::Result<(GraphData, String)> {
        let Self {
            name,
            content,
            split,
            is_held_out,
            fitted,
            before,
            ..
        } = self;
        let graph = content.graph()?;
        let model_page = ModelPage {
            name,
            graph,
            split,
            is_held_out: *is_held_out,
            fitted,
            portrait: before,
        };
        let mut data = model_page.graph_data(seed)?;
        let columns = match graph.features() {
            Some(features @ Features::Sparse(_))
                if features.values().iter().all(|v| *v == 0.0 || *v == 1.0) =>
            {
                features.num_cols()
            }
            _ => 0,
        };
        data.ids = data.sample.map(|_| data.shown.clone());
        data.live = Some(Live {
            at: "change".into(),
            columns,
            accuracy: model_page.accuracy(),
            axes: self.axes(),
        });
        let walk = Section::new("graph", "Change the graph or the model")
            .text("Choose a node and flip one of its edges or features: the fitted model predicts on the changed graph. Switch an axis: the model is fitted again on the same training nodes with the same seed.")
            .component(data.clone());
        let predictions = model_page.predictions("Predictions without changes");
        let page = Page::new(&model_page.title())
            .live()
            .section(walk)
            .section(predictions)
            .render()?;
        Ok((data, page))
    }

    /// Returns the predictions for a change, or the error in the request.
    fn respond(&self, request: &Request, shown: &[u32]) -> Response {
        let body = serde_json::from_slice::<Change>(&request.body)
            .map_err(|e| anyhow::anyhow!("invalid change: {e}"))
            .and_then(|change| self.changed(&change, shown))
            .and_then(|changed| Ok(serde_json::to_string(&changed)?));
        match body {
            Ok(json) => Response::json(json),
            Err(e) => Response::refused(400, &e.to_string()),
        }
    }

    /// Returns the axes that can be switched; none if the graph is not the training graph of the
    /// model.
    fn axes(&self) -> Vec<LiveAxis> {
        let mut axes: Vec<LiveAxis> = Vec::new();
        if !self.is_held_out {
            return axes;
        }
        let model = self.fitted.model();
        for Switched { axis, choice } in Switched::all(Task::Node) {
            let now = match axis {
                "operator" if matches!(model.operator, OperatorChoice::Cgso(_)) => "cgso".into(),
                "operator" => model.operator.to_string(),
                "depth" => model.depth.name().to_string(),
                "weights" => model.weights.name().to_string(),
                "inference" => model.inference.name().to_string(),
                _ => model.augment.name().to_string(),
            };
            if now == choice {
                continue;
            }
            match axes.iter_mut().find(|known| known.axis == axis) {
                Some(known) => known.others.push(choice),
                None => axes.push(LiveAxis {
                    axis,
                    current: now,
                    others: vec![choice],
                }),
            }
        }
        axes
    }

    /// Returns the model with axes switched; fits it on the first request.
    fn with_axes(&self, requested: &BTreeMap<String, String>) -> anyhow::Result<Rc<Fitted>> {
        if requested.is_empty() {
            return Ok(self.fitted.clone());
        }
        let refused = |what: String| Error::argument("explore", what);
        let offered = self.axes();
        let mut switched = Vec::new();
        for (axis, choice) in requested {
            let known = offered.iter().find(|known| known.axis == axis);
            let found = known.and_then(|known| {
                known
                    .others
                    .iter()
                    .find(|other| *other == choice)
                    .map(|c| (known.axis, *c))
            });
            let (axis, choice) = found.ok_or_else(|| {
                refused(format!(
                    "the axis '{axis}' cannot be switched to '{choice}' here"
                ))
            })?;
            switched.push(Switched { axis, choice });
        }
        if let Some((_, fitted)) = self
            .others
            .borrow()
            .iter()
            .find(|(known, _)| *known == switched)
        {
            return Ok(fitted.clone());
        }
        let options: Vec<_> = switched
            .iter()
            .map(|s| (s.axis.to_string(), s.choice.to_string()))
            .collect();
        let model = self.fitted.model().over(&options)?;
        let ready = model.ready(&self.name, &self.content, FitOptions::default())?;
        let callbacks = Callbacks::stopped_by(interrupt::flag());
        let fitted = Rc::new(ready.fit(&self.split, self.fitted.seed(), &callbacks)?);
        if callbacks.stopped() {
            return Err(refused("the server is stopping".into()).into());
        }
        self.others.borrow_mut().push((switched, fitted.clone()));
        Ok(fitted)
    }

    fn changed(&self, change: &Change, shown: &[u32]) -> anyhow::Result<Changed> {
        let (graph, fitted) = (self.content.graph()?, self.with_axes(&change.axes)?);
        let refused = |what: String| Error::argument("explore", what);
        if change.edges.len() + change.features.len() > MOST_FLIPS {
            return Err(refused(format!("at most {MOST_FLIPS} flips are possible at once")).into());
        }
        let n = graph.num_nodes() as u32;
        let mut pairs: Vec<Pair> = change
            .edges
            .iter()
            .map(|&(u, v)| (u.min(v), u.max(v)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        if let Some((u, v)) = pairs.iter().find(|(u, v)| u == v || *v >= n) {
            return Err(refused(format!(
                "{u} and {v} are not two different nodes of 0 to {}",
                n - 1
            ))
            .into());
        }
        let graph = flipped(graph, &pairs)?;
        let graph = match graph.features() {
            Some(Features::Sparse(matrix)) if !change.features.is_empty() => {
                let new = with_flips(matrix, &change.features)?;
                graph.with_features(Features::Sparse(new))?
            }
            _ if !change.features.is_empty() => {
                return Err(refused("only sparse features can be flipped".into()).into());
            }
            _ => graph,
        };
        let after = portrait(&fitted, &Content::Graph(graph), &self.split)?;
        let of = |u: &u32| *u as usize;
        Ok(Changed {
            predicted: shown.iter().map(|u| after.predicted[of(u)]).collect(),
            confidence: shown
                .iter()
                .map(|u| whole_percent(after.confidence[of(u)]))
                .collect(),
            margin: shown.iter().map(|u| rounded(after.margin[of(u)])).collect(),
            accuracy: accuracy(&after),
        })
    }
}

fn one_graph(name: &str, content: &Content) -> gnarl_graph::Result<()> {
    match content {
        Content::Graph(_) => Ok(()),
        Content::Graphs(set) => {
            let what = format!(
                "{name} is a set of {} graphs, and explore needs one graph",
                set.len()
            );
            Err(Error::argument("explore", what))
        }
    }
}

/// Flips binary features: zeros become ones and ones become zeros.
fn with_flips(
    matrix: &CsrMatrix<f32>,
    flips: &[(u32, u32)],
) -> gnarl_graph::Result<CsrMatrix<f32>> {
    let (rows, cols) = (matrix.num_rows(), matrix.num_cols());
    if let Some((u, column)) = flips
        .iter()
        .find(|(u, c)| *u as usize >= rows || *c as usize >= cols)
    {
        let what =
            format!("node {u} has no column {column}: there are {rows} nodes and {cols} columns");
        return Err(Error::argument("explore", what));
    }
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for u in 0..rows {
        let (columns, entries) = matrix.row(u);
        let mut row: BTreeMap<u32, f32> = columns
            .iter()
            .copied()
            .zip(entries.iter().copied())
            .collect();
        for &(_, column) in flips.iter().filter(|(at, _)| *at as usize == u) {
            if row.get(&column).is_some_and(|value| *value != 0.0) {
                row.remove(&column);
            } else {
                row.insert(column, 1.0);
            }
        }
        indices.extend(row.keys());
        values.extend(row.values());
        offsets.push(indices.len() as u64);
    }
    CsrMatrix::new(cols, offsets, indices, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_flip_both_ways_and_only_those_asked_for() {
        let matrix = CsrMatrix::new(3, vec![0, 1, 3], vec![1, 0, 2], vec![1.0f32; 3]).unwrap();
        let new = with_flips(&matrix, &[(0, 1), (0, 2), (1, 1)]).unwrap();
        assert_eq!((new.row(0).0, new.row(1).0), (&[2][..], &[0, 1, 2][..]));
        assert_eq!(with_flips(&new, &[(0, 1), (0, 2), (1, 1)]).unwrap(), matrix);
        let e = with_flips(&matrix, &[(2, 0)]).unwrap_err().to_string();
        assert!(e.contains("node 2 has no column 0"), "{e}");
    }
}
