//! Named choices: one list for each kind of choice, from which parsing, help and errors are
//! derived.
//!
//! [`named!`](crate::named) makes an enum of choices without settings. [`choices!`](crate::choices)
//! makes an enum of choices with settings of their own: each is a struct in its own file that
//! implements [`Choice`], and one line in the list. The list gives names, parsing regardless of
//! case, "did you mean", help, files, and the error for a setting of another choice.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};
use crate::limits;

pub use gnarl_derive::Settings;

/// Typed settings: a struct whose fields declare their help, defaults and ranges. Derived.
pub trait Settings: Sized {
    /// Settings by the names under which they are stored.
    const SETTINGS: &'static [Setting];

    /// Fails for a value outside its range, naming the option.
    fn check_ranges(&self) -> Result<()>;
}

/// A choice with settings of its own: an entry of a list that [`choices!`](crate::choices) makes.
pub trait Choice:
    Copy + PartialEq + std::fmt::Debug + Default + Serialize + DeserializeOwned + Settings
{
    /// Name, in lower case with hyphens.
    const NAME: &'static str;
    /// Description in a few words.
    const ABOUT: &'static str;

    /// Fails for invalid settings, naming the range.
    fn check(&self) -> Result<()> {
        self.check_ranges()
    }
}

/// The type of a setting, for front ends.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A whole number of at least 0.
    Count,
    /// A number.
    Real,
    /// True or false.
    Switch,
    /// One of several names.
    Name(fn() -> Vec<String>),
    /// Text of this form, as `N,N`.
    Text(&'static str),
}

impl Kind {
    /// Returns the placeholder in help.
    pub const fn placeholder(&self) -> &'static str {
        match self {
            Kind::Count => "N",
            Kind::Real => "X",
            Kind::Switch => "BOOL",
            Kind::Name(_) => "NAME",
            Kind::Text(form) => form,
        }
    }
}

/// A type of setting values.
pub trait Value {
    /// The kind of its values.
    const KIND: Kind;

    /// Returns the value as a number, for checks of its range.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Returns the value as text, for messages.
    fn text(&self) -> String {
        String::new()
    }
}

macro_rules! numbers {
    ($kind:expr, $($of:ty),+) => {
        $(impl Value for $of {
            const KIND: Kind = $kind;

            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }

            fn text(&self) -> String {
                self.to_string()
            }
        })+
    };
}

numbers!(Kind::Count, usize, u32, u64);
numbers!(Kind::Real, f32, f64);

impl Value for bool {
    const KIND: Kind = Kind::Switch;
}

/// Allowed values of a number: its ends, each true if the end itself is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Smallest value.
    pub least: Option<(f64, bool)>,
    /// Largest value.
    pub most: Option<(f64, bool)>,
}

impl Bounds {
    /// Returns true if a value is allowed; NaN is not.
    pub fn contains(&self, value: f64) -> bool {
        let above = |(end, closed): (f64, bool)| value > end || closed && value == end;
        let below = |(end, closed): (f64, bool)| value < end || closed && value == end;
        self.least.is_none_or(above) && self.most.is_none_or(below) && value.is_finite()
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bracket = |closed, yes, no| if closed { yes } else { no };
        match (self.least, self.most) {
            (Some((least, first)), Some((most, last))) => {
                let (open, close) = (bracket(first, "[", "("), bracket(last, "]", ")"));
                write!(f, "in {open}{least}, {most}{close}")
            }
            (Some((least, closed)), None) => write!(f, "{} {least}", bracket(closed, ">=", ">")),
            (None, Some((most, closed))) => write!(f, "{} {most}", bracket(closed, "<=", "<")),
            (None, None) => f.write_str("finite"),
        }
    }
}

/// Fails for a value outside its bounds. A count without an upper bound ends at [`limits::MOST`].
pub fn check_value<T: Value>(flag: &str, value: &T, bounds: Option<Bounds>) -> Result<()> {
    let Some(number) = value.number() else {
        return Ok(());
    };
    let bounds = allowed(&T::KIND, bounds);
    if bounds.contains(number) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        setting: flag.to_string(),
        range: bounds.to_string(),
        got: value.text(),
    })
}

