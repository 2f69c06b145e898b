//! Operators given by numbers per node: `Φ = diag(d) + Σ_p diag(r_p) A diag(c_p)` (thesis ch. 3, the learnable centrality
//! operator and sums of it).
//!
//! No value per entry is ever stored or differentiated. With `s_p = A (c_p ∘ x)` and `t_p = Aᵀ (r_p ∘ g)`, and A symmetric,
//!
//! ```text
//! y = d ∘ x + Σ_p r_p ∘ s_p          ∂x   = d ∘ g + Σ_p c_p ∘ t_p
//! ∂d_i = <g_i, x_i>     ∂r_pi = <g_i, s_pi>     ∂c_pi = <x_i, t_pi>
//! ```
//!
//! so a step costs one product with A per part and direction, as a constant operator does, and a few passes over the rows.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Device, Layout, Result, Shape, Storage, Tensor, bail};
use gnarl_graph::Graph;

use super::activation::{Dropout, relu_dropout_gradient};
use super::bias::column_sums;
use super::kernels::{self, Rows, inner_product};
use super::pattern::{Pattern, Places};
use super::simd::simd_dispatch;
use super::{floats, matrix_shape};

/// What a factored operator takes from its graph: the matrix A and the pattern of A + I, or some rows of them.
#[derive(Debug)]
pub struct Skeleton {
    /// The rows of A, by receiver.
    by_receiver: Arc<Side>,
    /// The rows of Aᵀ, by sender: the same where A is symmetric.
    by_sender: Arc<Side>,
    looped: Arc<Pattern>,
}

/// A's entries, seen from one side.
#[derive(Debug)]
struct Side {
    pattern: Pattern,
    /// `None` where every edge weighs one.
    weights: Option<Vec<f32>>,
}

impl Side {
    fn weight(&self, entry: usize) -> f32 {
        self.weights.as_ref().map_or(1.0, |w| w[entry])
    }

    /// For each part the entries times a factor of their columns, given by its position among a node's numbers.
    fn scaled(&self, factors: Factors<'_>, position: fn(usize) -> usize) -> Vec<Vec<f32>> {
        let of_part = |part: usize| -> Vec<f32> {
            let nodes = 0..self.pattern.num_cols();
            let factor: Vec<f32> = nodes.map(|node| factors.get(node, position(part))).collect();
            let columns = self.pattern.indices().iter().map(|&c| factor[c as usize]);
            match &self.weights {
                None => columns.collect(),
                Some(weights) => columns.zip(weights).map(|(c, w)| c * w).collect(),
            }
        };
        (0..factors.parts()).map(of_part).collect()
    }

    fn rows<'a>(&'a self, values: &'a [f32]) -> Rows<'a> {
        Rows { pattern: &self.pattern, values, heads: 1 }
    }

    /// The product of these entries' values with x.
    fn gather(&self, values: &[f32], x: &[f32], width: usize) -> Vec<f32> {
        let mut out = vec![0f32; self.pattern.num_rows() * width];
        let rows = self.rows(values);
        self.pattern.for_row_blocks(&mut out, width, |range, out| {
            kernels::gather_rows_over(rows, range, x, width, out);
        });
        out
    }
}

impl Skeleton {
    /// The skeleton of a graph.
    pub fn of(graph: &Graph) -> Self {
        let n = graph.num_nodes();
        let mut offsets = vec![0];
        let (mut looped_offsets, mut looped) = (vec![0], Vec::with_capacity(graph.num_arcs() + n));
        for u in 0..n as u32 {
            let neighbours = graph.neighbours(u);
            let before = neighbours.partition_point(|&v| v < u);
            looped.extend_from_slice(&neighbours[..before]);
            looped.push(u);
            looped.extend_from_slice(&neighbours[before..]);
            looped_offsets.push(looped.len());
            offsets.push(graph.arc_range(u).end);
        }
        let weights: Vec<f32> = (0..graph.num_arcs()).map(|k| graph.arc_weight(k) as f32).collect();
        let by_receiver = Arc::new(Side {
            pattern: Pattern::new(n, offsets, graph.targets().to_vec()),
            weights: weights.iter().any(|&w| w != 1.0).then_some(weights),
        });
        let looped = Arc::new(Pattern::new(n, looped_offsets, looped));
        Self { by_sender: by_receiver.clone(), by_receiver, looped }
    }

