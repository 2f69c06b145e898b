//! Configuration model: a random graph with given degrees, and an augmentation that breaks some
//! edges of a graph and rejoins their halves at random.
//!
//! Pairing stubs uniformly makes self-loops and duplicates. Here the pairing is a long chain of
//! double-edge swaps instead: two broken edges `a-b` and `c-d` become `a-c` and `b-d`, or `a-d` and
//! `b-c`. A swap that would make a self-loop or a duplicate is skipped. The graph is simple and has
//! exactly its degrees after every step. Since a swap is as likely as its reverse, the chain tends
//! to the uniform pairing among simple graphs.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use rand::RngExt;

use super::{MAX_SIZE, check_probability, check_size};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::{Rng, stream};

/// Number of proposed swaps per broken edge. Each proposal touches two edges, so an edge is
/// proposed for 20 swaps on average.
const SWAPS_PER_EDGE: usize = 10;

/// Samples a random simple graph in which node `u` has exactly `degrees[u]` neighbours. O(n + m)
/// expected.
///
/// The graph is Havel and Hakimi's construction, mixed by ten proposed swaps per edge. Fails if no
/// simple graph has these degrees (Erdős and Gallai 1960), naming the reason.
///
/// ```
/// let g = gnarl_graph::generate::configuration_model(&[3, 2, 2, 2, 1], 7)?;
/// assert_eq!((0..5).map(|u| g.degree(u)).collect::<Vec<_>>(), [3, 2, 2, 2, 1]);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn configuration_model(degrees: &[usize], seed: u64) -> Result<Graph> {
    const OP: &str = "configuration_model";
    check_graphical(OP, degrees)?;
    let mut edges = havel_hakimi(degrees);
    let everything: Vec<usize> = (0..edges.len()).collect();
    swap_at_random(&mut stream(seed, OP, 0), &mut edges, &everything);
    Ok(Graph::from_edges(degrees.len(), edges)?.0)
}

/// Breaks each edge with probability `r` and rejoins the halves at random; features, labels and
/// splits stay. Every degree is preserved. O(n + m) expected.
///
/// A broken edge that no swap could move without making a self-loop or a duplicate is kept. In a
/// weighted graph a broken edge keeps its weight, so the multiset of weights is preserved, but
/// weighted degrees change.
pub fn rewire(graph: &Graph, r: f64, seed: u64) -> Result<Graph> {
    const OP: &str = "rewire";
    check_probability(OP, "r", r)?;
    let mut rng = stream(seed, OP, 0);
    let mut edges: Vec<(u32, u32)> = graph.edges().collect();
    let broken: Vec<usize> = (0..edges.len()).filter(|_| rng.random_bool(r)).collect();
    swap_at_random(&mut rng, &mut edges, &broken);
    let n = graph.num_nodes();
    let mut rewired = match graph.weights() {
        None => Graph::from_edges(n, edges)?.0,
        Some(_) => {
            let weights = graph.weighted_edges().map(|(_, _, w)| w);
            Graph::from_weighted_edges(
                n,
                edges.into_iter().zip(weights).map(|((u, v), w)| (u, v, w)),
            )?
            .0
        }
    };
    rewired.carry_from(graph);
    Ok(rewired)
}

/// Swaps the ends of random pairs among the edges named by `broken`, keeping the whole list simple.
fn swap_at_random(rng: &mut Rng, edges: &mut [(u32, u32)], broken: &[usize]) {
    if broken.len() < 2 {
        return;
    }
    let mut present: PairSet = edges.iter().map(|&(u, v)| key(u, v)).collect();
    for _ in 0..SWAPS_PER_EDGE * broken.len() {
        let i = broken[rng.random_range(0..broken.len())];
        let j = broken[rng.random_range(0..broken.len())];
        let ((a, b), (mut c, mut d)) = (edges[i], edges[j]);
        if rng.random() {
            (c, d) = (d, c);
        }
        // Also false for i = j: one of the new pairs would be a self-loop, or both would be the
        // edge itself.
        let simple =
            a != c && b != d && !present.contains(&key(a, c)) && !present.contains(&key(b, d));
        if simple {
            present.remove(&key(a, b));
            present.remove(&key(c, d));
            present.insert(key(a, c));
            present.insert(key(b, d));
            (edges[i], edges[j]) = ((a, c), (b, d));
        }
    }
}

/// Encodes an unordered pair as one number.
fn key(u: u32, v: u32) -> u64 {
    u64::from(u.min(v)) << 32 | u64::from(u.max(v))
}

/// A set of [`key`]s. Its order is never used, so a hash of one multiplication is enough.
type PairSet = HashSet<u64, BuildHasherDefault<PairHasher>>;

#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, x: u64) {
        let product = u128::from(x ^ 0x9e37_79b9_7f4a_7c15) * 0xbf58_476d_1ce4_e5b9;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Fails if no simple graph has these degrees, naming the first reason found.
