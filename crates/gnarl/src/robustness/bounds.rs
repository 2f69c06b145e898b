//! Upper bounds on how far a network's answers can move (thesis theorems `main_result`, `structural_perturbtation` and
//! `gin_results`, and "Vulnerability Upper-bound When Dealing With Both"), each sound for the network it is computed on.
//!
//! A network here is a stack of rounds `H ← relu(Φ H W + b)`, where a round of GIN has a second map and hears itself, followed
//! by linear maps that hear nobody. ReLU moves no two points apart, biases cancel in differences, and the rows of H are
//! vectors multiplied from the right: `||x W||_1 <= ||x||_1 · (largest absolute row sum)`, `||x W||_inf <= ||x||_inf · (largest
//! absolute column sum)`, `||x W||_2 <= ||x||_2 · (largest singular value)`.
//!
//! *Features.* Where every row of X moves by at most epsilon in L_p, row u of the scores moves by at most `epsilon g w_u` in
//! L_q. Here `w = |Φ|^L 1` counts weighted walks of length L, the number of rounds, and g is the gain of the maps from L_p
//! to L_q: the least product over all ways of changing the norm from map to map.
//!
//! *Structure.* With `P = H W` the clean network's own, `Φ' P' - Φ P = Φ' (P' - P) + (Φ' - Φ) P`, so that errors follow
//! `e ← ||Φ'|| ||W|| e + ||(Φ' - Φ) P||`, in the Frobenius norm or in the largest norm of a row. Of a bias-free network with
//! `||Φ||, ||Φ'|| <= 1` that is at most the telescoped `L · ||Φ' - Φ|| · ||X|| · Π ||W||`. Over all graphs within r flips the norms
//! of Φ' and Φ' - Φ are bounded for each classical operator, and the change meets only columns of touched nodes and their
//! neighbours.
//!
//! *Probabilities.* Softmax moves L2 distances by a factor of at most 1/2: its derivative is the covariance of a one-hot
//! variable, `vᵀ J v` is the variance of v's entries under it, at most `(max v - min v)² / 4 <= |v|² / 2`. And two distributions
//! are at most sqrt 2 apart.
//!
//! The thesis' own formulas are computed beside these (erratum 10). They undershoot: with walks of length L - 1 where L
//! aggregations take walks of length L, with the norms of `W h` for a network that computes `h W`, and, for structure, where the
//! product of norms is so far below one that its square is lost. Their GIN bound holds differences of features by the size of the
//! features and does not grow with depth as sums over neighbours do.
//!
//! All is computed in f64 from the weights a forward pass sees, with a relative slack of 1e-5 for a forward pass in f32.

use std::collections::HashMap;

use candle_core::{DType, Tensor};
use gnarl_graph::operator::ClassicalOperator as Op;
use gnarl_graph::{Error as GraphError, Graph};
use serde::Serialize;

use super::sample::{Norm, check_radius};
use crate::classifier::WhiteBox;
use crate::error::{Error, Result};

use crate::nn::{Backbone, Input, Pass, UsualOperator};
use crate::operator::OperatorChoice;
use crate::tensor::Operator;

/// For a forward pass in f32.
const SLACK: f64 = 1.0 + 1e-5;
/// Widest side of a matrix whose largest singular value is computed; beyond, `sqrt(||W||_1 ||W||_inf)` is above it.
const WIDEST: usize = 2048;
/// Steps towards the largest eigenvalue of a matrix without negative entries; every one of them gives an upper bound.
const EIGEN_STEPS: usize = 60;

/// How far an input may move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Every row of the features by at most `epsilon`.
    Features {
        /// The norm of a row.
        norm: Norm,
        /// The radius.
        epsilon: f64,
    },
    /// The graph by at most so many flips of edges.
    Structure {
        /// The flips.
        flips: usize,
    },
    /// Both at once.
    Both {
        /// The norm of a row of features.
        norm: Norm,
        /// The radius of a row.
        epsilon: f64,
        /// The flips.
        flips: usize,
    },
}

/// A distance between two answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// Of scores: the sum over rows of their L1 norms.
    L1,
    /// Of scores: the Frobenius norm.
    L2,
    /// Of scores: the largest entry.
    Linf,
    /// Of probabilities: the Frobenius norm over `2 sqrt(rows)`, what the estimator measures.
    Scaled,
}

/// One upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// What is bounded.
    pub distance: Distance,
    /// No input of the budget moves the answer further.
    pub sound: f64,
    /// What the thesis' formula gives, where it has one: it may be too small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thesis: Option<f64>,
}

/// What is needed of a network on a graph to bound it.
#[derive(Debug, Clone)]
pub struct Bounds {
    features: usize,
    rounds: Vec<Round>,
    tail: Vec<Gains>,
    /// `|Φ|^L 1`, and the thesis' `|Φ|^(L-1) 1`.
    walks: [Vec<f64>; 2],
    /// `||X||`, Frobenius.
    input_norm: f64,
    structure: std::result::Result<Structure, String>,
    gin: bool,
}

/// One round of message passing.
#[derive(Debug, Clone)]
struct Round {
    /// How much of itself a node hears besides Φ.
    own: f64,
    /// Its linear maps, the first before the operator.
    maps: Vec<Gains>,
    /// The norms of the rows of `P = H W`, H the clean representations that enter it.
    heard: Vec<f64>,
}

/// Which graphs flips lead to.
#[derive(Debug, Clone)]
struct Structure {
    operator: Op,
    /// The largest degree.
    most: f64,
    /// An upper bound on `||Φ||_2`.
    norm: f64,
    /// Neighbours of each node, itself included.
    neighbourhoods: Vec<Vec<u32>>,
}

/// Over all graphs within a budget: how large the operator and its change may be.
#[derive(Debug, Clone, Copy)]
struct Reach {
    /// `||Φ'||_2` and `||Φ' - Φ||_2`.
    spectral: [f64; 2],
    /// The largest absolute row sums of both.
    rows: [f64; 2],
}

