//! What an attack changed, counted from the two graphs and not from what the attack believes, and the check that every attack
//! ends with.

use gnarl_graph::{Features, Graph};
use rayon::prelude::*;
use serde::Serialize;

use super::budget::{Budget, Norm};
use crate::error::{Error, Result};

/// An attacked graph and how it differs from the one before.
#[derive(Debug, Clone)]
pub struct Attacked {
    /// The graph.
    pub graph: Graph,
    /// What is new in it.
    pub change: Change,
}

/// How one graph differs from another.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Edges that were not there, `u < v`, ascending.
    pub added: Vec<(u32, u32)>,
    /// Edges that are gone, `u < v`, ascending.
    pub removed: Vec<(u32, u32)>,
    /// How far features moved.
    pub features: FeatureChange,
}

impl Change {
    /// Edges added and removed.
    pub fn num_flips(&self) -> usize {
        self.added.len() + self.removed.len()
    }
}

/// How far features moved.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct FeatureChange {
    /// Nodes whose features changed.
    pub nodes: usize,
    /// Root of the sum of squares over all entries.
    pub l2: f64,
    /// The largest move of a node in L2.
    pub largest_l2: f64,
    /// The largest move of an entry.
    pub linf: f64,
}

impl Attacked {
    /// Compares the graphs. O(nodes + edges + features). Fails where they have not the same nodes.
    pub fn new(original: &Graph, graph: Graph) -> Result<Self> {
        if graph.num_nodes() != original.num_nodes() {
            let what = format!("{} nodes became {}", original.num_nodes(), graph.num_nodes());
            return Err(broken(what));
        }
        let missing = |from: &Graph, of: &Graph| from.edges().filter(|&(u, v)| !of.has_edge(u, v)).collect();
        let (added, removed) = (missing(&graph, original), missing(original, &graph));
        let moves = moves(original, &graph, Norm::L2)?;
        let features = FeatureChange {
            nodes: moves.iter().filter(|&&m| m > 0.0).count(),
            l2: Norm::L2.of(moves.iter().copied()),
            largest_l2: Norm::Linf.of(moves.into_iter()),
            linf: Norm::Linf.of(self::moves(original, &graph, Norm::Linf)?.into_iter()),
        };
        Ok(Self { graph, change: Change { added, removed, features } })
    }

    /// Fails unless the graph is undirected and simple with the same labels and splits, and the change is one that the budget
    /// allows. Called after every attack, in every build.
    pub fn assert_within(&self, original: &Graph, budget: &Budget) -> Result<()> {
        check_valid(original, &self.graph)?;
        let Change { features, .. } = &self.change;
        match budget {
            Budget::Edges(share) => {
                let allowed = share.flips(original);
                if self.change.num_flips() > allowed {
                    return Err(broken(format!("{} flips where {allowed} are allowed", self.change.num_flips())));
                }
                if features.nodes > 0 {
                    return Err(broken(format!("features of {} nodes changed, where edges may", features.nodes)));
                }
            }
            Budget::Noise(_) | Budget::Features(_) if self.change.num_flips() > 0 => {
                return Err(broken(format!("{} flips, where features may change", self.change.num_flips())));
            }
            Budget::Noise(noise) => {
                let (n, k) = original.features().map_or((0, 0), |f| (f.num_rows(), f.num_cols()));
                // The squared norm over the entries' variance is chi-square; its tail beyond this is below 1e-12 for any size.
                let entries = (n * k) as f64;
                let allowed = noise.psi().powi(2) / k.max(1) as f64 * (entries + 10.0 * (2.0 * entries).sqrt() + 60.0);
                // Features of any size lose what noise is below their last digit, and gain as much.
                let rounding = original.features().map_or(0.0, |f| largest(f) * 1e-7 * entries.sqrt());
                if features.l2 > allowed.sqrt() + rounding {
                    return Err(broken(format!("noise of norm {} where {} is allowed", features.l2, allowed.sqrt())));
                }
            }
            Budget::Features(budget) => {
                let Some(before) = original.features() else { return Ok(()) };
                let radii = budget.radii(before);
                let moves = moves(original, &self.graph, radii.norm)?;
                if let Some(i) = (0..moves.len()).find(|&i| moves[i] > radii.rows[i] * (1.0 + SLACK)) {
                    let what = format!("node {i} moved by {} where {} is allowed", moves[i], radii.rows[i]);
                    return Err(broken(what));
                }
                if let Some(together) = radii.together
                    && features.l2 > together * (1.0 + SLACK)
                {
                    let what = format!("features moved by {} in all where {together} is allowed", features.l2);
                    return Err(broken(what));
                }
            }
        }
        Ok(())
    }
}

