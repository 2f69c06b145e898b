//! Graph statistics: density, degrees, components, homophily, diameter, Dirichlet energy, random
//! walk.
//!
//! The random-walk matrix `D⁻¹ A` is
//! [`ClassicalOperator::MEAN_AGGREGATION`](crate::operator::ClassicalOperator).

use rayon::prelude::*;

use crate::centrality::degrees;
pub use crate::components::Components;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::DenseMatrix;

/// Returns the share of pairs that are joined, `2m / (n (n - 1))`; 0 below two nodes.
pub fn density(graph: &Graph) -> f64 {
    let n = graph.num_nodes() as f64;
    if n < 2.0 {
        0.0
    } else {
        graph.num_arcs() as f64 / (n * (n - 1.0))
    }
}

/// Summary of degrees; neighbours are counted, weights are not used.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct DegreeSummary {
    /// Smallest number of neighbours of a node.
    pub min: usize,
    /// Largest number of neighbours of a node.
    pub max: usize,
    /// Mean number of neighbours of a node, `2m / n`.
    pub mean: f64,
    /// Number of nodes without neighbours.
    pub isolated: usize,
}

/// Computes smallest, largest and mean degree and the number of isolated nodes; all zero for a
/// graph without nodes.
pub fn degree_summary(graph: &Graph) -> DegreeSummary {
    let all = || (0..graph.num_nodes() as u32).map(|u| graph.degree(u));
    DegreeSummary {
        min: all().min().unwrap_or(0),
        max: all().max().unwrap_or(0),
        mean: if graph.num_nodes() == 0 {
            0.0
        } else {
            graph.num_arcs() as f64 / graph.num_nodes() as f64
        },
        isolated: all().filter(|&d| d == 0).count(),
    }
}

/// Computes edge homophily: the share of edges that join nodes of one class, among edges with both
/// ends labelled. `None` if there is no such edge or no labels.
pub fn edge_homophily(graph: &Graph) -> Option<f64> {
    let labels = graph.labels()?;
    let (mut same, mut labelled) = (0u64, 0u64);
    for (u, v) in graph.edges() {
        if let (Some(a), Some(b)) = (labels.get(u), labels.get(v)) {
            labelled += 1;
            same += u64::from(a == b);
        }
    }
    (labelled > 0).then(|| same as f64 / labelled as f64)
}

