"""Gaussian mixtures by EM from given clusters, and shrunken covariances, by scikit-learn: crates/gnarl/tests/golden/mixtures.json."""

import golden
import numpy as np
from sklearn.covariance import ledoit_wolf
from sklearn.mixture import GaussianMixture

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
    calls = {
        "mixtures": "sklearn.mixture.GaussianMixture(k, tol=1e-3, max_iter=100, reg_covar=1e-6) from the clusters given",
        "covariances": "sklearn.covariance.ledoit_wolf(points)",
    }
    golden.write("mixtures.json", calls, {"mixtures": cases, "covariances": covariances})


if __name__ == "__main__":
    main()
