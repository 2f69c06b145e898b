//! `gnarl cluster`: finds communities and compares them with the ground truth, over many SBBAM
//! graphs, on one dataset, or over a grid of exponents.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl_graph::centrality::{Centrality, core_numbers};
use gnarl_graph::community::study::{
    GridCell, GridConfig, Score, exponent_grid, graph_clusters, sbbam_scores, score,
};
use gnarl_graph::community::{ClusterConfig, Method};
use gnarl_graph::generate::{self, Attachment, SbbamConfig};
use gnarl_graph::{Error, Graph, Labels};
use serde::Serialize;

use super::load_graph;
use crate::global::Global;
use crate::node_id::{self, NodeId};
use crate::output::{self, Report, count, real};
use crate::plot::{self, HeatMap, HeatMaps};
use crate::progress;
use gnarl::study::Accuracy;

/// The study whose graphs are sampled, not loaded.
const SBBAM: &str = "sbbam";
/// Number of graphs in the published SBBAM study.
const GRAPHS: usize = 200;
/// Number of nodes above which the JSON lists their clusters only with `--assignment`.
const MANY_NODES: usize = 100_000;

/// Arguments of `gnarl cluster`.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Dataset: `sbbam` (many graphs are sampled), a name of `gnarl data list`, `karate`, `csbm`,
    /// or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Clustering method: cgso, louvain, fast-greedy, walktrap or node2vec
    #[arg(long, default_value = "cgso")]
    pub method: Method,
    /// Centrality of cgso: degree, core, pagerank, walks or walks:LENGTH; with --grid several, as
    /// in degree,core [default: core, with --grid all four]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub centrality: Vec<Centrality>,
    /// Left exponent of V^e2 A V^e3 [default: -0.5]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        conflicts_with = "grid"
    )]
    pub e2: Option<f64>,
    /// Right exponent of V^e2 A V^e3 [default: -0.5]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        conflicts_with = "grid"
    )]
    pub e3: Option<f64>,
    /// Number of clusters to find
    /// [default: number of true classes; for fast-greedy and walktrap, the clustering of largest
    /// modularity]
    #[arg(long, value_name = "C", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub clusters: Option<usize>,
    /// Number of sbbam graphs [default: 200]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub graphs: Option<usize>,
    /// Preferential attachment in the blocks of sbbam: repeated (with replacement, as PyTorch
    /// Geometric does) or distinct (to distinct nodes) [default: repeated]
    #[arg(long, value_name = "HOW")]
    pub attachment: Option<Attachment>,
    /// Number of runs on a dataset, from consecutive seeds [default: 1]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: Option<usize>,
    /// Number of k-means restarts [default: 200]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub n_init: Option<usize>,
    /// Ground truth for the comparison: labels, or core for core numbers
    /// [default: labels if there are any, with --grid core]
    #[arg(long)]
    pub truth: Option<Truth>,
    /// Write the cluster of every node in the first run to this CSV file
    #[arg(long, value_name = "FILE", conflicts_with = "grid")]
    pub output: Option<PathBuf>,
    /// List the cluster of every node in the JSON even for more than 100,000 nodes
    #[arg(long, conflicts_with = "grid")]
    pub assignment: bool,
    /// Use the largest connected component alone; --grid always does
    #[arg(long)]
    pub largest_component: bool,
    /// Run cgso for every e2 and e3 from -1.5 to 1.5, as CSV and heat maps
    #[arg(long)]
    pub grid: bool,
    /// Step between the exponents of the grid [default: 0.25]
    #[arg(long, value_name = "X", requires = "grid")]
    pub step: Option<f64>,
    /// Folder for the files of the grid
    #[arg(long, value_name = "DIR", default_value = "gnarl-results")]
    pub out: PathBuf,
}

gnarl_graph::named! {
    /// Ground truth that clusters are compared with.
    pub enum Truth as "truth" {
        /// Classes of the dataset, or blocks of SBBAM.
        Labels = "labels",
        /// Core numbers.
        Core = "core",
    }
}

