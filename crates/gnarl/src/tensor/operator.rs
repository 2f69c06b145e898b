//! [`Operator`]: sparse × dense with gradients to the dense side and, where asked, to each sparse value.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Device, Layout, Result, Shape, Tensor, TensorId, bail};
use gnarl_graph::CsrMatrix;
use rayon::prelude::*;

use super::activation::{Dropout, relu_dropout, relu_dropout_gradient};
use super::dense::{by_transposed, product_of, transposed_by};
use super::factored::{Factored, Skeleton};
use super::kernels::{self, Rows};
use super::pattern::{MIN_PARALLEL_WORK, Pattern, Places};
use super::{filled, floats, matrix_shape};

/// A sparse matrix that can be applied to a dense one: a pattern and a value (or one per head) for each entry.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use gnarl::tensor::Operator;
/// use gnarl_graph::{Graph, operator::ClassicalOperator};
/// let path = Graph::from_edges(3, [(0, 1), (1, 2)])?.0;
/// let mean = Operator::constant(&ClassicalOperator::MeanAggregation.matrix(&path)?);
/// let x = Tensor::new(&[[1f32], [2.0], [5.0]], &Device::Cpu)?;
/// assert_eq!(mean.apply(&x)?.to_vec2::<f32>()?, [[2.0], [3.0], [2.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Operator {
    pattern: Arc<Pattern>,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    /// One everywhere: a bare pattern.
    Ones(Arc<Constants>),
    Constant(Arc<Constants>),
    Variable(Tensor),
    /// Given by numbers per node, over the pattern of A + I.
    Factored(Factored),
}

/// Values that never change, with what is made of them on first use.
#[derive(Debug)]
struct Constants {
    values: Vec<f32>,
    /// Whether the operator is known to be its own transpose.
    symmetric: bool,
    transposed: OnceLock<Arc<Constants>>,
    head: OnceLock<Operator>,
    with_own: OnceLock<Operator>,
    applied: OnceLock<(TensorId, Tensor)>,
    /// Sparse features, and what nodes hear of them.
    heard: OnceLock<(Arc<Constants>, Operator)>,
}

impl Constants {
    fn new(values: Vec<f32>) -> Arc<Self> {
        Self::with_symmetry(values, false)
    }

    fn with_symmetry(values: Vec<f32>, symmetric: bool) -> Arc<Self> {
        Arc::new(Self {
            values,
            symmetric,
            transposed: OnceLock::new(),
            head: OnceLock::new(),
            with_own: OnceLock::new(),
            applied: OnceLock::new(),
            heard: OnceLock::new(),
        })
    }

    fn transposed(&self, pattern: &Pattern) -> Arc<Constants> {
        self.transposed
            .get_or_init(|| Constants::new(permuted(&self.values, 1, &pattern.transposed().entry_of)))
            .clone()
    }
}

/// `heads` values per entry, in the order of the transposed pattern.
fn permuted(values: &[f32], heads: usize, entry_of: &[u32]) -> Vec<f32> {
    let mut out = vec![0f32; values.len()];
    out.par_chunks_mut(heads * 4096).zip(entry_of.par_chunks(4096)).for_each(|(out, entries)| {
        for (out, &k) in out.chunks_exact_mut(heads).zip(entries) {
            out.copy_from_slice(&values[k as usize * heads..(k as usize + 1) * heads]);
        }
    });
    out
}

impl Operator {
    /// A constant operator from a sparse matrix.
    pub fn constant(matrix: &CsrMatrix<f64>) -> Self {
        Self::from_parts(Pattern::of(matrix), matrix.values().iter().map(|&v| v as f32).collect())
    }

    /// A constant operator from `f32` values, such as sparse features.
    pub fn constant_f32(matrix: &CsrMatrix<f32>) -> Self {
        Self::from_parts(Pattern::of(matrix), matrix.values().to_vec())
    }

    fn from_parts(pattern: Pattern, values: Vec<f32>) -> Self {
        Self::constant_on(Arc::new(pattern), values)
    }

    /// A constant operator from a pattern and a value for each of its entries.
    ///
    /// # Panics
    /// If there are more or fewer values.
    pub(crate) fn constant_on(pattern: Arc<Pattern>, values: Vec<f32>) -> Self {
        assert_eq!(pattern.num_entries(), values.len(), "a value for each entry");
        Self { pattern, values: Values::Constant(Constants::new(values)) }
    }

    /// An operator whose every value is one.
    pub fn from_pattern(pattern: Arc<Pattern>) -> Self {
        let values = vec![1f32; pattern.num_entries()];
        Self { pattern, values: Values::Ones(Constants::new(values)) }
    }

    /// `diag(d) + Σ_p diag(r_p) A diag(c_p)` over the pattern of A + I. `factors` has shape `[nodes, 1 + 2 · parts]` (d,
    /// then r and c of each part) and may take gradients. They are read once: after changing a variable in place, make
    /// the operator anew, as every pass does.
    pub fn factored(skeleton: &Arc<Skeleton>, factors: &Tensor) -> Result<Self> {
        let factored = Factored::new(skeleton.clone(), factors)?;
        Ok(Self { pattern: factored.skeleton().looped().clone(), values: Values::Factored(factored) })
    }

    /// The same pattern with these values: a tensor of shape `[entries]` or `[entries, heads]`, which may take gradients.
    pub fn with_values(&self, values: &Tensor) -> Result<Self> {
        let (entries, heads) = match *values.dims() {
            [entries] => (entries, 1),
            [entries, heads] => (entries, heads),
            ref dims => bail!("operator values: shape {dims:?}, [entries] or [entries, heads] is expected"),
        };
        if entries != self.pattern.num_entries() || heads == 0 {
            bail!("operator values: {entries} × {heads} values for {} entries", self.pattern.num_entries());
        }
        Ok(Self { pattern: self.pattern.clone(), values: Values::Variable(values.contiguous()?) })
    }

    /// Whether it was made by [`from_pattern`](Self::from_pattern): every value is one and carries no meaning.
    pub fn is_pattern_only(&self) -> bool {
        matches!(&self.values, Values::Ones(_))
    }

