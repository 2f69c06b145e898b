"""Classes of the choices on each axis; see ``_axes``."""

from gnarl._axes import CHOICES

globals().update(CHOICES)
__all__ = list(CHOICES)
