"""Models of one's own and gnarl's: attacked, measured, defended."""

from __future__ import annotations

import gnarl
import numpy as np
import pytest


@pytest.fixture(scope="module")
def gcn(blocks: gnarl.Graph) -> gnarl.NodeClassifier:
    return gnarl.NodeClassifier("gcn", epochs=60, features="as-loaded").fit(blocks)


class Mine:
    """Scores by the mean of neighbours' features: a linear model that is not gnarl's."""

    def __init__(self, graph: gnarl.Graph) -> None:
        smooth = gnarl.operator(graph, "A_hat") @ graph.x
        targets = np.eye(4)[graph.y]
        self.weights = np.linalg.lstsq(smooth, targets, rcond=None)[0]
        self.calls = 0

    def __call__(self, graph: gnarl.Graph) -> np.ndarray:
        self.calls += 1
        return gnarl.operator(graph, "A_hat") @ graph.x @ self.weights * 10


@pytest.mark.parametrize("kind", ["random-flips", "random-add", "random-remove", "dice", "gaussian"])
def test_attacks_keep_to_their_budget(blocks: gnarl.Graph, kind: str) -> None:
    found = gnarl.attack(blocks, kind, budget=0.1)
    assert len(found.flips) <= blocks.num_edges // 10
    assert found.graph.num_edges == blocks.num_edges + len(found.added) - len(found.removed)
    if kind == "gaussian":
        assert found.features["nodes"] == 200 and (found.graph.x != blocks.x).any()
    else:
        assert len(found.flips) == blocks.num_edges // 10 and (found.graph.x == blocks.x).all()
    again = gnarl.attack(blocks, kind, budget=0.1)
    assert again.graph == found.graph, "the same seed gives the same attack"
    assert gnarl.attack(blocks, kind, budget=0.1, random_state=1).graph != found.graph


def test_gradients_are_stronger_than_chance(blocks: gnarl.Graph, gcn: gnarl.NodeClassifier) -> None:
    clean = gcn.score(blocks)
    targets = gcn.fitted_.split[3]
    truth = blocks.y[targets]

    def after(kind: str, **settings: object) -> float:
        graph = gnarl.attack(blocks, kind, gcn, budget=0.1, **settings).graph
        return float(np.mean(gcn.predict(graph)[targets] == truth))

    assert after("pgd-structure", steps=20) < after("random-flips") <= clean + 0.05
    features = gnarl.attack(blocks, "pgd-features", gcn, budget=0.5)
    assert features.graph.scaled and "as a model takes them" in repr(features.graph)
    assert float(np.mean(gcn.predict(features.graph)[targets] == truth)) < clean


def test_what_cannot_be_attacked_is_said(blocks: gnarl.Graph, gcn: gnarl.NodeClassifier) -> None:
    with pytest.raises(ValueError, match="needs gradients, and this model has none"):
        gnarl.attack(blocks, "pgd-structure", Mine(blocks))
    with pytest.raises(ValueError, match="unknown attack 'dise'; did you mean dice"):
        gnarl.attack(blocks, "dise")
    with pytest.raises(ValueError, match="block-size: belongs to pgd-structure"):
        gnarl.attack(blocks, "dice", block_size=3)
    with pytest.raises(ValueError, match="targets: entry 0 is 900"):
        gnarl.attack(blocks, "dice", targets=[900])
    with pytest.raises(ValueError, match="not fitted"):
        gnarl.attack(blocks, "dice", gnarl.NodeClassifier())


def test_bounds_hold_and_are_of_networks_alone(blocks: gnarl.Graph, gcn: gnarl.NodeClassifier) -> None:
    for target, epsilon in (("features", 0.5), ("structure", 3)):
        found = gnarl.robustness(gcn, blocks, epsilon, target=target, samples=30)
        assert 0 < found.mean <= found.largest <= found.bounds["scaled"]
        assert found.distances.shape == (30,) and found.mean == pytest.approx(found.distances.mean())
        assert found.ci[0] <= found.mean <= found.ci[1] and set(found.adv) == {0.1, 0.25, 0.5}
    mine = gnarl.robustness(Mine(blocks), blocks, 0.5, samples=10)
    assert mine.mean > 0 and not mine.bounds and "plain networks of gnarl" in mine.no_bounds
    with pytest.raises(ValueError, match=r"epsilon must be a whole number of flips \(got 2\.5\)"):
        gnarl.robustness(gcn, blocks, 2.5, target="structure")


