//! Evaluation metrics: accuracy, scores per class ([`ClassScores`]), agreement of clusterings,
//! modularity, attack success, histograms, and means with their errors.
//!
//! Accuracies and rates are shares from 0 to 1; the caller converts them to per cent.

mod classes;

use std::collections::HashMap;

use crate::centrality::degrees;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::labels::Labels;
use crate::matrix::DenseMatrix;

pub use self::classes::{ClassScores, OneClass};

/// Returns the accuracy: the share of `items` whose prediction is their label.
///
/// `predictions` has a class for every node or graph, labelled or not; `items` selects the ones
/// that count. Fails if there are none, or if one has no label.
pub fn accuracy(predictions: &[u32], labels: &Labels, items: &[u32]) -> Result<f64> {
    const OP: &str = "accuracy";
    if items.is_empty() {
        return Err(Error::argument(OP, "there are no nodes or graphs to score"));
    }
    let mut right = 0usize;
    for &i in items {
        let class = label_of(OP, labels, predictions.len(), i)?;
        right += usize::from(predictions[i as usize] == class);
    }
    Ok(right as f64 / items.len() as f64)
}

/// Returns the confusion matrix over `items`: counts of each class (row) predicted as each class
/// (column).
pub fn confusion_matrix(
    predictions: &[u32],
    labels: &Labels,
    items: &[u32],
) -> Result<DenseMatrix<u64>> {
    const OP: &str = "confusion_matrix";
    let num_classes = labels.num_classes();
    let mut counts = DenseMatrix::zeros(num_classes, num_classes);
    for &i in items {
        let class = label_of(OP, labels, predictions.len(), i)?;
        let predicted = predictions[i as usize];
        if predicted as usize >= num_classes {
            let what = format!(
                "node or graph {i} is predicted as class {predicted}, but there are {num_classes} classes"
            );
            return Err(Error::argument(OP, what));
        }
        counts.row_mut(class as usize)[predicted as usize] += 1;
    }
    Ok(counts)
}

/// Returns the attack success rate: the share of correctly classified items that an attack turns
/// into errors. `None` if none was correct before. Items without a label are never correct.
pub fn attack_success_rate(
    clean: &[u32],
    attacked: &[u32],
    labels: &Labels,
    items: &[u32],
) -> Result<Option<f64>> {
    const OP: &str = "attack_success_rate";
    check_lengths(
        OP,
        "clean predictions",
        clean.len(),
        "attacked ones",
        attacked.len(),
    )?;
    let (mut right, mut turned) = (0u64, 0u64);
    for &i in items {
        check_item(OP, labels, clean.len(), i)?;
        if labels.get(i) == Some(clean[i as usize]) {
            right += 1;
            turned += u64::from(labels.get(i) != Some(attacked[i as usize]));
        }
    }
    Ok((right > 0).then(|| turned as f64 / right as f64))
}

fn label_of(op: &'static str, labels: &Labels, num_predictions: usize, item: u32) -> Result<u32> {
    check_item(op, labels, num_predictions, item)?;
    labels
        .get(item)
        .ok_or_else(|| Error::missing(op, format!("node or graph {item} has no label"), ""))
}

fn check_item(op: &'static str, labels: &Labels, num_predictions: usize, item: u32) -> Result<()> {
    check_lengths(op, "predictions", num_predictions, "labels", labels.len())?;
    if (item as usize) < labels.len() {
        return Ok(());
    }
    Err(Error::argument(
        op,
        format!(
            "node or graph {item} is out of range, there are {} labels",
            labels.len()
        ),
    ))
}

fn check_lengths(op: &'static str, a: &str, len_a: usize, b: &str, len_b: usize) -> Result<()> {
    if len_a == len_b {
        return Ok(());
    }
    Err(Error::argument(op, format!("{len_a} {a}, but {len_b} {b}")))
}