    /// Where the entries are.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Number of rows.
    pub fn num_rows(&self) -> usize {
        self.pattern.num_rows()
    }

    /// Number of columns.
    pub fn num_cols(&self) -> usize {
        self.pattern.num_cols()
    }

    /// Number of entries.
    pub fn num_entries(&self) -> usize {
        self.pattern.num_entries()
    }

    /// Rows `order[..rows]` of the operator, columns by their place in `order`: what the first `rows` of these nodes hear
    /// from the first `cols`, which must be all they hear. Entries keep their order within a row.
    pub fn restricted(&self, order: &[u32], rows: usize, cols: usize) -> Result<Self> {
        self.rows_by(&order[..rows], &Places::new(&order[..cols], self.num_cols()))
    }

    /// These rows, in this order.
    pub fn select_rows(&self, rows: &[u32]) -> Result<Self> {
        self.rows_by(rows, &Places::same(self.num_cols()))
    }

    /// The first `rows` rows. Of a constant operator the first such part is kept: a network asks for the same one again.
    pub fn head(&self, rows: usize) -> Result<Self> {
        let make = || self.select_rows(&(0..rows as u32).collect::<Vec<_>>());
        match &self.values {
            Values::Ones(c) | Values::Constant(c) => match c.head.get() {
                Some(head) if head.num_rows() == rows => Ok(head.clone()),
                Some(_) => make(),
                None => {
                    let head = make()?;
                    // Another thread may have been first, with another part: then that one stays.
                    let _ = c.head.set(head.clone());
                    Ok(head)
                }
            },
            Values::Variable(_) | Values::Factored(_) => make(),
        }
    }

    /// Looks whether a constant operator is its own transpose and remembers it: its blocks, and gradients through them, then
    /// never have to transpose. Any other operator stays as it is. O(entries).
    pub fn symmetry_noted(self) -> Self {
        let (Values::Ones(c) | Values::Constant(c)) = &self.values else { return self };
        let transposed = self.pattern.transposed();
        let is_symmetric = transposed.pattern.offsets() == self.pattern.offsets()
            && transposed.pattern.indices() == self.pattern.indices()
            && transposed.entry_of.iter().zip(&c.values).all(|(&k, v)| c.values[k as usize] == *v);
        if !is_symmetric {
            return self;
        }
        let noted = Constants::with_symmetry(c.values.clone(), true);
        let values = if self.is_pattern_only() { Values::Ones(noted) } else { Values::Constant(noted) };
        Self { pattern: self.pattern, values }
    }

    /// The blocks on the diagonal that belong to these ranges of nodes, one after the other: a batch of graphs out of an
    /// operator over all of them. Fails where a block hears nodes beyond itself. O(rows + entries).
    pub fn diagonal_blocks(&self, ranges: &[Range<usize>]) -> Result<Self> {
        self.ranges(ranges, true)
    }

    /// The rows of these ranges, one after the other, columns as they are.
    pub fn row_ranges(&self, ranges: &[Range<usize>]) -> Result<Self> {
        self.ranges(ranges, false)
    }

    /// Rows of ranges; as diagonal blocks, their columns count from the first node of the first block.
    fn ranges(&self, ranges: &[Range<usize>], as_blocks: bool) -> Result<Self> {
        let p = &*self.pattern;
        if let Some(range) = ranges.iter().find(|r| r.start > r.end || r.end > p.num_rows()) {
            bail!("operator: rows {} to {} of {}", range.start, range.end, p.num_rows());
        }
        let entries = |range: &Range<usize>| p.offsets()[range.start]..p.offsets()[range.end];
        let rows = ranges.iter().map(Range::len).sum::<usize>();
        let count = ranges.iter().map(|range| entries(range).len()).sum::<usize>();
        let (mut offsets, mut indices) = (Vec::with_capacity(rows + 1), Vec::with_capacity(count));
        offsets.push(0);
        for range in ranges {
            let (from, to, first) = (p.offsets()[range.start], indices.len(), offsets.len() - 1);
            offsets.extend(p.offsets()[range.start + 1..=range.end].iter().map(|&o| o - from + to));
            let columns = &p.indices()[entries(range)];
            if !as_blocks {
                indices.extend_from_slice(columns);
                continue;
            }
            if let Some(c) = columns.iter().find(|&&c| !range.contains(&(c as usize))) {
                bail!("operator: the block of nodes {} to {} hears node {c} beyond itself", range.start, range.end);
            }
            indices.extend(columns.iter().map(|&c| c - range.start as u32 + first as u32));
        }
        let num_cols = if as_blocks { rows } else { self.num_cols() };
        let pattern = Arc::new(Pattern::of_valid(num_cols, offsets, indices));
        let picked = |values: &[f32]| {
            let mut out = Vec::with_capacity(count);
            ranges.iter().for_each(|range| out.extend_from_slice(&values[entries(range)]));
            out
        };
        let values = match &self.values {
            Values::Ones(_) => return Ok(Self::from_pattern(pattern)),
            Values::Constant(c) => {
                Values::Constant(Constants::with_symmetry(picked(&c.values), c.symmetric && as_blocks))
            }
            Values::Variable(_) | Values::Factored(_) => {
                let entries: Vec<u32> = ranges.iter().flat_map(|range| entries(range).map(|k| k as u32)).collect();
                let entries = Tensor::from_vec(entries, count, &Device::Cpu)?;
                Values::Variable(self.values()?.index_select(&entries, 0)?)
            }
        };
        Ok(Self { pattern, values })
    }

    /// The operator plus the identity, where every node hears itself once more: `None` if its values may take gradients.
    /// Made once and kept.
    pub fn with_own(&self) -> Option<Self> {
        let (Values::Ones(c) | Values::Constant(c)) = &self.values else { return None };
        let make = || {
            let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in 0..self.num_rows() {
                let (entries, first) = (self.pattern.row(row), indices.len());
                indices.extend_from_slice(&self.pattern.indices()[entries.clone()]);
                values.extend_from_slice(&c.values[entries]);
                match indices[first..].iter().position(|&col| col as usize == row) {
                    Some(own) => values[first + own] += 1.0,
                    None => {
                        indices.push(row as u32);
                        values.push(1.0);
                    }
                }
                offsets.push(indices.len());
            }
            let symmetric = c.symmetric && self.num_rows() == self.num_cols();
            let pattern = Arc::new(Pattern::new(self.num_cols(), offsets, indices));
            Self { pattern, values: Values::Constant(Constants::with_symmetry(values, symmetric)) }
        };
        Some(c.with_own.get_or_init(make).clone())
    }

