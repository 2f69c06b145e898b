//! Tasks: data in, result out.

pub mod attack;
pub mod depth;
pub mod graph;
pub mod inference_values;
pub mod node;
pub mod recipe;
