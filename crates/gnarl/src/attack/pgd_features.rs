//! Projected gradient ascent on features (Madry et al. 2018; thesis ch. 5, budget 15 %): from several starting points, steps along the
//! gradient of the loss on the target nodes, each followed by a projection on the budget; the best attempt is kept.
//!
//! All that a network hears of features X is often `X Q` for a narrow orthonormal Q ([`Reduced`](crate::classifier::Reduced)). Then a
//! gradient by X is one by `X Q` times Qᵀ, it never leaves the space of Q, and in L2 the search is done on the `nodes · dim`
//! coordinates with the same result. In Linf the perturbation has all its entries, but gradients and products are formed for some
//! rows at a time.

use candle_core::{Device, Tensor, Var};
use gnarl_graph::random::stream;
use gnarl_graph::{DenseMatrix, Error as GraphError, Features, Graph};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use serde::Serialize;

use super::attacked::write_row;
use super::budget::{FeatureBudget, Norm, Radii};
use super::loss::{Loss, Objective, Standing};
use super::{Kind, Scene, refused};
use crate::classifier::{Reduced, WhiteBox};
use crate::error::Result;
use crate::nn::{Input, Propagation};

/// How perturbations of features are sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PgdFeatures {
    /// Steps from each starting point.
    pub steps: usize,
    /// Starting points: the features as they are, then random ones.
    pub starts: usize,
    /// What is climbed.
    pub loss: Loss,
    /// The share of a node's entries that may move, those the search moves furthest. With less than half, the median entry stays
    /// as it was, which is where a defence would read off noise.
    pub support: f64,
}

impl Default for PgdFeatures {
    fn default() -> Self {
        Self { steps: 100, starts: 2, loss: Loss::Margin, support: 1.0 }
    }
}

impl PgdFeatures {
    /// Refuses a search of nothing.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        for (name, count) in [("steps", self.steps), ("starts", self.starts)] {
            if count == 0 {
                return Err(GraphError::argument("attack", format!("{name} must be at least 1")));
            }
        }
        if !(self.support > 0.0 && self.support <= 1.0) {
            let what = format!("support {} must be above 0 and at most 1", self.support);
            return Err(GraphError::argument("attack", what));
        }
        Ok(())
    }
}

/// The first step, as a share of the radius; the steps shrink to nothing in a straight line.
const FIRST_STEP: f64 = 0.5;
/// Entries of a feature matrix that are formed at once.
const BLOCK_ENTRIES: usize = 1 << 22;

pub(super) fn attack(scene: &Scene<'_>, budget: FeatureBudget, settings: PgdFeatures, seed: u64) -> Result<Graph> {
    let model = scene.white_box(Kind::PgdFeatures)?;
    let targets = scene.some_targets(Kind::PgdFeatures)?;
    let features = scene.graph.features().ok_or_else(|| refused("the graph has no features to attack"))?;
    if features.num_cols() == 0 {
        return Ok(scene.graph.clone());
    }
    let field = Field::new(model, scene.graph, features, budget.radii(features), settings.support)?;
    let clean = field.scores(&field.base)?;
    let width = model.network().num_classes();
    let objective = Objective::new(settings.loss, targets, &clean, width);
    let mut best = (objective.standing(&clean), field.nothing());
    for start in 0..settings.starts {
        let from = if start == 0 { field.nothing() } else { field.random_start(seed, start as u64) };
        let found = field.climb(from, &objective, settings.steps)?;
        if found.0.beats(&best.0) {
            best = found;
        }
    }
    field.apply(scene.graph, &best.1)
}

/// Where perturbations live and how they are judged.
struct Field<'a> {
    model: &'a WhiteBox,
    features: &'a Features,
    propagation: Propagation,
    /// What the network hears of the features: `X Q`, or X.
    base: Tensor,
    reduced: Option<&'a Reduced>,
    /// Numbers in a row of a perturbation.
    width: usize,
    radii: Radii,
    /// How many entries of a row may move, where not all.
    support: Option<usize>,
}

