//! Certifies a classifier by sparse randomised smoothing ([Bojchevski, Gasteiger, Günnemann
//! 2020](https://arxiv.org/abs/2008.12952)): a few flipped bits cannot change its most frequent
//! prediction on noisy copies of the input.
//!
//! Noise turns a 0 into a 1 with probability p+ and a 1 into a 0 with p-, every bit independently.
//! The smoothed classifier predicts the most frequent class over samples. An attacker who turns r_a
//! zeros into ones and r_d ones into zeros changes the distribution of samples on those bits alone.
//! Let q count those bits that differ between a sample and the clean input. With
//! `a = p+ / (1 - p-)` and `b = p- / (1 - p+)` the ratio of a sample's probability under the clean
//! input to that under the attacked one is `a^(q - r_d) b^(q - r_a)`. The samples therefore fall
//! into the `r_a + r_d + 1` regions of one ratio, with probabilities
//!
//! - clean: `P(Bin(r_a, p+) + Bin(r_d, p-) = q)`,
//! - attacked: `P(Bin(r_a, 1 - p-) + Bin(r_d, 1 - p+) = q)`.
//!
//! Consider all classifiers that predict a class with probability p under the clean input. The
//! worst one under the attacked input predicts it where the ratio is largest (Neyman and Pearson):
//! regions are filled in that order until p is used up. The class is certified if the rest is more
//! than half, or more than the largest probability of another class, filled in the other order.
//!
//! Several kinds of bits with separate noise, such as features and edges at once, have the products
//! of their regions.

use gnarl_graph::{Error, Result, named};
use serde::Serialize;

use super::probability::{lower, upper};

/// Flip probabilities of a bit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FlipNoise {
    /// Probability that a zero becomes a one.
    pub p_plus: f64,
    /// Probability that a one becomes a zero.
    pub p_minus: f64,
}

impl FlipNoise {
    /// Makes the noise; fails if either value is no probability.
    pub fn new(p_plus: f64, p_minus: f64) -> Result<Self> {
        for (name, p) in [("p-plus", p_plus), ("p-minus", p_minus)] {
            if !(0.0..=1.0).contains(&p) {
                return Err(Error::argument(
                    name,
                    format!("{p} is not a probability in [0, 1]"),
                ));
            }
        }
        Ok(Self { p_plus, p_minus })
    }
}

/// Numbers of bits that an attacker flips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Flips {
    /// Number of zeros that become ones.
    pub additions: usize,
    /// Number of ones that become zeros.
    pub deletions: usize,
}

named! {
    /// The rule by which a class is certified.
    pub enum Rule as "certificate" {
        /// The class keeps more than half: one bound on one probability.
        TwoClass = "two-class",
        /// The class keeps more than any other class can reach: bounds on all of them.
        MultiClass = "multi-class",
    }
}

/// Rounding error of sums of probabilities; certificates stay this far inside.
const SLACK: f64 = 1e-9;

/// Regions of samples by the ratio of their probabilities under the clean and the attacked input,
/// the largest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Regions {
    /// Probabilities under the clean and under the attacked input.
    parts: Vec<[f64; 2]>,
}

impl Regions {
    /// Computes the regions from the noise and the attacker's flips of each kind of bits.
    /// O(flips²), a product over the kinds.
    pub fn new(kinds: &[(FlipNoise, Flips)]) -> Self {
        let mut parts = vec![[1.0, 1.0]];
        for (noise, flips) in kinds {
            let own = of_one_kind(*noise, *flips);
            let both = |[c, a]: [f64; 2]| {
                own.iter()
                    .map(move |[clean, attacked]| [c * clean, a * attacked])
            };
            parts = parts.into_iter().flat_map(both).collect();
        }
        // Regions that neither input reaches are irrelevant.
        parts.retain(|[clean, attacked]| *clean > 0.0 || *attacked > 0.0);
        let ratio = |[clean, attacked]: &[f64; 2]| clean.ln() - attacked.ln();
        parts.sort_by(|x, y| ratio(y).total_cmp(&ratio(x)));
        Self { parts }
    }

    /// Smallest probability under the attacked input of a class with this clean probability: the
    /// rest that the largest share of all others leaves. Probabilities near one lose nothing to
    /// rounding this way.
    pub fn least(&self, probability: f64) -> f64 {
        (1.0 - self.most(1.0 - probability)).max(0.0)
    }

