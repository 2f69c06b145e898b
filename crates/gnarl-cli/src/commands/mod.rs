//! Commands, one file each: from arguments to a [`Report`](crate::output::Report).
//!
//! | file | contents |
//! | --- | --- |
//! | `model` | model options of every command that trains |
//! | `study` | output, progress and cancellation of every command that runs a study |
//! | `dry_run` | plan of a study and an estimate of its time |
//! | `model_page` | page about a fitted model on one graph |
//! | `classes` | scores class by class |

pub mod advise;
pub mod attack;
mod attack_compare;
pub mod axes;
pub mod bench;
pub mod centrality;
pub mod certify;
mod classes;
pub mod cluster;
pub mod data;
pub mod demo;
mod dry_run;
pub mod energy;
pub mod explore;
pub mod growth;
mod influence;
pub mod manual;
mod model;
mod model_page;
pub mod plan;
pub mod predict;
pub mod report;
mod report_fill;
pub mod reproduce;
pub mod robustness;
pub mod schema;
pub mod spectrum;
mod study;
pub mod train;

use gnarl_data as dataset;
use gnarl_data::{Content, Dataset};
use gnarl_graph::{Error, Graph};

use crate::global::Global;
use crate::progress;

/// Loads a dataset by name or path, with a spinner if it takes long.
fn load(global: &Global, name: &str) -> anyhow::Result<Dataset> {
    let dir = dataset::data_dir(global.data_dir.as_deref());
    let loaded = progress::during(&format!("loading {name}"), || {
        dataset::load(name, &dir, global.seed)
    })?;
    if matches!(&loaded.content, Content::Graph(graph) if graph.is_on_disk())
        && let Some(call) = crate::ON_LARGE.get()
    {
        call();
    }
    Ok(loaded)
}

/// Loads a dataset that must be one graph; `command` is named in the error.
fn load_graph(
    global: &Global,
    name: &str,
    command: &'static str,
) -> anyhow::Result<(String, Graph)> {
    let loaded = load(global, name)?;
    match loaded.content {
        Content::Graph(graph) => Ok((loaded.name, graph)),
        Content::Graphs(set) => {
            let what = format!(
                "{} is a set of {} graphs, and {command} needs one graph; `gnarl data list` shows the datasets of task node",
                loaded.name,
                set.len()
            );
            Err(Error::argument(command, what).into())
        }
    }
}
