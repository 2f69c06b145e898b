//! Centrality graph shift operators (CGSO, Abbahaddou et al. 2024,
//! [arXiv:2411.04655](https://arxiv.org/abs/2411.04655)) with learnable scalars:
//!
//! ```text
//! Φ = m1 V^e1 + m2 V^e2 (A + a I) V^e3 + m3 I
//! ```
//!
//! or the sum of two such operators with different centralities, each with seven scalars of its
//! own. A centrality v = 0 counts as one, and the node's m1 and m2·a terms are dropped.
//!
//! Per node, `d = m1 v^e1 + m2 a v^e2 v^e3 + m3`, `r = m2 v^e2` and `c = v^e3`, with Φ = diag(d) +
//! diag(r) A diag(c): [`Operator::factored`]. Powers are taken in f64 as `exp(e ln v)` with
//! `e ln v` held within ±40: beyond, `v^e` stays at e^±40 (about 10^±17) and its exponent gets no
//! gradient. So the product of two powers fits an f32 whatever the walk count.

use std::sync::Arc;

use gnarl_graph::Graph;
use gnarl_graph::sample::{Hop, Neighbourhood};

use super::config::{Cgso, Initialisation, Scalars};
use crate::networks::{LearnableOperator, OperatorScalar};
use gnarl_tensor::tape::{Computed, Gradients, Operation, Sinks, apply};
use gnarl_tensor::{DType, Device, FactoredPattern, Operator, Result, Tensor, bail, by_precision};

/// Largest allowed `|e ln v|`.
const MAX_LOG: f64 = 40.0;

/// Learnable centrality operator on a graph.
#[derive(Debug)]
pub struct CgsoOperator {
    config: Cgso,
    /// Sparsity structure: one for all layers, or one for each.
    patterns: Vec<Arc<FactoredPattern>>,
    centralities: Arc<Vec<Levels>>,
}

/// Centrality of every node, as distinct values. Many nodes share a value, and a power is computed
/// once per value.
#[derive(Debug)]
struct Levels {
    /// Logarithm `ln v` of each distinct value; `None` for v = 0.
    logs: Vec<Option<f64>>,
    /// Index of each node's value.
    of_node: Vec<u32>,
}

impl Levels {
    fn new(values: &[f64]) -> Self {
        let mut distinct = values.to_vec();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        let position = |v: &f64| distinct.partition_point(|d| d < v) as u32;
        let logs = distinct
            .iter()
            .map(|&v| (v > 0.0).then(|| v.ln()))
            .collect();
        Self {
            logs,
            of_node: values.iter().map(position).collect(),
        }
    }
}

impl CgsoOperator {
    /// Computes the centralities of a graph. Fails for negative or infinite centralities and for an
    /// initialisation that is still to be selected.
    pub fn new(graph: &Graph, config: Cgso) -> gnarl_graph::Result<Self> {
        Self::of_union(graph, std::slice::from_ref(graph), config)
    }

    /// Computes the operator on the disjoint union of graphs, with their nodes concatenated: each
    /// graph has its own centralities.
    pub fn of_union(union: &Graph, parts: &[Graph], config: Cgso) -> gnarl_graph::Result<Self> {
        let centralities = Self::centralities(union.num_nodes(), parts, config)?;
        Ok(Self {
            config,
            patterns: vec![Arc::new(FactoredPattern::of(union))],
            centralities: Arc::new(centralities),
        })
    }

    /// Computes the centralities of a graph without its arcs: only operators of neighbourhoods can
    /// be built.
    pub fn without_arcs(graph: &Graph, config: Cgso) -> gnarl_graph::Result<Self> {
        let centralities =
            Self::centralities(graph.num_nodes(), std::slice::from_ref(graph), config)?;
        Ok(Self {
            config,
            patterns: Vec::new(),
            centralities: Arc::new(centralities),
        })
    }

