"""Curved spaces and products pushed to where digits are lost: right, refused, or with an error that says so."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import heatess as he
from heatess.base.progress import Progress
from heatess.compiled.radial_tables import multiply
from heatess.engines import plan
from heatess.engines.base import Question
from heatess.engines.cosines import ERROR, CosineSums
from heatess.engines.pairs import SeparationOffer, TileOffer
from heatess.heat import theta
from heatess.heat.exact import difference_of_products
from heatess.heat.radial import radial, radial_error, radial_terms
from heatess.heat.series import SERIES_LIMIT, level_count, level_probabilities
from heatess.heat.spherical import SphereSeries
from heatess.spaces.capabilities import VectorEmbedding, ZonalPairs
from heatess.spaces.vectors import check_unit_vectors, unit_rows, vector_cosines, vector_distance

DIGITS = 400  # distances far out in hyperbolic space cancel to 1e-150 of x_0^2


def lifted(spatial: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sqrt(1 + (spatial**2).sum(axis=1)), spatial])


def far_cloud(dim: int, size: float) -> np.ndarray:
    """Points about *size* from the origin: some as close as rounding allows, some along a ray, some across."""
    rng = np.random.default_rng(dim)
    rows = []
    for _ in range(2):
        x = rng.normal(size=dim)
        x *= size / np.linalg.norm(x)
        for share in (0.0, 1e-15, 1e-12, 1e-8, 1e-4, 0.1):
            aside = rng.normal(size=dim)
            rows += [x + share * size * aside, x * (1 + share), x + share * aside, -x * (1 + share)]
    return lifted(np.unique(rows, axis=0))


def exact_distance(x: np.ndarray, y: np.ndarray) -> mp.mpf:
    with mp.workdps(DIGITS):
        left, right = ([mp.mpf(float(value)) for value in row[1:]] for row in (x, y))
        first, second = (mp.sqrt(1 + mp.fsum(v * v for v in row)) for row in (left, right))
        inner = mp.fsum(a * b for a, b in zip(left, right, strict=True))
        return 2 * mp.asinh(mp.sqrt(max(first * second - inner - 1, mp.mpf(0)) / 2))


def planar(r: mp.mpf, s: mp.mpf) -> mp.mpf:
    """The heat kernel of the hyperbolic plane but for factors that depend on s alone; with u = r + z^2."""

    def integrand(z: mp.mpf) -> mp.mpf:
        u = r + z * z
        below = 2 * mp.sinh((u + r) / 2) * mp.sinh(z * z / 2)
        return 2 * z * u * mp.exp(-u * u / (4 * s)) / mp.sqrt(below) if below else mp.mpf(0)

    end = mp.sqrt(min(mp.sqrt(r * r + 400 * s) - r, mp.mpf(200)))
    return mp.quad(integrand, [mp.mpf(0), end / 4, end / 2, end], method="gauss-legendre")


# Hyperbolic space far out.


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("size", [1.0, 33.0, 1e6, 1e8, 1e16, 1e30, 5e73])
def test_hyperbolic_distances_keep_their_digits_however_far_out(dim: int, size: float) -> None:
    space = he.Hyperbolic(dim)
    points = space.check(far_cloud(dim, size))
    measured = space.distance(points[:, None], points)
    compiled = 2 * np.arcsinh(np.sqrt(space.pair_kernel.separations(points, points)) / 2)
    for i in range(0, len(points), 5):
        truth = np.array([float(exact_distance(points[i], y)) for y in points])
        np.testing.assert_allclose(measured[i], truth, rtol=1e-15, atol=1e-90)
        np.testing.assert_allclose(compiled[i], truth, rtol=1e-15, atol=1e-90)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 1e6, 1e8, 1e16, 1e40])
@pytest.mark.parametrize("alpha", [1e-8, 1e-2, 1.0, 30.0])
def test_gess_far_out_in_hyperbolic_space_is_within_its_error(size: float, alpha: float) -> None:
    points, time = far_cloud(3, size), alpha**2 / 8
    with mp.workdps(50):
        overlaps = []
        for i, x in enumerate(points):
            for j, y in enumerate(points[: i + 1]):
                r = exact_distance(x, y)
                value = (r / mp.sinh(r) if r else mp.mpf(1)) * mp.exp(-(r**2) / (8 * mp.mpf(time)))
                overlaps.append(value if i == j else 2 * value)
        truth = len(points) ** 2 / mp.fsum(overlaps)
    found = he.heat_profile(points, space=he.Hyperbolic(3), times=[time], method="pairwise")
    assert abs(float(found.gess[0] / truth - 1)) <= found.error[0] <= 1e-11
    found = he.heat_profile(points, space=he.Hyperbolic(3), times=[time])  # by neighbours at fine scales
    assert abs(float(found.gess[0] / truth - 1)) <= found.error[0] <= 1e-8


@pytest.mark.parametrize("size", [1e6, 1e16])
def test_gess_far_out_in_the_hyperbolic_plane_is_within_its_error(size: float) -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(size=2)
    first *= size / np.linalg.norm(first)
    # Moved along the ray and across it by about one: across, a step of one is 1 / x_0 in the direction.
    rows = [
        first * math.exp(step) + np.array([-first[1], first[0]]) * aside / size**2
        for step, aside in rng.normal(size=(4, 2))
    ]
    points, times = lifted(np.array(rows)), np.array([0.1, 1.0]) ** 2 / 8 * 30
    found = he.heat_profile(points, space=he.Hyperbolic(2), times=times)
    with mp.workdps(30):
        for k, time in enumerate(times):
            s, total = 2 * mp.mpf(float(time)), mp.mpf(len(points))
            whole = planar(mp.mpf(0), s)
            for i, x in enumerate(points):
                for y in points[:i]:
                    r = exact_distance(x, y)
                    total += 2 * planar(r, s) / whole
            assert abs(float(found.gess[k] * total / len(points) ** 2 - 1)) <= found.error[k] <= 1e-11


@pytest.mark.parametrize("dim", [2, 3])
def test_all_pairs_far_out_by_bins_agree_with_pairs_one_by_one(dim: int) -> None:
    rng = np.random.default_rng(dim)
    base = 1e9 * rng.normal(size=(30, dim))
    rows = np.repeat(base, 40, axis=0) * np.exp(rng.normal(size=(1200, 1)))
    scales = {"space": he.Hyperbolic(dim), "times": np.array([0.1, 1.0, 10.0]) ** 2 / 8}
    fast = he.heat_profile(lifted(rows), **scales)
    slow = he.heat_profile(lifted(rows), **scales, rtol=1e-12)
    assert (fast.gess < 1000).all()
    np.testing.assert_allclose(fast.gess, slow.gess, rtol=1e-11)


def test_differences_of_products_are_right_to_the_last_digit() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500)) * 10.0 ** rng.integers(-20, 70, size=(2, 500))
    c = a * (1 + rng.integers(-3, 4, size=500) * 2.0**-52)
    d = b * (1 + rng.integers(-3, 4, size=500) * 2.0**-52)
    found = difference_of_products(a, b, c, d)
    with mp.workdps(80):
        truth = [float(mp.mpf(p) * mp.mpf(q) - mp.mpf(r) * mp.mpf(s)) for p, q, r, s in zip(a, b, c, d, strict=True)]
    np.testing.assert_allclose(found, truth, rtol=1e-15, atol=0)


# Products with close atoms on a curved factor.


def straight(points: np.ndarray, row: int, other: int) -> mp.mpf:
    return mp.sqrt(mp.fsum((mp.mpf(a) - mp.mpf(b)) ** 2 for a, b in zip(points[row], points[other], strict=True)))


def unit(row: np.ndarray) -> list[mp.mpc]:
    values = [mp.mpmathify(complex(value)) for value in row]
    norm = mp.sqrt(mp.fsum(abs(value) ** 2 for value in values))
    return [value / norm for value in values]


def between_vectors(points: np.ndarray, row: int, other: int) -> mp.mpf:
    """The angle between complex lines, and so between real ones and between close vectors."""
    x, y = unit(points[row]), unit(points[other])
    inner = mp.fsum(a * mp.conj(b) for a, b in zip(x, y, strict=True))
    turned = [b * inner / abs(inner) for b in y]
    return 2 * mp.asin(mp.sqrt(mp.fsum(abs(a - b) ** 2 for a, b in zip(x, turned, strict=True))) / 2)


def twice_between_vectors(points: np.ndarray, row: int, other: int) -> mp.mpf:
    return 2 * between_vectors(points, row, other)


def close_vectors(columns: int, step: float, rng: np.random.Generator, *, imaginary: bool = False) -> np.ndarray:
    x = rng.normal(size=columns) + step * rng.normal(size=(6, columns))
    if imaginary:
        x = x + 1j * (rng.normal(size=columns) + step * rng.normal(size=(6, columns)))
    # A little off unit length, so that they are corrected and rounded again.
    return x / np.linalg.norm(x, axis=1, keepdims=True) * (1 + 5e-7 * rng.uniform(-1, 1, size=(6, 1)))


def close_numbers(dim: int, step: float, rng: np.random.Generator) -> np.ndarray:
    return 3.1415926535 + 0.1 * rng.random(dim) + step * rng.normal(size=(6, dim))


CLOSE = {
    "pose": (
        lambda: he.Product(he.Euclidean(3), he.Rotations()),
        [
            (straight, lambda e, rng: e * rng.normal(size=(6, 3))),
            (twice_between_vectors, lambda e, rng: close_vectors(4, e / 2, rng)),
        ],
    ),
    "S2 x S1": (
        lambda: he.Product(he.Sphere(2), he.Sphere(1)),
        [
            (between_vectors, lambda e, rng: close_vectors(3, e, rng)),
            (between_vectors, lambda e, rng: close_vectors(2, e, rng)),
        ],
    ),
    "RP2 x R1": (
        lambda: he.Product(he.Projective(2), he.Euclidean(1)),
        [
            (between_vectors, lambda e, rng: close_vectors(3, e, rng)),
            (straight, lambda e, rng: e * rng.normal(size=(6, 1))),
        ],
    ),
    "CP2 x T2": (
        lambda: he.Product(he.ComplexProjective(2), he.Torus(2, periods=7.0)),
        [
            (between_vectors, lambda e, rng: close_vectors(3, e, rng, imaginary=True)),
            (straight, lambda e, rng: close_numbers(2, e, rng)),
        ],
    ),
    "CP1 x S9": (
        lambda: he.Product(he.ComplexProjective(1), he.Sphere(9)),
        [
            (between_vectors, lambda e, rng: close_vectors(2, e, rng, imaginary=True)),
            (between_vectors, lambda e, rng: close_vectors(10, e, rng)),
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSE)
@pytest.mark.parametrize("alpha", [1e-13, 1e-11, 1e-9])
def test_close_atoms_of_a_product_are_within_its_error(name: str, alpha: float) -> None:
    make, factors = CLOSE[name]
    space, time, ratios = make(), alpha**2 / 8, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = [draw(alpha * 10.0 ** rng.uniform(-0.5, 0.5), rng) for _, draw in factors]
        with mp.workdps(50):
            total = mp.mpf(0)
            for i in range(6):
                for j in range(6):
                    square = mp.fsum(own(part, i, j) ** 2 for (own, _), part in zip(factors, points, strict=True))
                    total += mp.exp(-square / (8 * mp.mpf(time)))  # flat to 1e-16 at such distances
            truth = 36 / total
        found = he.heat_profile(tuple(points), space=space, times=[time])
        ratios.append(float(abs(found.gess[0] / truth - 1)) / found.error[0])
        assert found.error[0] < 1e-13 / alpha + 2e-12
    assert max(ratios) <= 1


# Extreme lengths.


@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e12, 1e29])
@pytest.mark.parametrize("method", ["auto", "pairwise"])
def test_the_unit_of_length_changes_nothing(unit: float, method: str) -> None:
    rng = np.random.default_rng(0)
    times = np.array([1e-9, 1e-4, 0.02, 1.0])
    for dim in (1, 2, 4):
        x = rng.random((15, dim))
        plain = he.heat_profile(x, space=he.Torus(dim, periods=1.0), times=times, method=method)
        torus = he.Torus(dim, periods=unit)
        found = he.heat_profile(unit * x, space=torus, times=unit**2 * times, method=method)
        np.testing.assert_allclose(found.gess, plain.gess, rtol=1e-10)
        np.testing.assert_allclose(found.error, plain.error, rtol=0.2)  # that of tables is measured, with its rounding
        field = he.potential(unit * x, space=torus, time=unit**2 * 0.02)
        np.testing.assert_allclose(field, he.potential(x, space=he.Torus(dim, periods=1.0), time=0.02), rtol=1e-10)
    parts = he.Sphere(2).uniform(15, rng), rng.random((15, 1))
    factors = he.Sphere(2), he.Torus(1, periods=1.0)
    plain = he.heat_profile(parts, space=he.Product(*factors), times=times, method=method)
    found = he.heat_profile(
        parts, space=he.Product(*factors, metric_scales=(unit, unit)), times=unit**2 * times, method=method
    )
    np.testing.assert_allclose(found.gess, plain.gess, rtol=1e-10)
    np.testing.assert_allclose(found.error, plain.error, rtol=0.1)
    np.testing.assert_allclose(found.mmd2, plain.mmd2, rtol=1e-8)


def test_lengths_beyond_what_times_can_be_divided_by_are_refused() -> None:
    with pytest.raises(he.InputError, match=r"scales\[0\] is 1e-160 where Sphere\(2\) has lengths of 1; use another"):
        he.Product(he.Sphere(2), he.Circle(), metric_scales=(1e-160, 1))
    with pytest.raises(he.InputError, match=r"scales\[1\] is 1e\+20 where Torus\(1, periods=1e\+20\)"):
        he.Product(he.Sphere(2), he.Torus(1, periods=1e20), metric_scales=(1, 1e20))
    inner = he.Product(he.Sphere(2), he.Euclidean(1), metric_scales=(1, 1e-20))
    with pytest.raises(he.InputError, match=r"scales\[1\] is 1e-15"):
        he.Product(he.Sphere(2), inner, metric_scales=(1, 1e-15))
    with pytest.raises(he.InputError, match="1e-30 to 1e30"):
        he.Torus(2, periods=1e-31)


@pytest.mark.parametrize("time", [1e-200, 1e-80, 1e-20, 1e20, 1e80, 1e100])
def test_extreme_times_and_lengths_together_are_right(time: float) -> None:
    """Six atoms far apart or all in one place, as the time says."""
    rng = np.random.default_rng(0)
    for scales in [(1e-30, 1e29), (1e29, 1e-30), (1.0, 1.0)]:
        space = he.Product(he.Sphere(2), he.Torus(1, periods=5.0), metric_scales=scales)
        points = he.Sphere(2).uniform(6, rng), 5 * rng.random((6, 1))
        told_apart = any(time < 1e-4 * c**2 for c in scales)
        found = he.heat_profile(points, space=space, times=[time], method="pairwise")
        assert found.gess[0] == pytest.approx(6.0 if told_apart else 1.0, rel=1e-12)
        assert not np.isnan([found.mmd2[0], found.dimension[0], found.error[0], found.divergence[0]]).any()


# Where one expansion takes over from another.


def exact_circle(gap: float, time: float, period: float) -> mp.mpf:
    """k_2t of one coordinate, by Jacobi's theta function."""
    q = mp.exp(-2 * (2 * mp.pi / mp.mpf(period)) ** 2 * mp.mpf(time))
    return mp.jtheta(3, mp.pi * mp.mpf(gap) / mp.mpf(period), q)


