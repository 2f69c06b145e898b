//! External sorting of any number of arcs: sorted runs of bounded size in temporary files, then a
//! merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use gnarl_graph::error::{Error, Result};

/// The payload of an arc: nothing, or a weight.
pub(super) trait Load: Copy + Send + Sync + Default {
    const BYTES: usize;
    fn to_bytes(self, out: &mut Vec<u8>);
    fn from_bytes(bytes: &[u8]) -> Self;
}

impl Load for () {
    const BYTES: usize = 0;
    fn to_bytes(self, _: &mut Vec<u8>) {}
    fn from_bytes(_: &[u8]) {}
}

impl Load for f64 {
    const BYTES: usize = 8;
    fn to_bytes(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        f64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }
}

/// Sorts arcs `(u, v)` by u, then v, then input order, within this memory and with as much disk as
/// needed.
pub(super) struct ArcSorter<L> {
    folder: PathBuf,
    /// Arcs as `u << 32 | v`.
    buffer: Vec<(u64, L)>,
    capacity: usize,
    runs: Vec<File>,
}

impl<L: Load> ArcSorter<L> {
    /// Makes a sorter with temporary files in `folder`; they have no name and vanish when the
    /// program ends.
    pub fn new(folder: &Path, memory_bytes: usize) -> Self {
        let capacity = (memory_bytes / std::mem::size_of::<(u64, L)>()).max(1 << 10);
        Self {
            folder: folder.to_path_buf(),
            buffer: Vec::new(),
            capacity,
            runs: Vec::new(),
        }
    }

    pub fn push(&mut self, u: u32, v: u32, load: L) -> Result<()> {
        if self.buffer.len() == self.capacity {
            self.spill()?;
        }
        self.buffer.push((u64::from(u) << 32 | u64::from(v), load));
        Ok(())
    }

    fn sort(&mut self) {
        // Without a payload duplicate arcs cannot be told apart; with one the first of them counts.
        match L::BYTES {
            0 => self.buffer.par_sort_unstable_by_key(|(key, _)| *key),
            _ => self.buffer.par_sort_by_key(|(key, _)| *key),
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let fail = |e| Error::io(&self.folder, e);
        let file = tempfile::tempfile_in(&self.folder).map_err(fail)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let mut bytes = Vec::with_capacity(1 << 20);
        for chunk in self.buffer.chunks(1 << 16) {
            bytes.clear();
            for (key, load) in chunk {
                bytes.extend_from_slice(&key.to_le_bytes());
                load.to_bytes(&mut bytes);
            }
            out.write_all(&bytes).map_err(fail)?;
        }
        let mut file = out.into_inner().map_err(|e| fail(e.into_error()))?;
        file.rewind().map_err(fail)?;
        self.runs.push(file);
        self.buffer.clear();
        Ok(())
    }

    /// Calls `visit` with every arc in order.
    pub fn finish(mut self, mut visit: impl FnMut(u32, u32, L) -> Result<()>) -> Result<()> {
        let split = |key: u64| ((key >> 32) as u32, key as u32);
        self.sort();
        if self.runs.is_empty() {
            return self.buffer.iter().try_for_each(|(key, load)| {
                let (u, v) = split(*key);
                visit(u, v, *load)
            });
        }
        let fail = |e| Error::io(&self.folder, e);
        let mut runs: Vec<Run<L>> = Vec::new();
        for file in self.runs {
            runs.push(Run::File(BufReader::with_capacity(1 << 20, file)));
        }
        runs.push(Run::Memory(self.buffer.into_iter()));
        // The earlier run comes first among equal arcs.
        let mut heads: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut loads = vec![L::default(); runs.len()];
        for (i, run) in runs.iter_mut().enumerate() {
            if let Some((key, load)) = run.next().map_err(fail)? {
                loads[i] = load;
                heads.push(Reverse((key, i)));
            }
        }
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((key, i)) = *head;
            let (u, v) = split(key);
            visit(u, v, loads[i])?;
            match runs[i].next().map_err(fail)? {
                Some((next, load)) => {
                    loads[i] = load;
                    *head = Reverse((next, i));
                }
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
        }
        Ok(())
    }
}

enum Run<L> {
    File(BufReader<File>),
    Memory(std::vec::IntoIter<(u64, L)>),
}

impl<L: Load> Run<L> {
    fn next(&mut self) -> std::io::Result<Option<(u64, L)>> {
        match self {
            Run::Memory(arcs) => Ok(arcs.next()),
            Run::File(file) => {
                let mut bytes = [0; 16];
                let bytes = &mut bytes[..8 + L::BYTES];
                match file.read_exact(bytes) {
                    Ok(()) => {
                        let key = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
                        Ok(Some((key, L::from_bytes(&bytes[8..]))))
                    }
                    Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
                    Err(e) => Err(e),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn runs_on_disk_are_merged_into_the_order_that_memory_would_give() {
        let dir = tempfile::tempdir().unwrap();
        let rng = &mut gnarl_graph::random::stream(1, "sort", 0);
        let arcs: Vec<(u32, u32, f64)> = (0..20_000)
            .map(|i| {
                (
                    rng.random_range(0..50),
                    rng.random_range(0..u32::MAX - 1),
                    f64::from(i),
                )
            })
            .collect();
        // Many arcs twice, with another weight: the first stays first.
        let arcs: Vec<_> = arcs
            .iter()
            .chain(&arcs)
            .map(|&(u, v, w)| (u, v % 97, w))
            .collect();
        let mut expected = arcs.clone();
        expected.sort_by_key(|&(u, v, _)| (u, v));
        for memory in [0, 1 << 17, 1 << 30] {
            let mut sorter = ArcSorter::<f64>::new(dir.path(), memory);
            arcs.iter()
                .for_each(|&(u, v, w)| sorter.push(u, v, w).unwrap());
            let spilled = sorter.runs.len();
            assert_eq!(
                spilled > 0,
                memory < 1 << 20,
                "{spilled} runs in {memory} bytes"
            );
            let mut got = Vec::new();
            sorter
                .finish(|u, v, w| {
                    got.push((u, v, w));
                    Ok(())
                })
                .unwrap();
            assert_eq!(got, expected, "{memory} bytes");
        }
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            0,
            "temporary files have no name"
        );
    }
}
