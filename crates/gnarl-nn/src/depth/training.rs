//! Training schemes of a network with exits (ADMP-GNN, Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)).
//!
//! Sequential training (ST) consists of stages. Stage `t` trains one layer and exit `t` on that
//! exit's loss alone, with an optimiser of its own; then both are frozen. The output of the frozen
//! layers is computed once, without dropout, so a stage costs two layers whatever its depth.
//! Aggregate loss minimisation (ALM) trains everything at once on the sum of all exits' losses.

use gnarl_graph::random::mix;

use super::exits::ExitNetwork;
use crate::networks::Input;
use crate::train::{Callbacks, EpochInput, EpochSampler, Problem, TrainConfig, Trained, train};
use gnarl_graph::Result;

gnarl_graph::named! {
    /// Training scheme of the exits.
    pub enum Scheme as "depth" {
        /// Sequential training, stage by stage.
        AdmpSt = "admp-st",
        /// Aggregate loss minimisation, all at once.
        AdmpAlm = "admp-alm",
    }
}

impl Scheme {
    /// Returns the number of trainings of `epochs` epochs with exits 0 to `max_depth`.
    pub fn num_trainings(self, max_depth: usize) -> usize {
        match self {
            Scheme::AdmpSt => max_depth + 1,
            Scheme::AdmpAlm => 1,
        }
    }
}