@pytest.mark.parametrize("dim", [2, 3, 10, 100])
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999999, 1.000001, 1.1, 3.0])
def test_tori_of_many_dimensions_are_right_where_images_give_way_to_waves(dim: int, share: float) -> None:
    period = 3.0
    time = share * period**2 / (8 * math.pi)
    x = period * np.random.default_rng(dim).random((4, dim))
    x[1] = x[0] + period / 2  # as far apart as can be
    x[3] = x[2] + 0.05 * period
    space = he.Torus(dim, periods=period)
    found = he.heat_profile(x, space=space, times=[time], method="pairwise")
    with mp.workdps(40):
        own = exact_circle(0.0, time, period) ** dim
        checked = space.check(x)
        power = mp.fsum(
            mp.fprod(exact_circle(float(a) - float(b), time, period) for a, b in zip(left, right, strict=True))
            for left in checked
            for right in checked
        )
        assert abs(float(found.gess[0] * power / (16 * own) - 1)) <= found.error[0] <= 1e-13 * max(dim, 10)
        assert found.mmd2[0] == pytest.approx(float(power / 16 - 1), rel=1e-10)


@pytest.mark.parametrize("share", [0.2, 0.9, 0.999999, 1.0, 1.000001, 1.1, 5.0])
def test_the_theta_function_is_right_to_rounding(share: float) -> None:
    period = 2.5
    time = share * period**2 / (8 * math.pi)
    gaps = period * np.linspace(0, 0.5, 21)
    with mp.workdps(40):
        truth = [float(mp.log(exact_circle(float(gap), time, period))) for gap in gaps]
    np.testing.assert_allclose(theta.factor(gaps, time, period).log, truth, rtol=5e-16, atol=5e-16)


