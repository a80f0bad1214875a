"""Transforms of our own against those of ducc0, in turns: `python benchmarks/backends.py`; a part of `make bench`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

import heatess as he
from timing import Row, side_by_side, within

ANGLES = np.geomspace(5, 120, 60)


def by(name: str, call: Callable[[], object]) -> Callable[[], object]:
    """The same call, with the backend that is named."""

    def run() -> object:
        before = os.environ.get("HEATESS_BACKEND")
        os.environ["HEATESS_BACKEND"] = name
        try:
            return call()
        finally:
            del os.environ["HEATESS_BACKEND"]
            if before is not None:
                os.environ["HEATESS_BACKEND"] = before

    return run


def compared(work: str, call: Callable[[], object], most: float, rounds: int) -> Row:
    """Ours against ducc0, which may be as much as *most* times faster."""
    ours, theirs = side_by_side(by("native", call), by("ducc", call), rounds=rounds)
    return within(f"{work}, native", "the same with ducc0", ours, theirs, most)


def profile(space: he.Space, n: int, finest: float) -> Callable[[], object]:
    """60 scales of uniform points, by the transform."""
    x, angles = space.uniform(n, np.random.default_rng(0)), np.geomspace(finest, 120, 60)
    return lambda: he.heat_profile(x, space=space, angles=angles, method="spectral")


def backends() -> Iterator[Row]:
    """Every kind of transform, by both."""
    rng = np.random.default_rng(0)
    x, w = he.samplers.uniform(1000, rng=rng), rng.random(1000)
    yield compared("gess at 15 degrees, n = 1000", lambda: he.gess(x, w, angle=15), 1.7, 1000)
    s2, s1, s3, so3 = he.Sphere(2), he.Sphere(1), he.Sphere(3), he.Rotations()
    yield compared("S^2 from 5 deg, n = 1000", profile(s2, 1000, 5), 2.0, 50)
    yield compared("S^2 from 5 deg, n = 10^5", profile(s2, 10**5, 5), 2.0, 15)
    yield compared("S^2 from 5 deg, n = 10^6", profile(s2, 10**6, 5), 1.4, 9)
    yield compared("S^2 from 1 deg, n = 10^6", profile(s2, 10**6, 1), 2.0, 5)
    y = s2.uniform(10**5, rng)
    yield compared("S^2, potentials at 5 deg, n = 10^5", lambda: he.potential(y, angle=5), 2.0, 5)
    yield compared("S^1 from 1 deg, n = 10^6", profile(s1, 10**6, 1), 2.0, 9)
    yield compared("S^3 from 10 deg, n = 10^5", profile(s3, 10**5, 10), 1.5, 5)
    yield compared("Rotations from 5 deg, n = 10^6", profile(so3, 10**6, 5), 1.5, 2)
    for dim in (1, 2, 3):
        work = f"T^{dim} from {8 if dim == 3 else 5} deg, n = 10^5"
        yield compared(work, profile(he.Torus(dim), 10**5, 8 if dim == 3 else 5), 2.0, 3)
    for dim, finest in ((2, 1e-3), (3, 1e-2)):
        cloud, times = rng.standard_normal((10**5, dim)), np.geomspace(finest, 1, 20)

        def box(cloud: np.ndarray = cloud, times: np.ndarray = times, dim: int = dim) -> object:
            return he.heat_profile(cloud, space=he.Euclidean(dim), times=times, method="spectral")

        yield compared(f"R^{dim}, a Gaussian cloud, n = 10^5", box, 2.0, 3)


if __name__ == "__main__":
    for row in backends():
        print(f"{row.work:45}  {row.shown(row.ours):>9}  {row.shown(row.theirs):>9}  {row.ratio:>14}  {row.verdict}")
