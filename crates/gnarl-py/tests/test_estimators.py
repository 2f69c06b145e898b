"""Estimators: the command line's results, to the last bit, and scikit-learn's manners."""

from __future__ import annotations

import json
import keyword
import pickle
import subprocess
import sys
from pathlib import Path

import gnarl
import numpy as np
import pytest
from gnarl import _axes


def command(*words: str) -> dict:
    run = subprocess.run([sys.executable, "-m", "gnarl._cli", *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


COMBINATIONS = [
    ("gcn", {}),
    ("gcn", {"operator": "cgso", "centrality": "core"}),
    ("gcn", {"operator": gnarl.CGSO(centrality="core"), "init": "A", "depth": gnarl.ADMPST(max_depth=2), "weights": gnarl.Orthonormal()}),
    ("sage", {"inference": "robust-crf", "augment": gnarl.DropEdge(p=0.2), "lr": 0.02, "hidden": 16}),
    ("gat", {"heads": 4, "defense": "jaccard"}),
]


@pytest.mark.parametrize(("model", "axes"), COMBINATIONS)
@pytest.mark.parametrize("seed", [0, 3])
def test_results_are_the_command_lines(model: str, axes: dict, seed: int, tmp_path: Path) -> None:
    data = gnarl.load("csbm", random_state=seed)
    ours = gnarl.NodeClassifier(model, epochs=10, random_state=seed, **axes).fit(data)
    options = [f"--{flag}={text}" for flag, text in _axes.options_of(axes)]
    theirs = tmp_path / "theirs.safetensors"
    train = ["train", "--data", "csbm", "--model", model, "--epochs", "10", "--seed", str(seed), "--save", str(theirs)]
    report = command(*train, *options)
    ours.save(tmp_path / "ours.safetensors")
    assert (tmp_path / "ours.safetensors").read_bytes() == theirs.read_bytes(), "the files are the same"
    assert report["runs"][0]["test_accuracy"] == pytest.approx(100 * ours.score(data), abs=1e-9)
    assert report["runs"][0]["val_accuracy"] == ours.report_["val_accuracy"]
    loaded = gnarl.NodeClassifier.load(theirs)
    assert (loaded.predict_proba(data) == ours.predict_proba(data)).all()


def test_sets_give_the_command_lines_results(tmp_path: Path, data_folder: Path) -> None:
    folder = data_folder
    mutag = gnarl.load("mutag", data_dir=str(folder))
    ours = gnarl.GraphClassifier("gin", batch_norm=True, epochs=10).fit(mutag)
    theirs = tmp_path / "theirs.safetensors"
    words = ["train", "--data", "mutag", "--data-dir", str(folder), "--model", "gin", "--batch-norm", "--epochs", "10", "--runs", "1"]
    report = command(*words, "--save", str(theirs))
    ours.save(tmp_path / "ours.safetensors")
    assert (tmp_path / "ours.safetensors").read_bytes() == theirs.read_bytes()
    assert report["runs"][0]["test_accuracy"] == pytest.approx(100 * ours.score(mutag), abs=1e-9)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"model": "gnc"}, "unknown model 'gnc'; did you mean gcn|unknown backbone 'gnc'; did you mean gcn|did you mean gcn"),
        ({"order": 3}, "order: belongs to orthonormal, and the kind of weights is free"),
        ({"depth": "admp-st", "layers": 3}, "layers"),
        ({"heads": 4}, "heads"),
        ({"dropout": "much"}, "dropout must be a number"),
        ({"epochs": 0}, "epochs must be in"),
        ({"lr": float("nan")}, "lr must be"),
        ({"weights": gnarl.CGSO()}, "is a choice of operator"),
        ({"augment": "subgraph"}, "augment"),
        ({"recipe": "mine"}, "unknown recipe 'mine'"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": -1}, "random_state"),
        ({"model": "gcn", "spec": 'backbone = "gcn"\n'}, "spec: describes the whole model"),
    ],
)
def test_refusals_are_the_librarys(keywords: dict, message: str, blocks: gnarl.Graph) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        gnarl.NodeClassifier(**keywords).fit(blocks)
    assert "\n" not in str(caught.value)


