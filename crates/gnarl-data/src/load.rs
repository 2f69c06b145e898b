//! Loads a dataset from a name or a path: selects the loader, and locates its files in the data
//! folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::registry::{self, Entry, Format};
use crate::{
    Content, Dataset, Sources, attacked, disk, edge_list, embedded, geom_gcn, linkx, npz, ogb,
    planetoid, scipy, tu,
};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::generate::{self, CsbmConfig, SbbamConfig};
use gnarl_graph::graph::{BuildReport, Graph};

/// Returns the data folder: `given`, else `GNARL_DATA`, else the platform's data folder, else (no
/// home folder) `gnarl-data` in the working directory. It need not exist yet.
pub fn data_dir(given: Option<&Path>) -> PathBuf {
    choose(given, std::env::var_os("GNARL_DATA"))
}

fn choose(given: Option<&Path>, variable: Option<OsString>) -> PathBuf {
    if let Some(dir) = given {
        return dir.to_path_buf();
    }
    if let Some(dir) = variable.filter(|dir| !dir.is_empty()) {
        return PathBuf::from(dir);
    }
    directories::ProjectDirs::from("", "", "gnarl").map_or_else(
        || PathBuf::from("gnarl-data"),
        |dirs| dirs.data_dir().to_path_buf(),
    )
}

/// Datasets that need no file: the karate club, and one random graph per synthetic model.
pub const BUILT_IN: [&str; 3] = ["karate", "sbbam", "csbm"];

/// Returns a one-line description of a built-in graph; `None` for another name.
pub fn built_in_title(name: &str) -> Option<&'static str> {
    match name.to_lowercase().as_str() {
        "karate" => Some(
            "Members of a karate club and who met outside it (Zachary 1977), communities as classes",
        ),
        "sbbam" => Some(
            "Barabási–Albert blocks of three densities and edges between them, sampled with the seed",
        ),
        "csbm" => Some(
            "Blocks that show in edges and in features (Deshpande et al. 2018), sampled with the seed",
        ),
        _ => None,
    }
}

/// Loads a dataset by name or alias, ignoring case, from the data folder. `karate`, `sbbam` and
/// `csbm` need no files; the last two are sampled from the seed. `cora` and `mutag` are embedded in
/// the program, for data folders without their files. An unknown name that looks like a path is
/// read as a user's own files.
///
/// ```
/// let karate = gnarl_data::load("karate", std::path::Path::new("."), 0)?;
/// assert_eq!(karate.graph()?.num_edges(), 78);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn load(name_or_path: &str, data_dir: &Path, seed: u64) -> Result<Dataset> {
    if let Some(entry) = registry::get(name_or_path) {
        return load_entry(entry, data_dir);
    }
    let name = name_or_path.to_lowercase();
    let built_in = |graph: Graph| Dataset {
        name: name.clone(),
        content: Content::Graph(graph),
        report: BuildReport::default(),
        entry: None,
        sources: Sources::default(),
    };
    match name.as_str() {
        "karate" => Ok(built_in(embedded::karate())),
        "sbbam" => Ok(built_in(generate::sbbam(&SbbamConfig::default(), seed)?)),
        "csbm" => Ok(built_in(generate::csbm(&CsbmConfig::default(), seed)?)),
        _ if looks_like_a_path(name_or_path) => load_own(name_or_path),
        _ => Err(Error::unknown(
            "dataset",
            name_or_path,
            registry::names().chain(BUILT_IN),
        )),
    }
}

/// Loads a user's own files: a graph on disk, a set of graphs in TU's layout, an archive, an edge
/// list, or a folder of them.
fn load_own(path: &str) -> Result<Dataset> {
    let file = Path::new(path);
    let (content, report, sources) = if disk::is_folder(file) {
        let (graph, report) = disk::open(file)?;
        (Content::Graph(graph), report, Sources::default())
    } else if let Some(set) = tu::name_in(file)? {
        let (graphs, report, sources) = tu::load(file, None, &set)?;
        (Content::Graphs(graphs), report, sources)
    } else {
        let is_archive = file
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("npz"));
        let (graph, report, sources) = if is_archive {
            scipy::load(file)?
        } else {
            edge_list::load(file)?
        };
        (Content::Graph(graph), report, sources)
    };
    Ok(Dataset {
        name: path.to_string(),
        content,
        report,
        entry: None,
        sources,
    })
}

