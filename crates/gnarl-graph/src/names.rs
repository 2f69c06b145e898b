//! Choices and their names: one list for each kind of choice, and everything that follows from it.
//!
//! [`named!`](crate::named) makes an enum of choices that are a name and nothing more.
//! [`choices!`](crate::choices) makes one of choices that each have settings of their own: a struct
//! in a file of its own that implements [`Choice`], and one line in the list. Names, parsing
//! whatever the case, "did you mean", help, files, and the refusal of a setting that belongs to
//! another choice all come from the list.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::limits;

/// A choice with settings of its own: an entry of a list that [`choices!`](crate::choices) makes.
pub trait Choice:
    Copy + PartialEq + std::fmt::Debug + Default + Serialize + DeserializeOwned
{
    /// What it is called, in lower case with hyphens.
    const NAME: &'static str;
    /// What it is, in a few words.
    const ABOUT: &'static str;
    /// Its settings, by the names they are stored under. A test over every list compares them with
    /// what is stored.
    const SETTINGS: &'static [Setting] = &[];

    /// Refuses settings that mean nothing, naming the range.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// What there is to say about a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// As it is stored, in lower case with hyphens.
    pub name: &'static str,
    /// What stands for its value in help, as `N` or `SHARE`.
    pub value: &'static str,
    /// What it does, in a line, with its default.
    pub about: &'static str,
    /// The command line's option for it, without the hyphens; mostly its name.
    pub flag: &'static str,
    /// Of a count: the most that it may be.
    pub most: u64,
}

impl Setting {
    /// A setting.
    pub const fn new(name: &'static str, value: &'static str, about: &'static str) -> Self {
        Self {
            name,
            value,
            about,
            flag: name,
            most: limits::MOST,
        }
    }

    /// With another option on the command line, where its name alone would not say enough.
    pub const fn flag(self, flag: &'static str) -> Self {
        Self { flag, ..self }
    }

    /// Of a count that may be no more than this.
    pub const fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }
}

/// An entry of a list of choices.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// What it is called.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it can be told.
    pub settings: &'static [Setting],
}

impl Listed {
    /// The entry of a choice.
    pub const fn of<C: Choice>() -> Self {
        Self {
            name: C::NAME,
            about: C::ABOUT,
            settings: C::SETTINGS,
        }
    }

    fn takes(&self, setting: &str) -> bool {
        self.settings.iter().any(|known| known.name == setting)
    }
}

/// A setting and the text that somebody gave for it.
pub type Given = (String, String);

/// The key under which a choice with settings stores its name.
pub const KIND: &str = "kind";

/// The same error with the option in the place of the setting that it is about: two choices may
/// call different options alike.
pub fn by_flag(settings: &[Setting], error: Error) -> Error {
    match error {
        Error::Argument { op, what } => {
            let flag = settings
                .iter()
                .find(|setting| setting.name == op)
                .map(|setting| setting.flag.into());
            Error::Argument {
                op: flag.unwrap_or(op),
                what,
            }
        }
        other => other,
    }
}

/// Settings as text put over those of a value.
pub fn overlaid<T: Serialize + DeserializeOwned>(value: &T, given: &[Given]) -> Result<T> {
    let mut fields = fields(value)?;
    for (name, text) in given {
        let as_typed = typed(text);
        let tried = |value: Value, fields: &Map<String, Value>| {
            let mut fields = fields.clone();
            fields.insert(name.clone(), value);
            serde_json::from_value::<T>(Value::Object(fields.clone())).map(|_| fields)
        };
        // A number may stand for a word. What is wrong is said by the reader that took it for what
        // it should be.
        let as_word = |first: serde_json::Error| {
            tried(Value::String(text.clone()), &fields).map_err(|second| {
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
                let why = plainly(&e.to_string());
                // Some values name the setting themselves.
                let why = why.strip_prefix(&format!("{name}: ")).unwrap_or(&why);
                return Err(Error::setting(
                    name,
                    format!("'{text}' does not fit: {why}"),
                ));
            }
        };
    }
    serde_json::from_value(Value::Object(fields))
        .map_err(|e| Error::argument("settings", plainly(&e.to_string())))
}

/// The settings of a value by name.
pub fn fields<T: Serialize>(value: &T) -> Result<Map<String, Value>> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(Error::argument(
            "settings",
            format!("{other} is not a list of settings"),
        )),
        Err(e) => Err(Error::argument("settings", e.to_string())),
    }
}

