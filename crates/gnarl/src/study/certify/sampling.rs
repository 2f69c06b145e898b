//! Computes certified shares at each radius from samples of a smoothed classifier.

use std::collections::HashMap;

use gnarl_graph::{Error, Graph};
use rayon::prelude::*;

use super::Smoothing;
use super::result::{Cell, CertifiedNode, Radius};
use super::tables::{Items, Series};
use gnarl_graph::Result;
use gnarl_robust::robustness::certify::probability::normal_quantile;
use gnarl_robust::robustness::certify::{
    Certainty, FlipNoise, Flips, Noise, Regions, Rule, SampleCallbacks, Smoothed, largest,
};

/// Largest number of flips of one kind in a table.
const MOST_FLIPS: usize = 60;

/// Numbers of features and edges of a graph that can flip.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Available {
    pub features: Flips,
    pub edges: Flips,
}

impl Available {
    /// Counts the zeros and ones of a graph's features, its edges and the pairs without an edge.
    pub fn of(graph: &Graph) -> Self {
        let features = graph.features().map_or(Flips::default(), |features| {
            let ones = features.num_nonzeros();
            Flips {
                additions: features.num_rows() * features.num_cols() - ones,
                deletions: ones,
            }
        });
        let (n, edges) = (graph.num_nodes(), graph.num_edges());
        Self {
            features,
            edges: Flips {
                additions: n * n.saturating_sub(1) / 2 - edges,
                deletions: edges,
            },
        }
    }

    /// The larger numbers of two graphs.
    pub fn most(self, other: Self) -> Self {
        let most = |a: Flips, b: Flips| Flips {
            additions: a.additions.max(b.additions),
            deletions: a.deletions.max(b.deletions),
        };
        Self {
            features: most(self.features, other.features),
            edges: most(self.edges, other.edges),
        }
    }
}

/// Samples of a smoothed classifier for some nodes or graphs.
pub(super) struct Sampling<'a> {
    pub settings: Smoothing,
    pub noise: Noise,
    pub items: &'a Items,
}

impl Sampling<'_> {
    /// The share of alpha of one node or graph.
    fn alpha(&self) -> f64 {
        if self.settings.simultaneous {
            self.settings.alpha / self.items.test.len() as f64
        } else {
            self.settings.alpha
        }
    }

    /// Bounds on the class probabilities of some rows of a classifier's scores. `None` if it was
    /// stopped.
    pub fn certainties(
        &self,
        smoothed: &Smoothed<'_>,
        graph: &Graph,
        rows: &[u32],
        (seed, of): (u64, &str),
        watch: SampleCallbacks<'_>,
    ) -> Result<Option<Vec<(u32, Certainty)>>> {
        let Smoothing {
            selection,
            samples,
            rule,
            ..
        } = self.settings;
        let alpha = self.alpha();
        self.settings
            .check_samples(alpha, smoothed.model.num_classes())?;
        let sample = |count: usize, purpose: &str| {
            let stream = (seed, &*format!("{purpose}{of}"));
            smoothed.votes(graph, self.noise, count, stream, watch)
        };
        let (Some(chosen), Some(votes)) = (
            sample(selection, "selection")?,
            sample(samples, "estimation")?,
        ) else {
            return Ok(None);
        };
        if let Some(row) = rows.iter().find(|&&row| row as usize >= votes.num_items()) {
            let rows = votes.num_items();
            let what = format!("node {row}, and the model returns {rows} rows of scores");
            return Err(Error::argument("certify", what));
        }
        let certainty = |&row: &u32| {
            let class = chosen.winner(row as usize);
            let votes = votes.of(row as usize);
            (row, Certainty::new(class, votes, samples, alpha, rule))
        };
        Ok(Some(rows.par_iter().map(certainty).collect()))
    }

    /// The table from bounds on the class probabilities of the nodes or graphs.
    pub fn series(
        &self,
        num_classes: usize,
        available: Available,
        known: &[(u32, Certainty)],
    ) -> Series {
        let Smoothing { samples, rule, .. } = self.settings;
        let correct = known
            .iter()
            .filter(|(u, c)| self.items.is_correct(*u, c.class))
            .count();
        let best = Certainty::unanimous(num_classes, samples, self.alpha(), rule);
        let table = Table {
            items: self.items,
            known,
            best: &best,
            rule,
        };
        let mut series = match self.noise {
            Noise::Gaussian(sigma) => table.gaussian(sigma),
            Noise::Features(noise) => table.flips(noise, available.features),
            Noise::Edges(noise) => table.flips(noise, available.edges),
            Noise::Both { features, edges } => {
                table.both([features, edges], [available.features, available.edges])
            }
        };
        let share = 100.0 * correct as f64 / self.items.test.len() as f64;
        series.smoothed_accuracy = Some(share);
        series
    }
}