fn check_graphical(op: &'static str, degrees: &[usize]) -> Result<()> {
    let n = degrees.len();
    check_size(op, n, 0.0)?;
    if let Some(u) = degrees.iter().position(|&d| d >= n) {
        let what = format!(
            "node {u} has degree {}, but there are only {} other nodes",
            degrees[u],
            n - 1
        );
        return Err(Error::argument(op, what));
    }
    let sum: u64 = degrees.iter().map(|&d| d as u64).sum();
    if sum / 2 > MAX_SIZE {
        return Err(Error::argument(
            op,
            format!("{} edges, at most {MAX_SIZE} are allowed", sum / 2),
        ));
    }
    if sum % 2 == 1 {
        return Err(Error::argument(
            op,
            format!("the degrees sum to {sum}, which is odd: every edge adds two"),
        ));
    }
    // Erdős and Gallai: for each k, the k largest degrees are at most k (k - 1) + sum over the
    // others of min(d, k).
    let mut sorted: Vec<u64> = degrees.iter().map(|&d| d as u64).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut larger = 0;
    let mut remaining = sum;
    // Degrees from position `small` on are below k: they count in full, those before it count k
    // each.
    let mut small = n;
    let mut small_sum = 0;
    for k in 1..=n {
        larger += sorted[k - 1];
        remaining -= sorted[k - 1];
        while small > 0 && sorted[small - 1] < k as u64 {
            small -= 1;
            small_sum += sorted[small];
        }
        let (k64, others) = (k as u64, (small.max(k) - k) as u64);
        let limit = k64 * (k64 - 1) + others * k64 + if small >= k { small_sum } else { remaining };
        if larger > limit {
            let what = format!(
                "no simple graph: the {k} largest degrees sum to {larger}, but at most {limit} can be met"
            );
            return Err(Error::argument(op, what));
        }
    }
    Ok(())
}