    fn centralities(
        num_nodes: usize,
        parts: &[Graph],
        config: Cgso,
    ) -> gnarl_graph::Result<Vec<Levels>> {
        let refuse = |what: String| Err(gnarl_graph::Error::argument("cgso", what));
        if config.init == Initialisation::Auto {
            return refuse(
                "the initialisation 'auto' stands for seven; choose one of them before building it"
                    .into(),
            );
        }
        let mut centralities = Vec::new();
        for kind in config.centrality.iter() {
            let mut values = Vec::with_capacity(num_nodes);
            for part in parts {
                values.extend(kind.values(part)?);
            }
            if let Some(u) = values.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
                return refuse(format!(
                    "node {u} has {kind} {}, at least 0 is needed",
                    values[u]
                ));
            }
            centralities.push(Levels::new(&values));
        }
        Ok(centralities)
    }

    /// Restricts the operator to a sampled neighbourhood, with centralities of the whole graph.
    pub fn on_neighbourhood(&self, neighbourhood: &Neighbourhood) -> Result<Self> {
        let count = neighbourhood.rounds.len();
        let pattern = |(i, hop): (usize, &Hop)| {
            let (offsets, senders) = (hop.offsets.clone(), hop.senders.clone());
            Arc::new(FactoredPattern::of_rows(
                neighbourhood.sizes[count - i],
                offsets,
                senders,
                hop.weights.clone(),
            ))
        };
        let patterns = neighbourhood
            .rounds
            .iter()
            .enumerate()
            .map(pattern)
            .collect();
        Ok(Self {
            config: self.config,
            patterns,
            centralities: Arc::new(self.levels_of(&neighbourhood.nodes)),
        })
    }

    /// Returns the centralities of some nodes, in their order.
    fn levels_of(&self, nodes: &[u32]) -> Vec<Levels> {
        let levels = |l: &Levels| {
            let of_node = nodes.iter().map(|&u| l.of_node[u as usize]).collect();
            Levels {
                logs: l.logs.clone(),
                of_node,
            }
        };
        self.centralities.iter().map(levels).collect()
    }

    /// Returns its configuration.
    pub fn config(&self) -> Cgso {
        self.config
    }

    /// Computes the operator (of the first layer, if restricted) from the scalars of each part, in
    /// the order of [`Scalars::NAMES`]: a tensor `[7 · parts]`, which may take gradients.
    pub fn with_scalars(&self, scalars: &Tensor) -> Result<Operator> {
        let Some(first) = self.patterns.first() else {
            bail!("cgso: an operator without arcs")
        };
        Operator::factored(first, &self.factors(scalars)?)
    }

    /// Computes the factors of each node.
    fn factors(&self, scalars: &Tensor) -> Result<Tensor> {
        if scalars.dims() != [7 * self.centralities.len()] {
            bail!(
                "cgso: scalars of shape {:?} for {} centralities",
                scalars.dims(),
                self.centralities.len()
            );
        }
        apply(
            NodeFactors {
                centralities: self.centralities.clone(),
            },
            &[scalars],
        )
    }

    /// Computes the operator with the initial scalars.
    pub fn started(&self) -> Result<Operator> {
        let start: Vec<f32> = self.scalars().iter().map(|s| s.start).collect();
        self.with_scalars(&Tensor::from_slice(&start, start.len(), &Device::Cpu)?)
    }
}

impl LearnableOperator for CgsoOperator {
    fn scalars(&self) -> Vec<OperatorScalar> {
        self.config.scalars()
    }

    fn operators(&self, scalars: &[&Tensor]) -> Result<Vec<Operator>> {
        let factors = self.factors(&Tensor::cat(scalars, 0)?)?;
        self.patterns
            .iter()
            .map(|pattern| Operator::factored(pattern, &factors))
            .collect()
    }

