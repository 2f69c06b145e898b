//! Augmentation in graph space: a transform returns a changed copy of a graph.

use gnarl_graph::random::{Rng, mix, stream};
use gnarl_graph::{CsrMatrix, DenseMatrix, Error, Features, Graph, Result};
use rand::RngExt;
use rayon::prelude::*;

/// Transforms a graph into another graph of the same class. Features and labels stay with the nodes
/// ([`Graph::subgraph`], [`Graph::remove_edges`] and [`Graph::add_edges`] keep them). So do the
/// one-hot degrees of nodes without features, unless [degrees are
/// recomputed](Self::recomputes_degrees).
pub trait GraphTransform: std::fmt::Debug + Send + Sync {
    /// Returns the new graph. All randomness comes from `rng`.
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph>;

    /// Returns the new graph for node classification: all nodes are kept. Equals
    /// [`apply`](Self::apply) for a transform that keeps them anyway.
    fn apply_in_place(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        self.apply(graph, rng)
    }

    /// Returns the new graph, which may contain a part of another training graph, and that graph's
    /// share of the label, 0 to 1. A transform of single graphs does not use the partner.
    fn apply_with(&self, graph: &Graph, _partner: &Graph, rng: &mut Rng) -> Result<(Graph, f64)> {
        Ok((self.apply(graph, rng)?, 0.0))
    }

    /// Returns true if the new graph may have edges between nodes that had none.
    fn adds_edges(&self) -> bool {
        true
    }

    /// Returns true if nodes without features get their degrees in the copy, because the nodes are
    /// new. A node of the original graph keeps its degree there, as if one-hot degrees were made
    /// first: validation and test graphs have degrees without dropped edges.
    fn recomputes_degrees(&self) -> bool {
        false
    }

    /// Learns from all training graphs and their classes before copies are made; `None` for a
    /// transform that uses one graph, or two.
    fn learn<'a>(
        &self,
        _graphs: &[&'a Graph],
        _classes: &[u32],
        _seed: u64,
    ) -> Result<Option<Box<dyn FittedTransform + 'a>>> {
        Ok(None)
    }
}

/// A transform that has learned from the training graphs.
pub trait FittedTransform: Send + Sync {
    /// Returns the copy of a training graph, which may contain a part of another one, and that
    /// graph's share of the label, 0 to 1; both graphs by their positions.
    fn copy(&self, graph: usize, partner: usize, rng: &mut Rng) -> Result<(Graph, f64)>;
}

