//! Operator by rows, for training on sampled neighbourhoods and for layer-wise prediction: the
//! matrix of the whole graph is never built, only a few numbers per node.

use std::sync::Arc;

use gnarl_graph::operator::{ClassicalOperator, RowFactors};
use gnarl_graph::sample::{Fanout, Hop, Neighbourhood, Sampler};
use gnarl_graph::{Error, Features, Graph};

use super::cgso::CgsoOperator;
use super::choice::{OperatorChoice, mean_log_degree};
use crate::features::Scaler;
use crate::networks::{
    Backbone, DefaultOperator, Input, LearnableOperator, Network, OperatorScalar, Pass,
    Propagation, Shape,
};
use gnarl_graph::Result;
use gnarl_tensor::{Operator, Pattern, Tensor};

/// Graph and its operator, with access to any rows.
#[derive(Debug)]
pub struct RowOperator {
    graph: Graph,
    scaler: Scaler,
    kind: Kind,
    mean_log_degree: f64,
    scalars: Vec<OperatorScalar>,
}

#[derive(Debug)]
enum Kind {
    /// Every value is one, with self-loops.
    SelfLoopPattern,
    Fixed(RowFactors),
    Learned(CgsoOperator),
}

/// Number of arcs whose senders' vectors are in memory at once during layer-wise prediction.
const ARCS_AT_ONCE: usize = 1 << 18;

/// Maximal memory for a graph's mapped files: the system may keep more of them if it has free
/// memory.
const MAPPED_BYTES: usize = 3 << 28;

/// Returns the bytes of files mapped into this process's memory now, if the system reports them.
fn mapped_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = status.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(pages * 4096)
}

impl RowOperator {
    /// Computes the degrees or centralities that rows depend on. Features are unchanged and are
    /// scaled as they are read.
    pub fn new(
        graph: &Graph,
        scaler: &Scaler,
        backbone: Backbone,
        choice: OperatorChoice,
    ) -> Result<Self> {
        let kind = match choice {
            OperatorChoice::Classical(kind) => Kind::Fixed(kind.rows(graph)?),
            OperatorChoice::Cgso(config) => {
                Kind::Learned(CgsoOperator::without_arcs(graph, config)?)
            }
            OperatorChoice::Default => match backbone.default_operator() {
                DefaultOperator::Classical(kind) => Kind::Fixed(kind.rows(graph)?),
                DefaultOperator::SelfLoopPattern => Kind::SelfLoopPattern,
                DefaultOperator::SymmetricNormalised => {
                    let mut rows = ClassicalOperator::SYMMETRIC_LAPLACIAN.rows(graph)?;
                    // I - L: the arcs with the opposite sign, and no diagonal.
                    rows.diagonal = None;
                    rows.left = rows.left.map(|left| left.iter().map(|x| -x).collect());
                    Kind::Fixed(rows)
                }
            },
        };
        let scalars = match &kind {
            Kind::Learned(cgso) => cgso.scalars(),
            _ => Vec::new(),
        };
        let mean_log_degree = mean_log_degree(graph);
        Ok(Self {
            graph: graph.clone(),
            scaler: scaler.clone(),
            kind,
            mean_log_degree,
            scalars,
        })
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the mean of `ln(degree + 1)`.
    pub fn mean_log_degree(&self) -> f64 {
        self.mean_log_degree
    }

    /// Returns the shape of a network on this graph for this number of classes.
    pub fn shape(&self, num_classes: usize) -> Shape<'_> {
        let in_dim = self.graph.num_features().unwrap_or(self.graph.num_nodes());
        Shape {
            in_dim,
            num_classes,
            mean_log_degree: self.mean_log_degree,
            scalars: &self.scalars,
        }
    }

    /// Returns the scaled features of some nodes; rows of the identity if there are none.
    pub fn input(&self, nodes: &[u32]) -> Result<Input> {
        let features = match self.graph.features_of(nodes) {
            Some(features) => self.scaler.apply_to(features),
            None => {
                let n = self.graph.num_nodes();
                let ones = vec![1f32; nodes.len()];
                let rows = gnarl_graph::CsrMatrix::new(
                    n,
                    (0..=nodes.len() as u64).collect(),
                    nodes.to_vec(),
                    ones,
                )?;
                Features::Sparse(rows)
            }
        };
        Ok(match features {
            // The choice between sparse and dense rows must not depend on the selected rows.
            Features::Dense(m) => {
                let shape = (m.num_rows(), m.num_cols());
                Input::Dense(Tensor::from_vec(
                    m.into_data(),
                    shape,
                    &gnarl_tensor::Device::Cpu,
                )?)
            }
            Features::Sparse(_) => Input::from_features(&features)?,
        })
    }

    /// Releases memory of a graph's mapped files to the system if it exceeds 768 MB.
    pub fn limit_memory(&self) {
        if self.graph.is_on_disk() && mapped_bytes().is_some_and(|bytes| bytes > MAPPED_BYTES) {
            self.graph.release();
        }
    }

