//! Graph classification: `f = head ∘ dropout ∘ readout ∘ message passing`.
//!
//! The message passing is any network of [`network`](super::network), with `hidden` outputs per
//! node through a last ReLU instead of class scores. The readout aggregates them to one latent
//! vector per graph. The head is a linear map.

use std::ops::Range;

use gnarl_graph::random::stream;

use super::backbone::Backbone;
use super::config::{NetworkConfig, Shape};
use super::entry::Capability;
use super::head::{Head, classify};
use super::layer::OperatorScalar;
use super::layer::Propagation;
use super::linear::{Input, Linear};
use super::network::Network;
use super::params::{Params, Pass, Weights};
use super::readout::Membership;
use gnarl_tensor::{DType, Device, Result, Tensor};

/// Batch of graphs: one block-diagonal operator, with the nodes of all graphs concatenated.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Message-passing operator of the batch.
    pub propagation: Propagation,
    /// Features of the nodes.
    pub input: Input,
    /// Graph of each node.
    pub members: Membership,
}

/// Model for batches of graphs: a latent vector for each graph, and class scores from one or
/// several heads.
pub trait GraphModel: Sync {
    /// Returns its parameters.
    fn params(&self) -> &Params;

    /// Returns the trained parameters, by position; the others are never changed.
    fn trained(&self) -> Range<usize> {
        0..self.params().list().len()
    }

    /// Returns true if the training loss of a graph depends on the other graphs of its batch.
    fn couples_graphs(&self) -> bool;

    /// Returns the number of classes.
    fn num_classes(&self) -> usize;

    /// Returns the number of heads that predict.
    fn num_outputs(&self) -> usize {
        1
    }

    /// Returns the width of a graph's vector.
    fn latent_dim(&self) -> usize;

    /// Returns the classifier itself, if it is trained as a whole and has one head.
    fn as_classifier(&self) -> Option<&GraphClassifier> {
        None
    }

