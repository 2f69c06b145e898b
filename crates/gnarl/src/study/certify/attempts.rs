//! Attacks inside certified radii, one after another: a certificate that one of them breaks is
//! wrong.
//!
//! In every other round over the nodes they are as strong as we know: Nettack for flips, ascent
//! along the gradient for features. The others, and all that may only add or only remove edges, are
//! drawn at random on the border of what is allowed, around the node.

use std::collections::{HashMap, HashSet};

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{CsrMatrix, Features, Graph};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::nodes::Subject;
use super::result::{Attempts, CertifiedNode};
use super::settings::Certificate;
use crate::attack::nettack::{Nettack, Parts};
use crate::classifier::{Classifier, WhiteBox, to_matrix};
use crate::error::Result;
use crate::perturb::{Norm, Pair, flipped};
use crate::robustness::certify::{Scope, Threat};
use crate::tensor::{Device, Tensor, Var};
use crate::train::{Watch, argmax};

/// How much of a radius of features is used: at the radius itself nothing is promised.
const INSIDE: f64 = 0.999;
/// Steps of ascent within a radius of features.
const STEPS: usize = 3;

/// Attacks nodes inside their certified radii, `count` times, the nodes in turn. `None` for
/// certificates by samples, which may be wrong now and then.
pub(super) fn attempts(
    subject: &Subject<'_>,
    certificate: &Certificate,
    nodes: &[CertifiedNode],
    count: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Option<Attempts>> {
    let within = |node: &&CertifiedNode| match certificate {
        Certificate::LipschitzFeatures { .. } => node.radius > 0.0 && node.radius.is_finite(),
        _ => node.radius >= 1.0,
    };
    let certified: Vec<&CertifiedNode> = nodes.iter().filter(within).collect();
    if matches!(certificate, Certificate::Smoothing(_)) {
        return Ok(None);
    }
    if certified.is_empty() {
        return Ok(Some(Attempts {
            method: certificate.method(),
            made: 0,
            broken: 0,
        }));
    }
    let attempt = Attempt {
        subject,
        network: subject.network()?,
        certificate,
        seed,
        watch,
    };
    let one = |i: usize| -> Result<Option<bool>> {
        match watch.stopped() {
            true => Ok(None),
            false => attempt.breaks(certified[i % certified.len()], i).map(Some),
        }
    };
    let found = (0..count)
        .into_par_iter()
        .map(one)
        .collect::<Result<Vec<_>>>()?;
    let made = found.iter().flatten().count();
    let broken = found.iter().flatten().filter(|broken| **broken).count();
    Ok(Some(Attempts {
        method: certificate.method(),
        made,
        broken,
    }))
}

struct Attempt<'a> {
    subject: &'a Subject<'a>,
    network: &'a WhiteBox,
    certificate: &'a Certificate,
    seed: u64,
    watch: &'a Watch<'a>,
}