/// Text as what it looks like: a number, true, false, or itself.
fn typed(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => {
            let whole = text
                .parse::<u64>()
                .map(Value::from)
                .or_else(|_| text.parse::<i64>().map(Value::from));
            let real = || {
                text.parse::<f64>()
                    .ok()
                    .and_then(serde_json::Number::from_f64)
                    .map(Value::Number)
            };
            whole
                .ok()
                .or_else(real)
                .unwrap_or_else(|| Value::String(text.to_string()))
        }
    }
}

/// A message of the reader of files in the words of its user.
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

/// Refuses a setting that the chosen entry does not take, saying whose it is.
pub fn refuse_stray(what: &str, list: &[Listed], chosen: &Listed, given: &[Given]) -> Result<()> {
    let Some((name, _)) = given.iter().find(|(name, _)| !chosen.takes(name)) else {
        return Ok(());
    };
    let takers: Vec<&str> = list
        .iter()
        .filter(|entry| entry.takes(name))
        .map(|entry| entry.name)
        .collect();
    Err(match takers.is_empty() {
        false => Error::setting(
            name,
            format!(
                "belongs to {}, and the {what} is {}",
                listed(&takers),
                chosen.name
            ),
        ),
        true => Error::unknown(
            "setting",
            name,
            list.iter().flat_map(|entry| entry.settings).map(|s| s.name),
        ),
    })
}

/// Refuses whole numbers beyond the most that their settings may be.
pub fn check_counts(settings: &[Setting], stored: &Fields) -> Result<()> {
    let counts = settings
        .iter()
        .filter_map(|setting| Some((setting, stored.get(setting.name)?.as_u64()?)));
    counts
        .into_iter()
        .try_for_each(|(setting, count)| limits::check_count(setting.name, count, setting.most))
}

/// `a, b and c`
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A choice as it is stored: its settings behind its name.
pub fn stored<C: Choice>(choice: &C) -> Result<Map<String, Value>> {
    let mut all = Map::from_iter([(KIND.to_string(), Value::from(C::NAME))]);
    all.append(&mut fields(choice)?);
    Ok(all)
}

/// A choice from how it is stored, without its name; settings left out have their usual values.
pub fn restored<C: Choice>(settings: Map<String, Value>) -> Result<C> {
    let mut all = fields(&C::default())?;
    for (name, value) in settings {
        if !C::SETTINGS.iter().any(|known| known.name == name) {
            return Err(Error::unknown(
                "setting",
                &name,
                C::SETTINGS.iter().map(|s| s.name),
            ));
        }
        all.insert(name, value);
    }
    let choice: C = match C::SETTINGS {
        [] => C::default(),
        _ => {
            check_counts(C::SETTINGS, &all)?;
            serde_json::from_value(Value::Object(all))
                .map_err(|e| Error::argument(C::NAME, plainly(&e.to_string())))?
        }
    };
    choice.check()?;
    Ok(choice)
}

/// An enum whose variants are names and nothing more: `ALL`, `name`, `Display`, `FromStr` whatever
/// the case with "did you mean", and stored by name. The words after `as` say what is chosen.
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
            /// Every choice, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// What it is called.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name),+ }
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

