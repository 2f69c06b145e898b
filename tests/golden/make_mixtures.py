"""Gaussian mixtures by EM and by variational Bayes from given clusters, shrunken covariances and kernel densities by scikit-learn, Gaussian copulas
by SciPy and NumPy: crates/gnarl/tests/golden/mixtures.json."""

import golden
import numpy as np
from scipy.stats import multivariate_normal, norm, rankdata
from sklearn.covariance import ledoit_wolf
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.neighbors import KernelDensity

golden.OUT = golden.ROOT / "crates/gnarl/tests/golden"


class FromClusters(GaussianMixture):
    """Starts from the clusters given instead of its own k-means."""

    def _initialize_parameters(self, X, random_state, **_):
        self._initialize(X, np.eye(self.n_components)[self.clusters])


def case(name, points, clusters, components):
    points = np.round(points, 6)
    mixture = FromClusters(components, tol=1e-3, max_iter=100, reg_covar=1e-6)
    mixture.clusters = clusters
    mixture.fit(points)
    return {
        "name": name, "components": components, "points": points, "clusters": clusters, "weights": mixture.weights_,
        "means": mixture.means_, "covariances": mixture.covariances_, "iterations": mixture.n_iter_,
        "lower_bound": mixture.lower_bound_, "log_likelihood": mixture.score(points), "bic": mixture.bic(points),
    }


class VariationalFromClusters(BayesianGaussianMixture):
    """The same by variational Bayes."""

    def _initialize_parameters(self, X, random_state, **_):
        self._initialize(X, np.eye(self.n_components)[self.clusters])


def variational(name, points, clusters, components):
    points = np.round(points, 6)
    mixture = VariationalFromClusters(n_components=components, tol=1e-3, max_iter=100, reg_covar=1e-6)
    mixture.clusters = clusters
    mixture.fit(points)
    parts = [w * multivariate_normal(m, c).pdf(points) for w, m, c in zip(mixture.weights_, mixture.means_, mixture.covariances_)]
    return {
        "name": name, "components": components, "points": points, "clusters": clusters, "weights": mixture.weights_,
        "means": mixture.means_, "covariances": mixture.covariances_, "iterations": mixture.n_iter_,
        "lower_bound": mixture.lower_bound_, "log_likelihood": np.mean(np.log(np.sum(parts, axis=0))),
    }


def kernel(name, points, queries):
    points = np.round(points, 6)
    spread = np.sqrt(np.mean((points - points.mean(0)) ** 2))
    grid = spread * 10.0 ** (-2 + 3 * np.arange(31) / 30)
    search = GridSearchCV(KernelDensity(rtol=1e-12), {"bandwidth": grid}, cv=LeaveOneOut()).fit(points)
    best = KernelDensity(bandwidth=search.best_params_["bandwidth"], rtol=1e-12).fit(points)
    return {
        "name": name, "points": points, "bandwidth": best.bandwidth, "left_out": search.best_score_, "queries": queries,
        "log_densities": best.score_samples(queries),
    }


def copula(name, points, queries):
    points = np.round(points, 6)
    n, d = points.shape
    scores = norm.ppf(np.column_stack([rankdata(points[:, j]) for j in range(d)]) / (n + 1))
    covariance, _ = ledoit_wolf(scores, assume_centered=True)
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    logs = []
    for x in queries:
        u, margins = [], 0.0
        for j in range(d):
            knots = np.sort(points[:, j])
            u.append(np.interp(x[j], knots, np.arange(n) / (n - 1)))
            left = min(np.searchsorted(knots, x[j], side="right"), n - 1) - 1
            margins -= np.log((n - 1) * (knots[left + 1] - knots[left]))
        z = norm.ppf(u)
        logs.append(multivariate_normal(np.zeros(d), correlation).logpdf(z) - norm.logpdf(z).sum() + margins)
    return {"name": name, "points": points, "correlation": correlation, "queries": queries, "log_densities": np.array(logs)}


def shrunken(name, points):
    points = np.round(points, 6)
    covariance, share = ledoit_wolf(points)
    return {"name": name, "points": points, "covariance": covariance, "share": share}


def main():
    rng = np.random.default_rng(7)
    cloud = lambda mean, size, spread: rng.multivariate_normal(mean, spread, size)
    tilted = np.array([[2.0, 0.9, 0.3], [0.9, 1.0, -0.2], [0.3, -0.2, 0.5]])
    apart = np.concatenate([cloud([0, 0, 0], 40, np.eye(3)), cloud([6, -5, 2], 25, tilted)])
    near = np.concatenate([cloud([0, 0], 40, np.eye(2)), cloud([1.5, 1], 40, [[0.3, 0.2], [0.2, 0.6]])])
    flat = np.column_stack([rng.normal(size=30), np.full(30, 2.5)])
    cases = [
        case("apart", apart, np.arange(65) % 2, 2),
        case("near, three components", near, (near[:, 0] > 0.7).astype(int) + (near[:, 1] > 1), 3),
        case("a constant coordinate", flat, (flat[:, 0] > 0).astype(int), 2),
        case("one component", near, np.zeros(80, dtype=int), 1),
    ]
    shape = rng.normal(size=(8, 8))
    covariances = [
        shrunken("many points", apart[40:]),
        shrunken("fewer points than numbers", rng.normal(size=(5, 8)) @ shape),
        shrunken("two points", rng.normal(size=(2, 3))),
        shrunken("along a line", np.outer(rng.normal(size=12), [1.0, -2.0, 0.5])),
    ]
    by_bayes = [
        variational("apart", apart, np.arange(65) % 2, 2),
        variational("more than are needed", near, np.arange(80) % 6, 6),
        variational("one component", near, np.zeros(80, dtype=int), 1),
    ]
    inside = lambda points, count: np.round(0.7 * points[:count] + 0.3 * points.mean(0), 6)
    kernels = [
        kernel("two clouds", apart, np.round(apart[:4] + 0.3, 6)),
        kernel("fewer points than numbers", rng.normal(size=(6, 8)), np.round(rng.normal(size=(2, 8)), 6)),
    ]
    skewed = np.round(np.exp(near), 6)
    copulas = [
        copula("two clouds", apart, inside(apart, 5)),
        copula("skewed", skewed, inside(skewed, 5)),
    ]
    calls = {
        "variational": "sklearn.mixture.BayesianGaussianMixture(k, tol=1e-3, max_iter=100, reg_covar=1e-6) from the clusters given; log_likelihood is that of the mixture of its weights_, means_ and covariances_, by scipy.stats.multivariate_normal",
        "kernels": "sklearn.model_selection.GridSearchCV(KernelDensity(), 31 bandwidths, cv=LeaveOneOut())",
        "copulas": "scipy.stats.rankdata, norm and multivariate_normal, sklearn.covariance.ledoit_wolf(assume_centered=True), numpy.interp",
        "mixtures": "sklearn.mixture.GaussianMixture(k, tol=1e-3, max_iter=100, reg_covar=1e-6) from the clusters given",
        "covariances": "sklearn.covariance.ledoit_wolf(points)",
    }
    golden.write("mixtures.json", calls, {
        "mixtures": cases, "covariances": covariances, "variational": by_bayes, "kernels": kernels, "copulas": copulas,
    })


if __name__ == "__main__":
    main()
