//! GRATIN (thesis ch. 7): for each class a Gaussian mixture of the latent vectors of its training graphs, and as many new
//! vectors drawn from it as the class has graphs.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::random::{mix, stream};
use gnarl_graph::{DenseMatrix, Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::density::mixture::Component;
use super::density::{Density, FitReport, Mixture, MixtureSettings};

/// How many Gaussians a class' mixture has. Stored as `10` or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Components {
    /// So many, or as many as the class has graphs.
    Fixed(usize),
    /// For each class the number of [`CANDIDATES`] with the lowest Schwarz criterion (BIC), among those whose every Gaussian has
    /// more vectors than dimensions: with fewer it is flat, and its likelihood says nothing.
    Auto,
}

/// What [`Components::Auto`] tries.
pub const CANDIDATES: [usize; 8] = [1, 2, 3, 5, 10, 20, 40, 50];

impl fmt::Display for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Components::Fixed(count) => write!(f, "{count}"),
            Components::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Components {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Components::Auto);
        }
        match text.parse() {
            Ok(count) if count > 0 => Ok(Components::Fixed(count)),
            _ => Err(Error::argument("components", format!("'{text}' is neither a number of at least 1 nor auto"))),
        }
    }
}

impl TryFrom<String> for Components {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Components> for String {
    fn from(components: Components) -> Self {
        components.to_string()
    }
}

/// New vectors and where they come from.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// One vector a row, class by class.
    pub vectors: DenseMatrix<f64>,
    /// Their classes.
    pub classes: Vec<u32>,
    /// How the fit of each class went, by class; none for a class without vectors.
    pub fits: Vec<FitReport>,
}

/// Fits and draws: as many vectors of each class as there are in `vectors`.
pub fn draw(vectors: &DenseMatrix<f64>, classes: &[u32], components: Components, seed: u64) -> Result<Drawn> {
    if vectors.num_rows() != classes.len() {
        let what = format!("{} vectors, but {} classes", vectors.num_rows(), classes.len());
        return Err(Error::argument("gratin", what));
    }
    let num_classes = classes.iter().max().map_or(0, |&c| c + 1);
    let (mut data, mut of, mut fits) = (Vec::with_capacity(vectors.data().len()), Vec::new(), Vec::new());
    for class in 0..num_classes {
        let rows: Vec<u32> = (0..classes.len() as u32).filter(|&i| classes[i as usize] == class).collect();
        if rows.is_empty() {
            continue;
        }
        let mixture = fit(&vectors.select_rows(&rows), components, mix(seed ^ mix(u64::from(class))))?;
        let rng = &mut stream(seed, "gratin draws", u64::from(class));
        for _ in &rows {
            data.extend(mixture.sample(rng));
            of.push(class);
        }
        fits.push(mixture.report().clone());
    }
    Ok(Drawn { vectors: DenseMatrix::new(of.len(), vectors.num_cols(), data)?, classes: of, fits })
}

/// The mean distance between a new vector and the original ones of its class, over all such pairs: how far drawing goes, the term of the
/// thesis' bound (`gen:thm:rademacher`) that can be computed. Zero where there is no pair. O(n² d) for classes of n.
pub fn mean_distance(new: &DenseMatrix<f64>, new_classes: &[u32], old: &DenseMatrix<f64>, old_classes: &[u32]) -> f64 {
    mean_over_pairs(new_classes, old_classes, |i, j| Some(distance(new.row(i), old.row(j))))
}

/// The mean distance between two different vectors of a class: what [`mean_distance`] is to be read against.
pub fn mean_spread(vectors: &DenseMatrix<f64>, classes: &[u32]) -> f64 {
    let apart = |i: usize, j: usize| (i != j).then(|| distance(vectors.row(i), vectors.row(j)));
    mean_over_pairs(classes, classes, apart)
}

