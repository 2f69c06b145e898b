//! Node centrality: degree, core number, PageRank and walk count, as in the centrality graph shift
//! operators (CGSOs) of [Abbahaddou et al. 2024](https://arxiv.org/abs/2411.04655). The degree of
//! the closed neighbourhood, by which a graph convolution is scaled, is here as well.
//!
//! [`Centrality::scores`] returns the plain measure. [`Centrality::values`] returns the `v` of the
//! centrality matrix `V = diag(v)`. The two differ for PageRank alone: there `v = 1 / (1 - PR)`.
//!
//! | file | contents |
//! | --- | --- |
//! | `degree` | number of neighbours |
//! | `core` | core numbers |
//! | `pagerank` | PageRank, by conjugate gradients |
//! | `walks` | number of walks of a given length |
//! | `closed_degree` | degree of the closed neighbourhood |
//!
//! To add a centrality: a file with its settings that implements [`Measure`], the file's `mod`
//! line, and a line in the list below.

mod closed_degree;
mod core;
mod degree;
mod pagerank;
mod walks;

use std::fmt;
use std::str::FromStr;

pub use self::closed_degree::ClosedDegree;
pub use self::core::{Core, core_numbers};
pub use self::degree::{Degree, degrees};
pub use self::pagerank::{PageRank, PageRankSettings, pagerank};
pub use self::walks::{Walks, walk_counts};

use crate::error::{Error, Result};
use crate::graph::Graph;

/// A centrality measure with its settings.
pub trait Measure {
    /// Returns the measure for every node.
    fn scores(&self, graph: &Graph) -> Result<Vec<f64>>;

    /// Returns the diagonal `v` of the centrality matrix; the scores by default.
    fn values(&self, graph: &Graph) -> Result<Vec<f64>> {
        self.scores(graph)
    }

    /// Returns the text after the name and a colon, as `3` in `walks:3`; `None` for the defaults.
    fn suffix(&self) -> Option<String> {
        None
    }

    /// Returns the measure with the setting of this suffix; `None` if its name has no suffix.
    fn with_suffix(&self, _suffix: &str) -> Option<Result<Centrality>> {
        None
    }
}

crate::listed_choices! {
    /// A centrality measure. Its text form is its name, with a suffix for settings that are not the
    /// defaults: `walks:3`.
    #[derive(Eq, Hash)]
    pub enum Centrality: dyn Measure as "centrality" {
        DEGREE = Degree(Degree),
        CORE = Core(Core),
        PAGERANK = PageRank(PageRank),
        WALKS = Walks(Walks),
        CLOSED_DEGREE = ClosedDegree(ClosedDegree),
    }
}

impl Centrality {
    /// The four measures of the CGSO paper.
    pub const ALL: [Centrality; 4] = [Self::DEGREE, Self::CORE, Self::PAGERANK, Self::WALKS];

    /// Returns the number of walks of this length.
    pub const fn walks(length: u32) -> Self {
        Self::Walks(Walks { length })
    }

    /// Returns the measure for every node.
    pub fn scores(self, graph: &Graph) -> Result<Vec<f64>> {
        self.method().scores(graph)
    }

    /// Returns the diagonal `v` of the centrality matrix: the scores, but `1 / (1 - PR)` for
    /// PageRank.
    ///
    /// For a graph of one node, whose PageRank is 1, that is infinite: an error.
    pub fn values(self, graph: &Graph) -> Result<Vec<f64>> {
        self.method().values(graph)
    }
}

impl fmt::Display for Centrality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method().suffix() {
            None => f.write_str(self.name()),
            Some(suffix) => write!(f, "{}:{suffix}", self.name()),
        }
    }
}

impl FromStr for Centrality {
    type Err = Error;

    /// Reads `degree`, `core`, `pagerank`, `walks` (length 2), `walks:LENGTH` or `closed-degree`.
    fn from_str(name: &str) -> Result<Self> {
        let lower = name.to_lowercase();
        let (plain, suffix) = match lower.split_once(':') {
            Some((plain, suffix)) => (plain, Some(suffix)),
            None => (lower.as_str(), None),
        };
        let found = Self::all().find(|known| known.name() == plain);
        let read = match (found, suffix) {
            (Some(found), Some(suffix)) => found.method().with_suffix(suffix),
            (found, _) => found.map(Ok),
        };
        read.unwrap_or_else(|| {
            let names = Self::LIST.iter().map(|known| known.name);
            Err(Error::unknown("centrality", name, names))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::assert_listed;

    #[test]
    fn the_list_is_that_of_the_settings() {
        assert_listed(Centrality::LIST, Centrality::all().map(|c| c.stored()));
        assert!(Centrality::all().eq(Centrality::DEFAULTS));
        assert_eq!(Centrality::ALL, Centrality::DEFAULTS[..4]);
    }

    #[test]
    fn names_round_trip() {
        for c in Centrality::ALL
            .into_iter()
            .chain([Centrality::walks(5), Centrality::CLOSED_DEGREE])
        {
            assert_eq!(c.to_string().parse::<Centrality>().unwrap(), c);
        }
        assert_eq!("Core".parse::<Centrality>().unwrap(), Centrality::CORE);
        assert!(
            "degre"
                .parse::<Centrality>()
                .unwrap_err()
                .to_string()
                .contains("did you mean degree?")
        );
        let refusal = |name: &str| name.parse::<Centrality>().unwrap_err().to_string();
        let e = refusal("walks:x");
        assert!(
            e.contains("walk length 'x' is not a whole number, as in walks:3"),
            "{e}"
        );
        assert!(refusal("degree:3").contains("unknown centrality 'degree:3'"));
        assert_eq!("WALKS:2".parse::<Centrality>().unwrap(), Centrality::WALKS);
        assert_eq!(Centrality::walks(2).to_string(), "walks");
    }

    #[test]
    fn pagerank_values_are_the_inverse_of_one_minus_the_score() {
        let g = Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0;
        let (scores, values) = (
            Centrality::PAGERANK.scores(&g).unwrap(),
            Centrality::PAGERANK.values(&g).unwrap(),
        );
        for (s, v) in scores.iter().zip(values) {
            assert!((v * (1.0 - s) - 1.0).abs() < 1e-15);
        }
        assert!(
            Centrality::PAGERANK
                .values(&Graph::empty(1).unwrap())
                .is_err()
        );
    }
}
