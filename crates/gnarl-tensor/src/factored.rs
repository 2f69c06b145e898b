//! Factored operators with values given per node: `Φ = diag(d) + Σ_p diag(r_p) A diag(c_p)`. The
//! learnable centrality operator and sums of such operators have this form.
//!
//! No value per entry is stored or differentiated. With `s_p = A (c_p ∘ x)` and
//! `t_p = Aᵀ (r_p ∘ g)`, and A symmetric,
//!
//! ```text
//! y = d ∘ x + Σ_p r_p ∘ s_p          ∂x   = d ∘ g + Σ_p c_p ∘ t_p
//! ∂d_i = <g_i, x_i>     ∂r_pi = <g_i, s_pi>     ∂c_pi = <x_i, t_pi>
//! ```
//!
//! so a step costs one product with A per part and direction, as a constant operator does, and a
//! few passes over the rows.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gnarl_graph::Graph;

use crate::activation::{Dropout, before_activation, relu_dropout};
use crate::array::{Tensor, Values};
use crate::bias::column_sums_to;
use crate::buffer::Buffer;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::kernels::{self, Rows, inner_product};
use crate::operator::Operator;
use crate::pattern::{ColumnNumbers, Pattern};
use crate::simd::simd_dispatch;
use crate::tape::{Computed, Gradients, Operation, Sinks, apply};

/// Sparsity structure of a factored operator: the matrix A and the pattern of A + I, or some rows
/// of them.
#[derive(Debug)]
pub struct FactoredPattern {
    /// Rows of A, by receiver.
    by_receiver: Arc<Side>,
    /// Rows of Aᵀ, by sender; equal to `by_receiver` if A is symmetric.
    by_sender: Arc<Side>,
    looped: Arc<Pattern>,
}

/// Entries of A, from the receivers' or the senders' side.
#[derive(Debug)]
struct Side {
    pattern: Pattern,
    /// Edge weights; `None` if every edge has weight one.
    weights: Option<Vec<f32>>,
}

impl Side {
    /// Returns the transposed entries.
    fn transposed(pattern: &Pattern, weights: Option<&[f32]>) -> Self {
        let transposed = pattern.transposed();
        Self {
            weights: weights.map(|w| transposed.entry_of.iter().map(|&k| w[k as usize]).collect()),
            pattern: transposed.pattern.as_ref().clone(),
        }
    }

    fn weight(&self, entry: usize) -> f32 {
        self.weights.as_ref().map_or(1.0, |w| w[entry])
    }

    /// Multiplies the entries by a factor of their columns, for each part. The factor is given by
    /// its position among a node's values.
    fn scaled<T: Float>(
        &self,
        factors: Factors<'_, T>,
        position: fn(usize) -> usize,
    ) -> Vec<Vec<T>> {
        let of_part = |part: usize| -> Vec<T> {
            let nodes = 0..self.pattern.num_cols();
            let factor: Vec<T> = nodes
                .map(|node| factors.get(node, position(part)))
                .collect();
            let columns = self.pattern.indices().iter().map(|&c| factor[c as usize]);
            match &self.weights {
                None => columns.collect(),
                Some(weights) => columns
                    .zip(weights)
                    .map(|(c, w)| c * T::of(f64::from(*w)))
                    .collect(),
            }
        };
        (0..factors.parts()).map(of_part).collect()
    }

    fn rows<'a, T: Float>(&'a self, values: &'a [T]) -> Rows<'a, T> {
        Rows {
            pattern: &self.pattern,
            values,
            heads: 1,
        }
    }

    /// Computes the product of these entries' values with x.
    fn gather<T: Float>(&self, values: &[T], x: &[T], width: usize) -> Vec<T> {
        let mut out = vec![T::ZERO; self.pattern.num_rows() * width];
        let rows = self.rows(values);
        self.pattern.for_row_blocks(&mut out, width, |range, out| {
            kernels::gather_rows_over(rows, range, x, width, out);
        });
        out
    }
}

