//! [`Model`]: five choices and a backbone, as a plain value.

use gnarl_graph::names::{self, Given, Listed, Setting};
use gnarl_graph::{Error, Result};
use serde::{Deserialize, Serialize};

use super::options::{NetworkOptions, TrainingOptions};
use crate::augment::Augment;
use crate::defense::Defense;
use crate::depth::Depth;
use crate::features::FeatureScaling;
use crate::inference::Inference;
use crate::nn::Backbone;
use crate::operator::OperatorChoice;
use crate::weights::WeightsChoice;

/// A model before it is fitted: a backbone, a choice on each of the five axes, and how it is
/// trained. Whatever is left open takes its usual value.
///
/// ```
/// use gnarl::prelude::*;
/// let model = Model::new(Backbone::Gcn).operator(Cgso::by(Centrality::Core)).weights(Orthonormal::default());
/// let text = model.to_toml()?;
/// assert_eq!(Model::from_toml(&text)?, model);
/// # Ok::<(), gnarl::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Model {
    /// The kind of network.
    pub backbone: Backbone,
    /// What is done to features before the network sees them; by the backbone where nothing is
    /// said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureScaling>,
    /// Axis 1: the operator that messages travel by.
    #[serde(default)]
    pub operator: OperatorChoice,
    /// Axis 2: how many rounds, per item.
    #[serde(default)]
    pub depth: Depth,
    /// Axis 3: how far a layer may stretch its input.
    #[serde(default)]
    pub weights: WeightsChoice,
    /// Axis 4: how an answer is read off.
    #[serde(default)]
    pub inference: Inference,
    /// Axis 5: what it is trained on.
    #[serde(default)]
    pub augment: Augment,
    /// What is done to a graph before anything else, while training and after.
    #[serde(default)]
    pub defense: Defense,
    /// The network's shape.
    #[serde(default)]
    pub network: NetworkOptions,
    /// How it is trained.
    #[serde(default)]
    pub training: TrainingOptions,
}

impl Model {
    /// A plain model: the paper's operator, one depth, free weights, one forward pass, the training
    /// set as it is.
    pub fn new(backbone: Backbone) -> Self {
        Self {
            backbone,
            features: None,
            operator: OperatorChoice::default(),
            depth: Depth::default(),
            weights: WeightsChoice::default(),
            inference: Inference::default(),
            augment: Augment::default(),
            defense: Defense::default(),
            network: NetworkOptions::default(),
            training: TrainingOptions::default(),
        }
    }

    /// With another operator.
    pub fn operator(self, operator: impl Into<OperatorChoice>) -> Self {
        Self {
            operator: operator.into(),
            ..self
        }
    }

    /// With another depth.
    pub fn depth(self, depth: impl Into<Depth>) -> Self {
        Self {
            depth: depth.into(),
            ..self
        }
    }

    /// With other weights.
    pub fn weights(self, weights: impl Into<WeightsChoice>) -> Self {
        Self {
            weights: weights.into(),
            ..self
        }
    }

    /// With another inference.
    pub fn inference(self, inference: impl Into<Inference>) -> Self {
        Self {
            inference: inference.into(),
            ..self
        }
    }

    /// Trained on other data.
    pub fn augment(self, augment: impl Into<Augment>) -> Self {
        Self {
            augment: augment.into(),
            ..self
        }
    }

    /// On graphs that a defence has been over.
    pub fn defense(self, defense: impl Into<Defense>) -> Self {
        Self {
            defense: defense.into(),
            ..self
        }
    }

    /// With features scaled like this.
    pub fn features(self, features: FeatureScaling) -> Self {
        Self {
            features: Some(features),
            ..self
        }
    }

    /// With so many training epochs.
    pub fn epochs(self, epochs: usize) -> Self {
        Self {
            training: TrainingOptions {
                epochs: Some(epochs),
                ..self.training
            },
            ..self
        }
    }

    /// With hidden layers of this width.
    pub fn hidden(self, hidden: usize) -> Self {
        Self {
            network: NetworkOptions {
                hidden: Some(hidden),
                ..self.network
            },
            ..self
        }
    }

    /// With so many layers.
    pub fn layers(self, layers: usize) -> Self {
        Self {
            network: NetworkOptions {
                layers: Some(layers),
                ..self.network
            },
            ..self
        }
    }

