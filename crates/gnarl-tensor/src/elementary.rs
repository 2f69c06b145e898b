//! Vectorised normal samples and exponentials, branch-free in single precision so that the compiler
//! can use wide registers.

use gnarl_graph::random::mix;

use crate::simd::simd_dispatch;

/// Fills a slice with independent standard normal samples, fixed by the key: Box–Muller pairs from
/// counter-based hashes. No sample lies beyond 6.7 standard deviations, where one in 10^11 would.
pub fn standard_normals(key: u64, out: &mut [f32]) {
    normals_from(key, out);
}

simd_dispatch! {
    fn normals_from(key: u64, out: &mut [f32]) {
        const BLOCK: usize = 64;
        let mut bits = [0u64; BLOCK];
        for (block, chunk) in out.chunks_mut(2 * BLOCK).enumerate() {
            let first = key.wrapping_add((block * BLOCK) as u64);
            for (i, b) in bits.iter_mut().enumerate() {
                *b = mix(first.wrapping_add(i as u64));
            }
            let mut pairs = [[0f32; BLOCK]; 2];
            let [cosines, sines] = &mut pairs;
            for i in 0..BLOCK {
                let (high, low) = ((bits[i] >> 32) as u32, bits[i] as u32);
                let radius = (-2.0 * ln_of_share(high)).sqrt();
                // The angle within a quarter, from its middle; two more bits say which quarter.
                let angle = ((low >> 2) as f32 * (1.0 / 1_073_741_824.0) - 0.5) * std::f32::consts::FRAC_PI_2;
                let (sine, cosine) = sine_cosine(angle);
                let scale = radius * std::f32::consts::FRAC_1_SQRT_2;
                let signed = |value: f32, bit: u32| f32::from_bits(value.to_bits() ^ (bit << 31));
                cosines[i] = signed(scale * (cosine - sine), low & 1);
                sines[i] = signed(scale * (cosine + sine), (low >> 1) & 1);
            }
            let half = chunk.len().div_ceil(2);
            let (firsts, seconds) = chunk.split_at_mut(half);
            firsts.copy_from_slice(&cosines[..firsts.len()]);
            seconds.copy_from_slice(&sines[..seconds.len()]);
        }
    }
}

simd_dispatch! {
    /// Replaces every value by its exponential; below -87 the result is that of -87.
    pub fn exponentials(values: &mut [f32]) {
        for v in values.iter_mut() {
            *v = exponential(*v);
        }
    }
}

/// Computes the natural logarithm of `(bits + 1/2) / 2^32`.
#[inline(always)]
fn ln_of_share(bits: u32) -> f32 {
    let share = (bits as f32 + 0.5) * (1.0 / 4_294_967_296.0);
    // share = m 2^e with m between sqrt(1/2) and sqrt 2, so that m - 1 is small.
    let raw = share.to_bits();
    let shifted = raw.wrapping_sub(0x3f35_04f3);
    let exponent = (shifted as i32) >> 23;
    let m = f32::from_bits(raw.wrapping_sub((exponent << 23) as u32)) - 1.0;
    // ln(1 + m) = 2 atanh(m / (2 + m)), whose series in the square converges fast: the square is at
    // most 0.03.
    let s = m / (2.0 + m);
    let z = s * s;
    let series = 2.0 * s * (1.0 + z * (1.0 / 3.0 + z * (0.2 + z * (1.0 / 7.0 + z * (1.0 / 9.0)))));
    exponent as f32 * std::f32::consts::LN_2 + series
}

/// Computes the sine and cosine of an angle between -π/4 and π/4, by their series.
#[inline(always)]
fn sine_cosine(angle: f32) -> (f32, f32) {
    let z = angle * angle;
    let sine = angle
        * (1.0
            + z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0 + z * (1.0 / 362_880.0)))));
    let cosine = 1.0 + z * (-0.5 + z * (1.0 / 24.0 + z * (-1.0 / 720.0 + z * (1.0 / 40_320.0))));
    (sine, cosine)
}

