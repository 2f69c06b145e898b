//! Cheeger constants: the cost of the cheapest balanced cut of a graph.
//!
//! The centrality Cheeger constant is `h_v = min |E(U, Uᶜ)| / min(v(U), v(Uᶜ))` over the proper
//! subsets U, with edges counted by weight. This is [`Boundary::Edges`], for which
//! `λ₁(L_v) <= 2 h_v` holds; `v = 1` gives `h_C`. A published definition counts vertices outside U
//! that touch it, [`Boundary::Vertices`], while its proof counts edges; both are here. A zero in
//! `v` counts as one.

use super::markov::refuse_negative_weights;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::operator::powers;
use crate::properties::components;

/// Largest number of nodes for which the Cheeger constant is found by trying every subset.
pub const EXACT_CHEEGER_NODES: usize = 20;

/// The kind of boundary between a set and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Weight of the edges that leave the set.
    Edges,
    /// Number of nodes outside the set with a neighbour in it.
    Vertices,
}

/// A cut: a set of nodes, its boundary and its volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// Ratio `boundary / volume`: the Cheeger constant if `exact`, otherwise an upper bound of it.
    pub constant: f64,
    /// True if no set has a smaller ratio.
    pub exact: bool,
    /// Nodes of the set U, ascending, with at most half of the volume.
    pub nodes: Vec<u32>,
    /// Boundary of the set.
    pub boundary: f64,
    /// Volume `v(U)`.
    pub volume: f64,
}

/// Computes the Cheeger constant of a graph of at most 20 nodes. It visits all subsets in Gray-code
/// order, adding or removing one node at a time. `None` for fewer than two nodes, for which it is
/// infinite by convention. O(2ⁿ · mean degree).
///
/// ```
/// use gnarl_graph::{spectrum::{cheeger_exact, Boundary}, Graph};
/// // A path of four nodes breaks in the middle: one edge, two nodes on each side.
/// let path = Graph::from_edges(4, [(0, 1), (1, 2), (2, 3)])?.0;
/// let cut = cheeger_exact(&path, &[1.0; 4], Boundary::Edges)?.unwrap();
/// assert_eq!((cut.constant, cut.exact), (0.5, true));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn cheeger_exact(graph: &Graph, v: &[f64], boundary: Boundary) -> Result<Option<Cut>> {
    let n = graph.num_nodes();
    if n > EXACT_CHEEGER_NODES {
        return Err(Error::argument(
            "cheeger",
            format!(
                "{n} nodes have too many subsets to try; at most {EXACT_CHEEGER_NODES}, or an upper bound"
            ),
        ));
    }
    let mut set = GrowingSet::new(graph, v, boundary)?;
    if n < 2 {
        return Ok(None);
    }
    // Cutting off a set or the rest crosses equal edges, so there the last node may stay outside.
    let free = if boundary == Boundary::Edges {
        n - 1
    } else {
        n
    };
    let mut best: Option<(f64, u32)> = None;
    for step in 1u32..1 << free {
        set.flip(step.trailing_zeros());
        if let Some(ratio) = set.ratio()
            && best.is_none_or(|(b, _)| ratio < b)
        {
            best = Some((ratio, step ^ (step >> 1)));
        }
    }
    Ok(best.map(|(_, code)| {
        let nodes = (0..n as u32).filter(|u| code >> u & 1 == 1);
        // Recompute from scratch: a million additions and subtractions of weights leave rounding
        // errors.
        GrowingSet::of(graph, &set.v, boundary, nodes).into_cut(true)
    }))
}

