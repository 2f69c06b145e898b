//! What a table of the thesis is: rows that say what to run, columns of datasets, and the figure
//! printed in each cell.

use gnarl_graph::centrality::Centrality;
use gnarl_graph::community::Method;
use gnarl_graph::dataset::load::BUILT_IN;
use gnarl_graph::dataset::registry;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Graph, GraphSet, properties};
use serde::{Deserialize, Serialize};

use super::attacked::{Subject, Threat};
use super::graphs::Classifier;
use super::measure::{Answer, Measure};
use crate::depth::{Kind, Scheme};
use crate::error::Result;
use crate::inference::log2_neighbours_at_least;
use crate::nn::Backbone;
use crate::operator::{Centralities, Cgso, OperatorChoice};

/// A table of the thesis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Table {
    /// The thesis' label, e.g. `cgsO:tab:graph_prop`.
    pub name: &'static str,
    /// What it shows, in a line.
    pub title: &'static str,
    /// Where in the thesis it stands.
    pub section: &'static str,
    /// Datasets by a name or alias of the registry.
    pub columns: &'static [&'static str],
    /// What is run on each dataset.
    pub rows: &'static [Row],
    /// What rows are compared with, run by run.
    pub baseline: Baseline,
    /// What a reader must know: rows left out, and why.
    pub notes: &'static [&'static str],
}

/// What rows are compared with, run by run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Baseline {
    /// Nothing.
    None,
    /// All others with this row.
    Row(&'static str),
    /// All others with this row, and some, named first, with another besides.
    RowAnd(&'static str, Pairs),
    /// Some rows, named first, each with another; a row may stand in several pairs.
    Pairs(Pairs),
}

/// Rows, each with one that it is compared with.
pub type Pairs = &'static [(&'static str, &'static str)];

impl Baseline {
    /// The row that all others are compared with, where there is one.
    pub fn row(self) -> Option<&'static str> {
        match self {
            Baseline::Row(row) | Baseline::RowAnd(row, _) => Some(row),
            Baseline::None | Baseline::Pairs(_) => None,
        }
    }

    /// The pairs that are named one by one.
    pub fn pairs(self) -> Pairs {
        match self {
            Baseline::RowAnd(_, pairs) | Baseline::Pairs(pairs) => pairs,
            Baseline::None | Baseline::Row(_) => &[],
        }
    }

    /// The rows that a row is compared with, in order.
    pub fn of(self, label: &str) -> Vec<&'static str> {
        let named = self
            .pairs()
            .iter()
            .filter(|(row, _)| *row == label)
            .map(|(_, baseline)| *baseline);
        self.row()
            .filter(|row| *row != label)
            .into_iter()
            .chain(named)
            .collect()
    }
}

/// A row of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Its name in the table.
    pub label: &'static str,
    /// What it runs.
    pub spec: Spec,
    /// The thesis' figure for each column.
    pub figures: &'static [Figure],
}