    fn restricted(&self, order: &[u32], sizes: &[usize]) -> Result<Arc<dyn LearnableOperator>> {
        let pattern = |sizes: &[usize]| {
            Ok(Arc::new(
                self.patterns[0].restricted(order, sizes[0], sizes[1])?,
            ))
        };
        let patterns = sizes
            .windows(2)
            .rev()
            .map(pattern)
            .collect::<Result<Vec<_>>>()?;
        let centralities = Arc::new(self.levels_of(order));
        Ok(Arc::new(Self {
            config: self.config,
            patterns,
            centralities,
        }))
    }
}

/// From seven scalars per part to the numbers of each node, `[nodes, 1 + 2 · parts]`.
#[doc(hidden)]
pub struct NodeFactors {
    centralities: Arc<Vec<Levels>>,
}

/// Computes `exp(e · log)` within the range, and its derivative with respect to e.
fn power(e: f64, log: f64) -> (f64, f64) {
    let exponent = e * log;
    let value = exponent.clamp(-MAX_LOG, MAX_LOG).exp();
    (
        value,
        if exponent.abs() < MAX_LOG {
            log * value
        } else {
            0.0
        },
    )
}

/// Computes d, r and c of a node with this centrality.
fn factors(s: &Scalars, log: Option<f64>) -> [f64; 3] {
    let powers = |e: f64| power(e, log.unwrap_or(0.0)).0;
    let (listens, speaks) = (powers(s.e2), powers(s.e3));
    let own = if log.is_some() {
        s.m1 * powers(s.e1) + s.m2 * s.a * listens * speaks
    } else {
        0.0
    };
    [own + s.m3, s.m2 * listens, speaks]
}

/// Adds to `to` the gradients of the scalars from gradients to d, r and c at this centrality.
fn add_gradients(
    s: &Scalars,
    log: Option<f64>,
    [to_own, to_listens, to_speaks]: [f64; 3],
    to: &mut Scalars,
) {
    let powers = |e: f64| power(e, log.unwrap_or(0.0));
    let ((listens, by_e2), (speaks, by_e3)) = (powers(s.e2), powers(s.e3));
    to.m3 += to_own;
    to.m2 += to_listens * listens;
    to.e2 += to_listens * s.m2 * by_e2;
    to.e3 += to_speaks * by_e3;
    if log.is_some() {
        let (added, by_e1) = powers(s.e1);
        to.m1 += to_own * added;
        to.e1 += to_own * s.m1 * by_e1;
        to.m2 += to_own * s.a * listens * speaks;
        to.a += to_own * s.m2 * listens * speaks;
        to.e2 += to_own * s.m2 * s.a * by_e2 * speaks;
        to.e3 += to_own * s.m2 * s.a * listens * by_e3;
    }
}

fn to_scalars(values: &[f64]) -> Vec<Scalars> {
    values
        .as_chunks::<7>()
        .0
        .iter()
        .map(|s| Scalars::from_array(*s))
        .collect()
}

impl NodeFactors {
    /// Sums over the nodes of a value in their order, then over the values in order, in f64.
    fn gradient(&self, scalars: &[f64], grad: &[f64]) -> Vec<f64> {
        let stride = 1 + 2 * self.centralities.len();
        let mut out = Vec::with_capacity(7 * self.centralities.len());
        for (part, (s, levels)) in to_scalars(scalars)
            .iter()
            .zip(self.centralities.iter())
            .enumerate()
        {
            let mut of_level = vec![[0f64; 3]; levels.logs.len()];
            for (g, level) in grad.chunks_exact(stride).zip(&levels.of_node) {
                let sum = &mut of_level[*level as usize];
                sum[0] += g[0];
                sum[1] += g[1 + 2 * part];
                sum[2] += g[2 + 2 * part];
            }
            let mut to = Scalars::from_array([0.0; 7]);
            for (grads, log) in of_level.into_iter().zip(&levels.logs) {
                add_gradients(s, *log, grads, &mut to);
            }
            out.extend(to.to_array());
        }
        out
    }