impl FactoredPattern {
    /// Returns the sparsity structure of a graph.
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
        let weights: Vec<f32> = (0..graph.num_arcs())
            .map(|k| graph.arc_weight(k) as f32)
            .collect();
        let by_receiver = Arc::new(Side {
            pattern: Pattern::new(n, offsets, graph.targets().to_vec()),
            weights: weights.iter().any(|&w| w != 1.0).then_some(weights),
        });
        let looped = Arc::new(Pattern::new(n, looped_offsets, looped));
        Self {
            by_sender: by_receiver.clone(),
            by_receiver,
            looped,
        }
    }

    /// Restricts the aggregation to the first `receivers` nodes of `order` over the first
    /// `senders`, which must include all their neighbours.
    pub fn restricted(&self, order: &[u32], receivers: usize, senders: usize) -> Result<Self> {
        let number = ColumnNumbers::new(&order[..senders], self.num_senders());
        let (pattern, entries) = self
            .by_receiver
            .pattern
            .restricted(&order[..receivers], &number)?;
        let weights = self
            .by_receiver
            .weights
            .as_ref()
            .map(|w| entries.iter().map(|&k| w[k as usize]).collect::<Vec<_>>());
        let by_sender = Side::transposed(&pattern, weights.as_deref());
        let (looped, _) = self.looped.restricted(&order[..receivers], &number)?;
        Ok(Self {
            by_receiver: Arc::new(Side { pattern, weights }),
            by_sender: Arc::new(by_sender),
            looped: Arc::new(looped),
        })
    }

    /// Builds the structure from rows of arcs: receiver `i` aggregates over the senders of row `i`;
    /// sender `i` is receiver `i` itself.
    pub fn of_rows(
        num_senders: usize,
        offsets: Vec<usize>,
        senders: Vec<u32>,
        weights: Vec<f32>,
    ) -> Self {
        let rows = offsets.len() - 1;
        let mut looped = Vec::with_capacity(senders.len() + rows);
        let mut looped_offsets = vec![0];
        for row in 0..rows {
            looped.push(row as u32);
            looped.extend_from_slice(&senders[offsets[row]..offsets[row + 1]]);
            looped_offsets.push(looped.len());
        }
        let pattern = Pattern::new(num_senders, offsets, senders);
        let weights = weights.iter().any(|&w| w != 1.0).then_some(weights);
        let by_sender = Side::transposed(&pattern, weights.as_deref());
        Self {
            by_receiver: Arc::new(Side { pattern, weights }),
            by_sender: Arc::new(by_sender),
            looped: Arc::new(Pattern::new(num_senders, looped_offsets, looped)),
        }
    }

    /// Returns the pattern of A + I.
    pub fn looped(&self) -> &Arc<Pattern> {
        &self.looped
    }

    fn num_receivers(&self) -> usize {
        self.by_receiver.pattern.num_rows()
    }

    fn num_senders(&self) -> usize {
        self.by_receiver.pattern.num_cols()
    }

    /// Calls `entry` for every entry of A + I: its position, row, column, and its arc of A (none on
    /// the diagonal).
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

/// Factors of the nodes, `[nodes, 1 + 2 · parts]`: d, then r and c of each part.
#[derive(Clone, Copy)]
struct Factors<'a, T> {
    values: &'a [T],
    stride: usize,
}

impl<'a, T: Float> Factors<'a, T> {
    fn new(values: &'a [T], shape: (usize, usize)) -> Self {
        Self {
            values,
            stride: shape.1,
        }
    }

    fn parts(self) -> usize {
        (self.stride / 2).max(1)
    }

    fn get(self, node: usize, position: usize) -> T {
        self.values[node * self.stride + position]
    }
}

/// Returns the position of `r_p` among a node's factors; `c_p` has a function of its own.
const fn row_factor(part: usize) -> usize {
    1 + 2 * part
}
const fn column_factor(part: usize) -> usize {
    2 + 2 * part
}

/// Factored operator: a graph's sparsity structure and the factors of its nodes, which may take
/// gradients.
#[derive(Debug, Clone)]
pub(crate) struct Factored {
    pattern: Arc<FactoredPattern>,
    factors: Tensor,
    entries: Arc<OnceLock<Tensor>>,
    scaled: Arc<Scaled>,
}