    fn rows_by(&self, rows: &[u32], columns: &Places) -> Result<Self> {
        let (pattern, entries) = self.pattern.restricted(rows, columns)?;
        let pattern = Arc::new(pattern);
        let values = match &self.values {
            Values::Ones(_) => return Ok(Self::from_pattern(pattern)),
            Values::Constant(c) => {
                Values::Constant(Constants::new(entries.iter().map(|&k| c.values[k as usize]).collect()))
            }
            Values::Variable(_) | Values::Factored(_) => {
                let entries = Tensor::from_slice(&entries, entries.len(), &Device::Cpu)?;
                Values::Variable(self.values()?.index_select(&entries, 0)?)
            }
        };
        Ok(Self { pattern, values })
    }

    /// The values as a tensor.
    pub fn values(&self) -> Result<Tensor> {
        match &self.values {
            Values::Variable(values) => Ok(values.clone()),
            Values::Factored(factored) => factored.values(),
            Values::Ones(c) | Values::Constant(c) => Tensor::from_vec(c.values.clone(), c.values.len(), &Device::Cpu),
        }
    }

    /// `self · x`, shape `[rows, width]`, for `x` of shape `[cols, width]`. With several heads, head `h` scales columns
    /// `h · width/heads ..` of x. O(entries · width).
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.apply_with_bias(x, None)
    }

    /// `self · x + bias`, the bias of shape `[width]` added to every row.
    pub fn apply_with_bias(&self, x: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let x = x.contiguous()?;
        let pattern = self.pattern.clone();
        match (&self.values, bias) {
            (Values::Ones(values) | Values::Constant(values), None) => {
                x.apply_op1(ApplyConstant::new(&pattern, values, None))
            }
            (Values::Ones(values) | Values::Constant(values), Some(bias)) => {
                x.apply_op2(&bias.contiguous()?, ApplyConstant::new(&pattern, values, None))
            }
            (Values::Variable(values), None) => values.apply_op2(&x, ApplyVariable { pattern }),
            (Values::Variable(values), Some(bias)) => {
                values.apply_op3(&x, &bias.contiguous()?, ApplyVariable { pattern })
            }
            (Values::Factored(factored), bias) => factored.apply(&x, bias, None),
        }
    }

    /// [`apply`](Self::apply) to node features: where neither they nor the operator ever change, the product is kept, and a
    /// network that hears the same features every epoch pays for it once.
    pub fn apply_to_features(&self, x: &Tensor) -> Result<Tensor> {
        let (Values::Ones(constants) | Values::Constant(constants)) = &self.values else { return self.apply(x) };
        if x.is_variable() || x.track_op() {
            return self.apply(x);
        }
        if let Some((id, product)) = constants.applied.get()
            && *id == x.id()
        {
            return Ok(product.clone());
        }
        let product = self.apply(x)?;
        // Only the first features are kept; others are multiplied each time.
        let _ = constants.applied.set((x.id(), product.clone()));
        Ok(product)
    }

    fn constants(&self) -> Option<&Arc<Constants>> {
        match &self.values {
            Values::Ones(c) | Values::Constant(c) => Some(c),
            Values::Variable(_) | Values::Factored(_) => None,
        }
    }

    /// `self · other` of two constant operators; `None` where a value may take gradients. Columns ascend within a row. O(the
    /// products of entries, and the columns).
    pub fn product(&self, other: &Operator) -> Option<Operator> {
        let (a, b) = (self.constants()?, other.constants()?);
        if self.num_cols() != other.num_rows() {
            return None;
        }
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let (mut sums, mut seen) = (vec![0f64; other.num_cols()], vec![false; other.num_cols()]);
        let mut columns: Vec<u32> = Vec::new();
        for row in 0..self.num_rows() {
            for k in self.pattern.row(row) {
                for l in other.pattern.row(self.pattern.indices()[k] as usize) {
                    let column = other.pattern.indices()[l];
                    sums[column as usize] += f64::from(a.values[k]) * f64::from(b.values[l]);
                    if !std::mem::replace(&mut seen[column as usize], true) {
                        columns.push(column);
                    }
                }
            }
            columns.sort_unstable();
            for &column in &columns {
                values.push(std::mem::take(&mut sums[column as usize]) as f32);
                seen[column as usize] = false;
            }
            indices.append(&mut columns);
            offsets.push(indices.len());
        }
        Some(Self::from_parts(Pattern::new(other.num_cols(), offsets, indices), values))
    }

    /// Notes that `self · features` is `product`, for [`aggregated`](Self::aggregated). The first features noted stay.
    pub(crate) fn note_aggregated(&self, features: &Operator, product: Operator) {
        if let (Some(own), Some(features)) = (self.constants(), features.constants()) {
            let _ = own.heard.set((features.clone(), product));
        }
    }

    /// What nodes hear of these sparse features, where that was noted.
    pub(crate) fn aggregated(&self, features: &Operator) -> Option<&Operator> {
        let (noted, product) = self.constants()?.heard.get()?;
        Arc::ptr_eq(noted, features.constants()?).then_some(product)
    }

    /// Notes what [`with_own`](Self::with_own) is, where it is known already.
    pub(crate) fn note_with_own(&self, with_own: Operator) {
        if let Some(own) = self.constants() {
            let _ = own.with_own.set(with_own);
        }
    }

    /// `dropout(relu(self · x + bias))`, in one operation where no entry takes a gradient.
    pub fn apply_activated(&self, x: &Tensor, bias: &Tensor, dropout: Dropout) -> Result<Tensor> {
        match &self.values {
            Values::Ones(values) | Values::Constant(values) => {
                let op = ApplyConstant::new(&self.pattern, values, Some(dropout.check()?));
                x.contiguous()?.apply_op2(&bias.contiguous()?, op)
            }
            Values::Factored(factored) => factored.apply(x, Some(bias), Some(dropout)),
            Values::Variable(_) => relu_dropout(&self.apply_with_bias(x, Some(bias))?, dropout),
        }
    }
}

