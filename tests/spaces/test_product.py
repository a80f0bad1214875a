"""Products: overlaps multiply, times scale, and every mixture of factors agrees with the definition."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import heatess as he
import reference_flat
from heatess.heat import series
from heatess.heat.sums import HeatSums
from heatess.spaces import capabilities, named
from heatess.transforms import harmonics
from reference import Exact


def relative(found: float, true: mp.mpf) -> float:
    return float(abs(mp.mpf(float(found)) / true - 1))


def lifted(spatial: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sqrt(1 + (spatial**2).sum(axis=1)), spatial])


def sphere_and_circle(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Duplicates (also modulo 2 pi), a pair 1e-6 apart, and skewed weights."""
    rng = np.random.default_rng(seed)
    x, a = he.Sphere(2).uniform(6, rng), rng.normal(size=6)
    beside = x[2] + 1e-6 * np.array([x[2, 1], -x[2, 0], 0.0])
    beside /= np.linalg.norm(beside)
    places = np.vstack([x, x[0], x[1], beside, x[3]])
    angles = np.concatenate([a, [a[0], a[1] + 2 * np.pi, a[2], a[3] + 1e-6]])
    return places, angles, np.exp(2 * rng.normal(size=len(angles)))


TIMES = np.square([0.03, 0.2, 1.0, 2.0, 6.0]) / 8


def coefficient_sums(space: he.Product, points: np.ndarray, shares: np.ndarray, times: np.ndarray) -> HeatSums:
    """Heat sums from coefficients to the degree that the finest of the times needs."""
    degree = space.transform.degree_for(float(times.min()), 1 / float(shares @ shares), 1e-8)
    assert degree is not None
    return space.transform.spectrum_of(points, shares, degree, 1e-12, 1e-8, 1).heat_sums(times)


@cache
def exact_sphere_and_circle(scales: tuple[float, float]) -> list[Exact]:
    places, angles, weights = sphere_and_circle(seed=1)
    exact = reference_flat.product(
        (reference_flat.sphere2(560), slice(0, 3), scales[0]),
        (reference_flat.torus([2 * math.pi]), slice(3, 4), scales[1]),
    )
    return reference_flat.profile(exact, np.column_stack([places, angles]), weights, TIMES)


@pytest.mark.slow
@pytest.mark.parametrize("scales", [(1, 1), (1.0, 2.5)])
@pytest.mark.parametrize(("method", "finest"), [("pairwise", 0), ("spectral", 1)])
def test_sphere_times_circle_matches_forty_digits(scales: tuple[float, float], method: str, finest: int) -> None:
    places, angles, weights = sphere_and_circle(seed=1)
    space = he.Product(he.Sphere(2), he.Circle(), metric_scales=scales)
    profile = he.heat_profile((places, angles), weights, space=space, times=TIMES[finest:], method=method)
    assert profile.method == method
    for k, row in enumerate(exact_sphere_and_circle(scales)[finest:]):
        assert relative(profile.gess[k], row.gess) <= min(1e-8, profile.error[k])
        assert relative(profile.mmd2[k], row.mmd2) < 1e-8
        assert relative(profile.divergence[k], row.divergence) < 1e-8