fn allowed(kind: &Kind, bounds: Option<Bounds>) -> Bounds {
    let bounds = bounds.unwrap_or(Bounds {
        least: None,
        most: None,
    });
    match (kind, bounds.most) {
        (Kind::Count, None) => Bounds {
            most: Some((limits::MOST as f64, true)),
            ..bounds
        },
        _ => bounds,
    }
}

/// A declared setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Name in files, in lower case with hyphens.
    pub name: &'static str,
    /// Command-line option, without the hyphens.
    pub flag: &'static str,
    /// Help text, without the default.
    pub about: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Allowed values of a number.
    pub bounds: Option<Bounds>,
    /// True if it may be left unset.
    pub optional: bool,
    /// Meaning of an unset value.
    pub open: Option<&'static str>,
    /// Placeholder in help, if it is not its type's.
    pub placeholder: Option<&'static str>,
    /// Earlier name.
    pub was: Option<&'static str>,
}

impl Setting {
    /// Returns the placeholder of its value in help.
    pub fn placeholder(&self) -> &'static str {
        self.placeholder.unwrap_or(self.kind.placeholder())
    }

    /// Returns true if `old` is an earlier name or its option, as `teleport` and `gdc-teleport` are
    /// of `alpha` with the option `gdc-alpha`.
    pub fn replaces(&self, old: &str) -> bool {
        let prefix = self.flag.strip_suffix(self.name).unwrap_or_default();
        self.was
            .is_some_and(|was| old == was || old.strip_prefix(prefix) == Some(was))
    }

    /// Returns the largest value of a count.
    pub fn most(&self) -> u64 {
        let most = self.bounds.and_then(|bounds| bounds.most);
        most.map_or(limits::MOST, |(most, _)| most as u64)
    }

    /// Returns the names allowed as a value; empty for numbers and text.
    pub fn names(&self) -> Vec<String> {
        match self.kind {
            Kind::Name(names) => names(),
            _ => Vec::new(),
        }
    }

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

/// An entry of a list of choices.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// Name.
    pub name: &'static str,
    /// Description in a few words.
    pub about: &'static str,
    /// Settings.
    pub settings: &'static [Setting],
    /// Defaults of the settings, by name.
    pub defaults: fn() -> Fields,
}

fn defaults_of<C: Default + Serialize>() -> Fields {
    fields(&C::default()).unwrap_or_default()
}

impl Listed {
    /// Returns the entry of a choice.
    pub const fn of<C: Choice>() -> Self {
        Self {
            name: C::NAME,
            about: C::ABOUT,
            settings: C::SETTINGS,
            defaults: defaults_of::<C>,
        }
    }

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

    fn takes(&self, setting: &str) -> bool {
        self.settings.iter().any(|known| known.name == setting)
    }
}

/// Returns the JSON schema of a list of choices: a name alone, or a name with settings.
pub fn schema(list: &[Listed]) -> Json {
    let names: Vec<&str> = list.iter().map(|entry| entry.name).collect();
    let mut any = vec![serde_json::json!({"enum": names})];
    any.extend(list.iter().map(Listed::schema));
    serde_json::json!({"anyOf": any})
}

/// Returns the setting that replaced a name, with the entries that have it.
pub fn renamed(list: &[Listed], old: &str) -> Option<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in list {
        for setting in entry
            .settings
            .iter()
            .filter(|setting| setting.replaces(old))
        {
            match found.iter_mut().find(|(flag, _)| *flag == setting.flag) {
                Some((_, names)) => names.push(entry.name),
                None => found.push((setting.flag, vec![entry.name])),
            }
        }
    }
    let each = found
        .iter()
        .map(|(flag, names)| format!("{flag} of {}", listed(names)));
    (!found.is_empty()).then(|| each.collect::<Vec<_>>().join("; "))
}

/// A setting and the text given for it.
pub type Given = (String, String);

/// The key under which a choice with settings stores its name.
pub const KIND: &str = "kind";

/// Replaces the setting in an error by its option: two choices may name different options alike.
pub fn by_flag(settings: &[Setting], error: Error) -> Error {
    error.rename_setting(|name| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or(name, |setting| setting.flag).to_string()
    })
}

