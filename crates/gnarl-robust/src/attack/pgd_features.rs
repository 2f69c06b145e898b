//! Projected gradient ascent on features (PGD; Madry et al. 2018,
//! [arXiv:1706.06083](https://arxiv.org/abs/1706.06083)): from several starting points, steps along
//! the gradient of the loss on the target nodes, each followed by a projection on the budget. The
//! best point is kept.
//!
//! Many networks use features X only as `X Q` with a narrow orthonormal Q ([`Reduced`]). Then a
//! gradient by X is a gradient by `X Q` times Qᵀ and stays in the space of Q. In L2 the search runs
//! on the `nodes · dim` coordinates with the same result. In Linf the perturbation has all its
//! entries, but gradients and products are formed for some rows at a time.

use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Error as GraphError, Features, Graph};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::loss::{Loss, Objective, ObjectiveValue};
use super::method::{AttackInput, Method, Property, Requirement};
use crate::classifier::{Classifier, Reduced, WhiteBox};
use crate::perturb::rows::{scale_to, shrink_to, write_row};
use crate::perturb::{Budget, FeatureBudget, Norm, Radii, Scope};
use gnarl_graph::Result;
use gnarl_nn::networks::{Input, Propagation};
use gnarl_tensor::{Device, Tensor, Var};

/// Projected gradient ascent on features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "pgd-features",
    about = "projected gradient ascent on features (PGD)",
    check = Self::check_budget,
    constant
)]
pub struct PgdFeatures {
    /// Budget as a share of the features' norm.
    #[setting(default = 0.15, range = 0.0..)]
    pub budget: f64,
    /// Norm of the budget, 2 or inf.
    #[setting(default = Norm::L2)]
    pub norm: Norm,
    /// Rows that share one budget, each node alone or the whole matrix.
    #[setting(default = Scope::Node)]
    pub scope: Scope,
    /// Loss to maximise.
    #[setting(default = Loss::Margin)]
    pub loss: Loss,
    /// Number of steps of gradient ascent.
    #[setting(default = 100, range = 1..)]
    pub steps: usize,
    /// Number of starting points, the clean features first, then random points of the budget.
    #[setting(default = 2, range = 1.., was = "starts")]
    pub restarts: usize,
    /// Share of a node's features that may be perturbed, the largest perturbations.
    ///
    /// Below one half the median entry of a node stays unchanged, so that a defence that estimates
    /// noise by the median sees none.
    #[setting(default = 1.0, above = 0.0, range = ..=1.0)]
    pub support: f64,
}

impl PgdFeatures {
    /// Returns the attack with this share of every node's L2 norm and the default search.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            ..Self::DEFAULT
        }
    }

    fn feature_budget(&self) -> gnarl_graph::Result<FeatureBudget> {
        FeatureBudget::new(self.budget, self.norm, self.scope)
    }

    fn check_budget(&self) -> gnarl_graph::Result<()> {
        self.feature_budget()?;
        if !matches!(self.norm, Norm::L2 | Norm::Infinity) {
            return Err(GraphError::OutOfRange {
                setting: "norm".into(),
                range: "2 or inf, which have a projection".into(),
                got: self.norm.to_string(),
            });
        }
        if self.support < 1.0 && (self.norm, self.scope) == (Norm::L2, Scope::Matrix) {
            let what = "needs a budget for every node; take --scope node";
            return Err(GraphError::setting("support", what));
        }
        Ok(())
    }
}

/// Size of the first step, as a share of the radius; step sizes decay linearly to zero.
const FIRST_STEP: f64 = 0.5;
/// Number of entries of a feature matrix that are formed at once.
const BLOCK_ENTRIES: usize = 1 << 22;