    /// Computes the factors in tensor operations, in double precision.
    fn by_operations(&self, scalars: &Tensor) -> Result<Tensor> {
        let device = scalars.device();
        let wide = scalars.to_dtype(DType::F64)?;
        let (mut own, mut columns) = (None, Vec::new());
        for (part, levels) in self.centralities.iter().enumerate() {
            let count = levels.logs.len();
            let scalar = |i: usize| wide.narrow(0, 7 * part + i, 1);
            let logs = Tensor::from_iter(levels.logs.iter().map(|log| log.unwrap_or(0.0)), device)?;
            let is_there = levels
                .logs
                .iter()
                .map(|log| if log.is_some() { 1.0 } else { 0.0 });
            let is_there = Tensor::from_iter(is_there, device)?;
            let power = |i: usize| -> Result<Tensor> {
                let exponent = logs.broadcast_mul(&scalar(i)?)?;
                let is_within = exponent.abs()?.lt(MAX_LOG)?;
                let beyond = exponent.detach().sign()?.affine(MAX_LOG, 0.0)?;
                is_within.where_cond(&exponent, &beyond)?.exp()
            };
            // In the order of `Scalars::NAMES`: m1, m2, m3, e1, e2, e3, a.
            let (added, listens, speaks) = (power(3)?, power(4)?, power(5)?);
            let listens = listens.broadcast_mul(&scalar(1)?)?;
            let both = listens.mul(&speaks)?.broadcast_mul(&scalar(6)?)?;
            let of_level = added
                .broadcast_mul(&scalar(0)?)?
                .add(&both)?
                .mul(&is_there)?
                .broadcast_add(&scalar(2)?)?;
            let of_node = Tensor::from_slice(&levels.of_node, levels.of_node.len(), device)?;
            let to_nodes = |x: &Tensor| x.reshape((count, 1))?.index_select(&of_node, 0);
            own = Some(match own {
                Some(sum) => to_nodes(&of_level)?.add(&sum)?,
                None => to_nodes(&of_level)?,
            });
            columns.extend([to_nodes(&listens)?, to_nodes(&speaks)?]);
        }
        columns.splice(0..0, own);
        Tensor::cat(&columns, 1)?.to_dtype(scalars.dtype())
    }
}