/// Collects feature rows of several sources, all of one width. Sparse if all of them are.
pub(super) fn rows_of(width: usize, rows: &[(&Features, usize)]) -> Result<Features> {
    if let Some(other) = rows.iter().find(|(from, _)| from.num_cols() != width) {
        let what = format!(
            "features of {} and of {width} columns in one graph",
            other.0.num_cols()
        );
        return Err(Error::argument("transform", what));
    }
    let sparse: Option<Vec<(&CsrMatrix<f32>, usize)>> = rows
        .iter()
        .map(|(from, row)| match from {
            Features::Sparse(matrix) => Some((matrix, *row)),
            Features::Dense(_) => None,
        })
        .collect();
    if let Some(rows) = sparse {
        let (mut offsets, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for (matrix, row) in rows {
            let (at, value) = matrix.row(row);
            indices.extend_from_slice(at);
            values.extend_from_slice(value);
            offsets.push(indices.len() as u64);
        }
        return Ok(Features::Sparse(CsrMatrix::new(
            width, offsets, indices, values,
        )?));
    }
    let mut data = Vec::with_capacity(rows.len() * width);
    for (from, row) in rows {
        match from {
            Features::Dense(matrix) => data.extend_from_slice(matrix.row(*row)),
            Features::Sparse(matrix) => {
                let start = data.len();
                data.resize(start + width, 0.0);
                let (at, value) = matrix.row(*row);
                at.iter()
                    .zip(value)
                    .for_each(|(&c, v)| data[start + c as usize] = *v);
            }
        }
    }
    Ok(Features::Dense(DenseMatrix::new(rows.len(), width, data)?))
}

/// Samples factors that are zero with probability `p` and keep the expectation of a sum, as in
/// dropout.
pub(super) fn kept_factors(count: usize, p: f64, rng: &mut Rng) -> Vec<f32> {
    let scale = if p < 1.0 {
        (1.0 / (1.0 - p)) as f32
    } else {
        0.0
    };
    (0..count)
        .map(|_| if rng.random_bool(p) { 0.0 } else { scale })
        .collect()
}

/// Returns the graph with each feature times a factor of its row and column; a graph without
/// features stays.
pub(super) fn with_scaled_features(
    graph: &Graph,
    factor: impl Fn(usize, usize) -> f32,
) -> Result<Graph> {
    let scaled = match graph.features() {
        None => return Ok(graph.clone()),
        Some(Features::Dense(m)) => {
            let width = m.num_cols().max(1);
            let data = m
                .data()
                .iter()
                .enumerate()
                .map(|(k, v)| v * factor(k / width, k % width))
                .collect();
            Features::Dense(DenseMatrix::new(m.num_rows(), m.num_cols(), data)?)
        }
        Some(Features::Sparse(m)) => {
            let mut values = m.values().to_vec();
            for i in 0..m.num_rows() {
                let row = m.offsets()[i] as usize..m.offsets()[i + 1] as usize;
                values[row.clone()]
                    .iter_mut()
                    .zip(&m.indices()[row])
                    .for_each(|(v, &c)| *v *= factor(i, c as usize));
            }
            Features::Sparse(CsrMatrix::new(
                m.num_cols(),
                m.offsets().to_vec(),
                m.indices().to_vec(),
                values,
            )?)
        }
    };
    graph.clone().with_features(scaled)
}

/// Returns the transformed graph of an epoch, for node classification.
pub fn transform_in_place(
    transform: &dyn GraphTransform,
    graph: &Graph,
    seed: u64,
    epoch: usize,
) -> Result<Graph> {
    transform.apply_in_place(
        graph,
        &mut stream(mix(seed ^ mix(epoch as u64)), "graph transform", 0),
    )
}

gnarl_graph::named! {
    /// Schedule of the augmented copies.
    pub enum Copies as "copies" {
        /// One copy for all epochs, next to its training graph.
        Fixed = "fixed",
        /// A new copy in every epoch, in the place of its training graph, as in DropEdge.
        EachEpoch = "each-epoch",
    }
}

/// A transformed graph and its label.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Copied {
    /// The graph.
    pub graph: Graph,
    /// Position of the other graph that was mixed in.
    pub partner: usize,
    /// That graph's share of the label, 0 to 1.
    pub partner_share: f64,
}

/// Returns the transformed graphs. Graph `i` has its own random stream: neither the order nor the
/// thread count matters.
pub fn transform_all(
    transform: &dyn GraphTransform,
    graphs: &[&Graph],
    seed: u64,
    epoch: usize,
) -> Result<Vec<Graph>> {
    let seed = mix(seed ^ mix(epoch as u64));
    let one = |(i, graph): (usize, &&Graph)| {
        transform.apply(graph, &mut stream(seed, "graph transform", i as u64))
    };
    graphs.par_iter().enumerate().map(one).collect()
}

/// Makes copies of training graphs, each with a partner sampled from all of them.
pub struct Copier<'a> {
    transform: &'a dyn GraphTransform,
    graphs: &'a [&'a Graph],
    fitted: Option<Box<dyn FittedTransform + 'a>>,
    seed: u64,
}

