//! Differences between two graphs, computed from the graphs themselves, and a check against a
//! budget.

use gnarl_graph::{Features, Graph};
use rayon::prelude::*;
use serde::Serialize;

use super::rows::write_row;
use super::{Budget, EdgeShare, Norm, Pair, Radii};
use gnarl_graph::{Error, Result};

/// Difference between a graph and the original.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Added edges, `u < v`, ascending.
    pub added: Vec<Pair>,
    /// Removed edges, `u < v`, ascending.
    pub removed: Vec<Pair>,
    /// Change of the features.
    pub features: FeatureChange,
}

/// Size of the change of features.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct FeatureChange {
    /// Number of nodes whose features changed.
    pub nodes: usize,
    /// Number of entries that changed.
    pub entries: usize,
    /// Root of the sum of squares over all entries.
    pub l2: f64,
    /// Largest L2 change of a node.
    pub largest_l2: f64,
    /// Largest change of an entry.
    pub linf: f64,
}

impl FeatureChange {
    /// Combines changes of different nodes.
    pub fn and(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            entries: self.entries + other.entries,
            l2: self.l2.hypot(other.l2),
            largest_l2: self.largest_l2.max(other.largest_l2),
            linf: self.linf.max(other.linf),
        }
    }
}

impl Change {
    /// Compares a graph with the original. O(nodes + edges + features). Fails if the nodes differ.
    pub fn between(original: &Graph, graph: &Graph) -> Result<Self> {
        if graph.num_nodes() != original.num_nodes() {
            return Err(broken(format!(
                "{} nodes became {}",
                original.num_nodes(),
                graph.num_nodes()
            )));
        }
        let missing =
            |from: &Graph, of: &Graph| from.edges().filter(|&(u, v)| !of.has_edge(u, v)).collect();
        let (added, removed) = (missing(graph, original), missing(original, graph));
        let moves = moves(original, graph, Norm::L2)?;
        let features = FeatureChange {
            nodes: moves.iter().filter(|&&m| m > 0.0).count(),
            entries: entries(original, graph, &moves)?,
            l2: Norm::L2.of(moves.iter().copied()),
            largest_l2: Norm::Infinity.of(moves),
            linf: Norm::Infinity.of(self::moves(original, graph, Norm::Infinity)?),
        };
        Ok(Self {
            added,
            removed,
            features,
        })
    }

    /// Returns the number of edges added and removed.
    pub fn num_flips(&self) -> usize {
        self.added.len() + self.removed.len()
    }

    /// Fails unless `graph`, which differs from the original by this change, is undirected and
    /// simple with the same labels and splits, and the budget allows the change.
    pub fn assert_within(&self, budget: &Budget, original: &Graph, graph: &Graph) -> Result<()> {
        check_valid(original, graph)?;
        match budget {
            Budget::Both(share, noise) => {
                self.assert_flips(*share, original)?;
                self.assert_noise(noise.psi(), original)
            }
            Budget::Edges(share) => {
                self.assert_flips(*share, original)?;
                if self.features.nodes > 0 {
                    return Err(broken(format!(
                        "features of {} nodes changed, where edges may",
                        self.features.nodes
                    )));
                }
                Ok(())
            }
            Budget::Flips(allowed) | Budget::PerTarget(allowed) => {
                let spent = self.num_flips() + self.features.entries;
                if spent > *allowed {
                    Err(broken(format!("{spent} flips where {allowed} are allowed")))
                } else {
                    Ok(())
                }
            }
            Budget::Noise(_) | Budget::Features(_) if self.num_flips() > 0 => Err(broken(format!(
                "{} flips, where features may change",
                self.num_flips()
            ))),
            Budget::Noise(noise) => self.assert_noise(noise.psi(), original),
            Budget::Features(budget) => match original.features() {
                Some(features) => assert_radii(&budget.radii(features), original, graph),
                None => Ok(()),
            },
        }
    }

    fn assert_flips(&self, share: EdgeShare, original: &Graph) -> Result<()> {
        let allowed = share.flips(original);
        if self.num_flips() > allowed {
            Err(broken(format!(
                "{} flips where {allowed} are allowed",
                self.num_flips()
            )))
        } else {
            Ok(())
        }
    }