/// Overwrites settings of a value with settings given as text.
pub fn overlaid<T: Serialize + DeserializeOwned>(
    value: &T,
    given: &[Given],
    settings: &[Setting],
) -> Result<T> {
    let mut fields = fields(value)?;
    for (name, text) in given {
        let as_typed = typed(text);
        let tried = |value: Json, fields: &Map<String, Json>| {
            let mut fields = fields.clone();
            fields.insert(name.clone(), value);
            serde_json::from_value::<T>(Json::Object(fields.clone())).map(|_| fields)
        };
        // A number may stand for a word. The reader of the expected type reports the error.
        let as_word = |first: serde_json::Error| {
            tried(Json::String(text.clone()), &fields).map_err(|second| {
                if first.to_string().starts_with("invalid type")
                    && !second.to_string().starts_with("invalid type")
                {
                    second
                } else {
                    first
                }
            })
        };
        fields = match tried(as_typed, &fields).or_else(as_word) {
            Ok(fields) => fields,
            Err(e) => {
                return Err(misfit(name, text, settings, &plainly(&e.to_string())));
            }
        };
    }
    serde_json::from_value(Json::Object(fields))
        .map_err(|e| Error::argument("settings", plainly(&e.to_string())))
}

/// Returns the error for a text that is not a value of its setting.
fn misfit(name: &str, text: &str, settings: &[Setting], why: &str) -> Error {
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
    match serde_json::to_value(value) {
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
pub fn plainly(message: &str) -> String {
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

/// Fails for a setting that the chosen entry does not have, naming the entries that do.
pub fn refuse_stray(what: &str, list: &[Listed], chosen: &Listed, given: &[Given]) -> Result<()> {
    let Some((name, _)) = given.iter().find(|(name, _)| !chosen.takes(name)) else {
        return Ok(());
    };
    let takers: Vec<&str> = list
        .iter()
        .filter(|entry| entry.takes(name))
        .map(|entry| entry.name)
        .collect();
    if !takers.is_empty() {
        let takers = listed(&takers);
        let why = format!("belongs to {takers}, and the {what} is {}", chosen.name);
        return Err(Error::unsupported(name, why));
    }
    if let Some(new) = renamed(list, name) {
        return Err(Error::setting(name, format!("is now {new}")));
    }
    let known = list.iter().flat_map(|entry| entry.settings);
    Err(Error::unknown("setting", name, known.map(|s| s.name)))
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

/// Joins names as `a, b and c`.
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
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
    let mut all = fields(&C::default())?;
    for (name, value) in settings {
        let known = |known: &&Setting| known.name == name || known.was == Some(&name);
        let Some(setting) = C::SETTINGS.iter().find(known) else {
            let known = C::SETTINGS.iter().map(|s| s.name);
            return Err(Error::unknown("setting", &name, known));
        };
        all.insert(setting.name.to_string(), value);
    }
    let choice: C = match C::SETTINGS {
        [] => C::default(),
        _ => {
            check_counts(C::SETTINGS, &all)?;
            serde_json::from_value(Json::Object(all))
                .map_err(|e| Error::argument(C::NAME, plainly(&e.to_string())))?
        }
    };
    choice.check()?;
    Ok(choice)
}

/// Makes an enum of named variants without settings. It has `ALL`, `name`, `Display`, `FromStr`
/// regardless of case with "did you mean", sets of variants ([`Set`](crate::sets::Set)), and is
/// stored by name. The words after `as` name the kind of choice.
///
/// ```
/// gnarl_graph::named! {
///     /// What is attacked.
///     pub enum Mode as "mode" {
///         /// A trained model's input.
///         Evasion = "evasion",
///         /// Its training.
///         Poisoning = "poisoning",
///     }
/// }
/// assert_eq!("Evasion".parse::<Mode>().unwrap(), Mode::Evasion);
/// assert_eq!("evason".parse::<Mode>().unwrap_err().to_string(), "unknown mode 'evason'; did you mean evasion?");
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $Enum:ident as $what:literal {
        $($(#[$variant_meta:meta])* $Variant:ident = $name:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $Enum { $($(#[$variant_meta])* $Variant),+ }

        impl $Enum {
            /// All choices, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// Returns the name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name),+ }
            }

            /// Returns the set of these variants, for constants.
            #[allow(dead_code)]
            pub const fn set(members: &[Self]) -> $crate::sets::Set<Self> {
                let (mut bits, mut i) = (0, 0);
                while i < members.len() {
                    bits |= $crate::sets::bit(members[i] as u32);
                    i += 1;
                }
                $crate::sets::Set::from_bits(bits)
            }
        }

        impl $crate::sets::Member for $Enum {
            const ALL: &'static [Self] = Self::ALL;

            fn index(self) -> u32 {
                self as u32
            }

            fn name(self) -> &'static str {
                Self::name(self)
            }
        }

        impl ::std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $Enum {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                let found = Self::ALL.iter().find(|known| known.name().eq_ignore_ascii_case(name));
                found.copied().ok_or_else(|| $crate::Error::unknown($what, name, Self::ALL.iter().map(|known| known.name())))
            }
        }

        impl $crate::names::Value for $Enum {
            const KIND: $crate::names::Kind = $crate::names::Kind::Name(|| {
                Self::ALL.iter().map(|known| known.name().to_string()).collect()
            });
        }

        impl $crate::names::serde::Serialize for $Enum {
            fn serialize<S: $crate::names::serde::Serializer>(&self, s: S) -> ::std::result::Result<S::Ok, S::Error> {
                s.serialize_str(self.name())
            }
        }

        impl<'de> $crate::names::serde::Deserialize<'de> for $Enum {
            fn deserialize<D: $crate::names::serde::Deserializer<'de>>(d: D) -> ::std::result::Result<Self, D::Error> {
                let name = <::std::string::String as $crate::names::serde::Deserialize>::deserialize(d)?;
                name.parse().map_err($crate::names::serde::de::Error::custom)
            }
        }
    };
}

