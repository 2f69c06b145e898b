//! The report of `gnarl spectrum` on one graph and one centrality.

use rayon::prelude::*;
use serde::Serialize;

use super::cheeger::{Boundary, Cut, EXACT_CHEEGER_NODES, cheeger_exact, cheeger_upper_bound};
use super::eigen::symmetric_eigenvalues;
use super::lanczos::{EigenSettings, Which, sparse_eigenpairs};
use super::markov::{
    EigenvalueBound, Gap, Moments, eigenvalue_bound, fiedler, markov_symmetric, moments,
    published_gap, refuse_negative_weights,
};
use crate::centrality::{Centrality, degrees};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::CsrMatrix;
use crate::operator::{ClassicalOperator as Op, powers};
use crate::properties::components;

/// Settings of the report: the parts of each spectrum to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportSettings {
    /// Largest component, in nodes, for which all eigenvalues are computed.
    pub full_up_to: usize,
    /// Number of eigenvalues at either end for larger ones.
    pub extremes: usize,
    /// Stopping criteria for these.
    pub eigen: EigenSettings,
}

impl Default for ReportSettings {
    /// Defaults: all eigenvalues up to 2,000 nodes (up to 20 seconds of one core), six at either
    /// end beyond.
    fn default() -> Self {
        Self {
            full_up_to: 2_000,
            extremes: 6,
            eigen: EigenSettings::default(),
        }
    }
}

/// The spectra, constants and inequalities of one graph and one centrality.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpectrumReport {
    /// Number of nodes.
    pub num_nodes: usize,
    /// Number of undirected edges.
    pub num_edges: usize,
    /// Name of the centrality.
    pub centrality: String,
    /// Spectra of the seven classical operators.
    pub operators: Vec<OperatorSpectrum>,
    /// Spectrum of `M = V⁻¹ A`.
    pub markov: OperatorSpectrum,
    /// Moments of the spectrum of `M` from traces; `None` for a graph without nodes.
    pub moments: Option<Moments>,
    /// Mean of the computed eigenvalues of `M`, if all are known.
    pub mean_of_eigenvalues: Option<f64>,
    /// Standard deviation of the computed eigenvalues of `M`, if all are known.
    pub standard_deviation_of_eigenvalues: Option<f64>,
    /// Bound on the eigenvalues of `M`.
    pub bound: EigenvalueBound,
    /// Spectral gaps.
    pub gap: Gap,
    /// Smallest non-zero eigenvalue of `L_rw`; `None` for a graph without edges.
    pub random_walk_gap: Option<f64>,
    /// Cheeger constants; empty for fewer than two nodes, for which they are infinite by
    /// convention.
    pub cheeger: Vec<CheegerReport>,
    /// Inequalities between all these.
    pub inequalities: Vec<Inequality>,
    /// Parts that could not be computed, with the reason.
    pub notes: Vec<String>,
}

/// The eigenvalues of one operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorSpectrum {
    /// Name of the operator.
    pub operator: String,
    /// Smallest eigenvalues, ascending.
    pub smallest: Vec<f64>,
    /// Largest eigenvalues, descending.
    pub largest: Vec<f64>,
    /// All eigenvalues, ascending, if they were requested.
    pub all: Option<Vec<f64>>,
}

/// A Cheeger constant or an upper bound of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheegerReport {
    /// Name: `h_v` (edges over centrality), `h_v_vertices` (the published definition) or `h_C`
    /// (edges over nodes).
    pub name: &'static str,
    /// The constant if `exact`, otherwise an upper bound by sweep cuts.
    pub value: f64,
    /// True if the value is the constant itself.
    pub exact: bool,
    /// Number of nodes in the set that attains it.
    pub set_size: usize,
    /// Boundary of the set.
    pub boundary: f64,
    /// Volume of the set.
    pub volume: f64,
}

/// Source of an inequality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Corrected form, which holds for every graph with non-negative weights.
    Corrected,
    /// Form as published.
    Published,
}

