//! Signless Laplacian `Q = D + A`.

use serde::{Deserialize, Serialize};

use super::{Degrees, Factors, ShiftOperator};
use crate::error::Result;
use crate::settings::Settings;

/// Signless Laplacian `Q = D + A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "Q", about = "signless Laplacian D + A", constant)]
pub struct SignlessLaplacian {}

impl ShiftOperator for SignlessLaplacian {
    fn factors(&self, degrees: &Degrees) -> Result<Factors> {
        Ok(Factors {
            diagonal: Some(degrees.values().to_vec()),
            ..Factors::default()
        })
    }

    fn scalars(&self) -> [f64; 7] {
        [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    }
}
