//! From radii and certainties of test items to the shares that stand at each radius.

use std::collections::HashMap;

use gnarl_graph::{Error, Graph};
use rayon::prelude::*;

use super::result::{Cell, Certified, CertifiedNode, Radius};
use super::settings::{MOST_FLIPS, Method, SmoothingSettings};
use crate::error::Result;
use crate::robustness::certify::probability::normal_quantile;
use crate::robustness::certify::{
    Certainty, FlipNoise, Flips, Noise, Regions, Rule, SampleWatch, Smoothed, largest,
};
use crate::train::median;

/// One run's answer to one certificate.
pub(super) struct Series {
    pub cells: Vec<Cell>,
    pub by_flips: Vec<Cell>,
    pub certifiable: Option<Radius>,
    pub smoothed_accuracy: Option<f64>,
    pub nodes: Vec<CertifiedNode>,
}

/// Means over runs, cell by cell; the rest is the first run's.
pub(super) fn mean_of(method: Method, series: Vec<Series>, seconds: f64) -> Option<Certified> {
    let runs = series.len() as f64;
    let smoothed: Option<Vec<f64>> = series.iter().map(|s| s.smoothed_accuracy).collect();
    let all: Vec<Vec<Cell>> = series.iter().map(|s| s.cells.clone()).collect();
    let by_flips: Vec<Vec<Cell>> = series.iter().map(|s| s.by_flips.clone()).collect();
    let first = series.into_iter().next()?;
    let certified = means(first.cells, &all);
    let by_flips = means(first.by_flips, &by_flips);
    let stood: Vec<&Cell> = certified.iter().filter(|cell| cell.share > 0.0).collect();
    let max_radius = match stood.first().map(|cell| cell.radius) {
        None => None,
        Some(Radius::One { .. }) => stood.last().map(|cell| cell.radius),
        Some(_) => {
            let most = |of: fn(&Radius) -> [usize; 4], k: usize| {
                let alone = |r: &[usize; 4]| (0..4).all(|i| i == k || r[i] == 0);
                stood
                    .iter()
                    .map(|c| of(&c.radius))
                    .filter(alone)
                    .map(|r| r[k])
                    .max()
                    .unwrap_or(0)
            };
            let all = [0, 1, 2, 3].map(|k| most(Radius::flips, k));
            let is_both = matches!(
                certified.first().map(|c| c.radius),
                Some(Radius::Both { .. })
            );
            Some(Radius::of_flips(all, is_both))
        }
    };
    let radii: Vec<f64> = first.nodes.iter().map(|n| n.radius).collect();
    Some(Certified {
        method,
        certified,
        by_flips,
        max_radius,
        certifiable: first.certifiable,
        smoothed_accuracy: smoothed.map(|all| all.iter().sum::<f64>() / runs),
        median_radius: (method == Method::Lipschitz && !radii.is_empty()).then(|| median(radii)),
        nodes: first.nodes,
        seconds,
    })
}

/// The cells of the first run with the means of all.
fn means(mut first: Vec<Cell>, all: &[Vec<Cell>]) -> Vec<Cell> {
    for (i, cell) in first.iter_mut().enumerate() {
        let mean = |of: fn(&Cell) -> f64| {
            all.iter()
                .filter_map(|cells| cells.get(i))
                .map(of)
                .sum::<f64>()
                / all.len() as f64
        };
        (cell.share, cell.accurate_share) = (mean(|c| c.share), mean(|c| c.accurate_share));
    }
    first
}

/// The test items of a run: nodes of a graph, or graphs of a set.
pub(super) struct Items {
    pub test: Vec<u32>,
    /// The class of each item of the data in the model's own order, where it is known.
    pub truth: Vec<Option<u32>>,
}

/// What there is to flip of features and of edges.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ThereAre {
    pub features: Flips,
    pub edges: Flips,
}

