//! Training loop: full-batch steps, batches of graphs or sampled neighbourhoods, best-validation
//! weights, early stopping, learning curves, and resuming from a journal.

mod callbacks;
mod class_weights;
mod field;
mod fit_loop;
mod full_batch;
mod history;
mod journal;
mod mixing;
mod optimiser;
mod options;
mod sampled;
mod targets;
mod task;

pub use callbacks::Callbacks;
pub use class_weights::{ClassWeights, PerClass};
#[doc(hidden)]
pub use field::{Dependencies, ReceptiveField};
pub use fit_loop::fit_loop;
pub use full_batch::{predict, train};
pub use history::{Epoch, Trained, Validation, median};
pub use journal::Journal;
#[doc(hidden)]
pub use journal::fuzz_entry;
pub use mixing::{MixedIn, Mixer, Mixing, mixed_cross_entropy};
pub use optimiser::LearningRateSchedule;
pub use options::{Keep, StepSchedule, TrainConfig, TrainingOptions, TrainingSetting};
pub use sampled::{Batches, SampledProblem, Sampling, sampled_accuracy, train_sampled};
pub use targets::{Targets, argmax};
pub use task::{EpochInput, EpochSampler, Model, Problem, TrainingTask, gradients};