impl Method for PgdFeatures {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let model = input.white_box::<Self>()?;
        let targets = input.some_targets::<Self>()?;
        let features = input.graph.features().ok_or_else(|| {
            let what = "the graph has no features to attack";
            GraphError::missing("attack", what, "take a graph with features")
        })?;
        if features.num_cols() == 0 || features.num_rows() == 0 {
            return Ok(input.graph.clone());
        }
        let field = Field::new(
            model,
            input.graph,
            features,
            self.feature_budget()?.radii(features),
            self.support,
        )?;
        let clean = field.scores(&field.base)?;
        let objective = Objective::new(self.loss, targets, &clean, model.num_classes());
        let mut best = (objective.value(&clean), field.nothing());
        for start in 0..self.restarts {
            if input.stopped() {
                break;
            }
            let from = if start == 0 {
                field.nothing()
            } else {
                field.random_start(seed, start as u64)
            };
            let found = field.ascend(from, &objective, self.steps, input)?;
            if found.0.beats(&best.0) {
                best = found;
            }
        }
        field.apply(input.graph, &best.1)
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        self.feature_budget().map(Budget::Features)
    }

    fn unit(&self) -> &'static str {
        "share of the features' norm"
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::Gradients])
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::Features])
    }

    fn passes(&self) -> f64 {
        2.0 * self.steps as f64 * self.restarts as f64
    }
}

/// The space of perturbations and their evaluation.
struct Field<'a> {
    model: &'a WhiteBox,
    features: &'a Features,
    propagation: Propagation,
    /// The part of the features that the network uses: `X Q`, or X.
    base: Tensor,
    reduced: Option<&'a Reduced>,
    /// Number of entries in a row of a perturbation.
    width: usize,
    radii: Radii,
    /// The number of entries of a row that may move; `None` for all.
    support: Option<usize>,
}

