//! Declarations: what a setting is, its type, and the range of its values.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::limits;

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
}
