//! The depth axis: how many times a node listens, and how what it heard on the way is combined (thesis ch. 4).
//!
//! | file | what |
//! | --- | --- |
//! | [`adagcn`] | AdaBoost over depths |
//!
//! JK-Net, GCNII and GPR-GNN are networks like any other and live in [`nn::bodies`](crate::nn::bodies).

pub mod adagcn;