def test_every_option_of_the_library_is_a_keyword() -> None:
    sections = json.loads(gnarl._gnarl.model_sections())["sections"]
    flags = {s["flag"] for section in sections for s in section["settings"]} | {s["axis"] for s in sections if s["axis"]}
    assert len(flags) > 30
    for cls in (gnarl.NodeClassifier, gnarl.GraphClassifier):
        # A name that Python reserves ends with an underscore.
        names = {flag.replace("-", "_") for flag in flags}
        assert {name + "_" * keyword.iskeyword(name) for name in names} <= set(cls().get_params())
    with pytest.raises(TypeError, match="unknown keyword 'hiden'"):
        gnarl.NodeClassifier(hiden=3)


def test_what_is_known_after_fitting(blocks: gnarl.Graph) -> None:
    model = gnarl.NodeClassifier("gcn", operator="cgso", depth="admp-st", max_depth=2, epochs=15).fit(blocks)
    assert set(model.history_) == {"loss", "val_loss", "val_accuracy", "training"}
    assert model.history_["loss"].shape == model.history_["training"].shape == (model.n_iter_,)
    assert np.isfinite(model.history_["loss"]).all() and model.n_iter_ >= 15
    assert {"e1", "e2", "e3"} <= {name.split(":")[-1].split(".")[-1] for name in model.operator_} or len(model.operator_) >= 3
    assert model.exits_.shape == (200,) and set(model.exits_) <= {0, 1, 2}
    assert model.classes_.tolist() == [0, 1, 2, 3]
    probabilities = model.predict_proba(blocks)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(blocks)).all()


def test_the_learned_operator_is_a_matrix(blocks: gnarl.Graph) -> None:
    plain = gnarl.NodeClassifier("gcn", epochs=5).fit(blocks)
    assert abs(plain.operator_matrix(blocks) - gnarl.operator(blocks, "A_hat")).max() < 1e-6


def test_classes_are_the_users(blocks: gnarl.Graph) -> None:
    names = np.array(["ash", "beech", "cedar", "dogwood"])[blocks.y]
    train, val, test = blocks.splits[0][1:] if blocks.splits else (range(0, 80), range(80, 120), range(120, 200))
    model = gnarl.NodeClassifier("gcn", epochs=20).fit(blocks, names, train_mask=train, val_mask=val, test_mask=test)
    assert model.classes_.tolist() == ["ash", "beech", "cedar", "dogwood"]
    assert set(model.predict(blocks)) <= set(names)
    assert model.score(blocks, names, mask=test) == np.mean(model.predict(blocks)[test] == names[test])
    half = names.astype(object)
    half[::2] = None
    partly = gnarl.NodeClassifier("gcn", epochs=5).fit(blocks, half, train_mask=range(100))
    assert partly.classes_.tolist() == ["ash", "beech", "cedar", "dogwood"]


def test_masks_and_indices_mean_the_same(blocks: gnarl.Graph) -> None:
    mask = np.zeros(200, dtype=bool)
    mask[:60] = True
    a = gnarl.NodeClassifier("gcn", epochs=10).fit(blocks, train_mask=mask, val_mask=slice(60, 100))
    b = gnarl.NodeClassifier("gcn", epochs=10).fit(blocks, train_mask=range(60), val_mask=np.arange(60, 100))
    assert (a.predict_proba(blocks) == b.predict_proba(blocks)).all()


