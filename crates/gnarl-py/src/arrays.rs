//! Conversions of NumPy arrays: values checked with their positions, memory shared if possible.

use gnarl_graph::{CsrMatrix, DenseMatrix};
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

use crate::errors::wrong;

/// NumPy's integer types that need no conversion.
trait Whole: Element + Copy + std::fmt::Display {
    /// Returns its bits, sign-extended: negative numbers are at least 2^63.
    fn bits(self) -> u64;
}

impl Whole for i32 {
    fn bits(self) -> u64 {
        self as u64
    }
}

impl Whole for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
}

impl Whole for u32 {
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Whole for u64 {
    fn bits(self) -> u64 {
        self
    }
}

/// Converts an array of integers of one type, if it has that type, each at most `most`.
fn row<T: Whole, U>(
    array: &Bound<'_, PyAny>,
    (what, most): (&str, u64),
    convert: impl Fn(u64) -> U,
) -> Option<PyResult<Vec<U>>> {
    let typed = array.cast::<PyArray1<T>>().ok()?.readonly();
    let Ok(numbers) = typed.as_slice() else {
        return Some(Err(wrong(format!("{what}: not contiguous"))));
    };
    // The union of all bits shows if all numbers fit: a loop without an early exit is several times
    // as fast.
    if numbers.iter().fold(0, |all, x| all | x.bits()) <= most {
        return Some(Ok(numbers.iter().map(|x| convert(x.bits())).collect()));
    }
    let at = numbers.iter().position(|x| x.bits() > most).unwrap_or(0);
    Some(Err(wrong(format!(
        "{what}: entry {at} is {}; it must lie in 0 to {most}",
        numbers[at]
    ))))
}

fn rows<U>(
    array: &Bound<'_, PyAny>,
    what: &str,
    most: u64,
    convert: impl Fn(u64) -> U,
) -> PyResult<Vec<U>> {
    let found = row::<i32, U>(array, (what, most), &convert)
        .or_else(|| row::<i64, U>(array, (what, most), &convert))
        .or_else(|| row::<u32, U>(array, (what, most), &convert))
        .or_else(|| row::<u64, U>(array, (what, most), &convert));
    found.unwrap_or_else(|| {
        Err(wrong(format!(
            "{what}: not a row of whole numbers of 32 or 64 bits"
        )))
    })
}

/// Converts ids of nodes or graphs: integers of at least 0 that fit 32 bits.
pub fn ids(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<u32>> {
    rows(array, what, u64::from(u32::MAX), |bits| bits as u32)
}

/// Converts row boundaries.
pub fn offsets(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<u64>> {
    rows(array, what, i64::MAX as u64, |bits| bits)
}

/// Converts finite numbers.
pub fn reals(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    let typed = array
        .cast::<PyArray1<f64>>()
        .map_err(|_| wrong(format!("{what}: not a row of float64 numbers")))?;
    let typed = typed.readonly();
    let numbers = typed
        .as_slice()
        .map_err(|_| wrong(format!("{what}: not contiguous")))?;
    match numbers.iter().position(|x| !x.is_finite()) {
        None => Ok(numbers.to_vec()),
        Some(at) => Err(wrong(format!(
            "{what}: entry {at} is {}; numbers must be finite",
            numbers[at]
        ))),
    }
}

fn finite(data: &[f32], columns: usize, what: &str) -> PyResult<()> {
    match data.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = (at / columns.max(1), at % columns.max(1));
            Err(wrong(format!(
                "{what}: row {row}, column {column} is {}; numbers must be finite in 32 bits",
                data[at]
            )))
        }
    }
}

/// Converts a matrix of finite numbers of 32 bits.
pub fn dense(array: &Bound<'_, PyAny>, what: &str) -> PyResult<DenseMatrix<f32>> {
    let not = |_| {
        wrong(format!(
            "{what}: not a matrix of float32 numbers, row by row"
        ))
    };
    let typed = array
        .cast::<PyArray2<f32>>()
        .map_err(|e| not(e.to_string()))?
        .readonly();
    let (rows, columns) = (typed.shape()[0], typed.shape()[1]);
    let data = typed.as_slice().map_err(|e| not(e.to_string()))?;
    finite(data, columns, what)?;
    DenseMatrix::new(rows, columns, data.to_vec()).map_err(crate::errors::raised)
}

/// Converts a matrix of finite numbers of 64 bits.
pub fn dense64(array: &Bound<'_, PyAny>, what: &str) -> PyResult<DenseMatrix<f64>> {
    let not = |_| {
        wrong(format!(
            "{what}: not a matrix of float64 numbers, row by row"
        ))
    };
    let typed = array
        .cast::<PyArray2<f64>>()
        .map_err(|e| not(e.to_string()))?
        .readonly();
    let (rows, columns) = (typed.shape()[0], typed.shape()[1]);
    let data = typed.as_slice().map_err(|e| not(e.to_string()))?;
    if let Some(at) = data.iter().position(|x| !x.is_finite()) {
        let (row, column) = (at / columns.max(1), at % columns.max(1));
        return Err(wrong(format!(
            "{what}: row {row}, column {column} is {}; numbers must be finite",
            data[at]
        )));
    }
    DenseMatrix::new(rows, columns, data.to_vec()).map_err(crate::errors::raised)
}

/// Converts a sparse matrix of finite numbers of 32 bits, from its three arrays.
pub fn sparse(
    (indptr, indices, data): (&Bound<'_, PyAny>, &Bound<'_, PyAny>, &Bound<'_, PyAny>),
    columns: usize,
    what: &str,
) -> PyResult<CsrMatrix<f32>> {
    let typed = data
        .cast::<PyArray1<f32>>()
        .map_err(|_| wrong(format!("{what}: its values are not float32")))?;
    let values = typed
        .readonly()
        .as_slice()
        .map_err(|_| wrong(format!("{what}: not contiguous")))?
        .to_vec();
    if let Some(at) = values.iter().position(|x| !x.is_finite()) {
        return Err(wrong(format!(
            "{what}: stored entry {at} is {}; numbers must be finite in 32 bits",
            values[at]
        )));
    }
    let made = CsrMatrix::new(columns, offsets(indptr, what)?, ids(indices, what)?, values);
    made.map_err(|e| wrong(format!("{what}: {e}")))
}

/// Returns a read-only array over memory of an immutable object.
///
/// `data` works for every lifetime of a reference to the object. Therefore its values stay where
/// they are, unchanged, as long as the object lives.
pub fn shared<'py, P, T>(
    owner: &Bound<'py, P>,
    data: impl for<'a> FnOnce(&'a P) -> &'a [T],
) -> PyResult<Bound<'py, PyArray1<T>>>
where
    P: PyClass<Frozen = True> + Sync,
    T: Element,
{
    let view = ArrayView1::from(data(owner.get()));
    // SAFETY: the values live as long as `owner`, by the type of `data`, and the array keeps
    // `owner` alive.
    let array = unsafe { PyArray1::borrow_from_array(&view, owner.as_any().clone()) };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// Returns a read-only matrix over memory of an immutable object, if it has one; see [`shared`].
pub fn shared_matrix<'py, P, T>(
    owner: &Bound<'py, P>,
    data: impl for<'a> FnOnce(&'a P) -> Option<&'a DenseMatrix<T>>,
) -> PyResult<Option<Bound<'py, PyArray2<T>>>>
where
    P: PyClass<Frozen = True> + Sync,
    T: Element + Copy + Default,
{
    let Some(matrix) = data(owner.get()) else {
        return Ok(None);
    };
    let view = ArrayView2::from_shape((matrix.num_rows(), matrix.num_cols()), matrix.data());
    let view = view.map_err(|e| wrong(e.to_string()))?;
    // SAFETY: the values live as long as `owner`, by the type of `data`, and the array keeps
    // `owner` alive.
    let array = unsafe { PyArray2::borrow_from_array(&view, owner.as_any().clone()) };
    array.call_method1("setflags", (false,))?;
    Ok(Some(array))
}

/// Moves a matrix to Python.
pub fn given<'py, T: Element + Copy + Default>(
    py: Python<'py>,
    matrix: &DenseMatrix<T>,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    PyArray1::from_slice(py, matrix.data()).reshape([matrix.num_rows(), matrix.num_cols()])
}

/// Row boundaries, columns, values and the shape of a sparse matrix, for `scipy.sparse.csr_array`.
pub type Csr<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    (usize, usize),
);

/// Moves a sparse matrix to Python.
pub fn given_csr<'py>(py: Python<'py>, matrix: &CsrMatrix<f64>) -> Csr<'py> {
    let offsets: Vec<i64> = matrix.offsets().iter().map(|&x| x as i64).collect();
    let indices: Vec<i64> = matrix.indices().iter().map(|&x| i64::from(x)).collect();
    let shape = (matrix.num_rows(), matrix.num_cols());
    (
        PyArray1::from_vec(py, offsets),
        PyArray1::from_vec(py, indices),
        PyArray1::from_slice(py, matrix.values()),
        shape,
    )
}
