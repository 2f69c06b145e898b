//! Projected gradient ascent on edges: the relaxation of Xu et al. (2019), on random blocks of pairs as in PRBCD (Geisler et al. 2021).
//!
//! Every edge and a block of pairs without an edge have a flip variable in 0 to 1 ([`Relaxed`]). A step goes along the gradient of the
//! loss and back to variables that sum to at most the budget. In the first part of the search pairs that were left at zero make room for
//! new ones, so that many more are seen than are held. In the end the variables are rounded: whole flips are drawn with
//! them as probabilities, the largest ones are tried besides, and the best rounding is kept. Memory grows with edges plus block, never with nodes squared.
//!
//! Of a graph of a set whose degrees stand for features, the ascent takes these as they are; roundings are judged by the
//! flipped graph's own, and as many draws of any pairs besides.

use std::collections::HashSet;

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{Error as GraphError, Graph};
use rand::RngExt;
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

use super::loss::{Loss, Objective};
use super::method::{Method, OF_EDGES, Scene, TENTH, edges, refused, without_gradients};
use super::pgd_features::{LOSS, STEPS};
use super::relaxed::Relaxed;
use crate::classifier::{Classifier, WhiteBox};
use crate::error::Result;
use crate::nn::{Input, Propagation, UsualOperator};
use crate::operator::OperatorChoice;
use crate::perturb::{Budget, EdgeShare, Pair, draw_pairs, flipped};
use crate::tensor::{Device, Tensor, Var};

/// How flips are sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PgdStructure {
    /// Share of the edges.
    pub budget: f64,
    /// What is climbed.
    pub loss: Loss,
    /// Steps of ascent.
    pub steps: usize,
    /// Pairs without an edge that have a variable at a time.
    pub block: usize,
    /// Roundings of the variables to whole flips, of which the best is kept.
    pub roundings: usize,
}

impl PgdStructure {
    /// With this share of the edges and the usual search; 20 roundings are Xu et al.'s.
    pub const fn budget(budget: f64) -> Self {
        Self { budget, loss: Loss::Margin, steps: 100, block: 50_000, roundings: 20 }
    }
}

impl Default for PgdStructure {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for PgdStructure {
    const NAME: &'static str = "pgd-structure";
    const ABOUT: &'static str = "gradient ascent on edges";
    const SETTINGS: &'static [Setting] = &[
        OF_EDGES,
        LOSS,
        STEPS,
        Setting::new("block", "PAIRS", "pairs without an edge that are looked at together [default: 50000]"),
        Setting::new("roundings", "N", "roundings to whole flips, of which the best is kept [default: 20]"),
    ];

