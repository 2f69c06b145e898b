//! [`Operator`]: sparse × dense products with gradients to the dense side and, optionally, to each
//! sparse value.
//!
//! | file | contents |
//! | --- | --- |
//! | `parts` | rows, blocks and sums of an operator |
//! | `gather` | the product with given values, where sparse meets dense |
//! | `constant` | values that never change, and the product with them |
//! | `variable` | values that take gradients, and the product with them |
//! | `pairs` | symmetric matrices by pairs, added to an operator |
//! | `low_rank` | operators without entries, applied as two factors |
//! | `convolution` | linear map, operator and activation as one operation |

mod constant;
mod convolution;
mod gather;
mod low_rank;
mod pairs;
mod parts;
mod variable;

use std::sync::Arc;

use gnarl_graph::CsrMatrix;

pub use convolution::{constant_convolution, dense_convolution};
pub use pairs::Pairs;
pub use variable::sampled_products;

use self::constant::{ApplyConstant, Constants};
use self::low_rank::LowRank;
use self::pairs::AdditionalPairs;
use self::variable::{ApplyTransposed, ApplyVariable};
use super::activation::{Dropout, relu_dropout};
use super::array::Tensor;
use super::bias::add_bias;
use super::element::{DType, Device};
use super::error::{Result, bail};
use super::factored::{Factored, FactoredPattern};
use super::pattern::Pattern;
use super::tape::apply;

/// Operations of this module, for the list of operations.
pub(crate) mod all {
    pub(crate) use super::constant::ApplyConstant;
    pub(crate) use super::convolution::{ConstantConvolution, DenseConvolution};
    pub(crate) use super::pairs::{ApplyPairs, PairProducts};
    pub(crate) use super::variable::{ApplyTransposed, ApplyVariable, SampledProducts};
}

/// Sparse matrix that can be applied to a dense one: a pattern and a value (or one per head) for
/// each entry.
///
/// ```
/// use gnarl_tensor::{Device, Operator, Tensor};
/// use gnarl_graph::{Graph, operator::ClassicalOperator};
/// let path = Graph::from_edges(3, [(0, 1), (1, 2)])?.0;
/// let mean = Operator::constant(&ClassicalOperator::MEAN_AGGREGATION.matrix(&path)?);
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
    /// Ones in every entry of the pattern.
    Ones(Arc<Constants>),
    Constant(Arc<Constants>),
    Variable(Tensor),
    /// Values that take gradients, and extra pairs of nodes in addition.
    AdditionalPairs(Tensor, Arc<AdditionalPairs>),
    /// Factors per node, over the pattern of A + I.
    Factored(Factored),
    /// No entries: two low-rank factors and a diagonal.
    LowRank(Arc<LowRank>),
}

impl Operator {
    /// Returns a constant operator from a sparse matrix.
    pub fn constant(matrix: &CsrMatrix<f64>) -> Self {
        Self::from_parts(
            Pattern::of(matrix),
            matrix.values().iter().map(|&v| v as f32).collect(),
        )
    }

    /// Returns a constant operator from `f32` values, such as sparse features.
    pub fn constant_f32(matrix: &CsrMatrix<f32>) -> Self {
        Self::from_parts(Pattern::of(matrix), matrix.values().to_vec())
    }

    /// Returns a constant operator that shares the pattern of another, and results computed from
    /// it, if the entries are in the same places.
    pub fn constant_f32_sharing(matrix: &CsrMatrix<f32>, other: &Operator) -> Self {
        if other.pattern.is_of(matrix) {
            Self::constant_on(other.pattern.clone(), matrix.values().to_vec())
        } else {
            Self::constant_f32(matrix)
        }
    }

    fn from_parts(pattern: Pattern, values: Vec<f32>) -> Self {
        Self::constant_on(Arc::new(pattern), values)
    }

