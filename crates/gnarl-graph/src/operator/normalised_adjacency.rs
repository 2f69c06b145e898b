//! Normalised adjacency of a GCN, `A_hat = (D+I)^-1/2 (A+I) (D+I)^-1/2`.

use serde::{Deserialize, Serialize};

use super::{Degrees, Factors, ShiftOperator};
use crate::error::Result;
use crate::settings::Settings;

/// Normalised adjacency of a GCN, `A_hat = (D+I)^-1/2 (A+I) (D+I)^-1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(
    name = "A_hat",
    about = "normalised adjacency (D+I)^-1/2 (A+I) (D+I)^-1/2",
    constant
)]
pub struct NormalisedAdjacency {}

impl ShiftOperator for NormalisedAdjacency {
    fn factors(&self, degrees: &Degrees) -> Result<Factors> {
        let d = degrees.power(-0.5, 1.0)?;
        Ok(Factors {
            diagonal: Some(d.iter().map(|d| d * d).collect()),
            left: Some(d.clone()),
            right: Some(d),
        })
    }

    /// Returns the scalars of the CGSO paper's `D^-1/2 (A + I) D^-1/2`. It equals the renormalised
    /// `(D + I)^-1/2 (A + I) (D + I)^-1/2` only if v = deg + 1, the closed degree.
    fn scalars(&self) -> [f64; 7] {
        [0.0, 1.0, 0.0, 0.0, -0.5, -0.5, 1.0]
    }
}
