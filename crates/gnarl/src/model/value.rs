//! [`Model`]: a backbone and five choices, as a plain value.

use gnarl_graph::settings::{self, ChoiceInfo, Setting, SettingText};
use gnarl_graph::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::augment::Augment;
use gnarl_nn::depth::Depth;
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::{Backbone, NetworkConfig, NetworkOptions};
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::{TrainConfig, TrainingOptions};
use gnarl_nn::weights::WeightsChoice;
use gnarl_robust::defense::Defense;
use gnarl_robust::inference::Inference;

/// Makes the choice of an axis and sets its settings, if they were given.
macro_rules! choose {
    ($given:ident, $choice:expr, $axis:literal, $Enum:ty) => {
        if let Some(name) = $given.take($axis) {
            $choice = name.parse()?;
        }
        let settings = &of_list(<$Enum>::LIST);
        $choice = $choice
            .with(&$given.of(settings))
            .map_err(by_flag(settings))?;
    };
}
/// A model before it is fitted: a backbone, a choice on each of the five axes, and its training.
/// Open options take their defaults.
///
/// ```
/// use gnarl::prelude::*;
/// let model = Model::new(Backbone::GCN).operator(Cgso::by(Centrality::CORE)).weights(Orthonormal::default());
/// let text = model.to_toml()?;
/// assert_eq!(Model::from_toml(&text)?, model);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Model {
    /// The network and its own settings.
    #[serde(serialize_with = "by_name_alone")]
    pub backbone: Backbone,
    /// Feature scaling; selected for the network and the data if left open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureScaling>,
    /// Axis 1: the message-passing operator.
    #[serde(default)]
    pub operator: OperatorChoice,
    /// Axis 2: the depth, for all nodes or for each.
    #[serde(default)]
    pub depth: Depth,
    /// Axis 3: the constraint on the layers' Lipschitz constants.
    #[serde(default)]
    pub weights: WeightsChoice,
    /// Axis 4: the inference rule.
    #[serde(default)]
    pub inference: Inference,
    /// Axis 5: the training-data augmentation.
    #[serde(default)]
    pub augment: Augment,
    /// The preprocessing defence, applied to every input graph.
    #[serde(default)]
    pub defense: Defense,
    /// The settings that networks share.
    #[serde(default)]
    pub network: NetworkOptions,
    /// The settings of training.
    #[serde(default)]
    pub training: TrainingOptions,
}

impl Model {
    /// A plain model: the operator of the network's paper, one depth, unconstrained weights, one
    /// forward pass, no augmentation.
    #[must_use]
    pub fn new(backbone: impl Into<Backbone>) -> Self {
        Self {
            backbone: backbone.into(),
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

    /// Sets the message-passing operator.
    #[must_use]
    pub fn operator(self, operator: impl Into<OperatorChoice>) -> Self {
        Self {
            operator: operator.into(),
            ..self
        }
    }

    /// Sets the depth.
    #[must_use]
    pub fn depth(self, depth: impl Into<Depth>) -> Self {
        Self {
            depth: depth.into(),
            ..self
        }
    }

    /// Sets the weight constraint.
    #[must_use]
    pub fn weights(self, weights: impl Into<WeightsChoice>) -> Self {
        Self {
            weights: weights.into(),
            ..self
        }
    }

    /// Sets the inference rule.
    #[must_use]
    pub fn inference(self, inference: impl Into<Inference>) -> Self {
        Self {
            inference: inference.into(),
            ..self
        }
    }

    /// Sets the training-data augmentation.
    #[must_use]
    pub fn augment(self, augment: impl Into<Augment>) -> Self {
        Self {
            augment: augment.into(),
            ..self
        }
    }

    /// Sets the preprocessing defence, applied to every input graph.
    #[must_use]
    pub fn defense(self, defense: impl Into<Defense>) -> Self {
        Self {
            defense: defense.into(),
            ..self
        }
    }

    /// Sets the feature scaling.
    #[must_use]
    pub fn features(self, features: FeatureScaling) -> Self {
        Self {
            features: Some(features),
            ..self
        }
    }

    /// Sets the number of training epochs.
    #[must_use]
    pub fn epochs(self, epochs: usize) -> Self {
        Self {
            training: TrainingOptions {
                epochs: Some(epochs),
                ..self.training
            },
            ..self
        }
    }

    /// Sets the width of hidden layers.
    #[must_use]
    pub fn hidden(self, hidden: usize) -> Self {
        Self {
            network: NetworkOptions {
                hidden: Some(hidden),
                ..self.network
            },
            ..self
        }
    }

    /// Sets the number of layers.
    #[must_use]
    pub fn layers(self, layers: usize) -> Self {
        Self {
            network: NetworkOptions {
                layers: Some(layers),
                ..self.network
            },
            ..self
        }
    }

    /// Returns every option of a model in sections, for front ends.
    pub fn sections() -> Vec<Section> {
        vec![
            Section::of_axis("model", "Model", Backbone::LIST),
            Section::of_settings("The network", NetworkOptions::SETTINGS, of_network),
            Section::of_axis("operator", "Operator", OperatorChoice::LIST),
            Section::of_axis("depth", "Depth", Depth::LIST),
            Section::of_axis("weights", "Weights", WeightsChoice::LIST),
            Section::of_axis("inference", "Inference", Inference::LIST),
            Section::of_axis("augment", "Data", Augment::LIST),
            Section::of_axis("defense", "Defence", Defense::LIST),
            Section::of_settings("Training", TrainingOptions::SETTINGS, of_training),
        ]
    }

    /// Returns the JSON schema of a model in a spec file.
    pub fn schema() -> Value {
        let mut properties = serde_json::Map::new();
        let scalings: Vec<&str> = FeatureScaling::ALL.iter().map(|s| s.name()).collect();
        properties.insert("features".into(), json!({"enum": scalings}));
        for section in Self::sections() {
            match section.axis {
                Some("model") => {
                    properties.insert("backbone".into(), settings::schema(section.list))
                }
                Some(axis) => properties.insert(axis.into(), settings::schema(section.list)),
                None => properties.insert(section.key().into(), section.schema()),
            };
        }
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A model of gnarl",
            "type": "object",
            "properties": properties,
            "required": ["backbone"],
            "additionalProperties": false,
        })
    }