    /// Computes the vectors of a batch's graphs, `[graphs, latent_dim]`.
    fn latent(&self, batch: &Batch, pass: &Pass<'_>) -> Result<Tensor>;

    /// Computes class scores from graph vectors, one matrix `[graphs, num_classes]` for each head.
    fn outputs(&self, latent: &Tensor, pass: &Pass<'_>) -> Result<Vec<Tensor>>;
}

/// Network for graph classification.
#[derive(Debug)]
pub struct GraphClassifier {
    config: NetworkConfig,
    encoder: Network,
    head: Linear,
    num_classes: usize,
}

impl GraphClassifier {
    /// Builds the classifier with parameters sampled from the seed; those of the head are
    /// `head.weight` and `head.bias`. Networks that are trained one learner after another have no
    /// single representation and are refused.
    pub fn new(config: &NetworkConfig, shape: &Shape<'_>, seed: u64) -> gnarl_graph::Result<Self> {
        config.check()?;
        if !config.backbone.provides(Capability::GraphSets) {
            let able = Backbone::names_of(|other| other.provides(Capability::GraphSets));
            let what = format!(
                "{} does not classify sets of graphs; take {able}",
                config.backbone
            );
            return Err(gnarl_graph::Error::unsupported("model", what));
        }
        let (hidden, num_classes) = (config.hidden, shape.num_classes);
        let mut encoder = Network::encoder(
            config,
            &Shape {
                num_classes: hidden,
                ..*shape
            },
            seed,
        )?;
        let head = Linear::kaiming(
            encoder.params_mut(),
            "head",
            hidden,
            num_classes,
            true,
            &mut stream(seed, "head", 0),
        )?
        .free(encoder.params_mut());
        Ok(Self {
            config: config.clone(),
            encoder,
            head,
            num_classes,
        })
    }

    /// Returns its settings.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Returns its parameters, with the head's last.
    pub fn params(&self) -> &Params {
        self.encoder.params()
    }

    /// Returns its message-passing network.
    pub fn encoder(&self) -> &Network {
        &self.encoder
    }

    /// Returns the number of input features.
    pub fn in_dim(&self) -> usize {
        self.encoder.in_dim()
    }

    /// Returns the width of a graph's latent vector.
    pub fn latent_dim(&self) -> usize {
        self.head.in_dim()
    }

    /// Returns the number of classes.
    pub fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// Returns true if the training loss of a graph depends on the other graphs of its batch, by
    /// batch statistics or a term of the loss.
    pub fn couples_graphs(&self) -> bool {
        self.config.uses_batch_norm()
            || !self.config.backbone.provides(Capability::IndependentGraphs)
    }

    /// Returns the scalars that it was built with, with their initial values; none for a fixed
    /// operator.
    pub fn scalars(&self) -> Vec<OperatorScalar> {
        self.encoder.scalars()
    }

    /// Returns the scalars of its learnable operator with their values; none for a fixed operator.
    pub fn operator_scalars(&self) -> Result<Vec<(String, f64)>> {
        self.encoder.operator_scalars()
    }

    /// Returns the weights for prediction.
    pub fn weights(&self) -> Result<Weights> {
        Ok(self.params().weights()?.detached())
    }

    /// Computes the vectors of a batch's graphs, `[graphs, latent_dim]`; zeros for graphs without
    /// nodes.
    pub fn latent(&self, batch: &Batch, pass: &Pass<'_>) -> Result<Tensor> {
        if batch.members.num_nodes() == 0 {
            return Tensor::zeros(
                (batch.members.num_graphs(), self.latent_dim()),
                DType::F32,
                &Device::Cpu,
            );
        }
        let nodes = self
            .encoder
            .encode(&batch.propagation, &batch.input, pass)?;
        self.config.readout.forward(&batch.members, &nodes)
    }

    /// Computes class scores from graph vectors, before the softmax: `[graphs, num_classes]`.
    pub fn classify(&self, latent: &Tensor, pass: &Pass<'_>) -> Result<Tensor> {
        classify(&self.head, self.config.head_dropout as f32, latent, pass)
    }

    /// Computes class scores of a batch's graphs.
    pub fn scores(&self, batch: &Batch, pass: &Pass<'_>) -> Result<Tensor> {
        self.classify(&self.latent(batch, pass)?, pass)
    }

    /// Computes class scores of one graph, `[1, num_classes]`.
    pub fn scores_of_one(
        &self,
        propagation: &Propagation,
        input: &Input,
        pass: &Pass<'_>,
    ) -> Result<Tensor> {
        let nodes = propagation.operator.num_cols();
        let latent = match nodes {
            0 => Tensor::zeros((1, self.latent_dim()), DType::F32, &Device::Cpu)?,
            _ => {
                let encoded = self.encoder.encode(propagation, input, pass)?;
                self.config
                    .readout
                    .forward(&Membership::new(&[nodes]), &encoded)?
            }
        };
        self.classify(&latent, pass)
    }

    /// Replaces its head by another.
    pub fn set_head(&self, head: &Head) -> Result<()> {
        head.copy_to(&self.head, self.params())
    }
}

impl GraphModel for GraphClassifier {
    fn params(&self) -> &Params {
        self.params()
    }

    fn couples_graphs(&self) -> bool {
        self.couples_graphs()
    }

    fn num_classes(&self) -> usize {
        self.num_classes
    }

    fn latent_dim(&self) -> usize {
        self.latent_dim()
    }

    fn as_classifier(&self) -> Option<&GraphClassifier> {
        Some(self)
    }

    fn latent(&self, batch: &Batch, pass: &Pass<'_>) -> Result<Tensor> {
        self.latent(batch, pass)
    }

    fn outputs(&self, latent: &Tensor, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        Ok(vec![self.classify(latent, pass)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::Backbone;
    use crate::networks::Readout;
    use crate::networks::testing::{adjacency, assert_close, path, plant};

    fn config(backbone: Backbone) -> NetworkConfig {
        NetworkConfig {
            hidden: 1,
            layers: 1,
            dropout: 0.0,
            readout: Readout::Mean,
            head_dropout: 0.0,
            ..NetworkConfig::new(backbone.where_taken("heads", 1))
        }
    }

    #[test]
    fn by_hand() {
        // The path 0–1–2 with one feature: sums over neighbours 2, 5, 2, minus 3 and through ReLU
        // 0, 2, 0, mean 2/3.
        let classifier =
            GraphClassifier::new(&config(Backbone::GCN), &Shape::new(1, 2, 0.0), 1).unwrap();
        plant(classifier.params(), "layers.0.weight", &[1.0]);
        plant(classifier.params(), "layers.0.bias", &[-3.0]);
        plant(classifier.params(), "head.weight", &[3.0, -6.0]);
        plant(classifier.params(), "head.bias", &[1.0, 0.5]);
        let x = Tensor::new(&[[1f32], [2.0], [4.0]], &Device::Cpu).unwrap();
        let batch = Batch {
            propagation: adjacency(&path()).into(),
            input: x.into(),
            members: Membership::new(&[3]),
        };
        let weights = classifier.weights().unwrap();
        let scores = classifier
            .scores(&batch, &Pass::evaluation(&weights))
            .unwrap();
        assert_close(
            &scores.to_vec2::<f32>().unwrap()[0],
            &[3.0, -3.5],
            1e-6,
            "scores",
        );
        let head = Head::new(1, 2, 0.5, 7).unwrap();
        plant(head.params(), "head.weight", &[0.0, 3.0]);
        plant(head.params(), "head.bias", &[0.0, 0.0]);
        classifier.set_head(&head).unwrap();
        let weights = classifier.weights().unwrap();
        let scores = classifier
            .scores(&batch, &Pass::evaluation(&weights))
            .unwrap();
        assert_close(
            &scores.to_vec2::<f32>().unwrap()[0],
            &[0.0, 2.0],
            1e-6,
            "with another head",
        );
        let wide = Head::new(2, 2, 0.5, 7).unwrap();
        assert!(
            classifier
                .set_head(&wide)
                .unwrap_err()
                .to_string()
                .contains("does not fit")
        );
    }

    /// The network's own linear map, `output`, precedes the readout: sums over neighbours 2, 5, 2,
    /// times 10 and minus 30 through ReLU 0, 20, 0, mean 20/3.
    #[test]
    fn a_network_that_ends_in_a_linear_map_has_room_for_the_head() {
        let with_output = |config: NetworkConfig| NetworkConfig {
            head: true,
            ..config
        };
        let classifier = GraphClassifier::new(
            &with_output(config(Backbone::GCN)),
            &Shape::new(1, 2, 0.0),
            1,
        )
        .unwrap();
        plant(classifier.params(), "layers.0.weight", &[1.0]);
        plant(classifier.params(), "layers.0.bias", &[0.0]);
        plant(classifier.params(), "output.weight", &[10.0]);
        plant(classifier.params(), "output.bias", &[-30.0]);
        plant(classifier.params(), "head.weight", &[3.0, -6.0]);
        plant(classifier.params(), "head.bias", &[1.0, 0.5]);
        let x = Tensor::new(&[[1f32], [2.0], [4.0]], &Device::Cpu).unwrap();
        let batch = Batch {
            propagation: adjacency(&path()).into(),
            input: x.into(),
            members: Membership::new(&[3]),
        };
        let weights = classifier.weights().unwrap();
        let scores = classifier
            .scores(&batch, &Pass::evaluation(&weights))
            .unwrap();
        assert_close(
            &scores.to_vec2::<f32>().unwrap()[0],
            &[21.0, -39.5],
            1e-5,
            "scores",
        );
    }

    #[test]
    fn invalid_configurations_are_refused() {
        let e = GraphClassifier::new(&config(Backbone::ADAGCN), &Shape::new(1, 2, 0.0), 1)
            .unwrap_err()
            .to_string();
        assert!(e.contains("adagcn does not classify sets of graphs"), "{e}");
        let e = GraphClassifier::new(
            &NetworkConfig {
                head_dropout: 1.0,
                ..config(Backbone::GCN)
            },
            &Shape::new(1, 2, 0.0),
            1,
        )
        .unwrap_err();
        assert_eq!(e.to_string(), "head-dropout must be in [0, 1) (got 1)");
    }
}