SERIES = [
    *(he.Sphere(m) for m in (1, 2, 3, 9, 100, 1000)),
    *(he.Projective(m) for m in (1, 2, 3, 9, 100)),
    *(he.ComplexProjective(n) for n in (1, 2, 3, 10, 100)),
    he.Rotations(),
    he.Torus(1, periods=24),
]


def seam(space: he.Space) -> float:
    """The time below which the series is too long, and the small-time expansion takes over."""
    low, high = -30.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        too_long = level_count(space.series, math.exp(middle), 1.0, 1e-15, SERIES_LIMIT) is None
        low, high = (middle, high) if too_long else (low, middle)
    return math.exp(high)


@pytest.mark.parametrize("space", SERIES, ids=repr)
def test_an_atom_overlaps_itself_by_one_at_every_time(space: he.Space) -> None:
    for share in (0.5, 0.999, 1.0, 1.001, 1.1, 1.3, 2.0, 30.0, 1e3, 1e5):
        form = radial(space.series, share * seam(space))
        terms = radial_terms(form, np.zeros(1))
        assert terms.overlap[0] == pytest.approx(1, abs=4e-15)
        assert abs(terms.change[0]) < 1e-14 * space.dim + 1e-14
        found = np.array([[1.0], [0.0], [0.0]])
        multiply(form, np.zeros(1), found)
        assert found[0, 0] == pytest.approx(1, abs=4e-15)


