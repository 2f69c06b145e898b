//! Node classifier with an exit at every layer ([ADMP-GNN, Abbahaddou et al.
//! 2025](https://arxiv.org/abs/2509.01170)): a node's scores are those of its exit.

use gnarl_graph::{DenseMatrix, Graph};

use super::{Classifier, input_of_graph};
use gnarl_graph::Result;
use gnarl_nn::depth::{ExitNetwork, ExitPredictions, Policy, Structure};
use gnarl_nn::operator::{OperatorChoice, propagation};
use gnarl_tensor::Tensor;

/// Model that predicts at every exit, with a policy that chooses the exit of each node or graph.
pub(super) trait MultiExit {
    /// Returns the policy that chooses exits.
    fn policy(&self) -> &Policy;

    /// Computes the scores of every exit, one row for each node, or one for the graph.
    fn exit_scores(&self, graph: &Graph) -> Result<Vec<Tensor>>;

    /// Computes the centralities that the policy needs.
    fn structure<'a>(&self, graph: &'a Graph) -> Result<Structure<'a>>;

    /// Computes the scores of the exits that the policy chooses.
    fn chosen_scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let scores = self.exit_scores(graph)?;
        let structure = self.structure(graph)?;
        self.policy()
            .choose(&structure, &ExitPredictions::new(&scores)?)?
            .scores(&scores)
    }
}

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
    /// Computes the predictions of every exit for every node.
    pub fn predictions(&self, graph: &Graph) -> Result<ExitPredictions> {
        ExitPredictions::new(&self.exit_scores(graph)?)
    }

    /// Returns the exit of every node.
    pub fn exits_of(&self, graph: &Graph) -> Result<Vec<usize>> {
        let structure = self.structure(graph)?;
        self.policy.exits(&structure, &self.predictions(graph)?)
    }
}

impl MultiExit for EarlyExit {
    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn exit_scores(&self, graph: &Graph) -> Result<Vec<Tensor>> {
        let input = input_of_graph(graph, None, self.exits.in_dim())?;
        let propagation = propagation(graph, self.exits.config().backbone, self.operator)?;
        Ok(self.exits.predict(&propagation, &input)?)
    }

    fn structure<'a>(&self, graph: &'a Graph) -> Result<Structure<'a>> {
        Structure::new(graph, &self.policy.kinds())
    }
}

impl Classifier for EarlyExit {
    fn num_classes(&self) -> usize {
        self.exits.num_classes()
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        self.chosen_scores(graph)
    }
}
