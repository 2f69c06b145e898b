//! Robust graph neural networks along five axes: operator, depth, weights, inference and data,
//! chosen independently in one model.
//!
//! A [`Model`](model::Model) is a value; fitting it to data gives a [`Fitted`](model::Fitted)
//! model; everything else takes fitted models as input. [`prelude`] exports the items that most
//! programs need.
//!
//! The modules, in order of dependency: a module depends only on those listed before it. A test
//! checks this.
//!
//! | module | contents |
//! | --- | --- |
//! | [`error`] | errors of the library |
//! | [`tensor`] | the crate `gnarl-tensor`: tensors with gradients, sparse kernels, and the optimiser |
//! | [`features`] | feature scaling before a network |
//! | [`weights`] | axis 3, constraints on the Lipschitz constant of a layer: orthonormal matrices, Parseval |
//! | [`nn`] | parameters, layers, networks, readouts |
//! | [`operator`] | axis 1, the message-passing operator: the choice, its propagation on a graph, learnable operators |
//! | [`train`] | the training loop: best-validation weights, early stopping, curves |
//! | [`depth`] | axis 2, the number of propagation steps: exits and the policies that choose among them |
//! | [`augment`] | axis 5, training-data augmentation |
//! | [`perturb`] | perturbations: norms, balls, flips, budgets |
//! | [`classifier`] | trained models as maps from a graph to class scores |
//! | [`inference`] | axis 4, the inference rule: agreement over a neighbourhood of inputs |
//! | [`defense`] | preprocessing defences of a graph before a model |
//! | [`model`] | models: the settings, their valid combinations, fitting, the fitted model and its file |
//! | [`attack`] | attacks: changes to features and edges that cause errors, within a budget |
//! | [`robustness`] | robustness of predictions to input changes: estimates, bounds and certificates |
//! | [`study`] | studies with their runs, controls and paired differences |

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
