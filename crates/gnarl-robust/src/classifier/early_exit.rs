//! Node classifier with an exit at every layer ([ADMP-GNN, Abbahaddou et al.
//! 2025](https://arxiv.org/abs/2509.01170)): a node's scores are those of its exit.

use gnarl_graph::{DenseMatrix, Graph};

use super::Classifier;
use gnarl_graph::{Error, Result};
use gnarl_nn::depth::{ExitNetwork, ExitPredictions, Policy, Structure};
use gnarl_nn::operator::{OperatorChoice, Prepared};
use gnarl_tensor::Tensor;

/// Network with exits, and the policy that chooses the exit of each node.
#[derive(Debug)]
pub struct EarlyExit {
    /// Exits of the network.
    pub exits: ExitNetwork,
    /// Policy that chooses the exit of each node.
    pub policy: Policy,
    /// Message-passing operator.
    pub operator: OperatorChoice,
}

impl EarlyExit {
    /// Computes the scores of every exit, each `[nodes, classes]`.
    fn exit_scores(&self, graph: &Graph) -> Result<Vec<Tensor>> {
        let prepared = Prepared::new(graph, self.exits.config().backbone, self.operator)?;
        if prepared.input.dim() != self.exits.in_dim() {
            let what = format!(
                "the graph has {} features, the model takes {}",
                prepared.input.dim(),
                self.exits.in_dim()
            );
            return Err(Error::argument("classifier", what));
        }
        Ok(self.exits.predict(&prepared.propagation, &prepared.input)?)
    }

    /// Computes the predictions of every exit for every node.
    pub fn answers(&self, graph: &Graph) -> Result<ExitPredictions> {
        ExitPredictions::new(&self.exit_scores(graph)?)
    }

    /// Returns the exit of every node.
    pub fn exits_of(&self, graph: &Graph) -> Result<Vec<usize>> {
        let structure = Structure::new(graph, &self.policy.kinds())?;
        self.policy.exits(&structure, &self.answers(graph)?)
    }
}

impl Classifier for EarlyExit {
    fn num_classes(&self) -> usize {
        self.exits.num_classes()
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let scores = self.exit_scores(graph)?;
        let structure = Structure::new(graph, &self.policy.kinds())?;
        self.policy
            .choose(&structure, &ExitPredictions::new(&scores)?)?
            .scores(&scores)
    }
}
