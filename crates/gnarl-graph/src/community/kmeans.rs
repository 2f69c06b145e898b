//! k-means (Lloyd 1982) with greedy k-means++ seeding (Arthur and Vassilvitskii 2007), as
//! scikit-learn's `KMeans`: keeps the restart with the smallest inertia. It is the last step of
//! spectral clustering.
//!
//! The code is gnarl's own rather than a crate's: the SBBAM study runs 200 restarts on each of 200
//! graphs of 300 points. The loop therefore works on flat arrays, a column at a time, and allocates
//! nothing.

use rand::RngExt;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::DenseMatrix;
use crate::random::{Rng, stream};

const OP: &str = "k-means";

/// Number of points whose distances are computed together: two columns of them fit the first-level
/// cache.
const BLOCK: usize = 512;

/// Settings of [`kmeans`].
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    /// Number of clusters.
    pub clusters: usize,
    /// Number of restarts, of which the best is kept.
    pub n_init: usize,
    /// Maximum number of iterations of one restart.
    pub max_iterations: usize,
    /// Relative tolerance: a restart ends once the squared moves of the centres sum to this share
    /// of the mean variance of the columns.
    pub tolerance: f64,
}

impl KMeans {
    /// Settings for this many clusters, with ten restarts and scikit-learn's 300 iterations and
    /// tolerance 1e-4.
    pub fn new(clusters: usize) -> Self {
        Self {
            clusters,
            n_init: 10,
            max_iterations: 300,
            tolerance: 1e-4,
        }
    }

    /// Sets the number of restarts.
    pub fn with_n_init(self, n_init: usize) -> Self {
        Self { n_init, ..self }
    }

    fn check(&self, num_points: usize) -> Result<()> {
        let refuse = |what: String| Err(Error::argument(OP, what));
        match self {
            Self { clusters, .. } if *clusters == 0 || *clusters > num_points => refuse(format!(
                "{clusters} clusters of {num_points} points, from 1 to {num_points} are possible"
            )),
            Self { n_init: 0, .. } => refuse("n_init 0, at least one restart is needed".into()),
            Self {
                max_iterations: 0, ..
            } => refuse("max_iterations 0, at least one round is needed".into()),
            Self { tolerance, .. } if !(*tolerance >= 0.0 && tolerance.is_finite()) => refuse(
                format!("tolerance {tolerance} must be a number of at least 0"),
            ),
            _ => Ok(()),
        }
    }
}

/// Result of [`kmeans`].
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters {
    /// The cluster of each point.
    pub of: Vec<u32>,
    /// The mean of each cluster, k × d.
    pub centres: DenseMatrix<f64>,
    /// Inertia: the sum of squared distances of the points to the centres of their clusters.
    pub inertia: f64,
}

/// Runs k-means on the rows of `points` and returns the best of `n_init` restarts, the first in
/// case of ties.
///
/// A restart is sampled from its own stream, so it does not depend on the number of threads or of
/// further restarts. A cluster that loses all its points takes the point furthest from its centre.
/// With fewer distinct points than clusters, the remaining clusters stay empty. O(n k d) per
/// iteration.
///
/// ```
/// use gnarl_graph::{community::{kmeans, KMeans}, DenseMatrix};
/// let points = DenseMatrix::new(4, 1, vec![0.0, 1.0, 10.0, 11.0])?;
/// let found = kmeans(&points, &KMeans::new(2), 7)?;
/// assert_eq!(found.inertia, 1.0);
/// assert!(found.of[0] == found.of[1] && found.of[1] != found.of[2]);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn kmeans(points: &DenseMatrix<f64>, settings: &KMeans, seed: u64) -> Result<Clusters> {
    settings.check(points.num_rows())?;
    let columns = Columns::new(points)?;
    // Restarts on few points take microseconds: some of them make a task.
    let work = points.num_rows() * points.num_cols().max(1) * settings.clusters;
    let best = (0..settings.n_init)
        .into_par_iter()
        .with_min_len((200_000 / work).clamp(1, 64))
        .fold(
            || Search::new(&columns, settings),
            |mut search, restart| {
                search.run(restart, &mut stream(seed, OP, restart as u64));
                search
            },
        )
        .reduce_with(|a, b| if a.best.is_before(&b.best) { a } else { b })
        .expect("there is at least one restart");
    let centres = DenseMatrix::new(settings.clusters, points.num_cols(), best.best.centres)?;
    Ok(Clusters {
        of: best.best.of,
        centres,
        inertia: best.best.inertia,
    })
}

