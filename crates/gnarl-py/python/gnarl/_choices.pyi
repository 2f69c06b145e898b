"""Made by stubs.py from the library's own lists."""

from typing import Any

from gnarl._axes import Choice, DefenseChoice, InferenceChoice

__all__ = ["CGSO", "ADMPST", "ADMPALM", "Orthonormal", "Parseval", "RobustCRF", "Smoothing", "CleanCRF", "GoodAt", "Retrain", "Gratin", "DropEdge", "DropNode", "FeatureMask", "Subgraph", "Submix", "Geomix", "ManifoldMixup", "Configuration", "GMixup", "Jaccard", "Svd", "Gdc"]

class CGSO(Choice):
    def __init__(self, *, centrality: Any = None, init: Any = None) -> None: ...
    centrality: Any
    init: Any

class ADMPST(Choice):
    def __init__(self, *, last: Any = None, policy: Any = None) -> None: ...
    last: Any
    policy: Any

class ADMPALM(Choice):
    def __init__(self, *, last: Any = None, policy: Any = None) -> None: ...
    last: Any
    policy: Any

class Orthonormal(Choice):
    def __init__(self, *, order: Any = None, iterations: Any = None, scaling: Any = None) -> None: ...
    order: Any
    iterations: Any
    scaling: Any

class Parseval(Choice):
    def __init__(self, *, beta: Any = None) -> None: ...
    beta: Any

class RobustCRF(InferenceChoice):
    def __init__(self, *, on: Any = None, neighbours: Any = None, updates: Any = None, sigma: Any = None, radius: Any = None, hard: Any = None, stop_early: Any = None, law: Any = None, tune: Any = None) -> None: ...
    on: Any
    neighbours: Any
    updates: Any
    sigma: Any
    radius: Any
    hard: Any
    stop_early: Any
    law: Any
    tune: Any

class Smoothing(InferenceChoice):
    def __init__(self, *, on: Any = None, neighbours: Any = None, radius: Any = None, hard: Any = None, tune: Any = None) -> None: ...
    on: Any
    neighbours: Any
    radius: Any
    hard: Any
    tune: Any

class CleanCRF(InferenceChoice):
    def __init__(self, *, on: Any = None, neighbours: Any = None, updates: Any = None, sigma: Any = None, hard: Any = None, stop_early: Any = None, tune: Any = None, check: Any = None) -> None: ...
    on: Any
    neighbours: Any
    updates: Any
    sigma: Any
    hard: Any
    stop_early: Any
    tune: Any
    check: Any

class GoodAt(InferenceChoice):
    def __init__(self, *, tune: Any = None, check: Any = None, detectors: Any = None, threshold: Any = None) -> None: ...
    tune: Any
    check: Any
    detectors: Any
    threshold: Any

class Retrain(Choice):
    def __init__(self, *, draws: Any = None, head_epochs: Any = None) -> None: ...
    draws: Any
    head_epochs: Any

class Gratin(Choice):
    def __init__(self, *, draws: Any = None, head_epochs: Any = None, density: Any = None, components: Any = None, select: Any = None, through: Any = None) -> None: ...
    draws: Any
    head_epochs: Any
    density: Any
    components: Any
    select: Any
    through: Any

class DropEdge(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class DropNode(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class FeatureMask(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class Subgraph(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class Submix(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class Geomix(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class ManifoldMixup(Choice):
    def __init__(self, *, strength: Any = None) -> None: ...
    strength: Any

class Configuration(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class GMixup(Choice):
    def __init__(self, *, strength: Any = None, copies: Any = None) -> None: ...
    strength: Any
    copies: Any

class Jaccard(DefenseChoice):
    def __init__(self, *, threshold: Any = None) -> None: ...
    threshold: Any

class Svd(DefenseChoice):
    def __init__(self, *, rank: Any = None, floor: Any = None) -> None: ...
    rank: Any
    floor: Any

class Gdc(DefenseChoice):
    def __init__(self, *, teleport: Any = None, neighbours: Any = None) -> None: ...
    teleport: Any
    neighbours: Any
