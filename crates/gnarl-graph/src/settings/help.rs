//! Help texts and JSON schemas of settings and of lists of choices.

use serde_json::{Map, Value as Json};

use super::declaration::{Kind, Setting};
use super::list::ChoiceInfo;
use super::storage::KIND;

impl Setting {
    /// Returns the help text: its effect, its names or range, and its default.
    pub fn help(&self, default: Option<&Json>) -> String {
        let mut help = self.about.to_string();
        let names = self.names();
        if !names.is_empty() {
            help += &format!(": {}", names.join(", "));
        }
        if let (Some(bounds), Kind::Real) = (self.bounds, self.kind) {
            help += &format!(", {bounds}");
        }
        let default = match (default, self.open) {
            (_, Some(open)) => Some(open.to_string()),
            (None | Some(Json::Null), None) => None,
            (Some(Json::String(text)), None) => Some(text.clone()),
            (Some(Json::Object(choice)), None) => choice
                .get(KIND)
                .and_then(|name| name.as_str())
                .map(str::to_string),
            (Some(other), None) => Some(other.to_string()),
        };
        if let Some(default) = default {
            help += &format!(" [default: {default}]");
        }
        help
    }

    /// Returns the JSON schema of its value.
    pub fn schema(&self, default: Option<&Json>) -> Json {
        let mut schema = Map::new();
        schema.insert("description".into(), self.about.into());
        match self.kind {
            Kind::Count => {
                schema.insert("type".into(), "integer".into());
                schema.insert("minimum".into(), 0.into());
                schema.insert("maximum".into(), self.most().into());
            }
            Kind::Real => drop(schema.insert("type".into(), "number".into())),
            Kind::Switch => drop(schema.insert("type".into(), "boolean".into())),
            // A choice with settings of its own: its name, or an object with the name under `kind`.
            Kind::Name(names) if default.is_some_and(Json::is_object) => {
                let kind = serde_json::json!({KIND: {"enum": names()}});
                let object =
                    serde_json::json!({"type": "object", "properties": kind, "required": [KIND]});
                let name = serde_json::json!({"enum": names()});
                schema.insert("anyOf".into(), vec![name, object].into());
            }
            Kind::Name(names) => drop(schema.insert("enum".into(), names().into())),
            Kind::Text(form) => {
                schema.insert("type".into(), vec!["string", "number"].into());
                schema.insert("format".into(), form.into());
            }
        }
        if let Some(bounds) = self.bounds {
            for (end, closed, open) in [
                (bounds.least, "minimum", "exclusiveMinimum"),
                (bounds.most, "maximum", "exclusiveMaximum"),
            ] {
                if let Some((end, is_closed)) = end {
                    let whole = matches!(self.kind, Kind::Count);
                    let end = if whole {
                        (end as u64).into()
                    } else {
                        Json::from(end)
                    };
                    schema.insert(if is_closed { closed } else { open }.into(), end);
                }
            }
        }
        if let Some(default) = default.filter(|default| !default.is_null()) {
            schema.insert("default".into(), default.clone());
        }
        Json::Object(schema)
    }
}

impl ChoiceInfo {
    /// Returns the help text of one of its settings.
    pub fn help(&self, setting: &Setting) -> String {
        setting.help((self.defaults)().get(setting.name))
    }

    /// Returns the JSON schema of the entry in files: its name under `kind`, and its settings.
    pub fn schema(&self) -> Json {
        let defaults = (self.defaults)();
        let mut properties = Map::new();
        properties.insert(KIND.into(), serde_json::json!({"const": self.name}));
        for setting in self.settings {
            let schema = setting.schema(defaults.get(setting.name));
            properties.insert(setting.name.into(), schema);
        }
        serde_json::json!({
            "description": self.about,
            "type": "object",
            "properties": properties,
            "required": [KIND],
            "additionalProperties": false,
        })
    }
}

/// Returns the JSON schema of a list of choices: a name alone, or a name with settings.
pub fn schema(list: &[ChoiceInfo]) -> Json {
    let names: Vec<&str> = list.iter().map(|entry| entry.name).collect();
    let mut any = vec![serde_json::json!({"enum": names})];
    any.extend(list.iter().map(ChoiceInfo::schema));
    serde_json::json!({"anyOf": any})
}
