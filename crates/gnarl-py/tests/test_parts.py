"""Parts one by one, against NetworkX, SciPy and scikit-learn."""

from __future__ import annotations

import gnarl
import networkx
import numpy as np
import pytest
import scipy.sparse.linalg
from sklearn.mixture import GaussianMixture


@pytest.fixture(scope="module")
def club() -> networkx.Graph:
    plain = networkx.karate_club_graph()
    for _, _, attributes in plain.edges(data=True):
        attributes.pop("weight")
    return plain


def test_centralities_are_networkxs(club: networkx.Graph, karate: gnarl.Graph) -> None:
    by_node = lambda found: [found[u] for u in range(34)]  # noqa: E731
    assert gnarl.centrality(karate, "degree").tolist() == [d for _, d in club.degree]
    assert gnarl.centrality(karate, "core").tolist() == by_node(networkx.core_number(club))
    assert gnarl.centrality(karate, "pagerank") == pytest.approx(by_node(networkx.pagerank(club, tol=1e-12)), rel=1e-5)
    walks = networkx.to_numpy_array(club) @ networkx.to_numpy_array(club) @ np.ones(34)
    assert gnarl.centrality(karate, "walks") == pytest.approx(walks)


def test_operators_and_spectra_are_scipys(club: networkx.Graph, karate: gnarl.Graph) -> None:
    laplacian = networkx.laplacian_matrix(club).toarray()
    assert (gnarl.operator(karate, "L").toarray() == laplacian).all()
    symmetric = networkx.normalized_laplacian_matrix(club).toarray()
    assert np.allclose(gnarl.operator(karate, "L_sym").toarray(), symmetric)
    values, vectors = gnarl.eigenpairs(karate, "L_sym", 5)
    assert values == pytest.approx(np.linalg.eigvalsh(symmetric)[:5], abs=1e-9)
    assert np.allclose(symmetric @ vectors, vectors * values, atol=1e-8)
    largest, _ = gnarl.eigenpairs(karate, "A", 2, which="largest")
    expected = scipy.sparse.linalg.eigsh(gnarl.operator(karate, "A"), k=2, which="LA", return_eigenvectors=False)
    assert largest == pytest.approx(sorted(expected)[::-1])
    core = gnarl.centrality(karate, "core")
    by_core = np.diag(core**-0.5) @ networkx.to_numpy_array(club) @ np.diag(core**-0.5)
    assert np.allclose(gnarl.operator(karate, centrality="core").toarray(), by_core)
    assert gnarl.spectrum(karate, "core")["gap"]
    with pytest.raises(ValueError, match="k: 35 eigenvalues of a graph of 34 nodes"):
        gnarl.eigenpairs(karate, "L", 35)


def test_communities(club: networkx.Graph, karate: gnarl.Graph) -> None:
    for method in ("louvain", "fast-greedy", "walktrap"):
        found = gnarl.communities(karate, method)
        groups = [set(np.flatnonzero(found == c)) for c in set(found)]
        assert gnarl.modularity(karate, found) == pytest.approx(networkx.community.modularity(club, groups))
        assert gnarl.modularity(karate, found) > 0.3
    assert set(gnarl.communities(karate, "cgso", 4, centrality="degree", n_init=5)) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="centrality: belongs to cgso"):
        gnarl.communities(karate, "louvain", centrality="core")
    with pytest.raises(ValueError, match="louvain finds the number of clusters itself"):
        gnarl.communities(karate, "louvain", 3)


def test_generators() -> None:
    assert gnarl.sbm([5, 7], [[1, 0], [0, 1]]).num_edges == 10 + 21
    assert gnarl.csbm(50, 2, 8).x.shape == (50, 8)
    assert gnarl.erdos_renyi(50, 0.1, random_state=1) == gnarl.erdos_renyi(50, 0.1, random_state=1)
    assert gnarl.erdos_renyi(50, 0.1, random_state=1) != gnarl.erdos_renyi(50, 0.1, random_state=2)
    degrees = gnarl.centrality(gnarl.rewire(gnarl.barabasi_albert(50, 3), 1.0), "degree")
    assert (degrees == gnarl.centrality(gnarl.barabasi_albert(50, 3), "degree")).all()
    with pytest.raises(ValueError, match="probabilit"):
        gnarl.erdos_renyi(10, 1.5)


def test_densities_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-3, 1, (150, 2)), rng.normal(3, 0.5, (150, 2))])
    ours = gnarl.density(X, "mixture", components=2)
    theirs = GaussianMixture(2, random_state=0, tol=1e-8, max_iter=500).fit(X)
    assert ours.log_density(X).mean() == pytest.approx(theirs.score(X), abs=0.01)
    drawn = ours.sample(4000, seed=1)
    assert drawn.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.3)
    assert "2 components for 300 points" in repr(ours)
    with pytest.raises(ValueError, match="components: belongs to mixture"):
        gnarl.density(X, "shrunken", components=2)


def test_gratin_draws_like_its_classes() -> None:
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (100, 3)), rng.normal(8, 1, (40, 3))])
    y = np.array(["near"] * 100 + ["far"] * 40)
    new, of = gnarl.gratin(X, y)
    assert [(of == c).sum() for c in ("near", "far")] == [100, 40]
    assert new[of == "near"].mean() == pytest.approx(0, abs=0.4) and new[of == "far"].mean() == pytest.approx(8, abs=0.4)
    assert (gnarl.gratin(X, y)[0] == new).all() and (gnarl.gratin(X, y, random_state=1)[0] != new).any()
    _, level = gnarl.gratin(X, y, samples="level")
    assert [(level == c).sum() for c in ("near", "far")] == [100, 160]


def test_influence_is_what_training_again_gives() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    draw = lambda n: (rng.normal(size=(n, 2)), rng.integers(0, 2, n))  # noqa: E731
    (X, y), (X_on, y_on), (X_new, y_new) = draw(60), draw(40), draw(15)
    X[y == 1] += 1.2
    X_on[y_on == 1] += 1.2
    decay = 0.05
    ours = gnarl.influence(X, y, X_on, y_on, X_new, y_new, decay=decay)

    def loss(weights: np.ndarray | None, x: np.ndarray, of: np.ndarray) -> float:
        # Two softmax vectors with a decay are one logistic vector with half of it; the offset is a column of ones.
        with_one = np.column_stack([x, np.ones(len(x))])
        model = LogisticRegression(C=1 / (decay / 2 * 60), fit_intercept=False, tol=1e-10, max_iter=1000)
        model.fit(with_one, of, sample_weight=weights)
        p = model.predict_proba(np.column_stack([X_on, np.ones(40)]))
        return float(-np.log(p[np.arange(40), y_on]).mean())

    plain = loss(None, X, y)
    gains = [plain - loss(None, np.vstack([X, X_new[i]]), np.append(y, y_new[i])) for i in range(15)]
    assert np.corrcoef(ours, gains)[0, 1] > 0.95
