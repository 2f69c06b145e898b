//! Combinations of choices: what each choice of a model needs, what the model provides, and the
//! one function that compares them.
//!
//! A choice names the [`Capability`] that it needs; the network, the task and the other choices
//! provide capabilities. Refusals, their messages and the table in the docs come from these sets.

use gnarl_data::Task;
use gnarl_graph::named;
use gnarl_graph::sets::Set;
use gnarl_graph::{Error, Result};

use super::Model;
use crate::augment::{Augment, Copies};
use gnarl_nn::depth::{Kind, Scheme};
use gnarl_nn::networks::{Backbone, Capability, DefaultOperator, NetworkSetting};
use gnarl_nn::operator::OperatorChoice;
use gnarl_robust::defense::Defense;
use gnarl_robust::inference::{Inference, PerturbationTarget};

named! {
    /// A circumstance that a choice may need: the task, or another choice.
    #[non_exhaustive]
    pub enum Condition as "condition" {
        /// The nodes of one graph are classified.
        OneGraph = "one graph",
        /// The graphs of a set are classified.
        SetOfGraphs = "a set of graphs",
        /// All nodes have the same depth.
        FixedDepth = "a fixed depth",
        /// All exits, or the only one, are trained together.
        JointExits = "a fixed depth or admp-alm",
        /// The operator is that of the network's paper.
        DefaultOperator = "the operator of the network's paper",
        /// The operator is learned.
        LearnedOperator = "a learned operator (cgso)",
        /// The training graph keeps its nodes, and changes one edge at a time.
        LocalAugmentation = "no augmentation or dropedge",
        /// Each training node or graph has one class.
        WholeClasses = "an augmentation that does not mix classes",
        /// The whole model is trained on the training data.
        OneTraining = "an augmentation that does not retrain the head",
        /// One forward pass predicts.
        PlainInference = "plain inference",
        /// Graphs are used as they are.
        NoDefense = "no preprocessing defence",
    }
}

/// Something that a choice needs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Needed {
    /// A capability of the network.
    Of(Capability),
    /// A circumstance.
    When(Condition),
}

/// The sets that a model provides.
#[derive(Debug, Clone, Copy)]
pub struct Provided {
    network: Set<Capability>,
    conditions: Set<Condition>,
}

/// A choice or setting and what it needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Need {
    /// The option that made the choice.
    pub option: &'static str,
    /// The choice by name, for the message.
    pub choice: String,
    /// The requirements, in the order of the checks.
    pub needs: Vec<Needed>,
}

impl Need {
    /// A setting, which the message names already.
    fn setting(option: &'static str, needs: &[Needed]) -> Self {
        Self::new(option, "", needs)
    }

    fn new(option: &'static str, choice: impl ToString, needs: &[Needed]) -> Self {
        Self {
            option,
            choice: choice.to_string(),
            needs: needs.to_vec(),
        }
    }
}

impl Provided {
    /// Returns the sets of a model for a task.
    #[must_use]
    pub fn of(model: &Model, task: Task) -> Self {
        let exits = model.depth.exits();
        let augment = model.augment.method();
        let is_local = matches!(model.augment, Augment::Nothing(_) | Augment::DropEdge(_));
        let is_alm = exits.is_none_or(|exits| exits.scheme == Scheme::AdmpAlm);
        let conditions = [
            (Condition::OneGraph, task == Task::Node),
            (Condition::SetOfGraphs, task == Task::Graph),
            (Condition::FixedDepth, exits.is_none()),
            (Condition::JointExits, is_alm),
            (
                Condition::DefaultOperator,
                model.operator == OperatorChoice::default(),
            ),
            (Condition::LearnedOperator, model.learns_operator()),
            (Condition::LocalAugmentation, is_local),
            (Condition::WholeClasses, !augment.mixes_classes()),
            (Condition::OneTraining, augment.fresh_head().is_none()),
            (
                Condition::PlainInference,
                matches!(model.inference, Inference::Plain(_)),
            ),
            (Condition::NoDefense, model.defense.is_nothing()),
        ];
        let holds = conditions.into_iter().filter(|(_, holds)| *holds);
        Self {
            network: model.backbone.capabilities(),
            conditions: holds.map(|(condition, _)| condition).collect(),
        }
    }

    fn has(&self, needed: Needed) -> bool {
        match needed {
            Needed::Of(capability) => self.network.contains(capability),
            Needed::When(condition) => self.conditions.contains(condition),
        }
    }
}

