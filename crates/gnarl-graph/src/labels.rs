//! Class labels of nodes or of whole graphs; a node or graph may be unlabelled.

use crate::error::{Error, Result};

/// A class in `0..num_classes`, or none, for each node or graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<Option<u32>>,
    num_classes: usize,
    names: Option<Vec<String>>,
}

impl Labels {
    /// Wraps classes, each below `num_classes` or absent.
    pub fn new(classes: Vec<Option<u32>>, num_classes: usize) -> Result<Self> {
        if let Some((i, c)) = classes
            .iter()
            .enumerate()
            .find_map(|(i, c)| c.filter(|&c| c as usize >= num_classes).map(|c| (i, c)))
        {
            return Err(Error::argument(
                "Labels::new",
                format!("node or graph {i} has class {c}, but there are {num_classes} classes"),
            ));
        }
        Ok(Self {
            classes,
            num_classes,
            names: None,
        })
    }

    /// Converts integer labels of any range to classes `0, 1, …` in ascending order, keeping the
    /// original values as names.
    ///
    /// ```
    /// let labels = gnarl_graph::Labels::from_values([2, 0, 2].map(Some));
    /// assert_eq!(labels.get(0), Some(1));
    /// assert_eq!(labels.name(1), "2");
    /// ```
    pub fn from_values(values: impl IntoIterator<Item = Option<i64>>) -> Self {
        let values: Vec<Option<i64>> = values.into_iter().collect();
        let mut distinct: Vec<i64> = values.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let class = |v: i64| {
            distinct
                .binary_search(&v)
                .expect("every value was collected") as u32
        };
        Self {
            classes: values.iter().map(|v| v.map(class)).collect(),
            num_classes: distinct.len(),
            names: Some(distinct.iter().map(i64::to_string).collect()),
        }
    }

    /// Names each class.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.num_classes {
            return Err(Error::argument(
                "Labels::with_names",
                format!("{} names for {} classes", names.len(), self.num_classes),
            ));
        }
        self.names = Some(names);
        Ok(self)
    }

    /// Returns the number of nodes or graphs.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns true if there are no nodes or graphs.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Returns the number of classes.
    pub fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// Returns the class of node or graph `i`, `None` if it is unlabelled.
    pub fn get(&self, i: u32) -> Option<u32> {
        self.classes[i as usize]
    }

    /// Returns the class of every node or graph.
    pub fn classes(&self) -> &[Option<u32>] {
        &self.classes
    }

    /// Returns the name of a class: the given one, else its number.
    pub fn name(&self, class: u32) -> String {
        self.names
            .as_ref()
            .map_or_else(|| class.to_string(), |n| n[class as usize].clone())
    }

    /// Returns the number of nodes or graphs per class, without the unlabelled ones.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.num_classes];
        for c in self.classes.iter().flatten() {
            counts[*c as usize] += 1;
        }
        counts
    }

    /// Returns the labels of these nodes or graphs, in that order; the classes keep their numbers.
    pub fn select(&self, items: &[u32]) -> Self {
        Self {
            classes: items.iter().map(|&i| self.classes[i as usize]).collect(),
            num_classes: self.num_classes,
            names: self.names.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_out_of_range_are_refused() {
        let e = Labels::new(vec![Some(0), Some(3)], 3)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "Labels::new: node or graph 1 has class 3, but there are 3 classes"
        );
    }

    #[test]
    fn values_become_consecutive_classes() {
        let l = Labels::from_values([Some(7), None, Some(-1), Some(7)]);
        assert_eq!(l.classes(), [Some(1), None, Some(0), Some(1)]);
        assert_eq!(l.counts(), [1, 2]);
        assert_eq!((l.name(0), l.name(1)), ("-1".into(), "7".into()));
        assert_eq!(l.select(&[1, 0]).classes(), [None, Some(1)]);
        assert!(Labels::from_values([]).is_empty());
    }
}