    /// Refuses a search of nothing and a block that no machine holds.
    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget)?;
        for (name, count) in [("steps", self.steps), ("roundings", self.roundings)] {
            if count == 0 {
                return Err(GraphError::setting(name, "must be at least 1"));
            }
        }
        if self.block > MAX_BLOCK {
            let what = format!("{} pairs: at most {MAX_BLOCK} can be held", self.block);
            return Err(GraphError::setting("block", what));
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

impl Method for PgdStructure {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        let model = scene.white_box::<Self>()?;
        let targets = scene.some_targets::<Self>()?;
        let flips = EdgeShare::new(self.budget)?.flips(scene.graph);
        if flips == 0 {
            return Ok(scene.graph.clone());
        }
        let clean = model.scores(scene.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        let rng = &mut stream(seed, "pgd structure", 0);
        let mut search = Search::new(model, scene.graph, self.block, rng)?;
        search.check_relaxation(clean.data())?;

        let exploring = (EXPLORING * self.steps as f64) as usize;
        for step in 0..self.steps {
            if step > 0 && step < exploring && step % EXCHANGE_EVERY == 0 {
                search.exchange(rng)?;
            }
            let slope = search.gradient(&objective)?;
            // A long first part to explore, then steps that shrink so that the variables settle.
            let late = step.saturating_sub(exploring) as f64;
            ascend(&mut search.flips, &slope, flips, FIRST_STEP / (1.0 + late).sqrt());
        }
        Ok(flipped(scene.graph, &search.round(&objective, flips, self.roundings, rng)?)?)
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn needs_gradients(&self) -> bool {
        true
    }
}

/// The state of a search.
struct Search<'a> {
    model: &'a WhiteBox,
    graph: &'a Graph,
    input: Input,
    kind: ClassicalOperator,
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
    /// Then pairs that are not joined would count all the same, and nothing found by the relaxation would hold.
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
        // A network without message passing has none.
        grads.get(&flips).map_or_else(|| Ok(vec![0.0; count]), |g| Ok(g.to_vec1::<f32>()?))
    }

    /// The scores of the graph with these flips. Where features are read off the edges, the relaxation had them stay.
    fn scores_of(&self, chosen: &[usize]) -> Result<Vec<f32>> {
        if self.model.reads_degrees() {
            let pairs: Vec<Pair> = chosen.iter().map(|&i| self.relaxed.pairs()[i]).collect();
            return Ok(self.model.scores(&flipped(self.graph, &pairs)?)?.data().to_vec());
        }
        let mut whole = vec![0.0; self.flips.len()];
        chosen.iter().for_each(|&i| whole[i] = 1.0);
        self.scores(whole)
    }

    /// The best of the largest variables and `roundings` draws with the variables as probabilities, each within the budget.
    fn round(&self, objective: &Objective<'_>, budget: usize, roundings: usize, rng: &mut Rng) -> Result<Vec<Pair>> {
        let mut order: Vec<usize> = (0..self.flips.len()).filter(|&i| self.flips[i] > UNUSED).collect();
        // Of equals the first pair: the order does not depend on how it was found.
        order.sort_by(|&a, &b| self.flips[b].total_cmp(&self.flips[a]).then(a.cmp(&b)));
        let mut best = (objective.standing(&self.scores_of(&[])?), Vec::new());
        // Where features follow the edges, the slope has not seen half of what a flip does: any pairs are tried beside.
        let blind = if self.model.reads_degrees() { roundings } else { 0 };
        for rounding in 0..=roundings + blind {
            let mut chosen: Vec<usize> = match rounding {
                0 => order.clone(),
                _ if rounding > roundings => sample(rng, self.flips.len(), budget.min(self.flips.len())).into_vec(),
                _ => order.iter().copied().filter(|&i| rng.random::<f32>() < self.flips[i]).collect(),
            };
            chosen.truncate(budget);
            let standing = objective.standing(&self.scores_of(&chosen)?);
            if standing.beats(&best.0) {
                best = (standing, chosen);
            }
        }
        Ok(best.1.into_iter().map(|i| self.relaxed.pairs()[i]).collect())
    }
}

