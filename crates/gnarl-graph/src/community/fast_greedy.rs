//! Fast Greedy ([Clauset, Newman and Moore 2004](https://arxiv.org/abs/cond-mat/0408187)): merges
//! the two communities whose union raises modularity most.

use super::agglomerate::Agglomeration;
use super::dendrogram::Dendrogram;
use super::refuse_negative_weights;
use crate::centrality::degrees;
use crate::error::Result;
use crate::graph::Graph;

/// Runs Fast Greedy until one community per component is left; [`Dendrogram::best`] is its
/// partition.
///
/// In case of equal gains the communities with the smallest node ids are merged. On a graph without
/// edges nothing is merged: every node is a community. O(n + m) memory; time about O(m log n) times
/// the depth of the dendrogram. Fails for negative weights.
///
/// ```
/// use gnarl_graph::{community::fast_greedy, Graph};
/// let g = Graph::from_edges(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)])?.0;
/// assert_eq!(fast_greedy(&g)?.best(), [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn fast_greedy(graph: &Graph) -> Result<Dendrogram> {
    refuse_negative_weights("fast greedy", graph)?;
    let mut degree = degrees(graph);
    let total: f64 = degree.iter().sum();
    if total == 0.0 {
        return Ok(Dendrogram::new(graph.num_nodes(), Vec::new(), vec![0.0]));
    }
    // The gain of a merge: 2 (w / 2W - d_u d_v / (2W)²), with 2W the sum of degrees.
    let gain = |weight: f64, a: f64, b: f64| 2.0 * (weight - a * b / total) / total;
    let mut state = Agglomeration::new(graph, |u, v, weight| {
        gain(weight, degree[u as usize], degree[v as usize])
    });
    let mut modularity = vec![-degree.iter().map(|d| (d / total).powi(2)).sum::<f64>()];
    let mut merges = Vec::new();
    while let Some((keep, link)) = state.best() {
        merges.push((keep, link.to));
        modularity.push(modularity[modularity.len() - 1] + link.gain);
        degree[keep as usize] += degree[link.to as usize];
        let of = degree[keep as usize];
        state.merge(keep, link.to, |k, weight, _, _| {
            (gain(weight, of, degree[k as usize]), true)
        });
    }
    Ok(Dendrogram::new(graph.num_nodes(), merges, modularity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::erdos_renyi;
    use crate::metrics::modularity;

    #[test]
    fn stages_have_the_modularity_they_claim() {
        let g = erdos_renyi(60, 0.08, 4).unwrap();
        let d = fast_greedy(&g).unwrap();
        for (stage, q) in d.modularity().iter().enumerate() {
            let communities = d.cut(60 - stage).unwrap();
            assert!(
                (modularity(&g, &communities, 1.0).unwrap() - q).abs() < 1e-12,
                "stage {stage}"
            );
        }
    }

    #[test]
    fn each_merge_is_the_best_there_is() {
        let g = erdos_renyi(24, 0.2, 2).unwrap();
        let d = fast_greedy(&g).unwrap();
        for stage in 0..d.merges().len() {
            let of = d.cut(24 - stage).unwrap();
            let mut best = f64::NEG_INFINITY;
            for (u, v) in g.edges().filter(|&(u, v)| of[u as usize] != of[v as usize]) {
                let joined: Vec<u32> = of
                    .iter()
                    .map(|&c| {
                        if c == of[u as usize] {
                            of[v as usize]
                        } else {
                            c
                        }
                    })
                    .collect();
                best = best.max(modularity(&g, &joined, 1.0).unwrap());
            }
            assert!(
                (d.modularity()[stage + 1] - best).abs() < 1e-12,
                "stage {stage}"
            );
        }
    }
}
