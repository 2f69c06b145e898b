//! Lists of choices: entries, settings that belong to other choices, and the macros that make
//! lists.

use serde::Serialize;

use super::declaration::{Choice, Setting};
use super::storage::{Fields, KIND, fields};
use crate::error::{Error, Result};

/// A setting and the text given for it.
pub type SettingText = (String, String);

/// An entry of a list of choices.
#[derive(Debug, Clone, Copy)]
pub struct ChoiceInfo {
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

impl ChoiceInfo {
    /// Returns the entry of a choice.
    pub const fn of<C: Choice>() -> Self {
        Self {
            name: C::NAME,
            about: C::ABOUT,
            settings: C::SETTINGS,
            defaults: defaults_of::<C>,
        }
    }

    /// Returns true if the choice has a setting of this name.
    pub(super) fn takes(&self, setting: &str) -> bool {
        self.settings.iter().any(|known| known.name == setting)
    }
}

/// Returns the setting that replaced a name, with the entries that have it.
pub fn renamed(list: &[ChoiceInfo], old: &str) -> Option<String> {
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
        .map(|(flag, names)| format!("{flag} of {}", join_names(names)));
    (!found.is_empty()).then(|| each.collect::<Vec<_>>().join("; "))
}

/// Replaces the setting in an error by its option: two choices may name different options alike.
pub fn by_flag(settings: &[Setting], error: Error) -> Error {
    error.rename_setting(|name| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or(name, |setting| setting.flag).to_string()
    })
}

/// Fails for a setting that the chosen entry does not have, naming the entries that do.
pub fn check_applies(
    what: &str,
    list: &[ChoiceInfo],
    chosen: &ChoiceInfo,
    given: &[SettingText],
) -> Result<()> {
    let Some((name, _)) = given.iter().find(|(name, _)| !chosen.takes(name)) else {
        return Ok(());
    };
    let takers: Vec<&str> = list
        .iter()
        .filter(|entry| entry.takes(name))
        .map(|entry| entry.name)
        .collect();
    if !takers.is_empty() {
        let takers = join_names(&takers);
        let why = format!("belongs to {takers}, and the {what} is {}", chosen.name);
        return Err(Error::unsupported(name, why));
    }
    if let Some(new) = renamed(list, name) {
        return Err(Error::setting(name, format!("is now {new}")));
    }
    let known = list.iter().flat_map(|entry| entry.settings);
    Err(Error::unknown("setting", name, known.map(|s| s.name)))
}

/// Joins names as `a, b and c`.
pub fn join_names(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
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

        impl $crate::settings::Value for $Enum {
            const KIND: $crate::settings::Kind = $crate::settings::Kind::Name(|| {
                Self::ALL.iter().map(|known| known.name().to_string()).collect()
            });
        }

        impl $crate::settings::serde::Serialize for $Enum {
            fn serialize<S: $crate::settings::serde::Serializer>(&self, s: S) -> ::std::result::Result<S::Ok, S::Error> {
                s.serialize_str(self.name())
            }
        }

        impl<'de> $crate::settings::serde::Deserialize<'de> for $Enum {
            fn deserialize<D: $crate::settings::serde::Deserializer<'de>>(d: D) -> ::std::result::Result<Self, D::Error> {
                let name = <::std::string::String as $crate::settings::serde::Deserialize>::deserialize(d)?;
                name.parse().map_err($crate::settings::serde::de::Error::custom)
            }
        }
    };
}

/// Makes an enum of choices with settings of their own, each a type that implements
/// [`Choice`](crate::settings::Choice). It has the list, parsing by name, settings that overwrite the
/// defaults, and errors. A choice is stored as a table whose `kind` is the name (or as the name
/// alone, with default settings). With `dyn Trait` behind the name, `method` returns the choice as
/// that trait.
///
/// ```
/// use gnarl_graph::settings::Settings;
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
        $crate::listed_choices! { $(#[$meta])* $vis enum $Enum as $what { $($Variant($Type)),+ } }

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

        impl $crate::settings::serde::Serialize for $Enum {
            fn serialize<S: $crate::settings::serde::Serializer>(&self, s: S) -> ::std::result::Result<S::Ok, S::Error> {
                $crate::settings::serde::Serialize::serialize(&self.stored().map_err($crate::settings::serde::ser::Error::custom)?, s)
            }
        }

        impl<'de> $crate::settings::serde::Deserialize<'de> for $Enum {
            fn deserialize<D: $crate::settings::serde::Deserializer<'de>>(d: D) -> ::std::result::Result<Self, D::Error> {
                use $crate::settings::serde::de::Error;
                let (name, settings) = $crate::settings::split_kind($what, $crate::settings::serde::Deserialize::deserialize(d)?)
                    .map_err(D::Error::custom)?;
                match name.parse::<Self>().map_err(D::Error::custom)? {
                    $(Self::$Variant(_) => {
                        $crate::settings::restored::<$Type>(settings).map(Self::$Variant).map_err(D::Error::custom)
                    })+
                }
            }
        }
    };
}