/// Row by row in parallel, summed in order: the thread count does not change the rounding.
fn mean_over_pairs(a: &[u32], b: &[u32], value: impl Fn(usize, usize) -> Option<f64> + Sync) -> f64 {
    let of_row = |i: usize| {
        let pairs = (0..b.len()).filter(|&j| a[i] == b[j]).filter_map(|j| value(i, j));
        pairs.fold((0.0, 0usize), |(sum, count), x| (sum + x, count + 1))
    };
    let rows: Vec<(f64, usize)> = (0..a.len()).into_par_iter().map(of_row).collect();
    let (sum, count) = rows.iter().fold((0.0, 0), |(sum, count), row| (sum + row.0, count + row.1));
    sum / count.max(1) as f64
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// The mixture of one class; of equal criteria, the one with fewer components.
fn fit(points: &DenseMatrix<f64>, components: Components, seed: u64) -> Result<Mixture> {
    let with = |count| Mixture::fit(points, &MixtureSettings::new(count), seed);
    let Components::Fixed(count) = components else {
        let mut best = with(CANDIDATES[0])?;
        let most = points.num_rows() / (points.num_cols() + 1);
        for count in CANDIDATES.into_iter().skip(1).filter(|&count| count <= most) {
            let other = with(count)?;
            let has_enough = |c: &Component| c.weight * points.num_rows() as f64 > points.num_cols() as f64 + 0.5;
            if other.components().iter().all(has_enough) && other.report().bic() < best.report().bic() {
                best = other;
            }
        }
        return Ok(best);
    };
    with(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    /// Class 0 about (0, 0), class 2 about (±20, 20), none of class 1.
    fn vectors() -> (DenseMatrix<f64>, Vec<u32>) {
        let rng = &mut stream(1, "gratin test", 0);
        let classes: Vec<u32> = (0..90).map(|i| if i % 3 == 0 { 0 } else { 2 }).collect();
        let centre = |i: usize| match (classes[i], i % 3) {
            (0, _) => (0.0, 0.0),
            (_, 1) => (20.0, 20.0),
            _ => (-20.0, 20.0),
        };
        let mut data = Vec::new();
        for i in 0..90 {
            let (a, b): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
            data.extend([centre(i).0 + a, centre(i).1 + b]);
        }
        (DenseMatrix::new(90, 2, data).unwrap(), classes)
    }

    #[test]
    fn as_many_of_each_class_from_where_the_class_is() {
        let (vectors, classes) = vectors();
        for components in [Components::Fixed(2), Components::Auto] {
            let drawn = draw(&vectors, &classes, components, 3).unwrap();
            assert_eq!(drawn.classes.iter().filter(|&&c| c == 0).count(), 30);
            assert_eq!((drawn.classes.len(), drawn.vectors.num_rows(), drawn.fits.len()), (90, 90, 2));
            for (i, &class) in drawn.classes.iter().enumerate() {
                let x = drawn.vectors.row(i);
                // Six standard deviations about the centres.
                let at_home =
                    if class == 0 { x[0].abs() < 6.0 && x[1].abs() < 6.0 } else { (x[0].abs() - 20.0).abs() < 6.0 };
                assert!(at_home, "{components}: class {class} at {x:?}");
            }
            if components == Components::Auto {
                assert_eq!((drawn.fits[0].components, drawn.fits[1].components), (1, 2), "what made them");
            }
            let again = draw(&vectors, &classes, components, 3).unwrap();
            assert_eq!(drawn.vectors, again.vectors);
            assert_ne!(drawn.vectors, draw(&vectors, &classes, components, 4).unwrap().vectors);
        }
    }

    #[test]
    fn distances_are_within_classes() {
        let old = DenseMatrix::new(3, 2, vec![0.0, 0.0, 6.0, 8.0, 100.0, 0.0]).unwrap();
        let new = DenseMatrix::new(2, 2, vec![3.0, 4.0, 100.0, 1.0]).unwrap();
        // The first is 5 from both of its class, the second 1 from its only one; those two are 10 apart.
        assert_eq!(mean_distance(&new, &[0, 1], &old, &[0, 0, 1]), 11.0 / 3.0);
        assert_eq!(mean_spread(&old, &[0, 0, 1]), 10.0);
        assert_eq!(mean_spread(&old, &[0, 1, 2]), 0.0, "no pair of a class");
        assert_eq!(mean_distance(&new, &[7, 8], &old, &[0, 0, 1]), 0.0);
    }

    #[test]
    fn components_are_read_back_and_wrong_ones_named() {
        for text in ["auto", "7"] {
            assert_eq!(text.parse::<Components>().unwrap().to_string(), text);
        }
        let e = "0".parse::<Components>().unwrap_err().to_string();
        assert_eq!(e, "components: '0' is neither a number of at least 1 nor auto");
        let (vectors, classes) = vectors();
        let e = draw(&vectors, &classes[1..], Components::Auto, 0).unwrap_err().to_string();
        assert_eq!(e, "gratin: 90 vectors, but 89 classes");
    }
}
