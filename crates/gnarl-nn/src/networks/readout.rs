//! Readout: aggregates node vectors to one vector per graph.

use std::sync::{Arc, OnceLock};

use gnarl_tensor::{Extreme, Operator, Pattern, Result, Tensor, segment_extreme};

gnarl_graph::named! {
    /// Readout from node vectors to a graph vector.
    pub enum Readout as "readout" {
        /// The mean over the graph's nodes.
        Mean = "mean",
        /// The sum over the graph's nodes.
        Sum = "sum",
        /// The largest value over the graph's nodes, feature by feature.
        Max = "max",
    }
}

/// Assignment of consecutive rows to the graphs of a batch.
#[derive(Debug, Clone)]
pub struct Membership {
    pattern: Arc<Pattern>,
    sum: OnceLock<Operator>,
    mean: OnceLock<Operator>,
}

impl Membership {
    /// Returns the assignment of graphs with these numbers of nodes, in order.
    pub fn new(sizes: &[usize]) -> Self {
        let mut offsets = vec![0];
        for size in sizes {
            offsets.push(offsets[offsets.len() - 1] + size);
        }
        let total = offsets[offsets.len() - 1];
        let pattern = Arc::new(Pattern::new(total, offsets, (0..total as u32).collect()));
        Self {
            pattern,
            sum: OnceLock::new(),
            mean: OnceLock::new(),
        }
    }

    /// Returns the number of graphs.
    pub fn num_graphs(&self) -> usize {
        self.pattern.num_rows()
    }

    /// Returns the number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.pattern.num_cols()
    }

    fn sum(&self) -> &Operator {
        self.sum
            .get_or_init(|| Operator::from_pattern(self.pattern.clone()))
    }

    fn mean(&self) -> &Operator {
        self.mean.get_or_init(|| {
            let size = |g: usize| self.pattern.row(g).len();
            let shares = (0..self.num_graphs())
                .flat_map(|g| std::iter::repeat_n(1.0 / size(g) as f32, size(g)));
            Operator::constant_on(self.pattern.clone(), shares.collect())
        })
    }
}

impl Readout {
    /// Aggregates `[nodes, dim]` to `[graphs, dim]`; a graph without nodes gives zeros.
    pub fn forward(self, members: &Membership, x: &Tensor) -> Result<Tensor> {
        match self {
            Readout::Max => segment_extreme(&members.pattern, x, Extreme::Max),
            Readout::Sum => members.sum().apply(x),
            Readout::Mean => members.mean().apply(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::testing::assert_close;
    use gnarl_tensor::Device;
    use gnarl_tensor::testing::{check_gradients, random};

    const ALL: [Readout; 3] = [Readout::Mean, Readout::Sum, Readout::Max];

    #[test]
    fn by_hand_with_an_empty_graph() {
        let x = Tensor::new(&[[1f32, -1.0], [3.0, -5.0], [7.0, -7.0]], &Device::Cpu).unwrap();
        let members = Membership::new(&[2, 0, 1]);
        let rows = |readout: Readout| {
            readout
                .forward(&members, &x)
                .unwrap()
                .to_vec2::<f32>()
                .unwrap()
        };
        assert_eq!(rows(Readout::Mean), [[2.0, -3.0], [0.0, 0.0], [7.0, -7.0]]);
        assert_eq!(rows(Readout::Sum), [[4.0, -6.0], [0.0, 0.0], [7.0, -7.0]]);
        assert_eq!(rows(Readout::Max), [[3.0, -1.0], [0.0, 0.0], [7.0, -7.0]]);
    }

    #[test]
    fn nothing_to_read() {
        let none = Tensor::zeros((0, 3), gnarl_tensor::DType::F32, &Device::Cpu).unwrap();
        for readout in ALL {
            assert_eq!(
                readout
                    .forward(&Membership::new(&[]), &none)
                    .unwrap()
                    .dims(),
                [0, 3],
                "{readout:?}"
            );
            let zeros = readout
                .forward(&Membership::new(&[0, 0]), &none)
                .unwrap()
                .to_vec2::<f32>()
                .unwrap();
            assert_eq!(zeros, [[0.0; 3]; 2], "{readout:?}");
        }
    }

    #[test]
    fn the_order_of_nodes_does_not_matter() {
        let x = random(&[9, 4], 1);
        // A permutation within the first five and the last four.
        let order = Tensor::new(&[3u32, 0, 4, 2, 1, 8, 6, 5, 7], &Device::Cpu).unwrap();
        let members = Membership::new(&[5, 4]);
        for readout in ALL {
            let values = |x: &Tensor| {
                readout
                    .forward(&members, x)
                    .unwrap()
                    .flatten_all()
                    .unwrap()
                    .to_vec1::<f32>()
                    .unwrap()
            };
            assert_close(
                &values(&x.index_select(&order, 0).unwrap()),
                &values(&x),
                1e-6,
                &format!("{readout:?}"),
            );
        }
    }

    #[test]
    fn gradients_and_names() {
        // Values far apart, so that a step never changes the largest.
        let spread: Vec<f32> = (0..18).map(|i| ((i * 7) % 18) as f32 * 0.1).collect();
        let spread = Tensor::from_vec(spread, (6, 3), &Device::Cpu).unwrap();
        for readout in Readout::ALL {
            check_gradients(std::slice::from_ref(&spread), |v| {
                readout.forward(&Membership::new(&[2, 0, 4]), &v[0])
            });
            assert_eq!(readout.to_string().parse::<Readout>().unwrap(), *readout);
        }
        let e = "men".parse::<Readout>().unwrap_err().to_string();
        assert!(
            e.contains("unknown readout 'men'; did you mean mean"),
            "{e}"
        );
    }

    #[test]
    fn a_wrong_number_of_nodes_is_refused() {
        for readout in ALL {
            let e = readout
                .forward(&Membership::new(&[2, 2]), &random(&[5, 2], 1))
                .unwrap_err()
                .to_string();
            assert!(e.contains("5 rows"), "{readout:?}: {e}");
        }
    }
}
