//! Settings and choices: one declaration, from which command-line options, help, files and errors
//! are derived.
//!
//! A setting is a field of a struct. A choice is a struct with a name and settings of its own, and
//! a line in a list; [`choices!`](crate::choices) makes the list an enum. A kind of choice without
//! settings is an enum that [`named!`](crate::named) makes.
//!
//! ```
//! use gnarl_graph::choices;
//! use gnarl_graph::settings::Settings;
//! use serde::{Deserialize, Serialize};
//!
//! /// Removes edges at random.
//! #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
//! #[choice(name = "remove", about = "edges removed at random")]
//! pub struct Remove {
//!     /// Share of the edges.
//!     #[setting(default = 0.1, range = 0.0..=1.0, flag = "remove-share")]
//!     pub share: f64,
//! }
//!
//! /// Changes nothing.
//! #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
//! #[choice(name = "nothing", about = "no change")]
//! pub struct Nothing {}
//!
//! choices! {
//!     /// A change of a graph.
//!     pub enum Change as "change" { Nothing(Nothing), Remove(Remove) }
//! }
//!
//! let remove = Change::LIST[1];
//! let help = remove.help(&remove.settings[0]);
//! assert_eq!(help, "Share of the edges, in [0, 1] [default: 0.1]");
//! let change = "remove".parse::<Change>()?.with(&[("share".into(), "0.5".into())])?;
//! assert_eq!(change, Change::Remove(Remove { share: 0.5 }));
//! let wrong = change.with(&[("share".into(), "2".into())]).unwrap_err();
//! assert_eq!(wrong.to_string(), "remove-share must be in [0, 1] (got 2)");
//! # Ok::<(), gnarl_graph::Error>(())
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `declaration` | settings, their types and ranges, and the traits of choices |
//! | `help` | help texts and JSON schemas |
//! | `list` | lists of choices, and the macros that make them |
//! | `storage` | choices in files, and settings given as text |

mod declaration;
mod help;
mod list;
mod storage;

pub use gnarl_derive::Settings;

pub use self::declaration::{Bounds, Choice, Kind, Setting, Settings, Value, check_value};
pub use self::help::schema;
pub use self::list::{
    ChoiceInfo, SettingText, assert_listed, by_flag, check_applies, join_names, renamed,
};
pub use self::storage::{
    Fields, KIND, check_counts, fields, plain_message, restored, split_kind, stored, with_settings,
};

#[doc(hidden)]
pub use serde;

#[cfg(test)]
mod tests;
