//! Bounds for flipped edges, alone or with features ([Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2404.17947)).
//!
//! With `P = H W` of the clean network, `Φ' P' - Φ P = Φ' (P' - P) + (Φ' - Φ) P`. Errors follow
//! `e ← ||Φ'|| ||W|| e + ||(Φ' - Φ) P||`, in the Frobenius norm or in the largest norm of a row.
//! For a bias-free network with `||Φ||, ||Φ'|| <= 1` that is at most the telescoped
//! `L · ||Φ' - Φ|| · ||X|| · Π ||W||`.

use super::flips::Structure;
use super::gains::{Gains, start};
use super::{Bound, Bounds, Distance, SLACK, not_covered, total};
use crate::perturb::Norm;
use gnarl_graph::Result;

#[derive(Debug, Clone, Copy)]
enum Measure {
    Frobenius,
    LargestRow,
}

impl Bounds {
    /// The structural bound for a graph whose operator is at most `distance` away in the spectral
    /// norm ([`operator_distance`](super::operator_distance)): the budget of the published bound,
    /// for the nodes of one graph.
    pub fn within_distance(&self, distance: f64) -> Result<Bound> {
        let structure = self.structure()?;
        if self.ending.is_some() {
            return Err(not_covered(
                "graphs of a set by the distance of their operators".into(),
            ));
        }
        let most = structure.most_norm().min(structure.norm + distance);
        let sound = self.telescoped(
            None,
            |own, messages| [most + own, distance * total(messages)],
            Measure::Frobenius,
        );
        Ok(Bound {
            distance: Distance::L2,
            sound: sound * SLACK,
            thesis: (!self.gin).then(|| self.thesis_structure(distance)),
        })
    }

    fn structure(&self) -> Result<&Structure> {
        self.structure
            .as_ref()
            .map_err(|why| not_covered(why.clone()))
    }

    /// Bounds if the graph changes by at most so many flips and, if given, the rows of the features
    /// move by so much.
    pub(super) fn by_flips(&self, moved: Option<(Norm, f64)>, flips: usize) -> Result<Vec<Bound>> {
        let structure = self.structure()?;
        let operator_change = structure.operator_change(flips);
        let frobenius = self.telescoped(
            moved,
            |own, messages| {
                [
                    operator_change.spectral[0] + own,
                    structure.change(messages, flips),
                ]
            },
            Measure::Frobenius,
        );
        let of_row = self.telescoped(
            moved,
            |own, messages| {
                [
                    operator_change.rows[0] + own,
                    operator_change.rows[1] * messages.iter().copied().fold(0.0, f64::max),
                ]
            },
            Measure::LargestRow,
        );
        let (nodes, of_row, frobenius) = (
            self.walks[0].len() as f64,
            of_row * SLACK,
            frobenius * SLACK,
        );
        let frobenius = frobenius.min(of_row * nodes.sqrt());
        let of_row = of_row.min(frobenius);
        if let Some(ending) = &self.ending {
            return Ok(ending.by_norms(frobenius, of_row, nodes));
        }
        // The published formula adds the bounds on features and on structure, the first with the
        // square of the sum of walks.
        let thesis = (!self.gin).then(|| {
            let walks = self.walks[1].iter().sum::<f64>();
            let of_features = moved.map_or(0.0, |(_, epsilon)| {
                self.product(Gains::spectral) * epsilon * walks * walks
            });
            of_features + self.thesis_structure(operator_change.spectral[1])
        });
        let scaled = (0.5 * frobenius / nodes.max(1.0).sqrt()).min(2f64.sqrt()) / 2.0;
        Ok(vec![
            Bound {
                distance: Distance::L2,
                sound: frobenius,
                thesis,
            },
            Bound {
                distance: Distance::Linf,
                sound: of_row,
                thesis: None,
            },
            Bound {
                distance: Distance::Scaled,
                sound: scaled,
                thesis: None,
            },
        ])
    }