impl<'a> Field<'a> {
    fn new(model: &'a WhiteBox, graph: &Graph, features: &'a Features, radii: Radii, support: f64) -> Result<Self> {
        let support = (support < 1.0).then(|| ((support * features.num_cols() as f64) as usize).max(1));
        if support.is_some() && radii.together.is_some() {
            return Err(refused("a support is for a budget of every node, not of the whole matrix"));
        }
        let input = model.input(graph)?;
        let reduced = model.reduced()?;
        let base = match reduced {
            Some(reduced) => reduced.coordinates(&input)?,
            None => input.to_dense()?,
        };
        // In L2 a perturbation need not leave what is heard.
        let width = match (radii.norm, reduced) {
            (Norm::L2, Some(reduced)) if support.is_none() => reduced.dim(),
            _ => features.num_cols(),
        };
        Ok(Self {
            model,
            features,
            propagation: model.propagation(graph)?,
            base: base.detach(),
            reduced,
            width,
            radii,
            support,
        })
    }

    fn num_rows(&self) -> usize {
        self.features.num_rows()
    }

    fn nothing(&self) -> Vec<f32> {
        vec![0.0; self.num_rows() * self.width]
    }

    /// The basis, where perturbations have more entries than are heard.
    fn basis(&self) -> Option<&Tensor> {
        self.reduced.filter(|reduced| reduced.dim() != self.width).map(|reduced| &reduced.basis)
    }

    /// A point on the border of the budget: Gaussian directions in L2, a corner of the box in Linf.
    fn random_start(&self, seed: u64, start: u64) -> Vec<f32> {
        let mut delta = self.nothing();
        let purpose = format!("pgd features {start}");
        delta.par_chunks_mut(self.width).enumerate().for_each(|(i, row)| {
            let rng = &mut stream(seed, &purpose, i as u64);
            match self.radii.norm {
                Norm::L2 => row.iter_mut().for_each(|d| *d = rng.sample::<f64, _>(StandardNormal) as f32),
                Norm::Linf => row.iter_mut().for_each(|d| *d = if rng.random_bool(0.5) { 1.0 } else { -1.0 }),
            }
            // With a budget for all, rows keep their sizes relative to each other.
            if self.radii.together.is_none() {
                self.keep_support(row);
                scale_to(row, self.radii.rows[i], self.radii.norm);
            }
        });
        if let Some(together) = self.radii.together {
            scale_to(&mut delta, together, Norm::L2);
        }
        delta
    }

    /// Leaves of a row only the entries that may move, the largest, of equals the first.
    fn keep_support(&self, row: &mut [f32]) {
        let Some(count) = self.support.filter(|count| *count < row.len()) else { return };
        let mut order: Vec<u32> = (0..row.len() as u32).collect();
        let larger = |a: &u32, b: &u32| row[*b as usize].abs().total_cmp(&row[*a as usize].abs()).then(a.cmp(b));
        order.select_nth_unstable_by(count, larger);
        order[count..].iter().for_each(|&i| row[i as usize] = 0.0);
    }

    /// Steps of projected ascent; the best point on the way.
    fn climb(&self, mut delta: Vec<f32>, objective: &Objective<'_>, steps: usize) -> Result<(Standing, Vec<f32>)> {
        let mut best: Option<(Standing, Vec<f32>)> = None;
        for step in 0..=steps {
            let heard = Var::from_tensor(&self.heard(&delta)?)?;
            let scores = self.forward(heard.as_tensor())?;
            let (standing, slope) = objective.standing_and_gradient(&scores.flatten_all()?.to_vec1::<f32>()?);
            if best.as_ref().is_none_or(|(kept, _)| standing.beats(kept)) {
                best = Some((standing, delta.clone()));
            }
            if step == steps {
                break;
            }
            let slope = Tensor::from_vec(slope, scores.shape(), &Device::Cpu)?;
            let grads = (scores * slope)?.sum_all()?.backward()?;
            let Some(gradient) = grads.get(&heard) else { break };
            let share = FIRST_STEP * (1.0 - step as f64 / steps as f64);
            self.step(&mut delta, gradient, share)?;
        }
        Ok(best.expect("the start is looked at"))
    }

