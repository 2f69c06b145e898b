//! All tests of the command line, in one program. It is linked once, and tests of different files
//! run in parallel.

mod common;

mod advise;
mod attack;
mod attack_files;
mod centrality;
mod certify;
mod cgso;
mod cluster;
mod data;
mod demo;
mod depth;
mod depth_baselines;
mod explore;
mod figures;
mod five_minutes;
mod graphs;
mod held_out;
mod hostile;
mod inference;
mod interrupt;
mod kills;
mod manners;
mod pages;
mod readme;
mod real_data;
mod reproduce;
mod robustness;
mod scale;
mod skipped;
mod spec;
mod spectrum;
mod usage;
