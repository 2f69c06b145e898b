//! A small generative adversarial network that samples latent vectors (Goodfellow et al. 2014,
//! [arXiv:1406.2661](https://arxiv.org/abs/1406.2661)).
//!
//! A generator makes vectors from noise, and a critic separates them from the vectors of the class;
//! both have two hidden layers. The critic's matrices are divided by their largest singular value,
//! found by power iteration (spectral normalisation, Miyato et al. 2018,
//! [arXiv:1802.05957](https://arxiv.org/abs/1802.05957)). The losses are hinge losses. Both keep
//! training stable at this size. The final generator has the running mean of its weights. Vectors
//! are standardised first. If samples spread much less than the vectors, the report says that the
//! generator collapsed. The generator has no density at a vector.

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Error, Result};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::gaussian::{deviations, mean};
use super::{Estimator, FitReport, FittedDensity, MixtureSettings};
use gnarl_tensor::{Adam, AdamSettings, Device, Tensor, Var};

/// Trains a generator for each class against a critic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "gan", about = "small generative adversarial network")]
pub struct Gan {}

impl Estimator for Gan {
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        _: &DenseMatrix<f64>,
        seed: u64,
    ) -> Result<Box<dyn FittedDensity>> {
        Ok(Box::new(Generator::fit(points, seed)?))
    }
}

/// Number of noise coordinates that a vector is made from.
const NOISE: usize = 16;
/// Width of both hidden layers, of both networks.
const HIDDEN: usize = 64;
/// Number of training steps.
const STEPS: usize = 600;
/// Number of the critic's steps for each of the generator's.
const CRITIC_STEPS: usize = 2;
/// Number of vectors in a step.
const BATCH: usize = 128;
const LEARNING_RATE: f64 = 1e-3;
/// Decay of the running mean of the generator's weights in a step.
const MEMORY: f32 = 0.99;
/// Share of the vectors' variance below which samples count as collapsed.
const COLLAPSED_BELOW: f64 = 0.1;
/// Number of samples in the test for collapse.
const EVALUATION_SAMPLES: usize = 500;

/// A fitted generator, as plain numbers.
#[derive(Debug, Clone)]
pub struct Generator {
    layers: Vec<Layer>,
    mean: Vec<f64>,
    deviation: Vec<f64>,
    report: FitReport,
}

/// A linear map, by rows of its input.
#[derive(Debug, Clone)]
struct Layer {
    weight: Vec<f64>,
    bias: Vec<f64>,
}

/// A linear map in training.
struct Trained {
    weight: Var,
    bias: Var,
    /// Current left vector of power iteration.
    left: Vec<f32>,
}

impl Trained {
    fn new(from: usize, to: usize, rng: &mut Rng) -> gnarl_tensor::Result<Self> {
        let most = 1.0 / (from as f32).sqrt();
        let mut uniform = |count: usize| {
            (0..count)
                .map(|_| rng.random_range(-most..most))
                .collect::<Vec<f32>>()
        };
        Ok(Self {
            weight: Var::from_vec(uniform(from * to), (from, to), &Device::Cpu)?,
            bias: Var::from_vec(uniform(to), (1, to), &Device::Cpu)?,
            left: uniform(from),
        })
    }

    /// Returns `x W + b`.
    fn forward(&self, x: &Tensor, weight: &Tensor) -> gnarl_tensor::Result<Tensor> {
        x.matmul(weight)?.broadcast_add(self.bias.as_tensor())
    }

    /// Returns the matrix, then the bias, as plain numbers.
    fn values(&self) -> [gnarl_tensor::Result<Vec<f32>>; 2] {
        [&self.weight, &self.bias].map(|var| var.flatten_all()?.to_vec1())
    }

