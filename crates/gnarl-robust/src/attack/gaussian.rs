//! Gaussian noise on features, the random feature attack of GCORN (Abbahaddou et al. 2024,
//! [arXiv:2404.17947](https://arxiv.org/abs/2404.17947)): every entry moves by a normal sample with
//! standard deviation `psi / sqrt(K)` for K features.

use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Features, Graph};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::method::{AttackInput, Method, Property};
use crate::perturb::rows::write_row;
use crate::perturb::{Budget, Noise};
use gnarl_graph::{Error, Result};

/// Adds Gaussian noise to every feature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gaussian",
    about = "Gaussian noise on every feature",
    check = Self::check_noise
)]
pub struct Gaussian {
    /// Budget psi, the expected norm of a node's noise.
    #[setting(default = 0.5, range = 0.0..)]
    pub budget: f64,
}

impl Gaussian {
    /// Returns the attack with this psi.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }

    fn check_noise(&self) -> gnarl_graph::Result<()> {
        Noise::new(self.budget).map(drop)
    }
}

impl Method for Gaussian {
    /// Adds noise with a random stream for each node. The new features are dense: `nodes · K`
    /// numbers.
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let features = input.graph.features().ok_or_else(|| {
            let what = "the graph has no features to put noise on";
            Error::missing("attack", what, "take a graph with features")
        })?;
        let (n, k) = (features.num_rows(), features.num_cols());
        let standard_deviation = Noise::new(self.budget)?.psi() / (k.max(1) as f64).sqrt();
        let mut data = vec![0f32; n * k];
        data.par_chunks_mut(k.max(1))
            .enumerate()
            .for_each(|(i, row)| {
                write_row(features, i, row);
                let rng = &mut stream(seed, "gaussian attack", i as u64);
                for x in row {
                    let z: f64 = rng.sample(StandardNormal);
                    *x = (f64::from(*x) + standard_deviation * z) as f32;
                }
            });
        input
            .graph
            .clone()
            .with_features(Features::Dense(DenseMatrix::new(n, k, data)?))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        Noise::new(self.budget).map(Budget::Noise)
    }

    fn unit(&self) -> &'static str {
        "psi, the expected norm of a node's noise: each entry's standard deviation is psi / sqrt(features)"
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::Features])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::Attack;

    #[test]
    fn noise_has_the_requested_size_and_shape() {
        let (n, k, psi) = (400usize, 100usize, 0.7);
        let features = Features::Dense(DenseMatrix::new(n, k, vec![2.0; n * k]).unwrap());
        let graph = Graph::empty(n).unwrap().with_features(features).unwrap();
        let input = AttackInput {
            graph: &graph,
            model: None,
            targets: &[],
            labels: None,
            training: &[],
            stop: None,
        };
        let attacked = Attack::from(Gaussian::budget(psi)).run(&input, 3).unwrap();
        let noise: Vec<f64> = attacked
            .graph
            .features()
            .unwrap()
            .values()
            .iter()
            .map(|&x| f64::from(x) - 2.0)
            .collect();
        let standard_deviation = psi / 10.0;
        let count = (n * k) as f64;
        let moment = |p: i32| {
            noise
                .iter()
                .map(|z| (z / standard_deviation).powi(p))
                .sum::<f64>()
                / count
        };
        // Standard errors of the moments of 40,000 normal samples: 0.005, 0.0071, 0.049.
        assert!(moment(1).abs() < 0.025, "mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.036, "variance {}", moment(2));
        assert!(
            (moment(4) - 3.0).abs() < 0.25,
            "fourth moment {}",
            moment(4)
        );
        let mean_norm = (attacked.change.features.l2.powi(2) / n as f64).sqrt();
        assert!(
            (mean_norm - psi).abs() < 0.02,
            "a node moves by psi: {mean_norm}"
        );
    }

    #[test]
    fn a_graph_without_features_is_refused() {
        let bare = Graph::from_edges(3, [(0, 1)]).unwrap().0;
        let input = AttackInput {
            graph: &bare,
            model: None,
            targets: &[],
            labels: None,
            training: &[],
            stop: None,
        };
        let e = Attack::from(Gaussian::default())
            .run(&input, 0)
            .unwrap_err()
            .to_string();
        let what = "attack: the graph has no features to put noise on";
        assert_eq!(e, format!("{what}; take a graph with features"));
    }
}
