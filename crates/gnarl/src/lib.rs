//! Graph neural networks along five axes: operator, depth, weights, inference and data, chosen
//! independently in one model.
//!
//! A [`Model`](model::Model) is a value; fitting it to data gives a [`Fitted`](model::Fitted)
//! model; everything else asks questions of fitted models. [`prelude`] has what most programs need.
//!
//! Rooms, from the ground up. A room uses what is below it, never what is above; a test holds this.
//!
//! | room | what belongs there |
//! | --- | --- |
//! | [`error`] | what can go wrong |
//! | [`tensor`] | the crate `gnarl-tensor`: tensors with gradients, sparse kernels, and the optimiser |
//! | [`features`] | what is done to features before a network sees them |
//! | [`weights`] | axis 3, how far a layer may stretch its input: orthonormal matrices, Parseval |
//! | [`nn`] | parameters, layers, networks, readouts |
//! | [`operator`] | axis 1, what messages travel by: the choice, what it makes of a graph, learnable operators |
//! | [`train`] | the training loop: best-validation weights, early stopping, curves |
//! | [`depth`] | axis 2, how many rounds per node: exits and the policies that choose among them |
//! | [`augment`] | axis 5, what a model is trained on |
//! | [`perturb`] | what "a little different" means: norms, balls, flips, budgets |
//! | [`classifier`] | a trained model as others see it: a graph in, class scores out |
//! | [`inference`] | axis 4, how an answer is read off: agreement over a neighbourhood of inputs |
//! | [`defense`] | what is done to a graph before a model sees it |
//! | [`model`] | the meeting place: the value, what cannot be combined, fitting, the fitted model and its file |
//! | [`attack`] | changes to features and edges that make answers wrong, within a budget |
//! | [`robustness`] | how far answers move when inputs do: estimates, bounds and certificates |
//! | [`study`] | a question with its runs, controls and paired differences |

#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]

pub mod augment;
pub mod model;
pub mod prelude;
pub mod study;

pub use gnarl_data as data;
pub use gnarl_graph as graph;
pub use gnarl_graph::{Error, Result};
pub use gnarl_nn::networks as nn;
pub use gnarl_nn::{depth, features, operator, train, weights};
pub use gnarl_robust::{attack, classifier, defense, inference, perturb, robustness};
pub use gnarl_tensor as tensor;
