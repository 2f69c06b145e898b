//! Cross-entropy losses over selected rows, in one pass.

use std::sync::Arc;

use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// Computes the mean cross-entropy of `logits` (`[rows, classes]`) over `rows`, whose classes are
/// `classes`.
///
/// Stable for logits of any size. Fails if a row or class is out of range or there are no rows.
pub fn masked_cross_entropy(
    logits: &Tensor,
    rows: &Arc<Vec<u32>>,
    classes: &Arc<Vec<u32>>,
) -> Result<Tensor> {
    cross_entropy(logits, rows, classes, None)
}

/// Computes the class-weighted mean cross-entropy: `Σ weight · cross-entropy / Σ weight` over
/// `rows`, and 0 if all weights are zero.
///
/// Fails as [`masked_cross_entropy`] does, if the number of weights differs from the number of
/// classes, or if a weight is negative or NaN.
pub fn class_weighted_cross_entropy(
    logits: &Tensor,
    rows: &Arc<Vec<u32>>,
    classes: &Arc<Vec<u32>>,
    weights: &Arc<Vec<f32>>,
) -> Result<Tensor> {
    let (_, num_classes) = logits.dims2()?;
    if weights.len() != num_classes {
        bail!(
            "cross-entropy: {} weights, but {num_classes} classes",
            weights.len()
        );
    }
    if let Some(wrong) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
        bail!("cross-entropy: a class of weight {wrong}; it must be 0 or more");
    }
    cross_entropy(logits, rows, classes, Some(weights.clone()))
}

fn cross_entropy(
    logits: &Tensor,
    rows: &Arc<Vec<u32>>,
    classes: &Arc<Vec<u32>>,
    weights: Option<Arc<Vec<f32>>>,
) -> Result<Tensor> {
    let (num_items, num_classes) = logits.dims2()?;
    if rows.is_empty() {
        bail!("cross-entropy: there are no training rows");
    }
    if rows.len() != classes.len() {
        bail!(
            "cross-entropy: {} rows, but {} classes",
            rows.len(),
            classes.len()
        );
    }
    for (&row, &class) in rows.iter().zip(classes.iter()) {
        if row as usize >= num_items || class as usize >= num_classes {
            bail!(
                "cross-entropy: row {row} of class {class}, but there are {num_items} rows and {num_classes} classes"
            );
        }
    }
    let total = match &weights {
        None => rows.len() as f64,
        Some(weights) => classes
            .iter()
            .map(|&class| f64::from(weights[class as usize]))
            .sum(),
    };
    apply(
        CrossEntropy {
            rows: rows.clone(),
            classes: classes.clone(),
            weights,
            total,
        },
        &[logits],
    )
}

pub(crate) struct CrossEntropy {
    rows: Arc<Vec<u32>>,
    classes: Arc<Vec<u32>>,
    /// Weight of each class; 1 for all classes if there are none.
    weights: Option<Arc<Vec<f32>>>,
    /// Total weight of all rows.
    total: f64,
}

impl CrossEntropy {
    fn items(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows
            .iter()
            .zip(self.classes.iter())
            .map(|(&r, &c)| (r as usize, c as usize))
    }

    fn weight(&self, class: usize) -> f64 {
        self.weights
            .as_ref()
            .map_or(1.0, |weights| f64::from(weights[class]))
    }

    /// Divides a sum over rows by the total weight; zero if the total weight is zero.
    fn mean(&self, sum: f64) -> f64 {
        if self.total > 0.0 {
            sum / self.total
        } else {
            0.0
        }
    }
}

/// Returns the largest logit, and `ln Σ exp(logit - largest)`.
fn log_sum<T: Float>(logits: &[T]) -> (T, f64) {
    let largest = logits.iter().copied().fold(T::LOWEST, T::larger);
    (
        largest,
        logits
            .iter()
            .map(|&z| (z - largest).wide().exp())
            .sum::<f64>()
            .ln(),
    )
}

