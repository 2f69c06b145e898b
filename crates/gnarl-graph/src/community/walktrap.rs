//! Walktrap ([Pons and Latapy 2005](https://arxiv.org/abs/physics/0512106)): communities merged as
//! in Ward's method, by a distance between the end distributions of short random walks.
//!
//! The details follow igraph's `community_walktrap`, which follows the authors' program: every node
//! has a loop of its mean edge weight. The distance to a neighbour of only one of two merged
//! communities is estimated until it matters.

use rayon::prelude::*;

use super::agglomerate::Agglomeration;
use super::dendrogram::Dendrogram;
use super::refuse_negative_weights;
use crate::centrality::degrees;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::limits::Demand;

const OP: &str = "walktrap";

/// Largest memory of the distributions of all walks: beyond it, merging them takes hours.
const MOST_BYTES: u64 = 4 << 30;

/// Number of steps of the walks in the published studies.
pub const WALKTRAP_STEPS: usize = 4;

/// Runs Walktrap with walks of this many steps (4 by default) until one community per component is
/// left; [`Dendrogram::best`] is its partition.
///
/// In case of equal distances the communities with the smallest node ids are merged. On a graph
/// without edges every node is a community. Each community stores the distribution of the ends of
/// its walks: at most n numbers for each of n communities, and far fewer if four steps reach a
/// small part of the graph. Fails for negative weights and zero steps. It also fails if the
/// distributions would take more than 4 GiB or the free memory, as estimated from the first of
/// them.
pub fn walktrap(graph: &Graph, steps: usize) -> Result<Dendrogram> {
    refuse_negative_weights(OP, graph)?;
    if steps == 0 {
        return Err(Error::argument(OP, "0 steps, at least one is needed"));
    }
    let n = graph.num_nodes();
    let mut degree = degrees(graph);
    let total: f64 = degree.iter().sum();
    if total == 0.0 {
        return Ok(Dendrogram::new(n, Vec::new(), vec![0.0]));
    }
    let mut ends = distributions(graph, &degree, steps)?;
    let mut size = vec![1.0f64; n];
    // Closest first: the gain is minus the growth of the summed squared distances to the
    // communities' centres.
    let mut state = Agglomeration::new(graph, |u, v, _| {
        -0.5 * ends[u as usize].squared_distance(&ends[v as usize])
    });
    let mut modularity = vec![-degree.iter().map(|d| (d / total).powi(2)).sum::<f64>()];
    let mut merges = Vec::new();
    while let Some((keep, link)) = state.best() {
        let (a, b) = (keep as usize, link.to as usize);
        let both = size[a] + size[b];
        if !link.exact {
            state.set_gain(
                keep,
                link.to,
                -size[a] * size[b] / both * ends[a].squared_distance(&ends[b]),
            );
            continue;
        }
        merges.push((keep, link.to));
        let gain = 2.0 * (link.weight - degree[a] * degree[b] / total) / total;
        modularity.push(modularity[modularity.len() - 1] + gain);
        // Ward's update if both distances are known (Lance and Williams 1967); an unknown distance
        // counts as the distance between the two merged communities.
        state.merge(keep, link.to, |k, _, of_a, of_b| {
            let k = size[k as usize];
            let known = |link: Option<super::agglomerate::Link>| link.map(|l| (l.gain, l.exact));
            let (sum, exact) = match (known(of_a), known(of_b)) {
                (Some((x, of_x)), Some((y, of_y))) => (
                    (size[a] + k) * x + (size[b] + k) * y - k * link.gain,
                    of_x && of_y,
                ),
                (Some((x, _)), None) => ((size[a] + k) * x + size[b] * link.gain, false),
                (None, Some((y, _))) => (size[a] * link.gain + (size[b] + k) * y, false),
                (None, None) => unreachable!("a neighbour of the union is one of a part"),
            };
            (sum / (both + k), exact)
        });
        let gone = std::mem::take(&mut ends[b]);
        ends[a] = std::mem::take(&mut ends[a]).average(gone, size[a] / both, size[b] / both, n);
        size[a] = both;
        degree[a] += degree[b];
    }
    Ok(Dendrogram::new(n, merges, modularity))
}

