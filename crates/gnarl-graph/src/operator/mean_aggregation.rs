//! Mean over neighbours, `H = D⁻¹ A`.

use serde::{Deserialize, Serialize};

use super::{Degrees, Factors, ShiftOperator};
use crate::error::Result;
use crate::settings::Settings;

/// Mean over neighbours, `H = D⁻¹ A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "H", about = "mean over neighbours D^-1 A", constant)]
pub struct MeanAggregation {}

impl ShiftOperator for MeanAggregation {
    fn factors(&self, degrees: &Degrees) -> Result<Factors> {
        Ok(Factors {
            left: Some(degrees.power(-1.0, 0.0)?),
            ..Factors::default()
        })
    }

    fn scalars(&self) -> [f64; 7] {
        [0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0]
    }
}