    /// How the first `receivers` nodes of `order` aggregate over the first `senders`, which must be all their
    /// neighbours.
    pub fn restricted(&self, order: &[u32], receivers: usize, senders: usize) -> Result<Self> {
        let place = Places::new(&order[..senders], self.num_senders());
        let (pattern, entries) = self.by_receiver.pattern.restricted(&order[..receivers], &place)?;
        let weights =
            self.by_receiver.weights.as_ref().map(|w| entries.iter().map(|&k| w[k as usize]).collect::<Vec<_>>());
        let transposed = pattern.transposed();
        let by_sender = Side {
            weights: weights.as_ref().map(|w| transposed.entry_of.iter().map(|&k| w[k as usize]).collect()),
            pattern: transposed.pattern.as_ref().clone(),
        };
        let (looped, _) = self.looped.restricted(&order[..receivers], &place)?;
        Ok(Self {
            by_receiver: Arc::new(Side { pattern, weights }),
            by_sender: Arc::new(by_sender),
            looped: Arc::new(looped),
        })
    }

    /// The pattern of A + I.
    pub fn looped(&self) -> &Arc<Pattern> {
        &self.looped
    }

    fn num_receivers(&self) -> usize {
        self.by_receiver.pattern.num_rows()
    }

    fn num_senders(&self) -> usize {
        self.by_receiver.pattern.num_cols()
    }

    /// Calls `entry` for every entry of A + I: its position, row, column, and the arc of A it is (none on the diagonal).
    fn for_entries(&self, mut entry: impl FnMut(usize, usize, usize, Option<usize>)) {
        let mut arc = 0;
        for row in 0..self.num_receivers() {
            for k in self.looped.row(row) {
                let column = self.looped.indices()[k] as usize;
                if column == row {
                    entry(k, row, column, None);
                } else {
                    entry(k, row, column, Some(arc));
                    arc += 1;
                }
            }
        }
    }
}

/// The numbers of the nodes, `[nodes, 1 + 2 · parts]`: d, then r and c of each part.
#[derive(Clone, Copy)]
struct Factors<'a> {
    values: &'a [f32],
    stride: usize,
}

impl<'a> Factors<'a> {
    fn new(values: &'a [f32], layout: &Layout) -> Result<Self> {
        Ok(Self { values, stride: matrix_shape(Apply::NAME, layout)?.1 })
    }

    fn parts(self) -> usize {
        (self.stride / 2).max(1)
    }

    fn get(self, node: usize, position: usize) -> f32 {
        self.values[node * self.stride + position]
    }
}

/// Where `r_p` and `c_p` stand among a node's numbers.
const fn row_factor(part: usize) -> usize {
    1 + 2 * part
}
const fn column_factor(part: usize) -> usize {
    2 + 2 * part
}

/// A factored operator: a graph's skeleton and the numbers of its nodes, which may take gradients.
#[derive(Debug, Clone)]
pub(super) struct Factored {
    skeleton: Arc<Skeleton>,
    factors: Tensor,
    entries: Arc<OnceLock<Tensor>>,
    scaled: Arc<Scaled>,
}

/// `A diag(c_p)` and `A diag(r_p)` of each part: made on first use and shared by the layers of a pass.
#[derive(Debug, Default)]
struct Scaled {
    columns: OnceLock<Vec<Vec<f32>>>,
    rows: OnceLock<Vec<Vec<f32>>>,
}

