//! Every table that `gnarl reproduce` knows. A new one is a file here and an entry in [`ALL`].

// Accuracies happen to look like constants of nature.
#![allow(clippy::approx_constant)]

mod ablation_gcn;
mod ablation_gin;
mod additional_ca_gcn;
mod comb_centralities_1;
mod comb_centralities_2;
mod combinations;
mod combined_attack;
mod complexity;
mod config_models;
mod data_statistics;
mod dataset_statistics;
mod elastic_even;
mod features_results;
mod gin_feature_attacks;
mod graph_prop;
mod h2gcn;
mod holes;
mod inference_time;
mod learned_scalars;
mod multi_task_2;
mod multi_task_gin;
mod multi_task_gin_2;
mod multi_task_updated;
mod oracle;
mod oracle_2;
mod oracle_gin;
mod oracle_gin_2;
mod order_iter_analysis;
mod photo_synthetic;
mod rare_class;
mod results_gcn;
mod results_gcn_classic_baselines;
mod results_gin;
mod results_gin_classic_baselines;
mod results_graph_classification;
mod results_node_classification;
mod results_structure_corr;
mod results_with_baselines;
mod results_with_baselines_2;
mod results_with_baselines_gin;
mod results_with_baselines_gin_2;
mod sbm_pam;
mod sgc_1;
mod sgc_2;
mod size_crf;
mod structural_perturbations;
mod structure_results;
mod time_analysis;
mod time_complexity;
mod topological_gcn;

pub use ablation_gcn::ABLATION_GCN;
pub use ablation_gin::ABLATION_GIN;
pub use additional_ca_gcn::ADDITIONAL_CA_GCN;
pub use comb_centralities_1::COMB_CENTRALITIES_1;
pub use comb_centralities_2::COMB_CENTRALITIES_2;
pub use combinations::COMBINATIONS;
pub use combined_attack::COMBINED_ATTACK;
pub use complexity::COMPLEXITY;
pub use config_models::CONFIG_MODELS;
pub use data_statistics::DATA_STATISTICS;
pub use dataset_statistics::{
    DATA_STATISTICS_CH3, DATA_STATISTICS_CH4, DATA_STATISTICS_CH5, DATA_STATISTICS_CH6,
    DATA_STATISTICS_GRAPH, DATA_STATISTICS_NODE, DATA_STATISTICS_SETS_CH5,
};
pub use elastic_even::ELASTIC_EVEN;
pub use features_results::FEATURES_RESULTS;
pub use gin_feature_attacks::GIN_FEATURE_ATTACKS;
pub use graph_prop::GRAPH_PROP;
pub use h2gcn::H2GCN;
pub use inference_time::INFERENCE_TIME;
pub use learned_scalars::{COUNT_WALKS_HYPER, DEGREE_HYPER, KCORE_HYPER, PAGERANK_HYPER};
pub use multi_task_2::MULTI_TASK_2;
pub use multi_task_gin::MULTI_TASK_GIN;
pub use multi_task_gin_2::MULTI_TASK_GIN_2;
pub use multi_task_updated::MULTI_TASK_UPDATED;
pub use oracle::ORACLE;
pub use oracle_2::ORACLE_2;
pub use oracle_gin::ORACLE_GIN;
pub use oracle_gin_2::ORACLE_GIN_2;
pub use order_iter_analysis::ORDER_ITER_ANALYSIS;
pub use photo_synthetic::PHOTO_SYNTHETIC;
pub use rare_class::RARE_CLASS;
pub use results_gcn::RESULTS_GCN;
pub use results_gcn_classic_baselines::RESULTS_GCN_CLASSIC_BASELINES;
pub use results_gin::RESULTS_GIN;
pub use results_gin_classic_baselines::RESULTS_GIN_CLASSIC_BASELINES;
pub use results_graph_classification::RESULTS_GRAPH_CLASSIFICATION;
pub use results_node_classification::RESULTS_NODE_CLASSIFICATION;
pub use results_structure_corr::RESULTS_STRUCTURE_CORR;
pub use results_with_baselines::RESULTS_WITH_BASELINES;
pub use results_with_baselines_2::RESULTS_WITH_BASELINES_2;
pub use results_with_baselines_gin::RESULTS_WITH_BASELINES_GIN;
pub use results_with_baselines_gin_2::RESULTS_WITH_BASELINES_GIN_2;
pub use sbm_pam::SBM_PAM;
pub use sgc_1::SGC_1;
pub use sgc_2::SGC_2;
pub use size_crf::SIZE_CRF;
pub use structural_perturbations::STRUCTURAL_PERTURBATIONS;
pub use structure_results::STRUCTURE_RESULTS;
pub use time_analysis::TIME_ANALYSIS;
pub use time_complexity::TIME_COMPLEXITY;
pub use topological_gcn::TOPOLOGICAL_GCN;