    /// Checks Gaussian noise, which has no largest size, against a size that it practically never
    /// exceeds.
    fn assert_noise(&self, psi: f64, original: &Graph) -> Result<()> {
        let (n, k) = original
            .features()
            .map_or((0, 0), |f| (f.num_rows(), f.num_cols()));
        // The squared norm over the entries' variance is chi-square; its tail beyond this is below
        // 1e-12 for any size.
        let entries = (n * k) as f64;
        let allowed =
            psi.powi(2) / k.max(1) as f64 * (entries + 10.0 * (2.0 * entries).sqrt() + 60.0);
        // Features of any size lose noise below their last digit, and gain as much.
        let rounding = original
            .features()
            .map_or(0.0, |f| largest(f) * 1e-7 * entries.sqrt());
        if self.features.l2 > allowed.sqrt() + rounding {
            return Err(broken(format!(
                "noise of norm {} where {} is allowed",
                self.features.l2,
                allowed.sqrt()
            )));
        }
        Ok(())
    }
}

/// Checks that every row is within its radius, and all rows are within theirs.
fn assert_radii(radii: &Radii, original: &Graph, graph: &Graph) -> Result<()> {
    let moves = moves(original, graph, radii.norm)?;
    if let Some(i) = (0..moves.len()).find(|&i| moves[i] > radii.rows[i] * (1.0 + SLACK)) {
        return Err(broken(format!(
            "node {i} moved by {} where {} is allowed",
            moves[i], radii.rows[i]
        )));
    }
    let all = radii.norm.of(moves);
    match radii.together {
        Some(together) if all > together * (1.0 + SLACK) => Err(broken(format!(
            "features moved by {all} in all where {together} is allowed"
        ))),
        _ => Ok(()),
    }
}

/// Relative tolerance: sums of the same squares in another order differ by less.
const SLACK: f64 = 1e-9;

fn broken(what: String) -> Error {
    Error::Internal {
        op: "perturbation",
        what,
    }
}

fn largest(features: &Features) -> f64 {
    features
        .values()
        .iter()
        .fold(0.0, |m, &v| m.max(f64::from(v).abs()))
}

/// Computes the change of each node's features.
fn moves(original: &Graph, graph: &Graph, norm: Norm) -> Result<Vec<f64>> {
    let (before, after) = match (original.features(), graph.features()) {
        (None, None) => return Ok(Vec::new()),
        (Some(before), Some(after)) if std::ptr::eq(before, after) => {
            return Ok(vec![0.0; before.num_rows()]);
        }
        (Some(before), Some(after)) if before.num_cols() == after.num_cols() => (before, after),
        _ => {
            return Err(broken(
                "features were added, removed or changed in width".into(),
            ));
        }
    };
    let width = before.num_cols();
    let scratch = || (vec![0f32; width], vec![0f32; width]);
    let distance = |(a, b): &mut (Vec<f32>, Vec<f32>), i: usize| {
        write_row(before, i, a);
        write_row(after, i, b);
        norm.of(a
            .iter()
            .zip(b.iter())
            .map(|(&a, &b)| f64::from(b) - f64::from(a)))
    };
    Ok((0..before.num_rows())
        .into_par_iter()
        .map_init(scratch, distance)
        .collect())
}

/// Counts the entries that differ, in the rows that changed.
fn entries(original: &Graph, graph: &Graph, moves: &[f64]) -> Result<usize> {
    let (Some(before), Some(after)) = (original.features(), graph.features()) else {
        return Ok(0);
    };
    let (mut a, mut b) = (vec![0f32; before.num_cols()], vec![0f32; before.num_cols()]);
    let mut count = 0;
    for i in (0..moves.len()).filter(|&i| moves[i] > 0.0) {
        write_row(before, i, &mut a);
        write_row(after, i, &mut b);
        count += a.iter().zip(&b).filter(|(a, b)| a != b).count();
    }
    Ok(count)
}

/// Checks the conventions of every graph, and the parts that no perturbation changes.
fn check_valid(original: &Graph, graph: &Graph) -> Result<()> {
    for u in 0..graph.num_nodes() as u32 {
        let row = graph.neighbours(u);
        if row.windows(2).any(|w| w[0] >= w[1]) || row.binary_search(&u).is_ok() {
            return Err(broken(format!(
                "node {u} has an edge twice or one to itself"
            )));
        }
        if let Some(&v) = row
            .iter()
            .find(|&&v| v as usize >= graph.num_nodes() || !graph.has_edge(v, u))
        {
            return Err(broken(format!(
                "the edge from {u} to {v} has no reverse edge"
            )));
        }
    }
    if original.weights().is_some() != graph.weights().is_some()
        || graph
            .weighted_edges()
            .any(|(u, v, w)| weight(original, u, v).is_some_and(|before| before != w))
    {
        return Err(broken("an existing edge has another weight".into()));
    }
    if original.labels() != graph.labels() || original.splits() != graph.splits() {
        return Err(broken("labels or splits changed".into()));
    }
    if graph
        .features()
        .is_some_and(|f| f.values().iter().any(|v| !v.is_finite()))
        && original
            .features()
            .is_some_and(|f| f.values().iter().all(|v| v.is_finite()))
    {
        return Err(broken("a feature is not a number".into()));
    }
    Ok(())
}

