//! The plans that validation data select among: each candidate operator, with and without a head.

use gnarl_data::Task;
use gnarl_graph::Result;

use super::{Attempt, Run};
use crate::model::search::{Rule, Search, Selected};
use crate::model::{Model, NetworkOptions, Plan};
use gnarl_nn::operator::OperatorChoice;

/// The candidate plans of a model.
#[derive(Debug)]
pub(super) struct Candidates {
    /// The plan with each candidate operator.
    plans: Vec<Plan>,
    /// The plan with an output head, if the head is open; or none.
    headed: Vec<Plan>,
    /// Cheaper plans that select among the candidates, if the candidates take long to train and the
    /// data is large; or none.
    proxies: Vec<Plan>,
}

impl Candidates {
    /// Returns the candidates of a model, which are fitted in full: no proxies are used.
    pub fn new(model: &Model, plan: &Plan) -> Result<Self> {
        let (plans, headed) = if plan.leaves_head_open() {
            (
                with_each_operator(&with_head(model, false), plan.task)?,
                with_each_operator(&with_head(model, true), plan.task)?,
            )
        } else {
            (with_each_operator(model, plan.task)?, Vec::new())
        };
        Ok(Self {
            plans,
            headed,
            proxies: Vec::new(),
        })
    }

    /// Selects by cheaper plans from now on.
    pub fn use_proxies(&mut self) -> Result<()> {
        self.proxies = self
            .plans
            .iter()
            .map(Plan::proxy)
            .collect::<Result<Vec<_>>>()?;
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.plans.len()
    }

    pub fn plan(&self, candidate: usize) -> &Plan {
        &self.plans[candidate]
    }

    /// Returns the candidate with an output head, if the head is open.
    pub fn headed(&self, candidate: usize) -> Option<&Plan> {
        self.headed.get(candidate)
    }

    /// Returns the plan that is trained to rate a candidate.
    pub fn proxy(&self, candidate: usize) -> &Plan {
        self.proxies
            .get(candidate)
            .unwrap_or(&self.plans[candidate])
    }

    /// Selects the initialisation on `items` validation nodes or graphs, and fits it in full.
    /// `first` is the first candidate's proxy if it is fitted already.
    pub fn select(
        &self,
        items: usize,
        mut first: Option<Attempt>,
        run: Run<'_>,
        attempt: impl Fn(usize, &Plan) -> Result<Attempt>,
    ) -> Result<Selected<Attempt>> {
        let names = self.initialisations();
        let search = Search {
            setting: "init",
            values: &names,
            rule: Rule::Best,
            items,
        };
        let fit = |candidate: usize| match first.take() {
            Some(first) if candidate == 0 => Ok(first),
            _ => attempt(candidate, self.proxy(candidate)),
        };
        let mut selected = search.run(run.watch, fit, |fitted| fitted.report.val_accuracy)?;
        if !self.proxies.is_empty() {
            let candidate = selected.candidate;
            selected.fitted = attempt(candidate, &self.plans[candidate])?;
        }
        Ok(selected)
    }

    /// Returns the candidate initialisations, by name.
    fn initialisations(&self) -> Vec<String> {
        let name = |plan: &Plan| match plan.model.operator {
            OperatorChoice::Cgso(cgso) => cgso.init.to_string(),
            other => other.to_string(),
        };
        self.plans.iter().map(name).collect()
    }
}

/// Returns the plan of a model with each candidate operator.
fn with_each_operator(model: &Model, task: Task) -> Result<Vec<Plan>> {
    model
        .operator
        .candidates()
        .into_iter()
        .map(|operator| model.operator(operator).plan(task))
        .collect()
}

/// Returns the model with an unconstrained linear output map, or without.
fn with_head(model: &Model, head: bool) -> Model {
    Model {
        network: NetworkOptions {
            head: Some(head),
            ..model.network
        },
        ..*model
    }
}