/// Builds a graph with these degrees: the node that needs fewest neighbours gets the nodes that
/// need most, until none needs any (Hakimi 1962). O(n + m), since nodes are kept sorted by need in
/// buckets.
fn havel_hakimi(degrees: &[usize]) -> Vec<(u32, u32)> {
    let n = degrees.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&u| std::cmp::Reverse(degrees[u as usize]));
    let mut need = degrees.to_vec();
    // order[..at_least[d]] are the nodes that need d or more.
    let mut at_least = vec![0usize; order.first().map_or(0, |&u| need[u as usize]) + 2];
    for &d in degrees {
        at_least[d] += 1;
    }
    for d in (0..at_least.len() - 1).rev() {
        at_least[d] += at_least[d + 1];
    }
    let mut edges = Vec::with_capacity(degrees.iter().sum::<usize>() / 2);
    while at_least[1] > 0 {
        let u = order[at_least[1] - 1];
        let count = std::mem::take(&mut need[u as usize]);
        at_least[1..=count].iter_mut().for_each(|k| *k -= 1);
        // The `count` neediest are all those above some need d, and the last ones of the bucket of
        // d: taking the last keeps the order sorted when each of them needs one less.
        let d = need[order[count - 1] as usize];
        let above = at_least[d + 1];
        let last_of_bucket = at_least[d] - (count - above)..at_least[d];
        for position in last_of_bucket.rev().chain((0..above).rev()) {
            let v = order[position];
            edges.push((u, v));
            at_least[need[v as usize]] -= 1;
            need[v as usize] -= 1;
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{barabasi_albert, complete, cycle, erdos_renyi, star};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn degrees(graph: &Graph) -> Vec<usize> {
        (0..graph.num_nodes() as u32)
            .map(|u| graph.degree(u))
            .collect()
    }

    /// Returns true if some simple graph on up to 6 nodes has these degrees, by trying all.
    fn graphical_by_search(degrees: &[usize]) -> bool {
        let n = degrees.len() as u32;
        let pairs: Vec<(u32, u32)> = (0..n).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        (0u32..1 << pairs.len()).any(|chosen| {
            let mut got = vec![0; degrees.len()];
            for (bit, &(u, v)) in pairs.iter().enumerate() {
                if chosen >> bit & 1 == 1 {
                    got[u as usize] += 1;
                    got[v as usize] += 1;
                }
            }
            got == degrees
        })
    }

    proptest! {
        #[test]
        fn accepts_exactly_the_graphical_degrees(degrees_in in prop::collection::vec(0usize..6, 0..6)) {
            let made = configuration_model(&degrees_in, 0);
            prop_assert_eq!(made.is_ok(), graphical_by_search(&degrees_in));
            if let Ok(g) = made { prop_assert_eq!(degrees(&g), degrees_in); }
        }

        #[test]
        fn degrees_are_kept(n in 2usize..60, p in 0.0f64..1.0, r in 0.0f64..=1.0, seed in any::<u64>()) {
            let g = erdos_renyi(n, p, seed).unwrap();
            prop_assert_eq!(degrees(&configuration_model(&degrees(&g), seed).unwrap()), degrees(&g));
            prop_assert_eq!(degrees(&rewire(&g, r, seed).unwrap()), degrees(&g));
        }
    }

    #[test]
    fn every_pairing_is_as_likely() {
        // Six nodes of degree one: 15 perfect matchings, 15,000 samples, 4 sigma = 122.
        let mut seen = BTreeMap::new();
        for seed in 0..15_000 {
            let edges: Vec<_> = configuration_model(&[1; 6], seed)
                .unwrap()
                .edges()
                .collect();
            *seen.entry(edges).or_insert(0i32) += 1;
        }
        assert_eq!(seen.len(), 15);
        assert!(seen.values().all(|k| (k - 1000).abs() < 122), "{seen:?}");
        // Five nodes of degree two: the 12 five-cycles.
        let mut seen = BTreeMap::new();
        for seed in 0..12_000 {
            let edges: Vec<_> = configuration_model(&[2; 5], seed)
                .unwrap()
                .edges()
                .collect();
            *seen.entry(edges).or_insert(0i32) += 1;
        }
        assert_eq!(seen.len(), 12);
        assert!(seen.values().all(|k| (k - 1000).abs() < 122), "{seen:?}");
    }

    #[test]
    fn impossible_degrees_say_why() {
        let fault = |degrees: &[usize]| configuration_model(degrees, 0).unwrap_err().to_string();
        assert_eq!(
            fault(&[1, 1, 1]),
            "configuration_model: the degrees sum to 3, which is odd: every edge adds two"
        );
        assert_eq!(
            fault(&[1, 4, 1]),
            "configuration_model: node 1 has degree 4, but there are only 2 other nodes"
        );
        assert_eq!(
            fault(&[3, 3, 1, 1]),
            "configuration_model: no simple graph: the 2 largest degrees sum to 6, but at most 4 can be met"
        );
        assert!(configuration_model(&[], 0).unwrap().num_nodes() == 0);
        assert!(configuration_model(&[0], 0).unwrap().num_edges() == 0);
    }

    #[test]
    fn hubs_and_large_graphs_keep_their_degrees() {
        let g = barabasi_albert(20_000, 3, 1).unwrap();
        let random = configuration_model(&degrees(&g), 1).unwrap();
        assert_eq!(degrees(&random), degrees(&g));
        let kept = g.edges().filter(|&(u, v)| random.has_edge(u, v)).count();
        assert!(
            kept < g.num_edges() / 20,
            "{kept} of {} edges are still there",
            g.num_edges()
        );
    }

    #[test]
    fn r_says_how_much_changes() {
        let g = erdos_renyi(2000, 0.005, 1).unwrap();
        let m = g.num_edges() as f64;
        let moved = |r| {
            let other = rewire(&g, r, 2).unwrap();
            g.edges().filter(|&(u, v)| !other.has_edge(u, v)).count() as f64 / m
        };
        assert_eq!(moved(0.0), 0.0);
        // A sparse graph loses nearly every broken edge; 4 sigma of the binomial is 0.016.
        assert!((moved(0.2) - 0.2).abs() < 0.02, "{}", moved(0.2));
        assert!(moved(1.0) > 0.98, "{}", moved(1.0));
    }

    #[test]
    fn edges_that_cannot_move_stay() {
        for rigid in [
            complete(6).unwrap(),
            star(6).unwrap(),
            cycle(3).unwrap(),
            Graph::empty(4).unwrap(),
        ] {
            assert_eq!(rewire(&rigid, 1.0, 0).unwrap().targets(), rigid.targets());
        }
    }

    #[test]
    fn features_and_labels_stay_and_weights_move_with_edges() {
        use crate::{CsrMatrix, Features, Labels, Split};
        let edges = (0..40u32).map(|u| (u, (u + 1) % 40, f64::from(u) + 0.5));
        let g = Graph::from_weighted_edges(40, edges)
            .unwrap()
            .0
            .with_features(Features::Sparse(CsrMatrix::identity(40)))
            .unwrap()
            .with_labels(Labels::new(vec![Some(0); 40], 1).unwrap())
            .unwrap()
            .with_splits(vec![
                Split::new("public", vec![0], vec![1], vec![2]).unwrap(),
            ])
            .unwrap();
        let other = rewire(&g, 1.0, 5).unwrap();
        assert_ne!(other.targets(), g.targets());
        assert_eq!(
            (other.features(), other.labels(), other.splits()),
            (g.features(), g.labels(), g.splits())
        );
        let sorted = |g: &Graph| {
            let mut w: Vec<f64> = g.weighted_edges().map(|e| e.2).collect();
            w.sort_by(f64::total_cmp);
            w
        };
        assert_eq!(sorted(&other), sorted(&g));
    }

    #[test]
    fn bad_shares_are_refused_and_the_seed_fixes_the_graph() {
        let g = cycle(30).unwrap();
        for bad in [f64::NAN, -0.1, 1.1] {
            let e = rewire(&g, bad, 0).unwrap_err().to_string();
            assert_eq!(
                e,
                format!("rewire: r {bad} must be a probability, from 0 to 1")
            );
        }
        let edges = |seed| rewire(&g, 0.5, seed).unwrap().edges().collect::<Vec<_>>();
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
    }
}
