//! Sampled triple product `P V Pᵀ`, for sparse V whose values take gradients and a constant sparse
//! P.

use std::sync::Arc;

use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::operator::Operator;
use crate::pattern::Pattern;
use crate::tape::{Computed, Gradients, Operation, apply};

/// Computes `(P V Pᵀ)_ij` for each entry i, j of `to`, with V the matrix of `values` (`[entries]`)
/// on `from`. P is constant and gets no gradient.
///
/// O(Σ_i Σ_{u ∈ P_i} entries of V in row u, and the entries of `to` times those of a row of P);
/// zero values are skipped. No `nodes × nodes` matrix is stored.
pub fn p_v_pt(
    by: &Operator,
    from: &Arc<Pattern>,
    values: &Tensor,
    to: &Arc<Pattern>,
) -> Result<Tensor> {
    let (p, sizes) = (
        by.pattern(),
        [
            from.num_rows(),
            from.num_cols(),
            to.num_rows(),
            to.num_cols(),
        ],
    );
    if sizes != [p.num_cols(), p.num_cols(), p.num_rows(), p.num_rows()]
        || values.dims() != [from.num_entries()]
    {
        bail!(
            "triple product: {} × {} matrix P and {:?} values for {} entries of V do not fit {sizes:?}",
            p.num_rows(),
            p.num_cols(),
            values.dims(),
            from.num_entries()
        );
    }
    let side = by.values()?.flatten_all()?.to_vec1::<f32>()?;
    let by = Side {
        pattern: p.clone(),
        values: Arc::new(side),
    };
    apply(
        TripleProduct {
            by,
            from: from.clone(),
            to: to.clone(),
        },
        &[values],
    )
}

/// Sparse matrix P.
#[derive(Clone)]
struct Side {
    pattern: Arc<Pattern>,
    values: Arc<Vec<f32>>,
}

impl Side {
    fn transposed(&self) -> Self {
        let transposed = self.pattern.transposed();
        let values = transposed
            .entry_of
            .iter()
            .map(|&k| self.values[k as usize])
            .collect();
        Self {
            pattern: transposed.pattern.clone(),
            values: Arc::new(values),
        }
    }
}

pub(crate) struct TripleProduct {
    by: Side,
    from: Arc<Pattern>,
    to: Arc<Pattern>,
}

impl TripleProduct {
    /// Computes one row of `P V` at a time, and its inner products with rows of P.
    fn products<T: Float>(&self, values: &[T]) -> Vec<T> {
        let (p, from, to) = (&self.by.pattern, &self.from, &self.to);
        let side: Vec<T> = self
            .by
            .values
            .iter()
            .map(|&v| T::of(f64::from(v)))
            .collect();
        let mut out = vec![T::ZERO; to.num_entries()];
        to.for_entry_blocks(&mut out, 1, |rows, out| {
            let base = to.offsets()[rows.start];
            let mut row = vec![T::ZERO; from.num_cols()];
            let mut reached: Vec<u32> = Vec::new();
            for i in rows {
                for k in p.row(i) {
                    for l in from
                        .row(p.indices()[k] as usize)
                        .filter(|&l| values[l] != T::ZERO)
                    {
                        let at = &mut row[from.indices()[l] as usize];
                        if *at == T::ZERO {
                            reached.push(from.indices()[l]);
                        }
                        *at += side[k] * values[l];
                    }
                }
                if reached.is_empty() {
                    continue;
                }
                for l in to.row(i) {
                    let j = to.indices()[l] as usize;
                    out[l - base] = p
                        .row(j)
                        .map(|k| side[k] * row[p.indices()[k] as usize])
                        .sum();
                }
                reached.drain(..).for_each(|c| row[c as usize] = T::ZERO);
            }
        });
        out
    }
}

impl Operation for TripleProduct {
    fn name(&self) -> &'static str {
        "triple product"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let products = self.products::<T>(&inputs[0].values::<T>()?);
            Tensor::from_vec(products, self.to.num_entries(), inputs[0].device())
        })
    }

    /// `Pᵀ G P` at the entries of V.
    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let transposed = TripleProduct {
            by: self.by.transposed(),
            from: self.to.clone(),
            to: self.from.clone(),
        };
        Ok(vec![Some(apply(transposed, &[grad])?)])
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, random_pattern};

    impl Examples for TripleProduct {
        fn examples() -> Vec<Example> {
            let on = |(rows, cols, density): (usize, usize, f64)| {
                let (by, from) = (
                    random_pattern(rows, cols, density, 3),
                    random_pattern(cols, cols, density, 4),
                );
                let to = random_pattern(rows, rows, density, 5);
                let shape = [from.num_entries()];
                Example::of(&[&shape], move |v| {
                    p_v_pt(&by, from.pattern(), &v[0], to.pattern())
                })
            };
            [
                (5, 5, 0.5),
                (3, 6, 0.4),
                (6, 2, 0.7),
                (1, 1, 1.0),
                (3, 3, 0.0),
            ]
            .map(on)
            .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, dense, random, random_pattern};

    #[test]
    fn products_are_those_of_dense_matrices() {
        let (by, from, to) = (
            random_pattern(4, 6, 0.6, 1),
            random_pattern(6, 6, 0.5, 2),
            random_pattern(4, 4, 0.7, 3),
        );
        let values = random(&[from.num_entries()], 4);
        let found = to
            .with_values(&p_v_pt(&by, from.pattern(), &values, to.pattern()).unwrap())
            .unwrap();
        let p = dense(&by, 0, 1);
        let whole = p
            .matmul(&dense(&from.with_values(&values).unwrap(), 0, 1))
            .unwrap()
            .matmul(&p.t().unwrap());
        let whole =
            (whole.unwrap() * dense(&Operator::from_pattern(to.pattern().clone()), 0, 1)).unwrap();
        assert_close(&dense(&found, 0, 1), &whole);
        assert!(p_v_pt(&by, to.pattern(), &values, from.pattern()).is_err());
    }
}
