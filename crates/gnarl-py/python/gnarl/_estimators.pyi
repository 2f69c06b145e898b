"""Made by stubs.py from the library's own lists."""

import os
from typing import Any

import numpy as np
from gnarl._axes import Choice, Progress
from gnarl._gnarl import Fitted
from numpy.typing import NDArray

class NotFittedError(ValueError, AttributeError): ...

def seed_of(random_state: Any) -> int: ...
def threads_of(n_jobs: Any) -> int | None: ...

class _Estimator:
    fitted_: Fitted
    classes_: NDArray[Any]
    n_features_in_: int
    n_iter_: int
    report_: dict[str, Any]
    operator_: dict[str, float]
    history_: dict[str, NDArray[Any]]
    exits_: NDArray[np.int64] | None
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...
    def spec_(self, dataset: str = "") -> str: ...
    def save(self, file: str | os.PathLike[str]) -> None: ...
    def _fitted(self) -> Fitted: ...

class NodeClassifier(_Estimator):
    def __init__(
        self,
        model: str | None = None,
        *,
        features: str | None = None,
        operator: str | Choice | None = None,
        depth: str | Choice | None = None,
        weights: str | Choice | None = None,
        inference: str | Choice | None = None,
        augment: str | Choice | None = None,
        defense: str | Choice | None = None,
        hidden: int | None = None,
        layers: int | None = None,
        dropout: str | float | None = None,
        input_dropout: str | float | None = None,
        heads: int | None = None,
        attention_dropout: str | float | None = None,
        batch_norm: bool | None = None,
        propagation_steps: int | None = None,
        teleport: str | float | None = None,
        bias: bool | None = None,
        head: bool | None = None,
        orthogonal_start: bool | None = None,
        noise: str | float | None = None,
        gain: bool | None = None,
        level: str | float | None = None,
        readout: str | float | None = None,
        head_dropout: str | float | None = None,
        centrality: str | float | None = None,
        init: str | float | None = None,
        max_depth: str | float | None = None,
        policy: str | float | None = None,
        order: str | float | None = None,
        iterations: int | None = None,
        scaling: str | float | None = None,
        parseval_beta: str | float | None = None,
        inference_on: str | float | None = None,
        neighbours: str | float | None = None,
        updates: str | float | None = None,
        crf_sigma: str | float | None = None,
        radius: str | float | None = None,
        hard: bool | None = None,
        stop_early: bool | None = None,
        law: str | float | None = None,
        inference_tune: bool | None = None,
        inference_check: bool | None = None,
        good_at_detectors: str | float | None = None,
        good_at_threshold: str | float | None = None,
        draws: str | float | None = None,
        head_epochs: int | None = None,
        density: str | float | None = None,
        components: str | float | None = None,
        select: str | float | None = None,
        through: str | float | None = None,
        strength: str | float | None = None,
        copies: str | float | None = None,
        jaccard_threshold: str | float | None = None,
        svd_rank: str | float | None = None,
        svd_floor: str | float | None = None,
        gdc_teleport: str | float | None = None,
        gdc_neighbours: str | float | None = None,
        epochs: int | None = None,
        lr: str | float | None = None,
        exponent_lr: str | float | None = None,
        scalar_lr: str | float | None = None,
        weight_decay: str | float | None = None,
        lr_step: str | float | None = None,
        keep: str | float | None = None,
        patience: int | None = None,
        class_weights: str | float | None = None,
        batch_size: int | None = None,
        batch_nodes: int | None = None,
        fanout: str | float | None = None,
        spec: str | os.PathLike[str] | None = None,
        recipe: str = "default",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | Progress = False,
    ) -> None: ...
    model: str | None
    features: str | None
    operator: str | Choice | None
    depth: str | Choice | None
    weights: str | Choice | None
    inference: str | Choice | None
    augment: str | Choice | None
    defense: str | Choice | None
    hidden: int | None
    layers: int | None
    dropout: str | float | None
    input_dropout: str | float | None
    heads: int | None
    attention_dropout: str | float | None
    batch_norm: bool | None
    propagation_steps: int | None
    teleport: str | float | None
    bias: bool | None
    head: bool | None
    orthogonal_start: bool | None
    noise: str | float | None
    gain: bool | None
    level: str | float | None
    readout: str | float | None
    head_dropout: str | float | None
    centrality: str | float | None
    init: str | float | None
    max_depth: str | float | None
    policy: str | float | None
    order: str | float | None
    iterations: int | None
    scaling: str | float | None
    parseval_beta: str | float | None
    inference_on: str | float | None
    neighbours: str | float | None
    updates: str | float | None
    crf_sigma: str | float | None
    radius: str | float | None
    hard: bool | None
    stop_early: bool | None
    law: str | float | None
    inference_tune: bool | None
    inference_check: bool | None
    good_at_detectors: str | float | None
    good_at_threshold: str | float | None
    draws: str | float | None
    head_epochs: int | None
    density: str | float | None
    components: str | float | None
    select: str | float | None
    through: str | float | None
    strength: str | float | None
    copies: str | float | None
    jaccard_threshold: str | float | None
    svd_rank: str | float | None
    svd_floor: str | float | None
    gdc_teleport: str | float | None
    gdc_neighbours: str | float | None
    epochs: int | None
    lr: str | float | None
    exponent_lr: str | float | None
    scalar_lr: str | float | None
    weight_decay: str | float | None
    lr_step: str | float | None
    keep: str | float | None
    patience: int | None
    class_weights: str | float | None
    batch_size: int | None
    batch_nodes: int | None
    fanout: str | float | None
    spec: str | os.PathLike[str] | None
    recipe: str
    random_state: Any
    n_jobs: int | None
    progress: bool | Progress
    def fit(self, graph: Any, y: Any = None, *, train_mask: Any = None, val_mask: Any = None, test_mask: Any = None) -> NodeClassifier: ...
    def predict(self, graph: Any) -> NDArray[Any]: ...
    def predict_proba(self, graph: Any) -> NDArray[np.float32]: ...
    def predict_exits(self, graph: Any) -> NDArray[np.int64] | None: ...
    def score(self, graph: Any, y: Any = None, *, mask: Any = None) -> float: ...
    def operator_matrix(self, graph: Any) -> Any: ...
    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> NodeClassifier: ...

