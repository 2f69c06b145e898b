//! Certifies GCNs of one or two layers against flips of binary features ([Zügner and Günnemann
//! 2019](https://arxiv.org/abs/1906.12269)).
//!
//! An attacker flips at most q features of any node and at most Q in all. A flip of feature f of
//! node w moves unit j of node v before the activation by `±Φ_vw W_fj`. The unit therefore stays
//! between its value plus the Q most negative and its value plus the Q most positive of these
//! moves, q from any one node. Between those ends `[l, u]` the activation is replaced by lines:
//! below by `0` or `x`, whichever is nearer, above by `u (x - l) / (u - l)`. A unit that cannot
//! change its sign is kept.
//!
//! The margin of a class over another is then bounded by a linear function of the flips. Its
//! minimum within the budgets is the sum of its Q least coefficients, q from any one node. The
//! class is certified if that is positive against every other class. This is the paper's dual with
//! its variables set by those lines, and it is exact for one layer.

use gnarl_graph::{Error, Features, Graph};
use rayon::prelude::*;

use crate::classifier::{Classifier, WhiteBox};
use crate::robustness::bounds::plan::{Map, Plan};
use gnarl_graph::Result;
use gnarl_nn::networks::{Backbone, Pass};
use gnarl_nn::train::argmax;
use gnarl_tensor::{DType, Operator, Tensor, simd_dispatch};

/// Subject of the errors of this module.
const OP: &str = "convex certificates";

/// Budgets of feature flips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureFlips {
    /// Largest number of flips of any one node.
    pub local: usize,
    /// Largest number of flips in all.
    pub global: usize,
}

/// Error of a forward pass in f32, relative to the summed magnitudes.
const ROUNDING: f64 = 1e-5;

/// A GCN on a graph of binary features.
#[derive(Debug)]
pub struct BinaryGcn {
    num_cols: usize,
    /// The columns of each node's ones.
    ones: Vec<Vec<u32>>,
    /// Rows of the operators, the first layer's first.
    operators: Vec<Vec<Vec<(u32, f64)>>>,
    /// The first map by columns, `[units][features]`.
    first: Vec<Vec<f32>>,
    /// Units of the first layer, `[nodes][units]`, before the activation.
    clean: Vec<Vec<f64>>,
    /// The second map, `[units, classes]`, for two layers.
    second: Option<Vec<f64>>,
    /// Added to the scores at the end.
    bias: Vec<f64>,
    /// The features of each unit in the order of falling weight.
    order: Vec<Vec<u32>>,
    classes: Vec<usize>,
}

impl BinaryGcn {
    /// Returns true for networks of graph convolutions.
    pub fn covers(backbone: &Backbone) -> bool {
        matches!(backbone, Backbone::Gcn(_))
    }

    /// Prepares a network on a graph as the network takes it. Fails with the reason if it is not
    /// covered.
    pub fn new(model: &WhiteBox, graph: &Graph) -> Result<Self> {
        let plan = Plan::of(model)?;
        let count = plan.layers.len();
        if !Self::covers(&plan.backbone)
            || !plan.tail.is_empty()
            || !(1..=2).contains(&count)
            || plan.head.is_some()
        {
            return Err(Error::argument(
                OP,
                "they are for a gcn of one or two layers without a head",
            ));
        }
        let features = binary_features(graph)?;
        let pass = Pass::evaluation(model.weights());
        let propagation = model.propagation(graph)?;
        let propagation = model.network().propagation(&propagation, &pass)?;
        let first_map = &plan.layers[0][0];
        let first = columns(first_map, features.num_cols())?;
        let units = first.len();
        let scores = model.scores(graph)?;
        let mut gcn = Self {
            num_cols: features.num_cols(),
            ones: (0..graph.num_nodes())
                .map(|u| ones_of(features, u))
                .collect(),
            operators: (0..count)
                .map(|i| rows_of(propagation.layer(i)))
                .collect::<Result<_>>()?,
            order: first.iter().map(|column| by_weight(column)).collect(),
            first,
            clean: Vec::new(),
            second: match plan.layers.get(1) {
                Some(maps) => Some(values(maps[0].weight)?),
                None => None,
            },
            bias: bias(&plan.layers[count - 1][0], model.num_classes())?,
            classes: (0..scores.num_rows())
                .map(|u| argmax(scores.row(u)))
                .collect(),
        };
        gcn.clean = gcn.messages(&if count == 2 {
            bias(first_map, units)?
        } else {
            vec![0.0; units]
        });
        Ok(gcn)
    }

