//! Neighbour sampling for mini-batches (GraphSAGE,
//! [Hamilton et al. 2017](https://arxiv.org/abs/1706.02216)): estimates the representations of some
//! nodes after a few hops from a sampled neighbourhood.
//!
//! Each receiver of a hop gets messages from at most a fixed number of neighbours, sampled without
//! replacement, or from all of them if it has no more. Sampled arcs represent the others: their
//! weight is multiplied by `degree / drawn`. Any sum over the neighbourhood that is linear in the
//! messages therefore keeps its expectation.
//!
//! Samples depend on the key, the hop and the node alone, not on the other nodes of a batch or the
//! number of threads.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::mix;
use crate::settings::{Kind, Value};

/// Largest number of hops of a fan-out.
const MAX_ROUNDS: usize = 16;

/// Number of sampled neighbours per hop, the hop nearest to the output first: `15,10`. `all` means
/// all neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fanout {
    counts: [u32; MAX_ROUNDS],
    rounds: usize,
}

/// Value that means all neighbours.
const ALL: u32 = u32::MAX;

impl Value for Fanout {
    const KIND: Kind = Kind::Text("N,N");
}

impl Fanout {
    /// Makes a fan-out with one count for each hop.
    pub fn new(counts: &[usize]) -> Result<Self> {
        let refuse = |what: String| Err(Error::setting("fanout", what));
        if counts.is_empty() || counts.len() > MAX_ROUNDS {
            return refuse(format!(
                "{} counts, 1 to {MAX_ROUNDS} are possible",
                counts.len()
            ));
        }
        let mut all = [0; MAX_ROUNDS];
        for (slot, &count) in all.iter_mut().zip(counts) {
            if count == 0 {
                return refuse("a node without neighbours: give at least 1, or `all`".into());
            }
            *slot = count.min(ALL as usize) as u32;
        }
        Ok(Self {
            counts: all,
            rounds: counts.len(),
        })
    }

    /// Makes a fan-out with all neighbours in this many hops.
    pub fn all(rounds: usize) -> Self {
        Self {
            counts: [ALL; MAX_ROUNDS],
            rounds: rounds.min(MAX_ROUNDS),
        }
    }

    /// Returns the number of hops.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Returns the number of sampled neighbours of a hop, counted from the output; all beyond the
    /// last.
    fn at(&self, round: usize) -> usize {
        match self.counts[..self.rounds].get(round) {
            Some(&count) if count != ALL => count as usize,
            _ => usize::MAX,
        }
    }

    /// Returns an upper bound of the mean number of nodes whose features a node needs: for
    /// estimates.
    pub fn nodes_per_seed(&self, mean_degree: f64) -> f64 {
        let (mut nodes, mut all) = (1.0, 1.0);
        for round in 0..self.rounds {
            nodes *= (self.at(round) as f64).min(mean_degree.max(1.0));
            all += nodes;
        }
        all
    }
}

impl fmt::Display for Fanout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, count) in self.counts[..self.rounds].iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match *count {
                ALL => write!(f, "{comma}all")?,
                count => write!(f, "{comma}{count}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Fanout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let count = |field: &str| match field.trim() {
            all if all.eq_ignore_ascii_case("all") => Ok(ALL as usize),
            number => number.parse().map_err(|_| {
                Error::setting(
                    "fanout",
                    format!("'{text}' is not a list of counts, nearest round first, as in 15,10"),
                )
            }),
        };
        Self::new(&text.split(',').map(count).collect::<Result<Vec<_>>>()?)
    }
}

impl TryFrom<String> for Fanout {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Fanout> for String {
    fn from(fanout: Fanout) -> Self {
        fanout.to_string()
    }
}

/// The arcs of one hop: row `i` has the arcs into node `i` of the neighbourhood.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hop {
    /// Row boundaries.
    pub offsets: Vec<usize>,
    /// Senders, by position in the neighbourhood.
    pub senders: Vec<u32>,
    /// Weight of each arc times `degree / drawn`.
    pub weights: Vec<f32>,
}