/// Bounds on class probabilities of nodes or graphs, and the rule by which they are certified.
struct Table<'a> {
    items: &'a Items,
    known: &'a [(u32, Certainty)],
    /// The bounds of unanimous samples.
    best: &'a Certainty,
    rule: Rule,
}

/// Numbers of additions and deletions, and the nodes or graphs that are certified for each.
struct Grid {
    limits: Flips,
    flips: Vec<Flips>,
    stand: Vec<Vec<bool>>,
}

impl Grid {
    /// Returns true if node or graph `i` is certified for so many flips in any mix: all available
    /// splits into additions and deletions must be certified.
    fn stands_all(&self, i: usize, flips: usize, available: Flips) -> bool {
        let ways = (0..=flips).map(|a| (a, flips - a));
        let mut ways = ways.filter(|&(a, d)| a <= available.additions && d <= available.deletions);
        let Flips {
            additions,
            deletions,
        } = self.limits;
        ways.all(|(a, d)| {
            a <= additions && d <= deletions && self.stand[a * (deletions + 1) + d][i]
        })
    }

    /// Largest number of flips of one kind that node or graph `i` is certified for, with none of
    /// the other.
    fn most_alone(&self, i: usize, of: fn(&Flips) -> usize, other: fn(&Flips) -> usize) -> usize {
        let alone = self
            .flips
            .iter()
            .zip(&self.stand)
            .filter(|(f, stand)| other(f) == 0 && stand[i]);
        alone.map(|(f, _)| of(f)).max().unwrap_or(0)
    }
}

