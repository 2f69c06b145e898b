//! Bounds for moved features. If every row of X moves by at most epsilon in L_p, row u of the
//! scores moves by at most `epsilon g w_u` in L_q ([Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2404.17947)).
//!
//! Here `w = |Φ|^L 1` counts weighted walks of length L, the number of layers, and g is the gain of
//! the maps from L_p to L_q: the smallest product over all ways of changing the norm from map to
//! map.

use super::gains::{Gains, start};
use super::{Bound, Bounds, Distance, SLACK, total};
use crate::perturb::Norm;

impl Bounds {
    /// Bounds if every row of the features moves by at most epsilon.
    pub(super) fn by_features(&self, norm: Norm, epsilon: f64) -> Vec<Bound> {
        let walks = &self.walks[0];
        let [l1, l2, linf] = self
            .maps()
            .fold(start(norm, self.features), |reached, map| {
                map.after(reached)
            });
        let most = |w: &[f64]| w.iter().copied().fold(0.0, f64::max);
        let by = epsilon * SLACK;
        if let Some(ending) = &self.ending {
            return ending.by_rows([by * l1, by * l2, by * linf], walks);
        }
        let squares: f64 = walks
            .iter()
            .map(|w| (0.5 * by * l2 * w).min(2f64.sqrt()).powi(2))
            .sum();
        let scaled = squares.sqrt() / (2.0 * (walks.len().max(1) as f64).sqrt());
        let (sums, largest) = (walks.iter().sum::<f64>(), most(walks));
        let thesis = |power: fn(&Gains) -> f64, w: f64| {
            (!self.gin).then(|| epsilon * w * self.product(power))
        };
        let short = &self.walks[1];
        let by_linf = if self.gin {
            Some(self.thesis_gin(epsilon))
        } else {
            thesis(Gains::thesis_linf, most(short))
        };
        vec![
            Bound {
                distance: Distance::L1,
                sound: by * l1 * sums,
                thesis: thesis(Gains::thesis_l1, short.iter().sum::<f64>()),
            },
            Bound {
                distance: Distance::L2,
                sound: by * l2 * total(walks),
                thesis: None,
            },
            Bound {
                distance: Distance::Linf,
                sound: by * linf * largest,
                thesis: by_linf,
            },
            Bound {
                distance: Distance::Scaled,
                sound: scaled,
                thesis: None,
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        config, get, model, moved, planted, random_features, try_to_break_features, with_features,
    };
    use super::*;
    use crate::robustness::bounds::Budget;
    use gnarl_graph::Graph;
    use gnarl_graph::generate::{erdos_renyi, path};
    use gnarl_graph::operator::ClassicalOperator as Op;
    use gnarl_nn::networks::{Backbone, NetworkConfig};
    use gnarl_nn::operator::OperatorChoice;

    #[test]
    fn no_features_exceed_their_bound() {
        let graph = random_features(erdos_renyi(14, 0.25, 5).unwrap(), 9);
        for backbone in [Backbone::GCN, Backbone::GIN, Backbone::SGC, Backbone::MLP] {
            for layers in [1, 2, 3] {
                for operator in [OperatorChoice::Default]
                    .into_iter()
                    .chain(Op::ALL.map(OperatorChoice::Classical))
                {
                    // The networks of the paper's experiments have a head and no biases.
                    let study =
                        layers == 2 && matches!(backbone, Backbone::Gcn(_) | Backbone::Gin(_));
                    let config = NetworkConfig {
                        head: study,
                        bias: !study,
                        ..config(backbone, layers)
                    };
                    let model = model(&config, 9, operator, layers as u64);
                    try_to_break_features(
                        &model,
                        &graph,
                        6,
                        &format!("{backbone}, {layers} layers, {operator}"),
                    );
                }
            }
        }
    }

    /// One node and `x → x W`, W = [[3, 0], [4, 5]]: row sums 3 and 9, column sums 7 and 5, WᵀW has
    /// eigenvalues 45 and 5.
    #[test]
    fn one_linear_map_by_hand() {
        let graph = with_features(Graph::empty(1).unwrap(), 2, vec![0.0, 0.0]);
        let model = planted(Op::NORMALISED_ADJACENCY, 2, 2, &[&[3.0, 0.0, 4.0, 5.0]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let expected = [
            (Norm::L1, [9.0, 41f64.sqrt(), 5.0]),
            (Norm::L2, [90f64.sqrt(), 45f64.sqrt(), 5.0]),
            (Norm::Infinity, [12.0, 74f64.sqrt(), 7.0]),
        ];
        for (norm, expected) in expected {
            let found = bounds
                .within(Budget::Features { norm, epsilon: 2.0 })
                .unwrap();
            for (b, e) in found.iter().zip(expected) {
                assert!(
                    (b.sound / (2.0 * e) - 1.0).abs() < 2e-5,
                    "{norm}: {b:?} and not {}",
                    2.0 * e
                );
            }
            // Half of the L2 bound over 2, or the largest distance of distributions.
            let scaled = get(&found, Distance::Scaled).sound;
            assert!(
                (scaled - expected[1].min(2f64.sqrt()) / 2.0).abs() < 1e-4,
                "{norm}: {scaled}"
            );
        }
        // The L1 bound is attained where the published formula, with column sums, is exceeded.
        let found = bounds
            .within(Budget::Features {
                norm: Norm::L1,
                epsilon: 2.0,
            })
            .unwrap();
        let seen = moved(
            &model,
            &graph,
            &with_features(graph.clone(), 2, vec![0.0, 2.0]),
        )
        .scores
        .l1;
        assert_eq!((seen, get(&found, Distance::L1).thesis), (18.0, Some(14.0)));
    }

    /// Two layers of A on the path 0–1–2: the walks of length two are 2, 2, 2, those of length one
    /// 1, 2, 1.
    #[test]
    fn walks_are_as_long_as_there_are_rounds() {
        let graph = with_features(path(3).unwrap(), 1, vec![10.0; 3]);
        let model = planted(Op::ADJACENCY, 1, 1, &[&[2.0], &[0.5]]);
        let bounds = Bounds::new(&model, &graph).unwrap();
        let found = bounds
            .within(Budget::Features {
                norm: Norm::L2,
                epsilon: 1.0,
            })
            .unwrap();
        let seen = moved(
            &model,
            &graph,
            &with_features(graph.clone(), 1, vec![11.0; 3]),
        )
        .scores;
        assert_eq!((seen.l1, seen.linf), (6.0, 2.0));
        for (distance, seen) in [
            (Distance::L1, 6.0),
            (Distance::L2, 12f64.sqrt()),
            (Distance::Linf, 2.0),
        ] {
            assert!(
                (get(&found, distance).sound / seen - 1.0).abs() < 2e-5,
                "{distance:?}"
            );
        }
        assert_eq!(
            get(&found, Distance::L1).thesis,
            Some(4.0),
            "below what was seen"
        );
    }
}