/// `lhs <= rhs`, evaluated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inequality {
    /// Inequality in words and symbols.
    pub name: &'static str,
    /// Value on the left.
    pub lhs: f64,
    /// Value on the right.
    pub rhs: f64,
    /// Slack, `rhs - lhs`.
    pub slack: f64,
    /// True if the slack is non-negative, up to rounding.
    pub holds: bool,
    /// True if the graph meets the inequality's conditions.
    pub applies: bool,
    /// True if both sides are exact. Otherwise an upper bound replaces a Cheeger constant, and the
    /// note interprets the outcome.
    pub exact: bool,
    /// Source of the inequality.
    pub source: Source,
    /// Conditions and remarks; empty without any.
    pub note: String,
}

/// Computes the report for a graph with non-negative weights.
///
/// Similar operators share one eigenproblem, so that at most six are solved, in parallel. A part
/// that does not converge is left out and listed in the notes.
///
/// ```
/// use gnarl_graph::{centrality::Centrality, spectrum::{report, ReportSettings}, Graph};
/// let k3 = Graph::from_edges(3, [(0, 1), (0, 2), (1, 2)])?.0;
/// let r = report(&k3, Centrality::DEGREE, &ReportSettings::default())?;
/// assert!((r.gap.laplacian.unwrap() - 1.5).abs() < 1e-14);
/// assert!(r.inequalities.iter().all(|i| i.holds));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn report(
    graph: &Graph,
    centrality: Centrality,
    settings: &ReportSettings,
) -> Result<SpectrumReport> {
    report_watched(graph, centrality, settings, &|| ())
}

/// Returns the number of progress callbacks of [`report_watched`].
pub fn num_parts(centrality: Centrality) -> u64 {
    // Both ends of each eigenproblem, then gaps and cuts.
    2 * if centrality == Centrality::DEGREE {
        5
    } else {
        6
    } + PARTS_OF_CUTS
}

/// Number of parts: two gaps, three cuts and the published gap.
const PARTS_OF_CUTS: u64 = 6;

