//! Automatic differentiation: operations, the recorded computation graph, and gradients.
//!
//! A tensor computed from a variable holds its operation and its inputs. Gradients go from the last
//! tensor to the first. Each operation has two backward passes that agree.
//! [`backward`](Operation::backward) is written in tensor operations, so that a gradient can itself
//! be differentiated ([`Tensor::backward_recorded`]). [`accumulate`](Operation::accumulate) adds in
//! place to the gradients so far, for operations in which that saves time. The first share of a
//! gradient is written, never added to zeros; tensors that are no longer needed are freed during
//! the pass.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::array::{Tensor, TensorId};
use crate::element::{DType, Float, by_precision};
use crate::error::{Error, Result, bail};
use crate::shape::Shape;

pub use crate::target::Target;

/// Differentiable operation.
///
/// Every operation is listed in `operations.rs` and provides examples of itself, on which its
/// gradients of first and second order are compared with differences. An operation without examples
/// does not compile.
pub trait Operation: Listed + Send + Sync {
    /// Returns the name used in error messages.
    fn name(&self) -> &'static str;

    /// Computes the result, outside any gradient.
    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor>;

    /// Returns its type, by which tests find it.
    #[doc(hidden)]
    fn kind(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// Computes the gradients to the inputs that take one, from the gradient of the result, in
    /// tensor operations.
    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients>;

    /// Adds the gradients to those gathered so far. `grad` may be consumed.
    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        for (i, share) in self.backward(at, &grad)?.into_iter().enumerate() {
            if let Some(share) = share
                && to.wants(i)
            {
                to.give(i, share.detach())?;
            }
        }
        Ok(())
    }
}

/// Marks a listed operation.
pub trait Listed {}

/// Gradient for each input that has one.
pub type Gradients = Vec<Option<Tensor>>;

/// Computed operation: its inputs, its result, and the inputs that take a gradient.
pub struct Computed<'a> {
    pub inputs: &'a [Tensor],
    pub output: &'a Tensor,
    wanted: &'a [bool],
}

impl Computed<'_> {
    /// Returns true if input `i` takes a gradient.
    pub fn wants(&self, i: usize) -> bool {
        self.wanted[i]
    }

    /// Returns the gradient that `make` computes for input `i`, if it takes one.
    pub fn to(&self, i: usize, make: impl FnOnce() -> Result<Tensor>) -> Result<Option<Tensor>> {
        if self.wants(i) {
            make().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Computes the gradients of a fused operation from the simpler operations it consists of.
    pub fn by_parts(
        &self,
        grad: &Tensor,
        parts: impl FnOnce(&[Tensor]) -> Result<Tensor>,
    ) -> Result<Gradients> {
        // New identifiers, since one tensor may be passed twice. An input without a gradient is a
        // constant here.
        let own = |(tensor, wanted): (&Tensor, &bool)| {
            if !wanted {
                return tensor.detach();
            }
            let record = Record {
                operation: Box::new(Same),
                inputs: vec![tensor.clone()],
            };
            tensor.view(*tensor.shape(), 0).recorded(record)
        };
        let inputs: Vec<Tensor> = self.inputs.iter().zip(self.wanted).map(own).collect();
        let ends: Vec<TensorId> = inputs.iter().map(Tensor::id).collect();
        let mut found = differentiate(parts(&inputs)?, grad.clone(), &ends, Recording::On)?;
        Ok(inputs
            .iter()
            .map(|input| found.0.remove(&input.id()))
            .collect())
    }
}

/// Computation history of a tensor.
pub struct Record {
    pub operation: Box<dyn Operation>,
    pub inputs: Vec<Tensor>,
}

/// Computes an operation, and records it if an input takes gradients.
pub fn apply(operation: impl Operation + 'static, inputs: &[&Tensor]) -> Result<Tensor> {
    let inputs: Vec<Tensor> = inputs.iter().map(|&tensor| tensor.clone()).collect();
    apply_all(operation, inputs)
}

/// Computes an operation on any number of inputs, as [`apply`].
pub fn apply_all(operation: impl Operation + 'static, inputs: Vec<Tensor>) -> Result<Tensor> {
    let result = operation.forward(&inputs)?;
    if !inputs.iter().any(Tensor::track_op) {
        return Ok(result);
    }
    Ok(result.recorded(Record {
        operation: Box::new(operation),
        inputs,
    }))
}

/// Identity: gives a tensor that is passed twice an identifier of its own.
pub struct Same;

impl Operation for Same {
    fn name(&self) -> &'static str {
        "same"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        Ok(inputs[0].view(*inputs[0].shape(), 0))
    }

    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(grad.clone())])
    }
}