    /// Largest probability under the attacked input of a class with this clean probability.
    pub fn most(&self, probability: f64) -> f64 {
        let (mut left, mut reached) = (probability, 0.0);
        for [clean, attacked] in self.parts.iter().rev() {
            let used = left.min(*clean);
            // Regions of clean probability zero are taken whole.
            reached += if *clean > 0.0 {
                attacked * (used / clean)
            } else {
                *attacked
            };
            left -= used;
            if left <= 0.0 && *clean > 0.0 {
                break;
            }
        }
        reached.min(1.0)
    }

    /// Returns true if a class is certified.
    pub fn certify(&self, certainty: &Certainty, rule: Rule) -> bool {
        let kept = self.least(certainty.lower);
        match rule {
            Rule::TwoClass => kept > 0.5 + SLACK,
            Rule::MultiClass => kept > self.most(certainty.upper) + SLACK,
        }
    }
}

/// The regions of one kind of bits by q, none left out.
fn of_one_kind(noise: FlipNoise, flips: Flips) -> Vec<[f64; 2]> {
    let FlipNoise { p_plus, p_minus } = noise;
    let law = |added: f64, deleted: f64| {
        let added = std::iter::repeat_n(added, flips.additions);
        poisson_binomial(added.chain(std::iter::repeat_n(deleted, flips.deletions)))
    };
    let clean = law(p_plus, p_minus);
    let attacked = law(1.0 - p_minus, 1.0 - p_plus);
    clean
        .into_iter()
        .zip(attacked)
        .map(|(c, a)| [c, a])
        .collect()
}

/// Probabilities of 0, 1, 2, … successes among some independent events.
fn poisson_binomial(events: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut law = vec![1.0];
    for p in events {
        law.push(0.0);
        for k in (1..law.len()).rev() {
            law[k] = law[k] * (1.0 - p) + law[k - 1] * p;
        }
        law[0] *= 1.0 - p;
    }
    law
}

/// Bounds on the class probabilities of a node or graph; together they hold with probability 1 -
/// alpha.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certainty {
    /// The predicted class of the smoothed classifier.
    pub class: usize,
    /// Lower bound on the probability of that class.
    pub lower: f64,
    /// Upper bound on the probability of every other class.
    pub upper: f64,
}

impl Certainty {
    /// Bounds for a class that was selected on separate samples, from the hits of every class among
    /// `of` other samples. By [`Rule::TwoClass`] all of alpha is spent on its lower bound, by
    /// [`Rule::MultiClass`] the classes share it, a bound each.
    pub fn new(class: usize, hits: &[u32], of: usize, alpha: f64, rule: Rule) -> Self {
        let alpha = match rule {
            Rule::TwoClass => alpha,
            Rule::MultiClass => alpha / hits.len().max(1) as f64,
        };
        let low = lower(
            hits.get(class).map_or(0, |&h| u64::from(h)),
            of as u64,
            alpha,
        );
        let others = hits
            .iter()
            .enumerate()
            .filter(|&(c, _)| c != class)
            .map(|(_, &h)| h)
            .max();
        let high = match rule {
            Rule::TwoClass => 1.0 - low,
            Rule::MultiClass => {
                upper(u64::from(others.unwrap_or(0)), of as u64, alpha).min(1.0 - low)
            }
        };
        // With one class there is no other.
        Self {
            class,
            lower: low,
            upper: if hits.len() > 1 { high } else { 0.0 },
        }
    }

    /// Bounds from so many samples that all agree.
    pub fn unanimous(num_classes: usize, of: usize, alpha: f64, rule: Rule) -> Self {
        let mut hits = vec![0; num_classes.max(1)];
        hits[0] = u32::try_from(of).unwrap_or(u32::MAX);
        Self::new(0, &hits, of, alpha, rule)
    }
}

