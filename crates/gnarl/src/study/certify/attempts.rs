//! Soundness tests: attacks inside certified radii, one after another. A certificate that one of
//! them breaks is wrong.
//!
//! In every second pass over the nodes, attacks are as strong as possible: Nettack ([Zügner et al.
//! 2018](https://arxiv.org/abs/1805.07984)) for flips, gradient ascent for features. Other attacks,
//! and all that may only add or only remove edges, are sampled at random around the node, on the
//! border of the allowed region.

use std::collections::{HashMap, HashSet};

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{CsrMatrix, Features, Graph};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::Certificate;
use super::nodes::Nodes;
use super::result::{Attempts, CertifiedNode};
use super::threat::{Rows, ThreatModel};
use gnarl_graph::Result;
use gnarl_nn::train::{Callbacks, argmax};
use gnarl_robust::attack::nettack::{Nettack, Parts};
use gnarl_robust::classifier::{Classifier, WhiteBox, to_matrix};
use gnarl_robust::perturb::{Norm, Pair, flipped};
use gnarl_robust::robustness::certify::{Scope, Threat};
use gnarl_tensor::{Device, Tensor, Var};

/// Share of a radius of features that is used: nothing is certified at the radius itself.
const INSIDE: f64 = 0.999;
/// Number of gradient-ascent steps within a radius of features.
const STEPS: usize = 3;

/// Attacks within certified radii: their number and the seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub threat: ThreatModel,
    pub count: usize,
    pub seed: u64,
}

/// Attacks nodes inside their certified radii, the nodes in turn. `None` for certificates by
/// samples, which may be wrong with a small probability.
pub(super) fn attempts(
    nodes: &Nodes<'_>,
    certificate: &Certificate,
    known: &[CertifiedNode],
    trial: Trial,
    watch: &Callbacks<'_>,
) -> Result<Option<Attempts>> {
    let rows = certificate.method().rows(trial.threat);
    let within = |node: &&CertifiedNode| match rows {
        Rows::Distances => node.radius > 0.0 && node.radius.is_finite(),
        Rows::Flips(_) | Rows::Samples => node.radius >= 1.0,
    };
    let certified: Vec<&CertifiedNode> = known.iter().filter(within).collect();
    if rows == Rows::Samples {
        return Ok(None);
    }
    let method = certificate.name();
    if certified.is_empty() {
        return Ok(Some(Attempts {
            method,
            attacks: 0,
            violations: 0,
        }));
    }
    let network = nodes.network()?;
    let one = |i: usize| -> Result<Option<bool>> {
        if watch.stopped() {
            return Ok(None);
        }
        let attempt = Attempt {
            nodes,
            network,
            threat: trial.threat,
            is_strong: (i / nodes.items.test.len().max(1)).is_multiple_of(2),
            seed: trial.seed,
            watch,
        };
        let rng = &mut stream(trial.seed, "attempts", i as u64);
        let node = certified[i % certified.len()];
        certificate.method().breaks(&attempt, node, rng).map(Some)
    };
    let found = (0..trial.count)
        .into_par_iter()
        .map(one)
        .collect::<Result<Vec<_>>>()?;
    let attacks = found.iter().flatten().count();
    let violations = found.iter().flatten().filter(|broke| **broke).count();
    Ok(Some(Attempts {
        method,
        attacks,
        violations,
    }))
}

/// One attack within the certified radius of a node.
pub struct Attempt<'a> {
    nodes: &'a Nodes<'a>,
    network: &'a WhiteBox,
    pub(super) threat: ThreatModel,
    /// True for an attack as strong as possible, false for a random one.
    pub(super) is_strong: bool,
    seed: u64,
    watch: &'a Callbacks<'a>,
}

