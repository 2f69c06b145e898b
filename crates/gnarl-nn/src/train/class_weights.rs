//! Class weights of the training loss: none, balanced, or one weight per class.
//!
//! The loss of a step is `Σ w(class) · cross-entropy / Σ w(class)` over its nodes or graphs. Model
//! selection weights validation nodes or graphs in the same way: otherwise an epoch that only
//! predicts the largest class would be selected.

use gnarl_graph::settings::{Kind, Value};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use gnarl_graph::{Error, Result};
use serde::{Deserialize, Serialize};

/// Subject of the errors of this module.
const OP: &str = "class-weights";

/// Maximal number of weights in a list.
const MOST: usize = 40;

/// Class weights in the training loss. Stored as `none`, `balanced`, or weights in the order of the
/// classes, `1,5,2.5`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ClassWeights {
    /// No class weights: every node or graph has weight one.
    #[default]
    None,
    /// Inverse class frequencies, `n / (classes · n of the class)`, over the training nodes or
    /// graphs and the classes they have. A class without training nodes or graphs has no weight.
    Balanced,
    /// One weight for each class.
    PerClass(PerClass),
}

/// Explicit weights, one for each class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerClass {
    weights: [f32; MOST],
    count: usize,
}

impl PerClass {
    /// Fails if a weight is negative or NaN, if none is above 0, and if there are more than 40.
    pub fn new(weights: &[f32]) -> Result<Self> {
        if weights.len() > MOST {
            return Err(Error::argument(
                OP,
                format!(
                    "{} weights, {MOST} at most; balanced has no limit",
                    weights.len()
                ),
            ));
        }
        if let Some(wrong) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::argument(
                OP,
                format!("a weight of {wrong}; it must be 0 or more"),
            ));
        }
        if !weights.iter().any(|w| *w > 0.0) {
            return Err(Error::argument(OP, "no weight is above 0"));
        }
        let mut all = [0.0; MOST];
        all[..weights.len()].copy_from_slice(weights);
        Ok(Self {
            weights: all,
            count: weights.len(),
        })
    }

    /// Returns the weights, by class.
    pub fn weights(&self) -> &[f32] {
        &self.weights[..self.count]
    }
}

impl Value for ClassWeights {
    const KIND: Kind = Kind::Text("HOW");
}

impl ClassWeights {
    /// Returns true if there are no class weights.
    pub fn is_none(&self) -> bool {
        matches!(self, ClassWeights::None)
    }

    /// Returns the weight of each class, given the classes of the training nodes or graphs; `None`
    /// if there are no class weights. Fails if the number of weights differs from the number of
    /// classes, or if no training node or graph has a positive weight.
    pub fn of(&self, classes: &[u32], num_classes: usize) -> Result<Option<Arc<Vec<f32>>>> {
        let mut counts = vec![0usize; num_classes];
        for &class in classes {
            if let Some(count) = counts.get_mut(class as usize) {
                *count += 1;
            }
        }
        let weights: Vec<f32> = match self {
            ClassWeights::None => return Ok(None),
            ClassWeights::Balanced => {
                let present = counts.iter().filter(|count| **count > 0).count();
                let weight = |&count: &usize| match count {
                    0 => 0.0,
                    count => (classes.len() as f64 / (present * count) as f64) as f32,
                };
                counts.iter().map(weight).collect()
            }
            ClassWeights::PerClass(each) => {
                let weights = each.weights();
                if weights.len() != num_classes {
                    let given = weights.len();
                    return Err(Error::argument(
                        OP,
                        format!("{given} weights for {num_classes} classes; give one for each"),
                    ));
                }
                if !weights
                    .iter()
                    .zip(&counts)
                    .any(|(weight, count)| *weight > 0.0 && *count > 0)
                {
                    return Err(Error::argument(
                        OP,
                        "every class in the training data has a weight of 0",
                    ));
                }
                weights.to_vec()
            }
        };
        Ok(Some(Arc::new(weights)))
    }
}

impl fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassWeights::None => f.write_str("none"),
            ClassWeights::Balanced => f.write_str("balanced"),
            ClassWeights::PerClass(each) => {
                let weights: Vec<String> = each.weights().iter().map(f32::to_string).collect();
                f.write_str(&weights.join(","))
            }
        }
    }
}

impl FromStr for ClassWeights {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case("none") {
            return Ok(ClassWeights::None);
        }
        if text.eq_ignore_ascii_case("balanced") {
            return Ok(ClassWeights::Balanced);
        }
        let weight = |field: &str| {
            let wrong = || {
                Error::argument(
                    OP,
                    format!(
                        "'{text}' is neither balanced nor none nor a weight for each class, as in 1,5,2.5"
                    ),
                )
            };
            field.trim().parse::<f32>().map_err(|_| wrong())
        };
        Ok(ClassWeights::PerClass(PerClass::new(
            &text.split(',').map(weight).collect::<Result<Vec<_>>>()?,
        )?))
    }
}

impl TryFrom<String> for ClassWeights {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<ClassWeights> for String {
    fn from(weights: ClassWeights) -> Self {
        weights.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, classes: &[u32], num_classes: usize) -> Result<Option<Vec<f32>>> {
        Ok(text
            .parse::<ClassWeights>()?
            .of(classes, num_classes)?
            .map(|weights| weights.to_vec()))
    }

    /// scikit-learn's `compute_class_weight("balanced", …)` of three zeros, one 1 and two 3s: 6/9,
    /// 6/3, 6/6.
    #[test]
    fn classes_are_balanced_by_their_training_items() {
        let classes = [0, 0, 0, 1, 3, 3];
        assert_eq!(
            of("balanced", &classes, 4).unwrap(),
            Some(vec![6.0 / 9.0, 2.0, 0.0, 1.0])
        );
        assert_eq!(of("none", &classes, 4).unwrap(), None);
        assert_eq!(
            of("1, 5,2.5,0", &classes, 4).unwrap(),
            Some(vec![1.0, 5.0, 2.5, 0.0])
        );
    }

    #[test]
    fn class_weights_round_trip() {
        for text in ["none", "balanced", "1,5,2.5", "0.1", "0,1e-9"] {
            let weights: ClassWeights = text.parse().unwrap();
            assert_eq!(
                weights.to_string().parse::<ClassWeights>().unwrap(),
                weights,
                "{text}"
            );
        }
        assert_eq!(
            "0.1,3".parse::<ClassWeights>().unwrap().to_string(),
            "0.1,3"
        );
    }

    #[test]
    fn invalid_class_weights_are_refused() {
        let fail = |text: &str| of(text, &[0, 0, 1], 3).unwrap_err().to_string();
        assert_eq!(
            fail("1,2"),
            "class-weights: 2 weights for 3 classes; give one for each"
        );
        assert_eq!(
            fail("0,0,4"),
            "class-weights: every class in the training data has a weight of 0"
        );
        assert_eq!(
            fail("1,-2,1"),
            "class-weights: a weight of -2; it must be 0 or more"
        );
        assert_eq!(
            fail("1,inf,1"),
            "class-weights: a weight of inf; it must be 0 or more"
        );
        assert_eq!(fail("0,0,0"), "class-weights: no weight is above 0");
        assert!(fail("balancd").contains("'balancd' is neither balanced nor none"));
        assert!(fail("").contains("as in 1,5,2.5"));
        assert!(
            fail(&["1"; 41].join(",")).contains("41 weights, 40 at most; balanced has no limit")
        );
    }
}
