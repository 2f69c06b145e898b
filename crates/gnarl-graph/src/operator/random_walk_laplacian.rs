//! Random-walk Laplacian `L_rw = I - D⁻¹ A`.

use serde::{Deserialize, Serialize};

use super::{Degrees, Factors, ShiftOperator};
use crate::error::Result;
use crate::settings::Settings;

/// Random-walk Laplacian `L_rw = I - D⁻¹ A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "L_rw", about = "random-walk Laplacian I - D^-1 A", constant)]
pub struct RandomWalkLaplacian {}

impl ShiftOperator for RandomWalkLaplacian {
    fn sign(&self) -> f64 {
        -1.0
    }

    fn factors(&self, degrees: &Degrees) -> Result<Factors> {
        Ok(Factors {
            diagonal: Some(degrees.above_zero()),
            left: Some(degrees.power(-1.0, 0.0)?),
            ..Factors::default()
        })
    }

    fn scalars(&self) -> [f64; 7] {
        [0.0, -1.0, 1.0, 0.0, -1.0, 0.0, 0.0]
    }
}
