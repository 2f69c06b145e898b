//! Adjacency matrix `A`.

use serde::{Deserialize, Serialize};

use super::{Degrees, Factors, ShiftOperator};
use crate::error::Result;
use crate::settings::Settings;

/// Adjacency matrix `A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "A", about = "adjacency matrix", constant)]
pub struct Adjacency {}

impl ShiftOperator for Adjacency {
    fn factors(&self, _: &Degrees) -> Result<Factors> {
        Ok(Factors::default())
    }

    fn scalars(&self) -> [f64; 7] {
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }
}
