//! [`Learned`]: a trained network, for nodes or graphs, of one depth or with exits.

use gnarl_data::Task;
use gnarl_graph::{Error, Graph, Result};

use super::Plan;
use gnarl_nn::depth::{ExitClassifier, ExitNetwork, Policy};
use gnarl_nn::networks::{GraphClassifier, Network, Params, Shape};
use gnarl_robust::classifier::{Classifier, EarlyExit, GraphEarlyExit, WhiteBox};
use gnarl_robust::inference::{CleanInputs, FittedInference, Inference};

/// A trained network.
#[derive(Debug)]
pub(super) enum Learned {
    /// Scores of nodes.
    Network(WhiteBox),
    /// Scores of nodes, with exits.
    Exits(EarlyExit),
    /// Scores of a set's graphs, one row for each graph.
    Graphs(WhiteBox),
    /// Scores of a set's graphs, with exits.
    GraphExits(GraphEarlyExit),
}

impl Learned {
    /// A network for nodes, with the operator of the defence if that replaces it.
    pub fn network(network: Network, plan: &Plan) -> Result<Self> {
        let operator_override = plan.model.defense.method().operator_override();
        let network = WhiteBox::new(network, plan.model.operator)?;
        Ok(Learned::Network(network.with_operator(operator_override)))
    }

    /// Exits for nodes, with their policy.
    pub fn exits(exits: ExitNetwork, policy: Policy, plan: &Plan) -> Self {
        Learned::Exits(EarlyExit {
            exits,
            policy,
            operator: plan.model.operator,
        })
    }

    /// A classifier of graphs; `degrees` is the last column of one-hot degrees, if these are the
    /// features.
    pub fn graphs(
        classifier: GraphClassifier,
        plan: &Plan,
        degrees: Option<usize>,
    ) -> Result<Self> {
        let classifier = WhiteBox::of_graphs(classifier, plan.model.operator, degrees)?;
        Ok(Learned::Graphs(classifier))
    }

    /// Exits for graphs, with their policy; `degrees` is the last column of one-hot degrees, if
    /// these are the features.
    pub fn graph_exits(
        exits: ExitClassifier,
        policy: Policy,
        plan: &Plan,
        degrees: Option<usize>,
    ) -> Result<Self> {
        let exits = GraphEarlyExit::new(exits, policy, plan.model.operator, degrees)?;
        Ok(Learned::GraphExits(exits))
    }

    /// Builds the network of a plan with stored weights, which `fill` copies into it.
    pub fn restored(
        plan: &Plan,
        shape: &Shape<'_>,
        degrees: Option<usize>,
        policy: Option<Policy>,
        fill: impl Fn(&Params) -> Result<()>,
    ) -> Result<Self> {
        let has_exits = plan.model.depth.exits().is_some();
        match (plan.task, policy.filter(|_| has_exits)) {
            (_, None) if has_exits => Err(Error::argument(
                "model",
                "it has exits, and no policy to choose among them",
            )),
            (Task::Node, None) => {
                let network = Network::new(&plan.network, shape, 0)?;
                fill(network.params())?;
                Self::network(network, plan)
            }
            (Task::Node, Some(policy)) => {
                let exits = ExitNetwork::new(&plan.network, shape, 0)?;
                fill(exits.params())?;
                Ok(Self::exits(exits, policy, plan))
            }
            (Task::Graph, None) => {
                let classifier = GraphClassifier::new(&plan.network, shape, 0)?;
                fill(classifier.params())?;
                Self::graphs(classifier, plan, degrees)
            }
            (Task::Graph, Some(policy)) => {
                let exits = ExitClassifier::new(&plan.network, shape, 0)?;
                fill(exits.params())?;
                Self::graph_exits(exits, policy, plan, degrees)
            }
        }
    }

    /// Returns the network as a classifier: one row of scores for each node, or one row for a graph
    /// of a set.
    pub fn classifier(&self) -> &dyn Classifier {
        match self {
            Learned::Network(network) | Learned::Graphs(network) => network,
            Learned::Exits(exits) => exits,
            Learned::GraphExits(exits) => exits,
        }
    }

    /// Returns the network of one depth; `None` for exits.
    pub fn white_box(&self) -> Option<&WhiteBox> {
        match self {
            Learned::Network(network) | Learned::Graphs(network) => Some(network),
            Learned::Exits(_) | Learned::GraphExits(_) => None,
        }
    }

    /// Fits an inference to the network on the training nodes of a prepared graph. Settings that
    /// are left to validation nodes are selected on those.
    pub fn fit_inference(
        &self,
        inference: Inference,
        graph: &Graph,
        [train, val]: [&[u32]; 2],
        seed: u64,
    ) -> Result<FittedInference> {
        let network = self.classifier();
        let clean = CleanInputs::Nodes { graph, train, val };
        let fitted = inference.fit_to(network, clean)?;
        if inference.tunes() {
            fitted.tuned(network, graph, val, seed)
        } else {
            Ok(fitted)
        }
    }

    pub fn params(&self) -> &Params {
        match self {
            Learned::Network(network) | Learned::Graphs(network) => network.params(),
            Learned::Exits(early) => early.exits.params(),
            Learned::GraphExits(early) => early.exits().params(),
        }
    }

    /// Returns the number of feature columns that the network takes.
    pub fn in_dim(&self) -> usize {
        match self {
            Learned::Network(network) | Learned::Graphs(network) => network.network().in_dim(),
            Learned::Exits(early) => early.exits.in_dim(),
            Learned::GraphExits(early) => early.exits().in_dim(),
        }
    }

    /// Returns the number of exits; one for a network of fixed depth.
    pub fn num_exits(&self) -> usize {
        match self {
            Learned::Exits(early) => early.exits.max_depth() + 1,
            Learned::GraphExits(early) => early.exits().max_depth() + 1,
            Learned::Network(_) | Learned::Graphs(_) => 1,
        }
    }

    /// Returns the policy of the exits.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Learned::Exits(early) => Some(&early.policy),
            Learned::GraphExits(early) => Some(early.policy()),
            Learned::Network(_) | Learned::Graphs(_) => None,
        }
    }
}