impl Factored {
    /// `factors` has shape `[nodes, 1 + 2 · parts]`: d, then r and c of each part.
    pub(super) fn new(skeleton: Arc<Skeleton>, factors: &Tensor) -> Result<Self> {
        let (nodes, stride) = factors.dims2()?;
        if nodes < skeleton.num_senders() || stride < 3 || stride % 2 == 0 {
            bail!("factored operator: factors {nodes} × {stride} for {} nodes", skeleton.num_senders());
        }
        Ok(Self { skeleton, factors: factors.contiguous()?, entries: Arc::default(), scaled: Arc::default() })
    }

    pub(super) fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// A value for each entry of A + I, computed once: `d_i` on the diagonal, `a_ij Σ_p r_pi c_pj` beside it.
    pub(super) fn values(&self) -> Result<Tensor> {
        if let Some(values) = self.entries.get() {
            return Ok(values.clone());
        }
        let values = self.factors.apply_op1(EntryValues { skeleton: self.skeleton.clone() })?;
        Ok(self.entries.get_or_init(|| values).clone())
    }

    /// `Φ x (+ bias)`, through ReLU and dropout where asked.
    pub(super) fn apply(&self, x: &Tensor, bias: Option<&Tensor>, activation: Option<Dropout>) -> Result<Tensor> {
        let op = Apply {
            skeleton: self.skeleton.clone(),
            scaled: self.scaled.clone(),
            activation: activation.map(Dropout::check).transpose()?,
            aggregated: self.factors.track_op().then(OnceLock::new),
        };
        let x = x.contiguous()?;
        match bias {
            Some(bias) => self.factors.apply_op3(&x, &bias.contiguous()?, op),
            None => self.factors.apply_op2(&x, op),
        }
    }
}

/// `Φ x (+ bias)`; what each part aggregates is kept for the gradients of the factors.
struct Apply {
    skeleton: Arc<Skeleton>,
    scaled: Arc<Scaled>,
    activation: Option<Dropout>,
    /// `s_p` of each part; `None` where the factors take no gradient.
    aggregated: Option<OnceLock<Vec<Vec<f32>>>>,
}

impl Apply {
    const NAME: &str = "factored operator";

    fn forward(
        &self,
        factors: (&CpuStorage, &Layout),
        x: (&CpuStorage, &Layout),
        bias: Option<(&CpuStorage, &Layout)>,
    ) -> Result<(CpuStorage, Shape)> {
        let (receivers, senders) = (self.skeleton.num_receivers(), self.skeleton.num_senders());
        let (x_rows, width) = matrix_shape(Self::NAME, x.1)?;
        if x_rows != senders {
            bail!("{}: {receivers} × {senders} applied to {x_rows} rows", Self::NAME);
        }
        let factors = Factors::new(floats(Self::NAME, factors.0, factors.1)?, factors.1)?;
        let x = floats(Self::NAME, x.0, x.1)?;
        let bias = bias.map(|(s, l)| floats(Self::NAME, s, l)).transpose()?;
        if let Some(bias) = bias
            && bias.len() != width
        {
            bail!("{}: a bias of {} for {width} columns", Self::NAME, bias.len());
        }
        let side = &*self.skeleton.by_receiver;
        let scaled = self.scaled.columns.get_or_init(|| side.scaled(factors, column_factor));
        let others: Vec<Vec<f32>> = scaled[1..].iter().map(|values| side.gather(values, x, width)).collect();
        let (mut first, mut out) = (vec![0f32; receivers * width], vec![0f32; receivers * width]);
        let rows = side.rows(&scaled[0]);
        side.pattern.for_row_block_pairs((&mut first, width), (&mut out, width), |range, aggregated, out| {
            let start = (range.start * width) as u64;
            kernels::gather_rows_over(rows, range.clone(), x, width, aggregated);
            combine(factors, range, x, aggregated, &others, width, bias, out);
            if let Some(d) = self.activation {
                kernels::relu_dropout_in_place(out, start, d.key, d.threshold(), d.scale());
            }
        });
        let aggregated = std::iter::once(first).chain(others).collect();
        if let Some(keep) = &self.aggregated {
            keep.get_or_init(|| aggregated);
        }
        Ok((CpuStorage::F32(out), Shape::from((receivers, width))))
    }