    /// Returns the matrix divided by its largest singular value, estimated by one more step of
    /// power iteration.
    fn normalised(&mut self) -> gnarl_tensor::Result<Tensor> {
        let device = &Device::Cpu;
        let weight = self.weight.as_detached_tensor();
        let (from, to) = weight.dims2()?;
        let unit = |values: Vec<f32>| {
            let norm = values.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
            values.into_iter().map(|x| x / norm).collect::<Vec<f32>>()
        };
        let left = Tensor::from_slice(&self.left, (1, from), device)?;
        let right = unit(left.matmul(&weight)?.flatten_all()?.to_vec1()?);
        let right = Tensor::from_vec(right, (to, 1), device)?;
        self.left = unit(weight.matmul(&right)?.flatten_all()?.to_vec1()?);
        let left = Tensor::from_slice(&self.left, (1, from), device)?;
        let largest = left.matmul(self.weight.as_tensor())?.matmul(&right)?;
        self.weight.broadcast_div(&largest)
    }
}

/// Applies three maps with rectifiers between them.
fn through(layers: &[Trained], weights: &[Tensor], x: &Tensor) -> gnarl_tensor::Result<Tensor> {
    let mut x = layers[0].forward(x, &weights[0])?;
    for (layer, weight) in layers.iter().zip(weights).skip(1) {
        x = layer.forward(&leaky(&x)?, weight)?;
    }
    Ok(x)
}

/// Returns `max(x, x / 5)`: a critic of plain rectifiers has no gradient if all of them are off.
fn leaky(x: &Tensor) -> gnarl_tensor::Result<Tensor> {
    let rest = (x * 0.2)?;
    (x * 0.8)?.relu()?.add(&rest)
}

fn network(dims: [usize; 4], rng: &mut Rng) -> gnarl_tensor::Result<Vec<Trained>> {
    dims.windows(2)
        .map(|dims| Trained::new(dims[0], dims[1], rng))
        .collect()
}

fn optimiser(layers: &[Trained]) -> Adam {
    let mut adam = Adam::new(AdamSettings {
        beta1: 0.5,
        beta2: 0.9,
        ..AdamSettings::default()
    });
    for layer in layers {
        adam.add(&layer.weight, LEARNING_RATE, 0.0);
        adam.add(&layer.bias, LEARNING_RATE, 0.0);
    }
    adam
}

fn noise(rows: usize, rng: &mut Rng) -> gnarl_tensor::Result<Tensor> {
    let values = (0..rows * NOISE)
        .map(|_| <StandardNormal as Distribution<f64>>::sample(&StandardNormal, rng) as f32);
    Tensor::from_vec(values.collect(), (rows, NOISE), &Device::Cpu)
}

impl Generator {
    /// Trains a pair on these points and keeps the generator.
    pub fn fit(points: &DenseMatrix<f64>, seed: u64) -> Result<Self> {
        MixtureSettings::new(1).check(points)?;
        let (n, d) = (points.num_rows(), points.num_cols());
        let mean = mean(points);
        let about = deviations(points, &mean);
        let square = |j: usize| {
            (0..n)
                .map(|i| about.row(i)[j] * about.row(i)[j])
                .sum::<f64>()
                / n as f64
        };
        let deviation: Vec<f64> = (0..d).map(|j| square(j).sqrt()).collect();
        let scaled = |i: usize, j: usize| {
            if deviation[j] > 0.0 {
                about.row(i)[j] / deviation[j]
            } else {
                0.0
            }
        };
        let rows: Vec<Vec<f32>> = (0..n)
            .map(|i| (0..d).map(|j| scaled(i, j) as f32).collect())
            .collect();
        let (layers, curve) = train(&rows, d, &mut stream(seed, "generator", 0))
            .map_err(|e| Error::argument("generator", e.to_string()))?;
        let parameters = layers
            .iter()
            .map(|layer| layer.weight.len() + layer.bias.len())
            .sum();
        let report = FitReport {
            points: n,
            components: 1,
            parameters,
            curve,
            converged: true,
            warning: None,
        };
        let mut fitted = Self {
            layers,
            mean,
            deviation,
            report,
        };
        fitted.report.warning = fitted.collapse(&mut stream(seed, "generator", 1));
        Ok(fitted)
    }

