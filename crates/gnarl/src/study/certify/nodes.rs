//! A fitted model on its graph: certificates of the test nodes, and what an attack leaves of them.

use gnarl_graph::{Error, Graph};
use rayon::prelude::*;

use super::result::Survived;
use super::settings::{Certificate, SHARES, SmoothingSettings};
use super::tables::{Items, Series, ThereAre};
use crate::attack::nettack::{Nettack, Parts};
use crate::attack::{Attack, Scene};
use crate::classifier::{Classifier, WhiteBox};
use crate::error::Result;
use crate::inference::{Defended, Perturbed};
use crate::model::Fitted;
use crate::perturb::{Norm, rows::row_norms};
use crate::robustness::certify::{
    BinaryGcn, Flips, Lipschitz, Propagated, SampleWatch, Scope, Smoothed,
};
use crate::train::{Watch, argmax, median};

/// A fitted model on its graph.
pub(super) struct Subject<'a> {
    fitted: &'a Fitted,
    bare: crate::model::fitted::Bare<'a>,
    graph: &'a Graph,
    pub scaled: Graph,
    pub items: Items,
    /// Of the rows of its features.
    pub median_norm: f64,
}

impl<'a> Subject<'a> {
    pub fn new(fitted: &'a Fitted, graph: &'a Graph, test: Vec<u32>) -> Result<Self> {
        let scaled = fitted.scaled(graph)?;
        let truth = match graph.labels() {
            Some(labels) => {
                let matched = fitted.matched(labels);
                let of = |u: u32| {
                    labels
                        .get(u)
                        .and_then(|c| matched.get(c as usize).copied().flatten())
                };
                (0..graph.num_nodes() as u32).map(of).collect()
            }
            None => vec![None; graph.num_nodes()],
        };
        let median_norm = scaled
            .features()
            .map_or(0.0, |features| median(row_norms(features, Norm::L2)));
        Ok(Self {
            fitted,
            bare: fitted.bare(),
            graph,
            scaled,
            items: Items::new(test, truth)?,
            median_norm,
        })
    }

    pub fn network(&self) -> Result<&WhiteBox> {
        let what = "only smoothing certifies models with exits or a defence; the others look into a plain network";
        self.bare
            .white_box()
            .ok_or_else(|| Error::argument("method", what).into())
    }

    /// `None` where it was stopped.
    pub fn certify(
        &self,
        certificate: &Certificate,
        median_norm: f64,
        watch: SampleWatch<'_>,
    ) -> Result<Option<Series>> {
        let whole = |most: usize| (0..=most).map(|r| r as f64).collect::<Vec<_>>();
        Ok(Some(match certificate {
            Certificate::Smoothing(settings) => return self.smooth(settings, watch),
            Certificate::LipschitzFeatures { norm, scope, radii } => {
                let known = Lipschitz::new(self.network()?, &self.scaled)?;
                let reached = known.feature_radii(*norm, *scope)?;
                let radii = match radii.is_empty() {
                    true => SHARES.map(|share| share * median_norm).to_vec(),
                    false => radii.clone(),
                };
                self.items.series(
                    &radii,
                    |u| (known.class(u), reached[u]),
                    |radius, reached| radius == 0.0 || radius < reached,
                )
            }
            Certificate::LipschitzFlips { most } => {
                if !self.fitted.scaler().is_idle() {
                    let what = "flips of features are certified as the network takes them; --features as-loaded leaves them as they are";
                    return Err(Error::argument("lipschitz", what).into());
                }
                let known = Lipschitz::new(self.network()?, &self.scaled)?;
                let in_l1 = known.feature_radii(Norm::L1, Scope::Total)?;
                let in_l2 = known.feature_radii(Norm::L2, Scope::Total)?;
                // The last number of flips whose distance is below a radius.
                let below = |r: f64| {
                    if r > 0.0 {
                        (r.ceil() - 1.0).max(0.0)
                    } else {
                        0.0
                    }
                };
                let of = |u: usize| {
                    (
                        known.class(u),
                        below(in_l1[u]).max(below(in_l2[u] * in_l2[u])),
                    )
                };
                self.items
                    .series(&whole(*most), of, |r, reached| r <= reached)
            }
            Certificate::LipschitzEdges { most } => {
                let known = Lipschitz::new(self.network()?, &self.scaled)?;
                let reached = known.edge_radii(*most)?;
                self.items.series(
                    &whole(*most),
                    |u| (known.class(u), reached[u] as f64),
                    |r, reached| r <= reached,
                )
            }
            Certificate::Exact { threat, most } => {
                let network = self.network()?;
                let reached = Propagated::of_model(network, &self.scaled)?.radii(*threat, *most)?;
                let scores = network.scores(&self.scaled)?;
                // Where rounding decides between two classes, nothing is promised.
                let of = |u: usize| {
                    let class = argmax(scores.row(u));
                    (
                        class,
                        if class == reached[u].0 {
                            reached[u].1 as f64
                        } else {
                            0.0
                        },
                    )
                };
                self.items
                    .series(&whole(*most), of, |r, reached| r <= reached)
            }
            Certificate::Convex { local, most } => {
                let known = BinaryGcn::new(self.network()?, &self.scaled)?;
                let reached = known.radii(&self.items.test, local.unwrap_or(*most), *most);
                let place: std::collections::HashMap<u32, usize> = self
                    .items
                    .test
                    .iter()
                    .enumerate()
                    .map(|(i, &u)| (u, i))
                    .collect();
                let of = |u: usize| (known.class(u), reached[place[&(u as u32)]] as f64);
                self.items
                    .series(&whole(*most), of, |r, reached| r <= reached)
            }
        }))
    }