/// Computes `ln Σ exp(logit)` minus each logit, in tensor operations: the cross-entropy of each
/// class.
fn costs(logits: &Tensor) -> Result<Tensor> {
    let shifted = logits.broadcast_sub(&logits.detach().max_keepdim(1)?)?;
    shifted
        .broadcast_sub(&shifted.exp()?.sum_keepdim(1)?.log()?)?
        .neg()
}

impl Operation for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let (_, width) = inputs[0].dims2()?;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let logits = inputs[0].values::<T>()?;
            let cost = |(row, class): (usize, usize)| {
                let z = &logits[row * width..(row + 1) * width];
                let (largest, log_sum) = log_sum(z);
                self.weight(class) * (log_sum - (z[class] - largest).wide())
            };
            let total: f64 = self.items().map(cost).sum();
            Tensor::new(self.mean(total) as T, inputs[0].device())
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| {
            let (device, count) = (inputs[0].device(), self.rows.len());
            let costs = costs(
                &inputs[0].index_select(&Tensor::from_slice(&self.rows, count, device)?, 0)?,
            )?;
            let of_rows =
                costs.gather(&Tensor::from_slice(&self.classes, (count, 1), device)?, 1)?;
            match &self.weights {
                None => of_rows.mean_all(),
                Some(weights) => {
                    let weights = self
                        .classes
                        .iter()
                        .map(|&class| weights[class as usize])
                        .collect();
                    let weights =
                        Tensor::from_vec(weights, (count, 1), device)?.to_dtype(of_rows.dtype())?;
                    of_rows
                        .mul(&weights)?
                        .sum_all()?
                        .affine(self.mean(1.0), 0.0)
                }
            }
        })
    }

    /// `softmax(logits) - one-hot(class)` on each selected row, divided by the number of rows or
    /// multiplied by the row's share of the total weight.
    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (_, width) = at.inputs[0].dims2()?;
        by_precision!(self.name(), grad.dtype(), T => {
            let logits = at.inputs[0].values::<T>()?;
            let scale_of_all = self.mean(grad.to_scalar::<T>()?.wide());
            let work = |target: Target<'_, T>| {
                let out = target.initialised();
                for (row, class) in self.items() {
                    let scale = self.weight(class) * scale_of_all;
                    let z = &logits[row * width..(row + 1) * width];
                    let out = &mut out[row * width..(row + 1) * width];
                    let (largest, log_sum) = log_sum(z);
                    for (o, &z) in out.iter_mut().zip(z) {
                        *o += (scale * ((z - largest).wide() - log_sum).exp()) as T;
                    }
                    out[class] -= scale as T;
                }
            };
            // SAFETY: a target that is begun is written, with zeros if nothing was there.
            unsafe { to.fill::<T>(0, work) }
        })
    }
}

/// Computes the mean cross-entropy of `logits` (`[rows, classes]`) against class distributions
/// `targets`, one row for each row of logits.
///
/// Stable for logits of any size. Fails if the shapes differ or there are no rows.
pub fn soft_cross_entropy(logits: &Tensor, targets: &Arc<Vec<f32>>) -> Result<Tensor> {
    let (num_items, num_classes) = logits.dims2()?;
    if num_items == 0 || num_classes == 0 {
        bail!("cross-entropy: there are no training rows");
    }
    if targets.len() != num_items * num_classes {
        bail!(
            "cross-entropy: {num_items} rows of {num_classes} classes, but {} shares",
            targets.len()
        );
    }
    apply(
        SoftCrossEntropy {
            targets: targets.clone(),
        },
        &[logits],
    )
}

pub(crate) struct SoftCrossEntropy {
    targets: Arc<Vec<f32>>,
}

