//! Certifies nodes by their margins over Lipschitz constants of the network: deterministic, without
//! sampling. It applies the bounds of [Abbahaddou et al. 2024](https://arxiv.org/abs/2404.17947)
//! node by node.
//!
//! *Features.* Let row v of the features move by `ε_v` in L_p. Then the difference of two of node
//! u's scores moves by at most
//!
//! `g_yc Σ_v K_uv ε_v`, with `K = |Φ|^L` (for GIN `|Φ| + I`),
//!
//! where g_yc is the gain of the maps from L_p to that difference: the smallest product over all
//! ways of changing the norm between maps, with the last map seen as the one column `w_y - w_c`. A
//! class is certified while that is less than its margin over every other class. If the features of
//! any one node move, the largest K_uv counts; for every node at once, the row's sum. For all nodes
//! together, by the norm of the whole matrix, the row's norm in the dual of L_p counts.
//!
//! *Edges.* For r flips anywhere, errors go from layer to layer by rows. With clean messages
//! `P = H W` and errors `m_w` of these messages, row v of `Φ' P' - Φ P` is bounded over all ways of
//! adding a and removing b edges at v, which fixes its new degree. The other r - a - b flips end at
//! most at twice as many of its neighbours; all others have the smaller error of a node where no
//! flip ends. This holds for A_hat and for GIN's sums.

use gnarl_graph::operator::ClassicalOperator as Op;
use gnarl_graph::{Error, Graph, named};
use rayon::prelude::*;

use crate::classifier::{Classifier, WhiteBox};
use crate::perturb::Norm;
use crate::robustness::bounds::gains::{Gains, start};
use crate::robustness::bounds::operators::{Absolute, absolute};
use crate::robustness::bounds::plan::{Map, Plan};
use gnarl_graph::Result;
use gnarl_nn::networks::{Backbone, DefaultOperator, Input, Pass, Propagation};
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::argmax;
use gnarl_tensor::{DType, Tensor};

/// Subject of the errors of this module.
const OP: &str = "lipschitz certificates";

named! {
    /// The rows of the features that move.
    pub enum Scope as "scope" {
        /// The features of any one node.
        One = "one",
        /// The features of every node, each by the radius.
        Every = "every",
        /// The features of all nodes together, by the norm of the whole matrix.
        Total = "total",
    }
}

/// Error of a forward pass in f32, relative to scores and gains.
const ROUNDING: f64 = 1e-5;

/// Precomputed quantities that certify the nodes of a network on a graph.
#[derive(Debug)]
pub struct LipschitzMargins {
    num_classes: usize,
    scores: Vec<f64>,
    features: usize,
    /// Every map but the last.
    maps: Vec<Gains>,
    /// The last map, `[width, classes]`, the factor on scores in it.
    last: Vec<f64>,
    /// Largest entry, L2 norm and sum of each node's row of K.
    rows: Vec<[f64; 3]>,
    flips: std::result::Result<FlipBounds, String>,
}

impl LipschitzMargins {
    /// Returns true if the linear maps of the network have known positions.
    pub fn covers(backbone: &Backbone) -> bool {
        Plan::covers(backbone)
    }

    /// Prepares a network on a graph whose features are scaled. Fails with the reason if the
    /// network is not covered.
    ///
    /// O(nodes · arcs within reach) for the rows of K.
    pub fn new(model: &WhiteBox, graph: &Graph) -> Result<Self> {
        if model.graph_classifier().is_some() {
            return Err(Error::argument(
                OP,
                "they are for the nodes of one graph, not for graphs of a set",
            ));
        }
        let plan = Plan::of(model)?;
        let pass = Pass::evaluation(model.weights());
        let propagation = model.propagation(graph)?;
        let propagation = model.network().propagation(&propagation, &pass)?;
        let factor = match model.network().gain() {
            Some(gain) => f64::from(gain.factor(&pass)?.flatten_all()?.to_vec1::<f32>()?[0]),
            None => 1.0,
        };
        let all: Vec<&Tensor> = plan
            .layers
            .iter()
            .flatten()
            .chain(&plan.tail)
            .map(|map| map.weight)
            .collect();
        let Some((last, others)) = all.split_last() else {
            return Err(Error::argument(OP, "a network without maps"));
        };
        let scores = model.scores(graph)?;
        Ok(Self {
            num_classes: scores.num_cols(),
            features: model.network().in_dim(),
            maps: others
                .iter()
                .map(|weight| Gains::of(weight))
                .collect::<Result<_>>()?,
            last: scaled_values(last, factor)?,
            rows: influence(&plan, &propagation, graph.num_nodes())?,
            flips: FlipBounds::new(model, graph, &plan, factor),
            scores: scores.data().iter().map(|&s| f64::from(s)).collect(),
        })
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.rows.len()
    }