    /// The graph after Nettack on one node, whose class is known.
    pub fn nettacked(
        &self,
        attack: Nettack,
        (u, class): (u32, usize),
        seed: u64,
        watch: &Watch<'_>,
    ) -> Result<Graph> {
        let labels = self.scaled.labels();
        let training = self.fitted.trained_on().split.train();
        let training: Vec<(u32, u32)> = training
            .iter()
            .filter_map(|&v| Some((v, labels?.get(v)?)))
            .collect();
        let scene = Scene {
            graph: &self.scaled,
            model: Some(self.network()?),
            targets: &[(u, class as u32)],
            labels,
            training: &training,
            stop: Some(watch.stop),
        };
        Ok(Attack::Nettack(attack).run(&scene, seed)?.graph)
    }

    /// Nettack on test nodes, one at a time, with every number of flips.
    pub fn attacked(
        &self,
        certificates: &[Certificate],
        attacked: usize,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Result<Vec<Survived>> {
        let (mut most, mut on_features) = (0, false);
        for certificate in certificates {
            let looked_at = match certificate {
                Certificate::LipschitzEdges { most } | Certificate::Exact { most, .. } => *most,
                Certificate::LipschitzFlips { most } | Certificate::Convex { most, .. } => *most,
                _ => continue,
            };
            most = most.max(looked_at);
            on_features |= certificate.moved_part() == Perturbed::Features;
        }
        let parts = if on_features {
            Parts::Features
        } else {
            Parts::Structure
        };
        let network = self.network()?;
        let clean = network.scores(&self.scaled)?;
        let step = (self.items.test.len() / attacked.max(1)).max(1);
        let targets: Vec<u32> = self
            .items
            .test
            .iter()
            .copied()
            .step_by(step)
            .take(attacked)
            .collect();
        let survives = |&u: &u32, radius: usize| -> Result<(bool, bool)> {
            let class = argmax(clean.row(u as usize));
            let nettack = Nettack {
                budget: radius,
                parts,
                degree_test: false,
            };
            let attacked = self.nettacked(nettack, (u, class), seed, watch)?;
            let stands = argmax(network.scores(&attacked)?.row(u as usize)) == class;
            Ok((stands, stands && self.items.is_right(u, class)))
        };
        let mut survived = Vec::new();
        for radius in 0..=most {
            if watch.stopped() {
                break;
            }
            let found = targets
                .par_iter()
                .map(|u| survives(u, radius))
                .collect::<Result<Vec<_>>>()?;
            let share = |of: fn(&(bool, bool)) -> bool| {
                found.iter().filter(|f| of(f)).count() as f64 / found.len().max(1) as f64
            };
            survived.push(Survived {
                radius: radius as f64,
                share: share(|f| f.0),
                accurate_share: share(|f| f.1),
            });
        }
        Ok(survived)
    }
    fn smooth(
        &self,
        settings: &SmoothingSettings,
        watch: SampleWatch<'_>,
    ) -> Result<Option<Series>> {
        let defended = Defended {
            model: &self.bare,
            reading: self.fitted.reading(),
            seed: self.fitted.seed(),
        };
        let model: &dyn Classifier = if self.fitted.reading().is_plain() {
            &self.bare
        } else {
            &defended
        };
        // What Gaussian noise is put on is scaled before; flips come before scaling.
        let smoothed = Smoothed {
            model,
            scaler: self.fitted.scaler(),
        };
        let seed = (self.fitted.seed(), "");
        let known = self.items.certainties(
            &smoothed,
            self.graph,
            settings,
            &self.items.test,
            seed,
            watch,
        )?;
        let series = |known: Vec<_>| {
            self.items.smoothed(
                settings,
                self.bare.num_classes(),
                there_are(self.graph),
                &known,
            )
        };
        Ok(known.map(series))
    }
}

/// How many features and edges of a graph can be added and deleted.
pub(super) fn there_are(graph: &Graph) -> ThereAre {
    let features = graph.features().map_or(Flips::default(), |features| {
        let ones = features.num_nonzeros();
        Flips {
            additions: features.num_rows() * features.num_cols() - ones,
            deletions: ones,
        }
    });
    let (n, edges) = (graph.num_nodes(), graph.num_edges());
    ThereAre {
        features,
        edges: Flips {
            additions: n * n.saturating_sub(1) / 2 - edges,
            deletions: edges,
        },
    }
}