/// Result of `gnarl cluster`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ClusterReport {
    /// Scores of one configuration.
    Scores(Box<Scores>),
    /// Scores over a grid of exponents.
    Grid(Box<Grid>),
}

/// Configuration needed to run the clustering again; settings that do not apply are null.
#[derive(Debug, Clone, Serialize)]
struct Config {
    data: String,
    method: &'static str,
    centrality: Option<Vec<String>>,
    e2: Option<f64>,
    e3: Option<f64>,
    clusters: Option<usize>,
    n_init: Option<usize>,
    graphs: Option<usize>,
    attachment: Option<&'static str>,
    runs: Option<usize>,
    truth: Option<Truth>,
    largest_component: bool,
    step: Option<f64>,
    seed: u64,
}

/// Scores of one configuration over graphs or runs. AMI and ARI are in per cent.
#[derive(Debug, Serialize)]
pub struct Scores {
    data: String,
    method: &'static str,
    nodes: usize,
    /// Number of edges of one graph; null if many graphs are sampled.
    edges: Option<usize>,
    /// Adjusted mutual information; null without a ground truth, as is ARI.
    ami: Option<Accuracy>,
    ari: Option<Accuracy>,
    /// Number of clusters found.
    clusters: Accuracy,
    /// Cluster of each node in the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignment: Option<Vec<Assigned>>,
    /// File with the clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    seconds: f64,
    config: Config,
}

/// A node and its cluster.
#[derive(Debug, Serialize)]
struct Assigned {
    node: NodeId,
    cluster: u32,
}

/// Scores over a grid of exponents, for each centrality. AMI and ARI are in per cent.
#[derive(Debug, Serialize)]
pub struct Grid {
    data: String,
    nodes: usize,
    edges: usize,
    grids: Vec<CentralityGrid>,
    /// Files: CSV, then SVG and PNG of AMI and of ARI.
    files: Vec<String>,
    seconds: f64,
    config: Config,
}

