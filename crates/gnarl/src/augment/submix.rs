//! SubMix (Yoo et al. 2022, [arXiv:2202.10107](https://arxiv.org/abs/2202.10107)): a connected part
//! of a graph is replaced by a part of another graph, and the labels are mixed by the shares of the
//! edges.
//!
//! In both graphs a connected part of the same size is grown from a random node. The size is
//! uniform in 1 to `swap_ratio · min(n, n')`. The part's nodes take the features and inner edges of
//! the other part, and keep their edges to the rest. The other graph's share of the label is the
//! share of its edges among all edges of the result; without edges, it is the share of its nodes.
//! The authors order nodes by diffusion from the root; gnarl grows the part at random.

use gnarl_graph::random::Rng;
use gnarl_graph::{Error, Features, Graph, Result};
use rand::RngExt;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::subgraph::grow;
use super::transform::{Copies, GraphTransform, rows_of};

/// Replaces a connected part of a graph by a part of another graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "submix",
    about = "replaces a part of each training graph by a part of another one",
    constant
)]
pub struct SubMix {
    /// Largest share of the smaller graph to replace.
    #[setting(default = 0.4, range = 0.0..=1.0, was = "strength")]
    pub swap_ratio: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::EachEpoch)]
    pub copies: Copies,
}

impl SubMix {
    /// Returns SubMix with this largest share, and new copies in every epoch.
    #[must_use]
    pub const fn new(swap_ratio: f64) -> Self {
        Self {
            swap_ratio,
            ..Self::DEFAULT
        }
    }
}

impl Augmentation for SubMix {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }

    fn mixes_classes(&self) -> bool {
        true
    }
}

impl GraphTransform for SubMix {
    /// Mixes the graph with itself.
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        Ok(self.apply_with(graph, graph, rng)?.0)
    }

    fn apply_with(&self, graph: &Graph, partner: &Graph, rng: &mut Rng) -> Result<(Graph, f64)> {
        let most = (self.swap_ratio * graph.num_nodes().min(partner.num_nodes()) as f64) as usize;
        if most == 0 {
            return Ok((graph.clone(), 0.0));
        }
        let size = rng.random_range(1..=most);
        let (out, into) = (grow(graph, size, rng), grow(partner, size, rng));
        let size = out.len().min(into.len());
        exchange(graph, partner, &out[..size], &into[..size])
    }
}

