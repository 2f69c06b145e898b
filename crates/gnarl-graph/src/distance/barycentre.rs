//! The barycentre of weighted graphs in [fused Gromov–Wasserstein](super::fused_gromov) distance:
//! the structure `C` and the features `X` of a given number of nodes that minimise
//!
//! ```text
//! Σ_s λ_s FGW(C, X; C_s, X_s)
//! ```
//!
//! For given couplings `T_s` both have closed forms: `C = Σ_s λ_s T_s C_s T_sᵀ / p pᵀ` (Peyré et
//! al. 2016, proposition 3) and `X = Σ_s λ_s T_s X_s / p` ([Vayer et al.
//! 2019](https://arxiv.org/abs/1805.09114), section 3.2). Couplings and barycentre are optimised
//! alternately, from an initialisation that the caller gives, as in `ot.gromov.fgw_barycenters` of
//! Python Optimal Transport. Couplings start from the independent one in every iteration and stop
//! at a relative change of 1e-5. The last iteration is the one that moves the structure or the
//! features by no more than the tolerance. If the initialisation has couplings, every iteration
//! continues from the last ones instead (`warmstartT` there), and the sum never increases.

use super::fused_gromov::{
    FusedGromov, Space, check_alpha, check_masses, check_pair, dot, feature_costs,
    sparse_square_mean, square_mean,
};
use super::transport::Simplex;
use crate::error::{Error, Result};
use crate::matrix::DenseMatrix;

const OP: &str = "barycentre";
/// Relative change of the value at which the coupling of one iteration stops.
const COUPLING_TOLERANCE: f64 = 1e-5;

/// Settings of the barycentre: weight of the structure, and stopping criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BarycentreSettings {
    /// Weight of the structure, 0 to 1; the features get the rest.
    pub alpha: f64,
    /// Maximum number of iterations.
    pub max_rounds: usize,
    /// Maximum number of coupling steps per iteration.
    pub max_steps: usize,
    /// Absolute tolerance: an iteration that moves the structure or the features by no more than
    /// this, in Frobenius norm, is the last.
    pub tolerance: f64,
}

impl Default for BarycentreSettings {
    /// Defaults of Python Optimal Transport, which takes one number for iterations and coupling
    /// steps.
    fn default() -> Self {
        Self {
            alpha: 0.5,
            max_rounds: 100,
            max_steps: 100,
            tolerance: 1e-9,
        }
    }
}

/// Initialisation of a barycentre.
#[derive(Debug, Clone, PartialEq)]
pub struct BarycentreStart {
    /// Structure matrix; symmetric.
    pub structure: DenseMatrix<f64>,
    /// Node features.
    pub features: DenseMatrix<f64>,
    /// Coupling with each graph; empty for independent couplings in every iteration.
    pub couplings: Vec<DenseMatrix<f64>>,
}

/// A barycentre and its couplings with the graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct Barycentre {
    /// Structure matrix: symmetric, between the smallest and the largest value of the graphs'
    /// structures.
    pub structure: DenseMatrix<f64>,
    /// Node features.
    pub features: DenseMatrix<f64>,
    /// Coupling with each graph: mass that each node of the barycentre shares with each of its
    /// nodes.
    pub couplings: Vec<DenseMatrix<f64>>,
    /// Weighted sum of values at these couplings: an upper bound of the minimum.
    pub value: f64,
    /// Number of iterations done.
    pub rounds: usize,
}

