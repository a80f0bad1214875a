"""Plain NumPy that bridges are compared with."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def overlaps_on_sphere(points, angle):
    """s_t(x, y) of unit vectors in space from Legendre polynomials; *angle* in degrees, not below 3."""
    levels, time = np.arange(400), np.radians(angle) ** 2 / 8
    terms = (2 * levels + 1) * np.exp(-2 * levels * (levels + 1) * time)
    return np.polynomial.legendre.legval(np.clip(points @ points.T, -1, 1), terms) / terms.sum()


def overlaps_on_circle(angles, angle):
    """s_t(x, y) of angles in radians from the Fourier series; *angle* in degrees, not below 1/2."""
    waves, time = np.arange(1, 2500), np.radians(angle) ** 2 / 8
    decay = np.exp(-2 * waves**2 * time)
    turns = np.subtract.outer(angles, angles)
    return (1 + 2 * sum(d * np.cos(k * turns) for k, d in zip(waves, decay, strict=True) if d > 1e-18)) / (
        1 + 2 * decay.sum()
    )


def gess(overlaps, weights=None):
    """1 / sum_ij w_i w_j s_t(x_i, x_j)."""
    shares = np.ones(len(overlaps)) if weights is None else np.asarray(weights, dtype=float)
    shares = shares / shares.sum()
    return 1 / (shares @ overlaps @ shares)


def gess_ratio(overlaps, weights):
    """gESS of weighted over equally weighted atoms."""
    return gess(overlaps, weights) / gess(overlaps)


def vectors(lon, lat):
    """Unit vectors from degrees."""
    lon, lat = np.radians(lon), np.radians(lat)
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def example(name: str) -> ModuleType:
    """A script in examples/ as a module; skipped where they are not part of the distribution."""
    path = EXAMPLES / f"{name}.py"
    if not path.is_file():
        pytest.skip("the examples are not in this distribution")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
