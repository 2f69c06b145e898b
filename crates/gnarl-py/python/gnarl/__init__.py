"""Graph neural networks that hold up: the operator, the depth, the weights, the inference and the data.

>>> import gnarl
>>> karate = gnarl.load("karate")
>>> model = gnarl.NodeClassifier("gcn", operator="cgso", epochs=50).fit(karate)
>>> model.score(karate) > 0.5
True
"""

from gnarl._axes import Choice
from gnarl._choices import *  # noqa: F403
from gnarl._choices import __all__ as _choices
from gnarl._estimators import GraphClassifier, NodeClassifier, NotFittedError
from gnarl._gnarl import VERSION as __version__
from gnarl._gnarl import Density, Fitted, Graph, GraphSet
from gnarl._models import Attacked, Certificates, Defended, Robustness, attack, certify, robustness
from gnarl._parts import (
    barabasi_albert,
    centrality,
    communities,
    complete,
    configuration_model,
    csbm,
    cycle,
    datasets,
    density,
    describe,
    eigenpairs,
    erdos_renyi,
    gnm,
    gratin,
    grid,
    influence,
    load,
    modularity,
    operator,
    path,
    rewire,
    sbbam,
    sbm,
    spectrum,
    star,
)

__all__ = [
    "Attacked",
    "Certificates",
    "Choice",
    "Defended",
    "Density",
    "Fitted",
    "Graph",
    "GraphClassifier",
    "GraphSet",
    "NodeClassifier",
    "NotFittedError",
    "Robustness",
    "__version__",
    "attack",
    "barabasi_albert",
    "centrality",
    "certify",
    "communities",
    "complete",
    "configuration_model",
    "csbm",
    "cycle",
    "datasets",
    "density",
    "describe",
    "eigenpairs",
    "erdos_renyi",
    "gnm",
    "gratin",
    "grid",
    "influence",
    "load",
    "modularity",
    "operator",
    "path",
    "rewire",
    "robustness",
    "sbbam",
    "sbm",
    "spectrum",
    "star",
    *_choices,
]