impl Bounds {
    /// Looks at a network on a graph. Fails with the reason where the network is none that the bounds cover.
    pub fn new(model: &WhiteBox, graph: &Graph) -> Result<Self> {
        let config = model.network().config();
        let (backbone, gin) = (config.backbone, config.backbone == Backbone::Gin);
        if !matches!(backbone, Backbone::Gcn | Backbone::Gin | Backbone::Sgc | Backbone::Mlp) {
            return Err(not_covered(format!("{backbone}: they cover gcn, gin, sgc and mlp")));
        }
        if config.uses_batch_norm() {
            return Err(not_covered("a network with batch normalisation".into()));
        }
        let mut named: HashMap<&str, &Tensor> = model
            .weights()
            .iter()
            .map(|(id, tensor)| (model.network().params().get(id).name.as_str(), tensor))
            .collect();
        named.retain(|name, _| !name.starts_with("operator."));
        let plan = Plan::new(&mut named, backbone, config.layers)?;
        if let Some(name) = named.keys().min() {
            return Err(not_covered(format!("a network with the parameter {name}, whose place they do not know")));
        }
        let propagation = model.propagation(graph)?;
        let pass = Pass::evaluation(model.weights());
        let propagation = model.network().propagation(&propagation, &pass)?;
        let input = model.input(graph)?;
        let input_norm = input_norm(&input)?;
        let features = input.dim();

        let mut walks = vec![vec![1.0; graph.num_nodes()]];
        let mut rounds = Vec::with_capacity(plan.rounds.len());
        let mut h = input;
        for (i, maps) in plan.rounds.iter().enumerate() {
            let (operator, own) = (propagation.round(i), if gin { 1.0 } else { 0.0 });
            let p = match maps.first() {
                Some(first) => h.matmul(first.weight, None)?,
                None => h.to_dense()?,
            };
            let mut next = absolute(operator)?.apply(&walks[i]);
            next.iter_mut().zip(&walks[i]).for_each(|(next, w)| *next += own * w);
            walks.push(next);
            let gains = maps.iter().map(|map| Gains::of(map.weight)).collect::<Result<_>>()?;
            rounds.push(Round { own, maps: gains, heard: row_norms(&p)? });
            if i + 1 < plan.rounds.len() {
                // SGC's bias comes after its last round.
                let bias = maps.first().and_then(|map| map.bias).filter(|_| backbone != Backbone::Sgc);
                let mut said = operator.apply_with_bias(&p, bias)?;
                if own > 0.0 {
                    said = (said + p)?;
                }
                for map in maps.iter().skip(1) {
                    said = Input::Dense(said.relu()?).matmul(map.weight, map.bias)?;
                }
                // Nor has it activations.
                h = Input::Dense(if backbone == Backbone::Sgc { said } else { said.relu()? });
            }
        }
        let tail = plan.tail.iter().map(|map| Gains::of(map.weight)).collect::<Result<_>>()?;
        let last = walks.len() - 1;
        let walks = [walks[last].clone(), walks[last.saturating_sub(1)].clone()];
        let structure = Structure::new(model, graph);
        Ok(Self { features, rounds, tail, walks, input_norm, structure, gin })
    }

    /// The bounds for a budget. Fails where structure may move in a way they do not cover.
    pub fn within(&self, budget: Budget) -> Result<Vec<Bound>> {
        match budget {
            Budget::Features { norm, epsilon } => {
                check_radius(epsilon)?;
                Ok(self.by_features(norm, epsilon))
            }
            Budget::Structure { flips } => self.by_flips(None, flips),
            Budget::Both { norm, epsilon, flips } => {
                check_radius(epsilon)?;
                self.by_flips(Some((norm, epsilon)), flips)
            }
        }
    }

    /// The structural bound for a graph whose operator is at most `distance` away in the spectral norm
    /// ([`operator_distance`]): the thesis' budget.
    pub fn within_distance(&self, distance: f64) -> Result<Bound> {
        let structure = self.structure()?;
        let most = structure.most_norm().min(structure.norm + distance);
        let sound = self.telescoped(None, |own, heard| [most + own, distance * total(heard)], Measure::Frobenius);
        Ok(Bound {
            distance: Distance::L2,
            sound: sound * SLACK,
            thesis: (!self.gin).then(|| self.thesis_structure(distance)),
        })
    }

    fn structure(&self) -> Result<&Structure> {
        self.structure.as_ref().map_err(|why| not_covered(why.clone()))
    }

    /// Every linear map, from the features on.
    fn maps(&self) -> impl Iterator<Item = &Gains> {
        self.rounds.iter().flat_map(|round| &round.maps).chain(&self.tail)
    }

    fn by_features(&self, norm: Norm, epsilon: f64) -> Vec<Bound> {
        let walks = &self.walks[0];
        let [l1, l2, linf] = self.maps().fold(start(norm, self.features), |reached, map| map.after(reached));
        let most = |w: &[f64]| w.iter().copied().fold(0.0, f64::max);
        let by = epsilon * SLACK;
        let squares: f64 = walks.iter().map(|w| (0.5 * by * l2 * w).min(2f64.sqrt()).powi(2)).sum();
        let scaled = squares.sqrt() / (2.0 * (walks.len().max(1) as f64).sqrt());
        let (sums, largest) = (walks.iter().sum::<f64>(), most(walks));
        let thesis = |power: fn(&Gains) -> f64, w: f64| (!self.gin).then(|| epsilon * w * self.product(power));
        let short = &self.walks[1];
        let of_gin = || {
            let most = self.structure.as_ref().map_or(f64::NAN, |s| s.most);
            self.product(Gains::thesis_linf) * (self.input_norm * self.rounds.len() as f64 * most + epsilon)
        };
        let by_linf = if self.gin { Some(of_gin()) } else { thesis(Gains::thesis_linf, most(short)) };
        vec![
            Bound {
                distance: Distance::L1,
                sound: by * l1 * sums,
                thesis: thesis(Gains::thesis_l1, short.iter().sum::<f64>()),
            },
            Bound { distance: Distance::L2, sound: by * l2 * total(walks), thesis: None },
            Bound { distance: Distance::Linf, sound: by * linf * largest, thesis: by_linf },
            Bound { distance: Distance::Scaled, sound: scaled, thesis: None },
        ]
    }

    fn by_flips(&self, moved: Option<(Norm, f64)>, flips: usize) -> Result<Vec<Bound>> {
        let structure = self.structure()?;
        let reach = structure.reach(flips);
        let frobenius = self.telescoped(
            moved,
            |own, heard| [reach.spectral[0] + own, structure.change(heard, flips)],
            Measure::Frobenius,
        );
        let of_row = self.telescoped(
            moved,
            |own, heard| [reach.rows[0] + own, reach.rows[1] * heard.iter().copied().fold(0.0, f64::max)],
            Measure::LargestRow,
        );
        let (nodes, of_row, frobenius) = (self.walks[0].len() as f64, of_row * SLACK, frobenius * SLACK);
        let frobenius = frobenius.min(of_row * nodes.sqrt());
        let of_row = of_row.min(frobenius);
        // The thesis adds its bounds on features and on structure, the first with the square of the sum of walks.
        let thesis = (!self.gin).then(|| {
            let walks = self.walks[1].iter().sum::<f64>();
            let of_features = moved.map_or(0.0, |(_, epsilon)| self.product(Gains::spectral) * epsilon * walks * walks);
            of_features + self.thesis_structure(reach.spectral[1])
        });
        let scaled = (0.5 * frobenius / nodes.max(1.0).sqrt()).min(2f64.sqrt()) / 2.0;
        Ok(vec![
            Bound { distance: Distance::L2, sound: frobenius, thesis },
            Bound { distance: Distance::Linf, sound: of_row, thesis: None },
            Bound { distance: Distance::Scaled, sound: scaled, thesis: None },
        ])
    }

