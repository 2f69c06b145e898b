//! Parameters of a model, and the weights that a forward pass uses.
//!
//! A layer holds the ids of its parameters, never the tensors. A forward pass gets the tensors as
//! [`Weights`]: the parameters themselves, or a projection of them (the weights axis), computed
//! once per step and not once per use.

use std::collections::HashSet;
use std::ops::{Index, Range};
use std::sync::Mutex;

use gnarl_graph::random::{Rng, mix, stream};
use rand_distr::{Distribution, StandardNormal};

use super::init::Init;
use crate::weights::WeightsChoice;
use gnarl_tensor::{Device, Dropout, Result, Tensor, Var, bail};

/// Identifier of one parameter of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParamId(usize);

/// Longest vector that is allocated even if a model is only counted: at most this many propagation
/// steps.
const LONGEST_VECTOR: usize = 20_000;

/// Group of a parameter: groups may have learning rates and decay of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// Matrix of a linear map between representations, constrained by the weights axis.
    Weight,
    /// Weight that the weights axis does not constrain: a linear head, attention.
    Free,
    /// Bias, or the scale of a normalisation.
    Bias,
    /// Scalar of a learnable operator.
    Scalar,
    /// Exponent of a learnable operator.
    Exponent,
    /// Running statistic, such as the mean of a normalisation: stored with the model, never
    /// trained.
    Statistic,
}

/// Named parameter.
#[derive(Debug)]
pub struct Param {
    /// Name, unique within the model, e.g. `layers.0.weight`.
    pub name: String,
    /// Trained tensor.
    pub var: Var,
    /// Group of the parameter.
    pub group: Group,
}

/// All parameters of a model, in the order they were made.
#[derive(Debug, Default)]
pub struct Params {
    list: Vec<Param>,
    names: HashSet<String>,
    constraint: WeightsChoice,
    /// Number of values, if matrices are only counted.
    counted: Option<f64>,
}

impl Params {
    /// Returns an empty list, with the constraint for those in [`Group::Weight`].
    pub fn new(constraint: WeightsChoice) -> Self {
        Self {
            constraint,
            ..Self::default()
        }
    }

    /// Returns an empty list that only counts parameters: matrices are not allocated.
    pub(super) fn counting(constraint: WeightsChoice) -> Self {
        Self {
            counted: Some(0.0),
            ..Self::new(constraint)
        }
    }

    /// Returns the number of values that were [`counted`](Self::counting).
    pub(super) fn counted(&self) -> f64 {
        self.counted.unwrap_or(0.0)
    }

