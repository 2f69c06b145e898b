//! Receptive field of a set of nodes: all nodes that their scores depend on after `hops` layers of
//! message passing.
//!
//! The loss uses the training nodes alone, often a twentieth of the graph. Their scores need the
//! layer before only on their neighbourhood, that layer needs the one before on the neighbourhood
//! of the neighbourhood, and so on. Nodes are sorted by their distance from the set. Every layer
//! therefore works on a prefix of the layer before it, through an operator of that many rows. The
//! scores on the set equal those of the whole graph; nothing is sampled or left out.

use std::sync::Arc;

use super::Targets;
use crate::networks::{Input, Propagation};
use gnarl_tensor::Result;

/// Share of the whole graph's message passing above which the restriction costs more than it saves.
const WORTH_BELOW: f64 = 0.9;

/// Training problem restricted to the receptive field of some nodes.
#[derive(Debug)]
#[doc(hidden)]
pub struct ReceptiveField {
    pub propagation: Propagation,
    pub input: Input,
    pub targets: Targets,
}

impl ReceptiveField {
    /// Returns the receptive field of the targets. It is the whole graph if the network's reach is
    /// unknown (`hops` is `None`) or if every node influences every other. It is also the whole
    /// graph if the field is most of it.
    pub fn new(
        propagation: &Propagation,
        input: &Input,
        targets: &Targets,
        hops: Option<usize>,
    ) -> Result<Self> {
        Dependencies::new(propagation, input, targets, hops).field(propagation, input)
    }
}

/// Nodes that the targets' scores depend on. Fields can be made from it for its graph and for every
/// graph with fewer edges.
#[derive(Debug)]
#[doc(hidden)]
pub struct Dependencies {
    targets: Targets,
    /// Nodes by their distance and the number of nodes within 0, 1, … hops; none if nothing is
    /// restricted.
    nodes: Option<(Vec<u32>, Vec<usize>)>,
}

impl Dependencies {
    /// Computes the nodes; see [`ReceptiveField::new`].
    pub fn new(
        propagation: &Propagation,
        input: &Input,
        targets: &Targets,
        hops: Option<usize>,
    ) -> Self {
        let whole = || Self {
            targets: targets.clone(),
            nodes: None,
        };
        let Some(hops) = hops.filter(|_| !propagation.operator.is_low_rank()) else {
            return whole();
        };
        let (order, sizes) = by_distance(propagation, &targets.items, hops);
        let pattern = propagation.operator.pattern();
        let entries_of = |rows: usize| {
            order[..rows]
                .iter()
                .map(|&u| pattern.row(u as usize).len())
                .sum::<usize>()
        };
        // Sizes run from the set outwards: layer `step` computes representations of sizes[hops -
        // step - 1] nodes.
        let entries: usize = sizes[..hops].iter().map(|&rows| entries_of(rows)).sum();
        let share = if hops == 0 {
            order.len() as f64 / input.num_rows() as f64
        } else {
            entries as f64 / (hops * pattern.num_entries()).max(1) as f64
        };
        if share > WORTH_BELOW {
            return whole();
        }
        let items = Arc::new((0..targets.items.len() as u32).collect());
        Self {
            targets: Targets {
                items,
                ..targets.clone()
            },
            nodes: Some((order, sizes)),
        }
    }

    /// Returns the field on this graph.
    pub fn field(&self, propagation: &Propagation, input: &Input) -> Result<ReceptiveField> {
        self.field_of(propagation, self.input(input)?)
    }

    /// Returns the field with inputs that were restricted before.
    pub fn field_of(&self, propagation: &Propagation, input: Input) -> Result<ReceptiveField> {
        Ok(ReceptiveField {
            propagation: self.propagation(propagation)?,
            input,
            targets: self.targets.clone(),
        })
    }

    /// Restricts the message passing to the field.
    fn propagation(&self, propagation: &Propagation) -> Result<Propagation> {
        let Some((order, sizes)) = &self.nodes else {
            return Ok(propagation.clone());
        };
        let hops = sizes.len() - 1;
        let mut restricted = propagation.clone();
        match &propagation.learnable {
            Some(operator) if hops > 0 => {
                restricted.learnable = Some(operator.restricted(order, sizes)?)
            }
            _ => {
                let operator = |i: usize| {
                    propagation
                        .operator
                        .restricted(order, sizes[hops - i - 1], sizes[hops - i])
                };
                restricted.layer_operators = (0..hops).map(operator).collect::<Result<_>>()?;
            }
        }
        Ok(restricted)
    }

    /// Returns the inputs of the field's nodes.
    pub fn input(&self, input: &Input) -> Result<Input> {
        match &self.nodes {
            Some((order, _)) => input.select(order),
            None => Ok(input.clone()),
        }
    }
}