    /// The predicted class of a node.
    pub fn class(&self, u: usize) -> usize {
        let row: Vec<f32> = self.scores_of(u).iter().map(|&s| s as f32).collect();
        argmax(&row)
    }

    fn scores_of(&self, u: usize) -> &[f64] {
        &self.scores[u * self.num_classes..(u + 1) * self.num_classes]
    }

    /// The margin of node u's class over another, less the rounding error.
    fn margin(&self, u: usize, other: usize) -> f64 {
        let (own, other) = (self.scores_of(u)[self.class(u)], self.scores_of(u)[other]);
        (own - other - ROUNDING * (own.abs() + other.abs())).max(0.0)
    }

    /// Certified radius of every node: features that move by less than this, in L_p and in the
    /// given rows, do not change its class. Infinite if nothing changes it.
    pub fn feature_radii(&self, norm: Norm, scope: Scope) -> Result<Vec<f64>> {
        norm.check()?;
        let reached = self
            .maps
            .iter()
            .fold(start(norm, self.features), |reached, map| {
                map.after(reached)
            });
        let classes = self.num_classes;
        let gains: Vec<f64> = (0..classes * classes)
            .map(|k| self.gain(reached, k / classes, k % classes))
            .collect();
        let of_row = |[most, length, sum]: [f64; 3]| match (scope, norm) {
            (Scope::One, _) => most,
            (Scope::Every, _) | (Scope::Total, Norm::Infinity) => sum,
            (Scope::Total, Norm::L1) => most,
            (Scope::Total, Norm::L2) => length,
            // The dual norm is at most the L1 norm.
            (Scope::Total, Norm::P(_)) => sum,
        };
        let one = |u: usize| {
            let (class, weight) = (self.class(u), of_row(self.rows[u]));
            let others = (0..classes).filter(|&c| c != class);
            others
                .map(|c| quotient(self.margin(u, c), gains[class * classes + c] * weight))
                .fold(f64::INFINITY, f64::min)
        };
        Ok((0..self.num_nodes()).map(one).collect())
    }

    /// From bounds in L1, L2 and L-infinity before the last map to the difference of two scores.
    fn gain(&self, reached: [f64; 3], y: usize, c: usize) -> f64 {
        let column = self
            .last
            .chunks_exact(self.num_classes)
            .map(|row| row[y] - row[c]);
        let [most, squares, sum] = column.fold([0f64; 3], |[m, s, t], d| {
            [m.max(d.abs()), s + d * d, t + d.abs()]
        });
        (1.0 + ROUNDING)
            * [
                reached[0] * most,
                reached[1] * squares.sqrt(),
                reached[2] * sum,
            ]
            .into_iter()
            .fold(f64::INFINITY, f64::min)
    }

    /// Certified radius of every node: the largest number of flips of edges anywhere, up to `most`,
    /// that do not change its class. Fails with the reason if edges are not covered.
    pub fn edge_radii(&self, most: usize) -> Result<Vec<usize>> {
        let bounds = self
            .flips
            .as_ref()
            .map_err(|why| Error::argument(OP, why.clone()))?;
        let mut radii = vec![0; self.num_nodes()];
        let mut open: Vec<usize> = (0..self.num_nodes()).collect();
        for flips in 1..=most {
            let moves = bounds.moves(flips);
            let is_certified = |&u: &usize| {
                let class = self.class(u);
                (0..self.num_classes).filter(|&c| c != class).all(|c| {
                    let moved = (1.0 + ROUNDING) * bounds.difference(&moves, u, (class, c), flips);
                    moved < self.margin(u, c)
                })
            };
            open = open.into_par_iter().filter(is_certified).collect();
            if open.is_empty() {
                break;
            }
            open.iter().for_each(|&u| radii[u] = flips);
        }
        Ok(radii)
    }
}

