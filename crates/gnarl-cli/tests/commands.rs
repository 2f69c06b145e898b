//! Every test of the command line, in one program: it is linked once, and no test waits for the
//! last of another file.

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
