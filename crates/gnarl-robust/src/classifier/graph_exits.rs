//! Graph classifier with an exit at every layer, for one graph at a time ([ADMP-GNN, Abbahaddou et
//! al. 2025](https://arxiv.org/abs/2509.01170)): a graph's scores are those of its exit.

use gnarl_graph::{DenseMatrix, Graph};
use gnarl_tensor::{DType, Device, Tensor};

use super::early_exit::MultiExit;
use super::{Classifier, input_of_graph};
use gnarl_graph::Result;
use gnarl_nn::depth::{ExitClassifier, Policy, Structure};
use gnarl_nn::networks::{Batch, GraphModel, Membership, Pass, Weights};
use gnarl_nn::operator::{OperatorChoice, propagation};

/// Exits with a readout and a head each, and the policy that chooses the exit of a graph.
#[derive(Debug)]
pub struct GraphEarlyExit {
    exits: ExitClassifier,
    policy: Policy,
    operator: OperatorChoice,
    degrees: Option<usize>,
    weights: Weights,
}

impl GraphEarlyExit {
    /// Builds the classifier with the current weights of the exits. `degrees` is the last column of
    /// one-hot degrees, if the nodes' features are one-hot degrees.
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

    /// Returns the exits.
    pub fn exits(&self) -> &ExitClassifier {
        &self.exits
    }

    /// Returns the policy that chooses the exit of a graph.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

impl MultiExit for GraphEarlyExit {
    fn policy(&self) -> &Policy {
        &self.policy
    }

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
        Ok(self.exits.outputs(&latent, &pass)?)
    }

    fn structure<'a>(&self, graph: &'a Graph) -> Result<Structure<'a>> {
        Structure::of_graphs(std::slice::from_ref(graph), &self.policy.kinds())
    }
}

impl Classifier for GraphEarlyExit {
    fn num_classes(&self) -> usize {
        self.exits.num_classes()
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        self.chosen_scores(graph)
    }
}
