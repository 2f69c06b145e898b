//! A network with an exit at every layer as a classifier: a node's scores are those of the exit it
//! takes (thesis ch. 4).

use gnarl_graph::{DenseMatrix, Graph};

use super::Classifier;
use gnarl_graph::{Error, Result};
use gnarl_nn::depth::{Answers, ExitNetwork, Policy, Structure};
use gnarl_nn::operator::{OperatorChoice, Prepared};
use gnarl_tensor::Tensor;

/// A network with exits, and the policy that says which a node takes.
#[derive(Debug)]
pub struct EarlyExit {
    /// The exits.
    pub exits: ExitNetwork,
    /// Which of them a node takes.
    pub policy: Policy,
    /// The operator that messages travel by.
    pub operator: OperatorChoice,
}

impl EarlyExit {
    /// The scores of every exit, each `[nodes, classes]`.
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

    /// What every exit says of every node.
    pub fn answers(&self, graph: &Graph) -> Result<Answers> {
        Answers::new(&self.exit_scores(graph)?)
    }

    /// The exit that every node takes.
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
            .choose(&structure, &Answers::new(&scores)?)?
            .scores(&scores)
    }
}