/// Accumulated gradients of an operation's inputs.
pub struct Sinks<'a> {
    gathered: &'a mut ById<Tensor>,
    inputs: &'a [Tensor],
    wanted: &'a [bool],
}

impl Sinks<'_> {
    /// Returns true if input `i` takes a gradient.
    pub fn wants(&self, i: usize) -> bool {
        self.wanted[i]
    }

    /// Adds a share to the gradient of input `i`.
    pub fn give(&mut self, i: usize, share: Tensor) -> Result<()> {
        add_share(
            self.gathered,
            self.inputs[i].id(),
            self.inputs[i].shape(),
            share,
        )
    }

    /// Lets `work` write a share of the gradient of input `i`, or add it to the present values.
    ///
    /// # Safety
    /// `work` writes every value of a target that is to be written.
    pub unsafe fn fill<T: Float>(
        &mut self,
        i: usize,
        work: impl FnOnce(Target<'_, T>),
    ) -> Result<()> {
        let (id, shape) = (self.inputs[i].id(), *self.inputs[i].shape());
        let Some(sum) = self.gathered.get_mut(&id) else {
            // SAFETY: the caller's promise.
            let first = unsafe { Tensor::filled::<T>(shape, |values| work(Target::Write(values))) };
            self.gathered.insert(id, first);
            return Ok(());
        };
        if sum.values_mut::<T>().is_none() {
            *sum = sum.copy()?;
        }
        match sum.values_mut::<T>() {
            Some(values) => work(Target::Add(values)),
            None => bail!(
                "a gradient of {:?} where {:?} is expected",
                sum.dtype(),
                T::DTYPE
            ),
        }
        Ok(())
    }
}

fn add_share(
    gathered: &mut ById<Tensor>,
    id: TensorId,
    shape: &Shape,
    share: Tensor,
) -> Result<()> {
    if share.shape() != shape {
        bail!(
            "a gradient of shape {:?} for a tensor of shape {shape:?}",
            share.shape()
        );
    }
    let Some(sum) = gathered.get_mut(&id) else {
        gathered.insert(id, share);
        return Ok(());
    };
    by_precision!("gradient", share.dtype(), T => match sum.values_mut::<T>() {
        Some(values) => crate::kernels::add_to(&share.values::<T>()?, values),
        None => *sum = sum.add(&share)?,
    });
    Ok(())
}

/// Map by tensor identifier. Identifiers count up and need no scrambling.
type ById<T> = HashMap<TensorId, T, BuildHasherDefault<Counted>>;

#[derive(Default)]
struct Counted(u64);

impl Hasher for Counted {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        // The upper bits also distinguish entries of a table.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Selects if gradients can themselves be differentiated.
#[derive(Clone, Copy, PartialEq)]
enum Recording {
    On,
    Off,
}

/// Gradients of variables.
#[derive(Debug, Default)]
pub struct GradStore(ById<Tensor>);

impl GradStore {
    /// Returns the gradient of a tensor, if it has one.
    pub fn get(&self, of: &Tensor) -> Option<&Tensor> {
        self.0.get(&of.id())
    }

    /// Removes and returns a gradient.
    pub fn remove(&mut self, of: &Tensor) -> Option<Tensor> {
        self.0.remove(&of.id())
    }

    /// Sets a gradient and returns the previous one.
    pub fn insert(&mut self, of: &Tensor, grad: Tensor) -> Option<Tensor> {
        self.0.insert(of.id(), grad)
    }

    /// Adds other gradients to these.
    pub fn extend(&mut self, other: Self) -> Result<()> {
        for (id, share) in other.0 {
            let shape = *share.shape();
            add_share(&mut self.0, id, &shape, share)?;
        }
        Ok(())
    }
}

impl Tensor {
    /// Computes the gradients of this scalar with respect to every variable it was computed from.
    pub fn backward(&self) -> Result<GradStore> {
        self.clone().into_gradients()
    }

