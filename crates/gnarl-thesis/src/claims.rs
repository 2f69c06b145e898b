//! Claims of the thesis, one sentence each, with a verdict by one rule (`gnarl report`).
//!
//! A claim is that one row of a table is above another. Let d be the mean over all datasets of the
//! difference of both rows, paired run by run on the same splits and seeds. Let s be its standard
//! error, `sqrt(Σ s_i²) / m` for m independent datasets. A dataset that a claim compares in several
//! tables counts once, by the means of its differences and of their errors: its runs share their
//! splits. Let c be the same difference in the thesis' own figures on the same datasets. Let t be
//! the threshold of the difference (0, or a loss that is still allowed):
//!
//! | verdict | condition |
//! | --- | --- |
//! | holds | `d - 2s > t` |
//! | holds, smaller | `d - 2s > t` and `d + 2s < c / 2`: clearly less than half of `c` |
//! | does not hold | `d + 2s <= t`, or neither of the above and `d + 2s < c / 2` |
//! | cannot be told | all else: the runs leave both open |
//! | not run | no dataset has both rows |
//!
//! The rule was fixed before it was applied, and judges the thesis' methods and gnarl's alike.

use serde::Serialize;

use super::recipe::Recipe;
use super::report::{CellReport, Difference, Report};

/// The origin of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimSource {
    /// A claim of the thesis.
    Thesis,
    /// A claim about gnarl's own methods.
    Ours,
}

/// A table, a row, and the row that it is claimed to be above.
pub type Comparison = (&'static str, &'static str, &'static str);

/// A claim.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Claim {
    /// The origin of the claim.
    pub whose: ClaimSource,
    /// The chapter of the claim.
    pub chapter: u8,
    /// The claim in one sentence.
    pub says: &'static str,
    /// Threshold of the difference.
    pub above: f64,
    /// Table, row, and the row it is compared with.
    pub compares: &'static [Comparison],
}

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The difference is clearly there.
    Holds,
    /// The difference is there, and clearly less than half of the thesis'.
    HoldsSmaller,
    /// The difference is clearly not there, or not as large as claimed.
    DoesNotHold,
    /// The runs leave both open.
    CannotBeTold,
    /// Nothing was run.
    NotRun,
}

impl Verdict {
    /// The verdict in words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsSmaller => "holds, smaller",
            Verdict::DoesNotHold => "does not hold",
            Verdict::CannotBeTold => "cannot be told",
            Verdict::NotRun => "not run",
        }
    }
}

