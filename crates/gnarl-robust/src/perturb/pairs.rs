//! Random pairs of nodes, without a list of all pairs.

use std::collections::HashSet;

use gnarl_graph::random::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;

/// Pair of nodes, the smaller first.
pub type Pair = (u32, u32);

/// Maximal number of pairs that are enumerated if random tries find too few.
const WORTH_LISTING: u64 = 100_000_000;
/// Number of tries for each pair, before the search stops.
const TRIES: usize = 30;

/// Samples up to `count` different pairs that `wanted` accepts, each set of them with equal
/// probability. They exclude `taken`, to which they are added. Fewer are returned only if there are
/// no more, or if so few of more than 10^8 pairs are accepted that random tries do not find them.
pub fn sample_pairs(
    num_nodes: usize,
    count: usize,
    wanted: impl Fn(u32, u32) -> bool,
    taken: &mut HashSet<Pair>,
    rng: &mut Rng,
) -> Vec<Pair> {
    let mut sampled = Vec::new();
    if num_nodes < 2 {
        return sampled;
    }
    let n = num_nodes as u32;
    let all = u64::from(n) * u64::from(n - 1) / 2;
    // If most of them are accepted, random tries would repeat the same pairs for the last ones.
    let tries = if count as u64 > all / 2 && all <= WORTH_LISTING {
        0
    } else {
        count.saturating_mul(TRIES)
    };
    for _ in 0..tries.saturating_add(1000) {
        if sampled.len() == count {
            return sampled;
        }
        let u = rng.random_range(0..n);
        let v = rng.random_range(0..n - 1);
        let v = if v >= u { v + 1 } else { v };
        let pair = (u.min(v), u.max(v));
        if wanted(pair.0, pair.1) && taken.insert(pair) {
            sampled.push(pair);
        }
    }
    if sampled.len() < count && all <= WORTH_LISTING {
        sampled.extend(reservoir(n, count - sampled.len(), &wanted, taken, rng));
    }
    sampled
}

/// Samples up to `count` of the edges, each set of them with equal probability.
pub fn sample_edges(mut edges: Vec<Pair>, count: usize, rng: &mut Rng) -> Vec<Pair> {
    edges.shuffle(rng);
    edges.truncate(count);
    edges
}

/// Samples this many of the remaining pairs, by enumerating all of them.
fn reservoir(
    n: u32,
    count: usize,
    wanted: &impl Fn(u32, u32) -> bool,
    taken: &mut HashSet<Pair>,
    rng: &mut Rng,
) -> Vec<Pair> {
    let mut kept: Vec<Pair> = Vec::with_capacity(count);
    let mut seen = 0usize;
    for u in 0..n {
        for v in u + 1..n {
            if !wanted(u, v) || taken.contains(&(u, v)) {
                continue;
            }
            seen += 1;
            if kept.len() < count {
                kept.push((u, v));
            } else {
                let place = rng.random_range(0..seen);
                if place < count {
                    kept[place] = (u, v);
                }
            }
        }
    }
    taken.extend(kept.iter().copied());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;

    #[test]
    fn all_pairs_are_found_and_each_is_as_likely() {
        let mut counts = [[0usize; 6]; 6];
        for i in 0..3000 {
            let rng = &mut stream(1, "pairs test", i);
            let mut taken = HashSet::from([(0, 1)]);
            let sampled = sample_pairs(6, 4, |u, v| (u, v) != (2, 3), &mut taken, rng);
            assert_eq!((sampled.len(), taken.len()), (4, 5));
            sampled
                .iter()
                .for_each(|&(u, v)| counts[u as usize][v as usize] += 1);
        }
        for u in 0..6 {
            for v in 0..6 {
                let never = u >= v || (u, v) == (0, 1) || (u, v) == (2, 3);
                // 4 of 13 pairs: 923 of 3,000, with a standard deviation of 25.
                let expected = if never { 0.0 } else { 12000.0 / 13.0 };
                assert!(
                    (counts[u][v] as f64 - expected).abs() <= if never { 0.0 } else { 130.0 },
                    "{u} {v}: {counts:?}"
                );
            }
        }
        let rng = &mut stream(1, "pairs test", 0);
        assert_eq!(
            sample_pairs(6, 100, |_, _| true, &mut HashSet::new(), rng).len(),
            15,
            "there are no more"
        );
        assert_eq!(
            sample_pairs(
                2000,
                5,
                |u, v| v == u + 1 && u < 3,
                &mut HashSet::new(),
                rng
            )
            .len(),
            3,
            "rare ones"
        );
        assert!(sample_pairs(1, 5, |_, _| true, &mut HashSet::new(), rng).is_empty());
    }

    #[test]
    fn edges_are_sampled_once_and_each_is_as_likely() {
        let edges: Vec<Pair> = (0..5).map(|u| (u, u + 1)).collect();
        let mut counts = [0usize; 5];
        for i in 0..3000 {
            let sampled = sample_edges(edges.clone(), 2, &mut stream(2, "pairs test", i));
            assert!(sampled.len() == 2 && sampled[0] != sampled[1]);
            sampled.iter().for_each(|&(u, _)| counts[u as usize] += 1);
        }
        // 2 of 5 edges: 1,200 of 3,000, with a standard deviation of 27.
        assert!(counts.iter().all(|&c| c.abs_diff(1200) < 140), "{counts:?}");
        assert_eq!(
            sample_edges(edges, 9, &mut stream(2, "pairs test", 0)).len(),
            5,
            "there are no more"
        );
    }
}
