//! Memory and time estimates of a plan. Training, studies and files refuse a plan by the same
//! estimate, before anything is allocated.

use gnarl_data::Content;
use gnarl_data::Task;
use gnarl_graph::limits::Demand;
use gnarl_graph::{Error, Graph};

use super::Plan;
use gnarl_graph::Result;
use gnarl_nn::networks::{Capability, Network, NetworkSetting, Shape};

/// Advice for a network that is too large.
const NARROWER: &str = "take fewer or narrower layers (hidden, layers, heads)";
/// Advice for work that would take too long.
const LESS: &str = "take fewer runs, epochs, steps or samples";

/// Bytes of a parameter: the number, its gradient and Adam's two moments, in single precision.
const BYTES_OF_PARAMETER: f64 = 16.0;
/// Bytes of a number in a representation.
const BYTES_OF_VALUE: f64 = 4.0;
/// Smallest cost of a forward pass, for graphs of any size: about ten microseconds.
const LEAST_PASS: f64 = 1e5;
/// Cost of a training step in forward passes.
const PASSES_OF_STEP: f64 = 3.0;

/// Sizes of a model's input.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    nodes: f64,
    arcs: f64,
    in_dim: usize,
    classes: usize,
    graphs: f64,
}

impl Sizes {
    fn of(content: &Content) -> Self {
        let graphs: &[Graph] = match content {
            Content::Graph(graph) => std::slice::from_ref(graph),
            Content::Graphs(set) => set.graphs(),
        };
        let sum =
            |of: fn(&Graph) -> usize| graphs.iter().map(|graph| of(graph) as f64).sum::<f64>();
        let in_dim = graphs
            .iter()
            .filter_map(|graph| graph.features())
            .map(|features| features.num_cols())
            .max();
        Self {
            nodes: sum(Graph::num_nodes),
            arcs: sum(Graph::num_arcs),
            in_dim: in_dim.unwrap_or(1).max(1),
            classes: content
                .labels()
                .map_or(1, |labels| labels.num_classes())
                .max(1),
            graphs: graphs.len() as f64,
        }
    }
}

impl Plan {
    /// Refuses a model that does not fit this machine's memory with this data. Also refuses work of
    /// `fits` trainings and `passes` more forward passes that would not end in practice. Estimates
    /// are lower bounds: an accepted plan may still be slow.
    pub fn check_demand(
        &self,
        name: &str,
        content: &Content,
        fits: f64,
        passes: f64,
    ) -> Result<()> {
        let sizes = Sizes::of(content);
        let trainings = self.trainings(Some(content)) as f64 * fits;
        let steps = match self.task {
            Task::Node => 1.0,
            Task::Graph => (sizes.graphs / self.training.batch_size as f64)
                .ceil()
                .max(1.0),
        };
        let pass = self.pass(&sizes);
        let training =
            trainings * self.training.epochs as f64 * PASSES_OF_STEP * pass.max(steps * LEAST_PASS);
        let what = format!("{} on {name}", self.network.backbone);
        let bytes = self.bytes(&sizes)?;
        Demand::new(&what).and_bytes(bytes).check(NARROWER)?;
        Demand::new(what)
            .and_operations(training + passes * pass)
            .check(LESS)
    }

    /// Refuses a model that cannot have been stored in a file: `in_dim` columns and `classes`
    /// classes need more parameters than `bytes` bytes hold.
    pub(super) fn check_stored(&self, in_dim: usize, classes: usize, bytes: usize) -> Result<()> {
        let least = if in_dim > bytes {
            in_dim as f64
        } else {
            self.parameters(in_dim, classes)?
        };
        if least * BYTES_OF_VALUE > bytes as f64 {
            let what = format!(
                "it claims at least {least:.0} parameters, which a file of {bytes} bytes cannot hold"
            );
            return Err(Error::argument("model", what));
        }
        Ok(())
    }

    fn parameters(&self, in_dim: usize, classes: usize) -> Result<f64> {
        let network = match self.model.depth.exits() {
            // The last exit may be at depth 0, before the first layer.
            Some(_) => gnarl_nn::networks::NetworkConfig {
                layers: self.network.layers.max(1),
                ..self.network.clone()
            },
            None => self.network.clone(),
        };
        let out = if self.task == Task::Graph {
            network.hidden
        } else {
            classes
        };
        Network::size(&network, &Shape::new(in_dim, out, 0.0))
    }

    /// Returns the width of a hidden representation; for a network without one, the width of the
    /// scores.
    fn width(&self, sizes: &Sizes) -> f64 {
        let has_hidden = self.network.backbone.takes(NetworkSetting::Hidden);
        if has_hidden {
            self.network.hidden as f64
        } else {
            sizes.classes as f64
        }
    }