/// Sums of the same squares in another order differ by less.
const SLACK: f64 = 1e-9;

fn broken(what: String) -> Error {
    Error::Internal { op: "attack", what }
}

fn largest(features: &Features) -> f64 {
    features.values().iter().fold(0.0, |m, &v| m.max(f64::from(v).abs()))
}

/// How far each node's features moved.
fn moves(original: &Graph, graph: &Graph, norm: Norm) -> Result<Vec<f64>> {
    let (before, after) = match (original.features(), graph.features()) {
        (None, None) => return Ok(Vec::new()),
        (Some(before), Some(after)) if std::ptr::eq(before, after) => return Ok(vec![0.0; before.num_rows()]),
        (Some(before), Some(after)) if before.num_cols() == after.num_cols() => (before, after),
        _ => return Err(broken("features came, went or have another width".into())),
    };
    let width = before.num_cols();
    let scratch = || (vec![0f32; width], vec![0f32; width]);
    let distance = |(a, b): &mut (Vec<f32>, Vec<f32>), i: usize| {
        write_row(before, i, a);
        write_row(after, i, b);
        norm.of(a.iter().zip(b.iter()).map(|(&a, &b)| f64::from(b) - f64::from(a)))
    };
    Ok((0..before.num_rows()).into_par_iter().map_init(scratch, distance).collect())
}

/// A row of features, zeros and all.
pub(super) fn write_row(features: &Features, i: usize, out: &mut [f32]) {
    match features {
        Features::Dense(m) => out.copy_from_slice(m.row(i)),
        Features::Sparse(m) => {
            out.fill(0.0);
            let (cols, values) = m.row(i);
            for (&c, &v) in cols.iter().zip(values) {
                out[c as usize] = v;
            }
        }
    }
}