impl Table<'_> {
    /// Largest flips of a table: at most the available bits.
    fn limits(&self, noise: FlipNoise, available: Flips) -> Flips {
        let most = Flips {
            additions: available.additions.min(MOST_FLIPS),
            deletions: available.deletions.min(MOST_FLIPS),
        };
        largest(noise, self.best, self.rule, most)
    }

    fn grid(&self, noise: FlipNoise, available: Flips) -> Grid {
        let limits = self.limits(noise, available);
        let row = |additions: usize| {
            (0..=limits.deletions).map(move |deletions| Flips {
                additions,
                deletions,
            })
        };
        let flips: Vec<Flips> = (0..=limits.additions).flat_map(row).collect();
        let stand = |flips: &Flips| -> Vec<bool> {
            let regions = Regions::new(&[(noise, *flips)]);
            let known = self.known.iter();
            known.map(|(_, c)| regions.certify(c, self.rule)).collect()
        };
        let stand = flips.par_iter().map(stand).collect();
        Grid {
            limits,
            flips,
            stand,
        }
    }

    fn flips(&self, noise: FlipNoise, available: Flips) -> Series {
        let grid = self.grid(noise, available);
        let limits = grid.limits;
        let cell = |(flips, stand): (&Flips, &Vec<bool>)| {
            let radius = Radius::Flips {
                r_add: flips.additions,
                r_delete: flips.deletions,
            };
            self.cell(radius, |i| stand[i])
        };
        let by_number = |flips: usize| {
            let radius = flips as f64;
            let stands = |i: usize| grid.stands_all(i, flips, available);
            self.cell(Radius::One { radius }, stands)
        };
        let most = limits.additions.min(limits.deletions) + 1;
        Series {
            cells: grid.flips.iter().zip(&grid.stand).map(cell).collect(),
            by_flips: (0..=most).map(by_number).collect(),
            certifiable: Some(Radius::Flips {
                r_add: limits.additions,
                r_delete: limits.deletions,
            }),
            smoothed_accuracy: None,
            nodes: (0..self.known.len()).map(|i| self.node(i, &grid)).collect(),
        }
    }

    fn cell(&self, radius: Radius, stands: impl Fn(usize) -> bool) -> Cell {
        let of = self.known.iter().enumerate().filter(|(i, _)| stands(*i));
        self.items.cell(radius, of.map(|(_, (u, c))| (*u, c.class)))
    }

    fn node(&self, i: usize, grid: &Grid) -> CertifiedNode {
        let (u, c) = &self.known[i];
        CertifiedNode {
            node: *u,
            class: c.class,
            truth: self.items.truth[*u as usize],
            radius: grid.most_alone(i, |f| f.additions, |f| f.deletions) as f64,
            deletions: Some(grid.most_alone(i, |f| f.deletions, |f| f.additions)),
        }
    }

    /// Table of flips of features alone, edges alone, additions of both, and deletions of both.
    fn both(&self, noise: [FlipNoise; 2], available: [Flips; 2]) -> Series {
        let of_features = self.limits(noise[0], available[0]);
        let of_edges = self.limits(noise[1], available[1]);
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
        let flips = |additions: usize, deletions: usize| Flips {
            additions,
            deletions,
        };
        let cell = |&[a, d, e, g]: &[usize; 4]| {
            let regions = Regions::new(&[(noise[0], flips(a, d)), (noise[1], flips(e, g))]);
            let stands = |i: usize| regions.certify(&self.known[i].1, self.rule);
            self.cell(Radius::of_flips([a, d, e, g], true), stands)
        };
        let certifiable = [
            of_features.additions,
            of_features.deletions,
            of_edges.additions,
            of_edges.deletions,
        ];
        Series {
            cells: grid.par_iter().map(cell).collect(),
            by_flips: Vec::new(),
            certifiable: Some(Radius::of_flips(certifiable, true)),
            smoothed_accuracy: None,
            nodes: Vec::new(),
        }
    }

    /// Table for Gaussian noise ([Cohen et al. 2019](https://arxiv.org/abs/1902.02918)). A class of
    /// probability at least p, every other at most q, is certified for all features within
    /// `sigma (Φ⁻¹(p) - Φ⁻¹(q)) / 2` of the input, in the Frobenius norm.
    fn gaussian(&self, sigma: f64) -> Series {
        let radius = |c: &Certainty| {
            let upper = if self.rule == Rule::TwoClass {
                1.0 - c.lower
            } else {
                c.upper
            };
            0.5 * sigma * (normal_quantile(c.lower) - normal_quantile(upper))
        };
        let largest = radius(self.best);
        let radii: Vec<f64> = (0..=20).map(|i| largest * f64::from(i) / 20.0).collect();
        let reached: HashMap<u32, (usize, f64)> = self
            .known
            .iter()
            .map(|(u, c)| (*u, (c.class, radius(c))))
            .collect();
        let none = (0, f64::NEG_INFINITY);
        let of = |u: usize| reached.get(&(u as u32)).copied().unwrap_or(none);
        // A radius that is nearly that of unanimous votes counts as equal: both come from the same
        // bisection.
        self.items.series(&radii, of, |r, reached| {
            r < reached || (r == largest && reached >= largest)
        })
    }
}