/// Largest value allowed: squares of differences of larger values would not be finite.
const LARGEST: f64 = 1e150;

/// The points, stored column by column.
struct Columns {
    n: usize,
    d: usize,
    values: Vec<f64>,
    /// Mean variance of the columns.
    spread: f64,
}

impl Columns {
    fn new(points: &DenseMatrix<f64>) -> Result<Self> {
        let (n, d) = (points.num_rows(), points.num_cols());
        let mut values = vec![0.0; n * d];
        for i in 0..n {
            for (j, &x) in points.row(i).iter().enumerate() {
                if !x.is_finite() {
                    return Err(Error::argument(
                        OP,
                        format!("point {i} has {x} in column {j}, finite values are needed"),
                    ));
                }
                if x.abs() > LARGEST {
                    let what = format!(
                        "point {i} has {x:e} in column {j}, distances need values of at most {LARGEST:e}"
                    );
                    return Err(Error::argument(OP, what));
                }
                values[j * n + i] = x;
            }
        }
        let variance = |column: &[f64]| {
            let mean = column.iter().sum::<f64>() / n as f64;
            column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64
        };
        let spread = values.chunks_exact(n).map(variance).sum::<f64>() / d.max(1) as f64;
        Ok(Self {
            n,
            d,
            values,
            spread,
        })
    }

    fn at(&self, j: usize, i: usize) -> f64 {
        self.values[j * self.n + i]
    }

    /// Sets `out[i]` to the squared distance of point `first + i` to `centre`.
    fn squared_distances(&self, first: usize, centre: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (j, &c) in centre.iter().enumerate() {
            let column = &self.values[j * self.n + first..][..out.len()];
            for (sum, x) in out.iter_mut().zip(column) {
                *sum += (x - c) * (x - c);
            }
        }
    }
}

/// The best restart so far.
struct Best {
    inertia: f64,
    restart: usize,
    of: Vec<u32>,
    centres: Vec<f64>,
}

impl Best {
    fn is_before(&self, other: &Self) -> bool {
        (self.inertia, self.restart) < (other.inertia, other.restart)
    }
}

/// The restarts of one thread and the arrays they share.
struct Search<'a> {
    points: &'a Columns,
    settings: &'a KMeans,
    of: Vec<u32>,
    /// Squared distance of each point to its centre.
    nearest: Vec<f64>,
    /// Distances like `nearest`, for the current candidate and the best one so far.
    candidate: Vec<f64>,
    chosen: Vec<f64>,
    centres: Vec<f64>,
    sums: Vec<f64>,
    sizes: Vec<usize>,
    best: Best,
}

impl<'a> Search<'a> {
    fn new(points: &'a Columns, settings: &'a KMeans) -> Self {
        let (n, k, d) = (points.n, settings.clusters, points.d);
        Self {
            points,
            settings,
            of: vec![0; n],
            nearest: vec![0.0; n],
            candidate: vec![0.0; n],
            chosen: vec![0.0; n],
            centres: vec![0.0; k * d],
            sums: vec![0.0; k * d],
            sizes: vec![0; k],
            best: Best {
                inertia: f64::INFINITY,
                restart: usize::MAX,
                of: Vec::new(),
                centres: Vec::new(),
            },
        }
    }

    /// Runs one restart and keeps it if it is the best so far.
    fn run(&mut self, restart: usize, rng: &mut Rng) {
        self.seed(rng);
        self.assign();
        for _ in 0..self.settings.max_iterations {
            let moved = self.move_centres();
            let changed = self.assign();
            if !changed || moved <= self.settings.tolerance * self.points.spread {
                break;
            }
        }
        let inertia = self.nearest.iter().sum();
        let found = (inertia, restart);
        if found < (self.best.inertia, self.best.restart) {
            self.best.inertia = inertia;
            self.best.restart = restart;
            self.best.of.clone_from(&self.of);
            self.best.centres.clone_from(&self.centres);
        }
    }