@pytest.mark.parametrize("angle", [60, 25])
@pytest.mark.parametrize(
    "space",
    [
        he.Product(he.Sphere(2), he.Circle()),
        he.Product(he.Sphere(2), he.Projective(2), metric_scales=(1, 2)),
        he.Product(he.Torus(2), he.Sphere(2), metric_scales=(0.7, 1)),
        he.Product(he.Rotations(), he.Circle()),
        he.Product(he.Sphere(1), he.Sphere(1)),
        he.Product(he.Projective(1), he.Sphere(3)),
        he.Product(he.Sphere(2), he.Circle(), he.Projective(1), metric_scales=(1, 1, 2)),
        he.Product(
            he.Product(he.Sphere(2), he.Circle(), metric_scales=(2, 1)),
            he.Torus(1, periods=24),
            metric_scales=(0.5, 0.1),
        ),
        he.Product(he.Projective(4), he.Circle()),
    ],
    ids=repr,
)
def test_coefficients_and_pairs_agree(space: he.Product, angle: float) -> None:
    rng = np.random.default_rng(9)
    points, weights = space.check(space.uniform(60, rng)), np.exp(rng.normal(size=60))
    points[1] = points[0]
    times = np.square(np.radians([angle, 1.5 * angle, 6 * angle])) / 8
    shares = weights / weights.sum()
    sums = coefficient_sums(space, points, shares, times)
    pairs = he.heat_profile(points, weights, space=space, times=times, method="pairwise")
    assert (np.abs(sums.overlap * pairs.gess - 1) <= sums.error + pairs.error).all()
    assert (sums.error < 1e-9).all()
    np.testing.assert_allclose(np.exp(sums.log_mmd2), pairs.mmd2, rtol=1e-9)
    np.testing.assert_allclose(2 * sums.slope, pairs.dimension, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "space",
    [
        he.Product(he.Sphere(2), he.Circle(), metric_scales=(1, 0.7)),
        he.Product(he.Rotations(), he.Sphere(1)),
        he.Product(he.Sphere(1), he.Sphere(3), metric_scales=(1, 0.7)),
        he.Product(he.Projective(1), he.Projective(2), he.Torus(1, periods=5)),
        he.Product(he.Projective(3), he.Projective(1), metric_scales=(0.5, 1)),
    ],
    ids=repr,
)
def test_fast_transforms_give_the_energies_of_the_matrix_product(space: he.Product) -> None:
    rng = np.random.default_rng(14)
    points, weights = space.check(space.uniform(40, rng)), rng.random(40) / 20
    factors = list(space.harmonics)
    assert factors
    limit = 70.5
    coefficients = harmonics.product_coefficients(factors, limit, points, weights)
    assert len(coefficients) == harmonics.coefficient_size(factors, limit)
    direct = harmonics.energies(factors, limit, coefficients).within(0, limit)
    for place, factor in enumerate(factors):
        assert factor.transform is not None
        others = factors[:place] + factors[place + 1 :]
        fast = harmonics.transformed(factor, factor.transform, others, limit, points, weights, 1e-12)
        for time in (0.01, 0.05, 0.3):
            one, other = (e.values @ np.exp(-2 * time * e.eigenvalues) for e in (direct, fast))
            assert one == pytest.approx(other, rel=1e-11)
        assert len(fast.values) == len(direct.values)
        assert fast.multiplicities.sum() == direct.multiplicities.sum()


@pytest.mark.parametrize(("space", "count"), [(he.Sphere(2), 160), (he.Sphere(3), 20), (he.Sphere(6), 5)], ids=repr)
def test_harmonics_obey_the_addition_theorem(space: he.Sphere, count: int) -> None:
    """Their sums of products over a degree are N_l P_l(cos d), whatever the basis, if it is orthonormal."""
    x = np.vstack([space.uniform(20, np.random.default_rng(10)), np.eye(space.dim + 1), -np.eye(space.dim + 1)])
    values = harmonics.spherical(np.ascontiguousarray(x.T), count)
    zonal = space.series.zonal(count, space.distance(x[:, None], x[None]))
    start = 0
    for degree in range(count):
        size = harmonics.multiplicity(space.dim, degree)
        level = values[start : start + size]
        np.testing.assert_allclose(level.T @ level / size, zonal[degree], atol=1e-12)
        start += size
    assert start == len(values)


def test_rotations_are_even_harmonics_of_quaternions() -> None:
    space = he.Rotations()
    x = space.check(space.uniform(20, np.random.default_rng(11)))
    values = harmonics.spherical(np.ascontiguousarray(x.T), 9, 2)
    zonal = space.series.zonal(9, space.distance(x[:, None], x[None]))
    start = 0
    for degree in range(9):
        level = values[start : start + (2 * degree + 1) ** 2]
        np.testing.assert_allclose(level.T @ level / len(level), zonal[degree], atol=1e-13)
        start += len(level)


