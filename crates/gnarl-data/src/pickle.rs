//! A pickle reader for untrusted input, since pickles are programs. It supports the opcodes and
//! classes of Planetoid files, as Python 2 or 3 writes them up to protocol 3, and refuses
//! everything else by byte offset.
//!
//! Nothing recurses: values are in one arena and refer to each other by index, so nesting and
//! cycles cost nothing. An opcode adds one value at most and strings stay in the file's bytes.
//! Memory is therefore bounded by some forty bytes per byte of the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use crate::text::quoted;
use gnarl_graph::error::{Error, Result};
use gnarl_graph::matrix::CsrMatrix;

/// Largest number of columns of a matrix, 2^24: later steps allocate memory for each.
const MAX_COLS: usize = 1 << 24;

/// An object of a Planetoid file.
pub(super) enum Object {
    /// A SciPy `csr_matrix` of finite values.
    Csr(CsrMatrix<f32>),
    /// A NumPy array.
    Array(Array),
    /// A dict from integers to lists of integers, in file order.
    Lists(Vec<(i64, Vec<i64>)>),
}

/// A NumPy array of one or two dimensions.
pub(super) struct Array {
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// The values in memory order. Integers above 2^53 are rounded; no id is that large.
    pub values: Vec<f64>,
    /// True if the values were integers or booleans.
    pub integer: bool,
    /// True if columns, not rows, are contiguous.
    fortran: bool,
}

impl Array {
    /// Returns row `i` of a two-dimensional array.
    pub fn row(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        let (rows, cols) = (self.shape[0], self.shape[1]);
        (0..cols).map(move |j| {
            self.values[if self.fortran {
                j * rows + i
            } else {
                i * cols + j
            }]
        })
    }
}

/// Runs the pickle in `bytes`; `path` is for messages.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Object> {
    let mut machine = Machine {
        path,
        bytes,
        next: 0,
        opcode_at: 0,
        values: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        encoded_bytes: 0,
    };
    while machine.step()? {}
    machine.finish()
}

/// Index of a value in the arena.
type Id = usize;

/// A value that a Planetoid pickle can build.
enum Value<'a> {
    None,
    Bool(bool),
    Int(i64),
    Text(Cow<'a, [u8]>),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Class(Class),
    Dtype(Dtype),
    /// `None` until its state is set.
    Array(Option<Box<RawArray>>),
    /// The dict of its attributes, `None` until set.
    Csr(Option<Id>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    CsrMatrix,
    Reconstruct,
    Ndarray,
    Dtype,
    DefaultDict,
    List,
    Encode,
}

impl Class {
    /// Finds the class a pickle names; modules moved between releases of Python, NumPy and SciPy.
    fn find(module: &[u8], name: &[u8]) -> Option<Self> {
        Some(match (module, name) {
            (b"scipy.sparse.csr" | b"scipy.sparse._csr", b"csr_matrix") => Class::CsrMatrix,
            (b"numpy.core.multiarray" | b"numpy._core.multiarray", b"_reconstruct") => {
                Class::Reconstruct
            }
            (b"numpy", b"ndarray") => Class::Ndarray,
            (b"numpy", b"dtype") => Class::Dtype,
            (b"collections", b"defaultdict") => Class::DefaultDict,
            (b"__builtin__" | b"builtins", b"list") => Class::List,
            // Python 3 writes the bytes of an array for Python 2 as encode(text, 'latin1').
            (b"_codecs", b"encode") => Class::Encode,
            _ => return None,
        })
    }
}

/// An array whose length agrees with its shape.
struct RawArray {
    shape: Vec<usize>,
    dtype: Dtype,
    fortran: bool,
    bytes: Id,
}

/// Kind (`i`, `u`, `f`, `b`) and size of an element.
#[derive(Clone, Copy)]
struct Dtype {
    kind: u8,
    size: usize,
}

impl Dtype {
    fn find(name: &[u8]) -> Option<Self> {
        match name {
            [kind @ (b'i' | b'u'), size @ (b'1' | b'2' | b'4' | b'8')]
            | [kind @ b'f', size @ (b'4' | b'8')] => Some(Dtype {
                kind: *kind,
                size: usize::from(size - b'0'),
            }),
            b"b1" => Some(Dtype {
                kind: b'b',
                size: 1,
            }),
            _ => None,
        }
    }

    /// Decodes little-endian elements as `f64`.
    fn decode(self, bytes: &[u8]) -> Vec<f64> {
        fn each<const N: usize>(bytes: &[u8], decode: impl Fn([u8; N]) -> f64) -> Vec<f64> {
            bytes.as_chunks().0.iter().map(|&b| decode(b)).collect()
        }
        match (self.kind, self.size) {
            (b'i', 1) => each(bytes, |b| f64::from(i8::from_le_bytes(b))),
            (b'i', 2) => each(bytes, |b| f64::from(i16::from_le_bytes(b))),
            (b'i', 4) => each(bytes, |b| f64::from(i32::from_le_bytes(b))),
            (b'i', _) => each(bytes, |b| i64::from_le_bytes(b) as f64),
            (b'u' | b'b', 1) => each(bytes, |b| f64::from(u8::from_le_bytes(b))),
            (b'u', 2) => each(bytes, |b| f64::from(u16::from_le_bytes(b))),
            (b'u', 4) => each(bytes, |b| f64::from(u32::from_le_bytes(b))),
            (b'u', _) => each(bytes, |b| u64::from_le_bytes(b) as f64),
            (_, 4) => each(bytes, |b| f64::from(f32::from_le_bytes(b))),
            _ => each(bytes, f64::from_le_bytes),
        }
    }
}

struct Machine<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    next: usize,
    opcode_at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// Stack heights at each open mark; nothing below the last may be popped.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
    encoded_bytes: usize,
}