/// Computes the report with a progress callback after every part: on a graph of 50,000 nodes the
/// parts take minutes together.
pub fn report_watched(
    graph: &Graph,
    centrality: Centrality,
    settings: &ReportSettings,
    on_part: &(dyn Fn() + Sync),
) -> Result<SpectrumReport> {
    refuse_negative_weights(graph)?;
    let v = powers(graph, &centrality.values(graph)?, 1.0)?;
    let mut notes = Vec::new();
    let (operators, markov) = spectra(graph, centrality, &v, (settings, on_part), &mut notes)?;
    let parts = Parts::find(graph, &v, (settings, on_part), &mut notes)?;
    let bound = eigenvalue_bound(graph, &v)?;
    let inequalities = inequalities(graph, &v, &markov, &operators, &bound, &parts);
    let of_eigenvalues = markov
        .all
        .as_deref()
        .filter(|all| !all.is_empty())
        .map(mean_and_deviation);
    Ok(SpectrumReport {
        num_nodes: graph.num_nodes(),
        num_edges: graph.num_edges(),
        centrality: centrality.to_string(),
        operators,
        markov,
        moments: moments(graph, &v)?,
        mean_of_eigenvalues: of_eigenvalues.map(|(mean, _)| mean),
        standard_deviation_of_eigenvalues: of_eigenvalues.map(|(_, deviation)| deviation),
        bound,
        gap: parts.gap,
        random_walk_gap: parts.random_walk_gap,
        cheeger: parts.cheeger(),
        inequalities,
        notes,
    })
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (
        mean,
        (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt(),
    )
}

/// Settings, and the progress callback.
type Watched<'a> = (&'a ReportSettings, &'a (dyn Fn() + Sync));

/// Computes the spectra of the seven classical operators and of `M`.
fn spectra(
    graph: &Graph,
    centrality: Centrality,
    v: &[f64],
    (settings, on_part): Watched<'_>,
    notes: &mut Vec<String>,
) -> Result<(Vec<OperatorSpectrum>, OperatorSpectrum)> {
    // On nodes with edges L_rw and L_sym are I - H and H is similar to D^-1/2 A D^-1/2; the others
    // have zero rows in all four.
    let degree = degrees(graph);
    let (joined, alone): (Vec<u32>, Vec<u32>) =
        (0..graph.num_nodes() as u32).partition(|&u| degree[u as usize] > 0.0);
    let core = graph.subgraph(&joined)?;
    let mut problems = vec![
        ("A", Op::ADJACENCY.matrix(graph)?),
        ("L", Op::LAPLACIAN.matrix(graph)?),
        ("Q", Op::SIGNLESS_LAPLACIAN.matrix(graph)?),
        ("A_hat", Op::NORMALISED_ADJACENCY.matrix(graph)?),
        ("H", markov_symmetric(&core, &degrees(&core))?),
    ];
    if centrality != Centrality::DEGREE {
        problems.push(("M", markov_symmetric(graph, v)?));
    }
    let full = components(graph)
        .sizes()
        .iter()
        .all(|&size| size <= settings.full_up_to);
    let solved: Vec<Result<Ends>> = problems
        .par_iter()
        .map(|(_, matrix)| Ends::find(matrix, full, (settings, on_part)))
        .collect();
    let mut ends = Vec::with_capacity(solved.len());
    for ((name, _), found) in problems.iter().zip(solved) {
        ends.push(
            unless_unfinished(&format!("spectrum of {name}"), found, notes)?.unwrap_or_default(),
        );
    }
    let mean = ends[4].clone().with_zeros(alone.len(), settings.extremes);
    let laplacian = ends[4]
        .clone()
        .one_minus()
        .with_zeros(alone.len(), settings.extremes);
    let markov = ends.get(5).unwrap_or(&mean).clone().named("M");
    let operators = Op::ALL.map(|op| {
        match op {
            Op::ADJACENCY => &ends[0],
            Op::LAPLACIAN => &ends[1],
            Op::SIGNLESS_LAPLACIAN => &ends[2],
            Op::NORMALISED_ADJACENCY => &ends[3],
            Op::RANDOM_WALK_LAPLACIAN | Op::SYMMETRIC_LAPLACIAN => &laplacian,
            Op::MEAN_AGGREGATION => &mean,
        }
        .clone()
        .named(&op.to_string())
    });
    Ok((operators.into(), markov))
}

/// Returns `None` and a note if an iteration did not converge.
fn unless_unfinished<T>(
    what: &str,
    found: Result<T>,
    notes: &mut Vec<String>,
) -> Result<Option<T>> {
    match found {
        Err(e @ Error::NotConverged { .. }) => {
            notes.push(format!("{what} left out: {e}"));
            Ok(None)
        }
        found => found.map(Some),
    }
}

/// Both ends of a spectrum, and the whole if it is known.
#[derive(Debug, Clone, Default)]
struct Ends {
    smallest: Vec<f64>,
    largest: Vec<f64>,
    all: Option<Vec<f64>>,
}

impl Ends {
    fn find(matrix: &CsrMatrix<f64>, full: bool, (settings, on_part): Watched<'_>) -> Result<Self> {
        let k = settings.extremes.min(matrix.num_rows());
        if full {
            let all = symmetric_eigenvalues(matrix)?;
            (0..2).for_each(|_| on_part());
            return Ok(Self::of_all(all, k));
        }
        let end = |which| {
            let found = sparse_eigenpairs(matrix, k, which, &settings.eigen);
            on_part();
            Ok(found?.values)
        };
        Ok(Self {
            smallest: end(Which::Smallest)?,
            largest: end(Which::Largest)?,
            all: None,
        })
    }

    /// Makes the ends from all eigenvalues, ascending.
    fn of_all(all: Vec<f64>, k: usize) -> Self {
        Self {
            smallest: all.iter().take(k).copied().collect(),
            largest: all.iter().rev().take(k).copied().collect(),
            all: Some(all),
        }
    }

    /// Returns the spectrum of `I` minus the operator.
    fn one_minus(self) -> Self {
        let flip = |values: Vec<f64>| values.into_iter().map(|x| 1.0 - x).collect();
        let all = self
            .all
            .map(|all| all.into_iter().rev().map(|x| 1.0 - x).collect());
        Self {
            smallest: flip(self.largest),
            largest: flip(self.smallest),
            all,
        }
    }

    /// Adds `count` zeros to the spectrum, cut to `k` at either end.
    fn with_zeros(mut self, count: usize, k: usize) -> Self {
        if let Some(mut all) = self.all {
            all.extend(std::iter::repeat_n(0.0, count));
            all.sort_by(f64::total_cmp);
            return Self::of_all(all, k);
        }
        for (values, sign) in [(&mut self.smallest, 1.0), (&mut self.largest, -1.0)] {
            values.extend(std::iter::repeat_n(0.0, count));
            values.sort_by(|a, b| (sign * a).total_cmp(&(sign * b)));
            values.truncate(k);
        }
        self
    }

    fn named(self, operator: &str) -> OperatorSpectrum {
        let Self {
            smallest,
            largest,
            all,
        } = self;
        OperatorSpectrum {
            operator: operator.to_string(),
            smallest,
            largest,
            all,
        }
    }
}

/// Gaps and cuts.
struct Parts {
    gap: Gap,
    random_walk_gap: Option<f64>,
    by_edges: Option<Cut>,
    by_vertices: Option<Cut>,
    by_count: Option<Cut>,
}

impl Parts {
    fn find(
        graph: &Graph,
        v: &[f64],
        (settings, on_part): Watched<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let eigen = &settings.eigen;
        let n = graph.num_nodes();
        let degree = degrees(graph);
        let num_components = components(graph).count();
        let connected = num_components == 1 && n > 1;
        // Sweep cuts follow the eigenvectors of λ₁(L_v) and λ₁(L_rw); without them, any order gives
        // an upper bound.
        let second = |what, v: &[f64], notes: &mut Vec<String>| {
            let found = connected.then(|| fiedler(graph, v, eigen));
            on_part();
            found.map_or(Ok(None), |found| unless_unfinished(what, found, notes))
        };
        let laplacian = second("gap of L_v", v, notes)?;
        let random_walk = second("gap of L_rw", &degree, notes)?;
        let cut = |v: &[f64], boundary, eigenvector: &Option<(f64, Vec<f64>)>| {
            on_part();
            if n <= EXACT_CHEEGER_NODES {
                return cheeger_exact(graph, v, boundary);
            }
            let any = vec![0.0; n];
            cheeger_upper_bound(
                graph,
                v,
                boundary,
                eigenvector.as_ref().map_or(&any, |e| &e.1),
            )
        };
        let by_edges = cut(v, Boundary::Edges, &laplacian)?;
        let by_vertices = cut(v, Boundary::Vertices, &laplacian)?;
        let by_count = cut(&vec![1.0; n], Boundary::Edges, &random_walk)?;

        let published =
            unless_unfinished("gap of I - M", published_gap(graph, v, eigen), notes)?.flatten();
        on_part();
        let random_walk_gap = if connected {
            random_walk.map(|r| r.0)
        } else {
            // On the nodes with edges alone: the others have zero rows in L_rw, which are not rows
            // of I - H.
            let joined: Vec<u32> = (0..n as u32)
                .filter(|&u| degree[u as usize] > 0.0)
                .collect();
            let core = graph.subgraph(&joined)?;
            unless_unfinished(
                "gap of L_rw",
                published_gap(&core, &degrees(&core), eigen),
                notes,
            )?
            .flatten()
        };
        let laplacian = if num_components > 1 {
            Some(0.0)
        } else {
            laplacian.map(|l| l.0)
        };
        Ok(Self {
            gap: Gap {
                num_components,
                laplacian,
                published,
            },
            random_walk_gap,
            by_edges,
            by_vertices,
            by_count,
        })
    }

    fn cheeger(&self) -> Vec<CheegerReport> {
        let named = [
            ("h_v", &self.by_edges),
            ("h_v_vertices", &self.by_vertices),
            ("h_C", &self.by_count),
        ];
        let row = |name, cut: &Cut| CheegerReport {
            name,
            value: cut.constant,
            exact: cut.exact,
            set_size: cut.nodes.len(),
            boundary: cut.boundary,
            volume: cut.volume,
        };
        named
            .into_iter()
            .filter_map(|(name, cut)| cut.as_ref().map(|cut| row(name, cut)))
            .collect()
    }
}

impl Inequality {
    fn new(name: &'static str, source: Source, lhs: f64, rhs: f64) -> Self {
        let slack = rhs - lhs;
        let holds = slack >= -1e-9 * lhs.abs().max(rhs.abs()).max(1.0);
        Self {
            name,
            lhs,
            rhs,
            slack,
            holds,
            applies: true,
            exact: true,
            source,
            note: String::new(),
        }
    }

    fn applying(mut self, applies: bool, conditions: &str) -> Self {
        if !applies {
            self.applies = false;
            self.say(conditions);
        }
        self
    }

    /// Puts a Cheeger constant on the right.
    fn below(mut self, cut: &Cut) -> Self {
        if !cut.exact {
            self.exact = false;
            self.say("an upper bound stands for the Cheeger constant: failing would be conclusive, holding is not");
        }
        self
    }

    /// Puts a Cheeger constant on the left.
    fn above(mut self, cut: &Cut) -> Self {
        if !cut.exact {
            self.exact = false;
            self.say("an upper bound stands for the Cheeger constant: holding is conclusive, failing would not be");
        }
        self
    }

    fn say(&mut self, words: &str) {
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(words);
    }
}

/// Evaluates the inequalities, corrected and as published, for which both sides are known.
fn inequalities(
    graph: &Graph,
    v: &[f64],
    markov: &OperatorSpectrum,
    operators: &[OperatorSpectrum],
    bound: &EigenvalueBound,
    parts: &Parts,
) -> Vec<Inequality> {
    use Source::{Corrected, Published};
    const CONNECTED: &str = "stated for connected graphs with at least one edge";
    let connected = parts.gap.num_components == 1 && graph.num_edges() > 0;
    let mut list = Vec::new();

    let ends = markov.smallest.first().zip(markov.largest.first());
    if let Some(largest) = ends.map(|(a, b)| a.abs().max(b.abs())) {
        list.push(Inequality::new(
            "max |lambda(M)| <= max deg/v",
            Corrected,
            largest,
            bound.value,
        ));
        if let Some(gamma) = bound.published {
            list.push(Inequality::new(
                "max |lambda(M)| <= min v/deg",
                Published,
                largest,
                gamma,
            ));
        }
    }
    if let (Some(gap), Some(cut)) = (parts.gap.laplacian, &parts.by_edges) {
        list.push(
            Inequality::new("lambda_1(L_v) <= 2 h_v", Corrected, gap, 2.0 * cut.constant)
                .below(cut),
        );
        let root = (2.0 * bound.value * gap).sqrt();
        let name = "h_v <= sqrt(2 max(deg/v) lambda_1(L_v))";
        list.push(Inequality::new(name, Corrected, cut.constant, root).above(cut));
    }
    if let (Some(gap), Some(cut)) = (parts.gap.published, &parts.by_vertices) {
        let (least, most) = v.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &x| {
            (lo.min(x), hi.max(x))
        });
        let rhs = 2.0 * v.len() as f64 * most * most / least * cut.constant;
        let mut row = Inequality::new(
            "lambda_1(I - M) <= 2 n max(v)^2 / min(v) h_v",
            Published,
            gap,
            rhs,
        )
        .applying(connected, CONNECTED)
        .below(cut);
        row.say("h_v with the vertex boundary, as in the published definition");
        list.push(row);
    }
    if let (Some(gap), Some(cut)) = (parts.random_walk_gap, &parts.by_count) {
        let degree = degrees(graph);
        let (least, most) = degree.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &d| {
            (lo.min(d), hi.max(d))
        });
        if least > 0.0 {
            let name = "lambda_1(L_rw) <= 2 max(deg) / min(deg)^2 h_C";
            let rhs = 2.0 * most / (least * least) * cut.constant;
            list.push(
                Inequality::new(name, Published, gap, rhs)
                    .applying(connected, CONNECTED)
                    .below(cut),
            );
        }
        let row = Inequality::new(
            "h_C <= max(deg) sqrt(2 lambda_1(L_rw))",
            Published,
            cut.constant,
            most * (2.0 * gap).sqrt(),
        );
        list.push(row.applying(connected, CONNECTED).above(cut));
        if let Some(radius) = equidistribution_radius(&operators[6]).filter(|_| connected) {
            list.push(Inequality::new(
                "1 - rho(H) <= lambda_1(L_rw)",
                Published,
                1.0 - radius,
                gap,
            ));
        }
    }
    list
}

