"""Transforms of our own, as `transforms.backend` asks for them."""

from __future__ import annotations

import numpy as np

from ..base.arrays import FloatArray
from . import nonuniform
from .nonuniform import synthesise as values
from .nonuniform.box import Box, Modes
from .rings import analyse as harmonics
from .rings import meridians

__all__ = ["harmonics", "meridians", "modes", "values"]


def modes(points: FloatArray, weights: FloatArray, box: Box) -> Modes:
    """Those of real weights."""
    found = nonuniform.analyse(points, weights, box)
    return np.conj(found, out=found)
