//! Recipes: the settings a model is trained with on a dataset when the user says nothing else.
//!
//! Two for every dataset. The default is the best honest setting known here. The thesis' own is
//! `cgsO:tab:gcn_tuned_hyperparams` with ch. 3's training: Adam, 200 epochs, lr 0.01, decay 5e-4, lr × 0.6 every 50
//! epochs, row-normalised features, two layers. Chapter 4 (`dynam:tab:gcn_tuned_hyperparams`, the same widths and rates)
//! trains at one learning rate and keeps the last epoch. Chapters 5 and 6 judge robustness with small networks, trained for
//! 300 epochs; weight decay matters more than anything there: without it noise hurts a GCN far more.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::augment::{Augment, AugmentSettings, Components};
use crate::features::FeatureScaling;
use crate::nn::{Backbone, ClassifierConfig, NetworkConfig, Readout};
use crate::operator::OperatorChoice;
use crate::task::graph::{GraphConfig, GraphPreparation, NodeFeatures};
use crate::train::{Keep, StepSchedule, TrainConfig};

/// Whose settings to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recipe {
    /// The best honest setting known.
    Default,
    /// The thesis' own of ch. 3 and 4.
    Thesis,
    /// The study of ch. 5: two convolutions of 16 without bias and a linear head, no decay, an orthogonal start.
    #[serde(rename = "thesis-ch5")]
    ThesisCh5,
    /// The study of ch. 6: a plain network of two layers of 16 with decay.
    #[serde(rename = "thesis-ch6")]
    ThesisCh6,
}

impl Recipe {
    /// Every recipe with its name.
    pub const ALL: [(&'static str, Recipe); 4] = [
        ("default", Recipe::Default),
        ("thesis", Recipe::Thesis),
        ("thesis-ch5", Recipe::ThesisCh5),
        ("thesis-ch6", Recipe::ThesisCh6),
    ];
}

impl FromStr for Recipe {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Recipe::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found
            .map(|(_, recipe)| *recipe)
            .ok_or_else(|| gnarl_graph::Error::unknown("recipe", name, Recipe::ALL.iter().map(|(known, _)| *known)))
    }
}

/// Hidden width and dropout by dataset, thesis table `cgsO:tab:gcn_tuned_hyperparams`.
const THESIS: [(&str, usize, f32); 16] = [
    ("cora", 64, 0.8),
    ("citeseer", 64, 0.4),
    ("pubmed", 64, 0.2),
    ("ms_academic_cs", 512, 0.4),
    ("arxiv-year", 512, 0.2),
    ("chameleon", 512, 0.2),
    ("cornell", 512, 0.2),
    ("deezer-europe", 512, 0.2),
    ("squirrel", 512, 0.2),
    ("wisconsin", 512, 0.2),
    ("texas", 512, 0.2),
    ("amazon_electronics_photo", 512, 0.6),
    ("ogbn-arxiv", 512, 0.5),
    ("amazon_electronics_computers", 512, 0.2),
    ("ms_academic_phy", 512, 0.4),
    ("penn94", 64, 0.2),
];

/// Datasets whose features are best left as they are: products described by few of many words, where row normalisation
/// costs Photo 17 points.
const FEATURES_AS_LOADED: [&str; 2] = ["amazon_electronics_photo", "amazon_electronics_computers"];

/// GRATIN's components with GCN and with GIN, thesis table `gen:tab:gmm_num`.
const COMPONENTS: [(&str, usize, usize); 5] =
    [("IMDB-BINARY", 40, 50), ("IMDB-MULTI", 50, 5), ("MUTAG", 10, 2), ("PROTEINS", 10, 2), ("DD", 2, 50)];
/// Epochs of a fresh head, thesis ch. 7.
const HEAD_EPOCHS: usize = 100;
/// The same for the studies of ch. 5 and 6, where row normalisation costs 6 points.
const BINARY_FEATURES: &str = "cora_ml";