/// Returns the nodes within `hops` of `items`, nearest first, with `items` in the given order, and
/// the number of nodes within 0, 1, … hops.
fn by_distance(propagation: &Propagation, items: &[u32], hops: usize) -> (Vec<u32>, Vec<usize>) {
    let pattern = propagation.operator.pattern();
    let mut seen = vec![false; pattern.num_cols()];
    let mut order = items.to_vec();
    items.iter().for_each(|&u| seen[u as usize] = true);
    let mut sizes = vec![order.len()];
    for hop in 0..hops {
        let from = if hop == 0 { 0 } else { sizes[hop - 1] };
        for i in from..sizes[hop] {
            for &v in &pattern.indices()[pattern.row(order[i] as usize)] {
                if !std::mem::replace(&mut seen[v as usize], true) {
                    order.push(v);
                }
            }
        }
        // In the graph's own order, neighbours in memory stay neighbours.
        let added = sizes[hop]..order.len();
        order[added].sort_unstable();
        sizes.push(order.len());
    }
    (order, sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Scaler;
    use crate::networks::{Backbone, Network, NetworkConfig, Pass};
    use crate::operator::{Cgso, Initialisation, OperatorChoice, Prepared};
    use gnarl_graph::operator::ClassicalOperator;
    use gnarl_graph::{CsrMatrix, Features, Graph, Labels};
    use gnarl_tensor::masked_cross_entropy;

    /// A ring of 60 nodes with a few chords, sparse features, and three labelled nodes close
    /// together.
    fn ring() -> (Graph, Vec<u32>) {
        let n = 60u32;
        let edges = (0..n)
            .map(|u| (u, (u + 1) % n))
            .chain([(0, 5), (1, 7), (20, 40), (3, 50)]);
        let indices: Vec<u32> = (0..n).flat_map(|u| [u % 7, 7 + u % 4]).collect();
        let values: Vec<f32> = (0..2 * n).map(|i| 0.5 + (i % 5) as f32).collect();
        let features = CsrMatrix::new(
            11,
            (0..=u64::from(n)).map(|u| 2 * u).collect(),
            indices,
            values,
        )
        .unwrap();
        let graph = Graph::from_edges(n as usize, edges).unwrap().0;
        let graph = graph.with_features(Features::Sparse(features)).unwrap();
        let labels = Labels::new((0..n).map(|u| Some(u % 3)).collect(), 3).unwrap();
        (graph.with_labels(labels).unwrap(), vec![2, 0, 4])
    }

    /// Returns the loss and every gradient of one network on a field.
    fn loss_and_gradients(network: &Network, field: &ReceptiveField) -> Vec<f32> {
        let weights = network.params().weights().unwrap();
        let scores = network
            .forward(
                &field.propagation,
                &field.input,
                &Pass::evaluation(&weights),
            )
            .unwrap();
        let loss =
            masked_cross_entropy(&scores, &field.targets.items, &field.targets.classes).unwrap();
        let grads = loss.backward().unwrap();
        let mut all = vec![loss.to_scalar::<f32>().unwrap()];
        for p in network.params().list() {
            let grad = grads
                .get(&p.var)
                .unwrap_or_else(|| panic!("{} has no gradient", p.name));
            all.extend(grad.flatten_all().unwrap().to_vec1::<f32>().unwrap());
        }
        all
    }

    #[test]
    fn the_field_gives_what_the_whole_graph_gives() {
        let (graph, items) = ring();
        let graph = Scaler::RowNormalised.scaled(&graph).unwrap();
        let learned = |centrality: &str| {
            let init = Initialisation::Of(ClassicalOperator::SIGNLESS_LAPLACIAN);
            OperatorChoice::Cgso(Cgso {
                centrality: centrality.parse().unwrap(),
                init,
            })
        };
        for (name, backbone) in Backbone::named() {
            for (layers, operator) in [
                (1, OperatorChoice::Default),
                (2, OperatorChoice::Default),
                (3, OperatorChoice::Default),
                (1, learned("core")),
                (2, learned("degree")),
                (3, learned("degree+walks")),
            ] {
                if backbone.fixed_operator().is_some() && operator != OperatorChoice::Default {
                    continue;
                }
                let prepared = Prepared::new(&graph, backbone, operator).unwrap();
                let config = NetworkConfig {
                    layers,
                    hidden: 8,
                    ..NetworkConfig::new(backbone.where_taken("heads", 2))
                };
                let network = Network::new(&config, &prepared.shape(3), 3).unwrap();
                let targets = Targets::new(&items, graph.labels().unwrap());
                let (propagation, input) = (&prepared.propagation, &prepared.input);
                let field =
                    ReceptiveField::new(propagation, input, &targets, network.reach()).unwrap();
                let whole = ReceptiveField::new(propagation, input, &targets, None).unwrap();
                let restricted = network.reach().is_some();
                assert_eq!(
                    field.input.num_rows() < whole.input.num_rows(),
                    restricted,
                    "{name} of {layers} layers"
                );
                let (by_field, by_whole) = (
                    loss_and_gradients(&network, &field),
                    loss_and_gradients(&network, &whole),
                );
                // Sums over another order of nodes: rounding, which grows with the operator of the
                // learned cases.
                crate::networks::testing::assert_close(&by_field, &by_whole, 1e-5, name);
            }
        }
    }

    #[test]
    fn targets_that_depend_on_every_node_use_the_whole_graph() {
        let star = gnarl_graph::generate::star(30).unwrap();
        let labels = Labels::new(vec![Some(0); 30], 1).unwrap();
        let star = star.with_labels(labels).unwrap();
        let prepared = Prepared::new(&star, Backbone::GCN, OperatorChoice::Default).unwrap();
        let targets = Targets::new(&(0..30).collect::<Vec<_>>(), star.labels().unwrap());
        let field =
            ReceptiveField::new(&prepared.propagation, &prepared.input, &targets, Some(2)).unwrap();
        assert!(field.propagation.layer_operators.is_empty());
        assert_eq!(field.targets.items, targets.items);
    }
}