impl Attempt<'_> {
    /// Returns true if the class of a node differs on a changed graph.
    pub(super) fn changes_class(&self, node: &CertifiedNode, graph: &Graph) -> Result<bool> {
        let scores = self.network.scores(graph)?;
        Ok(argmax(scores.row(node.node as usize)) != node.class)
    }

    /// The graph after Nettack on a node.
    pub(super) fn nettack(
        &self,
        node: &CertifiedNode,
        budget: usize,
        parts: Parts,
    ) -> Result<Graph> {
        let nettack = Nettack {
            budget,
            perturb: parts,
            degree_test: false,
        };
        let node = (node.node, node.class);
        self.nodes.nettacked(nettack, node, self.seed, self.watch)
    }

    /// The node, its neighbours and their neighbours.
    fn within_two_hops(&self, u: u32) -> Vec<u32> {
        let graph = &self.nodes.scaled;
        let mut near = vec![u];
        for _ in 0..2 {
            near = near
                .iter()
                .flat_map(|&v| std::iter::once(v).chain(graph.neighbours(v).iter().copied()))
                .collect();
            near.sort_unstable();
            near.dedup();
        }
        near
    }

    /// Flips so many random pairs, each with an end near the node.
    pub(super) fn random_flips(&self, u: u32, flips: usize, rng: &mut Rng) -> Result<Graph> {
        let (graph, near) = (&self.nodes.scaled, self.within_two_hops(u));
        let nodes = graph.num_nodes() as u32;
        let mut pairs: Vec<Pair> = Vec::new();
        for _ in 0..flips {
            let Some(&v) = near.choose(rng) else { break };
            let w = match graph.neighbours(v).choose(rng) {
                Some(&w) if rng.random_bool(0.5) => w,
                _ => rng.random_range(0..nodes),
            };
            let pair = (v.min(w), v.max(w));
            if v != w && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        flipped(graph, &pairs)
    }

    /// Adds or removes edges of every node near this one, at most so many for each.
    pub(super) fn changed_near(
        &self,
        u: u32,
        each: usize,
        threat: Threat,
        rng: &mut Rng,
    ) -> Result<Graph> {
        let graph = &self.nodes.scaled;
        let nodes = graph.num_nodes() as u32;
        let mut used = HashMap::<u32, usize>::new();
        let mut pairs: HashSet<Pair> = HashSet::new();
        for v in self.within_two_hops(u) {
            let mut ends: Vec<u32> = Vec::new();
            if threat != Threat::Add {
                ends.extend(graph.neighbours(v).iter().filter(|_| rng.random_bool(0.5)));
            }
            if threat != Threat::Remove {
                let sampled = (0..each).map(|_| rng.random_range(0..nodes));
                ends.extend(sampled.filter(|w| !graph.neighbours(v).contains(w)));
            }
            for w in ends {
                let left = |node: &u32| used.get(node).copied().unwrap_or(0) < each;
                if v != w && left(&v) && left(&w) && pairs.insert((v.min(w), v.max(w))) {
                    *used.entry(v).or_default() += 1;
                    *used.entry(w).or_default() += 1;
                }
            }
        }
        let mut pairs: Vec<Pair> = pairs.into_iter().collect();
        pairs.sort_unstable();
        flipped(graph, &pairs)
    }

    /// Flips so many bits of nodes near this one, at most so many for each node.
    pub(super) fn flipped_features(
        &self,
        u: u32,
        flips: usize,
        local: usize,
        rng: &mut Rng,
    ) -> Result<Graph> {
        let (graph, near) = (&self.nodes.scaled, self.within_two_hops(u));
        let Some(features) = graph.features() else {
            return Ok(graph.clone());
        };
        let mut bits: Vec<(u32, u32)> = Vec::new();
        for _ in 0..flips {
            let Some(&v) = near.choose(rng) else { break };
            let bit = (v, rng.random_range(0..features.num_cols() as u32));
            if bits.iter().filter(|b| b.0 == v).count() < local && !bits.contains(&bit) {
                bits.push(bit);
            }
        }
        let dense = features.to_dense();
        let mut data = dense.data().to_vec();
        for (v, c) in bits {
            let at = v as usize * dense.num_cols() + c as usize;
            data[at] = 1.0 - data[at];
        }
        let dense = gnarl_graph::DenseMatrix::new(dense.num_rows(), dense.num_cols(), data)?;
        graph
            .clone()
            .with_features(Features::Sparse(CsrMatrix::from_dense(&dense)))
    }

    /// Moves features within the radius and returns true if the class changes. Works in the
    /// coordinates that the network uses, if these are fewer than the features: L2 distances are
    /// equal there.
    pub(super) fn moved_features_break(
        &self,
        node: &CertifiedNode,
        norm: Norm,
        scope: Scope,
        rng: &mut Rng,
    ) -> Result<bool> {
        let (u, network, graph) = (node.node as usize, self.network, &self.nodes.scaled);
        let propagation = network.propagation(graph)?;
        let input = network.input(graph)?;
        let reduced = network.reduced()?.filter(|_| norm == Norm::L2);
        let base = match reduced {
            Some(reduced) => reduced.coordinates(&input)?.detach(),
            None => input.to_dense()?.detach(),
        };
        let forward = |input: &Tensor| match reduced {
            Some(reduced) => network.forward_reduced(reduced, &propagation, input),
            None => network.forward(
                &propagation,
                &gnarl_nn::networks::Input::Dense(input.clone()),
            ),
        };
        let (rows, width) = base.dims2()?;
        let radius = INSIDE * node.radius;
        let mut delta = vec![0f32; rows * width];
        for _ in 0..STEPS {
            let direction: Vec<f32> = if self.is_strong {
                let input = Var::from_tensor(
                    &(&base + Tensor::from_slice(&delta, (rows, width), &Device::Cpu)?)?,
                )?;
                let scores = forward(input.as_tensor())?;
                let row = to_matrix(&scores)?;
                let row = row.row(u);
                let others = (0..row.len()).filter(|c| *c != node.class);
                let Some(other) = others.max_by(|&a, &b| row[a].total_cmp(&row[b])) else {
                    return Ok(false);
                };
                let mut slope = vec![0f32; rows * row.len()];
                slope[u * row.len() + other] = 1.0;
                slope[u * row.len() + node.class] = -1.0;
                let slope = Tensor::from_vec(slope, scores.shape(), &Device::Cpu)?;
                let grads = (scores * slope)?.sum_all()?.backward()?;
                match grads.get(&input) {
                    Some(gradient) => gradient.flatten_all()?.to_vec1::<f32>()?,
                    None => return Ok(false),
                }
            } else {
                (0..rows * width)
                    .map(|_| rng.sample::<f64, _>(StandardNormal) as f32)
                    .collect()
            };
            delta = on_the_border(&direction, width, norm, scope, radius);
            let moved = (&base + Tensor::from_slice(&delta, (rows, width), &Device::Cpu)?)?;
            if argmax(to_matrix(&forward(&moved)?)?.row(u)) != node.class {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Scales a direction to the radius. Scope one keeps the row with the largest norm, scope every
/// scales each row, scope total scales the whole matrix.
fn on_the_border(
    direction: &[f32],
    width: usize,
    norm: Norm,
    scope: Scope,
    radius: f64,
) -> Vec<f32> {
    let length = |values: &[f32]| norm.of(values.iter().map(|&v| f64::from(v)));
    let stretched = |values: &[f32]| -> Vec<f32> {
        let by = match length(values) {
            0.0 => 0.0,
            length => radius / length,
        };
        values.iter().map(|&v| (f64::from(v) * by) as f32).collect()
    };
    match scope {
        Scope::Total => stretched(direction),
        Scope::Every => direction.chunks(width).flat_map(stretched).collect(),
        Scope::One => {
            let longest = direction
                .chunks(width)
                .map(length)
                .enumerate()
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let kept = longest.map_or(0, |(row, _)| row);
            let mut delta = vec![0f32; direction.len()];
            let range = kept * width..(kept + 1) * width;
            delta[range.clone()].copy_from_slice(&stretched(&direction[range]));
            delta
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::fit::FitOptions;
    use crate::study::certify::method::CertifyInput;
    use crate::study::certify::threat::Target;
    use crate::study::certify::{Exact, Lipschitz};
    use gnarl_data::Content;
    use gnarl_data::Task;
    use gnarl_nn::networks::Backbone;
    use gnarl_robust::robustness::certify::SampleCallbacks;

    fn moved(norm: Norm, scope: Scope) -> (Backbone, Target, Certificate) {
        let lipschitz = Lipschitz {
            norm,
            scope,
            ..Lipschitz::default()
        };
        (Backbone::GCN, Target::Features, lipschitz.into())
    }

    fn exact(threat: Threat) -> (Backbone, Target, Certificate) {
        let exact = Exact {
            threat: Some(threat),
            max_radius: 3,
        };
        (Backbone::APPNP, Target::Edges, exact.into())
    }

    /// Sound certificates pass; radii that are enlarged by hand fail, so the attacks can break a
    /// wrong certificate.
    #[test]
    fn sound_certificates_pass_and_enlarged_radii_fail() {
        let graph = gnarl_graph::generate::csbm(&Default::default(), 0).unwrap();
        let split = graph.splits()[0].clone();
        let content = Content::Graph(graph.clone());
        let certificates = [
            moved(Norm::L2, Scope::One),
            moved(Norm::L2, Scope::Every),
            moved(Norm::L1, Scope::Total),
            exact(Threat::Remove),
            exact(Threat::Add),
        ];
        let mut stood = 0;
        for (backbone, target, certificate) in certificates {
            let ready = Model::new(backbone)
                .epochs(60)
                .ready("csbm", &content, FitOptions::default())
                .unwrap();
            let fitted = ready.fit(&split, 0, &Callbacks::quiet()).unwrap();
            let nodes = Nodes::new(&fitted, &graph, split.test().to_vec()).unwrap();
            let threat = ThreatModel {
                target,
                task: Task::Node,
            };
            let input = CertifyInput {
                threat,
                median_norm: 1.0,
                watch: SampleCallbacks::quiet(),
            };
            let series = certificate.method().on_nodes(&nodes, &input);
            let known = series.unwrap().unwrap().nodes;
            let trial = Trial {
                threat,
                count: 120,
                seed: 1,
            };
            let try_all = |known: &[CertifiedNode]| {
                attempts(&nodes, &certificate, known, trial, &Callbacks::quiet())
                    .unwrap()
                    .unwrap()
            };
            let tried = try_all(&known);
            assert!(
                tried.violations == 0 && (tried.attacks == 120 || tried.attacks == 0),
                "{certificate:?}: {tried:?}"
            );
            stood += usize::from(tried.attacks > 0);
            let stretched: Vec<CertifiedNode> = known
                .iter()
                .map(|node| CertifiedNode {
                    radius: 40.0 * (node.radius + 1.0),
                    ..*node
                })
                .collect();
            let tried = try_all(&stretched);
            assert!(tried.violations > 0, "{certificate:?}: {tried:?}");
        }
        assert!(stood >= 4, "too little was certified to be tried");
    }
}
