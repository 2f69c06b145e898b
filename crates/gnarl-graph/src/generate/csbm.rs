//! Contextual stochastic block model ([Deshpande et al. 2018](https://arxiv.org/abs/1807.09596)):
//! blocks that determine both edges and Gaussian features, to measure how much of each a model
//! uses.
//!
//! A node of class c has features `separation · u_c + noise · z / √num_features`, with `z` standard
//! normal and `u_c` a random unit vector. The vectors are orthogonal as long as there are no more
//! classes than features.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::{SbmConfig, check_size, num_pairs, sbm};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::graph::Graph;
use crate::labels::Labels;
use crate::matrix::DenseMatrix;
use crate::random::{Rng, stream};
use crate::split::Split;

const OP: &str = "csbm";

/// Parameters of [`csbm`].
#[derive(Debug, Clone, PartialEq)]
pub struct CsbmConfig {
    /// Number of nodes.
    pub num_nodes: usize,
    /// Number of classes; their sizes differ by one at most.
    pub num_classes: usize,
    /// Number of features.
    pub num_features: usize,
    /// Expected number of neighbours of a node.
    pub mean_degree: f64,
    /// Expected share of edges within a class.
    pub homophily: f64,
    /// Norm of each class mean.
    pub separation: f64,
    /// Expected norm of a node's noise (to within a few per cent: the root of its mean square).
    pub noise: f64,
}

impl Default for CsbmConfig {
    /// Defaults under which structure matters: with 20 training nodes per class, logistic
    /// regression has about 45 % accuracy on the features, and about 94 % on features smoothed
    /// twice by `A_hat`.
    fn default() -> Self {
        Self {
            num_nodes: 1000,
            num_classes: 4,
            num_features: 32,
            mean_degree: 8.0,
            homophily: 0.75,
            separation: 0.2,
            noise: 1.0,
        }
    }
}

impl CsbmConfig {
    /// Returns the block model of the edges. Fails for counts of zero, values out of range and
    /// degrees that are too large for the classes.
    pub fn structure(&self) -> Result<SbmConfig> {
        let Self {
            num_nodes: n,
            num_classes: k,
            num_features,
            mean_degree,
            homophily,
            separation,
            noise,
        } = *self;
        let refuse = |what: String| Err(Error::argument(OP, what));
        if k == 0 || k > n {
            return refuse(format!(
                "{k} classes of {n} nodes: at least one class and one node in each"
            ));
        }
        if num_features == 0 {
            return refuse("at least one feature is needed".into());
        }
        for (name, value) in [
            ("mean_degree", mean_degree),
            ("separation", separation),
            ("noise", noise),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(format!("{name} {value} must be a number of at least 0"));
            }
        }
        super::check_probability(OP, "homophily", homophily)?;
        let num_edges = n as f64 * mean_degree / 2.0;
        check_size(OP, n, num_edges)?;
        check_size(OP, n.saturating_mul(num_features.max(k)), 0.0)?;

        let block_sizes: Vec<usize> = (0..k).map(|c| n / k + usize::from(c < n % k)).collect();
        let pairs_inside: f64 = block_sizes.iter().map(|&s| num_pairs(s)).sum();
        let share = |edges: f64, pairs: f64| if edges == 0.0 { 0.0 } else { edges / pairs };
        let inside = share(num_edges * homophily, pairs_inside);
        let between = share(num_edges * (1.0 - homophily), num_pairs(n) - pairs_inside);
        if inside > 1.0 || between > 1.0 {
            return refuse(format!(
                "a mean degree of {mean_degree} at homophily {homophily} needs more pairs than {k} classes of {n} nodes have"
            ));
        }
        let row = |i| {
            (0..k)
                .map(|j| if i == j { inside } else { between })
                .collect()
        };
        Ok(SbmConfig {
            block_sizes,
            probabilities: (0..k).map(row).collect(),
        })
    }
}

/// Samples a contextual stochastic block graph with dense features, classes as labels, and a split
/// called `public`: 20 training nodes per class, up to 200 validation nodes, up to 500 test nodes.
/// If fewer are left, validation takes half of them.
///
/// ```
/// use gnarl_graph::generate::{csbm, CsbmConfig};
/// let g = csbm(&CsbmConfig::default(), 7)?;
/// let split = g.split("public")?;
/// assert_eq!((split.train().len(), split.val().len(), split.test().len()), (80, 200, 500));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn csbm(config: &CsbmConfig, seed: u64) -> Result<Graph> {
    let graph = sbm(&config.structure()?, seed)?;
    let labels = graph.labels().expect("sbm labels its nodes").clone();
    let features = class_features(config, &labels, seed)?;
    let split = public_split(&labels, seed)?;
    graph
        .with_features(Features::Dense(features))?
        .with_splits(vec![split])
}

