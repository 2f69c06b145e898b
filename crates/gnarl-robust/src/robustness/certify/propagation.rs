//! Certifies APPNP and SGC, models that predict, then propagate, against changes of edges
//! ([Bojchevski and Günnemann 2019](https://arxiv.org/abs/1910.14356)).
//!
//! Predictions H depend on features alone, and edges decide only where they go. By A_hat with
//! degrees d (self-loops counted), `A_hat^k = D^(1/2) P^k D^(-1/2)` with the random walk
//! `P = D^(-1) (A + I)`. The margin of class y over c at node t therefore has the sign of
//!
//! `V(t) = Σ_k α (1 - α)^k P^k z`, `z_v = (H_vy - H_vc) / sqrt(d_v)`:
//! `V(v) = α z_v + (1 - α) mean of V over v and its neighbours`.
//!
//! An attacker with a *local budget* of b changes up to b entries in the row of every node. This
//! sets both that mean and d_v, by choices at v alone: a Markov decision process whose states are
//! nodes. Its minimum has one best policy for all nodes at once, found by policy iteration:
//!
//! 1. Solve the equations for a policy.
//! 2. Let every node improve its row.
//! 3. Repeat until no row changes.
//!
//! The best row of one node removes the largest values among its neighbours and adds the smallest
//! elsewhere, so all ways of spending b are tried in O(b²). One solution for each ordered pair of
//! classes serves all nodes.
//!
//! The certificate is exact for rows that change independently and for propagation to its limit
//! ([`Steps::Limit`]). Undirected flips, at most b at each node, are among those changes. So are at
//! most b flips in all, the relaxation of a global budget. A model with K steps has the values of K
//! steps in which rows may differ from step to step ([`Steps::Count`]). That is below the minimum
//! over graphs: sound, and exact if one graph attains it. SGC is the case of K steps without
//! teleport.

use gnarl_graph::operator::ClassicalOperator as Op;
use gnarl_graph::{DenseMatrix, Error, Graph, named};
use rayon::prelude::*;

use crate::classifier::WhiteBox;
use gnarl_graph::Result;
use gnarl_nn::networks::{Backbone, DefaultOperator, Pass, Propagation};
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::argmax;
use gnarl_tensor::Operator;

/// Subject of the errors of this module.
const OP: &str = "exact certificates";

named! {
    /// The changes of edges that an attacker may make.
    pub enum Threat as "threat" {
        /// Edges are removed and added.
        Both = "both",
        /// Edges are removed.
        Remove = "remove",
        /// Edges are added.
        Add = "add",
    }
}

/// Number of propagation steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steps {
    /// A fixed number of steps.
    Count(usize),
    /// Propagation to convergence: personalised PageRank itself.
    Limit,
}

/// Predictions, and their propagation on a graph by A_hat.
#[derive(Debug)]
pub struct Propagated<'a> {
    graph: &'a Graph,
    /// `[nodes, classes]`, before propagation.
    predictions: DenseMatrix<f64>,
    /// Offsets of each class, added to every node after propagation.
    offsets: Vec<f64>,
    /// Teleport probability α: the weight of a node's own prediction in every step; 0 for SGC.
    teleport: f64,
    steps: Steps,
}

/// Rounding error in f32, relative to the largest prediction.
const ROUNDING: f64 = 1e-5;

impl<'a> Propagated<'a> {
    /// Returns true for networks that predict from features alone, then propagate.
    pub fn covers(backbone: &Backbone) -> bool {
        matches!(backbone, Backbone::Appnp(_) | Backbone::Sgc(_))
    }

    /// Propagates the given predictions.
    pub fn new(
        graph: &'a Graph,
        predictions: DenseMatrix<f64>,
        teleport: f64,
        steps: Steps,
    ) -> Result<Self> {
        let offsets = vec![0.0; predictions.num_cols()];
        Self::checked(Self {
            graph,
            predictions,
            offsets,
            teleport,
            steps,
        })
    }

