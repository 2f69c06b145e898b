//! [`Body`]: the way from features to class scores. The bodies themselves are in [`bodies`](super::bodies).

use super::layer::Propagation;
use super::linear::{Input, Linear};
use super::params::{ParamId, Pass};
use gnarl_tensor::{Dropout, Operator, Result, Tensor, relu_dropout};

/// The way through a network's parameters.
pub trait Body: std::fmt::Debug + Send + Sync {
    /// Class scores before the softmax, `[nodes, num_classes]`.
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor>;

    /// `relu(forward)`, for a network whose output is a representation and no score. A body that
    /// can fuse the two overrides it.
    fn forward_activated(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        relu_dropout(&self.forward(propagation, x, pass)?, Dropout::NONE)
    }

    /// How many rounds away a node can be and still matter; `None` where every node may. With
    /// `Some`, the scores are those of the rows of the last round's operator.
    fn reach(&self) -> Option<usize>;

    /// Of layers that can be computed one after the other, each on all nodes: how many.
    fn rounds(&self) -> Option<usize> {
        None
    }

    /// What layer `i` makes of the vectors before it, up to the vectors before the next; the last
    /// gives scores. Outside training.
    fn round(
        &self,
        i: usize,
        _operator: &Operator,
        _x: &Input,
        _pass: &Pass<'_>,
    ) -> Result<Tensor> {
        gnarl_tensor::bail!("there is no layer {i} by itself")
    }

    /// The linear map that reads classes off every node's vector, where that is the last thing
    /// done.
    fn head(&self) -> Option<&Linear> {
        None
    }

    /// What [`head`](Self::head) reads classes off, `[nodes, width]`; asked only where there is
    /// one.
    fn latent(&self, _propagation: &Propagation, _x: &Input, _pass: &Pass<'_>) -> Result<Input> {
        gnarl_tensor::bail!("there is no head behind these vectors")
    }

    /// The last representation of every node before class scores, `[nodes, width]`; `None` where
    /// scores are all there is.
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

    /// The linear maps that are all it does to features; none where it does something else first.
    fn input_maps(&self) -> Vec<ParamId> {
        Vec::new()
    }

    /// Learners that are trained one after the other, none for a network that is trained whole. The
    /// parameters of learner `i` begin with `learners.i.`
    fn num_learners(&self) -> usize {
        0
    }

    /// The scores of one learner, on the rows of round `i - 1`.
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

/// Sites of dropout that are not a layer's own.
pub(super) const INPUT_SITE: u64 = 1 << 32;
pub(super) const ATTENTION_SITES: u64 = 2 << 32;
pub(super) const EMBEDDING_SITE: u64 = 3 << 32;
pub(super) const NOISE_SITES: u64 = 4 << 32;

/// The first `rows` rows: where the last round is restricted to fewer nodes than the ones before,
/// those that it gives.
pub(super) fn first_rows(h: &Tensor, rows: usize) -> Result<Tensor> {
    if h.dims()[0] == rows {
        Ok(h.clone())
    } else {
        h.narrow(0, 0, rows)
    }
}
