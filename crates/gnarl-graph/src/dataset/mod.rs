//! Real data: what exists, how to fetch it, and one loader per file format.
//!
//! | file | what it reads |
//! | --- | --- |
//! | [`registry`] | every dataset of the thesis: names, citation, counts, format, addresses, checksums |
//! | [`download`] | fetching over HTTPS with resume, checksum and unpacking |
//! | [`planetoid`] | `ind.NAME.*` pickles (Cora, CiteSeer, PubMed) |
//! | [`geom_gcn`] | tab-separated text and ten splits (WebKB, Chameleon, Squirrel) |
//! | [`npz`] | NumPy zips with CSR arrays (Amazon, Coauthor, CoraML, PolBlogs) |
//! | [`linkx`] | Facebook100 and LINKX arrays (Penn94, genius, deezer-europe) |
//! | [`ogb`] | OGB's csv folder (ogbn-arxiv, arxiv-year) |
//! | [`tu`] | TU graph-classification text |
//! | [`edge_list`] | a user's own edge list, features and labels |
//! | [`facts`] | the facts that `gnarl data check` prints |

pub mod download;
pub mod edge_list;
pub mod embedded;
pub mod facts;
pub mod geom_gcn;
pub mod linkx;
pub mod npz;
pub mod ogb;
mod pickle;
pub mod planetoid;
pub mod registry;
pub mod text;
pub mod tu;