    fn forward(&self, heard: &Tensor) -> Result<Tensor> {
        match self.reduced {
            Some(reduced) => self.model.forward_reduced(reduced, &self.propagation, heard),
            None => self.model.forward(&self.propagation, &Input::Dense(heard.clone())),
        }
    }

    fn scores(&self, heard: &Tensor) -> Result<Vec<f32>> {
        Ok(self.forward(heard)?.flatten_all()?.to_vec1()?)
    }

    /// What is heard of the features with a perturbation.
    fn heard(&self, delta: &[f32]) -> Result<Tensor> {
        let Some(basis) = self.basis() else {
            return Ok((&self.base + Tensor::from_slice(delta, self.base.shape(), &Device::Cpu)?)?);
        };
        let mut parts = Vec::new();
        for block in delta.chunks(self.block_rows() * self.width) {
            let rows = block.len() / self.width;
            parts.push(Tensor::from_slice(block, (rows, self.width), &Device::Cpu)?.matmul(basis)?);
        }
        Ok((&self.base + Tensor::cat(&parts, 0)?)?)
    }

    fn block_rows(&self) -> usize {
        (BLOCK_ENTRIES / self.width).max(1)
    }

    /// One step of `share` of the radius along the gradient by what is heard, and back into the budget.
    fn step(&self, delta: &mut [f32], gradient: &Tensor, share: f64) -> Result<()> {
        if let Some(together) = self.radii.together {
            let gradient = gradient.flatten_all()?.to_vec1::<f32>()?;
            let length = length(&gradient);
            if length > 0.0 {
                let by = share * together / length;
                delta.par_iter_mut().zip(&gradient).for_each(|(d, &g)| *d += (by * f64::from(g)) as f32);
                shrink_to(delta, together, Norm::L2);
            }
            return Ok(());
        }
        let transposed = self.basis().map(|basis| basis.t()).transpose()?;
        let (rows, block) = (self.num_rows(), self.block_rows());
        for first in (0..rows).step_by(block) {
            let count = block.min(rows - first);
            let part = gradient.narrow(0, first, count)?.contiguous()?;
            let part = transposed.as_ref().map_or_else(|| Ok(part.clone()), |t| part.matmul(&t.contiguous()?))?;
            let part = part.flatten_all()?.to_vec1::<f32>()?;
            let here = &mut delta[first * self.width..(first + count) * self.width];
            here.par_chunks_mut(self.width).zip(part.par_chunks(self.width)).enumerate().for_each(
                |(i, (row, slope))| {
                    let radius = self.radii.rows[first + i];
                    match self.radii.norm {
                        Norm::L2 => {
                            let length = length(slope);
                            if length > 0.0 {
                                let by = share * radius / length;
                                row.iter_mut().zip(slope).for_each(|(d, &g)| *d += (by * f64::from(g)) as f32);
                            }
                        }
                        Norm::Linf => {
                            let by = (share * radius) as f32;
                            let way = |g: f32| {
                                if g > 0.0 {
                                    by
                                } else if g < 0.0 {
                                    -by
                                } else {
                                    0.0
                                }
                            };
                            row.iter_mut().zip(slope).for_each(|(d, &g)| *d += way(g));
                        }
                    }
                    self.keep_support(row);
                    shrink_to(row, radius, self.radii.norm);
                },
            );
        }
        Ok(())
    }

