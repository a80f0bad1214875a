"""MMD^2 of balanced clouds: right, or said to be uncertain, by every road; and warnings point at the caller."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

import heatess as he

GOLDEN = (1 + 5**0.5) / 2
ICOSAHEDRON = np.array([np.roll([0, a, b * GOLDEN], k) for a in (-1, 1) for b in (-1, 1) for k in range(3)]) / np.sqrt(
    1 + GOLDEN**2
)
CELL24 = np.array(
    [[*p] for p in itertools.product([-0.5, 0.5], repeat=4)] + [s * e for e in np.eye(4) for s in (-1, 1)]
)
LATTICE = 2 * np.pi / 3 * np.array(list(itertools.product(range(3), repeat=4)))


def mmd2_on_sphere(points: np.ndarray, time: float) -> float:
    """sum over degrees l >= 1, by the recurrence of zonal functions, at 120 digits."""
    with mp.workdps(120):
        exact = mp.matrix(points.tolist())
        for i in range(exact.rows):  # to unit length beyond double precision, and to exact symmetry
            norm = mp.sqrt(mp.fsum(exact[i, j] ** 2 for j in range(exact.cols)))
            for j in range(exact.cols):
                exact[i, j] /= norm
        m, n = exact.cols - 1, exact.rows
        cosines = [mp.fsum(exact[i, j] * exact[k, j] for j in range(m + 1)) for i in range(n) for k in range(n)]
        before, now = [mp.mpf(1)] * len(cosines), cosines
        total = mp.mpf(0)
        for degree in range(1, 40):
            size = mp.binomial(degree + m, m) - mp.binomial(degree + m - 2, m)
            total += size * mp.exp(-2 * degree * (degree + m - 1) * mp.mpf(time)) * mp.fsum(now) / n**2
            step = [
                ((2 * degree + m - 1) * u * p - degree * q) / (degree + m - 1)
                for u, p, q in zip(cosines, now, before, strict=True)
            ]
            before, now = now, step
        return float(total)


def right_or_said(road: Callable[[], he.HeatProfile | he.ProfilePoint], truth: float) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = float(np.ravel(road().mmd2)[0])
    said = [item for item in caught if issubclass(item.category, he.PrecisionWarning)]
    assert said or found == pytest.approx(truth, rel=1e-3)
    for item in said:
        assert item.filename == __file__, "a warning must point at the line that called heatess"


def roads(points: np.ndarray, space: he.Space, time: float) -> dict[str, Callable[[], object]]:
    def forced(method: str) -> Callable[[], object]:
        return lambda: he.heat_profile(points, space=space, times=[time], method=method)

    found = {"auto": forced("auto"), "pairwise": forced("pairwise")}
    found["at"] = lambda: he.heat_profile(points, space=space, times=[time / 9, time / 7]).at(time=time)
    if space.transform is not None:
        found["spectral"] = forced("spectral")
        state = he.Accumulator(space, max_degree=60).add(points[:5]).add(points[5:])
        found["accumulator"] = lambda: state.profile(times=[time])
    return found


@pytest.mark.parametrize("road", ["auto", "pairwise", "at", "spectral", "accumulator"])
@pytest.mark.parametrize("angle", [100.0, 250.0])
def test_an_icosahedron_is_right_or_said_to_be_uncertain(road, angle):
    time = float(np.radians(angle) ** 2 / 8)
    right_or_said(roads(ICOSAHEDRON, he.Sphere(2), time)[road], mmd2_on_sphere(ICOSAHEDRON, time))


@pytest.mark.parametrize("road", ["auto", "pairwise", "at", "spectral", "accumulator"])
def test_a_turned_icosahedron_does_not_cancel_exactly(road):
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    points = ICOSAHEDRON @ turn
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    time = float(np.radians(250) ** 2 / 8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        roads(points, he.Sphere(2), time)[road]()
    assert any(issubclass(item.category, he.PrecisionWarning) for item in caught)


@pytest.mark.parametrize("road", ["auto", "pairwise", "at", "spectral", "accumulator"])
def test_the_24_cell_is_right_or_said_to_be_uncertain(road):
    time = float(np.radians(150) ** 2 / 8)
    right_or_said(roads(CELL24, he.Sphere(3), time)[road], mmd2_on_sphere(CELL24, time))


@pytest.mark.parametrize("dim", [2, 3, 4])
@pytest.mark.parametrize("road", ["auto", "pairwise"])
def test_a_lattice_on_a_torus_is_right_or_said_to_be_uncertain(dim, road):
    points = np.unique(LATTICE[:, :dim], axis=0)
    for time in (1.0, 3.0):
        with mp.workdps(60):
            beyond = 2 * mp.fsum(mp.exp(-2 * (3 * k) ** 2 * mp.mpf(time)) for k in range(1, 9))
            truth = float(mp.expm1(dim * mp.log1p(beyond)))  # only multiples of three survive
        right_or_said(roads(points, he.Torus(dim), time)[road], truth)


def test_a_product_of_balanced_clouds_is_right_or_said_to_be_uncertain():
    circle = 2 * np.pi / 5 * np.arange(5)
    points = (np.repeat(ICOSAHEDRON, 5, axis=0), np.tile(circle, 12))
    space = he.Product(he.Sphere(2), he.Circle())
    time = 1.0
    ring = 2 * float(mp.fsum(mp.exp(-2 * (5 * k) ** 2 * mp.mpf(time)) for k in range(1, 9)))
    ball = mmd2_on_sphere(ICOSAHEDRON, time)
    for method in ("auto", "pairwise", "spectral"):
        right_or_said(
            lambda method=method: he.heat_profile(points, space=space, times=[time], method=method),
            ball + ring + ball * ring,
        )


def test_a_cluster_refuses_pairs_where_there_is_no_series():
    array = pytest.importorskip("dask.array")
    points = array.from_array(LATTICE[:9, 2:], chunks=(4, 2))
    with pytest.raises(he.InputError, match="cannot be profiled in parts"):
        he.heat_profile(points, space=he.Torus(2), times=[1.0], method="pairwise")


def test_a_cluster_is_right_or_says_so():
    array = pytest.importorskip("dask.array")
    time = float(np.radians(250) ** 2 / 8)
    parts = array.from_array(ICOSAHEDRON, chunks=(4, 3))
    truth = mmd2_on_sphere(ICOSAHEDRON, time)
    for method in ("auto", "pairwise"):
        right_or_said(lambda method=method: he.heat_profile(parts, times=[time], method=method), truth)


def test_gess_says_nothing_of_mmd2():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert he.gess(ICOSAHEDRON, angle=250) == pytest.approx(1, abs=1e-3)
        assert he.gess(LATTICE, space=he.Torus(4), time=3.0) == pytest.approx(1, abs=0.03)
        assert he.gess(CELL24, angle=150) == pytest.approx(1, abs=0.05)
