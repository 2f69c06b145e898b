//! [`Stored`]: an array of numbers in memory, or in a memory-mapped file.
//!
//! A graph on disk (`dataset::disk`) is opened by mapping its arrays: nothing is read until it is
//! accessed, and all code on slices works on it. This file has the crate's only `unsafe` code.

use std::borrow::Cow;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// Number types of which any bytes are valid, stored as little-endian numbers.
pub trait Plain: sealed::Sealed + Copy + 'static {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($number:ty),+) => { $(impl sealed::Sealed for $number {} impl Plain for $number {})+ };
}
plain!(u8, u16, u32, i32, u64, f32, f64);

/// An array of numbers, in memory or mapped. A copy shares the numbers until either array is
/// written to.
pub struct Stored<T> {
    inner: Inner<T>,
}

enum Inner<T> {
    Owned(Arc<Vec<T>>),
    Mapped {
        map: Arc<Mmap>,
        start: usize,
        count: usize,
        file: Arc<File>,
    },
}

/// Size in bytes from which scattered numbers are read from the file and not through its map. The
/// system maps a range around every accessed number, so a few per cent of them make the whole file
/// count as this process's memory.
const READ_FROM: usize = 3 << 28;

impl<T> Stored<T> {
    /// Returns true if the array is in a file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.inner, Inner::Mapped { .. })
    }

    /// Returns the pages of a mapped array to the system, which keeps them as long as it has
    /// memory. Their memory is free again, and the next access maps its page anew. An owned array
    /// is unchanged.
    pub fn release(&self) {
        #[cfg(unix)]
        if let Inner::Mapped { map, .. } = &self.inner {
            // SAFETY: the mapping is shared and read-only; pages that are dropped are read from the
            // file again.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}

impl<T: Plain> Stored<T> {
    /// Maps `count` numbers from byte `start` of a file. Fails if the file is shorter.
    ///
    /// Truncating a file while it is mapped ends the program, as with any mapped file: folders of
    /// graphs are written once, under another name, and never changed.
    pub fn map(path: &Path, file: &File, start: usize, count: usize) -> Result<Self> {
        const {
            assert!(
                cfg!(target_endian = "little"),
                "mapped arrays are little-endian"
            )
        };
        if count == 0 {
            return Ok(Vec::new().into());
        }
        let size = std::mem::size_of::<T>();
        let end = count
            .checked_mul(size)
            .and_then(|bytes| bytes.checked_add(start));
        let length = file.metadata().map_err(|e| Error::io(path, e))?.len();
        if end.is_none_or(|end| end as u64 > length) {
            return Err(Error::data(
                path,
                "whole file",
                format!("{length} bytes are too few for {count} numbers"),
            ));
        }
        // SAFETY: the file is opened for reading and nothing here writes to it; see above for other
        // writers.
        let map = unsafe { Mmap::map(file) }.map_err(|e| Error::io(path, e))?;
        if !start.is_multiple_of(std::mem::align_of::<T>()) {
            return Err(Error::data(
                path,
                "header",
                format!("numbers start at byte {start}, which is not aligned"),
            ));
        }
        let file = Arc::new(file.try_clone().map_err(|e| Error::io(path, e))?);
        Ok(Self {
            inner: Inner::Mapped {
                map: Arc::new(map),
                start,
                count,
                file,
            },
        })
    }

    /// Returns some of the numbers, without mapping more of a large file than is mapped already.
    pub fn part(&self, range: Range<usize>) -> Cow<'_, [T]> {
        let numbers = &self[range.clone()];
        let from_file = if std::mem::size_of_val(&**self) >= READ_FROM {
            self.read(range)
        } else {
            None
        };
        from_file.map_or(Cow::Borrowed(numbers), Cow::Owned)
    }

    /// Reads a range from the file, if there is one and it can be read.
    fn read(&self, range: Range<usize>) -> Option<Vec<T>> {
        #[cfg(unix)]
        if let Inner::Mapped { start, file, .. } = &self.inner {
            use std::os::unix::fs::FileExt;
            let size = std::mem::size_of::<T>();
            let mut numbers: Vec<T> = Vec::with_capacity(range.len());
            // SAFETY: there is space for as many bytes as these numbers have, any bytes are numbers
            // of this type, and zeros are written before anything is lent.
            let bytes = unsafe {
                std::ptr::write_bytes(numbers.as_mut_ptr(), 0, range.len());
                numbers.set_len(range.len());
                std::slice::from_raw_parts_mut(
                    numbers.as_mut_ptr().cast::<u8>(),
                    range.len() * size,
                )
            };
            file.read_exact_at(bytes, (start + range.start * size) as u64)
                .ok()?;
            return Some(numbers);
        }
        None
    }
}

impl<T: Clone> Stored<T> {
    /// Returns the numbers in memory, without a copy if they are there and not shared.
    pub fn into_vec(self) -> Vec<T> {
        match self.inner {
            Inner::Owned(numbers) => Arc::unwrap_or_clone(numbers),
            Inner::Mapped { .. } => self.to_vec(),
        }
    }

    /// Returns the numbers in memory, shared if they are there already.
    pub fn in_memory(&self) -> Arc<Vec<T>> {
        match &self.inner {
            Inner::Owned(numbers) => numbers.clone(),
            Inner::Mapped { .. } => Arc::new(self.to_vec()),
        }
    }

    /// Returns the numbers for writing; a mapped or shared array is copied first.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if self.is_mapped() {
            self.inner = Inner::Owned(self.in_memory());
        }
        match &mut self.inner {
            Inner::Owned(numbers) => Arc::make_mut(numbers),
            Inner::Mapped { .. } => unreachable!("it was just copied"),
        }
    }
}

