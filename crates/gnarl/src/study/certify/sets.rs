//! A fitted classifier of graphs on the test graphs of its set: certificates of each graph's class,
//! against changes of that graph.

use gnarl_graph::{Error, Graph, GraphSet};
use rayon::prelude::*;

use super::nodes::there_are;
use super::settings::{Certificate, SHARES, SmoothingSettings};
use super::tables::{Items, Series, ThereAre};
use crate::classifier::Classifier;
use crate::error::Result;
use crate::inference::Defended;
use crate::model::Fitted;
use crate::perturb::{Norm, rows::row_norms};
use crate::robustness::bounds::Distance;
use crate::robustness::certify::{Certainty, Flips, SampleWatch, Smoothed};
use crate::robustness::{Bounds, Budget};
use crate::train::{argmax, median};

/// What a forward pass in f32 may be wrong by, relative to the scores.
const ROUNDING: f64 = 1e-5;

/// A classifier, and the test graphs of its fold that have nodes.
pub(super) struct TestGraphs<'a> {
    fitted: &'a Fitted,
    bare: crate::model::fitted::Bare<'a>,
    graphs: &'a [Graph],
    pub items: Items,
    /// Of the rows of the features of all test graphs.
    pub median_norm: f64,
}

impl<'a> TestGraphs<'a> {
    pub fn new(fitted: &'a Fitted, set: &'a GraphSet, items: Vec<u32>) -> Result<Self> {
        let graphs = set.graphs();
        let matched = fitted.matched(set.labels());
        let class = |g: usize| {
            set.labels()
                .get(g as u32)
                .and_then(|c| matched.get(c as usize).copied().flatten())
        };
        let truth = (0..graphs.len()).map(class).collect();
        let with_nodes = |g: &u32| {
            graphs
                .get(*g as usize)
                .is_none_or(|graph| graph.num_nodes() > 0)
        };
        let items = Items::new(items.into_iter().filter(with_nodes).collect(), truth)?;
        let norms = |&g: &u32| -> Result<Vec<f64>> {
            let scaled = fitted.scaled(&graphs[g as usize])?;
            Ok(scaled
                .features()
                .map_or(Vec::new(), |features| row_norms(features, Norm::L2)))
        };
        let norms = items
            .test
            .iter()
            .map(norms)
            .collect::<Result<Vec<_>>>()?
            .concat();
        let median_norm = if norms.is_empty() { 0.0 } else { median(norms) };
        Ok(Self {
            fitted,
            bare: fitted.bare(),
            graphs,
            items,
            median_norm,
        })
    }

    fn graph(&self, g: u32) -> &'a Graph {
        &self.graphs[g as usize]
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
            // Where every row moves by the radius there is at least as much that moves as where one
            // does, or all of them together.
            Certificate::LipschitzFeatures { norm, radii, .. } => {
                let reached = self.reached(|bounds, margin| {
                    let moved = farthest(
                        bounds,
                        Budget::Features {
                            norm: *norm,
                            epsilon: 1.0,
                        },
                    )?;
                    Ok(if moved > 0.0 {
                        margin / moved
                    } else {
                        f64::INFINITY
                    })
                })?;
                let radii = match radii.is_empty() {
                    true => SHARES.map(|share| share * median_norm).to_vec(),
                    false => radii.clone(),
                };
                self.items.series(
                    &radii,
                    |g| reached[&(g as u32)],
                    |radius, reached| radius == 0.0 || radius < reached,
                )
            }
            Certificate::LipschitzEdges { most } => {
                let reached = self.reached(|bounds, margin| {
                    let mut stands = 0;
                    while stands < *most
                        && farthest(bounds, Budget::Structure { flips: stands + 1 })? < margin
                    {
                        stands += 1;
                    }
                    Ok(stands as f64)
                })?;
                self.items.series(
                    &whole(*most),
                    |g| reached[&(g as u32)],
                    |r, reached| r <= reached,
                )
            }
            Certificate::LipschitzFlips { .. }
            | Certificate::Exact { .. }
            | Certificate::Convex { .. } => {
                let what = format!(
                    "{} is for the nodes of one graph; of sets smoothing and lipschitz",
                    certificate.method()
                );
                return Err(Error::argument("method", what).into());
            }
        }))
    }

    /// The class of each test graph, and a radius from bounds and the lead of that class: half of
    /// the difference to the next, as both may move.
    fn reached(
        &self,
        radius: impl Fn(&Bounds, f64) -> Result<f64> + Sync,
    ) -> Result<std::collections::HashMap<u32, (usize, f64)>> {
        let what = "only smoothing certifies models with exits or a defence; the others look into a plain network";
        let network = self
            .bare
            .white_box()
            .ok_or_else(|| Error::argument("method", what))?;
        let one = |&g: &u32| {
            let graph = self.fitted.scaled(self.graph(g))?;
            let scores = network.scores(&graph)?;
            let row = scores.row(0);
            let class = argmax(row);
            let next = row
                .iter()
                .enumerate()
                .filter(|(c, _)| *c != class)
                .map(|(_, &s)| f64::from(s));
            let largest = row.iter().map(|s| f64::from(s.abs())).fold(0.0, f64::max);
            let lead =
                f64::from(row[class]) - next.fold(f64::NEG_INFINITY, f64::max) - ROUNDING * largest;
            let reached = if lead > 0.0 {
                radius(&Bounds::new(network, &graph)?, 0.5 * lead)?
            } else {
                0.0
            };
            Ok((g, (class, reached)))
        };
        self.items.test.par_iter().map(one).collect()
    }

    fn smooth(
        &self,
        settings: &SmoothingSettings,
        watch: SampleWatch<'_>,
    ) -> Result<Option<Series>> {
        let (reading, seed) = (self.fitted.reading(), self.fitted.seed());
        let defended = Defended {
            model: &self.bare,
            reading,
            seed,
        };
        let model: &dyn Classifier = if reading.is_plain() {
            &self.bare
        } else {
            &defended
        };
        let smoothed = Smoothed {
            model,
            scaler: self.fitted.scaler(),
        };
        let one = |&g: &u32| -> Result<Option<(u32, Certainty)>> {
            let of = (seed, format!(" of graph {g}"));
            let known = self.items.certainties(
                &smoothed,
                self.graph(g),
                settings,
                &[0],
                (of.0, &of.1),
                watch,
            )?;
            Ok(known
                .and_then(|known| known.into_iter().next())
                .map(|(_, certainty)| (g, certainty)))
        };
        let known = self
            .items
            .test
            .par_iter()
            .map(one)
            .collect::<Result<Option<Vec<_>>>>()?;
        Ok(known.map(|known| {
            self.items
                .smoothed(settings, self.bare.num_classes(), self.there_are(), &known)
        }))
    }

    /// What the largest of the test graphs have to flip.
    fn there_are(&self) -> ThereAre {
        let most = |a: Flips, b: Flips| Flips {
            additions: a.additions.max(b.additions),
            deletions: a.deletions.max(b.deletions),
        };
        self.items
            .test
            .iter()
            .map(|&g| there_are(self.graph(g)))
            .fold(ThereAre::default(), |a, b| ThereAre {
                features: most(a.features, b.features),
                edges: most(a.edges, b.edges),
            })
    }
}

/// No score moves further.
fn farthest(bounds: &Bounds, budget: Budget) -> Result<f64> {
    let of = bounds.within(budget)?;
    let least = of
        .iter()
        .filter(|bound| matches!(bound.distance, Distance::L2 | Distance::Linf))
        .map(|bound| bound.sound);
    Ok(least.fold(f64::INFINITY, f64::min))
}