/// What a row runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spec {
    /// Trains a network to classify nodes and takes its test accuracy in per cent, run by run; the
    /// rest of the settings is the recipe's for the dataset.
    NodeClassification {
        /// The network.
        backbone: Backbone,
        /// The operator.
        operator: OperatorChoice,
    },
    /// Trains a network at every depth from 0 to [`MAX_DEPTH`] and takes the depth with the best
    /// mean test accuracy, as the thesis did; the depth with the best mean validation accuracy
    /// stands beside it.
    BestDepth {
        /// The network; GCN and GIN of no layers are a linear map of the features.
        backbone: Backbone,
    },
    /// Trains a GCN of this depth on joined sparse and dense halves of the graph, and tests it on
    /// both and on each.
    Halves {
        /// Layers; none is a linear map of the features.
        depth: usize,
    },
    /// Trains a network of this depth with the settings of chapter 4; of no layer, a linear map.
    FixedDepth {
        /// The network.
        backbone: Backbone,
        /// Its rounds of message passing.
        layers: usize,
    },
    /// Trains a network with exits at layers 0 to 5 and takes one of its accuracies.
    AdaptiveDepth {
        /// The network.
        backbone: Backbone,
        /// How its exits are trained.
        scheme: Scheme,
        /// Which accuracy.
        measure: Measure,
    },
    /// Trains a model, attacks it, and takes one of its accuracies.
    Attacked {
        /// The model.
        subject: Subject,
        /// The attack, and how answers are read off.
        threat: Threat,
        /// Which accuracy.
        measure: Measure,
    },
    /// Trains a classifier of graphs on the folds of a set, and takes one of its figures.
    Graphs {
        /// The classifier, and what it is trained on.
        classifier: Classifier,
        /// Which figure.
        measure: Measure,
    },
    /// Trains a GCN with a learned operator, as the rows of accuracies do, and takes one of its
    /// scalars.
    Learned {
        /// What it is learned from.
        centrality: Centrality,
        /// The scalar's name.
        scalar: &'static str,
    },
    /// Draws graphs, finds communities in them and takes how well these agree with the blocks.
    Clustering {
        /// How they are found.
        method: Method,
        /// Of spectral clustering, the centrality.
        centrality: Centrality,
        /// Which measure of agreement, [`AMI`] or [`ARI`].
        agreement: &'static str,
    },
    /// Trains a network with exits at layers 0 to 5, one run after another, and takes its seconds.
    ExitsTime {
        /// The network.
        backbone: Backbone,
        /// How its exits are trained.
        scheme: Scheme,
    },
    /// Trains a GCN and takes the seconds in which RobustCRF answers for all nodes, one run after
    /// another.
    InferenceTime {
        /// Neighbours drawn around an input.
        neighbours: usize,
        /// Updates.
        updates: usize,
    },
    /// Computes a property of the graph, once.
    Property(Property),
    /// Computes a property of a set of graphs, once.
    SetProperty(SetProperty),
    /// Something of the thesis' that is not in gnarl: a hole.
    Missing(&'static str),
}

/// The deepest network of ch. 4's comparison.
pub const MAX_DEPTH: usize = 5;

impl Spec {
    /// Whether it is repeated over seeds and splits, with a recipe's settings.
    pub fn is_trained(self) -> bool {
        !matches!(self, Spec::Property(_) | Spec::SetProperty(_))
    }

    /// Which of a cell's accuracies it shows, where there are several.
    pub fn measure(self) -> Option<Measure> {
        match self {
            Spec::AdaptiveDepth { measure, .. }
            | Spec::Attacked { measure, .. }
            | Spec::Graphs { measure, .. } => Some(measure),
            Spec::Learned { scalar, .. } => Some(Measure::Scalar(scalar)),
            Spec::Clustering { agreement, .. } => Some(Measure::Part(agreement)),
            Spec::ExitsTime { .. } | Spec::InferenceTime { .. } => Some(Measure::TrainingSeconds),
            _ => None,
        }
    }

    /// What is wrong with it, if anything: an attack without meaning, an answer that nobody gives.
    fn flaw(self) -> Option<String> {
        let (threat, measure) = match self {
            Spec::Attacked {
                threat, measure, ..
            } => (threat, measure),
            Spec::Graphs {
                classifier,
                measure,
            } => return classifier.flaw(measure),
            _ => return None,
        };
        let is_defended = matches!(
            measure,
            Measure::Clean(Answer::Defended) | Measure::Attacked(Answer::Defended)
        );
        if is_defended && threat.inference.is_none() {
            return Some("shows an inference that it does not run".to_string());
        }
        threat.attack.check().err().map(|e| e.to_string())
    }
}

/// Adjusted mutual information, per cent.
pub const AMI: &str = "AMI";
/// Adjusted Rand index, per cent.
pub const ARI: &str = "ARI";

/// A scalar of a learned operator.
pub const fn scalar(centrality: Centrality, scalar: &'static str) -> Spec {
    Spec::Learned { centrality, scalar }
}

/// A network of a fixed depth, in a word.
pub const fn fixed_depth(backbone: Backbone, layers: usize) -> Spec {
    Spec::FixedDepth { backbone, layers }
}

