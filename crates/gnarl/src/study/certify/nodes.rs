//! A fitted model on its graph: certificates of test nodes, and their accuracy under an attack.

use gnarl_graph::{Error, Graph};
use rayon::prelude::*;

use super::Certificate;
use super::result::Survived;
use super::tables::Items;
use super::threat::{Rows, ThreatModel};
use crate::model::Fitted;
use gnarl_graph::Result;
use gnarl_nn::train::{Callbacks, argmax, median};
use gnarl_robust::attack::nettack::{Nettack, Parts};
use gnarl_robust::attack::{Attack, AttackInput};
use gnarl_robust::classifier::{Classifier, WhiteBox};
use gnarl_robust::inference::PerturbationTarget;
use gnarl_robust::perturb::{Norm, rows::row_norms};

/// A fitted model on its graph.
pub struct Nodes<'a> {
    pub(super) fitted: &'a Fitted,
    attack_target: crate::model::fitted::PreprocessedModel<'a>,
    pub(super) graph: &'a Graph,
    pub(super) scaled: Graph,
    pub(super) items: Items,
    /// The median L2 norm of the rows of its features.
    pub(super) median_norm: f64,
}

/// The error for a model that is no plain network.
pub(super) fn no_network() -> gnarl_graph::Error {
    let covered = Certificate::names_of(|c| c.method().requires().is_empty());
    let what = format!(
        "models with exits or a defence are covered by {covered} alone; the others need a plain network"
    );
    Error::unsupported("method", what)
}

impl<'a> Nodes<'a> {
    pub(super) fn new(fitted: &'a Fitted, graph: &'a Graph, test: Vec<u32>) -> Result<Self> {
        let scaled = fitted.scaled(graph)?;
        let truth = match graph.labels() {
            Some(labels) => {
                let matched = fitted.matched(labels);
                let of = |u: u32| {
                    labels
                        .get(u)
                        .and_then(|c| matched.get(c as usize).copied().flatten())
                };
                (0..graph.num_nodes() as u32).map(of).collect()
            }
            None => vec![None; graph.num_nodes()],
        };
        let median_norm = scaled
            .features()
            .map_or(0.0, |features| median(row_norms(features, Norm::L2)));
        Ok(Self {
            fitted,
            attack_target: fitted.attack_target(),
            graph,
            scaled,
            items: Items::new(test, truth)?,
            median_norm,
        })
    }

    /// The network, if the model has no further parts.
    pub(super) fn network(&self) -> Result<&WhiteBox> {
        self.attack_target.white_box().ok_or_else(no_network)
    }

    /// The graph after Nettack on one node, whose class is known.
    pub(super) fn nettacked(
        &self,
        attack: Nettack,
        (u, class): (u32, usize),
        seed: u64,
        watch: &Callbacks<'_>,
    ) -> Result<Graph> {
        let labels = self.scaled.labels();
        let training = self.fitted.trained_on().split.train();
        let training: Vec<(u32, u32)> = training
            .iter()
            .filter_map(|&v| Some((v, labels?.get(v)?)))
            .collect();
        let network: &dyn Classifier = self.network()?;
        let target = [(u, class as u32)];
        let input = AttackInput::new(&self.scaled, &target)
            .model(network)
            .training(&training)
            .stop(watch.stop);
        Ok(Attack::Nettack(attack).run(&input, seed)?.graph)
    }

    /// Attacks test nodes with Nettack, one at a time, with every number of flips of the
    /// certificates.
    pub(super) fn attacked(
        &self,
        certificates: &[Certificate],
        threat: ThreatModel,
        attacked: usize,
        seed: u64,
        watch: &Callbacks<'_>,
    ) -> Result<Vec<Survived>> {
        let most = |certificate: &Certificate| match certificate.method().rows(threat) {
            Rows::Flips(most) => most,
            Rows::Distances | Rows::Samples => 0,
        };
        let most = certificates.iter().map(most).max().unwrap_or(0);
        let parts = match threat.target.part() {
            PerturbationTarget::Features => Parts::Features,
            PerturbationTarget::Structure => Parts::Structure,
        };
        let network = self.network()?;
        let clean = network.scores(&self.scaled)?;
        let step = (self.items.test.len() / attacked.max(1)).max(1);
        let test = self.items.test.iter().copied();
        let targets: Vec<u32> = test.step_by(step).take(attacked).collect();
        let survives = |&u: &u32, radius: usize| -> Result<(bool, bool)> {
            let class = argmax(clean.row(u as usize));
            let nettack = Nettack {
                budget: radius,
                perturb: parts,
                degree_test: false,
            };
            let attacked = self.nettacked(nettack, (u, class), seed, watch)?;
            let stands = argmax(network.scores(&attacked)?.row(u as usize)) == class;
            Ok((stands, stands && self.items.is_correct(u, class)))
        };
        let mut survived = Vec::new();
        for radius in 0..=most {
            if watch.stopped() {
                break;
            }
            let found = targets
                .par_iter()
                .map(|u| survives(u, radius))
                .collect::<Result<Vec<_>>>()?;
            let share = |of: fn(&(bool, bool)) -> bool| {
                found.iter().filter(|f| of(f)).count() as f64 / found.len().max(1) as f64
            };
            survived.push(Survived {
                radius: radius as f64,
                share: share(|f| f.0),
                accurate_share: share(|f| f.1),
            });
        }
        Ok(survived)
    }
}