impl BarycentreSettings {
    /// Computes the barycentre of graphs with weights that sum to one, for nodes of these masses.
    /// One iteration is a coupling with each graph and O(N² m) more for the barycentre's `N` and a
    /// graph's `m` nodes.
    ///
    /// Fails for no graphs, other shapes, weights that are negative or do not sum to one, and
    /// masses of zero. It also fails for an initialisation that is not symmetric or finite, and for
    /// couplings that do not have the graphs' masses.
    pub fn barycentre(
        &self,
        graphs: &[(&Space, f64)],
        masses: &[f64],
        start: BarycentreStart,
    ) -> Result<Barycentre> {
        self.check(graphs, masses, &start)?;
        let BarycentreStart {
            structure,
            features,
            couplings,
        } = start;
        let goes_on = !couplings.is_empty();
        let descent = FusedGromov {
            alpha: self.alpha,
            max_steps: self.max_steps,
            relative_tolerance: COUPLING_TOLERANCE,
            absolute_tolerance: 0.0,
        };
        let simplices = graphs
            .iter()
            .map(|(graph, _)| Simplex::new(masses, graph.masses()));
        let mut simplices: Vec<Simplex> = simplices.collect::<Result<_>>()?;
        let costs = |features: &DenseMatrix<f64>| -> Vec<Vec<f64>> {
            graphs
                .iter()
                .map(|(graph, _)| feature_costs(features, graph.features(), 1.0 - self.alpha))
                .collect()
        };
        let mut linear = costs(&features);
        let mut found = Barycentre {
            structure,
            features,
            couplings,
            value: f64::INFINITY,
            rounds: 0,
        };
        for round in 1..=self.max_rounds {
            let couple = |s: usize| {
                let start = goes_on.then(|| &found.couplings[s]);
                let graph = graphs[s].0;
                descent.descend(
                    &found.structure,
                    masses,
                    graph,
                    &linear[s],
                    start,
                    &mut simplices[s],
                )
            };
            let couplings = (0..graphs.len()).map(couple).map(|found| Ok(found?.0));
            let couplings: Vec<DenseMatrix<f64>> = couplings.collect::<Result<_>>()?;
            let features = mixed_features(graphs, &couplings, masses, found.features.num_cols());
            linear = costs(&features);
            let parts: Vec<DenseMatrix<f64>> = graphs
                .iter()
                .zip(&couplings)
                .map(|((graph, _), coupling)| carried_over(graph, coupling))
                .collect();
            let structure = mixed_structure(graphs, &parts, masses);
            let moved_structure = distance(structure.data(), found.structure.data());
            // Features without columns never move, which is no sign of convergence.
            let moved_features = match features.num_cols() {
                0 => f64::INFINITY,
                _ => distance(features.data(), found.features.data()),
            };
            let own = square_mean(&structure, masses);
            let value = |s: usize| {
                let (graph, weight) = graphs[s];
                let apart = own + sparse_square_mean(graph.structure(), graph.masses());
                let structure = apart - 2.0 * dot(structure.data(), parts[s].data());
                weight * (dot(&linear[s], couplings[s].data()) + self.alpha * structure)
            };
            // Rounding may give a value slightly below zero.
            let value = (0..graphs.len()).map(value).sum::<f64>().max(0.0);
            found = Barycentre {
                structure,
                features,
                couplings,
                value,
                rounds: round,
            };
            if moved_structure.min(moved_features) <= self.tolerance {
                break;
            }
        }
        Ok(found)
    }

    fn check(
        &self,
        graphs: &[(&Space, f64)],
        masses: &[f64],
        start: &BarycentreStart,
    ) -> Result<()> {
        check_alpha(self.alpha)?;
        if self.max_rounds == 0 || self.max_steps == 0 {
            return Err(Error::argument(
                OP,
                "no iterations or steps; at least 1 of each is needed",
            ));
        }
        check_graphs(graphs, start.features.num_cols())?;
        check_masses(masses)?;
        if masses.contains(&0.0) {
            return Err(Error::argument(
                OP,
                "a node of the barycentre has a mass of 0",
            ));
        }
        start.check_values(masses.len())?;
        start.check_couplings(graphs, masses)
    }
}