    /// Everything a model can be told, in sections, for command lines and other callers that speak
    /// in words.
    pub fn sections() -> Vec<Section> {
        let names = |list: &'static [Listed]| {
            list.iter()
                .map(|entry| (entry.name.to_string(), entry.about))
                .collect()
        };
        let axis = |axis, title, list| Section {
            axis,
            title,
            names: names(list),
            settings: of_list(list),
            list,
        };
        let operators = OperatorChoice::names().map(|name| (name, "")).collect();
        vec![
            Section {
                axis: None,
                title: "The network",
                names: Vec::new(),
                settings: NetworkOptions::SETTINGS.to_vec(),
                list: &[],
            },
            Section {
                axis: Some("operator"),
                title: "Operator",
                names: operators,
                settings: OperatorChoice::SETTINGS.to_vec(),
                list: &[Listed {
                    name: "cgso",
                    about: "",
                    settings: OperatorChoice::SETTINGS,
                }],
            },
            axis(Some("depth"), "Depth", Depth::LIST),
            axis(Some("weights"), "Weights", WeightsChoice::LIST),
            axis(Some("inference"), "Inference", Inference::LIST),
            axis(Some("augment"), "Data", Augment::LIST),
            axis(Some("defense"), "Defence", Defense::LIST),
            Section {
                axis: None,
                title: "Training",
                names: Vec::new(),
                settings: TrainingOptions::SETTINGS.to_vec(),
                list: &[],
            },
        ]
    }

    /// The same with options put over it, by their flags: `("weights", "orthonormal")`,
    /// `("order", "3")`, `("lr", "0.02")`. An option of another choice than the one made is
    /// refused, and so is one that nobody knows.
    pub fn over(&self, options: &[Given]) -> Result<Self> {
        let mut given = Options::new(options);
        let mut model = *self;
        if let Some(name) = given.take("features") {
            model.features = Some(name.parse()?);
        }
        let network = NetworkOptions::SETTINGS;
        model.network =
            names::overlaid(&self.network, &given.of(network)).map_err(by_flag(network))?;
        let training = TrainingOptions::SETTINGS;
        model.training =
            names::overlaid(&self.training, &given.of(training)).map_err(by_flag(training))?;
        if let Some(name) = given.take("operator") {
            model.operator = name.parse()?;
        }
        model.operator = model.operator.with(&given.of(OperatorChoice::SETTINGS))?;
        if let Some(name) = given.take("depth") {
            model.depth = name.parse()?;
        }
        let depth = &of_list(Depth::LIST);
        model.depth = model.depth.with(&given.of(depth)).map_err(by_flag(depth))?;
        if let Some(name) = given.take("weights") {
            model.weights = name.parse()?;
        }
        let weights = &of_list(WeightsChoice::LIST);
        model.weights = model
            .weights
            .with(&given.of(weights))
            .map_err(by_flag(weights))?;
        if let Some(name) = given.take("inference") {
            model.inference = name.parse()?;
        }
        let inference = &of_list(Inference::LIST);
        model.inference = model
            .inference
            .with(&given.of(inference))
            .map_err(by_flag(inference))?;
        if let Some(name) = given.take("augment") {
            model.augment = name.parse()?;
        }
        let augment = &of_list(Augment::LIST);
        model.augment = model
            .augment
            .with(&given.of(augment))
            .map_err(by_flag(augment))?;
        if let Some(name) = given.take("defense") {
            model.defense = name.parse()?;
        }
        let defense = &of_list(Defense::LIST);
        model.defense = model
            .defense
            .with(&given.of(defense))
            .map_err(by_flag(defense))?;
        given.refuse_rest()?;
        Ok(model)
    }
}

/// What a model can be told about one of its parts.
#[derive(Debug, Clone)]
pub struct Section {
    /// The option that makes the choice, for an axis.
    pub axis: Option<&'static str>,
    /// A heading.
    pub title: &'static str,
    /// The choices of an axis, and what they are.
    pub names: Vec<(String, &'static str)>,
    /// The settings of all choices together.
    pub settings: Vec<Setting>,
    /// The choices that have settings.
    list: &'static [Listed],
}

impl Section {
    /// Whose a setting of an axis is and what it is to them: the choices that mean the same by it
    /// together. Empty where there is no choice.
    pub fn takers(&self, setting: &Setting) -> Vec<(Vec<&'static str>, &'static str)> {
        let mut found: Vec<(Vec<&'static str>, &'static str)> = Vec::new();
        for entry in self.list {
            let Some(own) = entry
                .settings
                .iter()
                .find(|known| known.flag == setting.flag)
            else {
                continue;
            };
            match found.iter_mut().find(|(_, about)| *about == own.about) {
                Some((names, _)) => names.push(entry.name),
                None => found.push((vec![entry.name], own.about)),
            }
        }
        found
    }
}

/// Errors about a setting under the name that it was given by.
fn by_flag(settings: &[Setting]) -> impl Fn(Error) -> Error {
    |e| names::by_flag(settings, e)
}

/// The settings of all entries of a list; those that several share once each.
fn of_list(list: &[Listed]) -> Vec<Setting> {
    let mut all: Vec<Setting> = Vec::new();
    for setting in list.iter().flat_map(|entry| entry.settings) {
        if !all.iter().any(|known| known.flag == setting.flag) {
            all.push(*setting);
        }
    }
    all
}

/// Options by their flags, taken one after the other.
struct Options<'a> {
    left: Vec<&'a Given>,
}