/// A sampled neighbourhood of some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbourhood {
    /// Nodes, the given ones first: the receivers of every hop are the first of its senders.
    pub nodes: Vec<u32>,
    /// Number of nodes after 0, 1, … hops outwards.
    pub sizes: Vec<usize>,
    /// Hops, from the farthest out to the one whose receivers are the given nodes.
    pub rounds: Vec<Hop>,
}

/// A neighbour sampler of a graph. It holds four bytes per node.
#[derive(Debug)]
pub struct Sampler {
    graph: Graph,
    fanout: Fanout,
    /// Share of dropped edges.
    dropped: f64,
    /// Position of each node in the current neighbourhood; `u32::MAX` for absent nodes.
    place: Vec<u32>,
}

impl Sampler {
    /// Makes a sampler of this graph.
    pub fn new(graph: &Graph, fanout: Fanout) -> Self {
        Self {
            graph: graph.clone(),
            fanout,
            dropped: 0.0,
            place: vec![u32::MAX; graph.num_nodes()],
        }
    }

    /// Drops a share of the edges, sampled by `edges_key` of [`sample`](Self::sample): the dropped
    /// edges are equal for both ends and in every hop.
    pub fn dropping(mut self, share: f64) -> Self {
        self.dropped = share.clamp(0.0, 1.0);
        self
    }

    /// Samples the neighbourhood of some nodes, which must differ. O(arcs sampled + degrees if
    /// edges are dropped).
    pub fn sample(&mut self, nodes: &[u32], key: u64, edges_key: u64) -> Neighbourhood {
        let mut all = nodes.to_vec();
        for (i, &u) in nodes.iter().enumerate() {
            self.place[u as usize] = i as u32;
        }
        let mut sizes = vec![nodes.len()];
        let mut rounds = Vec::with_capacity(self.fanout.rounds);
        for hop in 0..self.fanout.rounds {
            let mut round = self.draw(&all, hop, mix(key ^ mix(hop as u64 + 1)), edges_key);
            for sender in &mut round.senders {
                let place = &mut self.place[*sender as usize];
                if *place == u32::MAX {
                    *place = all.len() as u32;
                    all.push(*sender);
                }
                *sender = *place;
            }
            sizes.push(all.len());
            rounds.push(round);
        }
        rounds.reverse();
        all.iter().for_each(|&u| self.place[u as usize] = u32::MAX);
        Neighbourhood {
            nodes: all,
            sizes,
            rounds,
        }
    }

    /// Samples the arcs into each of these nodes, senders by their own numbers.
    fn draw(&self, receivers: &[u32], hop: usize, key: u64, edges_key: u64) -> Hop {
        const AT_ONCE: usize = 512;
        let most = self.fanout.at(hop);
        let parts: Vec<Hop> = receivers
            .par_chunks(AT_ONCE)
            .map(|chunk| {
                let mut round = Hop {
                    offsets: Vec::with_capacity(chunk.len()),
                    ..Hop::default()
                };
                let mut kept = Vec::new();
                let mut drawn = Vec::new();
                for &u in chunk {
                    let arcs = self.graph.arc_range(u);
                    let degree = arcs.len();
                    kept.clear();
                    if self.dropped > 0.0 {
                        kept.extend((0..degree).filter(|&i| {
                            !self.is_dropped(u, self.graph.targets()[arcs.start + i], edges_key)
                        }));
                    }
                    let there = if self.dropped > 0.0 {
                        kept.len()
                    } else {
                        degree
                    };
                    let count = there.min(most);
                    let scale = if count == degree {
                        1.0
                    } else {
                        degree as f64 / count.max(1) as f64
                    };
                    let mut take = |i: usize| {
                        let arc = arcs.start + if self.dropped > 0.0 { kept[i] } else { i };
                        round.senders.push(self.graph.targets()[arc]);
                        round
                            .weights
                            .push((self.graph.arc_weight(arc) * scale) as f32);
                    };
                    if count == there {
                        (0..there).for_each(&mut take)
                    } else {
                        distinct(there, count, mix(key ^ mix(u64::from(u))), &mut drawn);
                        drawn.iter().for_each(|&i| take(i as usize));
                    }
                    round.offsets.push(round.senders.len());
                }
                round
            })
            .collect();
        let mut whole = Hop {
            offsets: vec![0],
            ..Hop::default()
        };
        for part in parts {
            let before = whole.senders.len();
            whole
                .offsets
                .extend(part.offsets.iter().map(|end| before + end));
            whole.senders.extend(part.senders);
            whole.weights.extend(part.weights);
        }
        whole
    }