/// Returns true if a dataset of the registry is loaded from the program itself: it is embedded, and
/// the data folder has none of its files.
pub fn is_embedded(entry: &Entry, data_dir: &Path) -> bool {
    embedded::holds(entry) && !entry.has_any(data_dir)
}

/// Loads a dataset of the registry; a missing file is [`Error::Absent`]. Cora and MUTAG are
/// embedded in the program, for data folders with none of their files.
pub fn load_entry(entry: &'static Entry, data_dir: &Path) -> Result<Dataset> {
    if let Some(missing) = entry.first_missing(data_dir) {
        if is_embedded(entry, data_dir)
            && let Some((content, report)) = embedded::unpack(entry)
        {
            let (name, sources) = (entry.name.to_string(), Sources::default());
            return Ok(Dataset {
                name,
                content,
                report,
                entry: Some(entry),
                sources,
            });
        }
        return Err(absent(entry, data_dir, missing));
    }
    let name = entry.name;
    let at = |folder: &str| data_dir.join(folder);
    let npz_file = |folder: &str| -> PathBuf { at(folder).join(format!("{name}.npz")) };
    let (content, report) = match entry.format {
        Format::Planetoid => node(planetoid::load(&at("planetoid"), name)?),
        Format::GeomGcn => node(geom_gcn::load(
            &at("geom-gcn").join(name),
            &at("geom-gcn/splits"),
            name,
        )?),
        Format::Npz => node(npz::load(&npz_file("npz"), entry.binarise)?),
        Format::Ogb => node(ogb::load(&at("ogb/arxiv"))?),
        Format::OgbYear => node(ogb::load_arxiv_year(&at("ogb/arxiv"))?),
        Format::Linkx => node(linkx::load(&npz_file("linkx"))?),
        Format::Attacked => node(attacked::load(entry, data_dir)?),
        Format::Facebook100 => node(linkx::load_facebook100(&npz_file("linkx"))?),
        Format::Tu => {
            let (set, report, _) = tu::load(&at("tu").join(name), Some(&at("tu/splits")), name)?;
            (Content::Graphs(set), report)
        }
    };
    Ok(Dataset {
        name: name.to_string(),
        content,
        report,
        entry: Some(entry),
        sources: Sources::default(),
    })
}

/// Returns the error for a missing file, with its remedy: download it, or follow the download's
/// note.
fn absent(entry: &Entry, data_dir: &Path, missing: String) -> Error {
    let is_converted = !entry.files.iter().any(|f| f.provides().contains(&missing));
    let download = entry
        .files
        .first()
        .map(|f| data_dir.join(f.path))
        .filter(|f| f.is_file());
    match (entry.note, download) {
        (Some(note), Some(file)) if is_converted => {
            Error::data(&file, format!("{missing} is missing"), note)
        }
        _ => Error::Absent {
            name: entry.name.to_string(),
            dir: data_dir.to_path_buf(),
            missing,
        },
    }
}

fn node((graph, report): (Graph, BuildReport)) -> (Content, BuildReport) {
    (Content::Graph(graph), report)
}

/// Returns true for a path. A dot is part of a file's name, but also of the rates in the names of
/// attacked graphs.
pub(super) fn looks_like_a_path(name: &str) -> bool {
    let is_rate = name.to_lowercase().contains("-metattack-");
    name.contains(['/', '\\']) || (name.contains('.') && !is_rate) || Path::new(name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_not_there_is_no_path() {
        let e = load("cora-metattack-0.3", Path::new("."), 0)
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("unknown dataset 'cora-metattack-0.3'; did you mean cora-metattack-0"),
            "{e}"
        );
        assert!(
            !load("no-such.csv", Path::new("."), 0)
                .unwrap_err()
                .to_string()
                .contains("unknown dataset")
        );
    }

    #[test]
    fn the_folder_given_comes_before_the_variable_before_the_platform() {
        assert_eq!(
            choose(Some(Path::new("a")), Some("b".into())),
            Path::new("a")
        );
        assert_eq!(choose(None, Some("b".into())), Path::new("b"));
        let platform = choose(None, None);
        assert_eq!(
            choose(None, Some("".into())),
            platform,
            "an empty variable is no folder"
        );
        assert!(
            platform.ends_with("gnarl")
                || platform.ends_with("data")
                || platform.ends_with("gnarl-data")
        );
    }
}