/// Sequential training, in a word.
pub const fn st(backbone: Backbone, measure: Measure) -> Spec {
    Spec::AdaptiveDepth {
        backbone,
        scheme: Scheme::AdmpSt,
        measure,
    }
}

/// Sequential training, and an exit for each node by a centrality.
pub const fn st_by(backbone: Backbone, centrality: Centrality) -> Spec {
    st(
        backbone,
        Measure::Policy(Kind::Buckets(Centralities::one(centrality))),
    )
}

/// Aggregate loss minimisation, in a word.
pub const fn alm(backbone: Backbone, measure: Measure) -> Spec {
    Spec::AdaptiveDepth {
        backbone,
        scheme: Scheme::AdmpAlm,
        measure,
    }
}

/// The note of every table with ALM.
pub const NO_COLLAPSE: &str = "the thesis' collapse of ALM at depths 2 and beyond did not reproduce: ours stays a few points below ST";

/// The note of the tables whose plain network is in another table.
pub const PLAIN_LEFT_OUT: &str =
    "the row of the plain network is left out: its depths are those of the tables multi_task";

/// The note of every table of oracles.
pub const BY_TEST: &str = "the best layer is the one with the best mean test accuracy, as in the thesis; a fair choice looks at validation nodes";

/// A GCN with a classical operator.
pub const fn gcn(operator: ClassicalOperator) -> Spec {
    Spec::NodeClassification {
        backbone: Backbone::Gcn,
        operator: OperatorChoice::Classical(operator),
    }
}

/// A network with the operator of its paper.
pub const fn vanilla(backbone: Backbone) -> Spec {
    Spec::NodeClassification {
        backbone,
        operator: OperatorChoice::Usual,
    }
}

/// A network at its best depth.
pub const fn best_depth(backbone: Backbone) -> Spec {
    Spec::BestDepth { backbone }
}

/// A network with a learned operator, its initialisation chosen on validation accuracy.
pub const fn learned(backbone: Backbone, centrality: Centrality) -> Spec {
    Spec::NodeClassification {
        backbone,
        operator: OperatorChoice::Cgso(Cgso::by(centrality)),
    }
}

/// A network with the sum of two learned operators.
pub const fn learned_sum(backbone: Backbone, first: Centrality, second: Centrality) -> Spec {
    Spec::NodeClassification {
        backbone,
        operator: OperatorChoice::Cgso(Cgso::by_sum(first, second)),
    }
}

/// A model's accuracy under attack.
pub const fn under(subject: Subject, threat: Threat) -> Spec {
    Spec::Attacked {
        subject,
        threat,
        measure: Measure::Attacked(Answer::Bare),
    }
}

/// The same with the threat's inference.
pub const fn defended(subject: Subject, threat: Threat) -> Spec {
    Spec::Attacked {
        subject,
        threat,
        measure: Measure::Attacked(Answer::Defended),
    }
}

/// A model's accuracy before an attack.
pub const fn before(subject: Subject, threat: Threat) -> Spec {
    Spec::Attacked {
        subject,
        threat,
        measure: Measure::Clean(Answer::Bare),
    }
}

/// The same with the threat's inference.
pub const fn defended_before(subject: Subject, threat: Threat) -> Spec {
    Spec::Attacked {
        subject,
        threat,
        measure: Measure::Clean(Answer::Defended),
    }
}

/// Seconds of a model's training.
pub const fn training_time(subject: Subject, threat: Threat) -> Spec {
    Spec::Attacked {
        subject,
        threat,
        measure: Measure::TrainingSeconds,
    }
}

/// A classifier's test accuracy.
pub const fn accuracy(classifier: Classifier) -> Spec {
    Spec::Graphs {
        classifier,
        measure: Measure::TestAccuracy,
    }
}

/// Seconds of its augmentation.
pub const fn augmentation_time(classifier: Classifier) -> Spec {
    Spec::Graphs {
        classifier,
        measure: Measure::AugmentationSeconds,
    }
}

/// Seconds of its training, augmentation included.
pub const fn graph_training_time(classifier: Classifier) -> Spec {
    Spec::Graphs {
        classifier,
        measure: Measure::TrainingSeconds,
    }
}

