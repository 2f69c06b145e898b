//! Feature scaling before a network.
//!
//! [`FeatureScaling`] is the choice, [`Scaler`] the choice with its fitted statistics, which a
//! fitted model stores. The default depends on the columns ([`FeatureKind`]): continuous columns
//! are standardised. For bag-of-words features, the validation nodes or graphs decide if rows are
//! divided by their sums (`model/fit.rs`).

use gnarl_graph::{CsrMatrix, DenseMatrix, Error, Features, Graph, Result};
use serde::{Deserialize, Serialize};

gnarl_graph::named! {
    /// Feature scaling before a network.
    pub enum FeatureScaling as "feature scaling" {
        /// Selected from the columns and the validation nodes or graphs.
        Auto = "auto",
        /// No scaling.
        AsLoaded = "as-loaded",
        /// Divides every row by the sum of its absolute values; rows of zeros stay.
        RowNormalised = "row-normalised",
        /// Scales every column to mean 0 and standard deviation 1 over the training graphs. Columns
        /// of zeros and ones stay, and columns that are mostly zero keep their zeros.
        Standardised = "standardised",
    }
}

/// Returns one-hot degrees of a graph, one entry a row: column `min(degree, max)` of `max + 1`.
/// They are the features in a set of graphs without features.
pub fn one_hot_degrees(graph: &Graph, max: usize) -> Features {
    let n = graph.num_nodes();
    let columns = (0..n as u32)
        .map(|u| graph.degree(u).min(max) as u32)
        .collect();
    let one_hot = CsrMatrix::new(max + 1, (0..=n as u64).collect(), columns, vec![1f32; n]);
    Features::Sparse(one_hot.expect("one column below max + 1 in each row"))
}

/// Kind of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureKind {
    /// No features, or one-hot rows: no scaling changes anything.
    Plain,
    /// Non-negative entries that are mostly zero: words, counts, memberships.
    Words,
    /// At least one column of real numbers.
    Continuous,
}

impl FeatureKind {
    /// Returns the kind of the features of some graphs. O(entries).
    pub fn of<'a>(graphs: impl Iterator<Item = &'a Graph> + Clone) -> Self {
        let columns = Columns::of(graphs.clone()).0;
        // A few very frequent words are words nevertheless: columns other than zeros and ones are
        // judged together.
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

/// Fitted scaling.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaler {
    /// No scaling.
    #[default]
    AsLoaded,
    /// Divides rows by the sum of their absolute values.
    RowNormalised,
    /// Centres and divides columns.
    Standardised(Vec<Column>),
}

/// Statistics of a column: the mean to subtract and the standard deviation to divide by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Mean subtracted from every entry; zero for a column that keeps its zeros.
    pub mean: f64,
    /// Standard deviation that divides every entry; one for an unscaled column. Stored as
    /// `deviation`.
    #[serde(rename = "deviation")]
    pub standard_deviation: f64,
}

impl Scaler {
    /// Fits a scaling to the features of some graphs.
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
                "auto must be resolved before features are scaled",
            )),
        }
    }

    /// Returns true if it changes no entry, for example if all columns are zeros and ones.
    pub fn is_idle(&self) -> bool {
        match self {
            Scaler::AsLoaded => true,
            Scaler::RowNormalised => false,
            Scaler::Standardised(columns) => columns
                .iter()
                .all(|c| c.mean == 0.0 && c.standard_deviation == 1.0),
        }
    }

    /// Returns the choice of scaling.
    pub fn scaling(&self) -> FeatureScaling {
        match self {
            Scaler::AsLoaded => FeatureScaling::AsLoaded,
            Scaler::RowNormalised => FeatureScaling::RowNormalised,
            Scaler::Standardised(_) => FeatureScaling::Standardised,
        }
    }

    /// Checks that the statistics could have come from features; a corrupt file may have others.
    pub fn check(&self, num_columns: usize) -> Result<()> {
        let Scaler::Standardised(columns) = self else {
            return Ok(());
        };
        let fits = |c: &Column| {
            c.mean.is_finite() && c.standard_deviation.is_finite() && c.standard_deviation > 0.0
        };
        if columns.len() == num_columns && columns.iter().all(fits) {
            Ok(())
        } else {
            Err(Error::setting(
                "features",
                "the stored means and standard deviations do not fit the columns",
            ))
        }
    }

    /// Returns the graph with scaled features; a graph without features is unchanged.
    pub fn scaled(&self, graph: &Graph) -> Result<Graph> {
        match graph.features() {
            Some(features) => graph.clone().with_features(self.apply(features)),
            None => Ok(graph.clone()),
        }
    }

    /// Scales owned features, without a copy if nothing changes.
    pub fn apply_to(&self, features: Features) -> Features {
        if self.is_idle() {
            features
        } else {
            self.apply(&features)
        }
    }

    /// Returns the scaled features. Columns beyond the fitted ones stay.
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

/// Sparse features stay sparse if no column loses its zeros.
fn standardised(features: &Features, columns: &[Column]) -> Features {
    let scale = |v: f32, c: usize| match columns.get(c) {
        Some(column) => ((f64::from(v) - column.mean) / column.standard_deviation) as f32,
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

/// Sums over each column.
struct Columns(Vec<ColumnSums>);

#[derive(Clone, Copy, Default)]
struct ColumnSums {
    rows: usize,
    nonzero: usize,
    sum: f64,
    squares: f64,
    /// True if an entry is neither zero nor one.
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

    /// Returns true for real numbers, as opposed to words or counts: mostly not zero, or negative.
    fn is_continuous(&self) -> bool {
        self.has_others && (self.has_negative || 2 * self.nonzero > self.rows)
    }

    fn column(&self) -> Column {
        const STAYS: Column = Column {
            mean: 0.0,
            standard_deviation: 1.0,
        };
        let rows = self.rows.max(1) as f64;
        let mean = self.sum / rows;
        let standard_deviation = (self.squares / rows - mean * mean).max(0.0).sqrt();
        // A variation below the precision of a float counts as constant.
        if !self.has_others
            || standard_deviation <= 1e-6 * mean.abs()
            || !standard_deviation.is_finite()
        {
            return STAYS;
        }
        Column {
            mean: if self.is_continuous() { mean } else { 0.0 },
            standard_deviation,
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
                standard_deviation: 1.0
            },
            "zeros and ones stay"
        );
        assert!(
            (columns[1].mean - 12.0).abs() < 1e-12
                && (columns[1].standard_deviation - (8f64 / 3.0).sqrt()).abs() < 1e-12
        );
        assert_eq!(
            columns[2],
            Column {
                mean: 0.0,
                standard_deviation: 1.0
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
                .contains("resolved")
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
