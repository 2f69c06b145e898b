//! From the nodes of many graphs to one vector per graph.

use std::sync::Arc;

use candle_core::{Device, Result, Tensor};

use crate::tensor::{Extreme, Operator, Pattern, segment_extreme};

/// How node vectors become a graph vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Readout {
    /// The mean over the graph's nodes.
    Mean,
    /// The sum over the graph's nodes.
    Sum,
    /// The largest value over the graph's nodes, feature by feature.
    Max,
}

/// Which consecutive rows belong to which graph of a batch.
#[derive(Debug, Clone)]
pub struct Membership {
    pattern: Arc<Pattern>,
}

impl Membership {
    /// Graphs with these numbers of nodes, one after the other.
    pub fn new(sizes: &[usize]) -> Self {
        let mut offsets = vec![0];
        for size in sizes {
            offsets.push(offsets[offsets.len() - 1] + size);
        }
        let total = offsets[offsets.len() - 1];
        Self { pattern: Arc::new(Pattern::new(total, offsets, (0..total as u32).collect())) }
    }
}

impl Readout {
    /// `[nodes, dim]` to `[graphs, dim]`; a graph without nodes gives zeros.
    pub fn forward(self, members: &Membership, x: &Tensor) -> Result<Tensor> {
        let pattern = &members.pattern;
        match self {
            Readout::Max => segment_extreme(pattern, x, Extreme::Max),
            Readout::Sum => Operator::from_pattern(pattern.clone()).apply(x),
            Readout::Mean => {
                let share = |g: usize| 1.0 / pattern.row(g).len().max(1) as f32;
                let shares: Vec<f32> =
                    (0..pattern.num_rows()).flat_map(|g| pattern.row(g).map(move |_| share(g))).collect();
                let shares = Tensor::from_vec(shares, pattern.num_entries(), &Device::Cpu)?;
                Operator::from_pattern(pattern.clone()).with_values(&shares)?.apply(x)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::testing::assert_close;
    use crate::tensor::testing::random;

    const ALL: [Readout; 3] = [Readout::Mean, Readout::Sum, Readout::Max];

    #[test]
    fn by_hand_with_an_empty_graph() {
        let x = Tensor::new(&[[1f32, -1.0], [3.0, -5.0], [7.0, -7.0]], &Device::Cpu).unwrap();
        let members = Membership::new(&[2, 0, 1]);
        let rows = |readout: Readout| readout.forward(&members, &x).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(rows(Readout::Mean), [[2.0, -3.0], [0.0, 0.0], [7.0, -7.0]]);
        assert_eq!(rows(Readout::Sum), [[4.0, -6.0], [0.0, 0.0], [7.0, -7.0]]);
        assert_eq!(rows(Readout::Max), [[3.0, -1.0], [0.0, 0.0], [7.0, -7.0]]);
    }

    #[test]
    fn nothing_to_read() {
        let none = Tensor::zeros((0, 3), candle_core::DType::F32, &Device::Cpu).unwrap();
        for readout in ALL {
            assert_eq!(readout.forward(&Membership::new(&[]), &none).unwrap().dims(), [0, 3], "{readout:?}");
            let zeros = readout.forward(&Membership::new(&[0, 0]), &none).unwrap().to_vec2::<f32>().unwrap();
            assert_eq!(zeros, [[0.0; 3]; 2], "{readout:?}");
        }
    }

    #[test]
    fn the_order_of_nodes_does_not_matter() {
        let x = random(&[9, 4], 1);
        // Within the first five and the last four.
        let order = Tensor::new(&[3u32, 0, 4, 2, 1, 8, 6, 5, 7], &Device::Cpu).unwrap();
        let members = Membership::new(&[5, 4]);
        for readout in ALL {
            let values =
                |x: &Tensor| readout.forward(&members, x).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert_close(&values(&x.index_select(&order, 0).unwrap()), &values(&x), 1e-6, &format!("{readout:?}"));
        }
    }

    #[test]
    fn a_wrong_number_of_nodes_is_refused() {
        for readout in ALL {
            let e = readout.forward(&Membership::new(&[2, 2]), &random(&[5, 2], 1)).unwrap_err().to_string();
            assert!(e.contains("5 rows"), "{readout:?}: {e}");
        }
    }
}