/// The centralities of the thesis' tables, in a word.
pub const DEGREE: Centrality = Centrality::Degree;
/// Core numbers.
pub const CORE: Centrality = Centrality::Core;
/// PageRank.
pub const PAGERANK: Centrality = Centrality::PageRank;
/// Walks of two steps.
pub const WALKS: Centrality = Centrality::Walks { length: 2 };

/// The note of every table with learned operators.
pub const CHOSEN: &str = "a learned operator starts from the one of seven initialisations with the best validation accuracy, each run for itself";

/// The notes of ch. 4's comparison.
pub const DEPTHS: &str = "depths 0 to 5; the figure compared with the thesis' is that of the depth with the best mean test accuracy, as the thesis chose it; below it stands what choosing on validation accuracy gives, with the depth in brackets";
/// Of adaptive depth beside it.
pub const ADMP_ST: &str = "ADMP is trained layer by layer (ST): its plain row is the layer with the best mean test accuracy, as in the thesis, and the policies choose a layer by the centrality of a node, from validation nodes alone";

/// Of what is learned on top of exits.
pub const LEARNED_POLICIES: &str = "pool and echo weigh what all exits answer (docs/depth.md); offsets is their control, the single best layer with an offset for each class";

/// The name of a part that holds the number of nodes.
pub const NODES: &str = "nodes";

/// A number that a graph has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// Nodes.
    Nodes,
    /// Edges, each once.
    Edges,
    /// Features of a node; none where it has none.
    Features,
    /// Classes that nodes have.
    Classes,
    /// The share of pairs that are joined.
    Density,
    /// Neighbours of a node, on average.
    MeanDegree,
    /// PageRank, on average: one over the number of nodes.
    MeanPageRank,
    /// Core number, on average.
    MeanCore,
    /// Walks of two steps from a node, on average.
    MeanWalks,
    /// The share of edges within a class.
    Homophily,
    /// The base-2 logarithm of the number of graphs within so many flips of an edge, at least
    /// (lemma `crf:lem:size_CRF`).
    Neighbours {
        /// Flips.
        radius: u32,
    },
}

impl Property {
    /// Its value for a graph; a graph without labelled edges has no homophily, which is an error.
    pub fn of(self, graph: &Graph) -> Result<f64> {
        let mean = |kind: Centrality| -> Result<f64> {
            let scores = kind.scores(graph)?;
            Ok(scores.iter().sum::<f64>() / scores.len().max(1) as f64)
        };
        match self {
            Property::Nodes => Ok(graph.num_nodes() as f64),
            Property::Edges => Ok(graph.num_edges() as f64),
            Property::Features => {
                Ok(graph.features().map_or(0, |features| features.num_cols()) as f64)
            }
            Property::Classes => Ok(graph.labels().map_or(0, |labels| {
                labels.counts().iter().filter(|count| **count > 0).count()
            }) as f64),
            Property::Density => Ok(properties::density(graph)),
            Property::MeanDegree => Ok(properties::degree_summary(graph).mean),
            Property::MeanPageRank => mean(Centrality::PageRank),
            Property::MeanCore => mean(Centrality::Core),
            Property::MeanWalks => mean(Centrality::Walks { length: 2 }),
            Property::Neighbours { radius } => Ok(log2_neighbours_at_least(
                graph.num_nodes(),
                f64::from(radius),
            )),
            Property::Homophily => properties::edge_homophily(graph).ok_or_else(|| {
                gnarl_graph::Error::argument(
                    "homophily",
                    "no edge of the graph joins two labelled nodes",
                )
                .into()
            }),
        }
    }

    /// What it is drawn against: nodes, for a property that grows with them.
    pub fn parts(self, graph: &Graph) -> Vec<(String, Vec<f64>)> {
        match self {
            Property::Neighbours { .. } => vec![(NODES.into(), vec![graph.num_nodes() as f64])],
            _ => Vec::new(),
        }
    }
}

/// A number that a set of graphs has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetProperty {
    /// Graphs.
    Graphs,
    /// Features that a node carries; none where models take degrees instead.
    Features,
    /// Nodes of a graph, on average.
    MeanNodes,
    /// Edges of a graph, on average.
    MeanEdges,
    /// Classes of graphs.
    Classes,
}

