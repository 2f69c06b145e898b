//! Symmetric Laplacian `L_sym = I - D^-1/2 A D^-1/2`.

use serde::{Deserialize, Serialize};

use super::{Degrees, Factors, ShiftOperator};
use crate::error::Result;
use crate::settings::Settings;

/// Symmetric Laplacian `L_sym = I - D^-1/2 A D^-1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(
    name = "L_sym",
    about = "symmetric Laplacian I - D^-1/2 A D^-1/2",
    constant
)]
pub struct SymmetricLaplacian {}

impl ShiftOperator for SymmetricLaplacian {
    fn sign(&self) -> f64 {
        -1.0
    }

    fn factors(&self, degrees: &Degrees) -> Result<Factors> {
        let d = degrees.power(-0.5, 0.0)?;
        Ok(Factors {
            diagonal: Some(degrees.above_zero()),
            left: Some(d.clone()),
            right: Some(d),
        })
    }

    fn scalars(&self) -> [f64; 7] {
        [0.0, -1.0, 1.0, 0.0, -0.5, -0.5, 0.0]
    }
}
