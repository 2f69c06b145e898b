//! Training, validation and test splits, and the protocols that sample them.
//!
//! The splits that come with a dataset (Planetoid's public one, Geom-GCN's ten) are read by its
//! loader. The rest are sampled here from a seed: 20 per class / 500 / 1,000 (Amazon and Coauthor),
//! 10 / 10 / 80 % (structural attacks, on the largest component) and k folds.

use rand::seq::SliceRandom;

use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::random::stream;

/// Three disjoint sets of node or graph ids under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    name: String,
    train: Vec<u32>,
    val: Vec<u32>,
    test: Vec<u32>,
}

impl Split {
    /// Sorts the three sets and checks that no id occurs twice.
    pub fn new(
        name: impl Into<String>,
        mut train: Vec<u32>,
        mut val: Vec<u32>,
        mut test: Vec<u32>,
    ) -> Result<Self> {
        let name = name.into();
        for part in [&mut train, &mut val, &mut test] {
            part.sort_unstable();
        }
        let mut all = [&train[..], &val, &test].concat();
        all.sort_unstable();
        if let Some(w) = all.windows(2).find(|w| w[0] == w[1]) {
            return Err(Error::setting(
                &format!("split {name}"),
                format!("node or graph {} is in it twice", w[0]),
            ));
        }
        Ok(Self {
            name,
            train,
            val,
            test,
        })
    }

    /// Returns the split's name, e.g. `public` or `geom-gcn-3`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the training ids, ascending.
    pub fn train(&self) -> &[u32] {
        &self.train
    }

    /// Returns the validation ids, ascending.
    pub fn val(&self) -> &[u32] {
        &self.val
    }

    /// Returns the test ids, ascending.
    pub fn test(&self) -> &[u32] {
        &self.test
    }

    /// Fails if an id is not below `num_items`.
    pub fn check_range(&self, num_items: usize) -> Result<()> {
        let largest = [&self.train, &self.val, &self.test]
            .into_iter()
            .filter_map(|p| p.last())
            .max();
        match largest {
            Some(&id) if id as usize >= num_items => {
                let what = format!("node or graph {id} is in it, but there are {num_items}");
                Err(Error::setting(&format!("split {}", self.name), what))
            }
            _ => Ok(()),
        }
    }

    /// Translates ids; ids without a translation are dropped.
    pub(crate) fn translate(&self, new_id: impl Fn(u32) -> Option<u32>) -> Self {
        let part = |ids: &[u32]| {
            let mut new: Vec<u32> = ids.iter().filter_map(|&u| new_id(u)).collect();
            new.sort_unstable();
            new
        };
        Self {
            name: self.name.clone(),
            train: part(&self.train),
            val: part(&self.val),
            test: part(&self.test),
        }
    }

    /// Samples `per_class` training ids of each class, then `num_val` and `num_test` of the other
    /// labelled ids, all by seed (a common choice is 20, 500, 1,000). A class with fewer members
    /// gives all it has; too few remaining ids are an error.
    pub fn per_class(
        labels: &Labels,
        per_class: usize,
        num_val: usize,
        num_test: usize,
        seed: u64,
    ) -> Result<Self> {
        let order = shuffled_labelled(labels, seed, "split per class");
        let mut taken = vec![0usize; labels.num_classes()];
        let (mut train, mut rest) = (Vec::new(), Vec::new());
        for u in order {
            let class = labels
                .get(u)
                .expect("only labelled nodes or graphs are drawn") as usize;
            if taken[class] < per_class {
                taken[class] += 1;
                train.push(u);
            } else {
                rest.push(u);
            }
        }
        if rest.len() < num_val + num_test {
            let what = format!(
                "{} labelled nodes or graphs are left after {per_class} per class, but {num_val} + {num_test} are asked for validation and test",
                rest.len()
            );
            return Err(Error::argument("split", what));
        }
        let test = rest[num_val..num_val + num_test].to_vec();
        rest.truncate(num_val);
        Self::new(
            format!("per-class-{per_class}-seed-{seed}"),
            train,
            rest,
            test,
        )
    }

    /// Reduces the training ids to at most these numbers per class, by seed; unlabelled ones are
    /// dropped.
    pub fn fewer(&self, labels: &Labels, of_classes: &[usize], seed: u64) -> Result<Self> {
        if of_classes.len() != labels.num_classes() {
            let what = format!(
                "{} counts for {} classes",
                of_classes.len(),
                labels.num_classes()
            );
            return Err(Error::argument("training nodes or graphs per class", what));
        }
        let mut order = self.train.clone();
        order.shuffle(&mut stream(seed, "fewer training items", 0));
        let mut taken = vec![0usize; labels.num_classes()];
        order.retain(|&u| {
            let Some(class) = labels.get(u) else {
                return false;
            };
            taken[class as usize] += 1;
            taken[class as usize] <= of_classes[class as usize]
        });
        let name = if of_classes.iter().all(|count| *count == of_classes[0]) {
            of_classes.first().map_or(String::new(), usize::to_string)
        } else {
            of_classes
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join("+")
        };
        Self::new(
            format!("{}-{name}-per-class", self.name),
            order,
            self.val.clone(),
            self.test.clone(),
        )
    }