fn weight(graph: &Graph, u: u32, v: u32) -> Option<f64> {
    let place = graph.neighbours(u).binary_search(&v).ok()?;
    Some(graph.arc_weight(graph.arc_range(u).start + place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perturb::{EdgeShare, FeatureBudget, Noise, Scope};
    use gnarl_graph::{DenseMatrix, Labels};

    fn square() -> Graph {
        let features =
            DenseMatrix::new(4, 2, vec![3.0, 4.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]).unwrap();
        let labels = Labels::new(vec![Some(0), Some(1), Some(0), None], 2).unwrap();
        let graph = Graph::from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
            .unwrap()
            .0;
        graph
            .with_features(Features::Dense(features))
            .unwrap()
            .with_labels(labels)
            .unwrap()
    }

    fn moved(by: [f32; 8]) -> Graph {
        let data = square()
            .features()
            .unwrap()
            .values()
            .iter()
            .zip(by)
            .map(|(x, d)| x + d)
            .collect();
        square()
            .with_features(Features::Dense(DenseMatrix::new(4, 2, data).unwrap()))
            .unwrap()
    }

    #[test]
    fn changes_are_counted_by_hand() {
        let graph = square()
            .remove_edges(&[(0, 1)])
            .unwrap()
            .add_edges(&[(3, 1), (0, 2)])
            .unwrap()
            .0;
        let change = Change::between(&square(), &graph).unwrap();
        assert_eq!(
            (change.added, change.removed),
            (vec![(0, 2), (1, 3)], vec![(0, 1)])
        );
        assert_eq!(change.features, FeatureChange::default());
        let change = Change::between(
            &square(),
            &moved([3.0, -4.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0]),
        )
        .unwrap();
        assert_eq!(
            change.features,
            FeatureChange {
                nodes: 2,
                entries: 3,
                l2: 13.0,
                largest_l2: 12.0,
                linf: 12.0
            }
        );
    }

    /// Every violation of a budget or a graph is caught.
    #[test]
    fn changes_beyond_the_budget_are_refused() {
        let edges = |share| Budget::Edges(EdgeShare::new(share).unwrap());
        let features =
            |share, norm, scope| Budget::Features(FeatureBudget::new(share, norm, scope).unwrap());
        let complain = |graph: Graph, budget: Budget| {
            let change = Change::between(&square(), &graph).unwrap();
            change
                .assert_within(&budget, &square(), &graph)
                .map_err(|e| e.to_string())
        };
        let without = square().remove_edges(&[(0, 1), (1, 2)]).unwrap();
        assert!(
            complain(without.clone(), edges(0.25))
                .unwrap_err()
                .contains("2 flips where 1 are allowed")
        );
        assert!(complain(without.clone(), edges(0.5)).is_ok());
        assert!(
            complain(without, features(1.0, Norm::L2, Scope::Node))
                .unwrap_err()
                .contains("2 flips, where features")
        );
        let first = moved([3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(complain(first.clone(), features(1.0, Norm::L2, Scope::Node)).is_ok());
        let e = complain(first.clone(), features(0.9, Norm::L2, Scope::Node)).unwrap_err();
        assert!(e.contains("node 0 moved by 5 where 4.5 is allowed"), "{e}");
        assert!(complain(first.clone(), features(0.99, Norm::Infinity, Scope::Node)).is_err());
        assert!(
            complain(first.clone(), features(0.97, Norm::L2, Scope::Matrix)).is_ok(),
            "27^0.5 is there"
        );
        assert!(complain(first.clone(), features(0.96, Norm::L2, Scope::Matrix)).is_err());
        assert!(
            complain(first, edges(0.5))
                .unwrap_err()
                .contains("features of 1 nodes changed")
        );
        let zero = moved([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0]);
        assert!(
            complain(zero, features(0.5, Norm::L2, Scope::Node)).is_err(),
            "a node of zeros has no budget"
        );
        let noise = |psi| Budget::Noise(Noise::new(psi).unwrap());
        let far = moved([50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(
            complain(far, noise(1.0))
                .unwrap_err()
                .contains("noise of norm 50")
        );
        let other = Labels::new(vec![Some(0); 4], 2).unwrap();
        assert!(
            complain(square().with_labels(other).unwrap(), edges(1.0))
                .unwrap_err()
                .contains("labels")
        );
        let nan = moved([f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(
            complain(nan, noise(1.0))
                .unwrap_err()
                .contains("not a number")
        );
        let bigger = Graph::empty(5).unwrap();
        assert!(
            Change::between(&square(), &bigger)
                .unwrap_err()
                .to_string()
                .contains("4 nodes became 5")
        );
    }
}
