//! Gain: a positive factor on class scores that is set once before training.
//!
//! Maps with constrained weights cannot make scores larger than features, and row-normalised word
//! features are small. The softmax of such scores is flat whatever was learned, and its loss hardly
//! decreases. One positive factor gives the scores their scale back. It changes no predicted class
//! and no ratio of a margin to a Lipschitz constant, so that the guarantees of constrained weights
//! stay valid. Bounds on scores include it as one more map.
//!
//! The initial scores of the training nodes set the factor, and training does not change it. A
//! learned factor grows, and then the few nodes near a decision boundary dominate the gradient.
//! With small scores all training nodes have similar gradients, towards the class means, which
//! noise moves least (docs/weights.md has the figures).

use gnarl_graph::random::stream;

use super::init::Init;
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor};

/// Positive factor on scores, stored as its logarithm.
#[derive(Debug, Clone, Copy)]
pub struct Gain {
    logarithm: ParamId,
}

/// Initial spread of scores: near-uniform class probabilities, so that all training nodes
/// contribute, and large enough for a step to move them (docs/weights.md).
const SPREAD: f64 = 0.1;

impl Gain {
    /// Adds a factor of one.
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

    /// Returns the factor.
    pub fn factor(&self, pass: &Pass<'_>) -> Result<Tensor> {
        pass.weight(self.logarithm).exp()
    }

    /// Multiplies scores by the factor.
    pub fn apply(&self, scores: &Tensor, pass: &Pass<'_>) -> Result<Tensor> {
        scores.broadcast_mul(&self.factor(pass)?)
    }

    /// Resets the factor to one: another head finds its own scale.
    pub fn reset(&self, params: &Params) -> Result<()> {
        params
            .get(self.logarithm)
            .var
            .set(&params.get(self.logarithm).var.zeros_like()?)
    }

    /// Chooses the factor from the current scores. After scaling they spread around the mean of
    /// each node or graph as the initial scores of an unconstrained network do. Constant scores
    /// leave it as it is.
    pub fn start(&self, params: &Params, scores: &Tensor) -> Result<()> {
        let centred = scores.broadcast_sub(&scores.mean_keepdim(1)?)?;
        let spread = f64::from(centred.sqr()?.mean_all()?.to_scalar::<f32>()?).sqrt();
        if spread > 0.0 && spread.is_finite() {
            let logarithm = &params.get(self.logarithm).var;
            logarithm.set(&(logarithm.as_tensor() + (SPREAD / spread).ln())?)?;
        }
        Ok(())
    }
}
