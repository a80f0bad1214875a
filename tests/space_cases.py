"""Every space that heatess has, once, with a cloud on it: tests of what holds everywhere run over this list."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import heatess as he
import meshes


class Case(NamedTuple):
    """A space, how to draw points on it, and times from where most atoms are told apart to where few are."""

    name: str
    make: Callable[[], he.Space]
    finest: float = 0.1
    coarsest: float = 1.5
    scale: float = 1.0

    def space(self) -> he.Space:
        return _made(self)

    def times(self, count: int = 4) -> np.ndarray:
        """alpha = sqrt(8 t) from *finest* to *coarsest*, in units of *scale*."""
        return (self.scale * np.geomspace(self.finest, self.coarsest, count)) ** 2 / 8

    def points(self, n: int, rng: np.random.Generator) -> Any:
        return drawn(self.space(), n, rng)


@lru_cache(maxsize=64)
def _made(case: Case) -> he.Space:
    return case.make()


def drawn(space: he.Space, n: int, rng: np.random.Generator) -> Any:
    """*n* points; a normal cloud where there is no uniform law."""
    if isinstance(space, he.Product):
        return tuple(drawn(factor, n, rng) for factor in space.spaces)
    if isinstance(space, he.Euclidean):
        return rng.normal(size=(n, space.dim))
    if isinstance(space, he.Hyperbolic):
        x = rng.normal(size=(n, space.dim))
        return np.column_stack([np.sqrt(1 + np.sum(x**2, axis=1)), x])
    return space.uniform(n, rng)


def taken(points: Any, rows: Any) -> Any:
    """Some rows of points, in whatever form they are."""
    return tuple(part[rows] for part in points) if isinstance(points, tuple) else np.asarray(points)[rows]


def _ring(size: int = 60) -> he.Graph:
    ring = np.roll(np.eye(size), 1, axis=1)
    return he.Graph(ring + ring.T)


def _sphere_sample() -> he.PointCloud:
    return he.PointCloud(he.samplers.fibonacci(600))


#: Homogeneous spaces, where `error` is a bound and gESS is limited by ESS.
HOMOGENEOUS = [
    Case("Sphere(1)", lambda: he.Sphere(1)),
    Case("Sphere(2)", lambda: he.Sphere(2)),
    Case("Sphere(3)", lambda: he.Sphere(3)),
    Case("Sphere(9)", lambda: he.Sphere(9), finest=0.25),
    Case("Projective(1)", lambda: he.Projective(1)),
    Case("Projective(2)", lambda: he.Projective(2)),
    Case("Projective(3)", lambda: he.Projective(3), finest=0.2),
    Case("Projective(5)", lambda: he.Projective(5), finest=0.2),
    Case("ComplexProjective(1)", lambda: he.ComplexProjective(1)),
    Case("ComplexProjective(3)", lambda: he.ComplexProjective(3), finest=0.2),
    Case("Rotations", lambda: he.Rotations(), finest=0.2),
    Case("Rotations(O)", lambda: he.Rotations(symmetry="O"), finest=0.2),
    Case("Circle", lambda: he.Circle()),
    Case("day", lambda: he.Torus(1, periods=24), scale=4.0),
    Case("Torus(2)", lambda: he.Torus(2)),
    Case("box", lambda: he.Torus(2, periods=(1.0, 3.0)), scale=0.3),
    Case("Torus(3)", lambda: he.Torus(3), finest=0.3),
    Case("Torus(4)", lambda: he.Torus(4), finest=0.3),
    Case("Euclidean(1)", lambda: he.Euclidean(1)),
    Case("Euclidean(2)", lambda: he.Euclidean(2)),
    Case("Euclidean(3)", lambda: he.Euclidean(3)),
    Case("Euclidean(5)", lambda: he.Euclidean(5), finest=0.3),
    Case("Hyperbolic(2)", lambda: he.Hyperbolic(2)),
    Case("Hyperbolic(3)", lambda: he.Hyperbolic(3)),
    Case("S2 x S1", lambda: he.Product(he.Sphere(2), he.Sphere(1)), finest=0.4),
    Case("T2 x RP2", lambda: he.Product(he.Torus(2), he.Projective(2), metric_scales=(1, 0.5)), finest=0.6),
    Case("pose", lambda: he.Product(he.Euclidean(3), he.Rotations(), metric_scales=(1, 0.5)), finest=0.4),
]

_MESH = Case("Mesh", lambda: he.Mesh(*meshes.icosphere(3)), finest=0.5)

#: Spaces known by eigenpairs; meshes where the extra for them is installed.
DISCRETE = [
    *([_MESH] if find_spec("robust_laplacian") else []),
    Case("PointCloud", _sphere_sample, finest=0.6),
    Case("Graph", _ring, finest=1.0, coarsest=20.0),
]

EVERY = HOMOGENEOUS + DISCRETE


def named(cases: list[Case]) -> dict[str, Any]:
    """Arguments of `pytest.mark.parametrize` for some of the cases."""
    return {"argnames": "case", "argvalues": cases, "ids": [case.name for case in cases]}
