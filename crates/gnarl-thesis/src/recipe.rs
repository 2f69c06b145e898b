//! Recipes: values of a model's open options on a dataset.
//!
//! The default leaves a model as it is: its open options have the library's values
//! ([`Model::plan`]), whatever the dataset is called. The recipes of the thesis have values by the
//! name of the dataset. `thesis` is the thesis' table `cgsO:tab:gcn_tuned_hyperparams` with ch. 3's
//! training: Adam, 200 epochs, lr 0.01, decay 5e-4, lr × 0.6 every 50 epochs, row-normalised
//! features, two layers. Chapter 4 (`dynam:tab:gcn_tuned_hyperparams`, the same widths and rates)
//! trains at one learning rate and keeps the last epoch. Chapters 5 and 6 evaluate robustness with
//! small networks, trained for 300 epochs. Weight decay matters more than anything there: without
//! it noise hurts a GCN far more. Chapter 7 does not say which epoch's weights are tested: the last
//! one here.

use gnarl_data::Task;

use gnarl::augment::{Augment, Components};
use gnarl::model::{Model, NetworkOptions};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::{Backbone, NetworkSetting};
use gnarl_nn::train::{Keep, StepSchedule};

use super::inference_values::thesis_inference;

gnarl_graph::named! {
    /// The recipe that fills open options.
    pub enum Recipe as "recipe" {
        /// The library's own values, the same for every dataset.
        Default = "default",
        /// The thesis' own values of ch. 3, 4 and 7.
        Thesis = "thesis",
        /// The study of ch. 5: two convolutions of 16 without bias and a linear head, no decay, an
        /// orthogonal initialisation.
        ThesisCh5 = "thesis-ch5",
        /// The study of ch. 6: a plain network of two layers of 16 with decay.
        ThesisCh6 = "thesis-ch6",
    }
}