/// An enum of choices that have settings of their own, each a type that implements
/// [`Choice`](crate::names::Choice): the list, parsing by name, settings put over the usual ones,
/// refusals, and storing as a table whose `kind` is the name (or as the name alone, which means the
/// usual settings). With `dyn Trait` behind the name, `method` gives the choice as that.
///
/// ```
/// use gnarl_graph::names::{Choice, Setting};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
/// pub struct Flip { pub share: f64 }
/// impl Default for Flip { fn default() -> Self { Self { share: 0.1 } } }
/// impl Choice for Flip {
///     const NAME: &'static str = "flip";
///     const ABOUT: &'static str = "pairs flipped at random";
///     const SETTINGS: &'static [Setting] = &[Setting::new("share", "X", "of the edges")];
/// }
/// #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
/// pub struct Nothing {}
/// impl Choice for Nothing {
///     const NAME: &'static str = "nothing";
///     const ABOUT: &'static str = "all stays";
/// }
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
            /// The choice as what it does.
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
            /// The list: name, what it is, and what it can be told.
            pub const LIST: &'static [$crate::names::Listed] = &[$($crate::names::Listed::of::<$Type>()),+];

            /// Every choice with its usual settings.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$Variant(<$Type>::default())),+].into_iter()
            }

            /// What it is called.
            pub fn name(&self) -> &'static str {
                self.listed().name
            }

            /// What it is, in a few words.
            pub fn about(&self) -> &'static str {
                self.listed().about
            }

            /// Its entry of the list.
            pub fn listed(&self) -> $crate::names::Listed {
                match self { $(Self::$Variant(_) => $crate::names::Listed::of::<$Type>()),+ }
            }

            /// The same with these settings put over its own. A setting that belongs to another
            /// choice is refused.
            pub fn with(&self, given: &[$crate::names::Given]) -> $crate::Result<Self> {
                $crate::names::refuse_stray($what, Self::LIST, &self.listed(), given)?;
                let by_flag = |e| $crate::names::by_flag(self.listed().settings, e);
                let choice = match self {
                    $(Self::$Variant(choice) => Self::$Variant($crate::names::overlaid(choice, given).map_err(by_flag)?)),+
                };
                choice.check()?;
                Ok(choice)
            }

            /// Refuses settings that mean nothing, naming the range.
            pub fn check(&self) -> $crate::Result<()> {
                $crate::names::check_counts(self.listed().settings, &self.stored()?)?;
                match self { $(Self::$Variant(choice) => $crate::names::Choice::check(choice)),+ }
            }

            /// Its name and settings, as they are stored.
            pub fn stored(&self) -> $crate::Result<$crate::names::Fields> {
                match self { $(Self::$Variant(choice) => $crate::names::stored(choice)),+ }
            }
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
pub type Fields = Map<String, Value>;

/// A stored choice as its name and its settings.
pub fn parted(what: &str, value: Value) -> Result<(String, Fields)> {
    match value {
        Value::String(name) => Ok((name, Map::new())),
        Value::Object(mut fields) => match fields.shift_remove(KIND) {
            Some(Value::String(name)) => Ok((name, fields)),
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
/// Where a list says of a choice what is not so.
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

    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct Paint {
        pub colour: Colour,
        pub coats: usize,
        pub share: f64,
    }

    impl Default for Paint {
        fn default() -> Self {
            Self {
                colour: Colour::Red,
                coats: 2,
                share: 0.5,
            }
        }
    }

    impl Choice for Paint {
        const NAME: &'static str = "paint";
        const ABOUT: &'static str = "colours it";
        const SETTINGS: &'static [Setting] = &[
            Setting::new("colour", "NAME", "which"),
            Setting::new("coats", "N", "how many"),
            Setting::new("share", "X", "how much"),
        ];

        fn check(&self) -> Result<()> {
            if self.coats > 0 {
                Ok(())
            } else {
                Err(Error::argument("paint", "0 coats; at least 1 is needed"))
            }
        }
    }

    #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
    pub struct Leave {}

    impl Choice for Leave {
        const NAME: &'static str = "leave";
        const ABOUT: &'static str = "as it is";
    }

    choices! {
        /// What is done to a wall.
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
                share: 1.0
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
        assert_eq!(
            fail("paint", &[("coats", "0")]),
            "paint: 0 coats; at least 1 is needed"
        );
        let e = fail("paint", &[("coats", "-1")]);
        assert!(
            e.starts_with("coats: '-1' does not fit: ") && e.contains("a whole number"),
            "{e}"
        );
        assert!(fail("paint", &[("colour", "bleu")]).contains("did you mean blue?"));
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
            r#"{"kind":"paint","colour":"red","coats":1,"share":0.5}"#
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
        for (broken, what) in [
            ("3", "is not a deed"),
            (r#"{"coats":1}"#, "needs a kind"),
            (r#"{"kind":"paint","coat":1}"#, "did you mean coats?"),
            (r#"{"kind":"paint","coats":0}"#, "at least 1"),
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
}
