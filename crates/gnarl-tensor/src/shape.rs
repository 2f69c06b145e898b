//! Shape of a tensor: up to six dimensions, values stored row by row.

use crate::error::{Result, bail};

/// Maximal number of dimensions of a tensor.
pub const MAX_RANK: usize = 6;

/// Lengths of the dimensions of a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: usize,
}

impl Shape {
    /// Returns the lengths, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of values.
    pub fn elem_count(&self) -> usize {
        self.dims().iter().product()
    }

    /// Returns the rows and columns of a matrix.
    pub fn dims2(&self) -> Result<(usize, usize)> {
        match *self.dims() {
            [rows, cols] => Ok((rows, cols)),
            ref dims => bail!("a matrix is expected, not a tensor of shape {dims:?}"),
        }
    }

    /// Returns the length of one dimension.
    pub fn dim(&self, dim: usize) -> Result<usize> {
        match self.dims().get(dim) {
            Some(&length) => Ok(length),
            None => bail!("dimension {dim} of a tensor of shape {:?}", self.dims()),
        }
    }

    /// Returns the number of blocks before a dimension, its length, and the number of values that
    /// one step along it skips.
    pub(crate) fn around(&self, dim: usize) -> Result<(usize, usize, usize)> {
        let length = self.dim(dim)?;
        let dims = self.dims();
        Ok((
            dims[..dim].iter().product(),
            length,
            dims[dim + 1..].iter().product(),
        ))
    }

    /// Returns the shape with another length of one dimension.
    pub(crate) fn with_dim(&self, dim: usize, length: usize) -> Self {
        let mut shape = *self;
        shape.dims[dim] = length;
        shape
    }

    /// Returns the shape without one dimension.
    pub(crate) fn without(&self, dim: usize) -> Self {
        let kept: Vec<usize> = (0..self.rank)
            .filter(|&d| d != dim)
            .map(|d| self.dims[d])
            .collect();
        Self::from(kept)
    }

    /// Returns the shape that two shapes broadcast to; dimensions of length one and missing ones
    /// are repeated.
    pub(crate) fn broadcast(&self, other: &Self) -> Option<Self> {
        let rank = self.rank.max(other.rank);
        let mut dims = [0; MAX_RANK];
        for (d, length) in dims[..rank].iter_mut().enumerate() {
            *length = match (self.aligned(d, rank), other.aligned(d, rank)) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => return None,
            };
        }
        Some(Self { dims, rank })
    }

    /// Returns the length of dimension `d` of `rank`; missing outer dimensions have length one.
    pub(crate) fn aligned(&self, d: usize, rank: usize) -> usize {
        let missing = rank - self.rank;
        if d < missing {
            1
        } else {
            self.dims[d - missing]
        }
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.dims())
    }
}

impl From<&[usize]> for Shape {
    /// # Panics
    /// If there are more than [`MAX_RANK`] dimensions.
    fn from(lengths: &[usize]) -> Self {
        assert!(
            lengths.len() <= MAX_RANK,
            "a tensor has at most {MAX_RANK} dimensions"
        );
        let mut dims = [0; MAX_RANK];
        dims[..lengths.len()].copy_from_slice(lengths);
        Self {
            dims,
            rank: lengths.len(),
        }
    }
}

impl From<Vec<usize>> for Shape {
    fn from(lengths: Vec<usize>) -> Self {
        Self::from(&lengths[..])
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        *shape
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Self {
        Self::from(&[][..])
    }
}

impl From<usize> for Shape {
    fn from(length: usize) -> Self {
        Self::from(&[length][..])
    }
}

impl From<(usize, usize)> for Shape {
    fn from((rows, cols): (usize, usize)) -> Self {
        Self::from(&[rows, cols][..])
    }
}

impl From<(usize, usize, usize)> for Shape {
    fn from((a, b, c): (usize, usize, usize)) -> Self {
        Self::from(&[a, b, c][..])
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(lengths: [usize; N]) -> Self {
        Self::from(&lengths[..])
    }
}

impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(lengths: &[usize; N]) -> Self {
        Self::from(&lengths[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_broadcast() {
        let of = |a: &[usize], b: &[usize]| {
            Shape::from(a)
                .broadcast(&Shape::from(b))
                .map(|s| s.dims().to_vec())
        };
        assert_eq!(of(&[3, 1], &[4]), Some(vec![3, 4]));
        assert_eq!(of(&[], &[2, 5]), Some(vec![2, 5]));
        assert_eq!(of(&[0, 3], &[1, 3]), Some(vec![0, 3]));
        assert_eq!(of(&[2], &[3]), None);
        assert_eq!(Shape::from((2, 3, 4)).around(1).unwrap(), (2, 3, 4));
        assert!(
            Shape::from(3)
                .dim(1)
                .unwrap_err()
                .to_string()
                .contains("dimension 1 of a tensor of shape [3]")
        );
    }
}
