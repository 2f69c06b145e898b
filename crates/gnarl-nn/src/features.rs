//! What is done to features before a network sees them.
//!
//! [`FeatureScaling`] is the choice, [`Scaler`] the choice with what it learned of the features it
//! was fitted to: a fitted model keeps it. Left open, the columns decide ([`FeatureKind`]):
//! continuous ones are standardised, and of words the validation items say whether rows are divided
//! by their sums (`model/fit.rs`).

use gnarl_graph::{CsrMatrix, DenseMatrix, Error, Features, Graph, Result};
use serde::{Deserialize, Serialize};

gnarl_graph::named! {
    /// What is done to features before a network sees them.
    pub enum FeatureScaling as "feature scaling" {
        /// What the columns and the validation items say.
        Auto = "auto",
        /// Nothing.
        AsLoaded = "as-loaded",
        /// Every row divided by the sum of its absolute values; rows of zeros stay.
        RowNormalised = "row-normalised",
        /// Every column to mean 0 and deviation 1 over the training graphs. Columns of zeros and
        /// ones stay, and those that are mostly zero keep their zeros.
        Standardised = "standardised",
    }
}

/// One-hot degrees of a graph, one entry a row: column `min(degree, max)` of `max + 1`. What stands
/// for features in a set of graphs that has none.
pub fn one_hot_degrees(graph: &Graph, max: usize) -> Features {
    let n = graph.num_nodes();
    let columns = (0..n as u32)
        .map(|u| graph.degree(u).min(max) as u32)
        .collect();
    let one_hot = CsrMatrix::new(max + 1, (0..=n as u64).collect(), columns, vec![1f32; n]);
    Features::Sparse(one_hot.expect("one column below max + 1 in each row"))
}

/// What features look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureKind {
    /// There are none, or every row is one-hot: no scaling changes anything.
    Plain,
    /// Entries that are mostly zero and never negative: words, counts, memberships.
    Words,
    /// At least one column of real numbers.
    Continuous,
}

impl FeatureKind {
    /// Of the features of some graphs. O(entries).
    pub fn of<'a>(graphs: impl Iterator<Item = &'a Graph> + Clone) -> Self {
        let columns = Columns::of(graphs.clone()).0;
        // A few words that nearly everybody uses are words nevertheless: columns that are not zeros
        // and ones are judged together.
        let numbers = columns.iter().filter(|c| c.has_others);
        let (nonzero, entries) = numbers
            .clone()
            .fold((0, 0), |(n, all), c| (n + c.nonzero, all + c.rows));
        if numbers.clone().any(|c| c.has_negative) || 2 * nonzero > entries {
            return FeatureKind::Continuous;
        }
        let is_changed = |f: &Features| Scaler::RowNormalised.apply(f) != *f;
        let mut blocks = graphs.flat_map(Graph::feature_blocks);
        if blocks.any(|(_, features)| is_changed(&features)) {
            FeatureKind::Words
        } else {
            FeatureKind::Plain
        }
    }
}

/// A scaling with what it learned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaler {
    /// Nothing is done.
    #[default]
    AsLoaded,
    /// Rows are divided by the sum of their absolute values.
    RowNormalised,
    /// Columns are centred and divided.
    Standardised(Vec<Column>),
}

/// What is taken from a column and what it is then divided by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Taken from every entry; zero for a column that keeps its zeros.
    pub mean: f64,
    /// Divides every entry; one for a column that stays.
    pub deviation: f64,
}