/// The product with given values: the one place where sparse meets dense.
fn product(
    pattern: &Pattern,
    values: &[f32],
    heads: usize,
    x: (&CpuStorage, &Layout),
    bias: Option<(&CpuStorage, &Layout)>,
    activation: Option<Dropout>,
) -> Result<(CpuStorage, Shape)> {
    const OP: &str = "operator";
    let (x_rows, width) = matrix_shape(OP, x.1)?;
    if x_rows != pattern.num_cols() {
        bail!("{OP}: {} × {} applied to {x_rows} rows", pattern.num_rows(), pattern.num_cols());
    }
    if width % heads != 0 {
        bail!("{OP}: {width} columns cannot be shared by {heads} heads");
    }
    let x = floats(OP, x.0, x.1)?;
    let bias = bias.map(|(s, l)| floats(OP, s, l)).transpose()?;
    if let Some(bias) = bias
        && bias.len() != width
    {
        bail!("{OP}: a bias of {} for {width} columns", bias.len());
    }
    let rows = Rows { pattern, values, heads };
    let fill = |out: &mut [MaybeUninit<f32>]| {
        pattern.for_row_blocks(out, width, |range, out| {
            let first = (range.start * width) as u64;
            kernels::gather_rows(rows, range, x, width, bias, out);
            if let Some(d) = activation {
                // SAFETY: these rows were just written, and both types have one layout.
                let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [f32]) };
                kernels::relu_dropout_in_place(out, first, d.key, d.threshold(), d.scale());
            }
        });
    };
    // SAFETY: the blocks are all rows, and the kernel writes every value of its rows.
    let out = unsafe { filled(pattern.num_rows() * width, fill) };
    Ok((CpuStorage::F32(out), Shape::from((pattern.num_rows(), width))))
}

/// `P · x (+ bias)` with constant values, activated if asked; the gradient to x is `Pᵀ · g`.
struct ApplyConstant {
    pattern: Arc<Pattern>,
    values: Arc<Constants>,
    activation: Option<Dropout>,
}

impl ApplyConstant {
    fn new(pattern: &Arc<Pattern>, values: &Arc<Constants>, activation: Option<Dropout>) -> Self {
        Self { pattern: pattern.clone(), values: values.clone(), activation }
    }

    fn transposed(&self) -> Self {
        if self.values.symmetric {
            return Self::new(&self.pattern, &self.values, None);
        }
        let values = self.values.transposed(&self.pattern);
        Self { pattern: self.pattern.transposed().pattern.clone(), values, activation: None }
    }
}

impl CustomOp1 for ApplyConstant {
    fn name(&self) -> &'static str {
        "operator"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        product(&self.pattern, &self.values.values, 1, (x, layout), None, self.activation)
    }

    fn bwd(&self, _x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.contiguous()?.apply_op1_no_bwd(&self.transposed())?))
    }
}

impl CustomOp2 for ApplyConstant {
    fn name(&self) -> &'static str {
        "operator with bias"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        product(&self.pattern, &self.values.values, 1, (x, lx), Some((b, lb)), self.activation)
    }

    fn bwd(&self, x: &Tensor, _b: &Tensor, res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = match self.activation {
            Some(dropout) => relu_dropout_gradient(res, grad, dropout)?,
            None => grad.contiguous()?,
        };
        let to_x = if x.track_op() { Some(grad.apply_op1_no_bwd(&self.transposed())?) } else { None };
        Ok((to_x, Some(column_sums(&grad)?)))
    }
}

/// `P(values) · x (+ bias)`; the gradient to a value is the inner product of the rows it joins.
struct ApplyVariable {
    pattern: Arc<Pattern>,
}

impl ApplyVariable {
    fn forward(
        &self,
        values: (&CpuStorage, &Layout),
        x: (&CpuStorage, &Layout),
        bias: Option<(&CpuStorage, &Layout)>,
    ) -> Result<(CpuStorage, Shape)> {
        let values = floats("operator", values.0, values.1)?;
        let heads = heads_of(&self.pattern, values.len());
        product(&self.pattern, values, heads, x, bias, None)
    }

    fn backward(&self, values: &Tensor, x: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let to_values = if values.track_op() {
            Some(
                sampled_products_no_bwd(&self.pattern, grad, x, heads_of(&self.pattern, values.elem_count()))?
                    .reshape(values.shape())?,
            )
        } else {
            None
        };
        let to_x = if x.track_op() {
            let op = ApplyTransposed { pattern: self.pattern.clone() };
            Some(values.apply_op2_no_bwd(grad, &op)?)
        } else {
            None
        };
        Ok((to_values, to_x))
    }
}

fn heads_of(pattern: &Pattern, num_values: usize) -> usize {
    (num_values / pattern.num_entries().max(1)).max(1)
}

impl CustomOp2 for ApplyVariable {
    fn name(&self) -> &'static str {
        "operator with variable values"
    }

    fn cpu_fwd(&self, v: &CpuStorage, lv: &Layout, x: &CpuStorage, lx: &Layout) -> Result<(CpuStorage, Shape)> {
        self.forward((v, lv), (x, lx), None)
    }

    fn bwd(&self, v: &Tensor, x: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        self.backward(v, x, &grad.contiguous()?)
    }
}

impl CustomOp3 for ApplyVariable {
    fn name(&self) -> &'static str {
        "operator with variable values and bias"
    }

    fn cpu_fwd(
        &self,
        v: &CpuStorage,
        lv: &Layout,
        x: &CpuStorage,
        lx: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.forward((v, lv), (x, lx), Some((b, lb)))
    }

    fn bwd(
        &self,
        v: &Tensor,
        x: &Tensor,
        _b: &Tensor,
        _res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let (to_values, to_x) = self.backward(v, x, &grad)?;
        Ok((to_values, to_x, Some(column_sums(&grad)?)))
    }
}

