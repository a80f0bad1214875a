"""The manifolds: one file a space; `base` is the contract."""

import re

from ..errors import InputError
from .base import Space, ZonalSpace
from .sphere import Sphere

__all__ = ["Space", "Sphere", "ZonalSpace", "named"]


def named(name: str) -> Space:
    """The space whose repr is *name*, as it stands in files.

    >>> named("Sphere(2)")
    Sphere(2)
    """
    match = re.fullmatch(r"Sphere\((\d{1,6})\)", name)
    if match is None:
        raise InputError(f"unknown space {name!r}; this version of heatess knows Sphere(dim)")
    return Sphere(int(match[1]))