/// Samples features around the class means; every node has its own stream.
fn class_features(config: &CsbmConfig, labels: &Labels, seed: u64) -> Result<DenseMatrix<f32>> {
    let dim = config.num_features;
    let means = directions(&mut stream(seed, "csbm means", 0), config.num_classes, dim);
    let deviation = config.noise / (dim as f64).sqrt();
    let mut data = Vec::with_capacity(labels.len() * dim);
    for (u, class) in labels.classes().iter().enumerate() {
        let mean = &means[class.expect("sbm labels every node") as usize];
        let mut rng = stream(seed, "csbm noise", u as u64);
        data.extend(mean.iter().map(|m| {
            let z: f64 = rng.sample(StandardNormal);
            (config.separation * m + deviation * z) as f32
        }));
    }
    DenseMatrix::new(labels.len(), dim, data)
}

/// Samples `count` random unit vectors, the first `dim` of them orthogonal. The Gram–Schmidt
/// process runs twice; it replaces a QR decomposition, whose other signs would give other graphs
/// for a given seed.
fn directions(rng: &mut Rng, count: usize, dim: usize) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(count);
    while found.len() < count {
        let mut x: Vec<f64> = (0..dim).map(|_| rng.sample(StandardNormal)).collect();
        let orthogonal_to = if found.len() < dim { &found[..] } else { &[] };
        for earlier in orthogonal_to.iter().chain(orthogonal_to) {
            let along: f64 = x.iter().zip(earlier).map(|(a, b)| a * b).sum();
            x.iter_mut().zip(earlier).for_each(|(a, b)| *a -= along * b);
        }
        let length = x.iter().map(|a| a * a).sum::<f64>().sqrt();
        // A sample (almost) within the span of the earlier ones has no direction left: sample
        // again.
        if length > 1e-9 {
            x.iter_mut().for_each(|a| *a /= length);
            found.push(x);
        }
    }
    found
}