    /// Adds a parameter.
    pub fn add(
        &mut self,
        name: String,
        shape: &[usize],
        init: Init,
        group: Group,
        rng: &mut Rng,
    ) -> Result<ParamId> {
        if !self.names.insert(name.clone()) {
            bail!("two parameters are called {name}");
        }
        let mut shape = shape;
        if let Some(counted) = &mut self.counted {
            *counted += shape.iter().map(|&side| side as f64).product::<f64>();
            // Vectors are small, and some bodies write into theirs.
            if shape.len() > 1 || shape.iter().any(|&side| side > LONGEST_VECTOR) {
                shape = &[0];
            }
        }
        let init = if shape == [0] {
            Init::Constant(0.0)
        } else {
            init
        };
        let values = init.values(shape, rng);
        let var = Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu)?)?;
        self.list.push(Param { name, var, group });
        Ok(ParamId(self.list.len() - 1))
    }

    /// Samples the constrained weights again, with orthonormal columns or rows.
    pub fn start_orthogonal(&self, rng: &mut Rng) -> Result<()> {
        for p in self.list.iter().filter(|p| p.group == Group::Weight) {
            let values = Init::Orthogonal.values(p.var.dims(), rng);
            p.var
                .set(&Tensor::from_vec(values, p.var.shape(), &Device::Cpu)?)?;
        }
        Ok(())
    }

    /// Returns every parameter.
    pub fn list(&self) -> &[Param] {
        &self.list
    }

    /// Returns one parameter.
    pub fn get(&self, id: ParamId) -> &Param {
        &self.list[id.0]
    }

    /// Moves a parameter to another group.
    pub fn regroup(&mut self, id: ParamId, group: Group) {
        self.list[id.0].group = group;
    }

    /// Returns the number of trained values.
    pub fn num_trained(&self) -> usize {
        self.list
            .iter()
            .filter(|p| p.group != Group::Statistic)
            .map(|p| p.var.elem_count())
            .sum()
    }

    /// Returns the weights of a forward pass: the parameters, or their projection by the weights
    /// axis.
    pub fn weights(&self) -> Result<Weights> {
        self.weights_training(&(0..self.list.len()))
    }

    /// Returns the weights with gradients only for the parameters at these positions.
    pub fn weights_training(&self, trained: &Range<usize>) -> Result<Weights> {
        let tensor = |(i, p): (usize, &Param)| {
            let tensor = if trained.contains(&i) {
                p.var.as_tensor().clone()
            } else {
                p.var.as_detached_tensor()
            };
            if p.group == Group::Weight {
                self.constraint.parametrize(&tensor)
            } else {
                Ok(tensor)
            }
        };
        Ok(Weights {
            tensors: self
                .list
                .iter()
                .enumerate()
                .map(tensor)
                .collect::<Result<_>>()?,
        })
    }

    /// Applies the weights axis after an update of the parameters at these positions.
    pub fn constrain(&self, trained: &Range<usize>) -> Result<()> {
        for p in self.list[trained.clone()]
            .iter()
            .filter(|p| p.group == Group::Weight)
        {
            if let Some(value) = self.constraint.after_update(p.var.as_tensor())? {
                p.var.set(&value)?;
            }
        }
        Ok(())
    }

    /// Checks that no parameter has a NaN or infinite value; the error names the first.
    pub fn check_finite(&self) -> gnarl_graph::Result<()> {
        for p in &self.list {
            let values = p.var.flatten_all()?.to_vec1::<f32>()?;
            if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                let (name, value, count) = (&p.name, values[at], values.len());
                let what = format!(
                    "{name} is {value} at position {at} of {count}; train the model again, with a smaller learning rate"
                );
                return Err(gnarl_graph::Error::argument("weights", what));
            }
        }
        Ok(())
    }

    /// Returns a copy of every value, for [`restore`](Self::restore).
    pub fn snapshot(&self) -> Result<Vec<Tensor>> {
        self.list.iter().map(|p| p.var.as_tensor().copy()).collect()
    }

    /// Restores a snapshot.
    pub fn restore(&self, snapshot: &[Tensor]) -> Result<()> {
        if snapshot.len() != self.list.len() {
            bail!(
                "a snapshot of {} parameters for a model of {}",
                snapshot.len(),
                self.list.len()
            );
        }
        for (p, value) in self.list.iter().zip(snapshot) {
            p.var.set(value)?;
        }
        Ok(())
    }

    /// Writes the running statistics of a training pass into their parameters.
    pub fn apply_updates(&self, updates: Vec<(ParamId, Tensor)>) -> Result<()> {
        for (id, value) in updates {
            self.list[id.0].var.set(&value)?;
        }
        Ok(())
    }
}

/// Tensors of a forward pass, one for each parameter.
#[derive(Debug, Clone)]
pub struct Weights {
    tensors: Vec<Tensor>,
}

impl Weights {
    /// Replaces one weight, for example by its projection.
    pub fn replace(&mut self, id: ParamId, tensor: Tensor) {
        self.tensors[id.0] = tensor;
    }

    /// Returns the values outside any gradient.
    pub fn detached(&self) -> Self {
        Self {
            tensors: self.tensors.iter().map(Tensor::detach).collect(),
        }
    }