    /// Returns a constant operator from a pattern and a value for each of its entries.
    ///
    /// # Panics
    /// If there are more or fewer values.
    #[doc(hidden)]
    pub fn constant_on(pattern: Arc<Pattern>, values: Vec<f32>) -> Self {
        assert_eq!(
            pattern.num_entries(),
            values.len(),
            "a value for each entry"
        );
        Self {
            pattern,
            values: Values::Constant(Constants::new(values)),
        }
    }

    /// Returns an operator whose values are all one.
    pub fn from_pattern(pattern: Arc<Pattern>) -> Self {
        let values = vec![1f32; pattern.num_entries()];
        Self {
            pattern,
            values: Values::Ones(Constants::new(values)),
        }
    }

    /// Returns the operator `diag(d) + Σ_p diag(r_p) A diag(c_p)` over the pattern of A + I.
    /// `factors` has shape `[nodes, 1 + 2 · parts]` (d, then r and c of each part) and may take
    /// gradients. The factors are read once: after changing a variable in place, build the operator
    /// again, as every forward pass does.
    pub fn factored(pattern: &Arc<FactoredPattern>, factors: &Tensor) -> Result<Self> {
        let factored = Factored::new(pattern.clone(), factors)?;
        Ok(Self {
            pattern: factored.pattern().looped().clone(),
            values: Values::Factored(factored),
        })
    }

    /// Returns an operator with the same pattern and these values: a tensor of shape `[entries]` or
    /// `[entries, heads]`, which may take gradients.
    pub fn with_values(&self, values: &Tensor) -> Result<Self> {
        if let Values::AdditionalPairs(..) = &self.values {
            bail!("operator: an operator with additional pairs has no tensor of values");
        }
        let (entries, heads) = match *values.dims() {
            [entries] => (entries, 1),
            [entries, heads] => (entries, heads),
            ref dims => {
                bail!("operator values: shape {dims:?}, [entries] or [entries, heads] is expected")
            }
        };
        if entries != self.pattern.num_entries() || heads == 0 {
            bail!(
                "operator values: {entries} × {heads} values for {} entries",
                self.pattern.num_entries()
            );
        }
        Ok(Self {
            pattern: self.pattern.clone(),
            values: Values::Variable(values.clone()),
        })
    }

    /// Returns true if it was built by [`from_pattern`](Self::from_pattern): every value is one and
    /// carries no meaning.
    pub fn is_pattern_only(&self) -> bool {
        matches!(&self.values, Values::Ones(_))
    }