    /// Propagates `e ← ||Φ'|| ||W|| e + ||(Φ' - Φ) P||` through the network. `step` takes the
    /// weight of a node's own message in a layer and the row norms of its P; it returns
    /// `||Φ' + own||` and `||(Φ' - Φ) P||`.
    fn telescoped(
        &self,
        moved: Option<(Norm, f64)>,
        step: impl Fn(f64, &[f64]) -> [f64; 2],
        measure: Measure,
    ) -> f64 {
        let rows = match measure {
            Measure::Frobenius => (self.walks[0].len() as f64).sqrt(),
            Measure::LargestRow => 1.0,
        };
        // In L2 after the first map; before it, in the norm of the feature budget.
        let mut reached = match moved {
            Some((norm, epsilon)) => start(norm, self.features).map(|s| s * epsilon * rows),
            None => [f64::NAN, 0.0, f64::NAN],
        };
        let past = |reached: [f64; 3], map: &Gains| {
            let l2 = if reached[0].is_nan() {
                reached[1] * map.spectral()
            } else {
                map.after(reached)[1]
            };
            [f64::NAN, l2, f64::NAN]
        };
        for layer in &self.layers {
            if let Some(first) = layer.maps.first() {
                reached = past(reached, first);
            }
            let [norm, change] = step(layer.own, &layer.messages);
            reached[1] = norm * reached[1] + change;
            reached = layer
                .maps
                .iter()
                .skip(1)
                .fold([f64::NAN, reached[1], f64::NAN], past);
        }
        self.tail.iter().fold(reached, past)[1]
    }

    /// The published formula `Π||W|| ||X|| d (1 + L Π||W||)`.
    fn thesis_structure(&self, distance: f64) -> f64 {
        let product = self.product(Gains::spectral);
        product * self.input_norm * distance * (1.0 + self.layers.len() as f64 * product)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        EPSILON, NORMS, assert_holds, attacked, config, get, model, moved, planted,
        random_features, with_features,
    };
    use super::super::{Budget, operator_distance};
    use super::*;
    use crate::perturb::flipped;
    use gnarl_graph::Graph;
    use gnarl_graph::generate::{erdos_renyi, path, star};
    use gnarl_graph::operator::ClassicalOperator as Op;
    use gnarl_graph::random::stream;
    use gnarl_nn::networks::{Backbone, NetworkConfig};
    use gnarl_nn::operator::OperatorChoice;
    use rand::RngExt;

    /// Every graph within two flips of a small one, under every operator; alone and with moved
    /// features.
    #[test]
    fn no_graph_exceeds_its_bound() {
        let pairs: Vec<(u32, u32)> = (1..6).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        let sets: Vec<Vec<(u32, u32)>> = pairs
            .iter()
            .enumerate()
            .flat_map(|(i, &a)| {
                std::iter::once(vec![a]).chain(pairs[..i].iter().map(move |&b| vec![a, b]))
            })
            .collect();
        // A path of four, and two nodes without edges.
        let bare = Graph::from_edges(6, [(0, 1), (1, 2), (2, 3)]).unwrap().0;
        let graph = random_features(bare, 4);
        let rng = &mut stream(1, "bound test", 4);
        for (backbone, layers) in [
            (Backbone::GCN, 1),
            (Backbone::GCN, 2),
            (Backbone::GIN, 2),
            (Backbone::SGC, 2),
        ] {
            for operator in Op::ALL {
                let config = NetworkConfig {
                    head: backbone.is(Backbone::GCN),
                    ..config(backbone, layers)
                };
                let model = model(&config, 4, OperatorChoice::Classical(operator), 7);
                let bounds = Bounds::new(&model, &graph).unwrap();
                let what = format!("{backbone} of {layers} through {operator}");
                let propagation = |graph: &Graph| model.propagation(graph).unwrap().operator;
                for set in &sets {
                    let other = flipped(&graph, set).unwrap();
                    let bound = bounds
                        .within(Budget::Structure { flips: set.len() })
                        .unwrap();
                    let seen = moved(&model, &graph, &other);
                    assert_holds(&bound, &seen, &what);
                    let distance =
                        operator_distance(&propagation(&graph), &propagation(&other)).unwrap();
                    assert_holds(
                        &[bounds.within_distance(distance).unwrap()],
                        &seen,
                        &format!("{what}, by distance"),
                    );
                }
                for norm in NORMS {
                    let set = &sets[rng.random_range(0..sets.len())];
                    let (flips, epsilon) = (set.len(), EPSILON);
                    let bound = bounds
                        .within(Budget::Both {
                            norm,
                            epsilon,
                            flips,
                        })
                        .unwrap();
                    let other = flipped(&graph, set).unwrap();
                    for tried in attacked(&model, &other, norm, 5, rng) {
                        assert_holds(
                            &bound,
                            &moved(&model, &graph, &tried),
                            &format!("{what}, both, p = {norm}"),
                        );
                    }
                }
                let none = bounds.within(Budget::Structure { flips: 0 }).unwrap();
                assert!(none.iter().all(|b| b.sound == 0.0), "{none:?}");
            }
        }
    }