def test_files_and_pickles_answer_alike(blocks: gnarl.Graph, tmp_path: Path) -> None:
    model = gnarl.NodeClassifier("gcn", depth="admp-st", inference=gnarl.RobustCRF(samples=2, iterations=1), epochs=10).fit(blocks)
    expected = model.predict_proba(blocks)
    back = pickle.loads(pickle.dumps(model))
    assert (back.predict_proba(blocks) == expected).all() and back.get_params() == model.get_params()
    assert (back.history_["loss"] == model.history_["loss"]).all()
    model.save(tmp_path / "model.safetensors")
    loaded = gnarl.NodeClassifier.load(tmp_path / "model.safetensors")
    assert (loaded.predict_proba(blocks) == expected).all()
    assert loaded.fit(blocks).predict_proba(blocks).tolist() == expected.tolist(), "and it can be fitted again"
    with pytest.raises(ValueError, match="load it as a NodeClassifier"):
        gnarl.GraphClassifier.load(tmp_path / "model.safetensors")
    with pytest.raises(FileNotFoundError):
        gnarl.NodeClassifier.load(tmp_path / "nothing.safetensors")
    (tmp_path / "broken").write_bytes(b"no model")
    with pytest.raises(ValueError, match="not a safetensors file"):
        gnarl.NodeClassifier.load(tmp_path / "broken")


def test_a_model_is_a_file_of_toml(blocks: gnarl.Graph, tmp_path: Path) -> None:
    said = gnarl.NodeClassifier("gcn", weights="orthonormal", epochs=7)
    text = said.spec_()
    assert "epochs = 7" in text and 'backbone = "gcn"' in text
    file = tmp_path / "model.toml"
    file.write_text(text)
    for spec in (text, file):
        read = gnarl.NodeClassifier(spec=spec)
        assert (read.fit(blocks).predict_proba(blocks) == said.fit(blocks).predict_proba(blocks)).all()
    assert len(gnarl.NodeClassifier(spec=text, epochs=3).fit(blocks).history_["loss"]) == 3


def test_people_can_read_it(blocks: gnarl.Graph) -> None:
    model = gnarl.NodeClassifier("gcn", inference=gnarl.RobustCRF(samples=3), epochs=3)
    assert repr(model) == "NodeClassifier(model='gcn', inference=RobustCRF(samples=3), epochs=3)"
    assert "RobustCRF" in model.fit(blocks)._repr_html_()
    assert "Width of hidden representations" in gnarl.NodeClassifier.__doc__


def shapes(count: int = 40) -> tuple[list[gnarl.Graph], np.ndarray]:
    graphs = [gnarl.erdos_renyi(12, 0.4, random_state=i) if i % 2 else gnarl.star(12 + i % 4) for i in range(count)]
    return graphs, np.array(["star", "random"])[np.arange(count) % 2]


def test_graphs_of_a_set() -> None:
    graphs, y = shapes()
    model = gnarl.GraphClassifier("gin", epochs=30).fit(graphs, y)
    assert model.classes_.tolist() == ["random", "star"]
    assert model.score(graphs, y) == 1.0
    assert model.predict_proba(graphs[:3]).shape == (3, 2)
    train, val = model.fitted_.split[1], model.fitted_.split[2]
    assert len(val) == 4 and len(train) == 36 and not set(train) & set(val)
    assert gnarl.GraphClassifier("gin", epochs=3, validation_fraction=0).fit(graphs, y).fitted_.split[2].size == 0


def test_grid_search_and_cross_validation() -> None:
    from sklearn.model_selection import GridSearchCV, cross_val_score

    graphs, y = shapes(30)
    scores = cross_val_score(gnarl.GraphClassifier("gin", epochs=20), graphs, y, cv=3)
    assert scores.shape == (3,) and scores.mean() > 0.8
    search = GridSearchCV(gnarl.GraphClassifier("gin", epochs=5, inference=gnarl.RobustCRF(iterations=1)), {"hidden": [4, 8], "inference__samples": [1, 2]}, cv=2)
    search.fit(gnarl.GraphSet(graphs, y), y)
    assert set(search.best_params_) == {"hidden", "inference__samples"}
    assert search.best_estimator_.hidden in (4, 8)
