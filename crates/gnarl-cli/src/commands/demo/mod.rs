//! `gnarl` without a command: runs the demo.
//!
//! | folder | contents |
//! | --- | --- |
//! | `axes` | the five axes on Cora, and augmentation on MUTAG |
//! | `karate` | plain models on Zachary's karate club |

mod axes;
mod karate;

use std::path::Path;

use gnarl_graph::Error;

use crate::global::Global;
use crate::html::escape;
use crate::output::Either;

/// Default file of the page.
const PAGE: &str = "gnarl-report.html";

gnarl_graph::named! {
    /// Tours of the demo.
    pub enum Tour as "tour" {
        /// The five axes on Cora and MUTAG.
        Axes = "axes",
        /// Plain models on the karate club.
        Karate = "karate",
    }
}

/// Settings of the demo.
#[derive(Debug, Clone, Copy)]
pub struct DemoSettings<'a> {
    /// File of the page.
    pub out: Option<&'a Path>,
    /// The tour to show.
    pub tour: Tour,
    /// Number of epochs of each training, fewer than meaningful results need.
    pub rough: Option<usize>,
}

/// Runs a tour.
pub fn run(
    global: &Global,
    settings: &DemoSettings<'_>,
) -> anyhow::Result<Either<axes::AxesTour, karate::DemoReport>> {
    let file = settings.out.unwrap_or(Path::new(PAGE));
    Ok(match settings.tour {
        Tour::Axes => Either::Left(axes::run(global, file, settings.rough)?),
        Tour::Karate => Either::Right(karate::run(global, file, settings.rough)?),
    })
}

/// Fails before the work begins if the result cannot be written.
fn check_writable(file: &Path) -> gnarl_graph::Result<()> {
    if file.is_dir() {
        return Err(refuse(file, "it is a folder"));
    }
    let probe = file.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&probe, "")
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|e| refuse(file, &e.to_string()))
}

fn refuse(file: &Path, why: &str) -> Error {
    let what = format!(
        "the report cannot be written to {}: {why}; name another place with --out FILE",
        file.display()
    );
    Error::argument("gnarl", what)
}

/// Formats the suggested next commands as a list.
fn next_markup(next: &[(&str, &str)]) -> String {
    let item = |(command, why): &(&str, &str)| {
        format!(
            "<li><code>{}</code>: {}</li>\n",
            escape(command),
            escape(why)
        )
    };
    format!(
        "<ul class=\"prose\">\n{}</ul>\n",
        next.iter().map(item).collect::<String>()
    )
}
