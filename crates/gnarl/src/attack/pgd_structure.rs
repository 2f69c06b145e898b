//! Projected gradient ascent on edges: the relaxation of Xu et al. (2019), on random blocks of pairs as in PRBCD (Geisler et al. 2021).
//!
//! Every edge and a block of pairs without an edge have a flip variable in 0 to 1 ([`Relaxed`]). A step goes along the gradient of the
//! loss and back to variables that sum to at most the budget. In the first part of the search pairs that were left at zero make room for
//! new ones, so that many more are seen than are held. In the end whole flips are drawn with the variables as probabilities, the
//! largest ones are tried besides, and the best draw is kept. Memory grows with edges plus block, never with nodes squared.

use std::collections::HashSet;

use candle_core::{Device, Tensor, Var};
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{Error as GraphError, Graph};
use rand::RngExt;
use serde::Serialize;

use super::budget::EdgeShare;
use super::loss::{Loss, Objective};
use super::pairs::{Pair, draw_pairs};
use super::random_flips::flip;
use super::relaxed::Relaxed;
use super::{Kind, Scene, refused};
use crate::classifier::{Classifier, WhiteBox};
use crate::error::Result;
use crate::nn::{Input, Propagation, UsualOperator};
use crate::operator::OperatorChoice;

/// How flips are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PgdStructure {
    /// Steps of ascent.
    pub steps: usize,
    /// Pairs without an edge that have a variable at a time.
    pub block: usize,
    /// Draws of whole flips.
    pub draws: usize,
    /// What is climbed.
    pub loss: Loss,
}

impl Default for PgdStructure {
    /// 20 draws are Xu et al.'s.
    fn default() -> Self {
        Self { steps: 100, block: 50_000, draws: 20, loss: Loss::Margin }
    }
}

impl PgdStructure {
    /// Refuses a search of nothing and a block that no machine holds.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        for (name, count) in [("steps", self.steps), ("draws", self.draws)] {
            if count == 0 {
                return Err(GraphError::argument("attack", format!("{name} must be at least 1")));
            }
        }
        if self.block > MAX_BLOCK {
            let what = format!("a block of {} pairs: at most {MAX_BLOCK} can be held", self.block);
            return Err(GraphError::argument("attack", what));
        }
        Ok(())
    }
}

/// Entries of a pattern are numbered by 32 bits, and every pair has two.
const MAX_BLOCK: usize = 1 << 29;
/// The mass that the first step moves, as a share of the budget.
const FIRST_STEP: f64 = 0.3;
/// The part of the search in which new pairs come in, and the steps between two exchanges.
const EXPLORING: f64 = 0.7;
const EXCHANGE_EVERY: usize = 3;
/// Variables up to this count as unused.
const UNUSED: f32 = 1e-6;

pub(super) fn attack(scene: &Scene<'_>, budget: EdgeShare, settings: PgdStructure, seed: u64) -> Result<Graph> {
    let model = scene.white_box(Kind::PgdStructure)?;
    let targets = scene.some_targets(Kind::PgdStructure)?;
    let flips = budget.flips(scene.graph);
    if flips == 0 {
        return Ok(scene.graph.clone());
    }
    let clean = model.scores(scene.graph)?;
    let objective = Objective::new(settings.loss, targets, clean.data(), clean.num_cols());
    let rng = &mut stream(seed, "pgd structure", 0);
    let mut search = Search::new(model, scene.graph, settings.block, rng)?;
    search.check_relaxation(clean.data())?;

    let exploring = (EXPLORING * settings.steps as f64) as usize;
    for step in 0..settings.steps {
        if step > 0 && step < exploring && step % EXCHANGE_EVERY == 0 {
            search.exchange(rng)?;
        }
        let slope = search.gradient(&objective)?;
        // A long first part to explore, then steps that shrink so that the variables settle.
        let late = step.saturating_sub(exploring) as f64;
        ascend(&mut search.flips, &slope, flips, FIRST_STEP / (1.0 + late).sqrt());
    }
    let chosen = search.draw(&objective, flips, settings.draws, rng)?;
    flip(scene.graph, &chosen)
}

/// The state of a search.
struct Search<'a> {
    model: &'a WhiteBox,
    graph: &'a Graph,
    input: Input,
    kind: gnarl_graph::operator::ClassicalOperator,
    block: usize,
    relaxed: Relaxed,
    /// One variable for each of the relaxation's pairs.
    flips: Vec<f32>,
}