    /// The predictions of a trained APPNP or SGC on a graph whose features are scaled. Fails with
    /// the reason for any other model.
    pub fn of_model(model: &WhiteBox, graph: &'a Graph) -> Result<Self> {
        let config = model.network().config();
        let operator = match (model.operator(), config.backbone.default_operator()) {
            (OperatorChoice::Classical(op), _)
            | (OperatorChoice::Default, DefaultOperator::Classical(op)) => Some(op),
            _ => None,
        };
        let (teleport, steps) = match config.backbone {
            Backbone::Appnp(appnp) => (appnp.alpha, appnp.propagation_steps),
            Backbone::Sgc(_) => (0.0, config.layers),
            other => {
                return Err(Error::argument(
                    OP,
                    format!(
                        "they are for appnp and sgc, which predict, then propagate; not for {other}"
                    ),
                ));
            }
        };
        if operator != Some(Op::NORMALISED_ADJACENCY) || model.graph_classifier().is_some() {
            return Err(Error::argument(
                OP,
                "they are for nodes of one graph and propagation by A_hat",
            ));
        }
        // On isolated nodes all degrees are one, and propagation leaves predictions as they are.
        let alone = Operator::constant(&gnarl_graph::CsrMatrix::identity(graph.num_nodes()));
        let at_rest = model.forward(&Propagation::from(alone), &model.input(graph)?)?;
        let (rows, cols) = at_rest.dims2()?;
        let predictions = at_rest
            .flatten_all()?
            .to_vec1::<f32>()?
            .into_iter()
            .map(f64::from)
            .collect();
        let mut predictions = DenseMatrix::new(rows, cols, predictions)?;
        let offsets = match config.backbone {
            Backbone::Sgc(_) => sgc_offsets(model)?,
            _ => vec![0.0; cols],
        };
        for u in 0..rows {
            predictions
                .row_mut(u)
                .iter_mut()
                .zip(&offsets)
                .for_each(|(p, b)| *p -= b);
        }
        Self::checked(Self {
            graph,
            predictions,
            offsets,
            teleport,
            steps: Steps::Count(steps),
        })
    }

    fn checked(self) -> Result<Self> {
        if self.graph.weights().is_some() {
            return Err(Error::argument(
                OP,
                "flips in a weighted graph are not covered",
            ));
        }
        if self.predictions.num_rows() != self.graph.num_nodes() {
            return Err(Error::argument(
                OP,
                "there must be a prediction for every node",
            ));
        }
        let ends = self.steps != Steps::Limit || self.teleport > 0.0;
        if !(0.0..=1.0).contains(&self.teleport) || !ends {
            return Err(Error::argument(
                OP,
                format!("a teleport of {} is not in (0, 1]", self.teleport),
            ));
        }
        Ok(self)
    }

    /// For every node its class, and its certified radius: the largest local budget, up to `most`,
    /// within which no attacker changes the class.
    ///
    /// O(classes² · budgets · steps · (arcs + nodes · budget²)).
    pub fn radii(&self, threat: Threat, most: usize) -> Result<Vec<(usize, usize)>> {
        let classes = self.classes(&self.leads_on(self.graph)?);
        let pairs: Vec<(usize, usize)> = self.pairs(&classes);
        let mut radii: Vec<(usize, usize)> = classes.iter().map(|&class| (class, 0)).collect();
        let rounding = ROUNDING * self.largest_prediction();
        let mut open = vec![true; classes.len()];
        for budget in 1..=most {
            let worst: Vec<((usize, usize), Vec<f64>)> = pairs
                .par_iter()
                .map(|&pair| Ok((pair, self.worst(pair, threat, budget)?)))
                .collect::<Result<_>>()?;
            for ((y, _), values) in worst {
                for u in (0..classes.len()).filter(|&u| classes[u] == y) {
                    open[u] &= values[u] > rounding;
                }
            }
            (0..classes.len())
                .filter(|&u| open[u])
                .for_each(|u| radii[u].1 = budget);
            if !open.contains(&true) {
                break;
            }
        }
        Ok(radii)
    }

    /// Pairs of a predicted class of some node and any other class.
    fn pairs(&self, classes: &[usize]) -> Vec<(usize, usize)> {
        let num_classes = self.predictions.num_cols();
        let all = (0..num_classes).filter(|y| classes.contains(y));
        all.flat_map(|y| {
            (0..num_classes)
                .filter(move |&c| c != y)
                .map(move |c| (y, c))
        })
        .collect()
    }

    fn largest_prediction(&self) -> f64 {
        self.predictions
            .data()
            .iter()
            .fold(0.0, |most, p| most.max(p.abs()))
    }

