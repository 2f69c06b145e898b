//! Densities against scikit-learn and SciPy: mixtures from the same initialisation, shrunken
//! covariances, kernels, copulas (`tests/golden/make_mixtures.py`).

use gnarl::augment::density::copula::GaussianCopula;
use gnarl::augment::density::kernel::KernelDensity;
use gnarl::augment::density::{
    FittedDensity, GaussianMixture, MixtureSettings, gaussian, shared, shrunken, variational,
};
use gnarl_graph::DenseMatrix;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    mixtures: Vec<Case>,
    covariances: Vec<Shrunken>,
    variational: Vec<Case>,
    kernels: Vec<Kernel>,
    copulas: Vec<Copula>,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
    points: Vec<Vec<f64>>,
    bandwidth: f64,
    left_out: f64,
    queries: Vec<Vec<f64>>,
    log_densities: Vec<f64>,
}

#[derive(Deserialize)]
struct Copula {
    name: String,
    points: Vec<Vec<f64>>,
    correlation: Vec<Vec<f64>>,
    queries: Vec<Vec<f64>>,
    log_densities: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/mixtures.json")).unwrap()
}

fn matrix(rows: &[Vec<f64>]) -> DenseMatrix<f64> {
    DenseMatrix::new(rows.len(), rows[0].len(), rows.concat()).unwrap()
}

/// Compares with a tolerance for the λ on the prior's diagonal, which keeps constant coordinates
/// from being degenerate.
fn assert_near(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (g, e) in got.iter().zip(expected) {
        assert!(
            (g - e).abs() <= 1e-5 * (1.0 + e.abs()),
            "{what}: {g}, not {e}"
        );
    }
}

#[test]
fn variational_mixtures_agree_with_scikit_learn() {
    let cases = golden().variational;
    assert_eq!(cases.len(), 3);
    for case in cases {
        let name = &case.name;
        let settings = MixtureSettings::new(case.components);
        let fitted =
            variational::fit_from(&matrix(&case.points), &settings, &case.clusters).unwrap();
        for (k, component) in fitted.components().iter().enumerate() {
            assert_near(&[component.weight], &[case.weights[k]], name);
            assert_near(&component.mean, &case.means[k], name);
            assert_near(&component.covariance, &case.covariances[k].concat(), name);
        }
        let report = fitted.report();
        assert_eq!(report.curve.len(), case.iterations, "{name}");
        assert_near(&[*report.curve.last().unwrap()], &[case.lower_bound], name);
        let mean = case
            .points
            .iter()
            .map(|x| fitted.log_density(x))
            .sum::<f64>()
            / case.points.len() as f64;
        assert_near(&[mean], &[case.log_likelihood], name);
    }
}

#[test]
fn kernels_agree_with_scikit_learn() {
    let cases = golden().kernels;
    assert_eq!(cases.len(), 2);
    for case in cases {
        let fitted = KernelDensity::fit(&matrix(&case.points), 1).unwrap();
        assert_close(&[fitted.bandwidth()], &[case.bandwidth], &case.name);
        assert_close(
            &[fitted.report().log_likelihood()],
            &[case.left_out],
            &case.name,
        );
        let logs: Vec<f64> = case
            .queries
            .iter()
            .map(|x| fitted.log_density(x).unwrap())
            .collect();
        assert_close(&logs, &case.log_densities, &case.name);
    }
}

#[test]
fn copulas_agree_with_scipy() {
    let cases = golden().copulas;
    assert_eq!(cases.len(), 2);
    for case in cases {
        let fitted = GaussianCopula::fit(&matrix(&case.points)).unwrap();
        assert_near(fitted.correlation(), &case.correlation.concat(), &case.name);
        let logs: Vec<f64> = case
            .queries
            .iter()
            .map(|x| fitted.log_density(x).unwrap())
            .collect();
        assert_near(&logs, &case.log_densities, &case.name);
    }
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
    /// BIC of models fitted by EM.
    bic: Option<f64>,
}

fn assert_close(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (g, e) in got.iter().zip(expected) {
        assert!(
            (g - e).abs() <= 1e-7 * (1.0 + e.abs()),
            "{what}: {g}, not {e}"
        );
    }
}

#[test]
fn mixtures_agree_with_scikit_learn() {
    let golden = golden();
    assert_eq!(golden.mixtures.len(), 4);
    for case in golden.mixtures {
        let name = &case.name;
        let points = DenseMatrix::new(
            case.points.len(),
            case.points[0].len(),
            case.points.concat(),
        )
        .unwrap();
        let fitted = GaussianMixture::fit_from(
            &points,
            &MixtureSettings::new(case.components),
            &case.clusters,
        )
        .unwrap();
        for (k, component) in fitted.components().iter().enumerate() {
            assert_close(&[component.weight], &[case.weights[k]], name);
            assert_close(&component.mean, &case.means[k], name);
            assert_close(&component.covariance, &case.covariances[k].concat(), name);
        }
        let report = fitted.report();
        assert_eq!(
            (report.curve.len(), report.converged),
            (case.iterations, true),
            "{name}"
        );
        assert_close(&[report.log_likelihood()], &[case.lower_bound], name);
        let mean = case
            .points
            .iter()
            .map(|x| fitted.log_density(x))
            .sum::<f64>()
            / case.points.len() as f64;
        assert_close(&[mean], &[case.log_likelihood], name);
        // This implementation takes the likelihood of the last iteration, a step before the last
        // parameters.
        assert!(
            (report.bic() - case.bic.unwrap()).abs() < 2.0 * case.points.len() as f64 * 1e-3,
            "{name}"
        );
    }
}

#[test]
fn covariances_shrink_as_in_scikit_learn() {
    let golden = golden();
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