/// Computes the exponential; below -87 it is that of -87, above 88 that of 88. NaN stays NaN.
#[inline(always)]
pub fn exponential(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    // x = n ln 2 + r; adding and taking away 1.5 · 2^23 rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let n = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    // ln 2 in two parts, the first exact in few bits.
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let series = 1.0
        + r * (1.0
            + r * (0.5
                + r * (1.0 / 6.0
                    + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0))))));
    series * f32::from_bits(((n as i32 + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{critical, kolmogorov};

    /// Computes the normal distribution function, by the series of its integral around zero
    /// (Marsaglia 2004).
    fn phi(x: f64) -> f64 {
        let (mut term, mut sum, mut k) = (x, x, 1.0);
        while term.abs() > 1e-17 * sum.abs().max(1e-300) {
            k += 2.0;
            term *= x * x / k;
            sum += term;
        }
        0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
    }

    #[test]
    fn samples_are_standard_normal_and_independent_in_pairs() {
        let mut draws = vec![0f32; 200_000];
        standard_normals(7, &mut draws);
        let values: Vec<f64> = draws.iter().map(|&v| f64::from(v)).collect();
        let gap = kolmogorov(&values, phi);
        assert!(gap < critical(values.len()), "{gap}");
        let moment = |f: &dyn Fn(usize) -> f64| (0..100_000).map(f).sum::<f64>() / 1e5;
        // Five standard errors of a mean over 100,000: 0.0158 for products, more for the fourth
        // power.
        for lag in [1, 2, 63, 64, 65, 128] {
            let product = moment(&|i| values[i] * values[i + lag]);
            assert!(product.abs() < 0.0158, "lag {lag}: {product}");
            let of_squares = moment(&|i| values[i].powi(2) * values[i + lag].powi(2));
            assert!((of_squares - 1.0).abs() < 0.05, "lag {lag}: {of_squares}");
        }
        assert!((moment(&|i| values[i].powi(4)) - 3.0).abs() < 0.16);
    }

    #[test]
    fn the_key_fixes_the_samples_and_lengths_need_not_fit() {
        let draw = |key, len| {
            let mut out = vec![0f32; len];
            standard_normals(key, &mut out);
            out
        };
        assert_eq!(draw(1, 300), draw(1, 300));
        assert_ne!(draw(1, 300), draw(2, 300));
        for len in [0, 1, 2, 127, 128, 129] {
            assert!(draw(3, len).iter().all(|v| v.is_finite()), "{len}");
        }
    }

    #[test]
    fn exponentials_to_single_precision() {
        let points: Vec<f32> = (-8700..=8800).map(|i| i as f32 / 100.0).collect();
        let mut values = points.clone();
        exponentials(&mut values);
        for (x, y) in points.iter().zip(&values) {
            let exact = f64::from(*x).exp();
            assert!(
                (f64::from(*y) / exact - 1.0).abs() < 4e-7,
                "exp({x}) = {y}, not {exact}"
            );
        }
        let mut edges = [f32::NEG_INFINITY, -1e9, 0.0];
        exponentials(&mut edges);
        assert!(edges[0] < 1e-37 && edges[1] < 1e-37 && edges[2] == 1.0);
    }

    #[test]
    fn parts_of_the_samples() {
        for bits in [0u32, 1, 1 << 16, 1 << 31, u32::MAX] {
            let exact = ((f64::from(bits) + 0.5) / 4_294_967_296.0).ln();
            let found = f64::from(ln_of_share(bits));
            // Near one the share itself is rounded.
            assert!(
                (found - exact).abs() < 1e-6 * exact.abs().max(1.0),
                "{bits}: {found}, not {exact}"
            );
        }
        for i in -10..=10 {
            let angle = i as f32 / 10.0 * std::f32::consts::FRAC_PI_4;
            let (sine, cosine) = sine_cosine(angle);
            assert!(
                (sine - angle.sin()).abs() < 2e-7 && (cosine - angle.cos()).abs() < 2e-7,
                "{angle}"
            );
        }
    }
}
