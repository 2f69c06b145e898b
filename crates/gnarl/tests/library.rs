//! All tests of the public interface, in one program: it is linked once, and the tests of all files
//! run in parallel.

mod support;

mod augmentation;
mod certificates;
mod cgso;
mod compiled_tests;
mod defences;
mod densities;
mod dependencies;
mod docs;
mod engine;
mod examples;
mod graph_classification;
mod graph_exits;
mod graph_set_robustness;
mod latent_augmentation;
mod layers;
mod model;
mod node_classification;