    /// Greedy k-means++: samples the first centre uniformly from the points. Each further centre is
    /// the best of `2 + ln k` points sampled in proportion to their squared distance to the centres
    /// so far.
    fn seed(&mut self, rng: &mut Rng) {
        let (n, k) = (self.points.n, self.settings.clusters);
        let trials = 2 + (k as f64).ln() as usize;
        self.put_centre(0, rng.random_range(0..n));
        self.nearest.fill(f64::INFINITY);
        self.closest_with(0);
        std::mem::swap(&mut self.nearest, &mut self.candidate);
        for c in 1..k {
            let potential: f64 = self.nearest.iter().sum();
            let (mut best, mut smallest) = (0, f64::INFINITY);
            for _ in 0..trials {
                let point = self.draw(rng.random::<f64>() * potential, rng);
                self.put_centre(c, point);
                let left = self.closest_with(c);
                if left < smallest {
                    (best, smallest) = (point, left);
                    std::mem::swap(&mut self.candidate, &mut self.chosen);
                }
            }
            self.put_centre(c, best);
            std::mem::swap(&mut self.nearest, &mut self.chosen);
        }
    }

    /// Returns the point at which the running sum of distances passes `target`; any point if all
    /// distances are zero.
    fn draw(&self, target: f64, rng: &mut Rng) -> usize {
        let mut sum = 0.0;
        for (i, distance) in self.nearest.iter().enumerate() {
            sum += distance;
            if sum > target {
                return i;
            }
        }
        if sum == 0.0 {
            rng.random_range(0..self.points.n)
        } else {
            self.points.n - 1
        }
    }

    fn put_centre(&mut self, c: usize, point: usize) {
        for j in 0..self.points.d {
            self.centres[c * self.points.d + j] = self.points.at(j, point);
        }
    }

    /// Fills `candidate` with the distances after adding centre `c`; returns their sum.
    fn closest_with(&mut self, c: usize) -> f64 {
        let d = self.points.d;
        self.points
            .squared_distances(0, &self.centres[c * d..(c + 1) * d], &mut self.candidate);
        for (new, old) in self.candidate.iter_mut().zip(&self.nearest) {
            *new = new.min(*old);
        }
        self.candidate.iter().sum()
    }