impl<'a> Field<'a> {
    fn new(
        model: &'a WhiteBox,
        graph: &Graph,
        features: &'a Features,
        radii: Radii,
        support: f64,
    ) -> Result<Self> {
        let support =
            (support < 1.0).then(|| ((support * features.num_cols() as f64) as usize).max(1));
        let taken = model.input(graph)?;
        let reduced = model.reduced()?;
        let base = match reduced {
            Some(reduced) => reduced.coordinates(&taken)?,
            None => taken.to_dense()?,
        };
        // In L2 a perturbation stays in the space of Q without loss.
        let width = match (radii.norm, reduced) {
            (Norm::P(_), Some(reduced)) if support.is_none() => reduced.dim(),
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

    /// Returns the basis, if perturbations have more entries than the network uses.
    fn basis(&self) -> Option<&Tensor> {
        self.reduced
            .filter(|reduced| reduced.dim() != self.width)
            .map(|reduced| &reduced.basis)
    }

    /// Returns a random point on the border of the budget: Gaussian directions in L2, corners in
    /// Linf.
    fn random_start(&self, seed: u64, start: u64) -> Vec<f32> {
        let mut delta = self.nothing();
        let purpose = format!("pgd features {start}");
        delta
            .par_chunks_mut(self.width)
            .enumerate()
            .for_each(|(i, row)| {
                let rng = &mut stream(seed, &purpose, i as u64);
                match self.radii.norm {
                    Norm::Infinity => row
                        .iter_mut()
                        .for_each(|d| *d = if rng.random_bool(0.5) { 1.0 } else { -1.0 }),
                    Norm::P(_) => row
                        .iter_mut()
                        .for_each(|d| *d = rng.sample::<f64, _>(StandardNormal) as f32),
                }
                // With a budget for the whole matrix, rows keep their relative norms.
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

    /// Keeps the largest entries of a row, ties by column, and sets the others to zero.
    fn keep_support(&self, row: &mut [f32]) {
        let Some(count) = self.support.filter(|count| *count < row.len()) else {
            return;
        };
        let mut order: Vec<u32> = (0..row.len() as u32).collect();
        let larger = |a: &u32, b: &u32| {
            row[*b as usize]
                .abs()
                .total_cmp(&row[*a as usize].abs())
                .then(a.cmp(b))
        };
        order.select_nth_unstable_by(count, larger);
        order[count..].iter().for_each(|&i| row[i as usize] = 0.0);
    }

    /// Runs projected gradient ascent until it is stopped; returns the best point.
    fn ascend(
        &self,
        mut delta: Vec<f32>,
        objective: &Objective<'_>,
        steps: usize,
        input: &AttackInput<'_>,
    ) -> Result<(ObjectiveValue, Vec<f32>)> {
        let mut best: Option<(ObjectiveValue, Vec<f32>)> = None;
        for step in 0..=steps {
            let moved = Var::from_tensor(&self.input_with(&delta)?)?;
            let scores = self.forward(moved.as_tensor())?;
            let (value, slope) =
                objective.value_and_gradient(&scores.flatten_all()?.to_vec1::<f32>()?);
            if best.as_ref().is_none_or(|(kept, _)| value.beats(kept)) {
                best = Some((value, delta.clone()));
            }
            if step == steps || input.stopped() {
                break;
            }
            let slope = Tensor::from_vec(slope, scores.shape(), &Device::Cpu)?;
            let grads = (scores * slope)?.sum_all()?.backward()?;
            let Some(gradient) = grads.get(&moved) else {
                break;
            };
            let share = FIRST_STEP * (1.0 - step as f64 / steps as f64);
            self.step(&mut delta, gradient, share)?;
        }
        Ok(best.expect("the starting point is evaluated"))
    }

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        match self.reduced {
            Some(reduced) => self
                .model
                .forward_reduced(reduced, &self.propagation, input),
            None => self
                .model
                .forward(&self.propagation, &Input::Dense(input.clone())),
        }
    }

    fn scores(&self, input: &Tensor) -> Result<Vec<f32>> {
        Ok(self.forward(input)?.flatten_all()?.to_vec1()?)
    }

    /// Returns the part of the perturbed features that the network uses.
    fn input_with(&self, delta: &[f32]) -> Result<Tensor> {
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

    /// Makes one step of `share` of the radius along the gradient by the network's input, then
    /// projects on the budget.
    fn step(&self, delta: &mut [f32], gradient: &Tensor, share: f64) -> Result<()> {
        if let Some(together) = self.radii.together {
            let gradient = gradient.flatten_all()?.to_vec1::<f32>()?;
            let length = length(&gradient);
            if length > 0.0 {
                let by = share * together / length;
                delta
                    .par_iter_mut()
                    .zip(&gradient)
                    .for_each(|(d, &g)| *d += (by * f64::from(g)) as f32);
                shrink_to(delta, together, Norm::L2);
            }
            return Ok(());
        }
        let transposed = self.basis().map(|basis| basis.t()).transpose()?;
        let (rows, block) = (self.num_rows(), self.block_rows());
        for first in (0..rows).step_by(block) {
            let count = block.min(rows - first);
            let part = gradient.narrow(0, first, count)?.contiguous()?;
            let part = transposed
                .as_ref()
                .map_or_else(|| Ok(part.clone()), |t| part.matmul(&t.contiguous()?))?;
            let part = part.flatten_all()?.to_vec1::<f32>()?;
            let here = &mut delta[first * self.width..(first + count) * self.width];
            let rows = here
                .par_chunks_mut(self.width)
                .zip(part.par_chunks(self.width))
                .enumerate();
            rows.for_each(|(i, (row, slope))| {
                self.step_row(row, slope, self.radii.rows[first + i], share)
            });
        }
        Ok(())
    }

    fn step_row(&self, row: &mut [f32], slope: &[f32], radius: f64, share: f64) {
        match self.radii.norm {
            Norm::Infinity => {
                let by = (share * radius) as f32;
                row.iter_mut()
                    .zip(slope)
                    .filter(|(_, g)| **g > 0.0)
                    .for_each(|(d, _)| *d += by);
                row.iter_mut()
                    .zip(slope)
                    .filter(|(_, g)| **g < 0.0)
                    .for_each(|(d, _)| *d -= by);
            }
            Norm::P(_) => {
                let length = length(slope);
                if length > 0.0 {
                    let by = share * radius / length;
                    row.iter_mut()
                        .zip(slope)
                        .for_each(|(d, &g)| *d += (by * f64::from(g)) as f32);
                }
            }
        }
        self.keep_support(row);
        shrink_to(row, radius, self.radii.norm);
    }

    /// Returns the graph with perturbed features. Rounding to `f32` may take a row slightly over
    /// its budget: the row is then shortened until it is within.
    fn apply(&self, graph: &Graph, delta: &[f32]) -> Result<Graph> {
        if delta.iter().all(|&d| d == 0.0) {
            return Ok(graph.clone());
        }
        let lift = match (self.radii.norm, self.reduced) {
            (Norm::P(_), Some(reduced)) if self.support.is_none() => {
                Some(reduced.basis.t()?.contiguous()?)
            }
            _ => None,
        };
        let (rows, cols) = (self.num_rows(), self.features.num_cols());
        // With a budget for the whole matrix, every row is shortened by the same factor.
        let mut shares = self
            .radii
            .together
            .map_or_else(|| vec![1.0], |_| vec![1.0, 1.0 - 1e-6, 1.0 - 1e-3])
            .into_iter();
        loop {
            let Some(share) = shares.next() else {
                return Ok(graph.clone());
            };
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
            if self
                .radii
                .together
                .is_none_or(|together| squares.sqrt() <= together)
            {
                return graph
                    .clone()
                    .with_features(Features::Dense(DenseMatrix::new(rows, cols, data)?));
            }
        }
    }
}

/// Moves a row by `share · by`, less if rounding would take it beyond the radius; returns the
/// distance.
fn move_row(row: &mut [f32], by: &[f32], share: f64, radius: f64, norm: Norm) -> f64 {
    let start = row.to_vec();
    // The last try is not to move.
    for share in [
        share,
        share * (1.0 - 1e-6),
        share * (1.0 - 1e-4),
        share * 0.9,
        share * 0.5,
        0.0,
    ] {
        for ((x, &x0), &d) in row.iter_mut().zip(&start).zip(by) {
            *x = (f64::from(x0) + share * f64::from(d)) as f32;
        }
        let moved = norm.of(row
            .iter()
            .zip(&start)
            .map(|(&x, &x0)| f64::from(x) - f64::from(x0)));
        if moved <= radius {
            return moved;
        }
    }
    0.0
}

fn length(values: &[f32]) -> f64 {
    Norm::L2.of(values.iter().map(|&v| f64::from(v)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::testing::{accuracy, graph, targets, trained, untrained};
    use crate::attack::{Attack, Attacked};
    use crate::classifier::to_matrix;
    use gnarl_graph::settings::Choice;
    use gnarl_nn::networks::Backbone;

    fn run(model: &dyn Classifier, graph: &Graph, pgd: PgdFeatures) -> Attacked {
        let targets = targets(graph);
        let input = AttackInput {
            graph,
            model: Some(model),
            targets: &targets,
            labels: graph.labels(),
            training: &[],
            stop: None,
        };
        Attack::from(pgd).run(&input, 1).unwrap()
    }

    const MEASURES: [(Norm, Scope); 3] = [
        (Norm::L2, Scope::Node),
        (Norm::L2, Scope::Matrix),
        (Norm::Infinity, Scope::Node),
    ];

    fn loss(model: &dyn Classifier, graph: &Graph, at: &Graph, loss: Loss) -> f64 {
        let targets = targets(graph);
        let clean = model.scores(graph).unwrap();
        let objective = Objective::new(loss, &targets, clean.data(), clean.num_cols());
        objective.value(model.scores(at).unwrap().data()).loss
    }

    /// Returns noise that moves every row (or the matrix) exactly as far as the attack may.
    fn noise(graph: &Graph, radii: &Radii, seed: u64) -> Graph {
        let features = graph.features().unwrap().to_dense();
        let (n, k) = (features.num_rows(), features.num_cols());
        let rng = &mut stream(seed, "noise of a test", 0);
        let mut delta: Vec<f32> = (0..n * k)
            .map(|_| rng.sample::<f64, _>(StandardNormal) as f32)
            .collect();
        match radii.together {
            Some(together) => scale_to(&mut delta, together, Norm::L2),
            None => delta
                .chunks_mut(k)
                .enumerate()
                .for_each(|(i, row)| scale_to(row, radii.rows[i], radii.norm)),
        }
        let data = features
            .data()
            .iter()
            .zip(&delta)
            .map(|(x, d)| x + d)
            .collect();
        graph
            .clone()
            .with_features(Features::Dense(DenseMatrix::new(n, k, data).unwrap()))
            .unwrap()
    }

    #[test]
    fn pgd_beats_noise_of_the_same_norm() {
        let graph = graph(1);
        for (norm, scope) in MEASURES {
            for maximised in [Loss::Margin, Loss::CrossEntropy] {
                for model in [
                    trained(&graph, Backbone::GCN),
                    untrained(&graph, Backbone::GIN),
                ] {
                    let pgd = PgdFeatures {
                        norm,
                        scope,
                        loss: maximised,
                        steps: 30,
                        ..PgdFeatures::budget(0.3)
                    };
                    let attacked = run(&model, &graph, pgd).graph;
                    let radii = pgd
                        .feature_budget()
                        .unwrap()
                        .radii(graph.features().unwrap());
                    let by_pgd = loss(&model, &graph, &attacked, maximised);
                    for seed in 0..5 {
                        let noisy = noise(&graph, &radii, seed);
                        assert!(
                            accuracy(&model, &graph, &attacked) <= accuracy(&model, &graph, &noisy)
                        );
                        let by_noise = loss(&model, &graph, &noisy, maximised);
                        assert!(
                            by_pgd > by_noise,
                            "{norm} {maximised}: {by_pgd} against {by_noise}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_trained_model_falls() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::GCN);
        let before = accuracy(&model, &graph, &graph);
        let after = accuracy(
            &model,
            &graph,
            &run(&model, &graph, PgdFeatures::budget(0.5)).graph,
        );
        assert!(
            before > 80.0 && after < before - 20.0,
            "{before} to {after}"
        );
    }

    /// The search in fewer coordinates equals the search in all of them: same gradient, same
    /// perturbation of `X Q`.
    #[test]
    fn the_reduced_gradient_is_the_gradient() {
        let graph = graph(3);
        let model = trained(&graph, Backbone::GCN);
        let reduced = model.reduced().unwrap().expect("a gcn of 8 on 12 features");
        let propagation = model.propagation(&graph).unwrap();
        let x = Var::from_tensor(&model.input(&graph).unwrap().to_dense().unwrap()).unwrap();
        let c = Var::from_tensor(
            &reduced
                .coordinates(&Input::Dense(x.as_detached_tensor()))
                .unwrap(),
        )
        .unwrap();
        let full = model
            .forward(&propagation, &Input::Dense(x.as_tensor().clone()))
            .unwrap();
        let short = model
            .forward_reduced(reduced, &propagation, c.as_tensor())
            .unwrap();
        let square = |y: &Tensor| y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
        let (by_x, by_c) = (square(&full), square(&short));
        let lifted = by_c
            .get(&c)
            .unwrap()
            .matmul(&reduced.basis.t().unwrap())
            .unwrap();
        let [a, b] =
            [by_x.get(&x).unwrap(), &lifted].map(|t| to_matrix(t).unwrap().data().to_vec());
        gnarl_nn::testing::assert_close(&a, &b, 1e-3, "gradients");
    }

    #[test]
    fn every_setting_matters() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::GCN);
        let of = |pgd: PgdFeatures| {
            run(&model, &graph, pgd)
                .graph
                .features()
                .unwrap()
                .to_dense()
        };
        let defaults = PgdFeatures {
            steps: 5,
            restarts: 1,
            ..PgdFeatures::budget(0.3)
        };
        let base = of(defaults);
        assert_eq!(of(defaults), base);
        for other in [
            PgdFeatures {
                norm: Norm::Infinity,
                ..defaults
            },
            PgdFeatures {
                scope: Scope::Matrix,
                ..defaults
            },
            PgdFeatures {
                loss: Loss::CrossEntropy,
                ..defaults
            },
            PgdFeatures {
                steps: 6,
                ..defaults
            },
            PgdFeatures {
                budget: 0.2,
                ..defaults
            },
            PgdFeatures {
                support: 0.5,
                ..defaults
            },
        ] {
            assert_ne!(of(other), base, "{other:?}");
        }
        let refusal = |pgd: PgdFeatures| pgd.check().unwrap_err().to_string();
        assert_eq!(
            refusal(PgdFeatures {
                steps: 0,
                ..defaults
            }),
            "steps must be in [1, 1000000] (got 0)"
        );
        assert_eq!(
            refusal(PgdFeatures {
                restarts: 0,
                ..defaults
            }),
            "restarts must be in [1, 1000000] (got 0)"
        );
        let e = refusal(PgdFeatures {
            norm: Norm::P(3.0),
            ..defaults
        });
        assert_eq!(e, "norm must be 2 or inf, which have a projection (got 3)");
    }

    /// One step is half a radius along one gradient. The best of several starting points is kept;
    /// the first one is among them.
    #[test]
    fn more_steps_find_more_and_more_starts_never_less() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::GCN);
        let of = |steps, starts| {
            let pgd = PgdFeatures {
                steps,
                restarts: starts,
                loss: Loss::CrossEntropy,
                ..PgdFeatures::budget(0.3)
            };
            let at = run(&model, &graph, pgd).graph;
            (
                accuracy(&model, &graph, &at),
                loss(&model, &graph, &at, Loss::CrossEntropy),
            )
        };
        let (one, many) = (of(1, 1), of(30, 1));
        assert!(
            many.0 < one.0 || many.1 > one.1,
            "{one:?} in a step, {many:?} in thirty"
        );
        assert!(of(30, 4).0 <= many.0, "{many:?}");
    }

    #[test]
    fn tiny_budgets_are_kept_to_the_last_digit() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::GCN);
        for share in [1e-12, 1e-8, 1e-4, 1e3] {
            for (norm, scope) in MEASURES {
                // Every attack ends with the check.
                run(
                    &model,
                    &graph,
                    PgdFeatures {
                        norm,
                        scope,
                        steps: 3,
                        ..PgdFeatures::budget(share)
                    },
                );
            }
        }
    }

    #[test]
    fn a_support_leaves_the_other_entries_alone() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::GCN);
        let columns = graph.features().unwrap().num_cols();
        let moved = |support: f64| {
            let attacked = run(
                &model,
                &graph,
                PgdFeatures {
                    steps: 20,
                    restarts: 1,
                    support,
                    ..PgdFeatures::budget(0.3)
                },
            );
            let (mut before, mut after) = (vec![0f32; columns], vec![0f32; columns]);
            let most = (0..graph.num_nodes()).map(|i| {
                write_row(graph.features().unwrap(), i, &mut before);
                write_row(attacked.graph.features().unwrap(), i, &mut after);
                before.iter().zip(&after).filter(|(a, b)| a != b).count()
            });
            most.max().unwrap()
        };
        let few = moved(0.4);
        assert!(
            few > 0 && few <= (0.4 * columns as f64) as usize,
            "{few} of {columns}"
        );
        assert!(moved(1.0) > few);
        for support in [0.0, -1.0, 1.5, f64::NAN] {
            let e = PgdFeatures {
                support,
                ..PgdFeatures::default()
            }
            .check()
            .unwrap_err()
            .to_string();
            assert_eq!(e, format!("support must be in (0, 1] (got {support})"));
        }
        let matrix = PgdFeatures {
            support: 0.4,
            scope: Scope::Matrix,
            ..PgdFeatures::default()
        };
        assert!(
            matrix
                .check()
                .unwrap_err()
                .to_string()
                .contains("support: needs a budget for every node")
        );
        assert!(
            PgdFeatures {
                norm: Norm::Infinity,
                ..matrix
            }
            .check()
            .is_ok()
        );
    }
}