/// Hidden width and dropout by dataset, thesis table `cgsO:tab:gcn_tuned_hyperparams`.
const THESIS: [(&str, usize, f64); 16] = [
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

/// GRATIN's components with GCN and with GIN, thesis table `gen:tab:gmm_num`.
const COMPONENTS: [(&str, usize, usize); 5] = [
    ("IMDB-BINARY", 40, 50),
    ("IMDB-MULTI", 50, 5),
    ("MUTAG", 10, 2),
    ("PROTEINS", 10, 2),
    ("DD", 2, 50),
];
/// A dataset whose features the studies of ch. 5 and 6 leave as they are: row normalisation costs 6
/// points there.
const BINARY_FEATURES: &str = "cora_ml";

impl Recipe {
    /// The model with its open options filled in by this recipe on a dataset. Given options stay;
    /// options that do not apply are left open, as is everything in the default recipe.
    pub fn fill(self, model: Model, dataset: &str, task: Task) -> Model {
        if self == Recipe::Default {
            return model;
        }
        let filled = match task {
            Task::Node => self.fill_node(model, dataset),
            Task::Graph => self.fill_graph(model),
        };
        let filled = Model {
            augment: with_components(filled.augment, dataset, filled.backbone),
            ..filled
        };
        filled.inference(thesis_inference(filled.inference, dataset))
    }

    /// Fills a model of chapter 4 with a fixed depth: one learning rate, the last epoch.
    pub fn fill_chapter_4(self, model: Model, dataset: &str) -> Model {
        let mut filled = self.fill(model, dataset, Task::Node);
        filled.training.schedule = model.training.schedule;
        if self == Recipe::Thesis {
            filled.training.keep = filled.training.keep.or(Some(Keep::Last));
        }
        filled
    }

    fn fill_node(self, mut model: Model, dataset: &str) -> Model {
        let as_loaded = |names: &[&str]| {
            if names.contains(&dataset) {
                FeatureScaling::AsLoaded
            } else {
                FeatureScaling::RowNormalised
            }
        };
        // The thesis' networks end in the output of their last layer, without a gain.
        let mut network = NetworkOptions {
            gain: Some(false),
            ..Default::default()
        };
        match self {
            Recipe::Default => return model,
            Recipe::Thesis => {
                if let Some((_, hidden, dropout)) =
                    THESIS.iter().find(|(name, ..)| *name == dataset)
                {
                    (network.hidden, network.dropout) = (Some(*hidden), Some(*dropout));
                }
                if model.depth.exits().is_some() {
                    model.training.keep = model.training.keep.or(Some(Keep::Last));
                } else {
                    let schedule = StepSchedule {
                        every: 50,
                        factor: 0.6,
                    };
                    model.training.schedule = model.training.schedule.or(Some(schedule));
                }
                model.features = model.features.or(Some(FeatureScaling::RowNormalised));
            }
            Recipe::ThesisCh5 | Recipe::ThesisCh6 => {
                network.hidden = Some(16);
                model.training.epochs = model.training.epochs.or(Some(300));
                if self == Recipe::ThesisCh5 {
                    model.training.weight_decay = model.training.weight_decay.or(Some(0.0));
                    network.head = Some(true);
                    network.bias = Some(false);
                    network.orthogonal_start = Some(true);
                }
                model.features = model.features.or(Some(as_loaded(&[BINARY_FEATURES])));
            }
        }
        model.network = over(model.network, network, &model);
        model
    }

    fn fill_graph(self, mut model: Model) -> Model {
        match self {
            Recipe::Default => return model,
            Recipe::Thesis => model.training.keep = model.training.keep.or(Some(Keep::Last)),
            // The head after the readout is the last layer of the networks of ch. 5.
            Recipe::ThesisCh5 | Recipe::ThesisCh6 => {
                let mut network = NetworkOptions {
                    hidden: Some(16),
                    ..Default::default()
                };
                if self == Recipe::ThesisCh5 {
                    model.training.weight_decay = model.training.weight_decay.or(Some(0.0));
                    (network.bias, network.orthogonal_start) = (Some(false), Some(true));
                }
                model.network = over(model.network, network, &model);
            }
        }
        model
    }
}

/// The given options, and for open ones the recipe's value, if it applies.
fn over(said: NetworkOptions, recipe: NetworkOptions, model: &Model) -> NetworkOptions {
    let has_exits = model.depth.exits().is_some();
    let of_one_exit = |option| {
        has_exits
            && matches!(
                option,
                NetworkSetting::Head | NetworkSetting::Noise | NetworkSetting::Layers
            )
    };
    let applies = |setting| model.backbone.takes(setting) && !of_one_exit(setting);
    said.or(recipe.only(applies))
}

/// GRATIN with the thesis' components, if their number is open and the table has one.
fn with_components(augment: Augment, dataset: &str, backbone: Backbone) -> Augment {
    let Augment::Gratin(mut gratin) = augment else {
        return augment;
    };
    if gratin.components.is_none() && gratin.density.takes_components() {
        let found = COMPONENTS.iter().find(|(name, ..)| *name == dataset);
        gratin.components = match (found, backbone) {
            (Some((_, gcn, _)), Backbone::Gcn(_)) => Some(Components::Fixed(*gcn)),
            (Some((_, _, gin)), Backbone::Gin(_)) => Some(Components::Fixed(*gin)),
            _ => None,
        };
    }
    gratin.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl::augment::Gratin;
    use gnarl::augment::density::{Density, Shared};
    use gnarl_nn::depth::Exits;
    use gnarl_nn::networks::Capability;
    use gnarl_robust::inference::RobustCrf;

    #[test]
    fn the_default_is_the_librarys_whatever_the_dataset_is_called() {
        let gratin: Model = Model::new(Backbone::GIN).augment(Gratin::DEFAULT);
        let crf = Model::new(Backbone::GCN).inference(RobustCrf::DEFAULT);
        for data in ["MUTAG", "citeseer", "ms_academic_cs", "mine"] {
            assert_eq!(Recipe::Default.fill(gratin, data, Task::Graph), gratin);
            assert_eq!(Recipe::Default.fill(crf, data, Task::Node), crf);
            assert_eq!(Recipe::Default.fill_chapter_4(crf, data), crf);
        }
        let filled = |model| match Recipe::Thesis.fill(model, "MUTAG", Task::Graph).augment {
            Augment::Gratin(gratin) => gratin.components,
            other => panic!("{other}"),
        };
        assert_eq!(filled(gratin), Some(Components::Fixed(2)));
        let shared = Gratin {
            density: Density::Shared(Shared {}),
            ..Gratin::DEFAULT
        };
        assert_eq!(filled(gratin.augment(shared)), None, "one Gaussian a class");
        let filled = Recipe::ThesisCh6
            .fill(crf, "citeseer", Task::Node)
            .inference;
        let expected = RobustCrf {
            radius: Some(0.9),
            sigma: Some(0.8),
            ..RobustCrf::DEFAULT
        };
        assert_eq!(filled, expected.into());
    }

    #[test]
    fn recipes_keep_given_options_and_skip_others() {
        let fill = |recipe: Recipe, model: Model, data| recipe.fill(model, data, Task::Node);
        let gcn = Model::new(Backbone::GCN);
        let texas = fill(Recipe::Thesis, gcn, "texas");
        assert_eq!(
            (texas.network.hidden, texas.network.dropout),
            (Some(512), Some(0.2))
        );
        assert_eq!(
            texas.training.schedule,
            Some(StepSchedule {
                every: 50,
                factor: 0.6
            })
        );
        assert_eq!(
            fill(Recipe::Thesis, gcn.hidden(7), "texas").network.hidden,
            Some(7)
        );
        assert_eq!(
            fill(Recipe::Thesis, Model::new(Backbone::SGC), "texas")
                .network
                .hidden,
            None
        );
        let exits = fill(Recipe::ThesisCh5, gcn.depth(Exits::st(3)), "cora");
        assert_eq!(
            (exits.network.head, exits.network.bias),
            (None, Some(false))
        );
        assert_eq!(
            fill(Recipe::Thesis, gcn.depth(Exits::st(3)), "cora")
                .training
                .keep,
            Some(Keep::Last)
        );
        for (_, backbone) in Backbone::named() {
            for &recipe in Recipe::ALL {
                for data in ["cora", "texas", "cora_ml", "mine"] {
                    fill(recipe, Model::new(backbone), data)
                        .plan(Task::Node)
                        .unwrap();
                    if backbone.provides(Capability::Exits) {
                        fill(recipe, Model::new(backbone).depth(Exits::st(2)), data)
                            .plan(Task::Node)
                            .unwrap();
                    }
                }
            }
        }
    }
}
