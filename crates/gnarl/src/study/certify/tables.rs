//! Computes certified shares at each radius from radii of test nodes or graphs.

use gnarl_graph::Error;

use super::Certificate;
use super::result::{Cell, Certified, CertifiedNode, Radius};
use super::threat::{Rows, ThreatModel};
use gnarl_graph::Result;
use gnarl_nn::train::median;

/// The table of one certificate for one model.
#[derive(Debug)]
pub struct Series {
    pub(super) cells: Vec<Cell>,
    pub(super) by_flips: Vec<Cell>,
    pub(super) certifiable: Option<Radius>,
    pub(super) smoothed_accuracy: Option<f64>,
    pub(super) nodes: Vec<CertifiedNode>,
}

/// Means over runs, cell by cell; everything else is from the first run.
pub(super) fn mean_of(
    certificate: &Certificate,
    threat: ThreatModel,
    series: Vec<Series>,
    seconds: f64,
) -> Option<Certified> {
    let runs = series.len() as f64;
    let smoothed: Option<Vec<f64>> = series.iter().map(|s| s.smoothed_accuracy).collect();
    let all: Vec<Vec<Cell>> = series.iter().map(|s| s.cells.clone()).collect();
    let by_flips: Vec<Vec<Cell>> = series.iter().map(|s| s.by_flips.clone()).collect();
    let first = series.into_iter().next()?;
    let certified = means(first.cells, &all);
    let by_flips = means(first.by_flips, &by_flips);
    let rows = certificate.method().rows(threat);
    let radii: Vec<f64> = first.nodes.iter().map(|n| n.radius).collect();
    Some(Certified {
        method: certificate.name(),
        rows,
        max_radius: max_radius(&certified),
        certified,
        by_flips,
        certifiable: first.certifiable,
        smoothed_accuracy: smoothed.map(|all| all.iter().sum::<f64>() / runs),
        median_radius: (rows != Rows::Samples && !radii.is_empty()).then(|| median(radii)),
        nodes: first.nodes,
        seconds,
    })
}

/// The largest radius at which some node or graph is certified; for flips, of each kind alone.
fn max_radius(certified: &[Cell]) -> Option<Radius> {
    let stood: Vec<&Cell> = certified.iter().filter(|cell| cell.share > 0.0).collect();
    if let Radius::One { .. } = stood.first()?.radius {
        return stood.last().map(|cell| cell.radius);
    }
    let most = |k: usize| {
        let flips = stood.iter().map(|cell| cell.radius.flips());
        let alone = flips.filter(|r| (0..4).all(|i| i == k || r[i] == 0));
        alone.map(|r| r[k]).max().unwrap_or(0)
    };
    let first = certified.first().map(|cell| cell.radius);
    let is_both = matches!(first, Some(Radius::Both { .. }));
    Some(Radius::of_flips([0, 1, 2, 3].map(most), is_both))
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

/// The test nodes of a graph, or the test graphs of a set, in a run.
#[derive(Debug)]
pub(super) struct Items {
    pub test: Vec<u32>,
    /// True class of each node or graph in the model's class order, if known.
    pub truth: Vec<Option<u32>>,
}

impl Items {
    /// Makes the test part. Refuses an empty one, and indices that the data does not have.
    pub fn new(test: Vec<u32>, truth: Vec<Option<u32>>) -> Result<Self> {
        if test.is_empty() {
            return Err(Error::argument(
                "certify",
                "there are no test nodes or graphs to certify",
            ));
        }
        match test.iter().find(|&&item| item as usize >= truth.len()) {
            Some(item) => {
                let what = format!("node or graph {item}, and there are {}", truth.len());
                Err(Error::argument("certify", what))
            }
            None => Ok(Self { test, truth }),
        }
    }

    pub fn is_correct(&self, item: u32, class: usize) -> bool {
        self.truth[item as usize] == Some(class as u32)
    }

    /// Shares at distances, from the class of each node or graph and the distance below which it is
    /// certified.
    pub fn by_distance(&self, radii: &[f64], of: impl Fn(usize) -> (usize, f64)) -> Series {
        self.series(radii, of, |radius, reached| {
            radius == 0.0 || radius < reached
        })
    }

    /// Shares at 0 to `most` flips, from the class of each node or graph and its certified number
    /// of flips.
    pub fn by_flips(&self, most: usize, of: impl Fn(usize) -> (usize, f64)) -> Series {
        let radii: Vec<f64> = (0..=most).map(|r| r as f64).collect();
        self.series(&radii, of, |r, reached| r <= reached)
    }

    /// Shares at radii, for certificates with one number for each node or graph.
    pub fn series(
        &self,
        radii: &[f64],
        of: impl Fn(usize) -> (usize, f64),
        holds: impl Fn(f64, f64) -> bool,
    ) -> Series {
        let node = |&u: &u32| {
            let (class, radius) = of(u as usize);
            CertifiedNode {
                node: u,
                class,
                truth: self.truth[u as usize],
                radius,
                deletions: None,
            }
        };
        let nodes: Vec<CertifiedNode> = self.test.iter().map(node).collect();
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

    /// Shares of certified nodes or graphs, and of certified and correct ones.
    pub fn cell(&self, radius: Radius, stand: impl Iterator<Item = (u32, usize)>) -> Cell {
        let (mut all, mut correct) = (0usize, 0usize);
        for (u, class) in stand {
            all += 1;
            correct += usize::from(self.is_correct(u, class));
        }
        let share = |count: usize| count as f64 / self.test.len() as f64;
        Cell {
            radius,
            share: share(all),
            accurate_share: share(correct),
        }
    }
}
