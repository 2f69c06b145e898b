//! Models as TOML files, with every open option left out.

use gnarl_graph::settings::{ChoiceInfo, Setting};
use gnarl_graph::{Error, Result};
use gnarl_nn::networks::Backbone;

use super::Model;

impl Model {
    /// Returns the model as TOML.
    pub fn to_toml(&self) -> Result<String> {
        let value =
            serde_json::to_value(self).map_err(|e| Error::argument("spec", e.to_string()))?;
        let table = without_nulls(value).unwrap_or_default();
        toml::to_string(&table).map_err(|e| Error::argument("spec", e.to_string()))
    }

    /// Parses a model from TOML, as [`to_toml`](Self::to_toml) writes it or by hand. Missing
    /// options take their default; unknown keys are refused.
    ///
    /// ```
    /// use gnarl::prelude::*;
    /// let model = Model::from_toml("backbone = \"gcn\"\noperator = \"A\"\n[training]\nepochs = 50\n")?;
    /// assert_eq!(model.training.epochs, Some(50));
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self> {
        if let Some(present) = converted(text) {
            return Self::from_toml(&present);
        }
        let model: Self = toml::from_str(text).map_err(|e| {
            let line = e.span().map(|span| {
                1 + text
                    .bytes()
                    .take(span.start)
                    .filter(|byte| *byte == b'\n')
                    .count()
            });
            let place =
                line.map_or_else(|| "spec".to_string(), |line| format!("spec, line {line}"));
            Error::setting(
                &place,
                gnarl_graph::settings::plain_message(e.message().trim()).replace('\n', " "),
            )
        })?;
        Ok(model)
    }
}

/// Converts a spec from before networks had settings of their own; `None` for others.
fn converted(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let mut value = serde_json::to_value(table).ok()?;
    modernise(&mut value).then(|| toml::to_string(&value).ok())?
}

/// Moves settings that a network now has itself from `network` to `backbone`, in a model that was
/// stored earlier. Returns true if there were any.
pub(super) fn modernise(model: &mut serde_json::Value) -> bool {
    use serde_json::Value;
    let Some(name) = model["backbone"].as_str().map(str::to_string) else {
        return false;
    };
    let Ok(backbone) = name.parse::<Backbone>() else {
        return false;
    };
    let Some(network) = model.get_mut("network").and_then(Value::as_object_mut) else {
        return false;
    };
    let mut own = serde_json::Map::new();
    for name in names(&backbone.info()) {
        if let Some(value) = network.remove(name).filter(|value| !value.is_null()) {
            own.insert(name.to_string(), value);
        }
    }
    // Settings of other networks were stored without a value.
    let others: Vec<&str> = Backbone::LIST.iter().flat_map(names).collect();
    let count = network.len();
    network.retain(|name, value| !(value.is_null() && others.contains(&name.as_str())));
    let is_changed = network.len() < count || !own.is_empty();
    if !own.is_empty() {
        own.insert(gnarl_graph::settings::KIND.into(), name.into());
        model["backbone"] = Value::Object(own);
    }
    is_changed
}

/// Returns the names of a network's settings, the earlier ones too.
fn names(info: &ChoiceInfo) -> impl Iterator<Item = &'static str> + use<> {
    let both = |s: &'static Setting| [Some(s.name), s.was];
    info.settings.iter().flat_map(both).flatten()
}

/// Removes null values, which TOML cannot express.
fn without_nulls(value: serde_json::Value) -> Option<serde_json::Value> {
    use serde_json::Value;
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_nulls(value)?)));
            let kept: serde_json::Map<String, Value> = kept.collect();
            // Values before tables, as TOML requires.
            let (tables, values): (Vec<_>, Vec<_>) =
                kept.into_iter().partition(|(_, value)| value.is_object());
            let tables = tables
                .into_iter()
                .filter(|(_, value)| value.as_object().is_some_and(|t| !t.is_empty()));
            Some(Value::Object(values.into_iter().chain(tables).collect()))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::{Augment, DropEdge};
    use gnarl_graph::centrality::Centrality;
    use gnarl_nn::depth::Exits;
    use gnarl_nn::operator::Cgso;

    #[test]
    fn a_model_is_written_and_read_back() {
        let plain = Model::new(Backbone::GATV2);
        let full = plain
            .operator(Cgso::by(Centrality::CORE))
            .depth(Exits::st(3))
            .augment(DropEdge::new(0.1))
            .epochs(7)
            .hidden(24);
        for model in [plain, full]
            .into_iter()
            .chain(Augment::all().map(|augment| plain.augment(augment)))
        {
            let text = model.to_toml().unwrap();
            assert_eq!(Model::from_toml(&text).unwrap(), model, "{text}");
        }
    }

    #[test]
    fn files_of_before_networks_had_settings_are_read() {
        let old = "backbone = \"rung\"\n[network]\nhidden = 16\nteleport = 0.2\nlevel = 4.0\n";
        let model = Model::from_toml(old).unwrap();
        let Backbone::Rung(rung) = model.backbone else {
            panic!("{model:?}")
        };
        assert_eq!(
            (rung.alpha, rung.gamma, model.network.hidden),
            (0.2, 4.0, Some(16))
        );
        let e = Model::from_toml("backbone = \"gcn\"\n[network]\nteleport = 0.2\n").unwrap_err();
        assert!(e.to_string().contains("teleport"), "{e}");
    }

    #[test]
    fn errors_name_the_line() {
        for (text, what) in [
            ("operator = \"A\"", "missing field `backbone`"),
            ("backbone = \"gnc\"", "did you mean"),
            ("backbone = \"gcn\"\nhiden = 3", "line 2"),
            (
                "backbone = \"gcn\"\n[network]\nhidden = \"x\"",
                "a whole number",
            ),
            (
                "backbone = \"gcn\"\n[augment]\nkind = \"dropedge\"\np = 2",
                "p must be in [0, 1]",
            ),
            ("backbone = ", "spec"),
        ] {
            let e = Model::from_toml(text).unwrap_err().to_string();
            assert!(e.contains(what) && !e.contains('\n'), "{text}: {e}");
        }
    }
}