@pytest.mark.parametrize("share", [0.999, 1.001, 1.3, 20.0])
def test_a_line_and_a_number_are_within_the_error_of_their_product(share: float) -> None:
    space = he.Product(he.Projective(2), he.Euclidean(1))
    time = share * seam(he.Projective(2))
    with mp.workdps(40):
        # One line, twice, and two numbers: the overlap is exp(-1/4).
        truth = 2 / (1 + mp.exp(-mp.mpf(1) / 4))
        points = np.array([[0.6, 0.0, 0.8]] * 2), np.array([0.0, math.sqrt(2 * time)])
        found = he.heat_profile(points, space=space, times=[time])
        assert abs(float(found.gess[0] / truth - 1)) <= found.error[0] <= 1e-11


def zonal_sum(space: he.Space, time: float, r: float, count: int) -> mp.mpf:
    """k_2t at distance r on S^m, RP^m and SO(3), by the recurrence for cosines."""
    m, step, radius = space.series.dim, space.series.step, mp.mpf(space.series.radius)
    u, total, size = mp.cos(mp.mpf(r) / radius), mp.mpf(0), mp.mpf(1)
    now, after = mp.mpf(1), u
    for d in range(step * count):
        if d % step == 0:
            total += size * mp.exp(-2 * d * (d + m - 1) * mp.mpf(time) / radius**2) * now
        size *= mp.mpf(2 * d + m + 1) * (d + m - 1) / ((2 * d + m - 1) * (d + 1)) if d else m + 1
        now, after = after, ((2 * d + m + 1) * u * after - (d + 1) * now) / (d + m)
    return total


