"""Types of arguments, for type checkers alone: nothing imports this module at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gnarl._estimators import GraphClassifier, NodeClassifier
from gnarl._gnarl import Fitted, Graph
from gnarl._models import Defended
from numpy.typing import ArrayLike

#: A graph in any form that :class:`gnarl.Graph` reads. Objects of other libraries have no type in common.
GraphLike: TypeAlias = Any
#: Graphs in any form that :class:`gnarl.GraphSet` reads.
GraphSetLike: TypeAlias = Any
#: A boolean mask, indices or a slice of nodes or graphs.
MaskLike: TypeAlias = ArrayLike | slice | range
#: A fitted model, a model with an inference rule, or a function from a graph to scores.
ModelLike: TypeAlias = NodeClassifier | GraphClassifier | Fitted | Defended | Callable[[Graph], Any]
#: A seed, or a generator of NumPy that gives one.
RandomState: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None