impl Items {
    /// Refuses none, and those that are not there.
    pub fn new(test: Vec<u32>, truth: Vec<Option<u32>>) -> Result<Self> {
        if test.is_empty() {
            return Err(Error::argument("certify", "there are no test items to certify").into());
        }
        match test.iter().find(|&&item| item as usize >= truth.len()) {
            Some(item) => Err(Error::argument(
                "certify",
                format!("item {item}, and there are {}", truth.len()),
            )
            .into()),
            None => Ok(Self { test, truth }),
        }
    }

    /// What draws say of some rows of a classifier's answers. `None` where it was stopped.
    pub fn certainties(
        &self,
        smoothed: &Smoothed<'_>,
        graph: &Graph,
        settings: &SmoothingSettings,
        rows: &[u32],
        (seed, of): (u64, &str),
        watch: SampleWatch<'_>,
    ) -> Result<Option<Vec<(u32, Certainty)>>> {
        let &SmoothingSettings {
            noise,
            selection,
            samples,
            rule,
            ..
        } = settings;
        let alpha = self.alpha(settings);
        settings.check_samples(alpha, smoothed.model.num_classes())?;
        let draw = |count: usize, purpose: &str| {
            smoothed.votes(
                graph,
                noise,
                count,
                (seed, &format!("{purpose}{of}")),
                watch,
            )
        };
        let (Some(chosen), Some(votes)) =
            (draw(selection, "selection")?, draw(samples, "estimation")?)
        else {
            return Ok(None);
        };
        if let Some(row) = rows.iter().find(|&&row| row as usize >= votes.num_items()) {
            let what = format!(
                "item {row}, and the model answers {} of them",
                votes.num_items()
            );
            return Err(Error::argument("certify", what).into());
        }
        let certainty = |&row: &u32| {
            let class = chosen.winner(row as usize);
            (
                row,
                Certainty::new(class, votes.of(row as usize), samples, alpha, rule),
            )
        };
        Ok(Some(rows.par_iter().map(certainty).collect()))
    }

    pub fn is_right(&self, item: u32, class: usize) -> bool {
        self.truth[item as usize] == Some(class as u32)
    }

    /// The share of alpha that one item has.
    pub fn alpha(&self, settings: &SmoothingSettings) -> f64 {
        if settings.simultaneous {
            settings.alpha / self.test.len() as f64
        } else {
            settings.alpha
        }
    }

    /// Of smoothing: what certainties of the items come to, by radius.
    pub fn smoothed(
        &self,
        settings: &SmoothingSettings,
        num_classes: usize,
        there_are: ThereAre,
        known: &[(u32, Certainty)],
    ) -> Series {
        let &SmoothingSettings {
            noise,
            samples,
            rule,
            ..
        } = settings;
        let right = known
            .iter()
            .filter(|(u, c)| self.is_right(*u, c.class))
            .count();
        let best = Certainty::unanimous(num_classes, samples, self.alpha(settings), rule);
        let mut series = match noise {
            Noise::Gaussian(sigma) => self.gaussian(sigma, known, &best, rule),
            Noise::Features(noise) => self.flips(noise, there_are.features, known, &best, rule),
            Noise::Edges(noise) => self.flips(noise, there_are.edges, known, &best, rule),
            Noise::Both { features, edges } => self.both(
                [features, edges],
                [there_are.features, there_are.edges],
                known,
                &best,
                rule,
            ),
        };
        series.smoothed_accuracy = Some(100.0 * right as f64 / self.test.len() as f64);
        series
    }

    /// Shares at radii, of certificates that have one number for each node.
    pub fn series(
        &self,
        radii: &[f64],
        of: impl Fn(usize) -> (usize, f64),
        holds: impl Fn(f64, f64) -> bool,
    ) -> Series {
        let nodes: Vec<CertifiedNode> = self
            .test
            .iter()
            .map(|&u| {
                let (class, radius) = of(u as usize);
                CertifiedNode {
                    node: u,
                    class,
                    truth: self.truth[u as usize],
                    radius,
                    deletions: None,
                }
            })
            .collect();
        let cell = |&radius: &f64| {
            let stand = nodes.iter().filter(|n| holds(radius, n.radius));
            self.cell(Radius::One { radius }, stand.map(|n| (n.node, n.class)))
        };
        Series {
            cells: radii.iter().map(cell).collect(),
            by_flips: Vec::new(),
            certifiable: None,
            smoothed_accuracy: None,
            nodes,
        }
    }