    /// Computes the propagation of a neighbourhood.
    pub fn propagation(&self, neighbourhood: &Neighbourhood) -> Result<Propagation> {
        let Neighbourhood {
            nodes,
            sizes,
            rounds,
        } = neighbourhood;
        let count = rounds.len();
        let operators = || -> Result<Vec<Operator>> {
            let operator = |(i, hop): (usize, &Hop)| self.operator(nodes, sizes[count - i], hop);
            rounds.iter().enumerate().map(operator).collect()
        };
        match &self.kind {
            Kind::Learned(cgso) => {
                let learnable = cgso.on_neighbourhood(neighbourhood)?;
                let start: Vec<f32> = learnable
                    .scalars()
                    .iter()
                    .map(|scalar| scalar.start)
                    .collect();
                let operator = learnable.with_scalars(&Tensor::from_slice(
                    &start,
                    start.len(),
                    &gnarl_tensor::Device::Cpu,
                )?)?;
                Ok(Propagation {
                    operator,
                    two_hop: None,
                    learnable: Some(Arc::new(learnable)),
                    layer_operators: Vec::new(),
                })
            }
            _ => {
                let layer_operators = operators()?;
                let Some(operator) = layer_operators.first().cloned() else {
                    return Err(Error::argument("sampling", "a neighbourhood without hops"));
                };
                Ok(Propagation {
                    operator,
                    two_hop: None,
                    learnable: None,
                    layer_operators,
                })
            }
        }
    }

    /// Computes the operator of one layer whose senders are the first `senders` nodes.
    fn operator(&self, nodes: &[u32], senders: usize, hop: &Hop) -> Result<Operator> {
        let rows = hop.offsets.len() - 1;
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for (i, &u) in nodes[..rows].iter().enumerate() {
            let own = match &self.kind {
                Kind::SelfLoopPattern => 1.0,
                Kind::Fixed(factors) => factors.own(u),
                Kind::Learned(_) => 0.0,
            };
            if own != 0.0 {
                indices.push(i as u32);
                values.push(own);
            }
            for k in hop.offsets[i]..hop.offsets[i + 1] {
                let sender = hop.senders[k];
                indices.push(sender);
                values.push(match &self.kind {
                    Kind::Fixed(factors) => factors.arc(u, nodes[sender as usize], hop.weights[k]),
                    _ => hop.weights[k],
                });
            }
            offsets.push(indices.len());
        }
        let pattern = Arc::new(Pattern::new(senders, offsets, indices));
        Ok(match self.kind {
            Kind::SelfLoopPattern => Operator::from_pattern(pattern),
            _ => Operator::constant_on(pattern, values),
        })
    }

    /// Class scores of every node, `[nodes, classes]`, as the network gives them on the whole
    /// graph: one layer after the other, each in blocks of nodes. Between two layers all nodes'
    /// vectors are in memory. Fails for a network that is no stack of layers.
    pub fn scores(
        &self,
        network: &Network,
        weights: &crate::networks::Weights,
    ) -> Result<Vec<f32>> {
        let Some(num_layers) = network.num_layers() else {
            let what = format!(
                "{} is not computed one layer after the other",
                network.config().backbone
            );
            return Err(Error::unsupported("inference", what));
        };
        let pass = Pass::evaluation(weights);
        let mut before: Option<(Vec<f32>, usize)> = None;
        for layer in 0..num_layers {
            let mut vectors = Vec::new();
            let mut width = 0;
            let mut sampler = Sampler::new(&self.graph, Fanout::all(1));
            for block in self.blocks() {
                let receivers: Vec<u32> = block.collect();
                let neighbourhood = sampler.sample(&receivers, 0, 0);
                let propagation = self.propagation(&neighbourhood)?;
                let operator = network.propagation(&propagation, &pass)?.layer(0).clone();
                let x = match &before {
                    None => self.input(&neighbourhood.nodes)?,
                    Some((vectors, width)) => gathered(vectors, *width, &neighbourhood.nodes)?,
                };
                let y = network.forward_layer(layer, &operator, &x, &pass)?;
                if vectors.is_empty() {
                    width = y.dims()[1];
                    vectors.reserve_exact(self.graph.num_nodes() * width);
                }
                vectors.extend(y.flatten_all()?.to_vec1::<f32>()?);
                self.limit_memory();
            }
            before = Some((vectors, width));
        }
        Ok(before.map_or_else(Vec::new, |(vectors, _)| vectors))
    }

    /// Returns ranges of nodes with about as many arcs each.
    fn blocks(&self) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
        let n = self.graph.num_nodes() as u32;
        let mut start = 0;
        std::iter::from_fn(move || {
            if start == n {
                return None;
            }
            let first = start;
            let mut arcs = 0;
            while start < n && (start == first || arcs + self.graph.degree(start) < ARCS_AT_ONCE) {
                arcs += self.graph.degree(start) + 1;
                start += 1;
            }
            Some(first..start)
        })
    }
}