    /// Returns the sparsity pattern.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        self.pattern.num_rows()
    }

    /// Returns the number of columns.
    pub fn num_cols(&self) -> usize {
        self.pattern.num_cols()
    }

    /// Returns the number of entries.
    pub fn num_entries(&self) -> usize {
        self.pattern.num_entries()
    }

    /// Returns the values as a tensor.
    pub fn values(&self) -> Result<Tensor> {
        match &self.values {
            Values::Variable(values) => Ok(values.clone()),
            Values::AdditionalPairs(..) => {
                bail!("operator: an operator with additional pairs has no tensor of values")
            }
            Values::Factored(factored) => factored.values(),
            Values::LowRank(_) => Tensor::zeros(0, DType::F32, &Device::Cpu),
            Values::Ones(c) | Values::Constant(c) => {
                Tensor::from_vec(c.values.clone(), c.values.len(), &Device::Cpu)
            }
        }
    }

    /// Returns the factors per node of a [`factored`](Self::factored) operator.
    pub fn factors(&self) -> Option<&Tensor> {
        match &self.values {
            Values::Factored(factored) => Some(factored.factors()),
            _ => None,
        }
    }

    /// Computes `self · x`, shape `[rows, width]`, for `x` of shape `[cols, width]`. With several
    /// heads, head `h` scales columns `h · width/heads ..` of x. O(entries · width).
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.apply_with_bias(x, None)
    }

    /// Computes `self · x + bias`, the bias of shape `[width]` added to every row.
    pub fn apply_with_bias(&self, x: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let pattern = self.pattern.clone();
        match (&self.values, bias) {
            (Values::Ones(values) | Values::Constant(values), None) => {
                apply(ApplyConstant::new(&pattern, values, None), &[x])
            }
            (Values::Ones(values) | Values::Constant(values), Some(bias)) => {
                apply(ApplyConstant::new(&pattern, values, None), &[x, bias])
            }
            (Values::Variable(values), None) => apply(ApplyVariable { pattern }, &[values, x]),
            (Values::Variable(values), Some(bias)) => {
                apply(ApplyVariable { pattern }, &[values, x, bias])
            }
            (Values::AdditionalPairs(values, additional), None) => {
                apply(ApplyVariable { pattern }, &[values, x])? + additional.apply(x)?
            }
            (Values::AdditionalPairs(values, additional), Some(bias)) => {
                apply(ApplyVariable { pattern }, &[values, x, bias])? + additional.apply(x)?
            }
            (Values::Factored(factored), bias) => factored.apply(x, bias, None),
            (Values::LowRank(factors), None) => factors.apply(x),
            (Values::LowRank(factors), Some(bias)) => add_bias(&factors.apply(x)?, bias),
        }
    }

    /// Computes `selfᵀ · x`, shape `[cols, width]`, for `x` of shape `[rows, width]`. O(entries ·
    /// width).
    pub fn apply_transposed(&self, x: &Tensor) -> Result<Tensor> {
        match &self.values {
            Values::Ones(values) | Values::Constant(values) => apply(
                ApplyConstant::new(&self.pattern, values, None).transposed(),
                &[x],
            ),
            Values::LowRank(_) => bail!("operator: an operator of low rank cannot be transposed"),
            Values::AdditionalPairs(..) => {
                bail!("operator: an operator with additional pairs cannot be transposed")
            }
            Values::Variable(_) | Values::Factored(_) => apply(
                ApplyTransposed {
                    pattern: self.pattern.clone(),
                },
                &[&self.values()?, x],
            ),
        }
    }

    /// Applies the operator to node features, as [`apply`](Self::apply). If neither the features
    /// nor the operator ever change, the product is cached: a network that propagates the same
    /// features every epoch computes it once.
    pub fn apply_to_features(&self, x: &Tensor) -> Result<Tensor> {
        let (Values::Ones(constants) | Values::Constant(constants)) = &self.values else {
            return self.apply(x);
        };
        if x.is_variable() || x.track_op() {
            return self.apply(x);
        }
        if let Some((id, product)) = constants.applied.get()
            && *id == x.id()
        {
            return Ok(product.clone());
        }
        let product = self.apply(x)?;
        // Only the product with the first features is cached; others are computed each time.
        let _ = constants.applied.set((x.id(), product.clone()));
        Ok(product)
    }

    /// Computes `dropout(relu(self · x + bias))`, as one operation if no entry takes a gradient.
    pub fn apply_activated(&self, x: &Tensor, bias: &Tensor, dropout: Dropout) -> Result<Tensor> {
        match &self.values {
            Values::Ones(values) | Values::Constant(values) => {
                let op = ApplyConstant::new(&self.pattern, values, Some(dropout.check()?));
                apply(op, &[x, bias])
            }
            Values::Factored(factored) => factored.apply(x, Some(bias), Some(dropout)),
            Values::Variable(_) | Values::AdditionalPairs(..) | Values::LowRank(_) => {
                relu_dropout(&self.apply_with_bias(x, Some(bias))?, dropout)
            }
        }
    }

    fn constants(&self) -> Option<&Arc<Constants>> {
        match &self.values {
            Values::Ones(c) | Values::Constant(c) => Some(c),
            Values::Variable(_)
            | Values::AdditionalPairs(..)
            | Values::Factored(_)
            | Values::LowRank(_) => None,
        }
    }

    /// Computes `self · other` of two constant operators; `None` if a value may take gradients.
    /// Columns ascend within a row. O(the products of entries, and the columns).
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
        Some(Self::from_parts(
            Pattern::new(other.num_cols(), offsets, indices),
            values,
        ))
    }

    /// Stores `product` as `self · features`, for [`aggregated`](Self::aggregated). The first
    /// features stored stay.
    #[doc(hidden)]
    pub fn cache_aggregated(&self, features: &Operator, product: Operator) {
        if let (Some(own), Some(features)) = (self.constants(), features.constants()) {
            let _ = own.aggregated.set((features.clone(), product));
        }
    }

    /// Returns the stored product `self · features` of these sparse features, if any.
    #[doc(hidden)]
    pub fn aggregated(&self, features: &Operator) -> Option<&Operator> {
        let (noted, product) = self.constants()?.aggregated.get()?;
        Arc::ptr_eq(noted, features.constants()?).then_some(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Var;
    use crate::testing::{assert_close, check_gradients, dense, random, random_pattern};

    #[test]
    fn equals_the_dense_product_for_every_width() {
        for width in [1, 2, 3, 5, 7, 8, 9, 15, 16, 33, 64, 103, 128] {
            let op = random_pattern(40, 30, 0.2, 1);
            let x = random(&[30, width], 2);
            assert_close(
                &op.apply(&x).unwrap(),
                &dense(&op, 0, 1).matmul(&x).unwrap(),
            );
            let bias = random(&[width], 3);
            let with_bias = op.apply_with_bias(&x, Some(&bias)).unwrap();
            assert_close(
                &with_bias,
                &dense(&op, 0, 1)
                    .matmul(&x)
                    .unwrap()
                    .broadcast_add(&bias)
                    .unwrap(),
            );
        }
    }

    #[test]
    fn activation_in_the_same_pass() {
        let op = random_pattern(12, 10, 0.3, 1);
        let [x, bias] =
            [random(&[10, 6], 2), random(&[6], 3)].map(|t| Var::from_tensor(&t).unwrap());
        let dropout = Dropout { rate: 0.4, key: 9 };
        let apart = relu_dropout(&op.apply_with_bias(&x, Some(&bias)).unwrap(), dropout).unwrap();
        let gradients = |y: &Tensor| {
            let grads = (y * random(&[12, 6], 4))
                .unwrap()
                .sum_all()
                .unwrap()
                .backward()
                .unwrap();
            [&x, &bias].map(|v| grads.get(v).unwrap().clone())
        };
        for op in [op.with_values(&op.values().unwrap()).unwrap(), op] {
            let together = op.apply_activated(&x, &bias, dropout).unwrap();
            assert_close(&together, &apart);
            gradients(&together)
                .iter()
                .zip(gradients(&apart))
                .for_each(|(a, b)| assert_close(a, &b));
        }
    }

    #[test]
    fn features_are_propagated_once() {
        let (op, x, y) = (
            random_pattern(6, 6, 0.4, 1),
            random(&[6, 3], 2),
            random(&[6, 3], 3),
        );
        let first = op.apply_to_features(&x).unwrap();
        assert_eq!(first.id(), op.apply_to_features(&x).unwrap().id(), "cached");
        assert_close(&first, &op.apply(&x).unwrap());
        assert_close(&op.apply_to_features(&y).unwrap(), &op.apply(&y).unwrap());
        let variable = Var::from_tensor(&x).unwrap();
        assert!(
            op.apply_to_features(&variable).unwrap().track_op(),
            "a product that takes gradients is never cached"
        );
    }

    #[test]
    fn heads_scale_their_own_columns() {
        for (heads, dim) in [(3, 5), (8, 8), (2, 64)] {
            let op = random_pattern(20, 20, 0.3, 4);
            let op = op
                .with_values(&random(&[op.num_entries(), heads], 5))
                .unwrap();
            let (x, bias) = (random(&[20, heads * dim], 6), random(&[heads * dim], 7));
            let y = op
                .apply_with_bias(&x, Some(&bias))
                .unwrap()
                .broadcast_sub(&bias)
                .unwrap();
            for head in 0..heads {
                let columns =
                    |t: &Tensor| t.narrow(1, head * dim, dim).unwrap().contiguous().unwrap();
                assert_close(
                    &columns(&y),
                    &dense(&op, head, heads).matmul(&columns(&x)).unwrap(),
                );
            }
        }
    }

    #[test]
    fn gradients_to_values_dense_side_and_bias() {
        for heads in [1, 2] {
            let op = random_pattern(9, 7, 0.4, 7);
            let inputs = [
                random(&[op.num_entries(), heads], 8),
                random(&[7, 4], 9),
                random(&[4], 10),
            ];
            check_gradients(&inputs, |v| {
                op.with_values(&v[0])?.apply_with_bias(&v[1], Some(&v[2]))
            });
        }
        let op = random_pattern(9, 7, 0.4, 7);
        check_gradients(&[random(&[7, 4], 9), random(&[4], 10)], |v| {
            op.apply_with_bias(&v[0], Some(&v[1]))
        });
        check_gradients(&[random(&[7, 4], 9)], |v| op.apply(&v[0]));
    }

    #[test]
    fn products_of_operators() {
        let (a, b) = (random_pattern(9, 7, 0.4, 1), random_pattern(7, 5, 0.4, 2));
        let product = a.product(&b).unwrap();
        assert_close(
            &dense(&product, 0, 1),
            &dense(&a, 0, 1).matmul(&dense(&b, 0, 1)).unwrap(),
        );
        assert!((0..9).all(|r| product.pattern().indices()[product.pattern().row(r)].is_sorted()));
        assert!(b.product(&a).is_none(), "shapes that do not fit");
        a.cache_aggregated(&b, product);
        assert!(a.aggregated(&b).is_some() && a.aggregated(&b.clone()).is_some());
        assert!(
            a.aggregated(&random_pattern(7, 5, 0.4, 2)).is_none(),
            "other features with equal values"
        );
        assert!(
            a.aggregated(&b.with_values(&b.values().unwrap()).unwrap())
                .is_none(),
            "values that may take gradients"
        );
    }

    #[test]
    fn empty_rows_give_the_bias_and_empty_patterns_work() {
        let empty = Operator::constant(&CsrMatrix::new(2, vec![0, 0, 0], vec![], vec![]).unwrap());
        let x = random(&[2, 3], 1);
        assert_eq!(
            empty
                .apply(&x)
                .unwrap()
                .sum_all()
                .unwrap()
                .to_scalar::<f32>()
                .unwrap(),
            0.0
        );
        let none = Operator::constant(&CsrMatrix::new(0, vec![0], vec![], vec![]).unwrap());
        assert_eq!(none.apply(&random(&[0, 3], 1)).unwrap().dims(), [0, 3]);
    }

    #[test]
    fn wrong_shapes_are_named() {
        let op = random_pattern(4, 4, 0.5, 1);
        let e = op.apply(&random(&[3, 2], 1)).unwrap_err().to_string();
        assert!(e.contains("4 × 4 applied to 3 rows"), "{e}");
        let e = op
            .with_values(&random(&[op.num_entries() + 1], 1))
            .unwrap_err()
            .to_string();
        assert!(e.contains("values for"), "{e}");
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let op = random_pattern(3000, 3000, 0.01, 3);
        let x = Var::from_tensor(&random(&[3000, 20], 4)).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let y = op.apply(&x).unwrap().sqr().unwrap();
                let grads = y.sum_all().unwrap().backward().unwrap();
                (
                    y.to_vec2::<f32>().unwrap(),
                    grads.get(&x).unwrap().to_vec2::<f32>().unwrap(),
                )
            })
        };
        assert_eq!(run(1), run(3));
    }
}