fn public_split(labels: &Labels, seed: u64) -> Result<Split> {
    const PER_CLASS: usize = 20;
    let rest: usize = labels
        .counts()
        .iter()
        .map(|&k| k.saturating_sub(PER_CLASS))
        .sum();
    let num_val = (rest / 2).min(200);
    let drawn = Split::per_class(labels, PER_CLASS, num_val, (rest - num_val).min(500), seed)?;
    Split::new(
        "public",
        drawn.train().to_vec(),
        drawn.val().to_vec(),
        drawn.test().to_vec(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::ClassicalOperator;
    use crate::properties::edge_homophily;

    #[test]
    fn degree_and_homophily_are_the_ones_asked_for() {
        let config = CsbmConfig {
            num_nodes: 403,
            num_classes: 4,
            mean_degree: 6.0,
            homophily: 0.6,
            ..Default::default()
        };
        let (mut edges, mut same) = (0.0, 0.0);
        for seed in 0..50 {
            let g = csbm(&config, seed).unwrap();
            assert_eq!(g.labels().unwrap().counts(), [101, 101, 101, 100]);
            edges += g.num_edges() as f64;
            same += edge_homophily(&g).unwrap() * g.num_edges() as f64;
        }
        // 50 graphs of 1,209 edges on average, nearly Poisson: 4 sigma = 4 sqrt(60,450) = 983.
        assert!((edges - 60_450.0).abs() < 983.0, "{edges}");
        assert!(
            (same / edges - 0.6).abs() < 4.0 * (0.24f64 / 60_450.0).sqrt(),
            "{}",
            same / edges
        );
    }

    #[test]
    fn class_means_are_orthogonal_and_as_long_as_asked() {
        let config = CsbmConfig {
            noise: 0.0,
            separation: 3.0,
            ..Default::default()
        };
        let g = csbm(&config, 1).unwrap();
        let x = g.features().unwrap().to_dense();
        let dot = |u: usize, v: usize| {
            x.row(u)
                .iter()
                .zip(x.row(v))
                .map(|(a, b)| f64::from(a * b))
                .sum::<f64>()
        };
        assert!((dot(0, 1) - 9.0).abs() < 1e-5, "one class, one mean");
        assert!((dot(0, 0) - 9.0).abs() < 1e-5);
        for (u, v) in [(0, 300), (0, 600), (300, 999)] {
            assert!(dot(u, v).abs() < 1e-5, "{}", dot(u, v));
        }
        // More classes than features still have directions.
        let crowded = CsbmConfig {
            num_features: 2,
            num_classes: 5,
            noise: 0.0,
            ..Default::default()
        };
        assert!(
            csbm(&crowded, 1)
                .unwrap()
                .features()
                .unwrap()
                .values()
                .iter()
                .all(|x| x.is_finite())
        );
    }

    #[test]
    fn noise_has_its_deviation() {
        let config = CsbmConfig {
            separation: 0.0,
            noise: 2.0,
            ..Default::default()
        };
        let g = csbm(&config, 1).unwrap();
        // 32,000 values of variance 4/32: the mean square is within 4 · 0.125 · sqrt(2 / 32,000).
        let square = g
            .features()
            .unwrap()
            .values()
            .iter()
            .map(|x| f64::from(x * x))
            .sum::<f64>()
            / 32_000.0;
        assert!((square - 0.125).abs() < 0.004, "{square}");
    }

    /// Returns the share of test nodes classified correctly by the nearest mean of the training
    /// nodes' features.
    fn nearest_mean_accuracy(g: &Graph, rows: &[Vec<f64>]) -> f64 {
        let (labels, split) = (g.labels().unwrap(), g.split("public").unwrap());
        let mut means = vec![vec![0.0; rows[0].len()]; labels.num_classes()];
        for &u in split.train() {
            let mean = &mut means[labels.get(u).unwrap() as usize];
            mean.iter_mut()
                .zip(&rows[u as usize])
                .for_each(|(m, x)| *m += x / 20.0);
        }
        let square =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        let right = split.test().iter().filter(|&&u| {
            let distance = |c: &usize| square(&rows[u as usize], &means[*c]);
            let nearest = (0..means.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
            nearest == labels.get(u).map(|c| c as usize)
        });
        right.count() as f64 / split.test().len() as f64
    }

    #[test]
    fn by_default_neighbours_help_a_lot() {
        let g = csbm(&CsbmConfig::default(), 3).unwrap();
        let x = g.features().unwrap().to_dense();
        let raw: Vec<Vec<f64>> = (0..1000)
            .map(|u| x.row(u).iter().map(|&v| f64::from(v)).collect())
            .collect();
        let a_hat = ClassicalOperator::NORMALISED_ADJACENCY.matrix(&g).unwrap();
        let mut smooth = vec![vec![0.0; 32]; 1000];
        for c in 0..32 {
            let column: Vec<f64> = raw.iter().map(|row| row[c]).collect();
            for (u, y) in a_hat
                .mul_vec(&a_hat.mul_vec(&column))
                .into_iter()
                .enumerate()
            {
                smooth[u][c] = y;
            }
        }
        let (without, with) = (
            nearest_mean_accuracy(&g, &raw),
            nearest_mean_accuracy(&g, &smooth),
        );
        assert!((0.3..0.6).contains(&without), "{without}");
        assert!(with > 0.8, "{with}");
    }

    #[test]
    fn small_graphs_split_what_they_have() {
        let config = CsbmConfig {
            num_nodes: 100,
            num_classes: 2,
            ..Default::default()
        };
        let g = csbm(&config, 0).unwrap();
        let split = g.split("public").unwrap();
        assert_eq!(
            (split.train().len(), split.val().len(), split.test().len()),
            (40, 30, 30)
        );
        let one = CsbmConfig {
            num_nodes: 1,
            num_classes: 1,
            mean_degree: 0.0,
            ..Default::default()
        };
        assert_eq!(csbm(&one, 0).unwrap().num_nodes(), 1);
    }

    #[test]
    fn bad_configs_say_why_and_the_seed_fixes_the_graph() {
        let fault = |change: fn(&mut CsbmConfig)| {
            let mut bad = CsbmConfig::default();
            change(&mut bad);
            csbm(&bad, 0).unwrap_err().to_string()
        };
        assert!(fault(|c| c.num_classes = 0).contains("0 classes of 1000 nodes"));
        assert!(fault(|c| c.num_nodes = 0).contains("4 classes of 0 nodes"));
        assert!(fault(|c| c.num_features = 0).contains("at least one feature"));
        assert!(fault(|c| c.homophily = 1.1).contains("homophily 1.1 must be a probability"));
        assert!(fault(|c| c.noise = f64::NAN).contains("noise NaN must be a number of at least 0"));
        assert!(
            fault(|c| c.mean_degree = 400.0)
                .contains("needs more pairs than 4 classes of 1000 nodes have")
        );
        assert!(fault(|c| c.num_classes = 1).contains("needs more pairs than 1 classes"));
        assert!(fault(|c| c.num_nodes = 1 << 40).contains("at most 536870912"));
        assert!(fault(|c| c.num_features = 1 << 40).contains("at most 536870912"));
        let draw = |seed| csbm(&CsbmConfig::default(), seed).unwrap();
        assert_eq!(draw(1).features(), draw(1).features());
        assert_ne!(draw(1).features(), draw(2).features());
        assert_eq!(draw(1).splits(), draw(1).splits());
        assert_eq!(draw(1).targets(), draw(1).targets());
    }
}