@pytest.mark.parametrize("space", [he.Sphere(2), he.Sphere(9), he.Projective(2), he.Rotations()], ids=repr)
@pytest.mark.parametrize("share", [0.999, 1.001, 30.0])
def test_tables_of_overlaps_are_right_on_both_sides_of_the_seam(space: he.Space, share: float) -> None:
    time = share * seam(space)
    r = math.sqrt(8 * time) * np.array([0.003, 0.3, 1.0, 2.5])
    count = (level_count(space.series, time, 1.0, 1e-15, SERIES_LIMIT) or SERIES_LIMIT) + 150
    with mp.workdps(30):
        own = zonal_sum(space, time, 0.0, count)
        truth = [float(zonal_sum(space, time, float(distance), count) / own) for distance in r]
    relative, absolute = radial_error(space.series, time)
    found = radial_terms(radial(space.series, time), r).overlap
    np.testing.assert_allclose(found, truth, rtol=relative + 1e-15, atol=absolute)


# Plans of products of many dimensions.


FACTORS = [
    *(he.Sphere(m) for m in (1, 2, 11, 13, 383, 1535)),
    *(he.Projective(m) for m in (2, 7, 1023)),
    *(he.ComplexProjective(n) for n in (1, 1023)),
    *(he.Rotations(), he.Torus(2), he.Torus(40), he.Euclidean(20), he.Hyperbolic(3)),
]


def two_points(space: he.Space) -> np.ndarray:
    rng = np.random.default_rng(0)
    if isinstance(space, he.Euclidean):
        return rng.normal(size=(2, space.dim))
    return lifted(rng.normal(size=(2, space.dim))) if isinstance(space, he.Hyperbolic) else space.uniform(2, rng)