    /// Computes the gradients and consumes the tensor: its inputs are freed on the way unless they
    /// are shared.
    pub fn into_gradients(self) -> Result<GradStore> {
        let seed = self.seed()?;
        differentiate(self, seed, &[], Recording::Off)
    }

    /// Computes the gradients of the sum of `self · weights` and consumes the tensor.
    pub fn into_gradients_along(self, weights: &Tensor) -> Result<GradStore> {
        if weights.shape() != self.shape() {
            bail!(
                "gradient: weights of shape {:?} for values of shape {:?}",
                weights.shape(),
                self.shape()
            );
        }
        differentiate(self, weights.detach(), &[], Recording::Off)
    }

    /// Computes gradients that are recorded, so that they can be used in computations and
    /// differentiated in turn.
    pub fn backward_recorded(&self) -> Result<GradStore> {
        differentiate(self.clone(), self.seed()?, &[], Recording::On)
    }

    /// Computes the recorded gradients of the sum of `self · weights` with respect to these
    /// tensors, variables or not; `None` for a tensor that the sum does not depend on.
    pub fn gradients_of(&self, weights: &Tensor, of: &[&Tensor]) -> Result<Vec<Option<Tensor>>> {
        if weights.shape() != self.shape() {
            bail!(
                "gradient: weights of shape {:?} for values of shape {:?}",
                weights.shape(),
                self.shape()
            );
        }
        let ends: Vec<TensorId> = of.iter().map(|tensor| tensor.id()).collect();
        let found = differentiate(self.clone(), weights.clone(), &ends, Recording::On)?;
        Ok(of.iter().map(|tensor| found.get(tensor).cloned()).collect())
    }

    fn seed(&self) -> Result<Tensor> {
        if self.elem_count() != 1 {
            bail!(
                "gradients need a scalar, not {} values of shape {:?}",
                self.elem_count(),
                self.dims()
            );
        }
        if !self.is_finite()? {
            let value = self.to_dtype(DType::F32)?.reshape(())?.to_scalar()?;
            return Err(Error::NotFinite {
                value,
                from: self.first_not_finite()?,
            });
        }
        self.ones_like()
    }

    /// Returns the first operation of the history with a NaN or infinite value, and if the value
    /// was computed there or came in. Returns `None` if all are finite. Reads every value: for
    /// error messages.
    pub fn first_not_finite(&self) -> Result<Option<String>> {
        for tensor in computed_before(self.clone(), &[]) {
            let Some(record) = tensor.record() else {
                continue;
            };
            let name = record.operation.name();
            for input in &record.inputs {
                if !input.is_finite()? {
                    return Ok(Some(format!(
                        "`{name}` was given values that are not finite, in shape {:?}",
                        input.shape()
                    )));
                }
            }
            if !tensor.is_finite()? {
                return Ok(Some(format!(
                    "`{name}` computed values that are not finite, in shape {:?}",
                    tensor.shape()
                )));
            }
        }
        Ok(None)
    }

    /// Returns true if no value is NaN or infinite; indices never are.
    fn is_finite(&self) -> Result<bool> {
        if self.dtype() == DType::U32 {
            return Ok(true);
        }
        by_precision!("finite", self.dtype(), T => Ok(self.values::<T>()?.iter().all(|v| v.is_finite())))
    }