    /// Computes `Φ X W + b` of every node.
    fn messages(&self, bias: &[f64]) -> Vec<Vec<f64>> {
        let of_row = |w: usize| -> Vec<f64> {
            self.first
                .iter()
                .map(|column| {
                    self.ones[w]
                        .iter()
                        .map(|&f| f64::from(column[f as usize]))
                        .sum()
                })
                .collect()
        };
        let own: Vec<Vec<f64>> = (0..self.ones.len()).into_par_iter().map(of_row).collect();
        let one = |v: usize| {
            let mut sum = bias.to_vec();
            for &(w, value) in &self.operators[0][v] {
                sum.iter_mut()
                    .zip(&own[w as usize])
                    .for_each(|(s, m)| *s += value * m);
            }
            sum
        };
        (0..self.ones.len()).into_par_iter().map(one).collect()
    }

    /// The predicted class of a node.
    pub fn class(&self, u: usize) -> usize {
        self.classes[u]
    }

    /// For each of some nodes, the largest certified global budget, up to `most`, if no node has
    /// more than `local` flips.
    pub fn radii(&self, nodes: &[u32], local: usize, most: usize) -> Vec<usize> {
        let mut radii = vec![0; nodes.len()];
        let mut open: Vec<usize> = (0..nodes.len()).collect();
        for global in 1..=most {
            let budget = FeatureFlips {
                local: local.min(global),
                global,
            };
            let ends = self.ends(&open.iter().map(|&i| nodes[i]).collect::<Vec<_>>(), budget);
            open = open
                .into_par_iter()
                .filter(|&i| self.is_certified(nodes[i] as usize, budget, &ends))
                .collect();
            if open.is_empty() {
                break;
            }
            open.iter().for_each(|&i| radii[i] = global);
        }
        radii
    }

    /// The ends between which every unit stays, for the nodes whose messages reach the given ones.
    /// Empty for other nodes, and for one layer.
    fn ends(&self, nodes: &[u32], budget: FeatureFlips) -> Vec<Vec<[f64; 2]>> {
        let mut is_reached = vec![false; self.ones.len()];
        if self.second.is_some() {
            nodes
                .iter()
                .flat_map(|&t| &self.operators[1][t as usize])
                .for_each(|&(v, _)| is_reached[v as usize] = true);
        }
        let mut is_near = vec![false; self.ones.len()];
        for v in (0..is_reached.len()).filter(|&v| is_reached[v]) {
            self.operators[0][v]
                .iter()
                .for_each(|&(w, _)| is_near[w as usize] = true);
        }
        let units = self.first.len();
        // By node and unit: the moves of the node's own flips, the most negative and the most
        // positive.
        let moves: Vec<Vec<[Vec<f64>; 2]>> = (0..is_near.len())
            .into_par_iter()
            .map(|w| {
                if is_near[w] {
                    (0..units).map(|j| self.moves(w, j, budget.local)).collect()
                } else {
                    Vec::new()
                }
            })
            .collect();
        let of_unit = |v: usize, j: usize| {
            let end = |side: usize| {
                let mut all: Vec<f64> = Vec::new();
                for &(w, value) in &self.operators[0][v] {
                    let side = if value < 0.0 { 1 - side } else { side };
                    all.extend(moves[w as usize][j][side].iter().map(|m| (m * value).abs()));
                }
                largest_sum(&mut all, budget.global)
            };
            [self.clean[v][j] - end(0), self.clean[v][j] + end(1)]
        };
        (0..is_reached.len())
            .into_par_iter()
            .map(|v| {
                if is_reached[v] {
                    (0..units).map(|j| of_unit(v, j)).collect()
                } else {
                    Vec::new()
                }
            })
            .collect()
    }