impl SetProperty {
    /// Its value for a set.
    pub fn of(self, set: &GraphSet) -> f64 {
        let features = || {
            set.graphs()
                .first()
                .and_then(Graph::features)
                .map_or(0, |features| features.num_cols())
        };
        let mean = |total: usize| total as f64 / set.len().max(1) as f64;
        match self {
            SetProperty::Graphs => set.len() as f64,
            SetProperty::Features => features() as f64,
            SetProperty::MeanNodes => mean(set.num_nodes()),
            SetProperty::MeanEdges => mean(set.num_edges()),
            SetProperty::Classes => set.labels().num_classes() as f64,
        }
    }
}

/// What the thesis prints in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Mean and standard deviation over ten runs, in per cent.
    Accuracy {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        std: f64,
    },
    /// One number, and what one is worth in its last printed digit. The thesis cuts digits off
    /// where others round, so a difference below that is none.
    Value {
        /// The number.
        value: f64,
        /// One in its last digit.
        unit: f64,
    },
    /// The thesis ran out of memory.
    OutOfMemory,
    /// The thesis has no such cell.
    Absent,
}

/// [`Figure::Accuracy`], in a word.
pub const fn acc(mean: f64, std: f64) -> Figure {
    Figure::Accuracy { mean, std }
}

/// [`Figure::Value`], in a word.
pub const fn value(value: f64, unit: f64) -> Figure {
    Figure::Value { value, unit }
}

/// A [`Figure::Value`] that was counted: no digit was cut off.
pub const fn count(count: u32) -> Figure {
    Figure::Value {
        value: count as f64,
        unit: 0.5,
    }
}

/// [`Figure::OutOfMemory`], in a word.
pub const OOM: Figure = Figure::OutOfMemory;

impl Table {
    /// The chapter it stands in.
    pub fn chapter(&self) -> Option<u8> {
        self.section
            .strip_prefix("ch. ")?
            .chars()
            .next()?
            .to_digit(10)
            .map(|digit| digit as u8)
    }

    /// The label without its prefix: what files are called.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit(':').next().unwrap_or(self.name)
    }

    /// Whether any row is trained.
    pub fn is_trained(&self) -> bool {
        self.rows.iter().any(|row| row.spec.is_trained())
    }

    /// What is wrong with it, if anything: rows of another length than the columns, names that
    /// stand twice, datasets nobody knows, comparisons that say nothing, figures that cannot be.
    pub fn flaw(&self) -> Option<String> {
        let twice = |names: &[&'static str]| {
            (1..names.len())
                .find(|&i| names[..i].contains(&names[i]))
                .map(|i| names[i])
        };
        let labels: Vec<&'static str> = self.rows.iter().map(|row| row.label).collect();
        if let Some(name) = twice(&labels).or(twice(self.columns)) {
            return Some(format!("{name} stands twice"));
        }
        if let Some(name) = self
            .columns
            .iter()
            .find(|name| dataset_name(name).is_none())
        {
            return Some(format!("dataset {name} is in no registry"));
        }
        let paired = self
            .baseline
            .pairs()
            .iter()
            .flat_map(|(row, baseline)| [*row, *baseline]);
        if let Some(baseline) = self
            .baseline
            .row()
            .into_iter()
            .chain(paired)
            .find(|name| !labels.contains(name))
        {
            return Some(format!("baseline {baseline} is no row"));
        }
        for label in &labels {
            let baselines = self.baseline.of(label);
            if let Some(name) = twice(&baselines) {
                return Some(format!("{label} is compared with {name} twice"));
            }
            if baselines.contains(label) {
                return Some(format!("{label} is compared with itself"));
            }
        }
        self.rows.iter().find_map(|row| {
            if row.figures.len() != self.columns.len() {
                return Some(format!(
                    "{} has {} figures for {} columns",
                    row.label,
                    row.figures.len(),
                    self.columns.len()
                ));
            }
            if let Some(flaw) = row.spec.flaw() {
                return Some(format!("{}: {flaw}", row.label));
            }
            let wrong = row
                .figures
                .iter()
                .find(|figure| !figure.is_possible(row.spec))?;
            Some(format!("{} has {wrong:?}", row.label))
        })
    }
}

