//! The neighbourhoods of RobustCRF ([Abbahaddou et al. 2024](https://arxiv.org/abs/2411.05399)).
//! Features are uniform in a ball, with the cosine of the feature matrices as similarity. For
//! structure, a few edges are flipped, with the probability of that number of flips as similarity.

use gnarl_graph::random::Rng;
use gnarl_graph::{DenseMatrix, Features, Graph};
use serde::{Deserialize, Deserializer};

use super::crf::Neighbourhood;
use super::{Input, PerturbationTarget};
use crate::perturb::{Ball, FlipBall, FlipLaw, Norm, Sampler, flipped};
use gnarl_graph::{Error, Result};

/// Ball of features: every row uniform in the L2 ball of this radius around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureBall {
    /// The radius.
    pub radius: f64,
    /// Similarity of neighbours.
    pub similarity: Similarity,
}

/// Similarity of two matrices of features: the weight g of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Similarity {
    /// The cosine of the feature matrices, as in RobustCRF.
    Cosine,
    /// One for all neighbours: a plain average.
    One,
}

impl Similarity {
    /// Returns the similarity from a product and two squared norms. A matrix of zeros has no
    /// cosine, and counts as similar.
    pub(super) fn of(self, product: f64, own: f64, other: f64) -> f64 {
        match self {
            Similarity::Cosine if own > 0.0 && other > 0.0 => {
                (product / (own * other).sqrt()).clamp(0.0, 1.0)
            }
            _ => 1.0,
        }
    }
}

/// Returns the default radius: the published one for Cora.
pub(super) fn default_radius(part: PerturbationTarget) -> f64 {
    match part {
        PerturbationTarget::Features => 0.1,
        PerturbationTarget::Structure => 0.02,
    }
}

/// Default share of the edges of a graph of a set that may be flipped. The published share for a
/// large graph is less than one edge of a small graph.
pub(super) const DEFAULT_SHARE_ON_SETS: f64 = 0.1;

/// Returns the candidate radii of tuning, the smallest first.
pub(super) fn candidate_radii(part: PerturbationTarget, of: Input) -> [f64; 4] {
    match (part, of) {
        (PerturbationTarget::Features, _) => [0.1, 0.3, 0.5, 0.9],
        (PerturbationTarget::Structure, Input::Nodes) => [0.005, 0.01, 0.02, 0.04],
        (PerturbationTarget::Structure, Input::GraphOfSet) => [0.05, 0.1, 0.2, 0.4],
    }
}

impl Neighbourhood for FeatureBall {
    fn sample(
        &self,
        centre: &Graph,
        _: &DenseMatrix<f32>,
        rng: &mut Rng,
    ) -> Result<Option<(Graph, f64)>> {
        let ball = Ball::new(Norm::L2, self.radius, Sampler::Exact)?;
        if self.radius == 0.0 {
            return Ok(None);
        }
        let features = dense_features(centre)?;
        let (rows, cols) = (features.num_rows(), features.num_cols());
        let radii = ball.radii(rows, cols, rng);
        let mut sampled = features.clone();
        let mut step = vec![0.0; cols];
        let (mut product, mut own, mut other) = (0.0, 0.0, 0.0);
        for (i, &radius) in radii.iter().enumerate() {
            ball.fill_row(radius, &mut step, rng);
            for (x, z) in sampled.row_mut(i).iter_mut().zip(&step) {
                let (before, after) = (f64::from(*x), f64::from(*x) + z);
                (product, own, other) = (
                    product + before * after,
                    own + before * before,
                    other + after * after,
                );
                *x = after as f32;
            }
        }
        let graph = centre.clone().with_features(Features::Dense(sampled))?;
        Ok(Some((graph, self.similarity.of(product, own, other))))
    }
}

/// Returns a graph's features as a dense matrix.
pub(super) fn dense_features(graph: &Graph) -> Result<DenseMatrix<f32>> {
    graph.features().map(Features::to_dense).ok_or_else(|| {
        let what = "the graph has no features to sample neighbours of";
        Error::argument("inference", what)
    })
}

/// Ball of graphs at most `share · m` flips away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StructureBall {
    /// The radius as a share of the number of edges; the number of flips is rounded down.
    pub share: f64,
    /// The distribution of the number of flips.
    pub flips: FlipDistribution,
}

gnarl_graph::named! {
    /// The distribution of the number of flips, and the similarity of graphs at that distance.
    pub enum FlipDistribution as "flip distribution" {
        /// d flips with probability `C(r, d) / 2^r`, which is also the similarity of graphs d flips
        /// apart. It is not the share of the graphs at distance d; the published settings are for it.
        Binomial = "binomial",
        /// The uniform distribution over the graphs of the ball, with a similarity of one.
        Uniform = "uniform",
    }
}

impl FlipDistribution {
    /// Reads a stored name; earlier files have `thesis` for the binomial distribution.
    pub(super) fn restored<'de, D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        let name = String::deserialize(d)?;
        let known = if name == "thesis" {
            Self::Binomial.name()
        } else {
            &name
        };
        known.parse().map_err(serde::de::Error::custom)
    }
}

impl StructureBall {
    /// Returns the number of flips on a graph.
    pub fn radius(&self, graph: &Graph) -> Result<usize> {
        if !(self.share >= 0.0 && self.share.is_finite()) {
            let what = format!(
                "a radius of {} edges per edge must be at least 0",
                self.share
            );
            return Err(Error::argument("inference", what));
        }
        Ok((self.share * graph.num_edges() as f64) as usize)
    }
}

