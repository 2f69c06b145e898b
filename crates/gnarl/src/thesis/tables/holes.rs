//! The notes that tables of ch. 5 to 7 have in common.

/// The note of ch. 5's tables.
pub const STUDY_5: &str = "two convolutions of 16 without bias, a linear layer, no weight decay, features row-normalised; every run's attack is made against its own model";
/// The note of ch. 6's tables.
pub const STUDY_6: &str = "two layers of 16 with weight decay 5e-4; the attacked input is drawn once for a run, against the bare model, and every inference answers to that same input";
/// What became of the claim.
pub const NO_GAIN: &str = "a prototype found no gain of RobustCRF's samplers beyond 0.1 points in any setting; redrawing the attack's noise at every evaluation would fake one";
/// Whose GCORN.
pub const GCORN_OF_5: &str = "GCORN has ch. 5's settings: without a linear layer at its end, orthonormal weights cannot scale its scores";

/// The note of ch. 7's tables.
pub const FOLDS: &str = "runs are folds, ten at most, stratified and shuffled by the seed; a fold of MUTAG counts with the mean of three initialisations. gnarl train with the same --recipe, --runs and --inits gives the same figures";
/// What GRATIN is read against.
pub const READ_AGAINST_RETRAIN: &str = "retrain is the control that the thesis lacks: the fresh head of GRATIN, in as many steps, on the original vectors alone; what GRATIN gives beyond it is due to new vectors";
/// Of densities.
pub const DENSITIES: &str = "the rows of one Gaussian are ours: a covariance shrunken as Ledoit and Wolf do it, of the class alone or shared by all; every density draws as many vectors, for the same fresh head";
/// Of changed graphs.
pub const STRENGTHS: &str = "the thesis states no strengths of its baselines: 0.2 of edges or nodes, SubMix up to 0.4 of the smaller graph";
