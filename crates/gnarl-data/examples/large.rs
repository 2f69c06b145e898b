//! Generates a graph of any size in the form of a user's files: text, and features as a `.npy`. For
//! `bench/scale.sh`.
//!
//! ```text
//! large DIR NODES EDGES FEATURES CLASSES
//! ```
//!
//! writes DIR/edges.tsv, DIR/features.npy (if there are features), DIR/labels.csv and
//! DIR/splits.csv. Node u has class u mod CLASSES. Seven of ten edges stay within a class, ends are
//! skewed towards small numbers, and features are noise around a class mean.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use gnarl_graph::random::{mix, stream};
use rand::RngExt;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, numbers @ ..] = &args[..] else {
        panic!("large DIR NODES EDGES FEATURES CLASSES")
    };
    let numbers: Vec<u64> = numbers
        .iter()
        .map(|n| n.parse().expect("a number"))
        .collect();
    let [nodes, edges, features, classes] = numbers[..] else {
        panic!("large DIR NODES EDGES FEATURES CLASSES")
    };
    let dir = Path::new(dir);
    std::fs::create_dir_all(dir)?;
    let create = |name: &str| {
        Ok::<_, std::io::Error>(BufWriter::with_capacity(
            1 << 20,
            File::create(dir.join(name))?,
        ))
    };

    let mut out = create("edges.tsv")?;
    let rng = &mut stream(1, "large", 0);
    let mut line = Vec::with_capacity(32);
    for _ in 0..edges {
        // The square of a uniform number: small numbers more often, the first node a few thousand
        // times.
        let skewed = rng.random::<f64>();
        let u = ((skewed * skewed) * nodes as f64) as u64;
        let mut v = rng.random_range(0..nodes);
        if rng.random_bool(0.7) {
            v = (v - v % classes + u % classes).min(nodes - 1);
        }
        line.clear();
        digits(u, &mut line);
        line.push(b'\t');
        digits(v, &mut line);
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.flush()?;

    if features > 0 {
        let mut out = create("features.npy")?;
        let text =
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({nodes}, {features}), }}");
        out.write_all(b"\x93NUMPY\x01\x00\x76\x00")?;
        out.write_all(format!("{text:<117}\n").as_bytes())?;
        for u in 0..nodes {
            for c in 0..features {
                let word = mix(mix(u) ^ c);
                let noise = (word >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
                let mean = if c % classes == u % classes { 0.5 } else { 0.0 };
                out.write_all(&(noise + mean).to_le_bytes())?;
            }
        }
        out.flush()?;
    }

    let (mut labels, mut splits) = (create("labels.csv")?, create("splits.csv")?);
    labels.write_all(b"node,class\n")?;
    splits.write_all(b"node,part\n")?;
    for u in 0..nodes {
        writeln!(labels, "{u},{}", u % classes)?;
        match mix(u ^ 77) % 100 {
            0..10 => writeln!(splits, "{u},train")?,
            10 => writeln!(splits, "{u},val")?,
            11 => writeln!(splits, "{u},test")?,
            _ => {}
        }
    }
    Ok(())
}

fn digits(mut number: u64, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}