def test_certificates_of_networks_functions_and_sets(blocks: gnarl.Graph, gcn: gnarl.NodeClassifier) -> None:
    """Every method where it applies; what is certified stands an attack inside its radius."""
    moved = gnarl.certify(gcn, blocks, "lipschitz", radii=[0.0, 0.05])
    assert (moved.items == gcn.fitted_.split[3]).all() and moved.shares[0]["share"] == 1.0
    assert (moved.classes == gcn.predict(blocks)[moved.items]).all() and (moved.radius >= 0).all()
    appnp = gnarl.NodeClassifier("appnp", epochs=60, features="as-loaded").fit(blocks)
    before = appnp.predict(blocks)
    exact = gnarl.certify(appnp, blocks, "exact", threat="remove", max_radius=1)
    firm = exact.items[exact.radius >= 1][:10]
    assert len(firm) > 0, "nothing is certified, so that nothing is tested"
    for node in firm:
        near = [tuple(edge) for edge in blocks.edge_index.T if node in edge and edge[0] < edge[1]][:1]
        left = gnarl.Graph(np.array([e for e in blocks.edge_index.T if tuple(sorted(e)) not in near]).T, x=blocks.x, num_nodes=blocks.num_nodes)
        assert appnp.predict(left)[node] == before[node]
    bits = gnarl.Graph(blocks.edge_index, x=(blocks.x > 0).astype(np.float32), y=blocks.y, num_nodes=blocks.num_nodes)
    mine = Mine(bits)
    smooth = gnarl.certify(mine, bits, samples=200, selection=20, p_plus=0.05, p_minus=0.2, items=[3, 5, 8])
    assert (smooth.items == [3, 5, 8]).all() and smooth.deletions is not None and smooth.smoothed_accuracy is not None
    again = gnarl.certify(mine, bits, samples=200, selection=20, p_plus=0.05, p_minus=0.2, items=[3, 5, 8], n_jobs=1)
    assert (smooth.radius == again.radius).all() and smooth.shares == again.shares
    assert "additions" not in repr(smooth) and "Certified by smoothing" in smooth._repr_html_()
    graphs = [gnarl.cycle(4 + i % 3) if i % 2 else gnarl.star(4 + i % 3) for i in range(20)]
    gin = gnarl.GraphClassifier("gin", epochs=20).fit(graphs, [i % 2 for i in range(20)])
    of_graphs = gnarl.certify(gin, graphs, samples=100, selection=10, target="edges", p_plus=0.01, p_minus=0.1)
    assert len(of_graphs.items) == 20 and 0 <= of_graphs.shares[0]["share"] <= 1
    with pytest.raises(ValueError, match="threat: belongs to exact, and the method is smoothing"):
        gnarl.certify(mine, bits, threat="add")
    with pytest.raises(ValueError, match="unknown setting 'threats'; did you mean threat"):
        gnarl.certify(mine, bits, threats="add")
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\) \(got 2"):
        gnarl.certify(mine, bits, alpha=2)
    with pytest.raises(ValueError, match="exact needs a network of gnarl"):
        gnarl.certify(mine, bits, "exact")
    with pytest.raises(ValueError, match="features of 0 or 1"):
        gnarl.certify(gcn, blocks, samples=100)
    with pytest.raises(ValueError, match="unknown certificate 'magic'"):
        gnarl.certify(gcn, blocks, "magic")


def test_any_function_is_defended(blocks: gnarl.Graph) -> None:
    mine = Mine(blocks)
    safer = gnarl.RobustCRF(samples=5, iterations=2, radius=0.5, sigma=0.5)(mine, random_state=1)
    mine.calls = 0
    answers = safer.predict_proba(blocks)
    assert mine.calls == 32, "once to count the classes, and 31 evaluations"
    assert np.allclose(answers.sum(axis=1), 1, atol=1e-5)
    assert (answers == safer.predict_proba(blocks)).all()
    assert np.allclose(np.exp(safer(blocks)), answers, atol=1e-6)
    # Sigma 1 puts all weight on the input itself.
    same = gnarl.RobustCRF(iterations=1, sigma=1.0, radius=0.5)(mine).predict(blocks)
    assert (same == mine(blocks).argmax(axis=1)).all()
    assert gnarl.robustness(safer, blocks, 0.5, samples=3).mean >= 0
    assert gnarl.attack(blocks, "dice", safer, budget=0.05).flips.shape[1] == 2


def test_clean_inputs_are_learned_from_the_graph(blocks: gnarl.Graph, gcn: gnarl.NodeClassifier) -> None:
    noisy = gnarl.attack(blocks, "gaussian", gcn, budget=1.0).graph
    safer = gnarl.CleanCRF()(gcn, blocks, train_mask=gcn.fitted_.split[1])
    assert safer.predict(noisy).shape == (200,) and safer.classes_.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="pass the graph that the model was trained on"):
        gnarl.CleanCRF()(gcn)