/// Compares the needs of a model's choices with what the model provides, and refuses the first
/// choice that lacks something.
pub fn check(model: &Model, task: Task) -> Result<()> {
    let provided = Provided::of(model, task);
    for need in needs(model, task) {
        if let Some(lacking) = need.needs.iter().find(|needed| !provided.has(**needed)) {
            return Err(refusal(&need, *lacking, model, task));
        }
    }
    Ok(())
}

fn refusal(need: &Need, lacking: Needed, model: &Model, task: Task) -> Error {
    let Need { option, choice, .. } = need;
    let why = match lacking {
        Needed::Of(Capability::LearnableOperator) => {
            let why = model.backbone.fixed_operator().unwrap_or_default();
            format!("{} {why}", model.backbone)
        }
        Needed::Of(Capability::GraphSets) => {
            let able = Backbone::names_of(|other| other.provides(Capability::GraphSets));
            format!(
                "{} does not classify sets of graphs; take {able}",
                model.backbone
            )
        }
        Needed::Of(capability) => {
            let able = Backbone::names_of(|other| other.capabilities().contains(capability));
            let backbone = model.backbone;
            let what = capability.name();
            format!("{choice} needs {what}, which {backbone} lacks; models that have it: {able}")
        }
        Needed::When(condition) => {
            let is = circumstance(condition, model, task);
            format!("{choice} needs {}, and {is}", condition.name())
        }
    };
    Error::unsupported(*option, why.trim_start())
}

/// Returns the current value of the circumstance that a condition describes.
fn circumstance(condition: Condition, model: &Model, task: Task) -> String {
    match condition {
        Condition::OneGraph | Condition::SetOfGraphs if task == Task::Node => {
            "this is one graph".into()
        }
        Condition::OneGraph | Condition::SetOfGraphs => "this is a set of graphs".into(),
        Condition::FixedDepth | Condition::JointExits => format!("the depth is {}", model.depth),
        Condition::DefaultOperator | Condition::LearnedOperator => {
            format!("the operator is {}", model.operator)
        }
        Condition::LocalAugmentation | Condition::WholeClasses | Condition::OneTraining => {
            format!("the augmentation is {}", model.augment)
        }
        Condition::PlainInference => format!("the inference is {}", model.inference),
        Condition::NoDefense => format!("the defence is {}", model.defense),
    }
}

/// Checks the policy's requirement on a task.
pub(super) fn check_policy(task: Task, policy: Kind) -> Result<()> {
    match policy.refused_on(task) {
        Some(why) => Err(Error::unsupported("policy", format!("{policy} {why}"))),
        None => Ok(()),
    }
}

/// Returns everything that a model's choices need, in the order of the checks.
pub fn needs(model: &Model, task: Task) -> Vec<Need> {
    let mut all = of_network(model);
    all.extend(of_operator(model));
    all.extend(of_defense(model));
    all.extend(of_inference(model));
    all.extend(of_depth(model));
    all.extend(of_augment(model, task));
    all.extend(of_training(model));
    all.push(of_task(model, task));
    all
}

use Capability as C;
use Condition as W;
use Needed::{Of, When};

fn of_network(model: &Model) -> Vec<Need> {
    let of_setting = |setting: NetworkSetting| {
        let needs: &[Needed] = match setting {
            NetworkSetting::Layers | NetworkSetting::Head | NetworkSetting::Noise => {
                &[When(W::FixedDepth)]
            }
            NetworkSetting::Gain => &[When(W::OneGraph)],
            NetworkSetting::Readout | NetworkSetting::HeadDropout => &[When(W::SetOfGraphs)],
            _ => &[],
        };
        Need::setting(setting.name(), needs)
    };
    model.network.set().into_iter().map(of_setting).collect()
}

fn of_operator(model: &Model) -> Vec<Need> {
    let default_operator = model.backbone.default_operator();
    let needs: &[Needed] = match model.operator {
        OperatorChoice::Classical(kind) if default_operator == DefaultOperator::Classical(kind) => {
            &[Of(C::MessagePassing)]
        }
        OperatorChoice::Classical(_) => &[Of(C::MessagePassing), Of(C::EdgeWeights)],
        OperatorChoice::Cgso(_) => &[Of(C::MessagePassing), Of(C::LearnableOperator)],
        OperatorChoice::Default => &[],
    };
    let mut all = vec![Need::new("operator", model.operator, needs)];
    let rates = [
        ("exponent-lr", model.training.exponent_learning_rate),
        ("scalar-lr", model.training.scalar_learning_rate),
    ];
    for (rate, _) in rates.iter().filter(|(_, given)| given.is_some()) {
        all.push(Need::setting(rate, &[When(W::LearnedOperator)]));
    }
    all
}