/// Returns the largest absolute value of an eigenvalue of `H` other than ±1. In a connected graph
/// both are simple, so that two eigenvalues at either end are enough; `None` if fewer are known or
/// all are ±1.
fn equidistribution_radius(mean: &OperatorSpectrum) -> Option<f64> {
    if mean.all.is_none() && mean.smallest.len().min(mean.largest.len()) < 2 {
        return None;
    }
    let known = mean
        .all
        .iter()
        .flatten()
        .chain(&mean.smallest)
        .chain(&mean.largest);
    known
        .map(|x| x.abs())
        .filter(|x| 1.0 - x > 1e-9)
        .max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    fn full(graph: &Graph, centrality: Centrality) -> SpectrumReport {
        report(graph, centrality, &ReportSettings::default()).unwrap()
    }

    fn row<'a>(report: &'a SpectrumReport, name: &str) -> &'a Inequality {
        report
            .inequalities
            .iter()
            .find(|i| i.name == name)
            .unwrap_or_else(|| panic!("no {name}"))
    }

    /// Any graph: connected or not, small or too large for every eigenvalue.
    #[test]
    fn progress_is_reported_for_every_part() {
        use std::sync::atomic::{AtomicU64, Ordering};
        let connected = crate::generate::barabasi_albert(60, 3, 1).unwrap();
        let parts = crate::generate::erdos_renyi(60, 0.02, 1).unwrap();
        for (graph, full_up_to) in [(&connected, 100), (&connected, 10), (&parts, 100)] {
            for centrality in [Centrality::DEGREE, Centrality::CORE] {
                let told = AtomicU64::new(0);
                let settings = ReportSettings {
                    full_up_to,
                    ..ReportSettings::default()
                };
                let on_part = || _ = told.fetch_add(1, Ordering::Relaxed);
                let watched = report_watched(graph, centrality, &settings, &on_part).unwrap();
                assert_eq!(
                    told.into_inner(),
                    num_parts(centrality),
                    "{centrality} up to {full_up_to}"
                );
                assert_eq!(
                    watched.notes,
                    report(graph, centrality, &settings).unwrap().notes
                );
            }
        }
    }

    #[test]
    fn a_triangle_by_hand() {
        let r = full(&complete(3), Centrality::DEGREE);
        let all = |i: usize| r.operators[i].all.clone().unwrap();
        assert_eq!(
            r.operators
                .iter()
                .map(|o| o.operator.as_str())
                .collect::<Vec<_>>(),
            Op::ALL.map(|o| o.to_string())
        );
        assert_close(&all(0), &[-1.0, -1.0, 2.0], 1e-14);
        assert_close(&all(1), &[0.0, 3.0, 3.0], 1e-14);
        assert_close(&all(2), &[1.0, 1.0, 4.0], 1e-14);
        assert_close(&all(3), &[0.0, 1.5, 1.5], 1e-14);
        assert_close(&all(4), &[0.0, 1.5, 1.5], 1e-14);
        assert_close(&all(5), &[0.0, 0.0, 1.0], 1e-14);
        assert_close(&all(6), &[-0.5, -0.5, 1.0], 1e-14);
        assert_close(&r.markov.largest, &[1.0, -0.5, -0.5], 1e-14);
        // One node against two: two edges over a volume of two, or over one node.
        let constants: Vec<_> = r
            .cheeger
            .iter()
            .map(|c| (c.name, c.value, c.exact))
            .collect();
        assert_eq!(
            constants,
            [
                ("h_v", 1.0, true),
                ("h_v_vertices", 1.0, true),
                ("h_C", 2.0, true)
            ]
        );
        let slack = |name: &str| row(&r, name).slack;
        assert!((slack("lambda_1(L_v) <= 2 h_v") - 0.5).abs() < 1e-14);
        assert!((slack("lambda_1(L_rw) <= 2 max(deg) / min(deg)^2 h_C") - 0.5).abs() < 1e-14);
        assert!(
            (slack("h_C <= max(deg) sqrt(2 lambda_1(L_rw))") - (2.0 * 3f64.sqrt() - 2.0)).abs()
                < 1e-13
        );
        assert!((slack("1 - rho(H) <= lambda_1(L_rw)") - 1.0).abs() < 1e-13);
        assert!((slack("lambda_1(I - M) <= 2 n max(v)^2 / min(v) h_v") - 10.5).abs() < 1e-13);
        assert!(
            r.inequalities
                .iter()
                .all(|i| i.holds && i.exact && i.applies)
        );
        assert_eq!(r.inequalities.len(), 8);
        assert!(r.notes.is_empty());
    }

    #[test]
    fn the_corrected_inequalities_hold_where_the_published_fails() {
        // Core numbers far below the degree of the middle: M has eigenvalues up to 3, the published
        // bound is 1/9.
        let r = full(&star(10), Centrality::CORE);
        let wrong = row(&r, "max |lambda(M)| <= min v/deg");
        assert!(!wrong.holds && wrong.source == Source::Published);
        assert!((wrong.lhs - 3.0).abs() < 1e-13 && (wrong.rhs - 1.0 / 9.0).abs() < 1e-13);
        for seed in 0..12 {
            for centrality in Centrality::ALL {
                let small = full(&random(12, 20, seed), centrality);
                let large = full(&random(60, 150, seed), centrality);
                for r in [&small, &large] {
                    for i in r
                        .inequalities
                        .iter()
                        .filter(|i| i.source == Source::Corrected && i.exact)
                    {
                        assert!(i.holds, "{centrality} {seed}: {i:?}");
                    }
                    // Both computations of the moments agree.
                    let moments = r.moments.unwrap();
                    assert!((r.mean_of_eigenvalues.unwrap() - moments.mean).abs() < 1e-12);
                    assert!(
                        (r.standard_deviation_of_eigenvalues.unwrap() - moments.standard_deviation)
                            .abs()
                            < 1e-12
                    );
                }
            }
        }
    }

    #[test]
    fn extremes_agree_with_the_whole() {
        // 500 nodes with isolated ones and small components.
        let g = random(500, 800, 9);
        assert!(components(&g).count() > 5);
        for centrality in Centrality::ALL {
            let whole = full(&g, centrality);
            let ends = report(
                &g,
                centrality,
                &ReportSettings {
                    full_up_to: 100,
                    ..ReportSettings::default()
                },
            )
            .unwrap();
            assert!(ends.notes.is_empty());
            for (w, e) in whole
                .operators
                .iter()
                .chain([&whole.markov])
                .zip(ends.operators.iter().chain([&ends.markov]))
            {
                assert!(w.all.is_some() && e.all.is_none());
                assert_eq!((w.smallest.len(), w.largest.len()), (6, 6));
                assert_close(&e.smallest, &w.smallest, 1e-9);
                assert_close(&e.largest, &w.largest, 1e-9);
            }
        }
    }

    #[test]
    fn l_rw_and_h_of_isolated_nodes_have_zero_rows() {
        let g = Graph::from_edges(4, [(0, 1)]).unwrap().0;
        let r = full(&g, Centrality::DEGREE);
        assert_close(
            r.operators[3].all.as_ref().unwrap(),
            &[0.0, 0.0, 0.0, 2.0],
            1e-15,
        );
        assert_close(
            r.operators[6].all.as_ref().unwrap(),
            &[-1.0, 0.0, 0.0, 1.0],
            1e-15,
        );
        assert_close(
            r.operators[5].all.as_ref().unwrap(),
            &[0.0, 1.0, 1.0, 1.0],
            1e-15,
        );
        assert_eq!(r.random_walk_gap.map(|x| (x * 1e9).round()), Some(2e9));
        assert_eq!((r.gap.num_components, r.gap.laplacian), (3, Some(0.0)));
        assert!(r.cheeger.iter().all(|c| c.value == 0.0 && c.exact));
        let buser = row(&r, "h_C <= max(deg) sqrt(2 lambda_1(L_rw))");
        assert!(
            !buser.applies && buser.note == "stated for connected graphs with at least one edge"
        );
    }

    #[test]
    fn graphs_with_little_in_them() {
        let none = full(&Graph::empty(0).unwrap(), Centrality::DEGREE);
        assert_eq!(
            (
                none.moments,
                none.gap.num_components,
                none.gap.laplacian,
                none.gap.published
            ),
            (None, 0, None, None)
        );
        assert!(
            none.cheeger.is_empty()
                && none.inequalities.is_empty()
                && none.mean_of_eigenvalues.is_none()
        );
        let one = full(&Graph::empty(1).unwrap(), Centrality::CORE);
        assert_eq!(
            (
                one.gap.laplacian,
                one.random_walk_gap,
                one.bound.value,
                one.bound.published
            ),
            (None, None, 0.0, None)
        );
        assert_eq!(one.markov.all, Some(vec![0.0]));
        assert!(one.cheeger.is_empty());
        let e = report(
            &Graph::empty(1).unwrap(),
            Centrality::PAGERANK,
            &ReportSettings::default(),
        )
        .unwrap_err();
        assert!(e.to_string().contains("1 / (1 - PR) is infinite"), "{e}");
        for centrality in Centrality::ALL {
            let edgeless = full(&Graph::empty(30).unwrap(), centrality);
            assert_eq!(
                (edgeless.gap.laplacian, edgeless.random_walk_gap),
                (Some(0.0), None)
            );
            assert!(
                edgeless.operators[..5]
                    .iter()
                    .all(|o| o.all == Some(vec![0.0; 30]))
            );
            assert_eq!(edgeless.operators[5].all, Some(vec![1.0; 30]));
            assert!(edgeless.inequalities.iter().all(|i| i.holds || !i.applies));
        }
        let negative = Graph::from_weighted_edges(2, [(0, 1, -1.0)]).unwrap().0;
        assert!(report(&negative, Centrality::DEGREE, &ReportSettings::default()).is_err());
    }

    #[test]
    fn an_upper_bound_is_called_one() {
        let r = full(&cycle(30), Centrality::DEGREE);
        assert!(r.cheeger.iter().all(|c| !c.exact));
        let cheeger = row(&r, "lambda_1(L_v) <= 2 h_v");
        assert!(!cheeger.exact && cheeger.note.contains("holding is not"));
        let buser = row(&r, "h_C <= max(deg) sqrt(2 lambda_1(L_rw))");
        assert!(!buser.exact && buser.note.contains("holding is conclusive"));
        // The sweep does find the exact constant here: half of the cycle, two edges.
        assert!((r.cheeger[2].value - 2.0 / 15.0).abs() < 1e-14);
    }

    #[test]
    fn missing_convergence_is_reported() {
        let eigen = EigenSettings {
            max_products: 50,
            tolerance: 1e-13,
        };
        let r = report(
            &path(2000),
            Centrality::CORE,
            &ReportSettings {
                full_up_to: 0,
                extremes: 2,
                eigen,
            },
        )
        .unwrap();
        assert!(
            r.notes
                .iter()
                .any(|n| n.starts_with("spectrum of L left out: eigenpairs: no convergence")),
            "{:?}",
            r.notes
        );
        assert!(r.gap.laplacian.is_none() && r.operators[1].smallest.is_empty());
        assert_eq!(r.cheeger.len(), 3);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let g = random(700, 2100, 4);
        let settings = ReportSettings {
            full_up_to: 300,
            ..ReportSettings::default()
        };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let whole = report(&random(150, 400, 4), Centrality::CORE, &settings).unwrap();
                (report(&g, Centrality::PAGERANK, &settings).unwrap(), whole)
            })
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn the_report_is_one_json_object() {
        let json = serde_json::to_value(full(&path(4), Centrality::WALKS)).unwrap();
        assert_eq!(json["centrality"], "walks");
        assert_eq!(json["operators"][3]["operator"], "L_rw");
        assert_eq!(json["inequalities"][0]["source"], "corrected");
        assert_eq!(json["cheeger"][2]["value"], 0.5);
    }
}
