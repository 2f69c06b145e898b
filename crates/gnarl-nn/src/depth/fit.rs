//! Convex fits of the policies. All are deterministic and run on one thread.

/// Number of cross-validation folds: a choice made on the other folds is evaluated on the fold.
pub const FOLDS: usize = 5;

/// Largest change of a coordinate at which Newton's method stops.
const TOLERANCE: f64 = 1e-6;

/// Data of a conditional logit: for each node or graph `i`, a row of `width` features for each of
/// `alternatives`, and the true alternative `truth[i]`.
#[derive(Debug, Clone)]
pub struct Choices {
    /// Features, `[items, alternatives, width]`.
    pub evidence: Vec<f64>,
    /// Number of alternatives.
    pub alternatives: usize,
    /// Number of features per alternative.
    pub width: usize,
    /// True alternative of each node or graph.
    pub truth: Vec<usize>,
}

impl Choices {
    fn item(&self, i: usize) -> &[f64] {
        let size = self.alternatives * self.width;
        &self.evidence[i * size..(i + 1) * size]
    }

    /// Computes the sum of log-likelihoods of the true alternatives under coefficients `theta`.
    pub fn log_likelihood(&self, theta: &[f64], items: impl Iterator<Item = usize>) -> f64 {
        items
            .map(|i| log_softmax_at(&scores(self.item(i), theta), self.truth[i]))
            .sum()
    }

    /// Fits the coefficients of the conditional logit `P(a) ∝ exp(θ · x_a)`. They maximise the
    /// log-likelihood minus `penalty / 2 · |θ - start|²`, by Newton's method with halved steps.
    pub fn fit(&self, items: &[usize], start: &[f64], penalty: f64) -> Vec<f64> {
        let width = self.width;
        let distance = |theta: &[f64]| {
            theta
                .iter()
                .zip(start)
                .map(|(a, b)| (a - b) * (a - b))
                .sum::<f64>()
        };
        let objective = |theta: &[f64]| {
            self.log_likelihood(theta, items.iter().copied()) - 0.5 * penalty * distance(theta)
        };
        let mut theta = start.to_vec();
        let mut value = objective(&theta);
        for _ in 0..50 {
            let mut gradient: Vec<f64> = theta
                .iter()
                .zip(start)
                .map(|(t, s)| -penalty * (t - s))
                .collect();
            let mut curvature = vec![0.0; width * width];
            (0..width).for_each(|k| curvature[k * width + k] = penalty);
            for &i in items {
                self.add_derivatives(i, &theta, &mut gradient, &mut curvature);
            }
            let Some(step) = solve_positive(curvature, gradient) else {
                break;
            };
            let mut size = 1.0;
            let moved = loop {
                let next: Vec<f64> = theta.iter().zip(&step).map(|(t, s)| t + size * s).collect();
                let next_value = objective(&next);
                if next_value >= value {
                    (theta, value) = (next, next_value);
                    break true;
                }
                size *= 0.5;
                if size < 1e-6 {
                    break false;
                }
            };
            if !moved || step.iter().all(|s| (size * s).abs() < TOLERANCE) {
                break;
            }
        }
        theta
    }

    /// Adds the gradient and the negative second derivative of one node or graph; only the lower
    /// half is read.
    fn add_derivatives(
        &self,
        i: usize,
        theta: &[f64],
        gradient: &mut [f64],
        curvature: &mut [f64],
    ) {
        let (x, width) = (self.item(i), self.width);
        let p = softmax(&scores(x, theta));
        let mut mean = vec![0.0; width];
        for (row, p) in x.chunks_exact(width).zip(&p) {
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += p * x);
        }
        let truth = &x[self.truth[i] * width..(self.truth[i] + 1) * width];
        gradient
            .iter_mut()
            .zip(truth.iter().zip(&mean))
            .for_each(|(g, (x, m))| *g += x - m);
        for (row, p) in x.chunks_exact(width).zip(&p).filter(|(_, p)| **p > 1e-9) {
            let centred: Vec<f64> = row.iter().zip(&mean).map(|(x, m)| x - m).collect();
            for (a, line) in curvature.chunks_exact_mut(width).enumerate() {
                let scale = p * centred[a];
                if scale != 0.0 {
                    line[..=a]
                        .iter_mut()
                        .zip(&centred)
                        .for_each(|(h, c)| *h += scale * c);
                }
            }
        }
    }
}

