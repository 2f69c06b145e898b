//! Number of latent vectors of each class that a fresh head is trained on next to the original ones.

use gnarl_graph::random::stream;
use rand::RngExt;

gnarl_graph::named! {
    /// Number of added vectors of each class: sampled from its density, or repeated in the control.
    pub enum Samples as "number of samples" {
        /// As many as the class has, as in the paper; the control repeats none.
        AsMany = "as-many",
        /// Oversampling: every class ends with twice the vectors of the largest class.
        Level = "level",
    }
}

impl Samples {
    /// Returns the number for each class of these nodes or graphs; zero for an empty class.
    pub fn of_classes(self, classes: &[u32]) -> Vec<usize> {
        let mut counts = vec![0usize; classes.iter().max().map_or(0, |&c| c as usize + 1)];
        classes.iter().for_each(|&c| counts[c as usize] += 1);
        let largest = counts.iter().copied().max().unwrap_or(0);
        let of = |count: usize| match (self, count) {
            (_, 0) | (Samples::AsMany, _) => count,
            (Samples::Level, _) => 2 * largest - count,
        };
        counts.into_iter().map(of).collect()
    }

    /// Returns the nodes or graphs that the control repeats, sampled at random in each class.
    pub fn repeated(self, classes: &[u32], seed: u64) -> Vec<u32> {
        if self == Samples::AsMany {
            return Vec::new();
        }
        let mut repeated = Vec::new();
        for (class, count) in (0u32..).zip(self.of_classes(classes)) {
            let own: Vec<u32> = (0..classes.len() as u32)
                .filter(|&i| classes[i as usize] == class)
                .collect();
            let rng = &mut stream(seed, "repeated vectors", u64::from(class));
            repeated.extend((0..count).map(|_| own[rng.random_range(0..own.len())]));
        }
        repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levelling_makes_every_class_as_large() {
        let classes = [0, 2, 2, 2, 0, 2, 4];
        assert_eq!(Samples::AsMany.of_classes(&classes), [2, 0, 4, 0, 1]);
        assert_eq!(
            Samples::Level.of_classes(&classes),
            [6, 0, 4, 0, 7],
            "eight of each in the end"
        );
        assert!(
            Samples::Level.of_classes(&[]).is_empty()
                && Samples::AsMany.repeated(&classes, 1).is_empty()
        );
        let repeated = Samples::Level.repeated(&classes, 1);
        let of = |class: u32| {
            repeated
                .iter()
                .filter(|&&i| classes[i as usize] == class)
                .count()
        };
        assert_eq!([0, 1, 2, 3, 4].map(of), [6, 0, 4, 0, 7]);
        assert_ne!(repeated, Samples::Level.repeated(&classes, 2));
    }
}