/// Largest certified number of flips of each kind, the other at zero, up to `most`.
pub fn largest(noise: FlipNoise, certainty: &Certainty, rule: Rule, most: Flips) -> Flips {
    let is_certified = |flips: Flips| Regions::new(&[(noise, flips)]).certify(certainty, rule);
    let last = |most: usize, flips: fn(usize) -> Flips| {
        (1..=most).take_while(|&r| is_certified(flips(r))).count()
    };
    Flips {
        additions: last(most.additions, |additions| Flips {
            additions,
            deletions: 0,
        }),
        deletions: last(most.deletions, |deletions| Flips {
            additions: 0,
            deletions,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sample of the differing bits, one by one, grouped by the ratio of its two
    /// probabilities.
    fn brute_force(noise: FlipNoise, flips: Flips) -> Vec<[f64; 2]> {
        let bits = flips.additions + flips.deletions;
        let mut samples: Vec<[f64; 2]> = Vec::new();
        for sample in 0u32..1 << bits {
            let [mut clean, mut attacked] = [1.0, 1.0];
            for i in 0..bits {
                let shown = sample >> i & 1 == 1;
                // The first bits are zeros that the attacker turns into ones.
                for (p, is_one) in [
                    (&mut clean, i >= flips.additions),
                    (&mut attacked, i < flips.additions),
                ] {
                    let flip = if is_one { noise.p_minus } else { noise.p_plus };
                    *p *= if shown == is_one { 1.0 - flip } else { flip };
                }
            }
            samples.push([clean, attacked]);
        }
        samples.sort_by(|x, y| (y[0] / y[1]).total_cmp(&(x[0] / x[1])));
        let mut regions: Vec<[f64; 2]> = Vec::new();
        let mut last = f64::NAN;
        for [clean, attacked] in samples {
            let ratio = (clean / attacked).ln();
            match regions.last_mut() {
                Some(region) if (ratio - last).abs() < 1e-9 => {
                    *region = [region[0] + clean, region[1] + attacked]
                }
                _ => regions.push([clean, attacked]),
            }
            last = ratio;
        }
        regions
    }

    /// Regions filled in the order of falling ratio until the probability is used up.
    fn filled(regions: &Regions, probability: f64) -> f64 {
        let mut left = probability;
        let mut kept = 0.0;
        for [clean, attacked] in regions.parts.iter().filter(|part| part[0] > 0.0) {
            let used = left.clamp(0.0, *clean);
            kept += attacked * used / clean;
            left -= used;
        }
        kept
    }

    #[test]
    fn regions_are_those_of_all_samples() {
        for (p_plus, p_minus) in [(0.01, 0.6), (0.2, 0.3), (0.7, 0.6), (0.4, 0.05)] {
            let noise = FlipNoise::new(p_plus, p_minus).unwrap();
            for additions in 0..=5 {
                for deletions in 0..=5 {
                    let flips = Flips {
                        additions,
                        deletions,
                    };
                    let (found, all) = (Regions::new(&[(noise, flips)]), brute_force(noise, flips));
                    assert_eq!(
                        found.parts.len(),
                        additions + deletions + 1,
                        "{noise:?} {flips:?}"
                    );
                    assert_eq!(found.parts.len(), all.len(), "{noise:?} {flips:?}");
                    for (x, y) in found.parts.iter().zip(&all) {
                        assert!(
                            (x[0] - y[0]).abs() < 1e-9 && (x[1] - y[1]).abs() < 1e-9,
                            "{x:?}, not {y:?}"
                        );
                    }
                    // The bounds from the samples themselves: the greedy filling of single samples.
                    let by_sampling = Regions { parts: all };
                    for p in [0.0, 0.3, 0.9, 0.999, 1.0] {
                        assert!((found.least(p) - by_sampling.least(p)).abs() < 1e-9);
                        assert!((found.most(p) - by_sampling.most(p)).abs() < 1e-9);
                        assert!(
                            (found.least(p) - filled(&by_sampling, p)).abs() < 1e-9 || p > 0.9999,
                            "by falling ratio"
                        );
                    }
                }
            }
        }
    }

    /// No way of giving 3 of 8 samples to a class beats the bound: the linear programme's corners
    /// are whole samples and one part of one.
    #[test]
    fn no_classifier_of_three_bits_goes_below_the_bound() {
        let noise = FlipNoise::new(0.1, 0.4).unwrap();
        let flips = Flips {
            additions: 2,
            deletions: 1,
        };
        let regions = Regions::new(&[(noise, flips)]);
        let mut nearest = f64::INFINITY;
        for set in 0u32..256 {
            let [mut p, mut attacked] = [0.0, 0.0];
            for sample in 0u32..8 {
                if set >> sample & 1 == 1 {
                    let of = |bit: u32, one: f64| {
                        if sample >> bit & 1 == 1 {
                            one
                        } else {
                            1.0 - one
                        }
                    };
                    p += of(0, 0.1) * of(1, 0.1) * of(2, 0.6);
                    attacked += of(0, 0.6) * of(1, 0.6) * of(2, 0.1);
                }
            }
            let bound = regions.least(p);
            assert!(
                attacked >= bound - 1e-12,
                "{set:b}: {attacked} below {bound}"
            );
            assert!(attacked <= regions.most(p) + 1e-12);
            nearest = nearest.min(attacked - bound);
        }
        assert!(nearest.abs() < 1e-12, "the bound is attained");
    }

    /// The published code's radii for Cora-ML.
    #[test]
    fn the_reference_radii() {
        let noise = FlipNoise::new(0.01, 0.6).unwrap();
        let most = Flips {
            additions: 100,
            deletions: 100,
        };
        let best = Certainty::unanimous(7, 100_000, 0.01, Rule::TwoClass);
        assert_eq!(
            largest(noise, &best, Rule::TwoClass, most),
            Flips {
                additions: 6,
                deletions: 18
            }
        );
    }

    #[test]
    fn radii_of_odd_noise_are_defined() {
        let most = Flips {
            additions: 4,
            deletions: 3,
        };
        let best = Certainty::unanimous(3, 1000, 0.01, Rule::TwoClass);
        let radii = |p_plus, p_minus| {
            largest(
                FlipNoise::new(p_plus, p_minus).unwrap(),
                &best,
                Rule::TwoClass,
                most,
            )
        };
        // Without noise nothing is certified; with noise that hides the input, the attacker's
        // changes are invisible.
        assert_eq!(radii(0.0, 0.0), Flips::default());
        assert_eq!(radii(1.0, 1.0), Flips::default());
        assert_eq!(
            [radii(1.0, 0.0), radii(0.0, 1.0), radii(0.3, 0.7)],
            [most; 3]
        );
        // If bits are only ever deleted, an added one that a sample shows is certain.
        assert_eq!(radii(0.0, 0.2).additions, 0);
        for (p, name) in [(-0.1, "p-plus"), (1.5, "p-plus"), (f64::NAN, "p-plus")] {
            let e = FlipNoise::new(p, 0.1).unwrap_err().to_string();
            assert!(e.contains(name) && e.contains("not a probability"), "{e}");
        }
    }

    #[test]
    fn kinds_of_bits_multiply() {
        let (x, y) = (
            FlipNoise::new(0.05, 0.4).unwrap(),
            FlipNoise::new(0.2, 0.3).unwrap(),
        );
        let two = Flips {
            additions: 1,
            deletions: 1,
        };
        let joint = Regions::new(&[(x, two), (y, Flips::default())]);
        let alone = Regions::new(&[(x, two)]);
        for p in [0.2, 0.9, 0.99] {
            assert!(
                (joint.least(p) - alone.least(p)).abs() < 1e-12,
                "a kind that nobody touches changes nothing"
            );
        }
        let same = Regions::new(&[
            (x, two),
            (
                x,
                Flips {
                    additions: 2,
                    deletions: 0,
                },
            ),
        ]);
        let once = Regions::new(&[(
            x,
            Flips {
                additions: 3,
                deletions: 1,
            },
        )]);
        for p in [0.2, 0.9, 0.99] {
            assert!(
                (same.least(p) - once.least(p)).abs() < 1e-9,
                "one kind in two parts is one kind"
            );
            assert!(joint.least(p) >= same.least(p) - 1e-12);
        }
    }

    /// Two of three classes in the samples: alpha is shared, and an upper bound is never above the
    /// rest that the lower leaves.
    #[test]
    fn certainties_by_hand() {
        let two = Certainty::new(1, &[0, 95, 5], 100, 0.05, Rule::TwoClass);
        assert_eq!(two.lower, lower(95, 100, 0.05));
        let many = Certainty::new(1, &[0, 95, 5], 100, 0.06, Rule::MultiClass);
        assert_eq!(
            (many.lower, many.upper),
            (
                lower(95, 100, 0.02),
                upper(5, 100, 0.02).min(1.0 - lower(95, 100, 0.02))
            )
        );
        let alone = Certainty::new(0, &[10], 10, 0.05, Rule::MultiClass);
        assert_eq!(alone.upper, 0.0, "one class has no rival");
        let at_rest = Regions::new(&[]);
        assert!(at_rest.certify(&two, Rule::TwoClass) && at_rest.certify(&many, Rule::MultiClass));
        assert!(!at_rest.certify(
            &Certainty::new(0, &[0, 95, 5], 100, 0.05, Rule::TwoClass),
            Rule::TwoClass
        ));
    }
}