    /// Returns the weights with a leaf for each one computed from parameters, and the pairs of
    /// computed tensor and leaf. Gradients of the leaves can be summed before they are propagated
    /// further.
    pub fn with_leaves(&self) -> Result<(Self, Vec<(Tensor, Var)>)> {
        let mut leaves = Vec::new();
        let mut leaf = |tensor: &Tensor| {
            if tensor.is_variable() || !tensor.track_op() {
                return Ok(tensor.clone());
            }
            let leaf = Var::from_tensor(&tensor.detach())?;
            leaves.push((tensor.clone(), leaf.clone()));
            Ok(leaf.as_tensor().clone())
        };
        let tensors = self.tensors.iter().map(&mut leaf).collect::<Result<_>>()?;
        Ok((Self { tensors }, leaves))
    }

    /// Returns the id and tensor of every weight.
    pub fn iter(&self) -> impl Iterator<Item = (ParamId, &Tensor)> {
        self.tensors
            .iter()
            .enumerate()
            .map(|(i, t)| (ParamId(i), t))
    }
}

impl Index<ParamId> for Weights {
    type Output = Tensor;

    fn index(&self, id: ParamId) -> &Tensor {
        &self.tensors[id.0]
    }
}

/// First random key of a batch's parts, beyond the dropout sites.
const PARTS: u64 = 5 << 32;

/// Forward pass: the weights, the mode (training or prediction), and the key of its random samples.
#[derive(Debug)]
pub struct Pass<'a> {
    weights: &'a Weights,
    key: Option<u64>,
    updates: Mutex<Vec<(ParamId, Tensor)>>,
    penalties: Mutex<Vec<Tensor>>,
}

impl<'a> Pass<'a> {
    /// Returns a pass for prediction: no dropout, stored statistics.
    pub fn evaluation(weights: &'a Weights) -> Self {
        Self {
            weights,
            key: None,
            updates: Mutex::default(),
            penalties: Mutex::default(),
        }
    }

    /// Returns a pass for training; `key` fixes its random samples.
    pub fn training(weights: &'a Weights, key: u64) -> Self {
        Self {
            weights,
            key: Some(key),
            updates: Mutex::default(),
            penalties: Mutex::default(),
        }
    }