    /// The `count` most negative and most positive moves of unit j under single flips of node w.
    fn moves(&self, w: usize, j: usize, count: usize) -> [Vec<f64>; 2] {
        let (column, order, ones) = (&self.first[j], &self.order[j], &self.ones[w]);
        let is_zero = |f: &&u32| ones.binary_search(f).is_err();
        let weight = |f: u32| f64::from(column[f as usize]);
        let falling = order.iter().filter(is_zero).take(count).map(|&f| weight(f));
        let rising = order
            .iter()
            .rev()
            .filter(is_zero)
            .take(count)
            .map(|&f| weight(f));
        let mut up: Vec<f64> = falling
            .chain(ones.iter().map(|&f| -weight(f)))
            .filter(|&m| m > 0.0)
            .collect();
        let mut down: Vec<f64> = rising
            .chain(ones.iter().map(|&f| -weight(f)))
            .filter(|&m| m < 0.0)
            .collect();
        up.sort_unstable_by(|a, b| b.total_cmp(a));
        down.sort_unstable_by(f64::total_cmp);
        up.truncate(count);
        down.truncate(count);
        [down, up]
    }

    /// Returns true if the class of a node is certified.
    fn is_certified(&self, t: usize, budget: FeatureFlips, ends: &[Vec<[f64; 2]>]) -> bool {
        let class = self.classes[t];
        (0..self.bias.len())
            .filter(|&c| c != class)
            .all(|c| self.least_lead(t, class, c, budget, ends) > 0.0)
    }

    /// Lower bound on the margin of class y over c at node t, less the rounding error.
    fn least_lead(
        &self,
        t: usize,
        y: usize,
        c: usize,
        budget: FeatureFlips,
        ends: &[Vec<[f64; 2]>],
    ) -> f64 {
        let units = self.first.len();
        let mut lead = self.bias[y] - self.bias[c];
        let mut size = lead.abs();
        // For every node that may be flipped: the weight of its own row of X W, unit by unit.
        let mut weights: std::collections::BTreeMap<u32, Vec<f32>> =
            std::collections::BTreeMap::new();
        match &self.second {
            None => {
                lead += self.clean[t][y] - self.clean[t][c];
                size += self.clean[t][y].abs() + self.clean[t][c].abs();
                for &(w, value) in &self.operators[0][t] {
                    let of = weights.entry(w).or_insert_with(|| vec![0.0; units]);
                    of[y] += value as f32;
                    of[c] -= value as f32;
                }
            }
            Some(second) => {
                let num_classes = self.bias.len();
                let mut slopes = vec![0f64; units];
                for &(v, value) in &self.operators[1][t] {
                    let v = v as usize;
                    for j in 0..units {
                        let k = value * (second[j * num_classes + y] - second[j * num_classes + c]);
                        let [l, u] = ends[v][j];
                        let (slope, at) = match () {
                            _ if l >= 0.0 => (1.0, 0.0),
                            _ if u <= 0.0 => (0.0, 0.0),
                            // A positive weight is bounded from below.
                            _ if k >= 0.0 => (f64::from(u8::from(u >= -l)), 0.0),
                            _ => (u / (u - l), -u * l / (u - l)),
                        };
                        let part = k * (slope * self.clean[v][j] + at);
                        lead += part;
                        size += part.abs();
                        slopes[j] = k * slope;
                    }
                    for &(w, value) in &self.operators[0][v] {
                        let of = weights.entry(w).or_insert_with(|| vec![0.0; units]);
                        of.iter_mut()
                            .zip(&slopes)
                            .for_each(|(o, s)| *o += (s * value) as f32);
                    }
                }
            }
        }
        let mut gained = vec![0f32; self.num_cols];
        let mut losses: Vec<f64> = Vec::new();
        for (w, of_units) in &weights {
            gained.fill(0.0);
            for (column, &weight) in self.first.iter().zip(of_units) {
                if weight != 0.0 {
                    add_scaled(weight, column, &mut gained);
                }
            }
            // A removed one takes away its contribution.
            self.ones[*w as usize]
                .iter()
                .for_each(|&f| gained[f as usize] *= -1.0);
            let mut own: Vec<f64> = gained
                .iter()
                .filter(|&&g| g < 0.0)
                .map(|&g| -f64::from(g))
                .collect();
            keep_largest(&mut own, budget.local);
            losses.append(&mut own);
        }
        let lost = largest_sum(&mut losses, budget.global);
        lead - lost - ROUNDING * (size + lost)
    }
}