impl Recipe {
    /// The settings for a model on a dataset.
    pub fn settings(self, dataset: &str, backbone: Backbone) -> (NetworkConfig, TrainConfig, FeatureScaling) {
        let mut network = NetworkConfig::new(backbone);
        let mut train = TrainConfig::default();
        match self {
            Recipe::Thesis => {
                if let Some((_, hidden, dropout)) = THESIS.iter().find(|(name, ..)| *name == dataset) {
                    network.hidden = *hidden;
                    network.dropout = *dropout;
                }
                train.schedule = Some(StepSchedule { every: 50, factor: 0.6 });
                (network, train, FeatureScaling::RowNormalised)
            }
            Recipe::ThesisCh5 | Recipe::ThesisCh6 => {
                network.hidden = 16;
                network.heads = network.heads.min(8);
                train.epochs = 300;
                if self == Recipe::ThesisCh5 {
                    train.weight_decay = 0.0;
                    network.head = backbone.is_stack();
                    network.bias = !matches!(backbone, Backbone::Gcn | Backbone::Gin);
                    network.orthogonal_start = true;
                }
                let as_loaded = dataset == BINARY_FEATURES;
                let scaling = if as_loaded { FeatureScaling::AsLoaded } else { FeatureScaling::RowNormalised };
                (network, train, scaling)
            }
            Recipe::Default => {
                // GIN adds up what it hears: counts of words are better than shares, on the validation nodes of Cora and
                // CiteSeer alike.
                let as_loaded = FEATURES_AS_LOADED.contains(&dataset) || backbone == Backbone::Gin;
                let scaling = if as_loaded { FeatureScaling::AsLoaded } else { FeatureScaling::RowNormalised };
                (network, train, scaling)
            }
        }
    }

    /// The settings of chapter 7 for graph classification, with the graphs of a training step. Two layers of 32, 300 epochs and
    /// lr 0.01 are the appendix' "Implementation Details"; decay, schedule, batches, readout and dropout before the head alone are
    /// what its results were found to go with. It does not say which epoch's weights are tested: the last one here.
    pub fn graph_settings(self, backbone: Backbone) -> (ClassifierConfig, TrainConfig, usize) {
        let network = NetworkConfig { hidden: 32, dropout: 0.0, ..NetworkConfig::new(backbone) };
        let keep = if self == Recipe::Thesis { Keep::Last } else { Keep::BestValidation };
        let schedule = Some(StepSchedule { every: 100, factor: 0.5 });
        let training = TrainConfig { epochs: 300, schedule, keep, ..TrainConfig::default() };
        (ClassifierConfig { network, readout: Readout::Mean, head_dropout: 0.5 }, training, 256)
    }

    /// GRATIN's components for a set and a backbone, thesis table `gen:tab:gmm_num`; by criterion where the table has none.
    pub fn components(self, dataset: &str, backbone: Backbone) -> Components {
        let found = COMPONENTS.iter().find(|(name, ..)| *name == dataset);
        match (found, backbone) {
            (Some((_, gcn, _)), Backbone::Gcn) => Components::Fixed(*gcn),
            (Some((_, _, gin)), Backbone::Gin) => Components::Fixed(*gin),
            _ => Components::Auto,
        }
    }

    /// All that graph classification needs to know of a model on a set with an augmentation, where nobody says anything:
    /// what `gnarl train` starts from and what tables run. Where node features come from is for the graphs to say.
    pub fn graph_config(
        self,
        dataset: &str,
        backbone: Backbone,
        augment: Augment,
        node_features: NodeFeatures,
    ) -> GraphConfig {
        let (classifier, training, batch_size) = self.graph_settings(backbone);
        let (operator, features) = (OperatorChoice::Usual, FeatureScaling::AsLoaded);
        GraphConfig {
            classifier,
            preparation: GraphPreparation { operator, features, node_features },
            training,
            batch_size,
            corruption: None,
            augment,
            head_epochs: HEAD_EPOCHS,
            components: self.components(dataset, backbone),
            augmentation: AugmentSettings::of(augment),
        }
    }

    /// The settings of chapter 4: of a network with exits up to `max_depth`, or of a plain one to compare it with.
    pub fn depth_settings(
        self,
        dataset: &str,
        backbone: Backbone,
        max_depth: usize,
    ) -> (NetworkConfig, TrainConfig, FeatureScaling) {
        let (network, mut training, scaling) = self.settings(dataset, backbone);
        training.schedule = None;
        if self == Recipe::Thesis {
            training.keep = Keep::Last;
        }
        (NetworkConfig { layers: max_depth, ..network }, training, scaling)
    }
}
