//! A classifier of graphs with an exit at every layer, around one graph at a time: a graph's scores
//! are those of the exit it takes (thesis ch. 4 on ch. 7's ground).

use gnarl_graph::{DenseMatrix, Graph};
use gnarl_tensor::{DType, Device, Tensor};

use super::{Classifier, input_of_graph};
use gnarl_graph::Result;
use gnarl_nn::depth::{Answers, ExitClassifier, Policy, Structure};
use gnarl_nn::networks::{Batch, GraphModel, Membership, Pass, Weights};
use gnarl_nn::operator::{OperatorChoice, propagation};

/// Exits with a readout and a head each, and the policy that says which a graph takes.
#[derive(Debug)]
pub struct GraphEarlyExit {
    exits: ExitClassifier,
    policy: Policy,
    operator: OperatorChoice,
    degrees: Option<usize>,
    weights: Weights,
}

impl GraphEarlyExit {
    /// The exits as they are now. `degrees` is the last column of one-hot degrees, where those are
    /// the nodes' features.
    pub fn new(
        exits: ExitClassifier,
        policy: Policy,
        operator: OperatorChoice,
        degrees: Option<usize>,
    ) -> Result<Self> {
        let weights = exits.params().weights()?.detached();
        Ok(Self {
            exits,
            policy,
            operator,
            degrees,
            weights,
        })
    }

    /// The exits.
    pub fn exits(&self) -> &ExitClassifier {
        &self.exits
    }

    /// Which of them a graph takes.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The scores of every exit, each `[1, classes]`.
    fn exit_scores(&self, graph: &Graph) -> Result<Vec<Tensor>> {
        let pass = Pass::evaluation(&self.weights);
        let latent = match graph.num_nodes() {
            0 => Tensor::zeros((1, self.exits.latent_dim()), DType::F32, &Device::Cpu)?,
            nodes => {
                let backbone = self.exits.config().backbone;
                let propagation = propagation(graph, backbone, self.operator)?;
                let input = input_of_graph(graph, self.degrees, self.exits.in_dim())?;
                let members = Membership::new(&[nodes]);
                self.exits.latent(
                    &Batch {
                        propagation,
                        input,
                        members,
                    },
                    &pass,
                )?
            }
        };
        Ok(self.exits.answers(&latent, &pass)?)
    }
}

impl Classifier for GraphEarlyExit {
    fn num_classes(&self) -> usize {
        self.exits.num_classes()
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let scores = self.exit_scores(graph)?;
        let structure = Structure::of_graphs(std::slice::from_ref(graph), &self.policy.kinds())?;
        self.policy
            .choose(&structure, &Answers::new(&scores)?)?
            .scores(&scores)
    }
}
