//! All tests of the public interface, in one program: it is linked once, and the tests of all files
//! run in parallel.

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
