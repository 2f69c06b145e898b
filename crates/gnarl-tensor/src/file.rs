//! Reads and writes tensors as safetensors files.

use std::borrow::Cow;
use std::collections::HashMap;

use safetensors::{Dtype, SafeTensors, View};

use crate::array::Tensor;
use crate::element::{DType, Device, Element};
use crate::error::{Error, Result, bail};
use crate::shape::MAX_RANK;

impl Tensor {
    /// Returns the values in little-endian byte order.
    fn bytes(&self) -> Vec<u8> {
        fn of<T: Element, const N: usize>(
            tensor: &Tensor,
            bytes: impl Fn(T) -> [u8; N],
        ) -> Vec<u8> {
            tensor.values::<T>().map_or_else(
                |_| Vec::new(),
                |values| values.iter().flat_map(|v| bytes(*v)).collect(),
            )
        }
        match self.dtype() {
            DType::F32 => of(self, f32::to_le_bytes),
            DType::F64 => of(self, f64::to_le_bytes),
            DType::U32 => of(self, u32::to_le_bytes),
        }
    }
}

impl View for Tensor {
    fn dtype(&self) -> Dtype {
        match self.dtype() {
            DType::F32 => Dtype::F32,
            DType::F64 => Dtype::F64,
            DType::U32 => Dtype::U32,
        }
    }

    fn shape(&self) -> &[usize] {
        self.dims()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.bytes().into()
    }

    fn data_len(&self) -> usize {
        let size = if self.dtype() == DType::F64 { 8 } else { 4 };
        self.elem_count() * size
    }
}

/// Reads the tensors of a safetensors file, by name.
pub fn load_safetensors(bytes: &[u8]) -> Result<HashMap<String, Tensor>> {
    let file = SafeTensors::deserialize(bytes).map_err(Error::msg)?;
    file.iter()
        .map(|(name, view)| Ok((name.to_string(), loaded(name, &view)?)))
        .collect()
}

fn loaded(name: &str, view: &safetensors::tensor::TensorView<'_>) -> Result<Tensor> {
    let shape = view.shape();
    if shape.len() > MAX_RANK {
        bail!(
            "{name} has {} dimensions, at most {MAX_RANK} are read",
            shape.len()
        );
    }
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => {
            let values = data
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b))
                .collect();
            Tensor::from_vec::<f32>(values, shape, &Device::Cpu)
        }
        Dtype::F64 => {
            let values = data
                .as_chunks::<8>()
                .0
                .iter()
                .map(|b| f64::from_le_bytes(*b))
                .collect();
            Tensor::from_vec::<f64>(values, shape, &Device::Cpu)
        }
        Dtype::U32 => {
            let values = data
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| u32::from_le_bytes(*b))
                .collect();
            Tensor::from_vec::<u32>(values, shape, &Device::Cpu)
        }
        other => bail!("{name} is of {other:?}; F32, F64 and U32 are read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_come_back() {
        let tensors = [
            (
                "a",
                Tensor::new(&[[1f32, -2.5], [3.0, f32::MIN_POSITIVE]], &Device::Cpu).unwrap(),
            ),
            ("b", Tensor::new(&[1u32, 7], &Device::Cpu).unwrap()),
            ("c", Tensor::new(0.1f64, &Device::Cpu).unwrap()),
            (
                "d",
                Tensor::zeros((0, 3), DType::F32, &Device::Cpu).unwrap(),
            ),
        ];
        let bytes = safetensors::serialize(tensors.clone(), None).unwrap();
        let found = load_safetensors(&bytes).unwrap();
        for (name, tensor) in tensors {
            assert_eq!(
                (found[name].dims(), found[name].bytes()),
                (tensor.dims(), tensor.bytes()),
                "{name}"
            );
        }
        assert!(load_safetensors(&bytes[..20]).is_err());
    }
}
