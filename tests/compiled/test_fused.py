"""One compiled loop for every product: against pairs one by one, for each kind of factor and at its awkward places."""

from __future__ import annotations

import math

import numpy as np
import pytest

import heatess as he
from heatess.heat.lookup import LOOKUP_ERROR, of_angle, of_gap, tabulated
from heatess.heat.radial import radial, radial_terms
from heatess.heat.series import overlap as series_overlap

N = 400  # more than `engines.pairs.FEW_ROWS`

PRODUCTS = [
    he.Product(he.Euclidean(3), he.Rotations()),
    he.Product(he.Euclidean(2), he.Circle(), metric_scales=(1, 0.4)),
    he.Product(he.Sphere(2), he.Projective(2), he.Circle(units="deg")),
    he.Product(he.Hyperbolic(3), he.Torus(2, periods=(1.0, 3.0))),
    he.Product(he.Euclidean(1), he.Product(he.Hyperbolic(2), he.Sphere(5)), metric_scales=(1.0, 2.0)),
]


def drawn(space, rng):
    """Points of one factor: spread, then near-duplicates of the first, then the farthest there are."""
    if isinstance(space, he.Product):
        return tuple(drawn(part, rng) for part in space.spaces)
    if isinstance(space, he.Euclidean | he.Hyperbolic):
        x = rng.standard_normal((N, space.dim))
        x[100:200] = x[:100] + 1e-7 * rng.standard_normal((100, space.dim))
        x[390:] *= 1e3
        return x if isinstance(space, he.Euclidean) else np.column_stack([np.sqrt(1 + (x**2).sum(axis=1)), x])
    x = space.uniform(N, rng)
    if isinstance(space, he.Torus):
        half = np.array(space.periods) / 2
        x[100:200] = x[:100] + 1e-7
        x[200:210], x[210:220] = half, -half + 1e-9  # on both sides of the seam
        x[220:230] = 0.0
        return x
    x[100:200] = x[:100] + 1e-7 * rng.standard_normal(x[:100].shape)
    x[200:300] = -x[:100] + 1e-9
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def overlaps(space, points, time):
    """s_t of all pairs, each factor from its distances by a table over these, the closed form or the integral."""
    if isinstance(space, he.Product):
        parts = zip(space.spaces, points, space.metric_scales, strict=True)
        return math.prod(overlaps(part, x, time / c**2) for part, x, c in parts)
    if isinstance(space, he.Torus) and space.dim > 1:
        circles = [he.Torus(1, periods=period) for period in space.periods]
        return math.prod(overlaps(circle, points[:, [j]], time) for j, circle in enumerate(circles))
    x = space.check(points)
    distances = space.distance(x[:, None], x[None])
    if isinstance(space, he.Euclidean):
        return np.exp(-(distances**2) / (8 * time))
    if isinstance(space, he.Hyperbolic):
        return space.pair_kernel.terms_at(distances)(time).overlap
    return radial_terms(radial(space.series, time), distances).overlap


@pytest.mark.parametrize("space", PRODUCTS, ids=repr)
@pytest.mark.slow
def test_the_loop_sums_what_pairs_one_by_one_do(space):
    rng = np.random.default_rng(5)
    points, w = drawn(space, rng), rng.random(N)
    w /= w.sum()
    times = np.array([1e-14, 1e-5, 0.003, 0.04, 0.3, 3.0, 30.0])
    profile = he.heat_profile(points, w, space=space, times=times, method="pairwise")
    for k, time in enumerate(times):
        s = overlaps(space, points, time)
        # Duplicates 1e-7 apart are told to EPS of a coordinate, so that overlaps at alpha = 3e-7 are to some 1e-9.
        assert abs(profile.gess[k] * (w @ s @ w) - 1) < profile.error[k]
        assert profile.error[k] < (1e-7 if time == times[0] else 1e-10)
    # The dimension is the slope, against one of differences.
    step = 1e-4
    near = he.heat_profile(points, w, space=space, times=times[3] * np.exp([-step, step]), method="pairwise").gess
    assert profile.dimension[3] == pytest.approx(-np.log(near[1] / near[0]) / step, rel=1e-6)


def test_mmd2_of_products_keeps_its_digits_where_nearly_all_is_uniform():
    space = he.Product(he.Sphere(2), he.Circle())
    points = space.uniform(N, np.random.default_rng(2))
    times = np.geomspace(0.2, 12, 8)  # MMD^2 down to 1e-12
    loop, fast = (he.heat_profile(points, space=space, times=times, method=how) for how in ("pairwise", "spectral"))
    np.testing.assert_allclose(loop.mmd2, fast.mmd2, rtol=1e-9)
    assert loop.mmd2[-1] < 1e-10


def test_potentials_of_products_come_from_the_same_loop():
    space = PRODUCTS[2]
    rng = np.random.default_rng(3)
    points, w = drawn(space, rng), rng.random(N)
    w /= w.sum()
    for time in (0.003, 0.3, 30.0):
        found = he.potential(points, w, space=space, time=time)
        np.testing.assert_allclose(found, overlaps(space, points, time) @ w, rtol=1e-10)


@pytest.mark.parametrize("time", [1e-9, 1e-3, 0.02, 0.05, 0.2, 1.0, 8.0])
def test_lookups_are_as_exact_as_they_say(time):
    for series in (he.Sphere(2).series, he.Rotations().series, he.Projective(4).series, he.Sphere(9).series):
        form = of_angle(series, time, False)
        r = np.linspace(0, min(series.diameter, 20 * math.sqrt(8 * time)), 1001)
        off = evaluated(form, np.sin(series.winding * r / 2) ** 2) - series_overlap(series, time, r)
        assert np.abs(off).max() < form.error + 2e-14
        assert form.error < 3 * LOOKUP_ERROR
    series = he.Circle().series
    r = np.linspace(0, math.pi, 4001)
    off = evaluated(of_gap(series, time, False), r**2) - series_overlap(series, time, r)
    assert np.abs(off).max() < 3e-14


def test_a_function_that_is_not_smooth_says_how_far_off_it_may_be():
    form = tabulated(lambda z: np.stack([np.abs(z - 0.317), z]), 0.1, 1.0)
    z = np.linspace(0, 1, 10_001)
    off = np.abs(evaluated(form, z) - np.abs(z - 0.317)).max()
    assert 1e-6 < off < form.error


def evaluated(form, z):
    """A lookup by its definition."""
    if form.rate:
        return np.exp(-form.rate * z)
    y = 1 + form.stretch * z
    octave = np.floor(np.log2(y))
    place = (y / 2**octave - 1) * 2**form.bits
    row = np.minimum(octave * 2**form.bits + np.floor(place), len(form.table) - 1).astype(int)
    powers = (place - np.floor(place) - 0.5)[:, None] ** np.arange(8)
    return np.where(z <= form.cut, (form.table[row, ::2] * powers).sum(axis=1), 0.0)