impl<'a> Copier<'a> {
    /// Fits the transform to the graphs and their classes.
    pub fn new(
        transform: &'a dyn GraphTransform,
        graphs: &'a [&'a Graph],
        classes: &[u32],
        seed: u64,
    ) -> Result<Self> {
        Ok(Self {
            transform,
            graphs,
            fitted: transform.learn(graphs, classes, seed)?,
            seed,
        })
    }

    /// Returns the copies of an epoch.
    pub fn copies(&self, epoch: usize) -> Result<Vec<Copied>> {
        let (graphs, seed) = (self.graphs, mix(self.seed ^ mix(epoch as u64)));
        let one = |(i, graph): (usize, &&Graph)| {
            let partner = stream(seed, "partner", i as u64).random_range(0..graphs.len());
            let rng = &mut stream(seed, "graph transform", i as u64);
            let (graph, partner_share) = match &self.fitted {
                Some(fitted) => fitted.copy(i, partner, rng)?,
                None => self.transform.apply_with(graph, graphs[partner], rng)?,
            };
            Ok(Copied {
                graph,
                partner,
                partner_share,
            })
        };
        graphs.par_iter().enumerate().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::Augment;
    use gnarl_graph::generate;
    use gnarl_graph::settings::Kind;
    use proptest::prelude::*;

    /// Returns every transform with this value of its one real setting.
    fn every_transform(value: f64) -> impl Iterator<Item = (&'static str, Augment)> {
        Augment::all()
            .filter(|augment| augment.method().transform().is_some())
            .map(move |augment| {
                let mut real = augment.info().settings.iter();
                let real = real
                    .find(|setting| matches!(setting.kind, Kind::Real))
                    .unwrap();
                let augment = augment
                    .with(&[(real.name.to_string(), value.to_string())])
                    .unwrap();
                (augment.name(), augment)
            })
    }

    /// Returns true if the lists of neighbours are sorted and symmetric, without loops or
    /// duplicates.
    fn is_simple(graph: &Graph) -> bool {
        (0..graph.num_nodes() as u32).all(|u| {
            let near = graph.neighbours(u);
            near.windows(2).all(|w| w[0] < w[1])
                && near.iter().all(|&v| v != u && graph.has_edge(v, u))
        })
    }

    proptest! {
        #[test]
        fn transforms_give_valid_graphs(n in 0usize..30, m in 1usize..30, p in 0.0f64..1.0, s in 0.0f64..=1.0, seed in any::<u64>()) {
            let columns = |g: Graph| {
                let features = gnarl_graph::DenseMatrix::new(g.num_nodes(), 2, vec![1f32; 2 * g.num_nodes()]).unwrap();
                g.with_features(gnarl_graph::Features::Dense(features)).unwrap()
            };
            let graphs = [columns(generate::erdos_renyi(n, p, seed).unwrap()), columns(generate::erdos_renyi(m, p, !seed).unwrap())];
            let graphs: Vec<&Graph> = graphs.iter().collect();
            for (name, transform) in every_transform(s) {
                let copies = Copier::new(transform.method().transform().unwrap().0, &graphs, &[0, 1], seed).unwrap().copies(1).unwrap();
                for (copy, original) in copies.iter().zip(&graphs) {
                    prop_assert!(is_simple(&copy.graph), "{}", name);
                    let both = original.num_nodes().max(graphs[copy.partner].num_nodes());
                    let most = if copy.partner_share > 0.0 { both } else { original.num_nodes() };
                    prop_assert!(copy.graph.num_nodes() <= most, "{}: no more than what went into it", name);
                    prop_assert_eq!(copy.graph.num_nodes() == 0, original.num_nodes() == 0, "{}", name);
                    prop_assert_eq!(copy.graph.features().unwrap().num_rows(), copy.graph.num_nodes());
                    prop_assert!((0.0..=1.0).contains(&copy.partner_share));
                }
            }
        }
    }

    #[test]
    fn seeds_and_epochs_fix_copies_and_threads_do_not_matter() {
        let columns = |g: Graph| {
            let features =
                DenseMatrix::new(g.num_nodes(), 4, vec![1f32; 4 * g.num_nodes()]).unwrap();
            g.with_features(Features::Dense(features)).unwrap()
        };
        let graphs: Vec<Graph> = (0..12)
            .map(|i| columns(generate::erdos_renyi(15, 0.3, i).unwrap()))
            .collect();
        let graphs: Vec<&Graph> = graphs.iter().collect();
        let classes: Vec<u32> = (0..12).map(|i| i % 3).collect();
        for (name, transform) in every_transform(0.5) {
            let targets = |threads, seed, epoch| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let method = transform.method().transform().unwrap().0;
                let copies = pool
                    .install(|| Copier::new(method, &graphs, &classes, seed)?.copies(epoch))
                    .unwrap();
                let features = |g: &Graph| g.features().unwrap().to_dense().data().to_vec();
                let of = |c: &Copied| {
                    (
                        c.graph.targets().to_vec(),
                        features(&c.graph),
                        c.partner,
                        c.partner_share,
                    )
                };
                copies.iter().map(of).collect::<Vec<_>>()
            };
            assert_eq!(targets(1, 1, 1), targets(3, 1, 1), "{name}");
            assert_ne!(
                targets(1, 1, 1),
                targets(1, 2, 1),
                "{name}: the seed matters"
            );
            assert_ne!(
                targets(1, 1, 1),
                targets(1, 1, 2),
                "{name}: so does the epoch"
            );
        }
        for (name, transform) in every_transform(0.5) {
            let none = Copier::new(transform.method().transform().unwrap().0, &[], &[], 1).unwrap();
            assert!(none.copies(1).unwrap().is_empty(), "{name}");
        }
    }

    #[test]
    fn copies_are_read_by_name() {
        assert_eq!("EACH-EPOCH".parse::<Copies>().unwrap(), Copies::EachEpoch);
        let e = "fixt".parse::<Copies>().unwrap_err().to_string();
        assert!(
            e.contains("unknown copies 'fixt'; did you mean fixed"),
            "{e}"
        );
    }
}