use super::table::Table;

/// All of them, in the order of the thesis, and ours at the end.
pub const ALL: [&Table; 58] = [
    &DATA_STATISTICS_NODE,
    &DATA_STATISTICS_GRAPH,
    &SBM_PAM,
    &TOPOLOGICAL_GCN,
    &COMB_CENTRALITIES_1,
    &DATA_STATISTICS_CH3,
    &ADDITIONAL_CA_GCN,
    &SGC_1,
    &SGC_2,
    &COMB_CENTRALITIES_2,
    &H2GCN,
    &GRAPH_PROP,
    &DEGREE_HYPER,
    &KCORE_HYPER,
    &PAGERANK_HYPER,
    &COUNT_WALKS_HYPER,
    &PHOTO_SYNTHETIC,
    &RESULTS_WITH_BASELINES,
    &RESULTS_WITH_BASELINES_GIN,
    &RESULTS_WITH_BASELINES_2,
    &RESULTS_WITH_BASELINES_GIN_2,
    &DATA_STATISTICS_CH4,
    &TIME_COMPLEXITY,
    &MULTI_TASK_UPDATED,
    &MULTI_TASK_2,
    &MULTI_TASK_GIN,
    &MULTI_TASK_GIN_2,
    &ORACLE,
    &ORACLE_2,
    &ORACLE_GIN,
    &ORACLE_GIN_2,
    &RESULTS_NODE_CLASSIFICATION,
    &STRUCTURAL_PERTURBATIONS,
    &COMBINED_ATTACK,
    &ORDER_ITER_ANALYSIS,
    &TIME_ANALYSIS,
    &ELASTIC_EVEN,
    &RESULTS_GRAPH_CLASSIFICATION,
    &GIN_FEATURE_ATTACKS,
    &DATA_STATISTICS_CH5,
    &DATA_STATISTICS_SETS_CH5,
    &FEATURES_RESULTS,
    &COMBINATIONS,
    &STRUCTURE_RESULTS,
    &DATA_STATISTICS_CH6,
    &INFERENCE_TIME,
    &SIZE_CRF,
    &RESULTS_GCN,
    &RESULTS_GIN,
    &RESULTS_STRUCTURE_CORR,
    &CONFIG_MODELS,
    &ABLATION_GCN,
    &ABLATION_GIN,
    &COMPLEXITY,
    &RESULTS_GCN_CLASSIC_BASELINES,
    &RESULTS_GIN_CLASSIC_BASELINES,
    &DATA_STATISTICS,
    &RARE_CLASS,
];

/// The table of that label, with or without its prefix, whatever the case.
///
/// ```
/// use gnarl::thesis::tables;
/// assert_eq!(tables::find("graph_prop")?.name, "cgsO:tab:graph_prop");
/// assert!(tables::find("graph_props").unwrap_err().to_string().contains("did you mean graph_prop"));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn find(name: &str) -> gnarl_graph::Result<&'static Table> {
    let matches = |table: &Table| {
        table.name.eq_ignore_ascii_case(name) || table.short_name().eq_ignore_ascii_case(name)
    };
    let found = ALL.into_iter().find(|table| matches(table));
    found.ok_or_else(|| {
        gnarl_graph::Error::unknown("table", name, ALL.into_iter().map(Table::short_name))
    })
}