    /// Makes several reduced splits with `count` training ids of each class. If `rare` is given,
    /// class `i` modulo classes of split `i` has only that many. A repeated split samples different
    /// ids.
    pub fn fewer_in_turn(
        splits: &[Self],
        wanted: usize,
        labels: &Labels,
        count: usize,
        rare: Option<usize>,
        seed: u64,
    ) -> Result<Vec<Self>> {
        let of_split = |(i, split): (usize, &Self)| {
            let mut of_classes = vec![count; labels.num_classes()];
            let in_turn = i % of_classes.len().max(1);
            if let (Some(rare), Some(of_class)) = (rare, of_classes.get_mut(in_turn)) {
                *of_class = rare;
            }
            split.fewer(
                labels,
                &of_classes,
                seed.wrapping_add((i / splits.len()) as u64),
            )
        };
        splits
            .iter()
            .cycle()
            .take(wanted)
            .enumerate()
            .map(of_split)
            .collect()
    }

    /// Samples a random share of the labelled ids for training, another for validation, and the
    /// rest for testing (0.1 and 0.1 for structural attacks).
    pub fn fractions(labels: &Labels, train: f64, val: f64, seed: u64) -> Result<Self> {
        let shares_are_valid = train >= 0.0 && val >= 0.0 && train + val <= 1.0;
        if !shares_are_valid {
            let what = format!("shares {train} and {val} must be at least 0 and sum to at most 1");
            return Err(Error::argument("split", what));
        }
        let order = shuffled_labelled(labels, seed, "split fractions");
        let num_train = (order.len() as f64 * train).round() as usize;
        let num_val = ((order.len() as f64 * val).round() as usize).min(order.len() - num_train);
        let (a, b) = (num_train, num_train + num_val);
        let name = format!("fractions-{train}-{val}-seed-{seed}");
        Self::new(
            name,
            order[..a].to_vec(),
            order[a..b].to_vec(),
            order[b..].to_vec(),
        )
    }

    /// Makes `k` stratified folds by seed: split `i` tests on fold `i`, validates on the next one
    /// and trains on the others (10 folds give 80 / 10 / 10). Folds partition the labelled ids;
    /// their sizes and their class counts differ by one at most. Every class is shuffled, so files
    /// sorted by label are safe.
    pub fn folds(labels: &Labels, k: usize, seed: u64) -> Result<Vec<Self>> {
        let mut order = shuffled_labelled(labels, seed, "split folds");
        if k < 3 || k > order.len() {
            let what = format!(
                "{k} folds of {} labelled nodes or graphs: there must be at least 3 folds and a node or graph for each",
                order.len()
            );
            return Err(Error::argument("folds", what));
        }
        // Dealing class after class in one pass balances both the fold sizes and the class counts.
        order.sort_by_key(|&u| labels.get(u));
        let mut folds = vec![Vec::new(); k];
        for (i, u) in order.into_iter().enumerate() {
            folds[i % k].push(u);
        }
        (0..k)
            .map(|i| {
                let next = (i + 1) % k;
                let train = (0..k)
                    .filter(|&j| j != i && j != next)
                    .flat_map(|j| folds[j].iter().copied())
                    .collect();
                Self::new(
                    format!("fold-{i}-of-{k}-seed-{seed}"),
                    train,
                    folds[next].clone(),
                    folds[i].clone(),
                )
            })
            .collect()
    }
}