@pytest.mark.parametrize("first", FACTORS, ids=repr)
@pytest.mark.slow
def test_plans_cost_a_number_of_seconds(first: he.Space) -> None:
    angles = np.radians(np.geomspace(5, 120, 60)) ** 2 / 8
    for second in FACTORS:
        space = he.Product(first, second)
        measure = he.Measure((two_points(first), two_points(second)), space=space)
        for times in (angles, *np.array([[1e-100], [1e-6], [1e-3], [0.1], [10.0], [1e60]])):
            for mmd2 in (True, False):
                steps, seconds = plan.plan(Question(measure, times, 1e-8, mmd2))
                assert 0 <= seconds < math.inf
                assert all(0 <= step.offer.seconds(step.part.start, step.part.stop) < math.inf for step in steps)


@pytest.mark.parametrize("other", [he.Torus(2), he.Circle()], ids=repr)
@pytest.mark.parametrize("dim", [11, 13, 383])
def test_default_scales_of_products_of_many_dimensions(dim: int, other: he.Space) -> None:
    space = he.Product(he.Sphere(dim), other)
    rng = np.random.default_rng(0)
    found = he.heat_profile(space.uniform(20, rng), space=space)
    assert (np.diff(found.gess) <= 1e-12 * 20).all()
    assert found.gess[0] <= 20
    assert (found.dimension >= -1e-10).all()
    assert (found.error < 1e-8).all()


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("time", [1.0, 100.0, 11_671.0, 1e8])
def test_close_pairs_of_hyperbolic_space_are_told_apart_in_bins_at_coarse_scales(dim: int, time: float) -> None:
    """Curvature keeps 1 - s_t above zero however large the time: bins once took r < 1e-6 sqrt(8 t) for zero."""
    rng = np.random.default_rng(0)
    x = 3e-5 * rng.normal(size=(40, dim))
    points = np.column_stack([np.sqrt(1 + (x**2).sum(axis=1)), x])
    measure = he.Measure(points, space=he.Hyperbolic(dim))
    question = Question(measure, np.array([time]), 1e-8)
    kernel = measure.space.pair_kernel
    assert kernel is not None
    bins, pairs = (
        kind(question, kernel).run(slice(None), Progress(False)).sums for kind in (SeparationOffer, TileOffer)
    )
    assert pairs.overlap[0] < 1
    assert bins.overlap[0] - 1 == pytest.approx(pairs.overlap[0] - 1, rel=1e-4)


# MMD^2 of balanced clouds, by every road.


GOLDEN = (1 + 5**0.5) / 2
ICOSAHEDRON = np.array([np.roll([0, a, b * GOLDEN], k) for a in (-1, 1) for b in (-1, 1) for k in range(3)])
CELL24 = np.vstack([np.array(list(itertools.product((-0.5, 0.5), repeat=4))), np.eye(4), -np.eye(4)])


def even(order: tuple[int, ...]) -> bool:
    return sum(order[i] > order[j] for i in range(4) for j in range(i + 1, 4)) % 2 == 0


def cell600() -> np.ndarray:
    """The 24-cell and all even permutations of (golden, 1, 1 / golden, 0) / 2 with any signs."""
    signed = [np.array([a * GOLDEN, b, c / GOLDEN, 0]) / 2 for a, b, c in itertools.product((-1, 1), repeat=3)]
    orders = [list(order) for order in itertools.permutations(range(4)) if even(order)]
    return np.vstack([CELL24, *([row[order] for row in signed] for order in orders)])


DESIGNS = {"icosahedron": ICOSAHEDRON, "24-cell": CELL24, "600-cell": cell600()}


def turned(points: np.ndarray) -> np.ndarray:
    """Turned at random, so that nothing cancels exactly."""
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(points.shape[1],) * 2))
    found = points @ turn
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def design_mmd2(points: np.ndarray, time: float) -> mp.mpf:
    """All vertices see the same distances, whose cosines are k/2, 1/sqrt 5, (sqrt 5 +- 1)/4 and their negatives."""
    m = points.shape[1] - 1
    root = mp.sqrt(5)
    known = [mp.mpf(k) / 2 for k in range(3)] + [1 / root, (root + 1) / 4, (root - 1) / 4]
    unit_points = points / np.linalg.norm(points, axis=1, keepdims=True)
    cosines = [
        min((s * c for c in known for s in (1, -1)), key=lambda c: abs(c - u)) for u in unit_points @ unit_points[0]
    ]
    before, now, total = [mp.mpf(1)] * len(cosines), cosines, mp.mpf(0)
    for d in range(1, 60):
        size = mp.binomial(d + m, m) - mp.binomial(d + m - 2, m)
        total += size * mp.exp(-2 * d * (d + m - 1) * mp.mpf(time)) * mp.fsum(now) / len(cosines)
        after = [((2 * d + m - 1) * u * p - d * q) / (d + m - 1) for u, p, q in zip(cosines, now, before, strict=True)]
        before, now = now, after
    return total