impl Figure {
    fn is_possible(self, spec: Spec) -> bool {
        match self {
            Figure::Accuracy { mean, std } => {
                let is_scalar = matches!(spec, Spec::Learned { .. });
                let possible = if is_scalar {
                    -100.0..=100.0
                } else {
                    0.0..=100.0
                };
                let is_time = matches!(spec, Spec::InferenceTime { .. });
                spec.is_trained()
                    && (is_time || possible.contains(&mean))
                    && (0.0..=100.0).contains(&std)
            }
            Figure::Value { value, unit } => {
                let is_time = spec.measure().is_some_and(Measure::is_seconds)
                    || matches!(spec, Spec::Missing(_));
                (is_time || !spec.is_trained())
                    && value.is_finite()
                    && value >= 0.0
                    && unit.is_finite()
                    && unit > 0.0
            }
            Figure::OutOfMemory | Figure::Absent => true,
        }
    }
}

/// The name a dataset is loaded and configured by; `None` for one that is in no registry and not
/// built in.
pub fn dataset_name(name: &str) -> Option<&'static str> {
    let built_in = || {
        BUILT_IN
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(name))
    };
    registry::get(name)
        .map(|entry| entry.name)
        .or_else(built_in)
}

#[cfg(test)]
mod tests {
    use super::super::attacked::{DICE, noise};
    use super::*;
    use crate::thesis::recipe::Recipe;

    #[test]
    fn a_row_may_be_compared_with_several() {
        let and = Baseline::RowAnd("a", &[("c", "b")]);
        assert_eq!(
            [and.of("a"), and.of("b"), and.of("c")],
            [vec![], vec!["a"], vec!["a", "b"]]
        );
        let pairs = Baseline::Pairs(&[("c", "a"), ("b", "a"), ("c", "b")]);
        assert_eq!(
            [pairs.of("a"), pairs.of("b"), pairs.of("c")],
            [vec![], vec!["a"], vec!["a", "b"]]
        );
        assert_eq!(
            (and.row(), pairs.row(), Baseline::Row("a").of("c")),
            (Some("a"), None, vec!["a"])
        );
        assert!(Baseline::None.of("a").is_empty());
    }

