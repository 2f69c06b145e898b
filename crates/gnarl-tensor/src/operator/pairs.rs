//! Symmetric matrices given by pairs of nodes, `S(w) · x = Σ w_k (e_u x_v + e_v x_u)`, and
//! operators with additional pairs that are not joined.
//!
//! An attack that adds edges needs the gradient of very many pairs and gives hardly any of them
//! weight. A pair of weight zero costs nothing until gradients are computed, and then two inner
//! products of rows.

use std::mem::MaybeUninit;
use std::sync::Arc;

use super::{Operator, Values};
use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// Distinct pairs of nodes.
#[derive(Debug)]
pub struct Pairs {
    nodes: usize,
    ends: Vec<(u32, u32)>,
}

impl Pairs {
    /// Checks and stores the pairs of a graph of this many nodes.
    pub fn new(nodes: usize, ends: Vec<(u32, u32)>) -> Result<Arc<Self>> {
        match ends
            .iter()
            .find(|(u, v)| u == v || (*u).max(*v) as usize >= nodes)
        {
            Some((u, v)) => bail!("pairs: {u} and {v} are no two of {nodes} nodes"),
            None => Ok(Arc::new(Self { nodes, ends })),
        }
    }

    /// Computes `S(weights) · x`, for weights of shape `[pairs]` and x of shape `[nodes, width]`,
    /// both of which may take gradients.
    pub fn apply(self: &Arc<Self>, weights: &Tensor, x: &Tensor) -> Result<Tensor> {
        apply(
            ApplyPairs {
                pairs: self.clone(),
            },
            &[weights, x],
        )
    }

    fn check(&self, name: &str, x: &Tensor) -> Result<usize> {
        match x.dims2()? {
            (rows, width) if rows == self.nodes => Ok(width),
            (rows, width) => bail!(
                "{name}: {rows} × {width} where {} nodes are expected",
                self.nodes
            ),
        }
    }
}

/// `S(weights) · x`.
pub(crate) struct ApplyPairs {
    pairs: Arc<Pairs>,
}

impl ApplyPairs {
    /// Adds the product to `out`. Pairs of weight zero are skipped.
    fn add<T: Float>(&self, weights: &[T], x: &[T], width: usize, out: &mut [T]) {
        for (&w, &(u, v)) in weights.iter().zip(&self.pairs.ends) {
            if w == T::ZERO {
                continue;
            }
            for (to, from) in [(u as usize, v as usize), (v as usize, u as usize)] {
                let from = &x[from * width..][..width];
                out[to * width..][..width]
                    .iter_mut()
                    .zip(from)
                    .for_each(|(o, x)| *o = w.mul_add(*x, *o));
            }
        }
    }
}