    /// The scores on a graph, before rounding.
    fn leads_on(&self, graph: &Graph) -> Result<DenseMatrix<f64>> {
        let (nodes, classes) = (self.predictions.num_rows(), self.predictions.num_cols());
        let mut scores = DenseMatrix::zeros(nodes, classes);
        for c in 0..classes {
            let own: Vec<f64> = (0..nodes)
                .map(|u| self.predictions.row(u)[c] / degree(graph, u).sqrt())
                .collect();
            let mean = |u: usize, values: &[f64]| {
                let near = graph
                    .neighbours(u as u32)
                    .iter()
                    .map(|&v| values[v as usize])
                    .sum::<f64>();
                (near + values[u]) / degree(graph, u)
            };
            let values = self.iterated(&own, |u, values| {
                self.teleport * own[u] + (1.0 - self.teleport) * mean(u, values)
            });
            (0..nodes).for_each(|u| {
                scores.row_mut(u)[c] = values[u] * degree(graph, u).sqrt() + self.offsets[c]
            });
        }
        Ok(scores)
    }

    fn classes(&self, scores: &DenseMatrix<f64>) -> Vec<usize> {
        (0..scores.num_rows())
            .map(|u| argmax(&scores.row(u).iter().map(|&s| s as f32).collect::<Vec<_>>()))
            .collect()
    }

    /// Propagation steps of a fixed rule from initial values.
    fn iterated(&self, start: &[f64], rule: impl Fn(usize, &[f64]) -> f64) -> Vec<f64> {
        let mut values = start.to_vec();
        let steps = match self.steps {
            Steps::Count(steps) => steps,
            Steps::Limit => rounds_to_the_limit(self.teleport),
        };
        for _ in 0..steps {
            values = (0..values.len()).map(|u| rule(u, &values)).collect();
        }
        values
    }

    /// Lower bound on the margin of y over c of every node, over the root of its degree, on any
    /// graph within the budget; for [`Steps::Limit`] the minimum of it.
    pub fn worst(&self, (y, c): (usize, usize), threat: Threat, budget: usize) -> Result<Vec<f64>> {
        let offset = self.offsets[y] - self.offsets[c];
        let nodes = self.graph.num_nodes();
        let lead: Vec<f64> = (0..nodes)
            .map(|u| self.predictions.row(u)[y] - self.predictions.row(u)[c])
            .collect();
        let choices = Choices {
            graph: self.graph,
            lead: &lead,
            teleport: self.teleport,
            threat,
            budget,
        };
        let mut values = match self.steps {
            Steps::Count(steps) => {
                let mut values: Vec<f64> = (0..nodes).map(|u| choices.least_start(u)).collect();
                for _ in 0..steps {
                    values = choices
                        .improved(&values)
                        .into_iter()
                        .map(|row| row.value)
                        .collect();
                }
                values
            }
            Steps::Limit => choices.policy_iteration(),
        };
        // An offset is not propagated: over the root of the degree it is smallest at the largest or
        // smallest degree.
        for u in 0..nodes {
            let (low, high) = choices.degrees(u);
            values[u] += (offset / low.sqrt()).min(offset / high.sqrt());
        }
        Ok(values)
    }
}

/// Degree of a node, its self-loop counted.
fn degree(graph: &Graph, u: usize) -> f64 {
    graph.degree(u as u32) as f64 + 1.0
}

/// Number of steps until the rest is below the precision of a double.
fn rounds_to_the_limit(teleport: f64) -> usize {
    if teleport >= 1.0 {
        1
    } else {
        ((1e-17f64).ln() / (-teleport).ln_1p()).ceil() as usize
    }
}

fn sgc_offsets(model: &WhiteBox) -> Result<Vec<f64>> {
    let network = model.network();
    let found = model
        .weights()
        .iter()
        .find(|(id, _)| network.params().get(*id).name == "linear.bias");
    let Some((_, bias)) = found else {
        return Ok(vec![0.0; network.num_classes()]);
    };
    let factor = match network.gain() {
        Some(gain) => f64::from(
            gain.factor(&Pass::evaluation(model.weights()))?
                .flatten_all()?
                .to_vec1::<f32>()?[0],
        ),
        None => 1.0,
    };
    Ok(bias
        .flatten_all()?
        .to_vec1::<f32>()?
        .into_iter()
        .map(|b| f64::from(b) * factor)
        .collect())
}

/// The choices that every node has for its row.
struct Choices<'a> {
    graph: &'a Graph,
    lead: &'a [f64],
    teleport: f64,
    threat: Threat,
    budget: usize,
}