/// `P(values)ᵀ · g`, for gradients.
struct ApplyTransposed {
    pattern: Arc<Pattern>,
}

impl CustomOp2 for ApplyTransposed {
    fn name(&self) -> &'static str {
        "transposed operator"
    }

    fn cpu_fwd(&self, v: &CpuStorage, lv: &Layout, g: &CpuStorage, lg: &Layout) -> Result<(CpuStorage, Shape)> {
        let values = floats(self.name(), v, lv)?;
        let heads = heads_of(&self.pattern, values.len());
        let transposed = self.pattern.transposed();
        product(&transposed.pattern, &permuted(values, heads, &transposed.entry_of), heads, (g, lg), None, None)
    }
}

/// `dropout(relu(P · (X W) + b))` for constant P and X, as one operation: a hidden graph convolution on sparse features
/// without the intermediate results, and their gradients, that separate operations would keep. `None` where P or X has
/// values that take gradients.
pub fn constant_convolution(
    operator: &Operator,
    features: &Operator,
    weight: &Tensor,
    bias: &Tensor,
    activation: Dropout,
) -> Result<Option<Tensor>> {
    let constant = |op: &Operator| match &op.values {
        Values::Ones(values) | Values::Constant(values) => Some(ApplyConstant::new(&op.pattern, values, None)),
        Values::Variable(_) | Values::Factored(_) => None,
    };
    let (Some(operator), Some(features)) = (constant(operator), constant(features)) else { return Ok(None) };
    let op = ConstantConvolution { operator, features, activation: activation.check()? };
    weight.contiguous()?.apply_op2(&bias.contiguous()?, op).map(Some)
}

/// `dropout(relu(P · (x W) + b))` for constant P and dense x, as one operation; `None` where P takes gradients.
pub fn dense_convolution(
    operator: &Operator,
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    activation: Dropout,
) -> Result<Option<Tensor>> {
    let Some(values) = operator.constants() else { return Ok(None) };
    let operator = ApplyConstant::new(&operator.pattern, values, None);
    let op = DenseConvolution { operator, activation: activation.check()? };
    x.contiguous()?.apply_op3(&weight.contiguous()?, &bias.contiguous()?, op).map(Some)
}

struct DenseConvolution {
    operator: ApplyConstant,
    activation: Dropout,
}

impl CustomOp3 for DenseConvolution {
    fn name(&self) -> &'static str {
        "dense convolution"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        w: &CpuStorage,
        lw: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let ((rows, inner), (w_rows, width)) = (matrix_shape(self.name(), lx)?, matrix_shape(self.name(), lw)?);
        if inner != w_rows {
            bail!("{}: {rows} × {inner} by {w_rows} × {width}", self.name());
        }
        let factors = (floats(self.name(), x, lx)?, floats(self.name(), w, lw)?);
        let mapped = product_of(factors, (rows, inner, width));
        let (mapped, layout) = (CpuStorage::F32(mapped), Layout::contiguous((rows, width)));
        let values = &self.operator.values.values;
        product(&self.operator.pattern, values, 1, (&mapped, &layout), Some((b, lb)), Some(self.activation))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        _b: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = relu_dropout_gradient(result, grad, self.activation)?;
        let to_bias = column_sums(&grad)?;
        let to_mapped = grad.apply_op1_no_bwd(&self.operator.transposed())?;
        let to_x = if x.track_op() { Some(by_transposed(&to_mapped, w)?) } else { None };
        let to_w = if w.track_op() { Some(transposed_by(x, &to_mapped)?) } else { None };
        Ok((to_x, to_w, Some(to_bias)))
    }
}

struct ConstantConvolution {
    operator: ApplyConstant,
    features: ApplyConstant,
    activation: Dropout,
}

impl CustomOp2 for ConstantConvolution {
    fn name(&self) -> &'static str {
        "constant convolution"
    }

    fn cpu_fwd(&self, w: &CpuStorage, lw: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        let (mapped, shape) = product(&self.features.pattern, &self.features.values.values, 1, (w, lw), None, None)?;
        let layout = Layout::contiguous(shape);
        let heard = (&mapped, &layout);
        product(&self.operator.pattern, &self.operator.values.values, 1, heard, Some((b, lb)), Some(self.activation))
    }

    fn bwd(
        &self,
        _w: &Tensor,
        _b: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = relu_dropout_gradient(result, grad, self.activation)?;
        let to_bias = column_sums(&grad)?;
        let to_mapped = grad.apply_op1_no_bwd(&self.operator.transposed())?;
        Ok((Some(to_mapped.apply_op1_no_bwd(&self.features.transposed())?), Some(to_bias)))
    }
}

/// For each entry of the pattern the inner product of `a`'s row and `b`'s row: the dense product `a · bᵀ` sampled where
/// entries are. With several heads the columns are shared out and there is one product per head: `[entries, heads]`.
pub fn sampled_products(pattern: &Arc<Pattern>, a: &Tensor, b: &Tensor, heads: usize) -> Result<Tensor> {
    a.contiguous()?.apply_op2(&b.contiguous()?, SampledProducts { pattern: pattern.clone(), heads })
}

fn sampled_products_no_bwd(pattern: &Arc<Pattern>, a: &Tensor, b: &Tensor, heads: usize) -> Result<Tensor> {
    a.contiguous()?.apply_op2_no_bwd(&b.contiguous()?, &SampledProducts { pattern: pattern.clone(), heads })
}

struct SampledProducts {
    pattern: Arc<Pattern>,
    heads: usize,
}