fn gathered(vectors: &[f32], width: usize, nodes: &[u32]) -> Result<Input> {
    let mut rows = Vec::with_capacity(nodes.len() * width);
    for &u in nodes {
        rows.extend_from_slice(&vectors[u as usize * width..(u as usize + 1) * width]);
    }
    Ok(Input::Dense(Tensor::from_vec(
        rows,
        (nodes.len(), width),
        &gnarl_tensor::Device::Cpu,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::Capability;
    use crate::networks::NetworkConfig;
    use crate::operator::{Cgso, Initialisation, Prepared};
    use gnarl_graph::generate::{CsbmConfig, csbm};

    fn graph() -> Graph {
        csbm(
            &CsbmConfig {
                num_nodes: 120,
                ..CsbmConfig::default()
            },
            4,
        )
        .unwrap()
    }

    fn choices(backbone: Backbone) -> Vec<OperatorChoice> {
        let mut all = vec![OperatorChoice::Default];
        if backbone.provides(Capability::EdgeWeights) {
            all.extend(ClassicalOperator::ALL.map(OperatorChoice::Classical));
        }
        if backbone.fixed_operator().is_none() {
            let init = Initialisation::Of(ClassicalOperator::SIGNLESS_LAPLACIAN);
            for centrality in ["degree", "degree+walks"] {
                all.push(OperatorChoice::Cgso(Cgso {
                    centrality: centrality.parse().unwrap(),
                    init,
                }));
            }
        }
        all
    }

    /// With every neighbour sampled, a neighbourhood gives the scores of the whole graph, and so
    /// does layer-wise computation.
    #[test]
    fn whole_neighbourhoods_and_layers_give_what_the_whole_graph_gives() {
        let graph = graph();
        let items = [3u32, 50, 7, 119];
        for backbone in Backbone::all().filter(|b| b.provides(Capability::SampledTraining)) {
            for choice in choices(backbone) {
                for (layers, head) in [(1, false), (2, true), (3, false)] {
                    let what = format!("{backbone}, {choice}, {layers} layers");
                    let prepared = Prepared::new(&graph, backbone, choice).unwrap();
                    let config = NetworkConfig {
                        layers,
                        head,
                        hidden: 8,
                        ..NetworkConfig::new(backbone.where_taken("heads", 2))
                    };
                    let network = Network::new(&config, &prepared.shape(3), 3).unwrap();
                    let weights = network.params().weights().unwrap().detached();
                    let whole = network
                        .forward(
                            &prepared.propagation,
                            &prepared.input,
                            &Pass::evaluation(&weights),
                        )
                        .unwrap();
                    let whole = whole.to_vec2::<f32>().unwrap();
                    let rows =
                        RowOperator::new(&graph, &Scaler::AsLoaded, backbone, choice).unwrap();
                    assert_eq!(rows.shape(3).in_dim, network.in_dim());
                    // Laplacians subtract large numbers from one another: rounding is relative to
                    // the largest score.
                    let largest = whole.iter().flatten().fold(1f32, |m, x| m.max(x.abs()));
                    let unit = |a: &[f32]| a.iter().map(|x| x / largest).collect::<Vec<f32>>();
                    let close = |a: &[f32], b: &[f32]| {
                        crate::networks::testing::assert_close(&unit(a), &unit(b), 1e-5, &what)
                    };
                    let neighbourhood =
                        Sampler::new(&graph, Fanout::all(layers)).sample(&items, 1, 1);
                    let (propagation, input) = (
                        rows.propagation(&neighbourhood).unwrap(),
                        rows.input(&neighbourhood.nodes).unwrap(),
                    );
                    let some = network
                        .forward(&propagation, &input, &Pass::evaluation(&weights))
                        .unwrap();
                    let some = some.to_vec2::<f32>().unwrap();
                    assert_eq!(some.len(), items.len());
                    items
                        .iter()
                        .zip(&some)
                        .for_each(|(&u, scores)| close(scores, &whole[u as usize]));
                    close(&rows.scores(&network, &weights).unwrap(), &whole.concat());
                }
            }
        }
    }

    #[test]
    fn nodes_without_features_are_identified_by_the_identity() {
        let karate = gnarl_data::embedded::karate();
        let bare = Graph::from_edges(34, karate.edges()).unwrap().0;
        let rows = RowOperator::new(
            &bare,
            &Scaler::AsLoaded,
            Backbone::GCN,
            OperatorChoice::Default,
        )
        .unwrap();
        let input = rows
            .input(&[5, 0])
            .unwrap()
            .to_dense()
            .unwrap()
            .to_vec2::<f32>()
            .unwrap();
        assert_eq!(
            (input[0][5], input[1][0], input[0].iter().sum::<f32>()),
            (1.0, 1.0, 1.0)
        );
    }
}