    /// Returns a tensor of these values without a history, for the backward pass.
    fn seen(&self, recording: Recording) -> Tensor {
        if recording == Recording::On {
            self.clone()
        } else {
            self.detach()
        }
    }
}

/// Computes gradients from `last` down to variables or, if there are `ends`, to the ends alone.
fn differentiate(
    last: Tensor,
    seed: Tensor,
    ends: &[TensorId],
    recording: Recording,
) -> Result<GradStore> {
    let mut order = computed_before(last, ends);
    let useful = leading_to(&order, ends);
    let is_useful =
        |tensor: &Tensor| tensor.track_op() && (ends.is_empty() || useful.contains(&tensor.id()));
    let (mut gathered, mut store) = (ById::default(), ById::default());
    if let Some(last) = order.last() {
        gathered.insert(last.id(), seed);
    }
    // A tensor's identifier is above those of its inputs: from the last to the first, each gradient
    // is complete when its turn comes.
    while let Some(tensor) = order.pop() {
        let Some(grad) = gathered.remove(&tensor.id()) else {
            continue;
        };
        let Some(record) = tensor.record().filter(|_| !ends.contains(&tensor.id())) else {
            store.insert(tensor.id(), grad);
            continue;
        };
        let wanted: Vec<bool> = record.inputs.iter().map(is_useful).collect();
        let inputs: Vec<Tensor> = record
            .inputs
            .iter()
            .map(|input| input.seen(recording))
            .collect();
        let output = tensor.seen(recording);
        let at = Computed {
            inputs: &inputs,
            output: &output,
            wanted: &wanted,
        };
        if recording == Recording::Off {
            let mut sinks = Sinks {
                gathered: &mut gathered,
                inputs: &record.inputs,
                wanted: &wanted,
            };
            record.operation.accumulate(&at, grad, &mut sinks)?;
            continue;
        }
        let shares = record.operation.backward(&at, &grad)?;
        for ((input, share), _) in record
            .inputs
            .iter()
            .zip(shares)
            .zip(&wanted)
            .filter(|(_, wanted)| **wanted)
        {
            let Some(share) = share else { continue };
            let sum = match gathered.remove(&input.id()) {
                Some(sum) => sum.add(&share)?,
                None => share,
            };
            gathered.insert(input.id(), sum);
        }
    }
    Ok(GradStore(store))
}

/// Returns the tensors that a tensor was computed from, down to variables and `ends`; the tensor
/// itself comes last.
fn computed_before(last: Tensor, ends: &[TensorId]) -> Vec<Tensor> {
    if !last.track_op() {
        return Vec::new();
    }
    let mut found = ById::default();
    found.insert(last.id(), last.clone());
    let mut open = vec![last];
    while let Some(tensor) = open.pop() {
        let Some(record) = tensor.record().filter(|_| !ends.contains(&tensor.id())) else {
            continue;
        };
        for input in record.inputs.iter().filter(|input| input.track_op()) {
            if found.insert(input.id(), input.clone()).is_none() {
                open.push(input.clone());
            }
        }
    }
    let mut order: Vec<Tensor> = found.into_values().collect();
    order.sort_unstable_by_key(Tensor::id);
    order
}

/// Returns the tensors that were computed from one of the `ends`, and the ends themselves.
fn leading_to(order: &[Tensor], ends: &[TensorId]) -> HashSet<TensorId> {
    let mut useful = HashSet::new();
    if ends.is_empty() {
        return useful;
    }
    for tensor in order {
        let through = |input: &Tensor| useful.contains(&input.id());
        if ends.contains(&tensor.id())
            || tensor
                .record()
                .is_some_and(|r| r.inputs.iter().any(through))
        {
            useful.insert(tensor.id());
        }
    }
    useful
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Example, Examples};
    use crate::{Device, Var};

    impl Examples for Same {
        fn examples() -> Vec<Example> {
            vec![Example::of(&[&[2, 3]], |v| {
                apply(Same, &[&v[0]])?.mul(&v[0])
            })]
        }
    }

    #[test]
    fn gradients_end_at_the_requested_tensors() {
        let v = Var::new(&[2f64], &Device::Cpu).unwrap();
        let squared = v.sqr().unwrap();
        let y = squared.exp().unwrap();
        let found = y
            .gradients_of(&y.ones_like().unwrap(), &[&squared])
            .unwrap();
        let slope = found[0].as_ref().unwrap();
        assert_eq!(slope.to_vec1::<f64>().unwrap(), [4f64.exp()]);
        // Itself a function of the variable: d/dv exp(v²) = 2 v exp(v²).
        let again = slope.sum_all().unwrap().backward().unwrap();
        assert!(
            (again.get(&v).unwrap().to_vec1::<f64>().unwrap()[0] - 4.0 * 4f64.exp()).abs() < 1e-9
        );
        let other = Var::new(&[1f64], &Device::Cpu).unwrap();
        assert!(y.gradients_of(&y.ones_like().unwrap(), &[&other]).unwrap()[0].is_none());
        assert!(
            y.gradients_of(&Tensor::new(1f64, &Device::Cpu).unwrap(), &[&v])
                .is_err()
        );
    }

