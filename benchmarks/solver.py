"""Heat on very many nodes without eigenpairs, against a bare Lanczos run, and against closed forms."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import heatess as he
from heatess.engines.lanczos_runs import Power
from timing import Row, side_by_side, within

sys.path.append(str(Path(__file__).parent.parent / "tests"))

#: Atoms, scales, and how far apart the bounds on MMD^2 may be.
ATOMS, SCALES, WIDTH = 1000, 60, 1e-6


def heat_solver() -> Iterator[Row]:
    """Meshes and graphs of 10^5 to 10^6 nodes by Lanczos runs."""
    yield from _spheres()
    yield from _neighbours()
    yield _grid()
    yield _profile()


def _spheres() -> Iterator[Row]:
    from meshes import icosphere

    for level, coarsest in [(7, (120,)), (8, (40, 120))]:
        vertices, faces = icosphere(level)
        mesh, rng = he.Mesh(vertices, faces), np.random.default_rng(0)
        points, weights = _atoms(len(vertices), rng)
        for angle in coarsest:  # steps grow with the coarsest scale, in edges
            times = np.geomspace(3 * _edge(faces), np.radians(angle), SCALES) ** 2 / 8
            exact = he.heat_profile(vertices[points], weights, times=times).mmd2
            label = f"MMD^2 on {len(vertices):,} vertices, 60 scales to {angle} deg"
            yield _power(label, mesh, points, weights, times, exact)


def _neighbours() -> Iterator[Row]:
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(0)
    places = rng.normal(size=(100_000, 3))
    near = cKDTree(places).query(places, 9)[1][:, 1:]
    rows = np.repeat(np.arange(len(places)), 8)
    from scipy.sparse import coo_array

    links = coo_array((np.ones(rows.size), (rows, near.ravel())), shape=(len(places),) * 2).tocsr()
    graph = he.Graph(((links + links.T) > 0).astype(float))
    points, weights = _atoms(len(places), rng)
    yield _power("MMD^2 on a neighbour graph of 10^5 nodes", graph, points, weights, np.geomspace(0.05, 500, SCALES))


def _power(
    label: str, space: Any, points: np.ndarray, weights: np.ndarray, times: np.ndarray, exact: np.ndarray | None = None
) -> Row:
    """A - 1 at all scales from one run, against as many bare steps with one mass a node."""
    starts, flow = space.functionals(space.check(points)), space.flow
    shares, wanted = weights / weights.sum(), np.full(len(times), WIDTH)
    found = Power.of(flow, starts, shares, times, wanted)
    steps = len(found.run.tridiagonal[0])
    ours, bare = side_by_side(
        lambda: Power.of(flow, starts, shares, times, wanted), _bare(flow.matrix, starts.T @ shares, steps), rounds=2
    )
    accuracy = f"bounds within {found.bracket.width.max():.0e}"
    if exact is not None:
        away = np.exp(found.log_mmd2) / exact - 1
        accuracy += f", from the sphere by {np.abs(away[times > 10 * times[0]]).max():.0e} from 10 edges on"
    return within(f"{label} ({steps} steps; {accuracy})", "as many steps, bare, by scipy", ours, bare, 1.5)


def _bare(matrix: Any, start: np.ndarray, steps: int) -> Callable[[], object]:
    def run() -> object:
        x, before, beta, found = start / np.linalg.norm(start), np.zeros(len(start)), 0.0, []
        for _ in range(steps):
            y = matrix @ x
            y -= beta * before
            alpha = x @ y
            y -= alpha * x
            beta = np.linalg.norm(y)
            found.append((alpha, beta))
            y /= beta
            x, before = y, x
        return found

    return run


def _grid() -> Row:
    from test_flows import grid, grid_power

    side, rng = 1000, np.random.default_rng(10)
    graph = he.Graph(grid(side, side))
    points, weights = _atoms(side * side, rng)
    times = np.geomspace(0.5, 3e4, SCALES)
    profile, seconds = _timed(points, weights, graph, times)
    spread = np.zeros(side * side)
    spread[points] = weights / weights.sum()
    away = np.abs(profile.mmd2 / grid_power(spread.reshape(side, side), times) - 1).max()
    return within(f"profile on a grid of 10^6 nodes, MMD^2 off by {away:.0e}", "30 s", seconds, 30.0, 1.0)


def _profile() -> Row:
    from meshes import icosphere

    vertices, faces = icosphere(7)
    points, weights = _atoms(len(vertices), np.random.default_rng(11))
    times = np.geomspace(3 * _edge(faces), np.radians(120), SCALES) ** 2 / 8
    profile, seconds = _timed(points, weights, he.Mesh(vertices, faces), times)
    off = np.abs(profile.gess / he.heat_profile(vertices[points], weights, times=times).gess - 1)
    stated = "inside" if (off <= profile.error).all() else "NOT INSIDE"
    label = f"profile on 163,842 vertices, gESS off by {off.max():.1e}, {stated} its error"
    return within(label, "90 s", seconds, 90.0, 1.0)


def _timed(points: np.ndarray, weights: np.ndarray, space: Any, times: np.ndarray) -> tuple[he.HeatProfile, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # of gESS at coarse scales of the grid
        start = time.perf_counter()
        profile = he.heat_profile(points, weights, space=space, times=times)
        return profile, time.perf_counter() - start


def _atoms(nodes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.choice(nodes, ATOMS, replace=False), rng.exponential(size=ATOMS)


def _edge(faces: np.ndarray) -> float:
    """The side of as many equilateral triangles that cover the unit sphere."""
    return float(np.sqrt(4 * np.pi / len(faces) * 4 / np.sqrt(3)))