/// Computes an upper bound of the Cheeger constant: the best of the sweep cuts, which order the
/// nodes by `scores` and cut between each pair of consecutive ones. `None` for fewer than two
/// nodes. O(m + n log n).
///
/// With the eigenvector of `λ₁(L_v)` as scores and [`Boundary::Edges`] the bound is at most
/// `√(2 β λ₁(L_v))`, `β = max deg(i) / v(i)`. A disconnected graph has the exact constant zero for
/// any scores.
pub fn cheeger_upper_bound(
    graph: &Graph,
    v: &[f64],
    boundary: Boundary,
    scores: &[f64],
) -> Result<Option<Cut>> {
    let n = graph.num_nodes();
    if scores.len() != n {
        return Err(Error::argument(
            "cheeger",
            format!("{} scores for {n} nodes", scores.len()),
        ));
    }
    let mut set = GrowingSet::new(graph, v, boundary)?;
    if let Some(cut) = loose_component(graph, &set.v, boundary) {
        return Ok(Some(cut));
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by(|&a, &b| scores[a as usize].total_cmp(&scores[b as usize]));
    let mut best: Option<(f64, bool, usize)> = None;
    // The vertex boundary of a set differs from that of the rest, so sweep from both ends.
    for backwards in [false, true] {
        for length in 1..n {
            set.flip(order[length - 1]);
            if let Some(ratio) = set.ratio()
                && best.is_none_or(|(b, ..)| ratio < b)
            {
                best = Some((ratio, backwards, length));
            }
        }
        order.reverse();
        set = GrowingSet::of(graph, &set.v, boundary, []);
    }
    Ok(best.map(|(_, backwards, length)| {
        if backwards {
            order.reverse();
        }
        GrowingSet::of(graph, &set.v, boundary, order[..length].iter().copied()).into_cut(false)
    }))
}

/// Returns the component of smallest volume if there are several: no edge joins it to the rest.
fn loose_component(graph: &Graph, v: &[f64], boundary: Boundary) -> Option<Cut> {
    let components = components(graph);
    if components.count() < 2 {
        return None;
    }
    let mut volumes = vec![0.0; components.count()];
    for u in 0..graph.num_nodes() as u32 {
        volumes[components.of(u) as usize] += v[u as usize];
    }
    let least = (0..volumes.len()).min_by(|&a, &b| volumes[a].total_cmp(&volumes[b]))? as u32;
    let nodes = (0..graph.num_nodes() as u32).filter(|&u| components.of(u) == least);
    Some(GrowingSet::of(graph, v, boundary, nodes).into_cut(true))
}

/// A set whose boundary and volume are updated as nodes enter and leave one at a time.
struct GrowingSet<'a> {
    graph: &'a Graph,
    v: Vec<f64>,
    kind: Boundary,
    total: f64,
    inside: Vec<bool>,
    /// Number of neighbours in the set, for each node.
    touching: Vec<u32>,
    cut_weight: f64,
    outer_nodes: usize,
    volume: f64,
}

impl<'a> GrowingSet<'a> {
    /// Makes the empty set.
    fn new(graph: &'a Graph, v: &[f64], kind: Boundary) -> Result<Self> {
        refuse_negative_weights(graph)?;
        Ok(Self::of(graph, &powers(graph, v, 1.0)?, kind, []))
    }

    /// Makes a given set, for a `v` without zeros.
    fn of(
        graph: &'a Graph,
        v: &[f64],
        kind: Boundary,
        nodes: impl IntoIterator<Item = u32>,
    ) -> Self {
        let n = graph.num_nodes();
        let mut set = Self {
            graph,
            v: v.to_vec(),
            kind,
            total: v.iter().sum(),
            inside: vec![false; n],
            touching: vec![0; n],
            cut_weight: 0.0,
            outer_nodes: 0,
            volume: 0.0,
        };
        nodes.into_iter().for_each(|u| set.flip(u));
        set
    }

    /// Adds `u`, or removes it if it is in the set.
    fn flip(&mut self, u: u32) {
        let entering = !self.inside[u as usize];
        let sign = if entering { 1.0 } else { -1.0 };
        self.volume += sign * self.v[u as usize];
        if self.touching[u as usize] > 0 {
            if entering {
                self.outer_nodes -= 1
            } else {
                self.outer_nodes += 1
            }
        }
        for k in self.graph.arc_range(u) {
            let w = self.graph.targets()[k] as usize;
            let weight = sign * self.graph.arc_weight(k);
            self.cut_weight += if self.inside[w] { -weight } else { weight };
            let before = self.touching[w];
            self.touching[w] = if entering { before + 1 } else { before - 1 };
            if !self.inside[w] && before.min(self.touching[w]) == 0 {
                if entering {
                    self.outer_nodes += 1
                } else {
                    self.outer_nodes -= 1
                }
            }
        }
        self.inside[u as usize] = entering;
    }

    fn boundary(&self) -> f64 {
        match self.kind {
            Boundary::Edges => self.cut_weight,
            Boundary::Vertices => self.outer_nodes as f64,
        }
    }