impl Scaler {
    /// Learns from the features of some graphs what a scaling needs to know.
    pub fn fit<'a>(
        scaling: FeatureScaling,
        graphs: impl Iterator<Item = &'a Graph>,
    ) -> Result<Self> {
        match scaling {
            FeatureScaling::AsLoaded => Ok(Scaler::AsLoaded),
            FeatureScaling::RowNormalised => Ok(Scaler::RowNormalised),
            FeatureScaling::Standardised => {
                let columns = Columns::of(graphs);
                Ok(Scaler::Standardised(
                    columns.0.iter().map(ColumnSums::column).collect(),
                ))
            }
            FeatureScaling::Auto => Err(Error::setting(
                "features",
                "auto must be settled before anything is scaled",
            )),
        }
    }

    /// Whether it leaves every entry as it is, as where all columns are zeros and ones.
    pub fn is_idle(&self) -> bool {
        match self {
            Scaler::AsLoaded => true,
            Scaler::RowNormalised => false,
            Scaler::Standardised(columns) => {
                columns.iter().all(|c| c.mean == 0.0 && c.deviation == 1.0)
            }
        }
    }

    /// The choice that it is.
    pub fn scaling(&self) -> FeatureScaling {
        match self {
            Scaler::AsLoaded => FeatureScaling::AsLoaded,
            Scaler::RowNormalised => FeatureScaling::RowNormalised,
            Scaler::Standardised(_) => FeatureScaling::Standardised,
        }
    }

    /// Refuses what no features could have taught, as from a broken file.
    pub fn check(&self, num_columns: usize) -> Result<()> {
        let Scaler::Standardised(columns) = self else {
            return Ok(());
        };
        let fits = |c: &Column| c.mean.is_finite() && c.deviation.is_finite() && c.deviation > 0.0;
        match columns.len() == num_columns && columns.iter().all(fits) {
            true => Ok(()),
            false => Err(Error::setting(
                "features",
                "the stored means and deviations do not fit the columns",
            )),
        }
    }

    /// The graph with its features scaled; one without features as it is.
    pub fn scaled(&self, graph: &Graph) -> Result<Graph> {
        match graph.features() {
            Some(features) => graph.clone().with_features(self.apply(features)),
            None => Ok(graph.clone()),
        }
    }

    /// The same of features that nobody needs as they were: without a copy where nothing is done to
    /// them.
    pub fn apply_to(&self, features: Features) -> Features {
        if self.is_idle() {
            features
        } else {
            self.apply(&features)
        }
    }

    /// The scaled features. Columns beyond those learned of stay.
    pub fn apply(&self, features: &Features) -> Features {
        match self {
            Scaler::AsLoaded => features.clone(),
            Scaler::RowNormalised => row_normalised(features),
            Scaler::Standardised(columns) => standardised(features, columns),
        }
    }
}

fn row_normalised(features: &Features) -> Features {
    let shrink = |row: &mut [f32]| {
        let total: f32 = row.iter().map(|v| v.abs()).sum();
        if total > 0.0 {
            row.iter_mut().for_each(|v| *v /= total);
        }
    };
    match features {
        Features::Dense(m) => {
            let mut data = m.data().to_vec();
            data.chunks_exact_mut(m.num_cols().max(1)).for_each(shrink);
            Features::Dense(DenseMatrix::new(m.num_rows(), m.num_cols(), data).expect("same shape"))
        }
        Features::Sparse(m) => {
            let mut values = m.values().to_vec();
            for bounds in m.offsets().windows(2) {
                shrink(&mut values[bounds[0] as usize..bounds[1] as usize]);
            }
            Features::Sparse(m.with_values(values))
        }
    }
}

/// Sparse features stay sparse where no column loses its zeros.
fn standardised(features: &Features, columns: &[Column]) -> Features {
    let scale = |v: f32, c: usize| match columns.get(c) {
        Some(column) => ((f64::from(v) - column.mean) / column.deviation) as f32,
        None => v,
    };
    if let (Features::Sparse(m), true) = (features, columns.iter().all(|c| c.mean == 0.0)) {
        let values = m
            .values()
            .iter()
            .zip(m.indices())
            .map(|(&v, &c)| scale(v, c as usize))
            .collect();
        return Features::Sparse(m.with_values(values));
    }
    let dense = features.to_dense();
    let width = dense.num_cols().max(1);
    let data = dense
        .data()
        .iter()
        .enumerate()
        .map(|(k, &v)| scale(v, k % width))
        .collect();
    Features::Dense(DenseMatrix::new(dense.num_rows(), dense.num_cols(), data).expect("same shape"))
}

/// What is summed up of each column.
struct Columns(Vec<ColumnSums>);

#[derive(Clone, Copy, Default)]
struct ColumnSums {
    rows: usize,
    nonzero: usize,
    sum: f64,
    squares: f64,
    /// Whether an entry is neither zero nor one.
    has_others: bool,
    has_negative: bool,
}

impl Columns {
    fn of<'a>(graphs: impl Iterator<Item = &'a Graph>) -> Self {
        let mut columns: Vec<ColumnSums> = Vec::new();
        let mut rows = 0;
        for (_, features) in graphs.flat_map(Graph::feature_blocks) {
            columns.resize(
                columns.len().max(features.num_cols()),
                ColumnSums::default(),
            );
            rows += features.num_rows();
            match &*features {
                Features::Sparse(m) => {
                    m.indices()
                        .iter()
                        .zip(m.values())
                        .for_each(|(&c, &v)| columns[c as usize].add(v));
                }
                Features::Dense(m) => {
                    let width = m.num_cols().max(1);
                    m.data()
                        .iter()
                        .enumerate()
                        .for_each(|(k, &v)| columns[k % width].add(v));
                }
            }
        }
        columns.iter_mut().for_each(|c| c.rows = rows);
        Self(columns)
    }
}

impl ColumnSums {
    fn add(&mut self, v: f32) {
        if v == 0.0 {
            return;
        }
        let value = f64::from(v);
        self.nonzero += 1;
        self.sum += value;
        self.squares += value * value;
        self.has_others |= v != 1.0;
        self.has_negative |= v < 0.0;
    }

