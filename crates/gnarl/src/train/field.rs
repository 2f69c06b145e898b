//! The receptive field of a set of nodes: all that their scores after `hops` rounds of message passing depend on.
//!
//! The loss looks at the training nodes alone, often a twentieth of the graph. Their scores need the layer before only on
//! the nodes they hear, that layer the one before on the nodes those hear, and so on. Nodes are put in the order of their
//! distance from the set, so every layer works on a prefix of the one before it, through an operator of that many rows.
//! The result on the set is the one the whole graph gives; nothing is sampled or left out.

use std::sync::Arc;

use candle_core::Result;

use super::Targets;
use crate::nn::{Input, Propagation};

/// Share of the whole graph's message passing above which the restriction is not worth its own making.
const WORTH_BELOW: f64 = 0.9;

/// A problem cut down to what some nodes' scores depend on.
#[derive(Debug)]
pub(super) struct Field {
    pub hear: Propagation,
    pub input: Input,
    pub targets: Targets,
}

impl Field {
    /// The field of the targets. The whole graph where the network's reach is not known (`hops` is `None`) or the field is
    /// most of it.
    pub fn new(hear: &Propagation, input: &Input, targets: &Targets, hops: Option<usize>) -> Result<Self> {
        let whole = || Ok(Self { hear: hear.clone(), input: input.clone(), targets: targets.clone() });
        let Some(hops) = hops else { return whole() };
        let (order, sizes) = by_distance(hear, &targets.items, hops);
        let pattern = hear.operator.pattern();
        let entries_of = |rows: usize| order[..rows].iter().map(|&u| pattern.row(u as usize).len()).sum::<usize>();
        // Sizes run from the set outwards: round `step` makes representations of sizes[hops - step - 1] nodes.
        let heard: usize = sizes[..hops].iter().map(|&rows| entries_of(rows)).sum();
        let share = if hops == 0 {
            order.len() as f64 / input.num_rows() as f64
        } else {
            heard as f64 / (hops * pattern.num_entries()).max(1) as f64
        };
        if share > WORTH_BELOW {
            return whole();
        }
        let rounds = (0..hops)
            .map(|step| hear.operator.restricted(&order, sizes[hops - step - 1], sizes[hops - step]))
            .collect::<Result<Vec<_>>>()?;
        let items = Arc::new((0..targets.items.len() as u32).collect());
        Ok(Self {
            hear: Propagation { rounds, ..hear.clone() },
            input: input.select(&order)?,
            targets: Targets { items, classes: targets.classes.clone() },
        })
    }
}

/// Nodes within `hops` of the items, nearest first, the items themselves as given; and how many lie within 0, 1, … hops.
fn by_distance(hear: &Propagation, items: &[u32], hops: usize) -> (Vec<u32>, Vec<usize>) {
    let pattern = hear.operator.pattern();
    let mut seen = vec![false; pattern.num_cols()];
    let mut order = items.to_vec();
    items.iter().for_each(|&u| seen[u as usize] = true);
    let mut sizes = vec![order.len()];
    for hop in 0..hops {
        let from = if hop == 0 { 0 } else { sizes[hop - 1] };
        for i in from..sizes[hop] {
            for &v in &pattern.indices()[pattern.row(order[i] as usize)] {
                if !std::mem::replace(&mut seen[v as usize], true) {
                    order.push(v);
                }
            }
        }
        // In the graph's own order, neighbours in memory stay neighbours.
        let added = sizes[hop]..order.len();
        order[added].sort_unstable();
        sizes.push(order.len());
    }
    (order, sizes)
}