/// Computes node homophily: the mean over nodes of the share of neighbours in the node's own class
/// ([Pei et al. 2020](https://arxiv.org/abs/2002.05287)). It counts labelled nodes and their
/// labelled neighbours; `None` if there are none.
pub fn node_homophily(graph: &Graph) -> Option<f64> {
    let labels = graph.labels()?;
    let share = |u: u32| {
        let own = labels.get(u)?;
        let classes = || graph.neighbours(u).iter().filter_map(|&v| labels.get(v));
        let labelled = classes().count();
        (labelled > 0).then(|| classes().filter(|&c| c == own).count() as f64 / labelled as f64)
    };
    let shares: Vec<f64> = (0..graph.num_nodes() as u32).filter_map(share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Finds the connected components by breadth-first search. O(n + m).
pub fn components(graph: &Graph) -> Components {
    Components::of_rows(graph.offsets(), graph.targets())
}

/// Returns true if every node can reach every other; true for a graph without nodes.
pub fn is_connected(graph: &Graph) -> bool {
    components(graph).count() <= 1
}

/// Returns the number of steps from `u` to each node, `None` if there is no path. O(n + m).
///
/// # Panics
/// If `u` is not a node.
pub fn distances_from(graph: &Graph, u: u32) -> Vec<Option<u32>> {
    let mut search = Search::new(graph.num_nodes());
    search.run(graph, u);
    search
        .distance
        .iter()
        .map(|&d| Some(d).filter(|&d| d != UNREACHED))
        .collect()
}

/// Returns the number of steps from `u` to the farthest node of its component. O(n + m).
///
/// # Panics
/// If `u` is not a node.
pub fn eccentricity(graph: &Graph, u: u32) -> u32 {
    Search::new(graph.num_nodes()).run(graph, u)
}

/// Returns the largest distance between two nodes; `None` if it is infinite, since the graph is
/// disconnected, and for a graph without nodes. For one component of many, see
/// [`component_diameters`].
///
/// The result is exact, by the bounds of Takes and Kosters (2011). This takes some tens of searches
/// on most real graphs, thousands on large random ones. On a cycle, where all nodes are alike, it
/// takes one from almost every node: O(n m). [`diameter_lower_bound`] takes two.
pub fn diameter(graph: &Graph) -> Option<u32> {
    match component_diameters(graph)[..] {
        [diameter] => Some(diameter),
        _ => None,
    }
}

/// Returns the largest distance within each component, in the order of [`components`]. The cost is
/// that of [`diameter`].
pub fn component_diameters(graph: &Graph) -> Vec<u32> {
    let components = components(graph);
    let mut nodes: Vec<Vec<u32>> = components
        .sizes()
        .iter()
        .map(|&size| Vec::with_capacity(size))
        .collect();
    for u in 0..graph.num_nodes() as u32 {
        nodes[components.of(u) as usize].push(u);
    }
    let mut search = Search::new(graph.num_nodes());
    nodes
        .into_iter()
        .map(|component| diameter_of(graph, component, &mut search))
        .collect()
}

/// Returns the diameter of one component, given by its nodes.
///
/// A search from u bounds the eccentricity of every v at distance d: it is at least d and at least
/// ecc(u) - d, and at most ecc(u) + d. Nodes that cannot exceed the largest eccentricity seen drop
/// out. Searches alternate between the node that may reach farthest, which raises the lower bound,
/// and the most central one, which lowers the upper bounds. Soon no node is left.
fn diameter_of(graph: &Graph, component: Vec<u32>, search: &mut Search) -> u32 {
    struct Candidate {
        node: u32,
        at_least: u32,
        at_most: u32,
    }
    let mut candidates: Vec<Candidate> = component
        .into_iter()
        .map(|node| Candidate {
            node,
            at_least: 0,
            at_most: u32::MAX,
        })
        .collect();
    let mut diameter = 0;
    let mut from_outside = true;
    loop {
        let degree = |c: &&Candidate| graph.degree(c.node);
        let next = if from_outside {
            candidates.iter().max_by_key(|c| (c.at_most, degree(c)))
        } else {
            candidates
                .iter()
                .min_by_key(|c| (c.at_least, std::cmp::Reverse(degree(c))))
        };
        let Some(next) = next else { return diameter };
        from_outside = !from_outside;
        let eccentricity = search.run(graph, next.node);
        diameter = diameter.max(eccentricity);
        for c in &mut candidates {
            let d = search.distance[c.node as usize];
            c.at_least = c.at_least.max(d).max(eccentricity - d);
            c.at_most = c.at_most.min(eccentricity + d);
        }
        candidates.retain(|c| c.at_most > diameter);
    }
}

/// Returns a lower bound on the largest finite distance, by two searches: from a node of highest
/// degree to a farthest node, and from there on. Often exact; 0 for a graph without edges. O(n +
/// m).
pub fn diameter_lower_bound(graph: &Graph) -> u32 {
    let hub =
        (0..graph.num_nodes() as u32).max_by_key(|&u| (graph.degree(u), std::cmp::Reverse(u)));
    hub.map_or(0, |u| Search::new(graph.num_nodes()).double_sweep(graph, u))
}

const UNREACHED: u32 = u32::MAX;

/// Breadth-first search with reusable arrays.
struct Search {
    distance: Vec<u32>,
    /// Nodes reached, in order of distance.
    order: Vec<u32>,
}

impl Search {
    fn new(num_nodes: usize) -> Self {
        Self {
            distance: vec![UNREACHED; num_nodes],
            order: Vec::new(),
        }
    }

    /// Searches from `u` and returns the largest distance found.
    fn run(&mut self, graph: &Graph, u: u32) -> u32 {
        for &v in &self.order {
            self.distance[v as usize] = UNREACHED;
        }
        self.order.clear();
        self.order.push(u);
        self.distance[u as usize] = 0;
        let mut next = 0;
        while next < self.order.len() {
            let u = self.order[next];
            next += 1;
            for &v in graph.neighbours(u) {
                if self.distance[v as usize] == UNREACHED {
                    self.distance[v as usize] = self.distance[u as usize] + 1;
                    self.order.push(v);
                }
            }
        }
        self.distance[self.order[self.order.len() - 1] as usize]
    }

    /// Searches from `u`, then from the last node reached; returns the largest distance of the
    /// second search.
    fn double_sweep(&mut self, graph: &Graph, u: u32) -> u32 {
        self.run(graph, u);
        let far = self.order[self.order.len() - 1];
        self.run(graph, far)
    }
}

/// The kind of Dirichlet energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirichletEnergy {
    /// Normalised energy `1/2 Σ_ij a_ij ‖x_i / √(1 + d_i) - x_j / √(1 + d_j)‖²`. It is zero for
    /// rows in proportion to `√(1 + d)`, the limit of repeated aggregation by `A_hat`
    /// (oversmoothing).
    Normalised,
    /// Unnormalised energy `1/2 Σ_ij a_ij ‖x_i - x_j‖²`. It is zero if the rows are equal.
    Unnormalised,
}

/// Computes the Dirichlet energy of `x`, which has one row per node: the variation of its rows
/// along the edges. O(m · columns), rows in parallel.
///
/// ```
/// use gnarl_graph::{generate::path, properties::{dirichlet_energy, DirichletEnergy}, DenseMatrix};
/// let x = DenseMatrix::new(3, 1, vec![1.0, 2.0, 4.0])?;
/// assert_eq!(dirichlet_energy(&path(3)?, &x, DirichletEnergy::Unnormalised)?, 1.0 + 4.0);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn dirichlet_energy(graph: &Graph, x: &DenseMatrix<f64>, kind: DirichletEnergy) -> Result<f64> {
    const OP: &str = "dirichlet_energy";
    if x.num_rows() != graph.num_nodes() {
        let what = format!(
            "{} rows for a graph of {} nodes",
            x.num_rows(),
            graph.num_nodes()
        );
        return Err(Error::argument(OP, what));
    }
    let scale: Vec<f64> = match kind {
        DirichletEnergy::Unnormalised => vec![1.0; graph.num_nodes()],
        DirichletEnergy::Normalised => {
            let degree = degrees(graph);
            if let Some(u) = degree.iter().position(|&d| d <= -1.0) {
                return Err(Error::argument(
                    OP,
                    format!("node {u} has degree {}, more than -1 is needed", degree[u]),
                ));
            }
            degree.iter().map(|d| 1.0 / (1.0 + d).sqrt()).collect()
        }
    };
    // Each edge is in two rows, which is the sum over ordered pairs; half of it counts each edge
    // once.
    let row_energy = |u: usize| -> f64 {
        let arcs = graph
            .arc_range(u as u32)
            .filter(|&k| graph.targets()[k] as usize > u);
        arcs.map(|k| {
            let v = graph.targets()[k] as usize;
            let squares = x
                .row(u)
                .iter()
                .zip(x.row(v))
                .map(|(a, b)| (a * scale[u] - b * scale[v]).powi(2));
            graph.arc_weight(k) * squares.sum::<f64>()
        })
        .sum()
    };
    let rows: Vec<f64> = (0..graph.num_nodes())
        .into_par_iter()
        .with_min_len(256)
        .map(row_energy)
        .collect();
    Ok(rows.iter().sum())
}

