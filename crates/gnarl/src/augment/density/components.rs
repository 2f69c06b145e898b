//! Number of components of the Gaussian mixture of a class.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::settings::{Kind, Value};
use gnarl_graph::{DenseMatrix, Error, Result};
use serde::{Deserialize, Serialize};

use super::FittedDensity;
use super::gaussian_mixture::{Component, GaussianMixture, MixtureSettings};

/// Number of components of a Gaussian mixture. Stored as `10` or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "String")]
pub enum Components {
    /// This number, or the number of vectors of the class if that is smaller.
    Fixed(usize),
    /// The number of [`CANDIDATES`] with the lowest BIC (Schwarz 1978,
    /// [doi:10.1214/aos/1176344136](https://doi.org/10.1214/aos/1176344136)) for each class, among
    /// those whose components all have more vectors than dimensions: with fewer, a covariance is
    /// singular and its likelihood meaningless.
    Auto,
}

/// The numbers that [`Components::Auto`] compares.
pub const CANDIDATES: [usize; 8] = [1, 2, 3, 5, 10, 20, 40, 50];

impl fmt::Display for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Components::Fixed(count) => write!(f, "{count}"),
            Components::Auto => f.write_str("auto"),
        }
    }
}

impl Value for Components {
    const KIND: Kind = Kind::Text("N|auto");
}

impl FromStr for Components {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Components::Auto);
        }
        match text.parse() {
            Ok(count) if count > 0 => Ok(Components::Fixed(count)),
            _ => Err(Error::argument(
                "components",
                format!("'{text}' is neither a number of at least 1 nor auto"),
            )),
        }
    }
}

/// The number of components in text form: a number, or a word.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Number(f64),
    Text(String),
}

impl TryFrom<Stored> for Components {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        match stored {
            Stored::Number(count) => count.to_string().parse(),
            Stored::Text(text) => text.parse(),
        }
    }
}

impl From<Components> for String {
    fn from(components: Components) -> Self {
        components.to_string()
    }
}

impl Components {
    /// Fits a mixture with this number of components; for `auto`, of equal criteria the one with
    /// fewer.
    pub fn fit(self, points: &DenseMatrix<f64>, seed: u64) -> Result<GaussianMixture> {
        let with = |count| GaussianMixture::fit(points, &MixtureSettings::new(count), seed);
        let Components::Fixed(count) = self else {
            let mut best = with(CANDIDATES[0])?;
            let most = points.num_rows() / (points.num_cols() + 1);
            for count in CANDIDATES
                .into_iter()
                .skip(1)
                .filter(|&count| count <= most)
            {
                let other = with(count)?;
                let has_enough = |c: &Component| {
                    c.weight * points.num_rows() as f64 > points.num_cols() as f64 + 0.5
                };
                if other.components().iter().all(has_enough)
                    && other.report().bic() < best.report().bic()
                {
                    best = other;
                }
            }
            return Ok(best);
        };
        with(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_read_back_and_wrong_ones_named() {
        for text in ["auto", "7"] {
            assert_eq!(text.parse::<Components>().unwrap().to_string(), text);
        }
        let e = "0".parse::<Components>().unwrap_err().to_string();
        assert_eq!(
            e,
            "components: '0' is neither a number of at least 1 nor auto"
        );
        for (stored, expected) in [
            ("7", Components::Fixed(7)),
            ("\"7\"", Components::Fixed(7)),
            ("\"auto\"", Components::Auto),
        ] {
            assert_eq!(
                serde_json::from_str::<Components>(stored).unwrap(),
                expected,
                "{stored}"
            );
        }
        for wrong in ["0", "-1", "1.5", "\"none\""] {
            let e = serde_json::from_str::<Components>(wrong)
                .unwrap_err()
                .to_string();
            assert!(
                e.contains("is neither a number of at least 1 nor auto"),
                "{wrong}: {e}"
            );
        }
    }
}