    fn cell(&self, radius: Radius, stand: impl Iterator<Item = (u32, usize)>) -> Cell {
        let (mut all, mut right) = (0usize, 0usize);
        for (u, class) in stand {
            all += 1;
            right += usize::from(self.is_right(u, class));
        }
        let share = |count: usize| count as f64 / self.test.len() as f64;
        Cell {
            radius,
            share: share(all),
            accurate_share: share(right),
        }
    }

    /// No further than there is something to flip, nor than a table is read.
    fn limits(&self, noise: FlipNoise, there_are: Flips, best: &Certainty, rule: Rule) -> Flips {
        let most = Flips {
            additions: there_are.additions.min(MOST_FLIPS),
            deletions: there_are.deletions.min(MOST_FLIPS),
        };
        largest(noise, best, rule, most)
    }

    fn flips(
        &self,
        noise: FlipNoise,
        there_are: Flips,
        known: &[(u32, Certainty)],
        best: &Certainty,
        rule: Rule,
    ) -> Series {
        let limits = self.limits(noise, there_are, best, rule);
        let grid: Vec<Flips> = (0..=limits.additions)
            .flat_map(|additions| {
                (0..=limits.deletions).map(move |deletions| Flips {
                    additions,
                    deletions,
                })
            })
            .collect();
        let stand = |flips: &Flips| -> Vec<bool> {
            let regions = Regions::new(&[(noise, *flips)]);
            known
                .iter()
                .map(|(_, c)| regions.certify(c, rule))
                .collect()
        };
        let tables: Vec<Vec<bool>> = grid.par_iter().map(stand).collect();
        let cell = |(flips, stand): (&Flips, &Vec<bool>)| {
            let radius = Radius::Flips {
                r_add: flips.additions,
                r_delete: flips.deletions,
            };
            let of = known
                .iter()
                .zip(stand)
                .filter(|(_, s)| **s)
                .map(|((u, c), _)| (*u, c.class));
            self.cell(radius, of)
        };
        let node = |(i, (u, c)): (usize, &(u32, Certainty))| {
            let most = |of: fn(&Flips) -> usize, other: fn(&Flips) -> usize| {
                let alone = grid
                    .iter()
                    .zip(&tables)
                    .filter(|(f, stand)| other(f) == 0 && stand[i]);
                alone.map(|(f, _)| of(f)).max().unwrap_or(0)
            };
            CertifiedNode {
                node: *u,
                class: c.class,
                truth: self.truth[*u as usize],
                radius: most(|f| f.additions, |f| f.deletions) as f64,
                deletions: Some(most(|f| f.deletions, |f| f.additions)),
            }
        };
        // By their number: whatever of them there are to flip, all ways must be certified.
        let by_number = |flips: usize| {
            let ways = (0..=flips).map(|a| (a, flips - a));
            let ways = ways.filter(|&(a, d)| a <= there_are.additions && d <= there_are.deletions);
            let tables: Option<Vec<&Vec<bool>>> = ways
                .map(|(a, d)| {
                    let inside = a <= limits.additions && d <= limits.deletions;
                    inside.then(|| &tables[a * (limits.deletions + 1) + d])
                })
                .collect();
            let all = |i: usize| {
                tables
                    .as_ref()
                    .is_some_and(|tables| tables.iter().all(|stand| stand[i]))
            };
            let of = known
                .iter()
                .enumerate()
                .filter(|(i, _)| all(*i))
                .map(|(_, (u, c))| (*u, c.class));
            self.cell(
                Radius::One {
                    radius: flips as f64,
                },
                of,
            )
        };
        Series {
            cells: grid.iter().zip(&tables).map(cell).collect(),
            by_flips: (0..=limits.additions.min(limits.deletions) + 1)
                .map(by_number)
                .collect(),
            certifiable: Some(Radius::Flips {
                r_add: limits.additions,
                r_delete: limits.deletions,
            }),
            smoothed_accuracy: None,
            nodes: known.iter().enumerate().map(node).collect(),
        }
    }

