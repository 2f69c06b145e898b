//! Stored settings: choices as tables with their name under `kind`, and settings given as text.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::declaration::{Choice, Kind, Setting};
use super::list::SettingText;
use crate::error::{Error, Result};
use crate::limits;

/// The key under which a choice with settings stores its name.
pub const KIND: &str = "kind";

/// Settings by name.
pub type Fields = Map<String, Json>;

/// Splits a stored choice into its name and its settings.
pub fn split_kind(what: &str, value: Json) -> Result<(String, Fields)> {
    match value {
        Json::String(name) => Ok((name, Map::new())),
        Json::Object(mut fields) => match fields.shift_remove(KIND) {
            Some(Json::String(name)) => Ok((name, fields)),
            _ => Err(Error::argument(
                "settings",
                format!("a {what} needs a {KIND}, its name"),
            )),
        },
        other => Err(Error::argument(
            "settings",
            format!("{other} is not a {what}: a name, or settings with a {KIND}"),
        )),
    }
}

/// Returns a choice as it is stored: its settings under its name.
pub fn stored<C: Choice>(choice: &C) -> Result<Map<String, Json>> {
    let mut all = Map::from_iter([(KIND.to_string(), Json::from(C::NAME))]);
    all.append(&mut fields(choice)?);
    Ok(all)
}

/// Restores a choice from its stored form, without its name; missing settings have their defaults.
pub fn restored<C: Choice>(settings: Map<String, Json>) -> Result<C> {
    let all = completed(fields(&C::default())?, settings, C::SETTINGS)?;
    let choice: C = match C::SETTINGS {
        [] => C::default(),
        _ => {
            check_counts(C::SETTINGS, &all)?;
            serde_json::from_value(Json::Object(all)).map_err(|e| invalid(C::NAME, &e))?
        }
    };
    choice.check()?;
    Ok(choice)
}

// The generic functions of this file are compiled once for each choice. They leave all that does
// not depend on the type to functions that are compiled once.

/// Returns the defaults, overwritten with stored settings.
fn completed(mut defaults: Fields, settings: Fields, known: &'static [Setting]) -> Result<Fields> {
    for (name, value) in settings {
        let is_meant = |known: &&Setting| known.name == name || known.was == Some(&name);
        let Some(setting) = known.iter().find(is_meant) else {
            let names = known.iter().map(|s| s.name);
            return Err(Error::unknown("setting", &name, names));
        };
        defaults.insert(setting.name.to_string(), value);
    }
    Ok(defaults)
}

/// Returns the error for settings that are not those of a choice.
fn invalid(name: &'static str, error: &serde_json::Error) -> Error {
    Error::argument(name, plain_message(&error.to_string()))
}

/// Overwrites settings of a value with settings given as text.
pub fn with_settings<T: Serialize + DeserializeOwned>(
    value: &T,
    given: &[SettingText],
    settings: &[Setting],
) -> Result<T> {
    let read = |fields: Fields| serde_json::from_value::<T>(Json::Object(fields));
    let fields = overwritten(fields(value)?, given, settings, &|fields| {
        read(fields.clone()).err()
    })?;
    read(fields).map_err(|e| invalid("settings", &e))
}

/// Overwrites stored settings with settings given as text; `error_of` is the error of reading them.
fn overwritten(
    mut fields: Fields,
    given: &[SettingText],
    settings: &[Setting],
    error_of: &dyn Fn(&Fields) -> Option<serde_json::Error>,
) -> Result<Fields> {
    for (name, text) in given {
        let mut tried = fields.clone();
        tried.insert(name.clone(), typed(text));
        if let Some(first) = error_of(&tried) {
            // A number may stand for a word. The reader of the expected type reports the error.
            tried.insert(name.clone(), Json::String(text.clone()));
            if let Some(second) = error_of(&tried) {
                let is_type = |e: &serde_json::Error| e.to_string().starts_with("invalid type");
                let error = if is_type(&first) && !is_type(&second) {
                    second
                } else {
                    first
                };
                let why = plain_message(&error.to_string());
                return Err(wrong_value(name, text, settings, &why));
            }
        }
        fields = tried;
    }
    Ok(fields)
}

/// Returns the error for a text that is not a value of its setting.
fn wrong_value(name: &str, text: &str, settings: &[Setting], why: &str) -> Error {
    let setting = settings.iter().find(|setting| setting.name == name);
    let range = match setting.map(|setting| setting.kind) {
        Some(Kind::Count) => "a whole number",
        Some(Kind::Real) => "a number",
        Some(Kind::Switch) => "true or false",
        // Names and texts have their own messages.
        _ => {
            let why = why.strip_prefix(&format!("{name}: ")).unwrap_or(why);
            return Error::setting(name, why);
        }
    };
    Error::OutOfRange {
        setting: setting.map_or(name, |setting| setting.flag).to_string(),
        range: range.to_string(),
        got: format!("'{text}'"),
    }
}

/// Returns the settings of a value by name.
pub fn fields<T: Serialize>(value: &T) -> Result<Map<String, Json>> {
    as_fields(serde_json::to_value(value))
}

fn as_fields(value: serde_json::Result<Json>) -> Result<Fields> {
    match value {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(Json::Null) => Ok(Map::new()),
        Ok(other) => Err(Error::argument(
            "settings",
            format!("{other} is not a list of settings"),
        )),
        Err(e) => Err(Error::argument("settings", e.to_string())),
    }
}

/// Parses text as a number, true, false, or itself.
fn typed(text: &str) -> Json {
    match text {
        "true" => Json::Bool(true),
        "false" => Json::Bool(false),
        _ => {
            let whole = text
                .parse::<u64>()
                .map(Json::from)
                .or_else(|_| text.parse::<i64>().map(Json::from));
            let real = || {
                text.parse::<f64>()
                    .ok()
                    .and_then(serde_json::Number::from_f64)
                    .map(Json::Number)
            };
            whole
                .ok()
                .or_else(real)
                .unwrap_or_else(|| Json::String(text.to_string()))
        }
    }
}

/// Rewrites a message of the file reader in the user's words.
pub fn plain_message(message: &str) -> String {
    let mut message = message.to_string();
    for (name, words) in [
        ("usize", "a whole number"),
        ("u64", "a whole number"),
        ("u32", "a whole number"),
        ("f64", "a number"),
        ("f32", "a number"),
    ] {
        message = message.replace(&format!("expected {name}"), &format!("expected {words}"));
    }
    message
}

/// Fails for whole numbers above the maximum of their settings.
pub fn check_counts(settings: &[Setting], stored: &Fields) -> Result<()> {
    let counts = settings
        .iter()
        .filter(|setting| matches!(setting.kind, Kind::Count))
        .filter_map(|setting| Some((setting, stored.get(setting.name)?.as_u64()?)));
    counts
        .into_iter()
        .try_for_each(|(setting, count)| limits::check_count(setting.flag, count, setting.most()))
}