def lattice_mmd2(side: int, dim: int, time: float) -> mp.mpf:
    """Only waves whose numbers are multiples of the side survive."""
    own = 2 * mp.fsum(mp.exp(-2 * (side * k) ** 2 * mp.mpf(time)) for k in range(1, 40))
    return mp.expm1(dim * mp.log1p(own))


def rows_of(points: Any, rows: slice) -> Any:
    return tuple(part[rows] for part in points) if isinstance(points, tuple) else points[rows]


def by_every_road(points: Any, space: he.Space, time: float) -> dict[str, tuple[float, bool]]:
    """mmd2 and whether a warning came with it; roads that refuse the scale are left out."""

    def accumulated() -> he.HeatProfile:
        half = slice(0, 7), slice(7, None)
        state = he.Accumulator(space, max_degree=20)
        return state.add(rows_of(points, half[0])).add(rows_of(points, half[1])).profile(times=[time])

    at = {"space": space}
    roads: dict[str, Callable[[], Any]] = {
        method: partial(he.heat_profile, points, times=[time], method=method, **at)
        for method in ("auto", "spectral", "local", "pairwise")
    }
    roads["at"] = lambda: he.heat_profile(points, times=[time / 9, time / 7], **at).at(time=time)
    roads["at pairwise"] = lambda: he.heat_profile(points, times=[time, 2 * time], method="pairwise", **at).at(
        time=1.5 * time
    )
    roads["accumulator"] = accumulated
    found = {}
    for name, road in roads.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = float(np.ravel(road().mmd2)[0])
            except (he.InputError, he.PrecisionError):
                continue
        assert all(issubclass(item.category, he.PrecisionWarning) for item in caught)
        found[name] = value, bool(caught)
    assert {"auto", "pairwise"} <= found.keys()
    return found


def check_roads(points: Any, space: he.Space, time: float, truth: Callable[[float], mp.mpf]) -> None:
    with mp.workdps(60):
        exact = {scale: float(truth(scale)) for scale in (time, 1.5 * time)}
    for name, (value, said) in by_every_road(points, space, time).items():
        assert said or value == pytest.approx(exact[1.5 * time if name == "at pairwise" else time], rel=1e-3), name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        he.gess(points, space=space, time=time)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("time", [0.05, 0.4, 1.0, 3.0, 20.0])
def test_designs_are_right_or_said_to_be_uncertain(name: str, time: float) -> None:
    points = DESIGNS[name] / np.linalg.norm(DESIGNS[name], axis=1, keepdims=True)
    for cloud in (points, turned(points)):
        check_roads(cloud, he.Sphere(points.shape[1] - 1), time, partial(design_mmd2, points))


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("time", [0.05, 0.4, 1.0, 3.0, 20.0])
def test_lattices_are_right_or_said_to_be_uncertain(dim: int, time: float) -> None:
    shift = np.random.default_rng(dim).random(dim)
    for side in (8, 7, 4, 3)[dim - 1 :]:
        points = shift + 2 * np.pi / side * np.array(list(itertools.product(range(side), repeat=dim)))
        check_roads(points, he.Torus(dim), time, lambda scale, side=side: lattice_mmd2(side, dim, scale))


@pytest.mark.parametrize("time", [0.05, 0.4, 1.0, 3.0, 20.0])
def test_products_of_designs_are_right_or_said_to_be_uncertain(time: float) -> None:
    ball = turned(ICOSAHEDRON)

    def with_ring(scale: float) -> mp.mpf:
        return (1 + design_mmd2(ICOSAHEDRON, scale)) * (1 + lattice_mmd2(5, 1, scale)) - 1

    points = np.repeat(ball, 5, axis=0), np.tile(0.3 + 2 * np.pi / 5 * np.arange(5), 12)
    check_roads(points, he.Product(he.Sphere(2), he.Circle()), time, with_ring)
    points = np.repeat(ball, 12, axis=0), np.tile(ball, (12, 1))
    space = he.Product(he.Sphere(2), he.Sphere(2))
    check_roads(points, space, time, lambda scale: (1 + design_mmd2(ICOSAHEDRON, scale)) ** 2 - 1)


# Many dimensions, and many atoms.