/// `A diag(c_p)` and `A diag(r_p)` of each part: computed on first use and shared by the layers of
/// a pass.
#[derive(Debug, Default)]
struct Scaled {
    columns: CachedParts,
    rows: CachedParts,
}

/// Values of each part in the precision of the factors.
#[derive(Debug, Default)]
struct CachedParts(OnceLock<Vec<Tensor>>);

impl CachedParts {
    fn get_or_init<T: Float>(&self, make: impl FnOnce() -> Vec<Vec<T>>) -> Result<Vec<Values<T>>> {
        let as_tensor = |values: Vec<T>| {
            let len = values.len();
            Tensor::from_buffer(Buffer::from(values), len)
        };
        self.0
            .get_or_init(|| make().into_iter().map(as_tensor).collect())
            .iter()
            .map(Tensor::values)
            .collect()
    }

    fn get<T: Float>(&self) -> Result<Option<Vec<Values<T>>>> {
        self.0
            .get()
            .map(|parts| parts.iter().map(Tensor::values).collect())
            .transpose()
    }
}

impl Factored {
    /// Builds the operator from `factors` of shape `[nodes, 1 + 2 · parts]`: d, then r and c of
    /// each part.
    pub(crate) fn new(pattern: Arc<FactoredPattern>, factors: &Tensor) -> Result<Self> {
        let (nodes, stride) = factors.dims2()?;
        if nodes < pattern.num_senders() || stride < 3 || stride % 2 == 0 {
            bail!(
                "factored operator: factors {nodes} × {stride} for {} nodes",
                pattern.num_senders()
            );
        }
        Ok(Self {
            pattern,
            factors: factors.clone(),
            entries: Arc::default(),
            scaled: Arc::default(),
        })
    }

    pub(crate) fn pattern(&self) -> &FactoredPattern {
        &self.pattern
    }

    pub(crate) fn factors(&self) -> &Tensor {
        &self.factors
    }

    /// Computes a value for each entry of A + I, once: `d_i` on the diagonal, `a_ij Σ_p r_pi c_pj`
    /// elsewhere.
    pub(crate) fn values(&self) -> Result<Tensor> {
        if let Some(values) = self.entries.get() {
            return Ok(values.clone());
        }
        let values = apply(
            EntryValues {
                pattern: self.pattern.clone(),
            },
            &[&self.factors],
        )?;
        Ok(self.entries.get_or_init(|| values).clone())
    }

    /// Computes `Φ x (+ bias)`, with optional ReLU and dropout.
    pub(crate) fn apply(
        &self,
        x: &Tensor,
        bias: Option<&Tensor>,
        activation: Option<Dropout>,
    ) -> Result<Tensor> {
        let op = ApplyFactored {
            pattern: self.pattern.clone(),
            scaled: self.scaled.clone(),
            activation: activation.map(Dropout::check).transpose()?,
            aggregated: self.factors.track_op().then(CachedParts::default),
        };
        match bias {
            Some(bias) => apply(op, &[&self.factors, x, bias]),
            None => apply(op, &[&self.factors, x]),
        }
    }
}

/// `Φ x (+ bias)`; the aggregate of each part is kept for the gradients of the factors.
pub(crate) struct ApplyFactored {
    pattern: Arc<FactoredPattern>,
    scaled: Arc<Scaled>,
    activation: Option<Dropout>,
    /// `s_p` of each part; `None` if the factors take no gradient.
    aggregated: Option<CachedParts>,
}