fn not_relaxable(model: &WhiteBox) -> crate::Error {
    let (backbone, operator) = (model.network().config().backbone, model.operator());
    let what = format!("follows gradients to single edges, which {backbone} with operator {operator} does not have");
    refused(format!("{} {what}; {}", PgdStructure::NAME, without_gradients()))
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
    use crate::attack::dice::Dice;
    use crate::attack::pgd_features::PgdFeatures;
    use crate::attack::random_flips::RandomFlips;
    use crate::attack::random_remove::RandomRemove;
    use crate::attack::testing::{accuracy, graph, targets, trained, untrained, untrained_with};
    use crate::attack::{Attack, Attacked};
    use crate::classifier::FromFn;
    use crate::nn::Backbone;
    use crate::operator::{Cgso, Initialisation};

    fn run(model: &dyn Classifier, graph: &Graph, attack: impl Into<Attack>, seed: u64) -> Result<Attacked> {
        let targets = targets(graph);
        let scene = Scene { graph, model: Some(model), targets: &targets, labels: graph.labels() };
        attack.into().run(&scene, seed)
    }

    const QUICK: PgdStructure = PgdStructure { steps: 30, block: 3000, ..PgdStructure::budget(0.1) };

    #[test]
    fn it_beats_dice_and_chance() {
        let graph = graph(1);
        let flips = graph.num_edges() / 10;
        for backbone in [Backbone::Gcn, Backbone::Sage] {
            let model = trained(&graph, backbone);
            let of = |attack: Attack| run(&model, &graph, attack, 2).unwrap();
            let attacked = of(QUICK.into());
            assert!(attacked.change.num_flips() <= flips && attacked.change.num_flips() > flips / 2);
            let by_pgd = accuracy(&model, &graph, &attacked.graph);
            for other in [Dice::default().into(), RandomFlips::default().into(), Attack::from(RandomRemove::default())]
            {
                let by_other = accuracy(&model, &graph, &of(other).graph);
                assert!(by_pgd < by_other - 5.0, "{backbone}: {by_pgd} against {by_other} by {other}");
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
            let attacked = run(&model, &graph, QUICK, 1).unwrap();
            assert!(attacked.change.num_flips() > 0, "{kind}");
            assert!(loss(&model, &attacked.graph) > loss(&model, &graph), "{kind}");
        }
    }

    #[test]
    fn what_has_no_gradient_is_refused_in_one_line_and_what_passes_no_messages_is_left_alone() {
        let graph = graph(1);
        for backbone in [Backbone::Gat, Backbone::GatV2, Backbone::H2gcn, Backbone::Pna] {
            let e = run(&untrained(&graph, backbone), &graph, QUICK, 1).unwrap_err().to_string();
            assert!(
                e.starts_with(&format!("attack: pgd-structure follows gradients to single edges, which {backbone} ")),
                "{e}"
            );
            assert!(e.contains("through a surrogate") && e.contains("dice, random-flips") && !e.contains('\n'), "{e}");
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
            let e = run(&model, &graph, QUICK, 1).unwrap_err().to_string();
            assert!(e.contains("follows gradients to single edges"), "{backbone} {operator}: {e}");
        }
        let closed = FromFn { num_classes: 3, function: |g: &Graph| trained(g, Backbone::Gcn).scores(g) };
        for attack in [QUICK.into(), Attack::from(PgdFeatures::default())] {
            let e = run(&closed, &graph, attack, 1).unwrap_err().to_string();
            assert!(e.contains("this model has none to give") && e.contains("through a surrogate"), "{e}");
        }
        assert!(run(&closed, &graph, Dice::default(), 1).is_ok());
        let mlp = run(&untrained(&graph, Backbone::Mlp), &graph, QUICK, 1).unwrap();
        assert_eq!(mlp.change.num_flips(), 0);
    }

    #[test]
    fn every_setting_matters() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::Gcn);
        let of = |pgd: PgdStructure| {
            let change = run(&model, &graph, pgd, 2).unwrap().change;
            (change.added, change.removed)
        };
        let base = of(QUICK);
        assert_eq!(of(QUICK), base);
        for other in [
            PgdStructure { steps: 3, ..QUICK },
            PgdStructure { block: 100, ..QUICK },
            PgdStructure { loss: Loss::CrossEntropy, ..QUICK },
            PgdStructure { budget: 0.05, ..QUICK },
        ] {
            assert_ne!(of(other), base, "{other:?}");
        }
        let no_block = of(PgdStructure { block: 0, ..QUICK });
        assert!(no_block.0.is_empty() && !no_block.1.is_empty(), "edges alone");
        let refusal = |pgd: PgdStructure| pgd.check().unwrap_err().to_string();
        assert_eq!(refusal(PgdStructure { roundings: 0, ..QUICK }), "roundings: must be at least 1");
        assert_eq!(refusal(PgdStructure { steps: 0, ..QUICK }), "steps: must be at least 1");
        let e = refusal(PgdStructure { block: 1 << 40, ..QUICK });
        assert_eq!(e, "block: 1099511627776 pairs: at most 536870912 can be held");
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