def test_a_model_with_its_own_inference_is_the_same_as_defended(blocks: gnarl.Graph, gcn: gnarl.NodeClassifier) -> None:
    choice = gnarl.RobustCRF(samples=3, iterations=1, radius=0.3, sigma=0.5, target="features")
    inside = gnarl.NodeClassifier("gcn", epochs=60, features="as-loaded", inference=choice).fit(blocks)
    outside = choice(gcn, random_state=0)
    assert np.allclose(inside.predict_proba(blocks), outside.predict_proba(blocks), atol=1e-6)


def test_exceptions_of_a_model_come_through(blocks: gnarl.Graph) -> None:
    class Odd(Exception):
        pass

    def odd(graph: gnarl.Graph) -> np.ndarray:
        raise Odd("it cannot")

    late = Mine(blocks)

    def later(graph: gnarl.Graph) -> np.ndarray:
        if late.calls > 5:
            raise Odd("not any more")
        return late(graph)

    with pytest.raises(Odd, match="it cannot"):
        gnarl.robustness(odd, blocks, 0.5)
    with pytest.raises(Odd, match="not any more"):
        gnarl.robustness(later, blocks, 0.5)
    for bad, message in (
        (lambda g: np.zeros((3, 2)), "3 rows of scores for 200 nodes"),
        (lambda g: np.full((200, 2), np.nan), "row 0, column 0 is NaN"),
        (lambda g: "no", "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            gnarl.robustness(bad, blocks, 0.5)
    with pytest.raises(TypeError, match="a fitted model or a function"):
        gnarl.robustness(3, blocks, 0.5)


def test_models_may_ask_gnarl_themselves(blocks: gnarl.Graph, gcn: gnarl.NodeClassifier) -> None:
    def nested(graph: gnarl.Graph) -> np.ndarray:
        return gcn.predict_proba(graph)

    for n_jobs in (1, 2):
        assert gnarl.robustness(nested, blocks, 0.2, samples=6, n_jobs=n_jobs).mean > 0


def test_a_defence_is_a_function_of_graphs(blocks: gnarl.Graph) -> None:
    words = gnarl.Graph(blocks, x=(blocks.x > 0.2).astype(float))
    cleaned = gnarl.Jaccard(threshold=0.2)(words)
    assert 0 < cleaned.num_edges < words.num_edges and (cleaned.x == words.x).all()


def test_graphs_of_a_set_are_attacked_one_by_one() -> None:
    graphs = [gnarl.Graph(gnarl.erdos_renyi(12, 0.3 + 0.3 * (i % 2), random_state=i), x=np.ones((12, 2))) for i in range(30)]
    model = gnarl.GraphClassifier("gin", epochs=20).fit(graphs, np.arange(30) % 2)
    found = gnarl.attack(graphs[1], "pgd-structure", model, y=1, budget=0.3, steps=10)
    assert len(found.flips) <= 0.3 * graphs[1].num_edges
    with pytest.raises(ValueError, match="is not a class of the model"):
        gnarl.attack(graphs[1], "pgd-structure", model, y="seven")