/// Computes the adjusted mutual information of two clusterings of equal length (Vinh et al. 2010),
/// with the arithmetic mean of their entropies, as scikit-learn's `adjusted_mutual_info_score`. It
/// is 1 for equal partitions and 0 on average for unrelated ones, independently of cluster numbers.
///
/// Two clusterings without information (one cluster each, or empty) have score 1.
///
/// ```
/// use gnarl_graph::metrics::adjusted_mutual_information;
/// assert_eq!(adjusted_mutual_information(&[0, 0, 1, 1], &[7, 7, 3, 3])?, 1.0);
/// assert_eq!(adjusted_mutual_information(&[0, 0, 0, 0], &[0, 1, 2, 3])?, 0.0);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn adjusted_mutual_information(a: &[u32], b: &[u32]) -> Result<f64> {
    let table = Contingency::new("adjusted_mutual_information", a, b)?;
    if let Some(score) = table.trivial_score() {
        return Ok(score);
    }
    let expected = table.expected_mutual_information();
    let mean_entropy = (table.entropy(&table.a_sizes) + table.entropy(&table.b_sizes)) / 2.0;
    // Both differences are zero if no other outcome was possible; rounding must not make that 0/0.
    let away_from_zero = |x: f64| {
        if x < 0.0 {
            x.min(-f64::EPSILON)
        } else {
            x.max(f64::EPSILON)
        }
    };
    Ok(away_from_zero(table.mutual_information() - expected)
        / away_from_zero(mean_entropy - expected))
}

/// Computes normalised mutual information: mutual information of two clusterings over the
/// arithmetic mean of their entropies, as scikit-learn's `normalized_mutual_info_score`. It is
/// between 0 and 1, and not corrected for chance.
pub fn normalised_mutual_information(a: &[u32], b: &[u32]) -> Result<f64> {
    let table = Contingency::new("normalised_mutual_information", a, b)?;
    if let Some(score) = table.trivial_score() {
        return Ok(score);
    }
    let mean_entropy = (table.entropy(&table.a_sizes) + table.entropy(&table.b_sizes)) / 2.0;
    Ok(table.mutual_information() / mean_entropy)
}

/// Computes the adjusted Rand index of two clusterings of equal length (Hubert and Arabie 1985), as
/// scikit-learn's `adjusted_rand_score`: 1 for equal partitions, 0 on average for unrelated ones.
pub fn adjusted_rand_index(a: &[u32], b: &[u32]) -> Result<f64> {
    let table = Contingency::new("adjusted_rand_index", a, b)?;
    // Ordered pairs of distinct elements, counted exactly: together in both, in a, in b.
    let squares = |sizes: &mut dyn Iterator<Item = u64>| -> i128 {
        sizes.map(|k| i128::from(k).pow(2)).sum()
    };
    let n = i128::from(table.num_items);
    let both = squares(&mut table.cells.iter().map(|cell| cell.2));
    let in_a = squares(&mut table.a_sizes.iter().copied());
    let in_b = squares(&mut table.b_sizes.iter().copied());
    let together = (both - n) as f64;
    let only_a = (in_a - both) as f64;
    let only_b = (in_b - both) as f64;
    let apart = (n * n + both - in_a - in_b) as f64;
    if only_a == 0.0 && only_b == 0.0 {
        return Ok(1.0);
    }
    let chance = (together + only_a) * (only_a + apart) + (together + only_b) * (only_b + apart);
    Ok(2.0 * (together * apart - only_a * only_b) / chance)
}

/// Contingency table of two clusterings.
struct Contingency {
    num_items: u64,
    a_sizes: Vec<u64>,
    b_sizes: Vec<u64>,
    /// Non-zero cells `(cluster of a, cluster of b, size of the intersection)`, ascending.
    cells: Vec<(u32, u32, u64)>,
}

impl Contingency {
    fn new(op: &'static str, a: &[u32], b: &[u32]) -> Result<Self> {
        check_lengths(
            op,
            "nodes or graphs in one clustering",
            a.len(),
            "in the other",
            b.len(),
        )?;
        let (a, a_sizes) = consecutive(a);
        let (b, b_sizes) = consecutive(b);
        let mut pairs: Vec<(u32, u32)> = a.into_iter().zip(b).collect();
        pairs.sort_unstable();
        let cells = pairs
            .chunk_by(|p, q| p == q)
            .map(|same| (same[0].0, same[0].1, same.len() as u64))
            .collect();
        Ok(Self {
            num_items: pairs.len() as u64,
            a_sizes,
            b_sizes,
            cells,
        })
    }

    /// Returns scores that need no arithmetic: 1 for equal partitions, 0 if just one of them has a
    /// single cluster.
    fn trivial_score(&self) -> Option<f64> {
        let (a, b) = (self.a_sizes.len(), self.b_sizes.len());
        if a == b && self.cells.len() == a {
            return Some(1.0);
        }
        (a == 1 || b == 1).then_some(0.0)
    }