    /// Gradients to the factors and to x; `grad` is the one before the activation.
    fn backward(&self, factors: &Tensor, x: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (senders, width) = x.dims2()?;
        let shape = factors.shape();
        let (storage_f, storage_x, storage_g) =
            (factors.storage_and_layout(), x.storage_and_layout(), grad.storage_and_layout());
        let f = Factors::new(slice(&storage_f.0, storage_f.1)?, storage_f.1)?;
        let (x_values, g_values) = (slice(&storage_x.0, storage_x.1)?, slice(&storage_g.0, storage_g.1)?);
        let side = &*self.skeleton.by_sender;
        let scaled = self.scaled.rows.get_or_init(|| side.scaled(f, row_factor));
        let others: Vec<Vec<f32>> = scaled[1..].iter().map(|values| side.gather(values, g_values, width)).collect();
        let aggregated = self.aggregated.as_ref().and_then(OnceLock::get);
        let (mut to_x, mut to_factors) = (vec![0f32; senders * width], vec![0f32; shape.elem_count()]);
        let rows = side.rows(&scaled[0]);
        let of_senders = &mut to_factors[..senders * f.stride];
        side.pattern.for_row_block_pairs((&mut to_x, width), (of_senders, f.stride), |range, to_x, out| {
            kernels::gather_rows_over(rows, range.clone(), g_values, width, to_x);
            if let Some(aggregated) = aggregated {
                factor_gradients(f.stride, range.clone(), x_values, g_values, aggregated, to_x, &others, width, out);
            }
            input_gradients(f, range, g_values, &others, width, to_x);
        });
        let to_factors = aggregated.map(|_| Tensor::from_vec(to_factors, shape, &Device::Cpu)).transpose()?;
        let to_x = x.track_op().then(|| Tensor::from_vec(to_x, (senders, width), &Device::Cpu)).transpose()?;
        Ok((to_factors, to_x))
    }

    fn before_activation(&self, result: &Tensor, grad: &Tensor) -> Result<Tensor> {
        match self.activation {
            Some(dropout) => relu_dropout_gradient(result, grad, dropout),
            None => grad.contiguous(),
        }
    }
}

/// The values of a contiguous tensor on the CPU.
fn slice<'a>(storage: &'a Storage, layout: &Layout) -> Result<&'a [f32]> {
    match storage {
        Storage::Cpu(cpu) => floats(Apply::NAME, cpu, layout),
        _ => bail!("{}: only the CPU is supported", Apply::NAME),
    }
}

simd_dispatch! {
    /// `out_i = bias + d_i x_i + Σ_p r_pi s_pi`. `aggregated` is `s_0` of these rows, `others` the `s_p` of the other
    /// parts.
    fn combine(factors: Factors<'_>, rows: Range<usize>, x: &[f32], aggregated: &[f32], others: &[Vec<f32>], width: usize, bias: Option<&[f32]>, out: &mut [f32]) {
        if width == 0 {
            return;
        }
        for ((row, out), aggregated) in rows.zip(out.chunks_exact_mut(width)).zip(aggregated.chunks_exact(width)) {
            let at = row * width..(row + 1) * width;
            let (own, first) = (factors.get(row, 0), factors.get(row, row_factor(0)));
            for ((o, x), s) in out.iter_mut().zip(&x[at.clone()]).zip(aggregated) {
                *o = own.mul_add(*x, first * s);
            }
            for (part, aggregated) in others.iter().enumerate() {
                let r = factors.get(row, row_factor(part + 1));
                for (o, s) in out.iter_mut().zip(&aggregated[at.clone()]) {
                    *o = r.mul_add(*s, *o);
                }
            }
            if let Some(bias) = bias {
                for (o, b) in out.iter_mut().zip(bias) {
                    *o += b;
                }
            }
        }
    }
}

