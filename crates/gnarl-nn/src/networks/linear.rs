//! Linear map `x · W + b`, for sparse or dense x.

use gnarl_graph::Features;
use gnarl_graph::random::Rng;

use super::init::Init;
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Dropout, Operator, Result, Tensor, affine, relu_dropout};

/// Input of a layer: features that stay sparse, or a dense matrix.
#[derive(Debug, Clone)]
pub enum Input {
    /// `[nodes, features]`, never converted to dense.
    Sparse(Operator),
    /// `[nodes, features]`.
    Dense(Tensor),
}

/// Share of non-zeros below which a dense feature matrix is stored as a sparse one.
const SPARSE_BELOW: f64 = 0.4;

impl Input {
    /// Converts a graph's features; a dense matrix that is mostly zeros becomes sparse.
    pub fn from_features(features: &Features) -> Result<Self> {
        match features {
            Features::Sparse(m) => Ok(Input::Sparse(Operator::constant_f32(m))),
            Features::Dense(m) => {
                let (rows, cols) = (m.num_rows(), m.num_cols());
                if features.num_nonzeros() as f64 >= SPARSE_BELOW * (rows * cols) as f64 {
                    return Ok(Input::Dense(Tensor::from_slice(
                        m.data(),
                        (rows, cols),
                        &gnarl_tensor::Device::Cpu,
                    )?));
                }
                let m = gnarl_graph::CsrMatrix::from_dense(m);
                Ok(Input::Sparse(Operator::constant_f32(&m)))
            }
        }
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        match self {
            Input::Sparse(x) => x.num_rows(),
            Input::Dense(x) => x.dims()[0],
        }
    }

    /// Returns the number of features.
    pub fn dim(&self) -> usize {
        match self {
            Input::Sparse(x) => x.num_cols(),
            Input::Dense(x) => x.dims()[1],
        }
    }

    /// Returns the first `rows` rows.
    pub fn head(&self, rows: usize) -> Result<Input> {
        match self {
            _ if rows == self.num_rows() => Ok(self.clone()),
            Input::Sparse(x) => x.head(rows).map(Input::Sparse),
            Input::Dense(x) => x.narrow(0, 0, rows).map(Input::Dense),
        }
    }

    /// Returns these rows, in this order.
    pub fn select(&self, rows: &[u32]) -> Result<Input> {
        match self {
            Input::Sparse(x) => x.select_rows(rows).map(Input::Sparse),
            Input::Dense(x) => {
                let index = Tensor::from_slice(rows, rows.len(), &gnarl_tensor::Device::Cpu)?;
                x.index_select(&index, 0).map(Input::Dense)
            }
        }
    }

    /// Computes `x · weight (+ bias)`.
    pub fn matmul(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        match self {
            Input::Sparse(x) => x.apply_with_bias(weight, bias),
            Input::Dense(x) => match bias {
                Some(bias) => affine(x, weight, bias, None),
                None => x.matmul(weight),
            },
        }
    }

    /// Returns a dense copy.
    pub fn to_dense(&self) -> Result<Tensor> {
        match self {
            Input::Dense(x) => Ok(x.clone()),
            Input::Sparse(x) => x.apply(&Tensor::eye(
                x.num_cols(),
                gnarl_tensor::DType::F32,
                &gnarl_tensor::Device::Cpu,
            )?),
        }
    }
}

impl From<Tensor> for Input {
    fn from(x: Tensor) -> Self {
        Input::Dense(x)
    }
}

/// Linear map `[.., in_dim] → [.., out_dim]` with an optional bias.
#[derive(Debug, Clone)]
pub struct Linear {
    /// `[in_dim, out_dim]`
    pub weight: ParamId,
    /// `[out_dim]`
    pub bias: Option<ParamId>,
    in_dim: usize,
    out_dim: usize,
}

impl Linear {
    /// Adds a map with Glorot weights and a zero bias, the initialisation of graph convolutions.
    pub fn glorot(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        bias: bool,
        rng: &mut Rng,
    ) -> Result<Self> {
        Self::with_init(
            params,
            name,
            in_dim,
            out_dim,
            Init::Glorot,
            bias.then_some(Init::Constant(0.0)),
            rng,
        )
    }

    /// Adds a map with PyTorch's default initialisation of linear layers: weights and bias uniform
    /// in ±1 / sqrt(in_dim).
    pub fn kaiming(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        bias: bool,
        rng: &mut Rng,
    ) -> Result<Self> {
        let init = Init::Kaiming { fan_in: in_dim };
        Self::with_init(
            params,
            name,
            in_dim,
            out_dim,
            init,
            bias.then_some(init),
            rng,
        )
    }

    /// Adds a map with a given initialisation.
    pub fn with_init(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        weight: Init,
        bias: Option<Init>,
        rng: &mut Rng,
    ) -> Result<Self> {
        let weight = params.add(
            format!("{name}.weight"),
            &[in_dim, out_dim],
            weight,
            Group::Weight,
            rng,
        )?;
        let bias = bias
            .map(|init| params.add(format!("{name}.bias"), &[out_dim], init, Group::Bias, rng))
            .transpose()?;
        Ok(Self {
            weight,
            bias,
            in_dim,
            out_dim,
        })
    }

    /// Exempts the map from the weights axis.
    pub fn free(self, params: &mut Params) -> Self {
        params.regroup(self.weight, Group::Free);
        self
    }

    /// Returns the number of inputs.
    pub fn in_dim(&self) -> usize {
        self.in_dim
    }

    /// Returns the number of outputs.
    pub fn out_dim(&self) -> usize {
        self.out_dim
    }

    /// Computes `x · W + b`.
    pub fn forward(&self, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        x.matmul(pass.weight(self.weight), self.bias.map(|b| pass.weight(b)))
    }

    /// Computes `dropout(relu(x · W + b))`.
    pub fn forward_activated(
        &self,
        x: &Input,
        pass: &Pass<'_>,
        dropout: Dropout,
    ) -> Result<Tensor> {
        match (x, self.bias) {
            (Input::Dense(x), Some(bias)) => affine(
                x,
                pass.weight(self.weight),
                pass.weight(bias),
                Some(dropout),
            ),
            (Input::Sparse(x), Some(bias)) => {
                x.apply_activated(pass.weight(self.weight), pass.weight(bias), dropout)
            }
            (_, None) => relu_dropout(&self.forward(x, pass)?, dropout),
        }
    }
}