/// Tables by name, chapters (`ch3`) or `all`, several with commas between them; each once, in the
/// order of the thesis.
///
/// ```
/// use gnarl::thesis::tables;
/// assert_eq!(tables::select("all")?.len(), tables::ALL.len());
/// assert_eq!(tables::select("oracle,graph_prop")?[0].short_name(), "graph_prop");
/// assert!(tables::select("ch7")?.iter().all(|table| table.name.starts_with("gen:")));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn select(names: &str) -> gnarl_graph::Result<Vec<&'static Table>> {
    let mut chosen = [false; ALL.len()];
    for name in names.split(',').map(str::trim) {
        let of_chapter = |table: &Table| {
            table
                .chapter()
                .is_some_and(|c| name.eq_ignore_ascii_case(&format!("ch{c}")))
        };
        let found: Vec<bool> = match name.eq_ignore_ascii_case("all") {
            true => vec![true; ALL.len()],
            false if ALL.iter().any(|table| of_chapter(table)) => {
                ALL.iter().map(|table| of_chapter(table)).collect()
            }
            false => {
                let table = find(name)?;
                ALL.iter().map(|other| other.name == table.name).collect()
            }
        };
        chosen
            .iter_mut()
            .zip(found)
            .for_each(|(chosen, found)| *chosen |= found);
    }
    Ok(ALL
        .into_iter()
        .zip(chosen)
        .filter(|(_, chosen)| *chosen)
        .map(|(table, _)| table)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thesis::cell::CellConfig;
    use crate::thesis::measure::Measure;
    use crate::thesis::recipe::Recipe;
    use crate::thesis::table::{Figure, OOM, Spec, acc, count, dataset_name, value};
    use crate::thesis::work::Work;
    use gnarl_graph::dataset::Task;

    #[test]
    fn every_table_is_sound() {
        for table in ALL {
            assert_eq!(table.flaw(), None, "{}", table.name);
            assert!(
                !table.title.is_empty() && !table.section.is_empty(),
                "{}",
                table.name
            );
            assert_eq!(find(table.name).unwrap().name, table.name);
            assert_eq!(
                ALL.iter()
                    .filter(|t| t.short_name() == table.short_name())
                    .count(),
                1,
                "{}",
                table.name
            );
        }
        let e = find("topological_GCM").unwrap_err().to_string();
        assert_eq!(
            e,
            "unknown table 'topological_GCM'; did you mean topological_GCN?"
        );
    }

    #[test]
    fn every_cell_is_a_work_or_a_hole() {
        for table in ALL {
            for (row, column) in table
                .rows
                .iter()
                .flat_map(|row| table.columns.iter().map(move |c| (row, c)))
            {
                let dataset = dataset_name(column).unwrap();
                for recipe in [Recipe::Thesis, Recipe::Default] {
                    let config = CellConfig::new(row.spec, dataset, recipe, 10, 0).unwrap();
                    match (row.spec, &config.work) {
                        (Spec::Missing(what), Work::Missing(said)) => assert_eq!(what, *said),
                        (Spec::Attacked { subject, .. }, Work::Attacked(runs)) => {
                            let task = if runs.more.graphs {
                                Task::Graph
                            } else {
                                Task::Node
                            };
                            assert_eq!(
                                runs.more.graphs,
                                table.name == RESULTS_GRAPH_CLASSIFICATION.name
                            );
                            runs.model.plan(task).unwrap();
                            assert_eq!(
                                runs.model.weights, subject.weights,
                                "{}: {}",
                                table.name, row.label
                            );
                            let chapter = if recipe == Recipe::Thesis {
                                subject.chapter
                            } else {
                                recipe
                            };
                            assert_eq!(runs.recipe, chapter, "{}: {}", table.name, row.label);
                        }
                        (
                            Spec::Graphs {
                                classifier,
                                measure,
                            },
                            Work::Graphs(runs),
                        ) => {
                            runs.model.plan(Task::Graph).unwrap();
                            let names = (runs.model.augment.name(), classifier.augment.name());
                            assert_eq!((runs.recipe, names.0), (recipe, names.1), "{}", row.label);
                            assert_eq!(
                                runs.more.timed,
                                measure != Measure::TestAccuracy,
                                "{}",
                                row.label
                            );
                        }
                        (spec, work) => assert!(
                            !matches!(
                                spec,
                                Spec::Missing(_) | Spec::Attacked { .. } | Spec::Graphs { .. }
                            ) && !matches!(work, Work::Missing(_)),
                            "{}: {}",
                            table.name,
                            row.label
                        ),
                    }
                }
            }
        }
    }

    /// A few figures read off the printed thesis by eye.
    #[test]
    fn figures_are_those_of_the_thesis() {
        let figure = |table: &Table, row: &str, column: &str| {
            let row = table.rows.iter().find(|r| r.label == row).unwrap();
            row.figures[table.columns.iter().position(|c| *c == column).unwrap()]
        };
        let main = &TOPOLOGICAL_GCN;
        assert_eq!(figure(main, "GCN w/ A", "CiteSeer"), acc(64.95, 0.58));
        assert_eq!(figure(main, "GCN w/ L_sym", "Wisconsin"), acc(66.08, 2.16));
        assert_eq!(figure(main, "GATv2", "squirrel"), acc(42.63, 2.61));
        assert_eq!(figure(main, "PNA", "squirrel"), OOM);
        assert_eq!(figure(main, "PNA", "Cornell"), acc(40.54, 0.0));
        let more = &ADDITIONAL_CA_GCN;
        assert_eq!(figure(more, "GCN w/ A_hat", "Cora"), acc(80.84, 0.40));
        assert_eq!(figure(more, "GCN w/ L", "Texas"), acc(84.32, 2.65));
        assert_eq!(figure(more, "GCN w/ Q", "Computers"), acc(47.72, 18.37));
        assert_eq!(figure(more, "GIN", "Penn94"), OOM);
        assert_eq!(figure(main, "CGCN w/ PR", "Wisconsin"), acc(80.78, 11.7));
        assert_eq!(figure(main, "CGATv2 w/ D", "deezer-europe"), OOM);
        assert_eq!(
            figure(main, "CGATv2 w/ walks", "CiteSeer"),
            acc(68.11, 0.91)
        );
        assert_eq!(figure(more, "CGCN w/ D", "Computers"), acc(79.26, 1.87));
        assert_eq!(figure(more, "CGATv2 w/ PR", "Penn94"), acc(75.16, 0.69));
        assert_eq!(
            figure(&COMB_CENTRALITIES_1, "CGCN w/ D & core", "CiteSeer"),
            acc(69.0, 0.64)
        );
        assert_eq!(
            figure(&COMB_CENTRALITIES_1, "CGCN w/ D & PR", "squirrel"),
            acc(42.80, 6.58)
        );
        assert_eq!(
            figure(&COMB_CENTRALITIES_2, "CGCN w/ D & walks", "Physics"),
            acc(91.2, 1.56)
        );
        assert_eq!(
            figure(&SGC_1, "CSGC w/ core", "chameleon"),
            acc(63.11, 4.56)
        );
        assert_eq!(figure(&SGC_2, "SGC", "Photo"), acc(24.0, 11.82));
        assert_eq!(figure(&SGC_2, "CSGC w/ D", "Physics"), acc(92.32, 1.2));
        assert_eq!(
            figure(&H2GCN, "CH2GCN w/ PR", "chameleon"),
            acc(31.95, 5.79)
        );
        assert_eq!(figure(&H2GCN, "H2GCN", "Texas"), acc(56.76, 6.73));
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES, "JKNET-LSTM", "Cora"),
            acc(78.95, 0.62)
        );
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES, "GCNII", "ogbn-arxiv"),
            acc(61.48, 3.10)
        );
        assert_eq!(figure(&RESULTS_WITH_BASELINES, "JKNET-LSTM", "genius"), OOM);
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES_GIN, "GPR-GIN", "PubMed"),
            acc(77.27, 0.87)
        );
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES_2, "GPR-GNN", "chameleon"),
            acc(63.29, 0.91)
        );
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES_2, "AdaGCN", "squirrel"),
            acc(29.15, 0.77)
        );
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES_GIN_2, "GIN", "Computers"),
            acc(70.9, 2.64)
        );
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES, "ADMP-GCN w/ core", "Cora"),
            acc(81.19, 0.4)
        );
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES_2, "ADMP-GCN w/ walks", "Texas"),
            acc(68.65, 2.16)
        );
        assert_eq!(
            figure(
                &RESULTS_WITH_BASELINES_GIN,
                "ADMP-GIN w/ degree",
                "CiteSeer"
            ),
            acc(66.82, 0.89)
        );
        assert_eq!(
            figure(&RESULTS_WITH_BASELINES_GIN_2, "ADMP-GIN", "Computers"),
            acc(71.88, 3.8)
        );
        assert_eq!(
            figure(&MULTI_TASK_UPDATED, "2: ADMP-GCN (ALM)", "Cora"),
            acc(70.82, 4.05)
        );
        assert_eq!(
            figure(&MULTI_TASK_UPDATED, "5: GCN", "ogbn-arxiv"),
            acc(63.04, 1.33)
        );
        assert_eq!(
            figure(&MULTI_TASK_2, "4: ADMP-GCN (ST)", "Photo"),
            acc(87.08, 0.77)
        );
        assert_eq!(figure(&MULTI_TASK_2, "0: GCN", "squirrel"), acc(26.42, 0.0));
        assert_eq!(
            figure(&MULTI_TASK_GIN, "3: GIN", "Genius"),
            acc(52.22, 28.47)
        );
        assert_eq!(
            figure(&MULTI_TASK_GIN_2, "5: ADMP-GIN (ST)", "Texas"),
            acc(67.57, 9.44)
        );
        assert_eq!(
            figure(&ORACLE, "ADMP-GCN (ST), oracle", "Cora"),
            acc(89.43, 0.19)
        );
        assert_eq!(
            figure(&ORACLE_2, "ADMP-GCN (ST), oracle", "Computers"),
            acc(90.15, 0.97)
        );
        assert_eq!(
            figure(&ORACLE_GIN, "ADMP-GIN (ST), best layer", "CS"),
            acc(90.82, 1.15)
        );
        assert_eq!(
            figure(&ORACLE_GIN_2, "ADMP-GIN (ST), oracle", "squirrel"),
            acc(78.41, 0.89)
        );
        assert_eq!(figure(&DEGREE_HYPER, "e1", "ogbn-arxiv"), acc(-0.08, 0.02));
        assert_eq!(figure(&KCORE_HYPER, "m2", "Texas"), acc(1.04, 0.05));
        assert_eq!(figure(&PAGERANK_HYPER, "m2", "chameleon"), acc(-0.88, 0.02));
        assert_eq!(
            figure(&COUNT_WALKS_HYPER, "a", "Wisconsin"),
            acc(-0.69, 0.06)
        );
        assert_eq!(
            figure(&SBM_PAM, "ARI: CGSO w/ core", "sbbam"),
            acc(33.76, 5.83)
        );
        assert_eq!(
            figure(&TIME_COMPLEXITY, "ADMP-GCN ST", "Photo"),
            value(87.0, 1.0)
        );
        assert_eq!(figure(&TIME_ANALYSIS, "RGCN", "PubMed"), value(14.5, 0.1));
        assert_eq!(
            figure(&INFERENCE_TIME, "L = 20, 2 iterations", "Cora"),
            acc(224.86, 0.71)
        );
        assert_eq!(
            figure(&COMBINED_ATTACK, "GNN-SVD", "CoraML"),
            acc(53.8, 0.8)
        );
        assert_eq!(
            figure(&ELASTIC_EVEN, "psi 1.0: EvenNet", "CiteSeer"),
            acc(39.7, 4.2)
        );
        assert_eq!(
            figure(&DATA_STATISTICS_NODE, "edges", "squirrel"),
            count(396_846)
        );
        assert_eq!(
            figure(&DATA_STATISTICS_CH3, "homophily", "Texas"),
            value(0.111, 0.001)
        );
        assert_eq!(
            figure(&DATA_STATISTICS_CH4, "classes", "ogbn-arxiv"),
            count(40)
        );
        assert_eq!(
            figure(&DATA_STATISTICS_CH5, "nodes", "ogbn-arxiv"),
            count(31_971)
        );
        assert_eq!(
            figure(&DATA_STATISTICS_CH6, "features", "PolBlogs"),
            Figure::Absent
        );
        assert_eq!(
            figure(&DATA_STATISTICS_GRAPH, "mean edges", "IMDB-MULTI"),
            value(65.94, 0.01)
        );
        assert_eq!(
            figure(&DATA_STATISTICS_SETS_CH5, "mean nodes", "NCI1"),
            value(29.87, 0.01)
        );
        let by_features = &RESULTS_NODE_CLASSIFICATION;
        assert_eq!(figure(by_features, "psi 0.5: GCN", "Cora"), acc(68.4, 1.9));
        assert_eq!(
            figure(by_features, "psi 1.0: ParsevalR", "CiteSeer"),
            acc(51.2, 1.2)
        );
        assert_eq!(figure(by_features, "PGD: GCORN", "CS"), acc(79.6, 1.2));
        assert_eq!(
            figure(by_features, "Nettack: RGCN", "PubMed"),
            acc(71.7, 3.8)
        );
        assert_eq!(figure(by_features, "PGD: NoisyGCN", "Cora"), Figure::Absent);
        assert_eq!(
            figure(&STRUCTURAL_PERTURBATIONS, "DICE: ParsevalR", "Cora"),
            acc(79.7, 0.8)
        );
        assert_eq!(
            figure(&STRUCTURAL_PERTURBATIONS, "PGD: GCORN", "CoraML"),
            acc(84.1, 0.2)
        );
        assert_eq!(
            figure(&STRUCTURAL_PERTURBATIONS, "Mettack: GNN-Guard", "PubMed"),
            acc(84.8, 0.3)
        );
        assert_eq!(
            figure(
                &ORDER_ITER_ANALYSIS,
                "training time, s: GCORN (1 ord)",
                "Cora"
            ),
            acc(4.8, 0.07)
        );
        assert_eq!(
            figure(&ORDER_ITER_ANALYSIS, "psi 0.5: GCORN (3 ord)", "Cora"),
            acc(78.6, 0.4)
        );
        assert_eq!(
            figure(&GIN_FEATURE_ATTACKS, "PGD: GIORN", "CiteSeer"),
            acc(58.3, 0.6)
        );
        assert_eq!(
            figure(&RESULTS_GRAPH_CLASSIFICATION, "PGD: GCORN", "DD"),
            acc(68.6, 4.3)
        );
        assert_eq!(
            figure(&RESULTS_GRAPH_CLASSIFICATION, "psi 0.5: GCN", "NCI1"),
            acc(67.1, 2.6)
        );
        assert_eq!(
            figure(&RESULTS_GRAPH_CLASSIFICATION, "clean: GCORN", "PROTEINS"),
            acc(74.1, 1.9)
        );
        assert_eq!(
            figure(&FEATURES_RESULTS, "PGD: RobustCRF", "Texas"),
            acc(62.16, 4.83)
        );
        assert_eq!(
            figure(&FEATURES_RESULTS, "psi 0.5: NoisyGCN", "CS"),
            acc(91.04, 0.85)
        );
        assert_eq!(
            figure(&COMBINATIONS, "psi 0.5: NoisyGCN w/ RobustCRF", "Cora"),
            acc(81.07, 0.99)
        );
        assert_eq!(
            figure(&COMBINATIONS, "clean: GCORN", "PubMed"),
            acc(76.03, 1.29)
        );
        assert_eq!(
            figure(&STRUCTURE_RESULTS, "DICE, evasion: RobustCRF", "PolBlogs"),
            acc(90.46, 0.25)
        );
        assert_eq!(
            figure(&STRUCTURE_RESULTS, "DICE, poisoning: RGCN", "CiteSeer"),
            acc(69.45, 0.92)
        );
        assert_eq!(
            figure(&STRUCTURE_RESULTS, "clean: GOOD-AT", "CoraML"),
            acc(84.87, 0.15)
        );
        assert_eq!(
            figure(&RESULTS_GCN, "No Aug.", "IMDB-BINARY"),
            acc(73.0, 4.94)
        );
        assert_eq!(figure(&RESULTS_GCN, "G-Mixup", "MUTAG"), acc(88.77, 5.71));
        assert_eq!(figure(&RESULTS_GCN, "GRATIN", "DD"), acc(71.9, 2.81));
        assert_eq!(figure(&RESULTS_GCN, "retrain (ours)", "DD"), Figure::Absent);
        assert_eq!(figure(&RESULTS_GIN, "GRATIN", "MUTAG"), acc(88.83, 5.02));
        assert_eq!(
            figure(&RESULTS_GIN, "DropNode", "PROTEINS"),
            acc(65.4, 4.71)
        );
        assert_eq!(
            figure(&RESULTS_GIN, "GeoMix", "IMDB-MULTI"),
            acc(47.2, 3.75)
        );
        assert_eq!(
            figure(&RESULTS_STRUCTURE_CORR, "10 %: NoisyGNN", "IMDB-MULTI"),
            acc(40.66, 3.12)
        );
        assert_eq!(
            figure(&RESULTS_STRUCTURE_CORR, "10 %: DropEdge", "DD"),
            acc(68.42, 4.76)
        );
        assert_eq!(
            figure(&RESULTS_STRUCTURE_CORR, "20 %: G-Mixup", "PROTEINS"),
            acc(46.63, 5.05)
        );
        assert_eq!(
            figure(&RESULTS_STRUCTURE_CORR, "20 %: GRATIN", "IMDB-BINARY"),
            acc(73.1, 3.04)
        );
        assert_eq!(
            figure(&RESULTS_STRUCTURE_CORR, "20 %: No Aug. (ours)", "DD"),
            Figure::Absent
        );
        assert_eq!(
            figure(&CONFIG_MODELS, "Config Models w/ GIN", "MUTAG"),
            acc(81.43, 10.05)
        );
        assert_eq!(
            figure(&CONFIG_MODELS, "Config Models w/ GCN", "PROTEINS"),
            acc(70.08, 4.93)
        );
        assert_eq!(
            figure(&ABLATION_GCN, "GMM w/ EM", "MUTAG"),
            acc(76.05, 6.47)
        );
        assert_eq!(
            figure(&ABLATION_GCN, "GMM w/ VBI", "IMDB-BINARY"),
            acc(71.0, 4.21)
        );
        assert_eq!(
            figure(&ABLATION_GCN, "KDE", "IMDB-BINARY"),
            acc(55.9, 10.29)
        );
        assert_eq!(figure(&ABLATION_GCN, "GAN", "DD"), acc(66.26, 3.72));
        assert_eq!(
            figure(&ABLATION_GCN, "one Gaussian, shrunken (ours)", "DD"),
            Figure::Absent
        );
        assert_eq!(figure(&ABLATION_GIN, "GMM w/ EM", "DD"), acc(68.61, 4.62));
        assert_eq!(
            figure(&ABLATION_GIN, "Copula", "PROTEINS"),
            acc(70.16, 4.55)
        );
        assert_eq!(figure(&ABLATION_GIN, "KDE", "IMDB-MULTI"), acc(41.46, 3.02));
        assert_eq!(
            figure(&RESULTS_GCN_CLASSIC_BASELINES, "SubMix", "PROTEINS"),
            acc(59.74, 2.83)
        );
        assert_eq!(
            figure(&RESULTS_GCN_CLASSIC_BASELINES, "No Aug.", "DD"),
            acc(69.69, 2.89)
        );
        assert_eq!(
            figure(&RESULTS_GIN_CLASSIC_BASELINES, "DropEdge", "IMDB-MULTI"),
            acc(43.67, 6.58)
        );
        assert_eq!(
            figure(&RESULTS_GIN_CLASSIC_BASELINES, "DropNode", "DD"),
            acc(70.8, 3.31)
        );
        assert_eq!(
            figure(&COMPLEXITY, "augmentation, s: GRATIN", "MUTAG"),
            value(0.51, 0.01)
        );
        assert_eq!(
            figure(&COMPLEXITY, "augmentation, s: GeoMix", "IMDB-BINARY"),
            value(2344.12, 0.01)
        );
        assert_eq!(
            figure(&COMPLEXITY, "training, s: DropNode", "DD"),
            value(3325.0, 1.0)
        );
        assert_eq!(
            figure(&COMPLEXITY, "training, s: Vanilla", "IMDB-BINARY"),
            value(765.96, 0.01)
        );
        assert_eq!(figure(&DATA_STATISTICS, "features", "DD"), count(82));
        assert_eq!(
            figure(&DATA_STATISTICS, "mean edges", "PROTEINS"),
            value(72.82, 0.01)
        );
        let facts = &GRAPH_PROP;
        assert_eq!(figure(facts, "density", "Cora"), value(1.43e-3, 1e-5));
        assert_eq!(
            figure(facts, "mean number of 2-walks", "Photo"),
            value(3204.098, 1e-3)
        );
        assert_eq!(
            figure(facts, "mean PageRank", "arxiv-year"),
            value(5.90e-6, 1e-8)
        );
        assert_eq!(figure(facts, "homophily", "Texas"), value(0.111, 1e-3));
    }
}
