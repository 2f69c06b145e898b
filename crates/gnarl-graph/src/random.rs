//! Random streams: one seed, one independent stream per purpose.
//!
//! Every random choice takes a [`Rng`] made by [`stream`] from the user's seed, the name of the
//! purpose and an index (the run, the graph, the row). Parallel work uses one index per element, so
//! the number of threads changes nothing.

use rand::SeedableRng;

/// The generator used everywhere: xoshiro256++.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// Returns the generator for one purpose and index.
///
/// ```
/// use gnarl_graph::random::stream;
/// use rand::RngExt;
/// let draw = |seed, purpose, index| stream(seed, purpose, index).random::<u64>();
/// assert_eq!(draw(1, "split", 0), draw(1, "split", 0));
/// assert_ne!(draw(1, "split", 0), draw(1, "split", 1));
/// assert_ne!(draw(1, "split", 0), draw(1, "noise", 0));
/// ```
pub fn stream(seed: u64, purpose: &str, index: u64) -> Rng {
    let mut state = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
    for &byte in purpose.as_bytes() {
        state = mix(state ^ u64::from(byte));
    }
    Rng::seed_from_u64(mix(state ^ mix(index)))
}

/// Mixes bits with the finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection in which
/// every input bit affects every output bit. It derives keys from keys.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
