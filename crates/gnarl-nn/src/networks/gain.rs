//! A factor on class scores, set once.
//!
//! Maps of bounded weights cannot make scores larger than features are, and rows of words that sum
//! to one are small: the softmax of such scores is flat whatever was learned, and its loss has next
//! to nothing to go down by. One positive factor gives the scores their scale back. It changes no
//! class and no ratio of a margin to a Lipschitz constant, so that what bounded weights promise
//! stays as it is; bounds on scores have it as one more map.
//!
//! The training nodes' scores at the start set it, and training leaves it alone. A factor that is
//! learned grows, and with it the few nodes near a boundary decide everything: small scores have
//! all training nodes pull alike, towards the means of classes, which noise moves least
//! (docs/weights.md has the figures).

use gnarl_graph::random::stream;

use super::init::Init;
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor};

/// A positive factor on scores, stored as its logarithm.
#[derive(Debug, Clone, Copy)]
pub struct Gain {
    logarithm: ParamId,
}

/// How far scores spread at the start: near even odds, so that all training nodes have a say, and
/// large enough for a step to move them (docs/weights.md).
const SPREAD: f64 = 0.1;

impl Gain {
    /// A factor of one.
    pub fn new(params: &mut Params, name: &str) -> Result<Self> {
        let rng = &mut stream(0, "a constant draws nothing", 0);
        let logarithm = params.add(
            name.to_string(),
            &[1],
            Init::Constant(0.0),
            Group::Statistic,
            rng,
        )?;
        Ok(Self { logarithm })
    }

    /// The factor.
    pub fn factor(&self, pass: &Pass<'_>) -> Result<Tensor> {
        pass.weight(self.logarithm).exp()
    }

    /// Scores times the factor.
    pub fn apply(&self, scores: &Tensor, pass: &Pass<'_>) -> Result<Tensor> {
        scores.broadcast_mul(&self.factor(pass)?)
    }

    /// A factor of one again: for another head, which finds its own scale.
    pub fn reset(&self, params: &Params) -> Result<()> {
        params
            .get(self.logarithm)
            .var
            .set(&params.get(self.logarithm).var.zeros_like()?)
    }

    /// Chooses the factor by the scores that it gives so far: after it they spread around their
    /// mean, item by item, as the start of an unconstrained network does. Scores that do not differ
    /// leave it as it is.
    pub fn start(&self, params: &Params, scores: &Tensor) -> Result<()> {
        let around = scores.broadcast_sub(&scores.mean_keepdim(1)?)?;
        let spread = f64::from(around.sqr()?.mean_all()?.to_scalar::<f32>()?).sqrt();
        if spread > 0.0 && spread.is_finite() {
            let logarithm = &params.get(self.logarithm).var;
            logarithm.set(&(logarithm.as_tensor() + (SPREAD / spread).ln())?)?;
        }
        Ok(())
    }
}
