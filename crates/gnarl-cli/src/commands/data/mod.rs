//! `gnarl data`: the datasets, where they are, and whether they are what they should be.

pub mod check;
pub mod get;
pub mod info;
pub mod list;

use gnarl_graph::dataset::registry::{Format, Task};

fn task_name(task: Task) -> &'static str {
    match task {
        Task::Node => "node",
        Task::Graph => "graph",
    }
}

fn format_name(format: Format) -> &'static str {
    match format {
        Format::Planetoid => "planetoid",
        Format::GeomGcn => "geom-gcn",
        Format::Npz => "npz",
        Format::Tu => "tu",
        Format::Ogb | Format::OgbYear => "ogb",
        Format::Linkx | Format::Facebook100 => "linkx",
    }
}
