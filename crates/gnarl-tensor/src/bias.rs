//! A bias on every row, and its gradient: the sum of each column.

use crate::array::Tensor;
use crate::element::by_precision;
use crate::error::{Result, bail};
use crate::kernels;
use crate::tape::{Computed, Gradients, Operation, Sinks, apply};

/// Adds `bias` to every row of `x`.
pub fn add_bias(x: &Tensor, bias: &Tensor) -> Result<Tensor> {
    apply(AddBias, &[x, bias])
}

pub(crate) struct AddBias;

impl Operation for AddBias {
    fn name(&self) -> &'static str {
        "add bias"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let ((_, width), bias) = (inputs[0].dims2()?, inputs[1].dims());
        if bias != [width] {
            bail!(
                "{}: a bias of shape {bias:?} for {width} columns",
                self.name()
            );
        }
        inputs[0].detach().broadcast_add(&inputs[1].detach())
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![
            at.to(0, || Ok(grad.clone()))?,
            at.to(1, || grad.sum(0))?,
        ])
    }

    fn accumulate(&self, _at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        column_sums_to(&grad, 1, to)?;
        if to.wants(0) {
            to.give(0, grad)
        } else {
            Ok(())
        }
    }
}

/// Adds the sum of each column to the gradient of input `i`, a bias, if that input takes a
/// gradient.
pub(crate) fn column_sums_to(grad: &Tensor, i: usize, to: &mut Sinks<'_>) -> Result<()> {
    if !to.wants(i) {
        return Ok(());
    }
    let (_, width) = grad.dims2()?;
    by_precision!("column sums", grad.dtype(), T => {
        let sums = (grad.device().kernels::<T>().column_sums)(&grad.values::<T>()?, width);
        // SAFETY: there are as many sums as values of the bias, and each is written.
        unsafe {
            to.fill::<T>(i, |target| match target {
                crate::tape::Target::Add(out) => kernels::add_rows(&sums, out),
                crate::tape::Target::Write(out) => out.iter_mut().zip(&sums).for_each(|(out, sum)| _ = out.write(*sum)),
            })
        }
    })
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    impl Examples for AddBias {
        fn examples() -> Vec<Example> {
            [(3, 5), (0, 2), (1, 17), (4, 1), (2, 0)]
                .map(|(r, c)| Example::of(&[&[r, c], &[c]], |v| add_bias(&v[0], &v[1])))
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_gradients, random};

    #[test]
    fn gradients_of_a_bias() {
        check_gradients(&[random(&[6, 4], 12), random(&[4], 13)], |v| {
            add_bias(&v[0], &v[1])?.sqr()
        });
    }
}
