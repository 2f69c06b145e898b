//! The inference axis on the command line.

use clap::Args;
use gnarl::inference::{Inference, Perturbed};
use gnarl::task::inference_values::thesis_inference;

/// How answers are read off a model.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Inference")]
pub struct InferenceArgs {
    /// plain, robust-crf (agreement over a ball of inputs), smoothing, or clean-crf (ours: over inputs that look clean)
    #[arg(long, default_value = "plain", value_name = "KIND")]
    pub inference: Inference,
    /// What neighbours differ in, features or structure [default: what is attacked, else features]
    #[arg(long, value_name = "PART")]
    pub inference_on: Option<Perturbed>,
    /// Neighbours drawn around an input [default: 5; smoothing 100]
    #[arg(long, value_name = "L")]
    pub neighbours: Option<usize>,
    /// Updates: neighbours of neighbours are asked from 2 on [default: 2; smoothing 1]
    #[arg(long, value_name = "K")]
    pub updates: Option<usize>,
    /// Weight of the model's own answer, 0 to 1 [default: the thesis' for the dataset]
    #[arg(long)]
    pub crf_sigma: Option<f64>,
    /// Of a ball: a norm of features, or a share of the edges [default: the thesis' for the dataset]
    #[arg(long)]
    pub radius: Option<f64>,
    /// Take classes instead of probabilities for answers [default: false; smoothing true]
    #[arg(long, value_name = "BOOL")]
    pub hard: Option<bool>,
    /// End as soon as no class can change any more
    #[arg(long)]
    pub stop_early: bool,
    /// Choose sigma and radius by the accuracy on validation nodes
    #[arg(long)]
    pub inference_tune: bool,
}

impl InferenceArgs {
    /// What was asked for on a dataset; `None` for a plain forward pass. `attacked` is the part that is under attack.
    pub fn choice(&self, dataset: &str, attacked: Option<Perturbed>) -> anyhow::Result<Option<Inference>> {
        let given = [
            ("on", self.inference_on.map(|part| part.to_string())),
            ("neighbours", self.neighbours.map(|l| l.to_string())),
            ("updates", self.updates.map(|k| k.to_string())),
            ("sigma", self.crf_sigma.map(|sigma| sigma.to_string())),
            ("radius", self.radius.map(|radius| radius.to_string())),
            ("hard", self.hard.map(|hard| hard.to_string())),
            ("stop-early", self.stop_early.then(|| true.to_string())),
            ("tune", self.inference_tune.then(|| true.to_string())),
        ];
        let given: Vec<_> = given.into_iter().filter_map(|(name, text)| Some((name.to_string(), text?))).collect();
        let inference = self.inference.with(&given)?.on(attacked.unwrap_or(Perturbed::Features));
        let is_plain = matches!(inference, Inference::Plain(_));
        Ok((!is_plain).then(|| thesis_inference(inference, dataset)))
    }
}