impl<'a> Search<'a> {
    fn new(model: &'a WhiteBox, graph: &'a Graph, block: usize, rng: &mut Rng) -> Result<Self> {
        let backbone = model.network().config().backbone;
        let kind = match (model.operator(), backbone.usual_operator()) {
            (OperatorChoice::Classical(kind), _) | (OperatorChoice::Usual, UsualOperator::Classical(kind)) => kind,
            (OperatorChoice::Usual, _) | (OperatorChoice::Cgso(_), _) => return Err(not_relaxable(model)),
        };
        let mut search = Self {
            model,
            graph,
            input: model.input(graph)?,
            kind,
            block,
            relaxed: Relaxed::new(graph, kind, &[])?,
            flips: vec![0.0; graph.num_edges()],
        };
        search.exchange(rng)?;
        Ok(search)
    }

    /// Puts new pairs in the place of those that are not used.
    fn exchange(&mut self, rng: &mut Rng) -> Result<()> {
        let edges = self.relaxed.num_edges();
        let used = |i: &usize| self.flips[*i] > UNUSED;
        let kept: Vec<usize> = (edges..self.flips.len()).filter(used).collect();
        let mut candidates: Vec<Pair> = kept.iter().map(|&i| self.relaxed.pairs()[i]).collect();
        let mut flips = self.flips[..edges].to_vec();
        flips.extend(kept.iter().map(|&i| self.flips[i]));
        let mut taken: HashSet<Pair> = candidates.iter().copied().collect();
        let room = self.block.saturating_sub(candidates.len());
        let apart = |u: u32, v: u32| !self.graph.has_edge(u, v);
        candidates.extend(draw_pairs(self.graph.num_nodes(), room, apart, &mut taken, rng));
        flips.resize(edges + candidates.len(), 0.0);
        self.relaxed = Relaxed::new(self.graph, self.kind, &candidates)?;
        self.flips = flips;
        Ok(())
    }

    fn forward(&self, flips: &Tensor) -> Result<Tensor> {
        self.model.forward(&Propagation::from(self.relaxed.operator(flips)?), &self.input)
    }

    fn scores(&self, flips: Vec<f32>) -> Result<Vec<f32>> {
        let count = flips.len();
        Ok(self.forward(&Tensor::from_vec(flips, count, &Device::Cpu)?)?.flatten_all()?.to_vec1()?)
    }

    /// A network may make more of an operator than its values: attention over the pattern, counts of neighbours, a second operator.
    /// Then pairs that are not joined would be heard all the same, and nothing found by the relaxation would hold.
    fn check_relaxation(&self, clean: &[f32]) -> Result<()> {
        let Ok(scores) = self.scores(vec![0.0; self.flips.len()]) else { return Err(not_relaxable(self.model)) };
        let size = clean.iter().fold(1f32, |m, z| m.max(z.abs()));
        match scores.iter().zip(clean).all(|(a, b)| (a - b).abs() <= 1e-3 * size) {
            true => Ok(()),
            false => Err(not_relaxable(self.model)),
        }
    }

    /// The slope of the objective by each variable.
    fn gradient(&self, objective: &Objective<'_>) -> Result<Vec<f32>> {
        let count = self.flips.len();
        let flips = Var::from_tensor(&Tensor::from_slice(&self.flips, count, &Device::Cpu)?)?;
        let scores = self.forward(flips.as_tensor())?;
        let slope = objective.standing_and_gradient(&scores.flatten_all()?.to_vec1::<f32>()?).1;
        let slope = Tensor::from_vec(slope, scores.shape(), &Device::Cpu)?;
        let grads = (scores * slope)?.sum_all()?.backward()?;
        // A network that hears nobody has none.
        grads.get(&flips).map_or_else(|| Ok(vec![0.0; count]), |g| Ok(g.to_vec1::<f32>()?))
    }

