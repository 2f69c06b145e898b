//! Confidence bounds on a probability ([Clopper and Pearson
//! 1934](https://doi.org/10.1093/biomet/26.4.404)), and the normal distribution's quantiles.
//!
//! Let k of n samples be hits. The largest p with `P(Bin(n, p) >= k) <= alpha` is below the true
//! probability except in a share alpha of all experiments. That tail is the incomplete beta
//! function `I_p(k, n - k + 1)`, and p is found by bisection. The result is the conservative end of
//! the last interval.

/// Number of bisections of [0, 1]: more than a double has bits.
const HALVINGS: usize = 60;

/// Lower confidence bound on the probability of `hits` in `of` samples: wrong in at most a share
/// `alpha` of all experiments. Zero without hits.
pub fn lower(hits: u64, of: u64, alpha: f64) -> f64 {
    if hits == 0 || hits > of {
        return 0.0;
    }
    if hits == of {
        return alpha.powf(1.0 / of as f64);
    }
    let (a, b) = (hits as f64, (of - hits + 1) as f64);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if incomplete_beta(a, b, middle) <= alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Upper confidence bound on the probability, wrong in at most a share `alpha` of all experiments.
/// One if every sample is a hit.
pub fn upper(hits: u64, of: u64, alpha: f64) -> f64 {
    1.0 - lower(of - hits.min(of), of, alpha)
}

/// Regularised incomplete beta function `I_x(a, b)`, by its continued fraction (DLMF 8.17.22) on
/// the side with fast convergence. For positive a, b.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = a * x.ln() + b * (-x).ln_1p() - (ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b));
    front.exp() / (a * fraction(a, b, x))
}

/// Continued fraction `1 + d_1 / (1 + d_2 / (1 + …))`, from the front (Lentz). It needs a few roots
/// of a and b terms.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut c, mut d) = (1.0f64, 1.0f64, 0.0f64);
    for n in 1..100_000u32 {
        let m = f64::from(n / 2);
        let term = match n % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 / away(1.0 + term * d);
        c = away(1.0 + term / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// Logarithm of the gamma function, by Stirling's series from ten on.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

/// Cumulative distribution function of the normal distribution.
pub fn normal(x: f64) -> f64 {
    if x > 0.0 {
        return 1.0 - normal(-x);
    }
    let y = -x;
    let density = (-0.5 * y * y).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if y < 3.0 {
        // y + y³/3 + y⁵/15 + …
        let (mut term, mut sum, mut odd) = (y, y, 1.0);
        while term > 1e-18 * sum {
            odd += 2.0;
            term *= y * y / odd;
            sum += term;
        }
        return 0.5 - density * sum;
    }
    let tail = (1..200)
        .rev()
        .fold(0.0, |inner, k| f64::from(k) / (y + inner));
    density / (y + tail)
}

/// Quantile of the normal distribution: infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if normal(middle) <= p {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Python: the tail `sum(comb(n, i) p^i (1 - p)^(n - i) for i in k..n)` solved for alpha
    /// by bisection.
    #[test]
    fn bounds_by_reference() {
        let cases = [
            (8, 10, 0.05, 0.493_098_698_9),
            (1, 10, 0.01, 0.001_004_528_7),
            (50, 100, 0.025, 0.398_321_129_5),
            (100_000, 100_000, 0.01, 0.999_953_949_4),
        ];
        for (hits, of, alpha, expected) in cases {
            let found = lower(hits, of, alpha);
            assert!(
                (found - expected).abs() < 1e-9,
                "{hits} of {of}: {found}, not {expected}"
            );
            assert_eq!(upper(of - hits, of, alpha), 1.0 - found, "the other side");
        }
        assert_eq!(
            (lower(0, 5, 0.1), upper(5, 5, 0.1), lower(0, 0, 0.1)),
            (0.0, 1.0, 0.0)
        );
    }

    /// At the bound, the tail of the binomial distribution, summed term by term, is alpha.
    #[test]
    fn the_tail_at_the_bound_is_the_level() {
        for (hits, of, alpha) in [
            (3u64, 20u64, 0.01),
            (17, 20, 0.2),
            (950, 1000, 0.001),
            (501, 1000, 0.5),
        ] {
            let p = lower(hits, of, alpha);
            let log_term = |k: u64| {
                let choose = ln_gamma(of as f64 + 1.0)
                    - ln_gamma(k as f64 + 1.0)
                    - ln_gamma((of - k) as f64 + 1.0);
                choose + k as f64 * p.ln() + (of - k) as f64 * (-p).ln_1p()
            };
            let tail: f64 = (hits..=of).map(|k| log_term(k).exp()).sum();
            assert!(
                (tail / alpha - 1.0).abs() < 1e-9,
                "{hits} of {of}: {tail}, not {alpha}"
            );
        }
    }

    /// Φ(1.959963984540054) = 0.975 and Φ(-4) = 3.167124183311986e-5, from tables.
    #[test]
    fn the_normal_distribution_by_table() {
        assert!((normal(1.959_963_984_540_054) - 0.975).abs() < 1e-14);
        assert!((normal(-4.0) / 3.167_124_183_311_986e-5 - 1.0).abs() < 1e-12);
        for p in [1e-9, 0.01, 0.5, 0.9, 0.999_99] {
            assert!((normal(normal_quantile(p)) / p - 1.0).abs() < 1e-9, "{p}");
        }
        assert_eq!(
            (normal_quantile(0.0), normal_quantile(1.0)),
            (f64::NEG_INFINITY, f64::INFINITY)
        );
    }
}