simd_dispatch! {
    /// The gradients of the numbers of each node; nodes past the end of `grad` only send. `to_x` holds `t_0` of these
    /// rows, `others` the `t_p` of the other parts.
    fn factor_gradients(stride: usize, rows: Range<usize>, x: &[f32], grad: &[f32], aggregated: &[Vec<f32>], to_x: &[f32], others: &[Vec<f32>], width: usize, out: &mut [f32]) {
        for (i, (row, out)) in rows.zip(out.chunks_exact_mut(stride)).enumerate() {
            let at = row * width..(row + 1) * width;
            let (x, g) = (&x[at.clone()], grad.get(at.clone()));
            if let Some(g) = g {
                out[0] = inner_product(g, x);
            }
            for (part, aggregated) in aggregated.iter().enumerate() {
                let t = if part == 0 { &to_x[i * width..(i + 1) * width] } else { &others[part - 1][at.clone()] };
                if let Some(g) = g {
                    out[row_factor(part)] = inner_product(g, &aggregated[at.clone()]);
                }
                out[column_factor(part)] = inner_product(x, t);
            }
        }
    }
}

simd_dispatch! {
    /// `out_i = d_i g_i + Σ_p c_pi t_pi`, where `out` holds `t_0` to begin with.
    fn input_gradients(factors: Factors<'_>, rows: Range<usize>, grad: &[f32], others: &[Vec<f32>], width: usize, out: &mut [f32]) {
        if width == 0 {
            return;
        }
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            let at = row * width..(row + 1) * width;
            let (own, first) = (factors.get(row, 0), factors.get(row, column_factor(0)));
            match grad.get(at.clone()) {
                Some(g) => out.iter_mut().zip(g).for_each(|(o, g)| *o = own.mul_add(*g, first * *o)),
                None => out.iter_mut().for_each(|o| *o *= first),
            }
            for (part, t) in others.iter().enumerate() {
                let c = factors.get(row, column_factor(part + 1));
                for (o, t) in out.iter_mut().zip(&t[at.clone()]) {
                    *o = c.mul_add(*t, *o);
                }
            }
        }
    }
}

impl CustomOp2 for Apply {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn cpu_fwd(&self, f: &CpuStorage, lf: &Layout, x: &CpuStorage, lx: &Layout) -> Result<(CpuStorage, Shape)> {
        self.forward((f, lf), (x, lx), None)
    }

    fn bwd(&self, f: &Tensor, x: &Tensor, result: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        self.backward(f, x, &self.before_activation(result, grad)?)
    }
}

impl CustomOp3 for Apply {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn cpu_fwd(
        &self,
        f: &CpuStorage,
        lf: &Layout,
        x: &CpuStorage,
        lx: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.forward((f, lf), (x, lx), Some((b, lb)))
    }

    fn bwd(
        &self,
        f: &Tensor,
        x: &Tensor,
        _b: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = self.before_activation(result, grad)?;
        let (to_factors, to_x) = self.backward(f, x, &grad)?;
        Ok((to_factors, to_x, Some(column_sums(&grad)?)))
    }
}

/// From the numbers of the nodes to a value per entry of A + I.
struct EntryValues {
    skeleton: Arc<Skeleton>,
}