    #[test]
    fn constants_have_no_gradient() {
        let (v, c) = (
            Var::new(&[2f32], &Device::Cpu).unwrap(),
            Tensor::new(&[3f32], &Device::Cpu).unwrap(),
        );
        let y = v.mul(&c).unwrap();
        let grads = y.sum_all().unwrap().backward().unwrap();
        assert!(grads.get(&c).is_none() && grads.get(&y).is_none());
        assert!(
            !grads.get(&v).unwrap().track_op(),
            "a plain gradient is a constant"
        );
        assert!(c.sum_all().unwrap().backward().unwrap().get(&c).is_none());
        assert!(
            Var::new(&[1f32, 2.0], &Device::Cpu)
                .unwrap()
                .backward()
                .unwrap_err()
                .to_string()
                .contains("need a scalar")
        );
    }

    #[test]
    fn nonfinite_values_are_reported_with_their_operation() {
        let v = Var::new(&[[1f32, 200.0]], &Device::Cpu).unwrap();
        let error = |of: Tensor| of.sum_all().unwrap().backward().unwrap_err().to_string();
        let made = error(v.exp().unwrap().relu().unwrap());
        assert!(
            made.contains("is inf: `")
                && made.contains("computed values")
                && made.contains("[1, 2]"),
            "{made}"
        );
        assert!(!made.contains("`relu"), "the first, not the last: {made}");
        for bad in [f32::NAN, f32::NEG_INFINITY] {
            let constant = Tensor::new(&[[1f32, bad]], &Device::Cpu).unwrap();
            let given = error(v.mul(&constant).unwrap());
            assert!(
                given.contains("was given values that are not finite, in shape [1, 2]"),
                "{given}"
            );
        }
        let alone = Var::new(&[f32::NAN], &Device::Cpu).unwrap();
        assert!(
            alone
                .backward()
                .unwrap_err()
                .to_string()
                .ends_with("is NaN")
        );
        assert_eq!(
            v.exp().unwrap().detach().first_not_finite().unwrap(),
            None,
            "nothing is recorded"
        );
    }

    #[test]
    fn shares_of_several_uses_are_added() {
        let v = Var::new(&[3f32, -1.0], &Device::Cpu).unwrap();
        // v + v + v², in which the sum's own gradient is shared by both of its sides.
        let twice = v.add(&v).unwrap();
        let y = twice.add(&v.sqr().unwrap()).unwrap().sum_all().unwrap();
        assert_eq!(
            y.backward()
                .unwrap()
                .get(&v)
                .unwrap()
                .to_vec1::<f32>()
                .unwrap(),
            [8.0, 0.0]
        );
        let mut grads = y.backward().unwrap();
        grads.extend(y.backward().unwrap()).unwrap();
        assert_eq!(
            grads.remove(&v).unwrap().to_vec1::<f32>().unwrap(),
            [16.0, 0.0]
        );
        assert!(grads.insert(&v, twice.detach()).is_none() && grads.get(&v).is_some());
    }

    /// Three steps of gradient descent on a cubic, differentiated by the starting point, compared
    /// with differences.
    #[test]
    fn gradients_through_training() {
        let trained = |start: &Tensor| {
            let mut w = start.clone();
            for _ in 0..3 {
                let loss = (w.powf(3.0).unwrap() * 0.5).unwrap().sum_all().unwrap();
                let slope = loss
                    .gradients_of(&loss.ones_like().unwrap(), &[&w])
                    .unwrap()
                    .remove(0)
                    .unwrap();
                w = w.sub(&slope.affine(0.1, 0.0).unwrap()).unwrap();
            }
            w.sqr().unwrap().sum_all().unwrap()
        };
        let value = |at: f64| {
            trained(&Var::new(&[at], &Device::Cpu).unwrap())
                .to_scalar::<f64>()
                .unwrap()
        };
        let start = Var::new(&[0.8f64], &Device::Cpu).unwrap();
        let found = trained(&start)
            .backward()
            .unwrap()
            .get(&start)
            .unwrap()
            .to_vec1::<f64>()
            .unwrap()[0];
        let numeric = (value(0.8 + 1e-5) - value(0.8 - 1e-5)) / 2e-5;
        assert!((found - numeric).abs() < 1e-8, "{found} against {numeric}");
    }
}
