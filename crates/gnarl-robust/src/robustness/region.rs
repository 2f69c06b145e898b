//! The region that perturbed inputs are sampled from, and its description in words.

use gnarl_graph::{Error, Result, named};

use super::bounds::Budget;
use crate::perturb::{Ball, FlipLaw, Norm, Sampler};

/// The region that perturbed inputs are sampled from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Region {
    /// Features whose every row is within a ball.
    Features(Ball),
    /// Graphs within so many flips of edges.
    Structure {
        /// Largest number of flips.
        flips: usize,
        /// Distribution of the number of flips.
        law: FlipLaw,
    },
    /// Features and edges at once, sampled independently.
    Both {
        /// The ball of the features.
        ball: Ball,
        /// Largest number of flips.
        flips: usize,
        /// Distribution of the number of flips.
        law: FlipLaw,
    },
}

impl Region {
    /// The ball of features, if they move.
    pub fn ball(&self) -> Option<&Ball> {
        match self {
            Region::Features(ball) | Region::Both { ball, .. } => Some(ball),
            Region::Structure { .. } => None,
        }
    }

    /// The largest number of flips and the distribution of their number, if edges change.
    pub fn flips(&self) -> Option<(usize, FlipLaw)> {
        match *self {
            Region::Features(_) => None,
            Region::Structure { flips, law } | Region::Both { flips, law, .. } => {
                Some((flips, law))
            }
        }
    }

    /// The largest perturbation within the region, for bounds.
    pub fn budget(&self) -> Budget {
        match *self {
            Region::Features(ball) => Budget::Features {
                norm: ball.norm(),
                epsilon: ball.epsilon(),
            },
            Region::Structure { flips, .. } => Budget::Structure { flips },
            Region::Both { ball, flips, .. } => Budget::Both {
                norm: ball.norm(),
                epsilon: ball.epsilon(),
                flips,
            },
        }
    }
}

named! {
    /// The part of an input that is perturbed.
    pub enum Target as "target" {
        /// Features.
        Features = "features",
        /// Edges.
        Structure = "structure",
        /// Features and edges at once.
        Both = "both",
    }
}

/// A description of regions; a radius makes a [`Region`] of it.
///
/// ```
/// use gnarl_robust::robustness::{Region, RegionOptions, Target};
/// let options = RegionOptions::new(Target::Structure);
/// assert!(matches!(options.region(2.0)?, Region::Structure { flips: 2, .. }));
/// let e = options.region(1.5).unwrap_err().to_string();
/// assert_eq!(e, "epsilon must be a whole number of flips (got 1.5)");
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegionOptions {
    /// The part of an input that is perturbed.
    pub target: Target,
    /// The norm of a node's perturbation, 2 if left open.
    pub norm: Option<Norm>,
    /// Largest number of flipped edges, for both at once.
    pub flips: Option<usize>,
    /// The sampler of perturbations.
    pub sampler: Sampler,
}

impl RegionOptions {
    /// Regions of a target, everything else left open.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            norm: None,
            flips: None,
            sampler: Sampler::default(),
        }
    }

    /// The norm of a node's perturbation; `None` if features stay.
    pub fn norm(&self) -> Option<Norm> {
        match self.target {
            Target::Structure => None,
            Target::Features | Target::Both => Some(self.norm.unwrap_or(Norm::L2)),
        }
    }

    /// The default radii of a study.
    pub fn default_radii(&self) -> Vec<f64> {
        match self.target {
            Target::Structure => vec![1.0, 2.0],
            Target::Features | Target::Both => vec![0.5, 1.0],
        }
    }

    /// The region of a radius: a radius of features, or a number of flips for
    /// [`Target::Structure`].
    pub fn region(&self, epsilon: f64) -> Result<Region> {
        let law = match self.sampler {
            Sampler::Exact => FlipLaw::Uniform,
            Sampler::Thesis => FlipLaw::Binomial,
        };
        let ball = || Ball::new(self.norm.unwrap_or(Norm::L2), epsilon, self.sampler);
        match (self.target, self.flips, self.norm) {
            (Target::Features, None, _) => ball().map(Region::Features),
            (Target::Both, Some(flips), _) => ball().map(|ball| Region::Both { ball, flips, law }),
            (Target::Structure, None, None) => {
                whole(epsilon).map(|flips| Region::Structure { flips, law })
            }
            (Target::Structure, None, Some(_)) => Err(Error::unsupported(
                "norm",
                "belongs to features, and target structure leaves them as they are",
            )),
            (Target::Both, None, _) | (Target::Features | Target::Structure, Some(_), _) => Err(
                Error::unsupported("flips", "belongs to target both, which needs it"),
            ),
        }
    }
}

/// A radius as a number of flips.
fn whole(epsilon: f64) -> Result<usize> {
    if epsilon.fract() == 0.0 && (0.0..1e15).contains(&epsilon) {
        return Ok(epsilon as usize);
    }
    Err(Error::OutOfRange {
        setting: "epsilon".into(),
        range: "a whole number of flips".into(),
        got: epsilon.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_another_target_are_refused() {
        let refused = |options: RegionOptions, epsilon| {
            let refused = options.region(epsilon).unwrap_err();
            refused.to_string()
        };
        let structure = RegionOptions::new(Target::Structure);
        let with_norm = RegionOptions {
            norm: Some(Norm::L2),
            ..structure
        };
        assert!(refused(with_norm, 1.0).starts_with("norm: belongs to features"));
        for target in [Target::Features, Target::Structure] {
            let with_flips = RegionOptions {
                flips: Some(2),
                ..RegionOptions::new(target)
            };
            assert!(refused(with_flips, 1.0).starts_with("flips: belongs to target both"));
        }
        assert!(refused(RegionOptions::new(Target::Both), 1.0).starts_with("flips: belongs"));
        for epsilon in [0.5, -1.0, f64::NAN, f64::INFINITY] {
            let e = refused(structure, epsilon);
            assert!(e.starts_with("epsilon must be a whole number"), "{e}");
        }
    }

    #[test]
    fn a_region_has_its_budget() {
        let both = RegionOptions {
            flips: Some(3),
            norm: Some(Norm::Infinity),
            ..RegionOptions::new(Target::Both)
        };
        let expected = Budget::Both {
            norm: Norm::Infinity,
            epsilon: 0.5,
            flips: 3,
        };
        assert_eq!(both.region(0.5).unwrap().budget(), expected);
        assert_eq!(RegionOptions::new(Target::Structure).norm(), None);
    }
}
