//! All tables that `gnarl reproduce` can run, read once from the files of the folder `tables`. A
//! new table is a file there and its name in the list below.

use std::sync::LazyLock;

use super::table::Table;

/// Lists files by their names without an ending, which are the names of their tables.
macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../tables/", $name, ".toml")))),+]
    };
}

/// The files in the order of the thesis, gnarl's own tables at the end.
const FILES: [(&str, &str); 58] = files![
    "data_statistics_node",
    "data_statistics_graph",
    "SBM_PAM",
    "topological_GCN",
    "comb_centralities_1",
    "data_statistics_ch3",
    "additional_CA_GCN",
    "sgc_1",
    "sgc_2",
    "comb_centralities_2",
    "H2GCN",
    "graph_prop",
    "degree_hyper",
    "kcore_hyper",
    "pagerank_hyper",
    "count_walks_hyper",
    "photo_synthetic",
    "results_with_baselines",
    "results_with_baselines_GIN",
    "results_with_baselines_2",
    "results_with_baselines_GIN_2",
    "data_statistics_ch4",
    "time_complexity",
    "multi_task_updated",
    "multi_task_2",
    "multi_task_GIN",
    "multi_task_GIN_2",
    "oracle",
    "oracle_2",
    "oracle_GIN",
    "oracle_GIN_2",
    "results_node_classification",
    "structural_perturbations",
    "combined_attack",
    "order_iter_analysis",
    "time_analysis",
    "elastic_even",
    "results_graph_classification",
    "gin_feature_attacks",
    "data_statistics_ch5",
    "data_statistics_sets_ch5",
    "features_results",
    "combinations",
    "structure_results",
    "data_statistics_ch6",
    "inference_time",
    "size_CRF",
    "results_gcn",
    "results_gin",
    "results_structure_corr",
    "config_models",
    "ablation_GCN",
    "ablation_GIN",
    "complexity",
    "results_gcn_classic_baselines",
    "results_gin_classic_baselines",
    "data_statistics",
    "rare_class",
];

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| FILES.map(read).into());

/// Reads a file of the crate itself, which is valid: a test reads them all.
fn read((name, text): (&str, &str)) -> Table {
    Table::from_toml(text).unwrap_or_else(|e| panic!("{name}.toml: {e}"))
}

/// All tables in the order of the thesis, gnarl's own at the end.
pub fn all() -> &'static [Table] {
    &TABLES
}

/// The table of that label, with or without its prefix, whatever the case.
///
/// ```
/// use gnarl_thesis::tables;
/// assert_eq!(tables::find("graph_prop")?.name, "cgsO:tab:graph_prop");
/// assert!(tables::find("graph_props").unwrap_err().to_string().contains("did you mean graph_prop"));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn find(name: &str) -> gnarl_graph::Result<&'static Table> {
    let matches = |table: &Table| {
        table.name.eq_ignore_ascii_case(name) || table.short_name().eq_ignore_ascii_case(name)
    };
    let found = all().iter().find(|table| matches(table));
    found.ok_or_else(|| {
        gnarl_graph::Error::unknown("table", name, all().iter().map(Table::short_name))
    })
}

