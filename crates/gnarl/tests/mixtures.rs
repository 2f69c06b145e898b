//! Mixtures against scikit-learn, from the same start, and shrunken covariances (`tests/golden/make_mixtures.py`).

use gnarl::augment::density::{FittedDensity, GaussianMixture, MixtureSettings, gaussian, shared, shrunken};
use gnarl_graph::DenseMatrix;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    mixtures: Vec<Case>,
    covariances: Vec<Shrunken>,
}

#[derive(Deserialize)]
struct Shrunken {
    name: String,
    points: Vec<Vec<f64>>,
    covariance: Vec<Vec<f64>>,
    share: f64,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    components: usize,
    points: Vec<Vec<f64>>,
    clusters: Vec<u32>,
    weights: Vec<f64>,
    means: Vec<Vec<f64>>,
    covariances: Vec<Vec<Vec<f64>>>,
    iterations: usize,
    lower_bound: f64,
    log_likelihood: f64,
    bic: f64,
}

fn assert_close(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() <= 1e-7 * (1.0 + e.abs()), "{what}: {g}, not {e}");
    }
}

#[test]
fn agrees_with_scikit_learn() {
    let golden: Golden = serde_json::from_str(include_str!("golden/mixtures.json")).unwrap();
    assert_eq!(golden.mixtures.len(), 4);
    for case in golden.mixtures {
        let name = &case.name;
        let points = DenseMatrix::new(case.points.len(), case.points[0].len(), case.points.concat()).unwrap();
        let fitted =
            GaussianMixture::fit_from(&points, &MixtureSettings::new(case.components), &case.clusters).unwrap();
        for (k, component) in fitted.components().iter().enumerate() {
            assert_close(&[component.weight], &[case.weights[k]], name);
            assert_close(&component.mean, &case.means[k], name);
            assert_close(&component.covariance, &case.covariances[k].concat(), name);
        }
        let report = fitted.report();
        assert_eq!((report.curve.len(), report.converged), (case.iterations, true), "{name}");
        assert_close(&[report.log_likelihood()], &[case.lower_bound], name);
        let mean = case.points.iter().map(|x| fitted.log_density(x)).sum::<f64>() / case.points.len() as f64;
        assert_close(&[mean], &[case.log_likelihood], name);
        // Ours takes the likelihood of the last iteration, a step before the last parameters.
        assert!((report.bic() - case.bic).abs() < 2.0 * case.points.len() as f64 * 1e-3, "{name}");
    }
}

#[test]
fn covariances_shrink_as_in_scikit_learn() {
    let golden: Golden = serde_json::from_str(include_str!("golden/mixtures.json")).unwrap();
    assert_eq!(golden.covariances.len(), 4);
    assert!(
        golden.covariances.iter().any(|case| case.share > 0.3)
            && golden.covariances.iter().any(|case| case.share < 0.1)
    );
    for case in golden.covariances {
        let d = case.points[0].len();
        let points = DenseMatrix::new(case.points.len(), d, case.points.concat()).unwrap();
        let mut expected = case.covariance.concat();
        (0..d).for_each(|a| expected[a * d + a] += MixtureSettings::new(1).regularisation);
        let alone = shrunken::gaussian(&points).unwrap();
        let centred = gaussian::deviations(&points, &gaussian::mean(&points));
        let shared = shared::gaussian(&points, &centred).unwrap();
        for fitted in [alone, shared] {
            assert_close(&fitted.components()[0].covariance, &expected, &case.name);
        }
    }
}