    fn is_dropped(&self, u: u32, v: u32, key: u64) -> bool {
        let edge = u64::from(u.min(v)) << 32 | u64::from(u.max(v));
        unit(mix(key ^ mix(edge))) < self.dropped
    }
}

/// Returns a number in [0, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Samples `count` distinct numbers below `end`, ascending and uniformly (Floyd's algorithm).
fn distinct(end: usize, count: usize, key: u64, out: &mut Vec<u32>) {
    out.clear();
    for (i, last) in (end - count..end).enumerate() {
        // The high bits of a product: no division, and a bias below 2^-32.
        let draw = (u128::from(mix(key ^ (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            * (last as u128 + 1))
            >> 64;
        let draw = draw as u32;
        let at = out.partition_point(|&x| x < draw);
        if out.get(at) == Some(&draw) {
            out.push(last as u32)
        } else {
            out.insert(at, draw)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    fn star_with_tail() -> Graph {
        // Node 0 has neighbours 1 to 8; 8 also has 9.
        Graph::from_edges(10, (1..9).map(|v| (0, v)).chain([(8, 9)]))
            .unwrap()
            .0
    }

    #[test]
    fn fanouts_are_read_back() {
        let fanout: Fanout = "15, 10,all".parse().unwrap();
        assert_eq!(
            (fanout.to_string().as_str(), fanout.rounds()),
            ("15,10,all", 3)
        );
        assert_eq!(
            serde_json::from_str::<Fanout>("\"15,10,all\"").unwrap(),
            fanout
        );
        assert_eq!(
            Fanout::new(&[2, 3]).unwrap().nodes_per_seed(10.0),
            1.0 + 2.0 + 6.0
        );
        for (text, what) in [
            ("", "as in 15,10"),
            ("3,0", "without neighbours"),
            ("a", "as in 15,10"),
            ("-1", "as in 15,10"),
        ] {
            let e = text.parse::<Fanout>().unwrap_err().to_string();
            assert!(e.starts_with("fanout: ") && e.contains(what), "{e}");
        }
        assert!(Fanout::new(&[1; 17]).is_err());
    }

    #[test]
    fn a_neighbourhood_with_room_for_all_is_the_whole_one() {
        let graph = star_with_tail();
        let mut sampler = Sampler::new(&graph, Fanout::all(2));
        let got = sampler.sample(&[9, 1], 5, 0);
        assert_eq!(
            (got.nodes.as_slice(), got.sizes.as_slice()),
            (&[9, 1, 8, 0, 2, 3, 4, 5, 6, 7][..], &[2, 4, 10][..])
        );
        assert_eq!(
            got.rounds[1],
            Hop {
                offsets: vec![0, 1, 2],
                senders: vec![2, 3],
                weights: vec![1.0; 2]
            }
        );
        assert_eq!(got.rounds[0].offsets, [0, 1, 2, 4, 12]);
        // No state is left for the next call.
        assert_eq!(sampler.sample(&[0], 5, 0).sizes, [1, 9, 10]);
        let alone = Sampler::new(&Graph::empty(3).unwrap(), Fanout::all(2)).sample(&[1], 0, 0);
        assert_eq!(
            (alone.nodes, alone.rounds[0].offsets.clone()),
            (vec![1], vec![0, 0])
        );
    }

    /// Every neighbour and every pair is sampled equally often, and weights of sampled arcs sum to
    /// the whole: 6 standard deviations of a binomial.
    #[test]
    fn draws_are_uniform_and_sums_keep_their_expectation() {
        let graph = star_with_tail();
        let mut sampler = Sampler::new(&graph, Fanout::new(&[3]).unwrap());
        let draws = 20_000;
        let (mut single, mut pairs, mut sum) = ([0u32; 10], [[0u32; 10]; 10], 0.0);
        for key in 0..draws {
            let got = sampler.sample(&[0], mix(key), 0);
            let senders: Vec<usize> = got.rounds[0]
                .senders
                .iter()
                .map(|&s| got.nodes[s as usize] as usize)
                .collect();
            assert!(senders.len() == 3 && senders.is_sorted_by(|a, b| a < b));
            assert_eq!(got.rounds[0].weights, [8.0 / 3.0; 3]);
            for (i, &a) in senders.iter().enumerate() {
                single[a] += 1;
                sum += f64::from(got.rounds[0].weights[i]) * a as f64;
                senders[i + 1..].iter().for_each(|&b| pairs[a][b] += 1);
            }
        }
        let close = |count: u32, p: f64, what: String| {
            let n = draws as f64;
            let off = (f64::from(count) - n * p).abs();
            assert!(
                off < 6.0 * (n * p * (1.0 - p)).sqrt(),
                "{what}: {count} of {draws}, not {p}"
            );
        };
        for a in 1..9 {
            close(single[a], 3.0 / 8.0, format!("node {a}"));
            (a + 1..9).for_each(|b| close(pairs[a][b], 3.0 / 28.0, format!("{a} with {b}")));
        }
        assert!(
            (sum / draws as f64 - 36.0).abs() < 0.5,
            "the sum of neighbours is 36, not {}",
            sum / draws as f64
        );
    }

    #[test]
    fn draws_depend_on_key_and_node_alone() {
        let graph = generate::sbbam(&Default::default(), 3).unwrap();
        let fanout = Fanout::new(&[4, 2]).unwrap();
        let mut sampler = Sampler::new(&graph, fanout);
        let named = |got: &Neighbourhood, receiver: usize| {
            let round = got.rounds.last().unwrap();
            let senders = &round.senders[round.offsets[receiver]..round.offsets[receiver + 1]];
            senders
                .iter()
                .map(|&s| got.nodes[s as usize])
                .collect::<Vec<_>>()
        };
        let (together, alone) = (
            sampler.sample(&[7, 30, 12], 9, 0),
            sampler.sample(&[12], 9, 0),
        );
        assert_eq!(named(&together, 2), named(&alone, 0));
        assert_ne!(sampler.sample(&[12], 10, 0), alone);
        let few = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let many = rayon::ThreadPoolBuilder::new()
            .num_threads(5)
            .build()
            .unwrap();
        let nodes: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        let by = |pool: &rayon::ThreadPool| {
            pool.install(|| Sampler::new(&graph, fanout).sample(&nodes, 9, 0))
        };
        assert_eq!(by(&few), by(&many));
    }

    #[test]
    fn dropped_edges_are_gone_for_both_ends() {
        let graph = generate::sbbam(&Default::default(), 3).unwrap();
        let mut sampler = Sampler::new(&graph, Fanout::all(1)).dropping(0.4);
        let nodes: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        let got = sampler.sample(&nodes, 0, 77);
        let round = &got.rounds[0];
        let heard: std::collections::HashSet<(u32, u32)> = nodes
            .iter()
            .flat_map(|&u| {
                (round.offsets[u as usize]..round.offsets[u as usize + 1]).map(move |k| (u, k))
            })
            .map(|(u, k)| (u, round.senders[k]))
            .collect();
        assert!(
            heard.iter().all(|&(u, v)| heard.contains(&(v, u))),
            "an edge is there for both or for none"
        );
        let share = heard.len() as f64 / graph.num_arcs() as f64;
        assert!((share - 0.6).abs() < 0.05, "{share} of the edges are left");
        assert_ne!(sampler.sample(&nodes, 0, 78), got);
    }
}