fn of_defense(model: &Model) -> Vec<Need> {
    let defense = model.defense;
    if defense.is_nothing() {
        return Vec::new();
    }
    let mut needs = vec![Of(C::MessagePassing)];
    if defense.method().operator_override().is_some() {
        let operator = match defense {
            Defense::Svd(_) => C::OperatorFree,
            _ => C::AnyOperator,
        };
        needs.extend([
            When(W::OneGraph),
            Of(operator),
            When(W::DefaultOperator),
            When(W::FixedDepth),
        ]);
    }
    vec![Need::new("defense", defense, &needs)]
}

fn of_inference(model: &Model) -> Vec<Need> {
    let method = model.inference.method();
    let mut needs = Vec::new();
    if method.part() == Some(PerturbationTarget::Structure) {
        needs.push(Of(C::MessagePassing));
    }
    if !method.works_on_sets() {
        needs.push(When(W::OneGraph));
    }
    vec![Need::new("inference", model.inference, &needs)]
}

fn of_depth(model: &Model) -> Vec<Need> {
    match model.depth.exits() {
        Some(_) => vec![Need::new("depth", model.depth, &[Of(C::Exits)])],
        None => Vec::new(),
    }
}

fn of_augment(model: &Model, task: Task) -> Vec<Need> {
    let (augment, method) = (model.augment, model.augment.method());
    let mut needs = Vec::new();
    let mut all = Vec::new();
    if let Augment::Gratin(gratin) = augment
        && gratin.uses_network_influence()
    {
        let choice = "the influence of the network";
        let needs = [When(W::FixedDepth), When(W::SetOfGraphs)];
        all.push(Need::new("influence-layers", choice, &needs));
    }
    if task == Task::Node {
        if method.fresh_head().is_some() {
            needs.extend([When(W::FixedDepth), Of(C::HeadTraining)]);
        }
        if method.mixup().is_some() {
            needs.push(Of(C::JointTraining));
        }
        if let Some((_, copies)) = method.transform() {
            if !method.keeps_nodes() {
                needs.push(When(W::SetOfGraphs));
            }
            if copies == Copies::Fixed {
                let choice = "one augmented copy for all epochs";
                all.push(Need::new("copies", choice, &[When(W::SetOfGraphs)]));
            }
            needs.push(Of(C::JointTraining));
            if !method.works_on_features() {
                needs.push(Of(C::MessagePassing));
            }
        }
    }
    all.push(Need::new("augment", augment, &needs));
    all
}

fn of_training(model: &Model) -> Vec<Need> {
    let training = &model.training;
    let mut all = Vec::new();
    let sampling = [
        ("batch-nodes", training.batch_nodes.is_some()),
        ("fanout", training.fanout.is_some()),
    ];
    if let Some((option, _)) = sampling.iter().find(|(_, given)| *given) {
        let needs = [
            When(W::OneGraph),
            Of(C::SampledTraining),
            When(W::JointExits),
            When(W::LocalAugmentation),
            When(W::PlainInference),
            When(W::NoDefense),
        ];
        all.push(Need::new(
            option,
            "training on sampled neighbourhoods",
            &needs,
        ));
    }
    if training
        .class_weights
        .is_some_and(|weights| !weights.is_none())
    {
        let needs = [
            Of(C::JointTraining),
            When(W::WholeClasses),
            When(W::OneTraining),
        ];
        all.push(Need::new(
            "class-weights",
            "a loss with class weights",
            &needs,
        ));
    }
    if training.batch_size.is_some() {
        all.push(Need::setting("batch-size", &[When(W::SetOfGraphs)]));
    }
    all
}

fn of_task(model: &Model, task: Task) -> Need {
    let needs: &[Needed] = match task {
        Task::Node => &[],
        Task::Graph => &[Of(C::GraphSets)],
    };
    Need::new(
        "model",
        format!("{} on a set of graphs", model.backbone),
        needs,
    )
}