/// End distribution of walks from a community, each probability divided by the root of the node's
/// weight.
enum Ends {
    /// Nodes, ascending, and their values: two arrays, since pairs would take a third more memory.
    RareClass(Vec<u32>, Vec<f64>),
    /// A value for every node.
    Many(Vec<f64>),
}

impl Default for Ends {
    fn default() -> Self {
        Ends::RareClass(Vec::new(), Vec::new())
    }
}

impl Ends {
    /// Keeps the shorter of the two forms.
    fn from_sparse(nodes: Vec<u32>, values: Vec<f64>, n: usize) -> Self {
        if nodes.len() <= n / 2 {
            return Ends::RareClass(nodes, values);
        }
        let mut all = vec![0.0; n];
        nodes
            .into_iter()
            .zip(values)
            .for_each(|(u, x)| all[u as usize] = x);
        Ends::Many(all)
    }

    fn bytes(&self) -> usize {
        match self {
            Ends::RareClass(nodes, values) => 4 * nodes.len() + 8 * values.len(),
            Ends::Many(all) => 8 * all.len(),
        }
    }

    fn squared_distance(&self, other: &Self) -> f64 {
        match (self, other) {
            (Ends::Many(x), Ends::Many(y)) => dense_squared_distance(x, y),
            (Ends::RareClass(x_nodes, x), Ends::RareClass(y_nodes, y)) => {
                let mut sum = 0.0;
                union((x_nodes, x), (y_nodes, y), |_, x, y| {
                    sum += (x - y) * (x - y)
                });
                sum
            }
            (Ends::RareClass(nodes, few), Ends::Many(many))
            | (Ends::Many(many), Ends::RareClass(nodes, few)) => {
                let (mut sum, mut next) = (0.0, 0);
                for (&u, &x) in nodes.iter().zip(few) {
                    sum += many[next..u as usize].iter().map(|y| y * y).sum::<f64>();
                    sum += (x - many[u as usize]).powi(2);
                    next = u as usize + 1;
                }
                sum + many[next..].iter().map(|y| y * y).sum::<f64>()
            }
        }
    }

    fn average(self, other: Self, share: f64, other_share: f64, n: usize) -> Self {
        match (self, other) {
            (Ends::RareClass(x_nodes, x), Ends::RareClass(y_nodes, y)) => {
                let (mut nodes, mut values) = (Vec::new(), Vec::new());
                nodes.reserve_exact(x.len() + y.len());
                values.reserve_exact(x.len() + y.len());
                union((&x_nodes, &x), (&y_nodes, &y), |u, x, y| {
                    nodes.push(u);
                    values.push(share * x + other_share * y);
                });
                nodes.shrink_to_fit();
                values.shrink_to_fit();
                Self::from_sparse(nodes, values, n)
            }
            (Ends::Many(mut x), Ends::Many(y)) => {
                x.iter_mut()
                    .zip(y)
                    .for_each(|(x, y)| *x = share * *x + other_share * y);
                Ends::Many(x)
            }
            (Ends::Many(mut x), Ends::RareClass(nodes, y)) => {
                x.iter_mut().for_each(|x| *x *= share);
                nodes
                    .into_iter()
                    .zip(y)
                    .for_each(|(u, y)| x[u as usize] += other_share * y);
                Ends::Many(x)
            }
            (few, many) => many.average(few, other_share, share, n),
        }
    }
}