#[derive(Debug, Serialize)]
struct CentralityGrid {
    centrality: String,
    best_ami: Best,
    best_ari: Best,
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Best {
    e2: f64,
    e3: f64,
    value: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Cell {
    e2: f64,
    e3: f64,
    ami: f64,
    ami_std: f64,
    ari: f64,
    ari_std: f64,
}

/// Clusters, compares with the ground truth, and plots a grid.
pub fn run(global: &Global, args: &ClusterArgs) -> anyhow::Result<ClusterReport> {
    args.check()?;
    let started = Instant::now();
    Ok(if args.grid {
        ClusterReport::Grid(Box::new(grid(global, args, started)?))
    } else if args.is_sbbam() {
        ClusterReport::Scores(Box::new(sbbam(global, args, started)?))
    } else {
        ClusterReport::Scores(Box::new(dataset(global, args, started)?))
    })
}

/// Option that would have no effect if it were given.
struct Unused {
    is_given: bool,
    option: &'static str,
    why: &'static str,
}

impl ClusterArgs {
    /// Fails if an option would have no effect.
    fn check(&self) -> gnarl_graph::Result<()> {
        let of_method = self.without_effect_on_method();
        let of_data = self.without_effect_on_data();
        match of_method.into_iter().chain(of_data).find(|u| u.is_given) {
            None => Ok(()),
            Some(Unused { option, why, .. }) => {
                Err(Error::argument(option, format!("does not apply: {why}")))
            }
        }
    }

    /// Returns the options that the clustering method does not use.
    fn without_effect_on_method(&self) -> [Unused; 6] {
        let method = self.method;
        let is_other = method != Method::Cgso;
        let exponents = self.e2.is_some() || self.e3.is_some();
        [
            Unused {
                is_given: !self.centrality.is_empty() && is_other,
                option: "--centrality",
                why: "only cgso has a centrality",
            },
            Unused {
                is_given: exponents && is_other,
                option: "--e2, --e3",
                why: "only cgso has exponents",
            },
            Unused {
                is_given: self.grid && is_other,
                option: "--grid",
                why: "only cgso has exponents",
            },
            Unused {
                is_given: self.n_init.is_some() && !method.uses_kmeans(),
                option: "--n-init",
                why: "only cgso and node2vec end with k-means",
            },
            Unused {
                is_given: self.clusters.is_some() && method == Method::Louvain,
                option: "--clusters",
                why: "louvain determines the number of clusters",
            },
            Unused {
                is_given: self.centrality.len() > 1 && !self.grid,
                option: "--centrality",
                why: "several centralities need --grid",
            },
        ]
    }

    /// Returns the options that the data does not use.
    fn without_effect_on_data(&self) -> [Unused; 7] {
        const MANY: &str = "sbbam samples many graphs, whose nodes have no names";
        let study = self.is_sbbam() && !self.grid;
        [
            Unused {
                is_given: self.graphs.is_some() && !study,
                option: "--graphs",
                why: "only --data sbbam samples several graphs, and --grid uses one",
            },
            Unused {
                is_given: self.attachment.is_some() && !self.is_sbbam(),
                option: "--attachment",
                why: "only --data sbbam has blocks that grow",
            },
            Unused {
                is_given: self.runs.is_some() && study,
                option: "--runs",
                why: "sbbam has --graphs, with one run on each",
            },
            Unused {
                is_given: self.truth.is_some() && study,
                option: "--truth",
                why: "the ground truth of sbbam is its blocks",
            },
            Unused {
                is_given: self.output.is_some() && study,
                option: "--output",
                why: MANY,
            },
            Unused {
                is_given: self.assignment && study,
                option: "--assignment",
                why: MANY,
            },
            Unused {
                is_given: self.largest_component && study,
                option: "--largest-component",
                why: "sbbam uses whole graphs",
            },
        ]
    }

    fn is_sbbam(&self) -> bool {
        self.data.eq_ignore_ascii_case(SBBAM)
    }

    /// Returns the configuration of the SBBAM model.
    fn sbbam(&self) -> SbbamConfig {
        let study = SbbamConfig::published();
        SbbamConfig {
            attachment: self.attachment.unwrap_or(study.attachment),
            ..study
        }
    }

    fn truth(&self) -> Truth {
        self.truth.unwrap_or(if self.grid {
            Truth::Core
        } else {
            Truth::Labels
        })
    }

    fn cluster_config(&self) -> ClusterConfig {
        let study = ClusterConfig::new(self.method);
        ClusterConfig {
            centrality: self.centrality.first().copied().unwrap_or(study.centrality),
            e2: self.e2.unwrap_or(study.e2),
            e3: self.e3.unwrap_or(study.e3),
            clusters: self.clusters,
            n_init: self.n_init.unwrap_or(study.n_init),
            ..study
        }
    }

    fn config(&self, global: &Global, data: &str, clusters: Option<usize>) -> Config {
        let cluster = self.cluster_config();
        let cgso = self.method == Method::Cgso;
        let plain = cgso && !self.grid;
        let study = self.is_sbbam() && !self.grid;
        Config {
            data: data.to_string(),
            method: self.method.name(),
            centrality: plain.then(|| vec![cluster.centrality.to_string()]),
            e2: plain.then_some(cluster.e2),
            e3: plain.then_some(cluster.e3),
            clusters,
            n_init: self.method.uses_kmeans().then_some(cluster.n_init),
            graphs: study.then_some(self.graphs.unwrap_or(GRAPHS)),
            attachment: self.is_sbbam().then(|| self.sbbam().attachment.name()),
            runs: (!study).then_some(self.runs.unwrap_or(1)),
            truth: Some(self.truth()),
            largest_component: self.largest_component || self.grid,
            step: None,
            seed: global.seed,
        }
    }
}

fn sbbam(global: &Global, args: &ClusterArgs, started: Instant) -> anyhow::Result<Scores> {
    let model = args.sbbam();
    let graphs = args.graphs.unwrap_or(GRAPHS);
    let bar = progress::steps("clustering", graphs as u64);
    let scores = sbbam_scores(&model, graphs, &args.cluster_config(), global.seed, &|| {
        bar.inc(1)
    })?;
    bar.finish_and_clear();
    let blocks = args.method.uses_kmeans().then_some(model.block_sizes.len());
    let config = args.config(global, SBBAM, args.clusters.or(blocks));
    let clusters = scores.iter().map(|score| score.clusters as f64).collect();
    Scores::new(
        config,
        (model.block_sizes.iter().sum(), None),
        &scores,
        clusters,
        started,
    )
}

fn dataset(global: &Global, args: &ClusterArgs, started: Instant) -> anyhow::Result<Scores> {
    let Clustered {
        data,
        graph,
        nodes,
        truth,
    } = Clustered::load(global, args)?;
    let clusters = args.clusters.or(truth
        .as_ref()
        .filter(|_| args.method.uses_kmeans())
        .map(num_classes));
    if args.method.uses_kmeans() && clusters.is_none() {
        let what = format!(
            "{data} has no labels to count, and {} needs the number of clusters; name it with --clusters N",
            args.method
        );
        return Err(Error::argument("--clusters", what).into());
    }
    let runs = args.runs.unwrap_or(1);
    let bar = progress::steps("clustering", runs as u64);
    let settings = ClusterConfig {
        clusters,
        ..args.cluster_config()
    };
    let cluster = || graph_clusters(&graph, &settings, runs, global.seed, &|| bar.inc(1));
    let found = if runs > 1 {
        cluster()
    } else {
        progress::during(&format!("clustering {data}"), cluster)
    }?;
    bar.finish_and_clear();
    let scores = match &truth {
        Some(truth) => found
            .iter()
            .map(|found| score(found, truth))
            .collect::<gnarl_graph::Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    let config = Config {
        truth: truth.map(|_| args.truth()),
        ..args.config(global, &data, clusters)
    };
    let counts = found
        .iter()
        .map(|found| num_clusters(found) as f64)
        .collect();
    let size = (graph.num_nodes(), Some(graph.num_edges()));
    let report = Scores::new(config, size, &scores, counts, started)?;
    report.with_assignment(args, &nodes, found.first().map_or(&[], Vec::as_slice))
}

/// A graph, or its largest component, with the ground truth of its clusters.
struct Clustered {
    data: String,
    graph: Graph,
    /// Nodes, by their names or numbers in the whole graph.
    nodes: Vec<NodeId>,
    /// Ground truth; `None` without labels if nothing else was requested.
    truth: Option<Labels>,
}

impl Clustered {
    fn load(global: &Global, args: &ClusterArgs) -> anyhow::Result<Self> {
        let (data, whole) = if args.is_sbbam() {
            (
                SBBAM.to_string(),
                generate::sbbam(&args.sbbam(), global.seed)?,
            )
        } else {
            load_graph(global, &args.data, "cluster")?
        };
        let (graph, kept) = if args.largest_component || args.grid {
            whole.largest_component()
        } else {
            (whole.clone(), (0..whole.num_nodes() as u32).collect())
        };
        let nodes = kept.into_iter().map(|u| NodeId::of(&whole, u)).collect();
        let truth = match args.truth() {
            Truth::Core => Some(Labels::from_values(
                core_numbers(&graph).into_iter().map(|k| Some(i64::from(k))),
            )),
            Truth::Labels => graph
                .labels()
                .filter(|labels| num_classes(labels) > 0)
                .cloned(),
        };
        if truth.is_none() && args.truth.is_some() {
            let what = format!("{data} has no labels; --truth core compares with core numbers");
            return Err(Error::argument("--truth", what).into());
        }
        Ok(Self {
            data,
            graph,
            nodes,
            truth,
        })
    }
}

fn num_clusters(found: &[u32]) -> usize {
    found.iter().collect::<std::collections::HashSet<_>>().len()
}

/// Returns the number of classes that have a node.
fn num_classes(truth: &Labels) -> usize {
    truth.counts().iter().filter(|nodes| **nodes > 0).count()
}

impl Scores {
    /// Builds the report: nodes and edges, scores if there is a ground truth, and clusters by run.
    fn new(
        config: Config,
        (nodes, edges): (usize, Option<usize>),
        scores: &[Score],
        clusters: Vec<f64>,
        started: Instant,
    ) -> anyhow::Result<Self> {
        let spread = |of: fn(&Score) -> f64| {
            (!scores.is_empty())
                .then(|| Accuracy::of(scores.iter().map(of).collect()))
                .transpose()
        };
        Ok(Self {
            data: config.data.clone(),
            method: config.method,
            nodes,
            edges,
            ami: spread(|s| 100.0 * s.ami)?,
            ari: spread(|s| 100.0 * s.ari)?,
            clusters: Accuracy::of(clusters)?,
            assignment: None,
            output: None,
            seconds: started.elapsed().as_secs_f64(),
            config,
        })
    }

    /// Adds the cluster of each node to the requested file and, up to [`MANY_NODES`] nodes, to the
    /// report.
    fn with_assignment(
        mut self,
        args: &ClusterArgs,
        nodes: &[NodeId],
        found: &[u32],
    ) -> anyhow::Result<Self> {
        if let Some(file) = &args.output {
            let rows = nodes
                .iter()
                .zip(found)
                .map(|(node, cluster)| [node.to_string(), cluster.to_string()]);
            output::write_whole(file, node_id::csv(["node", "cluster"], rows)?)?;
            self.output = Some(file.display().to_string());
        }
        if args.assignment || nodes.len() <= MANY_NODES {
            let assigned = |(node, &cluster): (&NodeId, &u32)| Assigned {
                node: node.clone(),
                cluster,
            };
            self.assignment = Some(nodes.iter().zip(found).map(assigned).collect());
        }
        Ok(self)
    }
}

fn grid(global: &Global, args: &ClusterArgs, started: Instant) -> anyhow::Result<Grid> {
    let Clustered {
        data, graph, truth, ..
    } = Clustered::load(global, args)?;
    let truth = truth.ok_or_else(|| {
        Error::argument(
            "--truth",
            format!("{data} has no labels; --truth core compares with core numbers"),
        )
    })?;
    let clusters = args.clusters.unwrap_or_else(|| num_classes(&truth));
    let study = GridConfig::new(clusters);
    let settings = GridConfig {
        step: args.step.unwrap_or(study.step),
        n_init: args.n_init.unwrap_or(study.n_init),
        runs: args.runs.unwrap_or(study.runs),
        ..study
    };
    let exponents = settings.exponents()?;
    // Before the work: a folder that cannot be made should fail at once.
    std::fs::create_dir_all(&args.out).map_err(|e| Error::io(&args.out, e))?;
    let centralities = if args.centrality.is_empty() {
        Centrality::ALL.to_vec()
    } else {
        args.centrality.clone()
    };
    let bar = progress::steps(
        "clustering",
        (centralities.len() * exponents.len().pow(2)) as u64,
    );
    let mut grids = Vec::new();
    for &centrality in &centralities {
        let cells = exponent_grid(&graph, centrality, &truth, &settings, global.seed, &|| {
            bar.inc(1)
        })?;
        grids.push(CentralityGrid::new(centrality, &cells));
    }
    bar.finish_and_clear();
    let config = Config {
        centrality: Some(centralities.iter().map(ToString::to_string).collect()),
        step: Some(settings.step),
        ..args.config(global, &data, Some(clusters))
    };
    let (nodes, edges) = (graph.num_nodes(), graph.num_edges());
    let mut grid = Grid {
        data,
        nodes,
        edges,
        grids,
        files: Vec::new(),
        seconds: 0.0,
        config,
    };
    grid.files = grid.write(&args.out, &exponents)?;
    grid.seconds = started.elapsed().as_secs_f64();
    Ok(grid)
}

impl CentralityGrid {
    fn new(centrality: Centrality, cells: &[GridCell]) -> Self {
        let per_cent = |cell: &GridCell| Cell {
            e2: cell.e2,
            e3: cell.e3,
            ami: 100.0 * cell.ami.mean,
            ami_std: 100.0 * cell.ami.std,
            ari: 100.0 * cell.ari.mean,
            ari_std: 100.0 * cell.ari.std,
        };
        let cells: Vec<Cell> = cells.iter().map(per_cent).collect();
        let best = |of: fn(&Cell) -> f64| {
            let start = Best {
                e2: f64::NAN,
                e3: f64::NAN,
                value: f64::NEG_INFINITY,
            };
            cells.iter().fold(start, |best, cell| {
                if of(cell) > best.value {
                    Best {
                        e2: cell.e2,
                        e3: cell.e3,
                        value: of(cell),
                    }
                } else {
                    best
                }
            })
        };
        Self {
            centrality: centrality.to_string(),
            best_ami: best(|c| c.ami),
            best_ari: best(|c| c.ari),
            cells,
        }
    }
}

impl Grid {
    fn write(&self, out: &Path, exponents: &[f64]) -> anyhow::Result<Vec<String>> {
        let stem = format!(
            "{}-{}",
            file_name(&self.data),
            self.config.truth.map_or("none", Truth::name)
        );
        let csv = out.join(format!("{stem}-grid.csv"));
        output::write_whole(&csv, self.csv()?)?;
        let mut files = vec![csv];
        files.extend(plot::write(
            &self.heat_maps("AMI", exponents, |c| c.ami, |g| g.best_ami),
            &out.join(format!("{stem}-ami")),
        )?);
        files.extend(plot::write(
            &self.heat_maps("ARI", exponents, |c| c.ari, |g| g.best_ari),
            &out.join(format!("{stem}-ari")),
        )?);
        Ok(files
            .iter()
            .map(|file| file.display().to_string())
            .collect())
    }

    fn csv(&self) -> gnarl_graph::Result<Vec<u8>> {
        let cells = self
            .grids
            .iter()
            .flat_map(|grid| grid.cells.iter().map(|cell| (&grid.centrality, cell)));
        let rows = cells.map(|(centrality, cell)| {
            let [e2, e3, ami, ami_std, ari, ari_std] = [
                cell.e2,
                cell.e3,
                cell.ami,
                cell.ami_std,
                cell.ari,
                cell.ari_std,
            ]
            .map(|value| value.to_string());
            [centrality.clone(), e2, e3, ami, ami_std, ari, ari_std]
        });
        node_id::csv(
            ["centrality", "e2", "e3", "ami", "ami_std", "ari", "ari_std"],
            rows,
        )
    }

    fn heat_maps(
        &self,
        measure: &str,
        exponents: &[f64],
        value: fn(&Cell) -> f64,
        best: fn(&CentralityGrid) -> Best,
    ) -> HeatMaps {
        let map = |grid: &CentralityGrid| {
            let Best {
                e2,
                e3,
                value: most,
            } = best(grid);
            HeatMap {
                title: format!(
                    "{}: best {most:.1} at e2 = {e2}, e3 = {e3}",
                    grid.centrality
                ),
                x: exponents.to_vec(),
                y: exponents.to_vec(),
                values: grid.cells.iter().map(value).collect(),
            }
        };
        let truth = if self.config.truth == Some(Truth::Core) {
            "core numbers"
        } else {
            "labels"
        };
        HeatMaps {
            title: format!(
                "Clusters of V^e2 A V^e3 on {} against its {truth}",
                self.data
            ),
            x_label: "e3".into(),
            y_label: "e2".into(),
            value_label: format!("{measure}, %"),
            framed: true,
            maps: self.grids.iter().map(map).collect(),
        }
    }
}

/// Returns the last part of a name that may be a path.
fn file_name(data: &str) -> String {
    Path::new(data).file_stem().map_or_else(
        || "graph".to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

impl Report for ClusterReport {
    fn text(&self) -> String {
        match self {
            ClusterReport::Scores(scores) => scores.text(),
            ClusterReport::Grid(grid) => grid.text(),
        }
    }
}

impl Config {
    /// Describes the clustering method and its settings.
    fn settings(&self) -> String {
        let mut parts = Vec::new();
        if let (Some(centrality), Some(e2), Some(e3)) = (&self.centrality, self.e2, self.e3) {
            parts.push(format!(
                "V from {}, e2 = {e2}, e3 = {e3}",
                centrality.join(", ")
            ));
        }
        if let Some(clusters) = self.clusters {
            parts.push(format!("{} clusters", count(clusters as u64)));
        }
        if let Some(n_init) = self.n_init {
            parts.push(format!("{} restarts of k-means", count(n_init as u64)));
        }
        parts.join(", ")
    }
}

impl Scores {
    fn text(&self) -> String {
        let Config {
            graphs,
            runs,
            largest_component,
            ..
        } = &self.config;
        let nodes = count(self.nodes as u64);
        let what = match (graphs, self.edges) {
            (Some(graphs), _) => format!("{} graphs of {nodes} nodes", count(*graphs as u64)),
            (None, edges) => {
                let part = if *largest_component {
                    ", the largest component"
                } else {
                    ""
                };
                let runs = runs
                    .filter(|runs| *runs > 1)
                    .map_or(String::new(), |runs| format!(", {runs} runs"));
                format!(
                    "{nodes} nodes, {} edges{part}{runs}",
                    count(edges.unwrap_or(0) as u64)
                )
            }
        };
        let mut text = format!("{} on {}: {what}\n", self.method, self.data);
        let settings = self.config.settings();
        if !settings.is_empty() {
            text += &format!("{settings}\n");
        }
        let heading = match self.config.truth {
            Some(Truth::Core) => "against the core numbers",
            Some(Truth::Labels) if graphs.is_some() => "against the blocks",
            Some(Truth::Labels) => "against the labels",
            None => "no labels to compare with",
        };
        let show = |of: &Accuracy| {
            if of.runs.len() > 1 {
                of.text()
            } else {
                format!("{:.2}", of.mean)
            }
        };
        let shown = |of: &Option<Accuracy>| of.as_ref().map_or("-".to_string(), show);
        let clusters = if self.clusters.std == 0.0 {
            real(self.clusters.mean)
        } else {
            show(&self.clusters)
        };
        let rows = [
            ("AMI, %", shown(&self.ami)),
            ("ARI, %", shown(&self.ari)),
            ("clusters found", clusters),
        ];
        let mut table = output::table(&[heading, ">"]);
        for (name, value) in rows {
            table.add_row([name.to_string(), value]);
        }
        text += &format!("\n{}", output::render(&table));
        if let Some(file) = &self.output {
            text += &format!("\nthe cluster of every node is in {file}\n");
        }
        text
    }
}

impl Grid {
    fn text(&self) -> String {
        let (nodes, edges) = (count(self.nodes as u64), count(self.edges as u64));
        let mut text = format!(
            "cgso on {}: {nodes} nodes, {edges} edges, the largest component\n",
            self.data
        );
        let cells = self.grids.first().map_or(0, |grid| grid.cells.len());
        text += &format!(
            "{}, {} pairs of exponents\n\n",
            self.config.settings(),
            count(cells as u64)
        );
        let mut table = output::table(&[
            "V from",
            ">best AMI, %",
            ">e2",
            ">e3",
            ">best ARI, %",
            ">e2",
            ">e3",
        ]);
        for CentralityGrid {
            centrality,
            best_ami,
            best_ari,
            ..
        } in &self.grids
        {
            let three = |best: &Best| {
                [
                    format!("{:.2}", best.value),
                    best.e2.to_string(),
                    best.e3.to_string(),
                ]
            };
            let row = std::iter::once(centrality.clone())
                .chain(three(best_ami))
                .chain(three(best_ari));
            table.add_row(row);
        }
        text + &output::render(&table) + &format!("\nwritten: {}\n", self.files.join(", "))
    }
}