    /// Returns a warning if samples spread much less than the points.
    fn collapse(&self, rng: &mut Rng) -> Option<String> {
        let samples: Vec<Vec<f64>> = (0..EVALUATION_SAMPLES).map(|_| self.sample(rng)).collect();
        let of = |j: usize| {
            let mean = samples.iter().map(|x| x[j]).sum::<f64>() / EVALUATION_SAMPLES as f64;
            samples.iter().map(|x| (x[j] - mean).powi(2)).sum::<f64>() / EVALUATION_SAMPLES as f64
        };
        let sampled: f64 = (0..self.mean.len()).map(of).sum();
        let seen: f64 = self.deviation.iter().map(|s| s * s).sum();
        (sampled < COLLAPSED_BELOW * seen).then(|| {
            format!(
                "the generator collapsed: its samples have {:.3} of the variance of the vectors",
                sampled / seen
            )
        })
    }
}

/// The generator's layers after all steps, and minus the critic's loss on the way: 0 where it
/// always tells draws from vectors, -2 where it never does.
fn train(
    rows: &[Vec<f32>],
    d: usize,
    rng: &mut Rng,
) -> gnarl_tensor::Result<(Vec<Layer>, Vec<f64>)> {
    let mut critic = network([d, HIDDEN, HIDDEN, 1], rng)?;
    let generator = network([NOISE, HIDDEN, HIDDEN, d], rng)?;
    let (mut of_critic, mut of_generator) = (optimiser(&critic), optimiser(&generator));
    let own = |layers: &[Trained]| {
        layers
            .iter()
            .map(|layer| layer.weight.as_tensor().clone())
            .collect::<Vec<_>>()
    };
    let mut means: Vec<Vec<f32>> = generator
        .iter()
        .flat_map(Trained::values)
        .collect::<gnarl_tensor::Result<_>>()?;
    let mut curve = Vec::new();
    for step in 0..STEPS {
        for _ in 0..CRITIC_STEPS {
            let size = BATCH.min(rows.len());
            let batch: Vec<f32> = (0..size)
                .flat_map(|_| rows[rng.random_range(0..rows.len())].iter().copied())
                .collect();
            let real = Tensor::from_vec(batch, (size, d), &Device::Cpu)?;
            let sampled = through(&generator, &own(&generator), &noise(size, rng)?)?.detach();
            let weights = critic
                .iter_mut()
                .map(Trained::normalised)
                .collect::<gnarl_tensor::Result<Vec<_>>>()?;
            let missed = (through(&critic, &weights, &real)? * -1.0)?
                .affine(1.0, 1.0)?
                .relu()?
                .mean_all()?;
            let fooled = through(&critic, &weights, &sampled)?
                .affine(1.0, 1.0)?
                .relu()?
                .mean_all()?;
            let loss = missed.add(&fooled)?;
            of_critic.step(&loss.backward()?)?;
            if step % 50 == 0 || step + 1 == STEPS {
                curve.push(-f64::from(loss.to_scalar::<f32>()?));
            }
        }
        let sampled = through(
            &generator,
            &own(&generator),
            &noise(BATCH.min(rows.len()), rng)?,
        )?;
        let weights = critic
            .iter_mut()
            .map(Trained::normalised)
            .collect::<gnarl_tensor::Result<Vec<_>>>()?;
        let loss = (through(&critic, &weights, &sampled)?.mean_all()? * -1.0)?;
        of_generator.step(&loss.backward()?)?;
        for (mean, now) in means
            .iter_mut()
            .zip(generator.iter().flat_map(Trained::values))
        {
            mean.iter_mut()
                .zip(now?)
                .for_each(|(mean, now)| *mean += (1.0 - MEMORY) * (now - *mean));
        }
    }
    let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect();
    let layers = means.chunks_exact(2).map(|pair| Layer {
        weight: wide(&pair[0]),
        bias: wide(&pair[1]),
    });
    Ok((layers.collect(), curve))
}