    /// Real numbers, and not words or counts: mostly not zero, or negative.
    fn is_continuous(&self) -> bool {
        self.has_others && (self.has_negative || 2 * self.nonzero > self.rows)
    }

    fn column(&self) -> Column {
        const STAYS: Column = Column {
            mean: 0.0,
            deviation: 1.0,
        };
        let rows = self.rows.max(1) as f64;
        let mean = self.sum / rows;
        let deviation = (self.squares / rows - mean * mean).max(0.0).sqrt();
        // What varies by less than a float can tell apart is a constant.
        if !self.has_others || deviation <= 1e-6 * mean.abs() || !deviation.is_finite() {
            return STAYS;
        }
        Column {
            mean: if self.is_continuous() { mean } else { 0.0 },
            deviation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(cols: usize, data: &[f32]) -> Graph {
        let features =
            Features::Dense(DenseMatrix::new(data.len() / cols, cols, data.to_vec()).unwrap());
        Graph::empty(data.len() / cols)
            .unwrap()
            .with_features(features)
            .unwrap()
    }

    fn values(features: &Features) -> Vec<f32> {
        features.to_dense().data().to_vec()
    }

    #[test]
    fn columns_say_what_features_are() {
        let kind = |cols, data: &[f32]| FeatureKind::of([graph(cols, data)].iter());
        assert_eq!(
            FeatureKind::of([Graph::empty(3).unwrap()].iter()),
            FeatureKind::Plain
        );
        assert_eq!(
            kind(2, &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
            FeatureKind::Plain,
            "one-hot"
        );
        assert_eq!(
            kind(3, &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
            FeatureKind::Words,
            "two words in a row"
        );
        assert_eq!(
            kind(3, &[3.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.5]),
            FeatureKind::Words,
            "counts, weights"
        );
        assert_eq!(kind(1, &[0.2, -0.4, 0.1]), FeatureKind::Continuous);
        assert_eq!(
            kind(2, &[1.0, 17.0, 0.0, 18.5, 1.0, 21.0]),
            FeatureKind::Continuous,
            "one column is enough"
        );
        let a_common_word = [0.3, 0.0, 0.2, 0.7, 0.0, 0.0, 0.4, 0.5, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(
            kind(3, &a_common_word),
            FeatureKind::Words,
            "three of four nodes have the first"
        );
    }

    #[test]
    fn standardising_learns_from_some_and_is_done_to_others() {
        let train = graph(
            4,
            &[
                1.0, 10.0, 7.0, 0.0, 0.0, 14.0, 7.0, 0.0, 1.0, 12.0, 7.0, 4.0,
            ],
        );
        let scaler = Scaler::fit(FeatureScaling::Standardised, [&train].into_iter()).unwrap();
        let Scaler::Standardised(columns) = &scaler else {
            panic!("{scaler:?}")
        };
        assert_eq!(
            columns[0],
            Column {
                mean: 0.0,
                deviation: 1.0
            },
            "zeros and ones stay"
        );
        assert!(
            (columns[1].mean - 12.0).abs() < 1e-12
                && (columns[1].deviation - (8f64 / 3.0).sqrt()).abs() < 1e-12
        );
        assert_eq!(
            columns[2],
            Column {
                mean: 0.0,
                deviation: 1.0
            },
            "a constant has no deviation"
        );
        assert_eq!(columns[3].mean, 0.0, "mostly zero: zeros stay");
        let other = graph(4, &[0.0, 12.0, 9.0, 0.0]);
        assert_eq!(
            values(&scaler.apply(other.features().unwrap())),
            [0.0, 0.0, 9.0, 0.0]
        );
        assert_eq!(scaler.scaling(), FeatureScaling::Standardised);
        assert!(scaler.check(4).is_ok() && scaler.check(5).is_err());
        let text = serde_json::to_string(&scaler).unwrap();
        assert_eq!(serde_json::from_str::<Scaler>(&text).unwrap(), scaler);
        assert!(
            Scaler::fit(FeatureScaling::Auto, [&train].into_iter())
                .unwrap_err()
                .to_string()
                .contains("settled")
        );
    }

    #[test]
    fn sparse_features_stay_sparse_where_zeros_do() {
        let words = CsrMatrix::new(3, vec![0, 1, 2, 2], vec![0, 2], vec![2f32, 6.0]).unwrap();
        let graph = Graph::empty(3)
            .unwrap()
            .with_features(Features::Sparse(words))
            .unwrap();
        let scaler = Scaler::fit(FeatureScaling::Standardised, [&graph].into_iter()).unwrap();
        let Features::Sparse(scaled) = scaler.apply(graph.features().unwrap()) else {
            panic!("dense")
        };
        assert_eq!(scaled.indices(), [0, 2]);
        let normalised = Scaler::RowNormalised.apply(graph.features().unwrap());
        assert_eq!(
            values(&normalised),
            [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        );
    }
}