    #[test]
    fn flaws_are_named() {
        const ROW: Row = Row {
            label: "a",
            spec: vanilla(Backbone::Gin),
            figures: &[acc(50.0, 1.0)],
        };
        const GOOD: Table = Table {
            name: "x:tab:y",
            title: "",
            section: "",
            columns: &["Karate"],
            rows: &[ROW],
            baseline: Baseline::Row("a"),
            notes: &[],
        };
        assert_eq!((GOOD.flaw(), GOOD.short_name()), (None, "y"));
        let flaw = |table: Table| table.flaw().unwrap();
        assert_eq!(
            flaw(Table {
                columns: &["karate", "csbm"],
                ..GOOD
            }),
            "a has 1 figures for 2 columns"
        );
        assert_eq!(
            flaw(Table {
                columns: &["corra"],
                ..GOOD
            }),
            "dataset corra is in no registry"
        );
        assert_eq!(
            flaw(Table {
                rows: &[ROW, ROW],
                ..GOOD
            }),
            "a stands twice"
        );
        assert_eq!(
            flaw(Table {
                baseline: Baseline::Row("b"),
                ..GOOD
            }),
            "baseline b is no row"
        );
        assert_eq!(
            flaw(Table {
                baseline: Baseline::Pairs(&[("a", "c")]),
                ..GOOD
            }),
            "baseline c is no row"
        );
        assert_eq!(
            flaw(Table {
                baseline: Baseline::RowAnd("a", &[("d", "a")]),
                ..GOOD
            }),
            "baseline d is no row"
        );
        assert_eq!(
            flaw(Table {
                baseline: Baseline::Pairs(&[("a", "a")]),
                ..GOOD
            }),
            "a is compared with itself"
        );
        const TWO: Table = Table {
            rows: &[ROW, Row { label: "b", ..ROW }],
            ..GOOD
        };
        let twice = Baseline::RowAnd("a", &[("b", "a")]);
        assert_eq!(
            flaw(Table {
                baseline: twice,
                ..TWO
            }),
            "b is compared with a twice"
        );
        assert_eq!(
            Table {
                baseline: Baseline::RowAnd("a", &[("a", "b")]),
                ..TWO
            }
            .flaw(),
            None
        );
        const GCN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5);
        const UNREAD: Row = Row {
            spec: defended(GCN, DICE),
            ..ROW
        };
        assert_eq!(
            flaw(Table {
                rows: &[UNREAD],
                ..GOOD
            }),
            "a: shows an inference that it does not run"
        );
        const NEGATIVE: Row = Row {
            spec: under(GCN, noise(-1.0)),
            ..ROW
        };
        assert!(
            flaw(Table {
                rows: &[NEGATIVE],
                ..GOOD
            })
            .starts_with("a: ")
        );
        const PLAIN: Classifier = Classifier::new(Backbone::Gcn);
        const OF_NO_AUGMENTATION: Row = Row {
            spec: augmentation_time(PLAIN),
            ..ROW
        };
        assert_eq!(
            flaw(Table {
                rows: &[OF_NO_AUGMENTATION],
                ..GOOD
            }),
            "a: shows AugmentationSeconds, which none does not have"
        );
        const TOO_MUCH: Row = Row {
            spec: accuracy(PLAIN.corrupted(1.5)),
            ..ROW
        };
        assert!(
            flaw(Table {
                rows: &[TOO_MUCH],
                ..GOOD
            })
            .starts_with("a: corruption: a share of 1.5")
        );
        const IN_SECONDS: Row = Row {
            spec: graph_training_time(PLAIN),
            figures: &[value(812.5, 0.1)],
            ..ROW
        };
        assert_eq!(
            Table {
                rows: &[IN_SECONDS],
                ..GOOD
            }
            .flaw(),
            None
        );
        const HUGE: Row = Row {
            figures: &[acc(100.1, 1.0)],
            ..ROW
        };
        assert_eq!(
            flaw(Table {
                rows: &[HUGE],
                ..GOOD
            }),
            "a has Accuracy { mean: 100.1, std: 1.0 }"
        );
        const OF_NOTHING: Row = Row {
            figures: &[value(1.0, 0.1)],
            ..ROW
        };
        assert!(
            Table {
                rows: &[OF_NOTHING],
                ..GOOD
            }
            .flaw()
            .is_some(),
            "an accuracy has a deviation"
        );
    }

    /// Karate: 34 nodes, 78 edges, core numbers and walks from NetworkX (see `data check`).
    #[test]
    fn properties_of_karate() {
        let karate = gnarl_graph::dataset::embedded::karate();
        let expect = [
            (Property::Nodes, 34.0),
            (Property::Edges, 78.0),
            (Property::Features, 34.0),
            (Property::Classes, 4.0),
            (Property::Density, 2.0 * 78.0 / (34.0 * 33.0)),
            (Property::MeanDegree, 156.0 / 34.0),
            (Property::MeanPageRank, 1.0 / 34.0),
            (Property::MeanCore, 99.0 / 34.0),
            (Property::MeanWalks, 1212.0 / 34.0),
            (Property::Homophily, 57.0 / 78.0),
            // H(1 / 561) 561 - log2 sqrt(8 (1 - 1 / 561)), for the 561 pairs of 34 nodes.
            (Property::Neighbours { radius: 1 }, 9.074_552_384_183_5),
        ];
        for (property, expected) in expect {
            let found = property.of(&karate).unwrap();
            assert!(
                (found - expected).abs() < 1e-9,
                "{property:?}: {found} against {expected}"
            );
        }
        let bare = Graph::from_edges(2, [(0, 1)]).unwrap().0;
        assert!(
            Property::Homophily
                .of(&bare)
                .unwrap_err()
                .to_string()
                .contains("two labelled nodes")
        );
    }
}