/// Selects the penalty and start with the best cross-validated likelihood, and refits on
/// everything. Ties go to the first.
pub fn fit_cross(choices: &Choices, starts: &[Vec<f64>], penalties: &[f64]) -> Vec<f64> {
    let all: Vec<usize> = (0..choices.truth.len()).collect();
    let mut best: Option<(f64, &Vec<f64>, f64)> = None;
    for start in starts {
        for &penalty in penalties {
            let mut total = 0.0;
            for fold in 0..FOLDS {
                let (held, rest): (Vec<usize>, Vec<usize>) =
                    all.iter().partition(|i| **i % FOLDS == fold);
                total +=
                    choices.log_likelihood(&choices.fit(&rest, start, penalty), held.into_iter());
            }
            if best.is_none_or(|(t, ..)| total > t) {
                best = Some((total, start, penalty));
            }
        }
    }
    best.map_or_else(Vec::new, |(_, start, penalty)| {
        choices.fit(&all, start, penalty)
    })
}

/// Fits the inverse temperature of maximal likelihood to rows of `alternatives` log-probabilities
/// and the true alternative of each. It is at least 0.05 and at most 20; it is one for no rows.
pub fn inverse_temperature(rows: &[(&[f32], usize)]) -> f64 {
    if rows.is_empty() {
        return 1.0;
    }
    let likelihood = |log_beta: f64| {
        let beta = log_beta.exp();
        let scaled = |row: &[f32]| row.iter().map(|s| beta * f64::from(*s)).collect::<Vec<_>>();
        rows.iter()
            .map(|(row, truth)| log_softmax_at(&scaled(row), *truth))
            .sum::<f64>()
    };
    // Golden-section search: the likelihood has one peak.
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (0.05f64.ln(), 20f64.ln());
    for _ in 0..40 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if likelihood(a) >= likelihood(b) {
            high = b
        } else {
            low = a
        }
    }
    ((low + high) / 2.0).exp()
}

/// Fits the weights of a mixture of maximal likelihood, by expectation maximisation from equal
/// weights. `probability[i][k]` is the probability that component `k` gives to the true class of
/// `i`. One pseudo-count per component keeps every weight positive.
pub fn mixture_weights(probability: &[Vec<f64>], components: usize) -> Vec<f64> {
    let mut weights = vec![1.0 / components as f64; components];
    for _ in 0..200 {
        let mut shares = vec![1.0; components];
        for p in probability {
            let total: f64 = p.iter().zip(&weights).map(|(p, w)| p * w).sum();
            if total > 0.0 {
                shares
                    .iter_mut()
                    .zip(p.iter().zip(&weights))
                    .for_each(|(s, (p, w))| *s += p * w / total);
            }
        }
        let total: f64 = shares.iter().sum();
        weights = shares.iter().map(|s| s / total).collect();
    }
    weights
}

fn scores(x: &[f64], theta: &[f64]) -> Vec<f64> {
    x.chunks_exact(theta.len())
        .map(|row| row.iter().zip(theta).map(|(x, t)| x * t).sum())
        .collect()
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exp: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let total: f64 = exp.iter().sum();
    exp.into_iter().map(|e| e / total).collect()
}

fn log_softmax_at(scores: &[f64], at: usize) -> f64 {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores[at] - top - scores.iter().map(|s| (s - top).exp()).sum::<f64>().ln()
}