impl Operation for SoftCrossEntropy {
    fn name(&self) -> &'static str {
        "soft cross-entropy"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let (rows, width) = inputs[0].dims2()?;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let logits = inputs[0].values::<T>()?;
            let mut total = 0f64;
            for (z, shares) in logits.chunks(width).zip(self.targets.chunks(width)) {
                let (largest, log_sum) = log_sum(z);
                // A share of zero costs nothing, however unlikely its class.
                let cost = |(&z, &share): (&T, &f32)| f64::from(share) * (log_sum - (z - largest).wide());
                total += z.iter().zip(shares).filter(|(_, share)| **share != 0.0).map(cost).sum::<f64>();
            }
            Tensor::new((total / rows as f64) as T, inputs[0].device())
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| {
            let (rows, width) = inputs[0].dims2()?;
            let shares = Tensor::from_slice(&self.targets, (rows, width), inputs[0].device())?;
            let cost = costs(&inputs[0])?.mul(&shares.to_dtype(inputs[0].dtype())?)?;
            cost.sum_all()?.affine(1.0 / rows as f64, 0.0)
        })
    }

    /// `softmax(logits) · (sum of the row's shares) - shares`, over the number of rows.
    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (rows, width) = at.inputs[0].dims2()?;
        by_precision!(self.name(), grad.dtype(), T => {
            let logits = at.inputs[0].values::<T>()?;
            let scale = grad.to_scalar::<T>()?.wide() / rows as f64;
            let mut out: Vec<T> = Vec::with_capacity(logits.len());
            for (z, shares) in logits.chunks(width).zip(self.targets.chunks(width)) {
                let (largest, log_sum) = log_sum(z);
                let all: f64 = shares.iter().map(|&share| f64::from(share)).sum();
                out.extend(z.iter().zip(shares).map(|(&z, &share)| {
                    let probability = ((z - largest).wide() - log_sum).exp();
                    (scale * (all * probability - f64::from(share))) as T
                }));
            }
            to.give(0, Tensor::from_vec(out, (rows, width), grad.device())?)
        })
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    impl Examples for CrossEntropy {
        fn examples() -> Vec<Example> {
            let loss = |logits: &Tensor, rows: &[u32], classes: &[u32]| {
                masked_cross_entropy(
                    logits,
                    &Arc::new(rows.to_vec()),
                    &Arc::new(classes.to_vec()),
                )
            };
            vec![
                Example::of(&[&[5, 3]], move |v| loss(&v[0], &[0, 2, 3], &[2, 0, 1])),
                Example::of(&[&[5, 3]], move |v| loss(&v[0], &[4, 4], &[1, 2])),
                Example::of(&[&[1, 1]], move |v| loss(&v[0], &[0], &[0])),
                Example::of(&[&[5, 3]], move |v| {
                    weighed(&v[0], &[0, 2, 3], &[2, 0, 1], &[0.5, 2.0, 7.0])
                }),
                Example::of(&[&[5, 3]], move |v| {
                    weighed(&v[0], &[4, 4, 1], &[1, 2, 0], &[0.0, 1.0, 3.0])
                }),
            ]
        }
    }

    fn weighed(logits: &Tensor, rows: &[u32], classes: &[u32], weights: &[f32]) -> Result<Tensor> {
        let (rows, classes) = (Arc::new(rows.to_vec()), Arc::new(classes.to_vec()));
        class_weighted_cross_entropy(logits, &rows, &classes, &Arc::new(weights.to_vec()))
    }

    impl Examples for SoftCrossEntropy {
        fn examples() -> Vec<Example> {
            let shares = Arc::new(vec![0.25, 0.0, 0.75, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0]);
            let one = Arc::new(vec![1.0]);
            vec![
                Example::of(&[&[3, 3]], move |v| soft_cross_entropy(&v[0], &shares)),
                Example::of(&[&[1, 1]], move |v| soft_cross_entropy(&v[0], &one)),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_gradients, random};
    use crate::{Device, Var};

    fn loss(logits: &Tensor, rows: &[u32], classes: &[u32]) -> Result<Tensor> {
        masked_cross_entropy(
            logits,
            &Arc::new(rows.to_vec()),
            &Arc::new(classes.to_vec()),
        )
    }

    #[test]
    fn by_hand() {
        // Two equal logits give ln 2; logits (ln 3, 0) give ln(4/3) for the first class.
        let logits =
            Tensor::new(&[[0f32, 0.0], [3f32.ln(), 0.0], [9.0, 9.0]], &Device::Cpu).unwrap();
        let value = loss(&logits, &[0, 1], &[1, 0])
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        assert!((value - (2f32.ln() + (4f32 / 3.0).ln()) / 2.0).abs() < 1e-6);
    }

    fn weighed(logits: &Tensor, rows: &[u32], classes: &[u32], weights: &[f32]) -> Result<Tensor> {
        let (rows, classes) = (Arc::new(rows.to_vec()), Arc::new(classes.to_vec()));
        class_weighted_cross_entropy(logits, &rows, &classes, &Arc::new(weights.to_vec()))
    }

    /// `F.cross_entropy(logits[:2], torch.tensor([1, 0]), weight=torch.tensor([1., 3.]))`: (3 ln
    /// 2 + ln 4/3) / 4.
    #[test]
    fn classes_are_weighed_by_hand() {
        let logits =
            Tensor::new(&[[0f32, 0.0], [3f32.ln(), 0.0], [9.0, 9.0]], &Device::Cpu).unwrap();
        let value = |loss: Result<Tensor>| loss.unwrap().to_scalar::<f32>().unwrap();
        let expected = (3.0 * 2f32.ln() + (4f32 / 3.0).ln()) / 4.0;
        assert!((value(weighed(&logits, &[0, 1], &[1, 0], &[1.0, 3.0])) - expected).abs() < 1e-6);
        let plain = value(loss(&logits, &[0, 1, 2], &[1, 0, 0]));
        assert_eq!(
            value(weighed(&logits, &[0, 1, 2], &[1, 0, 0], &[1.0, 1.0])),
            plain,
            "weights of 1, to the bit"
        );
        // The first row's gradient is 3/4 (softmax - one-hot), the second's a quarter of it.
        let var = Var::from_tensor(&logits).unwrap();
        let grads = weighed(&var, &[0, 1], &[1, 0], &[1.0, 3.0])
            .unwrap()
            .backward()
            .unwrap();
        let rows = grads.get(&var).unwrap().to_vec2::<f32>().unwrap();
        let expected = [[0.375f32, -0.375], [-0.0625, 0.0625], [0.0, 0.0]];
        for (row, expected) in rows.iter().flatten().zip(expected.iter().flatten()) {
            assert!((row - expected).abs() < 1e-6, "{rows:?}");
        }
        check_gradients(&[random(&[5, 3], 1)], |v| {
            weighed(&v[0], &[0, 2, 3], &[2, 0, 1], &[0.5, 2.0, 7.0])
        });
    }

    /// A batch may consist of rows with zero weight: they change nothing.
    #[test]
    fn rows_of_no_weight_cost_nothing() {
        let logits = Var::from_tensor(&random(&[2, 3], 1)).unwrap();
        let loss = weighed(&logits, &[0, 1], &[2, 2], &[1.0, 1.0, 0.0]).unwrap();
        assert_eq!(loss.to_scalar::<f32>().unwrap(), 0.0);
        let grad = loss
            .backward()
            .unwrap()
            .get(&logits)
            .unwrap()
            .to_vec2::<f32>()
            .unwrap();
        assert!(grad.iter().flatten().all(|g| *g == 0.0), "{grad:?}");
        let fail = |weights: &[f32]| {
            weighed(&logits, &[0], &[0], weights)
                .unwrap_err()
                .to_string()
        };
        assert!(fail(&[1.0]).contains("1 weights, but 3 classes"));
        assert!(fail(&[1.0, -1.0, 1.0]).contains("a class of weight -1"));
    }

    #[test]
    fn gradients_and_untouched_rows() {
        check_gradients(&[random(&[5, 3], 1)], |v| {
            loss(&v[0], &[0, 2, 3], &[2, 0, 1])
        });
        let logits = Var::from_tensor(&random(&[5, 3], 1)).unwrap();
        let grads = loss(&logits, &[0, 2], &[2, 0]).unwrap().backward().unwrap();
        let rows = grads.get(&logits).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(rows[1], [0.0; 3]);
        assert!(
            rows[0].iter().sum::<f32>().abs() < 1e-6,
            "a row's gradient sums to zero"
        );
    }

    #[test]
    fn huge_logits_stay_finite() {
        for scale in [100f32, 1e30] {
            let logits = Var::from_tensor(
                &Tensor::new(&[[scale, -scale], [-scale, scale]], &Device::Cpu).unwrap(),
            )
            .unwrap();
            let value = loss(&logits, &[0, 1], &[0, 0]).unwrap();
            assert!(
                (value.to_scalar::<f32>().unwrap() / scale - 1.0).abs() < 1e-5,
                "half the rows are wrong by 2 · {scale}"
            );
            let grad = value
                .backward()
                .unwrap()
                .get(&logits)
                .unwrap()
                .to_vec2::<f32>()
                .unwrap();
            assert!(grad.iter().flatten().all(|g| g.is_finite()));
        }
    }

    #[test]
    fn bad_items_are_named() {
        let logits = random(&[2, 3], 1);
        assert!(
            loss(&logits, &[], &[])
                .unwrap_err()
                .to_string()
                .contains("no training rows")
        );
        assert!(
            loss(&logits, &[2], &[0])
                .unwrap_err()
                .to_string()
                .contains("row 2 of class 0")
        );
        assert!(
            loss(&logits, &[0], &[3])
                .unwrap_err()
                .to_string()
                .contains("class 3")
        );
        assert!(
            loss(&logits, &[0, 1], &[0])
                .unwrap_err()
                .to_string()
                .contains("2 rows, but 1 classes")
        );
    }

    #[test]
    fn soft_targets_are_means_of_hard_ones() {
        let soft = |logits: &Tensor, targets: &[f32]| {
            soft_cross_entropy(logits, &Arc::new(targets.to_vec()))
        };
        let logits = random(&[3, 3], 4);
        let value = |loss: Result<Tensor>| loss.unwrap().to_scalar::<f32>().unwrap();
        let hard = |classes: &[u32]| value(loss(&logits, &[0, 1, 2], classes));
        let one_hot = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert!((value(soft(&logits, &one_hot)) - hard(&[2, 0, 1])).abs() < 1e-6);
        let mixed = [0.25, 0.0, 0.75, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let expected = 0.25 * hard(&[0, 0, 1]) + 0.75 * hard(&[2, 0, 1]);
        assert!((value(soft(&logits, &mixed)) - expected).abs() < 1e-6);
        check_gradients(std::slice::from_ref(&logits), |v| soft(&v[0], &mixed));
        let huge =
            Var::from_tensor(&Tensor::new(&[[100f32, -100.0]], &Device::Cpu).unwrap()).unwrap();
        let loss = soft(&huge, &[0.5, 0.5]).unwrap();
        assert_eq!(loss.to_scalar::<f32>().unwrap(), 100.0);
        let grad = loss
            .backward()
            .unwrap()
            .get(&huge)
            .unwrap()
            .to_vec2::<f32>()
            .unwrap();
        assert_eq!(grad, [[0.5, -0.5]]);
        assert!(
            soft(&logits, &[1.0])
                .unwrap_err()
                .to_string()
                .contains("3 rows of 3 classes, but 1 shares")
        );
        let none = Tensor::zeros((0, 3), crate::DType::F32, &Device::Cpu).unwrap();
        assert!(
            soft(&none, &[])
                .unwrap_err()
                .to_string()
                .contains("no training rows")
        );
    }
}