/// Makes an enum of choices with settings of their own, each a type that implements
/// [`Choice`](crate::names::Choice). It has the list, parsing by name, settings that overwrite the
/// defaults, and errors. A choice is stored as a table whose `kind` is the name (or as the name
/// alone, with default settings). With `dyn Trait` behind the name, `method` returns the choice as
/// that trait.
///
/// ```
/// use gnarl_graph::names::Settings;
/// use serde::{Deserialize, Serialize};
///
/// /// Flips pairs of nodes at random.
/// #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
/// #[choice(name = "flip", about = "pairs flipped at random")]
/// pub struct Flip {
///     /// Share of the edges.
///     #[setting(default = 0.1, range = 0.0..=1.0)]
///     pub share: f64,
/// }
/// /// Changes nothing.
/// #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
/// #[choice(name = "nothing", about = "no change")]
/// pub struct Nothing {}
/// gnarl_graph::choices! {
///     /// What is done.
///     pub enum Deed as "deed" { Nothing(Nothing), Flip(Flip) }
/// }
/// let deed = "flip".parse::<Deed>()?.with(&[("share".into(), "0.5".into())])?;
/// assert_eq!(deed, Deed::Flip(Flip { share: 0.5 }));
/// let e = "nothing".parse::<Deed>()?.with(&[("share".into(), "0.5".into())]).unwrap_err();
/// assert_eq!(e.to_string(), "share: belongs to flip, and the deed is nothing");
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
#[macro_export]
macro_rules! choices {
    ($(#[$meta:meta])* $vis:vis enum $Enum:ident: dyn $Trait:path as $what:literal { $($Variant:ident($Type:ty)),+ $(,)? }) => {
        $crate::choices! { $(#[$meta])* $vis enum $Enum as $what { $($Variant($Type)),+ } }

        impl $Enum {
            /// Returns the choice as its trait object.
            pub fn method(&self) -> &dyn $Trait {
                match self { $(Self::$Variant(choice) => choice),+ }
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $Enum:ident as $what:literal { $($Variant:ident($Type:ty)),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(missing_docs)]
        $vis enum $Enum { $($Variant($Type)),+ }

        impl $Enum {
            /// The list: name, description and settings of each choice.
            pub const LIST: &'static [$crate::names::Listed] = &[$($crate::names::Listed::of::<$Type>()),+];

            /// Returns every choice with its default settings.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$Variant(<$Type>::default())),+].into_iter()
            }

            /// Returns the name.
            pub fn name(&self) -> &'static str {
                self.listed().name
            }

            /// Returns the description, in a few words.
            pub fn about(&self) -> &'static str {
                self.listed().about
            }

            /// Returns its entry of the list.
            pub fn listed(&self) -> $crate::names::Listed {
                match self { $(Self::$Variant(_) => $crate::names::Listed::of::<$Type>()),+ }
            }

            /// Overwrites its settings with these. A setting that belongs to another choice is an
            /// error.
            pub fn with(&self, given: &[$crate::names::Given]) -> $crate::Result<Self> {
                $crate::names::refuse_stray($what, Self::LIST, &self.listed(), given)?;
                let by_flag = |e| $crate::names::by_flag(self.listed().settings, e);
                let choice = match self {
                    $(Self::$Variant(choice) => Self::$Variant($crate::names::overlaid(choice, given, self.listed().settings).map_err(by_flag)?)),+
                };
                choice.check()?;
                Ok(choice)
            }

            /// Fails for invalid settings, naming the range.
            pub fn check(&self) -> $crate::Result<()> {
                $crate::names::check_counts(self.listed().settings, &self.stored()?)?;
                match self { $(Self::$Variant(choice) => $crate::names::Choice::check(choice)),+ }
            }

            /// Returns its name and settings, as they are stored.
            pub fn stored(&self) -> $crate::Result<$crate::names::Fields> {
                match self { $(Self::$Variant(choice) => $crate::names::stored(choice)),+ }
            }
        }

        impl $crate::names::Value for $Enum {
            const KIND: $crate::names::Kind = $crate::names::Kind::Name(|| {
                Self::LIST.iter().map(|known| known.name.to_string()).collect()
            });
        }

        $(impl ::std::convert::From<$Type> for $Enum {
            fn from(choice: $Type) -> Self {
                Self::$Variant(choice)
            }
        })+

        impl ::std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $Enum {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                let found = Self::all().find(|known| known.name().eq_ignore_ascii_case(name));
                found.ok_or_else(|| $crate::Error::unknown($what, name, Self::LIST.iter().map(|known| known.name)))
            }
        }

        impl $crate::names::serde::Serialize for $Enum {
            fn serialize<S: $crate::names::serde::Serializer>(&self, s: S) -> ::std::result::Result<S::Ok, S::Error> {
                $crate::names::serde::Serialize::serialize(&self.stored().map_err($crate::names::serde::ser::Error::custom)?, s)
            }
        }

        impl<'de> $crate::names::serde::Deserialize<'de> for $Enum {
            fn deserialize<D: $crate::names::serde::Deserializer<'de>>(d: D) -> ::std::result::Result<Self, D::Error> {
                use $crate::names::serde::de::Error;
                let (name, settings) = $crate::names::parted($what, $crate::names::serde::Deserialize::deserialize(d)?)
                    .map_err(D::Error::custom)?;
                match name.parse::<Self>().map_err(D::Error::custom)? {
                    $(Self::$Variant(_) => {
                        $crate::names::restored::<$Type>(settings).map(Self::$Variant).map_err(D::Error::custom)
                    })+
                }
            }
        }
    };
}

