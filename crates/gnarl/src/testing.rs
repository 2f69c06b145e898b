//! How far apart distributions are, for tests of random draws.

/// The largest distance between the empirical distribution of `values` and `cdf`.
pub fn kolmogorov(values: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let gap = |(i, &v): (usize, &f64)| (cdf(v) - i as f64 / n).abs().max((cdf(v) - (i as f64 + 1.0) / n).abs());
    sorted.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// The largest distance between two empirical distributions without ties.
pub fn kolmogorov_two(a: &[f64], b: &[f64]) -> f64 {
    let mut b = b.to_vec();
    b.sort_unstable_by(f64::total_cmp);
    kolmogorov(a, |x| b.partition_point(|&y| y <= x) as f64 / b.len() as f64)
}

/// What the distance stays below in all but one of a thousand seeds: one sample of `n`, or two of `2n` each.
pub fn critical(n: usize) -> f64 {
    1.95 / (n as f64).sqrt()
}
