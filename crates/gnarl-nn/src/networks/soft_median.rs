//! Soft median ([Geisler et al. 2021](https://arxiv.org/abs/2110.14038), "Robustness of Graph
//! Neural Networks at Scale"): a graph convolution that gives neighbours near the median a larger
//! weight.
//!
//! With `h = X W`, `m_i` the median of a node's neighbours, coordinate by coordinate and weighted
//! by Φ, and `s_ij = exp(-|m_i - h_j| / (T √width))`:
//! `h'_i = c_i Σ_j s_ij Φ_ij h_j / Σ_j s_ij |Φ_ij|` with `c_i = Σ_j |Φ_ij|`. A high temperature T
//! gives the sum of a GCN, a low one the neighbour closest to the median, whatever the others are.
//! An entry of value zero has no effect. The choice of the median neighbour has no gradient;
//! gradients go through its vector, the distances and the values. O(entries · width · log entries
//! of a row).

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::bodies::stack;
use super::body::Body;
use super::config::NetworkSetting as S;
use super::edges::TINY;
use super::entry::{Architecture, Entry, Layered, Place, Plan};
use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use gnarl_tensor::{
    DType, Device, Operator, Result, Tensor, add_bias, gather_cols, segment_median,
};

/// Graph convolutions that aggregate by a soft median (Geisler et al. 2021,
/// [arXiv:2110.14038](https://arxiv.org/abs/2110.14038)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "soft-median",
    constant,
    about = "graph convolutions that aggregate by a soft median"
)]
pub struct SoftMedian {
    /// Temperature of the soft median; a low one is close to the median.
    #[setting(default = 0.2, range = 1e-6.., was = "level")]
    pub temperature: f64,
}

impl Architecture for SoftMedian {
    fn entry(&self) -> Entry {
        stack::entry(&[
            S::Hidden,
            S::Layers,
            S::Dropout,
            S::InputDropout,
            S::Bias,
            S::Head,
            S::OrthogonalStart,
            S::Noise,
        ])
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        stack::build(self, plan, params, rng)
    }

    fn layered(&self) -> Option<&dyn Layered> {
        Some(self)
    }
}

impl Layered for SoftMedian {
    fn layer(
        &self,
        plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        let linear = Linear::glorot(params, at.name, at.from, at.to, plan.bias, rng)?;
        Ok(Box::new(SoftMedianConv {
            linear,
            temperature: self.temperature,
        }))
    }
}

/// Soft-median convolution.
#[derive(Debug)]
struct SoftMedianConv {
    linear: Linear,
    temperature: f64,
}

/// Largest exponent by which a zero-weight neighbour may exceed the nearest neighbour of positive
/// weight.
const MOST: f64 = 20.0;

impl Layer for SoftMedianConv {
    fn forward(&self, operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h = x.matmul(pass.weight(self.linear.weight), None)?;
        let y = soft_median(operator, &h, self.temperature)?;
        match self.linear.bias {
            Some(bias) => add_bias(&y, pass.weight(bias)),
            None => Ok(y),
        }
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.linear.weight]
    }

    fn out_dim(&self) -> usize {
        self.linear.out_dim()
    }
}

/// Computes `c_i Σ_j s_ij Φ_ij h_j / Σ_j s_ij |Φ_ij|`.
fn soft_median(operator: &Operator, h: &Tensor, temperature: f64) -> Result<Tensor> {
    let pattern = operator.pattern();
    let values = operator.values()?.flatten_all()?;
    let sizes = values.ge(0.0)?.where_cond(&values, &values.neg()?)?;
    let rows = pattern.entry_rows();
    let of_row = Tensor::from_slice(&rows, rows.len(), &Device::Cpu)?;
    let median = segment_median(pattern, &sizes, h)?;
    let apart = (median.index_select(&of_row, 0)? - gather_cols(pattern, h)?)?;
    let (_, width) = h.dims2()?;
    let distances = ((apart.sqr()?.sum_keepdim(1)? / width.max(1) as f64)? + TINY)?
        .sqrt()?
        .flatten_all()?;
    // Only ratios within a row matter: the nearest neighbour of non-zero weight has an exponent of
    // zero.
    let nearest = nearest(pattern.num_rows(), &rows, &distances, &sizes)?;
    let exponent = ((nearest - distances)? / temperature)?;
    let exponent = exponent
        .le(MOST)?
        .where_cond(&exponent, &exponent.affine(0.0, MOST)?)?;
    let weights_of_edges = exponent.exp()?;
    let ones = Tensor::ones((operator.num_cols(), 1), DType::F32, &Device::Cpu)?;
    let sums = |of_entries: &Tensor| operator.with_values(of_entries)?.apply(&ones);
    let scale =
        (sums(&sizes)? / (sums(&(&weights_of_edges * &sizes)?)? + f64::from(f32::MIN_POSITIVE))?)?;
    operator
        .with_values(&(weights_of_edges * values)?)?
        .apply(h)?
        .broadcast_mul(&scale)
}

/// Returns for every entry the least distance among its row's non-zero entries, as a constant.
fn nearest(num_rows: usize, rows: &[u32], distances: &Tensor, sizes: &Tensor) -> Result<Tensor> {
    let (distances, sizes) = (distances.to_vec1::<f32>()?, sizes.to_vec1::<f32>()?);
    let mut least = vec![f32::MAX; num_rows];
    for ((&row, distance), _) in rows
        .iter()
        .zip(&distances)
        .zip(&sizes)
        .filter(|(_, size)| **size > 0.0)
    {
        let least = &mut least[row as usize];
        *least = least.min(*distance);
    }
    let of_entry = |(&row, distance): (&u32, &f32)| match least[row as usize] {
        f32::MAX => *distance,
        least => least,
    };
    Tensor::from_vec(
        rows.iter().zip(&distances).map(of_entry).collect(),
        rows.len(),
        &Device::Cpu,
    )
}