    fn bytes(&self, sizes: &Sizes) -> Result<f64> {
        let at_once = match self.task {
            Task::Node => sizes.nodes,
            Task::Graph => {
                sizes.nodes * (self.training.batch_size as f64 / sizes.graphs.max(1.0)).min(1.0)
            }
        };
        // A layer's output, its gradient or its intermediate results, scores and probabilities.
        let scores = if self.task == Task::Node {
            sizes.classes as f64
        } else {
            0.0
        };
        let values = at_once * 2.0 * (self.width(sizes) + scores);
        Ok(
            BYTES_OF_PARAMETER * self.parameters(sizes.in_dim, sizes.classes)?
                + BYTES_OF_VALUE * values,
        )
    }

    /// Returns the number of additions and multiplications of a forward pass.
    fn pass(&self, sizes: &Sizes) -> f64 {
        let steps = self.network.backbone.method().propagation_steps();
        let steps = steps.map_or(0.0, |steps| steps as f64 * sizes.classes as f64);
        let messages = if self.network.backbone.provides(Capability::MessagePassing) {
            sizes.arcs
        } else {
            0.0
        };
        let rounds = self.network.layers as f64 * self.width(sizes) + steps;
        (2.0 * rounds * (messages + sizes.nodes)).max(LEAST_PASS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use gnarl_data::Dataset;
    use gnarl_nn::networks::Backbone;

    fn plan(model: Model) -> Plan {
        model.plan(Task::Node).unwrap()
    }

    /// Karate has 34 nodes, 156 arcs, 34 features and 4 classes: 34·64 + 64 + 64·4 + 4 parameters;
    /// representations of 64 and scores of 4.
    #[test]
    fn a_small_network_by_hand() {
        let sizes = Sizes::of(&Dataset::load("karate").unwrap().content);
        assert_eq!(
            (sizes.nodes, sizes.arcs, sizes.in_dim, sizes.classes),
            (34.0, 156.0, 34, 4)
        );
        let plan = plan(Model::new(Backbone::GCN).hidden(64));
        let (parameters, values) = (
            34.0 * 64.0 + 64.0 + 64.0 * 4.0 + 4.0,
            34.0 * 2.0 * (64.0 + 4.0),
        );
        assert_eq!(
            plan.bytes(&sizes).unwrap(),
            16.0 * parameters + 4.0 * values
        );
        assert_eq!(plan.pass(&sizes), LEAST_PASS, "2·2·64·190 is less");
        let larger = Sizes {
            nodes: 3.4e4,
            arcs: 1.56e5,
            ..sizes
        };
        assert_eq!(plan.pass(&larger), 2.0 * 2.0 * 64.0 * 1.9e5);
    }

    #[test]
    fn memory_and_time_above_the_limit_are_refused() {
        let data = Dataset::load("karate").unwrap();
        let check = |model: Model, fits: f64, passes: f64| {
            plan(model)
                .check_demand("karate", &data.content, fits, passes)
                .map_err(|e| e.to_string())
        };
        let gcn = Model::new(Backbone::GCN);
        assert_eq!(check(gcn, 10.0, 1000.0), Ok(()));
        // 200 maps of a million by a million, 16 bytes a parameter.
        let wide = Model {
            network: crate::model::NetworkOptions {
                layers: Some(202),
                ..gcn.hidden(1_000_000).network
            },
            ..gcn
        };
        let e = check(wide, 1.0, 0.0).unwrap_err();
        assert!(
            e.starts_with("memory: gcn on karate needs at least 3200 TB, and ")
                && e.ends_with(NARROWER),
            "{e}"
        );
        let e = check(gcn, 1e12, 0.0).unwrap_err();
        assert!(
            e.starts_with("time: gcn on karate takes at least") && e.ends_with(LESS),
            "{e}"
        );
        assert!(check(gcn, 1.0, 1e15).unwrap_err().starts_with("time: "));
    }

    #[test]
    fn files_hold_what_they_claim() {
        let plan = plan(Model::new(Backbone::GCN).hidden(64));
        assert!(
            plan.check_stored(34, 4, 10_000).is_ok(),
            "2,500 parameters of four bytes"
        );
        let e = plan.check_stored(34, 4, 9_000).unwrap_err().to_string();
        assert_eq!(
            e,
            "model: it claims at least 2500 parameters, which a file of 9000 bytes cannot hold"
        );
        assert!(plan.check_stored(usize::MAX, 4, 9_000).is_err());
    }
}