/// Solves `matrix · x = rhs` for a symmetric positive definite matrix (row-major, the lower half is
/// enough); `None` if it is not positive definite.
fn solve_positive(mut matrix: Vec<f64>, mut rhs: Vec<f64>) -> Option<Vec<f64>> {
    let n = rhs.len();
    for j in 0..n {
        for k in 0..j {
            let l = matrix[j * n + k];
            for i in j..n {
                matrix[i * n + j] -= matrix[i * n + k] * l;
            }
        }
        let diagonal = matrix[j * n + j];
        if !(diagonal > 0.0 && diagonal.is_finite()) {
            return None;
        }
        let root = diagonal.sqrt();
        (j..n).for_each(|i| matrix[i * n + j] /= root);
    }
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| matrix[i * n + k] * rhs[k]).sum();
        rhs[i] = (rhs[i] - sum) / matrix[i * n + i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| matrix[k * n + i] * rhs[k]).sum();
        rhs[i] = (rhs[i] - sum) / matrix[i * n + i];
    }
    Some(rhs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logit_by_hand() {
        // Alternative 1 is true three times in four and its feature is 1 against 0: θ = ln 3.
        let choices = Choices {
            evidence: [0.0, 1.0].repeat(4),
            alternatives: 2,
            width: 1,
            truth: vec![1, 1, 1, 0],
        };
        let all = [0, 1, 2, 3];
        let theta = choices.fit(&all, &[0.0], 1e-12)[0];
        assert!((theta - 3f64.ln()).abs() < 1e-6, "{theta}");
        // A large penalty stays at the start; a medium one satisfies its own first-order condition.
        assert!((choices.fit(&all, &[2.0], 1e9)[0] - 2.0).abs() < 1e-6);
        let theta = choices.fit(&all, &[0.0], 1.0)[0];
        let p = theta.exp() / (1.0 + theta.exp());
        assert!((3.0 - 4.0 * p - theta).abs() < 1e-6, "{theta}");
    }

    #[test]
    fn systems_are_solved() {
        let x = solve_positive(
            vec![4.0, 2.0, 0.5, 2.0, 5.0, 1.0, 0.5, 1.0, 3.0],
            vec![9.5, 15.0, 11.5],
        )
        .unwrap();
        // 4 + 4 + 1.5, 2 + 10 + 3, 0.5 + 2 + 9.
        assert!(
            x.iter()
                .zip([1.0, 2.0, 3.0])
                .all(|(x, e)| (x - e).abs() < 1e-12),
            "{x:?}"
        );
        assert_eq!(
            solve_positive(vec![1.0, 2.0, 2.0, 1.0], vec![0.0, 0.0]),
            None
        );
    }

    #[test]
    fn a_temperature_by_hand() {
        // Scores 0 and 1, true three times in four: β = ln 3 again.
        let row = [0.0f32, 1.0];
        let rows: Vec<(&[f32], usize)> = [1, 1, 1, 0].map(|truth| (&row[..], truth)).to_vec();
        let beta = inverse_temperature(&rows);
        assert!((beta - 3f64.ln()).abs() < 1e-4, "{beta}");
        assert_eq!(inverse_temperature(&[]), 1.0);
        let always = [(&row[..], 1)];
        assert!(
            (inverse_temperature(&always) - 20.0).abs() < 0.01,
            "held within range"
        );
    }

    #[test]
    fn a_mixture_by_hand() {
        // Three rows that only component 0 explains and one that only component 1 does; with one
        // pseudo-count each the shares are 4 and 2.
        let probability = [
            vec![0.9, 0.0],
            vec![0.5, 0.0],
            vec![0.1, 0.0],
            vec![0.0, 0.3],
        ];
        let weights = mixture_weights(&probability, 2);
        assert!(
            (weights[0] - 4.0 / 6.0).abs() < 1e-9 && (weights[1] - 2.0 / 6.0).abs() < 1e-9,
            "{weights:?}"
        );
        assert_eq!(mixture_weights(&[], 2), [0.5, 0.5]);
    }
}