/// Makes the enum of [`choices!`](crate::choices) without its text and its stored form, for types
/// that write these themselves. A name before a choice makes a constant with its default settings.
///
/// ```
/// use gnarl_graph::settings::Settings;
/// use serde::{Deserialize, Serialize};
///
/// /// Steps of a random walk.
/// #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
/// #[choice(name = "walk", about = "a random walk", constant)]
/// pub struct Walk {
///     /// Number of steps.
///     #[setting(default = 2)]
///     pub length: u32,
/// }
/// gnarl_graph::listed_choices! {
///     /// What is sampled.
///     pub enum Sample as "sample" { WALK = Walk(Walk) }
/// }
/// assert_eq!(Sample::WALK, Sample::Walk(Walk { length: 2 }));
/// assert_eq!(Sample::WALK.about(), "a random walk");
/// ```
#[macro_export]
macro_rules! listed_choices {
    ($(#[$meta:meta])* $vis:vis enum $Enum:ident: dyn $Trait:path as $what:literal { $($CONSTANT:ident = $Variant:ident($Type:ty)),+ $(,)? }) => {
        $crate::listed_choices! { $(#[$meta])* $vis enum $Enum as $what { $($CONSTANT = $Variant($Type)),+ } }

        impl $Enum {
            /// Returns the choice as its trait object.
            pub fn method(&self) -> &dyn $Trait {
                match self { $(Self::$Variant(choice) => choice),+ }
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $Enum:ident as $what:literal { $($CONSTANT:ident = $Variant:ident($Type:ty)),+ $(,)? }) => {
        $crate::listed_choices! { $(#[$meta])* $vis enum $Enum as $what { $($Variant($Type)),+ } }

        impl $Enum {
            $(
                #[doc = concat!("[`", stringify!($Variant), "`](Self::", stringify!($Variant), ") with its default settings.")]
                pub const $CONSTANT: Self = Self::$Variant(<$Type>::DEFAULT);
            )+

            /// Every choice with its default settings, for constants.
            #[allow(dead_code)]
            const DEFAULTS: [Self; Self::LIST.len()] = [$(Self::$CONSTANT),+];
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $Enum:ident as $what:literal { $($Variant:ident($Type:ty)),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(missing_docs)]
        $vis enum $Enum { $($Variant($Type)),+ }

        impl $Enum {
            /// The list: name, description and settings of each choice.
            pub const LIST: &'static [$crate::settings::ChoiceInfo] = &[$($crate::settings::ChoiceInfo::of::<$Type>()),+];

            /// Returns every choice with its default settings.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$Variant(<$Type>::default())),+].into_iter()
            }

            /// Returns the name.
            pub fn name(&self) -> &'static str {
                self.info().name
            }

            /// Returns the description, in a few words.
            pub fn about(&self) -> &'static str {
                self.info().about
            }

            /// Returns its entry of the list.
            pub fn info(&self) -> $crate::settings::ChoiceInfo {
                match self { $(Self::$Variant(_) => $crate::settings::ChoiceInfo::of::<$Type>()),+ }
            }

            /// Overwrites its settings with these. A setting that belongs to another choice is an
            /// error.
            pub fn with(&self, given: &[$crate::settings::SettingText]) -> $crate::Result<Self> {
                $crate::settings::check_applies($what, Self::LIST, &self.info(), given)?;
                let by_flag = |e| $crate::settings::by_flag(self.info().settings, e);
                let choice = match self {
                    $(Self::$Variant(choice) => Self::$Variant($crate::settings::with_settings(choice, given, self.info().settings).map_err(by_flag)?)),+
                };
                choice.check()?;
                Ok(choice)
            }

            /// Fails for invalid settings, naming the range.
            pub fn check(&self) -> $crate::Result<()> {
                $crate::settings::check_counts(self.info().settings, &self.stored()?)?;
                match self { $(Self::$Variant(choice) => $crate::settings::Choice::check(choice)),+ }
            }

            /// Returns its name and settings, as they are stored.
            pub fn stored(&self) -> $crate::Result<$crate::settings::Fields> {
                match self { $(Self::$Variant(choice) => $crate::settings::stored(choice)),+ }
            }
        }

        impl $crate::settings::Value for $Enum {
            const KIND: $crate::settings::Kind = $crate::settings::Kind::Name(|| {
                Self::LIST.iter().map(|known| known.name.to_string()).collect()
            });
        }

        $(impl ::std::convert::From<$Type> for $Enum {
            fn from(choice: $Type) -> Self {
                Self::$Variant(choice)
            }
        })+
    };
}

/// Checks that every entry's settings are those it stores: for the tests of lists.
///
/// # Panics
///
/// If an entry of the list differs from its stored settings.
pub fn assert_listed(list: &[ChoiceInfo], stored: impl Iterator<Item = Result<Fields>>) {
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