class GraphClassifier(_Estimator):
    def __init__(
        self,
        model: str | None = None,
        *,
        features: str | None = None,
        operator: str | Choice | None = None,
        depth: str | Choice | None = None,
        weights: str | Choice | None = None,
        inference: str | Choice | None = None,
        augment: str | Choice | None = None,
        defense: str | Choice | None = None,
        hidden: int | None = None,
        layers: int | None = None,
        dropout: str | float | None = None,
        input_dropout: str | float | None = None,
        heads: int | None = None,
        attention_dropout: str | float | None = None,
        batch_norm: bool | None = None,
        propagation_steps: int | None = None,
        teleport: str | float | None = None,
        bias: bool | None = None,
        head: bool | None = None,
        orthogonal_start: bool | None = None,
        noise: str | float | None = None,
        gain: bool | None = None,
        level: str | float | None = None,
        readout: str | float | None = None,
        head_dropout: str | float | None = None,
        centrality: str | float | None = None,
        init: str | float | None = None,
        max_depth: str | float | None = None,
        policy: str | float | None = None,
        order: str | float | None = None,
        iterations: int | None = None,
        scaling: str | float | None = None,
        parseval_beta: str | float | None = None,
        inference_on: str | float | None = None,
        neighbours: str | float | None = None,
        updates: str | float | None = None,
        crf_sigma: str | float | None = None,
        radius: str | float | None = None,
        hard: bool | None = None,
        stop_early: bool | None = None,
        law: str | float | None = None,
        inference_tune: bool | None = None,
        inference_check: bool | None = None,
        good_at_detectors: str | float | None = None,
        good_at_threshold: str | float | None = None,
        draws: str | float | None = None,
        head_epochs: int | None = None,
        density: str | float | None = None,
        components: str | float | None = None,
        select: str | float | None = None,
        through: str | float | None = None,
        strength: str | float | None = None,
        copies: str | float | None = None,
        jaccard_threshold: str | float | None = None,
        svd_rank: str | float | None = None,
        svd_floor: str | float | None = None,
        gdc_teleport: str | float | None = None,
        gdc_neighbours: str | float | None = None,
        epochs: int | None = None,
        lr: str | float | None = None,
        exponent_lr: str | float | None = None,
        scalar_lr: str | float | None = None,
        weight_decay: str | float | None = None,
        lr_step: str | float | None = None,
        keep: str | float | None = None,
        patience: int | None = None,
        class_weights: str | float | None = None,
        batch_size: int | None = None,
        batch_nodes: int | None = None,
        fanout: str | float | None = None,
        spec: str | os.PathLike[str] | None = None,
        recipe: str = "default",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | Progress = False,
        validation_fraction: float = 0.1,
    ) -> None: ...
    model: str | None
    features: str | None
    operator: str | Choice | None
    depth: str | Choice | None
    weights: str | Choice | None
    inference: str | Choice | None
    augment: str | Choice | None
    defense: str | Choice | None
    hidden: int | None
    layers: int | None
    dropout: str | float | None
    input_dropout: str | float | None
    heads: int | None
    attention_dropout: str | float | None
    batch_norm: bool | None
    propagation_steps: int | None
    teleport: str | float | None
    bias: bool | None
    head: bool | None
    orthogonal_start: bool | None
    noise: str | float | None
    gain: bool | None
    level: str | float | None
    readout: str | float | None
    head_dropout: str | float | None
    centrality: str | float | None
    init: str | float | None
    max_depth: str | float | None
    policy: str | float | None
    order: str | float | None
    iterations: int | None
    scaling: str | float | None
    parseval_beta: str | float | None
    inference_on: str | float | None
    neighbours: str | float | None
    updates: str | float | None
    crf_sigma: str | float | None
    radius: str | float | None
    hard: bool | None
    stop_early: bool | None
    law: str | float | None
    inference_tune: bool | None
    inference_check: bool | None
    good_at_detectors: str | float | None
    good_at_threshold: str | float | None
    draws: str | float | None
    head_epochs: int | None
    density: str | float | None
    components: str | float | None
    select: str | float | None
    through: str | float | None
    strength: str | float | None
    copies: str | float | None
    jaccard_threshold: str | float | None
    svd_rank: str | float | None
    svd_floor: str | float | None
    gdc_teleport: str | float | None
    gdc_neighbours: str | float | None
    epochs: int | None
    lr: str | float | None
    exponent_lr: str | float | None
    scalar_lr: str | float | None
    weight_decay: str | float | None
    lr_step: str | float | None
    keep: str | float | None
    patience: int | None
    class_weights: str | float | None
    batch_size: int | None
    batch_nodes: int | None
    fanout: str | float | None
    spec: str | os.PathLike[str] | None
    recipe: str
    random_state: Any
    n_jobs: int | None
    progress: bool | Progress
    validation_fraction: float
    def fit(self, graphs: Any, y: Any = None, *, train: Any = None, val: Any = None, test: Any = None) -> GraphClassifier: ...
    def predict(self, graphs: Any) -> NDArray[Any]: ...
    def predict_proba(self, graphs: Any) -> NDArray[np.float32]: ...
    def score(self, graphs: Any, y: Any = None) -> float: ...
    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> GraphClassifier: ...