    /// The best of the largest variables and `draws` draws with the variables as probabilities, each within the budget.
    fn draw(&self, objective: &Objective<'_>, budget: usize, draws: usize, rng: &mut Rng) -> Result<Vec<Pair>> {
        let mut order: Vec<usize> = (0..self.flips.len()).filter(|&i| self.flips[i] > UNUSED).collect();
        // Of equals the first pair: the order does not depend on how it was found.
        order.sort_by(|&a, &b| self.flips[b].total_cmp(&self.flips[a]).then(a.cmp(&b)));
        let mut best = (objective.standing(&self.scores(vec![0.0; self.flips.len()])?), Vec::new());
        for draw in 0..=draws {
            let mut chosen: Vec<usize> = match draw {
                0 => order.clone(),
                _ => order.iter().copied().filter(|&i| rng.random::<f32>() < self.flips[i]).collect(),
            };
            chosen.truncate(budget);
            let mut whole = vec![0.0; self.flips.len()];
            chosen.iter().for_each(|&i| whole[i] = 1.0);
            let standing = objective.standing(&self.scores(whole)?);
            if standing.beats(&best.0) {
                best = (standing, chosen);
            }
        }
        Ok(best.1.into_iter().map(|i| self.relaxed.pairs()[i]).collect())
    }
}

fn not_relaxable(model: &WhiteBox) -> crate::Error {
    let what = format!(
        "pgd-structure follows gradients to single edges, which {} with operator {} does not have; attack it through a surrogate (--surrogate), or with dice or random-flips",
        model.network().config().backbone,
        model.operator()
    );
    refused(what)
}

/// A step along the slope, of a length at which the `budget` steepest variables gain `share · budget` in all, and back to
/// variables in 0 to 1 that sum to at most the budget.
fn ascend(flips: &mut [f32], slope: &[f32], budget: usize, share: f64) {
    let mut steepest: Vec<f32> = slope.iter().copied().filter(|&g| g > 0.0).collect();
    steepest.sort_unstable_by(|a, b| b.total_cmp(a));
    let total: f64 = steepest.iter().take(budget).map(|&g| f64::from(g)).sum();
    if total > 0.0 {
        let by = share * budget as f64 / total;
        flips.iter_mut().zip(slope).for_each(|(p, &g)| *p += (by * f64::from(g)) as f32);
    }
    project(flips, budget as f64);
}