/// Tables by name, chapters (`ch3`) or `all`, several with commas between them; each once, in the
/// order of the thesis.
///
/// ```
/// use gnarl_thesis::tables;
/// assert_eq!(tables::select("all")?.len(), tables::all().len());
/// assert_eq!(tables::select("oracle,graph_prop")?[0].short_name(), "graph_prop");
/// assert!(tables::select("ch7")?.iter().all(|table| table.name.starts_with("gen:")));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn select(names: &str) -> gnarl_graph::Result<Vec<&'static Table>> {
    let mut chosen = vec![false; all().len()];
    for name in names.split(',').map(str::trim) {
        let of_chapter = |table: &Table| {
            table
                .chapter()
                .is_some_and(|c| name.eq_ignore_ascii_case(&format!("ch{c}")))
        };
        let is_chapter = all().iter().any(of_chapter);
        let is_all = name.eq_ignore_ascii_case("all");
        let found = if is_all || is_chapter {
            None
        } else {
            Some(find(name)?)
        };
        for (table, chosen) in all().iter().zip(&mut chosen) {
            *chosen |= match found {
                Some(found) => found.name == table.name,
                None => is_all || of_chapter(table),
            };
        }
    }
    Ok(all()
        .iter()
        .zip(chosen)
        .filter(|(_, chosen)| *chosen)
        .map(|(table, _)| table)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::CellConfig;
    use crate::measure::Measure;
    use crate::recipe::Recipe;
    use crate::table::{Figure, dataset_name};
    use crate::work::{Spec, Work};
    use gnarl_data::Task;

    #[test]
    fn every_table_is_sound() {
        for (table, (file, _)) in all().iter().zip(FILES) {
            assert_eq!(table.flaw(), None, "{}", table.name);
            assert!(
                !table.title.is_empty() && !table.section.is_empty(),
                "{}",
                table.name
            );
            assert_eq!(table.short_name(), file, "a file is called as its table");
            assert_eq!(find(&table.name).unwrap().name, table.name);
            let same_name = |other: &&Table| other.short_name() == table.short_name();
            assert_eq!(all().iter().filter(same_name).count(), 1, "{}", table.name);
        }
        let e = find("topological_GCM").unwrap_err().to_string();
        assert_eq!(
            e,
            "unknown table 'topological_GCM'; did you mean topological_GCN?"
        );
    }

    /// A file that is missing in the list would never be read.
    #[test]
    fn every_file_is_in_the_list() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tables");
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            let name = file.file_stem().unwrap().to_str().unwrap();
            assert!(FILES.iter().any(|(known, _)| *known == name), "{name}");
        }
    }

    #[test]
    fn every_cell_is_a_work() {
        for table in all() {
            let cells = |row| table.columns.iter().map(move |column| (row, column));
            for (row, column) in table.rows.iter().flat_map(cells) {
                let dataset = dataset_name(column).unwrap();
                for recipe in [Recipe::Thesis, Recipe::Default] {
                    let config = CellConfig::new(row.spec, dataset, recipe, 10, 0).unwrap();
                    let says = format!("{}: {}", table.name, row.label);
                    check_work(row.spec, &config.work, recipe, &says);
                }
            }
        }
    }

    /// Checks that the work of a row has the row's settings.
    fn check_work(spec: Spec, work: &Work, recipe: Recipe, says: &str) {
        match (spec, work) {
            (Spec::Attacked(row), Work::Attacked(runs)) => {
                let task = if runs.more.graphs {
                    Task::Graph
                } else {
                    Task::Node
                };
                let is_of_graphs = says.starts_with("tab:results_graph_classification:");
                assert_eq!(runs.more.graphs, is_of_graphs, "{says}");
                runs.model.plan(task).unwrap();
                assert_eq!(runs.model.weights, row.subject.weights, "{says}");
                let chapter = if recipe == Recipe::Thesis {
                    row.subject.chapter
                } else {
                    recipe
                };
                assert_eq!(runs.recipe, chapter, "{says}");
            }
            (Spec::Graphs(row), Work::Graphs(runs)) => {
                runs.model.plan(Task::Graph).unwrap();
                let names = (runs.model.augment.name(), row.classifier.augment.name());
                assert_eq!((runs.recipe, names.0), (recipe, names.1), "{says}");
                assert_eq!(
                    runs.more.timed,
                    row.measure != Measure::TestAccuracy,
                    "{says}"
                );
            }
            (spec, _) => assert!(
                !matches!(spec, Spec::Attacked(_) | Spec::Graphs(_)),
                "{says}"
            ),
        }
    }

    /// Figures read from the printed thesis by eye, one of each kind.
    #[test]
    fn figures_are_those_of_the_printed_thesis() {
        let acc = |mean, std| Figure::Accuracy { mean, std };
        let value = |value, unit| Figure::Value { value, unit };
        for (name, row, column, printed) in [
            ("topological_GCN", "GCN w/ A", "CiteSeer", acc(64.95, 0.58)),
            ("topological_GCN", "PNA", "squirrel", Figure::OutOfMemory),
            ("H2GCN", "CH2GCN w/ PR", "chameleon", acc(31.95, 5.79)),
            ("degree_hyper", "e1", "ogbn-arxiv", acc(-0.08, 0.02)),
            (
                "graph_prop",
                "mean PageRank",
                "arxiv-year",
                value(5.90e-6, 1e-8),
            ),
            (
                "oracle_2",
                "ADMP-GCN (ST), oracle",
                "Computers",
                acc(90.15, 0.97),
            ),
            ("time_complexity", "ADMP-GCN ST", "Photo", value(87.0, 1.0)),
            (
                "results_node_classification",
                "psi 0.5: GCN",
                "Cora",
                acc(68.4, 1.9),
            ),
            (
                "data_statistics_node",
                "edges",
                "squirrel",
                value(396_846.0, 0.5),
            ),
            (
                "features_results",
                "PGD: RobustCRF",
                "Texas",
                acc(62.16, 4.83),
            ),
            ("ablation_GCN", "GMM w/ VBI", "IMDB-BINARY", acc(71.0, 4.21)),
            ("results_gcn", "retrain (ours)", "DD", Figure::Absent),
        ] {
            let table = find(name).unwrap();
            let row = table.rows.iter().find(|r| r.label == row).unwrap();
            let column = table.columns.iter().position(|c| c == column).unwrap();
            assert_eq!(row.figures[column], printed, "{name}: {}", row.label);
        }
    }
}
