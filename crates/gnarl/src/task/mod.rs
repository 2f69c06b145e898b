//! Tasks: data in, result out.

pub mod node;
pub mod recipe;