impl ApplyFactored {
    fn forward_in<T: Float>(
        &self,
        factors: &Tensor,
        x: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        let (receivers, senders) = (self.pattern.num_receivers(), self.pattern.num_senders());
        let (x_rows, width) = x.dims2()?;
        if x_rows != senders {
            bail!(
                "{}: {receivers} × {senders} applied to {x_rows} rows",
                self.name()
            );
        }
        if let Some(bias) = bias
            && bias.dims() != [width]
        {
            bail!(
                "{}: a bias of {} for {width} columns",
                self.name(),
                bias.elem_count()
            );
        }
        let numbers = factors.values::<T>()?;
        let factors = Factors::new(&numbers, factors.dims2()?);
        let (x, bias) = (x.values::<T>()?, bias.map(Tensor::values::<T>).transpose()?);
        let side = &*self.pattern.by_receiver;
        let scaled = self
            .scaled
            .columns
            .get_or_init(|| side.scaled(factors, column_factor))?;
        let others: Vec<Vec<T>> = scaled[1..]
            .iter()
            .map(|values| side.gather(values, &x, width))
            .collect();
        let (mut first, mut out) = (
            vec![T::ZERO; receivers * width],
            vec![T::ZERO; receivers * width],
        );
        let rows = side.rows(&scaled[0]);
        side.pattern.for_row_block_pairs(
            (&mut first, width),
            (&mut out, width),
            |range, aggregated, out| {
                let start = (range.start * width) as u64;
                kernels::gather_rows_over(rows, range.clone(), &x, width, aggregated);
                combine(
                    factors,
                    range,
                    &x,
                    aggregated,
                    &others,
                    width,
                    bias.as_deref(),
                    out,
                );
                if let Some(d) = self.activation {
                    kernels::relu_dropout_in_place(out, start, d.key, d.threshold(), d.scale());
                }
            },
        );
        if let Some(keep) = &self.aggregated {
            keep.get_or_init(|| {
                std::iter::once(first)
                    .chain(others)
                    .collect::<Vec<Vec<T>>>()
            })?;
        }
        Ok(Tensor::from_buffer(Buffer::from(out), (receivers, width)))
    }

    /// Adds gradients to the factors and to x; `grad` is the gradient before the activation.
    fn accumulate_in<T: Float>(
        &self,
        at: &Computed<'_>,
        grad: &Tensor,
        to: &mut Sinks<'_>,
    ) -> Result<()> {
        let (factors, x) = (&at.inputs[0], &at.inputs[1]);
        let (senders, width) = x.dims2()?;
        let (numbers, x_values, g) = (
            factors.values::<T>()?,
            x.values::<T>()?,
            grad.values::<T>()?,
        );
        let f = Factors::new(&numbers, factors.dims2()?);
        let side = &*self.pattern.by_sender;
        let scaled = self
            .scaled
            .rows
            .get_or_init(|| side.scaled(f, row_factor))?;
        let others: Vec<Vec<T>> = scaled[1..]
            .iter()
            .map(|values| side.gather(values, &g, width))
            .collect();
        let aggregated = self
            .aggregated
            .as_ref()
            .map(CachedParts::get::<T>)
            .transpose()?
            .flatten();
        let (mut to_x, mut to_factors) = (
            vec![T::ZERO; senders * width],
            vec![T::ZERO; factors.elem_count()],
        );
        let rows = side.rows(&scaled[0]);
        let of_senders = &mut to_factors[..senders * f.stride];
        side.pattern.for_row_block_pairs(
            (&mut to_x, width),
            (of_senders, f.stride),
            |range, to_x, out| {
                kernels::gather_rows_over(rows, range.clone(), &g, width, to_x);
                if let Some(aggregated) = &aggregated {
                    factor_gradients(
                        f.stride,
                        range.clone(),
                        &x_values,
                        &g,
                        aggregated,
                        to_x,
                        &others,
                        width,
                        out,
                    );
                }
                input_gradients(f, range, &g, &others, width, to_x);
            },
        );
        if aggregated.is_some() && to.wants(0) {
            to.give(
                0,
                Tensor::from_buffer(Buffer::from(to_factors), *factors.shape()),
            )?;
        }
        if to.wants(1) {
            to.give(1, Tensor::from_buffer(Buffer::from(to_x), (senders, width)))
        } else {
            Ok(())
        }
    }
}