    /// Assigns every point to its nearest centre, the first in case of ties; returns true if any
    /// point changed its cluster.
    fn assign(&mut self) -> bool {
        let (n, k, d) = (self.points.n, self.settings.clusters, self.points.d);
        let mut changed = false;
        for first in (0..n).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(n);
            let nearest = &mut self.nearest[block.clone()];
            let arrived = &mut self.candidate[block.clone()];
            let distance = &mut self.chosen[block.clone()];
            nearest.fill(f64::INFINITY);
            for c in 0..k {
                self.points
                    .squared_distances(first, &self.centres[c * d..(c + 1) * d], distance);
                let name = c as f64;
                for i in 0..distance.len() {
                    let closer = distance[i] < nearest[i];
                    nearest[i] = if closer { distance[i] } else { nearest[i] };
                    arrived[i] = if closer { name } else { arrived[i] };
                }
            }
            for (of, &name) in self.of[block].iter_mut().zip(arrived.iter()) {
                changed |= *of != name as u32;
                *of = name as u32;
            }
        }
        changed
    }

    /// Moves each centre to the mean of its cluster; returns the sum of their squared moves.
    fn move_centres(&mut self) -> f64 {
        let (n, d) = (self.points.n, self.points.d);
        self.sizes.fill(0);
        self.sums.fill(0.0);
        for &c in &self.of {
            self.sizes[c as usize] += 1;
        }
        for j in 0..d {
            for (i, x) in self.points.values[j * n..(j + 1) * n].iter().enumerate() {
                self.sums[self.of[i] as usize * d + j] += x;
            }
        }
        if self.sizes.contains(&0) {
            self.fill_empty_clusters();
        }
        let mut moved = 0.0;
        for (c, &size) in self.sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            for j in c * d..(c + 1) * d {
                let mean = self.sums[j] / size as f64;
                moved += (mean - self.centres[j]).powi(2);
                self.centres[j] = mean;
            }
        }
        moved
    }

    /// Gives each empty cluster the point that is furthest from its centre.
    fn fill_empty_clusters(&mut self) {
        let d = self.points.d;
        for c in 0..self.settings.clusters {
            if self.sizes[c] > 0 {
                continue;
            }
            let mut furthest: Option<usize> = None;
            for i in 0..self.points.n {
                let can_leave = self.sizes[self.of[i] as usize] > 1 && self.nearest[i] > 0.0;
                if can_leave && furthest.is_none_or(|f| self.nearest[i] > self.nearest[f]) {
                    furthest = Some(i);
                }
            }
            // If every point lies on its centre there is nothing to gain.
            let Some(point) = furthest else { return };
            let from = self.of[point] as usize;
            for j in 0..d {
                let x = self.points.at(j, point);
                self.sums[from * d + j] -= x;
                self.sums[c * d + j] = x;
            }
            self.sizes[from] -= 1;
            self.sizes[c] = 1;
            self.of[point] = c as u32;
            self.nearest[point] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(rows: &[&[f64]]) -> DenseMatrix<f64> {
        DenseMatrix::new(rows.len(), rows[0].len(), rows.concat()).unwrap()
    }

    /// Returns the smallest inertia over all assignments of a few points to k clusters.
    fn exhaustive(data: &DenseMatrix<f64>, k: usize) -> f64 {
        let (n, d) = (data.num_rows(), data.num_cols());
        let mut best = f64::INFINITY;
        for code in 0..k.pow(n as u32) {
            let of: Vec<usize> = (0..n).map(|i| code / k.pow(i as u32) % k).collect();
            let mut inertia = 0.0;
            for c in 0..k {
                let members: Vec<usize> = (0..n).filter(|&i| of[i] == c).collect();
                for j in 0..d {
                    let mean = members.iter().map(|&i| data.row(i)[j]).sum::<f64>()
                        / members.len().max(1) as f64;
                    inertia += members
                        .iter()
                        .map(|&i| (data.row(i)[j] - mean).powi(2))
                        .sum::<f64>();
                }
            }
            best = best.min(inertia);
        }
        best
    }

    #[test]
    fn values_without_finite_squares_are_refused() {
        let points = DenseMatrix::new(3, 1, vec![0.0, 1.5e308, -1.5e308]).unwrap();
        let e = kmeans(&points, &KMeans::new(2), 1).unwrap_err().to_string();
        assert_eq!(
            e,
            "k-means: point 1 has 1.5e308 in column 0, distances need values of at most 1e150"
        );
        let far = DenseMatrix::new(3, 1, vec![0.0, 1e150, -1e150]).unwrap();
        assert!(
            kmeans(&far, &KMeans::new(3), 1)
                .unwrap()
                .inertia
                .is_finite()
        );
    }

    proptest! {
        #[test]
        fn every_point_is_with_its_nearest_centre(data in prop::collection::vec(-1.0f64..1.0, 60), k in 1usize..8) {
            let data = DenseMatrix::new(20, 3, data).unwrap();
            let found = kmeans(&data, &KMeans::new(k).with_n_init(1), 3).unwrap();
            let to = |i: usize, c: usize| -> f64 {
                data.row(i).iter().zip(found.centres.row(c)).map(|(x, y)| (x - y).powi(2)).sum()
            };
            let mut inertia = 0.0;
            for i in 0..20 {
                let own = to(i, found.of[i] as usize);
                inertia += own;
                prop_assert!((0..k).all(|c| own <= to(i, c)));
            }
            prop_assert!((inertia - found.inertia).abs() < 1e-12);
        }
    }

    /// Restarts from good seeds may all miss the best partition (scikit-learn's do as well); mostly
    /// they find it.
    #[test]
    fn enough_restarts_mostly_find_the_best_partition() {
        let mut found_it = 0;
        for seed in 0..60 {
            let mut rng = stream(seed, "test", 0);
            let data =
                DenseMatrix::new(8, 2, (0..16).map(|_| rng.random::<f64>()).collect()).unwrap();
            let k = 1 + seed as usize % 3;
            let (found, best) = (
                kmeans(&data, &KMeans::new(k).with_n_init(50), seed)
                    .unwrap()
                    .inertia,
                exhaustive(&data, k),
            );
            assert!(
                found > best - 1e-12,
                "{found} is better than the best, {best}"
            );
            found_it += usize::from(found < best + 1e-12);
        }
        assert!(found_it >= 54, "{found_it} of 60");
    }

    #[test]
    fn kmeans_depends_on_the_seed_and_not_on_threads() {
        let mut rng = stream(5, "test", 0);
        let data =
            DenseMatrix::new(700, 4, (0..2800).map(|_| rng.random::<f64>()).collect()).unwrap();
        let settings = KMeans::new(9).with_n_init(5);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| kmeans(&data, &settings, 1).unwrap())
        };
        assert_eq!(on(1), on(3));
        assert_ne!(
            kmeans(&data, &settings, 1).unwrap().inertia,
            kmeans(&data, &settings, 2).unwrap().inertia
        );
        let more = kmeans(&data, &settings.clone().with_n_init(50), 1).unwrap();
        assert!(more.inertia < on(1).inertia, "restarts help");
        let short = KMeans {
            max_iterations: 1,
            ..settings
        };
        assert!(
            kmeans(&data, &short, 1).unwrap().inertia > on(1).inertia,
            "rounds help"
        );
    }

    #[test]
    fn fewer_distinct_points_than_clusters() {
        let data = points(&[&[1.0], &[1.0], &[5.0], &[1.0]]);
        let found = kmeans(&data, &KMeans::new(3), 0).unwrap();
        assert_eq!(found.inertia, 0.0);
        assert!(
            found.of[0] == found.of[1] && found.of[1] == found.of[3] && found.of[0] != found.of[2]
        );
        let flat = DenseMatrix::zeros(3, 0);
        assert_eq!(
            kmeans(&flat, &KMeans::new(2), 0).unwrap().inertia,
            0.0,
            "points without coordinates"
        );
    }

    #[test]
    fn a_cluster_that_runs_empty_takes_the_furthest_point() {
        let settings = KMeans::new(3);
        let columns = Columns::new(&points(&[&[0.0], &[1.0], &[2.0], &[10.0], &[30.0]])).unwrap();
        let mut search = Search::new(&columns, &settings);
        search.centres = vec![1.0, 12.0, -100.0];
        search.assign();
        assert_eq!(search.of, [0, 0, 0, 1, 1]);
        search.move_centres();
        assert_eq!(search.centres, [1.0, 10.0, 30.0]);
    }

    #[test]
    fn bad_settings_say_why() {
        let data = points(&[&[0.0], &[1.0]]);
        let fault = |settings: KMeans| kmeans(&data, &settings, 0).unwrap_err().to_string();
        assert_eq!(
            fault(KMeans::new(0)),
            "k-means: 0 clusters of 2 points, from 1 to 2 are possible"
        );
        assert_eq!(
            fault(KMeans::new(3)),
            "k-means: 3 clusters of 2 points, from 1 to 2 are possible"
        );
        assert_eq!(
            fault(KMeans::new(1).with_n_init(0)),
            "k-means: n_init 0, at least one restart is needed"
        );
        let none = KMeans {
            max_iterations: 0,
            ..KMeans::new(1)
        };
        assert_eq!(
            fault(none),
            "k-means: max_iterations 0, at least one round is needed"
        );
        let odd = KMeans {
            tolerance: f64::NAN,
            ..KMeans::new(1)
        };
        assert_eq!(
            fault(odd),
            "k-means: tolerance NaN must be a number of at least 0"
        );
        let bad = points(&[&[0.0], &[f64::INFINITY]]);
        let e = kmeans(&bad, &KMeans::new(1), 0).unwrap_err().to_string();
        assert_eq!(
            e,
            "k-means: point 1 has inf in column 0, finite values are needed"
        );
    }
}
