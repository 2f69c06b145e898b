//! The choice of the depth axis: one depth for all, or exits and a policy.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{Kind, Scheme};

/// Deeper than any study goes: exits cost memory.
const DEEPEST: usize = 1000;

gnarl_graph::choices! {
    /// How many rounds of message passing an item gets.
    pub enum Depth as "depth" {
        Fixed(Fixed),
        Sequential(Sequential),
        Aggregate(Aggregate),
    }
}

/// As many rounds as the network has layers, for all alike.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Fixed {}

impl Choice for Fixed {
    const NAME: &'static str = "fixed";
    const ABOUT: &'static str = "as many rounds as there are layers, for all alike";
}

impl Kind {
    /// The policy of a model that names none.
    pub const USUAL: Self = Kind::Pool;
}

const LAST: Setting = Setting::new("last", "L", "the last exit [default: 5]").flag("max-depth");
const POLICY: Setting = Setting::new("policy", "KIND", "which exit an item takes [default: pool]");

macro_rules! exits {
    ($(#[$meta:meta])* $Type:ident, $name:literal, $about:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $Type {
            /// The number of the last exit.
            pub last: usize,
            /// Which exit an item takes.
            pub policy: Kind,
        }

        impl Default for $Type {
            fn default() -> Self {
                Self { last: 5, policy: Kind::USUAL }
            }
        }

        impl Choice for $Type {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const SETTINGS: &'static [Setting] = &[LAST, POLICY];

            fn check(&self) -> Result<()> {
                match self.last {
                    0..=DEEPEST => Ok(()),
                    last => Err(Error::argument("max-depth", format!("{last} exits are more than {DEEPEST}"))),
                }
            }
        }
    };
}

exits! {
    /// An exit at every layer, trained one after the other.
    Sequential, "admp-st", "an exit at every layer, trained one after the other"
}

exits! {
    /// An exit at every layer, all trained at once.
    Aggregate, "admp-alm", "an exit at every layer, all trained at once"
}

/// Exits at every layer: how they are trained, how many there are, and who takes which.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exits {
    /// How they are trained.
    pub scheme: Scheme,
    /// The number of the last exit.
    pub last: usize,
    /// Which exit an item takes.
    pub policy: Kind,
}

impl Exits {
    /// Exits 0 to `last`, trained one after the other (ST).
    pub const fn st(last: usize) -> Self {
        Self {
            scheme: Scheme::AdmpSt,
            last,
            policy: Kind::USUAL,
        }
    }

    /// Exits 0 to `last`, trained all at once (ALM).
    pub const fn alm(last: usize) -> Self {
        Self {
            scheme: Scheme::AdmpAlm,
            last,
            policy: Kind::USUAL,
        }
    }

    /// With another policy.
    pub const fn policy(self, policy: Kind) -> Self {
        Self { policy, ..self }
    }
}

impl From<Exits> for Depth {
    fn from(
        Exits {
            scheme,
            last,
            policy,
        }: Exits,
    ) -> Self {
        match scheme {
            Scheme::AdmpSt => Depth::Sequential(Sequential { last, policy }),
            Scheme::AdmpAlm => Depth::Aggregate(Aggregate { last, policy }),
        }
    }
}

impl Depth {
    /// The exits; `None` for a fixed depth.
    pub fn exits(&self) -> Option<Exits> {
        match *self {
            Depth::Fixed(_) => None,
            Depth::Sequential(Sequential { last, policy }) => Some(Exits {
                scheme: Scheme::AdmpSt,
                last,
                policy,
            }),
            Depth::Aggregate(Aggregate { last, policy }) => Some(Exits {
                scheme: Scheme::AdmpAlm,
                last,
                policy,
            }),
        }
    }
}

impl Default for Depth {
    fn default() -> Self {
        Depth::Fixed(Fixed {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sound_and_exits_are_found_in_it() {
        gnarl_graph::names::assert_listed(Depth::LIST, Depth::all().map(|depth| depth.stored()));
        let echo = "echo".parse().unwrap();
        for exits in [Exits::st(3), Exits::alm(0).policy(echo)] {
            assert_eq!(Depth::from(exits).exits(), Some(exits));
        }
        assert_eq!(Depth::default().exits(), None);
        let given = [("last".to_string(), "1001".to_string())];
        let e = "admp-st"
            .parse::<Depth>()
            .unwrap()
            .with(&given)
            .unwrap_err()
            .to_string();
        assert_eq!(e, "max-depth: 1001 exits are more than 1000");
    }
}
