"""The manifolds: one file a space; `base` is the contract."""

from .base import Space, ZonalSpace
from .sphere import Sphere

__all__ = ["Space", "Sphere", "ZonalSpace"]
