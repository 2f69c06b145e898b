//! Values in the columns of a table.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use gnarl_graph::error::{Error, Result};

/// Reads a column of weights; `before` is the number of rows in the batches before.
pub(super) fn weights(path: &Path, column: &ArrayRef, before: u64) -> Result<Vec<f64>> {
    let unread = || {
        Error::data(
            path,
            "weights",
            format!("a column of {} is not one of numbers", column.data_type()),
        )
    };
    let weight = |(i, value): (usize, Option<f64>)| {
        let what = "a weight is missing or not a finite number that fits 32 bits";
        let fits = value.filter(|value| value.abs() <= f64::from(f32::MAX));
        fits.ok_or_else(|| Error::data(path, format!("row {}", before + i as u64 + 1), what))
    };
    numbers(column)
        .ok_or_else(unread)?
        .into_iter()
        .enumerate()
        .map(weight)
        .collect()
}

/// The values of a column of primitives of one type, `None` for a missing value.
macro_rules! values {
    ($column:expr, $kind:ty, $into:expr) => {
        $column
            .as_primitive::<$kind>()
            .iter()
            .map(|value| value.map($into))
            .collect()
    };
}

/// Reads a column of integers of any width.
pub(super) fn integers(column: &ArrayRef) -> Option<Vec<Option<i128>>> {
    Some(match column.data_type() {
        DataType::Int8 => values!(column, Int8Type, i128::from),
        DataType::Int16 => values!(column, Int16Type, i128::from),
        DataType::Int32 => values!(column, Int32Type, i128::from),
        DataType::Int64 => values!(column, Int64Type, i128::from),
        DataType::UInt8 => values!(column, UInt8Type, i128::from),
        DataType::UInt16 => values!(column, UInt16Type, i128::from),
        DataType::UInt32 => values!(column, UInt32Type, i128::from),
        DataType::UInt64 => values!(column, UInt64Type, i128::from),
        _ => return None,
    })
}

/// Reads a column of numbers; strings that are numbers are parsed.
fn numbers(column: &ArrayRef) -> Option<Vec<Option<f64>>> {
    Some(match column.data_type() {
        DataType::Float16 => values!(column, Float16Type, f64::from),
        DataType::Float32 => values!(column, Float32Type, f64::from),
        DataType::Float64 => values!(column, Float64Type, f64::from),
        DataType::Boolean => column
            .as_boolean()
            .iter()
            .map(|value| value.map(f64::from))
            .collect(),
        kind if kind.is_integer() => integers(column)?
            .into_iter()
            .map(|value| value.map(|value| value as f64))
            .collect(),
        kind if kind.is_string() => {
            let number = |i| {
                if column.is_null(i) {
                    None
                } else {
                    value_as_text(column, i).ok()?.trim().parse().ok()
                }
            };
            (0..column.len()).map(number).collect()
        }
        _ => return None,
    })
}

/// Returns one present value as a text file would have it; a value without such a form is an error
/// that names it.
pub(super) fn value_as_text(column: &ArrayRef, i: usize) -> std::result::Result<String, String> {
    /// A value of a column of primitives, written out.
    macro_rules! written {
        ($kind:ty) => {
            column.as_primitive::<$kind>().value(i).to_string()
        };
    }
    Ok(match column.data_type() {
        DataType::Null => String::new(),
        DataType::Utf8 => column.as_string::<i32>().value(i).to_string(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(i).to_string(),
        DataType::Utf8View => column.as_string_view().value(i).to_string(),
        DataType::Boolean => column.as_boolean().value(i).to_string(),
        DataType::Int8 => written!(Int8Type),
        DataType::Int16 => written!(Int16Type),
        DataType::Int32 => written!(Int32Type),
        DataType::Int64 => written!(Int64Type),
        DataType::UInt8 => written!(UInt8Type),
        DataType::UInt16 => written!(UInt16Type),
        DataType::UInt32 => written!(UInt32Type),
        DataType::UInt64 => written!(UInt64Type),
        DataType::Float16 => written!(Float16Type),
        DataType::Float32 => written!(Float32Type),
        DataType::Float64 => written!(Float64Type),
        // pandas categories: a number that stands for a string.
        DataType::Dictionary(..) => {
            let words = column.as_any_dictionary();
            let place = integers(&words.keys().slice(i, 1)).and_then(|key| key[0]);
            let place = place
                .and_then(|at| usize::try_from(at).ok())
                .filter(|&at| at < words.values().len());
            return value_as_text(
                words.values(),
                place.ok_or("a category that the table does not name")?,
            );
        }
        kind => {
            return Err(format!(
                "a column of {kind} is neither one of numbers nor one of texts"
            ));
        }
    })
}