/// Returns `graph` with its nodes `out` replaced by `partner`'s nodes `into`, and the partner's
/// share of the label.
fn exchange(graph: &Graph, partner: &Graph, out: &[u32], into: &[u32]) -> Result<(Graph, f64)> {
    let n = graph.num_nodes();
    let mut goes = vec![false; n];
    out.iter().for_each(|&u| goes[u as usize] = true);
    let mut place = vec![None; partner.num_nodes()];
    into.iter()
        .zip(out)
        .for_each(|(&v, &u)| place[v as usize] = Some(u));

    let stay = graph
        .weighted_edges()
        .filter(|&(u, v, _)| !(goes[u as usize] && goes[v as usize]));
    let inside = |(u, v, w): (u32, u32, f64)| Some((place[u as usize]?, place[v as usize]?, w));
    let come: Vec<(u32, u32, f64)> = partner.weighted_edges().filter_map(inside).collect();
    let brought = come.len();
    let edges: Vec<(u32, u32, f64)> = stay.chain(come).collect();
    let share = match edges.len() {
        0 => out.len() as f64 / n as f64,
        all => brought as f64 / all as f64,
    };
    let mixed = match graph.weights().or(partner.weights()) {
        Some(_) => Graph::from_weighted_edges(n, edges)?.0,
        None => Graph::from_edges(n, edges.into_iter().map(|(u, v, _)| (u, v)))?.0,
    };
    let mixed = match (graph.features(), partner.features()) {
        (None, None) => mixed,
        (Some(own), Some(others)) if own.num_cols() == others.num_cols() => {
            // For each node, the source of its feature row.
            let mut rows: Vec<(&Features, usize)> = (0..n).map(|u| (own, u)).collect();
            out.iter()
                .zip(into)
                .for_each(|(&u, &v)| rows[u as usize] = (others, v as usize));
            mixed.with_features(rows_of(own.num_cols(), &rows)?)?
        }
        _ => {
            return Err(Error::argument(
                "submix",
                "two graphs with different feature columns",
            ));
        }
    };
    Ok((mixed, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;
    use gnarl_graph::{CsrMatrix, DenseMatrix};

    fn numbered(graph: Graph, from: f32, sparse: bool) -> Graph {
        let data: Vec<f32> = (0..graph.num_nodes()).map(|i| from + i as f32).collect();
        let dense = DenseMatrix::new(graph.num_nodes(), 1, data).unwrap();
        let features = if sparse {
            Features::Sparse(CsrMatrix::from_dense(&dense))
        } else {
            Features::Dense(dense)
        };
        graph.with_features(features).unwrap()
    }

    /// The path 1–2–3–4–5, whose nodes 2, 3, 4 become 11, 12, 13 of a triangle with a tail.
    #[test]
    fn by_hand() {
        for (a, b) in [(true, true), (false, false), (true, false)] {
            let path = numbered(generate::path(5).unwrap(), 1.0, a);
            let triangle = Graph::from_edges(4, [(0, 1), (1, 2), (0, 2), (2, 3)])
                .unwrap()
                .0;
            let (mixed, share) =
                exchange(&path, &numbered(triangle, 11.0, b), &[1, 2, 3], &[0, 1, 2]).unwrap();
            assert_eq!(
                mixed.features().unwrap().to_dense().data(),
                [1.0, 11.0, 12.0, 13.0, 5.0]
            );
            assert_eq!(
                mixed.edges().collect::<Vec<_>>(),
                [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)]
            );
            assert_eq!(share, 3.0 / 5.0, "three of five edges came along");
        }
        let (mixed, share) = exchange(
            &Graph::empty(4).unwrap(),
            &Graph::empty(9).unwrap(),
            &[3],
            &[8],
        )
        .unwrap();
        assert_eq!(
            (mixed.num_nodes(), mixed.num_edges(), share),
            (4, 0, 0.25),
            "of nodes where there are no edges"
        );
        let e = exchange(
            &Graph::empty(1).unwrap(),
            &numbered(Graph::empty(1).unwrap(), 1.0, true),
            &[0],
            &[0],
        );
        assert_eq!(
            e.unwrap_err().to_string(),
            "submix: two graphs with different feature columns"
        );
    }

    #[test]
    fn sizes_stay_and_shares_are_shares() {
        let (a, b) = (
            generate::erdos_renyi(20, 0.2, 1).unwrap(),
            generate::barabasi_albert(12, 3, 1).unwrap(),
        );
        let transform = SubMix::new(0.5);
        let mut total = 0.0;
        for seed in 0..100 {
            let (mixed, share) = transform
                .apply_with(&a, &b, &mut stream(seed, "submix test", 0))
                .unwrap();
            assert_eq!(mixed.num_nodes(), 20);
            assert!((0.0..=1.0).contains(&share));
            total += share;
        }
        assert!(total > 5.0, "something is mixed: {total}");
        for small in [Graph::empty(0).unwrap(), Graph::empty(1).unwrap()] {
            let (same, share) = transform
                .apply_with(&small, &b, &mut stream(1, "submix test", 0))
                .unwrap();
            assert_eq!(
                (same.num_nodes(), share),
                (small.num_nodes(), 0.0),
                "half of a node is none"
            );
        }
        let (same, share) = SubMix::new(0.0)
            .apply_with(&a, &b, &mut stream(1, "submix test", 0))
            .unwrap();
        assert_eq!((same.targets(), share), (a.targets(), 0.0));
    }
}