    /// `e ← ||Φ'|| ||W|| e + ||(Φ' - Φ) P||` through the network. `step` gives, of a round that hears itself so much and whose
    /// P has rows of these norms, `||Φ' + own||` and `||(Φ' - Φ) P||`.
    fn telescoped(&self, moved: Option<(Norm, f64)>, step: impl Fn(f64, &[f64]) -> [f64; 2], measure: Measure) -> f64 {
        let rows = match measure {
            Measure::Frobenius => (self.walks[0].len() as f64).sqrt(),
            Measure::LargestRow => 1.0,
        };
        // In L2 once past the first map; before it, in the norm that features are held by.
        let mut reached = match moved {
            Some((norm, epsilon)) => start(norm, self.features).map(|s| s * epsilon * rows),
            None => [f64::NAN, 0.0, f64::NAN],
        };
        let past = |reached: [f64; 3], map: &Gains| {
            let l2 = if reached[0].is_nan() { reached[1] * map.table[1][1] } else { map.after(reached)[1] };
            [f64::NAN, l2, f64::NAN]
        };
        for round in &self.rounds {
            if let Some(first) = round.maps.first() {
                reached = past(reached, first);
            }
            let [norm, change] = step(round.own, &round.heard);
            reached[1] = norm * reached[1] + change;
            reached = round.maps.iter().skip(1).fold([f64::NAN, reached[1], f64::NAN], past);
        }
        self.tail.iter().fold(reached, past)[1]
    }

    fn product(&self, of: fn(&Gains) -> f64) -> f64 {
        self.maps().map(of).product()
    }

    /// `Π||W|| ||X|| d (1 + L Π||W||)`.
    fn thesis_structure(&self, distance: f64) -> f64 {
        let product = self.product(Gains::spectral);
        product * self.input_norm * distance * (1.0 + self.rounds.len() as f64 * product)
    }
}

#[derive(Debug, Clone, Copy)]
enum Measure {
    Frobenius,
    LargestRow,
}

fn not_covered(what: String) -> Error {
    GraphError::argument("bounds", format!("no bound covers {what}")).into()
}

/// The linear maps of a network by their place.
struct Plan<'a> {
    rounds: Vec<Vec<Map<'a>>>,
    tail: Vec<Map<'a>>,
}

struct Map<'a> {
    weight: &'a Tensor,
    bias: Option<&'a Tensor>,
}

impl<'a> Plan<'a> {
    /// Takes what it knows out of `named`.
    fn new(named: &mut HashMap<&str, &'a Tensor>, backbone: Backbone, layers: usize) -> Result<Self> {
        let mut take = |name: &str| -> Option<Map<'a>> {
            let weight = named.remove(format!("{name}.weight").as_str())?;
            Some(Map { weight, bias: named.remove(format!("{name}.bias").as_str()) })
        };
        let mut must =
            |name: String| take(&name).ok_or_else(|| not_covered(format!("a {backbone} without {name}.weight")));
        let mut rounds = Vec::new();
        let mut tail = Vec::new();
        match backbone {
            // The one map commutes with the rounds: it may stand before the first.
            Backbone::Sgc => {
                for i in 0..layers {
                    rounds.push(if i == 0 { vec![must("linear".into())?] } else { Vec::new() });
                }
            }
            Backbone::Mlp => {
                for i in 0..layers.max(1) {
                    tail.push(must(format!("layers.{i}"))?);
                }
            }
            Backbone::Gin => {
                for i in 0..layers {
                    rounds.push(vec![must(format!("layers.{i}.mlp.0"))?, must(format!("layers.{i}.mlp.1"))?]);
                }
            }
            _ => {
                for i in 0..layers {
                    rounds.push(vec![must(format!("layers.{i}"))?]);
                }
            }
        }
        tail.extend(take("output"));
        Ok(Self { rounds, tail })
    }
}

/// How far a linear map `x → x W` stretches, from each of L1, L2, L-infinity to each.
#[derive(Debug, Clone)]
struct Gains {
    /// `table[a][b]`: `||x W||_b <= table[a][b] ||x||_a`.
    table: [[f64; 3]; 3],
}

impl Gains {
    fn of(weight: &Tensor) -> Result<Self> {
        let (ins, outs) = weight.dims2()?;
        let w = weight.to_dtype(DType::F64)?;
        let values = w.flatten_all()?.to_vec1::<f64>()?;
        let mut rows = vec![[0.0; 3]; ins];
        let mut cols = vec![[0.0; 3]; outs];
        for (k, v) in values.iter().enumerate() {
            for sums in [&mut rows[k / outs], &mut cols[k % outs]] {
                *sums = [sums[0] + v.abs(), sums[1] + v * v, sums[2].max(v.abs())];
            }
        }
        for sums in rows.iter_mut().chain(&mut cols) {
            sums[1] = sums[1].sqrt();
        }
        let most = |of: &[[f64; 3]], norm: usize| of.iter().map(|s| s[norm]).fold(0.0, f64::max);
        let length = |of: &[[f64; 3]], norm: usize| of.iter().map(|s| s[norm] * s[norm]).sum::<f64>().sqrt();
        let sum = |of: &[[f64; 3]], norm: usize| of.iter().map(|s| s[norm]).sum::<f64>();
        let spectral = spectral_norm(&w, most(&rows, 0), most(&cols, 0))?;
        let (root_in, root_out) = ((ins as f64).sqrt(), (outs as f64).sqrt());
        // To L-infinity, a column at a time: Hölder. From L1, a row at a time: the extreme points of the ball.
        let table = [
            [most(&rows, 0), most(&rows, 1), most(&rows, 2)],
            [length(&rows, 0).min(root_out * spectral), spectral, most(&cols, 1)],
            [sum(&cols, 0), length(&cols, 0).min(root_in * spectral).min(sum(&rows, 1)), most(&cols, 0)],
        ];
        Ok(Self { table })
    }

