//! The inference axis on the command line.

use clap::Args;
use gnarl::inference::choice::{Choice, Kind, Part};
use gnarl::inference::crf::Output;

/// How answers are read off a model.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Inference")]
pub struct InferenceArgs {
    /// plain, robust-crf (agreement over a ball of inputs), smoothing, or clean-crf (ours: over inputs that look clean)
    #[arg(long, default_value = "plain", value_name = "KIND")]
    pub inference: Kind,
    /// What neighbours differ in, features or structure [default: what is attacked, else features]
    #[arg(long, value_name = "PART")]
    pub inference_on: Option<Part>,
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
    pub fn choice(&self, dataset: &str, attacked: Option<Part>) -> anyhow::Result<Option<Choice>> {
        let stray = [
            ("--inference-on", self.inference_on.is_some()),
            ("--neighbours", self.neighbours.is_some()),
            ("--updates", self.updates.is_some()),
            ("--crf-sigma", self.crf_sigma.is_some()),
            ("--radius", self.radius.is_some()),
            ("--hard", self.hard.is_some()),
            ("--stop-early", self.stop_early),
            ("--inference-tune", self.inference_tune),
        ];
        if self.inference == Kind::Plain {
            return match stray.iter().find(|(_, set)| *set) {
                Some((option, _)) => {
                    let what = "belongs to --inference robust-crf, smoothing or clean-crf, which was not asked for";
                    Err(gnarl_graph::Error::argument(*option, what).into())
                }
                None => Ok(None),
            };
        }
        if self.inference == Kind::CleanCrf && self.radius.is_some() {
            return Err(gnarl_graph::Error::argument("--radius", "clean-crf has none").into());
        }
        let part = self.inference_on.or(attacked).unwrap_or(Part::Features);
        let mut choice = Choice::new(self.inference, part, dataset);
        choice.radius = self.radius.unwrap_or(choice.radius);
        choice.crf.neighbours = self.neighbours.unwrap_or(choice.crf.neighbours);
        choice.crf.updates = self.updates.unwrap_or(choice.crf.updates);
        choice.crf.sigma = self.crf_sigma.unwrap_or(choice.crf.sigma);
        if let Some(hard) = self.hard {
            choice.crf.output = if hard { Output::Hard } else { Output::Probabilities };
        }
        choice.crf.stop_early = self.stop_early;
        choice.crf.check()?;
        if !(choice.radius >= 0.0 && choice.radius.is_finite()) {
            return Err(
                gnarl_graph::Error::argument("--radius", format!("{} must be at least 0", choice.radius)).into()
            );
        }
        Ok(Some(choice))
    }
}