/// Fails for no graphs, graphs with other features, and weights that are negative or do not sum to
/// one.
fn check_graphs(graphs: &[(&Space, f64)], num_columns: usize) -> Result<()> {
    if graphs.is_empty() {
        return Err(Error::argument(OP, "no graphs; at least 1 is needed"));
    }
    graphs
        .iter()
        .try_for_each(|(graph, _)| check_pair(num_columns, graph))?;
    let mut weights = graphs.iter().map(|(_, weight)| *weight);
    if let Some(weight) = weights.find(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        let what = format!("a weight of {weight}; it must be a number of at least 0");
        return Err(Error::argument(OP, what));
    }
    let total = graphs.iter().map(|(_, weight)| weight).sum::<f64>();
    if (total - 1.0).abs() > 1e-9 {
        let what = format!("weights sum to {total}, not to 1");
        return Err(Error::argument(OP, what));
    }
    Ok(())
}

impl BarycentreStart {
    /// Fails for shapes that do not fit `n` nodes, values that are not finite, and an asymmetric
    /// structure.
    fn check_values(&self, n: usize) -> Result<()> {
        let (structure, features) = (&self.structure, &self.features);
        let (rows, cols) = (structure.num_rows(), structure.num_cols());
        if (rows, cols, features.num_rows()) != (n, n, n) {
            let what = format!(
                "an initialisation of {rows} × {cols} with {} rows of features for {n} nodes",
                features.num_rows()
            );
            return Err(Error::argument(OP, what));
        }
        let mut values = structure.data().iter().chain(features.data());
        if let Some(x) = values.find(|x| !x.is_finite()) {
            let what = format!("the initialisation has a value of {x}; it must be a number");
            return Err(Error::argument(OP, what));
        }
        if !(0..n).all(|i| (0..i).all(|k| structure.row(i)[k] == structure.row(k)[i])) {
            return Err(Error::argument(
                OP,
                "the structure of the initialisation is not symmetric",
            ));
        }
        Ok(())
    }

    /// Fails for couplings of other graphs or masses.
    fn check_couplings(&self, graphs: &[(&Space, f64)], masses: &[f64]) -> Result<()> {
        let couplings = &self.couplings;
        if !couplings.is_empty() && couplings.len() != graphs.len() {
            let what = format!(
                "an initialisation of {} couplings for {} graphs",
                couplings.len(),
                graphs.len()
            );
            return Err(Error::argument(OP, what));
        }
        let mut pairs = graphs.iter().zip(couplings);
        let wrong =
            pairs.position(|((graph, _), coupling)| !couples(coupling, masses, graph.masses()));
        match wrong {
            Some(s) => {
                let what = format!("coupling {s} of the initialisation has other masses");
                Err(Error::argument(OP, what))
            }
            None => Ok(()),
        }
    }
}

/// Returns true if a plan moves these masses, up to rounding.
fn couples(plan: &DenseMatrix<f64>, rows: &[f64], columns: &[f64]) -> bool {
    if (plan.num_rows(), plan.num_cols()) != (rows.len(), columns.len()) {
        return false;
    }
    let mut arrived = vec![0.0; columns.len()];
    let mut left = Vec::with_capacity(rows.len());
    for i in 0..rows.len() {
        left.push(plan.row(i).iter().sum::<f64>());
        arrived
            .iter_mut()
            .zip(plan.row(i))
            .for_each(|(sum, mass)| *sum += mass);
    }
    let close = |sums: &[f64], masses: &[f64]| {
        sums.iter()
            .zip(masses)
            .all(|(sum, mass)| (sum - mass).abs() < 1e-9)
    };
    plan.data().iter().all(|mass| *mass >= 0.0) && close(&left, rows) && close(&arrived, columns)
}

/// Computes `X = Σ_s λ_s T_s X_s / p`.
fn mixed_features(
    graphs: &[(&Space, f64)],
    couplings: &[DenseMatrix<f64>],
    masses: &[f64],
    num_columns: usize,
) -> DenseMatrix<f64> {
    let mut mixed = DenseMatrix::zeros(masses.len(), num_columns);
    for ((graph, weight), coupling) in graphs.iter().zip(couplings) {
        for i in 0..masses.len() {
            let row = mixed.row_mut(i);
            for (j, &mass) in coupling
                .row(i)
                .iter()
                .enumerate()
                .filter(|(_, mass)| **mass != 0.0)
            {
                let factor = weight * mass / masses[i];
                row.iter_mut()
                    .zip(graph.features().row(j))
                    .for_each(|(x, y)| *x += factor * y);
            }
        }
    }
    mixed
}