    /// The graph with perturbed features. They are rounded to `f32` here, which may take a row over its budget by a digit: it is
    /// then shortened until it is within.
    fn apply(&self, graph: &Graph, delta: &[f32]) -> Result<Graph> {
        if delta.iter().all(|&d| d == 0.0) {
            return Ok(graph.clone());
        }
        let lift = match (self.radii.norm, self.reduced) {
            (Norm::L2, Some(reduced)) if self.support.is_none() => Some(reduced.basis.t()?.contiguous()?),
            _ => None,
        };
        let (rows, cols) = (self.num_rows(), self.features.num_cols());
        // With a budget for all, every row is shortened alike.
        let mut shares =
            self.radii.together.map_or_else(|| vec![1.0], |_| vec![1.0, 1.0 - 1e-6, 1.0 - 1e-3]).into_iter();
        loop {
            let Some(share) = shares.next() else { return Ok(graph.clone()) };
            let mut data = vec![0f32; rows * cols];
            let block = (BLOCK_ENTRIES / cols).max(1);
            let mut squares = 0.0;
            for first in (0..rows).step_by(block) {
                let count = block.min(rows - first);
                let mut part = delta[first * self.width..(first + count) * self.width].to_vec();
                if let Some(lift) = &lift {
                    let coordinates = Tensor::from_vec(part, (count, self.width), &Device::Cpu)?;
                    part = coordinates.matmul(lift)?.flatten_all()?.to_vec1::<f32>()?;
                }
                let out = &mut data[first * cols..(first + count) * cols];
                let moved: Vec<f64> = out
                    .par_chunks_mut(cols)
                    .zip(part.par_chunks(cols))
                    .enumerate()
                    .map(|(i, (out, by))| {
                        write_row(self.features, first + i, out);
                        move_row(out, by, share, self.radii.rows[first + i], self.radii.norm)
                    })
                    .collect();
                squares += moved.iter().map(|m| m * m).sum::<f64>();
            }
            if self.radii.together.is_none_or(|together| squares.sqrt() <= together) {
                return Ok(graph.clone().with_features(Features::Dense(DenseMatrix::new(rows, cols, data)?))?);
            }
        }
    }
}

/// Moves a row by `share · by`, less where rounding would take it further than the radius; how far it went.
fn move_row(row: &mut [f32], by: &[f32], share: f64, radius: f64, norm: Norm) -> f64 {
    let start = row.to_vec();
    // The last try is to stay.
    for share in [share, share * (1.0 - 1e-6), share * (1.0 - 1e-4), share * 0.9, share * 0.5, 0.0] {
        for ((x, &x0), &d) in row.iter_mut().zip(&start).zip(by) {
            *x = (f64::from(x0) + share * f64::from(d)) as f32;
        }
        let moved = norm.of(row.iter().zip(&start).map(|(&x, &x0)| f64::from(x) - f64::from(x0)));
        if moved <= radius {
            return moved;
        }
    }
    0.0
}

fn length(values: &[f32]) -> f64 {
    values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}

/// Scales to this norm; zeros stay.
fn scale_to(values: &mut [f32], size: f64, norm: Norm) {
    let now = norm.of(values.iter().map(|&v| f64::from(v)));
    if now > 0.0 {
        let by = size / now;
        values.iter_mut().for_each(|v| *v = (f64::from(*v) * by) as f32);
    }
}

