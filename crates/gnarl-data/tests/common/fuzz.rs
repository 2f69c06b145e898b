//! Damages bytes deterministically.
#![allow(dead_code)] // Each test file uses some of it.

use gnarl_graph::random::stream;
use rand::RngExt;

/// Byte sequences that often break parsers.
const ODD: [&[u8]; 16] = [
    b"-1",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"99999999999999999999",
    b"nan",
    b"inf",
    b"1e400",
    b"",
    b"\n",
    b"\r\n",
    b",",
    b"\t",
    b"\0",
    b"\xff\xfe",
    b"#",
];

/// Calls `check` with `count` damaged copies of `seeds`; `check` panics on failure.
pub fn mutations(seeds: &[Vec<u8>], count: u64, check: impl Fn(&[u8])) {
    for i in 0..count {
        let mut rng = stream(20, "mutations", i);
        let mut bytes = seeds[i as usize % seeds.len()].clone();
        for _ in 0..rng.random_range(1..5) {
            let at = rng.random_range(0..bytes.len().max(1)).min(bytes.len());
            let end = (at + rng.random_range(0..8)).min(bytes.len());
            match rng.random_range(0..6) {
                0 => bytes
                    .iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|b| *b ^= 1 << rng.random_range(0..8)),
                1 => bytes
                    .iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|b| *b = rng.random()),
                2 => {
                    drop(bytes.splice(at..end, ODD[rng.random_range(0..ODD.len())].iter().copied()))
                }
                3 => drop(bytes.drain(at..end)),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    let to = rng.random_range(0..=bytes.len());
                    drop(bytes.splice(to..to, piece));
                }
                _ if rng.random_range(0..4) == 0 => bytes.truncate(at),
                _ => bytes.iter_mut().skip(at).take(8).for_each(|b| *b = 0xff),
            }
        }
        check(&bytes);
    }
}