/// Returns `C(r, d) / 2^r`, by logarithms: neither part is representable for a large r.
fn binomial_share(r: usize, d: usize) -> f64 {
    let log2_binomial: f64 = (0..d.min(r - d))
        .map(|i| ((r - i) as f64 / (i + 1) as f64).log2())
        .sum();
    (log2_binomial - r as f64).exp2()
}

impl Neighbourhood for StructureBall {
    fn sample(
        &self,
        centre: &Graph,
        _: &DenseMatrix<f32>,
        rng: &mut Rng,
    ) -> Result<Option<(Graph, f64)>> {
        let radius = self.radius(centre)?;
        if radius == 0 {
            return Ok(None);
        }
        let law = match self.flips {
            FlipDistribution::Binomial => FlipLaw::Binomial,
            FlipDistribution::Uniform => FlipLaw::Uniform,
        };
        let pairs = FlipBall::new(centre.num_nodes(), radius, law)?.sample(rng);
        let alike = match self.flips {
            FlipDistribution::Binomial => binomial_share(radius, pairs.len()),
            FlipDistribution::Uniform => 1.0,
        };
        Ok(Some((flipped(centre, &pairs)?, alike)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;

    #[test]
    fn the_chance_of_so_many_flips() {
        for (r, d, expected) in [
            (1, 0, 0.5),
            (1, 1, 0.5),
            (4, 2, 6.0 / 16.0),
            (10, 3, 120.0 / 1024.0),
        ] {
            assert!((binomial_share(r, d) - expected).abs() < 1e-12, "{r} {d}");
        }
        let total: f64 = (0..=2000).map(|d| binomial_share(2000, d)).sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
    }

    /// A random graph with features.
    fn graph() -> Graph {
        let graph = gnarl_graph::generate::erdos_renyi(40, 0.2, 1).unwrap();
        let values: Vec<f32> = (0..40 * 6).map(|i| (i % 7) as f32 / 7.0).collect();
        graph
            .with_features(Features::Dense(DenseMatrix::new(40, 6, values).unwrap()))
            .unwrap()
    }

    fn features(radius: f64, similarity: Similarity) -> FeatureBall {
        FeatureBall { radius, similarity }
    }

    fn structure(share: f64, flips: FlipDistribution) -> StructureBall {
        StructureBall { share, flips }
    }

    #[test]
    fn feature_neighbours_lie_in_their_ball() {
        let graph = graph();
        let before = dense_features(&graph).unwrap();
        let prediction = DenseMatrix::zeros(40, 2);
        let rng = &mut stream(1, "balls test", 0);
        let ball = features(0.5, Similarity::Cosine);
        for _ in 0..20 {
            let (neighbour, alike) = ball.sample(&graph, &prediction, rng).unwrap().unwrap();
            let after = dense_features(&neighbour).unwrap();
            let squares = |row: &[f32]| row.iter().map(|x| f64::from(x * x)).sum::<f64>();
            for i in 0..40 {
                let apart: Vec<f32> = after
                    .row(i)
                    .iter()
                    .zip(before.row(i))
                    .map(|(a, b)| a - b)
                    .collect();
                assert!(squares(&apart).sqrt() <= 0.5 + 1e-6);
            }
            let product: f64 = after
                .data()
                .iter()
                .zip(before.data())
                .map(|(a, b)| f64::from(a * b))
                .sum();
            let expected = product / (squares(after.data()) * squares(before.data())).sqrt();
            assert!((alike - expected).abs() < 1e-5, "{alike}, not {expected}");
        }
    }

    #[test]
    fn structure_neighbours_lie_in_their_ball() {
        let graph = graph();
        let prediction = DenseMatrix::zeros(40, 2);
        let rng = &mut stream(1, "balls test", 1);
        let ball = structure(0.1, FlipDistribution::Uniform);
        for _ in 0..20 {
            let (neighbour, alike) = ball.sample(&graph, &prediction, rng).unwrap().unwrap();
            let removed = graph.edges().filter(|&(u, v)| !neighbour.has_edge(u, v));
            let added = neighbour.edges().filter(|&(u, v)| !graph.has_edge(u, v));
            let flips = removed.count() + added.count();
            assert!(
                flips <= ball.radius(&graph).unwrap() && alike == 1.0,
                "{flips}"
            );
        }
    }

    #[test]
    fn radii_of_zero_have_no_neighbours_and_bad_ones_are_refused() {
        let graph = graph();
        let prediction = DenseMatrix::zeros(40, 2);
        let rng = &mut stream(1, "balls test", 2);
        let nothing = features(0.0, Similarity::One).sample(&graph, &prediction, rng);
        assert!(nothing.unwrap().is_none());
        let nothing = structure(0.0, FlipDistribution::Binomial).sample(&graph, &prediction, rng);
        assert!(nothing.unwrap().is_none());
        let bad = features(f64::NAN, Similarity::One).sample(&graph, &prediction, rng);
        let e = bad.unwrap_err().to_string();
        assert!(e.contains("NaN"), "{e}");
        let bad = structure(-1.0, FlipDistribution::Binomial).radius(&graph);
        let e = bad.unwrap_err().to_string();
        assert!(e.contains("-1"), "{e}");
    }
}