impl Operation for NodeFactors {
    fn name(&self) -> &'static str {
        "centrality factors"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let scalars = to_scalars(&inputs[0].to_dtype(DType::F64)?.values::<f64>()?);
        let nodes = self
            .centralities
            .first()
            .map_or(0, |levels| levels.of_node.len());
        let stride = 1 + 2 * self.centralities.len();
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let mut out = vec![0 as T; nodes * stride];
            for (part, (s, levels)) in scalars.iter().zip(self.centralities.iter()).enumerate() {
                let of_level: Vec<[T; 3]> =
                    levels.logs.iter().map(|log| factors(s, *log).map(|factor| factor as T)).collect();
                for (out, level) in out.chunks_exact_mut(stride).zip(&levels.of_node) {
                    let [own, listens, speaks] = of_level[*level as usize];
                    out[0] += own;
                    out[1 + 2 * part] = listens;
                    out[2 + 2 * part] = speaks;
                }
            }
            Tensor::from_vec(out, (nodes, stride), inputs[0].device())
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| self.by_operations(&inputs[0]))
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let scalars = &at.inputs[0];
        let (values, grads) = (scalars.to_dtype(DType::F64)?, grad.to_dtype(DType::F64)?);
        let gradient = self.gradient(&values.values::<f64>()?, &grads.values::<f64>()?);
        let gradient = Tensor::from_vec(gradient, scalars.shape(), scalars.device())?;
        to.give(0, gradient.to_dtype(scalars.dtype())?)
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use gnarl_tensor::testing::{Example, Examples};

    impl Examples for NodeFactors {
        fn examples() -> Vec<Example> {
            let graph = Graph::from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)])
                .unwrap()
                .0;
            let on = |centrality: &str| {
                let init = Initialisation::Of(gnarl_graph::operator::ClassicalOperator::ADJACENCY);
                let config = Cgso {
                    centrality: centrality.parse().unwrap(),
                    init,
                };
                let cgso = CgsoOperator::new(&graph, config).unwrap();
                let shape = [7 * cgso.centralities.len()];
                Example::of(&[&shape], move |v| cgso.factors(&v[0]))
            };
            ["degree", "core", "pagerank", "degree+core"].map(on).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::layer::classical;
    use gnarl_graph::centrality::Centrality;
    use gnarl_graph::operator::ClassicalOperator as Op;
    use gnarl_tensor::Var;
    use gnarl_tensor::testing::{check_gradients, random};

    fn config(centrality: &str, init: Op) -> Cgso {
        Cgso {
            centrality: centrality.parse().unwrap(),
            init: Initialisation::Of(init),
        }
    }

    /// A square with a diagonal and a tail; degrees 2, 3, 2, 4, 1 and an isolated node.
    fn graph(alone: bool) -> Graph {
        let nodes = if alone { 6 } else { 5 };
        Graph::from_edges(nodes, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)])
            .unwrap()
            .0
    }

    fn dense(operator: &Operator) -> Vec<f32> {
        let eye = Tensor::eye(operator.num_cols(), gnarl_tensor::DType::F32, &Device::Cpu).unwrap();
        operator
            .apply(&eye)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap()
    }

    fn assert_same(a: &[f32], b: &[f32], what: &str) {
        assert_eq!(a.len(), b.len(), "{what}");
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= 1e-6, "{what}, entry {i}: {a} against {b}");
        }
    }

    #[test]
    fn starts_as_the_classical_operator() {
        let graph = graph(false);
        for op in Op::ALL
            .into_iter()
            .filter(|op| *op != Op::NORMALISED_ADJACENCY)
        {
            let ours = CgsoOperator::new(&graph, config("degree", op))
                .unwrap()
                .started()
                .unwrap();
            assert_same(
                &dense(&ours),
                &dense(&classical(&graph, op).unwrap()),
                &op.to_string(),
            );
        }
        // The paper's A_hat divides by the degrees without the self-loop.
        let ours = CgsoOperator::new(&graph, config("degree", Op::NORMALISED_ADJACENCY))
            .unwrap()
            .started()
            .unwrap();
        let mut expected = vec![0f32; 25];
        let degree = |u: usize| graph.degree(u as u32) as f32;
        for u in 0..5 {
            expected[6 * u] = 1.0 / degree(u);
            for &v in graph.neighbours(u as u32) {
                expected[5 * u + v as usize] = 1.0 / (degree(u) * degree(v as usize)).sqrt();
            }
        }
        assert_same(&dense(&ours), &expected, "A_hat");
    }

    #[test]
    fn a_node_without_edges_keeps_the_identity_alone() {
        let graph = graph(true);
        let cgso = CgsoOperator::new(&graph, config("degree", Op::ADJACENCY)).unwrap();
        let scalars = Tensor::new(&[2f32, 3.0, 0.25, 1.0, 0.5, 0.5, 5.0], &Device::Cpu).unwrap();
        let phi = dense(&cgso.with_scalars(&scalars).unwrap());
        assert_eq!(phi[35], 0.25);
        // Node 4, of degree 1: 2 + 3 · 5 + 0.25; towards node 3, of degree 4: 3 · 1 · 2.
        assert_eq!((phi[28], phi[27]), (17.25, 6.0));
    }

    #[test]
    fn two_operators_are_summed() {
        let graph = graph(true);
        let one = [0.3f32, 0.7, -0.2, 0.4, -0.5, 0.1, 0.6];
        let other = [-0.4f32, 0.2, 0.9, -0.3, 0.25, -0.75, 0.8];
        let of = |centrality: &str, scalars: &[f32]| {
            let cgso = CgsoOperator::new(&graph, config(centrality, Op::ADJACENCY)).unwrap();
            dense(
                &cgso
                    .with_scalars(
                        &Tensor::from_slice(scalars, scalars.len(), &Device::Cpu).unwrap(),
                    )
                    .unwrap(),
            )
        };
        let expected: Vec<f32> = of("degree", &one)
            .iter()
            .zip(of("walks", &other))
            .map(|(a, b)| a + b)
            .collect();
        assert_same(
            &of("degree+walks", &[one, other].concat()),
            &expected,
            "degree+walks",
        );
    }

    /// All seven scalars, through the product and through the entries, away from and at exponents
    /// of zero.
    #[test]
    fn gradients_to_every_scalar() {
        let graph = graph(true);
        let x = random(&[6, 3], 2);
        for scalars in [
            vec![0.3f32, 0.7, -0.2, 0.4, -0.5, 0.1, 0.6],
            vec![0.5, -1.0, 0.2, 0.0, 0.0, 0.0, 0.0],
        ] {
            for centrality in ["degree", "core", "pagerank", "degree+core"] {
                let cgso = CgsoOperator::new(&graph, config(centrality, Op::ADJACENCY)).unwrap();
                let parts = cgso.config().centrality.iter().count();
                let scalars =
                    Tensor::from_vec(scalars.repeat(parts), 7 * parts, &Device::Cpu).unwrap();
                check_gradients(std::slice::from_ref(&scalars), |v| {
                    cgso.with_scalars(&v[0])?.apply(&x)
                });
                check_gradients(&[scalars], |v| cgso.with_scalars(&v[0])?.values());
            }
        }
    }

    #[test]
    fn a_million_walks_neither_overflow_nor_turn_into_nan() {
        // A star of 1001 nodes: 1000 walks of length 1 from the hub, 10^6 of length 3.
        let star = Graph::from_edges(1001, (1..1001u32).map(|v| (0, v)))
            .unwrap()
            .0;
        let walks = Centrality::walks(3);
        assert_eq!(walks.values(&star).unwrap()[0], 1e6);
        let cgso = CgsoOperator::new(&star, config("walks:3", Op::ADJACENCY)).unwrap();
        for e in [-50f32, -6.0, -1.0, 0.0, 1.0, 2.0, 6.0, 50.0] {
            let scalars = Var::new(&[1f32, 1.0, 1.0, e, e, e, 1.0], &Device::Cpu).unwrap();
            let y = cgso
                .with_scalars(&scalars)
                .unwrap()
                .apply(&random(&[1001, 4], 1))
                .unwrap();
            let y = (y * 1e-20).unwrap();
            assert!(
                y.flatten_all()
                    .unwrap()
                    .to_vec1::<f32>()
                    .unwrap()
                    .iter()
                    .all(|v| v.is_finite()),
                "e = {e}"
            );
            let grads = y.sum_all().unwrap().backward().unwrap();
            let grad = grads.get(&scalars).unwrap().to_vec1::<f32>().unwrap();
            assert!(grad.iter().all(|g| g.is_finite()), "e = {e}: {grad:?}");
        }
        assert_eq!(power(2.0, 1e6f64.ln()).0.round(), 1e12);
        assert_eq!(power(6.0, 1e6f64.ln()), (MAX_LOG.exp(), 0.0));
    }

    #[test]
    fn invalid_operators_are_refused() {
        let auto = Cgso {
            centrality: "core".parse().unwrap(),
            init: Initialisation::Auto,
        };
        assert!(
            CgsoOperator::new(&graph(true), auto)
                .unwrap_err()
                .to_string()
                .contains("stands for seven")
        );
        let negative = Graph::from_weighted_edges(2, [(0, 1, -1.0)]).unwrap().0;
        let e = CgsoOperator::new(&negative, config("degree", Op::ADJACENCY))
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("node 0 has degree -1, at least 0 is needed"),
            "{e}"
        );
    }
}