/// Settings by name.
pub type Fields = Map<String, Json>;

/// Splits a stored choice into its name and its settings.
pub fn parted(what: &str, value: Json) -> Result<(String, Fields)> {
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

/// Checks that every entry's settings are those it stores: for the tests of lists.
///
/// # Panics
///
/// If an entry of the list differs from its stored settings.
pub fn assert_listed(list: &[Listed], stored: impl Iterator<Item = Result<Fields>>) {
    for (entry, stored) in list.iter().zip(stored) {
        let stored = stored.expect("settings can be stored");
        let names: Vec<&str> = stored
            .keys()
            .map(String::as_str)
            .filter(|name| *name != KIND)
            .collect();
        let listed: Vec<&str> = entry.settings.iter().map(|s| s.name).collect();
        assert_eq!(names, listed, "the settings of {}", entry.name);
        assert!(
            !entry.about.is_empty() && entry.settings.iter().all(|s| !s.about.is_empty()),
            "{}",
            entry.name
        );
        assert!(
            entry
                .name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{}",
            entry.name
        );
    }
}

#[doc(hidden)]
pub use serde;

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    crate::named! {
        /// A colour.
        pub enum Colour as "colour" {
            /// Red.
            Red = "red",
            /// Blue.
            Blue = "blue",
        }
    }

    /// Paints a wall.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    #[choice(name = "paint", about = "colours it", check = Self::is_dry)]
    pub struct Paint {
        /// Colour of the paint.
        #[setting(default = Colour::Red)]
        pub colour: Colour,
        /// Number of coats.
        #[setting(default = 2, range = 1.., was = "layers")]
        pub coats: usize,
        /// Share of the wall.
        #[setting(default = 0.5, above = 0.0, range = ..=1.0)]
        pub share: f64,
        /// Hours between coats.
        #[setting(open = "as the colour needs", range = 0.0..)]
        pub pause: Option<f64>,
    }

    impl Paint {
        fn is_dry(&self) -> Result<()> {
            if self.coats > 1 && self.pause == Some(0.0) {
                return Err(Error::setting("pause", "0 hours between several coats"));
            }
            Ok(())
        }
    }

    /// Leaves a wall as it is.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
    #[choice(name = "leave", about = "as it is")]
    pub struct Leave {}

    choices! {
        /// A job for a wall.
        pub enum Deed as "deed" { Leave(Leave), Paint(Paint) }
    }

    fn given(pairs: &[(&str, &str)]) -> Vec<Given> {
        pairs
            .iter()
            .map(|(a, b)| (a.to_string(), b.to_string()))
            .collect()
    }

    #[test]
    fn names_are_read_whatever_their_case_and_near_misses_are_named() {
        assert_eq!("BLUE".parse::<Colour>().unwrap(), Colour::Blue);
        assert_eq!(format!("{:>5}", Colour::Red), "  red");
        assert_eq!(
            "bleu".parse::<Colour>().unwrap_err().to_string(),
            "unknown colour 'bleu'; did you mean blue?"
        );
        assert_eq!(
            serde_json::from_str::<Colour>("\"blue\"").unwrap(),
            Colour::Blue
        );
        assert!(
            serde_json::from_str::<Colour>("\"bleu\"")
                .unwrap_err()
                .to_string()
                .contains("did you mean blue?")
        );
        assert_eq!(
            "Paint".parse::<Deed>().unwrap(),
            Deed::Paint(Paint::default())
        );
    }

    #[test]
    fn settings_are_put_over_the_usual_ones_and_strays_refused() {
        let paint = "paint".parse::<Deed>().unwrap();
        let wide = paint
            .with(&given(&[
                ("coats", "3"),
                ("colour", "blue"),
                ("share", "1"),
            ]))
            .unwrap();
        assert_eq!(
            wide,
            Deed::Paint(Paint {
                colour: Colour::Blue,
                coats: 3,
                share: 1.0,
                pause: None,
            })
        );
        let fail = |deed: &str, pairs: &[(&str, &str)]| {
            deed.parse::<Deed>()
                .unwrap()
                .with(&given(pairs))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            fail("leave", &[("coats", "3")]),
            "coats: belongs to paint, and the deed is leave"
        );
        assert_eq!(
            fail("paint", &[("coat", "3")]),
            "unknown setting 'coat'; did you mean coats?"
        );
        for (name, value, message) in [
            ("coats", "0", "coats must be in [1, 1000000] (got 0)"),
            (
                "coats",
                "1000001",
                "coats: 1000001 is beyond 1000000, the most that is taken; take fewer",
            ),
            ("coats", "-1", "coats must be a whole number (got '-1')"),
            ("share", "0", "share must be in (0, 1] (got 0)"),
            ("share", "1.5", "share must be in (0, 1] (got 1.5)"),
            ("share", "2", "share must be in (0, 1] (got 2)"),
            ("share", "much", "share must be a number (got 'much')"),
            ("pause", "-2", "pause must be >= 0 (got -2)"),
            ("pause", "0", "pause: 0 hours between several coats"),
            (
                "colour",
                "bleu",
                "colour: unknown colour 'bleu'; did you mean blue?",
            ),
            ("layers", "2", "layers: is now coats of paint"),
        ] {
            assert_eq!(fail("paint", &[(name, value)]), message);
        }
        assert!(
            Paint {
                share: f64::NAN,
                ..Paint::default()
            }
            .check()
            .is_err()
        );
    }

    #[test]
    fn choices_are_stored_with_their_name_and_read_back() {
        let deed = Deed::Paint(Paint {
            coats: 1,
            ..Paint::default()
        });
        let text = serde_json::to_string(&deed).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"paint","colour":"red","coats":1,"share":0.5,"pause":null}"#
        );
        assert_eq!(serde_json::from_str::<Deed>(&text).unwrap(), deed);
        assert_eq!(
            serde_json::from_str::<Deed>("\"paint\"").unwrap(),
            Deed::Paint(Paint::default())
        );
        assert_eq!(
            serde_json::from_str::<Deed>(r#"{"kind":"leave"}"#).unwrap(),
            Deed::Leave(Leave {})
        );
        // A file with an earlier name of a setting is still read.
        let old = r#"{"kind":"paint","layers":3}"#;
        let three = Deed::Paint(Paint {
            coats: 3,
            ..Paint::default()
        });
        assert_eq!(serde_json::from_str::<Deed>(old).unwrap(), three);
        for (broken, what) in [
            ("3", "is not a deed"),
            (r#"{"coats":1}"#, "needs a kind"),
            (r#"{"kind":"paint","coat":1}"#, "did you mean coats?"),
            (
                r#"{"kind":"paint","coats":0}"#,
                "coats must be in [1, 1000000] (got 0)",
            ),
            (r#"{"kind":"paint","coats":"x"}"#, "a whole number"),
            (r#"{"kind":"leave","coats":1}"#, "unknown setting 'coats'"),
        ] {
            let e = serde_json::from_str::<Deed>(broken)
                .unwrap_err()
                .to_string();
            assert!(e.contains(what), "{broken}: {e}");
        }
    }

    #[test]
    fn lists_say_what_is_stored() {
        assert_listed(Deed::LIST, Deed::all().map(|deed| deed.stored()));
        assert_eq!(
            Deed::all().map(|deed| deed.about()).collect::<Vec<_>>(),
            ["as it is", "colours it"]
        );
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn earlier_names_and_options_are_known() {
        let coats = Paint::SETTINGS[1];
        let wall = Setting {
            flag: "wall-coats",
            ..coats
        };
        assert!(coats.replaces("layers") && !coats.replaces("wall-layers"));
        assert!(wall.replaces("layers") && wall.replaces("wall-layers"));
        assert!(!wall.replaces("coats") && !wall.replaces("wall-coats"));
        assert!(!Paint::SETTINGS[0].replaces(""));
    }

    #[test]
    fn help_and_schema_come_from_the_declaration() {
        let paint = Deed::LIST[1];
        let help: Vec<String> = paint.settings.iter().map(|s| paint.help(s)).collect();
        assert_eq!(
            help,
            [
                "Colour of the paint: red, blue [default: red]",
                "Number of coats [default: 2]",
                "Share of the wall, in (0, 1] [default: 0.5]",
                "Hours between coats, >= 0 [default: as the colour needs]",
            ]
        );
        let schema = schema(Deed::LIST);
        let properties = &schema["anyOf"][2]["properties"];
        assert_eq!(properties["kind"], serde_json::json!({"const": "paint"}));
        assert_eq!(
            properties["colour"]["enum"],
            serde_json::json!(["red", "blue"])
        );
        assert_eq!(properties["coats"]["minimum"], 1);
        assert_eq!(properties["coats"]["maximum"], 1_000_000);
        assert_eq!(properties["share"]["exclusiveMinimum"], 0.0);
        assert_eq!(properties["share"]["default"], 0.5);
        assert!(properties["pause"].get("default").is_none());
    }
}
