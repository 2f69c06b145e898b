//! Radii as one setting: `0,0.05,0.1`.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::settings::{Kind, Value};
use gnarl_graph::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Radii in the order in which they were given, at most [`RadiusList::MOST`].
#[derive(Clone, Copy)]
pub struct RadiusList {
    radii: [f64; Self::MOST],
    len: usize,
}

impl RadiusList {
    /// Largest number of radii.
    pub const MOST: usize = 128;

    /// Makes a list of radii. Refuses an empty list, too many radii, and numbers that are no
    /// radius.
    pub fn new(radii: &[f64]) -> Result<Self> {
        let refuse = |what: String| Err(Error::argument("radii", what));
        if radii.is_empty() || radii.len() > Self::MOST {
            let (most, len) = (Self::MOST, radii.len());
            return refuse(format!("1 to {most} radii are needed (got {len})"));
        }
        if let Some(radius) = radii.iter().find(|r| !(r.is_finite() && **r >= 0.0)) {
            return refuse(format!("a radius must be >= 0 (got {radius})"));
        }
        let mut list = Self {
            radii: [0.0; Self::MOST],
            len: radii.len(),
        };
        list.radii[..radii.len()].copy_from_slice(radii);
        Ok(list)
    }

    /// The radii.
    pub fn values(&self) -> &[f64] {
        &self.radii[..self.len]
    }
}

impl Value for RadiusList {
    const KIND: Kind = Kind::Text("X,…");
}

impl PartialEq for RadiusList {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

impl fmt::Debug for RadiusList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values()).finish()
    }
}

impl fmt::Display for RadiusList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let radii: Vec<String> = self.values().iter().map(f64::to_string).collect();
        f.pad(&radii.join(","))
    }
}

impl FromStr for RadiusList {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let radius = |part: &str| {
            let part = part.trim();
            let wrong = || Error::argument("radii", format!("'{part}' is not a number"));
            part.parse::<f64>().map_err(|_| wrong())
        };
        Self::new(&text.split(',').map(radius).collect::<Result<Vec<_>>>()?)
    }
}

impl Serialize for RadiusList {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RadiusList {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(d)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radii_are_read_and_printed() {
        let radii: RadiusList = "0, 0.1,1e-3".parse().unwrap();
        assert_eq!(radii.values(), [0.0, 0.1, 1e-3]);
        assert_eq!(radii.to_string(), "0,0.1,0.001");
        let text = serde_json::to_string(&radii).unwrap();
        assert_eq!(serde_json::from_str::<RadiusList>(&text).unwrap(), radii);
        assert_eq!("0.5".parse::<RadiusList>().unwrap().values(), [0.5]);
    }

    #[test]
    fn invalid_radii_are_refused() {
        let refused = |text: &str| text.parse::<RadiusList>().unwrap_err().to_string();
        assert_eq!(refused("0,-1"), "radii: a radius must be >= 0 (got -1)");
        assert!(refused("nan").contains("got NaN") && refused("inf").contains("got inf"));
        assert!(refused("0,x").contains("'x' is not a number"));
        assert!(refused("").contains("'' is not a number"));
        let many = vec![0.5; RadiusList::MOST + 1];
        assert!(RadiusList::new(&many).is_err() && RadiusList::new(&[]).is_err());
        assert!(RadiusList::new(&many[1..]).is_ok());
    }
}
