//! Memory pool: blocks freed by one training step are used again by the next.
//!
//! Every training step needs blocks of the same sizes. Freed blocks go to a pool, sorted into size
//! classes, and are handed out again without being cleared. Blocks in use and cached blocks together
//! never exceed the peak of the blocks in use (or 8 MiB): the pool costs no memory that the program
//! did not need already.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::Mutex;

use crate::element::Element;

/// Values in one block, which returns to the pool when it is no longer shared.
#[derive(Debug)]
pub struct Buffer<T: Element> {
    values: Vec<T>,
}

impl<T: Element> Buffer<T> {
    /// Returns `len` values written by `fill`.
    ///
    /// # Safety
    /// `fill` writes every value.
    pub(crate) unsafe fn filled(len: usize, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Self {
        let mut values = T::pool().take(len);
        fill(&mut values.spare_capacity_mut()[..len]);
        // SAFETY: there is capacity for `len` values, and the caller's promise is that `fill` has
        // written them.
        unsafe { values.set_len(len) };
        Self { values }
    }

    /// Returns one value `len` times.
    pub(crate) fn repeated(value: T, len: usize) -> Self {
        let mut values = T::pool().take(len);
        values.resize(len, value);
        Self { values }
    }

    /// Returns a copy of these values.
    pub(crate) fn copy_of(values: &[T]) -> Self {
        let mut copy = T::pool().take(values.len());
        copy.extend_from_slice(values);
        Self { values: copy }
    }

    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Element> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        T::pool().note(&values);
        Self { values }
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        T::pool().give(std::mem::take(&mut self.values));
    }
}

/// Blocks smaller than this are left to the allocator.
const SMALLEST: usize = 4096;
/// Bytes in use and cached that are always allowed.
const ALWAYS: usize = 8 << 20;

/// Freed blocks by size class.
#[derive(Debug)]
pub struct Pool<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// Free blocks by size class: each has at least that many values.
    free: BTreeMap<usize, Vec<Vec<T>>>,
    /// Bytes in use, bytes cached, the peak of bytes in use, and the peak since it was last read.
    used: usize,
    cached: usize,
    peak: usize,
    since_read: usize,
}

/// Returns the size class of a request: four sizes between a power of two and the next.
fn class_above(len: usize) -> usize {
    let step = (len.next_power_of_two() / 8).max(1);
    len.div_ceil(step) * step
}

/// Returns the largest size class that a block of this capacity can serve.
fn class_below(capacity: usize) -> usize {
    // The power of two at or below; classes above it are four apart.
    let power = if capacity.is_power_of_two() {
        capacity
    } else {
        capacity.next_power_of_two() / 2
    };
    let step = (power / 4).max(1);
    if capacity == power {
        power
    } else {
        capacity / step * step
    }
}

impl<T: Element> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                free: BTreeMap::new(),
                used: 0,
                cached: 0,
                peak: 0,
                since_read: 0,
            }),
        }
    }

    fn is_small(capacity: usize) -> bool {
        capacity * size_of::<T>() < SMALLEST
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns an empty vector with capacity for `len` values.
    fn take(&self, len: usize) -> Vec<T> {
        if Self::is_small(len) {
            return Vec::with_capacity(len);
        }
        let class = class_above(len);
        let mut dropped = Vec::new();
        let found = {
            let mut state = self.lock();
            let found = state.free.get_mut(&class).and_then(Vec::pop);
            let capacity = found.as_ref().map_or(class, Vec::capacity);
            if found.is_some() {
                state.cached -= capacity * size_of::<T>();
            }
            state.note_used(capacity * size_of::<T>(), &mut dropped);
            found
        };
        found.unwrap_or_else(|| Vec::with_capacity(class))
    }

    /// Counts a block that was allocated elsewhere.
    fn note(&self, values: &Vec<T>) {
        if !Self::is_small(values.capacity()) {
            let mut dropped = Vec::new();
            self.lock()
                .note_used(values.capacity() * size_of::<T>(), &mut dropped);
        }
    }

    /// Takes a block back. A block whose size matches no request was allocated elsewhere and is
    /// freed.
    fn give(&self, mut values: Vec<T>) {
        let capacity = values.capacity();
        if Self::is_small(capacity) {
            return;
        }
        values.clear();
        let bytes = capacity * size_of::<T>();
        let mut state = self.lock();
        state.used = state.used.saturating_sub(bytes);
        let is_wanted = class_below(capacity) == capacity;
        if is_wanted && state.used + state.cached + bytes <= state.peak.max(ALWAYS) {
            state.cached += bytes;
            state.free.entry(capacity).or_default().push(values);
        }
    }
}

impl<T> State<T> {
    /// Counts bytes that came into use. If the total is too large, cached blocks are freed, the
    /// largest first.
    fn note_used(&mut self, bytes: usize, dropped: &mut Vec<Vec<T>>) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        self.since_read = self.since_read.max(self.used);
        while self.cached > 0 && self.used + self.cached > self.peak.max(ALWAYS) {
            let Some(mut largest) = self.free.last_entry() else {
                break;
            };
            match largest.get_mut().pop() {
                Some(block) => {
                    self.cached -= block.capacity() * size_of::<T>();
                    dropped.push(block);
                }
                None => _ = largest.remove(),
            }
        }
    }
}

/// Memory of single-precision tensors in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes in use.
    pub used: usize,
    /// Bytes freed and cached for reuse.
    pub cached: usize,
    /// Peak of bytes in use since the last call.
    pub peak: usize,
}

/// Returns the memory of single-precision tensors in this program. Blocks of less than 4 KiB are
/// not counted. The next call reports the peak from this moment on.
pub fn memory_use() -> MemoryUse {
    let mut state = f32::pool().lock();
    let used = state.used;
    let peak = std::mem::replace(&mut state.since_read, used);
    MemoryUse {
        used,
        cached: state.cached,
        peak,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_fits_every_request_of_its_class() {
        for len in 1..5000 {
            let class = class_above(len);
            assert!(class >= len && class <= len + len / 4 + 1, "{len}: {class}");
            assert_eq!(
                class_below(class),
                class,
                "{len}: what was made for a class goes back to it"
            );
            assert!(class_below(len) <= len);
            assert_eq!(class_above(class_below(len)), class_below(len));
        }
    }

    #[test]
    fn freed_blocks_come_back_and_no_more_is_kept_than_was_used() {
        let pool: &'static Pool<f32> = Box::leak(Box::new(Pool::new()));
        let block = pool.take(10_000);
        let address = block.as_ptr();
        pool.give(block);
        let again = pool.take(9_900);
        assert_eq!(again.as_ptr(), address);
        pool.give(again);
        // Ten blocks of 8 MiB at once, then others: together never more than the ten.
        let many: Vec<_> = (0..10).map(|_| pool.take(2 << 20)).collect();
        many.into_iter().for_each(|block| pool.give(block));
        let other = pool.take(3 << 20);
        let state = pool.lock();
        assert!(state.used + state.cached <= state.peak.max(ALWAYS));
        assert_eq!(state.used, other.capacity() * 4);
        assert!(state.cached >= 60 << 20, "most of it is still there");
    }
}