impl CustomOp2 for SampledProducts {
    fn name(&self) -> &'static str {
        "sampled products"
    }

    fn cpu_fwd(&self, a: &CpuStorage, la: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        let ((a_rows, width), (b_rows, b_width)) = (matrix_shape(self.name(), la)?, matrix_shape(self.name(), lb)?);
        let p = &*self.pattern;
        if a_rows != p.num_rows() || b_rows != p.num_cols() || width != b_width || width % self.heads != 0 {
            bail!(
                "{}: {a_rows} × {width} and {b_rows} × {b_width} on a {} × {} pattern with {} heads",
                self.name(),
                p.num_rows(),
                p.num_cols(),
                self.heads
            );
        }
        let (a, b) = (floats(self.name(), a, la)?, floats(self.name(), b, lb)?);
        let mut out = vec![0f32; p.num_entries() * self.heads];
        p.for_entry_blocks(&mut out, self.heads, |range, out| {
            kernels::sampled_products(p, self.heads, range, a, b, width, out);
        });
        Ok((CpuStorage::F32(out), Shape::from((p.num_entries(), self.heads))))
    }

    fn bwd(&self, a: &Tensor, b: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let to_a = grad.apply_op2_no_bwd(b, &ApplyVariable { pattern: self.pattern.clone() })?;
        let to_b = grad.apply_op2_no_bwd(a, &ApplyTransposed { pattern: self.pattern.clone() })?;
        Ok((Some(to_a), Some(to_b)))
    }
}

/// `x + bias` on every row.
pub fn add_bias(x: &Tensor, bias: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op2(&bias.contiguous()?, AddBias)
}

struct AddBias;

impl CustomOp2 for AddBias {
    fn name(&self) -> &'static str {
        "add bias"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        let (_, width) = matrix_shape(self.name(), lx)?;
        let (x, bias) = (floats(self.name(), x, lx)?, floats(self.name(), b, lb)?);
        if bias.len() != width {
            bail!("{}: a bias of {} for {width} columns", self.name(), bias.len());
        }
        let mut out = x.to_vec();
        if width > 0 {
            out.par_chunks_mut(256 * width).for_each(|rows| {
                for row in rows.chunks_exact_mut(width) {
                    kernels::add_rows(bias, row);
                }
            });
        }
        Ok((CpuStorage::F32(out), lx.shape().clone()))
    }

    fn bwd(&self, _x: &Tensor, _b: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok((Some(grad.clone()), Some(column_sums(grad)?)))
    }
}

/// The sum of each column, in a fixed order whatever the number of threads.
pub(crate) fn column_sums(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1_no_bwd(&ColumnSums)
}

struct ColumnSums;

impl CustomOp1 for ColumnSums {
    fn name(&self) -> &'static str {
        "column sums"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        const ROWS: usize = 512;
        let (_, width) = matrix_shape(self.name(), layout)?;
        let x = floats(self.name(), x, layout)?;
        let mut total = vec![0f32; width];
        if width > 0 {
            let sum_block = |block: &[f32]| {
                let mut sums = vec![0f32; width];
                kernels::add_rows(block, &mut sums);
                sums
            };
            // The same blocks and the same order on one thread or many.
            let blocks: Vec<Vec<f32>> = if x.len() < MIN_PARALLEL_WORK {
                x.chunks(ROWS * width).map(sum_block).collect()
            } else {
                x.par_chunks(ROWS * width).map(sum_block).collect()
            };
            for sums in &blocks {
                kernels::add_rows(sums, &mut total);
            }
        }
        Ok((CpuStorage::F32(total), Shape::from(width)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{check_gradients, random, random_pattern};
    use candle_core::Var;

    fn dense(op: &Operator, head: usize, heads: usize) -> Tensor {
        let p = op.pattern();
        let values = op.values().unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let mut m = vec![0f32; p.num_rows() * p.num_cols()];
        for r in 0..p.num_rows() {
            for k in p.row(r) {
                m[r * p.num_cols() + p.indices()[k] as usize] = values[k * heads + head];
            }
        }
        Tensor::from_vec(m, (p.num_rows(), p.num_cols()), &Device::Cpu).unwrap()
    }

    fn assert_close(a: &Tensor, b: &Tensor) {
        let diff = (a - b).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
        assert!(diff < 1e-5, "differs by {diff}");
    }

    #[test]
    fn equals_the_dense_product_for_every_width() {
        for width in [1, 2, 3, 5, 7, 8, 9, 15, 16, 33, 64, 103, 128] {
            let op = random_pattern(40, 30, 0.2, 1);
            let x = random(&[30, width], 2);
            assert_close(&op.apply(&x).unwrap(), &dense(&op, 0, 1).matmul(&x).unwrap());
            let bias = random(&[width], 3);
            let with_bias = op.apply_with_bias(&x, Some(&bias)).unwrap();
            assert_close(&with_bias, &dense(&op, 0, 1).matmul(&x).unwrap().broadcast_add(&bias).unwrap());
        }
    }

    #[test]
    fn activation_in_the_same_pass() {
        let op = random_pattern(12, 10, 0.3, 1);
        let [x, bias] = [random(&[10, 6], 2), random(&[6], 3)].map(|t| Var::from_tensor(&t).unwrap());
        let dropout = Dropout { rate: 0.4, key: 9 };
        let apart = relu_dropout(&op.apply_with_bias(&x, Some(&bias)).unwrap(), dropout).unwrap();
        let gradients = |y: &Tensor| {
            let grads = (y * random(&[12, 6], 4)).unwrap().sum_all().unwrap().backward().unwrap();
            [&x, &bias].map(|v| grads.get(v).unwrap().clone())
        };
        for op in [op.with_values(&op.values().unwrap()).unwrap(), op] {
            let together = op.apply_activated(&x, &bias, dropout).unwrap();
            assert_close(&together, &apart);
            gradients(&together).iter().zip(gradients(&apart)).for_each(|(a, b)| assert_close(a, &b));
        }
    }

    #[test]
    fn features_are_heard_once() {
        let (op, x, y) = (random_pattern(6, 6, 0.4, 1), random(&[6, 3], 2), random(&[6, 3], 3));
        let first = op.apply_to_features(&x).unwrap();
        assert_eq!(first.id(), op.apply_to_features(&x).unwrap().id(), "kept");
        assert_close(&first, &op.apply(&x).unwrap());
        assert_close(&op.apply_to_features(&y).unwrap(), &op.apply(&y).unwrap());
        let variable = Var::from_tensor(&x).unwrap();
        assert!(op.apply_to_features(&variable).unwrap().track_op(), "what takes gradients is never kept");
    }

    #[test]
    fn parts_of_an_operator() {
        let op = random_pattern(6, 6, 0.4, 1);
        let m = dense(&op, 0, 1).to_vec2::<f32>().unwrap();
        let rows = |op: &Operator| dense(op, 0, 1).to_vec2::<f32>().unwrap();
        assert_eq!(rows(&op.select_rows(&[4, 1]).unwrap()), [m[4].clone(), m[1].clone()]);
        for size in [3, 3, 2] {
            assert_eq!(rows(&op.head(size).unwrap()), m[..size], "the part kept is not given for another");
        }
        // Every node in the order 5, 4, …, 0: rows and columns turn round.
        let reversed = op.restricted(&[5, 4, 3, 2, 1, 0], 2, 6).unwrap();
        let turned = |r: usize| m[r].iter().rev().copied().collect::<Vec<_>>();
        assert_eq!(rows(&reversed), [turned(5), turned(4)]);
        let variable = op.with_values(&op.values().unwrap()).unwrap();
        assert_eq!(rows(&variable.restricted(&[5, 4, 3, 2, 1, 0], 2, 6).unwrap()), [turned(5), turned(4)]);
        let path = Operator::from_pattern(Arc::new(Pattern::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1])));
        let e = path.restricted(&[1, 0, 2], 1, 2).unwrap_err().to_string();
        assert!(e.contains("node 2 is heard"), "{e}");
    }