    fn entropy(&self, sizes: &[u64]) -> f64 {
        let share = |&k: &u64| k as f64 / self.num_items as f64;
        -sizes.iter().map(share).map(|p| p * p.ln()).sum::<f64>()
    }

    fn mutual_information(&self) -> f64 {
        let n = self.num_items as f64;
        let term = |&(i, j, k): &(u32, u32, u64)| {
            let (k, a, b) = (
                k as f64,
                self.a_sizes[i as usize] as f64,
                self.b_sizes[j as usize] as f64,
            );
            k / n * ((k * n).ln() - (a * b).ln())
        };
        self.cells.iter().map(term).sum::<f64>().max(0.0)
    }

    /// Computes the mean mutual information over all assignments to clusters of these sizes: each
    /// cell is then hypergeometric. Clusters of equal size share a term, so the cost is O(n √n) at
    /// most.
    fn expected_mutual_information(&self) -> f64 {
        let n = self.num_items as usize;
        let log_factorial = log_factorials(n);
        let (a_groups, b_groups) = (size_groups(&self.a_sizes), size_groups(&self.b_sizes));
        let mut expected = 0.0;
        for &(a, times_a) in &a_groups {
            for &(b, times_b) in &b_groups {
                let fixed = log_factorial[a]
                    + log_factorial[b]
                    + log_factorial[n - a]
                    + log_factorial[n - b]
                    - log_factorial[n];
                let log_outer = (a as f64 * b as f64).ln();
                let term = |k: usize| {
                    let log_probability = fixed
                        - log_factorial[k]
                        - log_factorial[a - k]
                        - log_factorial[b - k]
                        - log_factorial[n + k - a - b];
                    let information =
                        k as f64 / n as f64 * ((k as f64 * n as f64).ln() - log_outer);
                    information * log_probability.exp()
                };
                let smallest = (a + b).saturating_sub(n).max(1);
                expected += times_a * times_b * (smallest..=a.min(b)).map(term).sum::<f64>();
            }
        }
        expected
    }
}

/// Renumbers clusters to `0, 1, …` in order of appearance, and returns their sizes.
fn consecutive(clusters: &[u32]) -> (Vec<u32>, Vec<u64>) {
    let mut names = HashMap::new();
    let mut sizes = Vec::new();
    let mut renamed = Vec::with_capacity(clusters.len());
    for &c in clusters {
        let id = *names.entry(c).or_insert(sizes.len() as u32);
        if id as usize == sizes.len() {
            sizes.push(0);
        }
        sizes[id as usize] += 1;
        renamed.push(id);
    }
    (renamed, sizes)
}

/// Returns each distinct size and the number of clusters with it, ascending.
fn size_groups(sizes: &[u64]) -> Vec<(usize, f64)> {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    sorted
        .chunk_by(|a, b| a == b)
        .map(|same| (same[0] as usize, same.len() as f64))
        .collect()
}

/// Computes `ln k!` for `k` up to `n`, by compensated summation: the error is a few units in the
/// last place even for millions.
fn log_factorials(n: usize) -> Vec<f64> {
    let mut table = Vec::with_capacity(n + 1);
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    table.push(0.0);
    for k in 1..=n {
        let term = (k as f64).ln() - lost;
        let next = sum + term;
        lost = (next - sum) - term;
        sum = next;
        table.push(sum);
    }
    table
}

/// Computes Newman's modularity of a partition into communities, one number per node:
/// `Q = Σ_c [ W_c / W - resolution · (D_c / 2W)² ]`. `W` is the weight of all edges, `W_c` the
/// weight within community c and `D_c` the sum of its degrees. As NetworkX's `modularity`.
///
/// Fails for a graph without edges, whose modularity is 0/0, and for negative weights.
pub fn modularity(graph: &Graph, communities: &[u32], resolution: f64) -> Result<f64> {
    const OP: &str = "modularity";
    check_lengths(
        OP,
        "communities",
        communities.len(),
        "nodes",
        graph.num_nodes(),
    )?;
    if !(resolution.is_finite() && resolution >= 0.0) {
        return Err(Error::argument(
            OP,
            format!("resolution {resolution} must be a number of at least 0"),
        ));
    }
    if let Some(w) = graph.weights().and_then(|w| w.iter().find(|w| **w < 0.0)) {
        return Err(Error::unsupported(
            OP,
            format!("weight {w} is negative, at least 0 is needed"),
        ));
    }
    let degree = degrees(graph);
    let total: f64 = degree.iter().sum();
    if total == 0.0 {
        return Err(Error::unsupported(
            OP,
            "a graph without edges has no modularity",
        ));
    }
    let (community, sizes) = consecutive(communities);
    let mut inside = 0.0;
    for (u, v, w) in graph.weighted_edges() {
        if community[u as usize] == community[v as usize] {
            inside += 2.0 * w;
        }
    }
    let mut degree_sums = vec![0.0; sizes.len()];
    for (u, d) in degree.iter().enumerate() {
        degree_sums[community[u] as usize] += d;
    }
    let expected: f64 = degree_sums.iter().map(|d| (d / total).powi(2)).sum();
    Ok(inside / total - resolution * expected)
}