impl<T> Deref for Stored<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.inner {
            Inner::Owned(numbers) => numbers,
            Inner::Mapped {
                map, start, count, ..
            } => {
                // SAFETY: `map` checked the bounds and the alignment (a map starts at a page), and
                // made it for numbers that any bytes are one of.
                unsafe { std::slice::from_raw_parts(map.as_ptr().add(*start).cast::<T>(), *count) }
            }
        }
    }
}

impl<T> From<Vec<T>> for Stored<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self {
            inner: Inner::Owned(Arc::new(numbers)),
        }
    }
}

impl<T> Clone for Stored<T> {
    fn clone(&self) -> Self {
        let inner = match &self.inner {
            Inner::Owned(numbers) => Inner::Owned(numbers.clone()),
            Inner::Mapped {
                map,
                start,
                count,
                file,
            } => Inner::Mapped {
                map: map.clone(),
                start: *start,
                count: *count,
                file: file.clone(),
            },
        };
        Self { inner }
    }
}

impl<T: PartialEq> PartialEq for Stored<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Stored<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn mapped_numbers_are_those_of_the_file_and_a_copy_is_written_to() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"eight by").unwrap();
        [1.5f32, -2.0, 7.25]
            .iter()
            .for_each(|x| file.write_all(&x.to_le_bytes()).unwrap());
        let open = File::open(file.path()).unwrap();
        let mut mapped = Stored::<f32>::map(file.path(), &open, 8, 3).unwrap();
        assert_eq!(
            (&*mapped, mapped.is_mapped()),
            (&[1.5, -2.0, 7.25][..], true)
        );
        assert_eq!(mapped.read(1..3), Some(vec![-2.0, 7.25]));
        assert_eq!(
            (mapped.read(0..0), Stored::from(vec![1.0f32]).read(0..1)),
            (Some(Vec::new()), None)
        );
        assert_eq!(&*mapped.part(0..2), [1.5, -2.0]);
        mapped.release();
        assert_eq!(
            mapped.clone(),
            Stored::from(vec![1.5, -2.0, 7.25]),
            "released pages are read again"
        );
        mapped.to_mut()[0] = 3.0;
        assert_eq!((mapped[0], mapped.is_mapped()), (3.0, false));
        let again = Stored::<f32>::map(file.path(), &open, 8, 3).unwrap();
        assert_eq!(again[0], 1.5, "the file stays as it was");
    }

    #[test]
    fn a_copy_shares_numbers_until_one_is_written_to() {
        let mut first = Stored::from(vec![1.0f32, 2.0]);
        let copy = first.clone();
        assert!(
            std::ptr::eq(&*first, &*copy) && Arc::ptr_eq(&first.in_memory(), &copy.in_memory())
        );
        first.to_mut()[0] = 3.0;
        assert_eq!((&*first, &*copy), (&[3.0, 2.0][..], &[1.0, 2.0][..]));
        assert_eq!(
            (first.into_vec(), copy.clone().into_vec()),
            (vec![3.0, 2.0], copy.to_vec())
        );
    }

    #[test]
    fn invalid_ranges_of_a_file_are_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[0; 16]).unwrap();
        let open = File::open(file.path()).unwrap();
        let fault = |start, count| {
            Stored::<u64>::map(file.path(), &open, start, count)
                .unwrap_err()
                .to_string()
        };
        assert!(fault(8, 2).contains("16 bytes are too few for 2 numbers"));
        assert!(fault(0, usize::MAX).contains("too few"));
        assert!(fault(4, 1).contains("not aligned"));
        assert!(
            Stored::<u64>::map(file.path(), &open, 16, 0)
                .unwrap()
                .is_empty()
        );
    }
}
