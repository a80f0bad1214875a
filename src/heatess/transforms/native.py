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
    """The conjugate of what conjugate weights have with the other sign."""
    found = nonuniform.analyse(points, np.conj(weights) if np.iscomplexobj(weights) else weights, box)
    return np.conj(found, out=found)
