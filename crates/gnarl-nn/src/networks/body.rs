//! Bodies of networks: a [`Body`] maps features to class scores. The implementations are in
//! [`bodies`](super::bodies).

use super::layer::Propagation;
use super::linear::{Input, Linear};
use super::params::{ParamId, Pass};
use gnarl_tensor::{Dropout, Operator, Result, Tensor, relu_dropout};

/// Computation of class scores from a network's parameters.
pub trait Body: std::fmt::Debug + Send + Sync {
    /// Computes class scores before the softmax, `[nodes, num_classes]`.
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor>;

    /// Computes `relu(forward)`, for a network whose output is a representation instead of scores.
    /// A body that can fuse the two overrides it.
    fn forward_activated(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        relu_dropout(&self.forward(propagation, x, pass)?, Dropout::NONE)
    }

    /// Returns the number of hops within which nodes can influence a node's scores; `None` if every
    /// node may. With `Some`, the scores are those of the rows of the last layer's operator.
    fn reach(&self) -> Option<usize>;

    /// Returns the number of layers, if they can be computed one after another, each on all nodes.
    fn num_layers(&self) -> Option<usize> {
        None
    }

    /// Computes layer `i` from the vectors before it; the last layer gives scores. Without dropout,
    /// outside training.
    fn forward_layer(
        &self,
        i: usize,
        _operator: &Operator,
        _x: &Input,
        _pass: &Pass<'_>,
    ) -> Result<Tensor> {
        gnarl_tensor::bail!("there is no layer {i} by itself")
    }

    /// Returns the linear head that maps every node's vector to scores, if it is the last
    /// operation.
    fn head(&self) -> Option<&Linear> {
        None
    }

    /// Computes the input of [`head`](Self::head), `[nodes, width]`; only called if there is a
    /// head.
    fn latent(&self, _propagation: &Propagation, _x: &Input, _pass: &Pass<'_>) -> Result<Input> {
        gnarl_tensor::bail!("there is no head behind these vectors")
    }

    /// Computes the last hidden representation of every node, `[nodes, width]`; `None` if there are
    /// only scores.
    fn hidden(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Option<Tensor>> {
        match self.head() {
            Some(_) => Ok(Some(self.latent(propagation, x, pass)?.to_dense()?)),
            None => Ok(None),
        }
    }

    /// Returns the linear maps of the features if all features go through them first; empty
    /// otherwise.
    fn input_maps(&self) -> Vec<ParamId> {
        Vec::new()
    }

    /// Returns the number of learners that are trained one after another; zero for a network that
    /// is trained as a whole. The parameters of learner `i` begin with `learners.i.`
    fn num_learners(&self) -> usize {
        0
    }

    /// Computes the scores of one learner, on the rows of propagation step `i - 1`.
    fn learner(
        &self,
        i: usize,
        _propagation: &Propagation,
        _x: &Input,
        _pass: &Pass<'_>,
    ) -> Result<Tensor> {
        gnarl_tensor::bail!("there is no learner {i}")
    }
}

/// Dropout sites outside the layers.
pub(super) const INPUT_SITE: u64 = 1 << 32;
pub(super) const ATTENTION_SITES: u64 = 2 << 32;
pub(super) const EMBEDDING_SITE: u64 = 3 << 32;
pub(super) const NOISE_SITES: u64 = 4 << 32;

/// Returns the first `rows` rows. The last layer may be restricted to fewer nodes than the layers
/// before: these are its rows.
pub(super) fn first_rows(h: &Tensor, rows: usize) -> Result<Tensor> {
    if h.dims()[0] == rows {
        Ok(h.clone())
    } else {
        h.narrow(0, 0, rows)
    }
}