/// The nearest point with entries in 0 to 1 and a sum of at most `budget`: all entries lowered by the same amount, found by
/// bisection, and cut off.
fn project(flips: &mut [f32], budget: f64) {
    let sum = |by: f64| flips.iter().map(|&p| (f64::from(p) - by).clamp(0.0, 1.0)).sum::<f64>();
    let mut by = 0.0;
    if sum(0.0) > budget {
        let (mut low, mut high) = (0.0, flips.iter().fold(0.0, |m, &p| f64::max(m, f64::from(p))));
        for _ in 0..60 {
            by = (low + high) / 2.0;
            if sum(by) > budget { low = by } else { high = by }
        }
        by = high;
    }
    flips.iter_mut().for_each(|p| *p = (f64::from(*p) - by).clamp(0.0, 1.0) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::testing::{accuracy, graph, targets, trained, untrained, untrained_with};
    use crate::attack::{Attack, Attacked, Options};
    use crate::classifier::FromFn;
    use crate::nn::Backbone;
    use crate::operator::{Cgso, Initialisation};
    use gnarl_graph::operator::ClassicalOperator;

    fn run(model: &dyn Classifier, graph: &Graph, kind: Kind, options: Options, seed: u64) -> Result<Attacked> {
        let targets = targets(graph);
        let scene = Scene { graph, model: Some(model), targets: &targets, labels: graph.labels() };
        Attack::new(kind, Some(0.1), options).unwrap().run(&scene, seed)
    }

    const QUICK: Options = Options {
        steps: Some(30),
        block: Some(3000),
        norm: None,
        scope: None,
        loss: None,
        starts: None,
        support: None,
        draws: None,
    };

    #[test]
    fn it_beats_dice_and_chance() {
        let graph = graph(1);
        let flips = graph.num_edges() / 10;
        for backbone in [Backbone::Gcn, Backbone::Sage] {
            let model = trained(&graph, backbone);
            let of = |kind, options| run(&model, &graph, kind, options, 2).unwrap();
            let attacked = of(Kind::PgdStructure, QUICK);
            assert!(attacked.change.num_flips() <= flips && attacked.change.num_flips() > flips / 2);
            let by_pgd = accuracy(&model, &graph, &attacked.graph);
            for kind in [Kind::Dice, Kind::RandomFlips, Kind::RandomRemove] {
                let by_other = accuracy(&model, &graph, &of(kind, Options::default()).graph);
                assert!(by_pgd < by_other - 5.0, "{backbone}: {by_pgd} against {by_other} by {kind}");
            }
        }
    }

    #[test]
    fn every_classical_operator_can_be_attacked() {
        let graph = graph(4);
        let loss = |model: &WhiteBox, at: &Graph| {
            let (targets, clean) = (targets(&graph), model.scores(&graph).unwrap());
            let objective = Objective::new(Loss::Margin, &targets, clean.data(), clean.num_cols());
            objective.standing(model.scores(at).unwrap().data()).loss
        };
        for kind in ClassicalOperator::ALL {
            let model = untrained_with(&graph, Backbone::Gcn, OperatorChoice::Classical(kind));
            let attacked = run(&model, &graph, Kind::PgdStructure, QUICK, 1).unwrap();
            assert!(attacked.change.num_flips() > 0, "{kind}");
            assert!(loss(&model, &attacked.graph) > loss(&model, &graph), "{kind}");
        }
    }

    #[test]
    fn what_has_no_gradient_is_refused_in_one_line_and_what_hears_nobody_is_left_alone() {
        let graph = graph(1);
        for backbone in [Backbone::Gat, Backbone::GatV2, Backbone::H2gcn, Backbone::Pna] {
            let e = run(&untrained(&graph, backbone), &graph, Kind::PgdStructure, QUICK, 1).unwrap_err().to_string();
            assert!(
                e.starts_with(&format!("attack: pgd-structure follows gradients to single edges, which {backbone} ")),
                "{e}"
            );
            assert!(e.contains("--surrogate") && !e.contains('\n'), "{e}");
        }
        let values = OperatorChoice::Classical(ClassicalOperator::NormalisedAdjacency);
        for (backbone, operator) in [
            (Backbone::Gat, values),
            (Backbone::Pna, values),
            (
                Backbone::Gcn,
                OperatorChoice::Cgso(Cgso {
                    centrality: "degree".parse().unwrap(),
                    init: Initialisation::Of(ClassicalOperator::Adjacency),
                }),
            ),
        ] {
            let model = untrained_with(&graph, backbone, operator);
            let e = run(&model, &graph, Kind::PgdStructure, QUICK, 1).unwrap_err().to_string();
            assert!(e.contains("follows gradients to single edges"), "{backbone} {operator}: {e}");
        }
        let closed = FromFn { num_classes: 3, function: |g: &Graph| trained(g, Backbone::Gcn).scores(g) };
        for kind in [Kind::PgdStructure, Kind::PgdFeatures] {
            let e = run(&closed, &graph, kind, Options::default(), 1).unwrap_err().to_string();
            assert!(e.contains("this model has none to give") && e.contains("--surrogate"), "{e}");
        }
        assert!(run(&closed, &graph, Kind::Dice, Options::default(), 1).is_ok());
        let mlp = run(&untrained(&graph, Backbone::Mlp), &graph, Kind::PgdStructure, QUICK, 1).unwrap();
        assert_eq!(mlp.change.num_flips(), 0);
    }

    #[test]
    fn every_option_matters() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::Gcn);
        let of = |options| {
            let change = run(&model, &graph, Kind::PgdStructure, options, 2).unwrap().change;
            (change.added, change.removed)
        };
        let base = of(QUICK);
        assert_eq!(of(QUICK), base);
        for other in [
            Options { steps: Some(3), ..QUICK },
            Options { block: Some(100), ..QUICK },
            Options { loss: Some(Loss::CrossEntropy), ..QUICK },
        ] {
            assert_ne!(of(other), base, "{other:?}");
        }
        let no_block = of(Options { block: Some(0), ..QUICK });
        assert!(no_block.0.is_empty() && !no_block.1.is_empty(), "edges alone");
        for bad in [Options { draws: Some(0), ..QUICK }, Options { block: Some(usize::MAX), ..QUICK }] {
            assert!(Attack::new(Kind::PgdStructure, None, bad).is_err());
        }
    }

    #[test]
    fn projections_are_nearest_points() {
        let of = |mut values: Vec<f32>, budget| {
            project(&mut values, budget);
            values
        };
        assert_eq!(of(vec![0.5, -0.2, 3.0], 2.0), [0.5, 0.0, 1.0]);
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        // Lowered by 0.4: 1, 0.4, 0.1 and nothing.
        assert!(close(&of(vec![1.6, 0.8, 0.5, 0.3], 1.5), &[1.0, 0.4, 0.1, 0.0]));
        assert!(close(&of(vec![1.0, 1.0], 1.0), &[0.5, 0.5]));
        assert!(of(vec![0.7; 9], 0.0).iter().all(|&p| p < 1e-6));
    }
}