/// A claim with its verdict and the numbers behind it.
#[derive(Debug, Clone, Serialize)]
pub struct VerdictReport {
    /// The claim.
    #[serde(flatten)]
    pub claim: Claim,
    /// The verdict.
    pub verdict: Verdict,
    /// Mean difference over datasets in gnarl's runs; `None` if nothing was run.
    pub mean: Option<f64>,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// The thesis' mean over the same datasets, if it has figures for them.
    pub claimed: Option<f64>,
    /// Name, difference and standard error of each dataset.
    pub datasets: Vec<(&'static str, f64, f64)>,
}

impl Claim {
    /// The verdict from the results in reports of tables, with the thesis' recipe.
    pub fn judge(&self, reports: &[Report]) -> VerdictReport {
        let mut places: Vec<(&'static str, Vec<(f64, f64)>)> = Vec::new();
        let mut claimed = Vec::new();
        for &(table, row, baseline) in self.compares {
            let Some(report) = reports
                .iter()
                .find(|report| report.table.rsplit(':').next() == Some(table))
            else {
                continue;
            };
            let of = |label: &str| {
                report
                    .rows_of(Some(Recipe::Thesis))
                    .find(|r| r.label == label)
            };
            let (Some(row), Some(baseline)) = (of(row), of(baseline)) else {
                continue;
            };
            for (c, column) in report.columns.iter().enumerate() {
                let (a, b): (&CellReport, &CellReport) = (&row.cells[c], &baseline.cells[c]);
                let Some(Difference {
                    mean,
                    standard_error: Some(error),
                    ..
                }) = a.minus_cell(b)
                else {
                    continue;
                };
                match places
                    .iter_mut()
                    .find(|(dataset, _)| dataset.eq_ignore_ascii_case(column))
                {
                    Some((_, found)) => found.push((mean, error)),
                    None => places.push((column, vec![(mean, error)])),
                }
                claimed.extend(a.thesis.minus(b.thesis).map(|difference| difference.mean));
            }
        }
        let once = |(dataset, found): (&'static str, Vec<(f64, f64)>)| {
            let count = found.len() as f64;
            let (mean, error) = found
                .iter()
                .fold((0.0, 0.0), |(mean, error), of| (mean + of.0, error + of.1));
            (dataset, mean / count, error / count)
        };
        let datasets: Vec<_> = places.into_iter().map(once).collect();
        let count = datasets.len() as f64;
        let mean = (count > 0.0).then(|| datasets.iter().map(|d| d.1).sum::<f64>() / count);
        let error =
            (count > 0.0).then(|| datasets.iter().map(|d| d.2 * d.2).sum::<f64>().sqrt() / count);
        let claimed =
            (!claimed.is_empty()).then(|| claimed.iter().sum::<f64>() / claimed.len() as f64);
        let verdict = match (mean, error) {
            (Some(mean), Some(error)) => verdict(mean, error, claimed, self.above),
            _ => Verdict::NotRun,
        };
        VerdictReport {
            claim: *self,
            verdict,
            mean,
            standard_error: error,
            claimed,
            datasets,
        }
    }
}

/// The rule in the documentation of this module.
fn verdict(mean: f64, error: f64, claimed: Option<f64>, above: f64) -> Verdict {
    let (low, high) = (mean - 2.0 * error, mean + 2.0 * error);
    let is_less = claimed.is_some_and(|claimed| claimed > 0.0 && high < claimed / 2.0);
    match (low > above, is_less) {
        (true, false) => Verdict::Holds,
        (true, true) => Verdict::HoldsSmaller,
        (false, less) if less || high <= above => Verdict::DoesNotHold,
        (false, _) => Verdict::CannotBeTold,
    }
}

const fn says(chapter: u8, says: &'static str, compares: &'static [Comparison]) -> Claim {
    Claim {
        whose: ClaimSource::Thesis,
        chapter,
        says,
        above: 0.0,
        compares,
    }
}

const fn loses_at_most(points: f64, claim: Claim) -> Claim {
    Claim {
        above: -points,
        ..claim
    }
}

const fn ours(claim: Claim) -> Claim {
    Claim {
        whose: ClaimSource::Ours,
        ..claim
    }
}

/// The claims by chapter; claims about gnarl's own methods stand at the end.
pub const CLAIMS: &[Claim] = &[
    says(
        3,
        "A learned operator by degrees (CGCN w/ D) is more accurate than the usual one of a GCN.",
        &[
            ("topological_GCN", "CGCN w/ D", "GCN w/ A_hat"),
            ("additional_CA_GCN", "CGCN w/ D", "GCN w/ A_hat"),
        ],
    ),
    says(
        3,
        "A learned operator by core numbers is more accurate than the usual one of a GCN.",
        &[
            ("topological_GCN", "CGCN w/ core", "GCN w/ A_hat"),
            ("additional_CA_GCN", "CGCN w/ core", "GCN w/ A_hat"),
        ],
    ),
    says(
        3,
        "A learned operator by numbers of walks is more accurate than the usual one of a GCN.",
        &[
            ("topological_GCN", "CGCN w/ walks", "GCN w/ A_hat"),
            ("additional_CA_GCN", "CGCN w/ walks", "GCN w/ A_hat"),
        ],
    ),
    says(
        3,
        "A learned operator by PageRank is more accurate than the usual one of a GCN.",
        &[
            ("topological_GCN", "CGCN w/ PR", "GCN w/ A_hat"),
            ("additional_CA_GCN", "CGCN w/ PR", "GCN w/ A_hat"),
        ],
    ),
    says(
        3,
        "Global centralities make better operators than degrees: core numbers against degrees.",
        &[
            ("topological_GCN", "CGCN w/ core", "CGCN w/ D"),
            ("additional_CA_GCN", "CGCN w/ core", "CGCN w/ D"),
        ],
    ),
    says(
        3,
        "A GATv2 with a learned operator by core numbers is more accurate than a GATv2.",
        &[
            ("topological_GCN", "CGATv2 w/ core", "GATv2"),
            ("additional_CA_GCN", "CGATv2 w/ core", "GATv2"),
        ],
    ),
    says(
        3,
        "SGC with a learned operator by core numbers is more accurate than SGC.",
        &[
            ("sgc_1", "CSGC w/ core", "SGC"),
            ("sgc_2", "CSGC w/ core", "SGC"),
        ],
    ),
    says(
        3,
        "H2GCN with a learned operator by core numbers is more accurate than H2GCN on heterophilic graphs.",
        &[("H2GCN", "CH2GCN w/ core", "H2GCN")],
    ),
    says(
        3,
        "Degrees and core numbers together are better than degrees alone.",
        &[
            ("comb_centralities_1", "CGCN w/ D & core", "CGCN w/ D"),
            ("comb_centralities_2", "CGCN w/ D & core", "CGCN w/ D"),
        ],
    ),
    says(
        3,
        "Communities by an operator of core numbers agree better with the blocks of drawn graphs than those of Fast Greedy.",
        &[
            ("SBM_PAM", "AMI: CGSO w/ core", "AMI: Fast Greedy"),
            ("SBM_PAM", "ARI: CGSO w/ core", "ARI: Fast Greedy"),
        ],
    ),
    says(
        3,
        "They agree better than communities by an operator of degrees.",
        &[
            ("SBM_PAM", "AMI: CGSO w/ core", "AMI: CGSO w/ D"),
            ("SBM_PAM", "ARI: CGSO w/ core", "ARI: CGSO w/ D"),
        ],
    ),
    says(
        4,
        "ADMP-GCN at its best layer is more accurate than a GCN at its best depth.",
        &[
            ("results_with_baselines", "ADMP-GCN", "GCN"),
            ("results_with_baselines_2", "ADMP-GCN", "GCN"),
        ],
    ),
    says(
        4,
        "ADMP-GCN with layers chosen by degree is more accurate than a GCN at its best depth.",
        &[
            ("results_with_baselines", "ADMP-GCN w/ degree", "GCN"),
            ("results_with_baselines_2", "ADMP-GCN w/ degree", "GCN"),
        ],
    ),
    says(
        4,
        "Choosing a layer for each node by its degree is better than one layer for all.",
        &[
            ("results_with_baselines", "ADMP-GCN w/ degree", "ADMP-GCN"),
            ("results_with_baselines_2", "ADMP-GCN w/ degree", "ADMP-GCN"),
        ],
    ),
    says(
        4,
        "Choosing by core numbers is better than one layer for all.",
        &[
            ("results_with_baselines", "ADMP-GCN w/ core", "ADMP-GCN"),
            ("results_with_baselines_2", "ADMP-GCN w/ core", "ADMP-GCN"),
        ],
    ),
    says(
        4,
        "ADMP-GIN with layers chosen by degree is more accurate than a GIN at its best depth.",
        &[
            ("results_with_baselines_GIN", "ADMP-GIN w/ degree", "GIN"),
            ("results_with_baselines_GIN_2", "ADMP-GIN w/ degree", "GIN"),
        ],
    ),
    says(
        4,
        "ADMP-GCN with layers chosen by degree is more accurate than jumping knowledge (concatenation).",
        &[
            ("results_with_baselines", "ADMP-GCN w/ degree", "JKNET-CAT"),
            (
                "results_with_baselines_2",
                "ADMP-GCN w/ degree",
                "JKNET-CAT",
            ),
        ],
    ),
    says(
        4,
        "ADMP-GCN with layers chosen by degree is more accurate than GCNII.",
        &[
            ("results_with_baselines", "ADMP-GCN w/ degree", "GCNII"),
            ("results_with_baselines_2", "ADMP-GCN w/ degree", "GCNII"),
        ],
    ),
    says(
        4,
        "Exits trained in turn (ST) are better than all at once (ALM) at depth 5.",
        &[
            (
                "multi_task_updated",
                "5: ADMP-GCN (ST)",
                "5: ADMP-GCN (ALM)",
            ),
            ("multi_task_2", "5: ADMP-GCN (ST)", "5: ADMP-GCN (ALM)"),
        ],
    ),
    says(
        4,
        "Exits trained all at once (ALM) fall far behind a plain GCN at depth 2.",
        &[
            ("multi_task_updated", "2: GCN", "2: ADMP-GCN (ALM)"),
            ("multi_task_2", "2: GCN", "2: ADMP-GCN (ALM)"),
        ],
    ),
    says(
        4,
        "A perfect choice of layers would be far above the best single layer (GCN).",
        &[
            (
                "oracle",
                "ADMP-GCN (ST), oracle",
                "ADMP-GCN (ST), best layer",
            ),
            (
                "oracle_2",
                "ADMP-GCN (ST), oracle",
                "ADMP-GCN (ST), best layer",
            ),
        ],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN under noise on features of psi 0.5.",
        &[(
            "results_node_classification",
            "psi 0.5: GCORN",
            "psi 0.5: GCN",
        )],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN under noise on features of psi 1.",
        &[(
            "results_node_classification",
            "psi 1.0: GCORN",
            "psi 1.0: GCN",
        )],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN under gradient ascent on features.",
        &[("results_node_classification", "PGD: GCORN", "PGD: GCN")],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN on the targets of Nettack.",
        &[(
            "results_node_classification",
            "Nettack: GCORN",
            "Nettack: GCN",
        )],
    ),
    says(
        5,
        "GCORN is more accurate than RGCN under noise on features of psi 0.5.",
        &[(
            "results_node_classification",
            "psi 0.5: GCORN",
            "psi 0.5: RGCN",
        )],
    ),
    says(
        5,
        "GCORN is more accurate than Parseval's regularisation under noise on features of psi 0.5.",
        &[(
            "results_node_classification",
            "psi 0.5: GCORN",
            "psi 0.5: ParsevalR",
        )],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN where Mettack has changed the training graph.",
        &[("structural_perturbations", "Mettack: GCORN", "Mettack: GCN")],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN under gradient ascent on edges.",
        &[("structural_perturbations", "PGD: GCORN", "PGD: GCN")],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN under DICE.",
        &[("structural_perturbations", "DICE: GCORN", "DICE: GCN")],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN where edges and features are attacked together.",
        &[("combined_attack", "GCORN", "GCN")],
    ),
    says(
        5,
        "GCORN is more accurate than ElasticGNN under noise on features of psi 0.5.",
        &[("elastic_even", "psi 0.5: GCORN", "psi 0.5: ElasticGNN")],
    ),
    says(
        5,
        "GCORN is more accurate than EvenNet under noise on features of psi 0.5.",
        &[("elastic_even", "psi 0.5: GCORN", "psi 0.5: EvenNet")],
    ),
    loses_at_most(
        1.0,
        says(
            5,
            "GCORN loses at most a point on clean graphs.",
            &[("results_node_classification", "clean: GCORN", "clean: GCN")],
        ),
    ),
    says(
        5,
        "GIORN is more accurate than a GIN under noise on features of psi 0.5.",
        &[("gin_feature_attacks", "psi 0.5: GIORN", "psi 0.5: GIN")],
    ),
    says(
        5,
        "GCORN is more accurate than a GCN on graphs of a set under noise on features.",
        &[(
            "results_graph_classification",
            "psi 0.5: GCORN",
            "psi 0.5: GCN",
        )],
    ),
    says(
        6,
        "RobustCRF makes a GCN more accurate under noise on features of psi 0.5.",
        &[("features_results", "psi 0.5: RobustCRF", "psi 0.5: GCN")],
    ),
    says(
        6,
        "RobustCRF makes a GCN more accurate under gradient ascent on features.",
        &[("features_results", "PGD: RobustCRF", "PGD: GCN")],
    ),
    says(
        6,
        "RobustCRF makes a GCN more accurate under DICE.",
        &[(
            "structure_results",
            "DICE, evasion: RobustCRF",
            "DICE, evasion: GCN",
        )],
    ),
    loses_at_most(
        0.5,
        says(
            6,
            "RobustCRF loses at most half a point on clean graphs.",
            &[("features_results", "clean: RobustCRF", "clean: GCN")],
        ),
    ),
    says(
        6,
        "RobustCRF makes RGCN, GCORN and NoisyGCN more accurate under noise, too.",
        &[
            (
                "combinations",
                "psi 0.5: RGCN w/ RobustCRF",
                "psi 0.5: RGCN",
            ),
            (
                "combinations",
                "psi 0.5: GCORN w/ RobustCRF",
                "psi 0.5: GCORN",
            ),
            (
                "combinations",
                "psi 0.5: NoisyGCN w/ RobustCRF",
                "psi 0.5: NoisyGCN",
            ),
        ],
    ),
    says(
        7,
        "GRATIN makes a GCN on sets of graphs more accurate.",
        &[("results_gcn", "GRATIN", "No Aug.")],
    ),
    says(
        7,
        "GRATIN makes a GIN on sets of graphs more accurate.",
        &[("results_gin", "GRATIN", "No Aug.")],
    ),
    says(
        7,
        "New vectors are what makes GRATIN better: it is more accurate than its fresh head on the original ones.",
        &[
            ("results_gcn", "GRATIN", "retrain (ours)"),
            ("results_gin", "GRATIN", "retrain (ours)"),
        ],
    ),
    says(
        7,
        "GRATIN is more accurate than G-Mixup.",
        &[
            ("results_gcn", "GRATIN", "G-Mixup"),
            ("results_gin", "GRATIN", "G-Mixup"),
        ],
    ),
    says(
        7,
        "GRATIN is more accurate than GeoMix.",
        &[
            ("results_gcn", "GRATIN", "GeoMix"),
            ("results_gin", "GRATIN", "GeoMix"),
        ],
    ),
    says(
        7,
        "GRATIN is more accurate than SubMix.",
        &[
            ("results_gcn", "GRATIN", "SubMix"),
            ("results_gin", "GRATIN", "SubMix"),
        ],
    ),
    says(
        7,
        "GRATIN is more accurate than other augmentations where a tenth of the edges is corrupted: than DropEdge.",
        &[
            ("results_structure_corr", "10 %: GRATIN", "10 %: DropEdge"),
            (
                "results_structure_corr",
                "10 %, degrees kept: GRATIN",
                "10 %, degrees kept: DropEdge",
            ),
        ],
    ),
    says(
        7,
        "Mixtures by EM are a better density than kernels.",
        &[
            ("ablation_GCN", "GMM w/ EM", "KDE"),
            ("ablation_GIN", "GMM w/ EM", "KDE"),
        ],
    ),
    says(
        7,
        "Mixtures by EM are a better density than a copula.",
        &[
            ("ablation_GCN", "GMM w/ EM", "Copula"),
            ("ablation_GIN", "GMM w/ EM", "Copula"),
        ],
    ),
    ours(says(
        4,
        "pool, on the exits of ADMP, is more accurate than their best single layer, for GCN and GIN.",
        &[
            (
                "results_with_baselines",
                "ADMP-GCN w/ pool (ours)",
                "ADMP-GCN",
            ),
            (
                "results_with_baselines_2",
                "ADMP-GCN w/ pool (ours)",
                "ADMP-GCN",
            ),
            (
                "results_with_baselines_GIN",
                "ADMP-GIN w/ pool (ours)",
                "ADMP-GIN",
            ),
            (
                "results_with_baselines_GIN_2",
                "ADMP-GIN w/ pool (ours)",
                "ADMP-GIN",
            ),
        ],
    )),
    ours(says(
        4,
        "echo, on the exits of ADMP, is more accurate than their best single layer, for GCN and GIN.",
        &[
            (
                "results_with_baselines",
                "ADMP-GCN w/ echo (ours)",
                "ADMP-GCN",
            ),
            (
                "results_with_baselines_2",
                "ADMP-GCN w/ echo (ours)",
                "ADMP-GCN",
            ),
            (
                "results_with_baselines_GIN",
                "ADMP-GIN w/ echo (ours)",
                "ADMP-GIN",
            ),
            (
                "results_with_baselines_GIN_2",
                "ADMP-GIN w/ echo (ours)",
                "ADMP-GIN",
            ),
        ],
    )),
    ours(says(
        4,
        "Several exits are what makes pool better: it is more accurate than its control, the single best layer with an offset for each class.",
        &[
            (
                "results_with_baselines",
                "ADMP-GCN w/ pool (ours)",
                "ADMP-GCN w/ offsets (ours)",
            ),
            (
                "results_with_baselines_2",
                "ADMP-GCN w/ pool (ours)",
                "ADMP-GCN w/ offsets (ours)",
            ),
            (
                "results_with_baselines_GIN",
                "ADMP-GIN w/ pool (ours)",
                "ADMP-GIN w/ offsets (ours)",
            ),
            (
                "results_with_baselines_GIN_2",
                "ADMP-GIN w/ pool (ours)",
                "ADMP-GIN w/ offsets (ours)",
            ),
        ],
    )),
    ours(says(
        4,
        "echo is more accurate than choosing layers by degree.",
        &[
            (
                "results_with_baselines",
                "ADMP-GCN w/ echo (ours)",
                "ADMP-GCN w/ degree",
            ),
            (
                "results_with_baselines_2",
                "ADMP-GCN w/ echo (ours)",
                "ADMP-GCN w/ degree",
            ),
            (
                "results_with_baselines_GIN",
                "ADMP-GIN w/ echo (ours)",
                "ADMP-GIN w/ degree",
            ),
            (
                "results_with_baselines_GIN_2",
                "ADMP-GIN w/ echo (ours)",
                "ADMP-GIN w/ degree",
            ),
        ],
    )),
    ours(says(
        6,
        "clean-crf makes a GCN more accurate under noise on features of psi 0.5.",
        &[(
            "features_results",
            "psi 0.5: clean-crf (ours)",
            "psi 0.5: GCN",
        )],
    )),
    ours(says(
        6,
        "clean-crf makes a GCN more accurate under DICE.",
        &[(
            "structure_results",
            "DICE, evasion: GCN w/ clean-crf (ours)",
            "DICE, evasion: GCN",
        )],
    )),
    ours(loses_at_most(
        0.5,
        says(
            6,
            "clean-crf loses at most half a point on clean graphs.",
            &[("features_results", "clean: clean-crf (ours)", "clean: GCN")],
        ),
    )),
    ours(says(
        7,
        "One Gaussian with a shared covariance is a better density than the thesis' mixtures.",
        &[
            (
                "ablation_GCN",
                "one Gaussian, shared covariance (ours)",
                "GMM w/ EM",
            ),
            (
                "ablation_GIN",
                "one Gaussian, shared covariance (ours)",
                "GMM w/ EM",
            ),
        ],
    )),
    ours(says(
        7,
        "With one class of few graphs, vectors drawn until classes are level make a fresh head more accurate.",
        &[
            ("rare_class", "GCN, drawn", "GCN, retrain"),
            ("rare_class", "GIN, drawn", "GIN, retrain"),
        ],
    )),
    ours(says(
        7,
        "Drawing is what does it: drawn vectors are better than as many that are repeated.",
        &[
            ("rare_class", "GCN, drawn", "GCN, repeated"),
            ("rare_class", "GIN, drawn", "GIN, repeated"),
        ],
    )),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::NUMERICS;
    use crate::kept::{KeptCell, ResultStore, StoredResults};
    use crate::tables;

    #[test]
    fn every_claim_is_about_rows_that_are_there() {
        assert!(CLAIMS.len() >= 30);
        for claim in CLAIMS {
            assert!(
                claim.says.ends_with('.') && !claim.compares.is_empty(),
                "{}",
                claim.says
            );
            for (table, row, baseline) in claim.compares {
                let table = tables::find(table).unwrap();
                assert_eq!(table.chapter(), Some(claim.chapter), "{}", claim.says);
                for label in [row, baseline] {
                    assert!(
                        table.rows.iter().any(|r| r.label == *label),
                        "{}: {label}",
                        table.name
                    );
                }
            }
        }
    }

    /// Three rows on one dataset share its splits: they count as one dataset, not three.
    #[test]
    fn a_dataset_counts_once() {
        let claim = CLAIMS
            .iter()
            .find(|claim| claim.compares.len() == 3 && claim.chapter == 6)
            .unwrap();
        let table = tables::find("combinations").unwrap();
        let cell = |row: &str, runs: [f64; 2]| KeptCell {
            row: row.into(),
            column: "Cora".into(),
            recipe: Some("thesis".into()),
            runs: runs.to_vec(),
            parts: Vec::new(),
            splits: Some("0a1b2c3d".into()),
            seconds: 1.0,
        };
        // Differences run by run: 0 and 2, 1 and 3, 2 and 4.
        let with = |i: usize| {
            let (_, row, baseline) = claim.compares[i];
            [
                cell(baseline, [70.0, 70.0]),
                cell(row, [70.0 + i as f64, 72.0 + i as f64]),
            ]
        };
        let cells = (0..3).flat_map(with).collect();
        let dir = tempfile::tempdir().unwrap();
        StoredResults {
            table: table.name.clone(),
            numerics: NUMERICS,
            runs: 2,
            seed: 0,
            cells,
        }
        .write(table, dir.path())
        .unwrap();
        let report = ResultStore::read(dir.path())
            .unwrap()
            .report(table)
            .unwrap();
        let judged = claim.judge(&[report]);
        // Each has a standard error of sqrt(2) / sqrt(2) = 1.
        assert_eq!(judged.datasets, [("Cora", 2.0, 1.0)]);
        assert_eq!(
            (judged.mean, judged.standard_error, judged.verdict),
            (Some(2.0), Some(1.0), Verdict::CannotBeTold)
        );
    }

    #[test]
    fn verdicts_follow_the_rule() {
        let of = |mean, error, claimed| verdict(mean, error, claimed, 0.0);
        assert_eq!(of(1.0, 0.2, None), Verdict::Holds);
        assert_eq!(of(1.0, 0.2, Some(2.0)), Verdict::Holds);
        assert_eq!(of(1.0, 0.2, Some(8.0)), Verdict::HoldsSmaller);
        assert_eq!(of(0.1, 0.2, Some(8.0)), Verdict::DoesNotHold);
        assert_eq!(of(0.1, 0.2, None), Verdict::CannotBeTold);
        assert_eq!(of(-1.0, 0.2, Some(0.1)), Verdict::DoesNotHold);
        assert_eq!(
            of(0.1, 0.2, Some(-3.0)),
            Verdict::CannotBeTold,
            "a loss in the thesis asks for no half of it"
        );
        assert_eq!(
            verdict(-0.4, 0.1, None, -1.0),
            Verdict::Holds,
            "a loss that is allowed"
        );
        assert_eq!(
            of(0.0, 0.0, None),
            Verdict::DoesNotHold,
            "the same answers are no gain"
        );
    }
}