/// A row that a node chose: the number of removed largest neighbours, and the added nodes.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    value: f64,
    /// Neighbours, without the node itself.
    members: Vec<u32>,
}

impl Choices<'_> {
    fn most_removed(&self, u: usize) -> usize {
        if self.threat == Threat::Add {
            0
        } else {
            self.graph.degree(u as u32).min(self.budget)
        }
    }

    fn most_added(&self, u: usize) -> usize {
        let apart = self.graph.num_nodes() - 1 - self.graph.degree(u as u32);
        if self.threat == Threat::Remove {
            0
        } else {
            apart.min(self.budget)
        }
    }

    /// The smallest and the largest degree that node u may have, its self-loop counted.
    fn degrees(&self, u: usize) -> (f64, f64) {
        let now = degree(self.graph, u);
        (
            now - self.most_removed(u) as f64,
            now + self.most_added(u) as f64,
        )
    }

    /// The minimum of `z_u`: the value of a walk that ends here.
    fn least_start(&self, u: usize) -> f64 {
        let (low, high) = self.degrees(u);
        (self.lead[u] / low.sqrt()).min(self.lead[u] / high.sqrt())
    }

    /// The best row of every node for given values.
    fn improved(&self, values: &[f64]) -> Vec<Row> {
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        (0..values.len())
            .map(|u| self.best_row(u, values, &order))
            .collect()
    }

    fn best_row(&self, u: usize, values: &[f64], order: &[u32]) -> Row {
        let near = self.graph.neighbours(u as u32);
        let mut sorted: Vec<u32> = near.to_vec();
        sorted.sort_unstable_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]));
        let comes = |v: &&u32| **v as usize != u && near.binary_search(v).is_err();
        let new: Vec<u32> = order
            .iter()
            .filter(comes)
            .take(self.most_added(u))
            .copied()
            .collect();
        let total: f64 = near.iter().map(|&v| values[v as usize]).sum::<f64>() + values[u];
        let mut best: Option<(f64, usize, usize)> = None;
        let mut without = total;
        for removed in 0..=self.most_removed(u) {
            if removed > 0 {
                without -= values[sorted[removed - 1] as usize];
            }
            let mut with = without;
            for added in 0..=new.len().min(self.budget - removed) {
                if added > 0 {
                    with += values[new[added - 1] as usize];
                }
                let d = (near.len() + 1 - removed + added) as f64;
                let value =
                    self.teleport * self.lead[u] / d.sqrt() + (1.0 - self.teleport) * with / d;
                if best.is_none_or(|(least, ..)| value < least) {
                    best = Some((value, removed, added));
                }
            }
        }
        let (value, removed, added) = best.unwrap_or((values[u], 0, 0));
        let members = sorted[removed..]
            .iter()
            .chain(&new[..added])
            .copied()
            .collect();
        Row { value, members }
    }

    /// The value of a policy: of every node, for these rows.
    fn value_of(&self, rows: &[Row]) -> Vec<f64> {
        let own: Vec<f64> = (0..rows.len())
            .map(|u| self.lead[u] / ((rows[u].members.len() + 1) as f64).sqrt())
            .collect();
        let mut values = own.clone();
        for _ in 0..rounds_to_the_limit(self.teleport) {
            let mean = |u: usize| {
                let near = rows[u]
                    .members
                    .iter()
                    .map(|&v| values[v as usize])
                    .sum::<f64>()
                    + values[u];
                self.teleport * own[u]
                    + (1.0 - self.teleport) * near / (rows[u].members.len() + 1) as f64
            };
            values = (0..rows.len()).map(mean).collect();
        }
        values
    }

    fn policy_iteration(&self) -> Vec<f64> {
        let clean = |u: usize| Row {
            value: 0.0,
            members: self.graph.neighbours(u as u32).to_vec(),
        };
        let mut rows: Vec<Row> = (0..self.graph.num_nodes()).map(clean).collect();
        let mut values = self.value_of(&rows);
        loop {
            let better = self.improved(&values);
            // A node keeps its row unless another is better by more than rounding, so the iteration
            // ends.
            let mut changed = false;
            for (u, row) in better.into_iter().enumerate() {
                if row.value < values[u] - 1e-13 * (1.0 + values[u].abs()) {
                    rows[u] = row;
                    changed = true;
                }
            }
            if !changed {
                return values;
            }
            values = self.value_of(&rows);
        }
    }
}