/// Computes the largest entry, the L2 norm and the sum of each node's row of K, the product of the
/// layers' absolute operators.
fn influence(
    plan: &Plan<'_>,
    propagation: &Propagation,
    num_nodes: usize,
) -> Result<Vec<[f64; 3]>> {
    let layers = 0..plan.layers.len();
    if layers.clone().any(|i| propagation.layer(i).is_low_rank()) {
        return Err(Error::argument(
            OP,
            "the operator must have an entry for each edge",
        ));
    }
    let operators = layers
        .map(|i| absolute(propagation.layer(i)))
        .collect::<Result<Vec<_>>>()?;
    let own = if plan.backbone.is(Backbone::GIN) {
        1.0
    } else {
        0.0
    };
    let rows = (0..num_nodes).into_par_iter().map_init(
        || [vec![0.0; num_nodes], vec![0.0; num_nodes]],
        |scratch, u| influence_on(u, &operators, own, scratch),
    );
    Ok(rows.collect())
}

/// Computes the largest entry, the L2 norm and the sum of row `u` of K. Every layer adds `own` times
/// a node's own message; both vectors of `scratch` are zero before and after.
fn influence_on(
    u: usize,
    operators: &[Absolute],
    own: f64,
    [row, next]: &mut [Vec<f64>; 2],
) -> [f64; 3] {
    row[u] = 1.0;
    let mut reached = vec![u as u32];
    for operator in operators.iter().rev() {
        let mut further = Vec::new();
        let mut add = |v: u32, by: f64| {
            if next[v as usize] == 0.0 && by != 0.0 {
                further.push(v);
            }
            next[v as usize] += by;
        };
        for &v in &reached {
            let here = std::mem::take(&mut row[v as usize]);
            operator.for_row(v as usize, |w, value| add(w, here * value));
            add(v, here * own);
        }
        std::mem::swap(row, next);
        reached = further;
    }
    let mut found = [0f64; 3];
    for &v in &reached {
        let k = std::mem::take(&mut row[v as usize]);
        found = [found[0].max(k), found[1] + k * k, found[2] + k];
    }
    [found[0], found[1].sqrt(), found[2]]
}

/// Returns the values of a tensor times a factor.
fn scaled_values(tensor: &Tensor, factor: f64) -> Result<Vec<f64>> {
    let values = tensor
        .to_dtype(DType::F64)?
        .flatten_all()?
        .to_vec1::<f64>()?;
    Ok(values.into_iter().map(|value| value * factor).collect())
}

/// Divides a margin by a gain; infinite if a positive margin never moves.
fn quotient(margin: f64, by: f64) -> f64 {
    if by > 0.0 { margin / by } else { f64::INFINITY }
}

/// The sum of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sum {
    /// Sum by A_hat.
    Normalised,
    /// Sum by A, plus the node's own message.
    Plain,
}

impl Sum {
    /// Returns the sum of the network's layers. Fails with the reason if flips are not covered.
    fn of(operator: OperatorChoice, plan: &Plan<'_>) -> std::result::Result<Self, String> {
        if plan.layers.is_empty() {
            return Ok(Self::Normalised);
        }
        let operator = match (operator, plan.backbone.default_operator()) {
            (OperatorChoice::Classical(op), _)
            | (OperatorChoice::Default, DefaultOperator::Classical(op)) => op,
            _ => return Err("flips under an operator that is learned are not covered".into()),
        };
        match (operator, plan.backbone) {
            (Op::NORMALISED_ADJACENCY, Backbone::Gcn(_) | Backbone::Sgc(_)) => Ok(Self::Normalised),
            (Op::ADJACENCY, Backbone::Gin(_)) => Ok(Self::Plain),
            (operator, backbone) => Err(format!(
                "flips under {operator} of {backbone} are not covered"
            )),
        }
    }
}

/// Bounds on the effect of edge flips: the clean messages of every layer and the gains of its maps.
#[derive(Debug)]
struct FlipBounds {
    sum: Sum,
    neighbours: Vec<Vec<u32>>,
    /// Degrees with self-loop.
    degrees: Vec<f64>,
    layers: Vec<CleanLayer>,
    /// The spectral norm of the maps after the layers except the last, and the last map, if maps
    /// come after the layers.
    tail: Option<(f64, Vec<f64>)>,
    num_classes: usize,
    /// True without layers: then nothing moves.
    is_still: bool,
}