impl CustomOp1 for EntryValues {
    fn name(&self) -> &'static str {
        "entries of a factored operator"
    }

    fn cpu_fwd(&self, f: &CpuStorage, lf: &Layout) -> Result<(CpuStorage, Shape)> {
        let s = &*self.skeleton;
        let f = Factors::new(floats(CustomOp1::name(self), f, lf)?, lf)?;
        let mut out = vec![0f32; s.looped.num_entries()];
        s.for_entries(|k, row, column, arc| {
            out[k] = match arc {
                None => f.get(row, 0),
                Some(arc) => {
                    let parts = 0..f.parts();
                    let product = |p: usize| f.get(row, row_factor(p)) * f.get(column, column_factor(p));
                    s.by_receiver.weight(arc) * parts.map(product).sum::<f32>()
                }
            }
        });
        let entries = out.len();
        Ok((CpuStorage::F32(out), Shape::from(entries)))
    }

    fn bwd(&self, factors: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let s = &*self.skeleton;
        let grad = grad.contiguous()?;
        let (storage_f, storage_g) = (factors.storage_and_layout(), grad.storage_and_layout());
        let f = Factors::new(slice(&storage_f.0, storage_f.1)?, storage_f.1)?;
        let g = slice(&storage_g.0, storage_g.1)?;
        let mut out = vec![0f32; factors.elem_count()];
        s.for_entries(|k, row, column, arc| match arc {
            None => out[row * f.stride] += g[k],
            Some(arc) => {
                let g = s.by_receiver.weight(arc) * g[k];
                for p in 0..f.parts() {
                    out[row * f.stride + row_factor(p)] += g * f.get(column, column_factor(p));
                    out[column * f.stride + column_factor(p)] += g * f.get(row, row_factor(p));
                }
            }
        });
        Tensor::from_vec(out, factors.shape(), &Device::Cpu).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{check_gradients, random};
    use crate::tensor::{Operator, relu_dropout};
    use candle_core::Var;
    use gnarl_graph::generate::erdos_renyi;

    /// Six nodes, the last without edges.
    fn graph() -> Graph {
        Graph::from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)]).unwrap().0
    }

    fn operator(graph: &Graph, factors: &Tensor) -> Operator {
        Operator::factored(&Arc::new(Skeleton::of(graph)), factors).unwrap()
    }

    fn dense(graph: &Graph, factors: &Tensor) -> Tensor {
        let f = factors.to_vec2::<f32>().unwrap();
        let n = graph.num_nodes();
        let mut m = vec![0f32; n * n];
        for u in 0..n {
            m[u * n + u] = f[u][0];
            for k in graph.arc_range(u as u32) {
                let v = graph.targets()[k] as usize;
                let parts = (f[u].len() - 1) / 2;
                let sum: f32 = (0..parts).map(|p| f[u][1 + 2 * p] * f[v][2 + 2 * p]).sum();
                m[u * n + v] = graph.arc_weight(k) as f32 * sum;
            }
        }
        Tensor::from_vec(m, (n, n), &Device::Cpu).unwrap()
    }

    fn assert_close(a: &Tensor, b: &Tensor) {
        let diff = (a - b).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
        assert!(diff < 1e-5, "differs by {diff}");
    }

    #[test]
    fn equals_the_dense_matrix_with_one_part_and_with_two() {
        let weighted = Graph::from_weighted_edges(4, [(0, 1, 2.0), (1, 2, 0.5), (0, 3, 3.0)]).unwrap().0;
        for graph in [graph(), weighted] {
            let n = graph.num_nodes();
            for stride in [3, 5] {
                let factors = random(&[n, stride], 1);
                let op = operator(&graph, &factors);
                for width in [1, 7, 33] {
                    let (x, bias) = (random(&[n, width], 2), random(&[width], 3));
                    let expected = dense(&graph, &factors).matmul(&x).unwrap();
                    assert_close(&op.apply(&x).unwrap(), &expected);
                    let expected = expected.broadcast_add(&bias).unwrap();
                    assert_close(&op.apply_with_bias(&x, Some(&bias)).unwrap(), &expected);
                    let draw = Dropout { rate: 0.4, key: 7 };
                    let expected = relu_dropout(&expected, draw).unwrap();
                    assert_close(&op.apply_activated(&x, &bias, draw).unwrap(), &expected);
                    // The same by its entries.
                    let by_entries = op.with_values(&op.values().unwrap()).unwrap();
                    assert_close(&by_entries.apply(&x).unwrap(), &op.apply(&x).unwrap());
                }
            }
        }
    }

    #[test]
    fn gradients_to_factors_input_and_bias() {
        for stride in [3, 5] {
            let graph = graph();
            let skeleton = Arc::new(Skeleton::of(&graph));
            let inputs = [random(&[6, stride], 1), random(&[6, 4], 2), random(&[4], 3)];
            check_gradients(&inputs, |v| {
                Operator::factored(&skeleton, &v[0])?.apply_with_bias(&v[1], Some(&v[2]))?.sqr()
            });
            check_gradients(&inputs[..2], |v| Operator::factored(&skeleton, &v[0])?.apply(&v[1]));
            check_gradients(&inputs[..1], |v| Operator::factored(&skeleton, &v[0])?.apply(&inputs[1]));
            check_gradients(&inputs[1..2], |v| Operator::factored(&skeleton, &inputs[0])?.apply(&v[0]));
            check_gradients(&inputs[..1], |v| Operator::factored(&skeleton, &v[0])?.values());
        }
    }

    /// ReLU has kinks, where differences mean nothing: the gradient is compared with that of the separate operations.
    #[test]
    fn the_fused_activation_has_the_gradients_of_its_parts() {
        let skeleton = Arc::new(Skeleton::of(&graph()));
        let inputs = [random(&[6, 3], 1), random(&[6, 4], 2), random(&[4], 3)];
        let draw = Dropout { rate: 0.3, key: 5 };
        let gradients = |fused: bool| {
            let vars: Vec<Var> = inputs.iter().map(|t| Var::from_tensor(t).unwrap()).collect();
            let op = Operator::factored(&skeleton, &vars[0]).unwrap();
            let y = if fused {
                op.apply_activated(&vars[1], &vars[2], draw).unwrap()
            } else {
                relu_dropout(&op.apply_with_bias(&vars[1], Some(&vars[2])).unwrap(), draw).unwrap()
            };
            let grads = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            vars.iter().map(|v| grads.get(v).unwrap().clone()).collect::<Vec<_>>()
        };
        for (fused, parts) in gradients(true).iter().zip(gradients(false)) {
            assert_close(fused, &parts);
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = erdos_renyi(4000, 0.002, 3).unwrap();
        let skeleton = Arc::new(Skeleton::of(&graph));
        let (factors, x) =
            (Var::from_tensor(&random(&[4000, 5], 1)).unwrap(), Var::from_tensor(&random(&[4000, 80], 2)).unwrap());
        let run = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let op = Operator::factored(&skeleton, &factors).unwrap();
                let y = op.apply(&x).unwrap().sqr().unwrap();
                let grads = y.sum_all().unwrap().backward().unwrap();
                let bits = |v: &Var| grads.get(v).unwrap().to_vec2::<f32>().unwrap();
                (y.to_vec2::<f32>().unwrap(), bits(&factors), bits(&x))
            })
        };
        assert_eq!(run(1), run(2));
    }

    #[test]
    fn wrong_shapes_are_named() {
        let skeleton = Arc::new(Skeleton::of(&graph()));
        let e = Operator::factored(&skeleton, &random(&[5, 3], 1)).unwrap_err().to_string();
        assert!(e.contains("factors 5 × 3 for 6 nodes"), "{e}");
        let op = Operator::factored(&skeleton, &random(&[6, 3], 1)).unwrap();
        assert!(op.apply(&random(&[5, 2], 1)).unwrap_err().to_string().contains("6 × 6 applied to 5 rows"));
        let none = Skeleton::of(&Graph::empty(0).unwrap());
        let op = Operator::factored(&Arc::new(none), &random(&[0, 3], 1)).unwrap();
        assert_eq!(op.apply(&random(&[0, 2], 1)).unwrap().dims(), [0, 2]);
    }
}