impl<'a> Options<'a> {
    fn new(options: &'a [Given]) -> Self {
        Self {
            left: options.iter().collect(),
        }
    }

    fn take(&mut self, flag: &str) -> Option<&'a str> {
        let at = self.left.iter().position(|(known, _)| known == flag)?;
        Some(&self.left.remove(at).1)
    }

    /// Those of these settings that were given, by the names they are stored under.
    fn of(&mut self, settings: &[Setting]) -> Vec<Given> {
        let mut found = Vec::new();
        for setting in settings {
            while let Some(text) = self.take(setting.flag) {
                found.push((setting.name.to_string(), text.to_string()));
            }
        }
        found
    }

    fn refuse_rest(&self) -> Result<()> {
        let Some((flag, _)) = self.left.first() else {
            return Ok(());
        };
        let sections = Model::sections();
        let axes = sections
            .iter()
            .filter_map(|section| section.axis)
            .chain(["features"]);
        let known: Vec<&str> = sections
            .iter()
            .flat_map(|s| s.settings.iter().map(|s| s.flag))
            .chain(axes)
            .collect();
        Err(Error::unknown("option", flag, known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(options: &[(&str, &str)]) -> Vec<Given> {
        options
            .iter()
            .map(|(flag, text)| (flag.to_string(), text.to_string()))
            .collect()
    }

    #[test]
    fn options_are_put_over_a_model_and_strays_are_refused() {
        let plain = Model::new(Backbone::Gcn);
        let model = plain
            .over(&given(&[
                ("operator", "cgso"),
                ("centrality", "core"),
                ("depth", "admp-st"),
                ("max-depth", "3"),
                ("weights", "orthonormal"),
                ("order", "3"),
                ("inference", "robust-crf"),
                ("crf-sigma", "0.5"),
                ("augment", "dropedge"),
                ("strength", "0.1"),
                ("features", "as-loaded"),
                ("lr", "0.02"),
                ("lr-step", "50:0.6"),
                ("hidden", "16"),
            ]))
            .unwrap();
        assert_eq!(model.depth.exits().unwrap().last, 3);
        assert_eq!(
            (model.training.learning_rate, model.network.hidden),
            (Some(0.02), Some(16))
        );
        assert_eq!(model.training.schedule.unwrap().every, 50);
        assert_eq!(model.augment, crate::augment::DropEdge::share(0.1).into());
        let fail = |options: &[(&str, &str)]| plain.over(&given(options)).unwrap_err().to_string();
        assert_eq!(
            fail(&[("order", "3")]),
            "order: belongs to orthonormal, and the kind of weights is free"
        );
        assert_eq!(
            fail(&[("centrality", "core")]),
            "centrality: belongs to cgso, and the operator is the paper's"
        );
        assert_eq!(
            fail(&[("hiden", "3")]),
            "unknown option 'hiden'; did you mean hidden?"
        );
        assert!(fail(&[("dropout", "much")]).starts_with("dropout: 'much' does not fit"));
        assert!(
            fail(&[("lr", "quick")]).starts_with("lr: 'quick' does not fit"),
            "by the name it was given by"
        );
        assert!(fail(&[("crf-sigma", "0.5")]).starts_with("crf-sigma: belongs to robust-crf"));
        assert!(fail(&[("depth", "admp-sst")]).contains("did you mean admp-st"));
    }

    /// Two options of one name would be one option with two meanings.
    #[test]
    fn every_flag_stands_for_one_thing() {
        let mut flags: Vec<(&str, &str)> = Vec::new();
        for section in Model::sections() {
            for flag in section.settings.iter().map(|s| s.flag).chain(section.axis) {
                assert!(
                    flags.iter().all(|(known, _)| *known != flag),
                    "{flag} of {} and others",
                    section.title
                );
                flags.push((flag, section.title));
            }
        }
        assert!(flags.len() > 30);
    }
}
