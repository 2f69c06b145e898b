"""The choices on each axis, one class each; what they are is in ``_axes``."""

from gnarl._axes import CHOICES

globals().update(CHOICES)
__all__ = list(CHOICES)