/// Returns the stationary distribution of the random walk, `π = d / Σ d` (weighted degrees in a
/// weighted graph).
///
/// In a disconnected graph it gives each component its share of the edges. Fails for a graph
/// without edges, on which there is no walk, and for negative weights.
pub fn stationary_distribution(graph: &Graph) -> Result<Vec<f64>> {
    const OP: &str = "stationary_distribution";
    if let Some(w) = graph.weights().and_then(|w| w.iter().find(|w| **w < 0.0)) {
        return Err(Error::unsupported(
            OP,
            format!("weight {w} is negative, a random walk needs weights of at least 0"),
        ));
    }
    let degree = degrees(graph);
    let total: f64 = degree.iter().sum();
    if total == 0.0 {
        return Err(Error::unsupported(OP, "the graph has no edges to walk on"));
    }
    Ok(degree.iter().map(|d| d / total).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{barabasi_albert, complete, cycle, grid, path, star};
    use crate::labels::Labels;
    use crate::operator::ClassicalOperator;
    use proptest::prelude::*;

    fn random_graph() -> impl Strategy<Value = Graph> {
        (
            1usize..24,
            prop::collection::vec((0u32..24, 0u32..24), 0..40),
        )
            .prop_map(|(n, edges)| {
                let inside = edges
                    .into_iter()
                    .filter(move |&(u, v)| (u as usize) < n && (v as usize) < n);
                Graph::from_edges(n, inside).unwrap().0
            })
    }

    /// Computes all distances by Floyd and Warshall's algorithm.
    fn all_distances(graph: &Graph) -> Vec<Vec<Option<u32>>> {
        let n = graph.num_nodes();
        let mut d = vec![vec![None; n]; n];
        for u in 0..n {
            d[u][u] = Some(0);
        }
        for (u, v) in graph.edges() {
            d[u as usize][v as usize] = Some(1);
            d[v as usize][u as usize] = Some(1);
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    if let (Some(a), Some(b)) = (d[i][k], d[k][j]) {
                        d[i][j] = Some(d[i][j].map_or(a + b, |c: u32| c.min(a + b)));
                    }
                }
            }
        }
        d
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn distances_and_diameters_equal_floyd_warshall(g in random_graph()) {
            let all = all_distances(&g);
            let parts = components(&g);
            let mut widest = vec![0; parts.count()];
            for u in 0..g.num_nodes() {
                prop_assert_eq!(&distances_from(&g, u as u32), &all[u]);
                let farthest = all[u].iter().flatten().copied().max().unwrap();
                prop_assert_eq!(eccentricity(&g, u as u32), farthest);
                let part = parts.of(u as u32) as usize;
                widest[part] = farthest.max(widest[part]);
            }
            prop_assert_eq!(component_diameters(&g), widest.clone());
            prop_assert_eq!(diameter(&g), (parts.count() == 1).then(|| widest[0]));
            prop_assert_eq!(is_connected(&g), parts.count() == 1);
            prop_assert!(diameter_lower_bound(&g) <= widest.into_iter().max().unwrap());
        }

        #[test]
        fn energies_are_the_quadratic_forms_of_the_laplacians(g in random_graph(), seed in any::<u64>()) {
            use rand::RngExt;
            let mut rng = crate::random::stream(seed, "test", 0);
            let n = g.num_nodes();
            let x = DenseMatrix::new(n, 2, (0..2 * n).map(|_| rng.random_range(-1.0..1.0)).collect()).unwrap();
            let laplacian = ClassicalOperator::LAPLACIAN.matrix(&g).unwrap();
            let form = |scale: &dyn Fn(usize) -> f64| -> f64 {
                (0..2).map(|c| {
                    let column: Vec<f64> = (0..n).map(|u| x.row(u)[c] * scale(u)).collect();
                    laplacian.mul_vec(&column).iter().zip(&column).map(|(a, b)| a * b).sum::<f64>()
                }).sum()
            };
            let plain = dirichlet_energy(&g, &x, DirichletEnergy::Unnormalised).unwrap();
            prop_assert!((plain - form(&|_| 1.0)).abs() < 1e-10);
            let normal = dirichlet_energy(&g, &x, DirichletEnergy::Normalised).unwrap();
            let root = |u: usize| 1.0 / (1.0 + g.degree(u as u32) as f64).sqrt();
            prop_assert!((normal - form(&root)).abs() < 1e-10);
        }

        #[test]
        fn a_step_of_the_walk_keeps_the_stationary_distribution(g in random_graph()) {
            prop_assume!(g.num_edges() > 0);
            let pi = stationary_distribution(&g).unwrap();
            let walk = ClassicalOperator::MEAN_AGGREGATION.matrix(&g).unwrap();
            for (a, b) in walk.transpose().mul_vec(&pi).iter().zip(&pi) {
                prop_assert!((a - b).abs() < 1e-14);
            }
            prop_assert!((pi.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn diameters_of_known_shapes() {
        assert_eq!(diameter(&path(50).unwrap()), Some(49));
        assert_eq!(diameter(&cycle(51).unwrap()), Some(25));
        assert_eq!(diameter(&cycle(50).unwrap()), Some(25));
        assert_eq!(diameter(&star(9).unwrap()), Some(2));
        assert_eq!(diameter(&complete(9).unwrap()), Some(1));
        assert_eq!(diameter(&grid(12, 7).unwrap()), Some(17));
        assert_eq!(diameter(&Graph::empty(1).unwrap()), Some(0));
        assert_eq!(diameter(&Graph::empty(0).unwrap()), None);
        assert_eq!(diameter(&Graph::empty(2).unwrap()), None);
        assert_eq!(
            component_diameters(&Graph::from_edges(6, [(0, 1), (2, 3), (3, 4)]).unwrap().0),
            [1, 2, 0]
        );
        assert_eq!(diameter_lower_bound(&path(50).unwrap()), 49);
        assert_eq!(diameter_lower_bound(&Graph::empty(0).unwrap()), 0);
    }

    #[test]
    fn diameters_of_larger_graphs() {
        // The double sweep is exact on trees.
        let tree = barabasi_albert(3000, 1, 4).unwrap();
        assert_eq!(diameter(&tree), Some(diameter_lower_bound(&tree)));
        let few_edges = (0..50_000u32).flat_map(|i| [0, 1, 2].map(|k| (4 * i + k, 4 * i + k + 1)));
        let many_parts = Graph::from_edges(200_000, few_edges).unwrap().0;
        assert_eq!(
            component_diameters(&many_parts),
            vec![3; 50_000],
            "linear in the number of components"
        );
    }

    #[test]
    fn density_and_degrees_by_hand() {
        assert_eq!(density(&complete(7).unwrap()), 1.0);
        assert_eq!(density(&star(4).unwrap()), 0.5);
        assert_eq!(
            (
                density(&Graph::empty(0).unwrap()),
                density(&Graph::empty(1).unwrap())
            ),
            (0.0, 0.0)
        );
        let g = Graph::from_edges(5, [(0, 1), (0, 2), (0, 3)]).unwrap().0;
        assert_eq!(
            degree_summary(&g),
            DegreeSummary {
                min: 0,
                max: 3,
                mean: 1.2,
                isolated: 1
            }
        );
        let none = DegreeSummary {
            min: 0,
            max: 0,
            mean: 0.0,
            isolated: 0,
        };
        assert_eq!(degree_summary(&Graph::empty(0).unwrap()), none);
    }

    #[test]
    fn homophily_leaves_unlabelled_nodes_out() {
        // 0-1 same, 1-2 differ, 2-3 has an unlabelled end, 4 is alone.
        let labels = Labels::new(vec![Some(0), Some(0), Some(1), None, Some(1)], 2).unwrap();
        let bare = path(4).unwrap();
        assert_eq!((edge_homophily(&bare), node_homophily(&bare)), (None, None));
        let g = Graph::from_edges(5, [(0, 1), (1, 2), (2, 3)])
            .unwrap()
            .0
            .with_labels(labels.clone())
            .unwrap();
        assert_eq!(edge_homophily(&g), Some(0.5));
        assert_eq!(node_homophily(&g), Some((1.0 + 0.5 + 0.0) / 3.0));
        let edgeless = Graph::empty(5).unwrap().with_labels(labels).unwrap();
        assert_eq!(
            (edge_homophily(&edgeless), node_homophily(&edgeless)),
            (None, None)
        );
    }

    #[test]
    fn energies_by_hand_and_their_zeros() {
        // Path 0-1-2, degrees 1, 2, 1: x = √(1 + d) has no normalised energy.
        let g = path(3).unwrap();
        let smooth = DenseMatrix::new(3, 1, vec![2f64.sqrt(), 3f64.sqrt(), 2f64.sqrt()]).unwrap();
        assert!(dirichlet_energy(&g, &smooth, DirichletEnergy::Normalised).unwrap() < 1e-30);
        let x = DenseMatrix::new(3, 1, vec![1.0, 0.0, 0.0]).unwrap();
        assert!(
            (dirichlet_energy(&g, &x, DirichletEnergy::Normalised).unwrap() - 0.5).abs() < 1e-15
        );
        let weighted = Graph::from_weighted_edges(2, [(0, 1, 3.0)]).unwrap().0;
        let x = DenseMatrix::new(2, 1, vec![2.0, 0.0]).unwrap();
        assert_eq!(
            dirichlet_energy(&weighted, &x, DirichletEnergy::Unnormalised).unwrap(),
            12.0
        );
        assert!(
            (dirichlet_energy(&weighted, &x, DirichletEnergy::Normalised).unwrap() - 3.0).abs()
                < 1e-15
        );
        let e = dirichlet_energy(&g, &x, DirichletEnergy::Normalised)
            .unwrap_err()
            .to_string();
        assert_eq!(e, "dirichlet_energy: 2 rows for a graph of 3 nodes");
        let negative = Graph::from_weighted_edges(2, [(0, 1, -2.0)]).unwrap().0;
        assert!(
            dirichlet_energy(&negative, &x, DirichletEnergy::Normalised)
                .unwrap_err()
                .to_string()
                .contains("degree -2")
        );
    }

    #[test]
    fn walks_need_edges() {
        assert_eq!(
            stationary_distribution(&star(4).unwrap()).unwrap(),
            [0.5, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0]
        );
        let e = stationary_distribution(&Graph::empty(3).unwrap())
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "stationary_distribution: the graph has no edges to walk on"
        );
        let negative = Graph::from_weighted_edges(2, [(0, 1, -2.0)]).unwrap().0;
        assert!(
            stationary_distribution(&negative)
                .unwrap_err()
                .to_string()
                .contains("weight -2 is negative")
        );
    }
}