/// Computes `C = Σ_s λ_s S_s / p pᵀ` from the `S_s = T_s C_s T_sᵀ`.
fn mixed_structure(
    graphs: &[(&Space, f64)],
    parts: &[DenseMatrix<f64>],
    masses: &[f64],
) -> DenseMatrix<f64> {
    let n = masses.len();
    let mut mixed = DenseMatrix::zeros(n, n);
    for i in 0..n {
        let row = mixed.row_mut(i);
        for ((_, weight), part) in graphs.iter().zip(parts) {
            row.iter_mut()
                .zip(part.row(i))
                .for_each(|(c, s)| *c += weight * s);
        }
        row.iter_mut()
            .zip(masses)
            .for_each(|(c, p)| *c /= masses[i] * p);
    }
    mixed
}

/// Computes `T C Tᵀ`, mirrored, so that rounding leaves it symmetric.
fn carried_over(graph: &Space, coupling: &DenseMatrix<f64>) -> DenseMatrix<f64> {
    let n = coupling.num_rows();
    let filled = |i: usize| -> Vec<(usize, f64)> {
        coupling
            .row(i)
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, mass)| *mass != 0.0)
            .collect()
    };
    let rows: Vec<Vec<(usize, f64)>> = (0..n).map(filled).collect();
    let mut carried = DenseMatrix::zeros(n, n);
    let mut reached = vec![0.0; graph.num_nodes()];
    for i in 0..n {
        reached.fill(0.0);
        for &(j, mass) in &rows[i] {
            let (targets, weights) = graph.structure().row(j);
            targets
                .iter()
                .zip(weights)
                .for_each(|(&l, w)| reached[l as usize] += mass * w);
        }
        for k in 0..=i {
            let sum = rows[k].iter().map(|&(l, mass)| mass * reached[l]).sum();
            carried.row_mut(i)[k] = sum;
            carried.row_mut(k)[i] = sum;
        }
    }
    carried
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::generate::{barabasi_albert, cycle, path};
    use crate::graph::Graph;
    use crate::random::stream;
    use rand::RngExt;

    fn space(graph: Graph, seed: u64) -> Space {
        let n = graph.num_nodes();
        let mut rng = stream(seed, "test", 0);
        let values = (0..2 * n).map(|_| rng.random::<f32>()).collect();
        let features = Features::Dense(DenseMatrix::new(n, 2, values).unwrap());
        Space::of_graph(&graph.with_features(features).unwrap()).unwrap()
    }

    fn uniform(n: usize) -> Vec<f64> {
        vec![1.0 / n as f64; n]
    }

    fn from_itself(settings: BarycentreSettings, graphs: &[(&Space, f64)]) -> Barycentre {
        let (first, n) = (graphs[0].0, graphs[0].0.num_nodes());
        settings
            .barycentre(
                graphs,
                &uniform(n),
                start(first.structure().to_dense(), first.features().clone()),
            )
            .unwrap()
    }

    fn start(structure: DenseMatrix<f64>, features: DenseMatrix<f64>) -> BarycentreStart {
        BarycentreStart {
            structure,
            features,
            couplings: Vec::new(),
        }
    }

    fn independent(rows: &[f64], columns: &[f64]) -> DenseMatrix<f64> {
        let masses = rows
            .iter()
            .flat_map(|p| columns.iter().map(move |q| p * q))
            .collect();
        DenseMatrix::new(rows.len(), columns.len(), masses).unwrap()
    }

    #[test]
    fn of_one_graph_is_the_graph() {
        let graph = space(barabasi_albert(11, 2, 1).unwrap(), 1);
        for graphs in [
            &[(&graph, 1.0)][..],
            &[(&graph, 0.3), (&graph, 0.7)],
            &[(&graph, 1.0), (&space(cycle(5).unwrap(), 2), 0.0)],
        ] {
            let found = from_itself(BarycentreSettings::default(), graphs);
            assert!(found.value < 1e-12, "{}", found.value);
            assert!(distance(found.structure.data(), graph.structure().to_dense().data()) < 1e-9);
            assert!(distance(found.features.data(), graph.features().data()) < 1e-9);
        }
    }

    /// Two pairs of nodes with distinct features: 0 is coupled with 0 and 1 with 1, whatever the
    /// edges.
    #[test]
    fn two_nodes_by_hand() {
        let pair = |features: [f32; 2], joined: bool| {
            let graph = Graph::from_edges(2, joined.then_some((0, 1))).unwrap().0;
            let features = Features::Dense(DenseMatrix::new(2, 1, features.to_vec()).unwrap());
            Space::of_graph(&graph.with_features(features).unwrap()).unwrap()
        };
        let (a, b) = (pair([0.0, 10.0], true), pair([2.0, 14.0], false));
        let found = from_itself(BarycentreSettings::default(), &[(&a, 0.75), (&b, 0.25)]);
        assert!(distance(found.structure.data(), &[0.0, 0.75, 0.75, 0.0]) < 1e-12);
        assert!(distance(found.features.data(), &[0.5, 11.0]) < 1e-12);
        // Features: 0.75 · (0.25 + 1) / 2 + 0.25 · (2.25 + 9) / 2; structure: half of all pairs,
        // 0.75 · 0.25² + 0.25 · 0.75².
        let (features, structure) = (
            0.75 * 0.625 + 0.25 * 5.625,
            0.5 * (0.75 * 0.0625 + 0.25 * 0.5625),
        );
        assert!(
            (found.value - 0.5 * (features + structure)).abs() < 1e-12,
            "{}",
            found.value
        );
    }

    #[test]
    fn densities_and_means_are_mixed_and_the_value_is_what_it_leaves() {
        let (a, b) = (
            space(barabasi_albert(14, 3, 1).unwrap(), 1),
            space(path(9).unwrap(), 2),
        );
        let graphs = [(&a, 0.6), (&b, 0.4)];
        let joined = |i: usize, k: usize| 1.0 / (1.0 + (i * k) as f64);
        let structure =
            DenseMatrix::new(10, 10, (0..100).map(|k| joined(k / 10, k % 10)).collect()).unwrap();
        let features =
            DenseMatrix::new(10, 2, (0..20).map(|k| f64::from(k) / 20.0).collect()).unwrap();
        let settings = BarycentreSettings {
            alpha: 0.4,
            ..Default::default()
        };
        let found = settings
            .barycentre(&graphs, &uniform(10), start(structure, features))
            .unwrap();
        // Share of connected ordered pairs: 16 of 81 in the path.
        let density = found.structure.data().iter().sum::<f64>() / 100.0;
        let edges = a.structure().num_entries() as f64;
        assert!(
            (density - (0.6 * edges / 196.0 + 0.4 * 16.0 / 81.0)).abs() < 1e-12,
            "{density}"
        );
        let mean = |m: &DenseMatrix<f64>| {
            (0..m.num_rows()).map(|i| m.row(i)[1]).sum::<f64>() / m.num_rows() as f64
        };
        assert!(
            (mean(&found.features) - 0.6 * mean(a.features()) - 0.4 * mean(b.features())).abs()
                < 1e-12
        );
        let apart = |s: usize| {
            let (graph, coupling, other) = (
                graphs[s].0,
                &found.couplings[s],
                graphs[s].0.structure().to_dense(),
            );
            let pairs = |i: usize, j: usize| {
                let inner = (0..10).flat_map(|k| (0..graph.num_nodes()).map(move |l| (k, l)));
                let structure = inner.map(|(k, l)| {
                    (found.structure.row(i)[k] - other.row(j)[l]).powi(2) * coupling.row(k)[l]
                });
                let features = found
                    .features
                    .row(i)
                    .iter()
                    .zip(graph.features().row(j))
                    .map(|(x, y)| (x - y).powi(2));
                coupling.row(i)[j] * (0.4 * structure.sum::<f64>() + 0.6 * features.sum::<f64>())
            };
            (0..10)
                .flat_map(|i| (0..graph.num_nodes()).map(move |j| (i, j)))
                .map(|(i, j)| pairs(i, j))
                .sum::<f64>()
        };
        let expected = 0.6 * apart(0) + 0.4 * apart(1);
        assert!(
            (found.value - expected).abs() < 1e-12,
            "{} against {expected}",
            found.value
        );
    }

    #[test]
    fn rounds_tolerance_and_alpha_matter() {
        let (a, b) = (
            space(barabasi_albert(14, 3, 1).unwrap(), 1),
            space(path(9).unwrap(), 2),
        );
        let run = |settings| from_itself(settings, &[(&a, 0.5), (&b, 0.5)]);
        let usual = BarycentreSettings::default();
        let full = run(usual);
        assert!(full.rounds > 1);
        assert_eq!(
            run(BarycentreSettings {
                max_rounds: 1,
                ..usual
            })
            .rounds,
            1
        );
        assert_eq!(
            run(BarycentreSettings {
                tolerance: 1e3,
                ..usual
            })
            .rounds,
            1
        );
        assert_ne!(
            run(BarycentreSettings {
                max_steps: 1,
                ..usual
            })
            .structure,
            full.structure
        );
        assert_ne!(
            run(BarycentreSettings {
                alpha: 0.95,
                ..usual
            })
            .structure,
            full.structure
        );
    }

    /// A graph coupled with itself, and another coupled with it node by node: the point between
    /// them is as near to both as that coupling gives, and no iteration leads away.
    #[test]
    fn couplings_of_the_start_are_where_it_goes_on() {
        let (a, b) = (
            space(barabasi_albert(14, 3, 1).unwrap(), 1),
            space(barabasi_albert(14, 2, 2).unwrap(), 2),
        );
        let itself = DenseMatrix::new(
            14,
            14,
            (0..196)
                .map(|k| if k % 15 == 0 { 1.0 / 14.0 } else { 0.0 })
                .collect(),
        );
        let between = FusedGromov::default().between(&a, &b).unwrap();
        assert_eq!(
            between
                .masses
                .data()
                .iter()
                .filter(|mass| **mass > 1e-12)
                .count(),
            14,
            "a permutation"
        );
        let mut from = start(a.structure().to_dense(), a.features().clone());
        from.couplings = vec![itself.unwrap(), between.masses];
        let run = |max_rounds: usize| {
            let settings = BarycentreSettings {
                max_rounds,
                ..Default::default()
            };
            settings
                .barycentre(&[(&a, 0.7), (&b, 0.3)], &uniform(14), from.clone())
                .unwrap()
                .value
        };
        assert!(
            (run(1) - 0.7 * 0.3 * between.value).abs() < 1e-9,
            "{} on the way of {}",
            run(1),
            between.value
        );
        assert!((1..6).all(|rounds| run(rounds + 1) <= run(rounds) + 1e-12));
        from.couplings = vec![
            independent(&uniform(14), a.masses()),
            independent(&uniform(14), b.masses()),
        ];
        let settings = BarycentreSettings {
            max_rounds: 1,
            ..Default::default()
        };
        let warm = settings
            .barycentre(&[(&a, 0.7), (&b, 0.3)], &uniform(14), from.clone())
            .unwrap();
        from.couplings.clear();
        let cold = settings
            .barycentre(&[(&a, 0.7), (&b, 0.3)], &uniform(14), from)
            .unwrap();
        assert!(
            (warm.value - cold.value).abs() < 1e-12
                && distance(warm.structure.data(), cold.structure.data()) < 1e-9
        );
    }

    #[test]
    fn without_features_structure_alone_says_when_to_stop() {
        let (a, b) = (
            Space::of_graph(&barabasi_albert(14, 3, 1).unwrap()).unwrap(),
            Space::of_graph(&path(9).unwrap()).unwrap(),
        );
        let found = from_itself(
            BarycentreSettings {
                alpha: 1.0,
                ..Default::default()
            },
            &[(&a, 0.5), (&b, 0.5)],
        );
        assert!(found.rounds > 1 && found.features.data().is_empty());
    }

    #[test]
    fn invalid_input_is_refused_in_one_line() {
        let graph = Space::of_graph(&path(3).unwrap()).unwrap();
        let (flat, none) = (DenseMatrix::zeros(3, 3), DenseMatrix::zeros(3, 0));
        let usual = BarycentreSettings::default();
        let refused = |settings: BarycentreSettings,
                       graphs: &[(&Space, f64)],
                       masses: &[f64],
                       from: DenseMatrix<f64>| {
            settings
                .barycentre(graphs, masses, start(from, none.clone()))
                .unwrap_err()
                .to_string()
        };
        let whole = [(&graph, 1.0)];
        let third = uniform(3);
        let e = refused(usual, &[], &third, flat.clone());
        assert_eq!(e, "barycentre: no graphs; at least 1 is needed");
        let e = refused(
            BarycentreSettings {
                max_rounds: 0,
                ..usual
            },
            &whole,
            &third,
            flat.clone(),
        );
        assert_eq!(
            e,
            "barycentre: no iterations or steps; at least 1 of each is needed"
        );
        let e = refused(
            usual,
            &[(&graph, 1.5), (&graph, -0.5)],
            &third,
            flat.clone(),
        );
        assert_eq!(
            e,
            "barycentre: a weight of -0.5; it must be a number of at least 0"
        );
        let e = refused(usual, &[(&graph, 0.5)], &third, flat.clone());
        assert_eq!(e, "barycentre: weights sum to 0.5, not to 1");
        let e = refused(usual, &whole, &[0.5, 0.5, 0.0], flat.clone());
        assert_eq!(e, "barycentre: a node of the barycentre has a mass of 0");
        let e = refused(usual, &whole, &uniform(4), flat.clone());
        assert_eq!(
            e,
            "barycentre: an initialisation of 3 × 3 with 3 rows of features for 4 nodes"
        );
        let at = |k: usize, value: f64| {
            DenseMatrix::new(
                3,
                3,
                (0..9).map(|i| if i == k { value } else { 0.0 }).collect(),
            )
            .unwrap()
        };
        assert_eq!(
            refused(usual, &whole, &third, at(1, 1.0)),
            "barycentre: the structure of the initialisation is not symmetric"
        );
        let e = refused(usual, &whole, &third, at(4, f64::NAN));
        assert_eq!(
            e,
            "barycentre: the initialisation has a value of NaN; it must be a number"
        );
    }

    #[test]
    fn couplings_of_other_graphs_are_refused_in_one_line() {
        let graph = Space::of_graph(&path(3).unwrap()).unwrap();
        let (flat, none) = (DenseMatrix::zeros(3, 3), DenseMatrix::zeros(3, 0));
        let usual = BarycentreSettings::default();
        let (whole, third) = ([(&graph, 1.0)], uniform(3));
        let with = |couplings| BarycentreStart {
            structure: flat.clone(),
            features: none.clone(),
            couplings,
        };
        let refused = |couplings| {
            usual
                .barycentre(&whole, &third, with(couplings))
                .unwrap_err()
                .to_string()
        };
        let fine = independent(&third, graph.masses());
        assert_eq!(
            refused(vec![fine.clone(), fine]),
            "barycentre: an initialisation of 2 couplings for 1 graphs"
        );
        let less = DenseMatrix::zeros(3, 3);
        assert_eq!(
            refused(vec![less]),
            "barycentre: coupling 0 of the initialisation has other masses"
        );
    }
}