/// Computes a squared distance in eight running sums that the compiler can keep in vector
/// registers.
fn dense_squared_distance(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let tail: f64 = xs
        .remainder()
        .iter()
        .zip(ys.remainder())
        .map(|(a, b)| (a - b) * (a - b))
        .sum();
    for (a, b) in xs.zip(ys) {
        for i in 0..8 {
            sums[i] += (a[i] - b[i]) * (a[i] - b[i]);
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// Merges the nodes of two sorted lists.
fn union(x: (&[u32], &[f64]), y: (&[u32], &[f64]), mut visit: impl FnMut(u32, f64, f64)) {
    let (mut i, mut j) = (0, 0);
    let node = |nodes: &[u32], at: usize| nodes.get(at).copied().unwrap_or(u32::MAX);
    while i < x.0.len() || j < y.0.len() {
        let u = node(x.0, i).min(node(y.0, j));
        let take = |(nodes, values): (&[u32], &[f64]), at: &mut usize| {
            if node(nodes, *at) != u {
                return 0.0;
            }
            *at += 1;
            values[*at - 1]
        };
        let (of_x, of_y) = (take(x, &mut i), take(y, &mut j));
        visit(u, of_x, of_y);
    }
}

/// Computes the end distribution of walks from every node, nodes in parallel.
fn distributions(graph: &Graph, degree: &[f64], steps: usize) -> Result<Vec<Ends>> {
    let n = graph.num_nodes();
    // The loop weighs as much as the mean edge, and one if the node has no edges.
    let loops: Vec<f64> = (0..n)
        .map(|u| {
            if degree[u] > 0.0 {
                degree[u] / graph.degree(u as u32) as f64
            } else {
                1.0
            }
        })
        .collect();
    let inverse: Vec<f64> = degree
        .iter()
        .zip(&loops)
        .map(|(d, l)| 1.0 / (d + l))
        .collect();
    let walk = |start: u32, now: &mut Vec<f64>, next: &mut Vec<f64>| {
        let mut reached = vec![start];
        now[start as usize] = 1.0;
        for _ in 0..steps {
            let mut around = Vec::new();
            let mut arrive = |v: u32, p: f64| {
                // Weights of zero lead nowhere.
                if next[v as usize] == 0.0 && p > 0.0 {
                    around.push(v);
                }
                next[v as usize] += p;
            };
            for &u in &reached {
                let p = std::mem::take(&mut now[u as usize]) * inverse[u as usize];
                arrive(u, p * loops[u as usize]);
                for k in graph.arc_range(u) {
                    arrive(graph.targets()[k], p * graph.arc_weight(k));
                }
            }
            around.sort_unstable();
            reached = around;
            std::mem::swap(now, next);
        }
        let scaled = |&u: &u32| std::mem::take(&mut now[u as usize]) * inverse[u as usize].sqrt();
        let values = reached.iter().map(scaled).collect();
        reached.shrink_to_fit();
        Ends::from_sparse(reached, values, n)
    };
    let mut found: Vec<Ends> = Vec::with_capacity(n);
    let mut bytes = 0;
    // Batches allow too large a result to be noticed before it fills the memory.
    const BATCH: usize = 1024;
    for first in (0..n).step_by(BATCH) {
        let batch: Vec<Ends> = (first..(first + BATCH).min(n))
            .into_par_iter()
            .map_init(
                || (vec![0.0; n], vec![0.0; n]),
                |(now, next), u| walk(u as u32, now, next),
            )
            .collect();
        bytes += batch.iter().map(Ends::bytes).sum::<usize>();
        found.extend(batch);
        // Memory of all distributions, extrapolated from the first ones; memory in use already is
        // no longer free.
        let each = bytes as f64 / found.len() as f64;
        let walks = || Demand::new(format!("{OP} with walks of {steps} steps from {n} nodes"));
        const REMEDY: &str = "take fewer steps or another method";
        walks()
            .and_bytes(each * (n - found.len()) as f64)
            .check(REMEDY)?;
        walks()
            .and_bytes(each * n as f64)
            .check_within(MOST_BYTES, REMEDY)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{cycle, erdos_renyi};
    use crate::metrics::modularity;

    /// A path of three nodes by hand: loops of weight 1, so the ends have weight 2 and the
    /// middle 3.
    #[test]
    fn one_step_by_hand() {
        let g = Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0;
        let ends = distributions(&g, &degrees(&g), 1).unwrap();
        let all = |e: &Ends| match e {
            Ends::Many(all) => all.clone(),
            Ends::RareClass(nodes, values) => {
                let mut all = vec![0.0; 3];
                nodes
                    .iter()
                    .zip(values)
                    .for_each(|(&u, &x)| all[u as usize] = x);
                all
            }
        };
        let (two, three) = (2f64.sqrt(), 3f64.sqrt());
        let expected = [
            [0.5 / two, 0.5 / three, 0.0],
            [1.0 / 3.0 / two, 1.0 / 3.0 / three, 1.0 / 3.0 / two],
        ];
        for (ends, expected) in ends.iter().zip(expected) {
            for (x, y) in all(ends).iter().zip(expected) {
                assert!((x - y).abs() < 1e-15, "{x} instead of {y}");
            }
        }
    }

    #[test]
    fn both_forms_agree() {
        let x: Vec<(u32, f64)> = vec![(0, 0.5), (3, 0.25), (8, 1.0)];
        let y: Vec<(u32, f64)> = vec![(3, 0.5), (4, 0.125)];
        let dense = |e: &[(u32, f64)]| {
            let mut all = vec![0.0; 10];
            e.iter().for_each(|&(u, v)| all[u as usize] = v);
            all
        };
        let few = |e: &[(u32, f64)]| {
            Ends::RareClass(
                e.iter().map(|e| e.0).collect(),
                e.iter().map(|e| e.1).collect(),
            )
        };
        let forms = |e: &Vec<(u32, f64)>| [few(e), Ends::Many(dense(e))];
        let expected: f64 = dense(&x)
            .iter()
            .zip(dense(&y))
            .map(|(x, y)| (x - y).powi(2))
            .sum();
        for a in forms(&x) {
            for b in forms(&y) {
                assert!((a.squared_distance(&b) - expected).abs() < 1e-15);
            }
        }
        let target = Ends::Many(
            dense(&x)
                .iter()
                .zip(dense(&y))
                .map(|(x, y)| 0.25 * x + 0.75 * y)
                .collect(),
        );
        for i in 0..4 {
            let ([x0, x1], [y0, y1]) = (forms(&x), forms(&y));
            let (a, b) = (
                if i < 2 { x0 } else { x1 },
                if i % 2 == 0 { y0 } else { y1 },
            );
            assert!(
                a.average(b, 0.25, 0.75, 10).squared_distance(&target) < 1e-30,
                "{i}"
            );
        }
    }

    #[test]
    fn stages_have_the_modularity_they_claim() {
        let g = erdos_renyi(60, 0.06, 4).unwrap();
        let d = walktrap(&g, 4).unwrap();
        for (stage, q) in d.modularity().iter().enumerate() {
            assert!(
                (modularity(&g, &d.cut(60 - stage).unwrap(), 1.0).unwrap() - q).abs() < 1e-12,
                "stage {stage}"
            );
        }
    }

    /// Walks of four steps in a random graph of degree 40 end nearly everywhere: 30,000 nodes of
    /// 30,000 numbers are 7.2 GB. The first thousand suffice to estimate it, and the others are not
    /// computed.
    #[test]
    fn excessive_memory_is_refused_early() {
        let g = erdos_renyi(30_000, 40.0 / 30_000.0, 1).unwrap();
        let e = walktrap(&g, 4).unwrap_err().to_string();
        assert!(
            e.starts_with("memory: walktrap with walks of 4 steps from 30000 nodes needs "),
            "{e}"
        );
        assert!(e.ends_with("take fewer steps or another method"), "{e}");
    }

    #[test]
    fn steps_change_the_result_and_must_be_some() {
        let g = erdos_renyi(40, 0.15, 3).unwrap();
        assert_ne!(walktrap(&g, 1).unwrap(), walktrap(&g, 6).unwrap());
        assert_eq!(
            walktrap(&cycle(5).unwrap(), 0).unwrap_err().to_string(),
            "walktrap: 0 steps, at least one is needed"
        );
    }
}