/// The nearest point whose norm is at most `radius`.
fn shrink_to(values: &mut [f32], radius: f64, norm: Norm) {
    match norm {
        Norm::L2 => {
            if length(values) > radius {
                scale_to(values, radius, norm);
            }
        }
        Norm::Linf => {
            let radius = radius as f32;
            values.iter_mut().for_each(|v| *v = v.clamp(-radius, radius));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::testing::{accuracy, graph, targets, trained, untrained};
    use crate::attack::{Attack, Attacked, Options, Scope};
    use crate::classifier::{Classifier, to_matrix};
    use crate::nn::Backbone;

    fn run(model: &dyn Classifier, graph: &Graph, share: f64, options: Options, seed: u64) -> Attacked {
        let targets = targets(graph);
        let scene = Scene { graph, model: Some(model), targets: &targets, labels: graph.labels() };
        Attack::new(Kind::PgdFeatures, Some(share), options).unwrap().run(&scene, seed).unwrap()
    }

    fn options(norm: Norm, scope: Scope) -> Options {
        Options { norm: Some(norm), scope: Some(scope), steps: Some(30), starts: Some(2), ..Options::default() }
    }

    fn loss(model: &dyn Classifier, graph: &Graph, at: &Graph, loss: Loss) -> f64 {
        let targets = targets(graph);
        let clean = model.scores(graph).unwrap();
        let objective = Objective::new(loss, &targets, clean.data(), clean.num_cols());
        objective.standing(model.scores(at).unwrap().data()).loss
    }

    /// Noise that moves every row (or the matrix) exactly as far as the attack may.
    fn noise(graph: &Graph, radii: &Radii, seed: u64) -> Graph {
        let features = graph.features().unwrap().to_dense();
        let (n, k) = (features.num_rows(), features.num_cols());
        let rng = &mut stream(seed, "noise of a test", 0);
        let mut delta: Vec<f32> = (0..n * k).map(|_| rng.sample::<f64, _>(StandardNormal) as f32).collect();
        match radii.together {
            Some(together) => scale_to(&mut delta, together, Norm::L2),
            None => delta.chunks_mut(k).enumerate().for_each(|(i, row)| scale_to(row, radii.rows[i], radii.norm)),
        }
        let data = features.data().iter().zip(&delta).map(|(x, d)| x + d).collect();
        graph.clone().with_features(Features::Dense(DenseMatrix::new(n, k, data).unwrap())).unwrap()
    }

    #[test]
    fn it_beats_noise_of_the_same_norm_on_trained_and_random_models() {
        let graph = graph(1);
        for (norm, scope) in [(Norm::L2, Scope::Node), (Norm::L2, Scope::Matrix), (Norm::Linf, Scope::Node)] {
            for climbed in [Loss::Margin, Loss::CrossEntropy] {
                for model in [trained(&graph, Backbone::Gcn), untrained(&graph, Backbone::Gin)] {
                    let options = Options { loss: Some(climbed), ..options(norm, scope) };
                    let attacked = run(&model, &graph, 0.3, options, 1).graph;
                    let budget = FeatureBudget::new(0.3, norm, scope).unwrap();
                    let radii = budget.radii(graph.features().unwrap());
                    let by_pgd = loss(&model, &graph, &attacked, climbed);
                    for seed in 0..5 {
                        let noisy = noise(&graph, &radii, seed);
                        assert!(accuracy(&model, &graph, &attacked) <= accuracy(&model, &graph, &noisy));
                        let by_noise = loss(&model, &graph, &noisy, climbed);
                        assert!(by_pgd > by_noise, "{norm} {climbed}: {by_pgd} against {by_noise}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_trained_model_falls() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::Gcn);
        let before = accuracy(&model, &graph, &graph);
        let after = accuracy(&model, &graph, &run(&model, &graph, 0.5, Options::default(), 1).graph);
        assert!(before > 80.0 && after < before - 20.0, "{before} to {after}");
    }

    /// The search in fewer coordinates is the search in all of them: same slope, same heard perturbation.
    #[test]
    fn the_reduced_gradient_is_the_gradient() {
        let graph = graph(3);
        let model = trained(&graph, Backbone::Gcn);
        let reduced = model.reduced().unwrap().expect("a gcn of 8 on 12 features");
        let propagation = model.propagation(&graph).unwrap();
        let x = Var::from_tensor(&model.input(&graph).unwrap().to_dense().unwrap()).unwrap();
        let c = Var::from_tensor(&reduced.coordinates(&Input::Dense(x.as_detached_tensor())).unwrap()).unwrap();
        let full = model.forward(&propagation, &Input::Dense(x.as_tensor().clone())).unwrap();
        let short = model.forward_reduced(reduced, &propagation, c.as_tensor()).unwrap();
        let square = |y: &Tensor| y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
        let (by_x, by_c) = (square(&full), square(&short));
        let lifted = by_c.get(&c).unwrap().matmul(&reduced.basis.t().unwrap()).unwrap();
        let [a, b] = [by_x.get(&x).unwrap(), &lifted].map(|t| to_matrix(t).unwrap().data().to_vec());
        crate::nn::testing::assert_close(&a, &b, 1e-3, "gradients");
    }

    #[test]
    fn more_steps_and_more_starts_never_hurt_and_every_option_matters() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::Gcn);
        let of = |options: Options| run(&model, &graph, 0.3, options, 1).graph.features().unwrap().to_dense();
        let usual = Options { steps: Some(5), starts: Some(1), ..Options::default() };
        let base = of(usual);
        for other in [
            Options { norm: Some(Norm::Linf), ..usual },
            Options { scope: Some(Scope::Matrix), ..usual },
            Options { loss: Some(Loss::CrossEntropy), ..usual },
            Options { steps: Some(6), ..usual },
        ] {
            assert_ne!(of(other), base, "{other:?}");
        }
        let standing = |starts| {
            let graph_at = run(&model, &graph, 0.3, Options { starts: Some(starts), ..usual }, 1).graph;
            accuracy(&model, &graph, &graph_at)
        };
        assert!(standing(4) <= standing(1));
        let e = Attack::new(Kind::PgdFeatures, None, Options { steps: Some(0), ..usual }).unwrap_err().to_string();
        assert_eq!(e, "attack: steps must be at least 1");
    }

    #[test]
    fn tiny_budgets_are_kept_to_the_last_digit() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::Gcn);
        for share in [1e-12, 1e-8, 1e-4, 1e3] {
            for (norm, scope) in [(Norm::L2, Scope::Node), (Norm::L2, Scope::Matrix), (Norm::Linf, Scope::Node)] {
                // Every attack ends with the check.
                run(&model, &graph, share, Options { steps: Some(3), ..options(norm, scope) }, 1);
            }
        }
    }

    #[test]
    fn a_support_leaves_the_other_entries_alone_and_takes_some_of_the_strength() {
        let graph = graph(1);
        let (model, targets) = (trained(&graph, Backbone::Gcn), targets(&graph));
        let scene = Scene { graph: &graph, model: Some(&model), targets: &targets, labels: graph.labels() };
        let columns = graph.features().unwrap().num_cols();
        let moved = |share: f64| {
            let options = Options { steps: Some(20), starts: Some(1), support: Some(share), ..Options::default() };
            let attacked = Attack::new(Kind::PgdFeatures, Some(0.3), options).unwrap().run(&scene, 1).unwrap();
            let (mut before, mut after) = (vec![0f32; columns], vec![0f32; columns]);
            let most = (0..graph.num_nodes()).map(|i| {
                write_row(graph.features().unwrap(), i, &mut before);
                write_row(attacked.graph.features().unwrap(), i, &mut after);
                before.iter().zip(&after).filter(|(a, b)| a != b).count()
            });
            most.max().unwrap()
        };
        let few = moved(0.4);
        assert!(few > 0 && few <= (0.4 * columns as f64) as usize, "{few} of {columns}");
        assert!(moved(1.0) > few);
        for wrong in [0.0, -1.0, 1.5, f64::NAN] {
            let options = Options { support: Some(wrong), ..Options::default() };
            let e = Attack::new(Kind::PgdFeatures, None, options).unwrap_err().to_string();
            assert!(e.contains("support"), "{e}");
        }
        let options = Options { support: Some(0.4), scope: Some(Scope::Matrix), ..Options::default() };
        let e = Attack::new(Kind::PgdFeatures, None, options).unwrap().run(&scene, 1).unwrap_err().to_string();
        assert!(e.contains("whole matrix"), "{e}");
    }
}