/// Opcodes.
impl<'a> Machine<'a> {
    /// Runs one opcode; `false` after the last.
    fn step(&mut self) -> Result<bool> {
        self.opcode_at = self.next;
        match self.byte()? {
            0x80 => match self.byte()? {
                0..=3 => {}
                version => {
                    return self.refuse(format!("pickle protocol {version}, at most 3 is read"));
                }
            },
            b'.' => return Ok(false),
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'K' | b'M' | b'J' | 0x8a | b'I' | b'L' => self.integer()?,
            b'U' | b'C' | b'T' | b'B' | b'X' => self.text()?,
            b')' => self.push(Value::Tuple(Vec::new())),
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Value::Tuple(items));
            }
            b']' => self.push(Value::List(Vec::new())),
            b'l' => {
                let items = self.pop_to_mark()?;
                self.push(Value::List(items));
            }
            b'a' => {
                let item = self.pop()?;
                self.extend_list(&[item])?;
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.extend_list(&items)?;
            }
            b'}' => self.push(Value::Dict(Vec::new())),
            b'd' => {
                let items = self.pop_to_mark()?;
                self.push(Value::Dict(Vec::new()));
                self.extend_dict(&items)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.extend_dict(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                self.extend_dict(&items)?;
            }
            b'q' | b'r' | b'p' => {
                let slot = self.memo_slot()?;
                let top = self.top()?;
                self.memo.insert(slot, top);
            }
            b'h' | b'j' | b'g' => {
                let slot = self.memo_slot()?;
                match self.memo.get(&slot) {
                    Some(&id) => self.stack.push(id),
                    None => {
                        return self.refuse(format!("value {slot} is used before it is stored"));
                    }
                }
            }
            b'c' => self.class()?,
            b'R' => self.call()?,
            0x81 => self.new_object()?,
            b'b' => self.set_state()?,
            opcode => {
                return self.refuse(format!(
                    "opcode 0x{opcode:02x} ({}) is not used by Planetoid files",
                    quoted(&char::from(opcode).to_string())
                ));
            }
        }
        Ok(true)
    }

    fn integer(&mut self) -> Result<()> {
        let value = match self.bytes[self.opcode_at] {
            b'K' => i64::from(self.byte()?),
            b'M' => i64::from(u16::from_le_bytes(self.array()?)),
            b'J' => i64::from(i32::from_le_bytes(self.array()?)),
            0x8a => {
                let size = usize::from(self.byte()?);
                if size > 8 {
                    return self.refuse(format!("an integer of {size} bytes, at most 8 are read"));
                }
                let digits = self.take(size)?;
                let sign = if digits.last().is_some_and(|b| b & 0x80 != 0) {
                    0xff
                } else {
                    0
                };
                let mut wide = [sign; 8];
                wide[..size].copy_from_slice(digits);
                i64::from_le_bytes(wide)
            }
            _ => {
                let line = self.line()?;
                match (line, line.strip_suffix('L').unwrap_or(line).parse()) {
                    ("00" | "01", _) => {
                        self.push(Value::Bool(line == "01"));
                        return Ok(());
                    }
                    (_, Ok(value)) => value,
                    (_, Err(_)) => {
                        return self
                            .refuse(format!("{} is not an integer of 64 bits", quoted(line)));
                    }
                }
            }
        };
        self.push(Value::Int(value));
        Ok(())
    }

    fn text(&mut self) -> Result<()> {
        let size = match self.bytes[self.opcode_at] {
            b'U' | b'C' => usize::from(self.byte()?),
            _ => u32::from_le_bytes(self.array()?) as usize,
        };
        let text = self.take(size)?;
        self.push(Value::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn tuple(&mut self, size: usize) -> Result<()> {
        let mut items = Vec::with_capacity(size);
        for _ in 0..size {
            items.push(self.pop()?);
        }
        items.reverse();
        self.push(Value::Tuple(items));
        Ok(())
    }

    fn extend_list(&mut self, items: &[Id]) -> Result<()> {
        let list = self.top()?;
        match &mut self.values[list] {
            Value::List(list) => list.extend_from_slice(items),
            _ => return self.refuse("an item is appended to what is not a list"),
        }
        Ok(())
    }

    fn extend_dict(&mut self, items: &[Id]) -> Result<()> {
        let dict = self.top()?;
        let (pairs, rest) = items.as_chunks();
        match &mut self.values[dict] {
            Value::Dict(dict) if rest.is_empty() => {
                dict.extend(pairs.iter().map(|&[key, value]| (key, value)))
            }
            Value::Dict(_) => return self.refuse("a key without a value"),
            _ => return self.refuse("an item is set in what is not a dict"),
        }
        Ok(())
    }

    fn memo_slot(&mut self) -> Result<u32> {
        match self.bytes[self.opcode_at] {
            b'q' | b'h' => Ok(u32::from(self.byte()?)),
            b'r' | b'j' => Ok(u32::from_le_bytes(self.array()?)),
            _ => {
                let line = self.line()?;
                line.parse().or_else(|_| {
                    self.refuse(format!(
                        "{} is not the number of a stored value",
                        quoted(line)
                    ))
                })
            }
        }
    }

    fn class(&mut self) -> Result<()> {
        let (module, name) = (self.line()?, self.line()?);
        match Class::find(module.as_bytes(), name.as_bytes()) {
            Some(class) => self.push(Value::Class(class)),
            None => {
                let full = quoted(&format!("{module}.{name}"));
                return self.refuse(format!(
                    "class {} is not allowed in a Planetoid file",
                    full.trim_matches('\'')
                ));
            }
        }
        Ok(())
    }

    /// Calls one of the few supported functions.
    fn call(&mut self) -> Result<()> {
        let (args, function) = (self.pop()?, self.pop()?);
        let (Value::Class(class), Value::Tuple(args)) =
            (&self.values[function], &self.values[args])
        else {
            return self.refuse("what is called is not a class, or its arguments are not a tuple");
        };
        let args: Vec<&Value> = args.iter().take(4).map(|&arg| &self.values[arg]).collect();
        let result = match (class, &args[..]) {
            (
                Class::Reconstruct,
                [
                    Value::Class(Class::Ndarray),
                    Value::Tuple(_),
                    Value::Text(_),
                ],
            ) => Value::Array(None),
            (Class::Dtype, [Value::Text(name), ..]) => match Dtype::find(name) {
                Some(dtype) => Value::Dtype(dtype),
                None => {
                    let name = quoted(&String::from_utf8_lossy(name));
                    return self.refuse(format!(
                        "array elements of type {name}, numbers are expected"
                    ));
                }
            },
            (Class::DefaultDict, [] | [Value::Class(Class::List)]) => Value::Dict(Vec::new()),
            (Class::Encode, [Value::Text(text), Value::Text(code)])
                if matches!(&code[..], b"latin1" | b"latin-1") =>
            {
                let encoded = self.encode_latin1(text)?;
                self.encoded_bytes += encoded.len();
                Value::Text(Cow::Owned(encoded))
            }
            (class, _) => {
                return self.refuse(format!(
                    "{class:?} is called with arguments of another kind"
                ));
            }
        };
        self.push(result);
        Ok(())
    }

    /// Encodes one byte per character; a text may be encoded repeatedly, so the total is bounded by
    /// the file.
    fn encode_latin1(&self, text: &[u8]) -> Result<Vec<u8>> {
        if text.len() > self.bytes.len() - self.encoded_bytes {
            return self.refuse("more text is encoded than the file holds");
        }
        let encoded = std::str::from_utf8(text)
            .ok()
            .and_then(|t| t.chars().map(|c| u8::try_from(c).ok()).collect());
        encoded.map_or_else(|| self.refuse("text that is not latin1"), Ok)
    }

    fn new_object(&mut self) -> Result<()> {
        let (args, class) = (self.pop()?, self.pop()?);
        match (&self.values[class], &self.values[args]) {
            (Value::Class(Class::CsrMatrix), Value::Tuple(args)) if args.is_empty() => {
                self.push(Value::Csr(None))
            }
            _ => return self.refuse("an object is made that is not an empty csr_matrix"),
        }
        Ok(())
    }

    fn set_state(&mut self) -> Result<()> {
        let state = self.pop()?;
        let object = self.top()?;
        match &self.values[object] {
            Value::Csr(_) if matches!(self.values[state], Value::Dict(_)) => {
                self.values[object] = Value::Csr(Some(state));
                Ok(())
            }
            Value::Array(_) => {
                self.values[object] = Value::Array(Some(Box::new(self.raw_array(state)?)));
                Ok(())
            }
            Value::Dtype(_) => self.check_dtype_state(state),
            _ => self.refuse("a state is set on what has none"),
        }
    }

    /// Reads NumPy's state of an array: version, shape, element type, contiguous columns or rows,
    /// bytes.
    fn raw_array(&self, state: Id) -> Result<RawArray> {
        let Value::Tuple(state) = &self.values[state] else {
            return self.refuse("an array's state is not a tuple");
        };
        let &[_, shape, dtype, fortran, bytes] = &state[..] else {
            return self.refuse(format!(
                "an array's state has {} parts, 5 are expected",
                state.len()
            ));
        };
        let (Value::Tuple(shape), Value::Dtype(dtype), Value::Bool(fortran), Value::Text(text)) = (
            &self.values[shape],
            &self.values[dtype],
            &self.values[fortran],
            &self.values[bytes],
        ) else {
            return self.refuse("an array's state is not a shape, a type, an order and bytes");
        };
        if !(1..=2).contains(&shape.len()) {
            return self.refuse(format!(
                "an array of {} dimensions, 1 or 2 are expected",
                shape.len()
            ));
        }
        let shape = shape
            .iter()
            .map(|&d| self.length(d))
            .collect::<Result<Vec<usize>>>()?;
        let expected = shape
            .iter()
            .try_fold(dtype.size, |product, &d| product.checked_mul(d));
        if expected != Some(text.len()) {
            let what = format!(
                "an array of shape {shape:?} and {} bytes each, but {} bytes of data",
                dtype.size,
                text.len()
            );
            return self.refuse(what);
        }
        Ok(RawArray {
            shape,
            dtype: *dtype,
            fortran: *fortran,
            bytes,
        })
    }

    /// Checks NumPy's state of an element type: version, byte order, then fields of structured
    /// types only.
    fn check_dtype_state(&self, state: Id) -> Result<()> {
        let Value::Tuple(state) = &self.values[state] else {
            return self.refuse("a type's state is not a tuple");
        };
        let state: Vec<&Value> = state
            .iter()
            .take(5)
            .map(|&part| &self.values[part])
            .collect();
        match &state[..] {
            [
                Value::Int(_),
                Value::Text(order),
                Value::None,
                Value::None,
                Value::None,
            ] => match &order[..] {
                b"<" | b"|" => Ok(()),
                _ => self.refuse("array elements are not little-endian"),
            },
            _ => self.refuse("array elements have fields, plain numbers are expected"),
        }
    }
}

/// Bytes, stack and errors.
impl<'a> Machine<'a> {
    fn refuse<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Error::data(
            self.path,
            format!("byte {}", self.opcode_at),
            what,
        ))
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let left = &self.bytes[self.next..];
        if size > left.len() {
            return self.refuse(format!(
                "{size} more bytes are announced, but {} are left",
                left.len()
            ));
        }
        self.next += size;
        Ok(&left[..size])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        Ok(taken
            .try_into()
            .expect("take returns as many bytes as asked"))
    }

    fn byte(&mut self) -> Result<u8> {
        if self.next == self.bytes.len() {
            return self.refuse("the file ends before the pickle does");
        }
        Ok(self.array::<1>()?[0])
    }

    /// Reads an argument written as a line of text.
    fn line(&mut self) -> Result<&'a str> {
        let left = &self.bytes[self.next..];
        let Some(end) = left.iter().position(|&b| b == b'\n') else {
            return self.refuse("a line without an end");
        };
        self.next += end + 1;
        std::str::from_utf8(&left[..end]).or_else(|_| self.refuse("a line that is not text"))
    }

    fn push(&mut self, value: Value<'a>) {
        self.stack.push(self.values.len());
        self.values.push(value);
    }

    fn top(&self) -> Result<Id> {
        match self.stack.last() {
            Some(&id) if self.stack.len() > self.marks.last().copied().unwrap_or(0) => Ok(id),
            _ => self.refuse("a value is used that is not there"),
        }
    }

    fn pop(&mut self) -> Result<Id> {
        let id = self.top()?;
        self.stack.pop();
        Ok(id)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>> {
        match self.marks.pop() {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => self.refuse("a mark is used that is not there"),
        }
    }

    fn length(&self, id: Id) -> Result<usize> {
        match self.values[id] {
            Value::Int(i) => usize::try_from(i)
                .or_else(|_| self.refuse(format!("{i} is not the length of a dimension"))),
            _ => self.refuse("a shape that is not made of integers"),
        }
    }
}

