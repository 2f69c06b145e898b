//! Memory that a kernel fills: uninitialised and to be written in full, or a sum to add to.
//!
//! The two cases have types of their own down to the innermost loop, so that no kernel can read
//! uninitialised memory or replace a value of a sum by an uninitialised one.

use std::mem::MaybeUninit;
use std::ops::Range;

use rayon::prelude::*;

use crate::element::Float;
use crate::pattern::Pattern;

/// Memory for a gradient or another result: uninitialised, or with a sum to add to.
pub enum Target<'a, T> {
    /// Uninitialised memory: every value must be written.
    Write(&'a mut [MaybeUninit<T>]),
    /// Values so far, to add to.
    Add(&'a mut [T]),
}

impl<'a, T> Target<'a, T> {
    /// Returns the number of values.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        match self {
            Target::Write(values) => values.len(),
            Target::Add(values) => values.len(),
        }
    }

    /// Returns the values of a range.
    #[inline(always)]
    pub(crate) fn part(&mut self, range: Range<usize>) -> Target<'_, T> {
        match self {
            Target::Write(values) => Target::Write(&mut values[range]),
            Target::Add(values) => Target::Add(&mut values[range]),
        }
    }

    /// Returns the values as initialised ones.
    ///
    /// # Safety
    /// Every value of a target to [`Write`](Target::Write) was written.
    #[inline(always)]
    pub(crate) unsafe fn assume_written(self) -> &'a mut [T] {
        match self {
            Target::Add(values) => values,
            // SAFETY: the caller's promise; both types have one layout.
            Target::Write(values) => unsafe { &mut *(std::ptr::from_mut(values) as *mut [T]) },
        }
    }
}

impl<'a, T: Float> Target<'a, T> {
    /// Returns values to add to: the values so far, or zeros.
    #[inline(always)]
    pub fn initialised(mut self) -> &'a mut [T] {
        if let Target::Write(values) = &mut self {
            values.iter_mut().for_each(|value| _ = value.write(T::ZERO));
        }
        // SAFETY: just written.
        unsafe { self.assume_written() }
    }

    /// Writes these values, or adds them to the values so far.
    #[inline(always)]
    pub(crate) fn store(self, values: &[T]) {
        match self {
            Target::Write(out) => {
                for (out, value) in out.iter_mut().zip(values) {
                    out.write(*value);
                }
            }
            Target::Add(out) => {
                for (out, value) in out.iter_mut().zip(values) {
                    *out += *value;
                }
            }
        }
    }

    /// Adds these values to the values so far, or to zeros.
    #[inline(always)]
    pub(crate) fn add(self, values: impl Iterator<Item = T>) {
        match self {
            Target::Write(out) => {
                for (out, value) in out.iter_mut().zip(values) {
                    // The sum turns a negative zero into a positive one, as a sum from zero does.
                    out.write(T::ZERO + value);
                }
            }
            Target::Add(out) => {
                for (out, value) in out.iter_mut().zip(values) {
                    *out += value;
                }
            }
        }
    }

    /// Runs `work` on each block of rows in parallel, on at most this many blocks, with the rows
    /// and their part of the memory (`width` values a row).
    pub(crate) fn for_few_row_blocks(
        self,
        pattern: &Pattern,
        at_most: usize,
        width: usize,
        work: impl Fn(Range<usize>, Target<'_, T>) + Sync,
    ) {
        match self {
            Target::Write(out) => pattern.for_few_row_blocks(at_most, out, width, |rows, out| {
                work(rows, Target::Write(out))
            }),
            Target::Add(out) => pattern.for_few_row_blocks(at_most, out, width, |rows, out| {
                work(rows, Target::Add(out))
            }),
        }
    }

    /// Runs `work` on each block of rows in parallel, with the rows and their part of the memory
    /// (`width` values a row).
    pub(crate) fn for_row_blocks(
        self,
        pattern: &Pattern,
        width: usize,
        work: impl Fn(Range<usize>, Target<'_, T>) + Sync,
    ) {
        self.for_few_row_blocks(pattern, usize::MAX, width, work);
    }

    /// Runs `work` on each block of rows in parallel, with the rows and their entries' part of the
    /// memory (`width` values an entry).
    pub(crate) fn for_entry_blocks(
        self,
        pattern: &Pattern,
        width: usize,
        work: impl Fn(Range<usize>, Target<'_, T>) + Sync,
    ) {
        match self {
            Target::Write(out) => {
                pattern.for_entry_blocks(out, width, |rows, out| work(rows, Target::Write(out)))
            }
            Target::Add(out) => {
                pattern.for_entry_blocks(out, width, |rows, out| work(rows, Target::Add(out)))
            }
        }
    }

    /// Runs `work` on parts of `size` values in parallel, with the number of each part.
    pub(crate) fn for_chunks(self, size: usize, work: impl Fn(usize, Target<'_, T>) + Sync) {
        match self {
            Target::Write(out) => out
                .par_chunks_mut(size)
                .enumerate()
                .for_each(|(i, out)| work(i, Target::Write(out))),
            Target::Add(out) => out
                .par_chunks_mut(size)
                .enumerate()
                .for_each(|(i, out)| work(i, Target::Add(out))),
        }
    }
}

/// Returns memory to write over initialised values.
///
/// # Safety
/// Only initialised values are written to it.
pub(crate) unsafe fn overwritten<T>(values: &mut [T]) -> Target<'_, T> {
    // SAFETY: both types have one layout; by the caller's promise the values stay initialised.
    Target::Write(unsafe { &mut *(std::ptr::from_mut(values) as *mut [MaybeUninit<T>]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_or_added() {
        let mut sum = [1.0f32, 2.0, 3.0];
        Target::Add(&mut sum).part(1..3).store(&[10.0, 20.0]);
        Target::Add(&mut sum).add([0.5f32, 0.5].into_iter());
        assert_eq!(sum, [1.5, 12.5, 23.0]);
        assert_eq!(Target::Add(&mut sum).initialised(), [1.5, 12.5, 23.0]);

        let mut fresh = [MaybeUninit::<f32>::uninit(); 3];
        let mut target = Target::Write(&mut fresh);
        target.part(0..1).store(&[4.0]);
        target.part(1..3).add([-0.0, 5.0].into_iter());
        assert_eq!(target.len(), 3);
        // SAFETY: the two parts are all of it, and were written.
        let values = unsafe { target.assume_written() };
        assert_eq!(values, [4.0, 0.0, 5.0]);
        assert!(values[1].is_sign_positive(), "zero plus negative zero");
        let mut fresh = [MaybeUninit::<f32>::uninit(); 2];
        assert_eq!(Target::Write(&mut fresh).initialised(), [0.0, 0.0]);
    }
}