    /// Returns the pass of one part of a batch: weights of the same values, other random samples.
    pub fn part<'b>(&self, weights: &'b Weights, index: usize) -> Pass<'b> {
        let key = self.key.map(|key| mix(key ^ mix(PARTS + index as u64)));
        Pass {
            weights,
            key,
            updates: Mutex::default(),
            penalties: Mutex::default(),
        }
    }

    /// Returns its weights.
    pub fn weights(&self) -> &'a Weights {
        self.weights
    }

    /// Returns true if a statistic or a term of the loss was noted.
    pub fn has_notes(&self) -> bool {
        let updates = !self
            .updates
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .is_empty();
        updates
            || !self
                .penalties
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .is_empty()
    }

    /// Returns true if this pass trains.
    pub fn trains(&self) -> bool {
        self.key.is_some()
    }

    /// Returns a weight.
    pub fn weight(&self, id: ParamId) -> &Tensor {
        &self.weights[id]
    }

    /// Returns the dropout mask of one site in the model; none in prediction. Different sites have
    /// different masks.
    pub fn dropout(&self, rate: f32, site: u64) -> Dropout {
        match self.key {
            Some(key) if rate > 0.0 => Dropout {
                rate,
                key: mix(key ^ mix(site)),
            },
            _ => Dropout::NONE,
        }
    }

    /// Returns independent Gaussian noise for one site in the model; none in prediction.
    pub fn noise(
        &self,
        standard_deviation: f32,
        site: u64,
        shape: &[usize],
    ) -> Result<Option<Tensor>> {
        let Some(key) = self.key.filter(|_| standard_deviation > 0.0) else {
            return Ok(None);
        };
        let rng = &mut stream(mix(key ^ mix(site)), "noise", 0);
        let sample = |_| {
            standard_deviation * <StandardNormal as Distribution<f32>>::sample(&StandardNormal, rng)
        };
        let values: Vec<f32> = (0..shape.iter().product()).map(sample).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).map(Some)
    }

    /// Adds a term to the training loss.
    pub fn note_penalty(&self, penalty: Tensor) {
        self.penalties
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .push(penalty);
    }

    /// Returns the terms noted so far.
    pub fn take_penalties(&self) -> Vec<Tensor> {
        std::mem::take(&mut self.penalties.lock().unwrap_or_else(|e| e.into_inner()))
    }

    /// Notes a new value of a running statistic.
    pub fn note_update(&self, id: ParamId, value: Tensor) {
        self.updates
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .push((id, value));
    }

    /// Returns the noted updates, for [`Params::apply_updates`].
    pub fn into_updates(self) -> Vec<(ParamId, Tensor)> {
        self.updates.into_inner().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_site_of_every_step_has_its_own_samples() {
        let weights = Params::default().weights().unwrap();
        let mut keys: Vec<u64> = Vec::new();
        for step in 0..50 {
            let pass = Pass::training(&weights, step);
            keys.extend(
                (0..50)
                    .chain([1 << 32, 2 << 32])
                    .map(|site| pass.dropout(0.5, site).key),
            );
            keys.extend((0..5).flat_map(|i| {
                [0, 1, 1 << 32].map(|site| pass.part(&weights, i).dropout(0.5, site).key)
            }));
            assert_eq!(
                pass.dropout(0.5, 3),
                Pass::training(&weights, step).dropout(0.5, 3),
                "a draw can be repeated"
            );
        }
        let sampled = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), sampled);
        assert_eq!(Pass::evaluation(&weights).dropout(0.5, 3), Dropout::NONE);
        assert_eq!(Pass::training(&weights, 1).dropout(0.0, 3), Dropout::NONE);
    }

    #[test]
    fn snapshots_bring_values_back() {
        let mut params = Params::default();
        let rng = &mut gnarl_graph::random::stream(1, "params test", 0);
        let id = params
            .add("w".into(), &[2], Init::Constant(1.0), Group::Weight, rng)
            .unwrap();
        let e = params
            .add("w".into(), &[1], Init::Constant(0.0), Group::Weight, rng)
            .unwrap_err()
            .to_string();
        assert!(e.contains("two parameters are called w"), "{e}");
        let snapshot = params.snapshot().unwrap();
        params
            .apply_updates(vec![(id, Tensor::new(&[3f32, 4.0], &Device::Cpu).unwrap())])
            .unwrap();
        assert_eq!(
            params.weights().unwrap()[id].to_vec1::<f32>().unwrap(),
            [3.0, 4.0]
        );
        params.restore(&snapshot).unwrap();
        assert_eq!(
            params.weights().unwrap()[id].to_vec1::<f32>().unwrap(),
            [1.0, 1.0]
        );
        assert!(params.restore(&[]).is_err());
    }

    #[test]
    fn the_first_value_out_of_range_is_named() {
        let mut params = Params::default();
        let rng = &mut gnarl_graph::random::stream(1, "params test", 0);
        for name in ["a", "b", "c"] {
            params
                .add(
                    name.into(),
                    &[2, 2],
                    Init::Constant(1.0),
                    Group::Weight,
                    rng,
                )
                .unwrap();
        }
        params.check_finite().unwrap();
        for (bad, expected) in [
            (
                f32::NAN,
                "weights: b is NaN at position 2 of 4; train the model again, with a smaller learning rate",
            ),
            (
                f32::NEG_INFINITY,
                "weights: b is -inf at position 2 of 4; train the model again, with a smaller learning rate",
            ),
        ] {
            for p in &params.list()[1..] {
                p.var
                    .set(&Tensor::new(&[[1f32, 2.0], [bad, f32::NAN]], &Device::Cpu).unwrap())
                    .unwrap();
            }
            assert_eq!(params.check_finite().unwrap_err().to_string(), expected);
        }
    }
}