/// One layer: its clean messages, `[nodes, width]`, and the gains of its maps on errors.
#[derive(Debug)]
struct CleanLayer {
    messages: Vec<f64>,
    width: usize,
    /// Spectral norm of the map before the operator; in the last layer of a network without a head,
    /// the map itself.
    before: f64,
    /// Spectral norm of the maps after the operator.
    behind: f64,
    /// Last map, `[width before, classes]`, if it gives the differences of classes.
    first: Option<Vec<f64>>,
}

/// Output of a layer, which decides where its last map is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerOutput {
    /// Hidden vectors.
    Hidden,
    /// Class scores, by the map before the operator: the factor on scores goes with the layer.
    Scores,
    /// Class scores, by a map after the operator, which is counted as a map after the layers.
    ScoresAfterOperator,
}

impl LayerOutput {
    /// Returns the output of layer `i`.
    fn of(plan: &Plan<'_>, i: usize) -> Self {
        if i + 1 < plan.layers.len() || !plan.tail.is_empty() {
            Self::Hidden
        } else if plan.layers[i].len() <= 1 {
            Self::Scores
        } else {
            Self::ScoresAfterOperator
        }
    }
}

impl CleanLayer {
    /// Computes the gains of a layer with these maps. `factor` is the factor on scores.
    fn new(messages: &Tensor, maps: &[Map<'_>], output: LayerOutput, factor: f64) -> Result<Self> {
        let gives_scores = output == LayerOutput::Scores;
        let scale = if gives_scores { factor } else { 1.0 };
        let (_, width) = messages.dims2()?;
        Ok(Self {
            messages: scaled_values(messages, scale)?,
            width,
            before: match maps.first() {
                Some(map) => Gains::of(map.weight)?.spectral() * scale,
                None => scale,
            },
            behind: match output {
                LayerOutput::ScoresAfterOperator => 1.0,
                _ => spectral_norm(maps.get(1..).unwrap_or_default())?,
            },
            first: match maps.first() {
                Some(map) if gives_scores => Some(scaled_values(map.weight, scale)?),
                _ => None,
            },
        })
    }
}

/// Computes the product of the maps' spectral norms.
fn spectral_norm(maps: &[Map<'_>]) -> Result<f64> {
    maps.iter()
        .map(|map| Ok(Gains::of(map.weight)?.spectral()))
        .product()
}

/// Returns the spectral norm of the maps after the layers except the last, and the last map times
/// `factor`. The second map of GIN's last layer counts as a map after the layers.
fn maps_after_layers(plan: &Plan<'_>, factor: f64) -> Result<Option<(f64, Vec<f64>)>> {
    let (gain, last) = match plan.tail.split_last() {
        Some((last, others)) => (spectral_norm(others)?, last),
        None => match plan.layers.last().and_then(|maps| maps.get(1)) {
            Some(last) => (1.0, last),
            None => return Ok(None),
        },
    };
    Ok(Some((gain, scaled_values(last.weight, factor)?)))
}

impl FlipBounds {
    /// Prepares the bounds. Fails with the reason if flips are not covered.
    fn new(
        model: &WhiteBox,
        graph: &Graph,
        plan: &Plan<'_>,
        factor: f64,
    ) -> std::result::Result<Self, String> {
        let sum = Sum::of(model.operator(), plan)?;
        if graph.weights().is_some() {
            return Err("flips in a weighted graph are not covered".into());
        }
        Self::compute(model, graph, plan, factor, sum).map_err(|e| e.to_string())
    }

    /// Computes the clean messages of every layer and the gains of the maps.
    fn compute(
        model: &WhiteBox,
        graph: &Graph,
        plan: &Plan<'_>,
        factor: f64,
        sum: Sum,
    ) -> Result<Self> {
        let pass = Pass::evaluation(model.weights());
        let propagation = model.propagation(graph)?;
        let propagation = model.network().propagation(&propagation, &pass)?;
        let mut layers = Vec::new();
        let mut h = model.input(graph)?;
        for (i, maps) in plan.layers.iter().enumerate() {
            let messages = match maps.first() {
                Some(first) => h.matmul(first.weight, None)?,
                None => h.to_dense()?,
            };
            let output = LayerOutput::of(plan, i);
            layers.push(CleanLayer::new(&messages, maps, output, factor)?);
            if i + 1 < plan.layers.len() {
                h = Input::Dense(plan.output(maps, propagation.layer(i), messages)?);
            }
        }
        let nodes = 0..graph.num_nodes() as u32;
        Ok(Self {
            sum,
            degrees: nodes
                .clone()
                .map(|u| graph.degree(u) as f64 + 1.0)
                .collect(),
            neighbours: nodes.map(|u| graph.neighbours(u).to_vec()).collect(),
            is_still: layers.is_empty(),
            layers,
            tail: maps_after_layers(plan, factor)?,
            num_classes: model.num_classes(),
        })
    }

    /// Upper bound, in L2, on the change of the rows that enter the last layer under so many flips;
    /// if a map comes after the layers, of the rows that leave it.
    fn moves(&self, flips: usize) -> Vec<Moved> {
        let nodes = self.degrees.len();
        let mut moved = vec![Moved::default(); nodes];
        let through = if self.tail.is_some() {
            self.layers.len()
        } else {
            self.layers.len().saturating_sub(1)
        };
        for layer in &self.layers[..through] {
            let sizes: Vec<f64> = layer
                .messages
                .chunks_exact(layer.width.max(1))
                .map(length)
                .collect();
            let errors: Vec<Moved> = moved.iter().map(|e| e.times(layer.before)).collect();
            let added = self.most_added(&sizes, &errors, flips);
            let one = |v: usize| {
                self.row(
                    v,
                    &sizes,
                    &errors,
                    &added,
                    || length(&self.sum_of(layer, v)),
                    flips,
                )
            };
            moved = (0..nodes)
                .into_par_iter()
                .map(|v| one(v).times(layer.behind))
                .collect();
        }
        moved
    }

    /// Upper bound on the change of the difference of two scores of a node.
    fn difference(&self, moved: &[Moved], u: usize, (y, c): (usize, usize), flips: usize) -> f64 {
        if self.is_still {
            return 0.0;
        }
        let column = |weight: &[f64]| {
            length(
                &weight
                    .chunks_exact(self.num_classes)
                    .map(|w| w[y] - w[c])
                    .collect::<Vec<_>>(),
            )
        };
        if let Some((gain, last)) = &self.tail {
            return moved[u].at_end * gain * column(last);
        }
        let Some(layer) = self.layers.last() else {
            return 0.0;
        };
        let gain = match &layer.first {
            Some(first) => column(first),
            // A layer without its own map, such as SGC's later propagation steps: differences of
            // two entries.
            None => 2f64.sqrt() * layer.before,
        };
        let of =
            |w: usize| layer.messages[w * layer.width + y] - layer.messages[w * layer.width + c];
        let sizes: Vec<f64> = (0..self.degrees.len()).map(|w| of(w).abs()).collect();
        let errors: Vec<Moved> = moved.iter().map(|e| e.times(gain)).collect();
        let added = self.most_added(&sizes, &errors, flips);
        let whole = || {
            let share = |w: usize| of(w) / self.degrees[w].sqrt();
            self.neighbours[u]
                .iter()
                .map(|&w| share(w as usize))
                .sum::<f64>()
                .abs()
        };
        self.row(u, &sizes, &errors, &added, whole, flips).at_end
    }

    /// Computes `Σ P_w / sqrt(d_w)` over the neighbours of v, without its own message.
    fn sum_of(&self, layer: &CleanLayer, v: usize) -> Vec<f64> {
        let mut sum = vec![0.0; layer.width];
        for &w in &self.neighbours[v] {
            let row = &layer.messages[w as usize * layer.width..(w as usize + 1) * layer.width];
            let scale = 1.0 / self.degrees[w as usize].sqrt();
            sum.iter_mut().zip(row).for_each(|(s, p)| *s += p * scale);
        }
        sum
    }

    /// For each number of flips elsewhere: the largest contribution of a new neighbour, before the
    /// division by one's own degree.
    fn most_added(&self, sizes: &[f64], errors: &[Moved], flips: usize) -> Vec<f64> {
        let at = |elsewhere: usize| {
            let one = |w: usize| match self.sum {
                // A new neighbour has itself and its new neighbour.
                Sum::Normalised => {
                    (sizes[w] + errors[w].at_end)
                        / (self.degrees[w] + 1.0 - elsewhere as f64).max(2.0).sqrt()
                }
                Sum::Plain => sizes[w] + errors[w].at_end,
            };
            (0..sizes.len()).map(one).fold(0.0, f64::max)
        };
        (0..=flips).map(at).collect()
    }

    /// Upper bound on the change of row v of the aggregated messages, for messages of these sizes
    /// and errors.
    fn row(
        &self,
        v: usize,
        sizes: &[f64],
        errors: &[Moved],
        added: &[f64],
        whole: impl Fn() -> f64,
        flips: usize,
    ) -> Moved {
        let near = &self.neighbours[v];
        let (mut turned, mut carried, mut kept): (Vec<f64>, Vec<f64>, Vec<f64>) =
            Default::default();
        if self.sum == Sum::Plain {
            // A removed edge takes its message away and its error with it.
            let apart: f64 = near.iter().map(|&w| errors[w as usize].apart).sum();
            carried.extend(
                near.iter()
                    .map(|&w| errors[w as usize].at_end - errors[w as usize].apart),
            );
            let from_others = apart + largest_sum(&mut carried, 2 * flips);
            let gone = near.iter().map(|&w| sizes[w as usize]).fold(0.0, f64::max);
            let by_flips = flips as f64 * gone.max(added[0]);
            return Moved {
                apart: from_others + errors[v].apart,
                at_end: from_others + errors[v].at_end + by_flips,
            };
        }
        let (degree, whole) = (self.degrees[v], whole());
        let mut most = Moved::default();
        for elsewhere in 0..=flips {
            let at_v = flips - elsewhere;
            let reach = elsewhere as f64;
            turned.clear();
            carried.clear();
            kept.clear();
            let mut apart = 0.0;
            for &w in near {
                let (w, root) = (w as usize, self.degrees[w as usize].sqrt());
                // A neighbour has at least itself and v.
                let largest = 1.0 / (self.degrees[w] - reach).max(2.0).sqrt();
                let smallest = 1.0 / (self.degrees[w] + reach).sqrt();
                turned.push(sizes[w] * (largest - 1.0 / root).max(1.0 / root - smallest));
                apart += errors[w].apart / root;
                carried.push(errors[w].at_end * largest - errors[w].apart / root);
                kept.push(sizes[w] / root);
            }
            // A flip elsewhere has two ends, and v's other neighbours stay as far from all flips as
            // they are.
            let by_turning = largest_sum(&mut turned, 2 * elsewhere);
            let by_carrying = apart + largest_sum(&mut carried, 2 * elsewhere);
            kept.sort_unstable_by(|a, b| b.total_cmp(a));
            for removed in 0..=at_v.min(near.len()) {
                let gone: f64 = kept.iter().take(removed).sum();
                for new in 0..=(at_v - removed) {
                    let now = degree + new as f64 - removed as f64;
                    let of_sum = (1.0 / now.sqrt() - 1.0 / degree.sqrt()).abs() * whole
                        + (gone + by_turning + new as f64 * added[elsewhere] + by_carrying)
                            / now.sqrt();
                    let of_own =
                        |error: f64| (1.0 / now - 1.0 / degree).abs() * sizes[v] + error / now;
                    if removed + new == 0 {
                        most.apart = most.apart.max(of_sum + of_own(errors[v].apart));
                    }
                    most.at_end = most.at_end.max(of_sum + of_own(errors[v].at_end));
                }
            }
        }
        most
    }
}

/// Upper bounds on the change of a row.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    /// Bound if no flip ends at its node.
    apart: f64,
    /// Bound wherever flips end: at least `apart`.
    at_end: f64,
}

impl Moved {
    fn times(self, factor: f64) -> Self {
        Self {
            apart: self.apart * factor,
            at_end: self.at_end * factor,
        }
    }
}

fn length(values: &(impl AsRef<[f64]> + ?Sized)) -> f64 {
    values.as_ref().iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The sum of the `count` largest values.
fn largest_sum(values: &mut [f64], count: usize) -> f64 {
    if count < values.len() {
        values.sort_unstable_by(|a, b| b.total_cmp(a));
    }
    values.iter().take(count).sum()
}