    /// Flips chosen one after the other, each the worst of all.
    #[test]
    fn no_greedy_attacker_exceeds_it() {
        let graph = random_features(erdos_renyi(9, 0.3, 2).unwrap(), 3);
        for (backbone, operator) in [
            (Backbone::GCN, OperatorChoice::Default),
            (Backbone::GIN, OperatorChoice::Default),
        ] {
            let model = model(&config(backbone, 2), 3, operator, 3);
            let bounds = Bounds::new(&model, &graph).unwrap();
            let mut current = graph.clone();
            for flips in 1..=4 {
                let pairs = (1..9).flat_map(|v| (0..v).map(move |u| (u, v)));
                let all = pairs.map(|pair| flipped(&current, &[pair]).unwrap());
                let seen = |g: &Graph| moved(&model, &graph, g).scores.l2;
                current = all.max_by(|a, b| seen(a).total_cmp(&seen(b))).unwrap();
                let bound = bounds.within(Budget::Structure { flips }).unwrap();
                assert_holds(
                    &bound,
                    &moved(&model, &graph, &current),
                    &format!("{backbone}, {flips} flips"),
                );
            }
        }
    }

    #[test]
    fn structure_by_hand() {
        // One edge, one layer of A: without the edge all of X is lost.
        let graph = with_features(path(2).unwrap(), 1, vec![3.0, 4.0]);
        let model = planted(Op::ADJACENCY, 1, 1, &[&[1.0]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let found = get(
            &bounds.within(Budget::Structure { flips: 1 }).unwrap(),
            Distance::L2,
        );
        assert!((found.sound / 5.0 - 1.0).abs() < 2e-5, "{found:?}");
        assert_eq!(
            moved(&model, &graph, &flipped(&graph, &[(0, 1)]).unwrap())
                .scores
                .l2,
            5.0
        );
        // Two isolated nodes are joined: A_hat goes from the identity to 1/2 everywhere, 3 and -4
        // become -1/2 twice.
        let graph = with_features(Graph::empty(2).unwrap(), 1, vec![3.0, -4.0]);
        let model = planted(Op::NORMALISED_ADJACENCY, 1, 1, &[&[1.0]]);
        let found = Bounds::new(&model, &graph)
            .unwrap()
            .within(Budget::Structure { flips: 1 })
            .unwrap();
        let seen = moved(&model, &graph, &flipped(&graph, &[(0, 1)]).unwrap());
        assert!(
            (seen.scores.l2 - 3.5 * 2f64.sqrt()).abs() < 1e-6,
            "{:?}",
            seen.scores
        );
        assert_holds(&found, &seen, "joined");
        assert!(
            get(&found, Distance::L2).sound < 10.001,
            "twice the norm of X at most: {found:?}"
        );
        // A star of five leaves, two layers of A, small weights: the centre loses 1 of 5, four
        // leaves 1 of 5, the removed leaf all of 5, which is sqrt 30. The published bound has sqrt
        // 6 times 1 plus twice the product of norms.
        let graph = with_features(star(6).unwrap(), 1, vec![1.0; 6]);
        let model = planted(Op::ADJACENCY, 1, 1, &[&[0.01], &[0.01]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let cut = flipped(&graph, &[(0, 1)]).unwrap();
        let seen = moved(&model, &graph, &cut).scores.l2;
        assert!((seen - 1e-4 * 30f64.sqrt()).abs() < 1e-8, "{seen}");
        let propagation = |graph: &Graph| model.propagation(graph).unwrap().operator;
        let distance = operator_distance(&propagation(&graph), &propagation(&cut)).unwrap();
        assert!((distance - 1.0).abs() < 1e-9);
        let found = bounds.within_distance(1.0).unwrap();
        assert!(
            found.sound >= seen && found.thesis.unwrap() < 0.5 * seen,
            "{found:?} and {seen}"
        );
    }
}