/// Counts of values in equal bins; the last bin includes its upper end.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Histogram {
    /// Lower end of the first bin.
    pub low: f64,
    /// Upper end of the last bin.
    pub high: f64,
    /// Number of values in each bin.
    pub counts: Vec<u64>,
}

impl Histogram {
    fn of(values: impl Iterator<Item = f64>, low: f64, high: f64, bins: usize) -> Self {
        let mut counts = vec![0u64; bins];
        for x in values {
            // A range of zero width puts everything into the first bin: 0/0 casts to 0.
            let bin = ((x - low) / (high - low) * bins as f64) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
        Self { low, high, counts }
    }
}

/// Computes a histogram of confidence over `[0, 1]`: the largest probability of each row.
///
/// Fails if a row is not a distribution (to within 1e-4: softmax in `f32` is that exact) or `bins`
/// is zero.
pub fn confidence_histogram<T>(probabilities: &DenseMatrix<T>, bins: usize) -> Result<Histogram>
where
    T: Copy + Default + Into<f64>,
{
    let rows = distributions("confidence_histogram", probabilities, bins)?;
    let largest = |row: Vec<f64>| row.into_iter().fold(0.0, f64::max);
    Ok(Histogram::of(rows.into_iter().map(largest), 0.0, 1.0, bins))
}

/// Computes a histogram of predictive entropy over `[0, ln C]`: the entropy of each row, in nats.
///
/// Fails as [`confidence_histogram`] does.
pub fn entropy_histogram<T>(probabilities: &DenseMatrix<T>, bins: usize) -> Result<Histogram>
where
    T: Copy + Default + Into<f64>,
{
    let rows = distributions("entropy_histogram", probabilities, bins)?;
    let entropy = |row: Vec<f64>| {
        -row.into_iter()
            .filter(|&p| p > 0.0)
            .map(|p| p * p.ln())
            .sum::<f64>()
    };
    let high = (probabilities.num_cols().max(1) as f64).ln();
    Ok(Histogram::of(
        rows.into_iter().map(entropy),
        0.0,
        high,
        bins,
    ))
}

/// Returns the rows, checked to be distributions.
fn distributions<T>(
    op: &'static str,
    probabilities: &DenseMatrix<T>,
    bins: usize,
) -> Result<Vec<Vec<f64>>>
where
    T: Copy + Default + Into<f64>,
{
    const SLACK: f64 = 1e-4;
    if bins == 0 {
        return Err(Error::argument(op, "at least one bin is needed"));
    }
    (0..probabilities.num_rows())
        .map(|i| {
            let row: Vec<f64> = probabilities.row(i).iter().map(|&p| p.into()).collect();
            if let Some(p) = row.iter().find(|p| !(0.0..=1.0 + SLACK).contains(*p)) {
                return Err(Error::argument(
                    op,
                    format!("row {i} has {p}, which is not a probability"),
                ));
            }
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > SLACK {
                return Err(Error::argument(
                    op,
                    format!("row {i} sums to {sum}, but probabilities sum to 1"),
                ));
            }
            Ok(row)
        })
        .collect()
}

/// Mean and standard deviation over runs.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct MeanStd {
    /// The mean.
    pub mean: f64,
    /// Sample standard deviation (divided by `runs - 1`); 0 for one run.
    pub std: f64,
    /// Number of values.
    pub runs: usize,
}

