//! Datasets that are always available: Zachary's karate club, and packed copies of Cora and MUTAG.

mod packed;

pub use self::packed::{holds, unpack};

use gnarl_graph::features::Features;
use gnarl_graph::graph::Graph;
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::CsrMatrix;
use gnarl_graph::split::Split;

/// Pairs of members who met outside the club, each pair once, members from 0 (Zachary 1977, figure
/// 1).
const TIES: [(u32, &[u32]); 26] = [
    (0, &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31]),
    (1, &[2, 3, 7, 13, 17, 19, 21, 30]),
    (2, &[3, 7, 8, 9, 13, 27, 28, 32]),
    (3, &[7, 12, 13]),
    (4, &[6, 10]),
    (5, &[6, 10, 16]),
    (6, &[16]),
    (8, &[30, 32, 33]),
    (9, &[33]),
    (13, &[33]),
    (14, &[32, 33]),
    (15, &[32, 33]),
    (18, &[32, 33]),
    (19, &[33]),
    (20, &[32, 33]),
    (22, &[32, 33]),
    (23, &[25, 27, 29, 32, 33]),
    (24, &[25, 27, 31]),
    (25, &[31]),
    (26, &[29, 33]),
    (27, &[33]),
    (28, &[31, 33]),
    (29, &[32, 33]),
    (30, &[32, 33]),
    (31, &[32, 33]),
    (32, &[33]),
];

/// The four communities of largest modularity, 0.4198 (Brandes et al. 2008). PyTorch Geometric's
/// `KarateClub` has equal numbering and a partition of 0.4156, with members 9, 23 and 27 in other
/// communities.
const COMMUNITIES: [u32; 34] = [
    1, 1, 1, 1, 3, 3, 3, 1, 0, 0, 3, 1, 1, 1, 0, 0, 3, 1, 0, 1, 0, 1, 0, 2, 2, 2, 0, 2, 2, 0, 0, 2,
    0, 0,
];

/// Returns Zachary's karate club: 34 members, 78 ties, identity features, four communities as
/// classes and one split.
///
/// The split `first` trains on the first member of each community, as PyTorch Geometric does,
/// validates on the next two of each and tests on the other 22.
pub fn karate() -> Graph {
    let ties = TIES
        .iter()
        .flat_map(|&(u, others)| others.iter().map(move |&v| (u, v)));
    let labels = Labels::new(COMMUNITIES.map(Some).to_vec(), 4).expect("communities are 0 to 3");
    Graph::from_edges(COMMUNITIES.len(), ties)
        .and_then(|(graph, _)| {
            graph.with_features(Features::Sparse(CsrMatrix::identity(COMMUNITIES.len())))
        })
        .and_then(|graph| graph.with_labels(labels))
        .and_then(|graph| graph.with_splits(vec![first_of_each()?]))
        .expect("the tables above are a valid graph")
}

fn first_of_each() -> gnarl_graph::error::Result<Split> {
    let (mut train, mut val, mut test) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = [0; 4];
    for (u, &community) in COMMUNITIES.iter().enumerate() {
        let rank = &mut seen[community as usize];
        let part = match *rank {
            0 => &mut train,
            1 | 2 => &mut val,
            _ => &mut test,
        };
        part.push(u as u32);
        *rank += 1;
    }
    Split::new("first", train, val, test)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes Newman's modularity from its definition.
    fn modularity(graph: &Graph) -> f64 {
        let m = graph.num_edges() as f64;
        let class = |u: u32| graph.labels().unwrap().get(u);
        let inside = graph.edges().filter(|&(u, v)| class(u) == class(v)).count() as f64;
        let share = |c: u32| {
            let members = (0..34).filter(|&u| class(u) == Some(c));
            (members.map(|u| graph.degree(u)).sum::<usize>() as f64 / (2.0 * m)).powi(2)
        };
        inside / m - (0..4).map(share).sum::<f64>()
    }

    #[test]
    fn is_zacharys_with_the_communities_of_greatest_modularity() {
        let g = karate();
        assert_eq!((g.num_nodes(), g.num_edges()), (34, 78));
        // Degrees as printed by NetworkX for karate_club_graph().
        let degrees: Vec<usize> = (0..34).map(|u| g.degree(u)).collect();
        let expected = [
            16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2, 2, 2, 2, 3, 2, 2, 2, 5, 3, 3, 2, 4,
            3, 4, 4, 6, 12, 17,
        ];
        assert_eq!(degrees, expected);
        // The optimum that Brandes et al. (2008) prove.
        assert!(
            (modularity(&g) - 0.419_789_612_097_304_4).abs() < 1e-12,
            "{}",
            modularity(&g)
        );
    }

    #[test]
    fn the_split_trains_on_one_member_of_each_community() {
        let g = karate();
        let split = &g.splits()[0];
        assert_eq!(split.train(), [0, 4, 8, 23]);
        assert_eq!((split.val().len(), split.test().len()), (8, 22));
        assert_eq!(g.features().unwrap().num_cols(), 34);
    }
}
