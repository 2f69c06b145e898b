"""NumPy as ``np``, imported when it is first used: it takes longer to import than everything else here together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Stands for the module until it is asked for something, and hands that on."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            # Found without coming here the next time.
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["np"]