/// Computes mean and sample standard deviation. Fails for no values and for one that is not finite.
pub fn mean_std(values: &[f64]) -> Result<MeanStd> {
    const OP: &str = "mean_std";
    if values.is_empty() {
        return Err(Error::argument(OP, "there are no values"));
    }
    if let Some(i) = values.iter().position(|v| !v.is_finite()) {
        return Err(Error::argument(OP, format!("value {i} is {}", values[i])));
    }
    let runs = values.len();
    let mean = values.iter().sum::<f64>() / runs as f64;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let std = if runs == 1 {
        0.0
    } else {
        (squares / (runs - 1) as f64).sqrt()
    };
    Ok(MeanStd { mean, std, runs })
}

/// Mean difference of two methods over paired runs.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PairedDifference {
    /// Mean of `a - b`.
    pub mean: f64,
    /// Standard error of the mean; infinite for one pair.
    pub standard_error: f64,
    /// Number of pairs.
    pub n: usize,
}

impl PairedDifference {
    /// Returns true if the difference is more than two standard errors: only then is one method
    /// called better.
    pub fn is_clear(&self) -> bool {
        self.mean.abs() > 2.0 * self.standard_error
    }
}

/// Compares two methods run by run: equal splits, seeds and attacked inputs.
pub fn paired_difference(a: &[f64], b: &[f64]) -> Result<PairedDifference> {
    check_lengths(
        "paired_difference",
        "values of one method",
        a.len(),
        "of the other",
        b.len(),
    )?;
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let MeanStd { mean, std, runs: n } = mean_std(&differences)?;
    let standard_error = if n == 1 {
        f64::INFINITY
    } else {
        std / (n as f64).sqrt()
    };
    Ok(PairedDifference {
        mean,
        standard_error,
        n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{cycle, path};
    use proptest::prelude::*;

    fn clusters(n: u32, f: impl Fn(u32) -> u32) -> Vec<u32> {
        (0..n).map(f).collect()
    }

    /// scikit-learn 1.9.1: `adjusted_mutual_info_score(a, b)`, `adjusted_rand_score(a, b)`,
    /// `normalized_mutual_info_score(a, b)`.
    #[test]
    fn agrees_with_scikit_learn() {
        let cases = [
            // [0, 0, 1, 1], [0, 0, 1, 2]
            (
                vec![0, 0, 1, 1],
                vec![0, 0, 1, 2],
                0.5714285714285715,
                0.5714285714285714,
                0.7999999999999999,
            ),
            // [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]
            (
                clusters(6, |i| i / 3),
                clusters(6, |i| i / 2),
                0.2987924581708901,
                0.24242424242424243,
                0.5158037429793889,
            ),
            // [i % 3 for i in range(60)], [(i * i) % 5 for i in range(60)]
            (
                clusters(60, |i| i % 3),
                clusters(60, |i| i * i % 5),
                -0.03391122198083171,
                -0.032955715756951595,
                0.0,
            ),
            // [i // 100 for i in range(300)], [(i * 7919 % 300) // 60 for i in range(300)]
            (
                clusters(300, |i| i / 100),
                clusters(300, |i| i * 7919 % 300 / 60),
                -0.009710389685177342,
                -0.008662542182227222,
                0.0003694233893764097,
            ),
            // [i // 10 for i in range(1000)], [i // 37 for i in range(1000)]
            (
                clusters(1000, |i| i / 10),
                clusters(1000, |i| i / 37),
                0.7131163112054232,
                0.35093419983753044,
                0.8009318836933965,
            ),
            // [0, 1, 0, 1], [0, 0, 1, 1]
            (
                clusters(4, |i| i % 2),
                clusters(4, |i| i / 2),
                -0.49999999999999944,
                -0.5,
                0.0,
            ),
            // [0, 1, 2, 3], [0, 0, 0, 1]
            (
                clusters(4, |i| i),
                vec![0, 0, 0, 1],
                5.389698919029922e-16,
                0.0,
                0.5771596324111234,
            ),
        ];
        for (a, b, ami, ari, nmi) in cases {
            let got = adjusted_mutual_information(&a, &b).unwrap();
            assert!((got - ami).abs() < 1e-12, "AMI {got} against {ami}");
            let got = adjusted_rand_index(&a, &b).unwrap();
            assert!((got - ari).abs() < 1e-14, "ARI {got} against {ari}");
            let got = normalised_mutual_information(&a, &b).unwrap();
            assert!((got - nmi).abs() < 1e-13, "NMI {got} against {nmi}");
        }
        // [(i % 1000) // 10 for i in range(20000)], [(i * i % 997) % 40 for i in range(20000)]
        let (a, b) = (
            clusters(20_000, |i| i % 1000 / 10),
            clusters(20_000, |i| i * i % 997 % 40),
        );
        let got = adjusted_mutual_information(&a, &b).unwrap();
        assert!((got - 0.05642132950189816).abs() < 1e-10, "{got}");
    }

    #[test]
    fn trivial_clusterings() {
        for score in [
            adjusted_mutual_information,
            adjusted_rand_index,
            normalised_mutual_information,
        ] {
            assert_eq!(score(&[], &[]).unwrap(), 1.0);
            assert_eq!(score(&[5], &[2]).unwrap(), 1.0);
            assert_eq!(score(&[0, 0], &[3, 3]).unwrap(), 1.0);
            assert_eq!(score(&[0, 0, 0, 0], &[0, 1, 2, 3]).unwrap(), 0.0);
            // No other partition into singletons exists: a naive formula gives 0/0.
            let singles = clusters(3000, |i| i);
            assert_eq!(score(&singles, &singles).unwrap(), 1.0);
            let e = score(&[0], &[0, 1]).unwrap_err().to_string();
            assert!(
                e.ends_with("1 nodes or graphs in one clustering, but 2 in the other"),
                "{e}"
            );
        }
        let (singles, pairs) = (clusters(50, |i| i), clusters(50, |i| i / 2));
        assert!(adjusted_mutual_information(&singles, &pairs).unwrap().abs() < 1e-10);
    }

    #[test]
    fn unrelated_clusterings_score_about_zero() {
        use rand::RngExt;
        // 200 pairs of random clusterings of 100 elements: the mean score is 0 up to chance (its
        // standard error is below 0.002).
        let draw = |index| {
            let mut rng = crate::random::stream(1, "test", index);
            (0..100)
                .map(|_| rng.random_range(0..6u32))
                .collect::<Vec<_>>()
        };
        for score in [adjusted_mutual_information, adjusted_rand_index] {
            let sum: f64 = (0..200)
                .map(|i| score(&draw(2 * i), &draw(2 * i + 1)).unwrap())
                .sum();
            assert!((sum / 200.0).abs() < 0.006, "{}", sum / 200.0);
        }
    }

    proptest! {
        #[test]
        fn names_order_and_sides_do_not_matter(
            items in prop::collection::vec((0u32..5, 0u32..5), 1..40), shift in 1u32..1000, rotate in 0usize..40
        ) {
            let (a, b): (Vec<u32>, Vec<u32>) = items.iter().copied().unzip();
            let renamed: Vec<u32> = a.iter().map(|c| (7 - c).wrapping_mul(shift)).collect();
            let mut turned = items.clone();
            turned.rotate_left(rotate % items.len());
            let (turned_a, turned_b): (Vec<u32>, Vec<u32>) = turned.into_iter().unzip();
            for score in [adjusted_mutual_information, adjusted_rand_index, normalised_mutual_information] {
                let here = score(&a, &b).unwrap();
                prop_assert!((here - score(&renamed, &b).unwrap()).abs() < 1e-10);
                prop_assert!((here - score(&b, &a).unwrap()).abs() < 1e-10);
                prop_assert!((here - score(&turned_a, &turned_b).unwrap()).abs() < 1e-10);
                prop_assert_eq!(score(&a, &renamed).unwrap(), 1.0);
                prop_assert!(here <= 1.0 + 1e-10);
            }
        }

        #[test]
        fn the_rand_index_counts_pairs(items in prop::collection::vec((0u32..4, 0u32..4), 2..25)) {
            // Hubert and Arabie's formula from unordered pairs, counted one by one.
            let (mut both, mut in_a, mut in_b, mut all) = (0.0, 0.0, 0.0, 0.0);
            for (i, x) in items.iter().enumerate() {
                for y in &items[..i] {
                    all += 1.0;
                    in_a += f64::from(x.0 == y.0);
                    in_b += f64::from(x.1 == y.1);
                    both += f64::from(x == y);
                }
            }
            let (expected, largest) = (in_a * in_b / all, (in_a + in_b) / 2.0);
            prop_assume!(largest != expected);
            let (a, b): (Vec<u32>, Vec<u32>) = items.into_iter().unzip();
            let got = adjusted_rand_index(&a, &b).unwrap();
            prop_assert!((got - (both - expected) / (largest - expected)).abs() < 1e-12);
        }
    }

    #[test]
    fn log_factorials_are_exact() {
        // scipy.special.gammaln([11, 1001, 1000001])
        let table = log_factorials(1_000_000);
        for (k, expected) in [
            (10, 15.104412573075516),
            (1000, 5912.128178488164),
            (1_000_000, 12815518.384658169),
        ] {
            assert!(
                (table[k] - expected).abs() <= 1e-15 * expected,
                "{k}: {}",
                table[k]
            );
        }
    }

    #[test]
    fn modularity_agrees_with_networkx() {
        // nx.community.modularity(g, [{0, 1}, {2, 3}]) and (g, [{0, 1, 3}, {2}], resolution=2.0),
        // networkx 3.6.1
        let edges = [
            (0, 1, 2.0),
            (1, 2, 0.5),
            (2, 3, 1.5),
            (3, 0, 1.0),
            (1, 3, 4.0),
        ];
        let g = Graph::from_weighted_edges(4, edges).unwrap().0;
        assert!((modularity(&g, &[0, 0, 1, 1], 1.0).unwrap() + 0.1126543209876543).abs() < 1e-15);
        assert!((modularity(&g, &[9, 9, 4, 9], 2.0).unwrap() + 0.8271604938271604).abs() < 1e-15);
        // A cycle of six in two arcs of three: 4/6 - 2 (1/2)². One community: 0.
        assert!(
            (modularity(&cycle(6).unwrap(), &[0, 0, 0, 1, 1, 1], 1.0).unwrap() - 1.0 / 6.0).abs()
                < 1e-15
        );
        assert_eq!(modularity(&cycle(6).unwrap(), &[3; 6], 1.0).unwrap(), 0.0);
    }

    #[test]
    fn modularity_refuses_what_has_none() {
        let fault = |g: &Graph, c: &[u32], r| modularity(g, c, r).unwrap_err().to_string();
        assert_eq!(
            fault(&Graph::empty(2).unwrap(), &[0, 0], 1.0),
            "modularity: a graph without edges has no modularity"
        );
        assert_eq!(
            fault(&path(3).unwrap(), &[0, 0], 1.0),
            "modularity: 2 communities, but 3 nodes"
        );
        assert!(fault(&path(2).unwrap(), &[0, 0], f64::NAN).contains("resolution NaN must be"));
        let negative = Graph::from_weighted_edges(2, [(0, 1, -1.0)]).unwrap().0;
        assert!(fault(&negative, &[0, 0], 1.0).contains("weight -1 is negative"));
    }

    fn labels() -> Labels {
        Labels::new(vec![Some(0), Some(1), Some(1), None, Some(2)], 3).unwrap()
    }

    #[test]
    fn accuracy_and_confusion_by_hand() {
        let predictions = [0, 2, 1, 0, 2];
        assert_eq!(
            accuracy(&predictions, &labels(), &[0, 1, 2, 4]).unwrap(),
            0.75
        );
        assert_eq!(accuracy(&predictions, &labels(), &[1]).unwrap(), 0.0);
        let counts = confusion_matrix(&predictions, &labels(), &[0, 1, 2, 4]).unwrap();
        assert_eq!(counts.data(), [1, 0, 0, 0, 1, 1, 0, 0, 1]);
        let fault =
            |p: &[u32], items: &[u32]| accuracy(p, &labels(), items).unwrap_err().to_string();
        assert_eq!(
            fault(&predictions, &[]),
            "accuracy: there are no nodes or graphs to score"
        );
        assert_eq!(
            fault(&predictions, &[3]),
            "accuracy: node or graph 3 has no label"
        );
        assert_eq!(
            fault(&predictions, &[5]),
            "accuracy: node or graph 5 is out of range, there are 5 labels"
        );
        assert_eq!(
            fault(&predictions[..4], &[0]),
            "accuracy: 4 predictions, but 5 labels"
        );
        let e = confusion_matrix(&[0, 7, 0, 0, 0], &labels(), &[1])
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "confusion_matrix: node or graph 1 is predicted as class 7, but there are 3 classes"
        );
    }

    #[test]
    fn success_is_counted_among_items_right_before() {
        let all = [0, 1, 2, 3, 4];
        let clean = [0, 1, 0, 0, 2];
        // Correct before: 0, 1, 4. Errors after among them: 1. Item 2 became correct, item 3 has no
        // label.
        assert_eq!(
            attack_success_rate(&clean, &[0, 2, 1, 1, 2], &labels(), &all).unwrap(),
            Some(1.0 / 3.0)
        );
        assert_eq!(
            attack_success_rate(&clean, &clean, &labels(), &all).unwrap(),
            Some(0.0)
        );
        assert_eq!(
            attack_success_rate(&clean, &[1; 5], &labels(), &[2, 3]).unwrap(),
            None
        );
        let e = attack_success_rate(&clean, &[0], &labels(), &all)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "attack_success_rate: 5 clean predictions, but 1 attacked ones"
        );
        assert!(
            attack_success_rate(&clean, &clean, &labels(), &[9])
                .unwrap_err()
                .to_string()
                .contains("node or graph 9 is out")
        );
    }

    #[test]
    fn histograms_by_hand() {
        let p = DenseMatrix::new(4, 2, vec![1.0, 0.0, 0.5, 0.5, 0.25, 0.75, 0.0, 1.0]).unwrap();
        let h = confidence_histogram(&p, 4).unwrap();
        assert_eq!(
            h,
            Histogram {
                low: 0.0,
                high: 1.0,
                counts: vec![0, 0, 1, 3]
            }
        );
        // Entropies 0, ln 2, 0.562, 0 of at most 0.693.
        let h = entropy_histogram(&p, 2).unwrap();
        assert_eq!(
            h,
            Histogram {
                low: 0.0,
                high: 2f64.ln(),
                counts: vec![2, 2]
            }
        );
        let single = DenseMatrix::new(3, 1, vec![1.0f32; 3]).unwrap();
        assert_eq!(
            entropy_histogram(&single, 5).unwrap().counts,
            [3, 0, 0, 0, 0]
        );
        assert_eq!(
            confidence_histogram(&DenseMatrix::<f32>::zeros(0, 3), 2)
                .unwrap()
                .counts,
            [0, 0]
        );
    }

    #[test]
    fn rows_that_are_no_distributions_are_named() {
        let fault = |row: [f64; 2]| {
            let p = DenseMatrix::new(2, 2, vec![1.0, 0.0, row[0], row[1]]).unwrap();
            let e = entropy_histogram(&p, 2).unwrap_err().to_string();
            assert!(confidence_histogram(&p, 2).is_err());
            e
        };
        assert_eq!(
            fault([0.5, 0.6]),
            "entropy_histogram: row 1 sums to 1.1, but probabilities sum to 1"
        );
        assert_eq!(
            fault([-0.5, 1.5]),
            "entropy_histogram: row 1 has -0.5, which is not a probability"
        );
        assert_eq!(
            fault([f64::NAN, 1.0]),
            "entropy_histogram: row 1 has NaN, which is not a probability"
        );
        let p = DenseMatrix::new(1, 1, vec![1.0]).unwrap();
        assert_eq!(
            entropy_histogram(&p, 0).unwrap_err().to_string(),
            "entropy_histogram: at least one bin is needed"
        );
    }

    #[test]
    fn means_and_errors_by_hand() {
        assert_eq!(
            mean_std(&[1.0, 2.0, 3.0]).unwrap(),
            MeanStd {
                mean: 2.0,
                std: 1.0,
                runs: 3
            }
        );
        assert_eq!(
            mean_std(&[5.0]).unwrap(),
            MeanStd {
                mean: 5.0,
                std: 0.0,
                runs: 1
            }
        );
        assert_eq!(
            mean_std(&[]).unwrap_err().to_string(),
            "mean_std: there are no values"
        );
        assert_eq!(
            mean_std(&[1.0, f64::NAN]).unwrap_err().to_string(),
            "mean_std: value 1 is NaN"
        );
        // Differences 1, 2, 3, 2: standard deviation √(2/3), standard error √(2/3) / 2.
        let d = paired_difference(&[2.0, 4.0, 6.0, 8.0], &[1.0, 2.0, 3.0, 6.0]).unwrap();
        assert_eq!((d.mean, d.n), (2.0, 4));
        assert!((d.standard_error - (2f64 / 3.0).sqrt() / 2.0).abs() < 1e-15);
        assert!(d.is_clear());
        assert!(
            !paired_difference(&[5.0], &[0.0]).unwrap().is_clear(),
            "one run proves nothing"
        );
        assert!(
            !paired_difference(&[1.0, 0.0], &[0.0, 1.0])
                .unwrap()
                .is_clear()
        );
        let e = paired_difference(&[1.0], &[]).unwrap_err().to_string();
        assert_eq!(
            e,
            "paired_difference: 1 values of one method, but 0 of the other"
        );
    }
}
