//! Special functions that densities need and the standard library lacks.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Returns `ln Γ(x)` for `x > 0`.
pub(super) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Returns `ln B(a, b)` for positive numbers.
pub(super) fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// Returns `ψ(x) = d ln Γ(x) / dx` for `x > 0`: `ψ(x) = ψ(x + 1) - 1 / x` is applied until the
/// asymptotic series has full precision.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    // Bernoulli numbers B_2k / 2k.
    let series = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32760.0,
    ];
    let tail = series.iter().rev().fold(0.0, |sum, c| (sum + c) * square);
    x.ln() - 0.5 / x - tail - below
}

/// Returns the standard normal distribution function.
pub(super) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// Returns the standard normal quantile of a probability between 0 and 1: bisection, which needs no
/// constants, then Newton's steps.
pub(super) fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-39.0f64, 39.0f64);
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < p {
            low = middle
        } else {
            high = middle
        }
    }
    let mut x = 0.5 * (low + high);
    for _ in 0..4 {
        let slope = (-0.5 * x * x).exp() / TAU.sqrt();
        if slope > 0.0 {
            x = (x - (normal_cdf(x) - p) / slope).clamp(low - 1e-3, high + 1e-3);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known values: ψ(1) is minus Euler's constant, ψ(1/2) = ψ(1) - 2 ln 2, Γ(5) = 24, quantiles
    /// from tables.
    #[test]
    fn known_values() {
        let close =
            |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a}, not {b}");
        let euler = 0.577_215_664_901_532_9;
        close(digamma(1.0), -euler);
        close(digamma(0.5), -euler - 2.0 * 2f64.ln());
        close(digamma(100.0), 4.600_161_852_738_087);
        close(ln_gamma(5.0), 24f64.ln());
        close(ln_beta(2.0, 3.0), -(12f64.ln()));
        close(normal_quantile(0.975), 1.959_963_984_540_054);
        close(normal_quantile(0.5), 0.0);
        for p in [1e-12, 0.001, 0.3, 0.9, 1.0 - 1e-9] {
            assert!(
                (normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-9,
                "{p}"
            );
        }
    }
}
