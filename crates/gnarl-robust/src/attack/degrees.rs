//! The likelihood-ratio test of the degree distribution (Zügner et al. 2018, sec. 4.1,
//! [arXiv:1805.07984](https://arxiv.org/abs/1805.07984)): changed degrees must fit the power law of
//! the clean degrees. Degrees of at least two count.

use gnarl_graph::Graph;

const SMALLEST: usize = 2;
/// Published threshold of the test statistic (95 %).
const LIMIT: f64 = 0.004;

/// The test, with the degrees of the clean and the changed graph.
pub(super) struct DegreeTest {
    degrees: Vec<usize>,
    before: Sums,
    now: Sums,
}

/// The number of degrees that count, and the sum of their logarithms.
#[derive(Clone, Copy)]
struct Sums {
    count: f64,
    logarithms: f64,
}

impl Sums {
    fn with(self, degree: usize, sign: f64) -> Self {
        if degree < SMALLEST {
            self
        } else {
            Self {
                count: self.count + sign,
                logarithms: self.logarithms + sign * (degree as f64).ln(),
            }
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            logarithms: self.logarithms + other.logarithms,
        }
    }

    /// Returns the largest log-likelihood of a power law.
    fn likelihood(self) -> f64 {
        if self.count == 0.0 {
            return 0.0;
        }
        let smallest = SMALLEST as f64;
        let exponent = 1.0 + self.count / (self.logarithms - self.count * (smallest - 0.5).ln());
        self.count * exponent.ln() + self.count * exponent * smallest.ln()
            - (exponent + 1.0) * self.logarithms
    }
}

impl DegreeTest {
    pub fn new(graph: &Graph) -> Self {
        let degrees: Vec<usize> = (0..graph.num_nodes() as u32)
            .map(|u| graph.neighbours(u).len())
            .collect();
        let zero = Sums {
            count: 0.0,
            logarithms: 0.0,
        };
        let before = degrees.iter().fold(zero, |sums, &d| sums.with(d, 1.0));
        Self {
            degrees,
            before,
            now: before,
        }
    }

    fn after(&self, (u, v): (u32, u32), joins: bool) -> Sums {
        [u, v].into_iter().fold(self.now, |sums, node| {
            let degree = self.degrees[node as usize];
            let changed = if joins {
                degree + 1
            } else {
                degree.saturating_sub(1)
            };
            sums.with(degree, -1.0).with(changed, 1.0)
        })
    }

    /// Returns true if the degrees pass the test after one more flip.
    pub fn allows(&self, pair: (u32, u32), joins: bool) -> bool {
        let after = self.after(pair, joins);
        let ratio = -2.0 * after.and(self.before).likelihood()
            + 2.0 * (after.likelihood() + self.before.likelihood());
        ratio < LIMIT
    }

    /// Makes a flip.
    pub fn flip(&mut self, pair: (u32, u32), joins: bool) {
        self.now = self.after(pair, joins);
        for node in [pair.0, pair.1] {
            let degree = &mut self.degrees[node as usize];
            *degree = if joins {
                *degree + 1
            } else {
                degree.saturating_sub(1)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::barabasi_albert;

    #[test]
    fn nothing_is_noticed_where_nothing_changed_and_a_hub_is() {
        let graph = barabasi_albert(300, 3, 1).unwrap();
        let mut test = DegreeTest::new(&graph);
        assert!(test.allows((0, 299), true));
        let (before, now) = (test.before, test.now);
        assert!(
            (before.and(now).likelihood() - 2.0 * before.likelihood()).abs()
                < 1e-6 * before.likelihood().abs()
        );
        // The incremental test equals the test of the changed graph.
        let others: Vec<u32> = (1..300).filter(|&v| !graph.has_edge(0, v)).collect();
        let mut refused = None;
        for (count, &v) in others.iter().enumerate() {
            if !test.allows((0, v), true) {
                refused = Some(count);
                break;
            }
            test.flip((0, v), true);
        }
        let edges: Vec<(u32, u32)> = others[..refused.unwrap_or(others.len())]
            .iter()
            .map(|&v| (0, v))
            .collect();
        let anew = DegreeTest::new(&graph.add_edges(&edges).unwrap().0);
        assert!(
            (anew.now.logarithms - test.now.logarithms).abs() < 1e-9
                && anew.now.count == test.now.count
        );
        for v in 1..300u32 {
            while test.degrees[v as usize] < 40 {
                test.flip((v, 0), true);
            }
        }
        assert!(
            !test.allows((1, 2), true),
            "all nodes with forty edges are no power law of three"
        );
    }
}