    /// Two triangles of different weights and a lone node, as one operator.
    fn three_blocks() -> Operator {
        let indices = vec![1, 2, 0, 2, 0, 1, 4, 5, 3, 5, 3, 4];
        let values: Vec<f32> =
            (0..12).map(|k| if k < 6 { 2.0 } else { [3.0, 4.0, 3.0, 5.0, 4.0, 5.0][k - 6] }).collect();
        Operator::from_parts(Pattern::new(7, vec![0, 2, 4, 6, 8, 10, 12, 12], indices), values)
    }

    #[test]
    fn blocks_are_parts_of_the_whole() {
        let op = three_blocks();
        let m = dense(&op, 0, 1).to_vec2::<f32>().unwrap();
        let ranges = [3..6, 6..7, 3..3, 0..3];
        let nodes: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let expected: Vec<Vec<f32>> = nodes.iter().map(|&r| nodes.iter().map(|&c| m[r][c]).collect()).collect();
        let variable = op.with_values(&op.values().unwrap()).unwrap();
        let gradients = |op: &Operator| {
            let x = Var::from_tensor(&random(&[7, 3], 1)).unwrap();
            let y = (op.apply(&x).unwrap() * random(&[7, 3], 2)).unwrap();
            y.sum_all().unwrap().backward().unwrap().get(&x).unwrap().clone()
        };
        let noted = op.clone().symmetry_noted();
        for op in [&op, &noted, &variable] {
            let blocks = op.diagonal_blocks(&ranges).unwrap();
            assert_eq!(dense(&blocks, 0, 1).to_vec2::<f32>().unwrap(), expected);
            let by_transposing = variable.diagonal_blocks(&ranges).unwrap();
            assert_close(&gradients(&blocks), &gradients(&by_transposing));
            let own = blocks.with_own();
            assert!(own.is_none_or(|own| dense(&own, 0, 1).to_vec2::<f32>().unwrap()[0][0] == 1.0));
            let rows = dense(&op.row_ranges(&ranges).unwrap(), 0, 1).to_vec2::<f32>().unwrap();
            assert_eq!(rows, nodes.iter().map(|&r| m[r].clone()).collect::<Vec<_>>());
        }
        let is_noted = |op: &Operator| matches!(&op.values, Values::Constant(c) if c.symmetric);
        assert!(is_noted(&noted.diagonal_blocks(&ranges).unwrap()) && !is_noted(&op));
        assert!(!is_noted(&noted.row_ranges(&ranges).unwrap()), "rows of a symmetric matrix are not symmetric");
        assert!(!is_noted(&random_pattern(9, 9, 0.4, 1).symmetry_noted()), "its values differ across the diagonal");
        assert!(op.diagonal_blocks(&[0..2, 3..6]).unwrap_err().to_string().contains("hears node 2 beyond itself"));
        assert!(op.diagonal_blocks(&[0..3, 6..8]).unwrap_err().to_string().contains("rows 6 to 8 of 7"));
        assert_eq!(op.diagonal_blocks(&[]).unwrap().num_rows(), 0);
    }