/// The conventions that every graph keeps, and what an attack may never touch.
fn check_valid(original: &Graph, graph: &Graph) -> Result<()> {
    for u in 0..graph.num_nodes() as u32 {
        let row = graph.neighbours(u);
        if row.windows(2).any(|w| w[0] >= w[1]) || row.binary_search(&u).is_ok() {
            return Err(broken(format!("node {u} has an edge twice or one to itself")));
        }
        if let Some(&v) = row.iter().find(|&&v| v as usize >= graph.num_nodes() || !graph.has_edge(v, u)) {
            return Err(broken(format!("the edge from {u} to {v} has no way back")));
        }
    }
    if original.weights().is_some() != graph.weights().is_some()
        || graph.weighted_edges().any(|(u, v, w)| weight(original, u, v).is_some_and(|before| before != w))
    {
        return Err(broken("an edge that was there has another weight".into()));
    }
    if original.labels() != graph.labels() || original.splits() != graph.splits() {
        return Err(broken("labels or splits changed".into()));
    }
    if graph.features().is_some_and(|f| f.values().iter().any(|v| !v.is_finite()))
        && original.features().is_some_and(|f| f.values().iter().all(|v| v.is_finite()))
    {
        return Err(broken("a feature is no number any more".into()));
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
    use crate::attack::{EdgeShare, FeatureBudget, Noise, Scope};
    use gnarl_graph::{DenseMatrix, Labels};

    fn square() -> Graph {
        let features = DenseMatrix::new(4, 2, vec![3.0, 4.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]).unwrap();
        let labels = Labels::new(vec![Some(0), Some(1), Some(0), None], 2).unwrap();
        let graph = Graph::from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)]).unwrap().0;
        graph.with_features(Features::Dense(features)).unwrap().with_labels(labels).unwrap()
    }

    fn moved(by: [f32; 8]) -> Graph {
        let data = square().features().unwrap().values().iter().zip(by).map(|(x, d)| x + d).collect();
        square().with_features(Features::Dense(DenseMatrix::new(4, 2, data).unwrap())).unwrap()
    }

    #[test]
    fn changes_are_counted_by_hand() {
        let graph = square().remove_edges(&[(0, 1)]).unwrap().add_edges(&[(3, 1), (0, 2)]).unwrap().0;
        let change = Attacked::new(&square(), graph).unwrap().change;
        assert_eq!((change.added, change.removed), (vec![(0, 2), (1, 3)], vec![(0, 1)]));
        assert_eq!(change.features, FeatureChange::default());
        let change = Attacked::new(&square(), moved([3.0, -4.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0])).unwrap().change;
        assert_eq!(change.features, FeatureChange { nodes: 2, l2: 13.0, largest_l2: 12.0, linf: 12.0 });
    }

    /// Every way of breaking a budget or a graph is caught.
    #[test]
    fn what_is_not_allowed_is_caught() {
        let edges = |share| Budget::Edges(EdgeShare::new(share).unwrap());
        let features = |share, norm, scope| Budget::Features(FeatureBudget::new(share, norm, scope).unwrap());
        let complain = |graph: Graph, budget: Budget| {
            let attacked = Attacked::new(&square(), graph).unwrap();
            attacked.assert_within(&square(), &budget).map_err(|e| e.to_string())
        };
        let without = square().remove_edges(&[(0, 1), (1, 2)]).unwrap();
        assert!(complain(without.clone(), edges(0.25)).unwrap_err().contains("2 flips where 1 are allowed"));
        assert!(complain(without.clone(), edges(0.5)).is_ok());
        assert!(
            complain(without, features(1.0, Norm::L2, Scope::Node)).unwrap_err().contains("2 flips, where features")
        );
        let first = moved([3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(complain(first.clone(), features(1.0, Norm::L2, Scope::Node)).is_ok());
        let e = complain(first.clone(), features(0.9, Norm::L2, Scope::Node)).unwrap_err();
        assert!(e.contains("node 0 moved by 5 where 4.5 is allowed"), "{e}");
        assert!(complain(first.clone(), features(0.99, Norm::Linf, Scope::Node)).is_err());
        assert!(complain(first.clone(), features(0.97, Norm::L2, Scope::Matrix)).is_ok(), "27^0.5 is there");
        assert!(complain(first.clone(), features(0.96, Norm::L2, Scope::Matrix)).is_err());
        assert!(complain(first, edges(0.5)).unwrap_err().contains("features of 1 nodes changed"));
        let zero = moved([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0]);
        assert!(complain(zero, features(0.5, Norm::L2, Scope::Node)).is_err(), "a node of zeros has no budget");
        let noise = |psi| Budget::Noise(Noise::new(psi).unwrap());
        let far = moved([50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(complain(far, noise(1.0)).unwrap_err().contains("noise of norm 50"));
        let other = Labels::new(vec![Some(0); 4], 2).unwrap();
        assert!(complain(square().with_labels(other).unwrap(), edges(1.0)).unwrap_err().contains("labels"));
        let nan = moved([f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(complain(nan, noise(1.0)).unwrap_err().contains("no number"));
        let bigger = Graph::empty(5).unwrap();
        assert!(Attacked::new(&square(), bigger).unwrap_err().to_string().contains("4 nodes became 5"));
    }
}