impl Attempt<'_> {
    /// Whether attempt `i` on a node changes its class.
    fn breaks(&self, node: &CertifiedNode, i: usize) -> Result<bool> {
        let rng = &mut stream(self.seed, "attempts", i as u64);
        let (u, strong) = (
            node.node,
            (i / self.subject.items.test.len().max(1)).is_multiple_of(2),
        );
        let flips = node.radius as usize;
        let graph = match self.certificate {
            Certificate::LipschitzFeatures { norm, scope, .. } => {
                return self.moved_features_break(node, *norm, *scope, strong, rng);
            }
            Certificate::LipschitzEdges { .. } if strong => {
                self.nettack(node, flips, Parts::Structure)?
            }
            Certificate::Exact {
                threat: Threat::Both,
                ..
            } if strong => self.nettack(node, flips, Parts::Structure)?,
            Certificate::LipschitzEdges { .. } => self.random_flips(u, flips, rng)?,
            Certificate::Exact { threat, .. } => self.changed_around(u, flips, *threat, rng)?,
            Certificate::LipschitzFlips { .. } | Certificate::Convex { local: None, .. }
                if strong =>
            {
                self.nettack(node, flips, Parts::Features)?
            }
            Certificate::LipschitzFlips { .. } => self.flipped_features(u, flips, flips, rng)?,
            Certificate::Convex { local, .. } => {
                self.flipped_features(u, flips, local.unwrap_or(flips), rng)?
            }
            Certificate::Smoothing(_) => return Ok(false),
        };
        Ok(argmax(self.network.scores(&graph)?.row(u as usize)) != node.class)
    }

    fn nettack(&self, node: &CertifiedNode, budget: usize, parts: Parts) -> Result<Graph> {
        let nettack = Nettack {
            budget,
            parts,
            degree_test: false,
        };
        self.subject
            .nettacked(nettack, (node.node, node.class), self.seed, self.watch)
    }

    /// The node, its neighbours and theirs.
    fn around(&self, u: u32) -> Vec<u32> {
        let graph = &self.subject.scaled;
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

    /// So many flips, each with an end near the node.
    fn random_flips(&self, u: u32, flips: usize, rng: &mut Rng) -> Result<Graph> {
        let (graph, near) = (&self.subject.scaled, self.around(u));
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
        Ok(flipped(graph, &pairs)?)
    }

    /// Every node near this one loses or gains edges, none more than so many.
    fn changed_around(&self, u: u32, each: usize, threat: Threat, rng: &mut Rng) -> Result<Graph> {
        let graph = &self.subject.scaled;
        let nodes = graph.num_nodes() as u32;
        let mut used = HashMap::<u32, usize>::new();
        let mut pairs: HashSet<Pair> = HashSet::new();
        for v in self.around(u) {
            let mut ends: Vec<u32> = Vec::new();
            if threat != Threat::Add {
                ends.extend(graph.neighbours(v).iter().filter(|_| rng.random_bool(0.5)));
            }
            if threat != Threat::Remove {
                let drawn = (0..each).map(|_| rng.random_range(0..nodes));
                ends.extend(drawn.filter(|w| !graph.neighbours(v).contains(w)));
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
        Ok(flipped(graph, &pairs)?)
    }

    /// So many bits of nodes near this one flip, of each no more than so many.
    fn flipped_features(&self, u: u32, flips: usize, local: usize, rng: &mut Rng) -> Result<Graph> {
        let (graph, near) = (&self.subject.scaled, self.around(u));
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
        Ok(graph
            .clone()
            .with_features(Features::Sparse(CsrMatrix::from_dense(&dense)))?)
    }

    /// In the coordinates that the network looks at, where there are fewer of them than features:
    /// distances in L2 are the same there.
    fn moved_features_break(
        &self,
        node: &CertifiedNode,
        norm: Norm,
        scope: Scope,
        strong: bool,
        rng: &mut Rng,
    ) -> Result<bool> {
        let (u, network, graph) = (node.node as usize, self.network, &self.subject.scaled);
        let propagation = network.propagation(graph)?;
        let input = network.input(graph)?;
        let reduced = network.reduced()?.filter(|_| norm == Norm::L2);
        let base = match reduced {
            Some(reduced) => reduced.coordinates(&input)?.detach(),
            None => input.to_dense()?.detach(),
        };
        let forward = |input: &Tensor| match reduced {
            Some(reduced) => network.forward_reduced(reduced, &propagation, input),
            None => network.forward(&propagation, &crate::nn::Input::Dense(input.clone())),
        };
        let (rows, width) = base.dims2()?;
        let radius = INSIDE * node.radius;
        let mut delta = vec![0f32; rows * width];
        for _ in 0..STEPS {
            let direction: Vec<f32> = if strong {
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

/// A direction as long as a radius allows: of one row the one it says most about, of every row
/// each, of all together the whole.
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
    use crate::nn::Backbone;
    use crate::robustness::certify::SampleWatch;
    use gnarl_graph::Content;

    /// Sound certificates stand; radii that are made larger by hand do not, so that an attempt can
    /// break what is wrong.
    #[test]
    fn what_is_certified_stands_and_what_is_not_falls() {
        let graph = gnarl_graph::generate::csbm(&Default::default(), 0).unwrap();
        let split = graph.splits()[0].clone();
        let content = Content::Graph(graph.clone());
        let certificates = [
            (
                Backbone::Gcn,
                Certificate::LipschitzFeatures {
                    norm: Norm::L2,
                    scope: Scope::One,
                    radii: vec![0.1],
                },
            ),
            (
                Backbone::Gcn,
                Certificate::LipschitzFeatures {
                    norm: Norm::L2,
                    scope: Scope::Every,
                    radii: vec![0.1],
                },
            ),
            (
                Backbone::Gcn,
                Certificate::LipschitzFeatures {
                    norm: Norm::L1,
                    scope: Scope::Total,
                    radii: vec![0.1],
                },
            ),
            (
                Backbone::Appnp,
                Certificate::Exact {
                    threat: Threat::Remove,
                    most: 3,
                },
            ),
            (
                Backbone::Appnp,
                Certificate::Exact {
                    threat: Threat::Add,
                    most: 3,
                },
            ),
        ];
        let mut stood = 0;
        for (backbone, certificate) in certificates {
            let ready = Model::new(backbone)
                .epochs(60)
                .ready("csbm", &content, FitOptions::default())
                .unwrap();
            let fitted = ready.fit(&split, 0, &Watch::quiet()).unwrap();
            let subject = Subject::new(&fitted, &graph, split.test().to_vec()).unwrap();
            let never = std::sync::atomic::AtomicBool::new(false);
            let watch = SampleWatch {
                on_samples: &|_| {},
                stop: &never,
            };
            let nodes = subject
                .certify(&certificate, 1.0, watch)
                .unwrap()
                .unwrap()
                .nodes;
            let tried = attempts(&subject, &certificate, &nodes, 120, 1, &Watch::quiet())
                .unwrap()
                .unwrap();
            assert!(
                tried.broken == 0 && (tried.made == 120 || tried.made == 0),
                "{certificate:?}: {tried:?}"
            );
            stood += usize::from(tried.made > 0);
            let stretched: Vec<CertifiedNode> = nodes
                .iter()
                .map(|node| CertifiedNode {
                    radius: 40.0 * (node.radius + 1.0),
                    ..*node
                })
                .collect();
            let tried = attempts(&subject, &certificate, &stretched, 120, 1, &Watch::quiet())
                .unwrap()
                .unwrap();
            assert!(tried.broken > 0, "{certificate:?}: {tried:?}");
        }
        assert!(stood >= 4, "too little was certified to be tried");
    }
}
