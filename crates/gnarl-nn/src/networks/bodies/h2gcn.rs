//! H2GCN ([Zhu et al. 2020](https://arxiv.org/abs/2006.11468)): an embedding, propagation over one
//! and two hops, the concatenation of all representations, then a linear map.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::entry::{Architecture, Capability, DefaultOperator, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor, dropout, relu};

/// One-hop and two-hop neighbourhoods kept apart, for heterophilous graphs (Zhu et al. 2020,
/// [arXiv:2006.11468](https://arxiv.org/abs/2006.11468)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "h2gcn",
    constant,
    about = "one-hop and two-hop neighbourhoods side by side, for heterophilous graphs"
)]
pub struct H2gcn {}

impl Architecture for H2gcn {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::SymmetricNormalised,
            ..Entry::new(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::OrthogonalStart,
            ])
            .with(&[Capability::Head])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let (hidden, hops) = (plan.hidden, plan.layers);
        let width = hidden * ((1usize << (hops + 1)) - 1);
        Ok(Box::new(H2gcnBody {
            embed: Linear::glorot(params, "embed", plan.in_dim, hidden, false, rng)?,
            classify: Linear::glorot(params, "classify", width, plan.num_classes, false, rng)?
                .free(params),
            hops,
            dropout: plan.dropout as f32,
        }))
    }
}

#[derive(Debug)]
struct H2gcnBody {
    embed: Linear,
    classify: Linear,
    hops: usize,
    dropout: f32,
}

impl Body for H2gcnBody {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.classify
            .forward(&self.latent(propagation, x, pass)?, pass)
    }

    fn head(&self) -> Option<&Linear> {
        Some(&self.classify)
    }

    fn latent(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        let Some(two_hop) = &propagation.two_hop else {
            gnarl_tensor::bail!("h2gcn needs the two-hop operator")
        };
        let mut last = relu(&self.embed.forward(x, pass)?)?;
        let mut all = vec![last.clone()];
        for _ in 0..self.hops {
            last = Tensor::cat(
                &[propagation.operator.apply(&last)?, two_hop.apply(&last)?],
                1,
            )?;
            all.push(last.clone());
        }
        Ok(Input::Dense(dropout(
            &Tensor::cat(&all, 1)?,
            pass.dropout(self.dropout, 0),
        )?))
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.embed.weight]
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