@pytest.mark.parametrize("time", [1e-150, 1e-9, 2e-5, 1e-3, 0.05, 1.0, 40.0])
@pytest.mark.parametrize(
    "space",
    [
        he.Product(he.Sphere(2), he.Circle()),
        he.Product(he.Euclidean(3), he.Rotations(), metric_scales=(1, 0.5)),
        he.Product(he.Torus(2, periods=(1, 24)), he.Projective(2), metric_scales=(2, 1)),
        he.Product(
            he.Hyperbolic(2), he.Product(he.Circle(), he.Sphere(40), metric_scales=(1, 3)), metric_scales=(2, 0.5)
        ),
    ],
    ids=repr,
)
def test_compiled_loops_agree_with_array_passes(
    space: he.Product, time: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(12)
    flat = space.check(tuple(_some(factor, 120, rng) for factor in space.spaces))
    near = flat[60:].copy()
    near[:20] = flat[:20]
    left, right = flat[:60], near
    found = []
    for many in (math.inf, 0):
        monkeypatch.setattr(capabilities, "MANY_PAIRS", many)
        found.append(space.pair_kernel.terms(left, right)(time))
    arrays, loops = found
    np.testing.assert_allclose(loops.overlap, arrays.overlap, rtol=1e-12, atol=2e-14)
    np.testing.assert_allclose(loops.change, arrays.change, rtol=1e-11, atol=1e-12)
    if space.compact:
        assert arrays.excess is not None
        assert loops.excess is not None
        np.testing.assert_allclose(loops.excess, arrays.excess, rtol=1e-11, atol=1e-12 * float(arrays.excess.max()))


def _some(space: he.spaces.Space, n: int, rng: np.random.Generator) -> Any:
    if isinstance(space, he.Euclidean):
        return rng.normal(size=(n, space.dim))
    return lifted(rng.normal(size=(n, space.dim))) if isinstance(space, he.Hyperbolic) else space.uniform(n, rng)


def test_many_pairs_agree_with_coefficients() -> None:
    rng = np.random.default_rng(13)
    space = he.Product(he.Sphere(2), he.Circle(), metric_scales=(1, 0.8))
    points, weights = space.uniform(700, rng), rng.random(700)
    by_pairs, by_levels = (
        he.heat_profile(points, weights, space=space, angles=[20, 50, 120, 400], method=method)
        for method in ("pairwise", "spectral")
    )
    assert (np.abs(by_pairs.gess / by_levels.gess - 1) <= by_pairs.error + by_levels.error).all()
    np.testing.assert_allclose(by_pairs.mmd2, by_levels.mmd2, rtol=1e-9)
    assert he.heat_profile(points, weights, space=space, angles=[50, 120]).method == "spectral"


def test_a_grid_that_is_too_even_for_floating_point_is_said_so() -> None:
    """Octahedron times a regular 12-gon: all energies below eigenvalue 20 vanish, and what is left is rounding."""
    corners = np.vstack([np.eye(3), -np.eye(3)])
    angles = 2 * np.pi * np.arange(12) / 12
    points = (np.repeat(corners, 12, axis=0), np.tile(angles, 6))
    space = he.Product(he.Sphere(2), he.Circle())
    with pytest.warns(he.PrecisionWarning, match="more balanced than floating-point sums can certify") as caught:
        profile = he.heat_profile(points, space=space, times=[2.0], method="spectral")
    assert caught[0].filename == __file__
    assert profile.gess[0] == pytest.approx(
        math.exp(float(space.pair_kernel.log_diagonal(np.array([2.0]))[0])), rel=1e-12
    )
    even = he.heat_profile(points, space=space, times=[0.1], method="spectral")  # degree 4 alone, energy 9 * 7/12
    assert even.mmd2[0] == pytest.approx(9 * 7 / 12 * math.exp(-4), rel=1e-2)


@pytest.mark.parametrize("time", [20.0, 400.0, 1e50])
def test_large_scales_rest_on_the_lowest_energies(time: float) -> None:
    """MMD^2 = 3 |mean of x|^2 exp(-4t) + 2 |mean of exp(i a)|^2 exp(-2t) + smaller terms, far below underflow too."""
    rng = np.random.default_rng(15)
    space = he.Product(he.Sphere(2), he.Circle())
    points = space.check(space.uniform(50, rng))
    sums = coefficient_sums(space, points, np.full(50, 0.02), np.array([time]))
    around = 2 * abs(np.exp(1j * points[:, 3]).mean()) ** 2
    assert sums.log_mmd2[0] == pytest.approx(math.log(around) - 2 * time, rel=1e-14)
    assert sums.overlap[0] == pytest.approx(1.0, abs=1e-15)


def test_a_coefficient_box_too_large_is_left_to_pairs() -> None:
    space = he.Product(he.Sphere(2), he.Sphere(2))
    assert space.transform.degree_for(float(np.radians(0.5) ** 2 / 8), 1e5, 1e-8) is None
    degree = space.transform.degree_for(float(np.radians(60) ** 2 / 8), 1e5, 1e-8)
    assert degree is not None
    assert space.transform.seconds(10**5, degree) < space.pair_kernel.seconds(0.5 * 10**10, 2)
    poses = he.Product(he.Euclidean(3), he.Rotations())
    assert poses.transform is None
    points = (np.zeros((3, 3)), np.eye(4)[:3])
    with pytest.raises(he.InputError, match="no fast transform"):
        he.heat_profile(points, space=poses, times=[1.0], method="spectral")


def test_products_are_known_by_name() -> None:
    for space in (
        he.Product(he.Euclidean(3), he.Rotations(), metric_scales=(1, 0.5)),
        he.Product(he.Product(he.Sphere(2), he.Circle()), he.Torus(2, periods=(1, 24)), metric_scales=(0.1, 2)),
    ):
        assert named(repr(space)) == space
    with pytest.raises(he.InputError, match=r"unknown space 'Product\(Sphere\(2\), Mesh\(3\)\)'"):
        named("Product(Sphere(2), Mesh(3))")


@pytest.mark.parametrize("time", [1e-13, 1e-9, 2e-5, 1e-3, 0.05, 1.0])
@pytest.mark.parametrize("dim", [1, 2, 3, 9])
def test_zonal_overlaps_of_tiles_match_the_kernel(dim: int, time: float) -> None:
    rng = np.random.default_rng(dim)
    space = he.Sphere(dim)
    x = space.uniform(40, rng)
    near = x + 0.5 * math.sqrt(8 * time) * rng.normal(size=x.shape) / math.sqrt(dim)
    y = np.vstack([x[:5], near / np.linalg.norm(near, axis=1, keepdims=True)])
    terms = space.pair_kernel.terms(x, y)(time)
    r = space.distance(x[:, None], y[None])
    np.testing.assert_allclose(terms.overlap, series.overlap(space.series, time, r), atol=3e-14, rtol=1e-11)
    step = 1e-4
    above, below = (series.overlap(space.series, time * math.exp(h), r) for h in (step, -step))
    np.testing.assert_allclose(terms.change, (above - below) / (2 * step), atol=2e-7)
    diagonal = math.exp(series.log_diagonal(space.series, time))
    assert terms.excess is not None
    np.testing.assert_allclose(terms.excess, diagonal * terms.overlap - 1, atol=1e-11 * diagonal)


def test_a_single_zonal_factor_among_points_gives_its_own_profile() -> None:
    rng = np.random.default_rng(3)
    x, weights = he.Sphere(4).uniform(120, rng), rng.random(120)
    still = np.zeros((120, 2))
    times = [0.001, 0.05, 0.3]
    alone = he.heat_profile(x, weights, times=times)
    space = he.Product(he.Sphere(4), he.Euclidean(2))
    profile = he.heat_profile((x, still), weights, space=space, times=times)
    np.testing.assert_allclose(profile.gess, alone.gess, rtol=1e-10)
    np.testing.assert_allclose(profile.dimension, alone.dimension, rtol=1e-8)
    assert np.isnan(profile.mmd2).all()


def test_overlaps_multiply() -> None:
    rng = np.random.default_rng(4)
    x, angle, flat, curved = (
        he.Sphere(2).uniform(2, rng),
        rng.normal(size=(2, 1)),
        rng.normal(size=(2, 3)),
        lifted(rng.normal(size=(2, 2))),
    )
    factors = [(he.Sphere(2), x), (he.Circle(), angle), (he.Euclidean(3), flat), (he.Hyperbolic(2), curved)]
    scales = (1.0, 0.5, 2.0, 3.0)
    time = 0.4
    overlaps = [
        2 / he.gess(part, space=space, time=time / c**2) - 1 for (space, part), c in zip(factors, scales, strict=True)
    ]
    space = he.Product(*(space for space, _ in factors), metric_scales=scales)
    points = tuple(part for _, part in factors)
    assert 2 / he.gess(points, space=space, time=time) - 1 == pytest.approx(math.prod(overlaps), rel=1e-9)
    own = [space.distance(part[0], part[1]) for space, part in factors]
    expected = math.hypot(*(c * float(d) for c, d in zip(scales, own, strict=True)))
    checked = space.check(points)
    assert float(space.distance(checked[0], checked[1])) == pytest.approx(expected, rel=1e-14)
    assert float(space.distance([p[0] for p in points], [p[1] for p in points])) == pytest.approx(expected, rel=1e-14)


def test_a_torus_is_a_product_of_circles() -> None:
    rng = np.random.default_rng(5)
    x, weights = rng.normal(size=(300, 2)), rng.random(300)
    angles = [3, 20, 90, 300]
    torus = he.heat_profile(x, weights, space=he.Torus(2), angles=angles)
    space = he.Product(he.Circle(), he.Circle())
    pair = he.heat_profile((x[:, 0], x[:, 1]), weights, space=space, angles=angles)
    arrows = np.stack([np.cos(x[:, 0]), np.sin(x[:, 0])], axis=1)
    mixed = he.heat_profile((arrows, x[:, 1]), weights, space=he.Product(he.Sphere(1), he.Circle()), angles=angles)
    long = he.heat_profile(
        (x[:, :1], 3 * x[:, 1:]),
        weights,
        space=he.Product(he.Circle(), he.Torus(1, periods=6 * np.pi), metric_scales=(1, 1 / 3)),
        times=torus.times,
    )
    for other in (pair, mixed, long):
        for name in ("gess", "mmd2", "divergence", "volume"):
            np.testing.assert_allclose(getattr(other, name), getattr(torus, name), rtol=1e-9)
        np.testing.assert_allclose(other.dimension, torus.dimension, rtol=1e-8, atol=1e-10)


def test_poses_with_rotations() -> None:
    rotations = getattr(he, "Rotations", None)
    if rotations is None:
        pytest.skip("no rotations in this build")
    rng = np.random.default_rng(6)
    turns = rotations().uniform(50, rng)
    still = np.zeros((50, 3))
    space = he.Product(he.Euclidean(3), rotations(), metric_scales=(1, 0.5))
    poses = he.heat_profile((still, turns), space=space, times=[0.01, 0.1])
    alone = he.heat_profile(turns, space=rotations(), times=[0.04, 0.4])
    np.testing.assert_allclose(poses.gess, alone.gess, rtol=1e-9)


def test_high_dimensional_factors_do_not_overflow() -> None:
    rng = np.random.default_rng(7)
    x, angle = he.Sphere(383).uniform(30, rng), rng.normal(size=30)
    space = he.Product(he.Sphere(383), he.Circle())
    profile = he.heat_profile((x, angle), space=space, times=[1e-4, 3e-3])
    assert np.isfinite(profile.divergence).all()
    own = sum(series.log_diagonal(factor.series, 3e-3) for factor in space.spaces)
    assert profile.divergence[1] == pytest.approx(own - math.log(profile.gess[1]), rel=1e-12)


def test_a_product_knows_its_geometry() -> None:
    space = he.Product(he.Sphere(2), he.Torus(2), metric_scales=(2, 1))
    assert space.dim == 4
    assert space.angular
    assert space.volume == pytest.approx(4 * 4 * np.pi * 4 * np.pi**2)
    assert space.diameter == pytest.approx(math.hypot(2 * np.pi, np.pi * math.sqrt(2)))
    assert space.scalar_curvature == pytest.approx(0.5)
    assert repr(space) == "Product(Sphere(2), Torus(2), metric_scales=(2.0, 1.0))"
    assert space == he.Product(he.Sphere(2), he.Torus(2), metric_scales=(2, 1))
    points = space.uniform(10, np.random.default_rng(0))
    again = space.check(space.check(points))
    assert again.shape == (10, 5)
    poses = he.Product(he.Euclidean(3), he.Circle())
    assert repr(poses) == "Product(Euclidean(3), Circle()) [infinite volume: gESS only]"
    assert not poses.angular
    nested = he.Product(space, he.Circle())
    whole = he.heat_profile((points, np.arange(10.0)), space=nested, angles=[20])
    flat = he.heat_profile(
        (*points, np.arange(10.0)),
        space=he.Product(he.Sphere(2), he.Torus(2), he.Circle(), metric_scales=(2, 1, 1)),
        angles=[20],
    )
    np.testing.assert_allclose(whole.gess, flat.gess, rtol=1e-12)


def test_bad_input_is_refused_with_the_factor() -> None:
    space = he.Product(he.Sphere(2), he.Circle())
    x = he.samplers.fibonacci(4)
    with pytest.raises(he.InputError, match="two or more"):
        he.Product(he.Sphere(2))
    with pytest.raises(he.InputError, match="factor 1 of a Product must be"):
        he.Product(he.Sphere(2), 3)  # type: ignore[arg-type]
    ring = he.Graph(np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0))
    with pytest.raises(he.InputError, match=r"factor 1 of a Product must be .* depends on the place, .* as one Graph"):
        he.Product(he.Sphere(2), ring)
    with pytest.raises(he.InputError, match="one entry per factor, 2, but are"):
        he.Product(he.Sphere(2), he.Circle(), metric_scales=(1, 2, 3))
    with pytest.raises(he.InputError, match="one entry per factor, 2, but are 3"):
        he.Product(he.Sphere(2), he.Circle(), metric_scales=3)
    with pytest.raises(he.InputError, match=r"scales\[1\] must be positive"):
        he.Product(he.Sphere(2), he.Circle(), metric_scales=(1, -2))
    with pytest.raises(he.InputTypeError, match="tuple of 2 point arrays, one per factor, but found ndarray"):
        he.gess(x, space=space, angle=10)
    with pytest.raises(he.InputError, match=r"factor 0 of the product, Sphere\(2\): .*row 0 has norm 2"):
        he.gess((2 * x, np.zeros(4)), space=space, angle=10)
    with pytest.raises(he.InputError, match=r"factor 0, Sphere\(2\), has 4 and factor 1, Circle\(\), has 3"):
        he.gess((x, np.zeros(3)), space=space, angle=10)
    with pytest.raises(he.InputError, match="resolutions are not defined"):
        he.gess((x, np.zeros(4)), space=space, resolution=10)