/// Trains every exit; returns the result of each training, in order: one per exit for ST, one in
/// all for ALM.
pub fn train_exits(
    exits: &ExitNetwork,
    problem: &Problem<'_>,
    scheme: Scheme,
    config: &TrainConfig,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> Result<Vec<Trained>> {
    if scheme == Scheme::AdmpAlm {
        return Ok(vec![train(exits, problem, config, seed, callbacks)?]);
    }
    // Output of the layers frozen so far: h^{t-2} when stage t begins.
    let mut frozen: Input = problem.input.clone();
    let mut trained = Vec::with_capacity(exits.max_depth() + 1);
    for t in 0..=exits.max_depth() {
        // Changed features only matter in stages whose input is the features.
        let frozen_input = |epoch: usize| match problem.epoch_sampler {
            Some(make) => Ok(EpochInput {
                input: None,
                ..make(epoch)?
            }),
            None => Ok(EpochInput::default()),
        };
        let epoch_sampler = if t <= 2 {
            problem.epoch_sampler
        } else {
            problem
                .epoch_sampler
                .map(|_| &frozen_input as EpochSampler<'_>)
        };
        let problem = Problem {
            input: &frozen,
            epoch_sampler,
            ..*problem
        };
        trained.push(train(
            &exits.stage(t),
            &problem,
            config,
            mix(seed ^ mix(t as u64)),
            callbacks,
        )?);
        frozen = exits.advance(t, problem.propagation, &frozen)?;
    }
    Ok(trained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depth::exits::tests::prepared;
    use crate::networks::{Backbone, NetworkConfig, Params, Pass};
    use crate::operator::{Cgso, Initialisation, OperatorChoice, Prepared};
    use crate::testing::labels;
    use crate::train::Model;
    use gnarl_graph::Graph;
    use gnarl_graph::operator::ClassicalOperator;

    fn values(params: &Params) -> Vec<Vec<f32>> {
        params
            .list()
            .iter()
            .map(|p| p.var.flatten_all().unwrap().to_vec1().unwrap())
            .collect()
    }

    fn learned() -> OperatorChoice {
        let init = Initialisation::Of(ClassicalOperator::NORMALISED_ADJACENCY);
        OperatorChoice::Cgso(Cgso {
            centrality: "degree".parse().unwrap(),
            init,
        })
    }

    fn train_all(
        graph: &Graph,
        prepared: &Prepared,
        layers: usize,
        scheme: Scheme,
        batch_norm: bool,
    ) -> ExitNetwork {
        let backbone = if batch_norm {
            Backbone::GIN
        } else {
            Backbone::GCN
        };
        let config = NetworkConfig {
            layers,
            hidden: 8,
            ..NetworkConfig::new(backbone.where_taken("batch-norm", batch_norm))
        };
        let exits =
            ExitNetwork::new(&config, &prepared.shape(labels(graph).num_classes()), 3).unwrap();
        let Prepared {
            propagation, input, ..
        } = prepared;
        let problem = Problem::new(propagation, input, labels(graph), &graph.splits()[0]);
        let training = TrainConfig {
            epochs: 8,
            ..TrainConfig::default()
        };
        let trained =
            train_exits(&exits, &problem, scheme, &training, 5, &Callbacks::quiet()).unwrap();
        assert_eq!(trained.len(), scheme.num_trainings(layers));
        exits
    }

    /// Stage by stage, every parameter outside the stage keeps every bit, and every one inside
    /// changes.
    #[test]
    fn a_stage_trains_its_own_weights_alone() {
        for operator in [OperatorChoice::Default, learned()] {
            let (graph, prepared) = prepared(Backbone::GCN, operator);
            let config = NetworkConfig {
                layers: 3,
                hidden: 8,
                ..NetworkConfig::new(Backbone::GCN)
            };
            let exits = ExitNetwork::new(&config, &prepared.shape(labels(&graph).num_classes()), 3)
                .unwrap();
            let Prepared {
                propagation, input, ..
            } = &prepared;
            let training = TrainConfig {
                epochs: 3,
                keep: crate::train::Keep::Last,
                ..TrainConfig::default()
            };
            let mut frozen = input.clone();
            for t in 0..=3 {
                let stage = exits.stage(t);
                let problem =
                    Problem::new(propagation, &frozen, labels(&graph), &graph.splits()[0]);
                let before = values(exits.params());
                train(&stage, &problem, &training, 1, &Callbacks::quiet()).unwrap();
                let after = values(exits.params());
                for (i, p) in exits.params().list().iter().enumerate() {
                    let is_trained = stage.trained().contains(&i);
                    assert_eq!(before[i] != after[i], is_trained, "{} in stage {t}", p.name);
                    let of_stage = [format!("exits.{t}."), format!("operator.{t}.")];
                    let layer = (t >= 2).then(|| format!("layers.{}.", t - 2));
                    assert_eq!(
                        of_stage
                            .iter()
                            .chain(&layer)
                            .any(|prefix| p.name.starts_with(prefix)),
                        is_trained
                    );
                }
                frozen = exits.advance(t, propagation, &frozen).unwrap();
            }
        }
    }

    /// The first exits of a deep network are those of a shallow one, batch statistics included.
    #[test]
    fn later_stages_leave_earlier_ones_alone() {
        for (batch_norm, operator) in [
            (false, OperatorChoice::Default),
            (false, learned()),
            (true, OperatorChoice::Default),
        ] {
            let backbone = if batch_norm {
                Backbone::GIN
            } else {
                Backbone::GCN
            };
            let (graph, prepared) = prepared(backbone, operator);
            let of = |layers, scheme| {
                values(train_all(&graph, &prepared, layers, scheme, batch_norm).params())
            };
            let (shallow, deep) = (of(2, Scheme::AdmpSt), of(4, Scheme::AdmpSt));
            assert_eq!(shallow[..], deep[..shallow.len()]);
            let (shallow, deep) = (of(2, Scheme::AdmpAlm), of(4, Scheme::AdmpAlm));
            assert_ne!(
                shallow[..],
                deep[..shallow.len()],
                "all at once, deeper exits pull at earlier layers"
            );
        }
    }

    /// A stage on its frozen input computes the same as the whole network on the features.
    #[test]
    fn frozen_inputs_are_those_of_the_whole_network() {
        let (graph, prepared) = prepared(Backbone::GCN, learned());
        let exits = train_all(&graph, &prepared, 4, Scheme::AdmpSt, false);
        let whole = exits
            .predict(&prepared.propagation, &prepared.input)
            .unwrap();
        let weights = exits.params().weights().unwrap().detached();
        let mut frozen = prepared.input.clone();
        for (t, whole) in whole.iter().enumerate() {
            let pass = Pass::evaluation(&weights);
            let staged = exits
                .stage(t)
                .scores(&prepared.propagation, &frozen, &pass)
                .unwrap()
                .remove(0);
            let values =
                |t: &gnarl_tensor::Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            crate::networks::testing::assert_close(
                &values(&staged),
                &values(whole),
                1e-6,
                &format!("exit {t}"),
            );
            frozen = exits.advance(t, &prepared.propagation, &frozen).unwrap();
        }
    }

    #[test]
    fn schemes_have_names() {
        let e = "admp-sq".parse::<Scheme>().unwrap_err().to_string();
        assert!(
            e.contains("unknown depth 'admp-sq'; did you mean admp-st"),
            "{e}"
        );
    }
}
