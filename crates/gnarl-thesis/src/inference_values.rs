//! The thesis' radius and sigma of RobustCRF ([Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2411.05399)) by dataset.

use gnarl_robust::inference::{Inference, PerturbationTarget};

/// A dataset with its radius and sigma.
type Values = (&'static str, f64, f64);

/// Table `crf:tab:param_CRF_features`.
const FEATURES: [Values; 4] = [
    ("cora", 0.1, 0.9),
    ("citeseer", 0.9, 0.8),
    ("pubmed", 0.3, 0.9),
    ("ms_academic_cs", 0.3, 0.5),
];
/// Table `crf:tab:param_CRF_structure`.
const STRUCTURE: [Values; 4] = [
    ("cora", 0.02, 0.05),
    ("cora_ml", 0.02, 0.2),
    ("citeseer", 0.04, 0.05),
    ("polblogs", 0.005, 0.05),
];

/// An inference rule with the thesis' radius and sigma for a dataset, if they are open. A dataset
/// without values in the thesis leaves them open. Smoothing takes the radius alone, and gnarl's
/// variant has one sigma for all datasets.
pub fn thesis_inference(inference: Inference, dataset: &str) -> Inference {
    let values = |on: Option<PerturbationTarget>| {
        let table = if on == Some(PerturbationTarget::Structure) {
            STRUCTURE
        } else {
            FEATURES
        };
        table.into_iter().find(|(name, ..)| *name == dataset)
    };
    match inference {
        // A rule that tunes itself takes no values.
        _ if inference.tunes() => inference,
        Inference::RobustCrf(mut crf) => {
            if let Some((_, radius, sigma)) = values(crf.target) {
                crf.radius = crf.radius.or(Some(radius));
                crf.sigma = crf.sigma.or(Some(sigma));
            }
            crf.into()
        }
        Inference::Smoothing(mut smoothing) => {
            smoothing.radius = smoothing
                .radius
                .or(values(smoothing.target).map(|(_, radius, _)| radius));
            smoothing.into()
        }
        Inference::Plain(_) | Inference::CleanCrf(_) | Inference::GoodAt(_) => inference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_robust::inference::{CleanCrf, RobustCrf, Smoothing};

    #[test]
    fn open_settings_have_the_thesis_values_and_given_ones_stay() {
        let of = |crf: RobustCrf, dataset: &str| match thesis_inference(crf.into(), dataset) {
            Inference::RobustCrf(crf) => (crf.radius, crf.sigma),
            other => panic!("{other:?}"),
        };
        let on = |part| RobustCrf {
            target: Some(part),
            ..RobustCrf::default()
        };
        assert_eq!(
            of(RobustCrf::default(), "ms_academic_cs"),
            (Some(0.3), Some(0.5))
        );
        assert_eq!(
            of(on(PerturbationTarget::Structure), "polblogs"),
            (Some(0.005), Some(0.05))
        );
        assert_eq!(
            of(on(PerturbationTarget::Structure), "citeseer"),
            (Some(0.04), Some(0.05))
        );
        assert_eq!(
            of(on(PerturbationTarget::Features), "polblogs"),
            (None, None)
        );
        let given = RobustCrf {
            sigma: Some(0.25),
            ..on(PerturbationTarget::Features)
        };
        assert_eq!(of(given, "citeseer"), (Some(0.9), Some(0.25)));
        let smoothing = Smoothing {
            target: Some(PerturbationTarget::Structure),
            ..Smoothing::default()
        };
        let expected = Smoothing {
            radius: Some(0.04),
            ..smoothing
        };
        assert_eq!(
            thesis_inference(smoothing.into(), "citeseer"),
            expected.into()
        );
        assert_eq!(
            thesis_inference(CleanCrf::default().into(), "citeseer"),
            CleanCrf::default().into()
        );
    }
}
