//! Unnormalised Laplacian `L = D - A`.

use serde::{Deserialize, Serialize};

use super::{Degrees, Factors, ShiftOperator};
use crate::error::Result;
use crate::settings::Settings;

/// Unnormalised Laplacian `L = D - A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "L", about = "Laplacian D - A", constant)]
pub struct Laplacian {}

impl ShiftOperator for Laplacian {
    fn sign(&self) -> f64 {
        -1.0
    }

    fn factors(&self, degrees: &Degrees) -> Result<Factors> {
        Ok(Factors {
            diagonal: Some(degrees.values().to_vec()),
            ..Factors::default()
        })
    }

    fn scalars(&self) -> [f64; 7] {
        [1.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    }
}
