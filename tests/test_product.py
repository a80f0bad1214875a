"""Products: overlaps multiply, times scale, and every mixture of factors agrees with the definition."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import heatess as he
import reference_flat
from heatess import kernel


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


@pytest.mark.parametrize("scales", [(1, 1), (1.0, 2.5)])
def test_sphere_times_circle_matches_forty_digits(scales: tuple[float, float]) -> None:
    places, angles, weights = sphere_and_circle(seed=1)
    times = np.square([0.03, 0.2, 1.0, 2.0, 6.0]) / 8
    space = he.Product(he.Sphere(2), he.Circle(), scales=scales)
    exact = reference_flat.product(
        (reference_flat.sphere2(560), slice(0, 3), scales[0]),
        (reference_flat.torus([2 * math.pi]), slice(3, 4), scales[1]),
    )
    truth = reference_flat.profile(exact, np.column_stack([places, angles]), weights, times)
    profile = he.heat_profile((places, angles), weights, space=space, times=times)
    for k, row in enumerate(truth):
        assert relative(profile.gess[k], row.gess) <= min(1e-8, profile.error[k])
        assert relative(profile.mmd2[k], row.mmd2) < 1e-8
        assert relative(profile.divergence[k], row.divergence) < 1e-8


@pytest.mark.parametrize("time", [1e-13, 1e-9, 2e-5, 1e-3, 0.05, 1.0])
@pytest.mark.parametrize("dim", [1, 2, 3, 9])
def test_zonal_overlaps_of_tiles_match_the_kernel(dim: int, time: float) -> None:
    rng = np.random.default_rng(dim)
    space = he.Sphere(dim)
    x = space.uniform(40, rng)
    near = x + 0.5 * math.sqrt(8 * time) * rng.normal(size=x.shape) / math.sqrt(dim)
    y = np.vstack([x[:5], near / np.linalg.norm(near, axis=1, keepdims=True)])
    terms = kernel.zonal_terms(space, x, y)(time)
    r = space.distance(x[:, None], y[None])
    np.testing.assert_allclose(terms.overlap, kernel.overlap(space, time, r), atol=3e-14, rtol=1e-11)
    step = 1e-4
    above, below = (kernel.overlap(space, time * math.exp(h), r) for h in (step, -step))
    np.testing.assert_allclose(terms.change, (above - below) / (2 * step), atol=2e-7)
    diagonal = math.exp(kernel.log_diagonal(space, time))
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
    space = he.Product(*(space for space, _ in factors), scales=scales)
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
        space=he.Product(he.Circle(), he.Torus(1, periods=6 * np.pi), scales=(1, 1 / 3)),
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
    space = he.Product(he.Euclidean(3), rotations(), scales=(1, 0.5))
    poses = he.heat_profile((still, turns), space=space, times=[0.01, 0.1])
    alone = he.heat_profile(turns, space=rotations(), times=[0.04, 0.4])
    np.testing.assert_allclose(poses.gess, alone.gess, rtol=1e-9)


def test_high_dimensional_factors_do_not_overflow() -> None:
    rng = np.random.default_rng(7)
    x, angle = he.Sphere(383).uniform(30, rng), rng.normal(size=30)
    space = he.Product(he.Sphere(383), he.Circle())
    profile = he.heat_profile((x, angle), space=space, times=[1e-4, 3e-3])
    assert np.isfinite(profile.divergence).all()
    own = kernel.log_diagonal(he.Sphere(383), 3e-3) + float(he.Circle().log_diagonal(np.array([3e-3]))[0])
    assert profile.divergence[1] == pytest.approx(own - math.log(profile.gess[1]), rel=1e-12)


def test_a_product_knows_its_geometry() -> None:
    space = he.Product(he.Sphere(2), he.Torus(2), scales=(2, 1))
    assert space.dim == 4
    assert space.angular
    assert space.volume == pytest.approx(4 * 4 * np.pi * 4 * np.pi**2)
    assert space.diameter == pytest.approx(math.hypot(2 * np.pi, np.pi * math.sqrt(2)))
    assert space.scalar_curvature == pytest.approx(0.5)
    assert repr(space) == "Product(Sphere(2), Torus(2), scales=(2.0, 1.0))"
    assert space == he.Product(he.Sphere(2), he.Torus(2), scales=(2, 1))
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
        space=he.Product(he.Sphere(2), he.Torus(2), he.Circle(), scales=(2, 1, 1)),
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
    with pytest.raises(he.InputError, match="one entry per factor: 2, but have 3"):
        he.Product(he.Sphere(2), he.Circle(), scales=(1, 2, 3))
    with pytest.raises(he.InputError, match=r"scales\[1\] must be positive"):
        he.Product(he.Sphere(2), he.Circle(), scales=(1, -2))
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
