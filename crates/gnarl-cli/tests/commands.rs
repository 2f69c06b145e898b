//! All tests of the command line, in one program. It is linked once, and tests of different files
//! run in parallel.

mod common;

mod advise;
mod attack;
mod attack_files;
mod centrality;
mod certify;
mod cgso;
mod cli_output;
mod cluster;
mod crash_recovery;
mod data;
mod data_check;
mod demo;
mod depth;
mod depth_baselines;
mod docs_numbers;
mod explore;
mod graph_classification;
mod html_pages;
mod inference;
mod interrupt;
mod large_graphs;
mod model_spec;
mod readme;
mod reproduce;
mod robustness;
mod saved_model_evaluation;
mod spectrum;
mod tutorial;
mod untrusted_input;
mod usage_errors;
