//! Every test that uses the library from outside, in one program: it is linked once, and no test
//! waits for the last of another file.

mod support;

mod augmentation;
mod certificates;
mod cgso;
mod defences;
mod dependencies;
mod docs;
mod engine;
mod examples;
mod graph_exits;
mod graphs;
mod layers;
mod mixtures;
mod model;
mod node_vectors;
mod robust_sets;
mod rooms;
mod training;