    /// Sets options by their flags: `("weights", "orthonormal")`, `("order", "3")`,
    /// `("lr", "0.02")`. An option of a choice that was not made is refused, and so is an unknown
    /// option.
    pub fn over(&self, options: &[SettingText]) -> Result<Self> {
        let mut given = Options::new(options);
        let mut model = *self;
        if let Some(name) = given.take("features") {
            model.features = Some(name.parse()?);
        }
        model.network = given.put(&self.network, NetworkOptions::SETTINGS)?;
        model.training = given.put(&self.training, TrainingOptions::SETTINGS)?;
        choose!(given, model.backbone, "model", Backbone);
        choose!(given, model.operator, "operator", OperatorChoice);
        choose!(given, model.depth, "depth", Depth);
        choose!(given, model.weights, "weights", WeightsChoice);
        choose!(given, model.inference, "inference", Inference);
        choose!(given, model.augment, "augment", Augment);
        choose!(given, model.defense, "defense", Defense);
        given.refuse_rest()?;
        Ok(model)
    }
}

/// Serialises a network without settings of its own by name.
fn by_name_alone<S: Serializer>(backbone: &Backbone, s: S) -> std::result::Result<S::Ok, S::Error> {
    if backbone.info().settings.is_empty() {
        return s.serialize_str(backbone.name());
    }
    backbone.serialize(s)
}

/// Returns the defaults of shared settings, by name.
fn of_network() -> settings::Fields {
    settings::fields(&NetworkOptions::from(&NetworkConfig::default())).unwrap_or_default()
}

/// Returns the defaults of training, by name.
fn of_training() -> settings::Fields {
    settings::fields(&TrainingOptions::from(&TrainConfig::default())).unwrap_or_default()
}

/// The options of one part of a model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Section {
    /// The option that makes the choice, for an axis.
    pub axis: Option<&'static str>,
    /// The heading.
    pub title: &'static str,
    /// The choices of an axis with their descriptions.
    pub names: Vec<(String, &'static str)>,
    /// The settings of all choices.
    pub settings: Vec<Setting>,
    /// The choices of an axis.
    pub list: &'static [ChoiceInfo],
    defaults: fn() -> settings::Fields,
}

impl Section {
    /// Returns the section of a list of choices; `axis` is the option that makes the choice.
    #[must_use]
    pub fn of_axis(axis: &'static str, title: &'static str, list: &'static [ChoiceInfo]) -> Self {
        let name = |entry: &ChoiceInfo| (entry.name.to_string(), entry.about);
        Self {
            axis: Some(axis),
            title,
            names: list.iter().map(name).collect(),
            settings: of_list(list),
            list,
            defaults: settings::Fields::new,
        }
    }

    fn of_settings(
        title: &'static str,
        settings: &'static [Setting],
        defaults: fn() -> settings::Fields,
    ) -> Self {
        Self {
            axis: None,
            title,
            names: Vec::new(),
            settings: settings.to_vec(),
            list: &[],
            defaults,
        }
    }

