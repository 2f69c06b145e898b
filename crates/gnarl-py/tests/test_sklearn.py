"""scikit-learn's own checks, run against our estimators.

Its checks fit matrices; ours fit graphs. The adapters below hand over the same data as graphs and add nothing else: a row is a graph of one
node, or a node of a path.
"""

from __future__ import annotations

from typing import Any

import gnarl
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import check_is_fitted, validate_data


class OfRows(gnarl.GraphClassifier):
    """Rows of a matrix as graphs of one node."""

    @staticmethod
    def graphs(X: np.ndarray) -> list[gnarl.Graph]:
        return [gnarl.Graph(gnarl.path(1), x=row[None, :]) for row in X]

    def fit(self, X: Any, y: Any = None, **keywords: Any) -> OfRows:
        X, y = validate_data(self, X, y, skip_check_array=False)
        super().fit(self.graphs(X), y, **keywords)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        self._fitted()
        return super().predict(self.graphs(validate_data(self, X, reset=False)))

    def predict_proba(self, X: Any) -> np.ndarray:
        self._fitted()
        return super().predict_proba(self.graphs(validate_data(self, X, reset=False)))

    def score(self, X: Any, y: Any = None) -> float:
        return super().score(self.graphs(validate_data(self, X, reset=False)), y)


class OfNodes(gnarl.NodeClassifier):
    """Rows of a matrix as the nodes of a path."""

    @staticmethod
    def graph(X: np.ndarray) -> gnarl.Graph:
        return gnarl.Graph(gnarl.path(len(X)), x=X)

    def fit(self, X: Any, y: Any = None, **keywords: Any) -> OfNodes:
        X, y = validate_data(self, X, y, skip_check_array=False)
        super().fit(self.graph(X), y, train_mask=slice(None), **keywords)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        self._fitted()
        return super().predict(self.graph(validate_data(self, X, reset=False)))

    def predict_proba(self, X: Any) -> np.ndarray:
        self._fitted()
        return super().predict_proba(self.graph(validate_data(self, X, reset=False)))

    def score(self, X: Any, y: Any = None) -> float:
        return super().score(self.graph(validate_data(self, X, reset=False)), y)


#: Checks of parameters alone: on our own classes.
OF_PARAMETERS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_param",
]
#: Checks that fit: on the adapters.
OF_FITTING = [
    "check_estimators_unfitted",
    "check_fit_check_is_fitted",
    "check_dont_overwrite_attributes",
    "check_estimators_overwrite_params",
    "check_dict_unchanged",
    "check_fit_score_takes_y",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_classifiers_one_label",
    "check_classifiers_classes",
    "check_n_features_in",
]


def named(name: str) -> Any:
    found = getattr(checks, name, None)
    if found is None:
        pytest.skip(f"this scikit-learn has no {name}")
    return found


@pytest.mark.parametrize("cls", [gnarl.NodeClassifier, gnarl.GraphClassifier])
@pytest.mark.parametrize("check", OF_PARAMETERS)
def test_parameters(cls: type, check: str) -> None:
    named(check)(cls.__name__, cls())


@pytest.mark.parametrize("cls", [gnarl.NodeClassifier, gnarl.GraphClassifier])
def test_default_constructible(cls: type) -> None:
    named("check_parameters_default_constructible")(cls.__name__, cls())


@pytest.mark.parametrize("cls", [OfRows, OfNodes])
@pytest.mark.parametrize("check", OF_FITTING)
def test_fitting(cls: type, check: str) -> None:
    model = "gcn" if cls is OfNodes else "mlp"
    named(check)(cls.__name__, cls(model, epochs=5, hidden=8))


def test_clones_keep_choices() -> None:
    model = gnarl.NodeClassifier(inference=gnarl.RobustCRF(samples=3), epochs=4)
    copy = clone(model)
    assert copy is not model and copy.get_params(deep=False) == model.get_params(deep=False)
    with pytest.raises(gnarl.NotFittedError if "sklearn" not in __import__("sys").modules else ValueError):
        check_is_fitted(model)
