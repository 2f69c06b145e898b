//! `gnarl data`: the datasets, where they are, and whether they are what they should be.

pub mod check;
pub mod get;
pub mod info;
pub mod list;