@pytest.mark.parametrize("share", [0.85, 0.93, 0.999, 1.001])
def test_no_scale_is_refused_where_the_series_gives_way_in_many_dimensions(share: float) -> None:
    space = he.ComplexProjective(1023)
    time = share * seam(space)
    base = space.uniform(1, np.random.default_rng(0))[0]
    aside = space.uniform(1, np.random.default_rng(1))[0]
    aside = aside - np.vdot(base, aside) * base
    aside /= np.linalg.norm(aside)
    r = 0.7 * math.sqrt(8 * time)
    pair = np.stack([base, math.cos(r) * base + math.sin(r) * aside])
    found = he.heat_profile(pair, space=space, times=[time], rtol=1e-9)
    overlap = 2 / found.gess[0] - 1
    count = level_count(space.series, time, 1.0, 1e-15, 2 * SERIES_LIMIT)
    truth = level_probabilities(space.series, time, count) @ space.series.zonal(count, r)
    assert overlap == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize("space", [he.Sphere(383), he.Projective(383), he.ComplexProjective(383)], ids=repr)
def test_series_and_expansion_agree_in_many_dimensions(space: he.Space) -> None:
    for share in (1.001, 1.5):
        time = share * seam(space)
        small = space.series.small_time(time)
        r = np.linspace(0, small.reach, 30)
        tabulated = radial_terms(radial(space.series, time), r).overlap
        _, absolute = radial_error(space.series, time)
        np.testing.assert_allclose(np.exp(small.log_overlap(r * r)), tabulated, rtol=small.error, atol=absolute)


@pytest.mark.parametrize("n", [100, 3000])
def test_cosine_sums_are_as_good_as_they_say(n: int) -> None:
    """20,000 atoms that are all told apart have gESS to rtol=1e-8 only if sums over pairs are good to 5e-13."""
    angle = 2 * np.pi * np.random.default_rng(0).random(n)
    vectors = np.column_stack([np.cos(angle), np.sin(angle)])
    kernel = he.Sphere(1).pair_kernel
    sums = CosineSums(1000, n**2)
    cosines = kernel.cosines(vectors, vectors)
    np.fill_diagonal(cosines, 1.0)
    sums.add(cosines, np.full(n, 1 / n), np.full(n, 1 / n))
    exact = [abs(np.exp(1j * k * angle).mean()) ** 2 for k in range(1000)]
    np.testing.assert_allclose(sums.values(), exact, rtol=0, atol=ERROR)
    assert 20_000 * ERROR < 1e-8


@pytest.mark.parametrize("period", [1e-6, 1.0, 24.0, 1e6])
def test_pairs_on_a_circle_of_any_length_are_within_their_error(period: float) -> None:
    ratios = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        alpha = 0.02 * period / (2 * math.pi)
        x = period * 0.3 + alpha * rng.random(4)
        time = alpha**2 / 8
        found = he.heat_profile(x, space=he.Torus(1, periods=period), times=[time], method="pairwise")
        with mp.workdps(40):
            own = exact_circle(0.0, time, period)
            power = mp.fsum(exact_circle(float(a) - float(b), time, period) for a in x for b in x)
            ratios.append(abs(float(found.gess[0] * power / (16 * own) - 1)) / found.error[0])
        assert found.error[0] < 1e-9
    assert max(ratios) <= 1


class Globe(he.Space):
    """A sphere of some radius, as a user may define it."""

    angular, _dim = False, 2

    def __init__(self, radius: float) -> None:
        self.radius, self.series = radius, SphereSeries(2, radius=radius)
        self.pair_kernel = ZonalPairs(self.series, 3, rows=unit_rows, cosines=vector_cosines, distance=self.distance)
        self.embedding = VectorEmbedding(self.series, 3, unit_rows, radius=radius)

    def check(self, points: Any) -> np.ndarray:
        return check_unit_vectors(points, 3, "the globe")

    def distance(self, x: Any, y: Any) -> np.ndarray:
        return self.radius * vector_distance(x, y)


@pytest.mark.parametrize("radius", [1e-6, 6371.0, 1e9])
@pytest.mark.parametrize("method", ["auto", "pairwise"])
def test_close_atoms_on_a_sphere_of_any_radius_are_within_the_error(radius: float, method: str) -> None:
    alpha = 1e-9 * radius
    for seed in range(10):
        points = close_vectors(3, 1e-9, np.random.default_rng(seed))
        with mp.workdps(50):
            squares = [(radius * between_vectors(points, i, j)) ** 2 for i in range(6) for j in range(6)]
            truth = 36 / mp.fsum(mp.exp(-square / mp.mpf(alpha) ** 2) for square in squares)
        found = he.heat_profile(points, space=Globe(radius), times=[alpha**2 / 8], method=method)
        assert abs(float(found.gess[0] / truth - 1)) <= found.error[0] <= 1e-5