def test_no_scale_is_too_small_or_too_large() -> None:
    rng = np.random.default_rng(8)
    x, angle, flat = he.Sphere(2).uniform(9, rng), rng.normal(size=9), rng.normal(size=(9, 2))
    curved = lifted(flat)
    times = np.array([1e-190, 1e-100, 1e-30, 1e-9, 1e-3, 0.1, 1.0, 1e3, 1e50, 1e99])
    cases = [
        (he.Product(he.Sphere(2), he.Circle()), (x, angle)),
        (he.Product(he.Hyperbolic(2), he.Sphere(2)), (curved, x)),
        (he.Torus(2), flat),
        (he.Euclidean(2), flat),
        (he.Hyperbolic(2), curved),
    ]
    for space, points in cases:
        profile = he.heat_profile(points, space=space, times=times)
        assert (profile.gess[:-1] >= profile.gess[1:] - 1e-9).all()
        assert profile.gess[0] == pytest.approx(9)
        assert np.isfinite(profile.dimension).all()


def test_profiles_of_poses_can_be_drawn_and_saved() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    space = he.Product(he.Euclidean(2), he.Circle())
    profile = he.heat_profile(([[0, 0], [1, 0], [0, 2]], [0.0, 1.0, 2.0]), space=space, times=[0.01, 0.1, 1.0])
    assert profile.plot().get_ylabel()
    assert '"volume": [null, null, null]' in profile.to_json()
    assert np.isnan(profile.resolutions).all()
    assert "gESS only" in profile._repr_html_()