/// Conversion from the arena to the result.
impl Machine<'_> {
    fn finish(mut self) -> Result<Object> {
        let result = self.pop()?;
        if !self.stack.is_empty() || !self.marks.is_empty() {
            return self.refuse("the pickle ends with values left over");
        }
        if self.next < self.bytes.len() {
            return self.refuse(format!(
                "{} bytes after the end of the pickle",
                self.bytes.len() - self.next
            ));
        }
        match &self.values[result] {
            Value::Csr(Some(state)) => Ok(Object::Csr(self.csr(*state)?)),
            Value::Array(Some(raw)) => Ok(Object::Array(self.decode(raw))),
            Value::Dict(items) => Ok(Object::Lists(self.lists(items)?)),
            _ => self.refuse("the pickle holds neither a csr_matrix nor an array nor a dict"),
        }
    }

    fn decode(&self, raw: &RawArray) -> Array {
        let Value::Text(bytes) = &self.values[raw.bytes] else {
            unreachable!("checked when the state was set")
        };
        Array {
            shape: raw.shape.clone(),
            values: raw.dtype.decode(bytes),
            integer: raw.dtype.kind != b'f',
            fortran: raw.fortran,
        }
    }

    /// Reads lists. Keys may share a list, so their total is bounded by the file, in which an entry
    /// takes two bytes or more.
    fn lists(&self, items: &[(Id, Id)]) -> Result<Vec<(i64, Vec<i64>)>> {
        let mut left = self.bytes.len();
        let mut lists = Vec::with_capacity(items.len());
        for &(key, list) in items {
            let (Value::Int(key), Value::List(list)) = (&self.values[key], &self.values[list])
            else {
                return self.refuse("the dict is not one from integers to lists");
            };
            let Some(rest) = left.checked_sub(list.len()) else {
                return self.refuse("the lists of the dict are longer than the file");
            };
            left = rest;
            let entries = list.iter().map(|&entry| match self.values[entry] {
                Value::Int(i) => Ok(i),
                _ => self.refuse(format!(
                    "the list of key {key} holds what is not an integer"
                )),
            });
            lists.push((*key, entries.collect::<Result<_>>()?));
        }
        Ok(lists)
    }

    fn csr(&self, state: Id) -> Result<CsrMatrix<f32>> {
        let (num_rows, num_cols) = match self
            .attribute(state, "_shape")
            .or_else(|_| self.attribute(state, "shape"))?
        {
            Value::Tuple(shape) if shape.len() == 2 => {
                (self.length(shape[0])?, self.length(shape[1])?)
            }
            _ => return self.refuse_matrix("its shape is not two numbers"),
        };
        if num_cols > MAX_COLS {
            return self.refuse_matrix(format!("{num_cols} columns, at most {MAX_COLS} are read"));
        }
        let indptr = self.vector(state, "indptr")?;
        let indices = self.vector(state, "indices")?;
        let data = self.vector(state, "data")?;
        if !indptr.integer || !indices.integer {
            return self.refuse_matrix("indptr or indices are not integers");
        }
        let (indptr, indices, data) = (indptr.values, indices.values, data.values);
        if indptr.len().checked_sub(1) != Some(num_rows) {
            return self.refuse_matrix(format!(
                "indptr has {} entries for {num_rows} rows",
                indptr.len()
            ));
        }
        if let Some(i) = indptr.iter().position(|&v| v < 0.0) {
            return self.refuse_matrix(format!("entry {i} of indptr is {}", indptr[i]));
        }
        if let Some(i) = indices
            .iter()
            .position(|&v| !(0.0..num_cols as f64).contains(&v))
        {
            let what = format!(
                "entry {i} of indices is {}, but there are {num_cols} columns",
                indices[i]
            );
            return self.refuse_matrix(what);
        }
        if let Some(i) = data.iter().position(|&v| !(v as f32).is_finite()) {
            return self.refuse_matrix(format!(
                "entry {i} of data is {}, a finite number is expected",
                data[i]
            ));
        }
        let matrix = CsrMatrix::new(
            num_cols,
            indptr.iter().map(|&v| v as u64).collect(),
            indices.iter().map(|&v| v as u32).collect(),
            data.iter().map(|&v| v as f32).collect(),
        );
        matrix.or_else(|e| match e {
            Error::Argument { what, .. } => self.refuse_matrix(what),
            other => Err(other),
        })
    }

    fn refuse_matrix<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Error::data(self.path, "csr_matrix", what))
    }

    fn vector(&self, state: Id, name: &str) -> Result<Array> {
        match self.attribute(state, name)? {
            Value::Array(Some(raw)) if raw.shape.len() == 1 => Ok(self.decode(raw)),
            _ => self.refuse_matrix(format!("its {name} is not an array of one dimension")),
        }
    }

    fn attribute(&self, state: Id, name: &str) -> Result<&Value<'_>> {
        let Value::Dict(items) = &self.values[state] else {
            unreachable!("checked when the state was set")
        };
        let is_name = |key: Id| matches!(&self.values[key], Value::Text(text) if text[..] == *name.as_bytes());
        match items.iter().rev().find(|(key, _)| is_name(*key)) {
            Some(&(_, value)) => Ok(&self.values[value]),
            None => self.refuse_matrix(format!("it has no {name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // python3: d = collections.defaultdict(list); d[0] = [1, 300, 70000, 2**31 + 5, -3]; d[70000] =
    // []; d[5] = [5] [pickle.dumps(d, protocol) for protocol in range(4)]
    #[rustfmt::skip]
    const LISTS: [&[u8]; 4] = [
        b"ccollections\ndefaultdict\np0\n(c__builtin__\nlist\np1\ntp2\nRp3\nI0\n(lp4\nI1\naI300\naI70000\naL2147483653L\naI-3\nasI70000\n(lp5\nsI5\n(lp6\nI5\nas.",
        b"ccollections\ndefaultdict\nq\x00(c__builtin__\nlist\nq\x01tq\x02Rq\x03(K\x00]q\x04(K\x01M,\x01Jp\x11\x01\x00L2147483653L\nJ\xfd\xff\xff\xffeJp\x11\x01\x00]q\x05K\x05]q\x06K\x05au.",
        b"\x80\x02ccollections\ndefaultdict\nq\x00c__builtin__\nlist\nq\x01\x85q\x02Rq\x03(K\x00]q\x04(K\x01M,\x01Jp\x11\x01\x00\x8a\x05\x05\x00\x00\x80\x00J\xfd\xff\xff\xffeJp\x11\x01\x00]q\x05K\x05]q\x06K\x05au.",
        b"\x80\x03ccollections\ndefaultdict\nq\x00cbuiltins\nlist\nq\x01\x85q\x02Rq\x03(K\x00]q\x04(K\x01M,\x01Jp\x11\x01\x00\x8a\x05\x05\x00\x00\x80\x00J\xfd\xff\xff\xffeJp\x11\x01\x00]q\x05K\x05]q\x06K\x05au.",
    ];

    // python3: pickle.dumps(a, protocol) for protocols 2 and 3, where a reduces as
    // numpy.array([-1, 200], "i4") does.
    #[rustfmt::skip]
    const ARRAYS: [&[u8]; 2] = [
        b"\x80\x02cnumpy._core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85q\x02c_codecs\nencode\nq\x03X\x01\x00\x00\x00bq\x04X\x06\x00\x00\x00latin1q\x05\x86q\x06Rq\x07\x87q\x08Rq\x09(K\x01K\x02\x85q\ncnumpy\ndtype\nq\x0bX\x02\x00\x00\x00i4q\x0c\x89\x88\x87q\x0dRq\x0e(K\x03X\x01\x00\x00\x00<q\x0fNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x10b\x89h\x03X\x0d\x00\x00\x00\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbf\xc3\x88\x00\x00\x00q\x11h\x05\x86q\x12Rq\x13tq\x14b.",
        b"\x80\x03cnumpy._core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85q\x02C\x01bq\x03\x87q\x04Rq\x05(K\x01K\x02\x85q\x06cnumpy\ndtype\nq\x07X\x02\x00\x00\x00i4q\x08\x89\x88\x87q\x09Rq\n(K\x03X\x01\x00\x00\x00<q\x0bNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0cb\x89C\x08\xff\xff\xff\xff\xc8\x00\x00\x00q\x0dtq\x0eb.",
    ];

    #[test]
    fn pickles_of_python_are_read() {
        for bytes in LISTS {
            let Ok(Object::Lists(lists)) = parse(Path::new("f"), bytes) else {
                panic!("a dict of lists")
            };
            let expected = [
                (0, vec![1, 300, 70_000, (1 << 31) + 5, -3]),
                (70_000, vec![]),
                (5, vec![5]),
            ];
            assert_eq!(lists, expected);
        }
        for bytes in ARRAYS {
            let Ok(Object::Array(array)) = parse(Path::new("f"), bytes) else {
                panic!("an array")
            };
            assert_eq!(
                (&array.shape[..], &array.values[..], array.integer),
                (&[2][..], &[-1.0, 200.0][..], true)
            );
        }
    }

    #[test]
    fn elements_of_every_type_are_decoded() {
        for (name, bytes, expected) in [
            ("i1", &[0xff][..], -1.0),
            ("u1", &[0xff], 255.0),
            ("b1", &[1], 1.0),
            ("i2", &[0xfe, 0xff], -2.0),
            ("u2", &[0xfe, 0xff], 65_534.0),
            ("i4", &[0, 0, 0, 0x80], -2_147_483_648.0),
            ("u4", &[0, 0, 0, 0x80], 2_147_483_648.0),
            ("i8", &[0xff; 8], -1.0),
            ("u8", &[1, 0, 0, 0, 0, 0, 0, 0], 1.0),
            ("f4", &1.5f32.to_le_bytes(), 1.5),
            ("f8", &(-0.1f64).to_le_bytes(), -0.1),
        ] {
            assert_eq!(
                Dtype::find(name.as_bytes()).unwrap().decode(bytes),
                [expected],
                "{name}"
            );
        }
        for name in ["f2", "i3", "b2", "O8", "S1", "i44", ""] {
            assert!(Dtype::find(name.as_bytes()).is_none(), "{name}");
        }
    }
}