    /// Returns the key of the section in a spec file.
    pub fn key(&self) -> &'static str {
        self.axis.unwrap_or(if self.title == "Training" {
            "training"
        } else {
            "network"
        })
    }

    /// Returns the help of a setting, as in `dropedge, dropnode: Probability of removing an edge`.
    /// The names are left out if all choices have the setting with the same meaning.
    pub fn help(&self, setting: &Setting) -> String {
        let takers = self.takers(setting);
        match &takers[..] {
            [] => setting.help((self.defaults)().get(setting.name)),
            [(names, help)] if names.len() == self.list.len() => help.clone(),
            _ => {
                let each = takers
                    .iter()
                    .map(|(names, help)| format!("{}: {help}", names.join(", ")));
                each.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Returns the choices that have a setting, with its help in each, grouped by equal help. Empty
    /// for a section without choices.
    pub fn takers(&self, setting: &Setting) -> Vec<(Vec<&'static str>, String)> {
        let mut found: Vec<(Vec<&'static str>, String)> = Vec::new();
        for entry in self.list {
            let of_flag = |known: &&Setting| known.flag == setting.flag;
            let Some(own) = entry.settings.iter().find(of_flag) else {
                continue;
            };
            let help = entry.help(own);
            match found.iter_mut().find(|(_, known)| *known == help) {
                Some((names, _)) => names.push(entry.name),
                None => found.push((vec![entry.name], help)),
            }
        }
        found
    }

    fn schema(&self) -> Value {
        let defaults = (self.defaults)();
        let of = |s: &Setting| (s.name.to_string(), s.schema(defaults.get(s.name)));
        let properties: serde_json::Map<String, Value> = self.settings.iter().map(of).collect();
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    }
}

/// Returns the option or options that have replaced an earlier name, if any.
pub fn renamed(flag: &str) -> Option<String> {
    let lists = Model::sections().into_iter().map(|section| section.list);
    lists
        .into_iter()
        .find_map(|list| settings::renamed(list, flag))
}

/// Reports errors about a setting under the name that it was given by.
fn by_flag(settings: &[Setting]) -> impl Fn(Error) -> Error {
    |e| settings::by_flag(settings, e)
}

/// Returns the settings of all entries of a list, shared settings once.
fn of_list(list: &[ChoiceInfo]) -> Vec<Setting> {
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
    left: Vec<&'a SettingText>,
}

impl<'a> Options<'a> {
    fn new(options: &'a [SettingText]) -> Self {
        Self {
            left: options.iter().collect(),
        }
    }

    fn take(&mut self, flag: &str) -> Option<&'a str> {
        let at = self.left.iter().position(|(known, _)| known == flag)?;
        Some(&self.left.remove(at).1)
    }

    /// Removes and returns the options that set one of these settings, by their stored names.
    fn of(&mut self, settings: &[Setting]) -> Vec<SettingText> {
        let mut found = Vec::new();
        for setting in settings {
            while let Some(text) = self.take(setting.flag) {
                found.push((setting.name.to_string(), text.to_string()));
            }
        }
        found
    }

    /// Applies the given settings to a value.
    fn put<T>(&mut self, value: &T, settings: &[Setting]) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        settings::with_settings(value, &self.of(settings), settings).map_err(by_flag(settings))
    }

    fn refuse_rest(&self) -> Result<()> {
        let Some((flag, _)) = self.left.first() else {
            return Ok(());
        };
        if let Some(new) = renamed(flag) {
            return Err(Error::setting(flag, format!("is now {new}")));
        }
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

    fn given(options: &[(&str, &str)]) -> Vec<SettingText> {
        options
            .iter()
            .map(|(flag, text)| (flag.to_string(), text.to_string()))
            .collect()
    }

    #[test]
    fn options_are_put_over_a_model_and_strays_are_refused() {
        let plain = Model::new(Backbone::GCN);
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
                ("p", "0.1"),
                ("features", "as-loaded"),
                ("lr", "0.02"),
                ("lr-step", "50:0.6"),
                ("hidden", "16"),
            ]))
            .unwrap();
        assert_eq!(model.depth.exits().unwrap().max_depth, 3);
        assert_eq!(
            (model.training.learning_rate, model.network.hidden),
            (Some(0.02), Some(16))
        );
        assert_eq!(model.training.schedule.unwrap().every, 50);
        assert_eq!(model.augment, crate::augment::DropEdge::new(0.1).into());
        let fail = |options: &[(&str, &str)]| plain.over(&given(options)).unwrap_err().to_string();
        assert_eq!(
            fail(&[("order", "3")]),
            "order: belongs to orthonormal, and the kind of weights is free"
        );
        assert_eq!(
            fail(&[("centrality", "core")]),
            "centrality: belongs to cgso, and the operator is default"
        );
        assert_eq!(
            fail(&[("hiden", "3")]),
            "unknown option 'hiden'; did you mean hidden?"
        );
        assert_eq!(
            fail(&[("dropout", "much")]),
            "dropout must be a number (got 'much')"
        );
        assert!(
            fail(&[("lr", "quick")]).starts_with("lr must be a number (got 'quick')"),
            "by the name it was given by"
        );
        assert!(fail(&[("crf-sigma", "0.5")]).starts_with("crf-sigma: belongs to robust-crf"));
        assert!(fail(&[("depth", "admp-sst")]).contains("did you mean admp-st"));
    }

    /// Two options with the same name would be one option with two meanings.
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