simd_dispatch! {
    /// `out += weight · column`.
    fn add_scaled(weight: f32, column: &[f32], out: &mut [f32]) {
        out.iter_mut().zip(column).for_each(|(o, c)| *o += weight * c);
    }
}

/// Returns the features of a graph; others than 0 and 1 are refused.
fn binary_features(graph: &Graph) -> Result<&Features> {
    let Some(features) = graph.features() else {
        return Err(Error::argument(OP, "the graph has no features to flip"));
    };
    if features.values().iter().any(|&v| v != 0.0 && v != 1.0) {
        let what = "features must be 0 or 1 as the network takes them; --binary makes them so, --features as-loaded leaves them so";
        return Err(Error::argument(OP, what));
    }
    Ok(features)
}

/// Returns the values of a tensor.
fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    Ok(tensor
        .to_dtype(DType::F64)?
        .flatten_all()?
        .to_vec1::<f64>()?)
}

/// Returns the bias of a map; zeros if it has none.
fn bias(map: &Map<'_>, width: usize) -> Result<Vec<f64>> {
    match map.bias {
        Some(bias) => values(bias),
        None => Ok(vec![0.0; width]),
    }
}

/// Returns the columns of a map, one for each unit.
fn columns(map: &Map<'_>, num_features: usize) -> Result<Vec<Vec<f32>>> {
    let (_, units) = map.weight.dims2()?;
    let weight = values(map.weight)?;
    Ok((0..units)
        .map(|j| {
            (0..num_features)
                .map(|f| weight[f * units + j] as f32)
                .collect()
        })
        .collect())
}

/// Returns the features in the order of falling weight.
fn by_weight(column: &[f32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..column.len() as u32).collect();
    order.sort_by(|&a, &b| column[b as usize].total_cmp(&column[a as usize]));
    order
}

fn ones_of(features: &Features, u: usize) -> Vec<u32> {
    match features {
        Features::Sparse(m) => {
            let (cols, values) = m.row(u);
            cols.iter()
                .zip(values)
                .filter(|&(_, &v)| v != 0.0)
                .map(|(&c, _)| c)
                .collect()
        }
        Features::Dense(m) => m
            .row(u)
            .iter()
            .enumerate()
            .filter(|&(_, &v)| v != 0.0)
            .map(|(c, _)| c as u32)
            .collect(),
    }
}

fn rows_of(operator: &Operator) -> Result<Vec<Vec<(u32, f64)>>> {
    if operator.is_low_rank() {
        return Err(Error::argument(
            OP,
            "the operator must have an entry for each edge",
        ));
    }
    let (values, pattern) = (
        operator.values()?.flatten_all()?.to_vec1::<f32>()?,
        operator.pattern(),
    );
    let row = |u: usize| {
        pattern
            .row(u)
            .map(|k| (pattern.indices()[k], f64::from(values[k])))
            .collect()
    };
    Ok((0..pattern.num_rows()).map(row).collect())
}

/// Keeps the `count` largest values, in no order.
fn keep_largest(values: &mut Vec<f64>, count: usize) {
    if count == 0 {
        values.clear();
    } else if count < values.len() {
        values.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
        values.truncate(count);
    }
}

fn largest_sum(values: &mut Vec<f64>, count: usize) -> f64 {
    keep_largest(values, count);
    // Sorted, so that the order does not depend on the selection.
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    values.iter().sum()
}