    /// Features alone, edges alone, and additions of both.
    fn both(
        &self,
        noise: [FlipNoise; 2],
        there_are: [Flips; 2],
        known: &[(u32, Certainty)],
        best: &Certainty,
        rule: Rule,
    ) -> Series {
        let of_features = self.limits(noise[0], there_are[0], best, rule);
        let of_edges = self.limits(noise[1], there_are[1], best, rule);
        let mut grid: Vec<[usize; 4]> = vec![[0; 4]];
        grid.extend((1..=of_features.additions).map(|a| [a, 0, 0, 0]));
        grid.extend((1..=of_features.deletions).map(|d| [0, d, 0, 0]));
        grid.extend((1..=of_edges.additions).map(|a| [0, 0, a, 0]));
        grid.extend((1..=of_edges.deletions).map(|d| [0, 0, 0, d]));
        for a in 1..=of_features.additions {
            grid.extend((1..=of_edges.additions).map(|e| [a, 0, e, 0]));
        }
        for d in 1..=of_features.deletions {
            grid.extend((1..=of_edges.deletions).map(|e| [0, d, 0, e]));
        }
        let cell = |&[a, d, e, g]: &[usize; 4]| {
            let of_features = (
                noise[0],
                Flips {
                    additions: a,
                    deletions: d,
                },
            );
            let regions = Regions::new(&[
                of_features,
                (
                    noise[1],
                    Flips {
                        additions: e,
                        deletions: g,
                    },
                ),
            ]);
            let stand = known
                .iter()
                .filter(|(_, c)| regions.certify(c, rule))
                .map(|(u, c)| (*u, c.class));
            self.cell(Radius::of_flips([a, d, e, g], true), stand)
        };
        let cells = grid.par_iter().map(cell).collect();
        let certifiable = [
            of_features.additions,
            of_features.deletions,
            of_edges.additions,
            of_edges.deletions,
        ];
        Series {
            cells,
            by_flips: Vec::new(),
            certifiable: Some(Radius::of_flips(certifiable, true)),
            smoothed_accuracy: None,
            nodes: Vec::new(),
        }
    }

    /// Cohen et al. 2019: a class of probability at least p, every other at most q, stands all
    /// features within `sigma (Φ⁻¹(p) - Φ⁻¹(q)) / 2` of the input, in the Frobenius norm.
    fn gaussian(
        &self,
        sigma: f64,
        known: &[(u32, Certainty)],
        best: &Certainty,
        rule: Rule,
    ) -> Series {
        let radius = |c: &Certainty| {
            let upper = if rule == Rule::TwoClass {
                1.0 - c.lower
            } else {
                c.upper
            };
            0.5 * sigma * (normal_quantile(c.lower) - normal_quantile(upper))
        };
        let farthest = radius(best);
        let radii: Vec<f64> = (0..=20).map(|i| farthest * f64::from(i) / 20.0).collect();
        let reached: HashMap<u32, (usize, f64)> = known
            .iter()
            .map(|(u, c)| (*u, (c.class, radius(c))))
            .collect();
        let of = |u: usize| {
            reached
                .get(&(u as u32))
                .copied()
                .unwrap_or((0, f64::NEG_INFINITY))
        };
        // Nearly as far as unanimous votes lead counts as as far: both come from the same halving.
        self.series(&radii, of, |r, reached| {
            r < reached || (r == farthest && reached >= farthest)
        })
    }
}