impl FittedDensity for Generator {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        let mut x: Vec<f64> = (0..NOISE).map(|_| StandardNormal.sample(rng)).collect();
        for (l, layer) in self.layers.iter().enumerate() {
            if l > 0 {
                x.iter_mut().for_each(|x| *x = x.max(0.2 * *x));
            }
            let mut out = layer.bias.clone();
            for (x, row) in x.iter().zip(layer.weight.chunks_exact(out.len())) {
                out.iter_mut().zip(row).for_each(|(o, w)| *o += x * w);
            }
            x = out;
        }
        x.iter()
            .zip(&self.mean)
            .zip(&self.deviation)
            .map(|((x, mean), deviation)| mean + deviation * x)
            .collect()
    }

    fn log_density(&self, _: &[f64]) -> Option<f64> {
        None
    }

    fn report(&self) -> &FitReport {
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_look_like_the_points() {
        let rng = &mut stream(1, "generator test", 0);
        let mut data = Vec::new();
        for i in 0..300 {
            let (a, b): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
            let centre = if i % 2 == 0 { 10.0 } else { 2.0 };
            data.extend([centre + 0.5 * a, -3.0 + 2.0 * b, 7.0]);
        }
        let points = DenseMatrix::new(300, 3, data).unwrap();
        let fitted = Generator::fit(&points, 4).unwrap();
        assert_eq!(fitted.report().warning, None);
        let samples: Vec<Vec<f64>> = (0..2000).map(|_| fitted.sample(rng)).collect();
        let mean = |j: usize| samples.iter().map(|x| x[j]).sum::<f64>() / 2000.0;
        let spread = |j: usize| {
            (samples
                .iter()
                .map(|x| (x[j] - mean(j)).powi(2))
                .sum::<f64>()
                / 2000.0)
                .sqrt()
        };
        assert!(
            (mean(0) - 6.0).abs() < 1.0 && (mean(1) + 3.0).abs() < 0.5,
            "{} {}",
            mean(0),
            mean(1)
        );
        assert!(
            (2.5..5.5).contains(&spread(0)) && (1.0..3.0).contains(&spread(1)),
            "{} {}",
            spread(0),
            spread(1)
        );
        // Both clouds, and fewer samples between them than one Gaussian would have: 38 in a
        // hundred.
        let near = |c: f64| samples.iter().filter(|x| (x[0] - c).abs() < 2.0).count();
        assert!(
            near(10.0) > 350 && near(2.0) > 350 && near(6.0) < 700,
            "{} {} {}",
            near(10.0),
            near(2.0),
            near(6.0)
        );
        assert!(samples.iter().all(|x| x[2] == 7.0), "a constant stays one");
        assert_eq!(fitted.log_density(points.row(0)), None);
        assert_eq!(
            Generator::fit(&points, 4)
                .unwrap()
                .sample(&mut stream(1, "x", 0)),
            fitted.sample(&mut stream(1, "x", 0))
        );
    }

    #[test]
    fn mode_collapse_is_reported() {
        let layers = vec![Layer {
            weight: vec![0.0; NOISE],
            bias: vec![0.5],
        }];
        let report = FitReport {
            points: 9,
            components: 1,
            parameters: 17,
            curve: vec![],
            converged: true,
            warning: None,
        };
        let dead = Generator {
            layers,
            mean: vec![1.0],
            deviation: vec![2.0],
            report,
        };
        let said = dead.collapse(&mut stream(1, "generator test", 1)).unwrap();
        assert_eq!(
            said,
            "the generator collapsed: its samples have 0.000 of the variance of the vectors"
        );
        let one = DenseMatrix::new(1, 2, vec![1.0, 2.0]).unwrap();
        assert_eq!(
            Generator::fit(&one, 1)
                .unwrap()
                .sample(&mut stream(1, "generator test", 2)),
            [1.0, 2.0]
        );
    }
}
