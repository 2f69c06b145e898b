//! Lower bound on the number of graphs within r flips of a graph (RobustCRF,
//! [Abbahaddou et al. 2024](https://arxiv.org/abs/2411.05399)), in log space: the number itself
//! overflows.

/// Returns the base-2 logarithm of the lemma's lower bound, `2^(H(ε) N) / sqrt(8 N ε (1 - ε))` with
/// `N = n (n - 1) / 2` pairs of nodes and `ε = r / N`. Zero flips, or all of them, leave one graph
/// at that distance. The lemma has `N = n (n + 1) / 2`, which counts self-loops; graphs here have
/// none.
pub fn log2_neighbours_at_least(num_nodes: usize, radius: f64) -> f64 {
    let n = num_nodes as f64;
    let places = (n * (n - 1.0) / 2.0).max(0.0);
    let share = (radius / places).clamp(0.0, 1.0);
    if places == 0.0 || share == 0.0 || share == 1.0 {
        return 0.0;
    }
    let entropy = -share * share.log2() - (1.0 - share) * (1.0 - share).log2();
    entropy * places - 0.5 * (8.0 * places * share * (1.0 - share)).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns log2 of C(N, r) by the sum of logarithms.
    fn log2_binomial(places: u64, r: u64) -> f64 {
        (0..r)
            .map(|i| ((places - i) as f64 / (i + 1) as f64).log2())
            .sum()
    }

    #[test]
    fn the_bound_is_below_the_number_of_graphs_and_close() {
        for (n, r) in [(5u64, 3u64), (20, 10), (20, 95), (100, 50), (2708, 105)] {
            let exact = log2_binomial(n * (n - 1) / 2, r);
            let bound = log2_neighbours_at_least(n as usize, r as f64);
            assert!(
                bound <= exact && bound > exact - 1.0,
                "n {n}, r {r}: {bound} against {exact}"
            );
        }
    }

    /// Five nodes have ten places. For three flips ε = 0.3, H(ε) = 0.881291, and 8 N ε (1 - ε) =
    /// 16.8: 8.81291 - 2.03520. There are C(10, 3) = 120 such graphs, 2^6.9069.
    #[test]
    fn five_nodes_by_hand() {
        let bound = log2_neighbours_at_least(5, 3.0);
        assert!((bound - 6.777_71).abs() < 1e-4, "{bound}");
        // Two nodes have one place, three have three: one flip is 2^(H(1/3) 3) / sqrt(16/3), below
        // C(3, 1) = 3.
        assert_eq!(log2_neighbours_at_least(2, 1.0), 0.0);
        assert!(
            (log2_neighbours_at_least(3, 1.0) - 1.547_37).abs() < 1e-4,
            "{}",
            log2_neighbours_at_least(3, 1.0)
        );
    }

    #[test]
    fn edges_of_its_range() {
        assert_eq!(log2_neighbours_at_least(0, 0.0), 0.0);
        assert_eq!(log2_neighbours_at_least(10, 0.0), 0.0);
        assert_eq!(log2_neighbours_at_least(1, 1.0), 0.0);
        assert_eq!(log2_neighbours_at_least(10, 45.0), 0.0);
        assert!(log2_neighbours_at_least(1_000_000, 1e9).is_finite());
    }
}
