//! Measures loading, degree, core numbers and PageRank on a graph of a million nodes and ten
//! million edges.
//!
//! This is gnarl's side of `bench/igraph.sh`, which alternates it with igraph on equal edges:
//!
//! ```text
//! scale make DIR       writes DIR/edges.txt (one edge a line) and DIR/edges.u32 (the same, little-endian pairs)
//! scale measure DIR    measures once, writes DIR/gnarl.pagerank (little-endian f64), prints one JSON object
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use gnarl_data::edge_list;
use gnarl_graph::centrality::{PageRankSettings, core_numbers, degrees, pagerank};
use gnarl_graph::{Graph, random};
use rand::RngExt;
use serde_json::json;

const NUM_NODES: u32 = 1_000_000;
const NUM_EDGES: usize = 10_000_000;
const SEED: u64 = 1;

/// An allocator that counts the bytes in use and their peak: the measure of an algorithm's extra
/// memory.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise is the system allocator's. Passed on, because the system has
        // zeroed pages ready.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let now = IN_USE.fetch_add(new_size, Relaxed) + new_size - layout.size();
        IN_USE.fetch_sub(layout.size(), Relaxed);
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise is the system allocator's, which can grow a block in place.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work`; returns its result, its seconds and its peak memory in bytes.
fn measure<T>(work: impl FnOnce() -> T) -> (T, f64, usize) {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    (result, seconds, PEAK.load(Relaxed) - before)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", dir] => make(Path::new(dir)),
        ["measure", dir] => measure_all(Path::new(dir)),
        _ => Err("usage: scale make|measure DIR".into()),
    }
}

/// Samples a uniform random graph G(n, m), its edges in sampling order: no tool gets them sorted.
fn make(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = random::stream(SEED, "scale", 0);
    let mut seen = HashSet::with_capacity(NUM_EDGES);
    let mut text = BufWriter::new(fs::File::create(dir.join("edges.txt"))?);
    let mut binary = BufWriter::new(fs::File::create(dir.join("edges.u32"))?);
    while seen.len() < NUM_EDGES {
        let (u, v) = (
            rng.random_range(0..NUM_NODES),
            rng.random_range(0..NUM_NODES),
        );
        if u != v && seen.insert((u.min(v), u.max(v))) {
            writeln!(text, "{u} {v}")?;
            binary.write_all(&u.to_le_bytes())?;
            binary.write_all(&v.to_le_bytes())?;
        }
    }
    text.flush()?;
    binary.flush()?;
    Ok(())
}

fn measure_all(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (loaded, load_text, load_text_bytes) = measure(|| edge_list::load(&dir.join("edges.txt")));
    let text_arcs = loaded?.0.num_arcs();
    let edges = read_edges(&dir.join("edges.u32"))?;
    let (built, load_array, load_bytes) =
        measure(|| Graph::from_edges(NUM_NODES as usize, edges.iter().copied()));
    let graph = built?.0;
    assert_eq!(
        graph.num_arcs(),
        text_arcs,
        "text and array hold the same edges"
    );
    drop(edges);
    let (degree, degree_seconds, _) = measure(|| degrees(&graph));
    let (core, core_seconds, core_bytes) = measure(|| core_numbers(&graph));
    // igraph's default, PRPACK, is called with a tolerance of 1e-10.
    let settings = PageRankSettings {
        tolerance: 1e-10,
        ..PageRankSettings::default()
    };
    let (scores, pagerank_seconds, pagerank_bytes) = measure(|| pagerank(&graph, &settings));
    let scores = scores?;
    fs::write(
        dir.join("gnarl.pagerank"),
        scores
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>(),
    )?;

    let share = |bytes: usize| bytes as f64 / graph.adjacency_bytes() as f64;
    let report = json!({
        "seconds": {
            "load from text": load_text,
            "load from array": load_array,
            "degree": degree_seconds,
            "core numbers": core_seconds,
            "PageRank": pagerank_seconds,
        },
        "extra memory": {
            "load from text": share(load_text_bytes),
            "load from array": share(load_bytes),
            "core numbers": share(core_bytes),
            "PageRank": share(pagerank_bytes),
        },
        "adjacency bytes": graph.adjacency_bytes(),
        "check": {
            "nodes": graph.num_nodes(),
            "edges": graph.num_edges(),
            "sum of squared degrees": degree.iter().map(|d| d * d).sum::<f64>(),
            "sum of core numbers": core.iter().map(|&c| u64::from(c)).sum::<u64>(),
        },
    });
    println!("{report}");
    Ok(())
}

fn read_edges(path: &Path) -> std::io::Result<Vec<(u32, u32)>> {
    let id = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    Ok(fs::read(path)?
        .chunks_exact(8)
        .map(|pair| (id(&pair[..4]), id(&pair[4..])))
        .collect())
}