    /// Returns boundary over volume. For edges the volume is that of the lighter side; for vertices
    /// it is `None` if the set is the heavier side.
    fn ratio(&self) -> Option<f64> {
        let rest = self.total - self.volume;
        match self.kind {
            Boundary::Edges => Some(self.boundary() / self.volume.min(rest)),
            // Rounding may put an exact half slightly above.
            Boundary::Vertices => {
                (self.volume - rest <= 1e-12 * self.total).then(|| self.boundary() / self.volume)
            }
        }
    }

    fn into_cut(self, exact: bool) -> Cut {
        let boundary = self.boundary();
        let heavier = self.kind == Boundary::Edges && self.volume > self.total - self.volume;
        let nodes: Vec<u32> = (0..self.inside.len() as u32)
            .filter(|&u| self.inside[u as usize] != heavier)
            .collect();
        let volume = nodes.iter().map(|&u| self.v[u as usize]).sum();
        Cut {
            constant: boundary / volume,
            exact,
            nodes,
            boundary,
            volume,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lanczos::EigenSettings;
    use super::super::markov::{eigenvalue_bound, fiedler};
    use super::super::samples::*;
    use super::*;

    const BOTH: [Boundary; 2] = [Boundary::Edges, Boundary::Vertices];

    /// Computes the constant literally from the definition.
    fn naive(graph: &Graph, v: &[f64], boundary: Boundary) -> f64 {
        let n = graph.num_nodes();
        let total: f64 = v.iter().sum();
        let mut least = f64::INFINITY;
        for code in 1u32..(1 << n) - 1 {
            let inside = |u: u32| code >> u & 1 == 1;
            let volume: f64 = (0..n as u32)
                .filter(|&u| inside(u))
                .map(|u| v[u as usize])
                .sum();
            if volume > total / 2.0 + 1e-12 * total {
                continue;
            }
            let size = match boundary {
                Boundary::Edges => graph
                    .weighted_edges()
                    .filter(|&(a, b, _)| inside(a) != inside(b))
                    .map(|(_, _, w)| w)
                    .sum(),
                Boundary::Vertices => (0..n as u32)
                    .filter(|&u| !inside(u) && graph.neighbours(u).iter().any(|&w| inside(w)))
                    .count() as f64,
            };
            least = least.min(size / volume);
        }
        least
    }

    fn small_graph() -> impl Strategy<Value = (Graph, Vec<f64>)> {
        (2usize..10).prop_flat_map(|n| {
            let edge = (0..n as u32, 0..n as u32, 0.1f64..3.0);
            let graph = prop::collection::vec(edge, 0..30)
                .prop_map(move |edges| Graph::from_weighted_edges(n, edges).unwrap().0);
            (graph, prop::collection::vec(0.05f64..20.0, n))
        })
    }

    proptest! {
        #[test]
        fn exact_is_the_least_over_all_subsets((g, v) in small_graph()) {
            for boundary in BOTH {
                let cut = cheeger_exact(&g, &v, boundary).unwrap().unwrap();
                let expected = naive(&g, &v, boundary);
                prop_assert!(cut.exact);
                prop_assert!((cut.constant - expected).abs() < 1e-11 * expected.max(1.0), "{:?} {}", cut, expected);
                // The set has the reported properties.
                let volume: f64 = cut.nodes.iter().map(|&u| v[u as usize]).sum();
                prop_assert!((volume - cut.volume).abs() < 1e-12 * volume);
                prop_assert!(volume <= v.iter().sum::<f64>() * (0.5 + 1e-12));
                prop_assert!((cut.boundary / cut.volume - cut.constant).abs() < 1e-12);
            }
        }

        #[test]
        fn sweeps_bound_it_from_above_and_the_gap_from_below((g, v) in small_graph()) {
            let (core, old) = g.largest_component();
            prop_assume!(core.num_nodes() > 1);
            let v: Vec<f64> = old.iter().map(|&u| v[u as usize]).collect();
            let (gap, scores) = fiedler(&core, &v, &EigenSettings::default()).unwrap();
            for boundary in BOTH {
                let exact = cheeger_exact(&core, &v, boundary).unwrap().unwrap().constant;
                let sweep = cheeger_upper_bound(&core, &v, boundary, &scores).unwrap().unwrap();
                prop_assert!(!sweep.exact && sweep.constant >= exact * (1.0 - 1e-12));
                if boundary == Boundary::Edges {
                    prop_assert!(gap <= 2.0 * exact * (1.0 + 1e-9), "{} exceeds 2 * {}", gap, exact);
                    let beta = eigenvalue_bound(&core, &v).unwrap().value;
                    prop_assert!(sweep.constant <= (2.0 * beta * gap).sqrt() * (1.0 + 1e-9));
                }
            }
        }
    }

    #[test]
    fn known_constants() {
        let h = |g: &Graph, v: &[f64], b| cheeger_exact(g, v, b).unwrap().unwrap().constant;
        // Half of a complete graph: each of three nodes has three edges to the rest, and three
        // nodes are touched.
        assert_eq!(h(&complete(6), &[1.0; 6], Boundary::Edges), 3.0);
        assert_eq!(h(&complete(6), &[1.0; 6], Boundary::Vertices), 1.0);
        // An arc of half a cycle.
        assert_eq!(h(&cycle(20), &[1.0; 20], Boundary::Edges), 0.2);
        assert_eq!(h(&cycle(20), &[1.0; 20], Boundary::Vertices), 0.2);
        // The leaves of a star are one node away from each other; its degrees make every set cost
        // one edge per volume.
        assert_eq!(h(&star(9), &[1.0; 9], Boundary::Edges), 1.0);
        assert_eq!(h(&star(9), &[1.0; 9], Boundary::Vertices), 0.25);
        assert_eq!(
            h(
                &star(9),
                &[8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
                Boundary::Edges
            ),
            1.0
        );
        // A zero counts as one.
        assert_eq!(h(&path(2), &[0.0, 4.0], Boundary::Edges), 1.0);
    }

    #[test]
    fn sweeps_find_the_bottleneck_of_a_dumbbell() {
        // Two K20 joined by one edge.
        let two = disjoint(&complete(20), 2).add_edges(&[(0, 20)]).unwrap().0;
        let (_, scores) = fiedler(&two, &[1.0; 40], &EigenSettings::default()).unwrap();
        for boundary in BOTH {
            let cut = cheeger_upper_bound(&two, &[1.0; 40], boundary, &scores)
                .unwrap()
                .unwrap();
            assert_eq!(
                (cut.constant, cut.boundary, cut.volume, cut.exact),
                (0.05, 1.0, 20.0, false)
            );
            assert!(
                cut.nodes == (0..20).collect::<Vec<u32>>()
                    || cut.nodes == (20..40).collect::<Vec<u32>>()
            );
        }
    }

    #[test]
    fn disconnected_graphs_have_conductance_zero() {
        let g = disjoint(&cycle(15), 2);
        for boundary in BOTH {
            let cut = cheeger_upper_bound(&g, &[1.0; 30], boundary, &[0.0; 30])
                .unwrap()
                .unwrap();
            assert_eq!((cut.constant, cut.exact, cut.nodes.len()), (0.0, true, 15));
            let isolated = Graph::from_edges(3, [(0, 1)]).unwrap().0;
            let cut = cheeger_exact(&isolated, &[1.0; 3], boundary)
                .unwrap()
                .unwrap();
            assert_eq!((cut.constant, cut.exact), (0.0, true));
        }
    }

    #[test]
    fn odd_sizes() {
        for n in 0..2 {
            let g = Graph::empty(n).unwrap();
            assert_eq!(
                cheeger_exact(&g, &vec![1.0; n], Boundary::Edges).unwrap(),
                None
            );
            assert_eq!(
                cheeger_upper_bound(&g, &vec![1.0; n], Boundary::Vertices, &vec![0.0; n]).unwrap(),
                None
            );
        }
        let e = cheeger_exact(&path(21), &[1.0; 21], Boundary::Edges)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "cheeger: 21 nodes have too many subsets to try; at most 20, or an upper bound"
        );
        let e = cheeger_upper_bound(&path(3), &[1.0; 3], Boundary::Edges, &[0.0])
            .unwrap_err()
            .to_string();
        assert_eq!(e, "cheeger: 1 scores for 3 nodes");
        let negative = Graph::from_weighted_edges(2, [(0, 1, -2.0)]).unwrap().0;
        assert!(
            cheeger_exact(&negative, &[1.0; 2], Boundary::Edges)
                .unwrap_err()
                .to_string()
                .contains("weight -2")
        );
    }
}