    /// Bounds in the three norms after the map from those before it.
    fn after(&self, reached: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|b| (0..3).map(|a| reached[a] * self.table[a][b]).fold(f64::INFINITY, f64::min))
    }

    /// The largest singular value.
    fn spectral(&self) -> f64 {
        self.table[1][1]
    }

    /// The largest absolute column sum: the L1 norm of `h → W h`.
    fn thesis_l1(&self) -> f64 {
        self.table[2][2]
    }

    /// The largest absolute row sum: the L-infinity norm of `h → W h`.
    fn thesis_linf(&self) -> f64 {
        self.table[0][0]
    }
}

/// Bounds in L1, L2 and L-infinity of a row of `dim` entries whose L_p norm is one.
fn start(norm: Norm, dim: usize) -> [f64; 3] {
    let inverse = match norm {
        Norm::P(p) => 1.0 / p,
        Norm::Infinity => 0.0,
    };
    [1.0f64, 0.5, 0.0].map(|target| (dim as f64).powf((target - inverse).max(0.0)))
}

/// The largest singular value, or where that is too much work something above it.
fn spectral_norm(w: &Tensor, row_sum: f64, col_sum: f64) -> Result<f64> {
    let (rows, cols) = w.dims2()?;
    let above = (row_sum * col_sum).sqrt();
    let side = rows.min(cols);
    if side == 0 || side > WIDEST {
        return Ok(above);
    }
    let gram = if cols <= rows { w.t()?.matmul(w)? } else { w.matmul(&w.t()?)? };
    match gnarl_linalg::symmetric_eigen(side, &gram.flatten_all()?.to_vec1::<f64>()?, false) {
        Ok((values, _)) => Ok(values.into_iter().fold(0.0, f64::max).sqrt().min(above)),
        Err(_) => Ok(above),
    }
}

/// Norms of the rows of a matrix.
fn row_norms(matrix: &Tensor) -> Result<Vec<f64>> {
    Ok(matrix.to_dtype(DType::F64)?.sqr()?.sum(1)?.sqrt()?.to_vec1::<f64>()?)
}

fn input_norm(input: &Input) -> Result<f64> {
    let values = match input {
        Input::Sparse(x) => x.values()?,
        Input::Dense(x) => x.clone(),
    };
    let values = values.flatten_all()?.to_vec1::<f32>()?;
    Ok(values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt())
}

fn total(norms: &[f64]) -> f64 {
    norms.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// An operator's absolute values.
struct Absolute<'a> {
    operator: &'a Operator,
    values: Vec<f64>,
}

fn absolute(operator: &Operator) -> Result<Absolute<'_>> {
    let values = operator.values()?.flatten_all()?.to_vec1::<f32>()?;
    Ok(Absolute { operator, values: values.into_iter().map(|v| f64::from(v.abs())).collect() })
}

impl Absolute<'_> {
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let pattern = self.operator.pattern();
        let of_row = |u| pattern.row(u).map(|k| self.values[k] * x[pattern.indices()[k] as usize]).sum();
        (0..pattern.num_rows()).map(of_row).collect()
    }

    /// An upper bound on the spectral radius: for any positive x it is at most `max (|Φ| x)_u / x_u` (Collatz–Wielandt).
    fn radius(&self) -> f64 {
        let mut x = vec![1.0; self.operator.num_rows()];
        let mut least = f64::INFINITY;
        for _ in 0..EIGEN_STEPS {
            let y = self.apply(&x);
            least = least.min(y.iter().zip(&x).map(|(y, x)| y / x).fold(0.0, f64::max));
            // With x itself added, no entry vanishes and a graph in two colours does not swing.
            x.iter_mut().zip(&y).for_each(|(x, y)| *x += y);
            let most = x.iter().copied().fold(0.0, f64::max);
            // A share of the largest keeps entries positive where a part of the graph falls behind.
            x.iter_mut().for_each(|x| *x = (*x / most).max(1e-100));
        }
        least
    }

    /// `sqrt(||Φ||_1 ||Φ||_inf)`, which is at least `||Φ||_2`.
    fn by_sums(&self) -> f64 {
        let pattern = self.operator.pattern();
        let mut cols = vec![0.0; pattern.num_cols()];
        pattern.indices().iter().zip(&self.values).for_each(|(&c, v)| cols[c as usize] += v);
        let rows = self.apply(&vec![1.0; pattern.num_cols()]);
        let most = |sums: Vec<f64>| sums.into_iter().fold(0.0, f64::max);
        (most(rows) * most(cols)).sqrt()
    }
}

/// An upper bound on the spectral norm of the difference of two operators: the lesser of its Frobenius norm and
/// `sqrt(largest row sum · largest column sum)`.
pub fn operator_distance(a: &Operator, b: &Operator) -> Result<f64> {
    let (va, vb) = (a.values()?.flatten_all()?.to_vec1::<f32>()?, b.values()?.flatten_all()?.to_vec1::<f32>()?);
    let (pa, pb) = (a.pattern(), b.pattern());
    let mut row = vec![0.0f64; pa.num_cols()];
    let mut cols = vec![0.0; pa.num_cols()];
    let (mut most, mut squares) = (0.0f64, 0.0);
    for u in 0..pa.num_rows() {
        pa.row(u).for_each(|k| row[pa.indices()[k] as usize] += f64::from(va[k]));
        pb.row(u).for_each(|k| row[pb.indices()[k] as usize] -= f64::from(vb[k]));
        let mut sum = 0.0;
        for (pattern, k) in pa.row(u).map(|k| (pa, k)).chain(pb.row(u).map(|k| (pb, k))) {
            // Cleared when met: an entry of both patterns counts once.
            let d = std::mem::take(&mut row[pattern.indices()[k] as usize]);
            cols[pattern.indices()[k] as usize] += d.abs();
            sum += d.abs();
            squares += d * d;
        }
        most = most.max(sum);
    }
    let most_of_cols = cols.into_iter().fold(0.0, f64::max);
    Ok(squares.sqrt().min((most * most_of_cols).sqrt()))
}