    #[test]
    fn nodes_that_also_hear_themselves() {
        // Row 0 hears itself already; the operator is wider than high.
        let op = Operator::from_pattern(Arc::new(Pattern::new(3, vec![0, 2, 3], vec![0, 2, 0])));
        let rows = dense(&op.with_own().unwrap(), 0, 1).to_vec2::<f32>().unwrap();
        assert_eq!(rows, [[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]);
        assert!(op.with_values(&op.values().unwrap()).unwrap().with_own().is_none());
    }

    #[test]
    fn heads_scale_their_own_columns() {
        for (heads, dim) in [(3, 5), (8, 8), (2, 64)] {
            let op = random_pattern(20, 20, 0.3, 4);
            let op = op.with_values(&random(&[op.num_entries(), heads], 5)).unwrap();
            let (x, bias) = (random(&[20, heads * dim], 6), random(&[heads * dim], 7));
            let y = op.apply_with_bias(&x, Some(&bias)).unwrap().broadcast_sub(&bias).unwrap();
            for head in 0..heads {
                let columns = |t: &Tensor| t.narrow(1, head * dim, dim).unwrap().contiguous().unwrap();
                assert_close(&columns(&y), &dense(&op, head, heads).matmul(&columns(&x)).unwrap());
            }
        }
    }

    #[test]
    fn gradients_to_values_dense_side_and_bias() {
        for heads in [1, 2] {
            let op = random_pattern(9, 7, 0.4, 7);
            let inputs = [random(&[op.num_entries(), heads], 8), random(&[7, 4], 9), random(&[4], 10)];
            check_gradients(&inputs, |v| op.with_values(&v[0])?.apply_with_bias(&v[1], Some(&v[2])));
        }
        let op = random_pattern(9, 7, 0.4, 7);
        check_gradients(&[random(&[7, 4], 9), random(&[4], 10)], |v| op.apply_with_bias(&v[0], Some(&v[1])));
        check_gradients(&[random(&[7, 4], 9)], |v| op.apply(&v[0]));
    }

    #[test]
    fn a_constant_convolution_is_its_parts() {
        let (operator, features) = (random_pattern(9, 9, 0.4, 1), random_pattern(9, 6, 0.4, 2));
        let inputs = [random(&[6, 5], 3), random(&[5], 4)];
        let d = Dropout { rate: 0.3, key: 5 };
        let whole = |v: &[Tensor]| Ok(constant_convolution(&operator, &features, &v[0], &v[1], d)?.unwrap());
        let parts = |v: &[Tensor]| {
            crate::tensor::relu_dropout(&operator.apply_with_bias(&features.apply(&v[0])?, Some(&v[1]))?, d)
        };
        assert_close(&whole(&inputs).unwrap(), &parts(&inputs).unwrap());
        let gradients = |f: &dyn Fn(&[Tensor]) -> Result<Tensor>| {
            let vars: Vec<Var> = inputs.iter().map(|t| Var::from_tensor(t).unwrap()).collect();
            let tensors: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
            let grads = f(&tensors).unwrap().sqr().unwrap().sum_all().unwrap().backward().unwrap();
            vars.iter().map(|v| grads.get(v).unwrap().clone()).collect::<Vec<_>>()
        };
        for (a, b) in gradients(&whole).iter().zip(gradients(&parts)) {
            assert_close(a, &b);
        }
        let variable = operator.with_values(&operator.values().unwrap()).unwrap();
        assert!(constant_convolution(&variable, &features, &inputs[0], &inputs[1], d).unwrap().is_none());
    }

    #[test]
    fn a_dense_convolution_is_its_parts() {
        let operator = random_pattern(9, 7, 0.4, 1);
        let inputs = [random(&[7, 6], 2), random(&[6, 5], 3), random(&[5], 4)];
        let d = Dropout { rate: 0.3, key: 5 };
        let outcome = |fused: bool| {
            let [x, w, b] = inputs.each_ref().map(|t| Var::from_tensor(t).unwrap());
            let y = match fused {
                true => dense_convolution(&operator, &x, &w, &b, d).unwrap().unwrap(),
                false => {
                    let heard = operator.apply_with_bias(&x.matmul(&w).unwrap(), Some(&b)).unwrap();
                    relu_dropout(&heard, d).unwrap()
                }
            };
            let grads = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            [y, grads.get(&x).unwrap().clone(), grads.get(&w).unwrap().clone(), grads.get(&b).unwrap().clone()]
        };
        outcome(true).iter().zip(outcome(false)).for_each(|(a, b)| assert_close(a, &b));
        let variable = operator.with_values(&operator.values().unwrap()).unwrap();
        assert!(dense_convolution(&variable, &inputs[0], &inputs[1], &inputs[2], d).unwrap().is_none());
    }

    #[test]
    fn products_of_operators() {
        let (a, b) = (random_pattern(9, 7, 0.4, 1), random_pattern(7, 5, 0.4, 2));
        let product = a.product(&b).unwrap();
        assert_close(&dense(&product, 0, 1), &dense(&a, 0, 1).matmul(&dense(&b, 0, 1)).unwrap());
        assert!((0..9).all(|r| product.pattern().indices()[product.pattern().row(r)].is_sorted()));
        assert!(b.product(&a).is_none(), "shapes that do not fit");
        a.note_aggregated(&b, product);
        assert!(a.aggregated(&b).is_some() && a.aggregated(&b.clone()).is_some());
        assert!(a.aggregated(&random_pattern(7, 5, 0.4, 2)).is_none(), "other features, alike as they may be");
        assert!(
            a.aggregated(&b.with_values(&b.values().unwrap()).unwrap()).is_none(),
            "values that may take gradients"
        );
    }

    #[test]
    fn gradients_of_a_bias() {
        check_gradients(&[random(&[6, 4], 12), random(&[4], 13)], |v| add_bias(&v[0], &v[1])?.sqr());
    }

    #[test]
    fn gradients_of_sampled_products() {
        let op = random_pattern(6, 5, 0.5, 11);
        check_gradients(&[random(&[6, 4], 12), random(&[5, 4], 13)], |v| {
            sampled_products(op.pattern(), &v[0], &v[1], 2)
        });
    }

    #[test]
    fn empty_rows_give_the_bias_and_empty_patterns_work() {
        let empty = Operator::constant(&CsrMatrix::new(2, vec![0, 0, 0], vec![], vec![]).unwrap());
        let x = random(&[2, 3], 1);
        assert_eq!(empty.apply(&x).unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap(), 0.0);
        let none = Operator::constant(&CsrMatrix::new(0, vec![0], vec![], vec![]).unwrap());
        assert_eq!(none.apply(&random(&[0, 3], 1)).unwrap().dims(), [0, 3]);
    }

    #[test]
    fn wrong_shapes_are_named() {
        let op = random_pattern(4, 4, 0.5, 1);
        let e = op.apply(&random(&[3, 2], 1)).unwrap_err().to_string();
        assert!(e.contains("4 × 4 applied to 3 rows"), "{e}");
        let e = op.with_values(&random(&[op.num_entries() + 1], 1)).unwrap_err().to_string();
        assert!(e.contains("values for"), "{e}");
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let op = random_pattern(3000, 3000, 0.01, 3);
        let x = Var::from_tensor(&random(&[3000, 20], 4)).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let y = op.apply(&x).unwrap().sqr().unwrap();
                let grads = y.sum_all().unwrap().backward().unwrap();
                (y.to_vec2::<f32>().unwrap(), grads.get(&x).unwrap().to_vec2::<f32>().unwrap())
            })
        };
        assert_eq!(run(1), run(3));
    }
}