/// Returns the labelled ids in random order.
fn shuffled_labelled(labels: &Labels, seed: u64, purpose: &str) -> Vec<u32> {
    let mut items: Vec<u32> = (0..labels.len() as u32)
        .filter(|&u| labels.get(u).is_some())
        .collect();
    items.shuffle(&mut stream(seed, purpose, 0));
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(counts: &[usize]) -> Labels {
        let classes = counts
            .iter()
            .enumerate()
            .flat_map(|(c, &k)| vec![Some(c as u32); k])
            .collect();
        Labels::new(classes, counts.len()).unwrap()
    }

    fn class_counts(labels: &Labels, items: &[u32]) -> Vec<usize> {
        labels.select(items).counts()
    }

    #[test]
    fn per_class_takes_as_many_of_each() {
        let l = labels(&[50, 30, 5]);
        let s = Split::per_class(&l, 10, 20, 30, 7).unwrap();
        assert_eq!(
            class_counts(&l, s.train()),
            [10, 10, 5],
            "a small class gives all it has"
        );
        assert_eq!((s.val().len(), s.test().len()), (20, 30));
        assert_eq!(s, Split::per_class(&l, 10, 20, 30, 7).unwrap());
        assert_ne!(
            s.train(),
            Split::per_class(&l, 10, 20, 30, 8).unwrap().train()
        );
        let e = Split::per_class(&l, 10, 50, 50, 7).unwrap_err().to_string();
        assert!(
            e.contains("60 labelled nodes or graphs are left") && e.contains("50 + 50"),
            "{e}"
        );
    }

    #[test]
    fn fractions_cover_everything_once() {
        let l = labels(&[60, 40]);
        let s = Split::fractions(&l, 0.1, 0.1, 1).unwrap();
        assert_eq!(
            (s.train().len(), s.val().len(), s.test().len()),
            (10, 10, 80)
        );
        assert!(Split::fractions(&l, 0.8, 0.3, 1).is_err());
        assert!(Split::fractions(&l, f64::NAN, 0.3, 1).is_err());
    }

    proptest! {
        #[test]
        fn folds_partition_and_stay_level(counts in prop::collection::vec(1usize..40, 1..4), k in 3usize..11, seed in any::<u64>()) {
            let l = labels(&counts);
            prop_assume!(l.len() >= k);
            let folds = Split::folds(&l, k, seed).unwrap();
            let mut tested: Vec<u32> = folds.iter().flat_map(|s| s.test().to_vec()).collect();
            tested.sort_unstable();
            prop_assert_eq!(tested, (0..l.len() as u32).collect::<Vec<_>>());
            for (i, s) in folds.iter().enumerate() {
                prop_assert_eq!(s.val(), folds[(i + 1) % k].test());
                prop_assert_eq!(s.train().len() + s.val().len() + s.test().len(), l.len());
                for (c, &total) in counts.iter().enumerate() {
                    let here = class_counts(&l, s.test())[c];
                    prop_assert!(here == total / k || here == total / k + 1 , "class {} of {} has {} in fold {}", c, total, here, i);
                }
            }
        }
    }

    #[test]
    fn unlabelled_items_are_never_drawn() {
        let l = Labels::new(vec![None, Some(0), None, Some(0), Some(0)], 1).unwrap();
        let s = Split::fractions(&l, 0.4, 0.3, 3).unwrap();
        let all = [s.train(), s.val(), s.test()].concat();
        assert_eq!(all.len(), 3);
        assert!(!all.contains(&0) && !all.contains(&2));
    }

    #[test]
    fn overlap_and_range_are_refused() {
        let e = Split::new("x", vec![1, 2], vec![2], vec![])
            .unwrap_err()
            .to_string();
        assert_eq!(e, "split x: node or graph 2 is in it twice");
        assert!(
            Split::new("x", vec![5], vec![], vec![])
                .unwrap()
                .check_range(5)
                .is_err()
        );
        assert!(Split::folds(&labels(&[2]), 3, 0).is_err());
    }

    #[test]
    fn one_class_in_turn_is_rare() {
        let labels = Labels::new((0..60).map(|u| Some(u % 3)).collect(), 3).unwrap();
        let splits = Split::folds(&labels, 5, 0).unwrap();
        let fewer = Split::fewer_in_turn(&splits[..2], 4, &labels, 6, Some(2), 1).unwrap();
        let count = |i: usize, class: u32| {
            fewer[i]
                .train()
                .iter()
                .filter(|&&u| labels.get(u) == Some(class))
                .count()
        };
        for i in 0..4 {
            assert_eq!(
                (0..3).map(|class| count(i, class)).collect::<Vec<_>>()[i % 3],
                2,
                "fold {i}"
            );
            assert_eq!(fewer[i].train().len(), 14);
        }
        assert_eq!(fewer[2].test(), splits[0].test(), "a split comes again");
        assert!(
            Split::fewer_in_turn(&[], 3, &labels, 6, None, 1)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn fewer_items_of_each_class() {
        let labels = Labels::new(
            (0..60)
                .map(|u| if u == 7 { None } else { Some(u % 3) })
                .collect(),
            3,
        )
        .unwrap();
        let split = Split::new(
            "s",
            (0..40).collect(),
            (40..50).collect(),
            (50..60).collect(),
        )
        .unwrap();
        let fewer = split.fewer(&labels, &[4; 3], 1).unwrap();
        for class in 0..3 {
            let count = fewer
                .train()
                .iter()
                .filter(|&&u| labels.get(u) == Some(class))
                .count();
            assert_eq!(count, 4);
        }
        assert!(
            fewer.train().iter().all(|u| split.train().contains(u)) && fewer.train().len() == 12
        );
        assert_eq!((fewer.val(), fewer.test()), (split.val(), split.test()));
        assert_ne!(
            fewer.train(),
            split.fewer(&labels, &[4; 3], 2).unwrap().train()
        );
        assert_eq!(
            split.fewer(&labels, &[100; 3], 1).unwrap().train().len(),
            39,
            "all that have a label"
        );
        let uneven = split.fewer(&labels, &[4, 1, 4], 1).unwrap();
        assert_eq!(
            (uneven.train().len(), uneven.name()),
            (9, "s-4+1+4-per-class")
        );
        let e = split.fewer(&labels, &[4], 1).unwrap_err().to_string();
        assert_eq!(
            e,
            "training nodes or graphs per class: 1 counts for 3 classes"
        );
    }
}