impl Structure {
    fn new(model: &WhiteBox, graph: &Graph) -> std::result::Result<Self, String> {
        let backbone = model.network().config().backbone;
        let operator = match (model.operator(), backbone.usual_operator()) {
            (OperatorChoice::Classical(op), _) | (OperatorChoice::Usual, UsualOperator::Classical(op)) => op,
            _ => return Err("flips under an operator that is learned from centralities: they change everywhere".into()),
        };
        if graph.weights().is_some() {
            return Err("flips in a weighted graph".into());
        }
        let propagation = model.propagation(graph).map_err(|e| e.to_string())?;
        let size = absolute(&propagation.operator).map_err(|e| e.to_string())?;
        let norm = if symmetric(operator) { size.radius() } else { size.by_sums() };
        let nodes = 0..graph.num_nodes() as u32;
        let most = nodes.clone().map(|u| graph.degree(u)).max().unwrap_or(0) as f64;
        let neighbourhoods =
            nodes.map(|u| graph.neighbours(u).iter().copied().chain([u]).collect::<Vec<_>>()).collect();
        Ok(Self { operator, most, norm, neighbourhoods })
    }

    /// What `||Φ||_2` is below on any graph.
    fn most_norm(&self) -> f64 {
        match self.operator {
            Op::NormalisedAdjacency => 1.0,
            Op::SymmetricLaplacian => 2.0,
            _ => f64::INFINITY,
        }
    }

    /// Over all graphs within `flips` flips.
    ///
    /// The spectral norm of a signed adjacency matrix of r edges is at most that of the unsigned one, `(sqrt(8r + 1) - 1) / 2`
    /// (Stanley 1987). A Laplacian, with or without signs, is a sum of positive semidefinite matrices, one for each edge, so
    /// that its change lies between those of the removed and the added edges; that of r edges is at most the largest
    /// `d_u + d_v` of an edge, `r + 1`. `A_hat` lies in [-1, 1] and `L_sym` in [0, 2], so that either changes by at most 2.
    /// Rows of H are distributions or zero.
    fn reach(&self, flips: usize) -> Reach {
        let r = flips as f64;
        let most = self.most + r;
        let (norm, change) = (self.norm, |c: f64| if flips == 0 { 0.0 } else { c });
        let stanley = ((8.0 * r + 1.0).sqrt() - 1.0) / 2.0;
        let (spectral, rows) = match self.operator {
            Op::Adjacency => ([norm + stanley, stanley], [most, r]),
            Op::Laplacian | Op::SignlessLaplacian => ([norm + r + 1.0, r + 1.0], [2.0 * most, 2.0 * r]),
            Op::NormalisedAdjacency => ([1.0, 2.0], [(most + 1.0).sqrt(), 2.0 * (most + 1.0).sqrt()]),
            Op::SymmetricLaplacian => ([2.0, 2.0], [1.0 + most.sqrt(), 2.0 * (1.0 + most.sqrt())]),
            Op::RandomWalkLaplacian => ([1.0 + most.sqrt(), 2.0 * (1.0 + most.sqrt())], [2.0, 2.0]),
            Op::MeanAggregation => ([most.sqrt(), 2.0 * most.sqrt()], [1.0, 2.0]),
        };
        Reach { spectral: [spectral[0], change(spectral[1])], rows: [rows[0], change(rows[1])] }
    }

    /// The most that `||(Φ' - Φ) P||`, Frobenius, can be for a P whose rows have these norms.
    ///
    /// Only columns of the ends of flips change, and, where an operator divides by degrees, of their neighbours. Of `A_hat`
    /// more is known. With T the ends and τ_x the relative change of `1 / sqrt(degree + 1)`, entries between T and the rest
    /// change by `τ_x` times what they are, those within T stay in a matrix of norm 1, all others stay: the change is at most
    /// `2 ||P_T|| + ||τ Â P|| + ||τ P_T||` over rows in T.
    fn change(&self, heard: &[f64], flips: usize) -> f64 {
        let by_degree = !matches!(self.operator, Op::Adjacency | Op::Laplacian | Op::SignlessLaplacian);
        let held = |near: &Vec<u32>| match by_degree {
            true => near.iter().map(|&v| heard[v as usize].powi(2)).sum(),
            false => near.last().map_or(0.0, |&u| heard[u as usize].powi(2)),
        };
        let touched = largest(self.neighbourhoods.iter().map(held), 2 * flips).min(total(heard));
        let whole = self.reach(flips).spectral[1] * touched;
        if self.operator != Op::NormalisedAdjacency {
            return whole;
        }
        let size = |u: usize| self.neighbourhoods[u].len() as f64;
        let turned = |u: usize| {
            let (now, flips) = (size(u), flips as f64);
            let (added, removed) = (1.0 - (now / (now + flips)).sqrt(), (now / (now - flips).max(1.0)).sqrt() - 1.0);
            added.max(removed)
        };
        let from_others = |u: usize| -> f64 {
            let others = self.neighbourhoods[u].iter().map(|&v| v as usize).filter(|&v| v != u);
            others.map(|v| heard[v] / (size(u) * size(v)).sqrt()).sum()
        };
        let over = |of: &dyn Fn(usize) -> f64| largest((0..heard.len()).map(|u| of(u).powi(2)), 2 * flips);
        let by_parts =
            2.0 * over(&|u| heard[u]) + over(&|u| turned(u) * from_others(u)) + over(&|u| turned(u) * heard[u]);
        whole.min(by_parts)
    }
}

/// The root of the sum of the `count` largest squares.
fn largest(squares: impl Iterator<Item = f64>, count: usize) -> f64 {
    let mut squares: Vec<f64> = squares.collect();
    squares.sort_unstable_by(|a, b| b.total_cmp(a));
    squares.iter().take(count).sum::<f64>().sqrt()
}

/// Whether an operator of an undirected graph is a symmetric matrix.
fn symmetric(operator: Op) -> bool {
    !matches!(operator, Op::RandomWalkLaplacian | Op::MeanAggregation)
}

#[cfg(test)]
mod tests {
    use super::super::estimate::{Answer, Moved};
    use super::super::flips::{FlipBall, FlipLaw, flipped};
    use super::super::sample::{Ball, Sampler};
    use super::*;
    use crate::classifier::{Classifier, to_matrix};
    use crate::features::FeatureScaling;
    use crate::nn::Shape;
    use crate::nn::testing::plant;
    use crate::nn::{Network, NetworkConfig};
    use crate::task::node::{self, Preparation, Prepared};
    use crate::train::{TrainConfig, Watch};
    use crate::weights::{Orthonormal, WeightsChoice};
    use candle_core::{Device, Var};
    use gnarl_graph::generate::{CsbmConfig, csbm, erdos_renyi, path, star};
    use gnarl_graph::random::{Rng, stream};
    use gnarl_graph::{DenseMatrix, Features};
    use rand::RngExt;
    use std::sync::atomic::AtomicBool;