simd_dispatch! {
    /// Computes `out_i = bias + d_i x_i + Σ_p r_pi s_pi`. `aggregated` is `s_0` of these rows,
    /// `others` the `s_p` of the other parts.
    fn combine<T: Float>(factors: Factors<'_, T>, rows: Range<usize>, x: &[T], aggregated: &[T], others: &[Vec<T>], width: usize, bias: Option<&[T]>, out: &mut [T]) {
        if width == 0 {
            return;
        }
        for ((row, out), aggregated) in rows.zip(out.chunks_exact_mut(width)).zip(aggregated.chunks_exact(width)) {
            let at = row * width..(row + 1) * width;
            let (own, first) = (factors.get(row, 0), factors.get(row, row_factor(0)));
            for ((o, x), s) in out.iter_mut().zip(&x[at.clone()]).zip(aggregated) {
                *o = own.mul_add(*x, first * *s);
            }
            for (part, aggregated) in others.iter().enumerate() {
                let r = factors.get(row, row_factor(part + 1));
                for (o, s) in out.iter_mut().zip(&aggregated[at.clone()]) {
                    *o = r.mul_add(*s, *o);
                }
            }
            if let Some(bias) = bias {
                for (o, b) in out.iter_mut().zip(bias) {
                    *o += *b;
                }
            }
        }
    }
}