impl Operation for ApplyPairs {
    fn name(&self) -> &'static str {
        "symmetric pairs"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let width = self.pairs.check(self.name(), &inputs[1])?;
        if inputs[0].dims() != [self.pairs.ends.len()] {
            bail!(
                "{}: weights of shape {:?} for {} pairs",
                self.name(),
                inputs[0].dims(),
                self.pairs.ends.len()
            );
        }
        by_precision!(self.name(), inputs[1].dtype(), T => {
            let (weights, x) = (inputs[0].values::<T>()?, inputs[1].values::<T>()?);
            let fill = |out: &mut [MaybeUninit<T>]| self.add(&weights, &x, width, Target::Write(out).initialised());
            // SAFETY: every value is written, a zero first.
            Ok(unsafe { Tensor::filled::<T>((self.pairs.nodes, width), fill) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (weights, x) = (&at.inputs[0], &at.inputs[1]);
        let to_weights = at.to(0, || {
            apply(
                PairProducts {
                    pairs: self.pairs.clone(),
                },
                &[grad, x],
            )
        })?;
        Ok(vec![
            to_weights,
            at.to(1, || self.pairs.apply(weights, grad))?,
        ])
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (weights, x) = (&at.inputs[0], &at.inputs[1]);
        let width = self.pairs.check(self.name(), x)?;
        by_precision!(self.name(), grad.dtype(), T => {
            let kernels = grad.device().kernels::<T>();
            let (weights, x, g) = (weights.values::<T>()?, x.values::<T>()?, grad.values::<T>()?);
            if to.wants(0) {
                // SAFETY: every pair is written.
                unsafe { to.fill::<T>(0, |target| (kernels.pair_products)(&self.pairs.ends, [&g, &x], width, target))? };
            }
            if to.wants(1) {
                // SAFETY: every value is written, a zero first.
                unsafe { to.fill::<T>(1, |target| self.add(&weights, &g, width, target.initialised()))? };
            }
        });
        Ok(())
    }
}

/// `a_u · b_v + a_v · b_u` for each pair, of shape `[pairs]`.
pub(crate) struct PairProducts {
    pairs: Arc<Pairs>,
}

impl Operation for PairProducts {
    fn name(&self) -> &'static str {
        "products of pairs"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let width = self.pairs.check(self.name(), &inputs[0])?;
        if self.pairs.check(self.name(), &inputs[1])? != width {
            bail!(
                "{}: {width} columns against those of {:?}",
                self.name(),
                inputs[1].dims()
            );
        }
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let kernels = inputs[0].device().kernels::<T>();
            let (a, b) = (inputs[0].values::<T>()?, inputs[1].values::<T>()?);
            let fill = |out: &mut [MaybeUninit<T>]| {
                (kernels.pair_products)(&self.pairs.ends, [&a, &b], width, Target::Write(out));
            };
            // SAFETY: every pair is written.
            Ok(unsafe { Tensor::filled::<T>(self.pairs.ends.len(), fill) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (a, b) = (&at.inputs[0], &at.inputs[1]);
        Ok(vec![
            at.to(0, || self.pairs.apply(grad, b))?,
            at.to(1, || self.pairs.apply(grad, a))?,
        ])
    }
}

/// Additional pairs of an operator: `diag(rows) S(weights) diag(cols)` is added to it.
#[derive(Debug)]
pub(super) struct AdditionalPairs {
    pairs: Arc<Pairs>,
    weights: Tensor,
    /// `[nodes, 1]`, or ones.
    rows: Option<Tensor>,
    cols: Option<Tensor>,
}

impl AdditionalPairs {
    pub(super) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let scaled = |x: Tensor, by: &Option<Tensor>| {
            by.as_ref().map_or(Ok(x.clone()), |by| x.broadcast_mul(by))
        };
        scaled(
            self.pairs
                .apply(&self.weights, &scaled(x.clone(), &self.cols)?)?,
            &self.rows,
        )
    }
}

impl Operator {
    /// Returns this operator plus `diag(rows) S(weights) diag(cols)`, for weights of shape
    /// `[pairs]` and node factors of shape `[nodes, 1]` (ones if absent). The values of this
    /// operator must be a tensor. The result only supports products: it has no parts, and its
    /// values cannot be read or changed.
    pub fn with_pairs(
        &self,
        pairs: &Arc<Pairs>,
        weights: &Tensor,
        [rows, cols]: [Option<Tensor>; 2],
    ) -> Result<Self> {
        let Values::Variable(values) = &self.values else {
            bail!("operator: additional pairs need values that are a tensor, of one head")
        };
        if pairs.nodes != self.num_rows() || pairs.nodes != self.num_cols() {
            bail!(
                "operator: pairs of {} nodes for an operator of {} × {}",
                pairs.nodes,
                self.num_rows(),
                self.num_cols()
            );
        }
        let additional = AdditionalPairs {
            pairs: pairs.clone(),
            weights: weights.clone(),
            rows,
            cols,
        };
        Ok(Self {
            pattern: self.pattern.clone(),
            values: Values::AdditionalPairs(values.clone(), Arc::new(additional)),
        })
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    /// Pairs of a few nodes, and the number of columns.
    fn cases() -> Vec<(Arc<Pairs>, usize)> {
        let some = vec![(0, 3), (1, 2), (0, 1), (4, 2)];
        let of =
            |nodes, ends: &[(u32, u32)], width| (Pairs::new(nodes, ends.to_vec()).unwrap(), width);
        vec![
            of(5, &some, 3),
            of(6, &some, 8),
            of(5, &some, 19),
            of(2, &[(1, 0)], 1),
            of(3, &[], 2),
        ]
    }

    impl Examples for ApplyPairs {
        fn examples() -> Vec<Example> {
            let on = |(p, width): (Arc<Pairs>, usize)| {
                let shapes: [&[usize]; 2] = [&[p.ends.len()], &[p.nodes, width]];
                Example::of(&shapes, move |v| p.apply(&v[0], &v[1]))
            };
            cases().into_iter().map(on).collect()
        }
    }

    impl Examples for PairProducts {
        fn examples() -> Vec<Example> {
            let on = |(p, width): (Arc<Pairs>, usize)| {
                let shapes: [&[usize]; 2] = [&[p.nodes, width], &[p.nodes, width]];
                Example::of(&shapes, move |v| {
                    apply(PairProducts { pairs: p.clone() }, &[&v[0], &v[1]])
                })
            };
            cases().into_iter().map(on).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, check_gradients, random, random_pattern};
    use crate::{DType, Device};

    #[test]
    fn additional_pairs_are_added_to_an_operator() {
        let op = random_pattern(5, 5, 0.4, 1);
        let pairs = Pairs::new(5, vec![(0, 4), (3, 1)]).unwrap();
        let inputs = [
            random(&[op.num_entries()], 2),
            random(&[2], 3),
            random(&[5, 1], 4),
            random(&[5, 3], 5),
        ];
        let [values, weights, rows, x] = &inputs;
        let joined = |v: &Tensor, w: &Tensor, r: &Tensor| {
            op.with_values(v)?
                .with_pairs(&pairs, w, [Some(r.clone()), None])
        };
        let w: Vec<f32> = weights.to_vec1().unwrap();
        let mut whole = vec![0f32; 25];
        for (w, (u, v)) in w.iter().zip([(0, 4), (3, 1)]) {
            (whole[5 * u + v], whole[5 * v + u]) = (*w, *w);
        }
        let whole = Tensor::from_vec(whole, (5, 5), &Device::Cpu).unwrap();
        let additional = whole.matmul(x).unwrap().broadcast_mul(rows).unwrap();
        let expected = (op.with_values(values).unwrap().apply(x).unwrap() + additional).unwrap();
        let operator = joined(values, weights, rows).unwrap();
        assert_close(&operator.apply(x).unwrap(), &expected);
        let bias = random(&[3], 6);
        assert_close(
            &operator.apply_with_bias(x, Some(&bias)).unwrap(),
            &expected.broadcast_add(&bias).unwrap(),
        );
        check_gradients(&inputs, |v| joined(&v[0], &v[1], &v[2])?.apply(&v[3]));
    }

    #[test]
    fn shape_mismatches_are_refused() {
        assert!(
            Pairs::new(3, vec![(1, 1)])
                .unwrap_err()
                .to_string()
                .contains("no two of 3 nodes")
        );
        assert!(
            Pairs::new(3, vec![(1, 3)])
                .unwrap_err()
                .to_string()
                .contains("no two of 3 nodes")
        );
        let pairs = Pairs::new(3, vec![(1, 2)]).unwrap();
        let e = pairs
            .apply(&random(&[2], 1), &random(&[3, 2], 2))
            .unwrap_err()
            .to_string();
        assert!(e.contains("for 1 pairs"), "{e}");
        let e = pairs
            .apply(&random(&[1], 1), &random(&[4, 2], 2))
            .unwrap_err()
            .to_string();
        assert!(e.contains("4 × 2 where 3 nodes"), "{e}");
        let op = random_pattern(4, 4, 0.4, 1);
        let zero = Tensor::zeros(1, DType::F32, &Device::Cpu).unwrap();
        let e = op
            .with_pairs(&pairs, &zero, [None, None])
            .unwrap_err()
            .to_string();
        assert!(e.contains("values that are a tensor"), "{e}");
        let op = op.with_values(&op.values().unwrap()).unwrap();
        assert!(
            op.with_pairs(&pairs, &zero, [None, None])
                .unwrap_err()
                .to_string()
                .contains("for an operator of 4 × 4")
        );
        let pairs = Pairs::new(4, vec![(1, 2)]).unwrap();
        let op = op.with_pairs(&pairs, &zero, [None, None]).unwrap();
        assert!(
            op.head(2)
                .unwrap_err()
                .to_string()
                .contains("additional pairs")
        );
        assert!(
            op.values()
                .unwrap_err()
                .to_string()
                .contains("additional pairs")
        );
        assert!(
            op.with_values(&zero)
                .unwrap_err()
                .to_string()
                .contains("additional pairs")
        );
    }
}