    const NORMS: [Norm; 3] = [Norm::P(1.0), Norm::P(2.0), Norm::Infinity];
    const EPSILON: f64 = 0.7;

    fn with_features(graph: Graph, dim: usize, values: Vec<f32>) -> Graph {
        let rows = graph.num_nodes();
        graph.with_features(Features::Dense(DenseMatrix::new(rows, dim, values).unwrap())).unwrap()
    }

    fn random_features(graph: Graph, dim: usize) -> Graph {
        let rng = &mut stream(4, "bound test", 0);
        let values = (0..graph.num_nodes() * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
        with_features(graph, dim, values)
    }

    /// A network of random weights and biases.
    fn model(config: &NetworkConfig, in_dim: usize, operator: OperatorChoice, seed: u64) -> WhiteBox {
        let network = Network::new(config, &Shape::new(in_dim, 3, 1.0), seed).unwrap();
        let rng = &mut stream(seed, "bound test", 1);
        for p in network.params().list() {
            let spread = if p.var.rank() == 1 { 1.0 } else { 0.8 };
            let values: Vec<f32> = (0..p.var.elem_count()).map(|_| rng.random_range(-spread..spread)).collect();
            plant(network.params(), &p.name, &values);
        }
        WhiteBox::new(network, operator).unwrap()
    }

    fn config(backbone: Backbone, layers: usize) -> NetworkConfig {
        NetworkConfig { hidden: 6, layers, ..NetworkConfig::new(backbone) }
    }

    /// A network of planted weights without bias.
    fn planted(operator: Op, in_dim: usize, classes: usize, weights: &[&[f32]]) -> WhiteBox {
        let config = NetworkConfig { hidden: 1, layers: weights.len(), ..NetworkConfig::new(Backbone::Gcn) };
        let network = Network::new(&config, &Shape::new(in_dim, classes, 1.0), 1).unwrap();
        weights.iter().enumerate().for_each(|(i, w)| plant(network.params(), &format!("layers.{i}.weight"), w));
        WhiteBox::new(network, OperatorChoice::Classical(operator)).unwrap()
    }

    fn moved(model: &WhiteBox, from: &Graph, to: &Graph) -> Moved {
        let answer = |graph: &Graph| Answer::new(model.scores(graph).unwrap()).unwrap();
        answer(from).distance(&answer(to)).unwrap()
    }

    fn get(bounds: &[Bound], distance: Distance) -> Bound {
        *bounds.iter().find(|b| b.distance == distance).unwrap()
    }

    fn assert_holds(bounds: &[Bound], seen: &Moved, what: &str) {
        for b in bounds {
            let seen = match b.distance {
                Distance::L1 => seen.scores.l1,
                Distance::L2 => seen.scores.l2,
                Distance::Linf => seen.scores.linf,
                Distance::Scaled => seen.scaled,
            };
            assert!(seen <= b.sound + 1e-6, "{what}: {:?} {seen} exceeds {}", b.distance, b.sound);
        }
    }

    /// Features within the ball that gradients say move the scores most: each step goes to the extreme point of the ball along
    /// the gradient, which for a convex objective never gets worse.
    fn attacked(model: &WhiteBox, graph: &Graph, norm: Norm, steps: usize, rng: &mut Rng) -> Vec<Graph> {
        let x = graph.features().unwrap().to_dense();
        let (rows, cols) = (x.num_rows(), x.num_cols());
        let propagation = model.propagation(graph).unwrap();
        let clean = Tensor::from_slice(x.data(), (rows, cols), &Device::Cpu).unwrap();
        let base = model.forward(&propagation, &Input::Dense(clean.clone())).unwrap();
        let ball = Ball::new(norm, EPSILON, Sampler::Exact).unwrap();
        let mut z = vec![0.0; rows * cols];
        z.chunks_exact_mut(cols).for_each(|row| ball.fill_row(EPSILON, row, rng));
        let mut found = Vec::new();
        for _ in 0..steps {
            let values: Vec<f32> = x.data().iter().zip(&z).map(|(x, z)| x + *z as f32).collect();
            found.push(with_features(graph.clone(), cols, values.clone()));
            let at = Var::from_vec(values, (rows, cols), &Device::Cpu).unwrap();
            let scores = model.forward(&propagation, &Input::Dense(at.as_tensor().clone())).unwrap();
            let loss = (scores - &base).unwrap().sqr().unwrap().sum_all().unwrap();
            let grads = loss.backward().unwrap();
            let slope = to_matrix(grads.get(&at).unwrap()).unwrap();
            for (u, z) in z.chunks_exact_mut(cols).enumerate() {
                let g: Vec<f64> = slope.row(u).iter().map(|&g| f64::from(g)).collect();
                let length = Norm::P(2.0).of(&g);
                if length == 0.0 {
                    continue;
                }
                match norm {
                    Norm::Infinity => z.iter_mut().zip(&g).for_each(|(z, g)| *z = EPSILON * g.signum()),
                    Norm::P(1.0) => {
                        let j = (0..cols).max_by(|&a, &b| g[a].abs().total_cmp(&g[b].abs())).unwrap();
                        z.fill(0.0);
                        z[j] = EPSILON * g[j].signum();
                    }
                    Norm::P(_) => z.iter_mut().zip(&g).for_each(|(z, g)| *z = EPSILON * g / length),
                }
            }
        }
        found
    }

    fn try_to_break_features(model: &WhiteBox, graph: &Graph, steps: usize, what: &str) {
        let bounds = Bounds::new(model, graph).unwrap();
        let rng = &mut stream(9, "bound test", 2);
        for norm in NORMS {
            let bound = bounds.within(Budget::Features { norm, epsilon: EPSILON }).unwrap();
            let mut nearest = 0f64;
            for tried in attacked(model, graph, norm, steps, rng) {
                let seen = moved(model, graph, &tried);
                assert_holds(&bound, &seen, &format!("{what}, p = {norm}"));
                nearest = nearest.max(seen.scores.l2 / get(&bound, Distance::L2).sound);
            }
            assert!(nearest > 1e-4, "{what}, p = {norm}: vacuous, {nearest}");
        }
    }

    #[test]
    fn no_features_exceed_their_bound() {
        let graph = random_features(erdos_renyi(14, 0.25, 5).unwrap(), 9);
        for backbone in [Backbone::Gcn, Backbone::Gin, Backbone::Sgc, Backbone::Mlp] {
            for layers in [1, 2, 3] {
                for operator in [OperatorChoice::Usual].into_iter().chain(Op::ALL.map(OperatorChoice::Classical)) {
                    // The study's networks have a head and no offsets.
                    let study = layers == 2 && matches!(backbone, Backbone::Gcn | Backbone::Gin);
                    let config = NetworkConfig { head: study, bias: !study, ..config(backbone, layers) };
                    let model = model(&config, 9, operator, layers as u64);
                    try_to_break_features(&model, &graph, 6, &format!("{backbone}, {layers} layers, {operator}"));
                }
            }
        }
    }

    #[test]
    fn nor_on_trained_networks() {
        let graph = csbm(&CsbmConfig::default(), 0).unwrap();
        let preparation = Preparation { operator: OperatorChoice::Usual, features: FeatureScaling::AsLoaded };
        let (stop, split) = (AtomicBool::new(false), &graph.splits()[0]);
        let watch = Watch { on_epoch: &|_, _| (), stop: &stop };
        for backbone in [Backbone::Gcn, Backbone::Gin] {
            for weights in [WeightsChoice::Free, WeightsChoice::Orthonormal(Orthonormal::default())] {
                let network = NetworkConfig { weights, ..config(backbone, 2) };
                let training = TrainConfig { epochs: 30, ..TrainConfig::default() };
                let prepared = Prepared::new(&graph, backbone, preparation).unwrap();
                let (_, network) = node::run(&prepared, &network, &training, split, 1, &watch).unwrap();
                let model = WhiteBox::new(network, OperatorChoice::Usual).unwrap();
                let what = format!("trained {backbone}, {weights}");
                try_to_break_features(&model, &graph, 6, &what);
                let bounds = Bounds::new(&model, &graph).unwrap();
                let rng = &mut stream(2, "bound test", 3);
                for flips in [1, 20] {
                    let ball = FlipBall::new(graph.num_nodes(), flips, FlipLaw::Uniform).unwrap();
                    let bound = bounds.within(Budget::Structure { flips }).unwrap();
                    for _ in 0..5 {
                        let other = flipped(&graph, &ball.draw(rng)).unwrap();
                        assert_holds(&bound, &moved(&model, &graph, &other), &what);
                    }
                }
            }
        }
    }

    /// Every graph within two flips of a small one, under every operator; alone and with features that move as well.
    #[test]
    fn no_graph_exceeds_its_bound() {
        let pairs: Vec<(u32, u32)> = (1..6).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        let sets: Vec<Vec<(u32, u32)>> = pairs
            .iter()
            .enumerate()
            .flat_map(|(i, &a)| std::iter::once(vec![a]).chain(pairs[..i].iter().map(move |&b| vec![a, b])))
            .collect();
        // A path of four, and two nodes without edges.
        let bare = Graph::from_edges(6, [(0, 1), (1, 2), (2, 3)]).unwrap().0;
        let graph = random_features(bare, 4);
        let rng = &mut stream(1, "bound test", 4);
        for (backbone, layers) in [(Backbone::Gcn, 1), (Backbone::Gcn, 2), (Backbone::Gin, 2), (Backbone::Sgc, 2)] {
            for operator in Op::ALL {
                let config = NetworkConfig { head: backbone == Backbone::Gcn, ..config(backbone, layers) };
                let model = model(&config, 4, OperatorChoice::Classical(operator), 7);
                let bounds = Bounds::new(&model, &graph).unwrap();
                let what = format!("{backbone} of {layers} through {operator}");
                let propagation = |graph: &Graph| model.propagation(graph).unwrap().operator;
                for set in &sets {
                    let other = flipped(&graph, set).unwrap();
                    let bound = bounds.within(Budget::Structure { flips: set.len() }).unwrap();
                    let seen = moved(&model, &graph, &other);
                    assert_holds(&bound, &seen, &what);
                    let distance = operator_distance(&propagation(&graph), &propagation(&other)).unwrap();
                    assert_holds(&[bounds.within_distance(distance).unwrap()], &seen, &format!("{what}, by distance"));
                }
                for norm in NORMS {
                    let set = &sets[rng.random_range(0..sets.len())];
                    let (flips, epsilon) = (set.len(), EPSILON);
                    let bound = bounds.within(Budget::Both { norm, epsilon, flips }).unwrap();
                    let other = flipped(&graph, set).unwrap();
                    for tried in attacked(&model, &other, norm, 5, rng) {
                        assert_holds(&bound, &moved(&model, &graph, &tried), &format!("{what}, both, p = {norm}"));
                    }
                }
                let none = bounds.within(Budget::Structure { flips: 0 }).unwrap();
                assert!(none.iter().all(|b| b.sound == 0.0), "{none:?}");
            }
        }
    }

    /// Flips chosen one after the other, each the worst of all.
    #[test]
    fn no_greedy_attacker_exceeds_it() {
        let graph = random_features(erdos_renyi(9, 0.3, 2).unwrap(), 3);
        for (backbone, operator) in [(Backbone::Gcn, OperatorChoice::Usual), (Backbone::Gin, OperatorChoice::Usual)] {
            let model = model(&config(backbone, 2), 3, operator, 3);
            let bounds = Bounds::new(&model, &graph).unwrap();
            let mut current = graph.clone();
            for flips in 1..=4 {
                let pairs = (1..9).flat_map(|v| (0..v).map(move |u| (u, v)));
                let all = pairs.map(|pair| flipped(&current, &[pair]).unwrap());
                let seen = |g: &Graph| moved(&model, &graph, g).scores.l2;
                current = all.max_by(|a, b| seen(a).total_cmp(&seen(b))).unwrap();
                let bound = bounds.within(Budget::Structure { flips }).unwrap();
                assert_holds(&bound, &moved(&model, &graph, &current), &format!("{backbone}, {flips} flips"));
            }
        }
    }

    /// One node and `x → x W`, W = [[3, 0], [4, 5]]: row sums 3 and 9, column sums 7 and 5, WᵀW has eigenvalues 45 and 5.
    #[test]
    fn one_linear_map_by_hand() {
        let graph = with_features(Graph::empty(1).unwrap(), 2, vec![0.0, 0.0]);
        let model = planted(Op::NormalisedAdjacency, 2, 2, &[&[3.0, 0.0, 4.0, 5.0]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let expected = [
            (Norm::P(1.0), [9.0, 41f64.sqrt(), 5.0]),
            (Norm::P(2.0), [90f64.sqrt(), 45f64.sqrt(), 5.0]),
            (Norm::Infinity, [12.0, 74f64.sqrt(), 7.0]),
        ];
        for (norm, expected) in expected {
            let found = bounds.within(Budget::Features { norm, epsilon: 2.0 }).unwrap();
            for (b, e) in found.iter().zip(expected) {
                assert!((b.sound / (2.0 * e) - 1.0).abs() < 2e-5, "{norm}: {b:?} and not {}", 2.0 * e);
            }
            // Half of the L2 bound over 2, or the most that distributions differ.
            let scaled = get(&found, Distance::Scaled).sound;
            assert!((scaled - expected[1].min(2f64.sqrt()) / 2.0).abs() < 1e-4, "{norm}: {scaled}");
        }
        // The L1 bound is attained where the thesis', with column sums, is exceeded.
        let found = bounds.within(Budget::Features { norm: Norm::P(1.0), epsilon: 2.0 }).unwrap();
        let seen = moved(&model, &graph, &with_features(graph.clone(), 2, vec![0.0, 2.0])).scores.l1;
        assert_eq!((seen, get(&found, Distance::L1).thesis), (18.0, Some(14.0)));
    }

    /// Two rounds of A on the path 0–1–2: the walks of length two are 2, 2, 2, those of length one 1, 2, 1.
    #[test]
    fn walks_are_as_long_as_there_are_rounds() {
        let graph = with_features(path(3).unwrap(), 1, vec![10.0; 3]);
        let model = planted(Op::Adjacency, 1, 1, &[&[2.0], &[0.5]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let found = bounds.within(Budget::Features { norm: Norm::P(2.0), epsilon: 1.0 }).unwrap();
        let seen = moved(&model, &graph, &with_features(graph.clone(), 1, vec![11.0; 3])).scores;
        assert_eq!((seen.l1, seen.linf), (6.0, 2.0));
        for (distance, seen) in [(Distance::L1, 6.0), (Distance::L2, 12f64.sqrt()), (Distance::Linf, 2.0)] {
            assert!((get(&found, distance).sound / seen - 1.0).abs() < 2e-5, "{distance:?}");
        }
        assert_eq!(get(&found, Distance::L1).thesis, Some(4.0), "below what was seen");
    }

    #[test]
    fn structure_by_hand() {
        // One edge, one round of A: without it all of X is lost.
        let graph = with_features(path(2).unwrap(), 1, vec![3.0, 4.0]);
        let model = planted(Op::Adjacency, 1, 1, &[&[1.0]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let found = get(&bounds.within(Budget::Structure { flips: 1 }).unwrap(), Distance::L2);
        assert!((found.sound / 5.0 - 1.0).abs() < 2e-5, "{found:?}");
        assert_eq!(moved(&model, &graph, &flipped(&graph, &[(0, 1)]).unwrap()).scores.l2, 5.0);
        // Two nodes alone are joined: A_hat goes from the identity to 1/2 everywhere, 3 and -4 become -1/2 twice.
        let graph = with_features(Graph::empty(2).unwrap(), 1, vec![3.0, -4.0]);
        let model = planted(Op::NormalisedAdjacency, 1, 1, &[&[1.0]]);
        let found = Bounds::new(&model, &graph).unwrap().within(Budget::Structure { flips: 1 }).unwrap();
        let seen = moved(&model, &graph, &flipped(&graph, &[(0, 1)]).unwrap());
        assert!((seen.scores.l2 - 3.5 * 2f64.sqrt()).abs() < 1e-6, "{:?}", seen.scores);
        assert_holds(&found, &seen, "joined");
        assert!(get(&found, Distance::L2).sound < 10.001, "twice the norm of X at most: {found:?}");
        // A star of five leaves, two rounds of A, small weights: the centre loses 1 of 5, four leaves 1 of 5, the leaf that
        // is cut all of 5, which is sqrt 30; the thesis has sqrt 6 times 1 plus twice the product of norms.
        let graph = with_features(star(6).unwrap(), 1, vec![1.0; 6]);
        let model = planted(Op::Adjacency, 1, 1, &[&[0.01], &[0.01]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let cut = flipped(&graph, &[(0, 1)]).unwrap();
        let seen = moved(&model, &graph, &cut).scores.l2;
        assert!((seen - 1e-4 * 30f64.sqrt()).abs() < 1e-8, "{seen}");
        let propagation = |graph: &Graph| model.propagation(graph).unwrap().operator;
        let distance = operator_distance(&propagation(&graph), &propagation(&cut)).unwrap();
        assert!((distance - 1.0).abs() < 1e-9);
        let found = bounds.within_distance(1.0).unwrap();
        assert!(found.sound >= seen && found.thesis.unwrap() < 0.5 * seen, "{found:?} and {seen}");
    }

    #[test]
    fn what_no_bound_covers_is_said_in_one_line() {
        let graph = random_features(erdos_renyi(8, 0.4, 1).unwrap(), 5);
        let network = |config: &NetworkConfig| {
            WhiteBox::new(Network::new(config, &Shape::new(5, 3, 1.0), 1).unwrap(), OperatorChoice::Usual)
        };
        for backbone in [Backbone::Gat, Backbone::Sage, Backbone::Appnp, Backbone::JkCat] {
            let config = NetworkConfig { hidden: 8, ..NetworkConfig::new(backbone) };
            let e = Bounds::new(&network(&config).unwrap(), &graph).unwrap_err().to_string();
            assert!(e.contains(&format!("no bound covers {backbone}: they cover gcn, gin")), "{e}");
        }
        let normed = NetworkConfig { batch_norm: true, ..config(Backbone::Gin, 2) };
        let e = Bounds::new(&network(&normed).unwrap(), &graph).unwrap_err().to_string();
        assert!(e.contains("batch normalisation"), "{e}");
        let bounds = Bounds::new(&network(&config(Backbone::Gcn, 2)).unwrap(), &graph).unwrap();
        let e = bounds.within(Budget::Features { norm: Norm::P(2.0), epsilon: f64::NAN }).unwrap_err().to_string();
        assert!(e.contains("epsilon NaN"), "{e}");
        let edges: Vec<_> = graph.edges().map(|(u, v)| (u, v, 2.0)).collect();
        let weighted = random_features(Graph::from_weighted_edges(8, edges).unwrap().0, 5);
        let bounds = Bounds::new(&network(&config(Backbone::Gcn, 2)).unwrap(), &weighted).unwrap();
        let e = bounds.within(Budget::Structure { flips: 1 }).unwrap_err().to_string();
        assert!(e.contains("no bound covers flips in a weighted graph"), "{e}");
        assert!(bounds.within(Budget::Features { norm: Norm::P(2.0), epsilon: 1.0 }).is_ok());
    }
}