simd_dispatch! {
    /// Computes the gradients of each node's factors; nodes past the end of `grad` only send.
    /// `to_x` holds `t_0` of these rows, `others` the `t_p` of the other parts.
    fn factor_gradients<T: Float>(stride: usize, rows: Range<usize>, x: &[T], grad: &[T], aggregated: &[Values<T>], to_x: &[T], others: &[Vec<T>], width: usize, out: &mut [T]) {
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
    /// Computes `out_i = d_i g_i + Σ_p c_pi t_pi`; initially `out` holds `t_0`.
    fn input_gradients<T: Float>(factors: Factors<'_, T>, rows: Range<usize>, grad: &[T], others: &[Vec<T>], width: usize, out: &mut [T]) {
        if width == 0 {
            return;
        }
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            let at = row * width..(row + 1) * width;
            let (own, first) = (factors.get(row, 0), factors.get(row, column_factor(0)));
            match grad.get(at.clone()) {
                Some(g) => out.iter_mut().zip(g).for_each(|(o, g)| *o = own.mul_add(*g, first * *o)),
                None => out.iter_mut().for_each(|o| *o = *o * first),
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

impl Operation for ApplyFactored {
    fn name(&self) -> &'static str {
        "factored operator"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        by_precision!(self.name(), inputs[1].dtype(), T => {
            self.forward_in::<T>(&inputs[0], &inputs[1], inputs.get(2))
        })
    }

    /// Computed with a value for each entry.
    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| {
            let values = apply(
                EntryValues {
                    pattern: self.pattern.clone(),
                },
                &[&inputs[0]],
            )?;
            let operator =
                Operator::from_pattern(self.pattern.looped.clone()).with_values(&values)?;
            let y = operator.apply_with_bias(&inputs[1], inputs.get(2))?;
            self.activation
                .map_or(Ok(y.clone()), |dropout| relu_dropout(&y, dropout))
        })
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let grad = match self.activation {
            Some(dropout) => before_activation(at.output, grad, dropout)?,
            None => grad,
        };
        if at.inputs.len() > 2 {
            column_sums_to(&grad, 2, to)?;
        }
        by_precision!(self.name(), grad.dtype(), T => self.accumulate_in::<T>(at, &grad, to))
    }
}

/// Computes a value per entry of A + I from the factors of the nodes.
pub(crate) struct EntryValues {
    pattern: Arc<FactoredPattern>,
}

impl Operation for EntryValues {
    fn name(&self) -> &'static str {
        "entries of a factored operator"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let s = &*self.pattern;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let numbers = inputs[0].values::<T>()?;
            let f = Factors::new(&numbers, inputs[0].dims2()?);
            let mut out = vec![0 as T; s.looped.num_entries()];
            s.for_entries(|k, row, column, arc| {
                out[k] = match arc {
                    None => f.get(row, 0),
                    Some(arc) => {
                        let product = |p: usize| f.get(row, row_factor(p)) * f.get(column, column_factor(p));
                        T::from(s.by_receiver.weight(arc)) * (0..f.parts()).map(product).sum::<T>()
                    }
                }
            });
            let entries = out.len();
            Tensor::from_vec(out, entries, inputs[0].device())
        })
    }

    /// The factors of each entry's row and column, selected and multiplied.
    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let s = &*self.pattern;
        let (device, entries) = (grad.device(), s.looped.num_entries());
        let (mut weights, mut is_own) = (vec![0f32; entries], vec![0f32; entries]);
        s.for_entries(|k, _, _, arc| match arc {
            None => is_own[k] = 1.0,
            Some(arc) => weights[k] = s.by_receiver.weight(arc),
        });
        let constant =
            |values: Vec<f32>| Tensor::from_vec(values, entries, device)?.to_dtype(grad.dtype());
        let (weights, is_own) = (constant(weights)?, constant(is_own)?);
        let (rows, columns) = (
            Tensor::indices(s.looped.entry_rows()),
            Tensor::indices(s.looped.indices().to_vec()),
        );
        at.by_parts(grad, |inputs| {
            let number = |position: usize, at: &Tensor| {
                inputs[0]
                    .narrow(1, position, 1)?
                    .squeeze(1)?
                    .index_select(at, 0)
            };
            let mut sum = number(0, &rows)?.mul(&is_own)?;
            for p in 0..(inputs[0].dim(1)? / 2).max(1) {
                let product =
                    number(row_factor(p), &rows)?.mul(&number(column_factor(p), &columns)?)?;
                sum = sum.add(&product.mul(&weights)?)?;
            }
            Ok(sum)
        })
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (s, factors) = (&*self.pattern, &at.inputs[0]);
        by_precision!(self.name(), grad.dtype(), T => {
            let (numbers, g) = (factors.values::<T>()?, grad.values::<T>()?);
            let f = Factors::new(&numbers, factors.dims2()?);
            // SAFETY: a target that is begun is written, with zeros if nothing was there.
            unsafe {
                to.fill::<T>(0, |target| {
                    let out = target.initialised();
                    s.for_entries(|k, row, column, arc| match arc {
                        None => out[row * f.stride] += g[k],
                        Some(arc) => {
                            let g = T::from(s.by_receiver.weight(arc)) * g[k];
                            for p in 0..f.parts() {
                                out[row * f.stride + row_factor(p)] += g * f.get(column, column_factor(p));
                                out[column * f.stride + column_factor(p)] += g * f.get(row, row_factor(p));
                            }
                        }
                    });
                })
            }
        })
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    /// Six nodes, the last without edges; and four with weights.
    fn patterns() -> [Arc<FactoredPattern>; 2] {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)];
        let weighted = [(0, 1, 2.0), (1, 2, 0.5), (0, 3, 3.0)];
        let graphs = [
            Graph::from_edges(6, edges).unwrap().0,
            Graph::from_weighted_edges(4, weighted).unwrap().0,
        ];
        graphs.map(|graph| Arc::new(FactoredPattern::of(&graph)))
    }

    impl Examples for ApplyFactored {
        fn examples() -> Vec<Example> {
            let mut examples = Vec::new();
            for pattern in patterns() {
                let n = pattern.num_senders();
                for (stride, width) in [(3, 4), (5, 1), (3, 17)] {
                    let shapes: [&[usize]; 3] = [&[n, stride], &[n, width], &[width]];
                    let (plain, active) = (pattern.clone(), pattern.clone());
                    let dropout = Dropout { rate: 0.3, key: 5 };
                    examples.push(Example::of(&shapes[..2], move |v| {
                        Operator::factored(&plain, &v[0])?.apply(&v[1])
                    }));
                    examples.push(Example::of(&shapes, move |v| {
                        Operator::factored(&active, &v[0])?.apply_activated(&v[1], &v[2], dropout)
                    }));
                }
            }
            examples
        }
    }

    impl Examples for EntryValues {
        fn examples() -> Vec<Example> {
            let on = |pattern: Arc<FactoredPattern>| {
                [3, 5].map(|stride| {
                    let pattern = pattern.clone();
                    Example::of(&[&[pattern.num_senders(), stride]], move |v| {
                        Operator::factored(&pattern, &v[0])?.values()
                    })
                })
            };
            patterns().into_iter().flat_map(on).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_gradients, random};
    use crate::{Device, Var};
    use crate::{Operator, relu_dropout};
    use gnarl_graph::generate::erdos_renyi;

    /// Six nodes, the last without edges.
    fn graph() -> Graph {
        Graph::from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)])
            .unwrap()
            .0
    }

    fn operator(graph: &Graph, factors: &Tensor) -> Operator {
        Operator::factored(&Arc::new(FactoredPattern::of(graph)), factors).unwrap()
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
        let diff = (a - b)
            .unwrap()
            .abs()
            .unwrap()
            .max_all()
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        assert!(diff < 1e-5, "differs by {diff}");
    }

    #[test]
    fn equals_the_dense_matrix_with_one_part_and_with_two() {
        let weighted = Graph::from_weighted_edges(4, [(0, 1, 2.0), (1, 2, 0.5), (0, 3, 3.0)])
            .unwrap()
            .0;
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
                    let dropout = Dropout { rate: 0.4, key: 7 };
                    let expected = relu_dropout(&expected, dropout).unwrap();
                    assert_close(&op.apply_activated(&x, &bias, dropout).unwrap(), &expected);
                    // The same product by entries.
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
            let pattern = Arc::new(FactoredPattern::of(&graph));
            let inputs = [random(&[6, stride], 1), random(&[6, 4], 2), random(&[4], 3)];
            check_gradients(&inputs, |v| {
                Operator::factored(&pattern, &v[0])?
                    .apply_with_bias(&v[1], Some(&v[2]))?
                    .sqr()
            });
            check_gradients(&inputs[..2], |v| {
                Operator::factored(&pattern, &v[0])?.apply(&v[1])
            });
            check_gradients(&inputs[..1], |v| {
                Operator::factored(&pattern, &v[0])?.apply(&inputs[1])
            });
            check_gradients(&inputs[1..2], |v| {
                Operator::factored(&pattern, &inputs[0])?.apply(&v[0])
            });
            check_gradients(&inputs[..1], |v| {
                Operator::factored(&pattern, &v[0])?.values()
            });
        }
    }

    /// ReLU has kinks, where differences mean nothing. The gradient is compared with that of the
    /// separate operations.
    #[test]
    fn the_fused_activation_has_the_gradients_of_its_parts() {
        let pattern = Arc::new(FactoredPattern::of(&graph()));
        let inputs = [random(&[6, 3], 1), random(&[6, 4], 2), random(&[4], 3)];
        let dropout = Dropout { rate: 0.3, key: 5 };
        let gradients = |fused: bool| {
            let vars: Vec<Var> = inputs
                .iter()
                .map(|t| Var::from_tensor(t).unwrap())
                .collect();
            let op = Operator::factored(&pattern, &vars[0]).unwrap();
            let y = if fused {
                op.apply_activated(&vars[1], &vars[2], dropout).unwrap()
            } else {
                relu_dropout(
                    &op.apply_with_bias(&vars[1], Some(&vars[2])).unwrap(),
                    dropout,
                )
                .unwrap()
            };
            let grads = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            vars.iter()
                .map(|v| grads.get(v).unwrap().clone())
                .collect::<Vec<_>>()
        };
        for (fused, parts) in gradients(true).iter().zip(gradients(false)) {
            assert_close(fused, &parts);
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = erdos_renyi(4000, 0.002, 3).unwrap();
        let pattern = Arc::new(FactoredPattern::of(&graph));
        let (factors, x) = (
            Var::from_tensor(&random(&[4000, 5], 1)).unwrap(),
            Var::from_tensor(&random(&[4000, 80], 2)).unwrap(),
        );
        let run = |threads| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
                .install(|| {
                    let op = Operator::factored(&pattern, &factors).unwrap();
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
        let pattern = Arc::new(FactoredPattern::of(&graph()));
        let e = Operator::factored(&pattern, &random(&[5, 3], 1))
            .unwrap_err()
            .to_string();
        assert!(e.contains("factors 5 × 3 for 6 nodes"), "{e}");
        let op = Operator::factored(&pattern, &random(&[6, 3], 1)).unwrap();
        assert!(
            op.apply(&random(&[5, 2], 1))
                .unwrap_err()
                .to_string()
                .contains("6 × 6 applied to 5 rows")
        );
        let none = FactoredPattern::of(&Graph::empty(0).unwrap());
        let op = Operator::factored(&Arc::new(none), &random(&[0, 3], 1)).unwrap();
        assert_eq!(op.apply(&random(&[0, 2], 1)).unwrap().dims(), [0, 2]);
    }
}
